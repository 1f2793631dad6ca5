/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Removals that a client reads from a channel: a removal waits until the reader has acknowledged the event, by the
 * next read or by closing. In a user role only the client's side of the removal waits, since the agent's HCA has gone
 * by then.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "test/unit/al/bed.h"

/* A registration with a channel, and the HCAs of which the registration has got an event. */
struct reader {
	struct bed bed;
	al_channel_h channel;
	al_pnp_h pnp;
	int fd;
};

static bool readable(const struct reader *r)
{
	struct pollfd pfd = { .fd = r->fd, .events = POLLIN };

	return poll(&pfd, 1, 0) == 1 && pfd.revents & POLLIN;
}

/* Waits for the next event, and expects the given event. */
static void expect(const struct reader *r, al_pnp_type type, uint32_t hca)
{
	struct pollfd pfd = { .fd = r->fd, .events = POLLIN };
	struct al_channel_event event;
	al_status status;

	do {
		ck_assert_int_eq(poll(&pfd, 1, 60000), 1);
		status = al_channel_next(r->channel, &event);
	} while (status == AL_NOT_FOUND); /* readable, because the last event was still to be acknowledged */
	ck_ok(status);
	ck_assert_int_eq(event.type, AL_CHANNEL_PNP);
	ck_assert_int_eq(event.pnp.type, type);
	if (type != AL_PNP_REPLAY_COMPLETE)
		ck_assert_uint_eq(event.pnp.ca_guid, r->bed.fake->guid[hca]);
}

static void expect_none(const struct reader *r)
{
	struct al_channel_event event;

	ck_status(al_channel_next(r->channel, &event), AL_NOT_FOUND);
	ck_assert(!readable(r));
}

static struct reader reader_make(uint32_t hcas)
{
	struct al_pnp_attr attr = { 0 };
	struct reader r;

	test_fake()->hcas = hcas;
	r.bed = bed_make();
	test_guids(r.bed.al, (uint64_t[FAKE_HCAS]){ 0 }, hcas);
	ck_ok(al_create_channel(r.bed.al, NULL, &r.channel));
	ck_ok(al_channel_fd(r.channel, &r.fd));
	attr.channel = r.channel;
	ck_ok(al_reg_pnp(r.bed.al, &attr, NULL, NULL, &r.pnp));
	for (uint32_t i = 0; i < hcas; i++)
		expect(&r, AL_PNP_CA_ADD, i);
	expect(&r, AL_PNP_REPLAY_COMPLETE, 0);
	expect_none(&r);
	return r;
}

/* Each HCA is withdrawn by a thread of its own. */
struct removal {
	struct crew crew;
	struct fake *fake;
	uint32_t flags;
	atomic_uint returned;
};

static void withdraw(struct crew *crew, unsigned int index)
{
	struct removal *removal = crew->arg;

	removal->fake->withdraw(index, removal->flags);
	removal->returned++;
}

static void remove_first(struct removal *removal, const struct reader *r, uint32_t hcas, uint32_t flags)
{
	removal->fake = r->bed.fake;
	removal->flags = flags;
	removal->returned = 0;
	crew_make(&removal->crew, hcas, withdraw, removal);
	crew_go(&removal->crew);
}

/*
 * Expects that num removals still wait for the reader: such a removal has not taken its next step, which otherwise
 * would be done by now. In a user role no withdrawing thread waits.
 */
static void expect_waiting(const struct removal *removal, unsigned int num)
{
	if (!test_in_user_role())
		ck_assert_uint_eq(removal->returned, removal->crew.num - num);
}

/*
 * Expects that the removals are over. In a user role, where HCAs come and go in order, the next HCA's event shows
 * that.
 */
static void expect_over(struct removal *removal, const struct reader *r)
{
	crew_end(&removal->crew);
	ck_ok(r->bed.fake->announce(0));
	expect(r, AL_PNP_CA_ADD, 0);
}

/* ------------------------------------------------------------ orderly removal */

