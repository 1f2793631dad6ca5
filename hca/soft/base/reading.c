/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What read sections need in one place: the rest is inline. */
#include "hca/soft/base/reading.h"

char reading_tag;
