/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The ring threads. Clients have turns of CLIENT_BUDGET requests, and the queue pairs of a client
 * have parts of that turn, so no client and no queue pair can starve the others. A client's memory
 * never decides how long a turn is. A thread spins for a while after its last work, and then sleeps
 * on the clients' eventfds. ring_qp.c takes requests out of the rings.
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
#define QP_COST       8  /* requests that the look at a queue pair costs the client's budget */

/* Clients whose bells one thread answers. */
struct ring_thread {
	/* guards the list of openings and their bells; the thread holds it for a client's turn */
	struct fmutex lock;
	_Atomic uint32_t
		lock_waiters; /* threads that wait for `lock`; the ring thread lets them go first */
	struct opening *first, **last; /* openings; the first has the next turn */
	_Atomic uint32_t openings;     /* openings on the list */
	_Atomic bool stop;             /* the thread is to end */
	uint32_t spin; /* us to spin; the thread's own: ring_spin of the HCA whose client it served
			  last */
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

bool ring_thread_turns(struct ring_thread *t)
{
	uint32_t turns = atomic_load(&t->openings);
	struct opening *o;
	bool any = false;

	for (; turns; turns--) {
		yield_to_lockers(t);
		fmutex_lock(&t->lock);
		o = t->first;
		if (o && serve(o)) {
			any = true;
			t->spin = o->hca->conf.ring_spin;
		}
		if (o && o->next) { /* moves the client to the end of the list */
			t->first = o->next;
			o->next = NULL;
			*t->last = o;
			t->last = &o->next;
		}
		fmutex_unlock(&t->lock);
	}
	return any;
}

/* ----------------------------------------------------------------- the thread */

static void set_asleep(struct ring_thread *t, uint32_t asleep)
{
	for (struct opening *o = t->first; o; o = o->next)
		atomic_store(&o->door->asleep, asleep);
}

static bool any_bell(const struct ring_thread *t)
{
	for (const struct opening *o = t->first; o; o = o->next)
		if (o->due || atomic_load(&o->door->rung))
			return true;
	return false;
}

static void sleep_until_bell(struct ring_thread *t)
{
	struct epoll_event event;
	bool work;

	yield_to_lockers(t);
	fmutex_lock(&t->lock);
	/*
	 * Sequentially consistent, as the bell and the load of `asleep` in the provider's
	 * door_ring() are: either this thread sees the bell, or the provider sees `asleep` and
	 * writes the eventfd.
	 */
	set_asleep(t, 1);
	work = any_bell(t);
	fmutex_unlock(&t->lock);
	/* The eventfds are edge-triggered and never read, so no client can block this thread in a
	 * read. */
	if (!work && !atomic_load(&t->stop))
		epoll_wait(t->epoll, &event, 1, -1);
	yield_to_lockers(t);
	fmutex_lock(&t->lock);
	set_asleep(t, 0);
	fmutex_unlock(&t->lock);
}

static uint64_t machine_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts); /* not clock_ns(), which a test may stop */
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void *ring_thread_main(void *arg)
{
	struct ring_thread *t = arg;
	uint64_t idle_since = 0, now; /* 0: the thread is not idle */

	while (!atomic_load(&t->stop)) {
		if (ring_thread_turns(t)) {
			idle_since = 0;
			continue;
		}
		now = machine_ns();
		if (!idle_since)
			idle_since = now;
		if (now - idle_since < t->spin * 1000ull)
			continue;
		sleep_until_bell(t);
		idle_since = 0;
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

/* Adds an eventfd to the descriptors that wake the thread. */
static bool watch(struct ring_thread *t, int fd)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };

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
	t->spin = 0;
	atomic_store(&t->stop, false);
	t->epoll = epoll_create1(EPOLL_CLOEXEC);
	t->control = t->epoll < 0 ? -1 : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (t->control < 0 || !watch(t, t->control))
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
	if (!watch(t, o->wake))
		return AL_INSUFFICIENT_RESOURCES;
	ring_thread_lock(t);
	o->next = NULL;
	*t->last = o;
	t->last = &o->next;
	ring_thread_unlock(t);
	atomic_fetch_add(&t->openings, 1);
	wake_thread(t); /* a sleeping thread has not set `asleep` in the new client's door */
	return AL_SUCCESS;
}

void ring_thread_leave(struct ring_thread *t, struct opening *o)
{
	struct opening **p;

	epoll_ctl(t->epoll, EPOLL_CTL_DEL, o->wake, NULL);
	ring_thread_lock(t);
	for (p = &t->first; *p != o; p = &(*p)->next)
		;
	*p = o->next;
	if (!*p)
		t->last = p;
	ring_thread_unlock(t);
	atomic_fetch_sub(&t->openings, 1);
}
