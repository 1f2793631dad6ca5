/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Datagrams written as hexadecimal digits. Blanks are ignored; bytes that are not written are 0. */
#ifndef TEST_MGMT_DATAGRAM_H
#define TEST_MGMT_DATAGRAM_H

#include <check.h>
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static inline void write_hex(uint8_t *to, size_t room, const char *digits)
{
	size_t n = 0;
	int byte;

	for (; *digits; digits++) {
		if (isspace((unsigned char)*digits))
			continue;
		ck_assert_int_eq(sscanf(digits, "%2x", (unsigned int *)&byte), 1);
		ck_assert(isxdigit((unsigned char)digits[1]) && n < room);
		to[n++] = (uint8_t)byte;
		digits++;
	}
}

/* A datagram of 256 bytes: a head from byte 0, an attribute from byte at on. */
static inline void write_datagram(void *to, const char *head, size_t at, const char *attribute)
{
	memset(to, 0, 256);
	write_hex(to, at, head);
	write_hex((uint8_t *)to + at, 256 - at, attribute);
}

#endif
