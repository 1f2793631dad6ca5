/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The agent's door: its socket, and connections until they belong to a session. On the loop, or without the loop's thread. */
#ifndef AL_AGENT_DOOR_H
#define AL_AGENT_DOOR_H

#include <stdbool.h>

#include "al/agent/ald.h"

/* Listens. False: the log says why. */
bool door_open(const struct ald_attr *attr);
/* Accepts from now on. False: errno says why. */
bool door_watch(void);
/* Lets nobody new in, and ends those that have not said who they are. */
void door_shut(void);
void door_close(void);

#endif
