/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The checks of a packet's bytes: ICRC and VCRC (IBTA 7.8, A17.3.3), and the Internet's checksum. */
#ifndef SOFT_ICRC_H
#define SOFT_ICRC_H

#include <stddef.h>
#include <stdint.h>

#include "hca/soft/packet/wire.h"

/*
 * The invariant CRC, to be sent lowest byte first. from: the LRH or IP header that the packet begins with; bth: bytes
 * before its BTH, of which there is one whole; end: bytes before the ICRC. What changes on the way counts as ones.
 */
uint32_t icrc(enum wire_framing framing, const uint8_t *from, size_t bth, size_t end);
/* The variant CRC, of all bytes from the LRH to the ICRC; sent lowest byte first. */
uint16_t vcrc(const uint8_t *from, size_t len);
/* Adds bytes to a sum of 16-bit words; len is even but for the last bytes. */
uint32_t inet_sum(uint32_t sum, const uint8_t *from, size_t len);
/* The checksum that a sum makes; 0 over bytes with a right one. */
uint16_t inet_checksum(uint32_t sum);

#endif
