/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Queue pairs: creating, modifying and querying them, and the data path: posting. The state table
 * is in qp_table.c. */
#include <string.h>

#include "al/event/channel.h"
#include "al/verbs/verbs.h"

/* ------------------------------------------------------------ destruction */

/*
 * Resets a queue pair that is still referenced. Every state may change to Reset, and a queue pair
 * in Reset accepts no packets. modify_lock waits for a modification that is inside the module; a
 * later modification is refused because the queue pair is dying. The call passes no udata, also for
 * a client's queue pair: the Access Layer makes the call, not the client.
 */
static void quiesce(struct al_obj *obj, const struct ci_interface *ops)
{
	const struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET };
	struct al_qp *al_qp = (struct al_qp *)obj;
	al_status status;

	IB_TRACE("al", "qp %#llx: destroyed while still referenced; resetting in the module",
		 (unsigned long long)obj->handle);
	pthread_mutex_lock(&al_qp->modify_lock);
	status = ops->modify_qp(obj->ci, &attr, IB_QP_STATE, NULL);
	pthread_mutex_unlock(&al_qp->modify_lock);
	if (status && status != AL_CA_REMOVED && status != AL_AGENT_LOST)
		ib_log(IB_LOG_ERROR, "al",
		       "modify_qp of module %s failed to reset qp %#llx, which is destroyed but still referenced: %s",
		       obj->dev->module, (unsigned long long)obj->handle, al_status_str(status));
}

static void destroy(struct al_obj *obj, const struct ci_interface *ops)
{
	release_qp_num(obj->dev, (struct al_qp *)obj);
	ops->destroy_qp(obj->ci);
}

static void release_qp(struct al_obj *obj)
{
	mcast_forget((struct al_qp *)obj);
	pthread_mutex_destroy(&((struct al_qp *)obj)->modify_lock);
}

static const struct obj_type qp_type = {
	.id = AL_OBJ_QP,
	.size = sizeof(struct al_qp),
	.ci = CI_OBJ_QP,
	.rank = RANK_QP,
	.published = evobj_published,
	.invalidated = evobj_invalidated,
	.quiesce = quiesce,
	.destroy = destroy,
	.release = release_qp,
};

/* ---------------------------------------------------------------- aliases */

static bool is_alias(al_qp_h qp)
{
	return handle_type((uintptr_t)qp) == OBJ_ALIAS(AL_OBJ_QP);
}

al_status qp_refuse(al_qp_h qp)
{
	struct al_obj *obj = obj_get(qp, OBJ_ALIAS(AL_OBJ_QP));
	const struct ci_interface *ops;

	if (!obj)
		return refuse_handle(qp, AL_OBJ_QP);
	ops = dev_ops(obj->dev);
	obj_put(obj);
	return ops_dead(ops)
		       ? ops_dead_status(ops)
		       : ib_refuse(
				 AL_INVALID_QP_TYPE,
				 "the handle is an alias of al_get_spl_qp(), which posts and changes nothing");
}

al_status qp_begin(struct al_call *call, al_qp_h qp)
{
	al_status status = call_begin(call, qp, AL_OBJ_QP);

	return status == AL_INVALID_HANDLE ? qp_refuse(qp) : status;
}

static al_status query_alias(al_qp_h qp, struct ib_qp_attr *attr, struct al_qp_init *init)
{
	const struct al_qp_alias *alias;
	struct al_call call;
	al_status status = call_begin(&call, qp, OBJ_ALIAS(AL_OBJ_QP));

	if (status)
		return status;
	alias = (const struct al_qp_alias *)call.obj;
	status = ops_dead(call.ops) ? ops_dead_status(call.ops) : alias->query(&call, attr);
	if (!status && init)
		*init = (struct al_qp_init){ .qp_type =
						     ((const struct ci_qp *)call.obj->ci)->qp_type,
					     .sq_sig_all = true,
					     .port_num = alias->port_num,
					     .cap = attr->cap };
	call_end(&call);
	return status;
}

