/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Address handles and protection domains: checks and limits; every call on an address handle works in any context. */
#include "test/unit/al/al_test.h"

static struct fake *fake;
static al_h al;
static al_ca_h ca;
static al_pd_h pd;
static struct ib_ah_attr kept; /* the attributes that the module has got */

static al_status keep(struct ci_ah *ah, const struct ib_ah_attr *attr)
{
	(void)ah;
	kept = *attr;
	return AL_SUCCESS;
}

static al_status show(struct ci_ah *ah, struct ib_ah_attr *attr)
{
	(void)ah;
	*attr = kept;
	return AL_SUCCESS;
}

static _Atomic uint8_t prefix; /* prefix of all GIDs, as a subnet manager would change it */

static al_status gid_of(struct ci_ca *c, uint8_t port, uint32_t index, ib_gid *gid)
{
	(void)c;
	memset(gid, 0, sizeof(*gid));
	gid->raw[0] = 0xfe;
	gid->raw[1] = port;
	gid->raw[2] = prefix;
	gid->raw[15] = (uint8_t)index;
	return fake->fail[FAKE_query_gid];
}

static void set_up(void)
{
	fake = test_fake();
	fake->ca_attr.num_ports = 2;
	fake->ca_attr.max_ah = 3;
	fake->ca_attr.max_pd = 2;
	fake->port_attr.gid_tbl_len = 2;
	fake->ops.query_gid = gid_of;
	fake->ops.modify_ah = keep;
	fake->ops.query_ah = show;
	al = test_open();
	ca = test_open_ca(al, FAKE_GUID);
	ck_ok(al_alloc_pd(ca, NULL, &pd));
}

