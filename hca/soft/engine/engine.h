/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Actors, runners and the engine (engine.c): which thread executes which queue pair, and when. Manual progress
 * (manual.c). The work of a queue pair itself is in transport/.
 */
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

/*
 * The states of an actor's inbox word. Any other value is a struct packet: the actor is owned, and the word points to
 * the newest packet of the inbox.
 */
enum inbox {
	INBOX_DEAD = 0, /* no queue pair has this actor; zeroed memory is a dead actor */
	INBOX_IDLE = 1, /* no thread owns the actor */
	INBOX_BUSY = 2, /* the actor is owned, and the inbox is empty */
	INBOX_KICK = 3, /* the actor is owned, and has work other than packets */
};

/* Events of a queue pair other than packets: bits of actor.signals. */
enum actor_signal {
	SIGNAL_TIMER = 1 << 0,    /* the queue pair's timer has run out */
	SIGNAL_CQ_ERROR = 1 << 1, /* a completion queue of the queue pair has overflowed */
	SIGNAL_BAD_SEND = 1 << 2, /* the client's send ring holds a malformed request */
	SIGNAL_BAD_RECV = 1 << 3, /* the client's receive ring holds a malformed request */
};

struct actor {
	_Alignas(64) _Atomic uintptr_t inbox; /* enum inbox, or the newest packet */
	void *self;                 /* the queue pair or poller; for the actor's owner only */
	struct engine *engine;
	struct actor *run_next;     /* next on a runner's list (owner's), or on the run queue (guarded by run_lock) */
	_Atomic uint32_t signals;   /* enum actor_signal */
	_Atomic uint32_t claimers;  /* control operations that wait for the actor */
	_Atomic uint32_t parked;    /* 1: the last owner has released the actor to a claimer */
	/* requests of this queue pair that wait for the memory of the peer's client: resp_suspend() */
	_Atomic uint32_t held;
	bool queued;                /* the actor is on the run queue; guarded by run_lock */
	const struct actor_ops *ops;
};

/* The operations of an actor. The caller of each operation owns the actor. */
struct actor_ops {
	/* Makes one pass over all work of the actor. True: the budget is spent and there is more work. */
	bool (*run)(struct runner *r, struct actor *a);
	/* Processes a list of packets, oldest first, as run() processes the packets of the inbox. */
	void (*receive)(struct runner *r, struct actor *a, struct packet *list);
	/* Returns the packets of the recall that the actor has taken out of its inbox and not yet executed. */
	struct packet *(*recall)(struct actor *a, const struct recall *recall);
};

/* Engines of a process, at the most; one more where there is a fabric. HCAs beyond that share
 * engines. */
#define MAX_ENGINES 16

/*
 * The run queue, the timers and the engine thread of an HCA, or of several HCAs. The engine thread
 * executes queued actors that no poll executes.
 */
struct engine {
	_Atomic uint32_t queued_actors; /* actors on the run queue */
	struct fmutex run_lock;   /* guards the run queue */
	struct actor *run_head, **run_tail;
	_Alignas(64) struct reactor reactor; /* the engine thread sleeps on the reactor */
	_Atomic bool asleep;         /* the engine thread sleeps, or is about to */
	/* clock_ns() at which the sleeping engine thread wakes without a call of engine_wake() */
	_Atomic uint64_t wake_at_ns;
	_Atomic bool stop;           /* the engine thread is to end */
	struct fmutex users_lock;    /* guards users, and held while the thread starts or ends */
	uint32_t users;              /* calls of engine_start() without their engine_stop() */
	bool started;
	pthread_t thread;
	struct timers timers;
	const char *name; /* the name of the (first) HCA */
	/* Manual progress, where each HCA has an engine of its own: does one turn of the HCA's
	 * other threads. False: those threads had no work. NULL: no such threads. */
	bool (*step)(void *step_arg);
	void *step_arg;
	struct engine *next_step; /* manual progress: the engine that is stepped after this one */
};

/* The owned actors that one thread has to run within one call, and the rest of that call's budget. */
struct runner {
	struct actor *head, **tail;
	int32_t trains; /* trains that the runner may still send */
	int64_t bytes;  /* payload that the runner may still send */
};

