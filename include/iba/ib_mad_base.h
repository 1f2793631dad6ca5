/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/**
 * @file ib_mad_base.h
 * @brief Management datagrams: the formats common to all classes (IBTA chapter 13). Include ib_mad.h.
 *
 * **Bytes.** Integers of more than one byte have the types #ib_be16, #ib_be32 and #ib_be64, big-endian and without
 * alignment: no layout below has padding, a pointer to a layout may point to a received buffer at any address, and the
 * compiler refuses a value that was not converted. Single bytes have the type uint8_t.
 *
 * **Bit fields.** A field that shares bytes with another field has accessors, made from a list for each layout:
 * X(layout, field, offset, width, text), the offset counted as IBTA's tables count it, in bits from the start of the
 * layout, most significant first. `X(ib_port_info, lmc, 277, 3, ...)` gives `ib_port_info_lmc(pi)` and
 * `ib_port_info_set_lmc(pi, value)`, which keeps the low bits of a value that is too large.
 */
#ifndef IBA_IB_MAD_BASE_H
#define IBA_IB_MAD_BASE_H

#include <iba/ib_types.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __cplusplus
#define IBA_STATIC_ASSERT static_assert /**< the C++ keyword */
#else
#define IBA_STATIC_ASSERT _Static_assert /**< the C keyword */
#endif

/** Asserts the size of a layout or the offset of a member, at compile time. */
#define IBA_CHECK(condition) IBA_STATIC_ASSERT(condition, #condition)

/* ------------------------------------------------------------ bytes and bits */

/** 16 bits, big-endian. */
typedef struct ib_be16 {
	uint8_t b[2]; /**< most significant first */
} ib_be16;

/** 32 bits, big-endian. */
typedef struct ib_be32 {
	uint8_t b[4]; /**< most significant first */
} ib_be32;

/** 64 bits, big-endian. */
typedef struct ib_be64 {
	uint8_t b[8]; /**< most significant first */
} ib_be64;

/** 24 bits, big-endian: queue pair and context numbers, OUIs. */
typedef struct ib_be24 {
	uint8_t b[3]; /**< most significant first */
} ib_be24;

/** Value of a big-endian field. @param v field @return in host order */
static inline uint16_t ib_be16_get(ib_be16 v)
{
	return (uint16_t)(v.b[0] << 8 | v.b[1]);
}

/** Value of a big-endian field. @param v field @return in host order */
static inline uint32_t ib_be24_get(ib_be24 v)
{
	return (uint32_t)v.b[0] << 16 | (uint32_t)v.b[1] << 8 | v.b[2];
}

/** Value of a big-endian field. @param v field @return in host order */
static inline uint32_t ib_be32_get(ib_be32 v)
{
	return (uint32_t)v.b[0] << 24 | (uint32_t)v.b[1] << 16 | (uint32_t)v.b[2] << 8 | v.b[3];
}

/** Value of a big-endian field. @param v field @return in host order */
static inline uint64_t ib_be64_get(ib_be64 v)
{
	uint64_t value = 0;
	int i;

	for (i = 0; i < 8; i++)
		value = value << 8 | v.b[i];
	return value;
}

/** A big-endian field. @param value in host order @return field */
static inline ib_be16 ib_be16_of(uint16_t value)
{
	ib_be16 v;

	v.b[0] = (uint8_t)(value >> 8);
	v.b[1] = (uint8_t)value;
	return v;
}

/** A big-endian field. @param value in host order, 24 bits @return field */
static inline ib_be24 ib_be24_of(uint32_t value)
{
	ib_be24 v;

	v.b[0] = (uint8_t)(value >> 16);
	v.b[1] = (uint8_t)(value >> 8);
	v.b[2] = (uint8_t)value;
	return v;
}

/** A big-endian field. @param value in host order @return field */
static inline ib_be32 ib_be32_of(uint32_t value)
{
	ib_be32 v;
	int i;

	for (i = 0; i < 4; i++)
		v.b[i] = (uint8_t)(value >> (24 - 8 * i));
	return v;
}

/** A big-endian field. @param value in host order @return field */
static inline ib_be64 ib_be64_of(uint64_t value)
{
	ib_be64 v;
	int i;

	for (i = 0; i < 8; i++)
		v.b[i] = (uint8_t)(value >> (56 - 8 * i));
	return v;
}

