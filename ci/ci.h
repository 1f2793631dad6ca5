/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/**
 * @file ci.h
 * @brief What lies below the Access Layer: registry, modules, PCI bus, configuration, log, trace.
 *
 * The Access Layer includes this header; nothing in ci/ includes one of al/. What ci/ must ask of
 * the layer above goes through struct ci_upper. What only files of ci/ share is in ci/internal.h;
 * what a vendor sees, in iba/ib_hca.h.
 *
 * Locks, outermost first, and none of them held when a function of struct ci_upper or of a module
 * is called, but the first one when a module's init, probe, scan, remove and cleanup are:
 *
 * - the *loader's*: one load, unload or look at the PCI bus at a time. Not taken by
 *   ib_register_ci(), ib_deregister_ci(), ci_module_get(), ci_module_put(), the snapshots, nor by
 *   ci_start() once it has succeeded: these a module may call from init to cleanup, and a client
 *   while an HCA is withdrawn from under it.
 * - the *registry's*, a leaf: the lists of modules, HCAs and PCI functions, and the modules'
 *   reference counts.
 */
#ifndef IBAL_CI_CI_H
#define IBAL_CI_CI_H

#include <stdatomic.h>

#include <iba/ib_hca.h>

/* ---------------------------------------------------------------- registry */

/**
 * A registered HCA. Written by ci/ before ci_upper.add() is called and constant until
 * ci_upper.remove() has returned.
 */
struct ci_registration {
	const void *no_object;   /**< NULL, where an object of the Access Layer's has its type: what a module gives back as a ctx */
	struct ci_interface ops; /**< complete: what the module left out is filled in */
	struct ci_ca *ca;        /**< the module's object; ca->ctx is this registration */
	struct ib_ca_attr attr;  /**< read at registration */
	struct ci_host *module;  /**< whose it is */
	_Atomic(void *) al;      /**< the Access Layer's side, set by ci_upper.add(); NULL: upcalls are dropped */

	struct ci_registration *next; /**< registry's lock: list of all, oldest first */
	unsigned int pins;       /**< registry's lock: lookers-on that it must outlive */
	bool removing;           /**< registry's lock: ib_deregister_ci() has begun */
};

/** A further flag of ib_deregister_ci(): the agent that the HCA is behind is lost, and the HCA with it. */
#define CI_AGENT_LOST (1u << 31)

/** What the Access Layer hangs above the registry. */
struct ci_upper {
	/**
	 * An HCA has been checked, opened and queried: build the Access Layer's side, queue the
	 * announcement. A failure refuses the registration, and close_ca is called. Called on the
	 * registering thread.
	 */
	al_status (*add)(struct ci_registration *reg);
	/**
	 * An HCA is withdrawn. Returns when every client has let go, every object is gone in the
	 * module, every reference of ci_module_get() to it is given back and no upcall is in
	 * flight; close_ca is called and reg freed then. flags: enum ci_deregister_flags. Called on
	 * the withdrawing thread; may sleep as long as clients do.
	 */
	void (*remove)(struct ci_registration *reg, uint32_t flags);
	/**
	 * Writes who has it open, such as "al_cp (pid 42), al_query (pid 43)", for the refusal to
	 * unload. Called on an HCA whose al is set, and never while it is withdrawn.
	 */
	void (*users)(struct ci_registration *reg, char *buf, size_t len);
	/** Is the calling thread inside an operation of a module, where it cannot wait for
	 * operations to end? */
	bool (*inside)(void);
};

/** Says who is above. Once, before ci_start(). @param upper kept */
void ci_set_upper(const struct ci_upper *upper);

/**
 * Every operation returns #AL_CA_REMOVED; destroys do nothing; DMA maps fail, unmaps do nothing.
 */
extern const struct ci_interface ci_dead_ca;
/** The same with #AL_AGENT_LOST. */
extern const struct ci_interface ci_dead_agent;
/**
 * What fills the gaps of a module's table: #AL_UNSUPPORTED; for DMA the process' own addresses, and
 * coherent memory from al_alloc_aligned(). Such memory is freed by this table's dma_free_coherent
 * even when the HCA is gone.
 */
extern const struct ci_interface ci_default_ops;

/**
 * Bytes of an object as the module wants it.
 *
 * @param ops operations
 * @param kind kind
 * @return obj_size, or the plain struct's
 */
size_t ci_obj_bytes(const struct ci_interface *ops, enum ci_obj kind);

/** @return is it one of #AL_STATUS_LIST? @param st what a module returned */
bool ci_status_known(al_status st);

#define CI_TEXT_MAX 256 /**< sentences that are kept or handed on, with the zero byte */

/**
 * Asks an HCA for its attributes and holds them against their ranges.
 *
 * @param ops operations @param ca HCA @param attr written with #AL_SUCCESS
 * @param text the reason of a failure, a sentence
 * @retval AL_MODULE_FAILED a value is out of its range
 * @return else what query_ca returned
 */
al_status ci_query_ca(const struct ci_interface *ops, struct ci_ca *ca, struct ib_ca_attr *attr,
		      char text[CI_TEXT_MAX]);
/** Queries a port and checks its attributes' ranges. @param ops table @param ca HCA @param port port
 * @param attr written with #AL_SUCCESS @param text the reason of a failure @return as ci_query_ca() */
al_status ci_query_port(const struct ci_interface *ops, struct ci_ca *ca, uint8_t port,
			struct ib_port_attr *attr, char text[CI_TEXT_MAX]);

/* ----------------------------------------------------------------- modules */

