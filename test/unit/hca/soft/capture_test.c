/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Captures: the file has every packet that a port sends or receives, with the headers and the payload of the packet.
 * The tests read the files by hand, and the packets with the codec.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hca/soft/packet/wire.h"
#include "harness.h"

#define MTU       256
#define MAX_SHOWN 4096

enum direction { IN = 1, OUT = 2 };

/* A packet as the file shows it. */
struct shown {
	uint32_t interface, direction;
	uint64_t ns;
	struct wire_packet pkt;
};

static struct pair p;
static char path[64];
static uint8_t *file; /* the file's bytes; packets' payloads point into these */
static size_t file_len;
static char names[4][32]; /* names of interfaces */
static uint32_t interfaces;
static struct shown shown[MAX_SHOWN];
static uint32_t num;

static void setup(void)
{
	snprintf(path, sizeof(path), "/tmp/capture_test.%d", getpid());
}

static void teardown(void)
{
	unlink(path);
	free(file);
	file = NULL;
}

static uint32_t get32(const uint8_t *from)
{
	uint32_t value;

	memcpy(&value, from, sizeof(value));
	return value;
}

static uint16_t get16(const uint8_t *from)
{
	uint16_t value;

	memcpy(&value, from, sizeof(value));
	return value;
}

/* Value of a block's option; NULL: the block has no such option. */
static const uint8_t *option(const uint8_t *from, const uint8_t *end, uint16_t code, uint16_t *len)
{
	while (from + 4 <= end && get16(from)) {
		*len = get16(from + 2);
		if (get16(from) == code)
			return from + 4;
		from += 4 + ((*len + 3u) & ~3u);
	}
	return NULL;
}

static void read_interface(const uint8_t *block, const uint8_t *end)
{
	const uint8_t *value;
	uint16_t len;

	ck_assert_uint_lt(interfaces, 4);
	ck_assert_uint_eq(get16(block + 8), 197);
	value = option(block + 16, end, 9, &len);
	ck_assert(value && len == 1 && *value == 9); /* time stamps are in nanoseconds */
	value = option(block + 16, end, 2, &len);
	ck_assert_ptr_nonnull(value);
	snprintf(names[interfaces++], sizeof(names[0]), "%.*s", len, (const char *)value);
}

static void read_packet(const uint8_t *block, const uint8_t *end)
{
	struct shown *s = &shown[num++];
	const uint8_t *erf = block + 28, *value;
	uint64_t fraction, seconds;
	enum wire_refusal why;
	uint32_t data = get32(block + 20);
	uint16_t len;

	ck_assert_uint_lt(num, MAX_SHOWN);
	s->interface = get32(block + 8);
	ck_assert_uint_lt(s->interface, interfaces);
	s->ns = (uint64_t)get32(block + 12) << 32 | get32(block + 16);
	ck_assert_uint_eq(data, get32(block + 24));
	value = option(erf + ((data + 3) & ~3u), end, 2, &len);
	ck_assert(value && len == 4);
	s->direction = get32(value) & 3;
	fraction = get32(erf);
	seconds = get32(erf + 4);
	ck_assert_uint_eq(seconds * 1000000000 + (fraction * 1000000000 >> 32), s->ns);
	ck_assert_uint_eq(erf[8], 21);
	ck_assert_uint_eq((uint32_t)erf[10] << 8 | erf[11], data);
	ck_assert_uint_eq((uint32_t)erf[14] << 8 | erf[15], data - 16);
	why = wire_decode(&s->pkt, WIRE_IB, erf + 16, data - 16);
	ck_assert_msg(!why, "packet %u: %s", num, wire_refusal_text(why));
}

static void read_file(void)
{
	const uint8_t *at, *end;
	struct stat st;
	FILE *f = fopen(path, "rb");

	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fstat(fileno(f), &st), 0);
	file_len = (size_t)st.st_size;
	file = malloc(file_len);
	ck_assert_uint_eq(fread(file, 1, file_len, f), file_len);
	fclose(f);
	interfaces = num = 0;
	for (at = file; at < file + file_len; at += get32(at + 4)) {
		end = at + get32(at + 4);
		ck_assert(end <= file + file_len && get32(end - 4) == get32(at + 4));
		if (at == file)
			ck_assert(get32(at) == 0x0a0d0d0a && get32(at + 8) == 0x1a2b3c4d);
		else if (get32(at) == 1)
			read_interface(at, end - 4);
		else if (get32(at) == 6)
			read_packet(at, end - 4);
		else
			ck_abort_msg("block of type %u", get32(at));
	}
}

static uint32_t count(uint32_t interface, uint32_t direction)
{
	uint32_t i, n = 0;

	for (i = 0; i < num; i++)
		n += shown[i].interface == interface && shown[i].direction == direction;
	return n;
}

