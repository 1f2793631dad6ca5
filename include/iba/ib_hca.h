/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/**
 * @file ib_hca.h
 * @brief The Channel Interface: the interface between the Access Layer and an HCA vendor's module.
 *
 * A vendor's module is a shared object in the module directory that exports one symbol, #ci_module. The loader calls
 * the functions of #ci_module. They find HCAs and register each HCA with ib_register_ci(), together with a table of
 * operations, struct ci_interface. From then on the Access Layer calls the operations ("ci_create_qp" in prose is the
 * member create_qp), and the module reports with the upcalls ib_cq_notify() and ib_dispatch_event().
 *
 * Every operation is marked *may sleep* or *atomic*. An atomic operation may be called in any context, and must not
 * block on anything but short critical sections of the module itself (unless ci_interface.may_block names the
 * operation). All operations are reentrant: the module synchronises its data (seed 000). No operation may call a
 * channel driver's callback: an operation makes an upcall, which queues the callback.
 *
 * Before a call the Access Layer has checked: handles; that the objects belong to one opening and HCA; reserved fields;
 * port numbers and table indices against ci_query_ca and ci_query_port; creation limits against ci_query_ca; state
 * transitions with their attribute masks and the attributes' ranges. Work requests reach the module unchecked and
 * unchanged.
 *
 * **Sources.** "seed 000" is the guide to the locking of the InfiniBand midlayer; "seed 001" are the NDKPI requirements
 * for completion handling; "SAS" is the Software Architecture Specification of the HCA driver (seed 003); "IBTA" is the
 * InfiniBand Architecture Specification, Volume 1, with its clause. doc/requirements.md lists the requirements of each.
 */
#ifndef IBA_IB_HCA_H
#define IBA_IB_HCA_H

