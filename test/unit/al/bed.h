/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Helpers for tests of the Access Layer's core, beside al_test.h: an opening on fake.so with one object of each kind,
 * events of the hardware, threads that begin together, and a callback that blocks until the test releases the
 * callback.
 *
 * Nothing here asserts in a callback or in another thread than the test's thread: callbacks record, and the test
 * checks the records.
 */
#ifndef IBAL_TEST_BED_H
#define IBAL_TEST_BED_H

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include <iba/ib_hca.h>

#include "test/unit/al/al_test.h"

/* ---------------------------------------------------------------- objects */

struct bed {
	struct fake *fake;
	al_h al;
	al_ca_h ca;
	al_pd_h pd;
};

static inline struct bed bed_make(void)
{
	struct bed bed = { .fake = test_fake() };

	bed.al = test_open();
	bed.ca = test_open_ca(bed.al, FAKE_GUID);
	ck_ok(al_alloc_pd(bed.ca, NULL, &bed.pd));
	return bed;
}

/* Ends the bed, and expects that no object is left. */
static inline void bed_end(struct bed *bed)
{
	ck_ok(al_close(bed->al, AL_DESTROY_SYNC, NULL));
	bed->al = NULL;
}

static inline al_cq_h bed_cq(al_pd_h pd, uint32_t vector, void *context, al_comp_cb cb)
{
	struct al_cq_init init = { .cqe = 64, .comp_vector = vector };
	al_cq_h cq;

	ck_ok(al_create_cq(pd, &init, context, cb, NULL, &cq));
	return cq;
}

