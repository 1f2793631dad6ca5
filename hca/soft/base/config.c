/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Reads the module's settings, by a table of keys. ibal-soft(5) describes each key. The text of faults is in
 * fault_text.c. What settings that are read mean together is in settle.c.
 */
#include "hca/soft/base/config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hca/soft/shared/ring.h"

bool config_number(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
	bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	char *end;

	errno = 0;
	if (*text < '0' || *text > '9')
		return false;
	*value = strtoull(text, &end, hex ? 16 : 10);
	return !errno && !*end && *value >= min && *value <= max;
}

static al_status refuse(const struct ci_param *p, const char *why)
{
	ib_log(IB_LOG_ERROR, "soft", "%s: [soft%s%s] %s = %s: %s; see ibal-soft(5)", p->origin,
	       *p->section ? " " : "", p->section, p->key, p->value, why);
	return AL_BAD_CONFIG;
}

static al_status set_faults(struct hca_config *hca, const struct ci_param *p)
{
	struct fault_error error;
	const char *why = NULL;
	char text[300];
	uint32_t i;

	if (!fault_read(p->value, hca->faults, SOFT_MAX_FAULTS, &hca->num_faults, &error))
		why = error.why;
	for (i = 0; !why && i < hca->num_faults; i++) {
		error.at = hca->faults[i].node_at;
		if (*p->section && *hca->faults[i].hca)
			why = "hca= is not allowed here, because the section names the HCA";
		else if (*p->section && hca->faults[i].sw)
			why = "switch= is not allowed here, because the section names an HCA";
	}
	if (!why)
		return AL_SUCCESS;
	snprintf(text, sizeof(text), "at character %u: %s", error.at + 1, why);
	return refuse(p, text);
}

/* ------------------------------------------------------------------ HCA keys */

static al_status set_pkeys(struct hca_config *hca, const struct ci_param *p)
{
	char copy[512], *one, *save;
	uint64_t value;

	if (strlen(p->value) >= sizeof(copy))
		return refuse(p, "that is too long");
	strcpy(copy, p->value);
	memset(hca->pkeys, 0, sizeof(hca->pkeys));
	hca->num_pkeys = 0;
	for (one = strtok_r(copy, ",", &save); one; one = strtok_r(NULL, ",", &save)) {
		if (hca->num_pkeys == SOFT_MAX_PKEYS)
			return refuse(p, "at most 32 P_Keys");
		if (!config_number(one, 1, 0xffff, &value) || !(value & IB_PKEY_VALUE_MASK))
			return refuse(
				p,
				"a P_Key is a number from 1 to 0xffff, and not 0x8000; several by commas");
		hca->pkeys[hca->num_pkeys++] = (uint16_t)value;
	}
	return hca->num_pkeys ? AL_SUCCESS : refuse(p, "at least one P_Key");
}

static al_status set_mtu(struct hca_config *hca, const struct ci_param *p)
{
	uint64_t value;
	unsigned int code;

	for (code = IB_MTU_256; code <= IB_MTU_4096; code++) {
		if (!config_number(p->value, ib_mtu_bytes(code), ib_mtu_bytes(code), &value))
			continue;
		hca->mtu = (uint32_t)value;
		return AL_SUCCESS;
	}
	return refuse(p, "an MTU is 256, 512, 1024, 2048 or 4096");
}

static al_status set_capture(struct hca_config *hca, const struct ci_param *p)
{
	if (strlen(p->value) >= sizeof(hca->capture))
		return refuse(p, "that is too long for the name of a file");
	strcpy(hca->capture, p->value);
	return AL_SUCCESS;
}

static al_status set_vectors(struct hca_config *hca, const struct ci_param *p)
{
	uint64_t value = 0; /* auto */

	if (strcmp(p->value, "auto") && !config_number(p->value, 1, 256, &value))
		return refuse(p, "vectors are auto, or 1 to 256");
	hca->vectors = (uint32_t)value;
	return AL_SUCCESS;
}

