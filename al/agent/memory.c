/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Memory that clients share: the agent maps memfds that can not shrink, and no other file. A client
 * could take the pages of another file away, and a thread of the agent that reads them would get
 * SIGBUS. A client could also be the file's FUSE server, and a thread of the agent would wait for
 * the client.
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
 * F_GET_SEALS comes first: the kernel answers it alone, while fstatfs() of a file of FUSE asks the
 * file's server, which may be the client. A file in /dev/shm has seals, but not F_SEAL_SHRINK. A
 * memfd of huge pages is not on tmpfs, and is refused.
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
	if (map == MAP_FAILED) /* EACCES, EPERM: the descriptor or a seal does not allow this access */
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
