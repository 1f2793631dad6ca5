/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * al_query fault: explains rules of the software HCA's faults, or shows where they are wrong; lists
 * and replaces the rules in force; pulls and plugs cables, and reboots switches. The module itself
 * does all this, by vendor calls.
 */
#include <stdio.h>
#include <string.h>

#include "al/tools/query.h"
#include <iba/ib_soft.h>

#define DEMANDS_TEST "the agent demands the right test, see ald(8)"

/* A vendor call that any software HCA answers for its whole module. */
struct soft_call {
	uint32_t code;
	const void *in;
	uint32_t in_len;
	void *out;
	uint32_t out_len;
};

/* Finds a software HCA. The HCA of another module may use the number of the vendor call for another
 * call. */
static al_status ask(const struct query *q, const struct soft_call *call)
{
	uint32_t len = call->out_len;
	al_status st = AL_NOT_FOUND;
	al_ca_h ca;

	for (size_t i = 0; i < q->snap->num_cas && st; i++) {
		if (strcmp(q->snap->cas[i].module, "soft"))
			continue;
		st = al_open_ca(q->al, q->snap->cas[i].guid, NULL, &ca);
		if (st)
			continue;
		st = al_vendor_call(ca, call->code, call->in, call->in_len, call->out, &len);
		al_close_ca(ca, AL_DESTROY_SYNC, NULL);
	}
	return st;
}

/* Opens the library and takes a snapshot. */
static al_status open_library(struct query *q)
{
	al_status st = al_open(NULL, &q->al);

	if (st)
		return st;
	st = al_snapshot(q->al, &q->snap);
	if (st)
		al_close(q->al, AL_DESTROY_SYNC, NULL);
	return st;
}

static void close_library(struct query *q)
{
	al_free_snapshot(q->snap);
	q->snap = NULL;
	al_close(q->al, AL_DESTROY_SYNC, NULL);
}

/* TRUE: the HCAs of the snapshot are an agent's. */
static gboolean is_agents(const struct query *q)
{
	return q->snap->num_clients != 0;
}

static void report(struct query *q, const char *what, al_status st)
{
	if (st == AL_PERMISSION)
		query_error(q, TOOL_FAILED, "fault %s: " DEMANDS_TEST, what);
	else
		query_error(
			q, TOOL_FAILED,
			"fault %s: no software HCA can be asked: %s; \"al_query doctor\" says more",
			what, al_status_str(st));
}

/* ---------------------------------------------------------------------- check */

/* The rules of the command line, else of IBAL_FAULT. FALSE: query_error() has reported that there
 * are none, or that they are too long. */
static gboolean find_rules(struct query *q, struct soft_fault_text *text)
{
	const char *rules = q->args[1] ? q->args[1] : g_getenv("IBAL_FAULT");

	if (!rules)
		query_error(q, TOOL_USAGE,
			    "fault %s: which rules? al_query fault %s 'RULES', or set IBAL_FAULT",
			    q->args[0], q->args[0]);
	else if (g_strlcpy(text->text, rules, sizeof(text->text)) < sizeof(text->text))
		return TRUE;
	else
		query_error(q, TOOL_USAGE,
			    "fault %s: the rules are too long: at most %d characters", q->args[0],
			    SOFT_FAULT_TEXT - 1);
	return FALSE;
}

/* Prints the rules, and a mark under the character at which they are wrong. */
static void show_place(const char *rules, uint32_t at)
{
	g_autofree char *begin = g_strndup(rules, at), *before = tool_clean(begin),
			*all = tool_clean(rules);

	fprintf(stderr, "  %s\n  %*s^\n", all, tool_width(before), "");
}

static void show_words(struct query *q, const struct soft_fault_words *words)
{
	JsonArray *array = query_array(q, "rules");

	for (uint32_t i = 0; i < words->num; i++) {
		json_array_add_string_element(array, words->words[i]);
		if (!q->json)
			printf("%u. %s\n", i + 1, words->words[i]);
	}
	if (!words->num && !*words->why && !q->json)
		puts("There are no rules.");
}

static void show_error(struct query *q, const char *what, const char *rules,
		       const struct soft_fault_words *words)
{
	fflush(stdout);
	query_error(q, TOOL_USAGE, "fault %s: at character %u: %s", what, words->at + 1,
		    words->why);
	json_object_set_int_member(q->out, "at", words->at);
	show_place(rules, words->at);
}

