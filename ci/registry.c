/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The registry: which modules are here, which HCAs they have announced, who keeps a module loaded.
 * How a module gets here is ci/loader.c; what its table of operations must be like, ci/ops.c.
 */
#include <stdio.h>
#include <string.h>

#include "ci/internal.h"

pthread_mutex_t ci_registry_lock = PTHREAD_MUTEX_INITIALIZER;
/* With the lock: an HCA has gone, or a pin of one. */
static pthread_cond_t registry_changed = PTHREAD_COND_INITIALIZER;
static struct ci_host *hosts, *parents_hosts;
static struct ci_host *agent_hosts, *parents_agent_hosts;
static struct ci_registration *registrations, *parents_registrations;
static const struct ci_upper *upper;

void ci_set_upper(const struct ci_upper *u)
{
	upper = u;
}

void ci_registry_forked(void)
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

/* ------------------------------------------------------------------ looking on */

/*
 * An HCA of the module after the one given, kept from going; NULL: no more. Registry's lock held.
 */
static struct ci_registration *next_pinned(struct ci_host *host, struct ci_registration *reg)
{
	for (reg = reg ? reg->next : registrations; reg; reg = reg->next) {
		if (reg->module != host || reg->removing)
			continue;
		/*
		 * One that the Access Layer does not know yet. Pairs with the store in its add().
		 */
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
 * Who has HCAs of the module open, in words. Registry's lock held, but not while the Access Layer
 * is asked.
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

/* Refuses an HCA: one sentence, to the log and for whoever asks for the module later. */
static void refuse(struct ci_host *host, const char *text)
{
	ib_log(IB_LOG_ERROR, host->name, "%s: ib_register_ci refused: %s", host->path, text);
	pthread_mutex_lock(&ci_registry_lock);
	ci_say(host->why, "%s", text);
	pthread_mutex_unlock(&ci_registry_lock);
}

void ci_host_clear_why(struct ci_host *host)
{
	pthread_mutex_lock(&ci_registry_lock);
	host->why[0] = '\0';
	pthread_mutex_unlock(&ci_registry_lock);
}

void ci_host_say_failed(struct ci_host *host, const char *what, al_status st, char text[CI_TEXT_MAX])
{
	pthread_mutex_lock(&ci_registry_lock);
	ci_say(text, "%s of %s failed: %s%s%.160s", what, host->name, ci_status_text(st),
	       *host->why ? ": " : "", host->why);
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
		ci_say(text,
		       "port %u carries %s, which needs the operation local_mad, and that is NULL: implement it, or answer "
		       "the management class in the HCA and clear the bit",
		       port,
		       attr.ci_caps & CI_PORT_SMA_IN_AL ? "CI_PORT_SMA_IN_AL"
							: "CI_PORT_PMA_IN_AL");
		return AL_MODULE_MISSING_OP;
	}
	return AL_SUCCESS;
}

/* Asks the HCA, which is open, what it is. */
static al_status query(struct ci_registration *reg, const struct ci_interface *given,
		       char text[CI_TEXT_MAX])
{
	al_status st;

	IB_TRACE("ci", "query_ca of %s", reg->module->name);
	st = ci_query_ca(&reg->ops, reg->ca, &reg->attr, text);
	for (uint32_t port = 1; !st && port <= reg->attr.num_ports; port++)
		st = check_port(reg, given, (uint8_t)port, text);
	return st;
}

/* Enters it into the list, where its GUID is taken from now on. */
static al_status enter(struct ci_registration *reg, char text[CI_TEXT_MAX])
{
	struct ci_registration **end = &registrations;
	al_status st = AL_SUCCESS;

	pthread_mutex_lock(&ci_registry_lock);
	for (; *end && !st; end = &(*end)->next) {
		if ((*end)->attr.node_guid != reg->attr.node_guid ||
		    (*end)->module->agent != reg->module->agent)
			continue;
		ci_say(text,
		       "an HCA with node GUID 0x%016llx is registered already, by module %s: give each HCA its own",
		       (unsigned long long)reg->attr.node_guid, (*end)->module->name);
		st = AL_DUPLICATE;
	}
	if (!st && reg->module->unloading) {
		ci_say(text, "the module is being unloaded");
		st = AL_INVALID_STATE;
	}
	if (!st)
		*end = reg;
	pthread_mutex_unlock(&ci_registry_lock);
	return st;
}

/* Takes it out of the list once nobody looks at it; what is in the list then is not this one. */
static void leave(struct ci_registration *reg)
{
	struct ci_registration **at = &registrations;

	pthread_mutex_lock(&ci_registry_lock);
	while (*at != reg)
		at = &(*at)->next;
	*at = reg->next;
	pthread_cond_broadcast(&registry_changed);
	pthread_mutex_unlock(&ci_registry_lock);
}

/* Marks it as going, unless it is unknown, or going already. Waits for those who look at it. */
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

static al_status allocate(struct ci_host *host, const struct ci_interface *ci, void *hca,
			  struct ci_registration **result, char text[CI_TEXT_MAX])
{
	struct ci_registration *reg = al_alloc(sizeof(*reg));
	al_status st = AL_INSUFFICIENT_MEMORY;

