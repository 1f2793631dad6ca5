/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* al_snapshot(): every object and every attribute. */
#include "test/unit/al/al_test.h"

#include <pthread.h>
#include <unistd.h>

static struct fake *fake;
static al_h al;
static al_ca_h ca;
static al_pd_h pd;
static al_cq_h cq;
static al_qp_h qp;
static al_mr_h mr;
static uint32_t lkey, rkey;

static void set_up(void)
{
	static char memory[64];
	struct al_mr_init mr_init = { .addr = memory, .length = sizeof(memory) };
	struct al_cq_init cq_init = { .cqe = 7 };
	struct al_qp_init qp_init = { .qp_type = IB_QPT_RC, .cap = { 1, 1, 1, 1, 0 } };

	fake = test_fake();
	fake->hcas = 2;
	al = test_open();
	ca = test_open_ca(al, FAKE_GUID);
	ck_ok(al_alloc_pd(ca, NULL, &pd));
	ck_ok(al_create_cq(pd, &cq_init, NULL, NULL, NULL, &cq));
	qp_init.send_cq = qp_init.recv_cq = cq;
	ck_ok(al_create_qp(pd, &qp_init, NULL, NULL, &qp));
	ck_ok(al_reg_mr(pd, &mr_init, NULL, &lkey, &rkey, &mr));
}

