/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The replacement of libibumad and the switch of a managed subnet: a device with port 0 alone,
 * which only programs see that choose the switch by its GUID.
 *
 *     HCA 0x3000 -- [1] switch 0x1000 [2] -- HCA 0x5000
 */
#include <fcntl.h>
#include <unistd.h>

#include "al/compat/umad/umad.h"
#include "test/unit/al/subnet_text.h"

#define SWITCH "ib0000000000001000"
#define HCA    "soft0"
#define OTHER  "soft1"
#define LIMIT  60000 /* ms; a datagram that has to come */

static char names[UMAD_DEVICES][UMAD_NAME_BYTES];

static void set_up(void)
{
	char file[] = "/tmp/ibal-umad-XXXXXX";

	subnet_set(SUBNET_OF_A_SWITCH, "", file);
	ck_assert_int_eq(setenv("IBAL_AGENT", test_agent(), 1), 0);
	ck_assert_int_eq(umad_init(), 0);
	ck_assert_int_eq(unlink(file), 0);
}

static void tear_down(void)
{
	ck_assert_int_eq(umad_done(), 0);
	unsetenv("IBAL_SOFT");
	unsetenv("IBAL_UMAD_CAS");
}

static void expect_names(const char *chosen, int num, const char *first, const char *second)
{
	setenv("IBAL_UMAD_CAS", chosen, 1);
	ck_assert_int_eq(umad_get_cas_names(names, UMAD_DEVICES), num);
	if (num > 0)
		ck_assert_str_eq(names[0], first);
	if (num > 1)
		ck_assert_str_eq(names[1], second);
}

START_TEST(a_switch_is_a_device_only_if_its_guid_is_chosen)
{
	expect_names("", 2, HCA, OTHER);
	expect_names("0x1000", 1, SWITCH, NULL);
	expect_names("0x1000,0x1000", 1, SWITCH, NULL);
	expect_names("1000,0x5000", 2, OTHER, SWITCH); /* HCAs come first */
	expect_names("0x1000,0x1001,nonsense", 1, SWITCH, NULL);
	expect_names("0x1001", 0, NULL, NULL);
	setenv("IBAL_UMAD_CAS", "0x3000,0x1000", 1);
	ck_assert_int_eq(umad_get_cas_names(names, 1), 1);
	ck_assert_str_eq(names[0], HCA);
}
END_TEST

START_TEST(a_switch_has_port_0_alone)
{
	struct umad_port port;
	struct umad_ca ca;
	ib_be64 guid;

	setenv("IBAL_UMAD_CAS", "0x1000", 1);
	ck_assert_int_eq(umad_get_ca(SWITCH, &ca), 0);
	ck_assert_uint_eq(ca.node_type, IB_NODE_SWITCH);
	ck_assert_int_eq(ca.num_ports, 0);
	ck_assert_uint_eq(ib_be64_get(ca.node_guid), 0x1000);
	ck_assert_ptr_nonnull(ca.ports[0]);
	ck_assert_ptr_null(ca.ports[1]);
	ck_assert_int_eq(ca.ports[0]->number, 0);
	ck_assert_uint_eq(ca.ports[0]->state, IB_PORT_ACTIVE);
	ck_assert_int_eq(umad_release_ca(&ca), 0);
	ck_assert_int_eq(umad_get_ca_portguids(SWITCH, &guid, 1), 1);
	ck_assert_uint_eq(ib_be64_get(guid), 0x1000);
	/* as libibumad has it, any number is port 0 */
	for (int number = 0; number < 4; number++) {
		ck_assert_int_eq(umad_get_port(number % 2 ? SWITCH : NULL, number, &port), 0);
		ck_assert_str_eq(port.ca_name, SWITCH);
		ck_assert_int_eq(port.number, 0);
		ck_assert_int_eq(umad_release_port(&port), 0);
	}
}
END_TEST

/* An HCA that is not Active stands behind a switch when a program names no device. */
START_TEST(a_switch_counts_as_an_active_device)
{
	struct umad_port port;

	setenv("IBAL_UMAD_CAS", "0x3000,0x1000", 1);
	ck_assert_int_eq(umad_get_port(NULL, 0, &port), 0);
	ck_assert_str_eq(port.ca_name, SWITCH);
	ck_assert_int_eq(umad_release_port(&port), 0);
}
END_TEST