/**
 * Reads a bit field. @param layout start of the layout @param offset in bits @param width 1 to 32 bits @return value
 */
static inline uint32_t ib_bits_get(const void *layout, unsigned int offset, unsigned int width)
{
	const uint8_t *byte = (const uint8_t *)layout;
	unsigned int end = offset + width;
	uint64_t value = 0;
	unsigned int i;

	for (i = offset / 8; i < (end + 7) / 8; i++)
		value = value << 8 | byte[i];
	value >>= (8 - end % 8) % 8;
	return (uint32_t)(value & ((UINT64_C(1) << width) - 1));
}

/** Writes a bit field and no other bit. @param layout start of the layout @param offset in bits @param width 1 to 32
 * bits
 * @param value its low bits count */
static inline void ib_bits_set(void *layout, unsigned int offset, unsigned int width, uint32_t value)
{
	uint8_t *byte = (uint8_t *)layout;
	unsigned int end = offset + width;
	unsigned int shift = (8 - end % 8) % 8;
	uint64_t mask = ((UINT64_C(1) << width) - 1) << shift;
	uint64_t bits = (uint64_t)value << shift & mask;
	unsigned int i;

	for (i = (end + 7) / 8; i-- > offset / 8; mask >>= 8, bits >>= 8)
		byte[i] = (uint8_t)((byte[i] & ~mask) | bits);
}

/** Makes the two accessors of a row of a list of bit fields. */
#define IBA_BITS_ACCESSORS(layout, field, offset, width, text) \
	IBA_CHECK((offset) + (width) <= 8 * sizeof(struct layout)); \
	static inline uint32_t layout##_##field(const struct layout *p) \
	{ \
		return ib_bits_get(p, offset, width); \
	} \
	static inline void layout##_set_##field(struct layout *p, uint32_t value) \
	{ \
		ib_bits_set(p, offset, width, value); \
	}

/* ------------------------------------------------- every datagram (IBTA 13.4) */

#define IB_MAD_BYTES 256        /**< a datagram; with RMPP, each segment */
#define IB_MAD_BASE_VERSION 1   /**< ib_mad_hdr.base_version */
#define IB_SMP_CLASS_VERSION 1  /**< class version of subnet management */
#define IB_SA_CLASS_VERSION 2   /**< class version of subnet administration */
#define IB_PERF_CLASS_VERSION 1 /**< class version of performance management */
#define IB_CM_CLASS_VERSION 2   /**< class version of connection management */

/** Management classes, IBTA 13.4.4: X(name, value, text). */
#define IB_MAD_CLASS_LIST(X) \
	X(IB_CLASS_SUBN_LID, 0x01, "subnet management, LID-routed") \
	X(IB_CLASS_SUBN_DIR, 0x81, "subnet management, directed route") \
	X(IB_CLASS_SUBN_ADM, 0x03, "subnet administration") \
	X(IB_CLASS_PERF, 0x04, "performance management") \
	X(IB_CLASS_BM, 0x05, "baseboard management") \
	X(IB_CLASS_DEV_MGMT, 0x06, "device management") \
	X(IB_CLASS_CM, 0x07, "communication management") \
	X(IB_CLASS_SNMP, 0x08, "SNMP tunneling") \
	X(IB_CLASS_VENDOR_1_FIRST, 0x09, "vendor, first of range 1") \
	X(IB_CLASS_VENDOR_1_LAST, 0x0f, "vendor, last of range 1") \
	X(IB_CLASS_DEV_ADM, 0x10, "device administration") \
	X(IB_CLASS_BOOT_MGMT, 0x11, "boot management") \
	X(IB_CLASS_BIS, 0x12, "boot information service") \
	X(IB_CLASS_CC, 0x21, "congestion control") \
	X(IB_CLASS_VENDOR_2_FIRST, 0x30, "vendor with OUI, first of range 2") \
	X(IB_CLASS_VENDOR_2_LAST, 0x4f, "vendor with OUI, last of range 2")
/** Management classes. */
typedef enum ib_mad_class { IB_MAD_CLASS_LIST(IBA_ENUM_VALUE) } ib_mad_class;

