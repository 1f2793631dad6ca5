/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The operations of an HCA behind an agent: each asks the agent for the command of the same name.
 * An object here holds the agent's handle of the one there, its remote. Posting is in post.c.
 */
#include <string.h>

#include "al/user/user.h"

static struct user_hca *hca_of(const struct ci_ca *ca)
{
	return ca->hca;
}

/* What destroys cost an agent that is lost: nothing, its objects went with it. */
static void destroy(struct user_conn *conn, uint64_t remote)
{
	const struct DESTROY_request request = { .handle = remote };

	user_simple(conn, AGENT_DESTROY, &request, NULL);
}

/* ---------------------------------------------------------------------- HCA */

static al_status open_ca(struct ci_ca *ca)
{
	struct user_hca *hca = hca_of(ca);
	struct OPEN_CA_request request = { .guid = hca->guid };
	struct OPEN_CA_answer answer;
	al_status status = user_cookie_take(hca->conn, ca, &hca->cookie);

	if (status)
		return status;
	request.cookie = hca->cookie;
	status = user_simple(hca->conn, AGENT_OPEN_CA, &request, &answer);
	if (status)
		user_cookie_drop(hca->conn, hca->cookie);
	hca->remote = answer.handle;
	return status;
}

static void close_ca(struct ci_ca *ca)
{
	struct user_hca *hca = hca_of(ca);

	destroy(hca->conn, hca->remote);
	user_cookie_drop(hca->conn, hca->cookie);
}

static al_status query_ca(struct ci_ca *ca, struct ib_ca_attr *attr)
{
	struct user_hca *hca = hca_of(ca);
	const struct QUERY_CA_request request = { .ca = hca->remote };
	struct QUERY_CA_answer answer;
	al_status status = user_simple(hca->conn, AGENT_QUERY_CA, &request, &answer);

	if (status)
		return status;
	*attr = answer.attr;
	/* The agent copies: the processor's own atomics do not meet those of a queue pair. */
	if (attr->atomic_cap == IB_ATOMIC_GLOBAL)
		attr->atomic_cap = IB_ATOMIC_HCA;
	if (attr->masked_atomic_cap == IB_ATOMIC_GLOBAL)
		attr->masked_atomic_cap = IB_ATOMIC_HCA;
	if (attr->max_inline_data > AGENT_PIECES_MAX * sizeof(struct ib_sge))
		attr->max_inline_data = AGENT_PIECES_MAX * sizeof(struct ib_sge);
	return AL_SUCCESS;
}

static al_status query_port(struct ci_ca *ca, uint8_t port, struct ib_port_attr *attr)
{
	const struct QUERY_PORT_request request = { .ca = hca_of(ca)->remote, .port = port };
	struct QUERY_PORT_answer answer;
	al_status status = user_simple(hca_of(ca)->conn, AGENT_QUERY_PORT, &request, &answer);

	if (!status)
		*attr = answer.attr;
	return status;
}

static al_status query_gid(struct ci_ca *ca, uint8_t port, uint32_t index, ib_gid *gid)
{
	const struct QUERY_GID_request request = { hca_of(ca)->remote, port, index };
	struct QUERY_GID_answer answer;
	al_status status = user_simple(hca_of(ca)->conn, AGENT_QUERY_GID, &request, &answer);

	if (!status)
		*gid = answer.gid;
	return status;
}

static al_status query_pkey(struct ci_ca *ca, uint8_t port, uint32_t index, uint16_t *pkey)
{
	const struct QUERY_PKEY_request request = { hca_of(ca)->remote, port, index };
	struct QUERY_PKEY_answer answer;
	al_status status = user_simple(hca_of(ca)->conn, AGENT_QUERY_PKEY, &request, &answer);

	if (!status)
		*pkey = (uint16_t)answer.pkey;
	return status;
}

static al_status modify_ca(struct ci_ca *ca, uint32_t mask, const struct ib_ca_attr *attr)
{
	const struct MODIFY_CA_request request = { hca_of(ca)->remote, mask, *attr };

	return user_simple(hca_of(ca)->conn, AGENT_MODIFY_CA, &request, NULL);
}

