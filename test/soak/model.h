/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The model beside the software HCA: the effects of work requests, computed from the requests alone. The model knows
 * nothing of packets, of the HCA's internal state or of its order of work, and includes no file of hca/soft. The soak
 * tells the model which requests were posted, and what was done to queue pairs, ports and packets. The model checks
 * each completion and event, and reports an error.
 *
 * The rules of the model:
 *
 * Two queue pairs are connected, and each direction is a flow: the requests of one queue pair, in order. Each queue
 * pair has four areas of memory: the source of its sends (constant), the target of its receives, the target of its
 * reads and atomics, and the target of the peer's writes, reads and atomics. So each byte has one writer, and
 * requests executed in order leave one value in it. For each area the model has a copy: the bytes that must be in the
 * area.
 *
 * A completion resolves its request and all requests before, and the model computes their effect on the copy. At
 * rest, when the HCA has nothing left to do, everything posted must be resolved, and all memory must equal the
 * copies, byte for byte. Of a flow that was cut off the model knows only that a first part of its requests was
 * executed, in order, the last of them perhaps up to one of its packets: such a part must exist that explains the
 * memory.
 *
 * Loss does not excuse an error of a reliable connection, unless the retries are used up: the model knows how many
 * packets have met faults since a request was posted.
 *
 * Unreliable connections and datagrams may lose only messages that find no receive. Where packets have met faults,
 * messages may also be lost, duplicated or reordered, but each message enters a receive completely or not at all.
 * Each byte of the target of writes is then the byte before, or a byte of one of the writes. A wrong request of these
 * types stops their send queue (SQE): the request and all behind it have no effect and complete so, until the owner
 * puts the queue back into RTS. A request that is wrong only at its target succeeds, and has no effect there.
 *
 * A completion queue that overflows has kept as many completions as it has entries, and ends the queue pairs that
 * complete there; their further completions are unknown, as after a reset.
 */
#ifndef SOAK_MODEL_H
#define SOAK_MODEL_H

#include <iba/ib_verbs.h>

enum { MAX_PIECES = 4, MAX_INLINE = 128, MAX_MODELS = 32 };

/* The memory areas of a queue pair. */
enum area_kind { AREA_SOURCE, AREA_RECEIVE, AREA_RESULT, AREA_TARGET, AREAS };

struct area {
	uint8_t *real; /* the area that the HCA reads and writes */
	uint8_t *copy; /* the bytes that must be in it */
	uint32_t size;
};

struct piece {
	uint32_t area; /* the area of the queue pair's own memory */
	uint32_t offset;
	uint32_t length;
};

/* The fault of a request that is wrong on purpose. */
enum wrong {
	WRONG_NOTHING,
	WRONG_LKEY,      /* an unknown key, a range beyond the region, or a target without local write */
	WRONG_LENGTH,    /* an atomic that is not of 8 bytes, a datagram longer than a packet */
	WRONG_RKEY,      /* an unknown key, a range beyond the region, another PD's region, or a missing permission */
	WRONG_ALIGNMENT, /* the unaligned target of an atomic */
	WRONG_ADDRESS,   /* a datagram to no queue pair, or with another Q_Key */
};

struct m_send {
	uint64_t wr_id;
	uint64_t compare_add, swap;
	uint64_t posted_ns;
	uint64_t faults;      /* packets that had met faults when the request was posted */
	uint32_t ports;       /* number of the ports' changes until the request was posted */
	uint32_t length;
	uint32_t target;      /* offset in the peer's area */
	uint32_t imm;
	uint32_t turn;        /* number among the requests that consume a receive */
	uint32_t extra;       /* statuses that have become possible since the post: bits */
	uint32_t epoch;       /* unreliable: number of recoveries from SQE before the post */
	uint8_t opcode;       /* ib_wr_opcode */
	uint8_t flags;        /* enum ib_send_flags */
	uint8_t wrong;        /* enum wrong */
	uint8_t status;       /* status, once resolved */
	uint8_t num;          /* number of pieces */
	bool short_of_recv;   /* no receive was posted for the request when it was posted */
	bool doomed;          /* unreliable: a request before this one stops the queue */
	struct piece piece[MAX_PIECES];
	uint8_t data[MAX_INLINE];
};

struct m_recv {
	uint64_t wr_id;
	uint32_t length;
	bool wrong;          /* one of the keys is wrong */
	bool gone;           /* its memory was deregistered, perhaps too late to have an effect */
	uint8_t num;
	struct piece piece[MAX_PIECES];
};

