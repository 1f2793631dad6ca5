/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The fields of objects (query_object.h). The subcommands res, qp, cq, mr, pd and ah are in
 * query_res.c. */
#include "al/tools/query_object.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>

/* A value: a number, a text, both (a code and its text), or neither. */
struct value {
	enum { ABSENT, NUL, NUMBER, TEXT } kind;
	guint64 number;
	gboolean hex; /* a number that tables show in hexadecimal form */
	char text[160];
};

struct object_field {
	const char *key;     /* member of the JSON object; NULL: in texts only */
	const char *heading; /* of texts; NULL: in JSON only */
	guint kinds;         /* for which kinds tables and JSON have the field */
	gboolean in_all;     /* the table of objects of all kinds has the field */
	void (*get)(struct objects *o, const struct al_snap_object *obj, struct value *v);
};

/* --------------------------------------------------------------------- values */

static void set_number(struct value *v, guint64 number)
{
	v->kind = NUMBER;
	v->number = number;
}

static void set_hex(struct value *v, guint64 number)
{
	set_number(v, number);
	v->hex = TRUE;
}

static void set_text(struct value *v, const char *text)
{
	v->kind = TEXT;
	g_strlcpy(v->text, text, sizeof(v->text));
}

/* As member_guid(): by hand, since a snapshot has many ids, and printf() is slow. */
static void set_id(struct value *v, guint64 id)
{
	v->kind = TEXT;
	v->text[0] = '0';
	v->text[1] = 'x';
	for (int i = 0; i < 16; i++)
		v->text[2 + i] = "0123456789abcdef"[id >> (60 - 4 * i) & 15];
	v->text[18] = '\0';
}

static void set_key(struct value *v, guint32 key)
{
	v->kind = TEXT;
	g_snprintf(v->text, sizeof(v->text), "0x%x", key);
}

static void set_gid(struct value *v, const ib_gid *gid)
{
	g_autofree char *text = tool_gid_text(gid);

	set_text(v, text);
}

/* "a/b", or "-/b" if a is not known. */
static void set_of(struct value *v, gboolean known, guint32 part, guint32 whole)
{
	v->kind = TEXT;
	if (known)
		g_snprintf(v->text, sizeof(v->text), "%u/%u", part, whole);
	else
		g_snprintf(v->text, sizeof(v->text), "-/%u", whole);
}

#define GETTER(name) \
	static void get_##name(struct objects *o, const struct al_snap_object *obj, struct value *v)

const char *object_state(const struct al_snap_object *obj)
{
	if (obj->dead)
		return "dead";
	if (obj->dying)
		return "dying";
	return obj->type == AL_OBJ_QP ? al_qp_state_str((ib_qp_state)obj->state) : "live";
}

/* ------------------------------------------------------------ of all objects */

GETTER(id)
{
	(void)o;
	set_id(v, obj->id);
}

GETTER(type)
{
	(void)o;
	set_text(v, al_object_type_str(obj->type));
}

GETTER(type_code)
{
	(void)o;
	set_number(v, obj->type);
}

GETTER(ca)
{
	gpointer index = g_hash_table_lookup(o->cas, &obj->ca_guid);

	if (index)
		set_number(v, GPOINTER_TO_UINT(index) - 1);
}

GETTER(ca_guid)
{
	(void)o;
	if (obj->ca_guid)
		set_id(v, obj->ca_guid);
}

GETTER(state)
{
	(void)o;
	set_text(v, object_state(obj));
}

GETTER(state_code)
{
	(void)o;
	set_number(v, obj->state);
}

GETTER(parent)
{
	(void)o;
	if (obj->parent)
		set_id(v, obj->parent);
	else
		v->kind = NUL;
}

GETTER(parent_type)
{
	const struct al_snap_object *parent = objects_find(o, obj->parent);

	if (obj->parent)
		set_text(v, parent ? al_object_type_str(parent->type) : "gone");
}

/* The parent by name and number. */
GETTER(within)
{
	const struct al_snap_object *parent = objects_find(o, obj->parent);

	if (!obj->parent)
		return;
	v->kind = TEXT;
	g_snprintf(v->text, sizeof(v->text), "%s 0x%" G_GINT64_MODIFIER "x",
		   parent ? al_object_type_str(parent->type) : "gone", obj->parent);
}

GETTER(users)
{
	(void)o;
	set_number(v, obj->users);
}

GETTER(pid)
{
	(void)o;
	set_number(v, (guint64)obj->pid);
}