static al_status modify_port(struct ci_ca *ca, uint8_t port, uint32_t mask,
			     const struct ib_port_modify *attr)
{
	const struct MODIFY_PORT_request request = { hca_of(ca)->remote, mask, port, *attr };

	return user_simple(hca_of(ca)->conn, AGENT_MODIFY_PORT, &request, NULL);
}

static al_status vendor_call(struct ci_ca *ca, struct ci_vendor_call *vendor,
			     struct ci_udata *udata)
{
	struct VENDOR_CALL_request *request;
	struct user_call call;
	al_status status;

	(void)udata;
	if (vendor->in_len > AGENT_VENDOR_BYTES)
		return AL_INVALID_PARAMETER;
	status = user_begin(&call, hca_of(ca)->conn, AGENT_VENDOR_CALL);
	if (status)
		return status;
	request = call.request;
	request->ca = hca_of(ca)->remote;
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

static al_status allocate_pd(struct ci_pd *ci, struct ci_udata *udata)
{
	struct user_hca *hca = hca_of(ci->ca);
	const struct ALLOC_PD_request request = { .ca = hca->remote };
	struct made_answer answer;
	al_status status = user_simple(hca->conn, AGENT_ALLOC_PD, &request, &answer);

	(void)udata;
	((struct user_pd *)ci)->remote = answer.handle;
	return status;
}

static void deallocate_pd(struct ci_pd *ci)
{
	destroy(pd_conn(ci), ((struct user_pd *)ci)->remote);
}

/* ---------------------------------------------------------- address handles: they stay here */

static al_status create_ah(struct ci_ah *ci, const struct ib_ah_attr *attr, struct ci_udata *udata)
{
	struct user_ah *ah = (struct user_ah *)ci;

	(void)udata;
	pthread_mutex_init(&ah->lock, NULL);
	ah->attr = *attr;
	return AL_SUCCESS;
}

static al_status modify_ah(struct ci_ah *ci, const struct ib_ah_attr *attr)
{
	struct user_ah *ah = (struct user_ah *)ci;

	pthread_mutex_lock(&ah->lock);
	ah->attr = *attr;
	pthread_mutex_unlock(&ah->lock);
	return AL_SUCCESS;
}

static al_status query_ah(struct ci_ah *ci, struct ib_ah_attr *attr)
{
	struct user_ah *ah = (struct user_ah *)ci;

	pthread_mutex_lock(&ah->lock);
	*attr = ah->attr;
	pthread_mutex_unlock(&ah->lock);
	return AL_SUCCESS;
}

static void destroy_ah(struct ci_ah *ci)
{
	pthread_mutex_destroy(&((struct user_ah *)ci)->lock);
}

/* ------------------------------------------------------------------- memory */

static al_status register_mr(struct ci_mr *ci, const struct ci_mem *mem, struct ci_udata *udata)
{
	const struct REG_MR_request request = {
		.pd = ((const struct user_pd *)ci->pd)->remote,
		.addr = (uintptr_t)mem->addr,
		.length = mem->length,
		.iova = mem->iova,
		.access = mem->access,
	};
	struct REG_MR_answer answer;
	al_status status = user_simple(pd_conn(ci->pd), AGENT_REG_MR, &request, &answer);

	(void)udata;
	((struct user_mr *)ci)->remote = answer.handle;
	ci->lkey = answer.lkey;
	ci->rkey = answer.rkey;
	return status;
}

static void deregister_mr(struct ci_mr *ci)
{
	destroy(pd_conn(ci->pd), ((struct user_mr *)ci)->remote);
}

static al_status query_mr(struct ci_mr *ci, struct ib_mr_attr *attr)
{
	const struct QUERY_MR_request request = { ((struct user_mr *)ci)->remote };
	struct QUERY_MR_answer answer;
	al_status status = user_simple(pd_conn(ci->pd), AGENT_QUERY_MR, &request, &answer);

	if (!status)
		*attr = answer.attr;
	return status;
}

/* -------------------------------------------------------- completion queues */

static al_status create_cq(struct ci_cq *ci, struct ci_cq_init *init, struct ci_udata *udata)
{
	struct user_cq *cq = (struct user_cq *)ci;
	struct CREATE_CQ_request request = {
		.pd = ((const struct user_pd *)ci->pd)->remote,
		.cqe = init->cqe,
		.comp_vector = init->comp_vector,
		.notify = init->notify,
	};
	struct CREATE_CQ_answer answer;
	al_status status = user_cookie_take(pd_conn(ci->pd), cq, &cq->cookie);

	(void)udata;
	if (status)
		return status;
	request.cookie = cq->cookie;
	status = user_simple(pd_conn(ci->pd), AGENT_CREATE_CQ, &request, &answer);
	cq->remote = answer.handle;
	if (!status || status == AL_LIMIT_EXCEEDED)
		init->cqe = (uint32_t)answer.cqe;
	if (status)
		user_cookie_drop(pd_conn(ci->pd), cq->cookie);
	else
		ci->cqe = init->cqe;
	return status;
}

static void destroy_cq(struct ci_cq *ci)
{
	struct user_cq *cq = (struct user_cq *)ci;

	destroy(pd_conn(ci->pd), cq->remote);
	user_cookie_drop(pd_conn(ci->pd), cq->cookie);
}

static al_status query_cq(struct ci_cq *ci, struct al_cq_attr *attr)
{
	const struct QUERY_CQ_request request = { ((struct user_cq *)ci)->remote };
	struct QUERY_CQ_answer answer;
	al_status status = user_simple(pd_conn(ci->pd), AGENT_QUERY_CQ, &request, &answer);

	if (!status)
		*attr = answer.attr;
	return status;
}

/* Completions name their queue pair by its cookie; those of one that has just gone have gone with
 * it. */
static uint32_t take(struct user_conn *conn, const struct user_call *call, struct ib_wc *to)
{
	const struct ib_wc *wc = call->out;
	const struct ci_qp *qp;
	uint32_t taken = 0;

	pthread_mutex_lock(&conn->cookie_lock);
	for (uint32_t i = 0; i < call->out_count; i++) {
		qp = user_cookie_find(conn, (uintptr_t)wc[i].qp_context);
		if (!qp)
			continue;
		to[taken] = wc[i];
		to[taken++].qp_context = qp->owner_context;
	}
	pthread_mutex_unlock(&conn->cookie_lock);
	return taken;
}

static al_status poll_cq(struct ci_cq *ci, uint32_t num, struct ib_wc *wc, uint32_t *count)
{
	struct user_conn *conn = pd_conn(ci->pd);
	struct POLL_CQ_request *request;
	struct user_call call;
	al_status status = user_begin(&call, conn, AGENT_POLL_CQ);

	if (status)
		return status;
	request = call.request;
	request->cq = ((struct user_cq *)ci)->remote;
	request->num = num < AGENT_POLL_MAX ? num : AGENT_POLL_MAX;
	status = user_ask(&call);
	if (!status && call.out_count > num)
		status = AL_AGENT_PROTOCOL;
	if (!status)
		*count = call.out_count ? take(conn, &call, wc) : 0;
	user_end(&call);
	return status;
}

static al_status peek_cq(struct ci_cq *ci, uint32_t max, uint32_t *count)
{
	const struct PEEK_CQ_request request = { ((struct user_cq *)ci)->remote, max };
	struct PEEK_CQ_answer answer;
	al_status status = user_simple(pd_conn(ci->pd), AGENT_PEEK_CQ, &request, &answer);

	if (!status)
		*count = (uint32_t)answer.count;
	return status;
}

static al_status arm_cq(struct ci_cq *ci, al_arm type, bool *present)
{
	const struct ARM_CQ_request request = { ((struct user_cq *)ci)->remote, type };
	struct ARM_CQ_answer answer;
	al_status status = user_simple(pd_conn(ci->pd), AGENT_ARM_CQ, &request, &answer);

	if (!status && present)
		*present = answer.present;
	return status;
}

static al_status arm_cq_n(struct ci_cq *ci, uint32_t num)
{
	const struct ARM_CQ_N_request request = { ((struct user_cq *)ci)->remote, num };

	return user_simple(pd_conn(ci->pd), AGENT_ARM_CQ_N, &request, NULL);
}

/* -------------------------------------------------------------- queue pairs */

static uint64_t remote_cq(const struct ci_cq *cq)
{
	return cq ? ((const struct user_cq *)cq)->remote : 0;
}

static al_status create_qp(struct ci_qp *ci, struct ci_qp_init *init, struct ci_udata *udata)
{
	struct user_conn *conn = pd_conn(ci->pd);
	struct user_qp *qp = (struct user_qp *)ci;
	struct CREATE_QP_request request = {
		.pd = ((const struct user_pd *)ci->pd)->remote,
		.send_cq = remote_cq(ci->send_cq),
		.recv_cq = remote_cq(ci->recv_cq),
		.cap = init->cap,
		.qp_type = ci->qp_type,
		.sq_sig_all = ci->sq_sig_all,
		.block_mcast_loopback = init->attr->block_mcast_loopback,
	};
	struct CREATE_QP_answer answer;
	al_status status;

	(void)udata;
	if (ci->srq || init->rdd || init->xrcd)
		return AL_UNSUPPORTED;
	status = user_cookie_take(conn, qp, &qp->cookie);
	if (status)
		return status;
	request.cookie = qp->cookie;
	status = user_simple(conn, AGENT_CREATE_QP, &request, &answer);
	if (!status || status == AL_LIMIT_EXCEEDED)
		init->cap = answer.cap;
	if (status) {
		user_cookie_drop(conn, qp->cookie);
		return status;
	}
	qp->remote = answer.handle;
	ci->cap = answer.cap;
	ci->qp_num = answer.qp_num;
	return AL_SUCCESS;
}

static al_status modify_qp(struct ci_qp *ci, const struct ib_qp_attr *attr, uint32_t mask,
			   struct ci_udata *udata)
{
	const struct MODIFY_QP_request request = { ((struct user_qp *)ci)->remote, mask, *attr };