static al_status capture(struct hca *h, uint32_t port, const char *name)
{
	struct soft_capture c = { .port = port };

	snprintf(c.path, sizeof(c.path), "%s", name);
	return vendor(h, SOFT_CAPTURE_START, &c, sizeof(c));
}

static al_status stop(struct hca *h, uint32_t port)
{
	return vendor(h, SOFT_CAPTURE_STOP, &port, sizeof(port));
}

/* One message of each operation, each of several packets where the operation permits that. */
static void traffic(void)
{
	struct ib_sge from = sge_of(p.am, 0, 5 * MTU - 1), to = sge_of(p.bm, 8192, 8192);
	struct ib_sge small = sge_of(p.am, 65536, 8);
	struct ib_send_wr wr;

	fill(p.am->buf, 8192, 1);
	post_recv(p.b, 1, &to, 1);
	post_recv(p.b, 2, &to, 1);
	post_recv(p.b, 3, &to, 1);
	wr = send_wr(1, IB_WR_SEND, &from, IB_SEND_SIGNALED | IB_SEND_SOLICITED);
	post(p.a, &wr);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	wr = send_wr(2, IB_WR_SEND_WITH_IMM, &from, IB_SEND_SIGNALED);
	wr.ex.imm_data = 0x12345678;
	post(p.a, &wr);
	expect_wc(p.acq, 2, IB_WC_SUCCESS);
	wr = send_wr(3, IB_WR_RDMA_WRITE_WITH_IMM, &from, IB_SEND_SIGNALED);
	wr.ex.imm_data = 0x9abcdef0;
	wr.wr.rdma.remote_addr = (uintptr_t)p.bm->buf;
	wr.wr.rdma.rkey = p.bm->ci->rkey;
	post(p.a, &wr);
	expect_wc(p.acq, 3, IB_WC_SUCCESS);
	rdma(&p, IB_WR_RDMA_WRITE, 4, 0, 0, 5 * MTU - 1);
	expect_wc(p.acq, 4, IB_WC_SUCCESS);
	rdma(&p, IB_WR_RDMA_READ, 5, 16384, 0, 5 * MTU - 1);
	expect_wc(p.acq, 5, IB_WC_SUCCESS);
	wr = send_wr(6, IB_WR_ATOMIC_FETCH_AND_ADD, &small, IB_SEND_SIGNALED);
	wr.wr.atomic.remote_addr = (uintptr_t)p.bm->buf + 32768;
	wr.wr.atomic.rkey = p.bm->ci->rkey;
	wr.wr.atomic.compare_add = 0x1122334455667788;
	post(p.a, &wr);
	expect_wc(p.acq, 6, IB_WC_SUCCESS);
	wr = send_wr(7, IB_WR_ATOMIC_CMP_AND_SWP, &small, IB_SEND_SIGNALED);
	wr.wr.atomic.remote_addr = (uintptr_t)p.bm->buf + 32768;
	wr.wr.atomic.rkey = p.bm->ci->rkey;
	wr.wr.atomic.compare_add = 0x1122334455667788;
	wr.wr.atomic.swap = 0xfeedface;
	post(p.a, &wr);
	expect_wc(p.acq, 7, IB_WC_SUCCESS);
}

static void start(const char *settings)
{
	up(settings);
	pair_up(&p, &(struct qp_options){ 0 }, 1 << 20);
}

static void end(void)
{
	pair_down(&p);
	down();
}

/* Returns the i-th packet of an interface in a direction. */
static const struct wire_packet *nth(uint32_t interface, uint32_t direction, uint32_t i)
{
	uint32_t at;

	for (at = 0; at < num; at++)
		if (shown[at].interface == interface && shown[at].direction == direction && !i--)
			return &shown[at].pkt;
	ck_abort_msg("there are not so many packets");
	return NULL;
}

/* Opcodes of the traffic's requests, and of the responses. */
static const uint8_t requests[] = {
	0x00, 0x01, 0x01, 0x01, 0x02, 0x00, 0x01, 0x01, 0x01, 0x03, 0x06, 0x07,
	0x07, 0x07, 0x09, 0x06, 0x07, 0x07, 0x07, 0x08, 0x0c, 0x14, 0x13,
};
static const uint8_t answers[] = {
	0x11, 0x11, 0x11, 0x11, 0x0d, 0x0e, 0x0e, 0x0e, 0x0f, 0x12, 0x12
};

