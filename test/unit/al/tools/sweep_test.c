/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The sweep of al_query topology over a line that the test answers: subnets that are whole, and
 * nodes that lie, contradict each other, or say nothing.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "al/tools/sweep.h"

/* ------------------------------------------------------------------ a small world */

/* HCAs 1 and 2 at the switch 0x10, HCA 3 at the switch 0x20 with its second port at 0x10; two
 * cables between the switches. */
static const struct world_node {
	guint64 guid;
	guint type, ports;
	const char *name;
	struct {
		guint node, port;
	} peer[6]; /* by port; node 0: none */
} tree[] = {
	{ 0 },
	{ 0x1, IB_NODE_CA, 1, "host 1", { { 0, 0 }, { 4, 1 } } },
	{ 0x2, IB_NODE_CA, 1, "host 2", { { 0, 0 }, { 4, 2 } } },
	{ 0x3, IB_NODE_CA, 2, "host 3", { { 0, 0 }, { 5, 1 }, { 4, 3 } } },
	{ 0x10,
	  IB_NODE_SWITCH,
	  5,
	  "leaf 1",
	  { { 0, 0 }, { 1, 1 }, { 2, 1 }, { 3, 2 }, { 5, 4 }, { 5, 5 } } },
	{ 0x20,
	  IB_NODE_SWITCH,
	  5,
	  "leaf 2",
	  { { 0, 0 }, { 3, 1 }, { 0, 0 }, { 0, 0 }, { 4, 4 }, { 4, 5 } } },
};

struct world {
	GQueue answers; /* struct sweep_answer */
	guint under_way, most, sent;
	gboolean is_set_up;    /* LIDs, and Active ports */
	gboolean stands_still; /* no answer comes, nor a time-out */
	void (*twist)(struct world *w, struct sweep_answer *answer, guint node);
	guint32 random;
	guint64 m_key;                           /* all nodes drop what has another */
	guint resets[G_N_ELEMENTS(tree)][6];     /* of PortCounters, by node and port */
	guint ext_resets[G_N_ELEMENTS(tree)][6]; /* of PortCountersExtended */
};

/* Where a directed route ends. *in: the port by which it comes in. 0: at no node */
static guint walk(const struct ib_smp *smp, guint *in)
{
	guint at = 1;

	*in = 1;
	for (guint hop = 1; hop <= smp->hop_count; hop++) {
		guint out = smp->initial_path[hop];

		if (!at || !out || out > tree[at].ports)
			return 0;
		*in = tree[at].peer[out].port;
		at = tree[at].peer[out].node;
	}
	return at;
}

static guint lid_of(guint node)
{
	return 100 + node;
}

static void node_info(const struct world *w, guint node, guint in, void *data)
{
	struct ib_node_info info = {
		.node_type = (guint8)tree[node].type,
		.num_ports = (guint8)tree[node].ports,
		.sys_image_guid = ib_be64_of(tree[node].guid),
		.node_guid = ib_be64_of(tree[node].guid),
		.port_guid =
			ib_be64_of(tree[node].type == IB_NODE_SWITCH ? tree[node].guid
								     : tree[node].guid * 256 + in),
		.local_port_num = (guint8)in,
		.vendor_id = ib_be24_of(0x2c9),
		.device_id = ib_be16_of(0x1011),
	};

	(void)w;
	memcpy(data, &info, sizeof(info));
}

static void port_info(const struct world *w, guint node, guint port, void *data)
{
	struct ib_port_info info = { .lid = ib_be16_of((guint16)(w->is_set_up ? lid_of(node) : 0)),
				     .link_width_active = IB_WIDTH_4X };
	gboolean joined = !port || tree[node].peer[port].node;

	ib_port_info_set_port_state(&info, !joined        ? IB_PORT_DOWN
					   : w->is_set_up ? IB_PORT_ACTIVE
							  : IB_PORT_INIT);
	ib_port_info_set_phys_state(&info, joined ? IB_PHYS_LINK_UP : IB_PHYS_POLLING);
	ib_port_info_set_link_speed_active(&info, IB_SPEED_QDR);
	ib_port_info_set_link_speed_ext_active(&info, 2);
	ib_port_info_set_neighbor_mtu(&info, IB_MTU_4096);
	memcpy(data, &info, sizeof(info));
}

