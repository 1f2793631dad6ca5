/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The agent's loop and its threads: jobs one at a time, work that sleeps beside them, descriptors.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <iba/ib_hca.h>

#include "al/agent/account.h"
#include "al/agent/pool.h"
#include "test/unit/al/al_test.h"

enum { WORKERS = 2 };

static void set_up(void)
{
	ck_assert(loop_open());
	ck_assert(pool_open(WORKERS));
}

static void tear_down(void)
{
	pool_close();
	loop_close();
}

/* --------------------------------------------------------------------- jobs */

/* Work that waits until the test lets it go. */
struct task {
	struct job job;
	sem_t begun, go, done;
	pid_t worker, finisher;
};

static void work(struct job *job)
{
	struct task *task = container_of(job, struct task, job);

	task->worker = gettid();
	sem_post(&task->begun);
	test_wait(&task->go);
}

static void done(struct job *job)
{
	struct task *task = container_of(job, struct task, job);

	task->finisher = gettid();
	sem_post(&task->done);
}

static void hand_over(struct job *job)
{
	job->work = work;
	job->done = done;
	pool_work(job);
}

static void task_init(struct task *task)
{
	sem_init(&task->begun, 0, 0);
	sem_init(&task->go, 0, 0);
	sem_init(&task->done, 0, 0);
}

/* Queues the task's work from the loop, as the agent does. */
static void task_post(struct task *task)
{
	task_init(task);
	task->job = (struct job){ .done = hand_over };
	loop_post(&task->job);
}

/* Returns when the loop has done a job. Returns the thread that has done it. */
static pid_t turn(void)
{
	struct task task = { .job.done = done };

	task_init(&task);
	loop_post(&task.job);
	test_wait(&task.done);
	return task.finisher;
}

START_TEST(one_thread_does_the_jobs_where_nothing_sleeps)
{
	const pid_t first = turn();

	for (int i = 0; i < 1000; i++)
		ck_assert_int_eq(turn(), first);
}
END_TEST

START_TEST(the_thread_that_finds_work_does_it)
{
	struct task task;
	const pid_t first = turn();

	task_post(&task);
	test_wait(&task.begun);
	ck_assert_int_eq(task.worker, first);
	sem_post(&task.go);
	test_wait(&task.done);
}
END_TEST

START_TEST(work_that_sleeps_holds_up_no_job)
{
	struct task tasks[WORKERS];
	pid_t other;

	for (int i = 0; i < WORKERS; i++) {
		task_post(&tasks[i]);
		test_wait(&tasks[i].begun);
		other = turn();
		for (int j = 0; j <= i; j++)
			ck_assert_int_ne(tasks[j].worker, other);
	}
	for (int i = 0; i < WORKERS; i++) {
		sem_post(&tasks[i].go);
		test_wait(&tasks[i].done);
		turn();
	}
}
END_TEST

/* Several pieces of work from one job, which one thread can not do at once. */
static struct task several[WORKERS + 2];

static void hand_over_several(struct job *job)
{
	for (size_t i = 0; i < sizeof(several) / sizeof(*several); i++)
		hand_over(&several[i].job);
	done(job);
}

START_TEST(as_much_work_as_may_sleep_is_done_at_once_and_the_rest_in_its_order)
{
	struct task before, task = { .job.done = hand_over_several };
	const int num = sizeof(several) / sizeof(*several);
	int value;

	task_post(&before); /* so that two threads attend */
	test_wait(&before.begun);
	turn();
	sem_post(&before.go);
	test_wait(&before.done);
	task_init(&task);
	for (int i = 0; i < num; i++)
		task_init(&several[i]);
	loop_post(&task.job);
	for (int i = 0; i < WORKERS; i++)
		test_wait(&several[i].begun);
	for (int i = WORKERS; i < num; i++) {
		for (int j = 0; j < 50; j++)
			turn();
		ck_assert_int_eq(sem_getvalue(&several[i].begun, &value), 0);
		ck_assert_int_eq(value, 0);
		sem_post(&several[i - WORKERS].go);
		test_wait(&several[i].begun);
	}
	for (int i = num - WORKERS; i < num; i++)
		sem_post(&several[i].go);
	for (int i = 0; i < num; i++)
		test_wait(&several[i].done);
}
END_TEST

