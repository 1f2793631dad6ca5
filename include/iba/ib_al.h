/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/**
 * @file ib_al.h
 * @brief The Access Layer API: everything that a channel driver reads.
 *
 * **Context.** Each function says from where it may be called.
 * - *Context: any*: any thread, any callback, whatever locks of its own the caller holds; not a
 * signal handler.
 * - *Context: may sleep*: any thread, and callbacks of al_reg_pnp(); in every other callback it is
 * refused with #AL_INVALID_CONTEXT.
 *
 * **Callbacks** get the context given at creation, never a handle (SAS deviation 3). They come from
 * threads of the library, never from within a call of the caller's; of one object one at a time.
 * Those of completion queues, asynchronous events and destroys are *atomic*: they may make every
 * "any" call. Those of al_reg_pnp() may make every call.
 *
 * **Statuses** that every function can return are not repeated below: #AL_INVALID_HANDLE (the
 * handle of the first argument, or one in the attributes, is not a live one of its kind),
 * #AL_INVALID_PARAMETER (a required pointer is NULL, a reserved field is not zero, a value is none
 * of its enum), #AL_INVALID_CONTEXT ("may sleep" in an atomic callback), #AL_INSUFFICIENT_MEMORY
 * (functions that create), #AL_CA_REMOVED (the HCA is gone; the handle stays to be destroyed),
 * #AL_AGENT_LOST (the same: the agent behind it is gone), #AL_INSUFFICIENT_RESOURCES (functions
 * that create: this process may have no further descriptor, which objects of an agent's HCA may
 * take), #AL_PERMISSION (the agent lets only its own user do that), #AL_UNSUPPORTED (the HCA's
 * module does not offer it), #AL_MODULE_FAILED (the module answered what cannot be, and the log says
 * what).
 *
 * **Destroying** is asynchronous: the handle is invalid when the call returns, `cb(context)`
 * follows exactly once, after the object's last other callback; until then the object's context,
 * and a region's memory, may still be used. A NULL callback asks for no notice. #AL_DESTROY_SYNC
 * waits instead (*may sleep*). Every function that ends an object works so, and is refused with
 * #AL_RESOURCE_BUSY, changing nothing, while live objects depend on the object.
 *
 * **Order of destroys.** The destroys of one thread take effect, on each HCA, in the order of the
 * calls: when an object is gone, every queue pair and every region that the same thread destroyed
 * before it on that HCA takes nothing from the wire any more and touches no memory, even if a
 * callback in flight still keeps the earlier object's own `cb` from being called. So a queue pair
 * and then its regions can be destroyed without waiting in between: no message is taken whose
 * region is gone. A cascade (al_close_ca(), al_close()) ends queue pairs before regions. Nothing is
 * ordered between the destroys of several threads, between several HCAs, and between the `cb` of
 * objects of which none depends on the other.
 *
 * **Reentrancy.** Every function may be called from several threads at once, on one object too
 * (seed 000). The library orders nothing that the caller did not order.
 */
#ifndef IBA_IB_AL_H
#define IBA_IB_AL_H

#include <iba/ib_verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --------------------------------------------------------------- callbacks */

/** A destroyed object is gone: nothing of the library uses its context or memory any more. @param context of the object */
typedef void (*al_destroyed_cb)(void *context);

/** In place of an al_destroyed_cb: return when the object is gone. */
#define AL_DESTROY_SYNC ((al_destroyed_cb)(uintptr_t)1)

/** An armed completion queue has what it was armed for. @param context of the completion queue */
typedef void (*al_comp_cb)(void *context);

/** An asynchronous event. @param context of the object, or of the handler @param event valid during the call */
typedef void (*al_event_cb)(void *context, const struct al_event *event);

/** What al_reg_pnp() reports: X(name, value, text). */
#define AL_PNP_LIST(X) \
	X(AL_PNP_CA_ADD, 1, "HCA added") \
	X(AL_PNP_CA_REMOVE, 2, "HCA removed") \
	X(AL_PNP_PORT_DOWN, 3, "port down") \
	X(AL_PNP_PORT_INIT, 4, "port initialising") \
	X(AL_PNP_PORT_ARMED, 5, "port armed") \
	X(AL_PNP_PORT_ACTIVE, 6, "port active") \
	X(AL_PNP_LID_CHANGE, 7, "LID change") \
	X(AL_PNP_PKEY_CHANGE, 8, "P_Key table change") \
	X(AL_PNP_GID_CHANGE, 9, "GID table change") \
	X(AL_PNP_SM_CHANGE, 10, "subnet manager change") \
	X(AL_PNP_CLIENT_REREGISTER, 11, "client reregister") \
	X(AL_PNP_REPLAY_COMPLETE, 12, "replay complete")
/** What al_reg_pnp() reports. */
typedef enum al_pnp_type {
	AL_PNP_LIST(IBA_ENUM_VALUE)
} al_pnp_type;

/** What a channel delivers: X(name, value, text). */
#define AL_CHANNEL_EVENT_LIST(X) \
	X(AL_CHANNEL_COMPLETION, 1, "completion") \
	X(AL_CHANNEL_ASYNC, 2, "asynchronous event") \
	X(AL_CHANNEL_PNP, 3, "PnP event")
/** What a channel delivers. */
typedef enum al_channel_event_type {
	AL_CHANNEL_EVENT_LIST(IBA_ENUM_VALUE)
} al_channel_event_type;

/** Arrival, removal or a port's change. */
struct al_pnp_event {
	al_pnp_type type;  /**< what happened */
	uint8_t port_num;  /**< port events: port, from 1; else 0 */
	uint8_t pad[3];    /**< zero */
	uint64_t ca_guid;  /**< node GUID; 0 for #AL_PNP_REPLAY_COMPLETE */
	void *ca_context;  /**< as set by al_set_client_context() for this HCA, or NULL */
};

/**
 * Arrival, removal or a port's change (seed 000: may sleep). In #AL_PNP_CA_ADD a status other than #AL_SUCCESS refuses
 * the HCA: the registration hears no more of it. When #AL_PNP_CA_REMOVE returns, the client must have destroyed all
 * that it had there. Statuses are ignored otherwise.
 */
typedef al_status (*al_pnp_cb)(void *context, const struct al_pnp_event *event);

