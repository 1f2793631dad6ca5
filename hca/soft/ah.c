/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Address handles: an address vector that datagrams are sent by. */
#include "soft.h"

al_status soft_create_ah(struct ci_ah *ci, const struct ib_ah_attr *attr, struct ci_udata *udata)
{
	(void)udata;
	((struct soft_ah *)ci)->attr = *attr;
	return AL_SUCCESS;
}

al_status soft_modify_ah(struct ci_ah *ci, const struct ib_ah_attr *attr)
{
	struct soft_ah *ah = (struct soft_ah *)ci;

	fmutex_lock(&ah->lock);
	ah->attr = *attr;
	fmutex_unlock(&ah->lock);
	return AL_SUCCESS;
}

al_status soft_query_ah(struct ci_ah *ci, struct ib_ah_attr *attr)
{
	struct soft_ah *ah = (struct soft_ah *)ci;

	fmutex_lock(&ah->lock);
	*attr = ah->attr;
	fmutex_unlock(&ah->lock);
	return AL_SUCCESS;
}

void soft_destroy_ah(struct ci_ah *ci)
{
	(void)ci;
}
