/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Records to the agent's socket without the library: every kind of wrong record, and random
 * records. */
#include "test/e2e/agent_door.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <iba/ib_soft.h>

/* Checks that the agent still serves. */
static void still_there(void)
{
	al_h al = agent_open();
	struct test_end end[2];

	test_make_pair(al, end);
	ck_ok(test_post_recv(&end[1], 1, 0, 64));
	ck_ok(test_post_send(&end[0], 2, 0, 64));
	test_poll_ok(end[1].cq, 1);
	for (int i = 0; i < 2; i++)
		test_free_end(&end[i]);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

static void set_up(void)
{
	agent_start("--mode", "666");
}

static void tear_down(void)
{
	still_there();
	agent_stop();
}

/* --------------------------------------------------------------------- hello */

/* Opens the memory of this process, or of its parent. */
static int memory_of(const char *whose, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)(strcmp(whose, "self") ? getppid() : getpid()));
	return open(path, flags | O_CLOEXEC);
}

START_TEST(a_wrong_hello_is_refused)
{
	int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0), other = (int)syscall(SYS_pidfd_open, getppid(), 0);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), fds[8] = { pidfd, pidfd, pidfd, null, null, null, null, null };
	struct agent_hello h;
	char longer[sizeof(h) + 1] = { 0 };
	int fd;

#define TRY(want, list, num, ...)                                                      \
	h = good_hello;                                                                      \
	__VA_ARGS__;                                                                   \
	fd = reach();                                                                  \
	ck_status(hello(fd, h, list, num, NULL), want);                                \
	close(fd)

	TRY(AL_AGENT_PROTOCOL, &pidfd, 1, h.magic++);
	TRY(AL_AGENT_PROTOCOL, &pidfd, 1, h.protocol++);
	TRY(AL_AGENT_PROTOCOL, &pidfd, 1, h.role = 7);
	TRY(AL_AGENT_PROTOCOL, &pidfd, 1, h.zero = 1);
	TRY(AL_AGENT_PROTOCOL, NULL, 0, (void)0);       /* without a pidfd */
	TRY(AL_AGENT_PROTOCOL, &null, 1, (void)0);      /* a descriptor of another kind */
	TRY(AL_AGENT_PROTOCOL, &other, 1, (void)0);     /* the pidfd of another process */
	TRY(AL_AGENT_PROTOCOL, fds, 3, (void)0);        /* three descriptors */
	TRY(AL_AGENT_PROTOCOL, fds, 8, (void)0);        /* more descriptors than any record may have */
	TRY(AL_PERMISSION, NULL, 0, h.role = AGENT_COMMANDS); /* a token of no session */
	TRY(AL_AGENT_PROTOCOL, &pidfd, 1, h.role = AGENT_COMMANDS);
	fd = reach();
	put(fd, longer, sizeof(longer), NULL, 0);
	recv(fd, longer, sizeof(longer), 0);
	close(fd);
	fd = reach();
	put(fd, longer, 1, NULL, 0);
	close(fd);
	close(reach());
}
END_TEST

/* The memory of another process, or another file: the session begins without memory. */
START_TEST(memory_that_is_not_the_clients_own_is_not_taken)
{
	const struct {
		int fd;
		bool own;
	} memory[] = {
		{ memory_of("self", O_RDWR), true },        { memory_of("self", O_RDONLY), false },
		{ memory_of("self", O_WRONLY), false },     { memory_of("parent", O_RDWR), false },
		{ open("/dev/null", O_RDWR | O_CLOEXEC), false }, { open("/dev/zero", O_RDWR | O_CLOEXEC), false },
	};
	struct agent_welcome w;
	int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0), fd;

	for (size_t i = 0; i < sizeof(memory) / sizeof(memory[0]); i++) {
		ck_assert_int_ge(memory[i].fd, 0);
		fd = reach();
		w = hello_said(fd, good_hello, (int[]){ pidfd, memory[i].fd }, 2);
		ck_ok((al_status)w.status);
		ck_assert_msg((w.copies == 1) == memory[i].own && w.copies <= 1, "memory %zu: copies = %u", i, w.copies);
		close(fd);
		close(memory[i].fd);
	}
	close(pidfd);
}
END_TEST

/* Gives a file the name of this process's memory, in mounts of this process alone. */
static bool mount_as_memory(const char *file)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)getpid());
	return !unshare(geteuid() ? CLONE_NEWUSER | CLONE_NEWNS : CLONE_NEWNS) &&
	       !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       !mount(file, path, NULL, MS_BIND, NULL);
}

