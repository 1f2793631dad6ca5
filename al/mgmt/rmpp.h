/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * RMPP: reliable transfer of datagrams longer than one segment (IBTA 13.6). The sender and the
 * receiver are state machines without a thread, a clock or a lock: the caller serializes the calls
 * for one machine, tells the time (ns of any monotonic clock) and posts the packets that the
 * machine hands out. Queue pairs, addresses, transaction identifiers and the matching of a request
 * with its response belong to the MAD service, which is the caller.
 *
 * A packet is IB_MAD_BYTES long; the caller drops shorter ones. A datagram is one buffer: MAD
 * header, RMPP header, class header, data. That is also what libibumad's clients give and expect.
 * Each segment repeats the MAD header and the class header.
 *
 * Which machine a packet belongs to: a receiver gets the packets with the class, class version,
 * method and transaction identifier of the datagram from the sender's address. A sender gets the
 * packets from the receiver's address with the same fields, but with the method's response bit
 * inverted: the acknowledgement of a GetTable response has the method GetTable, and must not reach
 * a client as a request. A machine ignores a packet whose fields differ, so a mistake in the
 * matching harms no transfer.
 *
 * Where IBTA and known peers differ, this side sends what IBTA says and takes what peers send:
 *
 * PayloadLength of the first segment is the sum over all segments, each with its class header. IBTA
 * lets the receiver abort a transfer that has reached the sum without the flag Last; Linux does not
 * look at the sum, so senders that count in another way exist unnoticed. This receiver ignores the
 * sum, and no memory is reserved on a peer's word.
 *
 * PayloadLength of the last segment: Linux takes any value. This receiver aborts a transfer whose
 * last segment claims more bytes than a segment has, or fewer than the class header. In segments
 * between the first and the last the field is sent as 0 and ignored.
 *
 * A segment that is not the next one is dropped, and the last segment in order is acknowledged
 * again, as IBTA has it. Linux keeps a segment that comes early and is silent. A segment beyond the
 * window aborts the transfer; Linux drops that segment.
 *
 * A window that ends before the window told earlier is an abort in IBTA's diagram, and an old
 * acknowledgement for Linux. This sender takes the acknowledgement and keeps the larger window. An
 * acknowledgement of a segment that was not sent aborts the transfer.
 *
 * The response of a double-sided transfer: a Linux peer sends the response without waiting for the
 * direction switch, so a caller does not insist on the switch, either.
 */
#ifndef AL_MGMT_RMPP_H
#define AL_MGMT_RMPP_H

#include <stdbool.h>

#include <iba/ib_mad.h>

/* State of a sender or a receiver. All but RMPP_ACTIVE are final. */
enum rmpp_state {
	RMPP_ACTIVE,  /* the transfer goes on */
	RMPP_DONE,    /* all segments are acknowledged */
	RMPP_STOPPED, /* the peer sent a STOP packet; its status is in the machine's status */
	RMPP_ABORTED, /* the peer sent an ABORT packet; its status is in the machine's status */
	RMPP_FAILED,  /* this side ended the transfer; the machine's status says why */
};

#define RMPP_NO_DEADLINE UINT64_MAX

/* ------------------------------------------------------------------- packets */

/* Bytes of the class header, which follows the RMPP header in every segment. -1: the class does not
 * use RMPP. */
int rmpp_class_bytes(uint8_t mgmt_class);

/* True: the class uses RMPP and the flag Active is set. Any other packet is a datagram in one
 * piece. */
bool rmpp_is_packet(const struct ib_rmpp_mad *packet);

/*
 * Checks each field of an RMPP packet that can be checked without knowing the transfer. Returns
 * IB_RMPP_STATUS_NORMAL, or the status with which IBTA has the packet refused.
 */
uint8_t rmpp_check(const struct ib_rmpp_mad *packet);

/* True: a correct RMPP packet that is a datagram's first segment. Only such a packet is a reason
 * for a new receiver. */
bool rmpp_begins(const struct ib_rmpp_mad *packet);

/*
 * Makes the answer that refuses a packet: STOP for IB_RMPP_STATUS_RESX, else ABORT. For a packet
 * that belongs to no transfer, or when the caller has no room for another receiver. False: the
 * packet is itself a STOP or an ABORT, which nobody answers.
 */
bool rmpp_refuse(const struct ib_rmpp_mad *packet, uint8_t status, struct ib_rmpp_mad *answer);

/* -------------------------------------------------------------------- sender */

struct rmpp_send_attr {
	uint64_t
		ack_timeout; /* ns from the last segment handed out to its acknowledgement; not 0 */
	uint64_t total_timeout; /* ns for the whole transfer; not 0 */
	uint32_t retries; /* time-outs in a row, without progress, before the sender gives up */
	uint32_t first_window; /* last segment that may be sent before an acknowledgement: 1, or the
				  window of the peer's direction switch (rmpp_recv.reply_window)
				  when the datagram is a double-sided response; not 0 */
	uint32_t reply_window; /* last segment that the peer may send first in its response. 0: no
				  response follows; else the sender ends with a direction switch, as
				  IBTA has it for every RMPP request with a response */
};

/* A sender. The caller reads state and status, and nothing else. */
struct rmpp_send {
	enum rmpp_state state;
	uint8_t status; /* final states: enum ib_rmpp_status, or a status of the class or the vendor
			   from the peer */

