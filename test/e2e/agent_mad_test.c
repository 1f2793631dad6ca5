/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * MAD services of an agent's clients, where a client differs from a program with HCAs of its own:
 * rights, records that lie, a client that fetches nothing, one that dies, and an agent that is
 * lost. What services do for each client is the business of test/unit/al/mgmt, in every role.
 */
#include "test/e2e/agent_door.h"

#include <stdatomic.h>

#include <iba/ib_mad.h>

#define VENDOR   0x0a
#define VENDOR_2 0x31 /* has an OUI and RMPP */

static uint64_t guids[2];

struct end {
	al_ca_h ca;
	al_mad_svc_h svc;
	al_channel_h channel;
	uint16_t lid;
};

static struct end open_end(al_h al, int which)
{
	struct ib_port_attr port;
	struct end end = { 0 };

	test_guids(al, guids, 2);
	end.ca = test_open_ca(al, guids[which]);
	ck_ok(al_query_port(end.ca, 1, &port));
	end.lid = port.lid;
	ck_ok(al_create_channel(al, NULL, &end.channel));
	return end;
}

static struct al_mad_svc_init init_of(const struct end *end, uint8_t mgmt_class, uint64_t methods)
{
	return (struct al_mad_svc_init){ .port_num = 1,
					 .mgmt_class = mgmt_class,
					 .class_version = 1,
					 .rmpp = mgmt_class == VENDOR_2,
					 .methods = { methods },
					 .channel = end->channel };
}

static void serve(struct end *end, uint8_t mgmt_class, uint64_t methods)
{
	struct al_mad_svc_init init = init_of(end, mgmt_class, methods);

	ck_ok(al_reg_mad_svc(end->ca, &init, end, NULL, &end->svc));
}

static struct ib_mad mad_of(uint8_t mgmt_class, uint8_t method, uint16_t attribute)
{
	return (struct ib_mad){ .hdr = { .base_version = IB_MAD_BASE_VERSION,
					 .mgmt_class = mgmt_class,
					 .class_version = 1,
					 .method = method,
					 .attr_id = ib_be16_of(attribute) } };
}

static al_status send_to(const struct end *from, uint16_t dlid, const void *mad, uint32_t length,
			 uint32_t timeout_ms, uint64_t id)
{
	const uint8_t mgmt_class = ((const struct ib_mad_hdr *)mad)->mgmt_class;
	const bool qp0 = mgmt_class == IB_CLASS_SUBN_LID || mgmt_class == IB_CLASS_SUBN_DIR;
	const struct al_mad_send send = { .mad = mad,
					  .length = length,
					  .remote_qpn = !qp0,
					  .remote_qkey = qp0 ? 0 : IB_QKEY_WELL_KNOWN,
					  .timeout_ms = timeout_ms,
					  .path = { .dlid = dlid, .port_num = 1 },
					  .id = id };

	return al_send_mad(from->svc, &send);
}

/* Takes the next event, which has to come. */
static struct al_mad_event next_event(const struct end *end, void *mad, uint32_t size)
{
	struct timespec limit = test_deadline();
	struct pollfd readable = { .events = POLLIN };
	struct al_channel_event told;
	struct al_mad_event event;
	al_status status;

	ck_ok(al_channel_fd(end->channel, &readable.fd));
	while ((status = al_mad_next(end->svc, mad, size, &event)) == AL_NOT_FOUND) {
		ck_assert_msg(!test_expired(&limit), "no event came");
		poll(&readable, 1, 1000);
		al_channel_next(end->channel, &told);
	}
	ck_ok(status);
	return event;
}

static void expect_event(const struct end *end, al_mad_event_type type, al_status status,
			 uint64_t id)
{
	uint8_t mad[IB_MAD_BYTES];
	const struct al_mad_event event = next_event(end, mad, sizeof(mad));

	ck_assert_msg(event.type == type && event.status == status, "\"%s\", %s",
		      al_mad_event_type_str(event.type), al_status_name(event.status));
	ck_assert_uint_eq(event.id, id);
}

/* The bytes of queues, and of long datagrams, that all clients are charged. */
static uint64_t rings(al_h al)
{
	struct al_snapshot *snap;
	uint64_t now = 0;

	ck_ok(al_snapshot(al, &snap));
	for (size_t i = 0; i < snap->num_clients; i++)
		now += snap->clients[i].use[AL_RESOURCE_RINGS].now;
	al_free_snapshot(snap);
	return now;
}

