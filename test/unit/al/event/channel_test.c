/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Channels: events for the application's own loop, and the effect of a destroy on events that no reader has taken. */
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "test/unit/al/bed.h"

struct chan {
	struct bed bed;
	al_channel_h channel;
	int fd;
};

static struct chan chan_make(void)
{
	struct chan c = { .bed = bed_make() };

	ck_ok(al_create_channel(c.bed.al, NULL, &c.channel));
	ck_ok(al_channel_fd(c.channel, &c.fd));
	return c;
}

static bool readable(const struct chan *c)
{
	struct pollfd pfd = { .fd = c->fd, .events = POLLIN };

	return poll(&pfd, 1, 0) == 1 && pfd.revents & POLLIN;
}

/* Waits until the channel's descriptor is readable. */
static void wait_readable(const struct chan *c)
{
	struct pollfd pfd = { .fd = c->fd, .events = POLLIN };

	ck_assert_int_eq(poll(&pfd, 1, 60000), 1);
}

static struct al_channel_event next(const struct chan *c)
{
	struct al_channel_event event;

	wait_readable(c);
	ck_ok(al_channel_next(c->channel, &event));
	return event;
}

static void expect_none(const struct chan *c)
{
	struct al_channel_event event = { .context = &event };

	ck_assert(!readable(c));
	ck_status(al_channel_next(c->channel, &event), AL_NOT_FOUND);
	ck_assert_ptr_eq(event.context, &event); /* the library writes the event only on success */
}

static al_cq_h cq_in(const struct chan *c, void *context, void **ctx)
{
	struct al_cq_init init = { .cqe = 8, .channel = c->channel };
	al_cq_h cq;

	ck_ok(al_create_cq(c->bed.pd, &init, context, NULL, NULL, &cq));
	*ctx = c->bed.fake->last_cq->cq.ctx;
	return cq;
}

/* ------------------------------------------------------------- delivery */

START_TEST(the_descriptor_is_readable_exactly_while_events_wait)
{
	struct chan c = chan_make();
	struct al_channel_event event;
	struct crossing crossing;
	void *a, *b;

	expect_none(&c);
	cq_in(&c, "a", &a);
	cq_in(&c, "b", &b);
	crossing_make(&crossing, &c.bed, 0);
	expect_none(&c);
	for (int i = 0; i < 10; i++) {
		ib_cq_notify(a);
		cross(&crossing);
		ck_assert(readable(&c));
		ib_cq_notify(b);
		ib_cq_notify(a); /* merges with the first */
		cross(&crossing);
		event = next(&c);
		ck_assert_int_eq(event.type, AL_CHANNEL_COMPLETION);
		ck_assert_str_eq(event.context, "a");
		ck_assert(readable(&c));
		event = next(&c);
		ck_assert_str_eq(event.context, "b");
		expect_none(&c);
	}
	crossing_end(&crossing);
	bed_end(&c.bed);
}
END_TEST

START_TEST(objects_come_in_the_order_in_which_they_had_events_and_each_with_all_it_has)
{
	struct chan c = chan_make();
	struct crossing crossing;
	void *a, *b;

	cq_in(&c, "a", &a);
	cq_in(&c, "b", &b);
	crossing_make(&crossing, &c.bed, 0);
	ib_cq_notify(a);
	cross(&crossing);
	ib_cq_notify(b);
	cross(&crossing);
	ck_assert_str_eq(next(&c).context, "a");
	ib_cq_notify(a); /* queued behind the events that wait */
	cross(&crossing);
	ck_assert_str_eq(next(&c).context, "b");
	ck_assert_str_eq(next(&c).context, "a");
	expect_none(&c);

	ib_cq_notify(a);
	bed_object_event(a, IB_EVENT_CQ_ERR);
	cross(&crossing);
	ib_cq_notify(b);
	cross(&crossing);
	ck_assert_str_eq(next(&c).context, "a");
	ck_assert_str_eq(next(&c).context, "a");
	ck_assert_str_eq(next(&c).context, "b");
	expect_none(&c);
	crossing_end(&crossing);
	bed_end(&c.bed);
}
END_TEST

