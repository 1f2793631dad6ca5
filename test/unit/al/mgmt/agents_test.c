/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The agents of ports of the software HCA, as a subnet manager on one of two HCAs uses them:
 * directed routes of no hop and of one, the states of both ports up to Active, M_Keys and traps,
 * performance counters, classes that nothing serves, and events to PnP clients. Each port has the
 * agents of the Access Layer, or agents of its own; the tests are the same. What the agents answer
 * in detail is sma_test's and pma_test's.
 */
#include <iba/ib_soft.h>

#include "test/unit/al/mgmt/mad_bed.h"
#include "test/unit/al/port_history.h"

#define KEY 0x1234567890abcdefull

static al_h al;
static struct side manager, performance; /* on the first HCA: subnet management, QP1 */
static struct side lid_routed, traps;    /* on the first HCA: packets routed by LID, and traps */
static al_ca_h ca[2];
static uint64_t guids[2];
static uint64_t next_tid = 1;

/* Agents of the first HCA, where the manager is, and of its neighbour. */
static void set_up_with(const char *agents)
{
	char settings[128];

	snprintf(settings, sizeof(settings), "subnet=managed %s", agents);
	setenv("IBAL_SOFT", settings, 1);
	al = test_open();
	test_guids(al, guids, 2);
	for (int i = 0; i < 2; i++)
		ca[i] = test_open_ca(al, guids[i]);
	side_serve(&manager, ca[0], IB_CLASS_SUBN_DIR, 0);
	side_serve(&lid_routed, ca[0], IB_CLASS_SUBN_LID, 0);
	side_serve(&traps, ca[0], IB_CLASS_SUBN_LID, 1 << IB_METHOD_TRAP);
	side_serve(&performance, ca[0], IB_CLASS_PERF, 0);
}

static void set_up(void)
{
	set_up_with("");
}

static void set_up_own(void)
{
	set_up_with("agents=hardware");
}

static void set_up_own_there(void)
{
	set_up_with("[hca 1] agents=hardware");
}

static void set_up_own_here(void)
{
	set_up_with("agents=hardware [hca 1] agents=al");
}

static void tear_down(void)
{
	al_set_log(test_ignore_log, NULL);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	unsetenv("IBAL_SOFT");
}

static uint16_t lid_of(int i)
{
	struct ib_port_attr attr;

	ck_ok(al_query_port(ca[i], 1, &attr));
	return attr.lid;
}

static ib_port_state state_of(int i)
{
	struct ib_port_attr attr;

	ck_ok(al_query_port(ca[i], 1, &attr));
	return attr.state;
}

/* --------------------------------------------------------------------- requests */

static struct ib_smp smp_of(uint8_t method, uint16_t attr_id, uint32_t attr_mod, uint8_t hops)
{
	struct ib_smp smp = { .base_version = IB_MAD_BASE_VERSION,
			      .mgmt_class = IB_CLASS_SUBN_DIR,
			      .class_version = IB_SMP_CLASS_VERSION,
			      .method = method,
			      .hop_count = hops,
			      .tid = ib_be64_of(next_tid++),
			      .attr_id = ib_be16_of(attr_id),
			      .attr_mod = ib_be32_of(attr_mod),
			      .dr_slid = ib_be16_of(IB_LID_PERMISSIVE),
			      .dr_dlid = ib_be16_of(IB_LID_PERMISSIVE) };

	smp.initial_path[1] = 1;
	return smp;
}

/* Sends a request, which has to be answered, and writes the answer to *answer. */
static void ask(struct side *s, const void *request, uint16_t dlid, void *answer)
{
	struct al_mad_send send = send_of(request, dlid, LONG_MS, 0);

	ck_ok(al_send_mad(s->svc, &send));
	memcpy(answer, &s->got[side_next(s, AL_MAD_ANSWERED, AL_SUCCESS)].mad, IB_MAD_BYTES);
}

/* Sends a packet on a directed route of a number of hops, and returns its answer. */
static struct ib_smp ask_directed(struct ib_smp smp)
{
	struct ib_smp answer;

