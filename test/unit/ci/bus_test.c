/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* ci/bus.c: which module gets which function of the bus, arrivals and departures, and the bus's part of a snapshot. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/unit/ci/support.h"

#define ADAPTERS TEST_DATA "/pci/adapters.dump"
#define CONNECTX "0000:3b:00.0" /* two functions are in fake's table, by vendor and device */
#define OMNIPATH "0000:86:00.0" /* a function that matches by vendor and class */

static struct fake *fake;
static const char *dump;

static void start_fresh(void)
{
	support_start();
	fake = fake_open();
	fake->hcas = 0;
	setenv("IBAL_MODULE_PATH", FAKE_DIR, 1);
	setenv("IBAL_PCI_DUMP", ADAPTERS, 1);
}

/* Returns a function's part of a snapshot; module NULL: the snapshot does not have the function. */
static struct ci_snap_pci shown(const char *name)
{
	struct ci_snap_pci *pci, found = { .name = "" };
	char *error;
	size_t count;

	ck_assert_int_eq(ci_snapshot_pci(&pci, &count, &error), AL_SUCCESS);
	ck_assert_ptr_null(error);
	for (size_t i = 0; i < count; i++)
		if (!strcmp(pci[i].name, name))
			found = pci[i];
	al_free(pci);
	return found;
}

/*
 * Makes the bus consist of the recording's functions whose lines begin with one of the arguments; NULL ends the list.
 */
static void plug(const char *first, ...)
{
	char command[1024] = "awk -v RS= -v ORS='\\n\\n' '/^0000:00:0/";
	const char *name;
	va_list names;

	if (!dump)
		dump = temp_path("bus.dump");
	va_start(names, first);
	for (name = first; name; name = va_arg(names, const char *))
		snprintf(command + strlen(command), sizeof(command) - strlen(command), "||/^%s/",
			 name);
	va_end(names);
	snprintf(command + strlen(command), sizeof(command) - strlen(command), "' " ADAPTERS " >%s",
		 dump);
	ck_assert_int_eq(system(command), 0);
	setenv("IBAL_PCI_DUMP", dump, 1);
}

START_TEST(functions_go_to_the_module_that_has_them_in_its_table)
{
	ck_assert_int_eq(ci_start(NULL), AL_SUCCESS);
	ck_assert_uint_eq(atomic_load(&fake->probes), 3);
	ck_assert_uint_eq(atomic_load(&upper.adds), 3);
	ck_assert_str_eq(shown(CONNECTX).module, "fake");
	ck_assert_str_eq(shown("0000:3b:00.1").module, "fake");
	ck_assert_str_eq(shown(OMNIPATH).module, "fake");
	ck_assert_uint_eq(shown(OMNIPATH).vendor_id, 0x8086);
	ck_assert_uint_eq(shown(OMNIPATH).device_id, 0x24f0);
	ck_assert_uint_eq(shown(OMNIPATH).class_code, 0x0208);
	/* The last function was matched by its class. */
	ck_assert_uint_eq(fake->last_dev->driver_data, 100);
	ck_assert_str_eq(fake->last_dev->name, OMNIPATH);
}
END_TEST

START_TEST(adapters_that_no_module_serves_are_shown_with_the_reason)
{
	ck_assert_int_eq(ci_start(NULL), AL_SUCCESS);
	ck_assert_str_eq(shown("0000:5e:00.0").module, "");
	ck_assert_ptr_nonnull(strstr(shown("0000:5e:00.0").text, "no module serves it"));
	ck_assert_str_eq(shown("0001:01:00.0").module, "");
	/* A function that lists of names lack: of a new vendor. */
	ck_assert_ptr_nonnull(strstr(shown("0000:e1:00.0").text, ": no module serves it"));
	/* A bridge, and a network card that no module's table has, are not in the snapshot. */
	ck_assert_str_eq(shown("0000:00:00.0").name, "");
	ck_assert_str_eq(shown("0000:af:00.0").name, "");
}
END_TEST

