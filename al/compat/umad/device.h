/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The HCAs as devices with names, and the library that has them. */
#ifndef AL_COMPAT_UMAD_DEVICE_H
#define AL_COMPAT_UMAD_DEVICE_H

#include <pthread.h>
#include <stdbool.h>

#include <iba/ib_al.h>

#include "al/compat/umad/umad.h"

struct device {
	uint64_t guid;
	al_ca_h ca;
	char name[UMAD_NAME_BYTES];
};

/*
 * Programs cancel threads that wait for a datagram: OpenSM's vendor library does so at its end. A
 * thread that is cancelled must leave no lock behind, so threads can be cancelled while they wait,
 * and nowhere else. cancel_off() returns what cancel_back() takes.
 */
static inline int cancel_off(void)
{
	int before;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	return before;
}

static inline void cancel_back(int before)
{
	pthread_setcancelstate(before, NULL);
}

/* The library, opened by the first call of a process. NULL: it can not be opened, and its log says
 * why. */
al_h umad_library(void);
/*
 * Finds the device of a name and a port of it. name NULL: the first device with a port in state
 * Active, else the first with a port that is not Down, else the first; a switch counts as a device
 * with an Active port. *number 0: the first such port. Of a switch *number becomes 0. 0, or -ENODEV
 * or -EINVAL.
 */
int device_find(const char *name, int *number, struct device *device);
/* The negative errno for a status of the library. */
int umad_errno(al_status status);
/* umad_debug()'s level. */
extern int umad_debug_level;

#endif