static al_status set_agents(struct hca_config *hca, const struct ci_param *p)
{
	static const char *const names[] = { [SOFT_AGENTS_NONE] = "none",
					     [SOFT_AGENTS_AL] = "al",
					     [SOFT_AGENTS_HARDWARE] = "hardware" };
	size_t i;

	for (i = SOFT_AGENTS_NONE; i < sizeof(names) / sizeof(*names); i++) {
		if (strcmp(p->value, names[i]))
			continue;
		hca->agents = (enum soft_agents)i;
		return AL_SUCCESS;
	}
	return refuse(p, "agents is al, hardware or none");
}

static al_status set_link_layer(struct hca_config *hca, const struct ci_param *p)
{
	hca->link_layer = strcmp(p->value, "ethernet") ? IB_LINK_LAYER_INFINIBAND : IB_LINK_LAYER_ETHERNET;
	return hca->link_layer == IB_LINK_LAYER_ETHERNET || !strcmp(p->value, "infiniband")
		       ? AL_SUCCESS
		       : refuse(p, "link_layer is infiniband or ethernet");
}

static al_status set_mac(struct hca_config *hca, const struct ci_param *p)
{
	unsigned int byte[6], i;
	int end = 0;

	if (sscanf(p->value, "%2x:%2x:%2x:%2x:%2x:%2x%n", &byte[0], &byte[1], &byte[2], &byte[3], &byte[4],
		   &byte[5], &end) != 6 ||
	    strlen(p->value) != 17 || end != 17)
		return refuse(p, "a MAC address is six bytes such as 02:00:5e:10:00:01");
	for (i = 0, hca->mac = 0; i < 6; i++)
		hca->mac = hca->mac << 8 | byte[i];
	if (byte[0] & 1 || !hca->mac)
		return refuse(p, "the MAC address of a port is not 0, and no group's: its first byte is even");
	return AL_SUCCESS;
}

/* Reads an IP address, as the GID that it makes (IBTA A17.4.1.1). */
static bool read_ip(const char *text, ib_gid *gid)
{
	uint8_t ip[4];

	if (inet_pton(AF_INET, text, ip) == 1) {
		*gid = ib_gid_of_ip4(ip);
		return ip[0] && ip[0] < 224;
	}
	return inet_pton(AF_INET6, text, gid->raw) == 1 && gid->raw[0] != 0xff &&
	       memcmp(gid->raw + 8, (uint8_t[8]){ 0 }, 8);
}

static al_status set_ips(struct hca_config *hca, const struct ci_param *p)
{
	char copy[512], *one, *save;
	uint32_t i;

	if (strlen(p->value) >= sizeof(copy))
		return refuse(p, "that is too long");
	strcpy(copy, p->value);
	hca->num_ips = 0;
	for (one = strtok_r(copy, ",", &save); one; one = strtok_r(NULL, ",", &save)) {
		if (hca->num_ips == SOFT_MAX_GIDS - 1)
			return refuse(p, "at most 7 addresses");
		if (!read_ip(one, &hca->ips[hca->num_ips]))
			return refuse(p, "an address is an IPv4 or IPv6 address of one host; several by commas");
		for (i = 0; i < hca->num_ips; i++)
			if (!memcmp(&hca->ips[i], &hca->ips[hca->num_ips], sizeof(ib_gid)))
				return refuse(p, "an address stands there twice");
		hca->num_ips++;
	}
	return hca->num_ips ? AL_SUCCESS : refuse(p, "at least one address");
}

/* A key of [soft] or [soft hca NAME]: a number in a range, or (set is not NULL) text that `set` reads. */
struct key {
	const char *name;
	al_status (*set)(struct hca_config *hca, const struct ci_param *p);
	size_t offset, size;
	uint64_t min, max;
};

#define NUMBER(name, member, min, max)                                     \
	{                                                                  \
		name, NULL, offsetof(struct hca_config, member),           \
			sizeof(((struct hca_config *)0)->member), min, max \
	}

