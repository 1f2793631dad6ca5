/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Packs chains of work requests into records, each with as many requests as fit, and sends the
 * records to the agent. The layout of a request is iba/ib_flat_wr.h's.
 */
#include "al/user/user.h"

#include <string.h>

#include "al/object/object.h"

/* The path of a datagram: the attributes of its address handle at the time of the post. */
static al_status pack_path(const struct ci_qp *qp, al_ah_h handle, struct ib_flat_path *to)
{
	const struct al_obj *qp_obj = qp->ctx;
	struct al_obj *obj = obj_get(handle, AL_OBJ_AH);
	const struct ci_ah *ah;
	struct user_path *path;
	al_status status = AL_SUCCESS;

	if (!obj)
		return refuse_handle(handle, AL_OBJ_AH);
	ah = obj->ci;
	if (obj->al != qp_obj->al || obj->dev != qp_obj->dev)
		status = ib_refuse(AL_INVALID_HANDLE,
				   "ah is no address handle of the queue pair's HCA and opening");
	else if (ah->pd != qp->pd)
		status = ib_refuse(AL_INVALID_PD,
				   "ah and the queue pair belong to different protection domains");
	if (!status) {
		path = ah_own(ah);
		pthread_mutex_lock(&path->lock);
		status = ib_flat_pack_path(to, &path->attr);
		pthread_mutex_unlock(&path->lock);
	}
	obj_put(obj);
	return status;
}

static al_status refuse_list(uint32_t num, const struct ib_sge *list)
{
	if (num && !list)
		return ib_refuse(AL_INVALID_SGE, "num_sge is %u, and sg_list is NULL", num);
	if (num > AGENT_TAILS_MAX)
		return ib_refuse(AL_INVALID_SGE,
				 "num_sge is %u, and at most %u elements go to the agent", num,
				 AGENT_TAILS_MAX);
	return ib_refuse(AL_INVALID_SGE, "the lengths of sg_list are more than 4 GiB together");
}

/* Refuses a request without a flat form. status: ib_flat_measure_send()'s. */
static al_status refuse_send(const struct ib_send_wr *wr, al_status status)
{
	if (status == AL_INVALID_SGE)
		return refuse_list(wr->num_sge, wr->sg_list);
	if ((unsigned int)wr->opcode >= IB_WR_OPCODES)
		return ib_refuse(status, "opcode is %u, which is no operation",
				 (unsigned int)wr->opcode);
	if (status == AL_UNSUPPORTED)
		return ib_refuse(status, "the operation \"%s\" does not go through an agent",
				 al_wr_opcode_str(wr->opcode));
	return ib_refuse(status, "send_flags has the bits %#x, which are no flags",
			 wr->send_flags & ~(uint32_t)IB_FLAT_SEND_FLAGS);
}

/* How a record of sends differs from a record of receives. */
struct direction {
	enum agent_command command;
	/* Adds a request to the record, or sets *full: the record has no room for the request's
	 * tail. */
	al_status (*add)(struct user_call *call, const struct ci_qp *qp, const void *wr,
			 bool *full);
	const void *(*next)(const void *wr);
};

/* Room for the tail of the next request. */
static struct ib_sge *next_tail(const struct user_call *call)
{
	return (struct ib_sge *)call->in[1] + call->count[1];
}

