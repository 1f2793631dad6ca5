/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A managed subnet of the software HCA, brought up by a small subnet manager over the library's own
 * API: it discovers nodes by directed routes, gives LIDs, sets forwarding tables and port states.
 * Then datagrams go from every HCA to every other one. A pulled cable is found by its port state
 * and routed around. The agents of the nodes are the Access Layer's, the nodes' own, or mixed.
 */
#include <stdio.h>
#include <unistd.h>

#include <iba/ib_mad.h>
#include <iba/ib_soft.h>

#include "test/unit/al/mgmt/mad_bed.h"

#define MAX_NODES 256
#define MAX_PORTS 37
#define MAX_LID   320
#define QKEY      0x1ee7u
#define SEND_AT   0
#define RECV_AT   1024

static al_h al;
static al_mad_svc_h svc;
static struct ib_smp answer;
static sem_t answered;
static al_status outcome;
static uint64_t next_tid = 1;

/* --------------------------------------------------------------------- topologies */

static char path[] = "/tmp/ibal-sweep-XXXXXX";

/*
 * Writes a tree of leaf switches with `down` HCAs each, and a cable from each leaf to each of
 * `spines` other switches. No spines: one leaf. The text is ibnetdiscover's.
 */
static void write_tree(unsigned int leaves, unsigned int spines, unsigned int down)
{
	FILE *file;
	int fd;

	memcpy(path + sizeof(path) - 7, "XXXXXX", 6);
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	file = fdopen(fd, "w");
	for (unsigned int leaf = 0; leaf < leaves; leaf++) {
		fprintf(file, "switchguid=0x%x\nSwitch\t%u \"S-%016x\"\n", 0x1000 + leaf,
			down + spines, 0x1000 + leaf);
		for (unsigned int i = 0; i < down; i++)
			fprintf(file, "[%u]\t\"H-%016x\"[1]\n", i + 1,
				0x10000 + leaf * 0x100 + i * 16);
		for (unsigned int s = 0; s < spines; s++)
			fprintf(file, "[%u]\t\"S-%016x\"[%u]\n", down + s + 1, 0x2000 + s,
				leaf + 1);
		fputc('\n', file);
	}
	for (unsigned int s = 0; s < spines; s++) {
		fprintf(file, "switchguid=0x%x\nSwitch\t%u \"S-%016x\"\n", 0x2000 + s, leaves,
			0x2000 + s);
		for (unsigned int leaf = 0; leaf < leaves; leaf++)
			fprintf(file, "[%u]\t\"S-%016x\"[%u]\n", leaf + 1, 0x1000 + leaf,
				down + s + 1);
		fputc('\n', file);
	}
	for (unsigned int leaf = 0; leaf < leaves; leaf++)
		for (unsigned int i = 0; i < down; i++)
			fprintf(file, "caguid=0x%x\nCa\t1 \"H-%016x\"\n[1]\t\"S-%016x\"[%u]\n\n",
				0x10000 + leaf * 0x100 + i * 16, 0x10000 + leaf * 0x100 + i * 16,
				0x1000 + leaf, i + 1);
	ck_assert_int_eq(fclose(file), 0);
}

/* -------------------------------------------------------------------------- requests */

static void got(void *context, const struct al_mad_event *event)
{
	(void)context;
	outcome = event->status;
	if (event->mad)
		memcpy(&answer, event->mad, sizeof(answer));
	sem_post(&answered);
}

/* Where a node is: the ports of a directed route. */
struct way {
	uint8_t hops, port[64];
};

/* Asks a node, and leaves its answer in `answer`. */
static void ask(const struct way *way, uint8_t method, uint16_t attr_id, uint32_t attr_mod,
		const void *data)
{
	struct ib_smp smp = { .base_version = IB_MAD_BASE_VERSION,
			      .mgmt_class = IB_CLASS_SUBN_DIR,
			      .class_version = IB_SMP_CLASS_VERSION,
			      .method = method,
			      .hop_count = way->hops,
			      .tid = ib_be64_of(next_tid++),
			      .attr_id = ib_be16_of(attr_id),
			      .attr_mod = ib_be32_of(attr_mod),
			      .dr_slid = ib_be16_of(IB_LID_PERMISSIVE),
			      .dr_dlid = ib_be16_of(IB_LID_PERMISSIVE) };
	struct al_mad_send send = send_of((void *)&smp, IB_LID_PERMISSIVE, LONG_MS, 0);

	memcpy(smp.initial_path, way->port, sizeof(smp.initial_path));
	if (data)
		memcpy(smp.data, data, sizeof(smp.data));
	ck_ok(al_send_mad(svc, &send));
	test_wait(&answered);
	ck_ok(outcome);
	ck_assert_msg(ib_be16_get(answer.status) == IB_SMP_DIRECTION,
		      "method %u of attribute %#x, %u, after %u hops: status %#x", method, attr_id,
		      attr_mod, way->hops, ib_be16_get(answer.status));
}

