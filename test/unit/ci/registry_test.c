/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * ci/registry.c: requirements of an HCA's registration, and the end of a registration; references on modules.
 */
#include <semaphore.h>
#include <string.h>

#include "test/unit/ci/support.h"

static struct fake *fake;

/* Loads the module, which announces no HCA. */
static void load_quiet(void)
{
	support_start();
	fake = fake_open();
	fake->hcas = 0;
	ck_assert_int_eq(ci_start(NULL), AL_SUCCESS);
	ck_assert_int_eq(ci_load_module(FAKE_SO), AL_SUCCESS);
	log_clear();
}

static unsigned int calls(enum fake_op op)
{
	return atomic_load(&fake->calls[op]);
}

/* Expects a refusal with a message that names the module, the file and the given words, and that all is undone. */
#define assert_refused(status, ...)                                                    \
	do {                                                                           \
		log_clear();                                                           \
		ck_assert_int_eq(fake->announce(0), status);                           \
		ck_assert(log_has(IB_LOG_ERROR, "fake: " FAKE_SO, __VA_ARGS__, NULL)); \
		ck_assert_uint_eq(log_count(IB_LOG_ERROR), 1);                         \
		ck_assert_uint_eq(atomic_load(&upper.adds), 0);                        \
		ck_assert_ptr_null(fake->handle[0]);                                   \
		ck_assert_uint_eq(calls(FAKE_open_ca), calls(FAKE_close_ca));          \
	} while (0)

START_TEST(an_hca_is_checked_opened_queried_and_handed_up)
{
	struct ci_registration *reg;

	ck_assert_int_eq(fake->announce(0), AL_SUCCESS);
	reg = upper.last;
	ck_assert_ptr_eq(fake->handle[0], reg);
	ck_assert_ptr_eq(reg->ca->ctx, reg);
	ck_assert_ptr_eq(reg->ca->hca, (void *)(uintptr_t)FAKE_GUID);
	ck_assert_uint_eq((uintptr_t)reg->ca % 64, 0);
	ck_assert_uint_eq(reg->attr.node_guid, FAKE_GUID);
	ck_assert_ptr_eq(reg->module, fake->host);
	ck_assert_str_eq(ci_module_name(reg->module), "fake");
	ck_assert_str_eq(ci_module_version(reg->module), "1.0");
	ck_assert(reg->ops.peek_cq == ci_default_ops.peek_cq);
	ck_assert_uint_eq(calls(FAKE_open_ca), 1);

	fake->withdraw(0, CI_HCA_GONE);
	ck_assert_uint_eq(atomic_load(&upper.removes), 1);
	ck_assert_uint_eq(upper.remove_flags, CI_HCA_GONE);
	ck_assert_uint_eq(calls(FAKE_close_ca), 1);
}
END_TEST

START_TEST(a_table_that_is_wrong_is_refused_before_it_is_used)
{
	fake->ops.poll_cq = NULL;
	assert_refused(AL_MODULE_MISSING_OP, "poll_cq");
	ck_assert_uint_eq(calls(FAKE_open_ca), 0);
}
END_TEST

START_TEST(another_abi_is_refused)
{
	fake->ops.abi_major = 3;
	assert_refused(AL_MODULE_ABI, "3.1", "2.1");
}
END_TEST

START_TEST(a_short_object_is_refused)
{
	fake->ops.obj_size[CI_OBJ_CA] = 4;
	assert_refused(AL_INVALID_PARAMETER, "ci_ca", "4", "16");
}
END_TEST

START_TEST(an_hca_that_does_not_open_is_refused)
{
	fake->fail[FAKE_open_ca] = AL_IO_ERROR;
	log_clear();
	ck_assert_int_eq(fake->announce(0), AL_IO_ERROR);
	ck_assert(log_has(IB_LOG_ERROR, "open_ca", "AL_IO_ERROR", NULL));
	ck_assert_uint_eq(calls(FAKE_close_ca), 0);
}
END_TEST

