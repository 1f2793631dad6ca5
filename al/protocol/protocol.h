/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What crosses between a client's library (al/user) and the agent (al/agent): records over Unix
 * SOCK_SEQPACKET, one record one message. Both ends are built from commands.def and the structs
 * here; they run on one machine, so integers and structs cross as they are.
 *
 * A client has one *event connection*, which is its session, and some *command connections*, on
 * each of which one request has one answer before the next. Sizes are exact. Nothing is read twice.
 * The first record of any connection is struct agent_hello.
 */
#ifndef AL_PROTOCOL_PROTOCOL_H
#define AL_PROTOCOL_PROTOCOL_H

#include <sys/socket.h>

#include <iba/ib_al.h>
#include <iba/ib_flat_wr.h>
#include <iba/ib_mad.h>
#include <iba/ib_uvp.h>

#define AGENT_SOCKET    "/run/ibal/ald.socket"
#define AGENT_PROTOCOL  16u         /* another number is another protocol */
#define AGENT_MAGIC     0x6c616269u /* "ibal" */
#define AGENT_RECORD    65536u     /* bytes of a record, at most */
#define AGENT_TOKEN     16
#define AGENT_REASON    255u /* bytes of the reason of a refusal */

#define AGENT_VENDOR_BYTES 32768u
#define AGENT_SNAP_BYTES   32768u
#define AGENT_MAD_BYTES    32768u /* bytes of a datagram in one record */
#define AGENT_POLL_MAX     256u
#define AGENT_POST_MAX     128u
#define AGENT_TAILS_MAX    2048u /* units of the tails of a record's work requests */

/* ------------------------------------------------------------------ opening */

enum agent_role {
	AGENT_EVENTS = 1, /* begins a session; descriptors: a pidfd, and its memory or none */
	AGENT_COMMANDS = 2 /* joins the session of the token */
};

struct agent_hello {
	uint32_t magic;
	uint32_t protocol;
	uint32_t role; /* enum agent_role */
	uint32_t zero;
	uint8_t token[AGENT_TOKEN];
	char comm[16]; /* the program's name, for people */
};

struct agent_welcome {
	uint32_t magic;
	uint32_t protocol;
	int32_t status;  /* not AL_SUCCESS: the agent closes the connection */
	uint32_t copies; /* 1: memory can be registered as it is, by copies through /proc/self/mem */
	uint8_t token[AGENT_TOKEN];
};

/* ----------------------------------------------------------------- commands */

enum agent_command {
#define COMMAND(name, ...) AGENT_##name,
#include "al/protocol/commands.def"
	AGENT_NUM_COMMANDS
};

/* What a provider says to its module, and back (struct uvp_call), follows the arrays. */
struct agent_head {
	uint16_t command;  /* enum agent_command */
	uint16_t fds;      /* descriptors that come with it */
	uint32_t count[2]; /* elements of the arrays */
	uint16_t data;     /* bytes from the provider */
	uint16_t room;     /* bytes that the module may answer */
};

struct agent_answer {
	int32_t status;
	uint32_t count; /* elements of the array */
	uint16_t data;  /* bytes from the module; of a refusal: of its reason, a sentence without a
			   zero byte */
	uint16_t fds;   /* descriptors that come with it */
	uint32_t zero;
};

struct none { /* a struct without members has no size in C */
	uint64_t zero;
};

struct made_answer {
	uint64_t handle;
};

/* Before an HCA or switch is opened: the module, whose provider serves an HCA. */
struct MODULE_OF_request {
	uint64_t guid;
};
struct MODULE_OF_answer {
	char name[32]; /* ends with a zero byte */
	uint64_t is_switch; /* 1: a switch's GUID, of which AGENT_EVENT_CA_ADD does not tell */
};

struct OPEN_CA_request {
	uint64_t guid;
	uint64_t cookie;
};
struct OPEN_CA_answer {
	uint64_t handle;
	struct ib_ca_attr attr;
	uint64_t unused;
};

