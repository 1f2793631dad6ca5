/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The module fake.so: an HCA for tests of the layers above it, with every required operation, all of them under the
 * test's control (fake.h). Requests complete at once and move no data. The module is linked to no library: the
 * program that loads it has the Access Layer, whole or in parts.
 */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "test/modules/fake.h"

#ifndef FAKE_PORT_STATE
#define FAKE_PORT_STATE IB_PORT_ACTIVE
#endif

extern struct fake fake;

/* Protects queues and the list of HCAs. No other lock is taken under it except by upcalls, which only queue. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* protects attributes and receives of queue pairs; taken before lock */
static pthread_mutex_t qp_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_uint next_number = 2; /* next key or queue pair number */

/* Every operation begins with this function. True: the operation must fail. */
static bool enter(enum fake_op op, void *object)
{
	atomic_fetch_add(&fake.calls[op], 1);
	if (fake.hook[op])
		fake.hook[op](object);
	return fake.fail[op] != AL_SUCCESS;
}

#define ENTER(op, object)                            \
	do {                                         \
		if (enter(FAKE_##op, object))        \
			return fake.fail[FAKE_##op]; \
	} while (0)

/* ------------------------------------------------------------------------ HCA */

static al_status open_ca(struct ci_ca *ca)
{
	ENTER(open_ca, ca);
	((struct fake_ca *)ca)->open = true;
	pthread_mutex_lock(&lock);
	for (int i = 0; i < FAKE_HCAS; i++) {
		if (fake.ca[i])
			continue;
		fake.ca[i] = ca;
		break;
	}
	pthread_mutex_unlock(&lock);
	return AL_SUCCESS;
}

static void close_ca(struct ci_ca *ca)
{
	enter(FAKE_close_ca, ca);
	((struct fake_ca *)ca)->open = false;
	pthread_mutex_lock(&lock);
	for (int i = 0; i < FAKE_HCAS; i++)
		if (fake.ca[i] == ca)
			fake.ca[i] = NULL;
	pthread_mutex_unlock(&lock);
}

static al_status query_ca(struct ci_ca *ca, struct ib_ca_attr *attr)
{
	ENTER(query_ca, ca);
	*attr = fake.ca_attr;
	attr->node_guid = (uint64_t)(uintptr_t)ca->hca;
	return AL_SUCCESS;
}

static al_status query_port(struct ci_ca *ca, uint8_t port, struct ib_port_attr *attr)
{
	ENTER(query_port, ca);
	*attr = fake.port_attr;
	attr->port_guid = (uint64_t)(uintptr_t)ca->hca + port;
	return AL_SUCCESS;
}

static void put_be64(uint8_t *to, uint64_t v)
{
	for (int i = 0; i < 8; i++)
		to[i] = (uint8_t)(v >> (56 - 8 * i));
}

static al_status query_gid(struct ci_ca *ca, uint8_t port, uint32_t index, ib_gid *gid)
{
	ENTER(query_gid, ca);
	memset(gid, 0, sizeof(*gid));
	if (index == 0) {
		put_be64(gid->raw, fake.port_attr.subnet_prefix);
		put_be64(gid->raw + 8, (uint64_t)(uintptr_t)ca->hca + port);
	}
	return AL_SUCCESS;
}

static al_status query_pkey(struct ci_ca *ca, uint8_t port, uint32_t index, uint16_t *pkey)
{
	(void)port;
	ENTER(query_pkey, ca);
	*pkey = index == 0 ? IB_PKEY_DEFAULT : 0;
	return AL_SUCCESS;
}

/* -------------------------------------------------------------------- providers */

/*
 * Answers a user-mode provider's data: each byte comes back complemented; each descriptor comes back after the mark
 * was written to its file; a first byte FAKE_REFUSE makes the request fail.
 */
static al_status answer(struct ci_udata *udata)
{
	const uint8_t *in;
	uint8_t *out;

	if (!udata)
		return AL_SUCCESS;
	in = udata->in;
	out = udata->out;
	for (uint32_t i = 0; i < udata->num_fds; i++)
		if (pwrite(udata->fds[i], FAKE_MARK, sizeof(FAKE_MARK), 0) !=
			    sizeof(FAKE_MARK) ||
		    ci_client_give_fd(udata, udata->fds[i]))
			return AL_INSUFFICIENT_RESOURCES;
	if (udata->out_len > udata->in_len)
		udata->out_len = udata->in_len;
	for (uint32_t i = 0; i < udata->out_len; i++)
		out[i] = (uint8_t)~in[i];
	return udata->in_len && in[0] == FAKE_REFUSE ? AL_IO_ERROR : AL_SUCCESS;
}

static al_status um_open_ca(struct ci_ca *ca, void **um_ctx, struct ci_udata *udata)
{
	IB_TRACE("fake", "um_open_ca");
	ENTER(um_open_ca, ca);
	*um_ctx = &fake;
	return answer(udata);
}

static void um_close_ca(struct ci_ca *ca, void *um_ctx)
{
	IB_TRACE("fake", "um_close_ca%s", um_ctx == &fake ? "" : " of another context");
	enter(FAKE_um_close_ca, ca);
}

/* ------------------------------------------------------- domains, addresses, memory */

static al_status allocate_pd(struct ci_pd *pd, struct ci_udata *udata)
{
	ENTER(allocate_pd, pd);
	return answer(udata);
}

static void deallocate_pd(struct ci_pd *pd)
{
	enter(FAKE_deallocate_pd, pd);
}

static al_status create_ah(struct ci_ah *ah, const struct ib_ah_attr *attr, struct ci_udata *udata)
{
	(void)attr;
	(void)udata;
	ENTER(create_ah, ah);
	return AL_SUCCESS;
}

static void destroy_ah(struct ci_ah *ah)
{
	enter(FAKE_destroy_ah, ah);
}

static al_status register_mr(struct ci_mr *mr, const struct ci_mem *mem, struct ci_udata *udata)
{
	ENTER(register_mr, mr);
	mr->lkey = atomic_fetch_add(&next_number, 1) << 8;
	if (mem->access &
	    (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC))
		mr->rkey = mr->lkey;
	return answer(udata);
}

static void deregister_mr(struct ci_mr *mr)
{
	enter(FAKE_deregister_mr, mr);
}

/* ----------------------------------------------------------------- completion queues */

static al_status create_cq(struct ci_cq *base, struct ci_cq_init *init, struct ci_udata *udata)
{
	struct fake_cq *cq = (struct fake_cq *)base;
	al_status status;

	IB_TRACE("fake", "create_cq");
	ENTER(create_cq, base);
	status = answer(udata);
	if (status)
		return status;
	cq->ring = al_alloc(init->cqe * sizeof(*cq->ring));
	if (!cq->ring)
		return AL_INSUFFICIENT_MEMORY;
	base->cqe = init->cqe;
	fake.last_cq = cq;
	return AL_SUCCESS;
}

static void destroy_cq(struct ci_cq *cq)
{
	enter(FAKE_destroy_cq, cq);
	al_free(((struct fake_cq *)cq)->ring);
}

static al_status poll_cq(struct ci_cq *base, uint32_t num, struct ib_wc *wc, uint32_t *count)
{
	struct fake_cq *cq = (struct fake_cq *)base;
	uint32_t n = 0;

	ENTER(poll_cq, base);
	pthread_mutex_lock(&lock);
	for (; n < num && cq->count; n++, cq->count--) {
		wc[n] = cq->ring[cq->head];
		cq->head = (cq->head + 1) % base->cqe;
	}
	pthread_mutex_unlock(&lock);
	*count = n;
	return AL_SUCCESS;
}

/* True if a notification is due; clears the arm then. The caller holds the lock. */
static bool satisfy(struct fake_cq *cq, al_arm due)
{
	if (cq->armed == AL_ARM_NONE || due > cq->armed)
		return false;
	cq->armed = AL_ARM_NONE;
	cq->fresh = false;
	return true;
}

static al_status arm_cq(struct ci_cq *base, al_arm type, bool *present)
{
	struct fake_cq *cq = (struct fake_cq *)base;
	bool due = false;

	ENTER(arm_cq, base);
	pthread_mutex_lock(&lock);
	if (type > cq->armed)
		cq->armed = type;
	if (present)
		*present = cq->count > 0;
	if (base->notify == AL_CQ_NOTIFY_PENDING && cq->count && cq->fresh)
		due = satisfy(cq, AL_ARM_NONE);
	pthread_mutex_unlock(&lock);
	if (due)
		ib_cq_notify(base->ctx);
	return AL_SUCCESS;
}

/* Returns the narrowest arm that a completion satisfies. */
static al_arm weight(const struct ib_wc *wc)
{
	if (wc->status != IB_WC_SUCCESS)
		return AL_ARM_ERRORS;
	return wc->wc_flags & IB_WC_SOLICITED ? AL_ARM_SOLICITED : AL_ARM_ANY;
}

static void complete(struct fake_cq *cq, const struct ib_wc *wc)
{
	struct ci_event overflow = { .type = IB_EVENT_CQ_ERR, .object_ctx = cq->cq.ctx };
	bool due, full;

	pthread_mutex_lock(&lock);
	full = cq->count == cq->cq.cqe;
	if (!full) {
		cq->ring[(cq->head + cq->count++) % cq->cq.cqe] = *wc;
		cq->fresh = true;
	}
	due = !full && satisfy(cq, weight(wc));
	pthread_mutex_unlock(&lock);
	if (full)
		ib_dispatch_event(&overflow);
	if (due)
		ib_cq_notify(cq->cq.ctx);
}

/* ------------------------------------------------------------------------ queue pairs */

static al_status create_qp(struct ci_qp *base, struct ci_qp_init *init, struct ci_udata *udata)
{
	struct fake_qp *qp = (struct fake_qp *)base;

	(void)udata;
	ENTER(create_qp, base);
	qp->recv = al_alloc((init->cap.max_recv_wr + 1) * sizeof(*qp->recv));
	if (!qp->recv)
		return AL_INSUFFICIENT_MEMORY;
	base->cap = init->cap;
	base->qp_num = atomic_fetch_add(&next_number, 1);
	qp->attr.cap = init->cap;
	fake.last_qp = qp;
	return AL_SUCCESS;
}

/* Removes a queue pair's completions. */
static void purge(struct fake_cq *cq, uint32_t qp_num)
{
	uint32_t kept = 0, size;

	if (!cq)
		return;
	pthread_mutex_lock(&lock);
	size = cq->cq.cqe;
	for (uint32_t i = 0; i < cq->count; i++) {
		struct ib_wc *wc = &cq->ring[(cq->head + i) % size];

		if (wc->qp_num != qp_num)
			cq->ring[(cq->head + kept++) % size] = *wc;
	}
	cq->count = kept;
	pthread_mutex_unlock(&lock);
}

static void destroy_qp(struct ci_qp *qp)
{
	enter(FAKE_destroy_qp, qp);
	purge((struct fake_cq *)qp->send_cq, qp->qp_num);
	purge((struct fake_cq *)qp->recv_cq, qp->qp_num);
	al_free(((struct fake_qp *)qp)->recv);
}

static struct ib_wc completion(const struct fake_qp *qp, uint64_t wr_id, ib_wc_opcode opcode)
{
	return (struct ib_wc){
		.wr_id = wr_id,
		.qp_context = qp->qp.owner_context,
		.qp_num = qp->qp.qp_num,
		.opcode = opcode,
		.status = qp->attr.qp_state == IB_QPS_ERR ? IB_WC_WR_FLUSH_ERR : IB_WC_SUCCESS,
	};
}

static void flush_receives(struct fake_qp *qp)
{
	while (qp->recv_count) {
		struct ib_wc wc = completion(qp, qp->recv[qp->recv_head], IB_WC_RECV);

		qp->recv_head = (qp->recv_head + 1) % qp->qp.cap.max_recv_wr;
		qp->recv_count--;
		complete((struct fake_cq *)qp->qp.recv_cq, &wc);
	}
}

static al_status modify_qp(struct ci_qp *base, const struct ib_qp_attr *attr, uint32_t mask,
			   struct ci_udata *udata)
{
	struct fake_qp *qp = (struct fake_qp *)base;

	(void)udata;
	ENTER(modify_qp, base);
	pthread_mutex_lock(&qp_lock);
	if (mask & IB_QP_STATE) {
		struct ib_qp_cap cap = qp->attr.cap;

		qp->attr = *attr;
		qp->attr.cap = cap;
	}
	if (qp->attr.qp_state == IB_QPS_ERR)
		flush_receives(qp);
	if (qp->attr.qp_state == IB_QPS_RESET)
		qp->recv_count = 0;
	pthread_mutex_unlock(&qp_lock);
	return AL_SUCCESS;
}

static al_status query_qp(struct ci_qp *qp, struct ib_qp_attr *attr)
{
	ENTER(query_qp, qp);
	pthread_mutex_lock(&qp_lock);
	*attr = ((struct fake_qp *)qp)->attr;
	pthread_mutex_unlock(&qp_lock);
	return AL_SUCCESS;
}

static al_status post_send(struct ci_qp *base, const struct ib_send_wr *wr,
			   const struct ib_send_wr **bad)
{
	struct fake_qp *qp = (struct fake_qp *)base;
	al_status status = AL_SUCCESS;

	*bad = wr;
	ENTER(post_send, base);
	pthread_mutex_lock(&qp_lock);
	if (qp->attr.qp_state != IB_QPS_RTS && qp->attr.qp_state != IB_QPS_ERR)
		status = AL_INVALID_STATE;
	for (; !status && wr; wr = wr->next) {
		struct ib_wc wc = completion(qp, wr->wr_id, IB_WC_SEND);

		if (base->sq_sig_all || (wr->send_flags & IB_SEND_SIGNALED) || wc.status)
			complete((struct fake_cq *)base->send_cq, &wc);
	}
	pthread_mutex_unlock(&qp_lock);
	return status;
}

static al_status post_recv(struct ci_qp *base, const struct ib_recv_wr *wr,
			   const struct ib_recv_wr **bad)
{
	struct fake_qp *qp = (struct fake_qp *)base;
	al_status status = AL_SUCCESS;

	*bad = wr;
	ENTER(post_recv, base);
	pthread_mutex_lock(&qp_lock);
	if (qp->attr.qp_state == IB_QPS_RESET)
		status = AL_INVALID_STATE;
	for (; !status && wr; wr = wr->next) {
		*bad = wr;
		if (qp->recv_count == base->cap.max_recv_wr) {
			status = AL_QUEUE_FULL;
			break;
		}
		qp->recv[(qp->recv_head + qp->recv_count++) % base->cap.max_recv_wr] = wr->wr_id;
	}
	if (!status && qp->attr.qp_state == IB_QPS_ERR)
		flush_receives(qp);
	pthread_mutex_unlock(&qp_lock);
	return status;
}

/* --------------------------------------------------------------------------- module */

static al_status announce(uint32_t hca)
{
	return ib_register_ci(fake.host, &fake.ops, (void *)(uintptr_t)fake.guid[hca],
			      &fake.handle[hca]);
}

static void withdraw(uint32_t hca, uint32_t flags)
{
	ci_handle handle = fake.handle[hca];

	fake.handle[hca] = NULL;
	ib_deregister_ci(handle, flags);
}

/*
 * The image may have stayed loaded after a cleanup: the module's own state begins anew, and the test's settings stay.
 */
static al_status init(struct ci_host *host, const struct ci_params *params)
{
	atomic_fetch_add(&fake.inits, 1);
	fake.host = host;
	memset(fake.handle, 0, sizeof(fake.handle));
	memset(fake.ca, 0, sizeof(fake.ca));
	if (fake.on_init)
		fake.on_init(host, params);
	for (size_t i = 0; i < params->count; i++) {
		if (!strcmp(params->param[i].key, "note"))
			continue;
		ib_log(IB_LOG_ERROR, "fake", "%s: %s: there is no such key",
		       params->param[i].origin, params->param[i].key);
		return AL_BAD_CONFIG;
	}
	return fake.fail_init;
}

static al_status scan(void)
{
	al_status st = AL_SUCCESS;

	atomic_fetch_add(&fake.scans, 1);
	for (uint32_t i = 0; i < fake.hcas && !st; i++)
		st = announce(i);
	return st ? st : fake.fail_scan;
}

static al_status probe(struct ci_pci_dev *dev)
{
	uint64_t guid =
		FAKE_PCI_GUID | (uint64_t)dev->bus << 8 | (uint64_t)dev->dev << 3 | dev->func;
	ci_handle handle;
	al_status st;

	atomic_fetch_add(&fake.probes, 1);
	if (fake.fail_probe)
		return fake.fail_probe;
	st = ib_register_ci(fake.host, &fake.ops, (void *)(uintptr_t)guid, &handle);
	if (st)
		return st;
	dev->module_data = handle;
	fake.last_dev = dev;
	return AL_SUCCESS;
}

static void remove_dev(struct ci_pci_dev *dev)
{
	atomic_fetch_add(&fake.removes, 1);
	ib_deregister_ci(dev->module_data, 0);
}

static void cleanup(void)
{
	atomic_fetch_add(&fake.cleanups, 1);
	for (uint32_t i = 0; i < FAKE_HCAS && !fake.keep_hcas; i++)
		if (fake.handle[i])
			withdraw(i, 0);
}

static const struct ci_pci_id pci_ids[] = {
	{ .vendor = 0x15b3, .device = 0x1017, .driver_data = 5 },
	{ .vendor = 0x8086,
	  .device = CI_PCI_ANY,
	  .class_code = 0x0208,
	  .class_mask = 0xffff,
	  .driver_data = 100 },
};

const struct ci_module ci_module = {
	.size = sizeof(struct ci_module),
	.abi_major = CI_ABI_MAJOR,
	.abi_minor = CI_ABI_MINOR,
	.name = "fake",
	.version = "1.0",
	.license = "GPL-2.0-only OR Linux-OpenIB",
	.pci_ids = pci_ids,
	.num_pci_ids = sizeof(pci_ids) / sizeof(pci_ids[0]),
	.init = init,
	.probe = probe,
	.scan = scan,
	.remove = remove_dev,
	.cleanup = cleanup,
};

struct fake fake = {
	.hcas = 1,
	.guid = { FAKE_GUID, FAKE_GUID + 0x100, FAKE_GUID + 0x200, FAKE_GUID + 0x300 },
	.ca_attr = {
		.vendor_id = 0xfa4e,
		.num_ports = 1,
		.num_comp_vectors = 2,
		.caps = IB_CA_CAP_UC | IB_CA_CAP_UD,
		.node_desc = "an HCA for tests",
		.fw_ver = "1.0",
		.location = "software",
		.page_size_cap = 4096,
		.max_mr_size = UINT64_MAX,
		.max_mr = 1000,
		.max_pd = 100,
		.max_ah = 1000,
		.max_qp = 1000,
		.max_qp_wr = 1024,
		.max_send_sge = 8,
		.max_recv_sge = 8,
		.max_read_sge = 8,
		.max_inline_data = 64,
		.max_qp_rd_atom = 16,
		.max_qp_init_rd_atom = 16,
		.max_res_rd_atom = 1024,
		.max_cq = 1000,
		.max_cqe = 4096,
		.max_pkeys = 1,
	},
	.port_attr = {
		.subnet_prefix = 0xfe80000000000000ULL,
		.state = FAKE_PORT_STATE,
		.phys_state = IB_PHYS_LINK_UP,
		.link_layer = IB_LINK_LAYER_INFINIBAND,
		.max_mtu = IB_MTU_4096,
		.active_mtu = IB_MTU_4096,
		.active_width = IB_WIDTH_4X,
		.active_speed = IB_SPEED_EDR,
		.max_msg_size = 1u << 31,
		.gid_tbl_len = 1,
		.pkey_tbl_len = 1,
		.lid = 1,
		.max_vl_num = 1,
	},
	.ops = {
		.size = sizeof(struct ci_interface),
		.abi_major = CI_ABI_MAJOR,
		.abi_minor = CI_ABI_MINOR,
		.flags = CI_CLIENT_MEMORY, /* the module never accesses a client's memory */
		.obj_size = {
			[CI_OBJ_CA] = sizeof(struct fake_ca),
			[CI_OBJ_CQ] = sizeof(struct fake_cq),
			[CI_OBJ_QP] = sizeof(struct fake_qp),
		},
		.open_ca = open_ca,
		.close_ca = close_ca,
		.query_ca = query_ca,
		.query_port = query_port,
		.query_gid = query_gid,
		.query_pkey = query_pkey,
		.um_open_ca = um_open_ca,
		.um_close_ca = um_close_ca,
		.allocate_pd = allocate_pd,
		.deallocate_pd = deallocate_pd,
		.create_ah = create_ah,
		.destroy_ah = destroy_ah,
		.register_mr = register_mr,
		.deregister_mr = deregister_mr,
		.create_cq = create_cq,
		.destroy_cq = destroy_cq,
		.poll_cq = poll_cq,
		.arm_cq = arm_cq,
		.create_qp = create_qp,
		.modify_qp = modify_qp,
		.query_qp = query_qp,
		.destroy_qp = destroy_qp,
		.post_send = post_send,
		.post_recv = post_recv,
	},
	.complete = complete,
	.announce = announce,
	.withdraw = withdraw,
};