/* Answers a subnet management packet. Returns the node that answers. */
static guint answer_smp(const struct world *w, struct ib_smp *smp)
{
	guint in, node = walk(smp, &in), port = ib_be32_get(smp->attr_mod);

	if (!node || ib_be64_get(smp->mkey) != w->m_key)
		return 0;
	smp->method = IB_METHOD_GET_RESP;
	smp->status = ib_be16_of(IB_SMP_DIRECTION);
	switch (ib_be16_get(smp->attr_id)) {
	case IB_SMP_NODE_INFO:
		node_info(w, node, in, smp->data);
		break;
	case IB_SMP_NODE_DESC:
		memcpy(smp->data, tree[node].name, strlen(tree[node].name));
		break;
	case IB_SMP_PORT_INFO:
		if (port > tree[node].ports)
			smp->status = ib_be16_of(IB_SMP_DIRECTION | IB_MAD_STATUS_BAD_FIELD);
		else
			port_info(w, node, port || tree[node].type == IB_NODE_SWITCH ? port : in,
				  smp->data);
		break;
	case IB_SMP_SWITCH_INFO:
		ib_switch_info_set_enhanced_port0((void *)smp->data, tree[node].guid == 0x20);
		break;
	default:
		return 0;
	}
	return node;
}

/* Takes a reset of the error counters and PortXmitWait, and of no other counter. */
static void take_reset(struct world *w, guint node, const struct ib_perf_port_counters *counters)
{
	static const struct ib_perf_port_counters none = { .counter_select2 = 1 };

	ck_assert_uint_eq(ib_be16_get(counters->counter_select), 0x0fff);
	ck_assert_mem_eq(&counters->symbol_errors, &none.symbol_errors,
			 sizeof(none) - offsetof(struct ib_perf_port_counters, symbol_errors));
	ck_assert_uint_le(counters->port_select, tree[node].ports);
	w->resets[node][counters->port_select]++;
}

/* Takes a reset of the error counters of 64 bits, after that of the others. */
static void take_ext_reset(struct world *w, guint node,
			   const struct ib_perf_port_counters_ext *counters)
{
	static const struct ib_perf_port_counters_ext none;

	ck_assert_uint_eq(ib_be16_get(counters->counter_select), 0);
	ck_assert_uint_eq(ib_be32_get(counters->counter_select2), 0x1fff);
	ck_assert_mem_eq(&counters->xmit_data, &none.xmit_data,
			 sizeof(none) - offsetof(struct ib_perf_port_counters_ext, xmit_data));
	ck_assert_uint_le(counters->port_select, tree[node].ports);
	ck_assert_uint_gt(w->resets[node][counters->port_select],
			  w->ext_resets[node][counters->port_select]);
	w->ext_resets[node][counters->port_select]++;
}

/* Answers a request for counters: port 2 of a switch has symbol errors. */
static guint answer_perf(struct world *w, struct ib_perf_mad *mad, guint dlid)
{
	struct ib_perf_port_counters *counters = (void *)mad->data;
	gboolean is_reset = mad->hdr.method == IB_METHOD_SET;

	mad->hdr.method = IB_METHOD_GET_RESP;
	if (dlid <= 100 || dlid >= 100 + G_N_ELEMENTS(tree))
		return 0;
	if (is_reset && ib_be16_get(mad->hdr.attr_id) == IB_PERF_PORT_COUNTERS_EXT)
		take_ext_reset(w, dlid - 100, (void *)mad->data);
	else if (is_reset)
		take_reset(w, dlid - 100, counters);
	else if (tree[dlid - 100].type == IB_NODE_SWITCH && counters->port_select == 2)
		counters->symbol_errors = ib_be16_of(500);
	return dlid - 100;
}

static al_status world_send(void *context, const struct ib_mad *mad, guint16 dlid, guint64 id)
{
	struct sweep_answer *answer = g_new0(struct sweep_answer, 1);
	struct world *w = context;
	guint node;

	answer->id = id;
	answer->mad = *mad;
	if (mad->hdr.mgmt_class == IB_CLASS_PERF)
		node = answer_perf(w, (void *)&answer->mad, dlid);
	else
		node = answer_smp(w, (void *)&answer->mad);
	if (!node)
		answer->status = AL_TIMEOUT;
	else if (w->twist)
		w->twist(w, answer, node);
	g_queue_push_tail(&w->answers, answer);
	w->sent++;
	w->under_way++;
	w->most = MAX(w->most, w->under_way);
	return AL_SUCCESS;
}

static gboolean world_next(void *context, struct sweep_answer *answer, gint64 until)
{
	struct world *w = context;
	struct sweep_answer *next = w->stands_still ? NULL : g_queue_pop_head(&w->answers);

	ck_assert(until);
	if (!next)
		return FALSE;
	*answer = *next;
	g_free(next);
	w->under_way--;
	return TRUE;
}

static struct net *sweep(struct world *w, GError **err)
{
	const struct sweep_line line = { world_send, world_next, w };
	const struct sweep_options options = {
		.port = 1, .counters = w->is_set_up, .m_key = w->m_key, .seconds = 60
	};
	struct net *net;

	g_queue_init(&w->answers);
	net = sweep_subnet(&line, &options, err);
	g_queue_clear_full(&w->answers, g_free);
	return net;
}

static struct net *sweep_well(struct world *w)
{
	g_autoptr(GError) err = NULL;
	struct net *net = sweep(w, &err);