START_TEST(whatever_a_program_does_to_the_descriptor_stops_no_reader)
{
	struct chan c = chan_make();
	uint64_t full = UINT64_MAX - 1;
	struct crossing crossing;
	void *ctx;

	ck_assert_int_eq(fcntl(c.fd, F_SETFL, fcntl(c.fd, F_GETFL) & ~O_NONBLOCK), 0);
	expect_none(&c);
	ck_assert_int_eq(write(c.fd, &full, sizeof(full)), -1);
	expect_none(&c);
	cq_in(&c, "cq", &ctx);
	crossing_make(&crossing, &c.bed, 0);
	ib_cq_notify(ctx);
	cross(&crossing);
	ck_assert_int_eq(read(c.fd, &full, sizeof(full)), -1);
	ck_assert(readable(&c));
	ck_assert_str_eq(next(&c).context, "cq");
	expect_none(&c);
	crossing_end(&crossing);
	bed_end(&c.bed);
}
END_TEST

START_TEST(without_a_descriptor_left_no_channel_is_made_and_none_is_kept)
{
	struct chan c = chan_make();
	int fd[64], free_fds = 0;
	al_channel_h channel;
	struct rlimit limit;

	ck_ok(al_destroy_channel(c.channel, AL_DESTROY_SYNC, NULL));
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = (rlim_t)c.fd + 8; /* no smaller limit: valgrind keeps the hard limit */
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	while (free_fds < 64 && (fd[free_fds] = dup(0)) >= 0)
		free_fds++;
	ck_assert_int_lt(free_fds, 64);
	for (int left = 0; left < 2; left++) { /* a channel takes two descriptors */
		for (int i = 0; i < 3; i++)
			ck_status(al_create_channel(c.bed.al, NULL, &channel), AL_INSUFFICIENT_RESOURCES);
		close(fd[--free_fds]);
	}
	ck_ok(al_create_channel(c.bed.al, NULL, &channel));
	ck_ok(al_destroy_channel(channel, AL_DESTROY_SYNC, NULL));
	ck_ok(al_create_channel(c.bed.al, NULL, &channel));
	bed_end(&c.bed);
}
END_TEST

START_TEST(a_cqs_own_events_come_by_its_channel_completions_first)
{
	struct chan c = chan_make();
	struct al_channel_event event;
	struct crossing crossing;
	void *ctx;

	cq_in(&c, "cq", &ctx);
	crossing_make(&crossing, &c.bed, 0);
	bed_object_event(ctx, IB_EVENT_CQ_ERR);
	ib_cq_notify(ctx);
	cross(&crossing);
	event = next(&c);
	ck_assert_int_eq(event.type, AL_CHANNEL_COMPLETION);
	event = next(&c);
	ck_assert_int_eq(event.type, AL_CHANNEL_ASYNC);
	ck_assert_str_eq(event.context, "cq");
	ck_assert_int_eq(event.async.type, IB_EVENT_CQ_ERR);
	ck_assert_int_eq(event.async.object, AL_OBJ_CQ);
	ck_assert_str_eq(event.async.object_context, "cq");
	ck_assert_uint_eq(event.async.ca_guid, FAKE_GUID);
	expect_none(&c);
	crossing_end(&crossing);
	bed_end(&c.bed);
}
END_TEST

static al_qp_h qp_in(const struct chan *c, al_cq_h cq, void *context, void **ctx)
{
	struct al_qp_init init = { .qp_type = IB_QPT_RC,
				   .cap = { 1, 1, 1, 1, 0 },
				   .send_cq = cq,
				   .recv_cq = cq,
				   .channel = c->channel };
	al_qp_h qp;

	ck_ok(al_create_qp(c->bed.pd, &init, context, NULL, &qp));
	*ctx = c->bed.fake->last_qp->qp.ctx;
	return qp;
}

START_TEST(a_queue_pairs_own_events_come_by_the_channel_of_its_creation)
{
	struct chan c = chan_make();
	struct al_channel_event event;
	void *ctx;

	qp_in(&c, bed_cq(c.bed.pd, 0, NULL, NULL), "qp", &ctx);
	expect_none(&c);
	bed_object_event(ctx, IB_EVENT_COMM_EST);
	event = next(&c);
	ck_assert_int_eq(event.type, AL_CHANNEL_ASYNC);
	ck_assert_str_eq(event.context, "qp");
	ck_assert_int_eq(event.object, AL_OBJ_NONE);
	ck_assert_int_eq(event.async.type, IB_EVENT_COMM_EST);
	ck_assert_int_eq(event.async.object, AL_OBJ_QP);
	ck_assert_str_eq(event.async.object_context, "qp");
	expect_none(&c);
	bed_end(&c.bed);
}
END_TEST

