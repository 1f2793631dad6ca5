/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Openings that an agent, its socket or this process's limits refuse or delay: each case has one
 * status, and one message with a remedy.
 */
#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/un.h>

#include "test/e2e/agent.h"

#include "al/protocol/protocol.h"

static char said[4096]; /* all messages of the log, but the line of the refused call */

static void hear_log(void *context, ib_log_level level, const char *text)
{
	(void)context;
	if (level == IB_LOG_DEBUG)
		return;
	strncat(said, text, sizeof(said) - strlen(said) - 1);
	strncat(said, "\n", sizeof(said) - strlen(said) - 1);
}

static int own_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	ck_assert_ptr_nonnull(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

/* The message has the expected words; only a message about a missing agent advises to start ald. */
static void open_is_refused(const char *agent, al_status want, const char *words)
{
	const struct al_open_attr attr = { .agent = agent, .config = "" };
	al_h al = (al_h)said;

	said[0] = '\0';
	al_set_log(hear_log, NULL);
	ck_status(al_open(&attr, &al), want);
	al_set_log(NULL, NULL);
	ck_assert_ptr_eq(al, said);
	ck_assert_msg(strstr(said, words) != NULL, "%s", said);
	ck_assert_msg((want == AL_NOT_FOUND || want == AL_AGENT_REFUSED) == (strstr(said, "start ald") != NULL), "%s", said);
	ck_assert_msg(strchr(said, '\n') == said + strlen(said) - 1, "%s", said);
}

/* A refused opening leaves no descriptor. */
static void refused(const char *agent, al_status want, const char *words)
{
	int fds = own_fds();

	open_is_refused(agent, want, words);
	ck_assert_int_eq(own_fds(), fds);
}

/* Makes a directory for a socket, without an agent. */
static void make_place(void)
{
	ck_assert_ptr_nonnull(mkdtemp(agent_dir));
	ck_assert_int_eq(chmod(agent_dir, 0755), 0);
	snprintf(agent_socket, sizeof(agent_socket), "%s/ald.socket", agent_dir);
}

START_TEST(where_there_is_no_socket_ald_is_to_be_started)
{
	char path[sizeof(agent_socket) + 8];
	int fd;

	make_place();
	refused(agent_socket, AL_NOT_FOUND, "there is no such socket; start ald there, or set IBAL_AGENT=off");
	snprintf(path, sizeof(path), "%s/more", agent_socket);
	refused(path, AL_NOT_FOUND, "there is no such socket; start ald there, or set IBAL_AGENT=off");
	fd = open(agent_socket, O_CREAT | O_WRONLY | O_CLOEXEC, 0666);
	close(fd);
	refused(path, AL_NOT_FOUND, "there is no such socket"); /* a path below a file */
	agent_stop();
}
END_TEST

START_TEST(where_no_agent_listens_any_more_ald_is_to_be_started)
{
	agent_start(NULL, NULL);
	agent_kill(SIGKILL);
	refused(agent_socket, AL_AGENT_REFUSED, "no agent listens: an ald that was killed has left the socket; start ald there");
	agent_stop();
}
END_TEST

static int listen_at(int type)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	strcpy(addr.sun_path, agent_socket);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	ck_assert_int_eq(listen(fd, 8), 0);
	return fd;
}

