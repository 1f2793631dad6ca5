/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Two users of one agent: one takes as much as he gets of what the agent has only so much of, and
 * the other one, and root, get their shares all the same. Needs root, to become both users.
 */
#include "test/e2e/agent_door.h"

#include <sched.h>

#include <iba/ib_hca.h>

#include "al/agent/account.h"

enum { GREEDY = 71001, MODEST = 71002 };

/* An agent within the test's process, whose limits can be changed at once. */
static struct ald_attr attr;

static void start(void)
{
	ck_assert_ptr_nonnull(mkdtemp(agent_dir));
	ck_assert_int_eq(chmod(agent_dir, 0755), 0);
	snprintf(agent_socket, sizeof(agent_socket), "%s/ald.socket", agent_dir);
	attr = (struct ald_attr){
		.socket = agent_socket, .mode = 0666, .config = "", .limits = ald_default_limits
	};
	ck_ok(ald_start(&attr));
}

static void stop(void)
{
	ald_stop();
	rmdir(agent_dir);
}

/* ---------------------------------------------------------- the other users */

/* A process of a user, which does as it is told until it is told to end. */
struct user {
	pid_t pid;
	int fd;
};

enum deed {
	DEED_END,
	DEED_SESSIONS,  /* begins sessions until it is refused */
	DEED_STRANGERS, /* connects so often, and says nothing, until the agent has ended a
			   connection */
	DEED_HELLO,     /* begins a session on the last of those connections */
	DEED_MAPPINGS,  /* shares memory until it is refused */
	DEED_LINGER,    /* sends sockets whose close would take an hour with wrong hellos */
	DEED_WORST,     /* takes and does as much as it gets, until the next byte from the test */
};

struct order {
	uint32_t uid, deed, most;
};

struct report {
	uint32_t done;    /* how often the deed succeeded */
	al_status status; /* of the last attempt */
};

static int test_fd;    /* of a user's process, to the test */
static int kept[1024]; /* connections of a user's process */
static uint32_t num_kept;

static void sessions_begin(const struct order *order, struct report *report)
{
	const int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	while (report->done < order->most && !report->status) {
		kept[num_kept] = reach();
		report->status = hello(kept[num_kept++], good_hello, &pidfd, 1, NULL);
		report->done += !report->status;
	}
	close(pidfd);
}

static void be_strangers(const struct order *order, struct report *report)
{
	char byte;

	for (; report->done < order->most; report->done++)
		kept[num_kept++] = reach();
	if (order->most > 1)
		ck_assert_int_eq(recv(kept[0], &byte, 1, 0),
				 0); /* the agent has accepted the last one */
}

static void say_hello(const struct order *order, struct report *report)
{
	const int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	(void)order;
	report->status = hello(kept[num_kept - 1], good_hello, &pidfd, 1, NULL);
	close(pidfd);
}