/** Methods, IBTA 13.4.5, 15.2.2: X(name, value, text). A response has #IB_METHOD_RESP set. */
#define IB_MAD_METHOD_LIST(X) \
	X(IB_METHOD_GET, 0x01, "Get") \
	X(IB_METHOD_SET, 0x02, "Set") \
	X(IB_METHOD_SEND, 0x03, "Send") \
	X(IB_METHOD_TRAP, 0x05, "Trap") \
	X(IB_METHOD_REPORT, 0x06, "Report") \
	X(IB_METHOD_TRAP_REPRESS, 0x07, "TrapRepress") \
	X(IB_METHOD_GET_TABLE, 0x12, "GetTable") \
	X(IB_METHOD_GET_TRACE_TABLE, 0x13, "GetTraceTable") \
	X(IB_METHOD_GET_MULTI, 0x14, "GetMulti") \
	X(IB_METHOD_DELETE, 0x15, "Delete") \
	X(IB_METHOD_GET_RESP, 0x81, "GetResp") \
	X(IB_METHOD_REPORT_RESP, 0x86, "ReportResp") \
	X(IB_METHOD_GET_TABLE_RESP, 0x92, "GetTableResp") \
	X(IB_METHOD_GET_MULTI_RESP, 0x94, "GetMultiResp") \
	X(IB_METHOD_DELETE_RESP, 0x95, "DeleteResp")
/** Methods. TrapRepress answers a trap, but is no response by its bit. */
typedef enum ib_mad_method { IB_MAD_METHOD_LIST(IBA_ENUM_VALUE) } ib_mad_method;

#define IB_METHOD_RESP 0x80 /**< bit of responses; the rest is the request's method */

/** Status of a response, IBTA 13.4.7. Bits 2 to 4 hold one code; the upper byte is the class's. */
enum ib_mad_status {
	IB_MAD_STATUS_OK = 0x0000, /**< done */
	IB_MAD_STATUS_BUSY = 0x0001,          /**< ask again later */
	IB_MAD_STATUS_REDIRECT = 0x0002,      /**< ask the redirect target in ClassPortInfo */
	IB_MAD_STATUS_BAD_VERSION = 0x0004,   /**< code 1: base or class version, or class */
	IB_MAD_STATUS_BAD_METHOD = 0x0008,    /**< code 2: method */
	IB_MAD_STATUS_BAD_METHOD_ATTR = 0x000c, /**< code 3: attribute, with this method */
	IB_MAD_STATUS_BAD_FIELD = 0x001c,     /**< code 7: a value in the attribute or its modifier */
	IB_MAD_STATUS_CODE_MASK = 0x001c,     /**< bits of the code */
	IB_MAD_STATUS_CLASS_MASK = 0xff00,    /**< bits of the class */
	IB_SMP_DIRECTION = 0x8000,            /**< directed route: on its way back, in place of a status bit */
};

/** Attributes of every class, IBTA 13.4.8. */
enum ib_mad_attr {
	IB_ATTR_CLASS_PORT_INFO = 0x0001, /**< struct ib_class_port_info */
	IB_ATTR_NOTICE = 0x0002,          /**< struct ib_notice */
	IB_ATTR_INFORM_INFO = 0x0003,     /**< struct ib_inform_info */
};

/** What every datagram begins with, IBTA 13.4.3. */
struct ib_mad_hdr {
	uint8_t base_version;  /**< #IB_MAD_BASE_VERSION */
	uint8_t mgmt_class;    /**< enum ib_mad_class */
	uint8_t class_version; /**< of the class */
	uint8_t method;        /**< enum ib_mad_method */
	ib_be16 status;        /**< enum ib_mad_status; 0 in requests */
	ib_be16 class_spec;    /**< directed route: hop pointer and count; else 0 */
	ib_be64 tid;           /**< transaction identifier, which a response copies from its request */
	ib_be16 attr_id;       /**< attribute */
	ib_be16 reserved;      /**< zero */
	ib_be32 attr_mod;      /**< attribute modifier */
};
IBA_CHECK(sizeof(struct ib_mad_hdr) == 24);

/** A datagram of any class. */
struct ib_mad {
	struct ib_mad_hdr hdr; /**< header */
	uint8_t data[232];     /**< the class's */
};
IBA_CHECK(sizeof(struct ib_mad) == IB_MAD_BYTES);