static void wait_for_rings(al_h al, uint64_t want)
{
	struct timespec limit = test_deadline();
	uint64_t now;

	while ((now = rings(al)) != want)
		ck_assert_msg(!test_expired(&limit), "%llu bytes, not %llu",
			      (unsigned long long)now, (unsigned long long)want);
}

/* ------------------------------------------------------------------ rights */

#define GET_SET (1 << IB_METHOD_GET | 1 << IB_METHOD_SET)
#define REFUSED false
#define ALLOWED true

static const struct {
	uint8_t mgmt_class;
	uint64_t methods;
	bool allowed;
} registrations[] = {
	{ IB_CLASS_SUBN_LID, 0, REFUSED },
	{ IB_CLASS_SUBN_DIR, 0, REFUSED },
	{ IB_CLASS_SUBN_LID, GET_SET, REFUSED },
	{ IB_CLASS_SUBN_ADM, 0, ALLOWED },
	{ IB_CLASS_SUBN_ADM, 1 << IB_METHOD_GET, REFUSED },
	{ IB_CLASS_PERF, 0, ALLOWED },
	{ IB_CLASS_PERF, GET_SET, REFUSED },
	{ IB_CLASS_BM, GET_SET, REFUSED },
	{ IB_CLASS_DEV_MGMT, GET_SET, REFUSED },
	{ IB_CLASS_CM, 1 << IB_METHOD_SEND, REFUSED },
	{ IB_CLASS_SNMP, 1 << IB_METHOD_SEND, REFUSED },
	{ IB_CLASS_DEV_ADM, GET_SET, REFUSED },
	{ IB_CLASS_CC, GET_SET, REFUSED },
	{ IB_CLASS_VENDOR_1_FIRST, GET_SET, ALLOWED },
	{ IB_CLASS_VENDOR_1_LAST, GET_SET, ALLOWED },
	{ IB_CLASS_VENDOR_2_FIRST, GET_SET, ALLOWED },
	{ IB_CLASS_VENDOR_2_LAST, GET_SET, ALLOWED },
};

static const struct {
	uint8_t mgmt_class, method;
	uint16_t attribute;
	bool allowed;
} datagrams[] = {
	{ IB_CLASS_SUBN_ADM, IB_METHOD_GET, IB_SA_PATH_RECORD, ALLOWED },
	{ IB_CLASS_SUBN_ADM, IB_METHOD_GET, IB_SA_SERVICE_RECORD, ALLOWED },
	{ IB_CLASS_SUBN_ADM, IB_METHOD_GET_TABLE, IB_SA_NODE_RECORD, ALLOWED },
	{ IB_CLASS_SUBN_ADM, IB_METHOD_SET, IB_SA_MCMEMBER_RECORD, ALLOWED },
	{ IB_CLASS_SUBN_ADM, IB_METHOD_DELETE, IB_SA_MCMEMBER_RECORD, ALLOWED },
	{ IB_CLASS_SUBN_ADM, IB_METHOD_SET, IB_SA_SERVICE_RECORD, ALLOWED },
	{ IB_CLASS_SUBN_ADM, IB_METHOD_DELETE, IB_SA_SERVICE_RECORD, ALLOWED },
	{ IB_CLASS_SUBN_ADM, IB_METHOD_SET, IB_SA_INFORM_INFO, ALLOWED },
	{ IB_CLASS_SUBN_ADM, IB_METHOD_DELETE, IB_SA_INFORM_INFO, REFUSED },
	{ IB_CLASS_SUBN_ADM, IB_METHOD_SET, IB_SA_GUID_INFO_RECORD, REFUSED },
	{ IB_CLASS_SUBN_ADM, IB_METHOD_DELETE, IB_SA_GUID_INFO_RECORD, REFUSED },
	{ IB_CLASS_SUBN_ADM, IB_METHOD_SET, IB_SA_PORT_INFO_RECORD, REFUSED },
	{ IB_CLASS_SUBN_ADM, IB_METHOD_GET_RESP, IB_SA_PATH_RECORD, REFUSED },
	{ IB_CLASS_SUBN_ADM, IB_METHOD_REPORT, IB_SA_NOTICE, REFUSED },
	{ IB_CLASS_PERF, IB_METHOD_GET, 0x12, ALLOWED },
	{ IB_CLASS_PERF, IB_METHOD_SET, 0x12, REFUSED },
	{ IB_CLASS_PERF, IB_METHOD_GET_RESP, 0x12, REFUSED },
	{ IB_CLASS_DEV_MGMT, IB_METHOD_GET, 0x10, ALLOWED },
	{ IB_CLASS_DEV_MGMT, IB_METHOD_SET, 1, REFUSED },
	{ IB_CLASS_CM, IB_METHOD_SEND, 0x10, REFUSED },
	{ IB_CLASS_CC, IB_METHOD_GET, 1, REFUSED },
	{ VENDOR, IB_METHOD_SET, 1, ALLOWED },
	{ VENDOR, IB_METHOD_GET_RESP, 1, ALLOWED },
	{ VENDOR_2, IB_METHOD_SET, 1, ALLOWED },
};

