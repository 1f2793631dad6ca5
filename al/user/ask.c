/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The requests to the agent: ask_NAME() carries out the operation NAME of ci/ops.def by one
 * request. The forwarded data path of completion queues is here too; posts are in post.c. An object
 * of this library holds the agent's handle of its counterpart, its remote. Remote is 0 if a
 * provider's pre-hook has done the whole creation, and the agent has no counterpart.
 */
#include <string.h>
#include <unistd.h>

#include "al/object/shared.h"
#include "al/user/user.h"

/* Sends a query, and on success copies the first size bytes of the answer's struct. */
static al_status query(const struct ci_ca *ca, enum agent_command command, const void *request,
		     void *to, size_t size)
{
	char answer[USER_FIXED] __attribute__((aligned(8)));
	al_status status = user_simple(hca_of(ca)->conn, command, request, answer, NULL);

	if (!status)
		memcpy(to, answer, size);
	return status;
}

/* Destroys the object at the agent, and drops its cookie. If the agent is lost, its objects are
 * already gone. */
static void destroy(const struct ci_ca *ca, struct user_object *own)
{
	const struct DESTROY_request request = { .handle = own->remote };

	if (own->remote)
		user_simple(hca_of(ca)->conn, AGENT_DESTROY, &request, NULL, NULL);
	if (own->cookie)
		user_cookie_drop(hca_of(ca)->conn, own->cookie);
	*own = (struct user_object){ 0 };
}

/* ---------------------------------------------------------------------- HCA */

al_status ask_open_ca(struct ci_ca *ca, struct uvp_call *call)
{
	struct user_hca *hca = ca->hca;
	struct OPEN_CA_request request = { .guid = hca->guid };
	struct OPEN_CA_answer answer;
	al_status status = user_cookie_take(hca->conn, ca, AL_OBJ_NONE, &hca->own.cookie);

	if (status)
		return status;
	request.cookie = hca->own.cookie;
	status = user_simple(hca->conn, AGENT_OPEN_CA, &request, &answer, call);
	if (status)
		user_cookie_drop(hca->conn, hca->own.cookie);
	hca->own.remote = answer.handle;
	hca->attr = answer.attr;
	return status;
}

void ask_close_ca(struct ci_ca *ca, struct uvp_call *call)
{
	(void)call;
	destroy(ca, &((struct user_hca *)ca->hca)->own);
}

/*
 * During the registration of the HCA, al is NULL still, and the answer is the HCA's own maxima,
 * which no client's limit exceeds. Later the agent answers with the maxima as this client's limits
 * lower them at that moment.
 */
static al_status query_ca_attr(struct ci_ca *ca, struct ib_ca_attr *attr)
{
	const struct QUERY_CA_request request = { .ca = hca_of(ca)->own.remote };
	const struct ci_registration *reg = ca->ctx;

	if (atomic_load(&reg->al))
		return query(ca, AGENT_QUERY_CA, &request, attr, sizeof(*attr));
	*attr = hca_of(ca)->attr;
	return AL_SUCCESS;
}

al_status ask_query_ca(struct ci_ca *ca, struct ib_ca_attr *attr, struct uvp_call *call)
{
	al_status status = query_ca_attr(ca, attr);

	(void)call;
	if (status)
		return status;
	/* The agent's module works on copies, so an HCA's atomics are not atomic against the
	 * processor's. */
	if (attr->atomic_cap == IB_ATOMIC_GLOBAL)
		attr->atomic_cap = IB_ATOMIC_HCA;
	if (attr->masked_atomic_cap == IB_ATOMIC_GLOBAL)
		attr->masked_atomic_cap = IB_ATOMIC_HCA;
	if (attr->max_inline_data > AGENT_TAILS_MAX * IB_FLAT_UNIT)
		attr->max_inline_data = AGENT_TAILS_MAX * IB_FLAT_UNIT;
	return AL_SUCCESS;
}

