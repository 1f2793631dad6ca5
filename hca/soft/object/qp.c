/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Queue pairs: creation, states, posting, and the pass in which an owner does all that there is to
 * do. The Access Layer has checked transitions and attributes against the state that it saw; the
 * state may have changed by itself since.
 */
#include <string.h>

#include "hca/soft/base/table.h"
#include "hca/soft/client/rings.h"
#include "hca/soft/engine/engine.h"
#include "hca/soft/link/hooks.h"
#include "hca/soft/link/link.h"
#include "hca/soft/memory/errand.h"
#include "hca/soft/memory/mr.h"
#include "hca/soft/object/hca.h"
#include "hca/soft/packet/packet.h"
#include "hca/soft/port/port.h"
#include "hca/soft/queue/cq.h"
#include "hca/soft/shared/base.h"
#include "hca/soft/shared/lock.h"
#include "hca/soft/shared/opcode.h"
#include "hca/soft/shared/wr.h"
#include "hca/soft/transport/qp.h"

_Static_assert(sizeof(struct send_wqe) == 64,
	       "the header of a send queue element is one cache line");
_Static_assert(offsetof(struct soft_qp, resp.va) - offsetof(struct soft_qp, resp) == 64,
	       "what a responder looks at for each request is one cache line");
_Static_assert(offsetof(struct soft_qp, tx_bytes) - offsetof(struct soft_qp, port) == 64,
	       "the path is one cache line");
_Static_assert(sizeof(struct actor) == 64, "an actor is one cache line");
_Static_assert(sizeof(struct mr_slot) == 64, "what a key names is one cache line");

const struct service services[IB_QPT_COUNT] = {
	[IB_QPT_RC] = { rc_request, rc_taken, WIRE_RC, true },
	[IB_QPT_UC] = { uc_request, uc_taken, WIRE_UC, false },
	[IB_QPT_UD] = { ud_request, ud_taken, WIRE_UD, false },
};

/* ------------------------------------------------------------------ a pass */

void qp_event(struct soft_qp *qp, ib_event_type type)
{
	struct ci_event event = { .type = type, .object_ctx = qp->ci.ctx };

	IB_TRACE("soft", "event %d: qp=%#x", type, qp->ci.qp_num);
	ib_dispatch_event(&event);
}

static void set_state(struct soft_qp *qp, ib_qp_state state)
{
	/* under both locks: who posts has either posted before, or sees the new state */
	fmutex_lock(&qp->sq_lock);
	fmutex_lock(&qp->rq_lock);
	atomic_store_explicit(&qp->state, state, memory_order_relaxed);
	if (UNLIKELY(qp->shared))
		ring_state(qp, state);
	fmutex_unlock(&qp->rq_lock);
	fmutex_unlock(&qp->sq_lock);
}

static void stop(struct runner *r, struct soft_qp *qp)
{
	struct packet *backlog = qp->resp.backlog;

	timer_stop(&qp->actor->engine->timers, &qp->timer);
	qp->resp.backlog = NULL;
	qp->resp.backlog_tail = &qp->resp.backlog;
	qp->resp.reading.num = 0;
	if (UNLIKELY(qp->resp.copying && backlog))
		resp_unhold(backlog);
	pkt_release_all(r, qp, backlog);
	if (UNLIKELY(qp->stage))
		stage_stop(r, qp);
}

void qp_error(struct runner *r, struct soft_qp *qp, int event)
{
	if (qp_state(qp) == IB_QPS_ERR)
		return;
	IB_TRACE("soft", "to the Error state: qp=%#x", qp->ci.qp_num);
	set_state(qp, IB_QPS_ERR);
	stop(r, qp);
	if (event >= 0)
		qp_event(qp, (ib_event_type)event);
}

void qp_send_error(struct soft_qp *qp)
{
	if (qp_state(qp) != IB_QPS_RTS && qp_state(qp) != IB_QPS_SQD)
		return;
	IB_TRACE("soft", "to the SQE state: qp=%#x", qp->ci.qp_num);
	set_state(qp, IB_QPS_SQE);
}

void qp_complete_recv(struct runner *r, struct soft_qp *qp, struct ib_wc *wc)
{
	uint32_t cons = atomic_load_explicit(&qp->rq_cons, memory_order_relaxed);

	wc->wr_id = rq_at(qp, cons)->wr_id;
	wc->qp_context = qp->ci.owner_context;
	wc->qp_num = qp->ci.qp_num;
	/* release: pairs with the acquire in soft_post_recv(), which will write here again */
	atomic_store_explicit(&qp->rq_cons, cons + 1, memory_order_release);
	if (UNLIKELY(qp->shared))
		ring_received(qp, cons + 1);
	cq_add(r, soft_cq(qp->ci.recv_cq), wc);
}

