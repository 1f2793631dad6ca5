/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The software HCA's provider under test without library and agent: the functions that the library
 * gives to the provider, and the module's half of the shared memory. The rules of queue pairs are
 * in provider_test.c, those of completion queues in cq_test.c.
 */
#include "test/unit/uvp/soft/support.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

extern const struct uvp_module uvp_module;
const struct uvp_interface *ops;

/* -------------------------------------------- functions that the Access Layer provides */

_Atomic uint32_t notifications;
bool ib_trace_on;

void ib_cq_notify(void *cq_ctx)
{
	ck_assert_ptr_eq(cq_ctx, &notifications);
	atomic_fetch_add(&notifications, 1);
}

al_status ib_refuse(al_status status, const char *fmt, ...)
{
	(void)fmt;
	return status;
}

void ib_request_failed(void *qp_ctx, uint64_t wr_id, ib_wc_status status, const char *fmt, ...)
{
	(void)qp_ctx;
	(void)wr_id;
	(void)status;
	(void)fmt;
}

void ib_log(ib_log_level level, const char *who, const char *fmt, ...)
{
	(void)level, (void)who, (void)fmt;
}

void ib_trace(const char *actor, const char *fmt, ...)
{
	(void)actor, (void)fmt;
}

/* In these tests a handle is the address of the object. */
struct ci_ah *ci_wr_ah(const struct ci_qp *qp, al_ah_h ah)
{
	(void)qp;
	return (struct ci_ah *)ah;
}

struct uvp_call call;
uint64_t call_in[UVP_MAX_DATA / 8];

struct uvp_call *begin_call(void)
{
	memset(call_in, 0, sizeof(call_in));
	call = (struct uvp_call){ .in = call_in };
	return &call;
}

