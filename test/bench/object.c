/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The rate of creating and destroying objects: created one after the other, destroyed as a batch whose callbacks are
 * awaited. The reference is allocating and freeing a block of memory.
 */
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/bench/bench.h"

#define BATCH 1000
#define BLOCK 1024
#define OBJECT_REPS 21

struct object {
	struct bench_side *side;
	struct bench_buf buf;
	void *handle[BATCH];
	_Atomic unsigned int left;
	sem_t gone;
};

/* A kind of object: its create and destroy functions. */
struct kind {
	const char *name;
	void *(*create)(struct object *o);
	al_status (*destroy)(void *handle, al_destroyed_cb cb, void *context);
};

static void *create_pd(struct object *o)
{
	al_pd_h pd;

	bench_must(al_alloc_pd(o->side->ca, o, &pd));
	return pd;
}

static al_status destroy_pd(void *handle, al_destroyed_cb cb, void *context)
{
	return al_dealloc_pd(handle, cb, context);
}

static void *create_cq(struct object *o)
{
	struct al_cq_init init = { .cqe = 16 };
	al_cq_h cq;

	bench_must(al_create_cq(o->side->pd, &init, o, NULL, NULL, &cq));
	return cq;
}

static al_status destroy_cq(void *handle, al_destroyed_cb cb, void *context)
{
	return al_destroy_cq(handle, cb, context);
}

static void *create_ah(struct object *o)
{
	struct ib_ah_attr attr = { .dlid = o->side->lid, .port_num = 1 };
	al_ah_h ah;

	bench_must(al_create_ah(o->side->pd, &attr, &ah));
	return ah;
}

static al_status destroy_ah(void *handle, al_destroyed_cb cb, void *context)
{
	return al_destroy_ah(handle, cb, context);
}

static void *create_mr(struct object *o)
{
	struct al_mr_init init = { .addr = o->buf.addr, .length = o->buf.length, .access = IB_ACCESS_LOCAL_WRITE };
	uint32_t lkey, rkey;
	al_mr_h mr;

	bench_must(al_reg_mr(o->side->pd, &init, o, &lkey, &rkey, &mr));
	return mr;
}

static al_status destroy_mr(void *handle, al_destroyed_cb cb, void *context)
{
	return al_dereg_mr(handle, cb, context);
}

static void *create_qp(struct object *o)
{
	struct al_qp_init init = {
		.qp_type = IB_QPT_RC, .send_cq = o->side->cq, .recv_cq = o->side->cq,
		.cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	al_qp_h qp;

	bench_must(al_create_qp(o->side->pd, &init, o, NULL, &qp));
	return qp;
}

static al_status destroy_qp(void *handle, al_destroyed_cb cb, void *context)
{
	return al_destroy_qp(handle, cb, context);
}

static const struct kind kinds[] = {
	{ "pd", create_pd, destroy_pd },
	{ "cq", create_cq, destroy_cq },
	{ "mr", create_mr, destroy_mr },
	{ "ah", create_ah, destroy_ah },
	{ "qp", create_qp, destroy_qp },
};

static void one_gone(void *context)
{
	struct object *o = context;

	if (atomic_fetch_sub(&o->left, 1) == 1)
		sem_post(&o->gone);
}

/* Time of one block in ns, allocated and freed in batches, too. */
static double alloc_free(struct object *o)
{
	double start = bench_now();

	for (unsigned int i = 0; i < BATCH; i++) {
		o->handle[i] = calloc(1, BLOCK);
		__asm__ volatile("" :: "r"(o->handle[i]) : "memory");
	}
	for (unsigned int i = 0; i < BATCH; i++)
		free(o->handle[i]);
	return (bench_now() - start) / BATCH;
}

static double create_batch(struct object *o, const struct kind *kind)
{
	double start = bench_now();

	for (unsigned int i = 0; i < BATCH; i++)
		o->handle[i] = kind->create(o);
	return (bench_now() - start) / BATCH;
}

/* Waits for the callback of the last destroyed object. */
static double destroy_batch(struct object *o, const struct kind *kind)
{
	double start = bench_now();

	atomic_store(&o->left, BATCH);
	for (unsigned int i = 0; i < BATCH; i++)
		bench_must(kind->destroy(o->handle[i], one_gone, o));
	while (sem_wait(&o->gone))
		;
	return (bench_now() - start) / BATCH;
}

static void report(struct object *o, const struct kind *kind)
{
	unsigned int reps = bench_reps < OBJECT_REPS ? bench_reps : OBJECT_REPS;
	double created[OBJECT_REPS], destroyed[OBJECT_REPS], reference[OBJECT_REPS];
	double create_ratio[OBJECT_REPS], destroy_ratio[OBJECT_REPS], ref;
	char name[32];

	for (unsigned int i = 0; i < reps; i++) {
		reference[i] = alloc_free(o);
		created[i] = create_batch(o, kind);
		destroyed[i] = destroy_batch(o, kind);
		create_ratio[i] = created[i] / reference[i];
		destroy_ratio[i] = destroyed[i] / reference[i];
	}
	ref = bench_median(reference, reps);
	snprintf(name, sizeof(name), "create.%s", kind->name);
	bench_report(&(struct bench_row){ name, bench_median(created, reps), "ns", ref,
					  bench_median(create_ratio, reps), TARGET_NONE, 0 });
	snprintf(name, sizeof(name), "destroy.%s", kind->name);
	bench_report(&(struct bench_row){ name, bench_median(destroyed, reps), "ns", ref,
					  bench_median(destroy_ratio, reps), TARGET_NONE, 0 });
}

static bool wanted(const struct kind *kind, size_t num)
{
	char create[32], destroy[32];

	for (; num; num--, kind++) {
		snprintf(create, sizeof(create), "create.%s", kind->name);
		snprintf(destroy, sizeof(destroy), "destroy.%s", kind->name);
		if (bench_wanted(create) || bench_wanted(destroy))
			return true;
	}
	return false;
}

void bench_object(void)
{
	struct bench_link link;
	struct object *o;

	if (!wanted(kinds, ARRAY_SIZE(kinds)))
		return;
	o = calloc(1, sizeof(*o));
	if (!o)
		bench_fatal("out of memory");
	bench_link_open(&link, 16);
	o->side = &link.side[0];
	sem_init(&o->gone, 0, 0);
	bench_buf_make(o->side->pd, 4096, &o->buf);
	for (unsigned int i = 0; i < ARRAY_SIZE(kinds); i++)
		if (wanted(&kinds[i], 1))
			report(o, &kinds[i]);
	bench_buf_free(&o->buf);
	bench_link_close(&link);
	sem_destroy(&o->gone);
	free(o);
}
