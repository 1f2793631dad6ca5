/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The checksums of a packet's bytes (icrc.c): ICRC and VCRC (IBTA 7.8, A17.3.3), and the Internet's checksum. Headers
 * and their fields are in wire.h.
 */
#ifndef SOFT_ICRC_H
#define SOFT_ICRC_H

#include <stddef.h>
#include <stdint.h>

#include "hca/soft/packet/wire.h"

/*
 * Returns the invariant CRC, which a wire carries lowest byte first. from: the packet's first header, LRH or IP; bth:
 * bytes before the BTH, which is complete; end: bytes before the ICRC. Bits that may change on the way count as ones.
 */
uint32_t icrc(enum wire_framing framing, const uint8_t *from, size_t bth, size_t end);
/* Returns the variant CRC of the bytes from the LRH to the ICRC. A wire carries the VCRC lowest byte first. */
uint16_t vcrc(const uint8_t *from, size_t len);
/* Adds bytes to a sum of 16-bit words. Only the last call of a sum may have an odd len. */
uint32_t inet_sum(uint32_t sum, const uint8_t *from, size_t len);
/* Returns the checksum of a sum. The sum over bytes that contain their right checksum gives 0. */
uint16_t inet_checksum(uint32_t sum);

#endif
