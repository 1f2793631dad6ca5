/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See cp_meet.h. */
#include "al/tools/cp_meet.h"

#include <limits.h>
#include <string.h>

#include "al/tools/tool.h"

struct offer {
	guint64 size;
	guint64 dev, ino; /* so that a file is not copied onto itself */
	guint32 mode;
	guint32 chunk, window;
	struct meet_card card;
	char name[NAME_MAX + 1]; /* of the file, without directories */
};

struct outcome {
	guint64 rcv_bytes;
	char sha256[65]; /* hexadecimal */
	char pad[7];
};

gboolean cp_offer(const struct cp_job *job, guint32 qpn, GError **err)
{
	g_autofree char *name = g_path_get_basename(job->src.path);
	struct offer offer = {
		.size = job->src.size,
		.dev = job->src.stat.st_dev,
		.ino = job->src.stat.st_ino,
		.mode = job->src.stat.st_mode,
		.chunk = (guint32)job->chunk,
		.window = (guint32)job->window,
		.card = meet_card_of(&job->near.end, qpn),
	};

	g_strlcpy(offer.name, name, sizeof(offer.name)); /* no file's name is longer */
	return meet_tell(job->peer, &offer, sizeof(offer), err);
}

/* Is it the name of a file in a directory, and leads nowhere else? */
static gboolean is_name(const char name[NAME_MAX + 1])
{
	return memchr(name, '\0', NAME_MAX + 1) && *name && strcmp(name, ".") &&
	       strcmp(name, "..") && !strchr(name, '/');
}

gboolean cp_hear_offer(al_h al, struct cp_job *job, guint32 *qpn, GError **err)
{
	struct offer offer;

	if (!meet_hear(job->peer, &offer, sizeof(offer), err))
		return FALSE;
	if (!is_name(offer.name) || offer.size > G_MAXINT64 || !offer.chunk ||
	    offer.chunk > CP_CHUNK_MAX || !offer.window || offer.window > CP_WINDOW_MAX)
		return tool_fail(err, "the other end offers what cannot be: not copied");
	job->chunk = offer.chunk;
	job->window = offer.window;
	*qpn = offer.card.qpn;
	cp_source_described(&job->src, offer.name, offer.size);
	job->src.stat =
		(struct stat){ .st_dev = offer.dev, .st_ino = offer.ino, .st_mode = offer.mode };
	return meet_believe(al, &offer.card, &job->near.end, err);
}

gboolean cp_tell_place(const struct cp_job *job, guint32 qpn, guint64 addr, guint32 rkey,
		       GError **err)
{
	struct cp_place place = { meet_card_of(&job->far.end, qpn), addr, rkey, 0 };

	return meet_tell(job->peer, &place, sizeof(place), err);
}

gboolean cp_hear_place(al_h al, struct cp_job *job, struct cp_place *place, GError **err)
{
	return meet_hear(job->peer, place, sizeof(*place), err) &&
	       meet_believe(al, &place->card, &job->far.end, err);
}

gboolean cp_tell_outcome(const struct cp_job *job, GError **err)
{
	struct outcome outcome = { .rcv_bytes = job->far.rcv_bytes };

	g_strlcpy(outcome.sha256, job->sha256, sizeof(outcome.sha256));
	return meet_tell(job->peer, &outcome, sizeof(outcome), err);
}

gboolean cp_hear_outcome(struct cp_job *job, GError **err)
{
	struct outcome outcome;

	if (!meet_hear(job->peer, &outcome, sizeof(outcome), err))
		return FALSE;
	outcome.sha256[sizeof(outcome.sha256) - 1] = '\0';
	job->far.rcv_bytes = outcome.rcv_bytes;
	job->sha256 = g_strdup(outcome.sha256);
	return TRUE;
}
