/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The flat work request: the reader returns the values that the packer has written, and refuses each field out of its
 * range.
 */
#include <check.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <iba/ib_flat_wr.h>

#define ROOM 8u

_Static_assert(sizeof(struct ib_flat_send) == 64, "the head of a send request is one cache line");
_Static_assert(sizeof(struct ib_flat_recv) == IB_FLAT_UNIT, "the head of a receive request is one unit");
_Static_assert(sizeof(struct ib_sge) == IB_FLAT_UNIT, "an element of a list is one unit");
_Static_assert(sizeof(struct ib_flat_masks) == IB_FLAT_UNIT, "the masks are one unit");
_Static_assert(sizeof(struct ib_flat_path) == 32 && sizeof(struct ib_flat_remote) == 32, "both share their place");
_Static_assert(offsetof(struct ib_flat_send, holder) == 56, "the holder's bytes are aligned");

/* A request in a ring. */
struct slot {
	struct ib_flat_send head;
	struct ib_sge tail[ROOM];
};

static const struct ib_ah_attr global_attr = {
	.grh = { .dgid.raw = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 },
		 .flow_label = 0xabcde,
		 .sgid_index = 255,
		 .hop_limit = 64,
		 .traffic_class = 0x5a },
	.dlid = 0xc001,
	.sl = 15,
	.src_path_bits = 127,
	.static_rate = IB_RATE_100_GBPS,
	.port_num = 2,
	.is_global = true,
};

static struct ib_sge list[2] = { { 0x1000, 10, 21 }, { 0x2000, 20, 22 } };

static struct ib_send_wr request(ib_wr_opcode opcode)
{
	struct ib_send_wr wr = { .wr_id = 0x1122334455667788, .sg_list = list, .num_sge = 2, .opcode = opcode,
				 .send_flags = IB_SEND_FENCE | IB_SEND_SIGNALED | IB_SEND_SOLICITED, .ex.imm_data = 0x99887766 };

	switch (ib_flat_form_of(opcode)) {
	case IB_FLAT_RDMA:
		wr.wr.rdma.remote_addr = 0xaaaaaaaaaaaaaaaa;
		wr.wr.rdma.rkey = 0xbbbbbbbb;
		break;
	case IB_FLAT_MASKED:
		wr.wr.atomic.compare_add_mask = 0xe1e1e1e1e1e1e1e1;
		wr.wr.atomic.swap_mask = 0xf2f2f2f2f2f2f2f2;
		/* fall through */
	case IB_FLAT_ATOMIC:
		wr.wr.atomic.remote_addr = 0xaaaaaaaaaaaaaaaa;
		wr.wr.atomic.compare_add = 0xcccccccccccccccc;
		wr.wr.atomic.swap = 0xdddddddddddddddd;
		wr.wr.atomic.rkey = 0xbbbbbbbb;
		break;
	default:
		break;
	}
	return wr;
}

/* Packs into memory that is not zero. Returns the units of the tail. */
static uint32_t pack(struct slot *slot, const struct ib_send_wr *wr, ib_qp_type type, const struct ib_flat_path *path)
{
	uint32_t length;

	memset(slot, 0xee, sizeof(*slot));
	ck_assert_int_eq(ib_flat_measure_send(wr, type, ROOM, &length), AL_SUCCESS);
	ib_flat_pack_send(&slot->head, wr, length, type, path);
	ib_flat_pack_tail(&slot->head, ib_flat_tail(&slot->head), wr);
	ck_assert_uint_eq(ib_flat_units(&slot->head), ib_flat_tail_units(wr->opcode, wr->send_flags, wr->num_sge, length));
	return ib_flat_units(&slot->head);
}

static al_status read_slot(const struct slot *slot, uint32_t room, ib_qp_type type, struct ib_send_wr *wr, struct ib_sge *data)
{
	return ib_flat_read_send(&slot->head, slot->tail, room, type, wr, data);
}

/* ------------------------------------------------------------------ round trip */

static void expect_same(const struct ib_send_wr *got, const struct ib_send_wr *want)
{
	ck_assert_uint_eq(got->wr_id, want->wr_id);
	ck_assert_int_eq(got->opcode, want->opcode);
	ck_assert_uint_eq(got->send_flags, want->send_flags);
	ck_assert_uint_eq(got->ex.imm_data, want->ex.imm_data);
	ck_assert_uint_eq(got->remote_srqn, want->remote_srqn);
	ck_assert_mem_eq(&got->wr, &want->wr, sizeof(got->wr));
	ck_assert_uint_eq(got->num_sge, want->num_sge);
	ck_assert_mem_eq(got->sg_list, want->sg_list, got->num_sge * sizeof(*got->sg_list));
}

