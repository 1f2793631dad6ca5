/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Is a file a whole shared object of this machine? Asked before dlopen(), which maps what the
 * headers promise and dies of SIGBUS when a truncated file does not hold it. Whether its symbols
 * can be bound is dlopen()'s to say.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ci/internal.h"

/* The header of the object that this code is in, from the linker: what a module's must be like. */
extern const Elf64_Ehdr __ehdr_start __attribute__((visibility("hidden")));

struct elf_file {
	int fd;
	uint64_t size;
	char *text; /* the refusal */
};

static bool inside(const struct elf_file *f, uint64_t offset, uint64_t length)
{
	return offset <= f->size && length <= f->size - offset;
}

static al_status damaged(struct elf_file *f, const char *what)
{
	ci_say(f->text,
	       "the file has %llu bytes and %s: it is truncated or damaged; install it again",
	       (unsigned long long)f->size, what);
	return AL_MODULE_DAMAGED;
}

static al_status read_at(struct elf_file *f, uint64_t offset, void *buf, size_t length)
{
	ssize_t got = pread(f->fd, buf, length, (off_t)offset);

	if (got == (ssize_t)length)
		return AL_SUCCESS;
	if (got >= 0)
		return damaged(f, "became shorter while it was read");
	ci_say(f->text, "the file can not be read: %s; mend that, or install it again",
	       strerror(errno));
	return AL_IO_ERROR;
}

static al_status check_header(struct elf_file *f, Elf64_Ehdr *eh)
{
	al_status st;

	if (f->size < sizeof(*eh))
		return damaged(f, "an ELF header alone has 64");
	st = read_at(f, 0, eh, sizeof(*eh));
	if (st)
		return st;
	if (memcmp(eh->e_ident, ELFMAG, SELFMAG)) {
		ci_say(f->text,
		       "the file is no ELF shared object: an HCA module is a file made with cc -shared");
		return AL_MODULE_DAMAGED;
	}
	if (eh->e_ident[EI_CLASS] != __ehdr_start.e_ident[EI_CLASS] ||
	    eh->e_ident[EI_DATA] != __ehdr_start.e_ident[EI_DATA] ||
	    eh->e_machine != __ehdr_start.e_machine) {
		ci_say(f->text,
		       "the file was made for another machine (ELF class %u, data %u, machine %u; here %u, %u, %u): "
		       "build it for this one",
		       eh->e_ident[EI_CLASS], eh->e_ident[EI_DATA], eh->e_machine,
		       __ehdr_start.e_ident[EI_CLASS], __ehdr_start.e_ident[EI_DATA],
		       __ehdr_start.e_machine);
		return AL_MODULE_DAMAGED;
	}
	if (eh->e_type != ET_DYN) {
		ci_say(f->text,
		       "the file is ELF type %u and a shared object is %u: link it with -shared",
		       eh->e_type, ET_DYN);
		return AL_MODULE_DAMAGED;
	}
	return AL_SUCCESS;
}

static al_status check_segments(struct elf_file *f, const Elf64_Ehdr *eh)
{
	bool dynamic = false;

	if (!eh->e_phnum || eh->e_phentsize != sizeof(Elf64_Phdr) ||
	    !inside(f, eh->e_phoff, (uint64_t)eh->e_phnum * sizeof(Elf64_Phdr)))
		return damaged(f, "its program headers are not all in it");
	for (unsigned int i = 0; i < eh->e_phnum; i++) {
		Elf64_Phdr ph;
		al_status st = read_at(f, eh->e_phoff + i * sizeof(ph), &ph, sizeof(ph));

		if (st)
			return st;
		if (!inside(f, ph.p_offset, ph.p_filesz))
			return damaged(f, "a segment reaches beyond its end");
		if (ph.p_type == PT_LOAD && ph.p_filesz > ph.p_memsz)
			return damaged(f, "a segment is larger in it than in memory");
		dynamic |= ph.p_type == PT_DYNAMIC;
	}
	return dynamic ? AL_SUCCESS : damaged(f, "it has no dynamic section");
}

/*
 * The loader does not need sections, but what linkers write ends with their table: a file that
 * lacks the end of it was cut, wherever its segments end; one that has nothing but zeros there was
 * never written to its end, as happens when a machine goes down during an installation.
 */
static al_status check_sections(struct elf_file *f, const Elf64_Ehdr *eh)
{
	bool strings;

	if (!eh->e_shoff)
		return AL_SUCCESS;
	if (eh->e_shentsize != sizeof(Elf64_Shdr) ||
	    !inside(f, eh->e_shoff, (uint64_t)eh->e_shnum * sizeof(Elf64_Shdr)))
		return damaged(f, "its section headers are not all in it");
	strings = !eh->e_shstrndx;
	for (unsigned int i = 0; i < eh->e_shnum; i++) {
		Elf64_Shdr sh;
		al_status st = read_at(f, eh->e_shoff + i * sizeof(sh), &sh, sizeof(sh));

		if (st)
			return st;
		strings |= i == eh->e_shstrndx && sh.sh_type == SHT_STRTAB;
		if (sh.sh_type != SHT_NOBITS && sh.sh_type != SHT_NULL &&
		    !inside(f, sh.sh_offset, sh.sh_size))
			return damaged(f, "a section reaches beyond its end");
	}
	return strings ? AL_SUCCESS : damaged(f, "its section headers are empty");
}

static al_status cannot_open(int error, const char **way_out)
{
	if (error == ENOENT || error == ENOTDIR) {
		*way_out = "correct the path, or install the module there";
		return AL_NOT_FOUND;
	}
	if (error == EACCES || error == EPERM) {
		*way_out = "let this user read it, and enter the directories above it";
		return AL_PERMISSION;
	}
	*way_out = "mend that, or install it again";
	return AL_IO_ERROR;
}

al_status ci_elf_check(const char *path, char text[CI_TEXT_MAX])
{
	struct elf_file f = { .text = text };
	const char *way_out;
	struct stat status;
	Elf64_Ehdr eh;
	al_status st;

	f.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (f.fd < 0) {
		st = cannot_open(errno, &way_out);
		ci_say(text, "the file can not be opened: %s; %s", strerror(errno), way_out);
		return st;
	}
	st = AL_MODULE_DAMAGED;
	if (fstat(f.fd, &status) || !S_ISREG(status.st_mode)) {
		ci_say(text, "it is no regular file: an HCA module is a shared object");
		goto out;
	}
	f.size = (uint64_t)status.st_size;
	st = check_header(&f, &eh);
	if (!st)
		st = check_segments(&f, &eh);
	if (!st)
		st = check_sections(&f, &eh);
out:
	close(f.fd);
	return st;
}
