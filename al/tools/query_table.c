/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Text from JSON: tables and sheets whose columns are as wide as their content. The subcommands are
 * in query_*.c. */
#include <stdio.h>
#include <string.h>

#include "al/tools/query.h"

char *format_mbps(JsonNode *value)
{
	gint64 mbps = json_node_get_int(value);

	if (!mbps)
		return g_strdup("-");
	return g_strdup_printf(mbps % 1000 ? "%.1f Gb/s" : "%.0f Gb/s", (double)mbps / 1000);
}

char *format_age(JsonNode *value)
{
	return tool_age_text((guint64)json_node_get_int(value));
}

static gboolean is_string(JsonNode *value)
{
	return JSON_NODE_HOLDS_VALUE(value) && json_node_get_value_type(value) == G_TYPE_STRING;
}

static gboolean is_number(JsonNode *value)
{
	return JSON_NODE_HOLDS_VALUE(value) && json_node_get_value_type(value) == G_TYPE_INT64;
}

static char *plain(JsonNode *value)
{
	if (JSON_NODE_HOLDS_NULL(value))
		return g_strdup("-");
	if (is_string(value))
		return g_strdup(json_node_get_string(value));
	if (is_number(value))
		return g_strdup_printf("%" G_GINT64_FORMAT, json_node_get_int(value));
	return g_strdup(json_node_get_boolean(value) ? "yes" : "no");
}

char *format_dash(JsonNode *value)
{
	char *text = plain(value);

	if (*text && strcmp(text, "0"))
		return text;
	g_free(text);
	return g_strdup("-");
}

const char *colour_state(const char *text)
{
	static const struct { const char *text, *colour; } states[] = {
		{ "Active", "\033[32m" }, { "RTS", "\033[32m" }, { "Down", "\033[31m" }, { "Error", "\033[31m" },
		{ "dead", "\033[31m" }, { "Init", "\033[33m" }, { "Armed", "\033[33m" }, { "dying", "\033[33m" },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(states); i++)
		if (!strcmp(text, states[i].text))
			return states[i].colour;
	return NULL;
}

static char *cell(JsonObject *row, const struct query_column *column)
{
	JsonNode *value = json_object_get_member(row, column->key);

	if (!value)
		return g_strdup("-");
	return column->format ? column->format(value) : plain(value);
}

static gboolean is_right(JsonArray *rows, const struct query_column *column)
{
	JsonNode *value;

	if (!json_array_get_length(rows) || column->format)
		return FALSE;
	value = json_object_get_member(json_array_get_object_element(rows, 0), column->key);
	return value && is_number(value);
}

static void print_cell(const struct query *q, const char *text, const char *colour, int width, gboolean right)
{
	int blanks = MAX(width - tool_width(text), 0);

	if (right)
		printf("%*s", blanks, "");
	if (colour && q->colour)
		printf("%s%s%s", colour, text, COLOUR_OFF);
	else
		fputs(text, stdout);
	if (!right)
		printf("%*s", blanks, "");
}

static int column_width(JsonArray *rows, const struct query_column *column)
{
	int width = tool_width(column->heading);

	for (guint r = 0; r < json_array_get_length(rows); r++) {
		g_autofree char *text = cell(json_array_get_object_element(rows, r), column);

		width = MAX(width, tool_width(text));
	}
	return width;
}

void query_table(const struct query *q, const char *indent, JsonArray *rows, const struct query_column *columns)
{
	g_autoptr(GArray) widths = g_array_new(FALSE, FALSE, sizeof(int));

	for (const struct query_column *c = columns; c->key; c++) {
		gboolean right = is_right(rows, c);
		int width = c[1].key || right ? column_width(rows, c) : 0; /* the last column is not padded */

		g_array_append_val(widths, width);
		fputs(c == columns ? indent : "  ", stdout);
		print_cell(q, c->heading, COLOUR_BOLD, width, right);
	}
	putchar('\n');
	for (guint r = 0; r < json_array_get_length(rows); r++) {
		for (const struct query_column *c = columns; c->key; c++) {
			g_autofree char *text = cell(json_array_get_object_element(rows, r), c);

			fputs(c == columns ? indent : "  ", stdout);
			print_cell(q, text, c->colour ? c->colour(text) : NULL, g_array_index(widths, int, c - columns),
				   is_right(rows, c));
		}
		putchar('\n');
	}
}

void query_sheet(const struct query *q, JsonObject *obj, const struct query_column *columns)
{
	int width = 0;

	for (const struct query_column *c = columns; c->key; c++)
		width = MAX(width, tool_width(c->heading));
	for (const struct query_column *c = columns; c->key; c++) {
		g_autofree char *text = cell(obj, c);

		if (!json_object_has_member(obj, c->key))
			continue;
		print_cell(q, c->heading, NULL, width + 2, FALSE);
		print_cell(q, text, c->colour ? c->colour(text) : NULL, 0, FALSE);
		putchar('\n');
	}
}
