/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/**
 * @file ib_hca.h
 * @brief The Channel Interface: everything that an HCA vendor reads.
 *
 * A vendor's module is a shared object in the module directory that exports one symbol, #ci_module. The loader calls
 * its functions; they find HCAs and announce each with ib_register_ci(), handing over a table of operations,
 * struct ci_interface. From then on the Access Layer calls the operations ("ci_create_qp" in prose is the member
 * create_qp), and the HCA reports upwards with ib_cq_notify() and ib_dispatch_event().
 *
 * Every operation is marked *may sleep* or *atomic*. Atomic ones must not block on anything but short critical
 * sections of the module itself (unless ci_interface.may_block names the operation), and are called from any context. All operations are reentrant: the module
 * synchronises (seed 000). No operation, of either mark, may call a channel driver's callback: it queues, by upcall.
 *
 * The Access Layer has checked before it calls: handles, that the objects belong together, reserved fields, port
 * numbers and table indices against ci_query_ca and ci_query_port, creation limits against ci_query_ca, state
 * transitions with their attribute masks and the attributes' ranges. Work requests arrive unchecked and unchanged.
 */
#ifndef IBA_IB_HCA_H
#define IBA_IB_HCA_H

#include <iba/ib_verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CI_ABI_MAJOR 2 /**< tables of another major number are refused */
#define CI_ABI_MINOR 0 /**< grows when members are added at the end */

struct ci_host;   /**< where a module's HCAs belong; opaque */
struct ci_client; /**< the process behind a user-mode request; opaque */
struct ci_local_mad_in;  /**< see ib_mad.h */
struct ci_local_mad_out; /**< see ib_mad.h */

/** A registered HCA, as ib_register_ci() names it. */
typedef struct ci_registration *ci_handle;

/* ------------------------------------------------------------------ module */

#define CI_PCI_ANY 0xffffffffu /**< wildcard in a struct ci_pci_id */

/** One line of a module's PCI id table. */
struct ci_pci_id {
	uint32_t vendor;       /**< PCI vendor id, or #CI_PCI_ANY */
	uint32_t device;       /**< PCI device id, or #CI_PCI_ANY */
	uint32_t class_code;   /**< class and subclass, 16 bits (0x0207 is "InfiniBand"), under class_mask */
	uint32_t class_mask;   /**< bits of class_code that count; 0: any class */
	uintptr_t driver_data; /**< the module's own; handed to probe */
};

/** One base address register. */
struct ci_pci_bar {
	uint64_t addr; /**< physical address; 0: none */
	uint64_t size; /**< bytes; 0 where the bus can not tell (a recorded dump) */
};

/** A PCI function, as probe() gets it. Valid until remove() has returned. */
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
	char sysfs_path[128];       /**< for VFIO; empty: not from a live bus */
	uintptr_t driver_data;      /**< of the id table's line that matched */
	void *module_data;          /**< the module's own: set in probe, found again in remove */
};

/** One setting from `ibal.conf` or the environment for this module. */
struct ci_param {
	const char *section; /**< what follows the module's name in the group: "" for [soft], "hca A" for [soft hca A] */
	const char *key;     /**< key */
	const char *value;   /**< value, never NULL */
	const char *origin;  /**< file or environment variable, for messages */
};

/** All settings for a module, in the order of the file, the environment's last. Valid during init() only. */
struct ci_params {
	size_t count;                 /**< elements of param */
	const struct ci_param *param; /**< the settings */
};

/**
 * A module. Exported as `const struct ci_module ci_module`. All functions may sleep; the loader calls one at a time
 * per module. remove and cleanup can not fail: what is in use is never unloaded (SAS 2.3).
 */
