/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* al_query res, qp, cq, mr, pd, ah: the objects of the process or of the agent's clients, their numbers and
 * their owners. */
#include <stdio.h>
#include <string.h>

#include "al/tools/query_object.h"

#define MOST_CONDITIONS 16

/* The options that select objects, read once. */
struct selection {
	const char *type;
	guint num_conditions;
	struct object_condition conditions[MOST_CONDITIONS];
};

static gboolean passes(struct objects *o, const struct selection *by,
		       const struct al_snap_object *obj)
{
	const struct query *q = o->q;

	if (!query_ca_passes(q, obj->ca_guid))
		return FALSE;
	if (by->type && strcmp(by->type, al_object_type_str(obj->type)))
		return FALSE;
	if (q->pid && q->pid != obj->pid)
		return FALSE;
	if ((q->qpn_first || q->qpn_last != IB_QPN_MASK) &&
	    (obj->type != AL_OBJ_QP || obj->number < q->qpn_first || obj->number > q->qpn_last))
		return FALSE;
	for (guint i = 0; i < by->num_conditions; i++)
		if (!object_meets(o, obj, &by->conditions[i]))
			return FALSE;
	return query_state_passes(q, object_state(obj));
}

/* FALSE: query_error() has reported what is wrong with the options. */
static gboolean read_selection(struct query *q, const char *type, struct selection *by)
{
	g_autoptr(GError) err = NULL;

	*by = (struct selection){ .type = type };
	if (!query_choose_cas(q))
		return FALSE;
	for (char **text = q->where; text && *text; text++) {
		if (by->num_conditions == MOST_CONDITIONS) {
			query_error(q, TOOL_USAGE, "--where may be given %d times at most",
				    MOST_CONDITIONS);
			return FALSE;
		}
		if (!object_condition_parse(&by->conditions[by->num_conditions++], *text, &err)) {
			query_error(q, TOOL_USAGE, "%s", err->message);
			return FALSE;
		}
	}
	return TRUE;
}

/* Collects all objects that the options select in q->found. FALSE: the options are wrong. */
static gboolean add_objects(struct query *q, const char *type)
{
	struct selection by;
	struct objects o;

	q->found = g_ptr_array_new();
	if (!read_selection(q, type, &by))
		return FALSE;
	objects_begin(&o, q);
	for (size_t i = 0; i < q->snap->num_objects; i++) {
		const struct al_snap_object *obj = &q->snap->objects[i];

		if (passes(&o, &by, obj))
			g_ptr_array_add(q->found, (gpointer)obj);
	}
	objects_end(&o);
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

static void show_objects(struct query *q, guint kinds)
{
	struct objects o;

	if (!q->found->len) {
		puts(q->snap->num_clients ?
			     "No such object of the agent's, or it is another user's." :
			     "No such object in this process. (A process sees its own only.)");
		return;
	}
	objects_begin(&o, q);
	if (*q->args && kinds != KINDS_ALL)
		object_sheet(&o, g_ptr_array_index(q->found, 0));
	else
		objects_table(&o, q->found, kinds);
	objects_end(&o);
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
	show_objects(q, KINDS_ALL);
}

static void none_there(struct query *q, const char *what, const char *name)
{
	query_error(q, TOOL_USAGE,
		    q->snap->num_clients
			    ? "there is no %s %s of the agent's, or it is another user's; \"al_query res\" lists the objects"
			    : "there is no %s %s in this process, and a process sees its own only; "
			      "\"al_query res\" lists the objects",
		    what, name);
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
	if (!q->found->len)
		none_there(q, "queue pair", *q->args);
}

void show_qp(struct query *q)
{
	show_objects(q, KIND(AL_OBJ_QP));
}

/* Collects the objects of a kind, or the one whose id is the argument. */
static void collect_kind(struct query *q, const char *type, const char *what)
{
	const struct al_snap_object *obj;
	guint64 id;

	if (!add_objects(q, type) || !*q->args)
		return;
	if (!tool_parse_guid(*q->args, &id)) {
		none_there(q, what, *q->args);
		return;
	}
	for (guint i = q->found->len; i--;) {
		obj = g_ptr_array_index(q->found, i);
		if (obj->id != id)
			g_ptr_array_remove_index(q->found, i);
	}
	if (!q->found->len)
		none_there(q, what, *q->args);
}

#define COLLECT_KIND(name, type, what)              \
	void collect_##name(struct query *q)        \
	{                                           \
		collect_kind(q, #name, what);       \
	}                                           \
	void show_##name(struct query *q)           \
	{                                           \
		show_objects(q, KIND(type));        \
	}

COLLECT_KIND(cq, AL_OBJ_CQ, "completion queue")
COLLECT_KIND(mr, AL_OBJ_MR, "memory region")
COLLECT_KIND(pd, AL_OBJ_PD, "protection domain")
COLLECT_KIND(ah, AL_OBJ_AH, "address handle")
