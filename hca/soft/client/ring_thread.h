/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Ring threads, which answer the bells of clients: a few for all HCAs of the module, so that their
 * number does not grow with the HCAs. An HCA has one while it has queue pairs with rings, and a
 * thread runs while some HCA has it. With manual progress there is no thread, and
 * ring_thread_turns() is called in its place. Context of all calls: may block.
 */
#ifndef SOFT_RING_THREAD_H
#define SOFT_RING_THREAD_H

#include <stdbool.h>

#include <iba/ib_types.h>

#define RING_THREADS 4

struct opening;
struct ring_thread;

/*
 * Gives an HCA the ring thread that the fewest HCAs have. hca: the HCA's name, for messages. NULL,
 * with a message in the log: neither a thread nor its descriptors are to be had.
 */
struct ring_thread *ring_thread_get(const char *hca);
/* Takes the thread from an HCA, all of whose clients have left the thread. */
void ring_thread_put(struct ring_thread *t);
/* From now on the thread answers the client's bells. AL_INSUFFICIENT_RESOURCES: epoll has no room
 * for the client's eventfd. */
al_status ring_thread_join(struct ring_thread *t, struct opening *o);
/* The thread touches the client's door and queue pairs no more. */
void ring_thread_leave(struct ring_thread *t, struct opening *o);
/* The lock of opening.next and of what follows it, for the clients of this thread. */
void ring_thread_lock(struct ring_thread *t);
void ring_thread_unlock(struct ring_thread *t);
/* Gives each client one turn. False: no bell was pending. */
bool ring_thread_turns(struct ring_thread *t);

#endif
