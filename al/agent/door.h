/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The agent's door: its socket, and connections until they belong to a session. Callers: the loop,
 * or ald.c while no loop runs.
 */
#ifndef AL_AGENT_DOOR_H
#define AL_AGENT_DOOR_H

#include <stdbool.h>

#include "al/agent/ald.h"

/* Listens on the socket. False: the log says why. */
bool door_open(const struct ald_attr *attr);
/* Lets the loop accept connections. False: errno says why. */
bool door_watch(void);
/* Stops listening, removes the socket, and ends the connections without a hello. */
void door_shut(void);
/* Frees what door_open() and door_watch() have made. */
void door_close(void);

#endif
