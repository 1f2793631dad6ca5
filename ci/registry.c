/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The registry: the loaded modules, the HCAs that they have registered, and the references that
 * keep a module loaded. Loading modules is ci/loader.c; checking a module's table of operations,
 * ci/ops.c.
 */
#include <stdio.h>
#include <string.h>

#include "ci/internal.h"

pthread_mutex_t ci_registry_lock = PTHREAD_MUTEX_INITIALIZER;
/* With the registry's lock: an HCA was taken out of the list, or a registration lost its last pin.
 */
static pthread_cond_t registry_changed = PTHREAD_COND_INITIALIZER;
static struct ci_host *hosts, *parents_hosts;
static struct ci_host *agent_hosts, *parents_agent_hosts;
static struct ci_registration *registrations, *parents_registrations;
static const struct ci_upper *upper;

void ci_set_upper(const struct ci_upper *u)
{
	upper = u;
}

void ci_registry_after_fork(void)
{
	pthread_mutex_init(&ci_registry_lock, NULL);
	pthread_cond_init(&registry_changed, NULL);
	CI_LEAVE_TO_PARENT(hosts, parents_hosts);
	CI_LEAVE_TO_PARENT(agent_hosts, parents_agent_hosts);
	CI_LEAVE_TO_PARENT(registrations, parents_registrations);
}

/* -------------------------------------------------------------------- modules */

const char *ci_module_name(const struct ci_host *module)
{
	return module->name;
}

const char *ci_module_version(const struct ci_host *module)
{
	return module->version;
}

const void *ci_module_agent(const struct ci_host *module)
{
	return module->agent;
}

struct ci_host *ci_host_first(void)
{
	return hosts;
}

struct ci_host *ci_host_find(const char *name)
{
	struct ci_host *host = hosts;

	while (host && strcmp(host->name, name))
		host = host->next;
	return host;
}

void ci_host_add(struct ci_host *host)
{
	struct ci_host **end = host->agent ? &agent_hosts : &hosts;

	pthread_mutex_lock(&ci_registry_lock);
	while (*end)
		end = &(*end)->next;
	*end = host;
	pthread_mutex_unlock(&ci_registry_lock);
}

void ci_host_drop(struct ci_host *host)
{
	struct ci_host **at = host->agent ? &agent_hosts : &hosts;
	bool last;

	pthread_mutex_lock(&ci_registry_lock);
	while (*at != host)
		at = &(*at)->next;
	*at = host->next;
	host->unloaded = true;
	last = !host->users;
	pthread_mutex_unlock(&ci_registry_lock);
	if (last)
		al_free(host);
}

al_status ci_agent_host(const void *agent, struct ci_host **host)
{
	struct ci_host *h = al_alloc(sizeof(*h));

	if (!h)
		return AL_INSUFFICIENT_MEMORY;
	h->agent = agent;
	ci_copy(h->name, sizeof(h->name), "agent");
	ci_host_add(h);
	*host = h;
	return AL_SUCCESS;
}

void ci_agent_host_drop(struct ci_host *host)
{
	ci_host_drop(host);
}

bool ci_module_get(struct ci_host *module)
{
	bool got;

	pthread_mutex_lock(&ci_registry_lock);
	got = !module->unloading;
	if (got)
		module->users++;
	pthread_mutex_unlock(&ci_registry_lock);
	return got;
}

void ci_module_put(struct ci_host *module)
{
	bool last;

	pthread_mutex_lock(&ci_registry_lock);
	last = !--module->users && module->unloaded;
	pthread_mutex_unlock(&ci_registry_lock);
	if (last)
		al_free(module);
}

/* ---------------------------------------------------------- users of a module */

/*
 * The next HCA of the module after reg (NULL: the first), pinned: its removal waits for unpin().
 * NULL: there is no further HCA. Registry's lock held.
 */
static struct ci_registration *next_pinned(struct ci_host *host, struct ci_registration *reg)
{
	for (reg = reg ? reg->next : registrations; reg; reg = reg->next) {
		if (reg->module != host || reg->removing)
			continue;
		/* NULL: ci_upper.add() has not run yet. Acquire: pairs with the store in
		 * dev_listen(). */
		if (!atomic_load_explicit(&reg->al, memory_order_acquire))
			continue;
		reg->pins++;
		return reg;
	}
	return NULL;
}

