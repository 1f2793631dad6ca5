/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/**
 * @file ib_types.h
 * @brief Architected types and constants: what a channel driver and an HCA vendor both read.
 *
 * Nothing here needs the library. Names and values follow the InfiniBand Architecture Specification, Volume 1 ("IBTA"
 * below, with its clause); integers are in host byte order and lengths in bytes unless a field says otherwise.
 *
 * Every struct that a caller fills in works from designated initialisers: what is not named is zero, and zero is the
 * ordinary choice. Those that end in `reserved` are refused with #AL_INVALID_PARAMETER when it is not zero, so that a
 * later version can give it a meaning.
 */
#ifndef IBA_IB_TYPES_H
#define IBA_IB_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ status */

/**
 * Every status: X(name, value, text). Grouped by how much is broken: the call, the object, the port, the HCA or its
 * module, the connection to the agent. Values are stable.
 */
#define AL_STATUS_LIST(X) \
	X(AL_SUCCESS, 0, "success") \
	/* the call */ \
	X(AL_INVALID_PARAMETER, 1, "a parameter is out of its range, NULL, or a reserved field is not zero") \
	X(AL_INVALID_HANDLE, 2, "the handle is stale, destroyed, of another kind, or was never one") \
	X(AL_INVALID_CONTEXT, 3, "the call may sleep and was made from a callback that must not") \
	X(AL_UNSUPPORTED, 4, "this HCA, port or build does not offer the operation") \
	X(AL_NOT_FOUND, 5, "nothing there matches") \
	X(AL_DUPLICATE, 6, "it exists already") \
	X(AL_INSUFFICIENT_MEMORY, 7, "out of memory") \
	X(AL_INSUFFICIENT_RESOURCES, 8, "the system has no more threads, descriptors or mappings") \
	X(AL_LIMIT_EXCEEDED, 9, "more than the HCA's or the client's limit") \
	X(AL_PERMISSION, 10, "not permitted for this user") \
	X(AL_INVALID_ADDRESS, 11, "the memory is not mapped, or does not permit the access asked for") \
	X(AL_BUFFER_TOO_SMALL, 12, "the buffer given is too small; the size needed was written") \
	X(AL_IO_ERROR, 13, "an operating system call failed") \
	X(AL_CANCELLED, 14, "cancelled by the caller") \
	X(AL_TIMEOUT, 15, "no answer within the time that the caller set") \
	/* the object */ \
	X(AL_RESOURCE_BUSY, 32, "live objects still depend on it") \
	X(AL_INVALID_STATE, 33, "the object's state does not permit the call") \
	X(AL_INVALID_TRANSITION, 34, "the state table does not permit this transition") \
	X(AL_MISSING_ATTRIBUTE, 35, "the transition requires an attribute that the mask does not name") \
	X(AL_INVALID_ATTRIBUTE, 36, "the transition does not permit an attribute that the mask names") \
	X(AL_INVALID_OPCODE, 37, "the work request's opcode or flags do not suit the queue's type") \
	X(AL_INVALID_SGE, 38, "too many scatter/gather elements, or their lengths overflow") \
	X(AL_QUEUE_FULL, 39, "the queue holds as many work requests as it was created for") \
	X(AL_INVALID_PD, 40, "the objects belong to different protection domains") \
	X(AL_INVALID_CA, 41, "the objects belong to different HCAs or to different openings of the library") \
	X(AL_INVALID_QP_TYPE, 42, "the operation does not exist for this type of queue pair") \
	X(AL_CQ_ERROR, 43, "the completion queue has overflowed and can only be destroyed") \
	X(AL_TOO_SMALL, 44, "the new size is less than what the object holds") \
	X(AL_INVALID_KEY, 45, "the memory key does not name a usable region or window") \
	/* the port */ \
	X(AL_INVALID_PORT, 64, "the HCA has no such port") \
	X(AL_INVALID_GID_INDEX, 65, "the GID table has no such index") \
	X(AL_INVALID_PKEY_INDEX, 66, "the P_Key table has no such index") \
	X(AL_PORT_DOWN, 67, "the port is down") \
	/* the HCA and its module */ \
	X(AL_CA_REMOVED, 96, "the HCA has been removed") \
	X(AL_CA_ERROR, 97, "the HCA has failed") \
	X(AL_BAD_CONFIG, 98, "the configuration has an error") \
	X(AL_MODULE_DAMAGED, 99, "the module file is not a whole shared object of this machine") \
	X(AL_MODULE_NO_SYMBOL, 100, "the shared object is no HCA module") \
	X(AL_MODULE_ABI, 101, "the module was built for another version of the Channel Interface") \
	X(AL_MODULE_MISSING_OP, 102, "the module lacks a required operation") \
	X(AL_MODULE_IN_USE, 103, "the module is in use") \
	X(AL_MODULE_FAILED, 104, "the module broke a rule of the Channel Interface") \
	X(AL_PCI_UNREADABLE, 105, "the PCI bus or its recorded dump can not be read") \
	/* the connection to the agent */ \
	X(AL_AGENT_LOST, 128, "the agent has gone") \
	X(AL_AGENT_REFUSED, 129, "the agent's socket exists but refuses the connection") \
	X(AL_AGENT_PROTOCOL, 130, "the agent speaks another version of the protocol")

/** What every function returns. Results behind pointers are written only with #AL_SUCCESS, unless a function says otherwise. */
typedef enum al_status {
#define IBA_ENUM_VALUE(name, value, text) name = value,
	AL_STATUS_LIST(IBA_ENUM_VALUE)
} al_status;

/* ----------------------------------------------------------------- handles */

/**
 * Every kind of object: X(name, value, text, handle). Handles are typed for the compiler, but their bits are no
 * address: type, generation and index of a table. A handle of any value is safe to pass: a wrong one gets
 * #AL_INVALID_HANDLE.
 */
#define AL_OBJECT_LIST(X) \
	X(AL_OBJ_AL, 1, "al", al_h) \
	X(AL_OBJ_CA, 2, "ca", al_ca_h) \
	X(AL_OBJ_PD, 3, "pd", al_pd_h) \
	X(AL_OBJ_RDD, 4, "rdd", al_rdd_h) \
	X(AL_OBJ_XRCD, 5, "xrcd", al_xrcd_h) \
	X(AL_OBJ_AH, 6, "ah", al_ah_h) \
	X(AL_OBJ_MR, 7, "mr", al_mr_h) \
	X(AL_OBJ_FMR, 8, "fmr", al_fmr_h) \
	X(AL_OBJ_FMR_POOL, 9, "fmr_pool", al_fmr_pool_h) \
	X(AL_OBJ_MW, 10, "mw", al_mw_h) \
	X(AL_OBJ_CQ, 11, "cq", al_cq_h) \
	X(AL_OBJ_SRQ, 12, "srq", al_srq_h) \
	X(AL_OBJ_QP, 13, "qp", al_qp_h) \
	X(AL_OBJ_EEC, 14, "eec", al_eec_h) \
	X(AL_OBJ_MCAST, 15, "mcast", al_mcast_h) \
	X(AL_OBJ_PNP, 16, "pnp", al_pnp_h) \
	X(AL_OBJ_EVENT_HANDLER, 17, "event_handler", al_event_handler_h) \
	X(AL_OBJ_CHANNEL, 18, "channel", al_channel_h) \
	X(AL_OBJ_MAD_SVC, 19, "mad_svc", al_mad_svc_h)

