/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/**
 * @file ib_mad_cm.h
 * @brief Communication management messages (IBTA 12.6, 12.8, 12.11). Include ib_mad.h.
 */
#ifndef IBA_IB_MAD_CM_H
#define IBA_IB_MAD_CM_H

#include <iba/ib_mad_base.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Messages of communication management, by attribute, IBTA 12.6: X(name, value, text). */
#define IB_CM_ATTR_LIST(X) \
	X(IB_CM_REQ, 0x0010, "REQ") \
	X(IB_CM_MRA, 0x0011, "MRA") \
	X(IB_CM_REJ, 0x0012, "REJ") \
	X(IB_CM_REP, 0x0013, "REP") \
	X(IB_CM_RTU, 0x0014, "RTU") \
	X(IB_CM_DREQ, 0x0015, "DREQ") \
	X(IB_CM_DREP, 0x0016, "DREP") \
	X(IB_CM_SIDR_REQ, 0x0017, "SIDR_REQ") \
	X(IB_CM_SIDR_REP, 0x0018, "SIDR_REP") \
	X(IB_CM_LAP, 0x0019, "LAP") \
	X(IB_CM_APR, 0x001a, "APR")
/** Messages of communication management. Each fills ib_mad.data; the method is Send. */
typedef enum ib_cm_attr { IB_CM_ATTR_LIST(IBA_ENUM_VALUE) } ib_cm_attr;

/** A path in REQ and LAP. */
struct ib_cm_path {
	ib_be16 local_lid;  /**< LID of the message's sender */
	ib_be16 remote_lid; /**< LID of the message's receiver */
	ib_gid local_gid;   /**< GID of the message's sender */
	ib_gid remote_gid;  /**< GID of the message's receiver */
	ib_be32 flow_rate;  /**< bits; REQ: flow_label, rate */
	uint8_t tclass;     /**< REQ: traffic class */
	uint8_t hop_limit;  /**< REQ: hop limit */
	uint8_t sl_local;   /**< bits: sl, subnet_local */
	uint8_t ack;        /**< bits: ack_timeout */
};
IBA_CHECK(sizeof(struct ib_cm_path) == 44);

/** A path's bit fields. */
#define IB_CM_PATH_BITS(X) \
	X(ib_cm_path, flow_label, 288, 20, "GRH") \
	X(ib_cm_path, rate, 314, 6, "enum ib_rate") \
	X(ib_cm_path, sl, 336, 4, "service level") \
	X(ib_cm_path, subnet_local, 340, 1, "1: within the subnet, no GRH") \
	X(ib_cm_path, ack_timeout, 344, 5, "4.096 us * 2^n")
IB_CM_PATH_BITS(IBA_BITS_ACCESSORS)

/** REQ: asks for a connection, IBTA 12.6.5. */
struct ib_cm_req {
	ib_be32 local_comm_id;       /**< sender's name for the connection */
	ib_be32 reserved1;           /**< zero */
	ib_be64 service_id;          /**< requested service */
	ib_be64 local_ca_guid;       /**< sender's HCA */
	ib_be32 reserved2;           /**< zero */
	ib_be32 local_qkey;          /**< RD */
	ib_be24 local_qpn;           /**< sender's queue pair */
	uint8_t responder_resources; /**< reads and atomics that the sender answers at once */
	ib_be24 local_eecn;          /**< RD */
	uint8_t initiator_depth;     /**< reads and atomics that the sender will have outstanding */
	ib_be24 remote_eecn;         /**< RD */
	uint8_t timeout_transport;   /**< bits: remote_resp_timeout, transport, flow_control */
	ib_be24 starting_psn;        /**< first that the sender will send */
	uint8_t timeout_retry;       /**< bits: local_resp_timeout, retry_count */
	ib_be16 pkey;                /**< partition */
	uint8_t mtu_rnr;             /**< bits: path_mtu, rdc_exists, rnr_retry */
	uint8_t retries_srq;         /**< bits: max_cm_retries, srq, ext_transport */
	struct ib_cm_path primary;   /**< path */
	struct ib_cm_path alternate; /**< alternate path; all zero: none */
	uint8_t private_data[92];    /**< the application's */
};
IBA_CHECK(sizeof(struct ib_cm_req) == 232);
IBA_CHECK(offsetof(struct ib_cm_req, primary) == 52);

