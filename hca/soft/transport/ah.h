/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Address handles, as far as a post reads them. The operations of address handles are in object/ah.c. */
#ifndef SOFT_AH_H
#define SOFT_AH_H

#include <iba/ib_flat_wr.h>
#include <iba/ib_hca.h>

#include "hca/soft/shared/lock.h"

struct soft_ah {
	struct ci_ah ci;
	struct fmutex lock; /* guards attr and path, which modify_ah writes and a post reads; leaf of the lock order */
	struct ib_ah_attr attr;
	struct ib_flat_path path; /* attr in the form of a flat work request */
};

#endif
