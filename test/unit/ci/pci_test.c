/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * ci/pci.c: the bus as read from a recorded configuration space and from sysfs. No damage of a recording ends the
 * process, as libpci would.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/unit/ci/support.h"

#define ADAPTERS TEST_DATA "/pci/adapters.dump"
#define CONNECTX "0000:3b:00.0"

static struct ci_pci_fn *list;
static char text[CI_TEXT_MAX];

static al_status read_dump(const char *path)
{
	const struct ci_pci_source source = { .dump = path, .sysfs = "/nonexistent" };

	text[0] = '\0';
	return ci_pci_read(&source, &list, text);
}

static const struct ci_pci_dev *find(const char *name)
{
	for (struct ci_pci_fn *fn = list; fn; fn = fn->next)
		if (!strcmp(fn->dev.name, name))
			return &fn->dev;
	ck_abort_msg("no function %s", name);
}

START_TEST(a_recorded_bus_is_read)
{
	const struct ci_pci_dev *dev;
	unsigned int count = 0;

	ck_assert_msg(read_dump(ADAPTERS) == AL_SUCCESS, "%s", text);
	for (struct ci_pci_fn *fn = list; fn; fn = fn->next)
		count++;
	ck_assert_uint_eq(count, 10);

	dev = find("0000:3b:00.1");
	ck_assert_uint_eq(dev->bus, 0x3b);
	ck_assert_uint_eq(dev->func, 1);
	ck_assert_uint_eq(dev->vendor_id, 0x15b3);
	ck_assert_uint_eq(dev->device_id, 0x1017);
	ck_assert_uint_eq(dev->class_code, 0x0200);
	ck_assert_uint_eq(dev->subsys_vendor_id, 0x15b3);
	ck_assert_uint_eq(dev->subsys_device_id, 0x0007);
	/* A 64-bit base address register. A recording does not have its size, nor the kernel's address. */
	ck_assert_uint_eq(dev->bars[0].addr, 0x203ae000000ULL);
	ck_assert_uint_eq(dev->bars[0].size, 0);
	ck_assert_uint_eq(dev->bars[1].addr, 0);
	ck_assert_int_eq(dev->numa_node, -1);
	ck_assert_int_eq(dev->iommu_group, -1);
	ck_assert_str_eq(dev->slot, "");
	ck_assert_str_eq(dev->sysfs_path, "");

	dev = find("0001:01:00.0");
	ck_assert_uint_eq(dev->domain, 1);
	ck_assert_uint_eq(dev->revision, 2);
	ck_assert_uint_eq(dev->class_code, 0x0c06);
	ci_pci_free(list);
}
END_TEST

START_TEST(ports_are_told_from_memory)
{
	ck_assert_int_eq(read_dump(TEST_DATA "/pci/no-adapter.dump"), AL_SUCCESS);
	ck_assert_uint_eq(find("0000:00:03.0")->bars[1].addr, 0xc000);
	ci_pci_free(list);
}
END_TEST

/* The list is in the order of names, and not in that of the recording. */
START_TEST(functions_are_in_the_order_of_their_names)
{
	static const char *const recorded[] = { "3b:00.0", "d8:00.0", "02:00.0", "5e:00.1", "5e:00.0", "86:00.0" };
	static const char *const want[] = { "02:00.0", "3b:00.0", "5e:00.0", "5e:00.1", "86:00.0", "d8:00.0" };
	char dump[4096] = "", line[80];
	const struct ci_pci_fn *fn;

	for (int i = 0; i < 6; i++) {
		snprintf(line, sizeof(line), "0000:%s Ethernet controller: Device\n", recorded[i]);
		strcat(dump, line);
		for (int row = 0; row < 64; row += 16) {
			snprintf(line, sizeof(line), "%02x: 86 80 00 10 00 00 00 00 00 00 00 02 00 00 00 00\n", row);
			strcat(dump, line);
		}
		strcat(dump, "\n");
	}
	ck_assert_msg(read_dump(temp_file("unordered", dump)) == AL_SUCCESS, "%s", text);
	fn = list;
	for (int i = 0; i < 6; i++, fn = fn->next) {
		ck_assert_ptr_nonnull(fn);
		ck_assert_str_eq(fn->dev.name + strlen("0000:"), want[i]);
	}
	ck_assert_ptr_null(fn);
	ci_pci_free(list);
}
END_TEST

