/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Directed routes through chains of simulated nodes, out and back, with and without LID-routed
 * parts; and packets whose pointers, counts and paths are wrong. The packets' bytes are written by
 * offset: 3 method, 4 bit D, 6 hop pointer, 7 hop count, 32 DrSLID, 34 DrDLID, 128 initial path,
 * 192 return path.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "mad/smi.h"

#define PORTS  9
#define SM_LID 0x0011

static const struct smi_node hca = { .is_switch = false, .num_ports = PORTS };
static const struct smi_node sw = { .is_switch = true, .num_ports = PORTS };

enum { PTR = 6, COUNT = 7, INITIAL = 128, RETURN = 192 };

static struct ib_smp packet(uint8_t pointer, uint8_t count, uint16_t dr_slid, uint16_t dr_dlid)
{
	uint8_t bytes[256] = { 1, 0x81, 1, 1, 0, 0, pointer, count };
	struct ib_smp smp;

	bytes[32] = (uint8_t)(dr_slid >> 8);
	bytes[33] = (uint8_t)dr_slid;
	bytes[34] = (uint8_t)(dr_dlid >> 8);
	bytes[35] = (uint8_t)dr_dlid;
	memcpy(&smp, bytes, sizeof(smp));
	return smp;
}

static uint8_t *bytes_of(struct ib_smp *smp)
{
	return (uint8_t *)smp;
}

static void turn(struct ib_smp *smp)
{
	bytes_of(smp)[3] = 0x81;
	bytes_of(smp)[4] = 0x80;
}

/* Hop i of every path leaves by out_port(i) and arrives by in_port(i). */
static uint8_t out_port(int hop)
{
	return (uint8_t)(1 + hop % PORTS);
}

static uint8_t in_port(int hop)
{
	return (uint8_t)(1 + (hop + 4) % PORTS);
}

static void write_path(struct ib_smp *smp, int hops)
{
	for (int i = 1; i <= hops; i++)
		bytes_of(smp)[INITIAL + i] = out_port(i);
}

static void expect_verdict(enum smi_verdict got, enum smi_verdict want, const struct smi_way *way,
			   uint8_t port, uint16_t dlid)
{
	ck_assert_int_eq(got, want);
	ck_assert_uint_eq(way->port, port);
	ck_assert_uint_eq(way->dlid, dlid);
}

/* Walks the hops 1 to hops. The packet has left the first node by out_port(1). */
static void walk_out(struct ib_smp *smp, int hops, enum smi_verdict last, uint16_t dlid)
{
	struct smi_way way;

	for (int i = 1; i < hops; i++) {
		ck_assert_int_eq(bytes_of(smp)[PTR], i);
		expect_verdict(smi_receive(&sw, in_port(i), smp, &way), SMI_FORWARD, &way,
			       out_port(i + 1), 0xffff);
	}
	ck_assert_int_eq(bytes_of(smp)[PTR], hops);
	expect_verdict(smi_receive(last == SMI_ROUTE ? &sw : &hca, in_port(hops), smp, &way), last,
		       &way, 0, dlid);
	ck_assert_int_eq(bytes_of(smp)[PTR], hops + 1);
	for (int i = 1; i <= hops; i++)
		ck_assert_uint_eq(bytes_of(smp)[RETURN + i], in_port(i));
}

/* Returns over the switches in between, from hop hops - 1 to 1. The packet has left the last node
 * by in_port(hops). */
static void walk_back(struct ib_smp *smp, int hops)
{
	struct smi_way way;

	for (int i = hops - 1; i >= 1; i--) {
		ck_assert_int_eq(bytes_of(smp)[PTR], i + 1);
		expect_verdict(smi_receive(&sw, out_port(i + 1), smp, &way), SMI_FORWARD, &way,
			       in_port(i), 0xffff);
	}
	ck_assert_int_eq(bytes_of(smp)[PTR], 1);
}

