/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Packets through virtual switches, compared with the same traffic on the loop link. A link belongs
 * to a whole process, so two processes are measured in turn on the same processor: one with two
 * HCAs on the loop link, and one with a row of five switches, two HCAs at the first switch and one
 * at the last. A third has the same row as a managed subnet, which the benchmark sets up.
 *
 * fabric.*.1hop and fabric.*.5hops are what a program sees: the time of a packet from the post to
 * the completions at both ends, which has the switches in it, but also the copy of each packet (on
 * the loop link a write is copied once for all of its packets) and the queues of the ports.
 * fabric.forward is the forwarding rate of one switch alone: the four switches more of the long
 * way, by the time that they add; fabric.forward.managed is that of a switch that looks at the
 * tables, states and lanes that a subnet manager has set. Sender, switches and receiver share one
 * processor.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/bench/bench.h"
#include "test/bench/manage.h"
#include "test/bench/worker.h"

#define SWITCHES  5u
#define WINDOW    16 /* outstanding messages */
#define PACKET    4096
#define PACKETS   16 /* packets of a write */
#define SMALL     8
#define GRH       40
#define QKEY      0x1234
#define DATAGRAMS 1024 /* per repetition, a multiple of WINDOW */
#define WRITES    32   /* per repetition, a multiple of WINDOW */

enum traffic {
	UD_SMALL, /* datagrams of SMALL bytes */
	RC_LARGE, /* writes of PACKETS packets of 4 KiB */
};

/* --------------------------------------------------------- within the process */

/* A way from side 0 to a far side. */
struct way {
	al_qp_h ud, rc;
	al_ah_h ah;
	uint32_t qpn; /* of the far datagram queue pair */
};

struct net {
	al_h al;
	struct bench_side side[3];
	struct bench_buf buf[3];
	struct way way[3];    /* by the far side */
	al_qp_h ud[3], rc[3]; /* the far queue pairs */
};

static void post_receives(struct net *net, unsigned int at)
{
	struct ib_sge sge = { (uintptr_t)net->buf[at].addr, GRH + SMALL, net->buf[at].lkey };
	struct ib_recv_wr wr[WINDOW];
	const struct ib_recv_wr *bad;

	for (unsigned int i = 0; i < WINDOW; i++)
		wr[i] = (struct ib_recv_wr){ i + 1 < WINDOW ? &wr[i + 1] : NULL, 0, &sge, 1, 0 };
	bench_must(al_post_recv(net->ud[at], wr, &bad));
}

static void make_way(struct net *net, unsigned int far)
{
	const struct ib_ah_attr to = { .dlid = net->side[far].lid, .port_num = 1 };
	struct way *way = &net->way[far];
	uint32_t near_qpn, far_qpn;

	way->ud = bench_make_ud(&net->side[0], WINDOW, QKEY, &near_qpn);
	net->ud[far] = bench_make_ud(&net->side[far], WINDOW, QKEY, &way->qpn);
	bench_must(al_create_ah(net->side[0].pd, &to, &way->ah));
	way->rc = bench_make_qp(&net->side[0], WINDOW, &near_qpn);
	net->rc[far] = bench_make_qp(&net->side[far], WINDOW, &far_qpn);
	bench_to_rts(way->rc, far_qpn, net->side[far].lid);
	bench_to_rts(net->rc[far], near_qpn, net->side[0].lid);
}

static void post_window(struct net *net, bool ud, unsigned int far)
{
	const struct way *way = &net->way[far];
	struct ib_sge sge = { (uintptr_t)net->buf[0].addr, ud ? SMALL : PACKETS * PACKET,
			      net->buf[0].lkey };
	struct ib_send_wr wr = { .sg_list = &sge, .num_sge = 1, .send_flags = IB_SEND_SIGNALED };
	const struct ib_send_wr *bad;

	if (ud) {
		wr.opcode = IB_WR_SEND;
		wr.wr.ud.ah = way->ah;
		wr.wr.ud.remote_qpn = way->qpn;
		wr.wr.ud.remote_qkey = QKEY;
	} else {
		wr.opcode = IB_WR_RDMA_WRITE;
		wr.wr.rdma.remote_addr = (uintptr_t)net->buf[far].addr;
		wr.wr.rdma.rkey = net->buf[far].rkey;
	}
	for (unsigned int i = 0; i < WINDOW; i++)
		bench_must(al_post_send(ud ? way->ud : way->rc, &wr, &bad));
}

