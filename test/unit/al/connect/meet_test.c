/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Two programs meet at each kind of place, and exchange records. */
#include <iba/ib_connect.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/unit/al/al_test.h"

#define LONG 60000 /* ms: a limit that no test reaches */

static char dir[] = "/tmp/meet_test-XXXXXX";
static char place[256], path[128];

static void begin(void)
{
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/socket", dir);
	snprintf(place, sizeof(place), "file:%s", path);
}

static void end(void)
{
	unlink(path);
	ck_assert_int_eq(rmdir(dir), 0);
}

static void says(const char *words)
{
	ck_assert_msg(strstr(al_reason(), words) != NULL, "\"%s\" is not in: %s", words,
		      al_reason());
}

/* Two ends of a connection. */
static void meet(int fd[2])
{
	int listener;

	ck_ok(al_meet_listen(place, &listener));
	ck_ok(al_meet_connect(place, 0, LONG, &fd[0]));
	ck_ok(al_meet_accept(listener, 0, LONG, &fd[1]));
	ck_ok(al_meet_end(listener));
}

static void part(int fd[2])
{
	close(fd[0]);
	close(fd[1]);
}

/* A record of a size goes from one end to the other, whole. */
static void exchange(int from, int to, uint32_t size)
{
	uint8_t sent[AL_MEET_BYTES], got[AL_MEET_BYTES + 1];
	uint32_t length = sizeof(got);

	for (uint32_t i = 0; i < size; i++)
		sent[i] = (uint8_t)(i * 7 + size);
	ck_ok(al_meet_send(from, sent, size, LONG));
	ck_ok(al_meet_receive(to, got, &length, LONG));
	ck_assert_uint_eq(length, size);
	ck_assert_mem_eq(sent, got, size);
}

/* --------------------------------------------------------------------- places */

/* A TCP place with the port that the system has chosen. */
static void tcp_place(int listener, const char *host)
{
	union {
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} addr;
	socklen_t size = sizeof(addr);

	ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&addr, &size), 0);
	snprintf(place, sizeof(place), "tcp:%s:%u", host, ntohs(addr.in.sin_port));
}

START_TEST(programs_meet_by_tcp)
{
	static const char *const hosts[] = { "127.0.0.1", "[::1]", "localhost" };
	int listener, fd[2];

	snprintf(place, sizeof(place), "tcp:%s:0", hosts[_i]);
	ck_ok(al_meet_listen(place, &listener));
	tcp_place(listener, hosts[_i]);
	ck_status(al_meet_listen(place, &fd[0]), AL_DUPLICATE);
	ck_ok(al_meet_connect(place, 0, LONG, &fd[0]));
	ck_ok(al_meet_accept(listener, 0, LONG, &fd[1]));
	exchange(fd[0], fd[1], AL_MEET_BYTES);
	exchange(fd[1], fd[0], 0);
	part(fd);
	ck_ok(al_meet_end(listener));
	ck_status(al_meet_connect(place, 0, LONG, &fd[0]), AL_NOT_FOUND);
}
END_TEST

START_TEST(programs_meet_by_a_file_which_goes_at_the_end)
{
	int fd[2], again;

	begin();
	meet(fd);
	exchange(fd[0], fd[1], 17);
	exchange(fd[1], fd[0], AL_MEET_BYTES);
	ck_assert_int_eq(access(path, F_OK), -1);
	ck_status(al_meet_connect(place, 0, LONG, &again), AL_NOT_FOUND);
	ck_assert(fcntl(fd[0], F_GETFD) & FD_CLOEXEC && fcntl(fd[1], F_GETFD) & FD_CLOEXEC);
	part(fd);
	end();
}
END_TEST

START_TEST(programs_meet_by_a_name)
{
	int fd[2], listener;

	snprintf(place, sizeof(place), "agent:meet_test.%d", (int)getpid());
	ck_ok(al_meet_listen(place, &listener));
	ck_status(al_meet_listen(place, &fd[0]), AL_DUPLICATE);
	ck_ok(al_meet_end(listener));
	meet(fd);
	exchange(fd[0], fd[1], 64);
	part(fd);
	ck_status(al_meet_connect(place, 0, LONG, &fd[0]), AL_NOT_FOUND);
}
END_TEST

