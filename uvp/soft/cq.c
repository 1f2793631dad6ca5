/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Completion queues in the client's process: the hooks around the creation and the resize of a queue, polls, arms, and the
 * removal of a queue pair's completions. The client owns the entries from cons to prod: the module does not write there.
 * The layout of the shared memory is in hca/soft/shared/ring.h. Queue pairs are in qp.c.
 */
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include "hca/soft/shared/base.h"
#include "hca/soft/shared/lock.h"
#include "hca/soft/shared/ring.h"
#include "hca/soft/shared/wr.h"
#include "uvp/soft/provider.h"

/* -------------------------------------------------------------- create, destroy */

al_status pre_create_cq(struct ci_cq *base, struct ci_cq_init *init, struct uvp_call *call)
{
	struct provider_cq *cq = (struct provider_cq *)base;
	const uint32_t cqe = ring_cqe(init->cqe);
	const struct ring_make request = { .bytes = ring_cq_bytes(cqe) };

	cq->wc.mask = ring_cq_slots(cqe) - 1;
	return share(&cq->wc.file, request.bytes, call, &request, sizeof(request));
}

al_status post_create_cq(struct ci_cq *base, struct ci_cq_init *init, al_status status,
			 struct uvp_call *call)
{
	struct provider_cq *cq = (struct provider_cq *)base;
	al_status verdict = AL_SUCCESS;

	(void)call;
	/* The file has at least cqe + 1 slots: one slot is for the completion of an overflow. A module that answers more
	 * entries than fit in breaks the contract. */
	if (!status && init->cqe > cq->wc.mask)
		verdict = AL_MODULE_ABI;
	share_crossed(&cq->wc.file, status ? status : verdict);
	cq->wc.cqe = init->cqe;
	cq->map = cq->wc.file.mem;
	cq->wc.file.mem = (char *)cq->wc.file.mem + RING_CQ_HEAD;
	cq->wc.file.bytes -= RING_CQ_HEAD;
	return verdict;
}

void post_destroy_cq(struct ci_cq *base, struct uvp_call *call)
{
	struct provider_cq *cq = (struct provider_cq *)base;

	(void)call;
	share_end(&cq->wc.file);
	munmap(cq->map, RING_CQ_HEAD);
}

/* ----------------------------------------------------------------- completions */

/* While the queue is resized: true once the module puts completions into the new entries. */
static bool module_uses_next(const struct provider_cq *cq)
{
	/* acquire: pairs with the release in ring_cq_moved() */
	return atomic_load_explicit(&cq->map->moved, memory_order_acquire);
}

/* While the queue is resized: true if the completion is older than all completions in the new entries. */
static bool before_move(const struct provider_cq *cq, uint32_t index)
{
	uint32_t first = atomic_load_explicit(&cq->map->moved_at, memory_order_relaxed);

	return (int32_t)(index - first) < 0;
}

/* The slot of a completion in one of the two sets of entries that a queue has while it is resized. */
static struct ib_wc *slot(const struct provider_wc *entries, uint32_t index)
{
	return (struct ib_wc *)entries->file.mem + (index & entries->mask);
}

/* The slot in which a completion from cons to prod is. Under the lock. */
static struct ib_wc *find_slot(const struct provider_cq *cq, uint32_t index)
{
	if (UNLIKELY(cq->resizing) && module_uses_next(cq) && !before_move(cq, index))
		return slot(&cq->next, index);
	return slot(&cq->wc, index);
}

/* Number of completions that can be polled; *prod is the index after the newest of them. Under the lock. */
static uint32_t count_completions(const struct provider_cq *cq, uint32_t *prod)
{
	uint32_t n;

	/* acquire: pairs with the store of prod in ring_cq_publish(), before which the module has filled the entries. Sequentially
	 * consistent, as are the store of prod and the load of the arm there: after a store of the arm, either this load sees
	 * the completion, or the module sees the arm. */
	*prod = atomic_load(&cq->map->prod);
	n = *prod - cq->cons;
	if (LIKELY(n <= cq->wc.cqe + 1) || (cq->resizing && n <= cq->next.cqe + 1))
		return n;
	return 0; /* the application has written over the indices */
}

static bool overflowed(const struct provider_cq *cq)
{
	/* acquire: a load of prod that follows sees the last completion */
	return atomic_load_explicit(&cq->map->overflowed, memory_order_acquire);
}

