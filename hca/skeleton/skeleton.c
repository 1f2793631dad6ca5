/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The smallest HCA module that loads: a vendor's first file. Copy the file, rename it, and put your
 * hardware behind the operations one after the other; <iba/ib_hca.h> documents each operation. The
 * user-mode provider is uvp/skeleton.
 *
 * The module has one HCA with one port, into which no cable is plugged. Operations that need no
 * wire work: domains, regions, completion queues, queue pairs of type RC with all their states.
 * Requests that need a wire fail as on a real adapter without a cable: a send is repeated in vain
 * and completes with IB_WC_RETRY_EXC_ERR, the queue pair changes to the Error state, and every
 * other request is flushed.
 *
 * Build the module with the Makefile in this directory, and try it:
 *
 *     make && IBAL_MODULE_PATH=$PWD al_query
 */
#include <iba/ib_hca.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MAX_QP  256
#define MAX_CQ  256
#define MAX_MR  4096
#define MAX_WR  1024
#define MAX_SGE 4

/* ------------------------------------------------------------------ your structs
 *
 * Each struct begins with the matching struct of <iba/ib_hca.h>. The Access Layer allocates your
 * structs, zeroed, with the sizes in the table at the end of this file, and frees them. The member
 * ctx is the parameter of upcalls; do not dereference ctx.
 */

struct skel_cq {
	struct ci_cq cq;      /* first member */
	pthread_mutex_t lock; /* guards the members below; taken inside a queue pair's lock */
	struct ib_wc *ring;   /* completions: cq.cqe entries */
	uint32_t head, count; /* oldest completion, and number of completions */
	al_arm armed;         /* arm that is not satisfied yet */
	bool fresh;           /* a completion was added since the last notification */
	bool overflowed;
	bool notify, report_overflow; /* upcalls that make_upcalls() makes */
};

/* A queue of requests. No packet leaves this HCA, so only the requests' wr_ids are stored. */
struct skel_queue {
	uint64_t *wr_id;
	uint32_t size, head, count;
};

struct skel_qp {
	struct ci_qp qp; /* first member */
	pthread_mutex_t
		lock; /* guards the members below; taken outside a completion queue's lock */
	struct ib_qp_attr attr;
	struct skel_queue sq, rq;
};

/* The state of the hardware. A real module has such a struct for each HCA, found by ci_ca.hca. */
static struct {
	uint64_t guid;
	struct ci_host *host;
	ci_handle handle;
	pthread_mutex_t lock; /* guards qp_used and mr_used */
	bool qp_used[MAX_QP], mr_used[MAX_MR];
} hca;

/* Takes the lowest free number. Returns size if no number is free. */
static uint32_t take_number(bool *used, uint32_t size)
{
	uint32_t i = 0;

	pthread_mutex_lock(&hca.lock);
	while (i < size && used[i])
		i++;
	if (i < size)
		used[i] = true;
	pthread_mutex_unlock(&hca.lock);
	return i;
}

static void give_number(bool *used, uint32_t i)
{
	pthread_mutex_lock(&hca.lock);
	used[i] = false;
	pthread_mutex_unlock(&hca.lock);
}

/* ------------------------------------------------------------------------- HCA */

static al_status open_ca(struct ci_ca *ca)
{
	(void)ca; /* ca->hca is the pointer that scan() passed to ib_register_ci() */
	return AL_SUCCESS;
}

static void close_ca(struct ci_ca *ca)
{
	(void)ca;
}

/*
 * An attribute that is not set here is zero: the HCA lacks the ability. The Access Layer enforces
 * the limits, so they must be exact.
 */
static al_status query_ca(struct ci_ca *ca, struct ib_ca_attr *attr)
{
	(void)ca;
	*attr = (struct ib_ca_attr){
		.node_guid = hca.guid,
		.num_ports = 1,
		.num_comp_vectors = 1,
		.node_desc = "skeleton",
		.fw_ver = "1.0",
		.location = "software",
		.page_size_cap = 4096,
		.max_mr_size = UINT64_MAX,
		.max_mr = MAX_MR,
		.max_pd = 1024,
		.max_ah = 1024,
		.max_qp = MAX_QP,
		.max_qp_wr = MAX_WR,
		.max_send_sge = MAX_SGE,
		.max_recv_sge = MAX_SGE,
		.max_read_sge = MAX_SGE,
		.max_qp_rd_atom = 1,
		.max_qp_init_rd_atom = 1,
		.max_res_rd_atom = MAX_QP,
		.max_cq = MAX_CQ,
		.max_cqe = 2 * MAX_WR,
		.max_pkeys = 1,
	};
	return AL_SUCCESS;
}

