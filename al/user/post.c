/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Work requests, packed for the agent: a chain crosses in as few records as it fits into. */
#include "al/user/user.h"

#include <string.h>

#include "al/object/object.h"

/* Inline data travels in units of a scatter/gather element. */
#define UNIT sizeof(struct ib_sge)

static uint32_t units(uint64_t bytes)
{
	return (uint32_t)((bytes + UNIT - 1) / UNIT);
}

/* Elements that a request needs in the second array; more than fit: it is refused. */
static uint64_t pieces_of(const struct ib_send_wr *wr, uint64_t *bytes)
{
	*bytes = 0;
	if (!(wr->send_flags & IB_SEND_INLINE))
		return wr->num_sge;
	for (uint32_t i = 0; i < wr->num_sge && i < AGENT_PIECES_MAX; i++)
		*bytes += wr->sg_list[i].length;
	return wr->num_sge > AGENT_PIECES_MAX || *bytes > AGENT_PIECES_MAX * UNIT ? UINT64_MAX
										  : units(*bytes);
}

/* The path of a datagram, as it is now. */
static al_status pack_path(const struct ci_qp *qp, const struct ib_send_wr *wr,
			   struct agent_send *to)
{
	const struct al_obj *qp_obj = qp->ctx;
	struct al_obj *obj = obj_get(wr->wr.ud.ah, AL_OBJ_AH);
	const struct ci_ah *ah;
	struct user_path *path;
	al_status status = AL_INVALID_HANDLE;

	if (!obj)
		return status;
	if (obj->al == qp_obj->al && obj->dev == qp_obj->dev) {
		ah = obj->ci;
		path = ah_own(ah);
		pthread_mutex_lock(&path->lock);
		to->path = path->attr;
		pthread_mutex_unlock(&path->lock);
		to->pd = pd_own(ah->pd)->remote;
		to->remote_qpn = wr->wr.ud.remote_qpn;
		to->remote_qkey = wr->wr.ud.remote_qkey;
		to->pkey_index = wr->wr.ud.pkey_index;
		to->port_num = wr->wr.ud.port_num;
		status = AL_SUCCESS;
	}
	obj_put(obj);
	return status;
}

static al_status pack_send(const struct ci_qp *qp, const struct ib_send_wr *wr,
			   struct agent_send *to, struct ib_sge *pieces, uint64_t bytes)
{
	char *at = (char *)pieces;

	*to = (struct agent_send){
		.wr_id = wr->wr_id,
		.opcode = wr->opcode,
		.send_flags = wr->send_flags,
		.pieces = wr->num_sge,
		.ex = wr->ex.imm_data,
	};
	if (wr->send_flags & IB_SEND_INLINE) {
		to->pieces = units(bytes);
		to->inline_length = (uint32_t)bytes;
		if (to->pieces) /* the last unit's rest */
			memset(&pieces[to->pieces - 1], 0, UNIT);
		for (uint32_t i = 0; i < wr->num_sge; at += wr->sg_list[i].length, i++)
			if (wr->sg_list[i].length)
				memcpy(at, (const void *)(uintptr_t)wr->sg_list[i].addr,
				       wr->sg_list[i].length);
	} else if (wr->num_sge) {
		memcpy(pieces, wr->sg_list, wr->num_sge * UNIT);
	}
	switch (wr->opcode) {
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
	case IB_WR_RDMA_READ:
	case IB_WR_RDMA_READ_WITH_INV:
		to->remote_addr = wr->wr.rdma.remote_addr;
		to->key = wr->wr.rdma.rkey;
		return AL_SUCCESS;
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
	case IB_WR_MASKED_CMP_AND_SWP:
	case IB_WR_MASKED_FETCH_AND_ADD:
		to->remote_addr = wr->wr.atomic.remote_addr;
		to->key = wr->wr.atomic.rkey;
		to->compare_add = wr->wr.atomic.compare_add;
		to->swap = wr->wr.atomic.swap;
		to->compare_add_mask = wr->wr.atomic.compare_add_mask;
		to->swap_mask = wr->wr.atomic.swap_mask;
		return AL_SUCCESS;
	default:
		return qp->qp_type == IB_QPT_UD ? pack_path(qp, wr, to) : AL_SUCCESS;
	}
}

