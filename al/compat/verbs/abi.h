/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The interface of libibverbs.so.1 as binary programs know it: the layout of its structs and the
 * values of its constants, in the state of Debian 12 (rdma-core 44). layout.def records each offset,
 * which layout.c asserts. Names are those of the interface. What the replacement does not offer is
 * declared as far as its place in a layout needs. Types be16, be32 and be64 are in network byte
 * order.
 */
#ifndef AL_COMPAT_VERBS_ABI_H
#define AL_COMPAT_VERBS_ABI_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

typedef uint16_t be16;
typedef uint32_t be32;
typedef uint64_t be64;

/* A member that is a function of the interface which the replacement does not offer. */
typedef void (*ibv_absent)(void);

/* ------------------------------------------------------------------ constants */

/* The values that follow are this file's, since those of <iba/ib_verbs.h> have other names. */
enum {
	IBV_NODE_CA = 1,
	IBV_TRANSPORT_IB = 0,

	IBV_GID_TYPE_IB = 0,
	IBV_GID_TYPE_ROCE_V1 = 1,
	IBV_GID_TYPE_ROCE_V2 = 2,
	IBV_GID_TYPE_SYSFS_IB_ROCE_V1 = 0,
	IBV_GID_TYPE_SYSFS_ROCE_V2 = 1,

	IBV_QPF_GRH_REQUIRED = 1 << 0,

	IBV_ACCESS_LOCAL_WRITE = 1 << 0,
	IBV_ACCESS_REMOTE_WRITE = 1 << 1,
	IBV_ACCESS_REMOTE_READ = 1 << 2,
	IBV_ACCESS_REMOTE_ATOMIC = 1 << 3,
	IBV_ACCESS_MW_BIND = 1 << 4,
	IBV_ACCESS_ZERO_BASED = 1 << 5,
	IBV_ACCESS_ON_DEMAND = 1 << 6,
	IBV_ACCESS_HUGETLB = 1 << 7,
	IBV_ACCESS_OPTIONAL_RANGE = 0x3ff00000, /* bits that a provider may ignore */
	IBV_ACCESS_RELAXED_ORDERING = 1 << 20,

	IBV_REREG_MR_CHANGE_TRANSLATION = 1 << 0,
	IBV_REREG_MR_CHANGE_PD = 1 << 1,
	IBV_REREG_MR_CHANGE_ACCESS = 1 << 2,
	IBV_REREG_MR_ERR_INPUT = -1,
	IBV_REREG_MR_ERR_CMD = -4,

	IBV_FORK_UNNEEDED = 2,

	IBV_QPT_RC = 2,
	IBV_QPT_UC = 3,
	IBV_QPT_UD = 4,
	IBV_QPT_RAW_PACKET = 8,
	IBV_QPT_XRC_SEND = 9,
	IBV_QPT_XRC_RECV = 10,
	IBV_QPT_DRIVER = 0xff,

	IBV_QP_STATE = 1 << 0, /* the lowest bits of a mask are those of enum ib_qp_attr_mask */

	IBV_QP_INIT_ATTR_PD = 1 << 0,
	IBV_QP_INIT_ATTR_CREATE_FLAGS = 1 << 2,
	IBV_QP_INIT_ATTR_SEND_OPS_FLAGS = 1 << 6,
	IBV_QP_CREATE_BLOCK_SELF_MCAST_LB = 1 << 1,

	IBV_QP_EX_WITH_RDMA_WRITE = 1 << 0,
	IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM = 1 << 1,
	IBV_QP_EX_WITH_SEND = 1 << 2,
	IBV_QP_EX_WITH_SEND_WITH_IMM = 1 << 3,
	IBV_QP_EX_WITH_RDMA_READ = 1 << 4,
	IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP = 1 << 5,
	IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD = 1 << 6,

	IBV_SEND_INLINE = 1 << 3, /* as the other flags of enum ib_send_flags */

	IBV_WC_EX_WITH_BYTE_LEN = 1 << 0,
	IBV_WC_EX_WITH_IMM = 1 << 1,
	IBV_WC_EX_WITH_QP_NUM = 1 << 2,
	IBV_WC_EX_WITH_SRC_QP = 1 << 3,
	IBV_WC_EX_WITH_SLID = 1 << 4,
	IBV_WC_EX_WITH_SL = 1 << 5,
	IBV_WC_EX_WITH_DLID_PATH_BITS = 1 << 6,
	IBV_WC_STANDARD_FLAGS = (1 << 7) - 1,