/**
 * A message of the library or of a module. Calls nothing of the library, which may hold locks while it speaks, but
 * al_set_log(). Gets every level; choose.
 *
 * @param context as given
 * @param level   importance
 * @param text    one sentence
 */
typedef void (*al_log_cb)(void *context, ib_log_level level, const char *text);

/* ----------------------------------------------------------------- library */

/** How to open the library; NULL or all zero is the ordinary way. */
struct al_open_attr {
	/** `IBAL_AGENT` instead: "off" (this process owns its HCAs), a socket's path, or "auto". NULL: the environment. */
	const char *agent;
	/**
	 * Configuration file instead of `IBAL_CONF` or the system's; "" for none. A process has one configuration, that of its
	 * first opening: a later one says the same path, or NULL, which takes it as it is.
	 */
	const char *config;
	uint64_t reserved[4]; /**< zero */
};

/**
 * Opens the library; the first one in a process reads the configuration, loads the modules and finds the HCAs. A module
 * that fails is named in the log and does not keep the others from working. Where an agent is to be used and can not be,
 * the status says why, and the log the way out. An agent that does not answer is waited for, which the log tells every
 * 10 seconds. **Context: may sleep.**
 *
 * @param attr how, or NULL
 * @param al   the opening: parent of everything made with it
 * @retval AL_BAD_CONFIG the configuration has an unknown group or key, or a wrong value, or `agent_user` names a user whom
 *         the system does not know; the log says which and where
 * @retval AL_INVALID_STATE config names another file than the one that an earlier opening of the process has read
 * @retval AL_INVALID_PARAMETER al is NULL, a flag is unknown; or the path of the agent's socket is empty, longer than such
 *         can be, or that of no socket, or of one of another kind
 * @retval AL_NOT_FOUND there is no socket of that path: no ald runs there
 * @retval AL_AGENT_REFUSED the socket is there and nobody listens: its ald was killed
 * @retval AL_PERMISSION this user may not connect to the socket, or not search a directory on the way
 * @retval AL_AGENT_UNTRUSTED the agent is neither root's nor this user's, nor of the user that `agent_user` names
 * @retval AL_AGENT_PROTOCOL the agent is of another version, or no agent at all
 * @retval AL_AGENT_LOST the agent has hung up, or ended, before all was said: try again
 * @retval AL_LIMIT_EXCEEDED the agent has as many clients as it may, or as this user may have
 * @retval AL_INSUFFICIENT_RESOURCES this process may have no further descriptor or thread
 * @retval AL_INSUFFICIENT_MEMORY out of memory, here or in the agent
 * @retval AL_IO_ERROR another system call has failed, here or in the agent; the log says how
 */
al_status al_open(const struct al_open_attr *attr, al_h *al);

/**
 * Closes an opening: what is left of its objects is destroyed, children first, and named in the log. Modules stay
 * loaded. **Context: any** (with #AL_DESTROY_SYNC: may sleep).
 *
 * @param al      opening
 * @param cb      called when everything is gone
 * @param context for cb
 */
al_status al_close(al_h al, al_destroyed_cb cb, void *context);

/** Version of the library, such as "0.1.0". **Context: any.** */
const char *al_version(void);

/**
 * Where messages go; by default errors and warnings go to standard error (`IBAL_LOG` raises the level). Applies to the
 * whole process. **Context: any.**
 *
 * @param cb      called from any thread, also concurrently; NULL: the default again
 * @param context for cb
 */
void al_set_log(al_log_cb cb, void *context);

/** @name Texts
 * The text of a value, such as "success"; "unknown" for one that is none. **Context: any.** @{ */
const char *al_status_str(al_status v);                /**< text of a status */
const char *al_status_name(al_status v);               /**< name of a status, such as "AL_SUCCESS" */
const char *al_object_type_str(al_object_type v);      /**< kind of object */
const char *al_arm_str(al_arm v);                      /**< arm type */
const char *al_cq_notify_str(al_cq_notify v);          /**< notification mode */
const char *al_pnp_type_str(al_pnp_type v);            /**< PnP event */
const char *al_channel_event_type_str(al_channel_event_type v); /**< what a channel delivered */
const char *al_event_type_str(ib_event_type v);        /**< asynchronous event */
const char *al_link_layer_str(ib_link_layer v);        /**< link layer */
const char *al_port_state_str(ib_port_state v);        /**< logical port state */
const char *al_phys_state_str(ib_phys_state v);        /**< physical port state */
const char *al_mtu_str(ib_mtu v);                      /**< MTU in bytes */
const char *al_width_str(ib_width v);                  /**< link width */
const char *al_speed_str(ib_speed v);                  /**< link speed */
const char *al_rate_str(ib_rate v);                    /**< static rate */
const char *al_node_type_str(ib_node_type v);          /**< kind of node */
const char *al_atomic_cap_str(ib_atomic_cap v);        /**< reach of atomics */
const char *al_ca_cap_str(unsigned int bit);           /**< ability of an HCA, by its single bit */
const char *al_mw_type_str(ib_mw_type v);              /**< kind of window */
const char *al_dma_direction_str(ib_dma_direction v);  /**< direction of a mapping */
const char *al_wc_status_str(ib_wc_status v);          /**< completion status */
const char *al_wc_opcode_str(ib_wc_opcode v);          /**< completion opcode */
const char *al_wr_opcode_str(ib_wr_opcode v);          /**< request opcode */
const char *al_qp_type_str(ib_qp_type v);              /**< transport service */
const char *al_qp_state_str(ib_qp_state v);            /**< queue pair state */
const char *al_mig_state_str(ib_mig_state v);          /**< path migration state */
const char *al_srq_type_str(ib_srq_type v);            /**< kind of shared receive queue */
/** @} */

/* ----------------------------------------------------------------- modules */

/**
 * Loads an HCA module; its HCAs are announced. **Context: may sleep**, but not in a PnP callback.
 *
 * @param al   opening
 * @param path file
 * @retval AL_NOT_FOUND no such file
 * @retval AL_MODULE_DAMAGED not a whole shared object of this machine, or it could not be linked
 * @retval AL_MODULE_NO_SYMBOL it exports no `ci_module`
 * @retval AL_MODULE_ABI it was built for another Channel Interface
 * @retval AL_DUPLICATE a module of that name is loaded
 * @retval AL_PERMISSION a set-uid program loads no module by path; or this user may not read the file
 * @retval AL_IO_ERROR the file can not be opened or read
 * @retval AL_UNSUPPORTED the opening's HCAs are an agent's, whose administrator sees to its modules
 * @return else what the module's init or scan returned; #AL_MODULE_FAILED where that is no status
 */
