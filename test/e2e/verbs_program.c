/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A program of libibverbs that misbehaves as programs do: it closes in the wrong order, leaks, closes
 * a context twice, uses objects of another context, destroys with events that it has not
 * acknowledged, changes the flags of descriptors, forks, and calls from many threads. Compiled with
 * Debian's <infiniband/verbs.h> and run by verbs_program.sh. Prints what is wrong.
 */
#include <errno.h>
#include <fcntl.h>
#include <iba/ib_al.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int failures;

#define EXPECT(condition)                                                                \
	do {                                                                             \
		if (!(condition)) {                                                      \
			failures++;                                                      \
			printf("line %d: not so: %s (errno %d)\n", __LINE__, #condition, errno); \
		}                                                                        \
	} while (0)

/* One end: all that a queue pair needs. */
struct end {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint16_t lid;
	char data[4096];
};

static struct ibv_context *open_named(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;

	for (int i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			ctx = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	return ctx;
}

static void open_end(struct end *end, const char *name)
{
	struct ibv_qp_init_attr init = { .cap = { 64, 64, 2, 2, 0 }, .qp_type = IBV_QPT_RC, .sq_sig_all = 1 };
	struct ibv_port_attr port;

	memset(end, 0, sizeof(*end));
	end->ctx = open_named(name);
	if (!end->ctx) {
		printf("%s cannot be opened: %s\n", name, strerror(errno));
		exit(1);
	}
	end->pd = ibv_alloc_pd(end->ctx);
	end->channel = ibv_create_comp_channel(end->ctx);
	end->cq = ibv_create_cq(end->ctx, 256, end, end->channel, 0);
	init.send_cq = init.recv_cq = end->cq;
	end->qp = ibv_create_qp(end->pd, &init);
	end->mr = ibv_reg_mr(end->pd, end->data, sizeof(end->data),
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	EXPECT(end->pd && end->channel && end->cq && end->qp && end->mr);
	EXPECT(!ibv_query_port(end->ctx, 1, &port));
	end->lid = port.lid;
}

static void connect_end(struct end *end, const struct end *peer)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE };

	EXPECT(!ibv_modify_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTR,
				     .path_mtu = IBV_MTU_1024,
				     .dest_qp_num = peer->qp->qp_num,
				     .min_rnr_timer = 1,
				     .ah_attr = { .dlid = peer->lid, .port_num = 1 } };
	EXPECT(!ibv_modify_qp(end->qp, &attr,
			      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				      IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER));
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7 };
	EXPECT(!ibv_modify_qp(end->qp, &attr,
			      IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				      IBV_QP_MAX_QP_RD_ATOMIC));
	EXPECT(end->qp->state == IBV_QPS_RTS);
}

static void open_pair(struct end *a, struct end *b)
{
	open_end(a, "soft0");
	open_end(b, "soft1");
	connect_end(a, b);
	connect_end(b, a);
}

static void close_end(struct end *end)
{
	EXPECT(!ibv_destroy_qp(end->qp));
	EXPECT(!ibv_dereg_mr(end->mr));
	EXPECT(!ibv_destroy_cq(end->cq));
	EXPECT(!ibv_destroy_comp_channel(end->channel));
	EXPECT(!ibv_dealloc_pd(end->pd));
	EXPECT(!ibv_close_device(end->ctx));
}

/* Posts `count` receives or sends of one byte in one chain; the request number `bad` is none that can
 * be posted. Returns the number of the first that was not posted. */