	ask(&manager, &smp, IB_LID_PERMISSIVE, &answer);
	ck_assert_uint_eq(answer.method, IB_METHOD_GET_RESP);
	ck_assert_uint_eq(ib_be64_get(answer.tid), ib_be64_get(smp.tid));
	ck_assert_uint_eq(answer.hop_ptr, 0);
	return answer;
}

static struct ib_port_info port_info(uint8_t hops)
{
	struct ib_smp answer = ask_directed(smp_of(IB_METHOD_GET, IB_SMP_PORT_INFO, 1, hops));
	struct ib_port_info info;

	ck_assert_uint_eq(ib_be16_get(answer.status), IB_SMP_DIRECTION);
	memcpy(&info, answer.data, sizeof(info));
	return info;
}

/* Sets PortInfo as a subnet manager does; info is what the port has to become. */
static void set_port_info(uint8_t hops, const struct ib_port_info *info)
{
	struct ib_smp smp = smp_of(IB_METHOD_SET, IB_SMP_PORT_INFO, 1, hops);

	memcpy(smp.data, info, sizeof(*info));
	ck_assert_uint_eq(ib_be16_get(ask_directed(smp).status), IB_SMP_DIRECTION);
}

static void set_state(uint8_t hops, ib_port_state state)
{
	struct ib_port_info info = port_info(hops);

	ib_port_info_set_port_state(&info, state);
	ib_port_info_set_phys_state(&info, IB_PHYS_NOP);
	set_port_info(hops, &info);
}

/* Gives both ports a LID, names the manager's LID to them, and makes them Active. */
static void bring_up(void)
{
	for (uint8_t hops = 0; hops < 2; hops++) {
		struct ib_port_info info = port_info(hops);

		info.lid = ib_be16_of(hops ? 0x22 : 0x11);
		info.master_sm_lid = ib_be16_of(0x11);
		ib_port_info_set_port_state(&info, IB_PORT_NOP);
		ib_port_info_set_phys_state(&info, IB_PHYS_NOP);
		ib_port_info_set_subnet_timeout(&info, 1);
		set_port_info(hops, &info);
	}
	for (uint8_t hops = 0; hops < 2; hops++)
		set_state(hops, IB_PORT_ARMED);
	for (uint8_t hops = 0; hops < 2; hops++)
		set_state(hops, IB_PORT_ACTIVE);
}

/* ------------------------------------------------------------------------ tests */

/* _i: hops: the manager's own HCA, its neighbour */
START_TEST(a_node_tells_of_itself_on_a_directed_route)
{
	struct ib_smp answer =
		ask_directed(smp_of(IB_METHOD_GET, IB_SMP_NODE_INFO, 0, (uint8_t)_i));
	struct ib_port_attr port;
	struct ib_node_info info;
	struct ib_ca_attr attr;

	ck_ok(al_query_ca(ca[_i], &attr));
	ck_ok(al_query_port(ca[_i], 1, &port));
	memcpy(&info, answer.data, sizeof(info));
	ck_assert_uint_eq(ib_be16_get(answer.status), IB_SMP_DIRECTION);
	ck_assert_uint_eq(info.node_type, IB_NODE_CA);
	ck_assert_uint_eq(info.num_ports, attr.num_ports);
	ck_assert_uint_eq(ib_be64_get(info.node_guid), guids[_i]);
	ck_assert_uint_eq(ib_be64_get(info.port_guid), port.port_guid);
	ck_assert_uint_eq(info.local_port_num, 1);
	if (_i)
		ck_assert_uint_eq(answer.return_path[1], 1);
}
END_TEST

START_TEST(a_manager_brings_both_ports_up_and_then_routes_by_lid)
{
	struct ib_smp smp = smp_of(IB_METHOD_GET, IB_SMP_NODE_INFO, 0, 0), answer;
	struct ib_node_info info;

	ck_assert_uint_eq(state_of(0), IB_PORT_INIT);
	ck_assert_uint_eq(lid_of(1), 0);
	bring_up();
	for (int i = 0; i < 2; i++) {
		ck_assert_uint_eq(state_of(i), IB_PORT_ACTIVE);
		ck_assert_uint_eq(lid_of(i), i ? 0x22 : 0x11);
	}
	smp.mgmt_class = IB_CLASS_SUBN_LID;
	for (int i = 0; i < 2; i++) {
		smp.tid = ib_be64_of(next_tid++);
		ask(&lid_routed, &smp, lid_of(i), &answer);
		memcpy(&info, answer.data, sizeof(info));
		ck_assert_uint_eq(ib_be64_get(info.node_guid), guids[i]);
	}
}
END_TEST

