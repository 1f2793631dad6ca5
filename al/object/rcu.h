/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Read-copy-update, from liburcu-bp. This file is the only place that names the flavour. Readers of
 * the handle table take no lock; an object is freed a grace period after its handle has become
 * invalid.
 *
 * ThreadSanitizer does not see into liburcu: the annotations tell ThreadSanitizer that everything
 * before a read_unlock happens before the return of a later synchronize.
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
 * _LGPL_SOURCE makes read_lock and read_unlock inline. Builds with a sanitizer call them in
 * liburcu: liburcu keeps its readers' records at addresses that are less aligned than their type
 * promises, and the undefined behaviour sanitizer would stop there.
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

/* True: the calling thread is in a read section. */
static inline bool rcu_reading(void)
{
	return urcu_bp_read_ongoing();
}

/*
 * Waits one grace period: until every read section that was entered before the call has been left.
 * Not called inside a read section nor under a lock.
 */
static inline void rcu_wait(void)
{
	urcu_bp_synchronize_rcu();
#ifdef AL_TSAN
	__tsan_acquire(&rcu_tsan_tag);
#endif
}

#endif
