/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "al/compat/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *view_first(void)
{
	const char *guids = secure_getenv("IBAL_UMAD_CAS");

	return guids && *guids ? guids : NULL;
}

bool view_next(const char **at, uint64_t *guid)
{
	char *end;
	bool found;

	while (*at) {
		*guid = strtoull(*at, &end, 16);
		found = end != *at;
		*at = *end == ',' ? end + 1 : NULL;
		if (found)
			return true;
	}
	return false;
}

bool view_has(uint64_t guid)
{
	const char *at = view_first();
	uint64_t wanted;

	if (!at)
		return true;
	while (view_next(&at, &wanted))
		if (wanted == guid)
			return true;
	return false;
}

void view_guid_name(char *to, size_t size, uint64_t guid)
{
	snprintf(to, size, "ib%016llx", (unsigned long long)guid);
}

void view_name(char *to, size_t size, const char *short_name, bool taken, uint64_t guid)
{
	if (taken || !*short_name || strlen(short_name) >= size)
		view_guid_name(to, size, guid);
	else
		strcpy(to, short_name);
}
