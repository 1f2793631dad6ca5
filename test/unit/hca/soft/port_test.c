/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * HCAs and their ports: identity, tables, counters, cables unplugged and plugged in, hot removal, failing
 * allocations.
 */
#include "harness.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

static const struct ib_port_modify nothing;

static struct ib_port_attr port_of(int i, uint8_t port)
{
	struct ib_port_attr attr;

	ck_assert_int_eq(ops->query_port(hca[i].ca, port, &attr), AL_SUCCESS);
	return attr;
}

START_TEST(two_hcas_of_one_port_cabled_and_active_without_any_configuration)
{
	struct ib_port_attr attr;
	uint16_t pkey;
	ib_gid gid;
	int i, j;

	up("");
	ck_assert_uint_eq(hcas, 2);
	for (i = 0; i < 2; i++) {
		attr = port_of(i, 1);
		ck_assert_uint_eq(hca[i].attr.num_ports, 1);
		ck_assert_int_eq(attr.state, IB_PORT_ACTIVE);
		ck_assert_int_eq(attr.phys_state, IB_PHYS_LINK_UP);
		ck_assert_int_eq(attr.active_mtu, IB_MTU_4096);
		ck_assert_uint_eq(attr.lid, i + 1);
		ck_assert_str_eq(hca[i].attr.location, "software");
		ck_assert_str_eq(hca[i].attr.node_desc, i ? "soft HCA 1" : "soft HCA 0");
		ck_assert_uint_ge(hca[i].attr.num_comp_vectors, 1);
		/* EUI-64 of a locally administered OUI, individual address */
		ck_assert_uint_eq(hca[i].attr.node_guid >> 56 & 3, 2);
		ck_assert_uint_ne(attr.port_guid, hca[i].attr.node_guid);
		ck_assert_int_eq(ops->query_gid(hca[i].ca, 1, 0, &gid), AL_SUCCESS);
		for (j = 0; j < 8; j++) {
			ck_assert_uint_eq(gid.raw[j], (uint8_t)(0xfe80000000000000ull >> (56 - 8 * j)));
			ck_assert_uint_eq(gid.raw[8 + j], (uint8_t)(attr.port_guid >> (56 - 8 * j)));
		}
		ck_assert_int_eq(ops->query_gid(hca[i].ca, 1, attr.gid_tbl_len - 1, &gid), AL_SUCCESS);
		ck_assert_int_eq(ops->query_pkey(hca[i].ca, 1, 0, &pkey), AL_SUCCESS);
		ck_assert_uint_eq(pkey, IB_PKEY_DEFAULT);
		ck_assert_int_eq(ops->query_pkey(hca[i].ca, 1, attr.pkey_tbl_len - 1, &pkey), AL_SUCCESS);
		ck_assert_uint_eq(pkey, 0);
	}
	ck_assert_uint_ne(hca[0].attr.node_guid, hca[1].attr.node_guid);
	down();
}
END_TEST

START_TEST(the_hcas_of_a_process_are_components_of_one_system)
{
	uint32_t i;

	up("hcas=3");
	ck_assert_uint_ne(hca[0].attr.sys_image_guid, 0);
	for (i = 1; i < hcas; i++)
		ck_assert_uint_eq(hca[i].attr.sys_image_guid, hca[0].attr.sys_image_guid);
	down();
}
END_TEST

START_TEST(only_what_is_offered_is_claimed)
{
	up("");
	ck_assert_uint_eq(hca[0].attr.caps & (IB_CA_CAP_RD | IB_CA_CAP_XRC | IB_CA_CAP_SRQ),
			  0);
	ck_assert(hca[0].attr.caps & IB_CA_CAP_CQ_ARM_N);
	ck_assert_int_eq(hca[0].attr.atomic_cap, IB_ATOMIC_GLOBAL);
	down();
}
END_TEST

