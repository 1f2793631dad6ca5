/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What tests that fork have to know of the sanitizers. Included by the one file of a test's program. */
#ifndef IBAL_TEST_FORK_H
#define IBAL_TEST_FORK_H

/*
 * AddressSanitizer (of gcc 12 and clang 14) leaves its allocator's locks as they were at the fork: where other threads
 * allocate, the child may hang in its first allocation, which is nobody's fault here. Those tests run in every other
 * build, also under ThreadSanitizer and valgrind.
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
 * For ThreadSanitizer the parent's threads that can be joined are the child's, too, and it ends the child that has one
 * of the same number: those of the agent, where it is in the test's process.
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
