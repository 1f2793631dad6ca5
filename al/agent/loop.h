/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The agent's loop: it waits until a watched descriptor is ready, and calls the descriptor's
 * function. The files that watch the descriptors say what each descriptor is for. */
#ifndef AL_AGENT_LOOP_H
#define AL_AGENT_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The struct of which *pointer is the member. */
#define container_of(pointer, type, member) ((type *)((char *)(pointer) - offsetof(type, member)))

/* A watched descriptor's part of the struct that owns the descriptor. */
struct watched {
	void (*see)(struct watched *watched, uint32_t events); /* called on the loop; events: EPOLL* bits */
};

/* False: errno says why; loop_close() is still to be called. */
bool loop_open(void);
void loop_close(void);
/*
 * Waits until a descriptor is ready, and calls its function. One descriptor at a time: the function
 * may free the owner of the next one.
 */
void loop_once(void);

/* Watches a descriptor for EPOLL* bits. Returns 0, or -1 with errno set. Any thread. */
int loop_watch(int fd, struct watched *watched, uint32_t events);
/* Replaces the struct and the bits of a watched descriptor. Returns 0, or -1 with errno set. Any
 * thread. */
int loop_change(int fd, struct watched *watched, uint32_t events);
/* Stops watching. On the loop, no call of the descriptor's function follows. */
void loop_unwatch(int fd);

#endif
