/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Operations of queue pairs: create, modify, query, destroy. The Access Layer has checked transition and attributes
 * against the state that the Access Layer saw; the queue pair may have changed its state by itself since. Posts are
 * in post.c, and the transport is in transport/.
 */
#include <string.h>

#include "hca/soft/base/table.h"
#include "hca/soft/client/rings.h"
#include "hca/soft/engine/engine.h"
#include "hca/soft/link/hooks.h"
#include "hca/soft/link/link.h"
#include "hca/soft/memory/errand.h"
#include "hca/soft/object/hca.h"
#include "hca/soft/packet/packet.h"
#include "hca/soft/port/port.h"
#include "hca/soft/queue/cq.h"
#include "hca/soft/shared/base.h"
#include "hca/soft/shared/lock.h"
#include "hca/soft/transport/qp.h"
#include "hca/soft/transport/stage.h"

/* Ends a control operation's ownership of the actor, after handling packets and kicks that came meanwhile. */
static void release_actor(struct soft_qp *qp)
{
	struct runner r;

	runner_start(&r);
	runner_add(&r, qp->actor);
	runner_run(&r);
}

/* ------------------------------------------------------------------- modify */

#define TO(state) (1u << IB_QPS_##state)

/* The states that a modify may set, by the current state: IBTA figure 124. */
static const uint8_t transitions[IB_QPS_COUNT] = {
	[IB_QPS_RESET] = TO(RESET) | TO(INIT) | TO(ERR),
	[IB_QPS_INIT] = TO(RESET) | TO(INIT) | TO(RTR) | TO(ERR),
	[IB_QPS_RTR] = TO(RESET) | TO(RTR) | TO(RTS) | TO(ERR),
	[IB_QPS_RTS] = TO(RESET) | TO(RTS) | TO(SQD) | TO(ERR),
	[IB_QPS_SQD] = TO(RESET) | TO(RTS) | TO(SQD) | TO(ERR),
	[IB_QPS_SQE] = TO(RESET) | TO(RTS) | TO(ERR), /* no modify enters SQE; RC never enters SQE */
	[IB_QPS_ERR] = TO(RESET) | TO(ERR),
};

static uint32_t round_up_pow2(uint32_t n)
{
	uint32_t size = 1;

	while (size < n)
		size <<= 1;
	return size;
}

/* Allocates nodes, send ring and receive ring, when the queue pair first leaves Reset. */
static al_status alloc_rings(struct soft_qp *qp)
{
	const struct ib_qp_cap *cap = &qp->ci.cap;
	uint32_t sq = round_up_pow2(cap->max_send_wr), rq = round_up_pow2(cap->max_recv_wr);
	size_t nodes = (SOFT_REQUEST_NODES + SOFT_RESPONSE_NODES) * sizeof(struct packet);
	uint32_t i, data = cap->max_send_sge * (uint32_t)sizeof(struct ib_sge);
	char *mem;

	if (qp->conn.node_mem)
		return AL_SUCCESS;
	if (alloc_fails(&qp_hca(qp)->alloc))
		return AL_INSUFFICIENT_MEMORY;
	if (data < cap->max_inline_data)
		data = (cap->max_inline_data + 15) & ~15u;
	qp->sq.stride = (uint32_t)sizeof(struct send_wqe) + data;
	qp->rq.stride =
		(uint32_t)(sizeof(struct recv_wqe) + cap->max_recv_sge * sizeof(struct ib_sge));
	nodes = (nodes + 63) & ~(size_t)63;
	mem = al_alloc_aligned(64, nodes + (size_t)sq * qp->sq.stride + (size_t)rq * qp->rq.stride);
	if (!mem)
		return AL_INSUFFICIENT_MEMORY;
	qp->conn.node_mem = (struct packet *)mem;
	qp->sq.mem = mem + nodes;
	qp->rq.mem = qp->sq.mem + (size_t)sq * qp->sq.stride;
	qp->sq.mask = sq - 1;
	qp->rq.mask = rq - 1;
	for (i = 0; i < SOFT_REQUEST_NODES + SOFT_RESPONSE_NODES; i++) {
		qp->conn.node_mem[i].home = qp->actor;
		pkt_take_home(qp, &qp->conn.node_mem[i]);
	}
	return AL_SUCCESS;
}