START_TEST(every_packet_is_shown_at_both_ends)
{
	struct ib_port_counters a, b;
	uint32_t i, first, qpn;

	start("capture=/dev/null mtu=4096");
	qpn = p.b->ci->qp_num;
	stop(&hca[0], 0);
	stop(&hca[1], 0);
	ck_assert_int_eq(capture(&hca[0], 1, path), AL_SUCCESS);
	ck_assert_int_eq(capture(&hca[1], 0, path), AL_SUCCESS);
	traffic();
	a = counters(&hca[0]);
	b = counters(&hca[1]);
	end();
	read_file();
	ck_assert_uint_eq(interfaces, 2);
	ck_assert_str_eq(names[0], "soft0:1");
	ck_assert_str_eq(names[1], "soft1:1");
	ck_assert_uint_eq(count(0, OUT), a.xmit_packets);
	ck_assert_uint_eq(count(0, IN), a.rcv_packets);
	ck_assert_uint_eq(count(1, OUT), b.xmit_packets);
	ck_assert_uint_eq(count(1, IN), b.rcv_packets);
	ck_assert_uint_eq(count(0, OUT), sizeof(requests));
	ck_assert_uint_eq(count(1, OUT), sizeof(answers));
	first = nth(0, OUT, 0)->bth.psn;
	for (i = 0; i < sizeof(requests); i++) {
		ck_assert_uint_eq(nth(0, OUT, i)->bth.opcode, requests[i]);
		ck_assert_uint_eq(nth(1, IN, i)->bth.opcode, requests[i]);
		ck_assert_uint_eq(nth(0, OUT, i)->lrh.slid, 1);
		ck_assert_uint_eq(nth(0, OUT, i)->lrh.dlid, 2);
		ck_assert_uint_eq(nth(0, OUT, i)->bth.dest_qpn, qpn);
		/* the read's PSN counts its five responses */
		ck_assert_uint_eq(nth(0, OUT, i)->bth.psn,
				  (first + i + (i > 20 ? 4 : 0)) & 0xffffff);
	}
	for (i = 0; i < sizeof(answers); i++) {
		ck_assert_uint_eq(nth(1, OUT, i)->bth.opcode, answers[i]);
		ck_assert_uint_eq(nth(0, IN, i)->bth.opcode, answers[i]);
		ck_assert_uint_eq(nth(0, IN, i)->lrh.slid, 2);
	}
	for (i = 1; i < num; i++)
		ck_assert_uint_ge(shown[i].ns, shown[i - 1].ns);
}
END_TEST

START_TEST(headers_and_payload_are_those_that_were_sent)
{
	uint8_t data[5 * MTU];
	const struct wire_packet *pkt;
	uint32_t i, done = 0, rkey;
	uint64_t va;

	start("");
	rkey = p.bm->ci->rkey;
	va = (uintptr_t)p.bm->buf;
	ck_assert_int_eq(capture(&hca[0], 0, path), AL_SUCCESS);
	traffic();
	memcpy(data, p.am->buf, sizeof(data));
	end();
	read_file();
	for (i = 15; i < 20; i++) { /* the RDMA write */
		pkt = nth(0, OUT, i);
		ck_assert_mem_eq(pkt->payload, data + done, pkt->length);
		done += pkt->length;
		ck_assert_uint_eq(pkt->bth.ack_req, i == 19);
		ck_assert_uint_eq(pkt->bth.pad, i == 19 ? 1 : 0);
	}
	ck_assert_uint_eq(done, 5 * MTU - 1);
	ck_assert_uint_eq(nth(0, OUT, 15)->reth.va, va);
	ck_assert_uint_eq(nth(0, OUT, 15)->reth.rkey, rkey);
	ck_assert_uint_eq(nth(0, OUT, 15)->reth.dma_len, 5 * MTU - 1);
	for (i = 4, done = 0; i < 9; i++) { /* responses of the read */
		pkt = nth(0, IN, i);
		ck_assert_mem_eq(pkt->payload, data + done, pkt->length);
		done += pkt->length;
	}
	ck_assert_uint_eq(done, 5 * MTU - 1);
	ck_assert(!nth(0, OUT, 0)->bth.solicited && nth(0, OUT, 4)->bth.solicited);
	ck_assert_uint_eq(nth(0, OUT, 9)->imm, 0x12345678);
	ck_assert_uint_eq(nth(0, OUT, 14)->imm, 0x9abcdef0);
	ck_assert_uint_eq(nth(0, OUT, 20)->reth.dma_len, 5 * MTU - 1);
	ck_assert_uint_eq(nth(0, OUT, 21)->atomic.swap_add, 0x1122334455667788);
	ck_assert_uint_eq(nth(0, OUT, 22)->atomic.compare, 0x1122334455667788);
	ck_assert_uint_eq(nth(0, OUT, 22)->atomic.swap_add, 0xfeedface);
	ck_assert_uint_eq(nth(0, OUT, 22)->atomic.va, va + 32768);
	ck_assert_uint_eq(nth(0, IN, 9)->orig, 0);
	ck_assert_uint_eq(nth(0, IN, 10)->orig, 0x1122334455667788);
	ck_assert_uint_eq(nth(0, IN, 10)->aeth.msn, 7);
	ck_assert_uint_eq(nth(0, IN, 0)->aeth.syndrome, 2); /* syndrome: number of receives */
}
END_TEST

