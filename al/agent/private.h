/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What the library exports for the agent, ald, and nobody else: no part of the contracts, and good
 * for an agent of the same version only.
 */
#ifndef AL_AGENT_PRIVATE_H
#define AL_AGENT_PRIVATE_H

#include <iba/ib_al.h>
#include <iba/ib_hca.h>

/* The calling thread's calls are a client's from now on; NULL: its own. udata stays the caller's. */
void al_act_for(struct ci_udata *udata);

/*
 * al_reg_mr() of memory that the agent has mapped for the client it acts for: it is the agent's own, which modules reach
 * as any other.
 */
al_status al_reg_mapped_mr(al_pd_h pd, const struct al_mr_init *init, void *context, uint32_t *lkey, uint32_t *rkey,
			   al_mr_h *mr);

/* Around a client's life: after it has been filled in, and before it is freed. */
void al_client_begin(struct ci_client *client);
/* The job is run when the client's thread has done what it was given before. False: it has none, and copies nothing. */
bool al_client_after(struct ci_client *client, struct ci_client_job *job);
/* Its last object is gone, and its opening. True: it had a thread, which calls ended when that ends. */
bool al_client_end(struct ci_client *client, void (*ended)(void *context), void *context);
void al_client_free(struct ci_client *client);

/* The name of the module whose HCA this is, of this process's own. AL_NOT_FOUND: there is none. */
al_status al_module_of(uint64_t guid, char *name, size_t size);

/*
 * Reads the groups of ibal.conf(5) that are the library's, and loads nothing. AL_BAD_CONFIG: the
 * log says each fault. Modules look at the keys of their own groups when they are loaded. config:
 * as al_open_attr.config.
 */
al_status al_check_config(const char *config);

#endif
