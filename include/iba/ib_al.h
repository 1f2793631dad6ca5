/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/**
 * @file ib_al.h
 * @brief The Access Layer API: the interface for channel drivers.
 *
 * **Context.** The documentation of each function names the contexts in which the function may be
 * called.
 * - *Context: any*: any thread and any callback, whatever locks of its own the caller holds; not a
 * signal handler.
 * - *Context: may sleep*: any thread, and callbacks of al_reg_pnp(). In every other callback the
 * call is refused with #AL_INVALID_CONTEXT.
 *
 * **Rules that hold for all functions** are in pages of their own, which are manual pages of
 * section 7, too (doc/reference in the source tree):
 * - ibal_objects(7): handles, what depends on what, and when a destroyed object's memory and
 * context may be reused;
 * - ibal_callbacks(7): who calls callbacks, and what a callback may do;
 * - ibal_completions(7): polling, arming, and how a program misses no completion;
 * - ibal_connecting(7): how two programs find each other and connect (ib_connect.h);
 * - ibal_memory(7): which memory an HCA reaches, and by which keys;
 * - ibal_roles(7): HCAs of the process and HCAs of an agent;
 * - ibal_errors(7): the statuses that every function can return, which the comments of the
 * functions do not repeat;
 * - ibal_qp_states(7): the attributes that each change of a queue pair's state requires.
 *
 * **Sources.** "seed 000" is the guide to the locking of the InfiniBand midlayer; "seed 001" are
 * the NDKPI requirements for completion handling; "seed 004" is the chapter on InfiniBand in Linux
 * (verbs); "SAS" is the Software Architecture Specification of the HCA driver (seed 003); "IBTA" is
 * the InfiniBand Architecture Specification, Volume 1, with its clause. doc/requirements.md lists
 * the requirements of each.
 */
#ifndef IBA_IB_AL_H
#define IBA_IB_AL_H

