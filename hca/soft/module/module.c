/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The module: makes the HCAs of the configuration, cables, announces and withdraws the HCAs. The parts of an HCA:
 * hca.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <iba/ib_soft.h>

#include "hca/soft/base/config.h"
#include "hca/soft/engine/engine.h"
#include "hca/soft/fabric/fabric.h"
#include "hca/soft/memory/errand.h"
#include "hca/soft/lab/fault.h"
#include "hca/soft/lab/lab.h"
#include "hca/soft/module/module.h"
#include "hca/soft/object/hca.h"
#include "hca/soft/port/port.h"
#include "hca/soft/shared/base.h"
#include "hca/soft/shared/lock.h"

#define OUI       0x021ba1ull /* locally administered: no vendor's */
#define MAX_SLOTS 4096
#define FNV_START 0x811c9dc5u

static struct {
	struct ci_host *host;
	struct soft_config conf;
	struct soft_hca
		*hcas; /* num of them: conf.hcas HCAs, then the switches of a managed fabric */
	uint32_t num;
	struct engine *engines; /* of the HCAs; the fabric has an engine of its own, for switches */
	uint32_t num_engines;
	struct topology
		topology; /* of the file that conf.topology names, until the fabric takes it over */
	struct routes routes;              /* of the topology, until the fabric takes them over */
	struct fabric *fabric;             /* NULL: ports have the loop link */
	const struct link_ops *other_link; /* with a fabric: what link_of_ports was before */
	int slot_fd;           /* holds this process's slot */
	struct fmutex lock;    /* guards registered and leaving of the HCAs, and removers */
	struct remover *removers;
} module;

/* ----------------------------------------------------------------- identity */

/*
 * Returns a number that no other process of this user has at present: the number of the first free name of an abstract
 * socket. The kernel frees the name when the process ends. If no name is free, the process id serves as the number.
 */
static uint32_t take_slot(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	uint32_t slot;
	int len, fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	for (slot = 0; fd >= 0 && slot < MAX_SLOTS; slot++) {
		len = snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1, "ibal-soft-%u-%u",
			       (unsigned int)getuid(), slot);
		if (bind(fd, (struct sockaddr *)&addr,
			 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len)))
			continue;
		module.slot_fd = fd;
		return slot;
	}
	if (fd >= 0)
		close(fd);
	return (uint32_t)getpid();
}

static uint32_t hash(uint32_t h, const void *data, size_t length)
{
	const unsigned char *at = data;

	while (length--)
		h = (h ^ *at++) * 0x01000193u; /* FNV-1a */
	return h;
}

/*
 * Returns 24 bits that differ from the bits of every other process of this user, and very likely from the bits of
 * other users and machines.
 */
static uint32_t identity(void)
{
	uid_t uid = getuid();
	uint32_t h = FNV_START;
	char line[64];
	FILE *file = fopen("/etc/machine-id", "re");

	if (file) {
		if (fgets(line, sizeof(line), file))
			h = hash(h, line, strcspn(line, "\n"));
		fclose(file);
	}
	h = hash(h, &uid, sizeof(uid));
	return (h + take_slot()) & 0xffffff;
}

/* -------------------------------------------------------------------- cables */

static void join(struct soft_port *a, struct soft_port *b)
{
	if (a->ethernet != b->ethernet) /* both keep their loopback plugs */
		return;
	a->cable = b;
	b->cable = a;
}

/*
 * Lays the cables of the configuration. Without any, a cable goes from port n of each even HCA to port n of the next
 * HCA. The other ports keep their loopback plugs.
 */
static void lay_cables(void)
{
	const struct link_config *l;
	uint32_t i, n;

	for (i = 0; i < module.conf.num_links; i++) {
		l = &module.conf.links[i];
		join(hca_port(&module.hcas[l->hca[0]], (uint8_t)l->port[0]),
		     hca_port(&module.hcas[l->hca[1]], (uint8_t)l->port[1]));
	}
	for (i = 0; !module.conf.num_links && i + 1 < module.conf.hcas; i += 2)
		for (n = 1; n <= module.hcas[i].conf.ports && n <= module.hcas[i + 1].conf.ports;
		     n++)
			join(hca_port(&module.hcas[i], (uint8_t)n),
			     hca_port(&module.hcas[i + 1], (uint8_t)n));
}

