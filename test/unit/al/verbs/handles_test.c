/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Wrong, stale and foreign handles for every function of ib_al.h and ib_connect.h: each call
 * returns AL_INVALID_HANDLE and has no other effect. The table below has every function; a test
 * compares the table with the header.
 */
#include <iba/ib_connect.h>

#include "test/unit/al/al_test.h"

/* One live object of each kind, and one destroyed object of each kind. */
static struct {
	al_h al;
	al_ca_h ca;
	al_pd_h pd;
	al_ah_h ah;
	al_mr_h mr;
	al_cq_h cq;
	al_qp_h qp;
	al_pnp_h pnp;
	al_event_handler_h handler;
	al_channel_h channel;
	al_mad_svc_h svc; /* NULL: MAD services do not cross to an agent */
	const void *live[AL_OBJ_TYPES];
	const void *stale[AL_OBJ_TYPES];
	uint64_t guid;
	_Alignas(8) char memory[64];
} world;

/* Every other argument of a probe is valid. */
static struct out {
	uint64_t number;
	void *pointer;
	union {
		struct ib_ca_attr ca;
		struct ib_port_attr port;
		struct ib_mr_attr mr;
		struct al_cq_attr cq;
		struct ib_qp_attr qp;
		struct al_qp_failure failure;
		struct al_qp_card card;
		struct ib_ah_attr ah;
		struct ib_wc wc;
		struct al_channel_event event;
		struct al_mad_event mad;
		ib_gid gid;
	};
} out;

static const struct ib_ah_attr path = { .dlid = 2, .port_num = 1 };
static const ib_gid no_gid;

static al_status ignore_pnp(void *context, const struct al_pnp_event *event)
{
	(void)context;
	(void)event;
	return AL_SUCCESS;
}

static struct al_mr_init mr_init(void)
{
	return (struct al_mr_init){ .addr = world.memory, .length = sizeof(world.memory) };
}

static struct al_qp_init qp_init(void)
{
	return (struct al_qp_init){
		.qp_type = IB_QPT_RC, .cap = { 1, 1, 1, 1, 0 }, .send_cq = world.cq, .recv_cq = world.cq
	};
}

/* PROBE(name, function, arguments with h for the handle): a call with that handle. */
#define PROBE(name, function, ...)                     \
	static al_status probe_##name(const void *handle) \
	{                                              \
		void *h = (void *)(uintptr_t)handle;   \
		return function(__VA_ARGS__);          \
	}

PROBE(close, al_close, h, NULL, NULL)
PROBE(load_module, al_load_module, h, "/nowhere/at-all.so")
PROBE(unload_module, al_unload_module, h, "no-such-module", 0)
PROBE(rescan, al_rescan, h)
static size_t num_guids;
PROBE(get_ca_guids, al_get_ca_guids, h, NULL, &num_guids)
PROBE(open_ca, al_open_ca, h, world.guid, NULL, (al_ca_h *)&out.pointer)
PROBE(close_ca, al_close_ca, h, NULL, NULL)
PROBE(query_ca, al_query_ca, h, &out.ca)
PROBE(query_port, al_query_port, h, 1, &out.port)
PROBE(query_gid, al_query_gid, h, 1, 0, &out.gid)
PROBE(query_pkey, al_query_pkey, h, 1, 0, (uint16_t *)&out.number)
PROBE(find_gid, al_find_gid, h, &no_gid, (uint8_t *)&out.pointer, (uint32_t *)&out.number)
PROBE(find_pkey, al_find_pkey, h, 1, IB_PKEY_DEFAULT, (uint32_t *)&out.number)
PROBE(query_gid_type, al_query_gid_type, h, 1, 0, (ib_gid_type *)&out.number)
PROBE(port_link_layer, al_port_link_layer, h, 1, (ib_link_layer *)&out.number)
PROBE(modify_ca, al_modify_ca, h, IB_CA_MODIFY_NODE_DESC, &(const struct ib_ca_attr){ .node_desc = "a name" })
PROBE(modify_port, al_modify_port, h, 1, IB_PORT_MODIFY_RESET_QKEY_CNTR, &(const struct ib_port_modify){ 0 })
PROBE(vendor_call, al_vendor_call, h, 0, NULL, 0, NULL, NULL)
PROBE(reg_pnp, al_reg_pnp, h, NULL, NULL, ignore_pnp, (al_pnp_h *)&out.pointer)
PROBE(reg_pnp_channel, al_reg_pnp, world.al, &(const struct al_pnp_attr){ .channel = h }, NULL, NULL,
      (al_pnp_h *)&out.pointer)