	struct rmpp_send_attr attr;
	const uint8_t *mad;    /* datagram, the caller's */
	size_t data_length;    /* bytes behind the class header */
	uint32_t class_bytes;  /* class header */
	uint32_t segments;     /* number of segments, at least 1 */
	uint32_t next;         /* segment to hand out next */
	uint32_t sent;         /* highest segment handed out */
	uint32_t acked;        /* last segment acknowledged */
	uint32_t window;       /* last segment that may be sent */
	uint32_t retries_left; /* time-outs left */
	uint64_t deadline;     /* time-out of the acknowledgement */
	uint64_t end;          /* time-out of the transfer */
	uint8_t control;       /* enum ib_rmpp_type of the packet to hand out before all others;
				  IB_RMPP_NONE: no packet */
};

/*
 * Starts a transfer. The RMPP header in the datagram is not read. The buffer belongs to the caller
 * and stays unchanged as long as the sender is used. The sender has no memory of its own, so there
 * is no function that destroys a sender. AL_INVALID_PARAMETER: a class without RMPP, a buffer
 * shorter than the headers or longer than PayloadLength can say, a zero in the attributes.
 */
al_status rmpp_send_init(struct rmpp_send *send, const struct rmpp_send_attr *attr, const void *mad,
			 size_t length, uint64_t now);

/*
 * Hands out the next packet to post. False: there is none now. To be called after each of the
 * functions below and after rmpp_send_init() until the answer is false, also in final states: the
 * last packet may be the one that ends the peer's transfer. A caller whose send queue is full calls
 * again later.
 */
bool rmpp_send_next(struct rmpp_send *send, uint64_t now, struct ib_rmpp_mad *packet);

/* Takes a packet from the receiver. In RMPP_DONE a repeated last acknowledgement makes the
 * direction switch be sent again. */
void rmpp_send_packet(struct rmpp_send *send, uint64_t now, const struct ib_rmpp_mad *packet);

/* When to call rmpp_send_time(). RMPP_NO_DEADLINE: never. Changes with every call. */
uint64_t rmpp_send_deadline(const struct rmpp_send *send);

/* Acts on time-outs that have passed. */
void rmpp_send_time(struct rmpp_send *send, uint64_t now);

/* Ends an active transfer with an ABORT packet, for example because the client cancels. */
void rmpp_send_abort(struct rmpp_send *send, uint8_t status);

/* ------------------------------------------------------------------ receiver */

struct rmpp_recv_attr {
	uint64_t idle_timeout;  /* ns from one new segment to the next */
	uint64_t total_timeout; /* ns for the whole transfer */
	uint64_t linger;  /* ns in a final state, to answer what the peer repeats because an answer
			     was lost */
	size_t max_bytes; /* longest datagram, headers included. While the buffer grows, the old one
			     exists, too: less than twice max_bytes in all */
	uint16_t window; /* segments that the sender may send for one acknowledgement; 0 counts as 1
			  */
	uint32_t first_window; /* rmpp_send_attr.reply_window of the request to which the datagram
				  responds; else 1 or 0 */
};

/* A receiver. The caller reads state, status and reply_window, and nothing else. */
struct rmpp_recv {
	enum rmpp_state state;
	uint8_t status; /* final states: enum ib_rmpp_status, or a status of the class or the vendor
			   from the peer */
	uint32_t reply_window; /* 0: no direction switch has come; else rmpp_send_attr.first_window
				  for the response */

	struct rmpp_recv_attr attr;
	struct ib_mad_hdr
		hdr;       /* MAD header of the first segment; mgmt_class 0: no segment has come */
	uint8_t *mad;      /* datagram so far */
	size_t length;     /* its bytes */
	size_t room;       /* bytes allocated */
	uint32_t expected; /* next segment */
	uint32_t window;   /* last segment that the sender may send */
	uint64_t deadline; /* active: idle time-out; else the end of the linger time */
	uint64_t end;      /* time-out of the transfer */
};

/*
 * Makes a receiver, for a packet of which rmpp_begins() is true: the caller hands that packet over
 * next. A new receiver ignores other packets. No memory is allocated.
 */
void rmpp_recv_init(struct rmpp_recv *recv, const struct rmpp_recv_attr *attr, uint64_t now);

/*
 * Takes a packet from the sender. True: the answer is to be posted to the sender. A transfer that
 * fails frees its memory at once. The packet and the answer are different buffers.
 */
bool rmpp_recv_packet(struct rmpp_recv *recv, uint64_t now, const struct ib_rmpp_mad *packet,
		      struct ib_rmpp_mad *answer);

/*
 * RMPP_ACTIVE: when to call rmpp_recv_time(). Final states: the linger time's end, when the caller
 * calls rmpp_recv_destroy(). Changes with every call.
 */
uint64_t rmpp_recv_deadline(const struct rmpp_recv *recv);

/* Acts on time-outs that have passed. True: the answer is to be posted to the sender. */
bool rmpp_recv_time(struct rmpp_recv *recv, uint64_t now, struct ib_rmpp_mad *answer);

/* Ends an active transfer, for example because the client is gone. True: the answer is to be posted
 * to the sender. */
bool rmpp_recv_abort(struct rmpp_recv *recv, uint64_t now, uint8_t status,
		     struct ib_rmpp_mad *answer);

/*
 * RMPP_DONE, once: hands out the datagram, whose length is exact, and which the caller frees with
 * al_free(). The RMPP header is the first segment's. NULL: in other states, and after the first
 * call. The receiver goes on to answer repeated segments.
 */
void *rmpp_recv_take(struct rmpp_recv *recv, size_t *length);

/* Bytes of the receiver's buffer, which grows with the datagram; 0: the receiver has none. */
size_t rmpp_recv_room(const struct rmpp_recv *recv);

/* Frees the receiver's memory. Any state. */
void rmpp_recv_destroy(struct rmpp_recv *recv);

#endif
