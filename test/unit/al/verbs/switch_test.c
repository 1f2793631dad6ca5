/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A switch that a module has registered: no client is told of the switch, a client opens the switch
 * by its GUID, and port 0 is the port with queue pairs. */
#include <pthread.h>

#include "test/unit/al/al_test.h"

#define SWITCH_GUID (FAKE_GUID + 0x100) /* the second HCA of the module */
#define PORTS       36

static struct fake *fake;
static al_h al;
static uint8_t special_port; /* what create_spl_qp was called for last */

static al_status query_ca(struct ci_ca *ca, struct ib_ca_attr *attr)
{
	*attr = fake->ca_attr;
	attr->node_guid = (uint64_t)(uintptr_t)ca->hca;
	if (attr->node_guid != SWITCH_GUID)
		return AL_SUCCESS;
	attr->node_type = IB_NODE_SWITCH;
	attr->num_ports = PORTS;
	return AL_SUCCESS;
}

/* An external port of the switch has no tables. */
static al_status query_port(struct ci_ca *ca, uint8_t port, struct ib_port_attr *attr)
{
	*attr = fake->port_attr;
	if ((uint64_t)(uintptr_t)ca->hca != SWITCH_GUID)
		return AL_SUCCESS;
	attr->sm_lid = port;
	if (port)
		attr->gid_tbl_len = attr->pkey_tbl_len = attr->lid = 0;
	return AL_SUCCESS;
}

static al_status create_spl_qp(struct ci_qp *qp, uint8_t port, struct ci_qp_init *init,
			       struct ci_udata *udata)
{
	al_status status = fake->ops.create_qp(qp, init, udata);

	special_port = port;
	qp->qp_num = init->attr->qp_type == IB_QPT_GSI;
	return status;
}

static void set_up(void)
{
	fake = test_fake();
	fake->hcas = 2;
	fake->ops.query_ca = query_ca;
	fake->ops.query_port = query_port;
	fake->ops.create_spl_qp = create_spl_qp;
	special_port = 0xee;
	al = test_open();
}

static void tear_down(void)
{
	al_set_log(test_ignore_log, NULL);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

static al_ca_h open_switch(void)
{
	return test_open_ca(al, SWITCH_GUID);
}

/* ---------------------------------------------------------------- not listed */

START_TEST(lists_and_snapshots_have_hcas_only)
{
	struct al_snapshot *snap;
	uint64_t guid[4];
	size_t count = 4;

	ck_ok(al_get_ca_guids(al, guid, &count));
	ck_assert_uint_eq(count, 1);
	ck_assert_uint_eq(guid[0], FAKE_GUID);
	ck_ok(al_snapshot(al, &snap));
	ck_assert_uint_eq(snap->num_cas, 1);
	ck_assert_uint_eq(snap->cas[0].guid, FAKE_GUID);
	ck_assert_int_eq(snap->cas[0].attr.node_type, IB_NODE_CA); /* the module said 0 */
	al_free_snapshot(snap);
}
END_TEST

static atomic_uint heard, heard_of_switch;

static al_status hear(void *context, const struct al_pnp_event *event)
{
	(void)context;
	atomic_fetch_add(&heard, 1);
	if (event->ca_guid == SWITCH_GUID)
		atomic_fetch_add(&heard_of_switch, 1);
	return AL_SUCCESS;
}

/* The handle of the context in which the registry knows the switch. */
static void *switch_ctx(void)
{
	for (int i = 0; i < FAKE_HCAS; i++)
		if (fake->ca[i] && (uint64_t)(uintptr_t)fake->ca[i]->hca == SWITCH_GUID)
			return fake->ca[i]->ctx;
	return NULL;
}

/* Neither at the registration, nor when the switch comes, changes, or goes. */
START_TEST(pnp_clients_are_not_told_of_a_switch)
{
	const struct al_pnp_attr attr = { .ports = true };
	struct ci_event down = { .type = IB_EVENT_PORT_DOWN, .port_num = 1 };
	al_pnp_h pnp;

	heard = heard_of_switch = 0;
	ck_ok(al_reg_pnp(al, &attr, NULL, hear, &pnp));
	down.object_ctx = switch_ctx();
	ib_dispatch_event(&down);
	fake->withdraw(1, 0);
	ck_ok(fake->announce(1));
	fake->withdraw(0, 0); /* an HCA's removal, of which the client is told, ends the test */
	ck_ok(al_dereg_pnp(pnp, AL_DESTROY_SYNC, NULL));
	ck_assert_uint_gt(heard, 0);
	ck_assert_uint_eq(heard_of_switch, 0);
}
END_TEST

/* ---------------------------------------------------------------- found by the GUID */

START_TEST(a_guid_of_no_node_is_not_found)
{
	al_ca_h ca;

	ck_status(al_open_ca(al, SWITCH_GUID + 1, NULL, &ca), AL_NOT_FOUND);
	ck_status(al_open_ca(al, 0, NULL, &ca), AL_NOT_FOUND);
}
END_TEST

#define THREADS 8

static void *open_at_once(void *barrier)
{
	al_ca_h ca;

	pthread_barrier_wait(barrier);
	return (void *)(intptr_t)al_open_ca(al, SWITCH_GUID, NULL, &ca);
}

START_TEST(several_threads_open_a_switch_at_once)
{
	pthread_t thread[THREADS];
	pthread_barrier_t barrier;
	void *status;

	pthread_barrier_init(&barrier, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, open_at_once, &barrier), 0);
	for (int i = 0; i < THREADS; i++) {
		ck_assert_int_eq(pthread_join(thread[i], &status), 0);
		ck_status((al_status)(intptr_t)status, AL_SUCCESS);
	}
	pthread_barrier_destroy(&barrier);
}
END_TEST

