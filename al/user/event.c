/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Events from an agent: of objects, and of the arrival and removal of HCAs. Each connection has two
 * threads. The event thread receives events; it dispatches events of objects (upcalls never block),
 * and queues arrivals and removals. The plug thread registers and deregisters HCAs, which may wait
 * for channel drivers. A switch is registered by the thread that opens it.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "al/mgmt/remote.h"
#include "al/object/thread.h"
#include "al/user/user.h"

/* ------------------------------------------------------------------ cookies */

al_status user_cookie_take(struct user_conn *conn, void *object, al_object_type kind,
			   uint64_t *cookie)
{
	struct user_cookie *grown, *c;
	uint32_t i, room;

	pthread_mutex_lock(&conn->cookie_lock);
	if (!conn->free_cookie) {
		room = conn->num_cookies ? 2 * conn->num_cookies : 64;
		grown = al_alloc(room * sizeof(*grown));
		if (!grown) {
			pthread_mutex_unlock(&conn->cookie_lock);
			return AL_INSUFFICIENT_MEMORY;
		}
		if (conn->num_cookies)
			memcpy(grown, conn->cookies, conn->num_cookies * sizeof(*grown));
		for (i = conn->num_cookies; i < room; i++)
			grown[i].next_free = i + 1 < room ? i + 2 : 0;
		conn->free_cookie = conn->num_cookies + 1;
		al_free(conn->cookies);
		conn->cookies = grown;
		conn->num_cookies = room;
	}
	i = conn->free_cookie - 1;
	c = &conn->cookies[i];
	conn->free_cookie = c->next_free;
	c->object = object;
	c->kind = kind;
	c->generation++;
	*cookie = (uint64_t)c->generation << 32 | i;
	pthread_mutex_unlock(&conn->cookie_lock);
	return AL_SUCCESS;
}

void *user_cookie_find(struct user_conn *conn, uint64_t cookie, al_object_type kind)
{
	uint32_t i = (uint32_t)cookie;

	if (i >= conn->num_cookies || conn->cookies[i].generation != cookie >> 32 ||
	    conn->cookies[i].kind != kind)
		return NULL;
	return conn->cookies[i].object;
}

void user_cookie_drop(struct user_conn *conn, uint64_t cookie)
{
	uint32_t i = (uint32_t)cookie;

	pthread_mutex_lock(&conn->cookie_lock);
	conn->cookies[i].object = NULL;
	conn->cookies[i].next_free = conn->free_cookie;
	conn->free_cookie = i + 1;
	pthread_mutex_unlock(&conn->cookie_lock);
}

/* ------------------------------------------------------------------- events */

/* Queues the arrival or removal of an HCA, or AGENT_EVENT_READY, for the plug thread. */
static void queue_plug(struct user_conn *conn, const struct agent_event *event)
{
	bool ready = event->kind == AGENT_EVENT_READY;
	struct user_plug *p = ready ? &conn->ready_plug : al_alloc(sizeof(*p));

	if (ready && p->event.kind == AGENT_EVENT_READY)
		return; /* an agent sends AGENT_EVENT_READY once: a second one is ignored */
	if (!p) {
		ib_log(IB_LOG_ERROR, "user",
		       "out of memory: the arrival or removal of HCA 0x%016llx of agent %s is ignored; restart the program",
		       (unsigned long long)event->guid, conn->path);
		return;
	}
	p->event = *event;
	pthread_mutex_lock(&conn->plug_lock);
	*conn->plugs_end = p;
	conn->plugs_end = &p->next;
	pthread_mutex_unlock(&conn->plug_lock);
	sem_post(&conn->plugged);
}

/* A completion event. */
static void notify(struct user_conn *conn, const struct agent_event *event)
{
	struct ci_cq *cq;

	pthread_mutex_lock(&conn->cookie_lock);
	cq = user_cookie_find(conn, event->cookie, AL_OBJ_CQ);
	if (cq)
		ib_cq_notify(cq->ctx);
	pthread_mutex_unlock(&conn->cookie_lock);
}

