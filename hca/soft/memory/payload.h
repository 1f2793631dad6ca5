/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What a packet brings: where its payload is read from (payload.c). */
#ifndef SOFT_PAYLOAD_H
#define SOFT_PAYLOAD_H

#include "hca/soft/memory/mr.h"

struct packet;

/* Where its payload comes from; false: its sender's key is no longer good. The cursor is to be ended either way. */
bool payload_open(struct cursor *from, const struct packet *pkt);
/* Copies all of it; COPY_BAD_SOURCE: its sender's key is no longer good. */
enum copy_result payload_copy(void *to, const struct packet *pkt);

#endif
