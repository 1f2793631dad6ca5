/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Every function of the API in every kind of callback, on the software HCA: functions of any
 * context succeed in all of them; functions that may sleep are refused where sleeping is not
 * allowed, and succeed elsewhere.
 *
 * VERBS has each function that ib_al.h and ib_connect.h declare, with the context that the
 * function's comment states, and KINDS has each type of callback: test/e2e/contexts.py checks that
 * none is missing.
 */
#include <iba/ib_connect.h>
#include <iba/ib_mad.h>
#include <iba/ib_soft.h>
#include "test/unit/al/bed.h"

/* The objects on which the functions are called. */
struct things {
	al_h al;
	al_ca_h ca;
	al_pd_h pd;
	al_cq_h cq;
	al_qp_h qp;
	al_mr_h mr;
	al_ah_h ah;
	al_event_handler_h handler;
	al_channel_h channel;
	al_pnp_h pnp;
	al_mad_svc_h svc;
};

struct scene {
	struct things use, end, made; /* objects to use, objects to destroy, and objects that calls create */
	struct things from;           /* sources of callbacks; not all are set */
	uint64_t guid[2];             /* GUIDs of the HCA of all these objects, and of another HCA */
	uint16_t lid;
	ib_gid gid;
	uint32_t lkey; /* lkey of use.mr */
	uint64_t memory[512];

	al_pnp_type pnp;  /* the PnP event in which all functions are called */
	bool handled;     /* the callback is a handler's, not an object's own */
	atomic_bool been; /* the callback has run */

	/* Written in the callback. */
	unsigned int calls, wrong; /* number of calls, and number of calls with an unexpected status */
	char first_wrong[160];
	unsigned int ended; /* number of objects destroyed */
	sem_t gone;         /* posted for each destroyed object */
	sem_t done;         /* the callback has called every function */
};

static void nothing(void *context, const struct al_event *event)
{
	(void)context;
	(void)event;
}

static al_status accept(void *context, const struct al_pnp_event *event)
{
	(void)context;
	(void)event;
	return AL_SUCCESS;
}

/* ------------------------------------------------------------------ the verbs */

/*
 * ANY: any context. SLEEPS: may sleep. MANAGES: may sleep, but not in a PnP callback. ENDS: any
 * context without waiting.
 */
enum context { ANY, SLEEPS, MANAGES, ENDS };

static const struct ib_ah_attr *path(const struct scene *s)
{
	static __thread struct ib_ah_attr attr;

	attr = (struct ib_ah_attr){ .dlid = s->lid, .port_num = 1 };
	return &attr;
}

/* Returns success if the status is the expected one. */
static al_status expect(al_status got, al_status want)
{
	return got == want ? AL_SUCCESS : got ? got : AL_IO_ERROR;
}

/* A module need not offer the operation, and an agent need not permit it to its clients. */
static al_status if_offered(al_status got, al_status want)
{
	return got == AL_UNSUPPORTED ? AL_SUCCESS : expect(got, want);
}

/* A multicast group. The queue pairs of this test are connected, so they can not join the group. */
static const ib_gid group = { { 0xff, 0x12 } };

static al_status is_text(const char *text)
{
	return text && *text ? AL_SUCCESS : AL_IO_ERROR;
}

static al_status post_send(struct scene *s)
{
	struct ib_sge sge = { (uintptr_t)s->memory, 100, s->lkey };
	const struct ib_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED
	};
	const struct ib_send_wr *bad;

	return al_post_send(s->use.qp, &wr, &bad);
}

static al_status post_recv(struct scene *s)
{
	struct ib_sge sge = { (uintptr_t)(s->memory + 64), 100, s->lkey };
	const struct ib_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };
	const struct ib_recv_wr *bad;

	return al_post_recv(s->use.qp, &wr, &bad);
}

/*
 * Polls one completion. A send and a receive are posted; both complete while the callback waits, in
 * error if a port has gone down.
 */
static al_status poll_one(struct scene *s,
			  al_status (*poll_cq)(al_cq_h, uint32_t, struct ib_wc *, uint32_t *))
{
	struct timespec deadline = test_deadline();
	uint32_t count = 0;
	al_status status;
	struct ib_wc wc;

	do
		status = poll_cq(s->use.cq, 1, &wc, &count);
	while (!status && !count && !test_expired(&deadline));
	return status ? status : count ? AL_SUCCESS : AL_TIMEOUT;
}

static al_status peek_cq(struct scene *s)
{
	struct timespec deadline = test_deadline();
	uint32_t count = 0;
	al_status status;

	do
		status = al_peek_cq(s->use.cq, 4, &count);
	while (!status && count != 2 && !test_expired(&deadline));
	return status ? status : expect((al_status)count, (al_status)2);
}

static al_status open_again(struct scene *s)
{
	const struct al_open_attr attr = { .agent = test_agent(), .config = "" };

	return al_open(&attr, &s->made.al);
}

static al_status create_cq(struct scene *s)
{
	struct al_cq_init init = { .cqe = 1 };

	return al_create_cq(s->use.pd, &init, NULL, NULL, NULL, &s->made.cq);
}