/* _i: opcode */
START_TEST(each_operation_reads_back_as_it_was_packed)
{
	const struct ib_send_wr wr = request((ib_wr_opcode)_i);
	struct ib_send_wr got;
	struct ib_sge data;
	struct slot slot;
	uint32_t length, units;

	if (_i == IB_WR_BIND_MW || _i == IB_WR_REG_MR) { /* these requests name objects by handles */
		ck_assert_int_eq(ib_flat_measure_send(&wr, IB_QPT_RC, ROOM, &length), AL_UNSUPPORTED);
		return;
	}
	units = pack(&slot, &wr, IB_QPT_RC, NULL);
	ck_assert_uint_eq(slot.head.length, 30);
	ck_assert_uint_eq(units, ib_flat_form_of(wr.opcode) == IB_FLAT_MASKED ? 3 : 2);
	ck_assert_int_eq(read_slot(&slot, units, IB_QPT_RC, &got, &data), AL_SUCCESS);
	expect_same(&got, &wr);
	ck_assert_int_eq(read_slot(&slot, units - 1, IB_QPT_RC, &got, &data), AL_INVALID_SGE);
}
END_TEST

START_TEST(xrc_takes_the_number_of_its_srq_along)
{
	struct ib_send_wr wr = request((ib_wr_opcode)_i), got;
	struct ib_sge data;
	struct slot slot;

	if (ib_flat_form_of(wr.opcode) == IB_FLAT_NONE)
		return;
	wr.remote_srqn = 0x123456;
	pack(&slot, &wr, IB_QPT_XRC_INI, NULL);
	ck_assert_int_eq(read_slot(&slot, ROOM, IB_QPT_XRC_INI, &got, &data), AL_SUCCESS);
	expect_same(&got, &wr);
	/* only the request of an XRC queue pair holds a number of a SRQ */
	ck_assert_int_eq(read_slot(&slot, ROOM, IB_QPT_RC, &got, &data), AL_INVALID_PARAMETER);
}
END_TEST

/* _i: bytes in the first of two buffers; 7 in the second. */
START_TEST(inline_data_is_copied_and_padded_with_zeroes)
{
	char one[40], other[7], zero[IB_FLAT_UNIT] = { 0 };
	const uint32_t length = (uint32_t)_i + sizeof(other);
	const struct ib_sge buffers[3] = { { (uintptr_t)one, (uint32_t)_i, 0 }, { 0, 0, 0 }, { (uintptr_t)other, sizeof(other), 0 } };
	struct ib_send_wr wr = request(IB_WR_RDMA_WRITE), got;
	struct ib_sge data;
	struct slot slot;
	const char *at;
	uint32_t units;

	memset(one, 'a', sizeof(one));
	memset(other, 'b', sizeof(other));
	wr.send_flags = IB_SEND_INLINE;
	wr.sg_list = buffers;
	wr.num_sge = 3;
	units = pack(&slot, &wr, IB_QPT_RC, NULL);
	ck_assert_uint_eq(units, (length + 15) / 16);
	ck_assert_uint_eq(slot.head.num_sge, 0);
	at = (const char *)slot.tail;
	ck_assert_mem_eq(at, one, (size_t)_i);
	ck_assert_mem_eq(at + _i, other, sizeof(other));
	ck_assert_mem_eq(at + length, zero, units * IB_FLAT_UNIT - length);
	ck_assert_int_eq((unsigned char)at[units * IB_FLAT_UNIT], 0xee);
	ck_assert_int_eq(read_slot(&slot, units, IB_QPT_RC, &got, &data), AL_SUCCESS);
	ck_assert_uint_eq(got.num_sge, 1);
	ck_assert_ptr_eq(got.sg_list, &data);
	ck_assert_uint_eq(data.addr, (uintptr_t)slot.tail);
	ck_assert_uint_eq(data.length, length);
	ck_assert_int_eq(read_slot(&slot, units - 1, IB_QPT_RC, &got, &data), AL_INVALID_SGE);
}
END_TEST

