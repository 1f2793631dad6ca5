/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The model beside the software HCA: what work requests must come to, computed from the requests alone. It knows
 * nothing of packets, of the HCA's inside or of its order of work; it includes no file of hca/soft. It is told what was
 * posted and what was done to queue pairs, ports and packets, sees each completion and event, and says what is wrong.
 *
 * HOW IT JUDGES
 *
 * Two queue pairs are connected, and each direction is a flow: the requests of one, in their order. Four pieces of
 * memory belong to each queue pair: what it sends from (constant), what its receives lie in, what its reads and atomics
 * come back to, and the target of the peer's writes, reads and atomics. So each byte has one writer, and requests done
 * in order leave it with one value. For each piece the model has a copy: what must be in it.
 *
 * A completion resolves its request and all before it, and their effect is computed on the copy. At rest, when the HCA
 * has nothing left to do, everything posted must be resolved and all memory equal to the copies, byte for byte. Of a
 * flow that was cut off the model knows only that a first part of its requests was executed, in order, the last perhaps
 * up to one of its packets: there must be such a part that makes the memory as it is.
 *
 * Loss is no excuse with a reliable connection, but for the number of retries that it was given: the model knows how
 * many packets were met by faults since a request was posted.
 *
 * Unreliable connections and datagrams may lose what finds no receive, and nothing else; only where faults have met
 * packets, messages may be lost, come twice or in another order, but each whole or not at all into a receive. What was
 * written then is, byte for byte, what was there or what one of the writes brought. A request that is wrong here stops
 * their send queue (SQE): it and all after it come to nothing and complete so, until the owner lets the queue go on. One
 * that is wrong only at its target succeeds, and comes to nothing there.
 *
 * A completion queue that overflows has held all that it can, and ends the queue pairs that complete there; what they
 * would have been told is not known, as after a reset.
 */
#ifndef SOAK_MODEL_H
#define SOAK_MODEL_H

#include <iba/ib_verbs.h>

enum { MAX_PIECES = 4, MAX_INLINE = 128, MAX_MODELS = 32 };

/* The memory of a queue pair. */
enum area_kind { AREA_SOURCE, AREA_RECEIVE, AREA_RESULT, AREA_TARGET, AREAS };

struct area {
	uint8_t *real; /* what the HCA reads and writes */
	uint8_t *copy; /* what must be in it */
	uint32_t size;
};

struct piece {
	uint32_t area; /* of the queue pair itself */
	uint32_t offset;
	uint32_t length;
};

/* What is wrong with a request, on purpose. */
enum wrong {
	WRONG_NOTHING,
	WRONG_LKEY,      /* no such key, or not the right to write locally, or beyond its end */
	WRONG_LENGTH,    /* an atomic that is not of 8 bytes, a datagram of more than a packet */
	WRONG_RKEY,      /* no such key, beyond its end, another PD's, or without the right */
	WRONG_ALIGNMENT, /* an atomic's target */
	WRONG_ADDRESS,   /* a datagram for nobody, or with another's Q_Key */
};

struct m_send {
	uint64_t wr_id;
	uint64_t compare_add, swap;
	uint64_t posted_ns;
	uint64_t faults;      /* that had met packets when it was posted */
	uint32_t ports;       /* how often a port had changed */
	uint32_t length;
	uint32_t target;      /* offset in the peer's area */
	uint32_t imm;
	uint32_t turn;        /* which of those that take a receive it is */
	uint32_t extra;       /* statuses that have become possible since: bits */
	uint32_t epoch;       /* unreliable: recoveries from SQE before */
	uint8_t opcode;       /* ib_wr_opcode */
	uint8_t flags;        /* enum ib_send_flags */
	uint8_t wrong;        /* enum wrong */
	uint8_t status;       /* once resolved */
	uint8_t num;          /* of piece */
	bool short_of_recv;   /* there was no receive for it when it was posted */
	bool doomed;          /* unreliable: one before it stops the queue */
	struct piece piece[MAX_PIECES];
	uint8_t data[MAX_INLINE];
};

struct m_recv {
	uint64_t wr_id;
	uint32_t length;
	bool wrong;          /* a key of it is bad */
	bool gone;           /* its memory was deregistered, perhaps too late to matter */
	uint8_t num;
	struct piece piece[MAX_PIECES];
};

