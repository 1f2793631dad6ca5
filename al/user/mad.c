/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The requests of MAD services to the agent: struct mad_remote_ops of al/mgmt/remote.h. */
#include <string.h>

#include "al/mgmt/remote.h"
#include "al/user/user.h"

static al_status reg(struct ci_ca *ca, const struct al_mad_svc_init *init, void *announce,
		     struct mad_remote *svc)
{
	struct user_conn *conn = hca_of(ca)->conn;
	struct REG_MAD_SVC_request request = {
		.ca = hca_of(ca)->own.remote,
		.methods = { init->methods[0], init->methods[1] },
		.port_num = init->port_num,
		.mgmt_class = init->mgmt_class,
		.class_version = init->class_version,
		.rmpp = init->rmpp,
		.oui = { init->oui[0], init->oui[1], init->oui[2] },
	};
	struct made_answer answer;
	al_status status;

	svc->conn = conn;
	status = user_cookie_take(conn, announce, AL_OBJ_MAD_SVC, &svc->cookie);
	if (status)
		return status;
	request.cookie = svc->cookie;
	status = user_simple(conn, AGENT_REG_MAD_SVC, &request, &answer, NULL);
	if (status)
		user_cookie_drop(conn, svc->cookie);
	svc->handle = answer.handle;
	return status;
}

static void dereg(struct mad_remote *svc)
{
	const struct DESTROY_request request = { .handle = svc->handle };

	user_simple(svc->conn, AGENT_DESTROY, &request, NULL, NULL);
	user_cookie_drop(svc->conn, svc->cookie);
}

/* Sends bytes of the datagram from offset on, as many as a record has room for. Returns their
 * number in *bytes. */
static al_status send_part(const struct mad_remote *svc, const struct al_mad_send *send,
			   uint32_t offset, uint32_t *bytes)
{
	struct SEND_MAD_request *request;
	struct user_call call;
	al_status status = user_begin(&call, svc->conn, AGENT_SEND_MAD);

	if (status)
		return status;
	*bytes = send->length - offset < AGENT_MAD_BYTES ? send->length - offset : AGENT_MAD_BYTES;
	request = call.request;
	*request = (struct SEND_MAD_request){ .svc = svc->handle,
					      .id = send->id,
					      .length = send->length,
					      .offset = offset,
					      .remote_qpn = send->remote_qpn,
					      .remote_qkey = send->remote_qkey,
					      .timeout_ms = send->timeout_ms,
					      .pkey_index = send->pkey_index,
					      .retries = send->retries,
					      .path = send->path,
					      .taken = atomic_load(&svc->taken),
					      .room = 1 };
	memcpy(call.in[0], (const uint8_t *)send->mad + offset, *bytes);
	call.count[0] = *bytes;
	status = user_ask(&call);
	if (!status && call.out_count)
		user_mad_ahead(svc->conn, call.out);
	user_end(&call);
	return status;
}

static al_status send_whole(const struct mad_remote *svc, const struct al_mad_send *s)
{
	uint32_t offset = 0, bytes = 0;
	al_status status;

	do {
		status = send_part(svc, s, offset, &bytes);
		offset += bytes;
	} while (!status && offset < s->length);
	return status;
}

static al_status cancel(const struct mad_remote *svc, uint64_t id)
{
	const struct CANCEL_MAD_request request = { .svc = svc->handle, .id = id };

	return user_simple(svc->conn, AGENT_CANCEL_MAD, &request, NULL, NULL);
}

static al_status next(const struct mad_remote *svc, uint32_t size, uint32_t offset, void *to,
		      uint32_t room, struct al_mad_part *part)
{
	const struct MAD_NEXT_answer *answer;
	struct MAD_NEXT_request *request;
	struct user_call call;
	al_status status = user_begin(&call, svc->conn, AGENT_MAD_NEXT);

	memset(part, 0, sizeof(*part));
	if (status)
		return status;
	request = call.request;
	request->svc = svc->handle;
	request->size = size;
	request->offset = offset;
	request->room = room < AGENT_MAD_BYTES ? room : AGENT_MAD_BYTES;
	request->taken = atomic_load(&svc->taken);
	status = user_ask(&call);
	answer = call.answer;
	part->event = answer->event;
	part->event.mad = NULL;
	part->left = answer->left;
	part->bytes = call.out_count;
	if (!status && (call.out_count > room || offset > answer->event.length ||
			call.out_count > answer->event.length - offset))
		status = AL_AGENT_PROTOCOL;
	if (!status && call.out_count)
		memcpy(to, call.out, call.out_count);
	user_end(&call);
	return status;
}

static al_status local_mad(const struct ci_ca *ca, uint8_t port_num, const struct ib_mad *mad,
			   struct ib_mad *response)
{
	const struct LOCAL_MAD_request request = { .ca = hca_of(ca)->own.remote,
						   .port = port_num,
						   .mad = *mad };
	struct LOCAL_MAD_answer answer;
	al_status status = user_simple(hca_of(ca)->conn, AGENT_LOCAL_MAD, &request, &answer, NULL);

	if (!status)
		*response = answer.mad;
	return status;
}

_Static_assert(MAD_REMOTE_AHEAD_MAX == AGENT_AHEAD_MAX,
	       "the client has room for all that the agent sends");

/* ------------------------------------------------- aliases of special queue pairs */

/* An alias belongs to no domain, by which qp_own() finds our data. */
static struct user_object *alias_own(const struct ci_ca *ca, const struct ci_qp *qp)
{
	return user_own(ca, CI_OBJ_QP, qp);
}

static al_status get_spl_qp(const struct ci_ca *ca, uint8_t port_num, struct ci_qp *qp)
{
	struct user_conn *conn = hca_of(ca)->conn;
	struct user_object *own = alias_own(ca, qp);
	struct GET_SPL_QP_request request = { .pd = hca_of(ca)->own.remote,
					      .qp_type = qp->qp_type,
					      .port_num = port_num };
	struct made_answer answer;
	al_status status = user_cookie_take(conn, qp, AL_OBJ_QP, &own->cookie);

	if (status)
		return status;
	request.cookie = own->cookie;
	status = user_simple(conn, AGENT_GET_SPL_QP, &request, &answer, NULL);
	if (status)
		user_cookie_drop(conn, own->cookie);
	own->remote = answer.handle;
	return status;
}

static void put_spl_qp(const struct ci_ca *ca, struct ci_qp *qp)
{
	const struct DESTROY_request request = { .handle = alias_own(ca, qp)->remote };

	user_simple(hca_of(ca)->conn, AGENT_DESTROY, &request, NULL, NULL);
	user_cookie_drop(hca_of(ca)->conn, alias_own(ca, qp)->cookie);
}

static al_status query_spl_qp(const struct ci_ca *ca, const struct ci_qp *qp,
			      struct ib_qp_attr *attr)
{
	const struct QUERY_QP_request request = { alias_own(ca, qp)->remote };
	struct QUERY_QP_answer answer;
	al_status status = user_simple(hca_of(ca)->conn, AGENT_QUERY_QP, &request, &answer, NULL);

	if (!status)
		*attr = answer.attr;
	return status;
}

const struct mad_remote_ops user_mad_ops = {
	.reg = reg,
	.dereg = dereg,
	.send = send_whole,
	.cancel = cancel,
	.next = next,
	.local_mad = local_mad,
	.get_spl_qp = get_spl_qp,
	.put_spl_qp = put_spl_qp,
	.query_spl_qp = query_spl_qp,
};
