/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The shortcut that most messages take on the loop link. A message qualifies if the message is one train, all earlier
 * packets are acknowledged, and the peer is idle and expects the message's PSN. The effects of the packets and of
 * their ACK on both queue pairs are then known. The thread that owns the sender takes ownership of the peer too, and
 * applies these effects at once: the checks, PSNs, counters and completions are those of packets. A message that does
 * not qualify changes nothing here and goes by packets.
 */
#include <string.h>

#include "hca/soft/base/table.h"
#include "hca/soft/engine/engine.h"
#include "hca/soft/link/hooks.h"
#include "hca/soft/link/link.h"
#include "hca/soft/memory/mr.h"
#include "hca/soft/packet/packet.h"
#include "hca/soft/port/port.h"
#include "hca/soft/shared/base.h"
#include "hca/soft/shared/opcode.h"
#include "hca/soft/transport/qp.h"

/*
 * Returns the peer's actor if packets and ACKs pass directly between both queue pairs, unobserved
 * by hooks. NULL otherwise.
 */
static struct actor *near_peer(struct soft_qp *qp)
{
	const struct soft_port *port = qp->conn.source.port;

	qp_follow_path(qp);
	if (port_state(port) != IB_PORT_ACTIVE || link_watched())
		return NULL;
	return port->link->near(&qp->conn.source.path, qp->conn.source.dest_qpn);
}

/* Checks that a message is a SEND or write of one train, with payload in a single piece. */
static bool is_simple(const struct send_wqe *wqe)
{
	return (wqe->wr.opcode == IB_WR_SEND || wqe->wr.opcode == IB_WR_RDMA_WRITE) && wqe->wr.length &&
	       wqe->wr.length <= SOFT_TRAIN_BYTES &&
	       (wqe->wr.num_sge == 1 || wqe->wr.flags & IB_SEND_INLINE);
}

/* True: packets of a queue pair have a lane to the port of the peer, and the lane operates there.
 */
static bool lane_leads(const struct soft_qp *from, const struct soft_qp *to)
{
	const uint8_t lane = lanes_choose(&from->conn.source.port->lanes, from->conn.to.sl);

	return lane_operates(&to->conn.source.port->lanes, lane);
}

/* True: a queue pair takes packets of its peer for the peer's, by the address that they come from. */
static bool is_peer_of(const struct soft_qp *peer, const struct soft_qp *qp)
{
	const struct soft_port *port = peer->conn.source.port;
	struct route route;

	if (LIKELY(!port->ethernet))
		return path_is_from(&qp->conn.source.path, port_lid(port));
	port_route(port, &peer->conn.to, &route);
	return resp_is_from_peer(qp, &route);
}

/* Checks that the peer would execute the message's first packet at once: state, PSN, path, partition and MTU fit. */
static bool peer_expects(struct soft_qp *peer, const struct soft_qp *qp)
{
	qp_follow_path(peer);
	return qp_state(peer) >= IB_QPS_RTR && qp_state(peer) != IB_QPS_ERR &&
	       peer->service == qp->service && peer->conn.resp.established &&
	       peer->conn.resp.epsn == qp->conn.req.next_psn && peer->conn.resp.kind == PKT_NONE &&
	       !resp_pending(peer) && lane_leads(qp, peer) && lane_leads(peer, qp) &&
	       is_peer_of(peer, qp) && is_peer_of(qp, peer) &&
	       peer->conn.source.dest_qpn == qp->ci.qp_num &&
	       source_pkey(&peer->conn.source) == source_pkey(&qp->conn.source) &&
	       peer->conn.source.mtu_shift == qp->conn.source.mtu_shift &&
	       source_pkey(&qp->conn.source) & IB_PKEY_FULL_MEMBER;
}