al_status al_load_module(al_h al, const char *path);

/** Flags of al_unload_module(). */
enum al_unload_flags {
	AL_UNLOAD_REMOVE = 1 << 0, /**< if it is in use, remove its HCAs under their users */
};

/**
 * Unloads an HCA module. **Context: may sleep**, but not in a PnP callback. Removing HCAs waits for PnP clients
 * (al_reg_pnp()): the thread that reads a registration's channel must be another one.
 *
 * @param al    opening
 * @param name  module
 * @param flags enum al_unload_flags
 * @retval AL_NOT_FOUND no module of that name is loaded
 * @retval AL_MODULE_IN_USE HCAs of it are open; the log names by whom
 * @retval AL_UNSUPPORTED the opening's HCAs are an agent's, whose administrator sees to its modules
 */
al_status al_unload_module(al_h al, const char *name, uint32_t flags);

/**
 * Looks at the PCI bus again: functions that came are probed, functions that went are removed. **Context: may sleep**,
 * but not in a PnP callback. A removal waits as in al_unload_module().
 *
 * @param al opening
 * @retval AL_PCI_UNREADABLE the bus or its recorded dump can not be read; nothing was changed
 * @retval AL_UNSUPPORTED the opening's HCAs are an agent's, whose administrator sees to its modules
 */
al_status al_rescan(al_h al);

/* --------------------------------------------------------------------- HCA */

/**
 * Node GUIDs of the HCAs that are there. **Context: may sleep.**
 *
 * @param al    opening
 * @param guids room for *count GUIDs; may be NULL when *count is 0
 * @param count in: room; out: how many there are, also with #AL_BUFFER_TOO_SMALL
 * @retval AL_BUFFER_TOO_SMALL there are more; guids was not written
 */
al_status al_get_ca_guids(al_h al, uint64_t *guids, size_t *count);

/**
 * Opens an HCA by its GUID (SAS deviation 7) and keeps its module loaded. **Context: may sleep.**
 *
 * @param al      opening
 * @param guid    node GUID
 * @param context of the handle
 * @param ca      the HCA
 * @retval AL_NOT_FOUND no HCA of that GUID is there, or its removal has begun
 */
al_status al_open_ca(al_h al, uint64_t guid, void *context, al_ca_h *ca);

/** Closes an HCA; what this handle still has on it is destroyed and named in the log. **Context: any** (with #AL_DESTROY_SYNC: may
 * sleep). @param ca HCA @param cb, context: see above @retval AL_RESOURCE_BUSY an object of another handle of this HCA uses one of
 * this handle's (a queue pair its completion queue): nothing is closed; destroy that one or close its handle first */
al_status al_close_ca(al_ca_h ca, al_destroyed_cb cb, void *context);

/** Attributes, constant while the HCA is there. **Context: may sleep.** @param ca HCA @param attr written */
al_status al_query_ca(al_ca_h ca, struct ib_ca_attr *attr);

/** Attributes and counters of a port, as they are now. **Context: may sleep.** @param ca HCA @param port from 1 @param attr written
 * @retval AL_INVALID_PORT no such port */
al_status al_query_port(al_ca_h ca, uint8_t port, struct ib_port_attr *attr);

/** An entry of the GID table; 0 is always subnet prefix and port GUID. **Context: may sleep.** @param ca HCA @param port from 1
 * @param index entry @param gid written @retval AL_INVALID_PORT no such port @retval AL_INVALID_GID_INDEX no such entry */
al_status al_query_gid(al_ca_h ca, uint8_t port, uint32_t index, ib_gid *gid);

/** An entry of the P_Key table. **Context: may sleep.** @param ca HCA @param port from 1 @param index entry
 * @param pkey written; 0: empty @retval AL_INVALID_PORT no such port @retval AL_INVALID_PKEY_INDEX no such entry */
al_status al_query_pkey(al_ca_h ca, uint8_t port, uint32_t index, uint16_t *pkey);

/** Finds a GID in the ports' tables. **Context: may sleep.** @param ca HCA @param gid wanted @param port written @param index written
 * @retval AL_NOT_FOUND no port has it */
al_status al_find_gid(al_ca_h ca, const ib_gid *gid, uint8_t *port, uint32_t *index);

/** Finds a P_Key in a port's table; a full member is preferred to a limited one of the same key value. **Context: may sleep.**
 * @param ca HCA @param port from 1 @param pkey wanted @param index written @retval AL_INVALID_PORT no such port @retval AL_NOT_FOUND not there */
al_status al_find_pkey(al_ca_h ca, uint8_t port, uint16_t pkey, uint32_t *index);

/** Link layer of a port. **Context: may sleep.** @param ca HCA @param port from 1 @param layer written @retval AL_INVALID_PORT no such port */
al_status al_port_link_layer(al_ca_h ca, uint8_t port, ib_link_layer *layer);

/** Changes attributes of the HCA. **Context: may sleep.** @param ca HCA @param mask enum ib_ca_attr_mask @param attr values */
al_status al_modify_ca(al_ca_h ca, uint32_t mask, const struct ib_ca_attr *attr);

/** Changes attributes of a port. **Context: may sleep.** @param ca HCA @param port from 1 @param mask enum ib_port_attr_mask @param attr values
 * @retval AL_INVALID_PORT no such port */
al_status al_modify_port(al_ca_h ca, uint8_t port, uint32_t mask, const struct ib_port_modify *attr);

/** A call whose meaning is the vendor's. **Context: may sleep.** @param ca HCA @param code what to do @param in input @param in_len its bytes
 * @param out output @param out_len in: room; out: bytes written */
al_status al_vendor_call(al_ca_h ca, uint32_t code, const void *in, uint32_t in_len, void *out, uint32_t *out_len);

/* --------------------------------------------------------- clients, events */

/** What to register for. */
struct al_pnp_attr {
	al_channel_h channel; /**< deliver here instead of by callback; a channel can not refuse an HCA */
	bool ports;           /**< port events too */
	uint8_t pad[7];       /**< zero */
	uint64_t reserved[4]; /**< zero */
};