static struct ib_port_info port_info(const struct way *way, uint32_t port)
{
	struct ib_port_info info;

	ask(way, IB_METHOD_GET, IB_SMP_PORT_INFO, port, NULL);
	memcpy(&info, answer.data, sizeof(info));
	return info;
}

/* Sets a port's state, and with lid also its LID. */
static void set_port(const struct way *way, uint32_t port, uint16_t lid, ib_port_state state)
{
	struct ib_port_info info = port_info(way, port);
	uint8_t data[IB_SMP_DATA_BYTES] = { 0 };

	if (lid) {
		info.lid = ib_be16_of(lid);
		info.master_sm_lid = ib_be16_of(1);
	}
	ib_port_info_set_port_state(&info, state);
	ib_port_info_set_phys_state(&info, IB_PHYS_NOP);
	memcpy(data, &info, sizeof(info));
	ask(way, IB_METHOD_SET, IB_SMP_PORT_INFO, port, data);
}

/* ------------------------------------------------------------------------- discovery */

/* A node of the subnet. */
struct node {
	uint64_t guid;
	struct way way;
	bool is_switch;
	uint8_t num_ports, in_port;
	uint16_t lid;
	int peer[MAX_PORTS]; /* index of the node at the other end of the cable; -1: none */
};

static struct node nodes[MAX_NODES];
static int num_nodes;

static int add_node(const struct way *way)
{
	struct ib_node_info info;
	struct node *node;
	uint64_t guid;

	ask(way, IB_METHOD_GET, IB_SMP_NODE_INFO, 0, NULL);
	memcpy(&info, answer.data, sizeof(info));
	guid = ib_be64_get(info.node_guid);
	for (int i = 0; i < num_nodes; i++)
		if (nodes[i].guid == guid)
			return i;
	ck_assert_int_lt(num_nodes, MAX_NODES);
	ck_assert_uint_lt(info.num_ports, MAX_PORTS);
	node = &nodes[num_nodes];
	*node = (struct node){ .guid = guid,
			       .way = *way,
			       .is_switch = info.node_type == IB_NODE_SWITCH,
			       .num_ports = info.num_ports,
			       .in_port = info.local_port_num,
			       .lid = (uint16_t)(num_nodes + 1) };
	for (int i = 0; i < MAX_PORTS; i++)
		node->peer[i] = -1;
	return num_nodes++;
}

/* Looks behind all ports of a node whose link is up. */
static void look_around(int at)
{
	struct node *node = &nodes[at];

	if (!node->is_switch && at) /* an HCA passes nothing on, except what is its own */
		return;
	for (uint8_t port = 1; port <= node->num_ports; port++) {
		struct ib_port_info info = port_info(&node->way, port);
		struct way way = node->way;

		node->peer[port] = -1;
		if (ib_port_info_port_state(&info) == IB_PORT_DOWN)
			continue;
		way.port[++way.hops] = port;
		node->peer[port] = add_node(&way);
	}
}

static void discover(void)
{
	static const struct way here;

	num_nodes = 0;
	add_node(&here);
	for (int i = 0; i < num_nodes; i++)
		look_around(i);
}

/* ------------------------------------------------------------------------------ routes */

/* Sets in table[switch][lid] the port by which each switch reaches a node, on shortest paths. */
static void route_to(int dest, uint8_t (*table)[MAX_LID])
{
	int queue[MAX_NODES], first = 0, last = 0;
	bool seen[MAX_NODES] = { false };

	queue[last++] = dest;
	seen[dest] = true;
	if (nodes[dest].is_switch)
		table[dest][nodes[dest].lid] = 0;
	while (first < last) {
		int at = queue[first++];

		for (int i = 0; i < num_nodes; i++) {
			if (seen[i] || !nodes[i].is_switch)
				continue;
			for (uint8_t port = 1; port <= nodes[i].num_ports && !seen[i]; port++) {
				/* different destinations use different cables */
				uint8_t turned = (uint8_t)((port + dest) % nodes[i].num_ports + 1);

				if (nodes[i].peer[turned] != at)
					continue;
				table[i][nodes[dest].lid] = turned;
				seen[i] = true;
				queue[last++] = i;
			}
		}
	}
}

