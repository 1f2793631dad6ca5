/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Aliases of special queue pairs over the module fake.so, whose special queue pairs the test sees.
 */
#include <iba/ib_mad.h>

#include "test/unit/al/bed.h"

static const ib_qp_type types[] = { IB_QPT_SMI, IB_QPT_GSI };
static struct bed bed;
static struct fake_qp *specials[3][2]; /* by port and number */
static al_status (*ordinary_create)(struct ci_qp *, struct ci_qp_init *, struct ci_udata *);

static al_status create_special(struct ci_qp *qp, uint8_t port, struct ci_qp_init *init,
				struct ci_udata *udata)
{
	struct fake_qp *made = (struct fake_qp *)qp;
	al_status status = bed.fake->fail[FAKE_create_spl_qp];

	if (!status)
		status = ordinary_create(qp, init, udata);
	if (status)
		return status;
	qp->qp_num = qp->qp_type == IB_QPT_GSI;
	made->attr.cap = init->cap;
	specials[port][qp->qp_num] = made;
	return AL_SUCCESS;
}

static void set_up(void)
{
	bed.fake = test_fake();
	ordinary_create = bed.fake->ops.create_qp;
	bed.fake->ca_attr.num_ports = 2;
	bed.fake->ca_attr.max_qp = 3;
	bed.fake->ops.create_spl_qp = create_special;
	memset(specials, 0, sizeof(specials));
	bed = bed_make();
}

static void tear_down(void)
{
	al_set_log(test_ignore_log, NULL);
	bed_end(&bed);
}

static al_qp_h alias_of(uint8_t port, ib_qp_type type)
{
	al_qp_h qp;

	ck_ok(al_get_spl_qp(bed.ca, port, type, NULL, NULL, &qp));
	return qp;
}

/* ------------------------------------------------------------- what it tells */

/* _i: port and number of the queue pair */
START_TEST(an_alias_tells_number_state_port_and_sizes)
{
	const uint8_t port = (uint8_t)(1 + _i / 2);
	al_qp_h qp = alias_of(port, types[_i % 2]);
	struct al_qp_init init;
	struct ib_qp_attr attr;
	uint32_t number;

	ck_ok(al_qp_num(qp, &number));
	ck_assert_uint_eq(number, (uint32_t)_i % 2);
	for (unsigned int state = 0; state < IB_QPS_COUNT; state++) {
		specials[port][number]->attr.qp_state = (ib_qp_state)state;
		specials[port][number]->attr.port_num = port;
		ck_ok(al_query_qp(qp, &attr, &init));
		ck_assert_uint_eq(attr.qp_state, state);
		ck_assert_uint_eq(attr.port_num, port);
		ck_assert_uint_gt(attr.cap.max_send_wr, 1);
		ck_assert_uint_gt(attr.cap.max_recv_wr, 1);
		ck_assert_uint_eq(init.qp_type, types[_i % 2]);
		ck_assert_uint_eq(init.port_num, port);
		ck_assert_mem_eq(&init.cap, &attr.cap, sizeof(attr.cap));
		ck_assert(init.sq_sig_all);
		/* the queues of the library are nobody's */
		ck_assert(!init.send_cq && !init.recv_cq && !init.srq);
	}
	ck_ok(al_query_qp(qp, &attr, NULL));
	ck_status(al_query_qp(qp, NULL, &init), AL_INVALID_PARAMETER);
	ck_status(al_qp_num(qp, NULL), AL_INVALID_PARAMETER);
}
END_TEST

