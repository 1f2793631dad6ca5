/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Registers faults and captures at the hooks of the links. The faults and captures themselves are in fault.c and
 * capture.c.
 */
#include "hca/soft/lab/lab.h"

#include "hca/soft/lab/capture.h"
#include "hca/soft/lab/fault.h"
#include "hca/soft/link/hooks.h"

static const struct link_hooks hooks = {
	.clip = fault_clip,
	.passes = fault_passes,
	.leaves = fault_packet,
	.left = fault_release,
	.forget = fault_forget,
	.sent = capture_sent,
	.received = capture_received,
};

void lab_start(void)
{
	link_hooks = &hooks;
}