static void set_tables(void)
{
	static uint8_t table[MAX_NODES][MAX_LID];

	memset(table, 0xff, sizeof(table));
	for (int i = 0; i < num_nodes; i++)
		route_to(i, table);
	for (int i = 0; i < num_nodes; i++) {
		uint8_t data[IB_SMP_DATA_BYTES] = { 0 };
		struct ib_switch_info info;

		if (!nodes[i].is_switch)
			continue;
		ask(&nodes[i].way, IB_METHOD_GET, IB_SMP_SWITCH_INFO, 0, NULL);
		memcpy(&info, answer.data, sizeof(info));
		info.linear_fdb_top = ib_be16_of((uint16_t)num_nodes);
		ib_switch_info_set_state_change(&info, 1);
		memcpy(data, &info, sizeof(info));
		ask(&nodes[i].way, IB_METHOD_SET, IB_SMP_SWITCH_INFO, 0, data);
		for (uint32_t block = 0; block * IB_SMP_DATA_BYTES <= (uint32_t)num_nodes; block++)
			ask(&nodes[i].way, IB_METHOD_SET, IB_SMP_LFT, block,
			    table[i] + (size_t)block * IB_SMP_DATA_BYTES);
	}
}

static void set_states(ib_port_state from, ib_port_state to)
{
	for (int i = 0; i < num_nodes; i++)
		for (uint8_t port = 1; port <= nodes[i].num_ports; port++) {
			struct ib_port_info info = port_info(&nodes[i].way, port);

			if (ib_port_info_port_state(&info) == from)
				set_port(&nodes[i].way, port, 0, to);
		}
}

static void bring_up(void)
{
	discover();
	for (int i = 0; i < num_nodes; i++)
		set_port(&nodes[i].way, nodes[i].is_switch ? 0 : nodes[i].in_port, nodes[i].lid,
			 IB_PORT_NOP);
	set_tables();
	set_states(IB_PORT_INIT, IB_PORT_ARMED);
	set_states(IB_PORT_ARMED, IB_PORT_ACTIVE);
}

/* -------------------------------------------------------------------------------- data */

static struct test_end ends[MAX_NODES];
static unsigned int num_ends;

static void make_ends(void)
{
	struct ib_qp_attr attr = { .port_num = 1, .qkey = QKEY };
	uint64_t guids[MAX_NODES];
	size_t num = MAX_NODES;

	ck_ok(al_get_ca_guids(al, guids, &num));
	num_ends = (unsigned int)num;
	for (unsigned int i = 0; i < num_ends; i++) {
		test_make_end(&ends[i], al, guids[i], IB_QPT_UD);
		ck_ok(test_modify(ends[i].qp, IB_QPS_INIT, attr,
				  IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY));
		ck_ok(test_modify(ends[i].qp, IB_QPS_RTR, attr, IB_QP_STATE));
		ck_ok(test_modify(ends[i].qp, IB_QPS_RTS, attr, IB_QP_STATE | IB_QP_SQ_PSN));
	}
}

/* Sends a datagram that names both ends, and looks at what arrives. */
static void send_between(struct test_end *from, struct test_end *to, uint64_t what)
{
	struct ib_ah_attr attr = { .port_num = 1 };
	struct ib_sge sge = { .addr = (uintptr_t)from->mem + SEND_AT,
			      .length = sizeof(what),
			      .lkey = from->lkey };
	struct ib_send_wr wr = { .opcode = IB_WR_SEND, .sg_list = &sge, .num_sge = 1 };
	const struct ib_send_wr *bad;
	struct ib_port_attr port;
	struct ib_wc wc;
	al_ah_h ah;

	ck_ok(al_query_port(to->ca, 1, &port));
	attr.dlid = port.lid;
	ck_ok(al_create_ah(from->pd, &attr, &ah));
	ck_ok(test_post_recv(to, 1, RECV_AT, IB_GRH_BYTES + sizeof(what)));
	memcpy(from->mem + SEND_AT, &what, sizeof(what));
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = to->qpn;
	wr.wr.ud.remote_qkey = QKEY;
	wr.send_flags = IB_SEND_SIGNALED;
	ck_ok(al_post_send(from->qp, &wr, &bad));
	ck_assert_int_eq(test_poll(from->cq).status, IB_WC_SUCCESS);
	wc = test_poll(to->cq);
	ck_assert_int_eq(wc.status, IB_WC_SUCCESS);
	ck_assert_uint_eq(wc.byte_len, IB_GRH_BYTES + sizeof(what));
	ck_assert_mem_eq(to->mem + RECV_AT + IB_GRH_BYTES, &what, sizeof(what));
	ck_ok(al_destroy_ah(ah, NULL, NULL));
}

/* From every step-th HCA to every other one. */
static void send_everywhere(unsigned int step)
{
	for (unsigned int i = 0; i < num_ends; i += step)
		for (unsigned int j = 0; j < num_ends; j++)
			if (i != j)
				send_between(&ends[i], &ends[j], (uint64_t)i << 32 | j);
}