/* Without a cable the port is down, polls for a link partner, and has no LID. */
static al_status query_port(struct ci_ca *ca, uint8_t port, struct ib_port_attr *attr)
{
	(void)ca;
	*attr = (struct ib_port_attr){
		.port_guid = hca.guid + port,
		.subnet_prefix = 0xfe80000000000000ULL,
		.state = IB_PORT_DOWN,
		.phys_state = IB_PHYS_POLLING,
		.link_layer = IB_LINK_LAYER_INFINIBAND,
		.max_mtu = IB_MTU_4096,
		.active_mtu = IB_MTU_4096,
		.active_width = IB_WIDTH_4X,
		.active_speed = IB_SPEED_SDR,
		.max_msg_size = 1u << 31,
		.gid_tbl_len = 1,
		.pkey_tbl_len = 1,
		.max_vl_num = 1,
	};
	return AL_SUCCESS;
}

/* GID 0 is the subnet prefix and the port GUID, big-endian as on the wire. */
static al_status query_gid(struct ci_ca *ca, uint8_t port, uint32_t index, ib_gid *gid)
{
	const uint64_t half[2] = { 0xfe80000000000000ULL, hca.guid + port };

	(void)ca;
	(void)index;
	for (int i = 0; i < 16; i++)
		gid->raw[i] = (uint8_t)(half[i / 8] >> (56 - 8 * (i % 8)));
	return AL_SUCCESS;
}

static al_status query_pkey(struct ci_ca *ca, uint8_t port, uint32_t index, uint16_t *pkey)
{
	(void)ca;
	(void)port;
	(void)index;
	*pkey = IB_PKEY_DEFAULT;
	return AL_SUCCESS;
}

/* ----------------------------------------------------- domains, addresses, memory */

static al_status allocate_pd(struct ci_pd *pd, struct ci_udata *udata)
{
	(void)pd;
	(void)udata; /* NULL, or the data of a client's request */
	return AL_SUCCESS;
}

static void deallocate_pd(struct ci_pd *pd)
{
	(void)pd;
}

static al_status create_ah(struct ci_ah *ah, const struct ib_ah_attr *attr, struct ci_udata *udata)
{
	(void)ah;
	(void)attr;
	(void)udata;
	return AL_SUCCESS;
}

static void destroy_ah(struct ci_ah *ah)
{
	(void)ah;
}

/*
 * A real module passes the pages of mem to the HCA here. The low 8 bits of a key belong to the
 * consumer; the module chooses the bits above.
 */
static al_status register_mr(struct ci_mr *mr, const struct ci_mem *mem, struct ci_udata *udata)
{
	const uint32_t remote =
		IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC;
	uint32_t number = take_number(hca.mr_used, MAX_MR);

	(void)udata;
	if (number == MAX_MR)
		return AL_LIMIT_EXCEEDED;
	mr->lkey = (number + 1) << 8;
	mr->rkey = mem->access & remote ? mr->lkey : 0;
	return AL_SUCCESS;
}

static void deregister_mr(struct ci_mr *mr)
{
	give_number(hca.mr_used, (mr->lkey >> 8) - 1);
}

/* ------------------------------------------------------------- completion queues */

static al_status create_cq(struct ci_cq *base, struct ci_cq_init *init, struct ci_udata *udata)
{
	struct skel_cq *cq = (struct skel_cq *)base;

	(void)udata;
	cq->ring = al_alloc(init->cqe * sizeof(*cq->ring));
	if (!cq->ring)
		return AL_INSUFFICIENT_MEMORY;
	pthread_mutex_init(&cq->lock, NULL);
	base->cqe = init->cqe;
	return AL_SUCCESS;
}

static void destroy_cq(struct ci_cq *base)
{
	struct skel_cq *cq = (struct skel_cq *)base;

	pthread_mutex_destroy(&cq->lock);
	al_free(cq->ring);
}

