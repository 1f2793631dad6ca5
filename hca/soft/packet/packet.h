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
struct send_wqe;

enum flow_index { FLOW_REQUEST, FLOW_RESPONSE };

/* Where packets of a connection, or a datagram, go: what an address vector says of LRH and GRH. */
struct address {
	ib_gid dgid;         /* global: GRH; these two */
	uint32_t class_flow; /* traffic class and flow label, as they lie there */
	uint16_t dlid;
	uint8_t src_path_bits;
	uint8_t sl;
	uint8_t sgid_index;
	uint8_t hop_limit;
	bool global;
};

/* The LRH and GRH of a packet. */
struct route {
	uint16_t slid, dlid;
	uint8_t sl;
	bool global;         /* has a GRH; then: */
	uint8_t hop_limit;
	uint32_t class_flow;
	ib_gid sgid, dgid;
};

struct packet {
	struct packet *next;
	struct actor *home; /* whose node: it goes home to that inbox; NULL: to its pool (pool.h) */
	uint32_t src_qpn;
	uint32_t dest_qpn;
	uint32_t psn;       /* of the first packet */
	uint16_t num;       /* packets of the train */
	uint16_t pkey;
	uint8_t kind;       /* enum pkt_kind */
	uint8_t place;      /* enum pkt_place: has the message's first packet, its last */
	uint8_t flags;      /* enum pkt_flags */
	uint8_t syndrome;   /* AETH */
	uint8_t service;    /* enum wire_service */
	uint8_t mtu_shift;  /* log2 of the path MTU */
	uint8_t in_port;    /* by which it has come in */
	uint8_t num_sge;
	uint32_t ex;        /* immediate data; AETH: MSN */
	uint32_t length;    /* payload of the train */
	uint32_t offset;    /* of the payload in the list of pieces, or in data */
	struct route route;
	union {
		struct {
			uint64_t va; /* RETH: the message's target */
			uint32_t rkey;
			uint32_t dma_len; /* RETH */
		};
		struct ib_sge lent; /* read response by reference: the piece that it is of */
		uint32_t qkey;      /* WIRE_UD: DETH */
	};
	union {
		struct { /* atomics, which have no payload: AtomicETH; an answer has the original value in the first */
			uint64_t compare_add, swap;
		};
		/* The payload: by reference, in a list of pieces, or (view NULL) at data, as a client's always is. */
		struct {
			const struct mem_view *view;
			union {
				const struct ib_sge *sge;
				char *data;
			};
		};
	};
	struct send_wqe *wqe; /* the element that the node is for; NULL: none. Its owner's */
};

enum pkt_flags {
	PKT_ACK_REQ = 1 << 0,
	PKT_SOLICITED = 1 << 1,
	PKT_BAD_SOURCE = 1 << 3, /* comes home so: its memory was gone when it was to be copied */
	PKT_WIRE = 1 << 5, /* came off a cable: names no sender but its port */
	PKT_STAGED = 1 << 6, /* until it is home: data is an errand's */
};

/* What comes back to a queue pair when it stops: */
struct recall {
	struct actor *home;          /* its nodes, */
	uint32_t qpn;                /* by whose number copies by value name it, */
	const struct mem_view *lent; /* and what refers to memory that it has lent is made empty */
};
/* Takes those that come back out of a list. */
struct packet *packets_recall(struct packet **list, const struct recall *what);
struct packet **packets_end(struct packet **list);

#endif
