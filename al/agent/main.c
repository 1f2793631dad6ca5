/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The program ald: its options and its signals. The agent itself is in ald.c, the keys of the
 * configuration in settings.c. */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <locale.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <iba/ib_hca.h>

#include "al/library/private.h"
#include "al/agent/log.h"
#include "al/agent/settings.h"
#include "al/agent/systemd.h"
#include "al/tools/tool.h"

/* ------------------------------------------------------------------ options */

static struct settings settings;
static sigset_t signals; /* SIGTERM, SIGINT, SIGHUP, SIGUSR1: blocked in all threads, received by
			    sigwait() */
static char *socket_path, *config_file, *idle_text, *busy_lock;
static gboolean show_version, only_check;
static int idle_seconds; /* 0: ald serves until a signal comes */
static int busy_fd = -1; /* the file of --busy-lock; -1: the option is not given */

/* Options that stand for a key of ibal.conf(5), with the same values. */
static struct option {
	const char *name;
	char letter;
	const char *group, *key;
	const char *does, *value; /* for --help */
	char *text;               /* NULL: not given */
} options[] = {
	{ "mode", 'm', "ald", "mode", "permissions of the socket (600)", "OCTAL", NULL },
	{ "max-clients", 0, "ald", "clients", "clients at once", "N", NULL },
	{ "max-objects", 0, "ald client", "objects", "objects of each kind per client", "N", NULL },
	{ "max-bytes", 0, "ald client", "bytes", "registered memory per client, such as 1G",
	  "BYTES", NULL },
	{ "max-rings", 0, "ald client", "rings", "memory of queues per client, such as 64M",
	  "BYTES", NULL },
	{ "workers", 0, "ald", "workers", "requests that may sleep at once", "N", NULL },
	{ "drain", 0, "ald", "drain", "time for clients to finish at the end", "SECONDS", NULL },
};

static const GOptionEntry entries[] = {
	{ "socket", 's', 0, G_OPTION_ARG_FILENAME, &socket_path, "listen on PATH", "PATH" },
	{ "config", 'c', 0, G_OPTION_ARG_FILENAME, &config_file,
	  "configuration instead of the system's", "FILE" },
	{ "check", 0, 0, G_OPTION_ARG_NONE, &only_check,
	  "say what is wrong with the configuration, and end", NULL },
	{ "exit-when-idle", 0, 0, G_OPTION_ARG_STRING, &idle_text,
	  "end when no program has been served for so long", "SECONDS" },
	{ "busy-lock", 0, 0, G_OPTION_ARG_FILENAME, &busy_lock,
	  "with --exit-when-idle: stay while a process holds a lock (flock) on FILE", "FILE" },
	{ "version", 'V', 0, G_OPTION_ARG_NONE, &show_version, "print the version", NULL },
	{ 0 }
};

static GOptionContext *option_context(void)
{
	GOptionContext *context =
		g_option_context_new("- own the HCAs, and serve them to other processes");

	g_option_context_add_main_entries(context, entries, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(options); i++) {
		struct option *o = &options[i];
		const GOptionEntry entry[] = { { o->name, o->letter, 0, G_OPTION_ARG_STRING,
						 &o->text, o->does, o->value },
					       { 0 } };

		g_option_context_add_main_entries(context, entry, NULL);
	}
	return context;
}

/* Sets what the command line says, over what the file says. False: standard error says which
 * options are wrong. */
static bool apply_options(struct settings *to)
{
	const char *values;
	bool good = true;

	for (const struct option *o = options; o < options + G_N_ELEMENTS(options); o++)
		if (o->text && !settings_set(to, o->group, o->key, o->text, &values)) {
			fprintf(stderr, "ald: --%s %s: must be %s\n", o->name, o->text, values);
			good = false;
		}
	if (socket_path && (!*socket_path || strlen(socket_path) >= sizeof(to->path))) {
		fprintf(stderr, "ald: --socket %s: must be a path of at most %zu characters\n",
			socket_path, sizeof(to->path) - 1);
		good = false;
	}
	if (config_file && !*config_file) {
		fprintf(stderr, "ald: --config %s: must be the path of a file\n", config_file);
		good = false;
	}
	if (socket_path)
		to->attr.socket = socket_path;
	to->attr.config = config_file;
	return good;
}

/* False: standard error says why. */
static bool open_busy_lock(void)
{
	if (!busy_lock)
		return true;
	if (!idle_seconds) {
		fprintf(stderr, "ald: --busy-lock %s: has no effect without --exit-when-idle\n", busy_lock);
		return false;
	}
	busy_fd = open(busy_lock, O_RDONLY | O_CREAT | O_CLOEXEC, 0600);
	if (busy_fd < 0)
		fprintf(stderr, "ald: --busy-lock %s: %s; must be the path of a file\n", busy_lock,
			strerror(errno));
	return busy_fd >= 0;
}

static bool parse(int argc, char **argv)
{
	GOptionContext *context = option_context();
	GError *error = NULL;
	bool good = g_option_context_parse(context, &argc, &argv, &error);

	if (!good) {
		fprintf(stderr, "ald: %s; see ald --help\n", error->message);
		g_error_free(error);
	} else if (argc > 1) {
		fprintf(stderr, "ald: %s: is not an option; see ald --help\n", argv[1]);
		good = false;
	}
	if (good && idle_text) {
		guint64 seconds = 0;

		good = tool_parse_number(idle_text, 0, G_MAXINT, &seconds);
		idle_seconds = (int)seconds;
		if (!good)
			fprintf(stderr,
				"ald: --exit-when-idle %s: must be a number of seconds from 0 to %d\n",
				idle_text, G_MAXINT);
	}
	good = good && open_busy_lock();
	g_option_context_free(context);
	settings_default(&settings);
	return good && apply_options(&settings);
}

