/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The software HCA's structures, and what its files offer each other.
 *
 * HOW IT WORKS
 *
 * A queue pair is an actor: it has an inbox, and whoever owns it (its one runner) executes its transport, so that
 * transport state needs no lock. The actor, a line of 64 bytes in a table, is all of a queue pair that others ever
 * touch; actors are never freed while the HCA is there, so that a packet to a queue pair that is just being destroyed
 * finds its inbox dead, and not freed memory.
 *
 * The inbox is one word: idle (nobody owns the actor), dead, or owned, and then perhaps a list of packets or a mere
 * kick. Who makes an idle one owned owns the actor; who finds it owned leaves his packet or kick and goes, since the
 * owner looks again before he lets go. An owner has the actor in his hands, on the list of his struct runner, or on the
 * HCA's run queue, where budgets leave it: from there poll_cq or the engine thread takes it. Control operations claim
 * an actor (actor_claim()): they wait for its owner to let go, or take it off the run queue; never do they wait for
 * progress that only their own caller could make. Nobody claims an actor while owning another.
 *
 * A post writes a work queue element, kicks its queue pair and, if that was idle, runs it: the requester makes packets
 * out of elements, each goes to the peer's inbox, which the same runner then runs (responder), and the answer comes
 * back the same way (completer). So on an idle machine a post has done all when it returns. What a runner does is
 * limited by a budget in packets and bytes. A message between idle queue pairs, about which packets and answer would
 * bring nothing new, is done without them (shortcut.c).
 *
 * With progress = manual runners have no budget at all: whatever is made runnable stays on the run queues, there is no
 * engine thread, and each SOFT_STEP is one pass of one queue pair, or a jump of the clock to the next timer (manual.c).
 *
 * A packet stands for a train: consecutive packets of one message. PSNs, counters and faults see each of them, memcpy
 * sees the train. On the loop link it holds no payload but refers to it: a request to the element and its sender's
 * memory keys, a response to the responder's. The keys are resolved and checked where the bytes are copied, once, from
 * the one's memory to the other's; a region is deregistered when no copy that uses it is on its way.
 *
 * Packets are nodes that belong to a queue pair (or to the fault engine, with a copy of the payload) and always go
 * home: to their owner's inbox. An answer to a request rides home on the request's own node. A send queue element whose
 * packets are not all at home is not completed. Reset, Error and destroy fetch them home (qp_purge()).
 *
 * LOCK ORDER
 *
 * soft_qp.control, then ownership of an actor, then soft_qp.sq_lock, rq_lock, soft_cq.lock, then soft_hca.run_lock,
 * faults.lock, timers.lock, table.lock, soft_hca.qps_lock, that of captures. Upcalls are made with none of these.
 */
#ifndef SOFT_SOFT_H
#define SOFT_SOFT_H

#include <iba/ib_hca.h>
#include <pthread.h>
#include <stdatomic.h>

#include "capture.h"
#include "config.h"
#include "lock.h"
#include "opcode.h"
#include "soft_vendor.h"
#include "table.h"
#include "wire.h"

#define SOFT_VERSION "0.1.0"
#define SOFT_TRAIN_BYTES (256u << 10) /* payload of one train, at most, unless one packet is more */
#define SOFT_REQUEST_NODES 4          /* trains of requests that a queue pair may have on their way */
#define SOFT_RESPONSE_NODES 2         /* and of responses, beside those that ride home */
/* A message of so many bytes, at the smallest MTU, beyond the window: still less than half of the PSNs (IBTA 9.7.2). */
#define SOFT_MAX_MSG (1u << 30)
#define SOFT_PSN_WINDOW (1 << 21) /* packets not answered beyond which no element is started */

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

static inline uint32_t psn_add(uint32_t psn, uint32_t n)
{
	return (psn + n) & IB_PSN_MASK;
}

/* How far a is after b, on the circle of 24 bits. */
static inline int32_t psn_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

struct soft_qp;
struct soft_hca;
struct soft_port;
struct runner;

/* ---------------------------------------------------------------- packets */

/* What the link layer makes of a packet's way; in it only while somebody looks at the wire. */
struct pkt_path {
	uint16_t dlid;
	uint8_t src_path_bits, sl;
	uint8_t mtu_shift;
	uint8_t tclass, hop_limit;
	bool global;
	uint32_t flow_label;
};

/* Where a datagram goes: what its headers say of that, beyond the queue pair's number. */
struct datagram {
	ib_gid dgid;         /* global: GRH */
	uint32_t class_flow; /* the same: traffic class and flow label, as they lie there */
	uint32_t qkey;       /* DETH */
	uint16_t dlid;
	uint8_t src_path_bits;
	uint8_t sl;
	uint8_t sgid_index;
	uint8_t hop_limit;
	bool global;
};