PROBE(dereg_pnp, al_dereg_pnp, h, NULL, NULL)
PROBE(set_client_context, al_set_client_context, h, world.guid, NULL)
PROBE(get_client_context, al_get_client_context, h, world.guid, &out.pointer)
PROBE(reg_event_handler, al_reg_event_handler, h, NULL, NULL, test_ignore_event, (al_event_handler_h *)&out.pointer)
PROBE(reg_event_handler_channel, al_reg_event_handler, world.ca, h, NULL, NULL, (al_event_handler_h *)&out.pointer)
PROBE(dereg_event_handler, al_dereg_event_handler, h, NULL, NULL)
PROBE(create_channel, al_create_channel, h, NULL, (al_channel_h *)&out.pointer)
PROBE(channel_fd, al_channel_fd, h, (int *)&out.number)
PROBE(channel_next, al_channel_next, h, &out.event)
PROBE(destroy_channel, al_destroy_channel, h, NULL, NULL)
PROBE(alloc_pd, al_alloc_pd, h, NULL, (al_pd_h *)&out.pointer)
PROBE(dealloc_pd, al_dealloc_pd, h, NULL, NULL)
PROBE(create_ah, al_create_ah, h, &path, (al_ah_h *)&out.pointer)
static const struct ib_wc received = { .opcode = IB_WC_RECV, .slid = 1 };
PROBE(init_ah_from_wc, al_init_ah_from_wc, h, 1, &received, NULL, &out.ah)
PROBE(create_ah_from_wc, al_create_ah_from_wc, h, &received, NULL, 1, (al_ah_h *)&out.pointer)
PROBE(modify_ah, al_modify_ah, h, &path)
PROBE(query_ah, al_query_ah, h, &out.ah)
PROBE(destroy_ah, al_destroy_ah, h, NULL, NULL)
static uint32_t keys[2];
PROBE(reg_mr, al_reg_mr, h, &(const struct al_mr_init){ .addr = world.memory, .length = 64 }, NULL, &keys[0], &keys[1],
      (al_mr_h *)&out.pointer)
PROBE(dma_alloc_coherent, al_dma_alloc_coherent, h, 64, &out.pointer, &out.number)
PROBE(dma_free_coherent, al_dma_free_coherent, h, 64, NULL, 0)
PROBE(query_mr, al_query_mr, h, &out.mr)
PROBE(dereg_mr, al_dereg_mr, h, NULL, NULL)
PROBE(create_cq, al_create_cq, h, &(struct al_cq_init){ .cqe = 4 }, NULL, NULL, NULL, (al_cq_h *)&out.pointer)
PROBE(create_cq_channel, al_create_cq, world.pd, &(struct al_cq_init){ .cqe = 4, .channel = h }, NULL, NULL, NULL,
      (al_cq_h *)&out.pointer)
PROBE(resize_cq, al_resize_cq, h, (uint32_t[]){ 4 })
PROBE(modify_cq, al_modify_cq, h, 2, 3)
PROBE(query_cq, al_query_cq, h, &out.cq)
PROBE(poll_cq, al_poll_cq, h, 1, &out.wc, (uint32_t *)&out.number)
PROBE(poll_cq_ex, al_poll_cq_ex, h, 1, &out.wc, (uint32_t *)&out.number)
PROBE(peek_cq, al_peek_cq, h, 1, (uint32_t *)&out.number)
PROBE(arm_cq, al_arm_cq, h, AL_ARM_ANY, NULL)
PROBE(arm_cq_n, al_arm_cq_n, h, 1)
PROBE(destroy_cq, al_destroy_cq, h, NULL, NULL)