/**
 * Registers for arrival and removal of HCAs, and for port events. What is there already is replayed first: each HCA's
 * add, then its ports' states as the events that lead to them; then #AL_PNP_REPLAY_COMPLETE, and the call returns (in a
 * PnP callback or with a channel the replay is only queued). **Context: may sleep.**
 *
 * **Removal.** Every operation of an HCA works until each registration that knows the HCA has returned from
 * #AL_PNP_CA_REMOVE, or has read it from its channel *and acknowledged it*: by the next al_channel_next() on that channel,
 * by any thread and whatever it returns, or by the end of the registration (al_dereg_pnp(), al_close()). The removal waits
 * for that without limit, also when #AL_PNP_CA_REMOVE is never read; a wait that lasts names its client in the log. An HCA
 * whose #AL_PNP_CA_ADD was not read yet is not waited for. Nothing new is opened on an HCA that is being removed; objects that are
 * left on it when the last registration has let go are destroyed, and their handles answer #AL_CA_REMOVED. If the hardware is gone already, or the HCA is an agent's, its
 * operations fail from the start (#AL_CA_REMOVED, #AL_AGENT_LOST) and destroys still work: the agent waits for no client,
 * so only this process's side of the removal waits, and with it what the same agent announces later.
 *
 * @param al      opening
 * @param attr    what, or NULL for HCAs only
 * @param context for cb
 * @param cb      called on the PnP thread, one event at a time, in order; NULL with a channel
 * @param pnp     the registration; written before the first callback
 */
al_status al_reg_pnp(al_h al, const struct al_pnp_attr *attr, void *context, al_pnp_cb cb, al_pnp_h *pnp);

/**
 * Ends a registration: #AL_PNP_CA_REMOVE is called for each HCA that was added and not refused, then `cb`; with a channel
 * nothing more is told, and what waits for it to acknowledge a removal waits no longer. **Context: any**; with
 * #AL_DESTROY_SYNC in a callback of this very registration #AL_INVALID_CONTEXT. @param pnp registration @param cb, context: see above
 */
al_status al_dereg_pnp(al_pnp_h pnp, al_destroyed_cb cb, void *context);

/** Keeps a pointer per registration and HCA (seed 004, ib_set_client_data), from its add until its remove has returned or has been
 * acknowledged. **Context: any.**
 * @param pnp registration @param ca_guid HCA @param ca_context pointer @retval AL_NOT_FOUND that HCA is not added here */
al_status al_set_client_context(al_pnp_h pnp, uint64_t ca_guid, void *ca_context);

/** The pointer kept by al_set_client_context(), or NULL. **Context: any.** @param pnp registration @param ca_guid HCA @param ca_context written
 * @retval AL_NOT_FOUND that HCA is not added here */
al_status al_get_client_context(al_pnp_h pnp, uint64_t ca_guid, void **ca_context);

/**
 * Registers for every asynchronous event of an HCA: those of its ports, its own, and those of objects made through this
 * handle of it (after the object's own callback). **Context: may sleep.**
 *
 * @param ca      HCA
 * @param channel deliver here instead of by callback, or NULL
 * @param context for cb
 * @param cb      atomic
 * @param handler the registration
 * @retval AL_INSUFFICIENT_RESOURCES no thread could be started
 */
al_status al_reg_event_handler(al_ca_h ca, al_channel_h channel, void *context, al_event_cb cb,
			       al_event_handler_h *handler);

/** Ends a registration. **Context: any.** @param handler registration @param cb, context: see above */
al_status al_dereg_event_handler(al_event_handler_h handler, al_destroyed_cb cb, void *context);

/** An event from a channel: it carries a context and keeps nothing alive. */
struct al_channel_event {
	al_channel_event_type type; /**< which of the members below */
	uint32_t pad;               /**< zero */
	void *context;              /**< of the completion queue, object, handler or registration */
	struct al_event async;      /**< #AL_CHANNEL_ASYNC */
	struct al_pnp_event pnp;    /**< #AL_CHANNEL_PNP */
};

/** Makes a channel, for event loops. **Context: may sleep.** @param al opening @param context of the handle @param channel written
 * @retval AL_INSUFFICIENT_RESOURCES no descriptor is left */
al_status al_create_channel(al_h al, void *context, al_channel_h *channel);

/** The channel's descriptor: readable while events wait, or a removal that was read is not acknowledged yet. For poll() and its
 * like only: it can not be read or written, and the caller never closes it. It is closed with the channel, which wakes no thread
 * that sleeps on it: wake that first, by a descriptor of your own. **Context: any.** @param channel channel @param fd written */
al_status al_channel_fd(al_channel_h channel, int *fd);

/** The next event. Each call says that the reader has done with the last: if that was #AL_PNP_CA_REMOVE, the HCA may go now
 * (al_reg_pnp()). If several threads read one channel, the next call of any of them says so: give the registration a channel
 * of its own, which one thread reads. **Context: any.** @param channel channel @param event written
 * @retval AL_NOT_FOUND none waits */
al_status al_channel_next(al_channel_h channel, struct al_channel_event *event);

/** Destroys a channel; refused while a completion queue or registration uses it. **Context: any.** @param channel channel
 * @param cb, context: see above @retval AL_RESOURCE_BUSY it is in use */
al_status al_destroy_channel(al_channel_h channel, al_destroyed_cb cb, void *context);

/* ----------------------------------------------------------------- domains */

/** Allocates a protection domain (IBTA 11.2.1.5). **Context: may sleep.** @param ca HCA @param context of the handle @param pd written
 * @retval AL_LIMIT_EXCEEDED ib_ca_attr.max_pd are there */
al_status al_alloc_pd(al_ca_h ca, void *context, al_pd_h *pd);

/** Deallocates a protection domain. **Context: any.** @param pd domain @param cb, context: see above @retval AL_RESOURCE_BUSY live objects are in it */
al_status al_dealloc_pd(al_pd_h pd, al_destroyed_cb cb, void *context);

/** Flags of al_xrcd_init. */
enum al_xrcd_flags {
	AL_XRCD_CREATE = 1 << 0,    /**< make the domain when the inode has none yet */
	AL_XRCD_EXCLUSIVE = 1 << 1, /**< with it: refuse when the inode has one */
};

