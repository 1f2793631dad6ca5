/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Sessions: how a session begins, how it follows the arrival and removal of HCAs, and how it ends.
 * Everything runs on the loop, but for PnP callbacks and open_work(). The session's connections are
 * in connection.c, its objects in object.c.
 */
#include "al/agent/session.h"

#include <fcntl.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "al/agent/right.h"
#include "al/library/private.h"

struct session *sessions;
static bool draining;            /* a session ends when its client has no objects left */
static _Atomic uint32_t num_clients; /* sessions that are not closed */
static void (*on_idle)(void);    /* called when no session is left; NULL: no function is called */
static void (*on_drained)(void); /* to be called when no session is left; NULL: called already, or not draining */
static void (*on_ended)(void);   /* likewise, for sessions_end() */

/* ---------------------------------------------------------------------- PnP */

/* A PnP callback waits for the loop to free the objects that were on an HCA. */
struct removal {
	struct job job;
	struct session *session;
	struct hca *hca;
	sem_t done;
};

static void free_removed(struct job *job)
{
	struct removal *removal = container_of(job, struct removal, job);

	objects_remove(&removal->session->objects, removal->hca);
	hca_removed(removal->hca);
	sem_post(&removal->done);
}

/*
 * The removal of an HCA does not wait for the client: the agent destroys the client's objects on
 * the HCA, and then tells the client. Until all objects are destroyed, callbacks of them may be
 * under way, so the struct objects stay until then.
 */
static void remove_hca(struct session *session, struct hca *hca)
{
	struct removal removal = { .job.done = free_removed, .session = session, .hca = hca };
	al_ca_h ca = hca_remove(hca);

	/* If ca is closed already, by the client or by the end of the session, then DESTROY or the
	 * end of the session frees the objects on the HCA. */
	if (ca && !al_close_ca(ca, AL_DESTROY_SYNC, NULL)) {
		sem_init(&removal.done, 0, 0);
		loop_post(&removal.job);
		while (sem_wait(&removal.done))
			;
		sem_destroy(&removal.done);
	} else {
		hca_removed(hca);
	}
	source_raise(&hca->source, SOURCE_REMOVE);
}

/* The HCA is a switch. The agent sends the client no arrival of a switch: al_open_ca() asks for the
 * switch by its GUID. */
static al_status on_switch(void *context, const struct al_pnp_event *event)
{
	struct session *session = context;
	struct hca *hca;

	if (event->type != AL_PNP_CA_ADD && event->type != AL_PNP_CA_REMOVE)
		return AL_SUCCESS;
	hca = hca_make(&session->hcas, event->ca_guid);
	if (!hca)
		return AL_INSUFFICIENT_MEMORY;
	if (event->type == AL_PNP_CA_REMOVE)
		remove_hca(session, hca);
	return AL_SUCCESS;
}

static al_status on_pnp(void *context, const struct al_pnp_event *event)
{
	struct session *session = context;
	struct hca *hca;

	if (event->type == AL_PNP_REPLAY_COMPLETE) {
		source_raise(&session->ready, SOURCE_READY);
		return AL_SUCCESS;
	}
	if (event->type != AL_PNP_CA_ADD && event->type != AL_PNP_CA_REMOVE)
		return AL_SUCCESS;
	hca = hca_make(&session->hcas, event->ca_guid);
	if (!hca)
		return AL_INSUFFICIENT_MEMORY;
	if (event->type == AL_PNP_CA_ADD)
		source_raise(&hca->source, SOURCE_ADD);
	else
		remove_hca(session, hca);
	return AL_SUCCESS;
}

/* ---------------------------------------------------------------- beginning */

