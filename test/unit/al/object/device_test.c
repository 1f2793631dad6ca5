/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Removal of HCAs in use, and the unload of modules. The PnP clients' side is in pnp_test.c. */
#include <unistd.h>

#include "test/unit/al/bed.h"

/* ------------------------------------------------------------- dead handles */

static void quiet(void *context, const struct al_event *event)
{
	(void)context;
	(void)event;
}

/* One object of each kind that a program may have on its HCA. */
struct all {
	al_qp_h qp;
	al_cq_h cq;
	al_mr_h mr;
	al_ah_h ah;
	al_event_handler_h handler;
};

static struct all make_all(struct bed *bed)
{
	struct all all = { .cq = bed_cq(bed->pd, 0, NULL, NULL) };

	all.qp = bed_qp(bed->pd, all.cq, NULL, NULL);
	ck_ok(try_mr(bed->pd, &all.mr));
	ck_ok(try_ah(bed->pd, &all.ah));
	ck_ok(al_reg_event_handler(bed->ca, NULL, NULL, quiet, &all.handler));
	return all;
}

#define GONE(call) ck_status(call, AL_CA_REMOVED)

/* The handles are valid, but every call returns AL_CA_REMOVED. */
static void expect_dead(struct bed *bed, struct all *all)
{
	const struct ib_send_wr send = { .opcode = IB_WR_SEND }, *bad_send;
	const struct ib_recv_wr recv = { 0 }, *bad_recv;
	const struct ib_ah_attr path = { .dlid = 1, .port_num = 1 };
	struct ib_qp_attr qp_attr = { .qp_state = IB_QPS_ERR };
	struct al_cq_init init = { .cqe = 1 };
	struct ib_ah_attr ah_attr;
	struct ib_port_attr port;
	struct ib_mr_attr mr_attr;
	struct al_cq_attr cq_attr;
	struct ib_ca_attr attr;
	al_event_handler_h handler;
	ib_gid gid = { { 0 } };
	uint32_t count, index;
	uint16_t pkey;
	uint8_t num;
	struct ib_wc wc;
	al_mr_h mr;
	al_pd_h pd;
	al_cq_h cq;
	al_qp_h qp;
	al_ah_h ah;

	GONE(al_post_send(all->qp, &send, &bad_send));
	ck_assert_ptr_eq(bad_send, &send);
	GONE(al_post_recv(all->qp, &recv, &bad_recv));
	ck_assert_ptr_eq(bad_recv, &recv);
	GONE(al_poll_cq(all->cq, 1, &wc, &count));
	GONE(al_arm_cq(all->cq, AL_ARM_ANY, NULL));
	GONE(al_arm_cq_n(all->cq, 1));
	GONE(al_peek_cq(all->cq, 1, &count));
	GONE(al_query_cq(all->cq, &cq_attr));
	GONE(al_modify_qp(all->qp, &qp_attr, IB_QP_STATE));
	GONE(al_query_qp(all->qp, &qp_attr, NULL));
	GONE(al_query_mr(all->mr, &mr_attr));
	GONE(al_modify_ah(all->ah, &path));
	GONE(al_query_ah(all->ah, &ah_attr));
	GONE(al_query_ca(bed->ca, &attr));
	GONE(al_query_port(bed->ca, 1, &port));
	GONE(al_query_gid(bed->ca, 1, 0, &gid));
	GONE(al_query_pkey(bed->ca, 1, 0, &pkey));
	GONE(al_find_gid(bed->ca, &gid, &num, &index));
	GONE(al_find_pkey(bed->ca, 1, 0xffff, &index));
	GONE(al_reg_event_handler(bed->ca, NULL, NULL, quiet, &handler));
	GONE(al_alloc_pd(bed->ca, NULL, &pd));
	GONE(al_create_cq(bed->pd, &init, NULL, NULL, NULL, &cq));
	GONE(try_qp(bed->pd, all->cq, NULL, NULL, &qp));
	GONE(try_mr(bed->pd, &mr));
	GONE(try_ah(bed->pd, &ah));
}

static void withdraw(struct bed *bed, uint32_t flags)
{
	bed_withdraw(bed, flags);
	ck_assert_uint_eq(bed->fake->calls[FAKE_close_ca], 1);
}

