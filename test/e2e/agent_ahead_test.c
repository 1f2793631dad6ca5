/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Outcomes of sends that go to an agent's client with their announcement (al/agent/ahead.h). */
#include <sys/uio.h>

#include "test/e2e/agent_mads.h"

/* Takes the next event of a client by hand. Returns its bytes. */
static size_t hear_event(const struct client *c, union agent_event_record *record)
{
	const ssize_t n = recv(c->events, record, sizeof(*record), 0);

	ck_assert_int_gt(n, 0);
	return (size_t)n;
}

/* The next outcome that comes with its announcement. */
static void expect_ahead(const struct client *c, struct agent_mad_event *ahead)
{
	union agent_event_record record;
	size_t n;

	do
		n = hear_event(c, &record);
	while (record.event.kind == AGENT_EVENT_MAD);
	ck_assert_uint_eq(record.event.kind, AGENT_EVENT_MAD_AHEAD);
	ck_assert_uint_eq(record.event.cookie, 0x1234);
	ck_assert_ptr_null(record.mad.mad.mad);
	ck_assert_uint_eq(n, offsetof(struct agent_mad_event, datagram) + record.mad.mad.length);
	*ahead = record.mad;
}

static uint64_t register_by_hand(const struct client *c, uint64_t cookie, uint8_t mgmt_class)
{
	struct made_answer made;

	ck_ok(ASK(c, REG_MAD_SVC, &made, .ca = c->ca, .cookie = cookie, .port_num = 1,
		  .mgmt_class = mgmt_class, .class_version = 1));
	return made.handle;
}

static void send_by_hand(const struct client *c, uint64_t svc, uint8_t mgmt_class, uint64_t id,
			 uint64_t taken)
{
	struct SEND_MAD_request request = send_request(svc, IB_MAD_BYTES, 0);
	struct ib_mad mad = mad_of(mgmt_class, IB_METHOD_SEND, 1);

	request.id = id;
	request.taken = taken;
	ck_ok(ask(c->line, AGENT_SEND_MAD, &request, sizeof(mad), &mad, 0, NULL, NULL));
}

START_TEST(outcomes_come_with_their_announcement_as_far_as_the_client_has_room)
{
	const unsigned int all = AGENT_AHEAD_MAX + 4;
	union agent_event_record record;
	struct agent_mad_event ahead;
	struct MAD_NEXT_answer next;
	struct timespec limit;
	struct client c;
	al_status status;
	uint64_t svc;

	agent_start("--mode", "666");
	client_open(&c);
	svc = register_by_hand(&c, 0x1234, VENDOR);
	for (unsigned int id = 0; id < all; id++)
		send_by_hand(&c, svc, VENDOR, id, 0);
	for (unsigned int id = 0; id < AGENT_AHEAD_MAX; id++) {
		expect_ahead(&c, &ahead);
		ck_assert_uint_eq(ahead.mad.id, id);
		ck_assert_uint_eq(ahead.mad.type, AL_MAD_SENT);
		ck_assert_uint_eq(ahead.mad.length, 0);
	}
	hear_event(&c, &record);
	ck_assert_uint_eq(record.event.kind, AGENT_EVENT_MAD);
	/* no event overtakes those that the program has not taken */
	ck_status(ASK(&c, MAD_NEXT, &next, .svc = svc, .size = 256, .room = 256), AL_NOT_FOUND);
	limit = test_deadline();
	for (unsigned int id = AGENT_AHEAD_MAX; id < all; id++) {
		while ((status = ASK(&c, MAD_NEXT, &next, .svc = svc, .size = 256, .room = 256,
				     .taken = AGENT_AHEAD_MAX)) == AL_NOT_FOUND)
			ck_assert(!test_expired(&limit));
		ck_ok(status);
		ck_assert_uint_eq(next.event.id, id);
	}
	/* a request that another one has overtaken takes nothing back, and there is room again */
	send_by_hand(&c, svc, VENDOR, all, 0);
	expect_ahead(&c, &ahead);
	ck_assert_uint_eq(ahead.mad.id, all);
	client_close(&c);
	agent_stop();
}
END_TEST

/* An end at the HCA of a client by hand. */
static struct end open_same(al_h al, const struct client *c)
{
	struct end end = open_end(al, 0);

	return guids[0] == c->attr.node_guid ? end : open_end(al, 1);
}