START_TEST(a_directed_route_of_1_to_63_hops_goes_there_and_back)
{
	struct ib_smp smp = packet(0, (uint8_t)_i, 0xffff, 0xffff);
	struct smi_way way;

	write_path(&smp, _i);
	expect_verdict(smi_send(&hca, out_port(1), 0xffff, &smp, &way), SMI_FORWARD, &way,
		       out_port(1), 0xffff);
	walk_out(&smp, _i, SMI_LOCAL, 0xffff);
	turn(&smp);
	expect_verdict(smi_send(&hca, in_port(_i), 0xffff, &smp, &way), SMI_FORWARD, &way,
		       in_port(_i), 0xffff);
	walk_back(&smp, _i);
	expect_verdict(smi_receive(&hca, out_port(1), &smp, &way), SMI_LOCAL, &way, 0, 0xffff);
	ck_assert_int_eq(bytes_of(&smp)[PTR], 0);
}
END_TEST

START_TEST(a_directed_route_of_no_hops_ends_at_the_sender_there_and_back)
{
	for (int i = 0; i < 2; i++) {
		const struct smi_node *node = i ? &sw : &hca;
		struct ib_smp smp = packet(0, 0, 0xffff, 0xffff);
		struct smi_way way;

		expect_verdict(smi_send(node, 1, 0xffff, &smp, &way), SMI_LOCAL, &way, 0, 0xffff);
		ck_assert_int_eq(bytes_of(&smp)[PTR], 1);
		turn(&smp);
		expect_verdict(smi_send(node, 1, 0xffff, &smp, &way), SMI_LOCAL, &way, 0, 0xffff);
		ck_assert_int_eq(bytes_of(&smp)[PTR], 0);
	}
}
END_TEST

START_TEST(an_initial_lid_routed_part_ends_at_a_switch_which_begins_the_directed_part)
{
	struct ib_smp smp = packet(0, (uint8_t)_i, SM_LID, 0xffff);
	struct smi_way way;

	write_path(&smp, _i);
	expect_verdict(smi_send(&hca, 1, 0x0022, &smp, &way), SMI_ROUTE, &way, 0, 0x0022);
	ck_assert_int_eq(bytes_of(&smp)[PTR], 0);
	expect_verdict(smi_receive(&sw, 7, &smp, &way), SMI_FORWARD, &way, out_port(1), 0xffff);
	ck_assert_uint_eq(bytes_of(&smp)[RETURN], 0);
	walk_out(&smp, _i, SMI_LOCAL, 0xffff);
	turn(&smp);
	expect_verdict(smi_send(&hca, in_port(_i), 0xffff, &smp, &way), SMI_FORWARD, &way,
		       in_port(_i), 0xffff);
	walk_back(&smp, _i);
	expect_verdict(smi_receive(&sw, out_port(1), &smp, &way), SMI_ROUTE, &way, 0, SM_LID);
	expect_verdict(smi_receive(&hca, 1, &smp, &way), SMI_LOCAL, &way, 0, 0xffff);
}
END_TEST

START_TEST(a_final_lid_routed_part_begins_at_the_last_switch_and_its_response_ends_there)
{
	struct ib_smp smp = packet(0, (uint8_t)_i, 0xffff, 0x0033);
	struct smi_way way;

	write_path(&smp, _i);
	expect_verdict(smi_send(&hca, out_port(1), 0xffff, &smp, &way), SMI_FORWARD, &way,
		       out_port(1), 0xffff);
	walk_out(&smp, _i, SMI_ROUTE, 0x0033);
	expect_verdict(smi_receive(&hca, 1, &smp, &way), SMI_LOCAL, &way, 0, 0xffff);
	turn(&smp);
	expect_verdict(smi_send(&hca, 1, 0x0044, &smp, &way), SMI_ROUTE, &way, 0, 0x0044);
	ck_assert_int_eq(bytes_of(&smp)[PTR], _i + 1);
	expect_verdict(smi_receive(&sw, 3, &smp, &way), SMI_FORWARD, &way, in_port(_i), 0xffff);
	walk_back(&smp, _i);
	expect_verdict(smi_receive(&hca, out_port(1), &smp, &way), SMI_LOCAL, &way, 0, 0xffff);
}
END_TEST