START_TEST(what_is_no_place_is_refused)
{
	static const struct {
		const char *text, *words;
	} bad[] = {
		{ NULL, "NULL" },
		{ "", "no place" },
		{ "/tmp/socket", "no place" },
		{ "file:", "0 bytes" },
		{ "agent:", "no name" },
		{ "agent:a b", "no name" },
		{ "agent:01234567890123456789012345678901234567890123456789012345678901234",
		  "no name" },
		{ "tcp:", "no place" },
		{ "tcp:localhost", "no place" },
		{ "tcp:localhost:", "no place" },
		{ "tcp:localhost:http", "no place" },
		{ "tcp:localhost:65536", "no place" },
		{ "tcp:localhost:-1", "no place" },
		{ "tcp:localhost:0", "no place" },
		{ "tcp:::1:80", "no place" },
		{ "tcp:[::1:80", "no place" },
		{ "tcp:[localhost]:80", "no place" },
	};
	char text[512] = "file:/tmp/";
	int fd = 77;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ck_status(al_meet_connect(bad[i].text, 0, 0, &fd), AL_INVALID_PARAMETER);
		says(bad[i].words);
		if (bad[i].text && !strcmp(bad[i].text, "tcp:localhost:0"))
			continue; /* a listener may leave the port to the system */
		ck_status(al_meet_listen(bad[i].text, &fd), AL_INVALID_PARAMETER);
		says(bad[i].words);
	}
	memset(text + 10, 'x', 300);
	ck_status(al_meet_listen(text, &fd), AL_INVALID_PARAMETER);
	memcpy(text, "tcp:", 4);
	memset(text + 4, 'x', 400);
	ck_status(al_meet_listen(text, &fd), AL_INVALID_PARAMETER);
	ck_status(al_meet_listen("agent:x", NULL), AL_INVALID_PARAMETER);
	ck_status(al_meet_connect("agent:x", 0, 0, NULL), AL_INVALID_PARAMETER);
	ck_status(al_meet_connect("agent:x", 2, 0, &fd), AL_INVALID_PARAMETER);
	ck_status(al_meet_accept(0, 0, 0, NULL), AL_INVALID_PARAMETER);
	ck_assert_int_eq(fd, 77);
}
END_TEST

/* ---------------------------------------------------------------------- files */

START_TEST(a_file_of_a_killed_listener_is_replaced_and_a_live_ones_stays)
{
	int listener, other, fd[2];

	begin();
	ck_ok(al_meet_listen(place, &listener));
	ck_status(al_meet_listen(place, &other), AL_DUPLICATE);
	ck_ok(al_meet_connect(place, 0, LONG, &fd[0]));
	close(fd[0]);
	close(listener); /* as the kernel does for a killed program: the file stays */
	ck_assert_int_eq(access(path, F_OK), 0);
	ck_status(al_meet_connect(place, 0, LONG, &fd[0]), AL_NOT_FOUND);
	meet(fd);
	part(fd);
	end();
}
END_TEST

START_TEST(a_file_that_is_no_socket_is_not_replaced)
{
	int fd;

	begin();
	close(open(path, O_CREAT | O_WRONLY, 0600));
	ck_status(al_meet_listen(place, &fd), AL_DUPLICATE);
	ck_assert_int_eq(access(path, F_OK), 0);
	unlink(path);
	ck_assert_int_eq(symlink("nowhere", path), 0);
	ck_status(al_meet_listen(place, &fd), AL_DUPLICATE);
	unlink(path);
	snprintf(place, sizeof(place), "file:%s/none/socket", dir);
	ck_status(al_meet_listen(place, &fd), AL_NOT_FOUND);
	end();
}
END_TEST

/* A descriptor that listens without a file of the library's is no listener, and stays open. */
START_TEST(only_a_listener_is_ended)
{
	int fd[2];

	begin();
	meet(fd);
	ck_status(al_meet_end(fd[0]), AL_INVALID_PARAMETER);
	exchange(fd[0], fd[1], 5);
	ck_status(al_meet_end(-1), AL_INVALID_PARAMETER);
	ck_status(al_meet_accept(fd[0], 0, 0, &fd[0]), AL_TIMEOUT);
	part(fd);
	end();
}
END_TEST

