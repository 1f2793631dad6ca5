/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Both ends of a vendor's management class: one port answers Get of an attribute with a text of any
 * length, which RMPP carries in segments, and another port asks for the text.
 *
 *     vendor_mad both FILE     both ends in this process: the last HCA asks the first one
 *     vendor_mad serve FILE    the first HCA answers until the program is stopped
 *     vendor_mad ask LID       the last HCA asks the port of that LID, and prints the text
 *
 * One thread waits for one channel, to which the library delivers the datagrams of both ends and
 * the removal of an HCA.
 */
#include <iba/ib_al.h>
#include <iba/ib_mad.h>

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLASS         (IB_CLASS_VENDOR_2_FIRST + 1)
#define CLASS_VERSION 1
#define OUI           0x021ba1 /* locally administered: use your own */
#define ATTR_TEXT     0x0100   /* attributes from 0x0010 on are the class's own */
#define HEADER_BYTES  offsetof(struct ib_vendor_mad, data)
#define TEXT_BYTES    (1u << 20) /* longest text */
#define PORT          1
#define QP1           1
#define TIMEOUT_MS    1000 /* then 2000 and 4000 for the two repetitions */
#define RETRIES       2

/* One end: a service of the class on a port. Its address is the context of the service. */
struct end {
	uint64_t guid;
	al_ca_h ca;
	al_mad_svc_h svc;
	uint8_t *mad;  /* the datagram that was received last */
	uint32_t room; /* bytes of mad */
};

static al_h al;
static al_channel_h channel;
static al_pnp_h pnp;
static struct end server, client;
static uint8_t answer[HEADER_BYTES + TEXT_BYTES]; /* the server's text, behind its header */
static uint32_t answer_bytes;
static bool over; /* the client has its answer */

/* Prints why a call has failed. */
static bool succeeds(al_status status, const char *what)
{
	if (status)
		fprintf(stderr, "vendor_mad: %s: %s\n", what, al_status_str(status));
	return !status;
}

/* ------------------------------------------------------------------- the server */

/* Reads the text from a file. */
static bool read_text(const char *path)
{
	FILE *file = fopen(path, "rb");
	bool good;

	if (!file) {
		perror(path);
		return false;
	}
	answer_bytes = (uint32_t)(HEADER_BYTES + fread(answer + HEADER_BYTES, 1, TEXT_BYTES, file));
	good = fgetc(file) == EOF && !ferror(file);
	if (!good)
		fprintf(stderr, "vendor_mad: %s: more than %u bytes, or not readable\n", path,
			TEXT_BYTES);
	fclose(file);
	return good;
}

/*
 * Answers a request. The response has the request's header with the bit of responses, and goes back
 * to the request's sender. The library copies the response. The flag of RMPP keeps the exact length
 * of a text that is shorter than a packet.
 */
static al_status serve(const struct al_mad_event *event)
{
	const struct ib_vendor_mad *request = event->mad;
	struct ib_vendor_mad *response = (struct ib_vendor_mad *)answer;
	struct al_mad_send send = {
		.mad = answer,
		.length = answer_bytes,
		.remote_qpn = event->src_qp,
		.remote_qkey = IB_QKEY_WELL_KNOWN,
		.pkey_index = event->pkey_index,
		.path = event->path,
	};

	if (event->length < HEADER_BYTES)
		return AL_SUCCESS; /* too short for the class: not answered */
	response->hdr = request->hdr;
	response->hdr.method |= IB_METHOD_RESP;
	response->oui = ib_be24_of(OUI);
	if (ib_be16_get(request->hdr.attr_id) == ATTR_TEXT) {
		ib_rmpp_hdr_set_flags(&response->rmpp, IB_RMPP_ACTIVE);
	} else {
		response->hdr.status = ib_be16_of(IB_MAD_STATUS_BAD_METHOD_ATTR);
		ib_rmpp_hdr_set_flags(&response->rmpp, 0);
		send.length = HEADER_BYTES;
	}
	return al_send_mad(server.svc, &send);
}