/* During a capture, messages that could take the short way go as packets. */
START_TEST(each_of_many_small_messages_is_shown)
{
	const uint32_t messages = 500;
	uint32_t i;

	start("");
	rdma(&p, IB_WR_RDMA_WRITE, 0, 0, 0, 64);
	expect_wc(p.acq, 0, IB_WC_SUCCESS);
	ck_assert_int_eq(capture(&hca[1], 0, path), AL_SUCCESS);
	for (i = 0; i < messages; i++) {
		p.am->buf[0] = (char)i;
		rdma(&p, IB_WR_RDMA_WRITE, i, 0, 0, 64);
		expect_wc(p.acq, i, IB_WC_SUCCESS);
	}
	ck_assert_int_eq(stop(&hca[1], 1), AL_SUCCESS);
	rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 0, 64);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	read_file();
	ck_assert_uint_eq(num, 2 * messages);
	for (i = 0; i < messages; i++)
		ck_assert_uint_eq(*nth(0, IN, i)->payload, (uint8_t)i);
	end();
}
END_TEST

/* A datagram's headers, and its GRH as the receive has it. */
START_TEST(a_datagram_is_shown_with_its_addresses)
{
	struct qp_options o = { .type = IB_QPT_UD, .qkey = 0x11223344 };
	struct ib_ah_attr to = { .port_num = 1, .sl = 3, .is_global = true };
	const struct wire_packet *pkt;
	struct ib_send_wr wr;
	struct ib_sge sge;
	struct ci_ah *ah;
	uint32_t i;
	ib_gid sgid;

	up("lmc=2 gids=2");
	pair_up(&p, &o, 1 << 20);
	to.dlid = 8 + 1; /* b's second LID: the LIDs begin at 4 and 8 */
	to.src_path_bits = 2;
	to.grh.flow_label = 0xabcde;
	to.grh.traffic_class = 0x5a;
	to.grh.hop_limit = 3;
	to.grh.sgid_index = 1;
	ck_assert_int_eq(ops->query_gid(hca[1].ca, 1, 0, &to.grh.dgid), AL_SUCCESS);
	ck_assert_int_eq(ops->query_gid(hca[0].ca, 1, 1, &sgid), AL_SUCCESS);
	ah = new_ah(&hca[0], NULL, &to);
	ck_assert_int_eq(capture(&hca[0], 0, path), AL_SUCCESS);
	ck_assert_int_eq(capture(&hca[1], 0, path), AL_SUCCESS);
	fill(p.am->buf, 99, 1);
	sge = sge_of(p.bm, 0, 200);
	post_recv(p.b, 1, &sge, 1);
	sge = sge_of(p.am, 0, 99);
	wr = send_wr(2, IB_WR_SEND_WITH_IMM, &sge, IB_SEND_SIGNALED | IB_SEND_SOLICITED);
	wr.ex.imm_data = 0x12345678;
	wr.wr.ud.ah = (al_ah_h)ah;
	wr.wr.ud.remote_qpn = p.b->ci->qp_num;
	wr.wr.ud.remote_qkey = 0x80000000;
	post(p.a, &wr);
	expect_wc(p.acq, 2, IB_WC_SUCCESS);
	ck_assert_uint_eq(expect_wc(p.bcq, 1, IB_WC_SUCCESS).wc_flags,
			  IB_WC_GRH | IB_WC_WITH_IMM | IB_WC_SOLICITED);
	stop(&hca[0], 0);
	stop(&hca[1], 0);
	read_file();
	ck_assert_uint_eq(num, 2);
	for (i = 0; i < 2; i++) {
		pkt = nth(i, i ? IN : OUT, 0);
		ck_assert_uint_eq(pkt->bth.opcode, 0x65);
		ck_assert_uint_eq(pkt->bth.dest_qpn, p.b->ci->qp_num);
		ck_assert_uint_eq(pkt->bth.solicited, 1);
		ck_assert_uint_eq(pkt->bth.ack_req, 0);
		ck_assert_uint_eq(pkt->deth.qkey, 0x11223344);
		ck_assert_uint_eq(pkt->deth.src_qpn, p.a->ci->qp_num);
		ck_assert_uint_eq(pkt->imm, 0x12345678);
		ck_assert_uint_eq(pkt->lrh.dlid, to.dlid);
		ck_assert_uint_eq(pkt->lrh.slid, 4 + 2);
		ck_assert_uint_eq(pkt->lrh.sl, 3);
		ck_assert_uint_eq(pkt->grh.flow_label, 0xabcde);
		ck_assert_uint_eq(pkt->grh.tclass, 0x5a);
		ck_assert_uint_eq(pkt->grh.hop_limit, 3);
		ck_assert_mem_eq(pkt->grh.sgid, sgid.raw, 16);
		ck_assert_mem_eq(pkt->grh.dgid, to.grh.dgid.raw, 16);
		ck_assert_uint_eq(pkt->length, 99);
		ck_assert_mem_eq(pkt->payload, p.am->buf, 99);
	}
	ck_assert_mem_eq(p.bm->buf + 8, sgid.raw, 16);
	ck_assert_mem_eq(p.bm->buf + 40, p.am->buf, 99);
	free_ah(ah);
	end();
}
END_TEST

