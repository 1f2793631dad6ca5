/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* ald as a service: start and end, within a process and under systemd; configuration, drain, and
 * its messages. */
#include "test/e2e/agent.h"

#include <sched.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/un.h>

#include "al/agent/ald.h"

/* -------------------------------------------------------- within a process */

static int entries(const char *path)
{
	int count = 0;
	DIR *dir = opendir(path);

	ck_assert_ptr_nonnull(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static void one_life(const char *path)
{
	const struct ald_attr attr = { .socket = path, .mode = 0600, .config = "", .limits = ald_default_limits };
	const struct al_open_attr use = { .agent = path, .config = "" };
	struct test_end end[2];
	al_h al;

	ck_ok(ald_start(&attr));
	ck_status(ald_start(&attr), AL_DUPLICATE);
	ck_ok(al_open(&use, &al));
	test_make_pair(al, end);
	ck_ok(test_post_recv(&end[1], 1, 0, 8));
	memcpy(end[0].mem + 64, "eight by", 8);
	ck_ok(test_post_send(&end[0], 2, 64, 8));
	test_poll_ok(end[1].cq, 1);
	ck_assert_mem_eq(end[1].mem, "eight by", 8);
	for (int i = 0; i < 2; i++)
		test_free_end(&end[i]);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	ald_stop();
	ck_assert_int_ne(access(path, F_OK), 0);
}

START_TEST(an_agent_within_a_process_lives_again_and_again)
{
	const struct ald_attr empty = { .socket = agent_socket, .mode = 0600, .config = "", .limits = ald_default_limits };
	const struct timespec deadline = test_deadline();
	int fds, threads;

	one_life(agent_socket);
	fds = entries("/proc/self/fd");
	threads = entries("/proc/self/task");
	for (int i = 0; i < 5; i++)
		one_life(agent_socket);
	/*
	 * The client's threads notice by themselves that their agent has ended. The next agent of
	 * the process closes descriptors that a thread of the former agent held at its end.
	 */
	while (entries("/proc/self/fd") > fds || entries("/proc/self/task") > threads) {
		ck_assert_msg(!test_expired(&deadline), "%d descriptors instead of %d, %d threads instead of %d",
			      entries("/proc/self/fd"), fds, entries("/proc/self/task"), threads);
		ck_ok(ald_start(&empty));
		ald_stop();
	}
}
END_TEST

/* ----------------------------------------------------------------- a daemon */

static char dir[] = "/tmp/service_test-XXXXXX", conf_file[64];

static struct {
	pid_t pid;
	FILE *says; /* standard output and error */
} ald;

static void write_conf(const char *text)
{
	FILE *file = fopen(conf_file, "w");

	ck_assert_ptr_nonnull(file);
	ck_assert_int_ge(fputs(text, file), 0);
	ck_assert_int_eq(fclose(file), 0);
}

static void set_up(void)
{
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(agent_socket, sizeof(agent_socket), "%s/ald.socket", dir);
	snprintf(conf_file, sizeof(conf_file), "%s/ibal.conf", dir);
	write_conf("");
}

static void tear_down(void)
{
	unlink(conf_file);
	unlink(agent_socket);
	rmdir(dir);
}

static char *const *spawn_options; /* further options, ended by NULL */

/* Starts ald with the configuration. The child calls before(), if it is not NULL. */
static void spawn(void (*before)(void))
{
	char *arguments[16] = { "ald", "--config", conf_file, "--socket", agent_socket };
	const char *build = getenv("top_builddir");
	char path[512];
	int out[2];

	for (int i = 0; spawn_options && spawn_options[i]; i++)
		arguments[5 + i] = spawn_options[i];

	ck_assert_ptr_nonnull(build);
	snprintf(path, sizeof(path), "%s/ald", build);
	ck_assert_int_eq(pipe2(out, O_CLOEXEC), 0);
	ald.pid = fork();
	ck_assert_int_ge(ald.pid, 0);
	if (!ald.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(out[1], 1);
		dup2(out[1], 2);
		setenv("IBAL_LOG", "info", 1);
		if (before)
			before();
		execv(path, arguments);
		_exit(127);
	}
	close(out[1]);
	ald.says = fdopen(out[0], "r");
}

/* Reads ald's output until it has this text. */
static void expect(const char *text)
{
	char line[512];

	do
		ck_assert_msg(fgets(line, sizeof(line), ald.says) != NULL, "ald ended without \"%s\"", text);
	while (!strstr(line, text));
}

static int ended(void)
{
	int status = wait_for(ald.pid);

	fclose(ald.says);
	return status;
}

#ifdef __SANITIZE_THREAD__ /* ThreadSanitizer reports the threads of modules, which stay loaded to the end */
#define ck_ended() (void)ended()
#else
#define ck_ended() ck_assert_int_eq(ended(), 0)
#endif

START_TEST(a_signal_reads_the_configuration_again_and_a_wrong_one_changes_nothing)
{
	static const char *const elsewhere[] = { "[ald client]\npds = 3\n[ibal]\nlog = verbose\n",
						 "[ald client]\npds = 3\n[ibal]\nlogg = info\n",
						 "pds = 3\n" };
	al_pd_h pd[4];
	uint64_t guid;
	al_ca_h ca;
	al_h al;

	write_conf("[ald client]\npds = 1\n");
	spawn(NULL);
	expect("serving on");
	al = agent_open();
	test_guids(al, &guid, 1);
	ca = test_open_ca(al, guid);
	ck_ok(al_alloc_pd(ca, NULL, &pd[0]));
	ck_status(al_alloc_pd(ca, NULL, &pd[1]), AL_LIMIT_EXCEEDED);
	write_conf("[ald]\nworkers = 5\n[ald client]\npds = 2\n");
	kill(ald.pid, SIGHUP);
	expect("take effect when ald is restarted");
	expect("has been read again");
	ck_ok(al_alloc_pd(ca, NULL, &pd[1]));
	ck_status(al_alloc_pd(ca, NULL, &pd[2]), AL_LIMIT_EXCEEDED);
	write_conf("[ald client]\npds = 3\nqps = wrong\n");
	kill(ald.pid, SIGHUP);
	expect("ibal.conf:3: [ald client] qps = wrong: must be");
	expect("stays as it was");
	ck_status(al_alloc_pd(ca, NULL, &pd[2]), AL_LIMIT_EXCEEDED);
	/* A wrong file is not applied in part, even if only groups are wrong that only a start
	 * reads. */
	for (unsigned int i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++) {
		write_conf(elsewhere[i]);
		kill(ald.pid, SIGHUP);
		expect("stays as it was");
		ck_status(al_alloc_pd(ca, NULL, &pd[2]), AL_LIMIT_EXCEEDED);
	}
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	kill(ald.pid, SIGTERM);
	ck_ended();
}
END_TEST

START_TEST(a_wrong_configuration_does_not_start)
{
	int status;

	write_conf("[ald]\nno_such_key = 1\n");
	spawn(NULL);
	expect("ibal.conf:2: [ald] no_such_key = 1: there is no such key");
	status = ended();
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	ck_assert_int_ne(access(agent_socket, F_OK), 0);
}
END_TEST

static void open_and_close(void)
{
	al_h al = agent_open();
	uint64_t guids[2];

	test_guids(al, guids, 2);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

/* ------------------------------------------------------------------ options */

/* Runs ald with these arguments to its end. Returns its exit status, and its output and errors. */
static int run(char *const *arguments, char *says, size_t size)
{
	char path[512];
	size_t length = 0, n;
	int out[2], status;
	pid_t pid;
	FILE *file;

	snprintf(path, sizeof(path), "%s/ald", getenv("top_builddir"));
	ck_assert_int_eq(pipe2(out, O_CLOEXEC), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(out[1], 1);
		dup2(out[1], 2);
		execv(path, arguments);
		_exit(127);
	}
	close(out[1]);
	file = fdopen(out[0], "r");
	while ((n = fread(says + length, 1, size - 1 - length, file)) > 0)
		length += n;
	says[length] = '\0';
	fclose(file);
	status = wait_for(pid);
	ck_assert_msg(WIFEXITED(status), "ald ended with status %#x", (unsigned int)status);
	return WEXITSTATUS(status);
}

#define RUN(says, ...) run((char *[]){ (char[]){ "ald" }, __VA_ARGS__, NULL }, says, sizeof(says))
#define NUMBER "must be a number from 0 to 18446744073709551615, also such as 64M, or none"

static const struct {
	char *option, *value;
	const char *says; /* words of the message; NULL: the file is correct */
} option_values[] = {
	{ "--max-bytes", "1G", NULL },
	{ "--max-bytes", "none", NULL },
	{ "--max-rings", "64M", NULL },
	{ "--max-objects", "2K", NULL },
	{ "--max-clients", "1K", NULL },
	{ "--workers", "256", NULL },
	{ "--drain", "3600", NULL },
	{ "--mode", "0660", NULL },
	{ "--max-bytes", "1GB", "ald: --max-bytes 1GB: " NUMBER },
	{ "--max-bytes", "-1", "ald: --max-bytes -1: " NUMBER },
	{ "--max-rings", "much", "ald: --max-rings much: " NUMBER },
	{ "--max-objects", "", "ald: --max-objects : " NUMBER },
	{ "--max-clients", "0", "ald: --max-clients 0: must be a number from 1 to 1048576" },
	{ "--workers", "257", "ald: --workers 257: must be a number from 1 to 256" },
	{ "--drain", "3601", "ald: --drain 3601: must be seconds, from 0 to 3600" },
	{ "--drain", "1K", "ald: --drain 1K: must be seconds, from 0 to 3600" },
	{ "--socket", "", "ald: --socket : must be a path of at most 107 characters" },
	{ "--config", "", "ald: --config : must be the path of a file" },
	{ "--mode", "888", "ald: --mode 888: must be octal digits, at most 777" },
	{ "--socket",
	  "/tmp/a-path-that-is-longer-than-the-hundred-and-seven-characters-that-a-socket-has-room-for-in-its-address-xxxx",
	  "must be a path of at most 107 characters" },
	{ "--no-such-option", "1", "ald: Unknown option --no-such-option; see ald --help" },
	{ "--workers=1", "stray", "ald: stray: is not an option; see ald --help" },
};

START_TEST(an_option_takes_what_the_file_takes_and_else_says_what_is_possible)
{
	char says[1024], check[] = "--check", config[] = "--config";
	int status = RUN(says, check, config, conf_file, option_values[_i].option, option_values[_i].value);

	if (!option_values[_i].says) {
		ck_assert_msg(!status, "%s %s: %s", option_values[_i].option, option_values[_i].value, says);
		return;
	}
	ck_assert_int_eq(status, 2);
	ck_assert_msg(strstr(says, option_values[_i].says) != NULL, "\"%s\" is not in \"%s\"", option_values[_i].says,
		      says);
}
END_TEST

START_TEST(each_option_that_is_wrong_is_said)
{
	char says[1024], args[3][32] = { "--workers=0", "--max-bytes=x", "--mode=9" };

	ck_assert_int_eq(RUN(says, args[0], args[1], args[2]), 2);
	ck_assert_ptr_nonnull(strstr(says, "--workers 0: must"));
	ck_assert_ptr_nonnull(strstr(says, "--max-bytes x: must"));
	ck_assert_ptr_nonnull(strstr(says, "--mode 9: must"));
}
END_TEST

START_TEST(the_version_is_said_for_both_of_its_options)
{
	char says[2][256], args[2][16] = { "-V", "--version" };

	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(RUN(says[i], args[i]), 0);
	ck_assert_ptr_nonnull(strstr(says[0], al_version()));
	ck_assert_str_eq(says[0], says[1]);
}
END_TEST

static uint64_t limit_of(al_h al, al_resource resource)
{
	struct al_snapshot *snap;
	uint64_t limit = 0;

	ck_ok(al_snapshot(al, &snap));
	for (size_t i = 0; i < snap->num_clients; i++)
		if (snap->clients[i].pid == getpid())
			limit = snap->clients[i].use[resource].limit;
	al_free_snapshot(snap);
	return limit;
}

START_TEST(options_go_before_the_file_at_the_start_and_at_a_signal)
{
	char *options[] = { "--max-bytes", "8K", "--max-objects", "77", NULL };
	al_h al;

	write_conf("[ald client]\nbytes = 5\nrings = 1M\nqps = 6\n");
	spawn_options = options;
	spawn(NULL);
	expect("serving on");
	al = agent_open();
	for (int i = 0; i < 2; i++) {
		ck_assert_uint_eq(limit_of(al, AL_RESOURCE_BYTES), 8192);
		ck_assert_uint_eq(limit_of(al, AL_RESOURCE_QPS), 77);
		ck_assert_uint_eq(limit_of(al, AL_RESOURCE_PDS), 77);
		ck_assert_uint_eq(limit_of(al, AL_RESOURCE_RINGS), i ? 2u << 20 : 1u << 20);
		write_conf("[ald client]\nbytes = 6\nrings = 2M\npds = 7\n");
		kill(ald.pid, SIGHUP);
		expect("has been read again");
	}
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	kill(ald.pid, SIGTERM);
	ck_ended();
}
END_TEST

/* -------------------------------------------------------------------- check */

START_TEST(a_check_says_each_fault_of_the_file)
{
	static const char *const faults[] = {
		":2: [ald] workers = 0: must be a number from 1 to 256",
		":3: [ald] no_such_key = 1: there is no such key",
		":5: [ald] what is this: is neither",
		(":7: [ald user] qps = -1: " NUMBER),
		":8: [ald users] : there is no such group",
		":9: [ald users] rubbish: is neither",
	};
	char says[4096], check[] = "--check", config[] = "--config", socket[] = "--socket";
	const char *found = says;

	write_conf("[ald]\nworkers = 0\nno_such_key = 1\nclients = 5\nwhat is this\n[ald user]\nqps = -1\n[ald users]\n"
		   "rubbish\nx = 1\n[ald]\ndrain = 1\n");
	ck_assert_int_eq(RUN(says, check, config, conf_file, socket, agent_socket), 1);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) { /* in the order of the file */
		found = strstr(found, faults[i]);
		ck_assert_msg(found != NULL, "\"%s\" is not in \"%s\"", faults[i], says);
	}
	ck_assert_ptr_null(strstr(says, "[ald users] x"));
	ck_assert_int_ne(access(agent_socket, F_OK), 0);
}
END_TEST

START_TEST(a_check_says_each_fault_of_the_librarys_groups)
{
	char says[4096], check[] = "--check", config[] = "--config";

	write_conf("[ibal]\nlog = loud\nno_such_key = 1\n");
	ck_assert_int_eq(RUN(says, check, config, conf_file), 1);
	ck_assert_ptr_nonnull(strstr(says, "[ibal] log = loud: must be error, warning, info or debug"));
	ck_assert_ptr_nonnull(strstr(says, "[ibal] no_such_key: unknown key"));
	write_conf("[sofft]\nhcas = 2\n[soft]\nhcas = 2\n[other]\nx = 1\n");
	ck_assert_int_eq(RUN(says, check, config, conf_file), 1);
	ck_assert_ptr_nonnull(strstr(says, "[sofft] hcas: the module path has no module sofft"));
	ck_assert_ptr_nonnull(strstr(says, "[other] x: the module path has no module other"));
	ck_assert_ptr_null(strstr(says, "[soft]"));
	unlink(conf_file);
	ck_assert_int_eq(RUN(says, check, config, conf_file), 1);
	ck_assert_ptr_nonnull(strstr(says, conf_file));
}
END_TEST

START_TEST(a_check_of_what_is_right_disturbs_no_agent)
{
	char says[4096], check[] = "--check", config[] = "--config", socket[] = "--socket";

	write_conf("[ald]\nclients = 1\n[soft]\nhcas = 2\n");
	spawn(NULL);
	expect("serving on");
	ck_assert_int_eq(RUN(says, check, config, conf_file, socket, agent_socket), 0);
	ck_assert_str_eq(says, "ald: the configuration is good; modules check their "
			       "own groups when ald loads them\n");
	open_and_close();
	kill(ald.pid, SIGTERM);
	ck_ended();
}
END_TEST

/* -------------------------------------------------------------- descriptors */

static void few_descriptors(void)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = 256;
	setrlimit(RLIMIT_NOFILE, &limit);
}

START_TEST(an_agent_has_as_many_descriptors_as_it_is_allowed)
{
	struct rlimit ours, its;

	/*
	 * The limits of the test runner's process are the same. (valgrind reports a smaller limit
	 * to a process itself.)
	 */
	ck_assert_int_eq(prlimit(getppid(), RLIMIT_NOFILE, NULL, &ours), 0);
	ck_assert_uint_gt(ours.rlim_max, 256);
	spawn(few_descriptors);
	expect("serving on");
	ck_assert_int_eq(prlimit(ald.pid, RLIMIT_NOFILE, NULL, &its), 0);
	ck_assert_uint_eq(its.rlim_cur, its.rlim_max);
	ck_assert_uint_eq(its.rlim_max, ours.rlim_max);
	kill(ald.pid, SIGTERM);
	ck_ended();
}
END_TEST

/* ------------------------------------------------------------------- drain */

static sem_t told;

static void on_log(void *context, ib_log_level level, const char *text)
{
	(void)context;
	(void)level;
	if (strstr(text, "is about to end"))
		sem_post(&told);
}

/* Creates a client with a protection domain, at an agent that has begun to drain. */
static al_pd_h drain(const char *conf)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	uint64_t guid;
	al_pd_h pd;
	al_ca_h ca;
	al_h al;
	int fd;

	write_conf(conf);
	spawn(NULL);
	expect("serving on");
	al = agent_open();
	test_guids(al, &guid, 1);
	ca = test_open_ca(al, guid);
	ck_ok(al_alloc_pd(ca, NULL, &pd));
	sem_init(&told, 0, 0);
	al_set_log(on_log, NULL);
	kill(ald.pid, SIGTERM);
	test_wait(&told);
	/* The agent serves no new client. */
	strcpy(addr.sun_path, agent_socket);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	ck_assert_int_ne(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	close(fd);
	return pd;
}

START_TEST(who_has_something_may_finish_and_then_the_agent_ends)
{
	const struct al_mr_init init = { .addr = dir, .length = sizeof(dir) };
	al_pd_h pd = drain("[ald]\ndrain = 3600\n");
	uint32_t lkey, rkey;
	al_mr_h mr;

	ck_ok(al_reg_mr(pd, &init, NULL, &lkey, &rkey, &mr)); /* the agent still serves its client */
	ck_ok(al_dereg_mr(mr, AL_DESTROY_SYNC, NULL));
	ck_ok(al_dealloc_pd(pd, AL_DESTROY_SYNC, NULL));
	ck_ended();
	ck_assert_int_ne(access(agent_socket, F_OK), 0);
}
END_TEST

START_TEST(who_makes_a_socket_while_an_agent_drains_keeps_it)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	al_pd_h pd = drain("[ald]\ndrain = 3600\n");
	int next = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	ck_assert_int_ne(access(agent_socket, F_OK), 0); /* no socket to connect to */
	strcpy(addr.sun_path, agent_socket);
	ck_assert_int_eq(bind(next, (struct sockaddr *)&addr, sizeof(addr)), 0);
	ck_ok(al_dealloc_pd(pd, AL_DESTROY_SYNC, NULL));
	ck_ended();
	ck_assert_int_eq(access(agent_socket, F_OK), 0);
	close(next);
}
END_TEST

