/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Which hooks there are. */
#include "hca/soft/link/hooks.h"

const struct link_hooks *link_hooks;
_Atomic bool link_watched_flag;
