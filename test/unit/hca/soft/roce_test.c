/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Ethernet ports (link_layer=ethernet): RoCEv2's addresses, routing by GID alone, the IPv4 header in the place of the
 * GRH, states, groups, captures and injected frames (IBTA annex A17). The settings are in config_test.c.
 */
#include <stdio.h>
#include <unistd.h>

#include "hca/soft/packet/wire.h"

#include "ud_test.h"

#define ETHERNET "link_layer=ethernet "
#define LINK_LOCAL 0 /* entries of the GID tables */
#define IPV4 1

static ib_gid gid_of(int h, uint32_t index)
{
	ib_gid gid;

	ck_assert_int_eq(ops->query_gid(hca[h].ca, 1, index, &gid), AL_SUCCESS);
	return gid;
}

/* gid: 32 hexadecimal digits, with colons anywhere. */
static void expect_gid(const struct hca *h, uint8_t port, uint32_t index, const char *gid)
{
	char digit[2] = "";
	uint8_t raw[16] = { 0 };
	ib_gid found;
	int n = 0;

	for (; *gid; gid++) {
		digit[0] = *gid;
		if (*gid == ':')
			continue;
		raw[n / 2] = (uint8_t)(raw[n / 2] << 4 | strtoul(digit, NULL, 16));
		n++;
	}
	ck_assert_int_eq(n, 32);
	ck_assert_int_eq(ops->query_gid(h->ca, port, index, &found), AL_SUCCESS);
	ck_assert_mem_eq(found.raw, raw, sizeof(raw));
}

/* The path from HCA 0 to HCA 1 between entries of their tables. */
static struct ib_ah_attr path_by(uint32_t sgid, uint32_t dgid)
{
	return (struct ib_ah_attr){
		.is_global = true,
		.port_num = 1,
		.grh = { .dgid = gid_of((int)hcas - 1, dgid),
			 .sgid_index = (uint16_t)sgid,
			 .hop_limit = 63,
			 .traffic_class = 0x5a,
			 .flow_label = 0xabcde },
	};
}

static void lead(const struct ib_ah_attr *path)
{
	ck_assert_int_eq(ops->modify_ah(ah, path), AL_SUCCESS);
}

START_TEST(a_port_has_the_attributes_of_roce)
{
	struct ib_port_attr port;
	uint16_t pkey;

	up(ETHERNET "[hca 0] mac=02:00:5e:10:00:01 ip=10.1.2.3,2001:db8::7");
	port = port_of(&hca[0], 1);
	ck_assert_int_eq(port.link_layer, IB_LINK_LAYER_ETHERNET);
	ck_assert_int_eq(port.state, IB_PORT_ACTIVE);
	ck_assert_uint_eq(port.lid, 0);
	ck_assert_uint_eq(port.lmc, 0);
	ck_assert_uint_eq(port.sm_lid, 0);
	ck_assert_uint_eq(port.pkey_tbl_len, 1);
	ck_assert_int_eq(ops->query_pkey(hca[0].ca, 1, 0, &pkey), AL_SUCCESS);
	ck_assert_uint_eq(pkey, 0xffff);
	/* bit 1 of the first byte is the other way round than in the MAC address */
	expect_gid(&hca[0], 1, 0, "fe80000000000000:00005efffe100001");
	expect_gid(&hca[0], 1, 1, "00000000000000000000ffff:0a010203");
	expect_gid(&hca[0], 1, 2, "20010db8000000000000000000000007");
	expect_gid(&hca[0], 1, 3, "00000000000000000000000000000000");
	expect_gid(&hca[1], 1, 1, "00000000000000000000ffff:c6120101");
	down();
}
END_TEST

START_TEST(the_ports_of_an_hca_have_addresses_in_turn)
{
	up(ETHERNET "ports=2 [hca 0] mac=02:00:5e:10:00:01 ip=10.1.2.3");
	expect_gid(&hca[0], 2, 0, "fe80000000000000:00005efffe100002");
	expect_gid(&hca[0], 2, 1, "00000000000000000000ffff:0a010204");
	down();
}
END_TEST