/* Sends a Set with a wrong key to the neighbour, which does not answer. */
static void set_with(uint64_t key)
{
	struct ib_smp smp = smp_of(IB_METHOD_SET, IB_SMP_PORT_INFO, 1, 1);
	struct al_mad_send send = send_of((void *)&smp, IB_LID_PERMISSIVE, SHORT_MS, 0);

	smp.mkey = ib_be64_of(key);
	ck_ok(al_send_mad(manager.svc, &send));
	side_next(&manager, AL_MAD_FAILED, AL_TIMEOUT);
}

/* Waits for the next trap of the neighbour, and writes the key that the trap is about. */
static struct ib_smp next_trap(uint64_t *key)
{
	unsigned int got = side_next(&traps, AL_MAD_RECEIVED, AL_SUCCESS);
	struct ib_notice notice;
	struct ib_smp smp;

	memcpy(&smp, &traps.got[got].mad, sizeof(smp));
	memcpy(&notice, smp.data, sizeof(notice));
	ck_assert_uint_eq(smp.method, IB_METHOD_TRAP);
	ck_assert_uint_eq(traps.got[got].event.path.dlid, 0x22);
	ck_assert_uint_eq(ib_be16_get(notice.trap_num), IB_TRAP_BAD_MKEY);
	*key = ib_be64_get(notice.details.bad_mkey.mkey);
	return smp;
}

/*
 * A wrong M_Key gets no answer, and raises a trap that is repeated until the manager represses the
 * trap. While the second trap is repeated, the first one would have been as well.
 */
START_TEST(a_wrong_mkey_is_silence_and_a_trap_until_it_is_repressed)
{
	struct ib_port_info info;
	struct ib_smp first, again;
	struct al_mad_send send;
	uint64_t key;

	bring_up();
	info = port_info(1);
	info.mkey = ib_be64_of(KEY);
	ib_port_info_set_port_state(&info, IB_PORT_NOP);
	ib_port_info_set_phys_state(&info, IB_PHYS_NOP);
	set_port_info(1, &info);
	set_with(KEY + 1);
	first = next_trap(&key);
	for (int i = 0; i < 2; i++) {
		ck_assert_uint_eq(key, KEY + 1);
		again = next_trap(&key);
		ck_assert_mem_eq(&first.tid, &again.tid, sizeof(first.tid));
	}
	first.method = IB_METHOD_TRAP_REPRESS;
	first.mkey = ib_be64_of(KEY);
	send = send_of((void *)&first, 0x22, 0, 0);
	ck_ok(al_send_mad(lid_routed.svc, &send));
	port_info(1); /* whose answer says that the neighbour has taken TrapRepress */
	set_with(KEY + 2);
	do
		next_trap(&key);
	while (key == KEY + 1); /* a repetition that was under way */
	for (int i = 0; i < 3; i++) {
		ck_assert_uint_eq(key, KEY + 2);
		next_trap(&key);
	}
}
END_TEST

START_TEST(counters_of_a_port_are_read_on_queue_pair_1)
{
	struct ib_perf_mad request = { .hdr = { .base_version = IB_MAD_BASE_VERSION,
						.mgmt_class = IB_CLASS_PERF,
						.class_version = 1,
						.method = IB_METHOD_GET,
						.attr_id = ib_be16_of(IB_PERF_PORT_COUNTERS) } };
	struct ib_perf_port_counters first, second;
	struct ib_perf_mad answer;

	bring_up();
	((struct ib_perf_port_counters *)(void *)request.data)->port_select = 1;
	ask(&performance, &request, lid_of(1), &answer);
	ck_assert_uint_eq(answer.hdr.method, IB_METHOD_GET_RESP);
	ck_assert_uint_eq(ib_be16_get(answer.hdr.status), IB_MAD_STATUS_OK);
	memcpy(&first, answer.data, sizeof(first));
	ask(&performance, &request, lid_of(1), &answer);
	memcpy(&second, answer.data, sizeof(second));
	ck_assert_uint_eq(ib_be32_get(second.rcv_packets), ib_be32_get(first.rcv_packets) + 1);
	ck_assert_uint_eq(ib_be32_get(second.xmit_packets), ib_be32_get(first.xmit_packets) + 1);
}
END_TEST

