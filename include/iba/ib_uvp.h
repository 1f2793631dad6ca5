/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/**
 * @file ib_uvp.h
 * @brief The user-mode provider interface: all that an HCA vendor reads for OS bypass.
 *
 * When applications use an HCA through the agent, the vendor's module runs in the agent and the vendor's user-mode
 * provider (UVP), a shared object in the `uvp` directory, in the application. A provider is never necessary: without
 * one, and for every member left NULL, the request crosses to the agent (SAS 2.4). A provider never talks to its module
 * itself; the Access Layer carries what they say to each other (struct uvp_call).
 *
 * **Pairs.** Every operation of struct ci_interface that creates, changes, queries or destroys has a pre-hook, called
 * before the request crosses, and a post-hook, called after it, both in the calling thread, both optional. Order:
 * -# `pre_x(object, ..., call)`. It allocates what it needs, and may leave data and descriptors for the module in
 *    `call`, if the operation carries them. A failure ends the operation with that status: nothing crosses, and no post-hook
 *    is called, so a pre-hook that fails has undone its own part. With `call->done` it says that there is nothing to ask the
 *    agent, and the operation ends as if the agent had said yes.
 * -# The agent checks, creates and keeps account. The module gets what `call` holds in its struct ci_udata, and answers
 *    through it. Attributes that are in and out hold the module's answer from here on.
 * -# `post_x(object, ..., status, call)`, always when the pre-hook succeeded or is absent, and only then, with the outcome: it
 *    keeps or undoes what the pre-hook did, and takes the module's data and descriptors from `call`. The outcome may be a
 *    failure that the agent and the module know nothing of: what the pre-hook left in `call` can not cross
 *    (#AL_INVALID_PARAMETER), or the module's descriptors are more than this process may have
 *    (#AL_INSUFFICIENT_RESOURCES; what was created is destroyed at the agent again).
 *
 * **What carries.** Data and descriptors cross with the operations whose member of struct ci_interface has a struct
 * ci_udata, and with open_ca (the module gets them in um_open_ca); not with those of address handles, which stay in the process. In
 * the pre-hook of any other operation, something in `call` for the module, or room for its answer, is an error, which the
 * log tells of: the operation fails with #AL_INVALID_PARAMETER, one that ends an object goes on without.
 *
 * Post-hooks of operations that create return a status, which counts after a success only: a failure (a mapping that
 * could not be made, say) makes the Access Layer destroy the object at the agent, without hooks, and the operation fails
 * with it. All other post-hooks
 * return nothing: what can fail belongs in the pre-hook. Hooks of operations that end an object can not fail.
 *
 * **Direct hooks** have the types of struct ci_interface and replace the operation: nothing crosses. A direct hook must not
 * block. An operation of the data path without a direct hook waits for the agent, whatever the others do: the Access Layer
 * counts it as one that may block (ci_interface.may_block), and only it.
 *
 * **Objects.** The hooks get the same structs as a module: struct ci_cq and so on, of which a provider's own begin
 * with the matching one and are as large as uvp_interface.obj_size says. Numbers and keys in them (qp_num, lkey, rkey,
 * srqn, cqe, cap) are the module's and are filled in when a post-hook of a creation is called.
 *
 * **Context and reentrancy** are those of the operation in ib_hca.h: hooks of atomic operations must not block.
 */
#ifndef IBA_IB_UVP_H
#define IBA_IB_UVP_H

#include <iba/ib_hca.h>