static void no_event(void *context, const struct al_event *event)
{
	(void)context;
	(void)event;
}

START_TEST(a_queue_pair_has_a_channel_or_a_callback_and_the_channel_is_of_its_opening)
{
	struct chan c = chan_make();
	al_h other = test_open();
	al_cq_h cq = bed_cq(c.bed.pd, 0, NULL, NULL);
	struct al_qp_init init = { .qp_type = IB_QPT_RC,
				   .cap = { 1, 1, 1, 1, 0 },
				   .send_cq = cq,
				   .recv_cq = cq,
				   .channel = c.channel };
	al_qp_h qp;

	ck_status(al_create_qp(c.bed.pd, &init, NULL, no_event, &qp), AL_INVALID_PARAMETER);
	ck_ok(al_create_channel(other, NULL, &init.channel));
	ck_status(al_create_qp(c.bed.pd, &init, NULL, NULL, &qp), AL_INVALID_CA);
	ck_ok(al_destroy_channel(init.channel, AL_DESTROY_SYNC, NULL));
	ck_status(al_create_qp(c.bed.pd, &init, NULL, NULL, &qp), AL_INVALID_HANDLE);
	ck_ok(al_close(other, AL_DESTROY_SYNC, NULL));
	bed_end(&c.bed);
}
END_TEST

START_TEST(a_handlers_channel_carries_its_events_and_those_of_its_handles_objects)
{
	struct chan c = chan_make();
	struct al_channel_event event;
	al_event_handler_h h;

	ck_ok(al_reg_event_handler(c.bed.ca, c.channel, "handler", NULL, &h));
	bed_qp(c.bed.pd, bed_cq(c.bed.pd, 0, NULL, NULL), "qp", NULL);
	expect_none(&c);
	bed_object_event(c.bed.fake->last_qp->qp.ctx, IB_EVENT_COMM_EST);
	event = next(&c);
	ck_assert_int_eq(event.type, AL_CHANNEL_ASYNC);
	ck_assert_str_eq(event.context, "handler");
	ck_assert_int_eq(event.async.type, IB_EVENT_COMM_EST);
	ck_assert_str_eq(event.async.object_context, "qp");
	expect_none(&c);
	bed_port_event(&c.bed, IB_EVENT_LID_CHANGE, 1);
	event = next(&c);
	ck_assert_str_eq(event.context, "handler");
	ck_assert_int_eq(event.async.type, IB_EVENT_LID_CHANGE);
	ck_assert_int_eq(event.async.object, AL_OBJ_NONE);
	ck_assert_uint_eq(event.async.port_num, 1);
	expect_none(&c);
	bed_end(&c.bed);
}
END_TEST

START_TEST(a_handler_hears_of_objects_whose_events_go_to_a_channel_of_their_own)
{
	struct chan c = chan_make(), own;
	struct al_channel_event event;
	al_event_handler_h h;
	void *ctx;

	own.bed = c.bed;
	ck_ok(al_create_channel(c.bed.al, NULL, &own.channel));
	ck_ok(al_channel_fd(own.channel, &own.fd));
	ck_ok(al_reg_event_handler(c.bed.ca, c.channel, "handler", NULL, &h));
	cq_in(&own, "cq", &ctx);
	bed_object_event(ctx, IB_EVENT_CQ_ERR);
	event = next(&own);
	ck_assert_str_eq(event.context, "cq");
	event = next(&c);
	ck_assert_str_eq(event.context, "handler");
	ck_assert_str_eq(event.async.object_context, "cq");
	expect_none(&own);
	expect_none(&c);
	bed_end(&c.bed);
}
END_TEST

START_TEST(port_states_come_step_by_step_by_a_channel_too)
{
	static const ib_event_type want[] = { IB_EVENT_PORT_DOWN, IB_EVENT_PORT_INIT, IB_EVENT_PORT_ARMED,
					      IB_EVENT_PORT_ACTIVE };
	struct chan c = chan_make();
	al_event_handler_h h;

	ck_ok(al_reg_event_handler(c.bed.ca, c.channel, NULL, NULL, &h));
	bed_port_event(&c.bed, IB_EVENT_PORT_DOWN, 1);
	bed_port_event(&c.bed, IB_EVENT_PORT_ACTIVE, 1);
	bed_settle(c.bed.ca);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(next(&c).async.type, want[i]);
	expect_none(&c);
	bed_end(&c.bed);
}
END_TEST

