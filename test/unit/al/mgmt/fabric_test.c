/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A subnet manager on an HCA of a simulated subnet with two switches: directed routes through the
 * switches, tables that the manager sets, and traps of a switch. The agents of each node are the
 * Access Layer's, or the node's own.
 *
 *     HCA 0 -- [1] switch 0 [2] -- [1] switch 1 [2] -- HCA 1
 *                    [3] -- HCA 2
 */
#include <iba/ib_soft.h>
#include <unistd.h>

#include "test/unit/al/mgmt/mad_bed.h"
#include "test/unit/al/subnet_text.h"

#define SWITCH_0 0x1000u
#define SWITCH_1 0x2000u
#define HCA_0    0x3000u
#define HCA_1    0x4000u
#define HCA_2    0x5000u

static const char text[] =
	"switchguid=0x1000(1000)\n"
	"Switch 3 \"S-0000000000001000\" # \"zero\" enhanced port 0 lid 0 lmc 0\n"
	"[1] \"H-0000000000003000\"[1](3001)\n"
	"[2] \"S-0000000000002000\"[1]\n"
	"[3] \"H-0000000000005000\"[1](5001)\n"
	"\n"
	"switchguid=0x2000(2000)\n"
	"Switch 2 \"S-0000000000002000\" # \"one\" base port 0 lid 0 lmc 0\n"
	"[1] \"S-0000000000001000\"[2]\n"
	"[2] \"H-0000000000004000\"[1](4001)\n"
	"\n"
	"caguid=0x3000\n"
	"Ca 1 \"H-0000000000003000\" # \"first\"\n"
	"[1](3001) \"S-0000000000001000\"[1]\n"
	"\n"
	"caguid=0x4000\n"
	"Ca 1 \"H-0000000000004000\" # \"second\"\n"
	"[1](4001) \"S-0000000000002000\"[2]\n"
	"\n"
	"caguid=0x5000\n"
	"Ca 1 \"H-0000000000005000\" # \"third\"\n"
	"[1](5001) \"S-0000000000001000\"[3]\n";

static al_h al;
static al_ca_h ca; /* HCA 0, where the manager is */
static struct side manager, lid_routed, performance, traps;
static uint64_t next_tid = 1;

/* ------------------------------------------------------------------------- nodes */

/* A node, the way from HCA 0 to the node, its LID, and its table by LID (switches). */
static const struct node {
	uint64_t guid;
	ib_node_type type;
	uint16_t lid;
	uint8_t num_ports;
	uint8_t hops, path[4]; /* path[1] on: ports to leave by */
	uint8_t in_port;       /* port by which the packet comes in */
	uint8_t table[6];
} nodes[] = {
	{ HCA_0, IB_NODE_CA, 1, 1, 0, { 0 }, 1, { 0 } },
	{ SWITCH_0, IB_NODE_SWITCH, 4, 3, 1, { 0, 1 }, 1, { 255, 1, 2, 3, 0, 2 } },
	{ SWITCH_1, IB_NODE_SWITCH, 5, 2, 2, { 0, 1, 2 }, 1, { 255, 1, 2, 1, 1, 0 } },
	{ HCA_1, IB_NODE_CA, 2, 1, 3, { 0, 1, 2, 2 }, 1, { 0 } },
	{ HCA_2, IB_NODE_CA, 3, 1, 2, { 0, 1, 3 }, 1, { 0 } },
};
#define NODES (sizeof(nodes) / sizeof(*nodes))

/* ---------------------------------------------------------------------- requests */

static void set_up_with(const char *agents)
{
	char file[] = "/tmp/ibal-subnet-XXXXXX";

	subnet_set(text, agents, file);
	al = test_open();
	unlink(file);
	ca = test_open_ca(al, HCA_0);
	side_serve(&manager, ca, IB_CLASS_SUBN_DIR, 0);
	side_serve(&lid_routed, ca, IB_CLASS_SUBN_LID, 0);
	side_serve(&traps, ca, IB_CLASS_SUBN_LID, 1 << IB_METHOD_TRAP);
	side_serve(&performance, ca, IB_CLASS_PERF, 0);
}

static void set_up(void)
{
	set_up_with("");
}

static void set_up_own(void)
{
	set_up_with("agents=hardware");
}

static void set_up_own_switches(void)
{
	set_up_with("agents=hardware [hca 0] agents=al [hca 1] agents=al [hca 2] agents=al");
}