struct ci_module {
	uint32_t size;       /**< sizeof(struct ci_module) */
	uint16_t abi_major;  /**< #CI_ABI_MAJOR */
	uint16_t abi_minor;  /**< #CI_ABI_MINOR */
	const char *name;    /**< unique, of a-z, 0-9, _ and -, at most 31: the file is NAME.so, the group in `ibal.conf` [NAME] */
	const char *version; /**< the vendor's version, for people */
	const char *license; /**< SPDX expression */
	const struct ci_pci_id *pci_ids; /**< num_pci_ids lines; NULL: not on PCI */
	uint32_t num_pci_ids; /**< lines of pci_ids */
	uint32_t flags;       /**< zero */
	/**
	 * After loading. An unknown or wrong parameter: say which with ib_log() and return #AL_BAD_CONFIG. Starts afresh,
	 * whatever the module's variables hold: after a cleanup the image may have stayed, and a forked child, where the
	 * library starts again, has its parent's. After a failure nothing else of the module is called. Optional.
	 */
	al_status (*init)(struct ci_host *host, const struct ci_params *params);
	/** For each PCI function that matches pci_ids. A failure is logged and the function left alone. Optional. */
	al_status (*probe)(struct ci_pci_dev *dev);
	/** Announces HCAs that are not on PCI. Called once, after init; after a failure cleanup follows. Optional. */
	al_status (*scan)(void);
	/** The PCI function goes, or the module: withdraw its HCA with ib_deregister_ci(). Required with probe. */
	void (*remove)(struct ci_pci_dev *dev);
	/** Before unloading: withdraw every HCA that scan announced, release everything. Required. */
	void (*cleanup)(void);
};

/** The one symbol that a module exports. */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
extern const struct ci_module ci_module;

/* ----------------------------------------------------------------- objects */

/**
 * What the module sees of each object. A vendor's struct begins with the matching one; ci_interface.obj_size tells how
 * large the whole is. The Access Layer allocates it zeroed, aligned to 64 bytes, fills in the members below, calls the
 * create operation, and frees it some time after the destroy operation: no module has an allocation to unwind for the
 * object itself. `ctx` is the Access Layer's, to be handed back in upcalls and never looked into.
 */
struct ci_ca {
	void *ctx;     /**< Access Layer's */
	void *hca;     /**< as given to ib_register_ci() */
};

/** Protection domain. */
struct ci_pd {
	void *ctx;         /**< Access Layer's */
	struct ci_ca *ca;  /**< HCA */
};

/** Reliable datagram domain. */
struct ci_rdd {
	void *ctx;         /**< Access Layer's */
	struct ci_pd *pd;  /**< whose it is; serves queue pairs of any PD (SAS deviation 2) */
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
	uint32_t bound_windows; /**< kept by the module, read atomically by the Access Layer: not 0 refuses al_dereg_mr() */
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
	struct ci_pd *pd;  /**< whose it is; serves queue pairs of any PD (SAS deviation 2) */
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
	void *owner_context; /**< the channel driver's: goes into ib_wc.qp_context */
	struct ci_pd *pd;    /**< domain */
	struct ci_cq *send_cq; /**< completions of the send queue */
	struct ci_cq *recv_cq; /**< completions of the receive queue */
	struct ci_srq *srq;  /**< or NULL */
	struct ib_qp_cap cap; /**< sizes: as set by create */
	ib_qp_type qp_type;  /**< type */
	uint32_t qp_num;     /**< number, 24 bits: set by create, unique while alive */
	bool sq_sig_all;     /**< every send request completes visibly */
	uint8_t pad[7];      /**< zero */
};

/** End-to-end context. */
struct ci_eec {
	void *ctx;           /**< for ib_dispatch_event() */
	struct ci_rdd *rdd;  /**< domain */
	uint32_t eecn;       /**< number, 24 bits: set by create */
	uint32_t pad;        /**< zero */
};

/* --------------------------------------------------------- what crosses down */

/** Buffers of a user-mode request: one from, one to the vendor's user-mode provider. They hold no pointers. */
struct ci_udata {
	struct ci_client *client; /**< who asks */
	const void *in;           /**< from the provider */
	void *out;                /**< to the provider */
	uint32_t in_len;          /**< bytes */
	uint32_t out_len;         /**< bytes there, zeroed; the module writes back those used */
	const int *fds;           /**< descriptors that came with the request; the module duplicates what it keeps */
	uint32_t num_fds;         /**< of them */
	uint32_t pad;             /**< zero */
};

/** Memory to register. */
struct ci_mem {
	void *addr;      /**< first byte; in this process its pages are there and permit the access */
	uint64_t length; /**< bytes, at least 1; addr + length does not overflow */
	uint64_t iova;   /**< address by which requests name the first byte; iova + length does not overflow */
	uint64_t offset; /**< offset in fd */
	int fd;          /**< the memory's descriptor, or -1 */
	uint32_t access; /**< enum ib_access */
	/**
	 * NULL: of this process. Else addr is an address in this client, whose memory is reached by ci_client_read() and
	 * ci_client_write() only; never with a module that does not say #CI_CLIENT_MEMORY.
	 */
	struct ci_client *client;
};