/* --------------------------------------------------------------- creation */

static uint32_t cap_of_type(ib_qp_type type)
{
	switch (type) {
	case IB_QPT_UC:
		return IB_CA_CAP_UC;
	case IB_QPT_UD:
		return IB_CA_CAP_UD;
	case IB_QPT_RD:
		return IB_CA_CAP_RD;
	case IB_QPT_XRC_INI:
	case IB_QPT_XRC_TGT:
		return IB_CA_CAP_XRC;
	case IB_QPT_RAW_PACKET:
		return IB_CA_CAP_RAW_PACKET;
	case IB_QPT_RAW_IPV6:
		return IB_CA_CAP_RAW_IPV6;
	case IB_QPT_RAW_ETHERTYPE:
		return IB_CA_CAP_RAW_ETHERTYPE;
	default:
		return 0;
	}
}

static al_status check_type(const struct al_dev *dev, const struct al_qp_init *init)
{
	const bool special = init->qp_type == IB_QPT_SMI || init->qp_type == IB_QPT_GSI;
	const char *type = al_qp_type_str(init->qp_type);

	if (dev_is_switch(dev) && !special)
		return ib_refuse(AL_UNSUPPORTED,
				 "a switch has special queue pairs only, and qp_type is %s", type);
	if (cap_of_type(init->qp_type) & ~dev->attr.caps)
		return ib_refuse(AL_UNSUPPORTED, "the HCA has no queue pairs of the type %s", type);
	if (init->rdd && init->qp_type != IB_QPT_RD)
		return ib_refuse(AL_INVALID_PARAMETER,
				 "rdd is for queue pairs of the type RD, and qp_type is %s", type);
	if (init->xrcd && init->qp_type != IB_QPT_XRC_TGT)
		return ib_refuse(AL_INVALID_PARAMETER,
				 "xrcd is for queue pairs of the type XRC_TGT, and qp_type is %s",
				 type);
	if (qp_type_has_port(init->qp_type))
		return check_end_port(dev, "port_num", init->port_num);
	return init->port_num
		       ? ib_refuse(
				 AL_INVALID_PARAMETER,
				 "port_num is %u, and al_create_qp() takes 0 for the type %s, which gets its port by al_modify_qp()",
				 init->port_num, type)
		       : AL_SUCCESS;
}

/* True: al/mgmt owns the special queue pair that a channel driver asks for. */
static bool held_by_library(const struct al_obj *pd, const struct al_qp_init *init)
{
	return (init->qp_type == IB_QPT_SMI || init->qp_type == IB_QPT_GSI) && !obj_internal(pd) &&
	       atomic_load(&pd->dev->ports[init->port_num].spl_qps_held);
}

/* Checks sizes against the HCA's limits. AL_LIMIT_EXCEEDED: *cap holds the limits. */
static al_status check_cap(const struct ib_ca_attr *ca, struct ib_qp_cap *cap)
{
	const struct ib_qp_cap asked = *cap;
	const struct ib_qp_cap limit = { ca->max_qp_wr, ca->max_qp_wr, ca->max_send_sge,
					 ca->max_recv_sge, ca->max_inline_data };
	const struct {
		const char *name;
		uint32_t asked, limit;
	} sizes[] = {
		{ "max_send_wr", asked.max_send_wr, limit.max_send_wr },
		{ "max_recv_wr", asked.max_recv_wr, limit.max_recv_wr },
		{ "max_send_sge", asked.max_send_sge, limit.max_send_sge },
		{ "max_recv_sge", asked.max_recv_sge, limit.max_recv_sge },
		{ "max_inline_data", asked.max_inline_data, limit.max_inline_data },
	};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (sizes[i].asked > sizes[i].limit) {
			*cap = limit;
			return ib_refuse(AL_LIMIT_EXCEEDED, "%s is %u, and the HCA's limit is %u",
					 sizes[i].name, sizes[i].asked, sizes[i].limit);
		}
	return AL_SUCCESS;
}

