/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * al_query fault: explains rules of the software HCA's faults, or shows where they are wrong; or
 * lists the rules in force. The module itself reads, explains and lists rules, by vendor calls.
 */
#include <stdio.h>
#include <string.h>

#include "al/tools/query.h"
#include <iba/ib_soft.h>

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
	query_error(q, TOOL_FAILED,
		    "fault %s: no software HCA can be asked: %s; \"al_query doctor\" says more",
		    what, al_status_str(st));
}

/* ---------------------------------------------------------------------- check */

/* The rules of the command line, else of IBAL_FAULT. NULL: query_error() has reported that there
 * are none, or that they are too long. */
static const char *find_rules(struct query *q)
{
	const char *rules = q->args[1] ? q->args[1] : g_getenv("IBAL_FAULT");

	if (!rules)
		query_error(
			q, TOOL_USAGE,
			"fault check: which rules? al_query fault check 'RULES', or set IBAL_FAULT");
	else if (strlen(rules) < SOFT_FAULT_TEXT)
		return rules;
	else
		query_error(q, TOOL_USAGE,
			    "fault check: the rules are too long: at most %d characters",
			    SOFT_FAULT_TEXT - 1);
	return NULL;
}

/* Prints the rules, and a mark under the character at which they are wrong. */
static void show_place(const char *rules, uint32_t at)
{
	g_autofree char *begin = g_strndup(rules, at), *before = tool_clean(begin),
			*all = tool_clean(rules);

	fprintf(stderr, "  %s\n  %*s^\n", all, tool_width(before), "");
}

static void say(struct query *q, const char *rules, gboolean agents,
		const struct soft_fault_words *words)
{
	JsonArray *array = query_array(q, "rules");

	for (uint32_t i = 0; i < words->num; i++) {
		json_array_add_string_element(array, words->words[i]);
		if (!q->json)
			printf("%u. %s\n", i + 1, words->words[i]);
	}
	if (!words->num && !*words->why && !q->json)
		puts("There are no rules.");
	json_object_set_boolean_member(q->out, "agent", agents);
	if (!q->json)
		printf("Compared with the HCAs and switches of %s.\n",
		       agents ? "the agent" : "this shell's settings, since no agent can be asked");
	fflush(stdout);
	if (!*words->why)
		return;
	query_error(q, TOOL_USAGE, "fault check: at character %u: %s", words->at + 1, words->why);
	json_object_set_int_member(q->out, "at", words->at);
	show_place(rules, words->at);
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
	const char *rules = find_rules(q);
	struct soft_fault_text text = { "" };
	struct soft_fault_words words;
	gboolean agents = g_strcmp0(g_getenv("IBAL_AGENT"), "off") != 0;
	al_status st;

	if (!rules)
		return;
	g_strlcpy(text.text, rules, sizeof(text.text));
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

void run_fault(struct query *q)
{
	if (q->args[0] && !strcmp(q->args[0], "check"))
		check(q);
	else if (q->args[0] && !strcmp(q->args[0], "list") && !q->args[1])
		list(q);
	else
		query_error(
			q, TOOL_USAGE,
			"fault: what is to be done? al_query fault check 'RULES', or al_query fault list");
	if (q->json)
		query_print_line(json_object_ref(q->out));
}
