/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Protection domains: allocating and deallocating them. */
#include "al/verbs/verbs.h"

static void destroy(struct al_obj *obj, const struct ci_interface *ops)
{
	ops->deallocate_pd(obj->ci);
}

static const struct obj_type pd_type = {
	.id = AL_OBJ_PD,
	.size = sizeof(struct al_obj),
	.ci = CI_OBJ_PD,
	.rank = RANK_PD,
	.destroy = destroy,
};

al_status al_alloc_pd(al_ca_h ca, void *context, al_pd_h *pd)
{
	struct al_call call;
	struct al_obj *obj;
	struct ci_pd *ci;
	al_status status;

	if (!pd)
		return REFUSE(AL_INVALID_PARAMETER, "pd is NULL");
	status = call_begin(&call, ca, AL_OBJ_CA);
	if (status)
		return SETTLED(status);
	status = obj_new(&pd_type, call.obj, call.obj->dev, context, &obj);
	if (status)
		goto out;
	ci = obj->ci;
	ci->ca = call.obj->ci;
	status = CALL_MODULE(&call, allocate_pd, ci, acting_for);
	if (status)
		goto err;
	status = obj_publish(obj, pd);
	if (!status)
		goto out;
	call.ops->deallocate_pd(ci);
err:
	obj_abort(obj);
out:
	return CALL_FINISH(&call, status);
}

al_status al_dealloc_pd(al_pd_h pd, al_destroyed_cb cb, void *context)
{
	return obj_destroy(pd, AL_OBJ_PD, cb, context);
}