struct DESTROY_request {
	uint64_t handle;
};
#define DESTROY_answer none

struct QUERY_CA_request {
	uint64_t ca;
};
struct QUERY_CA_answer {
	struct ib_ca_attr attr;
};

struct QUERY_PORT_request {
	uint64_t ca;
	uint64_t port;
};
struct QUERY_PORT_answer {
	struct ib_port_attr attr;
};

struct QUERY_GID_request {
	uint64_t ca;
	uint32_t port;
	uint32_t index;
};
struct QUERY_GID_answer {
	ib_gid gid;
};

#define QUERY_PKEY_request QUERY_GID_request
struct QUERY_PKEY_answer {
	uint64_t pkey;
};

struct MODIFY_CA_request {
	uint64_t ca;
	uint64_t mask;
	struct ib_ca_attr attr;
};
#define MODIFY_CA_answer none

struct MODIFY_PORT_request {
	uint64_t ca;
	uint32_t mask;
	uint32_t port;
	struct ib_port_modify attr;
};
#define MODIFY_PORT_answer none

struct VENDOR_CALL_request {
	uint64_t ca;
	uint32_t code;
	uint32_t room;
};
#define VENDOR_CALL_answer none

struct ALLOC_PD_request {
	uint64_t ca;
};
#define ALLOC_PD_answer made_answer

struct REG_MR_request {
	uint64_t pd;
	uint64_t addr; /* in the client */
	uint64_t length;
	uint64_t iova;
	uint64_t offset; /* mapped: of addr in the memfd, which is the first descriptor */
	uint32_t access;
	uint8_t mapped;
	uint8_t zero[3];
};
struct REG_MR_answer {
	uint64_t handle;
	uint32_t lkey, rkey;
};

struct QUERY_MR_request {
	uint64_t mr;
};
struct QUERY_MR_answer {
	struct ib_mr_attr attr;
};

struct CREATE_CQ_request {
	uint64_t pd;
	uint64_t cookie;
	uint32_t cqe;
	uint32_t comp_vector;
	uint32_t notify;
	uint32_t zero;
};
struct CREATE_CQ_answer {
	uint64_t handle;
	uint64_t cqe;
};

struct RESIZE_CQ_request {
	uint64_t cq;
	uint32_t cqe;
	uint32_t zero;
};
struct RESIZE_CQ_answer {
	uint64_t cqe;
};

struct MODIFY_CQ_request {
	uint64_t cq;
	uint16_t count;
	uint16_t period;
	uint32_t zero;
};
#define MODIFY_CQ_answer none

struct QUERY_CQ_request {
	uint64_t cq;
};
struct QUERY_CQ_answer {
	struct al_cq_attr attr;
};

struct POLL_CQ_request {
	uint64_t cq;
	uint64_t num;
};
#define POLL_CQ_answer none /* ib_wc.qp_context is the queue pair's cookie */

struct PEEK_CQ_request {
	uint64_t cq;
	uint64_t max;
};
struct PEEK_CQ_answer {
	uint64_t count;
};

struct ARM_CQ_request {
	uint64_t cq;
	uint64_t type;
};
struct ARM_CQ_answer {
	uint64_t present;
};

struct ARM_CQ_N_request {
	uint64_t cq;
	uint64_t num;
};
#define ARM_CQ_N_answer none

struct CREATE_QP_request {
	uint64_t pd, send_cq, recv_cq; /* GET_SPL_QP: the HCA, none, none */
	uint64_t cookie;
	struct ib_qp_cap cap;
	uint32_t qp_type;
	uint8_t sq_sig_all;
	uint8_t block_mcast_loopback;
	uint8_t port_num;
	uint8_t zero[5];
};
struct CREATE_QP_answer {
	uint64_t handle;
	struct ib_qp_cap cap;
	uint32_t qp_num;
};

