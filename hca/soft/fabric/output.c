/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Outputs: lanes on which packets wait for the cable, and the timer that says when the cable is
 * free. Which data lane goes first is in arbiter.c, what the cable does to packets in cable.c.
 */
#include "hca/soft/fabric/output.h"

#include <stddef.h>

#include "hca/soft/base/clock.h"
#include "hca/soft/fabric/arbiter.h"
#include "hca/soft/fabric/fabric.h"
#include "hca/soft/packet/packet.h"
#include "hca/soft/port/port.h"
#include "hca/soft/shared/base.h"

#define SECOND       1000000000ull /* ns */
#define LIFE_UNIT    4096ull       /* ns: PortInfo.HOQLife, SwitchInfo.LifeTimeValue */
#define LIFE_FOREVER 20            /* codes from here on mean that packets do not age */
#define STALL        8             /* a lane stalls for so many times HOQLife */

/* A list of packets, the oldest first. */
struct batch {
	struct pooled *first, **last;
};

struct lane {
	struct batch packets;
	uint64_t head_since; /* time at which the first packet became the first */
	uint32_t discards;   /* packets in a row that were discarded for HOQLife */
	/* packets that have come before this time are discarded, since the lane has stalled */
	uint64_t stalled_until;
};

struct output {
	struct fabric_end *end;
	struct output *next; /* next on the list fabric.outputs */
	struct timer timer;  /* runs out when `sending` has left */
	uint32_t copies;     /* copies of multicast packets that wait; guarded by the pool's lock */
	/* guards the fields below, and is held by the writer of the end's traffic; before
	 * timers.lock */
	struct fmutex lock;
	uint64_t rate;          /* bytes per second; 0: none */
	struct pooled *sending; /* the packet that is on the cable; NULL: the cable is free */
	uint64_t free_at;       /* time at which `sending` has left */
	bool delivering;        /* the timer hands packets over that have left */
	bool ended;             /* packets that still come are dropped */
	uint32_t ready;         /* a bit for each lane with packets */
	struct lane lane[LANES];
	struct arbiter arbiter;
};

static void batch_add(struct batch *b, struct pooled *p)
{
	p->next = NULL;
	*b->last = p;
	b->last = &p->next;
}

/* ----------------------------------------------------------------------- lanes */

/* Returns the later of two times. A late timer starts packets at a time that has been, maybe before
 * a packet came. */
static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void lane_add(struct output *o, struct pooled *p, uint64_t now)
{
	const uint8_t number = packet_lane(&p->pkt);
	struct lane *lane = &o->lane[number];

	if (!lane->packets.first) {
		lane->packets.last = &lane->packets.first;
		lane->head_since = now;
		o->ready |= 1u << number;
	}
	batch_add(&lane->packets, p);
}

/* Takes the first packet off a lane. */
static struct pooled *lane_take(struct output *o, uint8_t number, uint64_t now)
{
	struct lane *lane = &o->lane[number];
	struct pooled *p = lane->packets.first;

	lane->packets.first = p->next;
	if (p->next)
		lane->head_since = later(now, p->next->since);
	else
		o->ready &= ~(1u << number);
	return p;
}

static uint64_t life_ns(uint32_t code)
{
	return code < LIFE_FOREVER ? LIFE_UNIT << code : UINT64_MAX;
}

static uint64_t age(uint64_t since, uint64_t now)
{
	return now > since ? now - since : 0;
}

/* Counts a packet that has been the first of its lane for longer than HOQLife. After VLStallCount
 * such packets in a row the lane stalls (IBTA 18.2.5.4). */
static void count_discard(struct lane *lane, const struct lanes *lanes, uint64_t now,
			  uint64_t hoq_life)
{
	if (++lane->discards != atomic_load_explicit(&lanes->stall_count, memory_order_relaxed))
		return;
	lane->discards = 0;
	lane->stalled_until = now + STALL * hoq_life;
}

/*
 * True: a switch discards the first packet of a lane, since the lane has stalled, or the packet has
 * waited too long: at the head of the lane (IBTA 14.2.5.6, HOQLife), or altogether (18.2.5.4).
 * Subnet management, which sets the limits, has none.
 */
