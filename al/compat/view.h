/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Which HCAs and switches a program sees: those whose GUIDs IBAL_UMAD_CAS names, separated by commas
 * (al_run --ca). Without it a program sees all HCAs, and no switch.
 */
#ifndef AL_COMPAT_VIEW_H
#define AL_COMPAT_VIEW_H

#include <stdbool.h>
#include <stdint.h>

/* The GUIDs of IBAL_UMAD_CAS, for view_next(). NULL: the view is of all HCAs. */
const char *view_first(void);
/* Reads the next GUID of a list. *at NULL: the list has ended. False: there is no further GUID. */
bool view_next(const char **at, uint64_t *guid);
/* True: IBAL_UMAD_CAS names the HCA, or is not set. */
bool view_has(uint64_t guid);

#endif
