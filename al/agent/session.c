/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Clients: their beginning, objects, HCAs, and their end. All on the loop but for PnP callbacks. */
#include "al/agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

struct session *sessions;
uint32_t num_sessions;

#define INDEX_MASK 0xffffffu

/* ------------------------------------------------------------------ objects */

uint64_t object_handle(const struct object *object)
{
	return (uint64_t)object->type << 56 | (uint64_t)object->generation << 24 | object->index;
}

struct object *object_find(struct session *session, uint64_t handle)
{
	uint32_t index = handle & INDEX_MASK;
	struct object *object = index < session->num_slots ? session->objects[index] : NULL;

	return object && object->ready && object_handle(object) == handle ? object : NULL;
}

const al_resource object_resources[AL_OBJ_TYPES] = {
	[AL_OBJ_CA] = AL_RESOURCE_CAS, [AL_OBJ_PD] = AL_RESOURCE_PDS, [AL_OBJ_MR] = AL_RESOURCE_MRS,
	[AL_OBJ_CQ] = AL_RESOURCE_CQS, [AL_OBJ_QP] = AL_RESOURCE_QPS,
};

bool object_removed(const struct session *session, uint64_t handle)
{
	uint32_t index = handle & INDEX_MASK;

	return index < session->num_slots && session->removed[index] &&
	       session->removed[index] == (uint32_t)(handle >> 24);
}

static bool grow(struct session *session)
{
	uint32_t slots = session->num_slots ? 2 * session->num_slots : 64;
	struct object **grown = slots <= INDEX_MASK + 1 ? al_alloc(slots * sizeof(*grown)) : NULL;
	uint32_t *removed = al_alloc(slots * sizeof(*removed));

	if (!grown || !removed) {
		al_free(grown);
		al_free(removed);
		return false;
	}
	if (session->num_slots) {
		memcpy(grown, session->objects, session->num_slots * sizeof(*grown));
		memcpy(removed, session->removed, session->num_slots * sizeof(*removed));
	}
	al_free(session->objects);
	al_free(session->removed);
	session->objects = grown;
	session->removed = removed;
	session->num_slots = slots;
	return true;
}

/* Places are reused in turn, each time with another generation: old handles mean nothing. */
struct object *object_new(struct session *session, al_object_type type)
{
	struct object *object;
	uint32_t i;

	if (session->num_objects >= session->num_slots - session->num_slots / 4 && !grow(session))
		return NULL;
	object = al_alloc(sizeof(*object));
	if (!object)
		return NULL;
	for (i = session->last_slot + 1; session->objects[i % session->num_slots]; i++)
		;
	i %= session->num_slots;
	session->last_slot = i;
	session->objects[i] = object;
	session->num_objects++;
	object->session = session;
	object->type = type;
	object->index = i;
	object->generation = ++session->generation;
	return object;
}

void object_free(struct object *object)
{
	struct session *session = object->session;

	source_forget(&object->source);
	if (object->type != AL_OBJ_CA) {
		object->hca->num_objects--;
	} else if (object->hca) {
		pthread_mutex_lock(&session->event_lock);
		object->hca->ca = NULL;
		pthread_mutex_unlock(&session->event_lock);
	}
	session->objects[object->index] = NULL;
	session->num_objects--;
	account_return(&session->account, object_resources[object->type], 1);
	account_return(&session->account, AL_RESOURCE_BYTES, object->bytes);
	account_return(&session->account, AL_RESOURCE_RINGS, object->rings);
	memory_free(object);
}

void object_gone(struct object *object)
{
	const bool memory = object->type == AL_OBJ_MR || object->type == AL_OBJ_QP;
	struct line *line = object->line;

	object_free(object);
	if (memory)
		line_answered_after_copies(line);
	else
		line_answered(line);
}

/* ---------------------------------------------------------------------- PnP */

static struct hca *hca_of(struct session *session, uint64_t guid)
{
	struct hca *hca;

	pthread_mutex_lock(&session->event_lock);
	for (hca = session->hcas; hca && hca->guid != guid; hca = hca->next)
		;
	if (!hca) {
		hca = al_alloc(sizeof(*hca));
		if (hca) {
			hca->session = session;
			hca->guid = guid;
			hca->source = (struct source){ .session = session, .guid = guid };
			hca->next = session->hcas;
			session->hcas = hca;
		}
	}
	pthread_mutex_unlock(&session->event_lock);
	return hca;
}

bool hca_leaving(struct hca *hca)
{
	bool leaving;

	pthread_mutex_lock(&hca->session->event_lock);
	leaving = hca->leaving;
	pthread_mutex_unlock(&hca->session->event_lock);
	return leaving;
}

