/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The rights of clients. On the loop. */
#ifndef AL_AGENT_RIGHT_H
#define AL_AGENT_RIGHT_H

#include "al/agent/ald.h"

void rights_set(const struct agent_grant grants[NUM_RIGHTS]);
/* The highest right that the peer of a connection has. */
enum agent_right right_of(int fd);

#endif