START_TEST(a_file_with_the_name_of_the_clients_memory_is_not_taken)
{
	int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0), own = memory_of("self", O_RDWR),
	    file, fd;
	char path[] = "/tmp/agent_door_test-XXXXXX", link[64], name[64];
	struct agent_welcome w;

	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	close(fd);
	if (!mount_as_memory(path)) {
		printf("SKIP TEST: a_file_with_the_name_of_the_clients_memory_is_not_taken: no mounts of its own: %s\n",
		       strerror(errno));
		unlink(path);
		return;
	}
	file = memory_of("self", O_RDWR);
	ck_assert_int_ge(file, 0);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
	memset(name, 0, sizeof(name));
	ck_assert_int_gt(readlink(link, name, sizeof(name) - 1), 0);
	snprintf(link, sizeof(link), "/proc/%d/mem", (int)getpid());
	ck_assert_str_eq(name, link);
	for (int i = 0; i < 2; i++) {
		fd = reach();
		w = hello_said(fd, good_hello, (int[]){ pidfd, i ? own : file }, 2);
		ck_ok((al_status)w.status);
		ck_assert_uint_eq(w.copies, i);
		close(fd);
	}
	umount2(link, MNT_DETACH);
	unlink(path);
	close(file);
	close(own);
	close(pidfd);
}
END_TEST

/* A process that reads a token, joins the token's session, and reports the status. */
static void joiner(int fd)
{
	struct agent_hello h = good_hello;
	int line = reach();
	al_status said;

	hear(fd, h.token, sizeof(h.token));
	h.role = AGENT_COMMANDS;
	said = hello(line, h, NULL, 0, NULL);
	say(fd, &said, sizeof(said));
	close(line);
}

START_TEST(the_token_of_another_process_joins_nothing)
{
	struct agent_hello h = good_hello;
	struct client c;
	al_status said;
	int fd[2], line;
	pid_t pid;

	client_open(&c);
	two_ends(fd);
	pid = agent_client("joiner", fd[1]);
	say(fd[0], c.token, sizeof(c.token));
	hear(fd[0], &said, sizeof(said));
	ck_status(said, AL_PERMISSION);
	ck_assert_int_eq(wait_for(pid), 0);
	h.role = AGENT_COMMANDS;
	for (size_t bit = 0; bit < sizeof(h.token) * 8; bit++) { /* no token with another bit joins, either */
		memcpy(h.token, c.token, sizeof(h.token));
		h.token[bit / 8] ^= (uint8_t)(1 << bit % 8);
		line = reach();
		ck_status(hello(line, h, NULL, 0, NULL), AL_PERMISSION);
		close(line);
	}
	memcpy(h.token, c.token, sizeof(h.token));
	line = reach();
	ck_ok(hello(line, h, NULL, 0, NULL));
	close(line);
	close(fd[0]);
	close(fd[1]);
	client_close(&c);
}
END_TEST

#define NOBODY 65534

/* A process that begins a session as one user, and tries to join it as another. */
static void turncoat(int fd)
{
	struct agent_hello h = good_hello;
	struct client c;
	int line;

	(void)fd;
	client_open(&c);
	h.role = AGENT_COMMANDS;
	memcpy(h.token, c.token, sizeof(h.token));
	ck_assert_int_eq(setresuid(NOBODY, NOBODY, NOBODY), 0);
	line = reach();
	ck_status(hello(line, h, NULL, 0, NULL), AL_PERMISSION);
	close(line);
	client_close(&c);
}

START_TEST(the_token_of_another_user_joins_nothing)
{
	if (geteuid()) {
		printf("SKIP the_token_of_another_user_joins_nothing: needs root to become another user\n");
		return;
	}
	ck_assert_int_eq(wait_for(agent_client("turncoat", -1)), 0);
}
END_TEST

