/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* HCAs: finding and opening by GUID, queries and changes of HCAs and their ports. */
#include "test/unit/al/al_test.h"

static struct fake *fake;
static al_h al;

/* Ports whose tables have several entries; each query returns one entry. */
static al_status query_pkey(struct ci_ca *ca, uint8_t port, uint32_t index, uint16_t *pkey)
{
	/* limited before full of 0x1234; 0x2345 limited only; full 0x3456 on port 2 only; an empty entry */
	static const uint16_t table[2][5] = { { 0xffff, 0x1234, 0, 0x9234, 0x2345 },
					      { 0x7fff, 0xb456, 0, 0x3456, 0 } };

	(void)ca;
	*pkey = table[port - 1][index];
	return fake->fail[FAKE_query_pkey];
}

static al_status query_gid(struct ci_ca *ca, uint8_t port, uint32_t index, ib_gid *gid)
{
	(void)ca;
	memset(gid, 0, sizeof(*gid));
	gid->raw[0] = port;
	gid->raw[15] = (uint8_t)index;
	return fake->fail[FAKE_query_gid];
}

static struct ib_ca_attr modified_ca;
static struct ib_port_modify modified_port;
static uint32_t modified_mask;

static al_status modify_ca(struct ci_ca *ca, uint32_t mask, const struct ib_ca_attr *attr)
{
	(void)ca;
	modified_mask = mask;
	modified_ca = *attr;
	return AL_SUCCESS;
}

static al_status modify_port(struct ci_ca *ca, uint8_t port, uint32_t mask, const struct ib_port_modify *attr)
{
	(void)ca;
	(void)port;
	modified_mask = mask;
	modified_port = *attr;
	return AL_SUCCESS;
}

/* Returns the code and the input, reversed. */
static al_status vendor_call(struct ci_ca *ca, struct ci_vendor_call *call, struct ci_udata *udata)
{
	(void)ca;
	(void)udata;
	if (call->out_len < call->in_len)
		return AL_BUFFER_TOO_SMALL;
	for (uint32_t i = 0; i < call->in_len; i++)
		((char *)call->out)[i] = ((const char *)call->in)[call->in_len - 1 - i];
	call->out_len = call->in_len;
	return call->code == 42 ? AL_SUCCESS : AL_INVALID_OPCODE;
}

static void set_up(void)
{
	fake = test_fake();
	fake->hcas = 2;
	fake->ca_attr.num_ports = 2;
	fake->port_attr.gid_tbl_len = 3;
	fake->port_attr.pkey_tbl_len = 5;
	fake->ops.query_pkey = query_pkey;
	fake->ops.query_gid = query_gid;
	fake->ops.modify_ca = modify_ca;
	fake->ops.modify_port = modify_port;
	fake->ops.vendor_call = vendor_call;
	al = test_open();
}