static void tear_down(void)
{
	al_set_log(test_ignore_log, NULL);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

static const struct {
	struct ib_ah_attr attr;
	al_status want;
} paths[] = {
	{ { .dlid = 1, .port_num = 2, .sl = 15, .static_rate = IB_RATE_600_GBPS }, AL_SUCCESS },
	{ { .dlid = 1, .port_num = 1, .is_global = true, .grh = { .sgid_index = 1, .flow_label = 0xfffff } }, AL_SUCCESS },
	{ { .dlid = 1, .port_num = 0 }, AL_INVALID_PORT },
	{ { .dlid = 1, .port_num = 3 }, AL_INVALID_PORT },
	{ { .dlid = 1, .port_num = 1, .sl = 16 }, AL_INVALID_PARAMETER },
	{ { .dlid = 1, .port_num = 1, .static_rate = IB_RATE_600_GBPS + 1 }, AL_INVALID_PARAMETER },
	{ { .dlid = 1, .port_num = 1, .static_rate = 1 }, AL_INVALID_PARAMETER },
	{ { .dlid = 1, .port_num = 1, .pad = 1 }, AL_INVALID_PARAMETER },
	{ { .dlid = 1, .port_num = 1, .reserved = { 0, 1 } }, AL_INVALID_PARAMETER },
	{ { .dlid = 1, .port_num = 1, .is_global = true, .grh = { .sgid_index = 2 } }, AL_INVALID_GID_INDEX },
	{ { .dlid = 1, .port_num = 1, .is_global = true, .grh = { .flow_label = 1 << 20 } }, AL_INVALID_PARAMETER },
};

START_TEST(a_path_is_checked_before_the_module_sees_it)
{
	struct ib_ah_attr good = { .dlid = 9, .port_num = 1 }, found;
	unsigned int calls = fake->calls[FAKE_create_ah];
	al_ah_h ah = (al_ah_h)&al;

	ck_status(al_create_ah(pd, &paths[_i].attr, &ah), paths[_i].want);
	ck_assert_uint_eq(fake->calls[FAKE_create_ah], calls + test_ah_calls(!paths[_i].want));
	ck_assert((ah == (al_ah_h)&al) == (paths[_i].want != AL_SUCCESS));

	ck_ok(al_create_ah(pd, &good, &ah));
	ck_ok(al_modify_ah(ah, &good));
	ck_status(al_modify_ah(ah, &paths[_i].attr), paths[_i].want);
	ck_ok(al_query_ah(ah, &found));
	ck_assert_mem_eq(&found, paths[_i].want ? &good : &paths[_i].attr, sizeof(found));
}
END_TEST

START_TEST(a_missing_pointer_is_refused)
{
	struct ib_ah_attr good = { .dlid = 9, .port_num = 1 };
	al_ah_h ah;

	ck_status(al_create_ah(pd, NULL, &ah), AL_INVALID_PARAMETER);
	ck_status(al_create_ah(pd, &good, NULL), AL_INVALID_PARAMETER);
	ck_ok(al_create_ah(pd, &good, &ah));
	ck_status(al_modify_ah(ah, NULL), AL_INVALID_PARAMETER);
	ck_status(al_query_ah(ah, NULL), AL_INVALID_PARAMETER);
}
END_TEST

START_TEST(as_many_as_the_limits_say_and_not_one_more)
{
	struct ib_ah_attr good = { .dlid = 9, .port_num = 1 };
	al_pd_h second, third;
	al_ah_h ah[4];

	for (int i = 0; i < 3; i++)
		ck_ok(al_create_ah(pd, &good, &ah[i]));
	ck_status(al_create_ah(pd, &good, &ah[3]), AL_LIMIT_EXCEEDED);
	ck_ok(al_destroy_ah(ah[0], AL_DESTROY_SYNC, NULL));
	ck_ok(al_create_ah(pd, &good, &ah[3]));

	ck_ok(al_alloc_pd(ca, NULL, &second));
	ck_status(al_alloc_pd(ca, NULL, &third), AL_LIMIT_EXCEEDED);
	ck_ok(al_dealloc_pd(second, AL_DESTROY_SYNC, NULL));
	ck_ok(al_alloc_pd(ca, NULL, &third));
}
END_TEST

/* --------------------------------------------------------------- reply paths */

/* Writes the GRH of a datagram that came to GID `index` of port 2. */
static void make_grh(uint8_t grh[IB_GRH_BYTES], uint32_t index)
{
	static const uint8_t head[8] = { 0x65, 0xaa, 0xbc, 0xde, 0, 32, 0x1b, 3 };
	ib_gid gid;

	memcpy(grh, head, sizeof(head));
	memset(grh + 8, 0x77, 16);
	gid_of(NULL, 2, index, &gid);
	memcpy(grh + 24, gid.raw, 16);
}

static const struct ib_wc datagram = { .opcode = IB_WC_RECV, .slid = 9, .sl = 5, .dlid_path_bits = 3, .src_qp = 77 };

START_TEST(a_datagram_without_grh_is_answered_by_lid)
{
	struct ib_ah_attr path, want = { .dlid = 9, .sl = 5, .src_path_bits = 3, .port_num = 2 };
	al_ah_h ah;

	ck_ok(al_init_ah_from_wc(ca, 2, &datagram, NULL, &path));
	ck_assert_mem_eq(&path, &want, sizeof(want));
	ck_ok(al_create_ah_from_wc(pd, &datagram, NULL, 2, &ah));
	ck_assert_uint_eq(fake->calls[FAKE_create_ah], test_ah_calls(1));
}
END_TEST

/* --------------------------------------------------------------- Ethernet */

static al_status gid_of_ip4(struct ci_ca *c, uint8_t port, uint32_t index, ib_gid *gid)
{
	(void)c;
	*gid = (ib_gid){ .raw = { [10] = 0xff, [11] = 0xff, 10, 0, port, (uint8_t)index } };
	return AL_SUCCESS;
}

static void set_up_ethernet(void)
{
	fake = test_fake();
	fake->port_attr.link_layer = IB_LINK_LAYER_ETHERNET;
	fake->port_attr.gid_tbl_len = 3;
	fake->ops.query_gid = gid_of_ip4;
	fake->ops.modify_ah = keep;
	al = test_open();
	ca = test_open_ca(al, FAKE_GUID);
	ck_ok(al_alloc_pd(ca, NULL, &pd));
}

START_TEST(a_path_at_an_ethernet_port_needs_a_grh)
{
	struct ib_ah_attr path = { .port_num = 1, .dlid = 5 };
	al_ah_h ah;

	ck_status(al_create_ah(pd, &path, &ah), AL_INVALID_PARAMETER);
	ck_assert(strstr(al_reason(), "the port is Ethernet"));
	path.is_global = true;
	path.dlid = 0;
	ck_ok(al_create_ah(pd, &path, &ah));
}
END_TEST

/* The IPv4 header of a datagram from 10.9.8.7 to x.0.1.2, in the last 20 bytes of the GRH's place. */
static void make_ip4(uint8_t grh[IB_GRH_BYTES], uint8_t x)
{
	const uint8_t ip[20] = { 0x45, 0x5a, 0, 60, 0, 0, 0x40, 0, 63, 17, 0, 0, 10, 9, 8, 7, x, 0, 1, 2 };
	uint32_t sum = 0;

	memset(grh, 0x66, 20); /* as the version of IPv6 */
	memcpy(grh + 20, ip, sizeof(ip));
	for (int i = 0; i < 20; i += 2)
		sum += (uint32_t)ip[i] << 8 | ip[i + 1];
	sum = ~((sum & 0xffff) + (sum >> 16));
	grh[30] = (uint8_t)(sum >> 8);
	grh[31] = (uint8_t)sum;
}

START_TEST(a_datagram_on_ipv4_is_answered_to_its_address)
{
	static const uint8_t sender[16] = { [10] = 0xff, [11] = 0xff, 10, 9, 8, 7 };
	const struct ib_wc wc = { .opcode = IB_WC_RECV, .wc_flags = IB_WC_GRH };
	uint8_t grh[IB_GRH_BYTES];
	struct ib_ah_attr path;

	make_ip4(grh, 10);
	ck_ok(al_init_ah_from_wc(ca, 1, &wc, grh, &path));
	ck_assert(path.is_global);
	ck_assert_uint_eq(path.dlid, 0);
	ck_assert_uint_eq(path.grh.sgid_index, 2);
	ck_assert_uint_eq(path.grh.traffic_class, 0x5a);
	ck_assert_mem_eq(path.grh.dgid.raw, sender, 16);
	grh[36 + 3] = 77; /* nobody's address, and the checksum is wrong: this is no IPv4 header */
	ck_status(al_init_ah_from_wc(ca, 1, &wc, grh, &path), AL_NOT_FOUND);
	memset(grh, 0x55, 20);
	ck_status(al_init_ah_from_wc(ca, 1, &wc, grh, &path), AL_INVALID_PARAMETER);
	make_ip4(grh, 224); /* to a group */
	ck_ok(al_init_ah_from_wc(ca, 1, &wc, grh, &path));
	ck_assert_uint_eq(path.grh.sgid_index, 0);
}
END_TEST

START_TEST(a_reply_to_a_datagram_with_grh_comes_from_the_addressed_gid)
{
	struct ib_wc wc = datagram;
	uint8_t grh[IB_GRH_BYTES];
	struct ib_ah_attr path;
	al_ah_h ah;

	wc.wc_flags = IB_WC_GRH;
	wc.opcode = IB_WC_RECV;
	make_grh(grh, 1);
	ck_ok(al_init_ah_from_wc(ca, 2, &wc, grh, &path));
	ck_assert(path.is_global);
	ck_assert_uint_eq(path.dlid, 9);
	ck_assert_uint_eq(path.grh.sgid_index, 1);
	ck_assert_uint_eq(path.grh.traffic_class, 0x5a);
	ck_assert_uint_eq(path.grh.flow_label, 0xabcde);
	ck_assert_uint_eq(path.grh.hop_limit, 0xff);
	ck_assert_mem_eq(path.grh.dgid.raw, grh + 8, 16);
	ck_ok(al_create_ah_from_wc(pd, &wc, grh, 2, &ah));
	grh[24] = 0xff; /* a multicast GID */
	ck_ok(al_init_ah_from_wc(ca, 2, &wc, grh, &path));
	ck_assert_uint_eq(path.grh.sgid_index, 0);
}
END_TEST

START_TEST(what_shows_no_way_back_is_refused_and_nothing_is_written)
{
	struct ib_wc wc = datagram, bad;
	struct ib_ah_attr path, untouched;
	uint8_t grh[IB_GRH_BYTES];
	al_ah_h ah = NULL;

	memset(&path, 0xa5, sizeof(path));
	untouched = path;
	wc.wc_flags = IB_WC_GRH;
	make_grh(grh, 0);
	ck_status(al_init_ah_from_wc(ca, 2, NULL, grh, &path), AL_INVALID_PARAMETER);
	ck_status(al_init_ah_from_wc(ca, 2, &wc, grh, NULL), AL_INVALID_PARAMETER);
	ck_status(al_create_ah_from_wc(pd, &wc, grh, 2, NULL), AL_INVALID_PARAMETER);
	ck_status(al_init_ah_from_wc(ca, 0, &wc, grh, &path), AL_INVALID_PORT);
	ck_status(al_init_ah_from_wc(ca, 3, &wc, grh, &path), AL_INVALID_PORT);
	ck_status(al_create_ah_from_wc(pd, &wc, grh, 3, &ah), AL_INVALID_PORT);
	ck_status(al_init_ah_from_wc((al_ca_h)pd, 2, &wc, grh, &path), AL_INVALID_HANDLE);
	ck_status(al_init_ah_from_wc(ca, 2, &wc, NULL, &path), AL_INVALID_PARAMETER);
	bad = wc;
	bad.status = IB_WC_WR_FLUSH_ERR;
	ck_status(al_init_ah_from_wc(ca, 2, &bad, grh, &path), AL_INVALID_PARAMETER);
	bad = wc;
	bad.opcode = IB_WC_SEND;
	ck_status(al_init_ah_from_wc(ca, 2, &bad, grh, &path), AL_INVALID_PARAMETER);
	bad = wc;
	bad.sl = 16;
	ck_status(al_init_ah_from_wc(ca, 2, &bad, grh, &path), AL_INVALID_PARAMETER);
	ck_status(al_init_ah_from_wc(ca, 1, &wc, grh, &path), AL_NOT_FOUND); /* the other port's GID */
	grh[0] = 0x45;
	ck_status(al_init_ah_from_wc(ca, 2, &wc, grh, &path), AL_INVALID_PARAMETER);
	make_grh(grh, 0);
	memset(grh + 24, 0, 16); /* no GID */
	ck_status(al_create_ah_from_wc(pd, &wc, grh, 2, &ah), AL_NOT_FOUND);
	ck_assert_mem_eq(&path, &untouched, sizeof(path));
	ck_assert_ptr_null(ah);
	ck_assert_uint_eq(fake->calls[FAKE_create_ah], 0);
}
END_TEST

/* A GID lookup before and after the event of a GID change. */
struct change {
	struct ib_wc wc;
	uint8_t before[IB_GRH_BYTES], after[IB_GRH_BYTES];
	al_status old, new;
	sem_t told;
};

static void look_up(void *context, const struct al_event *event)
{
	struct change *change = context;
	struct ib_ah_attr path;

	if (event->type == IB_EVENT_GID_CHANGE) {
		change->old = al_init_ah_from_wc(ca, 2, &change->wc, change->before, &path);
		change->new = al_init_ah_from_wc(ca, 2, &change->wc, change->after, &path);
	}
	sem_post(&change->told);
}

static void raise_and_wait(struct change *change, ib_event_type type, uint8_t port)
{
	const struct ci_event event = { .type = type, .port_num = port, .object_ctx = fake->ca[0]->ctx };

	ib_dispatch_event(&event);
	test_wait(&change->told);
}

START_TEST(a_changed_gid_is_found_after_its_event)
{
	struct change change = { .wc = datagram };
	uint8_t none[IB_GRH_BYTES];
	struct ib_ah_attr path;
	al_event_handler_h handler;

	sem_init(&change.told, 0, 0);
	change.wc.wc_flags = IB_WC_GRH;
	make_grh(change.before, 1);
	prefix = 7;
	make_grh(change.after, 1);
	ck_ok(al_reg_event_handler(ca, NULL, &change, look_up, &handler));
	/* Until the event of a GID change the library keeps the table. */
	raise_and_wait(&change, IB_EVENT_LID_CHANGE, 2);
	ck_ok(al_init_ah_from_wc(ca, 2, &change.wc, change.before, &path));
	ck_status(al_init_ah_from_wc(ca, 2, &change.wc, change.after, &path), AL_NOT_FOUND);
	raise_and_wait(&change, IB_EVENT_GID_CHANGE, 1); /* an event of another port */
	ck_ok(change.old);
	ck_status(change.new, AL_NOT_FOUND);
	raise_and_wait(&change, IB_EVENT_GID_CHANGE, 2);
	ck_status(change.old, AL_NOT_FOUND);
	ck_ok(change.new);

	/*
	 * While the module's query fails, the GID is not found; later the GID is found again. An event without a port
	 * concerns all ports.
	 */
	fake->fail[FAKE_query_gid] = AL_CA_ERROR;
	raise_and_wait(&change, IB_EVENT_GID_CHANGE, 2);
	ck_status(change.new, AL_NOT_FOUND);
	memcpy(none, change.after, sizeof(none));
	memset(none + 24, 0, 16); /* the zero GID is not found, though no entry is known */
	ck_status(al_init_ah_from_wc(ca, 2, &change.wc, none, &path), AL_NOT_FOUND);
	fake->fail[FAKE_query_gid] = AL_SUCCESS;
	raise_and_wait(&change, IB_EVENT_GID_CHANGE, 0);
	ck_ok(change.new);
	prefix = 0;
}
END_TEST

START_TEST(of_an_hca_that_has_gone_nothing_is_looked_up)
{
	struct ib_wc wc = datagram;
	uint8_t grh[IB_GRH_BYTES];
	struct ib_ah_attr path;
	al_ah_h ah;

	wc.wc_flags = IB_WC_GRH;
	make_grh(grh, 1);
	al_set_log(test_ignore_log, NULL);
	fake->withdraw(0, 0);
	ck_soon(al_create_ah_from_wc(pd, &wc, grh, 2, &ah) == AL_CA_REMOVED);
	ck_status(al_init_ah_from_wc(ca, 2, &wc, grh, &path), AL_CA_REMOVED);
}
END_TEST

static struct {
	al_status create, modify, query, destroy, way_back, answer, no_answer;
	uint16_t sgid_index;
	sem_t called, destroyed;
} anywhere;

/* Runs in an atomic callback. */
static void call_everything(void *context)
{
	struct ib_ah_attr path = { .dlid = 9, .port_num = 1 }, back = { 0 };
	struct ib_wc wc = datagram;
	uint8_t grh[IB_GRH_BYTES];
	al_ah_h ah;

	(void)context;
	wc.wc_flags = IB_WC_GRH;
	make_grh(grh, 1);
	anywhere.way_back = al_init_ah_from_wc(ca, 2, &wc, grh, &back);
	anywhere.sgid_index = back.grh.sgid_index;
	anywhere.answer = al_create_ah_from_wc(pd, &wc, grh, 2, &ah);
	al_destroy_ah(ah, NULL, NULL);
	make_grh(grh, 2);
	anywhere.no_answer = al_create_ah_from_wc(pd, &wc, grh, 2, &ah);
	anywhere.create = al_create_ah(pd, &path, &ah);
	anywhere.modify = al_modify_ah(ah, &path);
	anywhere.query = al_query_ah(ah, &path);
	anywhere.destroy = al_destroy_ah(ah, test_post, &anywhere.destroyed);
	sem_post(&anywhere.called);
}

/* Seed 000 */
START_TEST(address_handles_are_made_changed_asked_and_destroyed_in_any_context)
{
	struct al_cq_init init = { .cqe = 4 };
	al_cq_h cq;

	sem_init(&anywhere.called, 0, 0);
	sem_init(&anywhere.destroyed, 0, 0);
	ck_ok(al_create_cq(pd, &init, NULL, call_everything, NULL, &cq));
	ck_ok(al_arm_cq(cq, AL_ARM_ANY, NULL));
	fake->complete(fake->last_cq, &(const struct ib_wc){ .wr_id = 1 });
	test_wait(&anywhere.called);
	ck_ok(anywhere.create);
	ck_ok(anywhere.modify);
	ck_ok(anywhere.query);
	ck_ok(anywhere.destroy);
	ck_ok(anywhere.way_back);
	ck_assert_uint_eq(anywhere.sgid_index, 1);
	ck_ok(anywhere.answer);
	ck_status(anywhere.no_answer, AL_NOT_FOUND);
	test_wait(&anywhere.destroyed);
	ck_assert_uint_eq(fake->calls[FAKE_create_ah], test_ah_calls(2));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("al/verbs/ah");
	TCase *tcase = tcase_create("address handles, domains");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_loop_test(tcase, a_path_is_checked_before_the_module_sees_it, 0, sizeof(paths) / sizeof(paths[0]));
	tcase_add_test(tcase, a_missing_pointer_is_refused);
	tcase_add_test(tcase, as_many_as_the_limits_say_and_not_one_more);
	tcase_add_test(tcase, a_datagram_without_grh_is_answered_by_lid);
	tcase_add_test(tcase, a_reply_to_a_datagram_with_grh_comes_from_the_addressed_gid);
	tcase_add_test(tcase, what_shows_no_way_back_is_refused_and_nothing_is_written);
	tcase_add_test(tcase, a_changed_gid_is_found_after_its_event);
	tcase_add_test(tcase, of_an_hca_that_has_gone_nothing_is_looked_up);
	tcase_add_test(tcase, address_handles_are_made_changed_asked_and_destroyed_in_any_context);
	suite_add_tcase(suite, tcase);
	tcase = tcase_create("address handles at Ethernet ports");
	tcase_add_checked_fixture(tcase, set_up_ethernet, tear_down);
	tcase_add_test(tcase, a_path_at_an_ethernet_port_needs_a_grh);
	tcase_add_test(tcase, a_datagram_on_ipv4_is_answered_to_its_address);
	suite_add_tcase(suite, tcase);
	return test_run(suite);
}