static al_status create_qp(al_pd_h pd, al_cq_h send_cq, al_cq_h recv_cq)
{
	struct al_qp_init init = qp_init();

	init.send_cq = send_cq;
	init.recv_cq = recv_cq;
	return al_create_qp(pd, &init, NULL, NULL, (al_qp_h *)&out.pointer);
}
PROBE(create_qp, create_qp, h, world.cq, world.cq)
PROBE(create_qp_send_cq, create_qp, world.pd, h, world.cq)
PROBE(create_qp_recv_cq, create_qp, world.pd, world.cq, h)
PROBE(modify_qp, al_modify_qp, h,
      &(const struct ib_qp_attr){ .qp_state = IB_QPS_INIT, .port_num = 1 }, TEST_RC_INIT)
PROBE(query_qp, al_query_qp, h, &out.qp, NULL)
PROBE(query_failure, al_query_failure, h, &out.failure)
PROBE(qp_num, al_qp_num, h, (uint32_t *)&out.number)
PROBE(post_send, al_post_send, h, &(const struct ib_send_wr){ .opcode = IB_WR_SEND },
      (const struct ib_send_wr **)&out.pointer)
PROBE(post_recv, al_post_recv, h, &(const struct ib_recv_wr){ .wr_id = 1 }, (const struct ib_recv_wr **)&out.pointer)
static const ib_gid group = { { 0xff, 0x12 } };
PROBE(attach_mcast, al_attach_mcast, h, &group, 0xc001)
PROBE(detach_mcast, al_detach_mcast, h, &group, 0xc001)
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
PROBE(qp_card, al_qp_card, h, 1, world.qp, NULL, &out.card)
PROBE(qp_card_qp, al_qp_card, world.ca, 1, h, NULL, &out.card)
PROBE(connect_qp, al_connect_qp, h, &card, &card, NULL)
PROBE(destroy_qp, al_destroy_qp, h, NULL, NULL)
PROBE(snapshot, al_snapshot, h, (struct al_snapshot **)&out.pointer)

static const uint8_t mad[256] = { 1, 9, 1, 3 }; /* a Send of the first vendor class */
static _Alignas(8) uint8_t answer[256];
static al_status reg_mad_svc(al_ca_h ca, al_channel_h channel)
{
	const struct al_mad_svc_init init = { .port_num = 1, .mgmt_class = 9, .class_version = 1, .channel = channel };

	return al_reg_mad_svc(ca, &init, NULL, channel ? NULL : test_ignore_mad, (al_mad_svc_h *)&out.pointer);
}
PROBE(reg_mad_svc, reg_mad_svc, h, NULL)
PROBE(reg_mad_svc_channel, reg_mad_svc, world.ca, h)
PROBE(send_mad, al_send_mad, h,
      &(const struct al_mad_send){ .mad = mad, .length = 256, .remote_qpn = 1, .path = { .dlid = 1, .port_num = 1 } })
PROBE(cancel_mad, al_cancel_mad, h, 1)
PROBE(local_mad, al_local_mad, h, 1, (const struct ib_mad *)mad, (struct ib_mad *)answer)
PROBE(get_spl_qp, al_get_spl_qp, h, 1, IB_QPT_GSI, NULL, NULL, (al_qp_h *)&out.pointer)
PROBE(mad_next, al_mad_next, h, NULL, 0, &out.mad)
PROBE(dereg_mad_svc, al_dereg_mad_svc, h, NULL, NULL)

/* The library creates no SRQ yet: only wrong handles of an SRQ exist. */
static al_status probe_create_qp_srq(const void *handle)
{
	struct al_qp_init init = qp_init();

	init.srq = (al_srq_h)(uintptr_t)handle;
	return handle ? al_create_qp(world.pd, &init, NULL, NULL, (al_qp_h *)&out.pointer) : AL_INVALID_HANDLE;
}

