/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Who executes what, and when: actors, runners and the engine (engine.c), manual progress (manual.c). */
#ifndef SOFT_ENGINE_H
#define SOFT_ENGINE_H

#include <pthread.h>
#include <stdatomic.h>
#include <iba/ib_hca.h>
#include <iba/ib_soft.h>

#include "hca/soft/base/timer.h"
#include "hca/soft/engine/reactor.h"
#include "hca/soft/shared/lock.h"

struct packet;
struct recall;

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
	void *self;                 /* the queue pair; owner's */
	struct engine *engine;
	struct actor *run_next;     /* owner's, or run_lock's */
	_Atomic uint32_t signals;   /* enum actor_signal */
	_Atomic uint32_t claimers;  /* control operations that wait for it */
	_Atomic uint32_t parked;    /* let go of in favour of a claimer */
	_Atomic uint32_t held;      /* requests of its queue pair's that wait for the peer's client: resp_wait() */
	bool queued;                /* on the run queue; guarded by run_lock */
	const struct actor_ops *ops;
};

/* What an actor's owner does with it. */
struct actor_ops {
	/* One pass over all that there is to do; true: there is more, but the budget is spent. */
	bool (*run)(struct runner *r, struct actor *a);
	/* Takes these packets, oldest first, as run() does those of the inbox. */
	void (*receive)(struct runner *r, struct actor *a, struct packet *list);
	/* Gives back what it has taken so and not yet looked at. */
	struct packet *(*recall)(struct actor *a, const struct recall *what);
};

/* What executes an HCA's actors when nobody else does, and what it sleeps on. */
struct engine {
	_Atomic uint32_t waiting; /* actors on the run queue */
	struct fmutex run_lock;   /* guards the run queue */
	struct actor *run_head, **run_tail;
	_Alignas(64) struct reactor reactor; /* the thread sleeps on it */
	_Atomic bool asleep;
	_Atomic uint64_t until;   /* when it will wake by itself */
	_Atomic bool stop;
	bool started;
	pthread_t thread;
	struct timers timers;
	const char *name;         /* of the HCA */
	/* Manual progress: does once what other threads of the HCA would do; false: there was nothing to do. */
	bool (*step)(struct engine *engine);
	struct engine *next_step; /* manual progress: the HCA that is stepped after this one */
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

/* Does some of what is on the run queue. Context: any. */
void engine_progress(struct engine *engine);
/* A thread of the library's kind: named, with all signals blocked. Returns what pthread_create() does. */
int thread_start(pthread_t *thread, const char *name, void *(*fn)(void *), void *arg);
/* name: the HCA's, for messages; it stays there. */
void engine_init(struct engine *engine, const char *name);
al_status engine_start(struct engine *engine);
void engine_stop(struct engine *engine);
/* The engine is stopped, and nothing is watched. */
void engine_end(struct engine *engine);
/* The engine watches a descriptor from now on (reactor.h). AL_INSUFFICIENT_RESOURCES. */
al_status engine_watch(struct engine *engine, struct watch *watch);
void engine_unwatch(struct engine *engine, struct watch *watch);
/* Makes a sleeping engine look at its run queue and timers. */
void engine_wake(struct engine *engine);
/* timer_set(), and the engine is woken if it would sleep too long. */
void engine_timer(struct engine *engine, struct timer *t, uint64_t delay_ns);
/* One pass, of one train at most, of the queue pair at this place of the run queue; false: there is none. */
bool engine_step(struct engine *engine, uint32_t index);

static inline bool engine_has_work(const struct engine *engine)
{
	return atomic_load_explicit(&engine->waiting, memory_order_relaxed);
}

/* nothing: runners leave everything on run queues from now on. */
void engine_budget(bool nothing);

/* ------------------------------------------------- manual progress (manual.c) */

/* On: the clock stands at 0, and nothing moves but by manual_step(). No engine is there yet. */
void manual_start(bool on);
/* The engine is stepped, after those that were there before; not with progress of its own. */
void manual_add(struct engine *engine);
/* SOFT_STEP. choice NULL: HCAs take turns, and each one's queue pairs. */
al_status manual_step(const uint64_t *choice, struct soft_step *step);

#endif
