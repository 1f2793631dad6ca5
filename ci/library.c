/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Vendors' shared objects: opened after a look at the file, and found by the one symbol they
 * export. */
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
		ci_say(text, "it can not be linked: %s", g_module_error());
		return AL_MODULE_DAMAGED;
	}
	if (!g_module_symbol(*lib, kind->symbol, &found) || !found) {
		ci_say(text,
		       "it exports no symbol %s, so it is no %s: take it out of the %s, or define const struct %s %s in it",
		       kind->symbol, kind->name, kind->place, kind->symbol, kind->symbol);
		g_module_close(*lib);
		return AL_MODULE_NO_SYMBOL;
	}
	*symbol = found;
	return AL_SUCCESS;
}

/* The code goes when nobody can be in it: operations are called inside RCU read sections. */
void ci_library_close(GModule *lib)
{
#ifdef IBAL_SANITIZED
	/*
	 * A report names what it saw when the program ends; without the code it would have no
	 * names.
	 */
	g_module_make_resident(lib);
#endif
	urcu_bp_synchronize_rcu();
	g_module_close(lib);
}