/* --------------------------------------------------------------------------------- tests */

/* Which agents the nodes have: a test's loop index. */
static const char *const agents[] = {
	"", /* the Access Layer's */
	"agents=hardware",
	"agents=hardware [hca 0] agents=al [hca 2] agents=al",
	"agents=al [hca 0] agents=hardware [hca 1] agents=hardware",
};
#define AGENTS ((int)(sizeof(agents) / sizeof(*agents)))

static void start(const char *own, unsigned int leaves, unsigned int spines, unsigned int down)
{
	struct al_mad_svc_init init = svc_init(IB_CLASS_SUBN_DIR);
	char settings[160];
	uint64_t guids[MAX_NODES];
	size_t num = MAX_NODES;

	write_tree(leaves, spines, down);
	snprintf(settings, sizeof(settings), "subnet=managed topology=%s %s", path, own);
	setenv("IBAL_SOFT", settings, 1);
	al = test_open();
	unlink(path);
	unsetenv("IBAL_SOFT");
	ck_ok(al_get_ca_guids(al, guids, &num));
	ck_assert_uint_eq(num, leaves * down);
	sem_init(&answered, 0, 0);
	memset(init.methods, 0, sizeof(init.methods));
	ck_ok(al_reg_mad_svc(test_open_ca(al, guids[0]), &init, NULL, got, &svc));
}

static void finish(void)
{
	al_set_log(test_ignore_log, NULL);
	for (unsigned int i = 0; i < num_ends; i++)
		test_free_end(&ends[i]);
	num_ends = 0;
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

START_TEST(four_hcas_at_a_switch_reach_each_other)
{
	start(agents[_i], 1, 0, 4);
	bring_up();
	ck_assert_int_eq(num_nodes, 5);
	make_ends();
	send_everywhere(1);
	finish();
}
END_TEST

START_TEST(a_tree_of_two_levels_is_discovered_and_routed)
{
	start(agents[_i], 3, 2, 4);
	bring_up();
	ck_assert_int_eq(num_nodes, 17);
	make_ends();
	send_everywhere(1);
	finish();
}
END_TEST

/* Pulls or plugs a cable at a switch, and lets the manager sweep again. */
static void sweep_after(uint32_t call, uint64_t guid, uint32_t port)
{
	al_ca_h sw = test_open_ca(al, guid);
	uint32_t none = 0;

	ck_ok(al_vendor_call(sw, call, &port, sizeof(port), NULL, &none));
	ck_ok(al_close_ca(sw, AL_DESTROY_SYNC, NULL));
	bring_up();
}

/* The first leaf has the cable to the first spine at port 5. */
START_TEST(a_pulled_cable_is_routed_around_and_used_again_when_it_is_back)
{
	start(agents[_i], 3, 2, 4);
	bring_up();
	make_ends();
	sweep_after(SOFT_PORT_DOWN, 0x1000, 5);
	ck_assert_int_eq(num_nodes, 17);
	send_everywhere(1);
	sweep_after(SOFT_PORT_UP, 0x1000, 5);
	ck_assert_int_eq(num_nodes, 17);
	send_everywhere(1);
	finish();
}
END_TEST

/* Returns the number of this process's threads. */
static unsigned int count_threads(void)
{
	char line[128];
	unsigned int threads = 0;
	FILE *status = fopen("/proc/self/status", "re");

	ck_assert_ptr_nonnull(status);
	while (!threads && fgets(line, sizeof(line), status))
		sscanf(line, "Threads: %u", &threads);
	fclose(status);
	return threads;
}

START_TEST(a_cluster_of_36_switches_and_216_hcas_comes_up)
{
	start(agents[_i], 24, 12, 9);
	bring_up();
	ck_assert_int_eq(num_nodes, 36 + 216);
	make_ends();
	send_everywhere(27);
	ck_assert_uint_le(count_threads(), 64); /* threads do not grow with the number of HCAs */
	finish();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sweep");
	TCase *tc = tcase_create("subnet manager");

	tcase_add_loop_test(tc, four_hcas_at_a_switch_reach_each_other, 0, AGENTS);
	tcase_add_loop_test(tc, a_tree_of_two_levels_is_discovered_and_routed, 0, AGENTS);
	tcase_add_loop_test(tc, a_pulled_cable_is_routed_around_and_used_again_when_it_is_back, 0,
			    AGENTS);
	tcase_add_loop_test(tc, a_cluster_of_36_switches_and_216_hcas_comes_up, 0, 2);
	suite_add_tcase(suite, tc);
	return test_run(suite);
}