/* Attributes that matter to the model. */
struct m_attr {
	ib_qp_type type;
	uint32_t mtu;         /* bytes */
	uint64_t rnr_ns;      /* how long this side asks the peer to wait */
	uint64_t timeout_ns;  /* 0: never */
	uint32_t retry_cnt;
	uint32_t rnr_retry;
	uint32_t max_rd_atomic;
	bool sig_all;
	bool global;          /* datagrams of this side have a GRH */
	uint8_t grh[IB_GRH_BYTES]; /* but for its length */
};

struct m_qp {
	const char *name;
	struct model *model;
	struct m_qp *peer;
	struct area area[AREAS];
	struct m_attr attr;
	ib_qp_state state;    /* that it was put in, or was seen to be in at rest */

	/* the connection as it is: all that was posted */
	struct m_send *send;
	uint32_t sends, send_room;
	uint32_t done;        /* requests before are resolved */
	uint32_t applied;     /* those before are in the copies */
	uint32_t executed;    /* those before certainly are in the peer's memory */
	uint32_t takers;      /* requests that take a receive */
	uint32_t next_taker;  /* index from which to look for the next receive's message */
	uint32_t failed;      /* index of the first that failed, in its epoch; UINT32_MAX: none */
	uint32_t epoch;       /* recoveries from SQE */
	bool doomed;          /* what is posted now comes to nothing: the queue stops before */
	struct m_recv *recv;
	uint32_t recvs, recv_room;
	uint32_t received;    /* receives before are completed */
	uint32_t good;        /* of them with a message */
	bool recv_failed;     /* a receive completed in error */
	ib_wc_status recv_status; /* of the one whose message ended the queue pair */
	bool killed;          /* put to Error, or reset, or destroyed by its owner, or by an overflow */
	bool sends_lost, recvs_lost; /* the completion queue has overflowed: the later ones are not seen */
	bool was_alive;       /* when it did */
	bool excused;         /* its time-out had a cause of its own */
	uint64_t first_faults; /* at the connection */
	uint32_t first_ports;
	bool lossy;           /* unreliable: a message may have found no receive */
	uint32_t held_from;   /* SQD: first request posted since */
	uint32_t drains;      /* SQ drained events asked for at the last change to SQD */
	uint32_t events[IB_EVENT_SQ_DRAINED + 1]; /* seen, by type */
};

struct model {
	struct m_qp qp[MAX_MODELS];
	uint32_t qps;
	uint64_t now;         /* of the HCA's clock */
	uint64_t faults;      /* packets met by faults */
	uint32_t ports;       /* how often a port has changed */
	bool ports_down;
	bool rnr_forced;      /* NAKs may come without a cause: that there is no receive, */
	bool forced;          /* or another, which ends both sides */
	bool by_value;        /* packets go by value: a request that its queue pair has flushed may still be executed */
	uint64_t completions; /* seen */
	char error[512];      /* what is wrong; empty: nothing */
};

/* Says what is wrong, once. */
void model_error(struct model *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A connection begins: nothing is posted. */
void model_connect(struct m_qp *qp, struct m_qp *peer, const struct m_attr *attr);
/* Room for a request, to be filled in before it is posted. */
struct m_send *model_new_send(struct m_qp *qp);
struct m_recv *model_new_recv(struct m_qp *qp);
/* It was taken. */
void model_posted_send(struct m_qp *qp);
void model_posted_recv(struct m_qp *qp);
/* Requests that may still be in the send queue, receives in the receive queue. */
uint32_t model_sends_out(const struct m_qp *qp);
uint32_t model_recvs_out(const struct m_qp *qp);
/* Receives that the peer's requests lack. */
uint32_t model_recvs_lacking(const struct m_qp *qp);
/* A piece of its area is in use by an unresolved request. */
bool model_busy(const struct m_qp *qp, uint32_t area, uint32_t offset, uint32_t length);
/* Memory has been deregistered: requests on their way may fail for that. */
void model_deregistered(struct m_qp *qp, uint32_t area);

void model_completion(struct m_qp *qp, const struct ib_wc *wc);
void model_event(struct m_qp *qp, ib_event_type type);
void model_modified(struct m_qp *qp, ib_qp_state state, bool notify);
/* A completion queue of its has overflowed: for its sends, its receives, or both. */
void model_overflowed(struct m_qp *qp, bool sends, bool recvs);
/* It was in SQE, and its owner has put it to RTS. */
void model_recovered(struct m_qp *qp);
/* The HCA has nothing left to do, and everything has been polled; state: as queried. */
void model_rest(struct model *m, const ib_qp_state *state);
/* Both ends are reset or destroyed: what they have done to memory must fit. */
void model_disconnected(struct m_qp *qp);
/* Has it come to its end? */
bool model_broken(const struct m_qp *qp);

#endif