/*
 * Allocates num responder resources: the peer may have so many reads and atomics outstanding. The newest recorded
 * resources survive.
 */
static al_status alloc_resources(struct soft_qp *qp, uint8_t num)
{
	struct resource *old = qp->conn.resp.resources, *new = NULL;
	uint8_t i, keep = num < qp->conn.resp.num_resources ? num : qp->conn.resp.num_resources;

	if (num == qp->conn.resp.num_resources)
		return AL_SUCCESS;
	if (num) {
		new = alloc_fails(&qp_hca(qp)->alloc) ? NULL : al_alloc(num * sizeof(*new));
		if (!new)
			return AL_INSUFFICIENT_MEMORY;
	}
	for (i = 0; i < keep; i++) /* the newest resources, oldest of them first */
		new[i] =
			old[(qp->conn.resp.next_resource + qp->conn.resp.num_resources - keep + i) %
			    qp->conn.resp.num_resources];
	al_free(old);
	qp->conn.resp.resources = new;
	qp->conn.resp.num_resources = num;
	qp->conn.resp.next_resource = num ? keep % num : 0;
	return AL_SUCCESS;
}

/* Checks a modify against the state that the owner sees. */
static al_status check_modify(const struct soft_qp *qp, const struct ib_qp_attr *attr,
			      uint32_t mask, ib_qp_state to)
{
	const uint32_t states = IB_QP_STATE | IB_QP_CUR_STATE | IB_QP_EN_SQD_ASYNC_NOTIFY;
	const struct soft_port *port =
		mask & IB_QP_PORT ? hca_port(qp_hca(qp), attr->port_num) : qp->conn.source.port;

	if (mask & IB_QP_CUR_STATE && attr->cur_qp_state != qp_state(qp))
		return ib_refuse(AL_INVALID_STATE,
				 "cur_qp_state is %s, and the queue pair is in %s",
				 qp_state_name(attr->cur_qp_state), qp_state_name(qp_state(qp)));
	if (!(transitions[qp_state(qp)] & 1u << to))
		return ib_refuse(
			AL_INVALID_TRANSITION,
			"the queue pair went to %s by itself, from which it does not go to %s",
			qp_state_name(qp_state(qp)), qp_state_name(to));
	if (qp_state(qp) == IB_QPS_SQD && !qp->conn.attr.drained && mask & ~states &&
	    to != IB_QPS_RESET && to != IB_QPS_ERR)
		return ib_refuse(
			AL_INVALID_STATE,
			"the queue pair is still draining; wait for the event of the drained send queue");
	if (mask & IB_QP_PATH_MTU && ib_mtu_bytes(attr->path_mtu) > port->ports->mtu)
		return ib_refuse(AL_INVALID_PARAMETER,
				 "path_mtu is %u bytes, and the port's MTU is %u",
				 ib_mtu_bytes(attr->path_mtu), port->ports->mtu);
	if (mask & IB_QP_CAP)
		return ib_refuse(AL_UNSUPPORTED, "the HCA resizes no queue pairs (cap)");
	if (mask & (IB_QP_ALT_PATH | IB_QP_PATH_MIG_STATE))
		return ib_refuse(
			AL_UNSUPPORTED,
			"the HCA has no automatic path migration (alt_ah_attr, path_mig_state)");
	if (mask & IB_QP_QKEY && !is_ud(qp))
		return ib_refuse(AL_UNSUPPORTED, "the HCA has Q_Keys for datagrams only");
	return mask & IB_QP_AV ? ah_check(port, &attr->ah_attr) : AL_SUCCESS;
}

static void join_port(struct soft_qp *qp, struct soft_port *port)
{
	qp->conn.source.port = port;
	if (qp->conn.mcast)
		atomic_store_explicit(&qp->conn.mcast->port, port->number, memory_order_relaxed);
	counters_join(port, &qp->counted, &qp->conn.source.traffic);
}

