/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The files of al_cp (cp_file.h). The source is read, not mapped: a mapped file that shrinks kills
 * the process by SIGBUS, while a read that returns too few bytes is an error with a message.
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

#define DIGEST_STEP (256u << 10) /* bytes read at a time: they stay in a processor's cache */
#define DUBIOUS     (64u << 10) /* an st_size up to so many bytes may be wrong */
#define ZEROS       (64u << 10) /* written at a time, for a hole in a destination without holes */

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
					 " bytes are left; copy it when no process writes to it",
					 src->name, offset + done, src->size);
		done += (gsize)n;
	}
	return TRUE;
}

guint64 cp_source_extent(struct cp_source *src, guint64 offset, gboolean *hole)
{
	struct stat now;
	off_t data, end;

	*hole = FALSE;
	if (offset < src->data_end)
		return src->data_end - offset;
	src->data_end = src->size; /* also if the file system does not support SEEK_DATA */
	data = lseek(src->fd, (off_t)offset, SEEK_DATA);
	if (data < 0 && errno == ENXIO && !fstat(src->fd, &now) && now.st_size >= (off_t)src->size)
		data = (off_t)src->size; /* a hole up to the end, since the file has not become shorter */
	if (data < 0)
		return src->data_end - offset;
	if (data > (off_t)offset) {
		*hole = TRUE;
		src->data_end = offset;
		return MIN((guint64)data, src->size) - offset;
	}
	end = lseek(src->fd, (off_t)offset, SEEK_HOLE);
	if (end > (off_t)offset)
		src->data_end = MIN((guint64)end, src->size);
	return src->data_end - offset;
}

/* The SHA-256 of the file as it is now, which the caller frees. */
static char *digest_again(struct cp_source *src, GError **err)
{
	guint8 *buf = g_malloc(DIGEST_STEP);
	struct cp_digest *digest = cp_digest_start(1, err);
	guint64 at = 0;
	char *text = NULL;

	for (guint64 pieces = 0; digest && at < src->size; pieces++) {
		gsize len = (gsize)MIN(DIGEST_STEP, src->size - at);

		if (cp_is_interrupted(src->name, err) ||
		    !cp_source_read(src, at, buf, len, err))
			break;
		cp_digest_add(digest, buf, len);
		while (cp_digest_pieces(digest) == pieces)
			cp_digest_wait(digest, pieces);
		at += len;
	}
	if (digest && at == src->size)
		text = g_strdup(cp_digest_text(digest, err));
	cp_digest_free(digest);
	g_free(buf);
	return text;
}

gboolean cp_source_check(struct cp_source *src, const char *sha256, GError **err)
{
	g_autofree char *now = NULL;
	struct stat st;

	if (!fstat(src->fd, &st) && !memcmp(&st.st_mtim, &src->written, sizeof(st.st_mtim)))
		return TRUE;
	now = digest_again(src, err);
	if (!now)
		return FALSE;
	return !strcmp(now, sha256) ||
	       tool_fail(err,
			 "%s changed while it was copied: copy it when no process writes to it",
			 src->name);
}

void cp_source_described(struct cp_source *src, const char *name, guint64 size)
{
	*src = (struct cp_source){ .path = g_strdup(name),
				   .name = g_filename_display_name(name),
				   .size = size,
				   .fd = -1 };
}

/* Reads from the file's position on, until buf is full or the source ends. */
static gboolean read_on(struct cp_source *src, guint8 *buf, gsize size, gsize *len, GError **err)
{
	ssize_t n = 1;

	for (*len = 0; *len < size && n; *len += (gsize)MAX(n, 0)) {
		n = read(src->fd, buf + *len, size - *len);
		if (cp_is_interrupted(src->name, err))
			return FALSE;
		if (n < 0 && errno != EINTR)
			return tool_fail(err, "%s cannot be read: %s", src->name,
					 g_strerror(errno));
	}
	return TRUE;
}

/* Copies the bytes in buf, and then the rest of the source, into a file without a name. */
static gboolean read_to_end(struct cp_source *src, struct cp_dest *copy, guint8 *buf, gsize len,
			    GError **err)
{
	src->size = 0;
	while (len) {
		if (!cp_dest_write(copy, buf, len, err))
			return FALSE;
		src->size += len;
		if (!read_on(src, buf, DIGEST_STEP, &len, err))
			return FALSE;
	}
	return TRUE;
}

/*
 * Files of /proc and /sys have no blocks, an st_size of 0 or of a page that says nothing of their
 * length, and other bytes at each reading. So al_cp reads such a file once, and copies the bytes of
 * that reading.
 */
static gboolean copy_if_dubious(struct cp_source *src, GError **err)
{
	struct cp_dest copy = { .name = (char *)"a temporary copy of it" };
	g_autofree guint8 *buf = NULL;
	gboolean good;
	FILE *file;
	gsize len;

	if (src->stat.st_blocks || src->stat.st_size > DUBIOUS)
		return TRUE;
	buf = g_malloc(DIGEST_STEP); /* more than DUBIOUS */
	if (!read_on(src, buf, DIGEST_STEP, &len, err))
		return FALSE;
	if (len == (guint64)src->stat.st_size)
		return TRUE;
	file = tmpfile();
	if (!file)
		return tool_fail(err, "there is no room for a temporary copy of %s: %s", src->name,
				 g_strerror(errno));
	copy.fd = fileno(file);
	good = read_to_end(src, &copy, buf, len, err);
	if (good && dup3(copy.fd, src->fd, O_CLOEXEC) < 0)
		good = tool_fail(err, "%s cannot be opened: %s", src->name, g_strerror(errno));
	fclose(file);
	return good;
}

