/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Faults as text (IBAL_FAULT, the key "fault"): the grammar, by tables, the check of a rule, and rules in words.
 * ibal-soft(5) describes each word. What rules do to packets is in lab/fault.c.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <iba/ib_soft.h>

#include "hca/soft/base/config.h"
#include "hca/soft/base/draw.h"
#include "hca/soft/shared/opcode.h"

/* Groups of keys that an action may have: bits. */
enum {
	KEY_FLOW = 1 << 0, /* the choice of packets: flow, qp, port, opcode, psn */
	KEY_BY = 1 << 1,
	KEY_TIME = 1 << 2,
	KEY_CODE = 1 << 3,
	KEY_EVENT = 1 << 4,
	KEY_RATE = 1 << 5,
	KEY_ANY = 1 << 6, /* n, count, chance, seed, hca */
};

/* Nodes that may have an action: bits. */
enum { AT_HCA = 1 << 0, AT_SWITCH = 1 << 1 };

static const struct action {
	const char *name;
	uint32_t action, keys, nodes;
	const char *does; /* the effect in words, before the words for the action's key */
} actions[] = {
	{ "drop", SOFT_FAULT_DROP, KEY_FLOW, AT_HCA | AT_SWITCH, "is lost" },
	{ "duplicate", SOFT_FAULT_DUPLICATE, KEY_FLOW, AT_HCA, "arrives twice" },
	{ "hold", SOFT_FAULT_HOLD, KEY_FLOW | KEY_BY, AT_HCA, "arrives after" },
	{ "reorder", SOFT_FAULT_HOLD, KEY_FLOW | KEY_BY, AT_HCA, "arrives after" },
	{ "delay", SOFT_FAULT_DELAY, KEY_FLOW | KEY_TIME, AT_HCA | AT_SWITCH, "arrives later by" },
	{ "corrupt", SOFT_FAULT_CORRUPT, KEY_FLOW, AT_HCA | AT_SWITCH,
	  "arrives with wrong bits, and is dropped there" },
	{ "nak", SOFT_FAULT_NAK, KEY_FLOW | KEY_CODE, AT_HCA,
	  "is refused, if a request of RC: NAK" },
	{ "port-down", SOFT_FAULT_PORT_DOWN, KEY_FLOW, AT_HCA, "pulls its port's cable" },
	{ "port-up", SOFT_FAULT_PORT_UP, KEY_FLOW, AT_HCA, "puts its port's cable back" },
	{ "remove", SOFT_FAULT_REMOVE, KEY_FLOW, AT_HCA, "removes its HCA" },
	{ "raise", SOFT_FAULT_RAISE, KEY_FLOW | KEY_EVENT, AT_HCA, "raises" },
	{ "cq-overflow", SOFT_FAULT_CQ_OVERFLOW, KEY_FLOW, AT_HCA,
	  "has its queue pair's send completion queue overflow" },
	{ "alloc", SOFT_FAULT_ALLOC, 0, AT_HCA, "fails" },
	{ "slow", SOFT_FAULT_SLOW, KEY_FLOW | KEY_RATE, AT_SWITCH,
	  "waits for the cable, which carries" },
	{ "mark", SOFT_FAULT_MARK, KEY_FLOW, AT_SWITCH,
	  "is marked as bad by the switch, and is dropped by the next port" },
	{ "overrun", SOFT_FAULT_OVERRUN, KEY_FLOW, AT_SWITCH,
	  "finds no buffer at the next port, and is lost" },
	{ "recover", SOFT_FAULT_RECOVER, KEY_FLOW, AT_SWITCH,
	  "is lost, and the cable's link recovers" },
	{ "flap", SOFT_FAULT_FLAP, KEY_FLOW, AT_SWITCH,
	  "is lost, and the cable's link goes down and trains again" },
};

#define MIN_RATE     1000ull /* bytes per second */
#define MAX_RATE     1000000000000ull
#define SWITCH_PORTS 254 /* the largest number of a switch's port */

#define ITEMS(array) (sizeof(array) / sizeof(*(array)))

static const struct action *find_action(uint32_t action)
{
	size_t i;

	for (i = 0; i < ITEMS(actions); i++)
		if (actions[i].action == action)
			return &actions[i];
	return NULL;
}

const char *fault_action_name(uint32_t action)
{
	const struct action *a = find_action(action);

	return a ? a->name : "?";
}