START_TEST(a_failed_probe_leaves_the_function_unserved_with_the_reason)
{
	fake->fail_probe = AL_IO_ERROR;
	ck_assert_int_eq(ci_start(NULL), AL_SUCCESS);
	ck_assert(log_has(IB_LOG_ERROR, "fake: PCI function " CONNECTX, "AL_IO_ERROR", NULL));
	ck_assert_str_eq(shown(CONNECTX).module, "");
	ck_assert_ptr_nonnull(strstr(shown(CONNECTX).text, "AL_IO_ERROR"));
	/* A rescan tries again. */
	fake->fail_probe = AL_SUCCESS;
	ck_assert_int_eq(ci_rescan(), AL_SUCCESS);
	ck_assert_str_eq(shown(CONNECTX).module, "fake");
}
END_TEST

START_TEST(functions_come_and_go)
{
	plug("0000:5e", NULL);
	ck_assert_int_eq(ci_start(NULL), AL_SUCCESS);
	ck_assert_uint_eq(atomic_load(&fake->probes), 0);

	plug("0000:5e", CONNECTX, NULL);
	ck_assert_int_eq(ci_rescan(), AL_SUCCESS);
	ck_assert_uint_eq(atomic_load(&fake->probes), 1);
	ck_assert_uint_eq(upper.last->attr.node_guid, FAKE_PCI_GUID | 0x3b00);

	ck_assert_int_eq(ci_rescan(), AL_SUCCESS);
	ck_assert_uint_eq(atomic_load(&fake->probes), 1);

	plug(OMNIPATH, NULL);
	ck_assert_int_eq(ci_rescan(), AL_SUCCESS);
	ck_assert_uint_eq(atomic_load(&fake->removes), 1);
	ck_assert_uint_eq(atomic_load(&upper.removes), 1);
	ck_assert_uint_eq(atomic_load(&fake->probes), 2);
	ck_assert_str_eq(shown(CONNECTX).name, "");
	ck_assert_str_eq(shown("0000:5e:00.0").name, "");
}
END_TEST

START_TEST(another_adapter_in_the_same_place_is_another)
{
	char command[512];

	plug(CONNECTX, NULL);
	ck_assert_int_eq(ci_start(NULL), AL_SUCCESS);
	snprintf(command, sizeof(command), "sed -i 's/^00: b3 15 17 10/00: b3 15 1b 10/' %s", dump);
	ck_assert_int_eq(system(command), 0);
	ck_assert_int_eq(ci_rescan(), AL_SUCCESS);
	ck_assert_uint_eq(atomic_load(&fake->removes), 1);
	ck_assert_str_eq(shown(CONNECTX).module, "");
	ck_assert_uint_eq(shown(CONNECTX).device_id, 0x101b);
}
END_TEST

/* The recorded bus has an adapter of the table's vendor, with another subclass. */
START_TEST(a_class_in_a_table_is_class_and_subclass)
{
	setenv("IBAL_PCI_DUMP", TEST_DATA "/pci/no-adapter.dump", 1);
	ck_assert_int_eq(ci_start(NULL), AL_SUCCESS);
	ck_assert_uint_eq(atomic_load(&fake->probes), 0);
}
END_TEST

/* Two cards with the same chip differ in their subsystem ids, bytes 2c to 2f of the configuration space. */
START_TEST(another_card_with_the_same_chip_in_the_same_place_is_another)
{
	static const char *const other[] = { "b3 15 08 00", "b4 15 07 00" };
	char command[512];

	plug(CONNECTX, NULL);
	ck_assert_int_eq(ci_start(NULL), AL_SUCCESS);
	ck_assert_uint_eq(fake->last_dev->subsys_device_id, 7);
	snprintf(command, sizeof(command), "sed -i '/^20:/s/b3 15 07 00$/%s/' %s", other[_i], dump);
	ck_assert_int_eq(system(command), 0);
	ck_assert_int_eq(ci_rescan(), AL_SUCCESS);
	ck_assert_uint_eq(atomic_load(&fake->removes), 1);
	ck_assert_uint_eq(atomic_load(&fake->probes), 2);
	ck_assert_uint_eq(fake->last_dev->subsys_device_id, _i ? 7 : 8);
	ck_assert_uint_eq(fake->last_dev->subsys_vendor_id, _i ? 0x15b4 : 0x15b3);
}
END_TEST

