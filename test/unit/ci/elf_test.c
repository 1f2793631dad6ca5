/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* ci/elf.c: damaged and foreign files are refused before the dynamic loader maps them. */
#include <elf.h>
#include <linux/capability.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "test/unit/ci/support.h"

static char *image;
static size_t image_size;
static char text[CI_TEXT_MAX];

static void read_image(void)
{
	FILE *f = fopen(FAKE_SO, "re");

	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fseek(f, 0, SEEK_END), 0);
	image_size = (size_t)ftell(f);
	rewind(f);
	image = malloc(image_size);
	ck_assert_uint_eq(fread(image, 1, image_size, f), image_size);
	fclose(f);
}

static void free_image(void)
{
	free(image);
}

static const char *write_image(size_t size)
{
	static const char *path;
	FILE *f;

	if (!path)
		path = temp_path("module.so");
	f = fopen(path, "we");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(image, 1, size, f), size);
	fclose(f);
	return path;
}

START_TEST(a_whole_module_passes)
{
	ck_assert_msg(ci_elf_check(FAKE_SO, text) == AL_SUCCESS, "%s", text);
	ck_assert_int_eq(ci_elf_check(write_image(image_size), text), AL_SUCCESS);
}
END_TEST

START_TEST(truncated_at_any_length_is_damaged)
{
	/* Every length around the headers and the end, and some lengths between. */
	for (size_t len = 0; len < image_size;
	     len += len < 1200 || len + 400 > image_size ? 1 : 97) {
		al_status st = ci_elf_check(write_image(len), text);

		ck_assert_msg(st == AL_MODULE_DAMAGED, "%zu bytes of %zu: status %d", len,
			      image_size, st);
		ck_assert_ptr_nonnull(strstr(text, len < 4 || len >= 64 ? "bytes" : ""));
	}
}
END_TEST

/* Runs statements with a member of the header changed, and restores the member. */
#define WITH_FIELD(type, at, value, ...)                   \
	do {                                               \
		type old_, new_ = (value);                 \
		memcpy(&old_, image + (at), sizeof(old_)); \
		memcpy(image + (at), &new_, sizeof(new_)); \
		__VA_ARGS__;                               \
		memcpy(image + (at), &old_, sizeof(old_)); \
	} while (0)

static void damaged(const char *word)
{
	ck_assert_int_eq(ci_elf_check(write_image(image_size), text), AL_MODULE_DAMAGED);
	ck_assert_msg(strstr(text, word), "\"%s\" lacks \"%s\"", text, word);
}

START_TEST(another_machines_file_is_refused)
{
	WITH_FIELD(uint16_t, offsetof(Elf64_Ehdr, e_machine), EM_SPARCV9,
		   damaged("another machine"));
	WITH_FIELD(uint8_t, EI_CLASS, ELFCLASS32, damaged("another machine"));
	WITH_FIELD(uint8_t, EI_DATA, image[EI_DATA] == ELFDATA2LSB ? ELFDATA2MSB : ELFDATA2LSB,
		   damaged("another machine"));
}
END_TEST

START_TEST(a_file_that_is_no_shared_object_is_refused)
{
	WITH_FIELD(uint16_t, offsetof(Elf64_Ehdr, e_type), ET_REL, damaged("-shared"));
	WITH_FIELD(uint8_t, 0, 'M', damaged("no ELF"));
}
END_TEST

START_TEST(headers_that_point_outside_are_damage)
{
	const uint64_t far[] = { image_size, image_size - 8, UINT64_MAX, UINT64_MAX - 63 };

	for (size_t i = 0; i < 4; i++) {
		WITH_FIELD(uint64_t, offsetof(Elf64_Ehdr, e_phoff), far[i],
			   damaged("program headers"));
		WITH_FIELD(uint64_t, offsetof(Elf64_Ehdr, e_shoff), far[i],
			   damaged("section headers"));
	}
	WITH_FIELD(uint16_t, offsetof(Elf64_Ehdr, e_phnum), 0, damaged("program headers"));
	WITH_FIELD(uint16_t, offsetof(Elf64_Ehdr, e_phentsize), 3, damaged("program headers"));
	WITH_FIELD(uint16_t, offsetof(Elf64_Ehdr, e_shentsize), 3, damaged("section headers"));
}
END_TEST

