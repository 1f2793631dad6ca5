/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The ring threads. Clients have turns of CLIENT_BUDGET requests, and the queue pairs of a client
 * have parts of that turn, so no client and no queue pair can starve the others. A client's memory
 * never decides how long a turn is. A thread looks at a client's bells for ring_spin after the
 * client's last request, and then waits for the client's eventfd. ring_qp.c takes requests out of
 * the rings.
 */

#include "hca/soft/client/ring_thread.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "hca/soft/base/clock.h"
#include "hca/soft/client/rings.h"
#include "hca/soft/engine/engine.h"
#include "hca/soft/object/hca.h"

#define CLIENT_BUDGET 64 /* requests of a client in one turn */
#define QP_BUDGET     16 /* requests of one queue pair in one turn */
#define MAX_EVENTS    16 /* eventfds that one call of epoll_wait() tells */
#define EVENT_ROUNDS \
	16 /* rounds of a busy thread between two looks at the eventfds of parked clients */
#define QP_COST       8  /* requests that the look at a queue pair costs the client's budget */

/* Clients whose bells one thread answers. */
struct ring_thread {
	/* guards the list of openings and their bells; the thread holds it for a client's turn */
	struct fmutex lock;
	_Atomic uint32_t
		lock_waiters; /* threads that wait for `lock`; the ring thread lets them go first */
	struct opening *first, **last; /* clients that are awake; the first has the next turn */
	_Atomic uint32_t awake;        /* clients on the list */
	/*
	 * Clients that have rung no bell for their HCA's ring_spin. The thread does not look at
	 * them: their bells come with a write to their eventfd. So idle clients cost the others
	 * nothing.
	 */
	struct opening *parked;
	_Atomic uint64_t
		departures; /* clients that have left the thread; incremented under the lock */
	_Atomic bool stop;  /* the thread is to end */
	uint32_t hcas; /* HCAs that have the thread; guarded by pool_lock */
	pthread_t thread;
	int epoll, control; /* control: eventfd by which the module wakes the thread */
};

static struct ring_thread pool[RING_THREADS];
static struct fmutex pool_lock; /* guards the choice, the start and the end of threads */

void ring_thread_lock(struct ring_thread *t)
{
	atomic_fetch_add(&t->lock_waiters, 1);
	fmutex_lock(&t->lock);
	if (atomic_fetch_sub(&t->lock_waiters, 1) == 1)
		futex_wake(&t->lock_waiters, 1);
}

void ring_thread_unlock(struct ring_thread *t)
{
	fmutex_unlock(&t->lock);
}

/* A ring thread calls this before each lock, since a thread that locks again at once can starve the
 * other lockers. */
static void yield_to_lockers(struct ring_thread *t)
{
	uint32_t waiters = atomic_load(&t->lock_waiters);

	while (waiters) {
		futex_wait(&t->lock_waiters, waiters, NULL);
		waiters = atomic_load(&t->lock_waiters);
	}
}

/* ---------------------------------------------------------------------- turns */

/* Moves the rung bells from the door to `pending`. */
static void take_bells(struct opening *o)
{
	uint64_t rung = 0;

	if (atomic_load_explicit(&o->door->rung, memory_order_relaxed))
		/* acquire: pairs with the release in the provider's door_ring() */
		rung = atomic_exchange_explicit(&o->door->rung, 0, memory_order_acquire);
	for (; rung; rung &= rung - 1) {
		int i = __builtin_ctzll(rung);

		o->pending[i] |=
			atomic_exchange_explicit(&o->door->bells[i], 0, memory_order_acquire);
		if (o->pending[i])
			o->due |= 1ull << i;
	}
}

/* Returns the first pending bell from `turn` on, round the end, and clears that bell. Some bell is
 * pending. */
static uint32_t next_bell(struct opening *o)
{
	uint32_t word = o->turn / 64 % (RING_BELLS / 64);
	uint64_t bits = o->pending[word] & ~0ull << o->turn % 64, later_words;

	if (!bits) {
		later_words = o->due & ~1ull << word;
		word = (uint32_t)__builtin_ctzll(later_words ? later_words : o->due);
		bits = o->pending[word];
	}
	bits &= -bits; /* the lowest bit */
	o->pending[word] ^= bits;
	if (!o->pending[word])
		o->due ^= 1ull << word;
	return word * 64 + (uint32_t)__builtin_ctzll(bits);
}

