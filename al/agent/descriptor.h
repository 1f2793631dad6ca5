/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Records with descriptors, and the descriptors that clients have sent. */
#ifndef AL_AGENT_DESCRIPTOR_H
#define AL_AGENT_DESCRIPTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "al/agent/account.h"

#define RECORD_FDS 253 /* most descriptors of a record: the kernel's SCM_MAX_FD */

/* The descriptors of a received record. They are charged to the sender's user until they are
 * closed. */
struct descriptors {
	struct account *user; /* the sender's */
	bool whole;         /* the record fitted into the memory, and all its descriptors into fd */
	bool of_record;     /* there was a record, perhaps of no bytes; false: the end of the connection */
	uint32_t num;       /* in fd */
	int fd[RECORD_FDS]; /* -1: the descriptor has another owner now, who returns its charge */
};

/*
 * Receives a record of a user's, without waiting. Returns its length; 0: an empty record or the
 * end; -1: no record, see errno. EDQUOT: the user has too many descriptors here, most of them such
 * as nobody can close; the record, and what descriptors it has, is not received.
 */
ssize_t descriptors_receive(int fd, struct account *user, void *record, size_t size,
			    struct descriptors *list);
/* Closes the descriptors of the list, on another thread and later: any close of a client's
 * descriptor may block. */
void descriptors_close(const struct descriptors *list);
/* Closes a connection to a client, which is charged to the user as one descriptor, with the records
 * that the agent has not read. */
void descriptors_hang_up(int fd, struct account *user);

#endif