static al_status resize_cq(struct scene *s)
{
	return al_resize_cq(s->use.cq, &(uint32_t){ 64 });
}

static al_status query_cq(struct scene *s)
{
	struct al_cq_attr attr;

	return al_query_cq(s->use.cq, &attr);
}

/* No request of the queue pair has failed. */
static al_status query_failure(struct scene *s)
{
	struct al_qp_failure failure;
	al_status status = al_query_failure(s->use.qp, &failure);

	return status == AL_NOT_FOUND ? AL_SUCCESS : status;
}

static al_status query_qp(struct scene *s)
{
	struct ib_qp_attr attr;

	return al_query_qp(s->use.qp, &attr, NULL);
}

static al_status query_mr(struct scene *s)
{
	struct ib_mr_attr attr;

	return al_query_mr(s->use.mr, &attr);
}

static al_status query_ca(struct scene *s)
{
	struct ib_ca_attr attr;

	return al_query_ca(s->use.ca, &attr);
}

static al_status query_port(struct scene *s)
{
	struct ib_port_attr attr;

	return al_query_port(s->use.ca, 1, &attr);
}

static al_status query_ah(struct scene *s)
{
	struct ib_ah_attr attr;
	al_status status = al_query_ah(s->use.ah, &attr);

	return status ? status : expect((al_status)attr.dlid, (al_status)s->lid);
}

static al_status reg_mr(struct scene *s, al_pd_h pd, uint32_t *lkey, al_mr_h *mr)
{
	const struct al_mr_init init = { .addr = s->memory,
					 .length = sizeof(s->memory),
					 .access = IB_ACCESS_LOCAL_WRITE };
	uint32_t rkey;

	return al_reg_mr(pd, &init, NULL, lkey, &rkey, mr);
}

static al_status init_ah_from_wc(struct scene *s)
{
	const struct ib_wc wc = { .opcode = IB_WC_RECV, .slid = s->lid, .port_num = 1 };
	struct ib_ah_attr attr;

	return al_init_ah_from_wc(s->use.ca, 1, &wc, NULL, &attr);
}

static al_status create_ah_from_wc(struct scene *s)
{
	const struct ib_wc wc = { .opcode = IB_WC_RECV, .slid = s->lid, .port_num = 1 };

	return al_create_ah_from_wc(s->use.pd, &wc, NULL, 1, &s->made.ah);
}

static al_status modify_ca(struct scene *s)
{
	static const struct ib_ca_attr attr;

	return al_modify_ca(s->use.ca, 0, &attr);
}

static al_status modify_port(struct scene *s)
{
	static const struct ib_port_modify attr;

	return al_modify_port(s->use.ca, 1, 0, &attr);
}

static al_status modify_qp(struct scene *s)
{
	return test_modify(s->end.qp, IB_QPS_INIT, test_attr(s->lid, 0, IB_MTU_256), TEST_RC_INIT);
}

static al_status vendor_call(struct scene *s)
{
	uint32_t length = sizeof(uint64_t);
	uint64_t now;

	return al_vendor_call(s->use.ca, SOFT_CLOCK, NULL, 0, &now, &length);
}

/* Where the allocation is refused, the status of freeing nothing shows whether the free function
 * may be called. */
static al_status dma_coherent(struct scene *s, bool say_free)
{
	void *addr = NULL;
	uint64_t dma = 0;
	al_status got = al_dma_alloc_coherent(s->use.ca, 4096, &addr, &dma);
	al_status freed = al_dma_free_coherent(s->use.ca, 4096, addr, dma);

	return say_free ? freed : got;
}

static struct al_mad_svc_init svc_init(al_channel_h channel)
{
	return (struct al_mad_svc_init){ .port_num = 1,
					 .mgmt_class = IB_CLASS_VENDOR_1_FIRST,
					 .class_version = 1,
					 .channel = channel };
}

static al_status reg_mad_svc(struct scene *s)
{
	struct al_mad_svc_init init = svc_init(s->use.channel);

	return al_reg_mad_svc(s->use.ca, &init, NULL, NULL, &s->made.svc);
}

static al_status send_mad(struct scene *s, al_mad_svc_h svc, uint8_t method)
{
	const struct ib_mad mad = { .hdr = { .base_version = IB_MAD_BASE_VERSION,
					     .mgmt_class = IB_CLASS_VENDOR_1_FIRST,
					     .class_version = 1,
					     .method = method } };
	const struct al_mad_send send = { .mad = &mad,
					  .length = sizeof(mad),
					  .remote_qpn = 1,
					  .remote_qkey = IB_QKEY_WELL_KNOWN,
					  .path = *path(s) };

	return al_send_mad(svc, &send);
}

/* The ends of a connection that never is. */
static const struct al_qp_card card = {
	.node_guid = 1,
	.gid = { { 0xfe, 0x80 } },
	.qp_type = IB_QPT_RC,
	.mtu = IB_MTU_1024,
	.link_layer = IB_LINK_LAYER_INFINIBAND,
	.qpn = 8,
	.max_msg_size = 4096,
	.lid = 1,
	.pkey = IB_PKEY_DEFAULT,
	.port_num = 1,
};