/* Starts this program in another process, which prints its HCA's GUID while this process has its HCA. */
static uint64_t neighbour_guid(void)
{
	char program[4096] = "", command[sizeof(program) + 16];
	uint64_t guid = 0;
	FILE *out;

	/* the test reads the link itself: below valgrind, valgrind answers with the program that it runs */
	ck_assert_int_gt(readlink("/proc/self/exe", program, sizeof(program) - 1), 0);
	snprintf(command, sizeof(command), "exec '%s' guid", program);
	out = popen(command, "r");
	ck_assert_ptr_nonnull(out);
	ck_assert_int_eq(fscanf(out, "%" SCNx64, &guid), 1);
	ck_assert_int_eq(pclose(out), 0);
	return guid;
}

START_TEST(guids_are_stable_in_a_process_and_differ_from_its_neighbour)
{
	struct ib_ca_attr again = { 0 };
	uint64_t guid;

	/* compare while the module is loaded: after the unload another process may get the slot */
	up("");
	guid = hca[0].attr.node_guid;
	ck_assert_uint_ne(neighbour_guid(), guid);
	ck_assert_int_eq(ops->query_ca(hca[0].ca, &again), AL_SUCCESS);
	ck_assert_uint_eq(again.node_guid, guid);
	down();
}
END_TEST

static int print_guid(void)
{
	if (try_up(""))
		return EXIT_FAILURE;
	printf("%" PRIx64 "\n", hca[0].attr.node_guid);
	ci_module.cleanup();
	return EXIT_SUCCESS;
}

START_TEST(counters_count_every_byte_and_packet_of_the_link)
{
	struct ib_port_counters a, b;
	struct pair p;

	up("");
	pair_up(&p, NULL, 1 << 16);
	rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 0, 600); /* packets of 256, 256 and 88 bytes, and one ACK */
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	a = counters(&hca[0]);
	b = counters(&hca[1]);
	ck_assert_uint_eq(a.xmit_packets, 3);
	ck_assert_uint_eq(a.xmit_bytes, 3 * 26 + 16 + 600);
	ck_assert_uint_eq(b.rcv_packets, 3);
	ck_assert_uint_eq(b.rcv_bytes, a.xmit_bytes);
	ck_assert_uint_eq(b.xmit_packets, 1);
	ck_assert_uint_eq(b.xmit_bytes, 26 + 4);
	ck_assert_uint_eq(a.rcv_packets, 1);
	ck_assert_uint_eq(a.rcv_bytes, b.xmit_bytes);
	ck_assert_uint_eq(a.unicast_xmit_packets, a.xmit_packets);
	ck_assert_uint_eq(a.retransmits + b.seq_naks + b.rcv_dropped + a.xmit_discards, 0);
	rdma(&p, IB_WR_RDMA_READ, 2, 0, 0, 511); /* the last packet has a pad of one byte */
	expect_wc(p.acq, 2, IB_WC_SUCCESS);
	ck_assert_uint_eq(counters(&hca[1]).xmit_bytes - b.xmit_bytes, 2 * 26 + 2 * 4 + 512);
	pair_down(&p);
	ck_assert_uint_eq(counters(&hca[0]).xmit_packets, 4); /* counters outlive the queue pair */
	down();
}
END_TEST

