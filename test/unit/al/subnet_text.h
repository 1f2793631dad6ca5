/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Managed subnets for tests, from topologies in text. */
#ifndef IBAL_TEST_SUBNET_TEXT_H
#define IBAL_TEST_SUBNET_TEXT_H

#include <stdio.h>
#include <unistd.h>

#include "test/unit/al/al_test.h"

/* HCA 0x3000 -- [1] switch 0x1000 [2] -- HCA 0x5000 */
#define SUBNET_OF_A_SWITCH                      \
	"switchguid=0x1000(1000)\n"             \
	"Switch 2 \"S-0000000000001000\"\n"     \
	"[1] \"H-0000000000003000\"[1](3001)\n" \
	"[2] \"H-0000000000005000\"[1](5001)\n" \
	"\n"                                    \
	"caguid=0x3000\n"                       \
	"Ca 1 \"H-0000000000003000\"\n"         \
	"[1](3001) \"S-0000000000001000\"[1]\n" \
	"\n"                                    \
	"caguid=0x5000\n"                       \
	"Ca 1 \"H-0000000000005000\"\n"         \
	"[1](5001) \"S-0000000000001000\"[2]\n"

/*
 * Sets IBAL_SOFT to a managed subnet of the topology, and to other settings. The topology goes to a
 * file, whose name is made from the template, as by mkstemp(); the caller removes the file when the
 * library or an agent has started.
 */
static inline void subnet_set(const char *topology, const char *others, char *file)
{
	const ssize_t length = (ssize_t)strlen(topology);
	char settings[160];
	int fd = mkstemp(file);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, topology, (size_t)length), length);
	close(fd);
	snprintf(settings, sizeof(settings), "subnet=managed topology=%s %s", file, others);
	ck_assert(!setenv("IBAL_SOFT", settings, 1));
}

#endif
