/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Checks that a file is a complete shared object for this machine, before dlopen(). dlopen() trusts
 * the headers: it maps the bytes that the headers name, and the process dies of SIGBUS if a
 * truncated file lacks these bytes, or follows the addresses of a damaged dynamic section. Errors
 * within the bounds of the headers are described in doc/guide-vendor.md. Whether symbols can be
 * bound is left to dlopen().
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ci/internal.h"

/* The ELF header of this library, defined by the linker. A module's header must name the same
 * machine. */
extern const Elf64_Ehdr __ehdr_start __attribute__((visibility("hidden")));

#ifndef DT_RELR /* C libraries before 2.36 */
#define SHT_RELR   19
#define DT_RELRSZ  35
#define DT_RELR    36
#define DT_RELRENT 37
#endif

struct elf_file {
	int fd;
	uint64_t size;
	char *text;           /* CI_TEXT_MAX bytes for the refusal */
	const Elf64_Phdr *ph; /* program headers */
	unsigned int num_ph;
	const Elf64_Shdr *sh; /* section headers; NULL: the file is stripped of them */
	unsigned int num_sh;
};

/* True: the file has the bytes from offset to offset + length. */
static bool is_in_file(const struct elf_file *f, uint64_t offset, uint64_t length)
{
	return offset <= f->size && length <= f->size - offset;
}

static al_status report_damage(struct elf_file *f, const char *what)
{
	ci_set_text(
		f->text,
		"the file has %llu bytes and %s: the file is truncated or damaged; install it again",
		(unsigned long long)f->size, what);
	return AL_MODULE_DAMAGED;
}

static al_status read_at(struct elf_file *f, uint64_t offset, void *buf, size_t length)
{
	ssize_t got = pread(f->fd, buf, length, (off_t)offset);

	if (got == (ssize_t)length)
		return AL_SUCCESS;
	if (got >= 0)
		return report_damage(f, "became shorter while it was read");
	ci_set_text(f->text,
		    "the file can not be read: %s; make the file readable, or install it again",
		    strerror(errno));
	return AL_IO_ERROR;
}

static al_status check_header(struct elf_file *f, Elf64_Ehdr *eh)
{
	al_status st;

	if (f->size < sizeof(*eh))
		return report_damage(f, "an ELF header alone has 64");
	st = read_at(f, 0, eh, sizeof(*eh));
	if (st)
		return st;
	if (memcmp(eh->e_ident, ELFMAG, SELFMAG)) {
		ci_set_text(
			f->text,
			"the file is no ELF shared object: an HCA module is a file made with cc -shared");
		return AL_MODULE_DAMAGED;
	}
	if (eh->e_ident[EI_CLASS] != __ehdr_start.e_ident[EI_CLASS] ||
	    eh->e_ident[EI_DATA] != __ehdr_start.e_ident[EI_DATA] ||
	    eh->e_machine != __ehdr_start.e_machine) {
		ci_set_text(
			f->text,
			"the file was made for another machine (ELF class %u, data %u, machine %u; here %u, %u, %u): "
			"build the file for this machine",
			eh->e_ident[EI_CLASS], eh->e_ident[EI_DATA], eh->e_machine,
			__ehdr_start.e_ident[EI_CLASS], __ehdr_start.e_ident[EI_DATA],
			__ehdr_start.e_machine);
		return AL_MODULE_DAMAGED;
	}
	if (eh->e_type != ET_DYN) {
		ci_set_text(
			f->text,
			"the file has ELF type %u and a shared object has type %u: link the file with -shared",
			eh->e_type, ET_DYN);
		return AL_MODULE_DAMAGED;
	}
	return AL_SUCCESS;
}

/* Reads a table of the file into allocated memory; *table is the address of the pointer to set. */
static al_status read_table(struct elf_file *f, uint64_t offset, size_t length, void *table)
{
	void *mem = al_alloc(length);
	al_status st;

	if (!mem) {
		ci_set_text(f->text, "out of memory");
		return AL_INSUFFICIENT_MEMORY;
	}
	st = read_at(f, offset, mem, length);
	if (st)
		al_free(mem);
	else
		*(void **)table = mem;
	return st;
}