static void unpin(struct ci_registration *reg)
{
	if (!--reg->pins)
		pthread_cond_broadcast(&registry_changed);
}

/*
 * Writes the names of the processes that have HCAs of the module open. Registry's lock held;
 * dropped during calls of ci_upper.users().
 */
static void name_users(struct ci_host *host, char *buf, size_t len)
{
	struct ci_registration *next, *reg;

	buf[0] = '\0';
	for (reg = next_pinned(host, NULL); reg; reg = next) {
		char names[CI_TEXT_MAX] = "";

		pthread_mutex_unlock(&ci_registry_lock);
		upper->users(reg, names, sizeof(names));
		pthread_mutex_lock(&ci_registry_lock);
		if (*names)
			snprintf(buf + strlen(buf), len - strlen(buf), "%s%s", *buf ? ", " : "",
				 names);
		next = next_pinned(host, reg);
		unpin(reg);
	}
}

al_status ci_host_retire(struct ci_host *host, bool force, char *users, size_t len)
{
	al_status st = AL_SUCCESS;

	pthread_mutex_lock(&ci_registry_lock);
	if (host->users && !force) {
		name_users(host, users, len);
		st = AL_MODULE_IN_USE;
	} else {
		host->unloading = true;
	}
	pthread_mutex_unlock(&ci_registry_lock);
	return st;
}

/* ----------------------------------------------------------------- registration */

/* Logs why an HCA is refused, and keeps the reason for snapshots of the module. */
static void log_refusal(struct ci_host *host, const char *text)
{
	ib_log(IB_LOG_ERROR, host->name, "%s: ib_register_ci refused: %s", host->path, text);
	pthread_mutex_lock(&ci_registry_lock);
	ci_set_text(host->refusal, "%s", text);
	pthread_mutex_unlock(&ci_registry_lock);
}

void ci_host_clear_refusal(struct ci_host *host)
{
	pthread_mutex_lock(&ci_registry_lock);
	host->refusal[0] = '\0';
	pthread_mutex_unlock(&ci_registry_lock);
}

void ci_host_describe_failure(struct ci_host *host, const char *what, al_status st,
			      char text[CI_TEXT_MAX])
{
	pthread_mutex_lock(&ci_registry_lock);
	ci_set_text(text, "%s of %s failed: %s%s%.160s", what, host->name, ci_status_text(st),
		    *host->refusal ? ": " : "", host->refusal);
	pthread_mutex_unlock(&ci_registry_lock);
}

static bool host_known(const struct ci_host *host)
{
	const struct ci_host *h;

	pthread_mutex_lock(&ci_registry_lock);
	for (h = hosts; h && h != host; h = h->next)
		;
	for (h = h ? h : agent_hosts; h && h != host; h = h->next)
		;
	pthread_mutex_unlock(&ci_registry_lock);
	return h != NULL;
}

static al_status check_port(const struct ci_registration *reg, const struct ci_interface *given,
			    uint8_t port, char text[CI_TEXT_MAX])
{
	const uint32_t needs_mad = CI_PORT_SMA_IN_AL | CI_PORT_PMA_IN_AL;
	struct ib_port_attr attr;
	bool local_mad = given->size > offsetof(struct ci_interface, local_mad) && given->local_mad;
	al_status st;

	st = ci_query_port(&reg->ops, reg->ca, port, &attr, text);
	if (st)
		return st;
	if ((attr.ci_caps & needs_mad) && !local_mad) {
		ci_set_text(
			text,
			"port %u has the capability %s, which needs the operation local_mad, and local_mad is NULL: implement "
			"local_mad, or answer the management class in the HCA and clear the bit",
			port,
			attr.ci_caps & CI_PORT_SMA_IN_AL ? "CI_PORT_SMA_IN_AL"
							 : "CI_PORT_PMA_IN_AL");
		return AL_MODULE_MISSING_OP;
	}
	return AL_SUCCESS;
}

