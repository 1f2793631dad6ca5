/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The shortest HCA module that loads and moves data: a vendor's first file. Copy the file, rename
 * it, and put your hardware behind the operations one after the other; <iba/ib_hca.h> documents
 * each operation. The user-mode provider is uvp/skeleton.
 *
 * The module has one HCA with two ports, and a cable from port 1 to port 2. Queue pairs of type RC
 * send messages. The "hardware" works inside the operations: the thread that posts moves the data.
 * Build the module with the Makefile in this directory, and try it:
 *
 *     make && IBAL_MODULE_PATH=$PWD al_query port
 */
#include <iba/ib_hca.h>

#include <pthread.h>
#include <string.h>

#define GUID        0x0200005ce1e70001ULL /* locally administered; your hardware has its own */
#define PREFIX      0xfe80000000000000ULL
#define MAX_MR      4096
#define MAX_QP      256
#define MAX_WR      1024
#define MAX_MESSAGE 65536 /* bytes, which are copied under the lock */
#define FIRST_QPN   2     /* the numbers 0 and 1 belong to the special queue pairs */

/* A request waits in a queue of its queue pair, and then, as a completion, in a completion queue.
 */
struct request {
	struct request *next;
	struct ib_wc wc;
	struct ib_sge sge; /* a copy, since the program may reuse its list after the post */
	uint32_t flags;    /* enum ib_send_flags */
};

struct queue {
	struct request *first, *last;
	uint32_t count;
};

/* Each struct of an object begins with the struct of its kind. The Access Layer allocates it,
 * zeroed, with the size from the table at the end of this file, and frees it after the destroy. */
struct skel_mr {
	struct ci_mr mr;
	struct ci_mem mem;
};

struct skel_cq {
	struct ci_cq cq;
	struct queue completions;
	al_arm armed; /* arm that is not satisfied yet */
	bool fresh;   /* a completion was added since the last notification */
	bool overflowed;
	bool notify, report_overflow; /* upcalls that are due, see unlock_and_tell() */
	uint32_t telling;             /* threads that make such upcalls */
	struct skel_cq *next;         /* in hca.noted, if an upcall is due */
};

struct skel_qp {
	struct ci_qp qp;
	struct ib_qp_attr attr;
	struct queue sq, rq;
};

/* The state of the hardware. A real module has such a struct for each HCA, found by ci_ca.hca. */
static struct {
	struct ci_host *host;
	ci_handle handle;
	pthread_mutex_t lock;  /* guards what follows, and all objects */
	pthread_cond_t told;   /* an upcall has returned */
	struct skel_cq *noted; /* completion queues with an upcall that is due */
	void *mrs[MAX_MR], *qps[MAX_QP];
} hca;

/* Adds a request at the end of a queue. Under the lock, as each function that is no operation. */
static void put(struct queue *q, struct request *rq)
{
	rq->next = NULL;
	if (q->count++)
		q->last->next = rq;
	else
		q->first = rq;
	q->last = rq;
}

static struct request *get(struct queue *q)
{
	struct request *rq = q->first;

	q->first = rq->next;
	q->count--;
	return rq;
}

/* ------------------------------------------------------- an upcall beside a destroy */

/*
 * An upcall is made without the lock, because the Access Layer may be in an operation that waits
 * for the lock. But as soon as the lock is given up, another thread may destroy the object: here, a
 * change of one queue pair notifies the completion queue of its peer, on which that operation has
 * no hold. And when a destroy operation has returned, no upcall may come any more. So:
 *
 * 1. An upcall that is due is only noted, under the lock (note()).
 * 2. Each operation makes all noted upcalls before it returns. It counts itself in `telling` while
 *    it is without the lock (unlock_and_tell()).
 * 3. A destroy operation waits until no upcall is noted or under way (destroy_cq()). Nothing new is
 *    noted then, since an object that is destroyed has no users left. No upcall blocks.
 *
 * Upcalls of an interrupt handler need the same three steps. An upcall for the object of the
 * operation itself does not: the Access Layer holds that object (modify_qp()).
 */