	ck_assert_msg(net != NULL, "%s", err ? err->message : "no reason");
	return net;
}

static gboolean has_problem(const struct net *net, const char *text)
{
	for (guint i = 0; i < net->problems->len; i++)
		if (strstr(g_ptr_array_index(net->problems, i), text))
			return TRUE;
	return FALSE;
}

static void ck_problem(const struct net *net, const char *text)
{
	GString *all = g_string_new(NULL);

	for (guint i = 0; i < net->problems->len; i++)
		g_string_append_printf(all, "%s\n", (char *)g_ptr_array_index(net->problems, i));
	ck_assert_msg(has_problem(net, text), "\"%s\" is not in: %s", text, all->str);
	g_string_free(all, TRUE);
}

static void ck_svg_is_xml(const struct net *net)
{
	static const GMarkupParser parser;
	GMarkupParseContext *context = g_markup_parse_context_new(&parser, 0, NULL, NULL);
	g_autofree char *svg = net_write_svg(net);
	g_autoptr(GError) err = NULL;

	ck_assert_msg(g_markup_parse_context_parse(context, svg, -1, &err) &&
			      g_markup_parse_context_end_parse(context, &err),
		      "%s", err ? err->message : "");
	g_markup_parse_context_free(context);
}

/* The text of a subnet is read again as the same subnet. */
static void ck_text_is_read(const struct net *net)
{
	g_autofree char *text = net_write_text(net, NULL);
	g_autoptr(GError) err = NULL;
	struct net *again = net_read_text("again", text, &err);
	g_autoptr(GPtrArray) changes = NULL;

	g_free(net_write_dot(net)); /* takes every name */
	ck_assert_msg(again != NULL, "%s", err ? err->message : "");
	changes = net_diff(net, again);
	ck_assert_msg(!changes->len, "%s:\n%s",
		      changes->len ? ((struct net_change *)g_ptr_array_index(changes, 0))->text
				   : "",
		      text);
	net_free(again);
}

/* -------------------------------------------------------------- subnets that are whole */

START_TEST(a_subnet_is_read_whole_in_the_words_of_ibnetdiscover)
{
	static const char expected[] =
		"#\n# Topology file: generated on today\n#\n"
		"# Initiated from node 0000000000000001 port 0000000000000101\n"
		"\nvendid=0x2c9\ndevid=0x1011\nsysimgguid=0x10\nswitchguid=0x10(10)\n"
		"Switch\t5 \"S-0000000000000010\"\t\t# \"leaf 1\" base port 0 lid 104 lmc 0\n"
		"[1]\t\"H-0000000000000001\"[1](101) \t\t# \"host 1\" lid 101 4xEDR\n"
		"[2]\t\"H-0000000000000002\"[1](201) \t\t# \"host 2\" lid 102 4xEDR\n"
		"[3]\t\"H-0000000000000003\"[2](302) \t\t# \"host 3\" lid 103 4xEDR\n"
		"[4]\t\"S-0000000000000020\"[4]\t\t# \"leaf 2\" lid 105 4xEDR\n"
		"[5]\t\"S-0000000000000020\"[5]\t\t# \"leaf 2\" lid 105 4xEDR\n"
		"\nvendid=0x2c9\ndevid=0x1011\nsysimgguid=0x20\nswitchguid=0x20(20)\n"
		"Switch\t5 \"S-0000000000000020\"\t\t# \"leaf 2\" enhanced port 0 lid 105 lmc 0\n"
		"[1]\t\"H-0000000000000003\"[1](301) \t\t# \"host 3\" lid 103 4xEDR\n"
		"[4]\t\"S-0000000000000010\"[4]\t\t# \"leaf 1\" lid 104 4xEDR\n"
		"[5]\t\"S-0000000000000010\"[5]\t\t# \"leaf 1\" lid 104 4xEDR\n"
		"\nvendid=0x2c9\ndevid=0x1011\nsysimgguid=0x1\ncaguid=0x1\n"
		"Ca\t1 \"H-0000000000000001\"\t\t# \"host 1\"\n"
		"[1](101) \t\"S-0000000000000010\"[1]\t\t# lid 101 lmc 0 \"leaf 1\" lid 104 4xEDR\n"
		"\nvendid=0x2c9\ndevid=0x1011\nsysimgguid=0x2\ncaguid=0x2\n"
		"Ca\t1 \"H-0000000000000002\"\t\t# \"host 2\"\n"
		"[1](201) \t\"S-0000000000000010\"[2]\t\t# lid 102 lmc 0 \"leaf 1\" lid 104 4xEDR\n"
		"\nvendid=0x2c9\ndevid=0x1011\nsysimgguid=0x3\ncaguid=0x3\n"
		"Ca\t2 \"H-0000000000000003\"\t\t# \"host 3\"\n"
		"[1](301) \t\"S-0000000000000020\"[1]\t\t# lid 103 lmc 0 \"leaf 2\" lid 105 4xEDR\n"
		"[2](302) \t\"S-0000000000000010\"[3]\t\t# lid 103 lmc 0 \"leaf 1\" lid 104 4xEDR\n";
	struct world w = { .is_set_up = TRUE };
	struct net *net = sweep_well(&w);
	g_autofree char *text = net_write_text(net, "today");

	ck_assert_uint_eq(net->problems->len, 0);
	ck_assert_str_eq(text, expected);
	ck_text_is_read(net);
	ck_svg_is_xml(net);
	net_free(net);
}
END_TEST