/* Many threads begin to listen at once where a killed listener was: one of them gets the place. */
static void *listen_once(void *won)
{
	int *fd = won;

	if (al_meet_listen(place, fd))
		*fd = -1;
	return NULL;
}

START_TEST(of_many_that_listen_at_once_one_has_the_place)
{
	pthread_t thread[8];
	int fd[8], listener;

	begin();
	for (int round = 0; round < 50; round++) {
		int winners = 0;

		ck_ok(al_meet_listen(place, &listener));
		close(listener);
		for (int i = 0; i < 8; i++)
			ck_assert_int_eq(pthread_create(&thread[i], NULL, listen_once, &fd[i]), 0);
		for (int i = 0; i < 8; i++)
			pthread_join(thread[i], NULL);
		for (int i = 0; i < 8; i++)
			if (fd[i] >= 0 && ++winners)
				listener = fd[i];
		ck_assert_int_eq(winners, 1);
		ck_ok(al_meet_connect(place, 0, LONG, &fd[0]));
		close(fd[0]);
		ck_ok(al_meet_end(listener));
	}
	end();
}
END_TEST

/* ---------------------------------------------------------------------- users */

/* What a process of another user gets when it connects, from both ends: an exit status of 0. */
static int be_another_user(void)
{
	char room[8];
	uint32_t size = sizeof(room);
	int fd;

	if (setresuid(71001, 71001, 71001) ||
	    al_meet_connect(place, 0, LONG, &fd) != AL_PERMISSION ||
	    !strstr(al_reason(), "of user 0"))
		return 1; /* this end permits its own user alone */
	if (al_meet_connect(place, AL_MEET_ANY_USER, LONG, &fd) ||
	    al_meet_receive(fd, room, &size, LONG) != AL_PERMISSION ||
	    !strstr(al_reason(), "of user 71001, this one of 0"))
		return 2; /* so does the listener */
	return 0;
}

static void *end_accept(void *child)
{
	int status, fd;

	ck_assert_int_eq(waitpid(*(pid_t *)child, &status, 0), *(pid_t *)child);
	*(pid_t *)child = status;
	ck_ok(al_meet_connect(place, 0, LONG, &fd));
	close(fd);
	return NULL;
}

START_TEST(another_users_process_is_refused)
{
	pthread_t thread;
	int listener, fd;
	pid_t child;

	if (geteuid()) {
		puts("SKIP: only root can become another user");
		return;
	}
	begin();
	umask(0);
	ck_assert_int_eq(chmod(dir, 0755), 0);
	ck_ok(al_meet_listen(place, &listener));
	child = fork();
	ck_assert_int_ge(child, 0);
	if (!child)
		_exit(be_another_user());
	ck_assert_int_eq(pthread_create(&thread, NULL, end_accept, &child), 0);
	ck_ok(al_meet_accept(listener, 0, LONG,
			     &fd)); /* after the other user's process has ended */
	pthread_join(thread, NULL);
	ck_assert_int_eq(child, 0);
	close(fd);
	ck_ok(al_meet_end(listener));
	end();
}
END_TEST

START_TEST(another_users_process_is_accepted_if_both_ends_permit_it)
{
	uint32_t got = 0, size = sizeof(got);
	int listener, fd, status;
	pid_t child;

	if (geteuid()) {
		puts("SKIP: only root can become another user");
		return;
	}
	begin();
	umask(0);
	ck_assert_int_eq(chmod(dir, 0755), 0);
	ck_ok(al_meet_listen(place, &listener));
	child = fork();
	ck_assert_int_ge(child, 0);
	if (!child)
		_exit(setresuid(71001, 71001, 71001) ||
				      al_meet_connect(place, AL_MEET_ANY_USER, LONG, &fd) ||
				      al_meet_send(fd, "us", 3, LONG)
			      ? 1
			      : 0);
	ck_ok(al_meet_accept(listener, AL_MEET_ANY_USER, LONG, &fd));
	ck_ok(al_meet_receive(fd, &got, &size, LONG));
	ck_assert_uint_eq(size, 3);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	close(fd);
	ck_ok(al_meet_end(listener));
	end();
}
END_TEST