struct packet {
	struct packet *next;
	struct soft_qp *owner;      /* whose node; NULL: the fault engine's */
	struct soft_port *src_port; /* who sent it */
	uint32_t src_qpn;
	uint32_t dest_qpn;
	uint32_t psn;    /* of the first packet */
	uint32_t num;    /* packets of the train */
	uint8_t kind;    /* enum pkt_kind */
	uint8_t place;   /* enum pkt_place: has the message's first packet, its last */
	uint8_t flags;   /* enum pkt_flags */
	uint8_t syndrome; /* AETH */
	uint16_t pkey;
	uint8_t service; /* enum wire_service */
	uint32_t ex;     /* immediate data; AETH: MSN */
	uint32_t length; /* payload of the train */
	uint64_t offset; /* of it in the message */
	union {
		struct {
			uint64_t va;      /* RETH: the message's target; read response: source of this payload */
			uint32_t rkey;
			uint32_t dma_len; /* RETH */
			union {
				struct {
					uint64_t compare_add, swap; /* AtomicETH; the answer's original value in the first */
				};
				const struct ci_pd *pd; /* read response: whose key it is */
			};
		};
		struct datagram dg; /* WIRE_UD */
	};
	char *data;      /* PKT_BY_VALUE: the payload */
	struct send_wqe *wqe; /* request: the element it refers to */
	struct pkt_path path; /* with PKT_PATH */
};

enum pkt_flags {
	PKT_ACK_REQ = 1 << 0,
	PKT_SOLICITED = 1 << 1,
	PKT_BY_VALUE = 1 << 2, /* data holds the payload */
	PKT_BAD_SOURCE = 1 << 3, /* comes home so: its memory was gone when it was to be copied */
	PKT_PATH = 1 << 4, /* path is filled in */
};

/* ------------------------------------------------------------------ actor */

enum inbox {
	INBOX_DEAD = 0, /* there is no queue pair: what zeroed memory says */
	INBOX_IDLE = 1, /* nobody owns the actor */
	INBOX_BUSY = 2, /* owned, nothing in */
	INBOX_KICK = 3, /* owned, something other than a packet happened */
	/* else a struct packet: owned, the newest packet first */
};

/* What happened beside packets: bits of actor.signals. */
enum actor_signal {
	SIGNAL_TIMER = 1 << 0,    /* the timer has run out */
	SIGNAL_CQ_ERROR = 1 << 1, /* a completion queue has overflowed */
};

struct actor {
	_Alignas(64) _Atomic uintptr_t inbox;
	struct soft_qp *qp;         /* owner's */
	struct soft_hca *hca;
	struct actor *run_next;     /* owner's, or run_lock's */
	_Atomic uint32_t signals;   /* enum actor_signal */
	_Atomic uint32_t claimers;  /* control operations that wait for it */
	_Atomic uint32_t parked;    /* let go of in favour of a claimer */
	bool queued;                /* on the run queue; guarded by run_lock */
};

/* One thread's work at hand: actors that it owns, and how much it may still do. */
struct runner {
	struct actor *head, **tail;
	int32_t packets; /* trains */
	int64_t bytes;
};

void runner_start(struct runner *r);
/* The actor is owned: it will be run. */
void runner_add(struct runner *r, struct actor *a);
/* Runs all, as far as the budget goes; leaves the rest on run queues. */
void runner_run(struct runner *r);

static inline bool runner_spent(const struct runner *r)
{
	return r->packets <= 0 || r->bytes <= 0;
}

/* Puts a packet into the inbox; false: it is dead. */
bool actor_push(struct runner *r, struct actor *a, struct packet *pkt);
/* Makes it look at its queues and signals. */
void actor_kick(struct runner *r, struct actor *a);
void actor_signal(struct runner *r, struct actor *a, uint32_t signals);
/* Owns the actor if it is idle. */
bool actor_try_own(struct actor *a);
/* The end of an owner's turn; more: there is still something to do. What has come in meanwhile is seen to. */
void actor_let_go(struct runner *r, struct actor *a, bool more);
/* Waits until the caller owns the actor. False: it is dead. May sleep. */
bool actor_claim(struct actor *a);
/* Takes all packets out of the inbox, oldest first. The caller owns the actor. */
struct packet *actor_take(struct actor *a);
/* Ends the actor's life. The caller owns it. False: something has come in, take it first. */
bool actor_kill(struct actor *a);

/* Does some of what is on the HCA's run queue. Context: any. */
void engine_progress(struct soft_hca *hca);
/* A thread of the library's kind: named, with all signals blocked. Returns what pthread_create() does. */
int thread_start(pthread_t *thread, const char *name, void *(*fn)(void *), void *arg);
al_status engine_start(struct soft_hca *hca);
void engine_stop(struct soft_hca *hca);
/* Makes a sleeping engine look at its run queue and timers. */
void engine_wake(struct soft_hca *hca);
/* One pass, of one train at most, of the queue pair at this place of the run queue; false: there is none. */
bool engine_step(struct soft_hca *hca, uint32_t index);
/* nothing: runners leave everything on run queues from now on. */
void engine_budget(bool nothing);

/* ------------------------------------------------- manual progress (manual.c) */

