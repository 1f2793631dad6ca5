/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The verbs objects: what the Access Layer keeps of each beside the common part, and what the object type table calls.
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
};

/* Rows of the object type table. */
void ca_destroy(struct al_obj *obj, const struct ci_interface *ops);
void pd_destroy(struct al_obj *obj, const struct ci_interface *ops);
void ah_destroy(struct al_obj *obj, const struct ci_interface *ops);
bool mr_busy(struct al_obj *obj);
void mr_quiesce(struct al_obj *obj, const struct ci_interface *ops);
void mr_destroy(struct al_obj *obj, const struct ci_interface *ops);
void mr_gone(struct al_obj *obj);
void cq_destroy(struct al_obj *obj, const struct ci_interface *ops);
void cq_gone(struct al_obj *obj);
void qp_quiesce(struct al_obj *obj, const struct ci_interface *ops);
void qp_destroy(struct al_obj *obj, const struct ci_interface *ops);
void qp_gone(struct al_obj *obj);

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
