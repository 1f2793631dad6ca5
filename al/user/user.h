/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * HCAs behind an agent: an implementation of the Channel Interface whose operations send requests
 * to the agent. So everything above it in al/ is one code for all roles. connection.c connects to
 * the agent, call.c sends a request and receives its answer, event.c receives events. ask.c has the
 * requests of the operations, post.c those of work requests, mad.c those of MAD services. hooks.c
 * calls the hooks of user-mode providers (ib_uvp.h) around each request, and puts a provider's data
 * path in place of the forwarded one.
 */
#ifndef AL_USER_USER_H
#define AL_USER_USER_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <unistd.h>

#include "al/protocol/protocol.h"
#include "al/user/hooks.h"
#include "ci/ci.h"

/* A command that never sleeps at the agent has a fast socket, and so never waits behind a command
 * that sleeps there. */
enum { USER_FAST_SOCKETS = 2, USER_SLOW_SOCKETS = 4, USER_SOCKETS = USER_FAST_SOCKETS + USER_SLOW_SOCKETS };
#define USER_FIXED 1024 /* bytes for the head and the struct of a request or answer */

/* A command connection. One call at a time owns it, from user_begin() to user_end(). */
struct user_socket {
	int fd;    /* -1: closed */
	bool busy; /* a call owns the socket; guarded by user_conn.lock */
	char request[USER_FIXED] __attribute__((aligned(8)));
	char answer[USER_FIXED] __attribute__((aligned(8)));
	char array[AGENT_RECORD] __attribute__((aligned(8))); /* arrays of the request, then array and vendor's data of the answer */
};

/* An object for which the agent sends events. A cookie is the index of such an entry and its
 * generation. */
struct user_cookie {
	void *object; /* ci_cq, ci_qp, ci_ca or, as al/mgmt/remote.h has it, a MAD service; NULL:
			 the entry is free */
	al_object_type kind; /* as IB_EVENT_LIST has it: AL_OBJ_NONE is an HCA */
	uint32_t generation; /* a cookie of an earlier object in the entry has another */
	uint32_t next_free;  /* index of the next free entry + 1; 0: none */
};

/* An HCA's arrival or removal, in the queue of the plug thread. */
struct user_plug {
	struct user_plug *next;
	struct agent_event event;
};

/* FIFO tickets of the threads that wait for a socket. They prevent starvation. */
struct user_tickets {
	uint32_t serving; /* the ticket whose thread gets the next idle socket */
	uint32_t issued;  /* number of tickets so far: the next thread's ticket */
};

/*
 * A connection to an agent: the session's event connection, its command connections and two
 * threads. It stays for the life of the process, as loaded modules do. If the agent is lost, the
 * connection keeps its memory, since openings refer to it, and closes its descriptors.
 */
struct user_conn {
	struct user_conn *next; /* guarded by the lock in al/library/library.c */
	char path[108];         /* of the agent's socket */
	char why[256];          /* for the log: why the connection could not be made, and the way out */
	uint8_t token[AGENT_TOKEN];
	unsigned int patience;  /* seconds that al_open() waits for the agent at most */
	unsigned int waited;    /* seconds that al_open() has waited for the agent */
	bool copies;            /* the agent can copy from and to this process's memory */
	bool served;            /* both threads are started */
	atomic_bool lost;       /* the agent is lost */
	int events;             /* the event connection; -1: closed */
	struct ci_host *host;   /* of the agent's HCAs in the registry */
	struct user_socket *sockets; /* USER_SOCKETS command connections */

	pthread_mutex_t lock;    /* guards tickets, busy of the sockets, and the closing of descriptors. Leaf. */
	struct user_tickets tickets[2]; /* [0]: for slow sockets, [1]: for fast sockets */
	pthread_cond_t freed;    /* a socket is idle again, or the next ticket is served */