/* In a callback that tells of it the port may be down. */
static al_status make_card(struct scene *s)
{
	struct al_qp_card made;
	al_status status = al_qp_card(s->use.ca, 1, s->use.qp, NULL, &made);

	return status == AL_PORT_DOWN ? AL_SUCCESS : status;
}

static al_status snapshot(struct scene *s)
{
	struct al_snapshot *snap;
	al_status status = al_snapshot(s->use.al, &snap);

	if (!status)
		al_free_snapshot(snap);
	return status;
}

static void no_log(void *context, ib_log_level level, const char *text)
{
	(void)context;
	(void)level;
	(void)text;
}

/* A function without a status, which does not fail. */
#define DOES(call) ((call), AL_SUCCESS)

/*
 * X(function, context, the call), in this order. A call uses s, the scene; a call that destroys
 * also uses cb and context. The objects exist until the calls that destroy them, at the end.
 */
/* clang-format off */
#define VERBS(X) \
	X(al_version, ANY, is_text(al_version())) \
	X(al_reason, ANY, DOES(al_reason())) \
	X(al_set_log, ANY, DOES(al_set_log(no_log, NULL))) \
	X(al_status_str, ANY, is_text(al_status_str(AL_SUCCESS))) \
	X(al_status_name, ANY, is_text(al_status_name(AL_SUCCESS))) \
	X(al_object_type_str, ANY, is_text(al_object_type_str(AL_OBJ_CQ))) \
	X(al_arm_str, ANY, is_text(al_arm_str(AL_ARM_ANY))) \
	X(al_cq_notify_str, ANY, is_text(al_cq_notify_str(AL_CQ_NOTIFY_NEXT))) \
	X(al_pnp_type_str, ANY, is_text(al_pnp_type_str(AL_PNP_CA_ADD))) \
	X(al_channel_event_type_str, ANY, is_text(al_channel_event_type_str(AL_CHANNEL_PNP))) \
	X(al_mad_event_type_str, ANY, is_text(al_mad_event_type_str(AL_MAD_SENT))) \
	X(al_event_type_str, ANY, is_text(al_event_type_str(IB_EVENT_CQ_ERR))) \
	X(al_gid_type_str, ANY, is_text(al_gid_type_str(0))) \
	X(al_link_layer_str, ANY, is_text(al_link_layer_str(0))) \
	X(al_port_state_str, ANY, is_text(al_port_state_str(IB_PORT_ACTIVE))) \
	X(al_phys_state_str, ANY, is_text(al_phys_state_str(0))) \
	X(al_mtu_str, ANY, is_text(al_mtu_str(IB_MTU_256))) \
	X(al_width_str, ANY, is_text(al_width_str(0))) \
	X(al_speed_str, ANY, is_text(al_speed_str(0))) \
	X(al_rate_str, ANY, is_text(al_rate_str(IB_RATE_600_GBPS))) \
	X(al_node_type_str, ANY, is_text(al_node_type_str(0))) \
	X(al_atomic_cap_str, ANY, is_text(al_atomic_cap_str(IB_ATOMIC_HCA))) \
	X(al_ca_cap_str, ANY, is_text(al_ca_cap_str(1))) \
	X(al_mw_type_str, ANY, is_text(al_mw_type_str(0))) \
	X(al_dma_direction_str, ANY, is_text(al_dma_direction_str(0))) \
	X(al_wc_status_str, ANY, is_text(al_wc_status_str(IB_WC_SUCCESS))) \
	X(al_wc_opcode_str, ANY, is_text(al_wc_opcode_str(IB_WC_RECV))) \
	X(al_wr_opcode_str, ANY, is_text(al_wr_opcode_str(IB_WR_SEND))) \
	X(al_qp_type_str, ANY, is_text(al_qp_type_str(IB_QPT_RC))) \
	X(al_qp_state_str, ANY, is_text(al_qp_state_str(IB_QPS_RTS))) \
	X(al_mig_state_str, ANY, is_text(al_mig_state_str(0))) \
	X(al_srq_type_str, ANY, is_text(al_srq_type_str(0))) \
	X(al_resource_str, ANY, is_text(al_resource_str(AL_RESOURCE_CQS))) \
	X(al_free_snapshot, ANY, DOES(al_free_snapshot(NULL))) \
	\
	X(al_open, SLEEPS, open_again(s)) \
	X(al_load_module, MANAGES, if_offered(al_load_module(s->use.al, "/nowhere.so"), AL_NOT_FOUND)) \
	X(al_unload_module, MANAGES, if_offered(al_unload_module(s->use.al, "none", 0), AL_NOT_FOUND)) \
	X(al_rescan, MANAGES, if_offered(al_rescan(s->use.al), AL_SUCCESS)) \
	X(al_get_ca_guids, SLEEPS, expect(al_get_ca_guids(s->use.al, NULL, &(size_t){ 0 }), AL_BUFFER_TOO_SMALL)) \
	X(al_open_ca, SLEEPS, al_open_ca(s->use.al, s->guid[0], NULL, &s->made.ca)) \
	X(al_query_ca, SLEEPS, query_ca(s)) \
	X(al_query_port, SLEEPS, query_port(s)) \
	X(al_query_gid, SLEEPS, al_query_gid(s->use.ca, 1, 0, &(ib_gid){ { 0 } })) \
	X(al_query_pkey, SLEEPS, al_query_pkey(s->use.ca, 1, 0, &(uint16_t){ 0 })) \
	X(al_find_gid, SLEEPS, al_find_gid(s->use.ca, &s->gid, &(uint8_t){ 0 }, &(uint32_t){ 0 })) \
	X(al_find_pkey, SLEEPS, al_find_pkey(s->use.ca, 1, IB_PKEY_DEFAULT, &(uint32_t){ 0 })) \
	X(al_query_gid_type, SLEEPS, al_query_gid_type(s->use.ca, 1, 0, &(ib_gid_type){ 0 })) \
	X(al_port_link_layer, SLEEPS, al_port_link_layer(s->use.ca, 1, &(ib_link_layer){ 0 })) \
	X(al_modify_ca, SLEEPS, if_offered(modify_ca(s), AL_SUCCESS)) \
	X(al_modify_port, SLEEPS, if_offered(modify_port(s), AL_SUCCESS)) \
	X(al_vendor_call, SLEEPS, vendor_call(s)) \
	X(al_reg_pnp, SLEEPS, al_reg_pnp(s->use.al, NULL, NULL, accept, &s->made.pnp)) \
	X(al_reg_event_handler, SLEEPS, al_reg_event_handler(s->use.ca, NULL, NULL, nothing, &s->made.handler)) \
	X(al_create_channel, SLEEPS, al_create_channel(s->use.al, NULL, &s->made.channel)) \
	X(al_alloc_pd, SLEEPS, al_alloc_pd(s->use.ca, NULL, &s->made.pd)) \
	X(al_reg_mr, SLEEPS, reg_mr(s, s->use.pd, &(uint32_t){ 0 }, &s->made.mr)) \
	X(al_query_mr, SLEEPS, query_mr(s)) \
	X(al_dma_alloc_coherent, SLEEPS, dma_coherent(s, false)) \
	X(al_dma_free_coherent, SLEEPS, dma_coherent(s, true)) \
	X(al_init_ah_from_wc, ANY, init_ah_from_wc(s)) \
	X(al_create_ah_from_wc, ANY, create_ah_from_wc(s)) \
	X(al_create_cq, SLEEPS, create_cq(s)) \
	X(al_resize_cq, SLEEPS, resize_cq(s)) \
	X(al_modify_cq, SLEEPS, al_modify_cq(s->use.cq, 1, 0)) \
	X(al_query_cq, SLEEPS, query_cq(s)) \
	X(al_create_qp, SLEEPS, try_qp(s->use.pd, s->use.cq, NULL, NULL, &s->made.qp)) \
	X(al_modify_qp, SLEEPS, modify_qp(s)) \
	X(al_query_qp, SLEEPS, query_qp(s)) \
	X(al_query_failure, ANY, query_failure(s)) \
	X(al_attach_mcast, SLEEPS, if_offered(al_attach_mcast(s->use.qp, &group, 0xc001), AL_INVALID_QP_TYPE)) \
	X(al_detach_mcast, SLEEPS, if_offered(al_detach_mcast(s->use.qp, &group, 0xc001), AL_INVALID_QP_TYPE)) \
	X(al_snapshot, SLEEPS, snapshot(s)) \
	X(al_reg_mad_svc, SLEEPS, reg_mad_svc(s)) \
	X(al_get_spl_qp, SLEEPS, al_get_spl_qp(s->use.ca, 1, IB_QPT_GSI, NULL, NULL, &s->made.qp)) \
	X(al_qp_card, SLEEPS, make_card(s)) \
	X(al_connect_qp, SLEEPS, expect(al_connect_qp(s->use.qp, &card, &card, NULL), AL_INVALID_TRANSITION)) \
	X(al_card_address, ANY, al_card_address(&card, &card, NULL, &(struct ib_ah_attr){ 0 })) \
	X(al_card_encode, ANY, DOES(al_card_encode(&card, (uint8_t[AL_CARD_BYTES]){ 0 }))) \
	X(al_card_decode, ANY, expect(al_card_decode((uint8_t[AL_CARD_BYTES]){ 0 }, &(struct al_qp_card){ 0 }), AL_INVALID_PARAMETER)) \
	X(al_meet_listen, SLEEPS, expect(al_meet_listen("nowhere", &(int){ 0 }), AL_INVALID_PARAMETER)) \
	X(al_meet_accept, SLEEPS, expect(al_meet_accept(-1, 2, 0, &(int){ 0 }), AL_INVALID_PARAMETER)) \
	X(al_meet_connect, SLEEPS, expect(al_meet_connect("nowhere", 0, 0, &(int){ 0 }), AL_INVALID_PARAMETER)) \
	X(al_meet_send, SLEEPS, expect(al_meet_send(-1, "", 1, 0), AL_IO_ERROR)) \
	X(al_meet_receive, SLEEPS, expect(al_meet_receive(-1, &(char){ 0 }, &(uint32_t){ 1 }, 0), AL_IO_ERROR)) \
	X(al_meet_refuse, SLEEPS, expect(al_meet_refuse(-1, "never"), AL_IO_ERROR)) \
	X(al_meet_end, SLEEPS, expect(al_meet_end(-1), AL_INVALID_PARAMETER)) \
	X(al_local_mad, SLEEPS, expect(al_local_mad(s->use.ca, 1, &(struct ib_mad){ 0 }, &(struct ib_mad){ 0 }), AL_UNSUPPORTED)) \
	\
	X(al_set_client_context, ANY, al_set_client_context(s->use.pnp, s->guid[0], s)) \
	X(al_get_client_context, ANY, al_get_client_context(s->use.pnp, s->guid[0], &(void *){ NULL })) \
	X(al_channel_fd, ANY, al_channel_fd(s->use.channel, &(int){ 0 })) \
	X(al_channel_next, ANY, expect(al_channel_next(s->use.channel, &(struct al_channel_event){ 0 }), AL_NOT_FOUND)) \
	X(al_create_ah, ANY, al_create_ah(s->use.pd, path(s), &s->made.ah)) \
	X(al_modify_ah, ANY, al_modify_ah(s->use.ah, path(s))) \
	X(al_query_ah, ANY, query_ah(s)) \
	X(al_qp_num, ANY, al_qp_num(s->use.qp, &(uint32_t){ 0 })) \
	X(al_post_recv, ANY, post_recv(s)) \
	X(al_post_send, ANY, post_send(s)) \
	X(al_peek_cq, ANY, peek_cq(s)) \
	X(al_poll_cq, ANY, poll_one(s, al_poll_cq)) \
	X(al_poll_cq_ex, ANY, poll_one(s, al_poll_cq_ex)) \
	X(al_arm_cq, ANY, al_arm_cq(s->use.cq, AL_ARM_ANY, NULL)) \
	X(al_arm_cq_n, ANY, al_arm_cq_n(s->use.cq, 2)) \
	X(al_mad_next, ANY, expect(al_mad_next(s->use.svc, NULL, 0, &(struct al_mad_event){ 0 }), AL_NOT_FOUND)) \
	X(al_send_mad, ANY, send_mad(s, s->use.svc, IB_METHOD_SEND)) \
	X(al_cancel_mad, ANY, expect(al_cancel_mad(s->use.svc, 1), AL_NOT_FOUND)) \
	\
	X(al_destroy_qp, ENDS, al_destroy_qp(s->end.qp, cb, context)) \
	X(al_destroy_cq, ENDS, al_destroy_cq(s->end.cq, cb, context)) \
	X(al_dereg_mr, ENDS, al_dereg_mr(s->end.mr, cb, context)) \
	X(al_destroy_ah, ENDS, al_destroy_ah(s->end.ah, cb, context)) \
	X(al_dealloc_pd, ENDS, al_dealloc_pd(s->end.pd, cb, context)) \
	X(al_dereg_event_handler, ENDS, al_dereg_event_handler(s->end.handler, cb, context)) \
	X(al_dereg_mad_svc, ENDS, al_dereg_mad_svc(s->end.svc, cb, context)) \
	X(al_destroy_channel, ENDS, al_destroy_channel(s->end.channel, cb, context)) \
	X(al_dereg_pnp, ENDS, al_dereg_pnp(s->end.pnp, cb, context)) \
	X(al_close_ca, ENDS, al_close_ca(s->end.ca, cb, context)) \
	X(al_close, ENDS, al_close(s->end.al, cb, context))
