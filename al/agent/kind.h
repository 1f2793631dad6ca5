/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The kinds of a client's objects: the rows of kinds.def. */
#ifndef AL_AGENT_KIND_H
#define AL_AGENT_KIND_H

#include <stdbool.h>

#include <iba/ib_al.h>

#include "al/agent/account.h"

struct kind {
	al_resource resource; /* of which an object is one */
	bool is_hca;
	bool copied;
	uint32_t most;        /* offset of the member of struct ib_ca_attr; 0: none */
	uint32_t cookie;      /* offset of the cookie in the maker's request; 0: none */
	/* Of one to be made, by the maker's request. AGENT_TOO_MUCH: beyond every limit. */
	uint64_t (*bytes)(const void *request);
	uint64_t (*rings)(const void *request);
	/* handle: in the agent's Access Layer */
	al_status (*destroy)(const void *handle, al_destroyed_cb cb, void *context);
};

/* By al_object_type; of kinds.def's only. */
extern const struct kind kinds[AL_OBJ_TYPES];

/* Lowers what an HCA says to be its limits to what this client can have. Any thread. */
void kinds_show_limits(const struct account *client, struct ib_ca_attr *attr);

#endif
