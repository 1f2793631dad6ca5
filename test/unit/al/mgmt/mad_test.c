/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * MAD services over the software HCA, by the public API: requests and responses between two HCAs, sends that end by
 * time-out, removal and deregistration, forks and callbacks that block. The rules by which a datagram finds its
 * service are in match_test.c.
 */
#include <stdatomic.h>
#include <sys/wait.h>

#include <iba/ib_soft.h>

#include "test/unit/al/fork.h"
#include "test/unit/al/mgmt/mad_bed.h"

static al_h al;
static struct side side[2];
static uint64_t guids[2];

static void set_up(void)
{
	struct ib_port_attr port;

	al = test_open();
	test_guids(al, guids, 2);
	for (int i = 0; i < 2; i++) {
		side_init(&side[i], test_open_ca(al, guids[i]));
		ck_ok(al_query_port(side[i].ca, 1, &port));
		side[i].lid = port.lid;
	}
}

static void tear_down(void)
{
	al_set_log(test_ignore_log, NULL);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

static void register_both(uint8_t mgmt_class)
{
	struct al_mad_svc_init init = svc_init(mgmt_class);

	for (int i = 0; i < 2; i++)
		side_register(&side[i], &init);
}

/* Answers a request with the request's data in reverse order. */
static void reply(struct side *s, const struct al_mad_event *event)
{
	const struct ib_mad *request = event->mad;
	struct al_mad_send send = { .remote_qpn = event->src_qp,
				    .remote_qkey = event->src_qp ? IB_QKEY_WELL_KNOWN : 0,
				    .length = IB_MAD_BYTES,
				    .path = event->path };
	struct ib_mad answer;

	if (event->type != AL_MAD_RECEIVED)
		return;
	answer = *request;
	answer.hdr.method = IB_METHOD_GET_RESP;
	for (unsigned int i = 0; i < sizeof(answer.data); i++)
		answer.data[i] = (uint8_t)~request->data[i];
	send.mad = &answer;
	al_send_mad(s->svc, &send);
}

/* _i: on QP1 or QP0 */
START_TEST(a_request_is_answered_between_two_services)
{
	uint8_t mgmt_class = _i ? IB_CLASS_SUBN_LID : VENDOR;
	const uint64_t tid = 0x1122334455667788;
	struct al_mad_send send;
	struct ib_mad request = mad_of(mgmt_class, IB_METHOD_GET, tid, 3);
	const struct al_mad_event *event;
	unsigned int got;

	side[1].then = reply;
	register_both(mgmt_class);
	send = send_of(&request, side[1].lid, LONG_MS, 42);
	ck_ok(al_send_mad(side[0].svc, &send));

	got = side_next(&side[1], AL_MAD_RECEIVED, AL_SUCCESS);
	event = &side[1].got[got].event;
	ck_assert_uint_eq(event->id, 0);
	ck_assert_uint_eq(event->length, IB_MAD_BYTES);
	ck_assert_uint_eq(event->src_qp, !_i);
	ck_assert_uint_eq(event->path.dlid, side[0].lid);
	ck_assert_uint_eq(event->path.port_num, 1);
	ck_assert_mem_eq(side[1].got[got].mad.data, request.data, sizeof(request.data));
	side_next(&side[1], AL_MAD_SENT, AL_SUCCESS);

	got = side_next(&side[0], AL_MAD_ANSWERED, AL_SUCCESS);
	event = &side[0].got[got].event;
	ck_assert_uint_eq(event->id, 42);
	ck_assert_uint_eq(event->length, IB_MAD_BYTES);
	ck_assert_uint_eq(event->path.dlid, side[1].lid);
	ck_assert_uint_eq(ib_be64_get(side[0].got[got].mad.hdr.tid), tid);
	for (unsigned int i = 0; i < sizeof(request.data); i++)
		ck_assert_uint_eq(side[0].got[got].mad.data[i], (uint8_t)~request.data[i]);
}
END_TEST

START_TEST(callbacks_are_atomic_and_on_the_async_dispatcher)
{
	struct ib_mad request = mad_of(VENDOR, IB_METHOD_GET, 1, 0);
	struct al_mad_send send;
	unsigned int got;

	register_both(VENDOR);
	send = send_of(&request, side[1].lid, 0, 1);
	ck_ok(al_send_mad(side[0].svc, &send));
	got = side_next(&side[1], AL_MAD_RECEIVED, AL_SUCCESS);
	ck_assert_msg(!strncmp(side[1].got[got].thread, "al-event-", 9), "%s",
		      side[1].got[got].thread);
	ck_status(side[1].got[got].slept, AL_INVALID_CONTEXT);
	got = side_next(&side[0], AL_MAD_SENT, AL_SUCCESS);
	ck_assert_msg(!strncmp(side[0].got[got].thread, "al-event-", 9), "%s",
		      side[0].got[got].thread);
}
END_TEST

START_TEST(many_requests_at_once_are_answered_each_with_its_own)
{
	const struct al_mad_event *event;
	struct al_mad_send send;
	struct ib_mad request;
	bool seen[200] = { false };
	unsigned int got;

	side[1].then = reply;
	register_both(VENDOR);
	/* one sender may use half of a service's room, so at most 64 datagrams at a time */
	for (unsigned int round = 0; round < 4; round++) {
		for (unsigned int i = round * 50; i < round * 50 + 50; i++) {
			/* all requests have the same identifier: the library tells them apart */
			request = mad_of(VENDOR, IB_METHOD_GET, 7, (uint8_t)i);
			send = send_of(&request, side[1].lid, LONG_MS, i);
			ck_ok(al_send_mad(side[0].svc, &send));
		}
		for (unsigned int i = 0; i < 50; i++) {
			got = side_next(&side[0], AL_MAD_ANSWERED, AL_SUCCESS);
			event = &side[0].got[got].event;
			ck_assert(event->id < 200 && !seen[event->id]);
			seen[event->id] = true;
			ck_assert_uint_eq(side[0].got[got].mad.data[0], (uint8_t)~event->id);
		}
	}
}
END_TEST

START_TEST(a_request_without_an_answer_is_repeated_and_times_out)
{
	struct ib_mad request = mad_of(VENDOR, IB_METHOD_GET, 9, 1);
	struct al_mad_send send;
	ib_be64 tid;

	register_both(VENDOR);
	send = send_of(&request, side[1].lid, SHORT_MS, 5);
	send.retries = 2;
	ck_ok(al_send_mad(side[0].svc, &send));
	for (int i = 0; i < 3; i++)
		side_next(&side[1], AL_MAD_RECEIVED, AL_SUCCESS);
	ck_assert_uint_eq(side[0].got[side_next(&side[0], AL_MAD_FAILED, AL_TIMEOUT)].event.id, 5);
	ck_assert_ptr_null(side[0].got[0].event.mad);
	/* each attempt has the identifier of the request */
	tid = side[1].got[0].mad.hdr.tid;
	for (int i = 1; i < 3; i++)
		ck_assert_mem_eq(&side[1].got[i].mad.hdr.tid, &tid, sizeof(tid));
	ck_assert_uint_eq(side[1].num, 3);
	ck_assert_uint_eq(side[0].num, 1);
}
END_TEST

/*
 * What a snapshot tells of the service that a side has on class VENDOR. An agent's object has a
 * handle of its own, so the service is found by its HCA and class.
 */
static struct al_snap_mad_svc counts_of(int which)
{
	struct al_snap_mad_svc counts = { 0 };
	const struct al_snap_object *obj;
	struct al_snapshot *snap;
	size_t svc = 0;

	ck_ok(al_snapshot(al, &snap));
	for (obj = snap->objects; obj < snap->objects + snap->num_objects; obj++) {
		if (obj->type != AL_OBJ_MAD_SVC)
			continue;
		ck_assert_uint_lt(svc, snap->num_mad_svcs);
		ck_assert_uint_eq(snap->mad_svcs[svc].id, obj->id);
		if (obj->ca_guid == guids[which] && AL_SNAP_MAD_CLASS(obj->number) == VENDOR)
			counts = snap->mad_svcs[svc];
		svc++;
	}
	ck_assert_uint_eq(svc, snap->num_mad_svcs);
	al_free_snapshot(snap);
	ck_assert_uint_ne(counts.id, 0);
	counts.id = 0;
	return counts;
}

static void ck_counts(int which, const struct al_snap_mad_svc *want)
{
	const struct al_snap_mad_svc got = counts_of(which);

	ck_assert_uint_eq(got.sent, want->sent);
	ck_assert_uint_eq(got.repeated, want->repeated);
	ck_assert_uint_eq(got.answered, want->answered);
	ck_assert_uint_eq(got.timed_out, want->timed_out);
	ck_assert_uint_eq(got.failed, want->failed);
	ck_assert_uint_eq(got.received, want->received);
	ck_assert_uint_eq(got.dropped, want->dropped);
}

START_TEST(a_snapshot_tells_what_each_service_has_sent_and_got)
{
	struct al_mad_svc_init quiet = svc_init(VENDOR + 1);
	struct ib_mad request = mad_of(VENDOR, IB_METHOD_GET, 9, 1);
	struct al_mad_send send;
	al_mad_svc_h third;

	register_both(VENDOR);
	ck_ok(al_reg_mad_svc(side[0].ca, &quiet, &side[0], side_event, &third));
	ck_counts(0, &(struct al_snap_mad_svc){ 0 });
	/* a request that is answered, and one that is repeated twice in vain */
	side[1].then = reply;
	send = send_of(&request, side[1].lid, LONG_MS, 1);
	ck_ok(al_send_mad(side[0].svc, &send));
	side_next(&side[0], AL_MAD_ANSWERED, AL_SUCCESS);
	side_next(&side[1], AL_MAD_RECEIVED, AL_SUCCESS);
	side_next(&side[1], AL_MAD_SENT, AL_SUCCESS);
	side[1].then = NULL;
	send.timeout_ms = SHORT_MS;
	send.retries = 2;
	ck_ok(al_send_mad(side[0].svc, &send));
	side_next(&side[0], AL_MAD_FAILED, AL_TIMEOUT);
	for (int i = 0; i < 3; i++)
		side_next(&side[1], AL_MAD_RECEIVED, AL_SUCCESS);
	ck_counts(0, &(struct al_snap_mad_svc){
			     .sent = 2, .repeated = 2, .answered = 1, .timed_out = 1 });
	ck_counts(1, &(struct al_snap_mad_svc){ .sent = 1, .received = 4 });
	/* one that is cancelled, and one that is refused, which nobody has sent */
	send.timeout_ms = LONG_MS;
	ck_ok(al_send_mad(side[0].svc, &send));
	ck_ok(al_cancel_mad(side[0].svc, send.id));
	side_next(&side[0], AL_MAD_FAILED, AL_CANCELLED);
	side_next(&side[1], AL_MAD_RECEIVED, AL_SUCCESS);
	send.path.port_num = 2;
	ck_status(al_send_mad(side[0].svc, &send), AL_INVALID_PORT);
	ck_counts(0,
		  &(struct al_snap_mad_svc){
			  .sent = 3, .repeated = 2, .answered = 1, .timed_out = 1, .failed = 1 });
	/* what a service has done is forgotten with it */
	ck_ok(al_dereg_mad_svc(side[0].svc, AL_DESTROY_SYNC, NULL));
	side_register(&side[0], &(struct al_mad_svc_init){
					.port_num = 1, .mgmt_class = VENDOR, .class_version = 1 });
	ck_counts(0, &(struct al_snap_mad_svc){ 0 });
}
END_TEST

/* One sender has half of a service's room. */
START_TEST(a_snapshot_tells_what_was_dropped_for_want_of_room)
{
	const uint32_t room = AL_MAD_RECEIVES_MAX / 2, more = 5;
	struct al_mad_svc_init init = svc_init(VENDOR);
	struct ib_mad request = mad_of(VENDOR, IB_METHOD_SEND, 9, 1);
	struct timespec limit = test_deadline();
	struct al_snap_mad_svc counts;
	struct al_mad_send send;
	al_channel_h channel;

	side_register(&side[0], &init);
	ck_ok(al_create_channel(al, NULL, &channel));
	init.channel = channel; /* which nobody reads */
	ck_ok(al_reg_mad_svc(side[1].ca, &init, &side[1], NULL, &side[1].svc));
	send = send_of(&request, side[1].lid, 0, 1);
	for (uint32_t i = 0; i < room + more; i++) {
		ck_ok(al_send_mad(side[0].svc, &send));
		side_next(&side[0], AL_MAD_SENT, AL_SUCCESS);
	}
	do {
		counts = counts_of(1);
		ck_assert_msg(!test_expired(&limit), "%u datagrams did not arrive", room + more);
	} while (counts.received + counts.dropped < room + more);
	ck_counts(0, &(struct al_snap_mad_svc){ .sent = room + more });
	ck_counts(1, &(struct al_snap_mad_svc){ .received = room, .dropped = more });
}
END_TEST

START_TEST(deregistration_ends_outstanding_sends_without_an_event)
{
	struct ib_mad request = mad_of(VENDOR, IB_METHOD_GET, 9, 1);
	struct al_mad_send send;
	sem_t ended;

	sem_init(&ended, 0, 0);
	register_both(VENDOR);
	send = send_of(&request, side[1].lid, LONG_MS, 0);
	/* fewer than one sender's share of the far service's room: the last request must arrive */
	for (send.id = 0; send.id < 50; send.id++)
		ck_ok(al_send_mad(side[0].svc, &send));
	ck_ok(al_dereg_mad_svc(side[0].svc, test_post, &ended));
	ck_status(al_send_mad(side[0].svc, &send), AL_INVALID_HANDLE);
	ck_status(al_cancel_mad(side[0].svc, 1), AL_INVALID_HANDLE);
	test_wait(&ended);
	ck_assert_uint_eq(side[0].num, 0);
	/* the port still works */
	side[1].then = reply;
	side_register(&side[0], &(struct al_mad_svc_init){
					.port_num = 1, .mgmt_class = VENDOR, .class_version = 1 });
	send.id = 7;
	ck_ok(al_send_mad(side[0].svc, &send));
	ck_assert_uint_eq(side[0].got[side_next(&side[0], AL_MAD_ANSWERED, AL_SUCCESS)].event.id,
			  7);
}
END_TEST

static atomic_int ended_by_callback;
static sem_t ended;

static void end_self(struct side *s, const struct al_mad_event *event)
{
	(void)event;
	ended_by_callback = al_dereg_mad_svc(s->svc, test_post, &ended);
}

START_TEST(a_service_may_end_itself_in_its_callback)
{
	struct ib_mad request = mad_of(VENDOR, IB_METHOD_SEND, 9, 1);
	struct al_mad_send send;

	sem_init(&ended, 0, 0);
	ended_by_callback = -1;
	side[1].then = end_self;
	register_both(VENDOR);
	send = send_of(&request, side[1].lid, 0, 0);
	for (int i = 0; i < 10; i++)
		ck_ok(al_send_mad(side[0].svc, &send));
	test_wait(&ended);
	ck_assert_int_eq(ended_by_callback, AL_SUCCESS);
	ck_assert_uint_eq(side[1].num, 1);
}
END_TEST

/* _i: announced, or the hardware is gone */
START_TEST(a_removal_fails_outstanding_sends_and_leaves_the_handle_dead)
{
	const uint32_t flags = _i; /* CI_HCA_GONE */
	struct ib_mad request = mad_of(VENDOR, IB_METHOD_GET, 9, 1);
	struct al_mad_send send;
	struct ib_ca_attr attr;
	bool seen[40] = { false };
	al_mad_svc_h late;
	uint64_t id;

	al_set_log(test_ignore_log, NULL);
	register_both(VENDOR);
	send = send_of(&request, side[1].lid, LONG_MS, 0);
	for (send.id = 0; send.id < 40; send.id++)
		ck_ok(al_send_mad(side[0].svc, &send));
	ck_ok(al_vendor_call(side[0].ca, SOFT_REMOVE, &flags, sizeof(flags), NULL, NULL));
	for (int i = 0; i < 40; i++) {
		id = side[0].got[side_next(&side[0], AL_MAD_FAILED, AL_CA_REMOVED)].event.id;
		ck_assert(id < 40 && !seen[id]);
		seen[id] = true;
	}
	for (struct timespec limit = test_deadline();
	     al_query_ca(side[0].ca, &attr) != AL_CA_REMOVED;)
		ck_assert(!test_expired(&limit));
	ck_status(al_send_mad(side[0].svc, &send), AL_CA_REMOVED);
	ck_status(al_cancel_mad(side[0].svc, 1), AL_NOT_FOUND);
	ck_status(al_reg_mad_svc(side[0].ca,
				 &(struct al_mad_svc_init){
					 .port_num = 1, .mgmt_class = VENDOR, .class_version = 1 },
				 NULL, side_event, &late),
		  AL_CA_REMOVED);
	ck_ok(al_dereg_mad_svc(side[0].svc, AL_DESTROY_SYNC, NULL));
	ck_assert_uint_eq(side[0].num, 40);
	if (test_in_user_role()) /* the agent's modules are not the client's to unload */
		return;
	/* the removal runs on a thread of the module, and the thread ends with the module */
	ck_ok(al_close_ca(side[0].ca, AL_DESTROY_SYNC, NULL));
	ck_ok(al_close_ca(side[1].ca, AL_DESTROY_SYNC, NULL));
	for (struct timespec limit = test_deadline();
	     al_unload_module(al, "soft", AL_UNLOAD_REMOVE);)
		ck_assert(!test_expired(&limit));
}
END_TEST

static sem_t let_go;

static void hang(struct side *s, const struct al_mad_event *event)
{
	(void)event;
	sem_post(&s->sem);
	while (sem_wait(&let_go))
		;
}

START_TEST(a_callback_that_hangs_stops_no_other_hca)
{
	struct ib_mad request = mad_of(VENDOR, IB_METHOD_GET, 9, 1);
	struct al_mad_send send;

	sem_init(&let_go, 0, 0);
	side[1].then = hang;
	register_both(VENDOR);
	send = send_of(&request, side[1].lid, SHORT_MS, 1);
	ck_ok(al_send_mad(side[0].svc, &send));
	test_wait(&side[1].sem);
	/* completions and time-outs continue */
	side_next(&side[0], AL_MAD_FAILED, AL_TIMEOUT);
	ck_ok(al_send_mad(side[0].svc, &send));
	side_next(&side[0], AL_MAD_FAILED, AL_TIMEOUT);
	side[1].then = NULL;
	sem_post(&let_go);
	ck_ok(al_dereg_mad_svc(side[1].svc, AL_DESTROY_SYNC, NULL));
}
END_TEST

START_TEST(the_librarys_own_objects_belong_to_no_opening)
{
	struct al_qp_init qp = { .qp_type = IB_QPT_GSI, .port_num = 1, .cap = { 1, 1, 1, 1, 0 } };
	struct al_cq_init cq = { .cqe = 4 };
	struct al_snapshot *snap;
	al_qp_h made;
	al_pd_h pd;

	ck_ok(al_alloc_pd(side[0].ca, NULL, &pd));
	ck_ok(al_create_cq(pd, &cq, NULL, NULL, NULL, &qp.send_cq));
	qp.recv_cq = qp.send_cq;
	register_both(VENDOR);
	ck_ok(al_snapshot(al, &snap));
	for (size_t i = 0; i < snap->num_objects; i++)
		ck_assert(snap->objects[i].type != AL_OBJ_QP && snap->objects[i].type != AL_OBJ_MR);
	for (size_t i = 0; i < snap->num_cas; i++) {
		ck_assert_uint_eq(snap->cas[i].opens, 1);
		for (size_t n = 0; n < snap->cas[i].num_counts; n++)
			ck_assert(snap->cas[i].counts[n].type != AL_OBJ_QP ||
				  !snap->cas[i].counts[n].high);
	}
	al_free_snapshot(snap);
	/* a channel driver can not create the special queue pairs that the library uses */
	ck_status(al_create_qp(pd, &qp, NULL, NULL, &made), AL_RESOURCE_BUSY);
	qp.qp_type = IB_QPT_SMI;
	ck_status(al_create_qp(pd, &qp, NULL, NULL, &made), AL_RESOURCE_BUSY);
	ck_assert_uint_eq(test_count(al, AL_OBJ_MAD_SVC), 2);
}
END_TEST

/* _i: of QP0 or QP1 */
START_TEST(an_alias_of_a_special_queue_pair_comes_and_goes_beside_the_services)
{
	const uint8_t mgmt_class = _i ? VENDOR : IB_CLASS_SUBN_LID;
	const ib_qp_type type = _i ? IB_QPT_GSI : IB_QPT_SMI;
	struct ib_mad request = mad_of(mgmt_class, IB_METHOD_GET, 1, 0);
	struct al_mad_send send;
	struct al_qp_init init;
	struct ib_qp_attr attr;
	al_qp_h qp[2];
	uint32_t number;

	/* the first thing that anybody wants of the port */
	ck_ok(al_get_spl_qp(side[0].ca, 1, type, NULL, NULL, &qp[0]));
	ck_ok(al_query_qp(qp[0], &attr, &init));
	ck_assert_int_eq(attr.qp_state, IB_QPS_RTS);
	ck_assert_uint_eq(attr.port_num, 1);
	ck_assert_uint_eq(attr.qkey, _i ? IB_QKEY_WELL_KNOWN : 0);
	ck_assert_uint_ge(attr.cap.max_recv_wr, 32);
	ck_assert_uint_ge(attr.cap.max_send_wr, 32);
	ck_assert_int_eq(init.qp_type, type);
	ck_ok(al_qp_num(qp[0], &number));
	ck_assert_uint_eq(number, (uint32_t)_i);
	side[1].then = reply;
	register_both(mgmt_class);
	send = send_of(&request, side[1].lid, LONG_MS, 1);
	for (int i = 0; i < 3; i++) {
		ck_ok(al_send_mad(side[0].svc, &send));
		ck_ok(al_get_spl_qp(side[0].ca, 1, type, NULL, NULL, &qp[1]));
		side_next(&side[0], AL_MAD_ANSWERED, AL_SUCCESS);
		ck_ok(al_send_mad(side[0].svc, &send));
		ck_ok(al_destroy_qp(qp[i > 0], AL_DESTROY_SYNC, NULL));
		side_next(&side[0], AL_MAD_ANSWERED, AL_SUCCESS);
		if (!i)
			qp[0] = qp[1];
	}
	ck_ok(al_dereg_mad_svc(side[0].svc, AL_DESTROY_SYNC, NULL));
	ck_ok(al_query_qp(qp[0], &attr, NULL));
	ck_assert_int_eq(attr.qp_state, IB_QPS_RTS);
}
END_TEST

START_TEST(a_port_whose_queue_pair_another_has_is_not_served)
{
	struct al_mad_svc_init init = svc_init(VENDOR);
	struct al_qp_init qp = { .qp_type = IB_QPT_GSI, .port_num = 1, .cap = { 1, 1, 1, 1, 0 } };
	struct al_cq_init cq = { .cqe = 4 };
	al_qp_h own, alias;
	al_pd_h pd;

	ck_ok(al_alloc_pd(side[0].ca, NULL, &pd));
	ck_ok(al_create_cq(pd, &cq, NULL, NULL, NULL, &qp.send_cq));
	qp.recv_cq = qp.send_cq;
	ck_ok(al_create_qp(pd, &qp, NULL, NULL, &own));
	ck_status(al_reg_mad_svc(side[0].ca, &init, &side[0], side_event, &side[0].svc),
		  AL_RESOURCE_BUSY);
	ck_status(al_get_spl_qp(side[0].ca, 1, IB_QPT_SMI, NULL, NULL, &alias), AL_RESOURCE_BUSY);
	ck_ok(al_destroy_qp(own, AL_DESTROY_SYNC, NULL));
	ck_ok(al_get_spl_qp(side[0].ca, 1, IB_QPT_SMI, NULL, NULL, &alias));
	/* the port is served from the first alias on */
	ck_status(al_create_qp(pd, &qp, NULL, NULL, &own), AL_RESOURCE_BUSY);
	ck_ok(al_destroy_qp(alias, AL_DESTROY_SYNC, NULL));
	ck_status(al_create_qp(pd, &qp, NULL, NULL, &own), AL_RESOURCE_BUSY);
	side_register(&side[0], &init);
}
END_TEST

#define ADVICE "the library in a forked child"

START_TEST(a_forked_child_has_no_service_and_may_register_afresh)
{
	struct ib_mad request = mad_of(VENDOR, IB_METHOD_GET, 1, 0);
	struct al_mad_send send;
	int status;
	pid_t pid;

	side[1].then = reply;
	register_both(VENDOR);
	send = send_of(&request, side[1].lid, LONG_MS, 1);
	ck_ok(al_send_mad(side[0].svc, &send));
	side_next(&side[0], AL_MAD_ANSWERED, AL_SUCCESS);
	pid = fork();
	if (!pid) {
		if (al_send_mad(side[0].svc, &send) != AL_INVALID_HANDLE)
			_exit(1);
		set_up();
		side[1].then = reply;
		/* an agent's HCAs are the parent's, too */
		request.hdr.mgmt_class = test_in_user_role() ? VENDOR + 1 : VENDOR;
		register_both(request.hdr.mgmt_class);
		send = send_of(&request, side[1].lid, LONG_MS, 1);
		if (al_send_mad(side[0].svc, &send))
			_exit(2);
		test_wait(&side[0].sem);
		_exit(side[0].got[0].event.type == AL_MAD_ANSWERED ? 0 : 3);
	}
	ck_assert_int_gt(pid, 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFEXITED(status) && !WEXITSTATUS(status), ADVICE ": %#x", status);
	ck_ok(al_send_mad(side[0].svc, &send));
	side_next(&side[0], AL_MAD_ANSWERED, AL_SUCCESS);
}
END_TEST

/* Takes an event that has to come through a channel. */
static void next_event(al_channel_h channel, void *context)
{
	struct timespec limit = test_deadline();
	struct al_channel_event event;
	al_status status;

	while ((status = al_channel_next(channel, &event)) == AL_NOT_FOUND)
		ck_assert_msg(!test_expired(&limit), "no event came");
	ck_ok(status);
	ck_assert_int_eq(event.type, AL_CHANNEL_MAD);
	ck_assert_ptr_eq(event.context, context);
}

static bool readable(al_channel_h channel)
{
	struct pollfd fd = { .events = POLLIN };

	ck_ok(al_channel_fd(channel, &fd.fd));
	return poll(&fd, 1, 0) == 1;
}

START_TEST(a_channel_is_readable_as_long_as_the_service_has_events)
{
	struct al_mad_svc_init init = svc_init(VENDOR);
	struct ib_mad request, got;
	struct al_mad_event event;
	struct al_mad_send send;
	al_channel_h channel;

	ck_ok(al_create_channel(al, NULL, &channel));
	side_register(&side[0], &init);
	init.channel = channel;
	ck_ok(al_reg_mad_svc(side[1].ca, &init, &side[1], NULL, &side[1].svc));
	ck_assert(!readable(channel));
	ck_status(al_mad_next(side[1].svc, &got, sizeof(got), &event), AL_NOT_FOUND);
	for (uint8_t i = 0; i < 3; i++) {
		request = mad_of(VENDOR, IB_METHOD_SEND, i, i);
		send = send_of(&request, side[1].lid, 0, i);
		ck_ok(al_send_mad(side[0].svc, &send));
		side_next(&side[0], AL_MAD_SENT, AL_SUCCESS);
		next_event(channel, &side[1]);
		if (i == 2)
			break;
		/* if the buffer is too short, the call returns the length, and the datagram stays */
		ck_status(al_mad_next(side[1].svc, &got, sizeof(got) - 1, &event),
			  AL_BUFFER_TOO_SMALL);
		ck_assert_uint_eq(event.length, IB_MAD_BYTES);
		ck_assert_int_eq(event.type, AL_MAD_RECEIVED);
		ck_assert(readable(channel));
		next_event(channel, &side[1]);
		if (i)
			continue;
		ck_ok(al_mad_next(side[1].svc, &got, sizeof(got), &event));
		ck_assert(!readable(channel));
		ck_assert_ptr_eq(event.mad, &got);
		ck_assert_mem_eq(got.data, request.data, sizeof(got.data));
	}
	/* two events are left */
	ck_ok(al_mad_next(side[1].svc, &got, sizeof(got), &event));
	ck_assert_uint_eq(ib_be64_get(got.hdr.tid), 1);
	ck_assert(readable(channel));
	ck_ok(al_mad_next(side[1].svc, &got, sizeof(got), &event));
	ck_assert_uint_eq(ib_be64_get(got.hdr.tid), 2);
	ck_assert(!readable(channel));
	ck_status(al_mad_next(side[1].svc, &got, sizeof(got), &event), AL_NOT_FOUND);
	ck_status(al_mad_next(side[0].svc, &got, sizeof(got), &event), AL_INVALID_PARAMETER);
	ck_status(al_mad_next(side[1].svc, NULL, 1, &event), AL_INVALID_PARAMETER);
	ck_status(al_mad_next(side[1].svc, &got, 1, NULL), AL_INVALID_PARAMETER);
	/* the service uses the channel, and ends with events that no reader has taken */
	send = send_of(&request, side[1].lid, 0, 9);
	ck_ok(al_send_mad(side[0].svc, &send));
	next_event(channel, &side[1]);
	ck_status(al_destroy_channel(channel, NULL, NULL), AL_RESOURCE_BUSY);
	ck_ok(al_dereg_mad_svc(side[1].svc, AL_DESTROY_SYNC, NULL));
	ck_assert(!readable(channel));
	ck_ok(al_destroy_channel(channel, AL_DESTROY_SYNC, NULL));
}
END_TEST

/* ------------------------------------------------------------ long datagrams */

#define LONG_HEAD offsetof(struct ib_vendor_mad, data)

/* A datagram in class VENDOR_2 of any length; the data are made of the seed. */
static uint8_t *long_mad(uint8_t method, size_t length, uint8_t seed)
{
	struct ib_mad head = mad_of(VENDOR_2, method, 0x5555555500000001, 0);
	uint8_t *mad = calloc(1, length);

	ck_assert_ptr_nonnull(mad);
	memset(head.data, 0, sizeof(head.data));
	memcpy(mad, &head, LONG_HEAD);
	for (size_t i = LONG_HEAD; i < length; i++)
		mad[i] = (uint8_t)(seed + i * 13 + i / 251);
	return mad;
}

/* Returns the length of a received datagram whose data are as long_mad() makes them; 0: the data differ. */
static size_t intact(const struct al_mad_event *event, uint8_t seed)
{
	const uint8_t *mad = event->mad;

	for (size_t i = LONG_HEAD; i < event->length; i++)
		if (mad[i] != (uint8_t)(seed + i * 13 + i / 251))
			return 0;
	return event->length;
}

static atomic_size_t intact_bytes[2];
static size_t answer_bytes;

static void reply_long(struct side *s, const struct al_mad_event *event)
{
	struct al_mad_send send = { .remote_qpn = event->src_qp,
				    .remote_qkey = IB_QKEY_WELL_KNOWN,
				    .length = (uint32_t)answer_bytes,
				    .path = event->path };
	uint8_t *mad;

	if (event->type != AL_MAD_RECEIVED)
		return;
	intact_bytes[1] = intact(event, 3);
	mad = long_mad(IB_METHOD_GET_RESP, answer_bytes, 4);
	memcpy(mad + offsetof(struct ib_mad_hdr, tid),
	       (const uint8_t *)event->mad + offsetof(struct ib_mad_hdr, tid), sizeof(ib_be64));
	send.mad = mad;
	al_send_mad(s->svc, &send);
	free(mad);
}

static void take_long(struct side *s, const struct al_mad_event *event)
{
	(void)s;
	if (event->type == AL_MAD_ANSWERED)
		intact_bytes[0] = intact(event, 4);
}

/* _i: a short request and a long response, a long request and a short response, or both long */
START_TEST(long_datagrams_go_both_ways)
{
	static const size_t bytes[3][2] = { { 256, 100000 }, { 5000, 256 }, { 66000, 66001 } };
	struct al_mad_svc_init init = svc_init(VENDOR_2);
	struct al_mad_send send = send_of(&(struct ib_mad){ 0 }, side[1].lid, LONG_MS, 42);
	unsigned int got;
	uint8_t *mad;

	init.rmpp = true;
	answer_bytes = bytes[_i][1];
	intact_bytes[0] = intact_bytes[1] = 0;
	side[0].then = take_long;
	side[1].then = reply_long;
	for (int i = 0; i < 2; i++)
		side_register(&side[i], &init);
	mad = long_mad(IB_METHOD_GET, bytes[_i][0], 3);
	send.mad = mad;
	send.remote_qpn = 1;
	send.remote_qkey = IB_QKEY_WELL_KNOWN;
	send.length = (uint32_t)bytes[_i][0];
	ck_ok(al_send_mad(side[0].svc, &send));
	free(mad); /* the library has copied the datagram */
	got = side_next(&side[0], AL_MAD_ANSWERED, AL_SUCCESS);
	ck_assert_uint_eq(side[0].got[got].event.id, 42);
	ck_assert_uint_eq(ib_be64_get(side[0].got[got].mad.hdr.tid), 0x5555555500000001);
	ck_assert_uint_eq(intact_bytes[1], bytes[_i][0]);
	ck_assert_uint_eq(intact_bytes[0], bytes[_i][1]);
	side_next(&side[1], AL_MAD_RECEIVED, AL_SUCCESS);
	side_next(&side[1], AL_MAD_SENT, AL_SUCCESS);
	ck_assert_uint_eq(side[0].num, 1);
	ck_assert_uint_eq(side[1].num, 2);
}
END_TEST

START_TEST(a_long_datagram_waits_in_its_service_for_a_buffer_that_is_long_enough)
{
	struct al_mad_svc_init init = svc_init(VENDOR_2);
	struct al_mad_send send = send_of(&(struct ib_mad){ 0 }, side[1].lid, 0, 1);
	struct al_mad_event event;
	al_channel_h channel;
	static uint8_t got[3000];
	uint8_t *mad;

	init.rmpp = true;
	side_register(&side[0], &init);
	ck_ok(al_create_channel(al, NULL, &channel));
	init.channel = channel;
	ck_ok(al_reg_mad_svc(side[1].ca, &init, &side[1], NULL, &side[1].svc));
	mad = long_mad(IB_METHOD_SEND, sizeof(got), 9);
	send.mad = mad;
	send.remote_qpn = 1;
	send.remote_qkey = IB_QKEY_WELL_KNOWN;
	send.length = sizeof(got);
	ck_ok(al_send_mad(side[0].svc, &send));
	side_next(&side[0], AL_MAD_SENT, AL_SUCCESS);
	next_event(channel, &side[1]);
	ck_status(al_mad_next(side[1].svc, got, 256, &event), AL_BUFFER_TOO_SMALL);
	ck_assert_uint_eq(event.length, sizeof(got));
	ck_ok(al_mad_next(side[1].svc, got, sizeof(got), &event));
	ck_assert_uint_eq(intact(&event, 9), sizeof(got));
	ck_assert_mem_eq(got + LONG_HEAD, mad + LONG_HEAD, sizeof(got) - LONG_HEAD);
	/* a datagram that the client does not fetch is freed with its service */
	ck_ok(al_send_mad(side[0].svc, &send));
	side_next(&side[0], AL_MAD_SENT, AL_SUCCESS);
	next_event(channel, &side[1]);
	free(mad);
}
END_TEST

/* _i: the transfer ends because the send is cancelled, the service ends, or the peer's service ends */
START_TEST(a_transfer_that_is_broken_off_leaves_nothing)
{
	struct al_mad_svc_init init = svc_init(VENDOR_2);
	struct al_mad_send send = send_of(&(struct ib_mad){ 0 }, side[1].lid, LONG_MS, 1);
	uint8_t *mad = long_mad(IB_METHOD_GET, 1000000, 3);

	init.rmpp = true;
	for (int i = 0; i < 2; i++)
		side_register(&side[i], &init);
	send.mad = mad;
	send.remote_qpn = 1;
	send.remote_qkey = IB_QKEY_WELL_KNOWN;
	send.length = 1000000;
	ck_ok(al_send_mad(side[0].svc, &send));
	free(mad);
	if (_i == 0) {
		ck_ok(al_cancel_mad(side[0].svc, 1));
		side_next(&side[0], AL_MAD_FAILED, AL_CANCELLED);
	} else {
		ck_ok(al_dereg_mad_svc(side[_i - 1].svc, AL_DESTROY_SYNC, NULL));
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("mad");
	TCase *tc = tcase_create("over the software HCA");

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_loop_test(tc, a_request_is_answered_between_two_services, 0, 2);
	tcase_add_test(tc, callbacks_are_atomic_and_on_the_async_dispatcher);
	tcase_add_test(tc, many_requests_at_once_are_answered_each_with_its_own);
	tcase_add_test(tc, a_request_without_an_answer_is_repeated_and_times_out);
	tcase_add_test(tc, a_snapshot_tells_what_each_service_has_sent_and_got);
	tcase_add_test(tc, a_snapshot_tells_what_was_dropped_for_want_of_room);
	tcase_add_test(tc, deregistration_ends_outstanding_sends_without_an_event);
	tcase_add_test(tc, a_service_may_end_itself_in_its_callback);
	tcase_add_loop_test(tc, a_removal_fails_outstanding_sends_and_leaves_the_handle_dead, 0, 2);
	tcase_add_test(tc, a_callback_that_hangs_stops_no_other_hca);
	tcase_add_test(tc, the_librarys_own_objects_belong_to_no_opening);
	tcase_add_loop_test(tc, an_alias_of_a_special_queue_pair_comes_and_goes_beside_the_services,
			    0, 2);
	tcase_add_test(tc, a_port_whose_queue_pair_another_has_is_not_served);
	tcase_add_test(tc, a_channel_is_readable_as_long_as_the_service_has_events);
	tcase_add_loop_test(tc, long_datagrams_go_both_ways, 0, 3);
	tcase_add_test(tc, a_long_datagram_waits_in_its_service_for_a_buffer_that_is_long_enough);
	tcase_add_loop_test(tc, a_transfer_that_is_broken_off_leaves_nothing, 0, 3);
	if (FORK_IS_SAFE && !(THREADS_STAY && test_in_user_role()))
		tcase_add_test(tc, a_forked_child_has_no_service_and_may_register_afresh);
	else
		printf("SKIP: the test of fork: the sanitizer does not survive one beside these threads\n");
	suite_add_tcase(suite, tc);
	return test_run(suite);
}