/* ------------------------------------------------------------------- segments */

static bool power_of_two(uint64_t n)
{
	return n && !(n & (n - 1));
}

/* Finds the loaded segment that has in_file bytes of the file from offset at addr, and in_memory
 * bytes of memory there. NULL: there is none. */
static const Elf64_Phdr *find_load(const struct elf_file *f, uint64_t offset, uint64_t in_file,
				   uint64_t addr, uint64_t in_memory)
{
	for (unsigned int i = 0; i < f->num_ph; i++) {
		const Elf64_Phdr *ph = &f->ph[i];

		if (ph->p_type == PT_LOAD && addr >= ph->p_vaddr &&
		    addr - ph->p_vaddr <= ph->p_memsz &&
		    in_memory <= ph->p_memsz - (addr - ph->p_vaddr) &&
		    (!in_file || (offset - ph->p_offset == addr - ph->p_vaddr &&
				  addr - ph->p_vaddr <= ph->p_filesz &&
				  in_file <= ph->p_filesz - (addr - ph->p_vaddr))))
			return ph;
	}
	return NULL;
}

static al_status check_load(struct elf_file *f, const Elf64_Phdr *ph, uint64_t *end)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	if (ph->p_filesz > ph->p_memsz)
		return report_damage(f, "a segment is larger in it than in memory");
	if (!power_of_two(ph->p_align) || ph->p_align < page ||
	    (ph->p_vaddr - ph->p_offset) % ph->p_align)
		return report_damage(f, "a segment of it is not aligned");
	if (ph->p_vaddr < *end || __builtin_add_overflow(ph->p_vaddr, ph->p_memsz, end) ||
	    *end > INT64_MAX)
		return report_damage(f, "its segments overlap or are not in order");
	return AL_SUCCESS;
}

/* The address at which the pages of a loaded segment end. */
static uint64_t page_end(const Elf64_Phdr *load)
{
	return (load->p_vaddr + load->p_memsz + load->p_align - 1) & ~(load->p_align - 1);
}

/* Checks a segment that must lie inside a loaded segment. */
static al_status check_part(struct elf_file *f, const Elf64_Phdr *ph)
{
	bool tls = ph->p_type == PT_TLS, relro = ph->p_type == PT_GNU_RELRO;
	const Elf64_Phdr *load;

	if (ph->p_type != PT_DYNAMIC && ph->p_type != PT_INTERP && ph->p_type != PT_NOTE &&
	    ph->p_type != PT_PHDR && ph->p_type != PT_GNU_EH_FRAME &&
	    ph->p_type != PT_GNU_PROPERTY && !relro && !tls)
		return AL_SUCCESS;
	if (ph->p_filesz > ph->p_memsz)
		return report_damage(f, "a segment is larger in it than in memory");
	/*
	 * The memory of thread-local variables is allocated elsewhere. The RELRO segment, which
	 * becomes read-only, is checked in memory only, and counts in whole pages.
	 */
	load = find_load(f, ph->p_offset, relro ? 0 : ph->p_filesz, ph->p_vaddr,
			 relro ? 1
			 : tls ? ph->p_filesz
			       : ph->p_memsz);
	if (!load || (relro && ph->p_memsz > page_end(load) - ph->p_vaddr))
		return report_damage(f, "a segment of it lies outside of those that are loaded");
	if (tls && (!power_of_two(ph->p_align) || ph->p_align > 1u << 20))
		return report_damage(f, "its thread-local variables are not aligned");
	/* Linkers place RELRO at the start of a segment, so that no writable data lie before it on
	 * its first page. */
	if (relro && ph->p_vaddr != load->p_vaddr)
		return report_damage(
			f, "the part that becomes read-only is not at the start of a segment");
	if ((ph->p_type == PT_DYNAMIC || relro) && !(load->p_flags & PF_W))
		return report_damage(
			f, "a part that is written to lies in a segment that is not writable");
	return AL_SUCCESS;
}