static al_status use_object(struct al_obj *obj, const void *handle, al_object_type type, void *ci)
{
	struct al_obj *used = obj_get(handle, type);
	al_status status;

	if (!used)
		return refuse_handle(handle, type);
	if (type == AL_OBJ_SRQ && used->al == obj->al && used->dev == obj->dev &&
	    used->parent != obj->parent)
		status = ib_refuse(AL_INVALID_PD,
				   "srq and the new qp belong to different protection domains");
	else
		status = obj_use(obj, used);
	*(void **)ci = used->ci;
	obj_put(used);
	return status;
}

/* Finds the objects of the handles in init, makes obj their user, and passes the module's parts on
 * in ci_qp and ci_init. */
static al_status resolve_handles(struct al_obj *obj, const struct al_qp_init *init,
				 struct ci_qp_init *ci_init)
{
	struct ci_qp *ci = obj->ci;
	al_status status = AL_SUCCESS;

	/* XRC: the initiator (INI) only sends; the target (TGT) receives through the shared receive
	 * queues of its XRC domain and has no completion queue of its own. */
	if (init->qp_type != IB_QPT_XRC_TGT)
		status = use_object(obj, init->send_cq, AL_OBJ_CQ, &ci->send_cq);
	if (!status && init->qp_type != IB_QPT_XRC_INI && init->qp_type != IB_QPT_XRC_TGT)
		status = use_object(obj, init->recv_cq, AL_OBJ_CQ, &ci->recv_cq);
	if (!status && init->srq)
		status = use_object(obj, init->srq, AL_OBJ_SRQ, &ci->srq);
	if (!status && init->qp_type == IB_QPT_RD)
		status = use_object(obj, init->rdd, AL_OBJ_RDD, &ci_init->rdd);
	if (!status && init->qp_type == IB_QPT_XRC_TGT)
		status = use_object(obj, init->xrcd, AL_OBJ_XRCD, &ci_init->xrcd);
	return status;
}

static al_status create(struct al_call *call, struct al_obj *obj, struct al_qp_init *init,
			al_qp_h *qp)
{
	struct ci_qp_init ci_init = { .attr = init, .cap = init->cap };
	struct al_qp *al_qp = (struct al_qp *)obj;
	struct ci_qp *ci = obj->ci;
	al_status status = resolve_handles(obj, init, &ci_init);

	if (status)
		return status;
	ci->owner_context = obj->context;
	ci->pd = obj->parent->ci;
	ci->qp_type = init->qp_type;
	ci->sq_sig_all = init->sq_sig_all;
	if (qp_type_has_port(init->qp_type))
		status = CALL_MODULE(call, create_spl_qp, ci, init->port_num, &ci_init, acting_for);
	else
		status = CALL_MODULE(call, create_qp, ci, &ci_init, acting_for);
	if (status) {
		if (status == AL_LIMIT_EXCEEDED)
			init->cap = ci_init.cap;
		return status;
	}
	ci->cap = ci_init.cap;
	al_qp->init = *init;
	al_qp->init.cap = ci_init.cap;
	status = check_created_qp(obj->dev, al_qp, &ci_init.cap, &init->cap);
	if (!status)
		status = obj_publish(obj, qp);
	if (status)
		destroy(obj, call->ops);
	else
		init->cap = ci_init.cap;
	return status;
}

