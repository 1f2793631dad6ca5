/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The handle table alone: the bits of handles, and which handles find an object. */
#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <iba/ib_hca.h>

#include "al/object/handle.h"
#include "al/object/rcu.h"

#define INDEX(handle) ((uint32_t)((handle) & ((1u << HANDLE_INDEX_BITS) - 1)))
#define GENERATION(handle) ((uint32_t)((handle) >> HANDLE_INDEX_BITS))

/* The table never reads the objects that it holds. */
static struct al_obj *thing(uintptr_t n)
{
	return (struct al_obj *)(n * 64);
}

static uint64_t publish(al_object_type type, uintptr_t n)
{
	uint64_t handle;

	ck_assert_int_eq(handle_reserve(type, &handle), AL_SUCCESS);
	handle_publish(handle, thing(n));
	return handle;
}

static void drop(uint64_t handle)
{
	handle_revoke(handle);
	handle_release(handle);
}

static struct handle_slot *slot_of(uint64_t handle)
{
	return &handle_root->chunk[INDEX(handle) >> HANDLE_CHUNK_BITS][INDEX(handle) & (HANDLE_CHUNK_SLOTS - 1)];
}

START_TEST(a_handle_carries_its_type_and_finds_its_object)
{
	for (uintptr_t n = 1; n < AL_OBJ_TYPES; n++) {
		uint64_t handle = publish((al_object_type)n, n);

		ck_assert_uint_eq(handle_type(handle), n);
		ck_assert_ptr_eq(handle_find(handle), thing(n));
	}
}
END_TEST

START_TEST(a_reserved_handle_is_not_found_before_it_is_published)
{
	uint64_t handle;

	ck_assert_int_eq(handle_reserve(AL_OBJ_PD, &handle), AL_SUCCESS);
	ck_assert_ptr_null(handle_find(handle));
	handle_publish(handle, thing(1));
	ck_assert_ptr_eq(handle_find(handle), thing(1));
}
END_TEST

START_TEST(a_revoked_handle_is_not_found)
{
	uint64_t handle = publish(AL_OBJ_PD, 1);

	handle_revoke(handle);
	ck_assert_ptr_null(handle_find(handle));
	handle_release(handle);
	ck_assert_ptr_null(handle_find(handle));
}
END_TEST

START_TEST(no_single_flipped_bit_is_another_handle)
{
	uint64_t handle[64];

	for (uintptr_t i = 0; i < 64; i++)
		handle[i] = publish(AL_OBJ_QP, i + 1);
	for (int i = 0; i < 64; i++)
		for (int bit = 0; bit < 64; bit++)
			ck_assert_ptr_null(handle_find(handle[i] ^ 1ULL << bit));
}
END_TEST

START_TEST(garbage_of_any_value_is_not_found)
{
	static const uint64_t special[] = { 0, 1, UINT64_MAX, INT64_MAX, 1ULL << 63, 0x00ffffffffffffffULL,
					    0xffffffULL, 0xdeadbeefdeadbeefULL };
	uint64_t handle = publish(AL_OBJ_CQ, 1), x = handle;
	unsigned int found = 0;

	for (size_t i = 0; i < sizeof(special) / sizeof(special[0]); i++)
		ck_assert_ptr_null(handle_find(special[i]));
	ck_assert_ptr_null(handle_find((uintptr_t)&handle));
	/* Half of the handles have an index in use, so that only the generation differs. */
	for (int i = 0; i < 1000000; i++) {
		x = x * 6364136223846793005ULL + 1442695040888963407ULL;
		found += x != handle && handle_find(x);
		found += (x ^ handle) >> HANDLE_INDEX_BITS && handle_find((x & ~0xffffffULL) | INDEX(handle));
	}
	ck_assert_uint_eq(found, 0);
}
END_TEST

