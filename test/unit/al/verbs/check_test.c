/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * al/verbs/check.c: an answer of a module that can not be right reaches no channel driver, in this process or through
 * an agent. The module is fake.so with some operations in front of its own.
 */
#include "test/unit/al/verbs/qp_test.h"

#include <iba/ib_hca.h>

#define NO_STATUS ((al_status)9999)

/* Changes of the answers of the operations below. */
static struct {
	struct ci_interface real;
	int cqe;                /* added to the entries of create_cq */
	int cap[5];             /* added to the sizes that create_qp grants, in the order of struct ib_qp_cap */
	uint32_t qpn;           /* the queue pair's number; 0: unchanged */
	unsigned int made;      /* queue pairs created */
	struct ci_qp *last;     /* the last of them */
	uint32_t more;          /* completions that poll_cq and peek_cq return beyond the maximum */
	bool set_bad;           /* posts fail, and set *bad to: */
	const void *bad;
	uint32_t out_len;       /* length of vendor_call's output */
} odd;

static al_status create_cq(struct ci_cq *ci, struct ci_cq_init *init, struct ci_udata *udata)
{
	al_status status = odd.real.create_cq(ci, init, udata);

	init->cqe += (uint32_t)odd.cqe;
	return status;
}

/* Returns a member of a queue pair's sizes, by its number. */
static uint32_t *size_of(struct ib_qp_cap *cap, int i)
{
	uint32_t *const sizes[] = { &cap->max_send_wr, &cap->max_recv_wr, &cap->max_send_sge,
				    &cap->max_recv_sge, &cap->max_inline_data };

	return sizes[i];
}

static al_status create_qp(struct ci_qp *ci, struct ci_qp_init *init, struct ci_udata *udata)
{
	al_status status = odd.real.create_qp(ci, init, udata);

	for (int i = 0; i < 5; i++)
		*size_of(&init->cap, i) += (uint32_t)odd.cap[i];
	odd.made += !status;
	odd.last = ci;
	if (odd.qpn)
		ci->qp_num = odd.qpn == UINT32_MAX ? 0 : odd.qpn;
	return status;
}

static al_status poll_cq(struct ci_cq *ci, uint32_t num, struct ib_wc *wc, uint32_t *count)
{
	al_status status = odd.real.poll_cq(ci, num, wc, count);

	if (odd.more)
		*count = num + odd.more;
	return status;
}

static al_status peek_cq(struct ci_cq *ci, uint32_t max, uint32_t *count)
{
	(void)ci;
	*count = max + odd.more;
	return fake->fail[FAKE_peek_cq];
}

static al_status post_send(struct ci_qp *ci, const struct ib_send_wr *wr, const struct ib_send_wr **bad)
{
	if (!odd.set_bad)
		return odd.real.post_send(ci, wr, bad);
	if (odd.bad != &odd)
		*bad = odd.bad;
	return AL_INVALID_OPCODE;
}

static al_status post_recv(struct ci_qp *ci, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad)
{
	if (!odd.set_bad)
		return odd.real.post_recv(ci, wr, bad);
	if (odd.bad != &odd)
		*bad = odd.bad;
	return AL_INVALID_SGE;
}

static al_status vendor_call(struct ci_ca *ci, struct ci_vendor_call *call, struct ci_udata *udata)
{
	(void)ci;
	(void)udata;
	call->out_len = odd.out_len;
	return fake->fail[FAKE_vendor_call];
}

/* Counts the log's error messages: those with `word`, and all. */
static struct {
	pthread_mutex_t lock;
	const char *word;
	unsigned int found, all;
} told = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void count_errors(void *context, ib_log_level level, const char *text)
{
	(void)context;
	pthread_mutex_lock(&told.lock);
	told.all += level == IB_LOG_ERROR;
	told.found += level == IB_LOG_ERROR && told.word && strstr(text, told.word) != NULL;
	pthread_mutex_unlock(&told.lock);
}

static void listen_for(const char *word)
{
	pthread_mutex_lock(&told.lock);
	told.word = word;
	told.found = told.all = 0;
	pthread_mutex_unlock(&told.lock);
	al_set_log(count_errors, NULL);
}