bool fault_is_about_qp(const struct soft_fault *f)
{
	return f->action == SOFT_FAULT_CQ_OVERFLOW ||
	       (f->action == SOFT_FAULT_RAISE && f->code < IB_EVENT_PORT_DOWN);
}

/* ----------------------------------------------------------------- values */

typedef const char *(*reader)(struct soft_fault *fault, const char *value);

static const char *read_number(const char *value, uint64_t min, uint64_t max, uint64_t *to,
			       const char *why)
{
	return config_number(value, min, max, to) ? NULL : why;
}

static const char *read_n(struct soft_fault *fault, const char *value)
{
	if (!fault->count)
		fault->count = 1;
	return read_number(value, 1, UINT64_MAX, &fault->n, "n= is a number from 1");
}

static const char *read_count(struct soft_fault *fault, const char *value)
{
	const char *why = read_number(value, 0, UINT64_MAX, &fault->count,
				      "count= is a number, 0 for all that follow");

	if (!fault->count)
		fault->count = UINT64_MAX;
	return why;
}

static const char *read_u32(uint32_t *to, const char *value, uint32_t min, uint32_t max,
			    const char *why)
{
	uint64_t number = 0;

	why = read_number(value, min, max, &number, why);
	*to = (uint32_t)number;
	return why;
}

static const char *read_qp(struct soft_fault *fault, const char *value)
{
	return read_u32(&fault->qpn, value, 1, IB_QPN_MASK, "qp= is a number of a queue pair");
}

static const char *read_port(struct soft_fault *fault, const char *value)
{
	return read_u32(&fault->port, value, 1, SWITCH_PORTS,
			"port= is a number from 1 to 8, of a switch to 254");
}

static const char *read_by(struct soft_fault *fault, const char *value)
{
	return read_u32(&fault->by, value, 1, UINT32_MAX, "by= is a number of packets, from 1");
}

static const char *read_psn(struct soft_fault *fault, const char *value)
{
	fault->match |= SOFT_MATCH_PSN;
	return read_u32(&fault->psn, value, 0, IB_PSN_MASK, "psn= is a number of 24 bits");
}

static const char *read_seed(struct soft_fault *fault, const char *value)
{
	return read_number(value, 0, UINT64_MAX, &fault->seed, "seed= is a number");
}

/* Reads "1000", packets in a million, or "0.1%". */
static const char *read_chance(struct soft_fault *fault, const char *value)
{
	static const char why[] =
		"chance= is a number of packets in a million, up to 1000000, or a percentage such as 0.5%";
	uint64_t millionths = 0, unit = 10000;
	const char *at = value;

	if (!strchr(value, '%')) {
		if (!config_number(value, 0, 1000000, &millionths))
			return why;
	} else {
		for (; *at >= '0' && *at <= '9' && millionths <= 1000000; at++)
			millionths = millionths * 10 + (uint64_t)(*at - '0') * unit;
		if (*at == '.')
			for (at++; *at >= '0' && *at <= '9' && unit > 1; at++)
				millionths += (uint64_t)(*at - '0') * (unit /= 10);
		if (at == value || strcmp(at, "%") || millionths > 1000000)
			return why;
	}
	fault->chance = millionths ? (uint32_t)millionths : SOFT_NEVER;
	return NULL;
}

static const char *read_flow(struct soft_fault *fault, const char *value)
{
	static const char *const flows[] = { "any", "request", "response" };
	uint32_t i;

	for (i = 0; i < ITEMS(flows); i++)
		if (!strcmp(value, flows[i])) {
			fault->flow = i;
			return NULL;
		}
	return "flow= is request, response or any";
}

/* A unit of a quantity, as a multiple of the smallest unit. */
struct unit {
	const char *name;
	uint64_t size;
};

#define UNITS 4