START_TEST(both_lid_routed_parts_surround_the_directed_part)
{
	struct ib_smp smp = packet(0, 2, SM_LID, 0x0033);
	struct smi_way way;

	write_path(&smp, 2);
	expect_verdict(smi_send(&hca, 1, 0x0022, &smp, &way), SMI_ROUTE, &way, 0, 0x0022);
	expect_verdict(smi_receive(&sw, 7, &smp, &way), SMI_FORWARD, &way, out_port(1), 0xffff);
	walk_out(&smp, 2, SMI_ROUTE, 0x0033);
	expect_verdict(smi_receive(&hca, 1, &smp, &way), SMI_LOCAL, &way, 0, 0xffff);
	turn(&smp);
	expect_verdict(smi_send(&hca, 1, 0x0044, &smp, &way), SMI_ROUTE, &way, 0, 0x0044);
	expect_verdict(smi_receive(&sw, 3, &smp, &way), SMI_FORWARD, &way, in_port(2), 0xffff);
	walk_back(&smp, 2);
	expect_verdict(smi_receive(&sw, out_port(1), &smp, &way), SMI_ROUTE, &way, 0, SM_LID);
	expect_verdict(smi_receive(&hca, 1, &smp, &way), SMI_LOCAL, &way, 0, 0xffff);
}
END_TEST

START_TEST(lid_routing_with_an_empty_directed_part_needs_no_switch_for_the_response)
{
	struct ib_smp smp = packet(0, 0, SM_LID, 0xffff);
	struct smi_way way;

	expect_verdict(smi_send(&hca, 1, 0x0022, &smp, &way), SMI_ROUTE, &way, 0, 0x0022);
	expect_verdict(smi_receive(&hca, 2, &smp, &way), SMI_LOCAL, &way, 0, 0xffff);
	turn(&smp);
	expect_verdict(smi_send(&hca, 2, 0xffff, &smp, &way), SMI_ROUTE, &way, 0, SM_LID);
	expect_verdict(smi_receive(&hca, 1, &smp, &way), SMI_LOCAL, &way, 0, 0xffff);
}
END_TEST

START_TEST(a_switch_sends_and_ends_directed_routes_itself)
{
	struct ib_smp smp = packet(0, 1, 0xffff, 0xffff);
	struct smi_way way;

	write_path(&smp, 1);
	expect_verdict(smi_send(&sw, 0, 0xffff, &smp, &way), SMI_FORWARD, &way, out_port(1),
		       0xffff);
	expect_verdict(smi_receive(&sw, in_port(1), &smp, &way), SMI_LOCAL, &way, 0, 0xffff);
	turn(&smp);
	expect_verdict(smi_send(&sw, 0, 0xffff, &smp, &way), SMI_FORWARD, &way, in_port(1), 0xffff);
	expect_verdict(smi_receive(&sw, out_port(1), &smp, &way), SMI_LOCAL, &way, 0, 0xffff);
}
END_TEST

START_TEST(lid_routed_packets_are_local_when_they_come_in_and_go_where_the_sender_says)
{
	struct ib_smp smp = packet(77, 200, 1, 2);
	struct smi_way way;

	smp.mgmt_class = 0x01;
	expect_verdict(smi_receive(&hca, 1, &smp, &way), SMI_LOCAL, &way, 0, 0xffff);
	expect_verdict(smi_receive(&sw, 0, &smp, &way), SMI_LOCAL, &way, 0, 0xffff);
	expect_verdict(smi_send(&hca, 1, 0x1234, &smp, &way), SMI_ROUTE, &way, 0, 0x1234);
	expect_verdict(smi_send(&hca, 1, 0xffff, &smp, &way), SMI_ROUTE, &way, 0, 0xffff);
}
END_TEST