static atomic_uint left_behind;

static void count_left(void *context, ib_log_level level, const char *text)
{
	(void)context;
	(void)level;
	if (strstr(text, "was left on it"))
		left_behind++;
}

static const uint32_t kinds_of_removal[] = { 0, CI_HCA_GONE };

START_TEST(a_reader_destroys_its_objects_before_it_acknowledges)
{
	const struct ib_send_wr wr = { .opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED };
	const uint32_t flags = kinds_of_removal[_i];
	const bool alive = !flags && !test_in_user_role();
	struct reader r = reader_make(1);
	struct ib_qp_attr attr = test_attr(1, 1, IB_MTU_1024);
	al_cq_h cq = bed_cq(r.bed.pd, 0, NULL, NULL);
	al_qp_h qp = bed_qp(r.bed.pd, cq, NULL, NULL);
	const struct ib_send_wr *bad;
	struct removal removal;
	uint32_t count = 0;
	struct ib_wc wc;
	al_pd_h pd;

	ck_ok(test_modify(qp, IB_QPS_INIT, attr, TEST_RC_INIT));
	ck_ok(test_modify(qp, IB_QPS_RTR, attr, TEST_RC_RTR));
	ck_ok(test_modify(qp, IB_QPS_RTS, attr, TEST_RC_RTS));
	al_set_log(count_left, NULL);
	remove_first(&removal, &r, 1, flags);
	expect(&r, AL_PNP_CA_REMOVE, 0);
	if (alive) { /* every operation works */
		bed_settle(r.bed.ca);
		ck_ok(al_post_send(qp, &wr, &bad));
		ck_ok(al_poll_cq(cq, 1, &wc, &count));
		ck_assert_uint_eq(count, 1);
		ck_ok(al_alloc_pd(r.bed.ca, NULL, &pd));
		ck_ok(al_dealloc_pd(pd, AL_DESTROY_SYNC, NULL));
	} else {
		ck_soon(bed_dead(&r.bed));
		ck_assert_int_ne(al_post_send(qp, &wr, &bad), AL_SUCCESS);
	}
	ck_ok(al_destroy_qp(qp, AL_DESTROY_SYNC, NULL));
	ck_ok(al_destroy_cq(cq, AL_DESTROY_SYNC, NULL));
	ck_ok(al_dealloc_pd(r.bed.pd, AL_DESTROY_SYNC, NULL));
	expect_waiting(&removal, 1);
	ck_ok(al_close_ca(r.bed.ca, AL_DESTROY_SYNC, NULL)); /* a close acknowledges nothing */
	expect_waiting(&removal, 1);
	expect_none(&r);
	expect_over(&removal, &r);
	al_set_log(NULL, NULL);
	ck_assert_uint_eq(left_behind, 0);
	bed_end(&r.bed);
}
END_TEST

START_TEST(the_descriptor_stays_readable_until_the_removal_is_acknowledged)
{
	struct reader r = reader_make(1);
	struct removal removal;

	/* A reader that takes one event each time the descriptor is readable acknowledges too. */
	remove_first(&removal, &r, 1, 0);
	expect(&r, AL_PNP_CA_REMOVE, 0);
	ck_assert(readable(&r));
	expect_waiting(&removal, 1);
	expect_none(&r);
	expect_over(&removal, &r);
	expect_none(&r);
	bed_end(&r.bed);
}
END_TEST

START_TEST(the_clients_context_is_kept_until_the_removal_is_acknowledged)
{
	struct reader r = reader_make(1);
	struct al_channel_event event;
	struct removal removal;
	void *context = NULL;
	int mine;

	ck_ok(al_set_client_context(r.pnp, FAKE_GUID, &mine));
	remove_first(&removal, &r, 1, 0);
	expect(&r, AL_PNP_CA_REMOVE, 0);
	ck_ok(al_get_client_context(r.pnp, FAKE_GUID, &context));
	ck_assert_ptr_eq(context, &mine);
	ck_status(al_channel_next(r.channel, &event), AL_NOT_FOUND);
	ck_status(al_get_client_context(r.pnp, FAKE_GUID, &context), AL_NOT_FOUND);
	crew_end(&removal.crew);
	bed_end(&r.bed);
}
END_TEST