/** Creation of a completion queue. */
struct ci_cq_init {
	uint32_t cqe;         /**< in: entries wanted; out: entries there, or the limit */
	uint32_t comp_vector; /**< vector */
	al_cq_notify notify;  /**< what an arm makes of completions already there */
};

/** Creation of a queue pair: the caller's attributes, the handles in it translated in struct ci_qp. */
struct ci_qp_init {
	const struct al_qp_init *attr; /**< as the channel driver gave it */
	struct ib_qp_cap cap;          /**< in: sizes wanted; out: sizes there, or the limits */
	struct ci_rdd *rdd;            /**< RD, or NULL */
	struct ci_xrcd *xrcd;          /**< XRC, or NULL */
};

/** Creation of a shared receive queue. */
struct ci_srq_init {
	struct ib_srq_attr attr; /**< in: wanted; out: there, or the limits */
	ib_srq_type srq_type;    /**< kind */
	struct ci_cq *cq;        /**< XRC, or NULL */
	struct ci_xrcd *xrcd;    /**< XRC, or NULL */
};

/** A vendor's own call. The meaning of code and the buffers is the vendor's. */
struct ci_vendor_call {
	uint32_t code;    /**< what to do */
	uint32_t in_len;  /**< bytes of in */
	const void *in;   /**< input */
	void *out;        /**< output */
	uint32_t out_len; /**< in: bytes of out; out: bytes written */
	uint32_t pad;     /**< zero */
};

/* ---------------------------------------------------------------- the table */

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
	CI_SERIALISE_CQ = 1 << 0, /**< the Access Layer calls poll and arm of one CQ one at a time (seed 001) */
	CI_CLIENT_MEMORY = 1 << 2, /**< register_mr takes memory of a client: ci_mem.client */
};

/** The atomic operations, numbered in the order of struct ci_interface: bits of ci_interface.may_block. */
enum ci_atomic_op {
	CI_ATOMIC_create_ah,    /**< create_ah */
	CI_ATOMIC_modify_ah,    /**< modify_ah */
	CI_ATOMIC_query_ah,     /**< query_ah */
	CI_ATOMIC_destroy_ah,   /**< destroy_ah */
	CI_ATOMIC_map_phys_fmr, /**< map_phys_fmr */
	CI_ATOMIC_bind_mw,      /**< bind_mw */
	CI_ATOMIC_dma_mapping_error, /**< dma_mapping_error */
	CI_ATOMIC_poll_cq,      /**< poll_cq */
	CI_ATOMIC_arm_cq,       /**< arm_cq */
	CI_ATOMIC_arm_cq_n,     /**< arm_cq_n */
	CI_ATOMIC_peek_cq,      /**< peek_cq */
	CI_ATOMIC_post_send,    /**< post_send */
	CI_ATOMIC_post_recv,    /**< post_recv */
	CI_ATOMIC_post_srq_recv, /**< post_srq_recv */
	CI_ATOMIC_OPS           /**< number of atomic operations */
};

/** The bit of an atomic operation in ci_interface.may_block, such as `CI_MAY_BLOCK(post_send)`. */
#define CI_MAY_BLOCK(op) ((uint64_t)1 << CI_ATOMIC_##op)

/**
 * The operations of an HCA. Members that are NULL are filled with one that returns #AL_UNSUPPORTED, unless they are
 * required: then the registration is refused and names the member. A destroy operation belongs to its
 * create operation and is required with it, as are detach_mcast and the DMA operations that undo another. Destroy, deallocate, deregister and close return nothing and never fail:
 * what they are called for has no children and no users left, and after they return no upcall for it happens and no
 * completion of it appears.
 *
 * On failure an operation changes nothing and writes nothing back, but the limits where it says so.
 */
struct ci_interface {
	uint32_t size;      /**< sizeof(struct ci_interface) as the module was built; a shorter tail is filled in */
	uint16_t abi_major; /**< #CI_ABI_MAJOR */
	uint16_t abi_minor; /**< #CI_ABI_MINOR */
	uint32_t flags;     /**< enum ci_interface_flags */
	uint32_t pad;       /**< zero */
	/**
	 * CI_MAY_BLOCK() of each atomic operation that may wait for another process in spite of its mark. The Access Layer
	 * then holds a reference on the object instead of a read section, which costs more, so that the wait holds up
	 * no destroy of another object. In an agent one thread carries out every client's posts, polls and arms: there it
	 * holds up all of them.
	 */
	uint64_t may_block;
	uint32_t obj_size[CI_OBJ_KINDS]; /**< bytes of the module's struct per kind; 0: the plain struct */

