/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Events for a client that does not read for a while: the events that it gets later. The agent runs
 * in the test's process. */
#include "test/e2e/agent_door.h"

#include <limits.h>
#include <sched.h>

#include <iba/ib_soft.h>

#include "al/agent/ald.h"
#include "al/agent/session.h"
#include "test/unit/al/port_history.h"

static struct client slow;
static struct session *session; /* the slow client's */

/* On the loop, which owns the sessions. */
static sem_t looked;

static void look(struct job *job)
{
	(void)job;
	session = sessions;
	sem_post(&looked);
}

static void set_up(void)
{
	struct job job = { .done = look };
	const long ms = test_scaled_ms(5000);
	const struct timeval limit = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };
	struct ald_attr attr = { .mode = 0600, .config = "", .limits = ald_default_limits };

	ck_assert_ptr_nonnull(mkdtemp(agent_dir));
	snprintf(agent_socket, sizeof(agent_socket), "%s/ald.socket", agent_dir);
	attr.socket = agent_socket;
	ck_ok(ald_start(&attr));
	client_open(&slow);
	ck_assert_int_eq(setsockopt(slow.events, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);
	sem_init(&looked, 0, 0);
	loop_post(&job);
	test_wait(&looked);
}

static void tear_down(void)
{
	client_close(&slow);
	ald_stop();
	rmdir(agent_dir);
}

/* Replaces the C library's function, also for the agent in this process: so many calls fail for
 * want of memory. */
static atomic_int sends_that_fail;

ssize_t send(int fd, const void *data, size_t size, int flags)
{
	if (atomic_fetch_sub(&sends_that_fail, 1) > 0) {
		errno = ENOBUFS;
		return -1;
	}
	atomic_store(&sends_that_fail, 0);
	return sendto(fd, data, size, flags, NULL, 0);
}

static bool full(void)
{
	bool now;

	pthread_mutex_lock(&session->outbox.lock);
	now = session->outbox.full;
	pthread_mutex_unlock(&session->outbox.lock);
	return now;
}

static struct agent_event next(void)
{
	struct agent_event event;

	ck_assert_msg(recv(slow.events, &event, sizeof(event), 0) == sizeof(event), "an event is lost");
	return event;
}

/* -------------------------------------------------------------------- sources */

#define MOST 8192 /* most events that a socket holds */

/* Sources of the test, which it raises until the socket is full; the client gets their events
 * first. */
static struct source filler[MOST];
static uint32_t fillers;

static void raise_new(struct source *s, uint64_t cookie)
{
	*s = (struct source){ .outbox = &session->outbox, .kind = AGENT_EVENT_PORT, .cookie = cookie };
	source_raise(s, SOURCE_COMPLETION);
}

static void choke(void)
{
	for (fillers = 0; !full(); fillers++) {
		ck_assert_uint_lt(fillers, MOST);
		raise_new(&filler[fillers], fillers);
	}
}

static void hear_fillers(void)
{
	struct agent_event event;

	for (uint32_t i = 0; i < fillers; i++) {
		event = next();
		ck_assert_uint_eq(event.kind, AGENT_EVENT_COMPLETION);
		ck_assert_uint_eq(event.cookie, i);
	}
}

/* Raises an event, and checks that the client gets this event next. */
static void hear_no_more(void)
{
	struct source last;
	struct agent_event event;

	raise_new(&last, 4711);
	event = next();
	ck_assert_uint_eq(event.kind, AGENT_EVENT_COMPLETION);
	ck_assert_uint_eq(event.cookie, 4711);
	ck_assert(!full());
	source_forget(&last);
}

START_TEST(what_does_not_fit_is_sent_in_its_order_when_there_is_room)
{
	enum { MORE = 300 };
	static struct source more[MORE];

	for (int round = 0; round < 3; round++) {
		choke();
		for (uint32_t i = 0; i < MORE; i++) {
			raise_new(&more[i], MOST + i);
			source_raise(&more[i], SOURCE_COMPLETION); /* this event is pending already */
		}
		hear_fillers();
		for (uint32_t i = 0; i < MORE; i++)
			ck_assert_uint_eq(next().cookie, MOST + i);
		hear_no_more();
	}
}
END_TEST