/* Copies for members within an HCA are not packets on the cable, and are not captured. */
START_TEST(a_multicast_datagram_is_shown_once_at_each_end)
{
	struct qp_options o = { .type = IB_QPT_UD, .qkey = 0x11223344 };
	struct ib_ah_attr to = { .port_num = 1, .is_global = true, .dlid = 0xc00a };
	const struct wire_packet *pkt;
	struct ib_send_wr wr;
	struct ib_sge sge;
	struct ci_ah *ah;
	struct qp *more;
	uint32_t i;

	up("");
	pair_up(&p, &o, 1 << 20);
	more = new_qp(&hca[1], p.bcq, p.bcq, &o);
	to_init(more, &o);
	to_rtr(more, NULL, &o);
	memcpy(to.grh.dgid.raw, "\xff\x12\x40\x1b", 4);
	ck_assert_int_eq(ops->attach_mcast(p.a->ci, &to.grh.dgid, to.dlid), AL_SUCCESS);
	ck_assert_int_eq(ops->attach_mcast(p.b->ci, &to.grh.dgid, to.dlid), AL_SUCCESS);
	ck_assert_int_eq(ops->attach_mcast(more->ci, &to.grh.dgid, to.dlid), AL_SUCCESS);
	ah = new_ah(&hca[0], NULL, &to);
	ck_assert_int_eq(capture(&hca[0], 0, path), AL_SUCCESS);
	ck_assert_int_eq(capture(&hca[1], 0, path), AL_SUCCESS);
	fill(p.am->buf, 99, 1);
	sge = sge_of(p.bm, 0, 200);
	post_recv(p.b, 1, &sge, 1);
	sge = sge_of(p.bm, 200, 200);
	post_recv(more, 2, &sge, 1);
	sge = sge_of(p.am, 0, 99);
	wr = send_wr(3, IB_WR_SEND, &sge, 0);
	wr.wr.ud.ah = (al_ah_h)ah;
	wr.wr.ud.remote_qpn = IB_QPN_MULTICAST;
	wr.wr.ud.remote_qkey = 0x80000000;
	post(p.a, &wr);
	wait_wc(p.bcq);
	wait_wc(p.bcq);
	stop(&hca[0], 0);
	stop(&hca[1], 0);
	read_file();
	ck_assert_uint_eq(num, 2);
	for (i = 0; i < 2; i++) {
		pkt = nth(i, i ? IN : OUT, 0);
		ck_assert_uint_eq(pkt->lrh.dlid, 0xc00a);
		ck_assert_uint_eq(pkt->bth.dest_qpn, IB_QPN_MULTICAST);
		ck_assert_uint_eq(pkt->deth.src_qpn, p.a->ci->qp_num);
		ck_assert_mem_eq(pkt->grh.dgid, to.grh.dgid.raw, 16);
		ck_assert_mem_eq(pkt->payload, p.am->buf, 99);
	}
	free_ah(ah);
	free_qp(more);
	end();
}
END_TEST

