/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What the channel drivers of al_cp and al_perf have in common: two ends, each an HCA with a port
 * and a protection domain, and connected queue pairs. The transfers themselves are in cp_rdma.c,
 * perf_rdma.c and perf_flow.c.
 */
#ifndef AL_TOOLS_PAIR_H
#define AL_TOOLS_PAIR_H

#include <glib.h>
#include <iba/ib_connect.h>

/* One end. The caller sets name, port_num and sl, or leaves them zero; pair_choose() and
 * pair_open() set the rest. */
struct pair_end {
	const char *name; /* the HCA to use, by GUID, description or index; NULL: any */
	guint8 port_num;  /* the port to use; 0: any active port; after pair_open() the port in use */
	guint8 sl;        /* service level of what this end sends; pair_choose() leaves it */
	guint64 guid;     /* of the HCA; set by pair_choose() */
	al_ca_h ca;
	al_pd_h pd;
	struct ib_ca_attr attr;
	struct ib_port_attr port; /* of the port at pair_open() */
	ib_gid gid;               /* the port's first GID */
	guint16 pkey;             /* the port's first P_Key */
};

/* How a queue pair is to be connected. */
struct pair_path {
	ib_qp_type type;   /* RC, UC or UD */
	guint32 qpn, peer_qpn; /* numbers of the queue pair and of its peer */
	guint32 access;    /* what the peer may do */
	guint32 qkey;      /* UD */
	guint8 rd_atomic;  /* reads and atomics outstanding, as requester and as responder */
	ib_mtu mtu;        /* 0: the smaller of the ports' */
	guint8 rnr_retry;  /* 7: for ever */
};

/* Returns TRUE for AL_SUCCESS. Else makes an error of the HCA, of what failed, and of the
 * status. */
gboolean pair_worked(al_status st, const struct pair_end *end, const char *what, GError **err);

/*
 * Chooses HCAs and ports: those that the user named; else the first active port for the near end,
 * and for the far end the first active port of another HCA, else the near end's port. If no active
 * port fits, pair_open() names the first port that is not active. An HCA or port that the user
 * named and that does not exist is an error of code TOOL_USAGE.
 */
gboolean pair_choose(al_h al, struct pair_end *near, struct pair_end *far, GError **err);

/* *seen: the process has an HCA of that GUID. */
gboolean pair_has_hca(al_h al, guint64 guid, gboolean *seen, GError **err);

/*
 * Opens the HCA, finds the port and allocates a protection domain. The caller calls pair_close()
 * also after a failure.
 */
gboolean pair_open(al_h al, struct pair_end *end, GError **err);
void pair_close(struct pair_end *end);

/*
 * Allocates memory to register: whole pages of zeros, which an agent's HCA reaches without copies.
 * The caller frees the memory before pair_close(). less: the options that make the memory smaller,
 * for the error message.
 */
void *pair_memory(const struct pair_end *end, guint64 bytes, guint64 *dma, const char *less, GError **err);
/* Says in err that there is no memory. */
void pair_no_memory(guint64 bytes, const char *less, GError **err);
void pair_free_memory(const struct pair_end *end, void *memory, guint64 bytes, guint64 dma);

/* Creates an address handle of the path from one end to the other; UD. */
gboolean pair_address(al_ah_h *ah, const struct pair_end *end, const struct pair_end *peer,
		      const struct pair_path *path, GError **err);

/* Moves a queue pair from Reset to RTS, connected to peer. A peer in another process is made by
 * meet_accept_card(). */
gboolean pair_connect(al_qp_h qp, const struct pair_end *end, const struct pair_end *peer, const struct pair_path *path,
		      GError **err);

/*
 * Arms one or two completion queues of the channel (NULL: none), and sleeps until one has a
 * completion or the descriptor fd (-1: none) has input, at most 250 ms. A completion since the
 * caller's last poll satisfies the arm, so none is missed; the limit is for a signal that comes
 * just before poll().
 */
gboolean pair_wait(al_channel_h channel, al_cq_h near, al_cq_h far, int fd, const struct pair_end *end, GError **err);

#endif