/* ------------------------------------------------------------------ refusals */

enum { OUT, BACK };

static const struct refusal {
	const char *what;
	bool is_switch;
	int direction;
	uint8_t pointer, count;
	uint16_t dr_slid, dr_dlid;
	uint8_t path_port; /* every entry of the path in use */
} received[] = {
	{ "hop count 64", true, OUT, 3, 64, 0xffff, 0xffff, 1 },
	{ "hop count 255", true, OUT, 255, 255, 0xffff, 0xffff, 1 },
	{ "hop count 64, back", true, BACK, 3, 64, 0xffff, 0xffff, 1 },
	{ "hop count 255, pointer 0", true, OUT, 0, 255, SM_LID, 0xffff, 1 },
	{ "pointer two beyond the count", true, OUT, 5, 3, 0xffff, 0xffff, 1 },
	{ "pointer 255", true, OUT, 255, 63, 0xffff, 0xffff, 1 },
	{ "pointer two beyond the count, back", true, BACK, 5, 3, 0xffff, 1, 1 },
	{ "pointer 255, back", true, BACK, 255, 63, 0xffff, 1, 1 },
	{ "pointer not counted by the sender", true, OUT, 0, 3, 0xffff, 0xffff, 1 },
	{ "pointer not counted by the responder", true, BACK, 4, 3, 0xffff, 0xffff, 1 },
	{ "HCA in between", false, OUT, 1, 3, 0xffff, 0xffff, 1 },
	{ "HCA at the start", false, OUT, 0, 3, SM_LID, 0xffff, 1 },
	{ "HCA in between, back", false, BACK, 3, 3, 0xffff, 0xffff, 1 },
	{ "HCA before a final LID-routed part", false, OUT, 3, 3, 0xffff, 0x33, 1 },
	{ "HCA before a final LID-routed part, back", false, BACK, 1, 3, 0x33, 0xffff, 1 },
	{ "HCA where the response comes back by LID", false, BACK, 4, 3, 0xffff, 0x33, 1 },
	{ "out by port 0", true, OUT, 1, 3, 0xffff, 0xffff, 0 },
	{ "out by a port that the switch lacks", true, OUT, 1, 3, 0xffff, 0xffff, PORTS + 1 },
	{ "out by port 255", true, OUT, 1, 3, 0xffff, 0xffff, 255 },
	{ "back by port 0", true, BACK, 3, 3, 0xffff, 0xffff, 0 },
	{ "back by a port that the switch lacks", true, BACK, 3, 3, 0xffff, 0xffff, PORTS + 1 },
	{ "out to LID 0", true, OUT, 3, 3, 0xffff, 0, 1 },
	{ "out to a multicast LID", true, OUT, 3, 3, 0xffff, 0xc000, 1 },
	{ "back to LID 0", true, BACK, 1, 3, 0, 0xffff, 1 },
	{ "back to a multicast LID", true, BACK, 1, 3, 0xc123, 0xffff, 1 },
};

static struct ib_smp refused(const struct refusal *r)
{
	struct ib_smp smp = packet(r->pointer, r->count, r->dr_slid, r->dr_dlid);

	memset(bytes_of(&smp) + INITIAL, r->path_port, 128);
	if (r->direction == BACK)
		turn(&smp);
	return smp;
}

START_TEST(what_comes_in_with_an_impossible_route_is_dropped)
{
	const struct refusal *r = &received[_i];
	struct ib_smp smp = refused(r);
	struct smi_way way;

	ck_assert_msg(smi_receive(r->is_switch ? &sw : &hca, 2, &smp, &way) == SMI_DROP, "%s",
		      r->what);
}
END_TEST