	IBV_WC_GRH = 1 << 0,
	IBV_WC_WITH_IMM = 1 << 1,
	IBV_WC_WITH_INV = 1 << 3,

	IBV_CQ_INIT_ATTR_MASK_FLAGS = 1 << 0,
	IBV_CQ_INIT_ATTR_MASK_PD = 1 << 1,
	IBV_CREATE_CQ_ATTR_SINGLE_THREADED = 1 << 0,
	IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN = 1 << 1,
	IBV_CQ_ATTR_MODERATE = 1 << 0,

	IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS = 1 << 0,
	IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT = 1 << 1,

	IBV_VALUES_MASK_RAW_CLOCK = 1 << 0,
};

/* Bits of ibv_device_attr.device_cap_flags. */
enum {
	IBV_DEVICE_BAD_PKEY_CNTR = 1 << 1,
	IBV_DEVICE_BAD_QKEY_CNTR = 1 << 2,
	IBV_DEVICE_AUTO_PATH_MIG = 1 << 4,
	IBV_DEVICE_CURR_QP_STATE_MOD = 1 << 7,
	IBV_DEVICE_SHUTDOWN_PORT = 1 << 8,
	IBV_DEVICE_PORT_ACTIVE_EVENT = 1 << 10,
	IBV_DEVICE_SYS_IMAGE_GUID = 1 << 11,
	IBV_DEVICE_RC_RNR_NAK_GEN = 1 << 12,
	IBV_DEVICE_SRQ_RESIZE = 1 << 13,
	IBV_DEVICE_MEM_WINDOW = 1 << 17,
	IBV_DEVICE_XRC = 1 << 20,
	IBV_DEVICE_MEM_WINDOW_TYPE_2A = 1 << 23,
	IBV_DEVICE_MEM_WINDOW_TYPE_2B = 1 << 24,
};

/* ------------------------------------------------------------------- addresses */

union ibv_gid {
	uint8_t raw[16];
	struct {
		be64 subnet_prefix, interface_id;
	} global;
};

struct ibv_gid_entry {
	union ibv_gid gid;
	uint32_t gid_index, port_num;
	uint32_t gid_type; /* IBV_GID_TYPE_ */
	uint32_t ndev_ifindex;
};

struct ibv_global_route {
	union ibv_gid dgid;
	uint32_t flow_label;
	uint8_t sgid_index, hop_limit, traffic_class;
};

struct ibv_grh {
	be32 version_tclass_flow;
	be16 paylen;
	uint8_t next_hdr, hop_limit;
	union ibv_gid sgid, dgid;
};

struct ibv_ah_attr {
	struct ibv_global_route grh;
	uint16_t dlid;
	uint8_t sl, src_path_bits, static_rate, is_global, port_num;
};

/* ------------------------------------------------------------ devices and ports */

struct ibv_device_attr {
	char fw_ver[64];
	be64 node_guid, sys_image_guid;
	uint64_t max_mr_size, page_size_cap;
	uint32_t vendor_id, vendor_part_id, hw_ver;
	int max_qp, max_qp_wr;
	unsigned int device_cap_flags;
	int max_sge, max_sge_rd, max_cq, max_cqe, max_mr, max_pd;
	int max_qp_rd_atom, max_ee_rd_atom, max_res_rd_atom, max_qp_init_rd_atom, max_ee_init_rd_atom;
	unsigned int atomic_cap; /* as enum ib_atomic_cap */
	int max_ee, max_rdd, max_mw, max_raw_ipv6_qp, max_raw_ethy_qp;
	int max_mcast_grp, max_mcast_qp_attach, max_total_mcast_qp_attach;
	int max_ah, max_fmr, max_map_per_fmr, max_srq, max_srq_wr, max_srq_sge;
	uint16_t max_pkeys;
	uint8_t local_ca_ack_delay, phys_port_cnt;
};

struct ibv_query_device_ex_input {
	uint32_t comp_mask;
};

