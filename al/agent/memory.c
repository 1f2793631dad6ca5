/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Memory that clients share: memfds that can not shrink. The client could take the pages of any other file away, so that a
 * thread of the agent that reads them gets a signal; or could serve the pages itself, so that the thread waits for the client.
 */
#include "al/agent/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/*
 * Seals are asked for first: the kernel answers that itself, where asking about a file of another
 * kind could be a question to whoever serves it. A file in /dev/shm has seals too, but none against
 * shrinking; one of huge pages is not of tmpfs.
 */
static bool is_sealed(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct statfs fs;

	return seals >= 0 && seals & F_SEAL_SHRINK && !fstatfs(fd, &fs) && fs.f_type == TMPFS_MAGIC;
}

al_status memory_map(struct mapping *mapping, int fd, const struct REG_MR_request *request, void **addr)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t first = request->offset & ~(page - 1), end;
	bool writable = request->access & IB_ACCESS_LOCAL_WRITE;
	struct stat st;
	void *map;

	if (!is_sealed(fd) || fstat(fd, &st))
		return AL_INVALID_DESCRIPTOR;
	if (!request->length)
		return AL_INVALID_PARAMETER;
	if (__builtin_add_overflow(request->offset, request->length, &end) ||
	    end > (uint64_t)st.st_size)
		return AL_INVALID_ADDRESS;
	map = mmap(NULL, end - first, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd,
		   (off_t)first);
	if (map == MAP_FAILED) /* not opened for that, or sealed against it */
		return errno == EACCES || errno == EPERM ? AL_INVALID_ADDRESS
							 : AL_INSUFFICIENT_RESOURCES;
	mapping->addr = map;
	mapping->bytes = end - first;
	*addr = (char *)map + (request->offset - first);
	return AL_SUCCESS;
}

void memory_unmap(const struct mapping *mapping)
{
	munmap(mapping->addr, mapping->bytes);
}
