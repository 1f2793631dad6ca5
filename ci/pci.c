/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Reads the PCI bus, live or from a recorded dump, with libpci. Which module serves a function is
 * ci/bus.c's.
 *
 * libpci reports an error through a function that must not return. libpci's own function exits the
 * process; pci_failed() here leaves libpci with longjmp() instead.
 */
#include <errno.h>
#include <pci/pci.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ci/internal.h"

const char *ci_pci_ids;

/* The way out of libpci for this thread. libpci passes no context to its error function, so the
 * state is thread-local. */
static _Thread_local struct {
	jmp_buf env;
	char *text; /* CI_TEXT_MAX bytes for the reason */
} error_exit;

static __attribute__((noreturn, format(printf, 1, 2))) void pci_failed(char *fmt, ...)
{
	char reason[160];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(reason, sizeof(reason), fmt, ap);
	va_end(ap);
	ci_set_text(error_exit.text, "%s", reason);
	longjmp(error_exit.env, 1);
}

static __attribute__((format(printf, 1, 2))) void pci_warned(char *fmt, ...)
{
	char text[CI_TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	ib_log(IB_LOG_WARNING, "pci", "%s", text);
}

/* Drops libpci's debug messages, which are fragments of lines. */
static __attribute__((format(printf, 1, 2))) void pci_debugged(char *fmt, ...)
{
	(void)fmt;
}

/*
 * Allocates libpci's state with all three message functions set. pci_init() would replace a NULL
 * function by libpci's own, but the look-up of a name works without pci_init().
 */
static struct pci_access *access_alloc(void)
{
	struct pci_access *acc = pci_alloc();

	acc->error = pci_failed;
	acc->warning = pci_warned;
	acc->debug = pci_debugged;
	return acc;
}

void ci_pci_free(struct ci_pci_fn *list)
{
	while (list) {
		struct ci_pci_fn *fn = list;

		list = fn->next;
		if (fn->lock >= 0)
			close(fn->lock);
		al_free(fn);
	}
}

static void fill_bars(struct ci_pci_dev *dev, const struct pci_dev *d)
{
	for (int i = 0; i < 6; i++) {
		bool io = d->base_addr[i] & PCI_BASE_ADDRESS_SPACE_IO;

		dev->bars[i].addr = d->base_addr[i] & (io ? PCI_ADDR_IO_MASK : PCI_ADDR_MEM_MASK);
		dev->bars[i].size = d->size[i];
	}
}

static void fill_pci_dev(struct ci_pci_dev *dev, struct pci_dev *d,
			 const struct ci_pci_source *source)
{
	const char *group;

	dev->domain = (uint16_t)d->domain;
	dev->bus = d->bus;
	dev->dev = d->dev;
	dev->func = d->func;
	dev->revision = d->rev_id;
	dev->vendor_id = d->vendor_id;
	dev->device_id = d->device_id;
	dev->subsys_vendor_id = d->subsys_vendor_id;
	dev->subsys_device_id = d->subsys_id;
	dev->class_code = d->device_class;
	dev->numa_node = d->numa_node;
	group = pci_get_string_property(d, PCI_FILL_IOMMU_GROUP);
	dev->iommu_group = group ? atoi(group) : -1;
	fill_bars(dev, d);
	snprintf(dev->name, sizeof(dev->name), "%04x:%02x:%02x.%x", dev->domain, d->bus, d->dev,
		 d->func & 7u);
	if (d->phy_slot)
		ci_copy(dev->slot, sizeof(dev->slot), d->phy_slot);
	if (!source->dump)
		snprintf(dev->sysfs_path, sizeof(dev->sysfs_path), "%s/devices/%s", source->sysfs,
			 dev->name);
}

/*
 * Adds a function to the list, which is sorted by name, since the order of libpci's list is not
 * defined.
 */
static al_status add_function(struct pci_dev *d, const struct ci_pci_source *source,
			      struct ci_pci_fn **list)
{
	const int wanted = PCI_FILL_IDENT | PCI_FILL_CLASS | PCI_FILL_CLASS_EXT | PCI_FILL_SUBSYS |
			   PCI_FILL_BASES | PCI_FILL_SIZES | PCI_FILL_PHYS_SLOT |
			   PCI_FILL_NUMA_NODE | PCI_FILL_IOMMU_GROUP;
	struct ci_pci_fn *fn;
	u8 header[64];

	/* Domains beyond 16 bits are virtual domains of storage controllers, without HCAs. */
	if (d->domain < 0 || d->domain > 0xffff)
		return AL_SUCCESS;
	if (source->dump && !pci_read_block(d, 0, header, sizeof(header))) {
		ci_set_text(
			error_exit.text,
			"%s: function %04x:%02x:%02x.%x is recorded with less than its header of 64 bytes: make the "
			"dump again with lspci -D -xxxx",
			source->dump, (unsigned int)d->domain, d->bus, d->dev, d->func & 7u);
		return AL_PCI_UNREADABLE;
	}
	/* pci_fill_info() may leave by longjmp(), so it comes before any allocation. */
	pci_fill_info(d, wanted);
	fn = al_alloc(sizeof(*fn));
	if (!fn) {
		ci_set_text(error_exit.text, "out of memory");
		return AL_INSUFFICIENT_MEMORY;
	}
	fill_pci_dev(&fn->dev, d, source);
	fn->lock = -1;
	while (*list && strcmp((*list)->dev.name, fn->dev.name) < 0)
		list = &(*list)->next;
	fn->next = *list;
	*list = fn;
	return AL_SUCCESS;
}

/* Writes a refusal that names the dump file, which libpci's reason does not. reason may point to
 * text. */
static al_status bad_dump(const char *dump, const char *reason, char text[CI_TEXT_MAX])
{
	char copy[120];

	ci_copy(copy, sizeof(copy), reason);
	ci_set_text(text, "%s: %s: make the dump again with lspci -D -xxxx", dump, copy);
	return AL_PCI_UNREADABLE;
}

static al_status scan(struct pci_access *acc, const struct ci_pci_source *source,
		      struct ci_pci_fn **list)
{
	al_status st = AL_SUCCESS;

	pci_init(acc);
	pci_scan_bus(acc);
	for (struct pci_dev *d = acc->devices; d && !st; d = d->next)
		st = add_function(d, source, list);
	if (!st && source->dump && !*list)
		st = bad_dump(source->dump, "the file records no PCI function", error_exit.text);
	return st;
}

/* Checks that the source can be read. libpci would take an unreadable source for an empty bus. */
static al_status check_source(const struct ci_pci_source *source, char text[CI_TEXT_MAX])
{
	char devices[128];
	struct stat st;

	if (source->dump) {
		if (stat(source->dump, &st))
			return bad_dump(source->dump, g_strerror(errno), text);
		if (!S_ISREG(st.st_mode))
			return bad_dump(source->dump, "the path is no regular file", text);
		return AL_SUCCESS;
	}
	snprintf(devices, sizeof(devices), "%s/devices", source->sysfs);
	if (!access(devices, R_OK | X_OK))
		return AL_SUCCESS;
	ci_set_text(text, "this system shows no PCI bus: %s: %s", devices, g_strerror(errno));
	return AL_PCI_UNREADABLE;
}

al_status ci_pci_read(const struct ci_pci_source *source, struct ci_pci_fn **list,
		      char text[CI_TEXT_MAX])
{
	struct pci_access *acc;
	al_status st;

	*list = NULL;
	st = check_source(source, text);
	if (st)
		return st;
	acc = access_alloc();
	/* The live bus is read by sysfs only: libpci's default method also tries I/O ports. */
	acc->method = source->dump ? PCI_ACCESS_DUMP : PCI_ACCESS_SYS_BUS_PCI;
	pci_set_param(acc, source->dump ? "dump.name" : "sysfs.path",
		      (char *)(source->dump ? source->dump : source->sysfs));
	error_exit.text = text;
	if (!setjmp(error_exit.env))
		st = scan(acc, source, list);
	else if (source->dump)
		st = bad_dump(source->dump, text, text);
	else
		st = AL_PCI_UNREADABLE;
	pci_cleanup(acc);
	if (st) {
		ci_pci_free(*list);
		*list = NULL;
	}
	return st;
}

void ci_pci_adapter(uint16_t vendor, uint16_t device, char *buf, size_t len)
{
	struct pci_access *acc = access_alloc();
	char text[CI_TEXT_MAX];

	if (ci_pci_ids)
		pci_set_name_list_path(acc, (char *)ci_pci_ids, 0);
	error_exit.text = text;
	snprintf(buf, len, "%04x:%04x", vendor, device);
	/* PCI_LOOKUP_NO_HWDB keeps libpci from asking udev, which has the same list: libpci 3.9
	 * leaks a udev context for each name that udev does not know. */
	if (!setjmp(error_exit.env))
		pci_lookup_name(acc, buf, (int)len,
				PCI_LOOKUP_VENDOR | PCI_LOOKUP_DEVICE | PCI_LOOKUP_NO_HWDB, vendor,
				device);
	pci_cleanup(acc);
}
