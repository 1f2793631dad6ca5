/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Queues that are shared with a client. A request in a client's ring becomes an element of the
 * queue pair's own queue, the same element that soft_post_send() or soft_post_recv() makes.
 * Completions go into the client's memory. The threads that answer bells are in ring_thread.c.
 *
 * A client can change its rings at any moment. So the module copies a request once, into the
 * element, and checks and uses that copy only. The module does not interpret inline data. The
 * client's indices are bounded by the size of the queue.
 */
#include <string.h>
#include <sys/mman.h>

#include "hca/soft/base/config.h"
#include "hca/soft/client/rings.h"
#include "hca/soft/base/reading.h"
#include "hca/soft/engine/engine.h"
#include "hca/soft/object/hca.h"
#include "hca/soft/packet/packet.h"
#include "hca/soft/queue/cq.h"
#include "hca/soft/shared/base.h"
#include "hca/soft/shared/lock.h"
#include "hca/soft/shared/ring.h"
#include "hca/soft/shared/wr.h"
#include "hca/soft/transport/qp.h"

/* ---------------------------------------------------------- completion queues */

static al_status read_make(const struct ci_udata *udata, size_t bytes, struct ring_make *make)
{
	if (udata->in_len != sizeof(*make))
		return AL_INVALID_PARAMETER;
	memcpy(make, udata->in, sizeof(*make));
	return make->bytes == bytes ? AL_SUCCESS : AL_INVALID_PARAMETER;
}

al_status ring_cq_create(struct soft_cq *cq, struct ci_udata *udata)
{
	size_t bytes = ring_cq_bytes(cq->size);
	struct ring_make make;
	al_status status = read_make(udata, bytes, &make);
	void *mem;

	if (!status)
		status = rings_map(udata, bytes, &mem);
	if (status)
		return status;
	cq->shared = mem;
	cq->ring = (struct ib_wc *)((char *)mem + RING_CQ_HEAD);
	cq->mask = ring_cq_slots(cq->size) - 1;
	/* The client keeps the arm in its own memory, so cq_add() must call ring_cq_publish() for each completion. */
	cq->armed = AL_ARM_ANY;
	return AL_SUCCESS;
}

void ring_cq_destroy(struct soft_cq *cq)
{
	munmap(cq->shared, RING_CQ_HEAD);
}

al_status ring_cq_map(const struct ci_udata *udata, uint32_t cqe, struct ib_wc **ring)
{
	size_t bytes = ring_wc_bytes(cqe);
	struct ring_make make;
	al_status status = read_make(udata, bytes, &make);
	void *mem;

	if (!status)
		status = rings_map(udata, bytes, &mem);
	if (!status)
		*ring = mem;
	return status;
}

void ring_cq_moved(struct soft_cq *cq)
{
	atomic_store_explicit(&cq->shared->moved_at, cq->prod, memory_order_relaxed);
	/* release: pairs with the acquire in the provider's moved() */
	atomic_store_explicit(&cq->shared->moved, 1, memory_order_release);
}

/* Clears the client's arm. True: the module must notify. False: the client has cleared the arm, and notifies itself. */
static bool take_arm(struct soft_cq *cq)
{
	atomic_store_explicit(&cq->shared->notified, cq->prod, memory_order_relaxed);
	return atomic_exchange(&cq->shared->arm, AL_ARM_NONE) & 7;
}

/* Sets RING_HELD on the client's arm, unless the client clears the arm meanwhile. */
static void hold_arm(struct ring_cq *map, uint32_t arm)
{
	while (arm & 3 && !atomic_compare_exchange_weak(&map->arm, &arm, arm | RING_HELD))
		;
}

bool ring_cq_release(struct soft_cq *cq)
{
	return atomic_load(&cq->shared->arm) & RING_HELD && take_arm(cq);
}

bool ring_cq_publish(struct soft_cq *cq, al_arm kind)
{
	struct ring_cq *map = cq->shared;
	uint32_t prod = cq->prod, arm, n;
	bool must_notify = false;

	/*
	 * Release: publishes the completion. Sequentially consistent with the load of arm below, as the provider's
	 * store of arm is with its load of prod in count_completions(): one side sees the other's store.
	 */
	atomic_store(&map->prod, prod);
	/* release: a client that sees `overflowed` sees the last completion */
	if (UNLIKELY(cq->overflowed))
		atomic_store_explicit(&map->overflowed, 1, memory_order_release);
	arm = atomic_load(&map->arm);
	if ((arm & 7) >= kind) {
		if (cq_notification_due(cq, arm & RING_HELD))
			must_notify = take_arm(cq);
		else
			hold_arm(map, arm);
	}
	n = atomic_load(&map->arm_n);
	if (UNLIKELY(n) && prod - cq->cons >= n) {
		atomic_store_explicit(&map->notified, prod, memory_order_relaxed);
		if (atomic_exchange(&map->arm_n, 0))
			must_notify = true;
	}
	return must_notify;
}

