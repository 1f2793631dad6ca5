/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/**
 * @file ci.h
 * @brief The parts below the Access Layer: registry, modules, PCI bus, configuration, log, trace.
 *
 * The Access Layer includes this header; no file of ci/ includes a header of al/. The parts below call the Access Layer
 * through struct ci_upper. Declarations that only files of ci/ share are in ci/internal.h; the vendor's interface is
 * iba/ib_hca.h.
 *
 * Locks, outermost first. No lock is held during calls of struct ci_upper or of a module's functions, with one exception: the
 * loader's lock is held during a module's init, probe, scan, remove and cleanup.
 *
 * - the *loader's* lock serialises loads, unloads and scans of the PCI bus. Functions that do not take the lock:
 *   ib_register_ci(), ib_deregister_ci(), ci_module_get(), ci_module_put(), the snapshots, and ci_start() once ci_start()
 *   has succeeded. A module may call these functions from init to cleanup, and a client during the removal of an HCA.
 * - the *registry's* lock, a leaf, guards the lists of modules, HCAs and PCI functions, and the modules' reference counts.
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
	const void *no_object;   /**< always NULL; an object of the Access Layer has its type here, so a ctx of an HCA is recognised */
	struct ci_interface ops; /**< the module's table, with defaults for missing operations */
	struct ci_ca *ca;        /**< the module's object of the HCA; ca->ctx is this registration */
	struct ib_ca_attr attr;  /**< attributes, read at registration */
	struct ci_host *module;  /**< module that has registered the HCA */
	_Atomic(void *) al;      /**< struct al_dev of the HCA, set by ci_upper.add(); NULL: upcalls are dropped */

	/* guarded by the registry's lock */
	struct ci_registration *next; /**< list of registrations, oldest first */
	unsigned int pins;       /**< users of the pointer that the removal waits for */
	bool removing;           /**< ib_deregister_ci() has begun */
};

/** A further flag of ib_deregister_ci(): the agent that has the HCA is lost. */
#define CI_AGENT_LOST (1u << 31)

/** The functions of the Access Layer that the registry calls. */
struct ci_upper {
	/**
	 * Adds an HCA, which has been checked, opened and queried: makes struct al_dev and queues the PnP announcement. A
	 * failure refuses the registration, and close_ca is called. Called on the registering thread.
	 */
	al_status (*add)(struct ci_registration *reg);
	/**
	 * Removes an HCA. Returns when every client has released the HCA, every object is destroyed in the module, every
	 * reference of ci_module_get() for the HCA is dropped and no upcall is in flight. Then close_ca is called and
	 * reg is freed. flags: enum ci_deregister_flags. Called on the withdrawing thread; may sleep as long as clients do.
	 */
	void (*remove)(struct ci_registration *reg, uint32_t flags);
	/**
	 * Writes the names of the processes that have the HCA open, such as "al_cp (pid 42), al_query (pid 43)", for the
	 * refusal to unload a module. Called for an HCA whose al is set, and never during its removal.
	 */
	void (*users)(struct ci_registration *reg, char *buf, size_t len);
	/** True: the calling thread is inside an operation of a module, so the thread must not wait for operations to end. */
	bool (*inside)(void);
};

/** Sets the layer above the registry. Called once, before ci_start(). @param upper kept by reference */
void ci_set_upper(const struct ci_upper *upper);

/**
 * The table of a removed HCA: every operation returns #AL_CA_REMOVED; destroys do nothing; DMA maps fail, DMA unmaps do
 * nothing.
 */
extern const struct ci_interface ci_dead_ca;
/** The table of an HCA whose agent is lost: as ci_dead_ca, but every operation returns #AL_AGENT_LOST. */
extern const struct ci_interface ci_dead_agent;
/**
 * The operations that replace the missing operations of a module: they return #AL_UNSUPPORTED. DMA addresses are the
 * process's own, and coherent memory comes from al_alloc_aligned(); this table's dma_free_coherent frees that memory also
 * after the removal of the HCA.
 */
extern const struct ci_interface ci_default_ops;

/**
 * The size of the module's part of an object.
 *
 * @param ops table of operations
 * @param kind kind of object
 * @return ops->obj_size[kind], or the size of the kind's struct in iba/ib_hca.h if that is 0
 */
size_t ci_obj_bytes(const struct ci_interface *ops, enum ci_obj kind);