/* A MAD service has events. */
static void announce(struct user_conn *conn, const struct agent_event *event)
{
	void *svc;

	pthread_mutex_lock(&conn->cookie_lock);
	svc = user_cookie_find(conn, event->cookie, AL_OBJ_MAD_SVC);
	if (svc)
		mad_remote_announced(svc, event->before);
	pthread_mutex_unlock(&conn->cookie_lock);
}

/* A MAD service has an event, which comes along. */
static void take_ahead(struct user_conn *conn, const struct agent_event *event)
{
	const struct agent_mad_event *ahead = (const void *)event;
	void *svc;

	pthread_mutex_lock(&conn->cookie_lock);
	svc = user_cookie_find(conn, event->cookie, AL_OBJ_MAD_SVC);
	if (svc)
		mad_remote_ahead(svc, event->before, &ahead->mad, &ahead->datagram, ahead->left);
	pthread_mutex_unlock(&conn->cookie_lock);
}

void user_mad_ahead(struct user_conn *conn, const struct agent_mad_event *record)
{
	if (record->event.kind == AGENT_EVENT_MAD_AHEAD &&
	    record->mad.length <= sizeof(record->datagram))
		take_ahead(conn, &record->event);
}

/* A request of a queue pair has failed. */
static void keep_failure(struct user_conn *conn, const struct agent_event *event)
{
	struct al_qp_failure failure =
		((const struct agent_failure_event *)(const void *)event)->failure;
	struct ci_qp *qp;

	failure.reason[sizeof(failure.reason) - 1] = 0;
	pthread_mutex_lock(&conn->cookie_lock);
	qp = user_cookie_find(conn, event->cookie, AL_OBJ_QP);
	if (qp)
		ib_request_failed(qp->ctx, failure.wr_id, failure.status, "%s", failure.reason);
	pthread_mutex_unlock(&conn->cookie_lock);
}

/* The kind of object of each event. For an event that IB_EVENT_LIST has not the kind is 0, and
 * ib_dispatch_event() logs it. */
static const al_object_type event_object[IB_EVENT_DEVICE_FATAL + 1] = {
#define EVENT_OBJECT(name, value, text, object) [value] = object,
	IB_EVENT_LIST(EVENT_OBJECT)
};

/* An asynchronous event. ci_cq, ci_qp and ci_ca all begin with ctx, which *object reads. */
static void dispatch(struct user_conn *conn, const struct agent_event *event)
{
	struct ci_event up = { .type = (ib_event_type)event->type,
			       .port_num = (uint8_t)event->port };
	void **object;

	if (event->type > IB_EVENT_DEVICE_FATAL)
		return;
	pthread_mutex_lock(&conn->cookie_lock);
	object = user_cookie_find(conn, event->cookie, event_object[event->type]);
	if (object) {
		up.object_ctx = *object;
		ib_dispatch_event(&up);
	}
	pthread_mutex_unlock(&conn->cookie_lock);
}

static void log_ending(struct user_conn *conn, const struct agent_event *event)
{
	(void)event;
	ib_log(IB_LOG_WARNING, "user",
	       "agent %s is about to end, and waits until this program has destroyed its objects", conn->path);
}

static void (*const event_actions[])(struct user_conn *, const struct agent_event *) = {
	[AGENT_EVENT_COMPLETION] = notify,    [AGENT_EVENT_ASYNC] = dispatch,
	[AGENT_EVENT_PORT] = dispatch,        [AGENT_EVENT_CA_ADD] = queue_plug,
	[AGENT_EVENT_CA_REMOVE] = queue_plug, [AGENT_EVENT_READY] = queue_plug,
	[AGENT_EVENT_MAD] = announce,         [AGENT_EVENT_ENDING] = log_ending,
	[AGENT_EVENT_MAD_AHEAD] = take_ahead, [AGENT_EVENT_FAILURE] = keep_failure,
};

