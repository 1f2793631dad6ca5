/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What modules answer, held against what can be answered, before it reaches a channel driver: of
 * this process or, through an agent, of another. Attributes of HCAs and ports are ci/door.c's.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "al/verbs/verbs.h"

/* More of one HCA tell nothing new, and a client could fill the log with them. */
#define COMPLAINTS 16

al_status door_refuse(struct al_dev *dev, const char *fmt, ...)
{
	unsigned int before = atomic_fetch_add(&dev->complaints, 1);
	char text[CI_TEXT_MAX];
	va_list ap;

	if (before >= COMPLAINTS) {
		atomic_store(&dev->complaints, COMPLAINTS); /* it does not wrap */
		return AL_MODULE_FAILED;
	}
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	ib_log(IB_LOG_ERROR, dev->module, "HCA 0x%016llx: %s%s", (unsigned long long)dev->guid, text,
	       before == COMPLAINTS - 1 ? "; what else its module gets wrong is not told" : "");
	return AL_MODULE_FAILED;
}

al_status door_status(struct al_dev *dev, const char *op, al_status status)
{
	if (ci_status_known(status))
		return status;
	return door_refuse(dev, "%s answered %d, which is no status", op, (int)status);
}

uint32_t door_count(struct al_dev *dev, const char *op, uint32_t most, uint32_t count)
{
	if (count <= most)
		return count;
	door_refuse(dev, "%s answered %u completions where %u were asked for", op, count, most);
	return most;
}

/* -------------------------------------------------------------------- queries */

al_status door_query_ca(const struct al_call *call, struct ib_ca_attr *attr)
{
	char why[CI_TEXT_MAX];
	al_status status = ci_query_ca(call->ops, call->obj->ci, attr, why);

	return status == AL_MODULE_FAILED ? door_refuse(call->obj->dev, "%s", why) : status;
}

al_status door_query_port(const struct al_call *call, uint8_t port, struct ib_port_attr *attr)
{
	char why[CI_TEXT_MAX];
	al_status status = ci_query_port(call->ops, call->obj->ci, port, attr, why);

	return status == AL_MODULE_FAILED ? door_refuse(call->obj->dev, "%s", why) : status;
}

al_status door_query_qp(const struct al_call *call, struct ib_qp_attr *attr)
{
	const struct ib_ca_attr *ca = &call->obj->dev->attr;
	struct ib_qp_attr found = { 0 };
	al_status status = ASK(call, query_qp, call->obj->ci, &found);

	if (status)
		return status;
	if ((unsigned int)found.qp_state >= IB_QPS_COUNT)
		return door_refuse(call->obj->dev, "query_qp answered the state %u",
				   (unsigned int)found.qp_state);
	if (found.port_num > ca->num_ports || found.alt_port_num > ca->num_ports)
		return door_refuse(call->obj->dev, "query_qp answered the ports %u and %u, of %u",
				   found.port_num, found.alt_port_num, ca->num_ports);
	*attr = found;
	return AL_SUCCESS;
}

/* -------------------------------------------------------------- work requests */

_Static_assert(offsetof(struct ib_send_wr, next) == 0 && offsetof(struct ib_recv_wr, next) == 0,
	       "a chain is walked without its type");

const void *door_bad(struct al_dev *dev, const char *op, const void *first, const void *bad)
{
	for (const void *wr = first; wr; wr = *(const void *const *)wr)
		if (wr == bad)
			return bad;
	door_refuse(dev, "%s failed, and *bad is %p, which is no request of the chain", op, bad);
	return first;
}

/* ---------------------------------------------------------------- queue pairs */

static bool cap_covers(const struct ib_qp_cap *cap, const struct ib_qp_cap *asked)
{
	return cap->max_send_wr >= asked->max_send_wr && cap->max_recv_wr >= asked->max_recv_wr &&
	       cap->max_send_sge >= asked->max_send_sge &&
	       cap->max_recv_sge >= asked->max_recv_sge &&
	       cap->max_inline_data >= asked->max_inline_data;
}

al_status door_qp_made(struct al_dev *dev, struct al_qp *qp, const struct ib_qp_cap *cap,
		       const struct ib_qp_cap *asked)
{
	uint32_t qpn = ((struct ci_qp *)qp->ev.obj.ci)->qp_num;
	al_status status;

	if (!cap_covers(cap, asked))
		return door_refuse(
			dev,
			"create_qp made queues of %u and %u requests with %u and %u elements and %u inline bytes, less than "
			"the %u, %u, %u, %u and %u that were asked for",
			cap->max_send_wr, cap->max_recv_wr, cap->max_send_sge, cap->max_recv_sge,
			cap->max_inline_data, asked->max_send_wr, asked->max_recv_wr,
			asked->max_send_sge, asked->max_recv_sge, asked->max_inline_data);
	/* Special and raw queue pairs have the numbers of their ports. */
	if (qp->init.port_num)
		return AL_SUCCESS;
	if (qpn < 2 || qpn >= IB_QPN_MASK)
		return door_refuse(
			dev, "create_qp gave the number %#x, and numbers are from 2 to 0xfffffe",
			qpn);
	status = qpns_take(&dev->qpns, qpn);
	if (status == AL_DUPLICATE)
		return door_refuse(
			dev, "create_qp gave the number %#x, which another queue pair has", qpn);
	qp->taken = status ? 0 : qpn;
	return status;
}

void door_qp_ends(struct al_dev *dev, struct al_qp *qp)
{
	if (qp->taken)
		qpns_give(&dev->qpns, qp->taken);
	qp->taken = 0;
}
