/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What the channel drivers of al_cp and al_perf have in common: two ends in one process, each an HCA with a port and a
 * protection domain, and queue pairs that are connected to each other. What is sent over them is in cp_rdma.c and
 * perf_rdma.c.
 */
#ifndef AL_TOOLS_PAIR_H
#define AL_TOOLS_PAIR_H

#include <glib.h>
#include <iba/ib_al.h>

/* One end. The caller fills in the first two, and zero is the ordinary choice. */
struct pair_end {
	const char *name; /* the HCA to use, by GUID or index; NULL: any */
	guint8 port_num;  /* the port to use, 0: any that is active; after pair_open() the one used */
	guint64 guid;     /* the HCA used; after pair_choose() */
	al_ca_h ca;
	al_pd_h pd;
	struct ib_ca_attr attr;
	struct ib_port_attr port; /* as it was at pair_open() */
	ib_gid gid;               /* the port's first; Ethernet only */
};

/* How a queue pair is to be connected. */
struct pair_path {
	ib_qp_type type;   /* RC, UC or UD */
	guint32 peer_qpn;  /* unused with UD */
	guint32 access;    /* what the peer may do */
	guint32 qkey;      /* UD */
	guint8 rd_atomic;  /* reads and atomics outstanding, as requester and as responder */
	ib_mtu mtu;        /* 0: the smaller of the ports' */
	guint8 rnr_retry;  /* 7: for ever */
};

/* TRUE with AL_SUCCESS; else an error that says what failed, where, and why. */
gboolean pair_worked(al_status st, const struct pair_end *end, const char *what, GError **err);

/*
 * Chooses HCAs and ports: those that the user named; else the first active port for the near end, and for the far end the
 * first active port of another HCA, else the near end's port. If no active port fits, pair_open() names the first port
 * that is not active. An HCA or port that the user named and that does not exist is an error of code TOOL_USAGE.
 */
gboolean pair_choose(al_h al, struct pair_end *near, struct pair_end *far, GError **err);

/* Is there an HCA of that GUID? */
gboolean pair_sees(al_h al, guint64 guid, gboolean *seen, GError **err);

/* Opens HCA, port and domain. After a failure too pair_close() ends it. */
gboolean pair_open(al_h al, struct pair_end *end, GError **err);
void pair_close(struct pair_end *end);

/*
 * Memory to register, of whole pages and zeroed, which an agent's HCA reaches without copies; freed before pair_close().
 * less: the options by which there would be less, for the sentence when there is not so much.
 */
void *pair_memory(const struct pair_end *end, guint64 bytes, guint64 *dma, const char *less, GError **err);
void pair_free_memory(const struct pair_end *end, void *memory, guint64 bytes, guint64 dma);

/* The address vector from one end to the other. */
struct ib_ah_attr pair_address(const struct pair_end *end, const struct pair_end *peer);

/* Reset, Init, RTR, RTS. Of a peer in another process its addresses suffice (meet.h). */
gboolean pair_connect(al_qp_h qp, const struct pair_end *end, const struct pair_end *peer, const struct pair_path *path,
		      GError **err);

/*
 * Sleeps until one of two completion queues on the channel (NULL: there is only one) has a completion, the descriptor
 * (-1: none) has something to say, or a quarter of a second. One that came between the last poll and the arm satisfies
 * the arm, so none is missed; the limit is for a signal before poll().
 */
gboolean pair_wait(al_channel_h channel, al_cq_h near, al_cq_h far, int fd, const struct pair_end *end, GError **err);

#endif