/* True: the record has the size of its kind of event. */
static bool is_record(const union agent_event_record *record, ssize_t bytes)
{
	if (bytes < (ssize_t)sizeof(record->event))
		return false;
	if (record->event.kind == AGENT_EVENT_FAILURE)
		return bytes == sizeof(record->failure);
	if (bytes < (ssize_t)offsetof(struct agent_mad_event, datagram))
		return bytes == sizeof(record->event) &&
		       record->event.kind != AGENT_EVENT_MAD_AHEAD;
	return record->event.kind == AGENT_EVENT_MAD_AHEAD &&
	       record->mad.mad.length == (size_t)bytes - offsetof(struct agent_mad_event, datagram);
}

void *user_event_main(void *arg)
{
	const uint32_t kinds = sizeof(event_actions) / sizeof(event_actions[0]);
	struct user_conn *conn = arg;
	union agent_event_record record;

	library_thread_begin("al-user-event", CONTEXT_NONE);
	while (is_record(&record,
			 TEMP_FAILURE_RETRY(recv(conn->events, &record, sizeof(record), 0))))
		if (record.event.kind < kinds && event_actions[record.event.kind])
			event_actions[record.event.kind](conn, &record.event);
	atomic_store(&conn->lost, true);
	/* The shutdown wakes the calls that wait for an answer; they close their sockets
	 * themselves, in user_end(). */
	pthread_mutex_lock(&conn->lock);
	user_close(&conn->events);
	for (int i = 0; i < USER_SOCKETS; i++)
		if (conn->sockets[i].busy)
			shutdown(conn->sockets[i].fd, SHUT_RDWR);
		else
			user_close(&conn->sockets[i].fd);
	pthread_mutex_unlock(&conn->lock);
	sem_post(&conn->plugged);
	return NULL;
}

/* -------------------------------------------------------------------- plugs */

/* Asks for the module of an HCA or switch. */
static al_status ask_module(struct user_conn *conn, uint64_t guid, struct MODULE_OF_answer *answer)
{
	const struct MODULE_OF_request request = { .guid = guid };
	al_status status = user_simple(conn, AGENT_MODULE_OF, &request, answer, NULL);

	if (!status && answer->name[sizeof(answer->name) - 1])
		status = AL_AGENT_PROTOCOL;
	return status;
}

/* Registers an HCA or a switch. Returns it in *made. */
static al_status register_hca(struct user_conn *conn, uint64_t guid,
			      const struct user_provider *provider, struct user_hca **made)
{
	struct user_hca *hca = provider ? al_alloc(sizeof(*hca)) : NULL;
	al_status status = AL_INSUFFICIENT_MEMORY;

	if (hca) {
		hca->conn = conn;
		hca->guid = guid;
		hca->provider = provider;
		status = ib_register_ci(conn->host, &provider->ops, hca, &hca->handle);
	}
	if (status) {
		ib_log(status == AL_NOT_FOUND ? IB_LOG_INFO : IB_LOG_ERROR, "user",
		       "HCA 0x%016llx of agent %s can not be used: %s", (unsigned long long)guid,
		       conn->path, al_status_str(status));
		al_free(hca);
		return status;
	}
	*made = hca;
	return AL_SUCCESS;
}

/* Under conn->hcas_lock. */
static void list_hca(struct user_conn *conn, struct user_hca *hca)
{
	hca->next = conn->hcas;
	conn->hcas = hca;
}

/* If the agent no longer has the HCA, the HCA gets no provider, and the registration fails. */
static void add_hca(struct user_conn *conn, uint64_t guid)
{
	struct MODULE_OF_answer module = { 0 };
	struct user_hca *hca;

	if (ask_module(conn, guid, &module))
		module.name[0] = 0;
	if (register_hca(conn, guid, user_provider(module.name), &hca))
		return;
	pthread_mutex_lock(&conn->hcas_lock);
	list_hca(conn, hca);
	pthread_mutex_unlock(&conn->hcas_lock);
}

/* NULL: the HCA is not registered. Under conn->hcas_lock. */
static struct user_hca *find_hca(struct user_conn *conn, uint64_t guid)
{
	struct user_hca *hca = conn->hcas;

	while (hca && hca->guid != guid)
		hca = hca->next;
	return hca;
}