/* In the Error state: each request once, in order, as soon as its packets are at home. */
static void flush(struct runner *r, struct soft_qp *qp)
{
	struct ib_wc wc = { .status = IB_WC_WR_FLUSH_ERR, .opcode = IB_WC_RECV };

	/* who is told that a request is done may use its memory for something else */
	if (UNLIKELY(qp->stage) && !stage_quiet(qp))
		return;
	comp_flush(r, qp);
	if (UNLIKELY(qp->shared)) /* once: the client can not post faster than we flush */
		ring_fill(qp, UINT32_MAX);
	/* acquire: pairs with the release in soft_post_recv() */
	while (atomic_load_explicit(&qp->rq_cons, memory_order_relaxed) !=
	       atomic_load_explicit(&qp->rq_prod, memory_order_acquire))
		qp_complete_recv(r, qp, &wc);
}

static bool is_request(const struct packet *pkt)
{
	return pkt->kind >= PKT_SEND && pkt->kind <= PKT_FETCH_ADD;
}

/* Could what came off a cable be an answer to us? */
static bool may_answer(struct soft_qp *qp, const struct packet *pkt)
{
	return pkt->service == qp->service->wire && qp_state(qp) >= IB_QPS_RTS &&
	       resp_acceptable(qp, pkt);
}

void qp_receive(struct runner *r, struct soft_qp *qp, struct packet *list)
{
	struct packet *pkt;

	while ((pkt = list)) {
		list = pkt->next;
		if (is_request(pkt)) {
			if (pkt->service == qp->service->wire && qp_state(qp) >= IB_QPS_RTR &&
			    qp_state(qp) != IB_QPS_ERR) {
				resp_queue(qp, pkt);
				continue;
			}
			if (qp->port)
				port_count(qp->port, CNT_RCV_DROPPED, pkt->num);
		} else if (UNLIKELY(pkt->flags & PKT_WIRE) && !may_answer(qp, pkt)) {
			if (qp->port)
				port_count(qp->port, CNT_RCV_DROPPED, pkt->num);
		} else if (pkt->kind != PKT_NONE && qp_state(qp) >= IB_QPS_RTS &&
			   qp_state(qp) != IB_QPS_ERR) {
			pkt_received(qp, pkt);
			if (UNLIKELY(qp->req.copying)) {
				comp_wait(qp, pkt);
				continue;
			}
			comp_response(r, qp, pkt);
		}
		pkt_release(r, qp, pkt);
	}
}

static void take_signals(struct runner *r, struct soft_qp *qp)
{
	/* acquire: pairs with the release in actor_signal(); the announced writes are seen */
	uint32_t signals = atomic_exchange_explicit(&qp->actor->signals, 0, memory_order_acquire);

	if (signals & SIGNAL_CQ_ERROR && qp_state(qp) != IB_QPS_RESET)
		qp_error(r, qp, IB_EVENT_QP_FATAL);
	if (signals & SIGNAL_BAD_SEND && qp_state(qp) != IB_QPS_RESET)
		ring_failed(r, qp, false);
	if (signals & SIGNAL_BAD_RECV && qp_state(qp) != IB_QPS_RESET)
		ring_failed(r, qp, true);
	if (signals & SIGNAL_TIMER && qp_state(qp) >= IB_QPS_RTS && qp_state(qp) != IB_QPS_ERR)
		req_timer(r, qp);
}

/* Send queue drain: everything that was started is done. */
static void check_drained(struct soft_qp *qp)
{
	if (qp->drained ||
	    atomic_load_explicit(&qp->sq_cons, memory_order_relaxed) != qp->req.fresh)
		return;
	qp->drained = true;
	if (qp->en_sqd_async_notify)
		qp_event(qp, IB_EVENT_SQ_DRAINED);
}

/*
 * Something waits for an answer and no timer runs. It is not set again by later packets: when it
 * runs out, progress says whether anything was answered meanwhile. So a loss is noticed after one
 * to two time-outs (IBTA 9.7.6.1.3: up to four).
 */
static void watch(struct soft_qp *qp)
{
	if (qp->req.una == qp->req.next_psn || !qp->attr.timeout || qp->req.waiting ||
	    atomic_load_explicit(&qp->timer.running, memory_order_relaxed))
		return;
	qp->req.progress = false;
	engine_timer(qp->actor->engine, &qp->timer, 4096ull << qp->attr.timeout);
}

