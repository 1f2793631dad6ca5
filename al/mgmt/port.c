/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Serving ports: the library's own queue pairs 0 and 1, their buffers and completions, the
 * management thread, and the arrival and removal of HCAs. Received datagrams are checked here, and
 * nowhere else, before mad.c gets them.
 */
#include <string.h>
#include <time.h>

#include "al/event/hca.h"
#include "al/mgmt/mgmt.h"
#include "al/mgmt/remote.h"
#include "al/verbs/verbs.h"

/* Sizes of the queues. Subnet management is a dialogue with one manager; QP1 serves many peers. */
static const uint32_t max_recvs[MGMT_QPS] = { [MGMT_QP0] = 32, [MGMT_QP1] = 128 };
static const uint32_t max_sends[MGMT_QPS] = { [MGMT_QP0] = 32, [MGMT_QP1] = 64 };
static const ib_qp_type qp_types[MGMT_QPS] = { [MGMT_QP0] = IB_QPT_SMI, [MGMT_QP1] = IB_QPT_GSI };
static const uint32_t qkeys[MGMT_QPS] = { [MGMT_QP0] = 0, [MGMT_QP1] = IB_QKEY_WELL_KNOWN };

#define RECV_BYTES (IB_GRH_BYTES + IB_MAD_BYTES) /* a receive buffer */
#define POLL_NUM   16u                           /* completions of one al_poll_cq() */
#define CARRY_MOST                                                                            \
	128u /* times that a thread in al_send_mad() looks for work, and completions that the \
		thread handles: the longest way has some 64 hops, and most have a few */
#define LATE_MOST  100000000u /* ns */
#define LOOK_AGAIN 1000000u   /* ns */
#define POLL_MOST \
	128u /* completions of a port that the thread handles before it serves other ports */

/* wr_id: the queue pair and the direction in the upper half, the index of the buffer in the lower
 * half. */
#define WR_ID(qpn, is_send, index) ((uint64_t)((qpn) << 1 | (is_send)) << 32 | (index))
#define WR_IS_SEND(wr_id)          ((wr_id) >> 32 & 1)
#define WR_QPN(wr_id)              ((wr_id) >> 33)
#define WR_INDEX(wr_id)            ((uint32_t)(wr_id))

/* Held while a port's service begins or an HCA's service ends. Guards the members below and
 * al_dev.mgmt_ended. */
static pthread_mutex_t serve_lock = PTHREAD_MUTEX_INITIALIZER;
static struct al_instance *internal; /* the library's own opening; NULL: no port has been served */

/* Guards the list. Nothing of a module is called under this lock, since ib_port_trap() takes the
 * lock in any context. */
static pthread_mutex_t ports_lock = PTHREAD_MUTEX_INITIALIZER;
static struct mgmt_port *ports;

static uint64_t run_due(void);
static struct dispatcher management;
/* The management thread, which makes no callbacks of channel drivers. */
static struct thread_pool management_thread =
	THREAD_POOL("al-management", CONTEXT_NONE, 1, run_due);
/* What this thread has done in mgmt_carry_on(), as CARRY_MOST counts; 0: the thread is not in
 * mgmt_carry_on(). */
static _Thread_local uint32_t carried;
static _Atomic uint64_t next_deadline =
	UINT64_MAX; /* time of the next search for ports with an expired deadline */

/* -------------------------------------------------------------------- time */

uint64_t mgmt_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Lowers next_deadline. True: the deadline was later before. */
static bool lower_next_deadline(uint64_t deadline)
{
	uint64_t now = atomic_load(&next_deadline);

	while (deadline < now)
		if (atomic_compare_exchange_weak(&next_deadline, &now, deadline))
			return true;
	return false;
}

void mgmt_wake_at(uint64_t deadline)
{
	if (lower_next_deadline(deadline))
		thread_pool_poke(&management_thread);
}

void mgmt_port_wake_at(struct mgmt_port *port, uint64_t deadline)
{
	if (deadline >= atomic_load(&port->deadline))
		return;
	atomic_store(&port->deadline, deadline);
	mgmt_wake_at(deadline);
}

