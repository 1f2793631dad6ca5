/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A program with which opensm.sh and diags.sh use the HCAs and switches of an agent.
 *
 *     subnet_client --client NAME NUMBER SOCKET
 *
 *     send     datagrams between all pairs of the NUMBER HCAs, by LID: each arrives at its HCA
 *              once, byte for byte, and at no other
 *     pull     pulls the cable of port NUMBER of the switch or HCA of the GUID in TEST_GUID
 *     plug     plugs this cable in
 *     reboot   reboots the switch of the GUID in TEST_GUID
 *     active   waits until port 1 of NUMBER HCAs is Active, by the PnP events
 *     lids     waits until PnP events have told of NUMBER changes of LIDs; prints "ready" when it
 *              listens
 */
#include "test/e2e/agent.h"

#include <inttypes.h>

#include <iba/ib_soft.h>

#define MAX_ENDS 1024
#define QKEY     0x1ee7u

/* ------------------------------------------------------------------------ all pairs */

#define BYTES   64u /* of a datagram */
#define ROOM    (IB_GRH_BYTES + BYTES)
#define AT_ONCE 64u /* completions of one poll */

/* An assertion in a step that is done for each datagram: each of Check's own costs a system call,
 * also if it holds. */
#define must(expr)                                            \
	do {                                                  \
		if (!(expr))                                  \
			ck_abort_msg("'%s' is false", #expr); \
	} while (0)

/* An HCA with a UD queue pair. The receives lie one behind the other in mem, the datagram to send
 * behind the receives. */
static struct end {
	uint16_t lid;
	uint32_t qpn, lkey;
	al_pd_h pd;
	al_cq_h send_cq, recv_cq;
	al_qp_h qp;
	uint8_t *mem;
	unsigned int arrived;
	bool from[MAX_ENDS]; /* the datagram of this sender has arrived */
} ends[MAX_ENDS];
static unsigned int num_ends;

static void fill(uint8_t *bytes, unsigned int from, unsigned int to)
{
	for (unsigned int i = 0; i < BYTES; i++)
		bytes[i] = (uint8_t)(from * 31 + to * 7 + i * 13 + (from ^ to) / 251);
	memcpy(bytes, &from, sizeof(from));
	memcpy(bytes + sizeof(from), &to, sizeof(to));
}

static uint32_t mem_bytes(void)
{
	return num_ends * (ROOM + BYTES);
}

/* Memory that the agent shares needs no copies through the agent's threads. */
static void make_end(struct end *end, al_h al, uint64_t guid)
{
	struct ib_qp_attr attr = { .port_num = 1, .qkey = QKEY };
	struct al_cq_init cq = { .cqe = num_ends + 1 };
	struct al_qp_init qp = { .qp_type = IB_QPT_UD,
				 .cap = { .max_send_wr = num_ends,
					  .max_recv_wr = num_ends,
					  .max_send_sge = 1,
					  .max_recv_sge = 1 } };
	struct al_mr_init mr = { .length = mem_bytes(), .access = IB_ACCESS_LOCAL_WRITE };
	al_ca_h ca = test_open_ca(al, guid);
	struct ib_port_attr port;
	uint32_t rkey;
	uint64_t dma;
	al_mr_h region;

	ck_ok(al_query_port(ca, 1, &port));
	ck_assert_msg(port.state == IB_PORT_ACTIVE, "HCA %#" PRIx64 " is not Active", guid);
	end->lid = port.lid;
	ck_ok(al_dma_alloc_coherent(ca, mem_bytes(), (void **)&end->mem, &dma));
	mr.addr = end->mem;
	ck_ok(al_alloc_pd(ca, NULL, &end->pd));
	ck_ok(al_reg_mr(end->pd, &mr, NULL, &end->lkey, &rkey, &region));
	ck_ok(al_create_cq(end->pd, &cq, NULL, NULL, NULL, &end->send_cq));
	cq.cqe = num_ends + 1;
	ck_ok(al_create_cq(end->pd, &cq, NULL, NULL, NULL, &end->recv_cq));
	qp.send_cq = end->send_cq;
	qp.recv_cq = end->recv_cq;
	ck_ok(al_create_qp(end->pd, &qp, NULL, NULL, &end->qp));
	ck_ok(al_qp_num(end->qp, &end->qpn));
	ck_ok(test_modify(end->qp, IB_QPS_INIT, attr,
			  IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY));
	ck_ok(test_modify(end->qp, IB_QPS_RTR, attr, IB_QP_STATE));
	ck_ok(test_modify(end->qp, IB_QPS_RTS, attr, IB_QP_STATE | IB_QP_SQ_PSN));
}

/* One receive more than there are senders, so that a datagram which comes twice is seen. */
static void post_receives(const struct end *end)
{
	static struct ib_recv_wr wr[MAX_ENDS];
	static struct ib_sge sge[MAX_ENDS];
	const struct ib_recv_wr *bad;

	for (unsigned int i = 0; i < num_ends; i++) {
		sge[i] = (struct ib_sge){ .addr = (uintptr_t)end->mem + i * ROOM,
					  .length = ROOM,
					  .lkey = end->lkey };
		wr[i] = (struct ib_recv_wr){ .next = i + 1 < num_ends ? &wr[i + 1] : NULL,
					     .wr_id = i,
					     .sg_list = &sge[i],
					     .num_sge = 1 };
	}
	ck_ok(al_post_recv(end->qp, wr, &bad));
}

/* Sends to every other end; the last datagram's completion is that of all. */
static void send_from(unsigned int from)
{
	static struct ib_send_wr wr[MAX_ENDS];
	static struct ib_sge sge[MAX_ENDS];
	static al_ah_h ah[MAX_ENDS];
	struct end *end = &ends[from];
	const struct ib_send_wr *bad;
	unsigned int num = 0;

	for (unsigned int to = 0; to < num_ends; to++) {
		const struct ib_ah_attr attr = { .port_num = 1, .dlid = ends[to].lid };
		uint8_t *bytes = end->mem + num_ends * ROOM + to * BYTES;

		if (to == from)
			continue;
		fill(bytes, from, to);
		must(!al_create_ah(end->pd, &attr, &ah[num]));
		sge[num] = (struct ib_sge){ .addr = (uintptr_t)bytes,
					    .length = BYTES,
					    .lkey = end->lkey };
		wr[num] = (struct ib_send_wr){
			.opcode = IB_WR_SEND,
			.sg_list = &sge[num],
			.num_sge = 1,
			.wr.ud = { .ah = ah[num], .remote_qpn = ends[to].qpn, .remote_qkey = QKEY }
		};
		if (num)
			wr[num - 1].next = &wr[num];
		num++;
	}
	wr[num - 1].send_flags = IB_SEND_SIGNALED;
	ck_ok(al_post_send(end->qp, wr, &bad));
	ck_assert_int_eq(test_poll(end->send_cq).status, IB_WC_SUCCESS);
	for (unsigned int i = 0; i < num; i++)
		must(!al_destroy_ah(ah[i], NULL, NULL));
}

static void check_arrival(unsigned int to, const struct ib_wc *wc)
{
	const uint8_t *bytes = ends[to].mem + wc->wr_id * ROOM + IB_GRH_BYTES;
	uint8_t want[BYTES];
	unsigned int from;

	must(wc->status == IB_WC_SUCCESS);
	must(wc->byte_len == ROOM);
	memcpy(&from, bytes, sizeof(from));
	must(from < num_ends && from != to);
	fill(want, from, to);
	must(!memcmp(bytes, want, BYTES));
	must(wc->slid == ends[from].lid);
	must(wc->src_qp == ends[from].qpn);
	must(!ends[to].from[from]);
	ends[to].from[from] = true;
	ends[to].arrived++;
}

/* Takes the completions that there are. */
static void take_arrivals(unsigned int to)
{
	struct ib_wc wc[AT_ONCE];
	uint32_t num;

	do {
		must(!al_poll_cq(ends[to].recv_cq, AT_ONCE, wc, &num));
		for (uint32_t i = 0; i < num; i++)
			check_arrival(to, &wc[i]);
	} while (num == AT_ONCE);
}

static void send_all(int number)
{
	struct timespec limit;
	uint64_t guids[MAX_ENDS];
	al_h al = agent_open();
	size_t num = MAX_ENDS;

	ck_ok(al_get_ca_guids(al, guids, &num));
	ck_assert_int_eq((int)num, number);
	num_ends = (unsigned int)num;
	for (unsigned int i = 0; i < num_ends; i++)
		make_end(&ends[i], al, guids[i]);
	for (unsigned int i = 0; i < num_ends; i++)
		post_receives(&ends[i]);
	for (unsigned int i = 0; i < num_ends; i++)
		send_from(i);
	limit = test_deadline();
	for (unsigned int i = 0; i < num_ends; i++)
		for (take_arrivals(i); ends[i].arrived < num_ends - 1; take_arrivals(i))
			ck_assert_msg(!test_expired(&limit), "HCA %u has got %u datagrams", i,
				      ends[i].arrived);
	for (unsigned int i = 0; i < num_ends; i++)
		take_arrivals(i); /* one that came twice */
	al_set_log(test_ignore_log, NULL);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	printf("%u datagrams between %u HCAs\n", num_ends * (num_ends - 1), num_ends);
}

/* ------------------------------------------------------------------------ cables */

/* A vendor call on the switch or HCA of TEST_GUID. */
static void call(uint32_t code, const uint32_t *port)
{
	const char *guid = getenv("TEST_GUID");
	uint32_t none = 0;
	al_h al = agent_open();
	al_ca_h ca;

	ck_assert_ptr_nonnull(guid);
	ca = test_open_ca(al, strtoull(guid, NULL, 0));
	ck_ok(al_vendor_call(ca, code, port, port ? sizeof(*port) : 0, NULL, &none));
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

static void pull(int number)
{
	const uint32_t port = (uint32_t)number;

	call(SOFT_PORT_DOWN, &port);
}

static void plug(int number)
{
	const uint32_t port = (uint32_t)number;

	call(SOFT_PORT_UP, &port);
}

static void reboot_switch(int none)
{
	(void)none;
	call(SOFT_REBOOT, NULL);
}

/* ------------------------------------------------------------------------ waiting */

static sem_t told; /* posted for each event of the wanted type at port 1 */
static al_pnp_type wanted;

static al_status on_pnp(void *context, const struct al_pnp_event *event)
{
	(void)context;
	if (event->type == wanted && event->port_num == 1)
		sem_post(&told);
	return AL_SUCCESS;
}

static void wait_for_events(al_pnp_type type, int number)
{
	const struct al_pnp_attr attr = { .ports = true };
	al_h al = agent_open();
	al_pnp_h pnp;

	wanted = type;
	sem_init(&told, 0, 0);
	ck_ok(al_reg_pnp(al, &attr, NULL, on_pnp, &pnp));
	puts("ready");
	fflush(stdout);
	for (int i = 0; i < number; i++)
		test_wait(&told);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

static void wait_active(int number)
{
	wait_for_events(AL_PNP_PORT_ACTIVE, number);
}

static void wait_lids(int number)
{
	wait_for_events(AL_PNP_LID_CHANGE, number);
}

int main(int argc, char **argv)
{
	static const struct agent_client clients[] = { { "send", send_all },
						       { "pull", pull },
						       { "plug", plug },
						       { "reboot", reboot_switch },
						       { "active", wait_active },
						       { "lids", wait_lids },
						       { NULL, NULL } };

	agent_be_client(argc, argv, clients);
	return EXIT_FAILURE;
}
