/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The queue link (queue_link.h). Each port has a pool of packets, a queue of packets that have come in, and a poller.
 * A sender copies each packet of a train into a packet of the far port's pool, puts the copy into the far port's
 * queue, and keeps the sender's own node. A consumed packet goes home to the pool, and the link then kicks senders
 * that had no room.
 */
#include "test/link/queue_link.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "hca/soft/link/link.h"
#include "hca/soft/link/serial.h"
#include "hca/soft/link/source.h"
#include "hca/soft/link/waiting.h"
#include "hca/soft/memory/payload.h"
#include "hca/soft/packet/pool.h"
#include "hca/soft/port/port.h"
#include "hca/soft/shared/base.h"

#define PACKETS 192 /* packets of a port's pool */
/* Packets of a pool that only responses may use, so that two ports full of requests can not wait for each other. */
#define RESERVED 64
#define PAYLOAD 4096 /* bytes of payload that a packet of the pool has room for */

/* True: a sender rings the far port's doorbell. False: a sender kicks the far port's poller. */
static bool doorbells;

struct queue {
	struct pool pool; /* first member: packet_came_home() casts the pool to its queue */
	struct soft_port *port;
	struct poller poller;
	struct watch doorbell; /* watches an eventfd that is never read, so that each write is an edge */
	struct engine *engine;
	struct fmutex lock; /* guards first and last */
	struct pooled *first, **last;
	struct waiting waiting; /* queue pairs of this port that found no room */
};

static struct queue *queue_of(const struct soft_port *port)
{
	return port->link_state;
}

/* ----------------------------------------------------------------- room */

/* A packet of a port's pool is free again: kicks the waiting queue pairs of this port and of the far port. */
static void packet_came_home(struct runner *r, struct pool *pool)
{
	struct queue *q = (struct queue *)pool; /* pool is the first member */

	if (!r) /* payload_keep() has given the packet back, and queue_send() kicks */
		return;
	waiting_kick(r, &q->waiting);
	if (q->port->cable != q->port && queue_of(q->port->cable))
		waiting_kick(r, &queue_of(q->port->cable)->waiting);
}

/* Returns how many packets the port's pool has left. A port without a queue counts as a port with a full pool. */
static uint32_t free_packets(const struct soft_port *port)
{
	const struct queue *q = queue_of(port);
	struct pool *pool = q ? (struct pool *)&q->pool : NULL;
	uint32_t count;

	if (!pool)
		return PACKETS;
	fmutex_lock(&pool->lock);
	count = pool->left;
	fmutex_unlock(&pool->lock);
	return count;
}

/*
 * Returns how many packets of a flow both ends of the cable have room for. A request's response needs room at
 * this end.
 */
static uint32_t room_now(const struct soft_port *port, enum flow_index flow)
{
	const uint32_t reserved = flow == FLOW_REQUEST ? RESERVED : 0;
	const uint32_t here = free_packets(port), far = free_packets(port->cable);
	const uint32_t count = here < far ? here : far;

	return count > reserved ? count - reserved : 0;
}

static uint32_t queue_room(const struct source *src, enum flow_index flow)
{
	uint32_t count = room_now(src->port, flow);

	if (count)
		return count;
	waiting_add(&queue_of(src->port)->waiting, src->qpn);
	return room_now(src->port, flow);
}

/* -------------------------------------------------------------------- packets */

static void queue_resolve(const struct soft_port *from, const struct route *route,
			  struct path *path)
{
	link_loop.resolve(from, route, path);
}

static void queue_resolve_group(const struct soft_port *from, const struct route *route,
				struct path *path)
{
	link_loop.resolve_group(from, route, path);
}

static void enqueue(struct runner *r, struct queue *q, struct pooled *p)
{
	p->next = NULL;
	fmutex_lock(&q->lock);
	*q->last = p;
	q->last = &p->next;
	fmutex_unlock(&q->lock);
	if (!doorbells)
		poller_kick(r, &q->poller);
	else if (eventfd_write(q->doorbell.fd, 1))
		abort();
}

static bool queue_send(struct runner *r, const struct path *path, struct packet *pkt)
{
	struct queue *q = path->to ? queue_of(path->to) : NULL;
	enum copy_result result = COPY_DONE;
	struct packet one;
	struct pooled *p;
	uint32_t i;

	for (i = 0; q && i < pkt->num && result == COPY_DONE; i++) {
		one = packet_of_train(pkt, i);
		p = payload_keep(&q->pool, &one, &result);
		if (p)
			enqueue(r, q, p);
	}
	if (result == COPY_BAD_SOURCE) {
		pkt->flags |= PKT_BAD_SOURCE;
		packet_came_home(r, &q->pool); /* payload_keep() has given back the packet for the payload */
	}
	return false;
}