static int post(struct end *end, bool send, int count, int bad)
{
	const struct ibv_sge one = { (uintptr_t)end->data, 1, end->mr->lkey };
	struct ibv_sge sge[] = { one, one, one }; /* a bad request has one more than its queue permits */
	struct ibv_send_wr sends[64], *bad_send = NULL;
	struct ibv_recv_wr recvs[64], *bad_recv = NULL;

	for (int i = 0; i < count; i++) {
		sends[i] = (struct ibv_send_wr){ .wr_id = (uint64_t)i, .sg_list = sge, .num_sge = i == bad ? 3 : 1,
						 .opcode = IBV_WR_SEND, .next = i + 1 < count ? &sends[i + 1] : NULL };
		recvs[i] = (struct ibv_recv_wr){ .wr_id = (uint64_t)i, .sg_list = sge, .num_sge = i == bad ? 3 : 1,
						 .next = i + 1 < count ? &recvs[i + 1] : NULL };
	}
	if (send)
		return ibv_post_send(end->qp, sends, &bad_send) ? (int)(bad_send - sends) : count;
	return ibv_post_recv(end->qp, recvs, &bad_recv) ? (int)(bad_recv - recvs) : count;
}

static void poll_all(struct end *end, int count)
{
	struct ibv_wc wc[64];
	int n;

	while (count > 0) {
		n = ibv_poll_cq(end->cq, 64, wc);
		EXPECT(n >= 0);
		if (n < 0)
			return;
		for (int i = 0; i < n; i++)
			EXPECT(wc[i].status == IBV_WC_SUCCESS);
		count -= n;
	}
}

/* The first request that is not posted is named, wherever it is in a chain. */
static void chains(void)
{
	static const int bad[] = { 0, 1, 15, 16, 17, 31, 32, 33 };
	struct end a, b;

	open_pair(&a, &b);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		EXPECT(post(&b, false, 40, bad[i]) == bad[i]);
		EXPECT(post(&a, true, 40, bad[i]) == bad[i]);
		poll_all(&a, bad[i]);
		poll_all(&b, bad[i]);
	}
	EXPECT(post(&b, false, 64, -1) == 64);
	EXPECT(post(&b, false, 1, -1) == 0 && errno == ENOMEM);
	EXPECT(post(&a, true, 64, -1) == 64);
	poll_all(&a, 64);
	poll_all(&b, 64);
	close_end(&a);
	close_end(&b);
}

/* Frees what a closed context has left, in any order. */
static void free_left(struct end *end)
{
	EXPECT(!ibv_destroy_qp(end->qp));
	EXPECT(!ibv_dealloc_pd(end->pd));
	EXPECT(!ibv_destroy_comp_channel(end->channel));
	EXPECT(!ibv_destroy_cq(end->cq));
	EXPECT(!ibv_dereg_mr(end->mr));
}

/* Objects that others use stay, and a context that is closed takes along what was left. */
static void order(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct end a, b;

	EXPECT(list && list[0] && list[1]);
	ibv_free_device_list(list);
	ibv_free_device_list(NULL);
	open_pair(&a, &b);
	EXPECT(ibv_dealloc_pd(a.pd) == EBUSY);
	EXPECT(ibv_destroy_cq(a.cq) == EBUSY);
	EXPECT(ibv_destroy_comp_channel(a.channel) == EBUSY);
	EXPECT(!ibv_close_device(a.ctx)); /* with all its objects */
	EXPECT(ibv_close_device(a.ctx) == EINVAL);
	free_left(&a);
	close_end(&b);
}

/* Objects of another context are refused, of the same device, too. */
static void strangers(void)
{
	struct ibv_qp_init_attr init = { .cap = { 1, 1, 1, 1, 0 }, .qp_type = IBV_QPT_RC };
	struct end a, b;

	open_end(&a, "soft0");
	open_end(&b, "soft0");
	init.send_cq = a.cq;
	init.recv_cq = b.cq;
	EXPECT(!ibv_create_qp(a.pd, &init) && errno == EINVAL);
	EXPECT(!ibv_create_cq(a.ctx, 10, NULL, b.channel, 0) && errno == EINVAL);
	init.recv_cq = NULL;
	EXPECT(!ibv_create_qp(a.pd, &init) && errno == EINVAL);
	init.recv_cq = a.cq;
	init.qp_type = IBV_QPT_XRC_SEND;
	EXPECT(!ibv_create_qp(a.pd, &init) && errno == EOPNOTSUPP);
	EXPECT(!ibv_create_srq(a.pd, &(struct ibv_srq_init_attr){ .attr = { 1, 1, 0 } }) && errno == EOPNOTSUPP);
	EXPECT(!ibv_alloc_mw(a.pd, IBV_MW_TYPE_1) && errno == EOPNOTSUPP);
	EXPECT(!ibv_create_cq(a.ctx, 0, NULL, NULL, 0) && errno == EINVAL);
	close_end(&a);
	close_end(&b);
}