static const struct refusal sent[] = {
	{ "hop count 64", true, OUT, 0, 64, 0xffff, 0xffff, 2 },
	{ "hop count 64, back", true, BACK, 65, 64, 0xffff, 0xffff, 2 },
	{ "pointer not 0", true, OUT, 1, 3, 0xffff, 0xffff, 2 },
	{ "pointer not 0, LID-routed first", true, OUT, 1, 3, SM_LID, 0xffff, 2 },
	{ "pointer not 0, no hops", true, OUT, 1, 0, 0xffff, 0xffff, 2 },
	{ "pointer not at the end, back", true, BACK, 3, 3, 0xffff, 0xffff, 2 },
	{ "pointer not at the end, LID-routed back", true, BACK, 3, 3, 0xffff, 0x33, 2 },
	{ "HCA by another port", false, OUT, 0, 3, 0xffff, 0xffff, 3 },
	{ "HCA back by another port", false, BACK, 4, 3, 0xffff, 0xffff, 3 },
	{ "out by port 0", true, OUT, 0, 3, 0xffff, 0xffff, 0 },
	{ "out by a port that the switch lacks", true, OUT, 0, 3, 0xffff, 0xffff, PORTS + 1 },
	{ "back by a port that the switch lacks", true, BACK, 4, 3, 0xffff, 0xffff, PORTS + 1 },
	{ "no hops, an HCA that should route", false, OUT, 0, 0, 0xffff, 0x33, 2 },
	{ "no hops, back to a multicast LID", false, BACK, 1, 0, 0xc000, 0xffff, 2 },
};

START_TEST(what_is_sent_with_an_impossible_route_is_dropped)
{
	const struct refusal *r = &sent[_i];
	struct ib_smp smp = refused(r);
	struct smi_way way;

	ck_assert_msg(smi_send(r->is_switch ? &sw : &hca, 2, 0x22, &smp, &way) == SMI_DROP, "%s",
		      r->what);
}
END_TEST

START_TEST(ports_and_classes_that_are_none_are_dropped)
{
	struct ib_smp smp = packet(1, 1, 0xffff, 0xffff);
	struct smi_way way;

	ck_assert_int_eq(smi_receive(&hca, 0, &smp, &way), SMI_DROP);
	ck_assert_int_eq(smi_receive(&hca, PORTS + 1, &smp, &way), SMI_DROP);
	ck_assert_int_eq(smi_receive(&sw, PORTS + 1, &smp, &way), SMI_DROP);
	smp.mgmt_class = 0x04;
	ck_assert_int_eq(smi_receive(&hca, 1, &smp, &way), SMI_DROP);
	ck_assert_int_eq(smi_send(&hca, 1, 1, &smp, &way), SMI_DROP);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("smi");
	TCase *tc = tcase_create("routes");
	SRunner *runner;
	int failed;

	tcase_add_loop_test(tc, a_directed_route_of_1_to_63_hops_goes_there_and_back, 1, 64);
	tcase_add_test(tc, a_directed_route_of_no_hops_ends_at_the_sender_there_and_back);
	tcase_add_loop_test(
		tc, an_initial_lid_routed_part_ends_at_a_switch_which_begins_the_directed_part, 1,
		64);
	tcase_add_loop_test(
		tc, a_final_lid_routed_part_begins_at_the_last_switch_and_its_response_ends_there,
		1, 64);
	tcase_add_test(tc, both_lid_routed_parts_surround_the_directed_part);
	tcase_add_test(tc,
		       lid_routing_with_an_empty_directed_part_needs_no_switch_for_the_response);
	tcase_add_test(tc, a_switch_sends_and_ends_directed_routes_itself);
	tcase_add_test(tc,
		       lid_routed_packets_are_local_when_they_come_in_and_go_where_the_sender_says);
	suite_add_tcase(suite, tc);
	tc = tcase_create("refusals");
	tcase_add_loop_test(tc, what_comes_in_with_an_impossible_route_is_dropped, 0,
			    (int)(sizeof(received) / sizeof(*received)));
	tcase_add_loop_test(tc, what_is_sent_with_an_impossible_route_is_dropped, 0,
			    (int)(sizeof(sent) / sizeof(*sent)));
	tcase_add_test(tc, ports_and_classes_that_are_none_are_dropped);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