/** ClassPortInfo: the port's agent of a class, IBTA 13.4.8.1. */
struct ib_class_port_info {
	uint8_t base_version;  /**< #IB_MAD_BASE_VERSION */
	uint8_t class_version; /**< of the class */
	ib_be16 cap_mask;      /**< 0x0100 and up: the class's; 1: traps, 2: Get(Notice) and Set(Notice) */
	ib_be32 cap_mask2_resp_time; /**< bits: cap_mask2, resp_time */
	ib_gid redirect_gid;   /**< whom to ask instead, when the status says so */
	ib_be32 redirect_tc_sl_fl; /**< bits: redirect_tc, redirect_sl, redirect_fl */
	ib_be16 redirect_lid;  /**< its LID; 0: not redirected */
	ib_be16 redirect_pkey; /**< its P_Key */
	ib_be32 redirect_qp;   /**< 8 bits reserved, 24 bits its queue pair */
	ib_be32 redirect_qkey; /**< its Q_Key */
	ib_gid trap_gid;       /**< where traps go */
	ib_be32 trap_tc_sl_fl; /**< bits: trap_tc, trap_sl, trap_fl */
	ib_be16 trap_lid;      /**< LID; 0: nowhere */
	ib_be16 trap_pkey;     /**< P_Key */
	ib_be32 trap_hl_qp;    /**< bits: trap_hl, trap_qp */
	ib_be32 trap_qkey;     /**< Q_Key */
};
IBA_CHECK(sizeof(struct ib_class_port_info) == 72);

/** ClassPortInfo's bit fields. */
#define IB_CLASS_PORT_INFO_BITS(X) \
	X(ib_class_port_info, cap_mask2, 32, 27, "further abilities of the class") \
	X(ib_class_port_info, resp_time, 59, 5, "answers within 4.096 us * 2^n") \
	X(ib_class_port_info, redirect_tc, 192, 8, "traffic class") \
	X(ib_class_port_info, redirect_sl, 200, 4, "service level") \
	X(ib_class_port_info, redirect_fl, 204, 20, "flow label") \
	X(ib_class_port_info, redirect_qpn, 264, 24, "queue pair") \
	X(ib_class_port_info, trap_tc, 448, 8, "traffic class") \
	X(ib_class_port_info, trap_sl, 456, 4, "service level") \
	X(ib_class_port_info, trap_fl, 460, 20, "flow label") \
	X(ib_class_port_info, trap_hl, 512, 8, "hop limit") \
	X(ib_class_port_info, trap_qpn, 520, 24, "queue pair")
IB_CLASS_PORT_INFO_BITS(IBA_BITS_ACCESSORS)

/* ------------------------------------------------ notices, traps (IBTA 13.4.8) */

/** Urgency of a notice, ib_notice_type(). */
enum ib_notice_type {
	IB_NOTICE_FATAL = 0, /**< fatal */
	IB_NOTICE_URGENT = 1, /**< urgent */
	IB_NOTICE_SECURITY = 2, /**< security */
	IB_NOTICE_SUBN_MGMT = 3, /**< subnet management */
	IB_NOTICE_INFO = 4, /**< informational */
	IB_NOTICE_EMPTY = 0x7f, /**< Get(Notice) found none */
};

/** Trap numbers of subnet management, IBTA 14.2.5.1: X(name, value, text). */
#define IB_TRAP_LIST(X) \
	X(IB_TRAP_GID_IN_SERVICE, 64, "GID in service") \
	X(IB_TRAP_GID_OUT_OF_SERVICE, 65, "GID out of service") \
	X(IB_TRAP_MGID_CREATED, 66, "multicast group created") \
	X(IB_TRAP_MGID_DELETED, 67, "multicast group deleted") \
	X(IB_TRAP_UNPATH, 68, "paths no longer valid") \
	X(IB_TRAP_REPATH, 69, "paths recalculated") \
	X(IB_TRAP_LINK_STATE, 128, "a switch port's link state changed") \
	X(IB_TRAP_LINK_INTEGRITY, 129, "local link integrity threshold reached") \
	X(IB_TRAP_BUFFER_OVERRUN, 130, "excessive buffer overrun threshold reached") \
	X(IB_TRAP_WATCHDOG, 131, "flow control update watchdog expired") \
	X(IB_TRAP_LOCAL_CHANGE, 144, "capability mask, node description, speed or width changed") \
	X(IB_TRAP_SYS_IMAGE_GUID, 145, "system image GUID changed") \
	X(IB_TRAP_BAD_MKEY, 256, "bad M_Key") \
	X(IB_TRAP_BAD_PKEY, 257, "bad P_Key") \
	X(IB_TRAP_BAD_QKEY, 258, "bad Q_Key") \
	X(IB_TRAP_SWITCH_BAD_PKEY, 259, "bad P_Key at a switch port")