/* clang-format on */

#define CALL(name, where, call)                                                          \
	static al_status call_##name(struct scene *s, al_destroyed_cb cb, void *context) \
	{                                                                                \
		(void)s, (void)cb, (void)context;                                        \
		return call;                                                             \
	}
VERBS(CALL)

static const struct verb {
	const char *name;
	enum context context;
	al_status (*call)(struct scene *s, al_destroyed_cb cb, void *context);
} verbs[] = {
#define ROW(name, context, call) { #name, context, call_##name },
	VERBS(ROW)
};
#define NUM_VERBS (sizeof(verbs) / sizeof(verbs[0]))

/* -------------------------------------------------- calls in the callback */

/* The kinds of place, by the calls that are allowed there. */
enum place { ATOMIC, PNP, READER };

static void look(struct scene *s, const char *name, const char *how, al_status got, al_status want)
{
	s->calls++;
	if (got != want && !s->wrong++)
		snprintf(s->first_wrong, sizeof(s->first_wrong), "%s%s: %s, not %s", name, how,
			 al_status_name(got), al_status_name(want));
}

/* Destroys synchronously where waiting is allowed. */
static void destroy(struct scene *s, const struct verb *v, enum place place)
{
	look(s, v->name, " that waits", v->call(s, AL_DESTROY_SYNC, NULL),
	     place == ATOMIC ? AL_INVALID_CONTEXT : AL_SUCCESS);
	if (place == ATOMIC) {
		look(s, v->name, "", v->call(s, test_post, &s->gone), AL_SUCCESS);
		s->ended++;
	}
	look(s, v->name, " again", v->call(s, NULL, NULL), AL_INVALID_HANDLE);
}

