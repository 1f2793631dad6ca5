/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Multicast groups of an HCA (mcast.c): the queue pairs that are members of each group, and the
 * limits of the HCA. A group is a multicast GID with a multicast LID. How members get datagrams is
 * in link/multicast.c.
 */
#ifndef SOFT_MCAST_H
#define SOFT_MCAST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <iba/ib_hca.h>

#include "hca/soft/packet/pool.h"
#include "hca/soft/shared/lock.h"

#define MCAST_BUCKETS 256
/*
 * Copies of datagrams that an HCA's members may have at once, before they receive the datagrams. A member that is held
 * up, by copies into a client's memory, may have a third of them.
 */
#define MCAST_COPIES 4096

struct actor;
struct mcast_member;

/* A queue pair as the groups know the queue pair. A zeroed struct is in no group. */
struct mcast_qp {
	struct mcast_member *members; /* memberships of the queue pair; guarded by mcast.lock */
	struct actor *actor;
	uint32_t qpn;
	uint32_t copies; /* copies for the queue pair that are not at home; guarded by pool.lock */
	_Atomic uint8_t port; /* number of the queue pair's port; 0: the queue pair has no port */
	bool blocks_own;      /* the queue pair gets no copy of its own datagrams */
};

/* A membership. Guarded by mcast.lock. */
struct mcast_member {
	struct mcast_member *next;       /* next in the group, in the order of the attaches */
	struct mcast_member *next_of_qp; /* next of the queue pair */
	struct mcast_group *group;
	struct mcast_qp *qp;
};

/* A group with members. Guarded by mcast.lock. */
struct mcast_group {
	struct mcast_group *next; /* next in the bucket */
	ib_gid mgid;
	uint16_t mlid;
	uint32_t num; /* members */
	struct mcast_member *members;
};

struct mcast_limits {
	uint32_t groups;  /* groups of the HCA */
	uint32_t members; /* members of one group */
	uint32_t total;   /* members of all groups together */
};

struct mcast {
	struct fmutex lock;
	struct mcast_group *buckets[MCAST_BUCKETS];
	uint32_t groups, total; /* groups with members, and the members of all groups together */
	struct mcast_limits limits; /* constant */
	struct pool pool;           /* copies for members; made by the first attach */
};

/* True: a GID that names a group (IBTA 4.1.1), and a LID of multicast. */
static inline bool mcast_is_gid(const ib_gid *gid)
{
	return gid->raw[0] == 0xff;
}

static inline bool mcast_is_lid(uint16_t lid)
{
	return lid >= IB_LID_MULTICAST_FIRST && lid <= IB_LID_MULTICAST_LAST;
}

/* Makes a queue pair a member. A member stays one. AL_LIMIT_EXCEEDED, AL_INSUFFICIENT_MEMORY. */
al_status mcast_attach(struct mcast *m, struct mcast_qp *qp, const ib_gid *mgid, uint16_t mlid);
/* Ends a membership. AL_NOT_FOUND: the queue pair is no member. */
al_status mcast_detach(struct mcast *m, struct mcast_qp *qp, const ib_gid *mgid, uint16_t mlid);
/* Ends all memberships of a queue pair. */
void mcast_detach_all(struct mcast *m, struct mcast_qp *qp);
/* Returns the group. NULL: the group has no members. Under mcast.lock. */
struct mcast_group *mcast_find(const struct mcast *m, const ib_gid *mgid, uint16_t mlid);
/* True: a queue pair at the HCA's port with this number is a member. */
bool mcast_is_wanted(struct mcast *m, uint8_t port, const ib_gid *mgid, uint16_t mlid);
/* Frees what the groups have allocated. No queue pair is a member, and all copies are at home. */
void mcast_destroy(struct mcast *m);

#endif
