/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Set-up of tests of MAD services over the module fake.so, whose special queue pairs the test
 * serves: the test is the subnet. The test sees each datagram that is sent, completes the send when
 * it likes, and delivers any datagram.
 */
#ifndef IBAL_TEST_MATCH_BED_H
#define IBAL_TEST_MATCH_BED_H

#include "test/unit/al/mgmt/mad_bed.h"

#define PEER_LID 0x20

/* ---------------------------------------------------------- the far side */

struct posted {
	uint64_t wr_id;
	struct ib_mad mad;
	uint32_t qpn, qkey;
	uint16_t pkey_index;
};

/* A special queue pair of the fake. */
struct special {
	struct fake_qp *qp;
	uint64_t wr_id[256], addr[256]; /* receives, in a ring */
	unsigned int head, num;
	struct posted sent[2048];
	unsigned int num_sent, num_completed;
	unsigned int seen; /* number of sends that next_sent() has returned */
};

static struct fake *fake;
static struct special specials[3][2]; /* by port and number of the queue pair */
static pthread_mutex_t wire = PTHREAD_MUTEX_INITIALIZER;
static bool hold; /* sends complete only by complete_one() */
static sem_t posted;
static al_status fail_post;
/* the module refuses datagrams with this lower half of the transaction identifier; 0: none */
static uint32_t refused;
static al_h al;
static al_ca_h ca;
static struct side side, other;
static al_status (*ordinary_create)(struct ci_qp *, struct ci_qp_init *, struct ci_udata *);
static al_status (*ordinary_post_recv)(struct ci_qp *, const struct ib_recv_wr *,
				       const struct ib_recv_wr **);

static inline struct special *special_of(const struct ci_qp *qp)
{
	for (int port = 1; port <= 2; port++)
		for (int i = 0; i < 2; i++)
			if (specials[port][i].qp == (const struct fake_qp *)qp)
				return &specials[port][i];
	return NULL;
}

static inline al_status create_special(struct ci_qp *qp, uint8_t port, struct ci_qp_init *init,
				       struct ci_udata *udata)
{
	struct special *s = &specials[port][qp->qp_type == IB_QPT_GSI];
	al_status status;

	atomic_fetch_add(&fake->calls[FAKE_create_spl_qp], 1);
	if (fake->fail[FAKE_create_spl_qp])
		return fake->fail[FAKE_create_spl_qp];
	status = ordinary_create(qp, init, udata);
	if (status)
		return status;
	memset(s, 0, sizeof(*s));
	qp->qp_num = qp->qp_type == IB_QPT_GSI;
	s->qp = (struct fake_qp *)qp;
	return AL_SUCCESS;
}

static inline al_status post_recv(struct ci_qp *qp, const struct ib_recv_wr *wr,
				  const struct ib_recv_wr **bad)
{
	struct special *s = special_of(qp);
	unsigned int at;

	if (!s)
		return ordinary_post_recv(qp, wr, bad);
	pthread_mutex_lock(&wire);
	at = (s->head + s->num++) % 256;
	s->wr_id[at] = wr->wr_id;
	s->addr[at] = wr->sg_list->addr;
	pthread_mutex_unlock(&wire);
	return AL_SUCCESS;
}

static inline void complete_send(struct special *s, ib_wc_status status)
{
	const struct ib_wc wc = { .wr_id = s->sent[s->num_completed++].wr_id,
				  .qp_num = s->qp->qp.qp_num,
				  .status = status };

	fake->complete((struct fake_cq *)s->qp->qp.send_cq, &wc);
}

static inline al_status post_send(struct ci_qp *qp, const struct ib_send_wr *wr,
				  const struct ib_send_wr **bad)
{
	struct special *s = special_of(qp);
	const struct ib_mad_hdr *mad;
	struct posted *p;

	*bad = wr;
	if (!s || fail_post)
		return fail_post ? fail_post : AL_INVALID_STATE;
	mad = (const void *)(uintptr_t)wr->sg_list->addr;
	if (refused && (uint32_t)ib_be64_get(mad->tid) == refused)
		return AL_INVALID_SGE;
	pthread_mutex_lock(&wire);
	p = &s->sent[s->num_sent++];
	p->wr_id = wr->wr_id;
	memcpy(&p->mad, (const void *)(uintptr_t)wr->sg_list->addr, IB_MAD_BYTES);
	p->qpn = wr->wr.ud.remote_qpn;
	p->qkey = wr->wr.ud.remote_qkey;
	p->pkey_index = wr->wr.ud.pkey_index;
	if (!hold)
		complete_send(s, IB_WC_SUCCESS);
	pthread_mutex_unlock(&wire);
	sem_post(&posted);
	return AL_SUCCESS;
}

/* Completes the oldest send that is not completed. */
static inline void complete_one(unsigned int qpn, ib_wc_status status)
{
	pthread_mutex_lock(&wire);
	ck_assert_uint_lt(specials[1][qpn].num_completed, specials[1][qpn].num_sent);
	complete_send(&specials[1][qpn], status);
	pthread_mutex_unlock(&wire);
}

