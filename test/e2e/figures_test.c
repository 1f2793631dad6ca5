/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The SAS's figures, read in the trace of the whole stack over the software HCA: the actor, the
 * order, and the thread of each step. 2-1 (loading) and 2-2 (unloading) with a client that has the
 * HCA in use; 2-3 (posting work requests) and 2-4 (completion processing) in a real transfer. The
 * parts of 2-1 and 2-2 below the Access Layer are in unit/ci/loader_test.c.
 */
#include <unistd.h>

#include "test/unit/al/al_test.h"

/* A line of the trace; ib_trace() documents its fields. */
struct step {
	long tid;
	char actor[16];
	char text[256];
};

static struct step steps[512];
static int num_steps;
static char trace[] = "/tmp/ibal-figures-XXXXXX";

static void set_trace(void)
{
	int fd = mkstemp(trace);

	ck_assert_int_ge(fd, 0);
	close(fd);
	ck_assert(!setenv("IBAL_TRACE", trace, 1));
}

static void drop_trace(void)
{
	unlink(trace);
}

static void read_trace(void)
{
	FILE *file = fopen(trace, "r");
	char line[512];

	ck_assert_ptr_nonnull(file);
	while (num_steps < (int)(sizeof(steps) / sizeof(steps[0])) && fgets(line, sizeof(line), file)) {
		struct step *s = &steps[num_steps++];

		ck_assert_msg(sscanf(line, "%*s %*d %ld %*s %15s %255[^\n]", &s->tid, s->actor, s->text) == 3, "%s", line);
	}
	fclose(file);
}

/* Returns the first step after `after` with this actor and text. */
static int find(int after, const char *actor, const char *text)
{
	for (int i = after + 1; i < num_steps; i++)
		if (!strcmp(steps[i].actor, actor) && strstr(steps[i].text, text))
			return i;
	ck_abort_msg("after line %d of the trace \"%s\" of %s is missing", after + 1, text, actor);
}

/* -------------------------------------------------- loading and unloading */

struct hca {
	al_ca_h ca;
	al_pd_h pd;
};

struct client {
	al_h al;
	al_pnp_h pnp;
	struct hca hca[2];
	int added, removed;
	al_status status; /* status of the first call that failed */
};

static al_status add(struct client *c, uint64_t guid)
{
	struct hca *hca = &c->hca[c->added++];
	al_status st = al_open_ca(c->al, guid, NULL, &hca->ca);

	if (!st)
		st = al_alloc_pd(hca->ca, NULL, &hca->pd);
	return st ? st : al_set_client_context(c->pnp, guid, hca);
}

static al_status drop(struct client *c, struct hca *hca)
{
	al_status st = al_dealloc_pd(hca->pd, AL_DESTROY_SYNC, NULL);

	c->removed++;
	return st ? st : al_close_ca(hca->ca, AL_DESTROY_SYNC, NULL);
}

static al_status use(void *context, const struct al_pnp_event *event)
{
	struct client *c = context;
	al_status st = AL_SUCCESS;

	if (event->type == AL_PNP_CA_ADD)
		st = add(c, event->ca_guid);
	else if (event->type == AL_PNP_CA_REMOVE)
		st = drop(c, event->ca_context);
	if (!c->status)
		c->status = st;
	return AL_SUCCESS;
}

struct receiver {
	al_cq_h cq;
	sem_t done;
	struct ib_wc wc;
	uint32_t count;
};

static void receive(void *context)
{
	struct receiver *r = context;

	if (al_poll_cq(r->cq, 1, &r->wc, &r->count))
		r->count = 0;
	sem_post(&r->done);
}

/*
 * Makes one send from a connected queue pair to another, whose completion comes by callback.
 * Returns the thread that posts.
 */
static long transfer(uint32_t bytes)
{
	struct receiver r = { .count = 0 };
	struct al_cq_init cq = { .cqe = 16 };
	struct al_qp_init qp = { .qp_type = IB_QPT_RC,
				 .cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 } };
	struct test_end end[2];
	uint64_t guids[2];
	al_h al = test_open();

	test_guids(al, guids, 2);
	for (int i = 0; i < 2; i++)
		test_make_end(&end[i], al, guids[i], IB_QPT_RC);
	ck_assert(!sem_init(&r.done, 0, 0));
	ck_ok(al_create_cq(end[1].pd, &cq, &r, receive, NULL, &r.cq));
	qp.send_cq = qp.recv_cq = r.cq;
	ck_ok(al_create_qp(end[1].pd, &qp, &end[1], NULL, &end[1].qp));
	ck_ok(al_qp_num(end[1].qp, &end[1].qpn));
	test_connect(&end[0], &end[1]);

	ck_ok(al_arm_cq(r.cq, AL_ARM_ANY, NULL));
	ck_ok(test_post_recv(&end[1], 2, 0, bytes));
	ck_ok(test_post_send(&end[0], 1, 0, bytes));
	test_wait(&r.done);
	ck_assert_uint_eq(r.count, 1);
	ck_assert_uint_eq(r.wc.wr_id, 2);
	ck_assert_uint_eq(r.wc.status, IB_WC_SUCCESS);

	al_set_log(test_ignore_log, NULL); /* the close destroys the remaining objects on purpose */
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	free(end[0].mem);
	free(end[1].mem);
	sem_destroy(&r.done);
	read_trace();
	return gettid();
}

