/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * How a tool in one process finds the same tool in another process with the same agent. One process
 * listens under a name, the other connects. Both exchange records of a few hundred bytes; the data
 * goes by RDMA. A connection manager will do this for programs; for the two ends of a tool a socket
 * is enough.
 *
 * Names are those of abstract sockets, which the whole machine shares. Only processes of one user
 * are connected, unless both accept any user.
 */
#ifndef AL_TOOLS_MEET_H
#define AL_TOOLS_MEET_H

#include <glib.h>

#include "al/tools/pair.h"

#define MEET_PREFIX "agent:" /* begins the name of a far end on a command line */

/*
 * Returns a socket that listens under the name; -1, with an error. tool: the program; each program
 * has names of its own.
 */
int meet_listen(const char *tool, const char *name, GError **err);
/* Waits until a peer connects, and returns the connection; -1, with an error, after a signal or
 * when no HCA is left. */
int meet_accept(al_h al, int listener, const char *name, gboolean any_user, GError **err);
/* Connects to the process that listens under the name; -1, with an error. */
int meet_connect(const char *tool, const char *name, gboolean any_user, GError **err);

/* Sends a record. */
gboolean meet_send(int fd, const void *record, gsize size, GError **err);
/* Waits for a record of exactly this size. If the other end sends a failure, that is the error. */
gboolean meet_receive(int fd, void *record, gsize size, GError **err);
/* Sends an error: the other end's meet_receive() or meet_check_peer() fails with its text. */
void meet_send_failure(int fd, const GError *why);
/* TRUE: the other end has sent a record, or has gone. Waits at most so many milliseconds. */
gboolean meet_has_input(int fd, guint ms);
/* FALSE, with an error: the other end has sent a failure, or has gone. Does not wait, and receives
 * nothing. */
gboolean meet_check_peer(int fd, GError **err);

/* The attributes of an end that the other process needs to connect its queue pair. */
struct meet_card {
	guint64 guid;
	ib_gid gid;
	guint32 qpn;
	guint32 max_msg_size;
	guint16 link_layer;
	guint16 pkey;
	guint16 lid;
	guint8 port_num;
	guint8 mtu; /* ib_mtu */
};

struct meet_card meet_card_of(const struct pair_end *end, guint32 qpn);
/* Checks the other process's card, and makes an end of it that pair_connect() takes as a peer.
 * FALSE, with an error: this process does not have the card's HCA, or a value is out of range. */
gboolean meet_accept_card(al_h al, const struct meet_card *card, struct pair_end *end, GError **err);

#endif
