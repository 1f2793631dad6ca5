/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * For the harness of the software HCA's tests, where a fuzz target is linked with it: replaces the Check framework's
 * header, whose assertions work only while Check runs a test. These assertions abort.
 */
#ifndef TEST_FUZZ_CHECK_H
#define TEST_FUZZ_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define ck_assert(condition) ((condition) ? (void)0 : (perror(#condition), abort()))
#define ck_assert_msg(condition, ...) \
	((condition) ? (void)0 : (fprintf(stderr, __VA_ARGS__), fputc('\n', stderr), abort()))
#define ck_assert_int_eq(a, b)   ck_assert((a) == (b))
#define ck_assert_uint_eq(a, b)  ck_assert((a) == (b))
#define ck_assert_uint_ge(a, b)  ck_assert((a) >= (b))
#define ck_assert_uint_le(a, b)  ck_assert((a) <= (b))
#define ck_assert_ptr_nonnull(a) ck_assert(a)

/* No suites here. */
typedef struct suite Suite;
typedef struct runner_of_suites SRunner;
#define CK_ENV                        0
#define srunner_create(suite)         ((void)(suite), (SRunner *)NULL)
#define srunner_run_all(runner, mode) ((void)(runner))
#define srunner_ntests_failed(runner) ((void)(runner), 1)
#define srunner_free(runner)          ((void)(runner))

#endif
