/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The soak's upper half: see bed.h. One thread. */
#include "bed.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hca/soft/base/reading.h"
#include "test/link/queue_link.h"

struct ci_interface bed_ops;
struct bed_hca bed_hca[BED_HCAS];
uint32_t bed_hcas;
uint8_t bed_ports = 1;
char bed_log[256];
void (*bed_qp_event)(void *ctx, ib_event_type type);
bool ib_trace_on;

static uint64_t allocations;

/* ------------------------------------------ functions that libibal provides */

uint64_t al_fail_alloc(uint64_t nth)
{
	(void)nth;
	return 0;
}

void *al_alloc_aligned(size_t align, size_t size)
{
	void *mem = aligned_alloc(align, (size + align - 1) / align * align);

	if (!mem)
		abort();
	memset(mem, 0, size);
	allocations++;
	return mem;
}

void *al_alloc(size_t size)
{
	return al_alloc_aligned(16, size);
}

void al_free(void *mem)
{
	if (!mem)
		return;
	allocations--;
	free(mem);
}

al_status ib_refuse(al_status status, const char *fmt, ...)
{
	(void)fmt;
	return status;
}

void ib_request_failed(void *qp_ctx, uint64_t wr_id, ib_wc_status status, const char *fmt, ...)
{
	(void)qp_ctx;
	(void)wr_id;
	(void)status;
	(void)fmt;
}

void ib_log(ib_log_level level, const char *who, const char *fmt, ...)
{
	va_list args;

	(void)level;
	(void)who;
	va_start(args, fmt);
	vsnprintf(bed_log, sizeof(bed_log), fmt, args);
	va_end(args);
}

void ib_trace(const char *actor, const char *fmt, ...)
{
	va_list args;

	printf("      %s: ", actor);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
}

struct ci_registration {
	uint32_t index;
};

static struct ci_registration registrations[BED_HCAS];

static al_status (*module_post_send)(struct ci_qp *qp, const struct ib_send_wr *wr,
				     const struct ib_send_wr **bad);

/* The Access Layer posts in a read section. */
static al_status post_send(struct ci_qp *qp, const struct ib_send_wr *wr,
			   const struct ib_send_wr **bad)
{
	al_status status;

	reading_begin();
	status = module_post_send(qp, wr, bad);
	reading_end();
	return status;
}

al_status ib_register_ci(struct ci_host *host, const struct ci_interface *ci, void *hca,
			 ci_handle *handle)
{
	struct bed_hca *h = &bed_hca[bed_hcas];
	al_status status;

	(void)host;
	if (bed_hcas == BED_HCAS)
		return AL_LIMIT_EXCEEDED;
	bed_ops = *ci;
	module_post_send = ci->post_send;
	bed_ops.post_send = post_send;
	h->ca = bed_object(CI_OBJ_CA, sizeof(*h->ca));
	h->ca->ctx = h;
	h->ca->hca = hca;
	status = ci->open_ca(h->ca);
	if (status) {
		al_free(h->ca);
		return status;
	}
	registrations[bed_hcas].index = bed_hcas;
	*handle = &registrations[bed_hcas++];
	return AL_SUCCESS;
}

al_status ib_deregister_ci(ci_handle handle, uint32_t flags)
{
	(void)flags;
	bed_ops.close_ca(bed_hca[handle->index].ca);
	al_free(bed_hca[handle->index].ca);
	return AL_SUCCESS;
}

void ib_cq_notify(void *cq_ctx)
{
	((struct bed_cq *)cq_ctx)->notified++;
}

void ib_dispatch_event(const struct ci_event *event)
{
	if (event->type >= IB_EVENT_PORT_DOWN)
		return;
	if (event->type == IB_EVENT_CQ_ERR)
		((struct bed_cq *)event->object_ctx)->errors++;
	else
		bed_qp_event(event->object_ctx, event->type);
}

/* The module raises no trap here: the ports' agents are not the Access Layer's. */
void ib_port_trap(void *ca_ctx, uint8_t port, const struct ib_notice *notice)
{
	(void)ca_ctx, (void)port, (void)notice;
}

