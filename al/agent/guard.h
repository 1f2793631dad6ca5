/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Requests whose right depends on what the request says, besides the right of the command's row. On
 * the loop. */
#ifndef AL_AGENT_GUARD_H
#define AL_AGENT_GUARD_H

#include "al/agent/connection.h"

/* The right that the request needs. Its sizes have been checked, and nothing else of it. */
enum agent_right guard_right(struct connection *connection);

#endif