static bool pass(struct runner *r, struct actor *a)
{
	struct soft_qp *qp = actor_qp(a);
	struct packet *list = actor_take(qp->actor);
	bool more;

	if (list)
		qp_receive(r, qp, list);
	if (UNLIKELY(atomic_load_explicit(&qp->actor->signals, memory_order_relaxed)))
		take_signals(r, qp);
	if (qp_state(qp) < IB_QPS_RTR)
		return false;
	more = resp_pending(qp) && resp_run(r, qp);
	if (UNLIKELY(qp->req.copying))
		comp_resume(r, qp);
	if (qp_state(qp) >= IB_QPS_RTS && qp_state(qp) != IB_QPS_ERR) {
		comp_retire(r, qp);
		more |= req_run(r, qp);
		if (UNLIKELY(qp_state(qp) == IB_QPS_SQD))
			check_drained(qp);
		watch(qp);
	}
	if (LIKELY(qp_state(qp) < IB_QPS_SQE))
		return more;
	if (qp_state(qp) == IB_QPS_SQE) {
		comp_flush_sends(r, qp);
		return more;
	}
	flush(r, qp);
	return false;
}

static void receive(struct runner *r, struct actor *a, struct packet *list)
{
	qp_receive(r, actor_qp(a), list);
}

static struct packet *recall(struct actor *a, const struct recall *what)
{
	return resp_recall(actor_qp(a), what);
}

const struct actor_ops qp_actor_ops = { .run = pass, .receive = receive, .recall = recall };

/* Ends a control operation's ownership: what has come meanwhile is done. */
static void let_go(struct soft_qp *qp)
{
	struct runner r;

	runner_start(&r);
	runner_add(&r, qp->actor);
	runner_run(&r);
}

/* ------------------------------------------------------------------- modify */

#define TO(state) (1u << IB_QPS_##state)

/* Where a state may lead, as the state is now: IBTA figure 124. */
static const uint8_t transitions[IB_QPS_COUNT] = {
	[IB_QPS_RESET] = TO(RESET) | TO(INIT) | TO(ERR),
	[IB_QPS_INIT] = TO(RESET) | TO(INIT) | TO(RTR) | TO(ERR),
	[IB_QPS_RTR] = TO(RESET) | TO(RTR) | TO(RTS) | TO(ERR),
	[IB_QPS_RTS] = TO(RESET) | TO(RTS) | TO(SQD) | TO(ERR),
	[IB_QPS_SQD] = TO(RESET) | TO(RTS) | TO(SQD) | TO(ERR),
	[IB_QPS_SQE] = TO(RESET) | TO(RTS) | TO(ERR), /* entered by itself only, and never by RC */
	[IB_QPS_ERR] = TO(RESET) | TO(ERR),
};

static uint32_t round_up_pow2(uint32_t n)
{
	uint32_t size = 1;

	while (size < n)
		size <<= 1;
	return size;
}

/* Nodes, send ring and receive ring, once, when the queue pair is first used. */
static al_status carve_rings(struct soft_qp *qp)
{
	const struct ib_qp_cap *cap = &qp->ci.cap;
	uint32_t sq = round_up_pow2(cap->max_send_wr), rq = round_up_pow2(cap->max_recv_wr);
	size_t nodes = (SOFT_REQUEST_NODES + SOFT_RESPONSE_NODES) * sizeof(struct packet);
	uint32_t i, data = cap->max_send_sge * (uint32_t)sizeof(struct ib_sge);
	char *mem;

	if (qp->node_mem)
		return AL_SUCCESS;
	if (alloc_fails(&qp_hca(qp)->alloc))
		return AL_INSUFFICIENT_MEMORY;
	if (data < cap->max_inline_data)
		data = (cap->max_inline_data + 15) & ~15u;
	qp->sq_stride = (uint32_t)sizeof(struct send_wqe) + data;
	if (is_ud(qp))
		qp->sq_stride += (uint32_t)sizeof(struct datagram);
	qp->rq_stride =
		(uint32_t)(sizeof(struct recv_wqe) + cap->max_recv_sge * sizeof(struct ib_sge));
	nodes = (nodes + 63) & ~(size_t)63;
	mem = al_alloc_aligned(64, nodes + (size_t)sq * qp->sq_stride + (size_t)rq * qp->rq_stride);
	if (!mem)
		return AL_INSUFFICIENT_MEMORY;
	qp->node_mem = (struct packet *)mem;
	qp->sq = mem + nodes;
	qp->rq = qp->sq + (size_t)sq * qp->sq_stride;
	qp->sq_mask = sq - 1;
	qp->rq_mask = rq - 1;
	for (i = 0; i < SOFT_REQUEST_NODES + SOFT_RESPONSE_NODES; i++) {
		qp->node_mem[i].home = qp->actor;
		pkt_home(qp, &qp->node_mem[i]);
	}
	return AL_SUCCESS;
}