/* ------------------------------------------------------------------- topology */

static al_status read_topology(const char *path, uint32_t *hcas)
{
	struct topology_error error;
	const struct topology_node *n;
	al_status status = topology_read(&module.topology, path, &error);

	if (status) {
		ib_log(IB_LOG_ERROR, "soft", "topology: %s", error.text);
		return status;
	}
	*hcas = 0;
	for (n = module.topology.nodes; n < module.topology.nodes + module.topology.num_nodes;
	     n++) {
		if (n->type != IB_NODE_CA)
			continue;
		++*hcas;
		if (n->num_ports <= SOFT_MAX_PORTS)
			continue;
		ib_log(IB_LOG_ERROR, "soft",
		       "topology: %s: HCA 0x%016llx has %u ports, and a software HCA has at most %u: "
		       "make two HCAs of it",
		       path, (unsigned long long)n->guid, n->num_ports, SOFT_MAX_PORTS);
		return AL_BAD_CONFIG;
	}
	if (!*hcas) {
		ib_log(IB_LOG_ERROR, "soft",
		       "topology: %s has no HCA: al_* opens HCAs, so add a line such as: Ca 1 \"NAME\"",
		       path);
		return AL_BAD_CONFIG;
	}
	if (module.conf.managed)
		return AL_SUCCESS;
	status = routes_make(&module.routes, &module.topology);
	if (status == AL_LIMIT_EXCEEDED)
		ib_log(IB_LOG_ERROR, "soft",
		       "topology: %s: a static subnet has LIDs for 49151 ports, and forwarding tables of at "
		       "most 256 MB: take a part of the subnet, or subnet=managed with a subnet manager",
		       path);
	return status;
}

/* Returns the node of the HCA at an index. */
static const struct topology_node *node_of(uint32_t hca)
{
	const struct topology_node *n = module.topology.nodes;

	while (n->type != IB_NODE_CA || hca--)
		n++;
	return n;
}

void module_place(struct hca_config *conf, const struct topology_node *n)
{
	conf->placed = true;
	conf->guid = n->guid;
	conf->system_guid = n->system_guid ? n->system_guid : n->guid; /* a system of its own */
	conf->vendor = n->vendor;
	conf->device = n->device;
	conf->ports = n->num_ports;
	snprintf(conf->description, sizeof(conf->description), "%s", n->description);
}

static void place_hca(uint32_t index, struct hca_config *hca)
{
	const struct topology_node *n = node_of(index);
	const struct topology_port *port;
	uint32_t i, at;

	module_place(hca, n);
	for (i = 0; i < hca->ports; i++) {
		at = topology_port_index(n, i + 1);
		port = &module.topology.ports[at];
		hca->place[i].guid = port->guid;
		hca->place[i].index = at;
		if (!module.conf.managed) {
			hca->place[i].lid = module.routes.lid[at];
			hca->place[i].lmc = module.routes.lmc[at];
		}
		hca->place[i].width = port->width;
		hca->place[i].speed = port->speed;
		hca->place[i].cabled = port->peer != TOPOLOGY_NONE;
	}
}

/* Returns the switch that a rule is for. NULL: there is none. */
static struct fabric_switch *switch_of(const struct fault_rule_text *rule)
{
	struct fabric *f = module.fabric;
	uint32_t i;

	for (i = 0; f && i < f->num_switches; i++)
		if (f->topology.nodes[f->switches[i].node].guid == rule->sw)
			return &f->switches[i];
	return NULL;
}