/* Loop: 0 the removal is announced, 1 the hardware has gone already. */
START_TEST(handles_of_a_removed_hca_are_valid_dead_and_can_be_destroyed)
{
	struct bed bed = bed_make();
	struct all all = make_all(&bed);
	al_ca_h ca;
	size_t num = 0;

	withdraw(&bed, _i ? CI_HCA_GONE : 0);
	/* The module's destroy operations were called, in order, once each. */
	ck_assert_uint_eq(bed.fake->calls[FAKE_destroy_qp], 1);
	ck_assert_uint_eq(bed.fake->calls[FAKE_destroy_cq], 1);
	ck_assert_uint_eq(bed.fake->calls[FAKE_deregister_mr], 1);
	ck_assert_uint_eq(bed.fake->calls[FAKE_destroy_ah], test_ah_calls(1));
	ck_assert_uint_eq(bed.fake->calls[FAKE_deallocate_pd], 1);
	expect_dead(&bed, &all);
	ck_status(al_open_ca(bed.al, FAKE_GUID, NULL, &ca), AL_NOT_FOUND);
	ck_ok(al_get_ca_guids(bed.al, NULL, &num));
	ck_assert_uint_eq(num, 0);
	/* Destroys still follow the rule of dependence. */
	ck_status(al_dealloc_pd(bed.pd, NULL, NULL), AL_RESOURCE_BUSY);
	ck_status(al_destroy_cq(all.cq, NULL, NULL), AL_RESOURCE_BUSY);
	ck_ok(al_destroy_qp(all.qp, AL_DESTROY_SYNC, NULL));
	ck_ok(al_destroy_cq(all.cq, AL_DESTROY_SYNC, NULL));
	ck_ok(al_dereg_mr(all.mr, AL_DESTROY_SYNC, NULL));
	ck_ok(al_destroy_ah(all.ah, AL_DESTROY_SYNC, NULL));
	ck_ok(al_dereg_event_handler(all.handler, AL_DESTROY_SYNC, NULL));
	ck_ok(al_dealloc_pd(bed.pd, AL_DESTROY_SYNC, NULL));
	ck_ok(al_close_ca(bed.ca, AL_DESTROY_SYNC, NULL));
	ck_assert_uint_eq(bed.fake->calls[FAKE_destroy_qp], 1);
	bed_end(&bed);
}
END_TEST

START_TEST(an_hca_that_comes_again_is_another_one)
{
	struct bed bed = bed_make();
	struct all all = make_all(&bed);
	struct ib_ca_attr attr;
	al_ca_h again;

	withdraw(&bed, 0);
	ck_ok(bed.fake->announce(0));
	expect_dead(&bed, &all);
	again = test_open_ca(bed.al, FAKE_GUID);
	ck_ok(al_query_ca(again, &attr));
	ck_ok(al_close_ca(bed.ca, AL_DESTROY_SYNC, NULL));
	ck_ok(al_query_ca(again, &attr));
	bed_end(&bed);
}
END_TEST

static atomic_uint ops_after; /* calls of the module's operations since the hardware has gone */
static atomic_bool hardware_gone;

static void count_op(void *object)
{
	(void)object;
	ops_after += hardware_gone;
}

static al_status refuse_nothing(void *context, const struct al_pnp_event *event)
{
	struct bed *bed = context;
	struct ib_ca_attr attr;
	al_cq_h cq;

	/* In its removal callback the client finds the HCA dead: no call reaches the module. */
	if (event->type == AL_PNP_CA_REMOVE && (al_query_ca(bed->ca, &attr) != AL_CA_REMOVED ||
						al_create_cq(bed->pd, &(struct al_cq_init){ .cqe = 1 }, NULL, NULL,
							     NULL, &cq) != AL_CA_REMOVED))
		ops_after += 100;
	return AL_SUCCESS;
}