/* _i: entry of the tables. By the shortcut and by packets. */
START_TEST(a_connection_leads_by_gid)
{
	struct ib_sge sge;
	struct pair c;
	uint32_t i;

	up(ETHERNET);
	pair_up(&c, &(struct qp_options){ .gid = (uint8_t)_i }, SIZE);
	fill(c.am->buf, SIZE, 7);
	for (i = 0; i < 4; i++) {
		rdma(&c, IB_WR_RDMA_WRITE, i, 0, 0, i % 2 ? 8 : SIZE);
		expect_wc(c.acq, i, IB_WC_SUCCESS);
	}
	ck_assert_mem_eq(c.bm->buf, c.am->buf, SIZE);
	memset(c.am->buf, 0, SIZE);
	rdma(&c, IB_WR_RDMA_READ, 9, 0, 0, SIZE);
	expect_wc(c.acq, 9, IB_WC_SUCCESS);
	ck_assert_mem_eq(c.bm->buf, c.am->buf, SIZE);
	sge = sge_of(c.bm, 0, 64);
	post_recv(c.b, 10, &sge, 1);
	sge = sge_of(c.am, 64, 64);
	post(c.a, &(struct ib_send_wr){ .wr_id = 11,
					.opcode = IB_WR_SEND,
					.send_flags = IB_SEND_SIGNALED,
					.sg_list = &sge,
					.num_sge = 1 });
	expect_wc(c.acq, 11, IB_WC_SUCCESS);
	expect_wc(c.bcq, 10, IB_WC_SUCCESS);
	ck_assert_mem_eq(c.bm->buf, c.am->buf + 64, 64);
	pair_down(&c);
	down();
}
END_TEST

/* The peer was told of the first GID, and the packets come from the second. _i: a rule of faults keeps the message
 * from the shortcut. */
START_TEST(packets_from_another_gid_are_not_the_peers)
{
	struct qp_options o = { .retry_cnt = 1, .timeout = 8, .gid = IPV4 };
	struct pair c;

	up(ETHERNET "[hca 0] ip=10.0.0.1,10.0.0.3 [hca 1] ip=10.0.0.2,10.0.0.4");
	pair_up(&c, &o, 4096);
	if (_i)
		fault(&hca[0], (struct soft_fault){ .action = SOFT_FAULT_DROP, .n = 1000000 });
	rdma(&c, IB_WR_RDMA_WRITE, 1, 0, 0, 8);
	expect_wc(c.acq, 1, IB_WC_SUCCESS);
	ck_assert_int_eq(modify(c.a, IB_QPS_RESET, 0, NULL), AL_SUCCESS);
	to_init(c.a, &o);
	{
		struct ib_qp_attr attr = { .path_mtu = IB_MTU_256,
					   .dest_qp_num = c.b->ci->qp_num,
					   .ah_attr = path_by(IPV4 + 1, IPV4),
					   .rq_psn = o.psn,
					   .max_dest_rd_atomic = 4,
					   .min_rnr_timer = 1 };

		ck_assert_int_eq(modify(c.a, IB_QPS_RTR,
					IB_QP_AV | IB_QP_PATH_MTU | IB_QP_RQ_PSN | IB_QP_DEST_QPN |
						IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER,
					&attr),
				 AL_SUCCESS);
	}
	o.psn = 1; /* which b expects next, so that nothing but the address is wrong */
	to_rts(c.a, &o);
	rdma(&c, IB_WR_RDMA_WRITE, 2, 0, 0, 8);
	expect_wc(c.acq, 2, IB_WC_RETRY_EXC_ERR);
	pair_down(&c);
	down();
}
END_TEST