/* On: the clock stands at 0, and nothing moves but by manual_step(). */
void manual_start(bool on);
/* False: time is the machine's. */
bool manual_clock(uint64_t *now);
/* SOFT_STEP. choice NULL: HCAs take turns, and each one's queue pairs. */
al_status manual_step(struct soft_hca *hcas, uint32_t count, const uint64_t *choice,
		      struct soft_step *step);

/* ------------------------------------------------------------------ timer */

/*
 * One per queue pair, in a hierarchical wheel per HCA. It is set only when it is not running, never per packet; what
 * has happened since is looked at when it runs out.
 */
struct timer {
	struct timer *next, **pprev; /* guarded by timers.lock; pprev NULL: not running */
	uint64_t tick;               /* when; guarded by timers.lock */
	struct actor *actor;         /* whom it signals; NULL: the fault engine's */
	_Atomic bool running;
};

#define WHEEL_BITS 6
#define WHEEL_LEVELS 8
#define TICK_SHIFT 12 /* ns */

struct timers {
	struct fmutex lock;
	uint64_t now; /* tick up to which all have been expired */
	uint64_t filled[WHEEL_LEVELS]; /* slots that hold any */
	struct timer *slot[WHEEL_LEVELS][1 << WHEEL_BITS];
};

uint64_t clock_ns(void);
void timers_init(struct timers *w);
/* (Re)starts a timer; the engine is woken if it would sleep too long. */
void timer_start(struct soft_hca *hca, struct timer *t, uint64_t delay_ns);
void timer_stop(struct soft_hca *hca, struct timer *t);
/* When the next one may be due, in ns; UINT64_MAX: never. */
uint64_t timers_next(struct soft_hca *hca);
/* Signals those that are due; false: there was none. */
bool timers_expire(struct soft_hca *hca, struct runner *r);

/* ----------------------------------------------------------------- memory */

#define MR_LIVE 0x80000000u

/* What a memory key names: an element of the HCA's table of keys. */
struct mr_slot {
	_Alignas(64) _Atomic uint32_t users; /* copies on their way, and MR_LIVE: there is a region */
	uint32_t key;
	const struct ci_pd *pd;
	char *addr;
	uint64_t iova;
	uint64_t length;
	uint32_t access; /* enum ib_access */
};

struct soft_mr {
	struct ci_mr ci;
	struct mr_slot *slot;
	uint32_t number;
};

/* Whose memory, and what is to be done to it. */
struct mem_view {
	const struct soft_hca *hca;
	const struct ci_pd *pd;
	uint32_t access; /* enum ib_access needed; 0: local read */
};

/* The memory under a key, held until mr_put(); NULL: no such key, or not permitted. */
struct mr_slot *mr_get(const struct mem_view *view, uint32_t key, uint64_t addr, uint64_t length,
		       char **mem);
void mr_put(struct mr_slot *slot);

/* A place in a list of pieces of memory, or in plain memory. */
struct cursor {
	struct mem_view view;
	const struct ib_sge *sge; /* the pieces not yet entered; num of them */
	uint32_t num;
	struct mr_slot *slot;     /* of the present piece, or NULL */
	char *mem;                /* the present piece */
	uint64_t room;            /* bytes left of it */
};

/* skip: bytes of the list to pass over. False: a key is wrong. */
bool cursor_sges(struct cursor *c, const struct mem_view *view, const struct ib_sge *sge,
		 uint32_t num, uint64_t skip);
/* One piece. */
bool cursor_range(struct cursor *c, const struct mem_view *view, uint64_t addr, uint64_t length,
		  uint32_t key);
void cursor_plain(struct cursor *c, void *mem, uint64_t length);
void cursor_end(struct cursor *c);

enum copy_result { COPY_DONE, COPY_BAD_SOURCE, COPY_BAD_TARGET };
/* Both lists are long enough. */
enum copy_result cursor_copy(struct cursor *to, struct cursor *from, uint64_t length);

/* Are all pieces usable? Adds up their length. */
bool mr_check_sges(const struct mem_view *view, const struct ib_sge *sge, uint32_t num);

/* ------------------------------------------------------- completion queue */

struct soft_cq {
	struct ci_cq ci;
	_Alignas(64) struct fmutex lock; /* guards what follows, up to qps_lock */
	uint32_t prod, cons;   /* count up for ever */
	uint32_t notified;     /* prod at the last notification */
	uint32_t mask;         /* ring size - 1; one more than cqe fit in */
	uint32_t number;       /* in traces */
	struct ib_wc *ring;
	uint8_t armed;         /* al_arm */
	bool overflowed;
	uint32_t armed_n;      /* 0: not armed */
	struct fmutex qps_lock; /* guards qps; outside lock */
	struct cq_link *qps;
};

/* A queue pair's membership in a completion queue, so that an overflow finds it. */
struct cq_link {
	struct cq_link *next, **pprev;
	struct actor *actor;
};