START_TEST(a_pulled_cable_takes_both_ends_down_and_traffic_goes_on_when_it_is_back)
{
	uint32_t port = 1;
	struct pair p;

	up("");
	pair_up(&p, &(struct qp_options){ .timeout = 14 }, 4096);
	ck_assert_int_eq(vendor(&hca[0], SOFT_PORT_DOWN, &port, sizeof(port)), AL_SUCCESS);
	ck_assert_int_eq(port_of(0, 1).state, IB_PORT_DOWN);
	ck_assert_int_eq(port_of(1, 1).state, IB_PORT_DOWN);
	ck_assert_str_eq(port_ladder[0], "D");
	ck_assert_str_eq(port_ladder[1], "D");
	rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 0, 8);
	expect_empty(p.acq);
	ck_assert_uint_ge(counters(&hca[0]).xmit_discards, 1);
	ck_assert_int_eq(vendor(&hca[0], SOFT_PORT_UP, &port, sizeof(port)), AL_SUCCESS);
	ck_assert_str_eq(port_ladder[0], "DIRA");
	ck_assert_str_eq(port_ladder[1], "DIRA");
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	ck_assert_int_eq(vendor(&hca[0], SOFT_PORT_UP, &port, sizeof(port)), AL_SUCCESS);
	ck_assert_str_eq(port_ladder[0], "DIRA"); /* no further event */
	pair_down(&p);
	down();
}
END_TEST

START_TEST(modify_port_shuts_down_and_brings_up)
{
	up("");
	ck_assert_int_eq(ops->modify_port(hca[1].ca, 1, IB_PORT_MODIFY_SHUTDOWN, &nothing), AL_SUCCESS);
	ck_assert_int_eq(port_of(0, 1).state, IB_PORT_DOWN);
	ck_assert_int_eq(ops->modify_port(hca[1].ca, 1, IB_PORT_MODIFY_BRING_UP, &nothing), AL_SUCCESS);
	ck_assert_int_eq(port_of(0, 1).state, IB_PORT_ACTIVE);
	ck_assert_int_eq(ops->modify_port(hca[1].ca, 1, IB_PORT_MODIFY_CAP_MASK,
					  &(struct ib_port_modify){ .set_caps = IB_PORT_CAP_CM | IB_PORT_CAP_SM,
								    .clear_caps = IB_PORT_CAP_SM }),
			 AL_SUCCESS);
	ck_assert_uint_eq(port_of(1, 1).cap_mask, IB_PORT_CAP_CM);
	down();
}
END_TEST

START_TEST(vendor_calls_check_what_they_get)
{
	uint32_t port = 2;
	struct soft_fault rule = { .action = 0, .n = 1 };
	uint64_t met;
	struct ci_vendor_call call = { .code = SOFT_FAULT_COUNT, .out = &met, .out_len = 4 };

	up("");
	ck_assert_int_eq(vendor(&hca[0], 0, NULL, 0), AL_UNSUPPORTED);
	ck_assert_int_eq(vendor(&hca[0], 99, NULL, 0), AL_UNSUPPORTED);
	ck_assert_int_eq(vendor(&hca[0], SOFT_PORT_DOWN, &port, sizeof(port)), AL_INVALID_PORT);
	ck_assert_int_eq(vendor(&hca[0], SOFT_PORT_DOWN, &port, 1), AL_INVALID_PARAMETER);
	ck_assert_int_eq(vendor(&hca[0], SOFT_FAULT_ADD, &rule, sizeof(rule)), AL_INVALID_PARAMETER);
	rule.action = SOFT_FAULT_DROP;
	rule.by = 1;
	ck_assert_int_eq(vendor(&hca[0], SOFT_FAULT_ADD, &rule, sizeof(rule)), AL_INVALID_PARAMETER);
	rule.by = 0;
	al_fail_alloc(2);
	ck_assert_int_eq(vendor(&hca[0], SOFT_FAULT_ADD, &rule, sizeof(rule)), AL_INSUFFICIENT_MEMORY);
	al_fail_alloc(0);
	ck_assert_int_eq(ops->vendor_call(hca[0].ca, &call, NULL), AL_BUFFER_TOO_SMALL);
	ck_assert_uint_eq(call.out_len, sizeof(met));
	down();
}
END_TEST