#include <iba/ib_verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @defgroup ibal_ci_module HCA modules: the module
 * The Channel Interface is the interface between the Access Layer and the modules that drive HCAs.
 * A module is a shared object that exports one variable, ci_module.
 * @{
 */

#define CI_ABI_MAJOR 2 /**< tables of another major number are refused */
#define CI_ABI_MINOR 1 /**< incremented when members are added at the end */

struct ci_host;   /**< a loaded module, as the library sees it; opaque */
struct ci_client; /**< a client of the agent: the process that made a user-mode request; opaque */
struct ci_local_mad_in;  /**< see ib_mad.h */
struct ci_local_mad_out; /**< see ib_mad.h */
struct ib_notice;        /**< see ib_mad.h and ib_notice.h */

/** A registered HCA: the handle that ib_register_ci() returns. */
typedef struct ci_registration *ci_handle;

#define CI_PCI_ANY 0xffffffffu /**< wildcard in a struct ci_pci_id */

/** An entry of a module's PCI id table. */
struct ci_pci_id {
	uint32_t vendor;       /**< PCI vendor id, or #CI_PCI_ANY */
	uint32_t device;       /**< PCI device id, or #CI_PCI_ANY */
	uint32_t class_code;   /**< class and subclass, 16 bits (0x0207 is "InfiniBand"), under class_mask */
	uint32_t class_mask;   /**< bits of class_code that count; 0: any class */
	uintptr_t driver_data; /**< data of the module, passed to probe in ci_pci_dev.driver_data */
};

/** A base address register. */
struct ci_pci_bar {
	uint64_t addr; /**< physical address; 0: none */
	uint64_t size; /**< bytes; 0: unknown (a recorded dump has no sizes) */
};

/** A PCI function, passed to probe(). Valid until remove() has returned. */
struct ci_pci_dev {
	uint16_t domain;            /**< PCI domain */
	uint8_t bus;                /**< bus */
	uint8_t dev;                /**< device, 0 to 31 */
	uint8_t func;               /**< function, 0 to 7 */
	uint8_t revision;           /**< revision id */
	uint16_t vendor_id;         /**< vendor */
	uint16_t device_id;         /**< device */
	uint16_t subsys_vendor_id;  /**< subsystem vendor */
	uint16_t subsys_device_id;  /**< subsystem device */
	uint16_t class_code;        /**< class and subclass */
	int numa_node;              /**< -1: unknown */
	int iommu_group;            /**< -1: none or unknown */
	struct ci_pci_bar bars[6];  /**< base address registers */
	char name[16];              /**< "0000:3b:00.0" */
	char slot[32];              /**< physical slot; empty: unknown */
	char sysfs_path[128];       /**< directory in sysfs, for VFIO; empty: the function comes from a recorded dump */
	uintptr_t driver_data;      /**< driver_data of the id table's entry that matched */
	void *module_data;          /**< pointer of the module: set in probe, available in remove */
};

/** A setting from `ibal.conf` or the environment for this module. */
struct ci_param {
	const char *section; /**< rest of the group's name after the module's name: "" for [soft], "hca A" for [soft hca
			      * A] */
	const char *key;     /**< key */
	const char *value;   /**< value, never NULL */
	const char *origin;  /**< file or environment variable of the setting, for messages */
};

/**
 * All settings for a module: those of the file in its order, then those of the environment. Valid during init() only.
 */
struct ci_params {
	size_t count;                 /**< elements of param */
	const struct ci_param *param; /**< the settings */
};

/**
 * A module. Exported as `const struct ci_module ci_module`. All functions may sleep; the loader calls one function of a
 * module at a time. remove and cleanup can not fail: a module in use is never unloaded (SAS 2.3).
 */
struct ci_module {
	uint32_t size;       /**< sizeof(struct ci_module) */
	uint16_t abi_major;  /**< #CI_ABI_MAJOR */
	uint16_t abi_minor;  /**< #CI_ABI_MINOR */
	const char *name;    /**< unique name of at most 31 characters a-z, 0-9, _ and -: the file is NAME.so, the group
			      * in `ibal.conf` [NAME] */
	const char *version; /**< the vendor's version, a text for messages */
	const char *license; /**< SPDX expression */
	const struct ci_pci_id *pci_ids; /**< table of num_pci_ids entries; NULL: the module has no PCI functions */
	uint32_t num_pci_ids; /**< entries of pci_ids */
	uint32_t flags;       /**< zero */
	/**
	 * Called after loading. An unknown or wrong parameter: name the parameter with ib_log() and return
	 * #AL_BAD_CONFIG. init must set the module's variables anew, since they may hold old values: after a cleanup
	 * the image may have stayed loaded, and in a forked child, where the library starts again, they are copies of
	 * the parent's. After a failure no further function of the module is called. Optional.
	 */
	al_status (*init)(struct ci_host *host, const struct ci_params *params);
	/**
	 * Called for each PCI function that matches pci_ids. A failure is logged, and the function stays unused.
	 * Optional.
	 */
	al_status (*probe)(struct ci_pci_dev *dev);
	/** Registers HCAs that are not on PCI. Called once, after init; after a failure cleanup is called. Optional. */
	al_status (*scan)(void);
	/** Called when the PCI function disappears or the module is unloaded: withdraw its HCA with ib_deregister_ci().
	 * Required with probe. */
	void (*remove)(struct ci_pci_dev *dev);
	/** Called before unloading: withdraw every HCA that scan registered, and release all resources. Required. */
	void (*cleanup)(void);
};

/** The symbol that a module exports. */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
extern const struct ci_module ci_module;

/** @} */

/**
 * @defgroup ibal_ci_objects HCA modules: objects
 * The Access Layer allocates the objects of a module. A module puts its own struct around the
 * struct of the kind, and says its size in ci_interface.obj_size.
 * @{
 */

/**
 * An HCA, the first of the objects' structs. A vendor's struct begins with the matching struct of this header, and
 * ci_interface.obj_size names its size. The Access Layer allocates the vendor's struct, zeroed and aligned to 64 bytes,
 * fills in the members below, calls the create operation, and frees the struct some time after the destroy operation.
 * So a module never allocates or frees an object's struct. `ctx` is the Access Layer's: a module passes ctx in upcalls
 * and never dereferences it.
 */
struct ci_ca {
	void *ctx;     /**< Access Layer's */
	void *hca;     /**< pointer of the module, from ib_register_ci() */
};

/** Protection domain. */
struct ci_pd {
	void *ctx;         /**< Access Layer's */
	struct ci_ca *ca;  /**< HCA */
};

/** Reliable datagram domain. */
struct ci_rdd {
	void *ctx;         /**< Access Layer's */
	struct ci_pd *pd;  /**< owner; the domain serves queue pairs of any PD */
};

/** XRC domain. */
struct ci_xrcd {
	void *ctx;         /**< Access Layer's */
	struct ci_ca *ca;  /**< HCA */
};

/** Address handle. */
struct ci_ah {
	void *ctx;         /**< Access Layer's */
	struct ci_pd *pd;  /**< domain */
};

/** Memory region. */
struct ci_mr {
	void *ctx;         /**< Access Layer's */
	struct ci_pd *pd;  /**< domain */
	uint32_t lkey;     /**< set by the register operation */
	uint32_t rkey;     /**< set by the register operation */
	uint32_t bound_windows; /**< number of bound windows, written by the module; the Access Layer reads it
				 * atomically and refuses al_dereg_mr() unless it is 0 */
	uint32_t pad;      /**< zero */
};

/** Fast memory region. */
struct ci_fmr {
	void *ctx;         /**< Access Layer's */
	struct ci_pd *pd;  /**< domain */
	uint32_t lkey;     /**< set by alloc and map */
	uint32_t rkey;     /**< set by alloc and map */
};

/** Memory window. */
struct ci_mw {
	void *ctx;         /**< Access Layer's */
	struct ci_pd *pd;  /**< domain */
	ib_mw_type type;   /**< kind */
	uint32_t rkey;     /**< set by allocate and bind */
};

/** Completion queue. */
struct ci_cq {
	void *ctx;         /**< for ib_cq_notify() and ib_dispatch_event() */
	struct ci_pd *pd;  /**< owner; the queue serves queue pairs of any PD */
	uint32_t cqe;      /**< entries: set by the Access Layer when create_cq or resize_cq has returned */
	uint32_t comp_vector; /**< as created */
	al_cq_notify notify;  /**< as created */
	uint32_t pad;      /**< zero */
};

/** Shared receive queue. */
struct ci_srq {
	void *ctx;         /**< for ib_dispatch_event() */
	struct ci_pd *pd;  /**< domain */
	uint32_t srqn;     /**< number, for XRC: set by create */
	uint32_t pad;      /**< zero */
};

/** Queue pair. */
struct ci_qp {
	void *ctx;           /**< for ib_dispatch_event() */
	void *owner_context; /**< context of the channel driver: the module copies it to ib_wc.qp_context */
	struct ci_pd *pd;    /**< domain */
	struct ci_cq *send_cq; /**< completions of the send queue */
	struct ci_cq *recv_cq; /**< completions of the receive queue */
	struct ci_srq *srq;  /**< shared receive queue, or NULL */
	struct ib_qp_cap cap; /**< sizes, set by the Access Layer when create_qp has returned */
	ib_qp_type qp_type;  /**< type */
	uint32_t qp_num;     /**< number, 24 bits: set by create, unique while alive */
	bool sq_sig_all;     /**< every send request generates a completion */
	uint8_t pad[7];      /**< zero */
};

/** End-to-end context. */
struct ci_eec {
	void *ctx;           /**< for ib_dispatch_event() */
	struct ci_rdd *rdd;  /**< domain */
	uint32_t eecn;       /**< number, 24 bits: set by create */
	uint32_t pad;        /**< zero */
};

/** @} */

/**
 * @defgroup ibal_ci_parameters HCA modules: parameters of operations
 * What the operations of struct ci_interface get.
 * @{
 */

/**
 * Data of a user-mode request: buffers from and to the vendor's user-mode provider. The buffers contain no pointers.
 */
struct ci_udata {
	struct ci_client *client; /**< client that made the request */
	const void *in;           /**< data from the provider */
	void *out;                /**< room for data to the provider, zeroed */
	uint32_t in_len;          /**< bytes of in */
	uint32_t out_len;         /**< in: bytes of out; the module sets it to the bytes written */
	const int *fds;           /**< descriptors from the provider; the module duplicates the descriptors that it
				   * keeps */
	uint32_t num_fds;         /**< number of descriptors in fds */
	uint32_t pad;             /**< zero */
};

/** Memory to register. */
struct ci_mem {
	void *addr;      /**< first byte; without a client, the pages are present and permit the access */
	uint64_t length; /**< bytes, at least 1; addr + length does not overflow */
	uint64_t iova;   /**< address by which requests name the first byte; iova + length does not overflow */
	uint64_t offset; /**< offset of the memory in fd */
	int fd;          /**< descriptor of the memory, or -1 */
	uint32_t access; /**< enum ib_access */
	/**
	 * NULL: addr is an address in this process. Else addr is an address in this client, and the module accesses the
	 * memory with ci_client_read() and ci_client_write() only. Always NULL for a module without #CI_CLIENT_MEMORY.
	 */
	struct ci_client *client;
};

/** Creation of a completion queue. */
struct ci_cq_init {
	uint32_t cqe;         /**< in: requested entries; out: granted entries, or the limit */
	uint32_t comp_vector; /**< completion vector */
	al_cq_notify notify;  /**< whether completions already in the queue satisfy an arm */
};

/** Creation of a queue pair. struct ci_qp holds the objects of the handles in attr. */
struct ci_qp_init {
	const struct al_qp_init *attr; /**< the channel driver's attributes */
	struct ib_qp_cap cap;          /**< in: requested sizes; out: granted sizes, or the limits */
	struct ci_rdd *rdd;            /**< RD, or NULL */
	struct ci_xrcd *xrcd;          /**< XRC, or NULL */
};

/** Creation of a shared receive queue. */
struct ci_srq_init {
	struct ib_srq_attr attr; /**< in: requested sizes; out: granted sizes, or the limits */
	ib_srq_type srq_type;    /**< kind */
	struct ci_cq *cq;        /**< XRC, or NULL */
	struct ci_xrcd *xrcd;    /**< XRC, or NULL */
};

/** A vendor's own call. The meaning of code and the buffers is the vendor's. */
struct ci_vendor_call {
	uint32_t code;    /**< code of the call */
	uint32_t in_len;  /**< bytes of in */
	const void *in;   /**< input */
	void *out;        /**< output */
	uint32_t out_len; /**< in: bytes of out; out: bytes written */
	uint32_t pad;     /**< zero */
};

/**
 * Copies the attributes that a mask names: how a module keeps the attributes of its queue pairs, from modify_qp to
 * query_qp. **Context: any.**
 *
 * @param to   attributes of the queue pair; members that mask does not name stay as they are. With #IB_QP_STATE
 *             cur_qp_state becomes the new state, too
 * @param from attributes, as modify_qp has got them
 * @param mask enum ib_qp_attr_mask
 */
static inline void ib_qp_attr_update(struct ib_qp_attr *to, const struct ib_qp_attr *from, uint32_t mask)
{
	if (mask & IB_QP_STATE)
		to->qp_state = to->cur_qp_state = from->qp_state;
	if (mask & IB_QP_EN_SQD_ASYNC_NOTIFY)
		to->en_sqd_async_notify = from->en_sqd_async_notify;
	if (mask & IB_QP_ACCESS_FLAGS)
		to->qp_access_flags = from->qp_access_flags;
	if (mask & IB_QP_PKEY_INDEX)
		to->pkey_index = from->pkey_index;
	if (mask & IB_QP_PORT)
		to->port_num = from->port_num;
	if (mask & IB_QP_QKEY)
		to->qkey = from->qkey;
	if (mask & IB_QP_AV)
		to->ah_attr = from->ah_attr;
	if (mask & IB_QP_PATH_MTU)
		to->path_mtu = from->path_mtu;
	if (mask & IB_QP_TIMEOUT)
		to->timeout = from->timeout;
	if (mask & IB_QP_RETRY_CNT)
		to->retry_cnt = from->retry_cnt;
	if (mask & IB_QP_RNR_RETRY)
		to->rnr_retry = from->rnr_retry;
	if (mask & IB_QP_RQ_PSN)
		to->rq_psn = from->rq_psn;
	if (mask & IB_QP_MAX_QP_RD_ATOMIC)
		to->max_rd_atomic = from->max_rd_atomic;
	if (mask & IB_QP_ALT_PATH) {
		to->alt_ah_attr = from->alt_ah_attr;
		to->alt_port_num = from->alt_port_num;
		to->alt_pkey_index = from->alt_pkey_index;
		to->alt_timeout = from->alt_timeout;
	}
	if (mask & IB_QP_MIN_RNR_TIMER)
		to->min_rnr_timer = from->min_rnr_timer;
	if (mask & IB_QP_SQ_PSN)
		to->sq_psn = from->sq_psn;
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC)
		to->max_dest_rd_atomic = from->max_dest_rd_atomic;
	if (mask & IB_QP_PATH_MIG_STATE)
		to->path_mig_state = from->path_mig_state;
	if (mask & IB_QP_CAP)
		to->cap = from->cap;
	if (mask & IB_QP_DEST_QPN)
		to->dest_qp_num = from->dest_qp_num;
}