void cq_attach(struct soft_cq *cq, struct cq_link *link, struct actor *actor);
void cq_detach(struct cq_link *link, struct soft_cq *cq);
void cq_add(struct runner *r, struct soft_cq *cq, const struct ib_wc *wc);
/* It overflows, though there may be room, for the sake of one of its queue pairs. */
void cq_overflow(struct runner *r, struct soft_cq *cq, const struct soft_qp *qp);
/* Takes out a queue pair's completions. */
void cq_clean(struct soft_cq *cq, uint32_t qp_num);

/* -------------------------------------------------------------- queue pair */

/* Element of a send queue, followed by its gather list or its inline data, and a datagram's address. */
struct send_wqe {
	uint64_t wr_id;
	uint64_t remote_addr;
	uint64_t compare_add, swap;
	union {
		uint32_t rkey;
		uint32_t remote_qpn; /* datagram */
	};
	uint32_t ex;        /* immediate data */
	uint32_t length;    /* of the message */
	uint32_t first_psn, last_psn; /* once started */
	uint8_t opcode;     /* ib_wr_opcode */
	uint8_t flags;      /* enum ib_send_flags */
	uint8_t num_sge;
	uint8_t status;     /* ib_wc_status it will complete with */
	uint16_t refs;      /* packets not at home */
	bool answered;      /* read, atomic: all data has come */
	uint8_t pad;
	struct ib_sge sge[];
};

/* Element of a receive queue. */
struct recv_wqe {
	uint64_t wr_id;
	uint32_t length;
	uint32_t num_sge;
	struct ib_sge sge[];
};

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
};

enum flow_index { FLOW_REQUEST, FLOW_RESPONSE };

struct soft_qp {
	struct ci_qp ci;

	/* what a post needs */
	_Atomic uint32_t state;   /* ib_qp_state; owner's to write, to and from Reset under both locks too */
	struct fmutex sq_lock;    /* guards posting sends */
	_Atomic uint32_t sq_prod; /* indices count up for ever; the slot is index & mask */
	_Atomic uint32_t sq_cons; /* oldest not completed; owner's to write */
	uint32_t sq_mask;
	uint32_t sq_stride;
	char *sq;
	struct actor *actor;
	struct fmutex rq_lock;    /* guards posting receives */
	_Atomic uint32_t rq_prod;
	_Atomic uint32_t rq_cons;
	uint32_t rq_mask;
	uint32_t rq_stride;
	char *rq;

	/* all below is the owner's, unless said otherwise */
	struct {
		_Alignas(64) uint32_t next; /* index of the element to send from */
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
		struct packet *nodes;
	} req;
	struct {
		_Alignas(64) uint32_t epsn; /* expected */
		uint32_t msn;
		uint8_t kind;       /* message in progress; PKT_NONE: none */
		bool nak_sent;      /* keep quiet until the expected packet comes */
		bool established;   /* the event has been raised */
		uint8_t num_resources;
		uint8_t next_resource;
		struct packet *backlog, **backlog_tail; /* requests not yet looked at */
		struct reading reading;
		uint64_t va;        /* write in progress */
		uint32_t rkey;
		uint32_t dma_len;
		uint64_t done;      /* bytes of the message received */
		struct resource *resources;
		struct packet *nodes;
	} resp;

	/* what every packet looks at: the path, what modify_qp has set, and the traffic */
	_Alignas(64) struct soft_port *port; /* from Init on */
	struct soft_port *peer;  /* who answers to the LID; NULL: nobody */
	uint32_t dest_qpn;
	uint16_t pkey;
	uint8_t mtu_shift;       /* log2 of the path MTU */
	bool global;             /* packets have a GRH */
	const struct service *service;
	struct {                 /* as in struct ib_qp_attr */
		uint32_t qp_access_flags, qkey;
		uint8_t timeout, retry_cnt, rnr_retry, min_rnr_timer, max_rd_atomic, max_dest_rd_atomic;
		uint8_t port_num, path_mtu;
		uint16_t pkey_index;
		bool en_sqd_async_notify;
	} attr;
	bool drained;            /* SQD: and so it is */
	/* traffic: one writer, summed up by query_port */
	_Alignas(64) _Atomic uint64_t tx_bytes;
	_Atomic uint64_t tx_packets, rx_bytes, rx_packets;
	uint64_t flow[2];        /* packets sent since Reset, by enum flow_index */

	/* what only control operations and slow ways look at */
	struct ib_ah_attr av;
	struct timer timer;
	struct cq_link send_link, recv_link;
	struct fmutex control;   /* one control operation at a time */
	void *rings;             /* one allocation: nodes, send ring, receive ring */
	struct packet *node_mem;
	struct soft_qp *list_next, **list_pprev; /* guarded by the HCA's qps_lock */
};

static inline struct soft_qp *soft_qp(struct ci_qp *qp)
{
	return (struct soft_qp *)qp;
}

static inline struct soft_cq *soft_cq(struct ci_cq *cq)
{
	return (struct soft_cq *)cq;
}