static void call_all(struct scene *s, enum place place)
{
	if (atomic_exchange(&s->been, true))
		return;
	for (const struct verb *v = verbs; v < verbs + NUM_VERBS; v++) {
		bool refused = (v->context == SLEEPS && place == ATOMIC) ||
			       (v->context == MANAGES && place != READER);

		if (v->context == ENDS)
			destroy(s, v, place);
		else
			look(s, v->name, "", v->call(s, NULL, NULL),
			     refused ? AL_INVALID_CONTEXT : AL_SUCCESS);
	}
	sem_post(&s->done);
}

/* Also an al_destroyed_cb. */
static void in_comp(void *context)
{
	call_all(context, ATOMIC);
}

static void in_event(void *context, const struct al_event *event)
{
	struct scene *s = context;

	(void)event;
	if (!s->handled)
		call_all(s, ATOMIC);
}

static void in_handler(void *context, const struct al_event *event)
{
	(void)event;
	call_all(context, ATOMIC);
}

static al_status in_pnp(void *context, const struct al_pnp_event *event)
{
	struct scene *s = context;

	if (event->type == s->pnp)
		call_all(s, PNP);
	return AL_SUCCESS;
}

static void in_mad(void *context, const struct al_mad_event *event)
{
	if (event->type == AL_MAD_RECEIVED)
		call_all(context, ATOMIC);
}