/** The kind of an object. */
typedef enum al_object_type {
	AL_OBJ_NONE = 0, /**< no object: an event of a port or an HCA */
#define IBA_OBJECT_VALUE(name, value, text, handle) name = value,
	AL_OBJECT_LIST(IBA_OBJECT_VALUE)
	AL_OBJ_TYPES /**< one more than the last kind */
} al_object_type;

typedef struct al_instance *al_h;                   /**< an opening of the library (al_open()) */
typedef struct al_ca *al_ca_h;                      /**< an opened HCA (al_open_ca()) */
typedef struct al_pd *al_pd_h;                      /**< protection domain, IBTA 10.2.3 */
typedef struct al_rdd *al_rdd_h;                    /**< reliable datagram domain, IBTA 10.2.8 */
typedef struct al_xrcd *al_xrcd_h;                  /**< XRC domain, IBTA annex A14 */
typedef struct al_ah *al_ah_h;                      /**< address handle, IBTA 10.2.2.2 */
typedef struct al_mr *al_mr_h;                      /**< memory region, IBTA 10.6.2 */
typedef struct al_fmr *al_fmr_h;                    /**< fast memory region, mapped in any context (seed 000) */
typedef struct al_fmr_pool *al_fmr_pool_h;          /**< pool of fast memory regions (seed 004) */
typedef struct al_mw *al_mw_h;                      /**< memory window, IBTA 10.6.7 */
typedef struct al_cq *al_cq_h;                      /**< completion queue, IBTA 10.2.4 */
typedef struct al_srq *al_srq_h;                    /**< shared receive queue, IBTA 10.2.9 */
typedef struct al_qp *al_qp_h;                      /**< queue pair, IBTA 10.2.4 */
typedef struct al_eec *al_eec_h;                    /**< end-to-end context of reliable datagram, IBTA 10.2.7 */
typedef struct al_mcast *al_mcast_h;                /**< a queue pair's membership in a multicast group */
typedef struct al_pnp *al_pnp_h;                    /**< registration for arrival and removal of HCAs, and port events */
typedef struct al_event_handler *al_event_handler_h; /**< registration for asynchronous events */
typedef struct al_channel *al_channel_h;            /**< events by descriptor in place of callbacks */
typedef struct al_mad_svc *al_mad_svc_h;            /**< registration for management datagrams */

/* -------------------------------------------------------------- addressing */

/** Global identifier, IBTA 4.1.1: 16 bytes as on the wire, subnet prefix first. */
typedef union ib_gid {
	uint8_t raw[16]; /**< network byte order */
} ib_gid;

/** Link layer under a port (seed 004, rdma_port_get_link_layer): X(name, value, text). */
#define IB_LINK_LAYER_LIST(X) \
	X(IB_LINK_LAYER_UNSPECIFIED, 0, "unspecified") \
	X(IB_LINK_LAYER_INFINIBAND, 1, "InfiniBand") \
	X(IB_LINK_LAYER_ETHERNET, 2, "Ethernet")
/** Link layer under a port. */
typedef enum ib_link_layer { IB_LINK_LAYER_LIST(IBA_ENUM_VALUE) } ib_link_layer;

/** Logical state of a port, IBTA 7.2 and PortInfo.PortState: X(name, value, text). */
#define IB_PORT_STATE_LIST(X) \
	X(IB_PORT_NOP, 0, "NoChange") \
	X(IB_PORT_DOWN, 1, "Down") \
	X(IB_PORT_INIT, 2, "Init") \
	X(IB_PORT_ARMED, 3, "Armed") \
	X(IB_PORT_ACTIVE, 4, "Active")
/** Logical state of a port. */
typedef enum ib_port_state { IB_PORT_STATE_LIST(IBA_ENUM_VALUE) } ib_port_state;

/** Physical state of a port, PortInfo.PortPhysicalState: X(name, value, text). */
#define IB_PHYS_STATE_LIST(X) \
	X(IB_PHYS_NOP, 0, "NoChange") \
	X(IB_PHYS_SLEEP, 1, "Sleep") \
	X(IB_PHYS_POLLING, 2, "Polling") \
	X(IB_PHYS_DISABLED, 3, "Disabled") \
	X(IB_PHYS_TRAINING, 4, "Training") \
	X(IB_PHYS_LINK_UP, 5, "LinkUp") \
	X(IB_PHYS_RECOVERY, 6, "LinkErrorRecovery") \
	X(IB_PHYS_TEST, 7, "PhyTest")
/** Physical state of a port. */
typedef enum ib_phys_state { IB_PHYS_STATE_LIST(IBA_ENUM_VALUE) } ib_phys_state;

/** Path MTU, IBTA 9.2 (payload bytes of a packet): X(name, value, text). */
#define IB_MTU_LIST(X) \
	X(IB_MTU_256, 1, "256") \
	X(IB_MTU_512, 2, "512") \
	X(IB_MTU_1024, 3, "1024") \
	X(IB_MTU_2048, 4, "2048") \
	X(IB_MTU_4096, 5, "4096")
/** Path MTU as encoded in IBTA; ib_mtu_bytes() gives the bytes. */
typedef enum ib_mtu { IB_MTU_LIST(IBA_ENUM_VALUE) } ib_mtu;

/** Payload bytes of an encoded MTU; 0 for a value that is none. */
static inline uint32_t ib_mtu_bytes(unsigned int mtu)
{
	return mtu >= IB_MTU_256 && mtu <= IB_MTU_4096 ? 128u << mtu : 0;
}

/** Link width, PortInfo.LinkWidthActive (one bit): X(name, value, text). */
#define IB_WIDTH_LIST(X) \
	X(IB_WIDTH_1X, 1, "1X") \
	X(IB_WIDTH_4X, 2, "4X") \
	X(IB_WIDTH_8X, 4, "8X") \
	X(IB_WIDTH_12X, 8, "12X") \
	X(IB_WIDTH_2X, 16, "2X")
/** Link width. */
typedef enum ib_width { IB_WIDTH_LIST(IBA_ENUM_VALUE) } ib_width;

/** Link speed per lane, PortInfo.LinkSpeedActive and its extension: X(name, value, text). */
#define IB_SPEED_LIST(X) \
	X(IB_SPEED_SDR, 1, "SDR") \
	X(IB_SPEED_DDR, 2, "DDR") \
	X(IB_SPEED_QDR, 4, "QDR") \
	X(IB_SPEED_FDR10, 8, "FDR10") \
	X(IB_SPEED_FDR, 16, "FDR") \
	X(IB_SPEED_EDR, 32, "EDR") \
	X(IB_SPEED_HDR, 64, "HDR") \
	X(IB_SPEED_NDR, 128, "NDR")
/** Link speed per lane. */
typedef enum ib_speed { IB_SPEED_LIST(IBA_ENUM_VALUE) } ib_speed;

