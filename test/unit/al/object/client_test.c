/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A client's thread and memory, as modules and the agent use them: tests of internal functions. */
#include "al/object/client.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/unit/al/al_test.h"

/* -------------------------------------------------------------------- memory */

/* The memory of a process that had the test's addresses too, and has ended. */
static int memory_of_the_dead(void)
{
	char path[64];
	pid_t pid = fork();
	int fd;

	if (!pid) {
		pause();
		_exit(0);
	}
	ck_assert_int_gt(pid, 0);
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	fd = open(path, O_RDWR | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	return fd;
}

START_TEST(the_memory_of_a_client_that_is_gone_is_an_invalid_address)
{
	static char there[64] = "there";
	struct ci_client client = { .memory = memory_of_the_dead() };
	char here[64] = "here";

	ck_status(ci_client_read(&client, (uintptr_t)there, here, sizeof(here)), AL_INVALID_ADDRESS);
	ck_assert_str_eq(here, "here");
	ck_status(ci_client_write(&client, (uintptr_t)there, here, sizeof(here)), AL_INVALID_ADDRESS);
	close(client.memory);
}
END_TEST

START_TEST(a_copy_ends_where_the_clients_memory_does)
{
	struct ci_client client = { .memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC) };
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *mem = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *copy = malloc(2 * page);
	uint64_t addr = (uintptr_t)mem;

	ck_assert_ptr_ne(mem, MAP_FAILED);
	ck_assert_int_eq(munmap(mem + 2 * page, page), 0);
	for (size_t i = 0; i < 2 * page; i++)
		mem[i] = (uint8_t)(i * 7 + i / 251);
	ck_ok(ci_client_read(&client, addr, copy, 2 * page));
	ck_assert_mem_eq(copy, mem, 2 * page);
	ck_status(ci_client_read(&client, addr + 1, copy, 2 * page), AL_INVALID_ADDRESS);
	memset(copy, 9, 2 * page);
	ck_ok(ci_client_write(&client, addr, copy, 2 * page));
	ck_assert_mem_eq(mem, copy, 2 * page);
	ck_status(ci_client_write(&client, addr + 1, copy, 2 * page), AL_INVALID_ADDRESS);
	ck_ok(ci_client_read(&client, 1, copy, 0));
	munmap(mem, 2 * page);
	free(copy);
	close(client.memory);
}
END_TEST

/* --------------------------------------------------------------- descriptors */

START_TEST(a_module_gives_as_many_descriptors_as_a_request_may_have)
{
	struct {
		struct al_udata udata;
		int guard;
	} of = { .guard = 4711 };
	struct ci_udata *udata = &of.udata.ci;

	ck_status(ci_client_give_fd(udata, -1), AL_INVALID_PARAMETER);
	for (uint32_t i = 0; i < UVP_MAX_FDS; i++) {
		ck_ok(ci_client_give_fd(udata, 0));
		ck_assert_uint_eq(of.udata.num_given, i + 1);
		ck_assert_int_eq(fcntl(of.udata.given[i], F_GETFD), FD_CLOEXEC);
	}
	ck_status(ci_client_give_fd(udata, 0), AL_LIMIT_EXCEEDED);
	ck_assert_uint_eq(of.udata.num_given, UVP_MAX_FDS);
	ck_assert_int_eq(of.guard, 4711);
	for (uint32_t i = 0; i < UVP_MAX_FDS; i++)
		close(of.udata.given[i]);
}
END_TEST

START_TEST(a_process_without_room_for_a_descriptor_says_so)
{
	struct al_udata udata = { .num_given = 0 };
	struct rlimit limit, none;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = 0;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	ck_status(ci_client_give_fd(&udata.ci, 0), AL_INSUFFICIENT_RESOURCES);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0); /* for the leak checker at the end */
	ck_assert_uint_eq(udata.num_given, 0);
}
END_TEST

/* -------------------------------------------------------------------- thread */

static struct ci_client client;

static void start(void)
{
	al_client_begin(&client);
	ck_ok(client_start(&client));
	ck_ok(client_start(&client)); /* a client that already has a thread */
}

static void end(void)
{
	sem_t ended;

	sem_init(&ended, 0, 0);
	ck_assert(al_client_end(&client, test_post, &ended));
	test_wait(&ended);
	al_client_free(&client);
}

/* A job, the order of its run, and the semaphores that hold the job. */
struct step {
	struct ci_client_job job;
	sem_t *in, *out;
};

static struct step *order[4];
static uint32_t ran;

static void run_step(struct ci_client_job *job)
{
	struct step *step = (struct step *)job;

	if (step->in) {
		sem_post(step->in);
		test_wait(step->out);
	}
	order[ran++] = step;
	memset(&job->next, 0xff, sizeof(job->next)); /* the module may reuse the job now */
	job->under_way = (uint32_t *)UINTPTR_MAX;
}