static inline struct send_wqe *sq_at(const struct soft_qp *qp, uint32_t index)
{
	return (struct send_wqe *)(qp->sq + (size_t)(index & qp->sq_mask) * qp->sq_stride);
}

/* The last part of a datagram's element. */
static inline struct datagram *wqe_datagram(const struct soft_qp *qp, const struct send_wqe *wqe)
{
	return (struct datagram *)((char *)wqe + qp->sq_stride - sizeof(struct datagram));
}

static inline struct recv_wqe *rq_at(const struct soft_qp *qp, uint32_t index)
{
	return (struct recv_wqe *)(qp->rq + (size_t)(index & qp->rq_mask) * qp->rq_stride);
}

/* Owner's view of his own state. */
static inline ib_qp_state qp_state(const struct soft_qp *qp)
{
	return (ib_qp_state)atomic_load_explicit(&qp->state, memory_order_relaxed);
}

/* What transport services do differently; by ib_qp_type, all zero: not offered. */
struct service {
	/* Takes a request of the peer's: all of it is done, or will be by resp_run(). */
	void (*request)(struct runner *r, struct soft_qp *qp, struct packet *pkt);
	uint8_t wire;  /* enum wire_service */
	bool reliable; /* requests are answered, and repeated if not; no SQE: an error ends the queue pair */
};

extern const struct service services[IB_QPT_COUNT];

/* One pass of an actor's owner over all that there is to do; true: there is more, but the budget is spent. */
bool qp_pass(struct runner *r, struct soft_qp *qp);
/* Its first part: what has come in. */
void qp_receive(struct runner *r, struct soft_qp *qp, struct packet *list);
/* To the Error state, by an error of the queue pair's own; event: what to raise, or -1. */
void qp_error(struct runner *r, struct soft_qp *qp, int event);
/* An unreliable type's request has completed in error: the send queue stops (IBTA 10.3.1.6). */
void qp_send_error(struct soft_qp *qp);
void qp_event(struct soft_qp *qp, ib_event_type type);
/* Writes a completion of the oldest receive, which is removed. */
void qp_complete_recv(struct runner *r, struct soft_qp *qp, struct ib_wc *wc);

/* shortcut.c: sends what has been posted, as far as that goes without packets. False: it is not idle. */
bool qp_shortcut(struct runner *r, struct soft_qp *qp);

/* Packets of a message. */
static inline uint32_t req_packets(const struct soft_qp *qp, const struct send_wqe *wqe)
{
	uint32_t mtu_mask = (1u << qp->mtu_shift) - 1;

	return wqe->length ? (wqe->length + mtu_mask) >> qp->mtu_shift : 1;
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
	return qp->resp.backlog || qp->resp.reading.num;
}
/* Takes requests off that are not yet looked at: all, or what `take` picks for another queue pair. */
struct packet *resp_unqueue(struct soft_qp *qp, const struct soft_qp *other,
			    struct packet *(*take)(const struct soft_qp *other, struct packet **list));
void resp_reset(struct soft_qp *qp);

/* responder: what reliable and unreliable connections share */
/* Is it from the peer, and of the partition? If not, that is counted. */
bool resp_acceptable(struct soft_qp *qp, const struct packet *pkt);
/* The first packet since Init has come. */
void resp_arrived(struct soft_qp *qp);
/* Does the queue pair permit the access, and the memory that the request names? */
bool resp_may_access(const struct soft_qp *qp, const struct packet *pkt, uint32_t access, uint32_t length);
/* Moves a train's payload to where the message in progress goes. */
enum copy_result resp_payload(struct runner *r, struct soft_qp *qp, const struct packet *pkt);
/* The message is whole. */
void resp_finish(struct runner *r, struct soft_qp *qp, const struct packet *pkt);
/* The receive in progress fails, before the queue pair does. */
void resp_fail_recv(struct runner *r, struct soft_qp *qp, ib_wc_status status);
void rc_request(struct runner *r, struct soft_qp *qp, struct packet *pkt);
void uc_request(struct runner *r, struct soft_qp *qp, struct packet *pkt);
/* An error of the receive queue's own: the oldest receive fails, the packet goes home, the queue pair ends. Nobody is
 * told (UC, UD). */
void resp_end(struct runner *r, struct soft_qp *qp, struct packet *pkt, ib_wc_status status);
/* Are the packet and the queue pair of one partition, and one of them a full member? (IBTA 10.9.3) */
bool resp_pkey_matches(struct soft_qp *qp, const struct packet *pkt);

/* datagrams */
/* Checks what a request says of its destination, and keeps it in the element. */
al_status ud_post(const struct soft_qp *qp, const struct ib_send_wr *wr, struct send_wqe *wqe);
/* Addresses a packet. */
void ud_build(const struct soft_qp *qp, const struct send_wqe *wqe, struct packet *pkt);
void ud_request(struct runner *r, struct soft_qp *qp, struct packet *pkt);
static inline bool is_ud(const struct soft_qp *qp)
{
	return qp->service->wire == WIRE_UD;
}

