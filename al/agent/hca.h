/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The HCAs that a client knows of, and the switches, which are served like HCAs. A struct hca stays
 * from the HCA's arrival until the end of the session, since events of an HCA may be under way
 * after its removal.
 */
#ifndef AL_AGENT_HCA_H
#define AL_AGENT_HCA_H

#include <iba/ib_al.h>

#include "al/agent/event.h"

/* An HCA of one client. PnP callbacks and the pool's threads, on the loop and off it, change it,
 * under outbox->lock. */
struct hca {
	struct hca *next;       /* in hcas.first */
	uint64_t guid;
	al_ca_h ca;             /* the session's handle; NULL: the client has not opened the HCA */
	bool opening;           /* between hca_open() and hca_opened() */
	bool leaving;           /* the HCA is being removed, and the client's objects on it are being destroyed */
	uint32_t removals;      /* number of removals that have begun */
	uint32_t num_objects;   /* number of the client's objects on the HCA; the loop's, without the lock */
	struct source source;   /* of the HCA's arrival and removal */
	uint32_t num_ports;
	struct source *ports;   /* by port number; [0]: the HCA itself; NULL: the client has never opened the HCA */
};

/* The HCAs of one client. */
struct hcas {
	struct outbox *outbox;
	struct hca *first;
};

/* The client's HCA of a GUID; made if the client did not know the HCA. NULL: no memory. */
struct hca *hca_make(struct hcas *hcas, uint64_t guid);
void hcas_free(struct hcas *hcas);

/*
 * Begins an opening, which hca_opened() ends. AL_NOT_FOUND: there is no such HCA. AL_DUPLICATE: it
 * is open, being opened or being removed.
 */
al_status hca_open(struct hcas *hcas, uint64_t guid, struct hca **hca);
/* Ends an opening. ca: the session's handle of the HCA; NULL: the opening has failed. */
void hca_opened(struct hca *hca, al_ca_h ca);
/* The client has closed the HCA. */
void hca_closed(struct hca *hca);
/* Makes the sources of the HCA's ports, whose events carry the cookie that the client gave at this
 * opening. */
al_status hca_make_ports(struct hca *hca, uint32_t num_ports, uint64_t cookie);

/*
 * Begins the removal of an HCA, which hca_removed() ends. Returns the session's handle; NULL: the
 * client has not opened the HCA.
 */
al_ca_h hca_remove(struct hca *hca);
void hca_removed(struct hca *hca);
/* True while the HCA is being removed. Any thread. */
bool hca_leaving(struct hca *hca);
/* The number of removals that have begun: a changed number tells that the objects of before are
 * gone. Any thread. */
uint32_t hca_removals(struct hca *hca);

#endif
