/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A packet, which stands for a train: consecutive packets of one message. How it comes to be, leaves a port and goes
 * home (packet.c), and what it would be on a wire (serial.c).
 */
#ifndef SOFT_PACKET_H
#define SOFT_PACKET_H

#include <stdbool.h>
#include <stddef.h>

#include <iba/ib_verbs.h>

struct actor;
struct mem_view;
struct runner;
struct send_wqe;
struct soft_port;
struct soft_qp;

enum flow_index { FLOW_REQUEST, FLOW_RESPONSE };

/* What the link layer makes of a packet's way; in it only while somebody looks at the wire. */
struct pkt_path {
	uint16_t dlid;
	uint8_t src_path_bits, sl;
	uint8_t mtu_shift;
	uint8_t tclass, hop_limit, sgid_index;
	bool global;
	uint32_t flow_label;
	ib_gid dgid;
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
	struct actor *home;         /* whose node: it goes home to that inbox; NULL: the fault engine's */
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
	union {
		struct {
			uint64_t va;      /* RETH: the message's target; read response: source of this payload */
			uint32_t rkey;
			uint32_t dma_len; /* RETH */
			uint64_t compare_add; /* AtomicETH; in an answer the original value */
			uint64_t swap;
		};
		struct ib_sge lent; /* read response by reference: the piece that it is of */
		struct datagram dg; /* WIRE_UD */
	};
	struct send_wqe *wqe; /* the element that the node is for; NULL: none. Its owner's */
	/* The payload: by reference, in a list of pieces, or (view NULL) at data, as a client's always is. */
	const struct mem_view *view;
	union {
		const struct ib_sge *sge;
		char *data;
	};
	uint32_t num_sge;
	uint64_t offset; /* of the payload in that */
	struct pkt_path path; /* with PKT_PATH */
};

enum pkt_flags {
	PKT_ACK_REQ = 1 << 0,
	PKT_SOLICITED = 1 << 1,
	PKT_BAD_SOURCE = 1 << 3, /* comes home so: its memory was gone when it was to be copied */
	PKT_PATH = 1 << 4, /* path is filled in */
	PKT_WIRE = 1 << 5, /* came off a cable: names no sender but its port */
	PKT_STAGED = 1 << 6, /* until it is home: data is an errand's */
};

/* transport/send.c: nodes, and sending over a port */
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

/* serial.c: what a train would be on a wire. Fills in the path on which the queue pair sends the packet. */
void pkt_set_path(const struct soft_qp *qp, struct packet *pkt);
/*
 * The bytes of the train's packet number i, from 0, in InfiniBand's framing: at most WIRE_MAX_BYTES. Its path is set.
 * Returns how many; 0: its payload is no longer to be had.
 */
size_t pkt_bytes_of(const struct packet *train, uint32_t i, uint8_t *bytes);

#endif
