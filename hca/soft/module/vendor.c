/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The vendor's own calls (iba/ib_soft.h): checks their arguments. The folders lab/, port/ and engine/ execute the
 * calls.
 */
#include <errno.h>
#include <iba/ib_soft.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hca/soft/base/clock.h"
#include "hca/soft/base/config.h"
#include "hca/soft/fabric/fabric.h"
#include "hca/soft/lab/capture.h"
#include "hca/soft/lab/fault.h"
#include "hca/soft/lab/inject.h"
#include "hca/soft/module/module.h"
#include "hca/soft/object/hca.h"
#include "hca/soft/port/port.h"

static al_status call_fault_add(struct soft_hca *hca, struct ci_vendor_call *call)
{
	return hca->sw ? cable_add_fault(hca->sw, call->in) : fault_add(hca, call->in);
}

static al_status call_fault_clear(struct soft_hca *hca, struct ci_vendor_call *call)
{
	(void)call;
	if (hca->sw)
		cable_clear_faults(hca->sw);
	else
		fault_clear(hca);
	return AL_SUCCESS;
}

static al_status plug(struct soft_hca *hca, const struct ci_vendor_call *call, bool in)
{
	uint32_t port;

	memcpy(&port, call->in, sizeof(port));
	if (!port || port > hca->conf.ports)
		return AL_INVALID_PORT;
	port_plug(hca_port(hca, (uint8_t)port), in);
	return AL_SUCCESS;
}

static al_status call_port_down(struct soft_hca *hca, struct ci_vendor_call *call)
{
	return plug(hca, call, false);
}

static al_status call_port_up(struct soft_hca *hca, struct ci_vendor_call *call)
{
	return plug(hca, call, true);
}

static al_status call_remove(struct soft_hca *hca, struct ci_vendor_call *call)
{
	uint32_t flags;

	memcpy(&flags, call->in, sizeof(flags));
	return flags & ~(uint32_t)CI_HCA_GONE ? AL_INVALID_PARAMETER
					      : module_remove_hca(hca, flags);
}

static al_status call_reboot(struct soft_hca *hca, struct ci_vendor_call *call)
{
	(void)call;
	if (!hca->sw)
		return AL_UNSUPPORTED;
	switch_reboot(hca);
	return AL_SUCCESS;
}

static al_status call_fault_count(struct soft_hca *hca, struct ci_vendor_call *call)
{
	uint64_t met = hca->sw ? atomic_load(&hca->sw->met) : fault_count(hca);

	memcpy(call->out, &met, sizeof(met));
	return AL_SUCCESS;
}

/* Reads the rules of a text, and writes their explanation. */
static al_status read_rules(const struct ci_vendor_call *call,
			    struct fault_rule_text rules[SOFT_FAULT_RULES])
{
	const struct soft_fault_text *in = call->in;
	struct soft_fault_words *out = call->out;
	struct fault_error error = { 0 };
	const char *why = NULL;
	uint32_t i;

	if (!memchr(in->text, 0, sizeof(in->text)))
		return AL_INVALID_PARAMETER;
	memset(out, 0, sizeof(*out));
	if (!fault_read(in->text, rules, SOFT_FAULT_RULES, &out->num, &error))
		why = error.why;
	for (i = 0; i < out->num; i++) {
		fault_words(rules, i, out->words[i], sizeof(out->words[i]));
		if (!why)
			why = module_misplaced(&rules[i], &error.at);
	}
	out->at = error.at;
	snprintf(out->why, sizeof(out->why), "%s", why ? why : "");
	return AL_SUCCESS;
}

static al_status call_fault_explain(struct soft_hca *hca, struct ci_vendor_call *call)
{
	struct fault_rule_text rules[SOFT_FAULT_RULES];

	(void)hca;
	return read_rules(call, rules);
}

static al_status call_fault_set(struct soft_hca *hca, struct ci_vendor_call *call)
{
	const struct soft_fault_words *words = call->out;
	struct fault_rule_text rules[SOFT_FAULT_RULES];
	al_status status = read_rules(call, rules);

	(void)hca;
	return status || *words->why ? status : module_set_faults(rules, words->num);
}

static al_status call_fault_list(struct soft_hca *hca, struct ci_vendor_call *call)
{
	uint32_t first;

	(void)hca;
	memcpy(&first, call->in, sizeof(first));
	module_list_faults(first, call->out);
	return AL_SUCCESS;
}

static al_status call_step(struct soft_hca *hca, struct ci_vendor_call *call)
{
	struct soft_step step = { 0 };
	uint64_t choice;
	al_status status;

	(void)hca;
	if (call->in_len)
		memcpy(&choice, call->in, sizeof(choice));
	status = module_step(call->in_len ? &choice : NULL, &step);
	memcpy(call->out, &step, sizeof(step));
	return status;
}

static al_status call_clock(struct soft_hca *hca, struct ci_vendor_call *call)
{
	uint64_t now = clock_ns();

	(void)hca;
	memcpy(call->out, &now, sizeof(now));
	return AL_SUCCESS;
}

/*
 * Replaces "%p" in a file's name by the process id, so that each process of a group of programs has a file of its
 * own.
 */