/** REQ's bit fields. */
#define IB_CM_REQ_BITS(X) \
	X(ib_cm_req, remote_resp_timeout, 344, 5, "receiver should answer within 4.096 us * 2^n") \
	X(ib_cm_req, transport, 349, 2, "0 RC, 1 UC, 2 RD, 3 see ext_transport") \
	X(ib_cm_req, flow_control, 351, 1, "end-to-end flow control") \
	X(ib_cm_req, local_resp_timeout, 376, 5, "sender answers within 4.096 us * 2^n") \
	X(ib_cm_req, retry_count, 381, 3, "of the connection") \
	X(ib_cm_req, path_mtu, 400, 4, "enum ib_mtu") \
	X(ib_cm_req, rdc_exists, 404, 1, "RD") \
	X(ib_cm_req, rnr_retry, 405, 3, "of the connection") \
	X(ib_cm_req, max_cm_retries, 408, 4, "of these messages") \
	X(ib_cm_req, srq, 412, 1, "sender receives from a shared queue") \
	X(ib_cm_req, ext_transport, 413, 3, "1 XRC")
IB_CM_REQ_BITS(IBA_BITS_ACCESSORS)

/** Which message an MRA or REJ is about. */
enum ib_cm_about {
	IB_CM_ABOUT_REQ = 0, /**< REQ */
	IB_CM_ABOUT_REP = 1, /**< REP */
	IB_CM_ABOUT_OTHER = 2, /**< MRA: LAP; REJ: none */
};

/** MRA: the message has arrived, and its answer takes longer, IBTA 12.6.6. */
struct ib_cm_mra {
	ib_be32 local_comm_id;     /**< sender's */
	ib_be32 remote_comm_id;    /**< receiver's */
	uint8_t about_bits;        /**< bits: about */
	uint8_t timeout_bits;      /**< bits: service_timeout */
	uint8_t private_data[222]; /**< the application's */
};
IBA_CHECK(sizeof(struct ib_cm_mra) == 232);

/** MRA's bit fields. */
#define IB_CM_MRA_BITS(X) \
	X(ib_cm_mra, about, 64, 2, "enum ib_cm_about") \
	X(ib_cm_mra, service_timeout, 72, 5, "4.096 us * 2^n")
IB_CM_MRA_BITS(IBA_BITS_ACCESSORS)

/** Why a connection was refused, IBTA 12.6.7.2: X(name, value, text). */
#define IB_CM_REJ_LIST(X) \
	X(IB_CM_REJ_NO_QP, 1, "no queue pair available") \
	X(IB_CM_REJ_NO_EEC, 2, "no EE context available") \
	X(IB_CM_REJ_NO_RESOURCES, 3, "no resources available") \
	X(IB_CM_REJ_TIMEOUT, 4, "time-out") \
	X(IB_CM_REJ_UNSUPPORTED, 5, "unsupported request") \
	X(IB_CM_REJ_COMM_ID, 6, "invalid communication id") \
	X(IB_CM_REJ_COMM_INSTANCE, 7, "invalid communication instance") \
	X(IB_CM_REJ_SERVICE_ID, 8, "invalid service id") \
	X(IB_CM_REJ_TRANSPORT, 9, "invalid transport service type") \
	X(IB_CM_REJ_STALE, 10, "stale connection") \
	X(IB_CM_REJ_NO_RDC, 11, "reliable datagram channel does not exist") \
	X(IB_CM_REJ_GID, 12, "primary remote port GID rejected") \
	X(IB_CM_REJ_LID, 13, "primary remote port LID rejected") \
	X(IB_CM_REJ_SL, 14, "invalid primary SL") \
	X(IB_CM_REJ_TCLASS, 15, "invalid primary traffic class") \
	X(IB_CM_REJ_HOP_LIMIT, 16, "invalid primary hop limit") \
	X(IB_CM_REJ_RATE, 17, "invalid primary packet rate") \
	X(IB_CM_REJ_ALT_GID, 18, "alternate remote port GID rejected") \
	X(IB_CM_REJ_ALT_LID, 19, "alternate remote port LID rejected") \
	X(IB_CM_REJ_ALT_SL, 20, "invalid alternate SL") \
	X(IB_CM_REJ_ALT_TCLASS, 21, "invalid alternate traffic class") \
	X(IB_CM_REJ_ALT_HOP_LIMIT, 22, "invalid alternate hop limit") \
	X(IB_CM_REJ_ALT_RATE, 23, "invalid alternate packet rate") \
	X(IB_CM_REJ_REDIRECT, 24, "port and CM redirection") \
	X(IB_CM_REJ_PORT_REDIRECT, 25, "port redirection") \
	X(IB_CM_REJ_MTU, 26, "invalid path MTU") \
	X(IB_CM_REJ_RESPONDER, 27, "insufficient responder resources") \
	X(IB_CM_REJ_CONSUMER, 28, "consumer reject") \
	X(IB_CM_REJ_RNR_RETRY, 29, "RNR retry count reject") \
	X(IB_CM_REJ_DUPLICATE_COMM_ID, 30, "duplicate local communication id") \
	X(IB_CM_REJ_CLASS_VERSION, 31, "unsupported class version") \
	X(IB_CM_REJ_FLOW_LABEL, 32, "invalid primary flow label") \
	X(IB_CM_REJ_ALT_FLOW_LABEL, 33, "invalid alternate flow label")