static void tear_down(void)
{
	al_set_log(test_ignore_log, NULL);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

START_TEST(guids_are_listed_with_their_number)
{
	uint64_t guids[3] = { 1, 1, 1 };
	size_t count = 0;

	ck_status(al_get_ca_guids(al, NULL, &count), AL_BUFFER_TOO_SMALL);
	ck_assert_uint_eq(count, 2);
	count = 1;
	ck_status(al_get_ca_guids(al, guids, &count), AL_BUFFER_TOO_SMALL);
	ck_assert_uint_eq(count, 2);
	ck_assert_uint_eq(guids[0], 1);
	count = 3;
	ck_ok(al_get_ca_guids(al, guids, &count));
	ck_assert_uint_eq(count, 2);
	ck_assert_uint_eq(guids[0], FAKE_GUID);
	ck_assert_uint_eq(guids[1], FAKE_GUID + 0x100);
	ck_assert_uint_eq(guids[2], 1);
	ck_status(al_get_ca_guids(al, guids, NULL), AL_INVALID_PARAMETER);
	ck_status(al_get_ca_guids(al, NULL, &count), AL_INVALID_PARAMETER);
}
END_TEST

START_TEST(hcas_are_named_by_their_module_and_the_lowest_free_number)
{
	struct al_snapshot *snap;
	struct ib_ca_attr attr;

	ck_ok(al_query_ca(test_open_ca(al, FAKE_GUID), &attr));
	ck_assert_str_eq(attr.name, "fake0");
	ck_ok(al_query_ca(test_open_ca(al, FAKE_GUID + 0x100), &attr));
	ck_assert_str_eq(attr.name, "fake1");
	ck_ok(al_snapshot(al, &snap));
	ck_assert_uint_eq(snap->num_cas, 2);
	ck_assert_str_eq(snap->cas[0].attr.name, "fake0");
	ck_assert_str_eq(snap->cas[1].attr.name, "fake1");
	al_free_snapshot(snap);
}
END_TEST

START_TEST(an_hca_that_is_not_there_is_not_found)
{
	al_ca_h ca = (al_ca_h)&al;
	al_status status;

	ck_status(al_open_ca(al, 0, NULL, &ca), AL_NOT_FOUND);
	ck_status(al_open_ca(al, FAKE_GUID + 1, NULL, &ca), AL_NOT_FOUND);
	ck_assert_ptr_eq(ca, &al);
	ck_status(al_open_ca(al, FAKE_GUID, NULL, NULL), AL_INVALID_PARAMETER);
	fake->withdraw(1, 0);
	ck_soon((status = al_open_ca(al, FAKE_GUID + 0x100, NULL, &ca)) == AL_NOT_FOUND ||
		al_close_ca(ca, AL_DESTROY_SYNC, NULL));
	ck_status(status, AL_NOT_FOUND);
}
END_TEST

START_TEST(an_open_hca_keeps_its_module_and_a_closed_one_does_not)
{
	al_ca_h first = test_open_ca(al, FAKE_GUID), second = test_open_ca(al, FAKE_GUID);

	al_set_log(test_ignore_log, NULL);
	ck_status(al_unload_module(al, "fake", 0), AL_MODULE_IN_USE);
	ck_ok(al_close_ca(first, AL_DESTROY_SYNC, NULL));
	ck_status(al_unload_module(al, "fake", 0), AL_MODULE_IN_USE);
	ck_ok(al_close_ca(second, AL_DESTROY_SYNC, NULL));
	ck_ok(al_unload_module(al, "fake", 0));
}
END_TEST

START_TEST(attributes_are_those_of_the_module)
{
	al_ca_h ca = test_open_ca(al, FAKE_GUID + 0x100);
	struct ib_port_attr port;
	struct ib_ca_attr attr;
	ib_link_layer layer;

	ck_ok(al_query_ca(ca, &attr));
	ck_assert_uint_eq(attr.node_guid, FAKE_GUID + 0x100);
	ck_assert_uint_eq(attr.max_qp, fake->ca_attr.max_qp);
	ck_assert_str_eq(attr.node_desc, "an HCA for tests");
	ck_assert_str_eq(attr.name, "fake1"); /* given by the library, whatever the module says */
	ck_ok(al_query_port(ca, 2, &port));
	ck_assert_uint_eq(port.port_guid, FAKE_GUID + 0x102);
	ck_assert_uint_eq(port.gid_tbl_len, 3);
	ck_ok(al_port_link_layer(ca, 2, &layer));
	ck_assert_int_eq(layer, IB_LINK_LAYER_INFINIBAND);
	/* the library queries ports anew each time */
	fake->port_attr.link_layer = IB_LINK_LAYER_ETHERNET;
	fake->port_attr.state = IB_PORT_INIT;
	ck_ok(al_port_link_layer(ca, 1, &layer));
	ck_assert_int_eq(layer, IB_LINK_LAYER_ETHERNET);
	ck_ok(al_query_port(ca, 1, &port));
	ck_assert_int_eq(port.state, IB_PORT_INIT);
}
END_TEST

START_TEST(ports_and_indices_are_checked_before_the_module_sees_them)
{
	static const uint8_t none[] = { 0, 3, 255 };
	al_ca_h ca = test_open_ca(al, FAKE_GUID);
	struct ib_port_modify modify = { 0 };
	struct ib_port_attr port;
	ib_link_layer layer;
	uint32_t index;
	uint16_t pkey;
	ib_gid gid;

	for (size_t i = 0; i < sizeof(none); i++) {
		ck_status(al_query_port(ca, none[i], &port), AL_INVALID_PORT);
		ck_status(al_query_gid(ca, none[i], 0, &gid), AL_INVALID_PORT);
		ck_status(al_query_pkey(ca, none[i], 0, &pkey), AL_INVALID_PORT);
		ck_status(al_find_pkey(ca, none[i], 0xffff, &index), AL_INVALID_PORT);
		ck_status(al_port_link_layer(ca, none[i], &layer), AL_INVALID_PORT);
		ck_status(al_modify_port(ca, none[i], 0, &modify), AL_INVALID_PORT);
	}
	ck_ok(al_query_gid(ca, 2, 2, &gid));
	ck_assert_uint_eq(gid.raw[15], 2);
	ck_status(al_query_gid(ca, 2, 3, &gid), AL_INVALID_GID_INDEX);
	ck_ok(al_query_pkey(ca, 1, 4, &pkey));
	ck_assert_uint_eq(pkey, 0x2345);
	ck_status(al_query_pkey(ca, 1, 5, &pkey), AL_INVALID_PKEY_INDEX);
}
END_TEST

START_TEST(a_gid_is_found_on_any_port)
{
	al_ca_h ca = test_open_ca(al, FAKE_GUID);
	ib_gid gid = { { 0 } };
	uint32_t index = 99;
	uint8_t port = 99;

	ck_status(al_find_gid(ca, &gid, &port, &index), AL_NOT_FOUND);
	ck_assert_uint_eq(port, 99);
	ck_assert_uint_eq(index, 99);
	gid.raw[0] = 2;
	gid.raw[15] = 1;
	ck_ok(al_find_gid(ca, &gid, &port, &index));
	ck_assert_uint_eq(port, 2);
	ck_assert_uint_eq(index, 1);
	fake->fail[FAKE_query_gid] = AL_CA_ERROR;
	ck_status(al_find_gid(ca, &gid, &port, &index), AL_CA_ERROR);
}
END_TEST

START_TEST(a_full_member_is_preferred_and_an_empty_entry_is_no_key)
{
	al_ca_h ca = test_open_ca(al, FAKE_GUID);
	uint32_t index = 99;

	ck_ok(al_find_pkey(ca, 1, 0x1234, &index));
	ck_assert_uint_eq(index, 3);
	ck_ok(al_find_pkey(ca, 1, 0x9234, &index));
	ck_assert_uint_eq(index, 3);
	ck_ok(al_find_pkey(ca, 1, 0xa345, &index)); /* the same key value, limited only */
	ck_assert_uint_eq(index, 4);
	ck_ok(al_find_pkey(ca, 2, 0xffff, &index));
	ck_assert_uint_eq(index, 0);
	ck_ok(al_find_pkey(ca, 2, 0x3456, &index));
	ck_assert_uint_eq(index, 1);
	index = 99;
	ck_status(al_find_pkey(ca, 2, 0x1234, &index), AL_NOT_FOUND);
	ck_status(al_find_pkey(ca, 1, 0, &index), AL_NOT_FOUND);
	ck_status(al_find_pkey(ca, 1, 0x8000, &index), AL_NOT_FOUND);
	ck_assert_uint_eq(index, 99);
}
END_TEST

START_TEST(changes_go_to_the_module_and_wrong_ones_do_not)
{
	al_ca_h ca = test_open_ca(al, FAKE_GUID);
	struct ib_ca_attr attr = { .node_desc = "renamed" };
	struct ib_port_modify modify = { .set_caps = IB_PORT_CAP_CM };

	ck_ok(al_modify_ca(ca, IB_CA_MODIFY_NODE_DESC, &attr));
	ck_assert_uint_eq(modified_mask, IB_CA_MODIFY_NODE_DESC);
	ck_assert_str_eq(modified_ca.node_desc, "renamed");
	modified_mask = 0;
	ck_status(al_modify_ca(ca, 4, &attr), AL_INVALID_PARAMETER);
	memset(attr.node_desc, 'x', sizeof(attr.node_desc)); /* without a terminating zero */
	ck_status(al_modify_ca(ca, IB_CA_MODIFY_NODE_DESC, &attr), AL_INVALID_PARAMETER);
	ck_assert_uint_eq(modified_mask, 0);

	ck_ok(al_modify_port(ca, 2, IB_PORT_MODIFY_CAP_MASK, &modify));
	ck_assert_uint_eq(modified_mask, IB_PORT_MODIFY_CAP_MASK);
	ck_assert_uint_eq(modified_port.set_caps, IB_PORT_CAP_CM);
	modified_mask = 0;
	ck_status(al_modify_port(ca, 2, IB_PORT_MODIFY_BRING_UP << 1, &modify), AL_INVALID_PARAMETER);
	modify.reserved[0] = 1;
	ck_status(al_modify_port(ca, 2, IB_PORT_MODIFY_CAP_MASK, &modify), AL_INVALID_PARAMETER);
	ck_assert_uint_eq(modified_mask, 0);
}
END_TEST

START_TEST(a_vendor_call_goes_through_and_comes_back)
{
	al_ca_h ca = test_open_ca(al, FAKE_GUID);
	char out[8] = "";
	uint32_t len = sizeof(out);

	ck_ok(al_vendor_call(ca, 42, "abc", 3, out, &len));
	ck_assert_uint_eq(len, 3);
	ck_assert_str_eq(out, "cba");
	len = 2;
	ck_status(al_vendor_call(ca, 42, "abc", 3, out, &len), AL_BUFFER_TOO_SMALL);
	ck_assert_uint_eq(len, 2);
	ck_ok(al_vendor_call(ca, 42, NULL, 0, NULL, NULL));
	ck_status(al_vendor_call(ca, 41, NULL, 0, NULL, NULL), AL_INVALID_OPCODE);
	ck_status(al_vendor_call(ca, 42, NULL, 3, out, &len), AL_INVALID_PARAMETER);
	ck_status(al_vendor_call(ca, 42, "abc", 3, NULL, &len), AL_INVALID_PARAMETER);
	ck_status(al_vendor_call(ca, 42, "abc", 3, out, NULL), AL_INVALID_PARAMETER);
}
END_TEST

START_TEST(a_removed_hca_refuses_everything_but_the_close)
{
	al_ca_h ca = test_open_ca(al, FAKE_GUID);
	struct ib_port_attr port;
	struct ib_ca_attr attr;
	al_pd_h pd;

	fake->withdraw(0, 0);
	ck_status(al_query_ca(ca, &attr), AL_CA_REMOVED);
	ck_status(al_query_port(ca, 1, &port), AL_CA_REMOVED);
	ck_status(al_alloc_pd(ca, NULL, &pd), AL_CA_REMOVED);
	ck_ok(al_close_ca(ca, AL_DESTROY_SYNC, NULL));
	ck_status(al_query_ca(ca, &attr), AL_INVALID_HANDLE);
}
END_TEST

static al_status opened_meanwhile = AL_SUCCESS;

/* One of two HCAs is removed: the second HCA still exists, but its module is about to be unloaded. */
static al_status open_the_other(void *context, const struct al_pnp_event *event)
{
	al_ca_h ca;

	(void)context;
	if (event->type == AL_PNP_CA_REMOVE && event->ca_guid == FAKE_GUID)
		opened_meanwhile = al_open_ca(al, FAKE_GUID + 0x100, NULL, &ca);
	return AL_SUCCESS;
}

START_TEST(an_hca_whose_module_is_being_unloaded_is_not_found)
{
	al_pnp_h pnp;

	ck_ok(al_reg_pnp(al, NULL, NULL, open_the_other, &pnp));
	ck_ok(al_unload_module(al, "fake", AL_UNLOAD_REMOVE));
	ck_status(opened_meanwhile, AL_NOT_FOUND);
	ck_ok(al_dereg_pnp(pnp, AL_DESTROY_SYNC, NULL));
}
END_TEST

START_TEST(a_missing_pointer_is_refused)
{
	al_ca_h ca = test_open_ca(al, FAKE_GUID);
	ib_gid gid = { { 0 } };
	uint32_t index;
	uint8_t port;

	ck_status(al_query_ca(ca, NULL), AL_INVALID_PARAMETER);
	ck_status(al_query_port(ca, 1, NULL), AL_INVALID_PARAMETER);
	ck_status(al_query_gid(ca, 1, 0, NULL), AL_INVALID_PARAMETER);
	ck_status(al_query_pkey(ca, 1, 0, NULL), AL_INVALID_PARAMETER);
	ck_status(al_find_gid(ca, NULL, &port, &index), AL_INVALID_PARAMETER);
	ck_status(al_find_gid(ca, &gid, NULL, &index), AL_INVALID_PARAMETER);
	ck_status(al_find_gid(ca, &gid, &port, NULL), AL_INVALID_PARAMETER);
	ck_status(al_find_pkey(ca, 1, 0xffff, NULL), AL_INVALID_PARAMETER);
	ck_status(al_port_link_layer(ca, 1, NULL), AL_INVALID_PARAMETER);
	ck_status(al_modify_ca(ca, 0, NULL), AL_INVALID_PARAMETER);
	ck_status(al_modify_port(ca, 1, 0, NULL), AL_INVALID_PARAMETER);
	ck_status(al_alloc_pd(ca, NULL, NULL), AL_INVALID_PARAMETER);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("al/verbs/ca");
	TCase *tcase = tcase_create("HCAs");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, guids_are_listed_with_their_number);
	tcase_add_test(tcase, hcas_are_named_by_their_module_and_the_lowest_free_number);
	tcase_add_test(tcase, an_hca_that_is_not_there_is_not_found);
	tcase_add_test(tcase, an_open_hca_keeps_its_module_and_a_closed_one_does_not);
	tcase_add_test(tcase, attributes_are_those_of_the_module);
	tcase_add_test(tcase, ports_and_indices_are_checked_before_the_module_sees_them);
	tcase_add_test(tcase, a_gid_is_found_on_any_port);
	tcase_add_test(tcase, a_full_member_is_preferred_and_an_empty_entry_is_no_key);
	tcase_add_test(tcase, changes_go_to_the_module_and_wrong_ones_do_not);
	tcase_add_test(tcase, a_vendor_call_goes_through_and_comes_back);
	tcase_add_test(tcase, a_removed_hca_refuses_everything_but_the_close);
	tcase_add_test(tcase, an_hca_whose_module_is_being_unloaded_is_not_found);
	tcase_add_test(tcase, a_missing_pointer_is_refused);
	suite_add_tcase(suite, tcase);
	return test_run(suite);
}