GETTER(uid)
{
	(void)o;
	set_number(v, obj->uid);
}

GETTER(user)
{
	const char *name = g_hash_table_lookup(o->users, GUINT_TO_POINTER(obj->uid));

	if (!name) {
		/* cppcheck-suppress getpwuidCalled ; only one thread of al_query calls it */
		const struct passwd *user = getpwuid(obj->uid);
		char *clean = user ? tool_clean(user->pw_name) : g_strdup_printf("%u", obj->uid);

		g_hash_table_insert(o->users, GUINT_TO_POINTER(obj->uid), clean);
		name = clean;
	}
	set_text(v, name);
}

GETTER(command)
{
	const guchar *c = (const guchar *)obj->comm;

	(void)o;
	while (*c >= ' ' && *c < 0x7f)
		c++;
	if (!*c) {
		set_text(v, obj->comm);
	} else {
		g_autofree char *clean = tool_clean(obj->comm);

		set_text(v, clean);
	}
}

GETTER(age_ns)
{
	(void)o;
	set_number(v, obj->age_ns);
}

GETTER(age)
{
	g_autofree char *text = tool_age_text(obj->age_ns);

	(void)o;
	set_text(v, text);
}

/* --------------------------------------------------------------- queue pairs */

GETTER(qpn)
{
	(void)o;
	set_hex(v, obj->number);
}

/* A field of a detail, which an object has only if has_detail is set. */
#define DETAIL(name, member)                                                        \
	static void get_##name(struct objects *o, const struct al_snap_object *obj, \
			       struct value *v)                                     \
	{                                                                           \
		(void)o;                                                            \
		if (obj->has_detail)                                                \
			set_number(v, obj->detail.member);                          \
	}

GETTER(qp_type)
{
	(void)o;
	if (obj->has_detail)
		set_text(v, al_qp_type_str((ib_qp_type)obj->detail.qp.type));
}

static gboolean has_peer(const struct al_snap_object *obj)
{
	return obj->has_detail && obj->detail.qp.has_peer;
}

GETTER(peer_lid)
{
	(void)o;
	if (has_peer(obj))
		set_number(v, obj->detail.qp.peer_lid);
}

GETTER(peer_gid)
{
	(void)o;
	if (has_peer(obj) && obj->detail.qp.is_global)
		set_gid(v, &obj->detail.qp.peer_gid);
}

GETTER(peer)
{
	get_peer_gid(o, obj, v);
	if (v->kind == ABSENT)
		get_peer_lid(o, obj, v);
}

GETTER(peer_qpn)
{
	(void)o;
	if (has_peer(obj))
		set_hex(v, obj->detail.qp.peer_qpn);
}

GETTER(path_mtu)
{
	(void)o;
	if (has_peer(obj))
		set_number(v, ib_mtu_bytes((ib_mtu)obj->detail.qp.path_mtu));
}

GETTER(port)
{
	(void)o;
	if (obj->has_detail && obj->detail.qp.port_num)
		set_number(v, obj->detail.qp.port_num);
}

/* A number that the HCA need not tell. */
#define USAGE(name, member)                                                         \
	static void get_##name(struct objects *o, const struct al_snap_object *obj, \
			       struct value *v)                                     \
	{                                                                           \
		(void)o;                                                            \
		if (obj->has_detail && obj->detail.qp.has_usage)                    \
			set_number(v, obj->detail.qp.member);                       \
	}

DETAIL(send_depth, qp.max_send_wr)
DETAIL(recv_depth, qp.max_recv_wr)
DETAIL(qp_type_code, qp.type)
USAGE(send_outstanding, send_outstanding)
USAGE(recv_outstanding, recv_outstanding)

DETAIL(failed, qp.failed)

GETTER(failed_status)
{
	(void)o;
	if (obj->has_detail && obj->detail.qp.failed)
		set_text(v, al_wc_status_str((ib_wc_status)obj->detail.qp.failed_status));
}

GETTER(failed_wr_id)
{
	(void)o;
	if (obj->has_detail && obj->detail.qp.failed)
		set_number(v, obj->detail.qp.failed_wr_id);
}

static gboolean is_rc(const struct al_snap_object *obj)
{
	return has_peer(obj) && obj->detail.qp.type == IB_QPT_RC;
}

GETTER(retry_cnt)
{
	(void)o;
	if (is_rc(obj))
		set_number(v, obj->detail.qp.retry_cnt);
}