	pthread_mutex_t cookie_lock; /* guards cookies; upcalls are made under it, so that no object ends during its upcall */
	struct user_cookie *cookies; /* num_cookies entries */
	uint32_t num_cookies;
	uint32_t free_cookie;        /* index of the first free entry + 1; 0: none */

	pthread_mutex_t plug_lock;   /* guards plugs. Leaf. */
	struct user_plug *plugs, **plugs_end;
	struct user_plug ready_plug; /* of AGENT_EVENT_READY, which must not fail for want of memory */
	sem_t plugged;           /* counts the plugs, and one more when the agent is lost */
	sem_t ready;             /* posted when the HCAs that the agent had at the beginning are registered */

	pthread_mutex_t hcas_lock; /* guards hcas, and is held while a switch is registered, so that
				    * the plug thread finds the switch if its removal is told
				    * meanwhile. Outside all other locks. */
	struct user_hca *hcas;     /* the registered HCAs and switches */
};

/* Our per-object data, after the provider's struct. */
struct user_object {
	uint64_t remote; /* the agent's handle; 0: the agent has no such object, a provider's pre-hook has made it */
	uint64_t cookie; /* of a CQ or QP; 0: none */
};

/* Our data of an address handle, after the provider's struct. The agent has no address handles. */
struct user_path {
	pthread_mutex_t lock; /* guards attr. Leaf. */
	struct ib_ah_attr attr;
};

struct user_hca {
	struct user_hca *next;  /* in user_conn.hcas */
	struct user_conn *conn;
	const struct user_provider *provider;
	uint64_t guid;
	bool leaving;           /* is being deregistered; guarded by user_conn.hcas_lock */
	struct user_object own; /* the HCA as opened at the agent */
	ci_handle handle;       /* in the registry */
	struct ib_ca_attr attr; /* the HCA's own maxima, not lowered to this client's limits */
};

/*
 * The connection to the agent whose socket has this path; made if the process has none. After a
 * failure the log says why, and the way out. The caller serialises the calls.
 */
al_status user_connect(const char *path, struct user_conn **conn);
/* The status for the errno of a system call that wants more memory or descriptors than this process
 * may have; AL_SUCCESS: the error has another cause. */
al_status user_shortage(int error);
/* In a forked child: closes the descriptors of the parent's connections, which the child must not
 * use. */
void user_after_fork(void);
/* The threads of a connection; arg: struct user_conn. */
void *user_event_main(void *arg);
/* Takes an event of a MAD service that has come with the answer to a request. */
void user_mad_ahead(struct user_conn *conn, const struct agent_mad_event *record);
void *user_plug_main(void *arg);

/*
 * Registers a switch of the agent in this process, unless it is registered; agent: struct
 * user_conn. Clients are not told of switches, so al_open_ca() asks for a switch when a program
 * wants it. Then the switch stays registered until its removal. AL_NOT_FOUND: the agent has no
 * switch of the GUID, or its removal has begun. May sleep, also on the PnP thread: no step waits
 * for the plug thread, which may wait for a PnP callback.
 */
al_status user_find_switch(void *agent, uint64_t guid);

/* Closes a descriptor of a connection that no thread uses. Under user_conn.lock once the connection
 * has threads. */
static inline void user_close(int *fd)
{
	int old = *fd;

	*fd = -1; /* before close(): a child that is forked in between must not close the number a second time (user_after_fork()) */
	if (old >= 0)
		close(old);
}

/* A call to the agent: owns a socket from user_begin() to user_end(). In between its thread can not
 * be cancelled. */
