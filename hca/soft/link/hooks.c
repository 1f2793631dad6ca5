/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The variables behind hooks.h: the registered hooks, and whether packets are watched. Calls of the hooks are
 * elsewhere.
 */
#include "hca/soft/link/hooks.h"

const struct link_hooks *link_hooks;
_Atomic bool link_watched_flag;