/** Static rate of a path (inter-packet delay), IBTA PathRecord.Rate: X(name, value, text). */
#define IB_RATE_LIST(X) \
	X(IB_RATE_PORT_CURRENT, 0, "as the port") \
	X(IB_RATE_2_5_GBPS, 2, "2.5 Gb/s") \
	X(IB_RATE_10_GBPS, 3, "10 Gb/s") \
	X(IB_RATE_30_GBPS, 4, "30 Gb/s") \
	X(IB_RATE_5_GBPS, 5, "5 Gb/s") \
	X(IB_RATE_20_GBPS, 6, "20 Gb/s") \
	X(IB_RATE_40_GBPS, 7, "40 Gb/s") \
	X(IB_RATE_60_GBPS, 8, "60 Gb/s") \
	X(IB_RATE_80_GBPS, 9, "80 Gb/s") \
	X(IB_RATE_120_GBPS, 10, "120 Gb/s") \
	X(IB_RATE_14_GBPS, 11, "14 Gb/s") \
	X(IB_RATE_56_GBPS, 12, "56 Gb/s") \
	X(IB_RATE_112_GBPS, 13, "112 Gb/s") \
	X(IB_RATE_168_GBPS, 14, "168 Gb/s") \
	X(IB_RATE_25_GBPS, 15, "25 Gb/s") \
	X(IB_RATE_100_GBPS, 16, "100 Gb/s") \
	X(IB_RATE_200_GBPS, 17, "200 Gb/s") \
	X(IB_RATE_300_GBPS, 18, "300 Gb/s") \
	X(IB_RATE_28_GBPS, 19, "28 Gb/s") \
	X(IB_RATE_50_GBPS, 20, "50 Gb/s") \
	X(IB_RATE_400_GBPS, 21, "400 Gb/s") \
	X(IB_RATE_600_GBPS, 22, "600 Gb/s")
/** Static rate of a path. */
typedef enum ib_rate { IB_RATE_LIST(IBA_ENUM_VALUE) } ib_rate;

/** What a node is, NodeInfo.NodeType: X(name, value, text). */
#define IB_NODE_TYPE_LIST(X) \
	X(IB_NODE_CA, 1, "CA") \
	X(IB_NODE_SWITCH, 2, "switch") \
	X(IB_NODE_ROUTER, 3, "router")
/** What a node is. */
typedef enum ib_node_type { IB_NODE_TYPE_LIST(IBA_ENUM_VALUE) } ib_node_type;

#define IB_LID_UNICAST_FIRST 0x0001   /**< first unicast LID, IBTA 4.1.3 */
#define IB_LID_UNICAST_LAST 0xbfff    /**< last unicast LID */
#define IB_LID_MULTICAST_FIRST 0xc000 /**< first multicast LID */
#define IB_LID_MULTICAST_LAST 0xfffe  /**< last multicast LID */
#define IB_LID_PERMISSIVE 0xffff      /**< accepted by every port for subnet management packets */

#define IB_PKEY_DEFAULT 0xffff     /**< default partition, full member, IBTA 10.9.2 */
#define IB_PKEY_FULL_MEMBER 0x8000 /**< membership bit: set for full, clear for limited members */
#define IB_PKEY_VALUE_MASK 0x7fff  /**< the key without the membership bit */

#define IB_QPN_MULTICAST 0xffffffu /**< destination QP of multicast packets, IBTA 9.2.4 */
#define IB_QPN_MASK 0xffffffu      /**< queue pair numbers have 24 bits */
#define IB_PSN_MASK 0xffffffu      /**< packet sequence numbers have 24 bits */
#define IB_QKEY_WELL_KNOWN 0x80010000u /**< Q_Key of QP1, IBTA 10.2.5 */

/** Global route of a path, the part of the GRH that the sender chooses, IBTA 8.3. */
struct ib_global_route {
	ib_gid dgid;           /**< destination */
	uint32_t flow_label;   /**< 20 bits */
	uint16_t sgid_index;   /**< index of the source in the port's GID table */
	uint8_t hop_limit;     /**< 0 and 1 stay in the subnet */
	uint8_t traffic_class; /**< global service level */
};

/** Address vector: the path to a destination (seed 004, ib_ah_attr; IBTA 11.2.2.1). */
struct ib_ah_attr {
	struct ib_global_route grh; /**< used when is_global */
	uint16_t dlid;              /**< destination LID; unused on Ethernet */
	uint8_t sl;                 /**< service level, 0 to 15 */
	uint8_t src_path_bits;      /**< low bits of the source LID, less than 2^LMC */
	uint8_t static_rate;        /**< enum ib_rate */
	uint8_t port_num;           /**< port of the HCA to send from, from 1 */
	bool is_global;             /**< send a GRH; necessary for multicast, other subnets, and on Ethernet */
	uint8_t pad;                /**< zero */
	uint64_t reserved[4];       /**< zero */
};

/* -------------------------------------------------------------- attributes */

/** Optional abilities of an HCA, bits of ib_ca_attr.caps: X(name, bit, text). */
#define IB_CA_CAP_LIST(X) \
	X(IB_CA_CAP_UC, 0, "unreliable connection") \
	X(IB_CA_CAP_UD, 1, "unreliable datagram") \
	X(IB_CA_CAP_RD, 2, "reliable datagram") \
	X(IB_CA_CAP_XRC, 3, "extended reliable connection") \
	X(IB_CA_CAP_RAW_PACKET, 4, "raw packet queue pairs") \
	X(IB_CA_CAP_RAW_IPV6, 5, "raw IPv6 queue pairs") \
	X(IB_CA_CAP_RAW_ETHERTYPE, 6, "raw Ethertype queue pairs") \
	X(IB_CA_CAP_SRQ, 7, "shared receive queues") \
	X(IB_CA_CAP_SRQ_RESIZE, 8, "shared receive queues can be resized") \
	X(IB_CA_CAP_CQ_RESIZE, 9, "completion queues can be resized") \
	X(IB_CA_CAP_CQ_MODERATION, 10, "completion moderation") \
	X(IB_CA_CAP_CQ_ARM_N, 11, "notification at N completions") \
	X(IB_CA_CAP_MW_TYPE_1, 12, "memory windows of type 1") \
	X(IB_CA_CAP_MW_TYPE_2A, 13, "memory windows of type 2A") \
	X(IB_CA_CAP_MW_TYPE_2B, 14, "memory windows of type 2B") \
	X(IB_CA_CAP_SEND_INVALIDATE, 15, "send with invalidate") \
	X(IB_CA_CAP_LOCAL_INVALIDATE, 16, "local invalidate, alone and with RDMA read") \
	X(IB_CA_CAP_FAST_REG, 17, "registration by work request") \
	X(IB_CA_CAP_FMR, 18, "fast memory regions") \
	X(IB_CA_CAP_SHARED_MR, 19, "shared memory regions") \
	X(IB_CA_CAP_PHYS_MR, 20, "registration of physical pages") \
	X(IB_CA_CAP_REREG_MR, 21, "reregistration") \
	X(IB_CA_CAP_DMA_MR, 22, "a region for all of memory") \
	X(IB_CA_CAP_MCAST, 23, "multicast") \
	X(IB_CA_CAP_MULTI_PATH, 24, "automatic path migration") \
	X(IB_CA_CAP_MASKED_ATOMICS, 25, "masked atomics") \
	X(IB_CA_CAP_BAD_PKEY_CNTR, 26, "counts P_Key violations") \
	X(IB_CA_CAP_BAD_QKEY_CNTR, 27, "counts Q_Key violations") \
	X(IB_CA_CAP_PORT_ACTIVE_EVENT, 28, "raises the port-active event") \
	X(IB_CA_CAP_SYS_IMAGE_GUID, 29, "has a system image GUID") \
	X(IB_CA_CAP_RNR_NAK, 30, "generates RNR NAKs") \
	X(IB_CA_CAP_ZERO_LKEY, 31, "a reserved lkey for local addresses")