START_TEST(what_is_no_socket_of_an_agents_is_to_be_named_otherwise)
{
	char path[300];
	int fd;

	make_place();
	refused("", AL_INVALID_PARAMETER, "from 1 to 107 characters; name ald's");
	memset(path, 'x', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	refused(path, AL_INVALID_PARAMETER, "from 1 to 107 characters; name ald's");
	path[108] = '\0';
	refused(path, AL_INVALID_PARAMETER, "from 1 to 107 characters; name ald's");
	refused(agent_dir, AL_INVALID_PARAMETER, "no socket of an agent; name ald's socket");
	fd = open(agent_socket, O_CREAT | O_WRONLY | O_CLOEXEC, 0666);
	refused(agent_socket, AL_INVALID_PARAMETER, "no socket of an agent; name ald's socket");
	close(fd);
	unlink(agent_socket);
	fd = listen_at(SOCK_STREAM);
	refused(agent_socket, AL_INVALID_PARAMETER, "no socket of an agent; name ald's socket");
	close(fd);
	agent_stop();
}
END_TEST

/* ------------------------------------------------------------- other users */

static void become_another(void)
{
	ck_assert_int_eq(setresgid(65534, 65534, 65534), 0);
	ck_assert_int_eq(setresuid(65534, 65534, 65534), 0);
}

/* With root rights a test becomes another user; without them, the permission is withdrawn from this
 * user. */
static void not_admitted(int fd)
{
	(void)fd;
	if (!geteuid())
		become_another();
	refused(agent_socket, AL_PERMISSION, "you may not connect; ald's --mode, or SocketMode=");
}

START_TEST(who_may_not_connect_is_told_what_says_so)
{
	agent_start("--mode", geteuid() ? "000" : "600");
	ck_assert_int_eq(wait_for(agent_client("not_admitted", -1)), 0);
	agent_stop();
}
END_TEST

static void not_let_by(int fd)
{
	(void)fd;
	if (!geteuid())
		become_another();
	refused(agent_socket, AL_PERMISSION, "you may not search a directory on the way");
}

START_TEST(a_directory_that_may_not_be_searched_is_told_of)
{
	agent_start("--mode", "666");
	ck_assert_int_eq(chmod(agent_dir, geteuid() ? 0 : 0700), 0);
	ck_assert_int_eq(wait_for(agent_client("not_let_by", -1)), 0);
	ck_assert_int_eq(chmod(agent_dir, 0755), 0);
	agent_stop();
}
END_TEST

/* A listener of another user, which closes each connection. */
static void listener(int fd)
{
	int sock, line;

	become_another();
	sock = listen_at(SOCK_SEQPACKET);
	say(fd, "", 1);
	while ((line = accept(sock, NULL, NULL)) >= 0)
		close(line);
}

/* Starts a process that listens in the agent's place, and becomes another user when the test
 * wants. */
static pid_t agent_of_another(const char *client)
{
	char ready;
	int fd[2];
	pid_t pid;

	make_place();
	ck_assert_int_eq(chmod(agent_dir, 0777), 0);
	two_ends(fd);
	pid = agent_client(client, fd[1]);
	hear(fd[0], &ready, 1);
	for (int i = 0; i < 2; i++)
		close(fd[i]);
	return pid;
}

START_TEST(another_users_agent_is_to_be_trusted_first)
{
	pid_t pid;

	if (geteuid()) {
		printf("SKIP another_users_agent_is_to_be_trusted_first: needs root to become another user\n");
		return;
	}
	pid = agent_of_another("listener");
	refused(agent_socket, AL_AGENT_UNTRUSTED, "user 65534's, neither root's nor yours, and not trusted");
	ck_assert(!setenv("IBAL_AGENT_USER", "1234567", 1));
	refused(agent_socket, AL_AGENT_UNTRUSTED, "unless agent_user names him");
	ck_assert(!setenv("IBAL_AGENT_USER", "no such user", 1));
	refused(agent_socket, AL_BAD_CONFIG, "agent_user is no such user, a user that this system does not know; correct it");
	ck_assert(!setenv("IBAL_AGENT_USER", "65534", 1));
	refused(agent_socket, AL_AGENT_LOST, "the agent has closed the connection"); /* the user was trusted */
	kill(pid, SIGKILL);
	wait_for(pid);
	agent_stop();
}
END_TEST

/* An agent that answers the session's connection as this user, and is another user when the other
 * connections come. */
static void changeling(int fd)
{
	const struct agent_welcome w = { .magic = AGENT_MAGIC,
					 .protocol = AGENT_PROTOCOL,
					 .copies = 1 };
	int sock = listen_at(SOCK_SEQPACKET), line, session;
	char hello[512];

	say(fd, "", 1);
	session = accept(sock, NULL, NULL);
	ck_assert_int_eq(recv(session, hello, sizeof(hello), 0), sizeof(struct agent_hello));
	ck_assert_int_eq(unlink(agent_socket), 0);
	become_another();
	sock = listen_at(SOCK_SEQPACKET);
	say(session, &w, sizeof(w));
	while ((line = accept(sock, NULL, NULL)) >= 0)
		close(line);
}

START_TEST(every_connection_is_to_a_trusted_agent)
{
	pid_t pid;

	if (geteuid()) {
		printf("SKIP every_connection_is_to_a_trusted_agent: needs root to become another user\n");
		return;
	}
	pid = agent_of_another("changeling");
	refused(agent_socket, AL_AGENT_UNTRUSTED,
		"user 65534's, neither root's nor yours, and not trusted");
	kill(pid, SIGKILL);
	wait_for(pid);
	agent_stop();
}
END_TEST

/* ------------------------------------------------------- answers to a hello */

static struct answer {
	int listener;
	const void *record;
	size_t length; /* 0: the peer closes the connection */
} answer;

static void *answer_one(void *arg)
{
	char hello[512];
	int line = accept(answer.listener, NULL, NULL);

	(void)arg;
	if (recv(line, hello, sizeof(hello), 0) > 0 && answer.length)
		send(line, answer.record, answer.length, MSG_NOSIGNAL);
	close(line);
	return NULL;
}

static void answered(const void *record, size_t length, al_status want, const char *words)
{
	int fds = own_fds();
	pthread_t thread;

	answer.record = record;
	answer.length = length;
	ck_assert(!pthread_create(&thread, NULL, answer_one, NULL));
	open_is_refused(agent_socket, want, words);
	ck_assert(!pthread_join(thread, NULL)); /* the peer has closed its end of the connection */
	ck_assert_int_eq(own_fds(), fds);
}

START_TEST(each_answer_to_the_hello_has_its_status)
{
	struct agent_welcome w = { .magic = AGENT_MAGIC, .protocol = AGENT_PROTOCOL };

	make_place();
	answer.listener = listen_at(SOCK_SEQPACKET);
	answered(NULL, 0, AL_AGENT_LOST, "the agent has closed the connection: it ends, or has too much to do; try again");
	answered("What?", 5, AL_AGENT_PROTOCOL, "another program than ald listens there; name ald's socket");
	w.protocol++;
	answered(&w, sizeof(w), AL_AGENT_PROTOCOL, "install both from one version");
	answered(&w, offsetof(struct agent_welcome, status), AL_AGENT_PROTOCOL, "install both from one version");
	w.protocol--;
	answered(&w, sizeof(w) - 1, AL_AGENT_PROTOCOL, "install both from one version");
	w.magic++;
	answered(&w, sizeof(w), AL_AGENT_PROTOCOL, "another program than ald listens there; name ald's socket");
	w.magic--;
	w.status = AL_INSUFFICIENT_MEMORY;
	answered(&w, sizeof(w), AL_INSUFFICIENT_MEMORY, "out of memory; its log may say more");
	w.status = AL_LIMIT_EXCEEDED;
	answered(&w, sizeof(w), AL_LIMIT_EXCEEDED, "end others, or raise clients in its ibal.conf");
	close(answer.listener);
	agent_stop();
}
END_TEST

/* ------------------------------------------------------ an agent that is silent */

/* Welcomes every connection, and says no more. */
static void *welcome_all(void *arg)
{
	const struct agent_welcome w = { .magic = AGENT_MAGIC,
					 .protocol = AGENT_PROTOCOL,
					 .copies = 1 };
	int lines[64], num = 0;
	char hello[512];

	(void)arg;
	while (num < 64 && (lines[num] = accept(answer.listener, NULL, NULL)) >= 0) {
		recv(lines[num], hello, sizeof(hello), 0);
		send(lines[num++], &w, sizeof(w), MSG_NOSIGNAL); /* may be closed already */
	}
	while (num)
		close(lines[--num]);
	return NULL;
}

START_TEST(an_agent_that_stays_silent_is_given_up)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fds, before_us;
	pthread_t thread;
	const char *wrong[] = { "", "0", "-1", "1s", " 1", "86401", "99999999999999999999" };

	make_place();
	answer.listener = listen_at(SOCK_SEQPACKET);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		ck_assert(!setenv("IBAL_AGENT_WAIT", wrong[i], 1));
		open_is_refused(agent_socket, AL_BAD_CONFIG,
				"is no number of seconds from 1 to 86400");
	}
	ck_assert(!setenv("IBAL_AGENT_WAIT", "1", 1));
	fds = own_fds();
	/* nobody answers the hello */
	open_is_refused(agent_socket, AL_TIMEOUT, "the agent does not answer within 1 s");
	ck_assert_int_eq(own_fds(), fds);
	/* nobody tells which HCAs there are */
	ck_assert(!pthread_create(&thread, NULL, welcome_all, NULL));
	open_is_refused(agent_socket, AL_TIMEOUT, "the agent does not answer within 1 s");
	shutdown(answer.listener, SHUT_RDWR);
	ck_assert(!pthread_join(thread, NULL));
	close(answer.listener);
	/* nobody takes the connection */
	unlink(agent_socket);
	answer.listener = listen_at(SOCK_SEQPACKET);
	ck_assert_int_eq(listen(answer.listener, 0), 0); /* room for one connection */
	before_us = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	strcpy(addr.sun_path, agent_socket);
	ck_assert_int_eq(connect(before_us, (struct sockaddr *)&addr, sizeof(addr)), 0);
	open_is_refused(agent_socket, AL_TIMEOUT, "the agent does not answer within 1 s");
	close(answer.listener);
	/* and the next opening does not find the connection that was given up */
	open_is_refused(agent_socket, AL_AGENT_REFUSED, "no agent listens");
	close(before_us);
	agent_stop();
}
END_TEST

