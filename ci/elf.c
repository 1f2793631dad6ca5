/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Is a file a whole shared object of this machine? Asked before dlopen(), which believes the
 * headers: it maps the bytes that they name, and dies of SIGBUS when a truncated file does not hold it, or
 * follows the addresses of a damaged dynamic section. What can be wrong within the bounds of
 * the headers is said in doc/guide-vendor.md; whether symbols can be bound is dlopen()'s to say.
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

#ifndef DT_RELR /* C libraries before 2.36 */
#define SHT_RELR   19
#define DT_RELRSZ  35
#define DT_RELR    36
#define DT_RELRENT 37
#endif

struct elf_file {
	int fd;
	uint64_t size;
	char *text; /* the refusal */
	const Elf64_Phdr *ph; /* program headers */
	unsigned int num_ph;
	const Elf64_Shdr *sh; /* section headers; none: stripped of them */
	unsigned int num_sh;
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

/* A table of headers, read as a whole. */
static al_status read_table(struct elf_file *f, uint64_t offset, size_t length, void *table)
{
	void *mem = al_alloc(length);
	al_status st;

	if (!mem) {
		ci_say(f->text, "out of memory");
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

/* Does a loaded segment hold these bytes of the file at this address, and so much memory? */
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
		return damaged(f, "a segment is larger in it than in memory");
	if (!power_of_two(ph->p_align) || ph->p_align < page ||
	    (ph->p_vaddr - ph->p_offset) % ph->p_align)
		return damaged(f, "a segment of it is not aligned");
	if (ph->p_vaddr < *end || __builtin_add_overflow(ph->p_vaddr, ph->p_memsz, end) ||
	    *end > INT64_MAX)
		return damaged(f, "its segments overlap or are not in order");
	return AL_SUCCESS;
}

/* Where the pages of a loaded segment end. */
static uint64_t page_end(const Elf64_Phdr *load)
{
	return (load->p_vaddr + load->p_memsz + load->p_align - 1) & ~(load->p_align - 1);
}

/* What lies inside a loaded segment, and is read where that one puts it. */
static al_status check_part(struct elf_file *f, const Elf64_Phdr *ph)
{
	bool tls = ph->p_type == PT_TLS, relro = ph->p_type == PT_GNU_RELRO;
	const Elf64_Phdr *load;

	if (ph->p_type != PT_DYNAMIC && ph->p_type != PT_INTERP && ph->p_type != PT_NOTE &&
	    ph->p_type != PT_PHDR && ph->p_type != PT_GNU_EH_FRAME &&
	    ph->p_type != PT_GNU_PROPERTY && !relro && !tls)
		return AL_SUCCESS;
	if (ph->p_filesz > ph->p_memsz)
		return damaged(f, "a segment is larger in it than in memory");
	/*
	 * Thread-local variables have their memory elsewhere. What becomes read-only is looked for
	 * in memory only, and whole pages of it are meant.
	 */
	load = find_load(f, ph->p_offset, relro ? 0 : ph->p_filesz, ph->p_vaddr,
			 relro ? 1
			 : tls ? ph->p_filesz
			       : ph->p_memsz);
	if (!load || (relro && ph->p_memsz > page_end(load) - ph->p_vaddr))
		return damaged(f, "a segment of it lies outside of those that are loaded");
	if (tls && (!power_of_two(ph->p_align) || ph->p_align > 1u << 20))
		return damaged(f, "its thread-local variables are not aligned");
	/* Linkers put it first, so that nothing that is written to lies before it on its pages. */
	if (relro && ph->p_vaddr != load->p_vaddr)
		return damaged(f, "what becomes read-only is not where a segment begins");
	if ((ph->p_type == PT_DYNAMIC || relro) && !(load->p_flags & PF_W))
		return damaged(f, "a segment that is written to is in one that is not");
	return AL_SUCCESS;
}

static al_status check_segments(struct elf_file *f, const Elf64_Ehdr *eh)
{
	al_status st = AL_SUCCESS;
	uint64_t end = 0;

	if (!eh->e_phnum || eh->e_phentsize != sizeof(Elf64_Phdr) ||
	    !inside(f, eh->e_phoff, (uint64_t)eh->e_phnum * sizeof(Elf64_Phdr)))
		return damaged(f, "its program headers are not all in it");
	st = read_table(f, eh->e_phoff, eh->e_phnum * sizeof(Elf64_Phdr), &f->ph);
	if (st)
		return st;
	f->num_ph = eh->e_phnum;
	for (unsigned int i = 0; i < f->num_ph && !st; i++) {
		const Elf64_Phdr *ph = &f->ph[i];

		if (!inside(f, ph->p_offset, ph->p_filesz))
			st = damaged(f, "a segment reaches beyond its end");
		else if (ph->p_type == PT_LOAD)
			st = check_load(f, ph, &end);
	}
	for (unsigned int i = 0; i < f->num_ph && !st; i++)
		st = check_part(f, &f->ph[i]);
	return st;
}

/* ------------------------------------------------------------------- sections */

/* A loaded section must lie where a segment puts it, with the rights that the section needs. */
static al_status check_loaded(struct elf_file *f, const Elf64_Shdr *sh)
{
	bool bits = sh->sh_type != SHT_NOBITS;
	const Elf64_Phdr *load;

	if (!(sh->sh_flags & SHF_ALLOC) || !sh->sh_size || (sh->sh_flags & SHF_TLS && !bits))
		return AL_SUCCESS;
	load = find_load(f, sh->sh_offset, bits ? sh->sh_size : 0, sh->sh_addr, sh->sh_size);
	if (!load)
		return damaged(f, "a section of it lies outside of the segments");
	if ((sh->sh_flags & SHF_WRITE && !(load->p_flags & PF_W)) ||
	    (sh->sh_flags & SHF_EXECINSTR ? !(load->p_flags & PF_X) : !(load->p_flags & PF_R)))
		return damaged(f, "a segment does not give a section the rights that it needs");
	return AL_SUCCESS;
}

/*
 * The loader does not need sections, but what linkers write ends with their table: a file that
 * lacks the end of it was cut, wherever its segments end; one that has nothing but zeros there was
 * never written to its end, as happens when a machine goes down during an installation. And they
 * name the places of the file's parts a second time.
 */
static al_status check_sections(struct elf_file *f, const Elf64_Ehdr *eh)
{
	bool strings = !eh->e_shstrndx;
	al_status st;

	if (!eh->e_shoff)
		return AL_SUCCESS;
	if (!eh->e_shnum || eh->e_shentsize != sizeof(Elf64_Shdr) ||
	    !inside(f, eh->e_shoff, (uint64_t)eh->e_shnum * sizeof(Elf64_Shdr)))
		return damaged(f, "its section headers are not all in it");
	st = read_table(f, eh->e_shoff, eh->e_shnum * sizeof(Elf64_Shdr), &f->sh);
	if (st)
		return st;
	f->num_sh = eh->e_shnum;
	for (unsigned int i = 0; i < f->num_sh && !st; i++) {
		const Elf64_Shdr *sh = &f->sh[i];

		strings |= i == eh->e_shstrndx && sh->sh_type == SHT_STRTAB;
		if (sh->sh_type != SHT_NOBITS && sh->sh_type != SHT_NULL &&
		    !inside(f, sh->sh_offset, sh->sh_size))
			st = damaged(f, "a section reaches beyond its end");
		else
			st = check_loaded(f, sh);
	}
	if (st || strings)
		return st;
	return damaged(f, "its section headers are empty");
}

/* ------------------------------------------------------------ the dynamic section */

/* Where the loader finds the parts of the object: address, size, and the section that is there. */
static const struct part {
	Elf64_Sxword tag, size_tag; /* size_tag 0: the section's size */
	uint32_t sh_type;
	Elf64_Xword entry; /* bytes of one */
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

/* What can have one value only, and the loader of the C library aborts at another. */
static const struct {
	Elf64_Sxword tag;
	Elf64_Xword value;
} constants[] = {
	{ DT_SYMENT, sizeof(Elf64_Sym) },
	{ DT_RELAENT, sizeof(Elf64_Rela) },
	{ DT_RELRENT, sizeof(Elf64_Xword) },
	{ DT_PLTREL, DT_RELA },
};

/* Entries without which others can not be read. */
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
	size_t num; /* before the one that ends them */
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
		return damaged(f, "its dynamic section points to where nothing of the kind is");
	size = p->size_tag ? bytes->d_un.d_val : section ? section->sh_size : p->entry;
	if (size % p->entry || (section && size != section->sh_size) ||
	    !find_load(f, 0, 0, at->d_un.d_ptr, size))
		return damaged(f, "a size in its dynamic section is wrong");
	return AL_SUCCESS;
}

/* Entries whose value is a place in the table of strings. */
static bool is_string(Elf64_Sxword tag)
{
	return tag == DT_NEEDED || tag == DT_SONAME || tag == DT_RPATH || tag == DT_RUNPATH ||
	       tag == DT_AUXILIARY || tag == DT_FILTER;
}

/*
 * Each entry by itself: names, of which there may be many; code that the loader calls, and the
 * table that it writes to.
 */
static al_status check_each(struct elf_file *f, const struct dynamic *d, uint64_t strings)
{
	for (size_t i = 0; i < d->num; i++) {
		const Elf64_Dyn *e = &d->entry[i];
		const Elf64_Phdr *load;

		if (is_string(e->d_tag) ? e->d_un.d_val >= strings : find_entry(d, e->d_tag) != e)
			return damaged(f, "its dynamic section has a wrong entry");
		if (e->d_tag != DT_INIT && e->d_tag != DT_FINI && e->d_tag != DT_PLTGOT)
			continue;
		load = find_load(f, 0, 0, e->d_un.d_ptr, 1);
		if (!load || !(load->p_flags & (e->d_tag == DT_PLTGOT ? PF_W : PF_X)))
			return damaged(
				f, "its dynamic section points to where nothing of the kind is");
	}
	return AL_SUCCESS;
}

/* The first DT_RELACOUNT relocations are of one kind, and name no symbol. */
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
	    !inside(f, at->d_un.d_ptr - load->p_vaddr + load->p_offset, bytes->d_un.d_val))
		return damaged(f, "a size in its dynamic section is wrong");
	st = read_table(f, at->d_un.d_ptr - load->p_vaddr + load->p_offset,
			count->d_un.d_val * sizeof(*rela), &rela);
	if (st)
		return st;
	for (size_t i = 0; i < count->d_un.d_val && !st; i++)
		if (ELF64_R_SYM(rela[i].r_info) || rela[i].r_info != rela[0].r_info)
			st = damaged(f, "a size in its dynamic section is wrong");
	al_free(rela);
	return st;
}