gboolean cp_source_open(struct cp_source *src, const char *path, GError **err)
{
	struct stat now;

	cp_source_described(src, path, 0);
	/* Without O_NONBLOCK the open() of a pipe without a writer would block, before the checks
	 * below refuse the pipe. */
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
	if (!copy_if_dubious(src, err))
		goto failed;
	if (!fstat(src->fd, &now)) {
		src->written = now.st_mtim;
		return TRUE;
	}
	tool_fail(err, "%s cannot be opened: %s", src->name, g_strerror(errno));
failed:
	cp_source_close(src);
	return FALSE;
}

void cp_source_close(struct cp_source *src)
{
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

/* The file to write: behind links, and in a directory a file with the source's name. The caller
 * frees the path. */
static char *resolve(const char *path, const char *source)
{
	g_autofree char *base = g_path_get_basename(source);
	g_autofree char *in_it = g_build_filename(path, base, NULL);
	const char *place = g_file_test(path, G_FILE_TEST_IS_DIR) ? in_it : path;
	char *real = realpath(place, NULL), *copy = g_strdup(real ? real : place);

	free(real);
	return copy;
}

/* True: the path is a link to a file that does not exist. Only such a link is left after
 * resolve(). */
static gboolean leads_nowhere(const char *path)
{
	struct stat st;

	return !lstat(path, &st) && S_ISLNK(st.st_mode);
}

/* Waits 50 ms: no event tells that a pipe has got a reader. FALSE: the other end has gone, or a
 * signal has come. */
static gboolean wait_for_reader(const struct cp_dest *dest, int peer, GError **err)
{
	struct pollfd pfd = { .fd = peer, .events = POLLIN };

	if (poll(&pfd, 1, 50) > 0)
		return tool_fail(err, "no process has opened %s for reading before the other end went", dest->name);
	return !cp_is_interrupted(dest->name, err);
}

/*
 * Opens a device or a pipe, which al_cp writes to and does not replace by a file. O_NONBLOCK:
 * neither the open() nor a write() blocks, so that a signal ends the wait.
 */
static gboolean open_in_place(struct cp_dest *dest, const char *path, gboolean is_pipe, int peer,
			      gboolean quiet, GError **err)
{
	gboolean waiting_shown = quiet;

	while ((dest->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)) < 0 &&
	       errno == ENXIO && is_pipe) { /* ENXIO: the pipe has no reader */
		if (!waiting_shown)
			fprintf(stderr, "al_cp: waiting until somebody reads %s\n", dest->name);
		waiting_shown = TRUE;
		if (!wait_for_reader(dest, peer, err))
			return FALSE;
	}
	return dest->fd >= 0 ||
	       tool_fail(err, "%s cannot be written to: %s", dest->name, g_strerror(errno));
}

static gboolean open_beside(struct cp_dest *dest, const char *path, GError **err)
{
	g_autofree char *dir = g_path_get_dirname(path), *shown = g_filename_display_name(dir);

	dest->path = g_strdup(path);
	/* Not the name of DEST with a suffix, which would be too long beside a name of maximum
	 * length. */
	dest->temp = g_build_filename(dir, ".al_cp.XXXXXX", NULL);
	dest->fd = g_mkstemp_full(dest->temp, O_WRONLY | O_CLOEXEC, 0600);
	if (dest->fd >= 0)
		return TRUE;
	g_clear_pointer(&dest->temp, g_free);
	return tool_fail(
		err, "%s cannot be made, since no file can be made in %s: %s; choose another place",
		dest->name, shown, g_strerror(errno));
}

gboolean cp_dest_open(struct cp_dest *dest, const char *path, const struct cp_source *src, int peer,
		      gboolean quiet, GError **err)
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
	else if (!there && leads_nowhere(real))
		opened = tool_fail(
			err, "%s is a link that leads nowhere: make what it names, or remove it",
			dest->name);
	else if (there && !S_ISREG(st.st_mode))
		opened = open_in_place(dest, real, S_ISFIFO(st.st_mode), peer, quiet, err);
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

/* Waits until the destination has room, at most 250 ms: then the caller looks whether a signal has
 * come. */
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

gboolean cp_dest_skip(struct cp_dest *dest, gsize len, GError **err)
{
	static const guint8 zeros[ZEROS];

	if (dest->temp) {
		dest->has_holes = TRUE;
		return lseek(dest->fd, (off_t)len, SEEK_CUR) >= 0 || write_failed(dest, err);
	}
	for (; len; len -= MIN(len, ZEROS))
		if (!cp_dest_write(dest, zeros, MIN(len, ZEROS), err))
			return FALSE;
	return TRUE;
}

gboolean cp_dest_commit(struct cp_dest *dest, const struct cp_source *src, GError **err)
{
	int fd = dest->fd;

	if (dest->has_holes && ftruncate(fd, lseek(fd, 0, SEEK_CUR)))
		return write_failed(dest, err);
	if (dest->temp && fchmod(fd, src->stat.st_mode & 0777))
		return write_failed(dest, err);
	dest->fd = -1;
	/* A network file system may report a full disk only at close(). */
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