START_TEST(the_end_waits_for_work)
{
	struct task tasks[WORKERS + 2];
	int value;

	for (int i = 0; i < WORKERS + 2; i++) {
		task_post(&tasks[i]);
		sem_post(&tasks[i].go);
	}
	turn(); /* the work is queued: else it would not be the end's to wait for */
	pool_close();
	for (int i = 0; i < WORKERS + 2; i++) {
		ck_assert_int_eq(sem_getvalue(&tasks[i].done, &value), 0);
		ck_assert_int_eq(value, 1);
	}
	ck_assert(pool_open(WORKERS));
}
END_TEST

START_TEST(a_job_that_comes_without_a_loop_is_the_next_loops)
{
	struct task task = { .job.done = done };

	task_init(&task);
	tear_down();
	loop_post(&task.job);
	set_up();
	test_wait(&task.done);
}
END_TEST

/* -------------------------------------------------------------------- turns */

enum { USERS = 3, TASKS = 4, SHARED_WORKERS = 4 };

/* Users 1001 to 1003 with two clients each; tasks of a client's are work that waits. */
static struct {
	struct account client[2];
	struct task task[2][TASKS];
} users[USERS];

static void open_users(void)
{
	struct agent_limits to = ald_default_limits;

	to.workers = SHARED_WORKERS;
	account_limits(&to);
	for (int u = 0; u < USERS; u++)
		for (int c = 0; c < 2; c++)
			ck_ok(account_open(&users[u].client[c], 1 + c, 1001 + (uint32_t)u, "some"));
	for (int i = 0; i < USERS * 2 * TASKS; i++)
		task_init(&users[i / (2 * TASKS)].task[i / TASKS % 2][i % TASKS]);
	pool_close();
	ck_assert(pool_open(SHARED_WORKERS));
}

static void close_users(void)
{
	turn();
	for (int u = 0; u < USERS; u++)
		for (int c = 0; c < 2; c++)
			account_close(&users[u].client[c]);
	account_end();
}

static void begin(int user, int client, int task)
{
	struct task *t = &users[user].task[client][task];

	t->job.account = &users[user].client[client];
	hand_over(&t->job);
}

static void begin_all_of_first(struct job *job)
{
	(void)job;
	for (int c = 0; c < 2; c++)
		for (int t = 0; t < TASKS; t++)
			begin(0, c, t);
}

static void begin_one_of_others(struct job *job)
{
	(void)job;
	for (int u = 1; u < USERS; u++)
		begin(u, 0, 0);
}

static bool has_begun(int user, int client, int task)
{
	int value;

	ck_assert_int_eq(sem_getvalue(&users[user].task[client][task].begun, &value), 0);
	return value;
}

/* The share of one user, of what another leaves, is 3 of 4 threads; the next one's is the last. */
START_TEST(no_user_has_all_threads)
{
	struct job first = { .done = begin_all_of_first }, others = { .done = begin_one_of_others };

	open_users();
	loop_post(&first);
	for (int i = 0; i < 3; i++)
		test_wait(&users[0].task[i % 2][i / 2].begun); /* the clients take turns */
	turn();
	ck_assert(!has_begun(0, 1, 1));
	loop_post(&others);
	test_wait(&users[1].task[0][0].begun);
	turn();
	ck_assert(!has_begun(0, 1, 1) && !has_begun(2, 0, 0));
	sem_post(&users[0].task[0][0].go);
	test_wait(&users[2].task[0][0].begun); /* and so do the users */
	ck_assert(!has_begun(0, 1, 1));
	for (int c = 0; c < 2; c++)
		for (int t = 0; t < TASKS; t++)
			if (c || t)
				sem_post(&users[0].task[c][t].go);
	for (int u = 1; u < USERS; u++)
		sem_post(&users[u].task[0][0].go);
	for (int c = 0; c < 2; c++)
		for (int t = 0; t < TASKS; t++)
			test_wait(&users[0].task[c][t].done);
	for (int u = 1; u < USERS; u++)
		test_wait(&users[u].task[0][0].done);
	close_users();
}
END_TEST