al_status ask_query_port(struct ci_ca *ca, uint8_t port, struct ib_port_attr *attr,
			 struct uvp_call *call)
{
	const struct QUERY_PORT_request request = { hca_of(ca)->own.remote, port };
	al_status status = query(ca, AGENT_QUERY_PORT, &request, attr, sizeof(*attr));

	(void)call;
	/* The agent's library has the port's agents, and this one has no part in them. */
	if (!status)
		attr->ci_caps &= ~(uint32_t)(CI_PORT_SMA_IN_AL | CI_PORT_PMA_IN_AL |
					     CI_PORT_MAD_ANY_CONTEXT);
	return status;
}

al_status ask_query_gid(struct ci_ca *ca, uint8_t port, uint32_t index, ib_gid *gid,
			struct uvp_call *call)
{
	const struct QUERY_GID_request request = { hca_of(ca)->own.remote, port, index };

	(void)call;
	return query(ca, AGENT_QUERY_GID, &request, gid, sizeof(*gid));
}

al_status ask_query_pkey(struct ci_ca *ca, uint8_t port, uint32_t index, uint16_t *pkey,
			 struct uvp_call *call)
{
	const struct QUERY_PKEY_request request = { hca_of(ca)->own.remote, port, index };
	struct QUERY_PKEY_answer answer;
	al_status status = query(ca, AGENT_QUERY_PKEY, &request, &answer, sizeof(answer));

	(void)call;
	if (!status)
		*pkey = (uint16_t)answer.pkey;
	return status;
}

al_status ask_modify_ca(struct ci_ca *ca, uint32_t mask, const struct ib_ca_attr *attr,
			struct uvp_call *call)
{
	const struct MODIFY_CA_request request = { hca_of(ca)->own.remote, mask, *attr };

	(void)call;
	return user_simple(hca_of(ca)->conn, AGENT_MODIFY_CA, &request, NULL, NULL);
}

al_status ask_modify_port(struct ci_ca *ca, uint8_t port, uint32_t mask,
			  const struct ib_port_modify *attr, struct uvp_call *call)
{
	const struct MODIFY_PORT_request request = { hca_of(ca)->own.remote, mask, port, *attr };

	(void)call;
	return user_simple(hca_of(ca)->conn, AGENT_MODIFY_PORT, &request, NULL, NULL);
}

al_status ask_vendor_call(struct ci_ca *ca, struct ci_vendor_call *vendor, struct uvp_call *exchange)
{
	struct VENDOR_CALL_request *request;
	struct user_call call;
	al_status status;

	if (vendor->in_len > AGENT_VENDOR_BYTES)
		return ib_refuse(AL_INVALID_PARAMETER,
				 "in_len is %u, and at most %u bytes go through an agent",
				 vendor->in_len, AGENT_VENDOR_BYTES);
	status = user_begin(&call, hca_of(ca)->conn, AGENT_VENDOR_CALL);
	if (status)
		return status;
	call.vendor = exchange;
	request = call.request;
	request->ca = hca_of(ca)->own.remote;
	request->code = vendor->code;
	request->room = vendor->out_len < AGENT_VENDOR_BYTES ? vendor->out_len : AGENT_VENDOR_BYTES;
	if (vendor->in_len)
		memcpy(call.in[0], vendor->in, vendor->in_len);
	call.count[0] = vendor->in_len;
	status = user_ask(&call);
	if (!status && call.out_count > vendor->out_len)
		status = AL_AGENT_PROTOCOL;
	if (!status) {
		if (call.out_count)
			memcpy(vendor->out, call.out, call.out_count);
		vendor->out_len = call.out_count;
	}
	user_end(&call);
	return status;
}

/* ------------------------------------------------------------------ domains */

al_status ask_allocate_pd(struct ci_pd *pd, struct uvp_call *call)
{
	const struct ALLOC_PD_request request = { .ca = hca_of(pd->ca)->own.remote };
	struct made_answer answer;
	al_status status = user_simple(pd_conn(pd), AGENT_ALLOC_PD, &request, &answer, call);

	pd_own(pd)->remote = answer.handle;
	return status;
}

