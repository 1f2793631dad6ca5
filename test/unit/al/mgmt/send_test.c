/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Sends of MAD services, against a subnet that the test plays: their turns at the send queue, their
 * number, their failures, cancelling, and room for what the clients do not read.
 */
#include "al/object/client.h"

#include "test/unit/al/mgmt/match_bed.h"

START_TEST(a_send_that_makes_no_sense_is_refused)
{
	struct al_mad_svc_init init = svc_init(VENDOR), smp = svc_init(IB_CLASS_SUBN_LID);
	struct ib_mad mad = mad_of(VENDOR, IB_METHOD_GET, 5, 0);
	struct ib_mad response = mad_of(VENDOR, IB_METHOD_GET_RESP, 5, 0);
	struct ib_mad repress = mad_of(VENDOR, IB_METHOD_TRAP_REPRESS, 5, 0);
	struct ib_mad sm = mad_of(IB_CLASS_SUBN_LID, IB_METHOD_GET, 5, 0);
	struct al_mad_send good = send_of(&mad, PEER_LID, 0, 1), bad;

	side_register(&side, &init);
	side_register(&other, &smp);
	ck_status(al_send_mad(side.svc, NULL), AL_INVALID_PARAMETER);
#define REFUSED(member, value, status)                          \
	do {                                                    \
		bad = good;                                     \
		bad.member = value;                             \
		ck_status(al_send_mad(side.svc, &bad), status); \
	} while (0)
	REFUSED(mad, NULL, AL_INVALID_PARAMETER);
	REFUSED(mad, &sm, AL_INVALID_PARAMETER);
	REFUSED(length, 23, AL_INVALID_PARAMETER);
	REFUSED(length, 0, AL_INVALID_PARAMETER);
	REFUSED(length, 257, AL_INVALID_PARAMETER);
	REFUSED(length, UINT32_MAX, AL_INVALID_PARAMETER);
	REFUSED(remote_qpn, 0, AL_INVALID_PARAMETER);
	REFUSED(remote_qpn, 1 << 24, AL_INVALID_PARAMETER);
	REFUSED(retries, 1, AL_INVALID_PARAMETER);
	REFUSED(pad, 1, AL_INVALID_PARAMETER);
	REFUSED(reserved[0], 1, AL_INVALID_PARAMETER);
	REFUSED(path.port_num, 2, AL_INVALID_PORT);
	REFUSED(path.port_num, 0, AL_INVALID_PORT);
	REFUSED(path.sl, 16, AL_INVALID_PARAMETER);
	REFUSED(pkey_index, UINT16_MAX, AL_INVALID_PKEY_INDEX);
	good.timeout_ms = SHORT_MS;
	REFUSED(mad, &response, AL_INVALID_PARAMETER);
	REFUSED(mad, &repress, AL_INVALID_PARAMETER);
	good.timeout_ms = 0;
	good.path.is_global = true;
	REFUSED(path.grh.sgid_index, UINT16_MAX, AL_INVALID_GID_INDEX);
	good = send_of(&sm, PEER_LID, 0, 1);
	good.remote_qpn = 1;
	ck_status(al_send_mad(other.svc, &good), AL_INVALID_PARAMETER);
	fail_post = AL_QUEUE_FULL;
	good.remote_qpn = 0;
	ck_ok(al_send_mad(other.svc, &good));
	side_next(&other, AL_MAD_FAILED, AL_QUEUE_FULL);
	ck_assert_uint_eq(side.num, 0);
}
END_TEST

/* With as many sends posted as QP1 has slots, further sends wait: in order, and services take
 * turns. */
static void ignore(void *context, const struct al_mad_event *event)
{
	(void)context, (void)event;
}

START_TEST(services_take_turns_at_a_full_send_queue)
{
	struct al_mad_svc_init init = svc_init(VENDOR), second = svc_init(VENDOR + 1);
	struct ib_mad mine = mad_of(VENDOR, IB_METHOD_SEND, 0, 0);
	struct ib_mad theirs = mad_of(VENDOR + 1, IB_METHOD_SEND, 0, 0);
	struct al_mad_send send;
	unsigned int slots;
	struct posted p;

	hold = true;
	side_register(&side, &init);
	side_register(&other, &second);
	for (uint64_t i = 0; i < 300; i++) {
		mine.hdr.tid = ib_be64_of(i);
		send = send_of(&mine, PEER_LID, 0, i);
		ck_ok(al_send_mad(side.svc, &send));
	}
	for (uint64_t i = 0; i < 20; i++) {
		theirs.hdr.tid = ib_be64_of(i);
		send = send_of(&theirs, PEER_LID, 0, i);
		ck_ok(al_send_mad(other.svc, &send));
	}
	slots = specials[1][1].num_sent;
	ck_assert_uint_lt(slots, 250);
	for (unsigned int i = 0; i < slots; i++)
		ck_assert_uint_eq(ib_be64_get(next_sent(1).mad.hdr.tid), i);
	/* from here on the services alternate, although the second service has come 200 datagrams
	 * later */
	for (unsigned int i = 0; i < 40; i++) {
		complete_one(1, IB_WC_SUCCESS);
		p = next_sent(1);
		ck_assert_uint_eq(p.mad.hdr.mgmt_class, i % 2 ? VENDOR + 1 : VENDOR);
		ck_assert_uint_eq(ib_be64_get(p.mad.hdr.tid), i % 2 ? i / 2 : slots + i / 2);
	}
}
END_TEST