START_TEST(requests_are_under_way_together_up_to_the_window)
{
	struct world w = { 0 };
	struct net *net = sweep_well(&w);

	ck_assert_uint_gt(w.most, 8);
	ck_assert_uint_le(w.most, SWEEP_WINDOW);
	ck_assert_uint_eq(w.under_way, 0);
	net_free(net);
}
END_TEST

START_TEST(error_counters_are_read_and_marked)
{
	struct world w = { .is_set_up = TRUE };
	struct net *net = sweep_well(&w);
	const struct net_port *port = &net_find(net, 0x10)->ports[2];
	g_autofree char *svg = net_write_svg(net), *dot = net_write_dot(net);

	ck_assert(port->counted);
	ck_assert_uint_eq(port->errors[PORT_ERROR_symbol_errors], 500);
	ck_assert_uint_eq(net_find(net, 0x10)->ports[1].errors[PORT_ERROR_symbol_errors], 0);
	ck_assert_ptr_nonnull(strstr(svg, "class=\"mark\""));
	ck_assert_ptr_nonnull(strstr(svg, "leaf 1, port 2: symbol_errors 500"));
	ck_assert_ptr_nonnull(strstr(dot, "label=\"errors\""));
	net_free(net);
}
END_TEST

/* Sweeps, and then resets the counters with `twist`. */
static struct net *reset(struct world *w,
			 void (*twist)(struct world *w, struct sweep_answer *answer, guint node))
{
	const struct sweep_line line = { world_send, world_next, w };
	struct net *net;

	w->is_set_up = TRUE;
	net = sweep_well(w);
	ck_assert_uint_eq(net->problems->len, 0);
	w->most = 0;
	w->twist = twist;
	sweep_reset_counters(&line, net, 60);
	g_queue_clear_full(&w->answers, g_free);
	return net;
}

START_TEST(each_port_that_was_counted_is_reset_once_in_both_sets_of_counters)
{
	struct world w = { 0 };
	struct net *net = reset(&w, NULL);

	for (guint n = 1; n < G_N_ELEMENTS(tree); n++)
		for (guint p = 1; p <= tree[n].ports; p++) {
			ck_assert_uint_eq(w.resets[n][p],
					  1); /* of a switch those without a cable, too */
			ck_assert_uint_eq(w.ext_resets[n][p], 1);
		}
	ck_assert_uint_eq(net->problems->len, 0);
	ck_assert_uint_gt(w.most, 8);
	ck_assert_uint_le(w.most, SWEEP_WINDOW);
	net_free(net);
}
END_TEST

static void refuse(struct world *w, struct sweep_answer *answer, guint node)
{
	(void)w;
	if (node == 1)
		answer->mad.hdr.status = ib_be16_of(IB_MAD_STATUS_BAD_METHOD);
	else if (node == 2)
		answer->status = AL_TIMEOUT;
	else if (node == 3)
		answer->mad.hdr.method = IB_METHOD_SEND;
}

static gboolean is_ext(const struct sweep_answer *answer)
{
	return ib_be16_get(answer->mad.hdr.attr_id) == IB_PERF_PORT_COUNTERS_EXT;
}

static void have_no_ext(struct world *w, struct sweep_answer *answer, guint node)
{
	(void)w;
	(void)node;
	if (is_ext(answer))
		answer->mad.hdr.status = ib_be16_of(IB_MAD_STATUS_BAD_METHOD_ATTR);
}

static void refuse_ext(struct world *w, struct sweep_answer *answer, guint node)
{
	(void)w;
	if (node == 1 && is_ext(answer))
		answer->mad.hdr.status = ib_be16_of(IB_MAD_STATUS_BAD_FIELD);
}

static void have_no_counters(struct world *w, struct sweep_answer *answer, guint node)
{
	(void)w;
	if (node == 1)
		answer->mad.hdr.status = ib_be16_of(IB_MAD_STATUS_BAD_METHOD_ATTR);
}