GETTER(rnr_retry)
{
	(void)o;
	if (is_rc(obj))
		set_number(v, obj->detail.qp.rnr_retry);
}

GETTER(retries_left)
{
	if (is_rc(obj) && obj->detail.qp.has_usage)
		set_number(v, obj->detail.qp.retries_left);
	(void)o;
}

GETTER(rnr_retries_left)
{
	if (is_rc(obj) && obj->detail.qp.has_usage)
		set_number(v, obj->detail.qp.rnr_retries_left);
	(void)o;
}

GETTER(sends)
{
	const struct al_snap_qp *qp = &obj->detail.qp;

	(void)o;
	if (obj->has_detail)
		set_of(v, qp->has_usage, qp->send_outstanding, qp->max_send_wr);
}

GETTER(receives)
{
	const struct al_snap_qp *qp = &obj->detail.qp;

	(void)o;
	if (obj->has_detail)
		set_of(v, qp->has_usage, qp->recv_outstanding, qp->max_recv_wr);
}

GETTER(retries)
{
	const struct al_snap_qp *qp = &obj->detail.qp;

	(void)o;
	if (is_rc(obj))
		set_of(v, qp->has_usage, qp->retries_left, qp->retry_cnt);
}

GETTER(rnr_retries)
{
	const struct al_snap_qp *qp = &obj->detail.qp;

	(void)o;
	if (is_rc(obj) && qp->rnr_retry == 7)
		set_text(v, "no limit");
	else if (is_rc(obj))
		set_of(v, qp->has_usage, qp->rnr_retries_left, qp->rnr_retry);
}

GETTER(send_cq)
{
	(void)o;
	if (obj->has_detail)
		set_id(v, obj->detail.qp.send_cq);
}

GETTER(recv_cq)
{
	(void)o;
	if (obj->has_detail)
		set_id(v, obj->detail.qp.recv_cq);
}

/* --------------------------------------------------------- completion queues */

GETTER(cqe)
{
	(void)o;
	set_number(v, obj->number);
}

DETAIL(used, cq.count)
DETAIL(comp_vector, cq.comp_vector)
DETAIL(armed_code, cq.armed)

GETTER(armed)
{
	(void)o;
	if (obj->has_detail)
		set_text(v, al_arm_str((al_arm)obj->detail.cq.armed));
}

GETTER(overflow)
{
	(void)o;
	if (obj->has_detail)
		set_text(v, obj->detail.cq.overflowed ? "yes" : "no");
}

/* -------------------------------------------- memory regions, address handles */

DETAIL(length, mr.length)
DETAIL(bound_windows, mr.bound_windows)
DETAIL(access_code, mr.access)

GETTER(addr)
{
	(void)o;
	if (obj->has_detail)
		set_id(v, obj->detail.mr.addr);
}

GETTER(access)
{
	static const struct {
		guint32 bit;
		const char *text;
	} bits[] = {
		{ IB_ACCESS_LOCAL_WRITE, "local-write" },
		{ IB_ACCESS_REMOTE_WRITE, "remote-write" },
		{ IB_ACCESS_REMOTE_READ, "remote-read" },
		{ IB_ACCESS_REMOTE_ATOMIC, "remote-atomic" },
		{ IB_ACCESS_MW_BIND, "mw-bind" },
	};

	(void)o;
	if (!obj->has_detail)
		return;
	set_text(v, "local-read");
	for (gsize i = 0; i < G_N_ELEMENTS(bits); i++)
		if (obj->detail.mr.access & bits[i].bit) {
			g_strlcat(v->text, ",", sizeof(v->text));
			g_strlcat(v->text, bits[i].text, sizeof(v->text));
		}
}

GETTER(lkey)
{
	(void)o;
	set_key(v, obj->number);
}

GETTER(rkey)
{
	(void)o;
	if (obj->has_detail && obj->detail.mr.rkey)
		set_key(v, obj->detail.mr.rkey);
}

DETAIL(ah_port, ah.port_num)
DETAIL(dlid, ah.lid)
DETAIL(sl, ah.sl)

GETTER(dgid)
{
	(void)o;
	if (obj->has_detail && obj->detail.ah.is_global)
		set_gid(v, &obj->detail.ah.gid);
}

/* ------------------------------------------------------------------ the table */

#define QP KIND(AL_OBJ_QP)
#define CQ KIND(AL_OBJ_CQ)
#define MR KIND(AL_OBJ_MR)
#define AH KIND(AL_OBJ_AH)

