/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What an agent tells: events of objects, and HCAs that come and go. Two threads serve a
 * connection: one sleeps on its events and only queues (upcalls never block), the other registers
 * and withdraws HCAs, which may wait for channel drivers.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

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

static void plug(struct user_conn *conn, const struct agent_event *event)
{
	bool ready = event->kind == AGENT_EVENT_READY;
	struct user_plug *p = ready ? &conn->ready_plug : al_alloc(sizeof(*p));

	if (ready && p->event.kind == AGENT_EVENT_READY)
		return; /* it is said once, and al_open() waits for it: it needs no memory */
	if (!p) {
		ib_log(IB_LOG_ERROR, "user", "out of memory: HCA 0x%016llx of agent %s is not seen to",
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

static void notify(struct user_conn *conn, const struct agent_event *event)
{
	struct ci_cq *cq;

	pthread_mutex_lock(&conn->cookie_lock);
	cq = user_cookie_find(conn, event->cookie, AL_OBJ_CQ);
	if (cq)
		ib_cq_notify(cq->ctx);
	pthread_mutex_unlock(&conn->cookie_lock);
}

/* For what an event is; of one that the list has not, ib_dispatch_event() says that. */
static const al_object_type event_object[IB_EVENT_DEVICE_FATAL + 1] = {
#define EVENT_OBJECT(name, value, text, object) [value] = object,
	IB_EVENT_LIST(EVENT_OBJECT)
};

/* CQ, QP and CA alike begin with ctx. */
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

static void tell_ending(struct user_conn *conn, const struct agent_event *event)
{
	(void)event;
	ib_log(IB_LOG_WARNING, "user", "agent %s is about to end, and waits for what is open here",
	       conn->path);
}

static void (*const event_actions[])(struct user_conn *, const struct agent_event *) = {
	[AGENT_EVENT_COMPLETION] = notify,  [AGENT_EVENT_ASYNC] = dispatch,
	[AGENT_EVENT_PORT] = dispatch,      [AGENT_EVENT_CA_ADD] = plug,
	[AGENT_EVENT_CA_REMOVE] = plug,     [AGENT_EVENT_READY] = plug,
	[AGENT_EVENT_ENDING] = tell_ending,
};

void *user_event_main(void *arg)
{
	const uint32_t kinds = sizeof(event_actions) / sizeof(event_actions[0]);
	struct user_conn *conn = arg;
	struct agent_event event;

	thread_begin("al-user-event", CONTEXT_NONE);
	while (TEMP_FAILURE_RETRY(recv(conn->events, &event, sizeof(event), 0)) == sizeof(event))
		if (event.kind < kinds && event_actions[event.kind])
			event_actions[event.kind](conn, &event);
	atomic_store(&conn->lost, true);
	/* Calls that wait for an answer return, and close their lines themselves: user_end(). */
	pthread_mutex_lock(&conn->lock);
	user_close(&conn->events);
	for (int i = 0; i < USER_LINES; i++)
		if (conn->lines[i].busy)
			shutdown(conn->lines[i].fd, SHUT_RDWR);
		else
			user_close(&conn->lines[i].fd);
	pthread_mutex_unlock(&conn->lock);
	sem_post(&conn->plugged);
	return NULL;
}

/* -------------------------------------------------------------------- plugs */

/* The name of its module at the agent, as far as that knows the HCA still. */
static const struct user_provider *find_provider(struct user_conn *conn, uint64_t guid)
{
	const struct MODULE_OF_request request = { .guid = guid };
	struct MODULE_OF_answer answer = { 0 };

	if (user_simple(conn, AGENT_MODULE_OF, &request, &answer, NULL) ||
	    answer.name[sizeof(answer.name) - 1])
		answer.name[0] = 0;
	return user_provider(answer.name);
}

static void add_hca(struct user_conn *conn, uint64_t guid)
{
	const struct user_provider *provider = find_provider(conn, guid);
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
		return;
	}
	hca->next = conn->hcas;
	conn->hcas = hca;
}

static void remove_hca(struct user_conn *conn, uint64_t guid, uint32_t flags)
{
	struct user_hca **p, *hca;

	for (p = &conn->hcas; *p && (*p)->guid != guid; p = &(*p)->next)
		;
	if (!*p)
		return;
	hca = *p;
	*p = hca->next;
	ib_deregister_ci(hca->handle, flags);
	al_free(hca);
}

static struct user_plug *next_plug(struct user_conn *conn)
{
	struct user_plug *p;

	while (sem_wait(&conn->plugged))
		;
	pthread_mutex_lock(&conn->plug_lock);
	p = conn->plugs;
	if (p && !(conn->plugs = p->next))
		conn->plugs_end = &conn->plugs;
	pthread_mutex_unlock(&conn->plug_lock);
	return p; /* NULL: the agent is lost, and this was the last */
}

void *user_plug_main(void *arg)
{
	struct user_conn *conn = arg;
	struct user_plug *p;

	thread_begin("al-user-plug", CONTEXT_NONE);
	while ((p = next_plug(conn))) {
		if (p->event.kind == AGENT_EVENT_CA_ADD)
			add_hca(conn, p->event.guid);
		else if (p->event.kind == AGENT_EVENT_CA_REMOVE)
			remove_hca(conn, p->event.guid, CI_HCA_GONE);
		else
			sem_post(&conn->ready);
		if (p != &conn->ready_plug)
			al_free(p);
	}
	if (conn->hcas)
		ib_log(IB_LOG_ERROR, "user", "agent %s is lost", conn->path);
	while (conn->hcas)
		remove_hca(conn, conn->hcas->guid, CI_HCA_GONE | CI_AGENT_LOST);
	sem_post(&conn->ready);
	return NULL;
}
