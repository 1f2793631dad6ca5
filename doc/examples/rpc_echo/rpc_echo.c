/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Remote procedure calls over reliable connections. A server answers each call of its clients with
 * the same bytes; a client makes calls one after the other, checks the answers and prints the rate.
 * Both sleep in poll(2) while there is nothing to do.
 *
 *     rpc_echo serve file:/tmp/echo &
 *     rpc_echo call file:/tmp/echo 100000
 */
#include "rpc.h"

#include <time.h>

static void serve(const char *place)
{
	struct pollfd pfd[2 + CLIENTS] = { { 0 } };
	int listener, fd, free;

	open_end(&end, 0, CLIENTS * SLOTS * BYTES, CLIENTS * SLOTS * 2);
	must(al_meet_listen(place, &listener), "al_meet_listen");
	fprintf(stderr, "serving at %s\n", place);
	for (;;) {
		answer();
		free = -1;
		for (int i = 0; i < CLIENTS; i++) { /* poll() passes over a negative descriptor */
			pfd[2 + i] = (struct pollfd){ lines[i].qp ? lines[i].fd : -1, POLLIN, 0 };
			free = lines[i].qp ? free : i;
		}
		pfd[1] = (struct pollfd){ free < 0 ? -1 : listener, POLLIN, 0 };
		wait_for(&end, pfd, 2 + CLIENTS, -1);
		for (int i = 0; i < CLIENTS; i++)
			if (pfd[2 + i].revents)
				end_line(&lines[i]);
		if (pfd[1].revents && !al_meet_accept(listener, AL_MEET_ANY_USER, 0, &fd) &&
		    begin(&lines[free], fd)) {
			fprintf(stderr, "a client is turned away: %s\n", al_reason());
			end_line(&lines[free]);
		}
	}
}

/* Makes a call, and waits for the answer and for the end of the send. */
static void call(struct line *line, uint32_t number)
{
	struct pollfd pfd[2] = { { 0 }, { line->fd, POLLIN, 0 } };
	struct ib_wc wc;
	uint32_t count, done = 0;

	memset(bytes_of(line, 1), (int)(number * 7 + 3), BYTES);
	must(post(line, true, 1), "al_post_send");
	while (done < 2) {
		must(al_poll_cq(end.cq, 1, &wc, &count), "al_poll_cq");
		if (pfd[1].revents || (count && wc.status != IB_WC_SUCCESS))
			give_up("the server has gone");
		if (!count)
			wait_for(&end, pfd, 2, -1);
		done += count;
	}
	if (memcmp(bytes_of(line, 0), bytes_of(line, 1), BYTES))
		give_up("the answer has other bytes than the call");
	must(post(line, false, 0), "al_post_recv");
}

static void make_calls(const char *place, uint32_t count)
{
	struct timespec start, stop;
	double us;
	int fd;

	open_end(&end, 1, SLOTS * BYTES, SLOTS * 2);
	must(al_meet_connect(place, AL_MEET_ANY_USER, LIMIT, &fd), "al_meet_connect");
	must(begin(&lines[0], fd), "the connection");
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (uint32_t i = 0; i < count; i++)
		call(&lines[0], i);
	clock_gettime(CLOCK_MONOTONIC, &stop);
	us = (double)(stop.tv_sec - start.tv_sec) * 1e6 +
	     (double)(stop.tv_nsec - start.tv_nsec) / 1e3;
	printf("%u calls, %.1f us each\n", count, us / count);
	end_line(&lines[0]);
	close_end(&end);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "serve"))
		serve(argv[2]);
	if (argc != 4 || strcmp(argv[1], "call") || atoi(argv[3]) <= 0) {
		fprintf(stderr, "usage: rpc_echo serve PLACE | rpc_echo call PLACE COUNT\n");
		return 2;
	}
	make_calls(argv[2], (uint32_t)atoi(argv[3]));
	return EXIT_SUCCESS;
}
