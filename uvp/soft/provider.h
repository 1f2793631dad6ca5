/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The software HCA's user-mode provider: polls and posts of a client of the agent are loads and stores in memory that it
 * shares with the module. How that memory is laid out, and who may do what when, is in hca/soft/shared/ring.h; this is the
 * client's side of it.
 */
#ifndef UVP_SOFT_PROVIDER_H
#define UVP_SOFT_PROVIDER_H

#include <iba/ib_uvp.h>

#include "hca/soft/shared/lock.h"
#include "hca/soft/shared/ring.h"

/* A file that is shared with the module: mapped here, and there when the request has crossed. */
struct shared {
	void *mem;
	size_t bytes;
	int fd; /* until it has crossed */
};

/* Objects: the plain struct first. */
struct provider_ca {
	struct ci_ca ca;
	struct shared door;
	int wake; /* eventfd of the module's thread */
	uint32_t gids, lmc;
};

struct provider_ah {
	struct ci_ah ah;
	struct fmutex lock;       /* guards path: modify and a post may meet. Leaf. */
	struct ib_flat_path path; /* without a Q_Key */
};

/* Entries of a completion queue. */
struct provider_wc {
	struct shared file; /* their part of it */
	uint32_t cqe, mask;
};

struct provider_cq {
	struct ci_cq cq;
	struct ring_cq *map;
	struct fmutex lock;   /* guards what follows: one consumer at a time */
	uint32_t cons;
	struct provider_wc wc;
	struct provider_wc next; /* while it is resized: the module may use these already */
	bool resizing;
	uint32_t in_vain;     /* polls since something was there */
	uint32_t notified;    /* prod at the last notification that was ours */
};

struct provider_qp {
	struct ci_qp qp;
	struct shared file;
	struct ring_layout layout;
	uint32_t bell;
	uint8_t port_num;     /* 0: none yet; guarded by sq_lock */
	struct fmutex sq_lock; /* guards posting sends */
	uint32_t sq_prod, sq_cons; /* sq_cons: as it was when we looked last */
	struct fmutex rq_lock; /* the same for receives. Inside sq_lock. */
	uint32_t rq_prod, rq_cons;
};

static inline struct ring_door *ca_door(const struct provider_ca *ca)
{
	return ca->door.mem;
}

static inline struct ring_qp *qp_map(const struct provider_qp *qp)
{
	return qp->file.mem;
}

/* A file of so many bytes, offered to the module with what is said; undone if the object is not to be. */
al_status share(struct shared *file, size_t bytes, struct uvp_call *call, const void *said, uint32_t length);
/* The request has crossed, with that outcome. */
void share_crossed(struct shared *file, al_status status);
void share_end(struct shared *file);

/* The module's thread is to look at the queue pair. */
void door_ring(const struct provider_ca *ca, uint32_t bell);

/* hooks, by file */
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
/* Takes out a queue pair's completions; none come any more. */
void cq_clean(struct ci_cq *cq, uint32_t qp_num);

al_status pre_create_qp(struct ci_qp *qp, struct ci_qp_init *init, struct uvp_call *call);
al_status post_create_qp(struct ci_qp *qp, struct ci_qp_init *init, al_status status, struct uvp_call *call);
void post_modify_qp(struct ci_qp *qp, const struct ib_qp_attr *attr, uint32_t mask, al_status status,
		    struct uvp_call *call);
void post_destroy_qp(struct ci_qp *qp, struct uvp_call *call);
al_status provider_post_send(struct ci_qp *qp, const struct ib_send_wr *wr, const struct ib_send_wr **bad);
al_status provider_post_recv(struct ci_qp *qp, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad);

#endif