START_TEST(a_message_without_data_has_no_tail)
{
	struct ib_send_wr wr = { .opcode = IB_WR_SEND, .send_flags = _i ? IB_SEND_INLINE : 0 }, got;
	struct ib_sge data;
	struct slot slot;

	ck_assert_uint_eq(pack(&slot, &wr, IB_QPT_RC, NULL), 0);
	ck_assert_int_eq(read_slot(&slot, 0, IB_QPT_RC, &got, &data), AL_SUCCESS);
	ck_assert_uint_eq(got.num_sge, 0);
}
END_TEST

/* _i: with a GRH */
START_TEST(a_datagram_takes_its_path_along)
{
	struct ib_send_wr wr = request(IB_WR_SEND_WITH_IMM), got;
	struct ib_ah_attr attr = global_attr, back;
	struct ib_flat_path path;
	struct ib_sge data;
	struct slot slot;

	if (!_i) { /* its GRH does not count, and is not packed */
		attr.is_global = false;
		attr.grh.sgid_index = 256;
	}
	ck_assert_int_eq(ib_flat_pack_path(&path, &attr), AL_SUCCESS);
	wr.wr.ud.remote_qpn = 0x654321;
	wr.wr.ud.remote_qkey = 0x80000007;
	pack(&slot, &wr, IB_QPT_UD, &path);
	ck_assert_int_eq(read_slot(&slot, 2, IB_QPT_UD, &got, &data), AL_SUCCESS);
	expect_same(&got, &wr);
	ib_flat_unpack_path(&slot.head.path, &back);
	if (!_i)
		memset(&attr.grh, 0, sizeof(attr.grh));
	ck_assert_mem_eq(&back, &attr, sizeof(back));
	attr.is_global = true;
	attr.grh.sgid_index = 256;
	ck_assert_int_eq(ib_flat_pack_path(&path, &attr), AL_INVALID_GID_INDEX);
}
END_TEST

START_TEST(a_receive_reads_back_as_it_was_packed)
{
	const struct ib_recv_wr wr = { .wr_id = 77, .sg_list = list, .num_sge = 2 };
	struct {
		struct ib_flat_recv head;
		struct ib_sge tail[2];
	} slot;
	struct ib_recv_wr got;
	uint32_t length;

	ck_assert_int_eq(ib_flat_sum(wr.sg_list, wr.num_sge, &length), AL_SUCCESS);
	ib_flat_pack_recv(&slot.head, ib_flat_recv_list(&slot.head), &wr, length);
	ck_assert_int_eq(ib_flat_read_recv(&slot.head, slot.tail, 2, &got), AL_SUCCESS);
	ck_assert_uint_eq(got.wr_id, 77);
	ck_assert_uint_eq(got.num_sge, 2);
	ck_assert_ptr_null(got.next);
	ck_assert_mem_eq(got.sg_list, list, sizeof(list));
	ck_assert_int_eq(ib_flat_read_recv(&slot.head, slot.tail, 1, &got), AL_INVALID_SGE);
	slot.head.num_sge = UINT32_MAX;
	ck_assert_int_eq(ib_flat_read_recv(&slot.head, slot.tail, 2, &got), AL_INVALID_SGE);
	slot.head.num_sge = 2;
	slot.head.length++;
	ck_assert_int_eq(ib_flat_read_recv(&slot.head, slot.tail, 2, &got), AL_INVALID_SGE);
}
END_TEST

/* --------------------------------------------------------------------- packer */

START_TEST(what_has_no_flat_form_is_refused)
{
	struct ib_send_wr wr = request(IB_WR_SEND);
	struct ib_sge huge[2] = { { 0, UINT32_MAX, 0 }, { 0, 0, 0 } };
	uint32_t length;

	wr.opcode = IB_WR_OPCODES;
	ck_assert_int_eq(ib_flat_measure_send(&wr, IB_QPT_RC, 2, &length), AL_INVALID_OPCODE);
	wr.opcode = (ib_wr_opcode)(256 + IB_WR_SEND); /* the layout has 8 bits for the opcode */
	ck_assert_int_eq(ib_flat_measure_send(&wr, IB_QPT_RC, 2, &length), AL_INVALID_OPCODE);
	wr = request(IB_WR_SEND);
	wr.send_flags = 1u << 4;
	ck_assert_int_eq(ib_flat_measure_send(&wr, IB_QPT_RC, 2, &length), AL_INVALID_OPCODE);
	wr.send_flags = 1u << 8;
	ck_assert_int_eq(ib_flat_measure_send(&wr, IB_QPT_RC, 2, &length), AL_INVALID_OPCODE);
	wr = request(IB_WR_SEND);
	ck_assert_int_eq(ib_flat_measure_send(&wr, IB_QPT_RD, 2, &length), AL_UNSUPPORTED);
	ck_assert_int_eq(ib_flat_measure_send(&wr, IB_QPT_RC, 1, &length), AL_INVALID_SGE);
	ck_assert_int_eq(ib_flat_measure_send(&wr, IB_QPT_RC, 2, &length), AL_SUCCESS);
	wr.sg_list = huge;
	ck_assert_int_eq(ib_flat_measure_send(&wr, IB_QPT_RC, 2, &length), AL_SUCCESS);
	ck_assert_uint_eq(length, UINT32_MAX);
	huge[1].length = 1;
	ck_assert_int_eq(ib_flat_measure_send(&wr, IB_QPT_RC, 2, &length), AL_INVALID_SGE);
	wr.sg_list = NULL;
	ck_assert_int_eq(ib_flat_measure_send(&wr, IB_QPT_RC, 2, &length), AL_INVALID_SGE);
}
END_TEST