static const struct key keys[] = {
	NUMBER("ports", ports, 1, SOFT_MAX_PORTS),
	NUMBER("lid", lid, IB_LID_UNICAST_FIRST, IB_LID_UNICAST_LAST),
	NUMBER("lmc", lmc, 0, 7),
	NUMBER("gids", gids, 1, SOFT_MAX_GIDS),
	NUMBER("seed", seed, 0, UINT32_MAX),
	NUMBER("guid", guid, 1, UINT64_MAX),
	NUMBER("max_qp", max_qp, 1, 1 << 20),
	NUMBER("max_qp_wr", max_qp_wr, 1, 1 << 16),
	NUMBER("max_sge", max_sge, 1, SOFT_MAX_SGE),
	NUMBER("max_inline", max_inline, 0, 4096),
	NUMBER("max_cq", max_cq, 1, 1 << 20),
	NUMBER("max_cqe", max_cqe, RING_LEAST_CQE, 1 << 24),
	NUMBER("max_mr", max_mr, 1, 1 << 22),
	NUMBER("max_mr_size", max_mr_size, 1, 1ull << 47),
	NUMBER("max_pd", max_pd, 1, 1 << 20),
	NUMBER("max_ah", max_ah, 1, 1 << 22),
	NUMBER("max_rd_atomic", max_rd_atomic, 0, 128),
	NUMBER("max_mcast_grp", max_mcast_grp, 1, 1 << 20),
	NUMBER("max_mcast_qp_attach", max_mcast_qp_attach, 1, 1 << 20),
	NUMBER("max_total_mcast_qp_attach", max_total_mcast_qp_attach, 1, 1 << 24),
	NUMBER("atomics", atomics, 0, 1),
	NUMBER("ring_spin", ring_spin, 0, 10000000),
	NUMBER("capture_port", capture_port, 0, SOFT_MAX_PORTS),
	{ "agents", set_agents, 0, 0, 0, 0 },
	{ "capture", set_capture, 0, 0, 0, 0 },
	{ "fault", set_faults, 0, 0, 0, 0 },
	{ "ip", set_ips, 0, 0, 0, 0 },
	{ "link_layer", set_link_layer, 0, 0, 0, 0 },
	{ "mac", set_mac, 0, 0, 0, 0 },
	{ "mtu", set_mtu, 0, 0, 0, 0 },
	{ "pkeys", set_pkeys, 0, 0, 0, 0 },
	{ "vectors", set_vectors, 0, 0, 0, 0 },
};

static al_status set_key(struct hca_config *hca, const struct ci_param *p)
{
	const struct key *k;
	uint64_t value;
	char why[96];

	if (!strcmp(p->key, "progress"))
		return refuse(p, "progress is the same for all HCAs: set progress in [soft]");
	if (!strcmp(p->key, "subnet"))
		return refuse(p, "the subnet is the same for all HCAs: set subnet in [soft]");
	if (!strcmp(p->key, "topology"))
		return refuse(p, "the topology is of all HCAs: set topology in [soft]");
	for (k = keys; k < keys + sizeof(keys) / sizeof(*keys); k++) {
		if (strcmp(p->key, k->name))
			continue;
		if (k->set)
			return k->set(hca, p);
		if (!config_number(p->value, k->min, k->max, &value)) {
			snprintf(why, sizeof(why), "it must be a number from %llu to %llu",
				 (unsigned long long)k->min, (unsigned long long)k->max);
			return refuse(p, why);
		}
		if (k->size == 8)
			memcpy((char *)hca + k->offset, &value, 8);
		else
			memcpy((char *)hca + k->offset, &(uint32_t){ (uint32_t)value }, 4);
		return AL_SUCCESS;
	}
	return refuse(p, "there is no such key");
}

/* -------------------------------------------------------------------- cables */