/** @} */

/**
 * @defgroup ibal_ci_operations HCA modules: operations
 * A module gives the Access Layer a table of operations for each HCA, struct ci_interface.
 * @{
 */

/** Kinds of object that a module lays out: indices of ci_interface.obj_size. */
enum ci_obj {
	CI_OBJ_CA,   /**< struct ci_ca */
	CI_OBJ_PD,   /**< struct ci_pd */
	CI_OBJ_RDD,  /**< struct ci_rdd */
	CI_OBJ_XRCD, /**< struct ci_xrcd */
	CI_OBJ_AH,   /**< struct ci_ah */
	CI_OBJ_MR,   /**< struct ci_mr */
	CI_OBJ_FMR,  /**< struct ci_fmr */
	CI_OBJ_MW,   /**< struct ci_mw */
	CI_OBJ_CQ,   /**< struct ci_cq */
	CI_OBJ_SRQ,  /**< struct ci_srq */
	CI_OBJ_QP,   /**< struct ci_qp */
	CI_OBJ_EEC,  /**< struct ci_eec */
	CI_OBJ_KINDS = 16 /**< room for more */
};

/** Bits of ci_interface.flags. */
enum ci_interface_flags {
	CI_SERIALISE_CQ = 1 << 0, /**< the Access Layer serialises poll and arm calls of one CQ (seed 001) */
	CI_CLIENT_MEMORY = 1 << 2, /**< register_mr accepts memory of a client: ci_mem.client */
};

/** The atomic operations, numbered in the order of struct ci_interface: bits of ci_interface.may_block. */
enum ci_atomic_op {
	CI_ATOMIC_create_ah,         /**< create_ah */
	CI_ATOMIC_modify_ah,         /**< modify_ah */
	CI_ATOMIC_query_ah,          /**< query_ah */
	CI_ATOMIC_destroy_ah,        /**< destroy_ah */
	CI_ATOMIC_map_phys_fmr,      /**< map_phys_fmr */
	CI_ATOMIC_bind_mw,           /**< bind_mw */
	CI_ATOMIC_dma_mapping_error, /**< dma_mapping_error */
	CI_ATOMIC_poll_cq,           /**< poll_cq */
	CI_ATOMIC_arm_cq,            /**< arm_cq */
	CI_ATOMIC_arm_cq_n,          /**< arm_cq_n */
	CI_ATOMIC_peek_cq,           /**< peek_cq */
	CI_ATOMIC_post_send,         /**< post_send */
	CI_ATOMIC_post_recv,         /**< post_recv */
	CI_ATOMIC_post_srq_recv,     /**< post_srq_recv */
	CI_ATOMIC_revoke_mr,         /**< revoke_mr */
	CI_ATOMIC_OPS                /**< number of atomic operations */
};

/** The bit of an atomic operation in ci_interface.may_block, such as `CI_MAY_BLOCK(post_send)`. */
#define CI_MAY_BLOCK(op) ((uint64_t)1 << CI_ATOMIC_##op)

/**
 * The table of an HCA's operations. The library replaces a member that is NULL by an operation that
 * returns #AL_UNSUPPORTED. If a required member is NULL, the registration is refused, and the log
 * names the member. Some members are required of HCAs only, or of switches only
 * (ib_ca_attr.node_type). A destroy operation is required together with its create operation, as
 * are detach_mcast and the DMA operations that undo another operation. Destroy, deallocate,
 * deregister and close operations return nothing and can not fail: their object has no children and
 * no users, and after their return the module makes no upcall for the object and adds no completion
 * of it.
 *
 * An operation that fails changes nothing and writes nothing back, except the limits where its
 * comment says so.
 */
