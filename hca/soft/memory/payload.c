/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Payload of packets. A packet has its payload by value, or refers to the sender's memory, which is read when the
 * payload is copied. payload_move() writes payload to its target now; errands write later (errand.c).
 */
#include "hca/soft/memory/payload.h"

#include <string.h>

#include "hca/soft/memory/errand.h"
#include "hca/soft/packet/packet.h"
#include "hca/soft/packet/pool.h"
#include "hca/soft/shared/base.h"
#include "hca/soft/shared/opcode.h"

bool payload_open(struct cursor *from, const struct packet *pkt)
{
	if (pkt->view)
		return cursor_sges(from, pkt->view, pkt->sge, pkt->num_sge, pkt->offset);
	cursor_plain(from, pkt->data + pkt->offset, pkt->length);
	return true;
}

enum copy_result payload_copy(void *to, const struct packet *pkt)
{
	enum copy_result result = COPY_BAD_SOURCE;
	struct cursor from, target;

	cursor_plain(&target, to, pkt->length);
	if (payload_open(&from, pkt))
		result = cursor_copy(&target, &from, pkt->length);
	return result;
}

struct pooled *payload_keep(struct pool *pool, const struct packet *pkt, enum copy_result *result)
{
	struct pooled *p = pool_take(pool);

	*result = p ? COPY_DONE : COPY_NO_MEMORY;
	if (!p)
		return NULL;
	p->pkt = *pkt;
	p->pkt.home = NULL;
	p->pkt.wqe = NULL;
	p->pkt.flags &= (uint8_t)~PKT_FETCHED;
	if (!pkt->length)
		return p;
	*result = payload_copy(p->data, pkt);
	if (*result != COPY_DONE) {
		pool_home(NULL, &p->pkt);
		return NULL;
	}
	p->pkt.view = NULL;
	p->pkt.data = p->data;
	p->pkt.offset = 0;
	return p;
}

/* Writes bytes to the list of a place, from byte `skip` of the list on. */
static enum copy_result scatter(struct cursor *from, const struct place *to, uint64_t skip,
				uint64_t length)
{
	enum copy_result result = COPY_BAD_TARGET;
	struct cursor target;

	if (cursor_sges(&target, &to->view, to->sge, to->num, skip))
		result = cursor_copy(&target, from, length);
	return result;
}

enum copy_result payload_move(const struct packet *pkt, const struct payload_head *head,
			      const struct place *to)
{
	const uint32_t before = head ? head->bytes : 0;
	enum copy_result result = COPY_DONE;
	struct cursor from;

	if (pkt->length) {
		result = COPY_BAD_SOURCE;
		if (LIKELY(payload_open(&from, pkt)))
			result = scatter(&from, to, to->skip + before, pkt->length);
	}
	if (LIKELY(!before) || result != COPY_DONE)
		return result;
	cursor_plain(&from, (void *)head->data, before);
	return scatter(&from, to, to->skip, before);
}

enum copy_result payload_move_by_errand(struct actor *actor, struct errand **errand,
				    const struct packet *pkt, const struct payload_head *head,
				    const struct place *to)
{
	const uint32_t before = head ? head->bytes : 0;
	struct errand *e = errand_new(actor, ERRAND_SCATTER, before + pkt->length, to->num);
	enum copy_result result = COPY_DONE;

	if (!e)
		return COPY_NO_MEMORY;
	if (before)
		memcpy(e->data, head->data, before);
	if (pkt->length)
		result = payload_copy(e->data + before, pkt);
	if (result == COPY_DONE && !errand_add(e, &to->view, to->sge, to->num, to->skip))
		result = COPY_BAD_TARGET;
	if (result != COPY_DONE) {
		errand_free(e);
		return result;
	}
	errand_start(errand, e);
	return COPY_LATER;
}

uint64_t payload_execute_atomic(const struct packet *pkt, uint64_t *target)
{
	uint64_t orig = pkt->compare_add;

	if (pkt->kind == PKT_FETCH_ADD)
		return __atomic_fetch_add(target, pkt->compare_add, __ATOMIC_SEQ_CST);
	__atomic_compare_exchange_n(target, &orig, pkt->swap, false, __ATOMIC_SEQ_CST,
				    __ATOMIC_SEQ_CST);
	return orig;
}

enum copy_result payload_atomic_by_errand(struct actor *actor, struct errand **errand,
				      const struct packet *pkt, struct ci_client *client,
				      const char *mem)
{
	struct errand *e = errand_new(actor, ERRAND_ATOMIC, sizeof(*pkt), 1);

	if (!e)
		return COPY_NO_MEMORY;
	memcpy(e->data, pkt, sizeof(*pkt));
	e->client = client;
	e->pieces[e->num++].addr = (uintptr_t)mem;
	errand_start(errand, e);
	return COPY_LATER;
}