static const struct probe {
	const char *function;
	al_object_type type;    /* of the handle */
	al_status (*call)(const void *handle);
	bool null_is_none;      /* the argument may be NULL */
} probes[] = {
	{ "al_close", AL_OBJ_AL, probe_close, false },
	{ "al_load_module", AL_OBJ_AL, probe_load_module, false },
	{ "al_unload_module", AL_OBJ_AL, probe_unload_module, false },
	{ "al_rescan", AL_OBJ_AL, probe_rescan, false },
	{ "al_get_ca_guids", AL_OBJ_AL, probe_get_ca_guids, false },
	{ "al_open_ca", AL_OBJ_AL, probe_open_ca, false },
	{ "al_close_ca", AL_OBJ_CA, probe_close_ca, false },
	{ "al_query_ca", AL_OBJ_CA, probe_query_ca, false },
	{ "al_query_port", AL_OBJ_CA, probe_query_port, false },
	{ "al_query_gid", AL_OBJ_CA, probe_query_gid, false },
	{ "al_query_pkey", AL_OBJ_CA, probe_query_pkey, false },
	{ "al_find_gid", AL_OBJ_CA, probe_find_gid, false },
	{ "al_find_pkey", AL_OBJ_CA, probe_find_pkey, false },
	{ "al_query_gid_type", AL_OBJ_CA, probe_query_gid_type, false },
	{ "al_port_link_layer", AL_OBJ_CA, probe_port_link_layer, false },
	{ "al_modify_ca", AL_OBJ_CA, probe_modify_ca, false },
	{ "al_modify_port", AL_OBJ_CA, probe_modify_port, false },
	{ "al_vendor_call", AL_OBJ_CA, probe_vendor_call, false },
	{ "al_reg_pnp", AL_OBJ_AL, probe_reg_pnp, false },
	{ "al_reg_pnp", AL_OBJ_CHANNEL, probe_reg_pnp_channel, true },
	{ "al_dereg_pnp", AL_OBJ_PNP, probe_dereg_pnp, false },
	{ "al_set_client_context", AL_OBJ_PNP, probe_set_client_context, false },
	{ "al_get_client_context", AL_OBJ_PNP, probe_get_client_context, false },
	{ "al_reg_event_handler", AL_OBJ_CA, probe_reg_event_handler, false },
	{ "al_reg_event_handler", AL_OBJ_CHANNEL, probe_reg_event_handler_channel, true },
	{ "al_dereg_event_handler", AL_OBJ_EVENT_HANDLER, probe_dereg_event_handler, false },
	{ "al_create_channel", AL_OBJ_AL, probe_create_channel, false },
	{ "al_channel_fd", AL_OBJ_CHANNEL, probe_channel_fd, false },
	{ "al_channel_next", AL_OBJ_CHANNEL, probe_channel_next, false },
	{ "al_destroy_channel", AL_OBJ_CHANNEL, probe_destroy_channel, false },
	{ "al_alloc_pd", AL_OBJ_CA, probe_alloc_pd, false },
	{ "al_dealloc_pd", AL_OBJ_PD, probe_dealloc_pd, false },
	{ "al_create_ah", AL_OBJ_PD, probe_create_ah, false },
	{ "al_init_ah_from_wc", AL_OBJ_CA, probe_init_ah_from_wc, false },
	{ "al_create_ah_from_wc", AL_OBJ_PD, probe_create_ah_from_wc, false },
	{ "al_modify_ah", AL_OBJ_AH, probe_modify_ah, false },
	{ "al_query_ah", AL_OBJ_AH, probe_query_ah, false },
	{ "al_destroy_ah", AL_OBJ_AH, probe_destroy_ah, false },
	{ "al_reg_mr", AL_OBJ_PD, probe_reg_mr, false },
	{ "al_dma_alloc_coherent", AL_OBJ_CA, probe_dma_alloc_coherent, false },
	{ "al_dma_free_coherent", AL_OBJ_CA, probe_dma_free_coherent, false },
	{ "al_query_mr", AL_OBJ_MR, probe_query_mr, false },
	{ "al_dereg_mr", AL_OBJ_MR, probe_dereg_mr, false },
	{ "al_create_cq", AL_OBJ_PD, probe_create_cq, false },
	{ "al_create_cq", AL_OBJ_CHANNEL, probe_create_cq_channel, true },
	{ "al_resize_cq", AL_OBJ_CQ, probe_resize_cq, false },
	{ "al_modify_cq", AL_OBJ_CQ, probe_modify_cq, false },
	{ "al_query_cq", AL_OBJ_CQ, probe_query_cq, false },
	{ "al_poll_cq", AL_OBJ_CQ, probe_poll_cq, false },
	{ "al_poll_cq_ex", AL_OBJ_CQ, probe_poll_cq_ex, false },
	{ "al_peek_cq", AL_OBJ_CQ, probe_peek_cq, false },
	{ "al_arm_cq", AL_OBJ_CQ, probe_arm_cq, false },
	{ "al_arm_cq_n", AL_OBJ_CQ, probe_arm_cq_n, false },
	{ "al_destroy_cq", AL_OBJ_CQ, probe_destroy_cq, false },
	{ "al_create_qp", AL_OBJ_PD, probe_create_qp, false },
	{ "al_create_qp", AL_OBJ_CQ, probe_create_qp_send_cq, false },
	{ "al_create_qp", AL_OBJ_CQ, probe_create_qp_recv_cq, false },
	{ "al_create_qp", AL_OBJ_SRQ, probe_create_qp_srq, true },
	{ "al_modify_qp", AL_OBJ_QP, probe_modify_qp, false },
	{ "al_query_qp", AL_OBJ_QP, probe_query_qp, false },
	{ "al_query_failure", AL_OBJ_QP, probe_query_failure, false },
	{ "al_qp_num", AL_OBJ_QP, probe_qp_num, false },
	{ "al_post_send", AL_OBJ_QP, probe_post_send, false },
	{ "al_post_recv", AL_OBJ_QP, probe_post_recv, false },
	{ "al_attach_mcast", AL_OBJ_QP, probe_attach_mcast, false },
	{ "al_detach_mcast", AL_OBJ_QP, probe_detach_mcast, false },
	{ "al_qp_card", AL_OBJ_CA, probe_qp_card, false },
	{ "al_qp_card", AL_OBJ_QP, probe_qp_card_qp, false },
	{ "al_connect_qp", AL_OBJ_QP, probe_connect_qp, false },
	{ "al_destroy_qp", AL_OBJ_QP, probe_destroy_qp, false },
	{ "al_reg_mad_svc", AL_OBJ_CA, probe_reg_mad_svc, false },
	{ "al_reg_mad_svc", AL_OBJ_CHANNEL, probe_reg_mad_svc_channel, true },
	{ "al_send_mad", AL_OBJ_MAD_SVC, probe_send_mad, false },
	{ "al_cancel_mad", AL_OBJ_MAD_SVC, probe_cancel_mad, false },
	{ "al_local_mad", AL_OBJ_CA, probe_local_mad, false },
	{ "al_get_spl_qp", AL_OBJ_CA, probe_get_spl_qp, false },
	{ "al_mad_next", AL_OBJ_MAD_SVC, probe_mad_next, false },
	{ "al_dereg_mad_svc", AL_OBJ_MAD_SVC, probe_dereg_mad_svc, false },
	{ "al_snapshot", AL_OBJ_AL, probe_snapshot, false },
};
#define PROBES (sizeof(probes) / sizeof(probes[0]))