/** Trap numbers of subnet management. */
typedef enum ib_trap { IB_TRAP_LIST(IBA_ENUM_VALUE) } ib_trap;

/** Details of traps 64 to 67. */
struct ib_trap_gid {
	uint8_t reserved[6]; /**< zero */
	ib_gid gid;          /**< port's or group's */
};

/** Details of trap 128. */
struct ib_trap_link_state {
	ib_be16 lid; /**< switch */
};

/** Details of traps 129 to 131. */
struct ib_trap_port {
	uint8_t reserved[2]; /**< zero */
	ib_be16 lid;         /**< port's or switch's */
	uint8_t port_num;    /**< port */
};

/** Bits of ib_trap_local_change.changes. */
enum ib_local_change {
	IB_CHANGE_NODE_DESC = 1 << 0,    /**< node description */
	IB_CHANGE_LINK_WIDTH = 1 << 1,   /**< link width enabled */
	IB_CHANGE_LINK_SPEED = 1 << 2,   /**< link speed enabled */
	IB_CHANGE_SM_PRIORITY = 1 << 3,  /**< subnet manager's priority */
	IB_CHANGE_HIERARCHY = 1 << 4,    /**< hierarchy information */
	IB_CHANGE_CAP_MASK2 = 1 << 5,    /**< capability mask 2 */
};

/** Details of trap 144. */
struct ib_trap_local_change {
	uint8_t reserved1[2];  /**< zero */
	ib_be16 lid;           /**< port */
	uint8_t reserved2;     /**< zero */
	uint8_t other_changes; /**< 1: changes counts; 0: only the capability mask changed */
	ib_be32 cap_mask;      /**< enum ib_port_cap, now */
	ib_be16 changes;       /**< enum ib_local_change */
	ib_be16 cap_mask2;     /**< enum ib_port_cap2, now */
};
IBA_CHECK(sizeof(struct ib_trap_local_change) == 14);

/** Details of trap 145. */
struct ib_trap_sys_image {
	uint8_t reserved1[2];   /**< zero */
	ib_be16 lid;            /**< port */
	uint8_t reserved2[2];   /**< zero */
	ib_be64 sys_image_guid; /**< now */
};
IBA_CHECK(sizeof(struct ib_trap_sys_image) == 14);

/** Details of trap 256. */
struct ib_trap_bad_mkey {
	uint8_t reserved1[2];  /**< zero */
	ib_be16 lid;           /**< LID of the sender */
	ib_be16 dr_slid;       /**< directed route: its source */
	uint8_t method;        /**< of the datagram */
	uint8_t reserved2;     /**< zero */
	ib_be16 attr_id;       /**< of the datagram */
	ib_be32 attr_mod;      /**< of the datagram */
	ib_be64 mkey;          /**< the bad key */
	uint8_t reserved3;     /**< zero */
	uint8_t dr_hops;       /**< 1 bit directed route, 1 bit path cut short, 6 bits hop count */
	uint8_t dr_path[30];   /**< return path */
};
IBA_CHECK(sizeof(struct ib_trap_bad_mkey) == 54);

/** Details of traps 257 and 258. */
struct ib_trap_bad_key {
	uint8_t reserved[2]; /**< zero */
	ib_be16 lid1;        /**< source */
	ib_be16 lid2;        /**< destination */
	ib_be32 key;         /**< the bad Q_Key, or P_Key in the low half */
	ib_be32 sl_qp1;      /**< 4 bits service level, 4 reserved, 24 bits source queue pair */
	ib_be32 qp2;         /**< 8 bits reserved, 24 bits destination queue pair */
	ib_gid gid1;         /**< source */
	ib_gid gid2;         /**< destination */
};
IBA_CHECK(sizeof(struct ib_trap_bad_key) == 50);