static al_status opened_in_callback;

static al_status open_at_removal(void *context, const struct al_pnp_event *event)
{
	al_ca_h ca;

	if (event->type == AL_PNP_CA_REMOVE)
		opened_in_callback = al_open_ca(al, SWITCH_GUID, NULL, &ca);
	if (event->type == AL_PNP_CA_REMOVE)
		sem_post(context);
	return AL_SUCCESS;
}

/* The removal of the HCA waits for the callback. */
START_TEST(a_switch_is_opened_in_the_callback_of_an_hcas_removal)
{
	al_pnp_h pnp;
	sem_t done;

	sem_init(&done, 0, 0);
	opened_in_callback = AL_NOT_FOUND;
	ck_ok(al_reg_pnp(al, NULL, &done, open_at_removal, &pnp));
	fake->withdraw(0, 0);
	test_wait(&done);
	ck_status(opened_in_callback, AL_SUCCESS);
	ck_ok(al_dereg_pnp(pnp, AL_DESTROY_SYNC, NULL));
}
END_TEST

/* Opens the switch and closes it again. Returns the status of the opening. */
static al_status try_open(void)
{
	al_ca_h ca;
	al_status status = al_open_ca(al, SWITCH_GUID, NULL, &ca);

	if (!status)
		ck_ok(al_close_ca(ca, AL_DESTROY_SYNC, NULL));
	return status;
}

/* _i: flags of the removal. A client may get an agent's answer that the switch is gone, and only then hear of the removal. */
START_TEST(a_switch_that_goes_is_dead_and_is_found_when_it_comes_back)
{
	al_ca_h gone = open_switch(), ca;
	struct ib_port_attr port;
	struct ib_ca_attr attr;
	al_pd_h pd;

	ck_ok(al_alloc_pd(gone, NULL, &pd));
	al_set_log(test_ignore_log, NULL);
	fake->withdraw(1, _i ? CI_HCA_GONE : 0);
	ck_soon(al_query_port(gone, 0, &port) == AL_CA_REMOVED);
	ck_soon(al_query_ca(gone, &attr) == AL_CA_REMOVED);
	ck_soon(try_open() == AL_NOT_FOUND);
	ck_ok(fake->announce(1));
	ca = open_switch();
	ck_ok(al_query_port(ca, 0, &port));
	ck_status(al_query_port(gone, 0, &port), AL_CA_REMOVED);
	ck_ok(al_dealloc_pd(pd, AL_DESTROY_SYNC, NULL));
	ck_ok(al_close_ca(gone, AL_DESTROY_SYNC, NULL));
	ck_ok(al_query_port(ca, 0, &port));
}
END_TEST

