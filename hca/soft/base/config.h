/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The module's settings from ibal.conf and IBAL_SOFT, checked: one struct per HCA (config.c, settle.c), and the text of faults
 * (fault_text.c). ibal-soft(5) describes the keys.
 */
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

/* A fault rule that has been read from text. */
struct fault_rule_text {
	struct soft_fault fault;
	char hca[SOFT_NAME]; /* name of the HCA that the rule is for; "": the rule is for every HCA */
	uint64_t sw;         /* GUID of the switch that the rule is for, and for no HCA; 0: none */
	/* indices in the text: of the rule's first character; and of the values of hca= or switch=,
	   and of port=, or else of the first character again */
	uint32_t at, node_at, port_at;
};

/* The error of a text of rules. */
struct fault_error {
	uint32_t at; /* index of the character at which the error begins */
	char why[256];
};

/* Which agents answer the management datagrams that come to the ports of an HCA. */
enum soft_agents {
	SOFT_AGENTS_BY_SUBNET, /* the setting is missing: AL in a managed subnet, else NONE */
	SOFT_AGENTS_NONE,      /* the services of channel drivers only */
	SOFT_AGENTS_AL,        /* the agents of the Access Layer */
	SOFT_AGENTS_HARDWARE,  /* agents of the ports' own (firmware/) */
};

struct hca_config {
	char name[SOFT_NAME]; /* NAME of [soft hca NAME]; by default the HCA's index in decimal */
	uint32_t ports;
	uint32_t vectors;     /* completion vectors; by default one for each processor */
	uint32_t mtu;         /* bytes */
	uint32_t lid;         /* base LID of port 1 */
	uint32_t lmc;
	uint32_t gids;        /* entries of each port's GID table that are filled */
	uint32_t num_pkeys;
	uint16_t pkeys[SOFT_MAX_PKEYS];
	uint32_t seed;
	uint64_t guid;        /* node GUID; 0: the module makes one */
	ib_link_layer link_layer; /* of all ports: InfiniBand or Ethernet */
	uint64_t mac;         /* Ethernet: address of port 1, 48 bits; 0: made from the port's GUID */
	uint32_t num_ips;     /* Ethernet: IP addresses of port 1, as GIDs: config_ip() */
	ib_gid ips[SOFT_MAX_GIDS - 1];
	/* the HCA's place in a topology: what the topology says of the node and of each port */
	bool placed;          /* the members below count */
	char description[65]; /* NodeDescription */
	/* SystemImageGUID, VendorID and DeviceID; 0: the topology has none */
	uint64_t system_guid;
	uint32_t vendor, device;
	struct {
		uint64_t guid;
		uint32_t index; /* of the port in the topology */
		uint16_t lid;
		uint8_t lmc;
		uint8_t width, speed; /* as in struct soft_port */
		bool cabled;
	} place[SOFT_MAX_PORTS];
	uint32_t max_qp, max_qp_wr, max_sge, max_inline, max_cq, max_cqe, max_mr, max_pd, max_ah,
		max_rd_atomic, max_mcast_grp, max_mcast_qp_attach, max_total_mcast_qp_attach;
	uint32_t atomics;     /* 1: the HCA executes atomics */
	bool managed;         /* soft_config.managed */
	enum soft_agents agents; /* once read, not SOFT_AGENTS_BY_SUBNET */
	uint64_t max_mr_size;
	char capture[SOFT_PATH]; /* file to capture packets in; "": no capture */
	/* us for which the thread of clients' rings polls after its last work, before it sleeps */
	uint32_t ring_spin;
	uint32_t capture_port;   /* port to capture; 0: all ports */
	uint32_t num_faults;
	struct fault_rule_text faults[SOFT_MAX_FAULTS];
};

/* A cable between two ports. */
struct link_config {
	char name[SOFT_NAME];
	uint32_t hca[2];  /* index of the HCA at each end */
	uint32_t port[2]; /* number of the port at each end */
};

