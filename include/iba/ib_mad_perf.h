/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/**
 * @file ib_mad_perf.h
 * @brief Performance management attributes (IBTA 16.1). Include ib_mad.h.
 */
#ifndef IBA_IB_MAD_PERF_H
#define IBA_IB_MAD_PERF_H

#include <iba/ib_mad_base.h>

#ifdef __cplusplus
extern "C" {
#endif

#define IB_PERF_DATA_BYTES 192 /**< attribute of a performance management datagram */
#define IB_PORT_SELECT_ALL 255 /**< port_select: the sum of all, when ClassPortInfo permits */

/** Attributes of performance management, IBTA 16.1.3 and 16.1.4: X(name, value, text). */
#define IB_PERF_ATTR_LIST(X) \
	X(IB_PERF_CLASS_PORT_INFO, 0x0001, "ClassPortInfo") \
	X(IB_PERF_SAMPLES_CONTROL, 0x0010, "PortSamplesControl") \
	X(IB_PERF_SAMPLES_RESULT, 0x0011, "PortSamplesResult") \
	X(IB_PERF_PORT_COUNTERS, 0x0012, "PortCounters") \
	X(IB_PERF_PORT_COUNTERS_EXT, 0x001d, "PortCountersExtended")
/** Attributes of performance management. */
typedef enum ib_perf_attr { IB_PERF_ATTR_LIST(IBA_ENUM_VALUE) } ib_perf_attr;

/** ib_class_port_info.cap_mask of performance management. */
enum ib_perf_cap {
	IB_PERF_CAP_ALL_PORT_SELECT = 1 << 8, /**< port_select 255 */
	IB_PERF_CAP_EXT_WIDTH = 1 << 9,       /**< PortCountersExtended, all of its data counters */
	IB_PERF_CAP_EXT_WIDTH_NOIETF = 1 << 10, /**< extended counters without unicast and multicast */
	IB_PERF_CAP_XMIT_WAIT = 1 << 12,      /**< PortCounters.xmit_wait */
};

/** ib_class_port_info_cap_mask2() of performance management. */
enum ib_perf_cap2 {
	IB_PERF_CAP2_ADDITIONAL_EXT =
		1 << 1, /**< PortCountersExtended's counters from symbol_errors on */
};

/** A performance management datagram. */
struct ib_perf_mad {
	struct ib_mad_hdr hdr;            /**< header */
	uint8_t reserved[40];             /**< zero */
	uint8_t data[IB_PERF_DATA_BYTES]; /**< attribute */
};
IBA_CHECK(sizeof(struct ib_perf_mad) == IB_MAD_BYTES);

/** PortCounters, IBTA 16.1.3.5. Counters stop at their maximum. Set writes the counters that counter_select names. */
struct ib_perf_port_counters {
	uint8_t reserved;             /**< zero */
	uint8_t port_select;          /**< port */
	ib_be16 counter_select;       /**< a bit for each counter, in the order of the counters, from bit 0 */
	ib_be16 symbol_errors;        /**< minor link errors */
	uint8_t link_error_recovery;  /**< successful recoveries */
	uint8_t link_downed;          /**< failed recoveries */
	ib_be16 rcv_errors;           /**< packets with an error */
	ib_be16 rcv_remote_phys_errors; /**< packets that the other end marked bad */
	ib_be16 rcv_switch_relay_errors; /**< packets that could not be forwarded */
	ib_be16 xmit_discards;        /**< packets discarded, not sent */
	uint8_t xmit_constraint_errors; /**< P_Key or raw filter, out */
	uint8_t rcv_constraint_errors; /**< P_Key or raw filter, in */
	uint8_t counter_select2;      /**< bit 0: xmit_wait */
	uint8_t integrity_overrun;    /**< bits: link_integrity_errors, buffer_overrun_errors */
	ib_be16 qp1_dropped;          /**< datagrams to QP1 dropped */
	ib_be16 vl15_dropped;         /**< packets on VL 15 dropped */
	ib_be32 xmit_data;            /**< 4-byte units sent */
	ib_be32 rcv_data;             /**< 4-byte units received */
	ib_be32 xmit_packets;         /**< packets sent */
	ib_be32 rcv_packets;          /**< packets received */
	ib_be32 xmit_wait;            /**< ticks with data and no credit */
};
IBA_CHECK(sizeof(struct ib_perf_port_counters) == 44);
IBA_CHECK(offsetof(struct ib_perf_port_counters, xmit_data) == 24);

/** PortCounters' bit fields. */
#define IB_PERF_PORT_COUNTERS_BITS(X) \
	X(ib_perf_port_counters, link_integrity_errors, 152, 4, "times that trap 129's threshold was passed") \
	X(ib_perf_port_counters, buffer_overrun_errors, 156, 4, "times that trap 130's threshold was passed")
IB_PERF_PORT_COUNTERS_BITS(IBA_BITS_ACCESSORS)

/** PortCountersExtended, IBTA 16.1.4.11: counters of 64 bits. */
struct ib_perf_port_counters_ext {
	uint8_t reserved;             /**< zero */
	uint8_t port_select;          /**< port */
	ib_be16 counter_select;       /**< a bit for each counter up to multicast_rcv_packets */
	ib_be32 counter_select2;      /**< a bit for each counter after multicast_rcv_packets */
	ib_be64 xmit_data;            /**< 4-byte units sent */
	ib_be64 rcv_data;             /**< 4-byte units received */
	ib_be64 xmit_packets;         /**< packets sent */
	ib_be64 rcv_packets;          /**< packets received */
	ib_be64 unicast_xmit_packets; /**< of these, unicast */
	ib_be64 unicast_rcv_packets;  /**< of these, unicast */
	ib_be64 multicast_xmit_packets; /**< of these, multicast */
	ib_be64 multicast_rcv_packets; /**< of these, multicast */
	ib_be64 symbol_errors;        /**< as in PortCounters, and so on */
	ib_be64 link_error_recovery;  /**< successful recoveries */
	ib_be64 link_downed;          /**< failed recoveries */
	ib_be64 rcv_errors;           /**< packets with an error */
	ib_be64 rcv_remote_phys_errors; /**< packets marked bad */
	ib_be64 rcv_switch_relay_errors; /**< packets not forwarded */
	ib_be64 xmit_discards;        /**< packets discarded */
	ib_be64 xmit_constraint_errors; /**< P_Key or raw filter, out */
	ib_be64 rcv_constraint_errors; /**< P_Key or raw filter, in */
	ib_be64 link_integrity_errors; /**< threshold of trap 129 passed */
	ib_be64 buffer_overrun_errors; /**< threshold of trap 130 passed */
	ib_be64 vl15_dropped;         /**< packets on VL 15 dropped */
	ib_be64 xmit_wait;            /**< ticks with data and no credit */
	ib_be64 qp1_dropped;          /**< datagrams to QP1 dropped */
};
IBA_CHECK(sizeof(struct ib_perf_port_counters_ext) == 184);

/** Progress of sampling. */
enum ib_sample_status {
	IB_SAMPLE_DONE = 0,    /**< results are there */
	IB_SAMPLE_STARTED = 1, /**< waiting for its start */
	IB_SAMPLE_RUNNING = 2, /**< counting */
};

/** What a sample can count, IBTA 16.1.3.3. */
enum ib_sample_counter {
	IB_SAMPLE_XMIT_DATA = 1,    /**< 4-byte units sent */
	IB_SAMPLE_RCV_DATA = 2,     /**< 4-byte units received */
	IB_SAMPLE_XMIT_PACKETS = 3, /**< packets sent */
	IB_SAMPLE_RCV_PACKETS = 4,  /**< packets received */
	IB_SAMPLE_XMIT_WAIT = 5,    /**< ticks with data and no credit */
};

/** PortSamplesControl, IBTA 16.1.3.2. */
struct ib_perf_samples_control {
	uint8_t op_code;          /**< sampling mechanism, from 0 */
	uint8_t port_select;      /**< port */
	uint8_t tick;             /**< unit of time: (tick + 1) of the port's clock */
	uint8_t width;            /**< bits: counter_width */
	ib_be32 masks;            /**< bits: counter_mask0, counter_masks1_9 */
	ib_be16 masks2;           /**< bits: counter_masks10_14 */
	uint8_t sample_mechanisms; /**< mechanisms beyond the first, a bit each */
	uint8_t status;           /**< bits: sample_status */
	ib_be64 option_mask;      /**< optional counters there are */
	ib_be64 vendor_mask;      /**< vendor's counters there are */
	ib_be32 sample_start;     /**< ticks until the sample starts */
	ib_be32 sample_interval;  /**< ticks that the sample lasts */
	ib_be16 tag;              /**< comes back in the result */
	ib_be16 counter_select[15]; /**< enum ib_sample_counter, or an optional counter */
	ib_be32 reserved;         /**< zero */
	ib_be64 samples_only_option_mask; /**< optional counters that only samples have */
};
IBA_CHECK(sizeof(struct ib_perf_samples_control) == 80);
IBA_CHECK(offsetof(struct ib_perf_samples_control, tag) == 36);

/** PortSamplesControl's bit fields. */
#define IB_PERF_SAMPLES_CONTROL_BITS(X)                                      \
	X(ib_perf_samples_control, counter_width, 29, 3, "4 * (n + 4) bits") \
	X(ib_perf_samples_control, counter_mask0, 34, 3,                     \
	  "may counter 0 do basic, optional, vendor's")                      \
	X(ib_perf_samples_control, counter_masks1_9, 37, 27,                 \
	  "what counters 1 to 9 may do, 3 bits each")                        \
	X(ib_perf_samples_control, counter_masks10_14, 65, 15,               \
	  "what counters 10 to 14 may do, 3 bits each")                      \
	X(ib_perf_samples_control, sample_status, 94, 2, "enum ib_sample_status")
IB_PERF_SAMPLES_CONTROL_BITS(IBA_BITS_ACCESSORS)

/** PortSamplesResult, IBTA 16.1.3.4. */
struct ib_perf_samples_result {
	ib_be16 tag;         /**< of the control */
	ib_be16 status;      /**< bits: sample_status */
	ib_be32 counter[15]; /**< counted */
};
IBA_CHECK(sizeof(struct ib_perf_samples_result) == 64);

/** PortSamplesResult's bit fields. */
#define IB_PERF_SAMPLES_RESULT_BITS(X) \
	X(ib_perf_samples_result, sample_status, 30, 2, "enum ib_sample_status")
IB_PERF_SAMPLES_RESULT_BITS(IBA_BITS_ACCESSORS)

#ifdef __cplusplus
}
#endif

#endif /* IBA_IB_MAD_PERF_H */