/* Responder resources: as many as the peer may have reads and atomics outstanding. Those that are
 * remembered stay. */
static al_status carve_resources(struct soft_qp *qp, uint8_t num)
{
	struct resource *old = qp->resp.resources, *new = NULL;
	uint8_t i, keep = num < qp->resp.num_resources ? num : qp->resp.num_resources;

	if (num == qp->resp.num_resources)
		return AL_SUCCESS;
	if (num) {
		new = alloc_fails(&qp_hca(qp)->alloc) ? NULL : al_alloc(num * sizeof(*new));
		if (!new)
			return AL_INSUFFICIENT_MEMORY;
	}
	for (i = 0; i < keep; i++) /* the newest, oldest first */
		new[i] = old[(qp->resp.next_resource + qp->resp.num_resources - keep + i) %
			     qp->resp.num_resources];
	al_free(old);
	qp->resp.resources = new;
	qp->resp.num_resources = num;
	qp->resp.next_resource = num ? keep % num : 0;
	return AL_SUCCESS;
}

/* May this be done, in the state that the owner sees? */
static al_status check_modify(const struct soft_qp *qp, const struct ib_qp_attr *attr,
			      uint32_t mask, ib_qp_state to)
{
	const uint32_t states = IB_QP_STATE | IB_QP_CUR_STATE | IB_QP_EN_SQD_ASYNC_NOTIFY;
	const struct soft_port *port =
		mask & IB_QP_PORT ? hca_port(qp_hca(qp), attr->port_num) : qp->port;

	if (mask & IB_QP_CUR_STATE && attr->cur_qp_state != qp_state(qp))
		return AL_INVALID_STATE;
	if (!(transitions[qp_state(qp)] & 1u << to))
		return AL_INVALID_TRANSITION;
	if (qp_state(qp) == IB_QPS_SQD && !qp->drained && mask & ~states && to != IB_QPS_RESET &&
	    to != IB_QPS_ERR)
		return AL_INVALID_STATE;
	if (mask & IB_QP_PATH_MTU && ib_mtu_bytes(attr->path_mtu) > port->hca->conf.mtu)
		return AL_INVALID_PARAMETER;
	if (mask & (IB_QP_CAP | IB_QP_ALT_PATH | IB_QP_PATH_MIG_STATE) ||
	    (mask & IB_QP_QKEY && !is_ud(qp)))
		return AL_UNSUPPORTED;
	return mask & IB_QP_AV ? ah_check(port, &attr->ah_attr) : AL_SUCCESS;
}

static void find_path(struct soft_qp *qp)
{
	struct route route;

	port_route(qp->port, &qp->to, &route);
	qp->port->link->resolve(qp->port, &route, &qp->path);
}

static void apply_path(struct soft_qp *qp, const struct ib_qp_attr *attr, uint32_t mask)
{
	if (mask & IB_QP_PORT) {
		counters_retire(qp);
		counters_join(qp, hca_port(qp_hca(qp), attr->port_num));
		if (is_ud(qp)) /* which has no path of its own */
			qp->mtu_shift = (uint8_t)__builtin_ctz(qp->port->hca->conf.mtu);
	}
	if (mask & IB_QP_PKEY_INDEX)
		qp->attr.pkey_index = attr->pkey_index;
	if (mask & (IB_QP_PORT | IB_QP_PKEY_INDEX))
		qp->pkey = qp->port->pkeys[qp->attr.pkey_index];
	if (mask & IB_QP_AV) {
		qp->static_rate = attr->ah_attr.static_rate;
		qp->av_port = attr->ah_attr.port_num;
		address_set(&qp->to, &attr->ah_attr);
		qp->global = attr->ah_attr.is_global;
	}
	if (mask & (IB_QP_PORT | IB_QP_AV))
		find_path(qp);
	if (mask & IB_QP_PATH_MTU) {
		qp->path_mtu = (uint8_t)attr->path_mtu;
		qp->mtu_shift = (uint8_t)__builtin_ctz(ib_mtu_bytes(attr->path_mtu));
	}
	if (mask & IB_QP_DEST_QPN)
		qp->dest_qpn = attr->dest_qp_num;
}