void mgmt_agents_wake_at(struct mgmt_port *port, uint64_t due)
{
	uint64_t now = atomic_load(&port->agents_due);

	while (due < now)
		if (atomic_compare_exchange_weak(&port->agents_due, &now, due)) {
			mgmt_wake_at(due);
			return;
		}
}

/* The time at which a port wants to be served. */
static uint64_t port_due(const struct mgmt_port *port)
{
	uint64_t deadline = atomic_load(&port->deadline), agents = atomic_load(&port->agents_due);

	return deadline < agents ? deadline : agents;
}

/* Collects the ports whose time has come, each with a reference, by their member next_due. */
static struct mgmt_port *collect_due(uint64_t now)
{
	struct mgmt_port *due = NULL;

	pthread_mutex_lock(&ports_lock);
	for (struct mgmt_port *port = ports; port; port = port->next) {
		if (port_due(port) > now) {
			lower_next_deadline(port_due(port));
			continue;
		}
		atomic_fetch_add(&port->refs, 1);
		port->next_due = due;
		due = port;
	}
	pthread_mutex_unlock(&ports_lock);
	return due;
}

static void serve_due(struct mgmt_port *port, uint64_t now)
{
	if (atomic_load(&port->deadline) <= now)
		send_expire(port, now);
	if (atomic_load(&port->agents_due) <= now) {
		/* before agents_run() looks: a notice that comes later lowers the time again */
		atomic_store(&port->agents_due, UINT64_MAX);
		agents_run(port, now);
	}
	lower_next_deadline(port_due(port));
}

static bool no_more(void)
{
	return false;
}

/*
 * Serves the ports whose time has come. A thread that does the management thread's work has answers
 * to handle, which are older than the time-outs that they end: run_due() waits for that thread, but
 * for no longer than LATE_MOST. A port's time is stored before next_deadline is lowered,
 * and next_deadline is raised here before the ports' times are read: so either this search finds
 * the port, or next_deadline has the port's time.
 */
static uint64_t run_due(void)
{
	const uint64_t now = mgmt_now(), deadline = atomic_load(&next_deadline);
	struct mgmt_port *port, *next;
	bool claimed;

	if (now < deadline)
		return deadline;
	claimed = strand_claim(&management.strand);
	if (!claimed && now - deadline < LATE_MOST)
		return now + LOOK_AGAIN;
	atomic_store(&next_deadline, UINT64_MAX);
	for (port = collect_due(now); port; port = next) {
		next = port->next_due;
		serve_due(port, now);
		mgmt_port_put(port);
	}
	if (claimed)
		strand_carry(&management.strand, no_more);
	return atomic_load(&next_deadline);
}

/* -------------------------------------------------------------- completions */

enum mgmt_qpn mgmt_first_qpn(const struct al_dev *dev, uint8_t port_num)
{
	return dev->ports[port_num].link_layer == IB_LINK_LAYER_ETHERNET ? MGMT_QP1 : MGMT_QP0;
}

al_status mgmt_check_qpn(const struct al_dev *dev, uint8_t port_num, enum mgmt_qpn qpn)
{
	return qpn >= mgmt_first_qpn(dev, port_num)
		       ? AL_SUCCESS
		       : ib_refuse(AL_UNSUPPORTED,
				   "port %u is Ethernet, which has no queue pair QP0 and no subnet management",
				   port_num);
}

enum mgmt_qpn mgmt_qpn_of(uint8_t mgmt_class)
{
	return mgmt_class == IB_CLASS_SUBN_LID || mgmt_class == IB_CLASS_SUBN_DIR ? MGMT_QP0
										  : MGMT_QP1;
}

uint64_t mgmt_send_wr_id(const struct mgmt_port *port, const struct mgmt_qp *qp,
			 const struct mgmt_slot *slot)
{
	return WR_ID((uint64_t)(qp - port->qp), 1, (uint64_t)(slot - qp->slots));
}