/* A client that does not read has more outcomes than its socket has room for. */
START_TEST(outcomes_for_which_the_socket_has_no_room_come_later)
{
	enum { SERVICES = 40, FIRST_COOKIE = 100 };
	union agent_event_record record;
	const struct ib_mad mad = mad_of(VENDOR_2, IB_METHOD_SEND, 1);
	unsigned int next[SERVICES] = { 0 }, svc;
	struct client c;
	struct end end;
	uint64_t handle;
	al_h al;

	agent_start("--mode", "666");
	al = agent_open();
	client_open(&c);
	for (svc = 0; svc < SERVICES; svc++) {
		handle = register_by_hand(&c, FIRST_COOKIE + svc, VENDOR);
		for (unsigned int id = 0; id < AGENT_AHEAD_MAX; id++)
			send_by_hand(&c, handle, VENDOR, id, 0);
	}
	/* the services take turns, so the last of these sends ends after all of the client's */
	end = open_same(al, &c);
	serve(&end, VENDOR_2, 0);
	for (unsigned int id = 0; id <= AGENT_AHEAD_MAX; id++)
		ck_ok(send_to(&end, end.lid, &mad, sizeof(mad), 0, id));
	for (unsigned int id = 0; id <= AGENT_AHEAD_MAX; id++)
		expect_event(&end, AL_MAD_SENT, AL_SUCCESS, id);
	for (unsigned int num = 0; num < SERVICES * AGENT_AHEAD_MAX;) {
		hear_event(&c, &record);
		if (record.event.kind == AGENT_EVENT_MAD)
			continue;
		ck_assert_uint_eq(record.event.kind, AGENT_EVENT_MAD_AHEAD);
		svc = (unsigned int)record.event.cookie - FIRST_COOKIE;
		ck_assert_uint_lt(svc, SERVICES);
		ck_assert_uint_eq(record.mad.mad.id, next[svc]++);
		num++;
	}
	client_close(&c);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	agent_stop();
}
END_TEST

START_TEST(an_answer_comes_with_its_announcement)
{
	struct ib_mad mad = mad_of(VENDOR, IB_METHOD_GET, 7), asked;
	struct SEND_MAD_request request;
	struct agent_mad_event ahead;
	struct client c;
	struct end end;
	uint64_t svc;
	al_h al;

	agent_start("--mode", "666");
	al = agent_open();
	client_open(&c);
	end = open_same(al, &c);
	serve(&end, VENDOR, GET_SET);
	svc = register_by_hand(&c, 0x1234, VENDOR);
	mad.hdr.tid = ib_be64_of(0x123456789abcdef0);
	request = send_request(svc, sizeof(mad), 0);
	request.path.dlid = end.lid;
	request.timeout_ms = 60000;
	request.id = 77;
	ck_ok(ask(c.line, AGENT_SEND_MAD, &request, sizeof(mad), &mad, 0, NULL, NULL));
	ck_assert_uint_eq(next_event(&end, &asked, sizeof(asked)).type, AL_MAD_RECEIVED);
	asked.hdr.method = IB_METHOD_GET_RESP;
	for (unsigned int i = sizeof(asked.hdr); i < sizeof(asked); i++)
		((uint8_t *)&asked)[i] = (uint8_t)i;
	ck_ok(send_to(&end, end.lid, &asked, sizeof(asked), 0, 1));
	expect_ahead(&c, &ahead);
	ck_assert_uint_eq(ahead.mad.type, AL_MAD_ANSWERED);
	ck_assert_uint_eq(ahead.mad.id, 77);
	ck_assert_uint_eq(ahead.mad.length, IB_MAD_BYTES);
	ck_assert_uint_eq(ahead.mad.path.dlid, end.lid);
	ck_assert_uint_eq(ahead.left, 0);
	asked.hdr.tid = mad.hdr.tid;
	ck_assert_mem_eq(&ahead.datagram, &asked, sizeof(asked));
	client_close(&c);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	agent_stop();
}
END_TEST

/* Sends by hand, and receives the outcome that comes with the answer. False: none does. */
static bool send_for_outcome(const struct client *c, const struct SEND_MAD_request *request,
			     struct agent_mad_event *outcome)
{
	const struct ib_mad mad = mad_of(VENDOR, IB_METHOD_SEND, 1);
	const struct agent_head head = { .command = AGENT_SEND_MAD, .count = { sizeof(mad) } };
	struct iovec out[] = { { (void *)&head, sizeof(head) },
			       { (void *)request, sizeof(*request) },
			       { (void *)&mad, sizeof(mad) } };
	struct agent_answer answer;
	struct none none;
	struct iovec in[] = { { &answer, sizeof(answer) },
			      { &none, sizeof(none) },
			      { outcome, sizeof(*outcome) } };

	ck_assert_int_gt(writev(c->line, out, 3), 0);
	ck_assert_int_gt(readv(c->line, in, 3), 0);
	ck_ok((al_status)answer.status);
	ck_assert_uint_le(answer.count, 1);
	return answer.count;
}