/* Jobs of the loop, which write down whose they are. */
static struct job queued[USERS][2][TASKS];
static char order[USERS * 2 * TASKS + 1];
static _Atomic uint32_t in_order; /* the loop runs one job at a time, and the test looks on */

static void write_down(struct job *job)
{
	const size_t i = (size_t)(job - &queued[0][0][0]);

	order[in_order] = (char)("aAbBcC"[i / TASKS]);
	in_order++;
}

/* All jobs of one client are queued before those of the next one. */
static void queue_all(struct job *job)
{
	(void)job;
	for (int u = 0; u < USERS; u++)
		for (int c = 0; c < 2; c++)
			for (int t = 0; t < TASKS - u; t++) {
				queued[u][c][t] = (struct job){ .account = &users[u].client[c],
								.done = write_down };
				loop_post(&queued[u][c][t]);
			}
}

START_TEST(users_take_turns_and_then_their_clients)
{
	struct job job = { .done = queue_all };

	open_users();
	loop_post(&job);
	while (in_order < 18)
		turn();
	ck_assert_str_eq(order, "abcABCabcABCabABaA");
	close_users();
}
END_TEST

START_TEST(a_client_whose_last_job_is_taken_out_has_no_turn)
{
	struct turns turns = { .queue = QUEUE_POOL };
	struct job *job = &queued[0][0][0];

	open_users();
	for (int i = 0; i < 3; i++) {
		job[i].account = &users[i / 2].client[i % 2];
		turns_add(&turns, &job[i]);
	}
	turns_take_out(&turns, &job[0]);
	ck_assert_ptr_eq(turns_take(&turns, NULL), &job[1]);
	ck_assert_ptr_eq(turns_take(&turns, NULL), &job[2]);
	ck_assert(turns_empty(&turns));
	ck_assert_ptr_null(turns_take(&turns, NULL));
	close_users();
}
END_TEST

/* -------------------------------------------------------------- descriptors */

struct ear {
	struct watched watched;
	int fd;
	uint32_t seen;   /* calls of see() */
	uint32_t events; /* of the last call */
	bool holds;
	sem_t heard;
};

static void see(struct watched *watched, uint32_t events)
{
	struct ear *ear = container_of(watched, struct ear, watched);

	ear->seen++;
	ear->events = events;
	if (ear->holds)
		loop_hold(ear->fd);
	sem_post(&ear->heard);
}

/* An eventfd that nobody reads is ready for ever once it has been written. */
static void ear_init(struct ear *ear)
{
	*ear = (struct ear){ .watched.see = see, .fd = eventfd(0, EFD_CLOEXEC) };
	ck_assert_int_ge(ear->fd, 0);
	sem_init(&ear->heard, 0, 0);
}

static void ring(const struct ear *ear)
{
	const uint64_t one = 1;

	ck_assert_int_eq(write(ear->fd, &one, sizeof(one)), sizeof(one));
}

/* Runs a function of the test on the loop. */
static struct ear *subject;

static void on_loop(void (*function)(struct job *job), struct ear *ear)
{
	struct job job = { .done = function };

	subject = ear;
	loop_post(&job);
	turn();
}

static void unwatch(struct job *job)
{
	(void)job;
	loop_unwatch(subject->fd);
}

static void resume(struct job *job)
{
	(void)job;
	subject->holds = false;
	loop_resume(subject->fd);
}

