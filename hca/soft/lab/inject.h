/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Packets from nowhere (inject.c). */
#ifndef SOFT_INJECT_H
#define SOFT_INJECT_H

#include <iba/ib_soft.h>
#include <stddef.h>

struct soft_port;

/* Bytes that come in at a port. */
struct soft_injected inject(struct soft_port *port, const uint8_t *bytes, size_t len);

#endif
