/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Which thread executes which queue pair, and when. An actor is the right to execute one queue
 * pair, with an inbox of packets; one thread at a time owns the actor. A runner is the list of
 * actors that one call of one thread has to run, with a limit of the work. A claimer is a control
 * operation that waits in actor_claim() until it owns an actor. The engine thread runs the actors
 * that runners leave. transport/ has the work of a queue pair itself, and hca/soft/README.md states
 * the rules.
 */

#include "hca/soft/engine/engine.h"

#include <signal.h>
#include <string.h>

#include "hca/soft/base/clock.h"
#include "hca/soft/base/reading.h"
#include "hca/soft/packet/packet.h"
#include "hca/soft/shared/base.h"
#include "hca/soft/shared/lock.h"

/*
 * Limits the work of one runner, and so of one post, poll or control operation. The rest of the work stays on run
 * queues for the engine thread and later polls.
 */
struct budget {
	int32_t trains; /* runs of consecutive packets of a message, each one struct packet */
	int64_t bytes;  /* payload */
};

static const struct budget auto_budget = { 512, 2 << 20 };
static const struct budget manual_budget = { 0, 0 }; /* a runner runs nothing: each actor waits for engine_step() */
static struct budget budget = { 512, 2 << 20 }; /* of every runner that starts from now on */

void engine_set_manual(bool manual)
{
	budget = manual ? manual_budget : auto_budget;
}

/* An inbox word is a state up to INBOX_KICK, or the address of the newest packet. */
static bool is_packet(uintptr_t word)
{
	return word > INBOX_KICK;
}

/* Counts the releases of actors that have claimers. actor_claim() sleeps on this counter. */
static _Atomic uint32_t release_count;

static void wake_claimers(struct actor *a)
{
	/*
	 * Sequentially consistent: the caller has released the actor before this load, and actor_claim() increments
	 * `claimers` before it tries to own the actor. So this load sees the claimer, or the claimer sees the
	 * released actor.
	 */
	if (LIKELY(!atomic_load(&a->claimers)))
		return;
	atomic_fetch_add(&release_count, 1);
	futex_wake(&release_count, INT32_MAX);
}

/* ----------------------------------------------------------------- runner */

void runner_start(struct runner *r)
{
	r->head = NULL;
	r->tail = &r->head;
	r->trains = budget.trains;
	r->bytes = budget.bytes;
}

void runner_add(struct runner *r, struct actor *a)
{
	a->run_next = NULL;
	*r->tail = a;
	r->tail = &a->run_next;
}

/* Takes the oldest actor off the runner's list. The list is not empty. */
static struct actor *runner_take(struct runner *r)
{
	struct actor *a = r->head;

	r->head = a->run_next;
	if (!r->head)
		r->tail = &r->head;
	return a;
}

/* Hands an owned actor to a control operation that waits for the actor. True: the caller no longer owns the actor. */
static bool park_for_claimer(struct actor *a)
{
	if (LIKELY(!atomic_load_explicit(&a->claimers, memory_order_relaxed)))
		return false;
	/* release: pairs with the exchange of `parked` in actor_claim(); the claimer sees the writes of this owner */
	atomic_store_explicit(&a->parked, 1, memory_order_release);
	wake_claimers(a);
	return true;
}

/* Appends an owned actor to its engine's run queue. The actor stays owned, by the run queue. */
static void put_on_run_queue(struct actor *a)
{
	struct engine *e = a->engine;

	fmutex_lock(&e->run_lock);
	a->run_next = NULL;
	a->queued = true;
	*e->run_tail = a;
	e->run_tail = &a->run_next;
	/* sequentially consistent, since engine_sleep() reads `queued_actors` after the store of `asleep` */
	atomic_fetch_add(&e->queued_actors, 1);
	fmutex_unlock(&e->run_lock);
	wake_claimers(a);
	engine_wake(e);
}

bool actor_try_own(struct actor *a)
{
	uintptr_t idle = INBOX_IDLE;

	/* acquire: pairs with the last owner's release in actor_let_go() */
	return atomic_compare_exchange_strong_explicit(&a->inbox, &idle, INBOX_BUSY,
						       memory_order_acquire, memory_order_relaxed);
}

void actor_let_go(struct runner *r, struct actor *a, bool more)
{
	uintptr_t busy = INBOX_BUSY;

	if (park_for_claimer(a))
		return;
	/*
	 * Release: the next owner sees the writes of this owner. Sequentially consistent: wake_claimers() then reads
	 * `claimers`.
	 */
	if (!more && atomic_compare_exchange_strong(&a->inbox, &busy, INBOX_IDLE)) {
		wake_claimers(a);
		return;
	}
	runner_add(r, a);
}

static void run_actor(struct runner *r, struct actor *a)
{
	bool more;

	reading_begin();
	more = a->ops->run(r, a);
	reading_end();
	actor_let_go(r, a, more);
}

void runner_run(struct runner *r)
{
	while (r->head && !runner_spent(r))
		run_actor(r, runner_take(r));
	while (UNLIKELY(r->head))
		put_on_run_queue(runner_take(r));
}

/* ------------------------------------------------------------------ actor */

