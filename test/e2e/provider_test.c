/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * User-mode providers (iba/ib_uvp.h): their hooks around each request to the agent, the data
 * between provider and module, and the order of a completion queue's creation as the SAS has it.
 */
#include "test/e2e/agent.h"
#include "test/e2e/provider.h"

/* Number of objects of the agent's Access Layer that belong to this client; failed creations leave
 * none. */
static size_t agents_objects(al_object_type type)
{
	return test_count(al, type);
}

/* Waits until no such object is left: an object may still be in a snapshot after its destroyed
 * callback. */
static void none_is_left(al_object_type type)
{
	struct timespec deadline = test_deadline();

	while (agents_objects(type))
		ck_assert_msg(!test_expired(&deadline), "%zu objects are left", agents_objects(type));
}

/* Makes the provider send in_len bytes with the request `about`, with room for as many in the
 * answer. */
static void speak(uint32_t len)
{
	provider->about = "create_cq";
	provider->in_len = provider->out_room = len;
	for (uint32_t i = 0; i < len; i++)
		provider->say[i] = (uint8_t)(i * 7 + 1);
}

/* ------------------------------------------------------------- order of hooks */

START_TEST(every_operation_that_crosses_has_its_two_hooks)
{
	struct al_qp_init qi = { .qp_type = IB_QPT_RC,
				 .cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 } };
	static char memory[4096];
	const struct al_mr_init mi = { .addr = memory, .length = sizeof(memory), .access = IB_ACCESS_LOCAL_WRITE };
	struct ib_ah_attr path = { .dlid = 1, .port_num = 1 };
	struct ib_qp_attr qp_attr = { .qp_state = IB_QPS_RESET };
	struct ib_port_modify port = { 0 };
	struct ib_port_attr port_attr;
	struct ib_mr_attr mr_attr;
	struct al_cq_attr cq_attr;
	struct ib_ca_attr attr;
	uint32_t lkey, rkey;
	uint16_t pkey;
	ib_gid gid;
	al_ah_h ah;
	al_mr_h mr;
	al_cq_h cq;
	al_qp_h qp;

	begin(NULL, NULL);
	al = agent_open();
	ck_assert_ptr_nonnull(strstr(provider->log, "pre_open_ca post_open_ca pre_query_ca post_query_ca "));
	ca = test_open_ca(al, FAKE_GUID);
	provider->log[0] = '\0';
	ck_ok(al_query_ca(ca, &attr));
	ck_ok(al_query_port(ca, 1, &port_attr));
	ck_ok(al_query_gid(ca, 1, 0, &gid));
	ck_ok(al_query_pkey(ca, 1, 0, &pkey));
	al_modify_ca(ca, 0, &attr);
	al_modify_port(ca, 1, 0, &port);
	al_vendor_call(ca, 0, NULL, 0, NULL, NULL);
	ck_ok(al_alloc_pd(ca, NULL, &pd));
	ck_ok(al_create_ah(pd, &path, &ah));
	ck_ok(al_modify_ah(ah, &path));
	ck_ok(al_query_ah(ah, &path));
	ck_ok(al_destroy_ah(ah, AL_DESTROY_SYNC, NULL));
	ck_ok(al_reg_mr(pd, &mi, NULL, &lkey, &rkey, &mr));
	al_query_mr(mr, &mr_attr);
	ck_ok(al_dereg_mr(mr, AL_DESTROY_SYNC, NULL));
	ck_ok(try_cq(8, &cq));
	al_query_cq(cq, &cq_attr);
	qi.send_cq = qi.recv_cq = cq;
	ck_ok(al_create_qp(pd, &qi, NULL, NULL, &qp));
	ck_ok(al_modify_qp(qp, &qp_attr, IB_QP_STATE));
	ck_ok(al_query_qp(qp, &qp_attr, NULL));
	ck_ok(al_destroy_qp(qp, AL_DESTROY_SYNC, NULL));
	ck_ok(al_destroy_cq(cq, AL_DESTROY_SYNC, NULL));
	ck_ok(al_dealloc_pd(pd, AL_DESTROY_SYNC, NULL));
