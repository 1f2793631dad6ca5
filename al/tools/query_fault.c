/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * al_query fault: explains rules of the software HCA's faults, or shows where they are wrong. The
 * HCA's own parser reads them, through a vendor call that changes nothing.
 */
#include <stdio.h>
#include <string.h>

#include "al/tools/query.h"
#include <iba/ib_soft.h>

/* The rules of the command line, else of IBAL_FAULT. NULL: query_error() has reported a wrong
 * command line, or that there are no rules. */
static const char *find_rules(struct query *q)
{
	const char *rules;

	if (!q->args[0] || strcmp(q->args[0], "check")) {
		query_error(q, TOOL_USAGE,
			    "fault: what is to be done? al_query fault check 'RULES'");
		return NULL;
	}
	rules = q->args[1] ? q->args[1] : g_getenv("IBAL_FAULT");
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

/* Finds a software HCA, since all have the same parser. The HCA of another module may use the
 * number of the vendor call for another call. */
static gboolean ask(struct query *q, const struct soft_fault_text *text,
		    struct soft_fault_words *words)
{
	uint32_t len = sizeof(*words);
	al_status st = AL_NOT_FOUND;
	al_ca_h ca;

	for (size_t i = 0; i < q->snap->num_cas && st; i++) {
		if (strcmp(q->snap->cas[i].module, "soft"))
			continue;
		st = al_open_ca(q->al, q->snap->cas[i].guid, NULL, &ca);
		if (st)
			continue;
		st = al_vendor_call(ca, SOFT_FAULT_EXPLAIN, text, sizeof(*text), words, &len);
		al_close_ca(ca, AL_DESTROY_SYNC, NULL);
	}
	if (st)
		query_error(
			q, TOOL_FAILED,
			"fault check: no software HCA can be asked: %s; \"al_query doctor\" says more",
			al_status_str(st));
	return !st;
}

/* Prints the rules, and a mark under the character at which they are wrong. */
static void show_place(const char *rules, uint32_t at)
{
	g_autofree char *begin = g_strndup(rules, at), *before = tool_clean(begin),
			*all = tool_clean(rules);

	fprintf(stderr, "  %s\n  %*s^\n", all, tool_width(before), "");
}

static void say(struct query *q, const char *rules, const struct soft_fault_words *words)
{
	JsonArray *array = query_array(q, "rules");

	for (uint32_t i = 0; i < words->num; i++) {
		json_array_add_string_element(array, words->words[i]);
		if (!q->json)
			printf("%u. %s\n", i + 1, words->words[i]);
	}
	if (!words->num && !*words->why && !q->json)
		puts("There are no rules.");
	fflush(stdout);
	if (!*words->why)
		return;
	query_error(q, TOOL_USAGE, "fault check: at character %u: %s", words->at + 1, words->why);
	json_object_set_int_member(q->out, "at", words->at);
	show_place(rules, words->at);
}

static void check(struct query *q, const char *rules)
{
	struct soft_fault_words words;
	struct soft_fault_text text = { "" };
	al_status st = al_snapshot(q->al, &q->snap);

	if (st) {
		query_error(q, TOOL_FAILED, "fault check: no snapshot: %s", al_status_str(st));
		return;
	}
	g_strlcpy(text.text, rules, sizeof(text.text));
	if (ask(q, &text, &words))
		say(q, rules, &words);
	al_free_snapshot(q->snap);
	q->snap = NULL;
}

void run_fault(struct query *q)
{
	g_autofree char *rules = g_strdup(find_rules(q));

	if (rules) {
		/* The HCAs are this process's own. Wrong rules in IBAL_FAULT would keep them from
		 * starting. */
		g_unsetenv("IBAL_FAULT");
		g_setenv("IBAL_AGENT", "off", TRUE);
		if (query_open(q)) {
			check(q, rules);
			al_close(q->al, AL_DESTROY_SYNC, NULL);
		}
	}
	if (q->json)
		query_print_line(json_object_ref(q->out));
}
