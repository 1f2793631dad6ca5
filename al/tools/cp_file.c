/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See cp_file.h. The source is read, not mapped: a mapped file that shrinks kills the process with
 * SIGBUS, while a read that comes short can be said.
 */
#include "al/tools/cp_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "al/tools/tool.h"

#define DIGEST_STEP (1u << 20) /* bytes read at a time */

gboolean cp_is_interrupted(const char *name, GError **err)
{
	if (tool_interrupted)
		tool_fail(err, "interrupted at %s; nothing was left behind", name);
	return tool_interrupted != 0;
}

/* ------------------------------------------------------------------ source */

gboolean cp_source_read(struct cp_source *src, guint64 offset, void *to, gsize len, GError **err)
{
	for (gsize done = 0; done < len;) {
		ssize_t n = pread(src->fd, (guint8 *)to + done, len - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return tool_fail(err, "%s cannot be read: %s", src->name,
					 g_strerror(errno));
		if (!n)
			return tool_fail(err,
					 "%s shrank while it was copied: %" G_GUINT64_FORMAT
					 " of %" G_GUINT64_FORMAT
					 " bytes are left; copy it when nobody writes to it",
					 src->name, offset + done, src->size);
		done += (gsize)n;
	}
	return TRUE;
}

/* The digester's work. */
struct digest {
	char *text;  /* its result, or */
	GError *err; /* why there is none */
	guint8 buf[DIGEST_STEP];
};

static gpointer compute_digest(gpointer data)
{
	g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
	struct cp_source *src = data;
	struct digest *digest = g_new0(struct digest, 1);

	for (guint64 at = 0; at < src->size; at += DIGEST_STEP) {
		gsize len = (gsize)MIN(DIGEST_STEP, src->size - at);

		if (g_atomic_int_get(&src->stop) ||
		    !cp_source_read(src, at, digest->buf, len, &digest->err))
			return digest;
		g_checksum_update(sum, digest->buf, (gssize)len);
	}
	digest->text = g_strdup(g_checksum_get_string(sum));
	return digest;
}

char *cp_source_digest(struct cp_source *src, GError **err)
{
	struct digest *digest = g_thread_join(g_steal_pointer(&src->digester));
	char *text = digest->text;

	if (digest->err)
		g_propagate_error(err, digest->err);
	g_free(digest);
	return text;
}

/* Signals stay with the thread that is here: it is the one to be interrupted. */
static GThread *start_digester(struct cp_source *src, GError **why)
{
	sigset_t all, before;
	GThread *thread;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	thread = g_thread_try_new("digest", compute_digest, src, why);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return thread;
}

void cp_source_described(struct cp_source *src, const char *name, guint64 size)
{
	*src = (struct cp_source){ .path = g_strdup(name),
				   .name = g_filename_display_name(name),
				   .size = size,
				   .fd = -1 };
}

gboolean cp_source_open(struct cp_source *src, const char *path, GError **err)
{
	g_autoptr(GError) why = NULL;

	cp_source_described(src, path, 0);
	/* Without O_NONBLOCK a pipe that nobody writes to would hold us here, before we can refuse
	 * it. */
	src->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (src->fd < 0 || fstat(src->fd, &src->stat)) {
		tool_fail(err, "%s cannot be opened: %s", src->name, g_strerror(errno));
		goto failed;
	}
	if (S_ISDIR(src->stat.st_mode)) {
		tool_fail(err, "%s is a directory: name a file in it, or make one of it with tar",
			  src->name);
		goto failed;
	}
	if (!S_ISREG(src->stat.st_mode)) {
		tool_fail(
			err,
			"%s is no regular file and has no size: write what it gives to a file first",
			src->name);
		goto failed;
	}
	src->size = (guint64)src->stat.st_size;
	src->digester = start_digester(src, &why);
	if (!src->digester) {
		tool_fail(err, "no thread could be started for the digest of %s: %s", src->name,
			  why->message);
		goto failed;
	}
	return TRUE;
failed:
	cp_source_close(src);
	return FALSE;
}

void cp_source_close(struct cp_source *src)
{
	g_atomic_int_set(&src->stop, 1);
	if (src->digester)
		g_free(cp_source_digest(src, NULL));
	if (src->fd >= 0)
		close(src->fd);
	g_free(src->path);
	g_free(src->name);
	*src = (struct cp_source){ .fd = -1 };
}

/* ------------------------------------------------------------- destination */

static gboolean same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Where path leads: into a directory, through links. Owned by the caller. */
static char *resolve(const char *path, const char *source)
{
	char *real, *copy;

	if (g_file_test(path, G_FILE_TEST_IS_DIR)) {
		g_autofree char *base = g_path_get_basename(source);

		return g_build_filename(path, base, NULL);
	}
	real = realpath(path, NULL);
	copy = g_strdup(real ? real : path);
	free(real);
	return copy;
}

/* A device or a pipe is written to where it is: to replace it by a file would be no copy. */
static gboolean open_in_place(struct cp_dest *dest, const char *path, GError **err)
{
	dest->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	if (dest->fd < 0)
		return tool_fail(err, "%s cannot be written to: %s", dest->name, g_strerror(errno));
	/* Only now: a pipe that nobody reads yet is waited for. Then no write holds us up when a
	 * signal comes. */
	fcntl(dest->fd, F_SETFL, O_WRONLY | O_NONBLOCK);
	return TRUE;
}

static gboolean open_beside(struct cp_dest *dest, const char *path, GError **err)
{
	g_autofree char *dir = g_path_get_dirname(path), *shown = g_filename_display_name(dir);

	dest->path = g_strdup(path);
	/* A name of its own: that of DEST and more would be too long for one that is as long as can
	 * be. */
	dest->temp = g_build_filename(dir, ".al_cp.XXXXXX", NULL);
	dest->fd = g_mkstemp_full(dest->temp, O_WRONLY | O_CLOEXEC, 0600);
	if (dest->fd >= 0)
		return TRUE;
	g_clear_pointer(&dest->temp, g_free);
	return tool_fail(
		err, "%s cannot be made, since no file can be made in %s: %s; choose another place",
		dest->name, shown, g_strerror(errno));
}

gboolean cp_dest_open(struct cp_dest *dest, const char *path, const struct cp_source *src,
		      GError **err)
{
	g_autofree char *real = resolve(path, src->path);
	struct stat st;
	gboolean there = !stat(real, &st);
	gboolean opened;

	*dest = (struct cp_dest){ .name = g_filename_display_name(real), .fd = -1 };
	if (there && same_file(&st, &src->stat))
		opened = tool_fail(err, "%s and %s are the same file: name another destination",
				   src->name, dest->name);
	else if (there && S_ISDIR(st.st_mode))
		opened = tool_fail(err, "%s is a directory: name another destination", dest->name);
	else if (there && !S_ISREG(st.st_mode))
		opened = open_in_place(dest, real, err);
	else
		opened = open_beside(dest, real, err);
	if (!opened)
		cp_dest_close(dest);
	return opened;
}

static gboolean write_failed(const struct cp_dest *dest, GError **err)
{
	const char *way_out = "nothing was left there";

	if (errno == ENOSPC || errno == EDQUOT)
		way_out = "free some, or choose another place; nothing was left there";
	if (errno == EFBIG)
		way_out =
			"raise the limit (ulimit -f), or choose another file system; nothing was left there";
	return tool_fail(err, "%s cannot be written: %s; %s", dest->name, g_strerror(errno),
			 way_out);
}

/* Until there is room, or it is time to look whether a signal has come. */
static void wait_for_room(const struct cp_dest *dest)
{
	struct pollfd pfd = { .fd = dest->fd, .events = POLLOUT };

	poll(&pfd, 1, 250);
}

gboolean cp_dest_write(struct cp_dest *dest, const void *data, gsize len, GError **err)
{
	for (gsize done = 0; done < len;) {
		ssize_t n = write(dest->fd, (const guint8 *)data + done, len - done);

		if (n >= 0) {
			done += (gsize)n;
			continue;
		}
		if (errno != EINTR && errno != EAGAIN)
			return write_failed(dest, err);
		if (cp_is_interrupted(dest->name, err))
			return FALSE;
		wait_for_room(dest);
	}
	return TRUE;
}

gboolean cp_dest_commit(struct cp_dest *dest, const struct cp_source *src, GError **err)
{
	int fd = dest->fd;

	if (dest->temp && fchmod(fd, src->stat.st_mode & 0777))
		return write_failed(dest, err);
	dest->fd = -1;
	/* Network file systems tell of a full disk only now. */
	if (close(fd))
		return write_failed(dest, err);
	if (dest->temp && rename(dest->temp, dest->path))
		return write_failed(dest, err);
	g_clear_pointer(&dest->temp, g_free);
	return TRUE;
}

void cp_dest_close(struct cp_dest *dest)
{
	if (dest->fd >= 0)
		close(dest->fd);
	if (dest->temp)
		unlink(dest->temp);
	g_free(dest->temp);
	g_free(dest->path);
	g_free(dest->name);
	*dest = (struct cp_dest){ .fd = -1 };
}
