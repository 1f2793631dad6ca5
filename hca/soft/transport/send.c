/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A queue pair's packets: their way out of its port, their way home, and what a reset fetches back. */
#include "hca/soft/packet/packet.h"

#include "hca/soft/base/table.h"
#include "hca/soft/engine/engine.h"
#include "hca/soft/link/hooks.h"
#include "hca/soft/link/link.h"
#include "hca/soft/memory/errand.h"
#include "hca/soft/memory/mr.h"
#include "hca/soft/packet/pool.h"
#include "hca/soft/packet/wire.h"
#include "hca/soft/port/port.h"
#include "hca/soft/shared/base.h"
#include "hca/soft/shared/opcode.h"
#include "hca/soft/transport/qp.h"

void pkt_home(struct soft_qp *qp, struct packet *pkt)
{
	struct packet **list = pkt < qp->conn.node_mem + SOFT_REQUEST_NODES ? &qp->conn.req.nodes
									    : &qp->conn.resp.nodes;
	struct send_wqe *wqe = pkt->wqe;

	if (UNLIKELY(pkt->flags & PKT_FETCHED))
		errand_free_payload(pkt);
	if (UNLIKELY(pkt->flags & PKT_BAD_SOURCE)) {
		if (wqe)
			req_bad_source(qp, wqe);
		else
			qp->conn.resp.gone = true; /* read_train() looks */
	}
	if (wqe)
		wqe->refs--;
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
		pool_home(r, pkt);
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
	uint32_t limit = SOFT_TRAIN_BYTES >> qp->conn.source.mtu_shift;
	uint32_t num = left < limit ? left : limit;
	uint32_t room = source_room(&qp->conn.source, flow);

	if (UNLIKELY(num > room)) /* there was some when the sender looked */
		num = room ? room : 1;
	if (UNLIKELY(port_faulty(qp->conn.source.port)) && num > 1)
		num = link_hooks->clip(&qp->conn.source,
				       &(struct stretch){ qp->conn.source.flow[flow] + 1, pkt->psn,
							  left, pkt->kind, begin | PLACE_LAST,
							  flow },
				       num);
	pkt->num = num;
	pkt->place = begin | (num == left ? PLACE_LAST : 0);
	return num;
}

static uint64_t pkt_bytes(const struct soft_qp *qp, const struct packet *pkt)
{
	uint64_t bytes = wire_bytes(qp, pkt->kind, pkt->place, pkt->num, pkt->length);

	if (pkt->service == WIRE_UD)
		bytes += DETH_BYTES + (pkt->route.global ? GRH_BYTES : 0);
	return bytes;
}

/* A datagram's path is its own. */
static bool leave(struct runner *r, const struct soft_qp *qp, struct packet *pkt)
{
	const struct link_ops *link = qp->conn.source.port->link;
	struct path path;

	if (LIKELY(!is_ud(qp)))
		return link->send(r, &qp->conn.source.path, pkt);
	link->resolve(qp->conn.source.port, &pkt->route, &path);
	return link->send(r, &path, pkt);
}

void pkt_send(struct runner *r, struct soft_qp *qp, struct packet *pkt, enum flow_index flow)
{
	struct soft_port *port = qp->conn.source.port;
	const uint64_t n = qp->conn.source.flow[flow] + 1,
		       last = qp->conn.source.flow[flow] + pkt->num;
	enum verdict verdict = PACKET_PASSES;

	pkt->src_qpn = qp->ci.qp_num;
	pkt->service = qp->service->wire;
	pkt->mtu_shift = qp->conn.source.mtu_shift;
	if (LIKELY(!is_ud(qp))) { /* a datagram has been addressed */
		pkt->dest_qpn = qp->conn.source.dest_qpn;
		port_route(port, &qp->conn.to, &pkt->route);
	}
	pkt->pkey = qp->conn.source.pkey;
	qp->conn.source.flow[flow] = last;
	r->trains--;
	if (UNLIKELY(port_faulty(port)))
		verdict = link_hooks->leaves(r, &qp->conn.source, pkt, flow, n);
	if (UNLIKELY(port_state(port) != IB_PORT_ACTIVE)) {
		port_count(port, CNT_XMIT_DISCARDS, pkt->num);
		goto drop;
	}
	counter_add(&qp->conn.source.traffic.tx_bytes, pkt_bytes(qp, pkt));
	counter_add(&qp->conn.source.traffic.tx_packets, pkt->num);
	if (link_watched())
		link_hooks->sent(&qp->conn.source, pkt);
	if (UNLIKELY(verdict == PACKET_LOST))
		port_count(port, CNT_XMIT_DISCARDS, pkt->num);
	if (LIKELY(!verdict && leave(r, qp, pkt)))
		goto sent;
drop:
	pkt_release(r, qp, pkt);
sent:
	if (UNLIKELY(port_faulty(port)))
		link_hooks->left(r, &qp->conn.source, flow, last);
}

void pkt_received(struct soft_qp *qp, const struct packet *pkt)
{
	counter_add(&qp->conn.source.traffic.rx_bytes, pkt_bytes(qp, pkt));
	counter_add(&qp->conn.source.traffic.rx_packets, pkt->num);
}

uint8_t qp_port_num(const struct soft_qp *qp)
{
	const struct soft_port *port = qp->conn.source.port;

	return port ? port->num : 0;
}

static struct recall ours(const struct soft_qp *qp)
{
	return (struct recall){ .home = qp->actor, .qpn = qp->ci.qp_num, .lent = &qp->conn.lent };
}

void qp_purge_at(struct soft_qp *qp, const struct path *path)
{
	const struct recall what = ours(qp);

	if (path->to)
		qp->conn.source.port->link->recall(path, qp->conn.source.dest_qpn, &what);
}

/* Datagrams of ours that are not at home. They are still sent to nobody else, since the state does not permit it. */
static uint32_t sent(struct soft_qp *qp, struct packet *pkts[SOFT_REQUEST_NODES])
{
	struct packet *pkt = qp->conn.node_mem;
	uint32_t i, num = 0;
	struct runner r;

	actor_claim(qp->actor);
	for (i = 0; pkt && i < SOFT_REQUEST_NODES; i++, pkt++)
		if (pkt->wqe) /* whoever has it changes neither this nor its address */
			pkts[num++] = pkt;
	runner_start(&r);
	runner_add(&r, qp->actor);
	runner_run(&r);
	return num;
}

static void purge_datagrams(struct soft_qp *qp)
{
	const struct recall what = ours(qp);
	struct packet *pkts[SOFT_REQUEST_NODES];
	uint32_t i, num = sent(qp, pkts);
	struct path path;

	for (i = 0; i < num; i++) {
		qp->conn.source.port->link->resolve(qp->conn.source.port, &pkts[i]->route, &path);
		qp->conn.source.port->link->recall(&path, pkts[i]->dest_qpn, &what);
	}
}

void qp_purge(struct soft_qp *qp)
{
	if (is_ud(qp))
		purge_datagrams(qp);
	else
		qp_purge_at(qp, &qp->conn.source.path);
}