/* Returns the time of a packet: windows of messages, each of which has completed before the next
 * begins. */
static double measure(void *context, unsigned int traffic, unsigned int far)
{
	struct net *net = context;
	const bool ud = traffic == UD_SMALL;
	const unsigned int num = ud ? DATAGRAMS : WRITES;
	double start = bench_now();

	for (unsigned int done = 0; done < num; done += WINDOW) {
		if (ud)
			post_receives(net, far);
		post_window(net, ud, far);
		bench_drain(net->side[0].cq, WINDOW);
		if (ud)
			bench_drain(net->side[far].cq, WINDOW);
	}
	return (bench_now() - start) / (ud ? num : num * PACKETS);
}

struct settings {
	const char *text;
	unsigned int sides;
	bool managed;
};

static void step_all(const al_ca_h *hca, const al_ca_h *sw, ib_port_state state)
{
	for (unsigned int i = 0; i < 3; i++)
		manage_step(hca[i], 1, state);
	for (unsigned int i = 0; i < SWITCHES; i++) {
		if (i)
			manage_step(sw[i], 1, state);
		if (i + 1 < SWITCHES)
			manage_step(sw[i], 2, state);
		if (!i || i + 1 == SWITCHES)
			manage_step(sw[i], 3, state);
		if (!i)
			manage_step(sw[i], 4, state);
	}
}

/* Sets the row of switches up: HCA i has LID i + 1, and switch i LID i + 11. The handles stay open,
 * as the agents of the switches do. */
static void manage_row(al_h al)
{
	static al_ca_h hca[3], sw[SWITCHES];

	for (unsigned int i = 0; i < 3; i++) {
		bench_must(al_open_ca(al, (i + 1) << 16, NULL, &hca[i]));
		manage_lid(hca[i], 1, (uint16_t)(i + 1));
	}
	for (unsigned int i = 0; i < SWITCHES; i++) {
		/* towards HCA 0 and HCA 1, and towards HCA 2 */
		const uint8_t table[] = { 255, i ? 1 : 3, i ? 1 : 4, i + 1 < SWITCHES ? 2 : 3 };

		bench_must(al_open_ca(al, (i + 1) << 8, NULL, &sw[i]));
		manage_lid(sw[i], 0, (uint16_t)(i + 11));
		manage_table(sw[i], table, sizeof(table));
	}
	step_all(hca, sw, IB_PORT_ARMED);
	step_all(hca, sw, IB_PORT_ACTIVE);
}

static void serve(const struct worker *w, const void *arg)
{
	static struct net net;
	const struct settings *settings = arg;

	if (setenv("IBAL_SOFT", settings->text, 1))
		bench_fatal("setenv: %m");
	bench_must(al_open(NULL, &net.al));
	if (settings->managed)
		manage_row(net.al);
	bench_sides_open(net.al, net.side, settings->sides, 4 * WINDOW);
	for (unsigned int i = 0; i < settings->sides; i++)
		bench_buf_make(net.side[i].pd, PACKETS * PACKET, &net.buf[i]);
	for (unsigned int i = 1; i < settings->sides; i++)
		make_way(&net, i);
	worker_serve(w, measure, &net);
}

/* ---------------------------------------------------------------- the topology */

/* Ports of a switch: 1 and 2 lead to its neighbours, 3 and 4 to HCAs. */
static void write_switch(FILE *f, unsigned int i)
{
	fprintf(f, "switchguid=0x%x00\nSwitch 4 \"S-%016x\"\n", i, i << 8);
	if (i > 1)
		fprintf(f, "[1] \"S-%016x\"[2]\n", (i - 1) << 8);
	if (i < SWITCHES)
		fprintf(f, "[2] \"S-%016x\"[1]\n", (i + 1) << 8);
	if (i == 1)
		fprintf(f, "[3] \"H-%016x\"[1]\n[4] \"H-%016x\"[1]\n", 0x10000, 0x20000);
	if (i == SWITCHES)
		fprintf(f, "[3] \"H-%016x\"[1]\n", 0x30000);
	fputc('\n', f);
}