START_TEST(a_port_may_be_without_the_set_of_64_bits_and_not_without_the_other)
{
	struct world w = { 0 };
	struct net *net = reset(&w, have_no_ext);

	ck_assert_uint_eq(net->problems->len, 0);
	net_free(net);
	w = (struct world){ 0 };
	net = reset(&w, refuse_ext);
	ck_problem(net, "host 1, port 1: its counters are not reset: refused with status 0x001c");
	ck_assert_uint_eq(net->problems->len, 1);
	net_free(net);
	w = (struct world){ 0 };
	net = reset(&w, have_no_counters);
	ck_problem(net, "host 1, port 1: its counters are not reset: refused with status 0x000c");
	ck_assert_uint_eq(w.ext_resets[1][1], 0);
	net_free(net);
}
END_TEST

static void stand_still(struct world *w, struct sweep_answer *answer, guint node)
{
	(void)answer;
	w->stands_still = node == 5;
}

START_TEST(a_port_that_is_not_reset_is_named)
{
	struct world w = { 0 };
	struct net *net = reset(&w, refuse);

	ck_problem(net, "host 1, port 1: its counters are not reset: refused with status 0x0008");
	ck_problem(net, "host 2, port 1: its counters are not reset: no answer");
	ck_problem(net, "host 3, port 2: its counters are not reset: the answer is to another");
	ck_assert_uint_eq(net->problems->len, 4);
	net_free(net);
	w = (struct world){ 0 };
	net = reset(&w, stand_still);
	ck_problem(net, "after 60 seconds the counters of 14 ports are not reset");
	net_free(net);
}
END_TEST

START_TEST(without_lids_there_are_no_counters_and_that_is_said)
{
	struct world w = { 0 };
	const struct sweep_line line = { world_send, world_next, &w };
	const struct sweep_options options = { .port = 1, .counters = TRUE, .seconds = 60 };
	struct net *net = sweep_subnet(&line, &options, NULL);

	ck_assert_uint_eq(net->nodes->len, 5);
	ck_assert_uint_eq(net->problems->len, 0);
	ck_assert_ptr_nonnull(strstr(net->no_counters, "subnet manager"));
	net_free(net);
}
END_TEST

/* ------------------------------------------------------------------ nodes that lie */

static guint twisted_node, twisted_attr, twisted_value;
static guint16 attr_of(const struct sweep_answer *answer)
{
	return ib_be16_get(answer->mad.hdr.attr_id);
}

static void *data_of(struct sweep_answer *answer)
{
	return ((struct ib_smp *)(void *)&answer->mad)->data;
}

/* What a lie changes in an answer. */
typedef void (*lie_fn)(struct sweep_answer *answer, guint value);

static void lie_type(struct sweep_answer *answer, guint value)
{
	((struct ib_node_info *)data_of(answer))->node_type = (guint8)value;
}
static void lie_ports(struct sweep_answer *answer, guint value)
{
	((struct ib_node_info *)data_of(answer))->num_ports = (guint8)value;
}
static void lie_entry(struct sweep_answer *answer, guint value)
{
	((struct ib_node_info *)data_of(answer))->local_port_num = (guint8)value;
}
static void lie_guid(struct sweep_answer *answer, guint value)
{
	((struct ib_node_info *)data_of(answer))->node_guid = ib_be64_of(value);
}
static void lie_state(struct sweep_answer *answer, guint value)
{
	ib_port_info_set_port_state(data_of(answer), value);
}
static void lie_lid(struct sweep_answer *answer, guint value)
{
	((struct ib_port_info *)data_of(answer))->lid = ib_be16_of((guint16)value);
}
static void lie_attr(struct sweep_answer *answer, guint value)
{
	answer->mad.hdr.attr_id = ib_be16_of((guint16)value);
}
static void lie_modifier(struct sweep_answer *answer, guint value)
{
	answer->mad.hdr.attr_mod = ib_be32_of(value);
}
static void lie_method(struct sweep_answer *answer, guint value)
{
	answer->mad.hdr.method = (guint8)value;
}
static void lie_status(struct sweep_answer *answer, guint value)
{
	answer->mad.hdr.status = ib_be16_of((guint16)value);
}
static void lie_silence(struct sweep_answer *answer, guint value)
{
	answer->status = (al_status)value;
}

