/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Queue pairs (qp.c), and the parts of their transport: requester (req.c), completer (comp.c), responder (resp.c, uc.c,
 * ud.c), and the short way of small messages (shortcut.c).
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

/* A read or atomic that was answered, for the case that it is asked again: a responder resource. */
struct resource {
	uint64_t va;
	uint64_t orig; /* atomic: the answer */
	uint32_t rkey;
	uint32_t dma_len;
	uint32_t first_psn, last_psn;
	uint8_t kind; /* enum pkt_kind; PKT_NONE: empty */
};

/* A read on which responses are being sent. */
struct reading {
	uint64_t va;     /* of what is next */
	uint32_t left;   /* bytes */
	uint32_t num;    /* packets left; 0: no read */
	uint32_t psn;    /* next */
	uint32_t rkey;
	uint32_t msn;
	bool first;      /* next is the message's first packet */
	bool client;     /* it is of a client's memory */
};

/* Sends the elements of a send queue, and takes the answers to them. */
struct requester {
	uint32_t next;      /* index of the element to send from */
	uint32_t fresh;     /* first element that has not been started */
	uint32_t acked;     /* first started element that has not been answered */
	uint32_t bad;       /* halted: index of the element that can not be sent */
	uint32_t send_psn;  /* of the next packet; goes back on a retry */
	uint32_t next_psn;  /* first that no element has */
	uint32_t una;       /* oldest not answered */
	uint8_t rd_out;     /* reads and atomics started and not answered */
	uint8_t retry_left;
	uint8_t rnr_left;
	bool waiting;       /* for the RNR timer */
	bool halted;
	bool rewound;       /* gone back for an implied NAK: once, until something is answered */
	bool progress;      /* something was answered, or sent again, since the timer was started */
	uint8_t bad_status; /* halted: ib_wc_status of it, in its turn */
	uint32_t high_psn;  /* first never sent: what is before it is sent again */
	uint32_t limit;     /* number of the last message, from 1, for which a receive is known to be there */
	bool limited;       /* limit is known */
	bool copying;       /* a response's payload is on its way to a client: later ones wait */
	struct packet *nodes;
};

/* Executes the peer's requests, and answers them. */
struct responder {
	uint32_t epsn;      /* expected */
	uint32_t msn;
	uint8_t kind;       /* message in progress; PKT_NONE: none */
	bool nak_sent;      /* keep quiet until the expected packet comes */
	bool established;   /* the event has been raised */
	uint8_t num_resources;
	uint8_t next_resource;
	bool copying;       /* the payload of the request at the head of the backlog is on its way to a client */
	bool client;        /* what resp_may_access() has seen last is a client's */
	bool gone;          /* the memory of a read response was gone when the link copied the response */
	struct packet *backlog, **backlog_tail; /* requests not yet looked at */
	struct reading reading;
	uint64_t va;        /* write in progress */
	uint32_t rkey;
	uint32_t dma_len;
	uint64_t done;      /* bytes of the message received */
	struct recv_wqe *recv; /* receive that is taken and not completed (resp_take_recv()); NULL: none */
	struct resource *resources;
	struct packet *nodes;
};

/* The attributes of struct ib_qp_attr that packets are made and judged by. */
struct connection_attr {
	uint32_t qp_access_flags, qkey;
	uint16_t pkey_index;
	uint8_t timeout, retry_cnt, rnr_retry, min_rnr_timer, max_rd_atomic;
	bool drained;       /* no attribute: SQD, and everything that was started is done */
};

/*
 * One end of a connection, or of a datagram service: what the transport knows of the peer and of the packets between them. The
 * order of the members is that of cache lines (qp.c asserts it).
 */
struct connection {
	struct requester req;
	struct packet *node_mem;   /* one allocation: all nodes, send ring, receive ring */

	struct responder resp;
	struct stage *stage;       /* moves of payload from and to clients; NULL: there was none yet */
	uint8_t static_rate, av_port; /* with `to` the address vector */
	uint8_t path_mtu, max_dest_rd_atomic; /* as in struct ib_qp_attr */
	bool en_sqd_async_notify;

	struct source source;
	struct connection_attr attr;

	/* what only control operations and slow ways look at */
	struct address to;         /* where packets go */
	struct timer timer;        /* one for time-outs and RNR pauses */
	struct mem_view own, lent; /* what requests send, and what the peer may read: packets refer to these */
};

struct soft_qp {
	struct ci_qp ci;

	/* what a post needs */
	_Atomic uint32_t state;   /* ib_qp_state; owner's to write, to and from Reset under both queues' locks too */
	bool atomics;             /* the HCA has some */
	struct send_queue sq;
	struct recv_queue rq;
	struct actor *actor;
	struct shared_qp *shared; /* rings of a client's; NULL: none */
	const struct service *service;
	struct fmutex control;    /* one control operation at a time */

	_Alignas(64) struct connection conn; /* the owner's */

	struct traffic_link counted; /* at conn.source.port */
	struct cq_link send_link, recv_link;
};