/* Control characters in a client's name must not reach logs and terminals. */
START_TEST(a_name_that_is_shown_has_no_control_characters)
{
	static const char said[16] = "\033[2J\n\r\t\x7f\x80\xff ~okAB", shown[] = "?[2J?????? ~okA";
	int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0), fd = reach();
	struct agent_hello h = good_hello;
	struct al_snapshot *snap;
	bool found = false;
	al_h al;

	memcpy(h.comm, said, sizeof(h.comm));
	ck_ok(hello(fd, h, &pidfd, 1, NULL));
	al = agent_open();
	ck_ok(al_snapshot(al, &snap));
	for (size_t i = 0; i < snap->num_clients; i++) {
		found = found || !strcmp(snap->clients[i].comm, shown);
		for (const char *c = snap->clients[i].comm; *c; c++)
			ck_assert_msg(*c >= ' ' && *c < 0x7f, "a name has the character %#x", (unsigned char)*c);
	}
	ck_assert(found);
	al_free_snapshot(snap);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	close(fd);
	close(pidfd);
}
END_TEST

START_TEST(of_those_who_say_nothing_the_oldest_makes_room)
{
	int silent[200], before = agent_entries("fd");
	struct timespec deadline;
	char byte;

	for (size_t i = 0; i < sizeof(silent) / sizeof(silent[0]); i++)
		silent[i] = reach();
	ck_assert_int_eq(recv(silent[0], &byte, 1, 0), 0);
	still_there();
	deadline = test_deadline();
	while (agent_entries("fd") >= before + 100) /* the agent's closer threads close them */
		ck_assert_msg(!test_expired(&deadline), "%d descriptors are left", agent_entries("fd") - before);
	for (size_t i = 0; i < sizeof(silent) / sizeof(silent[0]); i++)
		close(silent[i]);
}
END_TEST

START_TEST(without_a_descriptor_left_a_connection_is_hung_up)
{
	struct rlimit before, now;
	int fd[40];
	char byte;

	ck_assert_int_eq(prlimit(agent_pid, RLIMIT_NOFILE, NULL, &before), 0);
	now = (struct rlimit){ (rlim_t)agent_entries("fd"), before.rlim_max };
	ck_assert_int_eq(prlimit(agent_pid, RLIMIT_NOFILE, &now, NULL), 0);
	for (int i = 0; i < 40; i++)
		fd[i] = reach();
	ck_assert_int_le(recv(fd[39], &byte, 1, 0), 0);
	for (int i = 0; i < 40; i++)
		close(fd[i]);
	ck_assert_int_eq(prlimit(agent_pid, RLIMIT_NOFILE, &before, NULL), 0);
}
END_TEST

START_TEST(no_client_begins_while_the_agent_stops)
{
	int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0), fd[8], state;
	al_h al = agent_open();
	struct test_end end[2];
	uint8_t byte = 0;

	test_make_pair(al, end);
	for (int i = 0; i < 8; i++)
		fd[i] = reach();
	put(fd[7], &byte, 1, NULL, 0);
	ck_assert_int_gt(recv(fd[7], &byte, 1, 0), 0); /* the agent has accepted all connections */
	/* The agent sees the signal first, and the hellos while it ends the session. */
	agent_pause();
	ck_assert_int_eq(kill(agent_pid, SIGTERM), 0);
	for (int i = 0; i < 7; i++)
		put(fd[i], &good_hello, sizeof(good_hello), &pidfd, 1);
	al_set_log(test_ignore_log, NULL);
	ck_assert_int_eq(kill(agent_pid, SIGCONT), 0);
	ck_assert_int_eq(waitpid(agent_pid, &state, 0), agent_pid);
	agent_pid = 0;
	for (int i = 0; i < 8; i++)
		close(fd[i]);
	close(pidfd);
	for (int i = 0; i < 2; i++)
		test_free_end(&end[i]);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	agent_stop();
}
END_TEST

/* ------------------------------------------------------------------- requests */

