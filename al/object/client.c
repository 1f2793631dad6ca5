/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Clients of the agent: whom a thread acts for, and their memory. */
#include "al/object/client.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "al/agent/private.h"

__thread struct ci_udata *acting_for;

void al_act_for(struct ci_udata *udata)
{
	acting_for = udata;
}

/*
 * The file names an address space, not a process: after an exec or the client's death it yields
 * nothing. It ignores the pages' protection; that only concerns the client's own memory.
 */
al_status ci_client_read(struct ci_client *client, uint64_t addr, void *to, uint64_t length)
{
	ssize_t n;

	for (char *at = to; length; addr += (uint64_t)n, at += n, length -= (uint64_t)n) {
		n = TEMP_FAILURE_RETRY(pread(client->memory, at, length, (off_t)addr));
		if (n <= 0)
			return AL_INVALID_ADDRESS;
	}
	return AL_SUCCESS;
}

al_status ci_client_write(struct ci_client *client, uint64_t addr, const void *from,
			  uint64_t length)
{
	ssize_t n;

	for (const char *at = from; length; addr += (uint64_t)n, at += n, length -= (uint64_t)n) {
		n = TEMP_FAILURE_RETRY(pwrite(client->memory, at, length, (off_t)addr));
		if (n <= 0)
			return AL_INVALID_ADDRESS;
	}
	return AL_SUCCESS;
}

al_status ci_client_give_fd(struct ci_udata *udata, int fd)
{
	struct al_udata *own = (struct al_udata *)udata; /* its first member */
	int copy;

	if (own->num_given == UVP_MAX_FDS)
		return AL_LIMIT_EXCEEDED;
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (copy < 0)
		return errno == EBADF ? AL_INVALID_PARAMETER : AL_INSUFFICIENT_RESOURCES;
	own->given[own->num_given++] = copy;
	return AL_SUCCESS;
}
