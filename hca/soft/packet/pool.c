/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Pools of packets by value: taking and giving back. payload_keep() fills packets of a pool (memory/payload.c). */
#include "hca/soft/packet/pool.h"

#include <iba/ib_hca.h>

#define ALIGNMENT 64

al_status pool_create(struct pool *pool, uint32_t packets, uint32_t payload)
{
	/* not al_alloc_aligned(), which writes to all of the memory */
	pool->mem = al_alloc(packets * (sizeof(*pool->packets) + payload) + ALIGNMENT);
	if (!pool->mem)
		return AL_INSUFFICIENT_MEMORY;
	pool->packets = (struct pooled *)(((uintptr_t)pool->mem + ALIGNMENT - 1) & ~(uintptr_t)(ALIGNMENT - 1));
	pool->payload = payload;
	pool->size = pool->left = packets;
	return AL_SUCCESS;
}

void pool_destroy(struct pool *pool)
{
	al_free(pool->mem);
	pool->mem = NULL;
	pool->free = NULL;
	pool->size = pool->left = pool->used = 0;
}

/* Returns a packet that was never used. */
static struct pooled *make_packet(struct pool *pool)
{
	struct pooled *p = &pool->packets[pool->used];

	p->pool = pool;
	p->data = (char *)(pool->packets + pool->size) + (size_t)pool->used * pool->payload;
	pool->used++;
	return p;
}

struct pooled *pool_take(struct pool *pool)
{
	struct pooled *p;

	fmutex_lock(&pool->lock);
	p = pool->free;
	if (p)
		pool->free = p->next;
	else if (pool->used < pool->size)
		p = make_packet(pool);
	if (p)
		pool->left--;
	fmutex_unlock(&pool->lock);
	return p;
}

void pool_home(struct runner *r, struct packet *pkt)
{
	struct pooled *p = (struct pooled *)pkt; /* pkt is the first member */
	struct pool *pool = p->pool;

	fmutex_lock(&pool->lock);
	p->next = pool->free;
	pool->free = p;
	pool->left++;
	if (p->held)
		--*p->held;
	p->held = NULL;
	fmutex_unlock(&pool->lock);
	if (pool->came_home)
		pool->came_home(r, pool);
}

bool pool_may_hold(struct pool *pool, const uint32_t *held)
{
	bool may;

	fmutex_lock(&pool->lock);
	may = *held < pool->left / 2;
	fmutex_unlock(&pool->lock);
	return may;
}

void pool_hold(struct pooled *p, uint32_t *held)
{
	fmutex_lock(&p->pool->lock);
	p->held = held;
	++*held;
	fmutex_unlock(&p->pool->lock);
}
