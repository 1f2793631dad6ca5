/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* MAD services of an agent's clients: a program with an HCA, a service and a channel, and requests
 * of a client by hand. */
#ifndef IBAL_TEST_AGENT_MADS_H
#define IBAL_TEST_AGENT_MADS_H

#include "test/e2e/agent_door.h"

#include <iba/ib_mad.h>

#define GET_SET  (1 << IB_METHOD_GET | 1 << IB_METHOD_SET)
#define VENDOR   0x0a
#define VENDOR_2 0x31 /* has an OUI and RMPP */

static uint64_t guids[2];

struct end {
	al_ca_h ca;
	al_mad_svc_h svc;
	al_channel_h channel;
	uint16_t lid;
};

static inline struct end open_end(al_h al, int which)
{
	struct ib_port_attr port;
	struct end end = { 0 };

	test_guids(al, guids, 2);
	end.ca = test_open_ca(al, guids[which]);
	ck_ok(al_query_port(end.ca, 1, &port));
	end.lid = port.lid;
	ck_ok(al_create_channel(al, NULL, &end.channel));
	return end;
}

static inline struct al_mad_svc_init init_of(const struct end *end, uint8_t mgmt_class,
					     uint64_t methods)
{
	return (struct al_mad_svc_init){ .port_num = 1,
					 .mgmt_class = mgmt_class,
					 .class_version = 1,
					 .rmpp = mgmt_class == VENDOR_2,
					 .methods = { methods },
					 .channel = end->channel };
}

static inline void serve(struct end *end, uint8_t mgmt_class, uint64_t methods)
{
	struct al_mad_svc_init init = init_of(end, mgmt_class, methods);

	ck_ok(al_reg_mad_svc(end->ca, &init, end, NULL, &end->svc));
}

static inline struct ib_mad mad_of(uint8_t mgmt_class, uint8_t method, uint16_t attribute)
{
	return (struct ib_mad){ .hdr = { .base_version = IB_MAD_BASE_VERSION,
					 .mgmt_class = mgmt_class,
					 .class_version = 1,
					 .method = method,
					 .attr_id = ib_be16_of(attribute) } };
}

static inline al_status send_to(const struct end *from, uint16_t dlid, const void *mad,
				uint32_t length, uint32_t timeout_ms, uint64_t id)
{
	const uint8_t mgmt_class = ((const struct ib_mad_hdr *)mad)->mgmt_class;
	const bool qp0 = mgmt_class == IB_CLASS_SUBN_LID || mgmt_class == IB_CLASS_SUBN_DIR;
	const struct al_mad_send send = { .mad = mad,
					  .length = length,
					  .remote_qpn = !qp0,
					  .remote_qkey = qp0 ? 0 : IB_QKEY_WELL_KNOWN,
					  .timeout_ms = timeout_ms,
					  .path = { .dlid = dlid, .port_num = 1 },
					  .id = id };

	return al_send_mad(from->svc, &send);
}

/* Takes the next event, which has to come. */
static inline struct al_mad_event next_event(const struct end *end, void *mad, uint32_t size)
{
	struct timespec limit = test_deadline();
	struct pollfd readable = { .events = POLLIN };
	struct al_channel_event told;
	struct al_mad_event event;
	al_status status;

	ck_ok(al_channel_fd(end->channel, &readable.fd));
	while ((status = al_mad_next(end->svc, mad, size, &event)) == AL_NOT_FOUND) {
		ck_assert_msg(!test_expired(&limit), "no event came");
		poll(&readable, 1, 1000);
		al_channel_next(end->channel, &told);
	}
	ck_ok(status);
	return event;
}

static inline void expect_event(const struct end *end, al_mad_event_type type, al_status status,
				uint64_t id)
{
	uint8_t mad[IB_MAD_BYTES];
	const struct al_mad_event event = next_event(end, mad, sizeof(mad));

	ck_assert_msg(event.type == type && event.status == status, "\"%s\", %s",
		      al_mad_event_type_str(event.type), al_status_name(event.status));
	ck_assert_uint_eq(event.id, id);
}

static inline struct SEND_MAD_request send_request(uint64_t svc, uint32_t length, uint32_t offset)
{
	return (struct SEND_MAD_request){ .svc = svc,
					  .length = length,
					  .offset = offset,
					  .remote_qpn = 1,
					  .remote_qkey = IB_QKEY_WELL_KNOWN,
					  .path = { .dlid = 1, .port_num = 1 } };
}

#endif