/* A client that floods by many services has one share of the turns, like another with one service.
 */
START_TEST(clients_take_turns_however_many_services_they_have)
{
	enum { FLOODING = 3 };
	struct ci_client clients[2] = { 0 };
	struct ci_udata acts[2] = { { .client = &clients[0] }, { .client = &clients[1] } };
	struct al_mad_svc_init init;
	struct al_mad_send send;
	al_mad_svc_h svc[FLOODING + 1];
	struct ib_mad mad;
	unsigned int slots;
	uint8_t classes[2];

	hold = true;
	for (unsigned int s = 0; s <= FLOODING; s++) {
		init = svc_init((uint8_t)(VENDOR + s));
		al_act_for(&acts[s / FLOODING]);
		ck_ok(al_reg_mad_svc(ca, &init, NULL, ignore, &svc[s]));
		al_act_for(NULL);
		mad = mad_of((uint8_t)(VENDOR + s), IB_METHOD_SEND, 0, 0);
		for (uint64_t i = 0; i < 300; i++) {
			send = send_of(&mad, PEER_LID, 0, i);
			ck_ok(al_send_mad(svc[s], &send));
		}
	}
	slots = specials[1][1].num_sent;
	while (slots--)
		next_sent(1);
	for (unsigned int i = 0; i < 60; i++) {
		complete_one(1, IB_WC_SUCCESS);
		classes[i % 2] = next_sent(1).mad.hdr.mgmt_class;
		if (i % 2) /* one of the two is the quiet client's */
			ck_assert_uint_eq((classes[0] == VENDOR + FLOODING) +
						  (classes[1] == VENDOR + FLOODING),
					  1);
		if (i % 2 && classes[0] == VENDOR + FLOODING)
			classes[0] = classes[1];
		if (i % 2) /* the other's services take turns, too */
			ck_assert_uint_eq(classes[0], VENDOR + i / 2 % FLOODING);
	}
	for (unsigned int s = 0; s <= FLOODING; s++)
		ck_ok(al_dereg_mad_svc(svc[s], NULL, NULL));
}
END_TEST

START_TEST(the_number_of_sends_is_bounded)
{
	struct al_mad_svc_init init = svc_init(VENDOR);
	struct ib_mad mad = mad_of(VENDOR, IB_METHOD_SEND, 0, 0);
	struct al_mad_send send = send_of(&mad, PEER_LID, 0, 1);

	hold = true;
	side_register(&side, &init);
	for (unsigned int i = 0; i < AL_MAD_SENDS_MAX; i++)
		ck_ok(al_send_mad(side.svc, &send));
	ck_status(al_send_mad(side.svc, &send), AL_QUEUE_FULL);
	complete_one(1, IB_WC_SUCCESS);
	side_next(&side, AL_MAD_SENT, AL_SUCCESS);
	for (struct timespec limit = test_deadline(); al_send_mad(side.svc, &send);)
		ck_assert(!test_expired(&limit));
	ck_status(al_send_mad(side.svc, &send), AL_QUEUE_FULL);
}
END_TEST

