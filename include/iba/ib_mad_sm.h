/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/**
 * @file ib_mad_sm.h
 * @brief Subnet management packets and attributes (IBTA 14.2). Include ib_mad.h.
 */
#ifndef IBA_IB_MAD_SM_H
#define IBA_IB_MAD_SM_H

#include <iba/ib_mad_base.h>

#ifdef __cplusplus
extern "C" {
#endif

#define IB_SMP_DATA_BYTES 64 /**< attribute of a subnet management packet */
#define IB_SMP_HOPS_MAX 63   /**< hops of a directed route; entry 0 of a path is not used */

/** Attributes of subnet management, IBTA 14.2.5: X(name, value, text). */
#define IB_SMP_ATTR_LIST(X) \
	X(IB_SMP_NOTICE, 0x0002, "Notice") \
	X(IB_SMP_NODE_DESC, 0x0010, "NodeDescription") \
	X(IB_SMP_NODE_INFO, 0x0011, "NodeInfo") \
	X(IB_SMP_SWITCH_INFO, 0x0012, "SwitchInfo") \
	X(IB_SMP_GUID_INFO, 0x0014, "GUIDInfo") \
	X(IB_SMP_PORT_INFO, 0x0015, "PortInfo") \
	X(IB_SMP_PKEY_TABLE, 0x0016, "P_KeyTable") \
	X(IB_SMP_SL_TO_VL, 0x0017, "SLtoVLMappingTable") \
	X(IB_SMP_VL_ARB, 0x0018, "VLArbitrationTable") \
	X(IB_SMP_LFT, 0x0019, "LinearForwardingTable") \
	X(IB_SMP_RFT, 0x001a, "RandomForwardingTable") \
	X(IB_SMP_MFT, 0x001b, "MulticastForwardingTable") \
	X(IB_SMP_SM_INFO, 0x0020, "SMInfo") \
	X(IB_SMP_VENDOR_DIAG, 0x0030, "VendorDiag") \
	X(IB_SMP_LED_INFO, 0x0031, "LedInfo") \
	X(IB_SMP_PORT_INFO_EXT, 0x0033, "PortInfoExtended")
/** Attributes of subnet management. */
typedef enum ib_smp_attr { IB_SMP_ATTR_LIST(IBA_ENUM_VALUE) } ib_smp_attr;

/** Subnet management packet, both kinds, IBTA 14.2.1. LID-routed ones leave hops, LIDs and paths zero. */
struct ib_smp {
	uint8_t base_version;  /**< #IB_MAD_BASE_VERSION */
	uint8_t mgmt_class;    /**< #IB_CLASS_SUBN_LID or #IB_CLASS_SUBN_DIR */
	uint8_t class_version; /**< #IB_SMP_CLASS_VERSION */
	uint8_t method;        /**< enum ib_mad_method */
	ib_be16 status;        /**< enum ib_mad_status, with #IB_SMP_DIRECTION */
	uint8_t hop_ptr;       /**< current position on the path */
	uint8_t hop_count;     /**< length of the path, 0 to #IB_SMP_HOPS_MAX */
	ib_be64 tid;           /**< transaction */
	ib_be16 attr_id;       /**< enum ib_smp_attr */
	ib_be16 reserved1;     /**< zero */
	ib_be32 attr_mod;      /**< attribute modifier: port, block */
	ib_be64 mkey;          /**< management key */
	ib_be16 dr_slid;       /**< source of the directed part; #IB_LID_PERMISSIVE: directed from there on */
	ib_be16 dr_dlid;       /**< destination of the directed part */
	uint8_t reserved2[28]; /**< zero */
	uint8_t data[IB_SMP_DATA_BYTES]; /**< attribute */
	uint8_t initial_path[64]; /**< ports to leave by, from [1] */
	uint8_t return_path[64];  /**< ports that the packet came in by, from [1] */
};
IBA_CHECK(sizeof(struct ib_smp) == IB_MAD_BYTES);
IBA_CHECK(offsetof(struct ib_smp, mkey) == 24);
IBA_CHECK(offsetof(struct ib_smp, data) == 64);
IBA_CHECK(offsetof(struct ib_smp, return_path) == 192);

/** NodeDescription, IBTA 14.2.5.2. */
struct ib_node_desc {
	uint8_t text[64]; /**< UTF-8, filled up with zero bytes; a text of 64 bytes has none */
};
IBA_CHECK(sizeof(struct ib_node_desc) == IB_SMP_DATA_BYTES);

/** NodeInfo, IBTA 14.2.5.3. */
struct ib_node_info {
	uint8_t base_version;   /**< #IB_MAD_BASE_VERSION */
	uint8_t class_version;  /**< #IB_SMP_CLASS_VERSION */
	uint8_t node_type;      /**< enum ib_node_type */
	uint8_t num_ports;      /**< physical ports */
	ib_be64 sys_image_guid; /**< of the system */
	ib_be64 node_guid;      /**< of the node */
	ib_be64 port_guid;      /**< GUID of the port that the packet came in by; switch: of port 0 */
	ib_be16 partition_cap;  /**< entries of the P_Key table, per port */
	ib_be16 device_id;      /**< vendor's */
	ib_be32 revision;       /**< vendor's */
	uint8_t local_port_num; /**< port that the packet came in by */
	ib_be24 vendor_id;      /**< OUI */
};
IBA_CHECK(sizeof(struct ib_node_info) == 40);

/** SwitchInfo, IBTA 14.2.5.4. */
struct ib_switch_info {
	ib_be16 linear_fdb_cap;  /**< unicast LIDs that the switch can forward, from 0 */
	ib_be16 random_fdb_cap;  /**< entries of a random table; 0: none */
	ib_be16 mcast_fdb_cap;   /**< multicast LIDs that the switch can forward */
	ib_be16 linear_fdb_top;  /**< last unicast LID in use */
	uint8_t default_port;    /**< for LIDs without an entry (random tables) */
	uint8_t default_mcast_primary;     /**< for multicast LIDs beyond the table */
	uint8_t default_mcast_not_primary; /**< port for unrouted multicast packets that came in by the primary default
					    * port */
	uint8_t life_state;      /**< bits: life_time, state_change, opt_sl_to_vl */
	ib_be16 lids_per_port;   /**< random tables */
	ib_be16 enforcement_cap; /**< P_Keys that the switch can enforce per port */
	uint8_t flags;           /**< bits: the rest */
	uint8_t reserved;        /**< zero */
	ib_be16 mcast_fdb_top;   /**< last multicast LID in use */
};
IBA_CHECK(sizeof(struct ib_switch_info) == 20);

/** SwitchInfo's bit fields. */
#define IB_SWITCH_INFO_BITS(X) \
	X(ib_switch_info, life_time, 88, 5, "a packet is dropped after 4.096 us * 2^n; 20 and up: never") \
	X(ib_switch_info, state_change, 93, 1, "a port changed state; Set with 1 clears it") \
	X(ib_switch_info, opt_sl_to_vl, 94, 2, "optimised SL to VL programming") \
	X(ib_switch_info, inbound_enforcement, 128, 1, "checks P_Keys of what comes in") \
	X(ib_switch_info, outbound_enforcement, 129, 1, "checks P_Keys of what goes out") \
	X(ib_switch_info, filter_raw_inbound, 130, 1, "can drop raw packets that come in") \
	X(ib_switch_info, filter_raw_outbound, 131, 1, "can drop raw packets that go out") \
	X(ib_switch_info, enhanced_port0, 132, 1, "port 0 is an enhanced one")
IB_SWITCH_INFO_BITS(IBA_BITS_ACCESSORS)

/** GUIDInfo: a block of 8 of the port's GUIDs, IBTA 14.2.5.5. attr_mod: block. */
struct ib_guid_info {
	ib_be64 guid[8]; /**< block 0, [0]: the port GUID, read only */
};
IBA_CHECK(sizeof(struct ib_guid_info) == IB_SMP_DATA_BYTES);

/** PortInfo.CapabilityMask2. */
enum ib_port_cap2 {
	IB_PORT_CAP2_SET_NODE_DESC = 1 << 0,  /**< Set(NodeDescription) */
	IB_PORT_CAP2_PORT_INFO_EXT = 1 << 1,  /**< PortInfoExtended */
	IB_PORT_CAP2_VIRTUALIZATION = 1 << 2, /**< virtual ports */
	IB_PORT_CAP2_SWITCH_PORT_STATE_TABLE = 1 << 3, /**< SwitchPortStateTable */
	IB_PORT_CAP2_LINK_WIDTH_2X = 1 << 4,  /**< width 2X */
	IB_PORT_CAP2_LINK_SPEED_HDR = 1 << 5, /**< speed HDR */
	IB_PORT_CAP2_LINK_SPEED_NDR = 1 << 10, /**< speed NDR */
};

/** Bit of PortInfo's attr_mod: the subnet manager knows extended speeds. */
#define IB_PORT_INFO_MOD_EXT_SPEEDS (1u << 31)

/** PortInfo, IBTA 14.2.5.6. attr_mod: port (0: the port that the packet came in by), and
 * #IB_PORT_INFO_MOD_EXT_SPEEDS. */
struct ib_port_info {
	ib_be64 mkey;                 /**< management key; reads as 0 in a request without the key */
	ib_be64 gid_prefix;           /**< subnet prefix */
	ib_be16 lid;                  /**< base LID */
	ib_be16 master_sm_lid;        /**< subnet manager */
	ib_be32 cap_mask;             /**< enum ib_port_cap */
	ib_be16 diag_code;            /**< 0: no error */
	ib_be16 mkey_lease_period;    /**< seconds; 0: for ever */
	uint8_t local_port_num;       /**< port that the packet came in by */
	uint8_t link_width_enabled;   /**< enum ib_width; 255: all supported */
	uint8_t link_width_supported; /**< enum ib_width */
	uint8_t link_width_active;    /**< enum ib_width */
	uint8_t speed_state;          /**< bits: link_speed_supported, port_state */
	uint8_t phys_down;            /**< bits: phys_state, link_down_default */
	uint8_t mkey_lmc;             /**< bits: mkey_protect, lmc */
	uint8_t speed;                /**< bits: link_speed_active, link_speed_enabled */
	uint8_t mtu_smsl;             /**< bits: neighbor_mtu, master_sm_sl */
	uint8_t vl_init;              /**< bits: vl_cap, init_type */
	uint8_t vl_high_limit;        /**< units of 4 KiB of high priority that may precede a packet of low priority */
	uint8_t vl_arb_high_cap;      /**< entries of the high-priority table */
	uint8_t vl_arb_low_cap;       /**< entries of the low-priority table */
	uint8_t init_mtu;             /**< bits: init_type_reply, mtu_cap */
	uint8_t stall_life;           /**< bits: vl_stall_count, hoq_life */
	uint8_t vls_filter;           /**< bits: operational_vls and the next four */
	ib_be16 mkey_violations;      /**< bad M_Keys */
	ib_be16 pkey_violations;      /**< bad P_Keys */
	ib_be16 qkey_violations;      /**< bad Q_Keys */
	uint8_t guid_cap;             /**< entries of the port's GUIDInfo table */
	uint8_t rereg_timeout;        /**< bits: client_reregister, mcast_pkey_trap_suppress, subnet_timeout */
	uint8_t resp_time;            /**< bits: resp_time_value */
	uint8_t thresholds;           /**< bits: local_phy_errors, overrun_errors */
	ib_be16 max_credit_hint;      /**< 64-byte units */
	ib_be32 latency;              /**< bits: link_round_trip */
	ib_be16 cap_mask2;            /**< enum ib_port_cap2 */
	uint8_t speed_ext;            /**< bits: link_speed_ext_active, link_speed_ext_supported */
	uint8_t speed_ext_enabled;    /**< bits: link_speed_ext_enabled */
};
IBA_CHECK(sizeof(struct ib_port_info) == IB_SMP_DATA_BYTES);
IBA_CHECK(offsetof(struct ib_port_info, local_port_num) == 28);
IBA_CHECK(offsetof(struct ib_port_info, mkey_violations) == 44);
IBA_CHECK(offsetof(struct ib_port_info, latency) == 56);

/** PortInfo's bit fields. */
#define IB_PORT_INFO_BITS(X) \
	X(ib_port_info, link_speed_supported, 256, 4, "1 SDR, 3 also DDR, 5 also QDR, 7 all three") \
	X(ib_port_info, port_state, 260, 4, "enum ib_port_state; Set with 0: no change") \
	X(ib_port_info, phys_state, 264, 4, "enum ib_phys_state; Set with 0: no change") \
	X(ib_port_info, link_down_default, 268, 4, "1 sleep, 2 polling") \
	X(ib_port_info, mkey_protect, 272, 2, "what is refused to who lacks the M_Key") \
	X(ib_port_info, lmc, 277, 3, "the port answers 2^lmc LIDs") \
	X(ib_port_info, link_speed_active, 280, 4, "1 SDR, 2 DDR, 4 QDR; 0: extended") \
	X(ib_port_info, link_speed_enabled, 284, 4, "as supported; 15: all supported") \
	X(ib_port_info, neighbor_mtu, 288, 4, "enum ib_mtu in use") \
	X(ib_port_info, master_sm_sl, 292, 4, "service level to the subnet manager") \
	X(ib_port_info, vl_cap, 296, 4, "data lanes: 1 one, 2 two, 3 four, 4 eight, 5 fifteen") \
	X(ib_port_info, init_type, 300, 4, "what initialisation is asked for") \
	X(ib_port_info, init_type_reply, 328, 4, "what initialisation was done") \
	X(ib_port_info, mtu_cap, 332, 4, "largest enum ib_mtu") \
	X(ib_port_info, vl_stall_count, 336, 3, "packets dropped in a row that stall a lane") \
	X(ib_port_info, hoq_life, 339, 5, "head of queue is dropped after 4.096 us * 2^n") \
	X(ib_port_info, operational_vls, 344, 4, "as vl_cap, in use") \
	X(ib_port_info, enforce_inbound, 348, 1, "check P_Keys of what comes in") \
	X(ib_port_info, enforce_outbound, 349, 1, "check P_Keys of what goes out") \
	X(ib_port_info, filter_raw_inbound, 350, 1, "drop raw packets that come in") \
	X(ib_port_info, filter_raw_outbound, 351, 1, "drop raw packets that go out") \
	X(ib_port_info, client_reregister, 408, 1, "clients must register again with the subnet manager") \
	X(ib_port_info, mcast_pkey_trap_suppress, 409, 2, "no trap for a bad P_Key of multicast") \
	X(ib_port_info, subnet_timeout, 411, 5, "longest way through the subnet: 4.096 us * 2^n") \
	X(ib_port_info, resp_time_value, 419, 5, "answers within 4.096 us * 2^n") \
	X(ib_port_info, local_phy_errors, 424, 4, "threshold of trap 129") \
	X(ib_port_info, overrun_errors, 428, 4, "threshold of trap 130") \
	X(ib_port_info, link_round_trip, 456, 24, "4 ns units") \
	X(ib_port_info, link_speed_ext_active, 496, 4, "1 FDR, 2 EDR, 4 HDR, 8 NDR; 0: not extended") \
	X(ib_port_info, link_speed_ext_supported, 500, 4, "the same bits") \
	X(ib_port_info, link_speed_ext_enabled, 507, 5, "the same bits; 30: none, 31: all supported")
IB_PORT_INFO_BITS(IBA_BITS_ACCESSORS)

/** P_KeyTable: a block of 32 keys, IBTA 14.2.5.7. attr_mod: block; switch: port in the upper half. */
struct ib_pkey_table {
	ib_be16 pkey[32]; /**< 0: empty */
};
IBA_CHECK(sizeof(struct ib_pkey_table) == IB_SMP_DATA_BYTES);

/** SLtoVLMappingTable, IBTA 14.2.5.8. attr_mod of a switch: input port in bits 15:8, output port in bits 7:0. */
struct ib_sl_to_vl {
	uint8_t vl[8]; /**< two a byte, the even SL in the upper half; 15: drop */
};
IBA_CHECK(sizeof(struct ib_sl_to_vl) == 8);

/** Lane of a service level. @param t table @param sl 0 to 15 @return VL */
static inline uint8_t ib_sl_to_vl_get(const struct ib_sl_to_vl *t, unsigned int sl)
{
	return (uint8_t)ib_bits_get(t, 4 * sl, 4);
}

/** Sets the lane of a service level. @param t table @param sl 0 to 15 @param vl 0 to 15 */
static inline void ib_sl_to_vl_set(struct ib_sl_to_vl *t, unsigned int sl, uint8_t vl)
{
	ib_bits_set(t, 4 * sl, 4, vl);
}

/** Upper half of attr_mod of VLArbitrationTable. */
enum ib_vl_arb_part {
	IB_VL_ARB_LOW_1 = 1,  /**< low priority, entries 0 to 31 */
	IB_VL_ARB_LOW_2 = 2,  /**< low priority, 32 to 63 */
	IB_VL_ARB_HIGH_1 = 3, /**< high priority, 0 to 31 */
	IB_VL_ARB_HIGH_2 = 4, /**< high priority, 32 to 63 */
};

/**
 * VLArbitrationTable: 32 entries, IBTA 14.2.5.9. attr_mod: part in the upper half, a switch's output port in the lower.
 */
struct ib_vl_arb_table {
	struct {
		uint8_t vl;     /**< low 4 bits */
		uint8_t weight; /**< 64-byte units; 0: skipped */
	} entry[32];            /**< served in turn */
};
IBA_CHECK(sizeof(struct ib_vl_arb_table) == IB_SMP_DATA_BYTES);

/** LinearForwardingTable: a block of 64 LIDs, IBTA 14.2.5.10. attr_mod: block. */
struct ib_lft_block {
	uint8_t port[64]; /**< output port; 255: drop */
};
IBA_CHECK(sizeof(struct ib_lft_block) == IB_SMP_DATA_BYTES);

/** MulticastForwardingTable: 16 ports of a block of 32 LIDs, IBTA 14.2.5.12. attr_mod: block in bits 8:0, which 16
 * ports in bits 31:28. */
struct ib_mft_block {
	ib_be16 ports[32]; /**< output ports, a bit each */
};
IBA_CHECK(sizeof(struct ib_mft_block) == IB_SMP_DATA_BYTES);

/** State of a subnet manager, ib_sm_info_state(). */
enum ib_sm_state {
	IB_SM_NOT_ACTIVE = 0, /**< disabled */
	IB_SM_DISCOVERING = 1, /**< looking at the subnet */
	IB_SM_STANDBY = 2, /**< waits behind a master */
	IB_SM_MASTER = 3, /**< configures the subnet */
};

/** attr_mod of Set(SMInfo), IBTA 14.4.1. */
enum ib_sm_control {
	IB_SM_HANDOVER = 1,    /**< be master in my place */
	IB_SM_ACKNOWLEDGE = 2, /**< I am */
	IB_SM_DISABLE = 3,     /**< go to not active */
	IB_SM_GO_STANDBY = 4,  /**< go to standby */
	IB_SM_DISCOVER = 5,    /**< go to discovering */
};

/** SMInfo, IBTA 14.2.5.13. */
struct ib_sm_info {
	ib_be64 guid;      /**< port GUID of the subnet manager */
	ib_be64 sm_key;    /**< its key */
	ib_be32 act_count; /**< activity counter, which grows while the subnet manager runs */
	uint8_t pri_state; /**< bits: priority, state */
};
IBA_CHECK(sizeof(struct ib_sm_info) == 21);

/** SMInfo's bit fields. */
#define IB_SM_INFO_BITS(X) \
	X(ib_sm_info, priority, 160, 4, "15 is highest") \
	X(ib_sm_info, state, 164, 4, "enum ib_sm_state")
IB_SM_INFO_BITS(IBA_BITS_ACCESSORS)

/** LedInfo, IBTA 14.2.5.15. */
struct ib_led_info {
	ib_be32 led; /**< bits: on */
};

/** LedInfo's bit fields. */
#define IB_LED_INFO_BITS(X) \
	X(ib_led_info, on, 0, 1, "1: on")
IB_LED_INFO_BITS(IBA_BITS_ACCESSORS)

/** PortInfoExtended; there when #IB_PORT_CAP2_PORT_INFO_EXT is set. */
struct ib_port_info_ext {
	ib_be32 cap_mask;         /**< 1: forward error correction can be chosen */
	ib_be16 fec_mode_active;  /**< 0 none, 1 Fire code, 2 RS, 3 low-latency RS */
	ib_be16 fdr_fec_supported; /**< a bit for each mode */
	ib_be16 fdr_fec_enabled;  /**< a bit for each mode */
	ib_be16 edr_fec_supported; /**< a bit for each mode */
	ib_be16 edr_fec_enabled;  /**< a bit for each mode */
	ib_be16 hdr_fec_supported; /**< a bit for each mode */
	ib_be16 hdr_fec_enabled;  /**< a bit for each mode */
	ib_be16 ndr_fec_supported; /**< a bit for each mode */
	ib_be16 ndr_fec_enabled;  /**< a bit for each mode */
	uint8_t reserved[42];     /**< zero */
};
IBA_CHECK(sizeof(struct ib_port_info_ext) == IB_SMP_DATA_BYTES);

#ifdef __cplusplus
}
#endif

#endif /* IBA_IB_MAD_SM_H */