al_status al_create_qp(al_pd_h pd, struct al_qp_init *init, void *context, al_event_cb event_cb,
		       al_qp_h *qp)
{
	const struct ib_ca_attr *ca;
	struct ev_queue *events;
	struct al_call call;
	struct al_obj *obj;
	al_status status;

	if (!init || !qp)
		return REFUSE(AL_INVALID_PARAMETER, "%s is NULL", init ? "qp" : "init");
	if (!RESERVED_IS_ZERO(init))
		return REFUSE(AL_INVALID_PARAMETER, RESERVED_NOT_ZERO);
	if (init->channel && event_cb)
		return REFUSE(
			AL_INVALID_PARAMETER,
			"a queue pair has a channel or a callback for its events, and the call gives both");
	if (init->qp_type <= IB_QPT_NONE || init->qp_type >= IB_QPT_COUNT)
		return REFUSE(AL_INVALID_PARAMETER,
			      "qp_type is %u, which is no type of queue pairs",
			      (unsigned int)init->qp_type);
	status = call_begin(&call, pd, AL_OBJ_PD);
	if (status)
		return SETTLED(status);
	ca = &call.obj->dev->attr;
	status = check_type(call.obj->dev, init);
	if (!status && held_by_library(call.obj, init))
		status = ib_refuse(
			AL_RESOURCE_BUSY,
			"the library serves the %s queue pair of port %u; al_get_spl_qp() gives an alias of it",
			al_qp_type_str(init->qp_type), init->port_num);
	if (!status)
		status = check_cap(ca, &init->cap);
	if (!status)
		status = obj_new(&qp_type, call.obj, call.obj->dev, context, &obj);
	if (status)
		goto out;
	pthread_mutex_init(&((struct al_qp *)obj)->modify_lock, NULL);
	events = &obj->dev->async.queue;
	if (init->channel)
		status = channel_use(obj, init->channel, &events);
	if (!status) {
		evobj_init((struct al_evobj *)obj, NULL, event_cb, events);
		((struct al_evobj *)obj)->failure = &((struct al_qp *)obj)->failure;
		status = create(&call, obj, init, qp);
	}
	if (status) {
		release_qp(obj);
		obj_abort(obj);
	}
out:
	return CALL_FINISH(&call, status);
}

al_status al_destroy_qp(al_qp_h qp, al_destroyed_cb cb, void *context)
{
	return obj_destroy(qp, is_alias(qp) ? OBJ_ALIAS(AL_OBJ_QP) : AL_OBJ_QP, cb, context);
}

/* ------------------------------------------------------------------ state */

static al_status check_path(const struct al_dev *dev, const struct ib_ah_attr *ah, uint8_t port,
			    uint16_t pkey_index)
{
	al_status status = ah_attr_check(dev, ah);

	if (status)
		return status;
	if (ah->port_num != port)
		return ib_refuse(AL_INVALID_PARAMETER,
				 "port_num of the path is %u, and the queue pair's is %u",
				 ah->port_num, port);
	return check_pkey_index(dev, "alt_pkey_index", port, pkey_index);
}

/* Checks the attributes that have no limits of the HCA but a range of their own (IBTA 9, 11.2.4).
 */