static bool expand(const char *path, char *to, size_t size)
{
	const char *mark = strstr(path, "%p");
	int n;

	if (!mark)
		n = snprintf(to, size, "%s", path);
	else
		n = snprintf(to, size, "%.*s%d%s", (int)(mark - path), path, getpid(), mark + 2);
	return n > 0 && (size_t)n < size;
}

al_status vendor_start_capture(struct soft_hca *hca, uint32_t port, const char *path)
{
	al_status status = AL_SUCCESS;
	char name[1100];
	uint32_t i;

	if (port > hca->conf.ports)
		return AL_INVALID_PORT;
	if (!expand(path, name, sizeof(name)))
		return AL_INVALID_PARAMETER;
	for (i = port ? port : 1; i <= (port ? port : hca->conf.ports) && !status; i++) {
		status = capture_start(hca_port(hca, (uint8_t)i), name);
		if (status == AL_DUPLICATE && !port)
			status = AL_SUCCESS;
	}
	if (status == AL_IO_ERROR)
		ib_log(IB_LOG_ERROR, "soft",
		       "the capture file %s can not be written: %s; choose a file in a writable directory", name,
		       strerror(errno));
	return status;
}

void vendor_stop_capture(struct soft_hca *hca, uint32_t port)
{
	uint32_t i;

	for (i = port ? port : 1; i <= (port ? port : hca->conf.ports); i++)
		capture_stop(hca_port(hca, (uint8_t)i));
}

static al_status call_capture_start(struct soft_hca *hca, struct ci_vendor_call *call)
{
	const struct soft_capture *capture = call->in;

	if (!memchr(capture->path, 0, sizeof(capture->path)))
		return AL_INVALID_PARAMETER;
	return vendor_start_capture(hca, capture->port, capture->path);
}

static al_status call_capture_stop(struct soft_hca *hca, struct ci_vendor_call *call)
{
	uint32_t port;

	memcpy(&port, call->in, sizeof(port));
	if (port > hca->conf.ports)
		return AL_INVALID_PORT;
	vendor_stop_capture(hca, port);
	return AL_SUCCESS;
}

static al_status call_inject(struct soft_hca *hca, struct ci_vendor_call *call)
{
	const struct soft_inject *in = call->in;
	struct soft_injected out;

	if (!in->port || in->port > hca->conf.ports)
		return AL_INVALID_PORT;
	if (in->length > sizeof(in->bytes))
		return AL_INVALID_PARAMETER;
	out = inject(hca_port(hca, (uint8_t)in->port), in->bytes, in->length);
	memcpy(call->out, &out, sizeof(out));
	return AL_SUCCESS;
}

static const struct {
	al_status (*call)(struct soft_hca *hca, struct ci_vendor_call *call);
	uint32_t in_len, out_len;
	bool in_optional;
	bool of_switch; /* a switch takes the call, too */
} calls[] = {
	[SOFT_FAULT_ADD] = { call_fault_add, sizeof(struct soft_fault), 0, false, true },
	[SOFT_FAULT_CLEAR] = { call_fault_clear, 0, 0, false, true },
	[SOFT_PORT_DOWN] = { call_port_down, sizeof(uint32_t), 0, false, true },
	[SOFT_PORT_UP] = { call_port_up, sizeof(uint32_t), 0, false, true },
	[SOFT_REMOVE] = { call_remove, sizeof(uint32_t), 0, false, true },
	[SOFT_REBOOT] = { call_reboot, 0, 0, false, true },
	[SOFT_FAULT_COUNT] = { call_fault_count, 0, sizeof(uint64_t), false, true },
	[SOFT_STEP] = { call_step, sizeof(uint64_t), sizeof(struct soft_step), true, true },
	[SOFT_CLOCK] = { call_clock, 0, sizeof(uint64_t), false, true },
	[SOFT_CAPTURE_START] = { call_capture_start, sizeof(struct soft_capture), 0, false },
	[SOFT_CAPTURE_STOP] = { call_capture_stop, sizeof(uint32_t), 0, false },
	[SOFT_INJECT] = { call_inject, sizeof(struct soft_inject), sizeof(struct soft_injected),
			  false },
	[SOFT_FAULT_EXPLAIN] = { call_fault_explain, sizeof(struct soft_fault_text),
				 sizeof(struct soft_fault_words), false },
	[SOFT_FAULT_SET] = { call_fault_set, sizeof(struct soft_fault_text),
			     sizeof(struct soft_fault_words), false },
	[SOFT_FAULT_LIST] = { call_fault_list, sizeof(uint32_t), sizeof(struct soft_fault_list),
			      false, true },
};

al_status soft_vendor_call(struct ci_ca *ca, struct ci_vendor_call *call, struct ci_udata *udata)
{
	al_status status;

	(void)udata;
	if (call->code >= sizeof(calls) / sizeof(*calls) || !calls[call->code].call ||
	    (ca_hca(ca)->sw && !calls[call->code].of_switch))
		return AL_UNSUPPORTED;
	if (call->in_len != calls[call->code].in_len &&
	    !(calls[call->code].in_optional && !call->in_len))
		return AL_INVALID_PARAMETER;
	if (call->out_len < calls[call->code].out_len) {
		call->out_len = calls[call->code].out_len;
		return AL_BUFFER_TOO_SMALL;
	}
	status = calls[call->code].call(ca_hca(ca), call);
	if (!status)
		call->out_len = calls[call->code].out_len;
	return status;
}