START_TEST(what_was_sent_is_not_sent_again_with_the_next_event_of_its_source)
{
	struct source s;

	raise_new(&s, 5);
	ck_assert_uint_eq(next().kind, AGENT_EVENT_COMPLETION);
	source_raise(&s, SOURCE_ADD);
	ck_assert_uint_eq(next().kind, AGENT_EVENT_CA_ADD);
	source_port(&s, IB_EVENT_LID_CHANGE);
	ck_assert_uint_eq(next().type, IB_EVENT_LID_CHANGE);
	source_port(&s, IB_EVENT_GID_CHANGE);
	ck_assert_uint_eq(next().type, IB_EVENT_GID_CHANGE);
	hear_no_more();
	source_forget(&s);
}
END_TEST

START_TEST(what_the_kernel_had_no_memory_for_is_sent_later)
{
	struct source s;

	atomic_store(&sends_that_fail, 3);
	raise_new(&s, 5);
	ck_assert_uint_eq(next().cookie, 5);
	hear_no_more();
	source_forget(&s);
}
END_TEST

#define DOWN   IB_EVENT_PORT_DOWN
#define INIT   IB_EVENT_PORT_INIT
#define ARMED  IB_EVENT_PORT_ARMED
#define ACTIVE IB_EVENT_PORT_ACTIVE
#define LID    IB_EVENT_LID_CHANGE

#define GID IB_EVENT_GID_CHANGE

/* The agent's library reports events to the agent step by step; the client gets some of them. */
static const struct {
	ib_event_type happen[8], heard[8]; /* ended by 0 */
} states[] = {
	{ { ACTIVE }, { ACTIVE } },
	{ { INIT, ARMED, ACTIVE }, { INIT, ARMED, ACTIVE } },
	{ { DOWN }, { DOWN } },
	{ { ACTIVE, DOWN }, { DOWN } },
	{ { INIT, DOWN },
	  { 0 } }, /* the first event is a step from Down, which the client has not heard of */
	{ { DOWN, INIT, ARMED, ACTIVE }, { DOWN, INIT, ARMED, ACTIVE } },
	{ { DOWN, INIT, DOWN }, { DOWN } },
	{ { DOWN, INIT, ARMED, DOWN, INIT }, { DOWN, INIT } },
	{ { LID, DOWN, INIT, ARMED, LID, GID }, { LID, DOWN, INIT, ARMED, LID, GID } },
	{ { DOWN, LID, INIT, LID, ARMED, LID, ACTIVE },
	  { DOWN, LID, INIT, LID, ARMED, LID, ACTIVE } },
	{ { DOWN, GID, INIT, LID, DOWN, INIT, LID }, { LID, GID, DOWN, INIT, LID } },
};

START_TEST(a_port_is_heard_of_by_the_ladder_rule)
{
	struct source port = { .outbox = &session->outbox, .kind = AGENT_EVENT_PORT, .cookie = 5, .port = 1 };
	struct agent_event event;

	choke();
	for (int i = 0; states[_i].happen[i]; i++)
		source_port(&port, states[_i].happen[i]);
	hear_fillers();
	for (int i = 0; states[_i].heard[i]; i++) {
		event = next();
		ck_assert_uint_eq(event.kind, AGENT_EVENT_PORT);
		ck_assert_uint_eq(event.type, states[_i].heard[i]);
		ck_assert_uint_eq(event.cookie, 5);
		ck_assert_uint_eq(event.port, 1);
	}
	hear_no_more();
}
END_TEST

/* Lets the ladder of the agent's library report all its events to the port's source. */
static void tell_source(struct ladder *library, struct source *port)
{
	ib_event_type type;

	while (ladder_take(library, &type))
		source_port(port, type);
}

/* 10,000 random events for each seed, to a client for which the kernel often has no memory. */
START_TEST(a_slow_client_hears_of_a_port_by_the_ladder_rule_whatever_happens)
{
	struct source port = {
		.outbox = &session->outbox, .kind = AGENT_EVENT_PORT, .cookie = 5, .port = 1
	};
	struct history happened = { .num = 0 }, told = { .num = 0 };
	uint32_t x = (uint32_t)_i + 1, state = IB_PORT_ACTIVE, start = state;
	struct ladder library = { 0 };
	struct agent_event event;
	struct source last;

	ladder_init(&library, IB_PORT_ACTIVE);
	for (int i = 0; i < 10000; i++) {
		history_add(&happened, history_random(&x, &state));
		ladder_add(&library, happened.event[happened.num - 1]);
		if ((x >> 20) % 4 == 0)
			atomic_store(&sends_that_fail, x >> 31 ? INT_MAX : 0); /* for some time */
		if ((x >> 16) % 4)
			tell_source(&library, &port);
		if (happened.num < 20 + (uint32_t)i % 64)
			continue;
		atomic_store(&sends_that_fail, 0);
		tell_source(&library, &port);
		raise_new(&last, 4711);
		for (event = next(); event.kind == AGENT_EVENT_PORT; event = next())
			history_add(&told, (ib_event_type)event.type);
		source_forget(&last);
		history_expect(start, &happened, &told);
		start = state;
	}
	atomic_store(&sends_that_fail, 0);
	source_forget(&port);
}
END_TEST