/** Optional abilities of an HCA. */
enum ib_ca_cap {
#define IBA_ENUM_BIT(name, bit, text) name = (int)(1u << (bit)),
	IB_CA_CAP_LIST(IBA_ENUM_BIT)
};

/** How far atomics are atomic, IBTA 11.2.1.2: X(name, value, text). */
#define IB_ATOMIC_CAP_LIST(X) \
	X(IB_ATOMIC_NONE, 0, "none") \
	X(IB_ATOMIC_HCA, 1, "among the queue pairs of this HCA") \
	X(IB_ATOMIC_GLOBAL, 2, "also with the processor and other HCAs")
/** How far atomics are atomic. */
typedef enum ib_atomic_cap { IB_ATOMIC_CAP_LIST(IBA_ENUM_VALUE) } ib_atomic_cap;

/** Attributes of an HCA (al_query_ca(); IBTA 11.2.1.2). Constant while it is there. Maxima are exact: one more is refused. */
struct ib_ca_attr {
	uint64_t node_guid;         /**< identifies the HCA (SAS deviation 7) */
	uint64_t sys_image_guid;    /**< common to the components of one system; 0 if none */
	uint32_t vendor_id;         /**< IEEE OUI, 24 bits */
	uint32_t vendor_part_id;    /**< vendor's device id */
	uint32_t hw_ver;            /**< hardware revision */
	uint32_t num_ports;         /**< ports are numbered from 1 */
	uint32_t num_comp_vectors;  /**< completion vectors, at least 1: how many callbacks may run at once */
	uint32_t caps;              /**< enum ib_ca_cap */
	ib_atomic_cap atomic_cap;        /**< plain 64-bit atomics */
	ib_atomic_cap masked_atomic_cap; /**< masked atomics */
	char node_desc[64];         /**< NodeDescription, UTF-8, ends in a zero byte */
	char fw_ver[32];            /**< version of the firmware or module */
	char location[32];          /**< where it sits, such as "0000:3b:00.0"; "software" for one that is no device */
	uint64_t page_size_cap;     /**< supported page sizes, one bit each */
	uint64_t max_mr_size;       /**< bytes of one region */
	uint32_t max_mr;            /**< regions */
	uint32_t max_mw;            /**< windows */
	uint32_t max_fmr;           /**< fast memory regions */
	uint32_t max_map_per_fmr;   /**< maps of one before an unmap is due */
	uint32_t max_fast_reg_pages; /**< pages of one fast registration */
	uint32_t max_pd;            /**< protection domains */
	uint32_t max_rdd;           /**< reliable datagram domains */
	uint32_t max_eec;           /**< end-to-end contexts */
	uint32_t max_xrcd;          /**< XRC domains */
	uint32_t max_ah;            /**< address handles */
	uint32_t max_qp;            /**< queue pairs */
	uint32_t max_qp_wr;         /**< work requests outstanding on one queue */
	uint32_t max_send_sge;      /**< gather elements of a send request */
	uint32_t max_recv_sge;      /**< scatter elements of a receive request */
	uint32_t max_read_sge;      /**< scatter elements of an RDMA read */
	uint32_t max_inline_data;   /**< bytes of an inline request */
	uint32_t max_qp_rd_atom;    /**< reads and atomics that one queue pair answers at once */
	uint32_t max_qp_init_rd_atom; /**< reads and atomics that one queue pair may have outstanding */
	uint32_t max_res_rd_atom;   /**< responder resources of the whole HCA */
	uint32_t max_cq;            /**< completion queues */
	uint32_t max_cqe;           /**< entries of one */
	uint32_t max_srq;           /**< shared receive queues */
	uint32_t max_srq_wr;        /**< requests outstanding on one */
	uint32_t max_srq_sge;       /**< scatter elements of its requests */
	uint32_t max_raw_ipv6_qp;   /**< raw IPv6 queue pairs */
	uint32_t max_raw_ethy_qp;   /**< raw Ethertype queue pairs */
	uint32_t max_mcast_grp;     /**< multicast groups */
	uint32_t max_mcast_qp_attach; /**< queue pairs in one group */
	uint32_t max_total_mcast_qp_attach; /**< memberships in all */
	uint32_t max_pkeys;         /**< entries of a port's P_Key table */
	uint32_t local_ca_ack_delay; /**< 4.096 us * 2^n, IBTA 11.2.1.2 */
	uint64_t reserved[4];       /**< zero */
};

/** What al_modify_ca() changes: bits. */
enum ib_ca_attr_mask {
	IB_CA_MODIFY_SYS_IMAGE_GUID = 1 << 0, /**< ib_ca_attr.sys_image_guid */
	IB_CA_MODIFY_NODE_DESC = 1 << 1,      /**< ib_ca_attr.node_desc */
};

/** PortInfo.CapabilityMask bits that the Access Layer or a subnet manager looks at, IBTA 14.2.5.6. */
enum ib_port_cap {
	IB_PORT_CAP_SM = 1 << 1,             /**< hosts a subnet manager */
	IB_PORT_CAP_NOTICE = 1 << 2,         /**< notices */
	IB_PORT_CAP_TRAP = 1 << 3,           /**< traps */
	IB_PORT_CAP_OPTIONAL_IPD = 1 << 4,   /**< optional inter-packet delays */
	IB_PORT_CAP_APM = 1 << 5,            /**< automatic path migration */
	IB_PORT_CAP_SL_MAP = 1 << 6,         /**< SL to VL mapping table */
	IB_PORT_CAP_MKEY_NVRAM = 1 << 7,     /**< keeps its M_Key without power */
	IB_PORT_CAP_PKEY_NVRAM = 1 << 8,     /**< keeps its P_Keys without power */
	IB_PORT_CAP_LED_INFO = 1 << 9,       /**< LedInfo */
	IB_PORT_CAP_SM_DISABLED = 1 << 10,   /**< subnet manager disabled */
	IB_PORT_CAP_SYS_IMAGE_GUID = 1 << 11, /**< system image GUID */
	IB_PORT_CAP_SWITCH_PKEY_TRAP = 1 << 12, /**< trap 259 */
	IB_PORT_CAP_EXT_SPEEDS = 1 << 14,    /**< speeds from FDR on */
	IB_PORT_CAP_CAP_MASK2 = 1 << 15,     /**< PortInfo.CapabilityMask2 */
	IB_PORT_CAP_CM = 1 << 16,            /**< connection manager */
	IB_PORT_CAP_SNMP_TUNNEL = 1 << 17,   /**< SNMP tunneling */
	IB_PORT_CAP_REINIT = 1 << 18,        /**< reinitialisation */
	IB_PORT_CAP_DEVICE_MGMT = 1 << 19,   /**< device management */
	IB_PORT_CAP_VENDOR_CLASS = 1 << 20,  /**< vendor class */
	IB_PORT_CAP_DR_NOTICE = 1 << 21,     /**< notices with directed route */
	IB_PORT_CAP_CAP_MASK_NOTICE = 1 << 22, /**< notice of capability mask changes */
	IB_PORT_CAP_BOOT_MGMT = 1 << 23,     /**< boot management */
	IB_PORT_CAP_LINK_LATENCY = 1 << 24,  /**< link round-trip latency */
	IB_PORT_CAP_CLIENT_REREG = 1 << 25,  /**< client reregistration */
	IB_PORT_CAP_OTHER_CHANGES_NOTICE = 1 << 26, /**< notice of other local changes (trap 144) */
	IB_PORT_CAP_MCAST_PKEY_TRAP_SUPPRESS = 1 << 29, /**< traps 257 and 258 for multicast can be suppressed */
	IB_PORT_CAP_MCAST_FDB_TOP = 1 << 30, /**< SwitchInfo.MulticastFDBTop */
};