/* -------------------------------------------------------------------- records */

START_TEST(records_keep_their_bounds_and_order)
{
	int fd[2];

	begin();
	meet(fd);
	for (uint32_t i = 0; i < 8; i++)
		ck_ok(al_meet_send(fd[0], &i, i % 4 + 1, LONG));
	for (uint32_t i = 0; i < 8; i++) {
		uint32_t got = 0, size = sizeof(got);

		ck_ok(al_meet_receive(fd[1], &got, &size, LONG));
		ck_assert_uint_eq(size, i % 4 + 1);
		ck_assert_uint_eq(got & 0xff, i);
	}
	ck_status(al_meet_send(fd[0], NULL, 1, 0), AL_INVALID_PARAMETER);
	ck_status(al_meet_send(fd[0], fd, AL_MEET_BYTES + 1, 0), AL_INVALID_PARAMETER);
	ck_status(al_meet_receive(fd[0], NULL, &(uint32_t){ 0 }, 0), AL_INVALID_PARAMETER);
	ck_status(al_meet_receive(fd[0], fd, NULL, 0), AL_INVALID_PARAMETER);
	exchange(fd[1], fd[0], 9);
	part(fd);
	end();
}
END_TEST

START_TEST(a_record_that_is_too_long_tells_its_length_and_ends_the_connection)
{
	char room[4];
	uint32_t size = sizeof(room);
	int fd[2];

	begin();
	meet(fd);
	ck_ok(al_meet_send(fd[0], "12345", 5, LONG));
	ck_status(al_meet_receive(fd[1], room, &size, LONG), AL_BUFFER_TOO_SMALL);
	ck_assert_uint_eq(size, 5);
	ck_status(al_meet_send(fd[1], "x", 1, LONG), AL_NOT_FOUND);
	part(fd);
	end();
}
END_TEST

START_TEST(a_refusal_reaches_the_other_end_in_one_line)
{
	char room[8], why[400];
	uint32_t size = sizeof(room);
	int fd[2];

	begin();
	meet(fd);
	ck_ok(al_meet_refuse(fd[0], "no more\nqueue\x1b[31mpairs"));
	ck_status(al_meet_receive(fd[1], room, &size, LONG), AL_PERMISSION);
	says("the other end refuses: no more queue [31mpairs");
	memset(why, 'w', sizeof(why));
	why[399] = '\0';
	part(fd);
	meet(fd);
	ck_ok(al_meet_refuse(fd[0], why));
	size = sizeof(room);
	ck_status(al_meet_receive(fd[1], room, &size, LONG), AL_PERMISSION);
	ck_status(al_meet_refuse(fd[0], NULL), AL_INVALID_PARAMETER);
	part(fd);
	end();
}
END_TEST

/* Bytes that a hostile end sends in place of a record, and what the receiver says. */
static const struct {
	const char *bytes;
	size_t count;
	al_status status;
	const char *words;
} hostile[] = {
	{ "GET / HTTP/1.0\r\n", 16, AL_UNSUPPORTED, "no records" },
	{ "ibmt\0\2\0\1\0\0\0\0", 12, AL_UNSUPPORTED, "version 2" },
	{ "ibmt\0\1\0\3\0\0\0\0", 12, AL_UNSUPPORTED, "kind 3" },
	{ "ibmt\0\1\0\1\xff\xff\xff\xff", 12, AL_UNSUPPORTED, "4294967295 bytes" },
	{ "ibmt\0\1\0\1\0\0\x10\1", 12, AL_UNSUPPORTED, "4097 bytes" },
	{ "ibmt\0\1\0\2\0\0\0\xc9", 12, AL_UNSUPPORTED, "too long: 201" },
	{ "ibmt\0\1\0\1\0\0\0\4", 12, AL_NOT_FOUND, "has closed" },
	{ "ibmt\0\1", 6, AL_NOT_FOUND, "has closed" },
	{ "", 0, AL_NOT_FOUND, "has closed" },
};
#define HOSTILE (sizeof(hostile) / sizeof(hostile[0]))

