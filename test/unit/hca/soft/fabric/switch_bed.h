/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A managed fabric, of which the test is the subnet manager, and datagrams between its nodes. */
#ifndef TEST_SOFT_SWITCH_BED_H
#define TEST_SOFT_SWITCH_BED_H

#include <stdio.h>
#include <unistd.h>

#include <iba/ib_mad.h>

#include "../harness.h"
#include "hca/soft/fabric/routes.h"
#include "hca/soft/fabric/shapes.h"

#define GRH        40u
#define QKEY       0x11223344u
#define WELL_KNOWN 0x80010000u
#define SIZE       8192u
#define MAD        256u

/* --------------------------------------------------------------------- subnets */

static char path[] = "/tmp/ibal-switch-XXXXXX";
static struct topology topology;
static uint32_t num_ends; /* HCAs; the switches are behind them */
static struct hca *sw;    /* the first switch */

static inline void managed(const char *settings)
{
	char text[256];
	FILE *file;
	uint32_t i;
	int fd;

	memcpy(path + sizeof(path) - 7, "XXXXXX", 6);
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	file = fdopen(fd, "w");
	ck_assert_int_eq(topology_write(&topology, file), AL_SUCCESS);
	ck_assert_int_eq(fclose(file), 0);
	snprintf(text, sizeof(text), "subnet=managed topology=%s %s", path, settings);
	up(text);
	unlink(path);
	ck_assert_uint_eq(hcas, topology.num_nodes);
	for (i = num_ends = 0; i < hcas; i++)
		num_ends += hca[i].attr.node_type == IB_NODE_CA;
	sw = &hca[num_ends];
}

/* HCA i is at port i + 1 of the switch. */
static inline void star(uint32_t leaves)
{
	ck_assert_int_eq(shape_star(&topology, leaves, 0x100), AL_SUCCESS);
	managed("");
}

static inline void finish(void)
{
	down();
	topology_free(&topology);
}

static inline struct ib_port_attr port_of(const struct hca *h, uint8_t port)
{
	struct ib_port_attr attr;

	ck_assert_int_eq(h->ci->query_port(h->ca, port, &attr), AL_SUCCESS);
	return attr;
}

static inline ib_port_state state_at(const struct hca *h, uint8_t port)
{
	return port_of(h, port).state;
}

/* ----------------------------------------------------------- the subnet manager */

static inline uint16_t attribute(const struct hca *h, uint8_t port, uint8_t method, uint16_t id,
				 uint32_t mod, void *data, size_t size)
{
	struct ci_local_mad_in in = { .mgmt_class = IB_CLASS_SUBN_LID,
				      .method = method,
				      .attr_id = id,
				      .attr_mod = mod,
				      .length = IB_SMP_DATA_BYTES };
	struct ci_local_mad_out out = { 0 };

	memcpy(in.data, data, size);
	ck_assert_int_eq(h->ci->local_mad(h->ca, port, NULL, &in, &out), AL_SUCCESS);
	memcpy(data, out.data, size);
	return out.status;
}

static inline struct ib_port_info port_info(const struct hca *h, uint8_t port)
{
	struct ib_port_info info = { 0 };

	ck_assert_uint_eq(
		attribute(h, port, IB_METHOD_GET, IB_SMP_PORT_INFO, port, &info, sizeof(info)),
		IB_MAD_STATUS_OK);
	return info;
}

static inline uint16_t set_port(const struct hca *h, uint8_t port, uint16_t lid, ib_phys_state phys,
				ib_port_state state)
{
	struct ib_port_info info = port_info(h, port);

	if (lid)
		info.lid = ib_be16_of(lid);
	ib_port_info_set_port_state(&info, state);
	ib_port_info_set_phys_state(&info, phys);
	return attribute(h, port, IB_METHOD_SET, IB_SMP_PORT_INFO, port, &info, sizeof(info));
}

static inline void set_lid(const struct hca *h, uint8_t port, uint16_t lid)
{
	ck_assert_uint_eq(set_port(h, port, lid, IB_PHYS_NOP, IB_PORT_NOP), 0);
}

static inline void arm(const struct hca *h, uint8_t port)
{
	ck_assert_uint_eq(set_port(h, port, 0, IB_PHYS_NOP, IB_PORT_ARMED), 0);
}

static inline void activate(const struct hca *h, uint8_t port)
{
	arm(h, port);
	ck_assert_uint_eq(set_port(h, port, 0, IB_PHYS_NOP, IB_PORT_ACTIVE), 0);
}

/* Sets the first num entries of a linear table. */
static inline void set_table(const struct hca *h, const uint8_t *ports, uint32_t num)
{
	struct ib_switch_info info = { 0 };
	uint8_t block[64];
	uint32_t i;

	ck_assert_uint_eq(
		attribute(h, 0, IB_METHOD_GET, IB_SMP_SWITCH_INFO, 0, &info, sizeof(info)), 0);
	info.linear_fdb_top = ib_be16_of((uint16_t)(num - 1));
	ck_assert_uint_eq(
		attribute(h, 0, IB_METHOD_SET, IB_SMP_SWITCH_INFO, 0, &info, sizeof(info)), 0);
	for (i = 0; i < num; i += 64) {
		memset(block, 0xff, sizeof(block));
		memcpy(block, ports + i, num - i < 64 ? num - i : 64);
		ck_assert_uint_eq(attribute(h, 0, IB_METHOD_SET, IB_SMP_LFT, i / 64, block, 64), 0);
	}
}