START_TEST(segments_and_sections_that_reach_outside_are_damage)
{
	Elf64_Ehdr eh;
	size_t ph, sh;

	memcpy(&eh, image, sizeof(eh));
	ph = eh.e_phoff; /* the program header of the first segment, which is loaded */
	sh = eh.e_shoff + 2 * sizeof(Elf64_Shdr);
	WITH_FIELD(uint64_t, ph + offsetof(Elf64_Phdr, p_filesz), image_size + 1,
		   damaged("segment"));
	WITH_FIELD(uint64_t, ph + offsetof(Elf64_Phdr, p_offset), UINT64_MAX - 4,
		   damaged("segment"));
	WITH_FIELD(uint64_t, ph + offsetof(Elf64_Phdr, p_memsz), 0, damaged("segment"));
	WITH_FIELD(uint64_t, sh + offsetof(Elf64_Shdr, sh_size), UINT64_MAX, damaged("section"));
	for (unsigned int i = 0; i < eh.e_phnum; i++) {
		uint32_t type;
		size_t at = eh.e_phoff + i * sizeof(Elf64_Phdr);

		memcpy(&type, image + at, sizeof(type));
		if (type == PT_DYNAMIC)
			WITH_FIELD(uint32_t, at, PT_NULL, damaged("dynamic"));
	}
}
END_TEST

/* Returns the place of the nth program header of a type. */
static size_t header_at(uint32_t type, unsigned int nth)
{
	Elf64_Ehdr eh;
	Elf64_Phdr ph;

	memcpy(&eh, image, sizeof(eh));
	for (size_t at = eh.e_phoff; at < eh.e_phoff + eh.e_phnum * sizeof(ph); at += sizeof(ph)) {
		memcpy(&ph, image + at, sizeof(ph));
		if (ph.p_type == type && !nth--)
			return at;
	}
	ck_abort_msg("no program header of type %u", type);
}

START_TEST(segments_that_contradict_each_other_are_damage)
{
	size_t first = header_at(PT_LOAD, 0), writable = first;
	uint64_t vaddr;

	WITH_FIELD(uint64_t, first + offsetof(Elf64_Phdr, p_align), 3 * 4096,
		   damaged("not aligned"));
	WITH_FIELD(uint64_t, first + offsetof(Elf64_Phdr, p_align), 1, damaged("not aligned"));
	for (unsigned int i = 0; !(image[writable + offsetof(Elf64_Phdr, p_flags)] & PF_W); i++)
		writable = header_at(PT_LOAD, i);
	/* A file whose section headers are stripped, which would name the dynamic section too. */
	memset(image + offsetof(Elf64_Ehdr, e_shoff), 0, sizeof(uint64_t));
	WITH_FIELD(uint64_t, first + offsetof(Elf64_Phdr, p_memsz), 1u << 30, damaged("overlap"));
	WITH_FIELD(uint32_t, writable + offsetof(Elf64_Phdr, p_flags), PF_R,
		   damaged("is written to"));
	memcpy(&vaddr, image + header_at(PT_GNU_RELRO, 0) + offsetof(Elf64_Phdr, p_vaddr), sizeof(vaddr));
	WITH_FIELD(uint64_t, header_at(PT_GNU_RELRO, 0) + offsetof(Elf64_Phdr, p_vaddr), vaddr + 64,
		   damaged("not at the start of a segment"));
	WITH_FIELD(uint64_t, header_at(PT_GNU_RELRO, 0) + offsetof(Elf64_Phdr, p_memsz), 1u << 30,
		   damaged("outside of those that are loaded"));
}
END_TEST

