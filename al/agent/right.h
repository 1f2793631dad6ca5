/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The rights of clients. Callers: the loop, or ald_start() before the loop runs. */
#ifndef AL_AGENT_RIGHT_H
#define AL_AGENT_RIGHT_H

#include "al/agent/ald.h"

/* Replaces the users and groups of each right. Sessions keep their rights until
 * sessions_update_rights(). */
void rights_set(const struct agent_grant grants[NUM_RIGHTS]);
/* The highest right that the peer of a connection has, by its user and the groups that it had when
 * it connected. */
enum agent_right right_of(int fd);

#endif
