/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The agents of an HCA, joined to the MAD services of its ports (agents.h). */
#include "al/mgmt/agents.h"

#include <string.h>

#include "al/mgmt/mgmt.h"
#include "al/verbs/verbs.h"
#include "mad/gsi.h"

/* ------------------------------------------------------------------ hardware */

/* Begins a call on the HCA's module for the port that the agents work for. */
static al_status begin(struct al_call *call, const struct agents *agents)
{
	return call_begin_any(call, agents->port->ca, AL_OBJ_CA);
}

static al_status local_mad(void *hw, uint8_t port, const struct ci_local_mad_in *in,
			   struct ci_local_mad_out *out)
{
	static const struct ib_ah_attr nobody;
	const struct agents *agents = hw;
	struct al_call call;
	al_status status = begin(&call, agents);

	if (status)
		return status;
	status = ops_dead(call.ops) ? ops_dead_status(call.ops)
				    : CALL_MODULE(&call, local_mad, call.obj->ci, port,
						  agents->src ? agents->src : &nobody, in, out);
	call_end(&call);
	return status;
}

static bool counters(void *hw, uint8_t port, struct ib_port_counters *to)
{
	const struct agents *agents = hw;
	struct ib_port_attr attr;
	struct al_call call;

	if (begin(&call, agents))
		return false;
	if (ops_dead(call.ops) || query_port_checked(&call, port, &attr)) {
		call_end(&call);
		return false;
	}
	*to = attr.counters;
	call_end(&call);
	return true;
}

/* --------------------------------------------------------------------- begin, end */

static void set_node(struct agents *agents, const struct al_dev *dev)
{
	static const struct sma_ops sma_ops = { .local_mad = local_mad };
	static const struct pma_ops pma_ops = { .counters = counters };

	mad_node_init(&agents->node, &dev->attr,
		      (uint16_t)dev->ports[!dev_is_switch(dev)].pkey_tbl_len);
	agents->node.sma.ops = &sma_ops;
	agents->node.sma.hw = agents;
	agents->node.pma.ops = &pma_ops;
	agents->node.pma.hw = agents;
}

struct agents *agents_new(const struct al_dev *dev)
{
	const size_t num = (size_t)dev->attr.num_ports + 1;
	struct agents *agents = al_alloc(sizeof(*agents));

	if (!agents)
		return NULL;
	set_node(agents, dev);
	agents->node.sma.ports = al_alloc(num * sizeof(*agents->node.sma.ports));
	agents->node.pma.ports = al_alloc(num * sizeof(*agents->node.pma.ports));
	if (!agents->node.sma.ports || !agents->node.pma.ports) {
		al_free(agents->node.sma.ports);
		al_free(agents->node.pma.ports);
		al_free(agents);
		return NULL;
	}
	atomic_init(&agents->refs, 1);
	pthread_mutex_init(&agents->lock, NULL);
	pthread_mutex_init(&agents->notices_lock, NULL);
	for (size_t i = 0; i < num; i++)
		agents->node.sma.ports[i].guid = dev->ports[i].port_guid;
	return agents;
}

struct agents *agents_get(struct agents *agents)
{
	atomic_fetch_add(&agents->refs, 1);
	return agents;
}

void agents_put(struct agents *agents)
{
	if (!agents || atomic_fetch_sub(&agents->refs, 1) != 1)
		return;
	pthread_mutex_destroy(&agents->notices_lock);
	pthread_mutex_destroy(&agents->lock);
	al_free(agents->node.sma.ports);
	al_free(agents->node.pma.ports);
	al_free(agents);
}

/* Lets the agents work for a port. */
static struct agents *lock_for(struct mgmt_port *port, const struct ib_ah_attr *src)
{
	struct agents *agents = port->agents;

	pthread_mutex_lock(&agents->lock);
	agents->port = port;
	agents->src = src;
	return agents;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Ends the work for the port, and lets agents_run() come when a trap or a sample is due. */
static void unlock(struct agents *agents)
{
	struct mgmt_port *port = agents->port;
	uint64_t due = UINT64_MAX;

	if (mgmt_has_sma(port))
		due = sma_trap_due(&agents->node.sma, port->port_num);
	if (mgmt_has_pma(port))
		due = earlier(due, pma_due(&agents->node.pma, port->port_num));
	pthread_mutex_unlock(&agents->lock);
	mgmt_agents_wake_at(port, due);
}

/* ------------------------------------------------------------------------- sends */

/* The way out of the node. A datagram of an HCA leaves by the port that sends it. */
static struct agents_way way_of(const struct mgmt_port *port, const struct smi_way *way)
{
	return (struct agents_way){ .out_port = port->port_num ? 0 : way->port, .dlid = way->dlid };
}

al_status agents_route(const struct mgmt_port *port, struct ib_mad *mad, uint16_t dlid,
		       struct agents_way *way)
{
	enum smi_verdict verdict;
	struct smi_way next;