START_TEST(a_removed_hca_is_withdrawn_by_a_thread_of_the_module)
{
	uint32_t flags = (uint32_t)_i;
	uint64_t end = now_ms() + 20000;

	up("");
	free_pd(hca[0].pd);
	hca[0].pd = NULL;
	ck_assert_int_eq(vendor(&hca[0], SOFT_REMOVE, &flags, sizeof(flags)), AL_SUCCESS);
	while (port_of(1, 1).state != IB_PORT_DOWN)
		ck_assert(now_ms() < end);
	down(); /* joins the thread: the event comes after the state that it reports */
	ck_assert_str_eq(port_ladder[1], "D");
	ck_assert(!hca[0].present);
}
END_TEST

START_TEST(every_allocation_of_the_start_may_fail)
{
	al_status status;
	uint64_t n;

	for (n = 1;; n++) {
		al_fail_alloc(n);
		status = try_up("fault=drop,n=1");
		if (!status)
			break;
		al_fail_alloc(0);
		ck_assert_int_eq(status, AL_INSUFFICIENT_MEMORY);
		ck_assert_uint_eq(live_allocs, 0);
	}
	al_fail_alloc(0);
	ck_assert_uint_gt(n, 8);
	ci_module.cleanup();
	ck_assert_uint_eq(live_allocs, 0);
}
END_TEST

START_TEST(one_hca_alone_has_a_loopback_plug)
{
	struct pair p;

	up("hcas=1");
	ck_assert_uint_eq(hcas, 1);
	pair_up(&p, NULL, 4096);
	fill(p.am->buf, 1000, 1);
	rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 0, 1000);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	ck_assert_mem_eq(p.bm->buf, p.am->buf, 1000);
	pair_down(&p);
	down();
}
END_TEST

START_TEST(address_handles_keep_their_vector)
{
	struct ci_ah *ah;
	struct ib_ah_attr attr = { .dlid = 7, .sl = 3, .port_num = 1 }, got;

	up("");
	ah = al_alloc_aligned(64, ops->obj_size[CI_OBJ_AH]);
	ah->pd = hca[0].pd;
	ck_assert_int_eq(ops->create_ah(ah, &attr, NULL), AL_SUCCESS);
	ck_assert_int_eq(ops->query_ah(ah, &got), AL_SUCCESS);
	ck_assert_mem_eq(&got, &attr, sizeof(attr));
	attr.dlid = 8;
	ck_assert_int_eq(ops->modify_ah(ah, &attr), AL_SUCCESS);
	ck_assert_int_eq(ops->query_ah(ah, &got), AL_SUCCESS);
	ck_assert_uint_eq(got.dlid, 8);
	ops->destroy_ah(ah);
	al_free(ah);
	down();
}
END_TEST

int main(int argc, char **argv)
{
	Suite *s;
	TCase *t;

	if (argc == 2 && !strcmp(argv[1], "guid"))
		return print_guid();
	s = suite_create("soft: port");
	t = tcase_create("port");
	tcase_add_test(t, two_hcas_of_one_port_cabled_and_active_without_any_configuration);
	tcase_add_test(t, the_hcas_of_a_process_are_components_of_one_system);
	tcase_add_test(t, only_what_is_offered_is_claimed);
	tcase_add_test(t, guids_are_stable_in_a_process_and_differ_from_its_neighbour);
	tcase_add_test(t, counters_count_every_byte_and_packet_of_the_link);
	tcase_add_test(t, a_pulled_cable_takes_both_ends_down_and_traffic_goes_on_when_it_is_back);
	tcase_add_test(t, modify_port_shuts_down_and_brings_up);
	tcase_add_test(t, vendor_calls_check_what_they_get);
	tcase_add_loop_test(t, a_removed_hca_is_withdrawn_by_a_thread_of_the_module, 0, CI_HCA_GONE + 1);
	tcase_add_test(t, every_allocation_of_the_start_may_fail);
	tcase_add_test(t, one_hca_alone_has_a_loopback_plug);
	tcase_add_test(t, address_handles_keep_their_vector);
	suite_add_tcase(s, t);
	return run_suite(s);
}