struct hca_config *config_find_hca(struct soft_config *config, const char *name, uint32_t *index)
{
	for (*index = 0; *index < config->hcas; ++*index)
		if (!strcmp(config->hca[*index].name, name))
			return &config->hca[*index];
	return NULL;
}

/* True: another link than `except` has this port as an end. */
static bool is_linked(const struct soft_config *config, uint32_t hca, uint32_t port,
		      const struct link_config *except)
{
	const struct link_config *l;

	for (l = config->links; l < config->links + config->num_links; l++)
		if (l != except && ((l->hca[0] == hca && l->port[0] == port) ||
				    (l->hca[1] == hca && l->port[1] == port)))
			return true;
	return false;
}

/* Reads "ports = A:1 B:1". A comma may stand between the two ends. */
static al_status set_ends(struct soft_config *config, struct link_config *l,
			  const struct ci_param *p)
{
	char copy[128], *end, *save, *colon;
	const struct hca_config *hca;
	uint64_t port;
	int n = 0;

	if (strcmp(p->key, "ports"))
		return refuse(p, "a link has the key ports only");
	if (strlen(p->value) >= sizeof(copy))
		return refuse(p, "that is too long");
	strcpy(copy, p->value);
	for (end = strtok_r(copy, " ,", &save); end; end = strtok_r(NULL, " ,", &save)) {
		colon = strrchr(end, ':');
		if (n == 2 || !colon)
			return refuse(p, "a link has two ends, such as 0:1,1:1 for port 1 of each");
		*colon = 0;
		hca = config_find_hca(config, end, &l->hca[n]);
		if (!hca)
			return refuse(p, "there is no such HCA");
		if (!config_number(colon + 1, 1, hca->ports, &port))
			return refuse(p, "the HCA has no such port");
		l->port[n] = (uint32_t)port;
		if (is_linked(config, l->hca[n], l->port[n], l))
			return refuse(p, "the port is on another link already");
		n++;
	}
	return n == 2 ? AL_SUCCESS
		      : refuse(p, "a link has two ends, such as 0:1,1:1 for port 1 of each");
}

static al_status set_link(struct soft_config *config, const struct ci_param *p)
{
	const char *name = p->section + strlen("link ");
	struct link_config *l;

	for (l = config->links; l < config->links + config->num_links; l++)
		if (!strcmp(l->name, name))
			return set_ends(config, l, p);
	if (config->num_links == SOFT_MAX_LINKS)
		return refuse(p, "at most 64 links");
	if (strlen(name) >= SOFT_NAME)
		return refuse(p, "a name has at most 23 characters");
	strcpy(l->name, name);
	config->num_links++;
	return set_ends(config, l, p);
}

/* ------------------------------------------------------------------- reading */

static const struct hca_config defaults = {
	.ports = 1,
	.gids = 1,
	.link_layer = IB_LINK_LAYER_INFINIBAND,
	.mtu = 4096,
	.num_pkeys = 1,
	.pkeys = { IB_PKEY_DEFAULT },
	.max_qp = 1 << 20,
	.max_qp_wr = 1 << 15,
	.max_sge = 32,
	.max_inline = 1024,
	.ring_spin = 50,
	.max_cq = 1 << 20,
	.max_cqe = 1 << 22,
	.max_mr = 1 << 20,
	.max_mr_size = 1ull << 46,
	.max_pd = 1 << 18,
	.max_ah = 1 << 20,
	.max_rd_atomic = 64,
	.max_mcast_grp = 1 << 14,
	.max_mcast_qp_attach = 1 << 14,
	.max_total_mcast_qp_attach = 1 << 18,
	.atomics = 1,
};

static bool in_section(const struct ci_param *p, const char *prefix)
{
	return !strncmp(p->section, prefix, strlen(prefix));
}

static al_status set_hcas(struct soft_config *config, const struct ci_param *p)
{
	uint64_t value;

	if (!config_number(p->value, 1, SOFT_MAX_HCAS, &value))
		return refuse(p, "it must be a number from 1 to 64");
	config->hcas = (uint32_t)value;
	return AL_SUCCESS;
}