static al_status poll_cq(struct ci_cq *base, uint32_t num, struct ib_wc *wc, uint32_t *count)
{
	struct skel_cq *cq = (struct skel_cq *)base;
	uint32_t n = 0;
	bool broken;

	pthread_mutex_lock(&cq->lock);
	for (; n < num && cq->count; n++, cq->count--) {
		wc[n] = cq->ring[cq->head];
		cq->head = (cq->head + 1) % base->cqe;
	}
	broken = cq->overflowed;
	pthread_mutex_unlock(&cq->lock);
	/* Completions from before the overflow are valid: return them before the error. */
	if (!n && broken)
		return AL_CQ_ERROR;
	*count = n;
	return AL_SUCCESS;
}

/* Clears the arm and requests its notification. Under cq->lock. */
static void satisfy_arm(struct skel_cq *cq)
{
	if (cq->armed == AL_ARM_NONE)
		return;
	cq->armed = AL_ARM_NONE;
	cq->fresh = false;
	cq->notify = true;
}

/*
 * Makes the upcalls that are due. The caller holds no lock that an operation takes. Operations may
 * make upcalls, since upcalls only queue: the consumer's callback runs on another thread.
 */
static void make_upcalls(struct ci_cq *base)
{
	struct skel_cq *cq = (struct skel_cq *)base;
	struct ci_event overflow = { .type = IB_EVENT_CQ_ERR, .object_ctx = base->ctx };
	bool notify, report_overflow;

	pthread_mutex_lock(&cq->lock);
	notify = cq->notify;
	report_overflow = cq->report_overflow;
	cq->notify = false;
	cq->report_overflow = false;
	pthread_mutex_unlock(&cq->lock);
	if (report_overflow)
		ib_dispatch_event(&overflow);
	if (notify)
		ib_cq_notify(base->ctx);
}

static al_status arm_cq(struct ci_cq *base, al_arm type, bool *present)
{
	struct skel_cq *cq = (struct skel_cq *)base;

	pthread_mutex_lock(&cq->lock);
	if (cq->overflowed) {
		pthread_mutex_unlock(&cq->lock);
		return AL_CQ_ERROR;
	}
	if (type > cq->armed)
		cq->armed = type;
	if (present)
		*present = cq->count > 0;
	/* With AL_CQ_NOTIFY_PENDING a completion newer than the last notification satisfies the arm
	 * at once. */
	if (base->notify == AL_CQ_NOTIFY_PENDING && cq->count && cq->fresh)
		satisfy_arm(cq);
	pthread_mutex_unlock(&cq->lock);
	make_upcalls(base);
	return AL_SUCCESS;
}

/*
 * Adds a completion. The caller calls make_upcalls() after it has released its locks. Real hardware
 * would write the completion and raise an interrupt.
 */
static void complete(struct skel_qp *qp, struct ci_cq *base, ib_wc_opcode opcode, uint64_t wr_id,
		     ib_wc_status status)
{
	struct skel_cq *cq = (struct skel_cq *)base;

	pthread_mutex_lock(&cq->lock);
	if (cq->count < base->cqe) {
		cq->ring[(cq->head + cq->count) % base->cqe] = (struct ib_wc){
			.wr_id = wr_id,
			.qp_context = qp->qp.owner_context,
			.qp_num = qp->qp.qp_num,
			.opcode = opcode,
			.status = status,
		};
		cq->count++;
		cq->fresh = true;
		/* All completions here are errors, which satisfy every kind of arm. */
		satisfy_arm(cq);
	} else if (!cq->overflowed) {
		cq->overflowed = true;
		cq->report_overflow = true;
	}
	pthread_mutex_unlock(&cq->lock);
}

/* Removes a queue pair's completions from a completion queue: the queue pair is reset or destroyed.
 */
static void purge(struct ci_cq *base, uint32_t qp_num)
{
	struct skel_cq *cq = (struct skel_cq *)base;
	uint32_t kept = 0;

	pthread_mutex_lock(&cq->lock);
	for (uint32_t i = 0; i < cq->count; i++) {
		const struct ib_wc *wc = &cq->ring[(cq->head + i) % base->cqe];

		if (wc->qp_num == qp_num)
			continue;
		cq->ring[(cq->head + kept) % base->cqe] = *wc;
		kept++;
	}
	cq->count = kept;
	pthread_mutex_unlock(&cq->lock);
}

/* ------------------------------------------------------------------- queue pairs */

static al_status create_queue(struct skel_queue *q, uint32_t size)
{
	q->size = size;
	q->wr_id = size ? al_alloc(size * sizeof(*q->wr_id)) : NULL;
	return size && !q->wr_id ? AL_INSUFFICIENT_MEMORY : AL_SUCCESS;
}