static al_status check_segments(struct elf_file *f, const Elf64_Ehdr *eh)
{
	al_status st = AL_SUCCESS;
	uint64_t end = 0;

	if (!eh->e_phnum || eh->e_phentsize != sizeof(Elf64_Phdr) ||
	    !is_in_file(f, eh->e_phoff, (uint64_t)eh->e_phnum * sizeof(Elf64_Phdr)))
		return report_damage(f, "its program headers are not all in it");
	st = read_table(f, eh->e_phoff, eh->e_phnum * sizeof(Elf64_Phdr), &f->ph);
	if (st)
		return st;
	f->num_ph = eh->e_phnum;
	for (unsigned int i = 0; i < f->num_ph && !st; i++) {
		const Elf64_Phdr *ph = &f->ph[i];

		if (!is_in_file(f, ph->p_offset, ph->p_filesz))
			st = report_damage(f, "a segment reaches beyond its end");
		else if (ph->p_type == PT_LOAD)
			st = check_load(f, ph, &end);
	}
	for (unsigned int i = 0; i < f->num_ph && !st; i++)
		st = check_part(f, &f->ph[i]);
	return st;
}

/* ------------------------------------------------------------------- sections */

/* Checks a loaded section: a loaded segment must contain the section and give it the access rights
 * that it needs. */
static al_status check_loaded(struct elf_file *f, const Elf64_Shdr *sh)
{
	bool bits = sh->sh_type != SHT_NOBITS;
	const Elf64_Phdr *load;

	if (!(sh->sh_flags & SHF_ALLOC) || !sh->sh_size || (sh->sh_flags & SHF_TLS && !bits))
		return AL_SUCCESS;
	load = find_load(f, sh->sh_offset, bits ? sh->sh_size : 0, sh->sh_addr, sh->sh_size);
	if (!load)
		return report_damage(f, "a section of it lies outside of the segments");
	if ((sh->sh_flags & SHF_WRITE && !(load->p_flags & PF_W)) ||
	    (sh->sh_flags & SHF_EXECINSTR ? !(load->p_flags & PF_X) : !(load->p_flags & PF_R)))
		return report_damage(f,
				     "a segment does not give a section the rights that it needs");
	return AL_SUCCESS;
}

/*
 * Checks the section headers. The dynamic loader does not need them, but linkers write their table
 * at the end of the file. A file that lacks the end of the table is truncated, wherever its
 * segments end. A file with zeros there was never written to its end, as after a power failure
 * during an installation. The headers also give the places of the file's parts a second time, for
 * comparison.
 */
static al_status check_sections(struct elf_file *f, const Elf64_Ehdr *eh)
{
	bool strings = !eh->e_shstrndx;
	al_status st;

	if (!eh->e_shoff)
		return AL_SUCCESS;
	if (!eh->e_shnum || eh->e_shentsize != sizeof(Elf64_Shdr) ||
	    !is_in_file(f, eh->e_shoff, (uint64_t)eh->e_shnum * sizeof(Elf64_Shdr)))
		return report_damage(f, "its section headers are not all in it");
	st = read_table(f, eh->e_shoff, eh->e_shnum * sizeof(Elf64_Shdr), &f->sh);
	if (st)
		return st;
	f->num_sh = eh->e_shnum;
	for (unsigned int i = 0; i < f->num_sh && !st; i++) {
		const Elf64_Shdr *sh = &f->sh[i];

		if (i == eh->e_shstrndx && sh->sh_type == SHT_STRTAB)
			strings = true;
		if (sh->sh_type != SHT_NOBITS && sh->sh_type != SHT_NULL &&
		    !is_in_file(f, sh->sh_offset, sh->sh_size))
			st = report_damage(f, "a section reaches beyond its end");
		else
			st = check_loaded(f, sh);
	}
	if (st || strings)
		return st;
	return report_damage(f, "its section headers are empty");
}

