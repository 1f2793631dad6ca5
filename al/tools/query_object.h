/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What is known of an object of a snapshot: one table of fields, from which the tables, the sheet,
 * the JSON and the filter --where come. A row of the text costs no JSON object, since a snapshot
 * may have 100,000 objects.
 */
#ifndef AL_TOOLS_QUERY_OBJECT_H
#define AL_TOOLS_QUERY_OBJECT_H

#include "al/tools/query.h"

/* Kinds of objects, as bits, to which a field belongs. */
#define KIND(type) (1u << (type))
#define KINDS_ALL  (~0u)

/* What the fields need besides the object. */
struct objects {
	struct query *q;
	GHashTable *by_id; /* objects by their ids */
	GHashTable *cas;   /* GUID of an HCA -> index + 1 */
	GHashTable *users; /* uid -> name */
};

void objects_begin(struct objects *o, struct query *q);
void objects_end(struct objects *o);

/* The object with this id; NULL: none, as for the id 0 of an object without a parent. */
const struct al_snap_object *objects_find(const struct objects *o, guint64 id);

/* The state that the tables show and --state selects. */
const char *object_state(const struct al_snap_object *obj);

/* A condition of --where. */
struct object_condition {
	const struct object_field *field;
	const char *value;
};

/* Reads "KEY=VALUE". FALSE: *err says why not, and which keys there are. */
gboolean object_condition_parse(struct object_condition *to, const char *text, GError **err);
gboolean object_meets(struct objects *o, const struct al_snap_object *obj,
		      const struct object_condition *condition);

/* Appends a text in UTF-8 as a string of JSON. */
void json_append_string(GString *to, const char *text);

/* Prints the array of the objects that the command has found, as a member of the answer.
 * json-glib's objects would take 2 s for 100,000 of them. */
void objects_print_json(struct query *q, gboolean pretty);

/* Prints a table of the objects, with the columns that all kinds have (KINDS_ALL), or those of one
 * kind. */
void objects_table(struct objects *o, const GPtrArray *found, guint kinds);

/* Prints all fields of an object, a line for each. */
void object_sheet(struct objects *o, const struct al_snap_object *obj);

#endif
