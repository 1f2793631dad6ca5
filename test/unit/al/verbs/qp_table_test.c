/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The state table of queue pairs against a second statement of IBTA's rules (10.3.1 and the table of 11.2.4.2): in
 * the other order, per type as IBTA prints the table, so that a slip in one table is not in the other.
 */
#include "test/unit/al/al_test.h"

#include "al/verbs/verbs.h"

static const char *const rules[] = {
	/* type, from > to: required; optional */
	"RC  RESET>INIT: PKEY PORT ACCESS;",
	"RC  INIT>INIT: ; PKEY PORT ACCESS",
	"RC  INIT>RTR: AV MTU DQPN RPSN DRD RNRT; ALT ACCESS PKEY",
	"RC  RTR>RTS: SPSN TMO RETRY RNRR QRD; CUR ACCESS RNRT ALT MIG",
	"RC  RTS>RTS: ; CUR ACCESS RNRT ALT MIG",
	"RC  RTS>SQD: ; NOTIFY",
	"RC  SQD>RTS: ; CUR ACCESS RNRT ALT MIG",
	"RC  SQD>SQD: ; AV TMO RETRY RNRR QRD DRD ALT ACCESS PKEY RNRT MIG PORT",

	"UC  RESET>INIT: PKEY PORT ACCESS;",
	"UC  INIT>INIT: ; PKEY PORT ACCESS",
	"UC  INIT>RTR: AV MTU DQPN RPSN; ALT ACCESS PKEY",
	"UC  RTR>RTS: SPSN; CUR ACCESS ALT MIG",
	"UC  RTS>RTS: ; CUR ACCESS ALT MIG",
	"UC  RTS>SQD: ; NOTIFY",
	"UC  SQD>RTS: ; CUR ACCESS ALT MIG",
	"UC  SQD>SQD: ; AV ALT ACCESS PKEY MIG",
	"UC  SQE>RTS: ; CUR ACCESS",

	"UD  RESET>INIT: PKEY PORT QKEY;",
	"UD  INIT>INIT: ; PKEY PORT QKEY",
	"UD  INIT>RTR: ; PKEY QKEY",
	"UD  RTR>RTS: SPSN; CUR QKEY",
	"UD  RTS>RTS: ; CUR QKEY",
	"UD  RTS>SQD: ; NOTIFY",
	"UD  SQD>RTS: ; CUR QKEY",
	"UD  SQD>SQD: ; PKEY QKEY",
	"UD  SQE>RTS: ; CUR QKEY",

	/* the other attributes belong to the end-to-end context */
	"RD  RESET>INIT: QKEY;",
	"RD  INIT>INIT: ; QKEY",
	"RD  INIT>RTR: ; QKEY",
	"RD  RTR>RTS: ; CUR QKEY",
	"RD  RTS>RTS: ; CUR QKEY",
	"RD  RTS>SQD: ; NOTIFY",
	"RD  SQD>RTS: ; CUR QKEY",
	"RD  SQD>SQD: ; QKEY",
	"RD  SQE>RTS: ; CUR QKEY",

	/* the initiator is a requester only: it sends no responses */
	"XRC-INI RESET>INIT: PKEY PORT ACCESS;",
	"XRC-INI INIT>INIT: ; PKEY PORT ACCESS",
	"XRC-INI INIT>RTR: AV MTU DQPN RPSN; ALT ACCESS PKEY",
	"XRC-INI RTR>RTS: SPSN TMO RETRY RNRR QRD; CUR ACCESS ALT MIG",
	"XRC-INI RTS>RTS: ; CUR ACCESS ALT MIG",
	"XRC-INI RTS>SQD: ; NOTIFY",
	"XRC-INI SQD>RTS: ; CUR ACCESS ALT MIG",
	"XRC-INI SQD>SQD: ; AV TMO RETRY RNRR QRD ALT ACCESS PKEY MIG PORT",

	/* the target is a responder only: it sends no requests, so it retries none */
	"XRC-TGT RESET>INIT: PKEY PORT ACCESS;",
	"XRC-TGT INIT>INIT: ; PKEY PORT ACCESS",
	"XRC-TGT INIT>RTR: AV MTU DQPN RPSN DRD RNRT; ALT ACCESS PKEY",
	"XRC-TGT RTR>RTS: SPSN TMO; CUR ACCESS RNRT ALT MIG",
	"XRC-TGT RTS>RTS: ; CUR ACCESS RNRT ALT MIG",
	"XRC-TGT RTS>SQD: ; NOTIFY",
	"XRC-TGT SQD>RTS: ; CUR ACCESS RNRT ALT MIG",
	"XRC-TGT SQD>SQD: ; AV TMO DRD ALT ACCESS PKEY RNRT MIG PORT",

	/* creation sets the port of SMI and GSI queue pairs */
	"SMI RESET>INIT: PKEY QKEY;",
	"SMI INIT>INIT: ; PKEY QKEY",
	"SMI INIT>RTR: ; PKEY QKEY",
	"SMI RTR>RTS: SPSN; CUR QKEY",
	"SMI RTS>RTS: ; CUR QKEY",
	"SMI RTS>SQD: ; NOTIFY",
	"SMI SQD>RTS: ; CUR QKEY",
	"SMI SQD>SQD: ; PKEY QKEY",
	"SMI SQE>RTS: ; CUR QKEY",

	"GSI RESET>INIT: PKEY QKEY;",
	"GSI INIT>INIT: ; PKEY QKEY",
	"GSI INIT>RTR: ; PKEY QKEY",
	"GSI RTR>RTS: SPSN; CUR QKEY",
	"GSI RTS>RTS: ; CUR QKEY",
	"GSI RTS>SQD: ; NOTIFY",
	"GSI SQD>RTS: ; CUR QKEY",
	"GSI SQD>SQD: ; PKEY QKEY",
	"GSI SQE>RTS: ; CUR QKEY",

	/* raw queue pairs have no transport, so no attribute of a transport */
	"RawPacket RESET>INIT: PORT;",
	"RawPacket INIT>INIT: ; PORT",
	"RawPacket INIT>RTR: ;",
	"RawPacket RTR>RTS: ; CUR",
	"RawPacket RTS>RTS: ; CUR",
	"RawPacket RTS>SQD: ; NOTIFY",
	"RawPacket SQD>RTS: ; CUR",
	"RawPacket SQE>RTS: ; CUR",

	"RawIPv6 RESET>INIT: PORT;",
	"RawIPv6 INIT>INIT: ; PORT",
	"RawIPv6 INIT>RTR: ;",
	"RawIPv6 RTR>RTS: ; CUR",
	"RawIPv6 RTS>RTS: ; CUR",
	"RawIPv6 RTS>SQD: ; NOTIFY",
	"RawIPv6 SQD>RTS: ; CUR",
	"RawIPv6 SQE>RTS: ; CUR",

	"RawEthertype RESET>INIT: PORT;",
	"RawEthertype INIT>INIT: ; PORT",
	"RawEthertype INIT>RTR: ;",
	"RawEthertype RTR>RTS: ; CUR",
	"RawEthertype RTS>RTS: ; CUR",
	"RawEthertype RTS>SQD: ; NOTIFY",
	"RawEthertype SQD>RTS: ; CUR",
	"RawEthertype SQE>RTS: ; CUR",
};