/* --------------------------------------------------------------------- reader */

/* Each function spoils one field of a correct request. */
static void no_operation(struct slot *s) { s->head.opcode = IB_WR_OPCODES; }
static void last_opcode(struct slot *s) { s->head.opcode = 255; }
static void bind(struct slot *s) { s->head.opcode = IB_WR_BIND_MW; }
static void unknown_flag(struct slot *s) { s->head.flags |= 0x10; }
static void list_and_data(struct slot *s) { s->head.flags |= IB_SEND_INLINE; }
static void list_too_long(struct slot *s) { s->head.num_sge = ROOM + 1; }
static void longest_list(struct slot *s) { s->head.num_sge = UINT16_MAX; }
static void data_too_long(struct slot *s)
{
	s->head.flags |= IB_SEND_INLINE;
	s->head.num_sge = 0;
	s->head.length = ROOM * IB_FLAT_UNIT + 1;
}
static void longest_data(struct slot *s)
{
	data_too_long(s);
	s->head.length = UINT32_MAX;
}
static void longer_than_list(struct slot *s) { s->head.length++; }
static void list_overflows(struct slot *s) { s->tail[0].length -= s->tail[1].length = 0x80000000; }
static void holder_first(struct slot *s) { s->head.holder[0] = 1; }
static void holder_last(struct slot *s) { s->head.holder[7] = 0x80; }
static void (*const wrong[])(struct slot *) = { no_operation,  last_opcode,  bind,	       unknown_flag,	 list_and_data,
						list_too_long, longest_list, data_too_long,    longest_data,	 longer_than_list,
						list_overflows, holder_first, holder_last };

static void unused_key(struct slot *s) { s->head.key = 1; }
static void unused_addr(struct slot *s) { s->head.remote.addr = 1; }
static void unused_compare(struct slot *s) { s->head.remote.compare_add = 1; }
static void unused_swap(struct slot *s) { s->head.remote.swap = 1ull << 63; }
static void unused_srqn(struct slot *s) { s->head.remote.srqn = 1; }
static void not_zero(struct slot *s) { s->head.remote.zero = 1; }
/* the first form that uses the field; 0: no form does */
static const struct {
	void (*spoil)(struct slot *);
	enum ib_flat_form used;
} unused[] = { { unused_key, IB_FLAT_RDMA },	 { unused_addr, IB_FLAT_RDMA },	 { unused_compare, IB_FLAT_ATOMIC },
	       { unused_swap, IB_FLAT_ATOMIC }, { unused_srqn, IB_FLAT_NONE }, { not_zero, IB_FLAT_NONE } };

static void big_sl(struct slot *s) { s->head.path.sl = 16; }
static void path_bits(struct slot *s) { s->head.path.src_path_bits = 128; }
static void no_port(struct slot *s) { s->head.path.port_num = 0; }
static void other_version(struct slot *s) { s->head.path.grh_word = 4u << 28; }
static void without_version(struct slot *s) { s->head.path.grh_word = 1; }
static void dgid_first(struct slot *s) { s->head.path.dgid.raw[0] = 1; }
static void dgid_last(struct slot *s) { s->head.path.dgid.raw[15] = 1; }
static void gid_index(struct slot *s) { s->head.path.sgid_index = 1; }
static void hop_limit(struct slot *s) { s->head.path.hop_limit = 1; }
static void (*const wrong_paths[])(struct slot *) = { big_sl,	  path_bits, no_port,	other_version, without_version,
						      dgid_first, dgid_last, gid_index, hop_limit };

