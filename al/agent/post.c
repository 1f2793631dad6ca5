/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Commands of the data path, on the loop: work requests and completions. */
#include "al/agent/verbs.h"

/* The loop's own: one request at a time is being unpacked. */
static struct ib_send_wr sends[AGENT_POST_MAX];
static struct ib_recv_wr recvs[AGENT_POST_MAX];
static struct ib_sge inlines[AGENT_POST_MAX];
static al_ah_h paths[AGENT_POST_MAX];

static al_status unpack_path(struct connection *connection, const struct agent_send *from,
			     struct ib_send_wr *wr, al_ah_h *ah)
{
	const struct object *pd = object_find(&connection->session->objects, from->pd);

	if (!pd || pd->type != AL_OBJ_PD)
		return AL_INVALID_HANDLE;
	if (*(const uint8_t *)&from->path.is_global > 1)
		return AL_AGENT_PROTOCOL;
	wr->wr.ud.remote_qpn = from->remote_qpn;
	wr->wr.ud.remote_qkey = from->remote_qkey;
	wr->wr.ud.pkey_index = from->pkey_index;
	wr->wr.ud.port_num = from->port_num;
	return al_create_ah(pd->pd, &from->path, ah);
}

static al_status unpack_send(struct connection *connection, const struct agent_send *from,
			     struct ib_sge *pieces, uint32_t i)
{
	struct ib_send_wr *wr = &sends[i];

	*wr = (struct ib_send_wr){
		.wr_id = from->wr_id,
		.sg_list = pieces,
		.num_sge = from->pieces,
		.opcode = (ib_wr_opcode)from->opcode,
		.send_flags = from->send_flags,
		.ex.imm_data = from->ex,
	};
	paths[i] = NULL;
	if (from->send_flags & IB_SEND_INLINE) {
		if (from->inline_length > (uint64_t)from->pieces * sizeof(*pieces))
			return AL_AGENT_PROTOCOL;
		inlines[i] = (struct ib_sge){ (uintptr_t)pieces, from->inline_length, 0 };
		wr->sg_list = &inlines[i];
		wr->num_sge = from->inline_length ? 1 : 0;
	} else if (from->inline_length) {
		return AL_AGENT_PROTOCOL;
	}
	switch (wr->opcode) {
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
	case IB_WR_RDMA_READ:
	case IB_WR_RDMA_READ_WITH_INV:
		wr->wr.rdma.remote_addr = from->remote_addr;
		wr->wr.rdma.rkey = from->key;
		return AL_SUCCESS;
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
	case IB_WR_MASKED_CMP_AND_SWP:
	case IB_WR_MASKED_FETCH_AND_ADD:
		wr->wr.atomic.remote_addr = from->remote_addr;
		wr->wr.atomic.rkey = from->key;
		wr->wr.atomic.compare_add = from->compare_add;
		wr->wr.atomic.swap = from->swap;
		wr->wr.atomic.compare_add_mask = from->compare_add_mask;
		wr->wr.atomic.swap_mask = from->swap_mask;
		return AL_SUCCESS;
	case IB_WR_BIND_MW:
	case IB_WR_REG_MR:
		return AL_UNSUPPORTED; /* they name objects that do not cross yet */
	default:
		if (connection->object[0]->qp_type != IB_QPT_UD)
			return AL_SUCCESS;
		return unpack_path(connection, from, wr, &paths[i]);
	}
}

