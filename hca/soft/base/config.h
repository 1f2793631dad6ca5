/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What ibal.conf and IBAL_SOFT say, checked: one struct per HCA. The keys are in ibal-soft(5). */
#ifndef SOFT_CONFIG_H
#define SOFT_CONFIG_H

#include <iba/ib_hca.h>
#include <iba/ib_soft.h>

#define SOFT_MAX_HCAS 64
#define SOFT_MAX_PORTS 8
#define SOFT_MAX_PKEYS 32
#define SOFT_MAX_GIDS 8
#define SOFT_MAX_SGE 64
#define SOFT_MAX_FAULTS SOFT_FAULT_RULES
#define SOFT_MAX_LINKS 64
#define SOFT_NAME 24
#define SOFT_PATH 1020

/* A fault as text gives it. */
struct fault_rule_text {
	struct soft_fault fault;
	char hca[SOFT_NAME]; /* whose; "": every HCA's */
	uint32_t at;         /* where in the text it begins */
};

struct hca_config {
	char name[SOFT_NAME]; /* of [soft hca NAME]; "0", "1", ... unless given */
	uint32_t ports;
	uint32_t vectors;     /* as many as processors, unless given */
	uint32_t mtu;         /* bytes */
	uint32_t lid;         /* of port 1 */
	uint32_t lmc;
	uint32_t gids;        /* entries of each port's GID table that are filled */
	uint32_t num_pkeys;
	uint16_t pkeys[SOFT_MAX_PKEYS];
	uint32_t seed;
	uint64_t guid;        /* 0: made up */
	uint32_t max_qp, max_qp_wr, max_sge, max_inline, max_cq, max_cqe, max_mr, max_pd, max_ah,
		max_rd_atomic;
	uint32_t atomics;     /* 0: the HCA has none */
	uint64_t max_mr_size;
	char capture[SOFT_PATH]; /* file; "": none */
	uint32_t ring_spin;      /* us that the thread of clients' rings looks on after its last work */
	uint32_t capture_port;   /* 0: all */
	uint32_t num_faults;
	struct fault_rule_text faults[SOFT_MAX_FAULTS];
};

/* A cable between two ports. */
struct link_config {
	char name[SOFT_NAME];
	uint32_t hca[2];
	uint32_t port[2];
};

struct soft_config {
	bool manual; /* progress */
	uint32_t hcas;
	struct hca_config hca[SOFT_MAX_HCAS];
	uint32_t num_links;
	struct link_config links[SOFT_MAX_LINKS];
};

/* AL_BAD_CONFIG: what is wrong, where, and what would be right has been logged. */
al_status config_read(struct soft_config *config, const struct ci_params *params);
/* A number, decimal or with 0x, of that range. */
bool config_number(const char *text, uint64_t min, uint64_t max, uint64_t *value);

/*
 * Faults as in IBAL_FAULT: "drop,n=3,flow=request;delay,time=5ms,chance=1%". Returns what is wrong, and writes where in the
 * text that begins; NULL: nothing.
 */
const char *fault_read(const char *text, struct fault_rule_text *rules, uint32_t max, uint32_t *num, uint32_t *at);
/* What keeps a rule from its place in the configuration: it names an HCA or a port that is not there. NULL: nothing. */
const char *fault_misplaced(const struct soft_config *config, const struct fault_rule_text *rule);
/* What a rule means, in words. */
void fault_words(const struct fault_rule_text *rule, char *to, size_t size);
/* What makes a rule that has no meaning; NULL: it has one. */
const char *fault_wrong(const struct soft_fault *fault);
const char *fault_action_name(uint32_t action);
#define SOFT_MAX_DELAY (24ull * 3600 * 1000000000) /* ns */

#endif