	ci_say(text, "out of memory");
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

static void release(struct ci_registration *reg)
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
		       "ib_register_ci refused: host %p is not what the module's init was given",
		       (void *)host);
		return AL_INVALID_PARAMETER;
	}
	if (!ci || !handle) {
		refuse(host, !ci ? "the table of operations is NULL" : "handle is NULL");
		return AL_INVALID_PARAMETER;
	}
	IB_TRACE(host->name, "ib_register_ci");
	st = allocate(host, ci, hca, &reg, text);
	if (st)
		goto refused;
	IB_TRACE("ci", "open_ca of %s", host->name);
	st = reg->ops.open_ca(reg->ca);
	if (st) {
		ci_say(text, "open_ca failed: %s", ci_status_text(st));
		st = ci_module_status(st);
		goto free_reg;
	}
	st = query(reg, ci, text);
	if (st)
		goto close_ca;
	st = enter(reg, text);
	if (st)
		goto close_ca;
	st = upper->add(reg);
	if (st) {
		ci_say(text, "the Access Layer could not take it: %s", ci_status_text(st));
		goto leave;
	}
	*handle = reg;
	return AL_SUCCESS;

leave:
	begin_removal(reg);
	leave(reg);
close_ca:
	reg->ops.close_ca(reg->ca);
free_reg:
	release(reg);
refused:
	refuse(host, text);
	return st;
}

static al_status withdraw(struct ci_registration *reg, uint32_t flags)
{
	/* The handle may be anything: it is compared before it is looked into. */
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
	leave(reg);
	release(reg);
	return AL_SUCCESS;
}

/* A handle that may be anything, for people. */
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
		       "ib_deregister_ci refused: its flags are 0x%x and can be 0x%x, CI_HCA_GONE, or 0",
		       flags, CI_HCA_GONE);
		return AL_INVALID_PARAMETER;
	}
	if (!upper->inside())
		return withdraw(handle, flags);
	name_hca(handle, hca, sizeof(hca));
	ib_log(IB_LOG_ERROR, "ci",
	       "ib_deregister_ci of %s refused: it was called from inside an operation, whose end it waits for; call "
	       "it from another thread",
	       hca);
	return AL_INVALID_CONTEXT;
}

unsigned int ci_host_sweep(struct ci_host *host)
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
			/* A thread of the module's is at it. */
			pthread_cond_wait(&registry_changed, &ci_registry_lock);
			continue;
		}
		pthread_mutex_unlock(&ci_registry_lock);
		ib_log(IB_LOG_ERROR, host->name,
		       "%s: left HCA 0x%016llx registered when it ended: a module withdraws its "
		       "HCAs in remove and cleanup",
		       host->path, (unsigned long long)reg->attr.node_guid);
		withdraw(reg, CI_HCA_GONE);
		count++;
		pthread_mutex_lock(&ci_registry_lock);
	}
	pthread_mutex_unlock(&ci_registry_lock);
	return count;
}