static al_status set_subnet(struct soft_config *config, const struct ci_param *p)
{
	config->managed = !strcmp(p->value, "managed");
	return config->managed || !strcmp(p->value, "static")
		       ? AL_SUCCESS
		       : refuse(p, "subnet is static or managed");
}

static al_status set_progress(struct soft_config *config, const struct ci_param *p)
{
	config->manual = !strcmp(p->value, "manual");
	return config->manual || !strcmp(p->value, "auto")
		       ? AL_SUCCESS
		       : refuse(p, "progress is auto or manual");
}

static al_status set_topology(struct soft_config *config, const struct ci_param *p)
{
	if (strlen(p->value) >= sizeof(config->topology))
		return refuse(p, "that is too long for the name of a file");
	strcpy(config->topology, p->value);
	return AL_SUCCESS;
}

/* Reads the keys of [soft]. Those of an HCA go to *common. */
static al_status read_common(struct soft_config *config, struct hca_config *common,
			     const struct ci_params *params)
{
	static const struct {
		const char *name;
		al_status (*set)(struct soft_config *config, const struct ci_param *p);
	} own[] = { { "hcas", set_hcas },
		    { "progress", set_progress },
		    { "subnet", set_subnet },
		    { "topology", set_topology } };
	const struct ci_param *p;
	al_status status = AL_SUCCESS;
	size_t i;

	for (p = params->param; p < params->param + params->count && !status; p++) {
		if (in_section(p, "hca ") || in_section(p, "link "))
			continue;
		if (*p->section)
			return refuse(
				p, "the sections are [soft], [soft hca NAME] and [soft link NAME]");
		for (i = 0; i < sizeof(own) / sizeof(*own) && strcmp(p->key, own[i].name); i++)
			;
		if (i < sizeof(own) / sizeof(*own))
			status = own[i].set(config, p);
		else if (!strcmp(p->key, "guid") || !strcmp(p->key, "lid") || !strcmp(p->key, "mac") ||
			 !strcmp(p->key, "ip"))
			status = refuse(
				p, "it can not be the same for all: set it in [soft hca NAME]");
		else
			status = set_key(common, p);
	}
	return status;
}

/* A topology has HCAs, LIDs and cables of its own. */
static al_status refuse_beside_topology(const struct ci_params *params)
{
	const struct ci_param *p;

	for (p = params->param; p < params->param + params->count; p++)
		if (in_section(p, "link ") || !strcmp(p->key, "hcas") || !strcmp(p->key, "ports") ||
		    !strcmp(p->key, "lid") || !strcmp(p->key, "lmc") || !strcmp(p->key, "guid"))
			return refuse(p,
				      "with a topology it comes from the file that topology names");
	return AL_SUCCESS;
}

/* Makes the HCAs of the configuration, with the settings common to all. */
static al_status make_hcas(struct soft_config *config, const struct hca_config *common,
			   const struct ci_params *params, const struct config_shape *shape)
{
	const bool shaped = shape && *config->topology;
	al_status status = AL_SUCCESS;
	uint32_t i;

	if (shaped)
		status = refuse_beside_topology(params);
	if (!status && shaped)
		status = shape->read(config->topology, &config->hcas);
	if (status)
		return status;
	config->hca = al_alloc(config->hcas * sizeof(*config->hca));
	if (!config->hca)
		return AL_INSUFFICIENT_MEMORY;
	for (i = 0; i < config->hcas; i++) {
		config->hca[i] = *common;
		snprintf(config->hca[i].name, sizeof(config->hca[i].name), "%u", i);
		if (shaped)
			shape->place(i, &config->hca[i]);
	}
	return AL_SUCCESS;
}

/*
 * Finds an HCA by name. A new name that is not a number becomes the name of the first HCA that still has its default
 * name. NULL: every HCA has a name of its own.
 */