static bool has_waited(struct output *o, uint32_t number, uint64_t now)
{
	const struct fabric_end *end = o->end;
	struct lane *lane = &o->lane[number];
	uint64_t head, whole;

	if (!end->sw || !end->port || number == LANE_MANAGEMENT)
		return false;
	if (lane->packets.first->since < lane->stalled_until)
		return true;
	head = life_ns(atomic_load_explicit(&end->port->lanes.hoq_life, memory_order_relaxed));
	whole = life_ns(atomic_load_explicit(&end->sw->registers.life_time, memory_order_relaxed));
	if (age(lane->head_since, now) > head) {
		count_discard(lane, &end->port->lanes, now, head);
		return true;
	}
	return age(lane->packets.first->since, now) > whole;
}

/* True: the port does not send the packets of a lane, by its state. */
static bool is_shut(const struct output *o, uint32_t number)
{
	const struct soft_port *port = o->end->port;

	return port && !port_sends(port, number == LANE_MANAGEMENT);
}

/* Discards the packets at the heads of lanes that are too old, or that the port's state holds back.
 */
static void discard(struct output *o, uint64_t now, struct batch *discarded)
{
	uint32_t number;

	for (number = 0; number < LANES; number++)
		while (o->ready & 1u << number &&
		       (is_shut(o, number) || has_waited(o, number, now))) {
			if (o->end->port)
				port_count(o->end->port, CNT_XMIT_DISCARDS, 1);
			batch_add(discarded, lane_take(o, (uint8_t)number, now));
		}
}

/* -------------------------------------------------------------------- the cable */

static uint64_t time_of(const struct output *o, const struct pooled *p)
{
	return o->rate ? p->wire_bytes * SECOND / o->rate : 0;
}

/* Returns the lanes whose first packet had come at a time; if there is none, all that have packets.
 */
static uint32_t ready_at(const struct output *o, uint64_t now)
{
	uint32_t ready = 0, left = o->ready, number;

	for (; left; left &= left - 1) {
		number = (uint32_t)__builtin_ctz(left);
		if (o->lane[number].packets.first->since <= now)
			ready |= 1u << number;
	}
	return ready ? ready : o->ready;
}

/* Puts the next packet on the free cable at a time. */
static void start(struct output *o, uint64_t now, struct batch *discarded)
{
	const struct lanes *lanes = o->end->port ? &o->end->port->lanes : NULL;
	uint32_t ready;
	uint8_t number;

	discard(o, now, discarded);
	o->sending = NULL;
	if (!o->ready)
		return;
	ready = ready_at(o, now);
	if (ready & 1u << LANE_MANAGEMENT) {
		number = LANE_MANAGEMENT;
	} else {
		number = arbiter_choose(&o->arbiter, lanes, ready);
		arbiter_charge(&o->arbiter, o->lane[number].packets.first->wire_bytes);
	}
	o->lane[number].discards = 0;
	o->sending = lane_take(o, number, now);
	o->free_at = later(now, o->sending->since) + time_of(o, o->sending);
	cable_count(o->end, o->sending);
}

/* Sets the timer to the time at which the packet on the cable has left. */
static void set_timer(struct output *o, uint64_t now)
{
	if (o->sending)
		engine_set_timer(&o->end->fabric->engine, &o->timer,
				 o->free_at > now ? o->free_at - now : 0);
}

static void drop_all(struct runner *r, struct batch *b)
{
	struct pooled *p;

	while ((p = b->first)) {
		b->first = p->next;
		pool_home(r, &p->pkt);
	}
}

static void deliver_all(struct runner *r, struct output *o, struct batch *b)
{
	struct pooled *p;

	while ((p = b->first)) {
		b->first = p->next;
		cable_cross(r, o->end, p);
	}
}

static void cable_is_free(struct timer *timer, struct runner *r)
{
	struct output *o = (struct output *)((char *)timer - offsetof(struct output, timer));
	struct batch left = { .last = &left.first }, discarded = { .last = &discarded.first };
	const uint64_t now = clock_ns();

	fmutex_lock(&o->lock);
	/* a timer that is late has let the cable idle: the next packets left at their time */
	while (o->sending && o->free_at <= now) {
		batch_add(&left, o->sending);
		start(o, o->free_at, &discarded);
	}
	o->delivering = true;
	set_timer(o, now);
	fmutex_unlock(&o->lock);
	drop_all(r, &discarded);
	deliver_all(r, o, &left);
	discarded.last = &discarded.first;
	fmutex_lock(&o->lock);
	o->delivering = false;
	if (!o->sending) /* packets may have come meanwhile */
		start(o, clock_ns(), &discarded);
	set_timer(o, clock_ns());
	fmutex_unlock(&o->lock);
	drop_all(r, &discarded);
}

