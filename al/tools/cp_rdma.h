/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What al_cp's command line asks of the channel driver in cp_rdma.c, and what it tells afterwards. */
#ifndef AL_TOOLS_CP_RDMA_H
#define AL_TOOLS_CP_RDMA_H

#include "al/tools/cp_file.h"
#include "al/tools/pair.h"

/* The side of one HCA. */
struct cp_side {
	struct pair_end end; /* its name is the caller's */
	gboolean here;       /* it is this process's; else its counters are not known, but for what the other end tells */
	guint64 xmit_bytes, rcv_bytes; /* by how much its port's counters grew */
};

#define CP_CHUNK_MAX  (1u << 30)
#define CP_WINDOW_MAX 4096

struct cp_job {
	struct cp_source src;     /* far end only: what the other end says of it */
	struct cp_dest dest;
	const char *dest_path;
	struct cp_side near, far; /* where the file is read, and where it is written; one of them, or both, is here */
	int listener;             /* far end only: where the near end comes to (meet.h), */
	const char *meet_name;    /* under this name */
	gboolean any_user, quiet;
	int peer;                 /* the process of the other end; -1: not yet, or both are here */
	gsize chunk, window;      /* bytes of a slot, slots of a window; far end only: from the offer */
	gint64 flip;              /* for tests: offset of a byte to spoil in the far HCA's memory; -1: none */
	void (*progress)(const struct cp_job *job); /* called often */
	guint64 received;         /* bytes that are in the far end's hands */
	guint64 carried;          /* those of the file that go over the ports: all but its holes */
	gint64 start_us;          /* when the transfer began, monotonic */
	gint64 files_us;          /* time spent on files and digests, of it */
	double seconds;           /* time that the transfer took */
	char *sha256;             /* of the far HCA's memory; to be freed */
};

/* Copies, and checks digest and counters; then the destination has its name. */
gboolean cp_transfer(struct cp_job *job, GError **err);

#endif
