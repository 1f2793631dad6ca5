/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* al_query's JSON: the members that every subcommand writes, and the answer as text. */
#include <stdio.h>
#include <string.h>

#include "al/tools/query_object.h"

void query_print_answer(struct query *q)
{
	const gboolean pretty = !q->watch;
	g_autoptr(JsonNode) root = json_node_init_object(json_node_alloc(), q->out);
	g_autofree char *text = json_to_string(root, pretty);

	if (q->found) {
		text[strlen(text) - (pretty ? strlen("\n}") : strlen("}"))] = '\0';
		printf(pretty ? "%s,\n  \"objects\" : " : "%s,\"objects\":", text);
		objects_print_json(q, pretty);
		puts(pretty ? "\n}" : "}");
	} else {
		puts(text);
	}
	fflush(stdout);
}

void query_print_line(JsonObject *obj)
{
	g_autoptr(JsonNode) root = json_node_init_object(json_node_alloc(), obj);
	g_autofree char *text = json_to_string(root, FALSE);

	puts(text);
	fflush(stdout);
	json_object_unref(obj);
}

void member_text(JsonObject *obj, const char *name, const char *text)
{
	g_autofree char *clean = tool_clean(text);

	json_object_set_string_member(obj, name, clean);
}

void member_u64(JsonObject *obj, const char *name, guint64 value)
{
	if (value > MEMBER_MOST)
		member_hex(obj, name, value);
	else
		json_object_set_int_member(obj, name, (gint64)value);
}

guint64 member_number(JsonNode *node)
{
	if (JSON_NODE_HOLDS_VALUE(node) && json_node_get_value_type(node) == G_TYPE_STRING)
		return g_ascii_strtoull(json_node_get_string(node), NULL, 16);
	return (guint64)json_node_get_int(node);
}

void member_guid(JsonObject *obj, const char *name, guint64 value)
{
	g_autofree char *text = tool_guid_text(value);

	json_object_set_string_member(obj, name, text);
}

void member_hex(JsonObject *obj, const char *name, guint64 value)
{
	g_autofree char *text = g_strdup_printf("0x%" G_GINT64_MODIFIER "x", value);

	json_object_set_string_member(obj, name, text);
}

void json_append_string(GString *to, const char *text)
{
	g_string_append_c(to, '"');
	for (; *text; text++)
		if (*text == '"' || *text == '\\')
			g_string_append_printf(to, "\\%c", *text);
		else if ((guchar)*text < 0x20 || *text == 0x7f)
			g_string_append_printf(to, "\\u%04x", *text);
		else
			g_string_append_c(to, *text);
	g_string_append_c(to, '"');
}