/* Queries and checks the attributes of an open HCA and of its ports. */
static al_status query_hca(struct ci_registration *reg, const struct ci_interface *given,
			   char text[CI_TEXT_MAX])
{
	al_status st;

	IB_TRACE("ci", "query_ca of %s", reg->module->name);
	st = ci_query_ca(&reg->ops, reg->ca, &reg->attr, text);
	/* The agent has checked the table of the node's own module. */
	if (!st && !reg->module->agent)
		st = ci_ops_suit(given, reg->attr.node_type, text);
	for (uint32_t port = ci_first_port(&reg->attr); !st && port <= reg->attr.num_ports; port++)
		st = check_port(reg, given, (uint8_t)port, text);
	return st;
}

/* Appends a registration to the list, and so reserves its node GUID. AL_DUPLICATE: another HCA has
 * the GUID. */
static al_status add_registration(struct ci_registration *reg, char text[CI_TEXT_MAX])
{
	struct ci_registration **end = &registrations;
	al_status st = AL_SUCCESS;

	pthread_mutex_lock(&ci_registry_lock);
	for (; *end && !st; end = &(*end)->next) {
		if ((*end)->attr.node_guid != reg->attr.node_guid ||
		    (*end)->module->agent != reg->module->agent)
			continue;
		ci_set_text(
			text,
			"an HCA with node GUID 0x%016llx is registered already, by module %s: give each HCA a GUID of its own",
			(unsigned long long)reg->attr.node_guid, (*end)->module->name);
		st = AL_DUPLICATE;
	}
	if (!st && reg->module->unloading) {
		ci_set_text(text, "the module is being unloaded");
		st = AL_INVALID_STATE;
	}
	if (!st)
		*end = reg;
	pthread_mutex_unlock(&ci_registry_lock);
	return st;
}

/* Takes a registration without pins out of the list. */
static void remove_registration(struct ci_registration *reg)
{
	struct ci_registration **at = &registrations;

	pthread_mutex_lock(&ci_registry_lock);
	while (*at != reg)
		at = &(*at)->next;
	*at = reg->next;
	pthread_cond_broadcast(&registry_changed);
	pthread_mutex_unlock(&ci_registry_lock);
}

/* Sets reg->removing and waits until the registration has no pin. False: the handle is no
 * registration, or its removal has begun already. */
static bool begin_removal(struct ci_registration *handle)
{
	struct ci_registration *reg;

	pthread_mutex_lock(&ci_registry_lock);
	for (reg = registrations; reg && reg != handle; reg = reg->next)
		;
	if (!reg || reg->removing) {
		pthread_mutex_unlock(&ci_registry_lock);
		return false;
	}
	reg->removing = true;
	while (reg->pins)
		pthread_cond_wait(&registry_changed, &ci_registry_lock);
	pthread_mutex_unlock(&ci_registry_lock);
	return true;
}

static al_status alloc_registration(struct ci_host *host, const struct ci_interface *ci, void *hca,
				    struct ci_registration **result, char text[CI_TEXT_MAX])
{
	struct ci_registration *reg = al_alloc(sizeof(*reg));
	al_status st = AL_INSUFFICIENT_MEMORY;

	ci_set_text(text, "out of memory");
	if (!reg)
		return st;
	st = ci_ops_complete(ci, &reg->ops, text);
	if (st)
		goto free_reg;
	st = AL_INSUFFICIENT_MEMORY;
	reg->ca = al_alloc_aligned(64, ci_obj_bytes(&reg->ops, CI_OBJ_CA));
	if (!reg->ca)
		goto free_reg;
	reg->ca->ctx = reg;
	reg->ca->hca = hca;
	reg->module = host;
	*result = reg;
	return AL_SUCCESS;

free_reg:
	al_free(reg);
	return st;
}

static void free_registration(struct ci_registration *reg)
{
	al_free(reg->ca);
	al_free(reg);
}