/* Attributes that matter to the model. */
struct m_attr {
	ib_qp_type type;
	uint32_t mtu;         /* bytes */
	uint64_t rnr_ns;      /* the pause that this side asks the peer for */
	uint64_t timeout_ns;  /* 0: no time-out */
	uint32_t retry_cnt;
	uint32_t rnr_retry;
	uint32_t max_rd_atomic;
	bool sig_all;
	bool global;          /* datagrams of this side have a GRH */
	uint8_t grh[IB_GRH_BYTES]; /* without the payload's length */
};

struct m_qp {
	const char *name;
	struct model *model;
	struct m_qp *peer;
	struct area area[AREAS];
	struct m_attr attr;
	ib_qp_state state;    /* the state it was put into, or had at the last rest */

	/* requests posted since the connection began */
	struct m_send *send;
	uint32_t sends, send_room;
	uint32_t done;        /* requests before this index are resolved */
	uint32_t applied;     /* requests before this index are in the copies */
	uint32_t executed;    /* requests before this index are certainly in the peer's memory */
	uint32_t takers;      /* number of requests that consume a receive */
	uint32_t next_taker;  /* index from which to look for the next receive's message */
	uint32_t failed;      /* index of the first failed request of its epoch; UINT32_MAX: none */
	uint32_t epoch;       /* number of recoveries from SQE */
	bool doomed;          /* a request posted now has no effect: the queue stops before it */
	struct m_recv *recv;
	uint32_t recvs, recv_room;
	uint32_t received;    /* receives before this index are completed */
	uint32_t good;        /* number of these that got a message */
	bool recv_failed;     /* a receive completed in error */
	ib_wc_status recv_status; /* of the receive whose message ended the queue pair */
	bool killed;          /* its owner has put it into Error, reset or destroyed it, or an overflow has ended it */
	bool sends_lost, recvs_lost; /* the completion queue has overflowed: later completions are unknown */
	bool was_alive;       /* the queue pair was alive at the overflow */
	bool excused;         /* its time-out had a cause other than a loss */
	uint64_t first_faults; /* faults and ports when the connection began */
	uint32_t first_ports;
	bool lossy;           /* unreliable: a message may have found no receive */
	uint32_t held_from;   /* SQD: index of the first request posted since */
	uint32_t drains;      /* SQ drained events asked for at the last change to SQD */
	uint32_t events[IB_EVENT_SQ_DRAINED + 1]; /* events that have come, by type */
};

struct model {
	struct m_qp qp[MAX_MODELS];
	uint32_t qps;
	uint64_t now;         /* time of the HCA's clock */
	uint64_t faults;      /* packets that have met faults */
	uint32_t ports;       /* number of the ports' changes */
	bool ports_down;
	bool rnr_forced;      /* RNR NAKs may come without a cause, */
	bool forced;          /* or other NAKs, which end both sides */
	/* the link copies packets: a request that its queue pair has flushed may still be executed */
	bool by_value;
	uint64_t completions; /* number of completions that have come */
	char error[512];      /* the error; empty: none */
};

/* Records an error. Only the first one counts. */
void model_error(struct model *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A connection begins: no request is posted. */
void model_connect(struct m_qp *qp, struct m_qp *peer, const struct m_attr *attr);
/* Returns room for a request, to be filled in before the post. */
struct m_send *model_new_send(struct m_qp *qp);
struct m_recv *model_new_recv(struct m_qp *qp);
/* The post has succeeded. */
void model_posted_send(struct m_qp *qp);
void model_posted_recv(struct m_qp *qp);
/* Number of requests that may still be in the send queue, and of receives in the receive queue. */
uint32_t model_sends_out(const struct m_qp *qp);
uint32_t model_recvs_out(const struct m_qp *qp);
/* Number of receives that the peer's requests still need. */
uint32_t model_recvs_lacking(const struct m_qp *qp);
/* True if an unresolved request uses a part of this piece of the area. */
bool model_busy(const struct m_qp *qp, uint32_t area, uint32_t offset, uint32_t length);
/* Memory has been deregistered: requests under way may fail for that reason. */
void model_deregistered(struct m_qp *qp, uint32_t area);

void model_completion(struct m_qp *qp, const struct ib_wc *wc);
void model_event(struct m_qp *qp, ib_event_type type);
void model_modified(struct m_qp *qp, ib_qp_state state, bool notify);
/* The completion queue of the queue pair's sends, receives, or both has overflowed. */
void model_overflowed(struct m_qp *qp, bool sends, bool recvs);
/* The queue pair was in SQE, and its owner has put it into RTS. */
void model_recovered(struct m_qp *qp);
/*
 * The HCA has nothing left to do, and every queue is empty; state: the queried states. Checks completions and memory.
 */
void model_rest(struct model *m, const ib_qp_state *state);
/* Both ends are reset or destroyed. Checks that a part of their requests explains the memory. */
void model_disconnected(struct m_qp *qp);
/* True if the queue pair has come to its end. */
bool model_broken(const struct m_qp *qp);

#endif