struct user_call {
	int cancels; /* the thread's cancel state before the call */
	struct user_conn *conn;
	struct user_socket *socket;
	enum agent_command command;
	void *request;     /* the command's struct in the request, which user_begin() zeroes */
	void *in[2];       /* memory for the arrays of the request */
	uint32_t count[2]; /* elements in the arrays of the request */
	struct uvp_call *vendor; /* what the provider and the module exchange; NULL: nothing */
	int memory;        /* descriptor of memory that the agent is to map; -1: none */
	const void *answer;    /* after user_ask(): the command's struct in the answer; zero if the agent has not answered */
	const void *out;       /* after user_ask(): the array of the answer */
	uint32_t out_count;    /* after user_ask(): elements of out */
};
/* Waits for an idle socket. Always succeeds; user_end() must follow. */
al_status user_begin(struct user_call *call, struct user_conn *conn, enum agent_command command);
/* Sends the request and receives the answer. Returns the answer's status. AL_AGENT_LOST: the agent
 * has not answered. May be called again for another request of the same command. */
al_status user_ask(struct user_call *call);
void user_end(struct user_call *call);
/*
 * user_begin(), user_ask() and user_end() for a command without arrays. Always writes *answer, with
 * zeros if the agent has not answered. vendor: what the provider and the module exchange, or NULL.
 */
al_status user_simple(struct user_conn *conn, enum agent_command command, const void *request,
		      void *answer, struct uvp_call *vendor);

/* Cookies name objects in events. An object takes its cookie before the request that creates it,
 * and drops the cookie after the request that destroys it. */
al_status user_cookie_take(struct user_conn *conn, void *object, al_object_type kind, uint64_t *cookie);
void user_cookie_drop(struct user_conn *conn, uint64_t cookie);
/* The object of a cookie. NULL: the object has ended, or is of another kind. Under cookie_lock. */
void *user_cookie_find(struct user_conn *conn, uint64_t cookie, al_object_type kind);

/* ------------------------------------------------------------------ objects */

static inline const struct user_hca *hca_of(const struct ci_ca *ca)
{
	return ca->hca;
}

/* Our data of an object, which follow the provider's. */
static inline void *user_own(const struct ci_ca *ca, enum ci_obj kind, const void *ci)
{
	return (char *)(uintptr_t)ci + hca_of(ca)->provider->tail[kind];
}

static inline struct user_object *pd_own(const struct ci_pd *pd)
{
	return user_own(pd->ca, CI_OBJ_PD, pd);
}

static inline struct user_path *ah_own(const struct ci_ah *ah)
{
	return user_own(ah->pd->ca, CI_OBJ_AH, ah);
}

static inline struct user_object *mr_own(const struct ci_mr *mr)
{
	return user_own(mr->pd->ca, CI_OBJ_MR, mr);
}

static inline struct user_object *cq_own(const struct ci_cq *cq)
{
	return user_own(cq->pd->ca, CI_OBJ_CQ, cq);
}

static inline struct user_object *qp_own(const struct ci_qp *qp)
{
	return user_own(qp->pd->ca, CI_OBJ_QP, qp);
}

static inline struct user_conn *pd_conn(const struct ci_pd *pd)
{
	return hca_of(pd->ca)->conn;
}

/* The requests of MAD services (mad.c), for al/mgmt. */
extern const struct mad_remote_ops user_mad_ops;

/* Coherent memory (memory.c). */
void *user_dma_alloc_coherent(struct ci_ca *ca, uint64_t length, uint64_t *dma);
void user_dma_free_coherent(struct ci_ca *ca, uint64_t length, void *addr, uint64_t dma);

/* The forwarded data path: each call is a request to the agent. */
al_status user_poll_cq(struct ci_cq *cq, uint32_t num, struct ib_wc *wc, uint32_t *count);
al_status user_peek_cq(struct ci_cq *cq, uint32_t max, uint32_t *count);
al_status user_arm_cq(struct ci_cq *cq, al_arm type, bool *present);
al_status user_arm_cq_n(struct ci_cq *cq, uint32_t num);
al_status user_post_send(struct ci_qp *qp, const struct ib_send_wr *wr,
			 const struct ib_send_wr **bad);
al_status user_post_recv(struct ci_qp *qp, const struct ib_recv_wr *wr,
			 const struct ib_recv_wr **bad);
al_status user_snapshot(struct user_conn *conn, struct al_snapshot **snap);

#endif
