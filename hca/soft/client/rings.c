/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Clients that share their queues with the HCA, and the ring thread, which answers the bells of all
 * clients of an HCA. The thread begins with the first such queue pair, and ends with the last of
 * the clients. Clients have turns of CLIENT_BUDGET requests, and the queue pairs of a client have
 * parts of that turn, so no client and no queue pair can starve the others. A client's memory never
 * decides how long a turn is. The thread spins for a while after its last work, and then sleeps on
 * the clients' eventfds. With manual progress rings_step() takes the place of the thread. ring_qp.c
 * takes requests out of the rings.
 */

#include "hca/soft/client/rings.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "hca/soft/base/clock.h"
#include "hca/soft/engine/engine.h"
#include "hca/soft/object/hca.h"
#include "hca/soft/shared/lock.h"
#include "hca/soft/shared/ring.h"
#include "hca/soft/transport/qp.h"

#define CLIENT_BUDGET 64 /* requests of a client in one turn */
#define QP_BUDGET     16 /* requests of one queue pair in one turn */
#define QP_COST       8  /* requests that the look at a queue pair costs the client's budget */

/* --------------------------------------------------------------- their memory */

al_status rings_map(const struct ci_udata *udata, size_t bytes, void **mem)
{
	struct statfs fs;
	struct stat st;
	int seals;

	if (udata->num_fds != 1)
		return AL_INVALID_PARAMETER;
	/* Access to a file that has shrunk raises SIGBUS. Only memfds have seals. */
	seals = fcntl(udata->fds[0], F_GET_SEALS);
	if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstatfs(udata->fds[0], &fs) ||
	    fs.f_type != TMPFS_MAGIC || fstat(udata->fds[0], &st) || st.st_size != (off_t)bytes)
		return AL_INVALID_PARAMETER;
	*mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, udata->fds[0], 0);
	return *mem == MAP_FAILED ? AL_INSUFFICIENT_RESOURCES : AL_SUCCESS;
}

/* ----------------------------------------------------------------- the thread */

/* Locks the openings, ahead of the ring thread. */
static void lock_openings(struct rings *rings)
{
	atomic_fetch_add(&rings->lock_waiters, 1);
	fmutex_lock(&rings->lock);
	if (atomic_fetch_sub(&rings->lock_waiters, 1) == 1)
		futex_wake(&rings->lock_waiters, 1);
}

/* The ring thread calls this before each lock, since a thread that locks again at once can starve the other lockers. */
static void yield_to_lockers(struct rings *rings)
{
	uint32_t waiters = atomic_load(&rings->lock_waiters);

	while (waiters) {
		futex_wait(&rings->lock_waiters, waiters, NULL);
		waiters = atomic_load(&rings->lock_waiters);
	}
}

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

/* Returns the first pending bell from `turn` on, round the end, and clears that bell. Some bell is pending. */
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

/* Gives a client its turn. False: no bell was pending. The caller holds rings.lock. */
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

/* Gives each client one turn. False: no bell was pending. */
static bool serve_all(struct rings *rings)
{
	uint32_t turns = atomic_load(&rings->openings);
	struct opening *o;
	bool any = false;

	for (; turns; turns--) {
		yield_to_lockers(rings);
		fmutex_lock(&rings->lock);
		o = rings->first;
		if (o) {
			any |= serve(o);
			if (o->next) { /* moves the client to the end of the list */
				rings->first = o->next;
				o->next = NULL;
				*rings->last = o;
				rings->last = &o->next;
			}
		}
		fmutex_unlock(&rings->lock);
	}
	return any;
}

static void set_asleep(struct rings *rings, uint32_t asleep)
{
	for (struct opening *o = rings->first; o; o = o->next)
		atomic_store(&o->door->asleep, asleep);
}

static bool any_bell(const struct rings *rings)
{
	for (const struct opening *o = rings->first; o; o = o->next)
		if (o->due || atomic_load(&o->door->rung))
			return true;
	return false;
}

static void rings_sleep(struct rings *rings)
{
	struct epoll_event event;
	bool work;

	yield_to_lockers(rings);
	fmutex_lock(&rings->lock);
	/*
	 * Sequentially consistent, as the bell and the load of `asleep` in the provider's door_ring() are: either
	 * this thread sees the bell, or the provider sees `asleep` and writes the eventfd.
	 */
	set_asleep(rings, 1);
	work = any_bell(rings);
	fmutex_unlock(&rings->lock);
	/* The eventfds are edge-triggered and never read, so no client can block this thread in a read. */
	if (!work && !atomic_load(&rings->stop))
		epoll_wait(rings->epoll, &event, 1, -1);
	yield_to_lockers(rings);
	fmutex_lock(&rings->lock);
	set_asleep(rings, 0);
	fmutex_unlock(&rings->lock);
}

