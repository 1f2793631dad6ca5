/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Functions that the library exports for the agent, ald, only. They are no part of the API, and work with an agent of the
 * library's own version only. The exported functions for clients are in al/object/client.h.
 */
#ifndef AL_LIBRARY_PRIVATE_H
#define AL_LIBRARY_PRIVATE_H

#include <iba/ib_al.h>

/*
 * Registers memory that the agent has mapped for the client for which it acts. The range lies in the agent's own address
 * space, so modules access it like any memory of the process. Parameters and statuses are al_reg_mr()'s.
 */
al_status al_reg_mapped_mr(al_pd_h pd, const struct al_mr_init *init, void *context, uint32_t *lkey, uint32_t *rkey,
			   al_mr_h *mr);

/* As al_attach_mcast(), and writes whether the queue pair was no member of the group before. */
al_status al_attach_mcast_once(al_qp_h qp, const ib_gid *gid, uint16_t mlid, bool *is_new);

/* Writes the name of the module that registered the HCA in this process. AL_NOT_FOUND: the process has no such HCA. */
al_status al_module_of(uint64_t guid, char *name, size_t size);

/*
 * Checks the library's groups of ibal.conf(5) and loads no module. AL_BAD_CONFIG: the log names each error. A module checks
 * the keys of its own group when it is loaded. config: as in al_open_attr.config.
 */
al_status al_check_config(const char *config);

#endif
