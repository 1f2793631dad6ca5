/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The HCAs that a client knows of: each from the client's first hearing of it until the end of the session, since events of
 * an HCA may be under way after its removal.
 */
#ifndef AL_AGENT_HCA_H
#define AL_AGENT_HCA_H

#include <iba/ib_al.h>

#include "al/agent/event.h"

/* Made and changed under outbox->lock, by PnP callbacks, workers and the loop. */
struct hca {
	struct hca *next;
	uint64_t guid;
	al_ca_h ca;             /* open, or NULL */
	bool opening;
	bool leaving;           /* being removed: the client's objects on it are being destroyed */
	uint32_t removals;      /* that have begun */
	uint32_t num_objects;   /* the client's on it; the loop's */
	struct source source;   /* arrival and removal */
	uint32_t num_ports;
	struct source *ports;   /* num_ports + 1; [0]: the HCA itself; NULL: never opened */
};

struct hcas {
	struct outbox *outbox;
	struct hca *first;
};

/* The client's HCA of that GUID, which is made if it is not there. NULL: no memory. */
struct hca *hca_make(struct hcas *hcas, uint64_t guid);
void hcas_free(struct hcas *hcas);

/*
 * Begins an opening, which hca_opened() ends. AL_NOT_FOUND: there is no such HCA. AL_DUPLICATE: it is open, being opened or
 * being removed.
 */
al_status hca_open(struct hcas *hcas, uint64_t guid, struct hca **hca);
/* ca: NULL if the opening has failed. */
void hca_opened(struct hca *hca, al_ca_h ca);
void hca_closed(struct hca *hca);
/* The sources of an HCA's ports, with the cookie that the client gave at this opening. */
al_status hca_make_ports(struct hca *hca, uint32_t num_ports, uint64_t cookie);

/* Begins the removal of an HCA, which hca_removed() ends. Returns the session's handle of the HCA, or NULL: it is not open. */
al_ca_h hca_remove(struct hca *hca);
void hca_removed(struct hca *hca);
/* Is a removal under way? Any thread. */
bool hca_leaving(struct hca *hca);
/* How many removals have begun. Any thread. */
uint32_t hca_removals(struct hca *hca);

#endif