/* An alias of a special queue pair. Members other than the HCA, cookie, qp_type and port_num are
 * zero. */
#define GET_SPL_QP_request CREATE_QP_request
#define GET_SPL_QP_answer  made_answer

struct MODIFY_QP_request {
	uint64_t qp;
	uint64_t mask;
	struct ib_qp_attr attr;
};
#define MODIFY_QP_answer none

struct QUERY_QP_request {
	uint64_t qp;
};
struct QUERY_QP_answer {
	struct ib_qp_attr attr;
};

/*
 * The heads of flat work requests are the first array (struct ib_flat_send, struct ib_flat_recv),
 * their tails the second one, in the order of the heads.
 */
struct POST_SEND_request {
	uint64_t qp;
};
struct POST_SEND_answer {
	uint64_t posted; /* requests taken: also on failure */
};
#define POST_RECV_request POST_SEND_request
#define POST_RECV_answer  POST_SEND_answer

struct ATTACH_MCAST_request {
	uint64_t qp;
	ib_gid gid;
	uint16_t mlid;
	uint8_t zero[6];
};
#define ATTACH_MCAST_answer  none
#define DETACH_MCAST_request ATTACH_MCAST_request
#define DETACH_MCAST_answer  none

struct REG_MAD_SVC_request {
	uint64_t ca;
	uint64_t cookie;
	uint64_t methods[2];
	uint8_t port_num;
	uint8_t mgmt_class;
	uint8_t class_version;
	uint8_t rmpp;
	uint8_t oui[3];
	uint8_t zero;
};
#define REG_MAD_SVC_answer made_answer

/*
 * A datagram that is longer than the array comes in several records, in order, and is sent with the
 * last one. Path and times are read in the last record. A record with offset 0 discards what has
 * come of an earlier datagram.
 */
struct SEND_MAD_request {
	uint64_t svc;
	uint64_t id;
	uint32_t length; /* bytes of the datagram */
	uint32_t offset; /* of the array in the datagram */
	uint32_t remote_qpn;
	uint32_t remote_qkey;
	uint32_t timeout_ms;
	uint16_t pkey_index;
	uint16_t retries;
	struct ib_ah_attr path;
	uint64_t taken; /* AGENT_EVENT_MAD_AHEAD that the program has taken of the service */
	uint64_t room;  /* 0: the answer has no array */
};
/* The array has the service's oldest outcome, if there is one when the datagram is sent: often the
 * datagram's own. */
#define SEND_MAD_answer none

struct CANCEL_MAD_request {
	uint64_t svc;
	uint64_t id;
};
#define CANCEL_MAD_answer none

/*
 * The oldest event, whose datagram the array has from offset on. The event ends with the datagram's
 * last byte. AL_NOT_FOUND: the service has no event, or older events are on their way as
 * AGENT_EVENT_MAD_AHEAD.
 */
struct MAD_NEXT_request {
	uint64_t svc;
	uint32_t size; /* bytes of the longest datagram that the client takes */
	uint32_t offset;
	uint64_t room; /* bytes that the array may have */
	uint64_t taken; /* as in SEND_MAD_request */
};
struct MAD_NEXT_answer {
	struct al_mad_event event; /* mad is NULL */
	uint64_t left;             /* 1: the service has further events */
};

struct LOCAL_MAD_request {
	uint64_t ca;
	uint64_t port;
	struct ib_mad mad;
};
struct LOCAL_MAD_answer {
	struct ib_mad mad;
};

/* What al_snapshot() shows, made anew when offset is 0 and then handed out piece by piece. */
struct SNAPSHOT_request {
	uint64_t offset;
};
struct SNAPSHOT_answer {
	uint64_t total;
	/* In this order, then a sentence about PCI. */
	uint64_t num_cas, num_objects, num_mad_svcs, num_modules, num_pci, num_clients, num_users;
	uint64_t has_error;
};

/* ------------------------------------------------------------- sizes of them */