static bool server_event(const struct al_mad_event *event)
{
	al_status status = event->type == AL_MAD_RECEIVED ? serve(event) : event->status;

	succeeds(status, "a request is not answered"); /* its sender repeats it */
	return status != AL_CA_REMOVED && status != AL_AGENT_LOST;
}

/* ------------------------------------------------------------------- the client */

static bool ask(uint16_t lid)
{
	const struct ib_vendor_mad request = {
		.hdr = { .base_version = IB_MAD_BASE_VERSION,
			 .mgmt_class = CLASS,
			 .class_version = CLASS_VERSION,
			 .method = IB_METHOD_GET,
			 .attr_id = ib_be16_of(ATTR_TEXT) },
		.oui = ib_be24_of(OUI),
	};
	const struct al_mad_send send = {
		.mad = &request,
		.length = sizeof(request),
		.remote_qpn = QP1,
		.remote_qkey = IB_QKEY_WELL_KNOWN,
		.timeout_ms = TIMEOUT_MS,
		.retries = RETRIES,
		.path = { .dlid = lid, .port_num = PORT },
	};

	return succeeds(al_send_mad(client.svc, &send), "the request is not sent");
}

static bool print(const uint8_t *text, size_t bytes)
{
	if (fwrite(text, 1, bytes, stdout) == bytes && !fflush(stdout))
		return true;
	perror("vendor_mad: the text can not be written");
	return false;
}

static bool client_event(const struct al_mad_event *event)
{
	const struct ib_vendor_mad *response = event->mad;

	if (!succeeds(event->status, "no answer"))
		return false;
	over = true;
	if (event->length < HEADER_BYTES || ib_be16_get(response->hdr.status)) {
		fprintf(stderr, "vendor_mad: the port refuses, with status 0x%04x\n",
			ib_be16_get(response->hdr.status));
		return false;
	}
	return print(response->data, event->length - HEADER_BYTES);
}

/* ------------------------------------------------------------------- both ends */

/* Takes the next event of a service into end->mad, which grows as needed. */
static al_status take(struct end *end, struct al_mad_event *event)
{
	al_status status = al_mad_next(end->svc, end->mad, end->room, event);
	uint8_t *mad;

	if (status != AL_BUFFER_TOO_SMALL)
		return status;
	mad = realloc(end->mad, event->length);
	if (!mad)
		return AL_INSUFFICIENT_MEMORY;
	end->mad = mad;
	end->room = event->length;
	return al_mad_next(end->svc, end->mad, end->room, event);
}

static bool mad_event(struct end *end)
{
	struct al_mad_event event;
	al_status status = take(end, &event);

	if (status == AL_NOT_FOUND)
		return true;
	if (!succeeds(status, "an event is lost"))
		return false;
	return end == &server ? server_event(&event) : client_event(&event);
}

/* True: the removal is of another HCA. */
static bool pnp_event(const struct al_pnp_event *event)
{
	const bool ours = (server.ca && event->ca_guid == server.guid) ||
			  (client.ca && event->ca_guid == client.guid);

	return event->type != AL_PNP_CA_REMOVE || !ours ||
	       succeeds(AL_CA_REMOVED, "no more datagrams");
}

/* Handles events until the client has its answer or an end fails. */
static bool handle_events(void)
{
	struct pollfd ready = { .events = POLLIN };
	struct al_channel_event event;
	bool good = succeeds(al_channel_fd(channel, &ready.fd), "the channel's descriptor");
	al_status status;

	while (good && !over) {
		status = al_channel_next(channel, &event);
		if (status == AL_NOT_FOUND)
			good = poll(&ready, 1, -1) >= 0 || errno == EINTR;
		else if (!succeeds(status, "the channel's next event"))
			good = false;
		else if (event.type == AL_CHANNEL_PNP)
			good = pnp_event(&event.pnp);
		else
			good = mad_event(event.context);
	}
	return good;
}