/* Functions that take no handle. */
static const char *const without_handle[] = {
	"al_open",        "al_version",       "al_reason",       "al_set_log",
	"al_status_name", "al_free_snapshot", "al_card_address", "al_card_encode",
	"al_card_decode", "al_meet_listen",   "al_meet_accept",  "al_meet_connect",
	"al_meet_send",   "al_meet_receive",  "al_meet_refuse",  "al_meet_end"
};

/* ---------------------------------------------------- objects of the test */

/* One object of each kind below the opening, in the order of creation. */
static void make_objects(void)
{
	struct al_cq_init cq = { .cqe = 16 };
	struct al_qp_init qp;
	struct al_mr_init mr = mr_init();

	world.ca = test_open_ca(world.al, world.guid);
	ck_ok(al_alloc_pd(world.ca, NULL, &world.pd));
	ck_ok(al_create_ah(world.pd, &path, &world.ah));
	ck_ok(al_reg_mr(world.pd, &mr, NULL, &keys[0], &keys[1], &world.mr));
	ck_ok(al_create_cq(world.pd, &cq, NULL, NULL, NULL, &world.cq));
	qp = qp_init();
	ck_ok(al_create_qp(world.pd, &qp, NULL, NULL, &world.qp));
	ck_ok(al_reg_pnp(world.al, NULL, NULL, ignore_pnp, &world.pnp));
	ck_ok(al_reg_event_handler(world.ca, NULL, NULL, test_ignore_event, &world.handler));
	ck_ok(al_create_channel(world.al, NULL, &world.channel));
	if (test_in_user_role())
		return;
	ck_ok(reg_mad_svc(world.ca, NULL));
	world.svc = out.pointer;
}

