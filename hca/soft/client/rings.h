/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The module's side of the memory that the module shares with clients of the agent: the clients
 * that have opened the HCA (rings.c), the ring threads, which answer their bells (ring_thread.c),
 * and the clients' queues (ring_qp.c). shared/ring.h has the layout of that memory.
 */
#ifndef SOFT_RINGS_H
#define SOFT_RINGS_H

#include "hca/soft/shared/lock.h"
#include "hca/soft/shared/ring.h"

struct soft_cq;
struct soft_hca;
struct ring_thread;
struct runner;
struct soft_qp;

/* A client that has opened the HCA with a provider. */
struct opening {
	struct opening *next_of_hca; /* guarded by rings.lock */
	const struct soft_hca *hca;
	const struct ci_client *client;
	struct ring_door *door;
	int wake; /* eventfd by which the client wakes the ring thread */
	/* guarded by the lock of the HCA's ring thread, to the end of the struct */
	struct opening *next,
		*prev; /* of the thread's awake or parked clients; prev: of the parked ones */
	bool parked;
	uint64_t worked_ns;                  /* when a bell of the client's was last answered */
	uint64_t due;                        /* a bit for each word of `pending` that is not 0 */
	uint64_t pending[RING_BELLS / 64];   /* bells that are taken from the door and not answered */
	uint32_t turn;                       /* bell after the bell that was answered last */
	uint32_t last_bell;                  /* bell that was assigned last */
	struct soft_qp **qps[RING_BELLS / 64]; /* queue pairs by bell, in blocks of 64 that are allocated on demand */
};

/* The clients of an HCA. Lock order: rings.lock, the lock of a ring thread, then all other locks of
 * the HCA. */
struct rings {
	struct fmutex lock;
	struct opening *first;
	uint32_t bells; /* bells that are assigned, of all clients */
	/* NULL: no bell is assigned */
	struct ring_thread *_Atomic thread;
};

/* Makes hca->rings. AL_INSUFFICIENT_MEMORY. */
al_status rings_create(struct soft_hca *hca);
void rings_destroy(struct soft_hca *hca);
/* Manual progress: gives each client of the HCA's ring thread one turn. False: no bell was pending.
 */
bool rings_step(struct soft_hca *hca);
/* Operations of struct ci_interface. */
al_status rings_open(struct ci_ca *ca, void **um_ctx, struct ci_udata *udata);
void rings_close(struct ci_ca *ca, void *um_ctx);

/* Maps the file of a request. AL_INVALID_PARAMETER: the file can shrink, or has not exactly `bytes` bytes. */
al_status rings_map(const struct ci_udata *udata, size_t bytes, void **mem);
/*
 * Assigns a bell of the client's to a queue pair with qp->shared, and sees to it that a ring
 * thread runs. AL_LIMIT_EXCEEDED: the client has no free bell. AL_INSUFFICIENT_RESOURCES: there is
 * no thread to be had.
 */
al_status rings_give_bell(struct soft_qp *qp, const struct ci_client *client);
/* True: a provider has sent data with the request, and so asks for shared memory. */
static inline bool rings_asked(const struct ci_udata *udata)
{
	return udata && udata->in_len;
}

/* The module's data of a queue pair that is shared with a client (ring_qp.c). */
struct shared_qp {
	struct ring_qp *map;       /* the head of the file */
	char *sq, *rq;             /* slots of the send ring, of the receive ring */
	struct ring_layout layout;
	struct opening *opening;
	uint32_t bell;
	/* By ring: 0 send, 1 receive; each element is guarded by the lock of its queue. */
	bool stopped[2];       /* the ring holds a malformed request; the module takes no requests until a Reset */
	bool report_due[2];    /* the queue pair's owner has not yet reported the malformed request */
	uint64_t bad_wr_id[2]; /* wr_id of the malformed request */
};

/* Maps the file of a shared completion queue. */
al_status ring_cq_create(struct soft_cq *cq, struct ci_udata *udata);
/* Maps the file with the new entries of a completion queue that is resized. */
al_status ring_cq_map(const struct ci_udata *udata, uint32_t cqe, struct ib_wc **ring);
/* Tells the client that completions from cq->prod on are in the new entries. The caller holds cq->lock. */
void ring_cq_moved(struct soft_cq *cq);
/* Takes an arm that moderation holds back. True: the caller must notify. The caller holds cq->lock. */
bool ring_cq_release(struct soft_cq *cq);
/* Unmaps the head. The caller has unmapped the entries. */
void ring_cq_destroy(struct soft_cq *cq);
/* Returns the client's consumer index, which the client can set to any value. */
static inline uint32_t ring_cq_cons(const struct ring_cq *map)
{
	/*
	 * acquire: pairs with the provider's release, before which the client has copied the entries that may now be
	 * reused
	 */
	return atomic_load_explicit(&map->cons, memory_order_acquire);
}
/*
 * Publishes the newest completion, and takes the arms that `kind` satisfies. True: the caller must notify. The caller
 * holds cq->lock.
 */
bool ring_cq_publish(struct soft_cq *cq, al_arm kind);

/* Maps the file of a shared queue pair and assigns a bell. Without a provider's data the queue pair is not shared. */
al_status ring_qp_create(struct soft_qp *qp, struct ci_udata *udata);
/* Takes the queue pair's bell back. The ring thread does not touch the queue pair any more. */
void ring_qp_detach(struct soft_qp *qp);
void ring_qp_destroy(struct soft_qp *qp);
/*
 * Moves up to `max` requests from the send ring to the send queue, *taken in number, and executes them. True: the
 * ring holds more requests.
 */
bool ring_take_sends(struct soft_qp *qp, uint32_t max, uint32_t *taken);
/* Moves all requests that the client has posted until now to the send queue. */
void ring_catch_up(struct soft_qp *qp);
/* Moves up to `max` receives from the receive ring to the receive queue. False: no receive was moved. Context: any. */
bool ring_fill(struct soft_qp *qp, uint32_t max);
#define RING_FILL 64 /* receives that a message fetches when the receive queue is empty */
/*
 * Moves the queue pair to Error after SIGNAL_BAD_SEND or SIGNAL_BAD_RECV, unless a Reset has emptied the ring since.
 * The caller owns the queue pair's actor.
 */
void ring_failed(struct runner *r, struct soft_qp *qp, bool recv);
/* Publishes the queue pair's state to the client. */
void ring_state(struct soft_qp *qp, ib_qp_state state);
/* Publishes that a Reset has emptied both queues. The caller holds the locks of both queues. */
void ring_emptied(struct soft_qp *qp);
/* Publishes the consumer index of the send queue, so that the client can reuse slots. */
void ring_retired(struct soft_qp *qp, uint32_t sq_cons);
/* Publishes the consumer index of the receive queue. */
void ring_received(struct soft_qp *qp, uint32_t rq_cons);

#endif