/* Members that name abilities which no HCA of ibal has are zero; their names do not matter here. */
struct ibv_device_attr_ex {
	struct ibv_device_attr orig_attr;
	uint32_t comp_mask;
	struct {
		uint64_t general_caps;
		uint32_t per_transport_caps[3];
	} odp_caps;
	uint64_t completion_timestamp_mask, hca_core_clock, device_cap_flags_ex;
	uint32_t tso_caps[2];
	struct {
		uint32_t supported[3];
		uint64_t rx_hash_fields_mask;
		uint8_t rx_hash_function;
	} rss_caps;
	uint32_t max_wq_type_rq;
	uint32_t packet_pacing_caps[3];
	uint32_t raw_packet_caps;
	uint32_t tm_caps[5];
	struct {
		uint16_t max_cq_count, max_cq_period;
	} cq_mod_caps;
	uint64_t max_dm_size;
	uint16_t pci_atomic_caps[3];
	uint32_t xrc_odp_caps, phys_port_cnt_ex;
};

struct ibv_port_attr {
	unsigned int state;               /* as ib_port_state */
	unsigned int max_mtu, active_mtu; /* as ib_mtu */
	int gid_tbl_len;
	uint32_t port_cap_flags, max_msg_sz, bad_pkey_cntr, qkey_viol_cntr;
	uint16_t pkey_tbl_len, lid, sm_lid;
	uint8_t lmc, max_vl_num, sm_sl, subnet_timeout, init_type_reply;
	uint8_t active_width, active_speed, phys_state, link_layer;
	uint8_t flags;
	uint16_t port_cap_flags2; /* not there for programs that call the function ibv_query_port() */
};

struct ibv_context;

struct ibv_device {
	ibv_absent ops[2];
	int node_type, transport_type;
	char name[64], dev_name[64];
	char dev_path[256], ibdev_path[256];
};

/* ------------------------------------------------------------------- objects */

struct ibv_pd {
	struct ibv_context *context;
	uint32_t handle;
};

struct ibv_td_init_attr {
	uint32_t comp_mask;
};

struct ibv_td {
	struct ibv_context *context;
};

struct ibv_parent_domain_init_attr {
	struct ibv_pd *pd;
	struct ibv_td *td;
	uint32_t comp_mask;
	ibv_absent alloc, free;
	void *pd_context;
};

struct ibv_mr {
	struct ibv_context *context;
	struct ibv_pd *pd;
	void *addr;
	size_t length;
	uint32_t handle, lkey, rkey;
};

struct ibv_ah {
	struct ibv_context *context;
	struct ibv_pd *pd;
	uint32_t handle;
};

struct ibv_comp_channel {
	struct ibv_context *context;
	int fd;
	int refcnt;
};

struct ibv_cq {
	struct ibv_context *context;
	struct ibv_comp_channel *channel;
	void *cq_context;
	uint32_t handle;
	int cqe;
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	uint32_t comp_events_completed, async_events_completed;
};

struct ibv_poll_cq_attr {
	uint32_t comp_mask;
};

/* The first members are those of struct ibv_cq. */
struct ibv_cq_ex {
	struct ibv_cq base;
	uint32_t comp_mask;
	unsigned int status;
	uint64_t wr_id;
	int (*start_poll)(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr);
	int (*next_poll)(struct ibv_cq_ex *cq);
	void (*end_poll)(struct ibv_cq_ex *cq);
	unsigned int (*read_opcode)(struct ibv_cq_ex *cq);
	uint32_t (*read_vendor_err)(struct ibv_cq_ex *cq);
	uint32_t (*read_byte_len)(struct ibv_cq_ex *cq);
	be32 (*read_imm_data)(struct ibv_cq_ex *cq);
	uint32_t (*read_qp_num)(struct ibv_cq_ex *cq);
	uint32_t (*read_src_qp)(struct ibv_cq_ex *cq);
	unsigned int (*read_wc_flags)(struct ibv_cq_ex *cq);
	uint32_t (*read_slid)(struct ibv_cq_ex *cq);
	uint8_t (*read_sl)(struct ibv_cq_ex *cq);
	uint8_t (*read_dlid_path_bits)(struct ibv_cq_ex *cq);
	uint64_t (*read_completion_ts)(struct ibv_cq_ex *cq);
	uint16_t (*read_cvlan)(struct ibv_cq_ex *cq);
	uint32_t (*read_flow_tag)(struct ibv_cq_ex *cq);
	void (*read_tm_info)(struct ibv_cq_ex *cq, void *info);
	uint64_t (*read_completion_wallclock_ns)(struct ibv_cq_ex *cq);
};