START_TEST(when_the_hardware_is_gone_only_destroys_reach_the_module)
{
	struct bed bed = bed_make();
	struct all all = make_all(&bed);
	al_pnp_h pnp;

	ck_ok(al_reg_pnp(bed.al, NULL, &bed, refuse_nothing, &pnp));
	for (int op = 0; op < FAKE_OPS; op++)
		bed.fake->hook[op] = count_op;
	bed.fake->hook[FAKE_destroy_qp] = bed.fake->hook[FAKE_destroy_cq] = NULL;
	bed.fake->hook[FAKE_deregister_mr] = bed.fake->hook[FAKE_destroy_ah] = NULL;
	bed.fake->hook[FAKE_deallocate_pd] = bed.fake->hook[FAKE_close_ca] = NULL;
	bed.fake->hook[FAKE_um_close_ca] = NULL;
	hardware_gone = true;
	withdraw(&bed, CI_HCA_GONE);
	expect_dead(&bed, &all);
	ck_assert_uint_eq(ops_after, 0);
	bed_end(&bed);
}
END_TEST

struct fatal {
	sem_t seen;
	ib_event_type type;
};

static void see_fatal(void *context, const struct al_event *event)
{
	struct fatal *fatal = context;

	fatal->type = event->type;
	sem_post(&fatal->seen);
}

START_TEST(handlers_hear_that_the_hardware_is_gone)
{
	struct bed bed = bed_make();
	al_event_handler_h handler;
	struct fatal fatal;

	sem_init(&fatal.seen, 0, 0);
	ck_ok(al_reg_event_handler(bed.ca, NULL, &fatal, see_fatal, &handler));
	withdraw(&bed, CI_HCA_GONE);
	test_wait(&fatal.seen);
	ck_assert_int_eq(fatal.type, IB_EVENT_DEVICE_FATAL);
	bed_end(&bed);
}
END_TEST

/* --------------------------------------------------------------- traffic */

struct traffic {
	struct bed *bed;
	al_qp_h qp[4];
	al_cq_h cq[4];
	atomic_uint wrong, alive, dead;
	_Atomic al_status first_wrong;
};

static void see(struct traffic *t, al_status st)
{
	if (st == AL_SUCCESS)
		t->alive++;
	else if (st == AL_CA_REMOVED)
		t->dead++;
	else if (st != AL_QUEUE_FULL && !t->wrong++)
		t->first_wrong = st;
}

static void pump(struct crew *crew, unsigned int i)
{
	struct ib_send_wr wr = { .opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED };
	struct traffic *t = crew->arg;
	const struct ib_send_wr *bad;
	struct ib_qp_attr attr;
	struct ib_wc wc[4];
	uint32_t count;
	al_cq_h cq;
	al_ah_h ah;
	al_status st;

	while (!crew->stop) {
		see(t, al_post_send(t->qp[i], &wr, &bad));
		see(t, al_poll_cq(t->cq[i], 4, wc, &count));
		see(t, al_arm_cq(t->cq[i], AL_ARM_ANY, NULL));
		see(t, al_query_qp(t->qp[i], &attr, NULL));
		st = try_ah(t->bed->pd, &ah);
		see(t, st);
		if (!st)
			al_destroy_ah(ah, NULL, NULL);
		if (i)
			continue;
		st = al_create_cq(t->bed->pd, &(struct al_cq_init){ .cqe = 4 }, NULL, NULL, NULL, &cq);
		see(t, st);
		if (!st)
			al_destroy_cq(cq, NULL, NULL);
	}
}

static void nothing(void *context)
{
	(void)context;
}

/* Loop: even numbers announced removals, odd numbers hardware that has gone. */
START_TEST(an_hca_is_removed_under_traffic)
{
	struct bed bed;
	struct traffic t = { .bed = &bed };
	struct crew crew;

	test_fake()->ca_attr.max_ah = test_fake()->ca_attr.max_cq = UINT32_MAX;
	bed = bed_make();
	for (uint32_t i = 0; i < 4; i++) {
		t.cq[i] = bed_cq(bed.pd, i % 2, NULL, nothing);
		t.qp[i] = bed_qp(bed.pd, t.cq[i], NULL, NULL);
		test_to_rts(t.qp[i], 1, 1, IB_MTU_1024);
	}
	crew_make(&crew, 4, pump, &t);
	crew_go(&crew);
	while (t.alive < 1000)
		sched_yield();
	withdraw(&bed, _i % 2 ? CI_HCA_GONE : 0);
	t.dead = 0;
	while (t.dead < 100)
		sched_yield();
	crew_end(&crew);
	ck_assert_msg(!t.wrong, "%u wrong answers, the first %s", t.wrong, al_status_name(t.first_wrong));
	ck_assert_uint_eq(bed.fake->calls[FAKE_create_ah], bed.fake->calls[FAKE_destroy_ah]);
	ck_assert_uint_eq(bed.fake->calls[FAKE_create_cq], bed.fake->calls[FAKE_destroy_cq]);
	bed_end(&bed);
}
END_TEST