static uint64_t machine_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts); /* not clock_ns(), which a test may stop */
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* With manual progress rings_step() serves the clients, and the ring thread only waits for its end. */
static void wait_for_end(struct rings *rings)
{
	struct epoll_event event;

	while (!atomic_load(&rings->stop))
		epoll_wait(rings->epoll, &event, 1, -1);
}

bool rings_step(struct soft_hca *hca)
{
	return serve_all(hca->rings);
}

static bool step(void *arg)
{
	return rings_step(arg);
}

static void *rings_main(void *arg)
{
	struct soft_hca *hca = arg;
	struct rings *rings = hca->rings;
	uint64_t idle_since = 0, now; /* 0: the thread is not idle */

	if (clock_is_virtual())
		wait_for_end(rings);
	while (!atomic_load(&rings->stop)) {
		if (serve_all(rings)) {
			idle_since = 0;
			continue;
		}
		now = machine_ns();
		if (!idle_since)
			idle_since = now;
		if (now - idle_since < hca->conf.ring_spin * 1000ull)
			continue;
		rings_sleep(rings);
		idle_since = 0;
	}
	return NULL;
}

static void wake_thread(struct rings *rings)
{
	uint64_t one = 1;

	if (write(rings->control, &one, sizeof(one)) < 0)
		ib_log(IB_LOG_ERROR, "soft", "the thread for clients' rings can not be woken by its eventfd: %s",
		       strerror(errno));
}

/* Adds an eventfd to the descriptors that wake the ring thread. */
static bool watch(struct rings *rings, int fd)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };

	return !epoll_ctl(rings->epoll, EPOLL_CTL_ADD, fd, &event);
}

static void close_fds(struct rings *rings)
{
	if (rings->epoll >= 0)
		close(rings->epoll);
	if (rings->control >= 0)
		close(rings->control);
}

/* Begins to wait for bells, when the first client opens the HCA. */
static al_status open_bells(struct rings *rings)
{
	rings->epoll = epoll_create1(EPOLL_CLOEXEC);
	rings->control = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (rings->epoll >= 0 && rings->control >= 0 && watch(rings, rings->control))
		return AL_SUCCESS;
	close_fds(rings);
	return AL_INSUFFICIENT_RESOURCES;
}

/* Starts the ring thread, unless it runs: a client that makes no queue pair costs no thread.
 * AL_INVALID_PARAMETER: no client has opened the HCA with a provider. */
static al_status start_ring_thread(struct soft_hca *hca)
{
	struct rings *rings = hca->rings;
	bool opened;
	int err = 0;

	fmutex_lock(&rings->life);
	opened = atomic_load(&rings->openings);
	if (opened && !rings->started) {
		atomic_store(&rings->stop, false);
		err = start_thread(&rings->thread, "soft-rings", rings_main, hca);
		rings->started = !err;
	}
	fmutex_unlock(&rings->life);
	if (!err)
		return opened ? AL_SUCCESS : AL_INVALID_PARAMETER;
	ib_log(IB_LOG_ERROR, "soft",
	       "HCA %s can not start its thread for clients' rings (%s); raise this process's limit of threads",
	       hca->conf.name, strerror(err));
	return AL_INSUFFICIENT_RESOURCES;
}

/* Ends the ring thread, when the last client closes the HCA. */
static void close_bells(struct rings *rings)
{
	if (rings->started) {
		atomic_store(&rings->stop, true);
		wake_thread(rings);
		pthread_join(rings->thread, NULL);
		rings->started = false;
	}
	close_fds(rings);
}

/* ------------------------------------------------------------------- openings */

al_status rings_create(struct soft_hca *hca)
{
	hca->rings = al_alloc(sizeof(*hca->rings));
	if (!hca->rings)
		return AL_INSUFFICIENT_MEMORY;
	hca->rings->last = &hca->rings->first;
	if (clock_is_virtual() && !hca->sw) { /* a switch has no clients with rings */
		hca->engine->step = step;
		hca->engine->step_arg = hca;
	}
	return AL_SUCCESS;
}

void rings_destroy(struct soft_hca *hca)
{
	al_free(hca->rings);
	hca->rings = NULL;
}

static void free_opening(struct opening *o)
{
	for (uint32_t i = 0; i < RING_BELLS / 64; i++)
		al_free(o->qps[i]);
	if (o->door)
		munmap(o->door, sizeof(*o->door));
	if (o->wake >= 0)
		close(o->wake);
	al_free(o);
}

static al_status make_opening(struct ci_udata *udata, struct opening **to)
{
	struct opening *o = al_alloc(sizeof(*o));
	al_status status;
	void *mem;

	if (!o)
		return AL_INSUFFICIENT_MEMORY;
	o->client = udata->client;
	o->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	status = o->wake < 0 ? AL_INSUFFICIENT_RESOURCES : rings_map(udata, sizeof(*o->door), &mem);
	if (!status)
		o->door = mem;
	if (!status)
		status = ci_client_give_fd(udata, o->wake);
	if (status)
		free_opening(o);
	else
		*to = o;
	return status;
}