/** Who serves a port's management classes (SAS deviation 4): bits of ib_port_attr.ci_caps. */
enum ci_port_cap {
	CI_PORT_SMA_IN_AL = 1 << 0, /**< the Access Layer answers subnet management packets, with ci_local_mad's help */
	CI_PORT_PMA_IN_AL = 1 << 1, /**< the Access Layer answers performance management packets */
};

/** Traffic counters of a port since it came up; they clamp at their maximum, never wrap (IBTA 16.1.3.5). */
struct ib_port_counters {
	uint64_t xmit_bytes;         /**< bytes sent: payload and every header of the link */
	uint64_t rcv_bytes;          /**< bytes received */
	uint64_t xmit_packets;       /**< packets sent */
	uint64_t rcv_packets;        /**< packets received */
	uint64_t unicast_xmit_packets; /**< unicast packets sent */
	uint64_t unicast_rcv_packets;  /**< unicast packets received */
	uint64_t multicast_xmit_packets; /**< multicast packets sent */
	uint64_t multicast_rcv_packets;  /**< multicast packets received */
	uint64_t xmit_discards;      /**< packets not sent: port down, faults */
	uint64_t rcv_errors;         /**< packets received with an error */
	uint64_t rcv_dropped;        /**< packets dropped without an answer: no such queue pair, wrong state or key */
	uint64_t xmit_wait;          /**< ticks with data to send and nothing sent */
	uint64_t retransmits;        /**< packets sent again */
	uint64_t rnr_naks;           /**< receiver-not-ready NAKs sent */
	uint64_t seq_naks;           /**< PSN sequence error NAKs sent */
	uint64_t reserved[4];        /**< zero */
};

/** Attributes of a port (al_query_port(); IBTA 11.2.1.2 and PortInfo). */
struct ib_port_attr {
	uint64_t port_guid;          /**< constant */
	uint64_t subnet_prefix;      /**< upper half of GID 0; 0xfe80000000000000 by default */
	ib_port_state state;         /**< logical state */
	ib_phys_state phys_state;    /**< physical state */
	ib_link_layer link_layer;    /**< InfiniBand or Ethernet */
	ib_mtu max_mtu;              /**< largest that it can */
	ib_mtu active_mtu;           /**< in use */
	ib_width active_width;       /**< lanes */
	ib_speed active_speed;       /**< per lane */
	uint32_t cap_mask;           /**< enum ib_port_cap */
	uint32_t ci_caps;            /**< enum ci_port_cap */
	uint32_t max_msg_size;       /**< bytes of one message, at most 2^31 */
	uint32_t gid_tbl_len;        /**< entries of the GID table, at least 1 */
	uint32_t pkey_tbl_len;       /**< entries of the P_Key table, at least 1 */
	uint32_t bad_pkey_cntr;      /**< P_Key violations */
	uint32_t qkey_viol_cntr;     /**< Q_Key violations */
	uint16_t lid;                /**< 0 while none is assigned */
	uint16_t sm_lid;             /**< LID of the master subnet manager */
	uint8_t lmc;                 /**< the port answers 2^lmc LIDs from lid */
	uint8_t sm_sl;               /**< service level to the subnet manager */
	uint8_t subnet_timeout;      /**< 4.096 us * 2^n */
	uint8_t max_vl_num;          /**< data virtual lanes: 1, 2, 4, 8 or 15 */
	uint8_t init_type_reply;     /**< what the subnet manager did at initialisation */
	uint8_t pad[7];              /**< zero */
	struct ib_port_counters counters; /**< live values */
	uint64_t reserved[4];        /**< zero */
};

/** What al_modify_port() changes: bits (IBTA 11.2.1.4). */
enum ib_port_attr_mask {
	IB_PORT_MODIFY_RESET_QKEY_CNTR = 1 << 0, /**< clears qkey_viol_cntr */
	IB_PORT_MODIFY_CAP_MASK = 1 << 1,        /**< set_caps and clear_caps */
	IB_PORT_MODIFY_RESET_PKEY_CNTR = 1 << 2, /**< clears bad_pkey_cntr */
	IB_PORT_MODIFY_SHUTDOWN = 1 << 3,        /**< takes the port down */
	IB_PORT_MODIFY_INIT_TYPE = 1 << 4,       /**< init_type */
	IB_PORT_MODIFY_BRING_UP = 1 << 5,        /**< brings it up again, after a shutdown */
};

/** Values for al_modify_port(). */
struct ib_port_modify {
	uint32_t set_caps;    /**< enum ib_port_cap, set first */
	uint32_t clear_caps;  /**< enum ib_port_cap, cleared then */
	uint8_t init_type;    /**< PortInfo.InitType */
	uint8_t pad[7];       /**< zero */
	uint64_t reserved[4]; /**< zero */
};

/* ------------------------------------------------------------------ memory */

/** Permissions of a region, window or queue pair: bits (IBTA 10.6.3). Local read is always granted. */
enum ib_access {
	IB_ACCESS_LOCAL_WRITE = 1 << 0,   /**< the HCA may write for local requests; necessary for remote write and atomics */
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
	uint32_t length; /**< bytes; 0 means 0 */
	uint32_t lkey;   /**< key of the region */
};

/** Memory to register (al_reg_mr()). */
struct al_mr_init {
	void *addr;           /**< first byte */
	uint64_t length;      /**< bytes, from 1 to ib_ca_attr.max_mr_size */
	uint32_t access;      /**< enum ib_access */
	uint32_t flags;       /**< zero */
	bool use_iova;        /**< requests name the memory by iova instead of addr */
	uint64_t iova;        /**< I/O virtual address of the first byte; same offset in its page as addr */
	uint64_t reserved[4]; /**< zero */
};

/** A physical buffer (seed 004, ib_phys_buf): addresses are those of al_dma_*. */
struct ib_phys_buf {
	uint64_t addr; /**< start, page aligned but in the first */
	uint64_t size; /**< bytes, whole pages but in the last */
};

/** Physical memory to register (al_reg_phys_mr()). */
struct al_phys_mr_init {
	const struct ib_phys_buf *bufs; /**< num_bufs of them */
	uint32_t num_bufs;    /**< at least 1 */
	uint32_t access;      /**< enum ib_access */
	uint64_t iova;        /**< wanted I/O virtual address; the one given is written back */
	uint64_t offset;      /**< of the first byte in the first buffer */
	uint64_t length;      /**< bytes */
	uint64_t reserved[4]; /**< zero */
};

