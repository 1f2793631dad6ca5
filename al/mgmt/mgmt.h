/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Management datagrams (MADs): the library's own queue pairs 0 and 1 of each port that it serves,
 * the MAD services of channel drivers on them, and their sends.
 *
 * - port.c: serving ports: the queue pairs, their buffers, completions, the management thread,
 *   arrival and removal of HCAs
 * - mad.c: services: registration, the match of received datagrams to services and requests,
 *   delivery of events
 * - send.c: sends: turns, posting, time-outs, repetitions, cancelling
 * - spl_qp.c: aliases of the queue pairs
 * - remote.c: services of an agent's HCAs; no other file here knows of them
 * - agents.c: the agents of an HCA, for what no service gets
 * - path.c: address handles of sends, which are kept
 * - transfer.c: the RMPP machines (rmpp.h) of sends, and of datagrams that arrive in segments
 *
 * One management thread serves all ports. It handles completions and time-outs, tells an agent that
 * a service has an answer, and makes no callback of a channel driver: a service's callback runs on
 * its HCA's async dispatcher. So a callback that does not return stops no other service's sends,
 * time-outs and receives. Completions are handled by one thread at a time, which is the management
 * thread or, while that has none to handle, a thread in al_send_mad(): often the datagram has been
 * to its destination, and the answer is here, before the call returns, and no thread has to be
 * woken for it (mgmt_claim()).
 *
 * Nothing is allocated to deliver. A send's memory, allocated by al_send_mad(), has room for the
 * answer and is the event. An unsolicited datagram is copied to one of the items that its service
 * has allocated at registration. So a received datagram never holds a buffer of the port, and a
 * slow service takes no room from others.
 *
 * Locks, outermost first: serve_lock (port.c: begin and end of service), ports_lock (port.c: the
 * list of ports), agents.lock, mgmt_port.lock, then tree_lock and the module's own.
 */
#ifndef AL_MGMT_MGMT_H
#define AL_MGMT_MGMT_H

#include <iba/ib_mad.h>

#include "al/mgmt/agents.h"
#include "al/mgmt/link.h"
#include "al/mgmt/owner.h"
#include "al/mgmt/path.h"
#include "al/mgmt/rmpp.h"
#include "al/object/device.h"

struct mgmt_port;
struct mgmt_send;
struct mgmt_recv;

/* The special queue pairs of a port; the index is the number of the queue pair. */
enum mgmt_qpn { MGMT_QP0, MGMT_QP1, MGMT_QPS };

/* Why received datagrams are dropped, and other numbers of a port: X(name). */
#define MGMT_COUNTER_LIST(X)                                                                       \
	X(received)  /* datagrams that the HCA delivered */                                        \
	X(malformed) /* dropped: length, base version, or class that does not suit the queue pair  \
		      */                                                                           \
	X(no_path)   /* dropped: no path back to the sender */                                     \
	X(unclaimed) /* dropped: no service has asked for the datagram, and no agent answers it */ \
	X(refused)   /* dropped: the subnet management agent refused the M_Key or the method */    \
	X(unexpected) /* dropped: response to no request of a service */                           \
	X(overflow)   /* dropped: the service had no room */                                       \
	X(sent)       /* datagrams handed to the HCA, repetitions included */                      \
	X(answered)   /* sends that were answered */                                               \
	X(timed_out)  /* sends that failed for lack of an answer */