START_TEST(an_agent_whose_socket_was_replaced_leaves_the_other)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int other = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	spawn(NULL);
	expect("serving on");
	ck_assert_int_eq(unlink(agent_socket), 0);
	strcpy(addr.sun_path, agent_socket);
	ck_assert_int_eq(bind(other, (struct sockaddr *)&addr, sizeof(addr)), 0);
	kill(ald.pid, SIGTERM);
	ck_ended();
	ck_assert_int_eq(access(agent_socket, F_OK), 0);
	close(other);
}
END_TEST

START_TEST(a_client_that_does_not_finish_has_its_time)
{
	al_pd_h pd = drain("[ald]\ndrain = 1\n");

	ck_ended();
	ck_assert_int_ne(al_dealloc_pd(pd, AL_DESTROY_SYNC, NULL), AL_INVALID_HANDLE);
}
END_TEST

START_TEST(a_second_signal_ends_at_once)
{
	drain("[ald]\ndrain = 3600\n");
	kill(ald.pid, _i ? SIGINT : SIGTERM);
	ck_ended();
}
END_TEST

/* The library keeps its connection and the HCAs that it has opened: the agent does not wait for
 * these. */
START_TEST(who_has_nothing_is_not_waited_for)
{
	al_h al;

	write_conf("[ald]\ndrain = 3600\n");
	spawn(NULL);
	expect("serving on");
	al = agent_open();
	kill(ald.pid, SIGTERM);
	ck_ended();
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}
END_TEST