/* Copies the n oldest completions. Under the lock. */
static void copy_completions(const struct provider_cq *cq, uint32_t n, struct ib_wc *to)
{
	uint32_t first = cq->wc.mask + 1 - (cq->cons & cq->wc.mask), i; /* up to the end of the ring */

	if (UNLIKELY(cq->resizing)) {
		for (i = 0; i < n; i++)
			to[i] = *find_slot(cq, cq->cons + i);
		return;
	}
	first = first < n ? first : n;
	memcpy(to, slot(&cq->wc, cq->cons), first * sizeof(*to));
	if (first < n)
		memcpy(to + first, slot(&cq->wc, cq->cons + first), (n - first) * sizeof(*to));
}

/*
 * After so many empty polls, some 300 us of them, the poller yields its processor one time, since the
 * module's thread may be waiting for that processor. A million polls make at most 61 system calls.
 */
#define POLLS_BEFORE_YIELD (1u << 14)

al_status provider_poll_cq(struct ci_cq *base, uint32_t num, struct ib_wc *wc, uint32_t *count)
{
	struct provider_cq *cq = (struct provider_cq *)base;
	uint32_t n, prod;
	bool over, yield = false;

	fmutex_lock(&cq->lock);
	over = overflowed(cq); /* the module sets overflowed after its last completion: prod, read next, is final */
	n = count_completions(cq, &prod);
	if (n) {
		n = n < num ? n : num;
		copy_completions(cq, n, wc);
		cq->cons += n;
		/* release: pairs with the acquire in ring_cq_cons() */
		atomic_store_explicit(&cq->map->cons, cq->cons, memory_order_release);
		cq->empty_polls = 0;
	} else {
		cq->empty_polls++;
		yield = cq->empty_polls % POLLS_BEFORE_YIELD == 0;
	}
	fmutex_unlock(&cq->lock);
	if (UNLIKELY(over && !n))
		return ib_refuse(AL_CQ_ERROR, WR_CQ_OVERFLOWED);
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
	n = count_completions(cq, &prod);
	fmutex_unlock(&cq->lock);
	*count = n < max ? n : max;
	return AL_SUCCESS;
}

/* Value of prod at the last notification of the queue, by the module or by this provider. Under the lock. */
static uint32_t last_notified(const struct provider_cq *cq)
{
	uint32_t by_module = atomic_load_explicit(&cq->map->notified, memory_order_relaxed);

	return (int32_t)(by_module - cq->notified) > 0 ? by_module : cq->notified;
}

void cq_clean(struct ci_cq *base, uint32_t qp_num)
{
	struct provider_cq *cq = (struct provider_cq *)base;
	uint32_t index, prod, removed = 0, removed_unnotified = 0, notified;

	fmutex_lock(&cq->lock);
	notified = last_notified(cq);
	index = count_completions(cq, &prod) ? prod : cq->cons;
	/* From the newest entry to the oldest: the entries that are kept are shifted towards prod, since only the module
	 * may write prod. */
	while (index != cq->cons) {
		index--;
		if (find_slot(cq, index)->qp_num == qp_num) {
			removed++;
			if ((int32_t)(index - notified) >= 0)
				removed_unnotified++;
		} else if (removed) {
			*find_slot(cq, index + removed) = *find_slot(cq, index);
		}
	}
	/* The completions without a notification are the newest: removing some of them moves the index of the last
	 * notification towards prod by as many. */
	cq->notified = notified + removed_unnotified;
	cq->cons += removed;
	atomic_store_explicit(&cq->map->cons, cq->cons, memory_order_release);
	fmutex_unlock(&cq->lock);
}

/* ---------------------------------------------------------------- notification */

/*
 * Takes an arm that the completions up to prod satisfy. True: this call has cleared the arm, so the caller calls
 * ib_cq_notify() after the lock. False: the module has cleared the arm before, and notifies. Under the lock.
 */
static bool take_arm(struct provider_cq *cq, _Atomic uint32_t *arm, uint32_t prod)
{
	if (!atomic_exchange(arm, 0))
		return false;
	cq->notified = prod;
	return true;
}

