/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Port counters. Those of every packet are kept per queue pair, where they have one writer and cost
 * no shared cache line; here they are summed up.
 */
#include "hca/soft/object/hca.h"
#include "hca/soft/port/port.h"
#include "hca/soft/shared/lock.h"
#include "hca/soft/transport/qp.h"

void counters_retire(struct soft_qp *qp)
{
	struct soft_port *port = qp->port;

	if (!port)
		return;
	fmutex_lock(&port->hca->qps_lock);
	port->tx_bytes += atomic_exchange_explicit(&qp->tx_bytes, 0, memory_order_relaxed);
	port->tx_packets += atomic_exchange_explicit(&qp->tx_packets, 0, memory_order_relaxed);
	port->rx_bytes += atomic_exchange_explicit(&qp->rx_bytes, 0, memory_order_relaxed);
	port->rx_packets += atomic_exchange_explicit(&qp->rx_packets, 0, memory_order_relaxed);
	qp->port = NULL;
	fmutex_unlock(&port->hca->qps_lock);
}

static uint64_t rare(const struct soft_port *port, enum port_counter counter)
{
	return atomic_load_explicit(&port->count[counter], memory_order_relaxed);
}

void counters_read(struct soft_port *port, struct ib_port_counters *to)
{
	struct soft_hca *hca = port->hca;
	struct soft_qp *qp;

	fmutex_lock(&hca->qps_lock);
	*to = (struct ib_port_counters){
		.xmit_bytes = port->tx_bytes,
		.xmit_packets = port->tx_packets,
		.rcv_bytes = port->rx_bytes,
		.rcv_packets = port->rx_packets,
	};
	for (qp = hca->qp_list; qp; qp = qp->list_next) {
		if (qp->port != port)
			continue;
		to->xmit_bytes += atomic_load_explicit(&qp->tx_bytes, memory_order_relaxed);
		to->xmit_packets += atomic_load_explicit(&qp->tx_packets, memory_order_relaxed);
		to->rcv_bytes += atomic_load_explicit(&qp->rx_bytes, memory_order_relaxed);
		to->rcv_packets += atomic_load_explicit(&qp->rx_packets, memory_order_relaxed);
	}
	fmutex_unlock(&hca->qps_lock);
	to->unicast_xmit_packets = to->xmit_packets;
	to->unicast_rcv_packets = to->rcv_packets;
	to->xmit_discards = rare(port, CNT_XMIT_DISCARDS);
	to->rcv_errors = rare(port, CNT_RCV_ERRORS);
	to->rcv_dropped = rare(port, CNT_RCV_DROPPED);
	to->retransmits = rare(port, CNT_RETRANSMITS);
	to->rnr_naks = rare(port, CNT_RNR_NAKS);
	to->seq_naks = rare(port, CNT_SEQ_NAKS);
}

void counters_add(struct soft_qp *qp)
{
	struct soft_hca *hca = qp_hca(qp);

	fmutex_lock(&hca->qps_lock);
	qp->list_next = hca->qp_list;
	qp->list_pprev = &hca->qp_list;
	if (qp->list_next)
		qp->list_next->list_pprev = &qp->list_next;
	hca->qp_list = qp;
	fmutex_unlock(&hca->qps_lock);
}

void counters_remove(struct soft_qp *qp)
{
	struct soft_hca *hca = qp_hca(qp);

	fmutex_lock(&hca->qps_lock);
	*qp->list_pprev = qp->list_next;
	if (qp->list_next)
		qp->list_next->list_pprev = qp->list_pprev;
	fmutex_unlock(&hca->qps_lock);
}

void counters_join(struct soft_qp *qp, struct soft_port *port)
{
	fmutex_lock(&port->hca->qps_lock);
	qp->port = port;
	fmutex_unlock(&port->hca->qps_lock);
}