static void tear_down(void)
{
	al_set_log(test_ignore_log, NULL);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	unsetenv("IBAL_SOFT");
}

static struct ib_smp smp_to(const struct node *n, uint8_t method, uint16_t attr_id,
			    uint32_t attr_mod)
{
	struct ib_smp smp = { .base_version = IB_MAD_BASE_VERSION,
			      .mgmt_class = IB_CLASS_SUBN_DIR,
			      .class_version = IB_SMP_CLASS_VERSION,
			      .method = method,
			      .hop_count = n->hops,
			      .tid = ib_be64_of(next_tid++),
			      .attr_id = ib_be16_of(attr_id),
			      .attr_mod = ib_be32_of(attr_mod),
			      .dr_slid = ib_be16_of(IB_LID_PERMISSIVE),
			      .dr_dlid = ib_be16_of(IB_LID_PERMISSIVE) };

	memcpy(smp.initial_path, n->path, sizeof(n->path));
	return smp;
}

static void ask_by(struct side *s, const void *request, uint16_t dlid, void *answer)
{
	struct al_mad_send send = send_of(request, dlid, LONG_MS, 0);

	ck_ok(al_send_mad(s->svc, &send));
	memcpy(answer, &s->got[side_next(s, AL_MAD_ANSWERED, AL_SUCCESS)].mad, IB_MAD_BYTES);
}

/* Asks a node on its directed route, and expects an answer without error. */
static struct ib_smp ask(const struct node *n, uint8_t method, uint16_t attr_id, uint32_t attr_mod,
			 const void *data, size_t size)
{
	struct ib_smp smp = smp_to(n, method, attr_id, attr_mod), answer;

	if (size)
		memcpy(smp.data, data, size);
	ask_by(&manager, &smp, IB_LID_PERMISSIVE, &answer);
	ck_assert_uint_eq(ib_be16_get(answer.status), IB_SMP_DIRECTION);
	return answer;
}

static struct ib_port_info port_info(const struct node *n, uint8_t port)
{
	struct ib_smp answer = ask(n, IB_METHOD_GET, IB_SMP_PORT_INFO, port, NULL, 0);
	struct ib_port_info info;

	memcpy(&info, answer.data, sizeof(info));
	return info;
}

static void set_port(const struct node *n, uint8_t port, ib_port_state state)
{
	struct ib_port_info info = port_info(n, port);

	if (n->type != IB_NODE_SWITCH || !port) {
		info.lid = ib_be16_of(n->lid);
		info.master_sm_lid = ib_be16_of(1);
		ib_port_info_set_subnet_timeout(&info, 1);
	}
	ib_port_info_set_port_state(&info, state);
	ib_port_info_set_phys_state(&info, IB_PHYS_NOP);
	ask(n, IB_METHOD_SET, IB_SMP_PORT_INFO, port, &info, sizeof(info));
}

static void set_table(const struct node *n)
{
	struct ib_smp answer = ask(n, IB_METHOD_GET, IB_SMP_SWITCH_INFO, 0, NULL, 0);
	struct ib_switch_info info;
	uint8_t block[64];

	memcpy(&info, answer.data, sizeof(info));
	info.linear_fdb_top = ib_be16_of(sizeof(n->table) - 1);
	ib_switch_info_set_state_change(&info, 1);
	ask(n, IB_METHOD_SET, IB_SMP_SWITCH_INFO, 0, &info, sizeof(info));
	memset(block, 255, sizeof(block));
	memcpy(block, n->table, sizeof(n->table));
	ask(n, IB_METHOD_SET, IB_SMP_LFT, 0, block, sizeof(block));
}

/* Makes the subnet Active, as a subnet manager does. */
static void bring_up(void)
{
	static const ib_port_state steps[] = { IB_PORT_NOP, IB_PORT_ARMED, IB_PORT_ACTIVE };
	const struct node *n;
	uint8_t port;

	for (size_t step = 0; step < sizeof(steps) / sizeof(*steps); step++)
		for (n = nodes; n < nodes + NODES; n++)
			for (port = 1; port <= n->num_ports; port++)
				set_port(n, port, steps[step]);
	for (n = nodes; n < nodes + NODES; n++) {
		if (n->type != IB_NODE_SWITCH)
			continue;
		set_port(n, 0, IB_PORT_NOP);
		set_table(n);
	}
}

/* ------------------------------------------------------------------------- tests */