/** Details of trap 259. */
struct ib_trap_switch_bad_pkey {
	ib_be16 valid;    /**< bits: which members below are */
	ib_be16 lid1;     /**< source */
	ib_be16 lid2;     /**< destination */
	ib_be16 pkey;     /**< the bad key */
	ib_be32 sl_qp1;   /**< 4 bits service level, 4 reserved, 24 bits source queue pair */
	ib_be32 qp2;      /**< 8 bits reserved, 24 bits destination queue pair */
	ib_gid gid1;      /**< source */
	ib_gid gid2;      /**< destination */
	ib_be16 sw_lid;   /**< switch */
	uint8_t port_num; /**< its port */
};
IBA_CHECK(sizeof(struct ib_trap_switch_bad_pkey) == 51);

/** Notice, IBTA 13.4.8.2. A subnet management packet has room for all but the last member. */
struct ib_notice {
	uint8_t generic_type;     /**< bits: is_generic, type */
	ib_be24 producer;         /**< generic: enum ib_node_type, 4: class manager; else vendor's OUI */
	ib_be16 trap_num;         /**< generic: enum ib_trap; else device id */
	ib_be16 issuer_lid;       /**< LID of the port that raises the notice */
	ib_be16 toggle_count;     /**< bits: toggle, count */
	union {
		uint8_t bytes[54];                     /**< of any notice */
		struct ib_trap_gid gid;                /**< 64 to 67 */
		struct ib_trap_link_state link_state;  /**< 128 */
		struct ib_trap_port port;              /**< 129 to 131 */
		struct ib_trap_local_change local_change; /**< 144 */
		struct ib_trap_sys_image sys_image;    /**< 145 */
		struct ib_trap_bad_mkey bad_mkey;      /**< 256 */
		struct ib_trap_bad_key bad_key;        /**< 257, 258 */
		struct ib_trap_switch_bad_pkey switch_bad_pkey; /**< 259 */
	} details;                /**< depend on the trap */
	ib_gid issuer_gid;        /**< GID of the port that raises the notice */
};
IBA_CHECK(sizeof(struct ib_notice) == 80);
IBA_CHECK(offsetof(struct ib_notice, details) == 10);
IBA_CHECK(offsetof(struct ib_notice, issuer_gid) == 64);

/** Notice's bit fields. */
#define IB_NOTICE_BITS(X) \
	X(ib_notice, is_generic, 0, 1, "1: IBTA's, 0: a vendor's") \
	X(ib_notice, type, 1, 7, "enum ib_notice_type") \
	X(ib_notice, toggle, 64, 1, "changes with each notice") \
	X(ib_notice, count, 65, 15, "notices waiting")
IB_NOTICE_BITS(IBA_BITS_ACCESSORS)

/** InformInfo: a subscription to notices, IBTA 13.4.8.3. */
struct ib_inform_info {
	ib_gid gid;             /**< GID whose notices are wanted; 0: the LID range counts */
	ib_be16 lid_begin;      /**< first LID; 0xffff: all */
	ib_be16 lid_end;        /**< last LID; 0: only the first */
	uint8_t reserved1[2];   /**< zero */
	uint8_t is_generic;     /**< 1: IBTA's, 0: a vendor's */
	uint8_t subscribe;      /**< 1: subscribe, 0: end */
	ib_be16 type;           /**< enum ib_notice_type; 0xffff: all */
	ib_be16 trap_num;       /**< generic: trap; else device id; 0xffff: all */
	ib_be32 qpn_resp_time;  /**< bits: qpn, resp_time */
	uint8_t reserved2;      /**< zero */
	ib_be24 producer;       /**< as ib_notice.producer; 0xffffff: all */
};
IBA_CHECK(sizeof(struct ib_inform_info) == 36);

/** InformInfo's bit fields. */
#define IB_INFORM_INFO_BITS(X) \
	X(ib_inform_info, qpn, 224, 24, "subscriber's queue pair, when it ends the subscription") \
	X(ib_inform_info, resp_time, 251, 5, "subscriber answers a report within 4.096 us * 2^n")
IB_INFORM_INFO_BITS(IBA_BITS_ACCESSORS)

/* ------------------------------------------------------------ RMPP (IBTA 13.6) */