/* Only an operation inside the module and a reader of the data path hold up a removal. */
static struct gate in_op;

static void hold_op(void *object)
{
	(void)object;
	gate_pass(&in_op);
}

struct caller {
	struct bed *bed;
	al_qp_h qp;
	al_status status;
	bool data_path;
};

static void call(struct crew *crew, unsigned int index)
{
	const struct ib_send_wr wr = { .opcode = IB_WR_SEND }, *bad;
	struct caller *caller = crew->arg;
	struct ib_ca_attr attr;

	(void)index;
	caller->status = caller->data_path ? al_post_send(caller->qp, &wr, &bad) : al_query_ca(caller->bed->ca, &attr);
}

static atomic_bool withdrawn;

static void withdraw_it(struct crew *crew, unsigned int index)
{
	struct bed *bed = crew->arg;

	(void)index;
	bed->fake->withdraw(0, 0);
	withdrawn = true;
}

static void remove_during_a_call(bool data_path)
{
	struct bed bed = bed_make();
	struct caller caller = { .bed = &bed, .data_path = data_path };
	struct crew crew, remover;
	struct ib_port_attr port;

	gate_init(&in_op);
	caller.qp = bed_qp(bed.pd, bed_cq(bed.pd, 0, NULL, NULL), NULL, NULL);
	test_to_rts(caller.qp, 1, 1, IB_MTU_1024);
	bed.fake->hook[data_path ? FAKE_post_send : FAKE_query_ca] = hold_op;
	crew_make(&crew, 1, call, &caller);
	crew_go(&crew);
	test_wait(&in_op.in);
	crew_make(&remover, 1, withdraw_it, &bed);
	crew_go(&remover);
	while (al_query_port(bed.ca, 1, &port) == AL_SUCCESS)
		sched_yield(); /* until new calls find the HCA dead */
	ck_assert(!withdrawn);
	if (!test_in_user_role()) /* an agent destroys its client's objects, as any client of the HCA would */
		ck_assert_uint_eq(bed.fake->calls[FAKE_destroy_qp], 0);
	sem_post(&in_op.out);
	crew_end(&crew);
	crew_end(&remover);
	ck_status(caller.status, AL_SUCCESS);
	ck_assert_uint_eq(bed.fake->calls[FAKE_destroy_qp], 1);
	bed_end(&bed);
}

START_TEST(a_removal_waits_for_operations_in_progress)
{
	remove_during_a_call(false);
}
END_TEST

START_TEST(a_removal_waits_for_posts_in_progress)
{
	remove_during_a_call(true);
}
END_TEST

START_TEST(a_removal_does_not_wait_for_a_client_that_sleeps_in_its_callback)
{
	struct bed bed = bed_make();
	struct gate of_cq, of_qp, of_handler;
	al_event_handler_h handler;
	al_cq_h cq;
	al_qp_h qp;
	struct ib_wc wc;
	uint32_t count;

	gate_init(&of_cq);
	gate_init(&of_qp);
	gate_init(&of_handler);
	cq = bed_cq(bed.pd, 0, &of_cq, gate_pass);
	qp = bed_qp(bed.pd, cq, &of_qp, gate_event);
	ib_cq_notify(bed.fake->last_cq->cq.ctx);
	test_wait(&of_cq.in);
	if (_i) {
		bed_object_event(bed.fake->last_qp->qp.ctx, IB_EVENT_COMM_EST);
		test_wait(&of_qp.in);
	} else {
		ck_ok(al_reg_event_handler(bed.ca, NULL, &of_handler, gate_event, &handler));
		bed_port_event(&bed, IB_EVENT_LID_CHANGE, 1);
		test_wait(&of_handler.in);
	}
	withdraw(&bed, 0);
	ck_status(al_poll_cq(cq, 1, &wc, &count), AL_CA_REMOVED);
	if (!test_in_user_role()) /* in a user role the module is the agent's, which still uses the module */
		ck_ok(al_unload_module(bed.al, "fake", 0)); /* nothing of the module is in use any more */
	sem_post(&of_cq.out);
	sem_post(&of_qp.out);
	for (int i = 0; i < 2; i++)
		sem_post(&of_handler.out); /* the handler may get further events */
	ck_ok(al_destroy_qp(qp, AL_DESTROY_SYNC, NULL));
	ck_ok(al_destroy_cq(cq, AL_DESTROY_SYNC, NULL));
	bed_end(&bed);
}
END_TEST