/* Checks a received datagram as far as every class needs, and hands it on. */
static void received(struct mgmt_port *port, enum mgmt_qpn qpn, const struct ib_wc *wc,
		     const uint8_t *buffer)
{
	struct mgmt_received r = { .mad = (const void *)(buffer + IB_GRH_BYTES),
				   .src_qp = wc->src_qp,
				   .pkey_index = wc->pkey_index,
				   .in_port = port->port_num ? port->port_num : wc->port_num,
				   .qpn = qpn };

	mad_count(&port->counters.received);
	if (wc->byte_len != RECV_BYTES || r.mad->hdr.base_version != IB_MAD_BASE_VERSION ||
	    mgmt_qpn_of(r.mad->hdr.mgmt_class) != qpn || (qpn == MGMT_QP0 && wc->src_qp))
		mad_count(&port->counters.malformed);
	else if (al_init_ah_from_wc(port->ca, port->port_num, wc, buffer, &r.path))
		mad_count(&port->counters.no_path);
	else
		agents_received(port, &r);
}

static al_status post_recv(struct mgmt_port *port, enum mgmt_qpn qpn, uint32_t index)
{
	struct mgmt_qp *qp = &port->qp[qpn];
	struct ib_sge sge = { .addr = (uintptr_t)(qp->recv + (size_t)index * RECV_BYTES),
			      .length = RECV_BYTES,
			      .lkey = port->lkey };
	struct ib_recv_wr wr = { .wr_id = WR_ID((uint64_t)qpn, 0, index),
				 .sg_list = &sge,
				 .num_sge = 1 };
	const struct ib_recv_wr *bad;

	return al_post_recv(qp->handle, &wr, &bad);
}

static void recv_completed(struct mgmt_port *port, const struct ib_wc *wc)
{
	enum mgmt_qpn qpn = (enum mgmt_qpn)WR_QPN(wc->wr_id);
	uint32_t index = WR_INDEX(wc->wr_id);

	if (wc->status == IB_WC_SUCCESS)
		received(port, qpn, wc, port->qp[qpn].recv + (size_t)index * RECV_BYTES);
	if (wc->status != IB_WC_WR_FLUSH_ERR)
		post_recv(port, qpn, index);
}

static void sent(struct mgmt_port *port, const struct ib_wc *wc)
{
	struct mgmt_qp *qp = &port->qp[WR_QPN(wc->wr_id)];

	pthread_mutex_lock(&port->lock);
	send_completed(port, qp, &qp->slots[WR_INDEX(wc->wr_id)], wc->status);
	pthread_mutex_unlock(&port->lock);
}

/* True: the module's completion names one of the port's buffers. */
static bool is_known(const struct mgmt_port *port, uint64_t wr_id)
{
	const struct mgmt_qp *qp = &port->qp[WR_QPN(wr_id) & 1];

	return WR_QPN(wr_id) < MGMT_QPS &&
	       WR_INDEX(wr_id) < (WR_IS_SEND(wr_id) ? qp->num_sends : qp->num_recvs);
}

/* Takes a queue pair whose send has failed back to RTS. A queue pair in Error stays there, and its
 * sends fail. */
static void recover(struct mgmt_port *port, struct mgmt_qp *qp)
{
	const struct ib_qp_attr rts = { .qp_state = IB_QPS_RTS };
	struct ib_qp_attr now = { 0 };
	al_status status = al_query_qp(qp->handle, &now, NULL);

	if (!status && now.qp_state == IB_QPS_SQE)
		status = al_modify_qp(qp->handle, &rts, IB_QP_STATE);
	else if (!status && now.qp_state != IB_QPS_RTS)
		status = AL_CA_ERROR;
	pthread_mutex_lock(&port->lock);
	qp->stopped = false;
	qp->failed = status;
	if (status)
		send_fail_all(port, qp, AL_CA_ERROR);
	send_next(port, qp);
	pthread_mutex_unlock(&port->lock);
}

static void recover_stopped(struct mgmt_port *port)
{
	port->to_recover = false;
	for (int i = 0; i < MGMT_QPS; i++) {
		bool idle;

		pthread_mutex_lock(&port->lock);
		idle = port->qp[i].stopped && !port->qp[i].posted;
		pthread_mutex_unlock(&port->lock);
		if (idle)
			recover(port, &port->qp[i]);
	}
}

