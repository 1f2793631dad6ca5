/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Memory that the process shares with agents: memfds that are sealed at a fixed size, so that an
 * agent's mapping never loses pages. The agent reads and writes regions in this memory directly,
 * without copies through /proc.
 */
#include "al/object/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <iba/ib_hca.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8u
#endif

struct shared {
	struct shared *next;
	char *addr;
	uint64_t length; /* bytes, in whole pages */
	int fd;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the list. Leaf. */
static struct shared *list;

void shared_after_fork(void)
{
	pthread_mutex_init(&lock, NULL);
}

static int sealed_file(uint64_t length)
{
	int fd = memfd_create("ibal", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL) /* a kernel before 6.3 */
		fd = memfd_create("ibal", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -1;
	if (!ftruncate(fd, (off_t)length) &&
	    !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return fd;
	close(fd);
	return -1;
}

void *shared_alloc(uint64_t length)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct shared *mem;

	if (!length || length > INT64_MAX - page)
		return NULL;
	mem = al_alloc(sizeof(*mem));
	if (!mem)
		return NULL;
	mem->length = (length + page - 1) & ~(page - 1);
	mem->fd = sealed_file(mem->length);
	if (mem->fd < 0)
		goto err;
	mem->addr = mmap(NULL, mem->length, PROT_READ | PROT_WRITE, MAP_SHARED, mem->fd, 0);
	if (mem->addr == MAP_FAILED) {
		close(mem->fd);
		goto err;
	}
	pthread_mutex_lock(&lock);
	mem->next = list;
	list = mem;
	pthread_mutex_unlock(&lock);
	return mem->addr;
err:
	al_free(mem);
	return NULL;
}

bool shared_free(void *addr)
{
	struct shared **p, *mem;

	pthread_mutex_lock(&lock);
	for (p = &list; *p && (*p)->addr != addr; p = &(*p)->next)
		;
	mem = *p;
	if (mem)
		*p = mem->next;
	pthread_mutex_unlock(&lock);
	if (!mem)
		return false;
	munmap(mem->addr, mem->length);
	close(mem->fd);
	al_free(mem);
	return true;
}

al_status shared_find(const void *addr, uint64_t length, int *fd, uint64_t *offset)
{
	const struct shared *mem;
	uint64_t at = 0;

	*fd = -1;
	pthread_mutex_lock(&lock);
	for (mem = list; mem; mem = mem->next) {
		at = (uintptr_t)addr -
		     (uintptr_t)
			     mem->addr; /* an addr below mem->addr wraps to more than any length */
		if (at < mem->length && length <= mem->length - at)
			break;
	}
	if (mem)
		*fd = fcntl(mem->fd, F_DUPFD_CLOEXEC, 0);
	pthread_mutex_unlock(&lock);
	if (*fd >= 0)
		*offset = at;
	return mem && *fd < 0 ? AL_INSUFFICIENT_RESOURCES : AL_SUCCESS;
}
