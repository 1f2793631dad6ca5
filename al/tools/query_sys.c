/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* al_query pci, modules: the adapters and the modules that the library has found on this
 * machine. */
#include <stdio.h>

#include "al/tools/query.h"

static void add_pci_id(JsonObject *row, const char *name, guint16 id)
{
	g_autofree char *text = g_strdup_printf("0x%04x", id);

	json_object_set_string_member(row, name, text);
}

void collect_pci(struct query *q)
{
	JsonArray *functions = query_array(q, "pci");

	if (q->snap->pci_error)
		query_error(q, TOOL_FAILED, "the PCI bus cannot be read: %s", q->snap->pci_error);
	for (size_t i = 0; i < q->snap->num_pci; i++) {
		const struct al_snap_pci *pci = &q->snap->pci[i];
		JsonObject *row = json_object_new();

		json_array_add_object_element(functions, row);
		member_text(row, "name", pci->name);
		add_pci_id(row, "vendor_id", pci->vendor_id);
		add_pci_id(row, "device_id", pci->device_id);
		add_pci_id(row, "class", pci->class_code);
		if (*pci->module)
			member_text(row, "module", pci->module);
		else
			json_object_set_null_member(row, "module");
		member_text(row, "text", pci->text);
	}
}

void show_pci(struct query *q)
{
	static const struct query_column columns[] = {
		{ "name", "Address", NULL, NULL },
		{ "vendor_id", "Vendor", NULL, NULL },
		{ "device_id", "Device", NULL, NULL },
		{ "class", "Class", NULL, NULL },
		{ "module", "Module", NULL, NULL },
		{ "text", "Adapter, or why no module serves it", NULL, NULL },
		{ NULL, NULL, NULL, NULL },
	};
	JsonArray *functions = json_object_get_array_member(q->out, "pci");

	if (json_array_get_length(functions))
		query_table(q, "", functions, columns);
	else if (!q->snap->pci_error)
		puts("No InfiniBand adapter is on the PCI bus, and none that a module serves. Software HCAs need none.");
}

void collect_modules(struct query *q)
{
	JsonArray *modules = query_array(q, "modules");

	for (size_t i = 0; i < q->snap->num_modules; i++) {
		const struct al_snap_module *module = &q->snap->modules[i];
		JsonObject *row = json_object_new();

		json_array_add_object_element(modules, row);
		member_text(row, "name", module->name);
		member_text(row, "version", module->version);
		member_text(row, "license", module->license);
		member_text(row, "path", module->path);
		json_object_set_int_member(row, "users", module->users);
		json_object_set_string_member(row, "status", al_status_name(module->status));
		member_text(row, "text", module->status ? module->text : "loaded");
	}
}

void show_modules(struct query *q)
{
	static const struct query_column columns[] = {
		{ "name", "Module", NULL, NULL },
		{ "version", "Version", format_dash, NULL },
		{ "users", "Opens", NULL, NULL },
		{ "path", "File", NULL, NULL },
		{ "text", "Loaded, or why not", NULL, NULL },
		{ NULL, NULL, NULL, NULL },
	};
	JsonArray *modules = json_object_get_array_member(q->out, "modules");

	if (json_array_get_length(modules))
		query_table(q, "", modules, columns);
	else
		puts("No module was found. \"al_query doctor\" says where they are looked for.");
}