START_TEST(a_snapshot_shows_an_alias_with_number_and_state_and_no_limit_counts_it)
{
	const struct al_snap_object *obj;
	struct al_snapshot *snap;
	uint32_t seen = 0;
	al_qp_h more[4], qp;
	al_cq_h cq = bed_cq(bed.pd, 0, NULL, NULL);

	for (uint32_t i = 0; i < 4; i++) /* the HCA has room for three queue pairs */
		more[i] = alias_of(1, types[i % 2]);
	specials[1][0]->attr.qp_state = IB_QPS_SQE;
	ck_ok(al_snapshot(bed.al, &snap));
	for (obj = snap->objects; obj < snap->objects + snap->num_objects; obj++) {
		if (obj->type != AL_OBJ_QP)
			continue;
		ck_assert_uint_lt(obj->number, 2);
		ck_assert_uint_eq(obj->state, obj->number ? IB_QPS_RTS : IB_QPS_SQE);
		ck_assert_uint_eq(obj->ca_guid, FAKE_GUID);
		seen += 1u << 8 * obj->number;
	}
	ck_assert_uint_eq(seen, 0x202);
	for (uint32_t i = 0; i < snap->cas[0].num_counts; i++)
		if (snap->cas[0].counts[i].type == AL_OBJ_QP)
			ck_assert_uint_eq(snap->cas[0].counts[i].high, 0);
	al_free_snapshot(snap);
	for (uint32_t i = 0; i < 3; i++)
		ck_ok(try_qp(bed.pd, cq, NULL, NULL, &qp));
	ck_status(try_qp(bed.pd, cq, NULL, NULL, &qp), AL_LIMIT_EXCEEDED);
	for (uint32_t i = 0; i < 4; i++)
		ck_ok(al_destroy_qp(more[i], AL_DESTROY_SYNC, NULL));
	/* the end of an alias gives no place back that the alias has not had */
	ck_status(try_qp(bed.pd, cq, NULL, NULL, &qp), AL_LIMIT_EXCEEDED);
}
END_TEST

/* ------------------------------------------------------------- what it refuses */

/* Calls all functions that change a queue pair or post to one. */
static void ck_refused(al_qp_h qp, al_status want)
{
	static const ib_gid group = { { 0xff, 0x12 } };
	const struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	const struct ib_send_wr send = { .opcode = IB_WR_SEND }, *bad_send = NULL;
	const struct ib_recv_wr recv = { .wr_id = 1 }, *bad_recv = NULL;

	ck_status(al_modify_qp(qp, &attr, IB_QP_STATE), want);
	ck_status(al_post_send(qp, &send, &bad_send), want);
	ck_assert_ptr_eq(bad_send, &send);
	ck_status(al_post_recv(qp, &recv, &bad_recv), want);
	ck_assert_ptr_eq(bad_recv, &recv);
	ck_status(al_attach_mcast(qp, &group, 0xc001), want);
	ck_status(al_detach_mcast(qp, &group, 0xc001), want);
}

/* _i: number of the queue pair */
START_TEST(what_posts_to_an_alias_or_changes_it_is_refused)
{
	al_qp_h qp = alias_of(1, types[_i]);
	unsigned int posts = atomic_load(&bed.fake->calls[FAKE_post_recv]);
	unsigned int modified = atomic_load(&bed.fake->calls[FAKE_modify_qp]);

	ck_refused(qp, AL_INVALID_QP_TYPE);
	ck_assert_uint_eq(specials[1][_i]->attr.qp_state, IB_QPS_RTS);
	ck_assert_uint_eq(atomic_load(&bed.fake->calls[FAKE_post_recv]), posts);
	ck_assert_uint_eq(atomic_load(&bed.fake->calls[FAKE_modify_qp]), modified);
}
END_TEST

START_TEST(an_alias_that_is_destroyed_is_none_and_its_queue_pair_stays)
{
	struct ib_qp_attr attr;
	al_qp_h qp = alias_of(1, IB_QPT_GSI), other = alias_of(1, IB_QPT_GSI);
	uint32_t number;
	sem_t ended;

	sem_init(&ended, 0, 0);
	ck_ok(al_destroy_qp(qp, test_post, &ended));
	ck_refused(qp, AL_INVALID_HANDLE);
	ck_status(al_query_qp(qp, &attr, NULL), AL_INVALID_HANDLE);
	ck_status(al_qp_num(qp, &number), AL_INVALID_HANDLE);
	ck_status(al_destroy_qp(qp, NULL, NULL), AL_INVALID_HANDLE);
	test_wait(&ended);
	ck_ok(al_query_qp(other, &attr, NULL));
	ck_assert_uint_eq(attr.qp_state, IB_QPS_RTS);
	ck_ok(al_destroy_qp(other, AL_DESTROY_SYNC, NULL));
	ck_assert_uint_eq(atomic_load(&bed.fake->calls[FAKE_destroy_qp]), 0);
	/* the port stays served, and its queue pairs are not made again */
	alias_of(1, IB_QPT_SMI);
	ck_assert_uint_eq(atomic_load(&bed.fake->calls[FAKE_create_qp]), 2);
}
END_TEST