bool actor_push(struct runner *r, struct actor *a, struct packet *pkt)
{
	uintptr_t old = atomic_load_explicit(&a->inbox, memory_order_relaxed);

	do {
		if (old == INBOX_DEAD)
			return false;
		pkt->next = is_packet(old) ? (struct packet *)old : NULL;
		/*
		 * Release: pairs with the acquire in actor_take(); publishes the packet's content. Acquire: pairs
		 * with the last owner's release in actor_let_go().
		 */
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
		new = old; /* packets or a kick are in the inbox already */
		if (old == INBOX_IDLE)
			new = INBOX_BUSY;
		else if (old == INBOX_BUSY)
			new = INBOX_KICK;
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
	/*
	 * release: publishes the writes that the signals announce; the owner may read `signals` before the kick
	 * arrives
	 */
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
	/* the inbox has the newest packet first: reverse the list */
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

/*
 * Unlinks the actor that *at points to from the run queue and returns the actor. The caller holds run_lock and then
 * owns the actor.
 */
static struct actor *unqueue(struct engine *e, struct actor **at)
{
	struct actor *a = *at;

	*at = a->run_next;
	if (!*at)
		e->run_tail = at;
	a->queued = false;
	atomic_fetch_sub_explicit(&e->queued_actors, 1, memory_order_relaxed);
	return a;
}

/*
 * Takes the actor off its engine's run queue. True: the caller owns the actor now. False: the actor is not on the
 * queue.
 */
static bool take_from_run_queue(struct actor *a)
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
		uint32_t seen = atomic_load(&release_count);
		uintptr_t inbox = INBOX_IDLE; /* a failed exchange writes the inbox's word here */
		uint32_t parked = 1;

		if (atomic_compare_exchange_strong(&a->inbox, &inbox, INBOX_BUSY))
			break;
		if (inbox == INBOX_DEAD) {
			alive = false;
			break;
		}
		if (atomic_compare_exchange_strong(&a->parked, &parked, 0) || take_from_run_queue(a))
			break;
		futex_wait(&release_count, seen, NULL);
	}
	atomic_fetch_sub(&a->claimers, 1);
	return alive;
}

/* ----------------------------------------------------------------- engine */

/*
 * Runs actors of the run queue until the queue is empty or the budget is spent. Actors with work left go to the
 * queue's end.
 */
static void run_queued(struct engine *e, struct runner *r)
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
			run_actor(r, runner_take(r));
	}
	runner_run(r);
}

void engine_progress(struct engine *e)
{
	struct runner r;

	runner_start(&r);
	run_queued(e, &r);
}

bool engine_step(struct engine *e, uint32_t index)
{
	struct runner r = { .tail = &r.head, .trains = 1, .bytes = 1 };
	struct actor **at, *a;

	fmutex_lock(&e->run_lock);
	for (at = &e->run_head; *at && index; at = &(*at)->run_next)
		index--;
	a = *at ? unqueue(e, at) : NULL;
	fmutex_unlock(&e->run_lock);
	if (!a)
		return false;
	run_actor(&r, a);
	r.trains = 0; /* every actor that this step made runnable waits for a later step */
	runner_run(&r);
	return true;
}

void engine_wake(struct engine *e)
{
	/*
	 * Sequentially consistent: the caller has queued work before this load, and engine_sleep() sets `asleep`
	 * before it looks for work. So this load sees the sleeping thread, or the thread sees the work.
	 */
	if (!atomic_load(&e->asleep))
		return;
	reactor_wake(&e->reactor);
}

static void engine_sleep(struct engine *e, uint64_t wake_at_ns)
{
	uint32_t seen = atomic_load(&e->reactor.wake_count);
	struct timespec ts, *timeout = NULL;
	uint64_t now, delay;

	atomic_store(&e->wake_at_ns, wake_at_ns);
	atomic_store(&e->asleep, true);
	/*
	 * This thread sees work that was queued before `asleep` was set. A thread that queues work later finds
	 * `asleep` set and wakes this thread (engine_wake()).
	 */
	if (atomic_load(&e->queued_actors) || atomic_load(&e->stop) ||
	    timers_next(&e->timers) < wake_at_ns)
		goto awake;
	if (wake_at_ns != UINT64_MAX) {
		now = clock_ns();
		if (wake_at_ns <= now)
			goto awake;
		delay = wake_at_ns - now;
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
		run_queued(e, &r);
		if (!engine_has_work(e))
			engine_sleep(e, timers_next(&e->timers));
	}
	return NULL;
}

int start_thread(pthread_t *thread, const char *name, void *(*fn)(void *), void *arg)
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

void engine_set_timer(struct engine *e, struct timer *t, uint64_t delay_ns)
{
	if (timer_set(&e->timers, t, delay_ns) < atomic_load(&e->wake_at_ns))
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

	if (!status) /* the engine thread may sleep on the futex, where the descriptor would not wake that thread */
		engine_wake(e);
	return status;
}

void engine_unwatch(struct engine *e, struct watch *watch)
{
	reactor_unwatch(&e->reactor, watch);
}

/* Starts the thread. The caller holds users_lock. */
static al_status start_engine_thread(struct engine *e)
{
	int err;

	atomic_store(&e->stop, false);
	err = start_thread(&e->thread, "soft-engine", engine_main, e);
	if (err) {
		ib_log(IB_LOG_ERROR, "soft",
		       "HCA %s can not start its engine thread (%s); raise the user's limit of processes (ulimit -u) or the cgroup's pids.max",
		       e->name, strerror(err));
		return AL_INSUFFICIENT_RESOURCES;
	}
	e->started = true;
	return AL_SUCCESS;
}

al_status engine_start(struct engine *e)
{
	al_status status = AL_SUCCESS;

	fmutex_lock(&e->users_lock);
	/* with manual progress the vendor call SOFT_STEP runs the actors (manual.c) */
	if (!e->started && !clock_is_virtual())
		status = start_engine_thread(e);
	if (!status)
		e->users++;
	fmutex_unlock(&e->users_lock);
	return status;
}

void engine_stop(struct engine *e)
{
	fmutex_lock(&e->users_lock);
	if (!--e->users && e->started) {
		atomic_store(&e->stop, true);
		reactor_wake(&e->reactor);
		pthread_join(e->thread, NULL);
		e->started = false;
	}
	fmutex_unlock(&e->users_lock);
}
