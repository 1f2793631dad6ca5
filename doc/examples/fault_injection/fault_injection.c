/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A test of a program's error path. The software HCA makes faults on purpose, and in virtual time:
 * time-outs pass at once, and each run is like the other. */
#include <iba/ib_al.h>
#include <iba/ib_soft.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static al_h al;
static al_ca_h ca;

/* Ends the test if a call fails that no fault concerns. */
static void must(al_status status)
{
	if (status) {
		fprintf(stderr, "%s: %s\n", al_status_str(status), al_reason());
		exit(EXIT_FAILURE);
	}
}

/* Part 1: the program, which sends messages from one queue pair to another. */
struct program {
	al_cq_h cq;
	al_qp_h qp, peer;
	bool deaf; /* the peer posts no receive */
	unsigned int sent, repeated;
	const char *ended; /* why the program has given up; "": it goes on */
};

/* From Reset on, which takes the requests of an old connection away. */
static void connect_qp(al_qp_h qp, al_qp_h peer)
{
	static const uint32_t masks[] = {
		[IB_QPS_INIT] = IB_QP_PORT | IB_QP_PKEY_INDEX | IB_QP_ACCESS_FLAGS,
		[IB_QPS_RTR] = IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN |
			       IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER,
		[IB_QPS_RTS] = IB_QP_SQ_PSN | IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY |
			       IB_QP_MAX_QP_RD_ATOMIC,
	};
	struct ib_qp_attr attr = { .port_num = 1, .timeout = 18, .retry_cnt = 6, .rnr_retry = 6 };

	attr.path_mtu = IB_MTU_1024;
	attr.ah_attr.dlid = attr.ah_attr.port_num = 1;
	must(al_qp_num(peer, &attr.dest_qp_num));
	for (; attr.qp_state <= IB_QPS_RTS; attr.qp_state++)
		must(al_modify_qp(qp, &attr, IB_QP_STATE | masks[attr.qp_state]));
}

static void send_message(struct program *p)
{
	const struct ib_send_wr send = { .opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED };
	const struct ib_recv_wr recv = { .wr_id = 0 };

	connect_qp(p->qp, p->peer);
	connect_qp(p->peer, p->qp);
	if (!p->deaf)
		must(al_post_recv(p->peer, &recv, NULL));
	must(al_post_send(p->qp, &send, NULL));
}

/* Takes a completion, if there is one. This is the error path. */
static void take_completion(struct program *p)
{
	struct ib_wc wc;
	uint32_t count;
	al_status status = al_poll_cq(p->cq, 1, &wc, &count);

	if (status) { /* the HCA has gone, or the agent: everything on it has ended */
		p->ended = al_status_str(status);
	} else if (!count || wc.opcode & IB_WC_RECV) {
		return; /* the peer's */
	} else if (wc.status == IB_WC_SUCCESS) {
		p->sent++;
	} else if (wc.status != IB_WC_RETRY_EXC_ERR && wc.status != IB_WC_RNR_RETRY_EXC_ERR) {
		p->ended = al_wc_status_str(wc.status); /* a repetition would fail, too */
	} else if (p->repeated == 3) {
		p->ended = "no answer";
	} else {
		p->repeated++; /* the peer may be back soon */
		send_message(p);
	}
}

/* Part 2: the test. A program that sends in spite of faults does so when the faults end. */
static const struct test {
	const char *name, *faults; /* rules of ibal-soft(5); NULL: the HCA is removed */
	struct program want;
} tests[] = {
	{ "lost packets", "drop", { .sent = 1, .repeated = 1, .ended = "" } },
	{ "a broken cable", "drop", { .repeated = 3, .ended = "no answer" } },
	{ "no receive", "", { .deaf = true, .repeated = 3, .ended = "no answer" } },
	{ "a refused access", "nak,code=access", { .ended = "remote access error" } },
	{ "a removed HCA", NULL, { .ended = "the HCA has been removed" } },
};

static void set_faults(const char *rules)
{
	static struct soft_fault_words words; /* the rules in words, which are not used here */
	struct soft_fault_text text = { .text = "" };
	uint32_t room = sizeof(words);

	strncpy(text.text, rules, sizeof(text.text) - 1);
	must(al_vendor_call(ca, SOFT_FAULT_SET, &text, sizeof(text), &words, &room));
}

static bool passes(struct program p, const struct test *t)
{
	struct soft_step step = { .did = SOFT_STEP_QP };

	p.deaf = t->want.deaf;
	set_faults(t->faults ? t->faults : "");
	send_message(&p);
	if (!t->faults)
		must(al_unload_module(al, "soft", AL_UNLOAD_REMOVE));
	/* The HCA works step by step, until not even a timer runs; or it is not there. */
	while (!*p.ended && step.did != SOFT_STEP_NOTHING) {
		al_vendor_call(ca, SOFT_STEP, NULL, 0, &step, &(uint32_t){ sizeof(step) });
		take_completion(&p);
		if (t->want.sent && p.repeated)
			set_faults(""); /* the cable is whole again */
	}
	printf("%s: %u sent, %u repeated. %s\n", t->name, p.sent, p.repeated, p.ended);
	return p.sent == t->want.sent && p.repeated == t->want.repeated &&
	       !strcmp(p.ended, t->want.ended);
}

int main(void)
{
	struct al_qp_init qp = { .qp_type = IB_QPT_RC, .cap = { 4, 4 } };
	struct al_cq_init cq = { .cqe = 8 };
	struct program p = { .ended = "" };
	bool good = true;
	al_pd_h pd;

	setenv("IBAL_SOFT", "hcas=1 progress=manual [hca 0] guid=1", 1); /* with virtual time */
	must(al_open(NULL, &al));
	must(al_open_ca(al, 1, NULL, &ca));
	must(al_alloc_pd(ca, NULL, &pd));
	must(al_create_cq(pd, &cq, NULL, NULL, NULL, &p.cq));
	qp.send_cq = qp.recv_cq = p.cq;
	must(al_create_qp(pd, &qp, NULL, NULL, &p.qp));
	must(al_create_qp(pd, &qp, NULL, NULL, &p.peer));
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		good = passes(p, &tests[i]) && good;
	al_close(al, AL_DESTROY_SYNC, NULL);
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