START_TEST(a_record_of_a_wrong_form_is_refused_and_the_connection_stays)
{
	static char record[AGENT_RECORD + 4096];
	struct agent_head *head = (struct agent_head *)record;
	const size_t right = sizeof(*head) + sizeof(struct QUERY_CQ_request);
	const size_t create = sizeof(*head) + sizeof(struct CREATE_CQ_request); /* a provider's data may follow */
	struct QUERY_CQ_answer attr;
	struct agent_answer answer[64];
	struct client c;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), fds[MAX_FDS];
	const struct {
		size_t length;
		uint16_t command, said_fds;
		uint32_t count[2];
		size_t fds; /* number of descriptors sent */
		uint16_t data, room;
	} wrong[] = {
		{ 1, AGENT_QUERY_CQ },
		{ sizeof(*head) - 1, AGENT_QUERY_CQ },
		{ sizeof(*head), AGENT_QUERY_CQ },
		{ right - 1, AGENT_QUERY_CQ },
		{ right + 1, AGENT_QUERY_CQ },
		{ AGENT_RECORD, AGENT_QUERY_CQ },
		{ AGENT_RECORD + 4096, AGENT_QUERY_CQ },
		{ right, AGENT_NUM_COMMANDS },
		{ right, 0xffff },
		{ right, AGENT_QUERY_CQ, 1 },
		{ right, AGENT_QUERY_CQ, 0, { 1, 0 } },
		{ right, AGENT_QUERY_CQ, 0, { 0, UINT32_MAX } },
		{ right, AGENT_POST_RECV, 0, { AGENT_POST_MAX + 1, 0 } },
		{ right, AGENT_POST_RECV, 0, { UINT32_MAX, UINT32_MAX } },
		{ right, AGENT_QUERY_CQ, 0, { 0, 0 }, 1 },
		{ right, AGENT_QUERY_CQ, 0, { 0, 0 }, 8 },
		{ right, AGENT_QUERY_CQ, 1, { 0, 0 }, 1 },
		{ right + 8, AGENT_QUERY_CQ, 0, { 0, 0 }, 0, 8, 0 },
		{ right, AGENT_QUERY_CQ, 0, { 0, 0 }, 0, 0, 8 },
		{ create, AGENT_CREATE_CQ, 2, { 0, 0 }, 1 },
		{ create, AGENT_CREATE_CQ, 0, { 0, 0 }, 1 },
		{ create, AGENT_CREATE_CQ, 1, { 0, 0 }, 0 },
		{ create, AGENT_CREATE_CQ, UVP_MAX_FDS, { 0, 0 }, UVP_MAX_FDS + 1 },
		{ create, AGENT_CREATE_CQ, UVP_MAX_FDS + 1, { 0, 0 }, UVP_MAX_FDS + 1 },
		{ create, AGENT_CREATE_CQ, 0, { 0, 0 }, 0, 8, 0 },
		{ create + 7, AGENT_CREATE_CQ, 0, { 0, 0 }, 0, 8, 0 },
		{ create + UVP_MAX_DATA + 1, AGENT_CREATE_CQ, 0, { 0, 0 }, 0, UVP_MAX_DATA + 1, 0 },
		{ create, AGENT_CREATE_CQ, 0, { 0, 0 }, 0, 0, UVP_MAX_DATA + 1 },
		{ create, AGENT_CREATE_CQ, 0, { 0, 0 }, 0, 0xffff, 0xffff },
	};

	for (int i = 0; i < MAX_FDS; i++)
		fds[i] = null;

	client_open(&c);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		memset(record, 0, sizeof(record));
		*head = (struct agent_head){ wrong[i].command,
					     wrong[i].said_fds,
					     { wrong[i].count[0], wrong[i].count[1] },
					     wrong[i].data,
					     wrong[i].room };
		memcpy(record + sizeof(*head), &c.cq, sizeof(c.cq));
		put(c.line, record, wrong[i].length, fds, wrong[i].fds);
		ck_assert_int_ge(recv(c.line, answer, sizeof(answer), 0), (ssize_t)sizeof(answer[0]));
		ck_assert_msg(answer[0].status == AL_AGENT_PROTOCOL, "record %zu: %s", i,
			      al_status_name((al_status)answer[0].status));
	}
	ck_ok(ASK(&c, QUERY_CQ, &attr, .cq = c.cq));
	ck_assert_uint_ge(attr.attr.cqe, 16);
	client_close(&c);
}
END_TEST

