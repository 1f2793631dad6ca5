/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The verbs objects: the Access Layer's part of each object beside struct al_obj, and the functions that files of
 * al/verbs share. The Access Layer fills in the module's part of an object (al_obj.ci) before the module gets it.
 */
#ifndef AL_VERBS_VERBS_H
#define AL_VERBS_VERBS_H

#include <string.h>

#include "al/event/async.h"
#include "al/object/client.h"
#include "al/object/device.h"

struct al_ca {
	struct al_obj obj;
	void *um_context; /* the module's context of um_open_ca, for um_close_ca */
	bool um_open;     /* um_open_ca has succeeded: a client of the agent opened the HCA, and um_close_ca is due */
	/* ports that have IB_PORT_CAP_SM for this handle, a bit each; guarded by the lock of
	 * al/verbs/ca.c */
	uint64_t manages[4];
};

struct al_cq {
	struct al_evobj ev;
	pthread_mutex_t data_path_lock; /* serialises poll and arm if the module sets CI_SERIALISE_CQ. Leaf. */
	pthread_mutex_t resize_lock; /* held from resize_cq to the store of ci_cq.cqe. Outside the module's locks. */
};

struct al_mr {
	struct al_obj obj;
	pthread_mutex_t query_lock; /* excludes query_mr and quiescing. Outside the module's locks. */
};

struct al_qp {
	struct al_evobj ev;
	/*
	 * Held by a modification from the check of the state to the operation, and while quiescing. Outside the
	 * module's locks.
	 */
	pthread_mutex_t modify_lock;
	struct al_qp_init init;  /* attributes of al_create_qp(); cap holds the granted sizes */
	struct al_mcast_group *groups; /* multicast groups of which the queue pair is a member;
					  guarded by modify_lock */
	/* the last failed request; count 0: none. Guarded by al/event/failure.c */
	struct al_qp_failure failure;
	uint32_t reserved_qpn;   /* queue pair number that is reserved in al_dev.qpns; 0: none */
};

/*
 * An alias of a queue pair of another owner: al_get_spl_qp(). Of its module's part only
 * owner_context, qp_type and qp_num are set. Functions that post to a queue pair or change one do
 * not find an alias, and refuse it by qp_refuse().
 */
struct al_qp_alias {
	struct al_evobj ev;
	/* Writes the attributes of the queue pair for which the alias stands. The HCA has not been
	 * removed. */
	al_status (*query)(const struct al_call *call, struct ib_qp_attr *attr);
	uint8_t port_num;
};

/* The status of a handle of which a function has found no queue pair: AL_INVALID_QP_TYPE or
 * AL_CA_REMOVED for an alias, else AL_INVALID_HANDLE. Any context. */
al_status qp_refuse(al_qp_h qp);
/* As call_begin(), with the status of qp_refuse(). */
al_status qp_begin(struct al_call *call, al_qp_h qp);

/* True: al_create_qp() takes the port of such a queue pair. Other types get their port with
 * IB_QP_PORT. */
static inline bool qp_type_has_port(ib_qp_type type)
{
	return type == IB_QPT_SMI || type == IB_QPT_GSI || type == IB_QPT_RAW_PACKET ||
	       type == IB_QPT_RAW_IPV6 || type == IB_QPT_RAW_ETHERTYPE;
}

/*
 * Opens dev for the opening al, like al_open_ca(). The caller holds a reference on dev. AL_NOT_FOUND: dev has been
 * removed.
 */
/*
 * How a client of an agent finds a switch: find() asks the agent for the GUID, and registers the
 * switch in this process. Called once, before any al_open_ca(). agent: as al_instance.agent.
 * AL_NOT_FOUND: the agent has no switch of the GUID, or its removal has begun.
 */
typedef al_status (*ca_finder)(void *agent, uint64_t guid);
void ca_set_finder(ca_finder find);
al_status ca_open(struct al_obj *al, struct al_dev *dev, void *context, al_ca_h *ca);
/* Implements al_reg_mr() for a client's memory. client NULL: memory of this process. */
al_status mr_reg(al_pd_h pd, const struct al_mr_init *init, struct ci_client *client, void *context, uint32_t *lkey,
		 uint32_t *rkey, al_mr_h *mr);

