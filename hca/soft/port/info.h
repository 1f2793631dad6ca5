/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What a subnet manager reads and sets at a port: PortInfo and the tables of P_Keys, GUIDs, lanes
 * and lane weights, in their forms on the wire (info.c). The Access Layer's subnet management agent
 * has checked a Set.
 */
#ifndef SOFT_INFO_H
#define SOFT_INFO_H

#include <iba/ib_mad.h>

struct soft_port;

/* The registers of a port that no other member of struct soft_port holds. */
struct port_info {
	struct ib_port_info info; /* PortInfo; port_info_read() fills in what other members hold */
	struct ib_led_info led;
};

/* Sets the registers to the values of a port that no subnet manager has seen. mtu: of the port, in
 * bytes. */
void port_info_init(struct soft_port *port, uint32_t mtu);
/* Reads PortInfo as the port is now. The M_Key and its companions, which the agent keeps, are zero.
 */
void port_info_read(struct soft_port *port, struct ib_port_info *info);
/*
 * Reads or writes an attribute of a port, for ci_local_mad(). data: the attribute,
 * IB_SMP_DATA_BYTES; after a write the attribute as it is now. Returns an enum ib_mad_status:
 * IB_MAD_STATUS_BAD_METHOD_ATTR if the port has no such attribute, IB_MAD_STATUS_BAD_FIELD if the
 * block or a state transition does not exist.
 */
uint16_t port_attr(struct soft_port *port, uint16_t attr_id, uint32_t attr_mod, bool set,
		   uint8_t *data);

#endif