static void check_outcome(const struct agent_mad_event *outcome, uint64_t number)
{
	ck_assert_uint_eq(outcome->event.kind, AGENT_EVENT_MAD_AHEAD);
	ck_assert_uint_eq(outcome->event.cookie, 0x1234);
	ck_assert_uint_eq(outcome->event.before, number);
	ck_assert_uint_eq(outcome->mad.id, number);
	ck_assert_uint_eq(outcome->mad.type, AL_MAD_SENT);
}

/* The loop does what the datagram makes, unless the agent's management thread is at work; so the
 * outcome comes one way or the other, and tells its number. */
START_TEST(an_outcome_comes_with_the_answer_of_its_send)
{
	struct timespec limit;
	struct agent_mad_event outcome;
	struct SEND_MAD_request request;
	unsigned int with_answer = 0;
	uint64_t number = 0;
	struct client c;

	agent_start("--mode", "666");
	client_open(&c);
	request = send_request(register_by_hand(&c, 0x1234, VENDOR), IB_MAD_BYTES, 0);
	request.room = 1;
	for (limit = test_deadline(); with_answer < 20; number++) {
		ck_assert(!test_expired(&limit));
		request.id = number;
		request.taken = number;
		if (send_for_outcome(&c, &request, &outcome))
			with_answer++;
		else
			expect_ahead(&c, &outcome);
		check_outcome(&outcome, number);
	}
	/* behind as many as the client has room for, one stays with the agent; when there is room,
	 * the answer brings it, and the next one is announced */
	request.taken = number;
	for (unsigned int i = 0; i < AGENT_AHEAD_MAX; i++, number++) {
		request.id = number;
		if (!send_for_outcome(&c, &request, &outcome))
			expect_ahead(&c, &outcome);
		check_outcome(&outcome, number);
	}
	request.id = number;
	ck_assert(!send_for_outcome(&c, &request, &outcome));
	request.taken = number;
	request.id = number + 1;
	if (!send_for_outcome(&c, &request, &outcome))
		expect_ahead(&c, &outcome);
	check_outcome(&outcome, number++);
	expect_ahead(&c, &outcome);
	check_outcome(&outcome, number++);
	/* nothing has come twice, and a client that has no room for it gets it as ever */
	request.room = 0;
	request.id = number;
	request.taken = number;
	ck_assert(!send_for_outcome(&c, &request, &outcome));
	expect_ahead(&c, &outcome);
	check_outcome(&outcome, number);
	client_close(&c);
	agent_stop();
}
END_TEST

/* A program takes one event for each time that its channel becomes readable, and sends meanwhile.
 */
START_TEST(each_outcome_is_announced_and_comes_once_and_in_order)
{
	const unsigned int all = 600;
	struct ib_mad mad = mad_of(VENDOR, IB_METHOD_SEND, 1);
	struct pollfd readable = { .events = POLLIN };
	unsigned int sent = 0, taken = 0, burst;
	struct al_channel_event told;
	struct al_mad_event event;
	al_status status;
	struct end end;
	al_h al;

	agent_start("--mode", "666");
	al = agent_open();
	end = open_end(al, 0);
	serve(&end, VENDOR, 0);
	ck_ok(al_channel_fd(end.channel, &readable.fd));
	while (taken < all) {
		burst = 1 + taken % 40;
		while (sent < all && burst--)
			ck_ok(send_to(&end, end.lid, &mad, sizeof(mad), 0, sent++));
		for (burst = 1 + sent % 50; burst && taken < sent; burst--) {
			ck_assert_int_eq(poll(&readable, 1, 10000), 1);
			if (al_channel_next(end.channel, &told))
				continue;
			status = al_mad_next(end.svc, NULL, 0, &event);
			if (status == AL_NOT_FOUND)
				continue;
			ck_ok(status);
			ck_assert_uint_eq(event.type, AL_MAD_SENT);
			ck_assert_uint_eq(event.id, taken++);
		}
	}
	ck_status(al_mad_next(end.svc, NULL, 0, &event), AL_NOT_FOUND);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	agent_stop();
}
END_TEST

int main(int argc, char **argv)
{
	static const struct agent_client clients[] = { { NULL, NULL } };
	Suite *suite;
	TCase *tcase;

	agent_be_client(argc, argv, clients);
	suite = suite_create("e2e/agent_ahead");
	tcase = tcase_create("outcomes");
	tcase_add_test(tcase, outcomes_come_with_their_announcement_as_far_as_the_client_has_room);
	tcase_add_test(tcase, outcomes_for_which_the_socket_has_no_room_come_later);
	tcase_add_test(tcase, an_answer_comes_with_its_announcement);
	tcase_add_test(tcase, an_outcome_comes_with_the_answer_of_its_send);
	tcase_add_test(tcase, each_outcome_is_announced_and_comes_once_and_in_order);
	suite_add_tcase(suite, tcase);
	return test_run(suite);
}
