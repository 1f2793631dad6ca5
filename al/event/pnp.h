/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * PnP: registrations for the arrival and removal of HCAs and for port events, and the thread that
 * calls their callbacks.
 */
#ifndef AL_EVENT_PNP_H
#define AL_EVENT_PNP_H

#include "al/object/device.h"

struct pnp_ca;

/* A PnP registration. pnp_lock in pnp.c guards all members but obj. */
struct al_pnp {
	struct al_obj obj;
	al_pnp_cb cb;        /* callback; NULL: the registration has a channel, obj.uses[0] */
	bool ports;          /* port events are wanted: al_pnp_attr.ports */
	bool switches; /* the registration gets the events of switches only; else of HCAs only */
	bool replayed;       /* AL_PNP_REPLAY_COMPLETE has been delivered */
	bool ending;         /* the registration is being deregistered */
	bool in_callback;    /* the callback runs */
	struct pnp_ca *cas, *last_ca; /* HCAs, in the order of their arrival */
	struct pnp_ca *due; /* no HCA before it has an arrival or a port event; NULL: none has */
	struct pnp_ca *leaving; /* no HCA behind it has a removal to deliver; NULL: none has */
	uint64_t arrivals;      /* HCAs that were ever in the list */
	uint32_t num_removing;  /* HCAs in the list that are being removed */
	struct al_pnp *next; /* list of registrations */
};

/*
 * Adds an arriving HCA to every registration and to the list of HCAs. The registrations' events are
 * delivered later. AL_INSUFFICIENT_MEMORY: nothing was added.
 */
al_status pnp_dev_add(struct al_dev *dev);
/*
 * Delivers the removal of an HCA. Returns when every registration's callback for the removal has
 * returned, or the removal has been read from the registration's channel and acknowledged.
 */
void pnp_dev_remove(struct al_dev *dev);
/*
 * Acknowledges the removal that was read from the registration's channel: pnp_dev_remove() stops
 * waiting for the reader.
 */
void pnp_acknowledge(struct al_obj *registration);
/* Adds a port event to every registration that wants port events. On the async dispatcher. */
void pnp_port_event(struct al_dev *dev, uint32_t port, ib_event_type type);

/* al_reg_pnp(). switches: the registration gets the events of switches only, and of no HCA. */
al_status pnp_register(al_h al, const struct al_pnp_attr *attr, bool switches, void *context,
		       al_pnp_cb cb, al_pnp_h *pnp);

/* Empties the list of registrations in a forked child, which inherits no PnP thread. */
void pnp_after_fork(void);

#endif