/* Detaches the queue pair from its port. The port's counters keep the queue pair's traffic. */
static void leave_port(struct soft_qp *qp)
{
	struct source *src = &qp->conn.source;

	if (!src->port)
		return;
	if (qp->conn.mcast)
		atomic_store_explicit(&qp->conn.mcast->port, 0, memory_order_relaxed);
	link_hooks->forget(src);
	counters_retire(src->port, &qp->counted);
	src->port = NULL;
}

static void apply_path(struct soft_qp *qp, const struct ib_qp_attr *attr, uint32_t mask)
{
	if (mask & IB_QP_PORT) {
		leave_port(qp);
		join_port(qp, hca_port(qp_hca(qp), attr->port_num));
		if (is_ud(qp)) /* UD has no path MTU: the port's MTU limits a datagram */
			qp->conn.source.mtu_shift =
				(uint8_t)__builtin_ctz(qp->conn.source.port->ports->mtu);
	}
	if (mask & IB_QP_PKEY_INDEX)
		qp->conn.source.pkey_index = (uint8_t)attr->pkey_index;
	if (mask & IB_QP_AV) {
		qp->conn.static_rate = attr->ah_attr.static_rate;
		qp->conn.av_port = attr->ah_attr.port_num;
		address_set(&qp->conn.to, &attr->ah_attr);
		qp->conn.attr.global = attr->ah_attr.is_global;
	}
	if (mask & (IB_QP_PORT | IB_QP_AV))
		qp_find_path(qp);
	if (mask & IB_QP_PATH_MTU) {
		qp->conn.path_mtu = (uint8_t)attr->path_mtu;
		qp->conn.source.mtu_shift = (uint8_t)__builtin_ctz(ib_mtu_bytes(attr->path_mtu));
	}
	if (mask & IB_QP_DEST_QPN)
		qp->conn.source.dest_qpn = attr->dest_qp_num;
}

static void set_send_psn(struct requester *req, uint32_t psn)
{
	req->next_psn = psn;
	req->send_psn = psn;
	req->una = psn;
	req->high_psn = psn;
}

static void apply_attr(struct soft_qp *qp, const struct ib_qp_attr *attr, uint32_t mask)
{
	apply_path(qp, attr, mask);
	if (mask & IB_QP_ACCESS_FLAGS)
		qp->conn.attr.qp_access_flags = attr->qp_access_flags;
	if (mask & IB_QP_QKEY)
		qp->conn.attr.qkey = attr->qkey;
	if (mask & IB_QP_EN_SQD_ASYNC_NOTIFY)
		qp->conn.en_sqd_async_notify = attr->en_sqd_async_notify;
	if (mask & IB_QP_TIMEOUT)
		qp->conn.attr.timeout = attr->timeout;
	if (mask & IB_QP_RETRY_CNT) {
		qp->conn.attr.retry_cnt = attr->retry_cnt;
		qp->conn.req.retry_left = attr->retry_cnt;
	}
	if (mask & IB_QP_RNR_RETRY) {
		qp->conn.attr.rnr_retry = attr->rnr_retry;
		qp->conn.req.rnr_left = attr->rnr_retry;
	}
	if (mask & IB_QP_MAX_QP_RD_ATOMIC)
		qp->conn.attr.max_rd_atomic = attr->max_rd_atomic;
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC)
		qp->conn.max_dest_rd_atomic = attr->max_dest_rd_atomic;
	if (mask & IB_QP_MIN_RNR_TIMER)
		qp->conn.attr.min_rnr_timer = attr->min_rnr_timer;
	if (mask & IB_QP_RQ_PSN)
		qp->conn.resp.epsn = attr->rq_psn & IB_PSN_MASK;
	if (mask & IB_QP_SQ_PSN)
		set_send_psn(&qp->conn.req, attr->sq_psn & IB_PSN_MASK);
}

/*
 * Applies a modify that leads neither to Reset nor to Error. The caller owns the actor. On failure nothing has
 * changed.
 */
