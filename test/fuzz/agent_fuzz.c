/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Input at the agent's socket: a session of records of the command table's form, with handles of the right kinds,
 * which the input changes where it likes. The agent runs within the process; the client has no memory but memfds, so
 * that nothing of the process can be overwritten.
 *
 * For every input, each record has one answer, of the size that the table says and with a status of the Access Layer;
 * each created object has a handle; and when the client has ended, none of its objects is left.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "al/agent/ald.h"
#include "al/protocol/protocol.h"
#include "fuzz.h"

#define RECORDS         48 /* records of a session */
#define MOST_MADE       16 /* objects of each kind */
#define SHARED          65536
#define MUST(condition) ((condition) ? (void)0 : (fputs(#condition "\n", stderr), abort()))

/* From the table: the kinds of each request's leading handles, and the kind of object that the request creates. */
enum kind {
	NONE = AL_OBJ_NONE,
#define KIND(NAME, ...) NAME = AL_OBJ_##NAME,
#include "al/agent/kinds.def"
	ANY = 0x7f,
	OPTIONAL = 0x80,
};

#define HANDLES(...)        \
	{                   \
		__VA_ARGS__ \
	}
static const struct {
	uint8_t makes;
	uint8_t handles[4];
} rows[AGENT_NUM_COMMANDS] = {
#define COMMAND(name, where, right, makes, vendor, handles, bools, first, second, out) \
	[AGENT_##name] = { makes, handles },
#include "al/protocol/commands.def"
};

struct input {
	const uint8_t *data;
	size_t left;
};

static char path[64];
static al_h al;         /* the opening that has the agent's HCAs */
static size_t at_first; /* number of objects before any client */
static int shared;

struct session {
	int events, line;
	uint64_t guid;
	uint64_t made[AL_OBJ_TYPES][MOST_MADE];
	uint8_t num[AL_OBJ_TYPES];
};

static uint8_t next(struct input *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->data++;
}

static size_t objects(void)
{
	struct al_snapshot *snap;
	size_t num;

	MUST(!al_snapshot(al, &snap));
	num = snap->num_objects;
	al_free_snapshot(snap);
	return num;
}

static void ignore(void *context, ib_log_level level, const char *text)
{
	(void)context;
	(void)level;
	(void)text;
}

static void remove_socket(void)
{
	ald_stop();
	*strrchr(path, '/') = '\0';
	rmdir(path);
}

/* libFuzzer measures time by a signal, which would end a call that waits for the agent with EINTR. */
static void let_calls_go_on(void)
{
	struct sigaction action;

	MUST(!sigaction(SIGALRM, NULL, &action));
	action.sa_flags |= SA_RESTART;
	MUST(!sigaction(SIGALRM, &action, NULL));
}

static void start(void)
{
	char dir[] = "/tmp/agent_fuzz-XXXXXX";
	const struct al_open_attr own = { .agent = "off", .config = "" };
	struct ald_attr attr = { .mode = 0600, .config = "", .limits = ald_default_limits };

	let_calls_go_on();
	MUST(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/socket", dir);
	attr.socket = path;
	al_set_log(ignore, NULL);
	MUST(!ald_start(&attr));
	MUST(!al_open(&own, &al));
	at_first = objects();
	shared = memfd_create("shared", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	MUST(shared >= 0 && !ftruncate(shared, SHARED) &&
	     !fcntl(shared, F_ADD_SEALS, F_SEAL_SHRINK));
	atexit(remove_socket);
}

/* ----------------------------------------------------------------- the socket */

static int reach(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	strcpy(addr.sun_path, path);
	MUST(fd >= 0 && !connect(fd, (struct sockaddr *)&addr, sizeof(addr)));
	return fd;
}

static void put(int fd, const void *record, size_t length, const int *fds, uint32_t num)
{
	char control[AGENT_FDS_ROOM] __attribute__((aligned(8)));
	struct iovec iov = { (void *)(uintptr_t)record, length };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	agent_put_fds(&msg, control, fds, num);
	MUST(sendmsg(fd, &msg, MSG_NOSIGNAL) == (ssize_t)length);
}

static void come(struct session *s)
{
	struct agent_hello hello = { .magic = AGENT_MAGIC,
				     .protocol = AGENT_PROTOCOL,
				     .role = AGENT_EVENTS,
				     .comm = "fuzz" };
	int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	struct agent_welcome welcome;
	struct agent_event event;

	*s = (struct session){ .events = reach() };
	put(s->events, &hello, sizeof(hello), &pidfd, 1);
	close(pidfd);
	MUST(recv(s->events, &welcome, sizeof(welcome), 0) == sizeof(welcome) && !welcome.status);
	do {
		MUST(recv(s->events, &event, sizeof(event), 0) == sizeof(event));
		s->guid = event.kind == AGENT_EVENT_CA_ADD ? event.guid : s->guid;
	} while (event.kind != AGENT_EVENT_READY);
	s->line = reach();
	hello.role = AGENT_COMMANDS;
	memcpy(hello.token, welcome.token, sizeof(hello.token));
	put(s->line, &hello, sizeof(hello), NULL, 0);
	MUST(recv(s->line, &welcome, sizeof(welcome), 0) == sizeof(welcome) && !welcome.status);
}

/* Ends the client, and waits until no object of the client is left. */
static void go(const struct session *s)
{
	struct timespec start_time, now;

	close(s->line);
	close(s->events);
	clock_gettime(CLOCK_MONOTONIC, &start_time);
	while (objects() > at_first) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		MUST(now.tv_sec - start_time.tv_sec < 15);
		sched_yield();
	}
}

/* ----------------------------------------------------------------- a record */

/* Fills in a correct request; the input changes it afterwards. */
static void fill_in(const struct session *s, enum agent_command command, void *request)
{
	struct REG_MR_request *mr = request;
	struct CREATE_CQ_request *cq = request;
	struct CREATE_QP_request *qp = request;
	struct OPEN_CA_request *ca = request;

	switch (command) {
	case AGENT_MODULE_OF:
	case AGENT_OPEN_CA:
		ca->guid = s->guid;
		break;
	case AGENT_REG_MR:
		mr->addr = mr->iova = 0x100000;
		mr->length = SHARED;
		mr->access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE;
		mr->mapped = 1;
		break;
	case AGENT_CREATE_CQ:
		cq->cqe = 16;
		break;
	case AGENT_CREATE_QP:
		qp->qp_type = IB_QPT_RC;
		qp->cap = (struct ib_qp_cap){ 4, 4, 2, 2, 16 };
		break;
	default:
		break;
	}
}

static uint64_t handle_of(const struct session *s, uint8_t kind, uint8_t which)
{
	if (kind == ANY) /* an object of any kind */
		for (kind = AL_OBJ_TYPES - 1; kind && !s->num[kind]; kind--)
			;
	kind &= (uint8_t)~OPTIONAL;
	return s->num[kind] ? s->made[kind][which % s->num[kind]] : 0;
}

/* Makes a record. Returns its length; *num becomes the number of its descriptors. */
static size_t build(const struct session *s, struct input *in, char *record, int *fds,
		    uint32_t *num)
{
	struct agent_head *head = (struct agent_head *)record;
	const enum agent_command command = (enum agent_command)(next(in) % AGENT_NUM_COMMANDS);
	const struct agent_sizes *sizes = &agent_sizes[command];
	uint8_t shape = next(in);
	size_t length = sizeof(*head) + sizes->request;

	memset(record, 0, AGENT_RECORD);
	*head = (struct agent_head){ .command = (uint16_t)command };
	fill_in(s, command, record + sizeof(*head));
	for (int i = 0; rows[command].handles[i]; i++) {
		uint64_t handle = handle_of(s, rows[command].handles[i], next(in));

		memcpy(record + sizeof(*head) + i * sizeof(handle), &handle, sizeof(handle));
	}
	for (int i = 0; i < 2; i++)
		if (sizes->in[i].size) {
			head->count[i] = next(in) % 8;
			length += head->count[i] * sizes->in[i].size;
		}
	if (sizes->vendor && shape & 1) {
		head->data = next(in);
		head->room = next(in);
		length += head->data;
	}
	*num = 0;
	if (command == AGENT_REG_MR)
		fds[(*num)++] = shared;
	for (int n = shape >> 1 & 3; n; n--)
		fds[(*num)++] = next(in) & 1 ? STDERR_FILENO : shared;
	head->fds = (uint16_t)*num;
	for (int n = shape >> 3 & 15; n; n--) { /* any other value */
		size_t at = next(in) | (size_t)next(in) << 8;

		record[at % length] ^= (char)next(in);
	}
	if (shape & 128)
		length = 1 + (next(in) | (size_t)next(in) << 8) % (AGENT_RECORD - 1);
	return length;
}

/* Checks the answer against the table. */
static void check_answer(struct session *s, enum agent_command command, const char *answer,
			 ssize_t n)
{
	const struct agent_answer *a = (const struct agent_answer *)answer;
	const uint8_t makes = rows[command].makes;
	uint64_t handle;

	if (a->status == AL_AGENT_PROTOCOL) /* the answer of a wrong record, which may not have this command's form */
		return;
	MUST(n == (ssize_t)(sizeof(*a) + agent_sizes[command].answer +
			    a->count * agent_sizes[command].out.size + a->data));
	MUST(strncmp(al_status_name((al_status)a->status), "AL_", 3) == 0);
	if (a->status || !makes)
		return;
	memcpy(&handle, answer + sizeof(*a), sizeof(handle));
	MUST(handle);
	if (s->num[makes] < MOST_MADE)
		s->made[makes][s->num[makes]++] = handle;
}

/* Not tested here: vendor calls, which write files and remove HCAs, and ports that are set down, which move no data. */
static int is_out_of_bounds(const struct agent_head *head)
{
	return head->command == AGENT_VENDOR_CALL || head->command == AGENT_MODIFY_PORT;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char record[AGENT_RECORD], answer[AGENT_RECORD];
	const struct agent_head *head = (const struct agent_head *)record;
	struct input in = { data, size };
	struct session s;
	int fds[16];
	size_t length;
	uint32_t num;
	ssize_t n;

	if (!al)
		start();
	come(&s);
	for (int i = 0; i < RECORDS && in.left; i++) {
		length = build(&s, &in, record, fds, &num);
		if (is_out_of_bounds(head))
			continue;
		put(s.line, record, length, fds, num);
		n = recv(s.line, answer, sizeof(answer), 0);
		if (n < (ssize_t)sizeof(struct agent_answer))
			fprintf(stderr, "record %d, command %u, %zu bytes, %u descriptors: %zd (%m)\n", i,
				head->command, length, num, n);
		MUST(n >= (ssize_t)sizeof(struct agent_answer));
		/* an unknown command has an answer without a body */
		if (n > (ssize_t)sizeof(struct agent_answer) && head->command < AGENT_NUM_COMMANDS)
			check_answer(&s, (enum agent_command)head->command, answer, n);
	}
	go(&s);
	return 0;
}