/* A log callback may call no other function. */
static void in_log(void *context, ib_log_level level, const char *text)
{
	struct scene *s = context;

	(void)level;
	(void)text;
	if (atomic_exchange(&s->been, true))
		return;
	look(s, "al_set_log", "", call_al_set_log(s, NULL, NULL), AL_SUCCESS);
	sem_post(&s->done);
}

/* -------------------------------------------------------- objects of the test */

static al_pd_h new_pd(al_ca_h ca)
{
	al_pd_h pd;

	ck_ok(al_alloc_pd(ca, NULL, &pd));
	return pd;
}

static al_mr_h new_mr(struct scene *s, al_pd_h pd, uint32_t *lkey)
{
	al_mr_h mr;

	ck_ok(reg_mr(s, pd, lkey, &mr));
	return mr;
}

static al_ah_h new_ah(struct scene *s, al_pd_h pd)
{
	al_ah_h ah;

	ck_ok(al_create_ah(pd, path(s), &ah));
	return ah;
}

static al_channel_h new_channel(al_h al)
{
	al_channel_h channel;

	ck_ok(al_create_channel(al, NULL, &channel));
	return channel;
}

static al_event_handler_h new_handler(struct scene *s, al_channel_h channel, al_event_cb cb)
{
	al_event_handler_h handler;

	ck_ok(al_reg_event_handler(s->from.ca, channel, s, cb, &handler));
	return handler;
}

static al_pnp_h new_pnp(struct scene *s, al_channel_h channel, al_pnp_cb cb)
{
	const struct al_pnp_attr attr = { .channel = channel, .ports = true };
	al_pnp_h pnp;

	ck_ok(al_reg_pnp(s->from.al, &attr, s, cb, &pnp));
	return pnp;
}

static struct things new_things(struct scene *s)
{
	struct things t = { .al = test_open() };
	struct al_mad_svc_init svc;

	t.ca = test_open_ca(t.al, s->guid[0]);
	t.pd = new_pd(t.ca);
	t.cq = bed_cq(t.pd, 0, NULL, NULL);
	t.qp = bed_qp(t.pd, t.cq, NULL, NULL);
	t.mr = new_mr(s, t.pd, &s->lkey);
	t.ah = new_ah(s, t.pd);
	ck_ok(al_reg_event_handler(t.ca, NULL, NULL, nothing, &t.handler));
	t.channel = new_channel(t.al);
	ck_ok(al_reg_pnp(t.al, NULL, NULL, accept, &t.pnp));
	svc = svc_init(t.channel);
	ck_ok(al_reg_mad_svc(t.ca, &svc, NULL, NULL, &t.svc));
	return t;
}

static void connect_to_itself(al_qp_h qp, uint16_t lid)
{
	uint32_t qpn;

	ck_ok(al_qp_num(qp, &qpn));
	test_to_rts(qp, lid, qpn, IB_MTU_1024);
}

static void set_up(struct scene *s)
{
	struct al_cq_init cq = { .cqe = 64 };
	struct ib_port_attr port;
	al_ca_h ca;

	al_set_log(no_log, NULL);
	memset(s, 0, sizeof(*s));
	sem_init(&s->gone, 0, 0);
	sem_init(&s->done, 0, 0);
	s->from.al = test_open();
	test_guids(s->from.al, s->guid, 2);
	s->from.ca = ca = test_open_ca(s->from.al, s->guid[0]);
	ck_ok(al_query_port(ca, 1, &port));
	ck_ok(al_query_gid(ca, 1, 0, &s->gid));
	s->lid = port.lid;
	s->from.pd = new_pd(ca);
	ck_ok(al_create_cq(s->from.pd, &cq, s, in_comp, in_event, &s->from.cq));
	s->from.qp = bed_qp(s->from.pd, s->from.cq, s, in_event);
	connect_to_itself(s->from.qp, s->lid);
	s->end = new_things(s);
	s->use = new_things(s);
	connect_to_itself(s->use.qp, s->lid);
}

