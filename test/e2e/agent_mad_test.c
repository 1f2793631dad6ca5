/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * MAD services of an agent's clients, where a client differs from a program with HCAs of its own:
 * rights, records that lie, a client that fetches nothing, one that dies, and an agent that is
 * lost. test/unit/al/mgmt tests the services for each client, in every role.
 */
#include "test/e2e/agent_mads.h"

#include <stdatomic.h>

/* The bytes of queues, and of long datagrams, that all clients are charged. */
static uint64_t rings(al_h al)
{
	return clients_use(al, AL_RESOURCE_RINGS);
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
	al_h al = agent_open_as_another_user();

	(void)fd;
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

/* A client may fetch a datagram in parts of any size; the datagram ends with its last byte. */
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

/* Sends requests without an answer, and begins long ones, until the process is killed. */
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

/* Starts an agent. One end sends datagrams of a vendor's class, the far end takes them. */
static al_h start_two(const char *option, const char *value, struct end *end, struct end *far)
{
	al_h al;

	agent_start(option, value);
	al = agent_open();
	*end = open_end(al, 0);
	*far = open_end(al, 1);
	serve(end, VENDOR_2, 0);
	serve(far, VENDOR_2, 1 << IB_METHOD_SET);
	return al;
}

/* Sending and receiving long datagrams costs their bytes until they are fetched. */
START_TEST(long_datagrams_are_charged_until_their_events_are_fetched)
{
	static uint8_t mad[100000], got[100000];
	struct ib_mad head = mad_of(VENDOR_2, IB_METHOD_SET, 1);
	struct al_mad_event event;
	struct end end, far;
	uint64_t before;
	al_h al;

	al = start_two("--mode", "666", &end, &far);
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

	al = start_two("--max-rings", "4M", &end, &far);
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
	tcase_add_test(tcase,
		       a_client_that_fetches_nothing_costs_its_bounds_and_delays_no_other_client);
	tcase_add_test(tcase, a_dead_clients_services_vanish_and_others_go_on);
	tcase_add_test(tcase, long_datagrams_are_charged_until_their_events_are_fetched);
	tcase_add_test(tcase, long_datagrams_beyond_the_limit_are_refused_and_leave_nothing);
	tcase_add_loop_test(tcase, each_send_has_its_event_when_the_agent_is_lost, 0, 2);
	suite_add_tcase(suite, tcase);
	return test_run(suite);
}
