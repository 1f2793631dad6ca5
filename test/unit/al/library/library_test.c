/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The library as a guest in a process: forks, threads and descriptors, the library's effect on the process (none),
 * and failures when the process can start no more threads. On the software HCA.
 */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/unit/al/bed.h"
#include "test/unit/al/fork.h"

/* -------------------------------------------- threads that can not be started */

static atomic_int creations_left; /* 0: no limit; else counted down, and the creation that makes it 1 fails */
static atomic_uint failures;

/* Replaces libc's function: this program's symbols come before those of its libraries. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*main_function)(void *), void *arg)
{
	static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

	if (!real)
		real = (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(RTLD_NEXT,
												"pthread_create");
	if (creations_left && !--creations_left) {
		failures++;
		return EAGAIN;
	}
	return real(thread, attr, main_function, arg);
}

/* ---------------------------------------------------------------- transfers */

/* Sends one message from each end to the other. False: a message was not received with the bytes that were sent. */
static bool transfer(struct test_end end[2])
{
	struct timespec deadline = test_deadline();

	for (int from = 0; from < 2; from++) {
		struct test_end *a = &end[from], *b = &end[!from];
		unsigned int done = 0;

		memset(a->mem, 0x5a + from, 512);
		memset(b->mem + 1024, 0, 512);
		if (test_post_recv(b, 1, 1024, 512) || test_post_send(a, 2, 0, 512))
			return false;
		while (done < 2) {
			struct ib_wc wc;
			uint32_t n = 0, m = 0;

			if (al_poll_cq(a->cq, 1, &wc, &n) || (n && wc.status) || al_poll_cq(b->cq, 1, &wc, &m) ||
			    (m && wc.status) || test_expired(&deadline))
				return false;
			done += n + m;
		}
		if (memcmp(a->mem, b->mem + 1024, 512))
			return false;
	}
	return true;
}

/* A connected pair and a message each way, from the start to the close. */
static int whole_life(void)
{
	struct test_end end[2];
	al_h al = test_open();

	test_make_pair(al, end);
	if (!transfer(end))
		return 20;
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	free(end[0].mem);
	free(end[1].mem);
	return 0;
}