/** @return true: st is one of #AL_STATUS_LIST @param st number that a module returned */
bool ci_status_known(al_status st);

#define CI_TEXT_MAX 256 /**< size of a buffer for a reason, a sentence, with the zero byte */

/** Replaces control characters by blanks: a sentence may quote names that other processes chose.
 * @param sentence changed */
void ci_one_line(char *sentence);
/** Forgets the sentence: ci_reason_text() is "" until the thread's next ib_refuse(). */
void ci_reason_clear(void);
/** @return the sentence of the calling thread's last ib_refuse() */
const char *ci_reason_text(void);

/** The state of the sentence: whether it belongs to the call in progress. */
struct ci_reason {
	al_status status; /**< status with which ib_refuse() stored the sentence */
	bool fresh;       /**< no function of the API has returned since ib_refuse() */
};
extern __thread struct ci_reason ci_reason;

/** A thread's sentence, kept while the thread works for others. */
struct ci_saved_reason {
	struct ci_reason state;	 /**< as it was */
	char text[CI_TEXT_MAX]; /**< the sentence */
};
/** @param saved written: the calling thread's sentence */
void ci_reason_save(struct ci_saved_reason *saved);
/** @param saved becomes the calling thread's sentence again */
void ci_reason_restore(const struct ci_saved_reason *saved);

/**
 * Writes one line about a refusal or a failed completion to the log, level debug. The number of
 * lines in a second is limited. @param fmt as printf
 */
void ci_reason_log(const char *fmt, ...) IB_PRINTF(1, 2);
/** @return true: somebody gets messages of the level @param level importance */
bool ci_log_wanted(ib_log_level level);

/** Number of a node's first port: 0 of a switch, which is the switch itself, else 1. @param attr
 * attributes */
static inline uint32_t ci_first_port(const struct ib_ca_attr *attr)
{
	return attr->node_type == IB_NODE_SWITCH ? 0 : 1;
}

/**
 * Queries an HCA and checks its attributes' ranges. A node type of 0 becomes #IB_NODE_CA.
 *
 * @param ops table @param ca HCA @param attr written with #AL_SUCCESS
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
 * Starts the parts below the Access Layer at the first al_open() of the process: reads the configuration, loads the modules
 * of the module path in order, scans the PCI bus. Idempotent; concurrent callers wait for the first caller. After a failure
 * no module is loaded, and the next call tries again.
 *
 * @param config al_open_attr.config
 * @retval AL_BAD_CONFIG the configuration is wrong, or a module's init refused its settings; the log names the setting
 * @retval AL_INSUFFICIENT_MEMORY out of memory
 */
al_status ci_start(const char *config);

/** Implements al_load_module(). @param path file */
al_status ci_load_module(const char *path);
/** Flags of ci_unload_module(). */
enum ci_unload_flags {
	CI_UNLOAD_REMOVE = 1 << 0, /**< AL_UNLOAD_REMOVE */
};
/** Implements al_unload_module(). @param name module @param flags enum ci_unload_flags */
al_status ci_unload_module(const char *name, uint32_t flags);
/** Implements al_rescan(). */
al_status ci_rescan(void);

/**
 * Takes a reference that keeps a module loaded: one for each al_open_ca() of its HCAs. **Context: any.**
 *
 * @param module ci_registration.module
 * @return false: the module is being unloaded; the caller treats the HCA as removed
 */
bool ci_module_get(struct ci_host *module) __attribute__((warn_unused_result));
/**
 * Drops a reference of ci_module_get(): when the HCA handle is closed or its HCA is removed, whichever is first.
 * **Context: any.**
 *
 * @param module as in ci_module_get()
 */
void ci_module_put(struct ci_host *module);

/** @return name of the module, constant while the module has a reference or an HCA @param module module */
const char *ci_module_name(const struct ci_host *module);
/**
 * Makes a struct ci_host for the HCAs of an agent, for ib_register_ci(): the connection to the agent takes the place of a
 * module. The host is not in the list of modules.
 *
 * @param agent the connection; GUIDs are unique among the HCAs of one connection
 * @param host  for ci_agent_host_drop()
 */
al_status ci_agent_host(const void *agent, struct ci_host **host);
/** Frees the host of an agent's HCAs. None of its HCAs is registered any more. @param host from ci_agent_host() */
void ci_agent_host_drop(struct ci_host *host);