	/* HCA */

	/** Required, may sleep. Makes the HCA ready. Called once, by ib_register_ci(). */
	al_status (*open_ca)(struct ci_ca *ca);
	/** Required, may sleep. Undoes open_ca; every object is gone. Called once, by ib_deregister_ci(). */
	void (*close_ca)(struct ci_ca *ca);
	/** Required, may sleep. Attributes, constant while open. */
	al_status (*query_ca)(struct ci_ca *ca, struct ib_ca_attr *attr);
	/** Required, may sleep. Attributes of a port, live. */
	al_status (*query_port)(struct ci_ca *ca, uint8_t port, struct ib_port_attr *attr);
	/** Required, may sleep. Entry of the GID table. The Access Layer reads the whole table when the HCA is registered, and a
	 * port's again on each IB_EVENT_GID_CHANGE: dispatch that after a change. */
	al_status (*query_gid)(struct ci_ca *ca, uint8_t port, uint32_t index, ib_gid *gid);
	/** Required, may sleep. Entry of the P_Key table; 0: empty. */
	al_status (*query_pkey)(struct ci_ca *ca, uint8_t port, uint32_t index, uint16_t *pkey);
	/** Optional, may sleep. mask: enum ib_ca_attr_mask. */
	al_status (*modify_ca)(struct ci_ca *ca, uint32_t mask, const struct ib_ca_attr *attr);
	/** Optional, may sleep. mask: enum ib_port_attr_mask. */
	al_status (*modify_port)(struct ci_ca *ca, uint8_t port, uint32_t mask, const struct ib_port_modify *attr);
	/** Optional, may sleep. A user-mode process opens the HCA; *um_ctx is the module's, for um_close_ca. */
	al_status (*um_open_ca)(struct ci_ca *ca, void **um_ctx, struct ci_udata *udata);
	/** Optional (required with um_open_ca), may sleep. That process closes it, or has died. */
	void (*um_close_ca)(struct ci_ca *ca, void *um_ctx);
	/** Optional, may sleep. The vendor's own. */
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
	/** Optional, may sleep. fd: an inode that processes share the domain by, or -1. */
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
	/** Required, atomic. Requests posted before complete all the same: the module keeps what they need. */
	void (*destroy_ah)(struct ci_ah *ah);

	/* memory (IBTA 11.2.8); keys are written to the object */

	/** Required, may sleep. Sets lkey and rkey. */
	al_status (*register_mr)(struct ci_mr *mr, const struct ci_mem *mem, struct ci_udata *udata);
	/** Required, may sleep. Every kind of region. When it returns nothing touches the memory any more. */
	void (*deregister_mr)(struct ci_mr *mr);
	/** Optional, may sleep. Physical pages; *iova in: wanted, out: given. */
	al_status (*register_pmr)(struct ci_mr *mr, const struct al_phys_mr_init *init, uint64_t *iova,
				  struct ci_udata *udata);
	/** Optional, may sleep. A second region on the memory of another. */
	al_status (*register_smr)(struct ci_mr *mr, struct ci_mr *of, uint32_t access, uint64_t *iova,
				  struct ci_udata *udata);
	/** Optional, may sleep. mask: enum ib_mr_rereg_mask; pd and mem as the mask says. */
	al_status (*reregister_mr)(struct ci_mr *mr, uint32_t mask, struct ci_pd *pd, const struct ci_mem *mem,
				   uint32_t access, struct ci_udata *udata);
	/** Optional, may sleep. The same with physical pages. */
	al_status (*reregister_pmr)(struct ci_mr *mr, uint32_t mask, struct ci_pd *pd,
				    const struct al_phys_mr_init *init, uint64_t *iova, struct ci_udata *udata);
	/** Optional, may sleep. */
	al_status (*query_mr)(struct ci_mr *mr, struct ib_mr_attr *attr);
	/** Optional, may sleep. A region for all memory that al_dma_* has mapped. */
	al_status (*get_dma_mr)(struct ci_mr *mr, uint32_t access, struct ci_udata *udata);
	/** Optional, may sleep. A region to be filled by #IB_WR_REG_MR. */
	al_status (*alloc_fast_reg_mr)(struct ci_mr *mr, uint32_t max_pages, struct ci_udata *udata);
	/** Optional, may sleep. */
	al_status (*alloc_fmr)(struct ci_fmr *fmr, const struct ib_fmr_attr *attr);
	/** Optional, atomic (seed 000). Maps num pages; sets the keys. */
	al_status (*map_phys_fmr)(struct ci_fmr *fmr, const uint64_t *pages, uint32_t num, uint64_t iova);
	/** Optional, may sleep. Unmaps num of them. */
	al_status (*unmap_fmr)(struct ci_fmr *const *fmrs, uint32_t num);
	/** Optional, may sleep. */
	void (*dealloc_fmr)(struct ci_fmr *fmr);
	/** Optional, may sleep. */
	al_status (*allocate_mw)(struct ci_mw *mw, struct ci_udata *udata);
	/** Optional, atomic. Posts the bind of a window of type 1; sets mw->rkey. */
	al_status (*bind_mw)(struct ci_qp *qp, struct ci_mw *mw, struct ci_mr *mr, const struct ib_mw_bind *bind);
	/** Optional, may sleep. */
	void (*deallocate_mw)(struct ci_mw *mw);

