/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Aliases of special queue pairs: al_get_spl_qp(). The library owns QP0 and QP1 of a port, and MAD
 * services share them. An alias keeps the port served, tells the state of the special queue pair,
 * and gets its asynchronous events. Of an HCA behind an agent, the agent's library has the alias,
 * and this process an alias of that one.
 */
#include "al/mgmt/mgmt.h"
#include "al/mgmt/remote.h"
#include "al/verbs/verbs.h"

struct spl_qp {
	struct al_qp_alias alias;
	struct mgmt_port *port; /* referenced; NULL: the port is an agent's */
	struct mgmt_qp *qp;     /* constant; NULL: the port is an agent's */
	struct mgmt_link link;  /* mgmt_qp.aliases; guarded by port->lock */
};

static struct spl_qp *spl_qp_of(struct al_obj *obj)
{
	return (struct spl_qp *)obj;
}

void spl_qp_event(void *context, const struct al_event *event)
{
	struct mgmt_qp *qp = context;

	pthread_mutex_lock(&qp->port->lock);
	for (struct mgmt_link *l = qp->aliases.next; l != &qp->aliases; l = l->next)
		ev_raise(&LINK_OWNER(l, struct spl_qp, link)->alias.ev.obj.ev, 1u << event->type);
	pthread_mutex_unlock(&qp->port->lock);
}

/* ------------------------------------------------------ HCAs of this process */

static al_status query(const struct al_call *call, struct ib_qp_attr *attr)
{
	al_status status = al_query_qp(spl_qp_of(call->obj)->qp->handle, attr, NULL);

	/* the library's own queue pair ends with the HCA */
	return status == AL_INVALID_HANDLE ? AL_CA_REMOVED : status;
}

static void take_out(struct al_obj *obj)
{
	struct spl_qp *spl = spl_qp_of(obj);

	pthread_mutex_lock(&spl->port->lock);
	link_remove(&spl->link);
	pthread_mutex_unlock(&spl->port->lock);
}

static void invalidated(struct al_obj *obj)
{
	take_out(obj);
	evobj_invalidated(obj);
}

static void release(struct al_obj *obj)
{
	mgmt_port_put(spl_qp_of(obj)->port);
}

static const struct obj_type spl_qp_type = {
	.id = AL_OBJ_QP,
	.size = sizeof(struct spl_qp),
	.ci = CI_OBJ_QP,
	.rank = RANK_QP,
	.alias = true,
	.published = evobj_published,
	.invalidated = invalidated,
	.release = release,
};

/* What an alias is to be. */
struct wanted {
	uint8_t port_num;
	ib_qp_type type;
	void *context;
	al_event_cb event_cb;
};

static al_status new_alias(const struct obj_type *obj_type, struct al_obj *ca,
			   const struct wanted *wanted, struct al_obj **out)
{
	al_status status = obj_new(obj_type, ca, ca->dev, wanted->context, out);
	struct ci_qp *ci;

	if (status)
		return status;
	evobj_init((struct al_evobj *)*out, NULL, wanted->event_cb, &ca->dev->async.queue);
	link_init(&spl_qp_of(*out)->link);
	spl_qp_of(*out)->alias.port_num = wanted->port_num;
	ci = (*out)->ci;
	ci->owner_context = wanted->context;
	ci->qp_type = wanted->type;
	ci->qp_num = wanted->type == IB_QPT_GSI;
	return AL_SUCCESS;
}

static al_status get_own(struct al_obj *ca, const struct wanted *wanted, al_qp_h *handle)
{
	struct mgmt_port *port;
	struct spl_qp *spl;
	struct al_obj *obj;
	const enum mgmt_qpn qpn = wanted->type == IB_QPT_GSI ? MGMT_QP1 : MGMT_QP0;
	al_status status = mgmt_check_qpn(ca->dev, wanted->port_num, qpn);

	if (!status)
		status = mgmt_serve(ca->dev, wanted->port_num, &port);
	if (status)
		return status;
	status = new_alias(&spl_qp_type, ca, wanted, &obj);
	if (status) {
		mgmt_port_put(port);
		return status;
	}
	spl = spl_qp_of(obj);
	spl->alias.query = query;
	spl->port = port;
	spl->qp = &port->qp[qpn];
	pthread_mutex_lock(&port->lock);
	link_insert(&spl->qp->aliases, &spl->link);
	pthread_mutex_unlock(&port->lock);
	status = obj_publish(obj, handle);
	if (status) {
		take_out(obj);
		release(obj);
		obj_abort(obj);
	}
	return status;
}

/* ------------------------------------------------------------ HCAs of an agent */

static al_status query_remote(const struct al_call *call, struct ib_qp_attr *attr)
{
	return remote_query_spl_qp(obj_ca(call->obj), call->obj->ci, attr);
}

static void destroy_remote(struct al_obj *obj, const struct ci_interface *module)
{
	(void)module;
	remote_put_spl_qp(obj_ca(obj), obj->ci);
}

static const struct obj_type remote_spl_qp_type = {
	.id = AL_OBJ_QP,
	.size = sizeof(struct spl_qp),
	.ci = CI_OBJ_QP,
	.rank = RANK_QP,
	.alias = true,
	.published = evobj_published,
	.invalidated = evobj_invalidated,
	.destroy = destroy_remote,
};

static al_status get_remote(struct al_obj *ca, const struct wanted *wanted, al_qp_h *handle)
{
	struct al_obj *obj;
	al_status status = new_alias(&remote_spl_qp_type, ca, wanted, &obj);

	if (status)
		return status;
	spl_qp_of(obj)->alias.query = query_remote;
	status = remote_get_spl_qp(ca, wanted->port_num, obj->ci);
	if (!status) {
		status = obj_publish(obj, handle);
		if (status)
			remote_put_spl_qp(ca, obj->ci);
	}
	if (status)
		obj_abort(obj);
	return status;
}

/* ------------------------------------------------------------------------ API */

al_status al_get_spl_qp(al_ca_h ca, uint8_t port_num, ib_qp_type type, void *context,
			al_event_cb event_cb, al_qp_h *qp)
{
	const struct wanted wanted = { port_num, type, context, event_cb };
	struct al_call call;
	al_status status;

	if (!qp)
		return REFUSE(AL_INVALID_PARAMETER, "qp is NULL");
	if (type != IB_QPT_SMI && type != IB_QPT_GSI)
		return REFUSE(AL_INVALID_PARAMETER,
			      "type is %s, and special queue pairs are SMI and GSI",
			      al_qp_type_str(type));
	status = call_begin(&call, ca, AL_OBJ_CA);
	if (status)
		return SETTLED(status);
	status = check_end_port(call.obj->dev, "port_num", port_num);
	if (ops_dead(call.ops))
		status = ops_dead_status(call.ops);
	else if (status)
		return CALL_FINISH(&call, status);
	else if (obj_agent(call.obj))
		status = get_remote(call.obj, &wanted, qp);
	else
		status = get_own(call.obj, &wanted, qp);
	return CALL_FINISH(&call, status);
}