/* --------------------------------------------------------------- modules */

static void keep_errors(void *context, ib_log_level level, const char *text)
{
	if (level == IB_LOG_ERROR)
		journal_add(context, text);
}

START_TEST(unloading_a_module_in_use_is_refused_and_names_its_users)
{
	struct bed bed = bed_make();
	struct journal log;
	struct ib_ca_attr attr;
	char both[128];

	snprintf(both, sizeof(both), "%.15s (pid %d), %.15s (pid %d)", program_invocation_short_name, (int)getpid(),
		 program_invocation_short_name, (int)getpid());
	test_open_ca(bed.al, FAKE_GUID);
	journal_init(&log);
	al_set_log(keep_errors, &log);
	ck_status(al_unload_module(bed.al, "fake", 0), AL_MODULE_IN_USE);
	al_set_log(NULL, NULL);
	ck_assert_uint_eq(log.count, 1);
	ck_assert_ptr_nonnull(strstr(log.entry[0], both));
	ck_ok(al_query_ca(bed.ca, &attr));
	ck_status(al_unload_module(bed.al, "nobody", 0), AL_NOT_FOUND);
	bed_end(&bed);
}
END_TEST

START_TEST(a_closed_hca_handle_no_longer_keeps_the_module)
{
	struct bed bed = bed_make();
	al_h al = bed.al;
	sem_t gone;

	sem_init(&gone, 0, 0);
	for (int i = 0; i < 20; i++) {
		ck_ok(al_close_ca(bed.ca, test_post, &gone));
		test_wait(&gone);
		ck_ok(al_unload_module(al, "fake", 0));
		ck_assert_uint_eq(bed.fake->cleanups, i + 1);
		ck_ok(al_load_module(al, FAKE_DIR "/fake.so"));
		bed.ca = test_open_ca(al, FAKE_GUID);
	}
	bed_end(&bed);
}
END_TEST

START_TEST(a_module_is_unloaded_from_under_its_users_when_asked_so)
{
	struct bed bed = bed_make();
	struct all all = make_all(&bed);
	al_h owner = test_open_owner();
	struct ib_ca_attr attr;
	al_ca_h ca;

	ck_ok(al_unload_module(owner, "fake", AL_UNLOAD_REMOVE));
	ck_assert_uint_eq(bed.fake->cleanups, 1);
	ck_soon(bed_dead(&bed));
	expect_dead(&bed, &all);
	ck_ok(al_load_module(owner, FAKE_DIR "/fake.so"));
	ca = test_open_ca(bed.al, FAKE_GUID);
	ck_ok(al_query_ca(ca, &attr));
	expect_dead(&bed, &all);
	/* The dead handles do not keep the module loaded. (An agent keeps every HCA for its clients.) */
	ck_ok(al_close_ca(ca, AL_DESTROY_SYNC, NULL));
	ck_ok(al_unload_module(owner, "fake", test_in_user_role() ? AL_UNLOAD_REMOVE : 0));
	ck_ok(al_close(owner, AL_DESTROY_SYNC, NULL));
	bed_end(&bed);
}
END_TEST

struct leaver {
	al_h al;
	al_ca_h ca;
	_Atomic al_status closed;
};

static al_status leave_in_remove(void *context, const struct al_pnp_event *event)
{
	struct leaver *leaver = context;

	if (event->type == AL_PNP_CA_ADD)
		return al_open_ca(leaver->al, event->ca_guid, NULL, &leaver->ca);
	if (event->type == AL_PNP_CA_REMOVE)
		leaver->closed = al_close_ca(leaver->ca, AL_DESTROY_SYNC, NULL);
	return AL_SUCCESS;
}

