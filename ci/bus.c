/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The PCI functions of this machine, and the module that serves each function: matching by the
 * modules' id tables, calls of probe and remove, functions that appear and disappear. Reading the
 * bus is ci/pci.c. The list changes only with both the loader's and the registry's lock held; so
 * the loader reads it under its own lock, and snapshots under the registry's.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ci/internal.h"

const char *ci_bus_sysfs = "/sys/bus/pci";

static struct ci_pci_fn *functions, *parents_functions;
/* Why the last scan of the bus failed; empty: the scan succeeded. Guarded by the registry's lock.
 */
static char bus_error[CI_TEXT_MAX];

void ci_bus_after_fork(void)
{
	/*
	 * The child closes its descriptors of the lock files. The locks stay with the parent's
	 * descriptors.
	 */
	for (struct ci_pci_fn *fn = functions; fn; fn = fn->next)
		if (fn->lock >= 0)
			close(fn->lock);
	CI_LEAVE_TO_PARENT(functions, parents_functions);
	bus_error[0] = '\0';
}

/* ----------------------------------------------------------------- one function */

/*
 * True: the class is an InfiniBand or fabric controller (PCI Code and ID Assignment, 2 and 0c).
 * Such functions appear in snapshots even if no module serves them.
 */
static bool is_fabric_class(uint16_t class_code)
{
	return class_code == 0x0207 || class_code == 0x0208 || class_code == 0x0c06;
}

static const struct ci_pci_id *match_id(const struct ci_module *module,
					const struct ci_pci_dev *dev)
{
	for (uint32_t i = 0; i < module->num_pci_ids; i++) {
		const struct ci_pci_id *id = &module->pci_ids[i];

		if (id->vendor != CI_PCI_ANY && id->vendor != dev->vendor_id)
			continue;
		if (id->device != CI_PCI_ANY && id->device != dev->device_id)
			continue;
		if ((dev->class_code ^ id->class_code) & id->class_mask)
			continue;
		return id;
	}
	return NULL;
}

static void set_owner(struct ci_pci_fn *fn, struct ci_host *owner)
{
	pthread_mutex_lock(&ci_registry_lock);
	fn->owner = owner;
	if (owner)
		fn->refusal[0] = '\0';
	pthread_mutex_unlock(&ci_registry_lock);
}

static void set_refusal(struct ci_pci_fn *fn, const char *refusal)
{
	pthread_mutex_lock(&ci_registry_lock);
	ci_copy(fn->refusal, sizeof(fn->refusal), refusal);
	pthread_mutex_unlock(&ci_registry_lock);
}

static void unlock(struct ci_pci_fn *fn)
{
	if (fn->lock >= 0)
		close(fn->lock);
	fn->lock = -1;
}

/* Calls the module's probe for a function that matches the module's id table. Loader's lock held.
 */
static void probe_function(struct ci_pci_fn *fn, struct ci_host *host)
{
	const struct ci_pci_id *id = host->module->probe ? match_id(host->module, &fn->dev) : NULL;
	char refusal[CI_TEXT_MAX], holder[CI_TEXT_MAX];
	al_status st;

	if (!id)
		return;
	if (!*fn->adapter)
		ci_pci_adapter(fn->dev.vendor_id, fn->dev.device_id, fn->adapter,
			       sizeof(fn->adapter));
	IB_TRACE("ci", "PCI function %s (%04x:%04x) matches %s", fn->dev.name, fn->dev.vendor_id,
		 fn->dev.device_id, host->name);
	/* One process owns a function of the live bus. A function of a recorded dump has no
	 * sysfs_path and no lock. */
	if (*fn->dev.sysfs_path) {
		st = ci_lock_pci(fn->dev.name, &fn->lock, holder, sizeof(holder));
		if (st) {
			ci_set_text(refusal, "%s %.160s",
				    st == AL_RESOURCE_BUSY ? "in use by" : "can not be locked:",
				    holder);
			ib_log(IB_LOG_WARNING, host->name,
			       "PCI function %s is not served by this process: %s", fn->dev.name,
			       refusal);
			set_refusal(fn, refusal);
			return;
		}
	}
	fn->dev.driver_data = id->driver_data;
	IB_TRACE("ci", "probe of %s with %s", host->name, fn->dev.name);
	ci_host_clear_refusal(host);
	st = host->module->probe(&fn->dev);
	if (!st) {
		set_owner(fn, host);
		return;
	}
	fn->dev.driver_data = 0;
	fn->dev.module_data = NULL;
	unlock(fn);
	ci_host_describe_failure(host, "probe", st, refusal);
	set_refusal(fn, refusal);
	ib_log(IB_LOG_ERROR, host->name, "PCI function %s is not served: %s", fn->dev.name,
	       refusal);
}

static void remove_from_module(struct ci_pci_fn *fn)
{
	struct ci_host *host = fn->owner;

	if (!host)
		return;
	IB_TRACE("ci", "remove of %s with %s", host->name, fn->dev.name);
	host->module->remove(&fn->dev);
	fn->dev.driver_data = 0;
	fn->dev.module_data = NULL;
	set_owner(fn, NULL);
	unlock(fn);
}

void ci_bus_probe(struct ci_host *host)
{
	for (struct ci_pci_fn *fn = functions; fn; fn = fn->next)
		if (!fn->owner)
			probe_function(fn, host);
}

void ci_bus_remove_from(struct ci_host *host)
{
	for (struct ci_pci_fn *fn = functions; fn; fn = fn->next)
		if (fn->owner == host)
			remove_from_module(fn);
}

/* ----------------------------------------------------- changes of the bus */