/* ------------------------------------------------------ reasons of an agent */

/* Atomic: a sanitizer does not see that a request comes after what the test has set. */
static struct {
	_Atomic al_status status;
	_Atomic size_t length; /* bytes of the reason, each an x */
} refusal;

/* Answers a request for a module by the refusal. */
static void refuse_request(int line)
{
	static char
		record[sizeof(struct agent_answer) + sizeof(struct MODULE_OF_answer) + UINT16_MAX];
	const size_t fixed = sizeof(struct agent_answer) + sizeof(struct MODULE_OF_answer);
	const struct agent_answer head = { .status = refusal.status,
					   .data = (uint16_t)refusal.length };
	char request[512];

	if (recv(line, request, sizeof(request), 0) <= 0)
		return;
	memset(record, 0, fixed);
	memcpy(record, &head, sizeof(head));
	memset(record + fixed, 'x', refusal.length);
	send(line, record, fixed + refusal.length, MSG_NOSIGNAL);
}

/* An agent without HCAs, which refuses every request of one client. */
static void *refuse_all(void *arg)
{
	const struct agent_welcome w = { .magic = AGENT_MAGIC,
					 .protocol = AGENT_PROTOCOL,
					 .copies = 1 };
	const struct agent_event ready = { .kind = AGENT_EVENT_READY };
	struct pollfd lines[16] = { { .fd = answer.listener, .events = POLLIN } };
	nfds_t num = 1;
	char hello[512];

	(void)arg;
	while (num < 2 || !(lines[1].revents & POLLHUP)) { /* the client's connection of events */
		ck_assert_int_gt(poll(lines, num, -1), 0);
		for (nfds_t i = 1; i < num; i++)
			if (lines[i].revents & POLLIN)
				refuse_request(lines[i].fd);
		if (!(lines[0].revents & POLLIN))
			continue;
		ck_assert_uint_lt(num, 16);
		lines[num] = (struct pollfd){ .fd = accept(answer.listener, NULL, NULL),
					      .events = POLLIN };
		recv(lines[num].fd, hello, sizeof(hello), 0);
		send(lines[num].fd, &w, sizeof(w), MSG_NOSIGNAL);
		if (num++ == 1)
			send(lines[1].fd, &ready, sizeof(ready), MSG_NOSIGNAL);
	}
	while (--num)
		close(lines[num].fd);
	return NULL;
}