/* Waits for a trap of the neighbour. */
static struct ib_notice next_notice(void)
{
	struct ib_notice notice;
	struct ib_smp smp;

	memcpy(&smp, &traps.got[side_next(&traps, AL_MAD_RECEIVED, AL_SUCCESS)].mad, sizeof(smp));
	memset(&notice, 0, sizeof(notice));
	memcpy(&notice, smp.data, sizeof(smp.data));
	return notice;
}

/* _i: a wrong Q_Key, or a wrong P_Key */
START_TEST(a_wrong_key_of_a_datagram_is_reported_to_the_manager)
{
	const uint32_t key = _i ? 0x9999 : 0x12345678;
	struct ib_smp keys = smp_of(IB_METHOD_SET, IB_SMP_PKEY_TABLE, 0, 0);
	struct ib_mad mad = mad_of(VENDOR, IB_METHOD_SEND, 1, 0);
	struct al_mad_send send;
	struct ib_port_attr port;
	struct ib_notice notice;
	static struct side vendor; /* of a service that ends in tear_down() */

	bring_up();
	keys.data[0] = 0xff;
	keys.data[1] = 0xff;
	keys.data[2] = 0x99;
	keys.data[3] = 0x99;
	ask_directed(keys);
	side_serve(&vendor, ca[0], VENDOR, 0);
	send = send_of(&mad, 0x22, 0, 0);
	if (_i)
		send.pkey_index = 1;
	else
		send.remote_qkey = key;
	ck_ok(al_send_mad(vendor.svc, &send));
	notice = next_notice();
	ck_assert_uint_eq(ib_notice_type(&notice), IB_NOTICE_SECURITY);
	ck_assert_uint_eq(ib_be16_get(notice.trap_num), _i ? IB_TRAP_BAD_PKEY : IB_TRAP_BAD_QKEY);
	ck_assert_uint_eq(ib_be16_get(notice.issuer_lid), 0x22);
	ck_assert_uint_eq(ib_be16_get(notice.details.bad_key.lid1), 0x11);
	ck_assert_uint_eq(ib_be16_get(notice.details.bad_key.lid2), 0x22);
	ck_assert_uint_eq(ib_be32_get(notice.details.bad_key.key), key);
	ck_assert_uint_eq(ib_be32_get(notice.details.bad_key.sl_qp1), 1);
	ck_assert_uint_eq(ib_be32_get(notice.details.bad_key.qp2), 1);
	ck_ok(al_query_port(ca[1], 1, &port));
	ck_assert_uint_eq(port.bad_pkey_cntr, _i ? 1 : 0);
	ck_assert_uint_eq(port.qkey_viol_cntr, _i ? 0 : 1);
}
END_TEST

/* A port that is not up tells nobody: its capabilities are read when it is brought up. */
START_TEST(a_change_of_capabilities_is_reported_to_the_manager)
{
	const struct ib_port_modify manages = { .set_caps = IB_PORT_CAP_SM },
				    ends = { .clear_caps = IB_PORT_CAP_SM };
	struct ib_notice notice;
	struct ib_port_info info;
	uint32_t caps;

	caps = ib_be32_get(port_info(1).cap_mask);
	ck_assert_uint_eq(caps & IB_PORT_CAP_CAP_MASK_NOTICE, IB_PORT_CAP_CAP_MASK_NOTICE);
	ck_ok(al_modify_port(ca[1], 1, IB_PORT_MODIFY_CAP_MASK, &manages));
	bring_up();
	ck_ok(al_modify_port(ca[1], 1, IB_PORT_MODIFY_CAP_MASK, &manages)); /* no change */
	ck_ok(al_modify_port(ca[1], 1, IB_PORT_MODIFY_CAP_MASK, &ends));
	notice = next_notice();
	ck_assert_uint_eq(ib_notice_type(&notice), IB_NOTICE_INFO);
	ck_assert_uint_eq(ib_be16_get(notice.trap_num), IB_TRAP_LOCAL_CHANGE);
	ck_assert_uint_eq(ib_be16_get(notice.issuer_lid), 0x22);
	ck_assert_uint_eq(ib_be16_get(notice.details.local_change.lid), 0x22);
	ck_assert_uint_eq(notice.details.local_change.other_changes, 0);
	ck_assert_uint_eq(ib_be32_get(notice.details.local_change.cap_mask), caps);
	info = port_info(1);
	ck_assert_uint_eq(ib_be32_get(info.cap_mask), caps);
}
END_TEST