static inline bool recv_empty(const struct soft_qp *qp)
{
	/* acquire: pairs with the release in soft_post_recv() */
	return atomic_load_explicit(&qp->rq_cons, memory_order_relaxed) ==
	       atomic_load_explicit(&qp->rq_prod, memory_order_acquire);
}

static inline struct recv_wqe *recv_oldest(const struct soft_qp *qp)
{
	return rq_at(qp, atomic_load_explicit(&qp->rq_cons, memory_order_relaxed));
}

static inline bool is_send(uint8_t kind)
{
	return kind == PKT_SEND || kind == PKT_SEND_IMM;
}

static inline bool takes_recv(const struct packet *pkt)
{
	return is_send(pkt->kind) || pkt->kind == PKT_WRITE_IMM;
}

/* completer */
void comp_response(struct runner *r, struct soft_qp *qp, struct packet *pkt);
/* completes the elements that are answered and whose packets are at home */
void comp_retire(struct runner *r, struct soft_qp *qp);
/* SQE: completes all that is in the send queue, in error, as it comes home */
void comp_flush_sends(struct runner *r, struct soft_qp *qp);
/* completes everything, in error; false: some packets are not yet at home */
bool comp_flush(struct runner *r, struct soft_qp *qp);
/* the oldest element that is not answered fails */
void comp_fail(struct runner *r, struct soft_qp *qp, ib_wc_status status);

/* packet.c: nodes, and sending over a port */
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
/* Where its payload comes from; false: its sender's key is no longer good. To be ended either way. */
bool pkt_source(struct cursor *from, const struct packet *pkt);

/* serial.c: what a train would be on a wire. Fills in the path on which the queue pair sends the packet. */
void pkt_set_path(const struct soft_qp *qp, struct packet *pkt);
/*
 * The bytes of the train's packet number i, from 0, in InfiniBand's framing, on its way to a port (NULL: to none): at most
 * WIRE_MAX_BYTES. Its path is set. Returns how many; 0: its payload is no longer to be had.
 */
size_t pkt_bytes_of(const struct packet *train, uint32_t i, const struct soft_port *to, uint8_t *bytes);

/* Bytes on the link of num packets in a row of a connection, headers and all. */
static inline uint64_t wire_bytes(const struct soft_qp *qp, uint8_t kind, uint8_t place,
				  uint32_t num, uint32_t length)
{
	const uint8_t *opcode = rc_opcode[kind]; /* those of UC have the same headers */
	uint64_t each = LRH_BYTES + BTH_BYTES + CRC_BYTES + (qp->global ? GRH_BYTES : 0);
	uint32_t ext;

	/* only a message's first and last packet have extended headers, only its last a pad */
	if (num == 1)
		ext = wire_ops[opcode[place]].ext_bytes;
	else
		ext = wire_ops[opcode[place & PLACE_FIRST]].ext_bytes +
		      wire_ops[opcode[place & PLACE_LAST]].ext_bytes;
	return num * each + ext + ((length + 3ull) & ~3ull);
}

/* A counter with one writer. */
static inline void counter_add(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
			      memory_order_relaxed);
}
/* Fetches home what is on its way to the peer, and takes back what he has not looked at. May sleep. */
void qp_purge(struct soft_qp *qp);

/* -------------------------------------------------------------------- port */

/* Counters of rare things; those of each packet are the queue pairs' own. */
enum port_counter {
	CNT_XMIT_DISCARDS,
	CNT_RCV_ERRORS,
	CNT_RCV_DROPPED,
	CNT_RETRANSMITS,
	CNT_RNR_NAKS,
	CNT_SEQ_NAKS,
	CNT_BAD_PKEY,
	CNT_BAD_QKEY,
	PORT_COUNTERS
};

struct soft_port {
	struct soft_hca *hca;
	struct soft_port *cable;     /* the other end; may be itself */
	const struct link_ops *link;
	uint8_t num;                 /* from 1 */
	uint8_t lmc;
	uint16_t lid;
	ib_mtu mtu;
	uint64_t guid;
	uint64_t prefix;
	uint32_t num_pkeys;
	uint16_t pkeys[SOFT_MAX_PKEYS];
	_Atomic uint32_t state;      /* ib_port_state */
	_Atomic bool faulty;         /* some fault may meet its packets */
	bool plugged;                /* the cable is in; guarded by the lock of all ports (port.c) */
	bool shutdown;               /* by modify_port; the same */
	_Atomic uint32_t cap_mask;
	_Atomic uint64_t count[PORT_COUNTERS];
	struct capture *capture;     /* where its packets are shown, or NULL; these two: guarded by capture.c */
	uint32_t capture_interface;
	/* traffic of queue pairs that are gone; guarded by the HCA's qps_lock */
	uint64_t tx_bytes, tx_packets, rx_bytes, rx_packets;
};

static inline void port_count(struct soft_port *port, enum port_counter counter, uint64_t n)
{
	atomic_fetch_add_explicit(&port->count[counter], n, memory_order_relaxed);
}