static const struct {
	const char *word;
	uint32_t bit;
} words[] = {
	{ "CUR", IB_QP_CUR_STATE },	   { "NOTIFY", IB_QP_EN_SQD_ASYNC_NOTIFY }, { "ACCESS", IB_QP_ACCESS_FLAGS },
	{ "PKEY", IB_QP_PKEY_INDEX },	   { "PORT", IB_QP_PORT },		    { "QKEY", IB_QP_QKEY },
	{ "AV", IB_QP_AV },		   { "MTU", IB_QP_PATH_MTU },		    { "TMO", IB_QP_TIMEOUT },
	{ "RETRY", IB_QP_RETRY_CNT },	   { "RNRR", IB_QP_RNR_RETRY },		    { "RPSN", IB_QP_RQ_PSN },
	{ "QRD", IB_QP_MAX_QP_RD_ATOMIC }, { "ALT", IB_QP_ALT_PATH },		    { "RNRT", IB_QP_MIN_RNR_TIMER },
	{ "SPSN", IB_QP_SQ_PSN },	   { "DRD", IB_QP_MAX_DEST_RD_ATOMIC },	    { "MIG", IB_QP_PATH_MIG_STATE },
	{ "CAP", IB_QP_CAP },		   { "DQPN", IB_QP_DEST_QPN },
};

static const char *const state_words[] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };

/* The rule of one transition. */
struct rule {
	bool permitted;
	uint32_t required, optional;
};

static uint32_t read_words(char *text)
{
	uint32_t mask = 0;
	char *save = NULL;

	for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		size_t i = 0;

		while (i < sizeof(words) / sizeof(words[0]) && strcmp(w, words[i].word))
			i++;
		ck_assert_msg(i < sizeof(words) / sizeof(words[0]), "no such word: %s", w);
		mask |= words[i].bit;
	}
	return mask;
}