START_TEST(an_event_of_something_else_acknowledges_too_and_each_removal_its_own)
{
	struct reader r = reader_make(2);
	struct al_cq_init init = { .cqe = 8, .channel = r.channel };
	struct al_channel_event event;
	struct removal removal;
	al_cq_h cq;

	ck_ok(al_create_cq(r.bed.pd, &init, "cq", NULL, NULL, &cq));
	ib_cq_notify(r.bed.fake->last_cq->cq.ctx);
	while (!readable(&r))
		sched_yield();
	remove_first(&removal, &r, 1, 0);
	do { /* the two events come in either order */
		while (!readable(&r))
			sched_yield();
		ck_ok(al_channel_next(r.channel, &event));
	} while (event.type == AL_CHANNEL_COMPLETION);
	ck_assert_int_eq(event.pnp.type, AL_PNP_CA_REMOVE);
	expect_waiting(&removal, 1);
	expect_none(&r);
	expect_over(&removal, &r);

	/* Two removals at the same time: reading the second event acknowledges the first removal only. */
	remove_first(&removal, &r, 2, 0);
	for (unsigned int i = 0; i < 2; i++) {
		while (!readable(&r))
			sched_yield();
		while (al_channel_next(r.channel, &event) == AL_NOT_FOUND)
			sched_yield();
		ck_assert_int_eq(event.pnp.type, AL_PNP_CA_REMOVE);
		if (!test_in_user_role() && i)
			ck_assert_uint_le(removal.returned, 1);
	}
	expect_none(&r);
	crew_end(&removal.crew);
	bed_end(&r.bed);
}
END_TEST

/* ---------------------------------------------------------------- closing */

static void dereg(struct reader *r)
{
	ck_ok(al_dereg_pnp(r->pnp, AL_DESTROY_SYNC, NULL));
	ck_assert(!readable(r));
	ck_ok(al_destroy_channel(r->channel, AL_DESTROY_SYNC, NULL));
}

static void close_all(struct reader *r)
{
	bed_end(&r->bed);
	r->bed.al = test_open();
}

static void (*const closings[])(struct reader *) = { dereg, close_all };

START_TEST(closing_acknowledges_whether_it_was_read_or_not)
{
	const bool read = _i % 2;
	struct reader r = reader_make(1);
	struct removal removal;
	size_t count = 0;

	remove_first(&removal, &r, 1, 0);
	if (read)
		expect(&r, AL_PNP_CA_REMOVE, 0);
	else
		while (!readable(&r))
			sched_yield();
	expect_waiting(&removal, 1);
	closings[_i / 2](&r);
	crew_end(&removal.crew);
	ck_ok(r.bed.fake->announce(0));
	ck_soon(al_get_ca_guids(r.bed.al, NULL, &count) == AL_BUFFER_TOO_SMALL);
	bed_end(&r.bed);
}
END_TEST

START_TEST(another_registration_of_the_channel_that_is_ended_acknowledges_nothing)
{
	struct reader r = reader_make(1);
	const struct al_pnp_attr attr = { .channel = r.channel };
	struct al_channel_event event;
	struct removal removal;
	al_pnp_h other;

	ck_ok(al_reg_pnp(r.bed.al, &attr, "other", NULL, &other));
	expect(&r, AL_PNP_CA_ADD, 0);
	expect(&r, AL_PNP_REPLAY_COMPLETE, 0);
	remove_first(&removal, &r, 1, 0);
	while (!readable(&r))
		sched_yield();
	ck_ok(al_channel_next(r.channel, &event));
	ck_assert_int_eq(event.pnp.type, AL_PNP_CA_REMOVE);
	/* The registration whose event has not been read. */
	ck_ok(al_dereg_pnp(event.context ? r.pnp : other, AL_DESTROY_SYNC, NULL));
	expect_waiting(&removal, 1);
	ck_assert(readable(&r));
	expect_none(&r);
	crew_end(&removal.crew);
	bed_end(&r.bed);
}
END_TEST