static void note(struct skel_cq *cq, bool *upcall)
{
	if (!cq->notify && !cq->report_overflow) {
		cq->next = hca.noted;
		hca.noted = cq;
	}
	*upcall = true;
}

static void unlock_and_tell(void)
{
	struct skel_cq *cq;

	while ((cq = hca.noted)) {
		const struct ci_event overflow = { IB_EVENT_CQ_ERR, .object_ctx = cq->cq.ctx };
		const bool notify = cq->notify, report_overflow = cq->report_overflow;

		hca.noted = cq->next;
		cq->notify = false;
		cq->report_overflow = false;
		cq->telling++; /* from here on destroy_cq() waits for this thread */
		pthread_mutex_unlock(&hca.lock);
		if (report_overflow)
			ib_dispatch_event(&overflow);
		if (notify)
			ib_cq_notify(cq->cq.ctx);
		pthread_mutex_lock(&hca.lock);
		cq->telling--; /* from here on cq may be gone as soon as the lock is given up */
		pthread_cond_broadcast(&hca.told);
	}
	pthread_mutex_unlock(&hca.lock);
}

static void destroy_cq(struct ci_cq *base)
{
	struct skel_cq *cq = (struct skel_cq *)base;

	pthread_mutex_lock(&hca.lock);
	while (cq->notify || cq->report_overflow || cq->telling)
		pthread_cond_wait(&hca.told, &hca.lock);
	pthread_mutex_unlock(&hca.lock);
}

/* ------------------------------------------------------------- completion queues */

static al_status create_cq(struct ci_cq *cq, struct ci_cq_init *init, struct ci_udata *udata)
{
	(void)cq, (void)init; /* init->cqe entries are granted, as many as were asked for */
	(void)udata;          /* NULL, or data of a client's user-mode provider */
	return AL_SUCCESS;
}

/* Ends the arm, and notes its one notification. */
static void satisfy_arm(struct skel_cq *cq)
{
	note(cq, &cq->notify);
	cq->armed = AL_ARM_NONE;
	cq->fresh = false;
}

static al_status poll_cq(struct ci_cq *base, uint32_t num, struct ib_wc *wc, uint32_t *count)
{
	struct skel_cq *cq = (struct skel_cq *)base;
	al_status status;
	uint32_t n = 0;

	pthread_mutex_lock(&hca.lock);
	while (n < num && cq->completions.count) {
		struct request *rq = get(&cq->completions);

		wc[n++] = rq->wc;
		al_free(rq);
	}
	*count = n; /* what came before an overflow is valid, and comes before the error */
	status = !n && cq->overflowed ? AL_CQ_ERROR : AL_SUCCESS;
	pthread_mutex_unlock(&hca.lock);
	return status;
}

static al_status arm_cq(struct ci_cq *base, al_arm type, bool *present)
{
	struct skel_cq *cq = (struct skel_cq *)base;
	al_status status;

	pthread_mutex_lock(&hca.lock);
	status = cq->overflowed ? AL_CQ_ERROR : AL_SUCCESS;
	if (type > cq->armed)
		cq->armed = type; /* of two arms the wider holds */
	if (present)
		*present = cq->completions.count;
	/* A completion came after the program's last poll, and before this arm. */
	if (base->notify == AL_CQ_NOTIFY_PENDING && cq->completions.count && cq->fresh)
		satisfy_arm(cq);
	unlock_and_tell();
	return status;
}

/* What fails a request. */
static const char *const causes[] = {
	[IB_WC_LOC_LEN_ERR] = "the message exceeds the receive, or max_msg_size",
	[IB_WC_LOC_PROT_ERR] = "lkey permits no such access",
	[IB_WC_REM_INV_REQ_ERR] = "the message exceeds the peer's receive",
	[IB_WC_REM_OP_ERR] = "lkey of the peer's receive permits no such access",
	[IB_WC_RETRY_EXC_ERR] = "no connected peer receives",
	[IB_WC_RNR_RETRY_EXC_ERR] = "the peer has no receive",
};