/* Returns the child's exit code; -1: a signal has ended the child. */
static int reap(pid_t pid)
{
	int status;

	ck_assert_int_gt(pid, 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* --------------------------------------------------------------------- fork */

static void quiet(void *context, const struct al_event *event)
{
	(void)context;
	(void)event;
}

static al_status accept(void *context, const struct al_pnp_event *event)
{
	(void)context;
	(void)event;
	return AL_SUCCESS;
}

struct inherited {
	al_h al;
	struct test_end end[2];
	al_ah_h ah;
	al_event_handler_h handler;
	al_channel_h channel;
	al_pnp_h pnp;
};

/* In the child: returns the number of the first call that did not refuse its handle; 0: all calls refused. */
static int try_inherited(struct inherited *in)
{
	const struct ib_send_wr send = { .opcode = IB_WR_SEND }, *bad_send;
	struct al_channel_event event;
	struct ib_ca_attr attr;
	struct ib_mr_attr mr_attr;
	struct ib_wc wc;
	uint32_t count;
	al_pd_h pd;
	int n = 0;

#define INVALID(call) \
	do { \
		n++; \
		if ((call) != AL_INVALID_HANDLE) \
			return n; \
	} while (0)
	INVALID(al_post_send(in->end[0].qp, &send, &bad_send));
	INVALID(al_poll_cq(in->end[0].cq, 1, &wc, &count));
	INVALID(al_arm_cq(in->end[0].cq, AL_ARM_ANY, NULL));
	INVALID(al_query_ca(in->end[0].ca, &attr));
	INVALID(al_query_mr(in->end[0].mr, &mr_attr));
	INVALID(al_alloc_pd(in->end[0].ca, NULL, &pd));
	INVALID(al_channel_next(in->channel, &event));
	INVALID(al_destroy_qp(in->end[0].qp, AL_DESTROY_SYNC, NULL));
	INVALID(al_destroy_cq(in->end[0].cq, NULL, NULL));
	INVALID(al_dereg_mr(in->end[0].mr, NULL, NULL));
	INVALID(al_destroy_ah(in->ah, NULL, NULL));
	INVALID(al_dealloc_pd(in->end[0].pd, NULL, NULL));
	INVALID(al_dereg_event_handler(in->handler, NULL, NULL));
	INVALID(al_destroy_channel(in->channel, NULL, NULL));
	INVALID(al_dereg_pnp(in->pnp, NULL, NULL));
	INVALID(al_close_ca(in->end[0].ca, AL_DESTROY_SYNC, NULL));
	INVALID(al_close(in->al, AL_DESTROY_SYNC, NULL));
	return 0;
}

START_TEST(a_forked_child_has_no_handle_and_may_open_afresh)
{
	struct inherited in = { .al = test_open() };

	test_make_pair(in.al, in.end);
	ck_ok(try_ah(in.end[0].pd, &in.ah));
	ck_ok(al_reg_event_handler(in.end[0].ca, NULL, NULL, quiet, &in.handler));
	ck_ok(al_create_channel(in.al, NULL, &in.channel));
	ck_ok(al_reg_pnp(in.al, NULL, NULL, accept, &in.pnp));
	ck_assert(transfer(in.end));
	for (int i = 0; i < 3; i++) {
		pid_t pid = fork();

		if (!pid) {
			int failed = try_inherited(&in);

			if (!failed)
				failed = whole_life();
			/* The child opens the library anew, and the inherited handles stay invalid. */
			if (!failed && try_inherited(&in))
				failed = 30;
			_exit(failed);
		}
		/* The parent continues during and after the child's life. */
		ck_assert(transfer(in.end));
		ck_assert_int_eq(reap(pid), 0);
		ck_assert(transfer(in.end));
	}
	ck_ok(al_close(in.al, AL_DESTROY_SYNC, NULL));
}
END_TEST

START_TEST(a_grandchild_opens_afresh_too)
{
	struct test_end end[2];
	al_h al = test_open();
	pid_t pid;

	test_make_pair(al, end);
	pid = fork();
	if (!pid) {
		int failed = whole_life();

		if (!failed) {
			al = test_open();
			test_make_pair(al, end);
			pid = fork();
			if (!pid)
				_exit(whole_life());
			failed = !transfer(end) ? 40 : reap(pid);
		}
		_exit(failed);
	}
	ck_assert_int_eq(reap(pid), 0);
	ck_assert(transfer(end));
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}
END_TEST

/* Threads create, destroy, transfer and get callbacks while the process forks. */
static void bustle(struct crew *crew, unsigned int index)
{
	al_h al = crew->arg;
	uint64_t guids[2];
	size_t count = 2;
	atomic_uint wrong = 0;

	if (al_get_ca_guids(al, guids, &count))
		return;
	while (!crew->stop) {
		al_ca_h ca = NULL;
		al_pd_h pd = NULL;
		al_cq_h cq = NULL;
		al_ah_h ah = NULL;

		if (al_open_ca(al, guids[index % 2], NULL, &ca))
			wrong++;
		if (al_alloc_pd(ca, NULL, &pd) ||
		    al_create_cq(pd, &(struct al_cq_init){ .cqe = 4 }, NULL, NULL, NULL, &cq) || try_ah(pd, &ah))
			wrong++;
		al_destroy_cq(cq, index % 2 ? AL_DESTROY_SYNC : NULL, NULL);
		al_destroy_ah(ah, NULL, NULL);
		al_dealloc_pd(pd, NULL, NULL);
		al_close_ca(ca, NULL, NULL);
	}
}

START_TEST(a_fork_in_the_middle_of_everything_leaves_both_in_order)
{
	struct test_end end[2];
	al_h al = test_open();
	struct crew crew;

	test_make_pair(al, end);
	crew_make(&crew, 2, bustle, al);
	crew_go(&crew);
	for (int i = 0; i < test_rounds(8); i++) {
		pid_t pid;

		ck_assert(transfer(end));
		pid = fork();
		if (!pid)
			_exit(whole_life());
		ck_assert_int_eq(reap(pid), 0);
	}
	crew_end(&crew);
	ck_assert(transfer(end));
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}
END_TEST

static atomic_int child_said = -2;

static void fork_here(void *done)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		/* opens the library, which a callback may not: the child's thread is in no callback */
		_exit(whole_life());
	if (waitpid(pid, &status, 0) == pid)
		child_said = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	sem_post(done);
}

START_TEST(a_child_of_a_callback_is_a_process_like_any_other)
{
	struct test_end end[2];
	al_h al = test_open();
	sem_t done;

	sem_init(&done, 0, 0);
	test_make_pair(al, end);
	ck_ok(al_dereg_mr(end[0].mr, fork_here, &done));
	test_wait(&done);
	ck_assert_int_eq(child_said, 0);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}
END_TEST

/* -------------------------------------------------------------------- guest */

/* Opens everything that has a thread or a descriptor. */
static al_h open_all(struct test_end end[2], al_channel_h *channel)
{
	struct al_cq_init init = { .cqe = 4 };
	al_event_handler_h handler;
	al_h al = test_open();
	struct ib_ca_attr attr;
	al_pnp_h pnp;
	al_cq_h cq;

	test_make_pair(al, end);
	ck_assert(transfer(end));
	ck_ok(al_query_ca(end[0].ca, &attr));
	for (init.comp_vector = 0; init.comp_vector < attr.num_comp_vectors; init.comp_vector++)
		ck_ok(al_create_cq(end[0].pd, &init, NULL, NULL, NULL, &cq));
	ck_ok(al_create_channel(al, NULL, channel));
	ck_ok(al_reg_event_handler(end[0].ca, NULL, NULL, quiet, &handler));
	ck_ok(al_reg_pnp(al, NULL, NULL, accept, &pnp));
	return al;
}

/* Lists the names in a directory of /proc/self that are numbers. */
static size_t list(const char *path, long *found, size_t max)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	size_t num = 0;

	ck_assert_ptr_nonnull(dir);
	while ((entry = readdir(dir)) && num < max)
		if (isdigit((unsigned char)entry->d_name[0]) &&
		    (strcmp(path, "/proc/self/fd") || atol(entry->d_name) != dirfd(dir)))
			found[num++] = atol(entry->d_name);
	closedir(dir);
	return num;
}