/* ------------------------------------------------------------ the dynamic section */

/* Parts of the object to which the dynamic section points: tags of the address and the size, and
 * the part's section. */
static const struct part {
	Elf64_Sxword tag, size_tag; /* size_tag 0: the size is the section's */
	uint32_t sh_type;
	Elf64_Xword entry; /* bytes of an entry of the part */
} parts[] = {
	{ DT_STRTAB, DT_STRSZ, SHT_STRTAB, 1 },
	{ DT_SYMTAB, 0, SHT_DYNSYM, sizeof(Elf64_Sym) },
	{ DT_HASH, 0, SHT_HASH, 4 },
	{ DT_GNU_HASH, 0, SHT_GNU_HASH, 4 },
	{ DT_RELA, DT_RELASZ, SHT_RELA, sizeof(Elf64_Rela) },
	{ DT_JMPREL, DT_PLTRELSZ, SHT_RELA, sizeof(Elf64_Rela) },
	{ DT_INIT_ARRAY, DT_INIT_ARRAYSZ, SHT_INIT_ARRAY, 8 },
	{ DT_FINI_ARRAY, DT_FINI_ARRAYSZ, SHT_FINI_ARRAY, 8 },
	{ DT_RELR, DT_RELRSZ, SHT_RELR, sizeof(Elf64_Xword) },
	{ DT_VERSYM, 0, SHT_GNU_versym, 2 },
	{ DT_VERNEED, 0, SHT_GNU_verneed, 1 },
	{ DT_VERDEF, 0, SHT_GNU_verdef, 1 },
};

/* Entries of the dynamic section that have only one valid value. glibc's loader aborts at any other
 * value. */
static const struct {
	Elf64_Sxword tag;
	Elf64_Xword value;
} constants[] = {
	{ DT_SYMENT, sizeof(Elf64_Sym) },
	{ DT_RELAENT, sizeof(Elf64_Rela) },
	{ DT_RELRENT, sizeof(Elf64_Xword) },
	{ DT_PLTREL, DT_RELA },
};

/* Entries of the dynamic section that need another entry: "of" can not be used without "needed". */
static const struct {
	Elf64_Sxword of, needed;
} pairs[] = {
	{ DT_RELA, DT_RELASZ },
	{ DT_RELASZ, DT_RELA },
	{ DT_RELA, DT_RELAENT },
	{ DT_JMPREL, DT_PLTRELSZ },
	{ DT_JMPREL, DT_PLTREL },
	{ DT_PLTRELSZ, DT_JMPREL },
	{ DT_RELR, DT_RELRSZ },
	{ DT_RELRSZ, DT_RELR },
	{ DT_RELR, DT_RELRENT },
	{ DT_STRTAB, DT_STRSZ },
	{ DT_SYMTAB, DT_SYMENT },
	{ DT_VERNEED, DT_VERNEEDNUM },
	{ DT_VERDEF, DT_VERDEFNUM },
	{ DT_VERNEED, DT_VERSYM },
	{ DT_INIT_ARRAY, DT_INIT_ARRAYSZ },
	{ DT_FINI_ARRAY, DT_FINI_ARRAYSZ },
	{ DT_INIT_ARRAYSZ, DT_INIT_ARRAY },
	{ DT_FINI_ARRAYSZ, DT_FINI_ARRAY },
	{ DT_VERNEEDNUM, DT_VERNEED },
	{ DT_VERDEFNUM, DT_VERDEF },
};

struct dynamic {
	const Elf64_Dyn *entry;
	size_t num; /* number of entries before DT_NULL */
};

static const Elf64_Dyn *find_entry(const struct dynamic *d, Elf64_Sxword tag)
{
	for (size_t i = 0; i < d->num; i++)
		if (d->entry[i].d_tag == tag)
			return &d->entry[i];
	return NULL;
}