/* The changes that must be made before the HCA is registered. */
static void set_up_odd(void)
{
	struct ci_interface *ops = &test_fake()->ops;

	odd.real = *ops;
	ops->create_cq = create_cq;
	ops->create_qp = create_qp;
	ops->poll_cq = poll_cq;
	ops->peek_cq = peek_cq;
	ops->post_send = post_send;
	ops->post_recv = post_recv;
	ops->vendor_call = vendor_call;
	set_up();
	al_set_log(count_errors, NULL);
}

/* The same operations of the data path, called outside read sections. */
static void set_up_blocking(void)
{
	test_fake()->ops.may_block = CI_MAY_BLOCK(poll_cq) | CI_MAY_BLOCK(post_send) | CI_MAY_BLOCK(post_recv);
	set_up_odd();
}

/* ----------------------------------------------------------------- creation */

START_TEST(a_completion_queue_smaller_than_requested_is_refused)
{
	struct al_cq_init init = { .cqe = 10 };
	unsigned int ended = fake->calls[FAKE_destroy_cq];
	al_cq_h small = NULL;

	odd.cqe = -1;
	listen_for("create_cq created a completion queue of 9 entries; requested: 10");
	ck_status(al_create_cq(pd, &init, NULL, NULL, NULL, &small), AL_MODULE_FAILED);
	ck_assert_uint_eq(told.found, 1);
	ck_assert_ptr_null(small);
	ck_assert_uint_eq(init.cqe, 10);
	ck_assert_uint_eq(fake->calls[FAKE_destroy_cq], ended + 1);
	odd.cqe = 0;
	ck_ok(al_create_cq(pd, &init, NULL, NULL, NULL, &small));
	odd.cqe = 3; /* a larger queue is allowed */
	ck_ok(al_create_cq(pd, &init, NULL, NULL, NULL, &small));
	ck_assert_uint_eq(init.cqe, 13);
}
END_TEST

START_TEST(a_queue_pair_smaller_than_requested_is_refused)
{
	struct al_qp_init init = rc(), asked = rc();
	unsigned int ended = fake->calls[FAKE_destroy_qp];
	al_qp_h qp = NULL;

	odd.cap[_i] = -1;
	listen_for("create_qp granted less than requested");
	ck_status(al_create_qp(pd, &init, NULL, NULL, &qp), AL_MODULE_FAILED);
	ck_assert_uint_eq(told.found, 1);
	ck_assert_ptr_null(qp);
	ck_assert_int_eq(memcmp(&init.cap, &asked.cap, sizeof(init.cap)), 0);
	ck_assert_uint_eq(fake->calls[FAKE_destroy_qp], ended + 1);
	odd.cap[_i] = 1;
	ck_ok(al_create_qp(pd, &init, NULL, NULL, &qp));
	ck_assert_uint_eq(*size_of(&init.cap, _i), *size_of(&asked.cap, _i) + 1);
}
END_TEST

START_TEST(a_queue_pair_number_has_24_bits_and_is_not_special)
{
	static const uint32_t wrong[] = { UINT32_MAX, 1, 0xffffff, 0x1000002, 0x80000002 };
	struct al_qp_init init = rc();
	al_qp_h qp;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		odd.qpn = wrong[i];
		listen_for("create_qp set qp_num to");
		ck_status(al_create_qp(pd, &init, NULL, NULL, &qp), AL_MODULE_FAILED);
		ck_assert_uint_eq(told.found, 1);
	}
	odd.qpn = 2;
	ck_ok(al_create_qp(pd, &init, NULL, NULL, &qp));
	odd.qpn = 0xfffffe;
	ck_ok(al_create_qp(pd, &init, NULL, NULL, &qp));
}
END_TEST

START_TEST(a_queue_pair_number_is_unique_until_its_queue_pair_ends)
{
	struct al_qp_init init = rc();
	al_qp_h first, second;

	odd.qpn = 0x123456;
	ck_ok(al_create_qp(pd, &init, NULL, NULL, &first));
	listen_for("0x123456, which is another queue pair");
	ck_status(al_create_qp(pd, &init, NULL, NULL, &second), AL_MODULE_FAILED);
	ck_assert_uint_eq(told.found, 1);
	/* The refused creation has not freed the number of the first queue pair. */
	ck_status(al_create_qp(pd, &init, NULL, NULL, &second), AL_MODULE_FAILED);
	/* Numbers that differ from the first one in one bit are other numbers. */
	for (uint32_t step = 1; step <= 1u << 18; step *= 2) {
		odd.qpn = 0x123456 ^ step;
		ck_ok(al_create_qp(pd, &init, NULL, NULL, &second));
	}
	odd.qpn = 0x123456;
	ck_ok(al_destroy_qp(first, AL_DESTROY_SYNC, NULL));
	ck_ok(al_create_qp(pd, &init, NULL, NULL, &second));
}
END_TEST