void ask_deallocate_pd(struct ci_pd *pd, struct uvp_call *call)
{
	(void)call;
	destroy(pd->ca, pd_own(pd));
}

/* ---------------------------------------------------------- address handles: the agent has none */

al_status ask_create_ah(struct ci_ah *ah, const struct ib_ah_attr *attr, struct uvp_call *call)
{
	(void)call;
	pthread_mutex_init(&ah_own(ah)->lock, NULL);
	ah_own(ah)->attr = *attr;
	return AL_SUCCESS;
}

al_status ask_modify_ah(struct ci_ah *ah, const struct ib_ah_attr *attr, struct uvp_call *call)
{
	struct user_path *path = ah_own(ah);

	(void)call;
	pthread_mutex_lock(&path->lock);
	path->attr = *attr;
	pthread_mutex_unlock(&path->lock);
	return AL_SUCCESS;
}

al_status ask_query_ah(struct ci_ah *ah, struct ib_ah_attr *attr, struct uvp_call *call)
{
	struct user_path *path = ah_own(ah);

	(void)call;
	pthread_mutex_lock(&path->lock);
	*attr = path->attr;
	pthread_mutex_unlock(&path->lock);
	return AL_SUCCESS;
}

void ask_destroy_ah(struct ci_ah *ah, struct uvp_call *call)
{
	(void)call;
	pthread_mutex_destroy(&ah_own(ah)->lock);
}

/* ------------------------------------------------------------------- memory */

al_status ask_register_mr(struct ci_mr *mr, const struct ci_mem *mem, struct uvp_call *exchange)
{
	const struct REG_MR_answer *answer;
	struct REG_MR_request *request;
	struct user_call call;
	uint64_t offset = 0;
	int memory;
	al_status status = shared_find(mem->addr, mem->length, &memory, &offset);

	if (status)
		return status;
	status = user_begin(&call, pd_conn(mr->pd), AGENT_REG_MR);
	if (status)
		goto out;
	call.vendor = exchange;
	call.memory = memory;
	request = call.request;
	*request = (struct REG_MR_request){
		.pd = pd_own(mr->pd)->remote,
		.addr = (uintptr_t)mem->addr,
		.length = mem->length,
		.iova = mem->iova,
		.offset = offset,
		.access = mem->access,
		.mapped = memory >= 0,
	};
	status = user_ask(&call);
	answer = call.answer;
	mr_own(mr)->remote = answer->handle;
	mr->lkey = answer->lkey;
	mr->rkey = answer->rkey;
	user_end(&call);
out:
	if (memory >= 0)
		close(memory);
	return status;
}

void ask_deregister_mr(struct ci_mr *mr, struct uvp_call *call)
{
	(void)call;
	destroy(mr->pd->ca, mr_own(mr));
}

al_status ask_query_mr(struct ci_mr *mr, struct ib_mr_attr *attr, struct uvp_call *call)
{
	const struct QUERY_MR_request request = { mr_own(mr)->remote };

	(void)call;
	return query(mr->pd->ca, AGENT_QUERY_MR, &request, attr, sizeof(*attr));
}

/* -------------------------------------------------------- completion queues */

al_status ask_create_cq(struct ci_cq *cq, struct ci_cq_init *init, struct uvp_call *call)
{
	struct user_object *own = cq_own(cq);
	struct CREATE_CQ_request request = {
		.pd = pd_own(cq->pd)->remote,
		.cqe = init->cqe,
		.comp_vector = init->comp_vector,
		.notify = init->notify,
	};
	struct CREATE_CQ_answer answer;
	al_status status = user_cookie_take(pd_conn(cq->pd), cq, AL_OBJ_CQ, &own->cookie);

	if (status)
		return status;
	request.cookie = own->cookie;
	status = user_simple(pd_conn(cq->pd), AGENT_CREATE_CQ, &request, &answer, call);
	if (answer.cqe) /* 0: the agent's limit has refused the queue, and the HCA has no size to tell */
		init->cqe = (uint32_t)answer.cqe;
	if (status) {
		user_cookie_drop(pd_conn(cq->pd), own->cookie);
		return status;
	}
	own->remote = answer.handle;
	cq->cqe = init->cqe;
	return AL_SUCCESS;
}

