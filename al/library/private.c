/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Functions for the agent beyond the API. The agent's clients are al/object/client.c's. */
#include "al/library/private.h"

#include <stdio.h>

#include "al/event/pnp.h"
#include "al/verbs/verbs.h"

al_status al_reg_mapped_mr(al_pd_h pd, const struct al_mr_init *init, void *context, uint32_t *lkey,
			   uint32_t *rkey, al_mr_h *mr)
{
	return mr_reg(pd, init, NULL, context, lkey, rkey, mr);
}

void al_set_failure_owner(void (*cb)(void *context))
{
	async_set_failure_owner(cb);
}

void al_reason_clear(void)
{
	ci_reason_clear();
}

al_status al_module_of(uint64_t guid, char *name, size_t size, bool *is_switch)
{
	struct al_dev *dev = dev_find(NULL, guid);

	if (!dev)
		return AL_NOT_FOUND;
	snprintf(name, size, "%s", dev->module);
	*is_switch = dev_is_switch(dev);
	dev_put(dev);
	return AL_SUCCESS;
}

al_status al_reg_switch_pnp(al_h al, void *context, al_pnp_cb cb, al_pnp_h *pnp)
{
	return pnp_register(al, NULL, true, context, cb, pnp);
}

al_status al_check_config(const char *config)
{
	return ci_check(config);
}

al_status al_attach_mcast_once(al_qp_h qp, const ib_gid *gid, uint16_t mlid, bool *is_new)
{
	return mcast_attach(qp, gid, mlid, is_new);
}

al_status al_reg_owned_mad_svc(al_ca_h ca, const struct al_mad_svc_init *init, void *context,
			       const struct al_mad_owner *owner, al_mad_svc_h *svc)
{
	return mad_reg_owned(ca, init, context, owner, svc);
}

al_status al_mad_next_outcome(al_mad_svc_h svc, struct ib_mad *mad, struct al_mad_part *part)
{
	return mad_next_outcome(svc, mad, part);
}

al_status al_mad_next_part(al_mad_svc_h svc, uint32_t size, uint32_t offset, void *to,
			   uint32_t room, struct al_mad_part *part)
{
	return mad_next_part(svc, size, offset, to, room, part);
}

void al_set_log_writer(void (*write_line)(ib_log_level level, const char *who, const char *line,
					  size_t length))
{
	ci_log_set_writer(write_line);
}
