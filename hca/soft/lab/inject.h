/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Injected packets (inject.c). The codec that decodes them is in packet/wire.h. */
#ifndef SOFT_INJECT_H
#define SOFT_INJECT_H

#include <iba/ib_soft.h>
#include <stddef.h>

struct soft_port;

/* Injects bytes as a packet that comes in at a port. Returns the packet's fate. */
struct soft_injected inject(struct soft_port *port, const uint8_t *bytes, size_t len);

#endif
