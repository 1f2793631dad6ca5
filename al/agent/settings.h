/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The settings of ald in ibal.conf(5): the groups [ald], [ald client], [ald user] and
 * [ald total]. */
#ifndef AL_AGENT_SETTINGS_H
#define AL_AGENT_SETTINGS_H

#include <stdbool.h>

#include "al/agent/ald.h"

#define SETTINGS_MAX_DRAIN 3600

struct settings {
	struct ald_attr attr; /* attr.socket points to path */
	char path[108];
	uint32_t drain;       /* seconds for which ald waits for its clients at its end */
};

/* Fills in the defaults. */
void settings_default(struct settings *to);
/*
 * Applies the settings that the file has; other settings stay. file: as al_open_attr.config. False:
 * the file has a fault. The log then has for each fault the line and the right values, and *to is
 * unchanged.
 */
bool settings_read(const char *file, struct settings *to);
/*
 * Sets one key of a group, as a line of the file does. If the result is false, *to is unchanged,
 * and *values (static) describes the key's values, or is NULL because there is no such key.
 */
bool settings_set(struct settings *to, const char *group, const char *key, const char *text,
		  const char **values);

#endif
