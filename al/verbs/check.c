/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Checks of a module's results before they reach a channel driver, in this process or, through an
 * agent, in another. The ranges of HCA and port attributes are in ci/attr_check.c.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "al/verbs/verbs.h"

/* Errors of one HCA's module that are logged. The limit keeps a client from filling the log through
 * a faulty module. */
#define MAX_LOGGED_ERRORS 16

al_status report_module_error(struct al_dev *dev, const char *fmt, ...)
{
	unsigned int before = atomic_fetch_add(&dev->module_errors, 1);
	char text[CI_TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	ib_refuse(AL_MODULE_FAILED, "module %s broke a rule: %s", dev->module, text);
	if (before >= MAX_LOGGED_ERRORS) {
		/* keeps the counter from wrapping */
		atomic_store(&dev->module_errors, MAX_LOGGED_ERRORS);
		return AL_MODULE_FAILED;
	}
	ib_log(IB_LOG_ERROR, dev->module, "HCA 0x%016llx: %s%s", (unsigned long long)dev->guid,
	       text,
	       before == MAX_LOGGED_ERRORS - 1
		       ? "; further errors of this HCA's module are not logged"
		       : "");
	return AL_MODULE_FAILED;
}

al_status check_status(struct al_dev *dev, const char *op, al_status status)
{
	if (!ci_status_known(status))
		return report_module_error(dev, "%s returned %d, which is no al_status", op,
					   (int)status);
	if (status && (!ci_reason.fresh || ci_reason.status != status))
		ib_refuse(status, "%s of module %s refuses without a reason: %s", op, dev->module,
			  al_status_str(status));
	return status;
}

uint32_t check_count(struct al_dev *dev, const char *op, uint32_t most, uint32_t count)
{
	if (count <= most)
		return count;
	report_module_error(dev, "%s reported %u completions; the most it may report: %u", op,
			    count, most);
	return most;
}

/* -------------------------------------------------------------------- queries */

al_status query_ca_checked(const struct al_call *call, struct ib_ca_attr *attr)
{
	char why[CI_TEXT_MAX];
	al_status status = ci_query_ca(call->ops, call->obj->ci, attr, why);

	if (!status)
		memcpy(attr->name, call->obj->dev->attr.name, sizeof(attr->name));
	return status == AL_MODULE_FAILED ? report_module_error(call->obj->dev, "%s", why) : status;
}

al_status query_port_checked(const struct al_call *call, uint8_t port, struct ib_port_attr *attr)
{
	char why[CI_TEXT_MAX];
	al_status status = ci_query_port(call->ops, call->obj->ci, port, attr, why);

	return status == AL_MODULE_FAILED ? report_module_error(call->obj->dev, "%s", why) : status;
}

al_status query_qp_checked(const struct al_call *call, struct ib_qp_attr *attr)
{
	const struct ib_ca_attr *ca = &call->obj->dev->attr;
	struct ib_qp_attr found = { 0 };
	al_status status = CALL_MODULE(call, query_qp, call->obj->ci, &found);

	if (status)
		return status;
	if ((unsigned int)found.qp_state >= IB_QPS_COUNT)
		return report_module_error(
			call->obj->dev,
			"query_qp returned qp_state %u, which is no queue pair state",
			(unsigned int)found.qp_state);
	if (found.port_num > ca->num_ports || found.alt_port_num > ca->num_ports)
		return report_module_error(
			call->obj->dev,
			"query_qp returned port_num %u and alt_port_num %u; the HCA has %u ports",
			found.port_num, found.alt_port_num, ca->num_ports);
	*attr = found;
	return AL_SUCCESS;
}

/* -------------------------------------------------------------- work requests */

_Static_assert(offsetof(struct ib_send_wr, next) == 0 && offsetof(struct ib_recv_wr, next) == 0,
	       "check_bad_wr() follows \"next\" of either type");

const void *check_bad_wr(struct al_dev *dev, const char *op, const void *first, const void *bad)
{
	for (const void *wr = first; wr; wr = *(const void *const *)wr)
		if (wr == bad)
			return bad;
	report_module_error(dev, "%s failed and set *bad to %p, which is no request of the chain",
			    op, bad);
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

al_status check_created_qp(struct al_dev *dev, struct al_qp *qp, const struct ib_qp_cap *cap,
			   const struct ib_qp_cap *asked)
{
	uint32_t qpn = ((struct ci_qp *)qp->ev.obj.ci)->qp_num;
	al_status status;

	if (!cap_covers(cap, asked))
		return report_module_error(
			dev,
			"create_qp granted less than requested: max_send_wr %u, max_recv_wr %u, max_send_sge %u, max_recv_sge %u, "
			"max_inline_data %u; requested: %u, %u, %u, %u, %u",
			cap->max_send_wr, cap->max_recv_wr, cap->max_send_sge, cap->max_recv_sge,
			cap->max_inline_data, asked->max_send_wr, asked->max_recv_wr,
			asked->max_send_sge, asked->max_recv_sge, asked->max_inline_data);
	/* The number of a special or raw queue pair is fixed for each port: several ports share the
	 * number. */
	if (qp_type_has_port(qp->init.qp_type))
		return AL_SUCCESS;
	if (qpn < 2 || qpn >= IB_QPN_MASK)
		return report_module_error(
			dev, "create_qp set qp_num to %#x; valid numbers are 0x2 to 0xfffffe", qpn);
	status = qpns_take(&dev->qpns, qpn);
	if (status == AL_DUPLICATE)
		return report_module_error(
			dev, "create_qp set qp_num to %#x, which is another queue pair's number",
			qpn);
	if (!status)
		qp->reserved_qpn = qpn;
	return status;
}

void release_qp_num(struct al_dev *dev, struct al_qp *qp)
{
	if (qp->reserved_qpn)
		qpns_give(&dev->qpns, qp->reserved_qpn);
	qp->reserved_qpn = 0;
}