/** What al_rereg_mr() changes: bits (IBTA 11.2.8.5). */
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
	uint32_t lkey;        /**< for local requests */
	uint32_t rkey;        /**< for peers; 0 without any remote permission */
	uint32_t page_shift;  /**< log2 of the page size */
	uint32_t bound_windows; /**< windows bound to it now */
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

/** Where a window is bound (seed 004, ib_mw_bind_info). */
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
	struct ib_mw_bind_info bind_info; /**< where */
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
	IB_DMA_SKIP_CPU_SYNC = 1 << 1, /**< the caller does the transfer of ownership himself */
};

/** Element of a scatter/gather list to map for DMA (seed 004, ib_dma_map_sg). */
struct ib_dma_sg {
	void *addr;           /**< memory */
	uint64_t length;      /**< bytes */
	uint64_t dma_address; /**< filled in by the map */
	uint64_t dma_length;  /**< filled in by the map */
};

/* ---------------------------------------------------------- completion queue */

/** What an arm asks to be told of; each includes the one before (seed 001's table): X(name, value, text). */
#define AL_ARM_LIST(X) \
	X(AL_ARM_NONE, 0, "none") \
	X(AL_ARM_ERRORS, 1, "errors") \
	X(AL_ARM_SOLICITED, 2, "solicited") \
	X(AL_ARM_ANY, 3, "any")
/**
 * What an arm asks to be told of. #AL_ARM_ERRORS: any completion in error. #AL_ARM_SOLICITED: those, and receives of
 * messages sent with #IB_SEND_SOLICITED. #AL_ARM_ANY: every completion. #AL_ARM_NONE is no argument, but what
 * al_query_cq() shows of a queue that is not armed.
 */
typedef enum al_arm { AL_ARM_LIST(IBA_ENUM_VALUE) } al_arm;

/** What an arm makes of completions that are there already: X(name, value, text). */
#define AL_CQ_NOTIFY_LIST(X) \
	X(AL_CQ_NOTIFY_PENDING, 0, "pending") \
	X(AL_CQ_NOTIFY_NEXT, 1, "next")
/**
 * What an arm makes of completions that are there already. #AL_CQ_NOTIFY_PENDING (seed 001): one that is newer than
 * the last notification satisfies the arm at once, of whatever type it is. #AL_CQ_NOTIFY_NEXT (seed 004, IBTA
 * 11.4.2.2): only completions added after the call count.
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
/** Outcome of a work request. */
typedef enum ib_wc_status { IB_WC_STATUS_LIST(IBA_ENUM_VALUE) } ib_wc_status;

/** What was completed: X(name, value, text). */
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
/** What was completed; receives have bit 7 set. Not defined in an erroneous completion but for that bit. */
typedef enum ib_wc_opcode { IB_WC_OPCODE_LIST(IBA_ENUM_VALUE) } ib_wc_opcode;

/** Bits of ib_wc.wc_flags. */
enum ib_wc_flags {
	IB_WC_GRH = 1 << 0,             /**< the first 40 bytes of the receive buffer hold a GRH */
	IB_WC_WITH_IMM = 1 << 1,        /**< imm_data is valid */
	IB_WC_WITH_INVALIDATE = 1 << 2, /**< invalidated_rkey is valid; only al_poll_cq_ex() says so (seed 001) */
	IB_WC_SOLICITED = 1 << 3,       /**< the sender asked for a solicited event */
};

/** Work completion, IBTA 11.4.2.1. Identity: wr_id and qp_context (no handle, SAS deviation 3). */
struct ib_wc {
	uint64_t wr_id;       /**< as in the request */
	void *qp_context;     /**< context given at the queue pair's creation */
	ib_wc_status status;  /**< when not #IB_WC_SUCCESS only wr_id, qp_context, qp_num and vendor_err are defined */
	ib_wc_opcode opcode;  /**< what was done */
	uint32_t byte_len;    /**< bytes received, read or returned by an atomic; with the GRH area for datagrams */
	uint32_t wc_flags;    /**< enum ib_wc_flags */
	uint32_t imm_data;    /**< immediate data: the value that the sender gave */
	uint32_t invalidated_rkey; /**< key that the peer's send invalidated */
	uint32_t qp_num;      /**< local queue pair */
	uint32_t src_qp;      /**< datagrams: sender's queue pair */
	uint32_t vendor_err;  /**< vendor's detail of an error */
	uint16_t pkey_index;  /**< QP1: index of the packet's P_Key */
	uint16_t slid;        /**< datagrams: source LID */
	uint8_t sl;           /**< datagrams: service level */
	uint8_t dlid_path_bits; /**< datagrams: low bits of the LID that was addressed */
	uint8_t port_num;     /**< datagrams: port it came in by */
	uint8_t pad[5];       /**< zero */
};

/** Attributes of a completion queue at its creation. */
struct al_cq_init {
	uint32_t cqe;           /**< in: entries wanted, at least 1; out: entries there, or the limit when it was exceeded */
	uint32_t comp_vector;   /**< less than ib_ca_attr.num_comp_vectors */
	al_cq_notify notify;    /**< what an arm makes of completions already there */
	al_channel_h channel;   /**< deliver notifications and events here instead of by callback; NULL: callbacks */
	uint64_t reserved[4];   /**< zero */
};

/** Attributes of a completion queue (al_query_cq()). */
struct al_cq_attr {
	uint32_t cqe;           /**< entries there */
	uint32_t comp_vector;   /**< as created */
	al_cq_notify notify;    /**< as created */
	al_arm armed;           /**< what it is armed for */
	uint32_t count;         /**< completions in it now */
	uint16_t moderation_count;  /**< notify after so many completions; 0 and 1: each */
	uint16_t moderation_period; /**< or after so many microseconds; 0: never */
	bool overflowed;        /**< it has overflowed: only destroy is left */
	uint8_t pad[7];         /**< zero */
	uint64_t reserved[4];   /**< zero */
};

/* --------------------------------------------------------------- queue pair */

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
	IB_QPT_NONE = 0, /**< none: what zero means, refused at creation */
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

/** Sizes of a queue pair. At creation: in what is wanted, out what is there (never less), or the limit when it was exceeded. */
struct ib_qp_cap {
	uint32_t max_send_wr;     /**< send requests outstanding */
	uint32_t max_recv_wr;     /**< receive requests outstanding; unused with an SRQ */
	uint32_t max_send_sge;    /**< gather elements of a send request */
	uint32_t max_recv_sge;    /**< scatter elements of a receive request */
	uint32_t max_inline_data; /**< bytes of an inline request */
};

