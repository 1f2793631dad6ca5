/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * ci/ops.c: requirements of a table of operations, the operations that fill its gaps, and the tables of a dead HCA.
 */
#include <stdio.h>
#include <string.h>

#include "test/unit/ci/support.h"

#define OPS_AT offsetof(struct ci_interface, open_ca)

/* The column `need` of ops.def for each operation, read independently of ci/ops.c. */
enum { NEED_REQUIRED = -1, NEED_OPTIONAL = -2, NEED_OF_HCAS = -3, NEED_OF_SWITCHES = -4 };
#define REQUIRED    NEED_REQUIRED
#define OPTIONAL    NEED_OPTIONAL
#define OF_HCAS     NEED_OF_HCAS
#define OF_SWITCHES NEED_OF_SWITCHES
#define WITH(op) FAKE_##op
static const struct {
	const char *name;
	int need;
} rows[] = {
#define OP(name, kind, need, ...) { #name, need },
#include "ci/ops.def"
};

static struct ci_interface table, out;
static char text[CI_TEXT_MAX];

static void set_op(struct ci_interface *ops, int op, bool there)
{
	static const char some[1];
	const void *value = there ? some : NULL;

	memcpy((char *)ops + OPS_AT + (size_t)op * sizeof(value), &value, sizeof(value));
}

static const void *get_op(const struct ci_interface *ops, int op)
{
	const void *value;

	memcpy(&value, (const char *)ops + OPS_AT + (size_t)op * sizeof(value), sizeof(value));
	return value;
}

/* Fills the table with every operation; the test calls none of them. */
static void full_table(void)
{
	memset(&table, 0, sizeof(table));
	table.size = sizeof(table);
	table.abi_major = CI_ABI_MAJOR;
	table.abi_minor = CI_ABI_MINOR;
	for (int op = 0; op < FAKE_OPS; op++)
		set_op(&table, op, true);
	text[0] = '\0';
}

#define assert_refused(status, ...)                                                          \
	do {                                                                                 \
		const char *words_[] = { __VA_ARGS__ };                                      \
		ck_assert_int_eq(ci_ops_complete(&table, &out, text), status);               \
		for (size_t i_ = 0; i_ < sizeof(words_) / sizeof(words_[0]); i_++)           \
			ck_assert_msg(strstr(text, words_[i_]), "\"%s\" lacks \"%s\"", text, \
				      words_[i_]);                                           \
	} while (0)

START_TEST(every_required_op_is_asked_for_by_name)
{
	unsigned int required = 0;

	for (int op = 0; op < FAKE_OPS; op++) {
		if (rows[op].need != NEED_REQUIRED)
			continue;
		full_table();
		set_op(&table, op, false);
		assert_refused(AL_MODULE_MISSING_OP, rows[op].name, "required");
		required++;
	}
	/* Operations that design "channel-interface" prints in bold, except create_qp. */
	ck_assert_uint_eq(required, 21);
}
END_TEST

/* Only HCAs must have create_qp, and only switches create_spl_qp. */
START_TEST(a_node_type_has_required_operations_of_its_own)
{
	for (int op = 0; op < FAKE_OPS; op++) {
		const bool of_hcas = op == FAKE_create_qp, of_switches = op == FAKE_create_spl_qp;

		full_table();
		set_op(&table, op, false);
		ck_assert_int_eq(rows[op].need == NEED_OF_HCAS, of_hcas);
		ck_assert_int_eq(rows[op].need == NEED_OF_SWITCHES, of_switches);
		ck_assert_int_eq(ci_ops_suit(&table, IB_NODE_CA, text),
				 of_hcas ? AL_MODULE_MISSING_OP : AL_SUCCESS);
		ck_assert(!of_hcas || strstr(text, "create_qp"));
		ck_assert_int_eq(ci_ops_suit(&table, IB_NODE_SWITCH, text),
				 of_switches ? AL_MODULE_MISSING_OP : AL_SUCCESS);
		ck_assert(!of_switches || strstr(text, "create_spl_qp"));
		if (of_hcas || of_switches)
			ck_assert_int_eq(ci_ops_complete(&table, &out, text), AL_SUCCESS);
	}
}
END_TEST