static struct pooled *dequeue(struct queue *q)
{
	struct pooled *p;

	fmutex_lock(&q->lock);
	p = q->first;
	if (p) {
		q->first = p->next;
		if (!q->first)
			q->last = &q->first;
	}
	fmutex_unlock(&q->lock);
	return p;
}

static bool is_empty(struct queue *q)
{
	bool empty;

	fmutex_lock(&q->lock);
	empty = !q->first;
	fmutex_unlock(&q->lock);
	return empty;
}

static bool queue_poll(struct runner *r, struct soft_port *port)
{
	struct queue *q = queue_of(port);
	struct pooled *p = dequeue(q);

	while (p) {
		r->trains--;
		if (!link_receive(r, port, &p->pkt))
			pool_home(r, &p->pkt);
		if (runner_spent(r))
			return !is_empty(q);
		p = dequeue(q);
	}
	return false;
}

/* Drops the copies that the recalling queue pair has sent and that still lie in a port's queue. */
static void drop_queued(struct queue *q, uint32_t qpn, const struct recall *recall)
{
	struct pooled *dropped = NULL, **at, *p;
	struct runner r;

	if (!q)
		return;
	fmutex_lock(&q->lock);
	for (at = &q->first; (p = *at);) {
		if (p->pkt.src_qpn != recall->qpn || p->pkt.dest_qpn != qpn) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		p->next = dropped;
		dropped = p;
	}
	q->last = at;
	fmutex_unlock(&q->lock);
	runner_start(&r);
	while ((p = dropped)) {
		dropped = p->next;
		pool_home(&r, &p->pkt);
	}
	runner_run(&r);
}

static void queue_recall(const struct soft_port *from, uint32_t qpn, const struct recall *recall)
{
	drop_queued(queue_of(from->cable), qpn, recall);
	if (from->cable != from)
		drop_queued(queue_of(from), qpn, recall);
}

static bool queue_count_receive_error(const struct path *path)
{
	return link_loop.count_receive_error(path);
}

static struct actor *queue_near(const struct path *path, uint32_t qpn)
{
	(void)path, (void)qpn;
	return NULL;
}

/* -------------------------------------------------------------- begin and end */

/* A sender has rung the doorbell of a port: runs the port's poller. */
static void answer_doorbell(struct watch *watch, struct runner *r)
{
	struct queue *q = (struct queue *)((char *)watch - offsetof(struct queue, doorbell));

	poller_kick(r, &q->poller);
}

static al_status queue_attach(struct soft_port *port, struct engine *engine)
{
	struct queue *q = al_alloc_aligned(64, sizeof(*q));

	if (!q)
		return AL_INSUFFICIENT_MEMORY;
	if (waiting_create(&q->waiting, port) || pool_create(&q->pool, PACKETS, PAYLOAD)) {
		waiting_destroy(&q->waiting);
		al_free(q);
		return AL_INSUFFICIENT_MEMORY;
	}
	q->pool.came_home = packet_came_home;
	q->port = port;
	q->last = &q->first;
	poller_start(&q->poller, port, engine);
	port->link_state = q;
	if (!doorbells)
		return AL_SUCCESS;
	q->engine = engine;
	q->doorbell = (struct watch){ .fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), .ready = answer_doorbell };
	return engine_watch(engine, &q->doorbell);
}

static void queue_detach(struct soft_port *port)
{
	struct queue *q = queue_of(port);

	if (doorbells) {
		engine_unwatch(q->engine, &q->doorbell);
		close(q->doorbell.fd);
	}
	poller_stop(&q->poller);
	port->link_state = NULL;
	pool_destroy(&q->pool);
	waiting_destroy(&q->waiting);
	al_free(q);
}

static const struct link_ops link_queue = {
	.name = "queue",
	.attach = queue_attach,
	.detach = queue_detach,
	.resolve = queue_resolve,
	.resolve_group = queue_resolve_group,
	.room = queue_room,
	.send = queue_send,
	.poll = queue_poll,
	.recall = queue_recall,
	.count_receive_error = queue_count_receive_error,
	.near = queue_near,
};

void queue_link_use_as_asked(void)
{
	const char *asked = getenv("IBAL_TEST_LINK");

	doorbells = asked && !strcmp(asked, "doorbell");
	link_of_ports = doorbells || (asked && !strcmp(asked, "queue")) ? &link_queue : &link_loop;
}

bool queue_link_in_use(void)
{
	return link_of_ports == &link_queue;
}