static const struct lie {
	guint node, attr, value;
	lie_fn fn;
	guint nodes; /* that are found all the same */
	const char *problem;
} lies[] = {
	{ 2, IB_SMP_NODE_INFO, 0, lie_type, 4,
	  "behind leaf 1, port 2 (route 0,1,2): NodeInfo: a type of node that there is not" },
	{ 2, IB_SMP_NODE_INFO, 4, lie_type, 4, "a type of node that there is not" },
	{ 2, IB_SMP_NODE_INFO, 0, lie_ports, 4, "a node without ports" },
	{ 2, IB_SMP_NODE_INFO, 255, lie_ports, 4, "with more than 254" },
	{ 2, IB_SMP_NODE_INFO, 0, lie_entry, 4, "by a port that the node has not" },
	{ 2, IB_SMP_NODE_INFO, 2, lie_entry, 4, "by a port that the node has not" },
	{ 2, IB_SMP_NODE_INFO, 0, lie_guid, 4, "the GUID is 0" },
	{ 2, IB_SMP_NODE_INFO, 3, lie_guid, 4, "another node with other ports has the same GUID" },
	{ 2, IB_SMP_NODE_INFO, 1, lie_guid, 4, "two nodes may have the GUID 0x0000000000000001" },
	{ 2, IB_SMP_NODE_INFO, 0x10, lie_guid, 4,
	  "another node with other ports has the same GUID" },
	{ 2, IB_SMP_NODE_INFO, IB_SMP_NODE_DESC, lie_attr, 4, "the answer is to another question" },
	{ 2, IB_SMP_NODE_INFO, 7, lie_modifier, 4, "the answer is to another question" },
	{ 2, IB_SMP_NODE_INFO, IB_METHOD_GET, lie_method, 4, "the answer is to another question" },
	{ 2, IB_SMP_NODE_INFO, IB_SMP_DIRECTION | 0x1c, lie_status, 4,
	  "refused with status 0x001c" },
	{ 2, IB_SMP_NODE_INFO, AL_TIMEOUT, lie_silence, 4, "(route 0,1,2): NodeInfo: no answer" },
	{ 2, IB_SMP_NODE_DESC, AL_TIMEOUT, lie_silence, 5,
	  "(route 0,1,2): NodeDescription: no answer; this node is not asked" },
	{ 5, IB_SMP_PORT_INFO, 0, lie_state, 5, "a port state that there is not (0)" },
	{ 5, IB_SMP_PORT_INFO, 5, lie_state, 5, "a port state that there is not (5)" },
	{ 2, IB_SMP_PORT_INFO, 0xc000, lie_lid, 5, "0xc000 is no LID of a port" },
	{ 5, IB_SMP_PORT_INFO, 77, lie_modifier, 5,
	  "leaf 2 (route 0,1,4): PortInfo: the answer is to another question" },
	{ 5, IB_SMP_SWITCH_INFO, IB_SMP_DIRECTION | 0xc, lie_status, 5,
	  "leaf 2 (route 0,1,4): SwitchInfo: refused with status 0x000c" },
};

static lie_fn lie_now;

static void twist(struct world *w, struct sweep_answer *answer, guint node)
{
	(void)w;
	if (node == twisted_node && attr_of(answer) == twisted_attr &&
	    answer->mad.hdr.mgmt_class == IB_CLASS_SUBN_DIR)
		lie_now(answer, twisted_value);
}

START_TEST(a_node_that_lies_is_named_and_the_others_are_shown)
{
	const struct lie *lie = &lies[_i];
	struct world w = { .is_set_up = TRUE, .twist = twist };
	struct net *net;

	twisted_node = lie->node;
	twisted_attr = lie->attr;
	twisted_value = lie->value;
	lie_now = lie->fn;
	net = sweep_well(&w);
	ck_assert_uint_eq(net->nodes->len, lie->nodes);
	ck_problem(net, lie->problem);
	ck_text_is_read(net);
	ck_svg_is_xml(net);
	net_free(net);
}
END_TEST

START_TEST(a_node_that_falls_silent_is_asked_no_more)
{
	struct world whole = { .is_set_up = TRUE }, w = { .is_set_up = TRUE, .twist = twist };
	struct net *net = sweep_well(&whole);

	net_free(net);
	twisted_node = 5;
	twisted_attr = IB_SMP_PORT_INFO;
	twisted_value = AL_TIMEOUT;
	lie_now = lie_silence;
	net = sweep_well(&w);
	ck_assert_uint_eq(net->problems->len, 1);
	ck_assert_uint_lt(w.sent, whole.sent);
	net_free(net);
}
END_TEST

START_TEST(who_does_not_answer_is_marked)
{
	struct world w = { .is_set_up = TRUE, .twist = twist };
	struct net *net;

	twisted_node = 2;
	twisted_attr = IB_SMP_NODE_INFO;
	twisted_value = AL_TIMEOUT;
	lie_now = lie_silence;
	net = sweep_well(&w);
	for (guint p = 1; p <= 5; p++)
		ck_assert_int_eq(net_find(net, 0x10)->ports[p].no_answer, p == 2);
	ck_assert(!net_find(net, 0x10)->no_answer);
	/* the counters of the port before the silence may tell why */
	ck_assert(net_find(net, 0x10)->ports[2].counted);
	net_free(net);
	twisted_attr = IB_SMP_NODE_DESC;
	net = sweep_well(&w);
	ck_assert(!net_find(net, 0x10)->ports[2].no_answer);
	ck_assert(net_find(net, 2)->no_answer);
	net_free(net);
	twisted_value = AL_IO_ERROR; /* not silence */
	net = sweep_well(&w);
	ck_assert(!net_find(net, 2)->no_answer);
	net_free(net);
}
END_TEST