struct agent_array {
	uint32_t size; /* of an element; 0: there is no array */
	uint32_t most; /* elements */
};

/* Where the agent carries a command out. */
enum agent_where {
	AGENT_LOOP,  /* on its loop, at once: what a callback may ask for */
	AGENT_LATER, /* begun on its loop, answered when it is over */
	AGENT_WORKER /* off its loop, where it may sleep */
};

struct agent_sizes {
	uint32_t request, answer; /* the structs */
	struct agent_array in[2];
	struct agent_array out;
	enum agent_where where;
	bool vendor;   /* provider and module may say something to each other */
	bool makes;    /* an object, with whose handle the answer begins */
};

extern const struct agent_sizes agent_sizes[AGENT_NUM_COMMANDS];
extern const char *const agent_names[AGENT_NUM_COMMANDS];

/* Descriptors of a record: a provider's, and before them perhaps one of the library's own. Control
 * data has AGENT_FDS_ROOM bytes, aligned as any. */
#define AGENT_MAX_FDS  (UVP_MAX_FDS + 1)
#define AGENT_FDS_ROOM CMSG_SPACE(AGENT_MAX_FDS * sizeof(int))
void agent_put_fds(struct msghdr *msg, char *control, const int *fds, uint32_t num);
/* Returns how many came, at most AGENT_MAX_FDS. */
uint32_t agent_take_fds(struct msghdr *msg, int fds[AGENT_MAX_FDS]);

/* ------------------------------------------------------------------- events */

enum agent_event_kind {
	AGENT_EVENT_COMPLETION = 1, /* cookie: the queue */
	AGENT_EVENT_ASYNC,          /* cookie: the object; type: ib_event_type */
	AGENT_EVENT_PORT,           /* cookie: the HCA; type, port */
	AGENT_EVENT_CA_ADD,         /* guid */
	AGENT_EVENT_CA_REMOVE,      /* guid: its objects are gone already; of switches, too, also
				     * of those that the client has not opened */
	AGENT_EVENT_READY,          /* every HCA that was there has been told */
	AGENT_EVENT_MAD,            /* cookie: the MAD service, which has events: MAD_NEXT */
	AGENT_EVENT_ENDING,         /* the agent is about to end; nothing new can be opened */
	AGENT_EVENT_FAILURE,        /* cookie: the queue pair; struct agent_failure_event */
	AGENT_EVENT_MAD_AHEAD /* cookie: the MAD service; struct agent_mad_event has its oldest
				 event */
};

struct agent_event {
	uint32_t kind;
	uint32_t type;
	uint64_t cookie;
	uint64_t guid;
	uint32_t port;
	uint32_t zero;
	uint64_t before; /* AGENT_EVENT_MAD, AGENT_EVENT_MAD_AHEAD: outcomes of the service that the
			    agent has sent before */
};

/*
 * The agent sends the outcomes of a MAD service's sends with their announcement, which saves the
 * client a MAD_NEXT for each, or with the answer of SEND_MAD, which saves the announcement. So two
 * connections bring them, and `before` is their order. AGENT_AHEAD_MAX of them may wait in the
 * client for its program, which takes them in order. The events behind them, unsolicited datagrams,
 * and answers of more than one packet stay with the agent and are announced only.
 */
#define AGENT_AHEAD_MAX 16u
struct agent_mad_event {
	struct agent_event event; /* AGENT_EVENT_MAD_AHEAD */
	struct al_mad_event mad;  /* its member mad is NULL */
	uint64_t left;            /* 1: the agent has further events */
	struct ib_mad datagram;   /* its first mad.length bytes cross */
};

struct agent_failure_event {
	struct agent_event event; /* AGENT_EVENT_FAILURE */
	struct al_qp_failure failure;
};
union agent_event_record {
	struct agent_event event;
	struct agent_failure_event failure;
	struct agent_mad_event mad;
};

#endif