START_TEST(clients_are_told_before_their_module_is_unloaded_from_under_them)
{
	struct fake *fake = test_fake();
	struct leaver leaver = { .al = test_open(), .closed = AL_NOT_FOUND };
	al_h owner = test_open_owner();
	al_pnp_h pnp;

	ck_ok(al_reg_pnp(leaver.al, NULL, &leaver, leave_in_remove, &pnp));
	ck_status(al_unload_module(owner, "fake", 0), AL_MODULE_IN_USE);
	ck_status(leaver.closed, AL_NOT_FOUND);
	ck_ok(al_unload_module(owner, "fake", AL_UNLOAD_REMOVE));
	ck_soon(leaver.closed == AL_SUCCESS);
	ck_assert_uint_eq(fake->cleanups, 1);
	ck_ok(al_close(owner, AL_DESTROY_SYNC, NULL));
	ck_ok(al_close(leaver.al, AL_DESTROY_SYNC, NULL));
}
END_TEST

static void no_log(void *context, ib_log_level level, const char *text)
{
	(void)context;
	(void)level;
	(void)text;
}

/* ------------------------------------------------------------------- PCI */

/* Writes the first 64 bytes of a function's configuration space, as lspci -x prints them. */
static void write_function(FILE *file, const char *name, const char *ids, const char *class)
{
	static const char zeros[] = "00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00";

	fprintf(file, "%s a function\n00: %s 06 04 10 00 00 00 %s 10 00 00 00\n", name, ids, class);
	for (int line = 1; line < 4; line++)
		fprintf(file, "%d0: %s\n", line, zeros);
	fprintf(file, "\n");
}

/* Writes the functions of the bus: a bridge, and an adapter of the fake's in each of the named slots. */
static void write_bus(const char *path, const char *slots)
{
	FILE *file = fopen(path, "w");
	char name[16];

	ck_assert_ptr_nonnull(file);
	write_function(file, "0000:00:00.0", "86 80 37 12", "00 06");
	for (; *slots; slots++) {
		snprintf(name, sizeof(name), "0000:0%c:00.0", *slots);
		write_function(file, name, "b3 15 17 10", "00 02");
	}
	ck_assert_int_eq(fclose(file), 0);
}

struct bus_client {
	struct journal heard;
};

static al_status hear_bus(void *context, const struct al_pnp_event *event)
{
	struct bus_client *client = context;
	char text[32];

	if (event->type > AL_PNP_CA_REMOVE || event->ca_guid < FAKE_PCI_GUID)
		return AL_SUCCESS;
	snprintf(text, sizeof(text), "%s %d", event->type == AL_PNP_CA_ADD ? "add" : "remove",
		 (int)(event->ca_guid >> 8 & 0xff));
	journal_add(&client->heard, text);
	return AL_SUCCESS;
}

START_TEST(hcas_come_and_go_as_the_bus_is_looked_at_again)
{
	char path[] = "/tmp/ibal-bus-XXXXXX";
	struct fake *fake = test_fake();
	struct bus_client client;
	struct ib_ca_attr attr;
	al_pnp_h pnp;
	al_ca_h ca;
	al_h al, owner;

	ck_assert_int_ge(mkstemp(path), 0);
	fake->hcas = 0;
	write_bus(path, "12");
	setenv("IBAL_PCI_DUMP", path, 1);
	journal_init(&client.heard);
	al = test_open();
	owner = test_open_owner();
	ck_ok(al_reg_pnp(al, NULL, &client, hear_bus, &pnp));
	journal_expect(&client.heard, 2, (const char *const[]){ "add 1", "add 2" });
	ca = test_open_ca(al, FAKE_PCI_GUID | 2 << 8);

	write_bus(path, "13");
	ck_ok(al_rescan(owner));
	journal_wait(&client.heard, 4);
	journal_expect(&client.heard, 4, (const char *const[]){ "add 1", "add 2", "remove 2", "add 3" });
	ck_soon(al_query_ca(ca, &attr) == AL_CA_REMOVED);
	ck_ok(al_close_ca(ca, AL_DESTROY_SYNC, NULL));

	/* A bus that can not be read does not count as a bus without adapters. */
	ck_assert_int_eq(unlink(path), 0);
	ck_status(al_rescan(owner), AL_PCI_UNREADABLE);
	ck_assert_uint_eq(client.heard.count, 4);
	write_bus(path, "");
	ck_ok(al_rescan(owner));
	ck_soon(client.heard.count == 6);
	write_bus(path, "2");
	ck_ok(al_rescan(owner));
	journal_wait(&client.heard, 3);
	ck_assert_str_eq(client.heard.entry[6], "add 2");
	ca = test_open_ca(al, FAKE_PCI_GUID | 2 << 8);
	ck_ok(al_query_ca(ca, &attr));
	ck_ok(al_close(owner, AL_DESTROY_SYNC, NULL));
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	ck_assert_int_eq(unlink(path), 0);
}
END_TEST