uint32_t hca_removals(struct hca *hca)
{
	uint32_t removals;

	pthread_mutex_lock(&hca->session->event_lock);
	removals = hca->removals;
	pthread_mutex_unlock(&hca->session->event_lock);
	return removals;
}

/* Somebody waits for the loop to forget what was on an HCA. */
struct forget {
	struct job job;
	struct hca *hca;
	sem_t done;
};

static void forget_objects(struct job *job)
{
	struct forget *forget = (struct forget *)((char *)job - offsetof(struct forget, job));
	struct session *session = forget->hca->session;
	struct object *object;

	for (uint32_t i = 0; i < session->num_slots; i++) {
		object = session->objects[i];
		if (!object || object->hca != forget->hca || !object->ready || object->dying)
			continue;
		session->removed[i] = object->generation;
		object_free(object);
	}
	pthread_mutex_lock(&session->event_lock);
	forget->hca->leaving = false;
	pthread_mutex_unlock(&session->event_lock);
	sem_post(&forget->done);
}

/*
 * The agent does not wait for the client: what it has on the HCA is ended, then it is told. Until
 * all is ended, callbacks may be on their way to objects that can not be found any more in the
 * Access Layer.
 */
static void remove_hca(struct session *session, struct hca *hca)
{
	struct forget forget = { .job.done = forget_objects, .hca = hca };
	al_ca_h ca;

	pthread_mutex_lock(&session->event_lock);
	ca = hca->ca;
	hca->leaving = ca != NULL;
	hca->removals++;
	pthread_mutex_unlock(&session->event_lock);
	/* If it is closed already, the session or its client has done that, and what is on it is
	 * still being ended: its memory stays mapped until it has been. */
	if (ca && !al_close_ca(ca, AL_DESTROY_SYNC, NULL)) {
		sem_init(&forget.done, 0, 0);
		pool_done(&forget.job);
		while (sem_wait(&forget.done))
			;
		sem_destroy(&forget.done);
	} else {
		pthread_mutex_lock(&session->event_lock);
		hca->leaving = false;
		pthread_mutex_unlock(&session->event_lock);
	}
	source_raise(&hca->source, SOURCE_REMOVE);
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
	hca = hca_of(session, event->ca_guid);
	if (!hca)
		return AL_INSUFFICIENT_MEMORY;
	if (event->type == AL_PNP_CA_ADD)
		source_raise(&hca->source, SOURCE_ADD);
	else
		remove_hca(session, hca);
	return AL_SUCCESS;
}

/* ---------------------------------------------------------------- beginning */

/* A worker's. */
static void open_work(struct job *job)
{
	static const struct al_open_attr own = { .agent = "off" };
	struct session *session = job->session;
	struct al_udata udata = { .ci.client = &session->client };
	al_status status;

	al_act_for(&udata.ci);
	status = al_open(&own, &session->al);
	welcome(session->events, session, status);
	if (!status)
		status = al_reg_pnp(session->al, NULL, session, on_pnp, &session->pnp);
	al_act_for(NULL);
	if (status) {
		ib_log(IB_LOG_ERROR, "ald", "no session for %s[%d]: %s", session->client.comm,
		       (int)session->client.pid, al_status_str(status));
		shutdown(session->events, SHUT_RDWR);
	}
}

static void close_session(struct session *session);

static void open_done(struct job *job)
{
	struct session *session = job->session;

	session->jobs--;
	session->opening = false;
	if (session->ended)
		close_session(session);
	else
		session_try_finish(session);
}

