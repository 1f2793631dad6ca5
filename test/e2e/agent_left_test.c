/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The memory and objects that the agent keeps after requests and after clients: nothing that grows
 * with their number.
 */
#include "test/e2e/agent_door.h"

#include <sched.h>

#include "al/agent/account.h"
#include "al/agent/ald.h"

/* ------------------------------------------------------ within the test's process */

static al_h owner;

static void set_up(void)
{
	const struct al_open_attr own = { .agent = "off", .config = "" };
	struct ald_attr attr = { .mode = 0600, .config = "", .limits = ald_default_limits };

	ck_assert_ptr_nonnull(mkdtemp(agent_dir));
	snprintf(agent_socket, sizeof(agent_socket), "%s/ald.socket", agent_dir);
	attr.socket = agent_socket;
	ck_ok(ald_start(&attr));
	ck_ok(al_open(&own, &owner));
}

static void tear_down(void)
{
	ck_ok(al_close(owner, AL_DESTROY_SYNC, NULL));
	ald_stop();
	rmdir(agent_dir);
}

/* The agent keeps an address handle for a datagram's path only while it posts the request. */
static void expect_no_paths(void)
{
	struct timespec deadline = test_deadline();

	while (test_count(owner, AL_OBJ_AH)) {
		ck_assert_msg(!test_expired(&deadline), "%zu address handles are left", test_count(owner, AL_OBJ_AH));
		sched_yield();
	}
}

START_TEST(datagrams_leave_no_address_handle)
{
	static struct ib_flat_send send[AGENT_POST_MAX];
	struct POST_SEND_answer posted;
	struct CREATE_QP_answer qp;
	struct MODIFY_QP_request modify = { .mask = IB_QP_STATE, .attr.qp_state = IB_QPS_ERR };
	struct client c;

	client_open(&c);
	ck_ok(ASK(&c, CREATE_QP, &qp, .pd = c.pd, .send_cq = c.cq, .recv_cq = c.cq, .qp_type = IB_QPT_UD,
		  .cap = { AGENT_POST_MAX, 1, 1, 1, 0 }));
	for (uint32_t i = 0; i < AGENT_POST_MAX; i++)
		send[i] = (struct ib_flat_send){ .opcode = IB_WR_SEND, .key = 5, .path = { .dlid = 1, .port_num = 1 } };
	/* the whole chain is refused: the queue pair is in Reset */
	ck_assert_int_ne(ask(c.line, AGENT_POST_SEND, &qp.handle, AGENT_POST_MAX, send, 0, NULL, &posted), AL_SUCCESS);
	expect_no_paths();
	/* the chain is posted, and flushed */
	modify.qp = qp.handle;
	ck_ok(ask(c.line, AGENT_MODIFY_QP, &modify, 0, NULL, 0, NULL, NULL));
	ck_ok(ask(c.line, AGENT_POST_SEND, &qp.handle, 4, send, 0, NULL, &posted));
	ck_assert_uint_eq(posted.posted, 4);
	expect_no_paths();
	/* the chain is posted up to the wrong request */
	send[3].path.sl = 16; /* no valid service level */
	ck_status(ask(c.line, AGENT_POST_SEND, &qp.handle, 5, send, 0, NULL, &posted), AL_AGENT_PROTOCOL);
	ck_assert_uint_eq(posted.posted, 3);
	expect_no_paths();
	send[3].path.sl = 0;
	send[3].num_sge = 1;
	ck_status(ask(c.line, AGENT_POST_SEND, &qp.handle, 5, send, 0, NULL, &posted), AL_AGENT_PROTOCOL);
	ck_assert_uint_eq(posted.posted, 3);
	expect_no_paths();
	client_close(&c);
}
END_TEST

static uint64_t connections_now(void)
{
	struct al_snap_client *shown;
	uint64_t clients, users, now;

	ck_ok(account_show(true, 0, &shown, &clients, &users));
	ck_assert_uint_eq(clients, 1);
	now = shown[0].use[AL_RESOURCE_CONNECTIONS].now;
	ck_assert_uint_eq(shown[1].use[AL_RESOURCE_CONNECTIONS].now, now); /* the limit of the user */
	al_free(shown);
	return now;
}

static void expect_connections(uint64_t want)
{
	struct timespec deadline = test_deadline();

	while (connections_now() != want) {
		ck_assert_msg(!test_expired(&deadline), "%llu connections are charged instead of %llu",
			      (unsigned long long)connections_now(), (unsigned long long)want);
		sched_yield();
	}
}

START_TEST(a_connection_that_is_closed_makes_room_for_another)
{
	const uint64_t most = ald_default_limits.client[AL_RESOURCE_CONNECTIONS];
	struct agent_hello h = good_hello;
	int fd[16], more;
	struct client c;

	ck_assert_uint_eq(most, sizeof(fd) / sizeof(fd[0]));
	client_open(&c);
	expect_connections(1);
	h.role = AGENT_COMMANDS;
	memcpy(h.token, c.token, sizeof(h.token));
	for (int round = 0; round < 3; round++) {
		for (uint64_t i = 1; i < most; i++) {
			fd[i] = reach();
			ck_ok(hello(fd[i], h, NULL, 0, NULL));
		}
		more = reach();
		ck_status(hello(more, h, NULL, 0, NULL), AL_LIMIT_EXCEEDED);
		close(more);
		expect_connections(most);
		for (uint64_t i = 1; i < most; i++)
			close(fd[i]);
		expect_connections(1);
	}
	client_close(&c);
}
END_TEST