/* Checks that no fault rule meets the message's num packets or their ACK. */
static bool faults_spare(struct soft_qp *qp, struct soft_qp *peer, const struct send_wqe *wqe,
			 uint32_t num)
{
	const uint32_t last = psn_add(qp->conn.req.next_psn, num - 1);

	return (LIKELY(!port_faulty(qp->conn.source.port)) ||
		link_hooks->passes(&qp->conn.source,
				   &(struct stretch){ qp->conn.source.flow[FLOW_REQUEST] + 1,
						      qp->conn.req.next_psn, num,
						      wr_ops[wqe->wr.opcode].kind, PLACE_ONLY,
						      FLOW_REQUEST })) &&
	       (LIKELY(!port_faulty(peer->conn.source.port)) ||
		link_hooks->passes(&peer->conn.source,
				   &(struct stretch){ peer->conn.source.flow[FLOW_RESPONSE] + 1,
						      last, 1, PKT_ACK, PLACE_ONLY,
						      FLOW_RESPONSE }));
}

/*
 * Returns the memory region that the message goes to, and its address in *mem. NULL: access is
 * refused, no receive is posted, or the target is not a single piece that is large enough.
 */
static const struct mr_slot *find_target(struct soft_qp *peer, const struct send_wqe *wqe,
					 char **mem)
{
	struct mem_view view = { peer->conn.own.memory, peer->ci.pd, IB_ACCESS_REMOTE_WRITE };
	const struct recv_wqe *recv;

	if (wqe->wr.opcode == IB_WR_RDMA_WRITE) {
		if (!(peer->conn.attr.qp_access_flags & IB_ACCESS_REMOTE_WRITE))
			return NULL;
		return mr_find(&view, wqe->wr.key, wqe->wr.remote.addr, wqe->wr.length, mem);
	}
	recv = resp_take_recv(peer);
	if (!recv || recv->wr.num_sge != 1 || recv->wr.length < wqe->wr.length)
		return NULL;
	view.access = IB_ACCESS_LOCAL_WRITE;
	return mr_find(&view, recv->sge[0].lkey, recv->sge[0].addr, recv->sge[0].length, mem);
}

/*
 * Copies the message from the sender's to the peer's memory. False: nothing was copied, and the message goes by
 * packets.
 */
static bool copy_message(const struct soft_qp *qp, struct soft_qp *peer, const struct send_wqe *wqe)
{
	const struct mem_view view = { .memory = qp->conn.own.memory, .pd = qp->ci.pd };
	const struct mr_slot *to_slot, *from_slot = NULL;
	char *to, *from = (char *)wqe->sge;

	to_slot = find_target(peer, wqe, &to);
	if (!to_slot)
		return false;
	if (!(wqe->wr.flags & IB_SEND_INLINE)) {
		from_slot =
			mr_find(&view, wqe->sge[0].lkey, wqe->sge[0].addr, wqe->wr.length, &from);
		if (!from_slot)
			return false;
	}
	if (to_slot->client ||
	    (from_slot && from_slot->client)) /* only an errand may touch a client's memory */
		return false;
	memmove(to, from, wqe->wr.length); /* source and target may overlap */
	return true;
}

/* Applies the effects of the message's num packets to the peer's responder. */
static void update_receiver(struct runner *r, struct soft_qp *peer, const struct send_wqe *wqe,
			    uint32_t num)
{
	struct ib_wc wc;

	peer->conn.resp.nak_sent = false;
	peer->conn.resp.epsn = psn_add(peer->conn.resp.epsn, num);
	peer->conn.resp.msn = psn_add(peer->conn.resp.msn, 1);
	peer->conn.source.flow[FLOW_RESPONSE]++;
	if (wqe->wr.opcode != IB_WR_SEND)
		return;
	wc = (struct ib_wc){
		.opcode = IB_WC_RECV,
		.byte_len = wqe->wr.length,
		.wc_flags = wqe->wr.flags & IB_SEND_SOLICITED ? IB_WC_SOLICITED : 0,
	};
	qp_complete_recv(r, peer, &wc);
}