static inline void set_group(const struct hca *h, uint16_t mlid, uint16_t ports)
{
	uint8_t block[64] = { 0 };
	const uint32_t at = (uint32_t)(mlid - 0xc000) % 32 * 2;

	block[at] = (uint8_t)(ports >> 8);
	block[at + 1] = (uint8_t)ports;
	ck_assert_uint_eq(
		attribute(h, 0, IB_METHOD_SET, IB_SMP_MFT, (mlid - 0xc000u) / 32, block, 64), 0);
}

/* A star's addresses and table: HCA i has LID i + 1, and the switch LID 40. */
static inline void give_lids(void)
{
	uint8_t table[41];
	uint32_t i;

	memset(table, 0xff, sizeof(table));
	for (i = 0; i < num_ends; i++) {
		set_lid(&hca[i], 1, (uint16_t)(i + 1));
		table[i + 1] = (uint8_t)(i + 1);
	}
	table[40] = 0;
	set_lid(sw, 0, 40);
	set_table(sw, table, sizeof(table));
}

static inline void activate_star(void)
{
	uint32_t i;

	for (i = 0; i < num_ends; i++) {
		activate(sw, (uint8_t)(i + 1));
		activate(&hca[i], 1);
	}
}

/* ------------------------------------------------------------------- datagrams */

/* A queue pair of a node, with memory: sends from the first half, receives into the second. */
struct member {
	struct hca *h;
	struct cq *cq;
	struct qp *qp;
	struct mr *mr;
	uint8_t sl; /* service level of what the member sends */
};

static inline void member_up(struct member *m, struct hca *h, const struct qp_options *o)
{
	m->h = h;
	m->sl = 0;
	m->cq = new_cq(h, 64, AL_CQ_NOTIFY_NEXT);
	m->qp = new_qp(h, m->cq, m->cq, o);
	m->mr = new_mr(h, SIZE, IB_ACCESS_LOCAL_WRITE);
	to_init(m->qp, o);
	to_rtr(m->qp, NULL, o);
	to_rts(m->qp, o);
}

static inline void member_down(struct member *m)
{
	free_qp(m->qp);
	free_mr(m->mr);
	free_cq(m->cq);
}

static struct member member[MAX_HCAS];

static inline void members_up(uint32_t num, const struct qp_options *o)
{
	for (uint32_t i = 0; i < num; i++)
		member_up(&member[i], &hca[i], o);
}

static inline void members_down(uint32_t num)
{
	for (uint32_t i = 0; i < num; i++)
		member_down(&member[i]);
}

static const struct qp_options smi = { .type = IB_QPT_SMI };
static const struct qp_options gsi = { .type = IB_QPT_GSI, .qkey = WELL_KNOWN };
static const struct qp_options ud = { .type = IB_QPT_UD, .qkey = QKEY };

/* Sends a datagram of its own bytes. out_port: of a switch's QP0. */
static inline void send_by(struct member *from, uint16_t dlid, uint32_t qpn, uint8_t out_port)
{
	const uint8_t port = from->h->attr.node_type == IB_NODE_SWITCH ? 0 : 1;
	const struct ib_ah_attr attr = { .dlid = dlid, .sl = from->sl, .port_num = port };
	struct ci_ah *ah = new_ah(from->h, NULL, &attr);
	struct ib_sge sge = sge_of(from->mr, 0, MAD);
	struct ib_send_wr wr = send_wr(1, IB_WR_SEND, &sge, IB_SEND_SIGNALED);

	fill(from->mr->buf, MAD, (uint32_t)(from->h - hca) * 100 + dlid);
	wr.wr.ud.ah = (al_ah_h)ah;
	wr.wr.ud.remote_qpn = qpn;
	wr.wr.ud.remote_qkey = from->qp->ci->qp_num == 1 ? WELL_KNOWN : QKEY;
	wr.wr.ud.port_num = out_port;
	post(from->qp, &wr);
	expect_wc(from->cq, 1, IB_WC_SUCCESS);
	free_ah(ah);
}

static inline void receive(struct member *at)
{
	struct ib_sge sge = sge_of(at->mr, SIZE / 2, SIZE / 2);

	post_recv(at->qp, 2, &sge, 1);
}

static inline struct ib_wc expect_from(struct member *at, const struct member *from)
{
	struct ib_wc wc = expect_wc(at->cq, 2, IB_WC_SUCCESS);

	ck_assert_uint_eq(wc.byte_len, GRH + MAD);
	ck_assert_uint_eq(wc.src_qp, from->qp->ci->qp_num);
	ck_assert_mem_eq(at->mr->buf + SIZE / 2 + GRH, from->mr->buf, MAD);
	return wc;
}

/* Sets the whole subnet up as routes_make() would have it for a static one. */
static inline void manage(void)
{
	const struct topology *t = &topology;
	uint32_t node, end = 0, next = num_ends, port, at;
	struct routes r;

	ck_assert_int_eq(routes_make(&r, t), AL_SUCCESS);
	for (node = 0; node < t->num_nodes; node++) {
		const bool is_switch = t->nodes[node].type == IB_NODE_SWITCH;
		struct hca *h = &hca[is_switch ? next++ : end++];

		if (is_switch)
			set_table(h, r.tables + (size_t)r.row[node] * (r.top_lid + 1),
				  r.top_lid + 1);
		for (port = is_switch ? 0 : 1; port <= t->nodes[node].num_ports; port++) {
			at = topology_port_index(&t->nodes[node], port);
			if (topology_is_end_port(t, at) && r.lid[at])
				set_lid(h, (uint8_t)port, r.lid[at]);
			if (port && t->ports[at].peer != TOPOLOGY_NONE)
				activate(h, (uint8_t)port);
		}
	}
	routes_free(&r);
}

#endif
