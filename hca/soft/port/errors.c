/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Errors of a port's link: damaged packets and full buffers, the thresholds that a subnet manager
 * sets for both (PortInfo.LocalPhyErrors and OverrunErrors, IBTA 7.12.2 and 14.2.5.6), and what
 * happens when errors pass a threshold. What damages packets is in fabric/cable.c.
 *
 * That good packets make up for damaged ones is this module's model of a link that is bad now, and
 * not one that has an error now and then. A link recovers in no time, so no port is seen in
 * ActDefer.
 */
#include <iba/ib_notice.h>

#include "hca/soft/base/clock.h"
#include "hca/soft/port/port.h"

/* A port updates the flow control of its link once in 65,536 symbol times of 4 ns. */
#define FLOW_CONTROL_PERIOD (65536 * 4ull)

void port_recover_link(struct soft_port *port)
{
	port_count(port, CNT_LINK_RECOVERIES, 1);
	if (port->cable != port)
		port_count(port->cable, CNT_LINK_RECOVERIES, 1);
}

/* Counts that errors have passed their threshold, and raises the trap; the link recovers. Under
 * ports_lock. */
static void pass_threshold(struct soft_port *port, enum port_counter counter, ib_trap trap)
{
	struct soft_port *agent = port_is_external(port) ? port_of_hca(port, 0) : port;
	struct ib_notice notice;

	port_count(port, counter, 1);
	ib_notice_port(&notice, trap, port_lid(agent), port->number);
	port_notice(agent, &notice);
	port_recover_link(port);
}

/* ------------------------------------------------------------------ damaged packets */

static void set_phy_errors(struct soft_port *port, uint32_t errors)
{
	atomic_store_explicit(&port->phy_errors, (uint8_t)errors, memory_order_relaxed);
}

void port_take_damaged(struct soft_port *port)
{
	uint32_t errors;

	port_count(port, CNT_RCV_ERRORS, 1);
	port_count(port, CNT_SYMBOL_ERRORS, 1);
	port_lock();
	errors = port_phy_errors(port) + 1u;
	if (errors > ib_port_info_local_phy_errors(&port->regs.info)) {
		errors = 0;
		pass_threshold(port, CNT_LINK_INTEGRITY, IB_TRAP_LINK_INTEGRITY);
	}
	set_phy_errors(port, errors);
	port_unlock();
}

void port_forget_phy_error(struct soft_port *port)
{
	port_lock();
	if (port_phy_errors(port))
		set_phy_errors(port, port_phy_errors(port) - 1u);
	port_unlock();
}

/* --------------------------------------------------------------------- full buffers */

/* Notes an overrun in a flow control period. True: the overruns have passed their threshold, and
 * are counted anew from the next period on. Under ports_lock. */
static bool is_excessive(struct soft_port *port, uint64_t period)
{
	struct overruns *o = &port->overruns;

	if (period == o->period)
		return false;
	o->run = period == o->period + 1 ? o->run + 1 : 1;
	o->period = period;
	if (o->run < ib_port_info_overrun_errors(&port->regs.info))
		return false;
	o->run = 0;
	return true;
}

void port_overrun(struct soft_port *port, bool vl15)
{
	if (vl15) { /* lane 15 has no flow control: a full buffer is no error of the link */
		port_count(port, CNT_RCV_DROPPED, 1);
		port_count(port, CNT_VL15_DROPPED, 1);
		return;
	}
	port_count(port, CNT_RCV_ERRORS, 1);
	port_lock();
	if (is_excessive(port, clock_ns() / FLOW_CONTROL_PERIOD + 1))
		pass_threshold(port, CNT_BUFFER_OVERRUNS, IB_TRAP_BUFFER_OVERRUN);
	port_unlock();
}
