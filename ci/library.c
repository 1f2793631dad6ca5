/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Vendors' shared objects: opening a file after ci/elf.c has checked it, and finding the symbol
 * that it exports. The checks of the exported struct are ci/module.c's and ci/provider.c's. */
#include <urcu-bp.h>

#include "ci/internal.h"

al_status ci_library_open(const struct ci_library_kind *kind, const char *path, GModule **lib,
			  const void **symbol, char text[CI_TEXT_MAX])
{
	g_autofree char *full = g_canonicalize_filename(path, NULL);
	gpointer found = NULL;
	al_status st;

	st = ci_elf_check(full, text);
	if (st)
		return st;
	*lib = g_module_open(full, G_MODULE_BIND_LOCAL);
	if (!*lib) {
		ci_set_text(text, "the file can not be linked: %s", g_module_error());
		return AL_MODULE_DAMAGED;
	}
	if (!g_module_symbol(*lib, kind->symbol, &found) || !found) {
		ci_set_text(
			text,
			"the file exports no symbol %s, so it is no %s: remove the file from the %s, or define const struct %s %s in it",
			kind->symbol, kind->name, kind->place, kind->symbol, kind->symbol);
		g_module_close(*lib);
		return AL_MODULE_NO_SYMBOL;
	}
	*symbol = found;
	return AL_SUCCESS;
}

/* Unloads the code after a grace period: data path operations run inside RCU read sections. */
void ci_library_close(GModule *lib)
{
#ifdef IBAL_SANITIZED
	/*
	 * A sanitizer prints its report at the end of the program, and names functions of the
	 * library only while the library's code is loaded.
	 */
	g_module_make_resident(lib);
#endif
	urcu_bp_synchronize_rcu();
	g_module_close(lib);
}