static const Elf64_Shdr *find_section(const struct elf_file *f, uint32_t type, uint64_t addr)
{
	for (unsigned int i = 0; i < f->num_sh; i++)
		if (f->sh[i].sh_type == type && f->sh[i].sh_addr == addr &&
		    f->sh[i].sh_flags & SHF_ALLOC)
			return &f->sh[i];
	return NULL;
}

static al_status check_dynamic_part(struct elf_file *f, const struct dynamic *d,
				    const struct part *p)
{
	const Elf64_Dyn *at = find_entry(d, p->tag), *bytes = find_entry(d, p->size_tag);
	const Elf64_Shdr *section;
	uint64_t size;

	if (!at)
		return AL_SUCCESS;
	section = find_section(f, p->sh_type, at->d_un.d_ptr);
	if (f->num_sh && !section)
		return report_damage(f,
				     "its dynamic section points to where nothing of the kind is");
	size = p->size_tag ? bytes->d_un.d_val : section ? section->sh_size : p->entry;
	if (size % p->entry || (section && size != section->sh_size) ||
	    !find_load(f, 0, 0, at->d_un.d_ptr, size))
		return report_damage(f, "a size in its dynamic section is wrong");
	return AL_SUCCESS;
}

/* True: the value of such an entry is an offset in the string table. */
static bool is_string(Elf64_Sxword tag)
{
	return tag == DT_NEEDED || tag == DT_SONAME || tag == DT_RPATH || tag == DT_RUNPATH ||
	       tag == DT_AUXILIARY || tag == DT_FILTER;
}

/*
 * Checks each entry by itself: an entry with a name must lie in the string table; all other tags
 * occur at most once; code that the loader calls must be executable, and the table that the loader
 * writes to (DT_PLTGOT) writable.
 */
static al_status check_single_entries(struct elf_file *f, const struct dynamic *d, uint64_t strings)
{
	for (size_t i = 0; i < d->num; i++) {
		const Elf64_Dyn *e = &d->entry[i];
		const Elf64_Phdr *load;

		if (is_string(e->d_tag) ? e->d_un.d_val >= strings : find_entry(d, e->d_tag) != e)
			return report_damage(f, "its dynamic section has a wrong entry");
		if (e->d_tag != DT_INIT && e->d_tag != DT_FINI && e->d_tag != DT_PLTGOT)
			continue;
		load = find_load(f, 0, 0, e->d_un.d_ptr, 1);
		if (!load || !(load->p_flags & (e->d_tag == DT_PLTGOT ? PF_W : PF_X)))
			return report_damage(
				f, "its dynamic section points to where nothing of the kind is");
	}
	return AL_SUCCESS;
}

/* Checks that the first DT_RELACOUNT relocations have one type and name no symbol. */
static al_status check_relative(struct elf_file *f, const struct dynamic *d)
{
	const Elf64_Dyn *at = find_entry(d, DT_RELA), *bytes = find_entry(d, DT_RELASZ);
	const Elf64_Dyn *count = find_entry(d, DT_RELACOUNT);
	const Elf64_Phdr *load;
	al_status st = AL_SUCCESS;
	Elf64_Rela *rela;

	if (!count || !count->d_un.d_val)
		return AL_SUCCESS;
	load = at ? find_load(f, 0, 0, at->d_un.d_ptr, bytes->d_un.d_val) : NULL;
	if (!load || count->d_un.d_val > bytes->d_un.d_val / sizeof(*rela) ||
	    !is_in_file(f, at->d_un.d_ptr - load->p_vaddr + load->p_offset, bytes->d_un.d_val))
		return report_damage(f, "a size in its dynamic section is wrong");
	st = read_table(f, at->d_un.d_ptr - load->p_vaddr + load->p_offset,
			count->d_un.d_val * sizeof(*rela), &rela);
	if (st)
		return st;
	for (size_t i = 0; i < count->d_un.d_val && !st; i++)
		if (ELF64_R_SYM(rela[i].r_info) || rela[i].r_info != rela[0].r_info)
			st = report_damage(f, "a size in its dynamic section is wrong");
	al_free(rela);
	return st;
}