START_TEST(handles_are_the_clients_own_of_the_right_kind_and_fresh)
{
	struct QUERY_CQ_answer attr;
	struct made_answer made;
	struct client a, b;

	client_open(&a);
	client_open(&b);
	ck_status(ASK(&a, QUERY_CQ, &attr, .cq = a.qp), AL_INVALID_HANDLE);
	ck_status(ASK(&a, QUERY_CQ, &attr, .cq = b.cq), AL_INVALID_HANDLE);
	ck_status(ASK(&a, QUERY_CQ, &attr, .cq = 0), AL_INVALID_HANDLE);
	ck_status(ASK(&a, QUERY_CQ, &attr, .cq = UINT64_MAX), AL_INVALID_HANDLE);
	for (int bit = 0; bit < 64; bit++)
		ck_status(ASK(&a, QUERY_CQ, &attr, .cq = a.cq ^ 1ull << bit), AL_INVALID_HANDLE);
	ck_status(ASK(&a, DESTROY, NULL, .handle = b.pd), AL_INVALID_HANDLE);
	ck_status(ASK(&a, DESTROY, NULL, .handle = 0), AL_INVALID_HANDLE);
	ck_status(ASK(&a, DESTROY, NULL, .handle = a.pd), AL_RESOURCE_BUSY);
	ck_status(ASK(&a, DESTROY, NULL, .handle = a.ca), AL_RESOURCE_BUSY); /* callbacks of objects on the HCA may be under way */
	ck_ok(ASK(&a, QUERY_CQ, &attr, .cq = a.cq));
	ck_status(ASK(&a, CREATE_QP, NULL, .pd = a.pd, .send_cq = b.cq, .recv_cq = a.cq, .qp_type = IB_QPT_RC),
		  AL_INVALID_HANDLE);
	ck_ok(ASK(&a, ALLOC_PD, &made, .ca = a.ca));
	ck_ok(ASK(&a, DESTROY, NULL, .handle = made.handle));
	ck_status(ASK(&a, DESTROY, NULL, .handle = made.handle), AL_INVALID_HANDLE);
	ck_ok(ASK(&b, QUERY_CQ, &attr, .cq = b.cq));
	client_close(&a);
	client_close(&b);
}
END_TEST