#define NUM(array) ((int)(sizeof(array) / sizeof(*(array))))

/* _i: index in wrong[]; for each operation. */
START_TEST(a_field_out_of_its_range_is_refused)
{
	struct ib_send_wr wr, got;
	struct ib_sge data;
	struct slot slot;

	for (int opcode = 0; opcode < IB_WR_OPCODES; opcode++) {
		wr = request((ib_wr_opcode)opcode);
		if (ib_flat_form_of(wr.opcode) == IB_FLAT_NONE)
			continue;
		pack(&slot, &wr, IB_QPT_RC, NULL);
		ck_assert_int_eq(read_slot(&slot, ROOM, IB_QPT_RC, &got, &data), AL_SUCCESS);
		wrong[_i](&slot);
		ck_assert_msg(read_slot(&slot, ROOM, IB_QPT_RC, &got, &data), "opcode %d", opcode);
	}
}
END_TEST

/* _i: index in unused[] */
START_TEST(a_field_that_an_operation_does_not_use_is_zero)
{
	struct ib_send_wr wr, got;
	struct ib_sge data;
	struct slot slot;
	bool used;

	for (int opcode = 0; opcode < IB_WR_OPCODES; opcode++) {
		wr = request((ib_wr_opcode)opcode);
		if (ib_flat_form_of(wr.opcode) == IB_FLAT_NONE)
			continue;
		used = unused[_i].used && ib_flat_form_of(wr.opcode) >= unused[_i].used;
		pack(&slot, &wr, IB_QPT_RC, NULL);
		unused[_i].spoil(&slot);
		ck_assert_msg(!read_slot(&slot, ROOM, IB_QPT_RC, &got, &data) == used, "opcode %d", opcode);
	}
}
END_TEST

START_TEST(xrc_uses_the_number_of_the_srq_and_not_what_follows)
{
	const struct ib_send_wr wr = request(IB_WR_SEND);
	struct ib_send_wr got;
	struct ib_sge data;
	struct slot slot;

	pack(&slot, &wr, IB_QPT_XRC_INI, NULL);
	not_zero(&slot);
	ck_assert_int_eq(read_slot(&slot, ROOM, IB_QPT_XRC_INI, &got, &data), AL_INVALID_PARAMETER);
}
END_TEST

/* _i: index in wrong_paths[]; a path without a GRH */
START_TEST(what_is_no_path_is_refused)
{
	struct ib_send_wr wr = request(IB_WR_SEND), got;
	const struct ib_ah_attr attr = { .dlid = 5, .sl = 15, .src_path_bits = 127, .port_num = 1 };
	struct ib_flat_path path;
	struct ib_sge data;
	struct slot slot;

	ck_assert_int_eq(ib_flat_pack_path(&path, &attr), AL_SUCCESS);
	pack(&slot, &wr, IB_QPT_UD, &path);
	ck_assert_int_eq(read_slot(&slot, ROOM, IB_QPT_UD, &got, &data), AL_SUCCESS);
	wrong_paths[_i](&slot);
	ck_assert_int_eq(read_slot(&slot, ROOM, IB_QPT_UD, &got, &data), AL_INVALID_PARAMETER);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ib_flat_wr");
	TCase *tc = tcase_create("packer and reader");
	SRunner *runner;
	int failed;

	tcase_add_loop_test(tc, each_operation_reads_back_as_it_was_packed, 0, IB_WR_OPCODES);
	tcase_add_loop_test(tc, xrc_takes_the_number_of_its_srq_along, 0, IB_WR_OPCODES);
	tcase_add_loop_test(tc, inline_data_is_copied_and_padded_with_zeroes, 0, 41);
	tcase_add_loop_test(tc, a_message_without_data_has_no_tail, 0, 2);
	tcase_add_loop_test(tc, a_datagram_takes_its_path_along, 0, 2);
	tcase_add_test(tc, a_receive_reads_back_as_it_was_packed);
	tcase_add_test(tc, what_has_no_flat_form_is_refused);
	tcase_add_loop_test(tc, a_field_out_of_its_range_is_refused, 0, NUM(wrong));
	tcase_add_loop_test(tc, a_field_that_an_operation_does_not_use_is_zero, 0, NUM(unused));
	tcase_add_test(tc, xrc_uses_the_number_of_the_srq_and_not_what_follows);
	tcase_add_loop_test(tc, what_is_no_path_is_refused, 0, NUM(wrong_paths));
	suite_add_tcase(suite, tc);

	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
