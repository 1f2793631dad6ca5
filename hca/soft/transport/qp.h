/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Queue pairs and the parts of their transport: the pass of the owner (qp.c), the requester
 * (req.c), the completer (comp.c), the responder (resp.c, rc_resp.c, uc.c, ud.c), the nodes
 * (send.c), and the shortcut of small messages (shortcut.c). The verbs of queue pairs are in
 * object/qp.c and object/post.c; the queues themselves are in queue/.
 *
 * "Owner" means the thread that owns the queue pair's actor (engine/engine.h). Only the owner calls
 * the functions of this header, unless a comment says otherwise.
 */
#ifndef SOFT_QP_H
#define SOFT_QP_H

#include "hca/soft/client/rings.h"
#include "hca/soft/engine/engine.h"
#include "hca/soft/link/source.h"
#include "hca/soft/memory/mr.h"
#include "hca/soft/packet/packet.h"
#include "hca/soft/packet/wire.h"
#include "hca/soft/port/port.h"
#include "hca/soft/queue/cq.h"
#include "hca/soft/queue/recv.h"
#include "hca/soft/queue/send.h"
#include "hca/soft/shared/base.h"
#include "hca/soft/shared/lock.h"
#include "hca/soft/shared/opcode.h"

struct errand;
struct shared_qp;
struct stage;

#define NO_EVENT (-1) /* in place of an ib_event_type: an error raises no event */

/*
 * Responder resource: a read or atomic that the responder has executed, kept so that the answer can be repeated (IBTA
 * 9.7.5.1.2).
 */
struct resource {
	uint64_t va;                  /* RETH of the read: virtual address */
	uint64_t orig;                /* atomic: the original value, which the ACK returned */
	uint32_t rkey;                /* RETH of the read */
	uint32_t dma_len;             /* RETH of the read */
	uint32_t first_psn, last_psn; /* PSNs of the request and its responses */
	uint8_t kind;                 /* enum pkt_kind of the request; PKT_NONE: the resource is free */
};

/* The RDMA read whose responses the responder is sending. */
struct reading {
	uint64_t va;   /* virtual address of the next response's payload */
	uint32_t left; /* bytes that no response has carried yet */
	uint32_t num;  /* response packets not sent yet; 0: no read is in progress */
	uint32_t psn;  /* PSN of the next response */
	uint32_t rkey;
	uint32_t msn;  /* MSN of all responses */
	bool first;    /* the next response is the read's first packet */
	bool client;   /* the payload is in a client's memory */
};

/*
 * Requester: sends the elements of a send queue and takes the answers. Indices count elements as the send queue does
 * (queue/send.h). An element is started when it has its PSNs: the elements before fresh.
 */
struct requester {
	uint32_t next;          /* index of the element that the next packet belongs to */
	uint32_t fresh;         /* index of the first element that is not started */
	uint32_t acked;         /* index of the oldest started element that is not acknowledged */
	uint32_t halt_index;    /* halted: index of the element that can not be sent */
	uint32_t send_psn;      /* PSN of the next packet; a retry moves send_psn back to una */
	uint32_t next_psn;      /* first PSN that no element has */
	uint32_t una;           /* PSN of the oldest packet that is not acknowledged */
	uint8_t rd_atomic_out;  /* reads and atomics started and not answered */
	uint8_t retry_left;     /* retries left until IB_WC_RETRY_EXC_ERR */
	uint8_t rnr_left;       /* RNR retries left until IB_WC_RNR_RETRY_EXC_ERR */
	bool rnr_waiting;       /* the pause after an RNR NAK is not over; nothing is sent */
	bool halted;            /* halt_index is valid: no element from there on is sent */
	bool implied_retry;     /* an implied NAK has caused a retry since the last progress */
	bool progress;          /* since the ACK timer was started: an answer has come, or a retry has begun */
	uint8_t halt_status;    /* halted, reliable: ib_wc_status of the element at halt_index when its turn comes */
	uint32_t high_psn;      /* first PSN never sent; a packet before high_psn is a retransmission */
	uint32_t credit_limit;  /* number of the last message, from 1, that the peer has advertised a receive for */
	bool credit_known;      /* credit_limit is valid */
	bool copying;           /* a client's thread copies a response's payload; later responses wait */
	struct packet *nodes;   /* free nodes for requests */
};