START_TEST(what_is_inside_a_request_is_checked_too)
{
	struct MODIFY_QP_request modify = { .mask = IB_QP_STATE };
	struct POST_SEND_answer posted;
	struct CREATE_QP_answer made;
	static const struct ib_flat_send wrong[] = {
		{ .opcode = IB_WR_BIND_MW },
		{ .opcode = 255 },
		{ .flags = 0x10 },
		{ .holder = { 1 } },
		{ .key = 1 },
		{ .opcode = IB_WR_RDMA_WRITE, .remote.swap = 1 },
		{ .num_sge = 1, .length = 1 },
	};
	struct ib_flat_send send = { .num_sge = 2 };
	struct ib_flat_recv recv_wr = { .num_sge = 2 }, recvs[2] = { 0 };
	struct ib_flat_send sends[2];
	struct ib_sge sges[2] = { 0 };
	struct REG_MR_answer mr;
	struct ib_sge sge = { 0 };
	struct POLL_CQ_request poll;
	struct client c;

	client_open(&c);
	modify.qp = c.qp;
	*(uint8_t *)&modify.attr.ah_attr.is_global = 2;
	ck_status(ask(c.line, AGENT_MODIFY_QP, &modify, 0, NULL, 0, NULL, NULL), AL_AGENT_PROTOCOL);
	ck_status(ASK(&c, CREATE_QP, &made, .pd = c.pd, .send_cq = c.cq, .recv_cq = c.cq, .qp_type = IB_QPT_RC,
		      .sq_sig_all = 255),
		  AL_AGENT_PROTOCOL);
	ck_status(ASK(&c, CREATE_QP, &made, .pd = c.pd, .send_cq = c.cq, .recv_cq = c.cq, .qp_type = 0xffffffff),
		  AL_INVALID_PARAMETER);
	ck_status(ASK(&c, CREATE_QP, &made, .pd = c.pd, .send_cq = c.cq, .recv_cq = c.cq, .qp_type = IB_QPT_GSI,
		      .port_num = 1),
		  AL_UNSUPPORTED);
	ck_status(ASK(&c, CREATE_CQ, NULL, .pd = c.pd, .cqe = UINT32_MAX), AL_LIMIT_EXCEEDED);
	ck_status(ASK(&c, CREATE_QP, NULL, .pd = c.pd, .send_cq = c.cq, .recv_cq = c.cq, .qp_type = IB_QPT_RC,
		      .cap = { UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX }),
		  AL_LIMIT_EXCEEDED);
	/* a gather list that the record does not have; more inline data than the tail has */
	ck_status(ask(c.line, AGENT_POST_SEND, &c.qp, 1, &send, 1, &sge, &posted), AL_AGENT_PROTOCOL);
	ck_assert_uint_eq(posted.posted, 0);
	send = (struct ib_flat_send){ .flags = IB_SEND_INLINE, .length = 17 };
	ck_status(ask(c.line, AGENT_POST_SEND, &c.qp, 1, &send, 1, &sge, &posted), AL_AGENT_PROTOCOL);
	send = (struct ib_flat_send){ .num_sge = UINT16_MAX };
	ck_status(ask(c.line, AGENT_POST_SEND, &c.qp, 1, &send, 1, &sge, &posted), AL_AGENT_PROTOCOL);
	ck_status(ask(c.line, AGENT_POST_SEND, &c.qp, 0, NULL, 1, &sge, &posted), AL_INVALID_PARAMETER);
	ck_status(ask(c.line, AGENT_POST_RECV, &c.qp, 1, &recv_wr, 1, &sge, &posted), AL_AGENT_PROTOCOL);
	/* fields that the library's packer writes as zero */
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		ck_status(ask(c.line, AGENT_POST_SEND, &c.qp, 1, &wrong[i], 1, &sge, &posted), AL_AGENT_PROTOCOL);
		ck_assert_uint_eq(posted.posted, 0);
	}
	/* a gather list that belongs to another request */
	sends[0] = sends[1] = (struct ib_flat_send){ .num_sge = 1 };
	sends[1].num_sge = 2;
	modify = (struct MODIFY_QP_request){ .qp = c.qp, .mask = IB_QP_STATE, .attr.qp_state = IB_QPS_ERR };
	ck_ok(ask(c.line, AGENT_MODIFY_QP, &modify, 0, NULL, 0, NULL, NULL));
	ck_status(ask(c.line, AGENT_POST_SEND, &c.qp, 2, sends, 2, sges, &posted), AL_AGENT_PROTOCOL);
	ck_assert_uint_eq(posted.posted, 1);
	recvs[0].num_sge = 1;
	recvs[1].num_sge = 2;
	ck_status(ask(c.line, AGENT_POST_RECV, &c.qp, 2, recvs, 2, sges, &posted), AL_AGENT_PROTOCOL);
	recv_wr = (struct ib_flat_recv){ .num_sge = 1, .length = 1 };
	ck_status(ask(c.line, AGENT_POST_RECV, &c.qp, 1, &recv_wr, 1, &sge, &posted), AL_AGENT_PROTOCOL);
	recv_wr.num_sge = UINT32_MAX;
	ck_status(ask(c.line, AGENT_POST_RECV, &c.qp, 1, &recv_wr, 1, &sge, &posted), AL_AGENT_PROTOCOL);
	ck_status(ask(c.line, AGENT_POST_RECV, &c.qp, 0, NULL, 0, NULL, &posted), AL_INVALID_PARAMETER);
	/* the hello had no descriptor of memory, so no memory can be registered */
	ck_status(ASK(&c, REG_MR, &mr, .pd = c.pd, .addr = 4096, .length = 4096, .iova = 4096), AL_MEMORY_OUT_OF_REACH);
	ck_status(ASK(&c, REG_MR, &mr, .pd = c.pd, .addr = 4096, .length = UINT64_MAX), AL_LIMIT_EXCEEDED);
	poll = (struct POLL_CQ_request){ c.cq, UINT64_MAX };
	ck_ok(ask(c.line, AGENT_POLL_CQ, &poll, 0, NULL, 0, NULL, NULL));
	poll.num = 0;
	ck_status(ask(c.line, AGENT_POLL_CQ, &poll, 0, NULL, 0, NULL, NULL), AL_INVALID_PARAMETER);
	ck_status(ASK(&c, ARM_CQ, NULL, .cq = c.cq, .type = 1ull << 32 | 1), AL_INVALID_PARAMETER);
	ck_status(ASK(&c, QUERY_PORT, NULL, .ca = c.ca, .port = 257), AL_INVALID_PORT);
	client_close(&c);
}
END_TEST

START_TEST(what_went_with_its_hca_is_told_to_be_removed)
{
	const uint32_t none = 0;
	struct VENDOR_CALL_request remove;
	struct agent_event event;
	struct made_answer made;
	struct client c;

	client_open(&c);
	ck_ok(ASK(&c, ALLOC_PD, &made, .ca = c.ca));
	ck_ok(ASK(&c, DESTROY, NULL, .handle = made.handle));
	remove = (struct VENDOR_CALL_request){ .ca = c.ca, .code = SOFT_REMOVE };
	ck_ok(ask(c.line, AGENT_VENDOR_CALL, &remove, sizeof(none), &none, 0, NULL, NULL));
	do
		ck_assert_int_eq(recv(c.events, &event, sizeof(event), 0), sizeof(event));
	while (event.kind != AGENT_EVENT_CA_REMOVE);
	ck_status(ASK(&c, QUERY_CQ, NULL, .cq = c.cq), AL_CA_REMOVED);
	ck_status(ASK(&c, DESTROY, NULL, .handle = c.qp), AL_CA_REMOVED);
	ck_status(ASK(&c, ALLOC_PD, NULL, .ca = c.ca), AL_CA_REMOVED);
	ck_status(ASK(&c, DESTROY, NULL, .handle = made.handle), AL_INVALID_HANDLE); /* the object was destroyed before */
	client_close(&c);
}
END_TEST

