/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The kinds of a client's objects: the costs that a client is charged for an object, and the table
 * of kinds.def's rows. */
#include "al/agent/kind.h"

#include <stddef.h>

#include "al/protocol/protocol.h"

/* -------------------------------------------------------------------- costs */

static uint64_t multiply(uint64_t one, uint64_t other)
{
	uint64_t product;

	return __builtin_mul_overflow(one, other, &product) ? AGENT_TOO_MUCH : product;
}

static uint64_t add(uint64_t one, uint64_t other)
{
	uint64_t sum;

	return __builtin_add_overflow(one, other, &sum) ? AGENT_TOO_MUCH : sum;
}

/* Bytes charged for an element of a queue, without its data: about what a module needs for the
 * element. */
#define CQ_ELEMENT   sizeof(struct ib_wc)
#define SEND_ELEMENT sizeof(struct ib_flat_send)
#define RECV_ELEMENT sizeof(struct ib_flat_recv)

static uint64_t mr_bytes(const struct REG_MR_request *request)
{
	return request->length;
}

static uint64_t cq_rings(const struct CREATE_CQ_request *request)
{
	return multiply(request->cqe, CQ_ELEMENT);
}

static uint64_t qp_rings(const struct CREATE_QP_request *request)
{
	const struct ib_qp_cap *cap = &request->cap;
	uint64_t recv = (uint64_t)cap->max_recv_sge * sizeof(struct ib_sge);
	uint64_t send = (uint64_t)cap->max_send_sge * sizeof(struct ib_sge);

	send = send < cap->max_inline_data ? cap->max_inline_data : send;
	return add(multiply(cap->max_send_wr, SEND_ELEMENT + send), multiply(cap->max_recv_wr, RECV_ELEMENT + recv));
}

/* Bytes charged for the sends that a MAD service may have, and for its unsolicited datagrams. Long
 * datagrams are charged besides while the service has them (mad.c). */
#define MAD_SEND 768u
#define MAD_ITEM 512u

static uint64_t mad_svc_rings(const struct REG_MAD_SVC_request *request)
{
	const bool receives = request->methods[0] || request->methods[1];

	/* with RMPP as many packets again acknowledge what arrives */
	return (uint64_t)AL_MAD_SENDS_MAX * MAD_SEND * (request->rmpp ? 2 : 1) +
	       (receives ? AL_MAD_RECEIVES_MAX * MAD_ITEM : 0);
}

/* -------------------------------------------------------------------- table */

#define NOTHING(request) ((void)(request), 0)
/* Wrappers with one type for the functions of the rows, which each have the types of their own
 * kind. */
#define KIND(NAME, name, maker, destroys, place, attribute, events, bytes, rings, copies,      \
	     mappings)                                                                         \
	static uint64_t bytes_of_##name(const void *request)                                   \
	{                                                                                      \
		return bytes((const struct maker##_request *)request);                         \
	}                                                                                      \
	static uint64_t rings_of_##name(const void *request)                                   \
	{                                                                                      \
		return rings((const struct maker##_request *)request);                         \
	}                                                                                      \
	static al_status destroy_##name(const void *handle, al_destroyed_cb cb, void *context) \
	{                                                                                      \
		return destroys((al_##name##_h)(uintptr_t)handle, cb, context);                \
	}
#include "al/agent/kinds.def"

#define IS_HCA              true
#define ON_HCA              false
#define COPIED              true
#define NOT_COPIED          false
#define MOST(member)        offsetof(struct ib_ca_attr, member)
#define NO_MOST             0
#define COOKIE_EVENTS(maker)    offsetof(struct maker##_request, cookie)
#define COOKIE_NO_EVENTS(maker) 0

const struct kind kinds[AL_OBJ_TYPES] = {
#define KIND(NAME, name, maker, destroys, place, attribute, events, bytes_fn, rings_fn, copies, \
	     mappings)                                                                          \
	[AL_OBJ_##NAME] = {                                                                     \
		.resource = AL_RESOURCE_##NAME##S,                                              \
		.is_hca = place,                                                                \
		.maps = mappings,                                                               \
		.copied = copies,                                                               \
		.most = attribute,                                                              \
		.cookie = COOKIE_##events(maker),                                               \
		.bytes = bytes_of_##name,                                                       \
		.rings = rings_of_##name,                                                       \
		.destroy = destroy_##name,                                                      \
	},
#include "al/agent/kinds.def"
};

static void lower(uint32_t *value, uint64_t limit)
{
	if (*value > limit)
		*value = (uint32_t)limit;
}

void kinds_show_limits(const struct account *client, struct ib_ca_attr *attr)
{
	uint64_t bytes = account_limit(client, AL_RESOURCE_BYTES);
	uint64_t rings = account_limit(client, AL_RESOURCE_RINGS);
	uint64_t mcasts = account_limit(client, AL_RESOURCE_MCASTS);

	for (const struct kind *kind = kinds; kind < kinds + AL_OBJ_TYPES; kind++)
		if (kind->most)
			lower((uint32_t *)((char *)attr + kind->most), account_limit(client, kind->resource));
	lower(&attr->max_mcast_grp, mcasts);
	lower(&attr->max_mcast_qp_attach, mcasts);
	lower(&attr->max_total_mcast_qp_attach, mcasts);
	lower(&attr->max_cqe, rings / CQ_ELEMENT);
	lower(&attr->max_qp_wr, rings / SEND_ELEMENT);
	if (attr->max_mr_size > bytes)
		attr->max_mr_size = bytes;
}
