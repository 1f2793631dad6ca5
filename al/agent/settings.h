/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What ald is told by ibal.conf(5): the groups [ald], [ald client] and [ald user]. */
#ifndef AL_AGENT_SETTINGS_H
#define AL_AGENT_SETTINGS_H

#include <stdbool.h>

#include "al/agent/ald.h"

#define SETTINGS_MAX_DRAIN 3600

struct settings {
	struct ald_attr attr; /* socket points to path */
	char path[108];
	uint32_t drain;       /* seconds */
};

/* What is said nowhere. */
void settings_default(struct settings *to);
/*
 * What the file says, over what is there; file as al_open_attr.config. False: something is wrong,
 * the log says of each fault in which line it is and what would be right, and *to is as it was.
 */
bool settings_read(const char *file, struct settings *to);
/*
 * Sets one key of a group, as a line of the file does. If the result is false, *to is unchanged, and
 * *values (static) describes the key's values, or is NULL because there is no such key.
 */
bool settings_set(struct settings *to, const char *group, const char *key, const char *text,
		  const char **values);

#endif