	/* DMA; without them addresses are those of the process */

	/** Optional, may sleep. Address for the HCA, or one that dma_mapping_error recognises. */
	uint64_t (*dma_map_single)(struct ci_ca *ca, void *addr, uint64_t length, ib_dma_direction dir);
	/** Optional, may sleep. */
	void (*dma_unmap_single)(struct ci_ca *ca, uint64_t dma, uint64_t length, ib_dma_direction dir);
	/** Optional, may sleep. Fills dma_address and dma_length; returns the elements used, 0 for failure. */
	uint32_t (*dma_map_sg)(struct ci_ca *ca, struct ib_dma_sg *sg, uint32_t num, ib_dma_direction dir);
	/** Optional, may sleep. */
	void (*dma_unmap_sg)(struct ci_ca *ca, struct ib_dma_sg *sg, uint32_t num, ib_dma_direction dir);
	/** Optional, atomic. Did the map fail? */
	bool (*dma_mapping_error)(struct ci_ca *ca, uint64_t dma);
	/** Optional, may sleep. The processor is about to look. */
	void (*dma_sync_for_cpu)(struct ci_ca *ca, uint64_t dma, uint64_t length, ib_dma_direction dir);
	/** Optional, may sleep. The HCA is about to look. */
	void (*dma_sync_for_device)(struct ci_ca *ca, uint64_t dma, uint64_t length, ib_dma_direction dir);
	/** Optional, may sleep. Memory for both; NULL: none. */
	void *(*dma_alloc_coherent)(struct ci_ca *ca, uint64_t length, uint64_t *dma);
	/** Optional, may sleep. */
	void (*dma_free_coherent)(struct ci_ca *ca, uint64_t length, void *addr, uint64_t dma);

	/* completion queues (IBTA 11.2.6, 11.4.2) */

	/** Required, may sleep. Over the limit: #AL_LIMIT_EXCEEDED, and init->cqe is the limit. Sets init->cqe, never less
	 * than wanted; cq->cqe is set from it. */
	al_status (*create_cq)(struct ci_cq *cq, struct ci_cq_init *init, struct ci_udata *udata);
	/** Required, may sleep. */
	void (*destroy_cq)(struct ci_cq *cq);
	/**
	 * Required, atomic. Removes up to num completions into wc; *count says how many, 0 with success. A count above num is
	 * logged and taken for num.
	 */
	al_status (*poll_cq)(struct ci_cq *cq, uint32_t num, struct ib_wc *wc, uint32_t *count);
	/**
	 * Required, atomic. type: errors, solicited or any; the wider of it and an unsatisfied one holds. *present (may be
	 * NULL) says whether completions were there. What those mean depends on cq->notify (al_cq_notify).
	 */
	al_status (*arm_cq)(struct ci_cq *cq, al_arm type, bool *present);
	/** Optional, atomic. One notification when num completions are there, at once if they are. */
	al_status (*arm_cq_n)(struct ci_cq *cq, uint32_t num);
	/** Optional, atomic. Completions there now, at most max. */
	al_status (*peek_cq)(struct ci_cq *cq, uint32_t max, uint32_t *count);
	/**
	 * Optional, may sleep. *cqe in: entries wanted, within max_cqe; out: entries there, never fewer. A failure leaves queue,
	 * completions and *cqe as they were: #AL_TOO_SMALL if the queue holds more completions than wanted, #AL_CQ_ERROR if it
	 * has overflowed, #AL_LIMIT_EXCEEDED with the limit in *cqe. Completions keep their order, arms stay; an arm_cq_n for
	 * more than the queue now has entries waits for a full queue. The Access Layer resizes a queue once at a time, while
	 * completions arrive and other threads poll and arm. It sets cq->cqe afterwards, so a module whose other operations
	 * need the size keeps one of its own.
	 */
	al_status (*resize_cq)(struct ci_cq *cq, uint32_t *cqe, struct ci_udata *udata);
	/**
	 * Optional, may sleep. Moderation of the notifications that arm_cq asks for (al_modify_cq()): after count completions, the
	 * one that satisfies the arm included, or period microseconds later. count 0 and 1: none; period 0: no limit of time. It
	 * delays and never loses: a queue that is full or overflows, and a further modify_cq, give up what was held back.
	 * #AL_CQ_ERROR: the queue has overflowed.
	 */
	al_status (*modify_cq)(struct ci_cq *cq, uint16_t count, uint16_t period);
	/** Optional, may sleep. */
	al_status (*query_cq)(struct ci_cq *cq, struct al_cq_attr *attr);

