/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The switch of a managed subnet as an agent's clients see it, where a client differs from a
 * program that has the switch itself: rights, limits, events, clients that die, and an agent that
 * is lost. test/unit/al/verbs/switch_test.c tests what every opening can do with a switch, in every
 * role.
 *
 *     HCA 0x3000 -- [1] switch 0x1000 [2] -- HCA 0x5000
 */
#include "test/e2e/agent_door.h"

#include <iba/ib_mad.h>
#include <iba/ib_soft.h>

#include "test/unit/al/subnet_text.h"

#define SWITCH 0x1000u
#define HCA    0x3000u
#define OTHER  0x5000u

static void start(const char *option, const char *value)
{
	char file[] = "/tmp/ibal-agent-switch-XXXXXX";

	subnet_set(SUBNET_OF_A_SWITCH, "", file);
	agent_start(option, value);
	ck_assert_int_eq(unlink(file), 0);
}

static void close_library(al_h al)
{
	al_set_log(test_ignore_log, NULL);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

static al_ca_h open_switch(al_h al)
{
	al_ca_h ca;

	ck_ok(al_open_ca(al, SWITCH, NULL,
			 &ca)); /* at once: the switch was there when al was opened */
	return ca;
}

static uint32_t caps_of(al_ca_h ca)
{
	struct ib_port_attr port;

	ck_ok(al_query_port(ca, 0, &port));
	return port.cap_mask;
}

/* ------------------------------------------------------------------ rights */

static void no_event(void *context, const struct al_mad_event *event)
{
	(void)context;
	(void)event;
}

/* Tries what needs a right, with all rights or with none. */
static void try_rights(al_h al, bool has)
{
	const struct al_mad_svc_init manager = { .mgmt_class = IB_CLASS_SUBN_DIR,
						 .class_version = 1 };
	const struct al_mad_svc_init program = { .mgmt_class = 0x0a, .class_version = 1 };
	const struct ib_port_modify issm = { .set_caps = IB_PORT_CAP_SM };
	const struct ib_mad question = { .hdr = { .base_version = IB_MAD_BASE_VERSION,
						  .mgmt_class = IB_CLASS_SUBN_LID,
						  .class_version = 1,
						  .method = IB_METHOD_GET,
						  .attr_id = ib_be16_of(IB_SMP_NODE_INFO) } };
	const al_status want = has ? AL_SUCCESS : AL_PERMISSION;
	al_ca_h ca = open_switch(al);
	uint32_t port = 2, none = 0;
	struct ib_port_attr attr;
	struct ib_ca_attr node;
	struct ib_qp_attr special;
	struct ib_mad answer;
	al_mad_svc_h svc;
	al_qp_h alias;

	ck_ok(al_query_ca(ca, &node));
	ck_assert_int_eq(node.node_type, IB_NODE_SWITCH);
	ck_assert_uint_eq(node.num_ports, 2);
	ck_ok(al_query_port(ca, 2, &attr));
	ck_status(al_reg_mad_svc(ca, &manager, NULL, no_event, &svc), want);
	ck_ok(al_reg_mad_svc(ca, &program, NULL, no_event, &svc));
	ck_status(al_get_spl_qp(ca, 0, IB_QPT_SMI, NULL, NULL, &alias), want);
	ck_ok(al_get_spl_qp(ca, 0, IB_QPT_GSI, NULL, NULL, &alias));
	ck_ok(al_query_qp(alias, &special, NULL));
	ck_assert_int_eq(special.qp_state, IB_QPS_RTS);
	ck_assert_uint_eq(special.port_num, 0);
	ck_status(al_get_spl_qp(ca, 1, IB_QPT_GSI, NULL, NULL, &alias), AL_INVALID_PORT);
	ck_status(al_local_mad(ca, 0, &question, &answer), want);
	ck_assert(!has || answer.hdr.method == IB_METHOD_GET_RESP);
	ck_status(al_modify_port(ca, 0, IB_PORT_MODIFY_CAP_MASK, &issm), want);
	ck_status(al_vendor_call(ca, SOFT_PORT_DOWN, &port, sizeof(port), NULL, &none), want);
	ck_status(al_vendor_call(ca, SOFT_PORT_UP, &port, sizeof(port), NULL, &none), want);
	ck_status(al_vendor_call(ca, SOFT_REBOOT, NULL, 0, NULL, &none), want);
}

static void foreigner(int fd)
{
	al_h al = agent_open_as_another_user();

	(void)fd;
	try_rights(al, false);
	close_library(al);
}

START_TEST(a_switch_is_opened_by_any_client_and_managed_with_the_right)
{
	al_h al;

	start("--mode", "666");
	al = agent_open();
	try_rights(al, true);
	if (geteuid())
		printf("SKIP the half of another user: needs root to become another user\n");
	else
		ck_assert_int_eq(wait_for(agent_client("foreigner", -1)), 0);
	close_library(al);
	agent_stop();
}
END_TEST

/* A client that writes its records itself opens the switch, and asks for its queue pairs. */
START_TEST(no_client_gets_the_special_queue_pairs_of_port_0)
{
	static const ib_qp_type types[] = { IB_QPT_SMI, IB_QPT_GSI };
	struct MODULE_OF_answer module;
	struct CREATE_QP_answer qp;
	struct CREATE_CQ_answer cq;
	struct OPEN_CA_answer ca;
	struct made_answer pd;
	struct client c;

	start("--mode", "666");
	client_open(&c);
	ck_ok(ASK(&c, MODULE_OF, &module, .guid = HCA));
	ck_assert_uint_eq(module.is_switch, 0);
	ck_ok(ASK(&c, MODULE_OF, &module, .guid = SWITCH));
	ck_assert_uint_eq(module.is_switch, 1);
	ck_assert_str_eq(module.name, "soft");
	ck_status(ASK(&c, MODULE_OF, NULL, .guid = SWITCH + 1), AL_NOT_FOUND);
	ck_status(ASK(&c, OPEN_CA, NULL, .guid = SWITCH + 1), AL_NOT_FOUND);
	ck_ok(ASK(&c, OPEN_CA, &ca, .guid = SWITCH));
	ck_status(ASK(&c, OPEN_CA, NULL, .guid = SWITCH), AL_DUPLICATE);
	ck_ok(ASK(&c, ALLOC_PD, &pd, .ca = ca.handle));
	ck_ok(ASK(&c, CREATE_CQ, &cq, .pd = pd.handle, .cqe = 16));
	for (int i = 0; i < 2; i++)
		ck_status(ASK(&c, CREATE_QP, &qp, .pd = pd.handle, .send_cq = cq.handle,
			      .recv_cq = cq.handle, .qp_type = types[i], .cap = { 4, 4, 1, 1, 0 }),
			  AL_UNSUPPORTED);
	client_close(&c);
	agent_stop();
}
END_TEST

/* A client that writes its records itself does with an alias what the library would not. */
START_TEST(an_alias_is_no_way_to_the_special_queue_pair)
{
	const struct ib_flat_recv recv = { .wr_id = 1 };
	const struct ib_flat_send send = { .opcode = IB_WR_SEND };
	struct POST_RECV_request to;
	struct POST_RECV_answer posted;
	struct QUERY_QP_answer queried;
	struct OPEN_CA_answer ca;
	struct made_answer made, pd;
	struct client c;
	al_h al;

	start("--mode", "666");
	al = agent_open();
	client_open(&c); /* which makes a queue pair */
	ck_ok(ASK(&c, OPEN_CA, &ca, .guid = SWITCH));
	ck_ok(ASK(&c, ALLOC_PD, &pd, .ca = ca.handle));
	ck_status(ASK(&c, GET_SPL_QP, NULL, .pd = pd.handle, .qp_type = IB_QPT_SMI),
		  AL_INVALID_HANDLE);
	ck_status(ASK(&c, GET_SPL_QP, NULL, .pd = ca.handle, .qp_type = IB_QPT_UD),
		  AL_INVALID_PARAMETER);
	ck_status(ASK(&c, GET_SPL_QP, NULL, .pd = ca.handle, .qp_type = IB_QPT_SMI, .port_num = 1),
		  AL_INVALID_PORT);
	ck_status(
		ASK(&c, GET_SPL_QP, NULL, .pd = ca.handle, .qp_type = IB_QPT_SMI, .send_cq = c.cq),
		AL_INVALID_PARAMETER);
	ck_status(ASK(&c, GET_SPL_QP, NULL, .pd = ca.handle, .qp_type = IB_QPT_SMI,
		      .cap = { .max_send_wr = 1 }),
		  AL_INVALID_PARAMETER);
	ck_status(ASK(&c, GET_SPL_QP, NULL, .pd = ca.handle, .qp_type = IB_QPT_SMI, .zero = { 1 }),
		  AL_INVALID_PARAMETER);
	ck_assert_uint_eq(clients_use(al, AL_RESOURCE_QPS), 1);
	for (int i = 0; i < 2; i++) {
		ck_ok(ASK(&c, GET_SPL_QP, &made, .pd = ca.handle,
			  .qp_type = i ? IB_QPT_GSI : IB_QPT_SMI));
		ck_assert_uint_eq(clients_use(al, AL_RESOURCE_QPS), 2);
		ck_status(ASK(&c, MODIFY_QP, NULL, .qp = made.handle, .mask = IB_QP_STATE,
			      .attr = { .qp_state = IB_QPS_RESET }),
			  AL_INVALID_QP_TYPE);
		ck_status(ASK(&c, ATTACH_MCAST, NULL, .qp = made.handle, .gid = { { 0xff } },
			      .mlid = 0xc001),
			  AL_INVALID_QP_TYPE);
		to.qp = made.handle;
		ck_status(ask(c.line, AGENT_POST_RECV, &to, 1, &recv, 0, NULL, &posted),
			  AL_INVALID_QP_TYPE);
		ck_assert_uint_eq(posted.posted, 0);
		ck_assert_int_ne(ask(c.line, AGENT_POST_SEND, &to, 1, &send, 0, NULL, &posted),
				 AL_SUCCESS);
		ck_assert_uint_eq(posted.posted, 0);
		ck_ok(ASK(&c, QUERY_QP, &queried, .qp = made.handle));
		ck_assert_int_eq(queried.attr.qp_state, IB_QPS_RTS);
		ck_ok(ASK(&c, DESTROY, NULL, .handle = made.handle));
		ck_status(ASK(&c, QUERY_QP, NULL, .qp = made.handle), AL_INVALID_HANDLE);
		ck_assert_uint_eq(clients_use(al, AL_RESOURCE_QPS), 1);
	}
	client_close(&c);
	close_library(al);
	agent_stop();
}
END_TEST

/* ------------------------------------------------------------------ limits */

/* The library opens both HCAs, which are charged like a switch. */
START_TEST(an_open_switch_is_charged)
{
	al_ca_h ca;
	al_h al;

	start("--max-objects", "2");
	al_set_log(test_ignore_log, NULL);
	al = agent_open();
	ck_status(al_open_ca(al, SWITCH, NULL, &ca), AL_LIMIT_EXCEEDED);
	ck_status(al_open_ca(al, SWITCH, NULL, &ca), AL_LIMIT_EXCEEDED);
	ck_ok(al_open_ca(al, HCA, NULL, &ca));
	close_library(al);
	agent_stop();
}
END_TEST

/* ------------------------------------------------------------------ events */

static sem_t told;
static struct al_event events[64];
static unsigned int num_events;

static void tell(void *context, const struct al_event *event)
{
	(void)context;
	if (num_events < 64)
		events[num_events++] = *event;
	sem_post(&told);
}

static void expect_event(unsigned int i, ib_event_type type, uint8_t port)
{
	test_wait(&told);
	ck_assert_int_eq(events[i].type, type);
	ck_assert_uint_eq(events[i].port_num, port);
}

START_TEST(a_pulled_cable_and_a_removal_are_told)
{
	const uint32_t none = 0;
	uint32_t port = 2, nothing = 0;
	al_event_handler_h handler;
	struct ib_ca_attr attr;
	al_ca_h ca;
	al_h al;

	sem_init(&told, 0, 0);
	start("--mode", "666");
	al = agent_open();
	ca = open_switch(al);
	ck_ok(al_reg_event_handler(ca, NULL, NULL, tell, &handler));
	ck_ok(al_vendor_call(ca, SOFT_PORT_DOWN, &port, sizeof(port), NULL, &nothing));
	expect_event(0, IB_EVENT_PORT_DOWN, 2);
	ck_ok(al_vendor_call(ca, SOFT_PORT_UP, &port, sizeof(port), NULL, &nothing));
	expect_event(1, IB_EVENT_PORT_INIT, 2);
	al_set_log(test_ignore_log, NULL);
	ck_ok(al_vendor_call(ca, SOFT_REMOVE, &none, sizeof(none), NULL, &nothing));
	expect_event(2, IB_EVENT_DEVICE_FATAL, 0);
	ck_status(al_query_ca(ca, &attr), AL_CA_REMOVED);
	ck_soon(al_open_ca(al, SWITCH, NULL, &ca) == AL_NOT_FOUND);
	ck_ok(al_open_ca(al, HCA, NULL, &ca));
	close_library(al);
	agent_stop();
}
END_TEST

/* -------------------------------------------------------- clients that die */

/* Manages the subnet from port 0 until it is killed. */
static void manager(int fd)
{
	const struct al_mad_svc_init init = { .mgmt_class = IB_CLASS_SUBN_LID,
					      .class_version = 1,
					      .methods = { 1 << IB_METHOD_TRAP } };
	const struct ib_port_modify issm = { .set_caps = IB_PORT_CAP_SM };
	al_ca_h ca = open_switch(agent_open());
	al_mad_svc_h svc;
	al_qp_h alias;
	char byte;

	ck_ok(al_get_spl_qp(ca, 0, IB_QPT_SMI, NULL, NULL, &alias));
	ck_ok(al_reg_mad_svc(ca, &init, NULL, no_event, &svc));
	ck_ok(al_modify_port(ca, 0, IB_PORT_MODIFY_CAP_MASK, &issm));
	say(fd, "", 1);
	hear(fd, &byte, 1);
}

START_TEST(a_dead_managers_service_and_capability_vanish)
{
	const struct al_mad_svc_init init = { .mgmt_class = IB_CLASS_SUBN_LID,
					      .class_version = 1,
					      .methods = { 1 << IB_METHOD_TRAP } };
	struct timespec limit;
	al_mad_svc_h svc;
	al_status status;
	pid_t pid;
	int fd[2];
	char byte;
	al_ca_h ca;
	al_h al;

	start("--mode", "666");
	al = agent_open();
	ca = open_switch(al);
	two_ends(fd);
	pid = agent_client("manager", fd[1]);
	hear(fd[0], &byte, 1);
	ck_assert_uint_ne(caps_of(ca) & IB_PORT_CAP_SM, 0);
	ck_status(al_reg_mad_svc(ca, &init, NULL, no_event, &svc), AL_DUPLICATE);
	ck_assert_uint_eq(test_count(al, AL_OBJ_QP), 1);
	kill(pid, SIGKILL);
	wait_for(pid);
	for (limit = test_deadline(); caps_of(ca) & IB_PORT_CAP_SM;)
		ck_assert_msg(!test_expired(&limit), "the port still has the capability IsSM");
	for (limit = test_deadline();
	     (status = al_reg_mad_svc(ca, &init, NULL, no_event, &svc)) == AL_DUPLICATE;)
		ck_assert_msg(!test_expired(&limit), "the service is still there");
	ck_ok(status);
	for (limit = test_deadline(); test_count(al, AL_OBJ_QP);)
		ck_assert_msg(!test_expired(&limit), "the alias is still there");
	close_library(al);
	agent_stop();
}
END_TEST

START_TEST(a_lost_agent_takes_its_switches_along)
{
	struct ib_port_attr port;
	struct timespec limit;
	al_status status;
	al_ca_h ca, again;
	struct ib_qp_attr attr;
	al_qp_h alias;
	al_h al;

	start("--mode", "666");
	al_set_log(test_ignore_log, NULL);
	al = agent_open();
	ca = open_switch(al);
	ck_ok(al_get_spl_qp(ca, 0, IB_QPT_SMI, NULL, NULL, &alias));
	agent_kill(SIGKILL);
	ck_status(al_query_port(ca, 0, &port), AL_AGENT_LOST);
	ck_status(al_query_qp(alias, &attr, NULL), AL_AGENT_LOST);
	for (limit = test_deadline();
	     (status = al_open_ca(al, SWITCH, NULL, &again)) == AL_SUCCESS;)
		ck_assert_msg(!test_expired(&limit), "the switch is still there");
	/* before the library has taken the switch away, and afterwards */
	ck_assert(status == AL_NOT_FOUND || status == AL_AGENT_LOST);
	for (limit = test_deadline();
	     (status = al_open_ca(al, SWITCH, NULL, &again)) == AL_NOT_FOUND;)
		ck_assert_msg(!test_expired(&limit), "the switch is still being taken away");
	ck_status(status, AL_AGENT_LOST);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	start("--mode", "666");
	al = agent_open();
	ck_ok(al_query_port(open_switch(al), 0, &port));
	close_library(al);
	agent_stop();
}
END_TEST

int main(int argc, char **argv)
{
	static const struct agent_client clients[] = { { "foreigner", foreigner },
						       { "manager", manager },
						       { NULL, NULL } };
	Suite *suite;
	TCase *tcase;

	agent_be_client(argc, argv, clients);
	suite = suite_create("e2e/agent_switch");
	tcase = tcase_create("clients");
	tcase_add_test(tcase, a_switch_is_opened_by_any_client_and_managed_with_the_right);
	tcase_add_test(tcase, no_client_gets_the_special_queue_pairs_of_port_0);
	tcase_add_test(tcase, an_alias_is_no_way_to_the_special_queue_pair);
	tcase_add_test(tcase, an_open_switch_is_charged);
	tcase_add_test(tcase, a_pulled_cable_and_a_removal_are_told);
	tcase_add_test(tcase, a_dead_managers_service_and_capability_vanish);
	tcase_add_test(tcase, a_lost_agent_takes_its_switches_along);
	suite_add_tcase(suite, tcase);
	return test_run(suite);
}
