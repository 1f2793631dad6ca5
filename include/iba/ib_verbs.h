/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/**
 * @file ib_verbs.h
 * @brief Types of the verbs: memory, completion queues, queue pairs, work requests and completions.
 *
 * This header needs no function of the library. Names, units and reserved fields follow ib_types.h; "IBTA" is the
 * InfiniBand Architecture Specification, Volume 1, with its clause; "seed 001" are the NDKPI requirements for
 * completion handling, "seed 004" is the chapter on InfiniBand in Linux (verbs), with its name there; "SAS" is the
 * Software Architecture Specification of the HCA driver (seed 003).
 */
#ifndef IBA_IB_VERBS_H
#define IBA_IB_VERBS_H

#include <iba/ib_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** @addtogroup ibal_regions
 * @{ */

/** Permissions of a region, window or queue pair: bits (IBTA 10.6.3). Local read is always granted. */
enum ib_access {
	IB_ACCESS_LOCAL_WRITE = 1 << 0,   /**< the HCA may write for local requests; necessary for remote write and
					   * atomics */
	IB_ACCESS_REMOTE_WRITE = 1 << 1,  /**< peers may write */
	IB_ACCESS_REMOTE_READ = 1 << 2,   /**< peers may read */
	IB_ACCESS_REMOTE_ATOMIC = 1 << 3, /**< peers may do atomics */
	IB_ACCESS_MW_BIND = 1 << 4,       /**< windows may be bound to the region */
	IB_ACCESS_ZERO_BASED = 1 << 5,    /**< addresses count from 0 */
	IB_ACCESS_RELAXED_ORDERING = 1 << 8, /**< a hint */
};

/** Scatter/gather element: a piece of registered local memory. */
struct ib_sge {
	uint64_t addr;   /**< virtual address, or offset in a zero-based region */
	uint32_t length; /**< bytes; 0: an empty element */
	uint32_t lkey;   /**< lkey of the region, as al_reg_mr() has returned it */
};

/** Memory to register (al_reg_mr()). */
struct al_mr_init {
	void *addr;           /**< first byte */
	uint64_t length;      /**< bytes, from 1 to ib_ca_attr.max_mr_size */
	uint32_t access;      /**< permissions: bits of enum ib_access */
	uint32_t flags;       /**< zero */
	bool use_iova;        /**< requests name the memory by iova instead of addr */
	uint64_t iova;        /**< I/O virtual address of the first byte; same offset in its page as addr */
	uint64_t reserved[4]; /**< zero */
};

/** A physical buffer (seed 004, ib_phys_buf), with addresses from al_dma_*. */
struct ib_phys_buf {
	uint64_t addr; /**< start; page aligned, except in the first buffer */
	uint64_t size; /**< bytes; whole pages, except in the last buffer */
};

/** Physical memory to register (al_reg_phys_mr()). */
struct al_phys_mr_init {
	const struct ib_phys_buf *bufs; /**< num_bufs buffers */
	uint32_t num_bufs;    /**< at least 1 */
	uint32_t access;      /**< enum ib_access */
	uint64_t iova;        /**< in: requested I/O virtual address; out: granted address */
	uint64_t offset;      /**< offset of the first byte in the first buffer */
	uint64_t length;      /**< bytes */
	uint64_t reserved[4]; /**< zero */
};

/** Parts of a region that al_rereg_mr() changes: bits (IBTA 11.2.8.5). */
enum ib_mr_rereg_mask {
	IB_MR_REREG_TRANS = 1 << 0,  /**< the memory */
	IB_MR_REREG_PD = 1 << 1,     /**< the protection domain */
	IB_MR_REREG_ACCESS = 1 << 2, /**< the permissions */
};

/** Attributes of a region (al_query_mr()). */
struct ib_mr_attr {
	uint64_t addr;        /**< address by which requests name the first byte */
	uint64_t length;      /**< bytes */
	uint32_t access;      /**< enum ib_access */
	uint32_t lkey;        /**< key for local requests */
	uint32_t rkey;        /**< key for peers; 0 without any remote permission */
	uint32_t page_shift;  /**< log2 of the page size */
	uint32_t bound_windows; /**< number of windows bound to the region now */
	uint32_t pad;         /**< zero */
	uint64_t reserved[4]; /**< zero */
};

/** Kind of a memory window, IBTA 10.6.7.2.3: X(name, value, text). */
#define IB_MW_TYPE_LIST(X) \
	X(IB_MW_TYPE_1, 1, "1") \
	X(IB_MW_TYPE_2A, 2, "2A") \
	X(IB_MW_TYPE_2B, 3, "2B")
/** Kind of a memory window. */
typedef enum ib_mw_type { IB_MW_TYPE_LIST(IBA_ENUM_VALUE) } ib_mw_type;

/** The memory to which a window is bound (seed 004, ib_mw_bind_info). */
struct ib_mw_bind_info {
	al_mr_h mr;      /**< region with #IB_ACCESS_MW_BIND */
	uint64_t addr;   /**< start, in the region's addresses */
	uint64_t length; /**< bytes; 0 unbinds a window of type 1 */
	uint32_t access; /**< enum ib_access, remote permissions only */
	uint32_t pad;    /**< zero */
};

/** Bind of a window of type 1 (al_bind_mw(); IBTA 11.4.1). */
struct ib_mw_bind {
	uint64_t wr_id;               /**< comes back in the completion */
	uint32_t send_flags;          /**< enum ib_send_flags */
	uint32_t pad;                 /**< zero */
	struct ib_mw_bind_info bind_info; /**< memory */
	uint64_t reserved[4];         /**< zero */
};

/** Limits of fast memory regions (seed 004, FMR). */
struct ib_fmr_attr {
	uint32_t max_pages;   /**< pages of one map */
	uint32_t max_maps;    /**< maps before an unmap is due */
	uint32_t access;      /**< enum ib_access */
	uint8_t page_shift;   /**< log2 of the page size */
	uint8_t pad[3];       /**< zero */
	uint64_t reserved[4]; /**< zero */
};

/** Direction of a DMA mapping: X(name, value, text). */
#define IB_DMA_DIRECTION_LIST(X) \
	X(IB_DMA_BIDIRECTIONAL, 0, "both ways") \
	X(IB_DMA_TO_DEVICE, 1, "to the device") \
	X(IB_DMA_FROM_DEVICE, 2, "from the device")
/** Direction of a DMA mapping. */
typedef enum ib_dma_direction { IB_DMA_DIRECTION_LIST(IBA_ENUM_VALUE) } ib_dma_direction;

/** Attributes of a DMA mapping (seed 004, dma_attrs): bits. */
enum ib_dma_attr {
	IB_DMA_WEAK_ORDERING = 1 << 0, /**< reads and writes may pass each other */
	IB_DMA_SKIP_CPU_SYNC = 1 << 1, /**< the map transfers no ownership: the caller synchronises with
					* al_dma_sync_* */
};

/** Element of a scatter/gather list to map for DMA (seed 004, ib_dma_map_sg). */
struct ib_dma_sg {
	void *addr;           /**< memory */
	uint64_t length;      /**< bytes */
	uint64_t dma_address; /**< filled in by the map */
	uint64_t dma_length;  /**< filled in by the map */
};

/** @} */

/** @addtogroup ibal_cqs
 * @{ */

/** Types of an arm; each type includes the types before it (seed 001, table of types): X(name, value, text). */
#define AL_ARM_LIST(X) \
	X(AL_ARM_NONE, 0, "none") \
	X(AL_ARM_ERRORS, 1, "errors") \
	X(AL_ARM_SOLICITED, 2, "solicited") \
	X(AL_ARM_ANY, 3, "any")
/**
 * Type of an arm: the completions that satisfy the arm. #AL_ARM_ERRORS: completions in error. #AL_ARM_SOLICITED:
 * completions in error, and receives of messages sent with #IB_SEND_SOLICITED. #AL_ARM_ANY: every completion.
 * #AL_ARM_NONE is refused as an argument; al_query_cq() returns #AL_ARM_NONE for a queue that is not armed.
 */
typedef enum al_arm { AL_ARM_LIST(IBA_ENUM_VALUE) } al_arm;

/** Notification modes of a completion queue: X(name, value, text). */
#define AL_CQ_NOTIFY_LIST(X) \
	X(AL_CQ_NOTIFY_PENDING, 0, "pending") \
	X(AL_CQ_NOTIFY_NEXT, 1, "next")
/**
 * Notification mode: whether completions already in the queue satisfy an arm. #AL_CQ_NOTIFY_PENDING (seed 001): a
 * completion that is newer than the last notification satisfies an arm of any type at once. #AL_CQ_NOTIFY_NEXT (seed
 * 004, IBTA 11.4.2.2): only completions that are added after the call satisfy the arm.
 */
typedef enum al_cq_notify { AL_CQ_NOTIFY_LIST(IBA_ENUM_VALUE) } al_cq_notify;

/** Outcome of a work request, IBTA 11.6.2: X(name, value, text). */
#define IB_WC_STATUS_LIST(X) \
	X(IB_WC_SUCCESS, 0, "success") \
	X(IB_WC_LOC_LEN_ERR, 1, "local length error") \
	X(IB_WC_LOC_QP_OP_ERR, 2, "local QP operation error") \
	X(IB_WC_LOC_EEC_OP_ERR, 3, "local EE context operation error") \
	X(IB_WC_LOC_PROT_ERR, 4, "local protection error") \
	X(IB_WC_WR_FLUSH_ERR, 5, "work request flushed") \
	X(IB_WC_MW_BIND_ERR, 6, "memory window bind error") \
	X(IB_WC_BAD_RESP_ERR, 7, "bad response error") \
	X(IB_WC_LOC_ACCESS_ERR, 8, "local access error") \
	X(IB_WC_REM_INV_REQ_ERR, 9, "remote invalid request error") \
	X(IB_WC_REM_ACCESS_ERR, 10, "remote access error") \
	X(IB_WC_REM_OP_ERR, 11, "remote operation error") \
	X(IB_WC_RETRY_EXC_ERR, 12, "transport retry counter exceeded") \
	X(IB_WC_RNR_RETRY_EXC_ERR, 13, "RNR retry counter exceeded") \
	X(IB_WC_LOC_RDD_VIOL_ERR, 14, "local RDD violation error") \
	X(IB_WC_REM_INV_RD_REQ_ERR, 15, "remote invalid RD request") \
	X(IB_WC_REM_ABORT_ERR, 16, "remote aborted error") \
	X(IB_WC_INV_EECN_ERR, 17, "invalid EE context number") \
	X(IB_WC_INV_EEC_STATE_ERR, 18, "invalid EE context state") \
	X(IB_WC_FATAL_ERR, 19, "fatal error") \
	X(IB_WC_RESP_TIMEOUT_ERR, 20, "response timeout") \
	X(IB_WC_GENERAL_ERR, 21, "general error") \
	X(IB_WC_CQ_OVERFLOW_ERR, 22, "completion queue overflow")
/** Outcome of a work request. ibal_errors(7) has the usual causes of errors. */
typedef enum ib_wc_status { IB_WC_STATUS_LIST(IBA_ENUM_VALUE) } ib_wc_status;

/** Operations of completions: X(name, value, text). */
#define IB_WC_OPCODE_LIST(X) \
	X(IB_WC_SEND, 0, "send") \
	X(IB_WC_RDMA_WRITE, 1, "RDMA write") \
	X(IB_WC_RDMA_READ, 2, "RDMA read") \
	X(IB_WC_COMP_SWAP, 3, "compare and swap") \
	X(IB_WC_FETCH_ADD, 4, "fetch and add") \
	X(IB_WC_MASKED_COMP_SWAP, 5, "masked compare and swap") \
	X(IB_WC_MASKED_FETCH_ADD, 6, "masked fetch and add") \
	X(IB_WC_BIND_MW, 7, "bind window") \
	X(IB_WC_REG_MR, 8, "fast registration") \
	X(IB_WC_LOCAL_INV, 9, "local invalidate") \
	X(IB_WC_RECV, 128, "receive") \
	X(IB_WC_RECV_RDMA_WITH_IMM, 129, "receive of RDMA write with immediate")
/** Operation that was completed; receives have bit 7 set. In a completion in error only bit 7 is defined. */
typedef enum ib_wc_opcode { IB_WC_OPCODE_LIST(IBA_ENUM_VALUE) } ib_wc_opcode;

/** Bits of ib_wc.wc_flags. */
enum ib_wc_flags {
	IB_WC_GRH = 1 << 0,      /**< the first 40 bytes of the receive buffer hold a GRH */
	IB_WC_WITH_IMM = 1 << 1, /**< imm_data is valid */
	IB_WC_WITH_INVALIDATE =
		1 << 2,           /**< invalidated_rkey is valid; set by al_poll_cq_ex() only */
	IB_WC_SOLICITED = 1 << 3, /**< the sender asked for a solicited event */
	IB_WC_IP4 = 1 << 4, /**< with #IB_WC_GRH: the datagram came on IPv4, and the last 20 of the 40
			     * bytes are its IP header (IBTA A17.4.5.1) */
	IB_WC_IP6 = 1 << 5, /**< with #IB_WC_GRH: the datagram came on IPv6, and the 40 bytes are its
			     * IP header */
};

/** Work completion: the outcome of a request (IBTA 11.4.2.1). wr_id and qp_context identify the
 * request. */
struct ib_wc {
	uint64_t wr_id;       /**< wr_id of the request */
	void *qp_context;     /**< context given at the queue pair's creation */
	ib_wc_status status; /**< outcome; unless #IB_WC_SUCCESS, only wr_id, qp_context, qp_num and
			      * vendor_err are defined besides */
	ib_wc_opcode opcode; /**< operation; receives have values of their own (#IB_WC_RECV) */
	uint32_t byte_len;    /**< bytes received, read or returned by an atomic; for datagrams including the GRH
			       * area */
	uint32_t wc_flags;    /**< enum ib_wc_flags */
	uint32_t imm_data; /**< with #IB_WC_WITH_IMM: the value that the sender gave, in host byte
			      order */
	uint32_t invalidated_rkey; /**< with #IB_WC_WITH_INVALIDATE: key that the peer's send
				      invalidated */
	uint32_t qp_num;           /**< number of the queue pair that completed the request */
	uint32_t src_qp;      /**< datagrams: number of the sender's queue pair, for an answer */
	uint32_t vendor_err;  /**< detail of an error, which the HCA's vendor defines */
	uint16_t pkey_index;  /**< QP1: index of the packet's P_Key */
	uint16_t slid;        /**< datagrams: source LID */
	uint8_t sl;           /**< datagrams: service level */
	uint8_t dlid_path_bits; /**< datagrams: low bits of the destination LID */
	uint8_t port_num; /**< datagrams: port that received the datagram; of a switch the external
			     port that the datagram came in by, or 0 */
	uint8_t pad[5];       /**< zero */
};

/** Attributes of a completion queue at its creation. */
struct al_cq_init {
	uint32_t cqe;           /**< in: requested entries, at least 1; out: granted entries, or the limit if it was
				 * exceeded */
	uint32_t comp_vector; /**< completion vector, less than ib_ca_attr.num_comp_vectors: queues
			       * of one vector share a thread for their callbacks */
	al_cq_notify notify; /**< notification mode; #AL_CQ_NOTIFY_PENDING (0)
				 * misses no completion */
	al_channel_h channel;   /**< channel for notifications and events; NULL: callbacks deliver them */
	uint64_t reserved[4];   /**< zero */
};

/** Attributes of a completion queue (al_query_cq()). */
struct al_cq_attr {
	uint32_t cqe;           /**< number of entries */
	uint32_t comp_vector;   /**< completion vector */
	al_cq_notify notify;    /**< notification mode */
	al_arm armed;           /**< type of the arm that is not satisfied yet; #AL_ARM_NONE: the queue is not armed */
	uint32_t count;         /**< number of completions in the queue now */
	uint16_t moderation_count;  /**< completions after which a notification follows; 0 and 1: each completion */
	uint16_t moderation_period; /**< microseconds after the first of these completions until the notification; 0:
				     * count alone decides */
	bool overflowed;        /**< the queue has overflowed and can only be destroyed */
	uint8_t pad[7];         /**< zero */
	uint64_t reserved[4];   /**< zero */
};

/** @} */

/** @addtogroup ibal_qps
 * @{ */

/** Transport service, IBTA 10.2.4 and seed 004: X(name, value, text). */
#define IB_QP_TYPE_LIST(X) \
	X(IB_QPT_RC, 1, "RC") \
	X(IB_QPT_UC, 2, "UC") \
	X(IB_QPT_RD, 3, "RD") \
	X(IB_QPT_UD, 4, "UD") \
	X(IB_QPT_RAW_IPV6, 5, "RawIPv6") \
	X(IB_QPT_RAW_ETHERTYPE, 6, "RawEthertype") \
	X(IB_QPT_RAW_PACKET, 7, "RawPacket") \
	X(IB_QPT_XRC_INI, 8, "XRC-INI") \
	X(IB_QPT_XRC_TGT, 9, "XRC-TGT") \
	X(IB_QPT_SMI, 10, "SMI") \
	X(IB_QPT_GSI, 11, "GSI")
/** Transport service of a queue pair. */
typedef enum ib_qp_type {
	IB_QPT_NONE = 0, /**< no type: the value of a zeroed struct, refused at creation */
	IB_QP_TYPE_LIST(IBA_ENUM_VALUE)
	IB_QPT_COUNT /**< one more than the last type */
} ib_qp_type;

/** State of a queue pair, IBTA 10.3.1: X(name, value, text). */
#define IB_QP_STATE_LIST(X) \
	X(IB_QPS_RESET, 0, "Reset") \
	X(IB_QPS_INIT, 1, "Init") \
	X(IB_QPS_RTR, 2, "RTR") \
	X(IB_QPS_RTS, 3, "RTS") \
	X(IB_QPS_SQD, 4, "SQD") \
	X(IB_QPS_SQE, 5, "SQE") \
	X(IB_QPS_ERR, 6, "Error")
/** State of a queue pair. */
typedef enum ib_qp_state {
	IB_QP_STATE_LIST(IBA_ENUM_VALUE)
	IB_QPS_COUNT /**< one more than the last state */
} ib_qp_state;

/** Path migration state, IBTA 17.2.8: X(name, value, text). */
#define IB_MIG_STATE_LIST(X) \
	X(IB_MIG_MIGRATED, 0, "Migrated") \
	X(IB_MIG_REARM, 1, "Rearm") \
	X(IB_MIG_ARMED, 2, "Armed")
/** Path migration state. */
typedef enum ib_mig_state { IB_MIG_STATE_LIST(IBA_ENUM_VALUE) } ib_mig_state;

/**
 * Sizes of a queue pair. At creation in: requested sizes; out: granted sizes, never less, or the limits if one was
 * exceeded.
 */
struct ib_qp_cap {
	uint32_t max_send_wr; /**< send requests that may be outstanding, up to ib_ca_attr.max_qp_wr
			       */
	uint32_t max_recv_wr; /**< receive requests that may be outstanding, up to
			       * ib_ca_attr.max_qp_wr; unused with an SRQ */
	uint32_t max_send_sge;    /**< elements of a send request's sg_list, up to
				     ib_ca_attr.max_send_sge */
	uint32_t max_recv_sge;    /**< elements of a receive request's sg_list, up to
				     ib_ca_attr.max_recv_sge */
	uint32_t max_inline_data; /**< bytes of a request with #IB_SEND_INLINE, up to
				     ib_ca_attr.max_inline_data */
};

/** Attributes of a queue pair at its creation (seed 004, ib_qp_init_attr; IBTA 11.2.4.1). */
struct al_qp_init {
	ib_qp_type qp_type; /**< transport service: #IB_QPT_RC, or a type that
				 * ib_ca_attr.caps names */
	bool sq_sig_all;        /**< every send request generates a completion; false: only requests with
				 * #IB_SEND_SIGNALED, and errors */
	bool block_mcast_loopback; /**< as a member of a multicast group the queue pair receives no copy of its own
				    * datagrams */
	uint8_t port_num;     /**< special and raw types: port, from 1; else 0, since al_modify_qp()
				 gives the port */
	struct ib_qp_cap cap; /**< sizes: in: requested; out: granted */
	al_cq_h send_cq;      /**< queue for completions of send requests; may be of another PD */
	al_cq_h recv_cq;      /**< queue for completions of receive requests; may be send_cq */
	al_srq_h srq;           /**< shared receive queue, of the queue pair's PD; NULL: the queue pair has its own
				 * receive queue */
	al_rdd_h rdd;           /**< RD: reliable datagram domain; else NULL */
	al_xrcd_h xrcd;         /**< XRC-TGT: XRC domain; else NULL */
	al_channel_h channel;   /**< channel for the queue pair's asynchronous events; NULL: a
				   callback delivers them */
	uint64_t reserved[3];   /**< zero */
};

/** Attributes of a queue pair (seed 004, ib_qp_attr; IBTA 11.2.4.2). */
struct ib_qp_attr {
	ib_qp_state qp_state;       /**< modify: new state; query: current state */
	ib_qp_state cur_qp_state;   /**< modify: state that the caller takes for the current state;
				     * the call is   refused if the queue pair is in another state */
	ib_mtu path_mtu;            /**< largest payload of a packet, at most the port's
				     * ib_port_attr.active_mtu;	    both ends give the same */
	ib_mig_state path_mig_state; /**< whether the alternate path is loaded or armed */
	uint32_t qkey;   /**< datagram types: key that datagrams to this queue pair must have */
	uint32_t rq_psn; /**< first packet sequence number expected, 24 bits: the peer's sq_psn */
	uint32_t sq_psn; /**< first packet sequence number sent, 24 bits: the peer's rq_psn */
	uint32_t dest_qp_num; /**< connected types: number of the peer's queue pair, 24 bits */
	uint32_t qp_access_flags;   /**< enum ib_access: what peers may do through this queue pair */
	struct ib_qp_cap cap;       /**< query: granted sizes; no transition permits a change */
	struct ib_ah_attr ah_attr;  /**< connected types: path to the peer */
	struct ib_ah_attr alt_ah_attr; /**< alternate path to the peer, for path migration */
	uint16_t pkey_index;        /**< index in the port's P_Key table */
	uint16_t alt_pkey_index;    /**< index in the alternate port's P_Key table */
	bool en_sqd_async_notify;   /**< with a change to SQD: raise #IB_EVENT_SQ_DRAINED when the send queue is
				     * drained */
	bool sq_draining;           /**< query in SQD: the send queue is still draining */
	uint8_t max_rd_atomic; /**< RDMA reads and atomics that this end may have outstanding, at
				* most the peer's max_dest_rd_atomic and
				* ib_ca_attr.max_qp_init_rd_atom */
	uint8_t max_dest_rd_atomic; /**< RDMA reads and atomics of the peer that this end serves at
				     * once, at most ib_ca_attr.max_qp_rd_atom */
	uint8_t min_rnr_timer; /**< code of the time that the peer waits before it sends again when
				* no receive request was posted (RNR NAK): 1 (0.01 ms), 12 (0.64 ms)
				* to 31 (491.52 ms); 0: 655.36 ms (IBTA table 45) */
	uint8_t port_num;      /**< port of this HCA that the queue pair uses, from 1 */
	uint8_t timeout;   /**< time without an acknowledgement until a packet counts as lost: 4.096
			    * us * 2^n   for 1 to 31, such as 14: 67 ms; 0: no limit */
	uint8_t retry_cnt; /**< repetitions after time-outs and sequence errors, 0 to 7; then the
			    * request fails with #IB_WC_RETRY_EXC_ERR */
	uint8_t rnr_retry; /**< repetitions after RNR NAKs, 0 to 6, then the request fails with
			    * #IB_WC_RNR_RETRY_EXC_ERR; 7: without limit */
	uint8_t alt_port_num;       /**< port of the alternate path, from 1 */
	uint8_t alt_timeout;        /**< as timeout, on the alternate path */
	uint8_t retries_left;       /**< query: repetitions that the oldest request has left, of retry_cnt */
	uint8_t rnr_retries_left;   /**< query: repetitions that the oldest request has left, of rnr_retry */
	bool has_usage;             /**< query: the HCA tells retries_left, rnr_retries_left, send_outstanding and
				     * recv_outstanding */
	uint8_t pad[2];             /**< zero */
	uint32_t send_outstanding;  /**< query: send requests that are posted and not completed */
	uint32_t recv_outstanding;  /**< query: receive requests that are posted and not completed */
	uint64_t reserved[4];       /**< zero */
};

/** Members of ib_qp_attr that count: X(name, bit, members). */
#define IB_QP_ATTR_LIST(X) \
	X(IB_QP_STATE, 0, "qp_state") \
	X(IB_QP_CUR_STATE, 1, "cur_qp_state") \
	X(IB_QP_EN_SQD_ASYNC_NOTIFY, 2, "en_sqd_async_notify") \
	X(IB_QP_ACCESS_FLAGS, 3, "qp_access_flags") \
	X(IB_QP_PKEY_INDEX, 4, "pkey_index") \
	X(IB_QP_PORT, 5, "port_num") \
	X(IB_QP_QKEY, 6, "qkey") \
	X(IB_QP_AV, 7, "ah_attr") \
	X(IB_QP_PATH_MTU, 8, "path_mtu") \
	X(IB_QP_TIMEOUT, 9, "timeout") \
	X(IB_QP_RETRY_CNT, 10, "retry_cnt") \
	X(IB_QP_RNR_RETRY, 11, "rnr_retry") \
	X(IB_QP_RQ_PSN, 12, "rq_psn") \
	X(IB_QP_MAX_QP_RD_ATOMIC, 13, "max_rd_atomic") \
	X(IB_QP_ALT_PATH, 14, "alt_ah_attr, alt_port_num, alt_pkey_index, alt_timeout") \
	X(IB_QP_MIN_RNR_TIMER, 15, "min_rnr_timer") \
	X(IB_QP_SQ_PSN, 16, "sq_psn") \
	X(IB_QP_MAX_DEST_RD_ATOMIC, 17, "max_dest_rd_atomic") \
	X(IB_QP_PATH_MIG_STATE, 18, "path_mig_state") \
	X(IB_QP_CAP, 19, "cap") \
	X(IB_QP_DEST_QPN, 20, "dest_qp_num")
/** Members of ib_qp_attr that count: bits. */
enum ib_qp_attr_mask { IB_QP_ATTR_LIST(IBA_ENUM_BIT) };

/** @} */

/**
 * @defgroup ibal_srqs Shared receive queues
 * Types of shared receive queues, from which several queue pairs take receive requests. This
 * version of the library has no functions for them.
 * @{
 */

/** Kind of a shared receive queue: X(name, value, text). */
#define IB_SRQ_TYPE_LIST(X) \
	X(IB_SRQ_BASIC, 0, "basic") \
	X(IB_SRQ_XRC, 1, "XRC")
/** Kind of a shared receive queue. */
typedef enum ib_srq_type { IB_SRQ_TYPE_LIST(IBA_ENUM_VALUE) } ib_srq_type;

/** Attributes of a shared receive queue (seed 004, ib_srq_attr; IBTA 11.2.3). */
struct ib_srq_attr {
	uint32_t max_wr;      /**< requests outstanding; at creation and resize as in ib_qp_cap */
	uint32_t max_sge;     /**< scatter elements of a request */
	uint32_t srq_limit;   /**< number of requests below which #IB_EVENT_SRQ_LIMIT_REACHED is raised, once; 0:
			       * never */
	uint32_t pad;         /**< zero */
	uint64_t reserved[4]; /**< zero */
};

/** Members of ib_srq_attr that count: bits. */
enum ib_srq_attr_mask {
	IB_SRQ_MAX_WR = 1 << 0, /**< max_wr */
	IB_SRQ_LIMIT = 1 << 1,  /**< srq_limit */
};

/** Attributes of a shared receive queue at its creation. */
struct al_srq_init {
	struct ib_srq_attr attr; /**< sizes, written back, and limit */
	ib_srq_type srq_type;    /**< basic or XRC */
	al_cq_h cq;              /**< XRC: completions */
	al_xrcd_h xrcd;          /**< XRC: domain */
	al_channel_h channel;    /**< channel for events; NULL: a callback delivers them */
	uint64_t reserved[4];    /**< zero */
};

/** @} */

/**
 * @defgroup ibal_eecs End-to-end contexts
 * Types of end-to-end contexts, over which the queue pairs of reliable datagrams send. This version
 * of the library has no functions for them.
 * @{
 */

/** Attributes of an end-to-end context (IBTA 11.2.7): those of a connected queue pair. */
struct ib_eec_attr {
	ib_qp_state eec_state;      /**< modify: new state; query: current state */
	ib_mtu path_mtu;            /**< largest payload of a packet */
	ib_mig_state path_mig_state; /**< path migration */
	uint32_t rq_psn;            /**< first PSN expected */
	uint32_t sq_psn;            /**< first PSN sent */
	uint32_t dest_eecn;         /**< peer context, 24 bits */
	struct ib_ah_attr ah_attr;     /**< primary path */
	struct ib_ah_attr alt_ah_attr; /**< alternate path */
	uint16_t pkey_index;        /**< index in the port's P_Key table */
	uint16_t alt_pkey_index;    /**< index in the alternate port's P_Key table */
	uint8_t max_rd_atomic;      /**< most outstanding reads and atomics as requester */
	uint8_t max_dest_rd_atomic; /**< most outstanding reads and atomics as responder */
	uint8_t port_num;           /**< primary port */
	uint8_t alt_port_num;       /**< alternate port */
	uint8_t timeout;            /**< 4.096 us * 2^n until a packet counts as lost; 0: no time-out */
	uint8_t alt_timeout;        /**< timeout on the alternate path */
	uint8_t retry_cnt;          /**< 0 to 7 */
	uint8_t rnr_retry;          /**< 0 to 7 */
	uint64_t reserved[4];       /**< zero */
};

/** @} */

/**
 * @defgroup ibal_requests Work requests
 * What a program posts to a queue pair with al_post_send() and al_post_recv(). Posting does not
 * modify a request and does not use it after the return, so a request may live on the stack.
 * @{
 */

/** Send-queue operations (seed 004; IBTA 11.4.1.1): X(name, value, text). */
#define IB_WR_OPCODE_LIST(X) \
	X(IB_WR_SEND, 0, "send") \
	X(IB_WR_SEND_WITH_IMM, 1, "send with immediate") \
	X(IB_WR_SEND_WITH_INV, 2, "send with invalidate") \
	X(IB_WR_RDMA_WRITE, 3, "RDMA write") \
	X(IB_WR_RDMA_WRITE_WITH_IMM, 4, "RDMA write with immediate") \
	X(IB_WR_RDMA_READ, 5, "RDMA read") \
	X(IB_WR_RDMA_READ_WITH_INV, 6, "RDMA read with local invalidate") \
	X(IB_WR_ATOMIC_CMP_AND_SWP, 7, "compare and swap") \
	X(IB_WR_ATOMIC_FETCH_AND_ADD, 8, "fetch and add") \
	X(IB_WR_MASKED_CMP_AND_SWP, 9, "masked compare and swap") \
	X(IB_WR_MASKED_FETCH_AND_ADD, 10, "masked fetch and add") \
	X(IB_WR_BIND_MW, 11, "bind window") \
	X(IB_WR_REG_MR, 12, "fast registration") \
	X(IB_WR_LOCAL_INV, 13, "local invalidate")
/** Send-queue operations. */
typedef enum ib_wr_opcode {
	IB_WR_OPCODE_LIST(IBA_ENUM_VALUE)
	IB_WR_OPCODES /**< one more than the last operation */
} ib_wr_opcode;

/** Bits of ib_send_wr.send_flags. */
enum ib_send_flags {
	IB_SEND_FENCE = 1 << 0,     /**< start only when earlier reads and atomics of this queue are complete */
	IB_SEND_SIGNALED = 1 << 1,  /**< generate a completion (with sq_sig_all every request does) */
	IB_SEND_SOLICITED = 1 << 2, /**< ask for a solicited event at the receiver */
	IB_SEND_INLINE = 1 << 3,    /**< copy the data during the post: the buffers need no key and may be reused after
				     * the return */
};

/** Send request. A chain is linked by next. Posting does not modify the chain, and does not use it after the return. */
struct ib_send_wr {
	const struct ib_send_wr *next; /**< next request; NULL: the chain ends */
	uint64_t wr_id;                /**< the program's own value, copied to the completion */
	const struct ib_sge *sg_list;  /**< num_sge elements: local memory that is sent, or that a
					* read or an atomic  fills */
	uint32_t num_sge;              /**< up to ib_qp_cap.max_send_sge; 0: a message without data */
	ib_wr_opcode opcode;           /**< operation */
	uint32_t send_flags;           /**< enum ib_send_flags */
	union {
		uint32_t imm_data;        /**< with immediate: 32 bits for the receiver, in host byte order */
		uint32_t invalidate_rkey; /**< send with invalidate: key of the peer; read with invalidate, local
					   * invalidate: local key */
	} ex; /**< depends on the opcode */
	union {
		struct {
			uint64_t remote_addr; /**< address of the peer's memory, as the peer has
						 told it */
			uint32_t rkey;        /**< rkey of the peer's region */
		} rdma; /**< write, read */
		struct {
			uint64_t remote_addr;      /**< peer's address, a multiple of 8 */
			uint64_t compare_add;      /**< value to compare with, or to add */
			uint64_t swap;             /**< value to store if the comparison is equal */
			uint64_t compare_add_mask; /**< masked compare and swap: bits to compare; masked add: boundaries
						    * of the fields */
			uint64_t swap_mask;        /**< masked compare and swap: bits to store */
			uint32_t rkey;             /**< peer's key */
		} atomic; /**< atomic operations */
		struct {
			al_ah_h ah;           /**< path; may be destroyed once the post has returned */
			uint32_t remote_qpn;  /**< destination; #IB_QPN_MULTICAST for a multicast group */
			uint32_t remote_qkey; /**< destination's Q_Key; with the top bit set, this queue pair's Q_Key is
					       * sent instead */
			uint16_t pkey_index;  /**< QP1 only */
			uint8_t port_num; /**< QP0 of a switch: external port to leave by; 0: by the
					     forwarding table, or to the switch itself. Else unused
					   */
		} ud; /**< datagrams */
		struct {
			uint32_t eecn;        /**< end-to-end context */
			uint32_t remote_qpn;  /**< destination */
			uint32_t remote_qkey; /**< destination's Q_Key */
		} rd; /**< reliable datagrams */
		struct {
			al_mw_h mw;                       /**< window of type 2 */
			uint32_t rkey;                    /**< new key: the window's index with a new low byte */
			struct ib_mw_bind_info bind_info; /**< memory */
		} bind_mw; /**< bind */
		struct {
			al_mr_h mr;                /**< from al_alloc_fast_reg_mr() */
			const uint64_t *page_list; /**< num_pages addresses of al_dma_* */
			uint32_t num_pages;        /**< pages */
			uint32_t key;              /**< new key: the region's index with a new low byte */
			uint32_t access;           /**< enum ib_access */
			uint8_t page_shift;        /**< log2 of the page size */
			uint64_t iova;             /**< address of the first byte */
			uint64_t length;           /**< bytes */
		} reg_mr; /**< fast registration */
	} wr; /**< depends on opcode and type */
	uint32_t remote_srqn; /**< XRC: destination SRQ */
	uint32_t pad;         /**< zero */
};

/**
 * Receive request. A chain is linked by next. Posting does not modify the chain, and does not use it after the return.
 */
struct ib_recv_wr {
	const struct ib_recv_wr *next; /**< next request; NULL: the chain ends */
	uint64_t wr_id;                /**< the program's own value, copied to the completion */
	const struct ib_sge *sg_list;  /**< num_sge elements: memory that the message fills; of a
					* datagram after  #IB_GRH_BYTES for a global route header */
	uint32_t num_sge;              /**< up to ib_qp_cap.max_recv_sge */
	uint32_t pad;                  /**< zero */
};

#define IB_GRH_BYTES 40 /**< area at the start of a datagram's receive buffer, IBTA 11.4.1.2 */

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* IBA_IB_VERBS_H */