const char *module_misplaced(const struct fault_rule_text *rule, uint32_t *at)
{
	const struct fabric_switch *sw;

	if (!rule->sw)
		return fault_misplaced(&module.conf, rule, at);
	sw = switch_of(rule);
	*at = sw ? rule->port_at : rule->node_at;
	if (!module.fabric)
		return "there is no topology here, and so no such switch";
	if (!sw)
		return "there is no such switch";
	return rule->fault.port > sw->num_ports ? "the switch has no such port" : NULL;
}

/* Adds a rule to a list, if the list has room for it. */
static void list_fault(struct soft_fault_list *list, uint32_t first,
		       const struct fault_rule_text *rule, uint64_t guid, uint64_t met)
{
	struct soft_fault_state *to = &list->rules[list->num - first];

	if (list->num >= first && list->num - first < SOFT_FAULT_RULES) {
		*to = (struct soft_fault_state){ .guid = guid, .met = met, .fault = rule->fault };
		fault_words(rule, 0, to->words, sizeof(to->words));
	}
	list->num++;
}

void module_list_faults(uint32_t first, struct soft_fault_list *list)
{
	const uint32_t switches = module.fabric ? module.fabric->num_switches : 0;
	struct fault_rule_text rule = { .at = 0 };
	uint32_t i, port, n;
	uint64_t met;

	memset(list, 0, sizeof(*list));
	for (i = 0; i < module.conf.hcas; i++) {
		memcpy(rule.hca, module.hcas[i].conf.name, sizeof(rule.hca));
		for (n = 0; fault_get(&module.hcas[i], n, &rule.fault, &met); n++)
			list_fault(list, first, &rule, module.hcas[i].guid, met);
	}
	*rule.hca = 0;
	for (i = 0; i < switches; i++) {
		const struct fabric_switch *sw = &module.fabric->switches[i];

		rule.sw = module.fabric->topology.nodes[sw->node].guid;
		for (port = 1; port <= sw->num_ports; port++)
			for (n = 0; cable_get_fault(sw, port, n, &rule.fault, &met); n++)
				list_fault(list, first, &rule, rule.sw, met);
	}
}

static void clear_faults(void)
{
	uint32_t i;

	for (i = 0; i < module.conf.hcas; i++)
		fault_clear(&module.hcas[i]);
	for (i = 0; module.fabric && i < module.fabric->num_switches; i++)
		cable_clear_faults(&module.fabric->switches[i]);
}

/* Adds a rule to the HCAs or the switch that the rule is for. */
static al_status place_fault(const struct fault_rule_text *rule)
{
	al_status status = AL_SUCCESS;
	struct soft_hca *hca;

	if (rule->sw)
		return cable_add_fault(switch_of(rule), &rule->fault);
	for (hca = module.hcas; hca < module.hcas + module.conf.hcas && !status; hca++)
		if (!*rule->hca || !strcmp(rule->hca, hca->conf.name))
			status = fault_add(hca, &rule->fault);
	return status;
}

al_status module_set_faults(const struct fault_rule_text *rules, uint32_t num)
{
	static struct fmutex one_at_a_time;
	al_status status = AL_SUCCESS;
	uint32_t i;

	fmutex_lock(&one_at_a_time);
	clear_faults();
	for (i = 0; i < num && !status; i++)
		status = place_fault(&rules[i]);
	if (status)
		clear_faults();
	fmutex_unlock(&one_at_a_time);
	return status;
}

/* Adds the rules of the settings for switches. */
static al_status add_cable_faults(void)
{
	const struct fault_rule_text *rule = module.conf.cable_faults;
	al_status status = AL_SUCCESS;
	const char *why;
	uint32_t at;

	for (; rule < module.conf.cable_faults + module.conf.num_cable_faults && !status; rule++) {
		why = module_misplaced(rule, &at);
		if (why) {
			ib_log(IB_LOG_ERROR, "soft",
			       "a fault's switch=0x%016llx: %s; see ibal-soft(5)",
			       (unsigned long long)rule->sw, why);
			return AL_BAD_CONFIG;
		}
		status = cable_add_fault(switch_of(rule), &rule->fault);
	}
	return status;
}