#define PAIR(name) "pre_" #name " post_" #name " "
	ck_assert_str_eq(provider->log,
			 PAIR(query_ca) PAIR(query_port) PAIR(query_gid) PAIR(query_pkey) PAIR(modify_ca)
			 PAIR(modify_port) PAIR(vendor_call) PAIR(allocate_pd) PAIR(create_ah) PAIR(modify_ah)
			 PAIR(query_ah) PAIR(destroy_ah) PAIR(register_mr) PAIR(query_mr) PAIR(deregister_mr)
			 PAIR(create_cq) PAIR(query_cq) PAIR(create_qp)
			 /* a transition queries the state first */ PAIR(query_qp) PAIR(modify_qp) PAIR(query_qp)
			 PAIR(destroy_qp) PAIR(destroy_cq) PAIR(deallocate_pd));
	end();
}
END_TEST

/* ---------------------------------------------- data between provider and module */

START_TEST(what_is_said_comes_to_the_module_and_its_answer_back)
{
	static const uint32_t lengths[] = { 0, 1, 64, UVP_MAX_DATA - 1, UVP_MAX_DATA };
	al_cq_h cq;

	begin(NULL, NULL);
	open_all();
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		speak(lengths[i]);
		ck_ok(try_cq(8, &cq));
		ck_assert_int_eq(provider->outcome, AL_SUCCESS);
		ck_assert_uint_eq(provider->heard_len, lengths[i]);
		for (uint32_t k = 0; k < lengths[i]; k++)
			ck_assert_uint_eq(provider->heard[k], (uint8_t)~provider->say[k]);
		ck_ok(al_destroy_cq(cq, AL_DESTROY_SYNC, NULL));
	}
	/* Less room than the module's data need. */
	speak(64);
	provider->out_room = 5;
	ck_ok(try_cq(8, &cq));
	ck_assert_uint_eq(provider->heard_len, 5);
	end();
}
END_TEST

/*
 * Number of the agent's descriptors, after another request: when the agent has answered that one,
 * the request before has been completed.
 */
static int agents_descriptors(void)
{
	struct ib_port_attr attr;

	ck_ok(al_query_port(ca, 1, &attr));
	return agent_entries("fd");
}

/* Waits: the agent closes the received descriptors after the request, on another thread. */
static void descriptors_come_down_to(int fds)
{
	struct timespec deadline = test_deadline();

	while (agents_descriptors() != fds)
		ck_assert_msg(!test_expired(&deadline), "%d descriptors instead of %d", agent_entries("fd"), fds);
}

START_TEST(descriptors_travel_both_ways)
{
	char mark[sizeof(FAKE_MARK)] = { 0 };
	struct stat mine, back;
	al_cq_h cq;
	int fds;

	begin(NULL, NULL);
	open_all();
	fds = agents_descriptors();
	speak(0);
	provider->fd = memfd_create("provider", MFD_CLOEXEC);
	provider->num_fds = UVP_MAX_FDS;
	ck_ok(try_cq(8, &cq));
	ck_assert_uint_eq(provider->heard_fds, UVP_MAX_FDS);
	ck_assert_int_eq(fstat(provider->fd, &mine), 0);
	for (int i = 0; i < UVP_MAX_FDS; i++) {
		ck_assert_int_eq(fstat(provider->heard_fd[i], &back), 0);
		ck_assert_uint_eq(back.st_ino, mine.st_ino);
		ck_assert_int_eq(fcntl(provider->heard_fd[i], F_GETFD), FD_CLOEXEC);
		close(provider->heard_fd[i]);
	}
	ck_assert_int_eq(pread(provider->fd, mark, sizeof(mark), 0), sizeof(mark));
	ck_assert_str_eq(mark, FAKE_MARK);
	/* No descriptor stays in the agent, after a success or after a failure. */
	descriptors_come_down_to(fds);
	provider->in_len = 1;
	provider->say[0] = FAKE_REFUSE;
	ck_status(try_cq(8, &cq), AL_IO_ERROR);
	ck_assert_uint_eq(provider->heard_fds, 0);
	descriptors_come_down_to(fds);
	close(provider->fd);
	end();
}
END_TEST

