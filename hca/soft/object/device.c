/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* An HCA as a whole: its table of operations, attributes, protection domains, and the vendor's own
 * calls. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <iba/ib_soft.h>

#include "hca/soft/base/clock.h"
#include "hca/soft/base/config.h"
#include "hca/soft/base/table.h"
#include "hca/soft/client/rings.h"
#include "hca/soft/engine/engine.h"
#include "hca/soft/lab/capture.h"
#include "hca/soft/link/link.h"
#include "hca/soft/lab/fault.h"
#include "hca/soft/memory/mr.h"
#include "hca/soft/object/hca.h"
#include "hca/soft/port/port.h"
#include "hca/soft/queue/cq.h"
#include "hca/soft/shared/base.h"
#include "hca/soft/transport/qp.h"

static al_status open_ca(struct ci_ca *ca)
{
	struct soft_hca *hca = ca_hca(ca);
	al_status status = engine_start(&hca->engine);

	if (!status)
		port_tell(hca, ca);
	return status;
}

static void close_ca(struct ci_ca *ca)
{
	struct soft_hca *hca = ca_hca(ca);

	port_tell(hca, NULL);
	engine_stop(&hca->engine);
}

static al_status query_ca(struct ci_ca *ca, struct ib_ca_attr *attr)
{
	*attr = ca_hca(ca)->attr;
	return AL_SUCCESS;
}

static al_status allocate_pd(struct ci_pd *pd, struct ci_udata *udata)
{
	(void)pd; /* a domain is its own identity */
	(void)udata;
	return AL_SUCCESS;
}

static void deallocate_pd(struct ci_pd *pd)
{
	(void)pd;
}

/* ------------------------------------------------------------- vendor calls */

static al_status call_fault_add(struct soft_hca *hca, struct ci_vendor_call *call)
{
	return fault_add(hca, call->in);
}

static al_status call_fault_clear(struct soft_hca *hca, struct ci_vendor_call *call)
{
	(void)call;
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

static al_status call_fault_count(struct soft_hca *hca, struct ci_vendor_call *call)
{
	uint64_t met = atomic_load(&hca->faults.met);

	memcpy(call->out, &met, sizeof(met));
	return AL_SUCCESS;
}

static al_status call_fault_explain(struct soft_hca *hca, struct ci_vendor_call *call)
{
	const struct soft_fault_text *in = call->in;
	struct fault_rule_text rules[SOFT_FAULT_RULES];
	struct soft_fault_words *out = call->out;
	const char *why;
	uint32_t i;

	(void)hca;
	if (!memchr(in->text, 0, sizeof(in->text)))
		return AL_INVALID_PARAMETER;
	memset(out, 0, sizeof(*out));
	why = fault_read(in->text, rules, SOFT_FAULT_RULES, &out->num, &out->at);
	for (i = 0; i < out->num; i++) {
		fault_words(&rules[i], out->words[i], sizeof(out->words[i]));
		if (why)
			continue;
		out->at = rules[i].at;
		why = module_misplaced(&rules[i]);
	}
	snprintf(out->why, sizeof(out->why), "%s", why ? why : "");
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

/* "%p" in a file's name is the process: programs may start others. */
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

/* port 0: all */
static al_status start_capture(struct soft_hca *hca, uint32_t port, const char *path)
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
		ib_log(IB_LOG_ERROR, "soft", "%s can not be written: %s", name, strerror(errno));
	return status;
}

static void stop_capture(struct soft_hca *hca, uint32_t port)
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
	return start_capture(hca, capture->port, capture->path);
}