/* Completes the oldest request of a queue of a queue pair. An error takes the queue pair to Error.
 */
static void complete(struct skel_qp *qp, struct queue *q, ib_wc_status status)
{
	struct skel_cq *cq = (struct skel_cq *)(q == &qp->rq ? qp->qp.recv_cq : qp->qp.send_cq);
	struct request *rq = get(q);

	if (status && status != IB_WC_WR_FLUSH_ERR)
		ib_request_failed(qp->qp.ctx, rq->wc.wr_id, status, "%s", causes[status]);
	if (status)
		qp->attr.qp_state = IB_QPS_ERR;
	rq->wc.status = status;
	if (q == &qp->sq && !status && !qp->qp.sq_sig_all && !(rq->flags & IB_SEND_SIGNALED)) {
		al_free(rq); /* the program wants no completion */
	} else if (!cq->overflowed && cq->completions.count < cq->cq.cqe) {
		put(&cq->completions, rq);
		cq->fresh = true;
		if (cq->armed == AL_ARM_ANY || (cq->armed && status) ||
		    (cq->armed == AL_ARM_SOLICITED && rq->wc.wc_flags & IB_WC_SOLICITED))
			satisfy_arm(cq);
	} else { /* the completion is lost, and the connection with it */
		al_free(rq);
		qp->attr.qp_state = IB_QPS_ERR;
		if (!cq->overflowed)
			note(cq, &cq->report_overflow);
		cq->overflowed = true;
	}
}

/* Removes the requests or completions of a queue pair from a queue. */
static void purge(struct queue *q, uint32_t qp_num)
{
	for (uint32_t i = q->count; i; i--) {
		struct request *rq = get(q);

		if (rq->wc.qp_num == qp_num)
			al_free(rq);
		else
			put(q, rq);
	}
}

/* ------------------------------------------------------------------------- memory */

/* Puts an object into a free place of a table. Returns the place; size: the table is full. Not
 * under the lock. */
static uint32_t enter(void **table, uint32_t size, void *object)
{
	uint32_t i = 0;

	pthread_mutex_lock(&hca.lock);
	while (i < size && table[i])
		i++;
	if (i < size)
		table[i] = object;
	pthread_mutex_unlock(&hca.lock);
	return i;
}

/* Without CI_CLIENT_MEMORY, mem is always in this process: of an agent's clients, what they get
 * from al_dma_alloc_coherent(). The low 8 bits of a key are the consumer's. */
static al_status register_mr(struct ci_mr *base, const struct ci_mem *mem, struct ci_udata *udata)
{
	struct skel_mr *mr = (struct skel_mr *)base;
	uint32_t number;

	(void)udata;
	mr->mem = *mem;
	number = enter(hca.mrs, MAX_MR, mr);
	base->lkey = (number + 1) << 8;
	return number == MAX_MR ? AL_LIMIT_EXCEEDED : AL_SUCCESS;
}

static void deregister_mr(struct ci_mr *mr)
{
	pthread_mutex_lock(&hca.lock); /* all accesses are under the lock, so none is left */
	hca.mrs[(mr->lkey >> 8) - 1] = NULL;
	pthread_mutex_unlock(&hca.lock);
}

/* Finds the memory of an element, of which n bytes are accessed. NULL: the key permits no such
 * access. Keys and addresses are whatever a program wrote. */
static char *find_memory(const struct ci_pd *pd, const struct ib_sge *sge, uint32_t n,
			 uint32_t access)
{
	const uint32_t number = (sge->lkey >> 8) - 1;
	const struct skel_mr *mr = number < MAX_MR ? hca.mrs[number] : NULL;
	static char nothing[1];
	uint64_t at;

	if (!n)
		return nothing; /* a message without data needs no key */
	if (!mr || sge->lkey & 0xff || mr->mr.pd != pd || access & ~mr->mem.access)
		return NULL;
	at = sge->addr - mr->mem.iova;
	if (sge->addr < mr->mem.iova || at > mr->mem.length || n > mr->mem.length - at)
		return NULL;
	return (char *)mr->mem.addr + at;
}