/* A removal ends on a thread of the module, which exists until the module is unloaded. */
static void unload(void)
{
	struct timespec deadline = test_deadline();
	al_h owner = test_open_owner();
	al_status status;

	while ((status = al_unload_module(owner, "soft", AL_UNLOAD_REMOVE)) == AL_MODULE_IN_USE)
		ck_assert(!test_expired(&deadline));
	ck_ok(status);
	ck_ok(al_close(owner, AL_DESTROY_SYNC, NULL));
}

static void clear(struct scene *s)
{
	if (s->made.al)
		ck_ok(al_close(s->made.al, AL_DESTROY_SYNC, NULL));
	ck_ok(al_close(s->use.al, AL_DESTROY_SYNC, NULL));
	ck_ok(al_close(s->from.al, AL_DESTROY_SYNC, NULL));
	if (s->pnp == AL_PNP_CA_REMOVE)
		unload();
}

/* ------------------------------------------------------- causes of callbacks */

static void transfer(struct scene *s)
{
	const struct ib_send_wr send = { .opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED };
	const struct ib_recv_wr recv = { 0 };
	const struct ib_recv_wr *bad_recv;
	const struct ib_send_wr *bad_send;

	ck_ok(al_post_recv(s->from.qp, &recv, &bad_recv));
	ck_ok(al_post_send(s->from.qp, &send, &bad_send));
}

static void complete(struct scene *s)
{
	ck_ok(al_arm_cq(s->from.cq, AL_ARM_ANY, NULL));
	transfer(s);
}

/* Causes the event of the queue pair, its completion queue or the port; some by a packet. */
static void happen(struct scene *s, ib_event_type type)
{
	struct soft_fault fault = { .action = SOFT_FAULT_RAISE, .n = 1, .count = 1, .code = type };

	ck_ok(al_qp_num(s->from.qp, &fault.qpn));
	ck_ok(al_vendor_call(s->from.ca, SOFT_FAULT_ADD, &fault, sizeof(fault), NULL, NULL));
	transfer(s);
}

static void handle(struct scene *s, ib_event_type type)
{
	s->handled = true;
	new_handler(s, NULL, in_handler);
	happen(s, type);
}

/* A registration replays the existing HCAs and ports; other events come from the other HCA, or by a
 * packet. */
static void plug_and_play(struct scene *s, al_pnp_type type, uint32_t vendor_code,
			  ib_event_type event)
{
	uint32_t in = vendor_code == SOFT_PORT_DOWN ? 1 : 0;

	s->pnp = type;
	new_pnp(s, NULL, in_pnp);
	if (vendor_code)
		ck_ok(al_vendor_call(test_open_ca(s->from.al, s->guid[1]), vendor_code, &in,
				     sizeof(in), NULL, NULL));
	if (event)
		happen(s, event);
}

/* Reads a channel until the first event of this type. */
static void read_channel(al_channel_h channel, al_channel_event_type type)
{
	struct pollfd pfd = { .events = POLLIN };
	struct al_channel_event event;

	ck_ok(al_channel_fd(channel, &pfd.fd));
	do {
		ck_assert_int_eq(poll(&pfd, 1, 60000), 1);
	} while (al_channel_next(channel, &event) || event.type != type);
	call_all(event.context, READER);
}

static void read_completion(struct scene *s)
{
	struct al_cq_init init = { .cqe = 64, .channel = new_channel(s->from.al) };

	ck_ok(al_create_cq(s->from.pd, &init, s, NULL, NULL, &s->from.cq));
	s->from.qp = bed_qp(s->from.pd, s->from.cq, NULL, NULL);
	connect_to_itself(s->from.qp, s->lid);
	complete(s);
	read_channel(init.channel, AL_CHANNEL_COMPLETION);
}

static void read_event(struct scene *s)
{
	al_channel_h channel = new_channel(s->from.al);

	new_handler(s, channel, NULL);
	happen(s, IB_EVENT_LID_CHANGE);
	read_channel(channel, AL_CHANNEL_ASYNC);
}

static void read_pnp(struct scene *s)
{
	al_channel_h channel = new_channel(s->from.al);

	new_pnp(s, channel, NULL);
	read_channel(channel, AL_CHANNEL_PNP);
}

/* Delivers a datagram to a service with a callback or a channel. */
static void receive_mad(struct scene *s, al_channel_h channel, al_mad_cb cb)
{
	struct al_mad_svc_init init = svc_init(channel);
	al_mad_svc_h svc;

	init.methods[0] = 1 << IB_METHOD_SET;
	ck_ok(al_reg_mad_svc(s->from.ca, &init, s, cb, &svc));
	ck_ok(send_mad(s, svc, IB_METHOD_SET));
	if (channel)
		read_channel(channel, AL_CHANNEL_MAD);
}