int count_entries(const char *path)
{
	DIR *dir = opendir(path);
	int count = 0;

	ck_assert_ptr_nonnull(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

int count_shared_maps(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	int count = 0;

	ck_assert_ptr_nonnull(maps);
	while (fgets(line, sizeof(line), maps))
		count += strstr(line, "memfd:" RING_NAME) != NULL;
	fclose(maps);
	return count;
}

/* ------------------------------------------------------------------- the module */

struct provider_ca ca;
struct ring_door *door;
static int wake; /* the eventfd that wakes the module's thread */
static int fds_before;

void *accept_file(size_t bytes)
{
	int fd = call.in_fds[0];
	void *mem;

	ck_assert_uint_eq(call.num_in_fds, 1);
	ck_assert_int_ge(lseek(fd, 0, SEEK_END), 0);
	ck_assert_uint_eq((uint64_t)lseek(fd, 0, SEEK_END), bytes);
	ck_assert_int_eq(fcntl(fd, F_GET_SEALS), F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert(mem != MAP_FAILED);
	return mem;
}

al_status open_ca(const struct ring_opened *answer, uint32_t length, uint32_t num_fds)
{
	const struct ring_open *request = (const void *)call_in;

	memset(&ca, 0, sizeof(ca));
	ck_assert_int_eq(ops->pre_open_ca(&ca.ca, begin_call()), AL_SUCCESS);
	ck_assert_uint_eq(call.in_len, sizeof(*request));
	ck_assert_uint_eq(request->version, RING_VERSION);
	ck_assert_uint_ge(call.out_room, sizeof(*answer));
	door = accept_file(sizeof(*door));
	call.out = answer;
	call.out_len = length;
	call.num_out_fds = num_fds;
	for (uint32_t i = 0; i < num_fds; i++)
		call.out_fds[i] = wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return ops->post_open_ca(&ca.ca, AL_SUCCESS, &call);
}

void setup(void)
{
	const struct ring_opened answer = { .version = RING_VERSION, .gids = 4, .lmc = 1 };

	ops = uvp_module.ops;
	atomic_store(&notifications, 0);
	fds_before = count_entries("/proc/self/fd");
	ck_assert_int_eq(open_ca(&answer, sizeof(answer), 1), AL_SUCCESS);
	ck_assert_int_eq(count_entries("/proc/self/fd"), fds_before + 1);
}

void teardown(void)
{
	ops->post_close_ca(&ca.ca, begin_call());
	munmap(door, sizeof(*door));
	ck_assert_int_eq(count_entries("/proc/self/fd"), fds_before);
	ck_assert_int_eq(count_shared_maps(), 0);
}

bool woken(void)
{
	uint64_t count;

	if (read(wake, &count, sizeof(count)) < 0) {
		ck_assert_int_eq(errno, EAGAIN);
		return false;
	}
	ck_assert_uint_eq(count, 1);
	return true;
}

uint64_t bells(uint32_t word)
{
	return atomic_exchange(&door->rung, 0) >> word & 1 ? atomic_exchange(&door->bells[word], 0)
							   : 0;
}

struct ci_pd pd = { .ca = &ca.ca };

void make_cq(struct cq *cq, al_cq_notify notify)
{
	struct ci_cq_init init = { .cqe = CQE, .notify = notify };
	const struct ring_make *request = (const void *)call_in;

	memset(cq, 0, sizeof(*cq));
	cq->p.cq.pd = &pd;
	cq->p.cq.ctx = &notifications;
	cq->p.cq.notify = notify;
	ck_assert_int_eq(ops->pre_create_cq(&cq->p.cq, &init, begin_call()), AL_SUCCESS);
	ck_assert_uint_eq(request->bytes, ring_cq_bytes(CQE));
	cq->ring = accept_file(request->bytes);
	cq->wc = (struct ib_wc *)((char *)cq->ring + RING_CQ_HEAD);
	cq->mask = ring_cq_slots(CQE) - 1;
	cq->p.cq.cqe = CQE;
	ck_assert_int_eq(ops->post_create_cq(&cq->p.cq, &init, AL_SUCCESS, &call), AL_SUCCESS);
}

void free_cq(struct cq *cq)
{
	munmap(cq->ring, ring_cq_bytes(CQE));
	ops->post_destroy_cq(&cq->p.cq, begin_call());
}

bool complete(struct cq *cq, uint64_t wr_id, uint32_t qp_num, al_arm kind)
{
	struct ring_cq *ring = cq->ring;
	uint32_t prod = atomic_load(&ring->prod), n;
	bool tell = false;

	cq->wc[prod & cq->mask] = (struct ib_wc){ .wr_id = wr_id, .qp_num = qp_num };
	atomic_store(&ring->prod, prod + 1);
	if ((atomic_load(&ring->arm) & 3) >= kind) {
		atomic_store(&ring->notified, prod + 1);
		tell = atomic_exchange(&ring->arm, AL_ARM_NONE) & 3;
	}
	n = atomic_load(&ring->arm_n);
	if (n && prod + 1 - atomic_load(&ring->cons) >= n) {
		atomic_store(&ring->notified, prod + 1);
		tell |= atomic_exchange(&ring->arm_n, 0) != 0;
	}
	return tell;
}

uint32_t poll_all(struct cq *cq, struct ib_wc *wc)
{
	uint32_t count;

	ck_assert_int_eq(ops->poll_cq(&cq->p.cq, 64, wc, &count), AL_SUCCESS);
	ck_assert_uint_eq(atomic_load(&cq->ring->cons), atomic_load(&cq->ring->prod));
	return count;
}

const struct ib_qp_cap cap = { .max_send_wr = 5,
			       .max_recv_wr = 3,
			       .max_send_sge = 2,
			       .max_recv_sge = 2,
			       .max_inline_data = 40 };

al_status try_qp(struct qp *qp, struct cq *cq, ib_qp_type type, const struct ring_made *answer,
		 uint32_t length, al_status status)
{
	struct ci_qp_init init = { .cap = cap };
	const struct ring_make *request = (const void *)call_in;

	memset(qp, 0, sizeof(*qp));
	qp->cq = cq;
	qp->p.qp = (struct ci_qp){ .pd = &pd,
				   .send_cq = &cq->p.cq,
				   .recv_cq = &cq->p.cq,
				   .qp_type = type,
				   .cap = cap,
				   .owner_context = (void *)0x1234,
				   .qp_num = 7 };
	ck_assert_int_eq(ops->pre_create_qp(&qp->p.qp, &init, begin_call()), AL_SUCCESS);
	ck_assert_uint_eq(request->bytes, ring_layout(&cap).bytes);
	ck_assert_uint_eq(request->context, 0x1234);
	ck_assert_uint_ge(call.out_room, sizeof(*answer));
	qp->ring = accept_file(request->bytes);
	call.out = answer;
	call.out_len = length;
	status = ops->post_create_qp(&qp->p.qp, &init, status, &call);
	return status;
}

void make_qp(struct qp *qp, struct cq *cq, ib_qp_type type, ib_qp_state state)
{
	const struct ring_made answer = { .bell = BELL };

	ck_assert_int_eq(try_qp(qp, cq, type, &answer, sizeof(answer), AL_SUCCESS), AL_SUCCESS);
	atomic_store(&qp->ring->state, state);
}

void free_qp(struct qp *qp)
{
	munmap(qp->ring, ring_layout(&cap).bytes);
	ops->post_destroy_qp(&qp->p.qp, begin_call());
}

int run_cases(TCase *const *cases, uint32_t num)
{
	Suite *suite = suite_create("uvp: soft");
	SRunner *runner;
	int failed;

	for (uint32_t i = 0; i < num; i++)
		suite_add_tcase(suite, cases[i]);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