void ask_destroy_cq(struct ci_cq *cq, struct uvp_call *call)
{
	(void)call;
	destroy(cq->pd->ca, cq_own(cq));
}

al_status ask_resize_cq(struct ci_cq *cq, uint32_t *cqe, struct uvp_call *call)
{
	const struct RESIZE_CQ_request request = { .cq = cq_own(cq)->remote, .cqe = *cqe };
	struct RESIZE_CQ_answer answer;
	al_status status = user_simple(pd_conn(cq->pd), AGENT_RESIZE_CQ, &request, &answer, call);

	if (answer.cqe) /* 0: the agent's limit has refused the size, and the HCA has no size to tell */
		*cqe = (uint32_t)answer.cqe;
	return status;
}

al_status ask_modify_cq(struct ci_cq *cq, uint16_t count, uint16_t period, struct uvp_call *call)
{
	const struct MODIFY_CQ_request request = { cq_own(cq)->remote, count, period, 0 };

	(void)call;
	return user_simple(pd_conn(cq->pd), AGENT_MODIFY_CQ, &request, NULL, NULL);
}

al_status ask_query_cq(struct ci_cq *cq, struct al_cq_attr *attr, struct uvp_call *call)
{
	const struct QUERY_CQ_request request = { cq_own(cq)->remote };

	(void)call;
	return query(cq->pd->ca, AGENT_QUERY_CQ, &request, attr, sizeof(*attr));
}

/* Copies completions, and replaces the cookie of each queue pair by its qp_context (cookie 0: the
 * module has named no queue pair). Drops the completions of a queue pair that is destroyed already.
 * Returns the number of completions copied. */
static uint32_t copy_completions(struct user_conn *conn, const struct user_call *call, struct ib_wc *to)
{
	const struct ib_wc *wc = call->out;
	const struct ci_qp *qp;
	uint32_t copied = 0;

	pthread_mutex_lock(&conn->cookie_lock);
	for (uint32_t i = 0; i < call->out_count; i++) {
		qp = user_cookie_find(conn, (uintptr_t)wc[i].qp_context, AL_OBJ_QP);
		if (!qp && wc[i].qp_context)
			continue;
		to[copied] = wc[i];
		to[copied].qp_context = qp ? qp->owner_context : NULL;
		copied++;
	}
	pthread_mutex_unlock(&conn->cookie_lock);
	return copied;
}

al_status user_poll_cq(struct ci_cq *ci, uint32_t num, struct ib_wc *wc, uint32_t *count)
{
	struct user_conn *conn = pd_conn(ci->pd);
	struct POLL_CQ_request *request;
	struct user_call call;
	al_status status = user_begin(&call, conn, AGENT_POLL_CQ);

	if (status)
		return status;
	request = call.request;
	request->cq = cq_own(ci)->remote;
	request->num = num < AGENT_POLL_MAX ? num : AGENT_POLL_MAX;
	/* A count of 0 tells the caller that the queue is empty. So the poll is repeated if all
	 * completions were of queue pairs that are destroyed. */
	do {
		status = user_ask(&call);
		if (!status && call.out_count > num)
			status = AL_AGENT_PROTOCOL;
		if (!status)
			*count = call.out_count ? copy_completions(conn, &call, wc) : 0;
	} while (!status && call.out_count && !*count);
	user_end(&call);
	return status;
}

al_status user_peek_cq(struct ci_cq *cq, uint32_t max, uint32_t *count)
{
	const struct PEEK_CQ_request request = { cq_own(cq)->remote, max };
	struct PEEK_CQ_answer answer;
	al_status status = query(cq->pd->ca, AGENT_PEEK_CQ, &request, &answer, sizeof(answer));

	if (!status)
		*count = (uint32_t)answer.count;
	return status;
}