/* Appends a request. False: the queue is full. */
static bool put(struct skel_queue *q, uint64_t wr_id)
{
	if (q->count == q->size)
		return false;
	q->wr_id[(q->head + q->count) % q->size] = wr_id;
	q->count++;
	return true;
}

/* Takes the oldest request. False: the queue is empty. */
static bool get(struct skel_queue *q, uint64_t *wr_id)
{
	if (!q->count)
		return false;
	*wr_id = q->wr_id[q->head];
	q->head = (q->head + 1) % q->size;
	q->count--;
	return true;
}

static al_status create_qp(struct ci_qp *base, struct ci_qp_init *init, struct ci_udata *udata)
{
	struct skel_qp *qp = (struct skel_qp *)base;
	uint32_t number;

	(void)udata;
	if (init->attr->qp_type != IB_QPT_RC)
		return AL_UNSUPPORTED;
	number = take_number(hca.qp_used, MAX_QP);
	if (number == MAX_QP)
		return AL_LIMIT_EXCEEDED;
	if (create_queue(&qp->sq, init->cap.max_send_wr) ||
	    create_queue(&qp->rq, init->cap.max_recv_wr)) {
		al_free(qp->sq.wr_id);
		give_number(hca.qp_used, number);
		return AL_INSUFFICIENT_MEMORY;
	}
	pthread_mutex_init(&qp->lock, NULL);
	base->qp_num = number + 2; /* the numbers 0 and 1 belong to the special queue pairs */
	base->cap = init->cap;
	qp->attr.cap = init->cap;
	qp->attr.qp_state = IB_QPS_RESET;
	return AL_SUCCESS;
}

static void destroy_qp(struct ci_qp *base)
{
	struct skel_qp *qp = (struct skel_qp *)base;

	purge(base->send_cq, base->qp_num);
	purge(base->recv_cq, base->qp_num);
	pthread_mutex_destroy(&qp->lock);
	al_free(qp->sq.wr_id);
	al_free(qp->rq.wr_id);
	give_number(hca.qp_used, base->qp_num - 2);
}

/* Processes the queues as the queue pair's current state demands. Under qp->lock. */
static void advance(struct skel_qp *qp)
{
	uint64_t wr_id;

	if (qp->attr.qp_state == IB_QPS_RTS && get(&qp->sq, &wr_id)) {
		/*
		 * No response ever arrives. This HCA completes the request at once, without waiting
		 * for the time-outs; a real adapter with time-out 0 would wait for ever.
		 */
		qp->attr.qp_state = IB_QPS_ERR;
		complete(qp, qp->qp.send_cq, IB_WC_SEND, wr_id, IB_WC_RETRY_EXC_ERR);
	}
	if (qp->attr.qp_state == IB_QPS_ERR) {
		while (get(&qp->sq, &wr_id))
			complete(qp, qp->qp.send_cq, IB_WC_SEND, wr_id, IB_WC_WR_FLUSH_ERR);
		while (get(&qp->rq, &wr_id))
			complete(qp, qp->qp.recv_cq, IB_WC_RECV, wr_id, IB_WC_WR_FLUSH_ERR);
	}
	if (qp->attr.qp_state == IB_QPS_RESET) {
		qp->sq.count = 0;
		qp->rq.count = 0;
		purge(qp->qp.send_cq, qp->qp.qp_num);
		purge(qp->qp.recv_cq, qp->qp.qp_num);
	}
}