START_TEST(jobs_run_in_their_order_and_all_before_the_end)
{
	sem_t in, out, ended;
	struct step step[4] = { { .in = &in, .out = &out } };

	sem_init(&in, 0, 0);
	sem_init(&out, 0, 0);
	sem_init(&ended, 0, 0);
	start();
	for (int i = 0; i < 4; i++)
		step[i].job.run = run_step;
	ci_client_run(&client, &step[0].job);
	test_wait(&in);
	ci_client_run(&client, &step[1].job);
	ck_assert(al_client_after(&client, &step[2].job));
	ci_client_run(&client, &step[3].job);
	ck_assert(al_client_end(&client, test_post, &ended));
	ck_assert_int_ne(sem_trywait(&ended), 0);
	sem_post(&out);
	test_wait(&ended);
	ck_assert_uint_eq(ran, 4);
	for (int i = 0; i < 4; i++)
		ck_assert_ptr_eq(order[i], &step[i]);
	al_client_free(&client);
}
END_TEST

static sem_t done;

static void run_short(struct ci_client_job *job)
{
	(void)job;
	sem_post(&done);
}

/* The thread sleeps when it has no job, and a new job wakes the thread. */
START_TEST(a_job_that_comes_later_is_run_too)
{
	struct ci_client_job job[100];

	sem_init(&done, 0, 0);
	start();
	for (int i = 0; i < 100; i++) {
		job[i] = (struct ci_client_job){ .run = run_short };
		if (i % 2)
			ck_assert(al_client_after(&client, &job[i]));
		else
			ci_client_run(&client, &job[i]);
		test_wait(&done);
	}
	end();
}
END_TEST

START_TEST(a_client_without_a_thread_has_nothing_to_wait_for)
{
	struct step step = { .job.run = run_step };

	al_client_begin(&client);
	ck_assert(!al_client_after(&client, &step.job));
	ck_assert(!al_client_end(&client, test_post, NULL));
	al_client_free(&client);
	ck_assert_uint_eq(ran, 0);
}
END_TEST

/* Sleeps until no job is under way, as a module does before its unload. */
struct waiter {
	pthread_t thread;
	_Atomic pid_t tid;
	uint32_t *under_way, from;
};

static void *wait_for_none(void *arg)
{
	struct waiter *w = arg;

	w->tid = gettid();
	while (__atomic_load_n(w->under_way, __ATOMIC_SEQ_CST) == w->from)
		syscall(SYS_futex, w->under_way, FUTEX_WAIT_PRIVATE, w->from, NULL, NULL, 0);
	return NULL;
}

/* Waits until the thread sleeps in the futex at that address. */
static void until_it_sleeps(const struct waiter *w)
{
	struct timespec deadline = test_deadline();
	char path[64], line[128], want[64];
	FILE *file;

	do {
		ck_assert_msg(!test_expired(&deadline), "a waiter does not sleep");
		*line = '\0';
		snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", (int)w->tid);
		snprintf(want, sizeof(want), "%d %p ", SYS_futex, (void *)w->under_way);
		file = w->tid ? fopen(path, "re") : NULL;
		if (file && !fgets(line, sizeof(line), file))
			*line = '\0';
		if (file)
			fclose(file);
	} while (strncmp(line, want, strlen(want)));
}

START_TEST(threads_that_wait_for_the_last_job_are_woken)
{
	static uint32_t under_way = 2;
	struct waiter waiter[2] = { { .under_way = &under_way, .from = 1 }, { .under_way = &under_way, .from = 1 } };
	sem_t in, out;
	struct step step[2] = { { .in = &in, .out = &out }, { .in = &in, .out = &out } };

	sem_init(&in, 0, 0);
	sem_init(&out, 0, 0);
	start();
	for (int i = 0; i < 2; i++) {
		step[i].job = (struct ci_client_job){ .run = run_step, .under_way = &under_way };
		ci_client_run(&client, &step[i].job);
	}
	test_wait(&in);
	ck_assert_uint_eq(__atomic_load_n(&under_way, __ATOMIC_SEQ_CST), 2);
	sem_post(&out);
	test_wait(&in); /* in the second job: the first job is counted */
	ck_assert_uint_eq(__atomic_load_n(&under_way, __ATOMIC_SEQ_CST), 1);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(pthread_create(&waiter[i].thread, NULL, wait_for_none, &waiter[i]), 0);
	for (int i = 0; i < 2; i++)
		until_it_sleeps(&waiter[i]);
	sem_post(&out);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(pthread_join(waiter[i].thread, NULL), 0);
	ck_assert_uint_eq(under_way, 0);
	end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("al/object/client");
	TCase *tcase = tcase_create("client");

	tcase_set_timeout(tcase, 5); /* ends an endless copy, or a wait for a lost wake-up */
	tcase_add_test(tcase, the_memory_of_a_client_that_is_gone_is_an_invalid_address);
	tcase_add_test(tcase, a_copy_ends_where_the_clients_memory_does);
	tcase_add_test(tcase, a_module_gives_as_many_descriptors_as_a_request_may_have);
	tcase_add_test(tcase, a_process_without_room_for_a_descriptor_says_so);
	tcase_add_test(tcase, jobs_run_in_their_order_and_all_before_the_end);
	tcase_add_test(tcase, a_job_that_comes_later_is_run_too);
	tcase_add_test(tcase, a_client_without_a_thread_has_nothing_to_wait_for);
	tcase_add_test(tcase, threads_that_wait_for_the_last_job_are_woken);
	suite_add_tcase(suite, tcase);
	return test_run(suite);
}