/* Comes back to a completion queue that may have more completions, after the other ports. */
static void raise_again(struct mgmt_port *port)
{
	struct al_obj *cq = obj_get(port->cq, AL_OBJ_CQ);

	if (!cq)
		return;
	ev_raise(&cq->ev, EV_COMPLETION);
	obj_put(cq);
}

/* Leaves a port's completions to the management thread. False: the calling thread is the management
 * thread. */
static bool leave_to_thread(struct mgmt_port *port)
{
	if (!carried)
		return false;
	carried = CARRY_MOST;
	raise_again(port);
	return true;
}

/* Handles a completion. True: the queue may have another completion by now, since a datagram that
 * came in may have made this port send one. */
static bool take_completion(struct mgmt_port *port, const struct ib_wc *wc)
{
	if (!is_known(port, wc->wr_id)) {
		report_module_error(port->dev,
				    "poll_cq returned wr_id %#llx, which is no request's",
				    (unsigned long long)wc->wr_id);
		return false;
	}
	if (WR_IS_SEND(wc->wr_id)) {
		sent(port, wc);
		return false;
	}
	recv_completed(port, wc);
	return true;
}

/* Completion callback of a port's queue. */
static void run_completions(void *context)
{
	struct mgmt_port *port = context;
	struct ib_wc wc[POLL_NUM];
	bool more = true;
	uint32_t num;

	if (port->sleeps && leave_to_thread(port))
		return;
	for (uint32_t done = 0; done < POLL_MOST && more; done += num) {
		if (al_poll_cq(port->cq, POLL_NUM, wc, &num))
			return;
		more = num == POLL_NUM;
		for (uint32_t i = 0; i < num; i++)
			more |= take_completion(port, &wc[i]);
		if (port->to_recover) {
			if (leave_to_thread(port))
				return;
			recover_stopped(port);
		}
		if (carried && (carried += num) >= CARRY_MOST && leave_to_thread(port))
			return;
	}
	if (more)
		raise_again(port);
	else /* completions that arrived since the poll satisfy the arm at once:
		AL_CQ_NOTIFY_PENDING */
		al_arm_cq(port->cq, AL_ARM_ANY, NULL);
}

/* ------------------------------------------------ instead of the management thread */

bool mgmt_claim(void)
{
	return strand_claim(&management.strand);
}

static bool may_go_on(void)
{
	return carried++ < CARRY_MOST;
}

void mgmt_carry_on(void)
{
	struct ci_udata *client = acting_for;

	al_act_for(NULL); /* the datagrams on the way are not only those of a client of the agent
			     that has sent one */
	carried = 0;
	strand_carry(&management.strand, may_go_on);
	carried = 0;
	al_act_for(client);
}

/* -------------------------------------------------------------- own objects */

static const struct obj_type internal_type = {
	.id = AL_OBJ_AL,
	.size = sizeof(struct al_instance),
	.ci = OBJ_NO_CI,
	.cascades = true,
};

/* Makes the library's own opening and starts the management thread, unless both exist. Under
 * serve_lock. */
static al_status start(void)
{
	struct al_obj *obj;
	al_status status;
	al_h handle;

	if (internal)
		return AL_SUCCESS;
	if (!management.pool)
		dispatcher_init(&management, &management_thread);
	status = dispatcher_start(&management);
	if (!status)
		status = obj_new(&internal_type, NULL, NULL, NULL, &obj);
	if (status)
		return status;
	((struct al_instance *)obj)->internal_queue = &management.queue;
	internal = (struct al_instance *)obj;
	return obj_publish(obj, &handle); /* without a parent it does not fail */
}

static uint32_t at_most(uint32_t wanted, uint32_t limit)
{
	return wanted < limit ? wanted : limit;
}