START_TEST(a_query_that_fails_refuses)
{
	fake->fail[FAKE_query_ca] = AL_CA_ERROR;
	assert_refused(AL_CA_ERROR, "query_ca", "AL_CA_ERROR");
	fake->fail[FAKE_query_ca] = AL_SUCCESS;
	fake->fail[FAKE_query_port] = AL_IO_ERROR;
	assert_refused(AL_IO_ERROR, "query_port of port 1", "AL_IO_ERROR");
}
END_TEST

/* Expects that a member with a value out of its range is refused, and restores the member. */
#define REFUSED_WITH(attr, member, value, ...)                                     \
	do {                                                                       \
		__typeof__(fake->attr.member) kept_ = fake->attr.member;           \
		fake->attr.member = (__typeof__(kept_))(value);                    \
		assert_refused(AL_MODULE_FAILED, #member " " #value, __VA_ARGS__); \
		fake->attr.member = kept_;                                         \
	} while (0)

START_TEST(attributes_of_an_hca_must_be_in_range)
{
	REFUSED_WITH(ca_attr, num_ports, 0, "1 to 254");
	REFUSED_WITH(ca_attr, num_ports, 255, "query_ca");
	REFUSED_WITH(ca_attr, num_comp_vectors, 0, "1 to 2048");
	REFUSED_WITH(ca_attr, num_comp_vectors, 2049, "query_ca");
	REFUSED_WITH(ca_attr, vendor_id, 16777216, "0 to 16777215");
	REFUSED_WITH(ca_attr, atomic_cap, 3, "0 to 2");
	REFUSED_WITH(ca_attr, masked_atomic_cap, 3, "0 to 2");
	REFUSED_WITH(ca_attr, node_type, 3, "1 to 2"); /* a router */
	fake->ca_attr.num_ports = 254;
	fake->ca_attr.num_comp_vectors = 2048;
	ck_assert_int_eq(fake->announce(0), AL_SUCCESS);
	ck_assert_uint_ge(calls(FAKE_query_port), 254);
}
END_TEST

START_TEST(a_guid_of_zero_is_refused)
{
	fake->guid[0] = 0;
	assert_refused(AL_MODULE_FAILED, "node_guid 0");
}
END_TEST

START_TEST(attributes_of_a_port_must_be_in_range)
{
	REFUSED_WITH(port_attr, state, 0, "port 1", "valid are 1 to 4");
	REFUSED_WITH(port_attr, state, 99, "query_port");
	REFUSED_WITH(port_attr, phys_state, 8, "query_port");
	REFUSED_WITH(port_attr, link_layer, 3, "query_port");
	REFUSED_WITH(port_attr, max_mtu, 0, "valid are 1 to 5");
	REFUSED_WITH(port_attr, max_mtu, 77, "query_port");
	REFUSED_WITH(port_attr, active_mtu, 6, "whose max_mtu is 5");
	REFUSED_WITH(port_attr, active_mtu, 0, "whose max_mtu is 5");
	REFUSED_WITH(port_attr, max_msg_size, 2147483649, "valid are 0 to 2147483648");
	REFUSED_WITH(port_attr, gid_tbl_len, 0, "valid are 1 to 65536");
	REFUSED_WITH(port_attr, gid_tbl_len, 65537, "query_port");
	REFUSED_WITH(port_attr, pkey_tbl_len, 0, "valid are 1 to 65536");
	REFUSED_WITH(port_attr, pkey_tbl_len, 65537, "query_port");
	REFUSED_WITH(port_attr, lid, 49152, "valid are 0 to 49151");
	REFUSED_WITH(port_attr, lmc, 8, "query_port");
	REFUSED_WITH(port_attr, sm_sl, 16, "query_port");
	/* The ends of the ranges are accepted. A port that is not active has no MTU in use and no LID. */
	fake->port_attr.gid_tbl_len = fake->port_attr.pkey_tbl_len = 65536;
	fake->port_attr.lid = 0xffff;
	fake->port_attr.state = IB_PORT_DOWN;
	fake->port_attr.active_mtu = (ib_mtu)0;
	ck_assert_int_eq(fake->announce(0), AL_SUCCESS);
}
END_TEST

START_TEST(an_unknown_status_becomes_module_failed)
{
	static const enum fake_op ops[] = { FAKE_open_ca, FAKE_query_ca, FAKE_query_port };

	fake->fail[ops[_i]] = (al_status)9999;
	log_clear();
	ck_assert_int_eq(fake->announce(0), AL_MODULE_FAILED);
	ck_assert(log_has(IB_LOG_ERROR, "9999, which is no status", NULL));
}
END_TEST

START_TEST(inside_an_operation_no_hca_is_withdrawn)
{
	ck_assert_int_eq(fake->announce(0), AL_SUCCESS);
	upper.inside = true;
	ck_assert_int_eq(ib_deregister_ci(fake->handle[0], 0), AL_INVALID_CONTEXT);
	ck_assert(log_has(IB_LOG_ERROR, "ib_deregister_ci of HCA 0x00feed0000000001 refused", "from another thread", NULL));
	ck_assert_int_eq(ib_deregister_ci((ci_handle)&upper, 0), AL_INVALID_CONTEXT);
	ck_assert(log_has(IB_LOG_ERROR, "which is no registered HCA, refused", NULL));
	ck_assert_uint_eq(atomic_load(&upper.removes), 0);
	ck_assert_uint_eq(calls(FAKE_close_ca), 0);
	upper.inside = false;
	ck_assert_int_eq(ib_deregister_ci(fake->handle[0], 1u << 5), AL_INVALID_PARAMETER);
	ck_assert(log_has(IB_LOG_ERROR, "flags is 0x20", NULL));
	ck_assert_int_eq(ib_deregister_ci(fake->handle[0], 0), AL_SUCCESS);
	ck_assert_uint_eq(calls(FAKE_close_ca), 1);
}
END_TEST

/* An unload within an operation does not ask whether an operation is under way on HCAs that the loader itself ends. */
START_TEST(an_unload_withdraws_what_a_module_leaves_wherever_it_is_called)
{
	fake->keep_hcas = true;
	ck_assert_int_eq(fake->announce(0), AL_SUCCESS);
	upper.inside = true;
	ck_assert_int_eq(ci_unload_module("fake", 0), AL_SUCCESS);
	ck_assert_uint_eq(atomic_load(&upper.removes), 1);
}
END_TEST

static al_status local_mad(struct ci_ca *ca, uint8_t port, const struct ib_ah_attr *src,
			   const struct ci_local_mad_in *in, struct ci_local_mad_out *mad)
{
	(void)ca;
	(void)port;
	(void)src;
	(void)in;
	(void)mad;
	return AL_SUCCESS;
}

START_TEST(management_in_the_access_layer_needs_local_mad)
{
	fake->port_attr.ci_caps = CI_PORT_SMA_IN_AL;
	assert_refused(AL_MODULE_MISSING_OP, "local_mad", "CI_PORT_SMA_IN_AL");
	fake->port_attr.ci_caps = CI_PORT_PMA_IN_AL;
	assert_refused(AL_MODULE_MISSING_OP, "local_mad", "CI_PORT_PMA_IN_AL");
	fake->ops.local_mad = local_mad;
	ck_assert_int_eq(fake->announce(0), AL_SUCCESS);
}
END_TEST

static al_status create_spl_qp(struct ci_qp *qp, uint8_t port, struct ci_qp_init *init,
			       struct ci_udata *udata)
{
	(void)qp;
	(void)port;
	(void)init;
	(void)udata;
	return AL_UNSUPPORTED;
}

START_TEST(a_switch_needs_special_queue_pairs_and_an_hca_others)
{
	fake->ops.create_qp = NULL;
	assert_refused(AL_MODULE_MISSING_OP, "create_qp");
	fake->ca_attr.node_type = IB_NODE_SWITCH;
	assert_refused(AL_MODULE_MISSING_OP, "create_spl_qp");
	fake->ops.create_spl_qp = create_spl_qp;
	ck_assert_int_eq(fake->announce(0), AL_SUCCESS);
}
END_TEST

static uint32_t queried; /* ports that query_port was called for: bits */

static al_status query_external(struct ci_ca *ca, uint8_t port, struct ib_port_attr *attr)
{
	(void)ca;
	queried |= 1u << port;
	*attr = fake->port_attr;
	if (port)
		attr->gid_tbl_len = attr->pkey_tbl_len = 0;
	return AL_SUCCESS;
}

/* Port 0 must have GIDs and P_Keys, external ports need none; an HCA's ports must have them. */
START_TEST(port_0_of_a_switch_is_checked_too)
{
	fake->ops.create_spl_qp = create_spl_qp;
	fake->ops.query_port = query_external;
	fake->ca_attr.num_ports = 2;
	assert_refused(AL_MODULE_FAILED, "gid_tbl_len 0", "port 1");
	fake->ca_attr.node_type = IB_NODE_SWITCH;
	fake->port_attr.gid_tbl_len = 0;
	assert_refused(AL_MODULE_FAILED, "gid_tbl_len 0", "port 0");
	fake->port_attr.gid_tbl_len = 1;
	queried = 0;
	ck_assert_int_eq(fake->announce(0), AL_SUCCESS);
	ck_assert_uint_eq(queried, 7);
}
END_TEST

START_TEST(texts_of_an_hca_end)
{
	memset(fake->ca_attr.node_desc, 'x', sizeof(fake->ca_attr.node_desc));
	memset(fake->ca_attr.fw_ver, 'x', sizeof(fake->ca_attr.fw_ver));
	memset(fake->ca_attr.location, 'x', sizeof(fake->ca_attr.location));
	ck_assert_int_eq(fake->announce(0), AL_SUCCESS);
	ck_assert_uint_eq(strlen(upper.last->attr.node_desc), 63);
	ck_assert_uint_eq(strlen(upper.last->attr.fw_ver), 31);
	ck_assert_uint_eq(strlen(upper.last->attr.location), 31);
}
END_TEST

START_TEST(a_guid_can_be_registered_once)
{
	fake->guid[1] = fake->guid[0];
	ck_assert_int_eq(fake->announce(0), AL_SUCCESS);
	ck_assert_int_eq(fake->announce(1), AL_DUPLICATE);
	ck_assert(log_has(IB_LOG_ERROR, FAKE_SO, "0x00feed0000000001", "by module fake", NULL));
	ck_assert_uint_eq(atomic_load(&upper.adds), 1);
	ck_assert_uint_eq(calls(FAKE_close_ca), 1);
	/* The same after the HCA's removal. */
	fake->withdraw(0, 0);
	ck_assert_int_eq(fake->announce(1), AL_SUCCESS);
}
END_TEST

START_TEST(what_the_access_layer_refuses_is_closed)
{
	upper.fail_add = AL_INSUFFICIENT_RESOURCES;
	assert_refused(AL_INSUFFICIENT_RESOURCES, "Access Layer", "AL_INSUFFICIENT_RESOURCES");
	upper.fail_add = AL_SUCCESS;
	ck_assert_int_eq(fake->announce(0), AL_SUCCESS);
}
END_TEST

START_TEST(bad_arguments_are_refused)
{
	ci_handle handle = NULL;

	ck_assert_int_eq(ib_register_ci(NULL, &fake->ops, NULL, &handle), AL_INVALID_PARAMETER);
	ck_assert_int_eq(ib_register_ci((struct ci_host *)fake, &fake->ops, NULL, &handle),
			 AL_INVALID_PARAMETER);
	ck_assert_int_eq(ib_register_ci(fake->host, NULL, NULL, &handle), AL_INVALID_PARAMETER);
	ck_assert_int_eq(ib_register_ci(fake->host, &fake->ops, NULL, NULL), AL_INVALID_PARAMETER);
	ck_assert_uint_eq(log_count(IB_LOG_ERROR), 4);
	ck_assert_ptr_null(handle);
}
END_TEST

START_TEST(an_invalid_handle_is_not_dereferenced)
{
	ib_deregister_ci(NULL, 0);
	ib_deregister_ci((ci_handle)(uintptr_t)0xdeadbeef, 0);
	ck_assert_uint_eq(log_count(IB_LOG_ERROR), 2);
	ck_assert_uint_eq(atomic_load(&upper.removes), 0);
}
END_TEST

START_TEST(every_allocation_may_fail)
{
	uint64_t n = 0;
	al_status st;

	do {
		al_fail_alloc(++n);
		st = fake->announce(0);
		ck_assert(st == AL_SUCCESS || st == AL_INSUFFICIENT_MEMORY);
		ck_assert_uint_eq(calls(FAKE_open_ca), calls(FAKE_close_ca) + !st);
	} while (st);
	ck_assert_uint_ge(n, 3);
	al_fail_alloc(0);
}
END_TEST

/* ------------------------------------------------------------------------- at once */

#define THREADS 4
#define ROUNDS  50

static void *come_and_go(void *arg)
{
	uint32_t hca = (uint32_t)(uintptr_t)arg;

	for (int i = 0; i < ROUNDS; i++) {
		ck_assert_int_eq(fake->announce(hca), AL_SUCCESS);
		ck_assert(ci_module_get(fake->host));
		ci_module_put(fake->host);
		fake->withdraw(hca, 0);
	}
	return NULL;
}

START_TEST(threads_of_a_module_come_and_go_at_once)
{
	pthread_t thread[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, come_and_go, (void *)i), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	ck_assert_uint_eq(atomic_load(&upper.adds), THREADS * ROUNDS);
	ck_assert_uint_eq(atomic_load(&upper.removes), THREADS * ROUNDS);
	ck_assert_uint_eq(calls(FAKE_close_ca), THREADS * ROUNDS);
}
END_TEST

static atomic_uint winners;

static void *race(void *arg)
{
	uint32_t hca = (uint32_t)(uintptr_t)arg;

	if (fake->announce(hca) == AL_SUCCESS)
		atomic_fetch_add(&winners, 1);
	return NULL;
}

START_TEST(of_many_with_one_guid_one_is_registered)
{
	pthread_t thread[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		fake->guid[i] = FAKE_GUID;
	for (uintptr_t i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, race, (void *)i), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	ck_assert_uint_eq(atomic_load(&winners), 1);
	ck_assert_uint_eq(calls(FAKE_open_ca), calls(FAKE_close_ca) + 1);
}
END_TEST

/* A client's calls during the withdrawal of the client's HCA take no lock that the withdrawal holds. */
static void act_as_client(struct ci_registration *reg)
{
	struct ci_snap_module *modules;
	struct ci_snap_pci *pci;
	char *error;
	size_t count;

	(void)reg;
	ck_assert_int_eq(ci_start(NULL), AL_SUCCESS);
	ck_assert_int_eq(ci_snapshot_modules(&modules, &count), AL_SUCCESS);
	al_free(modules);
	ck_assert_int_eq(ci_snapshot_pci(&pci, &count, &error), AL_SUCCESS);
	al_free(pci);
	al_free(error);
	/* The HCA is not withdrawn twice. */
	ib_deregister_ci(reg, 0);
}

START_TEST(a_client_may_do_all_this_while_its_hca_goes)
{
	ck_assert_int_eq(fake->announce(0), AL_SUCCESS);
	ck_assert(ci_module_get(fake->host));
	upper.on_remove = act_as_client;
	ck_assert_int_eq(ci_unload_module("fake", CI_UNLOAD_REMOVE), AL_SUCCESS);
	ck_assert_uint_eq(atomic_load(&upper.removes), 1);
	ck_assert(log_has(IB_LOG_ERROR, "ib_deregister_ci", "withdrawn already", NULL));
}
END_TEST

static sem_t inside, go_on;

static void stop_inside(struct ci_registration *reg)
{
	(void)reg;
	sem_post(&inside);
	sem_wait(&go_on);
}

static void *refused_unload(void *arg)
{
	(void)arg;
	return (void *)(uintptr_t)ci_unload_module("fake", 0);
}

static void *withdraw(void *arg)
{
	(void)arg;
	fake->withdraw(0, 0);
	return NULL;
}

START_TEST(an_hca_does_not_go_while_its_users_are_named)
{
	pthread_t unloading, withdrawing;
	void *result;

	sem_init(&inside, 0, 0);
	sem_init(&go_on, 0, 0);
	ck_assert_int_eq(fake->announce(0), AL_SUCCESS);
	ck_assert(ci_module_get(fake->host));
	upper.on_users = stop_inside;
	upper.users = "test (pid 1)";
	ck_assert_int_eq(pthread_create(&unloading, NULL, refused_unload, NULL), 0);
	sem_wait(&inside);
	ck_assert_int_eq(pthread_create(&withdrawing, NULL, withdraw, NULL), 0);
	/* The withdrawal waits until the names are written. Only the absence of a removal shows that. */
	for (int i = 0; i < 100; i++) {
		sched_yield();
		ck_assert_uint_eq(atomic_load(&upper.removes), 0);
	}
	sem_post(&go_on);
	pthread_join(unloading, &result);
	pthread_join(withdrawing, NULL);
	ck_assert_int_eq((int)(uintptr_t)result, AL_MODULE_IN_USE);
	ck_assert_uint_eq(atomic_load(&upper.removes), 1);
	ck_assert(log_has(IB_LOG_ERROR, "fake: not unloaded", "test (pid 1)", NULL));
	ci_module_put(fake->host);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("registry");
	TCase *tc = tcase_create("registration");

	tcase_add_checked_fixture(tc, load_quiet, NULL);
	tcase_add_test(tc, an_hca_is_checked_opened_queried_and_handed_up);
	tcase_add_test(tc, a_table_that_is_wrong_is_refused_before_it_is_used);
	tcase_add_test(tc, another_abi_is_refused);
	tcase_add_test(tc, a_short_object_is_refused);
	tcase_add_test(tc, an_hca_that_does_not_open_is_refused);
	tcase_add_test(tc, a_query_that_fails_refuses);
	tcase_add_test(tc, attributes_of_an_hca_must_be_in_range);
	tcase_add_test(tc, a_guid_of_zero_is_refused);
	tcase_add_test(tc, attributes_of_a_port_must_be_in_range);
	tcase_add_loop_test(tc, an_unknown_status_becomes_module_failed, 0, 3);
	tcase_add_test(tc, inside_an_operation_no_hca_is_withdrawn);
	tcase_add_test(tc, an_unload_withdraws_what_a_module_leaves_wherever_it_is_called);
	tcase_add_test(tc, management_in_the_access_layer_needs_local_mad);
	tcase_add_test(tc, a_switch_needs_special_queue_pairs_and_an_hca_others);
	tcase_add_test(tc, port_0_of_a_switch_is_checked_too);
	tcase_add_test(tc, texts_of_an_hca_end);
	tcase_add_test(tc, a_guid_can_be_registered_once);
	tcase_add_test(tc, what_the_access_layer_refuses_is_closed);
	tcase_add_test(tc, bad_arguments_are_refused);
	tcase_add_test(tc, an_invalid_handle_is_not_dereferenced);
	tcase_add_test(tc, every_allocation_may_fail);
	suite_add_tcase(suite, tc);
	tc = tcase_create("at once");
	tcase_add_checked_fixture(tc, load_quiet, NULL);
	tcase_add_test(tc, threads_of_a_module_come_and_go_at_once);
	tcase_add_test(tc, of_many_with_one_guid_one_is_registered);
	tcase_add_test(tc, a_client_may_do_all_this_while_its_hca_goes);
	tcase_add_test(tc, an_hca_does_not_go_while_its_users_are_named);
	suite_add_tcase(suite, tc);
	return support_run(suite);
}