START_TEST(a_cancelled_send_ends_once)
{
	struct al_mad_svc_init init = svc_init(VENDOR);
	struct ib_mad mad = mad_of(VENDOR, IB_METHOD_GET, 5, 0), first;
	struct al_mad_send send = send_of(&mad, PEER_LID, LONG_MS, 2);
	struct packet p;

	side_register(&side, &init);
	ck_status(al_cancel_mad(side.svc, 1), AL_NOT_FOUND);
	/* cancel a request that waits for its response */
	first = ask(&side, &mad, 1);
	ck_ok(al_cancel_mad(side.svc, 1));
	ck_status(al_cancel_mad(side.svc, 1), AL_NOT_FOUND);
	ck_assert_uint_eq(side.got[side_next(&side, AL_MAD_FAILED, AL_CANCELLED)].event.id, 1);
	first.hdr.method = IB_METHOD_GET_RESP;
	p = packet_of(&first);
	put_in(&p);
	/* cancel a request whose send has not completed; the completion comes afterwards */
	hold = true;
	ck_ok(al_send_mad(side.svc, &send));
	ck_ok(al_cancel_mad(side.svc, 2));
	side_next(&side, AL_MAD_FAILED, AL_CANCELLED);
	complete_one(1, IB_WC_SUCCESS);
	/* cancel a send that is not posted yet */
	send.timeout_ms = 0;
	for (send.id = 10; send.id < 210; send.id++)
		ck_ok(al_send_mad(side.svc, &send));
	ck_ok(al_cancel_mad(side.svc, 209));
	ck_assert_uint_eq(side.got[side_next(&side, AL_MAD_FAILED, AL_CANCELLED)].event.id, 209);
	/* cancel one of two sends with the same identifier: the older one */
	ck_ok(al_cancel_mad(side.svc, 10));
	side_next(&side, AL_MAD_FAILED, AL_CANCELLED);
	/* the HCA has not completed the posted sends, so no other send ends */
	expect_marker(&side, &init, IB_METHOD_GET);
	ck_assert_uint_eq(side.num, 5);
}
END_TEST

static void cancel_next(struct side *s, const struct al_mad_event *event)
{
	(void)event;
	if (s->num < 3)
		al_cancel_mad(s->svc, s->num + 1);
}

START_TEST(a_callback_may_cancel_and_send)
{
	struct al_mad_svc_init init = svc_init(VENDOR);
	struct ib_mad mad = mad_of(VENDOR, IB_METHOD_GET, 5, 0);

	side.then = cancel_next;
	side_register(&side, &init);
	for (uint64_t id = 1; id <= 3; id++)
		ask(&side, &mad, id);
	ck_ok(al_cancel_mad(side.svc, 1));
	for (uint64_t id = 1; id <= 3; id++)
		ck_assert_uint_eq(side.got[side_next(&side, AL_MAD_FAILED, AL_CANCELLED)].event.id,
				  id);
}
END_TEST

/* A send in error puts the queue pair into SQE: that send fails, and the sends behind it are posted
 * again. */
START_TEST(a_failed_send_stops_no_other)
{
	struct al_mad_svc_init init = svc_init(VENDOR);
	struct ib_mad mad = mad_of(VENDOR, IB_METHOD_SEND, 0, 0);
	struct al_mad_send send;

	hold = true;
	side_register(&side, &init);
	for (uint64_t i = 0; i < 3; i++) {
		mad.hdr.tid = ib_be64_of(i);
		send = send_of(&mad, PEER_LID, 0, i);
		ck_ok(al_send_mad(side.svc, &send));
		next_sent(1);
	}
	specials[1][1].qp->attr.qp_state = IB_QPS_SQE;
	complete_one(1, IB_WC_LOC_QP_OP_ERR);
	complete_one(1, IB_WC_WR_FLUSH_ERR);
	ck_assert_uint_eq(side.got[side_next(&side, AL_MAD_FAILED, AL_IO_ERROR)].event.id, 0);
	complete_one(1, IB_WC_WR_FLUSH_ERR);
	/* both sends are posted again */
	next_sent(1);
	next_sent(1);
	complete_one(1, IB_WC_SUCCESS);
	complete_one(1, IB_WC_SUCCESS);
	side_next(&side, AL_MAD_SENT, AL_SUCCESS);
	side_next(&side, AL_MAD_SENT, AL_SUCCESS);
	ck_assert_int_eq(specials[1][1].qp->attr.qp_state, IB_QPS_RTS);
}
END_TEST

/* A send that the module refuses each time ends, and those behind it in the queue are sent, also of
 * another service. */
START_TEST(a_send_that_is_always_refused_stops_no_other)
{
	struct al_mad_svc_init init = svc_init(VENDOR), second = svc_init(VENDOR + 1);
	struct ib_mad mine = mad_of(VENDOR, IB_METHOD_GET, 0, 0);
	struct ib_mad theirs = mad_of(VENDOR + 1, IB_METHOD_SEND, 0, 0);
	unsigned int ends[] = { 0, 0 };
	struct al_mad_send send;
	unsigned int got;

	side_register(&side, &init);
	side_register(&other, &second);
	refused = 7;
	hold = true;
	/* every third one is refused: some at once, others when their turn at the full queue has
	 * come */
	for (uint64_t i = 1; i <= 300; i++) {
		mine.hdr.tid = ib_be64_of(i % 3 ? 1000 + i : refused);
		send = send_of(&mine, PEER_LID, i % 3 ? 0 : LONG_MS, i);
		send.retries = i % 3 ? 0 : 5;
		ck_ok(al_send_mad(side.svc, &send));
	}
	theirs.hdr.tid = ib_be64_of(2000);
	send = send_of(&theirs, PEER_LID, 0, 2000);
	ck_ok(al_send_mad(other.svc, &send));
	for (int i = 0; i < 201; i++) {
		next_sent(1);
		complete_one(1, IB_WC_SUCCESS);
	}
	side_next(&other, AL_MAD_SENT, AL_SUCCESS);
	for (int i = 0; i < 300; i++) {
		test_wait(&side.sem);
		got = side.looked++;
		ends[side.got[got].event.type == AL_MAD_FAILED]++;
		ck_assert_int_eq(side.got[got].event.type,
				 side.got[got].event.id % 3 ? AL_MAD_SENT : AL_MAD_FAILED);
		ck_status(side.got[got].event.status,
			  side.got[got].event.id % 3 ? AL_SUCCESS : AL_INVALID_SGE);
	}
	ck_assert_uint_eq(ends[0], 200);
	ck_assert_uint_eq(ends[1], 100);
}
END_TEST

