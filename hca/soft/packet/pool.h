/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Pools of packets by value (pool.c): packets that are kept, that come in from a wire, or that lie in a link's queue.
 * Such a packet has its payload in the pool, refers to nothing of its sender's, and goes home to its pool.
 */
#ifndef SOFT_POOL_H
#define SOFT_POOL_H

#include "hca/soft/packet/packet.h"
#include "hca/soft/shared/lock.h"

struct pool;
struct runner;
struct soft_port;
struct source;

struct pooled {
	struct packet pkt;    /* first member; pkt.home is NULL */
	struct pool *pool;
	char *data;           /* room for the payload of one packet */
	struct pooled *next;  /* next on the pool's list, or on a list of the packet's taker */
	uint32_t *held;       /* count that pool_hold() has raised; NULL: none */
	/* the fields below are for the packet's taker only */
	uint32_t wire_bytes; /* bytes of the packet on an InfiniBand wire, LRH and CRCs included */
	struct soft_port *from; /* port that the packet leaves by */
	const struct source *source; /* source whose packet a fault keeps */
	enum flow_index flow;
	uint64_t due;         /* number in the flow, or time, at which the packet is sent */
	uint64_t since;       /* time at which the packet has come to an output */
	uint64_t number; /* number of the packet among those that have left by a switch's port */
	void *to;             /* where the packet arrives at that time */
};

struct pool {
	struct fmutex lock;     /* guards free, left and used */
	struct pooled *free;    /* packets that have come home; those are used first, so that little memory is touched */
	uint32_t left;          /* packets in free, and packets that were never used */
	uint32_t used;          /* packets that were used at least once: the first ones of `packets` */
	uint32_t size;          /* packets of the pool */
	uint32_t payload;       /* bytes that each packet has room for */
	struct pooled *packets; /* all packets; their payload follows */
	void *mem;              /* the allocation of both */
	/*
	 * Called after a packet has come home. r: runner of pool_home(), may be NULL. NULL: the pool's owner needs no
	 * call.
	 */
	void (*came_home)(struct runner *r, struct pool *pool);
};

/*
 * Makes a pool. payload: bytes that each packet has room for. A zeroed pool has no packets. Packets that are never
 * used cost address space and no memory. AL_INSUFFICIENT_MEMORY.
 */
al_status pool_create(struct pool *pool, uint32_t packets, uint32_t payload);
/* Frees a pool whose packets are all at home. */
void pool_destroy(struct pool *pool);
/* Takes a packet out of the pool. NULL: the pool is empty. */
struct pooled *pool_take(struct pool *pool);
/* Gives a packet back to its pool. r may be NULL. */
void pool_home(struct runner *r, struct packet *pkt);

/*
 * Holders share a pool fairly: a holder has *held packets of the pool, and may have one more while
 * *held is less than half of the packets that are left. So a holder that never gives packets back
 * leaves a third of the pool to the others.
 */
bool pool_may_hold(struct pool *pool, const uint32_t *held);
/* Counts a packet in *held until the packet is at home. *held lives until then, and is guarded by
 * the pool's lock. */
void pool_hold(struct pooled *p, uint32_t *held);

#endif