/* A message of one packet, which may take the short way, and a message of many packets. */
static const uint32_t sizes[] = { 8, 40000 };
#define NUM_SIZES ((int)(sizeof(sizes) / sizeof(sizes[0])))

START_TEST(posting_takes_the_steps_of_figure_2_3)
{
	long poster = transfer(sizes[_i]);
	int post = find(-1, "driver", "post_send to qp");         /* 1 */
	int hand = find(post, "al", "post_send: hands");          /* 2 */
	int build = find(hand, "soft", "post_send: WQE built");   /* 3 */
	int ring = find(build, "soft", "post_send: doorbell");
	int back = find(ring, "al", "post_send returns to the channel driver: success"); /* 4, 5 */
	int move = find(ring, "soft", "data transferred");        /* 6: at the software HCA's own time */

	ck_assert_int_eq(steps[post].tid, poster);
	ck_assert_int_eq(steps[hand].tid, poster);
	ck_assert_int_eq(steps[build].tid, poster);
	ck_assert_int_eq(steps[ring].tid, poster);
	ck_assert_int_eq(steps[back].tid, poster);
	ck_assert_int_gt(move, ring);
}
END_TEST

START_TEST(a_completion_takes_the_steps_of_figure_2_4)
{
	long poster = transfer(sizes[_i]);
	int move = find(-1, "soft", "data transferred");
	int cqe = find(move, "soft", "wr_id=0x2 status=0");       /* 1 */
	int event = find(cqe, "soft", "event queue: CQ event");   /* 2 to 4 */
	int call = find(event, "al", "completion callback of cq"); /* 5 */
	long dispatcher = steps[call].tid;
	int ask = find(call, "al", "poll_cq: polls");              /* 6 */
	int copy = find(ask, "soft", "poll_cq: 1 CQ entries copied"); /* 7 */
	int back = find(copy, "al", "poll_cq returns to the channel driver: success, 1 completions"); /* 8 */

	ck_assert_ptr_nonnull(strstr(steps[cqe].text, "CQE written"));
	ck_assert_int_ne(dispatcher, poster);
	ck_assert_int_eq(steps[ask].tid, dispatcher);
	ck_assert_int_eq(steps[copy].tid, dispatcher);
	ck_assert_int_eq(steps[back].tid, dispatcher);
}
END_TEST

START_TEST(loading_and_unloading_take_the_steps_of_figures_2_1_and_2_2)
{
	struct client c = { .al = test_open() };
	int load, scan, reg, open, query, ready, added, dereg, begins, removed, ended, left, close;

	ck_ok(al_reg_pnp(c.al, NULL, &c, use, &c.pnp));
	ck_assert_int_eq(c.added, 2);
	ck_ok(al_unload_module(c.al, "soft", AL_UNLOAD_REMOVE));
	ck_assert_int_eq(c.removed, 2);
	ck_ok(c.status);
	ck_ok(al_dereg_pnp(c.pnp, AL_DESTROY_SYNC, NULL));
	ck_ok(al_close(c.al, AL_DESTROY_SYNC, NULL));
	read_trace();

	load = find(-1, "ci", "load soft");
	scan = find(find(load, "ci", "init of soft"), "ci", "scan of soft");
	reg = find(scan, "soft", "ib_register_ci");
	open = find(reg, "ci", "open_ca of soft");
	query = find(open, "ci", "query_ca of soft");
	ready = find(query, "al", "ready for events, announced");
	added = find(ready, "al", "PnP: HCA added");

	dereg = find(added, "soft", "ib_deregister_ci");
	begins = find(dereg, "al", "removal begins");
	removed = find(begins, "al", "PnP: HCA removed");
	ended = find(removed, "al", "no references left; destroying in the module");
	left = find(ended, "al", "no client, object or upcall is left");
	close = find(left, "ci", "close_ca of soft");
	find(close, "ci", "unload soft");

	/*
	 * Modules and their HCAs on the thread that loads and unloads; clients on a thread of their
	 * own; destroys on another.
	 */
	ck_assert_int_eq(steps[load].tid, gettid());
	ck_assert_int_eq(steps[reg].tid, gettid());
	ck_assert_int_eq(steps[ready].tid, gettid());
	ck_assert_int_ne(steps[added].tid, gettid());
	ck_assert_int_eq(steps[removed].tid, steps[added].tid);
	ck_assert_int_ne(steps[ended].tid, gettid());
	ck_assert_int_ne(steps[ended].tid, steps[removed].tid);
	ck_assert_int_eq(steps[left].tid, gettid());
	ck_assert_int_eq(steps[close].tid, gettid());
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("figures");
	TCase *tc = tcase_create("SAS 2-1 to 2-4");

	tcase_add_checked_fixture(tc, set_trace, drop_trace);
	tcase_add_test(tc, loading_and_unloading_take_the_steps_of_figures_2_1_and_2_2);
	tcase_add_loop_test(tc, posting_takes_the_steps_of_figure_2_3, 0, NUM_SIZES);
	tcase_add_loop_test(tc, a_completion_takes_the_steps_of_figure_2_4, 0, NUM_SIZES);
	suite_add_tcase(suite, tc);
	return test_run(suite);
}