static al_status call_capture_stop(struct soft_hca *hca, struct ci_vendor_call *call)
{
	uint32_t port;

	memcpy(&port, call->in, sizeof(port));
	if (port > hca->conf.ports)
		return AL_INVALID_PORT;
	stop_capture(hca, port);
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
} calls[] = {
	[SOFT_FAULT_ADD] = { call_fault_add, sizeof(struct soft_fault), 0, false },
	[SOFT_FAULT_CLEAR] = { call_fault_clear, 0, 0, false },
	[SOFT_PORT_DOWN] = { call_port_down, sizeof(uint32_t), 0, false },
	[SOFT_PORT_UP] = { call_port_up, sizeof(uint32_t), 0, false },
	[SOFT_REMOVE] = { call_remove, sizeof(uint32_t), 0, false },
	[SOFT_FAULT_COUNT] = { call_fault_count, 0, sizeof(uint64_t), false },
	[SOFT_STEP] = { call_step, sizeof(uint64_t), sizeof(struct soft_step), true },
	[SOFT_CLOCK] = { call_clock, 0, sizeof(uint64_t), false },
	[SOFT_CAPTURE_START] = { call_capture_start, sizeof(struct soft_capture), 0, false },
	[SOFT_CAPTURE_STOP] = { call_capture_stop, sizeof(uint32_t), 0, false },
	[SOFT_INJECT] = { call_inject, sizeof(struct soft_inject), sizeof(struct soft_injected),
			  false },
	[SOFT_FAULT_EXPLAIN] = { call_fault_explain, sizeof(struct soft_fault_text),
				 sizeof(struct soft_fault_words), false },
};