START_TEST(the_descriptor_of_shared_memory_is_not_the_modules)
{
	struct al_mr_init init = { .length = 4096 };
	struct stat mine, back;
	uint32_t lkey, rkey;
	uint64_t dma;
	al_mr_h mr;

	begin(NULL, NULL);
	open_all();
	ck_ok(al_dma_alloc_coherent(ca, init.length, &init.addr, &dma));
	speak(0);
	provider->about = "register_mr";
	provider->fd = memfd_create("provider", MFD_CLOEXEC);
	provider->num_fds = 1;
	ck_ok(al_reg_mr(pd, &init, NULL, &lkey, &rkey, &mr));
	ck_assert_uint_eq(provider->heard_fds, 1);
	ck_assert_int_eq(fstat(provider->fd, &mine), 0);
	ck_assert_int_eq(fstat(provider->heard_fd[0], &back), 0);
	ck_assert_uint_eq(back.st_ino, mine.st_ino);
	close(provider->heard_fd[0]);
	close(provider->fd);
	provider->num_fds = 0;
	ck_ok(al_dereg_mr(mr, AL_DESTROY_SYNC, NULL));
	al_dma_free_coherent(ca, init.length, init.addr, dma);
	end();
}
END_TEST

START_TEST(a_provider_that_says_too_much_is_stopped)
{
	al_cq_h cq;

	begin(NULL, NULL);
	open_all();
	speak(0);
	for (int what = 0; what < 3; what++) {
		provider->in_len = what == 0 ? UVP_MAX_DATA + 1 : 0;
		provider->out_room = what == 1 ? UVP_MAX_DATA + 1 : 0;
		provider->num_fds = what == 2 ? UVP_MAX_FDS + 1 : 0;
		provider->outcome = AL_SUCCESS;
		ck_status(try_cq(8, &cq), AL_INVALID_PARAMETER);
		ck_assert_int_eq(provider->outcome, AL_INVALID_PARAMETER);
	}
	speak(0);
	provider->num_fds = 0;
	ck_ok(try_cq(8, &cq));
	end();
}
END_TEST

static atomic_int complaints;

static void count_complaint(void *context, ib_log_level level, const char *text)
{
	(void)context;
	complaints += level == IB_LOG_ERROR && strstr(text, "sends data or descriptors to the module");
}

START_TEST(what_can_not_cross_is_refused_and_not_lost)
{
	struct ib_ah_attr path = { .dlid = 1, .port_num = 1 };
	struct al_cq_attr attr;
	al_ah_h ah;
	al_cq_h cq;

	begin(NULL, NULL);
	open_all();
	speak(0);
	ck_ok(try_cq(8, &cq));
	al_set_log(count_complaint, NULL);
	for (int what = 0; what < 3; what++) {
		provider->in_len = what == 0;
		provider->out_room = what == 1;
		provider->num_fds = what == 2;
		provider->about = "query_cq";
		provider->outcome = AL_SUCCESS;
		ck_status(al_query_cq(cq, &attr), AL_INVALID_PARAMETER);
		ck_assert_int_eq(provider->outcome, AL_INVALID_PARAMETER);
		provider->about = "create_ah";
		ck_status(al_create_ah(pd, &path, &ah), AL_INVALID_PARAMETER);
	}
	ck_assert_int_eq(complaints, 6);
	provider->about = "destroy_cq"; /* a destroy, which can not be refused */
	ck_ok(al_destroy_cq(cq, AL_DESTROY_SYNC, NULL));
	ck_assert_int_eq(complaints, 7);
	al_set_log(NULL, NULL);
	provider->num_fds = 0;
	none_is_left(AL_OBJ_CQ);
	end();
}
END_TEST

