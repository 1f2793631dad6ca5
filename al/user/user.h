/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * HCAs behind an agent: a provider of the Channel Interface whose operations ask the agent, so that
 * everything above it in al/ is the same in both roles. connection.c reaches the agent, call.c speaks and event.c
 * listens to it, ask.c puts the questions, post.c packs work requests, and hooks.c puts the hooks of user-mode providers
 * (ib_uvp.h) around the questions, and in place of the data path.
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

/* Those for atomic commands never wait behind one that sleeps in the agent. */
enum { USER_FAST_LINES = 2, USER_SLOW_LINES = 4, USER_LINES = USER_FAST_LINES + USER_SLOW_LINES };
#define USER_FIXED 1024 /* head and struct of a request or answer */

/* A command connection. Owned by one call at a time. */
struct user_line {
	int fd;
	bool busy; /* guarded by user_conn.lock */
	char request[USER_FIXED] __attribute__((aligned(8)));
	char answer[USER_FIXED] __attribute__((aligned(8)));
	char array[AGENT_RECORD] __attribute__((aligned(8))); /* of the request, then of the answer */
};

/* What a cookie stands for: an object that events are for. */
struct user_cookie {
	void *object;        /* NULL: none */
	al_object_type kind; /* as IB_EVENT_LIST has it: AL_OBJ_NONE is an HCA */
	uint32_t generation;
	uint32_t next_free;
};

/* HCAs that came and went, for the plug thread. */
struct user_plug {
	struct user_plug *next;
	struct agent_event event;
};

/* Who waits for a line gets one in his turn: otherwise threads that ask again at once would keep it from him for ever. */
struct user_turn {
	uint32_t next, last;
};

/*
 * A connection to an agent. It stays for the life of the process, as loaded modules do; one whose
 * agent is lost keeps its place, since openings still refer to it, but no descriptor.
 */
struct user_conn {
	struct user_conn *next; /* guarded by the lock in al/library/library.c */
	char path[108];
	char why[256]; /* it is not served, and the way out, for people */
	uint8_t token[AGENT_TOKEN];
	unsigned int waited; /* seconds for answers, until it was served */
	bool copies;
	bool served; /* its threads are there */
	atomic_bool lost;
	int events;
	struct ci_host *host;
	struct user_line *lines; /* USER_LINES */

	pthread_mutex_t lock;    /* guards turns, busy of the lines, and closing of descriptors. Leaf. */
	struct user_turn turns[2]; /* for the workers' lines, and for the fast ones */
	pthread_cond_t freed;

	pthread_mutex_t cookie_lock; /* guards cookies; upcalls are made under it, so that no object goes meanwhile */
	struct user_cookie *cookies;
	uint32_t num_cookies, free_cookie; /* free_cookie: index + 1, 0 none */

	pthread_mutex_t plug_lock; /* guards plugs. Leaf. */
	struct user_plug *plugs, **plugs_end;
	struct user_plug ready_plug; /* AGENT_EVENT_READY has a place of its own */
	sem_t plugged;
	sem_t ready;             /* the HCAs that were there are registered */
	struct user_hca *hcas;   /* the plug thread's */
};

/* Ours of an object, behind what its provider lays out. */
struct user_object {
	uint64_t remote; /* the agent's handle; 0: it is the provider's alone */
	uint64_t cookie; /* CQ, QP */
};

/* Of an address handle, which stays here. */
struct user_path {
	pthread_mutex_t lock; /* guards attr. Leaf. */
	struct ib_ah_attr attr;
};

struct user_hca {
	struct user_hca *next;
	struct user_conn *conn;
	const struct user_provider *provider;
	uint64_t guid;
	struct user_object own;
	ci_handle handle;
	struct ib_ca_attr attr; /* the HCA's own, not lowered to this client's limits */
};

/* The connection of an agent's socket, made if there is none. Serialised by the caller. */
al_status user_connect(const char *path, struct user_conn **conn);
/* The status for a failed system call that wants more than this process may have; AL_SUCCESS: it failed for another reason. */
al_status user_shortage(int error);
/* In a forked child: the connections are the parent's. */
void user_child(void);
/* The threads of a connection; arg: it. */
void *user_event_main(void *arg);
void *user_plug_main(void *arg);

/* A descriptor of a connection that nobody uses; under its lock once it has threads. */
static inline void user_close(int *fd)
{
	int old = *fd;

	*fd = -1; /* first: a child that is forked meanwhile closes all that it finds here (user_child()) */
	if (old >= 0)
		close(old);
}

/* A call to the agent: one line, from user_begin() to user_end(). In between its thread is not cancelled. */
struct user_call {
	int cancels; /* as pthread_setcancelstate() has it */
	struct user_conn *conn;
	struct user_line *line;
	enum agent_command command;
	void *request;     /* zeroed struct of the command */
	void *in[2];       /* room for its arrays */
	uint32_t count[2]; /* elements there */
	struct uvp_call *vendor; /* what crosses between provider and module; NULL: nothing */
	int memory;        /* descriptor of memory that is to be mapped; -1: none */
	const void *answer;    /* after user_ask(): zero unless the agent has answered */
	const void *out;
	uint32_t out_count;
};
al_status user_begin(struct user_call *call, struct user_conn *conn, enum agent_command command);
al_status user_ask(struct user_call *call);
void user_end(struct user_call *call);
/*
 * The three, for commands without arrays; answer is written whatever the agent said. vendor: what
 * crosses between provider and module, or NULL.
 */
al_status user_simple(struct user_conn *conn, enum agent_command command, const void *request,
		      void *answer, struct uvp_call *vendor);

/* Objects that events name, by kind: from before the request that creates until after the one that destroys. */
al_status user_cookie_take(struct user_conn *conn, void *object, al_object_type kind, uint64_t *cookie);
void user_cookie_drop(struct user_conn *conn, uint64_t cookie);
/* Under cookie_lock. NULL: there is none of this kind. */
void *user_cookie_find(struct user_conn *conn, uint64_t cookie, al_object_type kind);

/* ------------------------------------------------------------------ objects */

static inline const struct user_hca *hca_of(const struct ci_ca *ca)
{
	return ca->hca;
}

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

/* Coherent memory (memory.c). */
void *user_dma_alloc_coherent(struct ci_ca *ca, uint64_t length, uint64_t *dma);
void user_dma_free_coherent(struct ci_ca *ca, uint64_t length, void *addr, uint64_t dma);

/* The data path, as it crosses. */
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