static void apply(struct soft_qp *qp, const struct ib_qp_attr *attr, uint32_t mask)
{
	apply_path(qp, attr, mask);
	if (mask & IB_QP_ACCESS_FLAGS)
		qp->attr.qp_access_flags = attr->qp_access_flags;
	if (mask & IB_QP_QKEY)
		qp->attr.qkey = attr->qkey;
	if (mask & IB_QP_EN_SQD_ASYNC_NOTIFY)
		qp->en_sqd_async_notify = attr->en_sqd_async_notify;
	if (mask & IB_QP_TIMEOUT)
		qp->attr.timeout = attr->timeout;
	if (mask & IB_QP_RETRY_CNT)
		qp->req.retry_left = qp->attr.retry_cnt = attr->retry_cnt;
	if (mask & IB_QP_RNR_RETRY)
		qp->req.rnr_left = qp->attr.rnr_retry = attr->rnr_retry;
	if (mask & IB_QP_MAX_QP_RD_ATOMIC)
		qp->attr.max_rd_atomic = attr->max_rd_atomic;
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC)
		qp->attr.max_dest_rd_atomic = attr->max_dest_rd_atomic;
	if (mask & IB_QP_MIN_RNR_TIMER)
		qp->attr.min_rnr_timer = attr->min_rnr_timer;
	if (mask & IB_QP_RQ_PSN)
		qp->resp.epsn = attr->rq_psn & IB_PSN_MASK;
	if (mask & IB_QP_SQ_PSN)
		qp->req.next_psn = qp->req.send_psn = qp->req.una = qp->req.high_psn =
			attr->sq_psn & IB_PSN_MASK;
}

static al_status modify(struct soft_qp *qp, const struct ib_qp_attr *attr, uint32_t mask,
			ib_qp_state to)
{
	ib_qp_state from = qp_state(qp);
	al_status status = check_modify(qp, attr, mask, to);

	if (!status && to == IB_QPS_INIT)
		status = carve_rings(qp);
	if (!status && mask & IB_QP_MAX_DEST_RD_ATOMIC)
		status = carve_resources(qp, attr->max_dest_rd_atomic);
	if (status)
		return status;
	apply(qp, attr, mask);
	if (from == to)
		return AL_SUCCESS;
	IB_TRACE("soft", "modify_qp: qp=%#x state %d to %d", qp->ci.qp_num, from, to);
	qp->drained = false;
	set_state(qp, to);
	return AL_SUCCESS;
}

/* Under the locks of who posts: even one that is refused writes back the index that it has read. */
static void empty_queues(struct soft_qp *qp)
{
	fmutex_lock(&qp->sq_lock);
	fmutex_lock(&qp->rq_lock);
	qp->sq_prod = qp->sq_cons = qp->rq_prod = qp->rq_cons = 0;
	if (UNLIKELY(qp->shared))
		ring_emptied(qp);
	fmutex_unlock(&qp->rq_lock);
	fmutex_unlock(&qp->sq_lock);
}

/* Nothing more is started, what is queued goes home, and what others hold of it is fetched. */
static void reset(struct soft_qp *qp)
{
	struct packet *list;
	struct runner r;

	actor_claim(qp->actor);
	set_state(qp, IB_QPS_RESET);
	runner_start(&r);
	stop(&r, qp);
	runner_add(&r, qp->actor);
	runner_run(&r);

	qp_purge(qp);

	actor_claim(qp->actor);
	runner_start(&r);
	while ((list = actor_take(qp->actor)))
		pkt_release_all(&r, qp, list);
	stage_free(qp);
	req_reset(qp);
	resp_reset(qp);
	empty_queues(qp);
	counters_retire(qp);
	link_hooks->forget(qp);
	memset(&qp->attr, 0, sizeof(qp->attr));
	qp->path_mtu = 0;
	qp->en_sqd_async_notify = false;
	qp->static_rate = qp->av_port = 0;
	memset(&qp->to, 0, sizeof(qp->to));
	qp->path = (struct path){ 0 };
	qp->dest_qpn = 0;
	qp->flow[FLOW_REQUEST] = qp->flow[FLOW_RESPONSE] = 0;
	qp->spared[FLOW_REQUEST] = qp->spared[FLOW_RESPONSE] = 0;
	qp->drained = false;
	cq_clean(soft_cq(qp->ci.send_cq), qp->ci.qp_num);
	cq_clean(soft_cq(qp->ci.recv_cq), qp->ci.qp_num);
	runner_add(&r, qp->actor);
	runner_run(&r);
}

al_status soft_modify_qp(struct ci_qp *ci, const struct ib_qp_attr *attr, uint32_t mask,
			 struct ci_udata *udata)
{
	struct soft_qp *qp = soft_qp(ci);
	struct soft_port *port;
	struct path path;
	ib_qp_state to;
	al_status status;
	struct runner r;
	bool moved;