static const struct unit time_units[UNITS] = {
	{ "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 }
};
static const struct unit rate_units[UNITS] = {
	{ "B", 1 }, { "KB", 1000 }, { "MB", 1000000 }, { "GB", 1000000000 }
};

/* Reads a number with its unit. False: the text is none, or is more than max of the smallest unit.
 */
static bool read_quantity(const char *value, const struct unit *units, uint64_t max, uint64_t *to)
{
	uint64_t number;
	char digits[24];
	size_t i, len = strspn(value, "0123456789");

	for (i = 0; len && len < sizeof(digits) && i < UNITS; i++) {
		if (strcmp(value + len, units[i].name))
			continue;
		memcpy(digits, value, len);
		digits[len] = 0;
		if (!config_number(digits, 1, max / units[i].size, &number))
			return false;
		*to = number * units[i].size;
		return true;
	}
	return false;
}

static const char *read_time(struct soft_fault *fault, const char *value)
{
	if (read_quantity(value, time_units, SOFT_MAX_DELAY, &fault->delay_ns))
		return NULL;
	return "time= is a number with its unit, ns, us, ms or s, such as 5ms, up to a day";
}

static const char *read_rate(struct soft_fault *fault, const char *value)
{
	if (read_quantity(value, rate_units, MAX_RATE, &fault->rate) && fault->rate >= MIN_RATE)
		return NULL;
	return "rate= is a number of bytes per second with its unit, KB, MB or GB, such as 10MB, "
	       "from 1KB to 1000GB";
}

static bool same_word(const char *a, const char *b)
{
	for (; *a && *b; a++, b++) {
		char x = *a >= 'A' && *a <= 'Z' ? (char)(*a + 'a' - 'A') : *a;
		char y = *b >= 'A' && *b <= 'Z' ? (char)(*b + 'a' - 'A') : *b;

		if ((x == '_' ? '-' : x) != (y == '_' ? '-' : y))
			return false;
	}
	return *a == *b;
}

static const char *read_opcode(struct soft_fault *fault, const char *value)
{
	uint64_t number;
	uint32_t i;

	fault->match |= SOFT_MATCH_OPCODE;
	for (i = 0; i < 256; i++)
		if (wire_ops[i].name && same_word(value, wire_ops[i].name)) {
			fault->opcode = i;
			return NULL;
		}
	if (!config_number(value, 0, 255, &number))
		return "opcode= is a BTH opcode, by number or by a name such as rc-send-only, rc-write-first, rc-ack";
	fault->opcode = (uint32_t)number;
	return NULL;
}

static const struct {
	const char *name;
	uint32_t syndrome;
} codes[] = {
	{ "sequence", NAK_PSN_SEQ },
	{ "invalid-request", NAK_INVALID_REQUEST },
	{ "access", NAK_REMOTE_ACCESS },
	{ "operation", NAK_REMOTE_OPERATION },
};

static const char *read_code(struct soft_fault *fault, const char *value)
{
	uint64_t timer = 1; /* timer code 1: 10 us */
	size_t i;

	for (i = 0; i < ITEMS(codes); i++)
		if (!strcmp(value, codes[i].name)) {
			fault->code = codes[i].syndrome;
			return NULL;
		}
	if (strcmp(value, "rnr") &&
	    (strncmp(value, "rnr:", 4) || !config_number(value + 4, 0, 31, &timer)))
		return "code= is rnr, rnr:TIMER with a code of the RNR timer up to 31, sequence, "
		       "invalid-request, access or operation";
	fault->code = AETH_RNR_NAK | (uint32_t)timer;
	return NULL;
}

#define EVENT_NAME(name, value, text, object) { #name, value, object },

static const struct event {
	const char *name; /* with the prefix IB_EVENT_ */
	uint32_t type;
	int object;
} events[] = { IB_EVENT_LIST(EVENT_NAME) };

static const char *read_event(struct soft_fault *fault, const char *value)
{
	size_t i;

	for (i = 0; i < ITEMS(events); i++)
		if (same_word(value, events[i].name + strlen("IB_EVENT_"))) {
			fault->code = events[i].type;
			return NULL;
		}
	return "event= is an asynchronous event, such as qp-fatal, port-down or device-fatal";
}

static bool can_raise(uint32_t type)
{
	size_t i;

	for (i = 0; i < ITEMS(events); i++)
		if (events[i].type == type)
			return events[i].object == AL_OBJ_NONE || events[i].object == AL_OBJ_QP ||
			       events[i].object == AL_OBJ_CQ;
	return false;
}

static const struct {
	const char *name;
	uint32_t key;
	reader read;
} keys[] = {
	{ "n", KEY_ANY, read_n },           { "count", KEY_ANY, read_count },
	{ "chance", KEY_ANY, read_chance }, { "seed", KEY_ANY, read_seed },
	{ "flow", KEY_FLOW, read_flow },    { "qp", KEY_FLOW, read_qp },
	{ "port", KEY_FLOW, read_port },    { "opcode", KEY_FLOW, read_opcode },
	{ "psn", KEY_FLOW, read_psn },      { "by", KEY_BY, read_by },
	{ "time", KEY_TIME, read_time },    { "code", KEY_CODE, read_code },
	{ "event", KEY_EVENT, read_event }, { "rate", KEY_RATE, read_rate },
};

/* ---------------------------------------------------------------- a rule */

static bool is_nak(uint32_t code)
{
	return (code & ~0x1fu) == AETH_RNR_NAK ||
	       (code >= NAK_PSN_SEQ && code <= NAK_REMOTE_OPERATION);
}

/* Returns the error of a rule for a node of either type. *key: the key that is wrong. */
static const char *wrong_anywhere(const struct soft_fault *f, const char **key)
{
	const struct action *a = find_action(f->action);
	const bool about_packets = f->flow | f->qpn | f->port | f->match;

	if (!a)
		return "there is no such action";
	if (f->flow > SOFT_FLOW_RESPONSE || f->match & ~(SOFT_MATCH_OPCODE | SOFT_MATCH_PSN) ||
	    f->opcode > 255 || f->psn > IB_PSN_MASK ||
	    (f->chance > 1000000 && f->chance != SOFT_NEVER))
		return "a value is out of its range";
	if (about_packets && !(a->keys & KEY_FLOW))
		return "an allocation has no packets to choose from";
	if (!(a->keys & KEY_BY) != !f->by)
		return "by= belongs to hold";
	if (!(a->keys & KEY_TIME) != !f->delay_ns || f->delay_ns > SOFT_MAX_DELAY)
		return "delay needs the time, such as time=5ms, and nothing else has one";
	if (a->keys & KEY_RATE ? f->rate < MIN_RATE || f->rate > MAX_RATE : !!f->rate)
		return "slow needs the rate, such as rate=10MB, and nothing else has one";
	*key = f->n ? "n" : f->count ? "count" : f->chance ? "chance" : "seed";
	if (a->keys & KEY_RATE && (f->n | f->count | f->chance | f->seed))
		return "slow is for all packets: n=, count=, chance= and seed= are not for it";
	*key = "code";
	if (a->keys & KEY_CODE && !is_nak(f->code))
		return "nak needs the code: code=rnr, sequence, invalid-request, access or operation";
	*key = "event";
	if (a->keys & KEY_EVENT && !can_raise(f->code))
		return "raise needs event=, of a queue pair, a completion queue, a port or the HCA";
	return NULL;
}

/* Returns the error of a rule for a node of one kind. *key: the key that is wrong; NULL: the action
 * is wrong, or lacks a key. */
static const char *wrong_at(const struct soft_fault *f, uint32_t node, const char **key)
{
	const struct action *a = find_action(f->action);

	*key = NULL;
	if (a && !(a->nodes & node))
		return node == AT_HCA ? "only a cable at a switch has this action: it needs switch="
				      : "only an HCA has this action";
	if (node == AT_SWITCH && f->flow | f->qpn | f->match) {
		*key = f->flow                     ? "flow"
		       : f->qpn                    ? "qp"
		       : f->match & SOFT_MATCH_PSN ? "psn"
						   : "opcode";
		return "a switch's port has no flows: flow=, qp=, opcode= and psn= are not for switches";
	}
	return wrong_anywhere(f, key);
}

const char *fault_wrong(const struct soft_fault *f)
{
	const char *key;

	return wrong_at(f, AT_HCA, &key);
}

const char *fault_wrong_at_switch(const struct soft_fault *f)
{
	const char *key;

	return wrong_at(f, AT_SWITCH, &key);
}

/* ----------------------------------------------------------------------- texts */

struct words {
	char *to;    /* end of the text so far */
	size_t room; /* bytes from `to` on, with the terminating 0 */
};

static void say(struct words *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct words *w, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(w->to, w->room, format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= w->room)
		n = (int)w->room - 1;
	w->to += n;
	w->room -= (size_t)n;
}

/* Says the names of the actions that a node of a kind has. */
static void say_actions(struct words *w, uint32_t nodes)
{
	const char *before = "";
	size_t i;

	for (i = 0; i < ITEMS(actions); i++)
		if (actions[i].nodes & nodes) {
			say(w, "%s%s", before, actions[i].name);
			before = ", ";
		}
}

static bool has_key(const struct action *a, size_t key)
{
	return keys[key].key == KEY_ANY || a->keys & keys[key].key;
}

/* A rule that is being read. */
struct reading {
	struct fault_rule_text *rule;
	const struct action *action;
	const char *word[ITEMS(keys)]; /* of each key that the rule has */
	const char *node, *port;       /* values of hca= or switch=, and of port= */
	const char *at;                /* place of the error */
	struct words why;              /* the error */
};

static bool refuse(struct reading *r, const char *at, const char *why)
{
	r->at = at;
	say(&r->why, "%s", why);
	return false;
}

static bool refuse_action(struct reading *r, const char *word)
{
	refuse(r, word, "a fault begins with one of ");
	say_actions(&r->why, AT_HCA | AT_SWITCH);
	return false;
}

static bool refuse_key(struct reading *r, const char *word)
{
	size_t i;

	refuse(r, word, r->action->name);
	say(&r->why, " has no key %.20s=; its keys are ", word);
	for (i = 0; i < ITEMS(keys); i++)
		if (has_key(r->action, i))
			say(&r->why, "%s=, ", keys[i].name);
	say(&r->why, "hca= and switch=");
	return false;
}

/* Reads the name of the node that a rule is for. *is_node: the word names one. */
static bool read_node(struct reading *r, const char *word, const char *value, bool *is_node)
{
	const bool is_switch = !strcmp(word, "switch");

	*is_node = is_switch || !strcmp(word, "hca");
	if (!*is_node)
		return true;
	if (r->node && (is_switch ? !!*r->rule->hca : !!r->rule->sw))
		return refuse(r, word, "a rule is for an HCA or for a switch: hca= or switch=");
	r->node = value;
	if (is_switch)
		return config_number(value, 1, UINT64_MAX, &r->rule->sw) ||
		       refuse(r, value,
			      "switch= is the GUID of a switch, such as 0x0002c90300000100");
	if (!*value || strlen(value) >= sizeof(r->rule->hca))
		return refuse(r, value, "hca= is the name of an HCA");
	strcpy(r->rule->hca, value);
	return true;
}

/* Reads one key of a rule. */
static bool read_key(struct reading *r, char *word)
{
	char *value = strchr(word, '=');
	const char *why;
	bool is_node;
	size_t i;

	if (!value || !value[1]) {
		refuse(r, word, "");
		say(&r->why,
		    "%.20s needs a value: after the action come keys with their values, such as n=3",
		    word);
		return false;
	}
	*value++ = 0;
	if (!read_node(r, word, value, &is_node))
		return false;
	if (is_node)
		return true;
	for (i = 0; i < ITEMS(keys); i++)
		if (!strcmp(word, keys[i].name))
			break;
	if (i == ITEMS(keys) || !has_key(r->action, i))
		return refuse_key(r, word);
	r->word[i] = word;
	if (keys[i].read == read_port)
		r->port = value;
	why = keys[i].read(&r->rule->fault, value);
	return !why || refuse(r, value, why);
}

/* Returns the place of a key in the text of a rule, or else the rule's first character. */
static const char *place_of(const struct reading *r, const char *key, const char *text)
{
	size_t i;

	for (i = 0; key && i < ITEMS(keys); i++)
		if (!strcmp(keys[i].name, key) && r->word[i])
			return r->word[i];
	return text;
}

/* Checks the keys of a rule together. */
static bool check_rule(struct reading *r, const char *text)
{
	struct soft_fault *f = &r->rule->fault;
	const char *key, *why;

	if (r->rule->sw && !(r->action->nodes & AT_SWITCH)) {
		refuse(r, text, "a switch's cables have only ");
		say_actions(&r->why, AT_SWITCH);
		return false;
	}
	if (!r->rule->sw && f->port > SOFT_MAX_PORTS)
		return refuse(r, r->port, "port= is a number from 1 to 8, of a switch to 254");
	if (!f->n && f->count)
		return refuse(r, place_of(r, "count", text), "count= needs n=, the first packet");
	if (f->count == UINT64_MAX) /* count=0: all packets from n on */
		f->count = 0;
	if (!(r->action->keys & (KEY_CODE | KEY_EVENT)))
		f->code = 0;
	why = wrong_at(f, r->rule->sw ? AT_SWITCH : AT_HCA, &key);
	return !why || refuse(r, place_of(r, key, text), why);
}

static bool read_rule(struct reading *r, char *text)
{
	char *word, *save;
	size_t i;

	*r->rule = (struct fault_rule_text){ .fault = { 0 } };
	word = strtok_r(text, ",", &save);
	for (i = 0; word && i < ITEMS(actions); i++)
		if (!strcmp(word, actions[i].name))
			r->action = &actions[i];
	if (!r->action)
		return refuse_action(r, text);
	r->rule->fault.action = r->action->action;
	r->rule->fault.by = r->action->keys & KEY_BY ? 1 : 0;
	r->rule->fault.code = UINT32_MAX; /* none */
	for (word = strtok_r(NULL, ",", &save); word; word = strtok_r(NULL, ",", &save))
		if (!read_key(r, word))
			return false;
	return check_rule(r, text);
}

static bool refuse_text(struct fault_error *error, uint32_t at, const char *why)
{
	error->at = at;
	snprintf(error->why, sizeof(error->why), "%s", why);
	return false;
}

bool fault_read(const char *text, struct fault_rule_text *rules, uint32_t max, uint32_t *count,
		struct fault_error *error)
{
	char copy[SOFT_FAULT_TEXT], *one, *save;
	uint16_t from[SOFT_FAULT_TEXT]; /* index in `text` of each character of `copy` */
	uint32_t i, len = 0;

	*count = 0;
	for (i = 0; i < sizeof(copy) - 1 && text[i]; i++) {
		if (text[i] == ' ' || text[i] == '\t') /* white space has no meaning */
			continue;
		from[len] = (uint16_t)i;
		copy[len++] = text[i];
	}
	from[len] = (uint16_t)i;
	copy[len] = 0;
	if (text[i])
		return refuse_text(error, i, "that is too long: at most 4095 characters");
	for (one = strtok_r(copy, ";", &save); one; one = strtok_r(NULL, ";", &save)) {
		struct reading r = { .rule = &rules[*count],
				     .why = { error->why, sizeof(error->why) } };

		if (*count == max)
			return refuse_text(error, from[one - copy], "at most 32 faults");
		if (!read_rule(&r, one)) {
			error->at = from[r.at - copy];
			return false;
		}
		r.rule->at = from[one - copy];
		r.rule->node_at = from[(r.node ? r.node : one) - copy];
		r.rule->port_at = from[(r.port ? r.port : one) - copy];
		++*count;
	}
	return true;
}

/* ----------------------------------------------------------------- rules in vain */

/* True: a rule meets each packet or allocation that another rule could meet. */
static bool takes_all_of(const struct fault_rule_text *a, const struct fault_rule_text *b)
{
	const struct soft_fault *f = &a->fault, *g = &b->fault;

	if (f->action == SOFT_FAULT_SLOW || g->action == SOFT_FAULT_SLOW ||
	    (f->action == SOFT_FAULT_ALLOC) != (g->action == SOFT_FAULT_ALLOC))
		return false;
	if (f->action == SOFT_FAULT_NAK && g->action != SOFT_FAULT_NAK) /* requests of RC only */
		return false;
	if (fault_is_about_qp(f) && !fault_is_about_qp(g))
		return false;
	return draw_threshold(f->chance) == DRAW_ALWAYS && a->sw == b->sw &&
	       (!*a->hca || !strcmp(a->hca, b->hca)) && (!f->flow || f->flow == g->flow) &&
	       (!f->port || f->port == g->port) && (!f->qpn || f->qpn == g->qpn) &&
	       (f->match & g->match) == f->match &&
	       (!(f->match & SOFT_MATCH_OPCODE) || f->opcode == g->opcode) &&
	       (!(f->match & SOFT_MATCH_PSN) || f->psn == g->psn) &&
	       (f->n <= 1 || (g->n && f->n <= g->n)) &&
	       (!f->n || !f->count ||
		(g->n && g->count && g->count <= f->count && g->n - f->n <= f->count - g->count));
}

uint32_t fault_taken_by(const struct fault_rule_text *rules, uint32_t index)
{
	uint32_t i;

	for (i = 0; i < index; i++)
		if (takes_all_of(&rules[i], &rules[index]))
			return i;
	return index;
}

/* ------------------------------------------------------------------ in words */

/* Says which packets or allocations a rule meets. what: "packet" or "allocation" */
static void say_numbers(struct words *w, const struct soft_fault *f, const char *what)
{
	if (!f->n)
		say(w, "each %s", what);
	else if (f->count == 1)
		say(w, "%s %llu", what, (unsigned long long)f->n);
	else if (!f->count)
		say(w, "each %s from number %llu on", what, (unsigned long long)f->n);
	else
		say(w, "each of the %llu %ss from number %llu on", (unsigned long long)f->count,
		    what, (unsigned long long)f->n);
}

static void say_packets(struct words *w, const struct soft_fault *f)
{
	static const char *const flows[] = { "flow", "flow of requests", "flow of responses" };

	say_numbers(w, f, "packet");
	say(w, " of %s %s", f->qpn ? "the" : "each", flows[f->flow]);
	if (f->qpn)
		say(w, " of queue pair 0x%x", f->qpn);
	if (f->port)
		say(w, " by port %u", f->port);
	if (f->match & SOFT_MATCH_OPCODE)
		say(w, f->match & SOFT_MATCH_PSN ? ", with opcode %s and" : ", with opcode %s",
		    wire_ops[f->opcode].name ? wire_ops[f->opcode].name : "that nobody sends");
	if (f->match & SOFT_MATCH_PSN)
		say(w, f->match & SOFT_MATCH_OPCODE ? " PSN %#x" : ", with PSN %#x", f->psn);
}

/* Says which packets of a switch a rule meets. */
static void say_port(struct words *w, const struct soft_fault *f)
{
	say_numbers(w, f, "packet");
	if (f->port)
		say(w, " by port %u", f->port);
	else
		say(w, " by each port");
}

static void say_code(struct words *w, uint32_t code)
{
	size_t i;

	if ((code & ~0x1fu) == AETH_RNR_NAK)
		say(w, "RNR, of timer code %u", code & 0x1f);
	for (i = 0; i < ITEMS(codes); i++)
		if (codes[i].syndrome == code)
			say(w, "%s", codes[i].name);
}

static const char *event_name(uint32_t type)
{
	size_t i;

	for (i = 0; i < ITEMS(events); i++)
		if (events[i].type == type)
			return events[i].name;
	return "?";
}

static void say_quantity(struct words *w, const struct unit *units, uint64_t value)
{
	size_t i = UNITS - 1;

	while (value % units[i].size)
		i--;
	say(w, " %llu %s", (unsigned long long)(value / units[i].size), units[i].name);
}

static void say_effect(struct words *w, const struct soft_fault *f)
{
	const struct action *a = find_action(f->action);

	say(w, " %s", a->does);
	if (a->keys & KEY_BY)
		say(w, " %u later packet%s of its flow", f->by, f->by == 1 ? "" : "s");
	if (a->keys & KEY_TIME)
		say_quantity(w, time_units, f->delay_ns);
	if (a->keys & KEY_RATE) {
		say_quantity(w, rate_units, f->rate);
		say(w, " per second in each direction");
	}
	if (a->keys & KEY_CODE) {
		say(w, " ");
		say_code(w, f->code);
	}
	if (a->keys & KEY_EVENT)
		say(w, " %s", event_name(f->code));
}

void fault_words(const struct fault_rule_text *rules, uint32_t index, char *to, size_t size)
{
	const uint32_t taken_by = fault_taken_by(rules, index);
	const struct fault_rule_text *rule = &rules[index];
	const struct soft_fault *f = &rule->fault;
	struct words w = { to, size };

	if (*rule->hca)
		say(&w, "HCA %s: ", rule->hca);
	if (rule->sw)
		say(&w, "switch 0x%016llx: ", (unsigned long long)rule->sw);
	if (f->action == SOFT_FAULT_ALLOC)
		say_numbers(&w, f, "allocation");
	else if (rule->sw)
		say_port(&w, f);
	else
		say_packets(&w, f);
	say_effect(&w, f);
	if (f->chance == SOFT_NEVER)
		say(&w, ", but never: the chance is 0");
	else if (f->chance)
		say(&w, ", by a chance of %g %%", f->chance / 10000.0);
	if (f->chance && f->seed)
		say(&w, " drawn from seed %llu", (unsigned long long)f->seed);
	if (taken_by != index)
		say(&w, ", but never: rule %u takes each of them before", taken_by + 1);
}
