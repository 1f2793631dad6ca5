/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Helpers for tests of MAD services: datagrams, services that record their events, and waits for events. Callbacks
 * record and post; the test checks the records.
 */
#ifndef IBAL_TEST_MAD_BED_H
#define IBAL_TEST_MAD_BED_H

#include <pthread.h>

#include <iba/ib_mad.h>

#include "test/unit/al/al_test.h"

#define VENDOR   0x0a   /* a vendor class of range 1 */
#define VENDOR_2 0x31   /* a vendor class of range 2 */
#define SHORT_MS 5u     /* a time-out that is meant to expire */
#define LONG_MS  60000u /* a time-out that is meant not to expire */

/* A service and the events that the service has got. */
struct side {
	al_mad_svc_h svc;
	pthread_mutex_t lock;
	struct {
		struct al_mad_event event;
		struct ib_mad mad;
		char thread[16];
		al_status slept; /* status of a call that may sleep, made in the callback */
	} got[512];
	unsigned int num, looked; /* events; events that side_next() has returned */
	sem_t sem;                /* posted for each event */
	void (*_Atomic then)(
		struct side *side,
		const struct al_mad_event *event); /* called in the callback; may be NULL */
	al_ca_h ca;
	uint16_t lid;
};

static inline void side_event(void *context, const struct al_mad_event *event)
{
	void (*then)(struct side *, const struct al_mad_event *);
	struct side *side = context;
	struct ib_ca_attr attr;

	pthread_mutex_lock(&side->lock);
	if (side->num < 512) {
		side->got[side->num].event = *event;
		if (event->mad)
			memcpy(&side->got[side->num].mad, event->mad, IB_MAD_BYTES);
		pthread_getname_np(pthread_self(), side->got[side->num].thread, 16);
		side->got[side->num].slept = al_query_ca(side->ca, &attr);
	}
	side->num++;
	pthread_mutex_unlock(&side->lock);
	then = side->then;
	if (then)
		then(side, event);
	sem_post(&side->sem);
}

static inline void side_init(struct side *side, al_ca_h ca)
{
	memset(side, 0, sizeof(*side));
	pthread_mutex_init(&side->lock, NULL);
	sem_init(&side->sem, 0, 0);
	side->ca = ca;
}

/* Attributes of a service on port 1 that wants Get, Set, Send and Trap. */
static inline struct al_mad_svc_init svc_init(uint8_t mgmt_class)
{
	return (struct al_mad_svc_init){
		.port_num = 1,
		.mgmt_class = mgmt_class,
		.class_version = 1,
		.methods = { 1 << IB_METHOD_GET | 1 << IB_METHOD_SET | 1 << IB_METHOD_SEND |
			     1 << IB_METHOD_TRAP },
	};
}

static inline void side_register(struct side *side, const struct al_mad_svc_init *init)
{
	ck_ok(al_reg_mad_svc(side->ca, init, side, side_event, &side->svc));
}

/* A side with a service of a class on port 1 of the HCA. methods: a bit for each method, up to 63,
 * that the service takes. */
static inline void side_serve(struct side *side, al_ca_h ca, uint8_t mgmt_class, uint64_t methods)
{
	struct al_mad_svc_init init = svc_init(mgmt_class);

	init.methods[0] = methods;
	side_init(side, ca);
	side_register(side, &init);
}

/* Waits for the next event and checks its type and status. Returns the event's index in side->got. */
static inline unsigned int side_next(struct side *side, al_mad_event_type type, al_status status)
{
	unsigned int i = side->looked++;

	test_wait(&side->sem);
	ck_assert_uint_lt(i, 512);
	ck_assert_msg(side->got[i].event.type == type && side->got[i].event.status == status,
		      "event %u is \"%s\", %s", i, al_mad_event_type_str(side->got[i].event.type),
		      al_status_name(side->got[i].event.status));
	return i;
}

/* A datagram; the data are made of the seed. */
static inline struct ib_mad mad_of(uint8_t mgmt_class, uint8_t method, uint64_t tid, uint8_t seed)
{
	struct ib_mad mad = { .hdr = { .base_version = IB_MAD_BASE_VERSION,
				       .mgmt_class = mgmt_class,
				       .class_version = 1,
				       .method = method,
				       .tid = ib_be64_of(tid) } };

	for (unsigned int i = 0; i < sizeof(mad.data); i++)
		mad.data[i] = (uint8_t)(seed + i * 7);
	return mad;
}

/* A send to QP1 (QP0 for the classes of subnet management) at a LID. */
static inline struct al_mad_send send_of(const struct ib_mad *mad, uint16_t dlid,
					 uint32_t timeout_ms, uint64_t id)
{
	bool qp0 = mad->hdr.mgmt_class == IB_CLASS_SUBN_LID ||
		   mad->hdr.mgmt_class == IB_CLASS_SUBN_DIR;

	return (struct al_mad_send){
		.mad = mad,
		.length = IB_MAD_BYTES,
		.remote_qpn = !qp0,
		.remote_qkey = qp0 ? 0 : IB_QKEY_WELL_KNOWN,
		.timeout_ms = timeout_ms,
		.path = { .dlid = dlid, .port_num = 1 },
		.id = id,
	};
}

#endif