START_TEST(a_missing_optional_op_is_unsupported)
{
	for (int op = 0; op < FAKE_OPS; op++) {
		if (rows[op].need != NEED_OPTIONAL)
			continue;
		full_table();
		set_op(&table, op, false);
		ck_assert_msg(!ci_ops_complete(&table, &out, text), "%s: %s", rows[op].name, text);
		ck_assert_ptr_eq(get_op(&out, op), get_op(&ci_default_ops, op));
	}
	ck_assert_int_eq(ci_default_ops.peek_cq(NULL, 0, NULL), AL_UNSUPPORTED);
	ck_assert_int_eq(ci_default_ops.local_mad(NULL, 1, NULL, NULL, NULL), AL_UNSUPPORTED);
}
END_TEST

START_TEST(a_destroy_operation_is_required_with_its_create_operation)
{
	for (int op = 0; op < FAKE_OPS; op++) {
		if (rows[op].need < 0)
			continue;
		full_table();
		set_op(&table, op, false);
		assert_refused(AL_MODULE_MISSING_OP, rows[op].name, rows[rows[op].need].name);
		set_op(&table, rows[op].need, false);
		ck_assert_int_eq(ci_ops_complete(&table, &out, text), AL_SUCCESS);
	}
}
END_TEST

START_TEST(what_the_module_has_stays)
{
	full_table();
	ck_assert_int_eq(ci_ops_complete(&table, &out, text), AL_SUCCESS);
	ck_assert_mem_eq(&table, &out, sizeof(table));
}
END_TEST

START_TEST(a_shorter_table_is_filled_up)
{
	/* A table of a minor version that ended before attach_mcast; the bytes beyond are not operations. */
	full_table();
	table.size = offsetof(struct ci_interface, attach_mcast);
	ck_assert_int_eq(ci_ops_complete(&table, &out, text), AL_SUCCESS);
	ck_assert(out.attach_mcast == ci_default_ops.attach_mcast);
	ck_assert(out.local_mad == ci_default_ops.local_mad);
	ck_assert(out.query_eec == table.query_eec);
	ck_assert_uint_eq(out.size, sizeof(out));
}
END_TEST

START_TEST(a_shorter_table_without_a_required_op_is_refused)
{
	full_table();
	table.size = offsetof(struct ci_interface, post_recv);
	assert_refused(AL_MODULE_MISSING_OP, "post_recv");
}
END_TEST

START_TEST(a_longer_table_is_taken)
{
	struct {
		struct ci_interface table;
		char more[64];
	} longer;

	full_table();
	longer.table = table;
	memset(longer.more, 0xee, sizeof(longer.more));
	longer.table.size = sizeof(longer);
	longer.table.abi_minor = CI_ABI_MINOR + 1;
	ck_assert_int_eq(ci_ops_complete(&longer.table, &out, text), AL_SUCCESS);
	ck_assert_uint_eq(out.size, sizeof(out));
	ck_assert(out.local_mad == table.local_mad);
}
END_TEST

START_TEST(sizes_that_no_version_had_are_refused)
{
	const uint32_t sizes[] = {
		0, 1, 8, OPS_AT - 1, OPS_AT + 1, sizeof(table) - 4, sizeof(table) + 7
	};
	char number[16];

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		full_table();
		table.size = sizes[i];
		snprintf(number, sizeof(number), "%u", sizes[i]);
		assert_refused(AL_MODULE_ABI, "ci_interface.size", number);
	}
}
END_TEST

START_TEST(another_major_number_is_refused_with_both)
{
	full_table();
	table.abi_major = CI_ABI_MAJOR + 41;
	table.abi_minor = 7;
	assert_refused(AL_MODULE_ABI, "43.7", "2.1", "rebuild");
}
END_TEST

