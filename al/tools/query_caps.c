/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* al_query caps: the capabilities and maxima of HCAs, side by side. */
#include <stdio.h>
#include <string.h>

#include "al/tools/query.h"

/* The bits of ib_ca_attr.caps. Each has a JSON name: the constant's name without its prefix, in
 * small letters. */
static const struct ability {
	const char *name;
	guint bit;
} abilities[] = {
#define ABILITY(name, bit, text) { #name, bit },
	IB_CA_CAP_LIST(ABILITY)
};

#define LIMITS(X) \
	X(max_mr_size, "bytes of a memory region") \
	X(max_mr, "memory regions") \
	X(max_mw, "memory windows") \
	X(max_fmr, "fast memory regions") \
	X(max_map_per_fmr, "maps of one before an unmap") \
	X(max_fast_reg_pages, "pages of a fast registration") \
	X(max_pd, "protection domains") \
	X(max_rdd, "reliable datagram domains") \
	X(max_eec, "end-to-end contexts") \
	X(max_xrcd, "XRC domains") \
	X(max_ah, "address handles") \
	X(max_qp, "queue pairs") \
	X(max_qp_wr, "requests of a queue") \
	X(max_send_sge, "elements of a send") \
	X(max_recv_sge, "elements of a receive") \
	X(max_read_sge, "elements of an RDMA read") \
	X(max_inline_data, "bytes of an inline request") \
	X(max_qp_rd_atom, "reads and atomics a QP answers") \
	X(max_qp_init_rd_atom, "reads and atomics a QP asks") \
	X(max_res_rd_atom, "responder resources in all") \
	X(max_cq, "completion queues") \
	X(max_cqe, "entries of a completion queue") \
	X(max_srq, "shared receive queues") \
	X(max_srq_wr, "requests of one") \
	X(max_srq_sge, "elements of its requests") \
	X(max_raw_ipv6_qp, "raw IPv6 queue pairs") \
	X(max_raw_ethy_qp, "raw Ethertype queue pairs") \
	X(max_mcast_grp, "multicast groups") \
	X(max_mcast_qp_attach, "queue pairs of a group") \
	X(max_total_mcast_qp_attach, "memberships in all") \
	X(max_pkeys, "P_Keys of a port") \
	X(num_comp_vectors, "completion vectors") \
	X(num_ports, "ports")

static const struct limit {
	const char *name, *text;
} limits[] = {
#define LIMIT(name, text) { #name, text },
	LIMITS(LIMIT)
};

static char *ability_name(const struct ability *ability)
{
	return g_ascii_strdown(ability->name + strlen("IB_CA_CAP_"), -1);
}

/* The kind of atomics in one word, for a narrow column. */
static const char *reach(ib_atomic_cap cap)
{
	static const char *const words[] = {
		[IB_ATOMIC_NONE] = "none", [IB_ATOMIC_HCA] = "hca", [IB_ATOMIC_GLOBAL] = "global",
	};

	return (gsize)cap < G_N_ELEMENTS(words) ? words[cap] : al_atomic_cap_str(cap);
}

static void add_caps(struct query *q, const struct al_snap_ca *snap, gint64 index, void *arg)
{
	const struct ib_ca_attr *attr = &snap->attr;
	JsonObject *row = json_object_new(), *caps = json_object_new(), *maxima = json_object_new();

	(void)q;
	json_array_add_object_element(arg, row);
	json_object_set_int_member(row, "index", index);
	member_guid(row, "guid", snap->guid);
	member_text(row, "description", attr->node_desc);
	json_object_set_string_member(row, "atomics", reach(attr->atomic_cap));
	json_object_set_string_member(row, "masked_atomics", reach(attr->masked_atomic_cap));
	member_hex(row, "page_sizes", attr->page_size_cap);
	json_object_set_object_member(row, "caps", caps);
	json_object_set_object_member(row, "limits", maxima);
	for (gsize i = 0; i < G_N_ELEMENTS(abilities); i++) {
		g_autofree char *name = ability_name(&abilities[i]);

		json_object_set_boolean_member(caps, name, attr->caps >> abilities[i].bit & 1);
	}
#define ADD_LIMIT(name, text) member_u64(maxima, #name, attr->name);
	LIMITS(ADD_LIMIT)
}

