/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Memory regions and their keys, the check of every access, and copies between lists of pieces. A key is 24 bits of
 * index and 8 bits drawn anew for each region. A region's PD and permissions protect its memory, not the secrecy of
 * its key. Which payload is copied, and when, is in payload.c.
 */

#include "hca/soft/memory/mr.h"

#include <string.h>

#include "hca/soft/base/reading.h"
#include "hca/soft/base/table.h"
#include "hca/soft/shared/base.h"

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
	mr->revoked = false;
	/*
	 * Release: pairs with the acquire in mr_find(); publishes the fields above. No thread reads
	 * them before: those that found the slot's last region have left their read sections.
	 */
	atomic_store_explicit(&slot->live, true, memory_order_release);
	mr->ci.lkey = slot->key;
	mr->ci.rkey = slot->key;
	IB_TRACE("soft", "register_mr: key=%#x length=%llu", slot->key,
		 (unsigned long long)mem->length);
	return AL_SUCCESS;
}

void mr_revoke(struct soft_mr *mr)
{
	/*
	 * The grace period after this store orders it: a read section that does not see the store
	 * ends before the grace period does.
	 */
	atomic_store_explicit(&mr->slot->live, false, memory_order_relaxed);
	mr->revoked = true;
}

void mr_deregister(struct memory *memory, struct soft_mr *mr)
{
	if (mr->revoked) {
		reading_has_ended();
	} else {
		mr_revoke(mr);
		reading_wait();
	}
	IB_TRACE("soft", "deregister_mr: key=%#x", mr->slot->key);
	table_give(&memory->keys, mr->number);
}

const struct mr_slot *mr_find(const struct mem_view *view, uint32_t key, uint64_t addr,
			      uint64_t length, char **mem)
{
	const struct mr_slot *slot = table_find(&view->memory->keys, key >> 8);
	uint64_t offset;

	reading_check();
	/* acquire: pairs with the release in mr_register() */
	if (!slot || !atomic_load_explicit(&slot->live, memory_order_acquire))
		return NULL;
	offset = addr - slot->iova;
	/* An address below iova wraps to an offset beyond any length. No sum below can overflow. */
	if (slot->key != key || slot->pd != view->pd ||
	    (slot->access & view->access) != view->access || offset > slot->length ||
	    length > slot->length - offset)
		return NULL;
	*mem = slot->addr + offset;
	return slot;
}

bool mr_check_sges(const struct mem_view *view, const struct ib_sge *sge, uint32_t num,
		   bool *client)
{
	const struct mr_slot *slot;
	char *mem;

	for (; num; sge++, num--) {
		if (!sge->length)
			continue;
		slot = mr_find(view, sge->lkey, sge->addr, sge->length, &mem);
		if (!slot)
			return false;
		if (UNLIKELY(slot->client))
			*client = true;
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
	const struct mr_slot *slot;
	const struct ib_sge *sge;

	while (c->num && c->sge->length <= skip) {
		skip -= c->sge->length;
		c->sge++;
		c->num--;
	}
	if (!c->num)
		return false;
	sge = c->sge++;
	c->num--;
	slot = mr_find(&c->view, sge->lkey, sge->addr, sge->length, &c->mem);
	if (!slot)
		return false;
	c->client = slot->client;
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
	const struct mr_slot *slot;

	*c = (struct cursor){ .view = *view, .room = length };
	slot = mr_find(view, key, addr, length, &c->mem);
	c->client = slot ? slot->client : NULL;
	return slot;
}

void cursor_plain(struct cursor *c, void *mem, uint64_t length)
{
	*c = (struct cursor){ .mem = mem, .room = length };
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