START_TEST(another_hca_has_numbers_of_its_own)
{
	struct al_qp_init init = rc();
	struct al_cq_init cq_init = { .cqe = 8 };
	al_pd_h other;
	al_qp_h qp;

	odd.qpn = 77;
	ck_ok(al_create_qp(pd, &init, NULL, NULL, &qp));
	ck_ok(al_alloc_pd(test_open_ca(al, FAKE_GUID + 0x100), NULL, &other));
	ck_ok(al_create_cq(other, &cq_init, NULL, NULL, NULL, &init.send_cq));
	init.recv_cq = init.send_cq;
	ck_ok(al_create_qp(other, &init, NULL, NULL, &qp));
}
END_TEST

static void stay_in_destroy(void *object)
{
	(void)object;
	sem_post(&inside);
	test_wait(&go_on);
}

/* The module may write to its own part of a queue pair. */
START_TEST(the_original_queue_pair_number_is_released_if_the_module_changes_it)
{
	static const uint32_t changed[] = { 0, 78, 0x654321, 0x1000002, UINT32_MAX };
	struct al_qp_init init = rc();
	al_qp_h qp;

	odd.qpn = 78;
	ck_ok(al_create_qp(pd, &init, NULL, NULL, &qp));
	odd.qpn = 0x123456;
	ck_ok(al_create_qp(pd, &init, NULL, NULL, &qp));
	odd.last->qp_num = changed[_i];
	ck_ok(al_destroy_qp(qp, AL_DESTROY_SYNC, NULL));
	ck_ok(al_create_qp(pd, &init, NULL, NULL, &qp));
	odd.qpn = 78;
	ck_status(al_create_qp(pd, &init, NULL, NULL, &qp), AL_MODULE_FAILED);
}
END_TEST

/* A module may use a number again before its destroy of the old queue pair has returned. */
START_TEST(a_number_is_free_when_its_destroy_begins)
{
	struct al_qp_init init = rc();
	al_qp_h first, second;

	sem_init(&inside, 0, 0);
	sem_init(&go_on, 0, 0);
	odd.qpn = 99;
	ck_ok(al_create_qp(pd, &init, NULL, NULL, &first));
	fake->hook[FAKE_destroy_qp] = stay_in_destroy;
	ck_ok(al_destroy_qp(first, NULL, NULL));
	test_wait(&inside);
	ck_ok(al_create_qp(pd, &init, NULL, NULL, &second));
	fake->hook[FAKE_destroy_qp] = NULL;
	sem_post(&go_on);
}
END_TEST

START_TEST(without_memory_for_its_number_there_is_no_queue_pair)
{
	struct al_qp_init init = rc();
	al_status status = AL_INSUFFICIENT_MEMORY;
	al_qp_h qp;

	for (uint64_t nth = 1; status; nth++) {
		al_fail_alloc(nth);
		status = al_create_qp(pd, &init, NULL, NULL, &qp);
		ck_assert(!status || status == AL_INSUFFICIENT_MEMORY);
		ck_assert_uint_eq(odd.made - fake->calls[FAKE_destroy_qp], !status);
	}
	al_fail_alloc(0);
}
END_TEST

/* ----------------------------------------------------------------- the data path */

START_TEST(no_more_completions_than_were_asked_for)
{
	struct ib_wc wc[4];
	uint32_t count = 0;

	memset(wc, 0x5a, sizeof(wc));
	odd.more = 1000;
	listen_for("poll_cq reported 1003 completions; the most it may report: 3");
	ck_ok(al_poll_cq_ex(cq, 3, wc, &count));
	ck_assert_uint_eq(count, 3);
	ck_ok(al_poll_cq(cq, 3, wc, &count));
	ck_assert_uint_eq(count, 3);
	ck_assert_uint_eq(told.found, 2);
	ck_assert_uint_eq(((uint8_t *)&wc[3])[0], 0x5a);
}
END_TEST