static al_status make_fabric(void)
{
	al_status status;

	if (!*module.conf.topology)
		return add_cable_faults();
	module.other_link = link_of_ports;
	link_of_ports = &link_fabric;
	status = fabric_create(&module.fabric, &module.topology,
			       module.conf.managed ? NULL : &module.routes);
	if (status)
		return status;
	module.fabric->seed = module.conf.hca[0].seed;
	return add_cable_faults();
}

/* Plugs the cables of the topology into the ports of HCAs and switches. */
static void join_fabric(void)
{
	struct soft_hca *hca;
	uint32_t i;

	for (hca = module.hcas; hca < module.hcas + module.num; hca++)
		for (i = 0; i < hca->ports.num; i++)
			fabric_join(module.fabric,
				    hca->sw ? switch_port_index(hca->sw, (uint8_t)i)
					    : hca->conf.place[i].index,
				    &hca->ports.port[i]);
}

/* ------------------------------------------------------------------- removal */

struct remover {
	struct remover *next;
	pthread_t thread;
	struct soft_hca *hca;
	uint32_t flags;
};

static void plug_all(struct soft_hca *hca, bool in)
{
	uint32_t i;

	for (i = 0; i < hca->ports.num; i++)
		port_plug(&hca->ports.port[i], in);
}

/* Executes a hot removal: announces the removal, and then unplugs the HCA's ports, unless the HCA is gone already. */
static void *remover_main(void *arg)
{
	struct remover *remover = arg;

	ib_deregister_ci(remover->hca->handle, remover->flags);
	if (!(remover->flags & CI_HCA_GONE))
		plug_all(remover->hca, false);
	return NULL;
}

al_status module_remove_hca(struct soft_hca *hca, uint32_t flags)
{
	struct remover *remover = al_alloc(sizeof(*remover));
	al_status status = AL_SUCCESS;

	if (!remover)
		return AL_INSUFFICIENT_MEMORY;
	remover->hca = hca;
	remover->flags = flags;
	fmutex_lock(&module.lock);
	if (!hca->registered)
		status = AL_CA_REMOVED;
	else if (flags & CI_HCA_GONE)
		plug_all(hca, false);
	if (!status && start_thread(&remover->thread, "soft-remove", remover_main, remover)) {
		if (flags & CI_HCA_GONE)
			plug_all(hca, true);
		status = AL_INSUFFICIENT_RESOURCES;
	}
	if (!status) {
		hca->registered = false;
		remover->next = module.removers;
		module.removers = remover;
	}
	fmutex_unlock(&module.lock);
	if (status)
		al_free(remover);
	return status;
}

/* ----------------------------------------------------------------- the module */

al_status module_step(const uint64_t *choice, struct soft_step *step)
{
	return manual_step(choice, step);
}

/* Makes the engines that the HCAs share. With manual progress each HCA has an engine of its own, so
 * that the HCAs take turns. */
static al_status make_engines(void)
{
	uint32_t i;

	module.num_engines = module.conf.hcas;
	if (!module.conf.manual && module.num_engines > MAX_ENGINES)
		module.num_engines = MAX_ENGINES;
	module.engines = al_alloc_aligned(64, module.num_engines * sizeof(*module.engines));
	if (!module.engines)
		return AL_INSUFFICIENT_MEMORY;
	for (i = 0; i < module.num_engines; i++) {
		engine_init(&module.engines[i], module.conf.hca[i].name);
		manual_add(&module.engines[i]);
	}
	return AL_SUCCESS;
}

static void destroy_engines(void)
{
	uint32_t i;

	for (i = 0; module.engines && i < module.num_engines; i++)
		engine_end(&module.engines[i]);
	al_free(module.engines);
	module.engines = NULL;
}

static void destroy_hcas(void)
{
	uint32_t i;

	if (module.fabric)
		fabric_stop(module.fabric);
	for (i = 0; module.hcas && i < module.num; i++)
		hca_destroy(&module.hcas[i]);
	al_free(module.hcas);
	module.hcas = NULL;
	destroy_engines();
	fabric_destroy(module.fabric);
	module.fabric = NULL;
	if (module.other_link)
		link_of_ports = module.other_link;
	module.other_link = NULL;
	routes_free(&module.routes);
	topology_free(&module.topology);
	config_free(&module.conf);
	if (module.slot_fd >= 0)
		close(module.slot_fd);
	module.slot_fd = -1;
}

