/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The memory that a client of the agent shares with the software HCA: its layout, and the protocol
 * between the client's provider (uvp/soft) and the module (client/ring_thread.c, client/ring_qp.c).
 * Both are built from this header, which has no code of either.
 *
 * Each opened HCA has a door, and each completion queue and queue pair has a file. The provider
 * makes these files, so that they are the client's memory, and seals them against shrinking. Module
 * and provider both map them. A poll or a post is loads and stores in the files. The only system
 * call of a post is the call that wakes a sleeping ring thread.
 *
 * WHO WRITES WHAT
 *
 * Every word has one writer, unless the word's comment names two. The module does not trust the
 * client: the module has its own producer and consumer indices, masks and bounds the client's
 * indices, and copies each entry once before the module checks the entry. A client that writes
 * wrong values damages only its own queues. The provider trusts the module.
 *
 * Indices count up for ever; the slot of an index is index & mask. A request has the same index in
 * the ring and in the module's own queue. A slot is in use until its request completes.
 *
 * SENDS AND THE DOOR
 *
 * The client fills slots, moves sq_prod (release), rings its queue pair's bell, and then reads
 * `asleep`. The ring thread sets `asleep` before it sleeps, and then reads all bells once more.
 * Each side stores and then loads the other side's word, both sequentially consistent (door_ring()
 * in the provider, rings_sleep() in the module). So one side sees the other's store.
 *
 * RECEIVES
 *
 * The client fills slots and moves rq_prod, without a bell. The module fetches receives when a
 * message finds no receive in the module's own queue. In the Error state the module must flush
 * receives although no message comes. So the client reads the state after its store of rq_prod, and
 * rings the bell in Error. The module stores the state and then reads rq_prod. All four accesses
 * are sequentially consistent (provider_post_recv(); ring_state() and ring_fill()).
 *
 * COMPLETIONS
 *
 * The module fills an entry and moves prod (release). The client copies the entry and moves cons
 * (release). The client owns the entries between cons and prod. So the client removes the
 * completions of a queue pair that ends or is reset.
 *
 * Moderation may delay a notification. The module then sets RING_HELD with the arm, and later takes
 * the arm. If completions in the queue satisfy the client's next arm, the client notifies at once,
 * and clears the arm with RING_HELD.
 *
 * A queue that is resized keeps its head, with all indices and arms, and gets a file with new
 * entries. The module writes the completions from moved_at on into the new entries, and sets
 * `moved` before the module moves prod. The client reads older completions from the old entries
 * until the client has copied them to the new entries. Then neither side uses the old entries.
 *
 * The client sets an arm in the head. The side that satisfies the arm clears the arm atomically:
 * the module when it adds a completion, the client when the queue holds a completion already. The
 * side that has cleared the arm notifies. Each side stores its word (arm, prod) and then loads the
 * other side's word, both sequentially consistent (count_completions() in the provider,
 * ring_cq_publish() in the module).
 */
#ifndef SOFT_RING_H
#define SOFT_RING_H

#include <iba/ib_flat_wr.h>
#include <iba/ib_hca.h>
#include <stdatomic.h>
#include <stddef.h>

#define RING_VERSION 3
#define RING_BELLS   4096 /* the most queue pairs with rings that a client can have */
#define RING_NAME    "ibal-soft" /* name of the files */
/* entries of the smallest completion queue: programs rely on more than one entry, as adapters have
 */
#define RING_LEAST_CQE 16

/* ------------------------------------------------------------------- the door */

/*
 * A door has a bit for each bell, and in `rung` a bit for each word of `bells` that is not 0. The client sets the
 * bell's bit and then the bit of `rung`. The module takes the bits of `rung` and then the bells' bits.
 */
struct ring_door {
	_Alignas(64) _Atomic uint64_t rung;
	_Alignas(64) _Atomic uint64_t bells[RING_BELLS / 64];
	/* set by the module; cleared by the module, or by a client before it wakes the thread */
	_Alignas(64) _Atomic uint32_t asleep;
};

/*
 * The request that opens an HCA, with the door's file, and the module's answer, with an eventfd that wakes the ring
 * thread.
 */
struct ring_open {
	uint32_t version;
	uint32_t zero;
};

struct ring_opened {
	uint32_t version;
	uint32_t gids; /* filled entries of each port's GID table; the provider checks paths by this number */
	uint32_t lmc;  /* LMC of each port; the provider checks paths by this number */
	uint32_t zero;
};