static al_status add_send(struct user_call *call, const struct ci_qp *qp, const void *request,
			  bool *full)
{
	const struct ib_send_wr *wr = request;
	struct ib_flat_send *head = (struct ib_flat_send *)call->in[0] + call->count[0];
	struct ib_flat_path path;
	uint32_t length, units;
	al_status status = ib_flat_measure_send(wr, qp->qp_type, AGENT_TAILS_MAX, &length);

	if (status)
		return refuse_send(wr, status);
	units = ib_flat_tail_units(wr->opcode, wr->send_flags, wr->num_sge, length);
	if (units > AGENT_TAILS_MAX)
		return ib_refuse(
			AL_INVALID_SGE,
			"inline data and elements are %u units of 16 bytes, and a record to the agent has %u",
			units, AGENT_TAILS_MAX);
	*full = units > AGENT_TAILS_MAX - call->count[1];
	if (*full)
		return AL_SUCCESS;
	if (ib_flat_has_path(qp->qp_type, wr->opcode))
		status = pack_path(qp, wr->wr.ud.ah, &path);
	if (status)
		return status;
	ib_flat_pack_send(head, wr, length, qp->qp_type, &path);
	ib_flat_pack_tail(head, next_tail(call), wr);
	call->count[1] += units;
	return AL_SUCCESS;
}

static const void *next_send(const void *wr)
{
	return ((const struct ib_send_wr *)wr)->next;
}

static al_status add_recv(struct user_call *call, const struct ci_qp *qp, const void *request,
			  bool *full)
{
	const struct ib_recv_wr *wr = request;
	uint32_t length;
	al_status status;

	(void)qp;
	if (wr->num_sge > AGENT_TAILS_MAX || (wr->num_sge && !wr->sg_list))
		return refuse_list(wr->num_sge, wr->sg_list);
	status = ib_flat_sum(wr->sg_list, wr->num_sge, &length);
	if (status)
		return status;
	*full = wr->num_sge > AGENT_TAILS_MAX - call->count[1];
	if (*full)
		return AL_SUCCESS;
	ib_flat_pack_recv((struct ib_flat_recv *)call->in[0] + call->count[0], next_tail(call), wr,
			  length);
	call->count[1] += wr->num_sge;
	return AL_SUCCESS;
}

static const void *next_recv(const void *wr)
{
	return ((const struct ib_recv_wr *)wr)->next;
}

static const struct direction send_direction = { AGENT_POST_SEND, add_send, next_send };
static const struct direction recv_direction = { AGENT_POST_RECV, add_recv, next_recv };

/* Sends one record of requests, from *wr on. Sets *wr to the first request that is not in the
 * record or, after a failure, that the agent did not take. A request that can not be packed ends
 * the record: post_some() sends the requests before that one, and then returns the status of that
 * one. */
static al_status post_some(struct user_call *call, const struct ci_qp *qp,
			   const struct direction *direction, const void **wr)
{
	struct POST_SEND_request *request = call->request;
	const struct POST_SEND_answer *answer = call->answer;
	const void *first = *wr, *at;
	al_status status = AL_SUCCESS, asked;
	bool full = false;

	request->qp = qp_own(qp)->remote;
	call->count[0] = call->count[1] = 0;
	for (at = first; at && call->count[0] < AGENT_POST_MAX; at = direction->next(at)) {
		status = direction->add(call, qp, at, &full);
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
	for (uint64_t n = answer->posted; n && direction->next(*wr); n--)
		*wr = direction->next(*wr);
	return asked;
}

/* Posts a chain. After a failure *bad is the first request that was not posted. */
static al_status post_chain(struct ci_qp *qp, const struct direction *direction, const void *wr,
			    const void **bad)
{
	struct user_call call;
	al_status status = user_begin(&call, pd_conn(qp->pd), direction->command);

	*bad = wr;
	if (status)
		return status;
	while (*bad && !status)
		status = post_some(&call, qp, direction, bad);
	user_end(&call);
	return status;
}

al_status user_post_send(struct ci_qp *qp, const struct ib_send_wr *wr,
			 const struct ib_send_wr **bad)
{
	const void *at;
	al_status status = post_chain(qp, &send_direction, wr, &at);

	if (status)
		*bad = at;
	return status;
}

al_status user_post_recv(struct ci_qp *qp, const struct ib_recv_wr *wr,
			 const struct ib_recv_wr **bad)
{
	const void *at;
	al_status status = post_chain(qp, &recv_direction, wr, &at);

	if (status)
		*bad = at;
	return status;
}