/* ----------------------------------------------------------------- races */

/* Opens race with unloads: an open either keeps the module loaded or fails. */
struct opener {
	al_h al;
	atomic_uint wrong, opened;
	_Atomic al_status first_wrong;
};

static void open_and_close(struct crew *crew, unsigned int index)
{
	struct opener *o = crew->arg;

	(void)index;
	while (!crew->stop) {
		struct ib_ca_attr attr;
		al_ca_h ca;
		al_status st = al_open_ca(o->al, FAKE_GUID, NULL, &ca);

		if (st == AL_NOT_FOUND)
			continue;
		if (!st)
			st = al_query_ca(ca, &attr);
		o->opened++;
		/* A forced unload may have come meanwhile. */
		if (st != AL_SUCCESS && st != AL_CA_REMOVED && !o->wrong++)
			o->first_wrong = st;
		al_close_ca(ca, AL_DESTROY_SYNC, NULL);
	}
}

START_TEST(opening_races_with_unloading)
{
	struct fake *fake = test_fake();
	struct opener o = { .al = test_open() };
	struct crew crew;

	al_set_log(no_log, NULL);
	crew_make(&crew, 2, open_and_close, &o);
	crew_go(&crew);
	for (int i = 0; i < test_rounds(20); i++) {
		al_status st;

		do
			st = al_unload_module(o.al, "fake", i % 2 ? AL_UNLOAD_REMOVE : 0);
		while (st == AL_MODULE_IN_USE);
		ck_ok(st);
		o.opened = 0;
		ck_ok(al_load_module(o.al, FAKE_DIR "/fake.so"));
		while (!o.opened)
			sched_yield();
	}
	crew_end(&crew);
	ck_assert_msg(!o.wrong, "%u wrong answers, the first %s", o.wrong, al_status_name(o.first_wrong));
	ck_assert_uint_eq(fake->calls[FAKE_open_ca], fake->calls[FAKE_close_ca] + 1);
	ck_ok(al_close(o.al, AL_DESTROY_SYNC, NULL));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("device");
	TCase *tc = tcase_create("removal");

	tcase_add_loop_test(tc, handles_of_a_removed_hca_are_valid_dead_and_can_be_destroyed, 0, 2);
	tcase_add_test(tc, an_hca_that_comes_again_is_another_one);
	tcase_add_test(tc, when_the_hardware_is_gone_only_destroys_reach_the_module);
	tcase_add_test(tc, handlers_hear_that_the_hardware_is_gone);
	suite_add_tcase(suite, tc);
	tc = tcase_create("traffic");
	tcase_add_loop_test(tc, an_hca_is_removed_under_traffic, 0, 6);
	tcase_add_test(tc, a_removal_waits_for_operations_in_progress);
	tcase_add_test(tc, a_removal_waits_for_posts_in_progress);
	tcase_add_loop_test(tc, a_removal_does_not_wait_for_a_client_that_sleeps_in_its_callback, 0, 2);
	suite_add_tcase(suite, tc);
	tc = tcase_create("modules");
	tcase_add_test(tc, unloading_a_module_in_use_is_refused_and_names_its_users);
	tcase_add_test(tc, a_closed_hca_handle_no_longer_keeps_the_module);
	tcase_add_test(tc, a_module_is_unloaded_from_under_its_users_when_asked_so);
	tcase_add_test(tc, clients_are_told_before_their_module_is_unloaded_from_under_them);
	tcase_add_test(tc, hcas_come_and_go_as_the_bus_is_looked_at_again);
	tcase_add_test(tc, opening_races_with_unloading);
	suite_add_tcase(suite, tc);
	return test_run(suite);
}
