/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/**
 * @file ib_mad_sa.h
 * @brief Subnet administration datagrams and records (IBTA 15.2). Include ib_mad.h.
 */
#ifndef IBA_IB_MAD_SA_H
#define IBA_IB_MAD_SA_H

#include <iba/ib_mad_sm.h>

#ifdef __cplusplus
extern "C" {
#endif

#define IB_SA_DATA_BYTES 200 /**< attribute of a subnet administration datagram */

/** Attributes of subnet administration, IBTA 15.2.5: X(name, value, text). */
#define IB_SA_ATTR_LIST(X) \
	X(IB_SA_CLASS_PORT_INFO, 0x0001, "ClassPortInfo") \
	X(IB_SA_NOTICE, 0x0002, "Notice") \
	X(IB_SA_INFORM_INFO, 0x0003, "InformInfo") \
	X(IB_SA_NODE_RECORD, 0x0011, "NodeRecord") \
	X(IB_SA_PORT_INFO_RECORD, 0x0012, "PortInfoRecord") \
	X(IB_SA_SL_TO_VL_RECORD, 0x0013, "SLtoVLMappingTableRecord") \
	X(IB_SA_SWITCH_INFO_RECORD, 0x0014, "SwitchInfoRecord") \
	X(IB_SA_LFT_RECORD, 0x0015, "LinearForwardingTableRecord") \
	X(IB_SA_RFT_RECORD, 0x0016, "RandomForwardingTableRecord") \
	X(IB_SA_MFT_RECORD, 0x0017, "MulticastForwardingTableRecord") \
	X(IB_SA_SM_INFO_RECORD, 0x0018, "SMInfoRecord") \
	X(IB_SA_LINK_RECORD, 0x0020, "LinkRecord") \
	X(IB_SA_GUID_INFO_RECORD, 0x0030, "GuidInfoRecord") \
	X(IB_SA_SERVICE_RECORD, 0x0031, "ServiceRecord") \
	X(IB_SA_PKEY_TABLE_RECORD, 0x0033, "P_KeyTableRecord") \
	X(IB_SA_PATH_RECORD, 0x0035, "PathRecord") \
	X(IB_SA_VL_ARB_RECORD, 0x0036, "VLArbitrationTableRecord") \
	X(IB_SA_MCMEMBER_RECORD, 0x0038, "MCMemberRecord") \
	X(IB_SA_TRACE_RECORD, 0x0039, "TraceRecord") \
	X(IB_SA_MULTI_PATH_RECORD, 0x003a, "MultiPathRecord") \
	X(IB_SA_SERVICE_ASSOCIATION_RECORD, 0x003b, "ServiceAssociationRecord") \
	X(IB_SA_INFORM_INFO_RECORD, 0x00f3, "InformInfoRecord")
/** Attributes of subnet administration. */
typedef enum ib_sa_attr { IB_SA_ATTR_LIST(IBA_ENUM_VALUE) } ib_sa_attr;

/** Upper byte of the status of subnet administration, IBTA 15.2.3. */
enum ib_sa_status {
	IB_SA_STATUS_NO_RESOURCES = 0x0100,     /**< out of resources */
	IB_SA_STATUS_REQ_INVALID = 0x0200,      /**< request invalid */
	IB_SA_STATUS_NO_RECORDS = 0x0300,       /**< nothing matches */
	IB_SA_STATUS_TOO_MANY_RECORDS = 0x0400, /**< a Get matches more than one record */
	IB_SA_STATUS_INVALID_GID = 0x0500,      /**< no such GID */
	IB_SA_STATUS_INSUF_COMPONENTS = 0x0600, /**< a required component is missing */
	IB_SA_STATUS_DENIED = 0x0700,           /**< not permitted */
};

/** A subnet administration datagram. */
struct ib_sa_mad {
	struct ib_mad_hdr hdr;    /**< header */
	struct ib_rmpp_hdr rmpp;  /**< RMPP header */
	ib_be64 sm_key;           /**< key; 0: not trusted */
	ib_be16 attr_offset;      /**< distance of two records, in units of 8 bytes */
	ib_be16 reserved;         /**< zero */
	ib_be64 comp_mask;        /**< 1 << component, for the attribute's components that count */
	uint8_t data[IB_SA_DATA_BYTES]; /**< attribute */
};
IBA_CHECK(sizeof(struct ib_sa_mad) == IB_MAD_BYTES);
IBA_CHECK(offsetof(struct ib_sa_mad, comp_mask) == 48);

/** attr_offset for records of a layout. */
#define IB_SA_ATTR_OFFSET(layout) ((sizeof(layout) + 7) / 8)

/** How a selected field of a record (MTU, rate, lifetime) is to be compared. */
enum ib_sa_selector {
	IB_SA_GREATER = 0, /**< greater than the value */
	IB_SA_LESS = 1, /**< less than the value */
	IB_SA_EXACTLY = 2, /**< the value */
	IB_SA_BEST = 3, /**< largest MTU or rate, smallest lifetime */
};

/** NodeRecord, IBTA 15.2.5.2. */
struct ib_node_record {
	ib_be16 lid;              /**< of the port */
	ib_be16 reserved;         /**< zero */
	struct ib_node_info info; /**< of the node, seen from that port */
	struct ib_node_desc desc; /**< of the node */
};
IBA_CHECK(sizeof(struct ib_node_record) == 108);

/** PortInfoRecord, IBTA 15.2.5.3. */
struct ib_port_info_record {
	ib_be16 lid;              /**< of the node's end port */
	uint8_t port_num;         /**< port */
	uint8_t options;          /**< zero */
	struct ib_port_info info; /**< of the port */
};
IBA_CHECK(sizeof(struct ib_port_info_record) == 68);

/** PathRecord, IBTA 15.2.5.16. */
struct ib_path_record {
	ib_be64 service_id;      /**< service, or 0 */
	ib_gid dgid;             /**< destination */
	ib_gid sgid;             /**< source */
	ib_be16 dlid;            /**< destination */
	ib_be16 slid;            /**< source */
	ib_be32 raw_flow_hop;    /**< bits: raw_traffic, flow_label, hop_limit */
	uint8_t tclass;          /**< traffic class */
	uint8_t rev_num;         /**< bits: reversible, num_path */
	ib_be16 pkey;            /**< partition */
	ib_be16 qos_sl;          /**< bits: qos_class, sl */
	uint8_t mtu_selected;    /**< bits: mtu_selector, mtu */
	uint8_t rate_selected;   /**< bits: rate_selector, rate */
	uint8_t life_selected;   /**< bits: life_selector, life */
	uint8_t preference;      /**< 0 is best */
	uint8_t reserved[6];     /**< zero */
};
IBA_CHECK(sizeof(struct ib_path_record) == 64);

/** PathRecord's bit fields. */
#define IB_PATH_RECORD_BITS(X) \
	X(ib_path_record, raw_traffic, 352, 1, "for raw packets") \
	X(ib_path_record, flow_label, 356, 20, "GRH") \
	X(ib_path_record, hop_limit, 376, 8, "GRH; over 1: leaves the subnet") \
	X(ib_path_record, reversible, 392, 1, "good in both directions") \
	X(ib_path_record, num_path, 393, 7, "paths wanted at most") \
	X(ib_path_record, qos_class, 416, 12, "quality of service") \
	X(ib_path_record, sl, 428, 4, "service level") \
	X(ib_path_record, mtu_selector, 432, 2, "enum ib_sa_selector") \
	X(ib_path_record, mtu, 434, 6, "enum ib_mtu") \
	X(ib_path_record, rate_selector, 440, 2, "enum ib_sa_selector") \
	X(ib_path_record, rate, 442, 6, "enum ib_rate") \
	X(ib_path_record, life_selector, 448, 2, "enum ib_sa_selector") \
	X(ib_path_record, life, 450, 6, "4.096 us * 2^n")
IB_PATH_RECORD_BITS(IBA_BITS_ACCESSORS)

/** Components of PathRecord: their numbers in a component mask. The service id has two. */
enum ib_path_record_comp {
	IB_PATH_SERVICE_ID_HIGH = 0, /**< service_id, upper 8 bits */
	IB_PATH_SERVICE_ID_LOW = 1, /**< service_id, lower 56 bits */
	IB_PATH_DGID = 2, /**< dgid */
	IB_PATH_SGID = 3, /**< sgid */
	IB_PATH_DLID = 4, /**< dlid */
	IB_PATH_SLID = 5, /**< slid */
	IB_PATH_RAW_TRAFFIC = 6, /**< raw_traffic */
	IB_PATH_RESERVED = 7, /**< none */
	IB_PATH_FLOW_LABEL = 8, /**< flow_label */
	IB_PATH_HOP_LIMIT = 9, /**< hop_limit */
	IB_PATH_TCLASS = 10, /**< tclass */
	IB_PATH_REVERSIBLE = 11, /**< reversible */
	IB_PATH_NUM_PATH = 12, /**< num_path */
	IB_PATH_PKEY = 13, /**< pkey */
	IB_PATH_QOS_CLASS = 14, /**< qos_class */
	IB_PATH_SL = 15, /**< sl */
	IB_PATH_MTU_SELECTOR = 16, /**< mtu_selector */
	IB_PATH_MTU = 17, /**< mtu */
	IB_PATH_RATE_SELECTOR = 18, /**< rate_selector */
	IB_PATH_RATE = 19, /**< rate */
	IB_PATH_LIFE_SELECTOR = 20, /**< life_selector */
	IB_PATH_LIFE = 21, /**< life */
};

/** Membership, ib_mcmember_record_join_state(): bits. */
enum ib_join_state {
	IB_JOIN_FULL = 1 << 0,           /**< sends and receives; keeps the group alive */
	IB_JOIN_NON = 1 << 1,            /**< member that does not keep the group alive */
	IB_JOIN_SEND_ONLY = 1 << 2,      /**< sends only */
	IB_JOIN_SEND_ONLY_FULL = 1 << 3, /**< sends only; keeps the group alive */
};

/** MCMemberRecord, IBTA 15.2.5.17. */
struct ib_mcmember_record {
	ib_gid mgid;           /**< group */
	ib_gid port_gid;       /**< member */
	ib_be32 qkey;          /**< Q_Key of the group */
	ib_be16 mlid;          /**< multicast LID */
	uint8_t mtu_selected;  /**< bits: mtu_selector, mtu */
	uint8_t tclass;        /**< traffic class */
	ib_be16 pkey;          /**< partition */
	uint8_t rate_selected; /**< bits: rate_selector, rate */
	uint8_t life_selected; /**< bits: life_selector, life */
	ib_be32 sl_flow_hop;   /**< bits: sl, flow_label, hop_limit */
	uint8_t scope_join;    /**< bits: scope, join_state */
	uint8_t proxy;         /**< bits: proxy_join */
	uint8_t reserved[2];   /**< zero */
};
IBA_CHECK(sizeof(struct ib_mcmember_record) == 52);

/** MCMemberRecord's bit fields. */
#define IB_MCMEMBER_RECORD_BITS(X) \
	X(ib_mcmember_record, mtu_selector, 304, 2, "enum ib_sa_selector") \
	X(ib_mcmember_record, mtu, 306, 6, "enum ib_mtu") \
	X(ib_mcmember_record, rate_selector, 336, 2, "enum ib_sa_selector") \
	X(ib_mcmember_record, rate, 338, 6, "enum ib_rate") \
	X(ib_mcmember_record, life_selector, 344, 2, "enum ib_sa_selector") \
	X(ib_mcmember_record, life, 346, 6, "4.096 us * 2^n") \
	X(ib_mcmember_record, sl, 352, 4, "service level") \
	X(ib_mcmember_record, flow_label, 356, 20, "GRH") \
	X(ib_mcmember_record, hop_limit, 376, 8, "GRH") \
	X(ib_mcmember_record, scope, 384, 4, "of the group's address") \
	X(ib_mcmember_record, join_state, 388, 4, "enum ib_join_state") \
	X(ib_mcmember_record, proxy_join, 392, 1, "joined by another port")
IB_MCMEMBER_RECORD_BITS(IBA_BITS_ACCESSORS)

/** Components of MCMemberRecord: their numbers in a component mask. */
enum ib_mcmember_record_comp {
	IB_MCMEMBER_MGID = 0, /**< mgid */
	IB_MCMEMBER_PORT_GID = 1, /**< port_gid */
	IB_MCMEMBER_QKEY = 2, /**< qkey */
	IB_MCMEMBER_MLID = 3, /**< mlid */
	IB_MCMEMBER_MTU_SELECTOR = 4, /**< mtu_selector */
	IB_MCMEMBER_MTU = 5, /**< mtu */
	IB_MCMEMBER_TCLASS = 6, /**< tclass */
	IB_MCMEMBER_PKEY = 7, /**< pkey */
	IB_MCMEMBER_RATE_SELECTOR = 8, /**< rate_selector */
	IB_MCMEMBER_RATE = 9, /**< rate */
	IB_MCMEMBER_LIFE_SELECTOR = 10, /**< life_selector */
	IB_MCMEMBER_LIFE = 11, /**< life */
	IB_MCMEMBER_SL = 12, /**< sl */
	IB_MCMEMBER_FLOW_LABEL = 13, /**< flow_label */
	IB_MCMEMBER_HOP_LIMIT = 14, /**< hop_limit */
	IB_MCMEMBER_SCOPE = 15, /**< scope */
	IB_MCMEMBER_JOIN_STATE = 16, /**< join_state */
	IB_MCMEMBER_PROXY_JOIN = 17, /**< proxy_join */
};

/** ServiceRecord, IBTA 15.2.5.14. */
struct ib_service_record {
	ib_be64 id;         /**< service */
	ib_gid gid;         /**< GID of the port that offers the service */
	ib_be16 pkey;       /**< partition */
	ib_be16 reserved;   /**< zero */
	ib_be32 lease;      /**< seconds; 0xffffffff: for ever */
	uint8_t key[16];    /**< key that permits changing the record */
	uint8_t name[64];   /**< UTF-8, filled up with zero bytes */
	uint8_t data8[16];  /**< the service's */
	ib_be16 data16[8];  /**< the service's */
	ib_be32 data32[4];  /**< the service's */
	ib_be64 data64[2];  /**< the service's */
};
IBA_CHECK(sizeof(struct ib_service_record) == 176);

/** InformInfoRecord: a subscription that is there, IBTA 15.2.5.12. */
struct ib_inform_info_record {
	ib_gid subscriber_gid;      /**< GID of the subscriber */
	ib_be16 subscriber_enum;    /**< which of his */
	uint8_t reserved[6];        /**< zero */
	struct ib_inform_info info; /**< subscription */
};
IBA_CHECK(sizeof(struct ib_inform_info_record) == 60);

#ifdef __cplusplus
}
#endif

#endif /* IBA_IB_MAD_SA_H */