static void note(const void *handles[AL_OBJ_TYPES])
{
	handles[AL_OBJ_AL] = world.al;
	handles[AL_OBJ_CA] = world.ca;
	handles[AL_OBJ_PD] = world.pd;
	handles[AL_OBJ_AH] = world.ah;
	handles[AL_OBJ_MR] = world.mr;
	handles[AL_OBJ_CQ] = world.cq;
	handles[AL_OBJ_QP] = world.qp;
	handles[AL_OBJ_PNP] = world.pnp;
	handles[AL_OBJ_EVENT_HANDLER] = world.handler;
	handles[AL_OBJ_CHANNEL] = world.channel;
	handles[AL_OBJ_MAD_SVC] = world.svc;
}

static al_status create_special(struct ci_qp *qp, uint8_t port, struct ci_qp_init *init, struct ci_udata *udata)
{
	(void)port;
	return test_fake()->ops.create_qp(qp, init, udata);
}

static void make_world(void)
{
	test_fake()->ops.create_spl_qp = create_special;
	al_set_log(test_ignore_log, NULL); /* closing with objects left would fill the log */
	world.al = test_open();
	test_guids(world.al, &world.guid, 1);
	make_objects();
	note(world.stale);
	ck_ok(al_close(world.al, AL_DESTROY_SYNC, NULL));
	world.al = test_open();
	/* A stale handle's slot has a new object: slots are reused first-in first-out. */
	make_objects();
	note(world.live);
	memset(&out, 0, sizeof(out));
}

static void free_world(void)
{
	al_close(world.al, AL_DESTROY_SYNC, NULL); /* one of the probes has closed it already */
}

static void check_wrong(const struct probe *probe, const void *handle, const char *what)
{
	al_status status = probe->call(handle);

	ck_assert_msg(status == AL_INVALID_HANDLE, "%s with %s: %s", probe->function, what, al_status_name(status));
}

START_TEST(a_handle_that_never_was_is_refused)
{
	const struct probe *probe = &probes[_i];
	uint64_t live = (uint64_t)(uintptr_t)(world.live[probe->type] ? world.live[probe->type] : world.qp);
	uint64_t random = 0x9e3779b97f4a7c15;

	if (!probe->null_is_none)
		check_wrong(probe, NULL, "NULL");
	check_wrong(probe, (const void *)1, "1");
	check_wrong(probe, (const void *)UINTPTR_MAX, "all ones");
	check_wrong(probe, &world, "an address");
	check_wrong(probe, (const void *)(uintptr_t)((uint64_t)probe->type << 56), "a type and nothing else");
	/* each bit of a valid handle matters */
	for (int bit = 0; bit < 64; bit++)
		check_wrong(probe, (const void *)(uintptr_t)(live ^ 1ull << bit), "one bit changed");
	for (int i = 0; i < 1000; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		check_wrong(probe, (const void *)(uintptr_t)random, "garbage");
		check_wrong(probe,
			    (const void *)(uintptr_t)((uint64_t)probe->type << 56 | random >> 8), "garbage of its type");
	}
}
END_TEST