/* A second opening of an HCA that is refused does not prevent a later opening. */
START_TEST(an_hca_whose_opening_was_refused_can_be_opened_when_it_is_closed)
{
	struct OPEN_CA_answer opened;
	struct client c;

	client_open(&c);
	for (int i = 0; i < 3; i++)
		ck_status(ASK(&c, OPEN_CA, &opened, .guid = c.attr.node_guid), AL_DUPLICATE);
	ck_ok(ASK(&c, DESTROY, NULL, .handle = c.qp));
	ck_ok(ASK(&c, DESTROY, NULL, .handle = c.cq));
	ck_ok(ASK(&c, DESTROY, NULL, .handle = c.pd));
	ck_ok(ASK(&c, DESTROY, NULL, .handle = c.ca));
	ck_ok(ASK(&c, OPEN_CA, &opened, .guid = c.attr.node_guid));
	ck_status(ASK(&c, OPEN_CA, NULL, .guid = c.attr.node_guid + 4711), AL_NOT_FOUND);
	client_close(&c);
}
END_TEST

/* -------------------------------------------------------------------- memory */

/* Memory of the agent, in KiB. */
static long resident(void)
{
	char path[64], line[128];
	long size = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)agent_pid);
	file = fopen(path, "re");
	ck_assert_ptr_nonnull(file);
	while (size < 0 && fgets(line, sizeof(line), file))
		sscanf(line, "VmRSS: %ld", &size);
	fclose(file);
	ck_assert_int_gt(size, 0);
	return size;
}

static void wait_for_fds(int want)
{
	struct timespec deadline = test_deadline();

	while (agent_entries("fd") > want) {
		ck_assert_msg(!test_expired(&deadline), "%d descriptors instead of %d", agent_entries("fd"), want);
		sched_yield();
	}
}

/* Starts so many clients at once, and ends them. Returns the agent's memory after that. */
static long clients_come_and_go(int count)
{
	struct client *c = calloc((size_t)count, sizeof(*c));
	int fds = agent_entries("fd");

	for (int i = 0; i < count; i++)
		client_open(&c[i]);
	for (int i = 0; i < count; i++)
		client_close(&c[i]);
	free(c);
	wait_for_fds(fds);
	return resident();
}

/* Thirty times as many clients leave less than three times as much memory, nearly all of it caches
 * and threads. */
START_TEST(the_memory_of_clients_that_are_gone_is_given_back)
{
	long first, then;

	agent_start("--max-clients", "300"); /* clients that have ended do not count */
	first = clients_come_and_go(10);
	then = clients_come_and_go(300);
	printf("resident after 10 clients %ld KiB, after 300 more %ld KiB\n", first, then);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	printf("SKIP the comparison of both: a sanitizer keeps what is freed\n");
#else
	ck_assert_int_lt(then, 3 * first);
#endif
	agent_stop();
}
END_TEST

/* ---------------------------------------------------------------- a fork */

/* A client process that is killed while a child of its own still has its sockets. */
static void parent(int fd)
{
	struct client c;
	char never;

	client_open(&c);
	if (!fork()) {
		say(fd, "", 1);
		_exit(recv(fd, &never, 1, 0) ? 1 : 0);
	}
	pause();
}

START_TEST(a_dead_client_leaves_nothing_though_a_child_of_its_own_has_its_sockets)
{
	int fd[2], before;
	char ready;
	pid_t pid;

	agent_start(NULL, NULL);
	clients_come_and_go(1); /* the memory that the first client leaves */
	before = agent_entries("fd");
	two_ends(fd);
	pid = agent_client("parent", fd[1]);
	close(fd[1]);
	hear(fd[0], &ready, 1);
	ck_assert_int_gt(agent_entries("fd"), before);
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	wait_for(pid);
	wait_for_fds(before);
	ck_assert_int_eq(recv(fd[0], &ready, 1, MSG_DONTWAIT), -1); /* the child still has the socket */
	close(fd[0]);
	agent_stop();
}
END_TEST

int main(int argc, char **argv)
{
	static const struct agent_client clients[] = { { "parent", parent }, { NULL, NULL } };
	Suite *suite;
	TCase *tcase;

	agent_be_client(argc, argv, clients);
	suite = suite_create("e2e/agent_left");
	tcase = tcase_create("within");
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, datagrams_leave_no_address_handle);
	tcase_add_test(tcase, a_connection_that_is_closed_makes_room_for_another);
	tcase_add_test(tcase, an_hca_whose_opening_was_refused_can_be_opened_when_it_is_closed);
	suite_add_tcase(suite, tcase);
	tcase = tcase_create("daemon");
	tcase_add_test(tcase, a_dead_client_leaves_nothing_though_a_child_of_its_own_has_its_sockets);
	tcase_add_test(tcase, the_memory_of_clients_that_are_gone_is_given_back);
	suite_add_tcase(suite, tcase);
	return test_run(suite);
}