struct ibv_cq_init_attr_ex {
	uint32_t cqe;
	void *cq_context;
	struct ibv_comp_channel *channel;
	uint32_t comp_vector;
	uint64_t wc_flags; /* IBV_WC_EX_WITH_ */
	uint32_t comp_mask;
	uint32_t flags;
	struct ibv_pd *parent_domain;
};

struct ibv_modify_cq_attr {
	uint32_t attr_mask;
	struct {
		uint16_t cq_count, cq_period;
	} moderate;
};

struct ibv_wc {
	uint64_t wr_id;
	unsigned int status; /* as ib_wc_status */
	unsigned int opcode;
	uint32_t vendor_err, byte_len;
	union {
		be32 imm_data;
		uint32_t invalidated_rkey;
	};
	uint32_t qp_num, src_qp;
	unsigned int wc_flags;
	uint16_t pkey_index, slid;
	uint8_t sl, dlid_path_bits;
};

struct ibv_srq;

/* ---------------------------------------------------------------- queue pairs */

struct ibv_qp_cap {
	uint32_t max_send_wr, max_recv_wr, max_send_sge, max_recv_sge, max_inline_data;
};

struct ibv_qp_init_attr {
	void *qp_context;
	struct ibv_cq *send_cq, *recv_cq;
	struct ibv_srq *srq;
	struct ibv_qp_cap cap;
	unsigned int qp_type; /* IBV_QPT_ */
	int sq_sig_all;
};

/* The first members are those of struct ibv_qp_init_attr, but for its padding. */
struct ibv_qp_init_attr_ex {
	void *qp_context;
	struct ibv_cq *send_cq, *recv_cq;
	struct ibv_srq *srq;
	struct ibv_qp_cap cap;
	unsigned int qp_type;
	int sq_sig_all;
	uint32_t comp_mask; /* IBV_QP_INIT_ATTR_ */
	struct ibv_pd *pd;
	void *xrcd;
	uint32_t create_flags; /* IBV_QP_CREATE_ */
	uint16_t max_tso_header;
	void *rwq_ind_tbl;
	struct {
		uint8_t rx_hash_function, rx_hash_key_len;
		uint8_t *rx_hash_key;
		uint64_t rx_hash_fields_mask;
	} rx_hash_conf;
	uint32_t source_qpn;
	uint64_t send_ops_flags; /* IBV_QP_EX_WITH_ */
};

struct ibv_qp_attr {
	unsigned int qp_state, cur_qp_state; /* as ib_qp_state */
	unsigned int path_mtu, path_mig_state;
	uint32_t qkey, rq_psn, sq_psn, dest_qp_num;
	unsigned int qp_access_flags; /* IBV_ACCESS_ */
	struct ibv_qp_cap cap;
	struct ibv_ah_attr ah_attr, alt_ah_attr;
	uint16_t pkey_index, alt_pkey_index;
	uint8_t en_sqd_async_notify, sq_draining, max_rd_atomic, max_dest_rd_atomic;
	uint8_t min_rnr_timer, port_num, timeout, retry_cnt, rnr_retry;
	uint8_t alt_port_num, alt_timeout;
	uint32_t rate_limit;
};

struct ibv_qp {
	struct ibv_context *context;
	void *qp_context;
	struct ibv_pd *pd;
	struct ibv_cq *send_cq, *recv_cq;
	struct ibv_srq *srq;
	uint32_t handle, qp_num;
	unsigned int state, qp_type;
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	uint32_t events_completed;
};

struct ibv_sge {
	uint64_t addr;
	uint32_t length, lkey;
};

struct ibv_data_buf {
	void *addr;
	size_t length;
};

