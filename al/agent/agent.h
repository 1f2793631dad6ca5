/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * ald's structures, and what its files offer each other.
 *
 * HOW IT WORKS
 *
 * One loop thread sleeps in epoll and owns all bookkeeping: sessions, connections, tables of
 * objects. A request is read once, into memory of the connection's own, and checked there by the
 * command table (command.c): size, counts, flags, rights, handles (kind, owner, generation), limits.
 * What is atomic is executed on the loop. What may sleep is executed by a bounded pool of workers,
 * which see values only, never the tables; when they are done the loop finishes: it enters or frees
 * the object, answers, and reads the connection's next request. Destroys are asynchronous in the
 * Access Layer, so they need no worker. The loop waits for nothing else, and never for a client.
 *
 * Every session has an opening of the Access Layer of its own: closing it destroys, children first,
 * whatever the client has left.
 *
 * Events go to the client from the Access Layer's own callbacks, without a detour by the loop: each
 * source (object, port, HCA) keeps what is pending and its place in the session's queue, so nothing
 * is lost or allocated when a client does not read; the rest is sent when its socket has room again.
 *
 * What a client's memory is backed by may block whoever copies from or to it. Only a thread of the client's own does
 * (al/object/client.c): requests of its own may wait for that, and at the end what is left of its session; nobody else.
 *
 * LOCKS: pool.lock (work and what is done), session.event_lock (sources), accounts.lock. All are leaves.
 */
#ifndef AL_AGENT_AGENT_H
#define AL_AGENT_AGENT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include <iba/ib_al.h>
#include <iba/ib_hca.h>

#include "al/agent/account.h"
#include "al/agent/ald.h"
#include "al/agent/protocol.h"
#include "al/library/private.h"
#include "al/object/client.h"

struct session;
struct line;

/* --------------------------------------------------------------------- loop */

/* A kind of thing that epoll reports. */
enum watch { WATCH_LISTEN, WATCH_DONE, WATCH_STRANGER, WATCH_LINE, WATCH_EVENTS, WATCH_PIDFD };

struct watched {
	enum watch what;
	void *of; /* struct line, struct session */
};

/* A job for a worker: a request, or something of a session. */
struct job {
	struct job *next;
	struct session *session;
	void (*work)(struct job *job); /* worker */
	void (*done)(struct job *job); /* loop */
};

/* ------------------------------------------------------------------- events */

/* Something that a client hears of. Guarded by session.event_lock. */
struct source {
	struct session *session;
	struct source *next;  /* in the session's queue */
	bool queued;
	uint32_t kind;        /* enum agent_event_kind of its asynchronous events */
	uint32_t port;
	uint32_t pending;     /* 1 << enum ib_event_type, and SOURCE_* */
	uint64_t cookie, guid;
};
#define SOURCE_ENDING     (1u << 27)
#define SOURCE_COMPLETION (1u << 28)
#define SOURCE_ADD        (1u << 29)
#define SOURCE_REMOVE     (1u << 30)
#define SOURCE_READY      (1u << 31)

void source_raise(struct source *source, uint32_t bits);
/* A port's event. */
void source_port(struct source *source, ib_event_type type);
/* Takes it out of the queue: nothing is raised any more. */
void source_forget(struct source *source);
/* The client's socket has room again. */
void session_flush(struct session *session);

/* ------------------------------------------------------------------ objects */

/* A client's object. The loop's. */
struct object {
	struct session *session;
	al_object_type type;
	uint32_t generation;
	uint32_t index;
	union {
		const void *handle; /* in the agent's Access Layer */
		al_ca_h ca;
		al_pd_h pd;
		al_mr_h mr;
		al_cq_h cq;
		al_qp_h qp;
	};
	uint64_t bytes;       /* MR: charged */
	void *map;            /* MR of memory that the client shares: mapped here until the region is gone; or NULL */
	size_t map_bytes;
	uint64_t rings;       /* CQ, QP: charged */
	bool ready;           /* made: can be found */
	bool dying;
	struct source source; /* CQ, QP; cookie: the client's */
	ib_qp_type qp_type;
	struct hca *hca;      /* on which it is; NULL: a CA that is being opened */
	struct line *line;    /* who waits for its end; NULL: nobody any more */
	struct job end;       /* it is gone in the Access Layer */
};

