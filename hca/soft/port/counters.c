/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Port counters. Each queue pair counts its own packets, so queue pairs share no cache line. A query of the port adds
 * up the counters of the port's queue pairs. Port states and addresses are in port.c.
 */
#include "hca/soft/port/port.h"
#include "hca/soft/shared/lock.h"

void counters_join(struct soft_port *port, struct traffic_link *link, struct traffic *traffic)
{
	fmutex_lock(&port->traffic_lock);
	link->traffic = traffic;
	link->next = port->traffic;
	link->pprev = &port->traffic;
	if (link->next)
		link->next->pprev = &link->next;
	port->traffic = link;
	fmutex_unlock(&port->traffic_lock);
}

void counters_retire(struct soft_port *port, struct traffic_link *link)
{
	struct traffic *t = link->traffic;

	fmutex_lock(&port->traffic_lock);
	port->tx_bytes += atomic_exchange_explicit(&t->tx_bytes, 0, memory_order_relaxed);
	port->tx_packets += atomic_exchange_explicit(&t->tx_packets, 0, memory_order_relaxed);
	port->rx_bytes += atomic_exchange_explicit(&t->rx_bytes, 0, memory_order_relaxed);
	port->rx_packets += atomic_exchange_explicit(&t->rx_packets, 0, memory_order_relaxed);
	*link->pprev = link->next;
	if (link->next)
		link->next->pprev = link->pprev;
	fmutex_unlock(&port->traffic_lock);
}

static uint64_t read_rare(const struct soft_port *port, enum port_counter counter)
{
	return atomic_load_explicit(&port->count[counter], memory_order_relaxed);
}

void counters_read(struct soft_port *port, struct ib_port_counters *to)
{
	/* before the traffic, which counts a packet first */
	const uint64_t multicast = read_rare(port, CNT_MULTICAST_XMIT);
	const struct traffic_link *link;

	fmutex_lock(&port->traffic_lock);
	*to = (struct ib_port_counters){
		.xmit_bytes = port->tx_bytes,
		.xmit_packets = port->tx_packets,
		.rcv_bytes = port->rx_bytes,
		.rcv_packets = port->rx_packets,
	};
	for (link = port->traffic; link; link = link->next) {
		const struct traffic *t = link->traffic;

		to->xmit_bytes += atomic_load_explicit(&t->tx_bytes, memory_order_relaxed);
		to->xmit_packets += atomic_load_explicit(&t->tx_packets, memory_order_relaxed);
		to->rcv_bytes += atomic_load_explicit(&t->rx_bytes, memory_order_relaxed);
		to->rcv_packets += atomic_load_explicit(&t->rx_packets, memory_order_relaxed);
	}
	fmutex_unlock(&port->traffic_lock);
	to->multicast_xmit_packets = multicast < to->xmit_packets ? multicast : to->xmit_packets;
	to->multicast_rcv_packets = read_rare(port, CNT_MULTICAST_RCV);
	to->unicast_xmit_packets = to->xmit_packets - to->multicast_xmit_packets;
	to->unicast_rcv_packets = to->rcv_packets;
	to->rcv_packets += to->multicast_rcv_packets;
	to->rcv_bytes += read_rare(port, CNT_MULTICAST_RCV_BYTES);
	to->xmit_discards = read_rare(port, CNT_XMIT_DISCARDS);
	to->rcv_errors = read_rare(port, CNT_RCV_ERRORS);
	to->rcv_dropped = read_rare(port, CNT_RCV_DROPPED);
	to->retransmits = read_rare(port, CNT_RETRANSMITS);
	to->rnr_naks = read_rare(port, CNT_RNR_NAKS);
	to->seq_naks = read_rare(port, CNT_SEQ_NAKS);
	to->link_downed = read_rare(port, CNT_LINK_DOWNED);
	to->vl15_dropped = read_rare(port, CNT_VL15_DROPPED);
	to->rcv_switch_relay_errors = read_rare(port, CNT_RELAY_ERRORS);
	to->rcv_constraint_errors = read_rare(port, CNT_RCV_CONSTRAINT);
	to->symbol_errors = read_rare(port, CNT_SYMBOL_ERRORS);
	to->rcv_remote_phys_errors = read_rare(port, CNT_REMOTE_ERRORS);
	to->link_error_recovery = read_rare(port, CNT_LINK_RECOVERIES);
	to->link_integrity_errors = read_rare(port, CNT_LINK_INTEGRITY);
	to->buffer_overrun_errors = read_rare(port, CNT_BUFFER_OVERRUNS);
	to->xmit_wait = read_rare(port, CNT_XMIT_WAIT);
	to->xmit_constraint_errors = read_rare(port, CNT_XMIT_CONSTRAINT);
}
