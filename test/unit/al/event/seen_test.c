/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * ib_mad_seen(): the events that the Access Layer makes of the requests that a port's own agents
 * have carried out, and what it makes of a module that tells nonsense. Ports that really have such
 * agents are agents_test's.
 */
#include <iba/ib_mad.h>

#include "test/unit/al/bed.h"

#define PORTS 2

static struct bed bed;
static char told[256]; /* events in order, a letter and the port: l1 is a LID change of port 1 */

static void hear(void *context, const struct al_event *event)
{
	size_t at = strlen(told);

	(void)context;
	if (at + 3 <= sizeof(told))
		snprintf(told + at, sizeof(told) - at, "%c%u",
			 "DIRAlpgsrf"[event->type - IB_EVENT_PORT_DOWN], event -> port_num);
}

static void set_up(void)
{
	al_event_handler_h handler;

	test_fake()->ca_attr.num_ports = PORTS;
	bed = bed_make();
	ck_ok(al_reg_event_handler(bed.ca, NULL, NULL, hear, &handler));
	told[0] = 0;
}

static void tear_down(void)
{
	bed_end(&bed);
}

static void *ctx(void)
{
	return bed.fake->ca[0]->ctx;
}

static struct ib_smp smp_of(uint8_t mgmt_class, uint8_t method, uint16_t attr_id, uint32_t attr_mod)
{
	return (struct ib_smp){ .base_version = IB_MAD_BASE_VERSION,
				.mgmt_class = mgmt_class,
				.class_version = IB_SMP_CLASS_VERSION,
				.method = method,
				.attr_id = ib_be16_of(attr_id),
				.attr_mod = ib_be32_of(attr_mod) };
}

static void expect(const char *events)
{
	bed_settle(bed.ca);
	ck_assert_str_eq(told, events);
	told[0] = 0;
}

static void see(uint8_t port, const struct ib_smp *smp)
{
	ib_mad_seen(ctx(), port, smp, sizeof(*smp));
}

/* Tells of a Set(PortInfo) at a port. */
static void see_info(uint8_t port, uint32_t attr_mod, const struct ib_port_info *info)
{
	struct ib_smp smp = smp_of(IB_CLASS_SUBN_DIR, IB_METHOD_SET, IB_SMP_PORT_INFO, attr_mod);

	memcpy(smp.data, info, sizeof(*info));
	see(port, &smp);
}

static struct ib_port_info some_info(void)
{
	struct ib_port_info info = { .lid = ib_be16_of(5),
				     .master_sm_lid = ib_be16_of(1),
				     .gid_prefix = ib_be64_of(0xfe80000000000000) };

	return info;
}

START_TEST(each_value_that_a_set_of_port_info_changes_has_its_event)
{
	struct ib_port_info info = some_info();

	see_info(1, 1, &info);
	expect("l1g1s1"); /* nothing is known of the values before */
	see_info(1, 1, &info);
	expect("");
	info.lid = ib_be16_of(6);
	see_info(1, 1, &info);
	expect("l1");
	ib_port_info_set_lmc(&info, 7);
	see_info(1, 1, &info);
	expect("l1");
	info.gid_prefix = ib_be64_of(0xfec0000000000000);
	see_info(1, 1, &info);
	expect("g1");
	info.master_sm_lid = ib_be16_of(0xbfff);
	see_info(1, 1, &info);
	expect("s1");
	ib_port_info_set_master_sm_sl(&info, 15);
	see_info(1, 1, &info);
	expect("s1");
	ib_port_info_set_client_reregister(&info, 1);
	for (int i = 0; i < 2; i++) {
		see_info(1, 1, &info);
		expect("r1");
	}
}
END_TEST

/* The order is that of the calls: a change comes before the state that is reported after it. */
START_TEST(a_change_is_told_before_the_state_that_it_led_to)
{
	struct ci_event armed = { .type = IB_EVENT_PORT_ARMED, .port_num = 1, .object_ctx = ctx() };
	struct ib_port_info info = some_info();

	armed.type = IB_EVENT_PORT_DOWN;
	ib_dispatch_event(&armed);
	armed.type = IB_EVENT_PORT_INIT;
	ib_dispatch_event(&armed);
	see_info(1, 0, &info);
	armed.type = IB_EVENT_PORT_ARMED;
	ib_dispatch_event(&armed);
	expect("D1I1l1g1s1R1");
}
END_TEST

