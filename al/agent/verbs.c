/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The commands of the control path: HCAs, protection domains, memory regions, completion queues and
 * queue pairs. Each calls the verb of its name. The commands of the data path are in post.c.
 */
#include "al/agent/verbs.h"

#include <string.h>

#include "al/library/private.h"

/* -------------------------------------------------------------------- events */

static void on_completion(void *context)
{
	struct object *object = context;

	source_raise(&object->source, SOURCE_COMPLETION);
}

static void on_event(void *context, const struct al_event *event)
{
	struct object *object = context;

	source_raise(&object->source, 1u << event->type);
}

static void on_port_event(void *context, const struct al_event *event)
{
	struct hca *hca = context;

	/* An event of an object comes from the object's own source. */
	if (event->object == AL_OBJ_NONE && event->port_num <= hca->num_ports)
		source_port(&hca->ports[event->port_num], event->type);
}

/* ----------------------------------------------------------------------- HCA */

void command_MODULE_OF(struct connection *connection)
{
	bool is_switch = false;
	BEGIN(MODULE_OF);

	connection->status =
		al_module_of(request->guid, answer->name, sizeof(answer->name), &is_switch);
	answer->is_switch = is_switch;
}

/* A request of a client's queue pair has failed. */
void verbs_failed(void *context)
{
	struct object *object = context;

	source_raise(&object->source, SOURCE_FAILURE);
}

/* Opens the HCA and its ports' sources. After a failure the HCA is closed. */
static al_status open_hca(struct connection *connection, struct hca *hca, al_ca_h *ca)
{
	al_event_handler_h handler;
	al_status status;
	BEGIN(OPEN_CA);

	status = al_open_ca(connection->session->al, request->guid, hca, ca);
	if (status)
		return status;
	status = al_query_ca(*ca, &answer->attr);
	if (!status)
		status = hca_make_ports(hca, answer->attr.num_ports, request->cookie);
	if (!status)
		status = al_reg_event_handler(*ca, NULL, hca, on_port_event, &handler);
	if (status)
		al_close_ca(*ca, NULL, NULL);
	return status;
}

void command_OPEN_CA(struct connection *connection)
{
	const struct OPEN_CA_request *request = connection_request(connection);
	struct hca *hca;
	al_ca_h ca;

	connection->status = hca_open(&connection->session->hcas, request->guid, &hca);
	if (connection->status)
		return;
	connection->status = open_hca(connection, hca, &ca);
	if (!connection->status) {
		connection->made = ca;
		connection->making->hca = hca;
	}
	hca_opened(hca, connection->status ? NULL : ca);
}

void command_QUERY_CA(struct connection *connection)
{
	struct QUERY_CA_answer *answer = connection_answer(connection);

	connection->status = al_query_ca(HANDLE(al_ca_h, 0), &answer->attr);
	if (!connection->status)
		kinds_show_limits(&connection->session->account, &answer->attr);
}

void command_QUERY_PORT(struct connection *connection)
{
	BEGIN(QUERY_PORT);

	connection->status =
		request->port > UINT8_MAX
			? AL_INVALID_PORT
			: al_query_port(HANDLE(al_ca_h, 0), (uint8_t)request->port, &answer->attr);
}

void command_QUERY_GID(struct connection *connection)
{
	BEGIN(QUERY_GID);

	connection->status = request->port > UINT8_MAX
			       ? AL_INVALID_PORT
			       : al_query_gid(HANDLE(al_ca_h, 0), (uint8_t)request->port,
					      request->index, &answer->gid);
}

void command_QUERY_PKEY(struct connection *connection)
{
	uint16_t pkey = 0;
	BEGIN(QUERY_PKEY);

	connection->status = request->port > UINT8_MAX
			       ? AL_INVALID_PORT
			       : al_query_pkey(HANDLE(al_ca_h, 0), (uint8_t)request->port,
					       request->index, &pkey);
	answer->pkey = pkey;
}

void command_MODIFY_CA(struct connection *connection)
{
	const struct MODIFY_CA_request *request = connection_request(connection);

	connection->status =
		request->mask > UINT32_MAX
			? AL_INVALID_PARAMETER
			: al_modify_ca(HANDLE(al_ca_h, 0), (uint32_t)request->mask, &request->attr);
}

void command_MODIFY_PORT(struct connection *connection)
{
	const struct MODIFY_PORT_request *request = connection_request(connection);

	connection->status = request->port > UINT8_MAX
			       ? AL_INVALID_PORT
			       : al_modify_port(HANDLE(al_ca_h, 0), (uint8_t)request->port,
						request->mask, &request->attr);
}