/* ip: IB_WC_IP4 or IB_WC_IP6. */
static void pass_one(uint32_t length, uint32_t ip)
{
	struct ib_wc wc;

	memset(p.bm->buf, 0xee, GRH);
	receive(2, SIZE);
	send(1, length);
	wc = expect_wc(p.bcq, 2, IB_WC_SUCCESS);
	ck_assert_uint_eq(wc.wc_flags, IB_WC_GRH | ip);
	ck_assert_uint_eq(wc.byte_len, GRH + length);
	ck_assert_uint_eq(wc.slid, 0);
	ck_assert_uint_eq(wc.dlid_path_bits, 0);
	ck_assert_mem_eq(p.bm->buf + GRH, p.am->buf, length);
}

START_TEST(a_datagram_on_ipv6_has_its_ip_header_in_the_place_of_the_grh)
{
	struct ib_ah_attr path;
	ib_gid own;

	start(ETHERNET, NULL);
	path = path_by(LINK_LOCAL, LINK_LOCAL);
	lead(&path);
	pass_one(101, IB_WC_IP6);
	own = gid_of(0, LINK_LOCAL);
	ck_assert_uint_eq(be(p.bm->buf, 4), 0x65aabcdeu);
	ck_assert_uint_eq(be(p.bm->buf + 4, 2), 8 + 12 + 8 + 104 + 4); /* UDP BTH DETH, padded payload, ICRC */
	ck_assert_uint_eq(be(p.bm->buf + 6, 1), 17);
	ck_assert_uint_eq(be(p.bm->buf + 7, 1), 63);
	ck_assert_mem_eq(p.bm->buf + 8, own.raw, 16);
	ck_assert_mem_eq(p.bm->buf + 24, path.grh.dgid.raw, 16);
	finish();
}
END_TEST

START_TEST(a_datagram_on_ipv4_has_its_ip_header_at_the_end_of_the_grh)
{
	const char *ip;
	struct ib_ah_attr path;
	uint32_t sum = 0;
	int i;

	start(ETHERNET, NULL);
	path = path_by(IPV4, IPV4);
	lead(&path);
	pass_one(8, IB_WC_IP4);
	ip = p.bm->buf + GRH - 20;
	ck_assert_uint_eq(be(ip, 2), 0x455a);
	ck_assert_uint_eq(be(ip + 2, 2), 20 + 8 + 12 + 8 + 8 + 4);
	ck_assert_uint_eq(be(ip + 8, 2), 63 << 8 | 17);
	ck_assert_uint_eq(be(ip + 12, 4), 0xc6120001); /* 198.18.0.1 */
	ck_assert_uint_eq(be(ip + 16, 4), 0xc6120101);
	for (i = 0; i < 20; i += 2)
		sum += be(ip + i, 2);
	ck_assert_uint_eq((sum & 0xffff) + (sum >> 16), 0xffff);
	path.grh.hop_limit = 0;
	lead(&path);
	pass_one(8, IB_WC_IP4);
	ck_assert_uint_eq(be(ip + 8, 1), 64);
	finish();
}
END_TEST

/* IPv4 does not meet IPv6, and a GID of nobody leads nowhere. */
START_TEST(a_datagram_for_nobody_is_dropped)
{
	struct ib_ah_attr path;

	start(ETHERNET, NULL);
	receive(1, 100);
	path = path_by(IPV4, LINK_LOCAL);
	lead(&path);
	send(2, 8);
	path = path_by(LINK_LOCAL, IPV4);
	lead(&path);
	send(3, 8);
	path.grh.dgid.raw[15] ^= 1;
	path.grh.sgid_index = IPV4;
	lead(&path);
	send(4, 8);
	check_silence(0);
	path = path_by(IPV4, IPV4);
	path.dlid = 0x77; /* which Ethernet does not have */
	lead(&path);
	send(5, 8);
	expect_wc(p.bcq, 1, IB_WC_SUCCESS);
	finish();
}
END_TEST