/* An HCA's agents set any of its ports, as the modifier says; the modifier is the subnet's. */
START_TEST(the_modifier_names_the_port)
{
	struct ib_port_info info = some_info();

	see_info(1, 0, &info);
	expect("l1g1s1");
	see_info(1, 2, &info);
	expect("l2g2s2");
	see_info(2, IB_PORT_INFO_MOD_EXT_SPEEDS, &info);
	expect("");
	info.lid = ib_be16_of(9);
	see_info(2, IB_PORT_INFO_MOD_EXT_SPEEDS | 1, &info);
	expect("l1");
	see_info(1, 3, &info);
	see_info(1, 0x101, &info);
	see_info(1, ~0u, &info);
	expect("");
}
END_TEST

START_TEST(a_set_of_a_table_is_told)
{
	struct ib_smp smp = smp_of(IB_CLASS_SUBN_LID, IB_METHOD_SET, IB_SMP_PKEY_TABLE, 0);

	see(2, &smp);
	expect("p2");
	smp.attr_mod = ib_be32_of(0x10000); /* reserved bits on an HCA */
	see(1, &smp);
	expect("p1");
	smp.attr_id = ib_be16_of(IB_SMP_GUID_INFO);
	see(1, &smp);
	expect("g1");
}
END_TEST

/* _i: a change of LID, of GIDs, or of the subnet manager */
START_TEST(a_change_that_the_module_reports_makes_the_last_values_unknown)
{
	static const ib_event_type types[] = { IB_EVENT_LID_CHANGE, IB_EVENT_GID_CHANGE,
					       IB_EVENT_SM_CHANGE };
	const struct ci_event event = { .type = types[_i], .port_num = 1, .object_ctx = ctx() };
	struct ib_port_info info = some_info();
	char first[] = { "lgs"[_i], '1', 0 };

	see_info(1, 1, &info);
	expect("l1g1s1");
	ib_dispatch_event(&event);
	expect(first);
	see_info(1, 1, &info);
	expect("l1g1s1");
}
END_TEST

START_TEST(other_datagrams_change_nothing)
{
	static const struct {
		uint8_t mgmt_class, method;
		uint16_t attr_id;
	} other[] = {
		{ IB_CLASS_SUBN_LID, IB_METHOD_GET, IB_SMP_PORT_INFO },
		{ IB_CLASS_SUBN_LID, IB_METHOD_GET_RESP, IB_SMP_PORT_INFO },
		{ IB_CLASS_SUBN_DIR, IB_METHOD_TRAP, IB_SMP_PORT_INFO },
		{ IB_CLASS_PERF, IB_METHOD_SET, IB_SMP_PORT_INFO },
		{ IB_CLASS_SUBN_ADM, IB_METHOD_SET, IB_SMP_PKEY_TABLE },
		{ IB_CLASS_SUBN_LID, IB_METHOD_SET, IB_SMP_NODE_DESC },
		{ IB_CLASS_SUBN_LID, IB_METHOD_SET, IB_SMP_SL_TO_VL },
		{ IB_CLASS_SUBN_LID, IB_METHOD_SET, 0xffff },
	};
	struct ib_smp smp;

	for (size_t i = 0; i < sizeof(other) / sizeof(*other); i++) {
		smp = smp_of(other[i].mgmt_class, other[i].method, other[i].attr_id, 0);
		see(1, &smp);
	}
	smp = smp_of(IB_CLASS_SUBN_LID, IB_METHOD_SET, IB_SMP_PORT_INFO, 0);
	smp.base_version = 2;
	see(1, &smp);
	expect("");
}
END_TEST

static void keep(void *context, ib_log_level level, const char *text)
{
	(void)level;
	journal_add(context, text);
}

/* A length that is wrong must not be read: the datagram ends with its page. */
START_TEST(wrong_calls_of_a_module_are_dropped_and_logged)
{
	struct journal log;
	static const struct {
		uint8_t port;
		uint32_t length;
		const char *word;
	} wrong[] = {
		{ 0, 256, "no management agents" },
		{ 3, 256, "no management agents" },
		{ 255, 256, "no management agents" },
		{ 1, 0, "256 bytes" },
		{ 1, 255, "256 bytes" },
		{ 1, 257, "256 bytes" },
		{ 2, ~0u, "256 bytes" },
	};
	const size_t num = sizeof(wrong) / sizeof(*wrong);
	struct ib_smp smp = smp_of(IB_CLASS_SUBN_LID, IB_METHOD_SET, IB_SMP_PKEY_TABLE, 0);

	bed_cq(bed.pd, 0, NULL, NULL);
	journal_init(&log);
	al_set_log(keep, &log);
	for (size_t i = 0; i < num; i++)
		ib_mad_seen(ctx(), wrong[i].port, &smp, wrong[i].length);
	ib_mad_seen(ctx(), 1, NULL, 256);
	ib_mad_seen(NULL, 1, &smp, 256);
	ib_mad_seen(bed.fake->last_cq->cq.ctx, 1, &smp, 256);
	al_set_log(NULL, NULL);
	ck_assert_uint_eq(log.count, num + 3);
	for (size_t i = 0; i < num; i++)
		ck_assert_msg(strstr(log.entry[i], wrong[i].word) && strstr(log.entry[i], "fake"),
			      "%s", log.entry[i]);
	ck_assert_ptr_nonnull(strstr(log.entry[num], "a datagram"));
	ck_assert_ptr_nonnull(strstr(log.entry[num + 1], "NULL instead of the ctx"));
	ck_assert_ptr_nonnull(strstr(log.entry[num + 2], "ctx of an object"));
	expect("");
}
END_TEST

