/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The upper half that the soak puts above the software HCA: it starts the module in manual progress, creates objects,
 * and passes events on. It replaces libibal, and uses only the HCA's table of operations and vendor calls.
 */
#ifndef SOAK_BED_H
#define SOAK_BED_H

#include <iba/ib_hca.h>

#include <iba/ib_soft.h>

enum { BED_HCAS = 8 };

struct bed_hca {
	struct ci_ca *ca;
	struct ci_pd *pd, *other_pd;
};

/* A completion queue: the number of its notifications, and whether it has reported an overflow. */
struct bed_cq {
	struct ci_cq *ci;
	uint32_t notified;
	uint32_t errors;
};

extern struct ci_interface bed_ops; /* the module's table, once the module has started */
extern struct bed_hca bed_hca[BED_HCAS];
extern uint32_t bed_hcas;
extern uint8_t bed_ports; /* of each HCA */
extern char bed_log[256];
/* Called for events of queue pairs, with ci_qp.ctx. */
extern void (*bed_qp_event)(void *ctx, ib_event_type type);

/* Starts the module. False: the module refused to start, and bed_log has the reason. */
bool bed_up(const char *settings);
/* Ends the module. Returns the number of allocations that are left. */
uint64_t bed_down(void);

/* Allocates an object of the module's size, zeroed. */
void *bed_object(enum ci_obj kind, size_t plain);
al_status bed_vendor(uint32_t hca, uint32_t code, const void *in, uint32_t in_len, void *out, uint32_t out_len);
/* Makes one step. Returns what the step did (enum soft_step_did). */
uint32_t bed_step(uint64_t choice, uint64_t *now);
/* Packets that faults have met, and packets sent, of all HCAs. */
uint64_t bed_faults(void);
uint64_t bed_packets(void);

#endif
