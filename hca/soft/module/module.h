/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Functions that the files of module/ offer each other. module/ uses every other folder, and no other folder uses
 * module/.
 */
#ifndef SOFT_MODULE_H
#define SOFT_MODULE_H

#include <iba/ib_hca.h>
#include <iba/ib_soft.h>

struct fault_rule_text;
struct soft_hca;

/* module.c */
/* Executes SOFT_STEP over all HCAs. */
al_status module_step(const uint64_t *choice, struct soft_step *step);
/* Calls fault_misplaced() with the module's configuration. */
const char *module_misplaced(const struct fault_rule_text *rule);
/*
 * Starts a hot removal, on a thread of its own. Implements soft_hca.remove. AL_CA_REMOVED: the HCA is being
 * withdrawn.
 */
al_status module_remove_hca(struct soft_hca *hca, uint32_t flags);

/* hca.c */
/* Makes the parts of an HCA from hca->conf. random: makes numbers and keys differ from process to process. */
al_status hca_create(struct soft_hca *hca, uint32_t random);
void hca_destroy(struct soft_hca *hca);
extern const struct ci_interface soft_interface;

/* vendor.c */
al_status soft_vendor_call(struct ci_ca *ca, struct ci_vendor_call *call, struct ci_udata *udata);
/* Start and stop the capture of a port's packets. port: 0 means all ports of the HCA. */
al_status vendor_start_capture(struct soft_hca *hca, uint32_t port, const char *path);
void vendor_stop_capture(struct soft_hca *hca, uint32_t port);

#endif