struct soft_config {
	bool manual;   /* progress = manual */
	bool managed;  /* subnet = managed */
	enum soft_agents agents; /* of switches, as in struct hca_config */
	uint32_t hcas; /* HCAs in use of hca[] */
	struct hca_config *hca;   /* freed by config_free() */
	char topology[SOFT_PATH]; /* file with the shape of the subnet; "": HCAs and cables are of
				     this configuration */
	uint32_t num_links;
	struct link_config links[SOFT_MAX_LINKS];
	uint32_t num_cable_faults;
	struct fault_rule_text cable_faults[SOFT_MAX_FAULTS]; /* rules for switches */
};

/* How config_read() learns of the HCAs of a topology, whose text is not config.c's to read. */
struct config_shape {
	/* Reads the file, and counts the HCAs. AL_BAD_CONFIG: the error has been logged. */
	al_status (*read)(const char *path, uint32_t *hcas);
	/* Fills in the settings of the HCA at an index that come from the topology. */
	void (*place)(uint32_t index, struct hca_config *hca);
};

/*
 * Reads and checks the settings. shape NULL: there can be no topology. AL_BAD_CONFIG: the log has
 * the wrong setting, its place and the way out. AL_INSUFFICIENT_MEMORY. After any outcome
 * config_free() frees what the configuration holds.
 */
al_status config_read(struct soft_config *config, const struct ci_params *params,
		      const struct config_shape *shape);
void config_free(struct soft_config *config);
/*
 * The second half of config_read(): fills in settings that have no value, and checks settings against each other
 * (settle.c). AL_BAD_CONFIG: as with config_read().
 */
al_status config_settle(struct soft_config *config);
/* Returns the HCA of a name, and its index in *index. NULL: there is no such HCA. */
struct hca_config *config_find_hca(struct soft_config *config, const char *name, uint32_t *index);
/* Returns the GID of an IP address of a port, from 0. The addresses of a port follow those of the port before. */
ib_gid config_ip(const struct hca_config *hca, uint32_t index, uint32_t port);
/* Reads a whole text as a number, decimal or with 0x. False: the text is no number from min to max. */
bool config_number(const char *text, uint64_t min, uint64_t max, uint64_t *value);

/*
 * Reads faults as in IBAL_FAULT: "drop,n=3,flow=request;delay,time=5ms,chance=1%". Writes *count
 * rules, at most max. False: *error has the error.
 */
bool fault_read(const char *text, struct fault_rule_text *rules, uint32_t max, uint32_t *count,
		struct fault_error *error);
/*
 * Returns the error of a rule that names an HCA or port that the configuration does not have. NULL:
 * no error. *at: the error's index in the text.
 */
const char *fault_misplaced(const struct soft_config *config, const struct fault_rule_text *rule,
			    uint32_t *at);
/*
 * Returns the index of the first rule that takes each packet or allocation that the rule at an
 * index could meet; the index itself: there is none.
 */
uint32_t fault_taken_by(const struct fault_rule_text *rules, uint32_t index);
/*
 * Writes a description of the rule at an index of a text in words, and whether an earlier rule
 * takes all that it could meet. A rule alone has the index 0.
 */
void fault_words(const struct fault_rule_text *rules, uint32_t index, char *to, size_t size);
/* Returns the error of a rule whose fields contradict each other or are out of range. NULL: no error. */
const char *fault_wrong(const struct soft_fault *fault);
/* Returns the error of a rule for packets that leave a switch by its external ports. NULL: no
 * error. */
const char *fault_wrong_at_switch(const struct soft_fault *fault);
/* True: a rule does something to the queue pair that sends. It meets no packet of a port's own
 * agents. */
bool fault_is_about_qp(const struct soft_fault *fault);
/* Returns the name of an enum soft_fault_action value. */
const char *fault_action_name(uint32_t action);
#define SOFT_MAX_DELAY (24ull * 3600 * 1000000000) /* ns */

#endif
