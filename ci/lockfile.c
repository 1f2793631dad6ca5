/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Lock files of PCI functions: one process owns a function, and the refusal to another process
 * names the owner. The lock belongs to the open file description and ends with the process. The
 * file remains with the last owner's name, which is used in refusals only.
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
 * Opens a lock file that every user may lock, in a directory that every user may write to. Another
 * user may have planted an entry of that name, so links are not followed, and only a regular file
 * with a single link is accepted.
 */
static int open_lock(const char *path)
{
	const int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
	struct stat st;
	int fd;

	/*
	 * Opening and creating are two steps: in a sticky directory the kernel refuses to open
	 * another user's file with O_CREAT.
	 */
	do {
		fd = open(path, flags);
		if (fd < 0 && errno == ENOENT) {
			fd = open(path, flags | O_CREAT | O_EXCL, 0666);
			/* Other users lock the file too, so this process's umask must not limit its
			 * mode. */
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
		ci_copy(holder, len, "a process whose name is not in the lock file");
}

static void write_holder(int fd)
{
	char comm[17] = "", text[64];
	int len;

	prctl(PR_GET_NAME, comm);
	len = snprintf(text, sizeof(text), "%s (pid %d)", comm, (int)getpid());
	/* The text is for the refusal in another process. The lock does not depend on the text. */
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

	/* The mode decides, not access(): root may write everywhere, and must choose the same
	 * directory as other users. */
	return !stat(preferred, &st) && (st.st_mode & S_IWOTH) ? preferred : "/tmp";
}

al_status ci_lock_pci(const char *name, int *fd, char *holder, size_t len)
{
	return ci_lockfile_take(ci_lockfile_dir("/run/lock"), name, fd, holder, len);
}
