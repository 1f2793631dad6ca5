/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Address handles, and multicast. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "al/compat/verbs/verbs.h"

LATEST(struct ibv_ah *, ibv_create_ah)(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	const struct ib_ah_attr al = path_to_al(pd->context, attr);
	struct ah *ah = calloc(1, sizeof(*ah));

	if (!ah)
		return NULL;
	ah->ibv.context = pd->context;
	ah->ibv.pd = pd;
	if (verbs_result(al_create_ah(pd_of(pd)->al, &al, &ah->al))) {
		free(ah);
		return NULL;
	}
	context_ref(pd->context);
	return &ah->ibv;
}

LATEST(int, ibv_destroy_ah)(struct ibv_ah *ibv)
{
	struct ah *ah = verbs_of(ibv, struct ah, ibv);

	al_destroy_ah(ah->al, AL_DESTROY_SYNC, NULL);
	context_put(ibv->context);
	free(ah);
	return 0;
}

EXPORT int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port_num, struct ibv_wc *wc,
			       struct ibv_grh *grh, struct ibv_ah_attr *attr)
{
	/* SLID 0: from an Ethernet port, where wc_sl_from_al() has put the IP version in the place of the level */
	const struct ib_wc al_wc = {
		.status = IB_WC_SUCCESS,
		.opcode = IB_WC_RECV,
		.wc_flags = wc->wc_flags & IBV_WC_GRH ? IB_WC_GRH : 0,
		.src_qp = wc->src_qp,
		.slid = wc->slid,
		.sl = wc->slid ? wc->sl : 0,
		.dlid_path_bits = wc->dlid_path_bits,
		.port_num = port_num,
	};
	struct ib_ah_attr al;
	const int error = verbs_result(
		al_init_ah_from_wc(context_of(context)->ca, port_num, &al_wc, grh, &al));

	if (error)
		return error;
	*attr = ah_from_al(&al);
	return 0;
}

EXPORT struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc,
					    struct ibv_grh *grh, uint8_t port_num)
{
	struct ibv_ah_attr attr;

	if (ibv_init_ah_from_wc(pd->context, port_num, wc, grh, &attr))
		return NULL;
	return ibv_create_ah_1_1(pd, &attr);
}

/* ------------------------------------------------------------------ multicast */

LATEST(int, ibv_attach_mcast)(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	ib_gid al;

	memcpy(al.raw, gid->raw, sizeof(al.raw));
	return verbs_result(al_attach_mcast(qp_of(qp)->al, &al, lid));
}

LATEST(int, ibv_detach_mcast)(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	ib_gid al;

	memcpy(al.raw, gid->raw, sizeof(al.raw));
	return verbs_result(al_detach_mcast(qp_of(qp)->al, &al, lid));
}
