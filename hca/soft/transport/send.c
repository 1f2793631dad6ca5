/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A queue pair's packets: their way out of its port, their way home, and what a reset fetches back. */
#include "hca/soft/packet/packet.h"

#include "hca/soft/base/table.h"
#include "hca/soft/engine/engine.h"
#include "hca/soft/lab/capture.h"
#include "hca/soft/lab/fault.h"
#include "hca/soft/memory/errand.h"
#include "hca/soft/memory/mr.h"
#include "hca/soft/object/hca.h"
#include "hca/soft/packet/wire.h"
#include "hca/soft/port/port.h"
#include "hca/soft/shared/base.h"
#include "hca/soft/shared/opcode.h"
#include "hca/soft/transport/qp.h"

void pkt_home(struct soft_qp *qp, struct packet *pkt)
{
	struct packet **list =
		pkt < qp->node_mem + SOFT_REQUEST_NODES ? &qp->req.nodes : &qp->resp.nodes;
	struct send_wqe *wqe = pkt->wqe;

	if (UNLIKELY(pkt->flags & PKT_STAGED))
		errand_home(pkt);
	if (wqe) {
		wqe->refs--;
		if (UNLIKELY(pkt->flags & PKT_BAD_SOURCE))
			req_bad_source(qp, wqe);
	}
	pkt->wqe = NULL;
	pkt->next = *list;
	*list = pkt;
}

void pkt_release(struct runner *r, struct soft_qp *self, struct packet *pkt)
{
	if (pkt->home == self->actor) {
		pkt_home(self, pkt);
		return;
	}
	if (UNLIKELY(!pkt->home)) {
		fault_home(pkt->src_port->hca, pkt);
		return;
	}
	pkt->kind = PKT_NONE;
	/* it can not be dead: the end of a queue pair waits for its packets */
	actor_push(r, pkt->home, pkt);
}

void pkt_release_all(struct runner *r, struct soft_qp *self, struct packet *list)
{
	struct packet *next;

	for (; list; list = next) {
		next = list->next;
		pkt_release(r, self, list);
	}
}

uint32_t pkt_train(const struct soft_qp *qp, struct packet *pkt, enum flow_index flow, bool first,
		   uint32_t left)
{
	uint8_t begin = first ? PLACE_FIRST : 0;
	uint32_t limit = SOFT_TRAIN_BYTES >> qp->mtu_shift;
	uint32_t num = left < limit ? left : limit;

	if (UNLIKELY(port_faulty(qp->port)) && num > 1)
		num = fault_clip(qp,
				 &(struct stretch){ qp->flow[flow] + 1, pkt->psn, left, pkt->kind,
						    begin | PLACE_LAST, flow },
				 num);
	pkt->num = num;
	pkt->place = begin | (num == left ? PLACE_LAST : 0);
	return num;
}

static uint64_t pkt_bytes(const struct soft_qp *qp, const struct packet *pkt)
{
	uint64_t bytes = wire_bytes(qp, pkt->kind, pkt->place, pkt->num, pkt->length);

	if (pkt->service == WIRE_UD)
		bytes += DETH_BYTES + (pkt->dg.global ? GRH_BYTES : 0);
	return bytes;
}

