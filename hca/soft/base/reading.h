/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Read sections. A thread that uses the memory of regions is in a read section: a pass of a queue
 * pair by its owner is one. The end of a region waits until the read sections that may have found
 * the region have ended. The flavour is that of the Access Layer, liburcu-bp, whose grace periods
 * then serve both (ci_interface.revoke_mr). A read section writes memory of its own thread only,
 * and may be nested.
 *
 * ThreadSanitizer does not see into liburcu: the annotations tell ThreadSanitizer that everything
 * in a read section happens before the region's end.
 */
#ifndef SOFT_READING_H
#define SOFT_READING_H

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SOFT_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define SOFT_SANITIZED 1
#endif
#endif

/* Inline read sections; not in builds with a sanitizer, as in al/object/rcu.h. */
#ifndef SOFT_SANITIZED
#define _LGPL_SOURCE
#endif
#include <stdlib.h>
#include <urcu-bp.h>

#ifdef SOFT_SANITIZED
/* Weak: ThreadSanitizer has these functions, and AddressSanitizer does not. */
__attribute__((weak)) void __tsan_acquire(void *addr);
__attribute__((weak)) void __tsan_release(void *addr);
#endif
extern char reading_tag; /* the address that the annotations name */

static inline void reading_begin(void)
{
	urcu_bp_read_lock();
}

static inline void reading_end(void)
{
#ifdef SOFT_SANITIZED
	if (__tsan_release)
		__tsan_release(&reading_tag);
#endif
	urcu_bp_read_unlock();
}

/* Notes that a grace period has passed for which another has waited. */
static inline void reading_has_ended(void)
{
#ifdef SOFT_SANITIZED
	if (__tsan_acquire)
		__tsan_acquire(&reading_tag);
#endif
}

/* Waits until every read section that began before the call has ended. May sleep. */
static inline void reading_wait(void)
{
	urcu_bp_synchronize_rcu();
	reading_has_ended();
}

/* Ends the process if the thread is in no read section. Only builds with a sanitizer look. */
static inline void reading_check(void)
{
#ifdef SOFT_SANITIZED
	if (!urcu_bp_read_ongoing())
		abort();
#endif
}

#endif