	*way = (struct agents_way){ .dlid = dlid };
	if (mad->hdr.mgmt_class != IB_CLASS_SUBN_DIR || !mgmt_has_sma(port))
		return AL_SUCCESS;
	verdict = smi_send(&port->agents->node.shape, port->port_num, dlid, (struct ib_smp *)mad,
			   &next);
	if (verdict == SMI_DROP)
		return ib_refuse(
			AL_INVALID_PARAMETER,
			"the datagram's directed route can not be sent from here: hop_pointer, hop_count or the path");
	*way = way_of(port, &next);
	way->to_self = verdict == SMI_LOCAL;
	return AL_SUCCESS;
}

/* Sends a datagram of the agents' own. A datagram that can not be sent is lost, as any may be. */
static void send_own(struct mgmt_port *port, enum mgmt_qpn qpn, const struct al_mad_send *s)
{
	pthread_mutex_lock(&port->lock);
	send_silent(&port->own[qpn], s, NULL);
	pthread_mutex_unlock(&port->lock);
}

static void reply(struct mgmt_port *port, const struct mgmt_received *r, const void *mad)
{
	const struct al_mad_send s = { .mad = mad,
				       .length = IB_MAD_BYTES,
				       .remote_qpn = r->src_qp,
				       .remote_qkey = r->qpn == MGMT_QP1 ? IB_QKEY_WELL_KNOWN : 0,
				       .pkey_index = r->pkey_index,
				       .path = r->path };

	send_own(port, r->qpn, &s);
}

/* ---------------------------------------------------------------------- receives */

/* Asks the subnet management agent. */
static enum sma_verdict answer_smp(struct mgmt_port *port, const struct mgmt_received *r,
				   struct ib_mad *out)
{
	struct agents *agents = lock_for(port, &r->path);
	enum sma_verdict verdict =
		sma_answer(&agents->node.sma, r->in_port, r->path.dlid,
			   (const struct ib_smp *)r->mad, mgmt_now(), (struct ib_smp *)out);

	unlock(agents);
	return verdict;
}

/* Takes a subnet management packet that is at the end of its route. */
static void end_of_route(struct mgmt_port *port, const struct mgmt_received *r)
{
	struct ib_mad out;

	switch (answer_smp(port, r, &out)) {
	case SMA_REPLY:
		reply(port, r, &out);
		break;
	case SMA_DROP:
		mad_count(&port->counters.refused);
		break;
	case SMA_CONSUMED:
		break;
	case SMA_FOR_MANAGER:
		if (!mad_received(port, r))
			mad_count(&port->counters.unclaimed);
		break;
	}
}

/* Passes a packet on to the next node of its route. */
static void pass_on(struct mgmt_port *port, const struct mgmt_received *r, const struct ib_smp *smp,
		    const struct smi_way *way)
{
	const struct al_mad_send s = { .mad = smp, .length = IB_MAD_BYTES, .path = r->path };
	const struct agents_way next = way_of(port, way);

	pthread_mutex_lock(&port->lock);
	send_silent(&port->own[MGMT_QP0], &s, &next);
	pthread_mutex_unlock(&port->lock);
}

static void received_smp(struct mgmt_port *port, const struct mgmt_received *r)
{
	struct mgmt_received local = *r;
	struct ib_mad mad = *r->mad;
	struct smi_way way;

	local.mad = &mad;
	switch (smi_receive(&port->agents->node.shape, r->in_port, (struct ib_smp *)&mad, &way)) {
	case SMI_DROP:
		mad_count(&port->counters.malformed);
		break;
	case SMI_LOCAL:
		end_of_route(port, &local);
		break;
	case SMI_FORWARD:
	case SMI_ROUTE:
		pass_on(port, r, (const struct ib_smp *)&mad, &way);
		break;
	}
}

/* Answers what no service wants. False: the datagram gets no answer. */
static bool answer_unclaimed(struct mgmt_port *port, const struct mgmt_received *r,
			     struct ib_mad *out)
{
	struct agents *agents;
	bool answered;

