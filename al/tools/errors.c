/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The error counters of a port (errors.h). */
#include "al/tools/errors.h"

const struct port_error_kind port_error_kinds[PORT_ERRORS] = {
#define PORT_ERROR_KIND(name, warning, critical, text, way_out) \
	{ #name, text, way_out, warning, critical },
	PORT_ERROR_LIST(PORT_ERROR_KIND)
};

void port_errors_of_attr(guint64 *errors, const struct ib_port_counters *counters)
{
#define TAKE_ATTR(name, warning, critical, text, way_out) \
	errors[PORT_ERROR_##name] = counters->name;
	PORT_ERROR_LIST(TAKE_ATTR)
}

void port_errors_of_mad(guint64 *errors, const struct ib_perf_port_counters *c)
{
	errors[PORT_ERROR_symbol_errors] = ib_be16_get(c->symbol_errors);
	errors[PORT_ERROR_link_error_recovery] = c->link_error_recovery;
	errors[PORT_ERROR_link_downed] = c->link_downed;
	errors[PORT_ERROR_rcv_errors] = ib_be16_get(c->rcv_errors);
	errors[PORT_ERROR_rcv_remote_phys_errors] = ib_be16_get(c->rcv_remote_phys_errors);
	errors[PORT_ERROR_rcv_switch_relay_errors] = ib_be16_get(c->rcv_switch_relay_errors);
	errors[PORT_ERROR_xmit_discards] = ib_be16_get(c->xmit_discards);
	errors[PORT_ERROR_xmit_constraint_errors] = c->xmit_constraint_errors;
	errors[PORT_ERROR_rcv_constraint_errors] = c->rcv_constraint_errors;
	errors[PORT_ERROR_link_integrity_errors] = ib_perf_port_counters_link_integrity_errors(c);
	errors[PORT_ERROR_buffer_overrun_errors] = ib_perf_port_counters_buffer_overrun_errors(c);
	errors[PORT_ERROR_vl15_dropped] = ib_be16_get(c->vl15_dropped);
}

gboolean port_errors_are_many(const guint64 *errors)
{
	for (guint i = 0; i < PORT_ERRORS; i++)
		if (port_error_kinds[i].warning && errors[i] >= port_error_kinds[i].warning)
			return TRUE;
	return FALSE;
}
