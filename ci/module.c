/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Loading and unloading one HCA module: opening its file, the checks of struct ci_module, and the
 * calls of init, scan and cleanup. Which files are loaded, and when, is ci/loader.c; the PCI
 * functions that a module serves, ci/bus.c. All functions but ci_module_file_name() need the
 * loader's lock.
 */
#include <string.h>

#include "ci/internal.h"

static const struct ci_library_kind module_kind = { "ci_module", "HCA module", "module path" };

bool ci_module_file_name(const char *path, char name[CI_NAME_MAX])
{
	const char *file = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	size_t len = strspn(file, "abcdefghijklmnopqrstuvwxyz0123456789_-");

	if (!len || len >= CI_NAME_MAX || strcmp(file + len, ".so"))
		return false;
	memcpy(name, file, len);
	name[len] = '\0';
	return true;
}

static al_status check_abi(const struct ci_module *m, char text[CI_TEXT_MAX])
{
	if (m->abi_major != CI_ABI_MAJOR) {
		ci_set_text(
			text,
			"the module was built for ABI %u.%u of the Channel Interface and this library has %u.%u: rebuild the module",
			m->abi_major, m->abi_minor, CI_ABI_MAJOR, CI_ABI_MINOR);
		return AL_MODULE_ABI;
	}
	if (m->size < sizeof(*m)) {
		ci_set_text(
			text,
			"ci_module.size is %u and at least %zu is needed: set the size to sizeof(struct ci_module)",
			m->size, sizeof(*m));
		return AL_MODULE_ABI;
	}
	return AL_SUCCESS;
}

static al_status check_functions(const struct ci_module *m, char text[CI_TEXT_MAX])
{
	if (!m->cleanup) {
		ci_set_text(text,
			    "ci_module.cleanup is NULL: implement the function, which is required");
		return AL_MODULE_MISSING_OP;
	}
	if (m->probe && !m->remove) {
		ci_set_text(
			text,
			"ci_module.remove is NULL: implement the function, which is required with probe");
		return AL_MODULE_MISSING_OP;
	}
	if (m->flags || (m->num_pci_ids && !m->pci_ids)) {
		ci_set_text(
			text,
			"ci_module.flags is 0x%x and pci_ids is %s with num_pci_ids %u: flags must be 0, and pci_ids hold "
			"so many lines",
			m->flags, m->pci_ids ? "set" : "NULL", m->num_pci_ids);
		return AL_MODULE_FAILED;
	}
	return AL_SUCCESS;
}

static al_status check_names(const struct ci_module *m, const char *name, char text[CI_TEXT_MAX])
{
	if (!m->name || strcmp(m->name, name)) {
		ci_set_text(
			text,
			"ci_module.name is \"%s\", and a module has the name of its file, %s: rename one of them",
			m->name ? m->name : "", name);
		return AL_MODULE_FAILED;
	}
	if (ci_conf_reserved(name)) {
		ci_set_text(
			text,
			"the name \"%s\" is the library's own in the configuration: give the module another",
			name);
		return AL_MODULE_FAILED;
	}
	if (ci_host_find(name)) {
		ci_set_text(text, "a module %s is loaded already, from %s", name,
			    ci_host_find(name)->path);
		return AL_DUPLICATE;
	}
	return AL_SUCCESS;
}

static al_status check_module(const struct ci_module *m, const char *name, char text[CI_TEXT_MAX])
{
	al_status st = check_abi(m, text);

	if (!st)
		st = check_functions(m, text);
	if (!st)
		st = check_names(m, name, text);
	return st;
}

/* Calls the module's init and scan. After a failure the module has been cleaned up. */
static al_status initialise(struct ci_host *host, char text[CI_TEXT_MAX])
{
	struct ci_params params;
	al_status st;

	ci_set_text(text,
		    "the module's settings are wrong; the previous message names the setting");
	st = ci_conf_params(host->name, &params);
	if (st)
		return st;
	IB_TRACE("ci", "init of %s", host->name);
	st = host->module->init ? host->module->init(host, &params) : AL_SUCCESS;
	ci_conf_params_free(&params);
	if (st) {
		ci_host_describe_failure(host, "init", st, text);
		return ci_module_status(st);
	}
	if (!host->module->scan)
		return AL_SUCCESS;
	IB_TRACE("ci", "scan of %s", host->name);
	st = host->module->scan();
	if (!st)
		return AL_SUCCESS;
	ci_host_describe_failure(host, "scan", st, text);
	host->module->cleanup();
	return ci_module_status(st);
}

al_status ci_module_load(const char *path, struct ci_host **result, char text[CI_TEXT_MAX])
{
	const struct ci_module *module;
	char name[CI_NAME_MAX];
	struct ci_host *host;
	GModule *lib;
	al_status st;

	if (!ci_module_file_name(path, name)) {
		ci_set_text(text, "%s", CI_MODULE_FILE_RULE);
		return AL_MODULE_FAILED;
	}
	st = ci_library_open(&module_kind, path, &lib, (const void **)&module, text);
	if (st)
		return st;
	st = check_module(module, name, text);
	if (st)
		goto close_lib;

	host = al_alloc(sizeof(*host));
	if (!host) {
		ci_set_text(text, "out of memory");
		st = AL_INSUFFICIENT_MEMORY;
		goto close_lib;
	}
	host->module = module;
	host->lib = lib;
	ci_copy(host->name, sizeof(host->name), name);
	ci_copy(host->version, sizeof(host->version), module->version ? module->version : "");
	ci_copy(host->license, sizeof(host->license), module->license ? module->license : "");
	ci_copy(host->path, sizeof(host->path), path);
	IB_TRACE("ci", "load %s from %s, %u PCI ids", name, path, module->num_pci_ids);
	/* In the list before init, since init may register HCAs. */
	ci_host_add(host);
	st = initialise(host, text);
	if (st)
		goto drop;
	*result = host;
	return AL_SUCCESS;

drop:
	ci_host_retire(host, true, NULL, 0);
	ci_host_withdraw_hcas(host);
	ci_host_drop(host);
close_lib:
	ci_library_close(lib);
	return st;
}

void ci_module_unload(struct ci_host *host)
{
	GModule *lib = host->lib;

	IB_TRACE("ci", "cleanup of %s", host->name);
	host->module->cleanup();
	ci_host_withdraw_hcas(host);
	IB_TRACE("ci", "unload %s", host->name);
	ci_host_drop(host);
	ci_library_close(lib);
}