void pkt_send(struct runner *r, struct soft_qp *qp, struct packet *pkt, enum flow_index flow)
{
	struct soft_port *port = qp->port;
	const uint64_t n = qp->flow[flow] + 1, last = qp->flow[flow] + pkt->num;
	enum fault_verdict verdict = FAULT_PASSES;

	pkt->src_port = port;
	pkt->src_qpn = qp->ci.qp_num;
	pkt->service = qp->service->wire;
	pkt->dest_qpn = qp->dest_qpn;
	if (is_ud(qp))
		pkt->dest_qpn = pkt->wqe->remote_qpn;
	pkt->pkey = qp->pkey;
	qp->flow[flow] = last;
	r->packets--;
	if (UNLIKELY(port_faulty(port)))
		verdict = fault_packet(r, qp, pkt, flow, n);
	if (UNLIKELY(port_state(port) != IB_PORT_ACTIVE)) {
		port_count(port, CNT_XMIT_DISCARDS, pkt->num);
		goto drop;
	}
	counter_add(&qp->tx_bytes, pkt_bytes(qp, pkt));
	counter_add(&qp->tx_packets, pkt->num);
	if (capture_on())
		capture_sent(qp, pkt);
	if (UNLIKELY(verdict == FAULT_LOST))
		port_count(port, CNT_XMIT_DISCARDS, pkt->num);
	if (LIKELY(!verdict && port->link->send(r, qp, pkt)))
		goto sent;
drop:
	pkt_release(r, qp, pkt);
sent:
	if (UNLIKELY(port_faulty(port)))
		fault_release(r, qp, flow, last);
}

void pkt_received(struct soft_qp *qp, const struct packet *pkt)
{
	counter_add(&qp->rx_bytes, pkt_bytes(qp, pkt));
	counter_add(&qp->rx_packets, pkt->num);
}

/* Takes our packets out of a list, and makes empty those that refer to our memory. */
static struct packet *take_ours(const struct soft_qp *qp, struct packet **list)
{
	struct packet *ours = NULL, *pkt;

	while ((pkt = *list)) {
		if (pkt->home == qp->actor) {
			*list = pkt->next;
			pkt->next = ours;
			ours = pkt;
			continue;
		}
		if (pkt->kind == PKT_READ_RESP && pkt->view == &qp->lent)
			pkt->kind = PKT_NONE;
		list = &pkt->next;
	}
	return ours;
}

/* The same with all that one queue pair has not looked at. May sleep. */
static void purge_from(struct soft_qp *qp, struct actor *a)
{
	struct packet *list, *ours, *more, *next;
	struct soft_qp *peer;
	struct runner r;

	if (!a || !actor_claim(a))
		return;
	runner_start(&r);
	peer = actor_qp(a);
	list = actor_take(a);
	ours = take_ours(qp, &list);
	more = resp_unqueue(peer, qp, take_ours);
	qp_receive(&r, peer, list);
	runner_add(&r, a);
	for (; ours || more; ours = next) {
		if (!ours) {
			ours = more;
			more = NULL;
		}
		next = ours->next;
		ours->kind = PKT_NONE;
		actor_push(&r, qp->actor, ours);
	}
	runner_run(&r);
}

static struct actor *actor_at(struct soft_port *port, uint32_t qpn)
{
	return port ? table_find(&port->hca->qps, qpn) : NULL;
}

/* Where datagrams of ours have not come home from: so many. They are still sent to nobody else,
 * since the state does not permit it. */
static uint32_t targets(struct soft_qp *qp, struct actor *to[SOFT_REQUEST_NODES])
{
	const struct packet *pkt = qp->node_mem;
	struct runner r;
	uint32_t i, num = 0;

	actor_claim(qp->actor);
	for (i = 0; pkt && i < SOFT_REQUEST_NODES; i++, pkt++)
		if (pkt->wqe) /* whoever has it changes neither this nor its address */
			to[num++] = actor_at(port_route(qp->port, pkt->dg.dlid), pkt->dest_qpn);
	runner_start(&r);
	runner_add(&r, qp->actor);
	runner_run(&r);
	return num;
}

void qp_purge_at(struct soft_qp *qp, struct soft_port *peer)
{
	purge_from(qp, actor_at(peer, qp->dest_qpn));
}

void qp_purge(struct soft_qp *qp)
{
	struct actor *to[SOFT_REQUEST_NODES];
	uint32_t i, num = 1;

	if (is_ud(qp))
		num = targets(qp, to);
	else
		to[0] = actor_at(qp->peer, qp->dest_qpn);
	for (i = 0; i < num; i++)
		purge_from(qp, to[i]);
}
