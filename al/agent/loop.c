/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The agent, ald: start, the loop, the pool of workers, signals. */
#include "al/agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

struct agent_limits limits = {
	.sessions = 1024,
	.objects = 4096,
	.bytes = 1ull << 30,
	.rings = 64ull << 20,
	.lines = 16,
	.workers = 4,
};

static int epoll_fd;
static mode_t socket_mode = 0600; /* others may connect when they are let */
static bool stopping;

int loop_watch(int fd, struct watched *watched, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = watched };

	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

int loop_change(int fd, struct watched *watched, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = watched };

	return epoll_ctl(epoll_fd, EPOLL_CTL_MOD, fd, &event);
}

void loop_unwatch(int fd)
{
	epoll_ctl(epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

/* ------------------------------------------------------------------ workers */

static struct {
	pthread_mutex_t lock; /* guards both lists. Leaf. */
	pthread_cond_t more;
	struct job *work, **work_end;
	struct job *done, **done_end;
	int event; /* wakes the loop */
} pool = { .lock = PTHREAD_MUTEX_INITIALIZER,
	   .more = PTHREAD_COND_INITIALIZER,
	   .work_end = &pool.work,
	   .done_end = &pool.done };

void pool_work(struct job *job)
{
	job->next = NULL;
	pthread_mutex_lock(&pool.lock);
	*pool.work_end = job;
	pool.work_end = &job->next;
	pthread_cond_signal(&pool.more);
	pthread_mutex_unlock(&pool.lock);
}

void pool_done(struct job *job)
{
	const uint64_t one = 1;
	bool first;

	job->next = NULL;
	pthread_mutex_lock(&pool.lock);
	first = !pool.done;
	*pool.done_end = job;
	pool.done_end = &job->next;
	/* Under the lock: when the loop has seen the job, this is no longer needed. */
	if (first && write(pool.event, &one, sizeof(one)) < 0)
		abort(); /* a counter that is read before it is full */
	pthread_mutex_unlock(&pool.lock);
}

static void *worker_main(void *arg)
{
	struct job *job;

	(void)arg;
	pthread_setname_np(pthread_self(), "ald-worker");
	for (;;) {
		pthread_mutex_lock(&pool.lock);
		while (!pool.work)
			pthread_cond_wait(&pool.more, &pool.lock);
		job = pool.work;
		pool.work = job->next;
		if (!pool.work)
			pool.work_end = &pool.work;
		pthread_mutex_unlock(&pool.lock);
		job->work(job);
		pool_done(job);
	}
	return NULL;
}

static void see_done(void)
{
	struct job *job, *next;
	uint64_t count;

	if (read(pool.event, &count, sizeof(count)) < 0)
		return;
	pthread_mutex_lock(&pool.lock);
	job = pool.done;
	pool.done = NULL;
	pool.done_end = &pool.done;
	pthread_mutex_unlock(&pool.lock);
	for (; job; job = next) {
		next = job->next;
		job->done(job);
	}
}

/* ------------------------------------------------------------------- socket */

/* A socket that nobody listens on was left by an agent that was killed. */
static bool in_use(const struct sockaddr_un *addr)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	bool used = fd >= 0 && !connect(fd, (const struct sockaddr *)addr, sizeof(*addr));

	if (fd >= 0)
		close(fd);
	return used;
}

static int listen_on(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct stat st;
	int fd;

	if (strlen(path) >= sizeof(addr.sun_path)) {
		ib_log(IB_LOG_ERROR, "ald", "socket %s: the path is longer than %zu", path,
		       sizeof(addr.sun_path) - 1);
		return -1;
	}
	strcpy(addr.sun_path, path);
	if (!lstat(path, &st)) {
		if (!S_ISSOCK(st.st_mode) || in_use(&addr)) {
			ib_log(IB_LOG_ERROR, "ald", "socket %s: %s", path,
			       S_ISSOCK(st.st_mode) ? "another agent listens there; stop it first"
						    : "there is something else of that name");
			return -1;
		}
		unlink(path);
	}
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && !bind(fd, (struct sockaddr *)&addr, sizeof(addr)) &&
	    !chmod(path, socket_mode) && !listen(fd, 512))
		return fd;
	ib_log(IB_LOG_ERROR, "ald", "socket %s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

/* --------------------------------------------------------------------- loop */

static int listener, signals;

static void see_signal(void)
{
	struct signalfd_siginfo info;

	if (read(signals, &info, sizeof(info)) != sizeof(info))
		return;
	if (stopping)
		return;
	/* No new client; those that are here find the agent lost. */
	stopping = true;
	loop_unwatch(listener);
	close(listener);
	connection_end_strangers();
	for (struct session *next, *s = sessions; s; s = next) {
		next = s->next;
		shutdown(s->events, SHUT_RDWR);
		session_end(s, "the agent stops");
	}
}

static void see(const struct watched *watched, uint32_t events)
{
	switch (watched->what) {
	case WATCH_LISTEN:
		connection_accept(listener);
		break;
	case WATCH_SIGNAL:
		see_signal();
		break;
	case WATCH_DONE:
		see_done();
		break;
	case WATCH_STRANGER:
		connection_hello(watched->of);
		break;
	case WATCH_LINE:
		line_readable(watched->of);
		break;
	case WATCH_EVENTS:
		/* A client says nothing here: whatever can be read is its end. */
		if (events & ~(uint32_t)EPOLLOUT)
			session_end(watched->of, "its connection is closed");
		else
			session_flush(watched->of);
		break;
	case WATCH_PIDFD:
		session_end(watched->of, "it is dead");
		break;
	}
}

static int run(void)
{
	struct epoll_event event;

	/* One at a time: what is seen to may free what the next would be about. */
	while (!stopping || num_sessions)
		if (epoll_wait(epoll_fd, &event, 1, -1) == 1)
			see(event.data.ptr, event.events);
	return EXIT_SUCCESS;
}

static bool start_loop(void)
{
	static struct watched on_listen = { WATCH_LISTEN }, on_signal = { WATCH_SIGNAL },
			      on_done = { WATCH_DONE };
	pthread_t worker;
	sigset_t mask;

	connection_init();
	sigemptyset(&mask);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGINT);
	pthread_sigmask(SIG_BLOCK, &mask, NULL);
	signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	pool.event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (signals < 0 || pool.event < 0 || epoll_fd < 0 ||
	    loop_watch(listener, &on_listen, EPOLLIN) || loop_watch(signals, &on_signal, EPOLLIN) ||
	    loop_watch(pool.event, &on_done, EPOLLIN))
		return false;
	for (uint32_t i = 0; i < limits.workers; i++) {
		if (pthread_create(&worker, NULL, worker_main, NULL))
			return false;
		pthread_detach(worker);
	}
	return true;
}

/* ------------------------------------------------------------------ options */

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

	socket_mode = (mode_t)mode;
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
	limits = (struct agent_limits){ .sessions = (uint32_t)max_clients,
					.objects = (uint32_t)max_objects,
					.bytes = (uint64_t)max_bytes,
					.rings = (uint64_t)max_rings,
					.lines = 16,
					.workers = (uint32_t)workers };
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
	struct al_open_attr own = { .agent = "off" };
	const char *path;
	al_status status;
	al_h al;
	int rc;

	setlocale(LC_ALL, "");
	if (!parse(argc, argv))
		return 2;
	if (show_version) {
		printf("ald %s\n", al_version());
		return EXIT_SUCCESS;
	}
	path = socket_path ? socket_path : AGENT_SOCKET;
	raise_descriptors();
	listener = listen_on(path);
	if (listener < 0)
		return EXIT_FAILURE;
	if (!start_loop()) {
		ib_log(IB_LOG_ERROR, "ald", "can not start: %s", strerror(errno));
		unlink(path);
		return EXIT_FAILURE;
	}
	/* The signals are blocked: the library's threads inherit that, and the loop reads them. */
	own.config = config_file;
	status = al_open(&own, &al);
	if (status) {
		ib_log(IB_LOG_ERROR, "ald", "can not open the library: %s", al_status_str(status));
		unlink(path);
		return EXIT_FAILURE;
	}
	printf("ald: serving on %s\n", path);
	fflush(stdout);
	rc = run();
	unlink(path);
	al_close(al, AL_DESTROY_SYNC, NULL);
	return rc;
}