static al_status modify(struct soft_qp *qp, const struct ib_qp_attr *attr, uint32_t mask,
			ib_qp_state to)
{
	ib_qp_state from = qp_state(qp);
	al_status status = check_modify(qp, attr, mask, to);

	if (!status && to == IB_QPS_INIT)
		status = alloc_rings(qp);
	if (!status && mask & IB_QP_MAX_DEST_RD_ATOMIC)
		status = alloc_resources(qp, attr->max_dest_rd_atomic);
	if (status)
		return status;
	apply_attr(qp, attr, mask);
	if (from == to)
		return AL_SUCCESS;
	IB_TRACE("soft", "modify_qp: qp=%#x state %d to %d", qp->ci.qp_num, from, to);
	qp->conn.attr.drained = false;
	qp_set_state(qp, to);
	return AL_SUCCESS;
}

/* Empties both queues under their locks, because even a refused post writes back the index that the post has read. */
static void empty_queues(struct soft_qp *qp)
{
	fmutex_lock(&qp->sq.lock);
	fmutex_lock(&qp->rq.lock);
	qp->sq.prod = 0;
	qp->sq.cons = 0;
	qp->rq.prod = 0;
	qp->rq.cons = 0;
	if (UNLIKELY(qp->shared))
		ring_emptied(qp);
	fmutex_unlock(&qp->rq.lock);
	fmutex_unlock(&qp->sq.lock);
}

/*
 * Moves the queue pair to Reset: stops the transport, brings all its nodes home, and clears queues, attributes and
 * the queue pair's completions. The caller holds qp->control and does not own the actor.
 */
static void reset(struct soft_qp *qp)
{
	struct packet *list;
	struct runner r;

	actor_claim(qp->actor);
	qp_set_state(qp, IB_QPS_RESET);
	runner_start(&r);
	qp_stop(&r, qp);
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
	leave_port(qp);
	memset(&qp->conn.attr, 0, sizeof(qp->conn.attr));
	qp->conn.path_mtu = qp->conn.max_dest_rd_atomic = 0;
	qp->conn.en_sqd_async_notify = false;
	qp->conn.static_rate = qp->conn.av_port = 0;
	memset(&qp->conn.to, 0, sizeof(qp->conn.to));
	qp->conn.source.path = (struct path){ 0 };
	qp->conn.source.dest_qpn = 0;
	qp->conn.source.pkey_index = 0;
	qp->conn.source.flow[FLOW_REQUEST] = qp->conn.source.flow[FLOW_RESPONSE] = 0;
	qp->conn.source.spared[FLOW_REQUEST] = qp->conn.source.spared[FLOW_RESPONSE] = 0;
	cq_clean(soft_cq(qp->ci.send_cq), qp->ci.qp_num, qp->special_port);
	cq_clean(soft_cq(qp->ci.recv_cq), qp->ci.qp_num, qp->special_port);
	runner_add(&r, qp->actor);
	runner_run(&r);
}

al_status soft_modify_qp(struct ci_qp *ci, const struct ib_qp_attr *attr, uint32_t mask,
			 struct ci_udata *udata)
{
	struct soft_qp *qp = soft_qp(ci);
	struct ib_qp_attr values = *attr;
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
	if (UNLIKELY(qp_state(qp) == IB_QPS_SQE)) /* a send posted in SQE is flushed, not sent */
		comp_flush_sends(&r, qp);
	port = qp->conn.source.port;
	path = qp->conn.source.path;
	to = mask & IB_QP_STATE ? attr->qp_state : qp_state(qp);
	if (is_special(qp) && qp_state(qp) == IB_QPS_RESET && to == IB_QPS_INIT) {
		values.port_num =
			qp->special_port; /* the port that a special queue pair was made for */
		mask |= IB_QP_PORT;
	}
	if (to == IB_QPS_RESET || to == IB_QPS_ERR)
		status = check_modify(qp, attr, mask, to);
	else
		status = modify(qp, &values, mask, to);
	if (!status && to == IB_QPS_ERR)
		status = alloc_rings(qp); /* Error accepts posts, and flushes them */
	if (!status && to == IB_QPS_ERR)
		qp_error(&r, qp, NO_EVENT);
	moved = port && (path.to != qp->conn.source.path.to || port != qp->conn.source.port);
	runner_add(&r, qp->actor);
	runner_run(&r);
	if (moved) /* the old peer may hold answers of ours, which no later recall would find */
		qp_purge_at(qp, port);
	if (!status && to == IB_QPS_RESET)
		reset(qp);
	if (!status && to == IB_QPS_ERR)
		qp_purge(qp);
	fmutex_unlock(&qp->control);
	return status;
}

