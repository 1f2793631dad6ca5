/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Helpers for tests of the software HCA's provider: the library's and the module's side of an opened HCA, of a
 * completion queue and of a queue pair. The tests are in provider_test.c and cq_test.c.
 */
#ifndef IBAL_TEST_UNIT_UVP_SOFT_SUPPORT_H
#define IBAL_TEST_UNIT_UVP_SOFT_SUPPORT_H

#include <check.h>

#include "uvp/soft/provider.h"

extern const struct uvp_interface
	*ops;                 /* the provider's functions; setup() and open_ca() need them */
extern _Atomic uint32_t notifications; /* notifications that the provider has given itself, since setup() */

/* ------------------------------------------------------------------------- a call */

extern struct uvp_call call; /* the call that a pre-hook fills in and a post-hook reads */
extern uint64_t call_in[UVP_MAX_DATA / 8]; /* the data that a pre-hook has put into call */

/* Empties call and call_in, and returns &call: for the next hook. */
struct uvp_call *begin_call(void);
/* Maps the one descriptor of call, as the module does, and checks its length, its seals and that it
 * is closed on exec. */
void *accept_file(size_t bytes);

/* Number of entries of a directory: "/proc/self/fd" counts the open descriptors. */
int count_entries(const char *path);
/* Number of the process's mappings of shared files of the provider. */
int count_shared_maps(void);

/* -------------------------------------------------------------------------- the HCA */

extern struct provider_ca ca;
extern struct ring_door *door; /* the module's mapping of the HCA's bells */
extern struct ci_pd pd;        /* the protection domain of all queues */

/* Opens ca: the module answers with the first length bytes of answer and num_fds descriptors. */
al_status open_ca(const struct ring_opened *answer, uint32_t length, uint32_t num_fds);
/* Check's fixture: setup() opens ca, teardown() closes it and checks that neither descriptor nor
 * mapping is left. */
void setup(void);
void teardown(void);
/* True if the provider has woken the module's thread since the last call. */
bool woken(void);
/* Takes the bells of a word of the door, as the module's thread does; bit i of the result is bell
 * 64 * word + i. */
uint64_t bells(uint32_t word);

/* ---------------------------------------------------------------- completion queues */

struct cq {
	struct provider_cq p;
	struct ring_cq *ring; /* the module's mapping of the queue's indices and arms */
	struct ib_wc *wc;     /* the module's mapping of the queue's entries */
	uint32_t mask;        /* number of slots in wc, less one */
};

#define CQE 20

/* Creates a queue of CQE entries. */
void make_cq(struct cq *cq, al_cq_notify notify);
void free_cq(struct cq *cq);
/* The module adds a completion, as ring_cq_publish() does; true: the completion satisfies an arm, and
 * the module notifies. */
bool complete(struct cq *cq, uint64_t wr_id, uint32_t qp_num, al_arm kind);
/* Polls up to 64 completions into wc, and checks that none is left. Returns their number. */
uint32_t poll_all(struct cq *cq, struct ib_wc *wc);

/* ---------------------------------------------------------------------- queue pairs */

struct qp {
	struct provider_qp p;
	struct ring_qp *ring; /* the module's mapping of the queue pair */
	struct cq *cq;        /* of both queues */
};

#define BELL 130
extern const struct ib_qp_cap cap;

/* Creates a queue pair of cap: the module answers with the first length bytes of answer, and with
 * status. */
al_status try_qp(struct qp *qp, struct cq *cq, ib_qp_type type, const struct ring_made *answer,
		 uint32_t length, al_status status);
/* Creates a queue pair of cap with the number 7 and the bell BELL, in the given state. */
void make_qp(struct qp *qp, struct cq *cq, ib_qp_type type, ib_qp_state state);
void free_qp(struct qp *qp);

/* ----------------------------------------------------------------------------- main */

/* Runs the test cases; returns main()'s exit status. */
int run_cases(TCase *const *cases, uint32_t num);

#endif