START_TEST(a_stale_handle_never_finds_the_slots_next_object)
{
	uint64_t stale[100];

	for (uintptr_t i = 0; i < 100; i++) {
		stale[i] = publish(AL_OBJ_AH, i + 1);
		ck_assert_uint_eq(INDEX(stale[i]), INDEX(stale[0]));
		for (uintptr_t k = 0; k < i; k++)
			ck_assert_ptr_null(handle_find(stale[k]));
		drop(stale[i]);
	}
}
END_TEST

START_TEST(slots_are_reused_first_in_first_out)
{
	uint64_t handle[8];
	static const int order[8] = { 3, 0, 7, 5, 1, 6, 2, 4 };

	for (uintptr_t i = 0; i < 8; i++)
		handle[i] = publish(AL_OBJ_MR, i + 1);
	for (int i = 0; i < 8; i++)
		drop(handle[order[i]]);
	for (uintptr_t i = 0; i < 8; i++) {
		uint64_t again = publish(AL_OBJ_MR, i + 1);

		ck_assert_uint_eq(INDEX(again), INDEX(handle[order[i]]));
		ck_assert_uint_eq(GENERATION(again), GENERATION(handle[order[i]]) + 1);
	}
}
END_TEST

START_TEST(a_slot_whose_generation_would_wrap_is_retired)
{
	uint64_t first = publish(AL_OBJ_PD, 1), last, next;

	drop(first);
	slot_of(first)->generation = UINT32_MAX - 1;
	last = publish(AL_OBJ_PD, 2);
	ck_assert_uint_eq(INDEX(last), INDEX(first));
	ck_assert_uint_eq(GENERATION(last) & UINT32_MAX, UINT32_MAX);
	ck_assert_ptr_eq(handle_find(last), thing(2));
	drop(last);
	next = publish(AL_OBJ_PD, 3);
	ck_assert_uint_ne(INDEX(next), INDEX(first));
	ck_assert_ptr_null(handle_find(last));
}
END_TEST

START_TEST(neighbouring_slots_begin_with_different_generations)
{
	uint64_t a = publish(AL_OBJ_PD, 1), b = publish(AL_OBJ_PD, 2);

	ck_assert_uint_ne(GENERATION(a), GENERATION(b));
	/* half of all generations is left for the slot's later objects */
	ck_assert_uint_le(GENERATION(a) & UINT32_MAX, INT32_MAX + 1u);
}
END_TEST

START_TEST(a_handle_that_could_not_have_memory_takes_nothing)
{
	uint64_t handle = 42, first;

	al_fail_alloc(1);
	ck_assert_int_eq(handle_reserve(AL_OBJ_PD, &handle), AL_INSUFFICIENT_MEMORY);
	al_fail_alloc(0);
	ck_assert_uint_eq(handle, 42);
	first = publish(AL_OBJ_PD, 1);
	ck_assert_uint_eq(INDEX(first), 1);
}
END_TEST

START_TEST(more_objects_than_a_chunk_holds_are_all_found)
{
	enum { MANY = 3 * HANDLE_CHUNK_SLOTS };
	static uint64_t handle[MANY];

	for (uintptr_t i = 0; i < MANY; i++)
		handle[i] = publish(AL_OBJ_QP, i + 1);
	for (uintptr_t i = 0; i < MANY; i++)
		ck_assert_ptr_eq(handle_find(handle[i]), thing(i + 1));
}
END_TEST

/* In the child: returns 0 if every rule holds. */
static int child(const uint64_t *inherited, int num)
{
	uint64_t own;

	handle_after_fork();
	for (int i = 0; i < num; i++)
		if (handle_find(inherited[i]))
			return 1;
	if (handle_reserve(AL_OBJ_PD, &own))
		return 2;
	handle_publish(own, thing(7));
	if (handle_find(own) != thing(7))
		return 3;
	for (int i = 0; i < num; i++)
		if (handle_find(inherited[i]) || inherited[i] == own)
			return 4;
	drop(own);
	return handle_find(own) ? 5 : 0;
}

