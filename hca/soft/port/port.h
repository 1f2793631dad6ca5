/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Ports (port.c), their counters (counters.c), and the links that packets leave them by. */
#ifndef SOFT_PORT_H
#define SOFT_PORT_H

#include <stdatomic.h>
#include <iba/ib_hca.h>

#include "hca/soft/base/config.h"
#include "hca/soft/transport/qp.h"

/* Counters of rare things; those of each packet are the queue pairs' own. */
enum port_counter {
	CNT_XMIT_DISCARDS,
	CNT_RCV_ERRORS,
	CNT_RCV_DROPPED,
	CNT_RETRANSMITS,
	CNT_RNR_NAKS,
	CNT_SEQ_NAKS,
	CNT_BAD_PKEY,
	CNT_BAD_QKEY,
	PORT_COUNTERS
};

struct address;
struct link_ops;
struct route;

struct soft_port {
	struct soft_hca *hca;
	struct soft_port *cable;     /* the other end; may be itself */
	const struct link_ops *link;
	uint8_t num;                 /* from 1 */
	uint8_t lmc;
	uint16_t lid;
	ib_mtu mtu;
	uint64_t guid;
	uint64_t prefix;
	uint32_t num_pkeys;
	uint16_t pkeys[SOFT_MAX_PKEYS];
	_Atomic uint32_t state;      /* ib_port_state */
	_Atomic bool faulty;         /* some fault may meet its packets */
	bool plugged;                /* the cable is in; guarded by the lock of all ports (port.c) */
	bool shutdown;               /* by modify_port; the same */
	_Atomic uint32_t cap_mask;
	_Atomic uint64_t count[PORT_COUNTERS];
	struct capture *capture;     /* where its packets are shown, or NULL; these two: guarded by capture.c */
	uint32_t capture_interface;
	/* traffic of queue pairs that are gone; guarded by the HCA's qps_lock */
	uint64_t tx_bytes, tx_packets, rx_bytes, rx_packets;
};

static inline void port_count(struct soft_port *port, enum port_counter counter, uint64_t n)
{
	atomic_fetch_add_explicit(&port->count[counter], n, memory_order_relaxed);
}

static inline bool port_faulty(const struct soft_port *port)
{
	return atomic_load_explicit(&port->faulty, memory_order_relaxed);
}

static inline ib_port_state port_state(const struct soft_port *port)
{
	return (ib_port_state)atomic_load_explicit(&port->state, memory_order_acquire);
}

/* Another port of the HCA. */
static inline struct soft_port *port_of_hca(struct soft_port *port, uint8_t num)
{
	return port - port->num + num;
}

void port_start(void);
void port_init(struct soft_port *port);
/* An event of the port, or of the HCA. */
void port_raise(struct soft_port *port, ib_event_type type);
/* Whom an HCA's port events go to; NULL: nobody any more. */
void port_tell(struct soft_hca *hca, struct ci_ca *ca);
/* Puts the cable in or pulls it out, at this end. */
void port_plug(struct soft_port *port, bool in);
/* The headers by which packets to an address leave the port. */
void port_route(const struct soft_port *port, const struct address *to, struct route *route);
/* Entry of the port's GID table; all zero: empty. */
ib_gid port_gid(const struct soft_port *port, uint32_t index);
bool port_has_gid(const struct soft_port *port, const ib_gid *gid);
al_status port_query(struct ci_ca *ca, uint8_t num, struct ib_port_attr *attr);
al_status port_query_gid(struct ci_ca *ca, uint8_t num, uint32_t index, ib_gid *gid);
al_status port_query_pkey(struct ci_ca *ca, uint8_t num, uint32_t index, uint16_t *pkey);
al_status port_modify(struct ci_ca *ca, uint8_t num, uint32_t mask, const struct ib_port_modify *attr);

/* The list of queue pairs whose traffic counts, and each one's port. */
void counters_add(struct soft_qp *qp);
void counters_remove(struct soft_qp *qp);
void counters_join(struct soft_qp *qp, struct soft_port *port);
/* It leaves its port, which keeps its traffic. */
void counters_retire(struct soft_qp *qp);
void counters_read(struct soft_port *port, struct ib_port_counters *to);

#endif