START_TEST(a_request_that_no_service_wants_is_answered_as_not_supported)
{
	struct ib_mad request = mad_of(VENDOR, IB_METHOD_GET, 7, 0), answer;
	static struct side vendor; /* of a service that ends in tear_down() */

	bring_up();
	side_serve(&vendor, ca[0], VENDOR, 0);
	ask(&vendor, &request, lid_of(1), &answer);
	ck_assert_uint_eq(answer.hdr.method, IB_METHOD_GET_RESP);
	ck_assert_uint_eq(ib_be16_get(answer.hdr.status), IB_MAD_STATUS_BAD_VERSION);
}
END_TEST

START_TEST(a_directed_route_that_does_not_begin_at_the_port_is_refused)
{
	struct ib_smp smp = smp_of(IB_METHOD_GET, IB_SMP_NODE_INFO, 0, 1);
	struct al_mad_send send = send_of((void *)&smp, IB_LID_PERMISSIVE, LONG_MS, 0);

	smp.initial_path[1] = 2;
	ck_status(al_send_mad(manager.svc, &send), AL_INVALID_PARAMETER);
	smp.initial_path[1] = 1;
	smp.hop_ptr = 1;
	ck_status(al_send_mad(manager.svc, &send), AL_INVALID_PARAMETER);
}
END_TEST

/* The port takes the packet like any, and its own interface drops it. */
START_TEST(a_directed_route_that_does_not_begin_at_a_port_with_own_agents_is_lost)
{
	struct ib_smp smp = smp_of(IB_METHOD_GET, IB_SMP_NODE_INFO, 0, 1);
	struct al_mad_send send = send_of((void *)&smp, IB_LID_PERMISSIVE, SHORT_MS, 0);

	smp.initial_path[1] = 2;
	ck_ok(al_send_mad(manager.svc, &send));
	side_next(&manager, AL_MAD_FAILED, AL_TIMEOUT);
	smp.initial_path[1] = 1;
	smp.hop_ptr = 1;
	ck_ok(al_send_mad(manager.svc, &send));
	side_next(&manager, AL_MAD_FAILED, AL_TIMEOUT);
	port_info(0);
}
END_TEST

/* SMInfo is a subnet manager's, as soon as the port says that it hosts one. */
START_TEST(sm_info_goes_to_the_manager_at_the_port)
{
	const struct ib_port_modify caps = { .set_caps = IB_PORT_CAP_SM };
	struct ib_smp smp = smp_of(IB_METHOD_GET, IB_SMP_SM_INFO, 0, 0), answer;
	struct al_mad_svc_init init = svc_init(IB_CLASS_SUBN_DIR);
	struct al_mad_send send;
	static struct side host; /* of a service that ends in tear_down() */
	unsigned int got;

	answer = ask_directed(smp);
	ck_assert_uint_eq(ib_be16_get(answer.status),
			  IB_SMP_DIRECTION | IB_MAD_STATUS_BAD_METHOD_ATTR);
	ck_ok(al_modify_port(ca[0], 1, IB_PORT_MODIFY_CAP_MASK, &caps));
	side_init(&host, ca[0]);
	side_register(&host, &init);
	smp = smp_of(IB_METHOD_GET, IB_SMP_SM_INFO, 0, 0);
	send = send_of((void *)&smp, IB_LID_PERMISSIVE, LONG_MS, 0);
	ck_ok(al_send_mad(manager.svc, &send));
	got = side_next(&host, AL_MAD_RECEIVED, AL_SUCCESS);
	memcpy(&answer, &host.got[got].mad, sizeof(answer));
	ck_assert_uint_eq(ib_be16_get(answer.attr_id), IB_SMP_SM_INFO);
	answer.method = IB_METHOD_GET_RESP;
	answer.status = ib_be16_of(IB_SMP_DIRECTION);
	answer.data[0] = 0x5a;
	send = send_of((void *)&answer, host.got[got].event.path.dlid, 0, 0);
	ck_ok(al_send_mad(host.svc, &send));
	got = side_next(&manager, AL_MAD_ANSWERED, AL_SUCCESS);
	memcpy(&answer, &manager.got[got].mad, sizeof(answer));
	ck_assert_uint_eq(answer.data[0], 0x5a);
}
END_TEST

