/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Actors, runners, and the engine thread: who executes what, when. What a queue pair does when it
 * is executed is the transport's. The rules are in README.md.
 */

#include "hca/soft/engine/engine.h"

#include <signal.h>
#include <string.h>

#include "hca/soft/base/clock.h"
#include "hca/soft/packet/packet.h"
#include "hca/soft/shared/base.h"
#include "hca/soft/shared/lock.h"

/* The work that one post, poll or control operation does at most; the rest stays on run queues, for
 * the engine thread and later polls. */
struct budget {
	int32_t packets;
	int64_t bytes;
};

#define USUAL                \
	{                    \
		512, 2 << 20 \
	}

static struct budget budget = USUAL;

void engine_budget(bool nothing)
{
	budget = nothing ? (struct budget){ 0, 0 } : (struct budget)USUAL;
}

static bool is_packet(uintptr_t word)
{
	return word > INBOX_KICK;
}

/* actor_claim() sleeps on this number, which counts releases of actors that have claimers. */
static _Atomic uint32_t released;

static void wake_claimers(struct actor *a)
{
	/* Sequentially consistent: the caller has released the actor before this load, and
	 * actor_claim() counts itself before it looks at the actor. So this load sees the claimer,
	 * or the claimer sees the released actor. */
	if (LIKELY(!atomic_load(&a->claimers)))
		return;
	atomic_fetch_add(&released, 1);
	futex_wake(&released, INT32_MAX);
}

/* ----------------------------------------------------------------- runner */

void runner_start(struct runner *r)
{
	r->head = NULL;
	r->tail = &r->head;
	r->packets = budget.packets;
	r->bytes = budget.bytes;
}

void runner_add(struct runner *r, struct actor *a)
{
	a->run_next = NULL;
	*r->tail = a;
	r->tail = &a->run_next;
}

static struct actor *runner_next(struct runner *r)
{
	struct actor *a = r->head;

	r->head = a->run_next;
	if (!r->head)
		r->tail = &r->head;
	return a;
}

/* Hands the actor to a control operation that waits for it. True: the caller owns it no more. */
static bool park_for_claimer(struct actor *a)
{
	if (LIKELY(!atomic_load_explicit(&a->claimers, memory_order_relaxed)))
		return false;
	/* release: what the owner did is the claimer's to see */
	atomic_store_explicit(&a->parked, 1, memory_order_release);
	wake_claimers(a);
	return true;
}

static void leave_on_queue(struct actor *a)
{
	struct engine *e = a->engine;

	fmutex_lock(&e->run_lock);
	a->run_next = NULL;
	a->queued = true;
	*e->run_tail = a;
	e->run_tail = &a->run_next;
	atomic_fetch_add(&e->waiting, 1); /* in total order: before engine_wake() looks */
	fmutex_unlock(&e->run_lock);
	wake_claimers(a);
	engine_wake(e);
}

bool actor_try_own(struct actor *a)
{
	uintptr_t idle = INBOX_IDLE;

	/* acquire: what the last owner did */
	return atomic_compare_exchange_strong_explicit(&a->inbox, &idle, INBOX_BUSY,
						       memory_order_acquire, memory_order_relaxed);
}

void actor_let_go(struct runner *r, struct actor *a, bool more)
{
	uintptr_t busy = INBOX_BUSY;

	if (park_for_claimer(a))
		return;
	/* release: the next owner sees what this one did; in total order with the look at claimers
	 * that follows */
	if (!more && atomic_compare_exchange_strong(&a->inbox, &busy, INBOX_IDLE)) {
		wake_claimers(a);
		return;
	}
	runner_add(r, a);
}

static void run_one(struct runner *r, struct actor *a)
{
	bool more = a->ops->run(r, a);

	actor_let_go(r, a, more);
}

void runner_run(struct runner *r)
{
	while (r->head && !runner_spent(r))
		run_one(r, runner_next(r));
	while (UNLIKELY(r->head))
		leave_on_queue(runner_next(r));
}

/* ------------------------------------------------------------------ actor */