START_TEST(an_agents_reason_has_a_most_length_and_a_longer_one_is_no_answer)
{
	const struct al_open_attr attr = { .agent = agent_socket, .config = "" };
	char most[AGENT_REASON + 1], text[128];
	pthread_t thread;
	al_ca_h ca;
	al_h al;

	make_place();
	answer.listener = listen_at(SOCK_SEQPACKET);
	ck_assert(!pthread_create(&thread, NULL, refuse_all, NULL));
	ck_ok(al_open(&attr, &al));
	refusal.status = AL_PERMISSION;
	ck_status(al_open_ca(al, 0x77, NULL, &ca), AL_PERMISSION);
	snprintf(text, sizeof(text), "the agent refuses MODULE_OF: %s",
		 al_status_str(AL_PERMISSION));
	ck_assert_str_eq(al_reason(), text);
	refusal.length = AGENT_REASON;
	memset(most, 'x', AGENT_REASON);
	most[AGENT_REASON] = 0;
	ck_status(al_open_ca(al, 0x77, NULL, &ca), AL_PERMISSION);
	ck_assert_str_eq(al_reason(), most);
	refusal.length = AGENT_REASON + 1;
	ck_status(al_open_ca(al, 0x77, NULL, &ca), AL_AGENT_LOST);
	ck_assert_str_eq(al_reason(), al_status_str(AL_AGENT_LOST));
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	ck_assert(!pthread_join(thread, NULL));
	close(answer.listener);
	agent_stop();
}
END_TEST