/* True: both describe one adapter in one place of the bus. */
static bool is_same_adapter(const struct ci_pci_dev *a, const struct ci_pci_dev *b)
{
	return !strcmp(a->name, b->name) && a->vendor_id == b->vendor_id &&
	       a->device_id == b->device_id && a->class_code == b->class_code &&
	       a->subsys_vendor_id == b->subsys_vendor_id &&
	       a->subsys_device_id == b->subsys_device_id;
}

static struct ci_pci_fn **find_function(struct ci_pci_fn **list, const struct ci_pci_dev *dev)
{
	while (*list && !is_same_adapter(&(*list)->dev, dev))
		list = &(*list)->next;
	return list;
}

static void remove_missing(struct ci_pci_fn **seen)
{
	struct ci_pci_fn **at = &functions;

	while (*at) {
		struct ci_pci_fn *fn = *at;

		if (*find_function(seen, &fn->dev)) {
			at = &fn->next;
			continue;
		}
		IB_TRACE("ci", "PCI function %s was removed from the bus", fn->dev.name);
		remove_from_module(fn);
		pthread_mutex_lock(&ci_registry_lock);
		*at = fn->next;
		pthread_mutex_unlock(&ci_registry_lock);
		fn->next = NULL;
		ci_pci_free(fn);
	}
}

/* Moves functions that are not in the list yet from seen to the end of the list. */
static void add_found(struct ci_pci_fn **seen)
{
	struct ci_pci_fn **end = &functions;

	while (*end)
		end = &(*end)->next;
	while (*seen) {
		struct ci_pci_fn *fn = *seen;

		if (*find_function(&functions, &fn->dev)) {
			seen = &fn->next;
			continue;
		}
		*seen = fn->next;
		fn->next = NULL;
		if (is_fabric_class(fn->dev.class_code))
			ci_pci_adapter(fn->dev.vendor_id, fn->dev.device_id, fn->adapter,
				       sizeof(fn->adapter));
		pthread_mutex_lock(&ci_registry_lock);
		*end = fn;
		pthread_mutex_unlock(&ci_registry_lock);
		end = &fn->next;
	}
}

static const char *dump_file(void)
{
	const char *env = ci_env("IBAL_PCI_DUMP");

	return env ? env : ci_conf_get("pci_dump");
}

al_status ci_bus_scan(void)
{
	struct ci_pci_source source = { .dump = dump_file(), .sysfs = ci_bus_sysfs };
	struct ci_pci_fn *seen = NULL;
	char text[CI_TEXT_MAX] = "";
	al_status st;

	st = ci_pci_read(&source, &seen, text);
	pthread_mutex_lock(&ci_registry_lock);
	ci_copy(bus_error, sizeof(bus_error), text);
	pthread_mutex_unlock(&ci_registry_lock);
	if (st) {
		/* A machine without a PCI bus is no error. An unreadable dump is: the user has
		 * asked for the dump. */
		ib_log(source.dump ? IB_LOG_ERROR : IB_LOG_INFO, "pci", "%s%s",
		       source.dump ? "PCI dump unreadable: " : "", text);
		return st;
	}
	remove_missing(&seen);
	add_found(&seen);
	ci_pci_free(seen);
	for (struct ci_host *host = ci_host_first(); host; host = host->next)
		ci_bus_probe(host);
	return AL_SUCCESS;
}

void ci_bus_clear(void)
{
	struct ci_pci_fn *list = functions;

	pthread_mutex_lock(&ci_registry_lock);
	functions = NULL;
	bus_error[0] = '\0';
	pthread_mutex_unlock(&ci_registry_lock);
	ci_pci_free(list);
}

/* ----------------------------------------------------------------------- snapshot */

static bool is_shown(const struct ci_pci_fn *fn)
{
	return fn->owner || *fn->refusal || is_fabric_class(fn->dev.class_code);
}

static void describe(struct ci_snap_pci *snap, const struct ci_pci_fn *fn)
{
	char text[CI_TEXT_MAX];

	ci_copy(snap->name, sizeof(snap->name), fn->dev.name);
	snap->vendor_id = fn->dev.vendor_id;
	snap->device_id = fn->dev.device_id;
	snap->class_code = fn->dev.class_code;
	if (fn->owner) {
		ci_copy(snap->module, sizeof(snap->module), fn->owner->name);
		ci_copy(snap->text, sizeof(snap->text), fn->adapter);
		return;
	}
	ci_set_text(text, "%s: %.160s", fn->adapter,
		    *fn->refusal ? fn->refusal : "no module serves it");
	ci_copy(snap->text, sizeof(snap->text), text);
}

static char *copy_error(void)
{
	size_t size = strlen(bus_error) + 1;
	char *copy = al_alloc(size);

	return copy ? memcpy(copy, bus_error, size) : NULL;
}

al_status ci_snapshot_pci(struct ci_snap_pci **pci, size_t *count, char **error)
{
	al_status st = AL_INSUFFICIENT_MEMORY;
	struct ci_snap_pci *snap;
	char *copy = NULL;
	size_t n = 0;

	pthread_mutex_lock(&ci_registry_lock);
	for (struct ci_pci_fn *fn = functions; fn; fn = fn->next)
		if (is_shown(fn))
			n++;
	snap = al_alloc((n ? n : 1) * sizeof(*snap));
	if (!snap)
		goto out;
	if (*bus_error) {
		copy = copy_error();
		if (!copy) {
			al_free(snap);
			goto out;
		}
	}
	n = 0;
	for (struct ci_pci_fn *fn = functions; fn; fn = fn->next)
		if (is_shown(fn))
			describe(&snap[n++], fn);
	*pci = snap;
	*count = n;
	*error = copy;
	st = AL_SUCCESS;
out:
	pthread_mutex_unlock(&ci_registry_lock);
	return st;
}