static void withdraw_second(struct crew *crew, unsigned int index)
{
	struct fake *fake = crew->arg;

	(void)index;
	fake->withdraw(1, 0);
}

START_TEST(a_registration_by_channel_is_replayed_there_step_by_step)
{
	static const al_pnp_type want[] = { AL_PNP_CA_ADD, AL_PNP_PORT_INIT, AL_PNP_PORT_ARMED, AL_PNP_PORT_ACTIVE,
					    AL_PNP_REPLAY_COMPLETE };
	struct chan c = chan_make();
	const struct al_pnp_attr attr = { .channel = c.channel, .ports = true };
	struct al_channel_event event;
	struct crew crew;
	al_pnp_h pnp;

	ck_ok(al_reg_pnp(c.bed.al, &attr, "client", NULL, &pnp));
	for (int i = 0; i < 5; i++) {
		event = next(&c);
		ck_assert_int_eq(event.type, AL_CHANNEL_PNP);
		ck_assert_str_eq(event.context, "client");
		ck_assert_int_eq(event.pnp.type, want[i]);
		ck_assert_uint_eq(event.pnp.ca_guid, i < 4 ? FAKE_GUID : 0);
	}
	expect_none(&c);
	ck_ok(c.bed.fake->announce(1));
	event = next(&c);
	ck_assert_int_eq(event.pnp.type, AL_PNP_CA_ADD);
	crew_make(&crew, 1, withdraw_second, c.bed.fake);
	crew_go(&crew);
	do /* events of the HCA's ports may come before */
		event = next(&c);
	while (event.pnp.type != AL_PNP_CA_REMOVE);
	ck_assert_uint_eq(event.pnp.ca_guid, FAKE_GUID + 0x100);
	ck_status(al_channel_next(c.channel, &event), AL_NOT_FOUND);
	crew_end(&crew);
	expect_none(&c);
	/* An HCA that comes and goes before the reader reads is not reported. (A client of an agent may get both events.) */
	if (!test_in_user_role()) {
		ck_ok(c.bed.fake->announce(2));
		c.bed.fake->withdraw(2, 0);
		ck_status(al_channel_next(c.channel, &event), AL_NOT_FOUND);
		expect_none(&c);
	}
	ck_ok(al_dereg_pnp(pnp, AL_DESTROY_SYNC, NULL));
	bed_end(&c.bed);
}
END_TEST

/* --------------------------------------------------------------- ending */

START_TEST(a_destroy_takes_undelivered_events_back_and_does_not_wait_for_the_reader)
{
	struct chan c = chan_make();
	const struct al_pnp_attr attr = { .channel = c.channel };
	al_event_handler_h h;
	struct ci_qp *fake_qp;
	al_cq_h cq, other;
	al_pnp_h pnp;
	al_qp_h qp;
	void *ctx;

	/* The thread that destroys is the reader. */
	cq = cq_in(&c, "cq", &ctx);
	ib_cq_notify(ctx);
	bed_object_event(ctx, IB_EVENT_CQ_ERR);
	wait_readable(&c);
	ck_ok(al_destroy_cq(cq, AL_DESTROY_SYNC, NULL));
	expect_none(&c);

	/* The event comes through the handler's channel; the queue pair has no channel. */
	ck_ok(al_reg_event_handler(c.bed.ca, c.channel, NULL, NULL, &h));
	other = bed_cq(c.bed.pd, 0, NULL, NULL);
	qp = bed_qp(c.bed.pd, other, NULL, NULL);
	fake_qp = &c.bed.fake->last_qp->qp;
	bed_object_event(fake_qp->ctx, IB_EVENT_COMM_EST);
	wait_readable(&c);
	ck_ok(al_destroy_qp(qp, AL_DESTROY_SYNC, NULL));
	expect_none(&c);

	/* The handler ends, and the object stays. */
	qp = bed_qp(c.bed.pd, other, NULL, NULL);
	bed_object_event(c.bed.fake->last_qp->qp.ctx, IB_EVENT_COMM_EST);
	bed_port_event(&c.bed, IB_EVENT_LID_CHANGE, 1);
	wait_readable(&c);
	bed_settle(c.bed.ca);
	ck_ok(al_dereg_event_handler(h, AL_DESTROY_SYNC, NULL));
	expect_none(&c);
	ck_ok(al_destroy_qp(qp, AL_DESTROY_SYNC, NULL));

	ck_ok(al_reg_pnp(c.bed.al, &attr, NULL, NULL, &pnp));
	wait_readable(&c);
	ck_ok(al_dereg_pnp(pnp, AL_DESTROY_SYNC, NULL));
	expect_none(&c);

	ck_ok(al_destroy_channel(c.channel, AL_DESTROY_SYNC, NULL));
	bed_end(&c.bed);
}
END_TEST