START_TEST(no_more_completions_are_seen_than_were_asked_for)
{
	uint32_t count = 0;

	odd.more = 1;
	listen_for("peek_cq reported 8 completions; the most it may report: 7");
	ck_ok(al_peek_cq(cq, 7, &count));
	ck_assert_uint_eq(count, 7);
	ck_assert_uint_eq(told.found, 1);
}
END_TEST

START_TEST(a_failed_poll_writes_no_count)
{
	uint32_t count = 42;
	struct ib_wc wc;

	fake->fail[FAKE_poll_cq] = AL_CQ_ERROR;
	ck_status(al_poll_cq(cq, 1, &wc, &count), AL_CQ_ERROR);
	ck_assert_uint_eq(count, 42);
}
END_TEST

START_TEST(a_failed_arm_writes_nothing)
{
	bool present = true;

	fake->fail[FAKE_arm_cq] = AL_CQ_ERROR;
	ck_status(al_arm_cq(cq, AL_ARM_ANY, &present), AL_CQ_ERROR);
	ck_assert(present);
}
END_TEST

/* *bad: NULL; an address of no request; a request outside the chain; not set; the second request. */
enum { BAD_NULL, BAD_WILD, BAD_OTHER, BAD_UNSET, BAD_RIGHT, BADS };

START_TEST(the_bad_request_belongs_to_the_chain)
{
	struct ib_send_wr send[3] = { { .next = &send[1] }, { .next = &send[2] } }, other = { 0 };
	struct ib_recv_wr recv[3] = { { .next = &recv[1] }, { .next = &recv[2] } };
	const void *const bad[BADS] = { NULL, (void *)0xdeadbeef, &other, &odd, NULL };
	const struct ib_send_wr *bad_send = &send[2];
	const struct ib_recv_wr *bad_recv = &recv[2];
	al_qp_h qp = make(IB_QPT_RC);

	odd.set_bad = true;
	odd.bad = _i == BAD_RIGHT ? &send[1] : bad[_i];
	listen_for("which is no request of the chain");
	ck_status(al_post_send(qp, send, &bad_send), AL_INVALID_OPCODE);
	/* The agent's module knows only the agent's copies. */
	if (_i != BAD_RIGHT || !test_in_user_role())
		ck_assert_ptr_eq(bad_send, _i == BAD_RIGHT ? &send[1] : &send[0]);
	odd.bad = _i == BAD_RIGHT ? (const void *)&recv[1] : bad[_i];
	ck_status(al_post_recv(qp, recv, &bad_recv), AL_INVALID_SGE);
	if (_i == BAD_RIGHT && test_in_user_role())
		return;
	ck_assert_ptr_eq(bad_recv, _i == BAD_RIGHT ? &recv[1] : &recv[0]);
	ck_assert_uint_eq(told.found, _i == BAD_RIGHT ? 0 : 2);
}
END_TEST

/* ------------------------------------------------------------------ statuses */

static al_qp_h ready_qp;

static al_status ask_query_ca(void)
{
	struct ib_ca_attr attr;

	return al_query_ca(ca, &attr);
}

static al_status ask_query_port(void)
{
	struct ib_port_attr attr;

	return al_query_port(ca, 1, &attr);
}

static al_status ask_query_gid(void)
{
	ib_gid gid;

	return al_query_gid(ca, 1, 0, &gid);
}

static al_status ask_query_pkey(void)
{
	uint16_t pkey;

	return al_query_pkey(ca, 1, 0, &pkey);
}

static al_status ask_vendor_call(void)
{
	return al_vendor_call(ca, 1, NULL, 0, NULL, NULL);
}

static al_status ask_allocate_pd(void)
{
	al_pd_h made;

	return al_alloc_pd(ca, NULL, &made);
}

static al_status ask_register_mr(void)
{
	static uint64_t mem;
	struct al_mr_init init = { .addr = &mem, .length = sizeof(mem) };
	uint32_t lkey, rkey;
	al_mr_h mr;

	return al_reg_mr(pd, &init, NULL, &lkey, &rkey, &mr);
}

static al_status ask_create_cq(void)
{
	struct al_cq_init init = { .cqe = 4 };
	al_cq_h made;

	return al_create_cq(pd, &init, NULL, NULL, NULL, &made);
}

static al_status ask_create_qp(void)
{
	struct al_qp_init init = rc();
	al_qp_h made;

	return al_create_qp(pd, &init, NULL, NULL, &made);
}