/* ------------------------------------------------------------------ limits */

static void second(int fd)
{
	(void)fd;
	refused(agent_socket, AL_LIMIT_EXCEEDED, "end others, or raise clients in its ibal.conf");
}

START_TEST(a_client_too_many_is_told_of_the_limit)
{
	al_h al;

	agent_start("--max-clients", "1");
	al = agent_open();
	ck_assert_int_eq(wait_for(agent_client("second", -1)), 0);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	agent_stop();
}
END_TEST

START_TEST(a_client_that_gets_too_few_connections_is_told_of_the_limit)
{
	static const char text[] = "[ald client]\nconnections = 3\n";
	char path[] = "/tmp/refusal_test-XXXXXX";
	int fd = mkstemp(path);

	ck_assert_int_eq(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	close(fd);
	agent_start("--config", path);
	refused(agent_socket, AL_LIMIT_EXCEEDED, "raise connections in its ibal.conf");
	agent_stop();
	unlink(path);
}
END_TEST

/* With any number of descriptors left, the opening succeeds or reports the shortage. */
START_TEST(with_too_few_descriptors_that_is_said_and_with_more_it_serves)
{
	const struct al_open_attr attr = { .agent = agent_socket, .config = "" };
	struct rlimit limit, low;
	int refusals = 0;
	al_status status;
	al_h al;

	agent_start(NULL, NULL);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	al_set_log(hear_log, NULL);
	for (low = limit, low.rlim_cur = 3;; low.rlim_cur++, refusals++) {
		said[0] = '\0';
		ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
		status = al_open(&attr, &al);
		ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
		if (!status)
			break;
		ck_status(status, AL_INSUFFICIENT_RESOURCES);
		ck_assert_msg(strstr(said, "raise the limit (ulimit -n)") != NULL, "%s", said);
	}
	ck_assert_int_ge(refusals, 7); /* one descriptor of events, and six for commands */
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	al_set_log(NULL, NULL);
	agent_stop();
}
END_TEST

/* A client of an agent reads its configuration only once, too. */
START_TEST(another_configuration_than_the_first_openings_is_refused)
{
	struct al_open_attr attr = { .agent = agent_socket, .config = "/nowhere/ibal.conf" };
	al_h al[2];

	agent_start(NULL, NULL);
	al[0] = agent_open();
	al_set_log(hear_log, NULL);
	ck_status(al_open(&attr, &al[1]), AL_INVALID_STATE);
	ck_assert_msg(strstr(said, "/nowhere/ibal.conf") != NULL, "%s", said);
	al_set_log(NULL, NULL);
	attr.config = NULL;
	ck_ok(al_open(&attr, &al[1]));
	for (int i = 0; i < 2; i++)
		ck_ok(al_close(al[i], AL_DESTROY_SYNC, NULL));
	agent_stop();
}
END_TEST

/* ------------------------------------------------------------------- waits */

static sem_t waiting; /* posted when the log reports a wait */
static al_status opened_with;

static void hear_of_a_wait(void *context, ib_log_level level, const char *text)
{
	hear_log(context, level, text);
	if (strstr(text, "al_open has waited"))
		sem_post(&waiting);
}

static void *open_it(void *arg)
{
	const struct al_open_attr attr = { .agent = agent_socket, .config = "" };

	opened_with = al_open(&attr, arg);
	return NULL;
}

/* Opens on a thread, and returns when the log has reported that the opening waits. */
static pthread_t open_until_it_waits(al_h *al)
{
	pthread_t thread;

	sem_init(&waiting, 0, 0);
	al_set_log(hear_of_a_wait, NULL);
	ck_assert(!pthread_create(&thread, NULL, open_it, al));
	test_wait_after(10, &waiting);
	return thread;
}

static void at_a_full_queue(int none)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int listener, before_us = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	pthread_t thread;
	al_h al;

	(void)none;
	make_place();
	listener = listen_at(SOCK_SEQPACKET);
	ck_assert_int_eq(listen(listener, 0), 0); /* room for one connection */
	strcpy(addr.sun_path, agent_socket);
	ck_assert_int_eq(connect(before_us, (struct sockaddr *)&addr, sizeof(addr)), 0);
	thread = open_until_it_waits(&al);
	close(listener);
	ck_assert(!pthread_join(thread, NULL));
	al_set_log(NULL, NULL);
	ck_status(opened_with, AL_AGENT_REFUSED);
	close(before_us);
	agent_stop();
}

