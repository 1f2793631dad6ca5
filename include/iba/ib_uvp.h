/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/**
 * @file ib_uvp.h
 * @brief The user-mode provider interface: the interface of an HCA vendor's library for OS bypass in applications.
 *
 * When applications use an HCA through the agent, the vendor's module runs in the agent, and the vendor's user-mode
 * provider (UVP), a shared object in the `uvp` directory, runs in the application. A provider is optional: without a
 * provider, and for every member that a provider leaves NULL, the Access Layer sends the request to the agent (SAS 2.4,
 * the Software Architecture Specification of the HCA driver). A provider does not contact its module directly: the
 * Access Layer carries data between the two (struct uvp_call).
 *
 * **Pairs.** Every operation of struct ci_interface that creates, modifies, queries or destroys has a pre-hook, called
 * before the request to the agent, and a post-hook, called after the request. Both run in the calling thread, and both
 * are optional. Order:
 * -# `pre_x(object, ..., call)` allocates the provider's resources. If the operation carries data, the pre-hook may put
 *    data and descriptors for the module into `call`. A failure ends the operation with the pre-hook's status: no
 *    request is sent, and the post-hook is not called, so a pre-hook that fails has released its own resources. A
 *    pre-hook that sets `call->done` completes the operation without the agent; the operation continues as if the agent
 *    had succeeded.
 * -# The agent checks the request, counts it against its limits, and calls the module. The module gets the content of
 *    `call` in its struct ci_udata, and returns data through struct ci_udata. Attributes that are in and out hold the
 *    module's values from here on.
 * -# `post_x(object, ..., status, call)` is called exactly when the pre-hook succeeded or is absent. status is the
 *    outcome: the post-hook keeps or releases the pre-hook's resources, and takes the module's data and descriptors
 *    from `call`. Two failures arise in the application only, without the agent or the module: the content of `call`
 *    can not be sent (#AL_INVALID_PARAMETER), and the module's descriptors exceed this process's limit
 *    (#AL_INSUFFICIENT_RESOURCES; the created object is destroyed at the agent again).
 *
 * **Operations that carry data.** Data and descriptors cross with the operations whose member of struct ci_interface
 * has a struct ci_udata, and with open_ca (the module gets the data in um_open_ca). The operations of address handles
 * are an exception: address handles stay in the process. In the pre-hook of any other operation, data for the module or
 * room for the module's data in `call` is an error, which is logged: the operation fails with #AL_INVALID_PARAMETER; an
 * operation that destroys an object continues without the data.
 *
 * Post-hooks of operations that create return a status, which counts only if the agent succeeded: with a failure (for
 * example of a mapping) the Access Layer destroys the object at the agent, without hooks, and the operation fails with
 * the post-hook's status. All other post-hooks return nothing: steps that can fail belong in the pre-hook. Hooks of
 * operations that destroy an object can not fail.
 *
 * **Direct hooks** have the types of struct ci_interface and replace the operation: no request is sent. A direct hook
 * must not block. An operation of the data path without a direct hook waits for the agent. The Access Layer treats
 * exactly these operations as operations that may block (ci_interface.may_block).
 *
 * **Objects.** The hooks get the structs of ib_hca.h: struct ci_cq and so on. A provider's own struct begins with the
 * matching struct, and has the size that uvp_interface.obj_size names. Numbers and keys in the structs (qp_num, lkey,
 * rkey, srqn, cqe, cap) are the module's, and are filled in when the post-hook of a creation is called.
 *
 * **Context and reentrancy** are those of the operation in ib_hca.h: hooks of atomic operations must not block.
 */
#ifndef IBA_IB_UVP_H
#define IBA_IB_UVP_H