/* The members of struct ib_qp_attr and their bits in the mask. */
static const struct {
	uint32_t bit;
	size_t at, size; /* offset and size of the member */
} members[] = {
#define MEMBER(bit, name)                                                                      \
	{                                                                                      \
		bit, offsetof(struct ib_qp_attr, name), sizeof(((struct ib_qp_attr *)0)->name) \
	}
	MEMBER(IB_QP_STATE, qp_state),
	MEMBER(IB_QP_EN_SQD_ASYNC_NOTIFY, en_sqd_async_notify),
	MEMBER(IB_QP_ACCESS_FLAGS, qp_access_flags),
	MEMBER(IB_QP_PKEY_INDEX, pkey_index),
	MEMBER(IB_QP_PORT, port_num),
	MEMBER(IB_QP_QKEY, qkey),
	MEMBER(IB_QP_AV, ah_attr),
	MEMBER(IB_QP_PATH_MTU, path_mtu),
	MEMBER(IB_QP_TIMEOUT, timeout),
	MEMBER(IB_QP_RETRY_CNT, retry_cnt),
	MEMBER(IB_QP_RNR_RETRY, rnr_retry),
	MEMBER(IB_QP_RQ_PSN, rq_psn),
	MEMBER(IB_QP_MAX_QP_RD_ATOMIC, max_rd_atomic),
	MEMBER(IB_QP_ALT_PATH, alt_ah_attr),
	MEMBER(IB_QP_ALT_PATH, alt_port_num),
	MEMBER(IB_QP_ALT_PATH, alt_pkey_index),
	MEMBER(IB_QP_ALT_PATH, alt_timeout),
	MEMBER(IB_QP_MIN_RNR_TIMER, min_rnr_timer),
	MEMBER(IB_QP_SQ_PSN, sq_psn),
	MEMBER(IB_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic),
	MEMBER(IB_QP_PATH_MIG_STATE, path_mig_state),
	MEMBER(IB_QP_DEST_QPN, dest_qp_num),
};

/*
 * The Access Layer has checked the transition and the attributes. Since then an error may have
 * changed the state, so the module checks for Error again.
 */
static al_status modify_qp(struct ci_qp *base, const struct ib_qp_attr *attr, uint32_t mask,
			   struct ci_udata *udata)
{
	struct skel_qp *qp = (struct skel_qp *)base;
	struct ci_event drained = { .type = IB_EVENT_SQ_DRAINED, .object_ctx = base->ctx };
	al_status st = AL_SUCCESS;

	(void)udata;
	if (mask & IB_QP_CAP)
		return AL_UNSUPPORTED;
	pthread_mutex_lock(&qp->lock);
	if (qp->attr.qp_state == IB_QPS_ERR && (mask & IB_QP_STATE) &&
	    attr->qp_state != IB_QPS_RESET && attr->qp_state != IB_QPS_ERR)
		st = AL_INVALID_TRANSITION;
	for (size_t i = 0; !st && i < sizeof(members) / sizeof(members[0]); i++)
		if (mask & members[i].bit)
			memcpy((char *)&qp->attr + members[i].at,
			       (const char *)attr + members[i].at, members[i].size);
	if (!st)
		advance(qp);
	pthread_mutex_unlock(&qp->lock);
	make_upcalls(base->send_cq);
	make_upcalls(base->recv_cq);
	/* The send queue is drained at once: in RTS every request has already completed. */
	if (!st && (mask & IB_QP_EN_SQD_ASYNC_NOTIFY) && attr->en_sqd_async_notify)
		ib_dispatch_event(&drained);
	return st;
}

static al_status query_qp(struct ci_qp *base, struct ib_qp_attr *attr)
{
	struct skel_qp *qp = (struct skel_qp *)base;

	pthread_mutex_lock(&qp->lock);
	*attr = qp->attr;
	pthread_mutex_unlock(&qp->lock);
	attr->cur_qp_state = attr->qp_state;
	return AL_SUCCESS;
}

/* The Access Layer does not check requests. The first request that is not posted becomes *bad. */
static al_status post_send(struct ci_qp *base, const struct ib_send_wr *wr,
			   const struct ib_send_wr **bad)
{
	struct skel_qp *qp = (struct skel_qp *)base;
	al_status st = AL_SUCCESS;

	pthread_mutex_lock(&qp->lock);
	for (; wr; wr = wr->next) {
		if (qp->attr.qp_state < IB_QPS_RTS)
			st = AL_INVALID_STATE;
		else if (wr->opcode > IB_WR_RDMA_READ || wr->opcode == IB_WR_SEND_WITH_INV ||
			 (wr->send_flags & IB_SEND_INLINE))
			st = AL_INVALID_OPCODE;
		else if (wr->num_sge > base->cap.max_send_sge)
			st = AL_INVALID_SGE;
		else if (!put(&qp->sq, wr->wr_id))
			st = AL_QUEUE_FULL;
		if (st)
			break;
		advance(qp);
	}
	pthread_mutex_unlock(&qp->lock);
	make_upcalls(base->send_cq);
	make_upcalls(base->recv_cq);
	if (st)
		*bad = wr;
	return st;
}