START_TEST(a_dump_that_is_missing_or_empty_is_unreadable)
{
	ck_assert_int_eq(read_dump("/nonexistent/bus.dump"), AL_PCI_UNREADABLE);
	ck_assert_msg(strstr(text, "/nonexistent/bus.dump: No such file"), "%s", text);
	ck_assert_int_eq(read_dump(temp_file("empty", "")), AL_PCI_UNREADABLE);
	ck_assert_msg(strstr(text, "lspci -D -xxxx"), "%s", text);
	/* A file of another kind: libpci takes it for an empty bus. */
	ck_assert_int_eq(read_dump(temp_file("passwd", "root:x:0:0:\ndaemon:x:1:1:\n")),
			 AL_PCI_UNREADABLE);
	ck_assert_msg(strstr(text, "passwd: the file records no PCI function"), "%s", text);
	ck_assert_int_eq(read_dump("/tmp"), AL_PCI_UNREADABLE);
	ck_assert_ptr_null(list);
}
END_TEST

START_TEST(a_damaged_dump_is_unreadable_and_nothing_leaks)
{
	static const char *const damaged[] = {
		"0000:3b:00.0 x\nnonsense\n",
		"0000:3b:00.0 x\n00: zz\n",
		"0000:3b:00.0 without an end of line",
		"0000:3b:00.0 x\n1000: 00 11\n",
		"0000:3b:00.0 half a header\n00: b3 15 17 10 06 04 10 00 00 00 07 02 08 00 00 00\n\n",
		"0000:3b:00.0 no header\n\n",
	};
	unsigned int before = open_fds();

	for (size_t i = 0; i < sizeof(damaged) / sizeof(damaged[0]); i++) {
		al_status st = read_dump(temp_file("bus.dump", damaged[i]));

		ck_assert_msg(st == AL_PCI_UNREADABLE, "dump %zu: status %d", i, st);
		ck_assert_msg(strstr(text, "bus.dump: "), "%s", text);
		ck_assert_msg(strstr(text, "make the dump again"), "%s", text);
		ck_assert_ptr_null(list);
	}
	ck_assert_uint_eq(open_fds(), before);
}
END_TEST

/* Writes the same file with other content; temp_file() would use a new path each time. */
static const char *rewrite(const char *content)
{
	static const char *path;
	FILE *f;

	if (!path)
		path = temp_path("cut.dump");
	f = fopen(path, "we");
	ck_assert_ptr_nonnull(f);
	fputs(content, f);
	fclose(f);
	return path;
}

START_TEST(a_dump_cut_anywhere_never_ends_the_process)
{
	static char whole[65536];
	unsigned int good = 0, bad = 0;
	size_t size;
	FILE *f;

	f = fopen(ADAPTERS, "re");
	ck_assert_ptr_nonnull(f);
	size = fread(whole, 1, sizeof(whole) - 1, f);
	fclose(f);
	for (size_t len = size; len > 0; len -= len > 37 ? 37 : len) {
		al_status st;

		whole[len] = '\0';
		st = read_dump(rewrite(whole));
		ck_assert(st == AL_SUCCESS || st == AL_PCI_UNREADABLE);
		good += !st;
		bad += !!st;
		ci_pci_free(list);
	}
	ck_assert_uint_gt(good, 0);
	ck_assert_uint_gt(bad, 0);
}
END_TEST

START_TEST(out_of_memory_is_its_own_status)
{
	for (uint64_t n = 1; n <= 10; n++) {
		al_fail_alloc(n);
		ck_assert_int_eq(read_dump(ADAPTERS), AL_INSUFFICIENT_MEMORY);
		ck_assert_ptr_null(list);
	}
	al_fail_alloc(11);
	ck_assert_int_eq(read_dump(ADAPTERS), AL_SUCCESS);
	ck_assert_uint_eq(al_fail_alloc(0), 1);
	ci_pci_free(list);
}
END_TEST

/* -------------------------------------------------------------------------- the live bus */

START_TEST(the_live_bus_tells_more)
{
	const struct ci_pci_source source = { .sysfs = temp_dir() };
	const struct ci_pci_dev *dev;

	make_sysfs(CONNECTX);
	ck_assert_msg(ci_pci_read(&source, &list, text) == AL_SUCCESS, "%s", text);
	dev = find(CONNECTX);
	ck_assert_uint_eq(dev->vendor_id, 0x15b3);
	ck_assert_uint_eq(dev->class_code, 0x0207);
	ck_assert_uint_eq(dev->bars[0].addr, 0x203b0000000ULL);
	ck_assert_uint_eq(dev->bars[0].size, 0x2000000);
	ck_assert_int_eq(dev->numa_node, 1);
	ck_assert_int_eq(dev->iommu_group, 42);
	ck_assert_str_eq(dev->slot, "7");
	ck_assert_str_eq(dev->sysfs_path, temp_path("devices/" CONNECTX));
	ci_pci_free(list);
}
END_TEST