/* The log reports an object that an opening leaves behind. */
static void leave_open(struct scene *s)
{
	al_h al = test_open();

	new_channel(al);
	al_set_log(in_log, s);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

/* X(type of the callback, its occasion, the call that causes it). */
/* clang-format off */
#define KINDS(X) \
	X(al_comp_cb, completion, complete(s)) \
	X(al_event_cb, cq, happen(s, IB_EVENT_CQ_ERR)) \
	X(al_event_cb, qp, happen(s, IB_EVENT_COMM_EST)) \
	X(al_event_cb, handler_of_port, handle(s, IB_EVENT_LID_CHANGE)) \
	X(al_event_cb, handler_of_object, handle(s, IB_EVENT_COMM_EST)) \
	X(al_pnp_cb, hca_added, plug_and_play(s, AL_PNP_CA_ADD, 0, 0)) \
	X(al_pnp_cb, hca_removed, plug_and_play(s, AL_PNP_CA_REMOVE, SOFT_REMOVE, 0)) \
	X(al_pnp_cb, port_down, plug_and_play(s, AL_PNP_PORT_DOWN, SOFT_PORT_DOWN, 0)) \
	X(al_pnp_cb, port_initialising, plug_and_play(s, AL_PNP_PORT_INIT, 0, 0)) \
	X(al_pnp_cb, port_armed, plug_and_play(s, AL_PNP_PORT_ARMED, 0, 0)) \
	X(al_pnp_cb, port_active, plug_and_play(s, AL_PNP_PORT_ACTIVE, 0, 0)) \
	X(al_pnp_cb, lid, plug_and_play(s, AL_PNP_LID_CHANGE, 0, IB_EVENT_LID_CHANGE)) \
	X(al_pnp_cb, p_key, plug_and_play(s, AL_PNP_PKEY_CHANGE, 0, IB_EVENT_PKEY_CHANGE)) \
	X(al_pnp_cb, gid, plug_and_play(s, AL_PNP_GID_CHANGE, 0, IB_EVENT_GID_CHANGE)) \
	X(al_pnp_cb, sm, plug_and_play(s, AL_PNP_SM_CHANGE, 0, IB_EVENT_SM_CHANGE)) \
	X(al_pnp_cb, reregister, plug_and_play(s, AL_PNP_CLIENT_REREGISTER, 0, IB_EVENT_CLIENT_REREGISTER)) \
	X(al_pnp_cb, replay_complete, plug_and_play(s, AL_PNP_REPLAY_COMPLETE, 0, 0)) \
	X(al_mad_cb, received, receive_mad(s, NULL, in_mad)) \
	X(al_destroyed_cb, queue_pair, al_destroy_qp(bed_qp(s->from.pd, s->from.cq, NULL, NULL), in_comp, s)) \
	X(al_destroyed_cb, completion_queue, al_destroy_cq(bed_cq(s->from.pd, 0, NULL, NULL), in_comp, s)) \
	X(al_destroyed_cb, region, al_dereg_mr(new_mr(s, s->from.pd, &(uint32_t){ 0 }), in_comp, s)) \
	X(al_destroyed_cb, address_handle, al_destroy_ah(new_ah(s, s->from.pd), in_comp, s)) \
	X(al_destroyed_cb, domain, al_dealloc_pd(new_pd(s->from.ca), in_comp, s)) \
	X(al_destroyed_cb, handler, al_dereg_event_handler(new_handler(s, NULL, nothing), in_comp, s)) \
	X(al_destroyed_cb, channel, al_destroy_channel(new_channel(s->from.al), in_comp, s)) \
	X(al_destroyed_cb, registration, al_dereg_pnp(new_pnp(s, NULL, accept), in_comp, s)) \
	X(al_destroyed_cb, hca, al_close_ca(test_open_ca(s->from.al, s->guid[0]), in_comp, s)) \
	X(al_destroyed_cb, opening, al_close(test_open(), in_comp, s)) \
	X(channel, completion, read_completion(s)) \
	X(channel, event, read_event(s)) \
	X(channel, pnp, read_pnp(s)) \
	X(channel, mad, receive_mad(s, new_channel(s->from.al), NULL)) \
	X(al_log_cb, message, leave_open(s))
/* clang-format on */

#define START(type, occasion, start)                           \
	static void start_##type##_##occasion(struct scene *s) \
	{                                                      \
		(void)s, (void)s, (void)(start);               \
	}
KINDS(START)

static const struct kind {
	const char *type, *occasion;
	void (*start)(struct scene *s);
} kinds[] = {
#define KIND(type, occasion, start) { #type, #occasion, start_##type##_##occasion },
	KINDS(KIND)
};
#define NUM_KINDS ((int)(sizeof(kinds) / sizeof(kinds[0])))

START_TEST(every_function_in_every_callback)
{
	const struct kind *kind = &kinds[_i];
	static struct scene scene;
	struct scene *s = &scene;

	set_up(s);
	kind->start(s);
	test_wait(&s->done);
	for (unsigned int i = 0; i < s->ended; i++)
		test_wait(&s->gone);
	ck_assert_msg(!s->wrong, "%s, %s: %u of %u answers were wrong, first %s", kind->type,
		      kind->occasion, s->wrong, s->calls, s->first_wrong);
	clear(s);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("callback");
	TCase *tc = tcase_create("everything everywhere");

	tcase_add_loop_test(tc, every_function_in_every_callback, 0, NUM_KINDS);
	suite_add_tcase(suite, tc);
	return test_run(suite);
}