/* ------------------------------------------------------------------ others */

static void read_on(struct crew *crew, unsigned int index)
{
	struct reader *r = crew->arg;
	struct al_channel_event event;

	(void)index;
	al_channel_next(r->channel, &event);
}

START_TEST(the_next_reader_acknowledges_whichever_thread_it_is)
{
	struct reader r = reader_make(1);
	struct removal removal;
	struct crew other;

	remove_first(&removal, &r, 1, 0);
	expect(&r, AL_PNP_CA_REMOVE, 0);
	expect_waiting(&removal, 1);
	crew_make(&other, 1, read_on, &r);
	crew_go(&other);
	crew_end(&other);
	expect_over(&removal, &r);
	bed_end(&r.bed);
}
END_TEST

START_TEST(a_forked_child_acknowledges_nothing)
{
	struct reader r = reader_make(1);
	struct al_channel_event event;
	struct removal removal;
	int status;
	pid_t pid;

	remove_first(&removal, &r, 1, 0);
	expect(&r, AL_PNP_CA_REMOVE, 0);
	pid = fork();
	if (!pid)
		_exit(al_channel_next(r.channel, &event) == AL_INVALID_HANDLE ? 0 : 1);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	expect_waiting(&removal, 1);
	ck_assert(readable(&r));
	expect_none(&r);
	expect_over(&removal, &r);
	bed_end(&r.bed);
}
END_TEST

START_TEST(a_registration_during_a_removal_gets_nothing_of_the_hca_and_delays_nothing)
{
	struct reader r = reader_make(1), late;
	struct al_pnp_attr attr = { 0 };
	struct removal removal;

	remove_first(&removal, &r, 1, 0);
	expect(&r, AL_PNP_CA_REMOVE, 0);
	late.bed = r.bed;
	ck_ok(al_create_channel(r.bed.al, NULL, &late.channel));
	ck_ok(al_channel_fd(late.channel, &late.fd));
	attr.channel = late.channel;
	ck_ok(al_reg_pnp(r.bed.al, &attr, NULL, NULL, &late.pnp));
	expect(&late, AL_PNP_REPLAY_COMPLETE, 0);
	expect_none(&r);
	expect_over(&removal, &r);
	expect(&late, AL_PNP_CA_ADD, 0);
	expect_none(&late);
	bed_end(&r.bed);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("removal");
	TCase *tc = tcase_create("orderly");

	tcase_add_loop_test(tc, a_reader_destroys_its_objects_before_it_acknowledges, 0, 2);
	tcase_add_test(tc, the_descriptor_stays_readable_until_the_removal_is_acknowledged);
	tcase_add_test(tc, the_clients_context_is_kept_until_the_removal_is_acknowledged);
	tcase_add_test(tc, an_event_of_something_else_acknowledges_too_and_each_removal_its_own);
	suite_add_tcase(suite, tc);
	tc = tcase_create("closing");
	tcase_add_loop_test(tc, closing_acknowledges_whether_it_was_read_or_not, 0, 4);
	tcase_add_test(tc, another_registration_of_the_channel_that_is_ended_acknowledges_nothing);
	suite_add_tcase(suite, tc);
	tc = tcase_create("others");
	tcase_add_test(tc, the_next_reader_acknowledges_whichever_thread_it_is);
	tcase_add_test(tc, a_forked_child_acknowledges_nothing);
	tcase_add_test(tc, a_registration_during_a_removal_gets_nothing_of_the_hca_and_delays_nothing);
	suite_add_tcase(suite, tc);
	return test_run(suite);
}