/* ----------------------------------------------------------------- systemd */

static struct sockaddr_un notify_addr = { .sun_family = AF_UNIX };
static socklen_t notify_length;
static int notify_fd;

static void set_notify(void)
{
	char name[sizeof(notify_addr.sun_path) + 1] = "";

	memcpy(name, notify_addr.sun_path, notify_length - offsetof(struct sockaddr_un, sun_path));
	if (!*name)
		*name = '@';
	setenv("NOTIFY_SOCKET", name, 1);
}

static void expect_notify(const char *want)
{
	char got[256];
	ssize_t n = recv(notify_fd, got, sizeof(got) - 1, 0);

	ck_assert_int_gt(n, 0);
	got[n] = '\0';
	ck_assert_msg(!strncmp(got, want, strlen(want)), "\"%s\", not \"%s\"", got, want);
}

START_TEST(the_service_manager_hears_how_it_goes)
{
	notify_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	snprintf(notify_addr.sun_path + _i, sizeof(notify_addr.sun_path) - 1, "%s/notify", dir); /* abstract: behind a 0 */
	notify_length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)_i + strlen(notify_addr.sun_path + _i));
	ck_assert_int_eq(bind(notify_fd, (struct sockaddr *)&notify_addr, notify_length), 0);
	spawn(set_notify);
	expect_notify("READY=1");
	ck_assert_int_eq(access(agent_socket, F_OK), 0); /* ald already serves */
	kill(ald.pid, SIGHUP);
	expect_notify("RELOADING=1\nMONOTONIC_USEC=");
	expect_notify("READY=1");
	kill(ald.pid, SIGTERM);
	expect_notify("STOPPING=1");
	ck_ended();
	close(notify_fd);
	if (!_i)
		unlink(notify_addr.sun_path);
}
END_TEST