static al_status check_entries(struct elf_file *f, const struct dynamic *d)
{
	al_status st = AL_SUCCESS;

	for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]); i++) {
		const Elf64_Dyn *entry = find_entry(d, constants[i].tag);

		if (entry && entry->d_un.d_val != constants[i].value)
			return report_damage(f, "a size in its dynamic section is wrong");
	}
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		if (find_entry(d, pairs[i].of) && !find_entry(d, pairs[i].needed))
			return report_damage(f, "its dynamic section lacks an entry");
	if (!find_entry(d, DT_STRTAB) || !find_entry(d, DT_SYMTAB) ||
	    (!find_entry(d, DT_HASH) && !find_entry(d, DT_GNU_HASH)))
		return report_damage(f, "its dynamic section lacks an entry");
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && !st; i++)
		st = check_dynamic_part(f, d, &parts[i]);
	if (!st)
		st = check_single_entries(f, d, find_entry(d, DT_STRSZ)->d_un.d_val);
	return st ? st : check_relative(f, d);
}

static al_status check_dynamic(struct elf_file *f)
{
	struct dynamic d = { 0 };
	Elf64_Dyn *entries;
	al_status st;
	size_t num;
	unsigned int i;

	for (i = 0; i < f->num_ph && f->ph[i].p_type != PT_DYNAMIC; i++)
		;
	if (i == f->num_ph || f->ph[i].p_filesz < sizeof(Elf64_Dyn))
		return report_damage(f, "it has no dynamic section");
	num = f->ph[i].p_filesz / sizeof(Elf64_Dyn);
	if (f->num_sh && !find_section(f, SHT_DYNAMIC, f->ph[i].p_vaddr))
		return report_damage(f, "its dynamic section is elsewhere");
	st = read_table(f, f->ph[i].p_offset, num * sizeof(Elf64_Dyn), &entries);
	if (st)
		return st;
	d.entry = entries;
	while (d.num < num && entries[d.num].d_tag != DT_NULL)
		d.num++;
	/* After the first DT_NULL all entries are DT_NULL. A misplaced DT_NULL would hide entries.
	 */
	for (size_t spare = d.num; spare < num; spare++)
		if (entries[spare].d_tag != DT_NULL)
			st = report_damage(f, "its dynamic section ends too early");
	if (!st && d.num == num)
		st = report_damage(f, "its dynamic section has no end");
	if (!st)
		st = check_entries(f, &d);
	al_free(entries);
	return st;
}

/* ---------------------------------------------------------------------- the file */

static al_status cannot_open(int error, const char **way_out)
{
	if (error == ENOENT || error == ENOTDIR) {
		*way_out = "correct the path, or install the module there";
		return AL_NOT_FOUND;
	}
	if (error == EACCES || error == EPERM) {
		*way_out =
			"give this user the right to read the file and to enter the directories above";
		return AL_PERMISSION;
	}
	*way_out = "correct the cause, or install the file again";
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
		ci_set_text(text, "the file can not be opened: %s; %s", strerror(errno), way_out);
		return st;
	}
	st = AL_MODULE_DAMAGED;
	if (fstat(f.fd, &status) || !S_ISREG(status.st_mode)) {
		ci_set_text(text, "the path is no regular file: an HCA module is a shared object");
		goto out;
	}
	f.size = (uint64_t)status.st_size;
	st = check_header(&f, &eh);
	if (!st)
		st = check_segments(&f, &eh);
	if (!st)
		st = check_sections(&f, &eh);
	if (!st)
		st = check_dynamic(&f);
	al_free((void *)f.ph);
	al_free((void *)f.sh);
out:
	close(f.fd);
	return st;
}