static const struct {
	uint8_t mgmt_class, method;
} of_subnet_managers[] = {
	{ IB_CLASS_SUBN_LID, IB_METHOD_GET },
	{ IB_CLASS_SUBN_LID, IB_METHOD_SET },
	{ IB_CLASS_SUBN_DIR, IB_METHOD_GET },
	{ IB_CLASS_SUBN_DIR, IB_METHOD_SET },
};

/* A port's agents are asked with the right with which a datagram to them is sent. In this subnet
 * they are not in the Access Layer. */
static void try_local(const struct end *end, bool manages)
{
	struct ib_mad mad, answer;

	for (size_t i = 0; i < sizeof(datagrams) / sizeof(datagrams[0]); i++) {
		mad = mad_of(datagrams[i].mgmt_class, datagrams[i].method, datagrams[i].attribute);
		ck_status(al_local_mad(end->ca, 1, &mad, &answer),
			  manages || datagrams[i].allowed ? AL_UNSUPPORTED : AL_PERMISSION);
	}
	for (size_t i = 0; i < sizeof(of_subnet_managers) / sizeof(of_subnet_managers[0]); i++) {
		mad = mad_of(of_subnet_managers[i].mgmt_class, of_subnet_managers[i].method, 0x11);
		ck_status(al_local_mad(end->ca, 1, &mad, &answer),
			  manages ? AL_UNSUPPORTED : AL_PERMISSION);
	}
}

/* Tries what the tables above have, with the right "manage" or without. */
static void try_rights(al_h al, bool manages)
{
	struct end end = open_end(al, 0);
	struct al_mad_svc_init init;
	struct ib_mad mad;
	al_status status;

	for (size_t i = 0; i < sizeof(registrations) / sizeof(registrations[0]); i++) {
		init = init_of(&end, registrations[i].mgmt_class, registrations[i].methods);
		status = al_reg_mad_svc(end.ca, &init, &end, NULL, &end.svc);
		ck_assert_msg(status == (manages || registrations[i].allowed ? AL_SUCCESS
									     : AL_PERMISSION),
			      "service %zu: %s", i, al_status_name(status));
		if (!status)
			ck_ok(al_dereg_mad_svc(end.svc, AL_DESTROY_SYNC, NULL));
	}
	for (size_t i = 0; i < sizeof(datagrams) / sizeof(datagrams[0]); i++) {
		serve(&end, datagrams[i].mgmt_class, 0);
		mad = mad_of(datagrams[i].mgmt_class, datagrams[i].method, datagrams[i].attribute);
		status = send_to(&end, end.lid, &mad, sizeof(mad), 0, i);
		ck_assert_msg(
			status == (manages || datagrams[i].allowed ? AL_SUCCESS : AL_PERMISSION),
			"datagram %zu: %s", i, al_status_name(status));
		ck_ok(al_dereg_mad_svc(end.svc, AL_DESTROY_SYNC, NULL));
	}
	try_local(&end, manages);
}

/* Q_Keys with the highest bit are managers' (IBTA 10.2.5). */
static void try_qkeys(al_h al, bool manages)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_INIT, .port_num = 1 };
	struct test_end end;

	test_make_end(&end, al, guids[0], IB_QPT_UD);
	attr.qkey = 0x80010000;
	ck_status(al_modify_qp(end.qp, &attr,
			       IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY),
		  manages ? AL_SUCCESS : AL_PERMISSION);
	attr.qkey = 0x7fffffff;
	ck_ok(al_modify_qp(end.qp, &attr,
			   manages ? IB_QP_QKEY
				   : IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY));
	test_free_end(&end);
}

