/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* al_query res, qp, cq: the objects of the process or of the agent's clients, their numbers and
 * their owners. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "al/tools/query.h"

static const char *state_of(const struct al_snap_object *obj)
{
	if (obj->dead)
		return "dead";
	if (obj->dying)
		return "dying";
	return obj->type == AL_OBJ_QP ? al_qp_state_str((ib_qp_state)obj->state) : "live";
}

static gboolean passes(const struct query *q, const struct al_snap_object *obj, const char *type, const struct al_snap_ca *ca)
{
	if (ca && obj->ca_guid != ca->guid)
		return FALSE;
	if (type && strcmp(type, al_object_type_str(obj->type)))
		return FALSE;
	if (q->pid && q->pid != obj->pid)
		return FALSE;
	if ((q->qpn_first || q->qpn_last != IB_QPN_MASK) &&
	    (obj->type != AL_OBJ_QP || obj->number < q->qpn_first || obj->number > q->qpn_last))
		return FALSE;
	return query_state_passes(q, state_of(obj));
}

_Static_assert(offsetof(struct al_snap_object, id) == 0,
	       "a pointer to the id is no pointer to the object");

/* The object with this id; NULL: none, as for the id 0 of an object without a parent. */
static const struct al_snap_object *find_id(struct query *q, guint64 id)
{
	if (!q->by_id) {
		q->by_id = g_hash_table_new(g_int64_hash, g_int64_equal);
		for (size_t i = 0; i < q->snap->num_objects; i++)
			g_hash_table_add(q->by_id, (gpointer)&q->snap->objects[i].id);
	}
	return (const struct al_snap_object *)g_hash_table_lookup(q->by_id, &id);
}

static void add_object(struct query *q, const struct al_snap_object *obj, JsonArray *to)
{
	const struct al_snap_object *parent = find_id(q, obj->parent);
	JsonObject *row = json_object_new();

	json_array_add_object_element(to, row);
	member_guid(row, "id", obj->id);
	json_object_set_string_member(row, "type", al_object_type_str(obj->type));
	json_object_set_string_member(row, "state", state_of(obj));
	if (obj->type == AL_OBJ_QP)
		json_object_set_int_member(row, "qpn", obj->number);
	else if (obj->type == AL_OBJ_CQ)
		json_object_set_int_member(row, "cqe", obj->number);
	else if (obj->type == AL_OBJ_MR)
		member_hex(row, "lkey", obj->number);
	if (obj->parent) {
		member_guid(row, "parent", obj->parent);
		json_object_set_string_member(row, "parent_type", parent ? al_object_type_str(parent->type) : "gone");
	} else {
		json_object_set_null_member(row, "parent");
	}
	json_object_set_int_member(row, "users", obj->users);
	if (obj->ca_guid)
		member_guid(row, "ca_guid", obj->ca_guid);
	json_object_set_int_member(row, "pid", obj->pid);
	member_text(row, "command", obj->comm);
	member_u64(row, "age_ns", obj->age_ns);
}

/* Collects all objects that the options select. FALSE: --ca names an absent HCA. */
static gboolean add_objects(struct query *q, const char *type)
{
	const struct al_snap_ca *ca = q->ca ? query_find_ca(q, q->ca) : NULL;
	JsonArray *objects = query_array(q, "objects");

	if (q->ca && !ca)
		return FALSE;
	for (size_t i = 0; i < q->snap->num_objects; i++)
		if (passes(q, &q->snap->objects[i], type, ca))
			add_object(q, &q->snap->objects[i], objects);
	return TRUE;
}

static void add_counts(struct query *q, const struct al_snap_ca *snap, gint64 index, void *arg)
{
	for (guint32 i = 0; i < snap->num_counts; i++) {
		const struct al_snap_count *count = &snap->counts[i];
		JsonObject *row;

		if (q->type && strcmp(q->type, al_object_type_str(count->type)))
			continue;
		row = json_object_new();
		json_array_add_object_element(arg, row);
		json_object_set_int_member(row, "ca", index);
		member_guid(row, "ca_guid", snap->guid);
		json_object_set_string_member(row, "type", al_object_type_str(count->type));
		json_object_set_int_member(row, "now", count->now);
		json_object_set_int_member(row, "high", count->high);
		if (count->max)
			json_object_set_int_member(row, "max", count->max);
		else
			json_object_set_null_member(row, "max");
	}
}

void collect_counts(struct query *q)
{
	query_each_ca(q, add_counts, query_array(q, "counts"));
}

