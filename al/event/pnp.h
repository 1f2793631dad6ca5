/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* PnP: clients that hear of HCAs and ports, and the one thread that tells them. */
#ifndef AL_EVENT_PNP_H
#define AL_EVENT_PNP_H

#include "al/object/device.h"

struct pnp_ca;

/* A registration. What follows obj is guarded by pnp_lock, in pnp.c. */
struct al_pnp {
	struct al_obj obj;
	al_pnp_cb cb;        /* NULL: a channel, uses[0] */
	bool ports;
	bool replayed;       /* "replay complete" has been told */
	bool ending;         /* being deregistered */
	bool busy;           /* its callback runs */
	struct pnp_ca *cas;  /* in order of arrival */
	struct al_pnp *next;
};

/* An HCA is there: room for it in every registration, announcement queued. */
al_status pnp_dev_add(struct al_dev *dev);
/* It goes: returns when every client's remove has returned, or has been read from its channel and acknowledged. */
void pnp_dev_remove(struct al_dev *dev);
/* The reader of a registration's channel has done with the removal that it has read. */
void pnp_acknowledge(struct al_obj *registration);
/* Its clients are told of events in dev->ports[port], as set by the async dispatcher. */
void pnp_port_event(struct al_dev *dev, uint32_t port, ib_event_type type);

void pnp_child(void);

#endif