void output_send(struct runner *r, struct fabric_end *out, struct pooled *p)
{
	struct output *o = atomic_load_explicit(&out->output, memory_order_relaxed);
	struct batch discarded = { .last = &discarded.first };
	const uint64_t now = clock_ns();
	bool at_once;

	p->since = now;
	fmutex_lock(&o->lock);
	if (o->ended) {
		fmutex_unlock(&o->lock);
		pool_home(r, &p->pkt);
		return;
	}
	at_once = !o->rate && !o->sending && !o->delivering;
	if (at_once) {
		cable_count(out, p);
	} else {
		lane_add(o, p, now);
		if (!o->sending && !o->delivering) {
			start(o, now, &discarded);
			set_timer(o, now);
		}
	}
	fmutex_unlock(&o->lock);
	if (at_once)
		cable_cross(r, out, p);
	drop_all(r, &discarded);
}

uint32_t *output_copies(const struct fabric_end *out)
{
	/* acquire: pairs with the release in output_set_rate() */
	struct output *o = atomic_load_explicit(&out->output, memory_order_acquire);

	return o ? &o->copies : NULL;
}

/* ----------------------------------------------------------------- start and end */

/* Gives an end an output. The caller holds the fabric's lock. */
static struct output *make(struct fabric_end *end)
{
	struct fabric *f = end->fabric;
	struct output *o = al_alloc(sizeof(*o));

	if (!o)
		return NULL;
	o->end = end;
	o->timer.run_out = cable_is_free;
	o->timer.without_lock = true;
	o->next = f->outputs;
	f->outputs = o;
	return o;
}

/* Sets the rate, also for the packet that is on the cable. The caller holds the output's lock. */
static void set_rate(struct output *o, uint64_t rate)
{
	const uint64_t now = clock_ns();

	o->rate = rate;
	if (!o->sending)
		return;
	if (o->free_at > now + time_of(o, o->sending))
		o->free_at = now + time_of(o, o->sending);
	set_timer(o, now);
}

al_status output_set_rate(struct fabric_end *end, uint64_t rate)
{
	struct output *o = atomic_load_explicit(&end->output, memory_order_relaxed);

	if (!o && !rate)
		return AL_SUCCESS;
	if (!o)
		o = make(end);
	if (!o)
		return AL_INSUFFICIENT_MEMORY;
	fmutex_lock(&o->lock);
	set_rate(o, rate);
	fmutex_unlock(&o->lock);
	/* release: pairs with the acquires in leave(), take_way(), output_copies() and
	 * output_rate(); publishes the output, which lives as long as the fabric */
	atomic_store_explicit(&end->output, o, memory_order_release);
	return AL_SUCCESS;
}

uint64_t output_rate(const struct fabric_end *end)
{
	/* acquire: pairs with the release in output_set_rate() */
	struct output *o = atomic_load_explicit(&end->output, memory_order_acquire);
	uint64_t rate;

	if (!o)
		return 0;
	fmutex_lock(&o->lock);
	rate = o->rate;
	fmutex_unlock(&o->lock);
	return rate;
}

/* Drops what waits, and what still comes from a port of the fabric. */
static void end(struct output *o)
{
	struct batch dropped = { .last = &dropped.first };
	uint8_t number;

	fmutex_lock(&o->lock);
	o->ended = true;
	if (o->sending)
		batch_add(&dropped, o->sending);
	o->sending = NULL;
	for (number = 0; number < LANES; number++)
		while (o->ready & 1u << number)
			batch_add(&dropped, lane_take(o, number, 0));
	fmutex_unlock(&o->lock);
	drop_all(NULL, &dropped);
}

void outputs_stop(struct fabric *f)
{
	struct output *o;

	for (o = f->outputs; o; o = o->next) {
		end(o);
		timer_end(&f->engine.timers, &o->timer);
	}
}

void outputs_destroy(struct fabric *f)
{
	struct output *o;

	while ((o = f->outputs)) {
		f->outputs = o->next;
		al_free(o);
	}
}