/* As a datagram that came in, but from nobody: directed routes have no say, services get nothing.
 */
START_TEST(a_program_asks_the_agents_of_its_own_port)
{
	struct ib_smp smp = smp_of(IB_METHOD_GET, IB_SMP_NODE_INFO, 0, 0);
	struct ib_mad mad, unserved = mad_of(VENDOR, IB_METHOD_GET, 9, 0);
	struct ib_node_info info;

	ck_ok(al_local_mad(ca[1], 1, (void *)&smp, &mad));
	memcpy(&smp, &mad, sizeof(smp));
	memcpy(&info, smp.data, sizeof(info));
	ck_assert_uint_eq(smp.method, IB_METHOD_GET_RESP);
	ck_assert_uint_eq(ib_be64_get(info.node_guid), guids[1]);
	ck_status(al_local_mad(ca[1], 1, &mad, &mad), AL_NOT_FOUND);
	ck_ok(al_local_mad(ca[1], 1, &unserved, &mad));
	ck_assert_uint_eq(ib_be16_get(mad.hdr.status), IB_MAD_STATUS_BAD_VERSION);
	ck_status(al_local_mad(ca[1], 2, &unserved, &mad), AL_INVALID_PORT);
	ck_status(al_local_mad(ca[1], 1, NULL, &mad), AL_INVALID_PARAMETER);
	ck_status(al_local_mad(ca[1], 1, &unserved, NULL), AL_INVALID_PARAMETER);
}
END_TEST

START_TEST(a_port_with_agents_of_its_own_is_asked_by_its_queue_pairs_only)
{
	struct ib_smp smp = smp_of(IB_METHOD_GET, IB_SMP_NODE_INFO, 0, 0);
	struct ib_port_attr attr;
	struct ib_mad mad;

	ck_ok(al_query_port(ca[0], 1, &attr));
	ck_assert_uint_eq(attr.ci_caps, 0);
	ck_status(al_local_mad(ca[0], 1, (void *)&smp, &mad), AL_UNSUPPORTED);
}
END_TEST

/* ---------------------------------------------------------------------- PnP events */

/* What a PnP client is told of the neighbour's port. */
static struct history told;
static pthread_mutex_t told_lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t active;

static al_status hear(void *context, const struct al_pnp_event *event)
{
	(void)context;
	if (event->ca_guid != guids[1] || event->port_num != 1)
		return AL_SUCCESS;
	pthread_mutex_lock(&told_lock);
	history_add(&told, (ib_event_type)(event->type - AL_PNP_PORT_DOWN + IB_EVENT_PORT_DOWN));
	pthread_mutex_unlock(&told_lock);
	if (event->type == AL_PNP_PORT_ACTIVE)
		sem_post(&active);
	return AL_SUCCESS;
}

/* Changes more of the neighbour's port: prefix, LMC, tables, and asks clients to register again. */
static void change_more(void)
{
	struct ib_smp table = smp_of(IB_METHOD_SET, IB_SMP_PKEY_TABLE, 0, 1);
	struct ib_port_info info = port_info(1);

	info.gid_prefix = ib_be64_of(0xfec0000000000001);
	info.lid = ib_be16_of(0x24);
	ib_port_info_set_lmc(&info, 1);
	ib_port_info_set_client_reregister(&info, 1);
	ib_port_info_set_port_state(&info, IB_PORT_NOP);
	ib_port_info_set_phys_state(&info, IB_PHYS_NOP);
	set_port_info(1, &info);
	memset(table.data, 0xff, 2);
	table.data[3] = 7;
	ask_directed(table);
	table = smp_of(IB_METHOD_SET, IB_SMP_GUID_INFO, 0, 1);
	table.data[15] = 9;
	ask_directed(table);
	set_state(1, IB_PORT_DOWN);
	set_state(1, IB_PORT_ARMED);
	set_state(1, IB_PORT_ACTIVE);
}