/* One record's worth. *wr: the first request that it does not hold, or that the agent did not take.
 */
static al_status send_some(struct user_call *call, const struct ci_qp *qp,
			   const struct ib_send_wr **wr)
{
	const struct ib_send_wr *first = *wr, *at;
	struct POST_SEND_request *request = call->request;
	const struct POST_SEND_answer *answer = call->answer;
	struct agent_send *sends = call->in[0];
	struct ib_sge *pieces = call->in[1];
	al_status status = AL_SUCCESS, asked;
	uint64_t bytes, need;

	request->qp = qp_own(qp)->remote;
	call->count[0] = call->count[1] = 0;
	for (at = first; at && call->count[0] < AGENT_POST_MAX; at = at->next) {
		need = pieces_of(at, &bytes);
		if (need > AGENT_PIECES_MAX)
			status = AL_INVALID_SGE;
		else if (call->count[1] + need > AGENT_PIECES_MAX)
			break;
		else
			status = pack_send(qp, at, &sends[call->count[0]],
					   pieces + call->count[1], bytes);
		if (status)
			break;
		call->count[1] += sends[call->count[0]++].pieces;
	}
	if (!call->count[0])
		return status;
	asked = user_ask(call);
	if (asked) {
		status = asked;
		at = first;
		for (uint64_t n = answer->posted; n && at->next; n--)
			at = at->next;
	}
	*wr = at;
	return status;
}

al_status user_post_send(struct ci_qp *ci, const struct ib_send_wr *wr,
			 const struct ib_send_wr **bad)
{
	struct user_call call;
	al_status status = user_begin(&call, pd_conn(ci->pd), AGENT_POST_SEND);

	if (status) {
		*bad = wr;
		return status;
	}
	while (wr && !status)
		status = send_some(&call, ci, &wr);
	user_end(&call);
	if (status)
		*bad = wr;
	return status;
}

static al_status recv_some(struct user_call *call, const struct ci_qp *qp,
			   const struct ib_recv_wr **wr)
{
	const struct ib_recv_wr *first = *wr, *at;
	struct POST_RECV_request *request = call->request;
	const struct POST_RECV_answer *answer = call->answer;
	struct agent_recv *recvs = call->in[0];
	struct ib_sge *pieces = call->in[1];
	al_status status = AL_SUCCESS, asked;

	request->qp = qp_own(qp)->remote;
	call->count[0] = call->count[1] = 0;
	for (at = first; at && call->count[0] < AGENT_POST_MAX; at = at->next) {
		if (at->num_sge > AGENT_PIECES_MAX)
			status = AL_INVALID_SGE;
		if (status || call->count[1] + at->num_sge > AGENT_PIECES_MAX)
			break;
		recvs[call->count[0]++] =
			(struct agent_recv){ .wr_id = at->wr_id, .pieces = at->num_sge };
		if (at->num_sge)
			memcpy(pieces + call->count[1], at->sg_list, at->num_sge * UNIT);
		call->count[1] += at->num_sge;
	}
	if (!call->count[0])
		return status;
	asked = user_ask(call);
	if (asked) {
		status = asked;
		at = first;
		for (uint64_t n = answer->posted; n && at->next; n--)
			at = at->next;
	}
	*wr = at;
	return status;
}

al_status user_post_recv(struct ci_qp *ci, const struct ib_recv_wr *wr,
			 const struct ib_recv_wr **bad)
{
	struct user_call call;
	al_status status = user_begin(&call, pd_conn(ci->pd), AGENT_POST_RECV);

	if (status) {
		*bad = wr;
		return status;
	}
	while (wr && !status)
		status = recv_some(&call, ci, &wr);
	user_end(&call);
	if (status)
		*bad = wr;
	return status;
}