/* Responder: executes the peer's requests and answers them. */
struct responder {
	uint32_t epsn;          /* expected PSN */
	uint32_t msn;           /* messages completed, the MSN of the next ACK */
	uint8_t kind;           /* enum pkt_kind of the message in progress; PKT_NONE: none */
	bool nak_sent;          /* a sequence or RNR NAK was sent, but the expected packet has not come yet */
	bool established;       /* a packet has come since Init (resp_note_arrival()) */
	uint8_t num_resources;  /* elements of resources */
	uint8_t next_resource;  /* index of the oldest resource, which the next read or atomic overwrites */
	bool copying;           /* a client's thread copies the payload of the request at the head of the backlog */
	bool client_memory;     /* the region that resp_may_access() checked last is a client's */
	bool source_gone;       /* the link could not copy a read response: the payload's memory was deregistered */
	struct packet *backlog, **backlog_tail; /* requests not executed yet, oldest first */
	struct reading reading;
	uint64_t va;            /* write in progress: virtual address, from the RETH */
	uint32_t rkey;          /* write in progress: from the RETH */
	uint32_t dma_len;       /* write in progress: from the RETH */
	uint64_t done;          /* bytes of the message in progress that have been executed */
	struct recv_wqe *recv;  /* receive that is taken and not completed (resp_take_recv()); NULL: none */
	struct resource *resources; /* ring of responder resources; NULL: num_resources is 0 */
	struct packet *nodes;   /* free nodes for responses */
};

/* The attributes of struct ib_qp_attr by which packets are made and checked. */
struct connection_attr {
	uint32_t qp_access_flags, qkey;
	uint8_t timeout, retry_cnt, rnr_retry, min_rnr_timer, max_rd_atomic;
	bool drained;           /* not an attribute: in SQD, and every started element has completed */
	bool global;            /* packets have a GRH */
};

/*
 * One end of a connection, or of a datagram service: the transport's state of the peer and of the packets between
 * both ends. The order of the members is that of cache lines (qp.c asserts it).
 */
struct connection {
	struct requester req;
	struct packet *node_mem;   /* one allocation that holds all nodes, the send ring and the receive ring */

	struct responder resp;
	struct stage *stage;       /* copies from and to clients' memory; NULL until the first copy */
	uint8_t static_rate, av_port; /* the address vector's members that struct address lacks */
	uint8_t path_mtu, max_dest_rd_atomic; /* as in struct ib_qp_attr */
	bool en_sqd_async_notify;

	struct source source;
	struct connection_attr attr;
	struct mcast_qp *mcast; /* the queue pair in multicast groups; NULL until the first attach.
				   Guarded by soft_qp.control */

	/* members that only control operations and slow paths read */
	struct address to;         /* the peer's address, from the address vector */
	struct timer timer;        /* ACK time-out, or RNR pause while req.rnr_waiting */
	struct mem_view own;       /* rights to the payload of requests; packets point here */
	struct mem_view lent;      /* rights to the payload of read responses; packets point here */
};

struct soft_qp {
	struct ci_qp ci;

	/* members that a post reads */
	_Atomic uint32_t state;   /* ib_qp_state, which only qp_set_state() writes, under both locks */
	bool atomics;             /* the HCA offers atomics */
	uint8_t special_port;     /* QP0, QP1: number of their port, of a switch 0; else 0 */
	bool blocks_own;          /* the queue pair gets no copy of its own multicast datagrams */
	struct send_queue sq;
	struct recv_queue rq;
	struct actor *actor;
	struct shared_qp *shared; /* rings of a client (client/rings.h); NULL: the queue pair has none */
	const struct service *service;
	struct fmutex control;    /* serializes control operations; taken before the actor is claimed */