/* HCAs as a session sees them: made and freed under event_lock, by PnP callbacks and workers. */
struct hca {
	struct hca *next;
	struct session *session;
	uint64_t guid;
	al_ca_h ca;             /* open, or NULL */
	bool opening;
	bool leaving;           /* it is removed: what is on it is being ended */
	uint32_t removals;      /* how often that has begun */
	uint32_t num_objects;   /* on it; the loop's */
	struct source source;   /* arrival and removal */
	uint32_t num_ports;
	struct source *ports;   /* num_ports + 1; [0]: the HCA itself */
};

/* ----------------------------------------------------------------- sessions */

/* What of a client is told in the log. */
enum complaint { COMPLAINT_PROTOCOL, COMPLAINT_RIGHT, COMPLAINT_HANDLE, COMPLAINT_MEMORY, NUM_COMPLAINTS };

struct session {
	struct session *next;
	struct ci_client client;
	uint8_t token[AGENT_TOKEN];
	int events, pidfd;
	bool ended;              /* no new request; the loop's */
	bool closed;             /* its opening is gone, and it is no longer in the list; the loop's */
	bool copying;            /* closed, but its thread may still be making a copy; the loop's */
	uint32_t jobs;           /* workers at it; the loop's */
	al_h al;
	al_pnp_h pnp;

	struct object **objects; /* by index */
	uint32_t *removed;       /* by index: generation of the last that went with its HCA */
	uint32_t num_objects, num_slots, last_slot;
	uint32_t generation;
	struct account account;
	_Atomic(enum agent_right) right; /* stored by the loop, also when the configuration changes */
	struct line *lines;
	struct watched watch_events, watch_pidfd;
	struct job job;          /* opening, then closing */
	bool opening;            /* the job is; the loop's */
	bool complained[NUM_COMPLAINTS]; /* about it: once of each kind */

	pthread_mutex_t event_lock;
	struct source *queue, **queue_end;
	bool choked;             /* the socket is full */
	struct hca *hcas;
	struct source ready;
};

#define RECORD_FDS 253 /* that a record can bring, by the kernel's SCM_MAX_FD */

/* What came with a record. */
struct descriptors {
	bool whole;     /* nothing of record and descriptors has been cut off */
	bool of_record; /* there was a record, perhaps of no bytes: not the end */
	uint32_t num;
	int fd[RECORD_FDS]; /* -1: taken */
};

/* A connection, from accept() on; of a session once its hello has been heard. */
struct line {
	struct line *next;     /* of the session's */
	struct watched watched;
	int fd;
	struct session *session; /* NULL: a stranger */
	bool busy;             /* a request is being executed */
	bool resting;          /* not watched meanwhile */
	bool dead;             /* to be freed when it is not busy */

	struct job job;        /* the request being executed */
	struct ci_client_job copied; /* it is answered when the client's thread comes to this */
	enum agent_command command;
	uint32_t count[2];
	struct al_udata udata; /* whom it is for, and what the provider says and hears with it */
	struct descriptors came; /* with it */
	uint64_t handles[3];   /* of the Access Layer, as checked; 0: none */
	struct object *object[3];
	struct hca *hca;       /* on which they are, and its removals then */
	uint32_t removals;
	al_status status;
	uint32_t out_count;
	bool resets;           /* a queue pair: its requests' memory is no longer used */
	char *snapshot;        /* the last, as it crosses, and its size */
	struct SNAPSHOT_answer snapshot_head;
	const void *made;      /* a new object's handle */
	struct object *making; /* its place */
	char request[AGENT_RECORD] __attribute__((aligned(8)));
	char answer[AGENT_RECORD] __attribute__((aligned(8)));
	char said[UVP_MAX_DATA] __attribute__((aligned(8))); /* by the provider to the module */
	char told[UVP_MAX_DATA] __attribute__((aligned(8))); /* and back */
};

static inline const struct agent_head *line_head(const struct line *line)
{
	return (const struct agent_head *)line->request;
}

static inline void *line_request(struct line *line)
{
	return line->request + sizeof(struct agent_head);
}

static inline void *line_in(struct line *line, int array)
{
	const struct agent_sizes *sizes = &agent_sizes[line->command];
	char *at = (char *)line_request(line) + sizes->request;

	return array ? at + (size_t)line->count[0] * sizes->in[0].size : at;
}

