/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Completion queues in the client's process. The client owns the entries from cons to prod: the module
 * does not write there. */
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include "hca/soft/shared/base.h"
#include "hca/soft/shared/lock.h"
#include "hca/soft/shared/ring.h"
#include "uvp/soft/provider.h"

/* -------------------------------------------------------------- create, destroy */

al_status pre_create_cq(struct ci_cq *base, struct ci_cq_init *init, struct uvp_call *call)
{
	struct provider_cq *cq = (struct provider_cq *)base;
	const uint32_t cqe = ring_cqe(init->cqe);
	const struct ring_make said = { .bytes = ring_cq_bytes(cqe) };

	cq->wc.mask = ring_cq_slots(cqe) - 1;
	return share(&cq->wc.file, said.bytes, call, &said, sizeof(said));
}

al_status post_create_cq(struct ci_cq *base, struct ci_cq_init *init, al_status status,
			 struct uvp_call *call)
{
	struct provider_cq *cq = (struct provider_cq *)base;
	/* one more than cqe fit in */
	al_status kept = status || init->cqe <= cq->wc.mask ? AL_SUCCESS : AL_MODULE_ABI;

	(void)call;
	share_crossed(&cq->wc.file, status ? status : kept);
	cq->wc.cqe = init->cqe;
	cq->map = cq->wc.file.mem;
	cq->wc.file.mem = (char *)cq->wc.file.mem + RING_CQ_HEAD;
	cq->wc.file.bytes -= RING_CQ_HEAD;
	return kept;
}

void post_destroy_cq(struct ci_cq *base, struct uvp_call *call)
{
	struct provider_cq *cq = (struct provider_cq *)base;

	(void)call;
	share_end(&cq->wc.file);
	munmap(cq->map, RING_CQ_HEAD);
}

/* --------------------------------------------------------------------- content */

/* While a queue is resized: does the module use the new entries already? */
static bool moved(const struct provider_cq *cq)
{
	/* acquire: pairs with the release in ring_cq_moved() */
	return atomic_load_explicit(&cq->map->moved, memory_order_acquire);
}

/* Is the completion older than all that the module has put into the new entries? */
static bool before_move(const struct provider_cq *cq, uint32_t index)
{
	uint32_t first = atomic_load_explicit(&cq->map->moved_at, memory_order_relaxed);

	return (int32_t)(index - first) < 0;
}

static struct ib_wc *entry(const struct provider_wc *in, uint32_t index)
{
	return (struct ib_wc *)in->file.mem + (index & in->mask);
}

/* Under the lock. */
static struct ib_wc *at(const struct provider_cq *cq, uint32_t index)
{
	if (UNLIKELY(cq->resizing) && moved(cq) && !before_move(cq, index))
		return entry(&cq->next, index);
	return entry(&cq->wc, index);
}

/* Under the lock. */
static uint32_t there(const struct provider_cq *cq, uint32_t *prod)
{
	uint32_t n;

	/* acquire: the completions are there; in total order after an arm (cq_armed()) */
	*prod = atomic_load(&cq->map->prod);
	n = *prod - cq->cons;
	if (LIKELY(n <= cq->wc.cqe + 1) || (cq->resizing && n <= cq->next.cqe + 1))
		return n;
	return 0; /* the program has written over the indices */
}

static bool overflowed(const struct provider_cq *cq)
{
	/* acquire: the last completion is there */
	return atomic_load_explicit(&cq->map->overflowed, memory_order_acquire);
}

/* The next completions. Under the lock. */
static void copy(const struct provider_cq *cq, uint32_t n, struct ib_wc *to)
{
	uint32_t first = cq->wc.mask + 1 - (cq->cons & cq->wc.mask), i;

	if (UNLIKELY(cq->resizing)) {
		for (i = 0; i < n; i++)
			to[i] = *at(cq, cq->cons + i);
		return;
	}
	first = first < n ? first : n;
	memcpy(to, entry(&cq->wc, cq->cons), first * sizeof(*to));
	if (first < n)
		memcpy(to + first, entry(&cq->wc, cq->cons + first), (n - first) * sizeof(*to));
}

/*
 * After so many empty polls, some 300 us of them, the poller yields its processor one time, since the
 * module's thread may be waiting for that processor. A million polls make at most 61 system calls.
 */
#define PATIENCE (1u << 14)