#include <iba/ib_hca.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @defgroup ibal_uvp User-mode providers
 * A provider is a vendor's shared object in the application, which posts, polls and arms without a
 * call of the agent that has the HCA. It exports one variable, uvp_module, with a table of hooks,
 * struct uvp_interface.
 * @{
 */

#define UVP_ABI_MAJOR 2 /**< providers of another major number are refused */
#define UVP_ABI_MINOR 0 /**< grows when members are added at the end */

#define UVP_MAX_DATA 4096 /**< bytes of private data, each way */
#define UVP_MAX_FDS 8     /**< descriptors, each way */

/**
 * The data and descriptors that a provider and its module exchange for one operation. The two directions have separate
 * buffers. The data contain no pointers: an address is a number, which the module accesses through its client.
 */
struct uvp_call {
	void *priv;              /**< pointer of the provider, kept from the pre-hook to the post-hook; NULL at first */
	bool done;               /**< pre-hook: true: the operation is complete without a request to the agent */
	uint8_t pad[7];          /**< zero */
	void *in;                /**< pre-hook: room of #UVP_MAX_DATA bytes for data to the module, zeroed */
	uint32_t in_len;         /**< pre-hook: bytes that the hook has written to in; 0 at first */
	uint32_t out_room;       /**< pre-hook: most bytes that the module may return, up to #UVP_MAX_DATA; 0 at
				  * first */
	const void *out;         /**< post-hook: data from the module, valid during the hook; NULL: none */
	uint32_t out_len;        /**< post-hook: bytes of out */
	uint32_t num_in_fds;     /**< pre-hook: number of descriptors in in_fds */
	int in_fds[UVP_MAX_FDS]; /**< pre-hook: descriptors for the module; the provider keeps them open until the
				  * post-hook and closes them */
	uint32_t num_out_fds;    /**< post-hook: number of descriptors in out_fds */
	uint32_t pad2;           /**< zero */
	int out_fds[UVP_MAX_FDS]; /**< post-hook: descriptors from the module; the provider closes them */
	uint64_t reserved[4];    /**< zero */
};

/** The table of hooks. A NULL member means that the provider lacks the hook. */
struct uvp_interface {
	uint32_t size;      /**< sizeof(struct uvp_interface) as the provider was built; members beyond the size count
			     * as NULL */
	uint16_t abi_major; /**< #UVP_ABI_MAJOR */
	uint16_t abi_minor; /**< #UVP_ABI_MINOR */
	uint32_t flags;     /**< enum ci_interface_flags, for the direct hooks: #CI_SERIALISE_CQ or 0 */
	uint32_t pad;       /**< zero */
	uint32_t obj_size[CI_OBJ_KINDS]; /**< bytes of the provider's struct per kind; 0: the size of the struct in
					  * ib_hca.h */

	/* HCA */

	/** Before this process opens the HCA; the module's um_open_ca is called. */
	al_status (*pre_open_ca)(struct ci_ca *ca, struct uvp_call *call);
	/** After the HCA was opened: map memory that all objects of the HCA share. */
	al_status (*post_open_ca)(struct ci_ca *ca, al_status status, struct uvp_call *call);
	/** Before this process closes the HCA: every object is destroyed. The module's um_close_ca is called. */
	void (*pre_close_ca)(struct ci_ca *ca, struct uvp_call *call);
	/** After the HCA was closed: release the resources of post_open_ca. */
	void (*post_close_ca)(struct ci_ca *ca, struct uvp_call *call);
	/** May answer the query itself, with uvp_call.done. */
	al_status (*pre_query_ca)(struct ci_ca *ca, struct ib_ca_attr *attr, struct uvp_call *call);
	/** May lower attributes, for example to the limits of the provider. */
	void (*post_query_ca)(struct ci_ca *ca, struct ib_ca_attr *attr, al_status status, struct uvp_call *call);
	/** May answer the query itself, with uvp_call.done. */
	al_status (*pre_query_port)(struct ci_ca *ca, uint8_t port, struct ib_port_attr *attr,
				    struct uvp_call *call);
	/** With #AL_SUCCESS attr holds the attributes. */
	void (*post_query_port)(struct ci_ca *ca, uint8_t port, struct ib_port_attr *attr, al_status status,
				struct uvp_call *call);
	/** May answer the query itself, with uvp_call.done. */
	al_status (*pre_query_gid)(struct ci_ca *ca, uint8_t port, uint32_t index, ib_gid *gid,
				   struct uvp_call *call);
	/** With #AL_SUCCESS the entry is written. */
	void (*post_query_gid)(struct ci_ca *ca, uint8_t port, uint32_t index, ib_gid *gid, al_status status,
			       struct uvp_call *call);
	/** May answer the query itself, with uvp_call.done. */
	al_status (*pre_query_pkey)(struct ci_ca *ca, uint8_t port, uint32_t index, uint16_t *pkey,
				    struct uvp_call *call);
	/** With #AL_SUCCESS the entry is written. */
	void (*post_query_pkey)(struct ci_ca *ca, uint8_t port, uint32_t index, uint16_t *pkey,
				al_status status, struct uvp_call *call);
	/** mask: enum ib_ca_attr_mask. */
	al_status (*pre_modify_ca)(struct ci_ca *ca, uint32_t mask, const struct ib_ca_attr *attr,
				   struct uvp_call *call);
	/** After the modification; status says whether it was made. */
	void (*post_modify_ca)(struct ci_ca *ca, uint32_t mask, const struct ib_ca_attr *attr, al_status status,
			       struct uvp_call *call);
	/** mask: enum ib_port_attr_mask. */
	al_status (*pre_modify_port)(struct ci_ca *ca, uint8_t port, uint32_t mask,
				     const struct ib_port_modify *attr, struct uvp_call *call);
	/** After the modification; status says whether it was made. */
	void (*post_modify_port)(struct ci_ca *ca, uint8_t port, uint32_t mask,
				 const struct ib_port_modify *attr, al_status status, struct uvp_call *call);
	/** The vendor's own call; the provider may complete it, with uvp_call.done. */
	al_status (*pre_vendor_call)(struct ci_ca *ca, struct ci_vendor_call *vendor, struct uvp_call *call);
	/** With #AL_SUCCESS vendor holds the module's output. */
	void (*post_vendor_call)(struct ci_ca *ca, struct ci_vendor_call *vendor, al_status status,
				 struct uvp_call *call);

	/* domains */

	/** Protection domain. */
	al_status (*pre_allocate_pd)(struct ci_pd *pd, struct uvp_call *call);
	/** After the creation; status says whether the object exists. */
	al_status (*post_allocate_pd)(struct ci_pd *pd, al_status status, struct uvp_call *call);
	/** Before the object is destroyed at the agent. */
	void (*pre_deallocate_pd)(struct ci_pd *pd, struct uvp_call *call);
	/** The object is destroyed at the agent: release what the provider holds for it. */
	void (*post_deallocate_pd)(struct ci_pd *pd, struct uvp_call *call);
	/** Reliable datagram domain. */
	al_status (*pre_allocate_rdd)(struct ci_rdd *rdd, struct uvp_call *call);
	/** After the creation; status says whether the object exists. */
	al_status (*post_allocate_rdd)(struct ci_rdd *rdd, al_status status, struct uvp_call *call);
	/** Before the object is destroyed at the agent. */
	void (*pre_deallocate_rdd)(struct ci_rdd *rdd, struct uvp_call *call);
	/** The object is destroyed at the agent: release what the provider holds for it. */
	void (*post_deallocate_rdd)(struct ci_rdd *rdd, struct uvp_call *call);
	/** XRC domain; fd: as in ci_interface. */
	al_status (*pre_allocate_xrcd)(struct ci_xrcd *xrcd, int fd, struct uvp_call *call);
	/** After the creation; status says whether the object exists. */
	al_status (*post_allocate_xrcd)(struct ci_xrcd *xrcd, int fd, al_status status, struct uvp_call *call);
	/** Before the object is destroyed at the agent. */
	void (*pre_deallocate_xrcd)(struct ci_xrcd *xrcd, struct uvp_call *call);
	/** The object is destroyed at the agent: release what the provider holds for it. */
	void (*post_deallocate_xrcd)(struct ci_xrcd *xrcd, struct uvp_call *call);

	/* address handles stay in this process: no request is sent; the agent checks the address vector at each use */

	/** Atomic. Build the vendor's address vector. */
	al_status (*pre_create_ah)(struct ci_ah *ah, const struct ib_ah_attr *attr, struct uvp_call *call);
	/** Atomic. After the creation; status says whether the object exists. */
	al_status (*post_create_ah)(struct ci_ah *ah, const struct ib_ah_attr *attr, al_status status,
				    struct uvp_call *call);
	/** Atomic. Requests posted before keep the old path. */
	al_status (*pre_modify_ah)(struct ci_ah *ah, const struct ib_ah_attr *attr, struct uvp_call *call);
	/** Atomic. After the modification; status says whether it was made. */
	void (*post_modify_ah)(struct ci_ah *ah, const struct ib_ah_attr *attr, al_status status,
			       struct uvp_call *call);
	/** Atomic. May answer the query itself, with uvp_call.done. */
	al_status (*pre_query_ah)(struct ci_ah *ah, struct ib_ah_attr *attr, struct uvp_call *call);
	/** Atomic. With #AL_SUCCESS attr holds the path. */
	void (*post_query_ah)(struct ci_ah *ah, struct ib_ah_attr *attr, al_status status, struct uvp_call *call);
	/** Atomic. Before the address handle is destroyed; requests posted before still complete. */
	void (*pre_destroy_ah)(struct ci_ah *ah, struct uvp_call *call);
	/** Atomic. The object is destroyed at the agent: release what the provider holds for it. */
	void (*post_destroy_ah)(struct ci_ah *ah, struct uvp_call *call);

	/* memory */

	/** mem: memory of this process; its pages are present and permit the access. */
	al_status (*pre_register_mr)(struct ci_mr *mr, const struct ci_mem *mem, struct uvp_call *call);
	/** With #AL_SUCCESS mr holds the keys. */
	al_status (*post_register_mr)(struct ci_mr *mr, const struct ci_mem *mem, al_status status,
				      struct uvp_call *call);
	/** Before a region of any kind is deregistered. */
	void (*pre_deregister_mr)(struct ci_mr *mr, struct uvp_call *call);
	/** After the deregistration: the HCA no longer accesses the memory. */
	void (*post_deregister_mr)(struct ci_mr *mr, struct uvp_call *call);
	/** Registers physical pages: addresses of al_dma_*. */
	al_status (*pre_register_pmr)(struct ci_mr *mr, const struct al_phys_mr_init *init, uint64_t *iova,
				      struct uvp_call *call);
	/** With #AL_SUCCESS mr holds the keys, and *iova the granted address. */
	al_status (*post_register_pmr)(struct ci_mr *mr, const struct al_phys_mr_init *init, uint64_t *iova,
				       al_status status, struct uvp_call *call);
	/** A second region on the memory of another. */
	al_status (*pre_register_smr)(struct ci_mr *mr, struct ci_mr *of, uint32_t access, uint64_t *iova,
				      struct uvp_call *call);
	/** With #AL_SUCCESS mr holds the keys, and *iova the granted address. */
	al_status (*post_register_smr)(struct ci_mr *mr, struct ci_mr *of, uint32_t access, uint64_t *iova,
				       al_status status, struct uvp_call *call);
	/** mask: enum ib_mr_rereg_mask. */
	al_status (*pre_reregister_mr)(struct ci_mr *mr, uint32_t mask, struct ci_pd *pd,
				       const struct ci_mem *mem, uint32_t access, struct uvp_call *call);
	/** After the reregistration; with #AL_SUCCESS mr holds the new keys. */
	void (*post_reregister_mr)(struct ci_mr *mr, uint32_t mask, struct ci_pd *pd, const struct ci_mem *mem,
				   uint32_t access, al_status status, struct uvp_call *call);
	/** Reregisters with physical pages: addresses of al_dma_*. */
	al_status (*pre_reregister_pmr)(struct ci_mr *mr, uint32_t mask, struct ci_pd *pd,
					const struct al_phys_mr_init *init, uint64_t *iova,
					struct uvp_call *call);
	/** After the modification; status says whether it was made. */
	void (*post_reregister_pmr)(struct ci_mr *mr, uint32_t mask, struct ci_pd *pd,
				    const struct al_phys_mr_init *init, uint64_t *iova, al_status status,
				    struct uvp_call *call);
	/** May answer the query itself, with uvp_call.done. */
	al_status (*pre_query_mr)(struct ci_mr *mr, struct ib_mr_attr *attr, struct uvp_call *call);
	/** With #AL_SUCCESS attr holds the attributes. */
	void (*post_query_mr)(struct ci_mr *mr, struct ib_mr_attr *attr, al_status status, struct uvp_call *call);
	/** A region for all memory that al_dma_* has mapped. */
	al_status (*pre_get_dma_mr)(struct ci_mr *mr, uint32_t access, struct uvp_call *call);
	/** With #AL_SUCCESS mr holds the keys. */
	al_status (*post_get_dma_mr)(struct ci_mr *mr, uint32_t access, al_status status, struct uvp_call *call);
	/** A region to be filled by #IB_WR_REG_MR. */
	al_status (*pre_alloc_fast_reg_mr)(struct ci_mr *mr, uint32_t max_pages, struct uvp_call *call);
	/** With #AL_SUCCESS mr holds the keys. */
	al_status (*post_alloc_fast_reg_mr)(struct ci_mr *mr, uint32_t max_pages, al_status status,
					    struct uvp_call *call);
	/** Fast memory region. */
	al_status (*pre_alloc_fmr)(struct ci_fmr *fmr, const struct ib_fmr_attr *attr, struct uvp_call *call);
	/** After the creation; status says whether the object exists. */
	al_status (*post_alloc_fmr)(struct ci_fmr *fmr, const struct ib_fmr_attr *attr, al_status status,
				    struct uvp_call *call);
	/** Atomic. Maps num pages. */
	al_status (*pre_map_phys_fmr)(struct ci_fmr *fmr, const uint64_t *pages, uint32_t num, uint64_t iova,
				      struct uvp_call *call);
	/** Atomic. With #AL_SUCCESS fmr holds the keys. */
	void (*post_map_phys_fmr)(struct ci_fmr *fmr, const uint64_t *pages, uint32_t num, uint64_t iova,
				  al_status status, struct uvp_call *call);
	/** Unmaps num regions. */
	al_status (*pre_unmap_fmr)(struct ci_fmr *const *fmrs, uint32_t num, struct uvp_call *call);
	/** After the unmap; status says whether the regions are unmapped. */
	void (*post_unmap_fmr)(struct ci_fmr *const *fmrs, uint32_t num, al_status status, struct uvp_call *call);
	/** Before the object is destroyed at the agent. */
	void (*pre_dealloc_fmr)(struct ci_fmr *fmr, struct uvp_call *call);
	/** The object is destroyed at the agent: release what the provider holds for it. */
	void (*post_dealloc_fmr)(struct ci_fmr *fmr, struct uvp_call *call);
	/** Memory window. */
	al_status (*pre_allocate_mw)(struct ci_mw *mw, struct uvp_call *call);
	/** With #AL_SUCCESS mw holds the key. */
	al_status (*post_allocate_mw)(struct ci_mw *mw, al_status status, struct uvp_call *call);
	/** Before the object is destroyed at the agent. */
	void (*pre_deallocate_mw)(struct ci_mw *mw, struct uvp_call *call);
	/** The object is destroyed at the agent: release what the provider holds for it. */
	void (*post_deallocate_mw)(struct ci_mw *mw, struct uvp_call *call);

	/* completion queues */

	/** For example, allocate the ring in a memfd and pass the descriptor. */
	al_status (*pre_create_cq)(struct ci_cq *cq, struct ci_cq_init *init, struct uvp_call *call);
	/** cq->cqe is the size. For example, map a ring that the module allocated. */
	al_status (*post_create_cq)(struct ci_cq *cq, struct ci_cq_init *init, al_status status,
				    struct uvp_call *call);
	/** Before the object is destroyed at the agent. */
	void (*pre_destroy_cq)(struct ci_cq *cq, struct uvp_call *call);
	/** After the queue was destroyed: no completion arrives any more. */
	void (*post_destroy_cq)(struct ci_cq *cq, struct uvp_call *call);
	/** *cqe: requested number of entries. The place to allocate the new ring. */
	al_status (*pre_resize_cq)(struct ci_cq *cq, uint32_t *cqe, struct uvp_call *call);
	/** *cqe: granted number of entries. Move the completions of the old ring, or free the new ring. */
	void (*post_resize_cq)(struct ci_cq *cq, uint32_t *cqe, al_status status, struct uvp_call *call);
	/** Before the moderation of the queue changes. */
	al_status (*pre_modify_cq)(struct ci_cq *cq, uint16_t count, uint16_t period, struct uvp_call *call);
	/** After the modification; status says whether it was made. */
	void (*post_modify_cq)(struct ci_cq *cq, uint16_t count, uint16_t period, al_status status,
			       struct uvp_call *call);
	/** May answer the query itself, with uvp_call.done. */
	al_status (*pre_query_cq)(struct ci_cq *cq, struct al_cq_attr *attr, struct uvp_call *call);
	/** With #AL_SUCCESS attr holds the module's attributes; correct attributes that only the provider knows. */
	void (*post_query_cq)(struct ci_cq *cq, struct al_cq_attr *attr, al_status status, struct uvp_call *call);

	/* queue pairs */

	/** Before the creation: allocate the rings. */
	al_status (*pre_create_qp)(struct ci_qp *qp, struct ci_qp_init *init, struct uvp_call *call);
	/** With #AL_SUCCESS qp holds qp_num and cap. */
	al_status (*post_create_qp)(struct ci_qp *qp, struct ci_qp_init *init, al_status status,
				    struct uvp_call *call);
	/** mask: enum ib_qp_attr_mask. The Access Layer has checked attr and mask. */
	al_status (*pre_modify_qp)(struct ci_qp *qp, const struct ib_qp_attr *attr, uint32_t mask,
				   struct uvp_call *call);
	/** After the modification; status says whether it was made. After a change to Reset: empty the rings. */
	void (*post_modify_qp)(struct ci_qp *qp, const struct ib_qp_attr *attr, uint32_t mask, al_status status,
			       struct uvp_call *call);
	/** May answer the query itself, with uvp_call.done. */
	al_status (*pre_query_qp)(struct ci_qp *qp, struct ib_qp_attr *attr, struct uvp_call *call);
	/** With #AL_SUCCESS attr holds the attributes. */
	void (*post_query_qp)(struct ci_qp *qp, struct ib_qp_attr *attr, al_status status, struct uvp_call *call);
	/** Before the object is destroyed at the agent. */
	void (*pre_destroy_qp)(struct ci_qp *qp, struct uvp_call *call);
	/** After the queue pair was destroyed: remove its completions from the CQs that the provider keeps. */
	void (*post_destroy_qp)(struct ci_qp *qp, struct uvp_call *call);
	/** Before a raw queue pair is created on a port. (QP0 and QP1 are the agent's.) */
	al_status (*pre_create_spl_qp)(struct ci_qp *qp, uint8_t port, struct ci_qp_init *init,
				       struct uvp_call *call);
	/** With #AL_SUCCESS qp holds qp_num and cap. */
	al_status (*post_create_spl_qp)(struct ci_qp *qp, uint8_t port, struct ci_qp_init *init,
					al_status status, struct uvp_call *call);

	/* shared receive queues */

	/** Before the creation: allocate the ring. */
	al_status (*pre_create_srq)(struct ci_srq *srq, struct ci_srq_init *init, struct uvp_call *call);
	/** With #AL_SUCCESS srq holds srqn, and init the sizes. */
	al_status (*post_create_srq)(struct ci_srq *srq, struct ci_srq_init *init, al_status status,
				     struct uvp_call *call);
	/** mask: enum ib_srq_attr_mask. The place to allocate the new ring. */
	al_status (*pre_modify_srq)(struct ci_srq *srq, struct ib_srq_attr *attr, uint32_t mask,
				    struct uvp_call *call);
	/** After the modification; status says whether it was made. */
	void (*post_modify_srq)(struct ci_srq *srq, struct ib_srq_attr *attr, uint32_t mask, al_status status,
				struct uvp_call *call);
	/** May answer the query itself, with uvp_call.done. */
	al_status (*pre_query_srq)(struct ci_srq *srq, struct ib_srq_attr *attr, struct uvp_call *call);
	/** With #AL_SUCCESS attr holds the attributes. */
	void (*post_query_srq)(struct ci_srq *srq, struct ib_srq_attr *attr, al_status status,
			       struct uvp_call *call);
	/** Before the object is destroyed at the agent. */
	void (*pre_destroy_srq)(struct ci_srq *srq, struct uvp_call *call);
	/** The object is destroyed at the agent: release what the provider holds for it. */
	void (*post_destroy_srq)(struct ci_srq *srq, struct uvp_call *call);

	/* end-to-end contexts */

	/** End-to-end context. */
	al_status (*pre_create_eec)(struct ci_eec *eec, struct uvp_call *call);
	/** With #AL_SUCCESS eec holds eecn. */
	al_status (*post_create_eec)(struct ci_eec *eec, al_status status, struct uvp_call *call);
	/** mask: enum ib_qp_attr_mask. */
	al_status (*pre_modify_eec)(struct ci_eec *eec, const struct ib_eec_attr *attr, uint32_t mask,
				    struct uvp_call *call);
	/** After the modification; status says whether it was made. */
	void (*post_modify_eec)(struct ci_eec *eec, const struct ib_eec_attr *attr, uint32_t mask,
				al_status status, struct uvp_call *call);
	/** May answer the query itself, with uvp_call.done. */
	al_status (*pre_query_eec)(struct ci_eec *eec, struct ib_eec_attr *attr, struct uvp_call *call);
	/** With #AL_SUCCESS attr holds the attributes. */
	void (*post_query_eec)(struct ci_eec *eec, struct ib_eec_attr *attr, al_status status,
			       struct uvp_call *call);
	/** Before the object is destroyed at the agent. */
	void (*pre_destroy_eec)(struct ci_eec *eec, struct uvp_call *call);
	/** The object is destroyed at the agent: release what the provider holds for it. */
	void (*post_destroy_eec)(struct ci_eec *eec, struct uvp_call *call);

	/* multicast */

	/** Before the queue pair joins the group. A second attach to one group changes nothing. */
	al_status (*pre_attach_mcast)(struct ci_qp *qp, const ib_gid *gid, uint16_t mlid, struct uvp_call *call);
	/** After the attach; status says whether the queue pair joined. */
	void (*post_attach_mcast)(struct ci_qp *qp, const ib_gid *gid, uint16_t mlid, al_status status,
				  struct uvp_call *call);
	/** Before the queue pair leaves the group. */
	al_status (*pre_detach_mcast)(struct ci_qp *qp, const ib_gid *gid, uint16_t mlid, struct uvp_call *call);
	/** After the detach; status says whether the queue pair left. */
	void (*post_detach_mcast)(struct ci_qp *qp, const ib_gid *gid, uint16_t mlid, al_status status,
				  struct uvp_call *call);

	/*
	 * the data path: direct hooks, with the contracts of the members of struct ci_interface that have their names
	 */

	/** Atomic. Posts the bind of a window of type 1; sets mw->rkey. */
	al_status (*bind_mw)(struct ci_qp *qp, struct ci_mw *mw, struct ci_mr *mr, const struct ib_mw_bind *bind);
	/** Atomic. Removes completions. */
	al_status (*poll_cq)(struct ci_cq *cq, uint32_t num, struct ib_wc *wc, uint32_t *count);
	/** Atomic. Arms the queue; the agent sends the notification. */
	al_status (*arm_cq)(struct ci_cq *cq, al_arm type, bool *present);
	/** Atomic. Arms the queue for num completions. */
	al_status (*arm_cq_n)(struct ci_cq *cq, uint32_t num);
	/** Atomic. Counts completions. */
	al_status (*peek_cq)(struct ci_cq *cq, uint32_t max, uint32_t *count);
	/** Atomic. Posts send requests: fill the ring, ring the doorbell. */
	al_status (*post_send)(struct ci_qp *qp, const struct ib_send_wr *wr, const struct ib_send_wr **bad);
	/** Atomic. Posts receive requests. */
	al_status (*post_recv)(struct ci_qp *qp, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad);
	/** Atomic. Posts receive requests to a shared queue. */
	al_status (*post_srq_recv)(struct ci_srq *srq, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad);
};

/** A provider. Exported as `const struct uvp_module uvp_module`. */
struct uvp_module {
	uint32_t size;       /**< sizeof(struct uvp_module) */
	uint16_t abi_major;  /**< #UVP_ABI_MAJOR */
	uint16_t abi_minor;  /**< #UVP_ABI_MINOR */
	const char *name;    /**< ci_module.name of the module whose HCAs the provider serves */
	const char *version; /**< the vendor's version, a text for messages */
	const char *license; /**< SPDX expression */
	uint32_t flags;      /**< zero */
	uint32_t pad;        /**< zero */
	const struct uvp_interface *ops; /**< the hooks */
	/**
	 * Called after loading, before the first hook. A failure is logged, and the HCA is used without the provider.
	 * Optional.
	 */
	al_status (*init)(void);
	/** Called before unloading, when no object exists. Optional. */
	void (*cleanup)(void);
};

/** The symbol that a provider exports. */
extern const struct uvp_module uvp_module;

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* IBA_IB_UVP_H */