static void foreigner(int fd)
{
	al_h al;

	(void)fd;
	ck_assert_int_eq(setresgid(65534, 65534, 65534), 0);
	ck_assert_int_eq(setresuid(65534, 65534, 65534), 0);
	ck_assert_int_eq(prctl(PR_SET_DUMPABLE, 1), 0);
	al = agent_open();
	try_rights(al, false);
	try_qkeys(al, false);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

START_TEST(what_manages_a_subnet_needs_the_right_and_nothing_else_does)
{
	al_h al;

	agent_start("--mode", "666");
	al = agent_open();
	try_rights(al, true);
	try_qkeys(al, true);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	if (geteuid())
		printf("SKIP the half of another user: needs root to become another user\n");
	else
		ck_assert_int_eq(wait_for(agent_client("foreigner", -1)), 0);
	agent_stop();
}
END_TEST

/* ---------------------------------------------------------- hostile records */

static struct SEND_MAD_request send_request(uint64_t svc, uint32_t length, uint32_t offset)
{
	return (struct SEND_MAD_request){ .svc = svc,
					  .length = length,
					  .offset = offset,
					  .remote_qpn = 1,
					  .remote_qkey = IB_QKEY_WELL_KNOWN,
					  .path = { .dlid = 1, .port_num = 1 } };
}

static al_status put_part(const struct client *c, uint64_t svc, uint32_t length, uint32_t offset,
			  uint32_t num)
{
	static uint8_t bytes[AGENT_MAD_BYTES];
	struct SEND_MAD_request request = send_request(svc, length, offset);
	struct ib_mad mad = mad_of(VENDOR_2, IB_METHOD_SEND, 1);

	memset(bytes, 0, sizeof(bytes));
	if (!offset)
		memcpy(bytes, &mad, sizeof(mad));
	return ask(c->line, AGENT_SEND_MAD, &request, num, bytes, 0, NULL, NULL);
}

START_TEST(records_whose_lengths_contradict_are_refused_and_charge_nothing)
{
	struct REG_MAD_SVC_request reg = { .methods = { GET_SET },
					   .port_num = 1,
					   .mgmt_class = VENDOR_2,
					   .class_version = 1,
					   .rmpp = 1 };
	struct MAD_NEXT_answer next;
	struct SEND_MAD_request send;
	struct made_answer made;
	struct client c;
	uint64_t before;
	al_h al;

	agent_start("--mode", "666");
	al = agent_open();
	client_open(&c);
	reg.ca = c.ca;
	reg.rmpp = 2;
	ck_status(ask(c.line, AGENT_REG_MAD_SVC, &reg, 0, NULL, 0, NULL, NULL), AL_AGENT_PROTOCOL);
	reg.rmpp = 1;
	reg.zero = 1;
	ck_status(ask(c.line, AGENT_REG_MAD_SVC, &reg, 0, NULL, 0, NULL, NULL),
		  AL_INVALID_PARAMETER);
	reg.zero = 0;
	reg.port_num = 99;
	ck_status(ask(c.line, AGENT_REG_MAD_SVC, &reg, 0, NULL, 0, NULL, NULL), AL_INVALID_PORT);
	reg.port_num = 1;
	ck_ok(ask(c.line, AGENT_REG_MAD_SVC, &reg, 0, NULL, 0, NULL, &made));
	before = rings(al);

	/* without a header, without bytes, bytes behind the end, a place that is not the next */
	ck_status(put_part(&c, made.handle, 100, 0, 23), AL_INVALID_PARAMETER);
	ck_status(put_part(&c, made.handle, 0, 0, 0), AL_INVALID_PARAMETER);
	ck_status(put_part(&c, made.handle, 100, 0, 101), AL_INVALID_PARAMETER);
	ck_status(put_part(&c, made.handle, 1000, 500, 100), AL_INVALID_PARAMETER);
	ck_status(put_part(&c, made.handle, UINT32_MAX, UINT32_MAX, 1), AL_INVALID_PARAMETER);
	ck_status(put_part(&c, made.handle, 1000, UINT32_MAX - 50, 100), AL_INVALID_PARAMETER);
	ck_status(put_part(&c, made.handle, UINT32_MAX, 0, 100), AL_LIMIT_EXCEEDED);
	ck_assert_uint_eq(rings(al), before);
	ck_ok(put_part(&c, made.handle, 1000, 0, 100));
	ck_assert_uint_eq(rings(al), before + 1000);
	ck_status(put_part(&c, made.handle, 1001, 100, 100), AL_INVALID_PARAMETER);
	ck_status(put_part(&c, made.handle, 1000, 99, 100), AL_INVALID_PARAMETER);
	ck_status(put_part(&c, made.handle, 1000, 100, 901), AL_INVALID_PARAMETER);
	ck_ok(put_part(&c, made.handle, 1000, 100, 100));
	/* another one begins, and the first is forgotten */
	ck_ok(put_part(&c, made.handle, 2000, 0, 100));
	ck_assert_uint_eq(rings(al), before + 2000);
	ck_status(put_part(&c, made.handle, 1000, 200, 100), AL_INVALID_PARAMETER);

	send = send_request(made.handle, sizeof(struct ib_mad), 0);
	*(uint8_t *)&send.path.is_global = 2;
	ck_status(ask(c.line, AGENT_SEND_MAD, &send, 0, NULL, 0, NULL, NULL), AL_AGENT_PROTOCOL);

	ck_status(ASK(&c, MAD_NEXT, &next, .svc = made.handle, .size = 256,
		      .room = AGENT_MAD_BYTES + 1),
		  AL_INVALID_PARAMETER);
	ck_status(ASK(&c, MAD_NEXT, &next, .svc = made.handle, .size = 256, .room = 256),
		  AL_NOT_FOUND);
	ck_status(ASK(&c, MAD_NEXT, &next, .svc = c.cq, .size = 256, .room = 256),
		  AL_INVALID_HANDLE);
	ck_status(ASK(&c, CANCEL_MAD, NULL, .svc = made.handle, .id = 1), AL_NOT_FOUND);
	client_close(&c);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	agent_stop();
}
END_TEST

/* A datagram is fetched in whatever parts, and ends with its last byte. */
START_TEST(a_datagram_is_fetched_in_parts_and_ends_with_its_last_byte)
{
	struct REG_MAD_SVC_request reg = {
		.methods = { GET_SET }, .port_num = 1, .mgmt_class = VENDOR, .class_version = 1
	};
	struct ib_mad mad = mad_of(VENDOR, IB_METHOD_GET, 7);
	struct timespec limit;
	struct MAD_NEXT_answer next;
	struct made_answer made;
	struct agent_event event;
	struct end end;
	struct client c;
	al_status status;
	al_h al;

	agent_start("--mode", "666");
	al = agent_open();
	client_open(&c);
	reg.ca = c.ca;
	reg.cookie = 0x1234;
	ck_ok(ask(c.line, AGENT_REG_MAD_SVC, &reg, 0, NULL, 0, NULL, &made));
	/* the client by hand has one of the two HCAs, and this one sends from it to itself */
	end = open_end(al, guids[0] == c.attr.node_guid ? 0 : 1);
	if (guids[0] == c.attr.node_guid)
		end = open_end(al, 0);
	serve(&end, VENDOR, 0);
	ck_ok(send_to(&end, end.lid, &mad, sizeof(mad), 0, 1));
	do
		ck_assert_int_eq(recv(c.events, &event, sizeof(event), 0), sizeof(event));
	while (event.kind != AGENT_EVENT_MAD);
	ck_assert_uint_eq(event.cookie, 0x1234);

	ck_status(ASK(&c, MAD_NEXT, &next, .svc = made.handle, .size = 255, .room = 256),
		  AL_BUFFER_TOO_SMALL);
	ck_assert_uint_eq(next.event.length, 256);
	ck_status(
		ASK(&c, MAD_NEXT, &next, .svc = made.handle, .size = 256, .offset = 257, .room = 1),
		AL_INVALID_PARAMETER);
	ck_status(
		ASK(&c, MAD_NEXT, &next, .svc = made.handle, .size = 256, .offset = 256, .room = 1),
		AL_INVALID_PARAMETER);
	ck_ok(ASK(&c, MAD_NEXT, &next, .svc = made.handle, .size = 256, .room = 255));
	ck_assert_uint_eq(next.left, 1);
	ck_ok(ASK(&c, MAD_NEXT, &next, .svc = made.handle, .size = 256, .room = 0));
	ck_ok(ASK(&c, MAD_NEXT, &next, .svc = made.handle, .size = 256, .offset = 255, .room = 1));
	ck_assert_uint_eq(next.left, 0);
	limit = test_deadline();
	while ((status = ASK(&c, MAD_NEXT, &next, .svc = made.handle, .size = 256, .room = 256)) !=
	       AL_NOT_FOUND)
		ck_assert_msg(!test_expired(&limit), "%s", al_status_name(status));
	client_close(&c);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	agent_stop();
}
END_TEST

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

/* ------------------------------------------------- clients that do not fetch, and that die */

/* Serves two classes, says so, and then does nothing until it is killed. */
static void idler(int fd)
{
	al_h al = agent_open();
	struct end end = open_end(al, 1), other = open_end(al, 1);
	char byte;

	serve(&end, VENDOR, GET_SET);
	serve(&other, VENDOR_2, GET_SET);
	say(fd, "", 1);
	hear(fd, &byte, 1);
	ck_assert_msg(false, "the test lets the idler go");
}

START_TEST(a_client_that_fetches_nothing_costs_its_bounds_and_delays_no_other_client)
{
	const unsigned int many = 3 * AL_MAD_RECEIVES_MAX;
	struct ib_mad mad = mad_of(VENDOR, IB_METHOD_SET, 1),
		      theirs = mad_of(VENDOR + 1, IB_METHOD_SET, 1);
	struct end end, other[2];
	int fd[2];
	pid_t pid;
	char byte;
	al_h al;

	agent_start("--mode", "666");
	al = agent_open();
	end = open_end(al, 0);
	two_ends(fd);
	pid = agent_client("idler", fd[1]);
	hear(fd[0], &byte, 1);
	serve(&end, VENDOR, 0);
	for (int i = 0; i < 2; i++) {
		other[i] = open_end(al, i);
		serve(&other[i], VENDOR + 1, i ? 1 << IB_METHOD_SET : 0);
	}
	for (unsigned int i = 0; i < many; i++) {
		ck_ok(send_to(&end, other[1].lid, &mad, sizeof(mad), 0, i));
		expect_event(&end, AL_MAD_SENT, AL_SUCCESS, i);
		/* the same port serves others */
		ck_ok(send_to(&other[0], other[1].lid, &theirs, sizeof(theirs), 0, i));
		expect_event(&other[0], AL_MAD_SENT, AL_SUCCESS, i);
		expect_event(&other[1], AL_MAD_RECEIVED, AL_SUCCESS, 0);
	}
	kill(pid, SIGKILL);
	wait_for(pid);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	agent_stop();
}
END_TEST

/* Sends requests that nobody answers, and begins long ones, until it is killed. */
static void asker(int fd)
{
	static uint8_t mad[40000];
	struct ib_mad head = mad_of(VENDOR_2, IB_METHOD_SET, 1);
	al_h al = agent_open();
	struct end end = open_end(al, 1);
	uint16_t lid;
	char byte;

	hear(fd, &lid, sizeof(lid));
	memcpy(mad, &head, sizeof(head));
	serve(&end, VENDOR_2, 0);
	for (uint64_t i = 0; i < 20; i++)
		ck_ok(send_to(&end, lid, mad, i % 2 ? sizeof(mad) : 256, 1000000, i));
	say(fd, "", 1);
	hear(fd, &byte, 1);
}

START_TEST(a_dead_clients_services_vanish_and_others_go_on)
{
	struct ib_mad mad = mad_of(VENDOR, IB_METHOD_GET, 1);
	struct al_mad_svc_init init;
	struct timespec limit;
	struct end end, server;
	int fd[2], other[2];
	pid_t idle, asks;
	al_status status;
	size_t before;
	char byte;
	al_h al;

	agent_start("--mode", "666");
	al = agent_open();
	end = open_end(al, 0);
	server = open_end(al, 0);
	serve(&end, VENDOR, 0);
	serve(&server, VENDOR_2, 1 << IB_METHOD_SET);
	before = test_count(al, AL_OBJ_MAD_SVC);
	two_ends(fd);
	two_ends(other);
	idle = agent_client("idler", fd[1]);
	hear(fd[0], &byte, 1);
	asks = agent_client("asker", other[1]);
	say(other[0], &end.lid, sizeof(end.lid));
	hear(other[0], &byte, 1);
	ck_assert_uint_eq(test_count(al, AL_OBJ_MAD_SVC), before + 3);
	ck_ok(send_to(&end, end.lid, &mad, sizeof(mad), 1000000, 1));
	for (int i = 0; i < 2; i++) {
		kill(i ? asks : idle, SIGKILL);
		wait_for(i ? asks : idle);
	}
	for (limit = test_deadline(); test_count(al, AL_OBJ_MAD_SVC) != before;)
		ck_assert_msg(!test_expired(&limit), "%zu services are left",
			      test_count(al, AL_OBJ_MAD_SVC) - before);
	/* another one gets the dead one's datagrams */
	init = init_of(&server, VENDOR, GET_SET);
	server = open_end(al, 1);
	init.channel = server.channel;
	for (limit = test_deadline();
	     (status = al_reg_mad_svc(server.ca, &init, NULL, NULL, &server.svc)) == AL_DUPLICATE;)
		ck_assert(!test_expired(&limit));
	ck_ok(status);
	ck_ok(send_to(&end, server.lid, &mad, sizeof(mad), 0, 2));
	expect_event(&server, AL_MAD_RECEIVED, AL_SUCCESS, 0);
	/* the bystander's own request still waits */
	ck_ok(al_cancel_mad(end.svc, 1));
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	agent_stop();
}
END_TEST

/* -------------------------------------------------------------------- costs */

/* Sending and receiving long datagrams costs their bytes until they are fetched. */
START_TEST(long_datagrams_are_charged_until_their_events_are_fetched)
{
	static uint8_t mad[100000], got[100000];
	struct ib_mad head = mad_of(VENDOR_2, IB_METHOD_SET, 1);
	struct al_mad_event event;
	struct end end, far;
	uint64_t before;
	al_h al;

	agent_start("--mode", "666");
	al = agent_open();
	end = open_end(al, 0);
	far = open_end(al, 1);
	serve(&end, VENDOR_2, 0);
	serve(&far, VENDOR_2, 1 << IB_METHOD_SET);
	before = rings(al);
	memcpy(mad, &head, sizeof(head));
	for (size_t i = sizeof(head); i < sizeof(mad); i++)
		mad[i] = (uint8_t)(i * 31 + i / 256);
	ck_ok(send_to(&end, far.lid, mad, sizeof(mad), 0, 1));
	ck_assert_uint_ge(rings(al), before + sizeof(mad));
	expect_event(&end, AL_MAD_SENT, AL_SUCCESS, 1);
	ck_assert_uint_ge(rings(al), before + sizeof(mad));
	event = next_event(&far, got, sizeof(got));
	ck_assert_uint_eq(event.length, sizeof(mad));
	ck_assert_mem_eq(got + sizeof(head), mad + sizeof(head), sizeof(mad) - sizeof(head));
	ck_assert_uint_eq(rings(al), before);
	ck_ok(al_dereg_mad_svc(far.svc, AL_DESTROY_SYNC, NULL));
	ck_ok(al_dereg_mad_svc(end.svc, AL_DESTROY_SYNC, NULL));
	wait_for_rings(al, 0);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	agent_stop();
}
END_TEST

/* Of 4 MiB two services leave 983,040 bytes. A sender needs twice its datagram's length while the
 * datagram comes to the agent, and a receiver 2^n bytes: 524,288 of this one. What does not fit is
 * refused at either. */
START_TEST(long_datagrams_beyond_the_limit_are_refused_and_leave_nothing)
{
	static uint8_t mad[3000000], got[256];
	struct ib_mad head = mad_of(VENDOR_2, IB_METHOD_SET, 1);
	struct al_mad_event event;
	struct end end, far;
	uint64_t before;
	al_h al;

	agent_start("--max-rings", "4M");
	al = agent_open();
	end = open_end(al, 0);
	far = open_end(al, 1);
	serve(&end, VENDOR_2, 0);
	serve(&far, VENDOR_2, 1 << IB_METHOD_SET);
	before = rings(al);
	memcpy(mad, &head, sizeof(head));
	ck_status(send_to(&end, far.lid, mad, sizeof(mad), 0, 1), AL_LIMIT_EXCEEDED);
	ck_assert_uint_eq(before, (4 << 20) - 983040);
	ck_ok(send_to(&end, far.lid, mad, 470000, 0, 2));
	event = next_event(&end, got, sizeof(got));
	ck_assert_int_eq(event.type, AL_MAD_FAILED);
	ck_assert_uint_eq(event.id, 2);
	wait_for_rings(al, before);
	ck_status(al_mad_next(far.svc, got, sizeof(got), &event), AL_NOT_FOUND);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	agent_stop();
}
END_TEST

/* ------------------------------------------------------------ the agent is lost */

static sem_t failed;
static atomic_int statuses[2];

static void note_failure(void *context, const struct al_mad_event *event)
{
	(void)context;
	statuses[event->id & 1] = event->type == AL_MAD_FAILED ? event->status : AL_SUCCESS;
	sem_post(&failed);
}

/* _i: by callback, or by channel */
START_TEST(each_send_has_its_event_when_the_agent_is_lost)
{
	struct ib_mad mad = mad_of(VENDOR, IB_METHOD_GET, 1);
	struct al_mad_svc_init init;
	struct al_mad_event event;
	struct timespec limit;
	struct end end;
	al_h al;

	sem_init(&failed, 0, 0);
	al_set_log(test_ignore_log, NULL);
	agent_start("--mode", "666");
	al = agent_open();
	end = open_end(al, 0);
	init = init_of(&end, VENDOR, 0);
	if (!_i)
		init.channel = NULL;
	ck_ok(al_reg_mad_svc(end.ca, &init, &end, _i ? NULL : note_failure, &end.svc));
	/* one that has had its event gets no second one */
	ck_ok(send_to(&end, end.lid, &mad, sizeof(mad), 0, 7));
	if (_i)
		expect_event(&end, AL_MAD_SENT, AL_SUCCESS, 7);
	else
		test_wait(&failed);
	for (uint64_t id = 0; id < 2; id++)
		ck_ok(send_to(&end, end.lid, &mad, sizeof(mad), 1000000, id));
	agent_kill(SIGKILL);
	for (int i = 0; i < 2 && !_i; i++) {
		test_wait(&failed);
		ck_assert_int_eq(statuses[i], AL_AGENT_LOST);
	}
	for (uint64_t id = 0; id < 2 && _i; id++)
		expect_event(&end, AL_MAD_FAILED, AL_AGENT_LOST, id);
	ck_status(send_to(&end, end.lid, &mad, sizeof(mad), 1, 5), AL_AGENT_LOST);
	ck_status(al_cancel_mad(end.svc, 0), AL_NOT_FOUND);
	if (_i)
		ck_status(al_mad_next(end.svc, NULL, 0, &event), AL_NOT_FOUND);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	/* the next agent serves */
	agent_start("--mode", "666");
	for (limit = test_deadline();
	     al_open(&(struct al_open_attr){ .agent = agent_socket, .config = "" }, &al);)
		ck_assert(!test_expired(&limit));
	end = open_end(al, 0);
	serve(&end, VENDOR, 0);
	ck_ok(send_to(&end, end.lid, &mad, sizeof(mad), 0, 9));
	expect_event(&end, AL_MAD_SENT, AL_SUCCESS, 9);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	agent_stop();
}
END_TEST

int main(int argc, char **argv)
{
	static const struct agent_client clients[] = {
		{ "foreigner", foreigner }, { "idler", idler }, { "asker", asker }, { NULL, NULL }
	};
	Suite *suite;
	TCase *tcase;

	agent_be_client(argc, argv, clients);
	suite = suite_create("e2e/agent_mad");
	tcase = tcase_create("clients");
	tcase_add_test(tcase, what_manages_a_subnet_needs_the_right_and_nothing_else_does);
	tcase_add_test(tcase, records_whose_lengths_contradict_are_refused_and_charge_nothing);
	tcase_add_test(tcase, a_datagram_is_fetched_in_parts_and_ends_with_its_last_byte);
	tcase_add_test(tcase, outcomes_come_with_their_announcement_as_far_as_the_client_has_room);
	tcase_add_test(tcase, outcomes_for_which_the_socket_has_no_room_come_later);
	tcase_add_test(tcase, an_answer_comes_with_its_announcement);
	tcase_add_test(tcase, each_outcome_is_announced_and_comes_once_and_in_order);
	tcase_add_test(tcase,
		       a_client_that_fetches_nothing_costs_its_bounds_and_delays_no_other_client);
	tcase_add_test(tcase, a_dead_clients_services_vanish_and_others_go_on);
	tcase_add_test(tcase, long_datagrams_are_charged_until_their_events_are_fetched);
	tcase_add_test(tcase, long_datagrams_beyond_the_limit_are_refused_and_leave_nothing);
	tcase_add_loop_test(tcase, each_send_has_its_event_when_the_agent_is_lost, 0, 2);
	suite_add_tcase(suite, tcase);
	return test_run(suite);
}
