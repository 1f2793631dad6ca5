/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * struct packet, which stands for a train: consecutive packets of one message. Lists of packets (packet.c). The
 * transport makes packets, the links send them, and link/serial.c makes bytes of them.
 */
#ifndef SOFT_PACKET_H
#define SOFT_PACKET_H

#include <stdbool.h>
#include <stddef.h>

#include <iba/ib_verbs.h>

struct actor;
struct mem_view;
struct send_wqe;

/* A queue pair sends two flows of packets: requests and responses. */
enum flow_index { FLOW_REQUEST, FLOW_RESPONSE };

#define LANES           16u /* virtual lanes: 0 to 14 of data, and lane 15 */
#define LANE_MANAGEMENT 15u /* lane of subnet management packets */
#define LANE_NONE       15u /* of a data packet: there is no lane, and the packet is discarded */

/* The destination of a connection or datagram: the fields of an address vector that LRH and GRH are made from. */
struct address {
	ib_gid dgid;         /* GRH */
	uint32_t class_flow; /* GRH: traffic class and flow label, in their places in the GRH's first word */
	uint16_t dlid;
	uint8_t src_path_bits;
	uint8_t sl;
	uint8_t sgid_index;
	uint8_t hop_limit;   /* GRH */
	bool global;         /* packets have a GRH */
};

/* The LRH and GRH of a packet. */
struct route {
	uint16_t slid, dlid;
	uint8_t sl;
	uint8_t lane;     /* virtual lane of a data packet, or LANE_NONE */
	uint8_t out_port; /* port 0 of a switch sends: external port to leave by; 0: by the table */
	bool global;         /* the packet has a GRH, with the fields below */
	uint8_t hop_limit;
	uint32_t class_flow;
	ib_gid sgid, dgid;
};

struct packet {
	struct packet *next; /* next packet of the list or inbox */
	/* actor of the queue pair that the node belongs to; NULL: the packet belongs to a pool (pool.h) */
	struct actor *home;
	uint32_t src_qpn;
	uint32_t dest_qpn;
	uint32_t psn;       /* PSN of the train's first packet */
	uint16_t num;       /* packets of the train */
	uint16_t pkey;
	uint8_t kind;       /* enum pkt_kind */
	uint8_t place;      /* enum pkt_place: whether the train holds the message's first packet, and its last */
	uint8_t flags;      /* enum pkt_flags */
	uint8_t syndrome;   /* AETH */
	uint8_t service;    /* enum wire_service */
	uint8_t mtu_shift;  /* log2 of the path MTU */
	uint8_t in_port;    /* number of the port by which the packet has come in */
	uint8_t num_sge;    /* payload by reference: pieces in sge */
	uint32_t ex;        /* immediate data; AETH: MSN */
	uint32_t length;    /* bytes of the train's payload */
	uint32_t offset;    /* bytes before the payload in the list of pieces, or in data */
	struct route route;
	union {
		struct {
			uint64_t va; /* RETH, AtomicETH: address of the message's target */
			uint32_t rkey; /* RETH, AtomicETH */
			uint32_t dma_len; /* RETH */
		};
		struct ib_sge lent; /* read response by reference: the responder's memory that holds the payload */
		uint32_t qkey;      /* WIRE_UD: DETH */
	};
	union {
		/* Atomics, which have no payload: the AtomicETH. A response has the original value in compare_add. */
		struct {
			uint64_t compare_add, swap;
		};
		/*
		 * The payload: by reference in a list of pieces, or by value (view is NULL) at data. A client's is by
		 * value.
		 */
		struct {
			const struct mem_view *view;
			union {
				const struct ib_sge *sge;
				char *data;
			};
		};
	};
	/* send element that the node is in use for; NULL: none. Only the node's queue pair uses it */
	struct send_wqe *wqe;
};

enum pkt_flags {
	PKT_ACK_REQ = 1 << 0,
	PKT_SOLICITED = 1 << 1,
	PKT_VL15 = 1 << 2, /* a subnet management packet: from QP0 to QP0, on virtual lane 15 */
	/* on a node that comes home: the sender's memory region was gone when its payload was
	   copied */
	PKT_BAD_SOURCE = 1 << 3,
	/* bits of the packet have changed on a cable: the next port drops the packet for its VCRC
	 */
	PKT_DAMAGED = 1 << 4,
	/* an injected packet: only a datagram has a src_qpn, since other packets do not carry one
	 */
	PKT_WIRE = 1 << 5,
	PKT_FETCHED =
		1 << 6, /* data is in an errand's buffer, which is freed when the packet is home */
	/* a switch has marked the packet as bad, since it found so when it had begun to send the
	   packet: the next port drops the packet for its delimiter EBP */
	PKT_MARKED = 1 << 7,
};
#define PKT_BAD (PKT_DAMAGED | PKT_MARKED)

/* Returns the virtual lane of a packet. LANE_NONE: that of a data packet which is not to leave. */
static inline uint8_t packet_lane(const struct packet *pkt)
{
	return pkt->flags & PKT_VL15 ? LANE_MANAGEMENT : pkt->route.lane;
}

/* True: a data packet that no lane leads to its destination. */
static inline bool packet_lacks_lane(const struct packet *pkt)
{
	return pkt->route.lane == LANE_NONE && !(pkt->flags & PKT_VL15);
}

/* Names the packets that a queue pair takes back when it stops. */
struct recall {
	struct actor *home;          /* packets by reference: the nodes of this actor come back */
	uint32_t qpn;                /* packets by value: copies with this source queue pair number are dropped */
	const struct mem_view *lent; /* read responses that refer to memory by this view become empty (PKT_NONE) */
	/* in place of all that: copies of multicast datagrams with the destination of this route;
	 * NULL: none */
	const struct route *group;
};
/* Takes the recalled packets out of *list and returns them as a list, newest first. */
struct packet *packets_recall(struct packet **list, const struct recall *recall);
/* Returns the `next` pointer that ends the list. */
struct packet **packets_end(struct packet **list);
/* Appends the list `more` to *list. */
void packets_append(struct packet **list, struct packet *more);

#endif