/** An XRC domain to open (IBTA annex A14). */
struct al_xrcd_init {
	int fd;               /**< its inode names the domain that processes share; -1: one of its own */
	uint32_t flags;       /**< enum al_xrcd_flags */
	uint64_t reserved[4]; /**< zero */
};

/* ----------------------------------------------------------------- address */

/** Makes an address handle (IBTA 11.2.2.1). **Context: any.** @param pd domain @param attr path @param ah written
 * @retval AL_INVALID_PORT no such port @retval AL_INVALID_GID_INDEX no such source GID @retval AL_LIMIT_EXCEEDED ib_ca_attr.max_ah are there */
al_status al_create_ah(al_pd_h pd, const struct ib_ah_attr *attr, al_ah_h *ah);

/**
 * The path back to the sender of a datagram that was received: for al_create_ah() or al_modify_ah() (seed 004).
 * GIDs are looked up in the table as it was when the HCA arrived or last told of an #IB_EVENT_GID_CHANGE. **Context: any.**
 *
 * @param ca   HCA
 * @param port that it was received by, from 1 (ib_wc.port_num)
 * @param wc   its completion, successful
 * @param grh  the first #IB_GRH_BYTES of its buffer; looked at only when wc has #IB_WC_GRH
 * @param attr written: by LID; with a GRH also by GID, from the GID that was addressed, or from entry 0 if that is a group's
 * @retval AL_INVALID_PORT no such port
 * @retval AL_INVALID_PARAMETER the completion is none of a successful receive, or the GRH is none
 * @retval AL_NOT_FOUND the GRH's destination is no GID of the port
 */
al_status al_init_ah_from_wc(al_ca_h ca, uint8_t port, const struct ib_wc *wc, const void *grh, struct ib_ah_attr *attr);

/** Makes an address handle of it; so a completion callback can answer a datagram. **Context: any.** @param pd domain @param wc, grh, port as in al_init_ah_from_wc() @param ah written
 * @retval AL_INVALID_PORT, AL_INVALID_PARAMETER, AL_NOT_FOUND as there @retval AL_LIMIT_EXCEEDED ib_ca_attr.max_ah are there */
al_status al_create_ah_from_wc(al_pd_h pd, const struct ib_wc *wc, const void *grh, uint8_t port, al_ah_h *ah);

/** Changes a path; requests posted before keep the old one. **Context: any.** @param ah handle @param attr path
 * @retval AL_INVALID_PORT no such port @retval AL_INVALID_GID_INDEX no such source GID */
al_status al_modify_ah(al_ah_h ah, const struct ib_ah_attr *attr);

/** The path. **Context: any.** @param ah handle @param attr written */
al_status al_query_ah(al_ah_h ah, struct ib_ah_attr *attr);

/** Destroys an address handle; requests posted before complete all the same. **Context: any.** @param ah handle @param cb, context: see above */
al_status al_destroy_ah(al_ah_h ah, al_destroyed_cb cb, void *context);

/* ------------------------------------------------------------------ memory */

/**
 * Registers memory (IBTA 11.2.8.1). Its pages are brought in and their permissions checked now. **Context: may sleep.**
 *
 * The program keeps the memory mapped until the region is gone. An adapter pins the pages; the software HCA does not. If
 * the program unmaps the memory, or shortens the file behind it, while the region is there, a request that touches the
 * memory ends an embedded program with SIGSEGV or SIGBUS; through an agent the request completes in error.
 *
 * @param pd      domain
 * @param init    memory and permissions
 * @param context of the handle
 * @param lkey    key for local requests
 * @param rkey    key for peers; 0 without any remote permission
 * @param mr      the region
 * @retval AL_INVALID_PARAMETER length 0, address range overflows, or remote write or atomic without local write
 * @retval AL_INVALID_ADDRESS not mapped, or the mapping does not permit the access
 * @retval AL_LIMIT_EXCEEDED longer than ib_ca_attr.max_mr_size, or ib_ca_attr.max_mr are there
 * @retval AL_MEMORY_OUT_OF_REACH the HCA is an agent's, which can not look into this program (it is not dumpable, or in
 *         a namespace of its own): memory must come from al_dma_alloc_coherent()
 */
al_status al_reg_mr(al_pd_h pd, const struct al_mr_init *init, void *context, uint32_t *lkey, uint32_t *rkey, al_mr_h *mr);

/** Attributes of a region. **Context: may sleep.** @param mr region @param attr written */
al_status al_query_mr(al_mr_h mr, struct ib_mr_attr *attr);

/** Deregisters a region; its memory may be reused when `cb` is called, or that of an object which the same thread destroyed
 * later on this HCA. **Context: any.** @param mr region @param cb, context: see above
 * @retval AL_RESOURCE_BUSY windows are bound to it */
al_status al_dereg_mr(al_mr_h mr, al_destroyed_cb cb, void *context);

/**
 * Memory that program and HCA share (seed 004, ib_dma_alloc_coherent): zeroed whole pages. For registering it is like any
 * other, but an agent's HCA reaches it as directly as the program does, where other memory is copied. **Context: may sleep.**
 *
 * @param ca     HCA
 * @param length bytes, at least 1
 * @param addr   the memory; it stays there, whatever becomes of the HCA, until al_dma_free_coherent()
 * @param dma    its address for the HCA
 * @retval AL_INVALID_PARAMETER   length 0, or more than there are addresses
 * @retval AL_INSUFFICIENT_MEMORY out of memory, descriptors or mappings
 */
al_status al_dma_alloc_coherent(al_ca_h ca, uint64_t length, void **addr, uint64_t *dma);

/**
 * Gives it back, once no region of it is left. **Context: may sleep.** @param ca HCA @param length as allocated
 * @param addr as allocated; NULL: nothing is done @param dma as allocated
 */
al_status al_dma_free_coherent(al_ca_h ca, uint64_t length, void *addr, uint64_t dma);

/** The pool has unmapped what was released into it. @param context of the pool */
typedef void (*al_fmr_flush_cb)(void *context);

/** A pool of fast memory regions (seed 004, ib_fmr_pool.h). */
struct al_fmr_pool_init {
	struct ib_fmr_attr fmr;   /**< of each region */
	uint32_t pool_size;       /**< regions */
	uint32_t dirty_watermark; /**< regions released and still mapped that start a flush */
	bool cache;               /**< keep released maps and give them out again for the same page list */
	uint8_t pad[7];           /**< zero */
	al_fmr_flush_cb flush_cb; /**< after each flush; may be NULL */
	uint64_t reserved[4];     /**< zero */
};