	/* queue pairs (IBTA 11.2.4, 11.4.1) */

	/**
	 * Required, may sleep. Sets init->cap, never less than wanted, from which qp->cap is set, and qp_num, which no other queue pair of the HCA has
	 * until destroy_qp is called. Over a limit: #AL_LIMIT_EXCEEDED, and init->cap holds the limits.
	 */
	al_status (*create_qp)(struct ci_qp *qp, struct ci_qp_init *init, struct ci_udata *udata);
	/**
	 * Required, may sleep. The Access Layer has checked transition and attributes against from, the state it asked for. A
	 * queue pair that has been destroyed, but that a callback or a call still holds, is taken to Reset with udata NULL,
	 * also when it is a client's; destroy_qp follows.
	 */
	al_status (*modify_qp)(struct ci_qp *qp, const struct ib_qp_attr *attr, uint32_t mask, struct ci_udata *udata);
	/** Required, may sleep. All attributes and the state now. */
	al_status (*query_qp)(struct ci_qp *qp, struct ib_qp_attr *attr);
	/** Required, may sleep. Its completions disappear from its CQs. */
	void (*destroy_qp)(struct ci_qp *qp);
	/**
	 * Required, atomic. A chain; at the first request that is not taken *bad is set to it, the later ones untouched. A *bad
	 * that is none of the chain is logged, and the caller told of the first request.
	 */
	al_status (*post_send)(struct ci_qp *qp, const struct ib_send_wr *wr, const struct ib_send_wr **bad);
	/** Required, atomic. The same for receives. */
	al_status (*post_recv)(struct ci_qp *qp, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad);
	/** Optional, may sleep. QP0, QP1 or raw, on a port. */
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
	/** Optional, may sleep. mask: enum ib_qp_attr_mask, of what a context has. */
	al_status (*modify_eec)(struct ci_eec *eec, const struct ib_eec_attr *attr, uint32_t mask, struct ci_udata *udata);
	/** Optional, may sleep. */
	al_status (*query_eec)(struct ci_eec *eec, struct ib_eec_attr *attr);
	/** Optional, may sleep. */
	void (*destroy_eec)(struct ci_eec *eec);

	/* multicast (IBTA 11.3) */

	/** Optional, may sleep. Twice the same is one membership. */
	al_status (*attach_mcast)(struct ci_qp *qp, const ib_gid *gid, uint16_t mlid);
	/** Optional, may sleep. */
	al_status (*detach_mcast)(struct ci_qp *qp, const ib_gid *gid, uint16_t mlid);

	/* management (SAS deviation 4) */

	/** Required when a port carries a bit of enum ci_port_cap; may sleep. What only hardware can do for a MAD. */
	al_status (*local_mad)(struct ci_ca *ca, uint8_t port, const struct ib_ah_attr *src,
			       const struct ci_local_mad_in *in, struct ci_local_mad_out *out);
};

/* ------------------------------------------------------------- registration */