START_TEST(a_port_reaches_itself)
{
	struct ib_ah_attr path;

	start(ETHERNET "hcas=1", NULL);
	path = path_by(IPV4, IPV4);
	lead(&path);
	pass_one(50, IB_WC_IP4);
	finish();
}
END_TEST

START_TEST(a_port_that_comes_up_is_active_at_once)
{
	start(ETHERNET, NULL);
	ck_assert_int_eq(vendor(&hca[0], SOFT_PORT_DOWN, &(uint32_t){ 1 },
				sizeof(uint32_t)),
			 AL_SUCCESS);
	ck_assert_int_eq(port_of(&hca[1], 1).state, IB_PORT_DOWN);
	ck_assert_int_eq(vendor(&hca[0], SOFT_PORT_UP, &(uint32_t){ 1 },
				sizeof(uint32_t)),
			 AL_SUCCESS);
	ck_assert_int_eq(port_of(&hca[1], 1).state, IB_PORT_ACTIVE);
	ck_assert_str_eq(port_ladder[0], "DA");
	ck_assert_str_eq(port_ladder[1], "DA");
	finish();
}
END_TEST

/* A group is its GID; the LID of a program does not count. */
START_TEST(a_group_is_its_gid_alone)
{
	static const ib_gid group = { { 0xff, 0x0e, [10] = 0xff, [11] = 0xff, 239, 1, 2, 3 } };
	struct ib_ah_attr path;
	struct ib_send_wr wr;
	struct ib_sge sge;

	start(ETHERNET, NULL);
	ck_assert_int_eq(ops->attach_mcast(p.b->ci, &group, 0xc001), AL_SUCCESS);
	ck_assert_int_eq(ops->attach_mcast(p.b->ci, &group, 0), AL_SUCCESS); /* the same */
	path = path_by(IPV4, IPV4);
	path.grh.dgid = group;
	path.dlid = 0xc002; /* which Ethernet does not have */
	lead(&path);
	receive(1, 1000);
	receive(2, 1000);
	sge = sge_of(p.am, 0, 77);
	wr = datagram(3, &sge, IB_SEND_SIGNALED);
	wr.wr.ud.remote_qpn = IB_QPN_MULTICAST;
	post(p.a, &wr);
	expect_wc(p.acq, 3, IB_WC_SUCCESS);
	expect_wc(p.bcq, 1, IB_WC_SUCCESS);
	ck_assert_mem_eq(p.bm->buf + GRH, p.am->buf, 77);
	expect_empty(p.bcq);
	ck_assert_int_eq(ops->detach_mcast(p.b->ci, &group, 0), AL_SUCCESS);
	ck_assert_int_eq(ops->detach_mcast(p.b->ci, &group, 0xc001), AL_NOT_FOUND);
	post(p.a, &wr);
	expect_wc(p.acq, 3, IB_WC_SUCCESS);
	expect_empty(p.bcq);
	finish();
}
END_TEST

/* Without links of the configuration, a cable joins ports of one link layer only. */
START_TEST(ports_of_two_link_layers_keep_their_loopback_plugs)
{
	struct ib_ah_attr path;

	start("[hca 0] link_layer=ethernet", NULL);
	ck_assert_int_eq(port_of(&hca[0], 1).link_layer, IB_LINK_LAYER_ETHERNET);
	ck_assert_int_eq(port_of(&hca[1], 1).link_layer, IB_LINK_LAYER_INFINIBAND);
	path = (struct ib_ah_attr){ .is_global = true,
				    .port_num = 1,
				    .dlid = port_of(&hca[1], 1).lid,
				    .grh = { .dgid = gid_of(1, 0) } };
	lead(&path);
	receive(1, 100);
	send(2, 8);
	check_silence(0);
	finish();
}
END_TEST