START_TEST(the_next_handler_hears_of_an_object_whose_event_the_last_one_did_not_read)
{
	struct chan c = chan_make();
	struct al_channel_event event;
	al_event_handler_h h;
	void *qp;

	bed_qp(c.bed.pd, bed_cq(c.bed.pd, 0, NULL, NULL), "qp", NULL);
	qp = c.bed.fake->last_qp->qp.ctx;
	for (uintptr_t i = 0; i < 3; i++) {
		ck_ok(al_reg_event_handler(c.bed.ca, c.channel, (void *)i, NULL, &h));
		bed_object_event(qp, IB_EVENT_COMM_EST);
		wait_readable(&c);
		ck_ok(al_dereg_event_handler(h, AL_DESTROY_SYNC, NULL));
		expect_none(&c);
	}
	ck_ok(al_reg_event_handler(c.bed.ca, c.channel, "last", NULL, &h));
	bed_object_event(qp, IB_EVENT_SQ_DRAINED);
	event = next(&c);
	ck_assert_str_eq(event.context, "last");
	ck_assert_int_eq(event.async.type, IB_EVENT_SQ_DRAINED);
	expect_none(&c); /* no event from before the end */
	bed_end(&c.bed);
}
END_TEST

START_TEST(a_close_with_undelivered_events_does_not_wait_for_the_reader)
{
	struct chan c = chan_make();
	const struct al_pnp_attr attr = { .channel = c.channel };
	al_event_handler_h h;
	al_pnp_h pnp;
	void *ctx;

	cq_in(&c, "cq", &ctx);
	ck_ok(al_reg_event_handler(c.bed.ca, c.channel, NULL, NULL, &h));
	ck_ok(al_reg_pnp(c.bed.al, &attr, NULL, NULL, &pnp));
	ib_cq_notify(ctx);
	bed_object_event(ctx, IB_EVENT_CQ_ERR);
	bed_port_event(&c.bed, IB_EVENT_LID_CHANGE, 1);
	wait_readable(&c);
	bed_end(&c.bed);
}
END_TEST

START_TEST(a_channel_in_use_is_busy)
{
	struct chan c = chan_make();
	const struct al_pnp_attr attr = { .channel = c.channel };
	al_event_handler_h h;
	al_pnp_h pnp;
	al_cq_h cq;
	void *ctx;

	cq = cq_in(&c, "cq", &ctx);
	ck_status(al_destroy_channel(c.channel, NULL, NULL), AL_RESOURCE_BUSY);
	ck_ok(al_destroy_cq(cq, NULL, NULL));
	ck_ok(al_reg_event_handler(c.bed.ca, c.channel, NULL, NULL, &h));
	ck_status(al_destroy_channel(c.channel, NULL, NULL), AL_RESOURCE_BUSY);
	ck_ok(al_dereg_event_handler(h, NULL, NULL));
	ck_ok(al_reg_pnp(c.bed.al, &attr, NULL, NULL, &pnp));
	ck_status(al_destroy_channel(c.channel, NULL, NULL), AL_RESOURCE_BUSY);
	ck_ok(al_dereg_pnp(pnp, NULL, NULL));
	ck_ok(al_destroy_channel(c.channel, AL_DESTROY_SYNC, NULL));
	bed_end(&c.bed);
}
END_TEST

START_TEST(an_hca_handle_has_one_handler_with_a_channel_at_a_time)
{
	struct chan c = chan_make();
	al_event_handler_h h, second;
	al_ca_h other = test_open_ca(c.bed.al, FAKE_GUID);
	sem_t gone;

	sem_init(&gone, 0, 0);
	ck_ok(al_reg_event_handler(c.bed.ca, c.channel, NULL, NULL, &h));
	ck_status(al_reg_event_handler(c.bed.ca, c.channel, NULL, NULL, &second), AL_DUPLICATE);
	ck_ok(al_reg_event_handler(other, c.channel, NULL, NULL, &second));
	for (int i = 0; i < 20; i++) {
		/* When the handler's destroyed callback has run, an HCA takes another handler. */
		ck_ok(al_dereg_event_handler(h, test_post, &gone));
		test_wait(&gone);
		ck_ok(al_reg_event_handler(c.bed.ca, c.channel, NULL, NULL, &h));
	}
	bed_end(&c.bed);
}
END_TEST