START_TEST(another_minor_number_is_taken)
{
	full_table();
	table.abi_minor = 99;
	ck_assert_int_eq(ci_ops_complete(&table, &out, text), AL_SUCCESS);
}
END_TEST

START_TEST(objects_smaller_than_the_plain_struct_are_refused)
{
	full_table();
	table.obj_size[CI_OBJ_QP] = sizeof(struct ci_qp) - 1;
	assert_refused(AL_INVALID_PARAMETER, "obj_size", "ci_qp", "87");
	_Static_assert(sizeof(struct ci_qp) == 88, "the number above");
	for (int kind = 0; kind <= CI_OBJ_EEC; kind++) {
		full_table();
		table.obj_size[kind] = 1;
		assert_refused(AL_INVALID_PARAMETER, "obj_size");
	}
}
END_TEST

START_TEST(unknown_flags_are_refused)
{
	full_table();
	table.flags = CI_SERIALISE_CQ | CI_CLIENT_MEMORY;
	ck_assert_int_eq(ci_ops_complete(&table, &out, text), AL_SUCCESS);
	table.flags = 1u << 31;
	assert_refused(AL_INVALID_PARAMETER, "flags", "0x80000000");
	full_table();
	table.pad = 1;
	assert_refused(AL_INVALID_PARAMETER, "pad");
}
END_TEST

START_TEST(only_atomic_operations_may_be_said_to_block)
{
	full_table();
	table.may_block = CI_MAY_BLOCK(create_ah) | CI_MAY_BLOCK(poll_cq) | CI_MAY_BLOCK(post_srq_recv);
	ck_assert_int_eq(ci_ops_complete(&table, &out, text), AL_SUCCESS);
	ck_assert_uint_eq(out.may_block, table.may_block);
	table.may_block = (uint64_t)1 << CI_ATOMIC_OPS;
	assert_refused(AL_INVALID_PARAMETER, "may_block", "0x8000", "use CI_MAY_BLOCK(op) alone");
	table.may_block |= CI_MAY_BLOCK(create_ah);
	assert_refused(AL_INVALID_PARAMETER, "has 0x8000,");
	table.may_block = (uint64_t)1 << 63;
	assert_refused(AL_INVALID_PARAMETER, "may_block");
}
END_TEST

START_TEST(object_sizes_are_the_modules_or_the_plain_ones)
{
	full_table();
	table.obj_size[CI_OBJ_CQ] = 500;
	ck_assert_uint_eq(ci_obj_bytes(&table, CI_OBJ_CQ), 500);
	ck_assert_uint_eq(ci_obj_bytes(&table, CI_OBJ_CA), sizeof(struct ci_ca));
	ck_assert_uint_eq(ci_obj_bytes(&table, CI_OBJ_EEC), sizeof(struct ci_eec));
}
END_TEST

START_TEST(default_dma_is_the_process_own_addresses)
{
	const struct ci_interface *d = &ci_default_ops;
	struct ib_dma_sg sg[2] = { { .addr = &table, .length = 3 }, { .addr = text, .length = 4 } };
	uint64_t dma = 0;
	void *mem;

	ck_assert_uint_eq(d->dma_map_single(NULL, text, 10, IB_DMA_TO_DEVICE), (uintptr_t)text);
	ck_assert(!d->dma_mapping_error(NULL, UINT64_MAX));
	ck_assert_uint_eq(d->dma_map_sg(NULL, sg, 2, IB_DMA_BIDIRECTIONAL), 2);
	ck_assert_uint_eq(sg[1].dma_address, (uintptr_t)text);
	ck_assert_uint_eq(sg[1].dma_length, 4);
	d->dma_unmap_sg(NULL, sg, 2, IB_DMA_BIDIRECTIONAL);
	d->dma_sync_for_cpu(NULL, (uintptr_t)text, 10, IB_DMA_FROM_DEVICE);
	d->dma_sync_for_device(NULL, (uintptr_t)text, 10, IB_DMA_TO_DEVICE);
	d->dma_unmap_single(NULL, (uintptr_t)text, 10, IB_DMA_TO_DEVICE);
	mem = d->dma_alloc_coherent(NULL, 5000, &dma);
	ck_assert_uint_eq(dma, (uintptr_t)mem);
	ck_assert_uint_eq(dma % 4096, 0);
	memset(mem, 1, 5000);
	d->dma_free_coherent(NULL, 5000, mem, dma);
	al_fail_alloc(1);
	ck_assert_ptr_null(d->dma_alloc_coherent(NULL, 1, &dma));
}
END_TEST