static int handed_fd;
static const char *handed_count = "1", *handed_pid;

static void hand_over(void)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", (int)getpid()); /* ald replaces the wrapper of an uninstalled program */
	dup2(handed_fd, 3);
	setenv("LISTEN_FDS", handed_count, 1);
	setenv("LISTEN_PID", handed_pid ? handed_pid : pid, 1);
}

static int socket_of(int type, bool listens)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	strcpy(addr.sun_path, agent_socket);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	if (listens)
		ck_assert_int_eq(listen(fd, 16), 0);
	return fd;
}

START_TEST(the_service_managers_socket_is_served_and_outlives_the_agent)
{
	handed_fd = socket_of(SOCK_SEQPACKET, true);
	for (int i = 0; i < 2; i++) {
		spawn(hand_over);
		open_and_close(); /* the connection waits in the socket until ald serves */
		kill(ald.pid, SIGTERM);
		ck_ended();
		ck_assert_int_eq(access(agent_socket, F_OK), 0);
	}
	close(handed_fd);
}
END_TEST

static const struct {
	int type;
	bool listens;
	const char *count, *says;
} wrong_sockets[] = {
	{ SOCK_STREAM, true, "1", "ald.socket must say ListenSequentialPacket=" },
	{ SOCK_SEQPACKET, false, "1", "must say Accept=no" },
	{ SOCK_SEQPACKET, true, "2", "must have exactly one socket" },
};

