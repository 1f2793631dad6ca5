/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Which HCAs and switches a program sees: those whose GUIDs IBAL_UMAD_CAS names, separated by commas
 * (al_run --ca). Without it a program sees all HCAs, and no switch. And by which names: libibverbs and libibumad name an
 * HCA alike, for programs take a name from one to the other.
 */
#ifndef AL_COMPAT_VIEW_H
#define AL_COMPAT_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The GUIDs of IBAL_UMAD_CAS, for view_next(). NULL: the view is of all HCAs. */
const char *view_first(void);
/* Reads the next GUID of a list. *at NULL: the list has ended. False: there is no further GUID. */
bool view_next(const char **at, uint64_t *guid);
/* True: IBAL_UMAD_CAS names the HCA, or is not set. */
bool view_has(uint64_t guid);

/* Writes the name that a GUID makes: "ib" and its 16 hexadecimal digits. size: at least 19 bytes. */
void view_guid_name(char *to, size_t size, uint64_t guid);
/*
 * Writes a device's name: the short name of its HCA, or that of the GUID if there is none, if the short name does not fit,
 * or if another device has it or, before it went, had it (taken).
 */
void view_name(char *to, size_t size, const char *short_name, bool taken, uint64_t guid);

#endif
