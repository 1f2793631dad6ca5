/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Multicast: the membership of queue pairs in groups. The Access Layer keeps a list of each queue
 * pair's groups, so that a second attach and a detach of a queue pair that is no member do not
 * reach the module.
 */
#include <string.h>

#include "al/verbs/verbs.h"

/* A group of which a queue pair is a member. */
struct al_mcast_group {
	struct al_mcast_group *next;
	ib_gid gid;
	uint16_t mlid;
};

/* Returns the pointer to a group in the queue pair's list, or the pointer that ends the list. Under
 * modify_lock. */
static struct al_mcast_group **find_group(struct al_qp *qp, const ib_gid *gid, uint16_t mlid)
{
	struct al_mcast_group **at = &qp->groups;

	while (*at && ((*at)->mlid != mlid || memcmp(&(*at)->gid, gid, sizeof(*gid))))
		at = &(*at)->next;
	return at;
}

void mcast_forget(struct al_qp *qp)
{
	struct al_mcast_group *group;

	while ((group = qp->groups)) {
		qp->groups = group->next;
		al_free(group);
	}
}

static al_status attach(const struct al_call *call, const ib_gid *gid, uint16_t mlid, bool *is_new)
{
	struct al_qp *qp = (struct al_qp *)call->obj;
	struct al_mcast_group *group;
	al_status status;

	if (*find_group(qp, gid, mlid))
		return AL_SUCCESS;
	group = al_alloc(sizeof(*group));
	if (!group)
		return AL_INSUFFICIENT_MEMORY;
	status = CALL_MODULE(call, attach_mcast, call->obj->ci, gid, mlid);
	if (status) {
		al_free(group);
		return status;
	}
	group->gid = *gid;
	group->mlid = mlid;
	group->next = qp->groups;
	qp->groups = group;
	*is_new = true;
	return AL_SUCCESS;
}

static al_status detach(const struct al_call *call, const ib_gid *gid, uint16_t mlid, bool *is_new)
{
	struct al_mcast_group **at = find_group((struct al_qp *)call->obj, gid, mlid);
	struct al_mcast_group *group = *at;
	al_status status;

	(void)is_new;
	if (!group)
		return ib_refuse(AL_NOT_FOUND, "the queue pair is no member of the group");
	status = CALL_MODULE(call, detach_mcast, call->obj->ci, gid, mlid);
	if (status)
		return status;
	*at = group->next;
	al_free(group);
	return AL_SUCCESS;
}

/* True: an HCA with an Ethernet port, where a group is a GID alone. */
static bool has_ethernet(const struct al_dev *dev)
{
	for (uint32_t port = ci_first_port(&dev->attr); port <= dev->attr.num_ports; port++)
		if (dev->ports[port].link_layer == IB_LINK_LAYER_ETHERNET)
			return true;
	return false;
}

/* Checks what attach and detach have in common. */
static al_status check(const struct al_call *call, uint16_t mlid)
{
	const struct ci_qp *ci = call->obj->ci;

	if (ops_dead(call->ops))
		return ops_dead_status(call->ops);
	if (obj_dying(call->obj))
		return ib_refuse(AL_INVALID_HANDLE,
				 "another thread destroyed the qp during the call");
	if (!(call->obj->dev->attr.caps & IB_CA_CAP_MCAST))
		return ib_refuse(AL_UNSUPPORTED, "the HCA has no multicast");
	if ((mlid < IB_LID_MULTICAST_FIRST || mlid > IB_LID_MULTICAST_LAST) &&
	    (mlid || !has_ethernet(call->obj->dev)))
		return ib_refuse(AL_INVALID_PARAMETER,
				 "mlid is %#x, and multicast LIDs are %#x to %#x%s", mlid,
				 IB_LID_MULTICAST_FIRST, IB_LID_MULTICAST_LAST,
				 has_ethernet(call->obj->dev) ? ", and 0 at Ethernet ports" : "");
	return ci->qp_type == IB_QPT_UD
		       ? AL_SUCCESS
		       : ib_refuse(
				 AL_INVALID_QP_TYPE,
				 "multicast is for queue pairs of the type UD, and the queue pair's is %s",
				 al_qp_type_str(ci->qp_type));
}

/* Changes a membership by `change`, which is attach() or detach(). */
static al_status change_group(al_qp_h qp, const ib_gid *gid, uint16_t mlid, bool *is_new,
			      al_status (*change)(const struct al_call *, const ib_gid *, uint16_t,
						  bool *))
{
	const char *function = change == attach ? "al_attach_mcast" : "al_detach_mcast";
	struct al_call call;
	struct al_qp *al_qp;
	al_status status;

	if (!gid || gid->raw[0] != 0xff)
		return reason_settle(ib_refuse(AL_INVALID_PARAMETER,
					       "gid is NULL, or no multicast GID (ff00::/8)"),
				     function, NULL);
	status = qp_begin(&call, qp);
	if (status)
		return reason_settle(status, function, NULL);
	al_qp = (struct al_qp *)call.obj;
	pthread_mutex_lock(&al_qp->modify_lock);
	status = check(&call, mlid);
	if (!status)
		status = change(&call, gid, mlid, is_new);
	pthread_mutex_unlock(&al_qp->modify_lock);
	return call_finish(&call, status, function);
}

al_status mcast_attach(al_qp_h qp, const ib_gid *gid, uint16_t mlid, bool *is_new)
{
	*is_new = false;
	return change_group(qp, gid, mlid, is_new, attach);
}

al_status al_attach_mcast(al_qp_h qp, const ib_gid *gid, uint16_t mlid)
{
	bool is_new;

	return mcast_attach(qp, gid, mlid, &is_new);
}

al_status al_detach_mcast(al_qp_h qp, const ib_gid *gid, uint16_t mlid)
{
	return change_group(qp, gid, mlid, NULL, detach);
}