/* A connection's packets have the GIDs of its path, not the ports' first GIDs. */
START_TEST(a_connection_is_shown_with_the_gids_of_its_path)
{
	struct qp_options o = { 0 };
	struct ib_qp_attr attr = {
		.path_mtu = IB_MTU_256,
		.min_rnr_timer = 1,
		.max_dest_rd_atomic = 1,
		.ah_attr = { .dlid = 2, .port_num = 1, .is_global = true, .grh.sgid_index = 1 },
	};
	ib_gid sgid;

	up("gids=3");
	pair_up(&p, &o, 1 << 20);
	ck_assert_int_eq(modify(p.a, IB_QPS_RESET, 0, NULL), AL_SUCCESS);
	to_init(p.a, &o);
	attr.dest_qp_num = p.b->ci->qp_num;
	ck_assert_int_eq(ops->query_gid(hca[0].ca, 1, 1, &sgid), AL_SUCCESS);
	ck_assert_int_eq(ops->query_gid(hca[1].ca, 1, 2, &attr.ah_attr.grh.dgid), AL_SUCCESS);
	ck_assert_int_eq(modify(p.a, IB_QPS_RTR,
				IB_QP_AV | IB_QP_PATH_MTU | IB_QP_RQ_PSN | IB_QP_DEST_QPN |
					IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER,
				&attr),
			 AL_SUCCESS);
	to_rts(p.a, &o);
	ck_assert_int_eq(capture(&hca[0], 0, path), AL_SUCCESS);
	rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 0, 64);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	stop(&hca[0], 0);
	read_file();
	ck_assert(nth(0, OUT, 0)->lrh.global);
	ck_assert_mem_eq(nth(0, OUT, 0)->grh.sgid, sgid.raw, 16);
	ck_assert_mem_eq(nth(0, OUT, 0)->grh.dgid, attr.ah_attr.grh.dgid.raw, 16);
	end();
}
END_TEST

/* The capture has every packet that comes off the cable, also one that no queue pair takes. */
START_TEST(an_injected_packet_is_shown_as_it_came)
{
	struct wire_packet w;
	uint8_t bytes[WIRE_MAX_BYTES];
	size_t len;

	start("");
	memset(&w, 0, sizeof(w));
	w.framing = WIRE_IB;
	w.lrh.slid = 1;
	w.lrh.dlid = 2;
	w.lrh.reserved5 = 3; /* a reserved field, which the capture keeps */
	w.bth.opcode = 0x0a;
	w.bth.pkey = 0xffff;
	w.bth.dest_qpn = p.b->ci->qp_num;
	w.reth.va = (uintptr_t)p.bm->buf;
	w.reth.rkey = p.bm->ci->rkey;
	w.reth.dma_len = w.length = 8;
	w.payload = (const uint8_t *)"injected";
	len = wire_encode(&w, bytes, sizeof(bytes));
	ck_assert_int_eq(capture(&hca[1], 0, path), AL_SUCCESS);
	ck_assert_uint_eq(inject_bytes(&hca[1], bytes, len).outcome, SOFT_INJECT_DELIVERED);
	ck_assert_mem_eq(p.bm->buf, "injected", 8);
	ck_assert_uint_eq(inject_bytes(&hca[1], bytes, len - 1).outcome, SOFT_INJECT_MALFORMED);
	w.lrh.dlid = 99;
	len = wire_encode(&w, bytes, sizeof(bytes));
	ck_assert_uint_eq(inject_bytes(&hca[1], bytes, len).outcome, SOFT_INJECT_STRAY);
	stop(&hca[1], 0);
	read_file();
	ck_assert_uint_eq(num, 2);
	ck_assert_uint_eq(count(0, IN), 2);
	ck_assert_uint_eq(nth(0, IN, 0)->lrh.reserved5, 3);
	ck_assert_mem_eq(nth(0, IN, 0)->payload, "injected", 8);
	ck_assert_uint_eq(nth(0, IN, 1)->lrh.dlid, 99);
	end();
}
END_TEST

/* Buffered packets at a fork are written by the parent only. */
START_TEST(a_child_that_ends_writes_nothing)
{
	int status;

	start("progress=manual"); /* manual progress has no threads, which a child would lack */
	ck_assert_int_eq(capture(&hca[0], 0, path), AL_SUCCESS);
	rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 0, 64);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	fflush(NULL);
	if (!fork())
		exit(0);
	wait(&status);
	stop(&hca[0], 0);
	read_file();
	ck_assert_uint_eq(interfaces, 1);
	ck_assert_uint_eq(num, 2);
	end();
}
END_TEST

/* A packet that is lost on the cable is captured at its sender, and not at its receiver. */
START_TEST(a_lost_packet_is_seen_by_its_sender_alone)
{
	start("capture=/dev/null");
	stop(&hca[0], 0);
	stop(&hca[1], 0);
	ck_assert_int_eq(capture(&hca[0], 0, path), AL_SUCCESS);
	ck_assert_int_eq(capture(&hca[1], 0, path), AL_SUCCESS);
	fault(&hca[0],
	      (struct soft_fault){
		      .action = SOFT_FAULT_DROP, .flow = SOFT_FLOW_REQUEST, .n = 2, .count = 1 });
	rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 0, 3 * MTU);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	end();
	read_file();
	ck_assert_uint_ge(count(0, OUT), 4);
	ck_assert_uint_eq(count(1, IN), count(0, OUT) - 1);
	ck_assert_uint_eq(count(0, IN), count(1, OUT));
	ck_assert_uint_eq(nth(0, OUT, 1)->bth.opcode, 0x07);
	ck_assert_uint_ne(nth(1, IN, 1)->bth.psn, nth(0, OUT, 1)->bth.psn);
}
END_TEST