	_Alignas(64) struct connection conn; /* for the owner of the actor only */

	struct traffic_link counted; /* membership in the traffic counters of conn.source.port */
	struct cq_link send_link, recv_link;
};

static inline struct soft_qp *soft_qp(struct ci_qp *qp)
{
	return (struct soft_qp *)qp;
}

/* The number of the queue pair's port; 0 before Init. */
uint8_t qp_port_num(const struct soft_qp *qp);

/* The state, as the owner reads it: only the owner changes the state. */
static inline ib_qp_state qp_state(const struct soft_qp *qp)
{
	return (ib_qp_state)atomic_load_explicit(&qp->state, memory_order_relaxed);
}

/*
 * The operations by which transport services differ. services[] has one per ib_qp_type; all zero: the type is not
 * offered.
 */
struct service {
	/* Takes over a request of the peer and executes the request. A long execution continues in resp_run(). */
	void (*request)(struct runner *r, struct soft_qp *qp, struct packet *pkt);
	/*
	 * Ends a request that resp_suspend() has suspended. The errand that copied the payload to a client's memory
	 * is done.
	 */
	void (*end_copy)(struct runner *r, struct soft_qp *qp, struct packet *pkt, enum copy_result result);
	uint8_t wire;  /* enum wire_service */
	bool reliable; /* requests are acknowledged and retried; an error ends the queue pair and never enters SQE */
};

extern const struct service services[IB_QPT_COUNT];

extern const struct actor_ops qp_actor_ops;
static inline struct soft_qp *actor_qp(const struct actor *a)
{
	return a->self;
}

/* ---------------------------------------------------------------- queue pair (qp.c) */

/* Resolves the path to the peer from port and address. Does nothing before the queue pair has a
 * port. */
void qp_find_path(struct soft_qp *qp);
/* Resolves the path again if LIDs have changed since. Only an owner may call. */
static inline void qp_follow_path(struct soft_qp *qp)
{
	/* acquire: pairs with the release in port_set_lids() */
	if (UNLIKELY(qp->conn.source.path.moves !=
		     atomic_load_explicit(&port_moves, memory_order_acquire)))
		qp_find_path(qp);
}

/* The first part of the owner's pass: takes over all packets of the list. */
void qp_receive(struct runner *r, struct soft_qp *qp, struct packet *list);
/* Changes the state, and tells the client's rings. Takes the locks of both queues. */
void qp_set_state(struct soft_qp *qp, ib_qp_state state);
/* Stops the transport: afterwards the queue pair answers nothing, retries nothing and has no timer. */
void qp_stop(struct runner *r, struct soft_qp *qp);
/*
 * Moves the queue pair to Error because of an error of its own, and raises the ib_event_type `event`, or no event if
 * NO_EVENT.
 */
void qp_error(struct runner *r, struct soft_qp *qp, int event);
/* Moves a queue pair of an unreliable type to SQE: a request has completed in error (IBTA 10.3.1.6). */
void qp_send_error(struct soft_qp *qp);
/* Raises an affiliated event. Any thread may call. */
void qp_event(struct soft_qp *qp, ib_event_type type);
/*
 * Last step of adding an element to a queue, whether a post or a client's ring adds it. The element holds the
 * request, and the requester's state in a send element is zero. The caller holds the queue's lock and need not be the
 * owner.
 */
void qp_accept_send(const struct soft_qp *qp, struct send_wqe *wqe);
void qp_accept_recv(const struct soft_qp *qp, const struct recv_wqe *wqe);
/*
 * The doorbell: runs the queue pair after sends were added. The caller is in a read section, as the
 * Access Layer's posts are, and is not an owner.
 */
void qp_sends_added(struct soft_qp *qp);
/* Completes the receive that resp_hold_recv() holds; the caller has set the completion's result. */
void qp_complete_recv(struct runner *r, struct soft_qp *qp, struct ib_wc *wc);

