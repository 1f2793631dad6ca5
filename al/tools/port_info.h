/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* PortInfo in words (IBTA 14.2.5.6): each field by the name that IBTA gives it, and its value as a
 * name, a time or a list. */
#ifndef AL_TOOLS_PORT_INFO_H
#define AL_TOOLS_PORT_INFO_H

#include <iba/ib_mad.h>

#include "al/tools/query.h"

/* Adds a member for each field. */
void port_info_fill(JsonObject *to, const struct ib_port_info *info);

/* The members, in the order of PortInfo, for query_sheet(). */
extern const struct query_column port_info_columns[];

#endif
