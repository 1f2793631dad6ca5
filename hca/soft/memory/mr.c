/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Memory regions and their keys, the check of every access, and copies between lists of pieces. A key is 24 bits of
 * index and 8 bits drawn anew for each region. A region's PD and permissions protect its memory, not the secrecy of
 * its key. Which payload is copied, and when, is in payload.c.
 */

#include "hca/soft/memory/mr.h"

#include <string.h>

#include "hca/soft/base/table.h"
#include "hca/soft/shared/base.h"
#include "hca/soft/shared/lock.h"

/* ------------------------------------------------------------------ region */

al_status memory_create(struct memory *memory, uint32_t max, uint32_t base, uint32_t random)
{
	atomic_store(&memory->key_seed, random);
	return table_create(&memory->keys, sizeof(struct mr_slot), max, base);
}

void memory_destroy(struct memory *memory)
{
	table_destroy(&memory->keys);
}

al_status mr_register(struct memory *memory, struct soft_mr *mr, const struct ci_mem *mem)
{
	struct mr_slot *slot;
	al_status status;
	uint32_t seed;
	void *elem;

	status = table_take(&memory->keys, &mr->number, &elem);
	if (status)
		return status;
	slot = elem;
	seed = atomic_fetch_add_explicit(&memory->key_seed, 0x9e3779b9u, memory_order_relaxed);
	slot->key = mr->number << 8 | (seed * 0x85ebca6bu) >> 24;
	slot->pd = mr->ci.pd;
	slot->addr = mem->addr;
	slot->iova = mem->access & IB_ACCESS_ZERO_BASED ? 0 : mem->iova;
	slot->length = mem->length;
	slot->access = mem->access;
	slot->client = mem->client;
	mr->slot = slot;
	/*
	 * Release: pairs with the acquire in mr_get(); publishes the fields above. An atomic OR and not a store,
	 * because mr_get() with a stale key may increment and decrement `users` at the same time.
	 */
	atomic_fetch_or_explicit(&slot->users, MR_LIVE, memory_order_release);
	mr->ci.lkey = slot->key;
	mr->ci.rkey = slot->key;
	IB_TRACE("soft", "register_mr: key=%#x length=%llu", slot->key,
		 (unsigned long long)mem->length);
	return AL_SUCCESS;
}

void mr_deregister(struct memory *memory, struct soft_mr *mr)
{
	struct mr_slot *slot = mr->slot;
	uint32_t users;

	/*
	 * Sequentially consistent, as the increment in mr_get() is: either this thread sees the copy in `users`, or
	 * the copy finds MR_LIVE cleared and is refused.
	 */
	users = atomic_fetch_and(&slot->users, ~MR_LIVE) & ~MR_LIVE;
	while (users) {
		futex_wait(&slot->users, users, NULL);
		users = atomic_load(&slot->users);
	}
	IB_TRACE("soft", "deregister_mr: key=%#x", slot->key);
	table_give(&memory->keys, mr->number);
}

struct mr_slot *mr_get(const struct mem_view *view, uint32_t key, uint64_t addr, uint64_t length,
		       char **mem)
{
	struct mr_slot *slot = table_find(&view->memory->keys, key >> 8);
	uint64_t offset;

	if (!slot)
		return NULL;
	if (!(atomic_fetch_add(&slot->users, 1) & MR_LIVE))
		goto refuse;
	offset = addr - slot->iova;
	/* An address below iova wraps to an offset beyond any length. No sum below can overflow. */
	if (slot->key != key || slot->pd != view->pd ||
	    (slot->access & view->access) != view->access || offset > slot->length ||
	    length > slot->length - offset)
		goto refuse;
	*mem = slot->addr + offset;
	return slot;

refuse:
	mr_put(slot);
	return NULL;
}

void mr_put(struct mr_slot *slot)
{
	/* release: pairs with the load of `users` in mr_deregister(); the copy's accesses end before */
	uint32_t users = atomic_fetch_sub_explicit(&slot->users, 1, memory_order_release);

	if (UNLIKELY(users == 1))
		futex_wake(&slot->users, INT32_MAX);
}

bool mr_check_sges(const struct mem_view *view, const struct ib_sge *sge, uint32_t num,
		   bool *client)
{
	struct mr_slot *slot;
	char *mem;

	for (; num; sge++, num--) {
		if (!sge->length)
			continue;
		slot = mr_get(view, sge->lkey, sge->addr, sge->length, &mem);
		if (!slot)
			return false;
		if (UNLIKELY(slot->client))
			*client = true;
		mr_put(slot);
	}
	return true;
}

/* ------------------------------------------------------------------ cursor */

/*
 * Enters the first piece with bytes after the first `skip` bytes of the list. False: the piece's key is wrong, or the
 * list has no such piece.
 */
static bool enter(struct cursor *c, uint64_t skip)
{
	const struct ib_sge *sge;

	if (c->slot)
		mr_put(c->slot);
	c->slot = NULL;
	while (c->num && c->sge->length <= skip) {
		skip -= c->sge->length;
		c->sge++;
		c->num--;
	}
	if (!c->num)
		return false;
	sge = c->sge++;
	c->num--;
	c->slot = mr_get(&c->view, sge->lkey, sge->addr, sge->length, &c->mem);
	if (!c->slot)
		return false;
	c->client = c->slot->client;
	c->mem += skip;
	c->room = sge->length - skip;
	return true;
}

bool cursor_sges(struct cursor *c, const struct mem_view *view, const struct ib_sge *sge,
		 uint32_t num, uint64_t skip)
{
	*c = (struct cursor){ .view = *view, .sge = sge, .num = num };
	return enter(c, skip);
}

bool cursor_range(struct cursor *c, const struct mem_view *view, uint64_t addr, uint64_t length,
		  uint32_t key)
{
	*c = (struct cursor){ .view = *view, .room = length };
	c->slot = mr_get(view, key, addr, length, &c->mem);
	c->client = c->slot ? c->slot->client : NULL;
	return c->slot;
}

void cursor_plain(struct cursor *c, void *mem, uint64_t length)
{
	*c = (struct cursor){ .mem = mem, .room = length };
}

void cursor_end(struct cursor *c)
{
	if (c->slot)
		mr_put(c->slot);
	c->slot = NULL;
}

enum copy_result cursor_copy(struct cursor *to, struct cursor *from, uint64_t length)
{
	uint64_t n;

	while (length) {
		if (!from->room && !enter(from, 0))
			return COPY_BAD_SOURCE;
		if (!to->room && !enter(to, 0))
			return COPY_BAD_TARGET;
		n = from->room < to->room ? from->room : to->room;
		n = n < length ? n : length;
		if (UNLIKELY(to->client || from->client))
			return to->client ? COPY_CLIENT : COPY_BAD_SOURCE;
		memmove(to->mem, from->mem, n); /* source and target may overlap in a message to the same process */
		from->mem += n;
		from->room -= n;
		to->mem += n;
		to->room -= n;
		length -= n;
	}
	return COPY_DONE;
}
