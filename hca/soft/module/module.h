/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the module's files offer each other: they use every other folder, and none uses them. */
#ifndef SOFT_MODULE_H
#define SOFT_MODULE_H

#include <iba/ib_hca.h>
#include <iba/ib_soft.h>

struct fault_rule_text;
struct soft_hca;

/* module.c */
/* SOFT_STEP, over all HCAs. */
al_status module_step(const uint64_t *choice, struct soft_step *step);
/* fault_misplaced(), as the module is configured. */
const char *module_misplaced(const struct fault_rule_text *rule);
/* soft_hca.remove */
al_status module_remove_hca(struct soft_hca *hca, uint32_t flags);

/* hca.c */
/* random: makes numbers and keys differ from process to process. */
al_status hca_create(struct soft_hca *hca, uint32_t random);
void hca_destroy(struct soft_hca *hca);
extern const struct ci_interface soft_interface;

/* vendor.c */
al_status soft_vendor_call(struct ci_ca *ca, struct ci_vendor_call *call, struct ci_udata *udata);
/* port 0: all */
al_status vendor_start_capture(struct soft_hca *hca, uint32_t port, const char *path);
void vendor_stop_capture(struct soft_hca *hca, uint32_t port);

#endif