/* A client sends no record on its event connection; any record ends the session. */
START_TEST(a_client_that_speaks_on_its_event_connection_is_ended)
{
	struct client c;
	char byte = 0;

	client_open(&c);
	put(c.events, &byte, 1, NULL, 0);
	ck_assert_int_eq(recv(c.line, &byte, 1, 0), 0);
	client_close(&c);
}
END_TEST

START_TEST(a_second_question_before_the_answer_does_no_harm)
{
	struct agent_head head = { .command = AGENT_ALLOC_PD };
	struct agent_answer answer[4];
	struct client c;
	char record[sizeof(head) + 8];

	client_open(&c);
	memcpy(record, &head, sizeof(head));
	memcpy(record + sizeof(head), &c.ca, 8);
	for (int i = 0; i < 10; i++)
		put(c.line, record, sizeof(record), NULL, 0);
	for (int i = 0; i < 10; i++) {
		ck_assert_int_ge(recv(c.line, answer, sizeof(answer), 0), (ssize_t)sizeof(answer[0]));
		ck_ok(answer[0].status);
	}
	for (int i = 0; i < 10; i++)
		put(c.line, record, sizeof(record), NULL, 0);
	client_close(&c); /* the client closes before the answers come */
}
END_TEST

/* Sends the descriptor to the agent, which is stopped, and closes it: the agent has the last
 * reference. */
static void give_away(int fd, const void *record, size_t length, int descriptor)
{
	agent_pause();
	put(fd, record, length, &descriptor, 1);
	close(descriptor);
	ck_assert_int_eq(kill(agent_pid, SIGCONT), 0);
}

/* Sends the descriptor on an event connection: any record there, even an empty record, ends the
 * session, and later records are not read. */
static void give_away_at_the_end(int fd, int descriptor)
{
	agent_pause();
	ck_assert_int_eq(send(fd, "", 0, MSG_NOSIGNAL), 0);
	put(fd, "", 1, &descriptor, 1);
	close(descriptor);
	close(fd);
	ck_assert_int_eq(kill(agent_pid, SIGCONT), 0);
}

START_TEST(a_descriptor_that_blocks_when_it_is_closed_holds_up_no_client)
{
	const struct agent_hello wrong = { 0 };
	struct agent_answer answer[2];
	struct agent_welcome refused;
	struct client c;
	int peer[4], fd = reach(), pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	/* the agent reads the descriptor with a hello, and with a request */
	give_away(fd, &wrong, sizeof(wrong), lingering(&peer[0]));
	ck_assert_int_eq(recv(fd, &refused, sizeof(refused), 0), sizeof(refused));
	close(fd);
	client_open(&c);
	give_away(c.line, "", 1, lingering(&peer[1]));
	ck_assert_int_gt(recv(c.line, answer, sizeof(answer), 0), 0);
	ck_assert_int_eq(answer[0].status, AL_AGENT_PROTOCOL);
	/* the agent does not read the descriptor; the second client's end is an error, since the
	 * client has not read its welcome */
	give_away_at_the_end(c.events, lingering(&peer[2]));
	close(c.line);
	fd = reach();
	put(fd, &good_hello, sizeof(good_hello), &pidfd, 1);
	ck_assert_int_eq(recv(fd, &refused, sizeof(refused), MSG_PEEK), sizeof(refused));
	give_away_at_the_end(fd, lingering(&peer[3]));
	close(pidfd);
	still_there();
	for (int i = 0; i < 4; i++)
		close(peer[i]);
}
END_TEST

/* --------------------------------------------------------------- random records */

static uint64_t chance = 88172645463325252ull;

static uint64_t draw(uint64_t below)
{
	chance ^= chance << 13;
	chance ^= chance >> 7;
	chance ^= chance << 17;
	return chance % below;
}