static al_status check_ranges(const struct ib_qp_attr *attr, uint32_t mask)
{
	const struct {
		uint32_t bit;
		const char *name;
		uint32_t value, most;
	} ranges[] = {
		{ IB_QP_TIMEOUT, "timeout", attr->timeout, 31 },
		{ IB_QP_RETRY_CNT, "retry_cnt", attr->retry_cnt, 7 },
		{ IB_QP_RNR_RETRY, "rnr_retry", attr->rnr_retry, 7 },
		{ IB_QP_MIN_RNR_TIMER, "min_rnr_timer", attr->min_rnr_timer, 31 },
		{ IB_QP_RQ_PSN, "rq_psn", attr->rq_psn, IB_PSN_MASK },
		{ IB_QP_SQ_PSN, "sq_psn", attr->sq_psn, IB_PSN_MASK },
		{ IB_QP_DEST_QPN, "dest_qp_num", attr->dest_qp_num, IB_QPN_MASK },
		{ IB_QP_PATH_MIG_STATE, "path_mig_state", (uint32_t)attr->path_mig_state,
		  IB_MIG_ARMED },
		{ IB_QP_ALT_PATH, "alt_timeout", attr->alt_timeout, 31 },
	};
	al_status status = AL_SUCCESS;

	for (size_t i = 0; !status && i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (mask & ranges[i].bit)
			status = check_most(AL_INVALID_PARAMETER, ranges[i].name, ranges[i].value,
					    ranges[i].most);
	return status;
}

static al_status check_alternate_path(const struct al_dev *dev, const struct ib_qp_attr *attr)
{
	al_status status = check_end_port(dev, "alt_port_num", attr->alt_port_num);

	return status ? status
		      : check_path(dev, &attr->alt_ah_attr, attr->alt_port_num,
				   attr->alt_pkey_index);
}

static al_status check_path_mtu(const struct al_dev *dev, ib_mtu mtu, uint8_t port)
{
	if (!ib_mtu_bytes(mtu))
		return ib_refuse(
			AL_INVALID_PARAMETER,
			"path_mtu is %u, which is no MTU; IB_MTU_256 (1) to IB_MTU_4096 (5) are, up to ib_port_attr.active_mtu",
			(unsigned int)mtu);
	if (dev_has_end_port(dev, port) && mtu > dev->ports[port].max_mtu)
		return ib_refuse(AL_INVALID_PARAMETER,
				 "path_mtu is %u bytes, and port %u has at most %u",
				 ib_mtu_bytes(mtu), port, ib_mtu_bytes(dev->ports[port].max_mtu));
	return AL_SUCCESS;
}

/* Checks the values of the attributes in mask. port: primary port of the queue pair after the call;
 * 0: none, or port 0 of a switch. */
static al_status check_values(const struct al_dev *dev, const struct ib_qp_attr *attr,
			      uint32_t mask, uint8_t port)
{
	const uint32_t access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |
				IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC | IB_ACCESS_MW_BIND;
	struct ib_qp_cap cap = attr->cap;
	al_status status = AL_SUCCESS;

	if (mask & IB_QP_PORT)
		status = check_end_port(dev, "port_num", attr->port_num);
	if (!status && mask & IB_QP_PKEY_INDEX && dev_has_end_port(dev, port))
		status = check_pkey_index(dev, "pkey_index", port, attr->pkey_index);
	if (!status && mask & IB_QP_AV)
		status = check_path(dev, &attr->ah_attr, port, 0);
	if (!status && mask & IB_QP_ALT_PATH)
		status = check_alternate_path(dev, attr);
	if (!status)
		status = check_ranges(attr, mask);
	if (!status && mask & IB_QP_ACCESS_FLAGS && attr->qp_access_flags & ~access)
		status = ib_refuse(
			AL_INVALID_PARAMETER,
			"qp_access_flags has the bits %#x, which are no access of queue pairs",
			attr->qp_access_flags & ~access);
	if (!status && mask & IB_QP_PATH_MTU)
		status = check_path_mtu(dev, attr->path_mtu, port);
	if (!status && mask & IB_QP_MAX_QP_RD_ATOMIC)
		status = check_most(AL_LIMIT_EXCEEDED, "max_rd_atomic", attr->max_rd_atomic,
				    dev->attr.max_qp_init_rd_atom);
	if (!status && mask & IB_QP_MAX_DEST_RD_ATOMIC)
		status = check_most(AL_LIMIT_EXCEEDED, "max_dest_rd_atomic",
				    attr->max_dest_rd_atomic, dev->attr.max_qp_rd_atom);
	return !status && mask & IB_QP_CAP ? check_cap(&dev->attr, &cap) : status;
}

/* Checks a modification against the current state and makes it. Under modify_lock, so the state
 * does not change between the check and the operation. */
static al_status modify(struct al_call *call, const struct ib_qp_attr *attr, uint32_t mask)
{
	const struct ci_qp *ci = call->obj->ci;
	struct ib_qp_attr now;
	ib_qp_state to;
	al_status status;

	if (obj_dying(call->obj)) /* quiesce() may have reset the queue pair already, and Reset must
				     be final */
		return ib_refuse(AL_INVALID_HANDLE,
				 "another thread destroyed the qp during the call");
	status = query_qp_checked(call, &now);
	if (status)
		return status;
	if (mask & IB_QP_CUR_STATE && attr->cur_qp_state != now.qp_state)
		return ib_refuse(
			AL_INVALID_TRANSITION, "cur_qp_state is %s, and the queue pair is in %s",
			al_qp_state_str(attr->cur_qp_state), al_qp_state_str(now.qp_state));
	to = mask & IB_QP_STATE ? attr->qp_state : now.qp_state;
	status = qp_table_check(ci->qp_type, now.qp_state, to, mask);
	if (!status)
		status = check_values(call->obj->dev, attr, mask,
				      mask & IB_QP_PORT ? attr->port_num : now.port_num);
	if (!status && now.qp_state == IB_QPS_SQD && now.sq_draining && to != IB_QPS_RESET &&
	    to != IB_QPS_ERR)
		status = ib_refuse(
			AL_INVALID_STATE,
			"the queue pair is still draining; wait for the event of the drained send queue");
	return status ? status
		      : CALL_MODULE(call, modify_qp, call->obj->ci, attr, mask, acting_for);
}

al_status al_modify_qp(al_qp_h qp, const struct ib_qp_attr *attr, uint32_t mask)
{
	struct al_call call;
	struct al_qp *al_qp;
	al_status status;

	if (!attr || !mask)
		return REFUSE(AL_INVALID_PARAMETER, "attr is NULL, or mask is 0");
	if (mask >= IB_QP_DEST_QPN * 2u)
		return REFUSE(AL_INVALID_PARAMETER,
			      "mask has the bits %#x, which name no attribute",
			      mask & ~(IB_QP_DEST_QPN * 2u - 1));
	if (!RESERVED_IS_ZERO(attr))
		return REFUSE(AL_INVALID_PARAMETER, RESERVED_NOT_ZERO);
	status = qp_begin(&call, qp);
	if (status)
		return SETTLED(status);
	al_qp = (struct al_qp *)call.obj;
	pthread_mutex_lock(&al_qp->modify_lock);
	status = modify(&call, attr, mask);
	pthread_mutex_unlock(&al_qp->modify_lock);
	return CALL_FINISH(&call, status);
}

al_status al_query_qp(al_qp_h qp, struct ib_qp_attr *attr, struct al_qp_init *init)
{
	struct al_call call;
	al_status status;

	if (!attr)
		return REFUSE(AL_INVALID_PARAMETER, "attr is NULL");
	if (is_alias(qp)) {
		status = query_alias(qp, attr, init);
		return SETTLED(status);
	}
	status = call_begin(&call, qp, AL_OBJ_QP);
	if (status)
		return SETTLED(status);
	status = query_qp_checked(&call, attr);
	if (!status && init)
		*init = ((struct al_qp *)call.obj)->init;
	return CALL_FINISH(&call, status);
}

al_status al_qp_num(al_qp_h qp, uint32_t *qpn)
{
	struct al_obj *obj;

	if (!qpn)
		return REFUSE(AL_INVALID_PARAMETER, "qpn is NULL");
	obj = obj_get(qp, is_alias(qp) ? OBJ_ALIAS(AL_OBJ_QP) : AL_OBJ_QP);
	if (!obj)
		return reason_settle(refuse_handle(qp, AL_OBJ_QP), __func__, NULL);
	*qpn = ((struct ci_qp *)obj->ci)->qp_num;
	obj_put(obj);
	return AL_SUCCESS;
}

/* -------------------------------------------------------------- data path */

/*
 * References on the objects that a blocking post_send has looked up by the handles in its work
 * requests. The references last until post_send returns. The first struct is on the caller's stack;
 * when its array is full, the contents move to an allocated block.
 */
struct wr_refs {
	struct wr_refs *next;
	uint32_t num; /* elements of obj that are in use */
	struct al_obj *obj[14];
};
#define WR_REFS_MAX (sizeof(((struct wr_refs *)0)->obj) / sizeof(struct al_obj *))
static _Thread_local struct wr_refs
	*wr_refs; /* references of this thread's blocking post_send; NULL: it is in none */

/* Drops all references, and frees the allocated blocks. */
static void drop_wr_refs(struct wr_refs *first)
{
	struct wr_refs *more;

	for (struct wr_refs *l = first; l; l = more) {
		more = l->next;
		while (l->num)
			obj_put(l->obj[--l->num]);
		if (l != first)
			al_free(l);
	}
}

/* Finds a handle's object and keeps a reference in wr_refs. NULL: the handle is invalid, or no
 * memory is left. */
static struct al_obj *get_wr_object(const void *handle, al_object_type type)
{
	struct wr_refs *full;
	struct al_obj *obj;

	if (!wr_refs)
		return NULL;
	if (wr_refs->num == WR_REFS_MAX) {
		full = al_alloc(sizeof(*full));
		if (!full)
			return NULL;
		*full = *wr_refs;
		wr_refs->next = full;
		wr_refs->num = 0;
	}
	obj = obj_get(handle, type);
	if (obj)
		wr_refs->obj[wr_refs->num++] = obj;
	return obj;
}

/* Posts for the cases that al_post_send() does not handle: the module may block, the trace is on,
 * or the handle is invalid. */
static __attribute__((cold, noinline)) al_status send_slow(al_qp_h qp, const struct ib_send_wr *wr,
							   const struct ib_send_wr **bad_wr)
{
	const struct ib_send_wr *bad = NULL;
	struct wr_refs objects = { 0 };
	struct al_call call;
	al_status status;

	IB_TRACE("driver", "post_send to qp %#llx, wr_id %#llx", (unsigned long long)(uintptr_t)qp,
		 (unsigned long long)wr->wr_id);
	if (data_begin(&call, qp, AL_OBJ_QP, CI_MAY_BLOCK(post_send))) {
		*bad_wr = wr;
		return reason_settle(qp_refuse(qp), "al_post_send", NULL);
	}
	IB_TRACE("al", "post_send: hands the requests to the HCA's module %s",
		 call.obj->dev->module);
	wr_refs = &objects;
	status = CALL_MODULE(&call, post_send, call.obj->ci, wr, &bad);
	wr_refs = NULL;
	if (status) {
		*bad_wr = check_bad_wr(call.obj->dev, "post_send", wr, bad);
		reason_settle(status, "al_post_send", call.obj);
	}
	drop_wr_refs(&objects);
	data_end(&call, CI_MAY_BLOCK(post_send));
	IB_TRACE("al", "post_send returns to the channel driver: %s", al_status_str(status));
	return status;
}

al_status al_post_send(al_qp_h qp, const struct ib_send_wr *wr, const struct ib_send_wr **bad_wr)
{
	const struct ib_send_wr *bad = NULL, *unread;
	struct al_obj *obj;
	al_status status;

	if (__builtin_expect(!wr, 0))
		return REFUSE(AL_INVALID_PARAMETER, "wr is NULL");
	if (__builtin_expect(!bad_wr, 0))
		bad_wr = &unread;
	if (__builtin_expect(ib_trace_on, 0))
		return send_slow(qp, wr, bad_wr);
	obj = data_enter(qp, AL_OBJ_QP, CI_MAY_BLOCK(post_send));
	if (__builtin_expect(!obj, 0))
		return send_slow(qp, wr, bad_wr);
	status = dev_ops(obj->dev)->post_send(obj->ci, wr, &bad);
	if (__builtin_expect(status != AL_SUCCESS, 0)) {
		status = check_status(obj->dev, "post_send", status);
		*bad_wr = check_bad_wr(obj->dev, "post_send", wr, bad);
		reason_settle(status, __func__, obj);
	}
	rcu_leave();
	return status;
}

/* Posts for the cases that al_post_recv() does not handle: the module may block, the trace is on,
 * or the handle is invalid. */
static __attribute__((cold, noinline)) al_status recv_slow(al_qp_h qp, const struct ib_recv_wr *wr,
							   const struct ib_recv_wr **bad_wr)
{
	const struct ib_recv_wr *bad = NULL;
	struct al_call call;
	al_status status;

	IB_TRACE("driver", "post_recv to qp %#llx, wr_id %#llx", (unsigned long long)(uintptr_t)qp,
		 (unsigned long long)wr->wr_id);
	if (data_begin(&call, qp, AL_OBJ_QP, CI_MAY_BLOCK(post_recv))) {
		*bad_wr = wr;
		return reason_settle(qp_refuse(qp), "al_post_recv", NULL);
	}
	IB_TRACE("al", "post_recv: hands the requests to the HCA's module %s",
		 call.obj->dev->module);
	status = CALL_MODULE(&call, post_recv, call.obj->ci, wr, &bad);
	if (status) {
		*bad_wr = check_bad_wr(call.obj->dev, "post_recv", wr, bad);
		reason_settle(status, "al_post_recv", call.obj);
	}
	data_end(&call, CI_MAY_BLOCK(post_recv));
	IB_TRACE("al", "post_recv returns to the channel driver: %s", al_status_str(status));
	return status;
}

al_status al_post_recv(al_qp_h qp, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad_wr)
{
	const struct ib_recv_wr *bad = NULL, *unread;
	struct al_obj *obj;
	al_status status;

	if (__builtin_expect(!wr, 0))
		return REFUSE(AL_INVALID_PARAMETER, "wr is NULL");
	if (__builtin_expect(!bad_wr, 0))
		bad_wr = &unread;
	if (__builtin_expect(ib_trace_on, 0))
		return recv_slow(qp, wr, bad_wr);
	obj = data_enter(qp, AL_OBJ_QP, CI_MAY_BLOCK(post_recv));
	if (__builtin_expect(!obj, 0))
		return recv_slow(qp, wr, bad_wr);
	status = dev_ops(obj->dev)->post_recv(obj->ci, wr, &bad);
	if (__builtin_expect(status != AL_SUCCESS, 0)) {
		status = check_status(obj->dev, "post_recv", status);
		*bad_wr = check_bad_wr(obj->dev, "post_recv", wr, bad);
		reason_settle(status, __func__, obj);
	}
	rcu_leave();
	return status;
}

/* ------------------------------------------------- handles in work requests */

/*
 * Finds the module's object of a handle in a work request. The object is usable until post_send
 * returns: al_post_send() is in a read section, or send_slow() keeps a reference. NULL: the handle
 * is invalid, or belongs to another opening or HCA.
 */
static void *wr_object(const struct ci_qp *qp, const void *handle, al_object_type type)
{
	struct al_obj *qp_obj = qp->ctx, *obj;

	obj = qp_obj->dev->may_block & CI_MAY_BLOCK(post_send) ? get_wr_object(handle, type)
							       : obj_peek(handle, type);
	return obj && obj->al == qp_obj->al && obj->dev == qp_obj->dev ? obj->ci : NULL;
}

struct ci_ah *ci_wr_ah(const struct ci_qp *qp, al_ah_h ah)
{
	return wr_object(qp, ah, AL_OBJ_AH);
}

struct ci_mw *ci_wr_mw(const struct ci_qp *qp, al_mw_h mw)
{
	return wr_object(qp, mw, AL_OBJ_MW);
}

struct ci_mr *ci_wr_mr(const struct ci_qp *qp, al_mr_h mr)
{
	return wr_object(qp, mr, AL_OBJ_MR);
}