START_TEST(a_system_without_a_pci_bus_is_reported)
{
	const struct ci_pci_source source = { .sysfs = "/nonexistent" };

	ck_assert_int_eq(ci_pci_read(&source, &list, text), AL_PCI_UNREADABLE);
	ck_assert_msg(strstr(text, "no PCI bus: /nonexistent/devices"), "%s", text);
}
END_TEST

START_TEST(a_broken_sysfs_never_ends_the_process)
{
	const struct ci_pci_source source = { .sysfs = temp_dir() };

	make_sysfs(CONNECTX);
	sysfs_file(CONNECTX, "vendor", "what?\n");
	sysfs_file(CONNECTX, "resource", "nothing of the kind\n");
	if (ci_pci_read(&source, &list, text) == AL_SUCCESS)
		ci_pci_free(list);
	ck_assert_int_eq(unlink(temp_path("devices/" CONNECTX "/vendor")), 0);
	ck_assert_int_eq(ci_pci_read(&source, &list, text), AL_PCI_UNREADABLE);
	ck_assert_str_ne(text, "");
}
END_TEST

/* ------------------------------------------------------------------------- names */

#define UNKNOWN_VENDOR 0xfabc /* an id that no list of names has */

static const char *name_of(uint16_t vendor, uint16_t device)
{
	static char name[80];

	ci_pci_adapter(vendor, device, name, sizeof(name));
	return name;
}

START_TEST(an_adapter_has_the_name_that_the_list_gives)
{
	char name[8];

	ci_pci_ids = temp_file("pci.ids", "fabc  A New Vendor\n\t0001  First Adapter\n");
	ck_assert_str_eq(name_of(UNKNOWN_VENDOR, 1), "A New Vendor First Adapter");
	ck_assert_str_eq(name_of(UNKNOWN_VENDOR, 2), "A New Vendor Device 0002");
	ci_pci_adapter(UNKNOWN_VENDOR, 1, name, sizeof(name));
	ck_assert_uint_lt(strlen(name), sizeof(name));
}
END_TEST

START_TEST(an_adapter_that_the_list_lacks_has_its_numbers)
{
	const char *const lists[] = {
		temp_file("pci.ids", "15b3  Some Other Vendor\n"),
		temp_file("empty.ids", ""),
		"/nonexistent/pci.ids",
		temp_dir(),
	};

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		ci_pci_ids = lists[i];
		ck_assert_ptr_nonnull(strstr(name_of(UNKNOWN_VENDOR, 1), "fabc:0001"));
	}
	ci_pci_ids = NULL; /* this machine's list */
	ck_assert_str_ne(name_of(UNKNOWN_VENDOR, 1), "");
}
END_TEST

START_TEST(a_damaged_list_of_names_never_ends_the_process)
{
	unsigned int before;

	ci_pci_ids = temp_file("pci.ids", "\t0001  No vendor\nwhat?\n");
	before = open_fds();
	ck_assert_str_eq(name_of(UNKNOWN_VENDOR, 1), "fabc:0001");
	ck_assert_uint_eq(open_fds(), before);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("pci");
	TCase *tc = tcase_create("dump");

	tcase_add_test(tc, a_recorded_bus_is_read);
	tcase_add_test(tc, ports_are_told_from_memory);
	tcase_add_test(tc, functions_are_in_the_order_of_their_names);
	tcase_add_test(tc, a_dump_that_is_missing_or_empty_is_unreadable);
	tcase_add_test(tc, a_damaged_dump_is_unreadable_and_nothing_leaks);
	tcase_add_test(tc, a_dump_cut_anywhere_never_ends_the_process);
	tcase_add_test(tc, out_of_memory_is_its_own_status);
	suite_add_tcase(suite, tc);
	tc = tcase_create("live");
	tcase_add_test(tc, the_live_bus_tells_more);
	tcase_add_test(tc, a_system_without_a_pci_bus_is_reported);
	tcase_add_test(tc, a_broken_sysfs_never_ends_the_process);
	suite_add_tcase(suite, tc);
	tc = tcase_create("names");
	tcase_add_test(tc, an_adapter_has_the_name_that_the_list_gives);
	tcase_add_test(tc, an_adapter_that_the_list_lacks_has_its_numbers);
	tcase_add_test(tc, a_damaged_list_of_names_never_ends_the_process);
	suite_add_tcase(suite, tc);
	return support_run(suite);
}