al_status provider_poll_cq(struct ci_cq *base, uint32_t num, struct ib_wc *wc, uint32_t *count)
{
	struct provider_cq *cq = (struct provider_cq *)base;
	uint32_t n, prod;
	bool over, yield = false;

	fmutex_lock(&cq->lock);
	over = overflowed(cq); /* the module sets it after its last completion: prod, read next, is final */
	n = there(cq, &prod);
	if (n) {
		n = n < num ? n : num;
		copy(cq, n, wc);
		cq->cons += n;
		/* release: pairs with the acquire in ring_cq_cons() */
		atomic_store_explicit(&cq->map->cons, cq->cons, memory_order_release);
		cq->in_vain = 0;
	} else {
		yield = !(++cq->in_vain % PATIENCE);
	}
	fmutex_unlock(&cq->lock);
	if (UNLIKELY(over && !n))
		return AL_CQ_ERROR;
	if (UNLIKELY(yield))
		sched_yield();
	*count = n;
	if (n)
		IB_TRACE("soft", "poll_cq: %u CQ entries copied out of the ring", n);
	return AL_SUCCESS;
}

al_status provider_peek_cq(struct ci_cq *base, uint32_t max, uint32_t *count)
{
	struct provider_cq *cq = (struct provider_cq *)base;
	uint32_t n, prod;

	fmutex_lock(&cq->lock);
	n = there(cq, &prod);
	fmutex_unlock(&cq->lock);
	*count = n < max ? n : max;
	return AL_SUCCESS;
}

/* The number up to which completions have been told of, by the module or by us. Under the lock. */
static uint32_t told(const struct provider_cq *cq)
{
	uint32_t by_module = atomic_load_explicit(&cq->map->notified, memory_order_relaxed);

	return (int32_t)(by_module - cq->notified) > 0 ? by_module : cq->notified;
}

void cq_clean(struct ci_cq *base, uint32_t qp_num)
{
	struct provider_cq *cq = (struct provider_cq *)base;
	uint32_t from, prod, gone = 0, untold = 0, seen;

	fmutex_lock(&cq->lock);
	seen = told(cq);
	from = there(cq, &prod) ? prod : cq->cons;
	/* From the newest entry to the oldest: those that stay move towards prod, since only the module
	 * may write that. */
	while (from-- != cq->cons) {
		if (at(cq, from)->qp_num == qp_num) {
			gone++;
			untold += (int32_t)(from - seen) >= 0;
		} else if (gone) {
			*at(cq, from + gone) = *at(cq, from);
		}
	}
	cq->notified = seen + untold;
	cq->cons += gone;
	atomic_store_explicit(&cq->map->cons, cq->cons, memory_order_release);
	fmutex_unlock(&cq->lock);
}

/* ----------------------------------------------------------------- notification */

/* Clears the arm in *word. True: this call has cleared it, so the caller notifies. False: the module has
 * cleared it before and notifies. Under the lock. */
static bool satisfied(struct provider_cq *cq, _Atomic uint32_t *word, uint32_t prod)
{
	if (!atomic_exchange(word, 0))
		return false;
	cq->notified = prod;
	return true;
}

/* The arm has been written; what is there now? */
static uint32_t cq_armed(const struct provider_cq *cq, uint32_t *prod)
{
	/* In total order, as in ring_cq_told() the store of prod and the look at the arm: either we
	 * see the completion, or the module sees the arm. */
	return there(cq, prod);
}

al_status provider_arm_cq(struct ci_cq *base, al_arm type, bool *present)
{
	struct provider_cq *cq = (struct provider_cq *)base;
	_Atomic uint32_t *word = &cq->map->arm;
	uint32_t n, prod, old;
	bool tell = false;

	fmutex_lock(&cq->lock);
	if (overflowed(cq)) {
		fmutex_unlock(&cq->lock);
		return AL_CQ_ERROR;
	}
	old = atomic_load(word);
	while (old < (uint32_t)type && !atomic_compare_exchange_weak(word, &old, (uint32_t)type))
		;
	n = cq_armed(cq, &prod);
	/* the newest completion is there, and is newer than the last notification */
	if (base->notify == AL_CQ_NOTIFY_PENDING && n && told(cq) != prod)
		tell = satisfied(cq, word, prod);
	fmutex_unlock(&cq->lock);
	if (present)
		*present = n;
	if (tell)
		ib_cq_notify(base->ctx);
	return AL_SUCCESS;
}