/* ---------------------------------------------------------------------- failures */

START_TEST(a_pre_hook_that_fails_ends_the_operation)
{
	struct ib_ah_attr path = { .dlid = 1, .port_num = 1 };
	struct al_cq_attr attr;
	al_ah_h ah;
	al_cq_h cq;

	begin("--max-objects", "1");
	open_all();
	speak(8);
	provider->fail_pre = AL_INSUFFICIENT_MEMORY;
	ck_status(try_cq(8, &cq), AL_INSUFFICIENT_MEMORY);
	ck_assert_str_eq(provider->log, "pre_create_cq ");
	/* The failed creation has left nothing: the client may have one object, and can create
	 * it. */
	provider->fail_pre = AL_SUCCESS;
	ck_ok(try_cq(8, &cq));
	/* A pre-hook refuses a request that creates no object, too, and one that does not go to
	 * the agent. */
	provider->log[0] = '\0';
	provider->about = "query_cq";
	provider->in_len = provider->out_room = 0;
	provider->fail_pre = AL_IO_ERROR;
	ck_status(al_query_cq(cq, &attr), AL_IO_ERROR);
	provider->about = "create_ah";
	ck_status(al_create_ah(pd, &path, &ah), AL_IO_ERROR);
	ck_assert_str_eq(provider->log, "pre_query_cq pre_create_ah ");
	end();
}
END_TEST

/* The post-hook runs because the pre-hook has succeeded. (Above, the pre-hook failed, and no
 * post-hook ran.) */
START_TEST(the_post_hook_runs_when_the_module_fails_and_when_the_agent_refuses)
{
	al_cq_h cq, second;

	begin("--max-objects", "1");
	open_all();
	speak(8);
	provider->say[0] = FAKE_REFUSE;
	ck_status(try_cq(8, &cq), AL_IO_ERROR);
	ck_assert_int_eq(provider->outcome, AL_IO_ERROR);
	ck_assert_uint_eq(provider->heard_len, 0);
	speak(8);
	ck_ok(try_cq(8, &cq));
	ck_status(try_cq(8, &second), AL_LIMIT_EXCEEDED);
	ck_assert_int_eq(provider->outcome, AL_LIMIT_EXCEEDED);
	ck_assert_str_eq(provider->log, "pre_create_cq post_create_cq pre_create_cq post_create_cq "
					"pre_create_cq post_create_cq ");
	end();
}
END_TEST

START_TEST(a_post_hook_that_fails_undoes_the_creation_without_hooks)
{
	al_cq_h cq;

	begin("--max-objects", "1");
	open_all();
	speak(8);
	provider->fail_post = AL_INSUFFICIENT_RESOURCES;
	for (int i = 0; i < 3; i++)
		ck_status(try_cq(8, &cq), AL_INSUFFICIENT_RESOURCES);
	ck_assert_ptr_null(strstr(provider->log, "destroy_cq"));
	none_is_left(AL_OBJ_CQ);
	provider->fail_post = AL_SUCCESS;
	ck_ok(try_cq(8, &cq));
	end();
}
END_TEST

START_TEST(what_the_pre_hook_has_done_is_not_asked)
{
	al_cq_h cq[3];

	begin("--max-objects", "1");
	open_all();
	speak(8);
	provider->done = true;
	for (int i = 0; i < 3; i++) { /* more than the agent allows */
		ck_ok(try_cq(8, &cq[i]));
		ck_assert_int_eq(provider->outcome, AL_SUCCESS);
		ck_assert_uint_eq(provider->heard_len, 0);
	}
	none_is_left(AL_OBJ_CQ);
	for (int i = 0; i < 3; i++)
		ck_ok(al_destroy_cq(cq[i], AL_DESTROY_SYNC, NULL));
	end();
}
END_TEST

static void kill_agent(void)
{
	agent_kill(SIGKILL);
}