static inline al_status try_qp(al_pd_h pd, al_cq_h cq, void *context, al_event_cb cb, al_qp_h *qp)
{
	struct al_qp_init init = {
		.qp_type = IB_QPT_RC,
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	return al_create_qp(pd, &init, context, cb, qp);
}

static inline al_qp_h bed_qp(al_pd_h pd, al_cq_h cq, void *context, al_event_cb cb)
{
	al_qp_h qp;

	ck_ok(try_qp(pd, cq, context, cb, &qp));
	return qp;
}

static inline al_status try_ah(al_pd_h pd, al_ah_h *ah)
{
	const struct ib_ah_attr attr = { .dlid = 1, .port_num = 1 };

	return al_create_ah(pd, &attr, ah);
}

static inline al_status try_mr(al_pd_h pd, al_mr_h *mr)
{
	static char memory[4096];
	const struct al_mr_init init = { .addr = memory, .length = sizeof(memory), .access = IB_ACCESS_LOCAL_WRITE };
	uint32_t lkey, rkey;

	return al_reg_mr(pd, &init, NULL, &lkey, &rkey, mr);
}

/* ------------------------------------------------------- the hardware's side */

static inline bool bed_dead(const struct bed *bed)
{
	al_ah_h ah;
	al_status status = try_ah(bed->pd, &ah);

	if (!status)
		al_destroy_ah(ah, NULL, NULL);
	return status == AL_CA_REMOVED;
}

/* Removes the first HCA. On return the HCA's handles are dead. */
static inline void bed_withdraw(const struct bed *bed, uint32_t flags)
{
	bed->fake->withdraw(0, flags);
	ck_soon(bed_dead(bed));
}

/* An asynchronous event of the HCA that the fake opened first, or of one of its ports. */
static inline void bed_port_event(struct bed *bed, ib_event_type type, uint8_t port)
{
	const struct ci_event event = { .type = type, .port_num = port, .object_ctx = bed->fake->ca[0]->ctx };

	ib_dispatch_event(&event);
}

static inline void bed_object_event(void *ctx, ib_event_type type)
{
	const struct ci_event event = { .type = type, .object_ctx = ctx };

	ib_dispatch_event(&event);
}

/*
 * Waits until every event that the test has raised so far has reached this process and waits for its callback. In a
 * user role an event passes the agent's threads, and then a socket. A crossing raises events of an owner's own
 * objects, which share the agent's threads, and after these an event of the client, on a vector where no callback
 * blocks.
 */
struct crossing {
	al_h owner;
	void *own[3]; /* of the owner's objects, as the module knows them */
	void *last;   /* of the client's completion queue */
	sem_t heard;
};

static inline void crossing_heard(void *context, const struct al_event *event)
{
	(void)event;
	sem_post(context);
}

static inline void crossing_make(struct crossing *x, const struct bed *bed, uint32_t vector)
{
	al_cq_h cq;
	al_pd_h pd;

	if (!test_in_user_role())
		return;
	sem_init(&x->heard, 0, 0);
	x->owner = test_open_owner();
	ck_ok(al_alloc_pd(test_open_ca(x->owner, FAKE_GUID), NULL, &pd));
	for (uint32_t i = 0; i < 2; i++) {
		cq = bed_cq(pd, i, &x->heard, test_post);
		x->own[i] = bed->fake->last_cq->cq.ctx;
	}
	bed_qp(pd, cq, &x->heard, crossing_heard);
	x->own[2] = bed->fake->last_qp->qp.ctx;
	bed_cq(bed->pd, vector, &x->heard, test_post);
	x->last = bed->fake->last_cq->cq.ctx;
}

static inline void cross(struct crossing *x)
{
	if (!test_in_user_role())
		return;
	ib_cq_notify(x->own[0]);
	ib_cq_notify(x->own[1]);
	bed_object_event(x->own[2], IB_EVENT_COMM_EST);
	for (int i = 0; i < 3; i++)
		test_wait(&x->heard);
	ib_cq_notify(x->last);
	test_wait(&x->heard);
}

static inline void crossing_end(struct crossing *x)
{
	if (test_in_user_role())
		ck_ok(al_close(x->owner, AL_DESTROY_SYNC, NULL));
}

/* ------------------------------------------------------- callbacks and order */

/* A callback that tells the test of its begin, and blocks until the test releases the callback. */
struct gate {
	sem_t in, out;
	atomic_uint runs, returned;
};

static inline void gate_init(struct gate *gate)
{
	sem_init(&gate->in, 0, 0);
	sem_init(&gate->out, 0, 0);
	gate->runs = gate->returned = 0;
}

/* An al_comp_cb and an al_destroyed_cb. */
static inline void gate_pass(void *context)
{
	struct gate *gate = context;

	gate->runs++;
	sem_post(&gate->in);
	while (sem_wait(&gate->out))
		;
	gate->returned++;
}

static inline void gate_event(void *context, const struct al_event *event)
{
	(void)event;
	gate_pass(context);
}

/* A journal of events, in order. */
struct journal {
	atomic_uint count, written;
	char entry[256][160];
	sem_t sem; /* posted for each entry */
};

static inline void journal_init(struct journal *journal)
{
	memset(journal, 0, sizeof(*journal));
	sem_init(&journal->sem, 0, 0);
}

static inline void journal_add(struct journal *journal, const char *what)
{
	unsigned int i = journal->count++;

	if (i < 256)
		snprintf(journal->entry[i], sizeof(journal->entry[i]), "%s", what);
	journal->written++;
	sem_post(&journal->sem);
}

/* Waits until the journal has num more entries. */
static inline void journal_wait(struct journal *journal, int num)
{
	while (num--)
		test_wait(&journal->sem);
}

/* The context of note_cb(): a journal, and the entry that the callback adds. */
struct note {
	struct journal *journal;
	const char *what;
};

/* An al_comp_cb and an al_destroyed_cb. */
static inline void note_cb(void *context)
{
	struct note *note = context;

	journal_add(note->journal, note->what);
}

static inline void journal_expect(struct journal *journal, unsigned int num, const char *const *want)
{
	ck_soon(journal->written == num);
	for (unsigned int i = 0; i < num; i++)
		ck_assert_str_eq(journal->entry[i], want[i]);
}

/*
 * Waits until the HCA's destroy thread has done the work that was queued before, and the HCA's async dispatcher has
 * run once: everything that need not wait has happened by now. So a test sees without a sleep that something has not
 * happened yet.
 */
static inline void bed_settle(al_ca_h ca)
{
	sem_t done;
	al_pd_h pd;

	sem_init(&done, 0, 0);
	for (int i = 0; i < 2; i++) {
		ck_ok(al_alloc_pd(ca, NULL, &pd));
		ck_ok(al_dealloc_pd(pd, test_post, &done));
		test_wait(&done);
	}
	sem_destroy(&done);
}

/* ---------------------------------------------------------------- threads */

struct crew {
	pthread_t thread[16];
	unsigned int num;
	pthread_barrier_t start;
	atomic_bool stop;
	void *arg;
	void (*work)(struct crew *crew, unsigned int index);
};

struct crew_member {
	struct crew *crew;
	unsigned int index;
};

static inline void *crew_main(void *arg)
{
	struct crew_member me = *(struct crew_member *)arg;

	free(arg);
	pthread_barrier_wait(&me.crew->start);
	me.crew->work(me.crew, me.index);
	return NULL;
}

/* Makes num threads, which begin to work when crew_go() is called. */
static inline void crew_make(struct crew *crew, unsigned int num, void (*work)(struct crew *, unsigned int), void *arg)
{
	crew->num = num;
	crew->work = work;
	crew->arg = arg;
	crew->stop = false;
	pthread_barrier_init(&crew->start, NULL, num + 1);
	for (unsigned int i = 0; i < num; i++) {
		struct crew_member *member = malloc(sizeof(*member));

		*member = (struct crew_member){ crew, i };
		ck_assert_int_eq(pthread_create(&crew->thread[i], NULL, crew_main, member), 0);
	}
}

static inline void crew_go(struct crew *crew)
{
	pthread_barrier_wait(&crew->start);
}

static inline void crew_end(struct crew *crew)
{
	crew->stop = true;
	for (unsigned int i = 0; i < crew->num; i++)
		ck_assert_int_eq(pthread_join(crew->thread[i], NULL), 0);
	pthread_barrier_destroy(&crew->start);
}

/* Number of rounds of a race. */
static inline int test_rounds(int normal)
{
	return getenv("IBAL_TEST_LONG") ? normal * 20 : normal;
}

#endif /* IBAL_TEST_BED_H */