struct ci_interface {
	uint32_t size;      /**< sizeof(struct ci_interface) as the module was built; members beyond the size count as
			     * NULL */
	uint16_t abi_major; /**< #CI_ABI_MAJOR */
	uint16_t abi_minor; /**< #CI_ABI_MINOR */
	uint32_t flags;     /**< enum ci_interface_flags */
	uint32_t pad;       /**< zero */
	/**
	 * CI_MAY_BLOCK() of each atomic operation that may wait for another process in spite of its mark. For such an
	 * operation the Access Layer holds a reference on the object instead of a read section, which costs more, so
	 * that the wait does not delay the destroy of other objects. In an agent one thread makes every client's posts,
	 * polls and arms, so there the wait delays all clients.
	 */
	uint64_t may_block;
	uint32_t obj_size[CI_OBJ_KINDS]; /**< bytes of the module's struct per kind; 0: the size of the struct in this
					  * header */

	/* HCA */

	/** Required, may sleep. Makes the HCA ready. Called once, by ib_register_ci(). */
	al_status (*open_ca)(struct ci_ca *ca);
	/** Required, may sleep. Undoes open_ca; every object is destroyed. Called once, by ib_deregister_ci(). */
	void (*close_ca)(struct ci_ca *ca);
	/** Required, may sleep. Attributes, constant while open. */
	al_status (*query_ca)(struct ci_ca *ca, struct ib_ca_attr *attr);
	/** Required; may sleep, unless the port has #CI_PORT_MAD_ANY_CONTEXT. Current attributes of
	 * a port. A switch answers for its ports 0 to
	 * num_ports, and gid_tbl_len and pkey_tbl_len of an external port may be 0. */
	al_status (*query_port)(struct ci_ca *ca, uint8_t port, struct ib_port_attr *attr);
	/** Required, may sleep. Entry of the GID table, of a switch port 0's. The Access Layer
	 * reads the tables of all ports when the HCA is registered, and a port's table again on
	 * each IB_EVENT_GID_CHANGE: dispatch that event after a change. */
	al_status (*query_gid)(struct ci_ca *ca, uint8_t port, uint32_t index, ib_gid *gid);
	/** Required, may sleep. Entry of the P_Key table; 0: empty. */
	al_status (*query_pkey)(struct ci_ca *ca, uint8_t port, uint32_t index, uint16_t *pkey);
	/** Optional, may sleep. mask: enum ib_ca_attr_mask. */
	al_status (*modify_ca)(struct ci_ca *ca, uint32_t mask, const struct ib_ca_attr *attr);
	/** Optional, may sleep. mask: enum ib_port_attr_mask. */
	al_status (*modify_port)(struct ci_ca *ca, uint8_t port, uint32_t mask, const struct ib_port_modify *attr);
	/**
	 * Optional, may sleep. A client of the agent opens the HCA; the module may set *um_ctx, which um_close_ca gets.
	 */
	al_status (*um_open_ca)(struct ci_ca *ca, void **um_ctx, struct ci_udata *udata);
	/** Optional (required with um_open_ca), may sleep. The client closes the HCA, or has died. */
	void (*um_close_ca)(struct ci_ca *ca, void *um_ctx);
	/** Optional, may sleep. The vendor's own call. */
	al_status (*vendor_call)(struct ci_ca *ca, struct ci_vendor_call *call, struct ci_udata *udata);

	/* domains */

	/** Required, may sleep. IBTA 11.2.1.5. */
	al_status (*allocate_pd)(struct ci_pd *pd, struct ci_udata *udata);
	/** Required, may sleep. */
	void (*deallocate_pd)(struct ci_pd *pd);
	/** Optional, may sleep. IBTA 11.2.1.7. */
	al_status (*allocate_rdd)(struct ci_rdd *rdd, struct ci_udata *udata);
	/** Optional, may sleep. */
	void (*deallocate_rdd)(struct ci_rdd *rdd);
	/** Optional, may sleep. fd: descriptor of the inode by which processes share the domain, or -1. */
	al_status (*allocate_xrcd)(struct ci_xrcd *xrcd, int fd, struct ci_udata *udata);
	/** Optional, may sleep. */
	void (*deallocate_xrcd)(struct ci_xrcd *xrcd);

	/* address handles (IBTA 11.2.2) */

	/** Required, atomic. */
	al_status (*create_ah)(struct ci_ah *ah, const struct ib_ah_attr *attr, struct ci_udata *udata);
	/** Optional, atomic. Requests posted before keep the old path. */
	al_status (*modify_ah)(struct ci_ah *ah, const struct ib_ah_attr *attr);
	/** Optional, atomic. */
	al_status (*query_ah)(struct ci_ah *ah, struct ib_ah_attr *attr);
	/** Required, atomic. Requests posted before still complete: the module keeps the path for them. */
	void (*destroy_ah)(struct ci_ah *ah);

	/* memory (IBTA 11.2.8); keys are written to the object */

	/** Required, may sleep. Sets lkey and rkey. */
	al_status (*register_mr)(struct ci_mr *mr, const struct ci_mem *mem, struct ci_udata *udata);
	/**
	 * Required, may sleep. Deregisters a region of any kind. After the return the HCA does not access the memory.
	 */
	void (*deregister_mr)(struct ci_mr *mr);
	/** Optional, may sleep. Registers physical pages; *iova in: requested address, out: granted address. */
	al_status (*register_pmr)(struct ci_mr *mr, const struct al_phys_mr_init *init, uint64_t *iova,
				  struct ci_udata *udata);
	/** Optional, may sleep. A second region on the memory of another. */
	al_status (*register_smr)(struct ci_mr *mr, struct ci_mr *of, uint32_t access, uint64_t *iova,
				  struct ci_udata *udata);
	/** Optional, may sleep. mask: enum ib_mr_rereg_mask; pd, mem and access count if the mask names them. */
	al_status (*reregister_mr)(struct ci_mr *mr, uint32_t mask, struct ci_pd *pd, const struct ci_mem *mem,
				   uint32_t access, struct ci_udata *udata);
	/** Optional, may sleep. As reregister_mr, with physical pages. */
	al_status (*reregister_pmr)(struct ci_mr *mr, uint32_t mask, struct ci_pd *pd,
				    const struct al_phys_mr_init *init, uint64_t *iova, struct ci_udata *udata);
	/** Optional, may sleep. */
	al_status (*query_mr)(struct ci_mr *mr, struct ib_mr_attr *attr);
	/** Optional, may sleep. Creates a region for all memory that al_dma_* has mapped. */
	al_status (*get_dma_mr)(struct ci_mr *mr, uint32_t access, struct ci_udata *udata);
	/** Optional, may sleep. Creates a region whose pages #IB_WR_REG_MR sets. */
	al_status (*alloc_fast_reg_mr)(struct ci_mr *mr, uint32_t max_pages, struct ci_udata *udata);
	/** Optional, may sleep. */
	al_status (*alloc_fmr)(struct ci_fmr *fmr, const struct ib_fmr_attr *attr);
	/** Optional, atomic (seed 000). Maps num pages; sets the keys. */
	al_status (*map_phys_fmr)(struct ci_fmr *fmr, const uint64_t *pages, uint32_t num, uint64_t iova);
	/** Optional, may sleep. Unmaps num regions. */
	al_status (*unmap_fmr)(struct ci_fmr *const *fmrs, uint32_t num);
	/** Optional, may sleep. */
	void (*dealloc_fmr)(struct ci_fmr *fmr);
	/** Optional, may sleep. */
	al_status (*allocate_mw)(struct ci_mw *mw, struct ci_udata *udata);
	/** Optional, atomic. Posts the bind of a window of type 1; sets mw->rkey. */
	al_status (*bind_mw)(struct ci_qp *qp, struct ci_mw *mw, struct ci_mr *mr, const struct ib_mw_bind *bind);
	/** Optional, may sleep. */
	void (*deallocate_mw)(struct ci_mw *mw);

