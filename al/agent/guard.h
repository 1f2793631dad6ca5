/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Requests whose right depends on their content, besides the right of the command's row. All
 * functions are called on the loop. */
#ifndef AL_AGENT_GUARD_H
#define AL_AGENT_GUARD_H

#include "al/agent/connection.h"

/* Returns the right that the request needs. The caller has checked the request's sizes, and no
 * value in it. */
enum agent_right guard_right(struct connection *connection);

#endif