static al_status ask_query_qp(void)
{
	struct ib_qp_attr attr;

	return al_query_qp(ready_qp, &attr, NULL);
}

static al_status ask_modify_qp(void)
{
	return test_modify(ready_qp, IB_QPS_INIT, test_attr(1, 1, IB_MTU_1024), TEST_RC_INIT);
}

static al_status ask_post_send(void)
{
	const struct ib_send_wr *bad;

	return al_post_send(ready_qp, &(struct ib_send_wr){ .wr_id = 1 }, &bad);
}

static al_status ask_post_recv(void)
{
	const struct ib_recv_wr *bad;

	return al_post_recv(ready_qp, &(struct ib_recv_wr){ .wr_id = 1 }, &bad);
}

static al_status ask_poll_cq(void)
{
	struct ib_wc wc;
	uint32_t count;

	return al_poll_cq(cq, 1, &wc, &count);
}

static al_status ask_peek_cq(void)
{
	uint32_t count;

	return al_peek_cq(cq, 1, &count);
}

static al_status ask_arm_cq(void)
{
	return al_arm_cq(cq, AL_ARM_ANY, NULL);
}

#define ASKS(X) \
	X(query_ca) X(query_port) X(query_gid) X(query_pkey) X(vendor_call) X(allocate_pd) X(register_mr) \
	X(create_cq) X(create_qp) X(query_qp) X(modify_qp) X(post_send) X(post_recv) X(poll_cq) X(peek_cq) X(arm_cq)
static const struct {
	const char *name;
	enum fake_op op;
	al_status (*ask)(void);
} asks[] = {
#define ASK_ROW(name) { #name, FAKE_##name, ask_##name },
	ASKS(ASK_ROW)
};
#define NUM_ASKS ((int)(sizeof(asks) / sizeof(asks[0])))

START_TEST(an_unknown_status_becomes_module_failed)
{
	ready_qp = make(IB_QPT_RC);
	fake->fail[asks[_i].op] = NO_STATUS;
	listen_for(asks[_i].name);
	ck_status(asks[_i].ask(), AL_MODULE_FAILED);
	ck_assert_uint_ge(told.found, 1);
	fake->fail[asks[_i].op] = (al_status)-1;
	ck_status(asks[_i].ask(), AL_MODULE_FAILED);
	/* A status of the list is passed on. */
	fake->fail[asks[_i].op] = AL_IO_ERROR;
	ck_status(asks[_i].ask(), AL_IO_ERROR);
	fake->fail[asks[_i].op] = AL_SUCCESS;
}
END_TEST

START_TEST(a_module_that_goes_on_does_not_fill_the_log)
{
	listen_for("are not logged");
	fake->fail[FAKE_arm_cq] = NO_STATUS;
	for (int i = 0; i < 100; i++)
		ck_status(al_arm_cq(cq, AL_ARM_ANY, NULL), AL_MODULE_FAILED);
	ck_assert_uint_eq(told.all, 16);
	ck_assert_uint_eq(told.found, 1);
}
END_TEST

/* ------------------------------------------------------------------- queries */

START_TEST(impossible_attributes_are_refused)
{
	struct ib_port_attr port = { .lid = 1234 };
	struct ib_ca_attr attr = { .max_qp = 1234 };

	fake->port_attr.state = (ib_port_state)99;
	listen_for("query_port returned state 99 for port 1");
	ck_status(al_query_port(ca, 1, &port), AL_MODULE_FAILED);
	ck_assert_uint_eq(told.found, 1);
	ck_assert_uint_eq(port.lid, 1234);
	fake->port_attr.state = IB_PORT_ACTIVE;
	ck_ok(al_query_port(ca, 1, &port));

	fake->ca_attr.num_ports = 255;
	listen_for("query_ca returned num_ports 255");
	ck_status(al_query_ca(ca, &attr), AL_MODULE_FAILED);
	ck_assert_uint_eq(told.found, 1);
	ck_assert_uint_eq(attr.max_qp, 1234);
	fake->ca_attr.num_ports = 2;
	ck_ok(al_query_ca(ca, &attr));
}
END_TEST