static inline bool port_faulty(const struct soft_port *port)
{
	return atomic_load_explicit(&port->faulty, memory_order_relaxed);
}

static inline ib_port_state port_state(const struct soft_port *port)
{
	return (ib_port_state)atomic_load_explicit(&port->state, memory_order_acquire);
}

void port_start(void);
void port_init(struct soft_port *port);
/* An event of the port, or of the HCA. */
void port_raise(struct soft_port *port, ib_event_type type);
/* Whom an HCA's port events go to; NULL: nobody any more. */
void port_tell(struct soft_hca *hca, struct ci_ca *ca);
/* Puts the cable in or pulls it out, at this end. */
void port_plug(struct soft_port *port, bool in);
/* Who answers to a LID on what the port is cabled to; NULL: nobody. */
struct soft_port *port_route(struct soft_port *port, uint16_t dlid);
/* Entry of the port's GID table; all zero: empty. */
ib_gid port_gid(const struct soft_port *port, uint32_t index);
bool port_has_gid(const struct soft_port *port, const ib_gid *gid);
al_status port_query(struct ci_ca *ca, uint8_t num, struct ib_port_attr *attr);
al_status port_query_gid(struct ci_ca *ca, uint8_t num, uint32_t index, ib_gid *gid);
al_status port_query_pkey(struct ci_ca *ca, uint8_t num, uint32_t index, uint16_t *pkey);
al_status port_modify(struct ci_ca *ca, uint8_t num, uint32_t mask, const struct ib_port_modify *attr);

/* The list of queue pairs whose traffic counts, and each one's port. */
void counters_add(struct soft_qp *qp);
void counters_remove(struct soft_qp *qp);
void counters_join(struct soft_qp *qp, struct soft_port *port);
/* It leaves its port, which keeps its traffic. */
void counters_retire(struct soft_qp *qp);
void counters_read(struct soft_port *port, struct ib_port_counters *to);

/* The port that a packet goes to; NULL: there is none. */
static inline struct soft_port *pkt_target(const struct soft_qp *qp, const struct packet *pkt)
{
	return is_ud(qp) ? port_route(qp->port, pkt->dg.dlid) : qp->peer;
}

/* How packets leave a port. */
struct link_ops {
	const char *name;
	/* Takes the packet over; false: nobody there, the packet is still the caller's. */
	bool (*send)(struct runner *r, struct soft_qp *qp, struct packet *pkt);
	/* The same for a packet by value that was kept, to a port (NULL: nobody). */
	bool (*deliver)(struct runner *r, struct soft_port *to, struct packet *pkt);
};

extern const struct link_ops link_loop;

/* -------------------------------------------------------------------- fault */

/* A packet that the fault engine keeps, and room for its payload. */
struct kept {
	struct packet pkt; /* its source names the flow, with this: */
	enum flow_index flow;
	struct soft_port *to;
	uint64_t due;      /* goes after this number of its flow, or at this time */
	char *data;
	struct kept *next; /* on a list of struct faults */
};

struct fault_table;

struct faults {
	_Atomic(struct fault_table *) table; /* the rules in force; never changed, but replaced */
	_Atomic uint32_t held_num;           /* packets in held */
	_Atomic uint64_t met;
	_Atomic uint64_t allocs;             /* allocations since there are rules about them */
	struct fmutex lock;                  /* guards what follows */
	struct fault_table *all;
	struct kept *free;  /* SOFT_KEPT of them, once there is a rule */
	struct kept *held;  /* until a packet of their flow has left */
	struct kept *late;  /* until their time has come, the first first */
	struct timer timer; /* for that */
	void *mem;
	uint64_t seed;
};

#define SOFT_KEPT 32

/* Consecutive packets of a message, about to leave. */
struct stretch {
	uint64_t n;    /* number of the first in its flow */
	uint32_t psn;  /* of the first */
	uint32_t num;
	uint8_t kind;  /* enum pkt_kind */
	uint8_t place; /* enum pkt_place */
	enum flow_index flow;
};

enum fault_verdict {
	FAULT_PASSES,
	FAULT_LOST,  /* it does not leave the port */
	FAULT_TAKEN, /* it comes later, or not as it was */
};

al_status fault_add(struct soft_hca *hca, const struct soft_fault *rule);
void fault_clear(struct soft_hca *hca);
void fault_destroy(struct soft_hca *hca);
/* Those of the first `limit` packets of a stretch that may leave as one train: up to where a rule meets one, at least 1. */
uint32_t fault_clip(const struct soft_qp *qp, const struct stretch *s, uint32_t limit);
/* Will no rule meet any of them, and is nothing held back that counts them? */
bool fault_passes(const struct soft_qp *qp, const struct stretch *s);
/* Does what is to be done to the packet number n of a flow, which is about to leave. */
enum fault_verdict fault_packet(struct runner *r, struct soft_qp *qp, struct packet *pkt, enum flow_index flow,
				uint64_t n);