static struct rule find_rule(ib_qp_type type, ib_qp_state from, ib_qp_state to)
{
	struct rule rule = { 0 };
	char head[64], line[160], *required, *optional;
	size_t len = 0;

	/* seed 004: every state may go to Reset and to Error */
	if (to == IB_QPS_RESET || to == IB_QPS_ERR) {
		rule.permitted = true;
		return rule;
	}
	snprintf(head, sizeof(head), "%s>%s:", state_words[from], state_words[to]);
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		len = strcspn(rules[i], " ");
		if (strncmp(rules[i], al_qp_type_str(type), len) || al_qp_type_str(type)[len])
			continue;
		snprintf(line, sizeof(line), "%s", rules[i] + len + strspn(rules[i] + len, " "));
		if (strncmp(line, head, strlen(head)))
			continue;
		required = line + strlen(head);
		optional = strchr(required, ';');
		*optional++ = 0;
		rule.permitted = true;
		rule.required = read_words(required);
		rule.optional = read_words(optional);
		return rule;
	}
	return rule;
}

static void check_transition(ib_qp_type type, ib_qp_state from, ib_qp_state to)
{
	struct rule rule = find_rule(type, from, to);
	al_status all = qp_table_check(type, from, to, IB_QP_STATE | rule.required | rule.optional);

	ck_assert_msg((all == AL_SUCCESS) == rule.permitted, "%s %s>%s: %s", al_qp_type_str(type), state_words[from],
		      state_words[to], al_status_name(all));
	if (!rule.permitted) {
		ck_status(all, AL_INVALID_TRANSITION);
		return;
	}
	ck_ok(qp_table_check(type, from, to, IB_QP_STATE | rule.required));
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		uint32_t bit = words[i].bit;
		al_status with = qp_table_check(type, from, to, IB_QP_STATE | rule.required | bit);
		al_status without = qp_table_check(type, from, to, IB_QP_STATE | (rule.required & ~bit));
		bool known = (rule.required | rule.optional) & bit;

		ck_assert_msg(with == (known ? AL_SUCCESS : AL_INVALID_ATTRIBUTE), "%s %s>%s with %s: %s",
			      al_qp_type_str(type), state_words[from], state_words[to], words[i].word,
			      al_status_name(with));
		ck_assert_msg(without == (rule.required & bit ? AL_MISSING_ATTRIBUTE : AL_SUCCESS),
			      "%s %s>%s without %s: %s", al_qp_type_str(type), state_words[from], state_words[to],
			      words[i].word, al_status_name(without));
	}
}

START_TEST(every_transition_of_a_type_is_as_the_architecture_has_it)
{
	for (int from = 0; from < IB_QPS_COUNT; from++)
		for (int to = 0; to < IB_QPS_COUNT; to++)
			check_transition((ib_qp_type)_i, (ib_qp_state)from, (ib_qp_state)to);
}
END_TEST

START_TEST(every_rule_is_of_a_type_and_read)
{
	size_t read = 0;

	for (int type = IB_QPT_NONE + 1; type < IB_QPT_COUNT; type++)
		for (int from = 0; from < IB_QPS_COUNT; from++)
			for (int to = 0; to < IB_QPS_COUNT; to++)
				if (to != IB_QPS_RESET && to != IB_QPS_ERR)
					read += find_rule((ib_qp_type)type, (ib_qp_state)from, (ib_qp_state)to).permitted;
	ck_assert_uint_eq(read, sizeof(rules) / sizeof(rules[0]));
}
END_TEST

START_TEST(an_unknown_state_is_refused)
{
	ck_status(qp_table_check(IB_QPT_RC, IB_QPS_INIT, IB_QPS_COUNT, IB_QP_STATE), AL_INVALID_PARAMETER);
	ck_status(qp_table_check(IB_QPT_RC, IB_QPS_INIT, (ib_qp_state)-1, IB_QP_STATE), AL_INVALID_PARAMETER);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("al/verbs/qp_table");
	TCase *tcase = tcase_create("table");

	tcase_add_loop_test(tcase, every_transition_of_a_type_is_as_the_architecture_has_it, IB_QPT_NONE + 1,
			    IB_QPT_COUNT);
	tcase_add_test(tcase, every_rule_is_of_a_type_and_read);
	tcase_add_test(tcase, an_unknown_state_is_refused);
	suite_add_tcase(suite, tcase);
	return test_run(suite);
}
