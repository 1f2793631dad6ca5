/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * al_query events: a line for each event, read from a channel in GLib's main loop. An HCA's own
 * asynchronous events come only while the HCA is open. So a second registration, the keeper, opens
 * an HCA at its arrival and closes it at its removal. The keeper uses callbacks: a reader of a
 * channel would close the HCA too late.
 */
#include <glib-unix.h>
#include <signal.h>
#include <stdio.h>

#include "al/tools/query.h"

struct listener {
	struct query *q;
	GMainLoop *loop;
	GSource *source;
	al_channel_h channel;
	al_pnp_h pnp;      /* of the events that are shown */
	al_pnp_h keeper;   /* opens and closes HCAs */
	GHashTable *cas;   /* GUID -> struct watched; the keeper's, on the PnP thread */
	GArray *only;      /* GUIDs of --ca; empty: all */
	gboolean replayed; /* all that was there at the beginning has been told */
	gint shown;
};

/* An HCA that the keeper has opened. */
struct watched {
	guint64 guid;
	al_ca_h ca;
	al_event_handler_h handler;
};

/* TRUE: --ca is not given, or names this HCA. */
static gboolean is_asked_for(const struct listener *l, guint64 guid)
{
	for (guint i = 0; i < l->only->len; i++)
		if (g_array_index(l->only, guint64, i) == guid)
			return TRUE;
	return !l->only->len || !guid;
}

/* source: "pnp" or "async", which says of which enumeration the code is. */
static void print_event(struct listener *l, guint64 guid, guint port, const char *source,
			guint code, const char *what)
{
	g_autoptr(GDateTime) now = g_date_time_new_now_local();
	g_autofree char *time = g_date_time_format(now, "%Y-%m-%dT%H:%M:%S.%f%:z"), *ca = tool_guid_text(guid);
	JsonObject *line;

	if (!is_asked_for(l, guid))
		return;
	if (l->q->port && port && (guint)l->q->port != port)
		return;
	l->shown++;
	if (!l->q->json) {
		printf("%s  HCA %s", time, guid ? ca : "-                 ");
		if (port)
			printf("  port %-3u  %s\n", port, what);
		else
			printf("  %-8s  %s\n", "", what);
		fflush(stdout);
		return;
	}
	line = json_object_new();
	json_object_set_int_member(line, "schema", TOOL_SCHEMA);
	json_object_set_string_member(line, "time", time);
	if (guid)
		json_object_set_string_member(line, "ca_guid", ca);
	if (port)
		json_object_set_int_member(line, "port", port);
	json_object_set_string_member(line, "event", what);
	json_object_set_string_member(line, "source", source);
	json_object_set_int_member(line, "code", code);
	json_object_set_boolean_member(line, "replay", !l->replayed);
	query_print_line(line);
}

static void unwatch(gpointer data)
{
	struct watched *w = data;

	if (w->handler)
		al_dereg_event_handler(w->handler, AL_DESTROY_SYNC, NULL);
	if (w->ca)
		al_close_ca(w->ca, AL_DESTROY_SYNC, NULL);
	g_free(w);
}

static al_status watch_ca(struct listener *l, guint64 guid)
{
	struct watched *w = g_new0(struct watched, 1);
	al_status st;

	w->guid = guid;
	st = al_open_ca(l->q->al, guid, NULL, &w->ca);
	if (!st)
		st = al_reg_event_handler(w->ca, l->channel, w, NULL, &w->handler);
	if (!st) {
		g_hash_table_insert(l->cas, &w->guid, w);
		return AL_SUCCESS;
	}
	fprintf(stderr, "al_query: HCA 0x%016" G_GINT64_MODIFIER "x: its own events cannot be heard: %s\n", guid,
		al_status_str(st));
	unwatch(w);
	return st;
}

/* The keeper's callback, which may sleep. */
static al_status keep(void *context, const struct al_pnp_event *event)
{
	struct listener *l = context;

	if (event->type == AL_PNP_CA_ADD)
		return watch_ca(l, event->ca_guid);
	if (event->type == AL_PNP_CA_REMOVE)
		g_hash_table_remove(l->cas, &event->ca_guid);
	return AL_SUCCESS;
}

/* Shows an asynchronous event of an HCA. Events of ports are left out: they come as PnP events too,
 * in order and with their replay. */