/* ---------------------------------------------------------------------- transport */

/* The queue pair at the other end of the connection, or NULL. A port's number is its LID. */
static struct skel_qp *find_peer(const struct skel_qp *qp)
{
	const uint32_t number = qp->attr.dest_qp_num - FIRST_QPN;
	struct skel_qp *peer = number < MAX_QP ? hca.qps[number] : NULL;

	if (!peer || peer->attr.dest_qp_num != qp->qp.qp_num ||
	    peer->attr.port_num != qp->attr.ah_attr.dlid ||
	    peer->attr.ah_attr.dlid != qp->attr.port_num)
		return NULL;
	return peer;
}

/* Carries out the oldest send of a queue pair. False: the send has to wait. */
static bool send_one(struct skel_qp *qp)
{
	struct request *send = qp->sq.first, *recv = NULL;
	ib_wc_status sent = IB_WC_SUCCESS, received = IB_WC_SUCCESS;
	struct skel_qp *peer = find_peer(qp);
	const uint32_t n = send->sge.length;
	char *from = find_memory(qp->qp.pd, &send->sge, n, 0), *to = NULL;

	if (peer && (peer->attr.qp_state < IB_QPS_RTR || peer->attr.qp_state == IB_QPS_ERR))
		peer = NULL;
	if (peer && peer->rq.count) {
		recv = peer->rq.first;
		to = find_memory(peer->qp.pd, &recv->sge, n, IB_ACCESS_LOCAL_WRITE);
	}
	/* The peer's min_rnr_timer is the least time until a send that found no receive is
	 * repeated. This HCA repeats the send when a receive is posted. */
	if (peer && !recv && qp->attr.rnr_retry)
		return false;
	if (n > MAX_MESSAGE)
		sent = IB_WC_LOC_LEN_ERR;
	else if (!from)
		sent = IB_WC_LOC_PROT_ERR;
	else if (!peer) /* a wire would time out; here it is known that no repetition helps */
		sent = IB_WC_RETRY_EXC_ERR;
	else if (!recv)
		sent = IB_WC_RNR_RETRY_EXC_ERR;
	else if (n > recv->sge.length)
		sent = IB_WC_REM_INV_REQ_ERR, received = IB_WC_LOC_LEN_ERR;
	else if (!to)
		sent = IB_WC_REM_OP_ERR, received = IB_WC_LOC_PROT_ERR;
	if (!sent) {
		memmove(to, from, n);
		recv->wc.byte_len = n;
		recv->wc.wc_flags = send->flags & IB_SEND_SOLICITED ? IB_WC_SOLICITED : 0;
	}
	if (!sent || received)
		complete(peer, &peer->rq, received);
	complete(qp, &qp->sq, sent);
	return true;
}

static void send_all(struct skel_qp *qp)
{
	while (qp->attr.qp_state == IB_QPS_RTS && qp->sq.count && send_one(qp))
		;
}

static void flush(struct skel_qp *qp)
{
	while (qp->attr.qp_state == IB_QPS_ERR && qp->sq.count)
		complete(qp, &qp->sq, IB_WC_WR_FLUSH_ERR);
	while (qp->attr.qp_state == IB_QPS_ERR && qp->rq.count)
		complete(qp, &qp->rq, IB_WC_WR_FLUSH_ERR);
}

/* Does what a change of a queue pair makes possible: its sends, those of its peer that have waited,
 * and the end of the requests of both, if they are in Error now. */
static void advance(struct skel_qp *qp)
{
	struct skel_qp *peer = find_peer(qp);

	send_all(qp);
	if (peer) {
		send_all(peer);
		send_all(qp); /* the peer may be in Error now */
		flush(peer);
	}
	flush(qp);
}