/* ----------------------------------------------------- queue pairs: their life */

static al_status map_qp(struct soft_qp *qp, struct ci_udata *udata)
{
	struct shared_qp *s = qp->shared;
	struct ring_make make;
	al_status status;
	void *mem;

	s->layout = ring_layout(&qp->ci.cap);
	status = read_make(udata, s->layout.bytes, &make);
	if (!status && udata->out_len < sizeof(struct ring_made))
		status = AL_INVALID_PARAMETER;
	if (!status)
		status = rings_map(udata, s->layout.bytes, &mem);
	if (status)
		return status;
	s->map = mem;
	s->sq = (char *)mem + s->layout.sq;
	s->rq = (char *)mem + s->layout.rq;
	/* the client's own value, which is written only into completions for this client */
	qp->ci.owner_context = (void *)(uintptr_t)make.context;
	ring_state(qp, IB_QPS_RESET);
	return rings_give_bell(qp, udata->client);
}

static void free_shared(struct soft_qp *qp)
{
	if (qp->shared->map)
		munmap(qp->shared->map, qp->shared->layout.bytes);
	al_free(qp->shared);
	qp->shared = NULL;
}

/* A queue pair is shared exactly if both of its completion queues are. */
al_status ring_qp_create(struct soft_qp *qp, struct ci_udata *udata)
{
	bool asked = rings_asked(udata);
	struct ring_made made = { 0 };
	al_status status;

	if (!soft_cq(qp->ci.send_cq)->shared != !asked ||
	    !soft_cq(qp->ci.recv_cq)->shared != !asked)
		return AL_INVALID_PARAMETER;
	if (!asked)
		return AL_SUCCESS;
	qp->shared = al_alloc(sizeof(*qp->shared));
	if (!qp->shared)
		return AL_INSUFFICIENT_MEMORY;
	status = map_qp(qp, udata);
	if (status) {
		free_shared(qp);
		return status;
	}
	made.bell = qp->shared->bell;
	memcpy(udata->out, &made, sizeof(made));
	udata->out_len = sizeof(made);
	return AL_SUCCESS;
}

void ring_qp_destroy(struct soft_qp *qp)
{
	if (qp->shared)
		free_shared(qp);
}

/* ------------------------------------------------------- what the client sees */

void ring_state(struct soft_qp *qp, ib_qp_state state)
{
	/*
	 * Sequentially consistent with the load of rq_prod in ring_fill(), as the store of rq_prod in
	 * provider_post_recv() is with the provider's load of this state. So in the Error state either the module
	 * finds the newest receive, or the provider sees the state and rings the bell.
	 */
	atomic_store(&qp->shared->map->state, state);
}

void ring_emptied(struct soft_qp *qp)
{
	struct shared_qp *s = qp->shared;

	s->stopped[0] = s->stopped[1] = false;
	s->report_due[0] = s->report_due[1] = false;
	atomic_store_explicit(&s->map->sq_cons, 0, memory_order_relaxed);
	atomic_store_explicit(&s->map->rq_cons, 0, memory_order_relaxed);
}

void ring_retired(struct soft_qp *qp, uint32_t sq_cons)
{
	/* release: pairs with the acquire in the provider's post; the module's own index has moved before */
	atomic_store_explicit(&qp->shared->map->sq_cons, sq_cons, memory_order_release);
}

void ring_received(struct soft_qp *qp, uint32_t rq_cons)
{
	atomic_store_explicit(&qp->shared->map->rq_cons, rq_cons, memory_order_release);
}

/* ---------------------------------------------------------------------- failure */

/* Stops a ring that holds a malformed request: the module takes no more requests out of the ring. The caller holds the
 * queue's lock. */
static void stop_ring(struct soft_qp *qp, bool recv, uint64_t wr_id)
{
	qp->shared->stopped[recv] = true;
	qp->shared->report_due[recv] = true;
	qp->shared->bad_wr_id[recv] = wr_id;
}