START_TEST(a_segment_gives_its_sections_their_rights)
{
	for (unsigned int i = 0;; i++) {
		size_t flags = header_at(PT_LOAD, i) + offsetof(Elf64_Phdr, p_flags);

		if (!(image[flags] & PF_X))
			continue;
		WITH_FIELD(uint32_t, flags, PF_R, damaged("rights"));
		break;
	}
}
END_TEST

START_TEST(a_section_that_is_not_loaded_lies_in_the_file_too)
{
	Elf64_Ehdr eh;

	memcpy(&eh, image, sizeof(eh));
	WITH_FIELD(uint64_t,
		   eh.e_shoff + eh.e_shstrndx * sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_size),
		   image_size, damaged("a section reaches beyond its end"));
}
END_TEST

START_TEST(an_entry_of_the_dynamic_section_is_there_once)
{
	Elf64_Phdr ph;
	size_t at;
	int64_t tag;

	memcpy(&ph, image + header_at(PT_DYNAMIC, 0), sizeof(ph));
	for (at = ph.p_offset; memcpy(&tag, image + at, sizeof(tag)), tag != DT_FINI;)
		at += sizeof(Elf64_Dyn);
	WITH_FIELD(int64_t, at, DT_INIT, damaged("wrong entry"));
	WITH_FIELD(int64_t, at, DT_NULL, damaged("ends too early"));
	WITH_FIELD(uint64_t, at + offsetof(Elf64_Dyn, d_un), UINT64_MAX,
		   damaged("nothing of the kind"));
}
END_TEST

/* Writes entries into the room behind the dynamic section's end. */
static void add_entries(const Elf64_Dyn *entry, size_t num)
{
	const Elf64_Dyn end = { .d_tag = DT_NULL };
	Elf64_Phdr ph;
	size_t at;

	memcpy(&ph, image + header_at(PT_DYNAMIC, 0), sizeof(ph));
	for (at = ph.p_offset; memcmp(image + at, &end, sizeof(end)); at += sizeof(end))
		;
	ck_assert_uint_lt(at + num * sizeof(end), ph.p_offset + ph.p_filesz);
	memcpy(image + at, entry, num * sizeof(end));
}

/* Linkers write these entries when asked for packed relocations; the loader writes to the addresses that they name. */
START_TEST(packed_relocations_lie_where_their_section_is)
{
	const Elf64_Dyn relr[] = { { DT_RELR, { 0 } },
				   { DT_RELRSZ, { 16 } },
				   { DT_RELRENT, { 8 } } };

	add_entries(relr, 3);
	damaged("nothing of the kind");
}
END_TEST

START_TEST(packed_relocations_are_in_memory)
{
	const Elf64_Dyn relr[] = { { DT_RELR, { 1u << 30 } },
				   { DT_RELRSZ, { 16 } },
				   { DT_RELRENT, { 8 } } };

	memset(image + offsetof(Elf64_Ehdr, e_shoff), 0, sizeof(uint64_t));
	add_entries(relr, 3);
	damaged("a size in its dynamic section");
}
END_TEST

START_TEST(packed_relocations_have_a_place_a_size_and_eight_bytes_each)
{
	const Elf64_Dyn no_entry_size[] = { { DT_RELR, { 0 } }, { DT_RELRSZ, { 16 } } };
	const Elf64_Dyn no_size[] = { { DT_RELR, { 0 } }, { DT_RELRENT, { 8 } } };
	const Elf64_Dyn no_place[] = { { DT_RELRSZ, { 16 } } };
	const Elf64_Dyn nine[] = { { DT_RELRENT, { 9 } } };

	memset(image + offsetof(Elf64_Ehdr, e_shoff), 0, sizeof(uint64_t));
	add_entries(_i == 0   ? no_entry_size
		    : _i == 1 ? no_size
		    : _i == 2 ? no_place
			      : nine,
		    _i < 2 ? 2 : 1);
	damaged(_i < 3 ? "lacks an entry" : "a size in its dynamic section");
}
END_TEST