static gboolean is_type(const char *text)
{
	for (guint i = AL_OBJ_NONE + 1; i < AL_OBJ_TYPES; i++)
		if (!strcmp(text, al_object_type_str((al_object_type)i)))
			return TRUE;
	return FALSE;
}

void collect_res(struct query *q)
{
	JsonArray *counts = query_array(q, "counts");

	if (*q->args && !is_type(*q->args)) {
		query_error(q, TOOL_USAGE, "there is no kind of object \"%s\", but such as pd, mr, cq and qp", *q->args);
		return;
	}
	if (*q->args && g_strcmp0(q->type, *q->args)) {
		g_free(q->type);
		q->type = g_strdup(*q->args);
	}
	if (add_objects(q, q->type))
		query_each_ca(q, add_counts, counts);
}

static void show_objects(struct query *q)
{
	static const struct query_column columns[] = {
		{ "id", "Id", NULL, NULL },
		{ "type", "Kind", NULL, NULL },
		{ "state", "State", NULL, colour_state },
		{ "qpn", "QPN", NULL, NULL },
		{ "parent_type", "In", NULL, NULL },
		{ "users", "Users", NULL, NULL },
		{ "pid", "PID", NULL, NULL },
		{ "command", "Command", NULL, NULL },
		{ "age_ns", "Age", format_age, NULL },
		{ NULL, NULL, NULL, NULL },
	};
	JsonArray *objects = json_object_get_array_member(q->out, "objects");

	if (json_array_get_length(objects))
		query_table(q, "", objects, columns);
	else
		puts(q->snap->num_clients ? "No such object of the agent's, or it is another user's." :
		     "No such object in this process. (A process sees its own only.)");
}

void show_res(struct query *q)
{
	static const struct query_column columns[] = {
		{ "ca", "HCA", NULL, NULL },
		{ "type", "Kind", NULL, NULL },
		{ "now", "Now", NULL, NULL },
		{ "high", "Most", NULL, NULL },
		{ "max", "Limit", format_dash, NULL },
		{ NULL, NULL, NULL, NULL },
	};
	JsonArray *counts = json_object_get_array_member(q->out, "counts");

	if (json_array_get_length(counts)) {
		query_table(q, "", counts, columns);
		putchar('\n');
	}
	show_objects(q);
}

/* Prints all attributes of a single object, or a table of the objects. */
void show_found(struct query *q)
{
	static const struct query_column columns[] = {
		{ "id", "Id", NULL, NULL },
		{ "state", "State", NULL, colour_state },
		{ "qpn", "Number", NULL, NULL },
		{ "cqe", "Entries", NULL, NULL },
		{ "ca_guid", "HCA", NULL, NULL },
		{ "parent_type", "In a", NULL, NULL },
		{ "parent", "whose id is", NULL, NULL },
		{ "users", "Live users", NULL, NULL },
		{ "pid", "Process", NULL, NULL },
		{ "command", "Command", NULL, NULL },
		{ "age_ns", "Age", format_age, NULL },
		{ NULL, NULL, NULL, NULL },
	};

	if (*q->args)
		query_sheet(q, json_array_get_object_element(json_object_get_array_member(q->out, "objects"), 0), columns);
	else
		show_objects(q);
}

static void none_there(struct query *q, const char *what, const char *name)
{
	query_error(q, TOOL_USAGE, "there is no %s %s in this process, and a process sees its own only; "
		    "\"al_query res\" lists the objects", what, name);
}

void collect_qp(struct query *q)
{
	guint64 number;

	if (*q->args) {
		if (!tool_parse_number(*q->args, 0, IB_QPN_MASK, &number)) {
			query_error(q, TOOL_USAGE, "\"%s\" is no queue pair number: those have 24 bits", *q->args);
			return;
		}
		q->qpn_first = q->qpn_last = number;
	}
	if (!add_objects(q, "qp") || !*q->args)
		return;
	if (!json_array_get_length(json_object_get_array_member(q->out, "objects")))
		none_there(q, "queue pair", *q->args);
}

void collect_cq(struct query *q)
{
	const struct al_snap_object *obj;
	JsonArray *objects;
	guint64 id;

	if (!*q->args) {
		add_objects(q, "cq");
		return;
	}
	objects = query_array(q, "objects");
	obj = tool_parse_guid(*q->args, &id) ? find_id(q, id) : NULL;
	if (obj && obj->type == AL_OBJ_CQ)
		add_object(q, obj, objects);
	else
		none_there(q, "completion queue", *q->args);
}