/* Sends a request of the command table's form, with random content and mostly valid handles. */
static size_t random_record(struct client *c, char *record)
{
	const uint64_t handles[] = { c->ca, c->pd, c->cq, c->qp };
	enum agent_command command;
	const struct agent_sizes *sizes;
	struct agent_head *head = (struct agent_head *)record;
	size_t length;

	do
		command = (enum agent_command)draw(AGENT_NUM_COMMANDS);
	while (command == AGENT_VENDOR_CALL || command == AGENT_MODIFY_PORT); /* a client of root could pull cables by these */
	sizes = &agent_sizes[command];
	*head = (struct agent_head){ .command = (uint16_t)command };
	length = sizeof(*head) + sizes->request;
	for (int i = 0; i < 2; i++) {
		head->count[i] = sizes->in[i].size ? (uint32_t)draw(4) : 0;
		length += head->count[i] * sizes->in[i].size;
	}
	if (sizes->vendor) {
		head->data = (uint16_t)draw(3) * 20;
		head->room = (uint16_t)draw(3) * 20;
		length += head->data;
	}
	for (size_t i = sizeof(*head); i < length; i++)
		record[i] = (char)(draw(3) ? 0 : draw(256));
	for (size_t i = 0; i < 3 && (i + 1) * 8 <= sizes->request; i++)
		if (draw(4))
			memcpy(record + sizeof(*head) + i * 8, &handles[draw(4)], 8);
	if (!draw(8))
		length = draw(length + 16);
	if (!draw(16))
		record[draw(sizeof(*head))] ^= (char)(1 << draw(8));
	return length ? length : 1;
}

START_TEST(chance_finds_no_way_through_the_door)
{
	static char record[AGENT_RECORD], answer[AGENT_RECORD];
	const int rounds = getenv("IBAL_TEST_LONG") ? 400 : 20;
	struct client c;
	ssize_t n;

	for (int round = 0; round < rounds; round++) {
		client_open(&c);
		for (int i = 0; i < 200; i++) {
			put(c.line, record, random_record(&c, record), NULL, 0);
			n = recv(c.line, answer, sizeof(answer), 0);
			ck_assert_msg(n >= (ssize_t)sizeof(struct agent_answer), "round %d, record %d: no answer", round, i);
		}
		client_close(&c);
	}
}
END_TEST

int main(int argc, char **argv)
{
	static const struct agent_client clients[] = { { "joiner", joiner }, { "turncoat", turncoat }, { NULL, NULL } };
	Suite *suite;
	TCase *tcase;

	agent_be_client(argc, argv, clients);
	suite = suite_create("e2e/agent_door");
	tcase = tcase_create("door");
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, a_wrong_hello_is_refused);
	tcase_add_test(tcase, memory_that_is_not_the_clients_own_is_not_taken);
	tcase_add_test(tcase, a_file_with_the_name_of_the_clients_memory_is_not_taken);
	tcase_add_test(tcase, the_token_of_another_process_joins_nothing);
	tcase_add_test(tcase, the_token_of_another_user_joins_nothing);
	tcase_add_test(tcase, a_name_that_is_shown_has_no_control_characters);
	tcase_add_test(tcase, of_those_who_say_nothing_the_oldest_makes_room);
	tcase_add_test(tcase, without_a_descriptor_left_a_connection_is_hung_up);
	tcase_add_test(tcase, a_descriptor_that_blocks_when_it_is_closed_holds_up_no_client);
	tcase_add_test(tcase, a_record_of_a_wrong_form_is_refused_and_the_connection_stays);
	tcase_add_test(tcase, handles_are_the_clients_own_of_the_right_kind_and_fresh);
	tcase_add_test(tcase, what_is_inside_a_request_is_checked_too);
	tcase_add_test(tcase, a_client_that_speaks_on_its_event_connection_is_ended);
	tcase_add_test(tcase, a_second_question_before_the_answer_does_no_harm);
	tcase_add_test(tcase, chance_finds_no_way_through_the_door);
	suite_add_tcase(suite, tcase);
	tcase = tcase_create("end");
	tcase_add_checked_fixture(tcase, set_up, agent_stop);
	tcase_add_test(tcase, what_went_with_its_hca_is_told_to_be_removed);
	suite_add_tcase(suite, tcase);
	tcase = tcase_create("stop");
	tcase_add_checked_fixture(tcase, set_up, NULL);
	tcase_add_test(tcase, no_client_begins_while_the_agent_stops);
	suite_add_tcase(suite, tcase);
	return test_run(suite);
}
