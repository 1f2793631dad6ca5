/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The replacement of libibverbs: what its parts share. A verbs object is the struct that programs
 * know (abi.h), and behind it the handle of the Access Layer's object. The parts use <iba/ib_al.h>
 * only, as any channel driver does.
 *
 * A function of the interface that fails sets errno and returns that number, or NULL.
 */
#ifndef AL_COMPAT_VERBS_VERBS_H
#define AL_COMPAT_VERBS_VERBS_H

#include <errno.h>
#include <iba/ib_al.h>
#include <stdatomic.h>

#include "al/compat/verbs/abi.h"

#define EXPORT __attribute__((visibility("default")))

/*
 * A function of which the interface has an older version, too: LATEST(int, ibv_x)(...) defines the
 * version of today. VERSIONED gives a function its name and version for programs.
 */
#if defined(__clang__)
#define VERSIONED(function, name, version)                          \
	__asm__(".symver " #function ", " #name version); \
	EXPORT
#else
#define VERSIONED(function, name, version) __attribute__((symver(#name version), visibility("default")))
#endif
#define LATEST(type, name) \
	VERSIONED(name##_1_1, name, "@@IBVERBS_1.1") type name##_1_1

/* The struct of which a member's address is known. */
#define verbs_of(pointer, type, member) ((type *)((char *)(pointer) - offsetof(type, member)))

/* An HCA. It stays as long as the process, as programs keep pointers to it. */
struct device {
	struct ibv_device ibv;
	const void *provider; /* NULL; libmlx5 and libefa look here for a device of theirs */
	uint64_t guid;
	struct device *next;
};

/* The objects that events can name. An event holds a number of this table in place of a pointer, so
 * that an event of a destroyed object is found to be one. */
struct objects {
	pthread_mutex_t lock; /* guards the members, and the counts of events in the objects */
	struct object_slot {
		void *object; /* NULL: free */
		uint32_t generation;
		uint32_t next; /* free: the next free slot + 1 */
	} *slots;
	uint32_t num, first_free; /* first_free: a free slot + 1; 0: none */
};

/* An opened device. */
struct context {
	al_h al;
	al_ca_h ca;
	al_pd_h pd; /* owns completion queues, which belong to no domain in verbs */
	al_channel_h events;
	al_event_handler_h handler;
	int removed_fd; /* eventfd: readable once the HCA has been removed */
	struct objects objects;
	atomic_uchar layers[UINT8_MAX + 1]; /* path.c: by port, ib_link_layer; 0: not asked yet */
	atomic_uint refs;     /* one for the program, and one for each object */
	struct device *device;
	struct context *next; /* list of opened contexts */
	struct verbs_context verbs;
};

struct pd {
	struct ibv_pd ibv;
	al_pd_h al;
	struct pd *parent;    /* of a parent domain: the protection domain; else NULL */
	atomic_uint children; /* parent domains made of it */
};

struct mr {
	struct ibv_mr ibv;
	al_mr_h al;
};

struct ah {
	struct ibv_ah ibv;
	al_ah_h al;
};

struct channel {
	struct ibv_comp_channel ibv;
	al_channel_h al;
};

struct cq {
	struct ibv_cq_ex ex; /* a plain queue uses its first member only */
	al_cq_h al;
	void *cookie;           /* in the table of objects */
	uint32_t comp_reported; /* events that the program has got */
	uint32_t async_reported;
	struct ib_wc wc[16]; /* extended polling: completions that are taken out of the queue */
	uint32_t num_wc, next_wc;
	pthread_mutex_t poll_lock; /* extended polling: held from start_poll() to end_poll() */
	bool single_threaded;      /* the program polls by one thread: poll_lock is not used */
};

/* Requests of a queue pair between ibv_wr_start() and ibv_wr_complete(). */
struct builder {
	pthread_mutex_t lock; /* held from start to complete or abort */
	uint32_t num, room;   /* requests */
	uint32_t max_sge, max_inline;
	int error;
	struct ib_send_wr *wr;
	struct ib_sge *sge; /* max_sge for each request, at least one */
	uint8_t *data;      /* max_inline for each request */
};

struct qp {
	struct ibv_qp_ex ex; /* a plain queue pair uses its first member only */
	al_qp_h al;
	void *cookie;
	uint32_t reported;       /* events that the program has got */
	struct builder *builder; /* NULL: not made by ibv_create_qp_ex() with operations */
};

static inline struct context *context_of(struct ibv_context *ibv)
{
	return verbs_of(ibv, struct context, verbs.context);
}

static inline struct pd *pd_of(struct ibv_pd *ibv)
{
	return verbs_of(ibv, struct pd, ibv);
}

static inline struct cq *cq_of(struct ibv_cq *ibv)
{
	return verbs_of(ibv, struct cq, ex.base);
}

static inline struct qp *qp_of(struct ibv_qp *ibv)
{
	return verbs_of(ibv, struct qp, ex.qp_base);
}

/* ---- status.c */

/* The errno of a status; 0 for AL_SUCCESS. */
int verbs_errno(al_status status);
/* Sets errno, if the status is a failure, and returns it. */
int verbs_result(al_status status);
/* Sets errno and returns it. */
static inline int verbs_fail(int error)
{
	errno = error;
	return error;
}

/* ---- device.c */

void context_ref(struct ibv_context *ibv);
/* Frees the context after its last object. */
void context_put(struct ibv_context *ibv);

/* The GUIDs of all HCAs, which the caller frees. NULL: errno says why not. */
uint64_t *device_guids(size_t *num);

/* ---- object.c */

bool objects_init(struct objects *objects);
void objects_free(struct objects *objects);
/* Adds an object, and returns the context for the Access Layer's events; NULL: out of memory. */
void *objects_add(struct objects *objects, void *object);
void objects_remove(struct objects *objects, void *cookie);
/* The object of an event; NULL: it has been destroyed. Under the lock. */
void *objects_find(const struct objects *objects, const void *cookie);

/* ---- event.c */

/* Makes the descriptor by which a program waits for the events of a channel, and, unless other is
 * -1, of another descriptor; -1: errno says why not. */
int event_descriptor(al_channel_h channel, int other);
/* Waits until *completed, which counts acknowledged events, is reported. */
void event_wait_acked(pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *completed, uint32_t reported);

/* ---- convert.c */

/* Access permissions. False: one that no HCA of ibal has. */
bool access_to_al(unsigned int access, uint32_t *al);
unsigned int access_from_al(uint32_t al);
struct ib_ah_attr ah_to_al(const struct ibv_ah_attr *attr);
struct ibv_ah_attr ah_from_al(const struct ib_ah_attr *attr);

/* ---- path.c */

/* Converts an address vector for a port of the context; a LID that is missing is looked up by the GID. */
struct ib_ah_attr path_to_al(struct ibv_context *context, const struct ibv_ah_attr *attr);

/* ---- completion.c */

void wc_from_al(struct ibv_wc *wc, const struct ib_wc *al);
int verbs_poll_cq(struct ibv_cq *cq, int num, struct ibv_wc *wc);
unsigned int wc_opcode_from_al(ib_wc_opcode opcode);
unsigned int wc_status_from_al(ib_wc_status status);
unsigned int wc_flags_from_al(uint32_t flags);
uint8_t wc_sl_from_al(const struct ib_wc *al);

/* ---- cq.c and cq_ex.c */

int verbs_req_notify_cq(struct ibv_cq *cq, int solicited_only);
int verbs_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);
struct cq *cq_create(struct context *context, const struct ibv_cq_init_attr_ex *init);
struct ibv_cq_ex *verbs_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *init);

/* ---- pd.c */

struct ibv_td *verbs_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *init);
int verbs_dealloc_td(struct ibv_td *td);
struct ibv_pd *verbs_alloc_parent_domain(struct ibv_context *context,
					 struct ibv_parent_domain_init_attr *attr);

/* ---- port.c */

int verbs_query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr, size_t bytes);
int verbs_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
			  struct ibv_device_attr_ex *attr, size_t bytes);
int verbs_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values);

/* ---- qp.c and qp_ex.c */

/* Makes a queue pair; NULL: errno says why not. create_flags: IBV_QP_CREATE_. */
struct qp *qp_create(struct ibv_pd *pd, const struct ibv_qp_init_attr *init, struct ibv_qp_cap *granted, uint32_t create_flags);
struct ibv_qp *verbs_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *init);
void builder_free(struct builder *builder);
int ibv_destroy_qp_1_1(struct ibv_qp *qp);

/* ---- post.c */

int verbs_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
int verbs_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);

#endif
