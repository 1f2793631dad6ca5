/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Commands of the data path, on the loop: work requests and completions. */
#include "al/agent/verbs.h"

/* The chain of the record that the loop posts. The loop posts one record at a time. */
static struct ib_send_wr send_chain[AGENT_POST_MAX];
static struct ib_recv_wr recv_chain[AGENT_POST_MAX];
static struct ib_sge inline_lists[AGENT_POST_MAX];   /* of the sends with inline data */
static al_ah_h address_handles[AGENT_POST_MAX]; /* of the datagrams; else NULL */

/* Makes element i of the chain. Gives a datagram an address handle in the queue pair's protection
 * domain. */
static al_status read_send(const struct object *qp, const struct ib_flat_send *from,
			   const struct ib_sge *tail, uint32_t room, uint32_t i)
{
	struct ib_ah_attr attr;
	al_status status;

	address_handles[i] = NULL;
	if (ib_flat_read_send(from, tail, room, qp->qp_type, &send_chain[i], &inline_lists[i]))
		return AL_AGENT_PROTOCOL;
	if (!ib_flat_has_path(qp->qp_type, from->opcode))
		return AL_SUCCESS;
	ib_flat_unpack_path(&from->path, &attr);
	status = al_create_ah(qp->domain, &attr, &address_handles[i]);
	send_chain[i].wr.ud.ah = address_handles[i];
	return status;
}

void command_POST_SEND(struct connection *connection)
{
	const struct ib_flat_send *heads = connection_in(connection, 0);
	const struct ib_sge *tails = connection_in(connection, 1);
	uint32_t num, used = 0, posted;
	const struct ib_send_wr *bad = NULL;
	al_status status = AL_SUCCESS;
	struct POST_SEND_answer *answer = connection_answer(connection);

	for (num = 0; num < connection->count[0]; num++) {
		status = read_send(connection->object[0], &heads[num], tails + used,
				   connection->count[1] - used, num);
		if (status)
			break;
		used += ib_flat_units(&heads[num]);
		if (num)
			send_chain[num - 1].next = &send_chain[num];
	}
	posted = num;
	if (num) {
		connection->status = al_post_send(HANDLE(al_qp_h, 0), send_chain, &bad);
		if (connection->status)
			posted = bad ? (uint32_t)(bad - send_chain) : 0;
	}
	if (!connection->status)
		connection->status = !status && !num ? AL_INVALID_PARAMETER : status;
	answer->posted = posted;
	for (uint32_t i = 0; i < num; i++) /* a posted request keeps its path */
		if (address_handles[i])
			al_destroy_ah(address_handles[i], NULL, NULL);
}

void command_POST_RECV(struct connection *connection)
{
	const struct ib_flat_recv *heads = connection_in(connection, 0);
	const struct ib_sge *lists = connection_in(connection, 1);
	uint32_t num = connection->count[0], used = 0;
	const struct ib_recv_wr *bad = NULL;
	struct POST_RECV_answer *answer = connection_answer(connection);

	connection->status = num ? AL_SUCCESS : AL_INVALID_PARAMETER;
	for (uint32_t i = 0; i < num; i++) {
		if (ib_flat_read_recv(&heads[i], lists + used, connection->count[1] - used,
				      &recv_chain[i])) {
			connection->status = AL_AGENT_PROTOCOL;
			break;
		}
		used += heads[i].num_sge;
		if (i)
			recv_chain[i - 1].next = &recv_chain[i];
	}
	if (connection->status)
		return;
	connection->status = al_post_recv(HANDLE(al_qp_h, 0), recv_chain, &bad);
	answer->posted = !connection->status ? num : bad ? (uint64_t)(bad - recv_chain) : 0;
}

void command_POLL_CQ(struct connection *connection)
{
	const struct POLL_CQ_request *request = connection_request(connection);
	struct ib_wc *wc = connection_out(connection);
	const struct object *qp;
	uint32_t num = request->num < AGENT_POLL_MAX ? (uint32_t)request->num : AGENT_POLL_MAX;

	connection->status = al_poll_cq_ex(HANDLE(al_cq_h, 0), num, wc, &connection->out_count);
	/* Objects are freed on the loop only, after their last completion. */
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