	/* DMA; without these operations DMA addresses are the process's own addresses */

	/**
	 * Optional, may sleep. Returns the address for the HCA, or after a failure a value that dma_mapping_error
	 * recognises.
	 */
	uint64_t (*dma_map_single)(struct ci_ca *ca, void *addr, uint64_t length, ib_dma_direction dir);
	/** Optional, may sleep. */
	void (*dma_unmap_single)(struct ci_ca *ca, uint64_t dma, uint64_t length, ib_dma_direction dir);
	/** Optional, may sleep. Fills dma_address and dma_length; returns the elements used, 0 for failure. */
	uint32_t (*dma_map_sg)(struct ci_ca *ca, struct ib_dma_sg *sg, uint32_t num, ib_dma_direction dir);
	/** Optional, may sleep. */
	void (*dma_unmap_sg)(struct ci_ca *ca, struct ib_dma_sg *sg, uint32_t num, ib_dma_direction dir);
	/** Optional, atomic. True: dma is the result of a map that failed. */
	bool (*dma_mapping_error)(struct ci_ca *ca, uint64_t dma);
	/** Optional, may sleep. Called before the processor reads or writes the memory. */
	void (*dma_sync_for_cpu)(struct ci_ca *ca, uint64_t dma, uint64_t length, ib_dma_direction dir);
	/** Optional, may sleep. Called before the HCA reads or writes the memory. */
	void (*dma_sync_for_device)(struct ci_ca *ca, uint64_t dma, uint64_t length, ib_dma_direction dir);
	/** Optional, may sleep. Allocates memory that processor and HCA access coherently. NULL: no memory is left. */
	void *(*dma_alloc_coherent)(struct ci_ca *ca, uint64_t length, uint64_t *dma);
	/** Optional, may sleep. */
	void (*dma_free_coherent)(struct ci_ca *ca, uint64_t length, void *addr, uint64_t dma);

	/* completion queues (IBTA 11.2.6, 11.4.2) */

	/** Required, may sleep. Sets init->cqe to the granted entries, never less than requested; the Access Layer
	 * copies the value to cq->cqe. Over the limit: #AL_LIMIT_EXCEEDED, and init->cqe is the limit. */
	al_status (*create_cq)(struct ci_cq *cq, struct ci_cq_init *init, struct ci_udata *udata);
	/** Required, may sleep. */
	void (*destroy_cq)(struct ci_cq *cq);
	/**
	 * Required, atomic. Moves up to num completions to wc and sets *count to their number. An empty queue is
	 * success with
	 * *count 0. A count above num is logged and treated as num.
	 */
	al_status (*poll_cq)(struct ci_cq *cq, uint32_t num, struct ib_wc *wc, uint32_t *count);
	/**
	 * Required, atomic. Arms the queue for one notification. type: errors, solicited or any. If an earlier arm is
	 * not yet satisfied, the wider of the two types holds. *present (may be NULL): the queue held completions at
	 * the call; whether these satisfy the arm depends on cq->notify (al_cq_notify).
	 */
	al_status (*arm_cq)(struct ci_cq *cq, al_arm type, bool *present);
	/**
	 * Optional, atomic. Asks for one notification when the queue holds num completions, at once if it already does.
	 */
	al_status (*arm_cq_n)(struct ci_cq *cq, uint32_t num);
	/** Optional, atomic. Sets *count to the number of completions in the queue, at most max. */
	al_status (*peek_cq)(struct ci_cq *cq, uint32_t max, uint32_t *count);
	/**
	 * Optional, may sleep. *cqe in: requested entries, within max_cqe; out: granted entries, never fewer. A failure
	 * leaves queue, completions and *cqe unchanged: #AL_TOO_SMALL if the queue holds more completions than
	 * requested entries, #AL_CQ_ERROR if the queue has overflowed; only #AL_LIMIT_EXCEEDED sets *cqe, to the limit.
	 * Completions keep their order, and arms stay. An arm_cq_n for more completions than the queue has entries
	 * afterwards is satisfied by a full queue. The Access Layer serialises the resizes of a queue; meanwhile
	 * completions arrive, and other threads poll and arm. The Access Layer sets cq->cqe after the return, so a
	 * module whose other operations need the size stores it itself.
	 */
	al_status (*resize_cq)(struct ci_cq *cq, uint32_t *cqe, struct ci_udata *udata);
	/**
	 * Optional, may sleep. Moderates the notifications that arm_cq asks for (al_modify_cq()): a notification
	 * follows after count completions, the completion that satisfies the arm included, or period microseconds after
	 * that completion. count 0 and 1: no moderation; period 0: no time limit. Moderation delays a notification and
	 * never drops it: a queue that becomes full or overflows, and a further modify_cq, send a delayed notification
	 * at once. #AL_CQ_ERROR: the queue has overflowed.
	 */
	al_status (*modify_cq)(struct ci_cq *cq, uint16_t count, uint16_t period);
	/** Optional, may sleep. */
	al_status (*query_cq)(struct ci_cq *cq, struct al_cq_attr *attr);

	/* queue pairs (IBTA 11.2.4, 11.4.1) */

