/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Open ports, their agents, and datagrams. An agent is a MAD service; the services of an open port
 * share one channel, whose descriptor is the open port's number, so that programs can poll it. A
 * request stays with its agent until its event comes, since a request without an answer goes back
 * to the program.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "al/compat/umad/device.h"

#define EXPORT __attribute__((visibility("default")))

/* A datagram that was sent. Its address is the send's identifier. */
struct sent {
	struct sent *next, **at; /* the agent's list */
	bool waits;              /* for an answer */
	uint32_t bytes;          /* of the datagram */
	struct umad_buffer buffer;
};

/* A service of an agent for one class: an agent sends in other classes than its own, too. */
struct side {
	struct agent *agent;
	uint8_t mgmt_class;
	al_mad_svc_h svc; /* NULL: the element is free */
};

#define SIDES 4

struct agent {
	bool used;
	bool rmpp;
	uint8_t class_version;
	struct side sides[SIDES]; /* the first is that of the agent's class */
	struct sent *sent;
};

struct port {
	struct port *next;
	int fd; /* of channel */
	int number;
	struct device device;
	al_channel_h channel;
	pthread_mutex_t lock; /* guards agents. Inside ports_lock. */
	struct agent agents[UMAD_AGENTS];
};

static pthread_mutex_t ports_lock = PTHREAD_MUTEX_INITIALIZER;
static struct port *ports;

static _Thread_local int cancels; /* of the thread that has a port locked: for cancel_back() */

/* Finds an open port and locks it; until unlock_port() the thread can not be cancelled. NULL: there
 * is none. */
static struct port *lock_port(int port_id)
{
	struct port *port;

	cancels = cancel_off();
	pthread_mutex_lock(&ports_lock);
	for (port = ports; port && port->fd != port_id; port = port->next)
		;
	if (port)
		pthread_mutex_lock(&port->lock);
	pthread_mutex_unlock(&ports_lock);
	if (!port)
		cancel_back(cancels);
	return port;
}

static void unlock_port(struct port *port)
{
	pthread_mutex_unlock(&port->lock);
	cancel_back(cancels);
}

static int open_port(const char *ca_name, int number)
{
	struct port *port = calloc(1, sizeof(*port));
	int error = port ? device_find(ca_name, &number, &port->device) : -ENOMEM;
	al_status status;

	if (!error) {
		port->number = number;
		status = al_create_channel(umad_library(), NULL, &port->channel);
		if (!status)
			status = al_channel_fd(port->channel, &port->fd);
		error = umad_errno(status);
	}
	if (error) {
		free(port);
		return error;
	}
	pthread_mutex_init(&port->lock, NULL);
	pthread_mutex_lock(&ports_lock);
	port->next = ports;
	ports = port;
	pthread_mutex_unlock(&ports_lock);
	return port->fd;
}

EXPORT int umad_open_port(const char *ca_name, int number)
{
	int before = cancel_off(), port_id = open_port(ca_name, number);

	cancel_back(before);
	return port_id;
}

EXPORT int umad_get_fd(int port_id)
{
	return port_id;
}

/* -------------------------------------------------------------------- agents */

static void forget(struct sent *sent)
{
	*sent->at = sent->next;
	if (sent->next)
		sent->next->at = sent->at;
	free(sent);
}

static void end_agent(struct agent *agent)
{
	for (int i = 0; i < SIDES; i++)
		if (agent->sides[i].svc)
			al_dereg_mad_svc(agent->sides[i].svc, AL_DESTROY_SYNC, NULL);
	while (agent->sent)
		forget(agent->sent);
	memset(agent, 0, sizeof(*agent));
}

/* Registers a service of an agent. */
static int add_side(struct port *port, struct agent *agent, struct side *side,
		    const struct al_mad_svc_init *wanted)
{
	struct al_mad_svc_init init = *wanted;
	al_status status;

	init.port_num = (uint8_t)port->number;
	init.channel = port->channel;
	side->agent = agent;
	side->mgmt_class = init.mgmt_class;
	status = al_reg_mad_svc(port->device.ca, &init, side, NULL, &side->svc);
	if (status)
		side->svc = NULL;
	return umad_errno(status);
}

/* Registers an agent. Returns its number. */
static int add_agent(int port_id, const struct al_mad_svc_init *init)
{
	struct port *port = lock_port(port_id);
	int i = 0, error;

	if (!port)
		return -EINVAL;
	while (i < UMAD_AGENTS && port->agents[i].used)
		i++;
	error = i == UMAD_AGENTS
			? -ENOMEM
			: add_side(port, &port->agents[i], &port->agents[i].sides[0], init);
	if (!error) {
		port->agents[i].used = true;
		port->agents[i].rmpp = init->rmpp;
		port->agents[i].class_version = init->class_version;
	}
	unlock_port(port);
	return error ? error : i;
}

