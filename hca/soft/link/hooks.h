/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Hooks of tests: what may see, clip, keep and change the packets of sources. They are there as long as the module is
 * (hook_set()); each is called only where port_faulty() or link_watched() says so, but for forget.
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

/* Consecutive packets of a message, about to leave. */
struct stretch {
	uint64_t n;    /* number of the first in its flow */
	uint32_t psn;  /* of the first */
	uint32_t num;
	uint8_t kind;  /* enum pkt_kind */
	uint8_t place; /* enum pkt_place */
	enum flow_index flow;
};

enum verdict {
	PACKET_PASSES,
	PACKET_LOST,  /* it does not leave the port */
	PACKET_TAKEN, /* it comes later, or not as it was */
};

struct link_hooks {
	/* Those of the first `limit` packets of a stretch that may leave as one train, at least 1. */
	uint32_t (*clip)(const struct source *src, const struct stretch *s, uint32_t limit);
	/* Will nothing be done to any of them? The caller owns the source. */
	bool (*passes)(struct source *src, const struct stretch *s);
	/* Packet number n of a flow is about to leave. */
	enum verdict (*leaves)(struct runner *r, struct source *src, struct packet *pkt, enum flow_index flow,
			       uint64_t n);
	/* All up to number n have left. */
	void (*left)(struct runner *r, struct source *src, enum flow_index flow, uint64_t n);
	/* A source leaves its port: its flows end. */
	void (*forget)(struct source *src);
	/* A train was sent, one has come in. */
	void (*sent)(const struct source *src, const struct packet *pkt);
	void (*received)(const struct soft_port *port, const struct packet *pkt);
};

extern const struct link_hooks *link_hooks;
extern _Atomic bool link_watched_flag __attribute__((visibility("hidden")));

/* Somebody looks at packets: then none may go unseen. */
static inline bool link_watched(void)
{
	return __builtin_expect(atomic_load_explicit(&link_watched_flag, memory_order_relaxed), 0);
}

#endif
