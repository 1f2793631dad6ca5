/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Errands: payload on its way from or to the memory of a client of the agent (errand.c). The client's own thread makes the
 * copy, by way of a buffer, and kicks the queue pair when it is done; so nobody else waits for what a client's memory is
 * backed by.
 */
#ifndef SOFT_ERRAND_H
#define SOFT_ERRAND_H

#include <stdatomic.h>
#include <iba/ib_hca.h>

#include "hca/soft/memory/mr.h"
#include "hca/soft/packet/packet.h"

struct actor;

enum errand_kind { ERRAND_GATHER, ERRAND_SCATTER, ERRAND_ATOMIC };
enum errand_state {
	ERRAND_RUNS,
	ERRAND_DONE,
	ERRAND_LEFT, /* nobody wants it any more: the client's thread frees it */
};

/* Where some of its bytes are in the client. */
struct errand_piece {
	uint64_t addr;
	uint32_t at, length; /* in data */
};

struct errand {
	struct ci_client_job job;  /* first */
	struct actor *actor;       /* whom it kicks */
	struct ci_client *client;
	struct errand_piece *pieces; /* behind data */
	const void *wqe;           /* gather: the send element whose payload it is, or was, until the packet is home; or NULL */
	uint32_t psn, length;      /* gather: of the packet that it is for */
	uint32_t num;              /* pieces */
	_Atomic uint32_t state;    /* enum errand_state */
	uint8_t kind;              /* enum errand_kind */
	bool good;                 /* done: all has been copied */
	_Alignas(16) char data[];
};

/* An errand that kicks the actor when it is done; NULL: no memory. */
struct errand *errand_new(struct actor *actor, enum errand_kind kind, uint32_t length, uint32_t pieces);
/*
 * From or to a list, skip bytes of which are passed over. Memory that is not a client's is copied now: what is scattered is
 * in data already. False: a key is wrong, or the list too short.
 */
bool errand_add(struct errand *e, const struct mem_view *view, const struct ib_sge *sge, uint32_t num, uint64_t skip);
/* Sends it off. *place is where the queue pair keeps it. */
void errand_start(struct errand **place, struct errand *e);
/* Is it back? */
static inline bool errand_done(const struct errand *e)
{
	/* acquire: what it has copied */
	return atomic_load_explicit(&e->state, memory_order_acquire) == ERRAND_DONE;
}
/* It is wanted no more; NULL there: nothing. */
void errand_leave(struct errand **place);

/*
 * The payload of a packet that is to be sent: COPY_DONE: it has it, by value; COPY_LATER: come again when kicked;
 * COPY_BAD_SOURCE: it is not to be had.
 */
enum copy_result errand_fetch(struct actor *actor, struct errand **place, struct packet *pkt, const struct mem_view *view,
			      const struct ib_sge *sge, uint32_t num, uint64_t skip);
/* A packet that has its payload so is home. */
void errand_home(struct packet *pkt);

/* Waits until no client's thread is in the module, for as long as clients like: before it is unloaded, and at no other time. */
void errands_wait(void);

#endif
