/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What a post takes of an address handle. Its operations: object/ah.c. */
#ifndef SOFT_AH_H
#define SOFT_AH_H

#include <iba/ib_flat_wr.h>
#include <iba/ib_hca.h>

#include "hca/soft/shared/lock.h"

/* Address handle. */
struct soft_ah {
	struct ci_ah ci;
	struct fmutex lock; /* guards attr and path: modify and a post may meet. Leaf. */
	struct ib_ah_attr attr;
	struct ib_flat_path path; /* attr, as a post takes it */
};

#endif
