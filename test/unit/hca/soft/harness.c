/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The test's upper half: see harness.h. */
#include "harness.h"

#include <malloc.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "hca/soft/base/reading.h"
#include "test/link/queue_link.h"
#include "test/unit/scale.h"

struct ci_interface test_ops;
struct hca hca[MAX_HCAS];
uint32_t hcas;
char last_log[1024];
_Atomic uint64_t live_allocs;
_Atomic uint32_t port_events[MAX_HCAS][MAX_PORTS];
char port_ladder[MAX_HCAS][256];

/* ------------------------------------------- functions that libibal provides */

static _Thread_local uint64_t fail_at;
static bool manual; /* manual progress */
bool ib_trace_on;

uint64_t al_fail_alloc(uint64_t nth)
{
	uint64_t old = fail_at;

	fail_at = nth;
	return old;
}

void *al_alloc_aligned(size_t align, size_t size)
{
	void *mem;

	if (fail_at && !--fail_at)
		return NULL;
	mem = aligned_alloc(align, (size + align - 1) / align * align);
	memset(mem, 0, size);
	atomic_fetch_add(&live_allocs, 1);
	return mem;
}

void *al_alloc(size_t size)
{
	return al_alloc_aligned(16, size);
}

void al_free(void *mem)
{
	if (!mem)
		return;
	atomic_fetch_sub(&live_allocs, 1);
	memset(mem, 0x5a, malloc_usable_size(mem)); /* a later use of the freed memory reads nonsense */
	free(mem);
}

al_status ib_refuse(al_status status, const char *fmt, ...)
{
	(void)fmt;
	return status;
}

void ib_request_failed(void *qp_ctx, uint64_t wr_id, ib_wc_status status, const char *fmt, ...)
{
	(void)qp_ctx;
	(void)wr_id;
	(void)status;
	(void)fmt;
}

void ib_log(ib_log_level level, const char *who, const char *fmt, ...)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	va_list args;

	(void)level;
	(void)who;
	pthread_mutex_lock(&lock);
	va_start(args, fmt);
	vsnprintf(last_log, sizeof(last_log), fmt, args);
	va_end(args);
	pthread_mutex_unlock(&lock);
}

