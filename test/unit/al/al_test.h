/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Helpers for tests of the public API: openings on the software HCA's defaults or on the module fake.so, a connected
 * pair of queue pairs, polls and waits with a limit. Each helper asserts that its calls succeed.
 */
#ifndef IBAL_TEST_AL_TEST_H
#define IBAL_TEST_AL_TEST_H

#include <check.h>
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <iba/ib_al.h>

#include "test/unit/al/role.h"
#include "test/unit/scale.h"

/* Compares two statuses; the message of a failure names both. */
#define ck_status(expr, want)                                                                          \
	do {                                                                                           \
		al_status ck_got = (expr), ck_want = (want);                                           \
		ck_assert_msg(ck_got == ck_want, "%s is %s, not %s", #expr, al_status_name(ck_got),    \
			      al_status_name(ck_want));                                                \
	} while (0)
#define ck_ok(expr) ck_status(expr, AL_SUCCESS)

/* ------------------------------------------------------------------- time */

/* A generous limit for one event. */
static inline struct timespec test_deadline(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	test_add_ms(&t, test_scaled_ms(5000));
	return t;
}

static inline bool test_expired(const struct timespec *deadline)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec > deadline->tv_sec || (now.tv_sec == deadline->tv_sec && now.tv_nsec > deadline->tv_nsec);
}

/*
 * Waits for the semaphore: the usual limit, after `seconds` that the library itself may wait. sem_clockwait() is not
 * used, because ThreadSanitizer does not know the function.
 */
static inline void test_wait_after(unsigned int seconds, sem_t *sem)
{
	struct timespec deadline;

	clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_sec += seconds;
	test_add_ms(&deadline, test_scaled_ms(5000));
	while (sem_timedwait(sem, &deadline))
		ck_assert_msg(errno == EINTR, "what was waited for did not happen");
}

static inline void test_wait(sem_t *sem)
{
	test_wait_after(0, sem);
}

/*
 * Asserts that a condition holds at once; in a user role, that the condition holds soon: an agent's client learns of
 * the HCAs' events later than the agent.
 */