#ifdef __cplusplus
extern "C" {
#endif

#define UVP_ABI_MAJOR 2 /**< providers of another major number are refused */
#define UVP_ABI_MINOR 0 /**< grows when members are added at the end */

#define UVP_MAX_DATA 4096 /**< bytes of private data, each way */
#define UVP_MAX_FDS 8     /**< descriptors, each way */

/**
 * What provider and module say to each other about one operation. The two directions never share memory. Data holds no
 * pointers: an address is a number, which the module reaches through its client.
 */
struct uvp_call {
	void *priv;              /**< the provider's own, from pre- to post-hook; NULL at first */
	bool done;               /**< pre-hook: nothing to ask the agent */
	uint8_t pad[7];          /**< zero */
	void *in;                /**< pre-hook: room of #UVP_MAX_DATA bytes for data to the module, zeroed */
	uint32_t in_len;         /**< pre-hook: bytes written there; 0 at first */
	uint32_t out_room;       /**< pre-hook: bytes that the module may answer, up to #UVP_MAX_DATA; 0 at first */
	const void *out;         /**< post-hook: data from the module, valid during the hook; NULL: none */
	uint32_t out_len;        /**< post-hook: bytes there */
	uint32_t num_in_fds;     /**< pre-hook: descriptors to the module; they stay the provider's */
	int in_fds[UVP_MAX_FDS]; /**< pre-hook: these */
	uint32_t num_out_fds;    /**< post-hook: descriptors from the module, which the provider closes */
	uint32_t pad2;           /**< zero */
	int out_fds[UVP_MAX_FDS]; /**< post-hook: these */
	uint64_t reserved[4];    /**< zero */
};

/** The hooks. Members that are NULL are absent. */
struct uvp_interface {
	uint32_t size;      /**< sizeof(struct uvp_interface) as the provider was built; a shorter tail is absent */
	uint16_t abi_major; /**< #UVP_ABI_MAJOR */
	uint16_t abi_minor; /**< #UVP_ABI_MINOR */
	uint32_t flags;     /**< enum ci_interface_flags, for the direct hooks: #CI_SERIALISE_CQ or 0 */
	uint32_t pad;       /**< zero */
	uint32_t obj_size[CI_OBJ_KINDS]; /**< bytes of the provider's struct per kind; 0: the plain struct */

	/* HCA */

	/** This process opens the HCA; the module gets um_open_ca. */
	al_status (*pre_open_ca)(struct ci_ca *ca, struct uvp_call *call);
	/** The HCA is open: map what all its objects share. */
	al_status (*post_open_ca)(struct ci_ca *ca, al_status status, struct uvp_call *call);
	/** This process is about to close it: every object is gone. The module gets um_close_ca. */
	void (*pre_close_ca)(struct ci_ca *ca, struct uvp_call *call);
	/** Closed: release what post_open_ca made. */
	void (*post_close_ca)(struct ci_ca *ca, struct uvp_call *call);
	/** May answer itself. */
	al_status (*pre_query_ca)(struct ci_ca *ca, struct ib_ca_attr *attr, struct uvp_call *call);
	/** May restrict what is offered, for example to what the provider can do. */
	void (*post_query_ca)(struct ci_ca *ca, struct ib_ca_attr *attr, al_status status, struct uvp_call *call);
	/** May answer itself. */
	al_status (*pre_query_port)(struct ci_ca *ca, uint8_t port, struct ib_port_attr *attr,
				    struct uvp_call *call);
	/** The attributes are there. */
	void (*post_query_port)(struct ci_ca *ca, uint8_t port, struct ib_port_attr *attr, al_status status,
				struct uvp_call *call);
	/** May answer itself. */
	al_status (*pre_query_gid)(struct ci_ca *ca, uint8_t port, uint32_t index, ib_gid *gid,
				   struct uvp_call *call);
	/** The entry is there. */
	void (*post_query_gid)(struct ci_ca *ca, uint8_t port, uint32_t index, ib_gid *gid, al_status status,
			       struct uvp_call *call);
	/** May answer itself. */
	al_status (*pre_query_pkey)(struct ci_ca *ca, uint8_t port, uint32_t index, uint16_t *pkey,
				    struct uvp_call *call);
	/** The entry is there. */
	void (*post_query_pkey)(struct ci_ca *ca, uint8_t port, uint32_t index, uint16_t *pkey,
				al_status status, struct uvp_call *call);
	/** mask: enum ib_ca_attr_mask. */
	al_status (*pre_modify_ca)(struct ci_ca *ca, uint32_t mask, const struct ib_ca_attr *attr,
				   struct uvp_call *call);
	/** Changed, or not. */
	void (*post_modify_ca)(struct ci_ca *ca, uint32_t mask, const struct ib_ca_attr *attr, al_status status,
			       struct uvp_call *call);
	/** mask: enum ib_port_attr_mask. */
	al_status (*pre_modify_port)(struct ci_ca *ca, uint8_t port, uint32_t mask,
				     const struct ib_port_modify *attr, struct uvp_call *call);
	/** Changed, or not. */
	void (*post_modify_port)(struct ci_ca *ca, uint8_t port, uint32_t mask,
				 const struct ib_port_modify *attr, al_status status, struct uvp_call *call);
	/** The vendor's own; may answer itself. */
	al_status (*pre_vendor_call)(struct ci_ca *ca, struct ci_vendor_call *vendor, struct uvp_call *call);
	/** The module's answer is in vendor. */
	void (*post_vendor_call)(struct ci_ca *ca, struct ci_vendor_call *vendor, al_status status,
				 struct uvp_call *call);

	/* domains */

	/** Protection domain. */
	al_status (*pre_allocate_pd)(struct ci_pd *pd, struct uvp_call *call);
	/** It is there. */
	al_status (*post_allocate_pd)(struct ci_pd *pd, al_status status, struct uvp_call *call);
	/** About to go. */
	void (*pre_deallocate_pd)(struct ci_pd *pd, struct uvp_call *call);
	/** Gone. */
	void (*post_deallocate_pd)(struct ci_pd *pd, struct uvp_call *call);
	/** Reliable datagram domain. */
	al_status (*pre_allocate_rdd)(struct ci_rdd *rdd, struct uvp_call *call);
	/** It is there. */
	al_status (*post_allocate_rdd)(struct ci_rdd *rdd, al_status status, struct uvp_call *call);
	/** About to go. */
	void (*pre_deallocate_rdd)(struct ci_rdd *rdd, struct uvp_call *call);
	/** Gone. */
	void (*post_deallocate_rdd)(struct ci_rdd *rdd, struct uvp_call *call);
	/** XRC domain; fd: as in ci_interface. */
	al_status (*pre_allocate_xrcd)(struct ci_xrcd *xrcd, int fd, struct uvp_call *call);
	/** It is there. */
	al_status (*post_allocate_xrcd)(struct ci_xrcd *xrcd, int fd, al_status status, struct uvp_call *call);
	/** About to go. */
	void (*pre_deallocate_xrcd)(struct ci_xrcd *xrcd, struct uvp_call *call);
	/** Gone. */
	void (*post_deallocate_xrcd)(struct ci_xrcd *xrcd, struct uvp_call *call);

	/* address handles: kept in this process, the agent checks the vector at each use; nothing crosses */

	/** Atomic. Build the vendor's address vector. */
	al_status (*pre_create_ah)(struct ci_ah *ah, const struct ib_ah_attr *attr, struct uvp_call *call);
	/** Atomic. It is there. */
	al_status (*post_create_ah)(struct ci_ah *ah, const struct ib_ah_attr *attr, al_status status,
				    struct uvp_call *call);
	/** Atomic. Requests posted before keep the old path. */
	al_status (*pre_modify_ah)(struct ci_ah *ah, const struct ib_ah_attr *attr, struct uvp_call *call);
	/** Atomic. Changed, or not. */
	void (*post_modify_ah)(struct ci_ah *ah, const struct ib_ah_attr *attr, al_status status,
			       struct uvp_call *call);
	/** Atomic. May answer itself. */
	al_status (*pre_query_ah)(struct ci_ah *ah, struct ib_ah_attr *attr, struct uvp_call *call);
	/** Atomic. The path is there. */
	void (*post_query_ah)(struct ci_ah *ah, struct ib_ah_attr *attr, al_status status, struct uvp_call *call);
	/** Atomic. About to go; requests posted before complete all the same. */
	void (*pre_destroy_ah)(struct ci_ah *ah, struct uvp_call *call);
	/** Atomic. Gone. */
	void (*post_destroy_ah)(struct ci_ah *ah, struct uvp_call *call);

	/* memory */

	/** mem: of this process; its pages are there and permit the access. */
	al_status (*pre_register_mr)(struct ci_mr *mr, const struct ci_mem *mem, struct uvp_call *call);
	/** The keys are in mr. */
	al_status (*post_register_mr)(struct ci_mr *mr, const struct ci_mem *mem, al_status status,
				      struct uvp_call *call);
	/** About to go; every kind of region. */
	void (*pre_deregister_mr)(struct ci_mr *mr, struct uvp_call *call);
	/** Gone: nothing touches the memory any more. */
	void (*post_deregister_mr)(struct ci_mr *mr, struct uvp_call *call);
	/** Addresses of al_dma_*. */
	al_status (*pre_register_pmr)(struct ci_mr *mr, const struct al_phys_mr_init *init, uint64_t *iova,
				      struct uvp_call *call);
	/** The keys are in mr, the address given in *iova. */
	al_status (*post_register_pmr)(struct ci_mr *mr, const struct al_phys_mr_init *init, uint64_t *iova,
				       al_status status, struct uvp_call *call);
	/** A second region on the memory of another. */
	al_status (*pre_register_smr)(struct ci_mr *mr, struct ci_mr *of, uint32_t access, uint64_t *iova,
				      struct uvp_call *call);
	/** The keys are in mr, the address given in *iova. */
	al_status (*post_register_smr)(struct ci_mr *mr, struct ci_mr *of, uint32_t access, uint64_t *iova,
				       al_status status, struct uvp_call *call);
	/** mask: enum ib_mr_rereg_mask. */
	al_status (*pre_reregister_mr)(struct ci_mr *mr, uint32_t mask, struct ci_pd *pd,
				       const struct ci_mem *mem, uint32_t access, struct uvp_call *call);
	/** Changed, with new keys in mr, or not. */
	void (*post_reregister_mr)(struct ci_mr *mr, uint32_t mask, struct ci_pd *pd, const struct ci_mem *mem,
				   uint32_t access, al_status status, struct uvp_call *call);
	/** The same with addresses of al_dma_*. */
	al_status (*pre_reregister_pmr)(struct ci_mr *mr, uint32_t mask, struct ci_pd *pd,
					const struct al_phys_mr_init *init, uint64_t *iova,
					struct uvp_call *call);
	/** Changed, or not. */
	void (*post_reregister_pmr)(struct ci_mr *mr, uint32_t mask, struct ci_pd *pd,
				    const struct al_phys_mr_init *init, uint64_t *iova, al_status status,
				    struct uvp_call *call);
	/** May answer itself. */
	al_status (*pre_query_mr)(struct ci_mr *mr, struct ib_mr_attr *attr, struct uvp_call *call);
	/** The attributes are there. */
	void (*post_query_mr)(struct ci_mr *mr, struct ib_mr_attr *attr, al_status status, struct uvp_call *call);
	/** A region for all memory that al_dma_* has mapped. */
	al_status (*pre_get_dma_mr)(struct ci_mr *mr, uint32_t access, struct uvp_call *call);
	/** The keys are in mr. */
	al_status (*post_get_dma_mr)(struct ci_mr *mr, uint32_t access, al_status status, struct uvp_call *call);
	/** A region to be filled by #IB_WR_REG_MR. */
	al_status (*pre_alloc_fast_reg_mr)(struct ci_mr *mr, uint32_t max_pages, struct uvp_call *call);
	/** The keys are in mr. */
	al_status (*post_alloc_fast_reg_mr)(struct ci_mr *mr, uint32_t max_pages, al_status status,
					    struct uvp_call *call);
	/** Fast memory region. */
	al_status (*pre_alloc_fmr)(struct ci_fmr *fmr, const struct ib_fmr_attr *attr, struct uvp_call *call);
	/** It is there. */
	al_status (*post_alloc_fmr)(struct ci_fmr *fmr, const struct ib_fmr_attr *attr, al_status status,
				    struct uvp_call *call);
	/** Atomic. Maps num pages. */
	al_status (*pre_map_phys_fmr)(struct ci_fmr *fmr, const uint64_t *pages, uint32_t num, uint64_t iova,
				      struct uvp_call *call);
	/** Atomic. The keys are in fmr. */
	void (*post_map_phys_fmr)(struct ci_fmr *fmr, const uint64_t *pages, uint32_t num, uint64_t iova,
				  al_status status, struct uvp_call *call);
	/** Unmaps num of them. */
	al_status (*pre_unmap_fmr)(struct ci_fmr *const *fmrs, uint32_t num, struct uvp_call *call);
	/** Unmapped, or not. */
	void (*post_unmap_fmr)(struct ci_fmr *const *fmrs, uint32_t num, al_status status, struct uvp_call *call);
	/** About to go. */
	void (*pre_dealloc_fmr)(struct ci_fmr *fmr, struct uvp_call *call);
	/** Gone. */
	void (*post_dealloc_fmr)(struct ci_fmr *fmr, struct uvp_call *call);
	/** Memory window. */
	al_status (*pre_allocate_mw)(struct ci_mw *mw, struct uvp_call *call);
	/** The key is in mw. */
	al_status (*post_allocate_mw)(struct ci_mw *mw, al_status status, struct uvp_call *call);
	/** About to go. */
	void (*pre_deallocate_mw)(struct ci_mw *mw, struct uvp_call *call);
	/** Gone. */
	void (*post_deallocate_mw)(struct ci_mw *mw, struct uvp_call *call);

	/* completion queues */

	/** For example, allocate the ring in a memfd and pass the descriptor. */
	al_status (*pre_create_cq)(struct ci_cq *cq, struct ci_cq_init *init, struct uvp_call *call);
	/** cq->cqe is the size. For example, map a ring that the module allocated. */
	al_status (*post_create_cq)(struct ci_cq *cq, struct ci_cq_init *init, al_status status,
				    struct uvp_call *call);
	/** About to go. */
	void (*pre_destroy_cq)(struct ci_cq *cq, struct uvp_call *call);
	/** Gone: no completion comes any more. */
	void (*post_destroy_cq)(struct ci_cq *cq, struct uvp_call *call);
	/** *cqe: wanted. Allocate the new ring here. */
	al_status (*pre_resize_cq)(struct ci_cq *cq, uint32_t *cqe, struct uvp_call *call);
	/** *cqe: there. Move what the old ring holds, or drop the new one. */
	void (*post_resize_cq)(struct ci_cq *cq, uint32_t *cqe, al_status status, struct uvp_call *call);
	/** Moderation. */
	al_status (*pre_modify_cq)(struct ci_cq *cq, uint16_t count, uint16_t period, struct uvp_call *call);
	/** Changed, or not. */
	void (*post_modify_cq)(struct ci_cq *cq, uint16_t count, uint16_t period, al_status status,
			       struct uvp_call *call);
	/** May answer itself. */
	al_status (*pre_query_cq)(struct ci_cq *cq, struct al_cq_attr *attr, struct uvp_call *call);
	/** The attributes are there; put right what only the provider knows. */
	void (*post_query_cq)(struct ci_cq *cq, struct al_cq_attr *attr, al_status status, struct uvp_call *call);

	/* queue pairs */

	/** Allocate the rings. */
	al_status (*pre_create_qp)(struct ci_qp *qp, struct ci_qp_init *init, struct uvp_call *call);
	/** qp_num and cap are there. */
	al_status (*post_create_qp)(struct ci_qp *qp, struct ci_qp_init *init, al_status status,
				    struct uvp_call *call);
	/** mask: enum ib_qp_attr_mask; checked. */
	al_status (*pre_modify_qp)(struct ci_qp *qp, const struct ib_qp_attr *attr, uint32_t mask,
				   struct uvp_call *call);
	/** Changed, or not; to Reset: empty the rings. */
	void (*post_modify_qp)(struct ci_qp *qp, const struct ib_qp_attr *attr, uint32_t mask, al_status status,
			       struct uvp_call *call);
	/** May answer itself. */
	al_status (*pre_query_qp)(struct ci_qp *qp, struct ib_qp_attr *attr, struct uvp_call *call);
	/** The attributes are there. */
	void (*post_query_qp)(struct ci_qp *qp, struct ib_qp_attr *attr, al_status status, struct uvp_call *call);
	/** About to go. */
	void (*pre_destroy_qp)(struct ci_qp *qp, struct uvp_call *call);
	/** Gone: take its completions out of the CQs that the provider keeps. */
	void (*post_destroy_qp)(struct ci_qp *qp, struct uvp_call *call);
	/** Raw, on a port. (QP0 and QP1 are the agent's.) */
	al_status (*pre_create_spl_qp)(struct ci_qp *qp, uint8_t port, struct ci_qp_init *init,
				       struct uvp_call *call);
	/** qp_num and cap are there. */
	al_status (*post_create_spl_qp)(struct ci_qp *qp, uint8_t port, struct ci_qp_init *init,
					al_status status, struct uvp_call *call);

	/* shared receive queues */

	/** Allocate the ring. */
	al_status (*pre_create_srq)(struct ci_srq *srq, struct ci_srq_init *init, struct uvp_call *call);
	/** srqn and sizes are there. */
	al_status (*post_create_srq)(struct ci_srq *srq, struct ci_srq_init *init, al_status status,
				     struct uvp_call *call);
	/** mask: enum ib_srq_attr_mask. Allocate the new ring here. */
	al_status (*pre_modify_srq)(struct ci_srq *srq, struct ib_srq_attr *attr, uint32_t mask,
				    struct uvp_call *call);
	/** Changed, or not. */
	void (*post_modify_srq)(struct ci_srq *srq, struct ib_srq_attr *attr, uint32_t mask, al_status status,
				struct uvp_call *call);
	/** May answer itself. */
	al_status (*pre_query_srq)(struct ci_srq *srq, struct ib_srq_attr *attr, struct uvp_call *call);
	/** The attributes are there. */
	void (*post_query_srq)(struct ci_srq *srq, struct ib_srq_attr *attr, al_status status,
			       struct uvp_call *call);
	/** About to go. */
	void (*pre_destroy_srq)(struct ci_srq *srq, struct uvp_call *call);
	/** Gone. */
	void (*post_destroy_srq)(struct ci_srq *srq, struct uvp_call *call);

	/* end-to-end contexts */

	/** End-to-end context. */
	al_status (*pre_create_eec)(struct ci_eec *eec, struct uvp_call *call);
	/** eecn is there. */
	al_status (*post_create_eec)(struct ci_eec *eec, al_status status, struct uvp_call *call);
	/** mask: enum ib_qp_attr_mask. */
	al_status (*pre_modify_eec)(struct ci_eec *eec, const struct ib_eec_attr *attr, uint32_t mask,
				    struct uvp_call *call);
	/** Changed, or not. */
	void (*post_modify_eec)(struct ci_eec *eec, const struct ib_eec_attr *attr, uint32_t mask,
				al_status status, struct uvp_call *call);
	/** May answer itself. */
	al_status (*pre_query_eec)(struct ci_eec *eec, struct ib_eec_attr *attr, struct uvp_call *call);
	/** The attributes are there. */
	void (*post_query_eec)(struct ci_eec *eec, struct ib_eec_attr *attr, al_status status,
			       struct uvp_call *call);
	/** About to go. */
	void (*pre_destroy_eec)(struct ci_eec *eec, struct uvp_call *call);
	/** Gone. */
	void (*post_destroy_eec)(struct ci_eec *eec, struct uvp_call *call);

	/* multicast */

	/** Twice the same is one membership. */
	al_status (*pre_attach_mcast)(struct ci_qp *qp, const ib_gid *gid, uint16_t mlid, struct uvp_call *call);
	/** Attached, or not. */
	void (*post_attach_mcast)(struct ci_qp *qp, const ib_gid *gid, uint16_t mlid, al_status status,
				  struct uvp_call *call);
	/** About to leave. */
	al_status (*pre_detach_mcast)(struct ci_qp *qp, const ib_gid *gid, uint16_t mlid, struct uvp_call *call);
	/** Left, or not. */
	void (*post_detach_mcast)(struct ci_qp *qp, const ib_gid *gid, uint16_t mlid, al_status status,
				  struct uvp_call *call);

	/* the data path: direct hooks, contracts as the members of the same name in struct ci_interface */

	/** Atomic. Posts the bind of a window of type 1; sets mw->rkey. */
	al_status (*bind_mw)(struct ci_qp *qp, struct ci_mw *mw, struct ci_mr *mr, const struct ib_mw_bind *bind);
	/** Atomic. Removes completions. */
	al_status (*poll_cq)(struct ci_cq *cq, uint32_t num, struct ib_wc *wc, uint32_t *count);
	/** Atomic. Arms the queue; the notification comes through the agent. */
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
	const char *name;    /**< ci_module.name of the module whose HCAs it serves */
	const char *version; /**< the vendor's version, for people */
	const char *license; /**< SPDX expression */
	uint32_t flags;      /**< zero */
	uint32_t pad;        /**< zero */
	const struct uvp_interface *ops; /**< the hooks */
	/** After loading, before the first hook; a failure is logged, and the HCA is used without the provider. Optional. */
	al_status (*init)(void);
	/** Before unloading: no object is left. Optional. */
	void (*cleanup)(void);
};

/** The one symbol that a provider exports. */
extern const struct uvp_module uvp_module;

#ifdef __cplusplus
}
#endif

#endif /* IBA_IB_UVP_H */