/* Divides the port's memory among the buffers of its queue pairs, and registers the memory. */
static al_status make_buffers(struct mgmt_port *port)
{
	uint32_t limit = port->dev->attr.max_qp_wr, num_slots = 0, rkey;
	struct al_mr_init mr = { .access = IB_ACCESS_LOCAL_WRITE };
	uint8_t *buffer;

	for (int i = 0; i < MGMT_QPS; i++) {
		port->qp[i].num_recvs = at_most(max_recvs[i], limit);
		port->qp[i].num_sends = at_most(max_sends[i], limit);
		num_slots += port->qp[i].num_sends;
		mr.length += (uint64_t)port->qp[i].num_recvs * RECV_BYTES;
	}
	mr.length += (uint64_t)num_slots * IB_MAD_BYTES;
	port->slots = al_alloc(num_slots * sizeof(*port->slots));
	port->memory = al_alloc_aligned(64, mr.length);
	if (!port->slots || !port->memory)
		return AL_INSUFFICIENT_MEMORY;
	buffer = port->memory;
	num_slots = 0;
	for (int i = 0; i < MGMT_QPS; i++) {
		struct mgmt_qp *qp = &port->qp[i];

		qp->slots = port->slots + num_slots;
		num_slots += qp->num_sends;
		for (uint32_t n = 0; n < qp->num_sends; n++, buffer += IB_MAD_BYTES) {
			qp->slots[n].buffer = buffer;
			qp->slots[n].next = qp->free;
			qp->free = &qp->slots[n];
		}
		qp->recv = buffer;
		buffer += (size_t)qp->num_recvs * RECV_BYTES;
	}
	mr.addr = port->memory;
	return al_reg_mr(port->pd, &mr, NULL, &port->lkey, &rkey, &port->mr);
}

static al_status make_cq(struct mgmt_port *port)
{
	struct al_cq_init init = { .notify = AL_CQ_NOTIFY_PENDING };
	al_status status;

	for (int i = 0; i < MGMT_QPS; i++)
		init.cqe += port->qp[i].num_recvs + port->qp[i].num_sends;
	status = al_create_cq(port->pd, &init, port, run_completions, NULL, &port->cq);
	return status ? status : al_arm_cq(port->cq, AL_ARM_ANY, NULL);
}

static al_status make_qp(struct mgmt_port *port, enum mgmt_qpn qpn)
{
	struct mgmt_qp *qp = &port->qp[qpn];
	struct al_qp_init init = { .qp_type = qp_types[qpn],
				   .sq_sig_all = true,
				   .port_num = port->port_num,
				   .send_cq = port->cq,
				   .recv_cq = port->cq,
				   .cap = { .max_send_wr = qp->num_sends,
					    .max_recv_wr = qp->num_recvs,
					    .max_send_sge = 1,
					    .max_recv_sge = 1 } };
	struct ib_qp_attr attr = { .qp_state = IB_QPS_INIT, .qkey = qkeys[qpn] };
	al_status status = al_create_qp(port->pd, &init, qp, spl_qp_event, &qp->handle);

	if (!status)
		status = al_modify_qp(qp->handle, &attr,
				      IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_QKEY);
	for (uint32_t i = 0; !status && i < qp->num_recvs; i++)
		status = post_recv(port, qpn, i);
	attr.qp_state = IB_QPS_RTR;
	if (!status)
		status = al_modify_qp(qp->handle, &attr, IB_QP_STATE);
	attr.qp_state = IB_QPS_RTS;
	if (!status)
		status = al_modify_qp(qp->handle, &attr, IB_QP_STATE | IB_QP_SQ_PSN);
	return status;
}

static al_status make_objects(struct mgmt_port *port)
{
	al_status status = ca_open(&internal->obj, port->dev, NULL, &port->ca);

	if (!status)
		status = al_alloc_pd(port->ca, NULL, &port->pd);
	if (!status)
		status = make_buffers(port);
	if (!status)
		status = make_cq(port);
	for (int i = mgmt_first_qpn(port->dev, port->port_num); !status && i < MGMT_QPS; i++)
		status = make_qp(port, (enum mgmt_qpn)i);
	return status;
}

/* ------------------------------------------------------------------- ports */

