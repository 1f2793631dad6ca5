/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Rules of the sanitizers for tests that fork. Included by one file of a test program. */
#ifndef IBAL_TEST_FORK_H
#define IBAL_TEST_FORK_H

/*
 * AddressSanitizer (of gcc 12 and clang 14) leaves its allocator's locks as they were at the fork. If other threads
 * allocate at that moment, the child may hang in its first allocation, which is no fault of the library. Such tests
 * run in every other build, also under ThreadSanitizer and valgrind.
 */
#if defined(__SANITIZE_ADDRESS__)
#define FORK_IS_SAFE false
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FORK_IS_SAFE false
#endif
#endif
#ifndef FORK_IS_SAFE
#define FORK_IS_SAFE true
#endif

/*
 * ThreadSanitizer takes the parent's joinable threads for threads of the child, and ends a child that gets a thread
 * with the number of such a thread: the agent's threads, if the agent runs in the test's process.
 */
#ifdef __SANITIZE_THREAD__
#define THREADS_STAY true
#else
#define THREADS_STAY false
#endif

/* ThreadSanitizer ends a forked child that starts threads, unless an option of ThreadSanitizer forbids that. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
	return "die_after_fork=0";
}

#endif
