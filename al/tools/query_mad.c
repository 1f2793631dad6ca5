/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* al_query mad: the MAD services of all clients, with their classes, ports and numbers. */
#include <stdio.h>
#include <string.h>

#include "al/tools/query.h"

#include <iba/ib_mad.h>

static const char *class_text(guint class)
{
#define CLASS_TEXT(name, value, text) { value, text },
	static const struct {
		guint value;
		const char *text;
	} classes[] = { IB_MAD_CLASS_LIST(CLASS_TEXT) };

	if (class >= IB_CLASS_VENDOR_1_FIRST && class <= IB_CLASS_VENDOR_1_LAST)
		return "vendor";
	if (class >= IB_CLASS_VENDOR_2_FIRST && class <= IB_CLASS_VENDOR_2_LAST)
		return "vendor with OUI";
	for (gsize i = 0; i < G_N_ELEMENTS(classes); i++)
		if (classes[i].value == class)
			return classes[i].text;
	return "unknown";
}

static const struct al_snap_mad_svc *find_counts(const struct query *q, guint64 id)
{
	for (size_t i = 0; i < q->snap->num_mad_svcs; i++)
		if (q->snap->mad_svcs[i].id == id)
			return &q->snap->mad_svcs[i];
	return NULL;
}

static void add_counts(const struct al_snap_mad_svc *counts, JsonObject *row)
{
	if (!counts)
		return;
	member_u64(row, "sent", counts->sent);
	member_u64(row, "repeated", counts->repeated);
	member_u64(row, "answered", counts->answered);
	member_u64(row, "timed_out", counts->timed_out);
	member_u64(row, "failed", counts->failed);
	member_u64(row, "received", counts->received);
	member_u64(row, "dropped", counts->dropped);
}

static void add_service(struct query *q, const struct al_snap_object *obj, JsonArray *to)
{
	JsonObject *row = json_object_new();
	guint port = AL_SNAP_MAD_PORT(obj->number), class = AL_SNAP_MAD_CLASS(obj->number);

	json_array_add_object_element(to, row);
	member_guid(row, "id", obj->id);
	member_guid(row, "ca_guid", obj->ca_guid);
	json_object_set_int_member(row, "port", port);
	member_hex(row, "class", class);
	json_object_set_string_member(row, "class_name", class_text(class));
	json_object_set_int_member(row, "class_version", AL_SNAP_MAD_VERSION(obj->number));
	json_object_set_string_member(
		row, "qp",
		class == IB_CLASS_SUBN_LID || class == IB_CLASS_SUBN_DIR ? "QP0" : "QP1");
	json_object_set_int_member(row, "pid", obj->pid);
	member_text(row, "command", obj->comm);
	member_u64(row, "age_ns", obj->age_ns);
	add_counts(find_counts(q, obj->id), row);
}

static gboolean passes(const struct query *q, const struct al_snap_object *obj)
{
	return obj->type == AL_OBJ_MAD_SVC && query_ca_passes(q, obj->ca_guid) &&
	       (!q->pid || q->pid == obj->pid) &&
	       (!q->port || (guint)q->port == AL_SNAP_MAD_PORT(obj->number));
}

void collect_mad(struct query *q)
{
	JsonArray *services = query_array(q, "services");

	if (!query_choose_cas(q))
		return;
	for (size_t i = 0; i < q->snap->num_objects; i++)
		if (passes(q, &q->snap->objects[i]))
			add_service(q, &q->snap->objects[i], services);
}

void show_mad(struct query *q)
{
	static const struct query_column columns[] = {
		{ "ca_guid", "HCA", NULL, NULL },
		{ "port", "Port", NULL, NULL },
		{ "qp", "QP", NULL, NULL },
		{ "class", "Class", NULL, NULL },
		{ "class_version", "Version", NULL, NULL },
		{ "class_name", "Name", NULL, NULL },
		{ "pid", "PID", NULL, NULL },
		{ "command", "Command", NULL, NULL },
		{ "age_ns", "Age", format_age, NULL },
		{ NULL, NULL, NULL, NULL },
	};
	/* the services again, in the same order */
	static const struct query_column counts[] = {
		{ "ca_guid", "HCA", NULL, NULL },       { "port", "Port", NULL, NULL },
		{ "class", "Class", NULL, NULL },       { "pid", "PID", NULL, NULL },
		{ "sent", "Sent", NULL, NULL },         { "repeated", "Repeated", NULL, NULL },
		{ "answered", "Answered", NULL, NULL }, { "timed_out", "Timed out", NULL, NULL },
		{ "failed", "Failed", NULL, NULL },     { "received", "Received", NULL, NULL },
		{ "dropped", "Dropped", NULL, NULL },   { NULL, NULL, NULL, NULL },
	};
	JsonArray *services = json_object_get_array_member(q->out, "services");

	if (!json_array_get_length(services)) {
		puts(q->snap->num_clients
			     ? "No such service of the agent's, or it is another user's."
			     : "No such service in this process. (A process sees its own only.)");
		return;
	}
	query_table(q, "", services, columns);
	putchar('\n');
	query_table(q, "", services, counts);
}