START_TEST(a_handle_of_a_destroyed_object_is_refused)
{
	const struct probe *probe = &probes[_i];

	if (world.stale[probe->type])
		check_wrong(probe, world.stale[probe->type], "a stale one");
	/* the probes have changed no live object */
	for (int type = 0; type < AL_OBJ_TYPES; type++)
		ck_assert(!world.live[type] || world.live[type] != world.stale[type]);
	test_expect_count(world.al, 11, 4);
}
END_TEST

START_TEST(a_handle_of_another_kind_is_refused)
{
	const struct probe *probe = &probes[_i];

	for (int type = 0; type < AL_OBJ_TYPES; type++)
		if (world.live[type] && type != (int)probe->type)
			check_wrong(probe, world.live[type], al_object_type_str((al_object_type)type));
	test_expect_count(world.al, 11, 4);
}
END_TEST

START_TEST(the_right_handle_is_taken)
{
	const struct probe *probe = &probes[_i];
	al_status status;

	if (!world.live[probe->type])
		return;
	status = probe->call(world.live[probe->type]);
	ck_assert_msg(status != AL_INVALID_HANDLE, "%s takes no handle at all", probe->function);
	if (probe->call == probe_snapshot)
		al_free_snapshot(out.pointer);
}
END_TEST

/* ----------------------------------------------------------------- completeness */

static bool is_probed(const char *name)
{
	size_t len = strlen(name);

	if (len > 4 && !strcmp(name + len - 4, "_str"))
		return true;
	for (size_t i = 0; i < sizeof(without_handle) / sizeof(without_handle[0]); i++)
		if (!strcmp(name, without_handle[i]))
			return true;
	for (size_t i = 0; i < PROBES; i++)
		if (!strcmp(name, probes[i].function))
			return true;
	return false;
}

START_TEST(no_function_of_the_header_is_forgotten)
{
	const char *top = getenv("top_srcdir");
	char command[4096], line[256], name[128];
	unsigned int functions = 0;
	FILE *names;

	ck_assert_msg(top != NULL, "top_srcdir is set by make check");
	snprintf(command, sizeof(command),
		 "cd '%s' && sh al/mkmap.sh include/iba/ib_al.h include/iba/ib_connect.h", top);
	names = popen(command, "r");
	ck_assert_ptr_nonnull(names);
	while (fgets(line, sizeof(line), names)) {
		if (sscanf(line, " %127[a-z0-9_];", name) != 1 || strncmp(name, "al_", 3))
			continue;
		functions++;
		ck_assert_msg(is_probed(name), "%s is not in the table", name);
	}
	ck_assert_int_eq(pclose(names), 0);
	ck_assert_uint_gt(functions, PROBES / 2);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("al/verbs/handles");
	TCase *wrong = tcase_create("wrong handles"), *header = tcase_create("header");

	tcase_add_checked_fixture(wrong, make_world, free_world);
	tcase_add_loop_test(wrong, a_handle_that_never_was_is_refused, 0, PROBES);
	tcase_add_loop_test(wrong, a_handle_of_a_destroyed_object_is_refused, 0, PROBES);
	tcase_add_loop_test(wrong, a_handle_of_another_kind_is_refused, 0, PROBES);
	tcase_add_loop_test(wrong, the_right_handle_is_taken, 0, PROBES);
	suite_add_tcase(suite, wrong);
	tcase_add_test(header, no_function_of_the_header_is_forgotten);
	suite_add_tcase(suite, header);
	return test_run(suite);
}