/*
 * Sends posted elements without packets, as long as both queue pairs are idle (shortcut.c). Returns
 * false if another thread owns the queue pair, or its service is unreliable: the caller kicks the
 * queue pair instead. The caller is in a read section, and is not an owner.
 */
bool qp_shortcut(struct runner *r, struct soft_qp *qp);

/* ---------------------------------------------------------------- requester (req.c) */

/* Returns the number of packets of an element's message. */
static inline uint32_t req_count_packets(const struct soft_qp *qp, const struct send_wqe *wqe)
{
	uint32_t mtu_mask = (1u << qp->conn.source.mtu_shift) - 1;

	return wqe->wr.length ? (wqe->wr.length + mtu_mask) >> qp->conn.source.mtu_shift : 1;
}

/*
 * Sends as many packets as states, nodes, credits and the link permit. Returns true if the runner's
 * budget ended the pass, or if a multicast datagram did, whose members are to run before the next
 * packet.
 */
bool req_run(struct runner *r, struct soft_qp *qp);
/* Handles the end of an ACK time-out or of an RNR pause. */
void req_time_out(struct runner *r, struct soft_qp *qp);
/* Fails an element whose payload's memory was deregistered before the packet's receiver copied the payload. */
void req_fail_source(struct soft_qp *qp, struct send_wqe *wqe);
/* Moves the requester back to the oldest packet that is not acknowledged. */
void req_rewind(struct soft_qp *qp);
/* Clears all state but the nodes. */
void req_reset(struct soft_qp *qp);

/* ---------------------------------------------------------------- responder of all services (resp.c) */

/* Adds a request to the end of the backlog, which owns the packet until resp_run() executes the request. */
void resp_enqueue(struct soft_qp *qp, struct packet *pkt);
/* Executes the backlog. Returns true if the runner's budget ended the pass. */
bool resp_run(struct runner *r, struct soft_qp *qp);
/* Reports whether resp_run() has work: a request in the backlog, or a read in progress. */
static inline bool resp_pending(const struct soft_qp *qp)
{
	return qp->conn.resp.backlog || qp->conn.resp.reading.num;
}
/*
 * Removes the packets that `what` matches from the backlog and from the waiting responses, and returns the
 * removed packets as a list.
 */
struct packet *resp_recall(struct soft_qp *qp, const struct recall *what);
/* Clears all state but the nodes and the size of the responder resources. */
void resp_reset(struct soft_qp *qp);

/*
 * Checks that a packet came from the peer, by the queue pair's own port, and that its P_Key matches (IBTA 9.6.1).
 * Counts a P_Key violation. Serves requests and answers of connections.
 */
bool resp_check_packet(struct soft_qp *qp, const struct packet *pkt);
/* True: the peer of a connection sends packets with the source address of the route. */
bool resp_is_from_peer(const struct soft_qp *qp, const struct route *route);
/*
 * Checks that packet and queue pair belong to one partition, one of both as a full member (IBTA 10.9.3). Counts a
 * violation.
 */
bool resp_check_pkey(struct soft_qp *qp, const struct packet *pkt);
/* Raises Communication Established for the first packet since Init, if the state is RTR. */
void resp_note_arrival(struct soft_qp *qp);
/*
 * Checks that the queue pair permits the access, and that the packet's rkey permits the access for `length` bytes at
 * the packet's address. Sets resp.client_memory if length is not 0.
 */
bool resp_may_access(struct soft_qp *qp, const struct packet *pkt, uint32_t access, uint32_t length);
/* Copies a train's payload to the receive or the memory that the message in progress goes to. */
enum copy_result resp_copy_payload(struct runner *r, struct soft_qp *qp, const struct packet *pkt);
/*
 * Suspends a request while a client's thread copies its payload: the request returns to the head of the backlog, and
 * the sender's ACK timer stops. resp_run() resumes the request when the copy is done. The caller may then set
 * stage.lacks_receive.
 */