/* The next datagram that port 1 sends, which has to come. */
static inline struct posted next_sent(unsigned int qpn)
{
	struct special *s = &specials[1][qpn];
	struct posted p;

	test_wait(&posted);
	pthread_mutex_lock(&wire);
	ck_assert_uint_lt(s->seen, s->num_sent);
	p = s->sent[s->seen++];
	pthread_mutex_unlock(&wire);
	return p;
}

/* A datagram on its way to a port of the fake. */
struct packet {
	uint8_t port;
	unsigned int qpn;
	struct ib_mad mad;
	uint32_t src_qp, byte_len;
	uint16_t slid;
	bool grh;
	uint8_t sgid[16];
};

static inline struct packet packet_of(const struct ib_mad *mad)
{
	bool qp0 = mad->hdr.mgmt_class == IB_CLASS_SUBN_LID ||
		   mad->hdr.mgmt_class == IB_CLASS_SUBN_DIR;

	return (struct packet){ .port = 1,
				.qpn = !qp0,
				.mad = *mad,
				.src_qp = !qp0,
				.byte_len = IB_GRH_BYTES + IB_MAD_BYTES,
				.slid = PEER_LID };
}

static inline void put_in(const struct packet *p)
{
	struct special *s = &specials[p->port][p->qpn];
	struct ib_wc wc = { .opcode = IB_WC_RECV,
			    .byte_len = p->byte_len,
			    .src_qp = p->src_qp,
			    .slid = p->slid,
			    .port_num = p->port,
			    .qp_num = p->qpn,
			    .wc_flags = p->grh ? IB_WC_GRH : 0 };
	uint8_t *to;

	/* the library reposts a receive some time after its completion */
	for (struct timespec limit = test_deadline();;) {
		pthread_mutex_lock(&wire);
		if (s->num > 0)
			break;
		pthread_mutex_unlock(&wire);
		ck_assert_msg(!test_expired(&limit), "no receive is posted");
	}
	wc.wr_id = s->wr_id[s->head];
	to = (uint8_t *)(uintptr_t)s->addr[s->head];
	s->head = (s->head + 1) % 256;
	s->num--;
	memset(to, 0, IB_GRH_BYTES);
	if (p->grh) {
		to[0] = 0x60;
		memcpy(to + 8, p->sgid, 16);
		/* to the port's own GID */
		for (int i = 0; i < 8; i++) {
			to[24 + i] = (uint8_t)(fake->port_attr.subnet_prefix >> (56 - 8 * i));
			to[32 + i] = (uint8_t)((FAKE_GUID + p->port) >> (56 - 8 * i));
		}
	}
	memcpy(to + IB_GRH_BYTES, &p->mad, IB_MAD_BYTES);
	fake->complete((struct fake_cq *)s->qp->qp.recv_cq, &wc);
	pthread_mutex_unlock(&wire);
}

/* ---------------------------------------------------------------- fixture */

static inline void set_up(void)
{
	fake = test_fake();
	ordinary_create = fake->ops.create_qp;
	ordinary_post_recv = fake->ops.post_recv;
	fake->ca_attr.num_ports = 2;
	fake->ops.create_spl_qp = create_special;
	fake->ops.post_recv = post_recv;
	fake->ops.post_send = post_send;
	hold = false;
	fail_post = AL_SUCCESS;
	refused = 0;
	memset(specials, 0, sizeof(specials));
	sem_init(&posted, 0, 0);
	al = test_open();
	ca = test_open_ca(al, FAKE_GUID);
	side_init(&side, ca);
	side_init(&other, ca);
}

static inline void tear_down(void)
{
	al_set_log(test_ignore_log, NULL);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

/*
 * Delivers a datagram for the service, and waits for it. Datagrams come in order, so an earlier
 * datagram that the service has not got by then was not delivered.
 */
static inline void expect_marker(struct side *s, const struct al_mad_svc_init *init, uint8_t method)
{
	struct ib_mad mad = mad_of(init->mgmt_class, method, 0x6d61726b, 1);
	struct packet p;
	unsigned int got;

	mad.hdr.class_version = init->class_version;
	p = packet_of(&mad);
	put_in(&p);
	got = side_next(s, AL_MAD_RECEIVED, AL_SUCCESS);
	ck_assert_uint_eq(ib_be64_get(s->got[got].mad.hdr.tid), 0x6d61726b);
}

/* Sends a request that expects a response, and returns the request as it was on the wire. */
static inline struct ib_mad ask(struct side *s, const struct ib_mad *mad, uint64_t id)
{
	struct al_mad_send send = send_of(mad, PEER_LID, LONG_MS, id);

	ck_ok(al_send_mad(s->svc, &send));
	return next_sent(mad->hdr.mgmt_class != IB_CLASS_SUBN_LID &&
			 mad->hdr.mgmt_class != IB_CLASS_SUBN_DIR)
		.mad;
}

#endif