static bool read_settings(struct settings *to)
{
	settings_default(to);
	return settings_read(config_file, to) && apply_options(to);
}

/* Reads the settings, and checks the library's groups of the file too, although only a start uses
 * those groups: ald accepts a file as a whole or not at all. */
static bool read_whole(struct settings *to)
{
	bool good = read_settings(to);

	return !al_check_config(config_file) && good;
}

/* For --check: reads the configuration as SIGHUP does. Returns the exit status. */
static int check(void)
{
	bool good = read_whole(&settings);

	if (good)
		puts("ald: the configuration is good; modules check their own groups when ald loads them");
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* ------------------------------------------------------------------ service */

/*
 * Sessions and connections are large and short-lived. By default the first large free() makes glibc
 * raise the size from which an allocation has a mapping of its own, and the memory of clients that
 * are gone would stay with ald. A size that is set explicitly stays, and free() returns the memory
 * to the kernel.
 */
static void set_mmap_threshold(void)
{
	mallopt(M_MMAP_THRESHOLD, 128 * 1024);
}

/* ald needs some ten descriptors for each client. */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_NOFILE, &limit)) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

/* Reads the configuration again. A faulty file changes nothing. A good file changes limits, rights
 * and drain; a changed socket, mode or number of workers is logged, and stays as it was. */
static void reload(void)
{
	static struct settings now;

	if (!read_whole(&now)) {
		ib_log(IB_LOG_ERROR, "ald",
		       "the configuration has faults and stays as it was; correct them and reload ald again");
		return;
	}
	ald_configure(&now.attr);
	if ((!settings.attr.listener && strcmp(now.attr.socket, settings.attr.socket)) ||
	    now.attr.mode != settings.attr.mode ||
	    now.attr.limits.workers != settings.attr.limits.workers)
		ib_log(IB_LOG_WARNING, "ald",
		       "the keys socket, mode and workers of [ald] have changed: they take effect when ald is restarted");
	settings.drain = now.drain;
	ib_log(IB_LOG_INFO, "ald", "the configuration has been read again");
}

/* The last client has gone: the idle time begins. Wakes next_signal(). */
static void on_idle(void)
{
	kill(getpid(), SIGUSR1);
}

/*
 * True: no process holds a lock on the file of --busy-lock. ald has locked the file then, until ald ends: a program that
 * locks the file from now on waits, and finds no agent that is about to end.
 */
static bool nobody_needs_us(void)
{
	if (busy_fd < 0 || !flock(busy_fd, LOCK_EX | LOCK_NB))
		return true;
	ib_log(IB_LOG_DEBUG, "ald", "idle, and stays: a process holds a lock on %s", busy_lock);
	return false;
}

/* Waits for a signal. SIGTERM also when ald has been idle for idle_seconds, and nobody needs ald. */
static int next_signal(void)
{
	const struct timespec limit = { .tv_sec = idle_seconds };
	int sig;

	do {
		sig = idle_seconds && !ald_clients() ? sigtimedwait(&signals, NULL, &limit)
						     : sigwaitinfo(&signals, NULL);
		if (sig < 0 && errno == EAGAIN && !ald_clients() && nobody_needs_us())
			return SIGTERM;
	} while (sig < 0 || sig == SIGUSR1);
	return sig;
}

/* Returns when SIGTERM or SIGINT comes, or ald has been idle for long enough. */
static void serve(void)
{
	while (next_signal() == SIGHUP) {
		systemd_notify_reloading();
		reload();
		systemd_notify("READY=1");
	}
}

/* Ends the sigtimedwait() of end(). */
static void on_drained(void)
{
	kill(getpid(), SIGTERM);
}

/* Drains and stops the agent. The drain ends when no client is left, when another signal comes, or
 * after settings.drain. */
static void end(void)
{
	const struct timespec limit = { .tv_sec = settings.drain };

	systemd_notify("STOPPING=1");
	if (settings.drain) {
		ald_drain(on_drained);
		sigdelset(&signals, SIGHUP);
		sigdelset(&signals, SIGUSR1);
		sigtimedwait(&signals, NULL, &limit);
	}
	ald_stop();
}

/* Takes the service manager's socket in place of a socket of ald's own, if there is such a socket.
 * False: the service manager's socket can not be used, and the log says why. */
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
	tool_begin("ald");
	setlocale(LC_ALL, "");
	if (!parse(argc, argv))
		return 2;
	if (show_version) {
		printf("ald %s\n", al_version());
		return EXIT_SUCCESS;
	}
	if (only_check)
		return check();
	log_start();
	/* Before the first thread is started: threads inherit the mask. */
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	if (!read_settings(&settings) || !find_socket())
		return EXIT_FAILURE;
	if (idle_seconds)
		settings.attr.idle = on_idle;
	set_mmap_threshold();
	raise_descriptor_limit();
	if (ald_start(&settings.attr))
		return EXIT_FAILURE;
	/* dprintf(), not stdio: ald goes on serving if its standard output is closed. */
	dprintf(STDOUT_FILENO, "ald: serving on %s\n", settings.attr.socket);
	systemd_notify("READY=1");
	serve();
	end();
	return EXIT_SUCCESS;
}