static al_status vendor_call(struct ci_ca *ca, struct ci_vendor_call *call, struct ci_udata *udata)
{
	al_status status;

	(void)udata;
	if (call->code >= sizeof(calls) / sizeof(*calls) || !calls[call->code].call)
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

/* -------------------------------------------------------------- life of an HCA */

static void fill_attr(struct soft_hca *hca)
{
	const struct hca_config *conf = &hca->conf;
	struct ib_ca_attr *attr = &hca->attr;

	*attr = (struct ib_ca_attr){
		.node_guid = hca->guid,
		.sys_image_guid = hca->guid & ~0xffffull,
		.vendor_id = (uint32_t)(hca->guid >> 40),
		.vendor_part_id = 1,
		.num_ports = conf->ports,
		.num_comp_vectors = conf->vectors,
		.caps = IB_CA_CAP_UC | IB_CA_CAP_UD | IB_CA_CAP_BAD_QKEY_CNTR | IB_CA_CAP_CQ_ARM_N |
			IB_CA_CAP_CQ_RESIZE | IB_CA_CAP_CQ_MODERATION | IB_CA_CAP_BAD_PKEY_CNTR |
			IB_CA_CAP_PORT_ACTIVE_EVENT | IB_CA_CAP_SYS_IMAGE_GUID | IB_CA_CAP_RNR_NAK,
		.atomic_cap = conf->atomics ? IB_ATOMIC_GLOBAL : IB_ATOMIC_NONE,
		.masked_atomic_cap = IB_ATOMIC_NONE,
		.fw_ver = SOFT_VERSION,
		.location = "software",
		.page_size_cap = 4096,
		.max_mr_size = conf->max_mr_size,
		.max_mr = conf->max_mr,
		.max_pd = conf->max_pd,
		.max_ah = conf->max_ah,
		.max_qp = conf->max_qp,
		.max_qp_wr = conf->max_qp_wr,
		.max_send_sge = conf->max_sge,
		.max_recv_sge = conf->max_sge,
		.max_read_sge = conf->max_sge,
		.max_inline_data = conf->max_inline,
		.max_qp_rd_atom = conf->max_rd_atomic,
		.max_qp_init_rd_atom = conf->max_rd_atomic,
		.max_res_rd_atom = conf->max_rd_atomic * conf->max_qp,
		.max_cq = conf->max_cq,
		.max_cqe = conf->max_cqe,
		.max_pkeys = SOFT_MAX_PKEYS,
		.local_ca_ack_delay = 15,
	};
	snprintf(attr->node_desc, sizeof(attr->node_desc), "soft HCA %s", conf->name);
}

static void fill_port(struct soft_hca *hca, uint32_t i)
{
	struct soft_port *port = &hca->ports[i];
	const struct hca_config *conf = &hca->conf;

	port->hca = hca;
	port->cable = port; /* until it is cabled: a loopback plug */
	port->link = &link_loop;
	port->num = (uint8_t)(i + 1);
	port->lmc = (uint8_t)conf->lmc;
	port->lid = (uint16_t)(conf->lid + (i << conf->lmc));
	port->guid = hca->guid + i + 1;
	port->prefix = 0xfe80000000000000ull;
	memcpy(port->pkeys, conf->pkeys, sizeof(port->pkeys));
	port_init(port);
}

al_status hca_create(struct soft_hca *hca, uint32_t random)
{
	const struct hca_config *conf = &hca->conf;
	const uint32_t numbers = 1u << TABLE_BITS;
	al_status status;
	uint32_t i;

	engine_init(&hca->engine, conf->name);
	hca->engine.step = rings_step;
	fault_init(hca);
	rings_init(&hca->rings);
	/* no number is 0; those of queue pairs leave out the special ones */
	status = table_create(&hca->qps, sizeof(struct actor), conf->max_qp,
			      2 + random % (numbers - 2 - conf->max_qp));
	if (!status)
		status = memory_create(&hca->memory, conf->max_mr,
				       1 + (random >> 4) % (numbers - 1 - conf->max_mr), random);
	if (status)
		return status;
	hca->ports = al_alloc_aligned(64, conf->ports * sizeof(*hca->ports));
	if (!hca->ports)
		return AL_INSUFFICIENT_MEMORY;
	fill_attr(hca);
	for (i = 0; i < conf->ports; i++)
		fill_port(hca, i);
	for (i = 0; i < conf->num_faults && !status; i++)
		status = fault_add(hca, &conf->faults[i].fault);
	if (*conf->capture && !status)
		status = start_capture(hca, conf->capture_port, conf->capture);
	return status;
}

void hca_destroy(struct soft_hca *hca)
{
	if (hca->ports)
		stop_capture(hca, 0);
	fault_destroy(hca);
	table_destroy(&hca->qps);
	memory_destroy(&hca->memory);
	al_free(hca->ports);
	hca->ports = NULL;
}

const struct ci_interface soft_interface = {
	.size = sizeof(struct ci_interface),
	.abi_major = CI_ABI_MAJOR,
	.abi_minor = CI_ABI_MINOR,
	.flags = CI_CLIENT_MEMORY,
	.obj_size = {
		[CI_OBJ_AH] = sizeof(struct soft_ah),
		[CI_OBJ_MR] = sizeof(struct soft_mr),
		[CI_OBJ_CQ] = sizeof(struct soft_cq),
		[CI_OBJ_QP] = sizeof(struct soft_qp),
	},
	.open_ca = open_ca,
	.close_ca = close_ca,
	.query_ca = query_ca,
	.query_port = port_query,
	.query_gid = port_query_gid,
	.query_pkey = port_query_pkey,
	.modify_port = port_modify,
	.um_open_ca = rings_open,
	.um_close_ca = rings_close,
	.vendor_call = vendor_call,
	.allocate_pd = allocate_pd,
	.deallocate_pd = deallocate_pd,
	.create_ah = soft_create_ah,
	.modify_ah = soft_modify_ah,
	.query_ah = soft_query_ah,
	.destroy_ah = soft_destroy_ah,
	.register_mr = soft_register_mr,
	.deregister_mr = soft_deregister_mr,
	.query_mr = soft_query_mr,
	.create_cq = soft_create_cq,
	.destroy_cq = soft_destroy_cq,
	.poll_cq = soft_poll_cq,
	.arm_cq = soft_arm_cq,
	.arm_cq_n = soft_arm_cq_n,
	.peek_cq = soft_peek_cq,
	.resize_cq = soft_resize_cq,
	.modify_cq = soft_modify_cq,
	.query_cq = soft_query_cq,
	.create_qp = soft_create_qp,
	.modify_qp = soft_modify_qp,
	.query_qp = soft_query_qp,
	.destroy_qp = soft_destroy_qp,
	.post_send = soft_post_send,
	.post_recv = soft_post_recv,
};