static void tear_down(void)
{
	al_set_log(test_ignore_log, NULL);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

/*
 * Finds an object by its handle. Through an agent, finds the agent's object, which has another handle, by its type,
 * of which there is one object.
 */
static const struct al_snap_object *find(const struct al_snapshot *snap, const void *handle)
{
	al_object_type type = handle == qp   ? AL_OBJ_QP
			      : handle == cq ? AL_OBJ_CQ
			      : handle == mr ? AL_OBJ_MR
			      : handle == pd ? AL_OBJ_PD
			      : handle == ca ? AL_OBJ_CA
					     : AL_OBJ_NONE;

	if (test_in_user_role())
		for (size_t i = 0; i < snap->num_objects; i++)
			if (snap->objects[i].type == type && snap->objects[i].ca_guid == FAKE_GUID)
				return &snap->objects[i];
	for (size_t i = 0; i < snap->num_objects; i++)
		if (snap->objects[i].id == (uint64_t)(uintptr_t)handle)
			return &snap->objects[i];
	return NULL;
}

static struct al_snap_count count_of(const struct al_snap_ca *snap, al_object_type type)
{
	struct al_snap_count none = { .type = type };

	for (uint32_t i = 0; i < snap->num_counts; i++)
		if (snap->counts[i].type == type)
			return snap->counts[i];
	return none;
}

static void check_object(const struct al_snapshot *snap, const void *handle, al_object_type type, const void *parent,
			 uint32_t users, uint32_t number)
{
	const struct al_snap_object *obj = find(snap, handle), *above = parent ? find(snap, parent) : NULL;

	ck_assert_msg(obj != NULL, "%s is missing", al_object_type_str(type));
	ck_assert(!parent || above);
	ck_assert_int_eq(obj->type, type);
	ck_assert_uint_eq(obj->parent, above ? above->id : 0);
	ck_assert_uint_eq(obj->users, users);
	ck_assert_uint_eq(obj->number, number);
	ck_assert_int_eq(obj->pid, getpid());
	ck_assert_str_eq(obj->comm, "snapshot_test");
	ck_assert(!obj->dying);
	ck_assert(!obj->dead);
	ck_assert_uint_eq(obj->ca_guid, type == AL_OBJ_AL ? 0 : FAKE_GUID);
	ck_assert_uint_gt(obj->age_ns, 0);
	ck_assert_uint_lt(obj->age_ns, 100000000000ull);
}

START_TEST(details_are_shown_by_kind)
{
	const struct al_snap_object *obj;
	struct al_snapshot *snap;
	struct ib_mr_attr region;
	struct al_qp_init init;
	struct ib_qp_attr attr;

	ck_ok(al_query_qp(qp, &attr, &init));
	ck_ok(al_snapshot(al, &snap));
	/* The test's module does not support queries of these. */
	ck_assert_int_eq(al_query_mr(mr, &region), AL_UNSUPPORTED);
	ck_assert(!find(snap, mr)->has_detail);
	ck_assert(!find(snap, cq)->has_detail);
	ck_assert(!find(snap, pd)->has_detail);
	obj = find(snap, qp);
	ck_assert(obj->has_detail);
	ck_assert_uint_eq(obj->detail.qp.type, init.qp_type);
	ck_assert_uint_eq(obj->detail.qp.max_send_wr, init.cap.max_send_wr);
	ck_assert_uint_eq(obj->detail.qp.max_recv_wr, init.cap.max_recv_wr);
	ck_assert(!obj->detail.qp.has_peer); /* it is in Reset */
	ck_assert_uint_eq(obj->detail.qp.send_cq, find(snap, cq)->id);
	ck_assert_uint_eq(obj->detail.qp.recv_cq, find(snap, cq)->id);
	al_free_snapshot(snap);
}
END_TEST

START_TEST(objects_are_shown_with_parent_users_owner_and_number)
{
	struct al_snapshot *snap;
	uint32_t qpn;

	ck_ok(al_qp_num(qp, &qpn));
	ck_ok(al_snapshot(al, &snap));
	/* In a user role the opening and the HCA are the agent's own, and have other users too. */
	if (!test_in_user_role()) {
		ck_assert_uint_eq(snap->num_objects, 6);
		check_object(snap, al, AL_OBJ_AL, NULL, 1, 0);
		check_object(snap, ca, AL_OBJ_CA, al, 1, 0);
	}
	check_object(snap, pd, AL_OBJ_PD, ca, 3, 0);
	check_object(snap, mr, AL_OBJ_MR, pd, 0, lkey);
	check_object(snap, qp, AL_OBJ_QP, pd, 0, qpn);
	check_object(snap, cq, AL_OBJ_CQ, pd, 2, 7); /* both queues of the queue pair */
	al_free_snapshot(snap);
}
END_TEST

START_TEST(objects_of_every_opening_are_shown)
{
	al_h other = test_open();
	al_ca_h other_ca = test_open_ca(other, FAKE_GUID);
	struct al_snapshot *snap;

	ck_ok(al_snapshot(al, &snap));
	ck_assert_ptr_nonnull(find(snap, other));
	ck_assert_ptr_nonnull(find(snap, other_ca));
	ck_assert_uint_eq(snap->cas[0].opens, 2);
	al_free_snapshot(snap);
	ck_ok(al_close_ca(other_ca, AL_DESTROY_SYNC, NULL));
	ck_ok(al_close(other, AL_DESTROY_SYNC, NULL));
}
END_TEST

START_TEST(the_state_of_a_queue_pair_is_the_modules)
{
	struct al_snapshot *snap;

	for (unsigned int state = 0; state < IB_QPS_COUNT; state++) {
		fake->last_qp->attr.qp_state = (ib_qp_state)state;
		ck_ok(al_snapshot(al, &snap));
		ck_assert_uint_eq(find(snap, qp)->state, state);
		al_free_snapshot(snap);
	}
}
END_TEST

START_TEST(counts_are_shown_with_their_highest_and_limit)
{
	struct al_snap_count mrs, pds;
	struct al_snapshot *snap;
	al_pd_h more[3];

	for (int i = 0; i < 3; i++)
		ck_ok(al_alloc_pd(ca, NULL, &more[i]));
	for (int i = 0; i < 3; i++)
		ck_ok(al_dealloc_pd(more[i], AL_DESTROY_SYNC, NULL));
	ck_ok(al_snapshot(al, &snap));
	ck_assert_uint_eq(snap->num_cas, 2);
	pds = count_of(&snap->cas[0], AL_OBJ_PD);
	ck_assert_uint_eq(pds.now, 1);
	ck_assert_uint_eq(pds.high, 4);
	ck_assert_uint_eq(pds.max, fake->ca_attr.max_pd);
	mrs = count_of(&snap->cas[0], AL_OBJ_MR);
	ck_assert_uint_eq(mrs.now, 1);
	ck_assert_uint_eq(mrs.max, fake->ca_attr.max_mr);
	ck_assert_uint_eq(count_of(&snap->cas[1], AL_OBJ_PD).now, 0);
	ck_assert_uint_eq(count_of(&snap->cas[1], AL_OBJ_PD).max, fake->ca_attr.max_pd);
	al_free_snapshot(snap);
}
END_TEST

START_TEST(hcas_and_modules_are_shown)
{
	const struct al_snap_module *module = NULL;
	struct al_snapshot *snap;

	ck_ok(al_snapshot(al, &snap));
	ck_assert_uint_eq(snap->cas[0].guid, FAKE_GUID);
	ck_assert_uint_eq(snap->cas[1].guid, FAKE_GUID + 0x100);
	ck_assert_str_eq(snap->cas[0].module, "fake");
	ck_assert_str_eq(snap->cas[0].module_version, "1.0");
	ck_assert_str_eq(snap->cas[0].attr.node_desc, "an HCA for tests");
	ck_assert_uint_eq(snap->cas[0].attr.node_guid, FAKE_GUID);
	/* An agent opens every HCA for each client. */
	ck_assert_uint_eq(snap->cas[0].opens, 1);
	ck_assert_uint_eq(snap->cas[1].opens, test_in_user_role() ? 1 : 0);
	for (size_t i = 0; i < snap->num_modules; i++)
		if (!strcmp(snap->modules[i].name, "fake"))
			module = &snap->modules[i];
	ck_assert_ptr_nonnull(module);
	ck_assert_str_eq(module->version, "1.0");
	ck_assert_str_eq(module->license, "GPL-2.0-only OR Linux-OpenIB");
	ck_assert_ptr_nonnull(strstr(module->path, "fake.so"));
	ck_assert_uint_eq(module->users, test_in_user_role() ? 2 : 1);
	ck_ok(module->status);
	al_free_snapshot(snap);
}
END_TEST

static void set_up_no_bus(void)
{
	ck_assert(!setenv("IBAL_PCI_DUMP", "/nowhere/at-all.dump", 1));
	al_set_log(test_ignore_log, NULL);
	set_up();
}

START_TEST(an_unreadable_bus_is_logged)
{
	struct al_snapshot *snap;

	ck_ok(al_snapshot(al, &snap));
	ck_assert_uint_eq(snap->num_pci, 0);
	ck_assert_ptr_nonnull(snap->pci_error);
	ck_assert_ptr_nonnull(strstr(snap->pci_error, "/nowhere/at-all.dump"));
	al_free_snapshot(snap);
}
END_TEST

static void set_up_adapters(void)
{
	const char *top = getenv("top_srcdir");
	char path[4096];

	ck_assert_msg(top != NULL, "top_srcdir is set by make check");
	snprintf(path, sizeof(path), "%s/test/data/pci/adapters.dump", top);
	ck_assert(!setenv("IBAL_PCI_DUMP", path, 1));
	set_up();
}

START_TEST(adapters_are_shown_with_the_module_that_serves_them)
{
	struct al_snapshot *snap;
	unsigned int served = 0, alone = 0;

	ck_ok(al_snapshot(al, &snap));
	ck_assert_ptr_null(snap->pci_error);
	for (size_t i = 0; i < snap->num_pci; i++) {
		const struct al_snap_pci *pci = &snap->pci[i];

		ck_assert_uint_ne(pci->vendor_id, 0);
		ck_assert_uint_ne(pci->name[0], 0);
		ck_assert_uint_ne(pci->text[0], 0);
		if (!strcmp(pci->module, "fake"))
			served++;
		else
			alone += pci->module[0] == 0;
	}
	ck_assert_uint_gt(served, 0);
	ck_assert_uint_gt(alone, 0);
	/* each function that a module serves is an HCA */
	ck_assert_uint_eq(snap->num_cas, 2 + served);
	al_free_snapshot(snap);
}
END_TEST

static sem_t inside, go_on;

static void stay_a_while(void *object)
{
	(void)object;
	sem_post(&inside);
	test_wait(&go_on);
}

START_TEST(dying_objects_are_shown_as_dying)
{
	struct al_snapshot *snap;

	sem_init(&inside, 0, 0);
	sem_init(&go_on, 0, 0);
	fake->hook[FAKE_destroy_qp] = stay_a_while;
	ck_ok(al_destroy_qp(qp, NULL, NULL));
	test_wait(&inside);
	ck_ok(al_snapshot(al, &snap));
	ck_assert_ptr_nonnull(find(snap, qp));
	ck_assert(find(snap, qp)->dying);
	ck_assert_uint_eq(find(snap, qp)->users, 0);
	ck_assert(!find(snap, cq)->dying);
	ck_assert_uint_eq(find(snap, cq)->users, 0);
	ck_assert_uint_eq(count_of(&snap->cas[0], AL_OBJ_QP).now, 1);
	al_free_snapshot(snap);
	sem_post(&go_on);
}
END_TEST

START_TEST(objects_of_a_removed_hca_are_shown_as_dead_and_the_hca_is_not_shown)
{
	struct al_snapshot *snap;

	al_set_log(test_ignore_log, NULL);
	fake->withdraw(0, 0);
	ck_ok(al_snapshot(al, &snap));
	ck_assert_uint_eq(snap->num_cas, 1);
	ck_assert_uint_eq(snap->cas[0].guid, FAKE_GUID + 0x100);
	ck_assert(find(snap, qp)->dead);
	ck_assert(find(snap, ca)->dead);
	ck_assert(!find(snap, al)->dead);
	ck_assert_uint_eq(find(snap, qp)->ca_guid, FAKE_GUID);
	al_free_snapshot(snap);
}
END_TEST

static atomic_bool stop;

static void *make_and_destroy(void *arg)
{
	al_pd_h more[8];

	(void)arg;
	while (!atomic_load(&stop)) {
		for (int i = 0; i < 8; i++)
			ck_ok(al_alloc_pd(ca, NULL, &more[i]));
		for (int i = 0; i < 8; i++)
			ck_ok(al_dealloc_pd(more[i], AL_DESTROY_SYNC, NULL));
	}
	return NULL;
}

START_TEST(snapshots_are_whole_while_objects_come_and_go)
{
	struct al_snapshot *snap;
	pthread_t thread;

	fake->ca_attr.max_pd = 1000;
	ck_assert(!pthread_create(&thread, NULL, make_and_destroy, NULL));
	for (int i = 0; i < 200; i++) {
		ck_ok(al_snapshot(al, &snap));
		ck_assert_ptr_nonnull(find(snap, qp));
		ck_assert_uint_ge(snap->num_objects, 6);
		/* an agent has an opening and two registrations, for HCAs and for switches, and a
		 * handle and an event handler of each of the two HCAs */
		ck_assert_uint_le(snap->num_objects, 6 + 8 + (test_in_user_role() ? 1 + 2 + 4 : 0));
		al_free_snapshot(snap);
	}
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
}
END_TEST

START_TEST(without_a_place_to_write_it_is_refused)
{
	ck_status(al_snapshot(al, NULL), AL_INVALID_PARAMETER);
	al_free_snapshot(NULL);
}
END_TEST

static void add_case(Suite *suite, const char *name, void (*fixture)(void), const TTest *test)
{
	TCase *tcase = tcase_create(name);

	tcase_add_checked_fixture(tcase, fixture, tear_down);
	tcase_add_test(tcase, test);
	suite_add_tcase(suite, tcase);
}

int main(void)
{
	Suite *suite = suite_create("al/library/snapshot");
	TCase *tcase = tcase_create("snapshots");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, objects_are_shown_with_parent_users_owner_and_number);
	tcase_add_test(tcase, details_are_shown_by_kind);
	tcase_add_test(tcase, objects_of_every_opening_are_shown);
	tcase_add_test(tcase, the_state_of_a_queue_pair_is_the_modules);
	tcase_add_test(tcase, counts_are_shown_with_their_highest_and_limit);
	tcase_add_test(tcase, hcas_and_modules_are_shown);
	tcase_add_test(tcase, dying_objects_are_shown_as_dying);
	tcase_add_test(tcase, objects_of_a_removed_hca_are_shown_as_dead_and_the_hca_is_not_shown);
	tcase_add_test(tcase, snapshots_are_whole_while_objects_come_and_go);
	tcase_add_test(tcase, without_a_place_to_write_it_is_refused);
	suite_add_tcase(suite, tcase);
	add_case(suite, "no bus", set_up_no_bus, an_unreadable_bus_is_logged);
	add_case(suite, "adapters", set_up_adapters, adapters_are_shown_with_the_module_that_serves_them);
	return test_run(suite);
}