/* Asks a node by a directed route, and returns the node's GUID. */
static uint64_t guid_at(int port, int agent, uint8_t hops, uint8_t by)
{
	struct ib_smp smp = { .base_version = IB_MAD_BASE_VERSION,
			      .mgmt_class = IB_CLASS_SUBN_DIR,
			      .class_version = IB_SMP_CLASS_VERSION,
			      .method = IB_METHOD_GET,
			      .hop_count = hops,
			      .attr_id = ib_be16_of(IB_SMP_NODE_INFO),
			      .dr_slid = ib_be16_of(IB_LID_PERMISSIVE),
			      .dr_dlid = ib_be16_of(IB_LID_PERMISSIVE) };
	struct umad_buffer *umad = calloc(1, umad_size() + sizeof(smp));
	int length = sizeof(smp);
	struct ib_node_info info;

	ck_assert_ptr_nonnull(umad);
	smp.initial_path[1] = by;
	memcpy(umad->mad, &smp, sizeof(smp));
	umad_set_addr(umad, IB_LID_PERMISSIVE, 0, 0, 0);
	ck_assert_int_eq(umad_send(port, agent, umad, length, LIMIT, 0), 0);
	ck_assert_int_eq(umad_recv(port, umad, &length, LIMIT), agent);
	ck_assert_int_eq(umad_status(umad), 0);
	memcpy(&smp, umad->mad, sizeof(smp));
	free(umad);
	ck_assert_uint_eq(ib_be16_get(smp.status), IB_SMP_DIRECTION);
	memcpy(&info, smp.data, sizeof(info));
	return ib_be64_get(info.node_guid);
}

START_TEST(datagrams_leave_by_the_ports_of_a_switch)
{
	int port, agent;

	setenv("IBAL_UMAD_CAS", "0x1000", 1);
	port = umad_open_port(SWITCH, 0);
	ck_assert_int_ge(port, 0);
	agent = umad_register(port, IB_CLASS_SUBN_DIR, 1, 0, NULL);
	ck_assert_int_ge(agent, 0);
	ck_assert_uint_eq(guid_at(port, agent, 0, 0), 0x1000);
	ck_assert_uint_eq(guid_at(port, agent, 1, 1), 0x3000);
	ck_assert_uint_eq(guid_at(port, agent, 1, 2), 0x5000);
	ck_assert_int_eq(umad_close_port(port), 0);
}
END_TEST

static bool has_issm(void)
{
	struct umad_port port;
	uint32_t caps;

	ck_assert_int_eq(umad_get_port(SWITCH, 0, &port), 0);
	caps = ib_be32_get(port.cap_mask);
	ck_assert_int_eq(umad_release_port(&port), 0);
	return caps & IB_PORT_CAP_SM;
}

START_TEST(port_0_has_the_capability_issm_while_its_file_is_open)
{
	struct timespec limit = test_deadline();
	char path[256];
	int fd;

	setenv("IBAL_UMAD_CAS", "0x1000", 1);
	ck_assert_int_eq(umad_get_issm_path(SWITCH, 0, path, sizeof(path)), 0);
	ck_assert(!has_issm());
	fd = open(path, O_NONBLOCK);
	ck_assert_int_ge(fd, 0);
	while (!has_issm())
		ck_assert_msg(!test_expired(&limit), "the port has not the capability");
	close(fd);
	while (has_issm())
		ck_assert_msg(!test_expired(&limit), "the port keeps the capability");
	ck_assert_int_eq(unlink(path), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("umad: a switch");
	TCase *tcase = tcase_create("port 0");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, a_switch_is_a_device_only_if_its_guid_is_chosen);
	tcase_add_test(tcase, a_switch_has_port_0_alone);
	tcase_add_test(tcase, a_switch_counts_as_an_active_device);
	tcase_add_test(tcase, datagrams_leave_by_the_ports_of_a_switch);
	tcase_add_test(tcase, port_0_has_the_capability_issm_while_its_file_is_open);
	suite_add_tcase(suite, tcase);
	return test_run(suite);
}