void ib_trace(const char *actor, const char *fmt, ...)
{
	char line[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	fprintf(stderr, "%s: %s\n", actor, line);
}

struct ci_registration {
	struct hca *h;
};

static struct ci_registration registrations[MAX_HCAS];

static al_status (*module_post_send)(struct ci_qp *qp, const struct ib_send_wr *wr,
				     const struct ib_send_wr **bad);

/* The Access Layer posts in a read section. */
static al_status post_send(struct ci_qp *qp, const struct ib_send_wr *wr,
			   const struct ib_send_wr **bad)
{
	al_status status;

	reading_begin();
	status = module_post_send(qp, wr, bad);
	reading_end();
	return status;
}

al_status ib_register_ci(struct ci_host *host, const struct ci_interface *ci, void *module_hca,
			 ci_handle *handle)
{
	struct hca *h = &hca[hcas];
	al_status status;

	(void)host;
	h->ci = ci;
	h->ca = al_alloc_aligned(64, ci->obj_size[CI_OBJ_CA] ? ci->obj_size[CI_OBJ_CA] : sizeof(*h->ca));
	if (!h->ca)
		return AL_INSUFFICIENT_MEMORY;
	h->ca->ctx = h;
	h->ca->hca = module_hca;
	status = ci->open_ca(h->ca);
	if (!status)
		status = ci->query_ca(h->ca, &h->attr);
	if (status) {
		al_free(h->ca);
		return status;
	}
	if (h->attr.node_type != IB_NODE_SWITCH) {
		test_ops = *ci;
		module_post_send = ci->post_send;
		test_ops.post_send = post_send;
	}
	h->present = true;
	registrations[hcas].h = h;
	*handle = &registrations[hcas++];
	return AL_SUCCESS;
}

al_status ib_deregister_ci(ci_handle handle, uint32_t flags)
{
	struct hca *h = handle->h;

	(void)flags;
	while (atomic_load(&h->in_use))
		sched_yield();
	ops->close_ca(h->ca);
	h->present = false;
	al_free(h->ca);
	return AL_SUCCESS;
}

void (*on_notify)(struct cq *cq);

void ib_cq_notify(void *cq_ctx)
{
	if (on_notify)
		on_notify(cq_ctx);
	atomic_fetch_add(&((struct cq *)cq_ctx)->notified, 1);
}

enum { LETTER_SEEN = 4 };

/* Adds a letter to the ladder of an HCA's port 1. */
static void note(const struct hca *h, uint32_t letter)
{
	char *ladder = port_ladder[h - hca];
	const size_t at = strlen(ladder);

	if (at + 1 < sizeof(port_ladder[0]))
		ladder[at] = "DIRAs"[letter];
}

static void port_event(const struct ci_event *event)
{
	struct hca *h = event->object_ctx;
	size_t index = (size_t)(h - hca);

	if (event->port_num == 1 && event->type <= IB_EVENT_PORT_ACTIVE)
		note(h, event->type - IB_EVENT_PORT_DOWN);
	if (event->port_num < MAX_PORTS)
		atomic_fetch_or(&port_events[index][event->port_num], 1u << event->type);
}

void ib_dispatch_event(const struct ci_event *event)
{
	struct qp *qp = event->object_ctx;

	if (event->type >= IB_EVENT_PORT_DOWN) {
		port_event(event);
		return;
	}
	if (event->type == IB_EVENT_CQ_ERR) { /* events are counted in the upper half */
		atomic_fetch_add(&((struct cq *)event->object_ctx)->notified, 1u << 16);
		return;
	}
	atomic_fetch_add(&qp->event_count, 1);
	atomic_fetch_or(&qp->events, 1u << event->type);
}

/* The module raises no trap here: the ports' agents are not the Access Layer's. */
struct last_trap last_trap;

void ib_port_trap(void *ca_ctx, uint8_t port, const struct ib_notice *notice)
{
	(void)ca_ctx;
	last_trap.number++;
	last_trap.port = port;
	last_trap.notice = *notice;
}

struct last_seen last_seen;

void ib_mad_seen(void *ca_ctx, uint8_t port, const void *mad, uint32_t length)
{
	struct hca *h = ca_ctx;

	ck_assert_uint_eq(length, sizeof(last_seen.mad));
	last_seen.h = h;
	last_seen.port = port;
	memcpy(&last_seen.mad, mad, length);
	if (port == 1)
		note(h, LETTER_SEEN);
	atomic_fetch_add(&last_seen.num, 1);
}

/* ------------------------------------------------------------------ waiting */

uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static uint64_t limit_ms(void)
{
	return (uint64_t)test_scaled_ms(10000);
}

static void go_on(void)
{
	if (manual)
		step();
	else
		sched_yield();
}

#define WAIT_FOR(condition) \
	do { \
		uint64_t end_ = now_ms() + limit_ms(); \
		while (!(condition)) { \
			ck_assert_msg(now_ms() < end_, "waited in vain for %s", #condition); \
			go_on(); \
		} \
	} while (0)

void wait_bits(_Atomic uint32_t *word, uint32_t bits)
{
	WAIT_FOR((atomic_load(word) & bits) == bits);
}

ib_qp_state state_of(struct qp *qp)
{
	struct ib_qp_attr attr;

	ck_assert_int_eq(ops->query_qp(qp->ci, &attr), AL_SUCCESS);
	return attr.qp_state;
}

void wait_state(struct qp *qp, ib_qp_state state)
{
	WAIT_FOR(state_of(qp) == state);
}

static uint32_t poll_one(struct cq *cq, struct ib_wc *wc)
{
	uint32_t count = 77;

	ck_assert_int_eq(ops->poll_cq(cq->ci, 1, wc, &count), AL_SUCCESS);
	ck_assert_uint_le(count, 1);
	return count;
}

struct ib_wc wait_wc(struct cq *cq)
{
	struct ib_wc wc;

	WAIT_FOR(poll_one(cq, &wc));
	return wc;
}

struct ib_wc expect_wc(struct cq *cq, uint64_t wr_id, ib_wc_status status)
{
	struct ib_wc wc = wait_wc(cq);

	ck_assert_msg(wc.wr_id == wr_id && wc.status == status,
		      "completion of %llu with status %d, not of %llu with %d", (unsigned long long)wc.wr_id,
		      wc.status, (unsigned long long)wr_id, status);
	return wc;
}

void expect_empty(struct cq *cq)
{
	struct ib_wc wc;

	ck_assert_msg(!poll_one(cq, &wc), "a completion of %llu with status %d", (unsigned long long)wc.wr_id,
		      wc.status);
}

/* ------------------------------------------------------------------- objects */

/* Takes settings in the grammar of IBAL_SOFT. */
al_status try_up(const char *settings)
{
	static char text[2048], section[64];
	static struct ci_param param[64];
	struct ci_params params = { 0, param };
	char *word, *save, *end;
	al_status status;

	memset(hca, 0, sizeof(hca));
	memset(port_ladder, 0, sizeof(port_ladder));
	memset(port_events, 0, sizeof(port_events));
	hcas = 0;
	last_log[0] = 0;
	manual = strstr(settings, "progress=manual");
	strcpy(text, settings);
	section[0] = 0;
	for (word = text; *(word += strspn(word, " ")); word = save) {
		end = word + strcspn(word, *word == '[' ? "]" : " ");
		save = *end ? end + 1 : end;
		*end = 0;
		if (*word == '[') {
			strcpy(section, word + 1);
			continue;
		}
		param[params.count].section = strdup(section);
		param[params.count].key = word;
		param[params.count].value = strchr(word, '=') + 1;
		param[params.count].origin = "the test";
		*strchr(word, '=') = 0;
		params.count++;
	}
	queue_link_use_as_asked();
	status = ci_module.init(NULL, &params);
	while (params.count)
		free((char *)param[--params.count].section);
	if (status)
		return status;
	status = ci_module.scan();
	if (status)
		ci_module.cleanup();
	return status;
}

void up(const char *settings)
{
	uint32_t i;

	ck_assert_msg(try_up(settings) == AL_SUCCESS, "%s", last_log);
	for (i = 0; i < hcas; i++)
		hca[i].pd = new_pd(&hca[i]);
}

void down(void)
{
	uint32_t i;

	for (i = 0; i < hcas; i++)
		if (hca[i].pd)
			free_pd(hca[i].pd);
	ci_module.cleanup();
	ck_assert_uint_eq(live_allocs, 0);
}

static void *new_object(enum ci_obj kind, size_t plain)
{
	void *mem = al_alloc_aligned(64, test_ops.obj_size[kind] ? test_ops.obj_size[kind] : plain);

	ck_assert_ptr_nonnull(mem);
	return mem;
}

struct ci_pd *new_pd(struct hca *h)
{
	struct ci_pd *pd = new_object(CI_OBJ_PD, sizeof(*pd));

	pd->ca = h->ca;
	ck_assert_int_eq(ops->allocate_pd(pd, NULL), AL_SUCCESS);
	return pd;
}

void free_pd(struct ci_pd *pd)
{
	ops->deallocate_pd(pd);
	al_free(pd);
}

struct cq *new_cq(struct hca *h, uint32_t cqe, al_cq_notify notify)
{
	struct cq *cq = calloc(1, sizeof(*cq));
	struct ci_cq_init init = { .cqe = cqe, .notify = notify };

	cq->ci = new_object(CI_OBJ_CQ, sizeof(*cq->ci));
	cq->ci->ctx = cq;
	cq->ci->pd = h->pd;
	ck_assert_int_eq(ops->create_cq(cq->ci, &init, NULL), AL_SUCCESS);
	ck_assert_uint_ge(init.cqe, cqe);
	cq->ci->cqe = init.cqe;
	return cq;
}

void free_cq(struct cq *cq)
{
	ops->destroy_cq(cq->ci);
	al_free(cq->ci);
	free(cq);
}

al_status try_mr(struct mr *mr, struct hca *h, struct ci_pd *pd, size_t size, uint32_t access)
{
	struct ci_mem mem = { .length = size, .fd = -1, .access = access };
	al_status status;

	mr->size = size;
	mr->buf = aligned_alloc(64, (size + 63) & ~(size_t)63);
	memset(mr->buf, 0, size);
	mem.addr = mr->buf;
	mem.iova = (uintptr_t)mr->buf;
	mr->ci = new_object(CI_OBJ_MR, sizeof(*mr->ci));
	mr->ci->pd = pd ? pd : h->pd;
	status = ops->register_mr(mr->ci, &mem, NULL);
	if (status) {
		al_free(mr->ci);
		free(mr->buf);
	}
	return status;
}

#define ALL_ACCESS (IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC)

struct mr *new_mr(struct hca *h, size_t size, uint32_t access)
{
	struct mr *mr = calloc(1, sizeof(*mr));

	ck_assert_int_eq(try_mr(mr, h, NULL, size, access ? access : ALL_ACCESS), AL_SUCCESS);
	return mr;
}

void end_mr(const struct mr *mr)
{
	ops->deregister_mr(mr->ci);
	al_free(mr->ci);
	free(mr->buf);
}

void free_mr(struct mr *mr)
{
	end_mr(mr);
	free(mr);
}

static uint32_t or_default(uint32_t value, uint32_t def)
{
	return value ? value : def;
}

static uint8_t small(uint8_t value, uint8_t def)
{
	return value == 0xff ? 0 : value ? value : def;
}

static bool is_special(const struct qp_options *o)
{
	return o->type == IB_QPT_SMI || o->type == IB_QPT_GSI;
}

static bool is_datagram(const struct qp_options *o)
{
	return o->type == IB_QPT_UD || is_special(o);
}

/* A switch has special queue pairs at port 0 only. */
static uint8_t special_port(const struct hca *h, const struct qp_options *o)
{
	if (h->attr.node_type == IB_NODE_SWITCH)
		return 0;
	return o->port ? o->port : 1;
}

al_status try_qp(struct hca *h, struct cq *send_cq, struct cq *recv_cq, const struct qp_options *o,
		 struct qp **made)
{
	struct al_qp_init attr = {
		.qp_type = o->type ? o->type : IB_QPT_RC,
		.sq_sig_all = o->sig_all,
		.block_mcast_loopback = o->blocks_own,
	};
	struct ci_qp_init init = {
		.attr = &attr,
		.cap = {
			.max_send_wr = or_default(o->depth, 16),
			.max_recv_wr = or_default(o->depth, 16),
			.max_send_sge = or_default(o->sge, 4),
			.max_recv_sge = or_default(o->sge, 4),
			.max_inline_data = o->inline_data,
		},
	};
	struct qp *qp = calloc(1, sizeof(*qp));
	al_status status;

	qp->hca = h;
	qp->send_cq = send_cq;
	qp->recv_cq = recv_cq;
	qp->ci = new_object(CI_OBJ_QP, sizeof(*qp->ci));
	qp->ci->ctx = qp;
	qp->ci->owner_context = qp;
	qp->ci->pd = o->pd ? o->pd : h->pd;
	qp->ci->send_cq = send_cq->ci;
	qp->ci->recv_cq = recv_cq->ci;
	qp->ci->qp_type = attr.qp_type;
	if (is_special(o))
		status = ops->create_spl_qp(qp->ci, special_port(h, o), &init, NULL);
	else
		status = ops->create_qp(qp->ci, &init, NULL);
	if (!status) {
		*made = qp;
		return status;
	}
	al_free(qp->ci);
	free(qp);
	return status;
}

struct qp *new_qp(struct hca *h, struct cq *send_cq, struct cq *recv_cq, const struct qp_options *o)
{
	struct qp *qp = NULL;

	ck_assert_int_eq(try_qp(h, send_cq, recv_cq, o, &qp), AL_SUCCESS);
	return qp;
}

void free_qp(struct qp *qp)
{
	ops->destroy_qp(qp->ci);
	al_free(qp->ci);
	free(qp);
}

al_status modify(struct qp *qp, ib_qp_state state, uint32_t mask, struct ib_qp_attr *attr)
{
	struct ib_qp_attr none = { 0 };

	attr = attr ? attr : &none;
	attr->qp_state = state;
	return ops->modify_qp(qp->ci, attr, mask | IB_QP_STATE, NULL);
}

void to_init(struct qp *qp, const struct qp_options *o)
{
	struct ib_qp_attr attr = {
		.port_num = o->port ? o->port : 1,
		.pkey_index = o->pkey_index,
		.qkey = o->qkey,
		.qp_access_flags = or_default(o->access, ALL_ACCESS) & ~o->no_access,
	};

	ck_assert_int_eq(modify(qp, IB_QPS_INIT,
				(is_special(o) ? 0 : IB_QP_PORT) | IB_QP_PKEY_INDEX |
					(is_datagram(o) ? IB_QP_QKEY : IB_QP_ACCESS_FLAGS),
				&attr),
			 AL_SUCCESS);
}

/* Attributes that only RC has. */
static uint32_t reliable(const struct qp_options *o, uint32_t mask)
{
	return !o->type || o->type == IB_QPT_RC ? mask : 0;
}

void to_rtr(struct qp *qp, const struct qp *peer, const struct qp_options *o)
{
	struct ib_port_attr port;
	struct ib_qp_attr attr = {
		.path_mtu = (ib_mtu)or_default(o->mtu, IB_MTU_256),
		.rq_psn = o->psn,
		.dest_qp_num = peer ? peer->ci->qp_num : 0,
		.max_dest_rd_atomic = small(or_default(o->dest_rd_atomic, o->rd_atomic), 4),
		.min_rnr_timer = small(o->rnr_timer, 1),
	};

	if (is_datagram(o)) {
		ck_assert_int_eq(modify(qp, IB_QPS_RTR, 0, NULL), AL_SUCCESS);
		return;
	}
	ck_assert_int_eq(ops->query_port(peer->hca->ca, 1, &port), AL_SUCCESS);
	attr.ah_attr.dlid = o->dlid ? o->dlid : port.lid;
	attr.ah_attr.port_num = 1;
	if (port.link_layer == IB_LINK_LAYER_ETHERNET) {
		attr.ah_attr.is_global = true;
		attr.ah_attr.grh.sgid_index = o->gid;
		ck_assert_int_eq(ops->query_gid(peer->hca->ca, 1, o->gid, &attr.ah_attr.grh.dgid),
				 AL_SUCCESS);
	}
	ck_assert_int_eq(modify(qp, IB_QPS_RTR,
				IB_QP_AV | IB_QP_PATH_MTU | IB_QP_RQ_PSN | IB_QP_DEST_QPN |
					reliable(o, IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER),
				&attr),
			 AL_SUCCESS);
}

void to_rts(struct qp *qp, const struct qp_options *o)
{
	struct ib_qp_attr attr = {
		.sq_psn = o->psn,
		.timeout = small(o->timeout, 14),
		.retry_cnt = small(o->retry_cnt, 7),
		.rnr_retry = small(o->rnr_retry, 7),
		.max_rd_atomic = small(o->rd_atomic, 4),
	};

	ck_assert_int_eq(modify(qp, IB_QPS_RTS,
				IB_QP_SQ_PSN | reliable(o, IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY |
								   IB_QP_MAX_QP_RD_ATOMIC),
				&attr),
			 AL_SUCCESS);
}

void connect_qps(struct qp *a, struct qp *b, const struct qp_options *o)
{
	to_init(a, o);
	if (b != a)
		to_init(b, o);
	to_rtr(a, b, o);
	if (b != a)
		to_rtr(b, a, o);
	to_rts(a, o);
	if (b != a)
		to_rts(b, o);
}

struct ci_ah *new_ah(struct hca *h, struct ci_pd *pd, const struct ib_ah_attr *attr)
{
	struct ci_ah *ah = new_object(CI_OBJ_AH, sizeof(*ah));

	ah->pd = pd ? pd : h->pd;
	ck_assert_int_eq(ops->create_ah(ah, attr, NULL), AL_SUCCESS);
	return ah;
}

void free_ah(struct ci_ah *ah)
{
	ops->destroy_ah(ah);
	al_free(ah);
}

/* No test here has clients, except those that define the function themselves. */
__attribute__((weak)) void ci_client_run(struct ci_client *client, struct ci_client_job *job)
{
	(void)client, (void)job;
	abort();
}

__attribute__((weak)) al_status ci_client_read(struct ci_client *client, uint64_t addr, void *to, uint64_t length)
{
	(void)client, (void)addr, (void)to, (void)length;
	abort();
}

__attribute__((weak)) al_status ci_client_write(struct ci_client *client, uint64_t addr, const void *from,
						uint64_t length)
{
	(void)client, (void)addr, (void)from, (void)length;
	abort();
}

int given_fd = -1;

al_status ci_client_give_fd(struct ci_udata *udata, int fd)
{
	(void)udata;
	given_fd = dup(fd);
	return AL_SUCCESS;
}

/* A handle is the object's address here. */
struct ci_ah *ci_wr_ah(const struct ci_qp *qp, al_ah_h ah)
{
	(void)qp;
	return (struct ci_ah *)ah;
}

void pair_up(struct pair *p, const struct qp_options *o, size_t size)
{
	static const struct qp_options none;
	struct hca *far = &hca[hcas - 1];

	p->o = o ? *o : none;
	p->acq = new_cq(&hca[0], 256, AL_CQ_NOTIFY_PENDING);
	p->bcq = new_cq(far, 256, AL_CQ_NOTIFY_PENDING);
	p->am = new_mr(&hca[0], size, 0);
	p->bm = new_mr(far, size, 0);
	p->a = new_qp(&hca[0], p->acq, p->acq, &p->o);
	p->b = new_qp(far, p->bcq, p->bcq, &p->o);
	connect_qps(p->a, p->b, &p->o);
}

void pair_down(struct pair *p)
{
	free_qp(p->a);
	free_qp(p->b);
	free_cq(p->acq);
	free_cq(p->bcq);
	free_mr(p->am);
	free_mr(p->bm);
}

/* ------------------------------------------------------------------ requests */

struct ib_sge sge_of(const struct mr *mr, uint64_t offset, uint32_t length)
{
	return (struct ib_sge){ (uintptr_t)mr->buf + offset, length, mr->ci->lkey };
}

struct ib_send_wr send_wr(uint64_t wr_id, ib_wr_opcode opcode, struct ib_sge *sge, uint32_t flags)
{
	return (struct ib_send_wr){
		.wr_id = wr_id,
		.opcode = opcode,
		.sg_list = sge,
		.num_sge = sge ? 1 : 0,
		.send_flags = flags,
	};
}

void post(struct qp *qp, const struct ib_send_wr *wr)
{
	const struct ib_send_wr *bad = NULL;

	ck_assert_int_eq(ops->post_send(qp->ci, wr, &bad), AL_SUCCESS);
}

void post_recv(struct qp *qp, uint64_t wr_id, struct ib_sge *sge, uint32_t num)
{
	struct ib_recv_wr wr = { .wr_id = wr_id, .sg_list = sge, .num_sge = num };
	const struct ib_recv_wr *bad = NULL;

	ck_assert_int_eq(ops->post_recv(qp->ci, &wr, &bad), AL_SUCCESS);
}

void rdma(struct pair *p, ib_wr_opcode opcode, uint64_t wr_id, uint64_t from, uint64_t to, uint32_t length)
{
	struct ib_sge sge = sge_of(p->am, from, length);
	struct ib_send_wr wr = send_wr(wr_id, opcode, &sge, IB_SEND_SIGNALED);

	wr.wr.rdma.remote_addr = (uintptr_t)p->bm->buf + to;
	wr.wr.rdma.rkey = p->bm->ci->rkey;
	post(p->a, &wr);
}

al_status vendor(struct hca *h, uint32_t code, const void *in, uint32_t in_len)
{
	struct ci_vendor_call call = { .code = code, .in = in, .in_len = in_len };

	return ops->vendor_call(h->ca, &call, NULL);
}

void fault(struct hca *h, struct soft_fault rule)
{
	ck_assert_int_eq(vendor(h, SOFT_FAULT_ADD, &rule, sizeof(rule)), AL_SUCCESS);
}

uint64_t fault_met(struct hca *h)
{
	uint64_t met = 0;
	struct ci_vendor_call call = { .code = SOFT_FAULT_COUNT, .out = &met, .out_len = sizeof(met) };

	ck_assert_int_eq(ops->vendor_call(h->ca, &call, NULL), AL_SUCCESS);
	return met;
}

const struct soft_fault_list *rules_in_force(struct hca *h, uint32_t first)
{
	static struct soft_fault_list list;
	struct ci_vendor_call call = { .code = SOFT_FAULT_LIST,
				       .in = &first,
				       .in_len = sizeof(first),
				       .out = &list,
				       .out_len = sizeof(list) };

	ck_assert_int_eq(ops->vendor_call(h->ca, &call, NULL), AL_SUCCESS);
	return &list;
}

static struct soft_step do_step(const uint64_t *choice)
{
	struct soft_step did = { 0 };
	struct ci_vendor_call call = {
		.code = SOFT_STEP,
		.in = choice,
		.in_len = choice ? sizeof(*choice) : 0,
		.out = &did,
		.out_len = sizeof(did),
	};

	ck_assert_int_eq(ops->vendor_call(hca[0].ca, &call, NULL), AL_SUCCESS);
	ck_assert_uint_eq(call.out_len, sizeof(did));
	return did;
}

struct soft_step step(void)
{
	return do_step(NULL);
}

struct soft_step step_choice(uint64_t choice)
{
	return do_step(&choice);
}

void run_all(void)
{
	while (step().did != SOFT_STEP_NOTHING)
		;
}

uint64_t soft_clock(void)
{
	uint64_t now = 0;
	struct ci_vendor_call call = { .code = SOFT_CLOCK, .out = &now, .out_len = sizeof(now) };

	ck_assert_int_eq(ops->vendor_call(hca[0].ca, &call, NULL), AL_SUCCESS);
	return now;
}

struct ib_port_counters counters(struct hca *h)
{
	struct ib_port_attr attr;

	ck_assert_int_eq(ops->query_port(h->ca, 1, &attr), AL_SUCCESS);
	return attr.counters;
}

void wait_received(struct hca *h, uint64_t bytes)
{
	WAIT_FOR(counters(h).rcv_bytes >= bytes);
}

struct soft_injected inject_bytes(struct hca *h, const void *bytes, size_t len)
{
	struct soft_inject in = { .port = 1, .length = (uint32_t)len };
	struct soft_injected out = { 0 };
	struct ci_vendor_call call = { .code = SOFT_INJECT,
				       .in = &in,
				       .in_len = sizeof(in),
				       .out = &out,
				       .out_len = sizeof(out) };

	memcpy(in.bytes, bytes, len);
	ck_assert_int_eq(ops->vendor_call(h->ca, &call, NULL), AL_SUCCESS);
	return out;
}

/* ------------------------------------------------------------------- helpers */

void fill(char *mem, size_t size, uint32_t seed)
{
	uint32_t x = seed * 2654435761u + 1;

	for (; size; size--) {
		x ^= x << 13;
		x ^= x >> 17;
		x ^= x << 5;
		*mem++ = (char)x;
	}
}

uint32_t effort(void)
{
	return getenv("IBAL_TEST_LONG") ? 20 : 1;
}

int run_suite(Suite *s)
{
	SRunner *runner = srunner_create(s);
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
