/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The server and the client of rpc_echo in GLib's main loop: every descriptor is a source of the
 * loop, the channel's as well as those of the meeting, and nothing else waits.
 *
 *     rpc_glib serve file:/tmp/echo &
 *     rpc_glib call file:/tmp/echo 100000
 */
#include "rpc.h"
#include <glib-unix.h>

static GMainLoop *loop;
static void (*on_completions)(void); /* polls the completion queue until it is empty */

/* The arm is satisfied. What comes from here on satisfies the next arm. */
static gboolean on_channel(gint fd, GIOCondition condition, gpointer data)
{
	struct al_channel_event event;

	(void)fd, (void)condition, (void)data;
	while (al_channel_next(end.channel, &event) == AL_SUCCESS)
		;
	on_completions();
	must(al_arm_cq(end.cq, AL_ARM_ANY, NULL), "al_arm_cq");
	return G_SOURCE_CONTINUE;
}

static void watch_channel(void (*completions)(void))
{
	int fd;

	on_completions = completions;
	must(al_channel_fd(end.channel, &fd), "al_channel_fd");
	g_unix_fd_add(fd, G_IO_IN, on_channel, NULL);
	must(al_arm_cq(end.cq, AL_ARM_ANY, NULL), "al_arm_cq");
}

static gboolean on_client_gone(gint fd, GIOCondition condition, gpointer line)
{
	(void)fd, (void)condition;
	end_line(line);
	return G_SOURCE_REMOVE;
}

static gboolean on_client(gint listener, GIOCondition condition, gpointer data)
{
	struct line *line = lines;
	int fd;

	(void)condition, (void)data;
	if (al_meet_accept(listener, AL_MEET_ANY_USER, 0, &fd))
		return G_SOURCE_CONTINUE;
	while (line < lines + CLIENTS && line->qp)
		line++;
	if (line == lines + CLIENTS) {
		al_meet_refuse(fd, "the server has all the clients that it can have");
		close(fd);
	} else if (begin(line, fd)) {
		fprintf(stderr, "a client is turned away: %s\n", al_reason());
		end_line(line);
	} else {
		g_unix_fd_add(fd, G_IO_IN | G_IO_HUP, on_client_gone, line);
	}
	return G_SOURCE_CONTINUE;
}

static void serve(const char *place)
{
	int listener;

	open_end(&end, 0, CLIENTS * SLOTS * BYTES, CLIENTS * SLOTS * 2);
	must(al_meet_listen(place, &listener), "al_meet_listen");
	g_unix_fd_add(listener, G_IO_IN, on_client, NULL);
	watch_channel(answer);
	fprintf(stderr, "serving at %s\n", place);
	g_main_loop_run(loop);
}

static uint32_t calls, wanted, done; /* done: completions of the call that is under way */

static void call(void)
{
	done = 0;
	memset(bytes_of(lines, 1), (int)(calls * 7 + 3), BYTES);
	must(post(lines, true, 1), "al_post_send");
}

static void answered(void)
{
	if (memcmp(bytes_of(lines, 0), bytes_of(lines, 1), BYTES))
		give_up("the answer has other bytes than the call");
	must(post(lines, false, 0), "al_post_recv");
	if (++calls < wanted)
		call();
	else
		g_main_loop_quit(loop);
}

static void count_completions(void)
{
	struct ib_wc wc;
	uint32_t count;

	do {
		must(al_poll_cq(end.cq, 1, &wc, &count), "al_poll_cq");
		if (count && wc.status != IB_WC_SUCCESS)
			give_up("the server has gone");
		if (count && ++done == 2)
			answered();
	} while (count);
}

static gboolean on_server_gone(gint fd, GIOCondition condition, gpointer data)
{
	(void)fd, (void)condition, (void)data;
	give_up("the server has gone");
}

static void make_calls(const char *place, uint32_t count)
{
	gint64 start;
	int fd;

	open_end(&end, 1, SLOTS * BYTES, SLOTS * 2);
	must(al_meet_connect(place, AL_MEET_ANY_USER, LIMIT, &fd), "al_meet_connect");
	must(begin(lines, fd), "the connection");
	g_unix_fd_add(fd, G_IO_IN | G_IO_HUP, on_server_gone, NULL);
	watch_channel(count_completions);
	start = g_get_monotonic_time();
	wanted = count;
	call();
	g_main_loop_run(loop);
	printf("%u calls, %.1f us each\n", count, (double)(g_get_monotonic_time() - start) / count);
	end_line(lines);
	close_end(&end);
}

int main(int argc, char **argv)
{
	loop = g_main_loop_new(NULL, FALSE);
	if (argc == 3 && !strcmp(argv[1], "serve"))
		serve(argv[2]);
	if (argc != 4 || strcmp(argv[1], "call") || atoi(argv[3]) <= 0) {
		fprintf(stderr, "usage: rpc_glib serve PLACE | rpc_glib call PLACE COUNT\n");
		return 2;
	}
	make_calls(argv[2], (uint32_t)atoi(argv[3]));
	return EXIT_SUCCESS;
}