static const struct object_field fields[] = {
	{ "id", "Id", KINDS_ALL, TRUE, get_id },
	{ "type", "Kind", KINDS_ALL, TRUE, get_type },
	{ "type_code", NULL, KINDS_ALL, FALSE, get_type_code },
	{ "ca", "HCA", KINDS_ALL, TRUE, get_ca },
	{ "ca_guid", NULL, KINDS_ALL, FALSE, get_ca_guid },
	{ "state", "State", KINDS_ALL, TRUE, get_state },
	{ "state_code", NULL, QP, FALSE, get_state_code },
	{ "qpn", "QPN", QP, TRUE, get_qpn },
	{ "qp_type", "Type", QP, FALSE, get_qp_type },
	{ "qp_type_code", NULL, QP, FALSE, get_qp_type_code },
	{ "port", "Port", QP, FALSE, get_port },
	{ NULL, "Peer", QP, FALSE, get_peer },
	{ "peer_lid", NULL, QP, FALSE, get_peer_lid },
	{ "peer_gid", NULL, QP, FALSE, get_peer_gid },
	{ "peer_qpn", "Peer QPN", QP, FALSE, get_peer_qpn },
	{ "path_mtu", "MTU", QP, FALSE, get_path_mtu },
	{ NULL, "Sends", QP, FALSE, get_sends },
	{ "send_outstanding", NULL, QP, FALSE, get_send_outstanding },
	{ "send_depth", NULL, QP, FALSE, get_send_depth },
	{ NULL, "Receives", QP, FALSE, get_receives },
	{ "recv_outstanding", NULL, QP, FALSE, get_recv_outstanding },
	{ "recv_depth", NULL, QP, FALSE, get_recv_depth },
	{ NULL, "Retries", QP, FALSE, get_retries },
	{ "retries_left", NULL, QP, FALSE, get_retries_left },
	{ "retry_cnt", NULL, QP, FALSE, get_retry_cnt },
	{ NULL, "RNR", QP, FALSE, get_rnr_retries },
	{ "rnr_retries_left", NULL, QP, FALSE, get_rnr_retries_left },
	{ "rnr_retry", NULL, QP, FALSE, get_rnr_retry },
	{ "failed", "Failed", QP, FALSE, get_failed },
	{ "failed_status", "Last failure", QP, FALSE, get_failed_status },
	{ "failed_wr_id", NULL, QP, FALSE, get_failed_wr_id },
	{ "send_cq", NULL, QP, FALSE, get_send_cq },
	{ "recv_cq", NULL, QP, FALSE, get_recv_cq },
	{ "cqe", "Entries", CQ, FALSE, get_cqe },
	{ "used", "Used", CQ, FALSE, get_used },
	{ "armed", "Armed", CQ, FALSE, get_armed },
	{ "armed_code", NULL, CQ, FALSE, get_armed_code },
	{ "overflow", "Overflow", CQ, FALSE, get_overflow },
	{ "comp_vector", NULL, CQ, FALSE, get_comp_vector },
	{ "addr", NULL, MR, FALSE, get_addr },
	{ "length", "Bytes", MR, FALSE, get_length },
	{ "access", "Access", MR, FALSE, get_access },
	{ "access_code", NULL, MR, FALSE, get_access_code },
	{ "lkey", "L_Key", MR, FALSE, get_lkey },
	{ "rkey", "R_Key", MR, FALSE, get_rkey },
	{ "bound_windows", NULL, MR, FALSE, get_bound_windows },
	{ "port", "Port", AH, FALSE, get_ah_port },
	{ "dlid", "LID", AH, FALSE, get_dlid },
	{ "dgid", "GID", AH, FALSE, get_dgid },
	{ "sl", "SL", AH, FALSE, get_sl },
	{ NULL, "In", KINDS_ALL, TRUE, get_within },
	{ "parent", NULL, KINDS_ALL, FALSE, get_parent },
	{ "parent_type", NULL, KINDS_ALL, FALSE, get_parent_type },
	{ "users", "Users", KINDS_ALL, TRUE, get_users },
	{ "pid", "PID", KINDS_ALL, TRUE, get_pid },
	{ "uid", NULL, KINDS_ALL, FALSE, get_uid },
	{ "user", "User", KINDS_ALL, TRUE, get_user },
	{ "command", "Command", KINDS_ALL, TRUE, get_command },
	{ "age_ns", NULL, KINDS_ALL, FALSE, get_age_ns },
	{ NULL, "Age", KINDS_ALL, TRUE, get_age },
};