/**
 * Announces an HCA, which must be ready for use (seed 000). Checks the table, opens the HCA, reads its attributes, and
 * queues its announcement to clients. **Context: may sleep**, from probe or scan, or later from a thread of the
 * module's; no lock may be held that an operation needs.
 *
 * @param host  as given to init()
 * @param ci    operations; must stay valid until ib_deregister_ci() has returned
 * @param hca   the module's own, handed to every operation in ci_ca.hca
 * @param handle the registration
 * @retval AL_SUCCESS the HCA is known by its node GUID
 * @retval AL_INVALID_PARAMETER a NULL, an obj_size smaller than the plain struct, an unknown bit in flags or may_block
 * @retval AL_MODULE_FAILED query_ca or query_port answered a value out of its range; the message says which
 * @retval AL_MODULE_ABI size or ABI number do not match; the message says both
 * @retval AL_MODULE_MISSING_OP a required operation is missing; the message names it
 * @retval AL_DUPLICATE the node GUID is known on this host already
 * @retval AL_INVALID_STATE the module is being unloaded
 * @retval AL_INSUFFICIENT_MEMORY out of memory
 * @retval AL_INSUFFICIENT_RESOURCES no thread could be started
 * @return else what open_ca or a query returned
 */
al_status ib_register_ci(struct ci_host *host, const struct ci_interface *ci, void *hca, ci_handle *handle);

/** Flags of ib_deregister_ci(). */
enum ci_deregister_flags {
	CI_HCA_GONE = 1 << 0, /**< the hardware is gone already: no operation is called but destroys and close_ca */
};

/**
 * Withdraws an HCA. Clients' `remove` callbacks run while every operation still works (unless #CI_HCA_GONE); what they
 * left behind is destroyed in the module and named in the log. Returns when no object, operation or upcall is left.
 * **Context: may sleep**; not from an operation, which is refused, nor from a thread that one needs, which waits for
 * ever.
 *
 * @param handle from ib_register_ci(); invalid afterwards
 * @param flags  enum ci_deregister_flags
 * @retval AL_SUCCESS         the HCA is withdrawn; a call from remove, cleanup or a thread of the module's own never fails
 * @retval AL_INVALID_PARAMETER an unknown bit in flags; nothing has happened
 * @retval AL_INVALID_CONTEXT the call is made from inside an operation, for whose end it would wait; nothing has happened
 * @retval AL_INVALID_HANDLE  no such HCA is registered, or another thread is withdrawing it
 */
al_status ib_deregister_ci(ci_handle handle, uint32_t flags);

/* ------------------------------------------------------------------ upcalls */

/** An event that an HCA reports. */
struct ci_event {
	ib_event_type type; /**< what happened */
	uint8_t port_num;   /**< port events: port, from 1 */
	uint8_t pad[3];     /**< zero */
	void *object_ctx;   /**< affiliated events: ctx of the ci_cq, ci_qp, ci_srq or ci_eec; else ctx of the ci_ca */
};

/**
 * Tells that an armed completion queue has what it was armed for: once per arm, after clearing it.
 * **Context: any**, operations included; but without a lock that an operation takes. Never blocks, allocates or calls
 * back before it returns: it only queues.
 *
 * @param cq_ctx ci_cq.ctx; NULL, or the ctx of another kind of object, is logged and dropped
 */
void ib_cq_notify(void *cq_ctx);

/**
 * Reports an asynchronous event. **Context: any**, as ib_cq_notify(). Events of one kind for one object merge until
 * they are delivered; port states are delivered step by step.
 *
 * @param event copied; NULL, or one without meaning, is logged and dropped
 */
void ib_dispatch_event(const struct ci_event *event);

/* --------------------------------------------------------- clients of the agent */

/** Something to do on a client's own thread, in memory of the module's. */
struct ci_client_job {
	void (*run)(struct ci_client_job *job); /**< called there, once; the job is the module's again */
	uint32_t *under_way; /**< or NULL: one less, atomically, when run has returned and its thread is in the module no
			      * more, which waits for 0 (futex) before it is unloaded */
	struct ci_client_job *next;             /**< the Access Layer's, until then */
};

/**
 * Runs a job on the client's own thread, after those that were given before. The client's memory is copied nowhere else: a
 * copy waits for whatever the client has mapped there, for as long as the client likes, and so that must be nobody else's
 * time. A client with a region has such a thread. The client is told of the end of a region or queue pair, or of a reset, when
 * the jobs given before have run. **Context: any.**
 *
 * @param client of ci_mem
 * @param job    run set
 */
void ci_client_run(struct ci_client *client, struct ci_client_job *job);

/**
 * Copies from a client's memory. **Context: inside a job of ci_client_run() of that client**; it may wait for what the client
 * has mapped there (a file's page, say).
 *
 * @param client of ci_mem; good until the client's last object is destroyed
 * @param addr   in the client
 * @param to     length bytes
 * @param length bytes
 * @retval AL_INVALID_ADDRESS not mapped any more, or the client is gone; some bytes may have been copied
 */