static void say(struct query *q, const char *rules, gboolean agents,
		const struct soft_fault_words *words)
{
	show_words(q, words);
	json_object_set_boolean_member(q->out, "agent", agents);
	if (!q->json)
		printf("Compared with the HCAs and switches of %s.\n",
		       agents ? "the agent" : "this shell's settings, since no agent can be asked");
	if (*words->why)
		show_error(q, "check", rules, words);
}

static al_status explain(struct query *q, const struct soft_fault_text *text,
			 struct soft_fault_words *words, gboolean *agents)
{
	const struct soft_call call = { SOFT_FAULT_EXPLAIN, text, sizeof(*text), words,
					sizeof(*words) };
	al_status st = open_library(q);

	if (st)
		return st;
	*agents = is_agents(q);
	st = ask(q, &call);
	close_library(q);
	return st;
}

/* Rules are for the HCAs and switches of the agent, or if no agent can be asked, for those that a
 * program of this shell would have. */
static void check(struct query *q)
{
	struct soft_fault_text text = { "" };
	struct soft_fault_words words;
	gboolean agents = g_strcmp0(g_getenv("IBAL_AGENT"), "off") != 0;
	al_status st;

	if (!find_rules(q, &text))
		return;
	/* Wrong rules in IBAL_FAULT would keep this process's own HCAs from starting. */
	g_unsetenv("IBAL_FAULT");
	st = explain(q, &text, &words, &agents);
	if (st && agents) {
		g_setenv("IBAL_AGENT", "off", TRUE);
		st = explain(q, &text, &words, &agents);
	}
	if (st)
		report(q, "check", st);
	else
		say(q, text.text, agents, &words);
}

/* ----------------------------------------------------------------------- list */

static void add_rule(JsonArray *rules, const struct soft_fault_state *rule)
{
	JsonObject *row = json_object_new();

	json_array_add_object_element(rules, row);
	member_guid(row, "guid", rule->guid);
	if (rule->met != SOFT_NOT_COUNTED)
		member_u64(row, "met", rule->met);
	else
		json_object_set_null_member(row, "met");
	member_text(row, "text", rule->words);
}

static al_status collect_rules(const struct query *q, JsonArray *rules)
{
	struct soft_fault_list list;
	uint32_t first = 0;
	al_status st;

	do {
		st = ask(q, &(struct soft_call){ SOFT_FAULT_LIST, &first, sizeof(first), &list,
						 sizeof(list) });
		for (uint32_t i = 0; !st && i < SOFT_FAULT_RULES && first + i < list.num; i++)
			add_rule(rules, &list.rules[i]);
		first += SOFT_FAULT_RULES;
	} while (!st && first < list.num);
	return st;
}

static void show_rules(struct query *q, JsonArray *rules)
{
	static const struct query_column columns[] = {
		{ "guid", "Node", NULL, NULL },
		{ "met", "Met", NULL, NULL },
		{ "text", "Rule", NULL, NULL },
		{ NULL, NULL, NULL, NULL },
	};
	const char *whose = is_agents(q) ? "the agent's" : "this process's own";

	if (!json_array_get_length(rules)) {
		printf("There are no rules for %s HCAs and switches.\n", whose);
		return;
	}
	printf("Rules for %s HCAs and switches:\n", whose);
	query_table(q, "", rules, columns);
}

static void list(struct query *q)
{
	JsonArray *rules = query_array(q, "in_force");
	al_status st = open_library(q);

	if (st) {
		report(q, "list", st);
		return;
	}
	st = collect_rules(q, rules);
	json_object_set_boolean_member(q->out, "agent", is_agents(q));
	if (st)
		report(q, "list", st);
	else if (!q->json)
		show_rules(q, rules);
	close_library(q);
}

/* --------------------------------------------------------------------- changes */

/* Opens an agent's library: the HCAs of this process end with the process, and a change of theirs,
 * too. FALSE: query_error() has reported why not. */
static gboolean open_agents(struct query *q)
{
	al_status st = open_library(q);

	if (st) {
		report(q, q->args[0], st);
		return FALSE;
	}
	if (is_agents(q))
		return TRUE;
	query_error(
		q, TOOL_FAILED,
		"fault %s: there is no agent, and the HCAs of this process end with it; \"al_run "
		"al_query fault %s\" asks your own agent, and IBAL_FAULT is for single programs",
		q->args[0], q->args[0]);
	close_library(q);
	return FALSE;
}

static void set(struct query *q)
{
	struct soft_fault_text text = { "" };
	struct soft_fault_words words;
	const struct soft_call call = { SOFT_FAULT_SET, &text, sizeof(text), &words,
					sizeof(words) };
	al_status st;

	if (!find_rules(q, &text) || !open_agents(q))
		return;
	st = ask(q, &call);
	if (st) {
		report(q, "set", st);
	} else {
		show_words(q, &words);
		if (*words.why)
			show_error(q, "set", text.text, &words);
	}
	close_library(q);
}