static void on_async(struct listener *l, const struct al_event *event)
{
	if (event->object != AL_OBJ_NONE || !event->port_num)
		print_event(l, event->ca_guid, event->port_num, "async", (guint)event->type,
			    al_event_type_str(event->type));
}

static gboolean on_readable(gint fd, GIOCondition condition, gpointer data)
{
	struct al_channel_event event;
	struct listener *l = data;

	(void)fd;
	(void)condition;
	while ((!l->q->count || l->shown < l->q->count) && al_channel_next(l->channel, &event) == AL_SUCCESS) {
		if (event.type == AL_CHANNEL_PNP) {
			print_event(l, event.pnp.ca_guid, event.pnp.port_num, "pnp",
				    (guint)event.pnp.type, al_pnp_type_str(event.pnp.type));
			l->replayed |= event.pnp.type == AL_PNP_REPLAY_COMPLETE;
		} else if (event.type == AL_CHANNEL_ASYNC)
			on_async(l, &event.async);
	}
	if ((l->q->count && l->shown >= l->q->count) || ferror(stdout))
		g_main_loop_quit(l->loop);
	return G_SOURCE_CONTINUE;
}

static gboolean on_end(gpointer loop)
{
	g_main_loop_quit(loop);
	return G_SOURCE_CONTINUE;
}

/* Reads --ca: a GUID, also of an HCA that has not arrived yet, or the index or description of a
 * present HCA. */
static gboolean choose(struct listener *l)
{
	gboolean good = TRUE;

	for (char **name = l->q->cas; good && name && *name; name++) {
		const struct al_snap_ca *ca;
		guint64 guid;
		al_status st;

		if (tool_parse_guid(*name, &guid)) {
			g_array_append_val(l->only, guid);
			continue;
		}
		st = al_snapshot(l->q->al, &l->q->snap);
		if (st) {
			query_error(l->q, TOOL_FAILED, "the HCAs and objects cannot be listed: %s",
				    al_status_str(st));
			return FALSE;
		}
		ca = query_find_ca(l->q, *name);
		if (ca)
			g_array_append_val(l->only, ca->guid);
		good = ca != NULL;
		al_free_snapshot(l->q->snap);
		l->q->snap = NULL;
	}
	return good;
}

static gboolean listen_to(struct listener *l)
{
	struct al_pnp_attr attr = { .ports = true };
	al_status st;
	int fd;

	st = al_create_channel(l->q->al, NULL, &l->channel);
	if (!st)
		st = al_channel_fd(l->channel, &fd);
	attr.channel = l->channel;
	if (!st)
		st = al_reg_pnp(l->q->al, &attr, NULL, NULL, &l->pnp);
	if (!st)
		st = al_reg_pnp(l->q->al, NULL, l, keep, &l->keeper);
	if (st) {
		query_error(l->q, TOOL_FAILED, "events cannot be heard: %s", al_status_str(st));
		return FALSE;
	}
	l->source = g_unix_fd_source_new(fd, G_IO_IN);
	g_source_set_callback(l->source, G_SOURCE_FUNC(on_readable), l, NULL);
	g_source_attach(l->source, NULL);
	return TRUE;
}

static void stop_listening(struct listener *l)
{
	if (l->source) {
		g_source_destroy(l->source);
		g_source_unref(l->source);
	}
	if (l->keeper)
		al_dereg_pnp(l->keeper, AL_DESTROY_SYNC, NULL);
	if (l->pnp)
		al_dereg_pnp(l->pnp, AL_DESTROY_SYNC, NULL);
	g_hash_table_unref(l->cas);
	if (l->channel)
		al_destroy_channel(l->channel, AL_DESTROY_SYNC, NULL);
}

void run_events(struct query *q)
{
	struct listener l = { .q = q };

	if (!query_open(q))
		return;
	l.loop = g_main_loop_new(NULL, FALSE);
	l.only = g_array_new(FALSE, FALSE, sizeof(guint64));
	l.cas = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, unwatch);
	if (choose(&l) && listen_to(&l)) {
		g_unix_signal_add(SIGINT, on_end, l.loop);
		g_unix_signal_add(SIGTERM, on_end, l.loop);
		if (q->timeout)
			g_timeout_add((guint)(q->timeout * 1000), on_end, l.loop);
		g_main_loop_run(l.loop);
	}
	stop_listening(&l);
	g_main_loop_unref(l.loop);
	g_array_unref(l.only);
	al_close(q->al, AL_DESTROY_SYNC, NULL);
}