/* -------------------------------------------------------- completion queues */

/**
 * Creates a completion queue. The PD says only who owns it: queue pairs of any PD of the opening and HCA may use it
 * (SAS deviation 2). **Context: may sleep.**
 *
 * @param pd      owner
 * @param init    sizes; cqe is written back, also with #AL_LIMIT_EXCEEDED (the limit)
 * @param context for the callbacks
 * @param comp_cb notification; may be NULL for one that is only polled
 * @param event_cb asynchronous events; may be NULL
 * @param cq      the queue
 * @retval AL_INVALID_PARAMETER cqe 0, no such vector, or a callback together with a channel
 * @retval AL_LIMIT_EXCEEDED cqe is more than ib_ca_attr.max_cqe, or max_cq are there
 * @retval AL_INSUFFICIENT_RESOURCES no thread could be started
 */
al_status al_create_cq(al_pd_h pd, struct al_cq_init *init, void *context, al_comp_cb comp_cb, al_event_cb event_cb,
		       al_cq_h *cq);

/** Attributes of a completion queue. **Context: may sleep.** @param cq queue @param attr written */
al_status al_query_cq(al_cq_h cq, struct al_cq_attr *attr);

/**
 * Changes how many completions a queue has room for (IBTA 11.2.8.3, seed 004). Its completions keep their order, and its
 * arms stay; queue pairs may complete requests, and other threads poll and arm, meanwhile. If al_arm_cq_n() waits for more
 * completions than the queue has entries afterwards, the notification comes when the queue is full. A refused call changes
 * nothing. **Context: may sleep.**
 *
 * @param cq  queue
 * @param cqe in: entries wanted, at least 1; out: entries there, never fewer; with #AL_LIMIT_EXCEEDED the HCA's limit, or
 *            unchanged if an agent's limit for its client is reached
 * @retval AL_INVALID_PARAMETER *cqe is 0
 * @retval AL_LIMIT_EXCEEDED *cqe is more than ib_ca_attr.max_cqe
 * @retval AL_TOO_SMALL the queue holds more completions than *cqe
 * @retval AL_CQ_ERROR the queue has overflowed
 * @retval AL_UNSUPPORTED the HCA is without #IB_CA_CAP_CQ_RESIZE
 */
al_status al_resize_cq(al_cq_h cq, uint32_t *cqe);

/**
 * Moderates notifications (seed 004). A completion that satisfies an al_arm_cq() is told of when count completions have
 * come, itself included, or period microseconds later, whichever is first. A queue that is full or overflows tells at once;
 * so does this call, of what the values until now have held back. Until then the arm stays, and a further one is served by the
 * same notification. An arm that completions satisfy which are there already (#AL_CQ_NOTIFY_PENDING), and al_arm_cq_n(), are not
 * delayed. **Context: may sleep.**
 *
 * @param cq     queue
 * @param count  completions; 0 and 1: each is told of at once
 * @param period microseconds; 0: no limit, count alone decides
 * @retval AL_CQ_ERROR the queue has overflowed
 * @retval AL_UNSUPPORTED the HCA is without #IB_CA_CAP_CQ_MODERATION
 */
al_status al_modify_cq(al_cq_h cq, uint16_t count, uint16_t period);

/**
 * Removes completions, oldest first (seed 004). **Context: any.** Several threads may poll at once; the order between
 * them is not defined, but none is lost or seen twice. The key that a peer's send invalidated is not told (seed 001).
 *
 * @param cq    queue
 * @param num   room in wc, at least 1
 * @param wc    written: *count completions
 * @param count written: how many; 0 is success
 * @retval AL_CQ_ERROR the queue has overflowed, and its completions have been taken out: the last completion of a queue that
 *         overflows is one in error, #IB_WC_CQ_OVERFLOW_ERR, for which there is room besides its size
 */
al_status al_poll_cq(al_cq_h cq, uint32_t num, struct ib_wc *wc, uint32_t *count);

/** As al_poll_cq(), and says which key a peer's send invalidated (seed 001). **Context: any.** @param cq queue @param num room
 * @param wc written @param count written @retval AL_CQ_ERROR as al_poll_cq() */
al_status al_poll_cq_ex(al_cq_h cq, uint32_t num, struct ib_wc *wc, uint32_t *count);

/** Completions that are there, counted up to max. **Context: any.** @param cq queue @param max count no further @param count written */
al_status al_peek_cq(al_cq_h cq, uint32_t max, uint32_t *count);

/**
 * Asks for one notification (seeds 001, 004; IBTA 11.4.2.2). Before it is satisfied, a further arm leaves the wider of
 * both. **Context: any**, the queue's own callback included.
 *
 * @param cq      queue
 * @param type    #AL_ARM_ERRORS, #AL_ARM_SOLICITED or #AL_ARM_ANY
 * @param present written, may be NULL: completions were there already; with #AL_CQ_NOTIFY_NEXT poll them, no
 *                notification will tell of them
 * @retval AL_CQ_ERROR the queue has overflowed
 */
al_status al_arm_cq(al_cq_h cq, al_arm type, bool *present);

/** Asks for one notification when num completions are there, at once if they are (seed 004, ib_req_ncomp_notif).
 * Independent of al_arm_cq(); one notification may satisfy both. **Context: any.** @param cq queue @param num from 1 to the queue's entries
 * @retval AL_CQ_ERROR the queue has overflowed */
al_status al_arm_cq_n(al_cq_h cq, uint32_t num);

/** Destroys a completion queue. **Context: any.** @param cq queue @param cb, context: see above @retval AL_RESOURCE_BUSY queue pairs use it */
al_status al_destroy_cq(al_cq_h cq, al_destroyed_cb cb, void *context);

/* -------------------------------------------------------------- queue pairs */

