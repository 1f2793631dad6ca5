/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Requests of clients, which command.c reads, checks by the command table and executes. */
#ifndef AL_AGENT_COMMAND_H
#define AL_AGENT_COMMAND_H

#include "al/agent/loop.h"

/*
 * watched.see of a session's connection: reads and serves the next request, or frees a connection
 * that the client has closed.
 */
void command_readable(struct watched *watched, uint32_t events);

#endif