	(void)udata;
	fmutex_lock(&qp->control);
	if (UNLIKELY(qp->shared))
		ring_catch_up(qp);
	actor_claim(qp->actor);
	runner_start(&r);
	if (UNLIKELY(qp_state(qp) == IB_QPS_SQE)) /* what was posted there is not sent afterwards */
		comp_flush_sends(&r, qp);
	port = qp->port;
	path = qp->path;
	to = mask & IB_QP_STATE ? attr->qp_state : qp_state(qp);
	if (to == IB_QPS_RESET || to == IB_QPS_ERR)
		status = check_modify(qp, attr, mask, to);
	else
		status = modify(qp, attr, mask, to);
	if (!status && to == IB_QPS_ERR)
		status = carve_rings(qp); /* requests are taken there, and flushed */
	if (!status && to == IB_QPS_ERR)
		qp_error(&r, qp, -1);
	moved = path.to != qp->path.to || port != qp->port;
	runner_add(&r, qp->actor);
	runner_run(&r);
	if (moved) /* there are answers of ours, which the end of the queue pair would not find */
		qp_purge_at(qp, &path);
	if (!status && to == IB_QPS_RESET)
		reset(qp);
	if (!status && to == IB_QPS_ERR)
		qp_purge(qp);
	fmutex_unlock(&qp->control);
	return status;
}

static void address_vector(const struct soft_qp *qp, struct ib_ah_attr *attr)
{
	const struct address *to = &qp->to;

	*attr = (struct ib_ah_attr){
		.is_global = to->global,
		.dlid = to->dlid,
		.src_path_bits = to->src_path_bits,
		.sl = to->sl,
		.static_rate = qp->static_rate,
		.port_num = qp->av_port,
	};
	if (!to->global)
		return;
	attr->grh.dgid = to->dgid;
	attr->grh.flow_label = to->class_flow & 0xfffff;
	attr->grh.traffic_class = (uint8_t)(to->class_flow >> 20);
	attr->grh.sgid_index = to->sgid_index;
	attr->grh.hop_limit = to->hop_limit;
}

al_status soft_query_qp(struct ci_qp *ci, struct ib_qp_attr *attr)
{
	struct soft_qp *qp = soft_qp(ci);

	actor_claim(qp->actor);
	*attr = (struct ib_qp_attr){
		.qp_state = qp_state(qp),
		.cur_qp_state = qp_state(qp),
		.path_mtu = (ib_mtu)qp->path_mtu,
		.qkey = qp->attr.qkey,
		.rq_psn = qp->resp.epsn,
		.sq_psn = qp->req.next_psn,
		.dest_qp_num = qp->dest_qpn,
		.qp_access_flags = qp->attr.qp_access_flags,
		.cap = ci->cap,
		.pkey_index = qp->attr.pkey_index,
		.en_sqd_async_notify = qp->en_sqd_async_notify,
		.sq_draining = qp_state(qp) == IB_QPS_SQD && !qp->drained,
		.max_rd_atomic = qp->attr.max_rd_atomic,
		.max_dest_rd_atomic = qp->attr.max_dest_rd_atomic,
		.min_rnr_timer = qp->attr.min_rnr_timer,
		.port_num = qp_port_num(qp),
		.timeout = qp->attr.timeout,
		.retry_cnt = qp->attr.retry_cnt,
		.rnr_retry = qp->attr.rnr_retry,
	};
	address_vector(qp, &attr->ah_attr);
	let_go(qp);
	return AL_SUCCESS;
}

/* --------------------------------------------------------- create, destroy */

static bool over_limits(const struct ib_ca_attr *limit, struct ib_qp_cap *cap)
{
	const struct ib_qp_cap most = {
		.max_send_wr = limit->max_qp_wr,
		.max_recv_wr = limit->max_qp_wr,
		.max_send_sge = limit->max_send_sge,
		.max_recv_sge = limit->max_recv_sge,
		.max_inline_data = limit->max_inline_data,
	};

	if (cap->max_send_wr <= most.max_send_wr && cap->max_recv_wr <= most.max_recv_wr &&
	    cap->max_send_sge <= most.max_send_sge && cap->max_recv_sge <= most.max_recv_sge &&
	    cap->max_inline_data <= most.max_inline_data)
		return false;
	*cap = most;
	return true;
}

static void timed_out(struct timer *timer, struct runner *r)
{
	struct soft_qp *qp = (struct soft_qp *)((char *)timer - offsetof(struct soft_qp, timer));

	actor_signal(r, qp->actor, SIGNAL_TIMER);
}