START_TEST(another_socket_of_the_service_manager_is_refused)
{
	int status;

	handed_fd = socket_of(wrong_sockets[_i].type, wrong_sockets[_i].listens);
	handed_count = wrong_sockets[_i].count;
	spawn(hand_over);
	expect(wrong_sockets[_i].says);
	status = ended();
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	close(handed_fd);
}
END_TEST

START_TEST(a_socket_that_was_meant_for_another_process_is_left_alone)
{
	handed_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	handed_pid = "1";
	spawn(hand_over);
	expect("serving on");
	open_and_close();
	kill(ald.pid, SIGTERM);
	ck_ended();
	close(handed_fd);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("e2e/service");
	TCase *tcase = tcase_create("service");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, a_signal_reads_the_configuration_again_and_a_wrong_one_changes_nothing);
	tcase_add_test(tcase, a_wrong_configuration_does_not_start);
	tcase_add_loop_test(tcase, an_option_takes_what_the_file_takes_and_else_says_what_is_possible, 0,
			    sizeof(option_values) / sizeof(option_values[0]));
	tcase_add_test(tcase, each_option_that_is_wrong_is_said);
	tcase_add_test(tcase, the_version_is_said_for_both_of_its_options);
	tcase_add_test(tcase, options_go_before_the_file_at_the_start_and_at_a_signal);
	tcase_add_test(tcase, a_check_says_each_fault_of_the_file);
	tcase_add_test(tcase, a_check_says_each_fault_of_the_librarys_groups);
	tcase_add_test(tcase, a_check_of_what_is_right_disturbs_no_agent);
	tcase_add_test(tcase, an_agent_has_as_many_descriptors_as_it_is_allowed);
	tcase_add_test(tcase, who_has_something_may_finish_and_then_the_agent_ends);
	tcase_add_test(tcase, who_makes_a_socket_while_an_agent_drains_keeps_it);
	tcase_add_test(tcase, an_agent_whose_socket_was_replaced_leaves_the_other);
	tcase_add_test(tcase, a_client_that_does_not_finish_has_its_time);
	tcase_add_loop_test(tcase, a_second_signal_ends_at_once, 0, 2);
	tcase_add_test(tcase, who_has_nothing_is_not_waited_for);
	tcase_add_loop_test(tcase, the_service_manager_hears_how_it_goes, 0, 2);
	tcase_add_test(tcase, the_service_managers_socket_is_served_and_outlives_the_agent);
	tcase_add_loop_test(tcase, another_socket_of_the_service_manager_is_refused, 0, 3);
	tcase_add_test(tcase, a_socket_that_was_meant_for_another_process_is_left_alone);
	tcase_add_test(tcase, an_agent_within_a_process_lives_again_and_again);
	suite_add_tcase(suite, tcase);
	return test_run(suite);
}