START_TEST(without_sections_it_can_still_be_loaded)
{
	WITH_FIELD(uint64_t, offsetof(Elf64_Ehdr, e_shoff), 0,
		   ck_assert_int_eq(ci_elf_check(write_image(image_size), text), AL_SUCCESS));
}
END_TEST

START_TEST(what_is_not_there_is_not_found)
{
	ck_assert_int_eq(ci_elf_check("/nonexistent/soft.so", text), AL_NOT_FOUND);
	ck_assert_ptr_nonnull(strstr(text, "No such file"));
	ck_assert_int_eq(ci_elf_check(FAKE_SO "/soft.so", text), AL_NOT_FOUND);
}
END_TEST

START_TEST(a_file_whose_end_was_never_written_is_damaged)
{
	memset(image + image_size / 2, 0, image_size - image_size / 2);
	damaged("section headers are empty");
}
END_TEST

START_TEST(what_this_user_may_not_read_is_told_from_damage)
{
	const char *path = write_image(image_size);
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { 0 };

	ck_assert_int_eq(chmod(path, 0), 0);
	/* Drops the capabilities by which root reads every file. */
	ck_assert_int_eq(syscall(SYS_capset, &header, none), 0);
	ck_assert_int_eq(ci_elf_check(path, text), AL_PERMISSION);
	ck_assert_msg(strstr(text, "give this user the right to read"), "%s", text);
}
END_TEST

START_TEST(a_file_that_is_not_regular_is_refused)
{
	const char *fifo = temp_path("fifo.so");

	ck_assert_int_eq(mkfifo(fifo, 0600), 0);
	ck_assert_int_eq(ci_elf_check(fifo, text), AL_MODULE_DAMAGED);
	ck_assert_int_eq(ci_elf_check("/tmp", text), AL_MODULE_DAMAGED);
	ck_assert_ptr_nonnull(strstr(text, "regular file"));
	ck_assert_int_eq(ci_elf_check("/proc/self/mem", text), AL_MODULE_DAMAGED);
}
END_TEST

START_TEST(no_descriptor_is_left_open)
{
	unsigned int before = open_fds();

	ci_elf_check(FAKE_SO, text);
	ci_elf_check(write_image(1000), text);
	ci_elf_check("/tmp", text);
	ck_assert_uint_eq(open_fds(), before);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("elf");
	TCase *tc = tcase_create("elf");

	tcase_add_checked_fixture(tc, read_image, free_image);
	tcase_add_test(tc, a_whole_module_passes);
	tcase_add_test(tc, truncated_at_any_length_is_damaged);
	tcase_add_test(tc, another_machines_file_is_refused);
	tcase_add_test(tc, a_file_that_is_no_shared_object_is_refused);
	tcase_add_test(tc, headers_that_point_outside_are_damage);
	tcase_add_test(tc, segments_and_sections_that_reach_outside_are_damage);
	tcase_add_test(tc, segments_that_contradict_each_other_are_damage);
	tcase_add_test(tc, a_segment_gives_its_sections_their_rights);
	tcase_add_test(tc, a_section_that_is_not_loaded_lies_in_the_file_too);
	tcase_add_test(tc, an_entry_of_the_dynamic_section_is_there_once);
	tcase_add_test(tc, packed_relocations_lie_where_their_section_is);
	tcase_add_test(tc, packed_relocations_are_in_memory);
	tcase_add_loop_test(tc, packed_relocations_have_a_place_a_size_and_eight_bytes_each, 0, 4);
	tcase_add_test(tc, without_sections_it_can_still_be_loaded);
	tcase_add_test(tc, what_is_not_there_is_not_found);
	tcase_add_test(tc, a_file_whose_end_was_never_written_is_damaged);
	tcase_add_test(tc, what_this_user_may_not_read_is_told_from_damage);
	tcase_add_test(tc, a_file_that_is_not_regular_is_refused);
	tcase_add_test(tc, no_descriptor_is_left_open);
	suite_add_tcase(suite, tc);
	return support_run(suite);
}