al_status user_arm_cq(struct ci_cq *cq, al_arm type, bool *present)
{
	const struct ARM_CQ_request request = { cq_own(cq)->remote, type };
	struct ARM_CQ_answer answer;
	al_status status = user_simple(pd_conn(cq->pd), AGENT_ARM_CQ, &request, &answer, NULL);

	if (!status && present)
		*present = answer.present;
	return status;
}

al_status user_arm_cq_n(struct ci_cq *cq, uint32_t num)
{
	const struct ARM_CQ_N_request request = { cq_own(cq)->remote, num };

	return user_simple(pd_conn(cq->pd), AGENT_ARM_CQ_N, &request, NULL, NULL);
}

/* -------------------------------------------------------------- queue pairs */

static uint64_t remote_cq(const struct ci_cq *cq)
{
	return cq ? cq_own(cq)->remote : 0;
}

al_status ask_create_qp(struct ci_qp *qp, struct ci_qp_init *init, struct uvp_call *call)
{
	struct user_conn *conn = pd_conn(qp->pd);
	struct user_object *own = qp_own(qp);
	struct CREATE_QP_request request = {
		.pd = pd_own(qp->pd)->remote,
		.send_cq = remote_cq(qp->send_cq),
		.recv_cq = remote_cq(qp->recv_cq),
		.cap = init->cap,
		.qp_type = qp->qp_type,
		.sq_sig_all = qp->sq_sig_all,
		.block_mcast_loopback = init->attr->block_mcast_loopback,
	};
	struct CREATE_QP_answer answer;
	al_status status;

	if (qp->srq || init->rdd || init->xrcd)
		return ib_refuse(AL_UNSUPPORTED, "srq, rdd and xrcd do not work through an agent");
	status = user_cookie_take(conn, qp, AL_OBJ_QP, &own->cookie);
	if (status)
		return status;
	request.cookie = own->cookie;
	status = user_simple(conn, AGENT_CREATE_QP, &request, &answer, call);
	if (!status || answer.cap.max_send_wr) /* 0: the agent's limit has refused the queue pair */
		init->cap = answer.cap;
	if (status) {
		user_cookie_drop(conn, own->cookie);
		return status;
	}
	own->remote = answer.handle;
	qp->cap = answer.cap;
	qp->qp_num = answer.qp_num;
	return AL_SUCCESS;
}

al_status ask_modify_qp(struct ci_qp *qp, const struct ib_qp_attr *attr, uint32_t mask,
			struct uvp_call *call)
{
	const struct MODIFY_QP_request request = { qp_own(qp)->remote, mask, *attr };

	return user_simple(pd_conn(qp->pd), AGENT_MODIFY_QP, &request, NULL, call);
}

al_status ask_query_qp(struct ci_qp *qp, struct ib_qp_attr *attr, struct uvp_call *call)
{
	const struct QUERY_QP_request request = { qp_own(qp)->remote };

	(void)call;
	return query(qp->pd->ca, AGENT_QUERY_QP, &request, attr, sizeof(*attr));
}

void ask_destroy_qp(struct ci_qp *qp, struct uvp_call *call)
{
	(void)call;
	destroy(qp->pd->ca, qp_own(qp));
}

/* ---------------------------------------------------------- multicast groups */

static al_status ask_group(const struct ci_qp *qp, enum agent_command command, const ib_gid *gid,
			   uint16_t mlid)
{
	const struct ATTACH_MCAST_request request = { .qp = qp_own(qp)->remote,
						      .gid = *gid,
						      .mlid = mlid };

	return user_simple(pd_conn(qp->pd), command, &request, NULL, NULL);
}

al_status ask_attach_mcast(struct ci_qp *qp, const ib_gid *gid, uint16_t mlid,
			   struct uvp_call *call)
{
	(void)call;
	return ask_group(qp, AGENT_ATTACH_MCAST, gid, mlid);
}

al_status ask_detach_mcast(struct ci_qp *qp, const ib_gid *gid, uint16_t mlid,
			   struct uvp_call *call)
{
	(void)call;
	return ask_group(qp, AGENT_DETACH_MCAST, gid, mlid);
}