/* Applies the effects of the message's num packets and of their ACK to the sender's requester. */
static void update_sender(struct soft_qp *qp, struct send_wqe *wqe, uint32_t num)
{
	uint32_t next_psn = psn_add(qp->conn.req.next_psn, num);

	wqe->first_psn = qp->conn.req.next_psn;
	wqe->last_psn = psn_sub(next_psn, 1);
	qp->conn.source.flow[FLOW_REQUEST] += num;
	qp->conn.req.next++;
	qp->conn.req.fresh++;
	qp->conn.req.acked++;
	qp->conn.req.next_psn = next_psn;
	qp->conn.req.send_psn = next_psn;
	qp->conn.req.high_psn = next_psn;
	qp->conn.req.una = next_psn;
	qp->conn.req.progress = true;
	qp->conn.req.implied_retry = false;
	qp->conn.req.retry_left = qp->conn.attr.retry_cnt;
	qp->conn.req.rnr_left = qp->conn.attr.rnr_retry;
}

/* Counts the message's num packets and their ACK in the traffic counters of both queue pairs. */
static void count_traffic(struct soft_qp *qp, struct soft_qp *peer, const struct send_wqe *wqe,
			  uint32_t num)
{
	uint64_t there = wire_bytes(qp, wr_ops[wqe->wr.opcode].kind, PLACE_ONLY, num, wqe->wr.length);
	uint64_t back = wire_bytes(peer, PKT_ACK, PLACE_ONLY, 1, 0);

	counter_add(&qp->conn.source.traffic.tx_bytes, there);
	counter_add(&qp->conn.source.traffic.tx_packets, num);
	counter_add(&qp->conn.source.traffic.rx_bytes, back);
	counter_add(&qp->conn.source.traffic.rx_packets, 1);
	counter_add(&peer->conn.source.traffic.rx_bytes, there);
	counter_add(&peer->conn.source.traffic.rx_packets, num);
	counter_add(&peer->conn.source.traffic.tx_bytes, back);
	counter_add(&peer->conn.source.traffic.tx_packets, 1);
}

/* Sends the next element by the shortcut. False: the element does not qualify, and nothing has changed. */
static bool send_next(struct runner *r, struct soft_qp *qp)
{
	struct send_wqe *wqe = sq_at(&qp->sq, qp->conn.req.fresh);
	struct soft_qp *peer;
	struct actor *a;
	uint32_t num;
	bool done;

	if (qp->conn.req.acked != qp->conn.req.fresh || qp_state(qp) != IB_QPS_RTS || !is_simple(wqe))
		return false;
	a = near_peer(qp);
	if (!a || !actor_try_own(a))
		return false;
	peer = actor_qp(a);
	num = req_count_packets(qp, wqe);
	done = peer_expects(peer, qp) && faults_spare(qp, peer, wqe, num) && copy_message(qp, peer, wqe);
	if (done) {
		IB_TRACE("soft", "data transferred: qp=%#x %s %u bytes", peer->ci.qp_num,
			 wqe->wr.opcode == IB_WR_SEND ? "send" : "write", wqe->wr.length);
		count_traffic(qp, peer, wqe, num);
		update_receiver(r, peer, wqe, num);
		update_sender(qp, wqe, num);
		r->trains -= 2;
		r->bytes -= wqe->wr.length;
	}
	actor_let_go(r, a, false);
	if (done)
		comp_retire(r, qp);
	return done;
}

bool qp_shortcut(struct runner *r, struct soft_qp *qp)
{
	bool more;

	if (!qp->service->reliable || !actor_try_own(qp->actor))
		return false;
	do /* acquire: pairs with the release in soft_post_send() */
		more = qp->conn.req.fresh !=
		       atomic_load_explicit(&qp->sq.prod, memory_order_acquire);
	while (more && !runner_spent(r) && send_next(r, qp));
	actor_let_go(r, qp->actor, more);
	return true;
}