al_status provider_arm_cq_n(struct ci_cq *base, uint32_t num)
{
	struct provider_cq *cq = (struct provider_cq *)base;
	_Atomic uint32_t *word = &cq->map->arm_n;
	uint32_t prod, old;
	bool tell = false;
	al_status status;

	fmutex_lock(&cq->lock);
	status = !num || num > cq->wc.cqe ? AL_INVALID_PARAMETER
		 : overflowed(cq)         ? AL_CQ_ERROR
					  : AL_SUCCESS;
	if (status) {
		fmutex_unlock(&cq->lock);
		return status;
	}
	/* there is one such arm: of two threads' the smaller number holds */
	old = atomic_load(word);
	while ((!old || num < old) && !atomic_compare_exchange_weak(word, &old, num))
		;
	if (cq_armed(cq, &prod) >= (old && old < num ? old : num))
		tell = satisfied(cq, word, prod);
	fmutex_unlock(&cq->lock);
	if (tell)
		ib_cq_notify(base->ctx);
	return AL_SUCCESS;
}

/* ----------------------------------------------------------------------- resize */

al_status pre_resize_cq(struct ci_cq *base, uint32_t *cqe, struct uvp_call *call)
{
	struct provider_cq *cq = (struct provider_cq *)base;
	const uint32_t size = ring_cqe(*cqe);
	const struct ring_make said = { .bytes = ring_wc_bytes(size) };
	al_status status = share(&cq->next.file, said.bytes, call, &said, sizeof(said));

	if (status)
		return status;
	cq->next.cqe = size;
	cq->next.mask = ring_cq_slots(size) - 1;
	atomic_store_explicit(&cq->map->moved, 0, memory_order_relaxed);
	fmutex_lock(&cq->lock);
	cq->resizing = true;
	fmutex_unlock(&cq->lock);
	return AL_SUCCESS;
}

/* The older completions go to the new entries, too. Under the lock. */
static void take_next(struct provider_cq *cq)
{
	uint32_t prod, n = there(cq, &prod), i;

	for (i = cq->cons; n-- && before_move(cq, i); i++)
		*entry(&cq->next, i) = *entry(&cq->wc, i);
	cq->wc = cq->next;
}

/* An arm for more completions than there are entries now waits for a full queue. True: the caller
 * notifies. Under the lock. */
static bool lower_arm_n(struct provider_cq *cq)
{
	_Atomic uint32_t *word = &cq->map->arm_n;
	uint32_t prod, old = atomic_load(word);

	while (old > cq->wc.cqe)
		if (atomic_compare_exchange_weak(word, &old, cq->wc.cqe))
			return cq_armed(cq, &prod) >= cq->wc.cqe && satisfied(cq, word, prod);
	return false;
}

/* The module may use the new entries although the answer was lost: ring_cq.moved decides. */
void post_resize_cq(struct ci_cq *base, uint32_t *cqe, al_status status, struct uvp_call *call)
{
	struct provider_cq *cq = (struct provider_cq *)base;
	struct shared unused;
	bool tell = false;

	(void)cqe;
	(void)status;
	(void)call;
	share_crossed(&cq->next.file, AL_SUCCESS);
	unused = cq->next.file;
	fmutex_lock(&cq->lock);
	if (moved(cq)) {
		unused = cq->wc.file;
		take_next(cq);
		tell = lower_arm_n(cq);
	}
	cq->resizing = false;
	fmutex_unlock(&cq->lock);
	madvise(unused.mem, unused.bytes,
		MADV_REMOVE); /* the first file stays mapped for its head */
	share_end(&unused);
	if (tell)
		ib_cq_notify(base->ctx);
}

void post_query_cq(struct ci_cq *base, struct al_cq_attr *attr, al_status status,
		   struct uvp_call *call)
{
	struct provider_cq *cq = (struct provider_cq *)base;
	uint32_t prod;

	(void)call;
	if (status)
		return;
	fmutex_lock(&cq->lock);
	attr->count = there(cq, &prod);
	attr->armed = (al_arm)(atomic_load_explicit(&cq->map->arm, memory_order_relaxed) & 3);
	fmutex_unlock(&cq->lock);
}