#define ck_soon(condition)                                                                             \
	do {                                                                                           \
		struct timespec ck_deadline = test_deadline();                                         \
		bool ck_holds;                                                                         \
		while (!(ck_holds = (condition)) && test_in_user_role() && !test_expired(&ck_deadline)) \
			poll(NULL, 0, 1);                                                                 \
		ck_assert_msg(ck_holds, "Assertion '%s' failed", #condition);                          \
	} while (0)

/* An al_destroyed_cb, also used as other callbacks: posts the semaphore in context. */
static inline void test_post(void *context)
{
	sem_post(context);
}

/* ---------------------------------------------------------------- opening */

static inline al_h test_open(void)
{
	const struct al_open_attr attr = { .agent = test_agent(), .config = "" };
	al_h al;

	ck_ok(al_open(&attr, &al));
	return al;
}

/* GUIDs of the first num HCAs. */
static inline void test_guids(al_h al, uint64_t *guids, size_t num)
{
	uint64_t all[16];
	size_t count = 16;

	ck_soon(!al_get_ca_guids(al, all, &count) && (count >= num || !(count = 16)));
	memcpy(guids, all, num * sizeof(*guids));
}

static inline al_ca_h test_open_ca(al_h al, uint64_t guid)
{
	al_status status = AL_NOT_FOUND;
	al_ca_h ca = NULL;

	ck_soon((status = al_open_ca(al, guid, NULL, &ca)) != AL_NOT_FOUND);
	ck_ok(status);
	return ca;
}

/*
 * Opens the library in the kernel role, also in a test of another role, for operations that only
 * the owner of the HCAs may do.
 */
static inline al_h test_open_owner(void)
{
	const struct al_open_attr attr = { .agent = "off", .config = "" };
	al_h al;

	ck_ok(al_open(&attr, &al));
	return al;
}

/*
 * Counts the process's objects of a type; AL_OBJ_NONE: of all types. Dying objects count, but not an agent's: an
 * agent may free an object after its answer to the client, which has no handle of the object left then.
 */
static inline size_t test_count(al_h al, al_object_type type)
{
	struct al_snapshot *snap;
	size_t count = 0;

	ck_ok(al_snapshot(al, &snap));
	for (size_t i = 0; i < snap->num_objects; i++)
		count += (!type || snap->objects[i].type == type) &&
			 !(test_in_user_role() && snap->objects[i].dying);
	al_free_snapshot(snap);
	return count;
}

/*
 * Expects `all` objects. An agent's snapshot has the agent's own objects too, and lacks objects that do not cross
 * (openings, address handles, registrations, channels): in a user role, expects `crossing` protection domains,
 * regions, completion queues and queue pairs.
 */
static inline void test_expect_count(al_h al, size_t all, size_t crossing)
{
	if (test_in_user_role())
		ck_assert_uint_eq(test_count(al, AL_OBJ_PD) + test_count(al, AL_OBJ_MR) + test_count(al, AL_OBJ_CQ) +
					  test_count(al, AL_OBJ_QP),
				  crossing);
	else
		ck_assert_uint_eq(test_count(al, AL_OBJ_NONE), all);
}

/*
 * Number of calls that the module gets for num operations on address handles. Address handles do not cross to an
 * agent.
 */
static inline unsigned int test_ah_calls(unsigned int num)
{
	return test_in_user_role() ? 0 : num;
}

/* -------------------------------------------------------------- fake module */

#ifdef FAKE_DIR
#include "test/modules/fake.h"

/* Makes fake.so the only module; to be called before test_open(). */
static inline struct fake *test_fake(void)
{
	struct fake *fake;
	void *file;

	ck_assert(!setenv("IBAL_MODULE_PATH", FAKE_DIR, 1));
	file = dlopen(FAKE_DIR "/fake.so", RTLD_NOW | RTLD_LOCAL);
	ck_assert_msg(file != NULL, "%s", dlerror());
	fake = dlsym(file, "fake");
	ck_assert_ptr_nonnull(fake);
	return fake;
}
#endif

/* -------------------------------------------------------------- queue pairs */

/* One side of a connection. */
struct test_end {
	al_ca_h ca;
	al_pd_h pd;
	al_cq_h cq;    /* of both queues */
	al_qp_h qp;
	uint32_t qpn;
	uint16_t lid;
	ib_mtu mtu;
	uint8_t *mem;  /* TEST_MEM bytes, all permissions */
	al_mr_h mr;
	uint32_t lkey, rkey;
};

#define TEST_MEM 65536u
#define TEST_ALL_ACCESS                                                                     \
	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC)

/* The context of a queue pair and of a completion queue is their test_end. */
static inline void test_make_end_told(struct test_end *end, al_h al, uint64_t guid, ib_qp_type type, al_comp_cb told)
{
	struct al_cq_init cq = { .cqe = 256 };
	struct al_qp_init qp = { .qp_type = type,
				 .cap = { .max_send_wr = 64,
					  .max_recv_wr = 64,
					  .max_send_sge = 4,
					  .max_recv_sge = 4,
					  .max_inline_data = 32 } };
	struct al_mr_init mr = { .length = TEST_MEM, .access = TEST_ALL_ACCESS };
	struct ib_port_attr port;

	memset(end, 0, sizeof(*end));
	end->ca = test_open_ca(al, guid);
	ck_ok(al_query_port(end->ca, 1, &port));
	end->lid = port.lid;
	end->mtu = port.active_mtu;
	ck_ok(al_alloc_pd(end->ca, NULL, &end->pd));
	ck_ok(al_create_cq(end->pd, &cq, end, told, NULL, &end->cq));
	qp.send_cq = qp.recv_cq = end->cq;
	ck_ok(al_create_qp(end->pd, &qp, end, NULL, &end->qp));
	ck_ok(al_qp_num(end->qp, &end->qpn));
	end->mem = calloc(1, TEST_MEM);
	ck_assert_ptr_nonnull(end->mem);
	mr.addr = end->mem;
	ck_ok(al_reg_mr(end->pd, &mr, NULL, &end->lkey, &end->rkey, &end->mr));
}

static inline void test_make_end(struct test_end *end, al_h al, uint64_t guid, ib_qp_type type)
{
	test_make_end_told(end, al, guid, type, NULL);
}

static inline void test_free_end(struct test_end *end)
{
	ck_ok(al_close_ca(end->ca, AL_DESTROY_SYNC, NULL));
	free(end->mem);
}