/* _i: node */
START_TEST(directed_routes_lead_through_switches)
{
	const struct node *n = &nodes[_i];
	struct ib_smp answer = ask(n, IB_METHOD_GET, IB_SMP_NODE_INFO, 0, NULL, 0);
	struct ib_node_info info;

	memcpy(&info, answer.data, sizeof(info));
	ck_assert_uint_eq(info.node_type, n->type);
	ck_assert_uint_eq(info.num_ports, n->num_ports);
	ck_assert_uint_eq(ib_be64_get(info.node_guid), n->guid);
	ck_assert_uint_eq(info.local_port_num, n->in_port);
	/* the port GUID of a switch is port 0's */
	ck_assert_uint_eq(ib_be64_get(info.port_guid),
			  n->guid + (n->type == IB_NODE_SWITCH ? 0 : 1));
}
END_TEST

START_TEST(a_manager_brings_a_subnet_with_switches_up)
{
	struct ib_smp smp, answer;
	struct ib_node_info info;
	const struct node *n;

	bring_up();
	for (n = nodes; n < nodes + NODES; n++) {
		for (uint8_t port = n->type == IB_NODE_SWITCH ? 0 : 1; port <= n->num_ports;
		     port++) {
			struct ib_port_info found = port_info(n, port);

			ck_assert_uint_eq(ib_port_info_port_state(&found), IB_PORT_ACTIVE);
		}
		/* by LID, to HCAs and to port 0 of switches */
		smp = smp_to(n, IB_METHOD_GET, IB_SMP_NODE_INFO, 0);
		smp.mgmt_class = IB_CLASS_SUBN_LID;
		smp.hop_count = 0;
		memset(smp.initial_path, 0, sizeof(smp.initial_path));
		ask_by(&lid_routed, &smp, n->lid, &answer);
		memcpy(&info, answer.data, sizeof(info));
		ck_assert_uint_eq(ib_be64_get(info.node_guid), n->guid);
	}
}
END_TEST

/* PortRcvPkts of the port by which the requests come in */
START_TEST(counters_of_a_switch_are_read_on_queue_pair_1_of_port_0)
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
	ask_by(&performance, &request, 5, &answer); /* switch 1 */
	ck_assert_uint_eq(ib_be16_get(answer.hdr.status), IB_MAD_STATUS_OK);
	memcpy(&first, answer.data, sizeof(first));
	ask_by(&performance, &request, 5, &answer);
	memcpy(&second, answer.data, sizeof(second));
	ck_assert_uint_eq(ib_be32_get(second.rcv_packets), ib_be32_get(first.rcv_packets) + 1);
	ck_assert_uint_eq(ib_be32_get(second.xmit_packets), ib_be32_get(first.xmit_packets) + 1);
}
END_TEST

START_TEST(a_switch_reports_a_pulled_cable_to_the_manager)
{
	const uint32_t port = 2;
	struct ib_port_info info;
	struct ib_notice notice = { 0 };
	struct ib_smp trap;
	al_ca_h sw;

	bring_up();
	ck_ok(al_open_ca(al, SWITCH_1, NULL, &sw));
	ck_ok(al_vendor_call(sw, SOFT_PORT_DOWN, &port, sizeof(port), NULL,
			     NULL)); /* the cable of HCA 1 */
	memcpy(&trap, &traps.got[side_next(&traps, AL_MAD_RECEIVED, AL_SUCCESS)].mad, sizeof(trap));
	memcpy(&notice, trap.data, sizeof(trap.data));
	ck_assert_uint_eq(ib_be16_get(notice.trap_num), IB_TRAP_LINK_STATE);
	ck_assert_uint_eq(ib_be16_get(notice.issuer_lid), 5);
	ck_assert_uint_eq(ib_be16_get(notice.details.link_state.lid), 5);
	info = port_info(&nodes[2], 2);
	ck_assert_uint_eq(ib_port_info_port_state(&info), IB_PORT_DOWN);
	ck_ok(al_close_ca(sw, AL_DESTROY_SYNC, NULL));
}
END_TEST

