/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Prints the table of queue pair transitions as doc/reference/ibal_qp_states.md has it. The program
 * asks qp_table_check() for each type, each transition and each attribute, so it prints what the
 * library does.
 */
#include "al/verbs/verbs.h"

#include <stdio.h>
#include <stdlib.h>

static const struct {
	uint32_t bit;
	const char *name;
} attributes[] = {
#define ATTRIBUTE(name)     \
	{                   \
		name, #name \
	}
	ATTRIBUTE(IB_QP_CUR_STATE),
	ATTRIBUTE(IB_QP_EN_SQD_ASYNC_NOTIFY),
	ATTRIBUTE(IB_QP_ACCESS_FLAGS),
	ATTRIBUTE(IB_QP_PKEY_INDEX),
	ATTRIBUTE(IB_QP_PORT),
	ATTRIBUTE(IB_QP_QKEY),
	ATTRIBUTE(IB_QP_AV),
	ATTRIBUTE(IB_QP_PATH_MTU),
	ATTRIBUTE(IB_QP_TIMEOUT),
	ATTRIBUTE(IB_QP_RETRY_CNT),
	ATTRIBUTE(IB_QP_RNR_RETRY),
	ATTRIBUTE(IB_QP_RQ_PSN),
	ATTRIBUTE(IB_QP_MAX_QP_RD_ATOMIC),
	ATTRIBUTE(IB_QP_ALT_PATH),
	ATTRIBUTE(IB_QP_MIN_RNR_TIMER),
	ATTRIBUTE(IB_QP_SQ_PSN),
	ATTRIBUTE(IB_QP_MAX_DEST_RD_ATOMIC),
	ATTRIBUTE(IB_QP_PATH_MIG_STATE),
	ATTRIBUTE(IB_QP_CAP),
	ATTRIBUTE(IB_QP_DEST_QPN),
};

#define ATTRIBUTES (sizeof(attributes) / sizeof(attributes[0]))

/* What a transition requires and permits for a type. */
struct rule {
	bool there;
	uint32_t required, optional;
};

static struct rule ask(ib_qp_type type, ib_qp_state from, ib_qp_state to)
{
	uint32_t always = from == to ? 0 : IB_QP_STATE, all = 0;
	struct rule rule = { 0 };

	for (size_t i = 0; i < ATTRIBUTES; i++)
		all |= attributes[i].bit;
	if ((all | IB_QP_STATE) != IB_QP_DEST_QPN * 2 - 1) {
		fprintf(stderr, "the list of attributes is not enum ib_qp_attr_mask\n");
		exit(EXIT_FAILURE);
	}
	if (qp_table_check(type, from, to, always | all) == AL_INVALID_TRANSITION)
		return rule;
	rule.there = true;
	for (size_t i = 0; i < ATTRIBUTES; i++)
		if (qp_table_check(type, from, to, always | (all & ~attributes[i].bit)) ==
		    AL_MISSING_ATTRIBUTE)
			rule.required |= attributes[i].bit;
	for (size_t i = 0; i < ATTRIBUTES; i++)
		if (!(rule.required & attributes[i].bit) &&
		    qp_table_check(type, from, to, always | rule.required | attributes[i].bit) ==
			    AL_SUCCESS)
			rule.optional |= attributes[i].bit;
	if (qp_table_check(type, from, to, always | rule.required) != AL_SUCCESS ||
	    qp_table_check(type, from, to, always | rule.required | rule.optional) != AL_SUCCESS) {
		fprintf(stderr, "%s, %s to %s: the required attributes are not accepted\n",
			al_qp_type_str(type), al_qp_state_str(from), al_qp_state_str(to));
		exit(EXIT_FAILURE);
	}
	return rule;
}

static void print_attributes(uint32_t bits)
{
	const char *comma = "";

	for (size_t i = 0; i < ATTRIBUTES; i++)
		if (bits & attributes[i].bit) {
			printf("%s`%s`", comma, attributes[i].name);
			comma = ", ";
		}
	printf("%s", bits ? "" : "none");
}

/* Prints one transition: a row for all types that have the same rule. */
static void print_transition(ib_qp_state from, ib_qp_state to)
{
	bool heading = false, done[IB_QPT_COUNT] = { false };

	for (ib_qp_type type = IB_QPT_NONE + 1; type < IB_QPT_COUNT; type++) {
		struct rule rule = ask(type, from, to), other;
		const char *comma = "";

		if (!rule.there || done[type])
			continue;
		if (!heading && from == to)
			printf("\n## %s, without a change of the state\n\n", al_qp_state_str(from));
		else if (!heading)
			printf("\n## %s to %s\n\n", al_qp_state_str(from), al_qp_state_str(to));
		if (!heading)
			printf("| types | required | optional |\n|---|---|---|\n");
		heading = true;
		printf("| ");
		for (ib_qp_type t = type; t < IB_QPT_COUNT; t++) {
			other = ask(t, from, to);
			if (!other.there || other.required != rule.required ||
			    other.optional != rule.optional)
				continue;
			done[t] = true;
			printf("%s%s", comma, al_qp_type_str(t));
			comma = ", ";
		}
		printf(" | ");
		print_attributes(rule.required);
		printf(" | ");
		print_attributes(rule.optional);
		printf(" |\n");
	}
}

/* The transition from every state: returns whether all types may change to a state from each,
 * without attributes. */
static bool from_all(ib_qp_state to)
{
	for (ib_qp_type type = IB_QPT_NONE + 1; type < IB_QPT_COUNT; type++)
		for (ib_qp_state from = 0; from < IB_QPS_COUNT; from++) {
			struct rule rule = { 0 };

			if (from == to)
				continue;
			rule = ask(type, from, to);
			if (!rule.there || rule.required || rule.optional)
				return false;
		}
	return true;
}

int main(void)
{
	bool everywhere[IB_QPS_COUNT];

	for (ib_qp_state to = 0; to < IB_QPS_COUNT; to++) {
		everywhere[to] = from_all(to);
		if (everywhere[to])
			printf("\n## Every state to %s\n\nEvery type; no attribute is required or permitted.\n",
			       al_qp_state_str(to));
	}
	for (ib_qp_state from = 0; from < IB_QPS_COUNT; from++)
		for (ib_qp_state to = 0; to < IB_QPS_COUNT; to++)
			if (from == to || !everywhere[to])
				print_transition(from, to);
	return EXIT_SUCCESS;
}