START_TEST(a_descriptor_that_stays_ready_is_seen_again_and_again)
{
	struct ear ear;

	ear_init(&ear);
	ring(&ear);
	ck_assert_int_eq(loop_watch(ear.fd, &ear.watched, EPOLLIN), 0);
	for (int i = 0; i < 100; i++)
		test_wait(&ear.heard);
	on_loop(unwatch, &ear);
	ck_assert_uint_eq(ear.events, EPOLLIN);
	close(ear.fd);
}
END_TEST

START_TEST(a_descriptor_that_is_held_is_not_seen_until_it_is_resumed)
{
	struct ear ear;

	ear_init(&ear);
	ear.holds = true;
	ck_assert_int_eq(loop_watch(ear.fd, &ear.watched, EPOLLIN), 0);
	ring(&ear);
	test_wait(&ear.heard);
	for (int i = 0; i < 100; i++)
		turn();
	on_loop(unwatch, &ear); /* so that seen can be read */
	ck_assert_uint_eq(ear.seen, 1);
	ck_assert_int_eq(loop_watch(ear.fd, &ear.watched, EPOLLIN), 0);
	test_wait(&ear.heard);
	on_loop(resume, &ear);
	test_wait(&ear.heard);
	on_loop(unwatch, &ear);
	close(ear.fd);
}
END_TEST

/* A request may have come while the descriptor was held: it is asked once. */
START_TEST(a_descriptor_that_is_resumed_is_seen_once_though_it_is_not_ready)
{
	struct ear ear;
	uint64_t count;

	ear_init(&ear);
	ear.holds = true;
	ck_assert_int_eq(loop_watch(ear.fd, &ear.watched, EPOLLIN), 0);
	ring(&ear);
	test_wait(&ear.heard);
	ck_assert_int_eq(read(ear.fd, &count, sizeof(count)), sizeof(count));
	on_loop(resume, &ear);
	test_wait(&ear.heard);
	for (int i = 0; i < 100; i++)
		turn();
	ring(&ear); /* and waited for again */
	test_wait(&ear.heard);
	on_loop(unwatch, &ear);
	ck_assert_uint_ge(ear.seen, 3);
	close(ear.fd);
}
END_TEST

/* Both are ready; the first to be seen ends the other. */
static struct ear pair[2];

static void see_one(struct watched *watched, uint32_t events)
{
	const struct ear *ear = container_of(watched, struct ear, watched);

	loop_unwatch(pair[ear == pair].fd);
	see(watched, events);
}

/* On the loop: gathers the reports of both, as other threads would that attend. */
static void gather_both(struct job *job)
{
	(void)job;
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(loop_watch(pair[i].fd, &pair[i].watched, EPOLLIN), 0);
		loop_wait();
	}
}

START_TEST(a_descriptor_that_is_unwatched_is_not_seen_though_it_waits_in_the_queue)
{
	for (int i = 0; i < 2; i++) {
		ear_init(&pair[i]);
		pair[i].watched.see = see_one;
		ring(&pair[i]);
	}
	on_loop(gather_both, NULL);
	test_wait(&pair[0].heard);
	for (int i = 0; i < 100; i++)
		turn();
	on_loop(unwatch, &pair[0]);
	ck_assert_uint_eq(pair[1].seen, 0);
	for (int i = 0; i < 2; i++)
		close(pair[i].fd);
}
END_TEST

/* On the loop: all four are ready, and two of them go before it is their turn. */
static void watch_and_unwatch(struct job *job)
{
	(void)job;
	for (int i = 0; i < 4; i++) {
		ring(&subject[i]);
		ck_assert_int_eq(loop_watch(subject[i].fd, &subject[i].watched, EPOLLIN), 0);
	}
	for (int i = 0; i < 4; i++)
		loop_wait();
	for (int i = 1; i < 3; i++)
		loop_unwatch(subject[i].fd);
}