START_TEST(a_lost_agent_is_told_to_the_post_hook)
{
	al_cq_h cq;

	begin(NULL, NULL);
	open_all();
	speak(8);
	provider->before = kill_agent;
	ck_status(try_cq(8, &cq), AL_AGENT_LOST);
	/* Then a post-hook comes for the destroy of the refused object, on another thread. */
	ck_assert_int_eq(strncmp(provider->log, "pre_create_cq post_create_cq ", 29), 0);
	ck_assert_int_eq(provider->outcome, AL_AGENT_LOST);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	agent_stop();
}
END_TEST

/* -------------------------------------------------------------------- ten steps */

struct step {
	const char *who, *what;
};

/* Merges both traces by time; each step must follow the step before. */
static void expect_steps(const struct step *steps, int num)
{
	char command[256], line[512], who[64], what[256], *rest;
	FILE *lines;
	int i = 0, at;

	snprintf(command, sizeof(command), "sort -n %s/agent.trace %s/client.trace", agent_dir, agent_dir);
	lines = popen(command, "r");
	ck_assert_ptr_nonnull(lines);
	while (i < num && fgets(line, sizeof(line), lines)) {
		/* time, process, thread, thread's name, actor, text */
		if (sscanf(line, "%*s %*s %*s %*s %63s %n", who, &at) != 1)
			continue;
		rest = line + at;
		snprintf(what, sizeof(what), "%.255s", rest);
		if (!strcmp(who, steps[i].who) && !strncmp(what, steps[i].what, strlen(steps[i].what)))
			i++;
	}
	pclose(lines);
	ck_assert_msg(i == num, "step %d is missing, or out of order: %s: %s", i + 1, steps[i < num ? i : 0].who,
		      steps[i < num ? i : 0].what);
}

static char client_trace[sizeof(agent_dir) + 16];

