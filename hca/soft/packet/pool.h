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

struct pooled {
	struct packet pkt;    /* first; its home is NULL */
	struct pool *pool;
	char *data;           /* room for the payload of one packet */
	struct pooled *next;  /* on a list of the pool, or of whoever has taken the packet */
	/* for whoever has taken the packet: */
	struct soft_port *from; /* port that the packet leaves */
	enum flow_index flow;
	uint64_t due;         /* number in the flow, or time, at which the packet goes on */
};

struct pool {
	struct fmutex lock;   /* guards free and left */
	struct pooled *free;
	uint32_t left;        /* packets in free */
	uint32_t size;        /* packets of the pool */
	void *mem;            /* one allocation */
	/* A packet has come home; NULL: nobody is told. */
	void (*came_home)(struct runner *r, struct pool *pool);
};

/* payload: bytes that each packet has room for. AL_INSUFFICIENT_MEMORY. A zeroed pool is an empty one. */
al_status pool_create(struct pool *pool, uint32_t packets, uint32_t payload);
/* All packets are at home. */
void pool_destroy(struct pool *pool);
/* A packet with room for its payload; NULL: none is left. */
struct pooled *pool_take(struct pool *pool);
/* The packet, one of a pool, is consumed. */
void pool_home(struct runner *r, struct packet *pkt);

#endif