static al_status check_entries(struct elf_file *f, const struct dynamic *d)
{
	al_status st = AL_SUCCESS;

	for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]); i++) {
		const Elf64_Dyn *entry = find_entry(d, constants[i].tag);

		if (entry && entry->d_un.d_val != constants[i].value)
			return damaged(f, "a size in its dynamic section is wrong");
	}
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		if (find_entry(d, pairs[i].of) && !find_entry(d, pairs[i].needed))
			return damaged(f, "its dynamic section lacks an entry");
	if (!find_entry(d, DT_STRTAB) || !find_entry(d, DT_SYMTAB) ||
	    (!find_entry(d, DT_HASH) && !find_entry(d, DT_GNU_HASH)))
		return damaged(f, "its dynamic section lacks an entry");
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && !st; i++)
		st = check_dynamic_part(f, d, &parts[i]);
	if (!st)
		st = check_each(f, d, find_entry(d, DT_STRSZ)->d_un.d_val);
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
		return damaged(f, "it has no dynamic section");
	num = f->ph[i].p_filesz / sizeof(Elf64_Dyn);
	if (f->num_sh && !find_section(f, SHT_DYNAMIC, f->ph[i].p_vaddr))
		return damaged(f, "its dynamic section is elsewhere");
	st = read_table(f, f->ph[i].p_offset, num * sizeof(Elf64_Dyn), &entries);
	if (st)
		return st;
	d.entry = entries;
	while (d.num < num && entries[d.num].d_tag != DT_NULL)
		d.num++;
	/* Behind the end there is room only: an end elsewhere hides entries. */
	for (size_t spare = d.num; spare < num; spare++)
		if (entries[spare].d_tag != DT_NULL)
			st = damaged(f, "its dynamic section ends too early");
	if (!st && d.num == num)
		st = damaged(f, "its dynamic section has no end");
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
	if (!st)
		st = check_dynamic(&f);
	al_free((void *)f.ph);
	al_free((void *)f.sh);
out:
	close(f.fd);
	return st;
}
