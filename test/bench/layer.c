/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What libibverbs costs over the Access Layer: a post, and a poll that finds one completion, compared with the same calls of the
 * Access Layer. The HCA's operations do nothing.
 */
#include <dlfcn.h>
#include <string.h>

#include "al/compat/verbs/abi.h"
#include "test/bench/bench.h"

struct layer {
	al_qp_h al_qp;
	al_cq_h al_cq;
	struct ibv_context *context;
	struct ibv_qp *qp;
	struct ibv_cq *cq;
};

static double verbs_post(void *arg, unsigned int n)
{
	const struct layer *layer = arg;
	struct ibv_sge sge = { 0x1000, 8, 1 };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .wr.rdma = { 0x1000, 1 } }, *bad;
	double start = bench_now();

	for (unsigned int i = 0; i < n; i++)
		if (layer->context->ops.post_send(layer->qp, &wr, &bad))
			bench_fatal("ibv_post_send fails");
	return (bench_now() - start) / n;
}

static double al_post(void *arg, unsigned int n)
{
	const struct layer *layer = arg;
	struct ib_sge sge = { 0x1000, 8, 1 };
	struct ib_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IB_WR_RDMA_WRITE };
	const struct ib_send_wr *bad;
	double start = bench_now();

	for (unsigned int i = 0; i < n; i++)
		bench_must(al_post_send(layer->al_qp, &wr, &bad));
	return (bench_now() - start) / n;
}

static double verbs_poll(void *arg, unsigned int n)
{
	const struct layer *layer = arg;
	struct ibv_wc wc;
	double start = bench_now();

	for (unsigned int i = 0; i < n; i++)
		if (layer->context->ops.poll_cq(layer->cq, 1, &wc) != 1)
			bench_fatal("ibv_poll_cq finds no completion");
	return (bench_now() - start) / n;
}

static double al_poll(void *arg, unsigned int n)
{
	const struct layer *layer = arg;
	struct ib_wc wc;
	uint32_t count;
	double start = bench_now();

	for (unsigned int i = 0; i < n; i++)
		bench_must(al_poll_cq(layer->al_cq, 1, &wc, &count));
	return (bench_now() - start) / n;
}

/* A function of the library, by its default version. */
#define FUNCTION(name) ((__typeof__(name) *)find(library, #name))
static void *find(void *library, const char *name)
{
	void *function = dlsym(library, name);

	if (!function)
		bench_fatal("%s", dlerror());
	return function;
}

struct ibv_device **ibv_get_device_list(int *num);
void ibv_free_device_list(struct ibv_device **list);
const char *ibv_get_device_name(struct ibv_device *device);
struct ibv_context *ibv_open_device(struct ibv_device *device);
int ibv_close_device(struct ibv_context *context);
struct ibv_pd *ibv_alloc_pd(struct ibv_context *context);
int ibv_dealloc_pd(struct ibv_pd *pd);
struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
			     struct ibv_comp_channel *channel, int vector);
int ibv_destroy_cq(struct ibv_cq *cq);
struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init);
int ibv_destroy_qp(struct ibv_qp *qp);

static struct ibv_context *open_fake(void *library)
{
	struct ibv_device **list = FUNCTION(ibv_get_device_list)(NULL), **device = list;
	struct ibv_context *context = NULL;

	while (device && *device && strncmp(FUNCTION(ibv_get_device_name)(*device), "fake", 4))
		device++;
	if (device && *device)
		context = FUNCTION(ibv_open_device)(*device);
	if (!context)
		bench_fatal("libibverbs has no device of the module fake");
	FUNCTION(ibv_free_device_list)(list);
	return context;
}

void bench_layer(al_qp_h qp, al_cq_h cq)
{
	void *library = dlopen(VERBS_SO, RTLD_NOW | RTLD_LOCAL);
	struct layer layer = { .al_qp = qp, .al_cq = cq };
	struct ibv_qp_init_attr init = { .cap = { 1, 1, 1, 1, 0 }, .qp_type = IBV_QPT_RC };
	struct ibv_pd *pd;

	if (!library)
		bench_fatal("%s", dlerror());
	layer.context = open_fake(library);
	pd = FUNCTION(ibv_alloc_pd)(layer.context);
	layer.cq = FUNCTION(ibv_create_cq)(layer.context, 16, NULL, NULL, 0);
	init.send_cq = init.recv_cq = layer.cq;
	layer.qp = pd && layer.cq ? FUNCTION(ibv_create_qp)(pd, &init) : NULL;
	if (!layer.qp)
		bench_fatal("libibverbs makes no queue pair: %m");
	bench_report_cost("verbs.post", &layer, verbs_post, al_post, 15);
	bench_report_cost("verbs.poll", &layer, verbs_poll, al_poll, 15);
	if (FUNCTION(ibv_destroy_qp)(layer.qp) || FUNCTION(ibv_destroy_cq)(layer.cq) ||
	    FUNCTION(ibv_dealloc_pd)(pd) || FUNCTION(ibv_close_device)(layer.context))
		bench_fatal("libibverbs destroys no object: %m");
}