	(void)udata;
	return user_simple(pd_conn(ci->pd), AGENT_MODIFY_QP, &request, NULL);
}

static al_status query_qp(struct ci_qp *ci, struct ib_qp_attr *attr)
{
	const struct QUERY_QP_request request = { ((struct user_qp *)ci)->remote };
	struct QUERY_QP_answer answer;
	al_status status = user_simple(pd_conn(ci->pd), AGENT_QUERY_QP, &request, &answer);

	if (!status)
		*attr = answer.attr;
	return status;
}

static void destroy_qp(struct ci_qp *ci)
{
	struct user_qp *qp = (struct user_qp *)ci;

	destroy(pd_conn(ci->pd), qp->remote);
	user_cookie_drop(pd_conn(ci->pd), qp->cookie);
}

const struct ci_interface user_ops = {
	.size = sizeof(struct ci_interface),
	.abi_major = CI_ABI_MAJOR,
	.abi_minor = CI_ABI_MINOR,
	.flags = CI_OP_MAY_BLOCK,
	.obj_size = {
		[CI_OBJ_PD] = sizeof(struct user_pd),
		[CI_OBJ_AH] = sizeof(struct user_ah),
		[CI_OBJ_MR] = sizeof(struct user_mr),
		[CI_OBJ_CQ] = sizeof(struct user_cq),
		[CI_OBJ_QP] = sizeof(struct user_qp),
	},
	.open_ca = open_ca,
	.close_ca = close_ca,
	.query_ca = query_ca,
	.query_port = query_port,
	.query_gid = query_gid,
	.query_pkey = query_pkey,
	.modify_ca = modify_ca,
	.modify_port = modify_port,
	.vendor_call = vendor_call,
	.allocate_pd = allocate_pd,
	.deallocate_pd = deallocate_pd,
	.create_ah = create_ah,
	.modify_ah = modify_ah,
	.query_ah = query_ah,
	.destroy_ah = destroy_ah,
	.register_mr = register_mr,
	.deregister_mr = deregister_mr,
	.query_mr = query_mr,
	.create_cq = create_cq,
	.destroy_cq = destroy_cq,
	.query_cq = query_cq,
	.poll_cq = poll_cq,
	.arm_cq = arm_cq,
	.arm_cq_n = arm_cq_n,
	.peek_cq = peek_cq,
	.create_qp = create_qp,
	.modify_qp = modify_qp,
	.query_qp = query_qp,
	.destroy_qp = destroy_qp,
	.post_send = user_post_send,
	.post_recv = user_post_recv,
};
