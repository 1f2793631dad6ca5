/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The digests of al_cp (cp_digest.h). libcrypto computes them, since it uses the processor's SHA
 * instructions; the threads and the queue of pieces are here.
 * The locks are not GLib's, whose order ThreadSanitizer does not see.
 */
#include "al/tools/cp_digest.h"

#include <openssl/evp.h>
#include <pthread.h>
#include <signal.h>

#include "al/tools/tool.h"

#define STEP (1u << 20) /* bytes between two looks at `stop` */

static const guint8 zeros[64u << 10];

struct piece {
	const guint8 *data; /* NULL: zeros */
	gsize len;
};

struct cp_digest {
	EVP_MD_CTX *sha; /* of the thread */
	pthread_t thread;
	gboolean started;     /* there is a thread to join */
	pthread_mutex_t lock; /* protects all below; the innermost lock */
	pthread_cond_t moved; /* any of them has changed;  */
	struct piece *queue;  /* room elements, used in turn */
	gsize room;
	guint64 added, done; /* pieces */
	guint64 bytes;       /* of the pieces that are done */
	gboolean complete;   /* no more pieces are added */
	gboolean stop;       /* the result is not wanted any more */
	gboolean ended;      /* the thread has set text */
	char *text;          /* NULL: stopped, or libcrypto has failed */
};

/* ------------------------------------------------------------- on its thread */

static gboolean is_stopped(struct cp_digest *digest)
{
	gboolean stop;

	pthread_mutex_lock(&digest->lock);
	stop = digest->stop;
	pthread_mutex_unlock(&digest->lock);
	return stop;
}

/* FALSE: the digest is not wanted any more, or libcrypto has failed. */
static gboolean hash(struct cp_digest *digest, const struct piece *piece)
{
	const gsize most = piece->data ? STEP : sizeof(zeros);

	for (gsize at = 0; at < piece->len; at += MIN(most, piece->len - at))
		if (is_stopped(digest) ||
		    !EVP_DigestUpdate(digest->sha, piece->data ? piece->data + at : zeros,
				      MIN(most, piece->len - at)))
			return FALSE;
	return TRUE;
}

/* Waits for the next piece. FALSE: no more pieces come. */
static gboolean next_piece(struct cp_digest *digest, struct piece *piece)
{
	gboolean found;

	pthread_mutex_lock(&digest->lock);
	while (digest->done == digest->added && !digest->complete && !digest->stop)
		pthread_cond_wait(&digest->moved, &digest->lock);
	found = digest->done < digest->added && !digest->stop;
	if (found)
		*piece = digest->queue[digest->done % digest->room];
	pthread_mutex_unlock(&digest->lock);
	return found;
}

static gboolean take_pieces(struct cp_digest *digest)
{
	struct piece piece;

	while (next_piece(digest, &piece)) {
		if (!hash(digest, &piece))
			return FALSE;
		pthread_mutex_lock(&digest->lock);
		digest->done++;
		digest->bytes += piece.len;
		pthread_cond_broadcast(&digest->moved);
		pthread_mutex_unlock(&digest->lock);
	}
	return TRUE;
}

static char *hex(const guint8 *bytes, guint count)
{
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < count; i++)
		g_string_append_printf(text, "%02x", bytes[i]);
	return g_string_free(text, FALSE);
}

static void *run(void *data)
{
	struct cp_digest *digest = data;
	guint8 value[EVP_MAX_MD_SIZE];
	char *text = NULL;
	guint len;

	if (take_pieces(digest) && EVP_DigestFinal_ex(digest->sha, value, &len))
		text = hex(value, len);
	pthread_mutex_lock(&digest->lock);
	digest->text = text;
	digest->ended = TRUE;
	pthread_cond_broadcast(&digest->moved);
	pthread_mutex_unlock(&digest->lock);
	return NULL;
}

/* ------------------------------------------------------------- on the caller's */

/* The thread blocks all signals, so that each signal interrupts a system call of the main thread.
 * Returns an errno. */
static int start_thread(struct cp_digest *digest)
{
	sigset_t all, before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&digest->thread, NULL, run, digest);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	digest->started = !error;
	return error;
}

struct cp_digest *cp_digest_start(gsize room, GError **err)
{
	struct cp_digest *digest = g_new0(struct cp_digest, 1);
	int error;

	pthread_mutex_init(&digest->lock, NULL);
	pthread_cond_init(&digest->moved, NULL);
	digest->room = room;
	digest->queue = g_new0(struct piece, room);
	digest->sha = EVP_MD_CTX_new();
	if (!digest->sha || !EVP_DigestInit_ex(digest->sha, EVP_sha256(), NULL)) {
		tool_fail(err, "libcrypto has no SHA-256: look at the configuration of OpenSSL");
	} else {
		error = start_thread(digest);
		if (!error)
			return digest;
		tool_fail(err, "no thread could be started for a digest: %s", g_strerror(error));
	}
	cp_digest_free(digest);
	return NULL;
}

void cp_digest_add(struct cp_digest *digest, const guint8 *data, gsize len)
{
	pthread_mutex_lock(&digest->lock);
	while (digest->added - digest->done == digest->room && !digest->ended)
		pthread_cond_wait(&digest->moved, &digest->lock);
	digest->queue[digest->added++ % digest->room] = (struct piece){ data, len };
	pthread_cond_broadcast(&digest->moved);
	pthread_mutex_unlock(&digest->lock);
}

guint64 cp_digest_pieces(struct cp_digest *digest)
{
	guint64 pieces;

	pthread_mutex_lock(&digest->lock);
	pieces = digest->done;
	pthread_mutex_unlock(&digest->lock);
	return pieces;
}

guint64 cp_digest_bytes(struct cp_digest *digest)
{
	guint64 bytes;

	pthread_mutex_lock(&digest->lock);
	bytes = digest->bytes;
	pthread_mutex_unlock(&digest->lock);
	return bytes;
}

void cp_digest_wait(struct cp_digest *digest, guint64 pieces)
{
	gint64 end = g_get_monotonic_time() + 250 * G_TIME_SPAN_MILLISECOND;
	const struct timespec until = { .tv_sec = end / G_USEC_PER_SEC,
					.tv_nsec = end % G_USEC_PER_SEC * 1000 };

	pthread_mutex_lock(&digest->lock);
	while (digest->done <= pieces && !digest->ended)
		if (pthread_cond_clockwait(&digest->moved, &digest->lock, CLOCK_MONOTONIC, &until))
			break;
	pthread_mutex_unlock(&digest->lock);
}

const char *cp_digest_text(struct cp_digest *digest, GError **err)
{
	pthread_mutex_lock(&digest->lock);
	digest->complete = TRUE;
	pthread_cond_broadcast(&digest->moved);
	while (!digest->ended)
		pthread_cond_wait(&digest->moved, &digest->lock);
	pthread_mutex_unlock(&digest->lock);
	if (!digest->text)
		tool_fail(err, "libcrypto has failed to compute a SHA-256");
	return digest->text;
}

void cp_digest_free(struct cp_digest *digest)
{
	if (!digest)
		return;
	if (digest->started) {
		pthread_mutex_lock(&digest->lock);
		digest->stop = TRUE;
		pthread_cond_broadcast(&digest->moved);
		pthread_mutex_unlock(&digest->lock);
		pthread_join(digest->thread, NULL);
	}
	EVP_MD_CTX_free(digest->sha);
	pthread_mutex_destroy(&digest->lock);
	pthread_cond_destroy(&digest->moved);
	g_free(digest->queue);
	g_free(digest->text);
	g_free(digest);
}
