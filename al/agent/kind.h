/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The kinds of a client's objects: the rows of kinds.def. */
#ifndef AL_AGENT_KIND_H
#define AL_AGENT_KIND_H

#include <stdbool.h>

#include <iba/ib_al.h>

#include "al/agent/account.h"

/* A row of kinds.def, which explains the columns. */
struct kind {
	al_resource resource; /* the resource of which each object of the kind takes one */
	bool is_hca;          /* place is IS_HCA */
	bool copied;          /* COPIED */
	uint32_t maps;        /* the most mappings of a file that comes with the maker's request */
	uint32_t most;        /* offset of the kind's maximum in struct ib_ca_attr; 0: no maximum */
	uint32_t cookie;      /* offset of the cookie in the maker's request; 0: no cookie */
	/* The bytes of registered memory, and of queues, of an object that the maker's request asks
	 * for. AGENT_TOO_MUCH: more than any limit. */
	uint64_t (*bytes)(const void *request);
	uint64_t (*rings)(const void *request);
	/* handle: the object's in the agent's Access Layer */
	al_status (*destroy)(const void *handle, al_destroyed_cb cb, void *context);
};

/* Indexed by al_object_type. Only the kinds of kinds.def have entries. */
extern const struct kind kinds[AL_OBJ_TYPES];

/* Lowers the maxima of an HCA to the limits of this client. Any thread. */
void kinds_show_limits(const struct account *client, struct ib_ca_attr *attr);

#endif