START_TEST(settings_begin_it)
{
	char settings[128], expanded[128];

	snprintf(settings, sizeof(settings), "ports=2 [hca 1] capture=%s.%%p capture_port=1", path);
	start(settings);
	traffic();
	end();
	snprintf(expanded, sizeof(expanded), "%s.%d", path, getpid());
	ck_assert_int_eq(rename(expanded, path), 0);
	read_file();
	ck_assert_uint_eq(interfaces, 1);
	ck_assert_str_eq(names[0], "soft1:1");
	ck_assert_uint_eq(count(0, IN), sizeof(requests));
	ck_assert_uint_eq(count(0, OUT), sizeof(answers));
}
END_TEST

START_TEST(a_full_disk_ends_the_capture_and_nothing_else)
{
	uint32_t i;

	start("capture=/dev/full");
	for (i = 0; i < 64; i++) { /* more than the buffer holds */
		rdma(&p, IB_WR_RDMA_WRITE, i, 0, 0, 8192);
		expect_wc(p.acq, i, IB_WC_SUCCESS);
	}
	ck_assert_ptr_nonnull(strstr(last_log, "/dev/full: the capture ends here"));
	*last_log = 0;
	traffic();
	end();
	ck_assert_str_eq(last_log, "");
}
END_TEST

START_TEST(what_can_not_be_captured_is_said)
{
	char name[1200];

	ck_assert_int_eq(try_up("capture=/nowhere/at/all"), AL_IO_ERROR);
	ck_assert_ptr_nonnull(strstr(last_log, "/nowhere/at/all can not be written"));
	memset(name, 'x', sizeof(name));
	memcpy(name, "capture=", 8);
	name[1199] = 0;
	ck_assert_int_eq(try_up(name), AL_BAD_CONFIG);
	start("");
	ck_assert_int_eq(capture(&hca[0], 2, path), AL_INVALID_PORT);
	ck_assert_int_eq(capture(&hca[0], 1, ""), AL_INVALID_PARAMETER);
	ck_assert_int_eq(capture(&hca[0], 1, "/nowhere/at/all"), AL_IO_ERROR);
	ck_assert_int_eq(capture(&hca[0], 1, path), AL_SUCCESS);
	ck_assert_int_eq(capture(&hca[0], 1, path), AL_DUPLICATE);
	ck_assert_int_eq(capture(&hca[0], 0, path), AL_SUCCESS);
	ck_assert_int_eq(stop(&hca[0], 2), AL_INVALID_PORT);
	ck_assert_int_eq(stop(&hca[0], 1), AL_SUCCESS);
	ck_assert_int_eq(stop(&hca[0], 1), AL_SUCCESS);
	end();
}
END_TEST

/* --------------------------------------------------------- for test/e2e/capture.sh */

static FILE *facts;

static void say(const char *name, const char *end)
{
	fprintf(facts, "\"%s\": {\"a\": %u, \"b\": %u, \"va\": %llu, \"rkey\": %u}%s\n", name,
		p.a->ci->qp_num, p.b->ci->qp_num, (unsigned long long)(uintptr_t)p.bm->buf,
		p.bm->ci->rkey, end);
}

static void unreliable(void)
{
	struct ib_sge from = sge_of(p.am, 0, 5 * MTU - 1), to = sge_of(p.bm, 8192, 8192);
	struct ib_send_wr wr = send_wr(1, IB_WR_SEND_WITH_IMM, &from, IB_SEND_SIGNALED);

	wr.ex.imm_data = 0x12345678;
	post_recv(p.b, 1, &to, 1);
	post(p.a, &wr);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	expect_wc(p.bcq, 1, IB_WC_SUCCESS);
	rdma(&p, IB_WR_RDMA_WRITE, 2, 0, 0, 5 * MTU - 1);
	expect_wc(p.acq, 2, IB_WC_SUCCESS);
}

