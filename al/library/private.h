/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Functions that the library exports for the agent, ald, only. They are no part of the API, and work with an agent of
 * the library's own version only. The exported functions for clients are in al/object/client.h.
 */
#ifndef AL_LIBRARY_PRIVATE_H
#define AL_LIBRARY_PRIVATE_H

#include <iba/ib_al.h>

#include "al/mgmt/owner.h"

/*
 * Registers memory that the agent has mapped for the client for which it acts. The range lies in the agent's own
 * address space, so modules access it like any memory of the process. Parameters and statuses are al_reg_mr()'s.
 */
al_status al_reg_mapped_mr(al_pd_h pd, const struct al_mr_init *init, void *context, uint32_t *lkey, uint32_t *rkey,
			   al_mr_h *mr);

/* As al_attach_mcast(), and writes whether the queue pair was no member of the group before. */
al_status al_attach_mcast_once(al_qp_h qp, const ib_gid *gid, uint16_t mlid, bool *is_new);

/* mad_reg_owned() and mad_next_part() of al/mgmt/owner.h. */
al_status al_reg_owned_mad_svc(al_ca_h ca, const struct al_mad_svc_init *init, void *context,
			       const struct al_mad_owner *owner, al_mad_svc_h *svc);
al_status al_mad_next_outcome(al_mad_svc_h svc, struct ib_mad *mad, struct al_mad_part *part);
al_status al_mad_next_part(al_mad_svc_h svc, uint32_t size, uint32_t offset, void *to,
			   uint32_t room, struct al_mad_part *part);

/* Writes the name of the module that registered the HCA or switch in this process, and whether it
 * is a switch. AL_NOT_FOUND: the process has no HCA or switch of the GUID. */
al_status al_module_of(uint64_t guid, char *name, size_t size, bool *is_switch);

/* As al_reg_pnp() with a callback and without attributes, for switches: the library calls the
 * callback for each switch that arrives or is removed, and for no HCA. */
al_status al_reg_switch_pnp(al_h al, void *context, al_pnp_cb cb, al_pnp_h *pnp);

/*
 * Checks the library's groups of ibal.conf(5) and loads no module. AL_BAD_CONFIG: the log names each error. A module
 * checks the keys of its own group when it is loaded. config: as in al_open_attr.config.
 */
al_status al_check_config(const char *config);

/* async_set_failure_owner() of al/event/async.h. */
void al_set_failure_owner(void (*cb)(void *context));

/* Forgets the thread's reason: al_reason() is "" until the thread's next refused call. */
void al_reason_clear(void);

/* Replaces the function that writes the messages which go to standard error: ci_log_set_writer().
 */
void al_set_log_writer(void (*write_line)(ib_log_level level, const char *who, const char *line,
					  size_t length));

#endif