/**
 * Creates a queue pair, in Reset. **Context: may sleep.**
 *
 * @param pd       domain
 * @param init     attributes; cap is written back, also with #AL_LIMIT_EXCEEDED (the limits)
 * @param context  for callbacks, and in its completions
 * @param event_cb asynchronous events; may be NULL
 * @param qp       the queue pair
 * @retval AL_UNSUPPORTED the HCA does not offer this type
 * @retval AL_INVALID_PARAMETER a port, RD or XRC domain for a type that has none
 * @retval AL_INVALID_PORT a special or raw queue pair without a port of the HCA
 * @retval AL_INVALID_CA a CQ is of another HCA or opening
 * @retval AL_INVALID_PD the SRQ is of another PD
 * @retval AL_LIMIT_EXCEEDED a size is more than the HCA's limit, or max_qp are there
 * @retval AL_INSUFFICIENT_RESOURCES no thread could be started
 */
al_status al_create_qp(al_pd_h pd, struct al_qp_init *init, void *context, al_event_cb event_cb, al_qp_h *qp);

/**
 * Changes attributes and state (IBTA 11.2.4.2). Transition, required and optional attributes are checked by table first;
 * a refused call changes nothing. **Context: may sleep.**
 *
 * @param qp   queue pair
 * @param attr values
 * @param mask enum ib_qp_attr_mask: which of them count
 * @retval AL_INVALID_TRANSITION not from the state that it is in, or cur_qp_state is not that state
 * @retval AL_MISSING_ATTRIBUTE the transition requires one more
 * @retval AL_INVALID_ATTRIBUTE the transition does not permit one of them
 * @retval AL_INVALID_PARAMETER a value is out of range
 * @retval AL_INVALID_PORT no such port
 * @retval AL_INVALID_PKEY_INDEX no such P_Key index
 * @retval AL_INVALID_GID_INDEX no such source GID index
 * @retval AL_LIMIT_EXCEEDED more reads and atomics than the HCA can do
 * @retval AL_INVALID_STATE SQD is still draining
 */
al_status al_modify_qp(al_qp_h qp, const struct ib_qp_attr *attr, uint32_t mask);

/** Attributes and state. **Context: may sleep.** @param qp queue pair @param attr written @param init written: as created; may be NULL */
al_status al_query_qp(al_qp_h qp, struct ib_qp_attr *attr, struct al_qp_init *init);

/** The queue pair's number, 24 bits, unique on the HCA while it lives. **Context: any.** @param qp queue pair @param qpn written */
al_status al_qp_num(al_qp_h qp, uint32_t *qpn);

/**
 * Posts send requests (SAS deviation 6; IBTA 11.4.1.1). **Context: any.** Those before the first bad one are posted, it
 * and the later ones are not.
 *
 * @param qp     queue pair
 * @param wr     chain
 * @param bad_wr written on failure: the first not posted
 * @retval AL_INVALID_STATE Reset, Init or RTR
 * @retval AL_QUEUE_FULL no room
 * @retval AL_INVALID_OPCODE not for this type, or flags that do not go with it
 * @retval AL_INVALID_SGE too many elements, more than 2^31 bytes, or more inline data than max_inline_data
 * @retval AL_INVALID_PD datagrams: the address handle is of another domain
 * @retval AL_INVALID_PORT datagrams: its path is of another port than the queue pair's
 */
al_status al_post_send(al_qp_h qp, const struct ib_send_wr *wr, const struct ib_send_wr **bad_wr);

/** Posts receive requests. **Context: any.** @param qp queue pair @param wr chain @param bad_wr written on failure: the first not posted
 * @retval AL_INVALID_STATE Reset @retval AL_QUEUE_FULL no room @retval AL_INVALID_SGE too many elements, or more than 2^31 bytes
 * @retval AL_INVALID_QP_TYPE it receives from a shared receive queue */
al_status al_post_recv(al_qp_h qp, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad_wr);

/**
 * Destroys a queue pair; its completions disappear from its CQs. Until it is gone, or something is that the same thread
 * destroyed later, it may still take messages. To stop it at once, destroy it with #AL_DESTROY_SYNC, or take it to Error
 * first: when al_modify_qp() has returned, it takes none, and its requests are flushed. **Context: any.** @param qp queue
 * pair @param cb, context: see above
 */
al_status al_destroy_qp(al_qp_h qp, al_destroyed_cb cb, void *context);

/* ---------------------------------------------------- management datagrams */

/** Which datagrams a service is for. */
struct al_mad_svc_init {
	uint8_t port_num;      /**< port, from 1 */
	uint8_t mgmt_class;    /**< ib_mad_class; the subnet management classes go by QP0, all others by QP1 */
	uint8_t class_version; /**< of the class */
	bool rmpp;             /**< the library splits and joins long datagrams */
	uint8_t oui[3];        /**< vendor classes of range 2: whose; else zero */
	uint8_t pad;           /**< zero */
	uint64_t methods[2];   /**< unsolicited datagrams wanted: bit (method % 64) of methods[method / 64]; 0: none */
	uint64_t reserved[4];  /**< zero */
};

/** A datagram to send. */
struct al_mad_send {
	const void *mad;        /**< the datagram, from its header on; with RMPP of any length */
	uint32_t length;        /**< bytes, at least 24 */
	uint32_t remote_qpn;    /**< 0 or 1, or the client's that asked */
	uint32_t remote_qkey;   /**< #IB_QKEY_WELL_KNOWN for QP1 */
	uint16_t pkey_index;    /**< index in the port's P_Key table */
	uint16_t retries;       /**< repetitions when no answer comes */
	uint32_t timeout_ms;    /**< milliseconds to wait for an answer, first time; 0: none is expected */
	uint32_t pad;           /**< zero */
	struct ib_ah_attr path; /**< path */
	uint64_t id;            /**< comes back with its end, and names it for a cancel */
	uint64_t reserved[4];   /**< zero */
};

/** What a service reports: X(name, value, text). */
#define AL_MAD_EVENT_LIST(X) \
	X(AL_MAD_RECEIVED, 1, "unsolicited datagram") \
	X(AL_MAD_SENT, 2, "sent, no answer expected") \
	X(AL_MAD_ANSWERED, 3, "answered") \
	X(AL_MAD_FAILED, 4, "not answered, not sent or cancelled")
/** What a service reports. */
typedef enum al_mad_event_type {
	AL_MAD_EVENT_LIST(IBA_ENUM_VALUE)
} al_mad_event_type;

