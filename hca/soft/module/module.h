/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Functions that the files of module/ offer each other. module/ uses every other folder, and no other folder uses
 * module/.
 */
#ifndef SOFT_MODULE_H
#define SOFT_MODULE_H

#include <iba/ib_hca.h>
#include <iba/ib_soft.h>

#include "hca/soft/base/config.h"

struct fabric_switch;
struct fault_rule_text;
struct hca_config;
struct ports;
struct soft_hca;
struct soft_port;
struct topology_node;

/* module.c */
/* Sets what a topology says of a node as a whole. */
void module_place(struct hca_config *conf, const struct topology_node *n);
/* Executes SOFT_STEP over all HCAs. */
al_status module_step(const uint64_t *choice, struct soft_step *step);
/* Calls fault_misplaced() with the module's configuration, or looks for the rule's switch and port.
 */
const char *module_misplaced(const struct fault_rule_text *rule, uint32_t *at);
/* Lists the rules in force, from index first on. */
void module_list_faults(uint32_t first, struct soft_fault_list *list);
/* Replaces the rules of all HCAs and switches. AL_INSUFFICIENT_MEMORY: no rule is in force. */
al_status module_set_faults(const struct fault_rule_text *rules, uint32_t num);
/*
 * Starts a hot removal, on a thread of its own. Implements soft_hca.remove. AL_CA_REMOVED: the HCA is being
 * withdrawn.
 */
al_status module_remove_hca(struct soft_hca *hca, uint32_t flags);

/* Operations that HCAs and switches have in common: rows of their two tables. */
#define SOFT_COMMON_INTERFACE \
	.size = sizeof(struct ci_interface), \
	.abi_major = CI_ABI_MAJOR, \
	.abi_minor = CI_ABI_MINOR, \
	.obj_size = { \
		[CI_OBJ_AH] = sizeof(struct soft_ah), \
		[CI_OBJ_MR] = sizeof(struct soft_mr), \
		[CI_OBJ_CQ] = sizeof(struct soft_cq), \
		[CI_OBJ_QP] = sizeof(struct soft_qp), \
	}, \
	.open_ca = soft_open_ca, \
	.close_ca = soft_close_ca, \
	.query_ca = soft_query_ca, \
	.query_port = soft_query_port, \
	.query_gid = soft_query_gid, \
	.query_pkey = soft_query_pkey, \
	.modify_port = soft_modify_port, \
	.vendor_call = soft_vendor_call, \
	.allocate_pd = soft_allocate_pd, \
	.deallocate_pd = soft_deallocate_pd, \
	.create_ah = soft_create_ah, \
	.modify_ah = soft_modify_ah, \
	.query_ah = soft_query_ah, \
	.destroy_ah = soft_destroy_ah, \
	.register_mr = soft_register_mr, \
	.deregister_mr = soft_deregister_mr, \
	.revoke_mr = soft_revoke_mr, \
	.query_mr = soft_query_mr, \
	.create_cq = soft_create_cq, \
	.destroy_cq = soft_destroy_cq, \
	.poll_cq = soft_poll_cq, \
	.arm_cq = soft_arm_cq, \
	.arm_cq_n = soft_arm_cq_n, \
	.peek_cq = soft_peek_cq, \
	.resize_cq = soft_resize_cq, \
	.modify_cq = soft_modify_cq, \
	.query_cq = soft_query_cq, \
	.create_spl_qp = soft_create_spl_qp, \
	.modify_qp = soft_modify_qp, \
	.query_qp = soft_query_qp, \
	.destroy_qp = soft_destroy_qp, \
	.post_send = soft_post_send, \
	.post_recv = soft_post_recv

/* hca.c */
/* Makes the parts of an HCA from hca->conf. random: makes numbers and keys differ from process to process. */
al_status hca_create(struct soft_hca *hca, uint32_t random);
void hca_destroy(struct soft_hca *hca);
extern const struct ci_interface soft_interface;

/* switch.c */
/*
 * Sets the settings of a switch, which hca_create() then makes. common: settings of an HCA, of
 * which the switch has those that hold for all. agents: of the switch.
 */
void switch_configure(struct soft_hca *hca, struct fabric_switch *sw,
		      const struct hca_config *common, enum soft_agents agents);
/* Returns the index of a switch's port in the topology. */
uint32_t switch_port_index(const struct fabric_switch *sw, uint8_t number);
/* Sets number, GUID and first state of a port of a switch. */
void switch_fill_port(struct soft_hca *hca, struct soft_port *port);
/* Reads or writes an attribute of a switch: firmware_attr. */
uint16_t switch_node_attr(struct ports *ports, uint8_t num, uint16_t attr_id, uint32_t attr_mod,
			  bool set, uint8_t *data);
/* Executes SOFT_REBOOT: all ports go down, all registers become those of a new switch, and the
 * ports come up. */
void switch_reboot(struct soft_hca *hca);
extern const struct ci_interface soft_switch_interface;

/* vendor.c */
al_status soft_vendor_call(struct ci_ca *ca, struct ci_vendor_call *call, struct ci_udata *udata);
/* Start and stop the capture of a port's packets. port: 0 means all ports of the HCA. */
al_status vendor_start_capture(struct soft_hca *hca, uint32_t port, const char *path);
void vendor_stop_capture(struct soft_hca *hca, uint32_t port);

#endif