static void datagrams(void)
{
	struct ib_ah_attr local = { .dlid = 2, .sl = 3, .port_num = 1 }, global = local;
	struct ib_sge from = sge_of(p.am, 0, 77), to = sge_of(p.bm, 8192, 8192);
	struct ib_send_wr wr = send_wr(1, IB_WR_SEND, &from, IB_SEND_SIGNALED);
	struct ci_ah *ah[2];
	int i;

	global.is_global = true;
	ck_assert_int_eq(ops->query_gid(hca[1].ca, 1, 0, &global.grh.dgid), AL_SUCCESS);
	global.grh.traffic_class = 0xa5;
	global.grh.flow_label = 0x54321;
	global.grh.hop_limit = 9;
	ah[0] = new_ah(&hca[0], NULL, &local);
	ah[1] = new_ah(&hca[0], NULL, &global);
	for (i = 0; i < 2; i++) {
		wr.opcode = i ? IB_WR_SEND_WITH_IMM : IB_WR_SEND;
		wr.ex.imm_data = 0x12345678;
		wr.wr.ud.ah = (al_ah_h)ah[i];
		wr.wr.ud.remote_qpn = p.b->ci->qp_num;
		wr.wr.ud.remote_qkey = 0x11223344;
		post_recv(p.b, 1, &to, 1);
		post(p.a, &wr);
		expect_wc(p.acq, 1, IB_WC_SUCCESS);
		expect_wc(p.bcq, 1, IB_WC_SUCCESS);
	}
	free_ah(ah[0]);
	free_ah(ah[1]);
}

/* A send that finds no receive, twice. */
static void not_ready(void)
{
	struct ib_sge from = sge_of(p.am, 0, 16);
	struct ib_send_wr wr = send_wr(1, IB_WR_SEND, &from, IB_SEND_SIGNALED);

	post(p.a, &wr);
	expect_wc(p.acq, 1, IB_WC_RNR_RETRY_EXC_ERR);
}

/* A request that the responder refuses. */
static void refused(void)
{
	struct ib_sge from = sge_of(p.am, 0, 16);
	struct ib_send_wr wr = send_wr(1, IB_WR_RDMA_WRITE, &from, IB_SEND_SIGNALED);

	wr.wr.rdma.remote_addr = (uintptr_t)p.bm->buf;
	wr.wr.rdma.rkey = p.bm->ci->rkey ^ 1;
	post(p.a, &wr);
	expect_wc(p.acq, 1, IB_WC_REM_ACCESS_ERR);
}

/* Captures every operation; a second file has the keys and numbers for the script. */
START_TEST(every_operation_for_the_script)
{
	static const struct {
		const char *name;
		struct qp_options o;
		void (*traffic)(void);
	} kinds[] = {
		{ "rc", { 0 }, traffic },
		{ "uc", { .type = IB_QPT_UC }, unreliable },
		{ "ud", { .type = IB_QPT_UD, .qkey = 0x11223344 }, datagrams },
		{ "rnr", { .rnr_retry = 1, .rnr_timer = 5 }, not_ready },
		{ "nak", { 0 }, refused },
	};
	const int num_kinds = sizeof(kinds) / sizeof(*kinds);
	const char *name = getenv("CAPTURE_MIXED");
	char said[256];
	int i;

	snprintf(said, sizeof(said), "%s.json", name);
	facts = fopen(said, "w");
	ck_assert_ptr_nonnull(facts);
	up("");
	ck_assert_int_eq(capture(&hca[0], 0, name), AL_SUCCESS);
	ck_assert_int_eq(capture(&hca[1], 0, name), AL_SUCCESS);
	fputc('{', facts);
	for (i = 0; i < num_kinds; i++) {
		pair_up(&p, &kinds[i].o, 1 << 20);
		kinds[i].traffic();
		say(kinds[i].name, i + 1 < num_kinds ? "," : "}");
		pair_down(&p);
	}
	down();
	fclose(facts);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("capture");
	TCase *t = tcase_create("capture");

	if (getenv("CAPTURE_MIXED")) {
		tcase_add_test(t, every_operation_for_the_script);
		suite_add_tcase(s, t);
		return run_suite(s);
	}
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, every_packet_is_shown_at_both_ends);
	tcase_add_test(t, headers_and_payload_are_those_that_were_sent);
	tcase_add_test(t, each_of_many_small_messages_is_shown);
	tcase_add_test(t, a_datagram_is_shown_with_its_addresses);
	tcase_add_test(t, a_multicast_datagram_is_shown_once_at_each_end);
	tcase_add_test(t, a_connection_is_shown_with_the_gids_of_its_path);
	tcase_add_test(t, an_injected_packet_is_shown_as_it_came);
	tcase_add_test(t, a_child_that_ends_writes_nothing);
	tcase_add_test(t, a_lost_packet_is_seen_by_its_sender_alone);
	tcase_add_test(t, settings_begin_it);
	tcase_add_test(t, a_full_disk_ends_the_capture_and_nothing_else);
	tcase_add_test(t, what_can_not_be_captured_is_said);
	suite_add_tcase(s, t);
	return run_suite(s);
}