START_TEST(a_channel_of_another_opening_is_refused)
{
	struct chan c = chan_make();
	al_h other = test_open();
	struct al_cq_init init = { .cqe = 1 };
	struct al_pnp_attr attr = { 0 };
	al_event_handler_h h;
	al_pnp_h pnp;
	al_cq_h cq;

	ck_ok(al_create_channel(other, NULL, &init.channel));
	attr.channel = init.channel;
	ck_status(al_create_cq(c.bed.pd, &init, NULL, NULL, NULL, &cq), AL_INVALID_CA);
	ck_status(al_reg_event_handler(c.bed.ca, init.channel, NULL, NULL, &h), AL_INVALID_CA);
	ck_status(al_reg_pnp(c.bed.al, &attr, NULL, NULL, &pnp), AL_INVALID_CA);
	ck_ok(al_destroy_channel(init.channel, AL_DESTROY_SYNC, NULL));
	ck_ok(al_close(other, AL_DESTROY_SYNC, NULL));
	bed_end(&c.bed);
}
END_TEST

/* -------------------------------------------------------- destroyed objects */

static void expect_end(const struct chan *c, al_object_type object, const char *context)
{
	struct al_channel_event event = next(c);

	ck_assert_int_eq(event.type, AL_CHANNEL_DESTROYED);
	ck_assert_int_eq(event.object, object);
	if (context)
		ck_assert_str_eq(event.context, context);
	else
		ck_assert_ptr_null(event.context);
}

START_TEST(the_ends_of_objects_come_by_a_channel_children_first)
{
	struct chan c = chan_make();
	al_qp_h qp;
	al_cq_h cq;
	al_pd_h pd;
	void *ctx;

	ck_ok(al_alloc_pd(c.bed.ca, "pd", &pd));
	cq = bed_cq(pd, 0, "cq", NULL);
	qp = bed_qp(pd, cq, "qp", NULL);
	ck_ok(al_destroy_qp(qp, AL_DESTROY_CHANNEL, c.channel));
	ck_ok(al_destroy_cq(cq, AL_DESTROY_CHANNEL, c.channel));
	ck_ok(al_dealloc_pd(pd, AL_DESTROY_CHANNEL, c.channel));
	ck_status(al_dealloc_pd(pd, AL_DESTROY_CHANNEL, c.channel), AL_INVALID_HANDLE);
	expect_end(&c, AL_OBJ_QP, "qp");
	expect_end(&c, AL_OBJ_CQ, "cq");
	expect_end(&c, AL_OBJ_PD, "pd");
	/* an object whose own events come by the channel, with one that is not read */
	cq = cq_in(&c, "own", &ctx);
	ib_cq_notify(ctx);
	ck_ok(al_destroy_cq(cq, AL_DESTROY_CHANNEL, c.channel));
	expect_end(&c, AL_OBJ_CQ, "own");
	expect_none(&c);
	bed_end(&c.bed);
}
END_TEST

START_TEST(an_end_that_no_reader_takes_keeps_nothing)
{
	struct chan c = chan_make();
	al_cq_h cq;
	al_pd_h pd;

	ck_ok(al_alloc_pd(c.bed.ca, "pd", &pd));
	cq = bed_cq(pd, 0, "cq", NULL);
	ck_ok(al_destroy_cq(cq, AL_DESTROY_CHANNEL, c.channel));
	ck_ok(al_dealloc_pd(pd, AL_DESTROY_SYNC, NULL));
	/* the destroys of an HCA handle and its HCA's removal do not wait for the reader either */
	ck_ok(al_close_ca(c.bed.ca, AL_DESTROY_SYNC, NULL));
	c.bed.ca = test_open_ca(c.bed.al, FAKE_GUID);
	expect_end(&c, AL_OBJ_CQ, "cq");
	expect_none(&c);
	bed_end(&c.bed);
}
END_TEST

static sem_t may_destroy;

static void wait_to_destroy(void *object)
{
	(void)object;
	test_wait(&may_destroy);
}

