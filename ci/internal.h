/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Declarations that the files of ci/ share. The Access Layer includes ci/ci.h only. A function that
 * needs a lock says so; the locks and their order are described in ci/ci.h.
 */
#ifndef IBAL_CI_INTERNAL_H
#define IBAL_CI_INTERNAL_H

#include <gmodule.h>
#include <pthread.h>

#include "ci/ci.h"

#define CI_NAME_MAX 32  /* size of a module's name, with the zero byte */

#define CI_MODULE_FILE_RULE \
	"the file of a module is named NAME.so, with a NAME of at most 31 characters a-z, 0-9, _ and -"

/*
 * Empties a list linked by the member "next", in a forked child. The child never uses the elements
 * again. They move to the list kept, where a leak checker finds them.
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

/* A loaded module, or an agent's connection in the place of one. In the list from before its init
 * until after its cleanup. */
struct ci_host {
	const struct ci_module *module;
	GModule *lib;             /* the module's shared object; NULL: the module is part of this program */
	const void *agent;        /* connection to the agent that has the HCAs; NULL: the HCAs are this process's */
	char name[CI_NAME_MAX];
	char version[CI_NAME_MAX];
	char license[40];
	char path[256];

	/* guarded by the registry's lock */
	struct ci_host *next;     /* list of modules, oldest first */
	unsigned int users;       /* references: calls of ci_module_get() minus calls of ci_module_put() */
	bool unloading;           /* new HCAs and new users are refused */
	bool unloaded;            /* out of the list; the last ci_module_put() frees this struct */
	char refusal[CI_TEXT_MAX]; /* why the last ib_register_ci() of the module was refused; empty: none was */
};

extern pthread_mutex_t ci_registry_lock;

/* Finds a module by its name. NULL: no such module is loaded. Registry's or loader's lock held. */
struct ci_host *ci_host_find(const char *name);
/* First in the list of modules. Registry's or loader's lock held. */
struct ci_host *ci_host_first(void);
/* Appends a module to the list. */
void ci_host_add(struct ci_host *host);
/* Takes a module out of the list, and frees the struct now or with its last user. */
void ci_host_drop(struct ci_host *host);
/*
 * Refuses new users and HCAs of the module from now on. AL_MODULE_IN_USE: the module has users,
 * whose names are written to users, and force is false; then nothing changes.
 */
al_status ci_host_retire(struct ci_host *host, bool force, char *users, size_t len);
/* Withdraws the HCAs that a module has left registered at its end, and logs each. Returns their
 * number. */
unsigned int ci_host_withdraw_hcas(struct ci_host *host);
/* Clears host->refusal: before a call of the module's init, scan or probe. */
void ci_host_clear_refusal(struct ci_host *host);
/*
 * Writes that the module's function (init, scan or probe) failed, with the status and with the
 * reason why an HCA was refused meanwhile, since the module's status alone tells little.
 */
void ci_host_describe_failure(struct ci_host *host, const char *function, al_status st, char text[CI_TEXT_MAX]);
void ci_registry_after_fork(void);

/*
 * Load and unload one module, ci/module.c. Loader's lock held. text: the reason of a failure, a
 * sentence without the module's name.
 */
al_status ci_module_load(const char *path, struct ci_host **host, char text[CI_TEXT_MAX]);
void ci_module_unload(struct ci_host *host);
/* Takes a module's name from the name of its file: "soft" of "/a/soft.so". False: the name is no
 * module file's. */
bool ci_module_file_name(const char *path, char name[CI_NAME_MAX]);

/* A kind of vendor's shared object: the symbol that it exports; name and place are words for
 * messages. */
struct ci_library_kind {
	const char *symbol, *name, *place;
};
/*
 * Checks and opens a vendor's shared object, ci/library.c. On success *symbol is the address of the
 * kind's symbol. text: the reason of a failure.
 */
al_status ci_library_open(const struct ci_library_kind *kind, const char *path, GModule **lib,
			  const void **symbol, char text[CI_TEXT_MAX]);
void ci_library_close(GModule *lib);

void ci_provider_after_fork(void);

/* Checks that the file is a complete shared object for this machine, ci/elf.c. text: the reason of
 * a failure. */
al_status ci_elf_check(const char *path, char text[CI_TEXT_MAX]);

/* ----------------------------------------------------------------- operations */

/*
 * Checks a module's table ci, and writes it to *ops with defaults for missing operations. text: the
 * reason of a refusal, a sentence.
 */
al_status ci_ops_complete(const struct ci_interface *ci, struct ci_interface *ops, char text[CI_TEXT_MAX]);
/* Checks that a module's table has the operations that are required of one node type only. text: as
 * above. */
al_status ci_ops_suit(const struct ci_interface *ci, ib_node_type type, char text[CI_TEXT_MAX]);
/* Checks that each size is 0 or at least that of the struct with which a vendor's struct begins.
 * table: name of the table for the refusal. */