static al_status init(struct ci_host *host, const struct ci_params *params)
{
	static const struct config_shape shape = { .read = read_topology, .place = place_hca };
	al_status status;
	uint32_t own, id, i;

	config_free(&module.conf); /* in a forked child: what the parent has read */
	memset(&module, 0, sizeof(module));
	module.slot_fd = -1;
	module.host = host;
	port_start();
	lab_start();
	status = config_read(&module.conf, params, &shape);
	if (!status) {
		manual_start(module.conf.manual);
		status = make_fabric();
	}
	if (!status) {
		module.num = module.conf.hcas;
		if (module.fabric && module.conf.managed)
			module.num += module.fabric->num_switches;
		module.hcas = al_alloc_aligned(64, module.num * sizeof(*module.hcas));
		status = module.hcas ? make_engines() : AL_INSUFFICIENT_MEMORY;
	}
	if (status) {
		destroy_hcas();
		return status;
	}
	id = module.conf.manual ? 0 : identity();
	for (i = 0; i < module.num && !status; i++) {
		struct soft_hca *hca = &module.hcas[i];

		if (i < module.conf.hcas) {
			hca->conf = module.conf.hca[i];
			hca->engine = &module.engines[i % module.num_engines];
		} else {
			switch_configure(hca, &module.fabric->switches[i - module.conf.hcas],
					 &module.conf.hca[0], module.conf.agents);
		}
		hca->index = i;
		/* with manual progress, runs with the same seed must be equal */
		own = module.conf.manual ? hash(FNV_START, &hca->conf.seed, 4) & 0xffffff : id;
		hca->guid =
			hca->conf.guid ? hca->conf.guid : OUI << 40 | (uint64_t)own << 16 | i << 8;
		status = hca_create(hca, hash(own, &i, sizeof(i)));
	}
	if (status)
		destroy_hcas();
	else if (module.fabric)
		join_fabric();
	else
		lay_cables();
	if (!status && module.fabric)
		manual_add(&module.fabric->engine);
	return status;
}

static al_status scan(void)
{
	al_status status;
	uint32_t i;

	for (i = 0; i < module.num; i++) {
		status = ib_register_ci(
			module.host, module.hcas[i].sw ? &soft_switch_interface : &soft_interface,
			&module.hcas[i], &module.hcas[i].handle);
		if (status)
			return status; /* cleanup() withdraws the HCAs that are registered */
		fmutex_lock(&module.lock);
		module.hcas[i].registered = true;
		fmutex_unlock(&module.lock);
	}
	return AL_SUCCESS;
}

/* Withdraws an HCA, unless a hot removal has withdrawn the HCA. */
static void withdraw(struct soft_hca *hca)
{
	bool registered;

	fmutex_lock(&module.lock);
	registered = hca->registered;
	hca->registered = false;
	fmutex_unlock(&module.lock);
	if (registered)
		ib_deregister_ci(hca->handle, 0);
}

static void cleanup(void)
{
	struct remover *remover;
	uint32_t i;

	for (i = 0; i < module.num; i++)
		withdraw(&module.hcas[i]);
	/* no thread adds removers any more, since every HCA has been withdrawn */
	while (module.removers) {
		remover = module.removers;
		module.removers = remover->next;
		pthread_join(remover->thread, NULL);
		al_free(remover);
	}
	errands_wait();
	destroy_hcas();
}

const struct ci_module ci_module = {
	.size = sizeof(struct ci_module),
	.abi_major = CI_ABI_MAJOR,
	.abi_minor = CI_ABI_MINOR,
	.name = "soft",
	.version = SOFT_VERSION,
	.license = "GPL-2.0-only OR Linux-OpenIB",
	.init = init,
	.scan = scan,
	.cleanup = cleanup,
};