/* Attributes that take a connected queue pair of either reliable or unreliable service through its states. */
static inline struct ib_qp_attr test_attr(uint16_t dlid, uint32_t dest_qpn, ib_mtu mtu)
{
	return (struct ib_qp_attr){
		.port_num = 1,
		.qp_access_flags = TEST_ALL_ACCESS,
		.ah_attr = { .dlid = dlid, .port_num = 1 },
		.path_mtu = mtu,
		.dest_qp_num = dest_qpn,
		.rq_psn = 0xfffff0,
		.sq_psn = 0xfffff0,
		.max_rd_atomic = 4,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
	};
}

#define TEST_RC_INIT (IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS)
#define TEST_RC_RTR                                                                                 \
	(IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN | IB_QP_MAX_DEST_RD_ATOMIC | \
	 IB_QP_MIN_RNR_TIMER)
#define TEST_RC_RTS                                                                                 \
	(IB_QP_STATE | IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | IB_QP_SQ_PSN | IB_QP_MAX_QP_RD_ATOMIC)

static inline al_status test_modify(al_qp_h qp, ib_qp_state to, struct ib_qp_attr attr, uint32_t mask)
{
	attr.qp_state = to;
	return al_modify_qp(qp, &attr, mask);
}

/* An RC queue pair from Reset to Ready to Send, by every step. */
static inline void test_to_rts(al_qp_h qp, uint16_t dlid, uint32_t dest_qpn, ib_mtu mtu)
{
	struct ib_qp_attr attr = test_attr(dlid, dest_qpn, mtu);

	ck_ok(test_modify(qp, IB_QPS_INIT, attr, TEST_RC_INIT));
	ck_ok(test_modify(qp, IB_QPS_RTR, attr, TEST_RC_RTR));
	ck_ok(test_modify(qp, IB_QPS_RTS, attr, TEST_RC_RTS));
}

static inline void test_connect(struct test_end *a, struct test_end *b)
{
	test_to_rts(a->qp, b->lid, b->qpn, a->mtu);
	test_to_rts(b->qp, a->lid, a->qpn, b->mtu);
}

/* A connected RC pair on the first two HCAs. */
static inline void test_make_pair(al_h al, struct test_end end[2])
{
	uint64_t guids[2];

	test_guids(al, guids, 2);
	for (int i = 0; i < 2; i++)
		test_make_end(&end[i], al, guids[i], IB_QPT_RC);
	test_connect(&end[0], &end[1]);
}

static inline ib_qp_state test_state(al_qp_h qp)
{
	struct ib_qp_attr attr;

	ck_ok(al_query_qp(qp, &attr, NULL));
	return attr.qp_state;
}

/* ---------------------------------------------------------------- requests */

static inline al_status test_post_recv(struct test_end *end, uint64_t wr_id, uint32_t offset, uint32_t length)
{
	struct ib_sge sge = { .addr = (uintptr_t)end->mem + offset, .length = length, .lkey = end->lkey };
	struct ib_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 };
	const struct ib_recv_wr *bad;

	return al_post_recv(end->qp, &wr, &bad);
}

static inline al_status test_post_send(struct test_end *end, uint64_t wr_id, uint32_t offset, uint32_t length)
{
	struct ib_sge sge = { .addr = (uintptr_t)end->mem + offset, .length = length, .lkey = end->lkey };
	struct ib_send_wr wr = {
		.wr_id = wr_id, .sg_list = &sge, .num_sge = 1, .opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED
	};
	const struct ib_send_wr *bad;

	return al_post_send(end->qp, &wr, &bad);
}

/* Polls one completion, which has to come. */
static inline struct ib_wc test_poll(al_cq_h cq)
{
	struct timespec deadline = test_deadline();
	struct ib_wc wc;
	uint32_t count;

	do {
		ck_ok(al_poll_cq(cq, 1, &wc, &count));
		ck_assert_msg(count || !test_expired(&deadline), "no completion came");
	} while (!count);
	return wc;
}

static inline struct ib_wc test_poll_ok(al_cq_h cq, uint64_t wr_id)
{
	struct ib_wc wc = test_poll(cq);

	ck_assert_msg(wc.status == IB_WC_SUCCESS, "completion in error: %s", al_wc_status_str(wc.status));
	ck_assert_uint_eq(wc.wr_id, wr_id);
	return wc;
}

/* ------------------------------------------------------------------ running */

static inline int test_run(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif /* IBAL_TEST_AL_TEST_H */
