/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What a train would be on a wire (serial.c). */
#ifndef SOFT_SERIAL_H
#define SOFT_SERIAL_H

#include <stddef.h>
#include <stdint.h>

#include "hca/soft/packet/packet.h"

/* Packet number i of a train, from 0, as a train of one. */
struct packet packet_of_train(const struct packet *train, uint32_t i);
/*
 * The bytes of the train's packet number i, from 0, in InfiniBand's framing: at most WIRE_MAX_BYTES.
 * Returns how many; 0: its payload is no longer to be had.
 */
size_t pkt_bytes_of(const struct packet *train, uint32_t i, uint8_t *bytes);

#endif