	/**
	 * Required of HCAs, may sleep. Sets init->cap to the granted sizes, never less than
	 * requested (the Access Layer copies them to qp->cap), and qp->qp_num to a number that no
	 * other queue pair of the HCA has until destroy_qp is called. Over a limit:
	 * #AL_LIMIT_EXCEEDED, and init->cap holds the limits.
	 */
	al_status (*create_qp)(struct ci_qp *qp, struct ci_qp_init *init, struct ci_udata *udata);
	/**
	 * Required, may sleep. The Access Layer has checked transition and attributes against the state that query_qp
	 * returned just before. A destroyed queue pair that a callback or a call still references is taken to Reset
	 * with udata NULL, also when a client owned the queue pair; destroy_qp follows.
	 */
	al_status (*modify_qp)(struct ci_qp *qp, const struct ib_qp_attr *attr, uint32_t mask, struct ci_udata *udata);
	/** Required, may sleep. All attributes and the current state. */
	al_status (*query_qp)(struct ci_qp *qp, struct ib_qp_attr *attr);
	/** Required, may sleep. Removes the queue pair's completions from its CQs. */
	void (*destroy_qp)(struct ci_qp *qp);
	/**
	 * Required, atomic. Posts a chain of requests. On failure *bad is the first request that was not posted; the
	 * requests after it are not posted either. A *bad that is no request of the chain is logged, and the caller
	 * gets the first request instead.
	 */
	al_status (*post_send)(struct ci_qp *qp, const struct ib_send_wr *wr, const struct ib_send_wr **bad);
	/** Required, atomic. Posts a chain of receive requests; *bad as in post_send. */
	al_status (*post_recv)(struct ci_qp *qp, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad);
	/**
	 * Required of switches, may sleep. Creates QP0, QP1 or a raw queue pair on a port. A switch
	 * has QP0 and QP1 on port 0 only. A datagram of a switch's QP0 leaves by the external port
	 * wr.ud.port_num, with permissive LIDs if the address has the permissive LID; if
	 * wr.ud.port_num is 0, the forwarding table leads the datagram, and one for the switch's
	 * own LID comes back to port 0. The completion of a datagram that port 0 has received says
	 * in ib_wc.port_num which external port the datagram came in by; 0: the switch itself sent
	 * the datagram.
	 */
	al_status (*create_spl_qp)(struct ci_qp *qp, uint8_t port, struct ci_qp_init *init, struct ci_udata *udata);
	/** Optional, may sleep. Over a limit: #AL_LIMIT_EXCEEDED, and init->attr holds the limits. */
	al_status (*create_srq)(struct ci_srq *srq, struct ci_srq_init *init, struct ci_udata *udata);
	/** Optional, may sleep. mask: enum ib_srq_attr_mask; a new size is written back. */
	al_status (*modify_srq)(struct ci_srq *srq, struct ib_srq_attr *attr, uint32_t mask, struct ci_udata *udata);
	/** Optional, may sleep. */
	al_status (*query_srq)(struct ci_srq *srq, struct ib_srq_attr *attr);
	/** Optional, may sleep. */
	void (*destroy_srq)(struct ci_srq *srq);
	/** Optional, atomic. */
	al_status (*post_srq_recv)(struct ci_srq *srq, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad);
	/** Optional, may sleep. */
	al_status (*create_eec)(struct ci_eec *eec, struct ci_udata *udata);
	/** Optional, may sleep. mask: enum ib_qp_attr_mask, restricted to attributes of struct ib_eec_attr. */
	al_status (*modify_eec)(struct ci_eec *eec, const struct ib_eec_attr *attr, uint32_t mask, struct ci_udata *udata);
	/** Optional, may sleep. */
	al_status (*query_eec)(struct ci_eec *eec, struct ib_eec_attr *attr);
	/** Optional, may sleep. */
	void (*destroy_eec)(struct ci_eec *eec);

	/* multicast (IBTA 11.3) */

	/**
	 * Optional, may sleep. Makes a datagram queue pair a member of a group: a multicast GID
	 * with a multicast LID, which the Access Layer has checked. Permitted in every state; the
	 * membership lasts until detach_mcast or destroy_qp. A second attach of a queue pair to one
	 * group changes nothing. ib_ca_attr.max_mcast_grp, max_mcast_qp_attach or
	 * max_total_mcast_qp_attach is reached: #AL_LIMIT_EXCEEDED. The member gets one copy of
	 * each datagram that reaches the queue pair's port, and of each that leaves by that port.
	 * The sender itself gets a copy if it is a member, unless al_qp_init.block_mcast_loopback
	 * was set.
	 */
	al_status (*attach_mcast)(struct ci_qp *qp, const ib_gid *gid, uint16_t mlid);
	/** Optional, may sleep. Afterwards the queue pair receives nothing more by the group. No
	 * member: #AL_NOT_FOUND. */
	al_status (*detach_mcast)(struct ci_qp *qp, const ib_gid *gid, uint16_t mlid);

	/* management */

	/** Required if a port has a bit of enum ci_port_cap; may sleep, unless the port has
	 * #CI_PORT_MAD_ANY_CONTEXT. The part of a MAD's
	 * processing that needs the hardware. Of a switch port 0 alone has such bits, and port is
	 * the port that the attribute belongs to: 0 to num_ports. */
	al_status (*local_mad)(struct ci_ca *ca, uint8_t port, const struct ib_ah_attr *src,
			       const struct ci_local_mad_in *in, struct ci_local_mad_out *out);

	/* added in minor version 1 */

	/**
	 * Optional, atomic. The first half of deregister_mr: ends the region's keys, so that no
	 * access begins afterwards, and waits for nothing. The Access Layer calls revoke_mr once,
	 * then waits for a grace period, which serves all regions that are deregistered together,
	 * and calls deregister_mr. The grace period lasts until every post, poll, peek and arm that
	 * began before the return of revoke_mr has ended, and every read section of liburcu-bp
	 * (`urcu_bp_read_lock()`), by which threads of the module's own can take part. So a module
	 * with this operation needs no count of the accesses to a region. deregister_mr is also
	 * called without revoke_mr, where a region has just been made and can not be kept, and then
	 * waits for the accesses itself.
	 */
	void (*revoke_mr)(struct ci_mr *mr);
};

/** @} */

/**
 * @defgroup ibal_ci_registration HCA modules: registration
 * A module registers each HCA that it drives, and withdraws the HCA when it goes.
 * @{
 */

/**
 * Registers an HCA, which must be ready for use (seed 000), or a switch. Checks the table, opens
 * the HCA, reads its attributes, and queues its announcement to clients; a switch is not announced.
 * **Context: may sleep**, from probe or scan, or later from a thread of the module; the caller
 * holds no lock that an operation needs.
 *
 * @param host  the pointer that init() got
 * @param ci    table of operations; must stay valid until ib_deregister_ci() has returned
 * @param hca   pointer of the module, which every operation finds in ci_ca.hca
 * @param handle written: the registration
 * @retval AL_SUCCESS the HCA is known by its node GUID
 * @retval AL_INVALID_PARAMETER a NULL, an obj_size smaller than the struct of this header, an
 * unknown bit in flags or may_block
 * @retval AL_MODULE_FAILED query_ca or query_port returned a value out of its range; the log names
 * the value
 * @retval AL_MODULE_ABI size or ABI number do not match; the log names both
 * @retval AL_MODULE_MISSING_OP a required operation is missing; the log names the operation
 * @retval AL_DUPLICATE the node GUID is known on this host already
 * @retval AL_INVALID_STATE the module is being unloaded
 * @retval AL_INSUFFICIENT_MEMORY out of memory
 * @retval AL_INSUFFICIENT_RESOURCES no thread could be started
 * @return else what open_ca or a query returned
 */