void command_POST_SEND(struct connection *connection)
{
	const struct agent_send *from = connection_in(connection, 0);
	struct ib_sge *pieces = connection_in(connection, 1);
	uint32_t num, used = 0, posted;
	const struct ib_send_wr *bad = NULL;
	al_status status = AL_SUCCESS;
	struct POST_SEND_answer *answer = connection_answer(connection);

	for (num = 0; num < connection->count[0]; num++) {
		if (from[num].pieces > connection->count[1] - used)
			status = AL_AGENT_PROTOCOL;
		else
			status = unpack_send(connection, &from[num], pieces + used, num);
		if (status)
			break;
		used += from[num].pieces;
		/* a path's handle is told by its name, below */
		if (paths[num])
			sends[num].wr.ud.ah = paths[num];
		if (num)
			sends[num - 1].next = &sends[num];
	}
	posted = num;
	if (num) {
		sends[num - 1].next = NULL;
		connection->status = al_post_send(HANDLE(al_qp_h, 0), sends, &bad);
		if (connection->status)
			posted = bad ? (uint32_t)(bad - sends) : 0;
	}
	if (!connection->status)
		connection->status = !status && !num ? AL_INVALID_PARAMETER : status;
	answer->posted = posted;
	for (uint32_t i = 0; i < num; i++) /* a request keeps its path */
		if (paths[i])
			al_destroy_ah(paths[i], NULL, NULL);
}

void command_POST_RECV(struct connection *connection)
{
	const struct agent_recv *from = connection_in(connection, 0);
	const struct ib_sge *pieces = connection_in(connection, 1);
	uint32_t num = connection->count[0], used = 0;
	const struct ib_recv_wr *bad = NULL;
	struct POST_RECV_answer *answer = connection_answer(connection);

	connection->status = num ? AL_SUCCESS : AL_INVALID_PARAMETER;
	for (uint32_t i = 0; i < num; i++) {
		if (from[i].pieces > connection->count[1] - used) {
			connection->status = AL_AGENT_PROTOCOL;
			break;
		}
		recvs[i] = (struct ib_recv_wr){
			.next = i + 1 < num ? &recvs[i + 1] : NULL,
			.wr_id = from[i].wr_id,
			.sg_list = pieces + used,
			.num_sge = (uint32_t)from[i].pieces,
		};
		used += (uint32_t)from[i].pieces;
	}
	if (connection->status)
		return;
	connection->status = al_post_recv(HANDLE(al_qp_h, 0), recvs, &bad);
	answer->posted = !connection->status ? num : bad ? (uint64_t)(bad - recvs) : 0;
}

void command_POLL_CQ(struct connection *connection)
{
	const struct POLL_CQ_request *request = connection_request(connection);
	struct ib_wc *wc = connection_out(connection);
	const struct object *qp;
	uint32_t num = request->num < AGENT_POLL_MAX ? (uint32_t)request->num : AGENT_POLL_MAX;

	connection->status = al_poll_cq_ex(HANDLE(al_cq_h, 0), num, wc, &connection->out_count);
	/* Objects are freed on this thread only, after their last completion. */
	for (uint32_t i = 0; !connection->status && i < connection->out_count; i++) {
		qp = wc[i].qp_context;
		wc[i].qp_context = (void *)(uintptr_t)(qp ? qp->source.cookie : 0);
	}
}

void command_PEEK_CQ(struct connection *connection)
{
	uint32_t count = 0;
	BEGIN(PEEK_CQ);

	connection->status =
		al_peek_cq(HANDLE(al_cq_h, 0),
			   request->max < UINT32_MAX ? (uint32_t)request->max : UINT32_MAX, &count);
	answer->count = count;
}

void command_ARM_CQ(struct connection *connection)
{
	bool present = false;
	BEGIN(ARM_CQ);

	connection->status = request->type > AL_ARM_ANY
			       ? AL_INVALID_PARAMETER
			       : al_arm_cq(HANDLE(al_cq_h, 0), (al_arm)request->type, &present);
	answer->present = present;
}

void command_ARM_CQ_N(struct connection *connection)
{
	const struct ARM_CQ_N_request *request = connection_request(connection);

	connection->status = request->num > UINT32_MAX
			       ? AL_INVALID_PARAMETER
			       : al_arm_cq_n(HANDLE(al_cq_h, 0), (uint32_t)request->num);
}