static const struct {
	uint32_t happen[5], heard[3]; /* ended by 0 */
} comings[] = {
	{ { SOURCE_ADD }, { AGENT_EVENT_CA_ADD } },
	{ { SOURCE_REMOVE }, { AGENT_EVENT_CA_REMOVE } },
	{ { SOURCE_ADD, SOURCE_REMOVE }, { 0 } },
	{ { SOURCE_REMOVE, SOURCE_ADD }, { AGENT_EVENT_CA_REMOVE, AGENT_EVENT_CA_ADD } },
	{ { SOURCE_REMOVE, SOURCE_ADD, SOURCE_REMOVE }, { AGENT_EVENT_CA_REMOVE } },
	{ { SOURCE_REMOVE, SOURCE_ADD, SOURCE_REMOVE, SOURCE_ADD }, { AGENT_EVENT_CA_REMOVE, AGENT_EVENT_CA_ADD } },
};

START_TEST(of_hcas_that_come_and_go_the_client_hears_what_changes_its_view)
{
	struct source hca = { .outbox = &session->outbox, .guid = 77 };
	struct agent_event event;

	choke();
	for (int i = 0; comings[_i].happen[i]; i++)
		source_raise(&hca, comings[_i].happen[i]);
	hear_fillers();
	for (int i = 0; comings[_i].heard[i]; i++) {
		event = next();
		ck_assert_uint_eq(event.kind, comings[_i].heard[i]);
		ck_assert_uint_eq(event.guid, 77);
	}
	hear_no_more();
	source_forget(&hca);
}
END_TEST

/* Forgets the first, the middle or the last of three sources: the client still gets the events of
 * the others. */
START_TEST(an_object_that_is_gone_is_not_heard_of_and_takes_no_other_along)
{
	struct source three[3], after;

	choke();
	for (int i = 0; i < 3; i++)
		raise_new(&three[i], 100 + (uint64_t)i);
	source_forget(&three[_i]);
	raise_new(&after, 103);
	hear_fillers();
	for (int i = 0; i < 3; i++)
		if (i != _i)
			ck_assert_uint_eq(next().cookie, 100 + (uint64_t)i);
	ck_assert_uint_eq(next().cookie, 103);
	hear_no_more();
}
END_TEST

/* ------------------------------------------------------------ events of real objects */

/* Makes a queue pair in the Error state, whose receives complete in an armed queue of their own. */
static void complete_one(uint64_t cookie)
{
	struct CREATE_CQ_answer cq;
	struct CREATE_QP_answer qp;
	struct MODIFY_QP_request modify = { .mask = IB_QP_STATE, .attr.qp_state = IB_QPS_ERR };
	const struct ib_flat_recv wr = { .wr_id = cookie };

	ck_ok(ASK(&slow, CREATE_CQ, &cq, .pd = slow.pd, .cqe = 1, .cookie = cookie));
	ck_ok(ASK(&slow, CREATE_QP, &qp, .pd = slow.pd, .send_cq = slow.cq, .recv_cq = cq.handle, .qp_type = IB_QPT_RC,
		  .cap = { 1, 1, 1, 1, 0 }));
	ck_ok(ASK(&slow, ARM_CQ, NULL, .cq = cq.handle, .type = AL_ARM_ANY));
	modify.qp = qp.handle;
	ck_ok(ask(slow.line, AGENT_MODIFY_QP, &modify, 0, NULL, 0, NULL, NULL));
	ck_ok(ask(slow.line, AGENT_POST_RECV, &qp.handle, 1, &wr, 0, NULL, NULL));
}

static void pull_cable(enum soft_vendor_code code)
{
	const struct VENDOR_CALL_request request = { .ca = slow.ca, .code = (uint32_t)code };
	const uint32_t port = 1;

	ck_ok(ask(slow.line, AGENT_VENDOR_CALL, &request, sizeof(port), &port, 0, NULL, NULL));
}

/* Returns the events of port 1 that the agent would take now and has not sent: a text of
 * history_text(). */
