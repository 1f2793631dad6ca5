/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Packs chains of work requests into records, each with as many as fit, and sends them to the agent. */
#include "al/user/user.h"

#include <string.h>

#include "al/object/object.h"

/* Inline data travels in units of a scatter/gather element. */
#define UNIT sizeof(struct ib_sge)

static uint32_t units(uint64_t bytes)
{
	return (uint32_t)((bytes + UNIT - 1) / UNIT);
}

/* Elements that a request needs in the record's second array; UINT64_MAX: it is wrong, or too large. */
static uint64_t pieces_of(const struct ib_send_wr *wr, uint64_t *bytes)
{
	*bytes = 0;
	if (wr->num_sge && !wr->sg_list)
		return UINT64_MAX;
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

/* One of the two queues: how its requests are packed, and what comes after one. */
struct queue {
	enum agent_command command;
	/* Packs one request, or sets *full: the record has no room for it. */
	al_status (*pack)(struct user_call *call, const struct ci_qp *qp, const void *wr,
			  bool *full);
	const void *(*next)(const void *wr);
};

static al_status add_send(struct user_call *call, const struct ci_qp *qp, const void *request,
			  bool *full)
{
	const struct ib_send_wr *wr = request;
	struct agent_send *to = (struct agent_send *)call->in[0] + call->count[0];
	uint64_t bytes, need = pieces_of(wr, &bytes);
	al_status status;

	if (need > AGENT_PIECES_MAX)
		return AL_INVALID_SGE;
	*full = call->count[1] + need > AGENT_PIECES_MAX;
	if (*full)
		return AL_SUCCESS;
	status = pack_send(qp, wr, to, (struct ib_sge *)call->in[1] + call->count[1], bytes);
	if (!status)
		call->count[1] += to->pieces;
	return status;
}

static const void *next_send(const void *wr)
{
	return ((const struct ib_send_wr *)wr)->next;
}

static al_status add_recv(struct user_call *call, const struct ci_qp *qp, const void *request,
			  bool *full)
{
	const struct ib_recv_wr *wr = request;

	(void)qp;
	if (wr->num_sge > AGENT_PIECES_MAX || (wr->num_sge && !wr->sg_list))
		return AL_INVALID_SGE;
	*full = call->count[1] + wr->num_sge > AGENT_PIECES_MAX;
	if (*full)
		return AL_SUCCESS;
	((struct agent_recv *)call->in[0])[call->count[0]] =
		(struct agent_recv){ .wr_id = wr->wr_id, .pieces = wr->num_sge };
	if (wr->num_sge)
		memcpy((struct ib_sge *)call->in[1] + call->count[1], wr->sg_list,
		       wr->num_sge * UNIT);
	call->count[1] += wr->num_sge;
	return AL_SUCCESS;
}

static const void *next_recv(const void *wr)
{
	return ((const struct ib_recv_wr *)wr)->next;
}

static const struct queue sends = { AGENT_POST_SEND, add_send, next_send };
static const struct queue recvs = { AGENT_POST_RECV, add_recv, next_recv };

/* Sends one record of requests, from *wr on. Sets *wr to the first request that is not in the record
 * or, after a failure, that the agent did not take. A request that can not be packed ends the record:
 * those before it are sent, and then its status is returned. */
static al_status post_some(struct user_call *call, const struct ci_qp *qp,
			   const struct queue *queue, const void **wr)
{
	struct POST_SEND_request *request = call->request;
	const struct POST_SEND_answer *answer = call->answer;
	const void *first = *wr, *at;
	al_status status = AL_SUCCESS, asked;
	bool full = false;

	request->qp = qp_own(qp)->remote;
	call->count[0] = call->count[1] = 0;
	for (at = first; at && call->count[0] < AGENT_POST_MAX; at = queue->next(at)) {
		status = queue->pack(call, qp, at, &full);
		if (status || full)
			break;
		call->count[0]++;
	}
	*wr = at;
	if (!call->count[0])
		return status;
	asked = user_ask(call);
	if (!asked)
		return status;
	*wr = first;
	for (uint64_t n = answer->posted; n && queue->next(*wr); n--)
		*wr = queue->next(*wr);
	return asked;
}

/* Posts a chain. After a failure *bad is the first request that was not posted. */
static al_status post_chain(struct ci_qp *qp, const struct queue *queue, const void *wr,
			    const void **bad)
{
	struct user_call call;
	al_status status = user_begin(&call, pd_conn(qp->pd), queue->command);

	*bad = wr;
	if (status)
		return status;
	while (*bad && !status)
		status = post_some(&call, qp, queue, bad);
	user_end(&call);
	return status;
}

al_status user_post_send(struct ci_qp *qp, const struct ib_send_wr *wr,
			 const struct ib_send_wr **bad)
{
	const void *at;
	al_status status = post_chain(qp, &sends, wr, &at);

	if (status)
		*bad = at;
	return status;
}

al_status user_post_recv(struct ci_qp *qp, const struct ib_recv_wr *wr,
			 const struct ib_recv_wr **bad)
{
	const void *at;
	al_status status = post_chain(qp, &recvs, wr, &at);

	if (status)
		*bad = at;
	return status;
}