static bool has_oui(int mgmt_class)
{
	return mgmt_class >= IB_CLASS_VENDOR_2_FIRST && mgmt_class <= IB_CLASS_VENDOR_2_LAST;
}

static struct al_mad_svc_init service_of(int mgmt_class, int class_version, bool rmpp,
					 const uint8_t *oui, const void *methods)
{
	struct al_mad_svc_init init = { .mgmt_class = (uint8_t)mgmt_class,
					.class_version = (uint8_t)class_version,
					.rmpp = rmpp };

	if (oui)
		memcpy(init.oui, oui, sizeof(init.oui));
	if (methods)
		memcpy(init.methods, methods, sizeof(init.methods));
	return init;
}

EXPORT int umad_register(int port_id, int mgmt_class, int class_version, uint8_t rmpp_version,
			 const long methods[UMAD_METHOD_LONGS])
{
	const struct al_mad_svc_init init =
		service_of(mgmt_class, class_version, rmpp_version, NULL, methods);
	int agent = mgmt_class < 0 || mgmt_class > UINT8_MAX ? -EINVAL : add_agent(port_id, &init);

	return agent < 0 && agent != -EINVAL ? -EPERM : agent;
}

EXPORT int umad_register_oui(int port_id, int mgmt_class, uint8_t rmpp_version,
			     const uint8_t oui[3], const long methods[UMAD_METHOD_LONGS])
{
	const struct al_mad_svc_init init = service_of(mgmt_class, 1, rmpp_version, oui, methods);
	int agent = has_oui(mgmt_class) ? add_agent(port_id, &init) : -EINVAL;

	return agent < 0 && agent != -EINVAL ? -EPERM : agent;
}

EXPORT int umad_register2(int port_id, const struct umad_registration *attr, uint32_t *agent_id)
{
	struct al_mad_svc_init init;
	uint8_t oui[3];
	int agent;

	if (!attr || !agent_id || attr->flags & ~(uint32_t)UMAD_USER_RMPP || attr->oui > 0xffffff)
		return EINVAL;
	for (int i = 0; i < 3; i++)
		oui[i] = (uint8_t)(attr->oui >> (16 - 8 * i));
	init = service_of(attr->mgmt_class, attr->class_version,
			  attr->rmpp_version && !(attr->flags & UMAD_USER_RMPP), oui,
			  attr->methods);
	agent = add_agent(port_id, &init);
	if (agent < 0)
		return -agent;
	*agent_id = (uint32_t)agent;
	return 0;
}

static struct agent *find_agent(struct port *port, int agent_id)
{
	if (agent_id < 0 || agent_id >= UMAD_AGENTS || !port->agents[agent_id].used)
		return NULL;
	return &port->agents[agent_id];
}

EXPORT int umad_unregister(int port_id, int agent_id)
{
	struct port *port = lock_port(port_id);
	struct agent *agent;

	if (!port)
		return -EINVAL;
	agent = find_agent(port, agent_id);
	if (agent)
		end_agent(agent);
	unlock_port(port);
	return agent ? 0 : -EINVAL;
}

static int close_port(int port_id)
{
	struct port **p, *port;

	pthread_mutex_lock(&ports_lock);
	for (p = &ports; *p && (*p)->fd != port_id; p = &(*p)->next)
		;
	port = *p;
	if (port) {
		*p = port->next;
		pthread_mutex_lock(&port->lock); /* waits for calls on the port */
		pthread_mutex_unlock(&port->lock);
	}
	pthread_mutex_unlock(&ports_lock);
	if (!port)
		return -EINVAL;
	for (int i = 0; i < UMAD_AGENTS; i++)
		if (port->agents[i].used)
			end_agent(&port->agents[i]);
	al_destroy_channel(port->channel, AL_DESTROY_SYNC, NULL);
	pthread_mutex_destroy(&port->lock);
	free(port);
	return 0;
}

EXPORT int umad_close_port(int port_id)
{
	int before = cancel_off(), error = close_port(port_id);

	cancel_back(before);
	return error;
}

/* ------------------------------------------------------------------- sending */

