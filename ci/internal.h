/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What the files of ci/ share with each other; the Access Layer sees ci/ci.h only. Functions that
 * need a lock held say so; the locks and their order are described in ci/ci.h.
 */
#ifndef IBAL_CI_INTERNAL_H
#define IBAL_CI_INTERNAL_H

#include <gmodule.h>
#include <pthread.h>

#include "ci/ci.h"

#define CI_NAME_MAX 32  /* module names, with the zero byte */

#define CI_MODULE_FILE_RULE \
	"the file of a module is named NAME.so, with a NAME of at most 31 of a-z, 0-9, _ and -"

/*
 * In a forked child: empties a list that is linked by next. Its elements stay the parent's, never
 * to be looked at again, but where a leak checker finds them: in the list kept.
 */
#define CI_LEAVE_TO_PARENT(list, kept) \
	do { \
		__typeof__(&(list)) end_ = &(kept); \
		while (*end_) \
			end_ = &(*end_)->next; \
		*end_ = (list); \
		(list) = NULL; \
	} while (0)

/* ------------------------------------------------------------------- modules */

/* A loaded module. In the list from before its init until after its cleanup. */
struct ci_host {
	const struct ci_module *module;
	GModule *lib;             /* NULL: part of this program */
	const void *agent;        /* NULL: of this process; else the connection that its HCAs are behind */
	char name[CI_NAME_MAX];
	char version[CI_NAME_MAX];
	char license[40];
	char path[256];

	struct ci_host *next;     /* registry's lock: list of all, oldest first */
	unsigned int users;       /* registry's lock: ci_module_get() minus ci_module_put() */
	bool unloading;           /* registry's lock: no new HCA, no new user */
	bool unloaded;            /* registry's lock: out of the list; the last user frees this record */
	char why[CI_TEXT_MAX];    /* registry's lock: the last refusal of one of its HCAs */
};

extern pthread_mutex_t ci_registry_lock;

/* The module of that name, or NULL. Registry's or loader's lock held. */
struct ci_host *ci_host_find(const char *name);
/* List of all. Registry's or loader's lock held. */
struct ci_host *ci_host_first(void);
void ci_host_add(struct ci_host *host);
/* Takes it out of the list; frees it now or with its last user. */
void ci_host_drop(struct ci_host *host);
/*
 * Stops new users and HCAs. Without force refused, with the number of users, when there are any;
 * users names them.
 */
al_status ci_host_retire(struct ci_host *host, bool force, char *users, size_t len);
/* Withdraws what a module should have withdrawn itself. Returns how many that were. */
unsigned int ci_host_sweep(struct ci_host *host);
/*
 * What a module's init, scan or probe has refused, and why: forgotten before such a call, and part
 * of what is said when it failed, since the module's status alone tells little.
 */
void ci_host_clear_why(struct ci_host *host);
void ci_host_say_failed(struct ci_host *host, const char *what, al_status st, char text[CI_TEXT_MAX]);
void ci_registry_forked(void);

/*
 * One module file, ci/module.c. Loader's lock held. text: the reason of a failure, a sentence
 * without the module's name.
 */
al_status ci_module_load(const char *path, struct ci_host **host, char text[CI_TEXT_MAX]);
void ci_module_unload(struct ci_host *host);
/*
 * The module's name according to its file: "soft" of "/a/soft.so". False: no file of a module is
 * named so.
 */
bool ci_module_file_name(const char *path, char name[CI_NAME_MAX]);

/* A kind of a vendor's shared object, and where it is found; for people, but for the symbol. */
struct ci_library_kind {
	const char *symbol, *name, *place;
};
/* ci/library.c. The symbol's value is written on success. text as above. */
al_status ci_library_open(const struct ci_library_kind *kind, const char *path, GModule **lib,
			  const void **symbol, char text[CI_TEXT_MAX]);
void ci_library_close(GModule *lib);

void ci_provider_forked(void);

/* Is the file a whole shared object of this machine? ci/elf.c. */
al_status ci_elf_check(const char *path, char text[CI_TEXT_MAX]);

/* ----------------------------------------------------------------- operations */

/*
 * Checks a module's table and completes it in *ops. text: the reason of a refusal, a sentence.
 */