#include <iba/ib_verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @defgroup ibal_callback_types Types of callbacks and events
 * The functions that a program gives to the library, and the events of which they tell. The rules
 * for all callbacks are in ibal_callbacks(7).
 * @{
 */

/**
 * A destroyed object has ended: the library no longer uses its context or memory. @param context given with the destroy
 * call
 */
typedef void (*al_destroyed_cb)(void *context);

/** In place of an al_destroyed_cb: the destroy call returns when the object has ended. */
#define AL_DESTROY_SYNC ((al_destroyed_cb)(uintptr_t)1)

/**
 * In place of an al_destroyed_cb: the context of the destroy call is a channel (::al_channel_h),
 * and the channel delivers #AL_CHANNEL_DESTROYED when the object has ended. The channel may be of
 * any opening. The destroy call is refused with #AL_INVALID_HANDLE if the context is no channel,
 * and with #AL_INVALID_PARAMETER if the channel is the object itself or ends with it. A channel
 * that is destroyed before the object has ended reports nothing of the object.
 */
#define AL_DESTROY_CHANNEL ((al_destroyed_cb)(uintptr_t)2)

/** The arm of a completion queue is satisfied. @param context of the completion queue */
typedef void (*al_comp_cb)(void *context);

/** An asynchronous event. @param context of the object, or of the handler @param event valid during the call */
typedef void (*al_event_cb)(void *context, const struct al_event *event);

/** Types of PnP events: X(name, value, text). */
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
/** Type of a PnP event, which al_reg_pnp() asks for. */
typedef enum al_pnp_type {
	AL_PNP_LIST(IBA_ENUM_VALUE)
} al_pnp_type;

/** Types of channel events: X(name, value, text). */
#define AL_CHANNEL_EVENT_LIST(X)                     \
	X(AL_CHANNEL_COMPLETION, 1, "completion")    \
	X(AL_CHANNEL_ASYNC, 2, "asynchronous event") \
	X(AL_CHANNEL_PNP, 3, "PnP event")            \
	X(AL_CHANNEL_MAD, 4, "management datagrams") \
	X(AL_CHANNEL_DESTROYED, 5, "object destroyed")
/** Type of an event that al_channel_next() delivers. */
typedef enum al_channel_event_type {
	AL_CHANNEL_EVENT_LIST(IBA_ENUM_VALUE)
} al_channel_event_type;

/** Types of MAD events: X(name, value, text). */
#define AL_MAD_EVENT_LIST(X) \
	X(AL_MAD_RECEIVED, 1, "unsolicited datagram") \
	X(AL_MAD_SENT, 2, "sent, no answer expected") \
	X(AL_MAD_ANSWERED, 3, "answered") \
	X(AL_MAD_FAILED, 4, "not answered, not sent or cancelled")
/** Type of a MAD event. */
typedef enum al_mad_event_type {
	AL_MAD_EVENT_LIST(IBA_ENUM_VALUE)
} al_mad_event_type;

/** A PnP event: arrival or removal of an HCA, or a change of a port. */
struct al_pnp_event {
	al_pnp_type type;  /**< type of the event */
	uint8_t port_num;  /**< port events: port, from 1; else 0 */
	uint8_t pad[3];    /**< zero */
	uint64_t ca_guid;  /**< node GUID; 0 for #AL_PNP_REPLAY_COMPLETE */
	void *ca_context;  /**< as set by al_set_client_context() for this HCA, or NULL */
};

/**
 * A PnP callback, which may sleep (seed 000). For #AL_PNP_CA_ADD a status other than #AL_SUCCESS
 * refuses the HCA: the registration gets no further events of the HCA. Before it returns from
 * #AL_PNP_CA_REMOVE, the client must destroy all its objects on the HCA. For other events the
 * status is ignored.
 */
typedef al_status (*al_pnp_cb)(void *context, const struct al_pnp_event *event);

/**
 * A log function: gets the messages of the library and of modules, of every level. The function may call al_set_log(),
 * and no other function of the library, since the library may hold locks while it logs.
 *
 * @param context given to al_set_log()
 * @param level   importance
 * @param text    one sentence
 */
typedef void (*al_log_cb)(void *context, ib_log_level level, const char *text);

/** @} */

/**
 * @defgroup ibal_library The library
 * A program opens the library before everything else with al_open(), and every other object is
 * made, directly or indirectly, with the opening that al_open() returns. Each function returns a
 * status (enum al_status); al_status_str() has its text. al_set_log() takes the messages of the
 * library, which name the reasons of failures.
 * @{
 */

/** How to open the library. NULL or all zero: as the environment and the configuration file say. */
struct al_open_attr {
	const char *agent;  /**< replaces `IBAL_AGENT`: "off" (this process has HCAs of its own), a
			     * socket's path, or  "auto"; NULL: the environment counts (ibal(7)) */
	const char *config; /**< configuration file in place of `IBAL_CONF` or the system's; "": no
			     * file. A process has one configuration, which its first opening reads:
			     * a later opening gives the path of the first opening, or NULL */
	ib_log_level left_behind; /**< importance of the messages that name objects which al_close() or
				   * al_close_ca() destroys; 0: #IB_LOG_WARNING */
	uint32_t pad;             /**< zero */
	uint64_t reserved[3];     /**< zero */
};

/**
 * Opens the library. The first opening of a process reads the configuration, loads the modules and
 * finds the HCAs. A module that fails is named in the log; the other modules work without it. If an
 * agent is to be used and can not be reached, the status is the reason, and the log names the way
 * out. The call waits for an agent that does not answer, logs the wait every 10 seconds, and gives
 * up after the seconds of `IBAL_AGENT_WAIT` (`agent_wait` of the configuration; by default 60).
 * **Context: may sleep.**
 *
 * @param attr attributes, or NULL
 * @param al   written: the opening, parent of all objects made with it
 * @retval AL_BAD_CONFIG the configuration has an unknown group or key, or a wrong value, or
 * `agent_user` names a user that the system does not have, or `IBAL_AGENT_WAIT` is no number of
 * seconds; the log names the place
 * @retval AL_INVALID_STATE config names another file than an earlier opening of the process has
 * read
 * @retval AL_INVALID_PARAMETER al is NULL; left_behind is no level; or the path of the agent's socket is
 * empty or too long, or the file of that path is no stream socket of this kind
 * @retval AL_NOT_FOUND no socket has that path: no ald runs there
 * @retval AL_AGENT_REFUSED the socket exists and no process listens: its ald was killed
 * @retval AL_PERMISSION this user may not connect to the socket, or not search a directory of the
 * path
 * @retval AL_AGENT_UNTRUSTED the agent runs neither as root nor as this user nor as the user that
 * `agent_user` names
 * @retval AL_AGENT_PROTOCOL the agent has another version of the protocol, or the listener is no
 * agent
 * @retval AL_AGENT_LOST the agent closed the connection, or ended, during the opening: try again
 * @retval AL_TIMEOUT the agent does not answer: it is stopped or busy, or another program listens
 * there
 * @retval AL_LIMIT_EXCEEDED the agent has its maximum number of clients, in all or of this user
 * @retval AL_INSUFFICIENT_RESOURCES this process may have no further descriptor or thread
 * @retval AL_INSUFFICIENT_MEMORY out of memory, in this process or in the agent
 * @retval AL_IO_ERROR another system call has failed, in this process or in the agent; the log has
 * the reason
 *
 * @par Example
 * @snippet reference/open.c open
 */
al_status al_open(const struct al_open_attr *attr, al_h *al);

/**
 * Closes an opening. Remaining objects of the opening are destroyed, children first, and named in
 * the log. Modules stay loaded. **Context: any** (with #AL_DESTROY_SYNC: may sleep).
 *
 * @param al      opening; the handle is invalid when the call returns
 * @param cb      called once, when every object of the opening has ended; NULL: the library does
 * not report the end; #AL_DESTROY_SYNC: the call waits for the end (may sleep)
 * @param context passed to cb
 *
 * @par Example
 * @snippet reference/open.c open
 */
al_status al_close(al_h al, al_destroyed_cb cb, void *context);

/**
 * The version of the library that runs, such as "0.1.0". **Context: any.**
 *
 * @return the version, a string that stays valid
 */
const char *al_version(void);

/**
 * Tells why the calling thread's last refused call was refused: one sentence that names the value that is wrong, and
 * the values that are right, such as "Reset to Init of RC queue pairs requires attributes that the mask lacks: port_num". A
 * refused call is a call that returned another status than #AL_SUCCESS; but that there is no event, #AL_NOT_FOUND of
 * al_channel_next() and al_mad_next(), is no refusal. A call that succeeds leaves the sentence as it is. With `IBAL_LOG=debug` the log has a line per refused call. **Context: any.**
 *
 * @return a sentence without a full stop, valid until the thread's next call of the library; "" before the thread's
 *         first refused call
 *
 * @par Example
 * @snippet reference/must.h must
 */
const char *al_reason(void);

/**
 * Sets the log function of the process. Without a log function, errors and warnings go to standard error (`IBAL_LOG`
 * changes the level). **Context: any.**
 *
 * @param cb      log function, called from any thread, also concurrently; NULL: standard error again
 * @param context for cb
 */
void al_set_log(al_log_cb cb, void *context);

/** @name Texts
 * The text of a value, such as "success"; "unknown" for a value that is not in the enum. **Context: any.** @{ */
const char *al_status_str(al_status v);                /**< text of a status */
const char *al_status_name(al_status v);               /**< name of a status, such as "AL_SUCCESS" */
const char *al_object_type_str(al_object_type v);      /**< kind of object */
const char *al_arm_str(al_arm v);                      /**< arm type */
const char *al_cq_notify_str(al_cq_notify v);          /**< notification mode */
const char *al_pnp_type_str(al_pnp_type v);            /**< PnP event */
const char *al_channel_event_type_str(al_channel_event_type v); /**< channel event */
const char *al_mad_event_type_str(al_mad_event_type v); /**< MAD event */
const char *al_event_type_str(ib_event_type v);        /**< asynchronous event */
const char *al_link_layer_str(ib_link_layer v);        /**< link layer */
const char *al_gid_type_str(ib_gid_type v);            /**< type of a GID */
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

/** @} */

/**
 * @defgroup ibal_modules Modules
 * An HCA module is a shared object that drives the HCAs of one vendor, or the software HCA.
 * al_open() loads the modules of the module path, so a program needs these functions only to change
 * what is loaded. Through an agent (ald(8)) the agent's administrator does that.
 * @{
 */

/**
 * Loads an HCA module, whose HCAs then arrive as PnP events. **Context: may sleep**, but not in a PnP callback.
 *
 * @param al   opening
 * @param path path of the module's file
 * @retval AL_NOT_FOUND the file does not exist
 * @retval AL_MODULE_DAMAGED the file is no complete shared object for this machine, or can not be linked
 * @retval AL_MODULE_NO_SYMBOL the file exports no `ci_module`
 * @retval AL_MODULE_ABI the module was built for another version of the Channel Interface
 * @retval AL_DUPLICATE a module of that name is loaded
 * @retval AL_PERMISSION a set-uid program loads no module by path; or this user may not read the file
 * @retval AL_IO_ERROR the file can not be opened or read
 * @retval AL_UNSUPPORTED the opening uses an agent, whose administrator loads its modules
 * @return else the status of the module's init or scan; #AL_MODULE_FAILED if that number is no status
 */
al_status al_load_module(al_h al, const char *path);

/** Flags of al_unload_module(). */
enum al_unload_flags {
	AL_UNLOAD_REMOVE = 1 << 0, /**< if HCAs of the module are open, remove them under their users */
};

/**
 * Unloads an HCA module. **Context: may sleep**, but not in a PnP callback. Removing HCAs waits for PnP clients
 * (al_reg_pnp()), so a thread that reads a PnP registration's channel must not make this call.
 *
 * @param al    opening
 * @param name  module
 * @param flags enum al_unload_flags
 * @retval AL_NOT_FOUND no module of that name is loaded
 * @retval AL_MODULE_IN_USE HCAs of the module are open; the log names the processes
 * @retval AL_UNSUPPORTED the opening uses an agent, whose administrator unloads its modules
 */
al_status al_unload_module(al_h al, const char *name, uint32_t flags);

/**
 * Scans the PCI bus again: new functions are probed, functions that have disappeared are removed.
 * **Context: may sleep**, but not in a PnP callback. A removal waits as in al_unload_module().
 *
 * @param al opening
 * @retval AL_PCI_UNREADABLE the bus or its recorded dump can not be read; nothing was changed
 * @retval AL_UNSUPPORTED the opening uses an agent, which scans its own bus
 */
al_status al_rescan(al_h al);

/** @} */

/**
 * @defgroup ibal_hcas HCAs and ports
 * A host channel adapter (HCA) is known by its node GUID. al_get_ca_guids() lists the HCAs, and
 * al_open_ca() opens one. al_reg_pnp() tells of HCAs that arrive and leave. Ports of an HCA are
 * numbered from 1.
 * @{
 */

/**
 * Lists the node GUIDs of the HCAs that the opening sees; a switch is not listed. **Context: may
 * sleep.**
 *
 * @param al    opening
 * @param guids room for *count GUIDs; may be NULL when *count is 0
 * @param count in: room; out: number of HCAs, also with #AL_BUFFER_TOO_SMALL; not NULL
 * @retval AL_BUFFER_TOO_SMALL there are more HCAs than room; guids was not written
 *
 * @par Example
 * @snippet reference/open.c open
 */
al_status al_get_ca_guids(al_h al, uint64_t *guids, size_t *count);

/**
 * Opens an HCA, or a switch (ib_ca_attr.node_type), by its GUID, and keeps its
 * module loaded. **Context: may sleep.**
 *
 * @param al      opening
 * @param guid    node GUID
 * @param context the program's own pointer, which the library does not use
 * @param ca      written: handle of the HCA
 * @retval AL_NOT_FOUND no HCA or switch has that GUID, or its removal has begun
 * @retval AL_LIMIT_EXCEEDED the opening uses an agent, which lets this program open no further
 * switch
 *
 * @par Example
 * @snippet reference/open.c open
 */
al_status al_open_ca(al_h al, uint64_t guid, void *context, al_ca_h *ca);

/**
 * Closes an HCA handle. Remaining objects of the handle are destroyed, queue pairs first, and named
 * in the log. Other handles of the HCA, also of this process, stay. **Context: any** (with
 * #AL_DESTROY_SYNC: may sleep).
 *
 * @param ca      handle of the HCA, invalid when the call returns
 * @param cb      called once, when every object of the handle has ended; NULL: the library does not
 * report the end; #AL_DESTROY_SYNC: the call waits for the end (may sleep)
 * @param context passed to cb
 * @retval AL_RESOURCE_BUSY an object of another handle of this HCA uses an object of this handle
 * (for example, a queue pair uses a completion queue): nothing is closed. Destroy the object that
 * uses the other, or close its handle, first
 */
al_status al_close_ca(al_ca_h ca, al_destroyed_cb cb, void *context);

/**
 * Queries the attributes of an HCA: its identity, abilities and limits. Only al_modify_ca() changes
 * them.
 * **Context: may sleep.**
 *
 * @param ca   HCA
 * @param attr written: attributes
 *
 * @par Example
 * @snippet reference/open.c open
 */
al_status al_query_ca(al_ca_h ca, struct ib_ca_attr *attr);

/**
 * Queries the current attributes and counters of a port. **Context: may sleep.**
 *
 * @param ca   HCA
 * @param port port, from 1 to ib_ca_attr.num_ports; of a switch also 0
 * @param attr written: attributes and counters
 * @retval AL_INVALID_PORT the HCA has no such port
 */
al_status al_query_port(al_ca_h ca, uint8_t port, struct ib_port_attr *attr);

/**
 * Queries an entry of a port's table of global identifiers (GIDs). Entry 0 of an InfiniBand port is
 * always the port's subnet prefix and port GUID. The entries of an Ethernet port are the IP
 * addresses of the port, an IPv4 address behind ten bytes of 0 and two of 0xff (IBTA A17.4.1.1).
 * **Context: may sleep.**
 *
 * @param ca    HCA
 * @param port  port, from 1 to ib_ca_attr.num_ports; of a switch also 0
 * @param index entry, from 0 to ib_port_attr.gid_tbl_len - 1
 * @param gid   written: the GID; all zero: the entry is empty
 * @retval AL_INVALID_PORT the HCA has no such port
 * @retval AL_INVALID_GID_INDEX the port's table has no such entry
 */
al_status al_query_gid(al_ca_h ca, uint8_t port, uint32_t index, ib_gid *gid);

/**
 * Queries the type of an entry of a port's GID table (IBTA A17.4): the entries of an InfiniBand
 * port are #IB_GID_TYPE_IB, those of an Ethernet port #IB_GID_TYPE_ROCE_V2. An empty entry has the
 * type that it would have. **Context: may sleep.**
 *
 * @param ca    HCA
 * @param port  port, from 1 to ib_ca_attr.num_ports; of a switch also 0
 * @param index entry, from 0 to ib_port_attr.gid_tbl_len - 1
 * @param type  written: type of the entry
 * @retval AL_INVALID_PORT the HCA has no such port
 * @retval AL_INVALID_GID_INDEX the port's table has no such entry
 */
al_status al_query_gid_type(al_ca_h ca, uint8_t port, uint32_t index, ib_gid_type *type);

/**
 * Queries an entry of a port's table of partition keys (P_Keys). **Context: may sleep.**
 *
 * @param ca    HCA
 * @param port  port, from 1 to ib_ca_attr.num_ports; of a switch also 0
 * @param index entry, from 0 to ib_port_attr.pkey_tbl_len - 1
 * @param pkey  written: the P_Key, with #IB_PKEY_FULL_MEMBER for a full member; 0: the entry is
 * empty
 * @retval AL_INVALID_PORT the HCA has no such port
 * @retval AL_INVALID_PKEY_INDEX the port's table has no such entry
 */
al_status al_query_pkey(al_ca_h ca, uint8_t port, uint32_t index, uint16_t *pkey);

/**
 * Finds a GID in the tables of all ports. **Context: may sleep.**
 *
 * @param ca    HCA
 * @param gid   GID to find
 * @param port  written: port that has the GID
 * @param index written: entry of that port's table
 * @retval AL_NOT_FOUND no port has the GID
 */
al_status al_find_gid(al_ca_h ca, const ib_gid *gid, uint8_t *port, uint32_t *index);

/**
 * Finds a P_Key in a port's table. The membership bit (#IB_PKEY_FULL_MEMBER) of pkey does not
 * count; an entry as a full member is preferred to one as a limited member. **Context: may sleep.**
 *
 * @param ca    HCA
 * @param port  port, from 1 to ib_ca_attr.num_ports; of a switch also 0
 * @param pkey  P_Key to find
 * @param index written: entry of the table, for ib_qp_attr.pkey_index
 * @retval AL_INVALID_PORT the HCA has no such port
 * @retval AL_NOT_FOUND the table lacks the P_Key
 */
al_status al_find_pkey(al_ca_h ca, uint8_t port, uint16_t pkey, uint32_t *index);

/**
 * Queries the link layer of a port. **Context: may sleep.**
 *
 * @param ca    HCA
 * @param port  port, from 1 to ib_ca_attr.num_ports; of a switch also 0
 * @param layer written: link layer
 * @retval AL_INVALID_PORT the HCA has no such port
 */
al_status al_port_link_layer(al_ca_h ca, uint8_t port, ib_link_layer *layer);

/**
 * Changes attributes of an HCA. **Context: may sleep.**
 *
 * @param ca   HCA
 * @param mask enum ib_ca_attr_mask: the members of attr that count; others are not read
 * @param attr new values
 */
al_status al_modify_ca(al_ca_h ca, uint32_t mask, const struct ib_ca_attr *attr);

/**
 * Changes attributes of a port. **Context: may sleep.** The capability #IB_PORT_CAP_SM belongs to
 * the handle that sets it: the port has the capability until each handle that has set it has
 * cleared it or is closed. A port of the software HCA that is Armed or Active reports a change of
 * its capabilities to the subnet manager by trap 144.
 *
 * @param ca   HCA
 * @param port port, from 1 to ib_ca_attr.num_ports; of a switch also 0
 * @param mask enum ib_port_attr_mask: the changes to make
 * @param attr values for the changes of mask
 * @retval AL_INVALID_PORT the HCA has no such port
 */
al_status al_modify_port(al_ca_h ca, uint8_t port, uint32_t mask, const struct ib_port_modify *attr);

/**
 * Makes a call to the HCA's module whose meaning the module's vendor defines. **Context: may
 * sleep.**
 *
 * @param ca      HCA
 * @param code    code of the call, as the vendor numbers them
 * @param in      input; may be NULL when in_len is 0
 * @param in_len  bytes of in
 * @param out     room for the output; may be NULL when *out_len is 0
 * @param out_len in: bytes of room in out; out: bytes written
 */
al_status al_vendor_call(al_ca_h ca, uint32_t code, const void *in, uint32_t in_len, void *out, uint32_t *out_len);

/** @} */

/**
 * @defgroup ibal_events Events, arrival and removal
 * A program hears of HCAs that arrive and leave from al_reg_pnp() (plug and play), and of
 * asynchronous events of an HCA, its ports and objects from al_reg_event_handler(). An object's own
 * asynchronous events reach the callback that was given at the object's creation. Each registration
 * has a callback, or a channel for an event loop (ibal_channels(7)).
 * @{
 */

/** Attributes of a PnP registration. */
struct al_pnp_attr {
	al_channel_h channel; /**< channel for the events in place of a callback; a channel's reader can not refuse an
			       * HCA */
	bool ports;           /**< true: deliver port events, too */
	uint8_t pad[7];       /**< zero */
	uint64_t reserved[4]; /**< zero */
};

/**
 * Registers for arrival and removal of HCAs, and for port events. The present HCAs are replayed
 * first: for each HCA its add, and then the events that lead to its ports' states; then
 * #AL_PNP_REPLAY_COMPLETE. The call returns after the replay; in a PnP callback or with a channel
 * the replay is only queued. **Context: may sleep.**
 *
 * **Port events.** Event handlers and PnP registrations, by callback and by channel, in the process
 * that has the HCA and in an agent's clients, are told of a port by one rule. The states are steps:
 * Down, Initialize, Armed, Active. A slow client is told the shortest sequence of steps from the
 * state that it was told last to the state of the port: each state told is Down, or the one above
 * the state told before. A fall to Down, or to any lower state, is always told, as Down, unless
 * Down is the state told last; falls that are not told yet are told as one. A change (LID, P_Key
 * table, GID table, subnet manager, client reregister) is told after the steps that came before the
 * change, and before the step that came after it; changes of one kind merge if no step is told
 * between them, and changes between the same two steps come in the order of ib_event_type. So a
 * client that reads the port's attributes at each change knows what was set before a step when it
 * is told of the step. Events of several ports are in no order. The rule speaks of events only:
 * al_query_port() may answer a state whose steps are not told yet. If the port falls from that
 * state before the steps are told, a client that was told Down last is told neither the steps nor
 * the fall.
 *
 * **Removal.** Every operation of an HCA works until each registration that knows the HCA has
 * completed the removal. A callback completes the removal when it returns from #AL_PNP_CA_REMOVE. A
 * channel's reader completes the removal when it has read #AL_PNP_CA_REMOVE *and acknowledged it*:
 * by the next al_channel_next() on that channel, by any thread and with any result, or by the end
 * of the registration (al_dereg_pnp(), al_close()). The removal waits without limit, also if
 * #AL_PNP_CA_REMOVE is never read; the log names the client of a long wait. The removal does not
 * wait for a registration whose reader has not read #AL_PNP_CA_ADD of the HCA. An HCA that is being
 * removed can not be opened. Objects that are left on the HCA when the last registration has
 * completed the removal are destroyed, and calls with their handles return #AL_CA_REMOVED. If the
 * hardware is absent already, or the HCA is an agent's, the HCA's operations fail from the start of
 * the removal (#AL_CA_REMOVED, #AL_AGENT_LOST), and destroys still work. An agent waits for no
 * client: only the removal in this process waits, and delays later PnP events of that agent.
 *
 * @param al      opening
 * @param attr    attributes; NULL: arrival and removal of HCAs only, by callback
 * @param context for cb
 * @param cb      called on the PnP thread, one event at a time, in order; NULL with a channel
 * @param pnp     written before the first callback: the registration
 * @retval AL_INVALID_PARAMETER both or none of callback and channel
 * @retval AL_INVALID_CA the channel belongs to another opening
 *
 * @par Example
 * @snippet reference/pnp.c pnp
 */
al_status al_reg_pnp(al_h al, const struct al_pnp_attr *attr, void *context, al_pnp_cb cb, al_pnp_h *pnp);

/**
 * Ends a registration. The callback gets #AL_PNP_CA_REMOVE for each HCA that was added and not
 * refused, and then `cb` is called. A registration with a channel gets no further events, and
 * acknowledges a removal that its reader has read. **Context: any**; #AL_INVALID_CONTEXT with
 * #AL_DESTROY_SYNC in a callback of this registration.
 *
 * @param pnp     registration, invalid when the call returns
 * @param cb      called once, when the registration has ended; NULL: the library does not report
 * the end; #AL_DESTROY_SYNC: the call waits for the end (may sleep)
 * @param context passed to cb
 */
al_status al_dereg_pnp(al_pnp_h pnp, al_destroyed_cb cb, void *context);

/**
 * Stores a pointer for a registration and an HCA (seed 004, ib_set_client_data). The library keeps
 * the pointer from #AL_PNP_CA_ADD of the HCA until its removal is complete for the registration. The
 * pointer comes with every further event of the HCA (al_pnp_event.ca_context). **Context: any.**
 *
 * @param pnp        registration
 * @param ca_guid    node GUID of the HCA
 * @param ca_context pointer, which the library does not use
 * @retval AL_NOT_FOUND the registration has no HCA of that GUID
 */
al_status al_set_client_context(al_pnp_h pnp, uint64_t ca_guid, void *ca_context);

/**
 * Reads the pointer that al_set_client_context() has stored. **Context: any.**
 *
 * @param pnp        registration
 * @param ca_guid    node GUID of the HCA
 * @param ca_context written: the pointer; NULL: none was stored
 * @retval AL_NOT_FOUND the registration has no HCA of that GUID
 */
al_status al_get_client_context(al_pnp_h pnp, uint64_t ca_guid, void **ca_context);

/**
 * Registers for every asynchronous event of an HCA: events of the ports, of the HCA itself, and of
 * objects made with this HCA handle (after the object's own callback). Events of the ports come by
 * the rule that al_reg_pnp() describes; the steps and changes that were told before the
 * registration are not told again. **Context: may sleep.**
 *
 * @param ca      HCA
 * @param channel channel for the events in place of a callback, or NULL
 * @param context for cb
 * @param cb      atomic callback; NULL with a channel
 * @param handler written: the registration
 * @retval AL_INVALID_PARAMETER both or none of callback and channel
 * @retval AL_INVALID_CA the channel belongs to another opening
 * @retval AL_DUPLICATE the HCA handle already has an event handler with a channel; several with
 * callbacks may be registered
 * @retval AL_INSUFFICIENT_RESOURCES no thread could be started
 */
al_status al_reg_event_handler(al_ca_h ca, al_channel_h channel, void *context, al_event_cb cb,
			       al_event_handler_h *handler);

/**
 * Ends a registration for asynchronous events. **Context: any.**
 *
 * @param handler registration, invalid when the call returns
 * @param cb      called once, when the registration has ended; NULL: the library does not report
 * the end; #AL_DESTROY_SYNC: the call waits for the end (may sleep)
 * @param context passed to cb
 */
al_status al_dereg_event_handler(al_event_handler_h handler, al_destroyed_cb cb, void *context);

/** @} */

/**
 * @defgroup ibal_channels Channels
 * A channel is a queue of events with a descriptor for poll(2) and epoll(7), so that a program with
 * an event loop needs no callbacks. A completion queue (al_cq_init.channel), a queue pair
 * (al_qp_init.channel), a registration (al_reg_pnp(), al_reg_event_handler()) and a MAD service
 * (al_mad_svc_init.channel) take a channel in place of a callback, and so does each call that
 * destroys an object (#AL_DESTROY_CHANNEL). One channel may serve many objects.
 * @{
 */
/**
 * An event from a channel. The type is #AL_CHANNEL_COMPLETION (the arm of a completion queue is
 * satisfied), #AL_CHANNEL_ASYNC, #AL_CHANNEL_PNP, #AL_CHANNEL_MAD (a MAD service has events for
 * al_mad_next()) or #AL_CHANNEL_DESTROYED (an object that was destroyed with #AL_DESTROY_CHANNEL
 * has ended: the library no longer uses its context or memory). The event holds no reference on its
 * object. The ends of objects come children first, as their callbacks would.
 */
struct al_channel_event {
	al_channel_event_type type; /**< type, which names the valid member below */
	al_object_type object; /**< #AL_CHANNEL_DESTROYED: kind of the object that has ended; else
				  #AL_OBJ_NONE */
	void *context; /**< context that the completion queue, object, handler, registration or MAD
			* service was given at its creation */
	struct al_event async;      /**< #AL_CHANNEL_ASYNC */
	struct al_pnp_event pnp;    /**< #AL_CHANNEL_PNP */
};

/**
 * Creates a channel, for event loops. **Context: may sleep.**
 *
 * @param al      opening
 * @param context the program's own pointer, which a debugger finds with the handle; the channel's
 * events carry the contexts of their objects instead
 * @param channel written: the channel
 * @retval AL_INSUFFICIENT_RESOURCES this process may have no further descriptor
 *
 * @par Example
 * @snippet reference/channel.c channel
 */
al_status al_create_channel(al_h al, void *context, al_channel_h *channel);

/**
 * Returns the channel's descriptor, for poll(2), epoll(7) and the like. The descriptor is readable
 * while events are queued, or while a removal that was read is not acknowledged. The program does
 * not read, write or close the descriptor: the library closes it when the channel ends. The close
 * wakes no thread that sleeps on the descriptor, so wake such a thread first, by a descriptor of
 * your own. **Context: any.**
 *
 * @param channel channel
 * @param fd      written: the descriptor, which stays the library's
 *
 * @par Example
 * @snippet reference/channel.c channel
 */
al_status al_channel_fd(al_channel_h channel, int *fd);

/**
 * Takes the oldest event from a channel. Each call acknowledges the event that was read before: if
 * that was #AL_PNP_CA_REMOVE, the removal of the HCA may continue (al_reg_pnp()). If several
 * threads read one channel, a call of any thread acknowledges; so give a PnP registration a channel
 * of its own that one thread reads.
 * **Context: any.**
 *
 * @param channel channel
 * @param event   written: the event
 * @retval AL_NOT_FOUND no event is queued
 *
 * @par Example
 * @snippet reference/channel.c channel
 */
al_status al_channel_next(al_channel_h channel, struct al_channel_event *event);

/**
 * Destroys a channel. Events that were not taken are dropped. **Context: any.**
 *
 * @param channel channel; the handle is invalid when the call returns
 * @param cb      called once, when the channel has ended; NULL: the library does not report the
 * end; #AL_DESTROY_SYNC: the call waits for the end (may sleep)
 * @param context passed to cb
 * @retval AL_RESOURCE_BUSY a completion queue, queue pair, registration or MAD service uses the
 * channel
 */
al_status al_destroy_channel(al_channel_h channel, al_destroyed_cb cb, void *context);

/** @} */

/**
 * @defgroup ibal_domains Protection domains
 * A protection domain keeps together what may be used together: a queue pair reaches only memory
 * regions and address handles of its own domain.
 * @{
 */

/**
 * Allocates a protection domain (IBTA 11.2.1.5). **Context: may sleep.**
 *
 * @param ca      HCA
 * @param context the program's own pointer, which the library does not use
 * @param pd      written: the domain
 * @retval AL_LIMIT_EXCEEDED the HCA has ib_ca_attr.max_pd domains, or a limit of the agent is
 * reached
 */
al_status al_alloc_pd(al_ca_h ca, void *context, al_pd_h *pd);

/**
 * Deallocates a protection domain. **Context: any.**
 *
 * @param pd      domain; the handle is invalid when the call returns
 * @param cb      called once, when the domain has ended; NULL: the library does not report the end;
 *                #AL_DESTROY_SYNC: the call waits for the end (may sleep)
 * @param context passed to cb
 * @retval AL_RESOURCE_BUSY objects of the domain are live; those that are already being destroyed
 * do not count
 */
al_status al_dealloc_pd(al_pd_h pd, al_destroyed_cb cb, void *context);

/** Flags of al_xrcd_init. */
enum al_xrcd_flags {
	AL_XRCD_CREATE = 1 << 0,    /**< create the domain if the inode has no domain yet */
	AL_XRCD_EXCLUSIVE = 1 << 1, /**< with #AL_XRCD_CREATE: refuse if the inode has a domain */
};

/** An XRC domain to open (IBTA annex A14). */
struct al_xrcd_init {
	int fd;               /**< descriptor of the inode by which processes share the domain; -1: a domain of this
			       * opening alone */
	uint32_t flags;       /**< enum al_xrcd_flags */
	uint64_t reserved[4]; /**< zero */
};

/** @} */

/**
 * @defgroup ibal_addresses Addresses
 * An address vector (struct ib_ah_attr) is the path from a port to a destination. Connected queue
 * pairs have a path as an attribute. Each datagram has an address handle instead, which holds a
 * path that the HCA has prepared.
 * @{
 */

/**
 * Creates an address handle (IBTA 11.2.2.1), for datagrams. One handle may serve any number of
 * requests and queue pairs of its domain at once. **Context: any.**
 *
 * @param pd   domain of the queue pairs that will use the handle
 * @param attr path
 * @param ah   written: the address handle
 * @retval AL_INVALID_PARAMETER a member of attr is out of its range, such as a dlid of 0 on an
 * InfiniBand port, or the path has no GRH on an Ethernet port
 * @retval AL_INVALID_PORT the HCA has no port attr->port_num
 * @retval AL_INVALID_GID_INDEX the port's table has no entry attr->grh.sgid_index
 * @retval AL_LIMIT_EXCEEDED the HCA has ib_ca_attr.max_ah address handles
 *
 * @par Example
 * @snippet reference/datagram.c address
 */
al_status al_create_ah(al_pd_h pd, const struct ib_ah_attr *attr, al_ah_h *ah);

/**
 * Computes the path back to the sender of a received datagram (seed 004). The path is for
 * al_create_ah() or al_modify_ah(). GIDs are looked up in a copy of the GID table, read when the HCA arrived and at each
 * #IB_EVENT_GID_CHANGE. **Context: any.**
 *
 * @param ca   HCA
 * @param port port that received the datagram, from 1 (ib_wc.port_num); of a switch 0
 * @param wc   successful completion of the datagram's receive request
 * @param grh  the first #IB_GRH_BYTES of the receive buffer; read only if wc has #IB_WC_GRH. Of a
 * datagram that came on IPv4 the last 20 bytes are the IP header (IBTA A17.4.5.1)
 * @param attr written: a path by LID; with a GRH also by GID. The source GID is the GID to which
 * the datagram was addressed, or entry 0 if that is a multicast GID
 * @retval AL_INVALID_PORT no such port
 * @retval AL_INVALID_PARAMETER wc is no completion of a successful receive, or grh is no GRH
 * @retval AL_NOT_FOUND the GRH's destination is no GID of the port
 *
 * @par Example
 * @snippet reference/datagram.c answer
 */
al_status al_init_ah_from_wc(al_ca_h ca, uint8_t port, const struct ib_wc *wc, const void *grh, struct ib_ah_attr *attr);

/**
 * Creates an address handle with the path back to the sender of a received datagram. The path is
 * that of al_init_ah_from_wc(), and a completion callback can answer a datagram so. **Context: any.**
 *
 * @param pd   domain of the queue pair that will answer
 * @param wc   successful completion of the datagram's receive request
 * @param grh  the first #IB_GRH_BYTES of the receive buffer; read only if wc has #IB_WC_GRH
 * @param port port that received the datagram, from 1 (ib_wc.port_num); of a switch 0
 * @param ah   written: the address handle
 * @retval AL_INVALID_PORT the HCA has no such port
 * @retval AL_INVALID_PARAMETER wc is no completion of a successful receive, or grh is no GRH
 * @retval AL_NOT_FOUND the GRH's destination is no GID of the port
 * @retval AL_LIMIT_EXCEEDED the HCA has ib_ca_attr.max_ah address handles
 *
 * @par Example
 * @snippet reference/datagram.c answer
 */
al_status al_create_ah_from_wc(al_pd_h pd, const struct ib_wc *wc, const void *grh, uint8_t port, al_ah_h *ah);

/**
 * Changes the path of an address handle. Requests posted before keep the old path. **Context:
 * any.**
 *
 * @param ah   address handle
 * @param attr new path, which replaces the old path entirely
 * @retval AL_INVALID_PARAMETER a member of attr is out of its range, such as a dlid of 0 on an
 * InfiniBand port, or the path has no GRH on an Ethernet port
 * @retval AL_INVALID_PORT the HCA has no port attr->port_num
 * @retval AL_INVALID_GID_INDEX the port's table has no entry attr->grh.sgid_index
 */
al_status al_modify_ah(al_ah_h ah, const struct ib_ah_attr *attr);

/**
 * Queries the path of an address handle. **Context: any.**
 *
 * @param ah   address handle
 * @param attr written: path
 */
al_status al_query_ah(al_ah_h ah, struct ib_ah_attr *attr);

/**
 * Destroys an address handle. Requests posted before still complete, with its path. **Context:
 * any.**
 *
 * @param ah      address handle, invalid when the call returns
 * @param cb      called once, when the address handle has ended; NULL: the library does not report
 * the end; #AL_DESTROY_SYNC: the call waits for the end (may sleep)
 * @param context passed to cb
 */
al_status al_destroy_ah(al_ah_h ah, al_destroyed_cb cb, void *context);

/** @} */

/**
 * @defgroup ibal_regions Memory regions
 * An HCA accesses only memory that is registered. A region has a local key, by which the program's
 * own requests name the memory, and a remote key, by which peers do. ibal_memory(7) has the rules.
 * @{
 */

/**
 * Registers memory (IBTA 11.2.8.1). The call makes the pages present and checks their permissions.
 * **Context: may sleep.**
 *
 * The application keeps the memory mapped until the region has ended. An adapter pins the pages;
 * the software HCA does not. If the application unmaps the memory, or truncates the mapped file,
 * before that, then a request that accesses the memory ends an application with its own HCA by
 * SIGSEGV or SIGBUS; through an agent the request completes in error.
 *
 * @param pd      domain of the queue pairs that will use the region
 * @param init    memory and permissions
 * @param context the program's own pointer, which the library does not use
 * @param lkey    written: key for the program's own requests (ib_sge.lkey)
 * @param rkey    written: key for peers; 0 without any remote permission; may be NULL
 * @param mr      written: the region
 * @retval AL_INVALID_PARAMETER length 0, address range overflows, or remote write or atomic without
 * local write
 * @retval AL_INVALID_ADDRESS the memory is not mapped, or the mapping does not permit the access
 * @retval AL_LIMIT_EXCEEDED length is more than ib_ca_attr.max_mr_size, or the HCA has
 * ib_ca_attr.max_mr regions
 * @retval AL_MEMORY_OUT_OF_REACH the HCA is an agent's, and the agent can not access this process's
 * memory (the process is not dumpable, or has a namespace of its own): use memory from
 * al_dma_alloc_coherent()
 *
 * @par Example
 * @snippet reference/memory.c memory
 */
al_status al_reg_mr(al_pd_h pd, const struct al_mr_init *init, void *context, uint32_t *lkey, uint32_t *rkey, al_mr_h *mr);

/**
 * Queries the attributes of a region. **Context: may sleep.**
 *
 * @param mr   region
 * @param attr written: attributes
 */
al_status al_query_mr(al_mr_h mr, struct ib_mr_attr *attr);

/**
 * Deregisters a region. When the region has ended, no request and no peer accesses its memory. The
 * program may reuse or unmap the memory when `cb` is called, or the `cb` of an object that this
 * thread destroyed later on this HCA (ibal_objects(7)). **Context: any.**
 *
 * @param mr      region; the handle is invalid when the call returns
 * @param cb      called once, when the region has ended; NULL: the library does not report the end;
 *                #AL_DESTROY_SYNC: the call waits for the end (may sleep)
 * @param context passed to cb
 * @retval AL_RESOURCE_BUSY memory windows are bound to the region
 *
 * @par Example
 * @snippet reference/memory.c memory
 */
al_status al_dereg_mr(al_mr_h mr, al_destroyed_cb cb, void *context);

/**
 * Allocates coherent memory, which application and HCA share (seed 004, ib_dma_alloc_coherent):
 * zeroed whole pages. The memory may be registered like any other memory. An agent's HCA accesses
 * coherent memory directly, while it copies other memory.
 * **Context: may sleep.**
 *
 * @param ca     HCA
 * @param length bytes, at least 1
 * @param addr   written: the memory, which exists until al_dma_free_coherent(), also after a
 * removal of the HCA
 * @param dma    written: the memory's address for the HCA
 * @retval AL_INVALID_PARAMETER   length is 0, or more than the address space
 * @retval AL_INSUFFICIENT_MEMORY out of memory, descriptors or mappings
 *
 * @par Example
 * @snippet reference/memory.c coherent
 */
al_status al_dma_alloc_coherent(al_ca_h ca, uint64_t length, void **addr, uint64_t *dma);

/**
 * Frees coherent memory, when all regions of the memory have ended. **Context: may sleep.**
 *
 * @param ca     HCA, as given to al_dma_alloc_coherent()
 * @param length bytes, as given to al_dma_alloc_coherent()
 * @param addr   memory that al_dma_alloc_coherent() returned; NULL: nothing is freed
 * @param dma    address that al_dma_alloc_coherent() returned
 */
al_status al_dma_free_coherent(al_ca_h ca, uint64_t length, void *addr, uint64_t dma);

/** The pool has unmapped its released regions. @param context of the pool */
typedef void (*al_fmr_flush_cb)(void *context);

/** A pool of fast memory regions (seed 004, ib_fmr_pool.h). */
struct al_fmr_pool_init {
	struct ib_fmr_attr fmr;   /**< attributes of each region */
	uint32_t pool_size;       /**< number of regions */
	uint32_t dirty_watermark; /**< number of released regions, still mapped, at which a flush starts */
	bool cache;               /**< keep released mappings and reuse each for a request with its page list */
	uint8_t pad[7];           /**< zero */
	al_fmr_flush_cb flush_cb; /**< called after each flush; may be NULL */
	uint64_t reserved[4];     /**< zero */
};

/** @} */

/**
 * @defgroup ibal_cqs Completion queues
 * A completion queue collects the completions of work requests of any number of queue pairs. A
 * program polls the queue with al_poll_cq(), and arms the queue with al_arm_cq() before it sleeps.
 * ibal_completions(7) has the rules.
 * @{
 */

/**
 * Creates a completion queue. The PD is only the owner of the queue: queue pairs of any PD of the
 * opening and HCA may use the queue. A queue that overflows is lost with its queue pairs, so give
 * it as many entries as requests can be outstanding on them (ibal_completions(7)). **Context: may
 * sleep.**
 *
 * @param pd      domain that owns the queue
 * @param init    attributes; init->cqe is written back: the granted entries, or with
 * #AL_LIMIT_EXCEEDED the limit
 * @param context for the callbacks
 * @param comp_cb completion callback; NULL with a channel, and for a queue that is only polled
 * @param event_cb callback of asynchronous events; may be NULL
 * @param cq      written: the queue
 * @retval AL_INVALID_PARAMETER cqe is 0, the vector does not exist, or a callback is given together
 * with a channel
 * @retval AL_INVALID_CA the channel belongs to another opening
 * @retval AL_LIMIT_EXCEEDED cqe is more than ib_ca_attr.max_cqe, or the HCA has ib_ca_attr.max_cq
 * queues
 * @retval AL_INSUFFICIENT_RESOURCES no thread could be started
 *
 * @par Example
 * @snippet reference/transfer.c create
 */
al_status al_create_cq(al_pd_h pd, struct al_cq_init *init, void *context, al_comp_cb comp_cb, al_event_cb event_cb,
		       al_cq_h *cq);

/**
 * Queries the attributes of a completion queue, and how many completions it holds. **Context: may
 * sleep.**
 *
 * @param cq   queue
 * @param attr written: attributes
 */
al_status al_query_cq(al_cq_h cq, struct al_cq_attr *attr);

/**
 * Changes the number of entries of a completion queue (IBTA 11.2.8.3, seed 004). The queue's completions keep their
 * order, and its arms stay. Meanwhile queue pairs may complete requests, and other threads may poll and arm. If
 * al_arm_cq_n() waits for more completions than the queue has entries afterwards, the notification comes when the queue
 * is full. A refused call changes nothing. **Context: may sleep.**
 *
 * @param cq  queue
 * @param cqe in: requested entries, at least 1; out: granted entries, never fewer; with #AL_LIMIT_EXCEEDED the HCA's
 *            limit, or unchanged if an agent's limit for its client is reached
 * @retval AL_INVALID_PARAMETER *cqe is 0
 * @retval AL_LIMIT_EXCEEDED *cqe is more than ib_ca_attr.max_cqe
 * @retval AL_TOO_SMALL the queue holds more completions than *cqe
 * @retval AL_CQ_ERROR the queue has overflowed
 * @retval AL_UNSUPPORTED the HCA lacks #IB_CA_CAP_CQ_RESIZE
 */
al_status al_resize_cq(al_cq_h cq, uint32_t *cqe);

/**
 * Moderates the notifications of a completion queue (seed 004). When a completion satisfies an al_arm_cq(), the
 * notification follows after count completions, that completion included, or after period microseconds, whichever is
 * first. The notification follows at once when the queue becomes full or overflows, and this call sends a notification
 * that the previous values have delayed. Until the notification the arm stays, and a further al_arm_cq() is served by
 * that notification. Two notifications are not delayed: that of al_arm_cq_n(), and that of an al_arm_cq() which
 * completions already in the queue satisfy (#AL_CQ_NOTIFY_PENDING). **Context: may sleep.**
 *
 * @param cq     queue
 * @param count  completions; 0 and 1: no moderation
 * @param period microseconds; 0: no limit, count alone decides
 * @retval AL_CQ_ERROR the queue has overflowed
 * @retval AL_UNSUPPORTED the HCA lacks #IB_CA_CAP_CQ_MODERATION
 */
al_status al_modify_cq(al_cq_h cq, uint16_t count, uint16_t period);

/**
 * Removes completions, oldest first (seed 004). **Context: any.** Several threads may poll at once.
 * The order in which they get completions is not defined, but no completion is lost or returned
 * twice. The completions do not report the key that a peer's send invalidated (seed 001).
 *
 * @param cq    queue
 * @param num   elements of wc, at least 1
 * @param wc    written: *count completions; the program looks at the status of each
 * @param count written: number of completions; 0: the queue is empty, which is no error; not NULL,
 * since only *count tells an empty queue
 * @retval AL_CQ_ERROR the queue has overflowed, and its completions have been removed: the last
 * completion of a queue that overflows is an error, #IB_WC_CQ_OVERFLOW_ERR, for which the queue has
 * an extra entry
 *
 * @par Example
 * @snippet reference/transfer.c poll
 */
al_status al_poll_cq(al_cq_h cq, uint32_t num, struct ib_wc *wc, uint32_t *count);

/**
 * As al_poll_cq(), but the completions also report the key that a peer's send invalidated (seed
 * 001): ib_wc.invalidated_rkey, with #IB_WC_WITH_INVALIDATE. **Context: any.**
 *
 * @param cq    queue
 * @param num   elements of wc, at least 1
 * @param wc    written: *count completions; the program looks at the status of each
 * @param count written: number of completions; 0: the queue is empty, which is no error; not NULL,
 * since only *count tells an empty queue
 * @retval AL_CQ_ERROR the queue has overflowed, and its completions have been removed
 */
al_status al_poll_cq_ex(al_cq_h cq, uint32_t num, struct ib_wc *wc, uint32_t *count);

/**
 * Counts the completions in a queue, and leaves them there. **Context: any.**
 *
 * @param cq    queue
 * @param max   count at which the call stops counting
 * @param count written: number of completions, at most max; not NULL, since the call has no other
 * result
 */
al_status al_peek_cq(al_cq_h cq, uint32_t max, uint32_t *count);

/**
 * Arms a completion queue: asks for one notification (seeds 001 and 004; IBTA 11.4.2.2). If an
 * earlier arm is not satisfied yet, the wider of the two types holds. **Context: any**, the queue's
 * own callback included.
 *
 * @param cq      queue
 * @param type    #AL_ARM_ERRORS, #AL_ARM_SOLICITED or #AL_ARM_ANY
 * @param present written, may be NULL: the queue held completions at the call. With
 * #AL_CQ_NOTIFY_NEXT poll them, since no notification follows for them
 * @retval AL_CQ_ERROR the queue has overflowed
 *
 * @par Example
 * @snippet reference/transfer.c arm
 */
al_status al_arm_cq(al_cq_h cq, al_arm type, bool *present);

/**
 * Asks for one notification when the queue holds num completions, at once if it already does (seed
 * 004, ib_req_ncomp_notif). The arm is independent of al_arm_cq(); one notification may satisfy
 * both. **Context: any.**
 *
 * @param cq  queue
 * @param num completions, from 1 to the queue's entries (al_cq_attr.cqe)
 * @retval AL_CQ_ERROR the queue has overflowed
 */
al_status al_arm_cq_n(al_cq_h cq, uint32_t num);

/**
 * Destroys a completion queue, with the completions that it holds. **Context: any.**
 *
 * @param cq      queue; the handle is invalid when the call returns
 * @param cb      called once, when the queue has ended; NULL: the library does not report the end;
 *                #AL_DESTROY_SYNC: the call waits for the end (may sleep)
 * @param context passed to cb
 * @retval AL_RESOURCE_BUSY live queue pairs use the queue; those that are already being destroyed
 * do not count
 */
al_status al_destroy_cq(al_cq_h cq, al_destroyed_cb cb, void *context);

/** @} */

/**
 * @defgroup ibal_qps Queue pairs
 * A queue pair is an end of a connection, or a sender and receiver of datagrams: a send queue and a
 * receive queue, to which a program posts work requests. al_create_qp() makes a queue pair in the
 * state Reset; al_modify_qp() takes it through the states Init and RTR to RTS. ibal_qp_states(7)
 * lists the attributes that each transition requires and permits.
 * @{
 */

/**
 * Creates a queue pair, in the state Reset. Type, sizes and completion queues stay as they are
 * given here; al_modify_qp() takes the queue pair to the states in which it receives (RTR) and
 * sends (RTS). The completion queues must have entries for all requests that may be outstanding:
 * max_send_wr and max_recv_wr of every queue pair that uses them.
 * **Context: may sleep.**
 *
 * @param pd       domain of the memory and the address handles that the queue pair will use
 * @param init     attributes; init->cap is written back: the granted sizes, or with
 * #AL_LIMIT_EXCEEDED the limits
 * @param context  for callbacks; also ib_wc.qp_context of the queue pair's completions
 * @param event_cb callback of asynchronous events; may be NULL; NULL with al_qp_init.channel
 * @param qp       written: the queue pair
 * @retval AL_UNSUPPORTED the HCA lacks this type
 * @retval AL_INVALID_PARAMETER a port, RD domain or XRC domain is given for a type that has none;
 * or a callback with a channel
 * @retval AL_INVALID_PORT a special or raw queue pair without a port of the HCA
 * @retval AL_INVALID_CA a CQ belongs to another HCA or opening, or the channel to another opening
 * @retval AL_RESOURCE_BUSY the library, or another queue pair, has QP0 or QP1 of the port
 * @retval AL_INVALID_PD the SRQ belongs to another PD
 * @retval AL_LIMIT_EXCEEDED a size is more than the HCA's limit, or the HCA has ib_ca_attr.max_qp
 * queue pairs
 * @retval AL_INSUFFICIENT_RESOURCES no thread could be started
 *
 * @par Example
 * @snippet reference/transfer.c create
 */
al_status al_create_qp(al_pd_h pd, struct al_qp_init *init, void *context, al_event_cb event_cb, al_qp_h *qp);

/**
 * Gets an alias of QP0 or QP1 of a port. The library owns the special queue pairs of a port from
 * the first alias, MAD service or al_local_mad() on, and all programs share them, so no program
 * posts to them: al_send_mad() sends a datagram by them, and al_reg_mad_svc() receives what is
 * unsolicited. The alias is for what those do not tell:
 * - al_query_qp() tells the state, the port and the sizes of the special queue pair, and
 * al_qp_num() its number, 0 or 1;
 * - the asynchronous events of the special queue pair reach event_cb and the event handlers of ca,
 * as the alias's own;
 * - the port stays served until the HCA is removed.
 *
 * al_modify_qp(), al_post_send(), al_post_recv(), al_attach_mcast() and al_detach_mcast() refuse an
 * alias with #AL_INVALID_QP_TYPE. al_destroy_qp() ends the alias only. A port has any number of
 * aliases, which count against no limit of the HCA; an agent counts an alias as a queue pair.
 * **Context: may sleep.**
 *
 * @param ca       HCA
 * @param port_num port, from 1; of a switch 0
 * @param type     #IB_QPT_SMI: QP0; #IB_QPT_GSI: QP1
 * @param context  for callbacks
 * @param event_cb callback of asynchronous events; may be NULL
 * @param qp       written: the alias
 * @retval AL_INVALID_PARAMETER another type
 * @retval AL_INVALID_PORT no such port
 * @retval AL_RESOURCE_BUSY another owner has QP0 or QP1 of the port
 * @retval AL_UNSUPPORTED the HCA's module has no special queue pairs
 * @retval AL_LIMIT_EXCEEDED the HCA has no room for the library's own queues and buffers; or a
 * limit of the agent
 * @retval AL_PERMISSION the HCA is an agent's, type is #IB_QPT_SMI, and the user has not the right
 * *manage* (ald(8))
 * @retval AL_INSUFFICIENT_RESOURCES no thread could be started
 */
al_status al_get_spl_qp(al_ca_h ca, uint8_t port_num, ib_qp_type type, void *context,
			al_event_cb event_cb, al_qp_h *qp);

/**
 * Changes attributes and state of a queue pair (IBTA 11.2.4.2). The library first checks the
 * transition and its required and optional attributes against the state table, which
 * ibal_qp_states(7) prints. A refused call changes nothing. **Context: may sleep.**
 *
 * @param qp   queue pair
 * @param attr new values; of the new state too (qp_state)
 * @param mask enum ib_qp_attr_mask: the members of attr that count; others are not read
 * @retval AL_INVALID_TRANSITION the current state does not permit the transition, or cur_qp_state
 * is not the current state
 * @retval AL_MISSING_ATTRIBUTE the transition requires a further attribute
 * @retval AL_INVALID_ATTRIBUTE the transition does not permit an attribute in mask
 * @retval AL_INVALID_PARAMETER a value is out of range
 * @retval AL_INVALID_PORT no such port
 * @retval AL_INVALID_PKEY_INDEX no such P_Key index
 * @retval AL_INVALID_GID_INDEX no such source GID index
 * @retval AL_LIMIT_EXCEEDED more outstanding reads and atomics than the HCA supports
 * @retval AL_INVALID_STATE the queue pair is in SQD and still draining
 * @retval AL_INVALID_QP_TYPE the queue pair is an alias of al_get_spl_qp(): the library changes QP0
 * and QP1
 *
 * @par Example
 * @snippet reference/transfer.c connect
 */
al_status al_modify_qp(al_qp_h qp, const struct ib_qp_attr *attr, uint32_t mask);

/**
 * Queries attributes and state of a queue pair. **Context: may sleep.**
 *
 * @param qp   queue pair
 * @param attr written: attributes, and the state (qp_state)
 * @param init written: attributes of al_create_qp() with the granted sizes; may be NULL
 */
al_status al_query_qp(al_qp_h qp, struct ib_qp_attr *attr, struct al_qp_init *init);

/** The last failed request of a queue pair, which al_query_failure() tells. */
struct al_qp_failure {
	uint64_t wr_id;      /**< of the request or receive */
	ib_wc_status status; /**< status of its completion */
	uint32_t count;      /**< failed requests of the queue pair since its creation */
	char reason[192];    /**< one sentence without a full stop, such as "the lkey 0x1234 of element 0 is of no region" */
};

/**
 * Tells why the queue pair's last failed request failed: which key or range is wrong, what the peer answered, how often
 * the HCA tried again. Of a key of the peer it tells only that the peer refused it. Requests that were
 * flushed are not failed ones. Through an agent the reason comes a moment after the completion; until
 * then the call tells of the failure before: compare al_qp_failure.wr_id. **Context: any.**
 *
 * @param qp      queue pair
 * @param failure written with #AL_SUCCESS
 * @retval AL_NOT_FOUND no request of the queue pair has failed, or the HCA's module gives no reasons
 *
 * @par Example
 * @snippet reference/transfer.c failure
 */
al_status al_query_failure(al_qp_h qp, struct al_qp_failure *failure);

/**
 * Returns the queue pair's number, by which a peer names it: 24 bits, unique on the HCA until the
 * queue pair ends.
 * **Context: any.**
 *
 * @param qp  queue pair
 * @param qpn written: number
 */
al_status al_qp_num(al_qp_h qp, uint32_t *qpn);

/**
 * Posts send requests (IBTA 11.4.1.1): sends, RDMA reads and writes, and atomics. The HCA works on
 * the requests of a queue pair in their order. The call copies the requests, but not the memory
 * that they name (except with #IB_SEND_INLINE): the program leaves that memory alone until the
 * request has completed (ibal_completions(7)). The requests before the first bad request are
 * posted; the bad request and the requests after it are not. **Context: any.**
 *
 * @param qp     queue pair
 * @param wr     chain of requests, linked by ib_send_wr.next; the call copies it
 * @param bad_wr written on failure: the first request that was not posted; may be NULL
 * @retval AL_INVALID_STATE the queue pair is in Reset, Init or RTR
 * @retval AL_QUEUE_FULL the send queue is full
 * @retval AL_INVALID_OPCODE the opcode does not suit the type, or the flags do not suit the opcode
 * @retval AL_INVALID_SGE too many elements, lengths of 2^32 bytes or more together, or more inline
 * data than max_inline_data
 * @retval AL_INVALID_PD datagrams: the address handle belongs to another domain
 * @retval AL_INVALID_PORT datagrams: the address handle's path begins at another port than the
 * queue pair's
 * @retval AL_INVALID_QP_TYPE the queue pair is an alias of al_get_spl_qp(): al_send_mad() sends by
 * QP0 and QP1
 *
 * @par Example
 * @snippet reference/transfer.c send
 */
al_status al_post_send(al_qp_h qp, const struct ib_send_wr *wr, const struct ib_send_wr **bad_wr);

/**
 * Posts receive requests. Each names memory for one message of a peer, and an RDMA write with
 * immediate data uses up one without writing to its memory. Requests before the first bad request
 * are posted; the bad request and the requests after it are not. **Context: any.**
 *
 * @param qp     queue pair
 * @param wr     chain of requests, linked by ib_recv_wr.next; the call copies it
 * @param bad_wr written on failure: the first request that was not posted; may be NULL
 * @retval AL_INVALID_STATE the queue pair is in Reset
 * @retval AL_QUEUE_FULL the receive queue is full
 * @retval AL_INVALID_SGE too many elements, or lengths of 2^32 bytes or more together
 * @retval AL_INVALID_QP_TYPE the queue pair receives from a shared receive queue, or is an alias of
 *         al_get_spl_qp(): a service of al_reg_mad_svc() receives by QP0 and QP1
 *
 * @par Example
 * @snippet reference/transfer.c receive
 */
al_status al_post_recv(al_qp_h qp, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad_wr);

/**
 * Destroys a queue pair and removes its completions from its completion queues. The queue pair may
 * accept messages until it ends, or until an object ends that this thread destroyed later. To stop
 * a queue pair at once, destroy it with #AL_DESTROY_SYNC, or change its state to Error first: after
 * al_modify_qp() has returned, the queue pair accepts no message, and its requests are flushed.
 * **Context: any.**
 *
 * @param qp      queue pair; the handle is invalid when the call returns
 * @param cb      called once, when the queue pair has ended; NULL: the library does not report the
 * end; #AL_DESTROY_SYNC: the call waits for the end (may sleep)
 * @param context passed to cb
 */
al_status al_destroy_qp(al_qp_h qp, al_destroyed_cb cb, void *context);

/** @} */

/**
 * @defgroup ibal_multicast Multicast
 * A datagram to a multicast group reaches every queue pair that is a member of the group.
 * @{
 */
/**
 * Makes a datagram queue pair a member of a multicast group (seed 004, ib_attach_mcast;
 * IBTA 10.5.2, 11.3.1). A group is a multicast GID with a multicast LID. The queue pair receives
 * one copy of each datagram to the group that reaches the queue pair's port, and of each that
 * leaves by that port, also of its own datagrams, unless it was created with
 * al_qp_init.block_mcast_loopback. A copy is received as any datagram: it needs a receive request,
 * and Q_Key and P_Key of the queue pair; its completion has #IB_WC_GRH. To send to the group, post
 * to queue pair number #IB_QPN_MULTICAST with an address handle of the GID and the LID; a sender
 * need not be a member.
 *
 * The queue pair may be in every state, and stays a member until al_detach_mcast() or until it
 * ends. A second call for a group changes nothing, and the queue pair still receives one copy. The
 * call does not join the group at the subnet's administrator: where a subnet manager runs,
 * datagrams reach the port only after a join (a Set of MCMemberRecord by al_send_mad()). A join is
 * the port's: it outlives the program, also one that is killed, until a program of that port leaves
 * (a Delete) or the port goes down. **Context: may sleep.**
 *
 * @param qp   queue pair
 * @param gid  multicast GID: its first byte is 0xff
 * @param mlid multicast LID, from #IB_LID_MULTICAST_FIRST to #IB_LID_MULTICAST_LAST; on Ethernet,
 * where the GID alone names the group, it may be 0, and is ignored
 * @retval AL_INVALID_PARAMETER gid or mlid names no group
 * @retval AL_INVALID_QP_TYPE the queue pair is not of type #IB_QPT_UD
 * @retval AL_LIMIT_EXCEEDED ib_ca_attr.max_mcast_grp, max_mcast_qp_attach or
 * max_total_mcast_qp_attach is reached
 * @retval AL_UNSUPPORTED the HCA lacks #IB_CA_CAP_MCAST
 */
al_status al_attach_mcast(al_qp_h qp, const ib_gid *gid, uint16_t mlid);

/**
 * Ends a queue pair's membership in a multicast group. When the call has returned, the queue pair
 * receives nothing more by the group: datagrams that it has not received yet are dropped.
 * Completions of earlier datagrams stay.
 * **Context: may sleep.**
 *
 * @param qp   queue pair
 * @param gid  multicast GID, as given to al_attach_mcast()
 * @param mlid multicast LID, as given to al_attach_mcast()
 * @retval AL_NOT_FOUND the queue pair is no member of the group
 * @retval AL_INVALID_PARAMETER gid or mlid names no group
 * @retval AL_INVALID_QP_TYPE the queue pair is not of type #IB_QPT_UD
 * @retval AL_UNSUPPORTED the HCA lacks #IB_CA_CAP_MCAST
 */
al_status al_detach_mcast(al_qp_h qp, const ib_gid *gid, uint16_t mlid);

/** @} */

/**
 * @defgroup ibal_mads Management datagrams
 * A MAD service sends and receives the management datagrams (MADs) of one class on one port: it
 * asks agents of other ports, or serves a class as their agent. The datagrams' layouts are in
 * iba/ib_mad.h.
 * The program vendor_mad, installed with the examples, has both ends of a vendor's class.
 * @{
 */

#define AL_MAD_SENDS_MAX 1024u      /**< sends of a service whose event has not been delivered */
#define AL_MAD_RECEIVES_MAX 128u    /**< unsolicited datagrams of a service that have not been delivered */
#define AL_MAD_ANSWER_BYTES_MAX (64u << 20) /**< longest answer that RMPP joins, in bytes */
#define AL_MAD_RECEIVE_BYTES_MAX (1u << 20) /**< longest unsolicited datagram that RMPP joins, in bytes */
#define AL_MAD_BACKOFF_MAX_MS 10000u /**< repetitions double the wait for a response up to this time, in milliseconds */

/**
 * Attributes of a MAD service: the datagrams that it sends and receives. Vendor classes of range 2 are
 * #IB_CLASS_VENDOR_2_FIRST to #IB_CLASS_VENDOR_2_LAST.
 */
struct al_mad_svc_init {
	uint8_t port_num;      /**< port, from 1 */
	uint8_t mgmt_class;    /**< ib_mad_class; the subnet management classes use QP0, all others QP1 */
	uint8_t class_version; /**< version of the class, from 1 */
	bool rmpp;             /**< the library splits and joins long datagrams (RMPP) */
	uint8_t oui[3];        /**< vendor classes of range 2: the vendor's OUI; else zero */
	uint8_t pad;           /**< zero */
	uint64_t methods[2];   /**< unsolicited datagrams wanted: bit (method % 64) of methods[method / 64]; 0: none */
	al_channel_h channel;  /**< channel for the events in place of a callback */
	uint64_t reserved[4];  /**< zero */
};

/** A datagram to send. */
struct al_mad_send {
	const void *mad;        /**< the datagram with its header; with RMPP of any length */
	uint32_t length;        /**< bytes, at least 24; the library sends 256 bytes and fills the rest with zeros */
	uint32_t remote_qpn;    /**< destination: 0 on QP0; on QP1 1, or for a response
				   al_mad_event.src_qp */
	uint32_t remote_qkey;   /**< #IB_QKEY_WELL_KNOWN for QP1; 0 for QP0 */
	uint16_t pkey_index;    /**< index in the port's P_Key table; 0 for QP0 */
	uint16_t retries;       /**< repetitions if no response arrives */
	uint32_t timeout_ms;    /**< milliseconds to wait for a response, at the first attempt; 0: no response is
				 * expected */
	uint32_t pad;           /**< zero */
	struct ib_ah_attr path; /**< path; of a response al_mad_event.path */
	uint64_t id;            /**< identifier of the send: in its al_mad_event, and for cancelling */
	uint64_t reserved[4];   /**< zero */
};

/** A MAD event: a received datagram, or the outcome of a send. */
struct al_mad_event {
	al_mad_event_type type; /**< type of the event */
	al_status status;       /**< outcome of a send: #AL_TIMEOUT, #AL_CANCELLED, or why the datagram was not sent */
	uint64_t id;            /**< al_mad_send.id; 0 for #AL_MAD_RECEIVED */
	const void *mad;        /**< the received datagram, valid during the callback; NULL: no datagram was received */
	uint32_t length;        /**< bytes of mad */
	uint32_t src_qp;        /**< sender's queue pair */
	struct ib_ah_attr path; /**< path back to the sender */
	uint16_t pkey_index;    /**< index of the datagram's P_Key */
	uint8_t pad[6];         /**< zero */
};

/** Callback of a MAD service. @param context of the service @param event valid during the call */
typedef void (*al_mad_cb)(void *context, const struct al_mad_event *event);

/**
 * Registers a MAD service (IBTA 13.4): it sends the datagrams of one class on one port, gets the
 * responses to its requests, and the unsolicited datagrams of its class, class version and methods
 * (vendor classes of range 2: and OUI). The first service on a port makes the library the owner of
 * the port's QP0 and QP1: from then on al_create_qp() refuses #IB_QPT_SMI and #IB_QPT_GSI there.
 * Responses, #IB_METHOD_TRAP_REPRESS included, are never unsolicited: those that answer no request
 * of a service are dropped.
 *
 * The library keeps up to #AL_MAD_RECEIVES_MAX unsolicited datagrams for a service, and of these
 * one sender has at most half: newer datagrams are dropped. So a flood takes no room from other
 * services or senders. **Context: may sleep.**
 *
 * @param ca      HCA, of this process
 * @param init    attributes
 * @param context for cb, and in the channel's events
 * @param cb      atomic callback, one event at a time; NULL with a channel
 * @param svc     written: the service
 * @retval AL_INVALID_PARAMETER no such class; a class version of 0; an OUI for a class without;
 * RMPP for a class without; both or none of callback and channel
 * @retval AL_INVALID_PORT no such port
 * @retval AL_INVALID_CA the channel belongs to another opening
 * @retval AL_DUPLICATE another service has one of the methods, for this port, class, class version
 * and OUI
 * @retval AL_RESOURCE_BUSY another owner has QP0 or QP1 of the port
 * @retval AL_UNSUPPORTED the HCA's module has no special queue pairs
 * @retval AL_LIMIT_EXCEEDED the HCA has no room for the library's own queues and buffers; or a
 * limit of the agent
 * @retval AL_PERMISSION the HCA is an agent's: the class is one of subnet management, or the
 * methods are those of a class that IBTA assigns, and the user has not the right *manage* (ald(8))
 * @retval AL_INSUFFICIENT_RESOURCES no thread could be started
 */
al_status al_reg_mad_svc(al_ca_h ca, const struct al_mad_svc_init *init, void *context, al_mad_cb cb, al_mad_svc_h *svc);

/**
 * Sends a datagram. The library copies the datagram. One event ends each send: #AL_MAD_SENT if no
 * response is expected, else #AL_MAD_ANSWERED or #AL_MAD_FAILED. Sends wait for the port's queue in
 * the order of the calls; several services take turns.
 *
 * **Transactions.** If a response is expected, the library replaces the upper 32 bits of the
 * transaction identifier by its own, and restores them in the answer. The answer has this
 * identifier and the class, and comes from the destination's LID or GID, and on QP1 from the
 * destination's queue pair (directed routes and the permissive LID: from any LID). Without a
 * response the identifier is sent as it is.
 *
 * **RMPP** (IBTA 13.6). With al_mad_svc_init.rmpp a datagram is sent in segments if it is longer
 * than 256 bytes, or has the flag #IB_RMPP_ACTIVE; the rest of its RMPP header is the library's.
 * The time for a response begins after the last segment is acknowledged. Datagrams that arrive in
 * segments are delivered whole, an answer up to #AL_MAD_ANSWER_BYTES_MAX, an unsolicited datagram
 * up to #AL_MAD_RECEIVE_BYTES_MAX. A whole datagram has its headers once, with the header that the
 * class has behind the RMPP header (struct ib_sa_mad, struct ib_vendor_mad), and then all data; in
 * each segment the headers are repeated. The length of such a datagram is exact. A datagram without
 * the flag arrives with 256 bytes, so a response whose length counts has the flag, be it short or
 * long. Without rmpp each packet is a datagram.
 *
 * **Time.** After timeout_ms without an answer the library sends the datagram again, up to retries
 * times, and doubles the time with each repetition up to #AL_MAD_BACKOFF_MAX_MS, or timeout_ms if
 * that is more. After the last wait the send fails with #AL_TIMEOUT. The time begins when the
 * datagram is handed to the HCA. **Context: any**, the service's own callback included.
 *
 * @param svc  service
 * @param send datagram; its class is the service's
 * @retval AL_INVALID_PARAMETER length is less than 24, or without RMPP more than 256; another class
 * than the service's; retries without timeout_ms; a response that expects a response; remote_qpn is
 * not 0 on QP0, or 0 or more than 24 bits on QP1; or the path is not valid
 * @retval AL_INVALID_PORT the path begins at another port than the service's
 * @retval AL_INVALID_GID_INDEX no such source GID
 * @retval AL_INVALID_PKEY_INDEX no such P_Key index
 * @retval AL_QUEUE_FULL #AL_MAD_SENDS_MAX sends of the service wait for their event or its delivery
 * @retval AL_CA_ERROR the port's special queue pair has failed
 * @retval AL_PERMISSION the HCA is an agent's, and the user has not the right *manage* that the
 * datagram needs (ald(8))
 * @retval AL_LIMIT_EXCEEDED a limit of the agent: datagrams that are longer than 256 bytes count as
 * bytes of queues
 * @return the event of a send that failed has #AL_TIMEOUT, #AL_CANCELLED, #AL_CA_REMOVED,
 * #AL_AGENT_LOST, #AL_CA_ERROR, #AL_IO_ERROR (the HCA reported an error for the datagram, or the
 * peer ended the transfer), #AL_LIMIT_EXCEEDED or #AL_INSUFFICIENT_MEMORY (an answer of several
 * segments had no room), or the status with which the module refused it
 */
al_status al_send_mad(al_mad_svc_h svc, const struct al_mad_send *send);

/**
 * Cancels a send: its event is #AL_MAD_FAILED with #AL_CANCELLED. The datagram may have been sent, and a later answer
 * is dropped. **Context: any**, the service's own callback included.
 *
 * @param svc service
 * @param id  al_mad_send.id; of several sends with this identifier the oldest is cancelled
 * @retval AL_NOT_FOUND no send with this identifier waits: its event has been or will be delivered, and tells another
 *         outcome
 */
al_status al_cancel_mad(al_mad_svc_h svc, uint64_t id);

/**
 * Takes the oldest event of a service with a channel. The channel delivers #AL_CHANNEL_MAD when the service has got an
 * event, and again after each call of this function that leaves events in the service. **Context: any.**
 *
 * @param svc   service
 * @param mad   room for the event's datagram; may be NULL when size is 0
 * @param size  bytes of mad
 * @param event written: the event, its member mad is the parameter mad, or NULL if the event has no datagram; with
 *              #AL_BUFFER_TOO_SMALL only its members type, id and length
 * @retval AL_NOT_FOUND the service has no event
 * @retval AL_BUFFER_TOO_SMALL the datagram has event->length bytes; the event remains the oldest
 * @retval AL_INVALID_PARAMETER the service has a callback
 */
al_status al_mad_next(al_mad_svc_h svc, void *mad, uint32_t size, struct al_mad_event *event);

/**
 * Ends a MAD service. Its sends are cancelled without an event, and its events that are not
 * delivered are dropped. Another service may have its methods when `cb` is called; on an HCA of
 * this process as soon as the call returns.
 * **Context: any**, the service's own callback included.
 *
 * @param svc     service; the handle is invalid when the call returns
 * @param cb      called once, when the service has ended; NULL: the library does not report the
 * end; #AL_DESTROY_SYNC: the call waits for the end (may sleep)
 * @param context passed to cb
 */
al_status al_dereg_mad_svc(al_mad_svc_h svc, al_destroyed_cb cb, void *context);

struct ib_mad; /**< a datagram of 256 bytes, iba/ib_mad.h */

/**
 * Asks the agents of a port as if the datagram had come in at the port. The datagram counts as one
 * from a permissive LID, at the end of its route. Nothing is sent, and no MAD service gets the
 * datagram. **Context: may sleep.**
 *
 * @param ca       HCA
 * @param port_num port, from 1; of a switch 0
 * @param request  subnet management packet, or datagram of any other class
 * @param response written: the response. May be the request.
 * @retval AL_NOT_FOUND the agents have no response: the request is a response, Send, Trap or
 * TrapRepress, is malformed, is for a subnet manager, or has a wrong M_Key
 * @retval AL_UNSUPPORTED the agent of the request's class is not in the Access Layer (enum
 * ci_port_cap)
 * @retval AL_INVALID_PORT no such port
 * @retval AL_PERMISSION the HCA is an agent's (ald), and the user has not the right *manage* that
 * al_send_mad() of the request would need (ald(8))
 */
al_status al_local_mad(al_ca_h ca, uint8_t port_num, const struct ib_mad *request,
		       struct ib_mad *response);

/** @} */

/**
 * @defgroup ibal_snapshots Snapshots
 * A snapshot shows all HCAs, objects and modules of the process, or of an agent (ald(8)), at one
 * moment. al_query(1) prints snapshots.
 * @{
 */

/** al_snap_object.number of a MAD service, from its port, management class and class version. */
#define AL_SNAP_MAD_NUMBER(port_num, mgmt_class, class_version) \
	((uint32_t)(port_num) << 16 | (uint32_t)(mgmt_class) << 8 | (uint32_t)(class_version))
#define AL_SNAP_MAD_PORT(number) \
	((uint8_t)((number) >> 16)) /**< port of a MAD service, from al_snap_object.number */
#define AL_SNAP_MAD_CLASS(number) \
	((uint8_t)((number) >> 8)) /**< management class of a MAD service, from that number */
#define AL_SNAP_MAD_VERSION(number) \
	((uint8_t)(number)) /**< class version of a MAD service, from that number */

/** Details of a queue pair in a snapshot. */
struct al_snap_qp {
	uint64_t send_cq;          /**< bits of the handle of the completion queue for sends */
	uint64_t recv_cq;          /**< bits of the handle of the completion queue for receives */
	ib_gid peer_gid;           /**< GID of the peer; valid if is_global */
	uint32_t peer_qpn;         /**< queue pair number of the peer; connected types */
	uint32_t max_send_wr;      /**< depth of the send queue */
	uint32_t max_recv_wr;      /**< depth of the receive queue */
	uint32_t send_outstanding; /**< send requests posted and not completed; valid if has_usage */
	uint32_t recv_outstanding; /**< receive requests posted and not completed; valid if has_usage */
	uint16_t peer_lid;         /**< LID of the peer */
	uint8_t type;              /**< ib_qp_type */
	uint8_t path_mtu;          /**< ib_mtu; connected types */
	uint8_t port_num;          /**< port, from 1; 0: none yet */
	uint8_t retry_cnt;         /**< repetitions after time-outs and sequence errors */
	uint8_t rnr_retry;         /**< repetitions after RNR NAKs; 7: without limit */
	uint8_t retries_left;      /**< what the oldest request has left of retry_cnt; valid if has_usage */
	uint8_t rnr_retries_left;  /**< what the oldest request has left of rnr_retry; valid if has_usage */
	bool has_peer;             /**< a connected type has been brought to RTR, and has a path */
	bool is_global;            /**< packets have a GRH */
	bool has_usage;            /**< the HCA tells what is outstanding */
	uint64_t failed_wr_id;  /**< al_qp_failure.wr_id of the last failed request; valid if failed
				   is not 0 */
	uint32_t failed;        /**< failed requests since the creation, flushed ones not counted */
	uint32_t failed_status; /**< ib_wc_status of the last failed request; valid if failed is not
				   0 */
};

/** Details of a completion queue in a snapshot. */
struct al_snap_cq {
	uint32_t count;       /**< completions in the queue */
	uint32_t comp_vector; /**< completion vector */
	uint32_t armed;       /**< al_arm */
	bool overflowed;      /**< the queue has overflowed */
	uint8_t pad[3];       /**< zero */
};

/** Details of a memory region in a snapshot. */
struct al_snap_mr {
	uint64_t addr;          /**< address of the first byte */
	uint64_t length;        /**< bytes */
	uint32_t access;        /**< enum ib_access */
	uint32_t lkey;          /**< key for local requests */
	uint32_t rkey;          /**< key for peers; 0: none */
	uint32_t bound_windows; /**< windows bound to the region */
};

/** Details of an address handle in a snapshot. */
struct al_snap_ah {
	ib_gid gid;       /**< GID of the destination; valid if is_global */
	uint16_t lid;     /**< LID of the destination */
	uint8_t sl;       /**< service level */
	uint8_t port_num; /**< port, from 1 */
	bool is_global;   /**< packets have a GRH */
	uint8_t pad[3];   /**< zero */
};

/** An object, in a snapshot. */
struct al_snap_object {
	uint64_t id;            /**< bits of the object's handle */
	uint64_t parent;        /**< bits of the parent's handle; 0: the object has no parent */
	al_object_type type;    /**< kind of object */
	bool dying;             /**< the object is destroyed, and a call, callback or dependent still references it */
	bool dead;              /**< the object's HCA has been removed */
	bool has_detail;        /**< the member of detail for the kind is filled; kinds QP, CQ, MR and AH only */
	uint8_t pad;            /**< zero */
	int32_t pid;            /**< process of the owner */
	uint32_t number;        /**< QP: queue pair number; MR: lkey; CQ: entries; MAD service:
				   #AL_SNAP_MAD_NUMBER; else 0 */
	uint32_t users;         /**< number of live children and users */
	uint32_t state;         /**< QP: ib_qp_state */
	uint32_t uid;           /**< user of the owner */
	uint32_t pad2;          /**< zero */
	uint64_t ca_guid;       /**< node GUID of the HCA; 0: the object belongs to no HCA */
	uint64_t age_ns;        /**< time since the creation */
	char comm[16];          /**< command of the owner */
	/** Details by kind; all zero unless has_detail. */
	union {
		struct al_snap_qp qp;  /**< #AL_OBJ_QP */
		struct al_snap_cq cq;  /**< #AL_OBJ_CQ */
		struct al_snap_mr mr;  /**< #AL_OBJ_MR */
		struct al_snap_ah ah;  /**< #AL_OBJ_AH */
		uint64_t reserved[12]; /**< room for more */
	} detail;
};

/**
 * What a MAD service has done since its registration, in a snapshot. Each send is counted once,
 * when al_send_mad() takes it, and again when its event is decided: as answered, timed_out or
 * failed, or in none of them if it was sent and no answer was expected.
 */
struct al_snap_mad_svc {
	uint64_t id;        /**< bits of the service's handle, as in al_snap_object.id */
	uint64_t sent;      /**< sends that al_send_mad() has taken */
	uint64_t repeated;  /**< repetitions of sends without an answer in time */
	uint64_t answered;  /**< sends that were answered */
	uint64_t timed_out; /**< sends that failed with #AL_TIMEOUT */
	uint64_t failed;    /**< sends that failed with another status, #AL_CANCELLED included */
	uint64_t received;  /**< unsolicited datagrams that the service has got */
	uint64_t dropped;   /**< unsolicited datagrams for which the service had no room */
};

/** Number of objects of a kind on an HCA. */
struct al_snap_count {
	al_object_type type; /**< kind of object */
	uint32_t now;        /**< number now */
	uint32_t high;       /**< highest number so far */
	uint32_t max;        /**< the HCA's limit; 0: no limit */
};

/** An HCA with its module. */
struct al_snap_ca {
	uint64_t guid;            /**< node GUID */
	char module[32];          /**< module's name */
	char module_version[32];  /**< module's version */
	struct ib_ca_attr attr;   /**< attributes */
	uint32_t opens;           /**< number of open handles of the HCA */
	uint32_t num_counts;      /**< elements of counts */
	struct al_snap_count counts[AL_OBJ_TYPES]; /**< numbers of objects by kind */
};

/** A PCI function that a module's table matches, or that is an InfiniBand controller. */
struct al_snap_pci {
	char name[16];          /**< "0000:3b:00.0" */
	uint16_t vendor_id;     /**< vendor */
	uint16_t device_id;     /**< device */
	uint16_t class_code;    /**< class and subclass */
	uint16_t pad;           /**< zero */
	char module[32];        /**< module that serves the function; empty: none */
	char text[96];          /**< the adapter's name, or why no module serves the function */
};

/** A module. */
struct al_snap_module {
	char name[32];     /**< name */
	char version[32];  /**< version */
	char license[40];  /**< licence */
	char path[256];    /**< path of the file */
	uint32_t users;    /**< number of open handles of the module's HCAs */
	al_status status;  /**< #AL_SUCCESS, or why the module was not loaded */
	char text[256];    /**< the reason of a failure, a sentence */
};

/** Resources that an agent (ald) counts and limits, for each client and for each user: X(name, value, text). */
#define AL_RESOURCE_LIST(X)                           \
	X(AL_RESOURCE_CLIENTS, 0, "clients")          \
	X(AL_RESOURCE_CONNECTIONS, 1, "connections")  \
	X(AL_RESOURCE_CAS, 2, "cas")                  \
	X(AL_RESOURCE_PDS, 3, "pds")                  \
	X(AL_RESOURCE_MRS, 4, "mrs")                  \
	X(AL_RESOURCE_CQS, 5, "cqs")                  \
	X(AL_RESOURCE_QPS, 6, "qps")                  \
	X(AL_RESOURCE_BYTES, 7, "bytes")              \
	X(AL_RESOURCE_RINGS, 8, "rings")              \
	X(AL_RESOURCE_MCASTS, 9, "mcasts")            \
	X(AL_RESOURCE_MAD_SVCS, 10, "mad_svcs")       \
	X(AL_RESOURCE_WORKERS, 11, "workers")         \
	X(AL_RESOURCE_MAPPINGS, 12, "mappings")       \
	X(AL_RESOURCE_DESCRIPTORS, 13, "descriptors") \
	X(AL_RESOURCE_CLOSERS, 14, "closers")         \
	X(AL_RESOURCE_LOG_LINES, 15, "log_lines")
/**
 * Resource that an agent counts and limits. Connections carry commands, one request at a time each.
 * Bytes counts registered memory, rings the bytes of queues and of long management datagrams,
 * mcasts the memberships of queue pairs in multicast groups. Workers are threads of the agent that
 * carry out requests, mappings the agent's mappings of files that clients share, descriptors those
 * of the agent's process for clients, closers its threads that close descriptors which clients have
 * sent, log_lines its messages about clients within ten seconds; these five, and clients, are
 * counted for users only, but for mappings. The other resources are numbers of objects.
 */
typedef enum al_resource {
	AL_RESOURCE_LIST(IBA_ENUM_VALUE)
	AL_RESOURCES /**< one more than the last */
} al_resource;
/**
 * The text of a resource, as in ibal.conf(5). **Context: any.**
 *
 * @param v resource
 * @return the text; "unknown" for a value that is no resource
 */
const char *al_resource_str(al_resource v);

/** A client's or user's use of a resource. */
struct al_snap_use {
	uint64_t now;     /**< amount now */
	uint64_t high;    /**< highest amount so far */
	uint64_t limit;   /**< limit, beyond which requests are refused; UINT64_MAX: no limit */
	uint64_t share;   /**< of a user: the most that the user may have as long as the other users have what they have
			   * now; UINT64_MAX: the agent has no budget of the resource, or the row is a client's */
	uint64_t refused; /**< number of requests refused for this resource, so far */
};

/** A client of an agent, or a user with the sum of the user's clients. */
struct al_snap_client {
	int32_t pid;      /**< process of the client; 0: the row is a user's */
	uint32_t uid;     /**< user */
	char comm[16];    /**< command of the client; empty: the row is a user's */
	uint64_t refused; /**< number of requests refused for a limit, so far */
	struct al_snap_use use[AL_RESOURCES]; /**< use of each resource, indexed by al_resource */
};

/** A snapshot of the library's state. The arrays belong to the snapshot's allocation. */
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
	size_t num_clients;                /**< elements of clients; 0: the HCAs are this process's */
	const struct al_snap_client *clients; /**< the agent's clients; clients of other users only with the right
					       * *manage* */
	size_t num_users;                  /**< elements of users */
	const struct al_snap_client *users; /**< the agent's users since its start; other users only with the right
					     * *manage* */
	size_t num_mad_svcs;                /**< elements of mad_svcs */
	const struct al_snap_mad_svc *mad_svcs; /**< MAD services: one for each of objects of this
						 * kind, in the same order */
};

/**
 * Takes a snapshot: the data that al_query(1) prints. Through an agent the snapshot shows the
 * agent's HCAs, and those objects of its clients that this user may see. **Context: may sleep.**
 *
 * @param al   opening
 * @param snap written: the snapshot, which the program frees by al_free_snapshot()
 */
al_status al_snapshot(al_h al, struct al_snapshot **snap);

/**
 * Frees a snapshot, with all its arrays. **Context: any.**
 *
 * @param snap snapshot; NULL: nothing is freed
 */
void al_free_snapshot(struct al_snapshot *snap);

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* IBA_IB_AL_H */
