/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Paths of programs that name their peer by GID alone, as they may on RoCE. On InfiniBand the LID of
 * the port that has the GID is looked up here, at all HCAs of the agent, so that such programs need
 * no subnet administrator.
 */
#include <stdlib.h>

#include "al/compat/verbs/verbs.h"

/* Finds the LID of a GID at an HCA. */
static bool find_at(al_ca_h ca, const ib_gid *gid, uint16_t *lid)
{
	struct ib_port_attr attr;
	uint32_t index;
	uint8_t port;

	if (al_find_gid(ca, gid, &port, &index) || al_query_port(ca, port, &attr))
		return false;
	*lid = attr.lid;
	return true;
}

/* Finds the LID of a GID at the other HCAs. */
static bool find_elsewhere(const struct context *context, const ib_gid *gid, uint16_t *lid)
{
	size_t num;
	uint64_t *guids = device_guids(&num);
	bool found = false;
	al_ca_h ca;

	for (size_t i = 0; guids && i < num && !found; i++) {
		if (guids[i] == context->device->guid || al_open_ca(context->al, guids[i], NULL, &ca))
			continue;
		found = find_at(ca, gid, lid);
		al_close_ca(ca, AL_DESTROY_SYNC, NULL);
	}
	free(guids);
	return found;
}

/* The link layer never changes, so the HCA is asked once: each question to an agent's HCA is a round trip. */
static bool is_infiniband(struct context *context, uint8_t port)
{
	ib_link_layer layer = atomic_load_explicit(&context->layers[port], memory_order_relaxed);

	if (layer == IB_LINK_LAYER_UNSPECIFIED && !al_port_link_layer(context->ca, port, &layer))
		atomic_store_explicit(&context->layers[port], (unsigned char)layer, memory_order_relaxed);
	return layer == IB_LINK_LAYER_INFINIBAND;
}

struct ib_ah_attr path_to_al(struct ibv_context *ibv, const struct ibv_ah_attr *attr)
{
	struct context *context = context_of(ibv);
	struct ib_ah_attr al = ah_to_al(attr);
	uint16_t lid;

	if (!al.is_global || al.dlid || al.grh.dgid.raw[0] == 0xff || !is_infiniband(context, al.port_num))
		return al;
	if (find_at(context->ca, &al.grh.dgid, &lid) || find_elsewhere(context, &al.grh.dgid, &lid))
		al.dlid = lid;
	return al;
}