struct uvp_interface;
/**
 * The hooks of the user-mode provider for a module's HCAs. The first call loads the provider, which stays loaded. Hooks that
 * the provider lacks are NULL. NULL: the module has no provider, or its provider can not be used, which has been logged.
 * **May sleep.**
 *
 * @param module name of the module, as received from the agent
 */
const struct uvp_interface *ci_provider(const char *module);
/** @return the connection to the agent that has the HCAs; NULL: the HCAs are this process's @param module module */
const void *ci_module_agent(const struct ci_host *module);
/** @return the module's version, a text for messages @param module module */
const char *ci_module_version(const struct ci_host *module);

/**
 * Resets the registry, loader and bus in a forked child, with calls that are safe there: empties the lists of modules and
 * HCAs, which have no threads in the child, and closes the lock files of PCI functions, which stay the parent's. ci_start()
 * then works as in a new process and calls each module's init() again.
 */
void ci_after_fork(void);

/* --------------------------------------------------------------- snapshots */

/** A module that is loaded, or that could not be loaded. */
struct ci_snap_module {
	char name[32];    /**< name of the module */
	char version[32]; /**< version of the module */
	char license[40]; /**< licence of the module */
	char path[256];   /**< path of the module's file */
	uint32_t users;   /**< number of references of ci_module_get() */
	al_status status; /**< #AL_SUCCESS: loaded; else why the module was not loaded */
	char text[256];   /**< the reason of a failure, a sentence */
};

/** A PCI function that a module's table matches, or that is an InfiniBand controller. */
struct ci_snap_pci {
	char name[16];       /**< address of the function, such as "0000:3b:00.0" */
	uint16_t vendor_id;  /**< PCI vendor id */
	uint16_t device_id;  /**< PCI device id */
	uint16_t class_code; /**< PCI class and subclass */
	char module[32];     /**< module that serves the function; empty: none */
	char text[96];       /**< the adapter's name, or why no module serves the function */
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
 * Reads an environment variable. All files read the environment through this function only. A set-uid program ignores all
 * variables.
 *
 * @param name such as "IBAL_AGENT"
 * @return its value, or NULL
 */
const char *ci_env(const char *name);

/**
 * The value of a key of the group [ibal], after ci_conf_load(). **Context: any.**
 *
 * @param key such as "agent"
 * @return the value, or NULL. The pointer is valid until the next ci_conf_load(), and after ci_start() for the life of the
 * process.
 */
const char *ci_conf_get(const char *key);
#define CI_SECONDS_MOST 86400 /**< a day */
/** Reads a number of seconds from 1 to CI_SECONDS_MOST. False: the text is none, and *seconds is as
 * it was. */
bool ci_seconds_parse(const char *text, unsigned int *seconds);
/**
 * Reads the configuration, unless ci_conf_settle() was called. ci_start() calls this function as well.
 *
 * @param config al_open_attr.config
 * @retval AL_BAD_CONFIG the configuration is wrong; the log names the place
 * @retval AL_INVALID_STATE the configuration is settled, and config names another file
 */
al_status ci_conf_load(const char *config);
/** Makes the configuration final: called after the first al_open() that succeeds, with or without an agent. */
void ci_conf_settle(void);

/**
 * Checks a configuration like ci_start(): the group [ibal], and then whether each other group belongs to a module of the
 * module path. No module is loaded, and the current configuration does not change.
 *
 * @param config al_open_attr.config
 * @retval AL_BAD_CONFIG the log names each error
 */
al_status ci_check(const char *config);

/**
 * Applies `IBAL_LOG` and `IBAL_TRACE` at the first call. ci_start() calls this function as well. **Context: may sleep.**
 */
void ci_diag_start(void);

/**
 * Sets the function that gets log messages: implements al_set_log(). **Context: any.**
 *
 * @param cb  function; NULL: messages go to standard error
 * @param ctx passed to cb
 */
void ci_log_set_sink(void (*cb)(void *ctx, ib_log_level level, const char *text), void *ctx);

/**
 * Replaces the function that writes the messages which go to standard error. **Context: any.**
 *
 * @param write_line gets the level, the component (or NULL) and one line, which ends with a line
 * break; any thread
 */
void ci_log_set_writer(void (*write_line)(ib_log_level level, const char *who, const char *line,
					  size_t length));

#endif /* IBAL_CI_CI_H */