START_TEST(a_descriptor_that_waits_for_its_turn_can_be_unwatched)
{
	static struct ear ears[4];

	open_users();
	for (int i = 0; i < 4; i++) {
		ear_init(&ears[i]);
		ears[i].watched.account = &users[i / 2].client[i % 2];
		ears[i].holds = true;
	}
	on_loop(watch_and_unwatch, ears);
	for (int i = 0; i < 4; i += 3)
		test_wait(&ears[i].heard);
	for (int i = 0; i < 4; i += 3) {
		ck_assert_uint_eq(ears[i].seen, 1);
		on_loop(unwatch, &ears[i]);
	}
	for (int i = 0; i < 4; i++)
		close(ears[i].fd);
	ck_assert_uint_eq(ears[1].seen + ears[2].seen, 0);
	close_users();
}
END_TEST

START_TEST(a_changed_descriptor_is_seen_by_its_new_owner)
{
	struct ear old, new;

	ear_init(&old);
	ear_init(&new);
	ck_assert_int_eq(loop_watch(old.fd, &old.watched, EPOLLIN), 0);
	loop_change(old.fd, &new.watched, EPOLLIN | EPOLLOUT);
	test_wait(&new.heard);
	on_loop(unwatch, &old);
	ck_assert_uint_eq(new.events, EPOLLOUT);
	ck_assert_uint_eq(old.seen, 0);
	loop_change(old.fd, &new.watched, EPOLLOUT); /* not watched: nothing happens */
	new.seen = 0;
	turn();
	ck_assert_uint_eq(new.seen, 0);
	close(old.fd);
	close(new.fd);
}
END_TEST

/* A connection whose next request is always there. */
static atomic_bool seen_busy;

static void see_and_resume(struct watched *watched, uint32_t events)
{
	const struct ear *ear = container_of(watched, struct ear, watched);

	(void)events;
	loop_hold(ear->fd);
	loop_resume(ear->fd);
	atomic_store(&seen_busy, true);
}

START_TEST(a_busy_descriptor_holds_up_no_other)
{
	struct ear busy, other;

	ear_init(&busy);
	ear_init(&other);
	busy.watched.see = see_and_resume;
	ring(&busy);
	ck_assert_int_eq(loop_watch(busy.fd, &busy.watched, EPOLLIN), 0);
	while (!atomic_load(&seen_busy))
		sched_yield();
	ck_assert_int_eq(loop_watch(other.fd, &other.watched, EPOLLIN), 0);
	ring(&other);
	test_wait(&other.heard);
	on_loop(unwatch, &busy);
	on_loop(unwatch, &other);
	close(busy.fd);
	close(other.fd);
}
END_TEST

/* --------------------------------------------------------------------- chaos */

enum { CHAOS = 16, ROUNDS = 2000 };

/* Pipes' owners, each of which is replaced, on the loop, by another with the same descriptors'
 * numbers; an owner whose function is called is always alive. */
struct owner {
	struct watched watched;
	struct job work;
	int fd[2];
	uint32_t alive; /* ALIVE */
	bool busy;
};
#define ALIVE 0x600dc0de
static struct owner *owners[CHAOS];
static uint32_t made, on_the_loop;
static sem_t enough;

static void owner_make(int place);

static void owner_work(struct job *job)
{
	ck_assert_uint_eq(container_of(job, struct owner, work)->alive, ALIVE);
}

static void enter(void)
{
	ck_assert_uint_eq(on_the_loop++, 0);
}

static void leave(void)
{
	on_the_loop--;
}

static void owner_done(struct job *job)
{
	struct owner *owner = container_of(job, struct owner, work);

	enter();
	owner->busy = false;
	loop_resume(owner->fd[0]);
	leave();
}