static void keep_pending(struct opening *o, uint32_t bell)
{
	o->pending[bell / 64] |= 1ull << bell % 64;
	o->due |= 1ull << bell / 64;
}

/* Gives a client its turn. False: no bell was pending. The caller holds the lock of the ring
 * thread. */
static bool serve(struct opening *o)
{
	int32_t budget = CLIENT_BUDGET;
	uint32_t taken, bell;
	struct soft_qp *qp;
	bool any;

	take_bells(o);
	any = o->due;
	while (o->due && budget > 0) {
		bell = next_bell(o);
		o->turn = bell + 1;
		taken = 0;
		qp = o->qps[bell / 64] ? o->qps[bell / 64][bell % 64] : NULL;
		if (qp && ring_take_sends(qp, QP_BUDGET, &taken))
			keep_pending(o, bell);
		budget -= QP_COST + (int32_t)taken;
	}
	return any;
}

static uint64_t machine_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts); /* not clock_ns(), which a test may stop */
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Appends a client to those that are awake. Under the thread's lock, as the functions below. */
static void append(struct ring_thread *t, struct opening *o)
{
	o->next = NULL;
	*t->last = o;
	t->last = &o->next;
}

/* Takes the first client off those that are awake. */
static void take_first(struct ring_thread *t)
{
	t->first = t->first->next;
	if (!t->first)
		t->last = &t->first;
}

static void unpark(struct ring_thread *t, struct opening *o)
{
	if (o->next)
		o->next->prev = o->prev;
	if (o->prev)
		o->prev->next = o->next;
	else
		t->parked = o->next;
	o->parked = false;
}

/* Makes the thread look at a client again. */
static void wake_client(struct ring_thread *t, struct opening *o)
{
	if (!o->parked)
		return;
	unpark(t, o);
	atomic_store(&o->door->asleep, 0);
	o->worked_ns = machine_ns();
	append(t, o);
	atomic_fetch_add(&t->awake, 1);
}

/* Wakes the parked clients that have rung. */
static void wake_rung(struct ring_thread *t)
{
	struct opening *next;

	for (struct opening *o = t->parked; o; o = next) {
		next = o->next;
		if (atomic_load(&o->door->rung))
			wake_client(t, o);
	}
}

/* Parks a client, which is on no list, unless it rings meanwhile. */
static void park(struct ring_thread *t, struct opening *o)
{
	o->prev = NULL;
	o->next = t->parked;
	if (o->next)
		o->next->prev = o;
	t->parked = o;
	o->parked = true;
	atomic_fetch_sub(&t->awake, 1);
	/*
	 * Sequentially consistent, as the bell and the load of `asleep` in the provider's
	 * door_ring() are: either this thread sees the bell, or the provider sees `asleep` and
	 * writes the eventfd.
	 */
	atomic_store(&o->door->asleep, 1);
	if (atomic_load(&o->door->rung))
		wake_client(t, o);
}

/* Gives the client its turn. True: a bell was pending. */
static bool give_turn(struct ring_thread *t, struct opening *o, uint64_t now)
{
	bool any = serve(o);

	take_first(t);
	if (any)
		o->worked_ns = now;
	/* with manual progress no thread waits for the eventfds */
	if (any || o->due || clock_is_virtual() ||
	    now < o->worked_ns + o->hca->conf.ring_spin * 1000ull)
		append(t, o);
	else
		park(t, o);
	return any;
}

bool ring_thread_turns(struct ring_thread *t)
{
	uint32_t turns = atomic_load(&t->awake);
	uint64_t now = machine_ns();
	struct opening *o;
	bool any = false;

	for (; turns; turns--) {
		yield_to_lockers(t);
		fmutex_lock(&t->lock);
		o = t->first;
		if (o)
			any |= give_turn(t, o, now);
		fmutex_unlock(&t->lock);
	}
	return any;
}

/* ----------------------------------------------------------------- the thread */

/*
 * Takes what the clients' eventfds tell, and wakes these clients. With wait, waits for an eventfd.
 * The eventfds are edge-triggered and never read, so no client can block this thread in a read.
 */
static void take_wake_ups(struct ring_thread *t, bool wait)
{
	struct epoll_event events[MAX_EVENTS];
	const uint64_t departures = atomic_load(&t->departures);
	int num;

	num = epoll_wait(t->epoll, events, MAX_EVENTS, wait ? -1 : 0);
	if (num <= 0)
		return;
	yield_to_lockers(t);
	fmutex_lock(&t->lock);
	if (atomic_load(&t->departures) !=
	    departures) /* an event may be that of a client that has left */
		num = 0;
	for (int i = 0; i < num; i++)
		if (events[i].data.ptr)
			wake_client(t, events[i].data.ptr);
	if (!num)
		wake_rung(t);
	fmutex_unlock(&t->lock);
}

