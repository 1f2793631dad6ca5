/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the examples of the reference share: how they end when a call is refused. */
#ifndef EXAMPLE_MUST_H
#define EXAMPLE_MUST_H

#include <iba/ib_al.h>

#include <stdio.h>
#include <stdlib.h>

/* [must] */
/* Ends the program if a call was refused. A program with objects at stake would handle the status
 * instead. */
static inline void must(al_status status, const char *call)
{
	if (status == AL_SUCCESS)
		return;
	fprintf(stderr, "%s: %s: %s\n", call, al_status_str(status), al_reason());
	exit(EXIT_FAILURE);
}
/* [must] */

#endif /* EXAMPLE_MUST_H */