/* The service of an agent for the class of a datagram; registered if the agent has none yet. */
static int find_side(struct port *port, struct agent *agent, uint8_t mgmt_class, struct side **side)
{
	struct al_mad_svc_init init;
	int i = 0;

	while (i < SIDES && agent->sides[i].svc && agent->sides[i].mgmt_class != mgmt_class)
		i++;
	if (i == SIDES)
		return -EINVAL;
	*side = &agent->sides[i];
	if ((*side)->svc)
		return 0;
	init = service_of(mgmt_class, agent->class_version, agent->rmpp, NULL, NULL);
	if (!add_side(port, agent, *side, &init))
		return 0;
	init.rmpp = false; /* a class without RMPP */
	return add_side(port, agent, *side, &init);
}

static struct ib_ah_attr path_of(const struct umad_address *to, int port_num)
{
	struct ib_ah_attr path = {
		.dlid = ib_be16_get(to->lid),
		.sl = to->sl,
		.src_path_bits = to->path_bits,
		.port_num = (uint8_t)port_num,
		.is_global = to->grh_present,
	};

	if (!to->grh_present)
		return path;
	path.grh.flow_label = ib_be32_get(to->flow_label);
	path.grh.sgid_index = to->gid_index;
	path.grh.hop_limit = to->hop_limit;
	path.grh.traffic_class = to->traffic_class;
	memcpy(&path.grh.dgid, to->gid, sizeof(path.grh.dgid));
	return path;
}

static struct sent *new_sent(struct agent *agent, const struct umad_buffer *buffer, uint32_t bytes,
			     bool waits)
{
	struct sent *sent = calloc(1, sizeof(*sent) + (waits ? bytes : 0));

	if (!sent)
		return NULL;
	sent->waits = waits;
	sent->bytes = bytes;
	sent->buffer = *buffer;
	if (waits)
		memcpy(sent->buffer.mad, buffer->mad, bytes);
	sent->next = agent->sent;
	sent->at = &agent->sent;
	if (sent->next)
		sent->next->at = &sent->next;
	agent->sent = sent;
	return sent;
}

static int send_datagram(struct port *port, struct agent *agent, const struct umad_buffer *buffer,
			 uint32_t bytes)
{
	const struct ib_mad_hdr *hdr = (const void *)buffer->mad;
	const bool qp0 =
		hdr->mgmt_class == IB_CLASS_SUBN_LID || hdr->mgmt_class == IB_CLASS_SUBN_DIR;
	struct al_mad_send send = {
		.mad = buffer->mad,
		.length = bytes,
		.remote_qpn = qp0 ? 0 : ib_be32_get(buffer->address.qpn),
		.remote_qkey = qp0 ? 0 : ib_be32_get(buffer->address.qkey),
		.pkey_index = buffer->address.pkey_index,
		.path = path_of(&buffer->address, port->number),
	};
	struct side *side;
	struct sent *sent;
	int error;

	/* a response has no time-out; a time-out that the program gives is ignored */
	if (!(hdr->method & IB_METHOD_RESP) && hdr->method != IB_METHOD_TRAP_REPRESS) {
		send.timeout_ms = buffer->timeout_ms;
		send.retries = (uint16_t)(buffer->timeout_ms && buffer->retries < UINT16_MAX
						  ? buffer->retries
						  : 0);
	}
	error = find_side(port, agent, hdr->mgmt_class, &side);
	if (error)
		return error;
	sent = new_sent(agent, buffer, bytes, send.timeout_ms);
	if (!sent)
		return -ENOMEM;
	send.id = (uintptr_t)sent;
	error = umad_errno(al_send_mad(side->svc, &send));
	if (error)
		forget(sent);
	return error;
}

EXPORT int umad_send(int port_id, int agent_id, void *buffer, int length, int timeout_ms,
		     int retries)
{
	struct port *port = lock_port(port_id);
	struct umad_buffer *umad = buffer;
	struct agent *agent;
	int error = -EINVAL;

	if (!port)
		return -EINVAL;
	umad->agent_id = (uint32_t)agent_id;
	umad->timeout_ms = timeout_ms > 0 ? (uint32_t)timeout_ms : 0;
	umad->retries = retries > 0 ? (uint32_t)retries : 0;
	agent = find_agent(port, agent_id);
	if (agent && length >= (int)sizeof(struct ib_mad_hdr))
		error = send_datagram(port, agent, umad, (uint32_t)length);
	unlock_port(port);
	errno = -error;
	return error;
}

/* ----------------------------------------------------------------- receiving */