/* A client process of its own: a process opens its trace file when it begins. */
static void creator(int fd)
{
	uint32_t mode;
	al_cq_h cq;

	hear(fd, &mode, sizeof(mode));
	provider = find_provider();
	open_all();
	speak(8);
	if (mode == 1)
		provider->say[0] = FAKE_REFUSE;
	provider->fail_pre = mode == 2 ? AL_IO_ERROR : AL_SUCCESS;
	ck_assert_int_eq(try_cq(8, &cq), mode ? AL_IO_ERROR : AL_SUCCESS);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

static void create_traced(uint32_t mode)
{
	char trace[sizeof(agent_dir) + 16];
	int fd[2];
	pid_t pid;

	ck_assert_ptr_nonnull(mkdtemp(agent_dir));
	snprintf(agent_socket, sizeof(agent_socket), "%s/ald.socket", agent_dir);
	snprintf(trace, sizeof(trace), "%s/agent.trace", agent_dir);
	snprintf(client_trace, sizeof(client_trace), "%s/client.trace", agent_dir);
	ck_assert(!setenv("IBAL_TRACE", trace, 1));
	begin(NULL, NULL);
	two_ends(fd);
	ck_assert(!setenv("IBAL_TRACE", client_trace, 1));
	pid = agent_client("creator", fd[1]);
	ck_assert_int_eq(send(fd[0], &mode, sizeof(mode), 0), sizeof(mode));
	ck_assert_int_eq(wait_for(pid), 0);
	agent_kill(SIGTERM);
}

static void remove_traces(void)
{
	char path[sizeof(agent_dir) + 16];

	unlink(client_trace);
	snprintf(path, sizeof(path), "%s/agent.trace", agent_dir);
	unlink(path);
	agent_stop();
}

START_TEST(a_completion_queue_is_created_in_the_ten_steps_of_the_sas)
{
	static const struct step steps[] = {
		{ "al", "al_create_cq" },                          /* 1 the application calls */
		{ "user", "the provider's pre_create_cq" },        /* 2 */
		{ "user", "CREATE_CQ: asks the agent" },           /* 3 the provider's data go to the agent */
		{ "ald", "CREATE_CQ of" },
		{ "al", "al_create_cq" },                          /* 4 the agent calls its Access Layer */
		{ "al", "create_cq of module fake" },              /* 5 the agent's Access Layer calls the module */
		{ "fake", "create_cq" },                           /* 6 */
		{ "al", "cq 0x" },                                 /* 7 the agent's Access Layer records the object */
		{ "ald", "CREATE_CQ: the object belongs to" },     /* 8 the agent assigns the object to the client */
		{ "user", "CREATE_CQ: the agent answers AL_SUCCESS" },
		{ "user", "the provider's post_create_cq" },       /* 9 */
		{ "al", "cq 0x" },                                 /* 10 the application gets a handle */
	};

	create_traced(0);
	expect_steps(steps, sizeof(steps) / sizeof(steps[0]));
	remove_traces();
}
END_TEST

START_TEST(in_the_ten_steps_a_failing_module_is_undone_by_the_post_hook)
{
	static const struct step steps[] = {
		{ "user", "the provider's pre_create_cq" },
		{ "user", "CREATE_CQ: asks the agent" },
		{ "fake", "create_cq" },
		{ "user", "CREATE_CQ: the agent answers AL_IO_ERROR" },
		{ "user", "the provider's post_create_cq" },
	};

	create_traced(1);
	expect_steps(steps, sizeof(steps) / sizeof(steps[0]));
	remove_traces();
}
END_TEST

START_TEST(in_the_ten_steps_a_failing_pre_hook_is_the_last)
{
	static const struct step first[] = { { "user", "the provider's pre_create_cq" } };
	char command[256];

	create_traced(2);
	expect_steps(first, 1);
	snprintf(command, sizeof(command), "! grep -E 'CREATE_CQ|post_create_cq' %s/agent.trace %s/client.trace",
		 agent_dir, agent_dir);
	ck_assert_int_eq(system(command), 0);
	remove_traces();
}
END_TEST

START_TEST(what_ends_is_ended_at_the_agent_before_the_post_hook)
{
	static const struct step steps[] = {
		{ "user", "the provider's pre_destroy_cq" },
		{ "user", "DESTROY: asks the agent" },
		{ "user", "DESTROY: the agent answers AL_SUCCESS" },
		{ "user", "the provider's post_destroy_cq" },
		{ "user", "the provider's pre_deallocate_pd" },
	};

	create_traced(0);
	expect_steps(steps, sizeof(steps) / sizeof(steps[0]));
	remove_traces();
}
END_TEST

START_TEST(the_module_hears_of_the_process_that_opens_and_closes)
{
	static const struct step steps[] = {
		{ "user", "the provider's pre_open_ca" },
		{ "fake", "um_open_ca" },
		{ "user", "the provider's post_open_ca" },
		{ "fake", "um_close_ca\n" },
	};

	create_traced(0);
	expect_steps(steps, sizeof(steps) / sizeof(steps[0]));
	remove_traces();
}
END_TEST

/* --------------------------------------------------------------------- skeleton */

static int own_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static int own_rings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	int count = 0;

	while (fgets(line, sizeof(line), maps))
		count += strstr(line, "skeleton-cq") != NULL;
	fclose(maps);
	return count;
}

static void use_skeletons(void)
{
	const char *build = getenv("top_builddir");
	char path[512];

	ck_assert_ptr_nonnull(build);
	snprintf(path, sizeof(path), "%s/hca/skeleton/.libs", build);
	ck_assert(!setenv("IBAL_MODULE_PATH", path, 1));
	snprintf(path, sizeof(path), "%s/uvp/skeleton/.libs", build);
	ck_assert(!setenv("IBAL_UVP_PATH", path, 1));
}