/* The ports have no agents of their own. */
void ib_mad_seen(void *ca_ctx, uint8_t port, const void *mad, uint32_t length)
{
	(void)ca_ctx, (void)port, (void)mad, (void)length;
}

/* No queue pair here is a client's. */
void ci_client_run(struct ci_client *client, struct ci_client_job *job)
{
	(void)client, (void)job;
	abort();
}

al_status ci_client_read(struct ci_client *client, uint64_t addr, void *to, uint64_t length)
{
	(void)client, (void)addr, (void)to, (void)length;
	abort();
}

al_status ci_client_write(struct ci_client *client, uint64_t addr, const void *from, uint64_t length)
{
	(void)client, (void)addr, (void)from, (void)length;
	abort();
}

al_status ci_client_give_fd(struct ci_udata *udata, int fd)
{
	(void)udata, (void)fd;
	abort();
}

struct ci_ah *ci_wr_ah(const struct ci_qp *qp, al_ah_h ah)
{
	(void)qp;
	return (struct ci_ah *)ah;
}

/* -------------------------------------------------------------------- module */

void *bed_object(enum ci_obj kind, size_t plain)
{
	return al_alloc_aligned(64, bed_ops.obj_size[kind] ? bed_ops.obj_size[kind] : plain);
}

static struct ci_pd *new_pd(struct bed_hca *h)
{
	struct ci_pd *pd = bed_object(CI_OBJ_PD, sizeof(*pd));

	pd->ca = h->ca;
	if (bed_ops.allocate_pd(pd, NULL))
		abort();
	return pd;
}

static void free_pd(struct ci_pd *pd)
{
	bed_ops.deallocate_pd(pd);
	al_free(pd);
}

/* settings: "key=value key=value", for all HCAs. */
bool bed_up(const char *settings)
{
	struct ci_param param[16];
	struct ci_params params = { 0, param };
	char text[512], *word, *save;
	uint32_t i;

	memset(bed_hca, 0, sizeof(bed_hca));
	bed_hcas = 0;
	snprintf(text, sizeof(text), "%s", settings);
	for (word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		char *value = strchr(word, '=');

		*value = 0;
		param[params.count++] = (struct ci_param){ "", word, value + 1, "the soak" };
	}
	queue_link_use_as_asked();
	if (ci_module.init(NULL, &params))
		return false;
	if (ci_module.scan()) {
		ci_module.cleanup();
		return false;
	}
	for (i = 0; i < bed_hcas; i++) {
		bed_hca[i].pd = new_pd(&bed_hca[i]);
		bed_hca[i].other_pd = new_pd(&bed_hca[i]);
	}
	return true;
}

uint64_t bed_down(void)
{
	uint32_t i;

	for (i = 0; i < bed_hcas; i++) {
		free_pd(bed_hca[i].pd);
		free_pd(bed_hca[i].other_pd);
	}
	ci_module.cleanup();
	return allocations;
}

al_status bed_vendor(uint32_t hca, uint32_t code, const void *in, uint32_t in_len, void *out,
		     uint32_t out_len)
{
	struct ci_vendor_call call = {
		.code = code, .in = in, .in_len = in_len, .out = out, .out_len = out_len
	};

	return bed_ops.vendor_call(bed_hca[hca].ca, &call, NULL);
}

uint32_t bed_step(uint64_t choice, uint64_t *now)
{
	struct soft_step step = { 0 };

	if (bed_vendor(0, SOFT_STEP, &choice, sizeof(choice), &step, sizeof(step)))
		abort();
	*now = step.now_ns;
	return step.did;
}

uint64_t bed_faults(void)
{
	uint64_t sum = 0, met;
	uint32_t i;

	for (i = 0; i < bed_hcas; i++) {
		met = 0;
		bed_vendor(i, SOFT_FAULT_COUNT, NULL, 0, &met, sizeof(met));
		sum += met;
	}
	return sum;
}

uint64_t bed_packets(void)
{
	struct ib_port_attr attr;
	uint64_t sum = 0;
	uint32_t i;
	uint8_t port;

	for (i = 0; i < bed_hcas; i++)
		for (port = 1; port <= bed_ports; port++)
			if (!bed_ops.query_port(bed_hca[i].ca, port, &attr))
				sum += attr.counters.xmit_packets;
	return sum;
}