al_status ci_ops_complete(const struct ci_interface *ci, struct ci_interface *ops, char text[CI_TEXT_MAX]);
/* A vendor's structs begin with ours. table: whose member obj_size is. */
al_status ci_obj_sizes_check(const char *table, const uint32_t obj_size[CI_OBJ_KINDS], char text[CI_TEXT_MAX]);

/* ------------------------------------------------------------------------ PCI */

/* A PCI function that was found. */
struct ci_pci_fn {
	struct ci_pci_dev dev;   /* what probe gets: stays where it is */
	struct ci_host *owner;   /* both locks to write: who serves it, or NULL */
	char adapter[80];        /* its name; empty: not looked up, it is of no interest */
	char why[CI_TEXT_MAX];   /* registry's lock: why nobody serves it */
	int lock;                /* descriptor of its lock file, or -1 */
	struct ci_pci_fn *next;  /* both locks to write */
};

/* Where the bus is read from. */
struct ci_pci_source {
	const char *dump;  /* a file made by lspci -D -xxxx; NULL: the live bus */
	const char *sysfs; /* the live bus: "/sys/bus/pci" */
};

/* Reads the bus, ci/pci.c. text: the reason of a failure. The list is freed by ci_pci_free(). */
al_status ci_pci_read(const struct ci_pci_source *source, struct ci_pci_fn **list, char text[CI_TEXT_MAX]);
void ci_pci_free(struct ci_pci_fn *list);
extern const char
	*ci_pci_ids; /* NULL: the list of names of this machine; a test has a list of its own */
/* The adapter's name from that list, or its numbers; never asks the network. */
void ci_pci_adapter(uint16_t vendor, uint16_t device, char *buf, size_t len);

/* The functions and who serves them, ci/bus.c. Loader's lock held. */
extern const char *ci_bus_sysfs;           /* "/sys/bus/pci"; a test has a bus of its own */
al_status ci_bus_scan(void);               /* looks (again) and probes; a failure changes nothing */
void ci_bus_probe(struct ci_host *host);   /* offers a new module what nobody serves */
void ci_bus_release(struct ci_host *host); /* takes back what a module serves */
void ci_bus_forget(void);                  /* as if it had never been looked at; nobody serves anything */
void ci_bus_forked(void);

/* Lock files of PCI functions, ci/lockfile.c. holder: who has it, for the refusal. */
al_status ci_lockfile_take(const char *dir, const char *name, int *fd, char *holder, size_t len);
/* Where all users of the system meet: there if every user may write to it, else /tmp. */
const char *ci_lockfile_dir(const char *preferred);
al_status ci_lock_pci(const char *name, int *fd, char *holder, size_t len);

/* --------------------------------------------------------- configuration, log */

/* Every group must belong to a module that known() says is there. */
al_status ci_conf_check_groups(bool (*known)(const char *module, void *ctx), void *ctx);
/*
 * The same check for a file that is not to be used; its group [ibal] is read too. list() makes the *ctx of known() for the
 * directories that it names (NULL: none). *ctx stays as it is when the file can not be read.
 */
al_status ci_conf_check(const char *config, void *(*list)(const char *module_path),
			bool (*known)(const char *module, void *ctx), void **ctx);
/* Settings for a module, from the file and the environment; freed by ci_conf_params_free(). */
al_status ci_conf_params(const char *module, struct ci_params *params);
void ci_conf_params_free(struct ci_params *params);
void ci_conf_forked(void);
/* Names that would collide with IBAL_<NAME> of the library's own. */
bool ci_conf_reserved(const char *module);

/* True: this program runs with rights that its user does not have. */
bool ci_secure(void);

bool ci_log_level_parse(const char *text, ib_log_level *level);
void ci_log_set_level(ib_log_level level);
void ci_log_forked(void);
void ci_trace_start(const char *where);

/* The name of a status; a number that is no status is named as such, in memory of the thread's own. */
const char *ci_status_text(al_status st);
/* What a module's function returned, or AL_MODULE_FAILED if that is no status. */
al_status ci_module_status(al_status st);
/* Copies what fits. */
void ci_copy(char *to, size_t size, const char *from);
/* A sentence that says why, kept for whoever asks later. */
void ci_say(char text[CI_TEXT_MAX], const char *fmt, ...) IB_PRINTF(2, 3);

#endif /* IBAL_CI_INTERNAL_H */
