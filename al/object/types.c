/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The object type table. Kinds without a size have their place, but nothing makes them yet. */
#include "al/event/channel.h"
#include "al/event/pnp.h"
#include "al/verbs/verbs.h"

struct al_plain {
	struct al_obj obj;
};

#define LIMIT(member) offsetof(struct ib_ca_attr, member)

const struct obj_type obj_types[AL_OBJ_TYPES] = {
	[AL_OBJ_AL] = { AL_OBJ_AL, "al", sizeof(struct al_instance), OBJ_NO_CI, .cascades = true },
	[AL_OBJ_CA] = { AL_OBJ_CA, "ca", sizeof(struct al_ca), OBJ_NO_CI, .cascades = true,
			.rank = RANK_CA, .destroy = ca_destroy },
	[AL_OBJ_PD] = { AL_OBJ_PD, "pd", sizeof(struct al_plain), CI_OBJ_PD, LIMIT(max_pd),
			.rank = RANK_PD, .destroy = pd_destroy },
	[AL_OBJ_RDD] = { AL_OBJ_RDD, "rdd", 0, CI_OBJ_RDD },
	[AL_OBJ_XRCD] = { AL_OBJ_XRCD, "xrcd", 0, CI_OBJ_XRCD },
	[AL_OBJ_AH] = { AL_OBJ_AH, "ah", sizeof(struct al_plain), CI_OBJ_AH, LIMIT(max_ah),
			.rank = RANK_FIRST, .destroy = ah_destroy },
	[AL_OBJ_MR] = { AL_OBJ_MR, "mr", sizeof(struct al_mr), CI_OBJ_MR, LIMIT(max_mr),
			.rank = RANK_MR, .busy = mr_busy, .quiesce = mr_quiesce,
			.destroy = mr_destroy, .gone = mr_gone },
	[AL_OBJ_FMR] = { AL_OBJ_FMR, "fmr", 0, CI_OBJ_FMR },
	[AL_OBJ_FMR_POOL] = { AL_OBJ_FMR_POOL, "fmr_pool", 0, OBJ_NO_CI },
	[AL_OBJ_MW] = { AL_OBJ_MW, "mw", 0, CI_OBJ_MW },
	[AL_OBJ_CQ] = { AL_OBJ_CQ, "cq", sizeof(struct al_cq), CI_OBJ_CQ, LIMIT(max_cq),
			.rank = RANK_CQ, .published = evobj_published, .dying = evobj_dying,
			.destroy = cq_destroy, .gone = cq_gone },
	[AL_OBJ_SRQ] = { AL_OBJ_SRQ, "srq", 0, CI_OBJ_SRQ },
	[AL_OBJ_QP] = { AL_OBJ_QP, "qp", sizeof(struct al_qp), CI_OBJ_QP, LIMIT(max_qp),
			.rank = RANK_QP, .published = evobj_published, .dying = evobj_dying,
			.quiesce = qp_quiesce, .destroy = qp_destroy, .gone = qp_gone },
	[AL_OBJ_EEC] = { AL_OBJ_EEC, "eec", 0, CI_OBJ_EEC },
	[AL_OBJ_MCAST] = { AL_OBJ_MCAST, "mcast", 0, OBJ_NO_CI },
	[AL_OBJ_PNP] = { AL_OBJ_PNP, "pnp", sizeof(struct al_pnp), OBJ_NO_CI, .dying = pnp_dying,
			 .gone = pnp_gone },
	[AL_OBJ_EVENT_HANDLER] = { AL_OBJ_EVENT_HANDLER, "event_handler",
				   sizeof(struct al_event_handler), OBJ_NO_CI,
				   .gone = event_handler_gone },
	[AL_OBJ_CHANNEL] = { AL_OBJ_CHANNEL, "channel", sizeof(struct al_channel), OBJ_NO_CI,
			     .gone = channel_gone },
	[AL_OBJ_MAD_SVC] = { AL_OBJ_MAD_SVC, "mad_svc", 0, OBJ_NO_CI },
};
