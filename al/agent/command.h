/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Requests: read, checked by the command table, carried out. */
#ifndef AL_AGENT_COMMAND_H
#define AL_AGENT_COMMAND_H

#include "al/agent/loop.h"

/* What sees a session's connection: the next request can be read, or the connection has ended. */
void command_readable(struct watched *watched, uint32_t events);

#endif
