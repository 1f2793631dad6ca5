/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The module's side of the memory that it shares with clients of the agent: who has opened the HCA with a provider, and
 * the thread that answers their bells (rings.c); their queues (ring_qp.c). What is shared is in ring.h.
 */
#ifndef SOFT_RINGS_H
#define SOFT_RINGS_H

#include <pthread.h>

#include "hca/soft/shared/lock.h"
#include "hca/soft/shared/ring.h"

struct engine;
struct soft_cq;
struct soft_hca;
struct runner;
struct soft_qp;

/* A client that has opened the HCA with a provider. */
struct opening {
	struct opening *next;
	const struct ci_client *client;
	struct ring_door *door;
	int wake; /* eventfd: the client wakes our thread by it */
	/* guarded by rings.lock */
	uint64_t due;                        /* words of pending that are not 0 */
	uint64_t pending[RING_BELLS / 64];   /* bells taken and not yet answered */
	uint32_t turn;                       /* bell after the one answered last */
	uint32_t last_bell;                  /* given out */
	struct soft_qp **qps[RING_BELLS / 64]; /* by bell, 64 at a time */
};

/* Of an HCA. Lock order: life, lock, then all others of the HCA. */
struct rings {
	struct fmutex life;    /* guards the thread's start and end */
	struct fmutex lock;    /* guards the openings and what they hold; the thread has it while it serves one */
	_Atomic uint32_t want; /* others that want the lock: the thread lets them go first */
	struct opening *first, **last; /* the next one to serve is the first */
	_Atomic uint32_t openings;
	_Atomic bool stop;
	pthread_t thread;
	int epoll, control;    /* control: eventfd, wakes the thread */
};

/* Makes hca->rings. AL_INSUFFICIENT_MEMORY. */
al_status rings_create(struct soft_hca *hca);
void rings_destroy(struct soft_hca *hca);
/* progress = manual: serves each client once, in place of the thread; false: there was nothing to do. */
bool rings_step(struct engine *engine);
/* Operations of struct ci_interface. */
al_status rings_open(struct ci_ca *ca, void **um_ctx, struct ci_udata *udata);
void rings_close(struct ci_ca *ca, void *um_ctx);

/* Maps a file that came with a request, if it is one that can not shrink and has so many bytes. */
al_status rings_map(const struct ci_udata *udata, size_t bytes, void **mem);
/* A bell for a queue pair of the client's; its shared part is there. */
al_status rings_give_bell(struct soft_qp *qp, const struct ci_client *client);
/* Did a provider say something with the request? */
static inline bool rings_asked(const struct ci_udata *udata)
{
	return udata && udata->in_len;
}

/* ring_qp.c: a queue pair's, in an allocation of its own. */
struct shared_qp {
	struct ring_qp *map;
	char *sq, *rq;
	struct ring_layout layout;
	struct opening *opening;
	uint32_t bell;
	bool dead[2];         /* send, receive queue: holds what is no request, guarded by its lock */
	bool untold[2];        /* the same: and nobody has been told since */
	uint64_t bad_wr_id[2]; /* the same: of that */
};

al_status ring_cq_create(struct soft_cq *cq, struct ci_udata *udata);
/* Maps the entries of a queue that gets another size. */
al_status ring_cq_map(const struct ci_udata *udata, uint32_t cqe, struct ib_wc **ring);
/* From the next completion on the new entries are used. Under the queue's lock. */
void ring_cq_moved(struct soft_cq *cq);
/* True: an arm had been held back, and is the caller's to notify. Under the queue's lock. */
bool ring_cq_release(struct soft_cq *cq);
/* The entries have been unmapped. */
void ring_cq_destroy(struct soft_cq *cq);
/* How far the client says it has consumed. */
static inline uint32_t ring_cq_cons(const struct ring_cq *map)
{
	/* acquire: pairs with the provider's release; what it has copied may be written over */
	return atomic_load_explicit(&map->cons, memory_order_acquire);
}
/* A completion has been put in: it is published, and satisfies what is armed, or does not. Under the queue's lock. */
bool ring_cq_told(struct soft_cq *cq, al_arm kind);

al_status ring_qp_create(struct soft_qp *qp, struct ci_udata *udata);
/* Its bell is no longer answered. */
void ring_qp_detach(struct soft_qp *qp);
void ring_qp_destroy(struct soft_qp *qp);
/* Takes up to max requests out of the ring and executes them; *taken: so many. True: there are more. */
bool ring_take_sends(struct soft_qp *qp, uint32_t max, uint32_t *taken);
/* All that has been posted until now is the queue pair's. */
void ring_catch_up(struct soft_qp *qp);
/* Moves receives into its own queue, as far as there is room and at most max; false: there was none. Context: any. */
bool ring_fill(struct soft_qp *qp, uint32_t max);
#define RING_FILL 64 /* receives that a message fetches when it needs one */
/* Its owner hears that a ring holds what is no request: the queue pair ends, unless it has been reset since. */
void ring_failed(struct runner *r, struct soft_qp *qp, bool recv);
/* What the client is to see. */
void ring_state(struct soft_qp *qp, ib_qp_state state);
void ring_emptied(struct soft_qp *qp);
void ring_retired(struct soft_qp *qp, uint32_t sq_cons);
void ring_received(struct soft_qp *qp, uint32_t rq_cons);

#endif
