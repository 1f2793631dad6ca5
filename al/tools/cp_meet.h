/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What the two ends of a copy tell each other when they are two processes, before and after the transfer:
 *
 *     near end                                       far end
 *     offer: the file, chunk and window, its end ->  opens the destination and its end, connects
 *     connects, transfers                         <- place: its end, and where its ring is
 *                                                 <- outcome: what it has received, once the file has its name
 */
#ifndef AL_TOOLS_CP_MEET_H
#define AL_TOOLS_CP_MEET_H

#include "al/tools/cp_rdma.h"
#include "al/tools/meet.h"

/* Where the near end is to write to. */
struct cp_place {
	struct meet_card card;
	guint64 addr;
	guint32 rkey;
	guint32 pad;
};

/* Each side's ends are those of the job. qpn: of this process's end; *qpn of the other's. */
gboolean cp_offer(const struct cp_job *job, guint32 qpn, GError **err);
/* Fills in what the job is about, and the near end. */
gboolean cp_hear_offer(al_h al, struct cp_job *job, guint32 *qpn, GError **err);
gboolean cp_tell_place(const struct cp_job *job, guint32 qpn, guint64 addr, guint32 rkey, GError **err);
/* Fills in the far end. */
gboolean cp_hear_place(al_h al, struct cp_job *job, struct cp_place *place, GError **err);
gboolean cp_tell_outcome(const struct cp_job *job, GError **err);
gboolean cp_hear_outcome(struct cp_job *job, GError **err);

#endif