static void at_a_stopped_agent(void)
{
	pthread_t thread;
	al_h al;

	agent_pause();
	thread = open_until_it_waits(&al);
	ck_assert_msg(strstr(said, "has waited 10 s for an answer of agent") != NULL, "%s", said);
	ck_assert_int_eq(kill(agent_pid, SIGCONT), 0);
	ck_assert(!pthread_join(thread, NULL));
	al_set_log(NULL, NULL);
	ck_ok(opened_with);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

/* Two processes wait at once, since each wait takes ten seconds. */
START_TEST(that_a_stopped_agent_or_a_socket_with_a_full_queue_is_waited_for_is_told)
{
	pid_t other;

	agent_start(NULL, NULL);
	other = agent_client("at_a_full_queue", -1);
	at_a_stopped_agent();
	ck_assert_int_eq(wait_for(other), 0);
	agent_stop();
}
END_TEST

int main(int argc, char **argv)
{
	static const struct agent_client clients[] = {
		{ "not_admitted", not_admitted },
		{ "not_let_by", not_let_by },
		{ "listener", listener },
		{ "changeling", changeling },
		{ "second", second },
		{ "at_a_full_queue", at_a_full_queue },
		{ NULL, NULL },
	};
	Suite *suite;
	TCase *tcase;

	agent_be_client(argc, argv, clients);
	suite = suite_create("e2e/refusal");
	tcase = tcase_create("refusals");
	tcase_add_test(tcase, where_there_is_no_socket_ald_is_to_be_started);
	tcase_add_test(tcase, where_no_agent_listens_any_more_ald_is_to_be_started);
	tcase_add_test(tcase, what_is_no_socket_of_an_agents_is_to_be_named_otherwise);
	tcase_add_test(tcase, who_may_not_connect_is_told_what_says_so);
	tcase_add_test(tcase, a_directory_that_may_not_be_searched_is_told_of);
	tcase_add_test(tcase, another_users_agent_is_to_be_trusted_first);
	tcase_add_test(tcase, every_connection_is_to_a_trusted_agent);
	tcase_add_test(tcase, each_answer_to_the_hello_has_its_status);
	tcase_add_test(tcase, an_agent_that_stays_silent_is_given_up);
	tcase_add_test(tcase, an_agents_reason_has_a_most_length_and_a_longer_one_is_no_answer);
	tcase_add_test(tcase, a_client_too_many_is_told_of_the_limit);
	tcase_add_test(tcase, a_client_that_gets_too_few_connections_is_told_of_the_limit);
	tcase_add_test(tcase, with_too_few_descriptors_that_is_said_and_with_more_it_serves);
	tcase_add_test(tcase, another_configuration_than_the_first_openings_is_refused);
	tcase_add_test(tcase,
		       that_a_stopped_agent_or_a_socket_with_a_full_queue_is_waited_for_is_told);
	suite_add_tcase(suite, tcase);
	return test_run(suite);
}
