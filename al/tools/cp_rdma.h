/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A copy: what al_cp's command line asks for, and the results of the transfer in cp_rdma.c. */
#ifndef AL_TOOLS_CP_RDMA_H
#define AL_TOOLS_CP_RDMA_H

#include "al/tools/cp_file.h"
#include "al/tools/pair.h"

/* One side of the copy: an HCA and its port. */
struct cp_side {
	struct pair_end end; /* end.name is the caller's */
	gboolean here;       /* the side is in this process; else only the counters are known that the other end
			      * reports */
	guint64 xmit_bytes, rcv_bytes; /* growth of the port's counters during the transfer */
};

#define CP_CHUNK_MAX  (1u << 30)
#define CP_WINDOW_MAX 4096

struct cp_job {
	struct cp_source src;     /* at a far end: as the near end's offer describes it */
	struct cp_dest dest;
	const char *dest_path;
	struct cp_side near, far; /* near reads the file, far writes the copy; one side or both are in this process */
	int listener;             /* at a far end: the socket to which the near end connects (meet.h) */
	const char *meet_name;    /* the name of that socket; NULL: both sides are in this process */
	gboolean any_user, quiet;
	int peer;                 /* connection to the other end's process; -1: none yet, or both sides are in this
				   * process */
	gsize chunk, window;      /* bytes of a slot, slots of a window; at a far end: from the offer */
	gint64 flip;              /* for tests: offset of a byte to spoil in the far HCA's memory; -1: none */
	void (*progress)(const struct cp_job *job); /* called after each round of completions */
	guint64 received;         /* bytes of the file that the far end has taken, with its holes */
	guint64 checked;          /* bytes of the file that have arrived and are in the digests of this process's ends */
	gboolean compared;        /* the digests and the counters are compared, and the destination has its name */
	guint64 carried;          /* bytes of the file that have gone over the ports: all but its holes */
	gint64 start_us;          /* begin of the transfer, monotonic clock */
	gint64 files_us;          /* the part of the transfer's time in which its main thread read and wrote files, and waited for digests */
	double seconds;           /* duration of the transfer */
	char *sha256;             /* of the far HCA's memory; the caller frees it */
};

/* Copies the file, checks digest and counters, and then gives the destination its name. After a
 * failure there is no destination. */
gboolean cp_transfer(struct cp_job *job, GError **err);

#endif