static void owner_see(struct watched *watched, uint32_t events)
{
	struct owner *owner = container_of(watched, struct owner, watched);
	char byte[64];
	int place;

	(void)events;
	enter();
	ck_assert_uint_eq(owner->alive, ALIVE);
	ck_assert(!owner->busy);
	if (read(owner->fd[0], byte, sizeof(byte)) > 0) {
		owner->busy = true;
		loop_hold(owner->fd[0]);
		owner->work = (struct job){ .work = owner_work, .done = owner_done };
		pool_work(&owner->work);
	}
	/* another one goes, wherever its report is */
	place = (int)(made * 7 % CHAOS);
	if (made < ROUNDS && owners[place] != owner && !owners[place]->busy) {
		loop_unwatch(owners[place]->fd[0]);
		close(owners[place]->fd[0]);
		close(owners[place]->fd[1]);
		owners[place]->alive = 0;
		al_free(owners[place]);
		owner_make(place);
	} else {
		made++;
	}
	if (made >= ROUNDS)
		sem_post(&enough);
	else
		ck_assert_int_eq(write(owners[made % CHAOS]->fd[1], "x", 1), 1);
	leave();
}

static void owner_make(int place)
{
	struct owner *owner = al_alloc(sizeof(*owner));

	ck_assert_ptr_nonnull(owner);
	owner->alive = ALIVE;
	owner->watched.see = owner_see;
	ck_assert_int_eq(pipe2(owner->fd, O_NONBLOCK | O_CLOEXEC), 0);
	owners[place] = owner;
	made++;
	ck_assert_int_eq(loop_watch(owner->fd[0], &owner->watched, EPOLLIN), 0);
	ck_assert_int_eq(write(owner->fd[1], "x", 1), 1);
}

static void make_all(struct job *job)
{
	(void)job;
	enter();
	for (int i = 0; i < CHAOS; i++)
		owner_make(i);
	leave();
}

START_TEST(descriptors_come_and_go_while_they_are_reported)
{
	struct job job = { .done = make_all };

	sem_init(&enough, 0, 0);
	loop_post(&job);
	test_wait(&enough);
	pool_close();
	for (int i = 0; i < CHAOS; i++) {
		close(owners[i]->fd[0]);
		close(owners[i]->fd[1]);
		al_free(owners[i]);
	}
	ck_assert(pool_open(WORKERS));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("agent: pool");
	TCase *tc = tcase_create("loop and threads");

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, one_thread_does_the_jobs_where_nothing_sleeps);
	tcase_add_test(tc, the_thread_that_finds_work_does_it);
	tcase_add_test(tc, work_that_sleeps_holds_up_no_job);
	tcase_add_test(tc, as_much_work_as_may_sleep_is_done_at_once_and_the_rest_in_its_order);
	tcase_add_test(tc, the_end_waits_for_work);
	tcase_add_test(tc, a_job_that_comes_without_a_loop_is_the_next_loops);
	tcase_add_test(tc, no_user_has_all_threads);
	tcase_add_test(tc, users_take_turns_and_then_their_clients);
	tcase_add_test(tc, a_client_whose_last_job_is_taken_out_has_no_turn);
	tcase_add_test(tc, a_descriptor_that_waits_for_its_turn_can_be_unwatched);
	tcase_add_test(tc, a_descriptor_that_stays_ready_is_seen_again_and_again);
	tcase_add_test(tc, a_descriptor_that_is_held_is_not_seen_until_it_is_resumed);
	tcase_add_test(tc, a_descriptor_that_is_resumed_is_seen_once_though_it_is_not_ready);
	tcase_add_test(tc, a_descriptor_that_is_unwatched_is_not_seen_though_it_waits_in_the_queue);
	tcase_add_test(tc, a_changed_descriptor_is_seen_by_its_new_owner);
	tcase_add_test(tc, a_busy_descriptor_holds_up_no_other);
	tcase_add_test(tc, descriptors_come_and_go_while_they_are_reported);
	suite_add_tcase(suite, tc);
	return test_run(suite);
}
