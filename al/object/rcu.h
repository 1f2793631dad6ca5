/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Read-copy-update, from liburcu-bp: the only place that names the flavour. Readers of the handle table take no lock;
 * what they may have found is freed a grace period after it has become unreachable.
 *
 * ThreadSanitizer does not see into the library: the annotations tell it that everything before a read_unlock happens
 * before the return of a later synchronize.
 */
#ifndef AL_OBJECT_RCU_H
#define AL_OBJECT_RCU_H

#if defined(__SANITIZE_THREAD__)
#define AL_TSAN 1
#elif defined(__SANITIZE_ADDRESS__)
#define AL_ASAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define AL_TSAN 1
#elif __has_feature(address_sanitizer)
#define AL_ASAN 1
#endif
#endif

/*
 * Inline read_lock and read_unlock; but as calls, where a sanitizer looks on: the library keeps its readers' records at
 * addresses that are less aligned than their type promises, and the undefined behaviour sanitizer stops at that.
 */
#if !defined(AL_TSAN) && !defined(AL_ASAN)
#define _LGPL_SOURCE
#endif
#include <stdbool.h>
#include <urcu-bp.h>

#ifdef AL_TSAN
void __tsan_acquire(void *addr);
void __tsan_release(void *addr);
extern char rcu_tsan_tag;
#endif

static inline void rcu_enter(void)
{
	urcu_bp_read_lock();
}

static inline void rcu_leave(void)
{
#ifdef AL_TSAN
	__tsan_release(&rcu_tsan_tag);
#endif
	urcu_bp_read_unlock();
}

/* Is this thread in a read section? */
static inline bool rcu_reading(void)
{
	return urcu_bp_read_ongoing();
}

/* Waits until every read section that was entered before has been left. Never inside one, never under a lock. */
static inline void rcu_wait(void)
{
	urcu_bp_synchronize_rcu();
#ifdef AL_TSAN
	__tsan_acquire(&rcu_tsan_tag);
#endif
}

#endif