al_status ib_register_ci(struct ci_host *host, const struct ci_interface *ci, void *hca, ci_handle *handle);

/** Flags of ib_deregister_ci(). */
enum ci_deregister_flags {
	CI_HCA_GONE = 1 << 0, /**< the hardware is absent already: only destroy operations and close_ca are called */
};

/**
 * Withdraws an HCA. Clients' `remove` callbacks run while every operation still works (unless #CI_HCA_GONE); objects
 * that clients leave behind are destroyed in the module and named in the log. Returns when no object, operation or
 * upcall is left.
 * **Context: may sleep**. A call from inside an operation is refused. A call from a thread that an operation waits for
 * never returns.
 *
 * @param handle from ib_register_ci(); invalid afterwards
 * @param flags  enum ci_deregister_flags
 * @retval AL_SUCCESS         the HCA is withdrawn; a call from remove, cleanup or a thread of the module's own never
 *         fails
 * @retval AL_INVALID_PARAMETER an unknown bit in flags; nothing has happened
 * @retval AL_INVALID_CONTEXT the call is made from inside an operation, for whose end it would wait; nothing has
 *         happened
 * @retval AL_INVALID_HANDLE  no such HCA is registered, or another thread is withdrawing it
 */
al_status ib_deregister_ci(ci_handle handle, uint32_t flags);

/** @} */

/**
 * @defgroup ibal_ci_upcalls HCA modules: upcalls
 * By these calls a module tells the Access Layer what has happened.
 * @{
 */

/** An event that an HCA reports. */
struct ci_event {
	ib_event_type type; /**< type of the event */
	uint8_t port_num;   /**< port events: port, from 1; of a switch also 0 */
	uint8_t pad[3];     /**< zero */
	void *object_ctx;   /**< affiliated events: ctx of the ci_cq, ci_qp, ci_srq or ci_eec; else ctx of the ci_ca */
};

/**
 * Notifies the Access Layer that the arm of a completion queue is satisfied. The module clears the arm and then makes
 * this upcall, once per arm. **Context: any**, operations included; the caller holds no lock that an operation takes.
 * The function only queues a callback: it does not block, allocate or call the callback itself.
 *
 * @param cq_ctx ci_cq.ctx; NULL, or the ctx of another kind of object, is logged and dropped
 */
void ib_cq_notify(void *cq_ctx);

/**
 * Reports an asynchronous event. **Context: any**, as ib_cq_notify(). Events of one type for one object merge until
 * they are delivered. Events of one port are delivered in the order of these calls: port states step by step, also if
 * the module leaves states out, and a change (LID, P_Keys, GIDs, subnet manager, client reregister) before the step
 * that was reported after it. So report a change before the state that follows it, from one thread at a time or under a
 * lock, and with the new value in place already: the client's query may come at once.
 *
 * @param event copied; NULL, or an event of an unknown type, is logged and dropped
 */
void ib_dispatch_event(const struct ci_event *event);

/**
 * Raises a trap of a port whose subnet management agent is in the Access Layer. The port has
 * #CI_PORT_SMA_IN_AL. The agent keeps the notice for Get(Notice), and sends the trap to the
 * subnet manager until the manager represses the trap (IBTA 14.2.5.1).
 * **Context: any**, as ib_cq_notify(). Repeated notices of one cause are one trap, and notices that
 * come faster than they can be taken are lost. The functions of ib_notice.h fill in a notice.
 *
 * @param ca_ctx ci_ca.ctx; NULL is logged and dropped
 * @param port   port, from 1; of a switch 0
 * @param notice copied; NULL, or a notice for a port that has no such agent, is logged and dropped
 */
void ib_port_trap(void *ca_ctx, uint8_t port, const struct ib_notice *notice);

/**
 * Tells the Access Layer of a packet that a port's own management agents have carried out (SAS).
 * The packet is a subnet management packet, and the port, of an adapter that has the agents itself,
 * is without #CI_PORT_SMA_IN_AL. The Access Layer raises the events of what the packet has changed: of a Set(PortInfo)
 * #IB_EVENT_LID_CHANGE, #IB_EVENT_GID_CHANGE and #IB_EVENT_SM_CHANGE, as far as LID and LMC, GID
 * prefix, LID and service level of the subnet manager differ from those of the last Set(PortInfo)
 * seen, and #IB_EVENT_CLIENT_REREGISTER if the packet asks for that; #IB_EVENT_GID_CHANGE of a
 * Set(GUIDInfo); #IB_EVENT_PKEY_CHANGE of a Set(P_KeyTable). Other datagrams change nothing.
 *
 * Call the function when the new values are in place, only for requests that the agents have not
 * refused, and before ib_dispatch_event() reports the port state that the packet leads to: port
 * states remain the module's to report. What the function tells needs no ib_dispatch_event(); a
 * change that no packet has made does. Events have the order of the calls, so they come from one
 * thread at a time or under a lock. What the agents have not consumed is delivered to the port's
 * special queue pair and is not told.
 * **Context: any**, as ib_cq_notify().
 *
 * @param ca_ctx ci_ca.ctx; NULL, or the ctx of an object, is logged and dropped
 * @param port   port that the packet has come in at, from 1; of a switch 0. Another port, or one
 * whose subnet management agent is the Access Layer's, is logged and dropped.
 * @param mad    the request as it came, without GRH; NULL is logged and dropped
 * @param length bytes at mad: #IB_MAD_BYTES; another number is logged and dropped
 */
void ib_mad_seen(void *ca_ctx, uint8_t port, const void *mad, uint32_t length);

/** @} */

/**
 * @defgroup ibal_ci_clients HCA modules: clients of the agent
 * In an agent, the memory of a client is in another process. A module reaches it in jobs on the
 * client's own thread.
 * @{
 */

/** A job for a client's own thread, in memory of the module. */
struct ci_client_job {
	void (*run)(struct ci_client_job *job); /**< called once, on the client's thread; from then on the module owns
						 * the job again */
	uint32_t *under_way; /**< counter of the module's jobs, or NULL: decremented atomically when run has returned
			      * and the thread has left the module's code; the module waits for 0 (futex) before it is
			      * unloaded */
	struct ci_client_job *next;             /**< used by the Access Layer until run is called */
};

/**
 * Runs a job on the client's own thread, after the jobs that were given before. Only this thread copies the client's
 * memory: a copy may block as long as the client's mapping makes it wait, and must not block other clients. A client
 * with a region has such a thread. A client is notified of the end of a region or queue pair, or of a reset, when the
 * jobs given before have run. **Context: any.**
 *
 * @param client ci_mem.client
 * @param job    job with run set
 */
void ci_client_run(struct ci_client *client, struct ci_client_job *job);

/**
 * Copies from a client's memory. **Context: inside a job of ci_client_run() of that client**; the copy may wait for the
 * client's mapping (for example for a page of a file).
 *
 * @param client ci_mem.client; valid until the client's last object is destroyed
 * @param addr   address in the client
 * @param to     room for length bytes
 * @param length bytes
 * @retval AL_INVALID_ADDRESS the memory is no longer mapped, or the client has ended; some bytes may have been copied
 */