static struct mgmt_port *new_port(struct al_dev *dev, uint8_t port_num)
{
	struct mgmt_port *port = al_alloc(sizeof(*port));

	if (!port)
		return NULL;
	dev_ref(dev);
	port->dev = dev;
	port->port_num = port_num;
	atomic_init(&port->refs, 1);
	atomic_init(&port->deadline, UINT64_MAX);
	atomic_init(&port->agents_due, UINT64_MAX);
	pthread_mutex_init(&port->lock, NULL);
	paths_init(&port->paths);
	link_init(&port->services);
	link_init(&port->to_self);
	link_init(&port->waiting);
	link_init(&port->receivers);
	for (unsigned int i = 0; i < MGMT_BUCKETS; i++)
		link_init(&port->requests[i]);
	for (int i = 0; i < MGMT_QPS; i++) {
		port->qp[i].port = port;
		link_init(&port->qp[i].turns);
		link_init(&port->qp[i].aliases);
		send_init_sender(&port->qp[i].agents, NULL);
	}
	return port;
}

void mgmt_port_put(struct mgmt_port *port)
{
	if (atomic_fetch_sub(&port->refs, 1) != 1)
		return;
	agents_put(port->agents);
	al_free(port->own);
	al_free(port->memory);
	al_free(port->slots);
	pthread_mutex_destroy(&port->lock);
	paths_end(&port->paths);
	dev_put(port->dev);
	al_free(port);
}

/* Gives the port its agents, which the HCA's ports share. Under serve_lock. */
static al_status join_agents(struct mgmt_port *port)
{
	const uint32_t in_al = CI_PORT_SMA_IN_AL | CI_PORT_PMA_IN_AL;
	const struct mgmt_port *other = ports;

	port->caps = port->dev->ports[port->port_num].ci_caps & in_al;
	port->sleeps =
		port->caps && !(port->dev->ports[port->port_num].ci_caps & CI_PORT_MAD_ANY_CONTEXT);
	if (!port->caps)
		return AL_SUCCESS;
	while (other && (other->dev != port->dev || !other->agents))
		other = other->next;
	port->agents = other ? agents_get(other->agents) : agents_new(port->dev);
	port->own = al_alloc(MGMT_QPS * sizeof(*port->own));
	if (!port->agents || !port->own)
		return AL_INSUFFICIENT_MEMORY;
	for (int i = 0; i < MGMT_QPS; i++) {
		send_init_service(&port->own[i], port, (enum mgmt_qpn)i);
		port->own[i].sender = &port->qp[i].agents;
	}
	return AL_SUCCESS;
}

/* al_destroyed_cb of the HCA handle of a port that could not be served. */
static void put_closed_port(void *context)
{
	mgmt_port_put(context);
}

/* Makes a port and its objects. Under serve_lock. */
static al_status begin_service(struct al_dev *dev, uint8_t port_num, struct mgmt_port **out)
{
	struct mgmt_port *port = new_port(dev, port_num);
	al_status status;

	if (!port)
		return AL_INSUFFICIENT_MEMORY;
	atomic_store(&dev->ports[port_num].spl_qps_held, true);
	status = join_agents(port);
	if (!status) {
		status = make_objects(port);
		/* the sentence of the function that refused is the caller's, too */
		ci_reason.fresh = status && ci_reason.status == status;
	}
	if (!status) {
		pthread_mutex_lock(&ports_lock);
		port->next = ports;
		ports = port;
		pthread_mutex_unlock(&ports_lock);
		*out = port;
		return AL_SUCCESS;
	}
	atomic_store(&dev->ports[port_num].spl_qps_held, false);
	/* The close does not wait: a wait on the PnP thread would call PnP callbacks under
	 * serve_lock. */
	if (!port->ca || al_close_ca(port->ca, put_closed_port, port))
		mgmt_port_put(port);
	return status == AL_NOT_FOUND ? AL_CA_REMOVED : status;
}

/* Under ports_lock or serve_lock. */
static struct mgmt_port *find_port(const struct al_dev *dev, uint8_t port_num)
{
	struct mgmt_port *port = ports;