static void *destroy_cq(void *data)
{
	struct end *end = data;

	EXPECT(!ibv_destroy_qp(end->qp));
	EXPECT(!ibv_destroy_cq(end->cq));
	return NULL;
}

/* A queue is destroyed when its events are acknowledged, and an event that was not read is gone with
 * its queue. */
static void events(void)
{
	struct end a, b;
	struct ibv_cq *cq;
	pthread_t thread;
	void *context;

	open_pair(&a, &b);
	EXPECT(fcntl(b.channel->fd, F_SETFL, O_NONBLOCK) == 0);
	EXPECT(ibv_get_cq_event(b.channel, &cq, &context) == -1 && errno == EAGAIN);
	EXPECT(!ibv_req_notify_cq(b.cq, 0));
	EXPECT(post(&b, false, 2, -1) == 2 && post(&a, true, 1, -1) == 1);
	EXPECT(poll(&(struct pollfd){ .fd = b.channel->fd, .events = POLLIN }, 1, -1) == 1);
	EXPECT(!ibv_get_cq_event(b.channel, &cq, &context) && cq == b.cq && context == &b);
	EXPECT(ibv_get_cq_event(b.channel, &cq, &context) == -1 && errno == EAGAIN);
	EXPECT(!ibv_req_notify_cq(b.cq, 0));
	EXPECT(post(&a, true, 1, -1) == 1);
	EXPECT(poll(&(struct pollfd){ .fd = b.channel->fd, .events = POLLIN }, 1, -1) == 1);
	EXPECT(!pthread_create(&thread, NULL, destroy_cq, &b));
	EXPECT(pthread_tryjoin_np(thread, NULL) == EBUSY);
	usleep(20000); /* the thread would be done by now if it did not wait */
	EXPECT(pthread_tryjoin_np(thread, NULL) == EBUSY);
	ibv_ack_cq_events(b.cq, 1);
	EXPECT(!pthread_join(thread, NULL));
	EXPECT(ibv_get_cq_event(b.channel, &cq, &context) == -1 && errno == EAGAIN);
	EXPECT(!ibv_dereg_mr(b.mr) && !ibv_destroy_comp_channel(b.channel) && !ibv_dealloc_pd(b.pd) &&
	       !ibv_close_device(b.ctx));
	close_end(&a);
}

/* A child has devices of its own, with and without ibv_fork_init(). */
__attribute__((unused)) static void forks(void)
{
	struct end a, b;
	int status;
	pid_t pid;

	for (int init = 0; init < 2; init++) {
		if (init)
			EXPECT(!ibv_fork_init());
		open_pair(&a, &b);
		fflush(stdout);
		pid = fork();
		if (!pid) {
			struct end c, d;

			failures = 0;
			open_pair(&c, &d);
			EXPECT(post(&d, false, 1, -1) == 1 && post(&c, true, 1, -1) == 1);
			poll_all(&c, 1);
			poll_all(&d, 1);
			close_end(&c);
			close_end(&d);
			fflush(stdout);
			_exit(failures);
		}
		EXPECT(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status));
		EXPECT(post(&b, false, 1, -1) == 1 && post(&a, true, 1, -1) == 1);
		poll_all(&a, 1);
		poll_all(&b, 1);
		close_end(&a);
		close_end(&b);
	}
	EXPECT(ibv_is_fork_initialized() == IBV_FORK_UNNEEDED);
}

