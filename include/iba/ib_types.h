/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/**
 * @file ib_types.h
 * @brief Types of HCAs and ports: statuses, handles, addresses, attributes, events.
 *
 * The types of memory, queues, queue pairs and work requests are in ib_verbs.h. A channel driver includes both headers
 * through ib_al.h, an HCA vendor's module through ib_hca.h.
 *
 * This header needs no function of the library. Names and values follow the InfiniBand Architecture Specification,
 * Volume 1 ("IBTA", with its clause). "seed 000" is the guide to the locking of the InfiniBand midlayer; "seed 004" is
 * the chapter on InfiniBand in Linux (verbs), with its name there. Integers are in host byte order and lengths in bytes
 * unless a field says otherwise.
 *
 * Every struct that a caller fills in works with designated initialisers: a member that is not named is zero, and zero
 * is the usual choice. A struct that ends in `reserved` is refused with #AL_INVALID_PARAMETER if `reserved` is not
 * zero, so that a later version can give the member a meaning.
 */
#ifndef IBA_IB_TYPES_H
#define IBA_IB_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/** @addtogroup ibal_library
 * @{ */

/**
 * Every status: X(name, value, text). Statuses are grouped by the part that has failed: the call, the object, the port,
 * the HCA or its module, the connection to the agent. Values are stable.
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
	X(AL_AGENT_REFUSED, 129, "the agent's socket exists, and nobody listens there") \
	X(AL_AGENT_PROTOCOL, 130, "the agent speaks another version of the protocol") \
	X(AL_MEMORY_OUT_OF_REACH, 131, "the agent can not reach this memory; what al_dma_alloc_coherent() gives it can") \
	X(AL_INVALID_DESCRIPTOR, 132, "the descriptor is no memfd that is sealed against shrinking") \
	X(AL_AGENT_UNTRUSTED, 133, "the agent is another user's, whom this program does not trust with its memory")

/**
 * The result of a function. Results behind pointers are written only with #AL_SUCCESS, unless a function says
 * otherwise.
 */
typedef enum al_status {
#define IBA_ENUM_VALUE(name, value, text) name = value,
	AL_STATUS_LIST(IBA_ENUM_VALUE)
} al_status;

/** @} */

/** @addtogroup ibal_library
 * @{ */

/**
 * Every kind of object: X(name, value, text, handle). A handle has a pointer type for the compiler, but its bits are no
 * address: they are type, generation and index of a table. Any value may be passed as a handle: for an invalid handle a
 * function returns #AL_INVALID_HANDLE.
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
typedef struct al_pnp *al_pnp_h;                    /**< registration for arrival and removal of HCAs, and port
						     * events */
typedef struct al_event_handler *al_event_handler_h; /**< registration for asynchronous events */
typedef struct al_channel *al_channel_h;            /**< event queue with a descriptor, in place of callbacks */
typedef struct al_mad_svc *al_mad_svc_h;            /**< registration for management datagrams */

/** @} */

/** @addtogroup ibal_addresses
 * @{ */

/** Global identifier, IBTA 4.1.1: 16 bytes as on the wire, subnet prefix first. */
typedef union ib_gid {
	uint8_t raw[16]; /**< network byte order */
} ib_gid;

/**
 * The GID that an IPv4 address makes on RoCE, IBTA A17.4.1.1. **Context: any.**
 *
 * @param ip four bytes, network byte order
 * @return "::ffff:a.b.c.d"; of a group's address "ff0e::ffff:a.b.c.d"
 */
static inline ib_gid ib_gid_of_ip4(const uint8_t *ip)
{
	ib_gid gid = { { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, ip[0], ip[1], ip[2], ip[3] } };

	if ((ip[0] & 0xf0) == 0xe0) {
		gid.raw[0] = 0xff;
		gid.raw[1] = 0x0e;
	}
	return gid;
}

/**
 * Tells the GIDs that IPv4 addresses of hosts make on RoCE, IBTA A17.4.1.1. **Context: any.**
 *
 * @param gid a GID
 * @return true: the GID is "::ffff:a.b.c.d", and its last four bytes are the IPv4 address
 */
static inline bool ib_gid_is_ip4(const ib_gid *gid)
{
	static const uint8_t prefix[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

	return !memcmp(gid->raw, prefix, sizeof(prefix));
}

/** Link layer under a port (seed 004, rdma_port_get_link_layer): X(name, value, text). */
#define IB_LINK_LAYER_LIST(X) \
	X(IB_LINK_LAYER_UNSPECIFIED, 0, "unspecified") \
	X(IB_LINK_LAYER_INFINIBAND, 1, "InfiniBand") \
	X(IB_LINK_LAYER_ETHERNET, 2, "Ethernet")
/** Link layer under a port. */
typedef enum ib_link_layer { IB_LINK_LAYER_LIST(IBA_ENUM_VALUE) } ib_link_layer;

/** Type of a GID: the packets that carry the GID (IBTA 8.3, A17.4): X(name, value, text). */
#define IB_GID_TYPE_LIST(X) \
	X(IB_GID_TYPE_IB, 0, "InfiniBand") \
	X(IB_GID_TYPE_ROCE_V2, 2, "RoCE v2")
/** Type of a GID. */
typedef enum ib_gid_type { IB_GID_TYPE_LIST(IBA_ENUM_VALUE) } ib_gid_type;

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

/** Payload bytes of an encoded MTU; 0: the value is no MTU. */
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

/** Lanes of one ib_width; 0: the value is no width. */
static inline uint32_t ib_width_lanes(unsigned int width)
{
	switch (width) {
	case IB_WIDTH_1X:
		return 1;
	case IB_WIDTH_2X:
		return 2;
	case IB_WIDTH_4X:
		return 4;
	case IB_WIDTH_8X:
		return 8;
	case IB_WIDTH_12X:
		return 12;
	default:
		return 0;
	}
}

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

/** Types of a node, NodeInfo.NodeType: X(name, value, text). */
#define IB_NODE_TYPE_LIST(X) \
	X(IB_NODE_CA, 1, "CA") \
	X(IB_NODE_SWITCH, 2, "switch") \
	X(IB_NODE_ROUTER, 3, "router")
/** Type of a node. */
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
	uint32_t flow_label;   /**< flow label, 20 bits */
	uint16_t sgid_index;   /**< index of the source GID in the port's GID table */
	uint8_t hop_limit;     /**< hop limit; packets with 0 and 1 stay in the subnet */
	uint8_t traffic_class; /**< global service level */
};

/** Address vector: the path to a destination (seed 004, ib_ah_attr; IBTA 11.2.2.1). */
struct ib_ah_attr {
	struct ib_global_route grh; /**< global route; used if is_global */
	uint16_t dlid;              /**< destination LID, not 0; unused on Ethernet */
	uint8_t sl;                 /**< service level, 0 to 15 */
	uint8_t src_path_bits;      /**< low bits of the source LID, less than 2^LMC */
	uint8_t static_rate;        /**< enum ib_rate */
	uint8_t port_num;           /**< port of the HCA to send from, from 1; of a switch 0 */
	bool is_global;             /**< send a GRH; necessary for multicast, other subnets, and on Ethernet */
	uint8_t pad;                /**< zero */
	uint64_t reserved[4];       /**< zero */
};

/** @} */

/** @addtogroup ibal_hcas
 * @{ */

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

/** Atomicity of atomic operations, IBTA 11.2.1.2: X(name, value, text). */
#define IB_ATOMIC_CAP_LIST(X) \
	X(IB_ATOMIC_NONE, 0, "none") \
	X(IB_ATOMIC_HCA, 1, "among the queue pairs of this HCA") \
	X(IB_ATOMIC_GLOBAL, 2, "also with the processor and other HCAs")
/** Atomicity of atomic operations: the other accesses with respect to which an atomic operation is atomic. */
typedef enum ib_atomic_cap { IB_ATOMIC_CAP_LIST(IBA_ENUM_VALUE) } ib_atomic_cap;

/**
 * Attributes of an HCA, which al_query_ca() tells (IBTA 11.2.1.2), Only al_modify_ca() changes them. Maxima
 * are exact: a request for more is refused.
 *
 * For a program that uses an agent's HCA, each maximum is the least of three limits at the time of
 * the query: the HCA's, its user-mode provider's, and the agent's for this program (`ibal.conf(5)`,
 * [ald client], or [ald user] if that is less). max_pd, max_mr, max_cq and max_qp count the
 * program's own objects on all HCAs of the agent. max_mr_size is the sum of the memory that the
 * program may register. max_cqe and max_qp_wr are the sizes of a single queue, without elements or
 * inline data, that uses all the memory for the program's queues. The programs of a user share the
 * user's limit, so the objects of that user's other programs reduce it. atomic_cap is at most
 * #IB_ATOMIC_HCA: the agent copies memory, and its copies are not atomic with respect to the
 * processor.
 *
 * A switch (node_type) is opened and queried as an HCA is, and has special queue pairs only. Its
 * port 0 is the switch itself: the one port with LIDs, GIDs, P_Keys of its own, QP0 and QP1. Its
 * ports 1 to num_ports are external ports, which have a state and counters. al_get_ca_guids(), PnP
 * and snapshots name HCAs only; al_open_ca() opens a switch by its GUID. Programs with an agent get
 * no special queue pairs, of HCAs neither.
 */
struct ib_ca_attr {
	uint64_t node_guid;         /**< identifies the HCA: al_open_ca() takes it */
	uint64_t sys_image_guid;    /**< common to the components of one system; 0 if none */
	uint32_t vendor_id;         /**< IEEE OUI, 24 bits */
	uint32_t vendor_part_id;    /**< vendor's device id */
	uint32_t hw_ver;            /**< hardware revision */
	uint32_t num_ports; /**< ports are numbered from 1; a switch has a port 0 besides, which
			       num_ports does not count */
	uint32_t num_comp_vectors;  /**< completion vectors, 1 to 2048: completion callbacks that may run at once */
	uint32_t caps;              /**< enum ib_ca_cap */
	ib_atomic_cap atomic_cap;        /**< plain 64-bit atomics */
	ib_atomic_cap masked_atomic_cap; /**< masked atomics */
	char node_desc[64];         /**< NodeDescription, UTF-8, ends in a zero byte */
	char fw_ver[32];            /**< version of the firmware or module */
	char location[32];          /**< PCI address such as "0000:3b:00.0"; "software" for an HCA that is no device */
	uint64_t page_size_cap;     /**< supported page sizes, one bit each */
	uint64_t max_mr_size;       /**< bytes of one region */
	uint32_t max_mr;            /**< regions */
	uint32_t max_mw;            /**< windows */
	uint32_t max_fmr;           /**< fast memory regions */
	uint32_t max_map_per_fmr;   /**< maps of a fast memory region before an unmap is due */
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
	uint32_t max_cqe;           /**< entries of a completion queue */
	uint32_t max_srq;           /**< shared receive queues */
	uint32_t max_srq_wr;        /**< requests outstanding on a shared receive queue */
	uint32_t max_srq_sge;       /**< scatter elements of a shared receive queue's request */
	uint32_t max_raw_ipv6_qp;   /**< raw IPv6 queue pairs */
	uint32_t max_raw_ethy_qp;   /**< raw Ethertype queue pairs */
	uint32_t max_mcast_grp;     /**< multicast groups */
	uint32_t max_mcast_qp_attach; /**< queue pairs in one group */
	uint32_t max_total_mcast_qp_attach; /**< memberships of queue pairs in all groups together */
	uint32_t max_pkeys;         /**< entries of a port's P_Key table */
	uint32_t local_ca_ack_delay; /**< 4.096 us * 2^n, IBTA 11.2.1.2 */
	ib_node_type node_type; /**< #IB_NODE_CA or #IB_NODE_SWITCH; a module that returns 0 has an
				   HCA */
	uint32_t pad;           /**< zero */
	char name[24]; /**< short name, of the module's and a number, such as "soft0": unique among the
			* HCAs of the process or agent, and constant; a module returns an empty one */
};

/** Attributes that al_modify_ca() changes: bits. */
enum ib_ca_attr_mask {
	IB_CA_MODIFY_SYS_IMAGE_GUID = 1 << 0, /**< ib_ca_attr.sys_image_guid */
	IB_CA_MODIFY_NODE_DESC = 1 << 1,      /**< ib_ca_attr.node_desc */
};

/** Bits of PortInfo.CapabilityMask that the Access Layer or a subnet manager reads, IBTA 14.2.5.6. */
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

/** Management classes of a port that the Access Layer serves: bits of
 * ib_port_attr.ci_caps. A port without a bit has an agent of its own for the class, or none. */
enum ci_port_cap {
	CI_PORT_SMA_IN_AL = 1 << 0, /**< the Access Layer answers subnet management packets, with
				       ci_local_mad's help */
	CI_PORT_PMA_IN_AL = 1 << 1, /**< the Access Layer answers performance management packets */
	CI_PORT_MAD_ANY_CONTEXT =
		1
		<< 2, /**< beside one of these bits: the operations local_mad and query_port of the
		       * port do not sleep, so the Access Layer may call them in any context */
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
	uint64_t rcv_dropped;        /**< packets dropped without a response: no such queue pair, wrong state or key;
					  *   UC, UD: no receive request, or a receive request that is too short for the
					  *   message */
	uint64_t xmit_wait; /**< microseconds in which there was data to send, and no room for it */
	uint64_t retransmits;        /**< packets sent again */
	uint64_t rnr_naks;           /**< receiver-not-ready NAKs sent */
	uint64_t seq_naks;           /**< PSN sequence error NAKs sent */
	uint64_t symbol_errors;      /**< minor errors of the link, IBTA 16.1.3.5 */
	uint64_t link_error_recovery;     /**< successful recoveries of the link */
	uint64_t link_downed;             /**< failed recoveries: the link went down */
	uint64_t rcv_remote_phys_errors;  /**< packets received that the other end had marked bad */
	uint64_t rcv_switch_relay_errors; /**< packets that a switch received and could not forward
					   */
	uint64_t xmit_constraint_errors;  /**< packets not sent for their P_Key, or since they were
					     raw */
	uint64_t rcv_constraint_errors;   /**< packets received and discarded for their P_Key, or
					     since they were raw */
	uint64_t link_integrity_errors; /**< times that local physical errors passed their threshold
					   (trap 129) */
	uint64_t buffer_overrun_errors; /**< times that buffer overruns passed their threshold (trap
					   130) */
	uint64_t vl15_dropped; /**< packets received on VL 15 and dropped for want of a buffer */
	uint64_t reserved[4];        /**< zero */
};

/** Attributes of a port (al_query_port(); IBTA 11.2.1.2 and PortInfo). */
struct ib_port_attr {
	uint64_t port_guid;          /**< port GUID; constant */
	uint64_t subnet_prefix;      /**< upper half of GID 0; 0xfe80000000000000 by default */
	ib_port_state state;         /**< logical state */
	ib_phys_state phys_state;    /**< physical state */
	ib_link_layer link_layer;    /**< InfiniBand or Ethernet */
	ib_mtu max_mtu;              /**< largest MTU that the port supports */
	ib_mtu active_mtu;           /**< MTU in use */
	ib_width active_width;       /**< number of lanes */
	ib_speed active_speed;       /**< speed of a lane */
	uint32_t cap_mask;           /**< enum ib_port_cap */
	uint32_t ci_caps;            /**< enum ci_port_cap */
	uint32_t max_msg_size;       /**< bytes of one message, at most 2^31 */
	uint32_t gid_tbl_len;        /**< entries of the GID table, 1 to 65536 */
	uint32_t pkey_tbl_len;       /**< entries of the P_Key table, 1 to 65536 */
	uint32_t bad_pkey_cntr;      /**< P_Key violations */
	uint32_t qkey_viol_cntr;     /**< Q_Key violations */
	uint16_t lid;                /**< Armed, Active: 0 to #IB_LID_UNICAST_LAST; before a LID is assigned: the
				      * adapter's value, 0 or #IB_LID_PERMISSIVE */
	uint16_t sm_lid;             /**< LID of the master subnet manager */
	uint8_t lmc;                 /**< the port answers 2^lmc LIDs from lid */
	uint8_t sm_sl;               /**< service level to the subnet manager */
	uint8_t subnet_timeout;      /**< 4.096 us * 2^n */
	uint8_t max_vl_num;          /**< data virtual lanes: 1, 2, 4, 8 or 15 */
	uint8_t init_type_reply;     /**< initialisation that the subnet manager has made, PortInfo.InitTypeReply */
	uint8_t pad[7];              /**< zero */
	struct ib_port_counters counters; /**< live values */
	uint64_t reserved[4];        /**< zero */
};

/** Changes that al_modify_port() makes: bits (IBTA 11.2.1.4). */
enum ib_port_attr_mask {
	IB_PORT_MODIFY_RESET_QKEY_CNTR = 1 << 0, /**< clears qkey_viol_cntr */
	IB_PORT_MODIFY_CAP_MASK = 1 << 1,        /**< set_caps and clear_caps */
	IB_PORT_MODIFY_RESET_PKEY_CNTR = 1 << 2, /**< clears bad_pkey_cntr */
	IB_PORT_MODIFY_SHUTDOWN = 1 << 3,        /**< takes the port down */
	IB_PORT_MODIFY_INIT_TYPE = 1 << 4,       /**< init_type */
	IB_PORT_MODIFY_BRING_UP = 1 << 5,        /**< brings the port up again, after a shutdown */
};

/** Values for al_modify_port(). */
struct ib_port_modify {
	uint32_t set_caps;    /**< enum ib_port_cap, set first */
	uint32_t clear_caps;  /**< enum ib_port_cap, cleared then */
	uint8_t init_type;    /**< PortInfo.InitType */
	uint8_t pad[7];       /**< zero */
	uint64_t reserved[4]; /**< zero */
};

/** @} */

/** @addtogroup ibal_events
 * @{ */

/**
 * Asynchronous events, IBTA 11.6.3: X(name, value, text, object). object is the kind of object to which an affiliated
 * event belongs, or #AL_OBJ_NONE for an unaffiliated event, of a port or the HCA.
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
	ib_event_type type;     /**< type of the event */
	al_object_type object;  /**< kind of the object to which the event belongs; #AL_OBJ_NONE: the port or the HCA */
	void *object_context;   /**< context given at the object's creation */
	uint64_t ca_guid;       /**< node GUID of the HCA */
	uint8_t port_num;       /**< port, from 1; 0: the HCA, or port 0 of a switch */
	uint8_t pad[7];         /**< zero */
};

/** @} */

/** @addtogroup ibal_library
 * @{ */

/** Importance of a log message. */
typedef enum ib_log_level {
	IB_LOG_ERROR = 1,   /**< an operation failed */
	IB_LOG_WARNING = 2, /**< an operation succeeded under conditions that need attention */
	IB_LOG_INFO = 3,    /**< information for the administrator */
	IB_LOG_DEBUG = 4    /**< information for debugging */
} ib_log_level;

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* IBA_IB_TYPES_H */