START_TEST(the_skeletons_provider_makes_its_rings_and_takes_them_back)
{
	struct ib_ca_attr first, second;
	uint64_t guid;
	al_cq_h cq[20];
	int fds, theirs;

	use_skeletons();
	agent_start(NULL, NULL);
	al = agent_open();
	test_guids(al, &guid, 1);
	ca = test_open_ca(al, guid);
	ck_ok(al_alloc_pd(ca, NULL, &pd));
	ck_ok(al_query_ca(ca, &first));
	fds = own_fds();
	theirs = agents_descriptors();
	for (int i = 0; i < 20; i++)
		ck_ok(try_cq(16, &cq[i]));
	ck_assert_int_eq(own_rings(), 20);
	ck_assert_int_eq(own_fds(), fds);
	descriptors_come_down_to(theirs);
	for (int i = 0; i < 20; i++)
		ck_ok(al_destroy_cq(cq[i], AL_DESTROY_SYNC, NULL));
	ck_assert_int_eq(own_rings(), 0);
	/* The provider answers queries that it knows itself, also after the agent's end. */
	agent_kill(SIGKILL);
	if (al_query_ca(ca, &second) == AL_SUCCESS) /* else the library has noticed the agent's end already */
		ck_assert_mem_eq(&first, &second, sizeof(first));
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	agent_stop();
}
END_TEST

/* The agent refuses a completion queue for which the provider has made its ring: the client's queues have too many
 * bytes together. */
START_TEST(the_skeletons_provider_frees_the_ring_of_a_queue_that_is_refused)
{
	int fds, made = 0;
	uint64_t guid;
	al_cq_h cq;

	use_skeletons();
	agent_start("--max-rings", "100000");
	al = agent_open();
	test_guids(al, &guid, 1);
	ca = test_open_ca(al, guid);
	ck_ok(al_alloc_pd(ca, NULL, &pd));
	fds = own_fds();
	while (try_cq(256, &cq) == AL_SUCCESS)
		made++;
	ck_assert_int_gt(made, 0);
	ck_assert_int_eq(own_rings(), made);
	ck_assert_int_eq(own_fds(), fds);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	ck_assert_int_eq(own_rings(), 0);
	agent_stop();
}
END_TEST

int main(int argc, char **argv)
{
	static const struct agent_client clients[] = { { "creator", creator }, { NULL, NULL } };
	Suite *suite;
	TCase *tcase;

	agent_be_client(argc, argv, clients);
	suite = suite_create("e2e/provider");
	tcase = tcase_create("provider");
	tcase_add_test(tcase, every_operation_that_crosses_has_its_two_hooks);
	tcase_add_test(tcase, what_is_said_comes_to_the_module_and_its_answer_back);
	tcase_add_test(tcase, descriptors_travel_both_ways);
	tcase_add_test(tcase, the_descriptor_of_shared_memory_is_not_the_modules);
	tcase_add_test(tcase, a_provider_that_says_too_much_is_stopped);
	tcase_add_test(tcase, what_can_not_cross_is_refused_and_not_lost);
	tcase_add_test(tcase, a_pre_hook_that_fails_ends_the_operation);
	tcase_add_test(tcase, the_post_hook_runs_when_the_module_fails_and_when_the_agent_refuses);
	tcase_add_test(tcase, a_post_hook_that_fails_undoes_the_creation_without_hooks);
	tcase_add_test(tcase, what_the_pre_hook_has_done_is_not_asked);
	tcase_add_test(tcase, a_lost_agent_is_told_to_the_post_hook);
	tcase_add_test(tcase, a_completion_queue_is_created_in_the_ten_steps_of_the_sas);
	tcase_add_test(tcase, in_the_ten_steps_a_failing_module_is_undone_by_the_post_hook);
	tcase_add_test(tcase, in_the_ten_steps_a_failing_pre_hook_is_the_last);
	tcase_add_test(tcase, what_ends_is_ended_at_the_agent_before_the_post_hook);
	tcase_add_test(tcase, the_module_hears_of_the_process_that_opens_and_closes);
	tcase_add_test(tcase, the_skeletons_provider_makes_its_rings_and_takes_them_back);
	tcase_add_test(tcase, the_skeletons_provider_frees_the_ring_of_a_queue_that_is_refused);
	suite_add_tcase(suite, tcase);
	return test_run(suite);
}