al_status soft_create_qp(struct ci_qp *ci, struct ci_qp_init *init, struct ci_udata *udata)
{
	struct soft_hca *hca = pd_hca(ci->pd);
	struct soft_qp *qp = soft_qp(ci);
	al_status status;
	void *elem;

	if (!services[init->attr->qp_type].request || ci->srq)
		return AL_UNSUPPORTED;
	if (over_limits(&hca->attr, &init->cap))
		return AL_LIMIT_EXCEEDED;
	status = alloc_fails(&hca->alloc) ? AL_INSUFFICIENT_MEMORY
				  : table_take(&hca->qps, &ci->qp_num, &elem);
	if (status)
		return status;
	ci->cap = init->cap;
	ci->qp_type = init->attr->qp_type;
	ci->sq_sig_all = init->attr->sq_sig_all;
	status = ring_qp_create(qp, udata);
	if (status) {
		table_give(&hca->qps, ci->qp_num);
		return status;
	}
	qp->service = &services[ci->qp_type];
	qp->actor = elem;
	qp->actor->self = qp;
	qp->actor->engine = &hca->engine;
	qp->actor->ops = &qp_actor_ops;
	qp->own = (struct mem_view){ .memory = &hca->memory, .pd = ci->pd };
	qp->lent = (struct mem_view){ &hca->memory, ci->pd, IB_ACCESS_REMOTE_READ };
	qp->atomics = hca->conf.atomics;
	qp->timer.run_out = timed_out;
	resp_reset(qp);
	cq_attach(soft_cq(ci->send_cq), &qp->send_link, qp->actor);
	cq_attach(soft_cq(ci->recv_cq), &qp->recv_link, qp->actor);
	counters_add(qp);
	atomic_store(&qp->actor->signals, 0);
	/* release: all the above is there for whoever owns the actor first */
	atomic_store_explicit(&qp->actor->inbox, INBOX_IDLE, memory_order_release);
	return AL_SUCCESS;
}

void soft_destroy_qp(struct ci_qp *ci)
{
	struct soft_qp *qp = soft_qp(ci);
	struct soft_hca *hca = qp_hca(qp);
	struct runner r;

	if (UNLIKELY(qp->shared))
		ring_qp_detach(qp);
	reset(qp);
	/* before the actor dies: an overflow looks at its links */
	cq_detach(&qp->send_link, soft_cq(ci->send_cq));
	cq_detach(&qp->recv_link, soft_cq(ci->recv_cq));
	actor_claim(qp->actor);
	runner_start(&r);
	do
		pkt_release_all(&r, qp, actor_take(qp->actor));
	while (!actor_kill(qp->actor));
	runner_run(&r);
	counters_remove(qp);
	al_free(qp->resp.resources);
	al_free(qp->node_mem);
	ring_qp_destroy(qp);
	table_give(&hca->qps, ci->qp_num);
}

/* --------------------------------------------------------------------- post */

static void copy_inline(struct send_wqe *wqe, const struct ib_send_wr *wr)
{
	char *to = (char *)wqe->sge;
	uint32_t i;

	for (i = 0; i < wr->num_sge; i++) {
		if (wr->sg_list[i].length)
			memcpy(to, (const void *)(uintptr_t)wr->sg_list[i].addr,
			       wr->sg_list[i].length);
		to += wr->sg_list[i].length;
	}
}

static al_status build_send(struct soft_qp *qp, const struct ib_send_wr *wr, struct send_wqe *wqe)
{
	const struct wr_op *op;
	uint32_t length;
	al_status status = wr_check_send(&qp->ci, wr, &length);

	if (UNLIKELY(status))
		return status;
	op = &wr_ops[wr->opcode];
	wqe->wr_id = wr->wr_id;
	wqe->ex = wr->ex.imm_data;
	wqe->length = length;
	wqe->opcode = (uint8_t)wr->opcode;
	wqe->flags = (uint8_t)(wr->send_flags | (qp->ci.sq_sig_all ? IB_SEND_SIGNALED : 0));
	wqe->num_sge = (uint8_t)wr->num_sge;
	wqe->status = IB_WC_SUCCESS;
	wqe->refs = 0;
	wqe->answered = false;
	if (op->flags & WR_ATOMIC) {
		wqe->remote_addr = wr->wr.atomic.remote_addr;
		wqe->rkey = wr->wr.atomic.rkey;
		wqe->compare_add = wr->wr.atomic.compare_add;
		wqe->swap = wr->wr.atomic.swap;
	} else if (op->flags & WR_REMOTE) {
		wqe->remote_addr = wr->wr.rdma.remote_addr;
		wqe->rkey = wr->wr.rdma.rkey;
	} else if (is_ud(qp)) {
		status = ud_post(qp, wr, wqe);
		if (UNLIKELY(status))
			return status;
	}
	if (wr->send_flags & IB_SEND_INLINE)
		copy_inline(wqe, wr);
	else
		for (uint32_t i = 0; i < wr->num_sge; i++)
			wqe->sge[i] = wr->sg_list[i];
	IB_TRACE("soft", "post_send: WQE built qp=%#x wr_id=%#llx %s %u bytes", qp->ci.qp_num,
		 (unsigned long long)wr->wr_id, op->name, length);
	return AL_SUCCESS;
}