void resp_suspend(struct soft_qp *qp, struct packet *pkt);
/* Ends a request's hold on its sender's ACK timer. */
void resp_resume_timer(const struct packet *pkt);
/* Ends a SEND or write whose last packet has been executed, and completes its receive, if the message has one. */
void resp_finish_message(struct runner *r, struct soft_qp *qp, const struct packet *pkt);
/* Traces that the responder drops a packet, and why. The caller counts the drop. */
static inline void resp_trace_drop(const struct soft_qp *qp, const struct packet *pkt,
				   const char *why)
{
	IB_TRACE("soft", "dropped: qp=%#x psn=%#x: %s", qp->ci.qp_num, pkt->psn, why);
}
/* Completes the receive in progress in error. The caller then moves the queue pair to Error. */
void resp_fail_recv(struct runner *r, struct soft_qp *qp, ib_wc_status status);
/*
 * Ends an unreliable queue pair for an error of its oldest receive, which fails. Releases the packet; raises no event
 * (uc.c).
 */
void resp_end_qp(struct runner *r, struct soft_qp *qp, struct packet *pkt, ib_wc_status status);

/* Operations of struct service. */
void rc_request(struct runner *r, struct soft_qp *qp, struct packet *pkt);
void rc_end_copy(struct runner *r, struct soft_qp *qp, struct packet *pkt, enum copy_result result);
/* Sends the remaining responses of the read in progress. False: the read has to wait, or has ended
 * in an error. */
bool rc_continue_reading(struct runner *r, struct soft_qp *qp);
void uc_request(struct runner *r, struct soft_qp *qp, struct packet *pkt);
void uc_end_copy(struct runner *r, struct soft_qp *qp, struct packet *pkt, enum copy_result result);
void ud_request(struct runner *r, struct soft_qp *qp, struct packet *pkt);
void ud_end_copy(struct runner *r, struct soft_qp *qp, struct packet *pkt, enum copy_result result);

/*
 * Returns the receive of the message in progress, or takes the oldest receive for the next message. The receive is
 * held until qp_complete_recv(). NULL: no receive is posted.
 */
static inline struct recv_wqe *resp_hold_recv(struct soft_qp *qp)
{
	struct responder *resp = &qp->conn.resp;

	if (!resp->recv)
		resp->recv = rq_take(&qp->rq);
	return resp->recv;
}

/* Does what resp_hold_recv() does; if no receive is posted, fetches receives from the client's ring first. */
static inline struct recv_wqe *resp_take_recv(struct soft_qp *qp)
{
	struct recv_wqe *wqe = resp_hold_recv(qp);

	if (UNLIKELY(!wqe && qp->shared) && ring_fill(qp, RING_FILL))
		wqe = resp_hold_recv(qp);
	return wqe;
}

static inline bool is_send(uint8_t kind)
{
	return kind == PKT_SEND || kind == PKT_SEND_IMM;
}

/* Reports whether the message of a packet consumes a receive. */
static inline bool takes_recv(const struct packet *pkt)
{
	return is_send(pkt->kind) || pkt->kind == PKT_WRITE_IMM;
}

/* ---------------------------------------------------------------- datagrams (ud.c) */

/*
 * Copies the path of the request's address handle, as the handle is at the time of the post. Checks the handle, its
 * protection domain and port, and the remote queue pair number. The caller holds the send queue's lock and need not
 * be the owner.
 */
al_status ud_find_path(const struct soft_qp *qp, const struct ib_send_wr *wr, struct ib_flat_path *path);
/* Sets route, destination and Q_Key of a datagram from its element. */
void ud_address_packet(const struct soft_qp *qp, const struct send_wqe *wqe, struct packet *pkt);
static inline bool is_ud(const struct soft_qp *qp)
{
	return qp->service->wire == WIRE_UD;
}

/* QP0 and QP1 */
static inline bool is_special(const struct soft_qp *qp)
{
	return qp->ci.qp_type == IB_QPT_SMI || qp->ci.qp_type == IB_QPT_GSI;
}

