/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Records with descriptors, and the descriptors that clients have sent. */
#ifndef AL_AGENT_DESCRIPTOR_H
#define AL_AGENT_DESCRIPTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define RECORD_FDS 253 /* most descriptors of a record: the kernel's SCM_MAX_FD */

/* The descriptors of a received record. */
struct descriptors {
	bool whole;         /* the record fitted into the memory, and all its descriptors into fd */
	bool of_record;     /* there was a record, perhaps of no bytes; false: the end of the connection */
	uint32_t num;       /* in fd */
	int fd[RECORD_FDS]; /* -1: the descriptor has another owner now */
};

/* Receives a record, without waiting. Returns its length; 0: an empty record or the end; -1: no
 * record, see errno. */
ssize_t descriptors_receive(int fd, void *record, size_t size, struct descriptors *list);
/* Closes the descriptors of the list, on another thread and later: any close of a client's
 * descriptor may block. */
void descriptors_close(const struct descriptors *list);
/* Closes a connection to a client, with the records that the agent has not read. */
void descriptors_hang_up(int fd);

#endif
