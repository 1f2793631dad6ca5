/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * How a tool in one process finds the same tool in another, whose HCAs are those of the same agent: one listens under a
 * name, the other comes and tells what it wants. What they say to each other are records of a few hundred bytes; the data
 * goes by RDMA. A connection manager will do this for programs; two ends of a tool need no more than a socket.
 *
 * The name is one of the machine's (an abstract socket). Only processes of the same user meet, unless both say that any
 * will do.
 */
#ifndef AL_TOOLS_MEET_H
#define AL_TOOLS_MEET_H

#include <glib.h>

#include "al/tools/pair.h"

#define MEET_PREFIX "agent:" /* what a far end is called on a command line */

/* Each returns a descriptor, or -1 and an error. tool: the program, whose names are its own. */
int meet_listen(const char *tool, const char *name, GError **err);
/* Waits for somebody to come, as long as there are HCAs. */
int meet_accept(al_h al, int listener, const char *name, gboolean any_user, GError **err);
int meet_come(const char *tool, const char *name, gboolean any_user, GError **err);

gboolean meet_tell(int fd, const void *record, gsize size, GError **err);
/* Waits for a record of just this size. What the other end failed of, if it did, is the error. */
gboolean meet_hear(int fd, void *record, gsize size, GError **err);
/* Tells why nothing comes of it. */
void meet_tell_failure(int fd, const GError *why);
/* There is something to hear, if only that the other end has gone; waits so many milliseconds for it. */
gboolean meet_has_said(int fd, guint ms);
/* FALSE, and an error: the other end has failed, or has gone. Does not wait. */
gboolean meet_is_there(int fd, GError **err);

/* What the other process must know of an end to connect to it. */
struct meet_card {
	guint64 guid;
	ib_gid gid;
	guint32 qpn;
	guint32 max_msg_size;
	guint32 link_layer;
	guint16 lid;
	guint8 port_num;
	guint8 mtu; /* ib_mtu */
};

struct meet_card meet_card_of(const struct pair_end *end, guint32 qpn);
/* Makes an end of it that is only good to be connected to. FALSE: it is of no HCA that we see, or not to be believed. */
gboolean meet_believe(al_h al, const struct meet_card *card, struct pair_end *end, GError **err);

#endif
