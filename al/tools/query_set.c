/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * al_query port up|down: changes of a port, by its subnet management agent. The agent of ald
 * carries them out for users with the right manage only.
 */
#include <stdio.h>
#include <string.h>

#include <iba/ib_mad_sm.h>

#include "al/tools/query.h"

/* Asks the port's agent, in the Access Layer, for its PortInfo (Get), or to take it (Set). *status:
 * of the response. */
static al_status ask(const struct query *q, al_ca_h ca, guint8 method, struct ib_port_info *info,
		     guint16 *status)
{
	struct ib_smp smp = {
		.base_version = IB_MAD_BASE_VERSION,
		.mgmt_class = IB_CLASS_SUBN_LID,
		.class_version = IB_SMP_CLASS_VERSION,
		.method = method,
		.attr_id = ib_be16_of(IB_SMP_PORT_INFO),
		.attr_mod = ib_be32_of((guint32)q->port),
		.mkey = ib_be64_of(q->m_key),
	};
	struct ib_mad mad;
	al_status st;

	memcpy(smp.data, info, sizeof(*info));
	memcpy(&mad, &smp, sizeof(mad));
	st = al_local_mad(ca, (guint8)q->port, &mad, &mad);
	if (st)
		return st;
	memcpy(&smp, &mad, sizeof(smp));
	memcpy(info, smp.data, sizeof(*info));
	*status = ib_be16_get(smp.status);
	return AL_SUCCESS;
}

/* Why the port did not change, and what to do. */
static const char *reason(al_status st)
{
	switch (st) {
	case AL_UNSUPPORTED:
		return "it has no subnet management agent in the Access Layer (a software HCA has one with subnet=managed)";
	case AL_NOT_FOUND:
		return "its agent does not answer: --m-key may be wrong";
	case AL_PERMISSION:
		return "ald gives you no right to manage: ald(8) says how an administrator grants it";
	default:
		return al_status_str(st);
	}
}

static void set_port(struct query *q, const struct al_snap_ca *snap, al_ca_h ca, gboolean up)
{
	const char *const to = up ? "up" : "down";
	struct ib_port_info info = { 0 };
	guint16 refused = 0;
	al_status st = ask(q, ca, IB_METHOD_GET, &info, &refused);

	if (!st && !refused) {
		ib_port_info_set_port_state(&info, IB_PORT_NOP);
		ib_port_info_set_phys_state(&info, up ? IB_PHYS_POLLING : IB_PHYS_DISABLED);
		st = ask(q, ca, IB_METHOD_SET, &info, &refused);
	}
	if (st)
		query_error(q, TOOL_FAILED,
			    "HCA 0x%016" G_GINT64_MODIFIER
			    "x, port %d: it cannot be brought %s: %s",
			    snap->guid, q->port, to, reason(st));
	else if (refused)
		query_error(
			q, TOOL_FAILED,
			"HCA 0x%016" G_GINT64_MODIFIER
			"x, port %d: it cannot be brought %s: its agent refuses with status 0x%04x",
			snap->guid, q->port, to, refused);
}

gboolean query_set_port(struct query *q)
{
	const char *const to = *q->args;
	const struct al_snap_ca *snap;
	al_status st;
	al_ca_h ca;

	if (strcmp(to, "up") && strcmp(to, "down")) {
		query_error(q, TOOL_USAGE, "port %s: must be up or down", to);
		return FALSE;
	}
	if (!q->cas || q->cas[1] || !q->port || q->watch) {
		query_error(q, TOOL_USAGE,
			    "port %s needs one HCA by --ca and its port by --port, without --watch",
			    to);
		return FALSE;
	}
	snap = query_find_ca(q, q->ca);
	if (!snap)
		return FALSE;
	st = al_open_ca(q->al, snap->guid, NULL, &ca);
	if (st) {
		query_error(q, TOOL_FAILED, "HCA 0x%016" G_GINT64_MODIFIER "x cannot be opened: %s",
			    snap->guid, al_status_str(st));
		return TRUE;
	}
	set_port(q, snap, ca, !strcmp(to, "up"));
	al_close_ca(ca, AL_DESTROY_SYNC, NULL);
	return TRUE;
}