static bool is_in(long x, const long *set, size_t num)
{
	for (size_t i = 0; i < num; i++)
		if (set[i] == x)
			return true;
	return false;
}

static void *no_work(void *arg)
{
	return arg;
}

/* Reads a thread's name and the signals that the thread blocks. */
static void read_thread(long tid, char name[32], uint64_t *blocked)
{
	char path[64], line[128];
	FILE *file;

	*name = 0;
	*blocked = 0;
	snprintf(path, sizeof(path), "/proc/self/task/%ld/status", tid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "Name: %31s", name) == 1)
			continue;
		if (!strncmp(line, "SigBlk:", 7))
			*blocked = strtoull(line + 7, NULL, 16);
	}
	if (file)
		fclose(file);
}

START_TEST(its_threads_have_names_and_block_every_signal)
{
	/* All signals but SIGKILL and SIGSTOP, which no thread can block, two signals of libc's own, and valgrind's. */
	const uint64_t all = ~(1ULL << (SIGKILL - 1) | 1ULL << (SIGSTOP - 1) | 1ULL << 31 | 1ULL << 32 | 1ULL << 63);
	struct timespec deadline = test_deadline();
	long before[64], after[64];
	size_t num_before, num, ours = 0;
	struct test_end end[2];
	al_channel_h channel;
	char name[32], mine[32];
	uint64_t blocked;
	pthread_t thread;
	sigset_t mask, own;
	al_h al;

	/* The sanitizer's own threads exist from the first pthread_create() on. */
	ck_assert_int_eq(pthread_create(&thread, NULL, no_work, NULL), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	num_before = list("/proc/self/task", before, 64);
	pthread_sigmask(SIG_SETMASK, NULL, &own);
	al = open_all(end, &channel);
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	for (int i = 1; i < 65; i++)
		ck_assert_int_eq(sigismember(&mask, i), sigismember(&own, i));
	read_thread(getpid(), mine, &blocked);
	num = list("/proc/self/task", after, 64);
	for (size_t i = 0; i < num; i++) {
		if (is_in(after[i], before, num_before))
			continue;
		do /* a thread sets its name first of all */
			read_thread(after[i], name, &blocked);
		while (!strcmp(name, mine) && !test_expired(&deadline));
		if (!*name) /* the thread has ended since */
			continue;
		ours++;
		ck_assert_msg(strcmp(name, mine), "thread %ld has no name", after[i]);
		ck_assert_msg((blocked & all) == all, "thread %s blocks %#llx only", name, (unsigned long long)blocked);
	}
	ck_assert_uint_ge(ours, 6);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}
END_TEST

START_TEST(its_descriptors_are_closed_on_exec)
{
	long before[64], after[64];
	size_t num_before, num, ours = 0;
	struct test_end end[2];
	al_channel_h channel;
	al_h al;
	int fd;

	num_before = list("/proc/self/fd", before, 64);
	al = open_all(end, &channel);
	num = list("/proc/self/fd", after, 64);
	for (size_t i = 0; i < num; i++) {
		if (is_in(after[i], before, num_before))
			continue;
		ours++;
		ck_assert_msg(fcntl((int)after[i], F_GETFD) & FD_CLOEXEC, "descriptor %ld stays open", after[i]);
	}
	ck_ok(al_channel_fd(channel, &fd));
	ck_assert_uint_ge(ours, 1);
	ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	ck_assert_int_eq(fcntl(fd, F_GETFD), -1); /* the descriptor is closed with its channel */
}
END_TEST

START_TEST(the_process_is_left_as_it_was)
{
	struct sigaction before[32], after[32];
	struct test_end end[2];
	al_channel_h channel;
	char dir[2][256];
	mode_t mask;
	char *env;
	al_h al;

	mask = umask(027);
	ck_assert_ptr_nonnull(getcwd(dir[0], sizeof(dir[0])));
	env = getenv("IBAL_MODULE_PATH");
	for (int i = 1; i < 32; i++)
		sigaction(i, NULL, &before[i]);
	al = open_all(end, &channel);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	for (int i = 1; i < 32; i++) {
		sigaction(i, NULL, &after[i]);
		ck_assert(before[i].sa_handler == after[i].sa_handler && before[i].sa_flags == after[i].sa_flags);
	}
	ck_assert_uint_eq(umask(mask), 027);
	ck_assert_ptr_nonnull(getcwd(dir[1], sizeof(dir[1])));
	ck_assert_str_eq(dir[0], dir[1]);
	ck_assert_ptr_eq(getenv("IBAL_MODULE_PATH"), env);
	ck_assert_str_eq(setlocale(LC_ALL, NULL), "C");
}
END_TEST

static void stay(void *context)
{
	sem_post(context);
	for (;;)
		pause();
}

/* The process exits with a callback that never returns, and a thread within calls. */
START_TEST(exit_with_everything_open_does_not_wait)
{
	pid_t pid = fork();

	if (!pid) {
		struct test_end end[2];
		al_channel_h channel;
		struct crew crew;
		sem_t in;
		al_h al = open_all(end, &channel);

		sem_init(&in, 0, 0);
		crew_make(&crew, 2, bustle, al);
		crew_go(&crew);
		if (al_dereg_mr(end[0].mr, stay, &in))
			_exit(50);
		test_wait(&in);
		exit(0);
	}
	ck_assert_int_eq(reap(pid), 0);
}
END_TEST

/* ------------------------------------------------------------ no more threads */

struct attempt {
	al_h al;
	al_ca_h ca;
	al_pd_h pd;
	al_cq_h cq[2];
	al_pnp_h pnp;
	al_event_handler_h handler;
};

/* Repeats a call until the call succeeds. A failed call has the status of a shortage, and sets no result. */
#define UNTIL_IT_WORKS(call, result) \
	do { \
		al_status st; \
		while ((st = (call)) != AL_SUCCESS) { \
			ck_status(st, AL_INSUFFICIENT_RESOURCES); \
			ck_assert_uint_gt(failures, 0); \
			ck_assert_ptr_null(result); \
		} \
	} while (0)

static void no_log(void *context, ib_log_level level, const char *text)
{
	(void)context;
	(void)level;
	(void)text;
}

/* Loop: the creation of the n-th thread fails. */
START_TEST(a_thread_that_can_not_be_started_fails_the_call_that_needs_it)
{
	const struct al_open_attr attr = { .agent = "off", .config = "" };
	struct fake *fake = test_fake();
	struct attempt at = { 0 };
	struct al_cq_init cq = { .cqe = 4 };
	size_t hcas = 0;

	al_set_log(no_log, NULL);
	failures = 0;
	creations_left = _i;
	UNTIL_IT_WORKS(al_open(&attr, &at.al), at.al);
	/*
	 * Without its threads an HCA is refused, and its module is not loaded; the log has a message, and the HCA may
	 * be announced again.
	 */
	if (al_get_ca_guids(at.al, NULL, &hcas) == AL_SUCCESS && !hcas) {
		ck_assert_uint_eq(failures, 1);
		ck_assert_uint_eq(fake->calls[FAKE_open_ca], fake->calls[FAKE_close_ca]);
		ck_ok(al_load_module(at.al, FAKE_DIR "/fake.so"));
	}
	ck_ok(al_open_ca(at.al, FAKE_GUID, NULL, &at.ca));
	ck_ok(al_alloc_pd(at.ca, NULL, &at.pd));
	for (cq.comp_vector = 0; cq.comp_vector < 2; cq.comp_vector++)
		UNTIL_IT_WORKS(al_create_cq(at.pd, &cq, NULL, NULL, NULL, &at.cq[cq.comp_vector]),
			       at.cq[cq.comp_vector]);
	UNTIL_IT_WORKS(al_reg_pnp(at.al, NULL, NULL, accept, &at.pnp), at.pnp);
	ck_ok(al_reg_event_handler(at.ca, NULL, NULL, quiet, &at.handler));
	/* The start creates seven threads; later calls need no thread. */
	ck_assert_uint_eq(failures, _i <= 7);
	creations_left = 0;
	ck_assert_uint_eq(test_count(at.al, AL_OBJ_NONE), 7);
	ck_ok(al_close(at.al, AL_DESTROY_SYNC, NULL));
	ck_assert_uint_eq(fake->calls[FAKE_create_cq], fake->calls[FAKE_destroy_cq]);
	ck_assert_uint_eq(fake->calls[FAKE_allocate_pd], fake->calls[FAKE_deallocate_pd]);
	at.al = test_open();
	ck_assert_uint_eq(test_count(at.al, AL_OBJ_NONE), 1);
	ck_ok(al_close(at.al, AL_DESTROY_SYNC, NULL));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("library");
	TCase *tc = tcase_create("fork");

	suite_add_tcase(suite, tc);
	if (FORK_IS_SAFE && !(THREADS_STAY && test_in_user_role())) {
		tcase_add_test(tc, a_forked_child_has_no_handle_and_may_open_afresh);
		tcase_add_test(tc, a_grandchild_opens_afresh_too);
		tcase_add_test(tc, a_fork_in_the_middle_of_everything_leaves_both_in_order);
		tcase_add_test(tc, a_child_of_a_callback_is_a_process_like_any_other);
	} else {
		printf("SKIP: the 4 tests of fork: the sanitizer does not survive one beside these threads\n");
	}
	tc = tcase_create("guest");
	tcase_add_test(tc, its_threads_have_names_and_block_every_signal);
	tcase_add_test(tc, its_descriptors_are_closed_on_exec);
	tcase_add_test(tc, the_process_is_left_as_it_was);
	tcase_add_test(tc, exit_with_everything_open_does_not_wait);
	suite_add_tcase(suite, tc);
	tc = tcase_create("threads");
	tcase_add_loop_test(tc, a_thread_that_can_not_be_started_fails_the_call_that_needs_it, 1, 9);
	suite_add_tcase(suite, tc);
	return test_run(suite);
}