void collect_caps(struct query *q)
{
	JsonArray *cas = query_array(q, "cas");
	const struct al_snap_ca *ca;

	if (!q->diff && *q->args) {
		query_error(q, TOOL_USAGE, "\"caps\" takes two HCAs with --diff, and one with --ca");
		return;
	}
	if (!q->diff) {
		query_each_ca(q, add_caps, cas);
		return;
	}
	if (g_strv_length(q->args) != 2) {
		query_error(q, TOOL_USAGE, "--diff needs two HCAs, such as \"al_query caps --diff 0 1\"");
		return;
	}
	for (char **name = q->args; *name; name++) {
		ca = query_find_ca(q, *name);
		if (ca)
			add_caps(q, ca, ca - q->snap->cas, cas);
	}
}

/* Makes a line of the table: its heading, and a value for each HCA, whose member is named by the
 * HCA's column. */
static void add_line(struct query *q, JsonArray *lines, JsonArray *cas, const char *group, const char *name, const char *text)
{
	JsonObject *line = json_object_new();
	JsonNode *first = NULL;
	gboolean differ = FALSE;

	json_object_set_string_member(line, "text", text);
	for (guint i = 0; i < json_array_get_length(cas); i++) {
		g_autofree char *place = g_strdup_printf("%u", i);
		JsonObject *ca = json_array_get_object_element(cas, i);
		JsonNode *value = json_object_get_member(group ? json_object_get_object_member(ca, group) : ca, name);

		json_object_set_member(line, place, json_node_copy(value));
		if (!first)
			first = value;
		differ = differ || !json_node_equal(first, value);
	}
	if (differ || !q->diff)
		json_array_add_object_element(lines, line);
	else
		json_object_unref(line);
}

static JsonArray *make_lines(struct query *q, JsonArray *cas)
{
	JsonArray *lines = json_array_new();

	for (gsize i = 0; i < G_N_ELEMENTS(abilities); i++) {
		g_autofree char *name = ability_name(&abilities[i]);

		add_line(q, lines, cas, "caps", name, al_ca_cap_str(1u << abilities[i].bit));
	}
	add_line(q, lines, cas, NULL, "atomics", "atomics");
	add_line(q, lines, cas, NULL, "masked_atomics", "masked atomics");
	add_line(q, lines, cas, NULL, "page_sizes", "page sizes, a bit each");
	for (gsize i = 0; i < G_N_ELEMENTS(limits); i++)
		add_line(q, lines, cas, "limits", limits[i].name, limits[i].text);
	return lines;
}

void show_caps(struct query *q)
{
	JsonArray *cas = json_object_get_array_member(q->out, "cas");
	guint count = json_array_get_length(cas);
	g_autoptr(JsonArray) lines = make_lines(q, cas);
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GArray) columns = g_array_new(TRUE, TRUE, sizeof(struct query_column));
	struct query_column column = { "text", "Ability or limit", NULL, NULL };

	if (!count) {
		puts("No HCA is here. \"al_query doctor\" says what is missing.");
		return;
	}
	if (!json_array_get_length(lines)) {
		puts("These two HCAs can do the same, with the same limits.");
		return;
	}
	g_array_append_val(columns, column);
	for (guint i = 0; i < count; i++) {
		JsonObject *ca = json_array_get_object_element(cas, i);
		char *place = g_strdup_printf("%u", i);
		char *heading = g_strdup_printf("HCA %" G_GINT64_FORMAT, json_object_get_int_member(ca, "index"));

		g_ptr_array_add(names, place);
		g_ptr_array_add(names, heading);
		column = (struct query_column){ place, heading, NULL, NULL };
		g_array_append_val(columns, column);
	}
	query_table(q, "", lines, (const struct query_column *)(void *)columns->data);
}