void objects_begin(struct objects *o, struct query *q)
{
	*o = (struct objects){
		.q = q,
		.by_id = g_hash_table_new(g_int64_hash, g_int64_equal),
		.cas = g_hash_table_new(g_int64_hash, g_int64_equal),
		.users = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free),
	};
	for (size_t i = 0; i < q->snap->num_objects; i++)
		g_hash_table_insert(o->by_id, (gpointer)&q->snap->objects[i].id,
				    (gpointer)&q->snap->objects[i]);
	for (guint i = 0; i < q->snap->num_cas; i++)
		g_hash_table_insert(o->cas, (gpointer)&q->snap->cas[i].guid,
				    GUINT_TO_POINTER(i + 1));
}

void objects_end(struct objects *o)
{
	g_hash_table_unref(o->by_id);
	g_hash_table_unref(o->cas);
	g_hash_table_unref(o->users);
}

const struct al_snap_object *objects_find(const struct objects *o, guint64 id)
{
	return g_hash_table_lookup(o->by_id, &id);
}

/* The field's value; FALSE: the object has none. */
static gboolean get(struct objects *o, const struct object_field *field,
		    const struct al_snap_object *obj, struct value *v)
{
	v->kind = ABSENT;
	v->hex = FALSE;
	if (field->kinds & KIND(obj->type))
		field->get(o, obj, v);
	return v->kind != ABSENT;
}

/* The value as tables show it. */
static const char *text_of(struct value *v)
{
	char *at = v->text + sizeof(v->text) - 1;
	guint64 rest = v->number;

	if (v->kind == TEXT)
		return v->text;
	if (v->kind != NUMBER)
		return "-";
	*at = '\0';
	do
		*--at = "0123456789abcdef"[rest % (v->hex ? 16 : 10)];
	while (rest /= v->hex ? 16 : 10);
	if (v->hex) {
		*--at = 'x';
		*--at = '0';
	}
	return at;
}

/* ------------------------------------------------------------------- --where */

gboolean object_condition_parse(struct object_condition *to, const char *text, GError **err)
{
	const char *equals = strchr(text, '=');
	g_autoptr(GString) keys = g_string_new(NULL);

	for (gsize i = 0; i < G_N_ELEMENTS(fields); i++) {
		if (!fields[i].key)
			continue;
		if (equals && strlen(fields[i].key) == (gsize)(equals - text) &&
		    !strncmp(text, fields[i].key, (gsize)(equals - text))) {
			to->field = &fields[i];
			to->value = equals + 1;
			return TRUE;
		}
		g_string_append_printf(keys, "%s%s", keys->len ? " " : "", fields[i].key);
	}
	return tool_misuse(err, "--where %s: must be KEY=VALUE, where KEY is one of %s", text,
			   keys->str);
}

/* Fields of the same key, such as the port of queue pairs and of address handles, are one. */
gboolean object_meets(struct objects *o, const struct al_snap_object *obj,
		      const struct object_condition *condition)
{
	guint64 number;
	struct value v;

	for (gsize i = 0; i < G_N_ELEMENTS(fields); i++) {
		if (g_strcmp0(fields[i].key, condition->field->key) || !get(o, &fields[i], obj, &v))
			continue;
		if (v.kind == NUMBER)
			return tool_parse_number(condition->value, 0, G_MAXUINT64, &number) &&
			       number == v.number;
		if (v.kind == TEXT && !g_ascii_strcasecmp(v.text, condition->value))
			return TRUE;
		/* an id or a key, in another spelling */
		return v.kind == TEXT && g_str_has_prefix(v.text, "0x") &&
		       tool_parse_number(condition->value, 0, G_MAXUINT64, &number) &&
		       number == g_ascii_strtoull(v.text, NULL, 16);
	}
	return FALSE;
}

/* ----------------------------------------------------------------------- forms */

static void append_value(GString *to, struct value *v)
{
	if (v->kind == NUL) {
		g_string_append(to, "null");
		return;
	}
	if (v->kind == NUMBER) {
		v->hex = v->number > MEMBER_MOST;
		if (!v->hex) {
			g_string_append(to, text_of(v));
			return;
		}
	}
	json_append_string(to, text_of(v));
}