START_TEST(a_channel_that_ends_first_tells_nothing)
{
	struct chan c = chan_make(), gone = { .bed = c.bed };
	al_pd_h pd, held;
	al_cq_h cq;

	ck_ok(al_create_channel(c.bed.al, NULL, &gone.channel));
	/* one end is queued there and never read; another object ends when the channel is gone */
	ck_ok(al_alloc_pd(c.bed.ca, NULL, &pd));
	ck_ok(al_alloc_pd(c.bed.ca, NULL, &held));
	ck_ok(al_dealloc_pd(pd, AL_DESTROY_CHANNEL, gone.channel));
	ck_ok(al_channel_fd(gone.channel, &gone.fd));
	wait_readable(&gone);
	cq = bed_cq(held, 0, NULL, NULL);
	ck_status(al_dealloc_pd(held, AL_DESTROY_CHANNEL, gone.channel), AL_RESOURCE_BUSY);
	sem_init(&may_destroy, 0, 0);
	c.bed.fake->hook[FAKE_destroy_cq] = wait_to_destroy;
	ck_ok(al_destroy_cq(cq, NULL, NULL));
	ck_ok(al_dealloc_pd(held, AL_DESTROY_CHANNEL, gone.channel));
	ck_ok(al_destroy_channel(gone.channel, AL_DESTROY_SYNC, NULL));
	sem_post(&may_destroy);
	ck_ok(al_close_ca(c.bed.ca, AL_DESTROY_SYNC, NULL));
	expect_none(&c);
	bed_end(&c.bed);
}
END_TEST

START_TEST(an_opening_and_a_channel_are_told_of_by_a_channel_of_another_opening)
{
	struct chan c = chan_make();
	al_channel_h channel;
	al_h other = test_open();
	al_pd_h pd;

	ck_ok(al_create_channel(other, "channel", &channel));
	ck_status(al_close(other, AL_DESTROY_CHANNEL, channel), AL_INVALID_PARAMETER);
	ck_status(al_destroy_channel(channel, AL_DESTROY_CHANNEL, channel), AL_INVALID_PARAMETER);
	ck_ok(al_alloc_pd(c.bed.ca, NULL, &pd));
	ck_status(al_dealloc_pd(pd, AL_DESTROY_CHANNEL, NULL), AL_INVALID_HANDLE);
	ck_status(al_dealloc_pd(pd, AL_DESTROY_CHANNEL, pd), AL_INVALID_HANDLE);
	ck_ok(al_destroy_channel(channel, AL_DESTROY_CHANNEL, c.channel));
	ck_ok(al_close(other, AL_DESTROY_CHANNEL, c.channel));
	expect_end(&c, AL_OBJ_CHANNEL, "channel");
	expect_end(&c, AL_OBJ_AL, NULL);
	expect_none(&c);
	bed_end(&c.bed);
}
END_TEST

START_TEST(two_openings_that_tell_each_others_channels_both_end)
{
	al_h al[2] = { test_open(), test_open() };
	al_channel_h channel[2];

	for (int i = 0; i < 2; i++)
		ck_ok(al_create_channel(al[i], NULL, &channel[i]));
	ck_ok(al_close(al[0], AL_DESTROY_CHANNEL, channel[1]));
	ck_ok(al_close(al[1], AL_DESTROY_SYNC, NULL));
}
END_TEST

/* ----------------------------------------------------------------- threads */

/* One thread notifies, two threads read, and objects are created and destroyed meanwhile: no event is lost. */
struct storm {
	struct chan c;
	void *ctx[4];
	atomic_uint raised[4], seen[4], bad;
};

/* Keeps the highest count that a reader has read. Two readers may report their counts in the reverse order. */
static void saw(atomic_uint *seen, unsigned int count)
{
	unsigned int old = *seen;

	while (old < count && !atomic_compare_exchange_weak(seen, &old, count))
		;
}

static void read_storm(struct storm *storm)
{
	struct al_channel_event event;
	struct pollfd pfd = { .fd = storm->c.fd, .events = POLLIN };

	poll(&pfd, 1, 10);
	while (al_channel_next(storm->c.channel, &event) == AL_SUCCESS) {
		uintptr_t i = (uintptr_t)event.context;

		if (i < 4)
			saw(&storm->seen[i], storm->raised[i]);
	}
}