START_TEST(there_is_no_queue_pair_0)
{
	const struct qp_options smi = { .type = IB_QPT_SMI }, gsi = { .type = IB_QPT_GSI };
	struct cq *cq;
	struct qp *qp;

	up(ETHERNET);
	cq = new_cq(&hca[0], 16, AL_CQ_NOTIFY_PENDING);
	ck_assert_int_eq(try_qp(&hca[0], cq, cq, &smi, &qp), AL_UNSUPPORTED);
	qp = new_qp(&hca[0], cq, cq, &gsi);
	free_qp(qp);
	free_cq(cq);
	down();
}
END_TEST

/* ------------------------------------------------------------- frames on the wire */

static struct soft_injected inject_frame(const struct wire_packet *w, int bad_byte)
{
	uint8_t bytes[WIRE_MAX_BYTES];
	size_t len = wire_encode(w, bytes, sizeof(bytes));

	ck_assert_uint_gt(len, 0);
	if (bad_byte >= 0)
		bytes[bad_byte] ^= 1;
	return inject_bytes(&hca[1], bytes, len);
}

/* A datagram from HCA 0 to queue pair b, on IPv4 or IPv6. */
static struct wire_packet frame(uint32_t entry)
{
	const ib_gid from = gid_of(0, entry), to = gid_of(1, entry);
	struct wire_packet w = {
		.framing = entry == IPV4 ? WIRE_ROCE4 : WIRE_ROCE6,
		.grh.hop_limit = 9,
		.ip4 = { .ttl = 9, .dont_fragment = true },
		.udp.src_port = 0xc123,
		.bth = { .opcode = 0x64, .migrated = true, .pkey = 0xffff, .dest_qpn = p.b->ci->qp_num },
		.deth = { .qkey = QKEY, .src_qpn = p.a->ci->qp_num },
		.payload = (const uint8_t *)p.am->buf,
		.length = 60,
	};

	memcpy(w.grh.sgid, from.raw, 16);
	memcpy(w.grh.dgid, to.raw, 16);
	memcpy(w.ip4.src, from.raw + 12, 4);
	memcpy(w.ip4.dst, to.raw + 12, 4);
	return w;
}

START_TEST(a_frame_from_the_wire_is_received)
{
	struct wire_packet w;

	start(ETHERNET, NULL);
	w = frame((uint32_t)_i);
	receive(1, 1000);
	ck_assert_int_eq(inject_frame(&w, -1).outcome, SOFT_INJECT_DELIVERED);
	ck_assert_uint_eq(expect_wc(p.bcq, 1, IB_WC_SUCCESS).src_qp, p.a->ci->qp_num);
	ck_assert_mem_eq(p.bm->buf + GRH, p.am->buf, 60);
	ck_assert_int_eq(inject_frame(&w, 70).outcome, SOFT_INJECT_MALFORMED);
	w.grh.dgid[15] ^= 1;
	w.ip4.dst[3] ^= 1;
	ck_assert_int_eq(inject_frame(&w, -1).outcome, SOFT_INJECT_STRAY);
	w = frame((uint32_t)_i);
	w.grh.sgid[15] ^= 1;
	w.ip4.src[3] ^= 0x40;
	ck_assert_int_eq(inject_frame(&w, -1).outcome, SOFT_INJECT_STRAY);
	w.framing = WIRE_IB;
	w.lrh.dlid = w.lrh.slid = 1;
	ck_assert_int_eq(inject_frame(&w, -1).outcome, SOFT_INJECT_MALFORMED);
	finish();
}
END_TEST

/* A fault rule damages packets of a connection: the receiver drops each damaged packet, whichever header or payload has the damage, and
 * the requester sends the packet again. */
START_TEST(damaged_frames_are_sent_again)
{
	struct pair c;
	uint32_t i;

	up(ETHERNET "seed=3");
	pair_up(&c, &(struct qp_options){ .gid = (uint8_t)_i, .timeout = 6 }, SIZE);
	fill(c.am->buf, SIZE, 9);
	fault(&hca[0], (struct soft_fault){ .action = SOFT_FAULT_CORRUPT, .chance = 125000 });
	for (i = 0; i < 200; i++) {
		rdma(&c, IB_WR_RDMA_WRITE, i, i * 1000, i * 1000, 1000);
		expect_wc(c.acq, i, IB_WC_SUCCESS);
	}
	ck_assert_mem_eq(c.bm->buf, c.am->buf, 200000);
	ck_assert_uint_gt(counters(&hca[1]).rcv_errors, 0);
	pair_down(&c);
	down();
}
END_TEST