void command_VENDOR_CALL(struct connection *connection)
{
	const struct VENDOR_CALL_request *request = connection_request(connection);
	uint32_t length = request->room;

	if (length > AGENT_VENDOR_BYTES) {
		connection->status = AL_INVALID_PARAMETER;
		return;
	}
	memset(connection_out(connection), 0, length);
	connection->status = al_vendor_call(HANDLE(al_ca_h, 0), request->code,
				      connection->count[0] ? connection_in(connection, 0) : NULL, connection->count[0],
				      length ? connection_out(connection) : NULL, length ? &length : NULL);
	connection->out_count = length < request->room ? length : request->room;
}

/* ------------------------------------------------------------ domain, memory */

void command_ALLOC_PD(struct connection *connection)
{
	al_pd_h pd = NULL;

	connection->status = al_alloc_pd(HANDLE(al_ca_h, 0), connection->making, &pd);
	connection->made = pd;
}

void command_REG_MR(struct connection *connection)
{
	al_mr_h mr = NULL;
	BEGIN(REG_MR);
	struct al_mr_init init = {
		.addr = (void *)(uintptr_t)request->addr, /* in the client's memory: the agent never dereferences it */
		.length = request->length,
		.access = request->access,
		.use_iova = !(request->access & IB_ACCESS_ZERO_BASED),
		.iova = request->access & IB_ACCESS_ZERO_BASED ? 0 : request->iova,
	};

	if (request->zero[0] | request->zero[1] | request->zero[2] ||
	    (request->access & IB_ACCESS_ZERO_BASED && request->iova) ||
	    (!request->mapped && request->offset)) {
		connection->status = AL_INVALID_PARAMETER;
		return;
	}
	if (request->mapped) {
		connection->status = memory_map(&connection->making->mapping, connection->library_fds[0], request,
						&init.addr);
		if (connection->status)
			return;
	}
	connection->status = (request->mapped ? al_reg_mapped_mr : al_reg_mr)(
		HANDLE(al_pd_h, 0), &init, connection->making, &answer->lkey, &answer->rkey, &mr);
	connection->made = mr;
}

void command_QUERY_MR(struct connection *connection)
{
	struct QUERY_MR_answer *answer = connection_answer(connection);

	connection->status = al_query_mr(HANDLE(al_mr_h, 0), &answer->attr);
}

/* --------------------------------------------------------- completion queues */

void command_CREATE_CQ(struct connection *connection)
{
	al_cq_h cq = NULL;
	BEGIN(CREATE_CQ);
	struct al_cq_init init = { .cqe = request->cqe,
				   .comp_vector = request->comp_vector,
				   .notify = (al_cq_notify)request->notify };

	connection->status = request->zero ? AL_INVALID_PARAMETER
				     : al_create_cq(HANDLE(al_pd_h, 0), &init, connection->making,
						    on_completion, on_event, &cq);
	answer->cqe = init.cqe;
	connection->made = cq;
}

void command_RESIZE_CQ(struct connection *connection)
{
	BEGIN(RESIZE_CQ);
	uint32_t cqe = request->cqe;

	connection->status =
		request->zero ? AL_INVALID_PARAMETER : al_resize_cq(HANDLE(al_cq_h, 0), &cqe);
	answer->cqe = cqe;
}

void command_MODIFY_CQ(struct connection *connection)
{
	const struct MODIFY_CQ_request *request = connection_request(connection);

	connection->status =
		request->zero ? AL_INVALID_PARAMETER
			      : al_modify_cq(HANDLE(al_cq_h, 0), request->count, request->period);
}

void command_QUERY_CQ(struct connection *connection)
{
	struct QUERY_CQ_answer *answer = connection_answer(connection);

	connection->status = al_query_cq(HANDLE(al_cq_h, 0), &answer->attr);
}

/* --------------------------------------------------------------- queue pairs */

static bool is_zero(const uint8_t *bytes, size_t num)
{
	while (num && !*bytes) {
		bytes++;
		num--;
	}
	return !num;
}

static bool is_special(ib_qp_type type)
{
	return type == IB_QPT_SMI || type == IB_QPT_GSI;
}

