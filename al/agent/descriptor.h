/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Records with descriptors, and descriptors that clients have sent. */
#ifndef AL_AGENT_DESCRIPTOR_H
#define AL_AGENT_DESCRIPTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define RECORD_FDS 253 /* that a record can bring, by the kernel's SCM_MAX_FD */

/* What came with a record. */
struct descriptors {
	bool whole;     /* nothing of record and descriptors has been cut off */
	bool of_record; /* there was a record, perhaps of no bytes: not the end */
	uint32_t num;
	int fd[RECORD_FDS]; /* -1: taken */
};

/* The length of the record; negative: there is none, see errno. Does not wait. */
ssize_t descriptors_receive(int fd, void *record, size_t size, struct descriptors *list);
/* Closes what was not taken, on another thread and later: any close of a client's descriptor may block. */
void descriptors_close(const struct descriptors *list);
/* Closes a connection to a client. */
void descriptors_hang_up(int fd);

#endif
