/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Hooks by which tests see, split, keep and change the packets of sources. lab/lab.c registers the hooks before the
 * first HCA is made. Callers ask port_faulty() before clip, passes, leaves and left, and link_watched() before sent
 * and received. forget is always called.
 */
#ifndef SOFT_HOOKS_H
#define SOFT_HOOKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "hca/soft/packet/packet.h"

struct runner;
struct soft_port;
struct source;

/* Consecutive packets of one message that a source is about to send. */
struct stretch {
	uint64_t first; /* number of the first packet in its flow; a flow's packets are numbered from 1 */
	uint32_t psn;   /* PSN of the first packet */
	uint32_t count; /* packets */
	uint8_t kind;   /* enum pkt_kind of the message */
	uint8_t place;  /* enum pkt_place of the whole stretch */
	enum flow_index flow;
};

/* A hook's decision about a packet that is about to leave. */
enum verdict {
	PACKET_PASSES, /* the source sends the packet */
	PACKET_LOST,   /* the source drops the packet and counts a discard */
	/* the source does not send the packet; the hook sends a copy later, or has counted a damaged packet */
	PACKET_TAKEN,
};

/* The caller of clip, passes, leaves, left and forget owns the source. */
struct link_hooks {
	/* Returns how many of the stretch's first `limit` packets may leave as one train: at least 1. */
	uint32_t (*clip)(const struct source *src, const struct stretch *s, uint32_t limit);
	/* True: all packets of the stretch pass, and leaves and left have nothing to do for them. */
	bool (*passes)(struct source *src, const struct stretch *s);
	/* Decides about a train whose first packet has number n in its flow, just before the train leaves. */
	enum verdict (*leaves)(struct runner *r, struct source *src, struct packet *pkt, enum flow_index flow,
			       uint64_t n);
	/* All packets of the flow up to number n have left. */
	void (*left)(struct runner *r, struct source *src, enum flow_index flow, uint64_t n);
	/* Drops the packets that the hooks keep of a source, because the source leaves its port and its flows end. */
	void (*forget)(struct source *src);
	/* A source has sent a train. */
	void (*sent)(const struct source *src, const struct packet *pkt);
	/* A train has come in at a port. */
	void (*received)(const struct soft_port *port, const struct packet *pkt);
};

extern const struct link_hooks *link_hooks;
extern _Atomic bool link_watched_flag __attribute__((visibility("hidden")));

/* True: a capture is open, so every packet must exist and be shown to the hooks sent and received. */
static inline bool link_watched(void)
{
	return __builtin_expect(atomic_load_explicit(&link_watched_flag, memory_order_relaxed), 0);
}

#endif