static inline void mad_count(_Atomic uint64_t *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

struct mgmt_counters {
#define MGMT_COUNTER(name) _Atomic uint64_t name;
	MGMT_COUNTER_LIST(MGMT_COUNTER)
#undef MGMT_COUNTER
};

/* ------------------------------------------------------------------- ports */

/* A buffer for one datagram that is being sent. */
struct mgmt_slot {
	struct mgmt_slot *next; /* list of free slots */
	struct mgmt_send *send; /* send whose datagram the HCA sends; NULL: its outcome is decided already */
	uint8_t *buffer;        /* IB_MAD_BYTES bytes */
};

/*
 * A client of the agent, or the process itself, or the port's agents, at one queue pair. Senders
 * take turns, and the services of a sender take turns at those: so a client that floods delays
 * others by its share at most, with however many services. Guarded by mgmt_port.lock.
 */
struct mgmt_sender {
	const struct ci_client *client; /* NULL: the process itself; constant */
	uint32_t refs;                  /* al_mad_svc.sender */
	struct mgmt_link turn;          /* mgmt_qp.turns; linked while `services` is not empty */
	struct mgmt_link services;      /* services with unsent datagrams, the next to send first:
					   al_mad_svc.turn */
};

/* A special queue pair. Guarded by mgmt_port.lock, but for the members that are constant. */
struct mgmt_qp {
	struct mgmt_port *port;   /* constant */
	al_qp_h handle;           /* constant */
	uint8_t *recv;            /* receive buffers, MGMT_RECV_BYTES each; constant */
	uint32_t num_recvs;       /* constant */
	uint32_t num_sends;       /* elements of slots; constant */
	struct mgmt_slot *slots;  /* constant */
	struct mgmt_slot *free;   /* slots that are not posted */
	uint32_t posted;          /* slots that are posted */
	struct mgmt_link
		turns; /* senders with unsent datagrams, the next to send first: mgmt_sender.turn */
	struct mgmt_sender agents; /* the port's own agents */
	bool stopped;             /* a send has failed, and the queue pair is in SQE; nothing is posted until it is in RTS again */
	bool failed;              /* the queue pair is in Error, for good */
	struct mgmt_link aliases; /* al_get_spl_qp(): spl_qp.link */
};

#define MGMT_BUCKETS 256u /* lists of requests, by the library's half of the transaction identifier */

/* A port that the library serves. */
struct mgmt_port {
	struct mgmt_port *next;   /* list of ports; guarded by ports_lock */
	struct mgmt_port
		*next_due; /* list of the ports whose time has come; of the management thread */
	_Atomic uint32_t refs;    /* one for the list, and one for each service */
	struct al_dev *dev;       /* HCA, referenced; constant */
	uint8_t port_num;         /* constant */
	uint32_t caps; /* enum ci_port_cap: agents of the port that the library has; constant */
	struct mgmt_counters counters; /* written without the lock, too */
	bool sleeps;   /* the agents' calls of the HCA's module may sleep; constant */
	struct agents *agents;  /* the HCA's agents, referenced; NULL: caps is 0 */
	struct al_mad_svc *own; /* by mgmt_qpn: what the agents send by, with silent sends only.
				   Constant; its members as a service's */
	_Atomic uint64_t agents_due; /* time of the next agents_run(); UINT64_MAX: never */

	/* the library's own objects; constant while the port is in the list */
	al_ca_h ca;
	al_pd_h pd;
	al_cq_h cq;               /* completions of both queue pairs */
	al_mr_h mr;
	uint8_t *memory;          /* of all buffers */
	uint32_t lkey;
	struct mgmt_slot *slots;  /* of both queue pairs */
	struct mgmt_paths paths;  /* address handles of sends */

	pthread_mutex_t lock;     /* guards all below, and the members of services and sends that say so */
	struct mgmt_qp qp[MGMT_QPS];
	bool ended;               /* the HCA is removed: no further sends */
	uint32_t next_tid;        /* the library's half of the next transaction identifier */
	struct mgmt_link services; /* al_mad_svc.link */
	struct mgmt_link to_self;  /* sends to the node itself, oldest first: mgmt_send.queue */
	struct mgmt_link waiting; /* sends that wait for an answer, earliest deadline first: mgmt_send.queue */
	struct mgmt_link requests[MGMT_BUCKETS]; /* requests without an answer, and RMPP transfers: mgmt_send.bucket */
	struct mgmt_link receivers; /* datagrams that arrive in segments: transfer.c */
	bool receiving;             /* mad_received() is at work, in the thread that has the lock */
	struct al_mad_svc
		*owned; /* referenced: mad_received() tells the service's owner of events */
	bool to_recover; /* a queue pair is to be taken back to RTS; of the thread that handles
			    completions */
	_Atomic uint64_t deadline; /* the earliest of waiting and receivers, or earlier; UINT64_MAX: none. Written under lock. */
};

/* --------------------------------------------------------------- services */

/* An event of a service with its datagram. */
struct mgmt_item {
	struct mgmt_link link;     /* al_mad_svc.events or al_mad_svc.free */
	struct al_mad_event event; /* event.mad is set while the event is delivered */
	struct mgmt_send *send;    /* send that ends with this event, which is its first member; NULL: unsolicited */
	void *message;             /* received datagram of several segments; NULL: mad has it. Freed with the event. */
	uint64_t charged;          /* bytes of message that the service's owner pays for */
	struct ib_mad mad;         /* the received datagram; event.length says whether there is one */
};

/* What a snapshot tells of a service, as struct al_snap_mad_svc has it: X(name). */
#define MAD_COUNT_LIST(X) \
	X(sent)           \
	X(repeated)       \
	X(answered)       \
	X(timed_out)      \
	X(failed)         \
	X(received)       \
	X(dropped)

/* Written under port->lock, and read without, since a snapshot is taken under tree_lock. */
struct mad_counts {
#define MAD_COUNT(name) _Atomic uint64_t name;
	MAD_COUNT_LIST(MAD_COUNT)
#undef MAD_COUNT
};

struct al_mad_svc {
	struct al_obj obj;         /* the channel, if any, is in uses[0] */
	al_mad_cb cb;              /* callback; NULL: the service has a channel or an owner */
	const struct al_mad_owner *owner; /* NULL: the service is no agent's client's */
	struct mgmt_port *port;    /* referenced */
	struct mgmt_qp *qp;        /* queue pair of the class */
	struct mgmt_sender *sender; /* constant once the service is in mgmt_port.services */
	struct al_mad_svc_init init;
	struct mgmt_item *items;   /* AL_MAD_RECEIVES_MAX items; NULL: the service wants no unsolicited datagrams */
	struct mad_counts counts;

	/* guarded by port->lock */
	struct mgmt_link link;     /* mgmt_port.services */
	struct mgmt_link free;     /* items without an event */
	struct mgmt_link events;   /* events, oldest first: mgmt_item.link */
	struct mgmt_link sends;    /* sends whose outcome is not decided, oldest first: mgmt_send.all */
	struct mgmt_link unsent;   /* sends that wait for their turn: mgmt_send.queue */
	struct mgmt_link turn;     /* mgmt_sender.services; linked while unsent is not empty */
	uint32_t num_sends;        /* sends that exist, AL_MAD_SENDS_MAX at most */
	uint32_t num_silent;       /* silent sends that exist */
	uint32_t num_recvs;        /* receivers */
};

/* A send. Guarded by mgmt_port.lock, but for the members that are constant. */
struct mgmt_send {
	struct mgmt_item item;     /* first member: the event that ends the send */
	struct al_mad_svc *svc;    /* constant; a service ends its sends before it ends */
	struct mgmt_link all;      /* al_mad_svc.sends */
	struct mgmt_link queue;    /* al_mad_svc.unsent or mgmt_port.waiting */
	struct mgmt_link bucket;   /* mgmt_port.requests, if an answer or acknowledgements are expected */
	struct mgmt_slot *slot;    /* slot that is posted with this send's datagram; NULL: none */
	struct mgmt_hold hold;     /* address handle of the way; constant */
	struct ib_ah_attr path;    /* as the sender has given it; constant */
	struct agents_way way;     /* constant */
	uint32_t remote_qpn, remote_qkey; /* constant */
	uint16_t pkey_index;       /* constant */
	uint16_t retries;          /* repetitions left */
	bool expects_answer;       /* constant */
	bool silent;               /* a transfer's own packet, whose end is no event; constant */
	uint64_t charged; /* bytes of long_mad that the service's owner pays for; constant */
	bool transferred;          /* the transfer is done, and the wait for the answer has begun */
	uint64_t tid;              /* transaction identifier as sent; constant */
	uint32_t caller_tid;       /* upper half of the identifier as the caller has it; constant */
	uint64_t wait_ns;          /* time to wait for an answer after the next attempt */
	uint64_t deadline;         /* end of the wait for an answer */
	struct rmpp_send *transfer; /* NULL: the datagram is sent in one piece */
	uint8_t *long_mad;         /* with transfer: the datagram, long_bytes; in the send's own block; constant */
	size_t long_bytes;
	struct mgmt_recv *recv;    /* receiver of the answer; NULL: none */
	struct ib_mad mad;         /* datagram, or its first bytes; constant */
};

/* A received datagram, checked at the door (port.c). Valid during a call. */
struct mgmt_received {
	const struct ib_mad *mad;
	struct ib_ah_attr path; /* path back to the sender */
	uint32_t src_qp;
	uint16_t pkey_index;
	enum mgmt_qpn qpn;      /* queue pair that has received the datagram */
	uint8_t in_port; /* the port; switch: external port that the datagram came in by, or 0 */
};

/* True: the library answers the port's subnet management packets, or its performance management
 * datagrams. */
static inline bool mgmt_has_sma(const struct mgmt_port *port)
{
	return port->caps & CI_PORT_SMA_IN_AL;
}

static inline bool mgmt_has_pma(const struct mgmt_port *port)
{
	return port->caps & CI_PORT_PMA_IN_AL;
}

/* ------------------------------------------------------------------ port.c */

/* Registers al/mgmt with the arrival and removal of HCAs. Called once per process, before
 * ci_start(). */
void mgmt_init(void);
/* Forgets all ports, and the management thread, in a forked child. */
void mgmt_after_fork(void);
/*
 * Finds the port, serves it unless it is served, and takes a reference. The caller is inside a call
 * on dev. AL_CA_REMOVED; AL_UNSUPPORTED; AL_RESOURCE_BUSY; AL_LIMIT_EXCEEDED;
 * AL_INSUFFICIENT_RESOURCES; AL_INSUFFICIENT_MEMORY.
 */
al_status mgmt_serve(struct al_dev *dev, uint8_t port_num, struct mgmt_port **port);
void mgmt_port_put(struct mgmt_port *port);
/*
 * Lets the calling thread do the management thread's work that its datagrams make, where that work
 * does not sleep: mgmt_carry_on() does the work, after the call that has sent them. False: the
 * management thread is at work already. Any context.
 */
bool mgmt_claim(void);
/* Does the work since mgmt_claim(), and leaves to the management thread more work than one datagram
 * makes, recover(), and the work of ports whose agents may sleep. Without locks. Any context. */
void mgmt_carry_on(void);
/* Lets the management thread look at the ports' times when CLOCK_MONOTONIC reaches deadline. Any
 * context. */
void mgmt_wake_at(uint64_t deadline);
/* Lets the management thread serve the port at a time. Under port->lock. */
void mgmt_port_wake_at(struct mgmt_port *port, uint64_t deadline);
/* Lets the management thread call agents_run() for the port at a time. Any context. */
void mgmt_agents_wake_at(struct mgmt_port *port, uint64_t due);
/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t mgmt_now(void);
/* The wr_id of a datagram in a slot. */
uint64_t mgmt_send_wr_id(const struct mgmt_port *port, const struct mgmt_qp *qp, const struct mgmt_slot *slot);
/* The queue pair of a class. */
enum mgmt_qpn mgmt_qpn_of(uint8_t mgmt_class);
/* Returns the first queue pair that a port has: an Ethernet port has no QP0 (IBTA A17.4.4). */
enum mgmt_qpn mgmt_first_qpn(const struct al_dev *dev, uint8_t port_num);
/* AL_UNSUPPORTED: the port does not have the queue pair. */
al_status mgmt_check_qpn(const struct al_dev *dev, uint8_t port_num, enum mgmt_qpn qpn);

/* ------------------------------------------------------------------- mad.c */

/* al_snap_object.number of a service. */
uint32_t mad_svc_number(const struct al_obj *obj);
/* Writes what a snapshot tells of a service, but for the id. */
void mad_svc_counts(const struct al_obj *obj, struct al_snap_mad_svc *to);

/*
 * Takes a received datagram to the request that it answers, or to the service that wants it. False:
 * no service wants the datagram. By the thread that handles completions, and by the management
 * thread for what the node has sent to itself.
 */
bool mad_received(struct mgmt_port *port, const struct mgmt_received *r);
/* Appends an event to the service's events and announces it. Under port->lock. */
void svc_add_event(struct al_mad_svc *svc, struct mgmt_item *item);
/* Finds the service that wants an unsolicited datagram. NULL: there is none. Under port->lock. */
struct al_mad_svc *mad_find_service(struct mgmt_port *port, const struct ib_mad *mad);
/* Lets the owner of a service, if any, pay for bytes of long datagrams. False: the owner does not.
 */
static inline bool svc_charge(const struct al_mad_svc *svc, uint64_t bytes)
{
	return !svc->owner || svc->owner->charge(svc->obj.context, bytes);
}
static inline void svc_discharge(const struct al_mad_svc *svc, uint64_t bytes)
{
	if (svc->owner && bytes)
		svc->owner->discharge(svc->obj.context, bytes);
}
bool mad_is_same_sender(const struct ib_ah_attr *a, const struct ib_ah_attr *b);
/* A received datagram of several segments. */
struct mgmt_message {
	void *bytes;
	uint32_t length;
	uint64_t charged; /* bytes that the service's owner pays for */
};
/*
 * Delivers a datagram of several segments, as the answer to send or, with NULL, as an unsolicited
 * one. The message passes to the service, or is freed. Under port->lock.
 */
void mad_deliver_long(struct mgmt_port *port, struct al_mad_svc *svc, struct mgmt_send *send,
		      const struct mgmt_received *r, const struct mgmt_message *message);
/* Frees the message of an event, if any. Under port->lock. */
void mad_free_message(const struct al_mad_svc *svc, struct mgmt_item *item);
/* True: the datagram answers another one, so that it belongs to that one's sender (IBTA 13.4.5). */
bool mad_is_response(const struct ib_mad_hdr *hdr);

/* ------------------------------------------------------------------ send.c */

/* Refuses a datagram of a service that has AL_MAD_SENDS_MAX on their way: AL_QUEUE_FULL. */
al_status mad_refuse_full(void);
/* Checks what a service with these attributes is to send, but for the path, which al_create_ah()
 * checks. */
al_status mad_check_send(const struct al_dev *dev, const struct al_mad_svc_init *init,
			 const struct al_mad_send *s);
/* Posts unsent datagrams while the queue pair has free slots. Under port->lock. */
void send_next(struct mgmt_port *port, struct mgmt_qp *qp);
/* Finds the request that a response answers. NULL: there is none. Under port->lock. */
struct mgmt_send *send_find_request(struct mgmt_port *port, const struct mgmt_received *r);
/* Finds the RMPP transfer whose receiver has sent a packet. NULL: there is none. Under
 * port->lock. */
struct mgmt_send *send_find_transfer(struct mgmt_port *port, const struct mgmt_received *r);
/* Lets a send wait until a time, and until its answer is expected no longer. Under port->lock. */
void send_wait_until(struct mgmt_port *port, struct mgmt_send *send, uint64_t deadline);
void send_wait_for_answer(struct mgmt_port *port, struct mgmt_send *send);
/* The transfer of a send may have packets to post. Under port->lock. */
void send_continue(struct mgmt_send *send);
/* The answer to a send has begun to arrive in segments: the receiver's time-outs count from now on.
 * Under port->lock. */
void send_receives(struct mgmt_send *send, struct mgmt_recv *recv);
/* Begins the members of a service by which sends are made. */
void send_init_service(struct al_mad_svc *svc, struct mgmt_port *port, enum mgmt_qpn qpn);
/* Begins a sender without services. */
void send_init_sender(struct mgmt_sender *sender, const struct ci_client *client);
/*
 * Sends without an event: a packet of a transfer, or a datagram of the agents. way NULL: by
 * s->path. What can not be sent is lost. Under port->lock.
 */
void send_silent(struct al_mad_svc *svc, const struct al_mad_send *s, const struct agents_way *way);
/* Takes the oldest datagram that the node has sent to itself. False: there is none. */
bool send_take_to_self(struct mgmt_port *port, struct ib_mad *mad);
/* Decides the outcome of a send: takes the send out of all lists, and delivers its event. Under
 * port->lock. */
void send_end(struct mgmt_send *send, al_mad_event_type type, al_status status);
/* Ends all sends of a service without an event. Under port->lock. */
void send_drop_all(struct al_mad_svc *svc);
/* Frees a send that has ended, after its event. Under port->lock. */
void send_free(struct mgmt_send *send);
/* A posted datagram is sent, or has failed. Under port->lock. */
void send_completed(struct mgmt_port *port, struct mgmt_qp *qp, struct mgmt_slot *slot, ib_wc_status status);
/* Repeats or ends the sends whose wait is over. On the management thread. */
void send_expire(struct mgmt_port *port, uint64_t now);
/* Fails all sends of a queue pair. Under port->lock. */
void send_fail_all(struct mgmt_port *port, const struct mgmt_qp *qp, al_status status);

/* ---------------------------------------------------------------- spl_qp.c */

/* al_event_cb of the special queue pairs, whose context is struct mgmt_qp. */
void spl_qp_event(void *context, const struct al_event *event);

/* ------------------------------------------------------------- transfer.c; all under port->lock */

/* True: the datagram is a packet of RMPP. */
bool transfer_is_packet(const struct mgmt_received *r);
/* Takes a packet to its transfer, and begins one. False: no service with RMPP has to do with the
 * packet. */
bool transfer_received(struct mgmt_port *port, const struct mgmt_received *r);
/* Begins the transfer of send->long_mad, or begins again. AL_INVALID_PARAMETER: the datagram is too
 * short or too long. */
al_status transfer_begin(struct mgmt_send *send);
/* Writes the next packet of a send's transfer. False: there is none now; transfer_pause() is
 * due. */
bool transfer_next(struct mgmt_send *send, void *packet);
/* Lets a send wait for acknowledgements, or for its answer, or ends the send. */
void transfer_pause(struct mgmt_port *port, struct mgmt_send *send);
/* A send has waited for an acknowledgement in vain: send_continue() is due. */
void transfer_expire(struct mgmt_send *send, uint64_t now);
/* Tells the peer that a send is cancelled. */
void transfer_abort(struct mgmt_send *send);
/* The request is gone whose answer a receiver gets. */
void transfer_forget(struct mgmt_recv *recv);
/* Serves the receivers whose time has come. Returns the next time. */
uint64_t transfer_expire_recvs(struct mgmt_port *port, uint64_t now);
/* Ends the receivers of a service. */
void transfer_drop_all(struct al_mad_svc *svc);

#endif
