/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The files of al_cp: a source that may shrink or fail at any moment, and a destination that exists
 * after a full copy only. RDMA is in cp_rdma.c. Errors are sentences that name the file and the way
 * out.
 */
#ifndef AL_TOOLS_CP_FILE_H
#define AL_TOOLS_CP_FILE_H

#include <glib.h>
#include <sys/stat.h>

#include "al/tools/cp_digest.h"

struct cp_source {
	char *path;
	char *name;        /* for messages */
	int fd;
	struct stat stat;  /* when the file was opened */
	guint64 size;
	guint64 data_end;  /* end of the extent of data that cp_source_extent() found last */
	struct timespec written; /* st_mtime of fd when the copy began */
};

struct cp_dest {
	char *name; /* for messages */
	char *path; /* of the file after cp_dest_commit(); NULL: a device or a pipe, which is written in place */
	char *temp; /* of the file until cp_dest_commit(); NULL after it, and in place */
	int fd;
	gboolean has_holes; /* cp_dest_skip() has left a hole, perhaps at the end */
};

/*
 * Opens a regular file. A file whose st_size is not its length, such as one of /proc or /sys, is read to its end first, and a
 * copy of these bytes is the source. After a failure nothing is left to close.
 */
gboolean cp_source_open(struct cp_source *src, const char *path, GError **err);
/* A source that another process reads: only name and size are known. */
void cp_source_described(struct cp_source *src, const char *name, guint64 size);
void cp_source_close(struct cp_source *src);

/* Reads exactly len bytes from offset on. A file that has become shorter is an error. */
gboolean cp_source_read(struct cp_source *src, guint64 offset, void *to, gsize len, GError **err);

/*
 * Checks that the file still has the bytes that were read, of which sha256 is the digest: reads them
 * a second time if a process has written to the file since cp_source_open(). Bytes behind the size
 * at that time do not matter.
 */
gboolean cp_source_check(struct cp_source *src, const char *sha256, GError **err);

/* The number of bytes from offset on that are all data, or all in a hole (*hole). offset: less than
 * size. */
guint64 cp_source_extent(struct cp_source *src, guint64 offset, gboolean *hole);

/*
 * Makes a file with a temporary name in the directory of path. A device or a pipe is opened in
 * place; for a pipe the call waits until a process reads the pipe, with a message unless quiet. A
 * signal ends that wait, and so does input from peer (-1: none). After a failure nothing is left to
 * close.
 */
gboolean cp_dest_open(struct cp_dest *dest, const char *path, const struct cp_source *src, int peer, gboolean quiet,
		      GError **err);
gboolean cp_dest_write(struct cp_dest *dest, const void *data, gsize len, GError **err);
/* The next len bytes are zeros: leaves a hole in a file, and writes zeros to a device or a pipe. */
gboolean cp_dest_skip(struct cp_dest *dest, gsize len, GError **err);

/*
 * Gives the file the source's mode and its own name, in place of an older file. cp_dest_close()
 * then removes nothing.
 */
gboolean cp_dest_commit(struct cp_dest *dest, const struct cp_source *src, GError **err);

/* Closes the destination, and removes a file that is not committed. */
void cp_dest_close(struct cp_dest *dest);

/* TRUE, with an error: a signal has come. */
gboolean cp_is_interrupted(const char *name, GError **err);

#endif