static struct hca_config *named_hca(struct soft_config *config, const char *name)
{
	uint32_t index, i;
	char own[SOFT_NAME];
	struct hca_config *hca = config_find_hca(config, name, &index);

	if (hca || strlen(name) >= SOFT_NAME || (*name >= '0' && *name <= '9'))
		return hca;
	for (i = 0; i < config->hcas; i++) {
		snprintf(own, sizeof(own), "%u", i);
		if (strcmp(config->hca[i].name, own))
			continue;
		strcpy(config->hca[i].name, name);
		return &config->hca[i];
	}
	return NULL;
}

static al_status read_hcas(struct soft_config *config, const struct ci_params *params)
{
	const struct ci_param *p;
	struct hca_config *hca;
	al_status status = AL_SUCCESS;

	for (p = params->param; p < params->param + params->count && !status; p++) {
		if (!in_section(p, "hca "))
			continue;
		hca = named_hca(config, p->section + strlen("hca "));
		status = hca ? set_key(hca, p)
			     : refuse(p, "there are not so many HCAs: raise hcas in [soft]");
	}
	return status;
}

/* Appends those of some rules that are for switches. */
static al_status keep_cable_faults(struct soft_config *config, const struct fault_rule_text *rules,
				   uint32_t num)
{
	uint32_t i;

	for (i = 0; i < num; i++) {
		if (!rules[i].sw)
			continue;
		if (config->num_cable_faults == SOFT_MAX_FAULTS) {
			ib_log(IB_LOG_ERROR, "soft",
			       "at most 32 faults for switches, with those of the settings; see ibal-soft(5)");
			return AL_BAD_CONFIG;
		}
		config->cable_faults[config->num_cable_faults++] = rules[i];
	}
	return AL_SUCCESS;
}

/* Appends the faults of IBAL_FAULT to the faults of each HCA's settings. */
static al_status read_environment(struct soft_config *config)
{
	static struct fault_rule_text rules[SOFT_MAX_FAULTS];
	const char *text = secure_getenv("IBAL_FAULT"), *why = NULL;
	struct fault_error error;
	struct hca_config *hca;
	uint32_t num = 0;

	if (text && !fault_read(text, rules, SOFT_MAX_FAULTS, &num, &error))
		why = error.why;
	for (hca = config->hca; hca < config->hca + config->hcas && !why; hca++) {
		error.at = 0;
		if (hca->num_faults + num > SOFT_MAX_FAULTS)
			why = "at most 32 faults, with those of the settings";
		else
			memcpy(hca->faults + hca->num_faults, rules, num * sizeof(*rules));
		hca->num_faults += num;
	}
	if (!why)
		return keep_cable_faults(config, rules, num);
	ib_log(IB_LOG_ERROR, "soft", "IBAL_FAULT=%s: at character %u: %s; see ibal-soft(5)", text,
	       error.at + 1, why);
	return AL_BAD_CONFIG;
}

al_status config_read(struct soft_config *config, const struct ci_params *params,
		      const struct config_shape *shape)
{
	static const struct ci_params none;
	struct hca_config common = defaults;
	const struct ci_param *p;
	al_status status;

	params = params ? params : &none;
	memset(config, 0, sizeof(*config));
	config->hcas = 2;
	status = read_common(config, &common, params);
	config->agents = common.agents;
	if (!status)
		status = keep_cable_faults(config, common.faults, common.num_faults);
	if (!status)
		status = make_hcas(config, &common, params, shape);
	if (!status)
		status = read_hcas(config, params);
	if (!status)
		status = read_environment(config);
	for (p = params->param; !status && p < params->param + params->count; p++)
		if (in_section(p, "link "))
			status = set_link(config, p);
	return status ? status : config_settle(config);
}

void config_free(struct soft_config *config)
{
	al_free(config->hca);
	config->hca = NULL;
	config->hcas = 0;
}