START_TEST(in_a_forked_child_every_inherited_handle_is_invalid)
{
	uint64_t handle[3] = { publish(AL_OBJ_PD, 1), publish(AL_OBJ_PD, 2), publish(AL_OBJ_PD, 3) };
	int status;
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (!pid)
		_exit(child(handle, 3));
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	for (uintptr_t i = 0; i < 3; i++)
		ck_assert_ptr_eq(handle_find(handle[i]), thing(i + 1));
}
END_TEST

/* A handle that one process takes from the other must not name an object of the receiving process. */
START_TEST(a_forked_child_and_its_parent_begin_slots_with_different_generations)
{
	uint64_t first = publish(AL_OBJ_PD, 1), parents, childs;
	int pipefd[2], status;
	pid_t pid;

	ck_assert_int_eq(pipe(pipefd), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (!pid) {
		handle_after_fork();
		if (handle_reserve(AL_OBJ_PD, &childs) ||
		    write(pipefd[1], &childs, sizeof(childs)) != sizeof(childs))
			_exit(1);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(read(pipefd[0], &childs, sizeof(childs)), sizeof(childs));
	parents = publish(AL_OBJ_PD, 2); /* a slot that was never used before */
	ck_assert_uint_ne(INDEX(parents), INDEX(first));
	ck_assert_uint_ne(GENERATION(childs), GENERATION(parents));
	close(pipefd[0]);
	close(pipefd[1]);
}
END_TEST

/* ---------------------------------------------------------------- threads */

#define ROUNDS 40
#define PER_ROUND 500 /* objects that are revoked, and released after a common grace period */

struct churn {
	_Atomic uint64_t handle;
	_Atomic int stop;
};

/* A lookup finds the object that was published with this handle, never a later object of the slot. */
static void *look(void *arg)
{
	struct churn *c = arg;

	while (!c->stop) {
		uint64_t handle = c->handle;
		struct al_obj *obj;

		rcu_enter();
		obj = handle_find(handle);
		rcu_leave();
		if (obj && obj != thing(GENERATION(handle) & UINT32_MAX))
			return obj;
	}
	return NULL;
}

START_TEST(readers_never_find_another_object_than_the_handles_own)
{
	struct churn c = { 0 };
	pthread_t reader[2];
	void *wrong;

	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(pthread_create(&reader[i], NULL, look, &c), 0);
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t handle[PER_ROUND];

		for (int i = 0; i < PER_ROUND; i++) {
			ck_assert_int_eq(handle_reserve(AL_OBJ_PD, &handle[i]), AL_SUCCESS);
			handle_publish(handle[i], thing(GENERATION(handle[i]) & UINT32_MAX));
			c.handle = handle[i];
			handle_revoke(handle[i]);
		}
		rcu_wait();
		for (int i = 0; i < PER_ROUND; i++)
			handle_release(handle[i]);
	}
	c.stop = 1;
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(pthread_join(reader[i], &wrong), 0);
		ck_assert_ptr_null(wrong);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("handle");
	TCase *tc = tcase_create("table");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tc, a_handle_carries_its_type_and_finds_its_object);
	tcase_add_test(tc, a_reserved_handle_is_not_found_before_it_is_published);
	tcase_add_test(tc, a_revoked_handle_is_not_found);
	tcase_add_test(tc, no_single_flipped_bit_is_another_handle);
	tcase_add_test(tc, garbage_of_any_value_is_not_found);
	tcase_add_test(tc, a_stale_handle_never_finds_the_slots_next_object);
	tcase_add_test(tc, slots_are_reused_first_in_first_out);
	tcase_add_test(tc, a_slot_whose_generation_would_wrap_is_retired);
	tcase_add_test(tc, neighbouring_slots_begin_with_different_generations);
	tcase_add_test(tc, a_handle_that_could_not_have_memory_takes_nothing);
	tcase_add_test(tc, more_objects_than_a_chunk_holds_are_all_found);
	tcase_add_test(tc, in_a_forked_child_every_inherited_handle_is_invalid);
	tcase_add_test(tc, a_forked_child_and_its_parent_begin_slots_with_different_generations);
	tcase_add_test(tc, readers_never_find_another_object_than_the_handles_own);
	suite_add_tcase(suite, tc);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