START_TEST(an_impossible_state_or_port_of_a_queue_pair_is_refused)
{
	struct ib_qp_attr attr = test_attr(1, 1, IB_MTU_1024), found = { .timeout = 17 }, kept;
	al_qp_h qp = make(IB_QPT_RC);

	ck_ok(test_modify(qp, IB_QPS_INIT, attr, TEST_RC_INIT));
	kept = fake->last_qp->attr;
	listen_for("query_qp returned");
	switch (_i) {
	case 0:
		fake->last_qp->attr.qp_state = IB_QPS_COUNT;
		break;
	case 1:
		fake->last_qp->attr.port_num = 3;
		break;
	default:
		fake->last_qp->attr.alt_port_num = 200;
	}
	ck_status(al_query_qp(qp, &found, NULL), AL_MODULE_FAILED);
	ck_assert_uint_eq(found.timeout, 17);
	/* An index out of range is not looked up in the table either. */
	ck_status(test_modify(qp, IB_QPS_RTR, attr, TEST_RC_RTR | IB_QP_PKEY_INDEX), AL_MODULE_FAILED);
	ck_assert_uint_eq(told.found, 2);
	fake->last_qp->attr = kept;
	ck_ok(al_query_qp(qp, &found, NULL));
}
END_TEST

START_TEST(a_vendor_call_answers_no_more_than_there_is_room)
{
	uint32_t length = 8;
	char out[16];

	odd.out_len = 9;
	listen_for("vendor_call of code 0x7 wrote 9 bytes to a buffer of 8");
	ck_status(al_vendor_call(ca, 7, NULL, 0, out, &length), AL_MODULE_FAILED);
	ck_assert_uint_eq(told.found, 1);
	ck_assert_uint_eq(length, 8);
	odd.out_len = 1;
	ck_status(al_vendor_call(ca, 7, NULL, 0, NULL, NULL), AL_MODULE_FAILED);
	odd.out_len = 8;
	ck_ok(al_vendor_call(ca, 7, NULL, 0, out, &length));
	ck_assert_uint_eq(length, 8);
}
END_TEST

/* -------------------------------------------------------- upcalls of a module */

START_TEST(an_upcall_without_an_object_is_dropped)
{
	const struct ci_event nobody = { .type = IB_EVENT_QP_FATAL };

	make(IB_QPT_RC);
	listen_for("dropped");
	ib_cq_notify(NULL);
	ib_cq_notify(fake->last_qp->qp.ctx);
	ib_dispatch_event(NULL);
	ib_dispatch_event(&nobody);
	ck_assert_uint_eq(told.found, 4);
}
END_TEST

/* The HCA's ctx in place of an object's, an object's in place of the HCA's, and one object's in place of another's. */
START_TEST(an_upcall_with_the_context_of_something_else_is_dropped)
{
	static const ib_event_type affiliated[] = { IB_EVENT_QP_FATAL, IB_EVENT_CQ_ERR };
	static const ib_event_type of_hca[] = { IB_EVENT_DEVICE_FATAL, IB_EVENT_PORT_DOWN, IB_EVENT_GID_CHANGE };
	struct ci_event event = { .port_num = 1 };
	void *hca_ctx;

	make(IB_QPT_RC);
	hca_ctx = fake->last_qp->qp.pd->ca->ctx;
	listen_for("the ctx of an HCA instead");
	ib_cq_notify(hca_ctx);
	ck_assert_uint_eq(told.found, 1);
	listen_for("for the ctx of an HCA");
	for (int i = 0; i < 2; i++) {
		event.type = affiliated[i];
		event.object_ctx = hca_ctx;
		ib_dispatch_event(&event);
	}
	ck_assert_uint_eq(told.found, 2);
	listen_for("for the ctx of qp");
	for (int i = 0; i < 3; i++) {
		event.type = of_hca[i];
		event.object_ctx = fake->last_qp->qp.ctx;
		ib_dispatch_event(&event);
	}
	event.type = IB_EVENT_CQ_ERR;
	ib_dispatch_event(&event);
	ck_assert_uint_eq(told.found, 4);
	listen_for("a module raised \"device fatal\" for the ctx of NULL");
	event = (struct ci_event){ .type = IB_EVENT_DEVICE_FATAL };
	ib_dispatch_event(&event);
	ck_assert_uint_eq(told.found, 1);
}
END_TEST

static al_status answer;
static atomic_uint asked;

static void withdraw_inside(void *object)
{
	(void)object;
	answer = ib_deregister_ci(fake->handle[0], 0);
	atomic_fetch_add(&asked, 1);
}

