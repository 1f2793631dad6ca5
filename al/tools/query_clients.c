/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* al_query clients: the agent's clients and users, and for each resource its use, its highest use
 * and its limit, and what users may have of the agent's budgets. */
#include <pwd.h>
#include <stdio.h>

#include "al/tools/query.h"

/* ------------------------------------------------------------------ collect */

/* A limit, or null where there is none. */
static void member_limit(JsonObject *to, const char *name, guint64 limit)
{
	if (limit < G_GUINT64_CONSTANT(1) << 53)
		member_u64(to, name, limit);
	else
		json_object_set_null_member(to, name);
}

static void add_use(JsonObject *to, const struct al_snap_use *use, const char *name, bool of_user)
{
	JsonObject *row = json_object_new();

	json_object_set_object_member(to, name, row);
	member_u64(row, "now", use->now);
	member_u64(row, "high", use->high);
	member_limit(row, "limit", use->limit);
	if (of_user)
		member_limit(row, "share", use->share);
	member_u64(row, "refused", use->refused);
}

static void add_client(const struct al_snap_client *client, JsonArray *to)
{
	/* cppcheck-suppress getpwuidCalled ; only one thread of al_query calls it */
	const struct passwd *user = getpwuid(client->uid);
	g_autofree char *number = g_strdup_printf("%u", client->uid);
	JsonObject *row = json_object_new(), *use = json_object_new();

	json_array_add_object_element(to, row);
	if (client->pid) {
		json_object_set_int_member(row, "pid", client->pid);
		member_text(row, "command", client->comm);
	}
	json_object_set_int_member(row, "uid", client->uid);
	member_text(row, "user", user ? user->pw_name : number);
	member_u64(row, "refused", client->refused);
	json_object_set_object_member(row, "use", use);
	/* AL_RESOURCE_CLIENTS is a resource of users only. */
	for (int r = client->pid ? AL_RESOURCE_CLIENTS + 1 : 0; r < AL_RESOURCES; r++)
		add_use(use, &client->use[r], al_resource_str((al_resource)r), !client->pid);
}

void collect_clients(struct query *q)
{
	JsonArray *clients = query_array(q, "clients"), *users = query_array(q, "users");

	for (size_t i = 0; i < q->snap->num_clients; i++)
		if (!q->pid || q->pid == q->snap->clients[i].pid)
			add_client(&q->snap->clients[i], clients);
	for (size_t i = 0; i < q->snap->num_users; i++)
		add_client(&q->snap->users[i], users);
}

/* --------------------------------------------------------------------- show */

/* The text of an amount: bytes rounded up, such as "1536M"; other resources as plain numbers. */
static char *amount_text(JsonObject *use, const char *member)
{
	guint64 value;
	int unit = 0;

	if (json_object_get_null_member(use, member))
		return g_strdup("-");
	value = (guint64)json_object_get_int_member(use, member);
	for (; value >= 10240 && unit < 3; unit++)
		value = (value + 1023) / 1024;
	return g_strdup_printf("%" G_GUINT64_FORMAT "%.1s", value, unit ? &"KMG"[unit - 1] : "");
}

/* A row for each account, with "now/high" of each resource. */
static JsonArray *texts_of(JsonArray *rows)
{
	JsonArray *texts = json_array_new();

	for (guint i = 0; i < json_array_get_length(rows); i++) {
		JsonObject *row = json_array_get_object_element(rows, i), *use = json_object_get_object_member(row, "use");
		JsonObject *text = json_object_new();
		static const char *const same[] = { "pid", "command", "user", "refused" };

		for (guint k = 0; k < G_N_ELEMENTS(same); k++)
			if (json_object_has_member(row, same[k]))
				json_object_set_member(text, same[k], json_node_copy(json_object_get_member(row, same[k])));
		for (int r = 0; r < AL_RESOURCES; r++) {
			const char *name = al_resource_str((al_resource)r);
			g_autofree char *now = NULL, *high = NULL, *both = NULL;

			if (!json_object_has_member(use, name))
				continue;
			now = amount_text(json_object_get_object_member(use, name), "now");
			high = amount_text(json_object_get_object_member(use, name), "high");
			both = g_strdup_printf("%s/%s", now, high);
			json_object_set_string_member(text, name, both);
		}
		json_array_add_object_element(texts, text);
	}
	return texts;
}