START_TEST(an_alias_that_makes_no_sense_is_refused)
{
	al_qp_h qp = NULL;

	ck_status(al_get_spl_qp(bed.ca, 1, IB_QPT_GSI, NULL, NULL, NULL), AL_INVALID_PARAMETER);
	for (unsigned int type = IB_QPT_NONE; type <= IB_QPT_COUNT; type++)
		if (type != IB_QPT_SMI && type != IB_QPT_GSI)
			ck_status(al_get_spl_qp(bed.ca, 1, (ib_qp_type)type, NULL, NULL, &qp),
				  AL_INVALID_PARAMETER);
	ck_status(al_get_spl_qp(bed.ca, 0, IB_QPT_GSI, NULL, NULL, &qp), AL_INVALID_PORT);
	ck_status(al_get_spl_qp(bed.ca, 3, IB_QPT_GSI, NULL, NULL, &qp), AL_INVALID_PORT);
	bed.fake->fail[FAKE_create_spl_qp] = AL_INSUFFICIENT_RESOURCES;
	ck_status(al_get_spl_qp(bed.ca, 1, IB_QPT_GSI, NULL, NULL, &qp), AL_INSUFFICIENT_RESOURCES);
	bed.fake->fail[FAKE_create_spl_qp] = AL_SUCCESS;
	ck_assert_ptr_null(qp);
	ck_assert_uint_eq(test_count(bed.al, AL_OBJ_QP), 0);
	qp = alias_of(1, IB_QPT_GSI);
	bed.fake->fail[FAKE_query_qp] = AL_CA_ERROR;
	ck_status(al_query_qp(qp, &(struct ib_qp_attr){ 0 }, NULL), AL_CA_ERROR);
	bed.fake->fail[FAKE_query_qp] = AL_SUCCESS;
}
END_TEST

/* --------------------------------------------------------------------- events */

struct ear {
	struct al_event event;
	atomic_uint num;
	sem_t sem;
};

static void hear(void *context, const struct al_event *event)
{
	struct ear *ear = context;

	ear->event = *event;
	atomic_fetch_add(&ear->num, 1);
	sem_post(&ear->sem);
}

START_TEST(events_of_the_special_queue_pair_reach_its_aliases_and_no_others)
{
	static struct ear ears[3], handlers; /* two of QP0, one of QP1 */
	al_event_handler_h handler;
	al_qp_h qp[3];

	memset(ears, 0, sizeof(ears));
	memset(&handlers, 0, sizeof(handlers));
	sem_init(&handlers.sem, 0, 0);
	for (int i = 0; i < 3; i++) {
		sem_init(&ears[i].sem, 0, 0);
		ck_ok(al_get_spl_qp(bed.ca, 1, types[i == 2], &ears[i], hear, &qp[i]));
	}
	alias_of(1, IB_QPT_SMI); /* without a callback */
	ck_ok(al_reg_event_handler(bed.ca, NULL, &handlers, hear, &handler));
	bed_object_event(specials[1][0]->qp.ctx, IB_EVENT_QP_FATAL);
	for (int i = 0; i < 3; i++)
		test_wait(&handlers.sem);
	for (int i = 0; i < 2; i++) {
		test_wait(&ears[i].sem);
		ck_assert_int_eq(ears[i].event.type, IB_EVENT_QP_FATAL);
		ck_assert_int_eq(ears[i].event.object, AL_OBJ_QP);
		ck_assert_ptr_eq(ears[i].event.object_context, &ears[i]);
		ck_assert_uint_eq(ears[i].event.ca_guid, FAKE_GUID);
	}
	ck_ok(al_destroy_qp(qp[0], AL_DESTROY_SYNC, NULL));
	bed_object_event(specials[1][1]->qp.ctx, IB_EVENT_QP_FATAL);
	test_wait(&ears[2].sem);
	test_wait(&handlers.sem);
	ck_assert_ptr_eq(handlers.event.object_context, &ears[2]);
	bed_object_event(specials[1][0]->qp.ctx, IB_EVENT_QP_ACCESS_ERR);
	test_wait(&ears[1].sem);
	ck_assert_int_eq(ears[1].event.type, IB_EVENT_QP_ACCESS_ERR);
	ck_assert_uint_eq(atomic_load(&ears[0].num), 1);
	ck_assert_uint_eq(atomic_load(&ears[1].num), 2);
	ck_assert_uint_eq(atomic_load(&ears[2].num), 1);
}
END_TEST