struct ibv_send_wr {
	uint64_t wr_id;
	struct ibv_send_wr *next;
	struct ibv_sge *sg_list;
	int num_sge;
	unsigned int opcode;
	unsigned int send_flags; /* as enum ib_send_flags */
	union {
		be32 imm_data;
		uint32_t invalidate_rkey;
	};
	union {
		struct {
			uint64_t remote_addr;
			uint32_t rkey;
		} rdma;
		struct {
			uint64_t remote_addr, compare_add, swap;
			uint32_t rkey;
		} atomic;
		struct {
			struct ibv_ah *ah;
			uint32_t remote_qpn, remote_qkey;
		} ud;
	} wr;
	uint32_t remote_srqn;
	uint64_t bind_mw_or_tso[6];
};

struct ibv_recv_wr {
	uint64_t wr_id;
	struct ibv_recv_wr *next;
	struct ibv_sge *sg_list;
	int num_sge;
};

struct ibv_qp_ex {
	struct ibv_qp qp_base;
	uint64_t comp_mask;
	uint64_t wr_id;
	unsigned int wr_flags; /* as enum ib_send_flags */
	void (*wr_atomic_cmp_swp)(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr,
				  uint64_t compare, uint64_t swap);
	void (*wr_atomic_fetch_add)(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr,
				    uint64_t add);
	ibv_absent wr_bind_mw, wr_local_inv;
	void (*wr_rdma_read)(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr);
	void (*wr_rdma_write)(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr);
	void (*wr_rdma_write_imm)(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr,
				  be32 imm_data);
	void (*wr_send)(struct ibv_qp_ex *qp);
	void (*wr_send_imm)(struct ibv_qp_ex *qp, be32 imm_data);
	ibv_absent wr_send_inv, wr_send_tso;
	void (*wr_set_ud_addr)(struct ibv_qp_ex *qp, struct ibv_ah *ah, uint32_t remote_qpn,
			       uint32_t remote_qkey);
	ibv_absent wr_set_xrc_srqn;
	void (*wr_set_inline_data)(struct ibv_qp_ex *qp, void *addr, size_t length);
	void (*wr_set_inline_data_list)(struct ibv_qp_ex *qp, size_t num_buf,
					const struct ibv_data_buf *bufs);
	void (*wr_set_sge)(struct ibv_qp_ex *qp, uint32_t lkey, uint64_t addr, uint32_t length);
	void (*wr_set_sge_list)(struct ibv_qp_ex *qp, size_t num_sge, const struct ibv_sge *sges);
	void (*wr_start)(struct ibv_qp_ex *qp);
	int (*wr_complete)(struct ibv_qp_ex *qp);
	void (*wr_abort)(struct ibv_qp_ex *qp);
	ibv_absent wr_atomic_write;
};

/* --------------------------------------------------------------------- events */

/* Events: X(name, value, event of the Access Layer, text). */
#define IBV_EVENT_LIST(X) \
	X(CQ_ERR, 0, IB_EVENT_CQ_ERR, "CQ error") \
	X(QP_FATAL, 1, IB_EVENT_QP_FATAL, "local work queue catastrophic error") \
	X(QP_REQ_ERR, 2, IB_EVENT_QP_REQ_ERR, "invalid request local work queue error") \
	X(QP_ACCESS_ERR, 3, IB_EVENT_QP_ACCESS_ERR, "local access violation work queue error") \
	X(COMM_EST, 4, IB_EVENT_COMM_EST, "communication established") \
	X(SQ_DRAINED, 5, IB_EVENT_SQ_DRAINED, "send queue drained") \
	X(PATH_MIG, 6, IB_EVENT_PATH_MIG, "path migrated") \
	X(PATH_MIG_ERR, 7, IB_EVENT_PATH_MIG_ERR, "path migration request error") \
	X(DEVICE_FATAL, 8, IB_EVENT_DEVICE_FATAL, "local catastrophic error") \
	X(PORT_ACTIVE, 9, IB_EVENT_PORT_ACTIVE, "port active") \
	X(PORT_ERR, 10, IB_EVENT_PORT_DOWN, "port error") \
	X(LID_CHANGE, 11, IB_EVENT_LID_CHANGE, "LID change") \
	X(PKEY_CHANGE, 12, IB_EVENT_PKEY_CHANGE, "P_Key change") \
	X(SM_CHANGE, 13, IB_EVENT_SM_CHANGE, "SM change") \
	X(SRQ_ERR, 14, IB_EVENT_SRQ_ERR, "SRQ catastrophic error") \
	X(SRQ_LIMIT_REACHED, 15, IB_EVENT_SRQ_LIMIT_REACHED, "SRQ limit reached") \
	X(QP_LAST_WQE_REACHED, 16, IB_EVENT_QP_LAST_WQE_REACHED, "last WQE reached") \
	X(CLIENT_REREGISTER, 17, IB_EVENT_CLIENT_REREGISTER, "client reregistration") \
	X(GID_CHANGE, 18, IB_EVENT_GID_CHANGE, "GID table change") \
	X(WQ_FATAL, 19, IBV_NO_EVENT, "WQ fatal")
