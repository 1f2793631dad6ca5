/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Sleeping and waking by futex, and a mutex of four bytes (Drepper's "Futexes are tricky", the second one). Queue pairs
 * are many, so each lock must be small; and a holder can be preempted, so who finds one taken sleeps.
 */
#ifndef SOFT_LOCK_H
#define SOFT_LOCK_H

#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Sleeps while *word is seen, until futex_wake() or the time-out (NULL: none). May return early. */
static inline void futex_wait(_Atomic uint32_t *word, uint32_t seen, const struct timespec *timeout)
{
	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, timeout, NULL, 0);
}

static inline void futex_wake(_Atomic uint32_t *word, int waiters)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, waiters, NULL, NULL, 0);
}

/* All zero: free. */
struct fmutex {
	_Atomic uint32_t word; /* 0 free, 1 taken, 2 taken and somebody sleeps */
};

static inline bool fmutex_trylock(struct fmutex *m)
{
	uint32_t free = 0;

	return atomic_compare_exchange_strong_explicit(&m->word, &free, 1, memory_order_acquire,
						       memory_order_relaxed);
}

static inline void fmutex_lock(struct fmutex *m)
{
	if (fmutex_trylock(m))
		return;
	while (atomic_exchange_explicit(&m->word, 2, memory_order_acquire))
		futex_wait(&m->word, 2, NULL);
}

static inline void fmutex_unlock(struct fmutex *m)
{
	if (atomic_exchange_explicit(&m->word, 0, memory_order_release) == 2)
		futex_wake(&m->word, 1);
}

#endif