/** Attributes of a queue pair at its creation (seed 004, ib_qp_init_attr; IBTA 11.2.4.1). */
struct al_qp_init {
	ib_qp_type qp_type;     /**< transport service */
	bool sq_sig_all;        /**< every send request completes visibly; else those with #IB_SEND_SIGNALED (and errors) */
	bool block_mcast_loopback; /**< own multicast messages are not delivered to this queue pair */
	uint8_t port_num;       /**< special and raw queue pairs: their port; else 0 */
	struct ib_qp_cap cap;   /**< sizes, written back */
	al_cq_h send_cq;        /**< completions of the send queue; may be of another PD (SAS deviation 2) */
	al_cq_h recv_cq;        /**< completions of the receive queue; may be the same */
	al_srq_h srq;           /**< shared receive queue instead of one of its own; same PD */
	al_rdd_h rdd;           /**< reliable datagram domain (RD) */
	al_xrcd_h xrcd;         /**< XRC domain (XRC-TGT) */
	uint64_t reserved[4];   /**< zero */
};

/** Attributes of a queue pair (seed 004, ib_qp_attr; IBTA 11.2.4.2). */
struct ib_qp_attr {
	ib_qp_state qp_state;       /**< state to go to; query: state now */
	ib_qp_state cur_qp_state;   /**< modify: the state that the caller believes it is in */
	ib_mtu path_mtu;            /**< largest payload of a packet */
	ib_mig_state path_mig_state; /**< path migration */
	uint32_t qkey;              /**< datagram types */
	uint32_t rq_psn;            /**< first PSN expected, 24 bits */
	uint32_t sq_psn;            /**< first PSN sent, 24 bits */
	uint32_t dest_qp_num;       /**< connected types: peer, 24 bits */
	uint32_t qp_access_flags;   /**< enum ib_access: what peers may do through this queue pair */
	struct ib_qp_cap cap;       /**< sizes (resize) */
	struct ib_ah_attr ah_attr;     /**< primary path */
	struct ib_ah_attr alt_ah_attr; /**< alternate path */
	uint16_t pkey_index;        /**< index in the port's P_Key table */
	uint16_t alt_pkey_index;    /**< the same on the alternate path */
	bool en_sqd_async_notify;   /**< to SQD: raise #IB_EVENT_SQ_DRAINED when drained */
	bool sq_draining;           /**< query, SQD: still draining */
	uint8_t max_rd_atomic;      /**< reads and atomics outstanding as requester */
	uint8_t max_dest_rd_atomic; /**< the same as responder */
	uint8_t min_rnr_timer;      /**< 0 to 31: pause asked of a peer that finds no receive, IBTA table 45 */
	uint8_t port_num;           /**< primary port, from 1 */
	uint8_t timeout;            /**< 4.096 us * 2^n until a packet counts as lost; 0: for ever */
	uint8_t retry_cnt;          /**< 0 to 7 repetitions after time-outs and sequence errors */
	uint8_t rnr_retry;          /**< 0 to 6 repetitions after RNR NAKs; 7: without limit */
	uint8_t alt_port_num;       /**< alternate port */
	uint8_t alt_timeout;        /**< timeout on the alternate path */
	uint8_t pad[5];             /**< zero */
	uint64_t reserved[4];       /**< zero */
};

/** Which members of ib_qp_attr count: bits. */
enum ib_qp_attr_mask {
	IB_QP_STATE = 1 << 0,               /**< qp_state */
	IB_QP_CUR_STATE = 1 << 1,           /**< cur_qp_state */
	IB_QP_EN_SQD_ASYNC_NOTIFY = 1 << 2, /**< en_sqd_async_notify */
	IB_QP_ACCESS_FLAGS = 1 << 3,        /**< qp_access_flags */
	IB_QP_PKEY_INDEX = 1 << 4,          /**< pkey_index */
	IB_QP_PORT = 1 << 5,                /**< port_num */
	IB_QP_QKEY = 1 << 6,                /**< qkey */
	IB_QP_AV = 1 << 7,                  /**< ah_attr */
	IB_QP_PATH_MTU = 1 << 8,            /**< path_mtu */
	IB_QP_TIMEOUT = 1 << 9,             /**< timeout */
	IB_QP_RETRY_CNT = 1 << 10,          /**< retry_cnt */
	IB_QP_RNR_RETRY = 1 << 11,          /**< rnr_retry */
	IB_QP_RQ_PSN = 1 << 12,             /**< rq_psn */
	IB_QP_MAX_QP_RD_ATOMIC = 1 << 13,   /**< max_rd_atomic */
	IB_QP_ALT_PATH = 1 << 14,           /**< alt_ah_attr, alt_port_num, alt_pkey_index, alt_timeout */
	IB_QP_MIN_RNR_TIMER = 1 << 15,      /**< min_rnr_timer */
	IB_QP_SQ_PSN = 1 << 16,             /**< sq_psn */
	IB_QP_MAX_DEST_RD_ATOMIC = 1 << 17, /**< max_dest_rd_atomic */
	IB_QP_PATH_MIG_STATE = 1 << 18,     /**< path_mig_state */
	IB_QP_CAP = 1 << 19,                /**< cap */
	IB_QP_DEST_QPN = 1 << 20,           /**< dest_qp_num */
};

/* --------------------------------------------------------- shared receive queue */

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
	uint32_t srq_limit;   /**< raise #IB_EVENT_SRQ_LIMIT_REACHED, once, when fewer are left; 0: never */
	uint32_t pad;         /**< zero */
	uint64_t reserved[4]; /**< zero */
};

/** Which members of ib_srq_attr count: bits. */
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
	al_channel_h channel;    /**< deliver events here instead of by callback */
	uint64_t reserved[4];    /**< zero */
};

/* ------------------------------------------------------ end-to-end context (RD) */

/** State of an end-to-end context is an ib_qp_state; its attributes are those of a connected queue pair (IBTA 11.2.7). */
struct ib_eec_attr {
	ib_qp_state eec_state;      /**< state to go to; query: state now */
	ib_mtu path_mtu;            /**< largest payload of a packet */
	ib_mig_state path_mig_state; /**< path migration */
	uint32_t rq_psn;            /**< first PSN expected */
	uint32_t sq_psn;            /**< first PSN sent */
	uint32_t dest_eecn;         /**< peer context, 24 bits */
	struct ib_ah_attr ah_attr;     /**< primary path */
	struct ib_ah_attr alt_ah_attr; /**< alternate path */
	uint16_t pkey_index;        /**< index in the port's P_Key table */
	uint16_t alt_pkey_index;    /**< the same on the alternate path */
	uint8_t max_rd_atomic;      /**< outstanding as requester */
	uint8_t max_dest_rd_atomic; /**< outstanding as responder */
	uint8_t port_num;           /**< primary port */
	uint8_t alt_port_num;       /**< alternate port */
	uint8_t timeout;            /**< 4.096 us * 2^n */
	uint8_t alt_timeout;        /**< on the alternate path */
	uint8_t retry_cnt;          /**< 0 to 7 */
	uint8_t rnr_retry;          /**< 0 to 7 */
	uint64_t reserved[4];       /**< zero */
};

/* ------------------------------------------------------------ work requests */

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
	IB_SEND_FENCE = 1 << 0,     /**< start only when earlier reads and atomics of this queue are done */
	IB_SEND_SIGNALED = 1 << 1,  /**< complete visibly (always, when the queue pair was created with sq_sig_all) */
	IB_SEND_SOLICITED = 1 << 2, /**< ask for a solicited event at the receiver */
	IB_SEND_INLINE = 1 << 3,    /**< copy the data now: the buffers need no key and may be reused at return */
};