/* Implements al_attach_mcast(), and writes whether the queue pair was no member of the group
 * before. */
al_status mcast_attach(al_qp_h qp, const ib_gid *gid, uint16_t mlid, bool *is_new);
/* Forgets the queue pair's memberships in multicast groups, which end with the module's queue pair.
 */
void mcast_forget(struct al_qp *qp);

/* ------------------------------------- checks of a module's results (check.c) */

/* Logs an error of the HCA's module. Returns AL_MODULE_FAILED. */
al_status report_module_error(struct al_dev *dev, const char *fmt, ...) IB_PRINTF(2, 3)
	__attribute__((cold));
/* Returns the status of the module's operation op, or AL_MODULE_FAILED if the number is no
 * al_status. A refusal for which the module gave no reason gets one. */
al_status check_status(struct al_dev *dev, const char *op, al_status status);
/* Calls an operation of the module and checks its status with check_status(). */
#define CALL_MODULE(call, op, ...) check_status((call)->obj->dev, #op, (call)->ops->op(__VA_ARGS__))
/* Query the module and check the attributes. *attr is written with AL_SUCCESS only. AL_MODULE_FAILED: an attribute is
 * out of its range. */
al_status query_ca_checked(const struct al_call *call, struct ib_ca_attr *attr);
al_status query_port_checked(const struct al_call *call, uint8_t port, struct ib_port_attr *attr);
al_status query_qp_checked(const struct al_call *call, struct ib_qp_attr *attr);
/* Returns the number of completions that the operation op reported, limited to most. */
uint32_t check_count(struct al_dev *dev, const char *op, uint32_t most, uint32_t count)
	__attribute__((cold));
/*
 * Returns the request at which a post failed: bad, or first if bad is no request of the chain that begins with first.
 */
const void *check_bad_wr(struct al_dev *dev, const char *op, const void *first, const void *bad)
	__attribute__((cold));
/* Checks the sizes and the number of a queue pair that the module has created, and reserves the number until
 * release_qp_num(). AL_MODULE_FAILED, AL_INSUFFICIENT_MEMORY. */
al_status check_created_qp(struct al_dev *dev, struct al_qp *qp, const struct ib_qp_cap *cap,
		       const struct ib_qp_cap *asked);
/* Ends the reservation of the queue pair's number. Called before destroy_qp, during which the module may already use
 * the number for a new queue pair. */
void release_qp_num(struct al_dev *dev, struct al_qp *qp);

/* True: all words of the member "reserved" of an attribute struct are zero. */
#define RESERVED_IS_ZERO(attr) \
	(!memcmp((attr)->reserved, (const uint64_t[4]){ 0 }, sizeof((attr)->reserved)))

#define RESERVED_NOT_ZERO "a word of the member reserved is not zero"

/* Checks of values against an HCA's attributes (range.c). name: the value's name, for the reason.
 */
/* A port of the HCA: AL_INVALID_PORT. */
al_status check_port(const struct al_dev *dev, const char *name, uint8_t port);
/* A port that has queue pairs: AL_INVALID_PORT. */
al_status check_end_port(const struct al_dev *dev, const char *name, uint8_t port);
/* An index of the port's P_Key table: AL_INVALID_PKEY_INDEX. */
al_status check_pkey_index(const struct al_dev *dev, const char *name, uint8_t port,
			   uint32_t index);
/* An index of the port's GID table: AL_INVALID_GID_INDEX. */
al_status check_gid_index(const struct al_dev *dev, const char *name, uint8_t port, uint32_t index);
/* A number of at most `most`: status. */
al_status check_most(al_status status, const char *name, uint32_t value, uint32_t most);

/* Checks a path against the HCA's ports: AL_INVALID_PARAMETER, AL_INVALID_PORT. */
al_status ah_attr_check(const struct al_dev *dev, const struct ib_ah_attr *attr);

/*
 * Checks a transition of a queue pair against the state table in qp_table.c. mask: attributes that the caller gives,
 * enum ib_qp_attr_mask. AL_INVALID_PARAMETER, AL_INVALID_TRANSITION, AL_MISSING_ATTRIBUTE, AL_INVALID_ATTRIBUTE.
 */
al_status qp_table_check(ib_qp_type type, ib_qp_state from, ib_qp_state to, uint32_t mask);

#endif
