/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The queue link: see queue_link.h. Each port has a pool of packets, a queue of those that have
 * come in, and a poller. A sender copies each packet of a train into a packet of the far port's
 * pool, puts the copy into the far port's queue and keeps its own node. A consumed packet goes home
 * to the pool, and then senders that had no room are kicked.
 */
#include "test/link/queue_link.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "hca/soft/base/table.h"
#include "hca/soft/link/link.h"
#include "hca/soft/link/serial.h"
#include "hca/soft/link/source.h"
#include "hca/soft/memory/payload.h"
#include "hca/soft/packet/pool.h"
#include "hca/soft/port/port.h"
#include "hca/soft/shared/base.h"

#define PACKETS 192 /* of a port's pool */
#define RESERVED                                                                              \
	64 /* of these, which requests leave to responses: so two ports can not wait for each \
	      other's responders */
#define PAYLOAD 4096

static bool
	doorbells; /* a sender rings the far port's doorbell; else it kicks the far port's poller */

struct queue {
	struct pool pool; /* first: came_home() finds the queue by it */
	struct soft_port *port;
	struct poller poller;
	struct watch doorbell; /* its descriptor is an eventfd, which nobody reads: each write is an
				  edge */
	struct engine *engine;
	struct fmutex lock; /* guards first and last */
	struct pooled *first, **last;
	_Atomic bool refused;      /* some bit of waiting is set */
	_Atomic uint64_t *waiting; /* a bit for each queue pair of this port, by index: it had no
				      room, and is to be kicked */
};

static struct queue *queue_of(const struct soft_port *port)
{
	return port->link_state;
}

/* ----------------------------------------------------------------- waiting for room */

static uint32_t index_of(const struct soft_port *port, uint32_t qpn)
{
	return (qpn - port->ports->actors->base) & ((1u << TABLE_BITS) - 1);
}

static void kick_word(struct runner *r, struct queue *q, uint32_t word)
{
	uint64_t bits = atomic_exchange(&q->waiting[word], 0);

	for (; bits; bits &= bits - 1)
		actor_kick(r, table_index(q->port->ports->actors,
					  word * 64 + (uint32_t)__builtin_ctzll(bits)));
}

/* Kicks the queue pairs of a port that have waited for room. */
static void kick_waiting(struct runner *r, struct queue *q)
{
	uint32_t words, i;

	if (!atomic_exchange(&q->refused, false))
		return;
	words = (q->port->ports->actors->max + 63) / 64;
	for (i = 0; i < words; i++)
		if (atomic_load_explicit(&q->waiting[i], memory_order_relaxed))
			kick_word(r, q, i);
}

static void came_home(struct runner *r, struct pool *pool)
{
	struct queue *q = (struct queue *)pool; /* its first member */

	if (!r)
		return;
	kick_waiting(r, q);
	if (q->port->cable != q->port && queue_of(q->port->cable))
		kick_waiting(r, queue_of(q->port->cable));
}

static uint32_t left(const struct soft_port *port)
{
	const struct queue *q = queue_of(port);
	struct pool *pool = q ? (struct pool *)&q->pool : NULL;
	uint32_t num;

	if (!pool)
		return PACKETS;
	fmutex_lock(&pool->lock);
	num = pool->left;
	fmutex_unlock(&pool->lock);
	return num;
}

static uint32_t queue_room(const struct source *src, enum flow_index flow)
{
	const uint32_t reserved = flow == FLOW_REQUEST ? RESERVED : 0;
	const uint32_t index = index_of(src->port, src->qpn);
	struct queue *q = queue_of(src->port);
	uint32_t i, num = 0;

	for (i = 0; i < 2 && !num; i++) {
		if (i) { /* says that it waits, and looks once more: a packet may have come home
			    meanwhile */
			atomic_fetch_or(&q->waiting[index / 64], 1ull << index % 64);
			atomic_store(&q->refused, true);
		}
		num = left(src->port);
		if (left(src->port->cable) < num)
			num = left(src->port->cable);
		num = num > reserved ? num - reserved : 0;
	}
	return num;
}

/* -------------------------------------------------------------------- packets */

static void queue_resolve(const struct soft_port *from, const struct route *route,
			  struct path *path)
{
	link_loop.resolve(from, route, path);
}

static void put(struct runner *r, struct queue *q, struct pooled *p)
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
			put(r, q, p);
	}
	if (result == COPY_BAD_SOURCE) {
		pkt->flags |= PKT_BAD_SOURCE;
		came_home(r, &q->pool); /* the packet that would have held the payload */
	}
	return false;
}

static struct pooled *take(struct queue *q)
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
	struct pooled *p = take(q);

	while (p) {
		r->packets--;
		if (!link_receive(r, port, &p->pkt))
			pool_home(r, &p->pkt);
		if (runner_spent(r))
			return !is_empty(q);
		p = take(q);
	}
	return false;
}

/* Packets of the queue pair that still lie in the far port's queue are dropped. */
static void queue_recall(const struct path *path, uint32_t qpn, const struct recall *what)
{
	struct queue *q = path->to ? queue_of(path->to) : NULL;
	struct pooled *dropped = NULL, **at, *p;
	struct runner r;

	if (!q)
		return;
	fmutex_lock(&q->lock);
	for (at = &q->first; (p = *at);) {
		if (p->pkt.src_qpn != what->qpn || p->pkt.dest_qpn != qpn) {
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

static bool queue_spoil(const struct path *path)
{
	return link_loop.spoil(path);
}

static struct actor *queue_near(const struct path *path, uint32_t qpn)
{
	(void)path, (void)qpn;
	return NULL;
}

/* -------------------------------------------------------------- begin and end */

/* The doorbell has been rung. */
static void rung(struct watch *watch, struct runner *r)
{
	struct queue *q = (struct queue *)((char *)watch - offsetof(struct queue, doorbell));

	poller_kick(r, &q->poller);
}

static al_status queue_attach(struct soft_port *port, struct engine *engine)
{
	uint32_t words = (port->ports->actors->max + 63) / 64;
	struct queue *q = al_alloc_aligned(64, sizeof(*q));

	if (!q)
		return AL_INSUFFICIENT_MEMORY;
	q->waiting = al_alloc(words * sizeof(*q->waiting));
	if (!q->waiting || pool_create(&q->pool, PACKETS, PAYLOAD)) {
		al_free((void *)q->waiting);
		al_free(q);
		return AL_INSUFFICIENT_MEMORY;
	}
	q->pool.came_home = came_home;
	q->port = port;
	q->last = &q->first;
	poller_start(&q->poller, port, engine);
	port->link_state = q;
	if (!doorbells)
		return AL_SUCCESS;
	q->engine = engine;
	q->doorbell = (struct watch){ .fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), .ready = rung };
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
	al_free((void *)q->waiting);
	al_free(q);
}

static const struct link_ops link_queue = {
	.name = "queue",
	.attach = queue_attach,
	.detach = queue_detach,
	.resolve = queue_resolve,
	.room = queue_room,
	.send = queue_send,
	.poll = queue_poll,
	.recall = queue_recall,
	.spoil = queue_spoil,
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