bool actor_push(struct runner *r, struct actor *a, struct packet *pkt)
{
	uintptr_t old = atomic_load_explicit(&a->inbox, memory_order_relaxed);

	do {
		if (old == INBOX_DEAD)
			return false;
		pkt->next = is_packet(old) ? (struct packet *)old : NULL;
		/* release: the packet's content; acquire: what the last owner did */
	} while (!atomic_compare_exchange_weak_explicit(
		&a->inbox, &old, (uintptr_t)pkt, memory_order_acq_rel, memory_order_relaxed));
	if (old == INBOX_IDLE)
		runner_add(r, a);
	return true;
}

void actor_kick(struct runner *r, struct actor *a)
{
	uintptr_t old = INBOX_IDLE, new;

	do {
		if (old == INBOX_DEAD)
			return;
		new = old == INBOX_IDLE ? INBOX_BUSY : old == INBOX_BUSY ? INBOX_KICK : old;
		/*
		 * The exchange happens even when the word keeps its value. Release: the next owner
		 * sees the caller's writes before the kick. Acquire: a caller that becomes the owner
		 * sees the last owner's writes.
		 */
	} while (!atomic_compare_exchange_weak_explicit(&a->inbox, &old, new, memory_order_acq_rel,
							memory_order_relaxed));
	if (old == INBOX_IDLE)
		runner_add(r, a);
}

void actor_signal(struct runner *r, struct actor *a, uint32_t signals)
{
	/* release: the writes that the signals announce; the owner may take them before the kick */
	atomic_fetch_or_explicit(&a->signals, signals, memory_order_release);
	actor_kick(r, a);
}

struct packet *actor_take(struct actor *a)
{
	uintptr_t word = atomic_load_explicit(&a->inbox, memory_order_relaxed);
	struct packet *pkt, *list = NULL, *next;

	if (word == INBOX_BUSY)
		return NULL;
	/* acquire: pairs with actor_push() and actor_kick() */
	word = atomic_exchange_explicit(&a->inbox, INBOX_BUSY, memory_order_acquire);
	for (pkt = is_packet(word) ? (struct packet *)word : NULL; pkt; pkt = next) {
		next = pkt->next;
		pkt->next = list;
		list = pkt;
	}
	return list;
}

bool actor_kill(struct actor *a)
{
	uintptr_t busy = INBOX_BUSY;

	if (!atomic_compare_exchange_strong(&a->inbox, &busy, INBOX_DEAD))
		return false;
	wake_claimers(a);
	return true;
}

/* Takes an actor off the run queue, where it is at this place. The caller holds run_lock. */
static struct actor *unqueue(struct engine *e, struct actor **at)
{
	struct actor *a = *at;

	*at = a->run_next;
	if (!*at)
		e->run_tail = at;
	a->queued = false;
	atomic_fetch_sub_explicit(&e->waiting, 1, memory_order_relaxed);
	return a;
}

/* Takes it off the run queue, if it is there. */
static bool take_from_queue(struct actor *a)
{
	struct engine *e = a->engine;
	struct actor **at;
	bool found;

	fmutex_lock(&e->run_lock);
	found = a->queued;
	if (found) {
		for (at = &e->run_head; *at != a; at = &(*at)->run_next)
			;
		unqueue(e, at);
	}
	fmutex_unlock(&e->run_lock);
	return found;
}

bool actor_claim(struct actor *a)
{
	bool alive = true;

	atomic_fetch_add(&a->claimers, 1);
	for (;;) {
		uint32_t seen = atomic_load(&released);
		uintptr_t idle = INBOX_IDLE;
		uint32_t parked = 1;

		if (atomic_compare_exchange_strong(&a->inbox, &idle, INBOX_BUSY))
			break;
		if (idle == INBOX_DEAD) {
			alive = false;
			break;
		}
		if (atomic_compare_exchange_strong(&a->parked, &parked, 0) || take_from_queue(a))
			break;
		futex_wait(&released, seen, NULL);
	}
	atomic_fetch_sub(&a->claimers, 1);
	return alive;
}

/* ----------------------------------------------------------------- engine */

/* Takes actors off the run queue and runs them; what they leave goes to its end. */
static void run_some(struct engine *e, struct runner *r)
{
	struct actor *a;

	while (!runner_spent(r)) {
		fmutex_lock(&e->run_lock);
		a = e->run_head ? unqueue(e, &e->run_head) : NULL;
		fmutex_unlock(&e->run_lock);
		if (!a)
			break;
		runner_add(r, a);
		while (r->head && !runner_spent(r))
			run_one(r, runner_next(r));
	}
	runner_run(r);
}