START_TEST(a_queue_pair_in_error_fails_its_sends)
{
	struct al_mad_svc_init init = svc_init(VENDOR);
	struct ib_mad mad = mad_of(VENDOR, IB_METHOD_GET, 0, 0);
	struct al_mad_send send = send_of(&mad, PEER_LID, LONG_MS, 1);

	hold = true;
	side_register(&side, &init);
	ck_ok(al_send_mad(side.svc, &send));
	send.id = 2;
	ck_ok(al_send_mad(side.svc, &send));
	specials[1][1].qp->attr.qp_state = IB_QPS_ERR;
	complete_one(1, IB_WC_WR_FLUSH_ERR);
	complete_one(1, IB_WC_WR_FLUSH_ERR);
	side_next(&side, AL_MAD_FAILED, AL_CA_ERROR);
	side_next(&side, AL_MAD_FAILED, AL_CA_ERROR);
	ck_status(al_send_mad(side.svc, &send), AL_CA_ERROR);
}
END_TEST

/* -------------------------------------------------- services that do not read */

/* A service whose client does not read its channel. */
static al_mad_svc_h register_unread(const struct al_mad_svc_init *like)
{
	struct al_mad_svc_init init = *like;
	al_mad_svc_h svc;

	ck_ok(al_create_channel(al, NULL, &init.channel));
	ck_ok(al_reg_mad_svc(ca, &init, NULL, NULL, &svc));
	return svc;
}

/* Reads all events of a service. Returns the number of datagrams from the LID. */
static unsigned int read_all(al_mad_svc_h svc, uint16_t lid)
{
	struct al_mad_event event;
	unsigned int num = 0;
	struct ib_mad mad;

	while (!al_mad_next(svc, &mad, sizeof(mad), &event))
		num += event.path.dlid == lid;
	return num;
}

START_TEST(a_flood_takes_room_from_no_other_sender_or_service)
{
	struct al_mad_svc_init init = svc_init(VENDOR), second = svc_init(VENDOR + 1);
	struct ib_mad mad = mad_of(VENDOR, IB_METHOD_SEND, 0, 0);
	struct packet p = packet_of(&mad);
	al_mad_svc_h svc;

	svc = register_unread(&init);
	side_register(&side, &second);
	for (int i = 0; i < 1000; i++)
		put_in(&p);
	p.slid = PEER_LID + 1;
	for (int i = 0; i < 1000; i++)
		put_in(&p);
	p.slid = PEER_LID + 2; /* no event is left */
	put_in(&p);
	expect_marker(&side, &second, IB_METHOD_GET);
	ck_assert_uint_eq(read_all(svc, PEER_LID), AL_MAD_RECEIVES_MAX / 2);
	p.slid = PEER_LID;
	put_in(&p);
	p.slid = PEER_LID + 1;
	for (int i = 0; i < 1000; i++)
		put_in(&p);
	expect_marker(&side, &second, IB_METHOD_GET);
	ck_assert_uint_eq(read_all(svc, PEER_LID + 1), AL_MAD_RECEIVES_MAX / 2);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("send");
	TCase *tc = tcase_create("against a subnet that the test plays");

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, a_send_that_makes_no_sense_is_refused);
	tcase_add_test(tc, services_take_turns_at_a_full_send_queue);
	tcase_add_test(tc, clients_take_turns_however_many_services_they_have);
	tcase_add_test(tc, the_number_of_sends_is_bounded);
	tcase_add_test(tc, a_cancelled_send_ends_once);
	tcase_add_test(tc, a_callback_may_cancel_and_send);
	tcase_add_test(tc, a_failed_send_stops_no_other);
	tcase_add_test(tc, a_send_that_is_always_refused_stops_no_other);
	tcase_add_test(tc, a_queue_pair_in_error_fails_its_sends);
	tcase_add_test(tc, a_flood_takes_room_from_no_other_sender_or_service);
	suite_add_tcase(suite, tc);
	return test_run(suite);
}