al_status provider_arm_cq(struct ci_cq *base, al_arm type, bool *present)
{
	struct provider_cq *cq = (struct provider_cq *)base;
	_Atomic uint32_t *arm = &cq->map->arm;
	uint32_t n, prod, old;
	bool notify = false;

	fmutex_lock(&cq->lock);
	if (overflowed(cq)) {
		fmutex_unlock(&cq->lock);
		return ib_refuse(AL_CQ_ERROR, WR_CQ_OVERFLOWED);
	}
	/* An arm for more kinds of completions (a larger al_arm) replaces an arm for fewer, never the other way round. */
	old = atomic_load(arm);
	while (old < (uint32_t)type && !atomic_compare_exchange_weak(arm, &old, (uint32_t)type))
		;
	n = count_completions(cq, &prod);
	/* AL_CQ_NOTIFY_PENDING: a completion that is newer than the last notification satisfies the arm at once. */
	if (base->notify == AL_CQ_NOTIFY_PENDING && n && last_notified(cq) != prod)
		notify = take_arm(cq, arm, prod);
	fmutex_unlock(&cq->lock);
	if (present)
		*present = n;
	if (notify)
		ib_cq_notify(base->ctx);
	return AL_SUCCESS;
}

al_status provider_arm_cq_n(struct ci_cq *base, uint32_t num)
{
	struct provider_cq *cq = (struct provider_cq *)base;
	_Atomic uint32_t *arm = &cq->map->arm_n;
	uint32_t prod, old;
	bool notify = false;
	al_status status;

	fmutex_lock(&cq->lock);
	status = !num || num > cq->wc.cqe ? AL_INVALID_PARAMETER
		 : overflowed(cq)         ? AL_CQ_ERROR
					  : AL_SUCCESS;
	if (status) {
		fmutex_unlock(&cq->lock);
		return status;
	}
	/* A queue has one arm for a number of completions: of two numbers the smaller stays. */
	old = atomic_load(arm);
	while ((!old || num < old) && !atomic_compare_exchange_weak(arm, &old, num))
		;
	if (count_completions(cq, &prod) >= (old && old < num ? old : num))
		notify = take_arm(cq, arm, prod);
	fmutex_unlock(&cq->lock);
	if (notify)
		ib_cq_notify(base->ctx);
	return AL_SUCCESS;
}

/* ----------------------------------------------------------------------- resize */

al_status pre_resize_cq(struct ci_cq *base, uint32_t *cqe, struct uvp_call *call)
{
	struct provider_cq *cq = (struct provider_cq *)base;
	const uint32_t size = ring_cqe(*cqe);
	const struct ring_make request = { .bytes = ring_wc_bytes(size) };
	al_status status = share(&cq->next.file, request.bytes, call, &request, sizeof(request));

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

/* Copies the completions that are older than the move into the new entries, and uses the new entries alone from then on. The
 * caller unmaps the old entries. Under the lock. */
static void switch_to_next(struct provider_cq *cq)
{
	uint32_t prod, n = count_completions(cq, &prod), i;

	for (i = cq->cons; n && before_move(cq, i); i++, n--)
		*slot(&cq->next, i) = *slot(&cq->wc, i);
	cq->wc = cq->next;
}

/* Lowers an arm for more completions than the resized queue holds: the arm then waits for a full queue. True: the queue is
 * full, and the caller calls ib_cq_notify() after the lock. Under the lock. */
static bool lower_arm_n(struct provider_cq *cq)
{
	_Atomic uint32_t *arm = &cq->map->arm_n;
	uint32_t prod, old = atomic_load(arm);

	while (old > cq->wc.cqe)
		if (atomic_compare_exchange_weak(arm, &old, cq->wc.cqe))
			return count_completions(cq, &prod) >= cq->wc.cqe && take_arm(cq, arm, prod);
	return false;
}

/* The module may use the new entries although its answer was lost. So ring_cq.moved decides, and not the status. */
void post_resize_cq(struct ci_cq *base, uint32_t *cqe, al_status status, struct uvp_call *call)
{
	struct provider_cq *cq = (struct provider_cq *)base;
	struct shared unused;
	bool notify = false;

	(void)cqe;
	(void)status;
	(void)call;
	share_crossed(&cq->next.file, AL_SUCCESS);
	unused = cq->next.file;
	fmutex_lock(&cq->lock);
	if (module_uses_next(cq)) {
		unused = cq->wc.file;
		switch_to_next(cq);
		notify = lower_arm_n(cq);
	}
	cq->resizing = false;
	fmutex_unlock(&cq->lock);
	/* If this is the first file, its head stays mapped (cq->map) and would keep the memory of its entries: madvise()
	 * frees that memory. */
	madvise(unused.mem, unused.bytes, MADV_REMOVE);
	share_end(&unused);
	if (notify)
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
	attr->count = count_completions(cq, &prod);
	attr->armed = (al_arm)(atomic_load_explicit(&cq->map->arm, memory_order_relaxed) & 3);
	fmutex_unlock(&cq->lock);
}