START_TEST(what_a_hostile_end_sends_is_refused)
{
	char room[64];
	uint32_t size = sizeof(room);
	int fd[2];

	begin();
	meet(fd);
	ck_assert_int_eq(send(fd[0], hostile[_i].bytes, hostile[_i].count, 0),
			 (ssize_t)hostile[_i].count);
	shutdown(fd[0], SHUT_WR);
	ck_status(al_meet_receive(fd[1], room, &size, LONG), hostile[_i].status);
	says(hostile[_i].words);
	size = sizeof(room);
	ck_status(al_meet_receive(fd[1], room, &size, LONG), AL_NOT_FOUND);
	part(fd);
	end();
}
END_TEST

/* ---------------------------------------------------------------------- waits */

START_TEST(a_wait_ends_at_its_limit_and_the_connection_stays)
{
	char room[8];
	uint32_t size = sizeof(room);
	int listener, fd[2];

	begin();
	ck_ok(al_meet_listen(place, &listener));
	ck_status(al_meet_accept(listener, 0, 0, &fd[0]), AL_TIMEOUT);
	ck_status(al_meet_accept(listener, 0, 20, &fd[0]), AL_TIMEOUT);
	ck_ok(al_meet_end(listener));
	meet(fd);
	ck_status(al_meet_receive(fd[0], room, &size, 0), AL_TIMEOUT);
	ck_status(al_meet_receive(fd[0], room, &size, 20), AL_TIMEOUT);
	exchange(fd[1], fd[0], 3);
	part(fd);
	end();
}
END_TEST

START_TEST(a_limit_amid_a_record_ends_the_connection)
{
	char room[8];
	uint32_t size = sizeof(room);
	int fd[2];

	begin();
	meet(fd);
	ck_assert_int_eq(send(fd[0], "ibmt\0\1\0\1\0\0\0\4ab", 14, 0), 14);
	ck_status(al_meet_receive(fd[1], room, &size, 20), AL_TIMEOUT);
	size = sizeof(room);
	ck_status(al_meet_send(fd[0], "cd", 2, LONG), AL_NOT_FOUND);
	part(fd);
	end();
}
END_TEST

/* Sends the bytes of a record one by one, until the receiver has given up. */
static void *trickle(void *context)
{
	const int fd = *(int *)context;
	const char head[12] = "ibmt\0\1\0\1\0\0\x10";

	for (int i = 0; i < 12 + AL_MEET_BYTES; i++) {
		if (send(fd, i < 12 ? &head[i] : "x", 1, MSG_NOSIGNAL) != 1)
			break;
		poll(NULL, 0, 1);
	}
	return NULL;
}

START_TEST(a_limit_holds_for_the_whole_record)
{
	char room[AL_MEET_BYTES];
	uint32_t size = sizeof(room);
	pthread_t thread;
	int fd[2];

	begin();
	meet(fd);
	ck_assert_int_eq(pthread_create(&thread, NULL, trickle, &fd[0]), 0);
	ck_status(al_meet_receive(fd[1], room, &size, 100), AL_TIMEOUT);
	pthread_join(thread, NULL);
	part(fd);
	end();
}
END_TEST

START_TEST(a_sender_waits_for_a_reader_until_its_limit)
{
	static uint8_t record[AL_MEET_BYTES];
	al_status status = AL_SUCCESS;
	int fd[2], sent = 0;

	begin();
	meet(fd);
	while (!status) {
		status = al_meet_send(fd[0], record, sizeof(record), 10);
		sent += !status;
	}
	ck_status(status, AL_TIMEOUT);
	ck_assert_int_gt(sent, 1);
	part(fd);
	end();
}
END_TEST