/*
 * Tells the queue pair's owner of a stopped ring. The provider checks every request, so only a client that writes its
 * rings itself brings this about.
 */
static void signal_stopped_ring(struct soft_qp *qp, bool recv)
{
	struct runner r;

	runner_start(&r);
	actor_signal(&r, qp->actor, recv ? SIGNAL_BAD_RECV : SIGNAL_BAD_SEND);
	runner_run(&r);
}

/* Takes the report about a stopped ring. False: there is none, since a Reset has emptied the ring after the signal. */
static bool take_report(struct soft_qp *qp, bool recv, uint64_t *wr_id)
{
	struct fmutex *lock = recv ? &qp->rq.lock : &qp->sq.lock;
	struct shared_qp *s = qp->shared;
	bool due;

	fmutex_lock(lock);
	due = s->report_due[recv];
	s->report_due[recv] = false;
	*wr_id = s->bad_wr_id[recv];
	fmutex_unlock(lock);
	return due;
}

void ring_failed(struct runner *r, struct soft_qp *qp, bool recv)
{
	struct ib_wc wc = {
		.qp_context = qp->ci.owner_context,
		.status = IB_WC_LOC_QP_OP_ERR,
		.opcode = recv ? IB_WC_RECV : IB_WC_SEND,
		.qp_num = qp->ci.qp_num,
	};

	if (!take_report(qp, recv, &wc.wr_id))
		return;
	cq_add(r, soft_cq(recv ? qp->ci.recv_cq : qp->ci.send_cq), &wc);
	qp_error(r, qp, IB_EVENT_QP_FATAL);
}

/* ------------------------------------------------------------------------ sends */

static void kick(struct soft_qp *qp)
{
	struct runner r;

	runner_start(&r);
	actor_kick(&r, qp->actor);
	runner_run(&r);
}

/* Copies memory that the client can change. The fence keeps the compiler from reading the memory a second time. */
static void copy_once(void *to, const void *from, size_t bytes)
{
	memcpy(to, from, bytes);
	atomic_signal_fence(memory_order_seq_cst);
}

/*
 * Checks that the queue pair may send to the path of a datagram's request. ib_flat_check_send() has checked the
 * path's form. The path's port must be the queue pair's, unless the queue pair has no port and only flushes.
 */
static al_status check_path(const struct soft_qp *qp, const struct ib_flat_send *head)
{
	const struct soft_hca *hca = qp_hca(qp);
	struct ib_ah_attr attr;
	al_status status;

	ib_flat_unpack_path(&head->path, &attr);
	status = wr_check_address(&attr, hca->conf.gids, hca->conf.lmc);
	if (!status)
		status = wr_check_datagram(&qp->ci, qp_port_num(qp), qp->ci.pd, attr.port_num, head->key);
	return status;
}

/*
 * Copies and checks the request of a slot, which becomes the queue's element. Head and tail are copied once each, the
 * tail after the check of the head.
 */
static al_status take_send(struct soft_qp *qp, uint32_t index, uint64_t *wr_id)
{
	const struct shared_qp *s = qp->shared;
	const char *slot = s->sq + (size_t)(index & s->layout.sq_mask) * s->layout.sq_stride;
	uint32_t room = (s->layout.sq_stride - (uint32_t)sizeof(struct ib_flat_send)) / IB_FLAT_UNIT;
	struct send_wqe *wqe = sq_at(&qp->sq, index);
	struct ib_flat_send *head = &wqe->wr;
	al_status status;

	if (UNLIKELY(!sq_has_room(&qp->sq, index, qp->ci.cap.max_send_wr)))
		return AL_QUEUE_FULL;
	copy_once(head, slot, sizeof(*head));
	*wr_id = head->wr_id;
	status = ib_flat_check_send(head, qp->ci.qp_type, room);
	if (!status)
		status = wr_check_flat(&qp->ci, head);
	if (!status && is_ud(qp))
		status = check_path(qp, head);
	if (UNLIKELY(status))
		return status;
	copy_once(wqe->sge, slot + sizeof(*head), (size_t)ib_flat_units(head) * IB_FLAT_UNIT);
	if (!(head->flags & IB_SEND_INLINE))
		status = ib_flat_check_list(wqe->sge, head->num_sge, head->length);
	if (UNLIKELY(status))
		return status;
	qp_accept_send(qp, wqe);
	return AL_SUCCESS;
}

