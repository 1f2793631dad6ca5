/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The records between the two ends of a copy (cp_meet.h): packing, sending, receiving, checking. */
#include "al/tools/cp_meet.h"

#include <limits.h>
#include <string.h>

#include "al/tools/tool.h"

struct offer {
	guint64 size;
	guint64 dev, ino; /* of the file, by which the far end refuses to copy a file onto itself */
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

gboolean cp_send_offer(const struct cp_job *job, guint32 qpn, GError **err)
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

	g_strlcpy(offer.name, name, sizeof(offer.name)); /* never cut off: NAME_MAX is the longest name */
	return meet_send(job->peer, &offer, sizeof(offer), err);
}

/* True: the name is that of a file, without a path, so that a peer can not choose another
 * directory. */
static gboolean is_name(const char name[NAME_MAX + 1])
{
	return memchr(name, '\0', NAME_MAX + 1) && *name && strcmp(name, ".") &&
	       strcmp(name, "..") && !strchr(name, '/');
}

gboolean cp_receive_offer(al_h al, struct cp_job *job, guint32 *qpn, GError **err)
{
	struct offer offer;

	if (!meet_receive(job->peer, &offer, sizeof(offer), err))
		return FALSE;
	if (!is_name(offer.name) || offer.size > G_MAXINT64 || !offer.chunk ||
	    offer.chunk > CP_CHUNK_MAX || !offer.window || offer.window > CP_WINDOW_MAX)
		return tool_fail(err, "the other end's offer has a name or sizes that are not possible: the file was not copied");
	job->chunk = offer.chunk;
	job->window = offer.window;
	*qpn = offer.card.qpn;
	cp_source_described(&job->src, offer.name, offer.size);
	job->src.stat =
		(struct stat){ .st_dev = offer.dev, .st_ino = offer.ino, .st_mode = offer.mode };
	return meet_accept_card(al, &offer.card, &job->near.end, err);
}

gboolean cp_send_place(const struct cp_job *job, guint32 qpn, guint64 addr, guint32 rkey,
		       GError **err)
{
	struct cp_place place = { meet_card_of(&job->far.end, qpn), addr, rkey, 0 };

	return meet_send(job->peer, &place, sizeof(place), err);
}

gboolean cp_receive_place(al_h al, struct cp_job *job, struct cp_place *place, GError **err)
{
	return meet_receive(job->peer, place, sizeof(*place), err) &&
	       meet_accept_card(al, &place->card, &job->far.end, err);
}

gboolean cp_send_outcome(const struct cp_job *job, GError **err)
{
	struct outcome outcome = { .rcv_bytes = job->far.rcv_bytes };

	g_strlcpy(outcome.sha256, job->sha256, sizeof(outcome.sha256));
	return meet_send(job->peer, &outcome, sizeof(outcome), err);
}

gboolean cp_receive_outcome(struct cp_job *job, GError **err)
{
	struct outcome outcome;

	if (!meet_receive(job->peer, &outcome, sizeof(outcome), err))
		return FALSE;
	outcome.sha256[sizeof(outcome.sha256) - 1] = '\0';
	job->far.rcv_bytes = outcome.rcv_bytes;
	job->sha256 = g_strdup(outcome.sha256);
	return TRUE;
}