static void *ring_thread_main(void *arg)
{
	struct ring_thread *t = arg;
	uint32_t rounds = 0; /* since the thread has last looked at the eventfds */

	while (!atomic_load(&t->stop)) {
		if (ring_thread_turns(t) && ++rounds < EVENT_ROUNDS)
			continue;
		rounds = 0;
		take_wake_ups(t, !atomic_load(&t->awake));
	}
	return NULL;
}

static void wake_thread(struct ring_thread *t)
{
	uint64_t one = 1;

	if (write(t->control, &one, sizeof(one)) < 0)
		ib_log(IB_LOG_ERROR, "soft",
		       "a thread for clients' rings can not be woken by its eventfd: %s",
		       strerror(errno));
}

/* Adds an eventfd to the descriptors that wake the thread. o: the eventfd's client, or NULL. */
static bool watch(struct ring_thread *t, int fd, struct opening *o)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET, .data.ptr = o };

	return !epoll_ctl(t->epoll, EPOLL_CTL_ADD, fd, &event);
}

static void close_fds(struct ring_thread *t)
{
	if (t->epoll >= 0)
		close(t->epoll);
	if (t->control >= 0)
		close(t->control);
}

/* Starts the thread. Returns 0 or an errno value. */
static int start(struct ring_thread *t)
{
	int err = 0;

	t->first = NULL;
	t->last = &t->first;
	t->parked = NULL;
	atomic_store(&t->stop, false);
	t->epoll = epoll_create1(EPOLL_CLOEXEC);
	t->control = t->epoll < 0 ? -1 : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (t->control < 0 || !watch(t, t->control, NULL))
		err = errno;
	if (!err && !clock_is_virtual()) /* with manual progress rings_step() takes the turns */
		err = start_thread(&t->thread, "soft-rings", ring_thread_main, t);
	if (err)
		close_fds(t);
	return err;
}

static void end(struct ring_thread *t)
{
	if (!clock_is_virtual()) {
		atomic_store(&t->stop, true);
		wake_thread(t);
		pthread_join(t->thread, NULL);
	}
	close_fds(t);
}

struct ring_thread *ring_thread_get(const char *hca)
{
	struct ring_thread *t = pool;
	int err = 0;

	fmutex_lock(&pool_lock);
	for (uint32_t i = 1; i < RING_THREADS; i++)
		if (pool[i].hcas < t->hcas)
			t = &pool[i];
	if (!t->hcas)
		err = start(t);
	if (!err)
		t->hcas++;
	fmutex_unlock(&pool_lock);
	if (!err)
		return t;
	ib_log(IB_LOG_ERROR, "soft",
	       "HCA %s can not start a thread for clients' rings (%s); raise this process's limits of threads and descriptors",
	       hca, strerror(err));
	return NULL;
}

void ring_thread_put(struct ring_thread *t)
{
	fmutex_lock(&pool_lock);
	if (!--t->hcas)
		end(t);
	fmutex_unlock(&pool_lock);
}

al_status ring_thread_join(struct ring_thread *t, struct opening *o)
{
	ring_thread_lock(t);
	if (!watch(t, o->wake, o)) {
		ring_thread_unlock(t);
		return AL_INSUFFICIENT_RESOURCES;
	}
	o->parked = false;
	o->worked_ns = machine_ns();
	append(t, o);
	atomic_fetch_add(&t->awake, 1);
	ring_thread_unlock(t);
	wake_thread(t); /* a sleeping thread has not set `asleep` in the new client's door */
	return AL_SUCCESS;
}

void ring_thread_leave(struct ring_thread *t, struct opening *o)
{
	struct opening **p;

	epoll_ctl(t->epoll, EPOLL_CTL_DEL, o->wake, NULL);
	ring_thread_lock(t);
	atomic_fetch_add(&t->departures, 1);
	if (o->parked) {
		unpark(t, o);
	} else {
		for (p = &t->first; *p != o; p = &(*p)->next)
			;
		*p = o->next;
		if (!*p)
			t->last = p;
		atomic_fetch_sub(&t->awake, 1);
	}
	ring_thread_unlock(t);
}