#define IBV_NO_EVENT 32 /* no event of the Access Layer */
enum {
#define IBV_EVENT_VALUE(name, value, al, text) IBV_EVENT_##name = (value),
	IBV_EVENT_LIST(IBV_EVENT_VALUE)
};

struct ibv_async_event {
	union {
		struct ibv_cq *cq;
		struct ibv_qp *qp;
		struct ibv_srq *srq;
		int port_num;
	} element;
	unsigned int event_type; /* IBV_EVENT_ */
};

/* -------------------------------------------------------------------- contexts */

struct ibv_values_ex {
	uint32_t comp_mask;
	struct timespec raw_clock;
};

struct ibv_context_ops {
	ibv_absent compat_1[7];
	void *(*alloc_mw)(struct ibv_pd *pd, int type);
	int (*bind_mw)(struct ibv_qp *qp, void *mw, void *bind);
	int (*dealloc_mw)(void *mw);
	ibv_absent compat_2;
	int (*poll_cq)(struct ibv_cq *cq, int num, struct ibv_wc *wc);
	int (*req_notify_cq)(struct ibv_cq *cq, int solicited_only);
	ibv_absent compat_3[7];
	int (*post_srq_recv)(struct ibv_srq *srq, struct ibv_recv_wr *wr,
			     struct ibv_recv_wr **bad_wr);
	ibv_absent compat_4[4];
	int (*post_send)(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
	int (*post_recv)(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
	ibv_absent compat_5[5];
};

struct ibv_context {
	struct ibv_device *device;
	struct ibv_context_ops ops;
	int cmd_fd, async_fd, num_comp_vectors;
	pthread_mutex_t mutex;
	void *abi_compat; /* UINTPTR_MAX: the context is in a struct verbs_context */
};

/* What inline functions of the interface call; NULL: they answer EOPNOTSUPP. */
struct verbs_context {
	int (*query_port)(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr,
			  size_t bytes);
	ibv_absent advise_mr, alloc_null_mr;
	ibv_absent counters[4], device_memory[3], flow_actions[3];
	ibv_absent modify_qp_rate_limit;
	struct ibv_pd *(*alloc_parent_domain)(struct ibv_context *context,
					      struct ibv_parent_domain_init_attr *attr);
	int (*dealloc_td)(struct ibv_td *td);
	struct ibv_td *(*alloc_td)(struct ibv_context *context, struct ibv_td_init_attr *init);
	int (*modify_cq)(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);
	ibv_absent post_srq_ops, work_queues[5];
	int (*query_rt_values)(struct ibv_context *context, struct ibv_values_ex *values);
	struct ibv_cq_ex *(*create_cq_ex)(struct ibv_context *context,
					  struct ibv_cq_init_attr_ex *init);
	void *priv;
	int (*query_device_ex)(struct ibv_context *context,
			       const struct ibv_query_device_ex_input *input,
			       struct ibv_device_attr_ex *attr, size_t bytes);
	ibv_absent flows[4];
	ibv_absent open_qp;
	struct ibv_qp *(*create_qp_ex)(struct ibv_context *context, struct ibv_qp_init_attr_ex *init);
	ibv_absent get_srq_num, create_srq_ex, open_xrcd, close_xrcd;
	uint64_t placeholder;
	size_t sz; /* of this struct */
	struct ibv_context context;
};

#endif