al_status ci_obj_sizes_check(const char *table, const uint32_t obj_size[CI_OBJ_KINDS], char text[CI_TEXT_MAX]);

/* ------------------------------------------------------------------------ PCI */

/* A PCI function of the bus. */
struct ci_pci_fn {
	struct ci_pci_dev dev;   /* passed to probe; its address is constant */
	struct ci_host *owner;   /* module that serves the function, or NULL; changed with both locks held */
	char adapter[96];        /* name of the adapter; empty: not looked up, since no module or snapshot needs it */
	char refusal[CI_TEXT_MAX]; /* why no module serves the function; guarded by the registry's lock */
	int lock;                /* descriptor of the function's lock file, or -1 */
	struct ci_pci_fn *next;  /* changed with both locks held */
};

/* The source from which the bus is read. */
struct ci_pci_source {
	const char *dump;  /* path of a dump made by lspci -D -xxxx; NULL: the live bus */
	const char *sysfs; /* path of the live bus: "/sys/bus/pci" */
};

/* Reads the functions of the bus, ci/pci.c. text: the reason of a failure. The caller frees the
 * list with ci_pci_free(). */
al_status ci_pci_read(const struct ci_pci_source *source, struct ci_pci_fn **list, char text[CI_TEXT_MAX]);
void ci_pci_free(struct ci_pci_fn *list);
extern const char *ci_pci_ids; /* path of a list of adapters' names, for tests; NULL: this machine's pci.ids */
/* Writes the adapter's name from that list, or its numbers. Does not use the network. */
void ci_pci_adapter(uint16_t vendor, uint16_t device, char *buf, size_t len);

/* The functions of the bus and the modules that serve them, ci/bus.c. Loader's lock held. */
extern const char *ci_bus_sysfs; /* "/sys/bus/pci"; tests set a directory of their own */
/* Reads the bus (again), removes and adds functions, and calls probes. A failure changes
 * nothing. */
al_status ci_bus_scan(void);
/* Calls the module's probe for each matching function that no module serves. */
void ci_bus_probe(struct ci_host *host);
/* Calls the module's remove for each function that the module serves. */
void ci_bus_remove_from(struct ci_host *host);
/* Empties the list of functions. No module serves a function. */
void ci_bus_clear(void);
void ci_bus_after_fork(void);

/* Lock files of PCI functions, ci/lockfile.c. AL_RESOURCE_BUSY: another process, named in holder,
 * has the lock. */
al_status ci_lockfile_take(const char *dir, const char *name, int *fd, char *holder, size_t len);
/* The directory of lock files, which all users of the system share: preferred if every user may
 * write there, else /tmp. */
const char *ci_lockfile_dir(const char *preferred);
/* Takes the lock file of a PCI function, as ci_lockfile_take(). */
al_status ci_lock_pci(const char *name, int *fd, char *holder, size_t len);

/* --------------------------------------------------------- configuration, log */

/* Checks that every group belongs to a module for which known() is true. AL_BAD_CONFIG. */
al_status ci_conf_check_groups(bool (*known)(const char *module, void *ctx), void *ctx);
/*
 * Checks the groups of a file without making it the current configuration. list() is called with
 * the file's key module_path (NULL: the file lacks the key), and its result becomes *ctx, which is
 * passed to known(). If the file can not be read, list() is not called, and *ctx is unchanged.
 */
al_status ci_conf_check(const char *config, void *(*list)(const char *module_path),
			bool (*known)(const char *module, void *ctx), void **ctx);
/* Settings for a module, from the file and the environment; freed by ci_conf_params_free(). */
al_status ci_conf_params(const char *module, struct ci_params *params);
void ci_conf_params_free(struct ci_params *params);
void ci_conf_after_fork(void);
/* True: a module of this name would have a variable IBAL_<NAME> that is the library's own. */
bool ci_conf_reserved(const char *module);

/* True: this program runs with rights that its user does not have (set-uid, capabilities). */
bool ci_secure(void);

bool ci_log_level_parse(const char *text, ib_log_level *level);
void ci_log_set_level(ib_log_level level);
void ci_log_after_fork(void);
void ci_trace_start(const char *where);

/* The name of a status. A number that is no status gives a text that says so, valid until the
 * thread's next call. */
const char *ci_status_text(al_status st);
/* Returns the status of a module's function, or AL_MODULE_FAILED if the number is no status. */
al_status ci_module_status(al_status st);
/* Copies a text, cut off at size with its zero byte. */
void ci_copy(char *to, size_t size, const char *from);
/* Formats the sentence that says why a function failed. */
void ci_set_text(char text[CI_TEXT_MAX], const char *fmt, ...) IB_PRINTF(2, 3);

#endif /* IBAL_CI_INTERNAL_H */