/* Number n has left: sends those that were to come after it. */
void fault_release(struct runner *r, struct soft_qp *qp, enum flow_index flow, uint64_t n);
/* The timer has run out. */
void fault_timer(struct runner *r, struct soft_hca *hca);
void fault_home(struct soft_hca *hca, struct packet *pkt);
/* A queue pair leaves: its flow ends. */
void fault_forget(struct soft_qp *qp);
/* An allocation begins: shall it fail? */
bool fault_alloc(struct soft_hca *hca);

/* -------------------------------------------------------------------- HCA */

struct soft_hca {
	_Atomic uint32_t run_waiting; /* actors on the run queue */
	struct fmutex run_lock;
	struct actor *run_head, **run_tail;
	struct table qps;
	struct table mrs;

	_Alignas(64) _Atomic uint32_t engine_seq; /* what the engine sleeps on */
	_Atomic bool engine_asleep;
	_Atomic uint64_t engine_until;  /* when it will wake by itself */
	_Atomic bool engine_stop;
	bool engine_started;
	pthread_t engine;
	struct timers timers;
	struct faults faults;

	struct fmutex qps_lock;  /* guards the retired traffic of ports against the list of queue pairs */
	struct soft_qp *qp_list; /* guarded by qps_lock */
	struct ci_ca *ca;        /* NULL: not open; guarded by the lock of all ports */
	ci_handle handle;
	bool registered;         /* and nobody withdraws it; guarded by the module's lock */
	uint32_t index;
	uint64_t guid;
	struct hca_config conf;
	struct ib_ca_attr attr;
	struct soft_port *ports; /* conf.ports of them; port n is ports[n - 1] */
	_Atomic uint32_t key_seed;
	_Atomic uint32_t cqs_made;
};

static inline bool engine_has_work(const struct soft_hca *hca)
{
	return atomic_load_explicit(&hca->run_waiting, memory_order_relaxed);
}

static inline struct soft_hca *ca_hca(const struct ci_ca *ca)
{
	return ca->hca;
}

static inline struct soft_hca *pd_hca(const struct ci_pd *pd)
{
	return pd->ca->hca;
}

static inline struct soft_port *hca_port(const struct soft_hca *hca, uint8_t num)
{
	return &hca->ports[num - 1];
}

/* random: makes numbers and keys differ from process to process. */
al_status hca_create(struct soft_hca *hca, uint32_t random);
void hca_destroy(struct soft_hca *hca);
/* SOFT_STEP, over all HCAs. */
al_status module_step(const uint64_t *choice, struct soft_step *step);
/* A thread of the module withdraws the HCA: enum ci_deregister_flags. */
al_status module_remove_hca(struct soft_hca *hca, uint32_t flags);

extern const struct ci_interface soft_interface;

/* Address handle. */
struct soft_ah {
	struct ci_ah ci;
	struct fmutex lock; /* guards attr and to: modify and a post may meet. Leaf. */
	struct ib_ah_attr attr;
	struct datagram to; /* what a post takes of it */
};

/* operations, by file */
al_status soft_register_mr(struct ci_mr *mr, const struct ci_mem *mem, struct ci_udata *udata);
void soft_deregister_mr(struct ci_mr *mr);
al_status soft_query_mr(struct ci_mr *mr, struct ib_mr_attr *attr);
al_status soft_create_ah(struct ci_ah *ah, const struct ib_ah_attr *attr, struct ci_udata *udata);
al_status soft_modify_ah(struct ci_ah *ah, const struct ib_ah_attr *attr);
al_status soft_query_ah(struct ci_ah *ah, struct ib_ah_attr *attr);
void soft_destroy_ah(struct ci_ah *ah);
al_status soft_create_cq(struct ci_cq *cq, struct ci_cq_init *init, struct ci_udata *udata);
void soft_destroy_cq(struct ci_cq *cq);
al_status soft_poll_cq(struct ci_cq *cq, uint32_t num, struct ib_wc *wc, uint32_t *count);
al_status soft_arm_cq(struct ci_cq *cq, al_arm type, bool *present);
al_status soft_arm_cq_n(struct ci_cq *cq, uint32_t num);
al_status soft_peek_cq(struct ci_cq *cq, uint32_t max, uint32_t *count);
al_status soft_query_cq(struct ci_cq *cq, struct al_cq_attr *attr);
al_status soft_create_qp(struct ci_qp *qp, struct ci_qp_init *init, struct ci_udata *udata);
al_status soft_modify_qp(struct ci_qp *qp, const struct ib_qp_attr *attr, uint32_t mask,
			 struct ci_udata *udata);
al_status soft_query_qp(struct ci_qp *qp, struct ib_qp_attr *attr);
void soft_destroy_qp(struct ci_qp *qp);
al_status soft_post_send(struct ci_qp *qp, const struct ib_send_wr *wr, const struct ib_send_wr **bad);
al_status soft_post_recv(struct ci_qp *qp, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad);

#endif