START_TEST(nodes_with_an_m_key_are_asked_with_it)
{
	struct world w = { .m_key = 0x123456789abcdef0, .is_set_up = TRUE };
	const struct sweep_line line = { world_send, world_next, &w };
	struct sweep_options options = { .port = 1, .seconds = 60 };
	struct net *net = sweep_well(&w);
	g_autoptr(GError) err = NULL, other = NULL;

	ck_assert_uint_eq(net->nodes->len, 5);
	ck_assert_uint_eq(net->problems->len, 0);
	net_free(net);
	ck_assert_ptr_null(sweep_subnet(&line, &options, &err));
	ck_assert_ptr_nonnull(strstr(err->message, "it may have an M_Key, which --m-key gives"));
	options.m_key = 1;
	ck_assert_ptr_null(sweep_subnet(&line, &options, &other));
	ck_assert_ptr_nonnull(strstr(other->message, "it may have another M_Key"));
}
END_TEST

static void wrong_port(struct world *world, struct sweep_answer *answer, guint node)
{
	(void)world;
	if (node == 4 && answer->mad.hdr.mgmt_class == IB_CLASS_PERF)
		((struct ib_perf_port_counters *)(void *)((struct ib_perf_mad *)(void *)&answer
								  ->mad)
			 ->data)
			->port_select = 9;
}

START_TEST(counters_of_another_port_are_not_taken)
{
	struct world w = { .is_set_up = TRUE, .twist = wrong_port };
	struct net *net = sweep_well(&w);

	ck_problem(net, "counters of another port");
	ck_assert(!net_find(net, 0x10)->ports[1].counted);
	net_free(net);
}
END_TEST

static guint endless_ports, endless_depth; /* of the switches; behind so many of them are HCAs */

/* Answers as if each route led to another node: a switch, all of whose ports are up, or an HCA
 * behind endless_depth switches. */
static al_status endless_send(void *context, const struct ib_mad *mad, guint16 dlid, guint64 id)
{
	struct sweep_answer *answer = g_new0(struct sweep_answer, 1);
	struct ib_smp *smp = (void *)&answer->mad;
	struct world *w = context;
	guint64 guid = 1;

	(void)dlid;
	answer->id = id;
	answer->mad = *mad;
	smp->method = IB_METHOD_GET_RESP;
	for (guint hop = 1; hop <= smp->hop_count; hop++)
		guid = guid * 1000003 + smp->initial_path[hop];
	if (ib_be16_get(smp->attr_id) == IB_SMP_NODE_INFO) {
		gboolean is_hca = smp->hop_count >= endless_depth;
		struct ib_node_info info = { .node_type = is_hca ? IB_NODE_CA : IB_NODE_SWITCH,
					     .num_ports = is_hca ? 1 : (guint8)endless_ports,
					     .node_guid = ib_be64_of(guid),
					     .local_port_num = smp->hop_count != 0 };
		memcpy(smp->data, &info, sizeof(info));
	} else if (ib_be16_get(smp->attr_id) == IB_SMP_PORT_INFO) {
		struct ib_port_info info = { 0 };

		ib_port_info_set_port_state(&info, IB_PORT_INIT);
		memcpy(smp->data, &info, sizeof(info));
	}
	w->under_way++;
	w->most = MAX(w->most, w->under_way);
	g_queue_push_tail(&w->answers, answer);
	return AL_SUCCESS;
}

START_TEST(a_subnet_without_end_has_an_end)
{
	struct world w = { 0 };
	const struct sweep_line line = { endless_send, world_next, &w };
	const struct sweep_options options = { .port = 1, .seconds = 600 };
	struct net *net;

	/* Two chains: but for the first, each switch has one port on and one back. */
	endless_ports = 2;
	endless_depth = IB_SMP_HOPS_MAX + 1;
	g_queue_init(&w.answers);
	net = sweep_subnet(&line, &options, NULL);
	ck_assert_uint_eq(net->nodes->len, 1 + 2 * IB_SMP_HOPS_MAX);
	ck_problem(net, "nodes more than 63 hops away");
	net_free(net);
	/* A bush: the limit is reached at the HCAs of its third level. */
	endless_ports = 41;
	endless_depth = 3;
	net = sweep_subnet(&line, &options, NULL);
	ck_assert_uint_eq(net->nodes->len, TOPOLOGY_MAX_NODES);
	ck_problem(net, "the others are not shown");
	ck_assert_uint_eq(w.most, SWEEP_WINDOW);
	net_free(net);
	g_queue_clear_full(&w.answers, g_free);
}
END_TEST