static void storm_work(struct crew *crew, unsigned int index)
{
	struct storm *storm = crew->arg;

	while (!crew->stop) {
		struct al_cq_init init = { .cqe = 8, .channel = storm->c.channel };
		al_cq_h cq;

		if (index == 0) {
			for (int i = 0; i < 4; i++) {
				storm->raised[i]++;
				ib_cq_notify(storm->ctx[i]);
			}
			sched_yield();
		} else if (index < 3) {
			read_storm(storm);
		} else {
			/*
			 * the module's create operation raises an event, which a reader may have taken just before
			 * the end
			 */
			if (al_create_cq(storm->c.bed.pd, &init, (void *)4, NULL, NULL, &cq) ||
			    al_destroy_cq(cq, AL_DESTROY_SYNC, NULL))
				storm->bad++;
		}
	}
}

static void notify_at_once(void *cq)
{
	ib_cq_notify(((struct ci_cq *)cq)->ctx);
}

START_TEST(nothing_is_lost_with_several_readers)
{
	struct storm storm = { .c = chan_make() };
	struct crossing crossing;
	struct crew crew;

	for (uintptr_t i = 0; i < 4; i++)
		cq_in(&storm.c, (void *)i, &storm.ctx[i]);
	crossing_make(&crossing, &storm.c.bed, 0);
	storm.c.bed.fake->hook[FAKE_create_cq] = notify_at_once;
	crew_make(&crew, 4, storm_work, &storm);
	crew_go(&crew);
	for (int i = 0; i < test_rounds(30); i++)
		bed_settle(storm.c.bed.ca);
	crew_end(&crew);
	cross(&crossing);
	/* The other threads have ended: the rest is read, and then each object's last event has been seen. */
	read_storm(&storm);
	for (int i = 0; i < 4; i++)
		ck_assert_uint_eq(storm.seen[i], storm.raised[i]);
	ck_assert_uint_eq(storm.bad, 0);
	for (uintptr_t i = 0; i < 4; i++) {
		ib_cq_notify(storm.ctx[i]);
		ck_assert_uint_eq((uintptr_t)next(&storm.c).context, i);
	}
	expect_none(&storm.c);
	crossing_end(&crossing);
	bed_end(&storm.c.bed);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("channel");
	TCase *tc = tcase_create("delivery");

	tcase_add_test(tc, the_descriptor_is_readable_exactly_while_events_wait);
	tcase_add_test(tc, objects_come_in_the_order_in_which_they_had_events_and_each_with_all_it_has);
	tcase_add_test(tc, whatever_a_program_does_to_the_descriptor_stops_no_reader);
	tcase_add_test(tc, without_a_descriptor_left_no_channel_is_made_and_none_is_kept);
	tcase_add_test(tc, a_cqs_own_events_come_by_its_channel_completions_first);
	tcase_add_test(tc, a_queue_pairs_own_events_come_by_the_channel_of_its_creation);
	tcase_add_test(tc,
		       a_queue_pair_has_a_channel_or_a_callback_and_the_channel_is_of_its_opening);
	tcase_add_test(tc, a_handlers_channel_carries_its_events_and_those_of_its_handles_objects);
	tcase_add_test(tc, a_handler_hears_of_objects_whose_events_go_to_a_channel_of_their_own);
	tcase_add_test(tc, port_states_come_step_by_step_by_a_channel_too);
	tcase_add_test(tc, a_registration_by_channel_is_replayed_there_step_by_step);
	suite_add_tcase(suite, tc);
	tc = tcase_create("ending");
	tcase_add_test(tc, a_destroy_takes_undelivered_events_back_and_does_not_wait_for_the_reader);
	tcase_add_test(tc, the_next_handler_hears_of_an_object_whose_event_the_last_one_did_not_read);
	tcase_add_test(tc, a_close_with_undelivered_events_does_not_wait_for_the_reader);
	tcase_add_test(tc, a_channel_in_use_is_busy);
	tcase_add_test(tc, an_hca_handle_has_one_handler_with_a_channel_at_a_time);
	tcase_add_test(tc, a_channel_of_another_opening_is_refused);
	tcase_add_test(tc, the_ends_of_objects_come_by_a_channel_children_first);
	tcase_add_test(tc, an_end_that_no_reader_takes_keeps_nothing);
	tcase_add_test(tc, a_channel_that_ends_first_tells_nothing);
	tcase_add_test(tc, an_opening_and_a_channel_are_told_of_by_a_channel_of_another_opening);
	tcase_add_test(tc, two_openings_that_tell_each_others_channels_both_end);
	suite_add_tcase(suite, tc);
	tc = tcase_create("threads");
	tcase_add_test(tc, nothing_is_lost_with_several_readers);
	suite_add_tcase(suite, tc);
	return test_run(suite);
}
