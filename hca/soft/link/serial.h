/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The packets of a train and their bytes on a wire (serial.c). The codec is packet/wire.h. */
#ifndef SOFT_SERIAL_H
#define SOFT_SERIAL_H

#include <stddef.h>
#include <stdint.h>

#include "hca/soft/packet/packet.h"
#include "hca/soft/packet/wire.h"

struct soft_port;

/* Returns packet number i of a train, from 0, as a train of one packet. The payload stays the train's. */
struct packet packet_of_train(const struct packet *train, uint32_t i);
/* Returns the bytes of a train of one packet in InfiniBand's framing. */
uint32_t packet_wire_bytes(const struct packet *pkt);
/* Fills in w->grh, and of an IPv4 address w->ip4, from the packet's route. */
void pkt_set_global_headers(const struct packet *pkt, struct wire_packet *w);
/* Returns the framing of packets at a port: InfiniBand's, or at an Ethernet port that of their addresses. */
enum wire_framing pkt_framing(const struct soft_port *port, const struct packet *pkt);
/*
 * Writes the bytes of the train's packet number i, from 0, as it passes at one end of a port's cable. Returns their
 * number, at most WIRE_MAX_BYTES; 0: the payload's memory region is gone.
 */
size_t pkt_bytes_of(const struct soft_port *port, const struct packet *train, uint32_t i, uint8_t *bytes);

#endif