static inline struct soft_qp *soft_qp(struct ci_qp *qp)
{
	return (struct soft_qp *)qp;
}

/* 0: it has no port yet. */
uint8_t qp_port_num(const struct soft_qp *qp);

/* Owner's view of his own state. */
static inline ib_qp_state qp_state(const struct soft_qp *qp)
{
	return (ib_qp_state)atomic_load_explicit(&qp->state, memory_order_relaxed);
}

/* What transport services do differently; by ib_qp_type, all zero: not offered. */
struct service {
	/* Takes a request of the peer's: all of it is done, or will be by resp_run(). */
	void (*request)(struct runner *r, struct soft_qp *qp, struct packet *pkt);
	/* The rest of that, when its payload had to be copied to a client: an errand, which is done. */
	void (*taken)(struct runner *r, struct soft_qp *qp, struct packet *pkt, enum copy_result result);
	uint8_t wire;  /* enum wire_service */
	bool reliable; /* requests are answered, and repeated if not; no SQE: an error ends the queue pair */
};

extern const struct service services[IB_QPT_COUNT];

extern const struct actor_ops qp_actor_ops;
static inline struct soft_qp *actor_qp(const struct actor *a)
{
	return a->self;
}
/* Its first part: what has come in. */
void qp_receive(struct runner *r, struct soft_qp *qp, struct packet *list);
/* The owner's. */
void qp_set_state(struct soft_qp *qp, ib_qp_state state);
/* Nothing more is answered, sent again or waited for. */
void qp_stop(struct runner *r, struct soft_qp *qp);
/* To the Error state, by an error of the queue pair's own; event: what to raise, or -1. */
void qp_error(struct runner *r, struct soft_qp *qp, int event);
/* An unreliable type's request has completed in error: the send queue stops (IBTA 10.3.1.6). */
void qp_send_error(struct soft_qp *qp);
void qp_event(struct soft_qp *qp, ib_event_type type);
/* The last step of each way into a queue: the element holds the request, and the state of a send element is zero. Under the queue's
 * lock. */
void qp_accept_send(const struct soft_qp *qp, struct send_wqe *wqe);
void qp_accept_recv(const struct soft_qp *qp, const struct recv_wqe *wqe);
/* The doorbell: sends have been added, or there is something to flush. */
void qp_sends_added(struct soft_qp *qp);
/* Completes the receive that is held. */
void qp_complete_recv(struct runner *r, struct soft_qp *qp, struct ib_wc *wc);

/* shortcut.c: sends what has been posted, as far as that goes without packets. False: it is not idle. */
bool qp_shortcut(struct runner *r, struct soft_qp *qp);

/* Packets of a message. */
static inline uint32_t req_packets(const struct soft_qp *qp, const struct send_wqe *wqe)
{
	uint32_t mtu_mask = (1u << qp->conn.source.mtu_shift) - 1;

	return wqe->wr.length ? (wqe->wr.length + mtu_mask) >> qp->conn.source.mtu_shift : 1;
}

/* requester: sends what may be sent; true: the budget is spent */
bool req_run(struct runner *r, struct soft_qp *qp);
void req_timer(struct runner *r, struct soft_qp *qp);
/* the element's memory was not there when it was to be read */
void req_bad_source(struct soft_qp *qp, struct send_wqe *wqe);
/* goes back to the oldest packet not answered */
void req_rewind(struct soft_qp *qp);
void req_reset(struct soft_qp *qp);

/* responder */
void resp_queue(struct soft_qp *qp, struct packet *pkt);
bool resp_run(struct runner *r, struct soft_qp *qp);
static inline bool resp_pending(const struct soft_qp *qp)
{
	return qp->conn.resp.backlog || qp->conn.resp.reading.num;
}
/* Gives back what of another queue pair has not been looked at. */
struct packet *resp_recall(struct soft_qp *qp, const struct recall *what);
void resp_reset(struct soft_qp *qp);

/* responder: what reliable and unreliable connections share */
/* Is it from the peer, and of the partition? If not, that is counted. */
bool resp_acceptable(struct soft_qp *qp, const struct packet *pkt);
/* The first packet since Init has come. */
void resp_arrived(struct soft_qp *qp);
/* Does the queue pair permit the access, and the memory that the request names? */
bool resp_may_access(struct soft_qp *qp, const struct packet *pkt, uint32_t access, uint32_t length);
/* Moves a train's payload to where the message in progress goes. */
enum copy_result resp_payload(struct runner *r, struct soft_qp *qp, const struct packet *pkt);
/* Comes again when it is back; short_receive: its last packet lacks a receive. */
void resp_wait(struct soft_qp *qp, struct packet *pkt, bool short_receive);
/* It need not any more. */
void resp_unhold(const struct packet *pkt);
/* The message is whole. */
void resp_finish(struct runner *r, struct soft_qp *qp, const struct packet *pkt);
/* The receive in progress fails, before the queue pair does. */
void resp_fail_recv(struct runner *r, struct soft_qp *qp, ib_wc_status status);
void rc_request(struct runner *r, struct soft_qp *qp, struct packet *pkt);
void rc_taken(struct runner *r, struct soft_qp *qp, struct packet *pkt, enum copy_result result);
void uc_request(struct runner *r, struct soft_qp *qp, struct packet *pkt);
void uc_taken(struct runner *r, struct soft_qp *qp, struct packet *pkt, enum copy_result result);
/* An error of the receive queue's own: the oldest receive fails, the packet goes home, the queue pair ends. Nobody is
 * told (UC, UD). */
