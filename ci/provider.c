/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * User-mode providers (iba/ib_uvp.h): a provider is found by the name of the module whose HCAs it
 * serves, is loaded when the first of these HCAs arrives, and stays loaded until the process ends.
 * A provider that can not be used is named in the log, and its module's HCAs are used without a
 * provider. Calling the hooks is al/user's.
 */
#include <string.h>

#include <iba/ib_uvp.h>

#include "ci/internal.h"

static const struct ci_library_kind provider_kind = { "uvp_module", "user-mode provider",
						      "provider path" };

/* The provider of a module, also if none was found. */
struct provider {
	struct provider *next;
	char module[CI_NAME_MAX];
	bool usable; /* the provider is loaded and initialised; false: the HCAs are used without a
			provider */
	struct uvp_interface hooks; /* copy of the provider's table; hooks that the provider's
				       version lacks are NULL */
};

/* Guards the list of providers; held during a provider's init. Taken alone, or inside the loader's
 * lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct provider *providers;

/* Makes the lock usable in a forked child. The providers, initialised in the parent, stay in use:
 * they have no connections. */
void ci_provider_after_fork(void)
{
	pthread_mutex_init(&lock, NULL);
}

/* -------------------------------------------------------------------- checks */

static al_status check_module(const struct uvp_module *m, const char *name, char text[CI_TEXT_MAX])
{
	if (m->abi_major != UVP_ABI_MAJOR || m->size < sizeof(*m)) {
		ci_set_text(
			text,
			"the provider was built for ABI %u.%u of the provider interface and this library has %u.%u: rebuild the provider",
			m->abi_major, m->abi_minor, UVP_ABI_MAJOR, UVP_ABI_MINOR);
		return AL_MODULE_ABI;
	}
	if (!m->name || strcmp(m->name, name)) {
		ci_set_text(
			text,
			"uvp_module.name is \"%s\", and a provider has the name of its module and file, %s: rename one of them",
			m->name ? m->name : "", name);
		return AL_MODULE_FAILED;
	}
	if (m->flags || !m->ops) {
		ci_set_text(text,
			    "uvp_module.flags is 0x%x and ops is %s: flags must be 0, and ops set",
			    m->flags, m->ops ? "set" : "NULL");
		return AL_MODULE_FAILED;
	}
	return AL_SUCCESS;
}

static al_status check_hooks(const struct uvp_interface *ops, char text[CI_TEXT_MAX])
{
	if (ops->size < offsetof(struct uvp_interface, pre_open_ca) ||
	    ops->abi_major != UVP_ABI_MAJOR) {
		ci_set_text(
			text,
			"uvp_interface has %u bytes and ABI %u.%u, and this library has ABI %u.%u: rebuild the provider",
			ops->size, ops->abi_major, ops->abi_minor, UVP_ABI_MAJOR, UVP_ABI_MINOR);
		return AL_MODULE_ABI;
	}
	if (ops->flags & ~(uint32_t)CI_SERIALISE_CQ) {
		ci_set_text(text, "uvp_interface.flags is 0x%x: only CI_SERIALISE_CQ may be set",
			    ops->flags);
		return AL_MODULE_FAILED;
	}
	return ci_obj_sizes_check("uvp_interface", ops->obj_size, text);
}

/* ---------------------------------------------------------------------- loading */

/* Finds the provider's file: the first directory of the provider path that has the file. NULL: no
 * directory has. */
static char *find_file(const char *module)
{
	const char *path = ci_env("IBAL_UVP_PATH");
	g_autofree char *file = g_strconcat(module, ".so", NULL);
	g_auto(GStrv) dirs = NULL;

	if (!path)
		path = ci_conf_get("uvp_path");
	dirs = g_strsplit(path ? path : IBAL_UVP_DIR, ":", -1);
	for (char **dir = dirs; *dir; dir++) {
		char *full = g_build_filename(*dir, file, NULL);

		if (**dir && g_file_test(full, G_FILE_TEST_EXISTS))
			return full;
		g_free(full);
	}
	return NULL;
}

static al_status load_provider_file(struct provider *p, const char *path, char text[CI_TEXT_MAX])
{
	const struct uvp_module *module;
	GModule *lib;
	al_status st = ci_library_open(&provider_kind, path, &lib, (const void **)&module, text);

	if (st)
		return st;
	st = check_module(module, p->module, text);
	if (!st)
		st = check_hooks(module->ops, text);
	if (st)
		goto close;
	IB_TRACE("ci", "load provider %s from %s", p->module, path);
	st = module->init ? module->init() : AL_SUCCESS;
	if (st) {
		ci_set_text(text, "uvp_module.init failed: %s", ci_status_text(st));
		st = ci_module_status(st);
		goto close;
	}
	memcpy(&p->hooks, module->ops,
	       module->ops->size < sizeof(p->hooks) ? module->ops->size : sizeof(p->hooks));
	p->usable = true;
	return AL_SUCCESS;
close:
	ci_library_close(lib);
	return st;
}

static struct provider *add_provider(const char *module)
{
	struct provider *p = al_alloc(sizeof(*p));
	g_autofree char *path = NULL;
	char text[CI_TEXT_MAX] = "";

	if (!p)
		return NULL;
	ci_copy(p->module, sizeof(p->module), module);
	path = find_file(module);
	if (path && load_provider_file(p, path, text))
		ib_log(IB_LOG_ERROR, module,
		       "%s: not loaded; the HCAs are used without a provider: %s", path, text);
	p->next = providers;
	providers = p;
	return p;
}

const struct uvp_interface *ci_provider(const char *module)
{
	struct provider *p;
	char name[CI_NAME_MAX];
	g_autofree char *file = g_strconcat(module, ".so", NULL);

	/* The agent sends the name: a name that is no module's could lead to a file outside the
	 * provider path. */
	if (!ci_module_file_name(file, name) || strcmp(name, module))
		return NULL;
	pthread_mutex_lock(&lock);
	for (p = providers; p && strcmp(p->module, module); p = p->next)
		;
	if (!p)
		p = add_provider(module);
	pthread_mutex_unlock(&lock);
	return p && p->usable ? &p->hooks : NULL;
}