/* Makes an empty runner with a full budget. */
void runner_start(struct runner *r);
/* Appends an actor to the runner's list. The caller owns the actor, and gives the ownership to the runner. */
void runner_add(struct runner *r, struct actor *a);
/* Runs the runner's actors until the budget is spent. The remaining actors go to their engines' run queues. */
void runner_run(struct runner *r);

static inline bool runner_spent(const struct runner *r)
{
	return r->trains <= 0 || r->bytes <= 0;
}

/* Puts a packet into the actor's inbox. An idle actor becomes the runner's. False: the actor is dead, and the packet is
 * still the caller's. */
bool actor_push(struct runner *r, struct actor *a, struct packet *pkt);
/* Makes the actor's owner look at the queue pair's queues and signals. An idle actor becomes the runner's. */
void actor_kick(struct runner *r, struct actor *a);
/* Sets bits of actor.signals, and kicks the actor. */
void actor_signal(struct runner *r, struct actor *a, uint32_t signals);
/* True: the actor was idle, and the caller owns the actor now. */
bool actor_try_own(struct actor *a);
/*
 * Ends the caller's ownership. more: the actor has work left. An actor with work, or with an inbox that has filled
 * meanwhile, goes to the runner's list.
 */
void actor_let_go(struct runner *r, struct actor *a, bool more);
/* Waits until the caller owns the actor. False: the actor is dead. May sleep. The caller owns no other actor. */
bool actor_claim(struct actor *a);
/* Takes all packets out of the inbox, oldest first. The caller owns the actor. */
struct packet *actor_take(struct actor *a);
/* Makes an owned actor dead. False: the inbox is not empty, and the caller must call actor_take() first. */
bool actor_kill(struct actor *a);

/* Runs actors of the run queue, within one budget. Context: any. */
void engine_progress(struct engine *engine);
/* Starts a named thread with all signals blocked. Returns the result of pthread_create(). */
int start_thread(pthread_t *thread, const char *name, void *(*fn)(void *), void *arg);
/* name: the HCA's name, for messages; the string outlives the engine. */
void engine_init(struct engine *engine, const char *name);
/*
 * Adds a user, and starts the engine thread for the first, except with manual progress.
 * AL_INSUFFICIENT_RESOURCES: no thread, which has been logged. May sleep.
 */
al_status engine_start(struct engine *engine);
/*
 * Ends what engine_start() began: the last user ends the thread. The user's actors are dead, its
 * timers have ended and its descriptors are not watched, so nothing of the user's runs any more,
 * whether the thread goes on or not. May sleep.
 */
void engine_stop(struct engine *engine);
/* Frees the engine's descriptors. The engine is stopped, and no descriptor is watched. */
void engine_end(struct engine *engine);
/* Watches a descriptor until engine_unwatch() (reactor.h). AL_INSUFFICIENT_RESOURCES. */
al_status engine_watch(struct engine *engine, struct watch *watch);
void engine_unwatch(struct engine *engine, struct watch *watch);
/* Makes a sleeping engine thread look at the run queue, the timers and the descriptors. */
void engine_wake(struct engine *engine);
/* Calls timer_set(), and wakes an engine thread that would sleep past the timer. */
void engine_set_timer(struct engine *engine, struct timer *t, uint64_t delay_ns);
/*
 * Makes one pass, of one train at most, of the queue pair at place `index` of the run queue. False: the queue is
 * shorter.
 */
bool engine_step(struct engine *engine, uint32_t index);

static inline bool engine_has_work(const struct engine *engine)
{
	return atomic_load_explicit(&engine->queued_actors, memory_order_relaxed);
}

/* manual: runners that start from now on have no budget and leave every actor on its run queue. */
void engine_set_manual(bool manual);

/* ------------------------------------------------- manual progress (manual.c) */

/*
 * Chooses the progress of all engines, before the first engine exists. on: the clock stands at 0, and only
 * manual_step() runs actors and moves the clock.
 */
void manual_start(bool on);
/* Adds an engine behind the engines that manual_step() steps. Without manual progress the list is not used. */
void manual_add(struct engine *engine);
/* Executes SOFT_STEP. choice NULL: the HCAs take turns, and so do the queue pairs of each HCA. */
al_status manual_step(const uint64_t *choice, struct soft_step *step);

#endif