/** Send request. A chain is linked by next; posting neither changes nor keeps it. */
struct ib_send_wr {
	const struct ib_send_wr *next; /**< NULL: the last */
	uint64_t wr_id;                /**< comes back in the completion */
	const struct ib_sge *sg_list;  /**< num_sge elements */
	uint32_t num_sge;              /**< up to ib_qp_cap.max_send_sge; 0 is a message without data */
	ib_wr_opcode opcode;           /**< operation */
	uint32_t send_flags;           /**< enum ib_send_flags */
	union {
		uint32_t imm_data;        /**< with immediate: 32 bits for the receiver, in the value's own order */
		uint32_t invalidate_rkey; /**< send with invalidate: the peer's key; read with or local invalidate: one's own */
	} ex; /**< depends on the opcode */
	union {
		struct {
			uint64_t remote_addr; /**< peer's address */
			uint32_t rkey;        /**< peer's key */
		} rdma; /**< write, read */
		struct {
			uint64_t remote_addr;      /**< peer's address, a multiple of 8 */
			uint64_t compare_add;      /**< value to compare with, or to add */
			uint64_t swap;             /**< value to store when equal */
			uint64_t compare_add_mask; /**< masked: bits compared; or, added: boundaries of the fields */
			uint64_t swap_mask;        /**< masked: bits stored */
			uint32_t rkey;             /**< peer's key */
		} atomic; /**< the atomics */
		struct {
			al_ah_h ah;           /**< path; may be destroyed once the post has returned */
			uint32_t remote_qpn;  /**< destination; #IB_QPN_MULTICAST for a group */
			uint32_t remote_qkey; /**< destination's Q_Key; with the top bit set, this queue pair's own */
			uint16_t pkey_index;  /**< QP1 only */
			uint8_t port_num;     /**< QP0 and QP1 of a switch only */
		} ud; /**< datagrams */
		struct {
			uint32_t eecn;        /**< end-to-end context */
			uint32_t remote_qpn;  /**< destination */
			uint32_t remote_qkey; /**< destination's Q_Key */
		} rd; /**< reliable datagrams */
		struct {
			al_mw_h mw;                       /**< window of type 2 */
			uint32_t rkey;                    /**< the new key: same index, new low byte */
			struct ib_mw_bind_info bind_info; /**< where */
		} bind_mw; /**< bind */
		struct {
			al_mr_h mr;                /**< from al_alloc_fast_reg_mr() */
			const uint64_t *page_list; /**< num_pages addresses of al_dma_* */
			uint32_t num_pages;        /**< pages */
			uint32_t key;              /**< the new key: same index, new low byte */
			uint32_t access;           /**< enum ib_access */
			uint8_t page_shift;        /**< log2 of the page size */
			uint64_t iova;             /**< address of the first byte */
			uint64_t length;           /**< bytes */
		} reg_mr; /**< fast registration */
	} wr; /**< depends on opcode and type */
	uint32_t remote_srqn; /**< XRC: destination SRQ */
	uint32_t pad;         /**< zero */
};

/** Receive request. A chain is linked by next; posting neither changes nor keeps it. */
struct ib_recv_wr {
	const struct ib_recv_wr *next; /**< NULL: the last */
	uint64_t wr_id;                /**< comes back in the completion */
	const struct ib_sge *sg_list;  /**< num_sge elements; datagrams write a GRH area of 40 bytes first */
	uint32_t num_sge;              /**< up to ib_qp_cap.max_recv_sge */
	uint32_t pad;                  /**< zero */
};

#define IB_GRH_BYTES 40 /**< area at the start of a datagram's receive buffer, IBTA 11.4.1.2 */

/* ------------------------------------------------------------------- events */

/**
 * Asynchronous events, IBTA 11.6.3: X(name, value, text, object). The object says whom an event belongs to: a kind of
 * object (affiliated) or #AL_OBJ_NONE (a port or the HCA).
 */
#define IB_EVENT_LIST(X) \
	X(IB_EVENT_CQ_ERR, 0, "CQ error", AL_OBJ_CQ) \
	X(IB_EVENT_QP_FATAL, 1, "QP catastrophic error", AL_OBJ_QP) \
	X(IB_EVENT_QP_REQ_ERR, 2, "QP invalid request", AL_OBJ_QP) \
	X(IB_EVENT_QP_ACCESS_ERR, 3, "QP access violation", AL_OBJ_QP) \
	X(IB_EVENT_COMM_EST, 4, "communication established", AL_OBJ_QP) \
	X(IB_EVENT_SQ_DRAINED, 5, "send queue drained", AL_OBJ_QP) \
	X(IB_EVENT_PATH_MIG, 6, "path migrated", AL_OBJ_QP) \
	X(IB_EVENT_PATH_MIG_ERR, 7, "path migration request error", AL_OBJ_QP) \
	X(IB_EVENT_QP_LAST_WQE_REACHED, 8, "last WQE reached", AL_OBJ_QP) \
	X(IB_EVENT_SRQ_ERR, 9, "SRQ error", AL_OBJ_SRQ) \
	X(IB_EVENT_SRQ_LIMIT_REACHED, 10, "SRQ limit reached", AL_OBJ_SRQ) \
	X(IB_EVENT_EEC_FATAL, 11, "EE context catastrophic error", AL_OBJ_EEC) \
	X(IB_EVENT_EEC_PATH_MIG, 12, "EE context path migrated", AL_OBJ_EEC) \
	X(IB_EVENT_PORT_DOWN, 16, "port down", AL_OBJ_NONE) \
	X(IB_EVENT_PORT_INIT, 17, "port initialising", AL_OBJ_NONE) \
	X(IB_EVENT_PORT_ARMED, 18, "port armed", AL_OBJ_NONE) \
	X(IB_EVENT_PORT_ACTIVE, 19, "port active", AL_OBJ_NONE) \
	X(IB_EVENT_LID_CHANGE, 20, "LID change", AL_OBJ_NONE) \
	X(IB_EVENT_PKEY_CHANGE, 21, "P_Key table change", AL_OBJ_NONE) \
	X(IB_EVENT_GID_CHANGE, 22, "GID table change", AL_OBJ_NONE) \
	X(IB_EVENT_SM_CHANGE, 23, "subnet manager change", AL_OBJ_NONE) \
	X(IB_EVENT_CLIENT_REREGISTER, 24, "client reregister", AL_OBJ_NONE) \
	X(IB_EVENT_DEVICE_FATAL, 25, "device fatal", AL_OBJ_NONE)
/** Asynchronous events. Values are below 32: a set of them is one word. */
typedef enum ib_event_type {
#define IBA_EVENT_VALUE(name, value, text, object) name = value,
	IB_EVENT_LIST(IBA_EVENT_VALUE)
} ib_event_type;

/** An asynchronous event as a channel driver sees it. */
struct al_event {
	ib_event_type type;     /**< what happened */
	al_object_type object;  /**< kind of object it is about; #AL_OBJ_NONE: the port or the HCA */
	void *object_context;   /**< context given at that object's creation */
	uint64_t ca_guid;       /**< node GUID of the HCA */
	uint8_t port_num;       /**< port, from 1; 0: the HCA */
	uint8_t pad[7];         /**< zero */
};

#ifdef __cplusplus
}
#endif

#endif /* IBA_IB_TYPES_H */