#define IB_RMPP_VERSION 1      /**< ib_rmpp_hdr.version */
#define IB_RMPP_DATA_BYTES 220 /**< of a segment, from the end of ib_rmpp_hdr */

/** Kinds of RMPP packets. */
enum ib_rmpp_type {
	IB_RMPP_NONE = 0, /**< not an RMPP packet */
	IB_RMPP_DATA = 1, /**< a segment */
	IB_RMPP_ACK = 2, /**< segments have arrived, more may come */
	IB_RMPP_STOP = 3, /**< receiver or sender has no resources */
	IB_RMPP_ABORT = 4, /**< the peer broke a rule, or the transfer takes too long */
};

/** Flags, ib_rmpp_hdr_flags(). */
enum ib_rmpp_flags {
	IB_RMPP_ACTIVE = 1 << 0, /**< this is an RMPP packet */
	IB_RMPP_FIRST = 1 << 1,  /**< first segment */
	IB_RMPP_LAST = 1 << 2,   /**< last segment */
};

/** Why a transfer was stopped or aborted, IBTA 13.6.2. 128 to 191 are the class's, 192 to 255 the vendor's. */
enum ib_rmpp_status {
	IB_RMPP_STATUS_NORMAL = 0, /**< no error */
	IB_RMPP_STATUS_RESX = 1,       /**< stop: resources exhausted */
	IB_RMPP_STATUS_T2L = 118,      /**< abort: took too long */
	IB_RMPP_STATUS_BAD_LEN = 119,  /**< last flag and payload length disagree */
	IB_RMPP_STATUS_BAD_SEG = 120,  /**< first flag and segment number disagree */
	IB_RMPP_STATUS_BADT = 121,     /**< unknown type */
	IB_RMPP_STATUS_W2S = 122,      /**< new window ends before the last segment acknowledged */
	IB_RMPP_STATUS_S2B = 123,      /**< segment number beyond the window */
	IB_RMPP_STATUS_ILLEGAL = 124,  /**< unknown status */
	IB_RMPP_STATUS_UNV = 125,      /**< unknown version */
	IB_RMPP_STATUS_TMR = 126,      /**< too many retries */
	IB_RMPP_STATUS_UNSPEC = 127,   /**< no reason given */
};

/** RMPP header, after struct ib_mad_hdr in classes that use RMPP. */
struct ib_rmpp_hdr {
	uint8_t version;        /**< #IB_RMPP_VERSION */
	uint8_t type;           /**< enum ib_rmpp_type */
	uint8_t resp_time_flags; /**< bits: resp_time, flags */
	uint8_t status;         /**< enum ib_rmpp_status */
	ib_be32 seg_num;        /**< DATA: segment, from 1; ACK: last in order */
	ib_be32 paylen_newwin;  /**< DATA, first and last: bytes of payload; ACK: last segment that may come */
};
IBA_CHECK(sizeof(struct ib_rmpp_hdr) == 12);

/** The RMPP header's bit fields. */
#define IB_RMPP_HDR_BITS(X) \
	X(ib_rmpp_hdr, resp_time, 16, 5, "answers within 4.096 us * 2^n; 31: not said") \
	X(ib_rmpp_hdr, flags, 21, 3, "enum ib_rmpp_flags")
IB_RMPP_HDR_BITS(IBA_BITS_ACCESSORS)

/** A segment of an RMPP transfer. */
struct ib_rmpp_mad {
	struct ib_mad_hdr hdr;            /**< header */
	struct ib_rmpp_hdr rmpp;          /**< RMPP header */
	uint8_t data[IB_RMPP_DATA_BYTES]; /**< payload */
};
IBA_CHECK(sizeof(struct ib_rmpp_mad) == IB_MAD_BYTES);

/** A datagram of a vendor class of range 2. */
struct ib_vendor_mad {
	struct ib_mad_hdr hdr;   /**< header */
	struct ib_rmpp_hdr rmpp; /**< RMPP header */
	uint8_t reserved;        /**< zero */
	ib_be24 oui;             /**< vendor */
	uint8_t data[216];       /**< vendor's */
};
IBA_CHECK(sizeof(struct ib_vendor_mad) == IB_MAD_BYTES);

#ifdef __cplusplus
}
#endif

#endif /* IBA_IB_MAD_BASE_H */
