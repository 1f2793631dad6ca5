/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The software HCA's user-mode provider, in the process of a client of the agent: polls and posts are loads and stores
 * in memory that the client shares with the module. The layout of the shared memory and its rules are in
 * hca/soft/shared/ring.h. The HCA, its bells and address handles are in provider.c, completion queues in cq.c, queue
 * pairs in qp.c.
 */
#ifndef UVP_SOFT_PROVIDER_H
#define UVP_SOFT_PROVIDER_H

#include <iba/ib_uvp.h>

#include "hca/soft/shared/lock.h"
#include "hca/soft/shared/ring.h"

/* A file of memory that the client shares with the module. Each side has a mapping of its own. */
struct shared {
	void *mem;    /* the client's mapping */
	size_t bytes; /* of the file */
	int fd;       /* of the file until share_crossed(); then -1 */
};

/* The provider's data of each object, behind the library's. */
struct provider_ca {
	struct ci_ca ca;
	struct shared door;    /* struct ring_door */
	int wake;              /* eventfd that wakes the module's thread */
	uint32_t gids, lmc;    /* of each port: GIDs in the table, LMC */
};

struct provider_ah {
	struct ci_ah ah;
	struct fmutex lock;       /* guards path against al_modify_ah() beside a post. Leaf. */
	struct ib_flat_path path; /* the Q_Key is the request's */
};

/* Entries of a completion queue: a ring. */
struct provider_wc {
	struct shared file; /* mem and bytes are the entries, without the head of a first file (struct ring_cq) */
	uint32_t cqe;       /* entries that the application may use */
	uint32_t mask;      /* slots, less one */
};

struct provider_cq {
	struct ci_cq cq;
	struct ring_cq *map;     /* the head of the first file */
	struct fmutex lock;      /* guards the fields below: a queue has one consumer at a time */
	uint32_t cons;           /* index of the oldest completion that is not polled */
	struct provider_wc wc;   /* the entries; while resizing, the old entries */
	struct provider_wc next; /* while resizing: the new entries, which the module uses once ring_cq.moved is set */
	bool resizing;           /* between the hooks of al_resize_cq() */
	uint32_t empty_polls;    /* polls without a completion since the last completion */
	uint32_t notified;       /* prod at the last notification by this provider */
};

struct provider_qp {
	struct ci_qp qp;
	struct shared file;        /* struct ring_qp and both queues */
	struct ring_layout layout; /* where the queues are in the file */
	uint32_t bell;             /* number of the queue pair's bell in the HCA's door */
	uint8_t port_num;          /* of the state INIT; 0: not set yet. Guarded by sq_lock. */
	struct fmutex sq_lock;     /* guards port_num, sq_prod and sq_cons */
	uint32_t sq_prod, sq_cons; /* sq_cons: the module's index when it was last read */
	struct fmutex rq_lock;     /* guards rq_prod and rq_cons. Inside sq_lock. */
	uint32_t rq_prod, rq_cons; /* rq_cons: the module's index when it was last read */
};

static inline struct ring_door *ca_door(const struct provider_ca *ca)
{
	return ca->door.mem;
}

static inline struct ring_qp *qp_map(const struct provider_qp *qp)
{
	return qp->file.mem;
}

/*
 * In a pre-hook: makes and maps a file of so many bytes, and puts its descriptor and the request for the module into
 * the call. The post-hook calls share_crossed() in every case. After a failure nothing is left.
 */
al_status share(struct shared *file, size_t bytes, struct uvp_call *call, const void *request, uint32_t length);
/* In the post-hook: closes the descriptor; unmaps the file too if the status is not AL_SUCCESS. */
void share_crossed(struct shared *file, al_status status);
/* Unmaps the file. */
void share_end(struct shared *file);

/* Sets a queue pair's bell, after which the module's thread looks at the queue pair; wakes that thread if it sleeps. */
void door_ring(const struct provider_ca *ca, uint32_t bell);

/* Hooks and functions of cq.c. */
al_status pre_create_cq(struct ci_cq *cq, struct ci_cq_init *init, struct uvp_call *call);
al_status post_create_cq(struct ci_cq *cq, struct ci_cq_init *init, al_status status, struct uvp_call *call);
void post_destroy_cq(struct ci_cq *cq, struct uvp_call *call);
al_status pre_resize_cq(struct ci_cq *cq, uint32_t *cqe, struct uvp_call *call);
void post_resize_cq(struct ci_cq *cq, uint32_t *cqe, al_status status, struct uvp_call *call);
void post_query_cq(struct ci_cq *cq, struct al_cq_attr *attr, al_status status, struct uvp_call *call);
al_status provider_poll_cq(struct ci_cq *cq, uint32_t num, struct ib_wc *wc, uint32_t *count);
al_status provider_arm_cq(struct ci_cq *cq, al_arm type, bool *present);
al_status provider_arm_cq_n(struct ci_cq *cq, uint32_t num);
al_status provider_peek_cq(struct ci_cq *cq, uint32_t max, uint32_t *count);
/* Removes the completions of a queue pair that is destroyed or reset: the module adds no more of them. */
void cq_clean(struct ci_cq *cq, uint32_t qp_num);

/* Hooks and functions of qp.c. */
al_status pre_create_qp(struct ci_qp *qp, struct ci_qp_init *init, struct uvp_call *call);
al_status post_create_qp(struct ci_qp *qp, struct ci_qp_init *init, al_status status, struct uvp_call *call);
void post_modify_qp(struct ci_qp *qp, const struct ib_qp_attr *attr, uint32_t mask, al_status status,
		    struct uvp_call *call);
void post_destroy_qp(struct ci_qp *qp, struct uvp_call *call);
al_status provider_post_send(struct ci_qp *qp, const struct ib_send_wr *wr, const struct ib_send_wr **bad);
al_status provider_post_recv(struct ci_qp *qp, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad);

#endif
