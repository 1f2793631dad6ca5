/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What the library exports for the agent, ald, and nobody else: no part of the contracts, and good
 * for an agent of the same version only.
 */
#ifndef AL_AGENT_PRIVATE_H
#define AL_AGENT_PRIVATE_H

#include <iba/ib_hca.h>

/* The calling thread's calls are a client's from now on; NULL: its own. udata stays the caller's. */
void al_act_for(struct ci_udata *udata);

/* The name of the module whose HCA this is, of this process's own. AL_NOT_FOUND: there is none. */
al_status al_module_of(uint64_t guid, char *name, size_t size);

#endif