static struct umad_address address_of(const struct al_mad_event *event)
{
	const struct ib_ah_attr *path = &event->path;
	struct umad_address from = {
		.qpn = ib_be32_of(event->src_qp),
		.qkey = ib_be32_of(event->src_qp ? IB_QKEY_WELL_KNOWN : 0),
		.lid = ib_be16_of(path->dlid),
		.sl = path->sl,
		.path_bits = path->src_path_bits,
		.grh_present = path->is_global,
		.pkey_index = event->pkey_index,
	};

	if (!path->is_global)
		return from;
	from.gid_index = (uint8_t)path->grh.sgid_index;
	from.hop_limit = path->grh.hop_limit;
	from.traffic_class = path->grh.traffic_class;
	from.flow_label = ib_be32_of(path->grh.flow_label);
	memcpy(from.gid, &path->grh.dgid, sizeof(from.gid));
	return from;
}

/* Gives a request without an answer back to the program: the first bytes, if the buffer has no room
 * for all. */
static int give_back(struct sent *sent, int agent_id, struct umad_buffer *to, int *length)
{
	uint32_t room = *length > 0 ? (uint32_t)*length : 0;

	*to = sent->buffer;
	to->agent_id = (uint32_t)agent_id;
	to->status = ETIMEDOUT;
	to->length = (uint32_t)(sizeof(*to) + sent->bytes);
	memcpy(to->mad, sent->buffer.mad, sent->bytes < room ? sent->bytes : room);
	*length = (int)sent->bytes;
	return agent_id;
}

#define NOTHING (-EWOULDBLOCK) /* no datagram for the program */

/* Takes the next event of a service. Returns the agent's number, NOTHING, or -ENOSPC with the
 * datagram's length. */
static int take_event(struct port *port, const struct side *side, struct umad_buffer *to,
		      int *length)
{
	const int agent_id = (int)(side->agent - port->agents);
	struct al_mad_event event;
	al_status status =
		al_mad_next(side->svc, to->mad, *length > 0 ? (uint32_t)*length : 0, &event);
	struct sent *sent;
	bool lost;

	if (status == AL_BUFFER_TOO_SMALL) {
		to->length = (uint32_t)sizeof(*to) + event.length;
		*length = (int)event.length;
		return -ENOSPC;
	}
	if (status)
		return NOTHING;
	if (event.type != AL_MAD_RECEIVED) {
		sent = (struct sent *)(uintptr_t)event.id;
		lost = event.type == AL_MAD_FAILED && sent->waits;
		if (lost)
			give_back(sent, agent_id, to, length);
		forget(sent);
		if (lost || event.type != AL_MAD_ANSWERED)
			return lost ? agent_id : NOTHING;
	}
	*length = (int)event.length;
	to->agent_id = (uint32_t)agent_id;
	to->status = to->timeout_ms = to->retries = 0;
	to->length = (uint32_t)sizeof(*to) + event.length;
	to->address = address_of(&event);
	return agent_id;
}

/* Takes the next datagram of any agent. */
static int take_datagram(int port_id, struct umad_buffer *to, int *length)
{
	struct port *port = lock_port(port_id);
	struct al_channel_event told;
	int got = NOTHING;

	if (!port)
		return -EINVAL;
	while (got == NOTHING && !al_channel_next(port->channel, &told))
		if (told.type == AL_CHANNEL_MAD)
			got = take_event(port, told.context, to, length);
	unlock_port(port);
	return got;
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Waits until the port may have a datagram. end -1: without limit. */
static int wait_for(int port_id, int64_t end)
{
	struct pollfd fd = { .fd = port_id, .events = POLLIN };
	int64_t left = end < 0 ? -1 : end - now_ms();
	int num = poll(&fd, 1, end < 0 ? -1 : left > 0 ? (int)left : 0);

	if (num < 0)
		return -errno;
	return num ? 0 : -ETIMEDOUT;
}

EXPORT int umad_poll(int port_id, int timeout_ms)
{
	return wait_for(port_id, timeout_ms < 0 ? -1 : now_ms() + timeout_ms);
}

EXPORT int umad_recv(int port_id, void *buffer, int *length, int timeout_ms)
{
	const int64_t end = timeout_ms < 0 ? -1 : now_ms() + timeout_ms;
	int got = take_datagram(port_id, buffer, length), error = 0;

	while (got == NOTHING && timeout_ms && !error) {
		error = wait_for(port_id, end);
		if (!error)
			got = take_datagram(port_id, buffer, length);
	}
	got = error ? error : got;
	if (got < 0)
		errno = -got;
	return got;
}