/* Converts the connection's address back to an address vector. */
static void fill_address_vector(const struct soft_qp *qp, struct ib_ah_attr *attr)
{
	const struct address *to = &qp->conn.to;

	*attr = (struct ib_ah_attr){
		.is_global = to->global,
		.dlid = to->dlid,
		.src_path_bits = to->src_path_bits,
		.sl = to->sl,
		.static_rate = qp->conn.static_rate,
		.port_num = qp->conn.av_port,
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
		.path_mtu = (ib_mtu)qp->conn.path_mtu,
		.qkey = qp->conn.attr.qkey,
		.rq_psn = qp->conn.resp.epsn,
		.sq_psn = qp->conn.req.next_psn,
		.dest_qp_num = qp->conn.source.dest_qpn,
		.qp_access_flags = qp->conn.attr.qp_access_flags,
		.cap = ci->cap,
		.pkey_index = qp->conn.source.pkey_index,
		.en_sqd_async_notify = qp->conn.en_sqd_async_notify,
		.sq_draining = qp_state(qp) == IB_QPS_SQD && !qp->conn.attr.drained,
		.max_rd_atomic = qp->conn.attr.max_rd_atomic,
		.max_dest_rd_atomic = qp->conn.max_dest_rd_atomic,
		.min_rnr_timer = qp->conn.attr.min_rnr_timer,
		.port_num = is_special(qp) ? qp->special_port : qp_port_num(qp),
		.timeout = qp->conn.attr.timeout,
		.retry_cnt = qp->conn.attr.retry_cnt,
		.rnr_retry = qp->conn.attr.rnr_retry,
		.retries_left = qp->conn.req.retry_left,
		.rnr_retries_left = qp->conn.req.rnr_left,
		.has_usage = true,
		.send_outstanding = sq_count(&qp->sq),
		.recv_outstanding = rq_count(&qp->rq),
	};
	fill_address_vector(qp, &attr->ah_attr);
	release_actor(qp);
	return AL_SUCCESS;
}

/* --------------------------------------------------------- create, destroy */

/* Checks capabilities against the HCA's limits. True: some are too large, and *cap is set to the limits. */
static bool exceeds_limits(const struct ib_ca_attr *limit, struct ib_qp_cap *cap)
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

/* The timer's callback: signals the queue pair, whose owner calls req_time_out(). */
static void signal_time_out(struct timer *timer, struct runner *r)
{
	struct soft_qp *qp =
		(struct soft_qp *)((char *)timer - offsetof(struct soft_qp, conn.timer));

	actor_signal(r, qp->actor, SIGNAL_TIMER);
}

/* Makes a queue pair whose number the caller has reserved. actor: the number's actor. */
static al_status create(struct ci_qp *ci, struct ci_qp_init *init, struct actor *actor,
			struct ci_udata *udata)
{
	struct soft_hca *hca = pd_hca(ci->pd);
	struct soft_qp *qp = soft_qp(ci);
	al_status status;

	ci->cap = init->cap;
	ci->qp_type = init->attr->qp_type;
	ci->sq_sig_all = init->attr->sq_sig_all;
	status = ring_qp_create(qp, udata);
	if (status)
		return status;
	qp->service = &services[ci->qp_type];
	qp->conn.source.qpn = ci->qp_num;
	qp->conn.source.service = qp->service->wire;
	qp->actor = actor;
	qp->actor->self = qp;
	qp->actor->engine = hca->engine;
	qp->actor->ops = &qp_actor_ops;
	qp->conn.own = (struct mem_view){ .memory = &hca->memory, .pd = ci->pd };
	qp->conn.lent = (struct mem_view){ &hca->memory, ci->pd, IB_ACCESS_REMOTE_READ };
	qp->blocks_own = init->attr->block_mcast_loopback;
	qp->atomics = hca->conf.atomics;
	qp->conn.timer.run_out = signal_time_out;
	resp_reset(qp);
	cq_attach(soft_cq(ci->send_cq), &qp->send_link, qp->actor);
	cq_attach(soft_cq(ci->recv_cq), &qp->recv_link, qp->actor);
	atomic_store(&qp->actor->signals, 0);
	/* release: pairs with the acquire by which the first owner takes the actor, and sees all members */
	atomic_store_explicit(&qp->actor->inbox, INBOX_IDLE, memory_order_release);
	return AL_SUCCESS;
}