static void share_memory(const struct order *order, struct report *report)
{
	const int file = memfd_create("shared", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct REG_MR_request request = { .length = 4096,
					  .access = IB_ACCESS_LOCAL_WRITE,
					  .mapped = 1 };
	static struct client client;

	ck_assert_int_ge(file, 0);
	ck_assert_int_eq(ftruncate(file, 4096), 0);
	ck_assert_int_eq(fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	client_open(&client);
	request.pd = client.pd;
	while (report->done < order->most && !report->status) {
		report->status = ask_with(client.line, AGENT_REG_MR, &request, 0, NULL, 0, NULL,
					  &file, 1, NULL);
		report->done += !report->status;
	}
	close(file);
}

static void send_lingering(const struct order *order, struct report *report)
{
	const struct agent_hello wrong = { 0 };
	int peer, fd;

	for (; report->done < order->most; report->done++) {
		kept[num_kept] = reach();
		fd = lingering(&peer);
		put(kept[num_kept++], &wrong, sizeof(wrong), &fd, 1);
		close(fd);
	}
	for (uint32_t i = 0; i < num_kept; i++)
		close(kept[i]);
	num_kept = 0;
}

/* Makes objects of each kind until the agent refuses them, and keeps them. */
static void take_objects(struct test_end *end)
{
	struct al_mr_init region = { .addr = end->mem, .length = TEST_MEM };
	struct al_cq_init queue;
	uint32_t lkey, rkey;
	al_status status = AL_SUCCESS;
	al_pd_h pd;
	al_mr_h mr;
	al_cq_h cq;

	while (!status)
		status = al_alloc_pd(end->ca, NULL, &pd);
	ck_status(status, AL_LIMIT_EXCEEDED);
	for (status = AL_SUCCESS; !status;)
		status = al_reg_mr(end->pd, &region, NULL, &lkey, &rkey, &mr);
	ck_status(status, AL_LIMIT_EXCEEDED);
	for (status = AL_SUCCESS; !status;) {
		queue = (struct al_cq_init){ .cqe = 256 };
		status = al_create_cq(end->pd, &queue, NULL, NULL, NULL, &cq);
	}
	ck_status(status, AL_LIMIT_EXCEEDED);
}

/* Posts until the queue is full, polls, and asks for what takes a thread of the agent. */
static void do_worst(struct test_end end[2], void *shared, size_t bytes)
{
	const struct al_mr_init init = { .addr = shared,
					 .length = bytes,
					 .access = IB_ACCESS_LOCAL_WRITE };
	struct ib_wc wc[16];
	uint32_t count;
	struct ib_ca_attr caps;
	uint32_t lkey, rkey;
	al_mr_h mr;

	while (!test_post_send(&end[0], 1, 0, TEST_MEM))
		;
	for (int i = 0; i < 2; i++)
		while (!test_post_recv(&end[i], 2, 0, TEST_MEM))
			;
	for (int i = 0; i < 32; i++)
		ck_ok(al_poll_cq(end[i % 2].cq, 16, wc, &count));
	ck_ok(al_query_ca(end[0].ca, &caps));
	if (!al_reg_mr(end[0].pd, &init, NULL, &lkey, &rkey, &mr))
		ck_ok(al_dereg_mr(mr, AL_DESTROY_SYNC, NULL));
}

static void be_worst(const struct order *order, struct report *report)
{
	const size_t bytes = 64u << 20;
	struct report sessions = { 0 };
	struct test_end end[2];
	void *shared = NULL;
	uint64_t dma;
	al_h al;
	char stop;

	al_set_log(test_ignore_log, NULL);
	al = agent_open();
	test_make_pair(al, end);
	ck_ok(al_dma_alloc_coherent(end[0].ca, bytes, &shared, &dma));
	take_objects(&end[0]);
	sessions_begin(order, &sessions);      /* whose events nobody reads */
	say(test_fd, report, sizeof(*report)); /* it has begun */
	for (; recv(test_fd, &stop, 1, MSG_DONTWAIT) != 1; report->done++)
		do_worst(end, shared, bytes);
	al_close(al, AL_DESTROY_SYNC, NULL);
}

static void (*const deeds[])(const struct order *order, struct report *report) = {
	[DEED_SESSIONS] = sessions_begin, [DEED_STRANGERS] = be_strangers, [DEED_HELLO] = say_hello,
	[DEED_MAPPINGS] = share_memory,   [DEED_LINGER] = send_lingering,  [DEED_WORST] = be_worst,
};

static void obey(int fd)
{
	struct report report;
	struct order order;

	test_fd = fd;
	for (hear(fd, &order, sizeof(order)); order.deed; hear(fd, &order, sizeof(order))) {
		if (order.uid != geteuid()) {
			ck_assert_int_eq(setresgid(order.uid, order.uid, order.uid), 0);
			ck_assert_int_eq(setresuid(order.uid, order.uid, order.uid), 0);
			ck_assert_int_eq(prctl(PR_SET_DUMPABLE, 1), 0);
		}
		report = (struct report){ 0 };
		deeds[order.deed](&order, &report);
		say(fd, &report, sizeof(report));
	}
}

static struct user user_begin(void)
{
	struct user user;
	int fd[2];

	two_ends(fd);
	user.pid = agent_client("obey", fd[1]);
	user.fd = fd[0];
	close(fd[1]);
	return user;
}

static struct report tell(const struct user *user, uint32_t uid, enum deed deed, uint32_t most)
{
	const struct order order = { uid, deed, most };
	struct report report;

	say(user->fd, &order, sizeof(order));
	hear(user->fd, &report, sizeof(report));
	return report;
}

static void user_end(struct user *user)
{
	const struct order end = { 0 };

	say(user->fd, &end, sizeof(end));
	ck_assert_int_eq(wait_for(user->pid), 0);
	close(user->fd);
}

static void expect(const struct user *user, uint32_t uid, enum deed deed, uint32_t most,
		   uint32_t done, al_status status)
{
	const struct report report = tell(user, uid, deed, most);

	ck_assert_msg(report.done == done && report.status == status,
		      "user %u succeeded %u times, and then got %s; %u times and %s were to be",
		      uid, report.done, al_status_name(report.status), done,
		      al_status_name(status));
}

/* A user's row of a snapshot, as the agent makes it: zeroes if there is none. */
static struct al_snap_client row_of(uint32_t uid)
{
	struct al_snap_client row = { 0 }, *shown;
	uint64_t clients, users;

	ck_ok(account_show(false, uid, &shown, &clients, &users));
	if (users)
		row = shown[clients];
	al_free(shown);
	return row;
}

/* Waits until a user has so much of a resource. */
static void settle(uint32_t uid, al_resource resource, uint64_t now)
{
	struct timespec deadline = test_deadline();

	while (row_of(uid).use[resource].now != now) {
		ck_assert_msg(!test_expired(&deadline), "user %u has %llu %s, %llu were to be", uid,
			      (unsigned long long)row_of(uid).use[resource].now,
			      al_resource_str(resource), (unsigned long long)now);
		sched_yield();
	}
}

/* --------------------------------------------------------------------- places */

/* Four of the 40 are kept for root. The greedy user has 75 percent of 36; the modest one 75 percent
 * of the 9 that are left; root all of the 7 that both leave. */
START_TEST(a_user_leaves_places_to_others_and_to_root)
{
	struct user greedy[2], modest, root;
	struct al_snap_client row;

	start();
	attr.limits.total[AL_RESOURCE_CLIENTS] = 40;
	ald_configure(&attr);
	for (int i = 0; i < 2; i++)
		greedy[i] = user_begin();
	modest = user_begin();
	root = user_begin();
	expect(&greedy[0], GREEDY, DEED_SESSIONS, 20, 20, AL_SUCCESS);
	expect(&greedy[1], GREEDY, DEED_SESSIONS, 40, 7, AL_LIMIT_EXCEEDED);
	expect(&modest, MODEST, DEED_SESSIONS, 40, 6, AL_LIMIT_EXCEEDED);
	row = row_of(GREEDY);
	ck_assert_uint_eq(row.use[AL_RESOURCE_CLIENTS].now, 27);
	ck_assert_uint_eq(row.use[AL_RESOURCE_CLIENTS].share, 22); /* what it would be now */
	ck_assert_uint_eq(row.use[AL_RESOURCE_CLIENTS].refused, 1);
	row = row_of(MODEST);
	ck_assert_uint_eq(row.use[AL_RESOURCE_CLIENTS].now, 6);
	ck_assert_uint_eq(row.use[AL_RESOURCE_CLIENTS].refused, 1);
	expect(&root, 0, DEED_SESSIONS, 40, 7, AL_LIMIT_EXCEEDED);
	user_end(&root);
	user_end(&greedy[1]);
	settle(0, AL_RESOURCE_CLIENTS, 0);
	settle(GREEDY, AL_RESOURCE_CLIENTS, 20);
	expect(&modest, MODEST, DEED_SESSIONS, 40, 6,
	       AL_LIMIT_EXCEEDED); /* 75 percent of 16, less what he has */
	user_end(&greedy[0]);
	user_end(&modest);
	stop();
}
END_TEST

START_TEST(a_user_who_says_nothing_ends_his_own_connections)
{
	struct user greedy, modest;

	start();
	greedy = user_begin();
	modest = user_begin();
	tell(&modest, MODEST, DEED_STRANGERS, 1);
	tell(&greedy, GREEDY, DEED_STRANGERS, 200);
	ck_ok(tell(&modest, MODEST, DEED_HELLO, 1).status);
	user_end(&greedy);
	user_end(&modest);
	stop();
}
END_TEST

/* ------------------------------------------------------------------ mappings */

START_TEST(a_user_leaves_mappings_to_others_and_to_root)
{
	struct user greedy, modest, root;

	start();
	attr.limits.total[AL_RESOURCE_MAPPINGS] = 40;
	ald_configure(&attr);
	greedy = user_begin();
	modest = user_begin();
	root = user_begin();
	expect(&greedy, GREEDY, DEED_MAPPINGS, 40, 27, AL_LIMIT_EXCEEDED);
	expect(&modest, MODEST, DEED_MAPPINGS, 40, 6, AL_LIMIT_EXCEEDED);
	expect(&root, 0, DEED_MAPPINGS, 40, 7, AL_LIMIT_EXCEEDED);
	user_end(&greedy);
	settle(GREEDY, AL_RESOURCE_MAPPINGS, 0); /* when the agent has unmapped them */
	user_end(&modest);
	user_end(&root);
	stop();
}
END_TEST

/* --------------------------------------------------------------- descriptors */

START_TEST(a_users_sockets_that_linger_are_closed_at_once)
{
	struct user greedy, modest;

	start();
	greedy = user_begin();
	modest = user_begin();
	expect(&greedy, GREEDY, DEED_LINGER, 180, 180, AL_SUCCESS);
	expect(&modest, MODEST, DEED_SESSIONS, 1, 1, AL_SUCCESS);
	ck_assert_uint_gt(row_of(GREEDY).use[AL_RESOURCE_DESCRIPTORS].high, 1);
	settle(GREEDY, AL_RESOURCE_DESCRIPTORS, 0);
	settle(MODEST, AL_RESOURCE_DESCRIPTORS,
	       2); /* of its session: the connection, the process */
	user_end(&greedy);
	user_end(&modest);
	settle(MODEST, AL_RESOURCE_DESCRIPTORS, 0);
	stop();
}
END_TEST

/* 256 are left to root; a record may bring 253. */
START_TEST(a_user_leaves_descriptors_to_others)
{
	struct user greedy, modest;

	start();
	attr.limits.total[AL_RESOURCE_DESCRIPTORS] = 2560;
	attr.limits.total[AL_RESOURCE_CLIENTS] = 1u << 20;
	ald_configure(&attr);
	greedy = user_begin();
	modest = user_begin();
	/* two for each session, until a record's 253 would no longer fit into 1728 */
	expect(&greedy, GREEDY, DEED_SESSIONS, 1000, 738, AL_AGENT_LOST);
	expect(&modest, MODEST, DEED_SESSIONS, 10, 10, AL_SUCCESS);
	user_end(&greedy);
	user_end(&modest);
	stop();
}
END_TEST

/* The module keeps a descriptor of each HCA that a client with a provider has opened. The session
 * has three others, and one for each connection. */
START_TEST(an_opened_hca_with_a_provider_counts_as_a_descriptor)
{
	struct timespec deadline = test_deadline();
	struct al_snap_client row;
	char path[512];
	al_h al;

	snprintf(path, sizeof(path), "%s/uvp/soft/.libs", getenv("top_builddir"));
	ck_assert(!setenv("IBAL_UVP_PATH", path, 1));
	start();
	al = agent_open();
	test_guids(al, (uint64_t[2]){ 0 }, 2);
	/* what came with requests is being closed yet */
	do {
		row = row_of(0);
		ck_assert_uint_ge(row.use[AL_RESOURCE_CAS].now, 2);
		ck_assert_msg(!test_expired(&deadline), "%llu descriptors",
			      (unsigned long long)row.use[AL_RESOURCE_DESCRIPTORS].now);
	} while (row.use[AL_RESOURCE_DESCRIPTORS].now !=
		 3 + row.use[AL_RESOURCE_CONNECTIONS].now + row.use[AL_RESOURCE_CAS].now);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	stop();
}
END_TEST

/* ----------------------------------------------------------------- the worst */

/* The example rpc_echo, as the modest user. It and the library lie where that user can read them.
 */
static char rpc_program[128], rpc_place[64];

static void copy_example(void)
{
	const char *build = getenv("top_builddir");
	char command[1024];

	snprintf(rpc_program, sizeof(rpc_program), "%s/rpc_echo", agent_dir);
	snprintf(rpc_place, sizeof(rpc_place), "agent:users_test.%d", (int)getpid());
	snprintf(
		command, sizeof(command),
		"cd '%s' && cp doc/examples/rpc_echo/.libs/rpc_echo '%s' && cp -L .libs/libibal.so.1 '%s'",
		build, agent_dir, agent_dir);
	ck_assert_int_eq(system(command), 0);
}

static void remove_example(void)
{
	char path[128];

	ck_assert_int_eq(unlink(rpc_program), 0);
	snprintf(path, sizeof(path), "%s/libibal.so.1", agent_dir);
	ck_assert_int_eq(unlink(path), 0);
}

/* Starts the example; its output is read from *out. */
static pid_t run_example(const char *role, const char *count, FILE **out)
{
	int fd[2];
	pid_t pid;

	ck_assert_int_eq(pipe2(fd, O_CLOEXEC), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setenv("IBAL_AGENT", agent_socket, 1);
		setenv("LD_LIBRARY_PATH", agent_dir, 1);
		dup2(fd[1], STDOUT_FILENO);
		dup2(fd[1], STDERR_FILENO);
		if (!setresgid(MODEST, MODEST, MODEST) && !setresuid(MODEST, MODEST, MODEST))
			execl(rpc_program, "rpc_echo", role, rpc_place, count, NULL);
		_exit(127);
	}
	close(fd[1]);
	*out = fdopen(fd[0], "r");
	ck_assert_ptr_nonnull(*out);
	return pid;
}

static pid_t start_server(FILE **out)
{
	char line[256] = "";
	const pid_t pid = run_example("serve", NULL, out);

	ck_assert_ptr_nonnull(fgets(line, sizeof(line), *out));
	ck_assert_msg(strstr(line, "serving at") != NULL, "the server says: %s", line);
	return pid;
}

/* Calls in a second, of a client that makes so many and checks each answer. */
static double call_rate(const char *count)
{
	char line[256] = "";
	double us = 0;
	FILE *out;
	const pid_t pid = run_example("call", count, &out);

	ck_assert_ptr_nonnull(fgets(line, sizeof(line), out));
	ck_assert_msg(sscanf(line, "%*u calls, %lf us each", &us) == 1 && us > 0,
		      "the client says: %s", line);
	ck_assert_int_eq(wait_for(pid), 0);
	fclose(out);
	return 1e6 / us;
}

/* The rates are printed, and not held: they depend on what else the machine does. */
START_TEST(one_user_does_his_worst_and_the_other_ones_calls_go_on)
{
	enum { GREEDY_PROCESSES = 3 };
	struct user greedy[GREEDY_PROCESSES];
	struct report report;
	double alone, beside;
	pid_t server;
	FILE *out;

	start();
	copy_example();
	server = start_server(&out);
	call_rate("200"); /* warms up */
	alone = call_rate("1000");
	for (int i = 0; i < GREEDY_PROCESSES; i++) {
		greedy[i] = user_begin();
		tell(&greedy[i], GREEDY, DEED_WORST, 200); /* its first report: it has begun */
	}
	beside = call_rate("1000");
	for (int i = 0; i < GREEDY_PROCESSES; i++)
		say(greedy[i].fd, "", 1);
	for (int i = 0; i < GREEDY_PROCESSES; i++) {
		hear(greedy[i].fd, &report, sizeof(report));
		ck_assert_uint_gt(report.done, 0);
		user_end(&greedy[i]);
	}
	printf("rpc_echo of one user: %.0f calls a second alone, %.0f (%.0f %%) beside %d processes of a user who does his worst\n",
	       alone, beside, 100 * beside / alone, GREEDY_PROCESSES);
	ck_assert_int_eq(kill(server, SIGTERM), 0);
	ck_assert_int_eq(waitpid(server, NULL, 0), server);
	fclose(out);
	remove_example();
	stop();
}
END_TEST

int main(int argc, char **argv)
{
	static const struct agent_client clients[] = { { "obey", obey }, { NULL, NULL } };
	Suite *suite;
	TCase *tcase;

	if (argc == 1 && geteuid()) {
		puts("SKIP: only root can become two other users");
		return 77;
	}
	agent_be_client(argc, argv, clients);
	suite = suite_create("e2e/users");
	tcase = tcase_create("shares");
	tcase_add_test(tcase, a_user_leaves_places_to_others_and_to_root);
	tcase_add_test(tcase, a_user_who_says_nothing_ends_his_own_connections);
	tcase_add_test(tcase, a_user_leaves_mappings_to_others_and_to_root);
	tcase_add_test(tcase, a_users_sockets_that_linger_are_closed_at_once);
	tcase_add_test(tcase, a_user_leaves_descriptors_to_others);
	tcase_add_test(tcase, an_opened_hca_with_a_provider_counts_as_a_descriptor);
	tcase_add_test(tcase, one_user_does_his_worst_and_the_other_ones_calls_go_on);
	suite_add_tcase(suite, tcase);
	return test_run(suite);
}