/* All that the manager sets is told, each change before the step of the state that it preceded. */
START_TEST(what_a_manager_sets_is_told_to_pnp_clients)
{
	const struct al_pnp_attr attr_of_pnp = { .ports = true };
	struct ib_port_attr attr;
	char text[HISTORY_MAX + 1], *down;
	al_pnp_h pnp;
	ib_gid gid;

	sem_init(&active, 0, 0);
	ck_ok(al_reg_pnp(al, &attr_of_pnp, NULL, hear, &pnp));
	bring_up();
	test_wait(&active);
	change_more();
	test_wait(&active);
	pthread_mutex_lock(&told_lock);
	history_text(&told, text);
	pthread_mutex_unlock(&told_lock);
	down = strchr(text, 'D');
	ck_assert_msg(down && !strcmp(down, "DIRA"), "told: %s", text);
	*down = 0;
	down = strstr(text, "RA");
	ck_assert_msg(text[0] == 'I' && down && strchr("lgs", text[1]), "told: %s", text);
	for (const char *c = "lpgr"; *c; c++)
		ck_assert_msg(strchr(down, *c), "%c is not told behind RA: %s", *c, text);
	*down = 0;
	ck_assert_msg(strchr(text, 'l') && strchr(text, 's'), "told: %s", text);
	ck_ok(al_query_port(ca[1], 1, &attr));
	ck_assert_uint_eq(attr.lid, 0x24);
	ck_assert_uint_eq(attr.lmc, 1);
	ck_ok(al_query_gid(ca[1], 1, 0, &gid));
	ck_assert_uint_eq(gid.raw[0], 0xfe);
	ck_assert_uint_eq(gid.raw[1], 0xc0);
}
END_TEST

static void add_common_tests(TCase *tc)
{
	tcase_add_loop_test(tc, a_node_tells_of_itself_on_a_directed_route, 0, 2);
	tcase_add_test(tc, a_manager_brings_both_ports_up_and_then_routes_by_lid);
	tcase_add_test(tc, a_wrong_mkey_is_silence_and_a_trap_until_it_is_repressed);
	tcase_add_test(tc, counters_of_a_port_are_read_on_queue_pair_1);
	tcase_add_loop_test(tc, a_wrong_key_of_a_datagram_is_reported_to_the_manager, 0, 2);
	tcase_add_test(tc, a_change_of_capabilities_is_reported_to_the_manager);
	tcase_add_test(tc, a_request_that_no_service_wants_is_answered_as_not_supported);
	tcase_add_test(tc, sm_info_goes_to_the_manager_at_the_port);
	tcase_add_test(tc, what_a_manager_sets_is_told_to_pnp_clients);
}

/* Adds the tests with one choice of agents. */
static TCase *add_case(Suite *suite, const char *name, void (*up)(void))
{
	TCase *tc = tcase_create(name);

	tcase_add_checked_fixture(tc, up, tear_down);
	add_common_tests(tc);
	suite_add_tcase(suite, tc);
	return tc;
}

int main(void)
{
	Suite *suite = suite_create("agents");
	TCase *tc = add_case(suite, "agents in the Access Layer", set_up);

	tcase_add_test(tc, a_directed_route_that_does_not_begin_at_the_port_is_refused);
	tcase_add_test(tc, a_program_asks_the_agents_of_its_own_port);
	tc = add_case(suite, "agents of the ports' own", set_up_own);
	tcase_add_test(tc, a_directed_route_that_does_not_begin_at_a_port_with_own_agents_is_lost);
	tcase_add_test(tc, a_port_with_agents_of_its_own_is_asked_by_its_queue_pairs_only);
	add_case(suite, "the neighbour's port has agents of its own", set_up_own_there);
	add_case(suite, "the manager's port has agents of its own", set_up_own_here);
	return test_run(suite);
}