/* The GUID of --ca. FALSE: query_error() has reported that there is no such HCA. */
static gboolean find_guid(struct query *q, guint64 *guid)
{
	const struct al_snap_ca *snap;

	if (tool_parse_guid(q->ca, guid))
		return TRUE; /* perhaps of a switch, which is no HCA of the snapshot */
	snap = query_find_ca(q, q->ca);
	*guid = snap ? snap->guid : 0;
	return snap != NULL;
}

/* TRUE: the GUID is that of another module's HCA. Only the software HCA has switches. */
static gboolean is_foreign(const struct query *q, guint64 guid)
{
	for (size_t i = 0; i < q->snap->num_cas; i++)
		if (q->snap->cas[i].guid == guid)
			return strcmp(q->snap->cas[i].module, "soft") != 0;
	return FALSE;
}

static void explain_change(struct query *q, al_status st)
{
	const char *why = al_status_str(st);

	if (st == AL_PERMISSION)
		why = DEMANDS_TEST;
	else if (st == AL_INVALID_PORT)
		why = "there is no such port, or it is port 0 of a switch";
	else if (st == AL_NOT_FOUND)
		why = "there is no such HCA or switch";
	else if (st == AL_UNSUPPORTED)
		why = "it is no software HCA, or no switch";
	query_error(q, st == AL_PERMISSION ? TOOL_FAILED : TOOL_USAGE, "fault %s --ca %s: %s",
		    q->args[0], q->ca, why);
}

/* A change of one HCA or switch. */
static const struct change {
	const char *name;
	uint32_t code;
	gboolean of_port;
	const char *done;
} changes[] = {
	{ "pull", SOFT_PORT_DOWN, TRUE, "The cable is pulled." },
	{ "plug", SOFT_PORT_UP, TRUE, "The cable is plugged in." },
	{ "reboot", SOFT_REBOOT, FALSE,
	  "The switch has lost what its subnet manager had set, and its ports come up." },
};

static al_status call_node(const struct query *q, guint64 guid, const struct change *change)
{
	const uint32_t port = (uint32_t)q->port;
	uint32_t none = 0;
	al_ca_h ca;
	al_status st;

	if (is_foreign(q, guid))
		return AL_UNSUPPORTED;
	st = al_open_ca(q->al, guid, NULL, &ca);
	if (st)
		return st;
	st = al_vendor_call(ca, change->code, &port, change->of_port ? sizeof(port) : 0, NULL,
			    &none);
	al_close_ca(ca, AL_DESTROY_SYNC, NULL);
	return st;
}

static void carry_out(struct query *q, const struct change *change)
{
	guint64 guid;
	al_status st;

	if (!open_agents(q))
		return;
	if (find_guid(q, &guid)) {
		st = call_node(q, guid, change);
		if (st)
			explain_change(q, st);
		else if (!q->json)
			puts(change->done);
	}
	close_library(q);
}

static const struct change *find_change(const char *name)
{
	for (gsize i = 0; name && i < G_N_ELEMENTS(changes); i++)
		if (!strcmp(name, changes[i].name))
			return &changes[i];
	return NULL;
}

/* ------------------------------------------------------------------- the command */

static gboolean is_right(struct query *q, const struct change *change)
{
	const char *what = q->args[0];

	if (change && (!q->ca || (q->port != 0) != change->of_port || q->args[1]))
		query_error(q, TOOL_USAGE, "fault %s: al_query fault %s --ca GUID%s", what, what,
			    change->of_port ? " --port N" : " of a switch, and no port");
	else if (!change && (q->ca || q->port))
		query_error(
			q, TOOL_USAGE,
			"fault %s: --ca and --port mean nothing here; rules have hca=, switch= and port=",
			what ? what : "");
	else
		return TRUE;
	return FALSE;
}

void run_fault(struct query *q)
{
	const char *what = q->args[0];
	const struct change *change = find_change(what);

	if (!is_right(q, change))
		;
	else if (change)
		carry_out(q, change);
	else if (what && !strcmp(what, "check"))
		check(q);
	else if (what && !strcmp(what, "set"))
		set(q);
	else if (what && !strcmp(what, "list") && !q->args[1])
		list(q);
	else
		query_error(
			q, TOOL_USAGE,
			"fault: what is to be done? al_query fault check 'RULES', fault list, fault "
			"set 'RULES', fault pull, fault plug, or fault reboot");
	if (q->json)
		query_print_line(json_object_ref(q->out));
}
