/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The commands of MAD services, and the question to a port's agents. A few of a client's datagrams
 * go to the client with their announcement (ahead.c); all others stay in the service of the agent's
 * Access Layer, which is bounded, until the client fetches them. Which datagrams a client may send
 * is in guard.c.
 */
#include <string.h>

#include <iba/ib_mad.h>

#include "al/agent/verbs.h"
#include "al/library/private.h"

/* Callbacks of a service, whose context is its struct object. */
static void announce(void *context, al_mad_svc_h svc)
{
	struct object *object = context;

	source_mad(&object->source, svc);
}

static bool charge(void *context, uint64_t bytes)
{
	const struct object *object = context;

	return !account_charge(object->objects->account, AL_RESOURCE_RINGS, bytes);
}

static void discharge(void *context, uint64_t bytes)
{
	const struct object *object = context;

	account_return(object->objects->account, AL_RESOURCE_RINGS, bytes);
}

static const struct al_mad_owner client_owner = { .announce = announce,
						  .charge = charge,
						  .discharge = discharge };

void command_REG_MAD_SVC(struct connection *connection)
{
	const struct REG_MAD_SVC_request *request = connection_request(connection);
	const struct al_mad_svc_init init = {
		.port_num = request->port_num,
		.mgmt_class = request->mgmt_class,
		.class_version = request->class_version,
		.rmpp = request->rmpp,
		.oui = { request->oui[0], request->oui[1], request->oui[2] },
		.pad = request->zero,
		.methods = { request->methods[0], request->methods[1] },
	};
	al_mad_svc_h svc = NULL;

	connection->making->source.ahead = al_alloc(sizeof(struct ahead));
	connection->status = AL_INSUFFICIENT_MEMORY;
	if (!connection->making->source.ahead)
		return;
	connection->status = al_reg_owned_mad_svc(HANDLE(al_ca_h, 0), &init, connection->making,
						  &client_owner, &svc);
	connection->made = svc;
}

/* Takes the request's part of the datagram. *mad: the whole datagram; NULL: parts are still to
 * come. */
static al_status take_part(struct connection *connection, const uint8_t **mad)
{
	const struct SEND_MAD_request *request = connection_request(connection);
	struct stage *stage = &connection->object[0]->stage;
	const uint32_t num = connection->count[0];
	al_status status;

	*mad = NULL;
	if (!request->offset && num < sizeof(struct ib_mad_hdr)) /* guard.c has read no header */
		return AL_INVALID_PARAMETER;
	if (!request->offset && num == request->length) {
		*mad = connection_in(connection, 0);
		return AL_SUCCESS;
	}
	status = stage_add(stage, request->length, request->offset, connection_in(connection, 0),
			   num);
	if (!status && stage_whole(stage))
		*mad = stage->bytes;
	return status;
}

void command_SEND_MAD(struct connection *connection)
{
	const struct SEND_MAD_request *request = connection_request(connection);
	struct source *source = &connection->object[0]->source;
	struct stage *stage = &connection->object[0]->stage;
	struct al_mad_send send = {
		.length = request->length,
		.remote_qpn = request->remote_qpn,
		.remote_qkey = request->remote_qkey,
		.pkey_index = request->pkey_index,
		.retries = request->retries,
		.timeout_ms = request->timeout_ms,
		.path = request->path,
		.id = request->id,
	};
	const uint8_t *mad;

	source_mad_sending(source, request->taken);
	connection->status = take_part(connection, &mad);
	if (mad) {
		send.mad = mad;
		connection->status = al_send_mad(HANDLE(al_mad_svc_h, 0), &send);
	}
	if (mad == stage->bytes)
		stage_drop(stage);
	connection->out_count = source_mad_sent(
		source, connection->status || !request->room ? NULL : connection_out(connection));
}

void command_CANCEL_MAD(struct connection *connection)
{
	const struct CANCEL_MAD_request *request = connection_request(connection);

	connection->status = al_cancel_mad(HANDLE(al_mad_svc_h, 0), request->id);
}

void command_MAD_NEXT(struct connection *connection)
{
	struct ahead_want want;
	struct al_mad_part part;
	BEGIN(MAD_NEXT);

	connection->status = AL_INVALID_PARAMETER;
	if (request->room > AGENT_MAD_BYTES)
		return;
	want = (struct ahead_want){ .svc = HANDLE(al_mad_svc_h, 0),
				    .size = request->size,
				    .offset = request->offset,
				    .room = (uint32_t)request->room,
				    .to = connection_out(connection) };
	connection->status =
		source_mad_next(&connection->object[0]->source, request->taken, &want, &part);
	answer->event = part.event;
	answer->left = part.left;
	connection->out_count = part.bytes;
}

void command_LOCAL_MAD(struct connection *connection)
{
	BEGIN(LOCAL_MAD);

	connection->status = request->port > UINT8_MAX
				     ? AL_INVALID_PORT
				     : al_local_mad(HANDLE(al_ca_h, 0), (uint8_t)request->port,
						    &request->mad, &answer->mad);
}