al_status ci_client_read(struct ci_client *client, uint64_t addr, void *to, uint64_t length);

/** Copies to a client's memory; context as ci_client_read(). @param client ci_mem.client @param addr address in the
 * client
 * @param from length bytes @param length bytes @retval AL_INVALID_ADDRESS as ci_client_read() */
al_status ci_client_write(struct ci_client *client, uint64_t addr, const void *from, uint64_t length);

/**
 * Passes a descriptor to the user-mode provider whose request is being served. The post-hook finds the descriptor in
 * uvp_call.out_fds. If the request fails, the descriptor is closed. **Context: inside the operation that got udata**,
 * may sleep.
 *
 * @param udata the operation's parameter; not NULL
 * @param fd    descriptor, which is duplicated; the module keeps its own
 * @retval AL_LIMIT_EXCEEDED         the request has the maximum number of descriptors (UVP_MAX_FDS of ib_uvp.h)
 * @retval AL_INVALID_PARAMETER      fd is no descriptor
 * @retval AL_INSUFFICIENT_RESOURCES the process has reached its limit of descriptors
 */
al_status ci_client_give_fd(struct ci_udata *udata, int fd);

/** @} */

/**
 * @defgroup ibal_ci_requests HCA modules: handles in work requests
 * A work request names objects by handles, which a module turns into its own objects.
 * @{
 */

/**
 * Finds the address handle of a work request. **Context: any**, inside post_send only: the pointer is valid until
 * post_send returns. NULL: the handle is invalid, or belongs to another HCA or opening of the library than the queue
 * pair; then the module refuses the request with #AL_INVALID_HANDLE. The module compares the protection domains. If
 * ci_interface.may_block names post_send, the Access Layer keeps a reference on each object until post_send returns;
 * NULL then also means that no memory was left to store the reference.
 *
 * @param qp the queue pair posted to
 * @param ah handle in the request
 */
struct ci_ah *ci_wr_ah(const struct ci_qp *qp, al_ah_h ah);

/**
 * Finds the memory window of a work request, as ci_wr_ah(). @param qp the queue pair posted to @param mw handle in the
 * request
 */
struct ci_mw *ci_wr_mw(const struct ci_qp *qp, al_mw_h mw);

/**
 * Finds the memory region of a work request, as ci_wr_ah(). @param qp the queue pair posted to @param mr handle in the
 * request
 */
struct ci_mr *ci_wr_mr(const struct ci_qp *qp, al_mr_h mr);

/** @} */

/**
 * @defgroup ibal_ci_memory HCA modules: memory
 * Allocations of the library and its modules, which a test can make fail.
 * @{
 */

/**
 * Allocates zeroed memory. The library and its modules make all allocations after their start with this function, so
 * that a test can make any allocation fail (al_fail_alloc()) and check the clean-up. **Context: any.**
 *
 * @param size bytes, at least 1
 * @return the memory, aligned to 16 bytes, to be freed with al_free(); NULL: no memory is left
 */
void *al_alloc(size_t size);

/**
 * Allocates zeroed memory with an alignment. **Context: any.** @param align a power of two @param size bytes @return
 * memory, or NULL
 */
void *al_alloc_aligned(size_t align, size_t size);

/** Frees memory from al_alloc() or al_alloc_aligned(). **Context: any.** @param mem memory, or NULL */
void al_free(void *mem);

/**
 * Makes one allocation fail, for tests. **Context: any.**
 *
 * @param nth 1: this thread's next allocation fails, 2: the allocation after that, and so on; 0: no allocation fails
 * @return number of allocations that were left up to the failure ordered last; 0: the failure has happened, or none was
 *         ordered
 */
uint64_t al_fail_alloc(uint64_t nth);

/** @} */

/**
 * @defgroup ibal_ci_log HCA modules: log and trace
 * What a module tells people.
 * @{
 */

#if defined(__GNUC__)
#define IB_PRINTF(fmt, args) __attribute__((format(printf, fmt, args))) /**< checked like printf */
#define IB_COLD __attribute__((cold))					       /**< seldom called */
#else
#define IB_PRINTF(fmt, args) /**< not checked */
#define IB_COLD		     /**< seldom called */
#endif

/**
 * Writes a sentence to the log: what failed, where, and the way out. **Context: any**; the call may wait for the log's
 * reader.
 *
 * @param level importance
 * @param who   component, such as the module's name
 * @param fmt   as printf, without a new-line
 */
void ib_log(ib_log_level level, const char *who, const char *fmt, ...) IB_PRINTF(3, 4);

/**
 * Refuses the call that the calling thread makes: keeps the reason, which al_reason() returns to the program, and
 * returns the status. The reason is one sentence without a full stop. It names the value that is wrong and the values
 * that are right, in the words of the attributes (`pkey_index is 5, and the P_Key table has 4 entries`).
 * **Context: any.**
 *
 * @param status status that the operation returns
 * @param fmt    as printf, without a new-line; control characters become blanks
 * @return status
 */
al_status ib_refuse(al_status status, const char *fmt, ...) IB_PRINTF(2, 3) IB_COLD;
#ifdef __clang_analyzer__
/* For the analyser, which cannot know it: the result is the status that the caller gives. */
#define ib_refuse(status, ...) ((void)ib_refuse(status, __VA_ARGS__), (status))
#endif

/**
 * Tells why a request of a queue pair failed, beside its completion: keeps the reason for al_query_failure(), and logs a
 * line (debug). The module calls it once per request or receive that fails, before it adds the completion, and not for
 * requests that are flushed. **Context: any**; unlike the upcalls it may be made under locks that operations take, so that
 * the reason is there before the completion. The function neither blocks nor allocates.
 *
 * @param qp_ctx ci_qp.ctx; another value is logged and dropped
 * @param wr_id  of the request
 * @param status of its completion
 * @param fmt    as printf: one sentence without a full stop
 */
void ib_request_failed(void *qp_ctx, uint64_t wr_id, ib_wc_status status, const char *fmt, ...) IB_PRINTF(4, 5) IB_COLD;

/** True: `IBAL_TRACE` is set. Read through IB_TRACE(). */
extern bool ib_trace_on;

/**
 * Writes a line to the trace (`IBAL_TRACE`): time, process, thread, actor, step. Called by the component that takes the
 * step.
 *
 * @param actor component: "driver" (channel driver), "al", "ci", or the module's name
 * @param fmt   as printf, without a new-line
 */
void ib_trace(const char *actor, const char *fmt, ...) IB_PRINTF(2, 3);

/** Calls ib_trace() if the trace is on. Costs one predicted branch if the trace is off. */
#define IB_TRACE(...) \
	do { \
		if (__builtin_expect(ib_trace_on, 0)) \
			ib_trace(__VA_ARGS__); \
	} while (0)

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* IBA_IB_HCA_H */