/**
 * First al_open() in the process: reads the configuration, loads the modules of the module path in
 * order, looks at the PCI bus. Idempotent; concurrent callers wait for the first. After a failure
 * nothing is left loaded, and the next call tries again.
 *
 * @param config al_open_attr.config
 * @retval AL_BAD_CONFIG the configuration is wrong, or a module's init found it so; the log says
 * where
 * @retval AL_INSUFFICIENT_MEMORY out of memory
 */
al_status ci_start(const char *config);

/** al_load_module(). @param path file */
al_status ci_load_module(const char *path);
/** Flags of ci_unload_module(). */
enum ci_unload_flags {
	CI_UNLOAD_REMOVE = 1 << 0, /**< AL_UNLOAD_REMOVE */
};
/** al_unload_module(). @param name module @param flags enum ci_unload_flags */
al_status ci_unload_module(const char *name, uint32_t flags);
/** al_rescan(). */
al_status ci_rescan(void);

/**
 * Keeps a module loaded: one for each al_open_ca() of its HCAs. **Context: any.**
 *
 * @param module ci_registration.module
 * @return false: it is being unloaded, as if the HCA were gone already
 */
bool ci_module_get(struct ci_host *module) __attribute__((warn_unused_result));
/**
 * Gives that back: when the handle is closed, or its HCA removed, whichever is first.
 * **Context: any.**
 *
 * @param module as got
 */
void ci_module_put(struct ci_host *module);

/** @return name of the module, constant while it has a reference or an HCA @param module module */
const char *ci_module_name(const struct ci_host *module);
/**
 * A host of HCAs that are behind a connection to an agent, in place of a module: for
 * ib_register_ci(). Not listed among the modules.
 *
 * @param agent the connection; GUIDs are unique among the HCAs of one connection
 * @param host  for ci_agent_host_drop()
 */
al_status ci_agent_host(const void *agent, struct ci_host **host);
/** No HCA of it is left. @param host from ci_agent_host() */
void ci_agent_host_drop(struct ci_host *host);

struct uvp_interface;
/**
 * The hooks of the user-mode provider for a module's HCAs, loaded at the first call and kept; members that the provider
 * lacks are NULL. NULL: there is none, or none that can be used, which has been logged. **May sleep.**
 *
 * @param module name of the module, as the agent told it
 */
const struct uvp_interface *ci_provider(const char *module);
/** @return the connection that an HCA is behind; NULL: of this process @param module its host */
const void *ci_module_agent(const struct ci_host *module);
/** @return its version, for people @param module module */
const char *ci_module_version(const struct ci_host *module);

/**
 * In a forked child (only what is safe there): forgets modules and HCAs, which have no threads
 * here, and gives up the PCI functions, which stay the parent's. ci_start() then works afresh and
 * calls each module's init() again.
 */
void ci_forked(void);

/* --------------------------------------------------------------- snapshots */

/** A module, also one that failed. */
struct ci_snap_module {
	char name[32];    /**< name */
	char version[32]; /**< its version */
	char license[40]; /**< its licence */
	char path[256];   /**< file */
	uint32_t users;   /**< references of ci_module_get() */
	al_status status; /**< #AL_SUCCESS, or why it was not loaded */
	char text[256];   /**< the reason, a sentence */
};

/** A PCI function that a module's table matches, or that is an InfiniBand controller. */
struct ci_snap_pci {
	char name[16];       /**< "0000:3b:00.0" */
	uint16_t vendor_id;  /**< vendor */
	uint16_t device_id;  /**< device */
	uint16_t class_code; /**< class and subclass */
	char module[32];     /**< module that serves it; empty: none */
	char text[96];       /**< the adapter's name, or why no module serves it */
};

/** Copies of all modules. @param modules to be freed with al_free() @param count elements */
al_status ci_snapshot_modules(struct ci_snap_module **modules, size_t *count);
/**
 * Copies of the PCI functions. @param pci to be freed with al_free() @param count elements
 * @param error why the bus could not be read, to be freed with al_free(), or NULL
 */
al_status ci_snapshot_pci(struct ci_snap_pci **pci, size_t *count, char **error);

/* ---------------------------------------- environment, configuration, log, trace */

/**
 * The one place that reads the environment. A set-uid program has none: module path, verifier,
 * faults and the rest are ignored there.
 *
 * @param name such as "IBAL_AGENT"
 * @return its value, or NULL
 */
const char *ci_env(const char *name);

/**
 * A key of the group [ibal], after ci_conf_load(). **Context: any.**
 *
 * @param key such as "agent"
 * @return its value, or NULL; valid for ever once the configuration is settled, until the next
 * ci_conf_load() before
 */
const char *ci_conf_get(const char *key);
/**
 * Reads the configuration, unless it is settled; ci_start() does it too.
 *
 * @param config al_open_attr.config
 * @retval AL_BAD_CONFIG it is wrong; the log says where
 * @retval AL_INVALID_STATE it is settled, and config names another file
 */
al_status ci_conf_load(const char *config);
/** From now on the configuration stays as it is: an opening has succeeded, in one role or the other. */
void ci_conf_settle(void);

/**
 * As far as ci_start() reads the configuration itself: the group [ibal]; when that is good, which
 * groups belong to a module of the module path. No module is loaded, and the configuration in force stays.
 *
 * @param config al_open_attr.config
 * @retval AL_BAD_CONFIG the log says each fault
 */
al_status ci_check(const char *config);

/**
 * Looks at `IBAL_LOG` and `IBAL_TRACE`, if that has not been done; ci_start() does it too.
 * **Context: may sleep.**
 */
void ci_diag_start(void);

/**
 * Where messages go: al_set_log(). **Context: any.**
 *
 * @param cb  NULL: standard error
 * @param ctx for cb
 */
void ci_log_set_sink(void (*cb)(void *ctx, ib_log_level level, const char *text), void *ctx);

#endif /* IBAL_CI_CI_H */
