/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* ald: options, signals, and the agent in between. */
#include <glib.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <iba/ib_hca.h>

#include "al/agent/settings.h"
#include "al/agent/systemd.h"

/* ------------------------------------------------------------------ options */

#define NOT_GIVEN (-1)

static struct settings settings;
static sigset_t signals; /* that ald waits for */
static char *socket_path, *config_file, *mode_text;
static gboolean show_version;
static gint max_clients = NOT_GIVEN, max_objects = NOT_GIVEN, workers = NOT_GIVEN,
	    drain = NOT_GIVEN;
static gint64 max_bytes = NOT_GIVEN, max_rings = NOT_GIVEN;
static mode_t mode;

static const GOptionEntry entries[] = {
	{ "socket", 's', 0, G_OPTION_ARG_FILENAME, &socket_path, "listen on PATH", "PATH" },
	{ "mode", 'm', 0, G_OPTION_ARG_STRING, &mode_text, "permissions of the socket (600)",
	  "OCTAL" },
	{ "config", 'c', 0, G_OPTION_ARG_FILENAME, &config_file,
	  "configuration instead of the system's", "FILE" },
	{ "max-clients", 0, 0, G_OPTION_ARG_INT, &max_clients, "clients at once", "N" },
	{ "max-objects", 0, 0, G_OPTION_ARG_INT, &max_objects, "objects of each kind per client",
	  "N" },
	{ "max-bytes", 0, 0, G_OPTION_ARG_INT64, &max_bytes, "registered memory per client",
	  "BYTES" },
	{ "max-rings", 0, 0, G_OPTION_ARG_INT64, &max_rings, "memory of queues per client",
	  "BYTES" },
	{ "workers", 0, 0, G_OPTION_ARG_INT, &workers, "threads for what may sleep", "N" },
	{ "drain", 0, 0, G_OPTION_ARG_INT, &drain, "time for clients to finish at the end",
	  "SECONDS" },
	{ "version", 0, 0, G_OPTION_ARG_NONE, &show_version, "print the version", NULL },
	{ 0 }
};

static bool in_range(gint64 value, gint64 most)
{
	return value == NOT_GIVEN || (value >= 1 && value <= most);
}

static bool parse(int argc, char **argv)
{
	GOptionContext *context =
		g_option_context_new("- own the HCAs, and serve them to other processes");
	GError *error = NULL;
	bool good;

	g_option_context_add_main_entries(context, entries, NULL);
	good = g_option_context_parse(context, &argc, &argv, &error);
	if (!good) {
		fprintf(stderr, "ald: %s\n", error->message);
		g_error_free(error);
	} else if (argc > 1 || !in_range(max_clients, 1 << 20) || !in_range(max_objects, 1 << 20) ||
		   !in_range(max_bytes, G_MAXINT64) || !in_range(max_rings, G_MAXINT64) ||
		   !in_range(workers, 256) || drain < NOT_GIVEN || drain > SETTINGS_MAX_DRAIN) {
		fprintf(stderr, "ald: %s: see ald --help\n",
			argc > 1 ? argv[1] : "a limit is out of its range");
		good = false;
	}
	if (good && mode_text && !settings_mode(mode_text, &mode)) {
		fprintf(stderr, "ald: --mode %s: three octal digits are possible\n", mode_text);
		good = false;
	}
	g_option_context_free(context);
	return good;
}

/* The command line goes before the file. */
static void apply_options(struct settings *to)
{
	struct agent_limits *limits = &to->attr.limits;

	if (socket_path)
		to->attr.socket = socket_path;
	if (mode_text)
		to->attr.mode = mode;
	if (max_clients != NOT_GIVEN)
		limits->sessions = (uint32_t)max_clients;
	if (max_objects != NOT_GIVEN)
		for (int r = AL_RESOURCE_CAS; r <= AL_RESOURCE_QPS; r++)
			limits->client[r] = (uint64_t)max_objects;
	if (max_bytes != NOT_GIVEN)
		limits->client[AL_RESOURCE_BYTES] = (uint64_t)max_bytes;
	if (max_rings != NOT_GIVEN)
		limits->client[AL_RESOURCE_RINGS] = (uint64_t)max_rings;
	if (workers != NOT_GIVEN)
		limits->workers = (uint32_t)workers;
	if (drain != NOT_GIVEN)
		to->drain = (uint32_t)drain;
	to->attr.config = config_file;
}

static bool read_settings(struct settings *to)
{
	settings_default(to);
	if (!settings_read(config_file, to))
		return false;
	apply_options(to);
	return true;
}

/* ------------------------------------------------------------------ service */

/* A client has some ten descriptors here. */
static void raise_descriptors(void)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_NOFILE, &limit)) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

/* Limits and rights; what only a start can change is told of. All or nothing. */
static void reload(void)
{
	static struct settings now;

	if (!read_settings(&now)) {
		ib_log(IB_LOG_ERROR, "ald", "the configuration stays as it was");
		return;
	}
	ald_configure(&now.attr);
	if ((!settings.attr.listener && strcmp(now.attr.socket, settings.attr.socket)) ||
	    now.attr.mode != settings.attr.mode ||
	    now.attr.limits.workers != settings.attr.limits.workers)
		ib_log(IB_LOG_WARNING, "ald",
		       "socket, mode and workers stay as they are until ald is started anew");
	settings.drain = now.drain;
	ib_log(IB_LOG_INFO, "ald", "the configuration has been read again");
}

static void serve(void)
{
	int sig = 0;

	while (sigwait(&signals, &sig) || sig == SIGHUP) {
		systemd_notify_reloading();
		reload();
		systemd_notify("READY=1");
	}
}

static void on_drained(void)
{
	kill(getpid(), SIGTERM);
}

/* Until nobody is left, another signal comes, or the time is over. */
static void end(void)
{
	const struct timespec limit = { .tv_sec = settings.drain };

	systemd_notify("STOPPING=1");
	if (settings.drain) {
		ald_drain(on_drained);
		sigdelset(&signals, SIGHUP);
		sigtimedwait(&signals, NULL, &limit);
	}
	ald_stop();
}

/* Where to listen: on what the service manager has for us, or on a socket of our own. */
static bool find_socket(void)
{
	int fd = systemd_socket(settings.path, sizeof(settings.path));

	if (fd <= 0)
		return !fd;
	settings.attr.socket = settings.path;
	settings.attr.listener = fd;
	return true;
}

int main(int argc, char **argv)
{
	setlocale(LC_ALL, "");
	if (!parse(argc, argv))
		return 2;
	if (show_version) {
		printf("ald %s\n", al_version());
		return EXIT_SUCCESS;
	}
	/* Before there is a thread: all of them have it so. */
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	if (!read_settings(&settings) || !find_socket())
		return EXIT_FAILURE;
	raise_descriptors();
	if (ald_start(&settings.attr))
		return EXIT_FAILURE;
	printf("ald: serving on %s\n", settings.attr.socket);
	fflush(stdout);
	systemd_notify("READY=1");
	serve();
	end();
	return EXIT_SUCCESS;
}