START_TEST(a_connection_waits_for_a_place_in_the_listeners_queue)
{
	int listener, fd, filled = 0;
	al_status status = AL_SUCCESS;

	begin();
	ck_ok(al_meet_listen(place, &listener));
	while (!status && filled < 4096) {
		status = al_meet_connect(place, 0, 0, &fd);
		filled += !status;
	}
	ck_status(status, AL_TIMEOUT);
	ck_status(al_meet_connect(place, 0, 30, &fd), AL_TIMEOUT);
	ck_ok(al_meet_accept(listener, 0, 0, &fd));
	ck_ok(al_meet_connect(place, 0, LONG, &fd));
	ck_assert(fcntl(fd, F_GETFL) & O_NONBLOCK);
	ck_ok(al_meet_end(listener));
	end();
}
END_TEST

static void note_signal(int number)
{
	(void)number;
}

struct waiter {
	pthread_t thread;
	int listener, fd;
	atomic_int tid_is_known;
	al_status status;
};

static void *wait_there(void *context)
{
	struct waiter *w = context;
	char room[8];
	uint32_t size = sizeof(room);

	atomic_store(&w->tid_is_known, 1);
	w->status = w->listener >= 0 ? al_meet_accept(w->listener, 0, -1, &w->fd)
				     : al_meet_receive(w->fd, room, &size, -1);
	atomic_store(&w->tid_is_known, 2);
	return NULL;
}

START_TEST(a_signal_handler_ends_a_wait)
{
	/* SA_RESTART, as signal() sets it: the wait ends all the same. */
	const struct sigaction action = { .sa_handler = note_signal, .sa_flags = SA_RESTART };
	struct waiter w = { .listener = -1 };
	int fd[2], listener;

	begin();
	ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
	meet(fd);
	ck_ok(al_meet_listen(place, &listener));
	w.fd = fd[0];
	if (_i)
		w.listener = listener;
	ck_assert_int_eq(pthread_create(&w.thread, NULL, wait_there, &w), 0);
	/* A signal before the wait does not end it, so they come until it has ended. */
	while (atomic_load(&w.tid_is_known) != 2) {
		if (atomic_load(&w.tid_is_known))
			pthread_kill(w.thread, SIGUSR1);
		sched_yield();
	}
	pthread_join(w.thread, NULL);
	ck_status(w.status, AL_CANCELLED);
	exchange(fd[1], fd[0], 3);
	ck_ok(al_meet_end(listener));
	part(fd);
	end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("al/connect/meet");
	TCase *tc = tcase_create("places"), *records = tcase_create("records"),
	      *waits = tcase_create("waits");

	tcase_add_loop_test(tc, programs_meet_by_tcp, 0, 3);
	tcase_add_test(tc, programs_meet_by_a_file_which_goes_at_the_end);
	tcase_add_test(tc, programs_meet_by_a_name);
	tcase_add_test(tc, what_is_no_place_is_refused);
	tcase_add_test(tc, a_file_of_a_killed_listener_is_replaced_and_a_live_ones_stays);
	tcase_add_test(tc, a_file_that_is_no_socket_is_not_replaced);
	tcase_add_test(tc, only_a_listener_is_ended);
	tcase_add_test(tc, of_many_that_listen_at_once_one_has_the_place);
	tcase_add_test(tc, another_users_process_is_refused);
	tcase_add_test(tc, another_users_process_is_accepted_if_both_ends_permit_it);
	suite_add_tcase(suite, tc);
	tcase_add_test(records, records_keep_their_bounds_and_order);
	tcase_add_test(records, a_record_that_is_too_long_tells_its_length_and_ends_the_connection);
	tcase_add_test(records, a_refusal_reaches_the_other_end_in_one_line);
	tcase_add_loop_test(records, what_a_hostile_end_sends_is_refused, 0, HOSTILE);
	suite_add_tcase(suite, records);
	tcase_add_test(waits, a_wait_ends_at_its_limit_and_the_connection_stays);
	tcase_add_test(waits, a_limit_amid_a_record_ends_the_connection);
	tcase_add_test(waits, a_limit_holds_for_the_whole_record);
	tcase_add_test(waits, a_sender_waits_for_a_reader_until_its_limit);
	tcase_add_test(waits, a_connection_waits_for_a_place_in_the_listeners_queue);
	tcase_add_loop_test(waits, a_signal_handler_ends_a_wait, 0, 2);
	suite_add_tcase(suite, waits);
	return test_run(suite);
}
