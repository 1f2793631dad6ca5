/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The file of a topology to simulate. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hca/soft/fabric/topology.h"

START_TEST(only_a_regular_file_is_read)
{
	char dir[] = "/tmp/topology.XXXXXX", path[64];
	struct topology_error error;
	struct topology t;
	FILE *file;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/fifo", dir);
	ck_assert_int_eq(topology_read(&t, path, &error), AL_IO_ERROR);
	ck_assert_ptr_nonnull(strstr(error.text, "fifo: cannot be read: No such file"));
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_eq(topology_read(&t, path, &error), AL_BAD_CONFIG);
	ck_assert_ptr_nonnull(strstr(error.text, "fifo: is no regular file"));
	ck_assert_int_eq(topology_read(&t, dir, &error), AL_BAD_CONFIG);
	unlink(path);
	file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	fputs("Ca 1 \"B\"\n", file);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_msg(topology_read(&t, path, &error) == AL_SUCCESS, "%s", error.text);
	ck_assert_uint_eq(t.num_nodes, 1);
	/* A topology to simulate has a GUID for each port. */
	ck_assert_uint_eq(t.ports[0].guid, t.nodes[0].guid + 1);
	topology_free(&t);
	unlink(path);
	rmdir(dir);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("topology file");
	TCase *tc = tcase_create("files");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tc, only_a_regular_file_is_read);
	suite_add_tcase(suite, tc);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