static const char *port_pending(char *text)
{
	struct history pending = { .num = 0 };
	const struct hca *hca;
	struct ladder ladder;
	ib_event_type type;

	pthread_mutex_lock(&session->outbox.lock);
	for (hca = session->hcas.first; !hca->ports; hca = hca->next)
		; /* the one open session */
	ladder = hca->ports[1].ladder;
	pthread_mutex_unlock(&session->outbox.lock);
	while (ladder_take(&ladder, &type))
		history_add(&pending, type);
	return history_text(&pending, text);
}

START_TEST(a_reader_that_stands_still_and_goes_on_has_missed_nothing)
{
	static uint32_t heard[MOST];
	struct timespec deadline = test_deadline();
	char text[HISTORY_MAX + 1];
	struct history told = { .num = 0 };
	struct agent_event event;
	uint32_t num;

	for (num = 0; !full() && num < 2000; num++)
		complete_one(num);
	ck_assert_msg(full(), "the socket has room for %u events", num);
	for (int i = 0; i < 20; i++)
		complete_one(num++);
	pull_cable(SOFT_PORT_DOWN);
	pull_cable(SOFT_PORT_UP);
	while (strcmp(port_pending(text), "DIRA")) {
		ck_assert_msg(!test_expired(&deadline), "the port does not become Active");
		sched_yield();
	}
	for (uint32_t i = 0; i < num || told.num < 4;) {
		event = next();
		if (event.kind == AGENT_EVENT_COMPLETION) {
			ck_assert_uint_lt(event.cookie, num);
			ck_assert_uint_eq(heard[event.cookie]++, 0);
			i++;
		} else if (event.kind == AGENT_EVENT_PORT) {
			ck_assert_uint_eq(event.port, 1);
			history_add(&told, (ib_event_type)event.type);
		}
	}
	ck_assert_str_eq(history_text(&told, text), "DIRA");
	complete_one(num);
	do
		event = next();
	while (event.kind != AGENT_EVENT_COMPLETION);
	ck_assert_uint_eq(event.cookie, num);
}
END_TEST

/* Reads a client's events until four of port 1 have come, and checks that they are a fall and its
 * way back. */
static void hear_port(int events)
{
	char text[HISTORY_MAX + 1];
	struct history told = { .num = 0 };
	struct agent_event event;

	while (told.num < 4) {
		ck_assert_msg(recv(events, &event, sizeof(event), 0) == sizeof(event),
			      "an event is lost");
		if (event.kind == AGENT_EVENT_PORT && event.port == 1)
			history_add(&told, (ib_event_type)event.type);
	}
	ck_assert_str_eq(history_text(&told, text), "DIRA");
}

/* One client's socket is full. Another client hears of its ports, and the first one does when it
 * reads again. */
START_TEST(a_client_that_reads_nothing_delays_no_port_event_of_another)
{
	const struct timeval limit = { .tv_sec = test_scaled_ms(5000) / 1000 };
	struct client quick;

	choke();
	client_open(&quick);
	ck_assert_int_eq(setsockopt(quick.events, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)),
			 0);
	pull_cable(SOFT_PORT_DOWN);
	pull_cable(SOFT_PORT_UP);
	hear_port(quick.events);
	ck_assert(full());
	client_close(&quick);
	hear_fillers();
	hear_port(slow.events);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("e2e/agent_event");
	TCase *tcase = tcase_create("events");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, what_does_not_fit_is_sent_in_its_order_when_there_is_room);
	tcase_add_test(tcase, what_was_sent_is_not_sent_again_with_the_next_event_of_its_source);
	tcase_add_test(tcase, what_the_kernel_had_no_memory_for_is_sent_later);
	tcase_add_loop_test(tcase, a_port_is_heard_of_by_the_ladder_rule, 0,
			    sizeof(states) / sizeof(states[0]));
	tcase_add_loop_test(
		tcase, a_slow_client_hears_of_a_port_by_the_ladder_rule_whatever_happens, 0, 5);
	tcase_add_loop_test(tcase, of_hcas_that_come_and_go_the_client_hears_what_changes_its_view, 0,
			    sizeof(comings) / sizeof(comings[0]));
	tcase_add_loop_test(tcase, an_object_that_is_gone_is_not_heard_of_and_takes_no_other_along, 0, 3);
	tcase_add_test(tcase, a_reader_that_stands_still_and_goes_on_has_missed_nothing);
	tcase_add_test(tcase, a_client_that_reads_nothing_delays_no_port_event_of_another);
	suite_add_tcase(suite, tcase);
	return test_run(suite);
}
