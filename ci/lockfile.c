/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Lock files: one process owns a PCI function, and another that wants it is told who. The lock
 * belongs to the open file and ends with the process; the file stays, with the last owner's name,
 * which nobody relies on.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ci/internal.h"

/*
 * Opens a file that every user may lock, in a directory that every user may write to: no link is
 * followed, and what somebody has put there is taken for a lock file only when it can be nothing
 * else.
 */
static int open_lock(const char *path)
{
	const int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
	struct stat st;
	int fd;

	/*
	 * Not in one step: the kernel refuses to open with O_CREAT what is another user's in a
	 * sticky directory.
	 */
	do {
		fd = open(path, flags);
		if (fd < 0 && errno == ENOENT) {
			fd = open(path, flags | O_CREAT | O_EXCL, 0666);
			/* Whatever the umask: other users lock it too. */
			if (fd >= 0)
				(void)!fchmod(fd, 0666);
		}
	} while (fd < 0 && errno == EEXIST);
	if (fd < 0)
		return -1;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_nlink == 1)
		return fd;
	close(fd);
	errno = EPERM;
	return -1;
}

static void read_holder(int fd, char *holder, size_t len)
{
	ssize_t got = pread(fd, holder, len - 1, 0);

	holder[got > 0 ? got : 0] = '\0';
	for (char *c = holder; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	if (!*holder)
		ci_copy(holder, len, "a process that did not say its name");
}

static void write_holder(int fd)
{
	char comm[17] = "", text[64];
	int len;

	prctl(PR_GET_NAME, comm);
	len = snprintf(text, sizeof(text), "%s (pid %d)", comm, (int)getpid());
	/* Only for the refusal that another process reads: the lock does not depend on it. */
	if (!ftruncate(fd, 0))
		(void)!pwrite(fd, text, (size_t)len, 0);
}

al_status ci_lockfile_take(const char *dir, const char *name, int *result, char *holder, size_t len)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/ibal-%s.lock", dir, name);
	fd = open_lock(path);
	if (fd < 0) {
		snprintf(holder, len, "%s: %s", path, strerror(errno));
		return AL_IO_ERROR;
	}
	if (fcntl(fd, F_OFD_SETLK, &lock)) {
		read_holder(fd, holder, len);
		close(fd);
		return AL_RESOURCE_BUSY;
	}
	write_holder(fd);
	*result = fd;
	return AL_SUCCESS;
}

const char *ci_lockfile_dir(const char *preferred)
{
	struct stat st;

	/* What this user may do is not asked: root, who may do all, would go elsewhere. */
	return !stat(preferred, &st) && (st.st_mode & S_IWOTH) ? preferred : "/tmp";
}

al_status ci_lock_pci(const char *name, int *fd, char *holder, size_t len)
{
	return ci_lockfile_take(ci_lockfile_dir("/run/lock"), name, fd, holder, len);
}
