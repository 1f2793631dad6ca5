/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The verbs objects: what the Access Layer keeps of each beside the common part.
 * The module's part of an object is behind al_obj.ci, filled in here before the module sees it.
 */
#ifndef AL_VERBS_VERBS_H
#define AL_VERBS_VERBS_H

#include "al/event/async.h"
#include "al/object/client.h"
#include "al/object/device.h"

struct al_ca {
	struct al_obj obj;
	void *um_context; /* the module's, for um_close_ca */
	bool um_open;     /* um_open_ca has been called: a process behind the agent opened it */
};

struct al_cq {
	struct al_evobj ev;
	pthread_mutex_t serial; /* CI_SERIALISE_CQ: poll and arm one at a time. Leaf. */
	pthread_mutex_t control; /* resize, with the size that it leaves. Outside the module's locks. */
};

struct al_mr {
	struct al_obj obj;
	pthread_mutex_t control; /* query, against the end in the module. Outside the module's locks. */
};

struct al_qp {
	struct al_evobj ev;
	/* modify: from the check to the operation; quiesce. Outside the module's locks. */
	pthread_mutex_t control;
	struct al_qp_init init;  /* as created, cap as granted */
	uint32_t taken;          /* its number in al_dev.qpns; 0: none */
};

/* al_reg_mr() of a client's memory, or, with NULL, of this process's. */
al_status mr_reg(al_pd_h pd, const struct al_mr_init *init, struct ci_client *client, void *context, uint32_t *lkey,
		 uint32_t *rkey, al_mr_h *mr);

/* ------------------------------------------ what a module answers (door.c) */

/* Tells the log what the module of an HCA has got wrong. AL_MODULE_FAILED. */
al_status door_refuse(struct al_dev *dev, const char *fmt, ...) IB_PRINTF(2, 3)
	__attribute__((cold));
/* The status, or AL_MODULE_FAILED for one that is none. */
al_status door_status(struct al_dev *dev, const char *op, al_status status);
/* Calls an operation that may fail, and holds its status against those that there are. */
#define ASK(call, op, ...) door_status((call)->obj->dev, #op, (call)->ops->op(__VA_ARGS__))
/* Attributes, written with AL_SUCCESS; AL_MODULE_FAILED: what the module answered can not be. */
al_status door_query_ca(const struct al_call *call, struct ib_ca_attr *attr);
al_status door_query_port(const struct al_call *call, uint8_t port, struct ib_port_attr *attr);
al_status door_query_qp(const struct al_call *call, struct ib_qp_attr *attr);
/* The count, or the most that it can be. */
uint32_t door_count(struct al_dev *dev, const char *op, uint32_t most, uint32_t count)
	__attribute__((cold));
/* Of a chain whose post failed: *bad, or its first request when *bad is none of the chain. */
const void *door_bad(struct al_dev *dev, const char *op, const void *first, const void *bad)
	__attribute__((cold));
/* A queue pair that the module has made: its sizes and its number, which is then taken until
 * door_qp_ends(). */
al_status door_qp_made(struct al_dev *dev, struct al_qp *qp, const struct ib_qp_cap *cap,
		       const struct ib_qp_cap *asked);
/* Before destroy_qp, since the module may give the number anew as soon as that has begun. */
void door_qp_ends(struct al_dev *dev, struct al_qp *qp);

/* Is the reserved tail of an attribute struct zero? */
#define RESERVED_IS_ZERO(attr) \
	(!((attr)->reserved[0] | (attr)->reserved[1] | (attr)->reserved[2] | (attr)->reserved[3]))

/* Checks a path against the HCA's ports: AL_INVALID_PARAMETER, AL_INVALID_PORT. */
al_status ah_attr_check(const struct al_dev *dev, const struct ib_ah_attr *attr);

/*
 * The state table of a queue pair (qp_table.c): may a queue pair of this type go from one state to the other with these
 * attributes? AL_INVALID_TRANSITION, AL_MISSING_ATTRIBUTE, AL_INVALID_ATTRIBUTE.
 */
al_status qp_table_check(ib_qp_type type, ib_qp_state from, ib_qp_state to, uint32_t mask);

#endif
