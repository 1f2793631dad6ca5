/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The way of a call to the module must not show in its result: records have a maximum length, and connections are
 * limited.
 */
#include "test/unit/al/verbs/qp_test.h"

/*
 * Looks up an address handle as a module does. In a user role the library has looked up the handle before the request
 * crosses.
 */
static al_status look_up(struct ci_qp *qp, const struct ib_send_wr *wr, const struct ib_send_wr **bad)
{
	*bad = wr;
	return ci_wr_ah(qp, wr->wr.ud.ah) ? AL_SUCCESS : AL_INVALID_HANDLE;
}

/* The requests of a chain, as the module gets them. */
static struct taken {
	uint64_t wr_id, addr[3];
	uint32_t num_sge, length[3];
} taken[512];
static unsigned int num_taken;
static bool takes;
static al_status (*ordinary_post_recv)(struct ci_qp *, const struct ib_recv_wr *,
				       const struct ib_recv_wr **);

static al_status take(struct ci_qp *qp, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad)
{
	if (!takes)
		return ordinary_post_recv(qp, wr, bad);
	for (; wr; wr = wr->next) {
		taken[num_taken].wr_id = wr->wr_id;
		taken[num_taken].num_sge = wr->num_sge;
		for (uint32_t i = 0; i < wr->num_sge; i++) {
			taken[num_taken].addr[i] = wr->sg_list[i].addr;
			taken[num_taken].length[i] = wr->sg_list[i].length;
		}
		num_taken++;
	}
	return AL_SUCCESS;
}

static void set_up_large(void)
{
	ordinary_post_recv = test_fake()->ops.post_recv;
	test_fake()->ops.post_recv = take;
	takes = false;
	num_taken = 0;
	test_fake()->ops.post_send = look_up;
	test_fake()->ca_attr.max_qp_wr = 1024;
	test_fake()->ca_attr.max_pd = 4000;
	caps = IB_CA_CAP_UD;
	set_up();
}

/* ------------------------------------------------------------------ long chains */

#define ROOM 400
#define CHAIN 300 /* more requests than two records hold */

static void make_chain(struct ib_recv_wr *wr)
{
	for (uint32_t i = 0; i < CHAIN; i++)
		wr[i] = (struct ib_recv_wr){ .wr_id = 1000 + i, .next = i + 1 < CHAIN ? &wr[i + 1] : NULL };
}

START_TEST(a_long_chain_is_posted_and_its_first_bad_request_reported)
{
	struct al_qp_init init = { .qp_type = IB_QPT_RC, .cap = { 1, ROOM, 1, 1, 0 }, .send_cq = cq, .recv_cq = cq };
	struct ib_recv_wr wr[CHAIN];
	const struct ib_recv_wr *bad = NULL;
	al_qp_h qp;

	ck_ok(al_create_qp(pd, &init, NULL, NULL, &qp));
	ck_ok(test_modify(qp, IB_QPS_INIT, test_attr(1, 1, IB_MTU_1024), TEST_RC_INIT));
	make_chain(wr);
	ck_ok(al_post_recv(qp, wr, &bad));
	ck_assert_uint_eq(fake->last_qp->recv_count, CHAIN);
	for (uint32_t i = 0; i < CHAIN; i++)
		ck_assert_uint_eq(fake->last_qp->recv[(fake->last_qp->recv_head + i) % ROOM], 1000 + i);
	ck_status(al_post_recv(qp, wr, &bad), AL_QUEUE_FULL);
	ck_assert_ptr_eq(bad, &wr[ROOM - CHAIN]);
	ck_assert_uint_eq(fake->last_qp->recv_count, ROOM);
}
END_TEST

/* Each request of a chain has its own number of elements, and comes to the module with its own
 * elements. */
START_TEST(each_request_of_a_chain_keeps_its_own_elements)
{
	struct al_qp_init init = {
		.qp_type = IB_QPT_RC, .cap = { 1, ROOM, 1, 3, 0 }, .send_cq = cq, .recv_cq = cq
	};
	static struct ib_sge sge[CHAIN][3];
	struct ib_recv_wr wr[CHAIN];
	const struct ib_recv_wr *bad = NULL;
	al_qp_h qp;

	ck_ok(al_create_qp(pd, &init, NULL, NULL, &qp));
	ck_ok(test_modify(qp, IB_QPS_INIT, test_attr(1, 1, IB_MTU_1024), TEST_RC_INIT));
	make_chain(wr);
	for (uint32_t i = 0; i < CHAIN; i++) {
		wr[i].sg_list = sge[i];
		wr[i].num_sge = (i * 7 + 1) % 4;
		for (uint32_t j = 0; j < 3; j++)
			sge[i][j] = (struct ib_sge){ .addr = 0x10000 + i * 16 + j,
						     .length = 1 + i * 3 + j };
	}
	takes = true;
	ck_ok(al_post_recv(qp, wr, &bad));
	ck_assert_uint_eq(num_taken, CHAIN);
	for (uint32_t i = 0; i < CHAIN; i++) {
		ck_assert_uint_eq(taken[i].wr_id, 1000 + i);
		ck_assert_uint_eq(taken[i].num_sge, wr[i].num_sge);
		for (uint32_t j = 0; j < wr[i].num_sge; j++) {
			ck_assert_uint_eq(taken[i].addr[j], sge[i][j].addr);
			ck_assert_uint_eq(taken[i].length[j], sge[i][j].length);
		}
	}
}
END_TEST