START_TEST(a_line_without_answers_ends_with_the_time)
{
	struct world w = { .stands_still = TRUE };
	g_autoptr(GError) err = NULL;

	ck_assert_ptr_null(sweep(&w, &err));
	ck_assert_ptr_nonnull(strstr(err->message, "does not answer NodeInfo within 60 seconds"));
}
END_TEST

static void stop_later(struct world *w, struct sweep_answer *answer, guint node)
{
	(void)answer;
	w->stands_still = node == 5;
}

START_TEST(what_was_found_before_the_time_was_over_is_shown)
{
	struct world w = { .twist = stop_later };
	struct net *net = sweep_well(&w);

	ck_assert_uint_ge(net->nodes->len, 2);
	ck_problem(net, "after 60 seconds the sweep has ended with");
	net_free(net);
}
END_TEST

/* ------------------------------------------------------------------------ names */

static const char *hostile_name;

static void twist_name(struct world *w, struct sweep_answer *answer, guint node)
{
	(void)w;
	if (node == 2 && attr_of(answer) == IB_SMP_NODE_DESC) {
		memset(data_of(answer), 0, IB_SMP_DATA_BYTES);
		memcpy(data_of(answer), hostile_name, MIN(strlen(hostile_name), IB_SMP_DATA_BYTES));
	}
}

START_TEST(a_name_breaks_no_form)
{
	static const char *const names[] = {
		"\"]\n[9]\t\"H-0000000000000009\"[1]",
		"</title><script>alert(1)</script>&amp;",
		"\033[2J\001\002",
		"\xff\xfe broken \xc3",
		"\xef\xbf\xbe\xef\xbf\xbf",
		"back\\slash \\",
		"64 bytes without an end: 5678901234567890123456789012345678901234567890",
		"lid 7 lmc 3 enhanced port 0",
		"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
		"",
	};
	struct world w = { .twist = twist_name };
	g_autofree char *dot = NULL;
	struct net *net;

	hostile_name = names[_i];
	net = sweep_well(&w);
	ck_assert_uint_eq(net->problems->len, 0);
	ck_assert_ptr_null(strpbrk(net_find(net, 2)->name, "\"\n\033\001"));
	ck_assert_uint_le(strlen(net_find(net, 2)->name), IB_SMP_DATA_BYTES);
	ck_text_is_read(net);
	ck_svg_is_xml(net);
	dot = net_write_dot(net);
	ck_assert_ptr_null(strstr(dot, "slash \\\""));
	net_free(net);
}
END_TEST

/* ------------------------------------------------------------------------ noise */

static guint32 next_random(struct world *w)
{
	w->random = w->random * 1664525 + 1013904223;
	return w->random >> 8;
}

static void noise(struct world *w, struct sweep_answer *answer, guint node)
{
	(void)node;
	while (!(next_random(w) % 3))
		((guint8 *)&answer->mad)[next_random(w) % sizeof(answer->mad)] ^=
			(guint8)(1 << next_random(w) % 8);
	if (!(next_random(w) % 40))
		answer->status = AL_TIMEOUT;
}

START_TEST(any_bits_of_answers_may_be_wrong)
{
	for (guint32 seed = 0; seed < 300; seed++) {
		struct world w = { .is_set_up = TRUE, .twist = noise, .random = seed * 7919 };
		struct net *net = sweep(&w, NULL);

		if (!net)
			continue;
		ck_text_is_read(net);
		ck_svg_is_xml(net);
		net_free(net);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sweep");
	TCase *tc = tcase_create("subnet");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, a_subnet_is_read_whole_in_the_words_of_ibnetdiscover);
	tcase_add_test(tc, requests_are_under_way_together_up_to_the_window);
	tcase_add_test(tc, error_counters_are_read_and_marked);
	tcase_add_test(tc, each_port_that_was_counted_is_reset_once_in_both_sets_of_counters);
	tcase_add_test(tc, a_port_that_is_not_reset_is_named);
	tcase_add_test(tc, a_port_may_be_without_the_set_of_64_bits_and_not_without_the_other);
	tcase_add_test(tc, without_lids_there_are_no_counters_and_that_is_said);
	tcase_add_loop_test(tc, a_node_that_lies_is_named_and_the_others_are_shown, 0,
			    (int)G_N_ELEMENTS(lies));
	tcase_add_test(tc, a_node_that_falls_silent_is_asked_no_more);
	tcase_add_test(tc, who_does_not_answer_is_marked);
	tcase_add_test(tc, nodes_with_an_m_key_are_asked_with_it);
	tcase_add_test(tc, counters_of_another_port_are_not_taken);
	tcase_add_test(tc, a_subnet_without_end_has_an_end);
	tcase_add_test(tc, a_line_without_answers_ends_with_the_time);
	tcase_add_test(tc, what_was_found_before_the_time_was_over_is_shown);
	tcase_add_loop_test(tc, a_name_breaks_no_form, 0, 10);
	tcase_add_test(tc, any_bits_of_answers_may_be_wrong);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