	while (port && (port->dev != dev || port->port_num != port_num))
		port = port->next;
	return port;
}

al_status mgmt_serve(struct al_dev *dev, uint8_t port_num, struct mgmt_port **out)
{
	struct ci_udata *client = acting_for;
	al_status status = AL_SUCCESS;
	struct mgmt_port *port;

	al_act_for(NULL); /* the objects are the library's, also when a client of the agent has
			     asked for the service */
	pthread_mutex_lock(&serve_lock);
	port = find_port(dev, port_num);
	if (dev->mgmt_ended)
		status = AL_CA_REMOVED;
	else if (!port)
		status = start();
	if (!status && !port)
		status = begin_service(dev, port_num, &port);
	if (!status) {
		atomic_fetch_add(&port->refs, 1);
		*out = port;
	}
	pthread_mutex_unlock(&serve_lock);
	al_act_for(client);
	return status;
}

/* -------------------------------------------------- arrival, removal, fork */

/* Serves the ports whose agents are in the Access Layer. */
static al_status arrived(struct al_dev *dev)
{
	const uint32_t agents = CI_PORT_SMA_IN_AL | CI_PORT_PMA_IN_AL;
	al_status status = AL_SUCCESS;
	struct mgmt_port *port;

	if (dev->agent) /* the agent's library has the agents of the agent's HCAs */
		return AL_SUCCESS;
	for (uint32_t i = 0; !status && i <= dev->attr.num_ports; i++) {
		if (!dev_has_end_port(dev, i) || !(dev->ports[i].ci_caps & agents))
			continue;
		status = mgmt_serve(dev, (uint8_t)i, &port);
		if (!status)
			mgmt_port_put(port);
	}
	return status;
}

/* Takes a port of dev out of the list. NULL: no port is left. */
static struct mgmt_port *take_port(const struct al_dev *dev)
{
	struct mgmt_port **p, *port;

	pthread_mutex_lock(&ports_lock);
	for (p = &ports; *p && (*p)->dev != dev; p = &(*p)->next)
		;
	port = *p;
	if (port)
		*p = port->next;
	pthread_mutex_unlock(&ports_lock);
	return port;
}

/* Ends the service of an HCA's ports. Their MAD services stay, and their sends fail. */
static void leaving(struct al_dev *dev)
{
	struct mgmt_port *port;

	if (dev->agent) {
		remote_leaving(dev);
		return;
	}
	pthread_mutex_lock(&serve_lock);
	dev->mgmt_ended = true;
	while ((port = take_port(dev))) {
		pthread_mutex_lock(&port->lock);
		port->ended = true;
		for (int i = 0; i < MGMT_QPS; i++)
			send_fail_all(port, &port->qp[i], AL_CA_REMOVED);
		pthread_mutex_unlock(&port->lock);
		al_close_ca(port->ca, AL_DESTROY_SYNC, NULL);
		mgmt_port_put(port);
	}
	pthread_mutex_unlock(&serve_lock);
}

/* Hands a notice of the HCA's module to the agents of its port. */
static bool trap(struct al_dev *dev, uint8_t port_num, const struct ib_notice *notice)
{
	struct mgmt_port *port;
	bool taken;

	pthread_mutex_lock(&ports_lock);
	port = find_port(dev, port_num);
	taken = port && mgmt_has_sma(port);
	if (taken)
		agents_raise(port, notice);
	pthread_mutex_unlock(&ports_lock);
	return taken;
}

void mgmt_init(void)
{
	static const struct hca_management hooks = { .arrived = arrived,
						     .leaving = leaving,
						     .trap = trap };

	hca_set_management(&hooks);
}

void mgmt_after_fork(void)
{
	pthread_mutex_init(&serve_lock, NULL);
	pthread_mutex_init(&ports_lock, NULL);
	internal = NULL;
	ports = NULL;
	thread_pool_after_fork(&management_thread);
	memset(&management, 0, sizeof(management));
	atomic_store(&next_deadline, UINT64_MAX);
	remote_after_fork();
}