static void check_dead(const struct ci_interface *dead, al_status st)
{
	struct ib_dma_sg sg = { .addr = text, .length = 3 };
	const struct ib_send_wr wr = { 0 }, *bad = NULL;
	uint64_t dma;

	for (int op = 0; op < FAKE_OPS; op++)
		ck_assert_msg(get_op(dead, op), "%s is NULL", rows[op].name);
	ck_assert_int_eq(dead->query_port(NULL, 1, NULL), st);
	ck_assert_int_eq(dead->post_send(NULL, &wr, &bad), st);
	ck_assert_int_eq(dead->poll_cq(NULL, 1, NULL, NULL), st);
	ck_assert_int_eq(dead->vendor_call(NULL, NULL, NULL), st);
	dead->destroy_qp(NULL);
	dead->deregister_mr(NULL);
	dead->close_ca(NULL);

	dma = dead->dma_map_single(NULL, text, 10, IB_DMA_TO_DEVICE);
	ck_assert(dead->dma_mapping_error(NULL, dma));
	ck_assert(!dead->dma_mapping_error(NULL, (uintptr_t)text));
	ck_assert_uint_eq(dead->dma_map_sg(NULL, &sg, 1, IB_DMA_TO_DEVICE), 0);
	ck_assert_ptr_null(dead->dma_alloc_coherent(NULL, 10, &dma));
	dead->dma_unmap_single(NULL, (uintptr_t)text, 10, IB_DMA_TO_DEVICE);
	dead->dma_free_coherent(NULL, 10, text, (uintptr_t)text);
}

START_TEST(a_dead_hca_refuses_everything_and_destroys_succeed)
{
	check_dead(&ci_dead_ca, AL_CA_REMOVED);
	check_dead(&ci_dead_agent, AL_AGENT_LOST);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ops");
	TCase *tc = tcase_create("table");

	tcase_add_test(tc, every_required_op_is_asked_for_by_name);
	tcase_add_test(tc, a_node_type_has_required_operations_of_its_own);
	tcase_add_test(tc, a_missing_optional_op_is_unsupported);
	tcase_add_test(tc, a_destroy_operation_is_required_with_its_create_operation);
	tcase_add_test(tc, what_the_module_has_stays);
	tcase_add_test(tc, a_shorter_table_is_filled_up);
	tcase_add_test(tc, a_shorter_table_without_a_required_op_is_refused);
	tcase_add_test(tc, a_longer_table_is_taken);
	tcase_add_test(tc, sizes_that_no_version_had_are_refused);
	tcase_add_test(tc, another_major_number_is_refused_with_both);
	tcase_add_test(tc, another_minor_number_is_taken);
	tcase_add_test(tc, objects_smaller_than_the_plain_struct_are_refused);
	tcase_add_test(tc, unknown_flags_are_refused);
	tcase_add_test(tc, only_atomic_operations_may_be_said_to_block);
	tcase_add_test(tc, object_sizes_are_the_modules_or_the_plain_ones);
	suite_add_tcase(suite, tc);
	tc = tcase_create("defaults");
	tcase_add_test(tc, default_dma_is_the_process_own_addresses);
	tcase_add_test(tc, a_dead_hca_refuses_everything_and_destroys_succeed);
	suite_add_tcase(suite, tc);
	return support_run(suite);
}