/** Why a connection was refused. */
typedef enum ib_cm_rej_reason { IB_CM_REJ_LIST(IBA_ENUM_VALUE) } ib_cm_rej_reason;

/** REJ: no, IBTA 12.6.7. */
struct ib_cm_rej {
	ib_be32 local_comm_id;     /**< sender's */
	ib_be32 remote_comm_id;    /**< receiver's */
	uint8_t about_bits;        /**< bits: about */
	uint8_t info_bits;         /**< bits: info_length */
	ib_be16 reason;            /**< enum ib_cm_rej_reason */
	uint8_t info[72];          /**< the value that would do, depends on the reason */
	uint8_t private_data[148]; /**< the application's */
};
IBA_CHECK(sizeof(struct ib_cm_rej) == 232);

/** REJ's bit fields. */
#define IB_CM_REJ_BITS(X) \
	X(ib_cm_rej, about, 64, 2, "enum ib_cm_about") \
	X(ib_cm_rej, info_length, 72, 7, "bytes of info")
IB_CM_REJ_BITS(IBA_BITS_ACCESSORS)

/** REP: yes, IBTA 12.6.8. */
struct ib_cm_rep {
	ib_be32 local_comm_id;       /**< sender's */
	ib_be32 remote_comm_id;      /**< receiver's */
	ib_be32 local_qkey;          /**< RD */
	ib_be24 local_qpn;           /**< sender's queue pair */
	uint8_t reserved1;           /**< zero */
	ib_be24 local_eecn;          /**< RD */
	uint8_t reserved2;           /**< zero */
	ib_be24 starting_psn;        /**< first that the sender will send */
	uint8_t reserved3;           /**< zero */
	uint8_t responder_resources; /**< as in REQ */
	uint8_t initiator_depth;     /**< as in REQ */
	uint8_t delay_failover;      /**< bits: target_ack_delay, failover_accepted, flow_control */
	uint8_t rnr_srq;             /**< bits: rnr_retry, srq */
	ib_be64 local_ca_guid;       /**< sender's HCA */
	uint8_t private_data[196];   /**< the application's */
};
IBA_CHECK(sizeof(struct ib_cm_rep) == 232);

/** REP's bit fields. */
#define IB_CM_REP_BITS(X) \
	X(ib_cm_rep, target_ack_delay, 208, 5, "4.096 us * 2^n") \
	X(ib_cm_rep, failover_accepted, 213, 2, "0: the alternate path is accepted") \
	X(ib_cm_rep, flow_control, 215, 1, "end-to-end flow control") \
	X(ib_cm_rep, rnr_retry, 216, 3, "of the connection") \
	X(ib_cm_rep, srq, 219, 1, "sender receives from a shared queue")
IB_CM_REP_BITS(IBA_BITS_ACCESSORS)

/** RTU (IBTA 12.6.9) and DREP (12.6.11): ready; disconnected. */
struct ib_cm_rtu {
	ib_be32 local_comm_id;     /**< sender's */
	ib_be32 remote_comm_id;    /**< receiver's */
	uint8_t private_data[224]; /**< the application's */
};
IBA_CHECK(sizeof(struct ib_cm_rtu) == 232);

/** DREQ: let us part, IBTA 12.6.10. */
struct ib_cm_dreq {
	ib_be32 local_comm_id;     /**< sender's */
	ib_be32 remote_comm_id;    /**< receiver's */
	ib_be24 remote_qpn;        /**< receiver's queue pair */
	uint8_t reserved;          /**< zero */
	uint8_t private_data[220]; /**< the application's */
};
IBA_CHECK(sizeof(struct ib_cm_dreq) == 232);

