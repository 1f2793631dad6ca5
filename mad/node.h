/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The management agents of one node together: interface (smi.h), subnet management (sma.h),
 * performance management (pma.h). */
#ifndef IBAL_MAD_NODE_H
#define IBAL_MAD_NODE_H

#include <iba/ib_types.h>

#include "mad/pma.h"
#include "mad/sma.h"
#include "mad/smi.h"

/* The upper half of the transaction identifiers of traps, which no request has that comes from the
 * Access Layer's services. */
#define MAD_TID_TRAPS UINT32_MAX

struct mad_node {
	struct smi_node shape;
	struct sma_node sma;
	struct pma_node pma;
};

/*
 * Sets the members of a node that come from the attributes of an HCA or switch. partition_cap:
 * entries of a port's P_Key table, of a switch of port 0's. The caller sets ops, hw and ports of
 * both agents, and the GUID of each port.
 */
void mad_node_init(struct mad_node *node, const struct ib_ca_attr *attr, uint16_t partition_cap);

#endif
