/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The Access Layer's own cost of a post and of a poll, compared with an HCA whose operations do nothing. */
#include <dlfcn.h>

#include "test/bench/bench.h"
#include "test/modules/fake.h"

#define CALLS 10000

struct cost {
	/* called as the Access Layer calls it */
	al_qp_h qp;
	al_cq_h cq;
	/* the operation itself: read anew for each call, as in a table of operations */
	al_status (*volatile post_send)(struct ci_qp *qp, const struct ib_send_wr *wr, const struct ib_send_wr **bad);
	al_status (*volatile poll_cq)(struct ci_cq *cq, uint32_t num, struct ib_wc *wc, uint32_t *count);
	struct ci_qp *ci_qp;
	struct ci_cq *ci_cq;
};

static al_status post_nothing(struct ci_qp *qp, const struct ib_send_wr *wr, const struct ib_send_wr **bad)
{
	(void)qp, (void)wr, (void)bad;
	return AL_SUCCESS;
}

static uint32_t completions; /* that a poll finds: 0 or 1 */

static al_status poll_nothing(struct ci_cq *cq, uint32_t num, struct ib_wc *wc, uint32_t *count)
{
	(void)cq, (void)num;
	if (completions)
		*wc = (struct ib_wc){ .opcode = IB_WC_RDMA_WRITE };
	*count = completions;
	return AL_SUCCESS;
}

static double al_post(void *arg, unsigned int n)
{
	struct cost *cost = arg;
	struct ib_send_wr wr = { .opcode = IB_WR_RDMA_WRITE };
	const struct ib_send_wr *bad;
	double start = bench_now();

	for (unsigned int i = 0; i < n; i++)
		bench_must(al_post_send(cost->qp, &wr, &bad));
	return (bench_now() - start) / n;
}

static double bare_post(void *arg, unsigned int n)
{
	struct cost *cost = arg;
	struct ib_send_wr wr = { .opcode = IB_WR_RDMA_WRITE };
	const struct ib_send_wr *bad;
	double start = bench_now();

	for (unsigned int i = 0; i < n; i++)
		bench_must(cost->post_send(cost->ci_qp, &wr, &bad));
	return (bench_now() - start) / n;
}

static double al_poll(void *arg, unsigned int n)
{
	struct cost *cost = arg;
	struct ib_wc wc;
	uint32_t count;
	double start = bench_now();

	for (unsigned int i = 0; i < n; i++)
		bench_must(al_poll_cq(cost->cq, 1, &wc, &count));
	return (bench_now() - start) / n;
}

static double bare_poll(void *arg, unsigned int n)
{
	struct cost *cost = arg;
	struct ib_wc wc;
	uint32_t count;
	double start = bench_now();

	for (unsigned int i = 0; i < n; i++)
		bench_must(cost->poll_cq(cost->ci_cq, 1, &wc, &count));
	return (bench_now() - start) / n;
}

void bench_report_cost(const char *name, void *arg, bench_fn with, bench_fn bare, double target)
{
	struct bench_pair pair = { with, bare, arg, CALLS, CALLS };
	struct bench_result result;

	bench_compare(&pair, &result);
	bench_report(&(struct bench_row){ name, result.difference, "ns", result.reference, result.ratio,
					  TARGET_VALUE_MOST, target });
}

/* Opens the module before the library does, and replaces its operations by those above. */
static struct fake *fake_prepare(void)
{
	void *module = dlopen(FAKE_SO, RTLD_NOW | RTLD_LOCAL);
	struct fake *fake = module ? dlsym(module, "fake") : NULL;

	if (!fake)
		bench_fatal("%s", dlerror());
	fake->ops.post_send = post_nothing;
	fake->ops.poll_cq = poll_nothing;
	return fake;
}

void bench_cost(void)
{
	struct al_cq_init cq_init = { .cqe = 16 };
	struct al_qp_init qp_init = {
		.qp_type = IB_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct cost cost = { .post_send = post_nothing, .poll_cq = poll_nothing };
	struct fake *fake;
	al_ca_h ca;
	al_pd_h pd;
	al_h al;

	if (!bench_wanted("al.post") && !bench_wanted("al.poll") && !bench_wanted("verbs.post") &&
	    !bench_wanted("verbs.poll"))
		return;
	fake = fake_prepare();
	bench_must(al_open(NULL, &al));
	bench_must(al_load_module(al, FAKE_SO));
	bench_must(al_open_ca(al, FAKE_GUID, NULL, &ca));
	bench_must(al_alloc_pd(ca, NULL, &pd));
	bench_must(al_create_cq(pd, &cq_init, NULL, NULL, NULL, &cost.cq));
	qp_init.send_cq = qp_init.recv_cq = cost.cq;
	bench_must(al_create_qp(pd, &qp_init, NULL, NULL, &cost.qp));
	cost.ci_qp = &fake->last_qp->qp;
	cost.ci_cq = &fake->last_cq->cq;

	bench_report_cost("al.post", &cost, al_post, bare_post, 10);
	bench_report_cost("al.poll", &cost, al_poll, bare_poll, 10);
	completions = 1;
	bench_layer(cost.qp, cost.cq);

	bench_destroy(al_destroy_qp, cost.qp);
	bench_destroy(al_destroy_cq, cost.cq);
	bench_destroy(al_dealloc_pd, pd);
	bench_destroy(al_close_ca, ca);
	bench_must(al_unload_module(al, "fake", AL_UNLOAD_REMOVE));
	bench_destroy(al_close, al);
}
