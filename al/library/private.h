/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What the library exports for the agent, ald, and nobody else: no part of the contracts, and good for an agent of the same
 * version only. What it exports of clients is in al/object/client.h.
 */
#ifndef AL_LIBRARY_PRIVATE_H
#define AL_LIBRARY_PRIVATE_H

#include <iba/ib_al.h>

/*
 * al_reg_mr() of memory that the agent has mapped for the client it acts for: it is the agent's own, which modules reach
 * as any other.
 */
al_status al_reg_mapped_mr(al_pd_h pd, const struct al_mr_init *init, void *context, uint32_t *lkey, uint32_t *rkey,
			   al_mr_h *mr);

/* The name of the module whose HCA this is, of this process's own. AL_NOT_FOUND: there is none. */
al_status al_module_of(uint64_t guid, char *name, size_t size);

/*
 * Reads the groups of ibal.conf(5) that are the library's, and loads nothing. AL_BAD_CONFIG: the
 * log says each fault. Modules look at the keys of their own groups when they are loaded. config:
 * as al_open_attr.config.
 */
al_status al_check_config(const char *config);

#endif
