/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* ald: options, signals, and the agent in between. */
#include "al/agent/ald.h"

#include <glib.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "al/agent/protocol.h"

/* ------------------------------------------------------------------ options */

static struct ald_attr attr = { .mode = 0600 /* others may connect when they are let */ };
static char *socket_path, *config_file;
static gboolean show_version;
static gint max_clients = 1024, max_objects = 4096, workers = 4;
static char *mode_text;
static gint64 max_bytes = 1ll << 30, max_rings = 64ll << 20;

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
	{ "version", 0, 0, G_OPTION_ARG_NONE, &show_version, "print the version", NULL },
	{ 0 }
};

static bool parse_mode(void)
{
	char *end;
	long mode = strtol(mode_text, &end, 8);

	attr.mode = (mode_t)mode;
	return *mode_text && !*end && mode >= 0 && mode <= 0777;
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
	} else if (argc > 1 || max_clients < 1 || max_objects < 1 || max_bytes < 1 ||
		   max_rings < 1 || max_objects > 1 << 20 || workers < 1 || workers > 256) {
		fprintf(stderr, "ald: %s: see ald --help\n",
			argc > 1 ? argv[1] : "a limit is out of its range");
		good = false;
	}
	if (good && mode_text && !parse_mode()) {
		fprintf(stderr, "ald: --mode %s: three octal digits are possible\n", mode_text);
		good = false;
	}
	g_option_context_free(context);
	attr.socket = socket_path ? socket_path : AGENT_SOCKET;
	attr.config = config_file;
	attr.limits = ald_default_limits;
	attr.limits.sessions = (uint32_t)max_clients;
	attr.limits.objects = (uint32_t)max_objects;
	attr.limits.bytes = (uint64_t)max_bytes;
	attr.limits.rings = (uint64_t)max_rings;
	attr.limits.workers = (uint32_t)workers;
	return good;
}

/* A client has some ten descriptors here. */
static void raise_descriptors(void)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_NOFILE, &limit)) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

int main(int argc, char **argv)
{
	sigset_t signals;
	al_status status;
	int sig;

	setlocale(LC_ALL, "");
	if (!parse(argc, argv))
		return 2;
	if (show_version) {
		printf("ald %s\n", al_version());
		return EXIT_SUCCESS;
	}
	raise_descriptors();
	/* Also of all threads that come. */
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	status = ald_start(&attr);
	if (status)
		return EXIT_FAILURE;
	printf("ald: serving on %s\n", attr.socket);
	fflush(stdout);
	while (sigwait(&signals, &sig))
		;
	ald_stop();
	return EXIT_SUCCESS;
}