/* Takes a queue pair to Reset: nothing of its requests is left, nor of their completions. */
static void reset(struct skel_qp *qp)
{
	qp->attr.qp_state = IB_QPS_RESET;
	purge(&qp->sq, qp->qp.qp_num);
	purge(&qp->rq, qp->qp.qp_num);
	purge(&((struct skel_cq *)qp->qp.send_cq)->completions, qp->qp.qp_num);
	purge(&((struct skel_cq *)qp->qp.recv_cq)->completions, qp->qp.qp_num);
}

/* ------------------------------------------------------------------- queue pairs */

static al_status create_qp(struct ci_qp *base, struct ci_qp_init *init, struct ci_udata *udata)
{
	struct skel_qp *qp = (struct skel_qp *)base;
	uint32_t number;

	(void)udata;
	if (init->attr->qp_type != IB_QPT_RC)
		return AL_UNSUPPORTED;
	qp->attr.cap = init->cap;
	number = enter(hca.qps, MAX_QP, qp);
	base->qp_num = FIRST_QPN + number;
	return number == MAX_QP ? AL_LIMIT_EXCEEDED : AL_SUCCESS;
}

static void destroy_qp(struct ci_qp *base)
{
	struct skel_qp *qp = (struct skel_qp *)base;

	pthread_mutex_lock(&hca.lock);
	hca.qps[base->qp_num - FIRST_QPN] = NULL;
	reset(qp);
	advance(qp); /* the peer's sends find no receiver any more */
	unlock_and_tell();
}

/* The Access Layer has checked the transition and the attributes. But since the check, an error may
 * have taken the queue pair to Error. */
static al_status modify_qp(struct ci_qp *base, const struct ib_qp_attr *attr, uint32_t mask,
			   struct ci_udata *udata)
{
	const struct ci_event drained = { .type = IB_EVENT_SQ_DRAINED, .object_ctx = base->ctx };
	struct skel_qp *qp = (struct skel_qp *)base;
	al_status status = AL_SUCCESS;

	(void)udata;
	pthread_mutex_lock(&hca.lock);
	if (qp->attr.qp_state == IB_QPS_ERR && mask & IB_QP_STATE &&
	    attr->qp_state != IB_QPS_RESET && attr->qp_state != IB_QPS_ERR)
		status = ib_refuse(AL_INVALID_TRANSITION, "the queue pair has changed to Error");
	else
		ib_qp_attr_update(&qp->attr, attr, mask);
	if (qp->attr.qp_state == IB_QPS_RESET)
		reset(qp);
	advance(qp);
	unlock_and_tell();
	/* No send is ever half done here, so in SQD the send queue is drained at once. */
	if (!status && mask & IB_QP_EN_SQD_ASYNC_NOTIFY && attr->en_sqd_async_notify)
		ib_dispatch_event(&drained);
	return status;
}

static al_status query_qp(struct ci_qp *base, struct ib_qp_attr *attr)
{
	pthread_mutex_lock(&hca.lock);
	*attr = ((struct skel_qp *)base)->attr;
	pthread_mutex_unlock(&hca.lock);
	attr->cur_qp_state = attr->qp_state; /* an error changes qp_state */
	return AL_SUCCESS;
}

/* Adds a request to a queue of `size` requests. The Access Layer has checked nothing of it. */
static al_status add(struct skel_qp *qp, struct queue *q, uint32_t size, struct request rq,
		     const struct ib_sge *list, uint32_t num_sge)
{
	struct request *added;

	if (num_sge > 1 || (num_sge && !list))
		return ib_refuse(AL_INVALID_SGE, "num_sge is %u, and the most is 1", num_sge);
	if (q->count >= size)
		return ib_refuse(AL_QUEUE_FULL, "the queue holds %u requests already", size);
	added = al_alloc(sizeof(*added));
	if (!added)
		return AL_INSUFFICIENT_MEMORY;
	*added = rq;
	added->wc.qp_num = qp->qp.qp_num;
	added->wc.qp_context = qp->qp.owner_context;
	if (num_sge)
		added->sge = *list;
	put(q, added);
	return AL_SUCCESS;
}

