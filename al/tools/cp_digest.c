/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The digests of al_cp (cp_digest.h). libcrypto computes them, since it uses the processor's SHA
 * instructions; the threads and the queue of pieces are here.
 */
#include "al/tools/cp_digest.h"

#include <openssl/evp.h>
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
	GThread *thread;
	GMutex lock;         /* protects all below; the innermost lock */
	GCond moved;         /* any of them has changed */
	struct piece *queue; /* room elements, used in turn */
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

	g_mutex_lock(&digest->lock);
	stop = digest->stop;
	g_mutex_unlock(&digest->lock);
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

	g_mutex_lock(&digest->lock);
	while (digest->done == digest->added && !digest->complete && !digest->stop)
		g_cond_wait(&digest->moved, &digest->lock);
	found = digest->done < digest->added && !digest->stop;
	if (found)
		*piece = digest->queue[digest->done % digest->room];
	g_mutex_unlock(&digest->lock);
	return found;
}

static gboolean take_pieces(struct cp_digest *digest)
{
	struct piece piece;

	while (next_piece(digest, &piece)) {
		if (!hash(digest, &piece))
			return FALSE;
		g_mutex_lock(&digest->lock);
		digest->done++;
		digest->bytes += piece.len;
		g_cond_broadcast(&digest->moved);
		g_mutex_unlock(&digest->lock);
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

static gpointer run(gpointer data)
{
	struct cp_digest *digest = data;
	guint8 value[EVP_MAX_MD_SIZE];
	char *text = NULL;
	guint len;

	if (take_pieces(digest) && EVP_DigestFinal_ex(digest->sha, value, &len))
		text = hex(value, len);
	g_mutex_lock(&digest->lock);
	digest->text = text;
	digest->ended = TRUE;
	g_cond_broadcast(&digest->moved);
	g_mutex_unlock(&digest->lock);
	return NULL;
}

/* ------------------------------------------------------------- on the caller's */

/* The thread blocks all signals, so that each signal interrupts a system call of the main
 * thread. */
static GThread *start_thread(struct cp_digest *digest, GError **err)
{
	sigset_t all, before;
	GThread *thread;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	thread = g_thread_try_new("digest", run, digest, err);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return thread;
}

struct cp_digest *cp_digest_start(gsize room, GError **err)
{
	struct cp_digest *digest = g_new0(struct cp_digest, 1);
	g_autoptr(GError) why = NULL;

	g_mutex_init(&digest->lock);
	g_cond_init(&digest->moved);
	digest->room = room;
	digest->queue = g_new0(struct piece, room);
	digest->sha = EVP_MD_CTX_new();
	if (!digest->sha || !EVP_DigestInit_ex(digest->sha, EVP_sha256(), NULL)) {
		tool_fail(err, "libcrypto has no SHA-256: look at the configuration of OpenSSL");
	} else {
		digest->thread = start_thread(digest, &why);
		if (digest->thread)
			return digest;
		tool_fail(err, "no thread could be started for a digest: %s", why->message);
	}
	cp_digest_free(digest);
	return NULL;
}

void cp_digest_add(struct cp_digest *digest, const guint8 *data, gsize len)
{
	g_mutex_lock(&digest->lock);
	while (digest->added - digest->done == digest->room && !digest->ended)
		g_cond_wait(&digest->moved, &digest->lock);
	digest->queue[digest->added++ % digest->room] = (struct piece){ data, len };
	g_cond_broadcast(&digest->moved);
	g_mutex_unlock(&digest->lock);
}

guint64 cp_digest_pieces(struct cp_digest *digest)
{
	guint64 pieces;

	g_mutex_lock(&digest->lock);
	pieces = digest->done;
	g_mutex_unlock(&digest->lock);
	return pieces;
}

guint64 cp_digest_bytes(struct cp_digest *digest)
{
	guint64 bytes;

	g_mutex_lock(&digest->lock);
	bytes = digest->bytes;
	g_mutex_unlock(&digest->lock);
	return bytes;
}

void cp_digest_wait(struct cp_digest *digest, guint64 pieces)
{
	gint64 end = g_get_monotonic_time() + 250 * G_TIME_SPAN_MILLISECOND;

	g_mutex_lock(&digest->lock);
	while (digest->done <= pieces && !digest->ended)
		if (!g_cond_wait_until(&digest->moved, &digest->lock, end))
			break;
	g_mutex_unlock(&digest->lock);
}

const char *cp_digest_text(struct cp_digest *digest, GError **err)
{
	g_mutex_lock(&digest->lock);
	digest->complete = TRUE;
	g_cond_broadcast(&digest->moved);
	while (!digest->ended)
		g_cond_wait(&digest->moved, &digest->lock);
	g_mutex_unlock(&digest->lock);
	if (!digest->text)
		tool_fail(err, "libcrypto has failed to compute a SHA-256");
	return digest->text;
}

void cp_digest_free(struct cp_digest *digest)
{
	if (!digest)
		return;
	if (digest->thread) {
		g_mutex_lock(&digest->lock);
		digest->stop = TRUE;
		g_cond_broadcast(&digest->moved);
		g_mutex_unlock(&digest->lock);
		g_thread_join(digest->thread);
	}
	EVP_MD_CTX_free(digest->sha);
	g_mutex_clear(&digest->lock);
	g_cond_clear(&digest->moved);
	g_free(digest->queue);
	g_free(digest->text);
	g_free(digest);
}
