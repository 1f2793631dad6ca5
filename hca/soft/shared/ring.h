/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What a client of the agent shares with the software HCA: the layout of its memory, and what its provider (uvp/soft)
 * and the module (rings.c, ring_qp.c) say to each other. Both are built from this header.
 *
 * Each opened HCA has a door, each completion queue and queue pair a file of its own, all made by the provider (so that
 * they are the client's memory), sealed against shrinking and mapped by both. A poll and a post are then loads and
 * stores here; the only system call of theirs is the one that wakes the module's thread when that sleeps.
 *
 * WHO WRITES WHAT
 *
 * Every word has one writer, but where it is said otherwise. The module believes nothing of what the client writes: it
 * has producer and consumer indices of its own, takes the client's as hints that are masked and bounded, and copies each
 * entry once before it looks at it. A client that lies spoils its own queues. The provider trusts the module.
 *
 * Indices count up for ever; the slot is index & mask. A slot of a send or receive queue has the number of the request's
 * place in the module's own queue. A request is in the queue until it completes, and so is its slot.
 *
 * SENDS AND THE DOOR
 *
 * The client fills slots, moves sq_prod (release), rings its queue pair's bell, and looks whether the module's thread
 * sleeps. That thread, before it sleeps, says so and looks at all bells once more. Each side stores, then loads what the
 * other stores, both sequentially consistent (door_ring() there, rings_sleep() here): one of the two sees the other's.
 *
 * RECEIVES
 *
 * The client fills slots and moves rq_prod; no bell. The module fetches them when a message finds no receive in its own
 * queue. In the Error state they are to be flushed without any message: the client looks at the state after its store,
 * and rings; the module moves to that state and then looks for receives, in the same total order (provider_post_recv()
 * there, ring_state() and ring_fill() here).
 *
 * COMPLETIONS
 *
 * The module fills an entry and moves prod (release); the client moves cons (release) when it has copied it. What is
 * removed when a queue pair ends or is reset, the client removes, as the owner of what is between cons and prod.
 *
 * The module may hold back a notification (moderation): it marks the arm, and later takes it as any. A client whose next arm
 * is satisfied by what is there tells at once, and the mark is gone with the arm.
 *
 * A queue that is resized keeps its head, with all indices and arms, and gets a file with new entries. The module puts the
 * completions from moved_at on into those, and tells so (moved) before it moves prod. The client reads older completions
 * from the old entries, in which they stay, until it has moved them itself; then nobody uses the old entries any more.
 *
 * An arm is a bit of the head that the client sets and that whoever satisfies it clears, atomically: the module when
 * it adds a completion, the client when there is one already. The one who has cleared it tells. Again each side stores
 * (arm, prod) and loads the other's, in total order: in count_completions() there, in ring_cq_publish() here.
 */
#ifndef SOFT_RING_H
#define SOFT_RING_H

#include <iba/ib_flat_wr.h>
#include <iba/ib_hca.h>
#include <stdatomic.h>
#include <stddef.h>

#define RING_VERSION 3
#define RING_BELLS   4096 /* queue pairs of a client that have rings, at most */
#define RING_NAME    "ibal-soft" /* of the files */
#define RING_LEAST_CQE 16 /* a completion queue has more than one entry, as adapters' do: programs have come to rely on it */

/* ------------------------------------------------------------------- the door */

/* A bell is a bit, and each word with a bit has one in `rung`: both set by the client, first the former, and taken by the
 * module, first the latter. */
struct ring_door {
	_Alignas(64) _Atomic uint64_t rung;
	_Alignas(64) _Atomic uint64_t bells[RING_BELLS / 64];
	_Alignas(64) _Atomic uint32_t asleep; /* set by the module; cleared by it, or by the client that is going to wake it */
};

/* Opening: to the module, with the door's file; and its answer, with an eventfd. */
struct ring_open {
	uint32_t version;
	uint32_t zero;
};

struct ring_opened {
	uint32_t version;
	uint32_t gids; /* entries of each port's table that are filled, */
	uint32_t lmc;  /* and each port's: what paths are checked against */
	uint32_t zero;
};

/* Creating a queue or queue pair, resizing a completion queue: to the module, with the file; and the answer for a queue pair. */
struct ring_make {
	uint64_t bytes;   /* of the file */
	uint64_t context; /* queue pair: what its completions say in qp_context */
};

struct ring_made {
	uint32_t bell;
	uint32_t zero;
};

/* ---------------------------------------------------------- completion queues */

/* At the beginning of the first file. */
struct ring_cq {
	_Alignas(64) _Atomic uint32_t prod; /* module's */
	_Atomic uint32_t notified;          /* the same: prod at its last notification */
	_Atomic uint32_t overflowed;        /* the same; set after the last completion */
	_Atomic uint32_t moved_at;          /* the same: prod when it last began with new entries */
	_Alignas(64) _Atomic uint32_t cons; /* client's */
	_Alignas(64) _Atomic uint32_t arm;  /* al_arm, and RING_HELD; both */
	_Atomic uint32_t arm_n;             /* the same: for so many; 0: not */
	_Atomic uint32_t moved;             /* new entries are in use: set by the module, cleared by the client before it asks */
};

#define RING_HELD 4u /* with an arm: it has been satisfied, and moderation holds back the notification */
#define RING_CQ_HEAD 65536 /* bytes before the entries in the first file: whole pages, of whatever size; one of them is used */
_Static_assert(sizeof(struct ring_cq) <= 4096, "the head of a completion queue is one page");

_Static_assert(sizeof(struct ib_wc) == 64, "a completion is one cache line");

static inline uint32_t ring_slots(uint32_t n)
{
	uint32_t size = 1;

	while (size < n)
		size <<= 1;
	return size;
}

/* Entries of a queue for which so many were asked. */
static inline uint32_t ring_cqe(uint32_t asked)
{
	return asked < RING_LEAST_CQE ? RING_LEAST_CQE : asked;
}

/* One more than cqe fit in, for an overflow's completion. */
static inline uint32_t ring_cq_slots(uint32_t cqe)
{
	return ring_slots(cqe + 1);
}

/* Of the entries; of a first file. */
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
	_Alignas(64) _Atomic uint32_t state; /* module's: ib_qp_state */
	_Alignas(64) _Atomic uint32_t sq_cons; /* the same: completed */
	_Atomic uint32_t rq_cons;
	_Alignas(64) _Atomic uint32_t sq_prod; /* client's */
	_Alignas(64) _Atomic uint32_t rq_prod; /* client's */
	/* send queue, receive queue */
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