static al_status add_send(struct skel_qp *qp, const struct ib_send_wr *wr)
{
	const struct request rq = { .wc = { .wr_id = wr->wr_id }, .flags = wr->send_flags };

	if (qp->attr.qp_state < IB_QPS_RTS)
		return ib_refuse(AL_INVALID_STATE, "the queue pair is not in RTS");
	if (wr->opcode != IB_WR_SEND || wr->send_flags & IB_SEND_INLINE)
		return ib_refuse(AL_INVALID_OPCODE, "the HCA has plain sends only");
	return add(qp, &qp->sq, qp->qp.cap.max_send_wr, rq, wr->sg_list, wr->num_sge);
}

static al_status post_send(struct ci_qp *base, const struct ib_send_wr *wr,
			   const struct ib_send_wr **bad)
{
	struct skel_qp *qp = (struct skel_qp *)base;
	al_status status = AL_SUCCESS;

	pthread_mutex_lock(&hca.lock);
	for (; wr && !status; wr = status ? wr : wr->next)
		status = add_send(qp, wr);
	if (status)
		*bad = wr; /* the requests before it are posted, the others are not */
	advance(qp);
	unlock_and_tell();
	return status;
}

static al_status add_recv(struct skel_qp *qp, const struct ib_recv_wr *wr)
{
	const struct request rq = { .wc = { .wr_id = wr->wr_id, .opcode = IB_WC_RECV } };

	if (qp->attr.qp_state == IB_QPS_RESET)
		return ib_refuse(AL_INVALID_STATE, "the queue pair is in Reset");
	return add(qp, &qp->rq, qp->qp.cap.max_recv_wr, rq, wr->sg_list, wr->num_sge);
}

static al_status post_recv(struct ci_qp *base, const struct ib_recv_wr *wr,
			   const struct ib_recv_wr **bad)
{
	struct skel_qp *qp = (struct skel_qp *)base;
	al_status status = AL_SUCCESS;

	pthread_mutex_lock(&hca.lock);
	for (; wr && !status; wr = status ? wr : wr->next)
		status = add_recv(qp, wr);
	if (status)
		*bad = wr;
	advance(qp);
	unlock_and_tell();
	return status;
}

/* ---------------------------------------------------------------- HCA and module */

/* What is not set is zero: the HCA lacks the ability. The Access Layer enforces the limits. */
static al_status query_ca(struct ci_ca *ca, struct ib_ca_attr *attr)
{
	(void)ca; /* ca->hca is the pointer that scan() passed to ib_register_ci() */
	/* clang-format off */
	*attr = (struct ib_ca_attr){
		.node_guid = GUID, .node_desc = "skeleton", .fw_ver = "1.0", .location = "software",
		.num_ports = 2, .num_comp_vectors = 1, .max_pkeys = 1, .max_pd = 1024, .max_ah = 1024,
		.max_mr = MAX_MR, .max_mr_size = UINT64_MAX, .page_size_cap = 4096,
		.max_cq = 1024, .max_cqe = 2 * MAX_WR, .max_qp = MAX_QP, .max_qp_wr = MAX_WR,
		.max_send_sge = 1, .max_recv_sge = 1,
	};
	/* clang-format on */
	return AL_SUCCESS;
}

/* A subnet manager would give the ports their LIDs, and take them to Active. */
static al_status query_port(struct ci_ca *ca, uint8_t port, struct ib_port_attr *attr)
{
	(void)ca;
	/* clang-format off */
	*attr = (struct ib_port_attr){
		.port_guid = GUID + port, .subnet_prefix = PREFIX, .gid_tbl_len = 1, .pkey_tbl_len = 1,
		.state = IB_PORT_ACTIVE, .phys_state = IB_PHYS_LINK_UP, .lid = port, .max_vl_num = 1,
		.active_width = IB_WIDTH_4X, .active_speed = IB_SPEED_SDR, .max_mtu = IB_MTU_4096,
		.active_mtu = IB_MTU_4096, .max_msg_size = MAX_MESSAGE,
		.link_layer = IB_LINK_LAYER_INFINIBAND,
	};
	/* clang-format on */
	return AL_SUCCESS;
}