void session_welcome(int fd, const struct session *session, al_status status)
{
	struct agent_welcome w = { .magic = AGENT_MAGIC, .protocol = AGENT_PROTOCOL, .status = status };

	if (!status) {
		w.copies = session->client.memory >= 0;
		memcpy(w.token, session->token, sizeof(w.token));
	}
	/* The first record that the agent sends on a connection: the socket has room. */
	send(fd, &w, sizeof(w), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static struct session *session_of(struct job *job)
{
	return container_of(job, struct session, job);
}

/*
 * Off the loop. Opens the Access Layer for the session, answers the client's hello, and registers
 * for PnP events. The registration for switches is the older one, so the session has heard of every
 * present switch when the client gets AGENT_EVENT_READY.
 */
static void open_work(struct job *job)
{
	static const struct al_open_attr own = { .agent = "off" };
	struct session *session = session_of(job);
	struct al_udata udata = { .ci.client = &session->client };
	al_status status;

	al_act_for(&udata.ci);
	status = al_open(&own, &session->al);
	session_welcome(session->outbox.fd, session, status);
	if (!status)
		status = al_reg_switch_pnp(session->al, session, on_switch, &session->switch_pnp);
	if (!status)
		status = al_reg_pnp(session->al, NULL, session, on_pnp, &session->pnp);
	al_act_for(NULL);
	if (status) {
		ib_log(IB_LOG_ERROR, "ald", "no session for %s[%d]: %s", session->client.comm,
		       (int)session->client.pid, al_status_str(status));
		shutdown(session->outbox.fd, SHUT_RDWR);
	}
}

static void close_session(struct session *session);

static void open_done(struct job *job)
{
	struct session *session = session_of(job);

	session->jobs--;
	session->opening = false;
	if (session->ended)
		close_session(session);
	else
		session_try_finish(session);
}

/* Device and inode, as the kernel knows them. False: there is no such file. AT_STATX_DONT_SYNC: a
 * file of FUSE has a server that may never answer, and is not asked. */
static bool look_at(int dir, const char *path, int flags, struct statx *stx)
{
	return !statx(dir, path, flags | AT_STATX_DONT_SYNC, STATX_INO, stx);
}

/*
 * True: the descriptor is /proc/PID/mem of that process, open for reading and writing. The kernel
 * lets a process open the memory of another process only with rights over it. Not by the file's
 * name: in mounts of its own a client can give each file that name, and the agent would write into
 * the file with the agent's rights.
 */
static bool is_memory_of(int fd, pid_t pid)
{
	struct statx given, own;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	return (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR &&
	       look_at(fd, "", AT_EMPTY_PATH, &given) && look_at(AT_FDCWD, path, 0, &own) &&
	       given.stx_ino == own.stx_ino && given.stx_dev_major == own.stx_dev_major &&
	       given.stx_dev_minor == own.stx_dev_minor;
}

static bool is_pidfd_of(int fd, pid_t pid)
{
	char name[64], line[128];
	bool found = false;
	FILE *file;

	snprintf(name, sizeof(name), "/proc/self/fdinfo/%d", fd);
	file = fopen(name, "re");
	if (!file)
		return false;
	while (!found && fgets(line, sizeof(line), file))
		found = !strncmp(line, "Pid:", 4) && strtol(line + 4, NULL, 10) == pid;
	fclose(file);
	return found;
}

/* Fills in the client, with the name that its hello gives. */
static void name_client(struct session *session, const struct ucred *peer, const char *comm)
{
	struct ci_client *client = &session->client;

	*client = (struct ci_client){ .memory = -1, .pid = peer->pid, .uid = peer->uid };
	memcpy(client->comm, comm, sizeof(client->comm) - 1);
	for (char *c = client->comm; *c; c++) /* control characters must not reach logs and terminals */
		if (*c < ' ' || *c >= 0x7f)
			*c = '?';
}

/* A client sends nothing on its event connection. If the connection becomes readable, the client
 * has closed it, and the session ends. */
static void see_events(struct watched *watched, uint32_t events)
{
	struct session *session = container_of(watched, struct session, outbox.watched);

	if (events & ~(uint32_t)EPOLLOUT)
		session_end(session, "the client has closed its event connection");
	else
		outbox_flush(&session->outbox);
}

/* The client's process has ended. Its connections may still be open in a forked child. */
static void see_death(struct watched *watched, uint32_t events)
{
	(void)events;
	session_end(container_of(watched, struct session, watched), "its process has ended");
}

al_status session_begin(int fd, const struct agent_hello *hello, const struct ucred *peer, struct descriptors *list,
			void (*end_connections)(struct session *session))
{
	struct session *session;
	al_status status;

	if (list->num < 1 || list->num > 2 || !is_pidfd_of(list->fd[0], peer->pid))
		return AL_AGENT_PROTOCOL;
	session = al_alloc(sizeof(*session));
	if (!session)
		return AL_INSUFFICIENT_MEMORY;
	name_client(session, peer, hello->comm);
	status = account_open(&session->account, peer->pid, peer->uid, session->client.comm);
	if (status) {
		al_free(session);
		return status;
	}
	session->watched.see = see_death;
	session->watched.account = &session->account;
	session->objects.account = &session->account;
	if (getrandom(session->token, sizeof(session->token), 0) != sizeof(session->token) ||
	    getrandom(&session->objects.generation, sizeof(session->objects.generation), 0) < 0 ||
	    loop_watch(list->fd[0], &session->watched, EPOLLIN)) {
		account_close(&session->account);
		al_free(session);
		return AL_IO_ERROR;
	}
	al_client_begin(&session->client);
	if (list->num == 2 && is_memory_of(list->fd[1], peer->pid)) {
		session->client.memory = list->fd[1];
		list->fd[1] = -1;
	}
	session->pidfd = list->fd[0];
	list->fd[0] = -1;
	session->right = right_of(fd);
	session->outbox.watched.account = &session->account;
	outbox_init(&session->outbox, fd, see_events);
	session->hcas.outbox = session->ready.outbox = &session->outbox;
	session->end_connections = end_connections;
	session->next = sessions;
	sessions = session;
	atomic_fetch_add(&num_clients, 1);
	IB_TRACE("ald", "session of %s[%d], user %u", session->client.comm, (int)peer->pid,
		 (unsigned int)peer->uid);
	session->jobs++;
	session->opening = true;
	session->job =
		(struct job){ .account = &session->account, .work = open_work, .done = open_done };
	pool_work(&session->job);
	return AL_SUCCESS;
}

al_status session_find(const uint8_t token[AGENT_TOKEN], const struct ucred *peer,
		       struct session **found)
{
	struct session *session;

	for (session = sessions; session; session = session->next)
		if (!memcmp(session->token, token, sizeof(session->token)))
			break;
	if (!session || session->ended || session->client.pid != peer->pid ||
	    session->client.uid != peer->uid)
		return AL_PERMISSION;
	*found = session;
	return account_charge(&session->account, AL_RESOURCE_CONNECTIONS, 1);
}

void session_complain(struct session *session, enum complaint kind, const char *format, ...)
{
	char deed[256];
	va_list args;

	if (!session->complained[kind] && account_may_log(&session->account)) {
		va_start(args, format);
		vsnprintf(deed, sizeof(deed), format, args);
		va_end(args);
		ib_log(IB_LOG_WARNING, "ald", "%s[%d] of user %u %s", session->client.comm,
		       (int)session->client.pid, (unsigned int)session->client.uid, deed);
	}
	session->complained[kind] = true;
}

/* ---------------------------------------------------------------------- end */

/*
 * Sessions whose end has a part to do that grows with the client's objects. One of them does its
 * part, and then what has come meanwhile has its turn: a thousand clients that are killed at once
 * do not hold up the requests of others.
 */
static struct {
	struct session *first, **last;
	struct job job;
	bool queued; /* the job is on the loop's queue */
} turns = { .last = &turns.first };

static void take_turn(struct job *job);

static void queue_turn(void)
{
	if (turns.queued || !turns.first)
		return;
	turns.queued = true;
	/* a turn of the user whose session it is: a job of the agent's own goes before all requests */
	turns.job.account = turns.first->account.user;
	turns.job.done = take_turn;
	loop_post(&turns.job);
}

static void take_turn(struct job *job)
{
	struct session *session = turns.first;

	(void)job;
	turns.queued = false;
	turns.first = session->turn_next;
	if (!turns.first)
		turns.last = &turns.first;
	session->turn(session);
	loop_look();
	queue_turn();
}

/* Calls the function in the session's turn. */
static void wait_turn(struct session *session, void (*turn)(struct session *session))
{
	session->turn = turn;
	session->turn_next = NULL;
	*turns.last = session;
	turns.last = &session->turn_next;
	queue_turn();
}

void session_try_free(struct session *session)
{
	if (!session->closed || session->copying || session->jobs)
		return;
	IB_TRACE("ald", "session of %s[%d] has ended: its objects and its memory are freed", session->client.comm,
		 (int)session->client.pid);
	objects_free(&session->objects);
	descriptors_hang_up(session->outbox.fd, session->account.user);
	close(session->pidfd);
	if (session->client.memory >= 0)
		close(session->client.memory);
	account_return(session->account.user, AL_RESOURCE_DESCRIPTORS,
		       session->client.memory >= 0 ? 2 : 1);
	hcas_free(&session->hcas);
	account_close(&session->account);
	outbox_destroy(&session->outbox);
	al_client_free(&session->client);
	al_free(session);
}

static void copied(struct job *job)
{
	struct session *session = session_of(job);

	session->copying = false;
	session_try_free(session);
}

static void on_copied(void *context)
{
	struct session *session = context;

	loop_post(&session->job);
}

/* Calls a function once. */
static void tell(void (**function)(void))
{
	void (*told)(void) = *function;

	*function = NULL;
	if (told)
		told();
}

static void tell_if_none_left(void)
{
	if (sessions)
		return;
	tell(&on_drained);
	tell(&on_ended);
}

/*
 * The Access Layer has destroyed the client's objects; the client's thread ends next. That may take
 * as long as the copy that the thread is making; the end of the agent does not wait for the copy.
 */
static void end_closed(struct session *session)
{
	struct session **p;

	for (p = &sessions; *p != session; p = &(*p)->next)
		;
	*p = session->next;
	if (atomic_fetch_sub(&num_clients, 1) == 1 && on_idle)
		on_idle();
	session->closed = true;
	session->job.done = copied;
	session->copying = al_client_end(&session->client, on_copied, session);
	session_try_free(session);
	tell_if_none_left();
}

static void closed(struct job *job)
{
	wait_turn(session_of(job), end_closed);
}

static void on_closed(void *context)
{
	struct session *session = context;

	loop_post(&session->job);
}

/* Begins to close the session's opening of the Access Layer, which destroys the client's objects,
 * children first. closed() is called when they are destroyed. */
static void close_session(struct session *session)
{
	session->job.done = closed;
	if (!session->al || al_close(session->al, on_closed, session))
		closed(&session->job);
}

void session_end(struct session *session, const char *why)
{
	if (session->ended)
		return;
	session->ended = true;
	IB_TRACE("ald", "session of %s[%d] ends: %s", session->client.comm, (int)session->client.pid, why);
	loop_unwatch(session->outbox.fd);
	loop_unwatch(session->pidfd);
	shutdown(session->outbox.fd, SHUT_RDWR); /* the client learns at once that it has lost the agent */
	session->end_connections(session);
	if (!session->opening)
		wait_turn(session, close_session);
}

/* ----------------------------------------------------------- all sessions */

/* HCAs that the client has opened do not count: the client's library keeps an HCA open for as long
 * as it has the agent. */
bool session_try_finish(struct session *session)
{
	if (!draining || session->ended || session->jobs ||
	    session->objects.num_objects > session->account.show.use[AL_RESOURCE_CAS].now)
		return false;
	session_end(session, "the agent drains, and the client has no objects left");
	return true;
}

void sessions_drain(void (*drained)(void))
{
	draining = true;
	on_drained = drained;
	for (struct session *next, *s = sessions; s; s = next) {
		next = s->next;
		if (!session_try_finish(s))
			source_raise(&s->ready, SOURCE_ENDING);
	}
	tell_if_none_left();
}

void sessions_tell_idle(void (*idle)(void))
{
	on_idle = idle;
}

uint32_t ald_clients(void)
{
	return atomic_load(&num_clients);
}

void sessions_end(const char *why, void (*ended)(void))
{
	draining = false;
	on_ended = ended;
	for (struct session *next, *s = sessions; s; s = next) {
		next = s->next;
		session_end(s, why);
	}
	tell_if_none_left();
}

void sessions_update_rights(void)
{
	for (struct session *s = sessions; s; s = s->next)
		s->right = right_of(s->outbox.fd);
}