al_status ib_register_ci(struct ci_host *host, const struct ci_interface *ci, void *hca,
			 ci_handle *handle)
{
	struct ci_registration *reg;
	char text[CI_TEXT_MAX];
	al_status st;

	if (!host || !host_known(host)) {
		ib_log(IB_LOG_ERROR, "ci",
		       "ib_register_ci refused: host %p is no module's: pass the host that init was called with",
		       (void *)host);
		return AL_INVALID_PARAMETER;
	}
	if (!ci || !handle) {
		log_refusal(host, !ci ? "the table of operations is NULL" : "handle is NULL");
		return AL_INVALID_PARAMETER;
	}
	IB_TRACE(host->name, "ib_register_ci");
	st = alloc_registration(host, ci, hca, &reg, text);
	if (st)
		goto refused;
	IB_TRACE("ci", "open_ca of %s", host->name);
	st = reg->ops.open_ca(reg->ca);
	if (st) {
		ci_set_text(text, "open_ca failed: %s", ci_status_text(st));
		st = ci_module_status(st);
		goto free_reg;
	}
	st = query_hca(reg, ci, text);
	if (st)
		goto close_ca;
	st = add_registration(reg, text);
	if (st)
		goto close_ca;
	st = upper->add(reg);
	if (st) {
		ci_set_text(text, "the Access Layer could not add the HCA: %s", ci_status_text(st));
		goto remove;
	}
	*handle = reg;
	return AL_SUCCESS;

remove:
	begin_removal(reg);
	remove_registration(reg);
close_ca:
	reg->ops.close_ca(reg->ca);
free_reg:
	free_registration(reg);
refused:
	log_refusal(host, text);
	return st;
}

static al_status withdraw(struct ci_registration *reg, uint32_t flags)
{
	/* A module may pass any value as the handle: begin_removal() compares the value before it
	 * is dereferenced. */
	if (!begin_removal(reg)) {
		ib_log(IB_LOG_ERROR, "ci",
		       "ib_deregister_ci: %p is no registered HCA, or is being withdrawn already",
		       (void *)reg);
		return AL_INVALID_HANDLE;
	}
	IB_TRACE(reg->module->name, "ib_deregister_ci");
	upper->remove(reg, flags);
	IB_TRACE("ci", "close_ca of %s", reg->module->name);
	reg->ops.close_ca(reg->ca);
	remove_registration(reg);
	free_registration(reg);
	return AL_SUCCESS;
}

/* Describes a handle of any value for the log. */
static void name_hca(const struct ci_registration *handle, char *text, size_t size)
{
	const struct ci_registration *reg;

	pthread_mutex_lock(&ci_registry_lock);
	for (reg = registrations; reg && reg != handle; reg = reg->next)
		;
	if (reg)
		snprintf(text, size, "HCA 0x%016llx", (unsigned long long)reg->attr.node_guid);
	else
		snprintf(text, size, "%p, which is no registered HCA,", (const void *)handle);
	pthread_mutex_unlock(&ci_registry_lock);
}

al_status ib_deregister_ci(ci_handle handle, uint32_t flags)
{
	char hca[64];

	if (flags & ~(uint32_t)(CI_HCA_GONE | CI_AGENT_LOST)) {
		ib_log(IB_LOG_ERROR, "ci",
		       "ib_deregister_ci refused: flags is 0x%x and must be CI_HCA_GONE (0x%x) or 0",
		       flags, CI_HCA_GONE);
		return AL_INVALID_PARAMETER;
	}
	if (!upper->inside())
		return withdraw(handle, flags);
	name_hca(handle, hca, sizeof(hca));
	ib_log(IB_LOG_ERROR, "ci",
	       "ib_deregister_ci of %s refused: the call comes from inside an operation and would wait for that operation's "
	       "end; call ib_deregister_ci from another thread",
	       hca);
	return AL_INVALID_CONTEXT;
}

unsigned int ci_host_withdraw_hcas(struct ci_host *host)
{
	struct ci_registration *reg;
	unsigned int count = 0;

	pthread_mutex_lock(&ci_registry_lock);
	for (;;) {
		for (reg = registrations; reg && reg->module != host; reg = reg->next)
			;
		if (!reg)
			break;
		if (reg->removing) {
			/* A thread of the module is withdrawing this HCA. */
			pthread_cond_wait(&registry_changed, &ci_registry_lock);
			continue;
		}
		pthread_mutex_unlock(&ci_registry_lock);
		ib_log(IB_LOG_ERROR, host->name,
		       "%s: HCA 0x%016llx was still registered after cleanup: call ib_deregister_ci for each "
		       "HCA in remove or cleanup",
		       host->path, (unsigned long long)reg->attr.node_guid);
		withdraw(reg, CI_HCA_GONE);
		count++;
		pthread_mutex_lock(&ci_registry_lock);
	}
	pthread_mutex_unlock(&ci_registry_lock);
	return count;
}