START_TEST(an_unreadable_bus_changes_nothing_and_is_shown)
{
	struct ci_snap_pci *pci;
	char *error;
	size_t count;

	plug(CONNECTX, NULL);
	ck_assert_int_eq(ci_start(NULL), AL_SUCCESS);
	setenv("IBAL_PCI_DUMP", "/nonexistent/bus.dump", 1);
	ck_assert_int_eq(ci_rescan(), AL_PCI_UNREADABLE);
	ck_assert(log_has(IB_LOG_ERROR, "/nonexistent/bus.dump", NULL));
	ck_assert_uint_eq(atomic_load(&fake->removes), 0);
	ck_assert_int_eq(ci_snapshot_pci(&pci, &count, &error), AL_SUCCESS);
	ck_assert_uint_eq(count, 1);
	ck_assert_ptr_nonnull(strstr(error, "/nonexistent/bus.dump"));
	al_free(pci);
	al_free(error);
	for (uint64_t n = 1; n <= 2; n++) {
		al_fail_alloc(n);
		ck_assert_int_eq(ci_snapshot_pci(&pci, &count, &error), AL_INSUFFICIENT_MEMORY);
	}
	/* The function is served again when the bus is readable again. */
	setenv("IBAL_PCI_DUMP", dump, 1);
	ck_assert_int_eq(ci_rescan(), AL_SUCCESS);
	ck_assert_str_eq(shown(CONNECTX).module, "fake");
}
END_TEST

START_TEST(without_a_readable_bus_the_library_starts)
{
	fake->hcas = 1;
	setenv("IBAL_PCI_DUMP", "/nonexistent/bus.dump", 1);
	ck_assert_int_eq(ci_start(NULL), AL_SUCCESS);
	ck_assert_uint_eq(atomic_load(&upper.adds), 1);
}
END_TEST

START_TEST(the_key_pci_dump_names_the_bus)
{
	char conf[512];

	unsetenv("IBAL_PCI_DUMP");
	snprintf(conf, sizeof(conf), "[ibal]\npci_dump=%s\n", ADAPTERS);
	ck_assert_int_eq(ci_start(temp_file("ibal.conf", conf)), AL_SUCCESS);
	ck_assert_uint_eq(atomic_load(&fake->probes), 3);
}
END_TEST

START_TEST(a_module_that_comes_later_is_offered_what_is_there)
{
	setenv("IBAL_MODULE_PATH", "", 1);
	plug(CONNECTX, NULL);
	ck_assert_int_eq(ci_start(NULL), AL_SUCCESS);
	ck_assert_str_eq(shown(CONNECTX).module, "");
	ck_assert_int_eq(ci_load_module(FAKE_SO), AL_SUCCESS);
	ck_assert_str_eq(shown(CONNECTX).module, "fake");
	ck_assert_int_eq(ci_unload_module("fake", 0), AL_SUCCESS);
	ck_assert_uint_eq(atomic_load(&fake->removes), 1);
	ck_assert_str_eq(shown(CONNECTX).module, "");
	ck_assert_ptr_null(fake->last_dev->module_data);
}
END_TEST

/* An address at which no machine has an adapter. */
#define LIVE "fffe:ff:1f.7"

static void remove_lock_files(void)
{
	unlink("/run/lock/ibal-" LIVE ".lock");
	unlink("/tmp/ibal-" LIVE ".lock");
}

START_TEST(a_function_of_the_machine_is_owned_by_one_process)
{
	char holder[100], pid[32];
	int fd, other;

	unsetenv("IBAL_PCI_DUMP");
	make_sysfs(LIVE);
	ci_bus_sysfs = temp_dir();
	ck_assert_int_eq(ci_lock_pci(LIVE, &fd, holder, sizeof(holder)), AL_SUCCESS);
	ck_assert_int_eq(ci_start(NULL), AL_SUCCESS);
	snprintf(pid, sizeof(pid), "(pid %d)", (int)getpid());
	ck_assert(log_has(IB_LOG_WARNING, LIVE, "in use by", pid, NULL));
	ck_assert_uint_eq(atomic_load(&fake->probes), 0);
	ck_assert_ptr_nonnull(strstr(shown(LIVE).text, "in use by"));

	/* The lock is released when probe fails and at the unload, and held while a module serves the function. */
	close(fd);
	fake->fail_probe = AL_IO_ERROR;
	ck_assert_int_eq(ci_rescan(), AL_SUCCESS);
	ck_assert_int_eq(ci_lock_pci(LIVE, &fd, holder, sizeof(holder)), AL_SUCCESS);
	close(fd);
	fake->fail_probe = AL_SUCCESS;
	ck_assert_int_eq(ci_rescan(), AL_SUCCESS);
	ck_assert_str_eq(shown(LIVE).module, "fake");
	ck_assert_str_eq(fake->last_dev->name, LIVE);
	ck_assert_int_eq(ci_lock_pci(LIVE, &other, holder, sizeof(holder)), AL_RESOURCE_BUSY);
	ck_assert_int_eq(ci_unload_module("fake", 0), AL_SUCCESS);
	ck_assert_int_eq(ci_lock_pci(LIVE, &fd, holder, sizeof(holder)), AL_SUCCESS);
	close(fd);
	remove_lock_files();
}
END_TEST