static al_status add_opening(struct soft_hca *hca, struct opening *o)
{
	struct rings *rings = hca->rings;
	al_status status = AL_SUCCESS;

	fmutex_lock(&rings->life);
	if (!atomic_load(&rings->openings))
		status = open_bells(rings);
	if (status)
		goto out;
	if (watch(rings, o->wake)) {
		lock_openings(rings);
		*rings->last = o;
		rings->last = &o->next;
		fmutex_unlock(&rings->lock);
		atomic_fetch_add(&rings->openings, 1);
		wake_thread(rings); /* a sleeping thread has not set `asleep` in the new client's door */
	} else {
		status = AL_INSUFFICIENT_RESOURCES;
		if (!atomic_load(&rings->openings))
			close_bells(rings);
	}
out:
	fmutex_unlock(&rings->life);
	return status;
}

al_status rings_open(struct ci_ca *ca, void **um_ctx, struct ci_udata *udata)
{
	struct soft_hca *hca = ca_hca(ca);
	const struct ring_opened answer = {
		.version = RING_VERSION,
		.gids = hca->conf.gids,
		.lmc = hca->conf.lmc,
	};
	struct ring_open asked;
	struct opening *o;
	al_status status;

	if (!rings_asked(udata))
		return AL_UNSUPPORTED; /* a client without a provider has no queues to share */
	if (udata->in_len != sizeof(asked) || udata->out_len < sizeof(answer))
		return AL_INVALID_PARAMETER;
	memcpy(&asked, udata->in, sizeof(asked));
	if (asked.version != RING_VERSION || asked.zero)
		return AL_MODULE_ABI;
	status = make_opening(udata, &o);
	if (status)
		return status;
	status = add_opening(hca, o);
	if (status) {
		free_opening(o);
		return status;
	}
	memcpy(udata->out, &answer, sizeof(answer));
	udata->out_len = sizeof(answer);
	*um_ctx = o;
	return AL_SUCCESS;
}

void rings_close(struct ci_ca *ca, void *um_ctx)
{
	struct rings *rings = ca_hca(ca)->rings;
	struct opening *o = um_ctx, **p;

	fmutex_lock(&rings->life);
	lock_openings(rings);
	for (p = &rings->first; *p != o; p = &(*p)->next)
		;
	*p = o->next;
	if (!*p)
		rings->last = p;
	fmutex_unlock(&rings->lock);
	if (atomic_fetch_sub(&rings->openings, 1) == 1)
		close_bells(rings);
	else
		epoll_ctl(rings->epoll, EPOLL_CTL_DEL, o->wake, NULL);
	fmutex_unlock(&rings->life);
	free_opening(o);
}

/* ------------------------------------------------------------------- bells */

static struct opening *opening_of(struct rings *rings, const struct ci_client *client)
{
	struct opening *o;

	for (o = rings->first; o && o->client != client; o = o->next)
		;
	return o;
}

/*
 * Assigns the next free bell after the bell assigned last, so that a freed bell, which may still ring, is reused
 * late.
 */
static al_status give_bell(struct opening *o, struct soft_qp *qp, uint32_t *bell)
{
	struct soft_qp ***block;
	uint32_t i, candidate;

	for (i = 1; i <= RING_BELLS; i++) {
		candidate = (o->last_bell + i) % RING_BELLS;
		block = &o->qps[candidate / 64];
		if (!*block)
			*block = al_alloc(64 * sizeof(**block));
		if (!*block)
			return AL_INSUFFICIENT_MEMORY;
		if ((*block)[candidate % 64])
			continue;
		(*block)[candidate % 64] = qp;
		o->last_bell = *bell = candidate;
		return AL_SUCCESS;
	}
	return AL_LIMIT_EXCEEDED;
}

al_status rings_give_bell(struct soft_qp *qp, const struct ci_client *client)
{
	struct soft_hca *hca = pd_hca(qp->ci.pd);
	struct rings *rings = hca->rings;
	struct shared_qp *s = qp->shared;
	al_status status = start_ring_thread(hca);

	if (status)
		return status;
	lock_openings(rings);
	s->opening = opening_of(rings, client);
	status = s->opening ? give_bell(s->opening, qp, &s->bell) : AL_INVALID_PARAMETER;
	fmutex_unlock(&rings->lock);
	return status;
}

void ring_qp_detach(struct soft_qp *qp)
{
	struct rings *rings = pd_hca(qp->ci.pd)->rings;
	struct shared_qp *s = qp->shared;

	lock_openings(rings);
	s->opening->qps[s->bell / 64][s->bell % 64] = NULL;
	fmutex_unlock(&rings->lock);
}
