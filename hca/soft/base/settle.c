/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Settles settings that have been read (config.c): gives values to those that have none, and checks them against each
 * other: places of faults, link layers and IP addresses, LIDs.
 */
#include "hca/soft/base/config.h"

#include <string.h>
#include <unistd.h>

/* ------------------------------------------------------------ places of faults */

const char *fault_misplaced(const struct soft_config *config, const struct fault_rule_text *rule,
			    uint32_t *at)
{
	const struct hca_config *hca;
	bool found = false;

	*at = rule->port_at;
	for (hca = config->hca; hca < config->hca + config->hcas; hca++) {
		if (*rule->hca && strcmp(rule->hca, hca->name))
			continue;
		found = true;
		if (rule->fault.port > hca->ports)
			return "an HCA that it is for has no such port";
	}
	*at = rule->node_at;
	return found ? NULL : "there is no such HCA";
}

/* Removes the faults of switches and of other HCAs from an HCA's list, and checks the HCA names and
 * ports of the rest. */
static al_status settle_faults(struct soft_config *config, struct hca_config *hca)
{
	uint32_t from, to = 0, index;

	for (from = 0; from < hca->num_faults; from++) {
		struct fault_rule_text *rule = &hca->faults[from];

		if (rule->sw)
			continue;
		if (*rule->hca && !config_find_hca(config, rule->hca, &index)) {
			ib_log(IB_LOG_ERROR, "soft",
			       "a fault's hca=%s: there is no such HCA; see ibal-soft(5)",
			       rule->hca);
			return AL_BAD_CONFIG;
		}
		if (*rule->hca && config_find_hca(config, rule->hca, &index) != hca)
			continue;
		if (rule->fault.port > hca->ports) {
			ib_log(IB_LOG_ERROR, "soft",
			       "a fault's port=%u: HCA %s has no such port; see ibal-soft(5)",
			       rule->fault.port, hca->name);
			return AL_BAD_CONFIG;
		}
		hca->faults[to++] = *rule;
	}
	hca->num_faults = to;
	return AL_SUCCESS;
}

static enum soft_agents agents_by_subnet(const struct soft_config *config)
{
	return config->managed ? SOFT_AGENTS_AL : SOFT_AGENTS_NONE;
}

/* ------------------------------------------------------- layers and addresses */

/* Returns the key of an HCA's settings that does not go with the link layer. NULL: there is none. */
static const char *key_beside_layer(const struct hca_config *hca)
{
	if (hca->link_layer != IB_LINK_LAYER_ETHERNET)
		return hca->mac ? "mac" : hca->num_ips ? "ip" : NULL;
	if (hca->managed)
		return "subnet=managed";
	if (hca->placed)
		return "topology";
	if (hca->agents == SOFT_AGENTS_AL || hca->agents == SOFT_AGENTS_HARDWARE)
		return "agents";
	if (hca->lid)
		return "lid";
	if (hca->lmc)
		return "lmc";
	if (hca->gids != 1)
		return "gids";
	return hca->num_pkeys != 1 || hca->pkeys[0] != IB_PKEY_DEFAULT ? "pkeys" : NULL;
}

ib_gid config_ip(const struct hca_config *hca, uint32_t index, uint32_t port)
{
	ib_gid gid = hca->ips[index];

	gid.raw[15] = (uint8_t)(gid.raw[15] + port);
	return gid;
}

static bool has_ip(const struct hca_config *hca, const ib_gid *gid)
{
	uint32_t index, port;
	ib_gid own;

	for (index = 0; index < hca->num_ips; index++)
		for (port = 0; port < hca->ports; port++) {
			own = config_ip(hca, index, port);
			if (!memcmp(&own, gid, sizeof(own)))
				return true;
		}
	return false;
}

/* True: two HCAs have an address in common. */
static bool have_common_ip(const struct hca_config *a, const struct hca_config *b)
{
	uint32_t index, port;
	ib_gid gid;

	for (index = 0; index < a->num_ips; index++)
		for (port = 0; port < a->ports; port++) {
			gid = config_ip(a, index, port);
			if (has_ip(b, &gid))
				return true;
		}
	return false;
}