static atomic_bool stop;

static void *raise_events(void *arg)
{
	while (!atomic_load(&stop))
		bed_object_event(arg, IB_EVENT_QP_FATAL);
	return NULL;
}

START_TEST(aliases_come_and_go_while_events_come)
{
	static struct ear ear;
	pthread_t thread;
	al_qp_h qp;

	sem_init(&ear.sem, 0, 0);
	alias_of(1, IB_QPT_GSI);
	atomic_store(&stop, false);
	ck_assert_int_eq(pthread_create(&thread, NULL, raise_events, specials[1][1]->qp.ctx), 0);
	for (int i = 0; i < 50; i++) {
		ck_ok(al_get_spl_qp(bed.ca, 1, IB_QPT_GSI, &ear, hear, &qp));
		test_wait(&ear.sem);
		ck_ok(al_destroy_qp(qp, i % 2 ? AL_DESTROY_SYNC : NULL, NULL));
	}
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
}
END_TEST

/* ---------------------------------------------------------------- ends */

START_TEST(an_alias_outlives_its_hca_as_a_dead_handle)
{
	al_qp_h qp = alias_of(1, IB_QPT_SMI), late;
	struct ib_qp_attr attr;
	uint32_t number;

	al_set_log(test_ignore_log, NULL);
	bed_withdraw(&bed, 0);
	ck_status(al_query_qp(qp, &attr, NULL), AL_CA_REMOVED);
	ck_refused(qp, AL_CA_REMOVED);
	ck_ok(al_qp_num(qp, &number));
	ck_status(al_get_spl_qp(bed.ca, 1, IB_QPT_SMI, NULL, NULL, &late), AL_CA_REMOVED);
	ck_ok(al_destroy_qp(qp, AL_DESTROY_SYNC, NULL));
	ck_status(al_query_qp(qp, &attr, NULL), AL_INVALID_HANDLE);
}
END_TEST

/* The alias belongs to the HCA's handle, and to no domain. */
START_TEST(an_alias_that_is_left_ends_with_its_hcas_handle)
{
	al_qp_h qp = alias_of(1, IB_QPT_SMI), other;
	al_ca_h ca = test_open_ca(bed.al, FAKE_GUID);
	struct ib_qp_attr attr;

	ck_ok(al_get_spl_qp(ca, 1, IB_QPT_SMI, NULL, NULL, &other));
	al_set_log(test_ignore_log, NULL);
	ck_ok(al_close_ca(ca, AL_DESTROY_SYNC, NULL));
	ck_status(al_query_qp(other, &attr, NULL), AL_INVALID_HANDLE);
	ck_ok(al_dealloc_pd(bed.pd, AL_DESTROY_SYNC, NULL));
	ck_ok(al_query_qp(qp, &attr, NULL));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("spl_qp");
	TCase *tc = tcase_create("over a module of the test's");

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_loop_test(tc, an_alias_tells_number_state_port_and_sizes, 0, 4);
	tcase_add_test(tc, a_snapshot_shows_an_alias_with_number_and_state_and_no_limit_counts_it);
	tcase_add_loop_test(tc, what_posts_to_an_alias_or_changes_it_is_refused, 0, 2);
	tcase_add_test(tc, an_alias_that_is_destroyed_is_none_and_its_queue_pair_stays);
	tcase_add_test(tc, an_alias_that_makes_no_sense_is_refused);
	tcase_add_test(tc, events_of_the_special_queue_pair_reach_its_aliases_and_no_others);
	tcase_add_test(tc, aliases_come_and_go_while_events_come);
	tcase_add_test(tc, an_alias_outlives_its_hca_as_a_dead_handle);
	tcase_add_test(tc, an_alias_that_is_left_ends_with_its_hcas_handle);
	suite_add_tcase(suite, tc);
	return test_run(suite);
}