/* The request that creates a completion queue or queue pair, or resizes a completion queue, with the file. */
struct ring_make {
	uint64_t bytes;   /* bytes of the file */
	uint64_t context; /* queue pair: qp_context of its completions */
};

/* The answer to a request that creates a queue pair. */
struct ring_made {
	uint32_t bell;
	uint32_t zero;
};

/* ---------------------------------------------------------- completion queues */

/* The head of a completion queue, at the beginning of the queue's first file. */
struct ring_cq {
	_Alignas(64) _Atomic uint32_t prod; /* written by the module */
	_Atomic uint32_t notified;          /* written by the module: prod at the module's last notification */
	_Atomic uint32_t overflowed;        /* written by the module, after the last completion */
	/* written by the module: index of the first completion in the new entries */
	_Atomic uint32_t moved_at;
	_Alignas(64) _Atomic uint32_t cons; /* written by the client */
	_Alignas(64) _Atomic uint32_t arm;  /* written by both: al_arm, and RING_HELD */
	/* written by both: completions that satisfy the arm of arm_cq_n; 0: not armed */
	_Atomic uint32_t arm_n;
	/* set by the module: new entries are in use; the client clears it before a resize */
	_Atomic uint32_t moved;
};

#define RING_HELD 4u /* with an arm: a completion has satisfied the arm, and moderation delays the notification */
#define RING_CQ_HEAD 65536 /* bytes before the entries in the first file: whole pages of any page size, mostly unused */
_Static_assert(sizeof(struct ring_cq) <= 4096, "the head of a completion queue is one page");

_Static_assert(sizeof(struct ib_wc) == 64, "a completion is one cache line");

static inline uint32_t ring_slots(uint32_t n)
{
	uint32_t size = 1;

	while (size < n)
		size <<= 1;
	return size;
}

/* Returns the entries of a completion queue for which `asked` entries were asked. */
static inline uint32_t ring_cqe(uint32_t asked)
{
	return asked < RING_LEAST_CQE ? RING_LEAST_CQE : asked;
}

/*
 * Returns the slots of a completion queue of `cqe` entries: a power of two, with one slot more for the overflow's
 * completion.
 */
static inline uint32_t ring_cq_slots(uint32_t cqe)
{
	return ring_slots(cqe + 1);
}

/* Return the bytes of the entries, and the bytes of a first file, which has the head and the entries. */
static inline size_t ring_wc_bytes(uint32_t cqe)
{
	return (size_t)ring_cq_slots(cqe) * sizeof(struct ib_wc);
}

static inline size_t ring_cq_bytes(uint32_t cqe)
{
	return RING_CQ_HEAD + ring_wc_bytes(cqe);
}

/* ----------------------------------------------------------------- queue pairs */

/* A slot of a send or receive queue holds a flat work request (iba/ib_flat_wr.h), the tail behind the head. */
struct ring_qp {
	_Alignas(64) _Atomic uint32_t state; /* written by the module: ib_qp_state */
	/* written by the module: index of the oldest send that is not completed */
	_Alignas(64) _Atomic uint32_t sq_cons;
	/* written by the module: index of the oldest receive that is not completed */
	_Atomic uint32_t rq_cons;
	_Alignas(64) _Atomic uint32_t sq_prod; /* written by the client */
	_Alignas(64) _Atomic uint32_t rq_prod; /* written by the client */
	/* the slots of the send ring and of the receive ring follow: struct ring_layout */
};

struct ring_layout {
	uint32_t sq_mask, sq_stride;
	uint32_t rq_mask, rq_stride;
	size_t sq, rq, bytes;
};

static inline struct ring_layout ring_layout(const struct ib_qp_cap *cap)
{
	uint32_t sq = ring_slots(cap->max_send_wr), rq = ring_slots(cap->max_recv_wr);
	uint32_t data = cap->max_send_sge * (uint32_t)sizeof(struct ib_sge);
	struct ring_layout to = { .sq_mask = sq - 1, .rq_mask = rq - 1, .sq = sizeof(struct ring_qp) };

	if (data < cap->max_inline_data)
		data = (cap->max_inline_data + 15) & ~15u;
	to.sq_stride = (uint32_t)sizeof(struct ib_flat_send) + data;
	to.rq_stride = (uint32_t)(sizeof(struct ib_flat_recv) + cap->max_recv_sge * sizeof(struct ib_sge));
	to.rq = to.sq + (size_t)sq * to.sq_stride;
	to.bytes = to.rq + (size_t)rq * to.rq_stride;
	return to;
}

#endif