al_status qp_add_send(struct soft_qp *qp, const struct ib_send_wr *wr, uint32_t index)
{
	/* acquire: pairs with the release in comp.c; the slot is no longer read */
	if (UNLIKELY(index - atomic_load_explicit(&qp->sq_cons, memory_order_acquire) >=
		     qp->ci.cap.max_send_wr))
		return AL_QUEUE_FULL;
	return build_send(qp, wr, sq_at(qp, index));
}

void qp_sends_added(struct soft_qp *qp)
{
	struct runner r;

	IB_TRACE("soft", "post_send: doorbell qp=%#x", qp->ci.qp_num);
	runner_start(&r);
	if (!qp_shortcut(&r, qp))
		actor_kick(&r, qp->actor);
	runner_run(&r);
}

al_status soft_post_send(struct ci_qp *ci, const struct ib_send_wr *wr,
			 const struct ib_send_wr **bad)
{
	struct soft_qp *qp = soft_qp(ci);
	al_status status = AL_SUCCESS;
	uint32_t first, prod;

	fmutex_lock(&qp->sq_lock);
	first = prod = atomic_load_explicit(&qp->sq_prod, memory_order_relaxed);
	/* those of a client with rings come from there only */
	if (UNLIKELY(atomic_load_explicit(&qp->state, memory_order_relaxed) < IB_QPS_RTS ||
		     qp->shared))
		status = AL_INVALID_STATE;
	for (; !status && wr; wr = wr->next) {
		status = qp_add_send(qp, wr, prod);
		if (UNLIKELY(status))
			break;
		prod++;
	}
	/* release: pairs with the acquire in req.c */
	atomic_store_explicit(&qp->sq_prod, prod, memory_order_release);
	fmutex_unlock(&qp->sq_lock);
	if (UNLIKELY(status))
		*bad = wr;
	if (prod != first)
		qp_sends_added(qp);
	return status;
}

static al_status build_recv(const struct soft_qp *qp, const struct ib_recv_wr *wr,
			    struct recv_wqe *wqe)
{
	uint32_t length;
	al_status status = wr_check_recv(&qp->ci, wr, &length);

	if (UNLIKELY(status))
		return status;
	wqe->wr_id = wr->wr_id;
	wqe->length = length;
	wqe->num_sge = wr->num_sge;
	if (wr->num_sge)
		memcpy(wqe->sge, wr->sg_list, wr->num_sge * sizeof(*wr->sg_list));
	IB_TRACE("soft", "post_recv: WQE built qp=%#x wr_id=%#llx %u bytes", qp->ci.qp_num,
		 (unsigned long long)wr->wr_id, wqe->length);
	return AL_SUCCESS;
}

al_status qp_add_recv(struct soft_qp *qp, const struct ib_recv_wr *wr, uint32_t index)
{
	/* acquire: pairs with the release in qp_complete_recv(); the slot is no longer read */
	if (UNLIKELY(index - atomic_load_explicit(&qp->rq_cons, memory_order_acquire) >=
		     qp->ci.cap.max_recv_wr))
		return AL_QUEUE_FULL;
	return build_recv(qp, wr, rq_at(qp, index));
}

al_status soft_post_recv(struct ci_qp *ci, const struct ib_recv_wr *wr,
			 const struct ib_recv_wr **bad)
{
	struct soft_qp *qp = soft_qp(ci);
	al_status status = AL_SUCCESS;
	struct runner r;
	uint32_t prod;
	bool failed;

	fmutex_lock(&qp->rq_lock);
	prod = atomic_load_explicit(&qp->rq_prod, memory_order_relaxed);
	if (UNLIKELY(atomic_load_explicit(&qp->state, memory_order_relaxed) == IB_QPS_RESET ||
		     qp->shared))
		status = AL_INVALID_STATE;
	for (; !status && wr; wr = wr->next) {
		status = qp_add_recv(qp, wr, prod);
		if (UNLIKELY(status))
			break;
		prod++;
	}
	/* release: pairs with the acquire in resp.c */
	atomic_store_explicit(&qp->rq_prod, prod, memory_order_release);
	failed = atomic_load_explicit(&qp->state, memory_order_relaxed) == IB_QPS_ERR;
	fmutex_unlock(&qp->rq_lock);
	if (UNLIKELY(status))
		*bad = wr;
	if (LIKELY(!failed))
		return status;
	/* flushed at once; otherwise a receive is looked at when a message comes */
	runner_start(&r);
	actor_kick(&r, qp->actor);
	runner_run(&r);
	return status;
}