void command_CREATE_QP(struct connection *connection)
{
	al_qp_h qp = NULL;
	BEGIN(CREATE_QP);
	struct al_qp_init init = {
		.qp_type = (ib_qp_type)request->qp_type,
		.sq_sig_all = request->sq_sig_all,
		.block_mcast_loopback = request->block_mcast_loopback,
		.port_num = request->port_num,
		.cap = request->cap,
		.send_cq = HANDLE(al_cq_h, 1),
		.recv_cq = HANDLE(al_cq_h, 2),
	};

	connection->making->qp_type = init.qp_type;
	connection->making->domain = HANDLE(al_pd_h, 0);
	/* Only special and raw queue pairs have a port_num, which of a switch is 0; the user role
	 * does not offer them. */
	connection->status = request->port_num || is_special(init.qp_type)
				     ? AL_UNSUPPORTED
				     : al_create_qp(HANDLE(al_pd_h, 0), &init, connection->making,
						    on_event, &qp);
	answer->cap = init.cap;
	/* al_qp_num() fails if the HCA is being removed. The queue pair is made all the same, and
	 * goes with the HCA. */
	if (!connection->status)
		al_qp_num(qp, &answer->qp_num);
	connection->made = qp;
}

/* The HCA is the object of the first handle, as the row of the command says. */
void command_GET_SPL_QP(struct connection *connection)
{
	static const struct ib_qp_cap none;
	const struct GET_SPL_QP_request *request = connection_request(connection);
	al_qp_h qp = NULL;

	connection->making->qp_type = (ib_qp_type)request->qp_type;
	connection->status = AL_INVALID_PARAMETER;
	if (!request->send_cq && !request->recv_cq && !request->sq_sig_all &&
	    !request->block_mcast_loopback && is_zero(request->zero, sizeof(request->zero)) &&
	    !memcmp(&request->cap, &none, sizeof(none)))
		connection->status = al_get_spl_qp(HANDLE(al_ca_h, 0), request->port_num,
						   (ib_qp_type)request->qp_type, connection->making,
						   on_event, &qp);
	connection->made = qp;
}

void command_MODIFY_QP(struct connection *connection)
{
	const struct MODIFY_QP_request *request = connection_request(connection);

	connection->status = request->mask > UINT32_MAX ? AL_INVALID_PARAMETER
						  : al_modify_qp(HANDLE(al_qp_h, 0), &request->attr,
								 (uint32_t)request->mask);
	connection->resets = !connection->status && request->mask & IB_QP_STATE &&
		       request->attr.qp_state == IB_QPS_RESET;
}

void command_QUERY_QP(struct connection *connection)
{
	struct QUERY_QP_answer *answer = connection_answer(connection);

	connection->status = al_query_qp(HANDLE(al_qp_h, 0), &answer->attr, NULL);
}

/* ---------------------------------------------------------- multicast groups */

void command_ATTACH_MCAST(struct connection *connection)
{
	const struct ATTACH_MCAST_request *request = connection_request(connection);
	bool is_new = false;

	connection->status = AL_INVALID_PARAMETER;
	if (is_zero(request->zero, sizeof(request->zero)))
		connection->status = al_attach_mcast_once(HANDLE(al_qp_h, 0), &request->gid,
							  request->mlid, &is_new);
	connection->leaves = !is_new;
}

void command_DETACH_MCAST(struct connection *connection)
{
	const struct DETACH_MCAST_request *request = connection_request(connection);

	connection->status =
		is_zero(request->zero, sizeof(request->zero))
			? al_detach_mcast(HANDLE(al_qp_h, 0), &request->gid, request->mlid)
			: AL_INVALID_PARAMETER;
	connection->leaves = !connection->status;
}

/* -------------------------------------------------------------- destroying */

/* On the loop: the Access Layer has destroyed the object. Answers the DESTROY command. */
static void end_done(struct job *job)
{
	struct object *object = container_of(job, struct object, end);
	const bool copied = kinds[object->type].copied;
	struct connection *destroyer = object->destroyer;

	object_free(object);
	if (copied)
		connection_answered_after_copies(destroyer);
	else
		connection_answered(destroyer);
}

static void on_destroyed(void *context)
{
	struct object *object = context;

	loop_post(&object->end);
}

void command_DESTROY(struct connection *connection)
{
	struct object *object = connection->object[0];

	/* al_close_ca() would destroy the objects on the HCA. A client destroys each of its objects
	 * itself first. */
	if (object->dying || object_busy(object)) {
		connection->status = object->dying ? AL_INVALID_HANDLE : AL_RESOURCE_BUSY;
		connection_answered(connection);
		return;
	}
	object->dying = true;
	object->destroyer = connection;
	object->end.done = end_done;
	connection->status = kinds[object->type].destroy(object->handle, on_destroyed, object);
	if (!connection->status)
		return;
	object->dying = false;
	object->destroyer = NULL;
	if (connection->status == AL_INVALID_HANDLE) { /* the object goes or has gone with its HCA */
		connection->status = AL_SUCCESS;
		if (!hca_leaving(object->hca))
			object_free(object);
	}
	connection_answered(connection);
}
