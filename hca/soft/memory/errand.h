/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Errands: copies of payload from or to the memory of a client of the agent (errand.c). The client's own thread
 * copies by way of the errand's buffer and then kicks the queue pair. So no other thread waits for the client's
 * memory, which may be slow or never answer. Copies that need no client's thread are in payload.h.
 */
#ifndef SOFT_ERRAND_H
#define SOFT_ERRAND_H

#include <stdatomic.h>
#include <iba/ib_hca.h>

#include "hca/soft/memory/ledger.h"
#include "hca/soft/memory/mr.h"
#include "hca/soft/packet/packet.h"

struct actor;

enum errand_kind {
	ERRAND_GATHER,  /* copies the client's memory to the buffer */
	ERRAND_SCATTER, /* copies the buffer to the client's memory */
	/* executes an atomic on the client's memory; the buffer holds the request, then the original value */
	ERRAND_ATOMIC,
};

enum errand_state {
	ERRAND_RUNNING, /* the client's thread has not finished */
	ERRAND_DONE, /* the client's thread has finished; the queue pair frees the errand */
	ERRAND_ABANDONED, /* the queue pair has abandoned the errand; the client's thread frees the errand */
};

/* A range of the client's memory, and its place in the errand's buffer. */
struct errand_piece {
	uint64_t addr;   /* address in the client */
	uint32_t offset; /* place in errand.data */
	uint32_t length;
};

struct errand {
	struct ci_client_job job;    /* first member: the client's thread finds the errand by its job */
	struct actor *actor;         /* actor that the client's thread kicks when the errand is done */
	struct ci_client *client;    /* NULL: no piece is in a client's memory */
	struct errand_piece *pieces; /* in the same allocation, after data */
	/*
	 * gather: send element that the payload belongs to; compared, never read, since the element may be completed;
	 * or NULL
	 */
	const void *wqe;
	uint32_t psn;                /* gather: PSN of the packet that the payload is for */
	uint32_t length;             /* bytes of data */
	uint32_t num;                /* pieces in use */
	uint32_t entered;            /* bytes in the client's ledger */
	_Atomic uint32_t state;      /* enum errand_state */
	uint8_t kind;                /* enum errand_kind */
	bool succeeded;              /* ERRAND_DONE: the whole copy or atomic has succeeded */
	_Alignas(16) char data[];    /* the buffer */
};

/* Makes an errand with room for `pieces` pieces. NULL: no memory. The caller frees the errand unless it is started. */
struct errand *errand_new(struct actor *actor, enum errand_kind kind, uint32_t length, uint32_t pieces);
/*
 * Adds the bytes of a list, from byte `skip` on, to a new errand. The function itself copies memory that is not a
 * client's; a scatter's buffer must be full. False: a key is wrong, or the list is shorter than the errand's length.
 */
bool errand_add(struct errand *e, const struct mem_view *view, const struct ib_sge *sge, uint32_t num, uint64_t skip);
/*
 * Gives the errand to the client's thread. The queue pair keeps the errand at *place until errand_done() or
 * errand_abandon().
 */
void errand_start(struct errand **place, struct errand *e);
/* True: the client's thread has finished, and the caller may read `data` and `succeeded`, and frees the errand. */
static inline bool errand_done(const struct errand *e)
{
	/* acquire: pairs with the release in run_errand() */
	return atomic_load_explicit(&e->state, memory_order_acquire) == ERRAND_DONE;
}
/*
 * Abandons the errand at *place, which becomes NULL. The errand is freed now, or by the client's thread. *place may
 * be NULL.
 */
void errand_abandon(struct errand **place);

/* Frees an errand that is not started, or that is done. */
void errand_free(struct errand *e);
/* Gives a job to the client's thread, for which errands_wait() waits. */
void errand_run_job(struct ci_client *client, struct ci_client_job *job);

/*
 * Fetches a packet's payload from a list in a client's memory, as long as the client's ledger has
 * room. COPY_DONE: the packet has the payload by value, until errand_free_payload(). COPY_LATER:
 * the errand at *place is under way, or *wait waits for the ledger, and the caller calls again when
 * its actor is kicked. COPY_BAD_SOURCE: a key is wrong, or the client's memory can not be read.
 * COPY_NO_MEMORY.
 */
enum copy_result errand_fetch(struct actor *actor, struct errand **place, struct ledger_wait *wait,
			      struct packet *pkt, const struct mem_view *view,
			      const struct ib_sge *sge, uint32_t num, uint64_t skip);
/* Frees the payload of a packet with PKT_FETCHED. */
void errand_free_payload(struct packet *pkt);

/*
 * Waits until no client's thread is in the module. A client can delay this call without limit, so only the unloading
 * of the module calls this function.
 */
void errands_wait(void);

#endif
