/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The records that the two ends of a copy exchange if they are two processes, before and after the transfer:
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

/* The far end's ring, which the near end writes to. */
struct cp_place {
	struct meet_card card;
	guint64 addr;
	guint32 rkey;
	guint32 pad;
};

/* Called by the near end. Sends the offer. qpn: number of this end's queue pair. */
gboolean cp_send_offer(const struct cp_job *job, guint32 qpn, GError **err);
/*
 * Called by the far end. Receives the offer into job's source, chunk, window and near end; *qpn:
 * number of the near end's queue pair.
 */
gboolean cp_receive_offer(al_h al, struct cp_job *job, guint32 *qpn, GError **err);
gboolean cp_send_place(const struct cp_job *job, guint32 qpn, guint64 addr, guint32 rkey, GError **err);
/* Called by the near end. Receives the place, and fills in job's far end. */
gboolean cp_receive_place(al_h al, struct cp_job *job, struct cp_place *place, GError **err);
gboolean cp_send_outcome(const struct cp_job *job, GError **err);
gboolean cp_receive_outcome(struct cp_job *job, GError **err);

#endif