/* Writes the row of switches to a file, whose path is `path`. */
static void write_row(char *path)
{
	int fd = mkstemp(path);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

	if (!f)
		bench_fatal("%s: %m", path);
	for (unsigned int i = 1; i <= SWITCHES; i++)
		write_switch(f, i);
	for (unsigned int i = 1; i <= 3; i++)
		fprintf(f, "caguid=0x%x0000\nCa 1 \"H-%016x\"\n[1](%x0001) \"S-%016x\"[%u]\n\n", i,
			i << 16, i, i < 3 ? 0x100 : SWITCHES << 8, i == 2 ? 4u : 3u);
	if (fclose(f))
		bench_fatal("%s: %m", path);
}

/* ---------------------------------------------------------------------- rows */

struct processes {
	struct worker loop, fabric, managed;
	const struct worker *row; /* fabric or managed: whose switches are measured */
	enum traffic traffic;
	unsigned int far; /* in the process with the fabric: 1 behind one switch, 2 behind five */
};

static double on_fabric(void *arg, unsigned int n)
{
	struct processes *p = arg;

	(void)n;
	return worker_ask(&p->fabric, p->traffic, p->far);
}

static double on_loop(void *arg, unsigned int n)
{
	struct processes *p = arg;

	(void)n;
	return worker_ask(&p->loop, p->traffic, 1);
}

/* The other switches of the long way take time, so a difference that is not positive is that of a
 * disturbed measurement, which is repeated. */
static double one_switch(void *arg, unsigned int n)
{
	struct processes *p = arg;
	double more;

	(void)n;
	do
		more = worker_ask(p->row, p->traffic, 2) - worker_ask(p->row, p->traffic, 1);
	while (more <= 0);
	return more / (SWITCHES - 1);
}

static void report(const char *name, struct processes *p, enum traffic traffic, unsigned int far)
{
	struct bench_pair pair = { on_fabric, on_loop, p, 1, 1 };
	struct bench_result result;

	if (!bench_wanted(name))
		return;
	p->traffic = traffic;
	p->far = far;
	bench_compare(&pair, &result);
	bench_report(&(struct bench_row){ name, result.value, "ns", result.reference, result.ratio,
					  TARGET_NONE, 0 });
}

/* The rate of one switch, beside the rate of whole messages on the loop link. */
static void report_rate(const char *name, struct processes *p, const struct worker *row)
{
	struct bench_pair pair = { one_switch, on_loop, p, 1, 1 };
	struct bench_result result;

	if (!bench_wanted(name))
		return;
	p->traffic = UD_SMALL;
	p->row = row;
	bench_compare(&pair, &result);
	bench_report(&(struct bench_row){ name, 1e3 / result.value, "Mpkt/s",
					  1e3 / result.reference, 1 / result.ratio, TARGET_NONE,
					  0 });
}

void bench_fabric(void)
{
	char path[] = "/tmp/ibal-bench-XXXXXX", settings[64], managed[96];
	struct processes p = { 0 };

	if (!bench_wanted("fabric.ud.8B.1hop") && !bench_wanted("fabric.ud.8B.5hops") &&
	    !bench_wanted("fabric.rc.4KiB.1hop") && !bench_wanted("fabric.rc.4KiB.5hops") &&
	    !bench_wanted("fabric.forward") && !bench_wanted("fabric.forward.managed"))
		return;
	write_row(path);
	snprintf(settings, sizeof(settings), "topology=%s", path);
	snprintf(managed, sizeof(managed), "subnet=managed %s", settings);
	worker_start(&p.loop, serve, &(struct settings){ "", 2, false });
	worker_start(&p.fabric, serve, &(struct settings){ settings, 3, false });
	worker_start(&p.managed, serve, &(struct settings){ managed, 3, true });
	report("fabric.ud.8B.1hop", &p, UD_SMALL, 1);
	report("fabric.ud.8B.5hops", &p, UD_SMALL, 2);
	report("fabric.rc.4KiB.1hop", &p, RC_LARGE, 1);
	report("fabric.rc.4KiB.5hops", &p, RC_LARGE, 2);
	report_rate("fabric.forward", &p, &p.fabric);
	report_rate("fabric.forward.managed", &p, &p.managed);
	worker_stop(&p.loop);
	worker_stop(&p.fabric);
	worker_stop(&p.managed);
	unlink(path);
}