/* _i: entry of the tables. */
START_TEST(a_capture_has_ethernet_frames)
{
	char path[] = "/tmp/roce_test.XXXXXX", settings[200];
	const int fd = mkstemp(path);
	struct ib_ah_attr to;
	struct wire_packet w;
	static uint8_t file[8192];
	uint32_t at, len, frames = 0;
	ssize_t size;

	ck_assert_int_ge(fd, 0);
	snprintf(settings, sizeof(settings),
		 ETHERNET "[hca 0] capture=%s mac=02:00:5e:10:00:01 [hca 1] mac=02:00:5e:10:00:02", path);
	start(settings, NULL);
	to = path_by((uint32_t)_i, (uint32_t)_i);
	lead(&to);
	pass_one(33, _i == IPV4 ? IB_WC_IP4 : IB_WC_IP6);
	finish();
	size = read(fd, file, sizeof(file));
	ck_assert_int_gt(size, 0);
	for (at = 0; at < (uint32_t)size; at += len) {
		uint32_t type, bytes;

		memcpy(&type, file + at, 4);
		memcpy(&len, file + at + 4, 4);
		if (type == 1)
			ck_assert_uint_eq(file[at + 8], 1); /* LINKTYPE_ETHERNET */
		if (type != 6)
			continue;
		memcpy(&bytes, file + at + 20, 4);
		ck_assert_int_eq(wire_decode(&w, WIRE_ROCE6, file + at + 28, bytes), WIRE_OK);
		frames++;
	}
	ck_assert_uint_eq(frames, 1);
	ck_assert_mem_eq(w.eth.src, "\x02\x00\x5e\x10\x00\x01", 6);
	ck_assert_mem_eq(w.eth.dst, "\x02\x00\x5e\x10\x00\x02", 6);
	ck_assert_int_eq(w.framing, _i == IPV4 ? WIRE_ROCE4 : WIRE_ROCE6);
	ck_assert_uint_ge(w.udp.src_port, 0xc000);
	ck_assert_uint_eq(w.length, 33);
	ck_assert_uint_eq(w.deth.qkey, QKEY);
	close(fd);
	unlink(path);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("roce");
	TCase *t = tcase_create("roce");

	tcase_add_test(t, a_port_has_the_attributes_of_roce);
	tcase_add_test(t, the_ports_of_an_hca_have_addresses_in_turn);
	tcase_add_loop_test(t, a_connection_leads_by_gid, 0, 2);
	tcase_add_loop_test(t, packets_from_another_gid_are_not_the_peers, 0, 2);
	tcase_add_test(t, a_datagram_on_ipv6_has_its_ip_header_in_the_place_of_the_grh);
	tcase_add_test(t, a_datagram_on_ipv4_has_its_ip_header_at_the_end_of_the_grh);
	tcase_add_test(t, a_datagram_for_nobody_is_dropped);
	tcase_add_test(t, a_port_reaches_itself);
	tcase_add_test(t, a_port_that_comes_up_is_active_at_once);
	tcase_add_test(t, a_group_is_its_gid_alone);
	tcase_add_test(t, ports_of_two_link_layers_keep_their_loopback_plugs);
	tcase_add_test(t, there_is_no_queue_pair_0);
	tcase_add_loop_test(t, a_frame_from_the_wire_is_received, 0, 2);
	tcase_add_loop_test(t, damaged_frames_are_sent_again, 0, 2);
	tcase_add_loop_test(t, a_capture_has_ethernet_frames, 0, 2);
	suite_add_tcase(s, t);
	return run_suite(s);
}
