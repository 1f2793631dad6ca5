/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Clients that share their queues with the HCA, and the thread that answers their bells: one for
 * all of them, there as long as there is any. Each client in turn has so many requests served, each
 * of its queue pairs in turn a part of those, so that none can starve the others; what a client has
 * written decides what is done for it, never for how long. The thread spins for a while after its
 * last work, and then sleeps on the clients' eventfds. With manual progress it is the steps that
 * serve.
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

#define CLIENT_BUDGET 64 /* requests of a client in its turn, */
#define QP_BUDGET     16 /* of one of its queue pairs, */
#define QP_COST       8  /* which costs as much as so many, whatever it has */

/* --------------------------------------------------------------- their memory */

al_status rings_map(const struct ci_udata *udata, size_t bytes, void **mem)
{
	struct statfs fs;
	struct stat st;
	int seals;

	if (udata->num_fds != 1)
		return AL_INVALID_PARAMETER;
	/* A file that can shrink would be a SIGBUS here; other kinds than memfd have no seals. */
	seals = fcntl(udata->fds[0], F_GET_SEALS);
	if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstatfs(udata->fds[0], &fs) ||
	    fs.f_type != TMPFS_MAGIC || fstat(udata->fds[0], &st) || st.st_size != (off_t)bytes)
		return AL_INVALID_PARAMETER;
	*mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, udata->fds[0], 0);
	return *mem == MAP_FAILED ? AL_INSUFFICIENT_RESOURCES : AL_SUCCESS;
}

/* ----------------------------------------------------------------- the thread */

static void lock_openings(struct rings *rings)
{
	atomic_fetch_add(&rings->want, 1);
	fmutex_lock(&rings->lock);
	if (atomic_fetch_sub(&rings->want, 1) == 1)
		futex_wake(&rings->want, 1);
}

/* The thread takes the lock again and again, and would leave it to nobody. */
static void let_others_go_first(struct rings *rings)
{
	uint32_t want;

	while ((want = atomic_load(&rings->want)))
		futex_wait(&rings->want, want, NULL);
}

/* Bells that were rung become ours. */
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

/* The next one in turn, which is due no longer. There is one. */
static uint32_t next_bell(struct opening *o)
{
	uint32_t i = o->turn / 64 % (RING_BELLS / 64);
	uint64_t here = o->pending[i] & ~0ull << o->turn % 64, later;

	if (!here) {
		later = o->due & ~1ull << i;
		i = (uint32_t)__builtin_ctzll(later ? later : o->due);
		here = o->pending[i];
	}
	here &= -here;
	o->pending[i] ^= here;
	if (!o->pending[i])
		o->due ^= 1ull << i;
	return i * 64 + (uint32_t)__builtin_ctzll(here);
}

static void answer_again(struct opening *o, uint32_t bell)
{
	o->pending[bell / 64] |= 1ull << bell % 64;
	o->due |= 1ull << bell / 64;
}

/* False: nothing was rung. */
static bool serve(struct opening *o)
{
	int32_t left = CLIENT_BUDGET;
	uint32_t taken, bell;
	struct soft_qp *qp;
	bool any;

	take_bells(o);
	any = o->due;
	while (o->due && left > 0) {
		bell = next_bell(o);
		o->turn = bell + 1;
		taken = 0;
		qp = o->qps[bell / 64] ? o->qps[bell / 64][bell % 64] : NULL;
		if (qp && ring_take_sends(qp, QP_BUDGET, &taken))
			answer_again(o, bell);
		left -= QP_COST + (int32_t)taken;
	}
	return any;
}

