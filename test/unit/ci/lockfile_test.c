/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * ci/lockfile.c: a lock has one owner, which a refusal names; the lock file's content and type are not trusted.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/unit/ci/support.h"

#define NAME      "0000:3b:00.0"
#define FILE_NAME "ibal-" NAME ".lock"

static char holder[100];

START_TEST(a_second_process_is_refused_with_the_owners_name)
{
	char pid[32];
	int fd, other;

	snprintf(pid, sizeof(pid), "(pid %d)", (int)getpid());
	ck_assert_int_eq(ci_lockfile_take(temp_dir(), NAME, &fd, holder, sizeof(holder)),
			 AL_SUCCESS);
	ck_assert_int_eq(ci_lockfile_take(temp_dir(), NAME, &other, holder, sizeof(holder)),
			 AL_RESOURCE_BUSY);
	ck_assert_msg(strstr(holder, pid), "%s", holder);
	ck_assert_int_eq(
		ci_lockfile_take(temp_dir(), "0000:3b:00.1", &other, holder, sizeof(holder)),
		AL_SUCCESS);
	close(other);
	close(fd);
	ck_assert_int_eq(ci_lockfile_take(temp_dir(), NAME, &fd, holder, sizeof(holder)),
			 AL_SUCCESS);
	close(fd);
}
END_TEST

START_TEST(a_lock_ends_with_its_process)
{
	int status, fd;
	pid_t child;

	temp_dir();
	child = fork();
	if (!child)
		_exit(ci_lockfile_take(temp_dir(), NAME, &fd, holder, sizeof(holder)));
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(ci_lockfile_take(temp_dir(), NAME, &fd, holder, sizeof(holder)),
			 AL_SUCCESS);
	close(fd);
}
END_TEST

START_TEST(other_users_can_lock_the_same_file)
{
	const char *path = temp_path(FILE_NAME);
	mode_t mask = umask(077);
	struct stat st;
	int fd;

	ck_assert_int_eq(ci_lockfile_take(temp_dir(), NAME, &fd, holder, sizeof(holder)),
			 AL_SUCCESS);
	umask(mask);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0666);
	ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
}
END_TEST

START_TEST(no_link_is_followed)
{
	const char *victim = temp_file("victim", "precious");
	const char *path = temp_path(FILE_NAME);
	char text[16] = "";
	int fd;

	ck_assert_int_eq(symlink(victim, path), 0);
	ck_assert_int_eq(ci_lockfile_take(temp_dir(), NAME, &fd, holder, sizeof(holder)),
			 AL_IO_ERROR);
	ck_assert_msg(strstr(holder, FILE_NAME), "%s", holder);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(link(victim, path), 0);
	ck_assert_int_eq(ci_lockfile_take(temp_dir(), NAME, &fd, holder, sizeof(holder)),
			 AL_IO_ERROR);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_eq(ci_lockfile_take(temp_dir(), NAME, &fd, holder, sizeof(holder)),
			 AL_IO_ERROR);
	fd = open(victim, O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(read(fd, text, sizeof(text)), 8);
	close(fd);
	ck_assert_str_eq(text, "precious");
}
END_TEST

START_TEST(the_text_of_a_lock_file_is_shown_without_control_characters)
{
	const char *path = temp_path(FILE_NAME);
	int fd, other;

	ck_assert_int_eq(ci_lockfile_take(temp_dir(), NAME, &fd, holder, sizeof(holder)),
			 AL_SUCCESS);
	temp_file(FILE_NAME, "bad\n\033[31mname");
	ck_assert_int_eq(ci_lockfile_take(temp_dir(), NAME, &other, holder, sizeof(holder)),
			 AL_RESOURCE_BUSY);
	ck_assert_str_eq(holder, "bad??[31mname");
	ck_assert_int_eq(truncate(path, 0), 0);
	ck_assert_int_eq(ci_lockfile_take(temp_dir(), NAME, &other, holder, sizeof(holder)),
			 AL_RESOURCE_BUSY);
	ck_assert(strstr(holder, "not in the lock file"));
	close(fd);
}
END_TEST

START_TEST(no_directory_is_an_error_that_names_it)
{
	int fd;

	ck_assert_int_eq(ci_lockfile_take("/nonexistent", NAME, &fd, holder, sizeof(holder)),
			 AL_IO_ERROR);
	ck_assert_msg(strstr(holder, "/nonexistent/" FILE_NAME ": No such file"), "%s", holder);
}
END_TEST

START_TEST(root_looks_where_other_users_do)
{
	ck_assert_int_eq(chmod(temp_dir(), 0755), 0);
	ck_assert_str_eq(ci_lockfile_dir(temp_dir()), "/tmp");
	ck_assert_int_eq(chmod(temp_dir(), 01777), 0);
	ck_assert_str_eq(ci_lockfile_dir(temp_dir()), temp_dir());
	ck_assert_str_eq(ci_lockfile_dir("/nonexistent"), "/tmp");
}
END_TEST

START_TEST(the_systems_place_works)
{
	char name[32];
	int fd;

	/* A name that no other test and no device uses. */
	snprintf(name, sizeof(name), "test-%d", (int)getpid());
	ck_assert_msg(ci_lock_pci(name, &fd, holder, sizeof(holder)) == AL_SUCCESS, "%s", holder);
	close(fd);
	for (int i = 0; i < 2; i++) {
		char path[100];

		snprintf(path, sizeof(path), "%s/ibal-%s.lock", i ? "/tmp" : "/run/lock", name);
		unlink(path);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("lockfile");
	TCase *tc = tcase_create("lockfile");

	tcase_add_test(tc, a_second_process_is_refused_with_the_owners_name);
	tcase_add_test(tc, a_lock_ends_with_its_process);
	tcase_add_test(tc, other_users_can_lock_the_same_file);
	tcase_add_test(tc, no_link_is_followed);
	tcase_add_test(tc, the_text_of_a_lock_file_is_shown_without_control_characters);
	tcase_add_test(tc, no_directory_is_an_error_that_names_it);
	tcase_add_test(tc, root_looks_where_other_users_do);
	tcase_add_test(tc, the_systems_place_works);
	suite_add_tcase(suite, tc);
	return support_run(suite);
}