static al_status post_recv(struct ci_qp *base, const struct ib_recv_wr *wr,
			   const struct ib_recv_wr **bad)
{
	struct skel_qp *qp = (struct skel_qp *)base;
	al_status st = AL_SUCCESS;

	pthread_mutex_lock(&qp->lock);
	for (; wr; wr = wr->next) {
		if (qp->attr.qp_state == IB_QPS_RESET)
			st = AL_INVALID_STATE;
		else if (wr->num_sge > base->cap.max_recv_sge)
			st = AL_INVALID_SGE;
		else if (!put(&qp->rq, wr->wr_id))
			st = AL_QUEUE_FULL;
		if (st)
			break;
		advance(qp);
	}
	pthread_mutex_unlock(&qp->lock);
	make_upcalls(base->send_cq);
	make_upcalls(base->recv_cq);
	if (st)
		*bad = wr;
	return st;
}

/* ------------------------------------------------------------------------ module */

/* The required operations. The library replaces the NULL members, all other operations, by
 * AL_UNSUPPORTED. */
static const struct ci_interface operations = {
	.size = sizeof(struct ci_interface),
	.abi_major = CI_ABI_MAJOR,
	.abi_minor = CI_ABI_MINOR,
	.obj_size = {
		[CI_OBJ_CQ] = sizeof(struct skel_cq),
		[CI_OBJ_QP] = sizeof(struct skel_qp),
	},
	.open_ca = open_ca,
	.close_ca = close_ca,
	.query_ca = query_ca,
	.query_port = query_port,
	.query_gid = query_gid,
	.query_pkey = query_pkey,
	.allocate_pd = allocate_pd,
	.deallocate_pd = deallocate_pd,
	.create_ah = create_ah,
	.destroy_ah = destroy_ah,
	.register_mr = register_mr,
	.deregister_mr = deregister_mr,
	.create_cq = create_cq,
	.destroy_cq = destroy_cq,
	.poll_cq = poll_cq,
	.arm_cq = arm_cq,
	.create_qp = create_qp,
	.modify_qp = modify_qp,
	.query_qp = query_qp,
	.destroy_qp = destroy_qp,
	.post_send = post_send,
	.post_recv = post_recv,
};

/*
 * Reads a setting, as an example: the HCA's GUID, "guid = 0x..." in the group [skeleton] of
 * ibal.conf.
 */
static al_status init(struct ci_host *host, const struct ci_params *params)
{
	memset(&hca, 0, sizeof(hca));
	pthread_mutex_init(&hca.lock, NULL);
	hca.host = host;
	hca.guid =
		0x0200005ce1e70001ULL; /* a locally administered GUID; your hardware has its own */
	for (size_t i = 0; i < params->count; i++) {
		const struct ci_param *p = &params->param[i];
		char *end;

		if (*p->section || strcmp(p->key, "guid")) {
			ib_log(IB_LOG_ERROR, "skeleton",
			       "%s: [skeleton%s%s] %s: unknown key; the only key is guid",
			       p->origin, *p->section ? " " : "", p->section, p->key);
			return AL_BAD_CONFIG;
		}
		hca.guid = strtoull(p->value, &end, 0);
		if (!hca.guid || *end) {
			ib_log(IB_LOG_ERROR, "skeleton",
			       "%s: guid = %s: must be a number other than 0, such as 0x0200005ce1e70001",
			       p->origin, p->value);
			return AL_BAD_CONFIG;
		}
	}
	return AL_SUCCESS;
}

/*
 * Registers the HCA. A module for PCI hardware has a table of ids in ci_module.pci_ids instead of
 * scan, and two functions: probe(dev) maps the function's registers, makes the adapter ready, and
 * registers the HCA with ib_register_ci(); remove(dev) withdraws the HCA.
 */
static al_status scan(void)
{
	return ib_register_ci(hca.host, &operations, &hca, &hca.handle);
}

static void cleanup(void)
{
	if (hca.handle)
		ib_deregister_ci(hca.handle, 0);
	hca.handle = NULL;
}

/* The symbol that a module exports. */
const struct ci_module ci_module = {
	.size = sizeof(struct ci_module),
	.abi_major = CI_ABI_MAJOR,
	.abi_minor = CI_ABI_MINOR,
	.name = "skeleton", /* the file is skeleton.so, the settings are in [skeleton] */
	.version = "1.0",
	.license = "GPL-2.0-only OR Linux-OpenIB",
	.init = init,
	.scan = scan,
	.cleanup = cleanup,
};