START_TEST(a_forked_child_does_not_hold_the_parents_functions)
{
	char holder[100];
	int fd, pipes[2];
	pid_t child;
	char byte;

	unsetenv("IBAL_PCI_DUMP");
	make_sysfs(LIVE);
	ci_bus_sysfs = temp_dir();
	ck_assert_int_eq(ci_start(NULL), AL_SUCCESS);
	ck_assert_str_eq(shown(LIVE).module, "fake");
	ck_assert_int_eq(pipe(pipes), 0);
	child = fork();
	if (!child) {
		ci_after_fork();
		byte = 'x';
		if (write(pipes[1], &byte, 1) != 1)
			_exit(1);
		pause();
	}
	ck_assert_int_eq(read(pipes[0], &byte, 1), 1);
	/* The child process still has the descriptor, but the parent's release is enough. */
	ck_assert_int_eq(ci_unload_module("fake", 0), AL_SUCCESS);
	ck_assert_int_eq(ci_lock_pci(LIVE, &fd, holder, sizeof(holder)), AL_SUCCESS);
	close(fd);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	remove_lock_files();
}
END_TEST

START_TEST(the_live_bus_may_be_looked_at)
{
	struct ci_snap_pci *pci;
	char *error;
	size_t count;

	/* The machine's own bus, whatever it has: fake is not loaded, and takes no function. */
	unsetenv("IBAL_PCI_DUMP");
	setenv("IBAL_MODULE_PATH", "", 1);
	ck_assert_int_eq(ci_start(NULL), AL_SUCCESS);
	ck_assert_int_eq(ci_snapshot_pci(&pci, &count, &error), AL_SUCCESS);
	al_free(pci);
	al_free(error);
}
END_TEST

START_TEST(a_forked_child_has_no_bus)
{
	struct ci_snap_pci *pci;
	char *error;
	size_t count;

	ck_assert_int_eq(ci_start(NULL), AL_SUCCESS);
	ci_after_fork();
	ck_assert_int_eq(ci_snapshot_pci(&pci, &count, &error), AL_SUCCESS);
	ck_assert_uint_eq(count, 0);
	al_free(pci);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bus");
	TCase *tc = tcase_create("bus");

	tcase_add_checked_fixture(tc, start_fresh, NULL);
	tcase_add_test(tc, functions_go_to_the_module_that_has_them_in_its_table);
	tcase_add_test(tc, adapters_that_no_module_serves_are_shown_with_the_reason);
	tcase_add_test(tc, a_failed_probe_leaves_the_function_unserved_with_the_reason);
	tcase_add_test(tc, functions_come_and_go);
	tcase_add_test(tc, another_adapter_in_the_same_place_is_another);
	tcase_add_test(tc, a_class_in_a_table_is_class_and_subclass);
	tcase_add_loop_test(tc, another_card_with_the_same_chip_in_the_same_place_is_another, 0, 2);
	tcase_add_test(tc, an_unreadable_bus_changes_nothing_and_is_shown);
	tcase_add_test(tc, without_a_readable_bus_the_library_starts);
	tcase_add_test(tc, the_key_pci_dump_names_the_bus);
	tcase_add_test(tc, a_module_that_comes_later_is_offered_what_is_there);
	tcase_add_test(tc, a_function_of_the_machine_is_owned_by_one_process);
	tcase_add_test(tc, a_forked_child_does_not_hold_the_parents_functions);
	tcase_add_test(tc, the_live_bus_may_be_looked_at);
	tcase_add_test(tc, a_forked_child_has_no_bus);
	suite_add_tcase(suite, tc);
	return support_run(suite);
}