/* A file of the kernel's that a client can open for itself only: its own memory. */
static bool is_memory_of(int fd, pid_t pid)
{
	char link[64], path[64], want[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	snprintf(want, sizeof(want), "/proc/%d/mem", (int)pid);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 0)
		return false;
	path[n] = '\0';
	return !strcmp(path, want) && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR;
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

static void name_client(struct session *session, const struct ucred *peer, const char *comm)
{
	struct ci_client *client = &session->client;

	*client = (struct ci_client){ .memory = -1, .pid = peer->pid, .uid = peer->uid };
	memcpy(client->comm, comm, sizeof(client->comm) - 1);
	for (char *c = client->comm; *c; c++) /* for people's terminals */
		if (*c < ' ' || *c >= 0x7f)
			*c = '?';
}

al_status session_begin(struct line *line, const struct ucred *peer, struct descriptors *list)
{
	const struct agent_hello *hello = (const struct agent_hello *)line->request;
	struct session *session;
	al_status status;

	if (num_sessions >= limits.sessions) {
		if (account_may_log())
			ib_log(IB_LOG_WARNING, "ald",
			       "process %d of user %u is refused: there are %u clients, which is the limit",
			       (int)peer->pid, (unsigned int)peer->uid, num_sessions);
		return AL_LIMIT_EXCEEDED;
	}
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
	session->watch_pidfd = (struct watched){ WATCH_PIDFD, session };
	if (getrandom(session->token, sizeof(session->token), 0) != sizeof(session->token) ||
	    getrandom(&session->generation, sizeof(session->generation), 0) < 0 ||
	    loop_watch(list->fd[0], &session->watch_pidfd, EPOLLIN)) {
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
	session->events = line->fd;
	session->right = right_of(line->fd);
	session->queue_end = &session->queue;
	pthread_mutex_init(&session->event_lock, NULL);
	session->ready.session = session;
	session->watch_events = (struct watched){ WATCH_EVENTS, session };
	session->next = sessions;
	sessions = session;
	num_sessions++;
	loop_change(session->events, &session->watch_events, EPOLLIN);
	IB_TRACE("ald", "session of %s[%d], user %u", session->client.comm, (int)peer->pid,
		 (unsigned int)peer->uid);
	session->jobs++;
	session->opening = true;
	session->job = (struct job){ .session = session, .work = open_work, .done = open_done };
	pool_work(&session->job);
	line->fd = -1;
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

void session_complain(struct session *session, enum complaint kind, const char *does,
		      const char *what)
{
	if (!session->complained[kind] && account_may_log())
		ib_log(IB_LOG_WARNING, "ald", "%s[%d] of user %u %s: %s; refused",
		       session->client.comm, (int)session->client.pid,
		       (unsigned int)session->client.uid, does, what);
	session->complained[kind] = true;
}

/* ---------------------------------------------------------------------- end */

static void free_hcas(struct session *session)
{
	struct hca *hca;

	while ((hca = session->hcas)) {
		session->hcas = hca->next;
		al_free(hca->ports);
		al_free(hca);
	}
}

void session_try_free(struct session *session)
{
	if (!session->closed || session->copying || session->jobs)
		return;
	IB_TRACE("ald", "session of %s[%d] has ended: nothing of it is left", session->client.comm,
		 (int)session->client.pid);
	for (uint32_t i = 0; i < session->num_slots; i++)
		if (session->objects[i])
			object_free(session->objects[i]);
	num_sessions--;
	descriptors_hang_up(session->events);
	close(session->pidfd);
	/* Its name may be made up: a client's mounts are its own. */
	descriptors_close(&(struct descriptors){ .num = 1, .fd = { session->client.memory } });
	free_hcas(session);
	account_close(&session->account);
	pthread_mutex_destroy(&session->event_lock);
	al_client_free(&session->client);
	al_free(session->objects);
	al_free(session->removed);
	al_free(session);
}

static void copied(struct job *job)
{
	struct session *session = job->session;

	session->copying = false;
	session_try_free(session);
}

static void on_copied(void *context)
{
	struct session *session = context;

	pool_done(&session->job);
}

/*
 * Nothing is left but its thread, which ends now: that may take as long as the copy that it is just
 * making, and is not waited for when the agent ends.
 */
static void closed(struct job *job)
{
	struct session *session = job->session, **p;

	for (p = &sessions; *p != session; p = &(*p)->next)
		;
	*p = session->next;
	session->closed = true;
	session->job = (struct job){ .session = session, .done = copied };
	session->copying = al_client_end(&session->client, on_copied, session);
	session_try_free(session);
}

static void on_closed(void *context)
{
	struct session *session = context;

	pool_done(&session->job);
}

/* Everything of the client's goes, children first; nobody waits for it here. */
static void close_session(struct session *session)
{
	session->job = (struct job){ .session = session, .done = closed };
	if (!session->al || al_close(session->al, on_closed, session))
		closed(&session->job);
}

void session_end(struct session *session, const char *why)
{
	struct line *next;

	if (session->ended)
		return;
	session->ended = true;
	IB_TRACE("ald", "session of %s[%d] ends: %s", session->client.comm,
		 (int)session->client.pid, why);
	loop_unwatch(session->events);
	loop_unwatch(session->pidfd);
	shutdown(session->events, SHUT_RDWR); /* the client hears of it at once */
	for (struct line *line = session->lines; line; line = next) {
		next = line->next;
		line_free(line);
	}
	if (!session->opening)
		close_session(session);
}

/* Opened HCAs are the library's own, for as long as its connection is there. */
bool session_try_finish(struct session *session)
{
	if (!loop_draining() || session->ended || session->jobs ||
	    session->num_objects > session->account.show.use[AL_RESOURCE_CAS].now)
		return false;
	session_end(session, "it has finished, and the agent is about to end");
	return true;
}