static void ignore(void *context, ib_log_level level, const char *text)
{
	(void)context;
	(void)level;
	(void)text;
}

static void *busy(void *unused)
{
	struct end a, b;

	(void)unused;
	for (int i = 0; i < 20; i++) {
		open_pair(&a, &b);
		EXPECT(post(&b, false, 32, -1) == 32 && post(&a, true, 32, -1) == 32);
		poll_all(&a, 32);
		poll_all(&b, 32);
		close_end(&a);
		close_end(&b);
	}
	return NULL;
}

static void threads(void)
{
	pthread_t thread[8];

	for (int i = 0; i < 8; i++)
		EXPECT(!pthread_create(&thread[i], NULL, busy, NULL));
	for (int i = 0; i < 8; i++)
		EXPECT(!pthread_join(thread[i], NULL));
}

/* A device that is removed under its program: a fatal event, errors, and an end in any order. */
static void removal(void)
{
	struct ibv_async_event event;
	struct ibv_port_attr port;
	struct ibv_wc wc;
	struct ibv_device **list;
	struct end a, b;
	int num = -1;
	al_h al;

	open_pair(&a, &b);
	EXPECT(!al_open(NULL, &al));
	al_set_log(ignore, NULL); /* the log names what is left on the HCA */
	EXPECT(!al_unload_module(al, "soft", AL_UNLOAD_REMOVE));
	for (int i = 0; i < 2; i++) {
		struct end *end = i ? &a : &b;

		do { /* the port's end may be told first */
			EXPECT(!ibv_get_async_event(end->ctx, &event));
			ibv_ack_async_event(&event);
		} while (event.event_type == IBV_EVENT_PORT_ERR);
		EXPECT(event.event_type == IBV_EVENT_DEVICE_FATAL);
		EXPECT(ibv_query_port(end->ctx, 1, &port) == EIO);
		EXPECT(post(end, true, 1, -1) == 0 && errno == EIO);
		EXPECT(ibv_poll_cq(end->cq, 1, &wc) < 0);
		EXPECT(!ibv_alloc_pd(end->ctx) && errno == EIO);
	}
	close_end(&a);
	EXPECT(!ibv_close_device(b.ctx));
	free_left(&b);
	list = ibv_get_device_list(&num);
	EXPECT(list && !list[0] && !num);
	ibv_free_device_list(list);
	al_close(al, AL_DESTROY_SYNC, NULL);
}

/* Functions that no other program of the tests calls. */
static void others(void)
{
	struct ibv_wc wc = { .opcode = IBV_WC_RECV, .sl = 3 };
	struct ibv_ah_attr back;
	struct ibv_mr *mr;
	struct end end;

	open_end(&end, "soft0");
	EXPECT(ibv_get_pkey_index(end.ctx, 1, htobe16(0xffff)) == 0);
	EXPECT(ibv_get_pkey_index(end.ctx, 1, htobe16(0x1234)) == -1);
	/* the kernel wants both addresses at the same place of a page */
	mr = ibv_reg_mr_iova(end.pd, end.data, sizeof(end.data), 0x10000 + (uintptr_t)end.data % 4096,
			     IBV_ACCESS_LOCAL_WRITE);
	EXPECT(mr && mr->addr == end.data && mr->length == sizeof(end.data));
	EXPECT(mr && !ibv_dereg_mr(mr));
	wc.slid = end.lid;
	EXPECT(!ibv_init_ah_from_wc(end.ctx, 1, &wc, NULL, &back));
	EXPECT(back.dlid == end.lid && back.sl == 3 && !back.is_global && back.port_num == 1);
	close_end(&end);
}

int main(void)
{
	others();
	chains();
	order();
	strangers();
	events();
#ifndef __SANITIZE_THREAD__ /* verbs_program.sh says so */
	forks();
#endif
	threads();
	if (!strcmp(getenv("IBAL_AGENT"), "off")) /* an agent's HCAs are not the program's to remove */
		removal();
	return failures != 0;
}