/* Opens an HCA and registers its port's service, which receives requests of `methods`. */
static bool open_end(struct end *end, uint64_t guid, uint64_t methods)
{
	const struct al_mad_svc_init init = {
		.port_num = PORT,
		.mgmt_class = CLASS,
		.class_version = CLASS_VERSION,
		.rmpp = true,
		.oui = { OUI >> 16 & 0xff, OUI >> 8 & 0xff, OUI & 0xff },
		.methods = { methods },
		.channel = channel,
	};

	end->guid = guid;
	return succeeds(al_open_ca(al, guid, NULL, &end->ca), "the HCA is not opened") &&
	       succeeds(al_reg_mad_svc(end->ca, &init, end, NULL, &end->svc),
			"the service is not registered");
}

static void close_end(struct end *end)
{
	if (end->svc)
		al_dereg_mad_svc(end->svc, NULL, NULL);
	if (end->ca)
		al_close_ca(end->ca, NULL, NULL);
}

/* The LID of an end's port; 0: the port is not Active. */
static uint16_t lid_of(const struct end *end)
{
	struct ib_port_attr attr;

	if (!succeeds(al_query_port(end->ca, PORT, &attr), "the port's attributes"))
		return 0;
	if (attr.state != IB_PORT_ACTIVE)
		fprintf(stderr, "vendor_mad: port %d is %s\n", PORT, al_port_state_str(attr.state));
	return attr.state == IB_PORT_ACTIVE ? attr.lid : 0;
}

/* Finds the first and the last HCA of the library. */
static bool find_hcas(uint64_t *first, uint64_t *last)
{
	uint64_t *guids = NULL;
	size_t count = 0;
	bool good;

	al_get_ca_guids(al, NULL, &count);
	if (count)
		guids = calloc(count, sizeof(*guids));
	if (!guids) {
		fprintf(stderr, "vendor_mad: there is no HCA\n");
		return false;
	}
	good = succeeds(al_get_ca_guids(al, guids, &count), "the list of HCAs") && count;
	if (good) {
		*first = guids[0];
		*last = guids[count - 1];
	}
	free(guids);
	return good;
}

/* ------------------------------------------------------------------ the program */

static bool open_library(void)
{
	struct al_pnp_attr removals = { 0 };

	if (!succeeds(al_open(NULL, &al), "the library is not opened") ||
	    !succeeds(al_create_channel(al, NULL, &channel), "there is no channel"))
		return false;
	removals.channel = channel;
	return succeeds(al_reg_pnp(al, &removals, NULL, NULL, &pnp), "removals are not told");
}

/* The handles of objects that were not opened are NULL. An object is destroyed before the objects that it uses. */
static void close_library(void)
{
	close_end(&client);
	close_end(&server);
	if (pnp)
		al_dereg_pnp(pnp, NULL, NULL);
	if (channel)
		al_destroy_channel(channel, NULL, NULL);
	if (al)
		al_close(al, AL_DESTROY_SYNC, NULL);
	free(client.mad);
	free(server.mad);
}

/* Opens the ends that the program has in this process, and lets them talk. path: the server's text;
 * NULL: no server. lid: where the client asks; with a server, the server's port. */
static bool talk(const char *path, bool asks, uint16_t lid)
{
	uint64_t first, last;

	if (!open_library() || !find_hcas(&first, &last))
		return false;
	if (path) {
		if (!read_text(path) || !open_end(&server, first, 1 << IB_METHOD_GET))
			return false;
		lid = lid_of(&server);
		if (!lid)
			return false;
		fprintf(stderr, "vendor_mad: serves at LID %u\n", lid);
	}
	if (asks && (!open_end(&client, last, 0) || !lid_of(&client) || !ask(lid)))
		return false;
	return handle_events();
}

int main(int argc, char **argv)
{
	const char *what = argc == 3 ? argv[1] : "";
	const bool both = !strcmp(what, "both"), asks = !strcmp(what, "ask");
	unsigned long lid = asks ? strtoul(argv[2], NULL, 0) : 0;
	bool good;

	if ((!both && !asks && strcmp(what, "serve")) ||
	    (asks && (!lid || lid >= IB_LID_MULTICAST_FIRST))) {
		fprintf(stderr, "usage: vendor_mad both FILE | serve FILE | ask LID\n");
		return 2;
	}
	good = talk(asks ? NULL : argv[2], asks || both, (uint16_t)lid);
	close_library();
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