/* Each client once; false: there was nothing to do. */
static bool serve_all(struct rings *rings)
{
	uint32_t num = atomic_load(&rings->openings);
	struct opening *o;
	bool any = false;

	while (num--) {
		let_others_go_first(rings);
		fmutex_lock(&rings->lock);
		o = rings->first;
		if (o) {
			any |= serve(o);
			if (o->next) { /* to the end */
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

static void tell_asleep(struct rings *rings, uint32_t asleep)
{
	for (struct opening *o = rings->first; o; o = o->next)
		atomic_store(&o->door->asleep, asleep);
}

static bool anything(const struct rings *rings)
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

	let_others_go_first(rings);
	fmutex_lock(&rings->lock);
	/* In total order, as in the provider's door_ring() the bell and the look whether we sleep:
	 * either we see the bell, or it sees that we sleep. */
	tell_asleep(rings, 1);
	work = anything(rings);
	fmutex_unlock(&rings->lock);
	/* edge-triggered: what was written is never read, so that no client can make us wait */
	if (!work && !atomic_load(&rings->stop))
		epoll_wait(rings->epoll, &event, 1, -1);
	let_others_go_first(rings);
	fmutex_lock(&rings->lock);
	tell_asleep(rings, 0);
	fmutex_unlock(&rings->lock);
}

static uint64_t machine_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts); /* not the HCA's clock, which a test may own */
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* With manual progress the steps serve them: the thread has nothing to do, and nobody wakes it. */
static void wait_for_end(struct rings *rings)
{
	struct epoll_event event;

	while (!atomic_load(&rings->stop))
		epoll_wait(rings->epoll, &event, 1, -1);
}

bool rings_step(struct engine *engine)
{
	struct soft_hca *hca = (struct soft_hca *)((char *)engine - offsetof(struct soft_hca, engine));

	return serve_all(hca->rings);
}

static void *rings_main(void *arg)
{
	struct soft_hca *hca = arg;
	struct rings *rings = hca->rings;
	uint64_t idle = 0, now;

	if (clock_is_virtual())
		wait_for_end(rings);
	while (!atomic_load(&rings->stop)) {
		if (serve_all(rings)) {
			idle = 0;
			continue;
		}
		now = machine_ns();
		if (!idle)
			idle = now;
		if (now - idle < hca->conf.ring_spin * 1000ull)
			continue;
		rings_sleep(rings);
		idle = 0;
	}
	return NULL;
}

static void wake(struct rings *rings)
{
	uint64_t one = 1;

	if (write(rings->control, &one, sizeof(one)) < 0)
		ib_log(IB_LOG_ERROR, "soft", "an eventfd can not be written: %s", strerror(errno));
}

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

/* With the first client. */
static al_status start(struct soft_hca *hca)
{
	struct rings *rings = hca->rings;
	int err;

	rings->epoll = epoll_create1(EPOLL_CLOEXEC);
	rings->control = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	atomic_store(&rings->stop, false);
	if (rings->epoll < 0 || rings->control < 0 || !watch(rings, rings->control)) {
		close_fds(rings);
		return AL_INSUFFICIENT_RESOURCES;
	}
	err = start_thread(&rings->thread, "soft-rings", rings_main, hca);
	if (!err)
		return AL_SUCCESS;
	ib_log(IB_LOG_ERROR, "soft",
	       "no thread for the clients of HCA %s (%s); raise the limit of threads",
	       hca->conf.name, strerror(err));
	close_fds(rings);
	return AL_INSUFFICIENT_RESOURCES;
}

/* With the last one. */
static void stop(struct rings *rings)
{
	atomic_store(&rings->stop, true);
	wake(rings);
	pthread_join(rings->thread, NULL);
	close_fds(rings);
}

/* ------------------------------------------------------------------- openings */

al_status rings_create(struct soft_hca *hca)
{
	hca->rings = al_alloc(sizeof(*hca->rings));
	if (!hca->rings)
		return AL_INSUFFICIENT_MEMORY;
	hca->rings->last = &hca->rings->first;
	hca->engine.step = rings_step;
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
		status = start(hca);
	if (status)
		goto out;
	if (watch(rings, o->wake)) {
		lock_openings(rings);
		*rings->last = o;
		rings->last = &o->next;
		fmutex_unlock(&rings->lock);
		atomic_fetch_add(&rings->openings, 1);
		wake(rings); /* it has told the new one nothing yet */
	} else {
		status = AL_INSUFFICIENT_RESOURCES;
		if (!atomic_load(&rings->openings))
			stop(rings);
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
		return AL_UNSUPPORTED; /* without a provider there is nothing to share */
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
		stop(rings);
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

/* In turn, so that a bell that is still ringing for one queue pair is not soon another's. */
static al_status give_bell(struct opening *o, struct soft_qp *qp, uint32_t *bell)
{
	struct soft_qp ***some;
	uint32_t i, at;

	for (i = 1; i <= RING_BELLS; i++) {
		at = (o->last_bell + i) % RING_BELLS;
		some = &o->qps[at / 64];
		if (!*some)
			*some = al_alloc(64 * sizeof(**some));
		if (!*some)
			return AL_INSUFFICIENT_MEMORY;
		if ((*some)[at % 64])
			continue;
		(*some)[at % 64] = qp;
		o->last_bell = *bell = at;
		return AL_SUCCESS;
	}
	return AL_LIMIT_EXCEEDED;
}

al_status rings_give_bell(struct soft_qp *qp, const struct ci_client *client)
{
	struct rings *rings = pd_hca(qp->ci.pd)->rings;
	struct shared_qp *s = qp->shared;
	al_status status;

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
