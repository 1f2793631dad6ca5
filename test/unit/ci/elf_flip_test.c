/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * ci/elf.c: a module with one wrong bit in its headers does not end the process. For every bit of the ELF header, the
 * program headers and the dynamic section in turn: ci/elf.c refuses the file, or a child process opens the file with
 * dlopen(), which may fail but not crash.
 */
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/unit/ci/support.h"

enum { OPENED, REFUSED_BY_THE_C_LIBRARY = 42 };
#define SECONDS 60 /* for one child, which waits for nothing */

static char *image, text[CI_TEXT_MAX];
static size_t image_size;
static const char *path;
static int fd;
static unsigned int refused, opened, failed;

static void make_copy(void)
{
	FILE *f = fopen(FAKE_SO, "re");

	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fseek(f, 0, SEEK_END), 0);
	image_size = (size_t)ftell(f);
	rewind(f);
	image = malloc(image_size);
	ck_assert_uint_eq(fread(image, 1, image_size, f), image_size);
	fclose(f);
	path = temp_path("flipped.so");
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0700);
	ck_assert_int_eq(write(fd, image, image_size), (ssize_t)image_size);
	ck_assert_msg(ci_elf_check(path, text) == AL_SUCCESS, "%s", text);
}

static void drop_copy(void)
{
	close(fd);
	free(image);
}

static const Elf64_Ehdr *header(void)
{
	return (const Elf64_Ehdr *)image;
}

static const Elf64_Phdr *segment(unsigned int i)
{
	return (const Elf64_Phdr *)(image + header()->e_phoff) + i;
}

static const Elf64_Phdr *dynamic_segment(void)
{
	unsigned int i = 0;

	while (segment(i)->p_type != PT_DYNAMIC)
		i++;
	return segment(i);
}

/*
 * Opens the file in a child process by dlopen(). Returns OPENED, REFUSED_BY_THE_C_LIBRARY, or another value, which
 * means a crash.
 */
static int open_in_child(void)
{
	static const struct rlimit no_core;
	pid_t child = fork();
	int status;
	void *lib;

	ck_assert_int_ge(child, 0);
	if (!child) {
		setrlimit(RLIMIT_CORE, &no_core);
		alarm(SECONDS);
		close(STDERR_FILENO); /* the messages are many */
		lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		if (!lib)
			_exit(REFUSED_BY_THE_C_LIBRARY);
		dlclose(lib);
		_exit(OPENED);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Makes one bit wrong. True: no process crashes. */
static bool survives(size_t at, unsigned int bit)
{
	char wrong = (char)(image[at] ^ 1 << bit);
	int result = OPENED;

	ck_assert_int_eq(pwrite(fd, &wrong, 1, (off_t)at), 1);
	if (ci_elf_check(path, text)) {
		ck_assert_str_ne(text, "");
		refused++;
	} else {
		result = open_in_child();
		opened += result == OPENED;
		failed += result == REFUSED_BY_THE_C_LIBRARY;
	}
	ck_assert_int_eq(pwrite(fd, &image[at], 1, (off_t)at), 1);
	return result == OPENED || result == REFUSED_BY_THE_C_LIBRARY;
}

/* Faults that doc/guide-vendor.md says no check of the headers can find: wrong places inside the right areas. */
static bool cannot_be_checked(size_t at)
{
	const Elf64_Phdr *dynamic = dynamic_segment();
	const Elf64_Dyn *entry;
	size_t in;

	if (at >= header()->e_phoff &&
	    at < header()->e_phoff + header()->e_phnum * sizeof(Elf64_Phdr)) {
		in = at - header()->e_phoff;
		return segment((unsigned int)(in / sizeof(Elf64_Phdr)))->p_type == PT_GNU_RELRO &&
		       in % sizeof(Elf64_Phdr) / 8 == offsetof(Elf64_Phdr, p_memsz) / 8;
	}
	if (at < dynamic->p_offset || at >= dynamic->p_offset + dynamic->p_filesz)
		return false;
	in = at - dynamic->p_offset;
	entry = (const Elf64_Dyn *)(image + dynamic->p_offset) + in / sizeof(Elf64_Dyn);
	return in % sizeof(Elf64_Dyn) >= offsetof(Elf64_Dyn, d_un) &&
	       (entry->d_tag == DT_INIT || entry->d_tag == DT_FINI);
}

static void flip_all(size_t from, size_t length)
{
	for (size_t at = from; at < from + length; at++)
		for (unsigned int bit = 0; bit < 8; bit++)
			ck_assert_msg(cannot_be_checked(at) || survives(at, bit),
				      "byte %zu, bit %u: the process that opened the file died", at,
				      bit);
	printf("%zu bits: %u files refused, %u opened, %u failed to open\n", length * 8, refused,
	       opened, failed);
	ck_assert_uint_gt(refused, 0);
	ck_assert_uint_gt(opened, 0);
}

START_TEST(no_bit_of_the_elf_header_ends_the_process)
{
	flip_all(0, sizeof(Elf64_Ehdr));
}
END_TEST

START_TEST(no_bit_of_the_program_headers_ends_the_process)
{
	flip_all(header()->e_phoff, header()->e_phnum * sizeof(Elf64_Phdr));
}
END_TEST

START_TEST(no_bit_of_the_dynamic_section_ends_the_process)
{
	const Elf64_Phdr *dynamic = dynamic_segment();
	const Elf64_Dyn *entry = (const Elf64_Dyn *)(image + dynamic->p_offset);
	size_t num = 1;

	while (entry[num - 1].d_tag != DT_NULL)
		num++;
	flip_all(dynamic->p_offset, num * sizeof(*entry));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("elf_flip");
	TCase *tc = tcase_create("flips");

	tcase_add_checked_fixture(tc, make_copy, drop_copy);
	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, no_bit_of_the_elf_header_ends_the_process);
	tcase_add_test(tc, no_bit_of_the_program_headers_ends_the_process);
	tcase_add_test(tc, no_bit_of_the_dynamic_section_ends_the_process);
	suite_add_tcase(suite, tc);
	return support_run(suite);
}