bool ring_take_sends(struct soft_qp *qp, uint32_t max, uint32_t *taken)
{
	struct shared_qp *s = qp->shared;
	uint32_t first, prod, posted = 0;
	al_status status = AL_SUCCESS;
	uint64_t wr_id = 0;
	bool in_error;

	fmutex_lock(&qp->sq.lock);
	first = prod = atomic_load_explicit(&qp->sq.prod, memory_order_relaxed);
	in_error = atomic_load_explicit(&qp->state, memory_order_relaxed) == IB_QPS_ERR;
	if (!s->stopped[0] && atomic_load_explicit(&qp->state, memory_order_relaxed) >= IB_QPS_RTS)
		/* acquire: pairs with the provider's release; the slots are filled */
		posted = atomic_load_explicit(&s->map->sq_prod, memory_order_acquire) - prod;
	if (UNLIKELY(posted > qp->ci.cap.max_send_wr))
		status = AL_QUEUE_FULL;
	while (!status && prod - first != posted && prod - first != max) {
		status = take_send(qp, prod, &wr_id);
		if (!status)
			prod++;
	}
	/* release: pairs with the acquire in req.c */
	atomic_store_explicit(&qp->sq.prod, prod, memory_order_release);
	*taken = prod - first;
	if (UNLIKELY(status))
		stop_ring(qp, false, wr_id);
	fmutex_unlock(&qp->sq.lock);
	if (UNLIKELY(status))
		signal_stopped_ring(qp, false);
	if (*taken) {
		reading_begin();
		qp_sends_added(qp);
		reading_end();
	}
	if (in_error) /* the bell may announce receives: the flush of a queue pair in Error looks for receives */
		kick(qp);
	return !status && *taken != posted;
}

void ring_catch_up(struct soft_qp *qp)
{
	uint32_t taken;

	ring_take_sends(qp, UINT32_MAX, &taken);
}

/* --------------------------------------------------------------------- receives */

/* The request in a slot becomes the queue's element. */
static al_status take_recv(struct soft_qp *qp, uint32_t index, uint64_t *wr_id)
{
	const struct shared_qp *s = qp->shared;
	const char *slot = s->rq + (size_t)(index & s->layout.rq_mask) * s->layout.rq_stride;
	struct recv_wqe *wqe = rq_at(&qp->rq, index);
	struct ib_flat_recv *head = &wqe->wr;
	al_status status;

	if (UNLIKELY(!rq_has_room(&qp->rq, index, qp->ci.cap.max_recv_wr)))
		return AL_QUEUE_FULL;
	copy_once(head, slot, sizeof(*head));
	*wr_id = head->wr_id;
	if (UNLIKELY(head->num_sge > qp->ci.cap.max_recv_sge))
		return AL_INVALID_SGE;
	copy_once(wqe->sge, slot + sizeof(*head), head->num_sge * sizeof(*wqe->sge));
	status = ib_flat_check_list(wqe->sge, head->num_sge, head->length);
	if (UNLIKELY(status))
		return status;
	qp_accept_recv(qp, wqe);
	return AL_SUCCESS;
}

bool ring_fill(struct soft_qp *qp, uint32_t max)
{
	struct shared_qp *s = qp->shared;
	uint32_t first, prod, posted = 0, queued;
	al_status status = AL_SUCCESS;
	uint64_t wr_id = 0;

	fmutex_lock(&qp->rq.lock);
	first = prod = atomic_load_explicit(&qp->rq.prod, memory_order_relaxed);
	queued = prod - atomic_load_explicit(&qp->rq.cons, memory_order_relaxed);
	if (!s->stopped[1] && atomic_load_explicit(&qp->state, memory_order_relaxed) != IB_QPS_RESET)
		/* Acquire: the slots are filled. Sequentially consistent with the store in ring_state(). */
		posted = atomic_load(&s->map->rq_prod) - prod;
	if (UNLIKELY(posted > qp->ci.cap.max_recv_wr - queued))
		status = AL_QUEUE_FULL;
	while (!status && prod - first != posted && prod - first != max) {
		status = take_recv(qp, prod, &wr_id);
		if (!status)
			prod++;
	}
	/* release: pairs with the acquire in rq_take() */
	atomic_store_explicit(&qp->rq.prod, prod, memory_order_release);
	if (UNLIKELY(status))
		stop_ring(qp, true, wr_id);
	fmutex_unlock(&qp->rq.lock);
	if (UNLIKELY(status))
		signal_stopped_ring(qp, true);
	return prod != first;
}