/* ------------------------------------------------------------------- port 0 */

START_TEST(port_0_and_the_external_ports_can_be_queried)
{
	struct ib_port_attr port;
	al_ca_h ca = open_switch();
	struct ib_ca_attr attr;
	uint16_t pkey;
	ib_gid gid;

	ck_ok(al_query_ca(ca, &attr));
	ck_assert_int_eq(attr.node_type, IB_NODE_SWITCH);
	ck_ok(al_query_port(ca, 0, &port));
	ck_assert_uint_eq(port.sm_lid, 0);
	ck_ok(al_query_port(ca, PORTS, &port));
	ck_assert_uint_eq(port.sm_lid, PORTS);
	ck_status(al_query_port(ca, PORTS + 1, &port), AL_INVALID_PORT);
	ck_ok(al_query_gid(ca, 0, 0, &gid));
	ck_ok(al_query_pkey(ca, 0, 0, &pkey));
	ck_status(al_query_gid(ca, 1, 0, &gid), AL_INVALID_GID_INDEX);
	ck_status(al_query_pkey(ca, 1, 0, &pkey), AL_INVALID_PKEY_INDEX);
}
END_TEST

START_TEST(an_hca_has_no_port_0)
{
	al_ca_h ca = test_open_ca(al, FAKE_GUID);
	struct ib_port_attr port;

	ck_status(al_query_port(ca, 0, &port), AL_INVALID_PORT);
}
END_TEST

START_TEST(the_gid_of_port_0_is_found)
{
	al_ca_h ca = open_switch();
	uint8_t port = 0xee;
	uint32_t index;
	ib_gid gid;

	ck_ok(al_query_gid(ca, 0, 0, &gid));
	ck_ok(al_find_gid(ca, &gid, &port, &index));
	ck_assert_uint_eq(port, 0);
}
END_TEST

START_TEST(only_special_queue_pairs_exist_and_on_port_0_only)
{
	struct al_cq_init cq_init = { .cqe = 8 };
	struct al_qp_init init = { .cap = { 1, 1, 1, 1, 0 } };
	al_ca_h ca = open_switch();
	al_pd_h pd;
	al_cq_h cq;
	al_qp_h qp;

	ck_ok(al_alloc_pd(ca, NULL, &pd));
	ck_ok(al_create_cq(pd, &cq_init, NULL, NULL, NULL, &cq));
	init.send_cq = init.recv_cq = cq;
	init.qp_type = IB_QPT_UD;
	ck_status(al_create_qp(pd, &init, NULL, NULL, &qp), AL_UNSUPPORTED);
	init.qp_type = IB_QPT_SMI;
	init.port_num = 1;
	ck_status(al_create_qp(pd, &init, NULL, NULL, &qp), AL_INVALID_PORT);
	init.port_num = 0;
	ck_ok(al_create_qp(pd, &init, NULL, NULL, &qp));
	ck_assert_uint_eq(special_port, 0);
}
END_TEST

START_TEST(addresses_leave_by_port_0)
{
	struct ib_ah_attr attr = { .dlid = 7, .port_num = 1 }, back;
	const struct ib_wc wc = { .opcode = IB_WC_RECV, .slid = 9, .port_num = 5 };
	al_ca_h ca = open_switch();
	al_pd_h pd;
	al_ah_h ah;

	ck_ok(al_alloc_pd(ca, NULL, &pd));
	ck_status(al_create_ah(pd, &attr, &ah), AL_INVALID_PORT);
	attr.port_num = 0;
	ck_ok(al_create_ah(pd, &attr, &ah));
	ck_ok(al_init_ah_from_wc(ca, 0, &wc, NULL, &back));
	ck_assert_uint_eq(back.port_num, 0);
	ck_assert_uint_eq(back.dlid, 9);
	ck_status(al_init_ah_from_wc(ca, 5, &wc, NULL, &back), AL_INVALID_PORT);
}
END_TEST

