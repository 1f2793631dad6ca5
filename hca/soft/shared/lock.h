/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Sleeping and waking by futex, and a mutex of four bytes: the second mutex of Drepper's "Futexes are tricky". A lock
 * must be small, because an HCA has many queue pairs. A thread that finds the mutex taken sleeps, because the holder
 * may have been preempted. hca/soft/README.md has the order of locks.
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

/* Sleeps while *word equals `seen`, until futex_wake() or the time-out (NULL: no time-out). May return early. */
static inline void futex_wait(_Atomic uint32_t *word, uint32_t seen, const struct timespec *timeout)
{
	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, timeout, NULL, 0);
}

static inline void futex_wake(_Atomic uint32_t *word, int waiters)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, waiters, NULL, NULL, 0);
}

/* A mutex. A zeroed mutex is free. */
struct fmutex {
	_Atomic uint32_t word; /* 0: free; 1: taken; 2: taken, and a thread may sleep on the word */
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