	if (r->qpn != MGMT_QP1 || !mgmt_has_pma(port))
		return false;
	if (r->mad->hdr.mgmt_class != IB_CLASS_PERF)
		return gsi_answer_unserved(r->mad, out);
	agents = lock_for(port, &r->path);
	answered = pma_answer(&agents->node.pma, r->in_port, r->mad, mgmt_now(), out);
	unlock(agents);
	return answered;
}

void agents_received(struct mgmt_port *port, const struct mgmt_received *r)
{
	struct ib_mad out;

	if (r->qpn == MGMT_QP0 && mgmt_has_sma(port))
		received_smp(port, r);
	else if (mad_received(port, r))
		return;
	else if (answer_unclaimed(port, r, &out))
		reply(port, r, &out);
	else
		mad_count(&port->counters.unclaimed);
}

/* A datagram that comes from the node itself. */
static struct mgmt_received from_self(const struct mgmt_port *port, const struct ib_mad *mad)
{
	return (struct mgmt_received){ .mad = mad,
				       .qpn = mgmt_qpn_of(mad->hdr.mgmt_class),
				       .in_port = port->port_num,
				       .path = { .dlid = IB_LID_PERMISSIVE,
						 .port_num = port->port_num } };
}

al_status agents_ask(struct mgmt_port *port, const struct ib_mad *request, struct ib_mad *response)
{
	const struct mgmt_received r = from_self(port, request);

	if (r.qpn == MGMT_QP0 ? !mgmt_has_sma(port) : !mgmt_has_pma(port))
		return ib_refuse(
			AL_UNSUPPORTED,
			"the port has agents of its own, which answer datagrams from the wire only");
	if (r.qpn == MGMT_QP0 ? answer_smp(port, &r, response) == SMA_REPLY
			      : answer_unclaimed(port, &r, response))
		return AL_SUCCESS;
	return ib_refuse(AL_NOT_FOUND, "no agent of the port answers this datagram");
}

/* Takes what the node has sent to itself. */
static void run_to_self(struct mgmt_port *port)
{
	struct mgmt_received r;
	struct ib_mad mad = { 0 };

	mad.hdr.mgmt_class = IB_CLASS_SUBN_DIR;
	r = from_self(port, &mad);
	while (send_take_to_self(port, &mad))
		end_of_route(port, &r);
}

/* ----------------------------------------------------------------- traps, samples */

void agents_raise(struct mgmt_port *port, const struct ib_notice *notice)
{
	struct agents *agents = port->agents;

	pthread_mutex_lock(&agents->notices_lock);
	if (agents->num_notices < AGENTS_NOTICES)
		agents->notices[agents->num_notices++] =
			(struct agents_notice){ port->port_num, *notice };
	pthread_mutex_unlock(&agents->notices_lock);
	mgmt_agents_wake_at(port, 0);
}

/* Raises the notices of the HCA's module. Under agents->lock. */
static void take_notices(struct agents *agents)
{
	struct agents_notice notices[AGENTS_NOTICES];
	uint32_t num;

	pthread_mutex_lock(&agents->notices_lock);
	num = agents->num_notices;
	memcpy(notices, agents->notices, num * sizeof(*notices));
	agents->num_notices = 0;
	pthread_mutex_unlock(&agents->notices_lock);
	for (uint32_t i = 0; i < num; i++)
		sma_raise(&agents->node.sma, notices[i].port_num, &notices[i].notice, mgmt_now());
}

static void send_traps(struct mgmt_port *port, struct agents *agents, uint64_t now)
{
	struct al_mad_send s = { .length = IB_MAD_BYTES, .path.port_num = port->port_num };
	struct sma_destination to;
	struct ib_mad mad;

	s.mad = &mad;
	while (sma_trap_next(&agents->node.sma, port->port_num, now, (struct ib_smp *)&mad, &to)) {
		s.path.dlid = to.dlid;
		s.path.sl = to.sl;
		send_own(port, MGMT_QP0, &s);
	}
}

void agents_run(struct mgmt_port *port, uint64_t now)
{
	struct agents *agents;

	run_to_self(port);
	agents = lock_for(port, NULL);
	take_notices(agents);
	if (mgmt_has_sma(port))
		send_traps(port, agents, now);
	if (mgmt_has_pma(port))
		pma_poll(&agents->node.pma, port->port_num, now);
	unlock(agents);
}