static inline void *line_answer(struct line *line)
{
	return line->answer + sizeof(struct agent_answer);
}

static inline void *line_out(struct line *line)
{
	return (char *)line_answer(line) + agent_sizes[line->command].answer;
}

/* loop.c */
int loop_watch(int fd, struct watched *watched, uint32_t events);
int loop_change(int fd, struct watched *watched, uint32_t events);
void loop_unwatch(int fd);
bool loop_draining(void);
void pool_work(struct job *job);
/* Any thread: job->done is called on the loop. */
void pool_done(struct job *job);

/* socket.c */
/* Negative: none, and the log says why. */
int socket_listen(const char *path, mode_t mode);

/* descriptor.c */
/* Its length; negative: none, see errno. Does not wait. */
ssize_t descriptors_receive(int fd, void *record, size_t size, struct descriptors *list);
/* Closes what was not taken, elsewhere and later: any close of what a client sends may block. */
void descriptors_close(const struct descriptors *list);
/* Closes a connection to a client. */
void descriptors_hang_up(int fd);

/* right.c */
void rights_set(const struct agent_grant grants[NUM_RIGHTS]);
/* The highest that the peer has. */
enum agent_right right_of(int fd);

/* connection.c */
bool connection_init(void);
void connection_end(void);
void connection_accept(int listener);
/* The first record of a stranger. */
void connection_hello(struct line *line);
/* No new session: the agent stops. */
void connection_end_strangers(void);
/* Answers a hello. Any thread. */
void welcome(int fd, const struct session *session, al_status status);
void line_readable(struct line *line);
/* It is not looked at until it has been answered. */
void line_rest(struct line *line);
void line_answered(struct line *line);
/* The same, when what has ended with the request is no longer copied from or to the client's memory. */
void line_answered_after_copies(struct line *line);
void line_free(struct line *line);

/* session.c */
struct ucred;
/* Takes over the line's connection as the session's event connection, and what it likes of the list. */
al_status session_begin(struct line *line, const struct ucred *peer, struct descriptors *list);
/* The session that a command connection of this peer's joins: it is charged for it. */
al_status session_find(const uint8_t token[AGENT_TOKEN], const struct ucred *peer,
		       struct session **found);
void session_end(struct session *session, const char *why);
/* Into the log; once per client and kind, and not too often. */
void session_complain(struct session *session, enum complaint kind, const char *does, const char *what);
void session_try_free(struct session *session);
/* When the agent is about to end: ends the session if the client has nothing any more. */
bool session_try_finish(struct session *session);
/* The end of an object in the Access Layer: frees it, and answers who asked for it. */
void object_gone(struct object *object);
/* What it costs has been charged: object_free() gives it back. */
struct object *object_new(struct session *session, al_object_type type);
/* Of which an object of the type is one. */
extern const al_resource object_resources[AL_OBJ_TYPES];
struct object *object_find(struct session *session, uint64_t handle);
/* What it was went with its HCA: its client asks for it until it has heard of that. */
bool object_removed(const struct session *session, uint64_t handle);
uint64_t object_handle(const struct object *object);
void object_free(struct object *object);
/* Its objects are ended by the Access Layer, and freed when that is done. Any thread. */
bool hca_leaving(struct hca *hca);
uint32_t hca_removals(struct hca *hca);
extern struct session *sessions; /* not closed */
extern uint32_t num_sessions;    /* also those whose thread is left */

/* command.c: checks the request in line->request (length bytes) and line->came, and executes it. */
void command_run(struct line *line, size_t length, bool whole);
/* Answers what is in line->answer. */
void command_answer(struct line *line);
/* Closes what descriptors are left of a request. */
void command_drop_fds(struct line *line);

/* memory.c: the memory of a region that a client shares, mapped for its object; the address of its first byte. Worker. */
al_status memory_map(struct object *object, int fd, const struct REG_MR_request *request, void **addr);
/* Unmaps and frees an object that nothing refers to any more. */
void memory_free(struct object *object);

/* verbs.c: what the rows of the command table do. */
extern void (*const command_functions[AGENT_NUM_COMMANDS])(struct line *line);
void session_open(struct job *job);
void snapshot_make(struct line *line);

#endif