/*
 * Fills in the addresses of Ethernet ports. Without any, a port has an IPv4 address of the network for benchmarks
 * (RFC 2544), which leads nowhere else.
 */
static void settle_addresses(struct soft_config *config)
{
	struct hca_config *hca;
	uint32_t i;

	for (i = 0; i < config->hcas; i++) {
		hca = &config->hca[i];
		if (hca->link_layer != IB_LINK_LAYER_ETHERNET)
			continue;
		if (!hca->num_ips)
			hca->ips[hca->num_ips++] =
				ib_gid_of_ip4((const uint8_t[]){ 198, 18, (uint8_t)i, 1 });
		hca->gids = 1 + hca->num_ips;
	}
}

/* Checks the settings of the link layers against the others, and fills in the addresses of Ethernet ports. */
static al_status settle_layers(struct soft_config *config)
{
	const struct hca_config *hca, *other;
	const struct link_config *l;
	const char *key;

	for (hca = config->hca; hca < config->hca + config->hcas; hca++) {
		key = key_beside_layer(hca);
		if (key) {
			ib_log(IB_LOG_ERROR, "soft",
			       "HCA %s: %s does not go with link_layer=%s; see ibal-soft(5)", hca->name,
			       key, hca->link_layer == IB_LINK_LAYER_ETHERNET ? "ethernet" : "infiniband");
			return AL_BAD_CONFIG;
		}
	}
	settle_addresses(config);
	for (hca = config->hca; hca < config->hca + config->hcas; hca++)
		for (other = config->hca; other < hca; other++)
			if (have_common_ip(hca, other)) {
				ib_log(IB_LOG_ERROR, "soft",
				       "HCA %s: HCA %s has one of its addresses (ip) already; see ibal-soft(5)",
				       hca->name, other->name);
				return AL_BAD_CONFIG;
			}
	for (l = config->links; l < config->links + config->num_links; l++)
		if (config->hca[l->hca[0]].link_layer != config->hca[l->hca[1]].link_layer) {
			ib_log(IB_LOG_ERROR, "soft",
			       "link %s: a cable joins ports of one link layer, and HCA %s and HCA %s differ; see ibal-soft(5)",
			       l->name, config->hca[l->hca[0]].name, config->hca[l->hca[1]].name);
			return AL_BAD_CONFIG;
		}
	return AL_SUCCESS;
}

/* ------------------------------------------------------------------------ all */

al_status config_settle(struct soft_config *config)
{
	uint32_t next = 1, lids;
	struct hca_config *hca;
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	if (!config->agents)
		config->agents = agents_by_subnet(config);
	for (hca = config->hca; hca < config->hca + config->hcas; hca++) {
		if (settle_faults(config, hca))
			return AL_BAD_CONFIG;
		lids = hca->ports << hca->lmc;
		hca->managed = config->managed;
		if (!hca->agents)
			hca->agents = agents_by_subnet(config);
		if (!hca->vectors)
			hca->vectors = processors > 0 && !config->manual ? (uint32_t)processors : 1;
		if (hca->placed || hca->link_layer == IB_LINK_LAYER_ETHERNET)
			continue;
		if (!hca->lid) /* aligned: the low bits are path bits */
			hca->lid = (next + (1u << hca->lmc) - 1) >> hca->lmc << hca->lmc;
		if (hca->lid & ((1u << hca->lmc) - 1) ||
		    hca->lid + lids - 1 > IB_LID_UNICAST_LAST) {
			ib_log(IB_LOG_ERROR, "soft",
			       "HCA %s: its LIDs would be %#x to %#x: the first must be a multiple of 2^lmc, and "
			       "the last at most 0xbfff; set lid in [soft hca %s]",
			       hca->name, hca->lid, hca->lid + lids - 1, hca->name);
			return AL_BAD_CONFIG;
		}
		next = next > hca->lid + lids ? next : hca->lid + lids;
	}
	return settle_layers(config);
}
