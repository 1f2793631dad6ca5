/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Functions for the agent beyond the API. The agent's clients are al/object/client.c's. */
#include "al/library/private.h"

#include <stdio.h>

#include "al/verbs/verbs.h"

al_status al_reg_mapped_mr(al_pd_h pd, const struct al_mr_init *init, void *context, uint32_t *lkey,
			   uint32_t *rkey, al_mr_h *mr)
{
	return mr_reg(pd, init, NULL, context, lkey, rkey, mr);
}

al_status al_module_of(uint64_t guid, char *name, size_t size)
{
	struct al_dev *dev = dev_find(NULL, guid);

	if (!dev)
		return AL_NOT_FOUND;
	snprintf(name, size, "%s", dev->module);
	dev_put(dev);
	return AL_SUCCESS;
}

al_status al_check_config(const char *config)
{
	return ci_check(config);
}

al_status al_attach_mcast_once(al_qp_h qp, const ib_gid *gid, uint16_t mlid, bool *is_new)
{
	return mcast_attach(qp, gid, mlid, is_new);
}