/* Checks what soft_create_qp() and soft_create_spl_qp() have in common, and asks whether an
 * allocation is to fail. */
static al_status check_create(const struct ci_qp *ci, struct ci_qp_init *init)
{
	struct soft_hca *hca = pd_hca(ci->pd);

	if (!services[init->attr->qp_type].request)
		return ib_refuse(AL_UNSUPPORTED, "the HCA has no queue pairs of the type %s",
				 qp_type_name(init->attr->qp_type));
	if (ci->srq)
		return ib_refuse(AL_UNSUPPORTED, "the HCA has no shared receive queues");
	if (exceeds_limits(&hca->attr, &init->cap))
		return ib_refuse(AL_LIMIT_EXCEEDED,
				 "the queues are larger than the HCA's limits, which cap now has");
	return alloc_fails(&hca->alloc) ? AL_INSUFFICIENT_MEMORY : AL_SUCCESS;
}

al_status soft_create_qp(struct ci_qp *ci, struct ci_qp_init *init, struct ci_udata *udata)
{
	struct soft_hca *hca = pd_hca(ci->pd);
	al_status status = check_create(ci, init);
	void *elem;

	if (!status)
		status = table_take(&hca->qps, &ci->qp_num, &elem);
	if (status)
		return status;
	status = create(ci, init, elem, udata);
	if (status)
		table_give(&hca->qps, ci->qp_num);
	return status;
}

al_status soft_create_spl_qp(struct ci_qp *ci, uint8_t port_num, struct ci_qp_init *init,
			     struct ci_udata *udata)
{
	struct soft_port *port = hca_port(pd_hca(ci->pd), port_num);
	al_status status = check_create(ci, init);

	if (!status && port->ethernet && init->attr->qp_type == IB_QPT_SMI)
		status = ib_refuse(AL_UNSUPPORTED, "port %u is Ethernet, and has no queue pair QP0",
				   port_num);
	if (status)
		return status;
	ci->qp_num = init->attr->qp_type == IB_QPT_GSI;
	if (atomic_exchange(&port->special_used[ci->qp_num], true))
		return ib_refuse(AL_RESOURCE_BUSY, "port %u has its queue pair QP%u already",
				 port_num, ci->qp_num);
	status = create(ci, init, &port->special[ci->qp_num], udata);
	if (status)
		atomic_store(&port->special_used[ci->qp_num], false);
	else
		soft_qp(ci)->special_port = port_num;
	return status;
}

void soft_destroy_qp(struct ci_qp *ci)
{
	struct soft_qp *qp = soft_qp(ci);
	struct soft_hca *hca = qp_hca(qp);
	struct runner r;

	if (qp->conn.mcast)
		mcast_detach_all(&hca->ports.mcast, qp->conn.mcast);
	if (UNLIKELY(qp->shared))
		ring_qp_detach(qp);
	reset(qp);
	/* before the actor dies: an overflow of a completion queue signals the actors of its links */
	cq_detach(&qp->send_link, soft_cq(ci->send_cq));
	cq_detach(&qp->recv_link, soft_cq(ci->recv_cq));
	actor_claim(qp->actor);
	runner_start(&r);
	do
		pkt_release_all(&r, qp, actor_take(qp->actor));
	while (!actor_kill(qp->actor));
	runner_run(&r);
	al_free(qp->conn.resp.resources);
	al_free(qp->conn.node_mem);
	al_free(qp->conn.mcast);
	ring_qp_destroy(qp);
	if (is_special(qp))
		atomic_store(&hca_port(hca, qp->special_port)->special_used[ci->qp_num], false);
	else
		table_give(&hca->qps, ci->qp_num);
}