/* ---------------------------------------------------------------- nodes and packets (send.c) */

/*
 * Returns a node of this queue pair to its free nodes. The node's element, if any, has one packet less away from
 * home.
 */
void pkt_take_home(struct soft_qp *qp, struct packet *pkt);
/*
 * Sends home a packet that `self` no longer needs: to the free nodes, to the home queue pair's inbox, or to the pool.
 */
void pkt_release(struct runner *r, struct soft_qp *self, struct packet *pkt);
void pkt_release_all(struct runner *r, struct soft_qp *self, struct packet *list);
/*
 * Sends a packet out of the port. The packet belongs to the link afterwards, or has been released if the port lost
 * the packet.
 */
void pkt_send(struct runner *r, struct soft_qp *qp, struct packet *pkt, enum flow_index flow);
/* Counts a train that the queue pair has accepted as received traffic. */
void pkt_count_received(struct soft_qp *qp, const struct packet *pkt);
/*
 * Sets num and place of a packet: how many of the `left` packets of a message form one train now, from pkt->psn on.
 * Returns num. The caller has set pkt->psn and pkt->kind. first: the train begins the message.
 */
uint32_t pkt_set_train(const struct soft_qp *qp, struct packet *pkt, enum flow_index flow, bool first, uint32_t left);

/* ---------------------------------------------------------------- completer (comp.c) */

/* Handles a response. The caller keeps the packet and releases the packet afterwards. */
void comp_take_response(struct runner *r, struct soft_qp *qp, struct packet *pkt);
/*
 * Takes over a response that came while a client's thread copies an earlier response: the response waits in
 * stage.waiting.
 */
void comp_suspend(struct soft_qp *qp, struct packet *pkt);
/* Ends the copy of a response if the client's thread is done, then handles the waiting responses. */
void comp_resume(struct runner *r, struct soft_qp *qp);
/* Completes, in order, the elements that are acknowledged and whose packets are at home. */
void comp_retire(struct runner *r, struct soft_qp *qp);
/* SQE: fails every element of the send queue, and completes the elements whose packets are at home. */
void comp_flush_sends(struct runner *r, struct soft_qp *qp);
/*
 * Error: completes the elements of the send queue, the open ones in error. Returns false if some packets are not at
 * home yet.
 */
bool comp_flush(struct runner *r, struct soft_qp *qp);
/* Fails the oldest element that is not acknowledged, and moves the queue pair to Error. */
void comp_fail(struct runner *r, struct soft_qp *qp, ib_wc_status status);

/*
 * Returns the bytes on the wire, headers included, of num consecutive packets of a connection with `length` bytes of
 * payload.
 */
static inline uint64_t wire_bytes(const struct soft_qp *qp, uint8_t kind, uint8_t place,
				  uint32_t num, uint32_t length)
{
	const uint8_t *opcode = rc_opcode[kind]; /* UC packets have the headers of RC packets */
	uint64_t each = LRH_BYTES + BTH_BYTES + CRC_BYTES + (qp->conn.attr.global ? GRH_BYTES : 0);
	uint32_t ext;

	/* only a message's first and last packet have extended headers, only its last a pad */
	if (num == 1)
		ext = wire_ops[opcode[place]].ext_bytes;
	else
		ext = wire_ops[opcode[place & PLACE_FIRST]].ext_bytes +
		      wire_ops[opcode[place & PLACE_LAST]].ext_bytes;
	return num * each + ext + ((length + 3ull) & ~3ull);
}

/* ---------------------------------------------------------------- recall of packets (send.c) */

/*
 * Recalls the queue pair's packets from the peer's actor: afterwards every node that the peer has not looked at has
 * been sent home. The caller is a control operation that does not own the actor. May sleep.
 */
void qp_purge(struct soft_qp *qp);
/* Recalls a connection's packets that were sent from a port: the port that the connection has, or
 * had before a modify. NULL: none. */
void qp_purge_at(struct soft_qp *qp, const struct soft_port *port);

#endif
