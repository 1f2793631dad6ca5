/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The files of al_cp: a source that may shrink or fail at any moment, and a destination that is there in
 * full or not at all. Nothing of RDMA is here. Errors are sentences that name the file and the way out.
 */
#ifndef AL_TOOLS_CP_FILE_H
#define AL_TOOLS_CP_FILE_H

#include <glib.h>
#include <sys/stat.h>

struct cp_source {
	char *path;
	char *name;        /* as messages show it */
	int fd;
	struct stat stat;  /* as it was when opened */
	guint64 size;
	guint64 data_end;  /* there is no hole before it, from where cp_source_extent() was asked on */
	GThread *digester; /* NULL: joined, or never started */
	int stop;          /* atomic: the digester is to give up */
};

struct cp_dest {
	char *name; /* as messages show it */
	char *path; /* where it will be; NULL: written in place, since it is a device or a pipe */
	char *temp; /* where it is until then */
	int fd;
	gboolean has_holes; /* parts of it were skipped, perhaps the last */
};

/* As many zeros as are worth a step. */
#define CP_ZEROS (64u << 10)
extern const guint8 cp_zeros[CP_ZEROS];

/*
 * Opens a regular file and starts to compute its digest, reading on its own. A file whose st_size is not its length, as
 * those of /proc and /sys, is read to its end first, and these bytes are the source. On failure nothing is left to close.
 */
gboolean cp_source_open(struct cp_source *src, const char *path, GError **err);
/* A source in another process: only its name and size. */
void cp_source_described(struct cp_source *src, const char *name, guint64 size);
void cp_source_close(struct cp_source *src);

/* Exactly len bytes from offset on; a file that has become shorter is an error, never a signal. */
gboolean cp_source_read(struct cp_source *src, guint64 offset, void *to, gsize len, GError **err);

/* How many bytes from offset on, which is before the end, are all data or all in a hole, and which of both. */
guint64 cp_source_extent(struct cp_source *src, guint64 offset, gboolean *hole);

/* SHA-256 of the first size bytes, as hexadecimal text: waits for it, once. Owned by the caller; NULL on failure. */
char *cp_source_digest(struct cp_source *src, GError **err);

/*
 * Opens a file beside path under a name of its own. A pipe is waited for until somebody reads it, which is said unless
 * quiet; a signal ends that, and so does anything that can be read from peer (-1: there is none). On failure nothing is left
 * to close.
 */
gboolean cp_dest_open(struct cp_dest *dest, const char *path, const struct cp_source *src, int peer, gboolean quiet,
		      GError **err);
gboolean cp_dest_write(struct cp_dest *dest, const void *data, gsize len, GError **err);
/* The next len bytes are zeros: a hole, where there can be one. */
gboolean cp_dest_skip(struct cp_dest *dest, gsize len, GError **err);

/* Gives the file the source's mode and its name, in place of what had it; after it cp_dest_close() changes nothing. */
gboolean cp_dest_commit(struct cp_dest *dest, const struct cp_source *src, GError **err);

/* What was not committed is removed. */
void cp_dest_close(struct cp_dest *dest);

/* TRUE, and an error, when a signal has come. */
gboolean cp_is_interrupted(const char *name, GError **err);

#endif