/* Lets the cable from switch 0 to switch 1 damage one packet, which is one too many. */
static void damage_a_packet(al_ca_h sw)
{
	const struct soft_fault rule = {
		.action = SOFT_FAULT_CORRUPT, .port = 2, .n = 1, .count = 1
	};
	struct ib_port_info info = port_info(&nodes[2], 1);
	struct ib_smp request;
	struct al_mad_send send;

	ib_port_info_set_local_phy_errors(&info, 0);
	ib_port_info_set_port_state(&info, IB_PORT_NOP);
	ib_port_info_set_phys_state(&info, IB_PHYS_NOP);
	ask(&nodes[2], IB_METHOD_SET, IB_SMP_PORT_INFO, 1, &info, sizeof(info));
	ck_ok(al_vendor_call(sw, SOFT_FAULT_ADD, &rule, sizeof(rule), NULL, NULL));
	request = smp_to(&nodes[2], IB_METHOD_GET, IB_SMP_NODE_INFO, 0);
	send = send_of((void *)&request, IB_LID_PERMISSIVE, 1, 0);
	ck_ok(al_send_mad(manager.svc, &send));
	side_next(&manager, AL_MAD_FAILED, AL_TIMEOUT);
}

START_TEST(a_switch_reports_errors_of_its_link_to_the_manager)
{
	struct ib_notice notice = { 0 };
	struct ib_smp trap;
	al_ca_h sw;

	bring_up();
	ck_ok(al_open_ca(al, SWITCH_0, NULL, &sw));
	damage_a_packet(sw);
	memcpy(&trap, &traps.got[side_next(&traps, AL_MAD_RECEIVED, AL_SUCCESS)].mad, sizeof(trap));
	memcpy(&notice, trap.data, sizeof(trap.data));
	ck_assert_uint_eq(ib_be16_get(notice.trap_num), IB_TRAP_LINK_INTEGRITY);
	ck_assert_uint_eq(ib_be16_get(notice.issuer_lid), 5);
	ck_assert_uint_eq(ib_be16_get(notice.details.port.lid), 5);
	ck_assert_uint_eq(notice.details.port.port_num, 1);
	ck_ok(al_close_ca(sw, AL_DESTROY_SYNC, NULL));
}
END_TEST

/* A manager at port 0 of a switch: its way to a neighbour has one hop, and to itself none. */
START_TEST(a_manager_may_be_at_port_0_of_a_switch)
{
	static struct side at0;
	struct al_mad_svc_init init = svc_init(IB_CLASS_SUBN_DIR);
	struct ib_node_info info;
	struct node n = nodes[1];
	struct ib_smp smp, answer;
	struct al_mad_send send;
	al_ca_h sw;

	ck_ok(al_open_ca(al, SWITCH_0, NULL, &sw));
	init.port_num = 0;
	init.methods[0] = 0;
	side_init(&at0, sw);
	side_register(&at0, &init);
	for (uint8_t hops = 0; hops < 2; hops++) {
		n.hops = hops;
		n.path[1] = 3; /* HCA 2 */
		smp = smp_to(&n, IB_METHOD_GET, IB_SMP_NODE_INFO, 0);
		send = send_of((void *)&smp, IB_LID_PERMISSIVE, LONG_MS, 0);
		send.path.port_num = 0;
		ck_ok(al_send_mad(at0.svc, &send));
		memcpy(&answer, &at0.got[side_next(&at0, AL_MAD_ANSWERED, AL_SUCCESS)].mad,
		       IB_MAD_BYTES);
		memcpy(&info, answer.data, sizeof(info));
		ck_assert_uint_eq(ib_be64_get(info.node_guid), hops ? HCA_2 : SWITCH_0);
	}
	ck_ok(al_dereg_mad_svc(at0.svc, AL_DESTROY_SYNC, NULL));
	ck_ok(al_close_ca(sw, AL_DESTROY_SYNC, NULL));
}
END_TEST

/* Adds the tests with one choice of agents. */
static void add_case(Suite *s, const char *name, void (*up)(void))
{
	TCase *t = tcase_create(name);

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, up, tear_down);
	tcase_add_loop_test(t, directed_routes_lead_through_switches, 0, NODES);
	tcase_add_test(t, a_manager_brings_a_subnet_with_switches_up);
	tcase_add_test(t, counters_of_a_switch_are_read_on_queue_pair_1_of_port_0);
	tcase_add_test(t, a_switch_reports_a_pulled_cable_to_the_manager);
	tcase_add_test(t, a_switch_reports_errors_of_its_link_to_the_manager);
	tcase_add_test(t, a_manager_may_be_at_port_0_of_a_switch);
	suite_add_tcase(s, t);
}

int main(void)
{
	Suite *s = suite_create("mgmt: a subnet with switches");

	add_case(s, "agents in the Access Layer", set_up);
	add_case(s, "agents of the nodes' own", set_up_own);
	add_case(s, "switches with agents of their own", set_up_own_switches);
	return test_run(s);
}