/** A datagram that came, or the end of one that was sent. */
struct al_mad_event {
	al_mad_event_type type; /**< which */
	al_status status;       /**< of the send: #AL_TIMEOUT, #AL_CANCELLED, or why it was not sent */
	uint64_t id;            /**< al_mad_send.id; 0 for #AL_MAD_RECEIVED */
	const void *mad;        /**< what came, valid during the callback; NULL: nothing */
	uint32_t length;        /**< bytes of it */
	uint32_t src_qp;        /**< sender's queue pair */
	struct ib_ah_attr path; /**< path back to the sender */
	uint16_t pkey_index;    /**< index of its P_Key */
	uint8_t pad[6];         /**< zero */
};

/** A datagram came, or one that was sent has come to its end. @param context of the service @param event valid during the call */
typedef void (*al_mad_cb)(void *context, const struct al_mad_event *event);

/* ---------------------------------------------------------------- watching */

/** An object, as it is seen from outside. */
struct al_snap_object {
	uint64_t id;            /**< the handle's bits */
	uint64_t parent;        /**< the parent's; 0: none */
	al_object_type type;    /**< kind */
	bool dying;             /**< destroyed, but something still holds it */
	bool dead;              /**< its HCA has been removed */
	uint8_t pad[2];         /**< zero */
	int32_t pid;            /**< owner's process */
	uint32_t number;        /**< QP: its number; MR: lkey; CQ: entries; else 0 */
	uint32_t users;         /**< live children and users */
	uint32_t state;         /**< QP: ib_qp_state */
	uint32_t uid;           /**< owner's user */
	uint32_t pad2;          /**< zero */
	uint64_t ca_guid;       /**< HCA; 0: of none */
	uint64_t age_ns;        /**< since its creation */
	char comm[16];          /**< owner's command */
};

/** How many of a kind there are on an HCA. */
struct al_snap_count {
	al_object_type type; /**< kind */
	uint32_t now;        /**< live */
	uint32_t high;       /**< most at once, so far */
	uint32_t max;        /**< the HCA's limit; 0: none */
};

/** An HCA with its module. */
struct al_snap_ca {
	uint64_t guid;            /**< node GUID */
	char module[32];          /**< module's name */
	char module_version[32];  /**< module's version */
	struct ib_ca_attr attr;   /**< attributes */
	uint32_t opens;           /**< handles open on it */
	uint32_t num_counts;      /**< elements of counts */
	struct al_snap_count counts[AL_OBJ_TYPES]; /**< by kind */
};

/** A PCI function that a module's table matches, or that is an InfiniBand controller. */
struct al_snap_pci {
	char name[16];          /**< "0000:3b:00.0" */
	uint16_t vendor_id;     /**< vendor */
	uint16_t device_id;     /**< device */
	uint16_t class_code;    /**< class and subclass */
	uint16_t pad;           /**< zero */
	char module[32];        /**< module chosen; empty: none */
	char text[96];          /**< the adapter's name, or why no module serves it */
};

/** A module. */
struct al_snap_module {
	char name[32];     /**< name */
	char version[32];  /**< its version */
	char license[40];  /**< its licence */
	char path[256];    /**< file */
	uint32_t users;    /**< opens of its HCAs */
	al_status status;  /**< #AL_SUCCESS, or why it was not loaded */
	char text[256];    /**< the reason, a sentence */
};

/** What an agent (ald) counts and limits, of each client and of each user: X(name, value, text). */
#define AL_RESOURCE_LIST(X) \
	X(AL_RESOURCE_CLIENTS, 0, "clients") \
	X(AL_RESOURCE_CONNECTIONS, 1, "connections") \
	X(AL_RESOURCE_CAS, 2, "cas") \
	X(AL_RESOURCE_PDS, 3, "pds") \
	X(AL_RESOURCE_MRS, 4, "mrs") \
	X(AL_RESOURCE_CQS, 5, "cqs") \
	X(AL_RESOURCE_QPS, 6, "qps") \
	X(AL_RESOURCE_BYTES, 7, "bytes") \
	X(AL_RESOURCE_RINGS, 8, "rings")
/**
 * What an agent counts and limits. Connections are those for commands: as many requests are on their way at once. Bytes
 * are registered ones, rings are bytes of queues; the rest are numbers of things.
 */
typedef enum al_resource {
	AL_RESOURCE_LIST(IBA_ENUM_VALUE)
	AL_RESOURCES /**< one more than the last */
} al_resource;
/** The text of a resource, as in ibal.conf(5); "unknown" for none. **Context: any.** */
const char *al_resource_str(al_resource v);

/** How much somebody has of a resource. */
struct al_snap_use {
	uint64_t now;   /**< at the moment */
	uint64_t high;  /**< most at once, so far */
	uint64_t limit; /**< what is beyond is refused; UINT64_MAX: none */
};

/** A client of an agent, or a user: all his clients together. */
struct al_snap_client {
	int32_t pid;      /**< process; 0: a user */
	uint32_t uid;     /**< user */
	char comm[16];    /**< command; empty: a user */
	uint64_t refused; /**< requests beyond a limit, so far */
	struct al_snap_use use[AL_RESOURCES]; /**< by al_resource */
};

/** Everything at one moment. Arrays are parts of the same allocation. */
struct al_snapshot {
	size_t num_cas;                    /**< elements of cas */
	const struct al_snap_ca *cas;      /**< HCAs */
	size_t num_objects;                /**< elements of objects */
	const struct al_snap_object *objects; /**< objects of the whole process */
	size_t num_pci;                    /**< elements of pci */
	const struct al_snap_pci *pci;     /**< PCI functions */
	size_t num_modules;                /**< elements of modules */
	const struct al_snap_module *modules; /**< modules, also those that failed */
	const char *pci_error;             /**< why the bus could not be read, or NULL */
	size_t num_clients;                /**< elements of clients; 0: these HCAs are the process's own */
	const struct al_snap_client *clients; /**< the agent's clients; of another user's only with the right *manage* */
	size_t num_users;                  /**< elements of users */
	const struct al_snap_client *users; /**< the agent's users, since it has started; of others as above */
};

/** Looks at everything: what al_query shows. **Context: may sleep.** @param al opening @param snap written; free with al_free_snapshot() */
al_status al_snapshot(al_h al, struct al_snapshot **snap);

/** Frees a snapshot. **Context: any.** @param snap snapshot, or NULL */
void al_free_snapshot(struct al_snapshot *snap);

#ifdef __cplusplus
}
#endif

#endif /* IBA_IB_AL_H */
