/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The digest of one end of al_cp: a SHA-256 that a thread of its own computes while the copy goes
 * on, piece by piece in the order in which the pieces are handed over.
 */
#ifndef AL_TOOLS_CP_DIGEST_H
#define AL_TOOLS_CP_DIGEST_H

#include <glib.h>

struct cp_digest;

/* Starts the thread. room: the most pieces that may wait for it. NULL: *err says why not. */
struct cp_digest *cp_digest_start(gsize room, GError **err);

/* Hands over the next piece, whose data must stay until cp_digest_pieces() counts the piece; NULL:
 * len zeros. Waits for room. */
void cp_digest_add(struct cp_digest *digest, const guint8 *data, gsize len);

/* The pieces that are in the digest, and their bytes. */
guint64 cp_digest_pieces(struct cp_digest *digest);
guint64 cp_digest_bytes(struct cp_digest *digest);

/* Waits until more than `pieces` are in the digest, at most 250 ms: then the caller looks whether a
 * signal has come. */
void cp_digest_wait(struct cp_digest *digest, guint64 pieces);

/*
 * Waits until all pieces are in the digest. Returns the SHA-256 as hexadecimal text, which belongs
 * to the digest; NULL: *err says why there is none. After the call no piece may be added.
 */
const char *cp_digest_text(struct cp_digest *digest, GError **err);

/* Ends the thread, early if pieces are left. NULL is allowed. */
void cp_digest_free(struct cp_digest *digest);

#endif