al_status ci_client_read(struct ci_client *client, uint64_t addr, void *to, uint64_t length);

/** The same to a client's memory. @param client as above @param addr in the client @param from length bytes @param length bytes
 * @retval AL_INVALID_ADDRESS as above */
al_status ci_client_write(struct ci_client *client, uint64_t addr, const void *from, uint64_t length);

/**
 * Hands a descriptor to the user-mode provider whose request is being served: it comes out of uvp_call.out_fds of the
 * post-hook, and is dropped if the request fails. **Context: inside the operation that got udata**, may sleep.
 *
 * @param udata as the operation got it; not NULL
 * @param fd    duplicated: it stays the module's
 * @retval AL_LIMIT_EXCEEDED         the request has as many as it may have (UVP_MAX_FDS of ib_uvp.h)
 * @retval AL_INVALID_PARAMETER      fd is no descriptor
 * @retval AL_INSUFFICIENT_RESOURCES the process has no room for another
 */
al_status ci_client_give_fd(struct ci_udata *udata, int fd);

/* ------------------------------------------------- handles in work requests */

/**
 * The object behind a handle in a work request. **Context: any**, inside post_send only: the pointer is good until
 * that returns. NULL: no such object, or of another HCA or opening of the library than the queue pair: the request is
 * bad (#AL_INVALID_HANDLE). The protection domain is for the module to compare. Where ci_interface.may_block names
 * post_send the Access Layer keeps a reference on each object until post_send returns; NULL also means that there was no
 * memory to note the reference.
 *
 * @param qp the queue pair posted to
 * @param ah handle of the request
 */
struct ci_ah *ci_wr_ah(const struct ci_qp *qp, al_ah_h ah);

/** The same for a window. @param qp the queue pair posted to @param mw handle of the request */
struct ci_mw *ci_wr_mw(const struct ci_qp *qp, al_mw_h mw);

/** The same for a region. @param qp the queue pair posted to @param mr handle of the request */
struct ci_mr *ci_wr_mr(const struct ci_qp *qp, al_mr_h mr);

/* ------------------------------------------------------------------ memory */

/**
 * Zeroed memory. Whatever a module or the library allocates after its start goes through here, so that a test can make
 * any allocation fail (al_fail_alloc()) and see that nothing is left half done. **Context: any.**
 *
 * @param size bytes, at least 1
 * @return the memory, aligned to 16 bytes, to be freed with al_free(); NULL: there is none
 */
void *al_alloc(size_t size);

/** The same with an alignment. @param align a power of two @param size bytes @return memory, or NULL */
void *al_alloc_aligned(size_t align, size_t size);

/** Frees memory from al_alloc() or al_alloc_aligned(). **Context: any.** @param mem memory, or NULL */
void al_free(void *mem);

/**
 * Makes one allocation fail, for tests. **Context: any.**
 *
 * @param nth 1: the next one of this thread, 2: the one after, and so on; 0: none
 * @return how many were still to come before the failure that was asked for last; 0: it has happened, or there was none
 */
uint64_t al_fail_alloc(uint64_t nth);

/* --------------------------------------------------------------- log, trace */

#if defined(__GNUC__)
#define IB_PRINTF(fmt, args) __attribute__((format(printf, fmt, args))) /**< checked like printf */
#else
#define IB_PRINTF(fmt, args) /**< not checked */
#endif

/**
 * One sentence to the log: what, where, and the way out. **Context: any**, but it may wait for the log's reader.
 *
 * @param level importance
 * @param who   component, such as the module's name
 * @param fmt   as printf, without a new-line
 */
void ib_log(ib_log_level level, const char *who, const char *fmt, ...) IB_PRINTF(3, 4);

/** Is `IBAL_TRACE` set? Read it through IB_TRACE(). */
extern bool ib_trace_on;

/**
 * One line to the trace (`IBAL_TRACE`): time, process, thread, actor, step. Written by the component that acts.
 *
 * @param actor who acts: "driver" (channel driver), "al", "ci", or the module's name
 * @param fmt   as printf, without a new-line
 */
void ib_trace(const char *actor, const char *fmt, ...) IB_PRINTF(2, 3);

/** ib_trace(), at the price of one predicted branch when it is off. */
#define IB_TRACE(...) \
	do { \
		if (__builtin_expect(ib_trace_on, 0)) \
			ib_trace(__VA_ARGS__); \
	} while (0)

#ifdef __cplusplus
}
#endif

#endif /* IBA_IB_HCA_H */