/* Registers a switch unless it is registered. A switch has no provider: programs have no queue
 * pairs on a switch, whose work a provider would do. Once the agent is lost, ask_module() fails.
 * Under conn->hcas_lock. */
static al_status find_switch(struct user_conn *conn, uint64_t guid)
{
	struct user_hca *hca = find_hca(conn, guid);
	struct MODULE_OF_answer module = { 0 };
	al_status status;

	if (hca)
		return hca->leaving ? AL_NOT_FOUND : AL_SUCCESS;
	status = ask_module(conn, guid, &module);
	if (!status &&
	    !module.is_switch) /* an HCA, whose arrival the plug thread is about to hear of */
		status = AL_NOT_FOUND;
	if (!status)
		status = register_hca(conn, guid, user_provider(""), &hca);
	if (!status)
		list_hca(conn, hca);
	return status;
}

al_status user_find_switch(void *agent, uint64_t guid)
{
	struct user_conn *conn = agent;
	al_status status;
	int cancels;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancels);
	pthread_mutex_lock(&conn->hcas_lock);
	status = find_switch(conn, guid);
	pthread_mutex_unlock(&conn->hcas_lock);
	pthread_setcancelstate(cancels, NULL);
	return status;
}

/* Deregisters an HCA that is in the list. On the plug thread, under conn->hcas_lock, which is
 * dropped meanwhile: the deregistration waits for callbacks, which may open HCAs. */
static void remove_hca(struct user_conn *conn, struct user_hca *hca, uint32_t flags)
{
	struct user_hca **p;

	hca->leaving = true;
	pthread_mutex_unlock(&conn->hcas_lock);
	ib_deregister_ci(hca->handle, flags);
	pthread_mutex_lock(&conn->hcas_lock);
	for (p = &conn->hcas; *p != hca; p = &(*p)->next)
		;
	*p = hca->next;
	al_free(hca);
}

/* The agent has removed an HCA, or a switch, which may be none of this process's. */
static void hca_removed(struct user_conn *conn, uint64_t guid)
{
	struct user_hca *hca;

	pthread_mutex_lock(&conn->hcas_lock);
	hca = find_hca(conn, guid);
	if (hca)
		remove_hca(conn, hca, CI_HCA_GONE);
	pthread_mutex_unlock(&conn->hcas_lock);
}

/* The agent is lost, and its HCAs with it. */
static void remove_all(struct user_conn *conn)
{
	pthread_mutex_lock(&conn->hcas_lock);
	if (conn->hcas)
		ib_log(IB_LOG_ERROR, "user",
		       "agent %s is lost, and its HCAs with it: close and open the library again",
		       conn->path);
	while (conn->hcas)
		remove_hca(conn, conn->hcas, CI_HCA_GONE | CI_AGENT_LOST);
	pthread_mutex_unlock(&conn->hcas_lock);
}

/* Waits for a plug. NULL: the agent is lost, and no plug is left. */
static struct user_plug *next_plug(struct user_conn *conn)
{
	struct user_plug *p;

	while (sem_wait(&conn->plugged))
		;
	pthread_mutex_lock(&conn->plug_lock);
	p = conn->plugs;
	if (p) {
		conn->plugs = p->next;
		if (!conn->plugs)
			conn->plugs_end = &conn->plugs;
	}
	pthread_mutex_unlock(&conn->plug_lock);
	return p;
}

void *user_plug_main(void *arg)
{
	struct user_conn *conn = arg;
	struct user_plug *p;

	library_thread_begin("al-user-plug", CONTEXT_NONE);
	for (p = next_plug(conn); p; p = next_plug(conn)) {
		if (p->event.kind == AGENT_EVENT_CA_ADD)
			add_hca(conn, p->event.guid);
		else if (p->event.kind == AGENT_EVENT_CA_REMOVE)
			hca_removed(conn, p->event.guid);
		else
			sem_post(&conn->ready);
		if (p != &conn->ready_plug)
			al_free(p);
	}
	remove_all(conn);
	sem_post(&conn->ready);
	return NULL;
}