START_TEST(an_address_handle_of_another_hca_or_opening_is_refused)
{
	struct ib_ah_attr path = { .dlid = 1, .port_num = 1 };
	struct ib_send_wr wr = { .opcode = IB_WR_SEND };
	const struct ib_send_wr *bad = NULL;
	al_qp_h qp = make(IB_QPT_UD);
	al_h other = test_open();
	al_pd_h foreign;

	ck_ok(al_alloc_pd(test_open_ca(al, FAKE_GUID + 0x100), NULL, &foreign));
	ck_ok(al_create_ah(foreign, &path, &wr.wr.ud.ah));
	ck_status(al_post_send(qp, &wr, &bad), AL_INVALID_HANDLE);
	ck_assert_ptr_eq(bad, &wr);
	ck_ok(al_alloc_pd(test_open_ca(other, FAKE_GUID), NULL, &foreign));
	ck_ok(al_create_ah(foreign, &path, &wr.wr.ud.ah));
	ck_status(al_post_send(qp, &wr, &bad), AL_INVALID_HANDLE);
	ck_ok(al_destroy_ah(wr.wr.ud.ah, AL_DESTROY_SYNC, NULL));
	ck_status(al_post_send(qp, &wr, &bad), AL_INVALID_HANDLE);
	al_set_log(test_ignore_log, NULL);
	ck_ok(al_close(other, AL_DESTROY_SYNC, NULL));
}
END_TEST

/* ------------------------------------------------------------- calls that sleep */

#define SLEEPERS 8 /* more threads than connections */

static sem_t begun;

static void *query_port(void *arg)
{
	struct ib_port_attr attr;

	(void)arg;
	sem_post(&begun);
	return (void *)(uintptr_t)al_query_port(ca, 1, &attr);
}

/* Waits until all threads sleep: in the module, in a wait for the agent, or in a wait for a connection. */
static void until_asleep(pthread_t *threads)
{
	struct timespec deadline = test_deadline();
	clockid_t clock;
	struct timespec before[SLEEPERS] = { 0 }, now;
	int still = 0;

	while (still < 3) { /* looks in a row in which no thread has run */
		bool ran = false;

		ck_assert(!test_expired(&deadline));
		poll(NULL, 0, 5);
		for (int i = 0; i < SLEEPERS; i++) {
			ck_assert(!pthread_getcpuclockid(threads[i], &clock));
			ck_assert(!clock_gettime(clock, &now));
			ran = ran || now.tv_nsec != before[i].tv_nsec;
			before[i] = now;
		}
		still = ran ? 0 : still + 1;
	}
}

START_TEST(a_poll_does_not_wait_behind_calls_that_sleep)
{
	pthread_t threads[SLEEPERS];
	struct ib_wc wc;
	uint32_t count;
	void *result;

	sem_init(&inside, 0, 0);
	sem_init(&go_on, 0, 0);
	sem_init(&begun, 0, 0);
	fake->hook[FAKE_query_port] = stay_a_while;
	for (int i = 0; i < SLEEPERS; i++)
		ck_assert(!pthread_create(&threads[i], NULL, query_port, NULL));
	for (int i = 0; i < SLEEPERS; i++)
		test_wait(&begun);
	test_wait(&inside);
	until_asleep(threads);
	ck_ok(al_poll_cq(cq, 1, &wc, &count));
	ck_assert_uint_eq(count, 0);
	for (int i = 0; i < SLEEPERS; i++)
		sem_post(&go_on);
	for (int i = 0; i < SLEEPERS; i++) {
		ck_assert(!pthread_join(threads[i], &result));
		ck_assert_ptr_eq(result, (void *)AL_SUCCESS);
	}
}
END_TEST

/* ------------------------------------------------------------------- snapshots */

#define MANY 2000 /* more than fit into one piece of a snapshot */

static int by_id(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

START_TEST(a_large_snapshot_has_each_object_once)
{
	static uint64_t ids[MANY + 16];
	struct al_snapshot *snap;
	size_t count = 0;
	al_pd_h more;

	for (int i = 1; i < MANY; i++)
		ck_ok(al_alloc_pd(ca, NULL, &more));
	ck_ok(al_snapshot(al, &snap));
	for (size_t i = 0; i < snap->num_objects; i++)
		if (snap->objects[i].type == AL_OBJ_PD) {
			ck_assert_uint_lt(count, MANY + 16);
			ids[count++] = snap->objects[i].id;
		}
	ck_assert_uint_eq(count, MANY);
	qsort(ids, count, sizeof(ids[0]), by_id);
	for (size_t i = 1; i < count; i++)
		ck_assert_uint_ne(ids[i], ids[i - 1]);
	al_free_snapshot(snap);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("al/verbs/crossing");
	TCase *tcase = tcase_create("crossing");

	tcase_add_checked_fixture(tcase, set_up_large, tear_down);
	tcase_add_test(tcase, a_long_chain_is_posted_and_its_first_bad_request_reported);
	tcase_add_test(tcase, each_request_of_a_chain_keeps_its_own_elements);
	tcase_add_test(tcase, an_address_handle_of_another_hca_or_opening_is_refused);
	tcase_add_test(tcase, a_poll_does_not_wait_behind_calls_that_sleep);
	tcase_add_test(tcase, a_large_snapshot_has_each_object_once);
	suite_add_tcase(suite, tcase);
	return test_run(suite);
}