void engine_progress(struct engine *e)
{
	struct runner r;

	runner_start(&r);
	run_some(e, &r);
}

bool engine_step(struct engine *e, uint32_t index)
{
	struct runner r = { .tail = &r.head, .packets = 1, .bytes = 1 };
	struct actor **at, *a;

	fmutex_lock(&e->run_lock);
	for (at = &e->run_head; *at && index; at = &(*at)->run_next)
		index--;
	a = *at ? unqueue(e, at) : NULL;
	fmutex_unlock(&e->run_lock);
	if (!a)
		return false;
	run_one(&r, a);
	r.packets = 0; /* every actor that this step made runnable waits for a later step */
	runner_run(&r);
	return true;
}

void engine_wake(struct engine *e)
{
	/* Sequentially consistent: the caller has queued its work before this load, and
	 * engine_sleep() sets the flag before it looks for work. One sees the other. */
	if (!atomic_load(&e->asleep))
		return;
	reactor_wake(&e->reactor);
}

static void engine_sleep(struct engine *e, uint64_t until)
{
	uint32_t seen = atomic_load(&e->reactor.seq);
	struct timespec ts, *timeout = NULL;
	uint64_t now, delay;

	atomic_store(&e->until, until);
	atomic_store(&e->asleep, true);
	/* Work that was queued before the flag was set is seen here; later work finds the flag set
	 * and wakes this thread. */
	if (atomic_load(&e->waiting) || atomic_load(&e->stop) ||
	    timers_next(&e->timers) < until)
		goto awake;
	if (until != UINT64_MAX) {
		now = clock_ns();
		if (until <= now)
			goto awake;
		delay = until - now;
		ts.tv_sec = (time_t)(delay / 1000000000u);
		ts.tv_nsec = (long)(delay % 1000000000u);
		timeout = &ts;
	}
	reactor_sleep(&e->reactor, seen, timeout);
awake:
	atomic_store(&e->asleep, false);
}

static void *engine_main(void *arg)
{
	struct engine *e = arg;

	while (!atomic_load(&e->stop)) {
		struct runner r;

		runner_start(&r);
		timers_expire(&e->timers, &r);
		reactor_poll(&e->reactor, &r);
		run_some(e, &r);
		if (!engine_has_work(e))
			engine_sleep(e, timers_next(&e->timers));
	}
	return NULL;
}

int thread_start(pthread_t *thread, const char *name, void *(*fn)(void *), void *arg)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(thread, NULL, fn, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!err)
		pthread_setname_np(*thread, name);
	return err;
}

void engine_timer(struct engine *e, struct timer *t, uint64_t delay_ns)
{
	if (timer_set(&e->timers, t, delay_ns) < atomic_load(&e->until))
		engine_wake(e);
}

void engine_init(struct engine *e, const char *name)
{
	e->name = name;
	e->run_tail = &e->run_head;
	timers_init(&e->timers);
	reactor_init(&e->reactor);
}

void engine_end(struct engine *e)
{
	reactor_end(&e->reactor);
}

al_status engine_watch(struct engine *e, struct watch *watch)
{
	al_status status = reactor_watch(&e->reactor, watch);

	if (!status) /* a thread that sleeps on the futex comes to poll */
		engine_wake(e);
	return status;
}

void engine_unwatch(struct engine *e, struct watch *watch)
{
	reactor_unwatch(&e->reactor, watch);
}

al_status engine_start(struct engine *e)
{
	int err;

	if (clock_is_virtual())
		return AL_SUCCESS; /* manual progress: no thread, SOFT_STEP runs the actors */
	atomic_store(&e->stop, false);
	err = thread_start(&e->thread, "soft-engine", engine_main, e);
	if (err) {
		ib_log(IB_LOG_ERROR, "soft",
		       "no thread for the engine of HCA %s (%s); raise the limit of threads",
		       e->name, strerror(err));
		return AL_INSUFFICIENT_RESOURCES;
	}
	e->started = true;
	return AL_SUCCESS;
}

void engine_stop(struct engine *e)
{
	if (!e->started)
		return;
	atomic_store(&e->stop, true);
	reactor_wake(&e->reactor);
	pthread_join(e->thread, NULL);
	e->started = false;
}