#define RESOURCE_COLUMNS                                                                  \
	{ "connections", "Conns", NULL, NULL }, { "pds", "PDs", NULL, NULL },             \
		{ "mrs", "MRs", NULL, NULL }, { "cqs", "CQs", NULL, NULL },               \
		{ "qps", "QPs", NULL, NULL }, { "bytes", "Bytes", NULL, NULL },           \
		{ "rings", "Rings", NULL, NULL }, { "mcasts", "Mcasts", NULL, NULL },     \
		{ "mad_svcs", "MADs", NULL, NULL }, { "refused", "Refused", NULL, NULL }, \
	{                                                                                 \
		NULL, NULL, NULL, NULL                                                    \
	}

static void show_rows(struct query *q, const char *name, const struct query_column *columns)
{
	g_autoptr(JsonArray) texts = texts_of(json_object_get_array_member(q->out, name));

	query_table(q, "", texts, columns);
}

/* The limits of clients and of users, taken from the first account: each client, and each user, has
 * the same limits. */
static void show_limits(struct query *q)
{
	static const struct query_column columns[] = {
		{ "what", "Limit", NULL, NULL },
		{ "clients", "Client", NULL, NULL },
		{ "users", "User", NULL, NULL },
		{ NULL, NULL, NULL, NULL },
	};
	static const char *const of[] = { "clients", "users" };
	g_autoptr(JsonArray) rows = json_array_new();

	for (int r = 0; r < AL_RESOURCES; r++) {
		const char *what = al_resource_str((al_resource)r);
		JsonObject *row = json_object_new();

		json_object_set_string_member(row, "what", what);
		for (int i = 0; i < 2; i++) {
			JsonObject *first =
				json_array_get_object_element(json_object_get_array_member(q->out, of[i]), 0);
			JsonObject *use = json_object_get_object_member(first, "use");
			g_autofree char *limit = json_object_has_member(use, what) ?
				amount_text(json_object_get_object_member(use, what), "limit") : g_strdup("-");

			json_object_set_string_member(row, of[i], limit);
		}
		json_array_add_object_element(rows, row);
	}
	query_table(q, "", rows, columns);
}

/* What users have of the agent's budgets: a row for each resource of which a user has some or was
 * refused some. */
static void show_shares(struct query *q)
{
	static const struct query_column columns[] = {
		{ "user", "User", NULL, NULL },	      { "what", "Budget", NULL, NULL }, { "now", "Now", NULL, NULL },
		{ "share", "Share", NULL, NULL }, { "refused", "Refused", NULL, NULL }, { NULL, NULL, NULL, NULL },
	};
	JsonArray *users = json_object_get_array_member(q->out, "users");
	g_autoptr(JsonArray) rows = json_array_new();

	for (guint i = 0; i < json_array_get_length(users); i++) {
		JsonObject *user = json_array_get_object_element(users, i);
		JsonObject *uses = json_object_get_object_member(user, "use");

		for (int r = 0; r < AL_RESOURCES; r++) {
			const char *what = al_resource_str((al_resource)r);
			JsonObject *use = json_object_get_object_member(uses, what), *row;
			g_autofree char *now = amount_text(use, "now"), *share = amount_text(use, "share");

			if (json_object_get_null_member(use, "share") ||
			    (!json_object_get_int_member(use, "now") && !json_object_get_int_member(use, "refused")))
				continue;
			row = json_object_new();
			json_object_set_member(row, "user", json_node_copy(json_object_get_member(user, "user")));
			json_object_set_string_member(row, "what", what);
			json_object_set_string_member(row, "now", now);
			json_object_set_string_member(row, "share", share);
			json_object_set_member(row, "refused", json_node_copy(json_object_get_member(use, "refused")));
			json_array_add_object_element(rows, row);
		}
	}
	query_table(q, "", rows, columns);
}

void show_clients(struct query *q)
{
	static const struct query_column clients[] = {
		{ "pid", "PID", NULL, NULL }, { "user", "User", NULL, NULL }, { "command", "Command", NULL, NULL },
		RESOURCE_COLUMNS
	};
	static const struct query_column users[] = {
		{ "user", "User", NULL, NULL }, { "clients", "Clients", NULL, NULL }, RESOURCE_COLUMNS
	};

	if (!q->snap->num_clients) {
		puts("No agent serves this process: its HCAs are its own. (ald(8) says how processes share them.)");
		return;
	}
	if (!json_array_get_length(json_object_get_array_member(q->out, "clients"))) {
		puts("No such client, or it is another user's.");
		return;
	}
	show_rows(q, "clients", clients);
	putchar('\n');
	show_rows(q, "users", users);
	putchar('\n');
	show_limits(q);
	putchar('\n');
	show_shares(q);
	puts("\n(Of each: now/most so far. A share is the most that the user may have as long as the others have what they have.\n"
	     "Others' clients are shown to whom ald lets manage.)");
}
