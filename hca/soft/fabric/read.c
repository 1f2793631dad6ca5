/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Reads the file of a topology. */

#include "hca/soft/fabric/topology.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Refuses a path that names no regular file, since a read of a device or pipe could block or never end. */
static al_status check_file(int fd, const char *path, size_t *length, struct topology_error *error)
{
	struct stat st;

	if (fd < 0 || fstat(fd, &st)) {
		topology_refuse(error, path, 0, "cannot be read: %s", strerror(errno));
		return AL_IO_ERROR;
	}
	if (!S_ISREG(st.st_mode))
		return topology_refuse(error, path, 0, "is no regular file");
	if (st.st_size > (off_t)TOPOLOGY_MAX_TEXT)
		return topology_refuse(error, path, 0,
				       "has more than %u bytes; give a part of the subnet",
				       TOPOLOGY_MAX_TEXT);
	*length = (size_t)st.st_size;
	return AL_SUCCESS;
}

/* Reads up to `length` bytes: fewer if the file has become shorter. */
static al_status read_bytes(int fd, const char *path, char *to, size_t *length,
			    struct topology_error *error)
{
	size_t done = 0;
	ssize_t n;

	while (done < *length) {
		n = read(fd, to + done, *length - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			topology_refuse(error, path, 0, "cannot be read: %s", strerror(errno));
			return AL_IO_ERROR;
		}
		if (!n)
			break;
		done += (size_t)n;
	}
	*length = done;
	return AL_SUCCESS;
}

al_status topology_read(struct topology *t, const char *path, struct topology_error *error)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char *bytes = NULL;
	size_t length = 0;
	al_status status;

	memset(t, 0, sizeof(*t));
	memset(error, 0, sizeof(*error));
	status = check_file(fd, path, &length, error);
	if (!status) {
		bytes = malloc(length + 1);
		status = bytes ? read_bytes(fd, path, bytes, &length, error)
			       : AL_INSUFFICIENT_MEMORY;
	}
	if (status == AL_INSUFFICIENT_MEMORY)
		topology_refuse(error, path, 0, "out of memory");
	if (!status)
		status = topology_parse(t, TOPOLOGY_TO_SIMULATE, path, bytes, length, error);
	free(bytes);
	if (fd >= 0)
		close(fd);
	return status;
}