static void append_row(GString *to, struct objects *o, const struct al_snap_object *obj,
		       gboolean pretty)
{
	const char *before = pretty ? "\n    {\n      \"" : "{\"";
	struct value v;

	for (gsize i = 0; i < G_N_ELEMENTS(fields); i++) {
		if (!fields[i].key || !get(o, &fields[i], obj, &v))
			continue;
		g_string_append(to, before);
		g_string_append(to, fields[i].key);
		g_string_append(to, pretty ? "\" : " : "\":");
		append_value(to, &v);
		before = pretty ? ",\n      \"" : ",\"";
	}
	g_string_append(to, pretty ? "\n    }" : "}");
}

void objects_print_json(struct query *q, gboolean pretty)
{
	g_autoptr(GString) text = g_string_new("[");
	struct objects o;

	objects_begin(&o, q);
	for (guint i = 0; i < q->found->len; i++) {
		if (i)
			g_string_append_c(text, ',');
		append_row(text, &o, g_ptr_array_index(q->found, i), pretty);
		if (text->len > 1 << 16) {
			fwrite(text->str, 1, text->len, stdout);
			g_string_truncate(text, 0);
		}
	}
	objects_end(&o);
	g_string_append(text, pretty && q->found->len ? "\n  ]" : "]");
	fwrite(text->str, 1, text->len, stdout);
}

static gboolean is_column(const struct object_field *field, guint kinds)
{
	if (!field->heading)
		return FALSE;
	return kinds == KINDS_ALL ? field->in_all
				  : (field->kinds & kinds) && field->get != get_type;
}

static void pad(GString *line, int blanks)
{
	for (; blanks > 0; blanks--)
		g_string_append_c(line, ' ');
}

static void add_cell(GString *line, const char *text, int width, gboolean right, const char *colour)
{
	const int blanks = width - tool_width(text);

	if (line->len)
		g_string_append(line, "  ");
	if (right)
		pad(line, blanks);
	if (colour)
		g_string_append(line, colour);
	g_string_append(line, text);
	if (colour)
		g_string_append(line, COLOUR_OFF);
	if (!right)
		pad(line, blanks);
}

static void print_line(GString *line)
{
	gsize len = line->len;

	while (len && line->str[len - 1] == ' ')
		len--;
	fwrite(line->str, 1, len, stdout);
	putchar('\n');
	g_string_truncate(line, 0);
}

void objects_table(struct objects *o, const GPtrArray *found, guint kinds)
{
	struct {
		const struct object_field *field;
		int width;
		gboolean right;
	} columns[G_N_ELEMENTS(fields)];
	g_autoptr(GString) cells = g_string_new(NULL), line = g_string_new(NULL);
	const char *cell;
	guint num = 0;
	struct value v;

	for (gsize i = 0; i < G_N_ELEMENTS(fields); i++)
		if (is_column(&fields[i], kinds)) {
			columns[num].field = &fields[i];
			columns[num].right = FALSE;
			columns[num++].width = tool_width(fields[i].heading);
		}
	/* All cells, each with a zero byte behind it: the widths are known after the last. */
	for (guint r = 0; r < found->len; r++)
		for (guint c = 0; c < num; c++) {
			const char *text;

			get(o, columns[c].field, g_ptr_array_index(found, r), &v);
			text = text_of(&v);
			columns[c].right |= v.kind == NUMBER;
			columns[c].width = MAX(columns[c].width, tool_width(text));
			g_string_append_len(cells, text, (gssize)strlen(text) + 1);
		}
	for (guint c = 0; c < num; c++)
		add_cell(line, columns[c].field->heading, columns[c].width, columns[c].right,
			 o->q->colour ? COLOUR_BOLD : NULL);
	print_line(line);
	cell = cells->str;
	for (guint r = 0; r < found->len; r++) {
		for (guint c = 0; c < num; c++) {
			gboolean coloured = o->q->colour && columns[c].field->get == get_state;

			add_cell(line, cell, columns[c].width, columns[c].right,
				 coloured ? colour_state(cell) : NULL);
			cell += strlen(cell) + 1;
		}
		print_line(line);
	}
}

void object_sheet(struct objects *o, const struct al_snap_object *obj)
{
	struct value v;

	for (gsize i = 0; i < G_N_ELEMENTS(fields); i++) {
		const char *name = fields[i].heading ? fields[i].heading : fields[i].key;

		if (fields[i].get == get_age_ns || !get(o, &fields[i], obj, &v))
			continue;
		printf("%-18s %s\n", name, text_of(&v));
	}
}
