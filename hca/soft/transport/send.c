/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The nodes and packets of a queue pair: how a packet leaves the port, how a node returns home, and how a control
 * operation recalls nodes from the peer. The contents of packets are made in req.c and resp.c.
 */
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

void pkt_take_home(struct soft_qp *qp, struct packet *pkt)
{
	struct packet **list = pkt < qp->conn.node_mem + SOFT_REQUEST_NODES ? &qp->conn.req.nodes
									    : &qp->conn.resp.nodes;
	struct send_wqe *wqe = pkt->wqe;

	if (UNLIKELY(pkt->flags & PKT_FETCHED))
		errand_free_payload(pkt);
	if (UNLIKELY(pkt->flags & PKT_BAD_SOURCE)) {
		if (wqe)
			req_fail_source(qp, wqe);
		else
			qp->conn.resp.source_gone = true; /* send_read_train() reads the flag */
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
		pkt_take_home(self, pkt);
		return;
	}
	if (UNLIKELY(!pkt->home)) {
		pool_home(r, pkt);
		return;
	}
	pkt->kind = PKT_NONE;
	/* the home actor can not be dead: destroy_qp waits until all nodes are home */
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

uint32_t pkt_set_train(const struct soft_qp *qp, struct packet *pkt, enum flow_index flow, bool first,
		       uint32_t left)
{
	uint8_t begin = first ? PLACE_FIRST : 0;
	uint32_t limit = SOFT_TRAIN_BYTES >> qp->conn.source.mtu_shift;
	uint32_t num = left < limit ? left : limit;
	uint32_t room = source_room(&qp->conn.source, flow);

	if (UNLIKELY(num > room)) /* room may have shrunk since the sender checked source_room() */
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

/* Returns the train's bytes on the wire, headers included. */
static uint64_t train_wire_bytes(const struct soft_qp *qp, const struct packet *pkt)
{
	uint64_t bytes = wire_bytes(qp, pkt->kind, pkt->place, pkt->num, pkt->length);

	if (pkt->service == WIRE_UD)
		bytes += DETH_BYTES + (pkt->route.global ? GRH_BYTES : 0);
	return bytes;
}

void pkt_send(struct runner *r, struct soft_qp *qp, struct packet *pkt, enum flow_index flow)
{
	struct source *src = &qp->conn.source;

	pkt->src_qpn = qp->ci.qp_num;
	pkt->service = qp->service->wire;
	pkt->mtu_shift = src->mtu_shift;
	if (LIKELY(!is_ud(qp))) { /* ud_address_packet() has addressed a datagram */
		pkt->dest_qpn = src->dest_qpn;
		pkt->pkey = source_pkey(src);
		port_route(src->port, &qp->conn.to, &pkt->route);
	}
	r->trains--;
	if (UNLIKELY(pkt->flags & PKT_VL15) && src->port->ports->own &&
	    src->port->ports->own->send(r, src->port, pkt)) {
		pkt_release(r, qp, pkt);
		return;
	}
	if (UNLIKELY(!source_send(r, src, pkt, flow, train_wire_bytes(qp, pkt))))
		pkt_release(r, qp, pkt);
	source_sent(r, src, flow);
}

void pkt_count_received(struct soft_qp *qp, const struct packet *pkt)
{
	counter_add(&qp->conn.source.traffic.rx_bytes, train_wire_bytes(qp, pkt));
	counter_add(&qp->conn.source.traffic.rx_packets, pkt->num);
}

uint8_t qp_port_num(const struct soft_qp *qp)
{
	const struct soft_port *port = qp->conn.source.port;

	return port ? port->number : 0;
}

/* Describes the packets that a recall for this queue pair takes back. */
static struct recall recall_of(const struct soft_qp *qp)
{
	return (struct recall){ .home = qp->actor, .qpn = qp->ci.qp_num, .lent = &qp->conn.lent };
}

void qp_purge_at(struct soft_qp *qp, const struct soft_port *port)
{
	const struct recall what = recall_of(qp);

	if (port)
		port->link->recall(port, qp->conn.source.dest_qpn, &what);
}

/*
 * Lists the request nodes that are not at home, and returns their number. The queue pair is in Reset or Error, so no
 * node leaves again.
 */
static uint32_t collect_sent(struct soft_qp *qp, struct packet *pkts[SOFT_REQUEST_NODES])
{
	struct packet *pkt = qp->conn.node_mem;
	uint32_t i, num = 0;
	struct runner r;

	actor_claim(qp->actor);
	for (i = 0; pkt && i < SOFT_REQUEST_NODES; i++, pkt++)
		if (pkt->wqe) /* the holder of the packet changes neither wqe nor the addresses */
			pkts[num++] = pkt;
	runner_start(&r);
	runner_add(&r, qp->actor);
	runner_run(&r);
	return num;
}

static void purge_datagrams(struct soft_qp *qp)
{
	const struct recall what = recall_of(qp);
	struct soft_port *port = qp->conn.source.port;
	struct packet *pkts[SOFT_REQUEST_NODES];
	uint32_t i, num = collect_sent(qp, pkts);

	for (i = 0; i < num; i++)
		port->link->recall(port, pkts[i]->dest_qpn, &what);
}

void qp_purge(struct soft_qp *qp)
{
	if (is_ud(qp))
		purge_datagrams(qp);
	else
		qp_purge_at(qp, qp->conn.source.port);
}