void resp_end(struct runner *r, struct soft_qp *qp, struct packet *pkt, ib_wc_status status);
/* Are the packet and the queue pair of one partition, and one of them a full member? (IBTA 10.9.3) */
bool resp_pkey_matches(struct soft_qp *qp, const struct packet *pkt);

/* datagrams */
/* The path of a request: of its address handle, at the time of the post. */
al_status ud_path(const struct soft_qp *qp, const struct ib_send_wr *wr, struct ib_flat_path *path);
/* Addresses a packet. */
void ud_build(const struct soft_qp *qp, const struct send_wqe *wqe, struct packet *pkt);
void ud_request(struct runner *r, struct soft_qp *qp, struct packet *pkt);
void ud_taken(struct runner *r, struct soft_qp *qp, struct packet *pkt, enum copy_result result);
static inline bool is_ud(const struct soft_qp *qp)
{
	return qp->service->wire == WIRE_UD;
}

/* The receive of the message in progress, or of the next one: taken once, and held until qp_complete_recv(). NULL: none is posted. */
static inline struct recv_wqe *resp_hold_recv(struct soft_qp *qp)
{
	struct responder *resp = &qp->conn.resp;

	if (!resp->recv)
		resp->recv = rq_take(&qp->rq);
	return resp->recv;
}

/* As resp_hold_recv(), and fetches receives from a client's ring when none is posted here. */
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

static inline bool takes_recv(const struct packet *pkt)
{
	return is_send(pkt->kind) || pkt->kind == PKT_WRITE_IMM;
}

/* send.c: nodes, and sending over a port */
void pkt_home(struct soft_qp *qp, struct packet *pkt);
/* The packet is consumed: home it goes, by the inbox if it is another's. */
void pkt_release(struct runner *r, struct soft_qp *self, struct packet *pkt);
void pkt_release_all(struct runner *r, struct soft_qp *self, struct packet *list);
void pkt_send(struct runner *r, struct soft_qp *qp, struct packet *pkt, enum flow_index flow);
void pkt_received(struct soft_qp *qp, const struct packet *pkt);
/*
 * How many of the packets that are left of a message go as one train now, from pkt->psn on; sets the packet's num and place.
 * pkt->kind is set. first: the next is the message's first.
 */
uint32_t pkt_train(const struct soft_qp *qp, struct packet *pkt, enum flow_index flow, bool first, uint32_t left);

/* completer */
void comp_response(struct runner *r, struct soft_qp *qp, struct packet *pkt);
/* One that has come while another's payload is being copied to a client: it waits. */
void comp_wait(struct soft_qp *qp, struct packet *pkt);
/* Goes on, if that is done. */
void comp_resume(struct runner *r, struct soft_qp *qp);
/* completes the elements that are answered and whose packets are at home */
void comp_retire(struct runner *r, struct soft_qp *qp);
/* SQE: completes all that is in the send queue, in error, as it comes home */
void comp_flush_sends(struct runner *r, struct soft_qp *qp);
/* completes everything, in error; false: some packets are not yet at home */
bool comp_flush(struct runner *r, struct soft_qp *qp);
/* the oldest element that is not answered fails */
void comp_fail(struct runner *r, struct soft_qp *qp, ib_wc_status status);

/* Bytes on the link of num packets in a row of a connection, headers and all. */
static inline uint64_t wire_bytes(const struct soft_qp *qp, uint8_t kind, uint8_t place,
				  uint32_t num, uint32_t length)
{
	const uint8_t *opcode = rc_opcode[kind]; /* those of UC have the same headers */
	uint64_t each = LRH_BYTES + BTH_BYTES + CRC_BYTES + (qp->conn.source.global ? GRH_BYTES : 0);
	uint32_t ext;

	/* only a message's first and last packet have extended headers, only its last a pad */
	if (num == 1)
		ext = wire_ops[opcode[place]].ext_bytes;
	else
		ext = wire_ops[opcode[place & PLACE_FIRST]].ext_bytes +
		      wire_ops[opcode[place & PLACE_LAST]].ext_bytes;
	return num * each + ext + ((length + 3ull) & ~3ull);
}

/* Fetches home what is on its way to the peer, and takes back what he has not looked at. May sleep. */
void qp_purge(struct soft_qp *qp);
/* The same of a connection, where its path led. */
void qp_purge_at(struct soft_qp *qp, const struct path *path);

#endif