/** LAP: another alternate path, IBTA 12.8.1. */
struct ib_cm_lap {
	ib_be32 local_comm_id;      /**< sender's */
	ib_be32 remote_comm_id;     /**< receiver's */
	ib_be32 reserved1;          /**< zero */
	ib_be24 remote_qpn;         /**< receiver's queue pair */
	uint8_t timeout_bits;       /**< bits: remote_resp_timeout */
	ib_be32 reserved2;          /**< zero */
	ib_be16 local_lid;          /**< sender's, alternate */
	ib_be16 remote_lid;         /**< receiver's, alternate */
	ib_gid local_gid;           /**< sender's, alternate */
	ib_gid remote_gid;          /**< receiver's, alternate */
	ib_be24 flow_bits;          /**< bits: flow_label */
	uint8_t tclass;             /**< traffic class */
	uint8_t hop_limit;          /**< hop limit */
	uint8_t rate_bits;          /**< bits: rate */
	uint8_t sl_local;           /**< bits: sl, subnet_local */
	uint8_t ack;                /**< bits: ack_timeout */
	uint8_t private_data[168];  /**< the application's */
};
IBA_CHECK(sizeof(struct ib_cm_lap) == 232);

/** LAP's bit fields. */
#define IB_CM_LAP_BITS(X) \
	X(ib_cm_lap, remote_resp_timeout, 120, 5, "receiver should answer within 4.096 us * 2^n") \
	X(ib_cm_lap, flow_label, 448, 20, "GRH") \
	X(ib_cm_lap, rate, 490, 6, "enum ib_rate") \
	X(ib_cm_lap, sl, 496, 4, "service level") \
	X(ib_cm_lap, subnet_local, 500, 1, "1: within the subnet, no GRH") \
	X(ib_cm_lap, ack_timeout, 504, 5, "4.096 us * 2^n")
IB_CM_LAP_BITS(IBA_BITS_ACCESSORS)

/** APR: answer to LAP, IBTA 12.8.2. */
struct ib_cm_apr {
	ib_be32 local_comm_id;     /**< sender's */
	ib_be32 remote_comm_id;    /**< receiver's */
	uint8_t info_length;       /**< bytes of info */
	uint8_t ap_status;         /**< 0: accepted; else why not (IBTA 12.8.2) */
	ib_be16 reserved;          /**< zero */
	uint8_t info[72];          /**< depends on ap_status */
	uint8_t private_data[148]; /**< the application's */
};
IBA_CHECK(sizeof(struct ib_cm_apr) == 232);

/** SIDR_REQ: which queue pair serves this, IBTA 12.11.1. */
struct ib_cm_sidr_req {
	ib_be32 request_id;        /**< sender's */
	ib_be16 pkey;              /**< partition */
	ib_be16 reserved;          /**< zero */
	ib_be64 service_id;        /**< requested service */
	uint8_t private_data[216]; /**< the application's */
};
IBA_CHECK(sizeof(struct ib_cm_sidr_req) == 232);

/** Outcome of a SIDR_REQ. */
enum ib_cm_sidr_status {
	IB_CM_SIDR_VALID = 0,       /**< qpn and qkey are valid */
	IB_CM_SIDR_UNSUPPORTED = 1, /**< no such service */
	IB_CM_SIDR_REJECT = 2,      /**< the service's provider refuses */
	IB_CM_SIDR_NO_QP = 3,       /**< no queue pair available */
	IB_CM_SIDR_REDIRECT = 4,    /**< ask elsewhere */
	IB_CM_SIDR_VERSION = 5,     /**< unsupported class version */
};

/** SIDR_REP: the queue pair that provides the service, IBTA 12.11.2. */
struct ib_cm_sidr_rep {
	ib_be32 request_id;        /**< of the request */
	uint8_t status;            /**< enum ib_cm_sidr_status */
	uint8_t info_length;       /**< bytes of info */
	ib_be16 reserved1;         /**< zero */
	ib_be24 qpn;               /**< queue pair */
	uint8_t reserved2;         /**< zero */
	ib_be64 service_id;        /**< of the request */
	ib_be32 qkey;              /**< Q_Key */
	uint8_t info[72];          /**< redirection: ClassPortInfo */
	uint8_t private_data[136]; /**< the application's */
};
IBA_CHECK(sizeof(struct ib_cm_sidr_rep) == 232);

#ifdef __cplusplus
}
#endif

#endif /* IBA_IB_MAD_CM_H */