/* A P_Key index of port 0 is checked as an HCA's: port 0 has one P_Key here. */
START_TEST(a_pkey_index_of_port_0_is_checked)
{
	struct al_cq_init cq_init = { .cqe = 8 };
	struct al_qp_init init = { .qp_type = IB_QPT_GSI, .cap = { 1, 1, 1, 1, 0 } };
	struct ib_qp_attr attr = { .qp_state = IB_QPS_INIT, .pkey_index = 1 };
	al_ca_h ca = open_switch();
	al_pd_h pd;
	al_cq_h cq;
	al_qp_h qp;

	ck_ok(al_alloc_pd(ca, NULL, &pd));
	ck_ok(al_create_cq(pd, &cq_init, NULL, NULL, NULL, &cq));
	init.send_cq = init.recv_cq = cq;
	ck_ok(al_create_qp(pd, &init, NULL, NULL, &qp));
	ck_status(al_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_QKEY),
		  AL_INVALID_PKEY_INDEX);
}
END_TEST

/* -------------------------------------------------------------------- events */

static struct al_event told[8];
static sem_t told_sem;
static unsigned int num_told;

static void tell(void *context, const struct al_event *event)
{
	(void)context;
	told[num_told++] = *event;
	sem_post(&told_sem);
}

static void raise_event(ib_event_type type, uint8_t port)
{
	struct ci_event event = { .type = type, .port_num = port, .object_ctx = switch_ctx() };

	ib_dispatch_event(&event);
	test_wait(&told_sem);
}

START_TEST(states_of_port_0_and_of_external_ports_are_told_apart)
{
	al_event_handler_h handler;
	al_ca_h ca = open_switch();

	sem_init(&told_sem, 0, 0);
	num_told = 0;
	ck_ok(al_reg_event_handler(ca, NULL, NULL, tell, &handler));
	raise_event(IB_EVENT_PORT_DOWN, 0);
	raise_event(IB_EVENT_PORT_DOWN, PORTS);
	raise_event(IB_EVENT_LID_CHANGE, 0);
	ck_assert_int_eq(told[0].type, IB_EVENT_PORT_DOWN);
	ck_assert_uint_eq(told[0].port_num, 0);
	ck_assert_int_eq(told[1].type, IB_EVENT_PORT_DOWN);
	ck_assert_uint_eq(told[1].port_num, PORTS);
	ck_assert_int_eq(told[2].type, IB_EVENT_LID_CHANGE);
	ck_assert_uint_eq(told[2].port_num, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("verbs: switches");
	TCase *t = tcase_create("switches");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, lists_and_snapshots_have_hcas_only);
	tcase_add_test(t, pnp_clients_are_not_told_of_a_switch);
	tcase_add_test(t, a_guid_of_no_node_is_not_found);
	tcase_add_test(t, several_threads_open_a_switch_at_once);
	tcase_add_test(t, a_switch_is_opened_in_the_callback_of_an_hcas_removal);
	tcase_add_loop_test(t, a_switch_that_goes_is_dead_and_is_found_when_it_comes_back, 0, 2);
	tcase_add_test(t, port_0_and_the_external_ports_can_be_queried);
	tcase_add_test(t, an_hca_has_no_port_0);
	tcase_add_test(t, the_gid_of_port_0_is_found);
	tcase_add_test(t, only_special_queue_pairs_exist_and_on_port_0_only);
	tcase_add_test(t, addresses_leave_by_port_0);
	tcase_add_test(t, a_pkey_index_of_port_0_is_checked);
	tcase_add_test(t, states_of_port_0_and_of_external_ports_are_told_apart);
	suite_add_tcase(s, t);
	return test_run(s);
}