/* The one entry of the table: the subnet prefix and the port GUID, in network byte order. */
static al_status query_gid(struct ci_ca *ca, uint8_t port, uint32_t index, ib_gid *gid)
{
	(void)ca, (void)index;
	for (int i = 0; i < 8; i++) {
		gid->raw[i] = (uint8_t)(PREFIX >> (56 - 8 * i));
		gid->raw[8 + i] = (uint8_t)((GUID + port) >> (56 - 8 * i));
	}
	return AL_SUCCESS;
}

static al_status query_pkey(struct ci_ca *ca, uint8_t port, uint32_t index, uint16_t *pkey)
{
	(void)ca, (void)port, (void)index;
	*pkey = IB_PKEY_DEFAULT;
	return AL_SUCCESS;
}

/* The required operations in which this HCA has nothing to do. */
/* clang-format off */
static al_status open_ca(struct ci_ca *ca) { (void)ca; return AL_SUCCESS; }
static void close_ca(struct ci_ca *ca) { (void)ca; }
static al_status allocate_pd(struct ci_pd *pd, struct ci_udata *udata)
{ (void)pd, (void)udata; return AL_SUCCESS; }
static void deallocate_pd(struct ci_pd *pd) { (void)pd; }
static al_status create_ah(struct ci_ah *ah, const struct ib_ah_attr *attr, struct ci_udata *udata)
{ (void)ah, (void)attr, (void)udata; return AL_SUCCESS; }
static void destroy_ah(struct ci_ah *ah) { (void)ah; }

/* The library replaces the members that are NULL, all other operations, by AL_UNSUPPORTED. */
static const struct ci_interface operations = {
	.size = sizeof(struct ci_interface), .abi_major = CI_ABI_MAJOR, .abi_minor = CI_ABI_MINOR,
	.obj_size = { [CI_OBJ_MR] = sizeof(struct skel_mr), [CI_OBJ_CQ] = sizeof(struct skel_cq),
		      [CI_OBJ_QP] = sizeof(struct skel_qp) },
	.open_ca = open_ca, .close_ca = close_ca, .query_ca = query_ca, .query_port = query_port,
	.query_gid = query_gid, .query_pkey = query_pkey,
	.allocate_pd = allocate_pd, .deallocate_pd = deallocate_pd,
	.create_ah = create_ah, .destroy_ah = destroy_ah,
	.register_mr = register_mr, .deregister_mr = deregister_mr,
	.create_cq = create_cq, .destroy_cq = destroy_cq, .poll_cq = poll_cq, .arm_cq = arm_cq,
	.create_qp = create_qp, .destroy_qp = destroy_qp, .modify_qp = modify_qp,
	.query_qp = query_qp, .post_send = post_send, .post_recv = post_recv,
};
/* clang-format on */

/* Sets all variables anew: in a forked child they have the parent's values. */
static al_status init(struct ci_host *host, const struct ci_params *params)
{
	memset(&hca, 0, sizeof(hca));
	pthread_mutex_init(&hca.lock, NULL);
	pthread_cond_init(&hca.told, NULL);
	hca.host = host;
	if (!params->count)
		return AL_SUCCESS;
	ib_log(IB_LOG_ERROR, "skeleton", "%s: %s: the module has no settings",
	       params->param->origin, params->param->key);
	return AL_BAD_CONFIG;
}

/* Of a PCI function, probe() would do this, and remove() what cleanup() does. */
static al_status scan(void)
{
	return ib_register_ci(hca.host, &operations, &hca, &hca.handle);
}

static void cleanup(void)
{
	if (hca.handle)
		ib_deregister_ci(hca.handle, 0);
}

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
