/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Who executes what, and when: actors, runners and the engine (engine.c), manual progress (manual.c), timers (timer.c). */
#ifndef SOFT_ENGINE_H
#define SOFT_ENGINE_H

#include <pthread.h>
#include <stdatomic.h>
#include <iba/ib_hca.h>
#include <iba/ib_soft.h>

#include "hca/soft/shared/lock.h"

struct packet;
struct soft_hca;
struct soft_qp;

enum inbox {
	INBOX_DEAD = 0, /* there is no queue pair: what zeroed memory says */
	INBOX_IDLE = 1, /* nobody owns the actor */
	INBOX_BUSY = 2, /* owned, nothing in */
	INBOX_KICK = 3, /* owned, something other than a packet happened */
	/* else a struct packet: owned, the newest packet first */
};

/* What happened beside packets: bits of actor.signals. */
enum actor_signal {
	SIGNAL_TIMER = 1 << 0,    /* the timer has run out */
	SIGNAL_CQ_ERROR = 1 << 1, /* a completion queue has overflowed */
	SIGNAL_BAD_SEND = 1 << 2, /* a client's ring holds what is no send request, */
	SIGNAL_BAD_RECV = 1 << 3, /* or no receive */
};

struct actor {
	_Alignas(64) _Atomic uintptr_t inbox;
	struct soft_qp *qp;         /* owner's */
	struct soft_hca *hca;
	struct actor *run_next;     /* owner's, or run_lock's */
	_Atomic uint32_t signals;   /* enum actor_signal */
	_Atomic uint32_t claimers;  /* control operations that wait for it */
	_Atomic uint32_t parked;    /* let go of in favour of a claimer */
	_Atomic uint32_t held;      /* requests of its queue pair's that wait for the peer's client: resp_wait() */
	bool queued;                /* on the run queue; guarded by run_lock */
};

/* One thread's work at hand: actors that it owns, and how much it may still do. */
struct runner {
	struct actor *head, **tail;
	int32_t packets; /* trains */
	int64_t bytes;
};

void runner_start(struct runner *r);
/* The actor is owned: it will be run. */
void runner_add(struct runner *r, struct actor *a);
/* Runs all, as far as the budget goes; leaves the rest on run queues. */
void runner_run(struct runner *r);

static inline bool runner_spent(const struct runner *r)
{
	return r->packets <= 0 || r->bytes <= 0;
}

/* Puts a packet into the inbox; false: it is dead. */
bool actor_push(struct runner *r, struct actor *a, struct packet *pkt);
/* Makes it look at its queues and signals. */
void actor_kick(struct runner *r, struct actor *a);
void actor_signal(struct runner *r, struct actor *a, uint32_t signals);
/* Owns the actor if it is idle. */
bool actor_try_own(struct actor *a);
/* The end of an owner's turn; more: there is still something to do. What has come in meanwhile is seen to. */
void actor_let_go(struct runner *r, struct actor *a, bool more);
/* Waits until the caller owns the actor. False: it is dead. May sleep. */
bool actor_claim(struct actor *a);
/* Takes all packets out of the inbox, oldest first. The caller owns the actor. */
struct packet *actor_take(struct actor *a);
/* Ends the actor's life. The caller owns it. False: something has come in, take it first. */
bool actor_kill(struct actor *a);

/* Does some of what is on the HCA's run queue. Context: any. */
void engine_progress(struct soft_hca *hca);
/* A thread of the library's kind: named, with all signals blocked. Returns what pthread_create() does. */
int thread_start(pthread_t *thread, const char *name, void *(*fn)(void *), void *arg);
al_status engine_start(struct soft_hca *hca);
void engine_stop(struct soft_hca *hca);
/* Makes a sleeping engine look at its run queue and timers. */
void engine_wake(struct soft_hca *hca);
/* One pass, of one train at most, of the queue pair at this place of the run queue; false: there is none. */
bool engine_step(struct soft_hca *hca, uint32_t index);
/* nothing: runners leave everything on run queues from now on. */
void engine_budget(bool nothing);

/* ------------------------------------------------- manual progress (manual.c) */

/* On: the clock stands at 0, and nothing moves but by manual_step(). */
void manual_start(bool on);
/* False: time is the machine's. */
bool manual_clock(uint64_t *now);
/* SOFT_STEP. choice NULL: HCAs take turns, and each one's queue pairs. */
al_status manual_step(struct soft_hca *hcas, uint32_t count, const uint64_t *choice,
		      struct soft_step *step);

/* ------------------------------------------------------------------ timer */

/*
 * One per queue pair, in a hierarchical wheel per HCA. It is set only when it is not running, never per packet; what
 * has happened since is looked at when it runs out.
 */
struct timer {
	struct timer *next, **pprev; /* guarded by timers.lock; pprev NULL: not running */
	uint64_t tick;               /* when; guarded by timers.lock */
	struct actor *actor;         /* whom it signals; NULL: the fault engine's */
	_Atomic bool running;
};

#define WHEEL_BITS 6
#define WHEEL_LEVELS 8
#define TICK_SHIFT 12 /* ns */

struct timers {
	struct fmutex lock;
	uint64_t now; /* tick up to which all have been expired */
	uint64_t filled[WHEEL_LEVELS]; /* slots that hold any */
	struct timer *slot[WHEEL_LEVELS][1 << WHEEL_BITS];
};

uint64_t clock_ns(void);
void timers_init(struct timers *w);
/* (Re)starts a timer; the engine is woken if it would sleep too long. */
void timer_start(struct soft_hca *hca, struct timer *t, uint64_t delay_ns);
void timer_stop(struct soft_hca *hca, struct timer *t);
/* When the next one may be due, in ns; UINT64_MAX: never. */
uint64_t timers_next(struct soft_hca *hca);
/* Signals those that are due; false: there was none. */
bool timers_expire(struct soft_hca *hca, struct runner *r);

#endif