/* In an operation that may sleep, in one of the data path, and in a destroy on the destroy thread. */
START_TEST(an_hca_is_not_withdrawn_from_inside_an_operation)
{
	static const enum fake_op ops[] = { FAKE_query_gid, FAKE_poll_cq, FAKE_destroy_cq };
	struct al_cq_init init = { .cqe = 1 };
	uint32_t count;
	struct ib_wc wc;
	al_cq_h extra;
	ib_gid gid;

	ck_ok(al_create_cq(pd, &init, NULL, NULL, NULL, &extra));
	listen_for("ib_deregister_ci");
	fake->hook[ops[_i]] = withdraw_inside;
	switch (_i) {
	case 0:
		ck_ok(al_query_gid(ca, 1, 0, &gid));
		break;
	case 1:
		ck_ok(al_poll_cq(extra, 1, &wc, &count));
		break;
	default:
		ck_ok(al_destroy_cq(extra, AL_DESTROY_SYNC, NULL));
	}
	fake->hook[ops[_i]] = NULL;
	ck_assert_uint_eq(atomic_load(&asked), 1);
	ck_status(answer, AL_INVALID_CONTEXT);
	ck_assert_uint_eq(told.found, 1);
	/* The HCA is still registered, and a withdrawal from outside removes it. */
	ck_ok(al_query_gid(ca, 1, 0, &gid));
	ck_ok(ib_deregister_ci(fake->handle[0], 0));
	ck_status(ib_deregister_ci(fake->handle[0], 0), AL_INVALID_HANDLE);
	fake->handle[0] = NULL;
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("al/verbs/check");
	TCase *tcase = tcase_create("door");

	tcase_add_checked_fixture(tcase, set_up_odd, tear_down);
	tcase_add_test(tcase, a_completion_queue_smaller_than_requested_is_refused);
	tcase_add_loop_test(tcase, a_queue_pair_smaller_than_requested_is_refused, 0, 5);
	tcase_add_test(tcase, a_queue_pair_number_has_24_bits_and_is_not_special);
	tcase_add_test(tcase, a_queue_pair_number_is_unique_until_its_queue_pair_ends);
	tcase_add_test(tcase, another_hca_has_numbers_of_its_own);
	tcase_add_loop_test(tcase, the_original_queue_pair_number_is_released_if_the_module_changes_it,
			    0, 5);
	tcase_add_test(tcase, a_number_is_free_when_its_destroy_begins);
	tcase_add_test(tcase, without_memory_for_its_number_there_is_no_queue_pair);
	tcase_add_test(tcase, no_more_completions_than_were_asked_for);
	tcase_add_test(tcase, no_more_completions_are_seen_than_were_asked_for);
	tcase_add_test(tcase, a_failed_poll_writes_no_count);
	tcase_add_test(tcase, a_failed_arm_writes_nothing);
	tcase_add_loop_test(tcase, the_bad_request_belongs_to_the_chain, 0, BADS);
	tcase_add_loop_test(tcase, an_unknown_status_becomes_module_failed, 0, NUM_ASKS);
	tcase_add_test(tcase, a_module_that_goes_on_does_not_fill_the_log);
	tcase_add_test(tcase, impossible_attributes_are_refused);
	tcase_add_loop_test(tcase, an_impossible_state_or_port_of_a_queue_pair_is_refused, 0, 3);
	tcase_add_test(tcase, a_vendor_call_answers_no_more_than_there_is_room);
	tcase_add_test(tcase, an_upcall_without_an_object_is_dropped);
	tcase_add_test(tcase, an_upcall_with_the_context_of_something_else_is_dropped);
	tcase_add_loop_test(tcase, an_hca_is_not_withdrawn_from_inside_an_operation, 0, 3);
	suite_add_tcase(suite, tcase);
	tcase = tcase_create("operations that may block");
	tcase_add_checked_fixture(tcase, set_up_blocking, tear_down);
	tcase_add_test(tcase, no_more_completions_than_were_asked_for);
	tcase_add_test(tcase, a_failed_poll_writes_no_count);
	tcase_add_loop_test(tcase, the_bad_request_belongs_to_the_chain, 0, BADS);
	tcase_add_loop_test(tcase, an_unknown_status_becomes_module_failed, 0, NUM_ASKS);
	suite_add_tcase(suite, tcase);
	return test_run(suite);
}