/* ------------------------------------------------------ ports of other kinds */

static al_status local_mad(struct ci_ca *ca, uint8_t port, const struct ib_ah_attr *src,
			   const struct ci_local_mad_in *in, struct ci_local_mad_out *out)
{
	(void)ca, (void)port, (void)src, (void)in, (void)out;
	return AL_UNSUPPORTED;
}

static al_status create_spl_qp(struct ci_qp *qp, uint8_t port, struct ci_qp_init *init,
			       struct ci_udata *udata)
{
	al_status status = test_fake()->ops.create_qp(qp, init, udata);

	(void)port;
	qp->qp_num = init->attr->qp_type == IB_QPT_GSI;
	return status;
}

START_TEST(a_port_whose_agents_are_the_librarys_is_not_told_of)
{
	struct journal log;
	struct ib_smp smp = smp_of(IB_CLASS_SUBN_LID, IB_METHOD_SET, IB_SMP_PKEY_TABLE, 0);
	struct fake *fake = test_fake();
	al_event_handler_h handler;

	fake->port_attr.ci_caps = CI_PORT_SMA_IN_AL;
	fake->ops.local_mad = local_mad;
	fake->ops.create_spl_qp = create_spl_qp;
	al_set_log(test_ignore_log, NULL);
	bed = bed_make();
	told[0] = 0;
	journal_init(&log);
	ck_ok(al_reg_event_handler(bed.ca, NULL, NULL, hear, &handler));
	al_set_log(keep, &log);
	see(1, &smp);
	al_set_log(NULL, NULL);
	ck_assert_uint_eq(log.count, 1);
	ck_assert_ptr_nonnull(strstr(log.entry[0], "Access Layer's"));
	expect("");
	bed_end(&bed);
}
END_TEST

/* Of a switch port 0 has addresses and agents; what is set at an external port has no event. */
START_TEST(of_a_switch_port_0_is_told_of)
{
	struct ib_smp smp = smp_of(IB_CLASS_SUBN_LID, IB_METHOD_SET, IB_SMP_PKEY_TABLE, 0);
	struct ib_port_info info = some_info();
	struct fake *fake = test_fake();
	al_event_handler_h handler;

	fake->ca_attr.node_type = IB_NODE_SWITCH;
	fake->ca_attr.num_ports = 36;
	fake->ops.create_spl_qp = create_spl_qp;
	bed.al = test_open();
	bed.fake = fake;
	bed.ca = test_open_ca(bed.al, FAKE_GUID);
	told[0] = 0;
	ck_ok(al_reg_event_handler(bed.ca, NULL, NULL, hear, &handler));
	see_info(0, 0, &info);
	expect("l0g0s0");
	see_info(0, 3, &info);
	see(0, &smp);
	expect("p0");
	smp.attr_mod = ib_be32_of(3u << 16);
	see(0, &smp);
	expect("");
	al_set_log(test_ignore_log, NULL);
	smp.attr_mod = ib_be32_of(0);
	see(1, &smp);
	expect("");
	ck_ok(al_close(bed.al, AL_DESTROY_SYNC, NULL));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ib_mad_seen");
	TCase *tc = tcase_create("a port with agents of its own");

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, each_value_that_a_set_of_port_info_changes_has_its_event);
	tcase_add_test(tc, a_change_is_told_before_the_state_that_it_led_to);
	tcase_add_test(tc, the_modifier_names_the_port);
	tcase_add_test(tc, a_set_of_a_table_is_told);
	tcase_add_loop_test(tc, a_change_that_the_module_reports_makes_the_last_values_unknown, 0,
			    3);
	tcase_add_test(tc, other_datagrams_change_nothing);
	tcase_add_test(tc, wrong_calls_of_a_module_are_dropped_and_logged);
	suite_add_tcase(suite, tc);
	tc = tcase_create("other ports");
	tcase_add_test(tc, a_port_whose_agents_are_the_librarys_is_not_told_of);
	tcase_add_test(tc, of_a_switch_port_0_is_told_of);
	suite_add_tcase(suite, tc);
	return test_run(suite);
}
