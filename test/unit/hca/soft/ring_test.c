/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Queues in memory that a client shares (hca/soft/shared/ring.h), from the module's side: mapping, reading entries,
 * and clients that write nonsense. The test writes each word of the client itself.
 */
#include "hca/soft/client/ring_thread.h"
#include "hca/soft/client/rings.h"
#include "hca/soft/engine/engine.h"
#include "hca/soft/object/hca.h"
#include "hca/soft/shared/ring.h"
#include "hca/soft/transport/qp.h"

#include "harness.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#define DEPTH 32u
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW)

static struct ci_client *me = (struct ci_client *)"a client";
static struct ring_door *door;
static void *um_ctx;
static uint32_t mine; /* index of the HCA that the helpers use */

/* ----------------------------------------------------------- objects of a provider */

static int make_file(size_t bytes, int seals)
{
	int fd = memfd_create("ring_test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	ck_assert_int_ge(fd, 0);
	ck_assert(!ftruncate(fd, (off_t)bytes));
	if (seals)
		ck_assert(!fcntl(fd, F_ADD_SEALS, seals));
	return fd;
}

static void *map(int fd, size_t bytes)
{
	void *mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	ck_assert(mem != MAP_FAILED);
	return mem;
}

static al_status open_with(const struct ring_open *said, int fd)
{
	struct ring_opened heard = { 0 };
	struct ci_udata udata = { .client = me, .in = said, .in_len = sizeof(*said), .out = &heard,
				  .out_len = sizeof(heard), .fds = &fd, .num_fds = 1 };
	al_status status = ops->um_open_ca(hca[mine].ca, &um_ctx, &udata);

	if (!status) {
		ck_assert_uint_eq(udata.out_len, sizeof(heard));
		ck_assert_uint_eq(heard.version, RING_VERSION);
		ck_assert_uint_eq(heard.gids, 1);
		ck_assert_int_ge(given_fd, 0);
	}
	return status;
}

static void open_door(void)
{
	const struct ring_open said = { .version = RING_VERSION };
	int fd = make_file(sizeof(*door), SEALS);

	door = map(fd, sizeof(*door));
	ck_assert_int_eq(open_with(&said, fd), AL_SUCCESS);
	close(fd);
}

static void setup(void)
{
	up("");
	open_door();
}

static void setup_manual(void)
{
	up("progress=manual seed=1");
	open_door();
}

/* The ring thread stays awake long enough for a test to look. */
static void setup_spinning(void)
{
	up("ring_spin=20000");
	open_door();
}

static void teardown(void)
{
	ops->um_close_ca(hca[0].ca, um_ctx);
	close(given_fd);
	munmap(door, sizeof(*door));
	down();
}

static void *object(enum ci_obj kind)
{
	return al_alloc_aligned(64, ops->obj_size[kind]);
}

static struct ci_cq *try_cq(const void *said, uint32_t len, const int *fds, uint32_t num_fds, al_status *status)
{
	struct ci_udata udata = { .client = me, .in = said, .in_len = len, .fds = fds, .num_fds = num_fds };
	struct ci_cq_init init = { .cqe = DEPTH };
	struct ci_cq *cq = object(CI_OBJ_CQ);

	cq->pd = hca[mine].pd;
	*status = ops->create_cq(cq, &init, &udata);
	if (*status) {
		al_free(cq);
		cq = NULL;
	}
	return cq;
}

static struct cq *ring_cq(struct ring_cq **ring)
{
	const struct ring_make said = { .bytes = ring_cq_bytes(DEPTH) };
	struct cq *cq = calloc(1, sizeof(*cq));
	int fd = make_file(said.bytes, SEALS);
	al_status status;

	*ring = map(fd, said.bytes);
	cq->ci = try_cq(&said, sizeof(said), &fd, 1, &status);
	ck_assert_int_eq(status, AL_SUCCESS);
	cq->ci->ctx = cq;
	close(fd);
	return cq;
}

static const struct ib_qp_cap cap = { DEPTH, DEPTH, 2, 2, 60 };

static struct qp *ring_qp(struct cq *cq, ib_qp_type type, struct ring_qp **ring, uint32_t *bell, al_status *status)
{
	struct al_qp_init attr = { .qp_type = type };
	struct ci_qp_init init = { .attr = &attr, .cap = cap };
	const struct ring_make said = { .bytes = ring_layout(&cap).bytes, .context = 0xabcdef };
	struct ring_made heard = { 0 };
	struct qp *qp = calloc(1, sizeof(*qp));
	int fd = make_file(said.bytes, SEALS);
	struct ci_udata udata = { .client = me, .in = &said, .in_len = sizeof(said), .out = &heard,
				  .out_len = sizeof(heard), .fds = &fd, .num_fds = 1 };

	*ring = map(fd, said.bytes);
	qp->hca = &hca[mine];
	qp->ci = object(CI_OBJ_QP);
	qp->ci->ctx = qp;
	qp->ci->pd = hca[mine].pd;
	qp->ci->send_cq = qp->ci->recv_cq = cq->ci;
	qp->ci->qp_type = type;
	*status = ops->create_qp(qp->ci, &init, &udata);
	*bell = heard.bell;
	close(fd);
	return qp;
}

static void ring_bell(uint32_t bell)
{
	uint64_t one = 1;

	atomic_fetch_or(&door->bells[bell / 64], 1ull << bell % 64);
	atomic_fetch_or(&door->rung, 1ull << bell / 64);
	if (atomic_exchange(&door->asleep, 0))
		ck_assert_int_eq(write(given_fd, &one, sizeof(one)), sizeof(one));
}

static struct ib_wc next_wc(struct ring_cq *ring)
{
	uint64_t limit = now_ms() + 20000;
	uint32_t cons = atomic_load(&ring->cons);
	struct ib_wc wc;

	while (atomic_load(&ring->prod) == cons)
		ck_assert_msg(now_ms() < limit, "no completion came");
	wc = ((struct ib_wc *)((char *)ring + RING_CQ_HEAD))[cons & (ring_cq_slots(DEPTH) - 1)];
	atomic_store(&ring->cons, cons + 1);
	return wc;
}

/* ---------------------------------------------------------- mapping of rings */

START_TEST(only_a_sealed_file_of_the_right_size_is_mapped)
{
	const size_t bytes = ring_cq_bytes(DEPTH);
	struct ring_make said = { .bytes = bytes };
	FILE *plain = tmpfile();
	int fds[] = { make_file(bytes, 0),          make_file(bytes, F_SEAL_GROW),
		      make_file(bytes + 1, SEALS),  make_file(bytes - 1, SEALS),
		      make_file(0, SEALS),          eventfd(0, EFD_CLOEXEC),
		      fileno(plain),                open("/dev/null", O_RDWR | O_CLOEXEC),
		      make_file(bytes, SEALS),      -1 };
	const uint32_t num = sizeof(fds) / sizeof(*fds), good = num - 2;
	struct ci_cq *cq;
	al_status status;

	ck_assert(!ftruncate(fileno(plain), (off_t)bytes));
	for (uint32_t i = 0; i < num; i++) {
		if (i == good)
			continue;
		try_cq(&said, sizeof(said), &fds[i], 1, &status);
		ck_assert_msg(status == AL_INVALID_PARAMETER, "descriptor %u: %d", i, status);
	}
	try_cq(&said, sizeof(said), NULL, 0, &status);
	ck_assert_int_eq(status, AL_INVALID_PARAMETER);
	try_cq(&said, sizeof(said), (int[]){ fds[good], fds[good] }, 2, &status);
	ck_assert_int_eq(status, AL_INVALID_PARAMETER);
	try_cq(&said, sizeof(said) - 1, &fds[good], 1, &status);
	ck_assert_int_eq(status, AL_INVALID_PARAMETER);
	said.bytes++;
	try_cq(&said, sizeof(said), &fds[good], 1, &status);
	ck_assert_int_eq(status, AL_INVALID_PARAMETER);
	said.bytes--;
	cq = try_cq(&said, sizeof(said), &fds[good], 1, &status);
	ck_assert_int_eq(status, AL_SUCCESS);
	ops->destroy_cq(cq);
	al_free(cq);
	for (uint32_t i = 0; i < num; i++)
		if (fds[i] >= 0 && fds[i] != fileno(plain))
			close(fds[i]);
	fclose(plain);
}
END_TEST

START_TEST(another_version_and_another_client_are_refused)
{
	struct ring_open said = { .version = RING_VERSION + 1 };
	int fd = make_file(sizeof(struct ring_door), SEALS);
	struct ci_udata udata = { .client = me };
	struct ring_cq *ring;
	struct ring_qp *qring;
	void *ctx = um_ctx, *other;
	struct cq *cq = ring_cq(&ring), *plain = new_cq(&hca[0], DEPTH, AL_CQ_NOTIFY_PENDING);
	struct ci_qp_init init = { .cap = cap };
	struct al_qp_init attr = { .qp_type = IB_QPT_RC };
	al_status status;
	uint32_t bell;
	struct qp *qp;

	ck_assert_int_eq(open_with(&said, fd), AL_MODULE_ABI);
	close(fd);
	um_ctx = ctx;
	/* without a provider the module keeps nothing */
	ck_assert_int_eq(ops->um_open_ca(hca[0].ca, &other, &udata), AL_UNSUPPORTED);
	/* rings on a queue without rings, and the reverse */
	qp = ring_qp(plain, IB_QPT_RC, &qring, &bell, &status);
	ck_assert_int_eq(status, AL_INVALID_PARAMETER);
	init.attr = &attr;
	qp->ci->send_cq = qp->ci->recv_cq = cq->ci;
	ck_assert_int_eq(ops->create_qp(qp->ci, &init, &udata), AL_INVALID_PARAMETER);
	al_free(qp->ci);
	free(qp);
	free_cq(plain);
	free_cq(cq);
}
END_TEST

static int threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	int count = 0;

	ck_assert_ptr_nonnull(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

/* The thread that answers bells comes with a client's first queue pair, and for nobody else. */
START_TEST(a_client_that_has_not_opened_the_hca_gets_neither_rings_nor_a_thread)
{
	const int before = threads();
	struct ring_cq *ring;
	struct ring_qp *qring;
	struct cq *cq = ring_cq(&ring);
	al_status status;
	uint32_t bell;
	struct qp *qp;

	ops->um_close_ca(hca[0].ca, um_ctx);
	close(given_fd);
	qp = ring_qp(cq, IB_QPT_RC, &qring, &bell, &status);
	ck_assert_int_eq(status, AL_INVALID_PARAMETER);
	al_free(qp->ci);
	free(qp);
	ck_assert_int_eq(threads(), before);
	munmap(door, sizeof(*door));
	open_door();
	ck_assert_int_eq(threads(), before);
	qp = ring_qp(cq, IB_QPT_RC, &qring, &bell, &status);
	ck_assert_int_eq(status, AL_SUCCESS);
	ck_assert_int_eq(threads(), before + 1);
	free_qp(qp);
	free_cq(cq);
}
END_TEST

/* ------------------------------------------------------------------- requests */

/*
 * Requests that are each wrong in one field: faults that soft_post_send() would refuse, and faults that only a ring
 * can have.
 */
static void no_opcode(struct ib_flat_send *s) { s->opcode = 255; }
static void not_ours(struct ib_flat_send *s) { s->opcode = IB_WR_LOCAL_INV; }
static void bad_flags(struct ib_flat_send *s) { s->flags |= 0x80; }
static void many_sge(struct ib_flat_send *s) { s->num_sge = 3; }
static void most_sge(struct ib_flat_send *s) { s->num_sge = UINT16_MAX; }
static void long_sge(struct ib_flat_send *s)
{
	s->num_sge = 2;
	ib_flat_tail(s)[0].length = ib_flat_tail(s)[1].length = 0x80000000u;
}
static void other_length(struct ib_flat_send *s) { s->length = 1; }
static void held(struct ib_flat_send *s) { s->holder[3] = 1; }
static void long_inline(struct ib_flat_send *s)
{
	s->flags |= IB_SEND_INLINE;
	s->length = 61; /* fits into the slot, but is more than max_inline */
}
static void most_inline(struct ib_flat_send *s)
{
	s->flags |= IB_SEND_INLINE;
	s->length = UINT32_MAX;
}
static void inline_read(struct ib_flat_send *s)
{
	s->opcode = IB_WR_RDMA_READ;
	s->flags |= IB_SEND_INLINE;
}
static void (*const wrong_sends[])(struct ib_flat_send *s) = { no_opcode, not_ours,    bad_flags,   many_sge,   most_sge,
							     long_sge,  long_inline, most_inline, inline_read, other_length, held };

static void no_port(struct ib_flat_send *s) { s->path.port_num = 0; }
static void far_port(struct ib_flat_send *s) { s->path.port_num = 255; }
static void big_sl(struct ib_flat_send *s) { s->path.sl = 16; }
static void big_flow(struct ib_flat_send *s) { s->path.grh_word = 1u << 28; }
static void no_gid(struct ib_flat_send *s)
{
	s->path.grh_word = 6u << 28;
	s->path.sgid_index = 255;
}
static void path_bits(struct ib_flat_send *s) { s->path.src_path_bits = 1; }
static void big_qpn(struct ib_flat_send *s) { s->key = 1u << 24; }
static void (*const wrong_paths[])(struct ib_flat_send *s) = { no_port, far_port, big_sl, big_flow, no_gid, path_bits, big_qpn };

#define NUM(array) (sizeof(array) / sizeof(*(array)))

static struct ib_flat_send *slot(struct ring_qp *ring, uint32_t index)
{
	const struct ring_layout at = ring_layout(&cap);

	return (struct ib_flat_send *)((char *)ring + at.sq + (index & at.sq_mask) * at.sq_stride);
}

static void expect_bad(struct ring_cq *cring, struct ring_qp *ring, struct qp *qp, uint64_t wr_id)
{
	struct ib_wc wc = next_wc(cring);

	ck_assert_int_eq(wc.status, IB_WC_LOC_QP_OP_ERR);
	ck_assert_uint_eq(wc.wr_id, wr_id);
	ck_assert_uint_eq((uintptr_t)wc.qp_context, 0xabcdef);
	wait_bits(&qp->events, 1u << IB_EVENT_QP_FATAL);
	ck_assert_int_eq(state_of(qp), IB_QPS_ERR);
	ck_assert_uint_eq(atomic_load(&ring->state), IB_QPS_ERR);
}

START_TEST(what_is_no_request_ends_the_queue_pair_and_reset_begins_anew)
{
	bool ud = (size_t)_i >= NUM(wrong_sends);
	struct qp_options o = { .type = ud ? IB_QPT_UD : IB_QPT_RC, .qkey = 7 };
	struct ring_cq *cring;
	struct ring_qp *ring;
	struct cq *cq = ring_cq(&cring), *pcq = new_cq(&hca[1], DEPTH, AL_CQ_NOTIFY_PENDING);
	struct qp *peer = new_qp(&hca[1], pcq, pcq, &o), *qp;
	uint32_t bell;
	al_status status;

	qp = ring_qp(cq, o.type, &ring, &bell, &status);
	ck_assert_int_eq(status, AL_SUCCESS);
	for (int again = 0; again < 2; again++) {
		if (again) {
			ck_assert_int_eq(modify(qp, IB_QPS_RESET, 0, NULL), AL_SUCCESS);
			ck_assert_int_eq(modify(peer, IB_QPS_RESET, 0, NULL), AL_SUCCESS);
			atomic_store(&ring->sq_prod, 0);
			atomic_store(&qp->events, 0);
		}
		connect_qps(qp, peer, &o);
		post_recv(peer, 9, NULL, 0);
		*slot(ring, 0) = (struct ib_flat_send){ .wr_id = 40, .opcode = IB_WR_SEND, .flags = IB_SEND_SIGNALED };
		if (ud) {
			slot(ring, 0)->key = peer->ci->qp_num;
			slot(ring, 0)->path = (struct ib_flat_path){ .qkey = 7, .port_num = 1 };
		}
		*slot(ring, 1) = *slot(ring, 0);
		slot(ring, 1)->wr_id = 41;
		if (!ud) { /* a correct request before the wrong one, which completes */
			atomic_store(&ring->sq_prod, 1);
			ring_bell(bell);
			ck_assert_int_eq(next_wc(cring).status, IB_WC_SUCCESS);
			ck_assert_uint_eq(atomic_load(&ring->sq_cons), 1);
			expect_wc(pcq, 9, IB_WC_SUCCESS);
			wrong_sends[_i](slot(ring, 1));
			atomic_store(&ring->sq_prod, 2);
		} else {
			*slot(ring, 0) = *slot(ring, 1);
			wrong_paths[(size_t)_i - NUM(wrong_sends)](slot(ring, 0));
			atomic_store(&ring->sq_prod, 1);
		}
		ring_bell(bell);
		expect_bad(cring, ring, qp, 41);
	}
	free_qp(qp);
	free_qp(peer);
	free_cq(cq);
	free_cq(pcq);
}
END_TEST

struct signaller {
	struct actor *actor;
	_Atomic bool stop;
};

/* Signals the queue pair's actor again and again, so that its owner may see a signal at any moment. */
static void *signal_often(void *arg)
{
	struct signaller *s = arg;
	struct runner r;

	while (!atomic_load(&s->stop)) {
		runner_start(&r);
		actor_signal(&r, s->actor, SIGNAL_TIMER);
		runner_run(&r);
	}
	return NULL;
}

/* Either thread may take the signal, and reads the failure word then; ThreadSanitizer checks the order. */
START_TEST(a_failure_is_told_once_by_the_thread_that_takes_its_signal)
{
	struct ring_cq *cring;
	struct ring_qp *ring;
	struct cq *cq = ring_cq(&cring), *pcq = new_cq(&hca[1], DEPTH, AL_CQ_NOTIFY_PENDING);
	struct qp_options o = { 0 };
	struct qp *peer = new_qp(&hca[1], pcq, pcq, &o), *qp;
	struct signaller other = { 0 };
	pthread_t thread;
	uint32_t bell;
	al_status status;

	qp = ring_qp(cq, IB_QPT_RC, &ring, &bell, &status);
	ck_assert_int_eq(status, AL_SUCCESS);
	other.actor = soft_qp(qp->ci)->actor;
	ck_assert(!pthread_create(&thread, NULL, signal_often, &other));
	for (uint64_t i = 0; i < 1000; i++) {
		connect_qps(qp, peer, &o);
		*slot(ring, 0) = (struct ib_flat_send){ .wr_id = i, .opcode = 255 };
		atomic_store(&ring->sq_prod, 1);
		ring_bell(bell);
		expect_bad(cring, ring, qp, i);
		ck_assert_int_eq(modify(qp, IB_QPS_RESET, 0, NULL), AL_SUCCESS);
		ck_assert_int_eq(modify(peer, IB_QPS_RESET, 0, NULL), AL_SUCCESS);
		ck_assert_uint_eq(atomic_load(&cring->prod), i + 1);
		atomic_store(&ring->sq_prod, 0);
		atomic_store(&qp->events, 0);
	}
	atomic_store(&other.stop, true);
	pthread_join(thread, NULL);
	free_qp(qp);
	free_qp(peer);
	free_cq(cq);
	free_cq(pcq);
}
END_TEST

static void late_signal(struct qp *qp, bool recv)
{
	struct runner r;

	runner_start(&r);
	actor_signal(&r, soft_qp(qp->ci)->actor, recv ? SIGNAL_BAD_RECV : SIGNAL_BAD_SEND);
	runner_run(&r);
}

/* A thread has recorded a failure, and its signal comes only after a reset. _i: send queue, receive queue. */
START_TEST(a_signal_that_comes_after_reset_ends_nothing)
{
	struct ring_cq *cring;
	struct ring_qp *ring;
	struct cq *cq = ring_cq(&cring), *pcq = new_cq(&hca[1], DEPTH, AL_CQ_NOTIFY_PENDING);
	struct qp_options o = { 0 };
	struct qp *peer = new_qp(&hca[1], pcq, pcq, &o), *qp;
	uint32_t bell;
	al_status status;

	qp = ring_qp(cq, IB_QPT_RC, &ring, &bell, &status);
	ck_assert_int_eq(status, AL_SUCCESS);
	for (uint64_t again = 0; again < 2; again++) {
		connect_qps(qp, peer, &o);
		late_signal(qp, _i);
		post_recv(peer, 9, NULL, 0);
		*slot(ring, 0) = (struct ib_flat_send){ .wr_id = 40, .opcode = IB_WR_SEND, .flags = IB_SEND_SIGNALED };
		*slot(ring, 1) = (struct ib_flat_send){ .wr_id = 41, .opcode = 255 };
		atomic_store(&ring->sq_prod, 1);
		ring_bell(bell);
		ck_assert_int_eq(next_wc(cring).status, IB_WC_SUCCESS);
		expect_wc(pcq, 9, IB_WC_SUCCESS);
		ck_assert_uint_eq(atomic_load(&qp->events), 0);
		atomic_store(&ring->sq_prod, 2);
		ring_bell(bell);
		expect_bad(cring, ring, qp, 41);
		late_signal(qp, _i);
		/* the error is reported once */
		ck_assert_uint_eq(atomic_load(&cring->prod), atomic_load(&cring->cons));
		ck_assert_int_eq(modify(qp, IB_QPS_RESET, 0, NULL), AL_SUCCESS);
		ck_assert_int_eq(modify(peer, IB_QPS_RESET, 0, NULL), AL_SUCCESS);
		atomic_store(&ring->sq_prod, 0);
		atomic_store(&qp->events, 0);
	}
	free_qp(qp);
	free_qp(peer);
	free_cq(cq);
	free_cq(pcq);
}
END_TEST

/* The producer's index is beyond the queue. The module reads the index of receives when a message comes. */
START_TEST(an_index_that_lies_ends_the_queue_pair)
{
	static const uint32_t lies[] = { DEPTH + 1, 0x80000000u, UINT32_MAX };
	struct ring_cq *cring;
	struct ring_qp *ring;
	struct cq *cq = ring_cq(&cring), *pcq = new_cq(&hca[1], DEPTH, AL_CQ_NOTIFY_PENDING);
	struct qp_options o = { 0 };
	struct qp *peer = new_qp(&hca[1], pcq, pcq, &o), *qp;
	struct ib_send_wr wr = send_wr(1, IB_WR_SEND, NULL, 0);
	uint32_t bell;
	al_status status;

	qp = ring_qp(cq, IB_QPT_RC, &ring, &bell, &status);
	ck_assert_int_eq(status, AL_SUCCESS);
	connect_qps(qp, peer, &o);
	if (_i % 2) {
		atomic_store(&ring->rq_prod, lies[_i / 2]);
		post(peer, &wr);
	} else {
		atomic_store(&ring->sq_prod, lies[_i / 2]);
		ring_bell(bell);
	}
	expect_bad(cring, ring, qp, 0);
	/* the module takes nothing from such a ring */
	ck_assert_uint_eq(atomic_load(&soft_qp(qp->ci)->sq.prod), 0);
	ck_assert_uint_eq(atomic_load(&soft_qp(qp->ci)->rq.prod), 0);
	free_qp(qp);
	free_qp(peer);
	free_cq(cq);
	free_cq(pcq);
}
END_TEST

START_TEST(a_queue_pair_that_signals_all_requests_signals_those_of_its_ring)
{
	struct ring_cq *cring;
	struct ring_qp *ring;
	struct cq *cq = ring_cq(&cring), *pcq = new_cq(&hca[1], DEPTH, AL_CQ_NOTIFY_PENDING);
	struct qp_options o = { 0 };
	struct qp *peer = new_qp(&hca[1], pcq, pcq, &o), *qp;
	uint32_t bell;
	al_status status;

	qp = ring_qp(cq, IB_QPT_RC, &ring, &bell, &status);
	ck_assert_int_eq(status, AL_SUCCESS);
	qp->ci->sq_sig_all = true;
	connect_qps(qp, peer, &o);
	post_recv(peer, 9, NULL, 0);
	*slot(ring, 0) = (struct ib_flat_send){ .wr_id = 40, .opcode = IB_WR_SEND };
	atomic_store(&ring->sq_prod, 1);
	ring_bell(bell);
	ck_assert_uint_eq(next_wc(cring).wr_id, 40);
	free_qp(qp);
	free_qp(peer);
	free_cq(cq);
	free_cq(pcq);
}
END_TEST

static const struct ib_flat_recv wrong_recvs[] = {
	{ .wr_id = 40, .num_sge = 3 },
	{ .wr_id = 40, .num_sge = UINT32_MAX },
	{ .wr_id = 40, .length = 1 },
	{ .wr_id = 40, .num_sge = 1, .length = UINT32_MAX },
};

/* _i: index in wrong_recvs[]. A message makes the module read the receives. */
START_TEST(what_is_no_receive_ends_the_queue_pair)
{
	const struct ring_layout at = ring_layout(&cap);
	struct ring_cq *cring;
	struct ring_qp *ring;
	struct cq *cq = ring_cq(&cring), *pcq = new_cq(&hca[1], DEPTH, AL_CQ_NOTIFY_PENDING);
	struct qp_options o = { 0 };
	struct qp *peer = new_qp(&hca[1], pcq, pcq, &o), *qp;
	struct ib_send_wr wr = send_wr(1, IB_WR_SEND, NULL, 0);
	uint32_t bell;
	al_status status;

	qp = ring_qp(cq, IB_QPT_RC, &ring, &bell, &status);
	ck_assert_int_eq(status, AL_SUCCESS);
	connect_qps(qp, peer, &o);
	*(struct ib_flat_recv *)((char *)ring + at.rq) = wrong_recvs[_i];
	atomic_store(&ring->rq_prod, 1);
	post(peer, &wr);
	expect_bad(cring, ring, qp, 40);
	ck_assert_uint_eq(atomic_load(&soft_qp(qp->ci)->rq.prod), 0);
	free_qp(qp);
	free_qp(peer);
	free_cq(cq);
	free_cq(pcq);
}
END_TEST

/* Bells that no queue pair has, and all bells at the same time. */
START_TEST(bells_of_no_queue_pair_are_harmless)
{
	struct ring_cq *cring;
	struct ring_qp *ring;
	struct cq *cq = ring_cq(&cring), *pcq = new_cq(&hca[1], DEPTH, AL_CQ_NOTIFY_PENDING);
	struct qp_options o = { 0 };
	struct qp *peer = new_qp(&hca[1], pcq, pcq, &o), *qp;
	uint32_t bell;
	al_status status;

	qp = ring_qp(cq, IB_QPT_RC, &ring, &bell, &status);
	ck_assert_int_eq(status, AL_SUCCESS);
	connect_qps(qp, peer, &o);
	for (uint32_t i = 0; i < DEPTH; i++) {
		for (uint32_t k = 0; k < RING_BELLS / 64; k++)
			atomic_store(&door->bells[k], UINT64_MAX);
		atomic_store(&door->rung, UINT64_MAX);
		post_recv(peer, i, NULL, 0);
		*slot(ring, i) = (struct ib_flat_send){ .wr_id = i, .opcode = IB_WR_SEND, .flags = IB_SEND_SIGNALED };
		atomic_store(&ring->sq_prod, i + 1);
		ring_bell(bell);
		ck_assert_uint_eq(next_wc(cring).wr_id, i);
		expect_wc(pcq, i, IB_WC_SUCCESS);
	}
	free_qp(qp);
	free_qp(peer);
	free_cq(cq);
	free_cq(pcq);
}
END_TEST

/* The module refuses posts, polls and arms of queues whose rings a client uses. */
START_TEST(operations_on_what_is_shared_are_refused)
{
	const struct ib_send_wr swr = send_wr(1, IB_WR_SEND, NULL, 0), *sbad;
	const struct ib_recv_wr rwr = { 0 }, *rbad;
	struct qp_options o = { 0 };
	struct ring_cq *cring;
	struct ring_qp *ring;
	struct cq *cq = ring_cq(&cring);
	uint32_t bell, count;
	struct ib_wc wc;
	al_status status;
	bool present;
	struct qp *qp = ring_qp(cq, IB_QPT_RC, &ring, &bell, &status);

	ck_assert_int_eq(status, AL_SUCCESS);
	connect_qps(qp, qp, &o);
	ck_assert_int_eq(ops->post_send(qp->ci, &swr, &sbad), AL_INVALID_STATE);
	ck_assert_int_eq(ops->post_recv(qp->ci, &rwr, &rbad), AL_INVALID_STATE);
	ck_assert_int_eq(ops->poll_cq(cq->ci, 1, &wc, &count), AL_INVALID_STATE);
	ck_assert_int_eq(ops->peek_cq(cq->ci, 1, &count), AL_INVALID_STATE);
	ck_assert_int_eq(ops->arm_cq(cq->ci, AL_ARM_ANY, &present), AL_INVALID_STATE);
	ck_assert_int_eq(ops->arm_cq_n(cq->ci, 1), AL_INVALID_STATE);
	ck_assert_int_eq(ops->resize_cq(cq->ci, &(uint32_t){ 40 }, NULL), AL_INVALID_PARAMETER);
	free_qp(qp);
	free_cq(cq);
}
END_TEST

static al_status resize(struct cq *cq, uint32_t cqe, size_t file, const struct ring_make *said)
{
	int fd = make_file(file, SEALS);
	struct ci_udata udata = { .client = me, .in = said, .in_len = sizeof(*said), .fds = &fd, .num_fds = 1 };
	al_status status = ops->resize_cq(cq->ci, &cqe, &udata);

	close(fd);
	return status;
}

/* The client's consumer index decides whether new entries fit: a wrong index spoils only the client's own queue. */
START_TEST(new_entries_are_taken_if_they_are_as_large_as_said_and_hold_what_is_there)
{
	const struct ring_make good = { .bytes = ring_wc_bytes(40) }, small = { .bytes = ring_wc_bytes(40) - 1 };
	struct cq *plain = new_cq(&hca[0], DEPTH, AL_CQ_NOTIFY_PENDING);
	struct ring_cq *ring;
	struct cq *cq = ring_cq(&ring);

	ck_assert_int_eq(resize(plain, 40, good.bytes, &good), AL_INVALID_PARAMETER);
	ck_assert_int_eq(resize(cq, 40, small.bytes, &small), AL_INVALID_PARAMETER);
	ck_assert_int_eq(resize(cq, 40, small.bytes, &good), AL_INVALID_PARAMETER);
	ck_assert_int_eq(resize(cq, 1000, good.bytes, &good), AL_INVALID_PARAMETER);
	ck_assert_uint_eq(atomic_load(&ring->moved), 0);
	atomic_store(&ring->cons, 1); /* more than the queue has had */
	ck_assert_int_eq(resize(cq, 40, good.bytes, &good), AL_TOO_SMALL);
	atomic_store(&ring->cons, (uint32_t)-41);
	ck_assert_int_eq(resize(cq, 40, good.bytes, &good), AL_TOO_SMALL);
	ck_assert_uint_eq(atomic_load(&ring->moved), 0);
	atomic_store(&ring->cons, 0);
	ck_assert_int_eq(resize(cq, 40, good.bytes, &good), AL_SUCCESS);
	ck_assert_uint_eq(atomic_load(&ring->moved), 1);
	ck_assert_uint_eq(atomic_load(&ring->moved_at), 0);
	free_cq(plain);
	free_cq(cq);
}
END_TEST

/* --------------------------------------------------------------------- turns */

struct flooder {
	struct ring_qp *ring;
	struct qp *qp;
	uint32_t bell;
};

/* A datagram queue pair whose requests go to an unused LID, and complete without a completion. */
static struct flooder flooder(struct cq *cq)
{
	const struct qp_options o = { .type = IB_QPT_UD, .qkey = 7 };
	struct flooder f;
	al_status status;

	f.qp = ring_qp(cq, IB_QPT_UD, &f.ring, &f.bell, &status);
	ck_assert_int_eq(status, AL_SUCCESS);
	to_init(f.qp, &o);
	to_rtr(f.qp, f.qp, &o);
	to_rts(f.qp, &o);
	return f;
}

/* Fills the send ring with requests, and sets the bell. */
static void flood(const struct flooder *f)
{
	uint32_t prod = atomic_load(&f->ring->sq_prod), cons = atomic_load(&f->ring->sq_cons);

	for (; prod - cons < DEPTH; prod++)
		*slot(f->ring, prod) = (struct ib_flat_send){ .opcode = IB_WR_SEND, .key = 0xfffff0,
							   .path = { .qkey = 7, .port_num = 1, .dlid = 1 } };
	atomic_store(&f->ring->sq_prod, prod);
	ring_bell(f->bell);
}

static uint32_t taken(const struct flooder *f)
{
	return atomic_load(&soft_qp(f->qp->ci)->sq.prod);
}

#define FLOODERS 5
#define TURN     48u /* requests of one client in its turn: 16 of each of three queue pairs */

/* In the next turn the client's other queue pairs come first. */
START_TEST(a_client_that_always_posts_starves_no_other_client)
{
	enum { ROUNDS = 20 };
	struct soft_hca *soft = ca_hca(hca[0].ca);
	struct ci_client *const first = me;
	struct ring_door *const first_door = door, *second_door;
	void *const first_ctx = um_ctx;
	struct flooder f[FLOODERS], quiet;
	const int first_fd = given_fd;
	struct ring_cq *cring, *qring;
	struct cq *cq = ring_cq(&cring), *qcq;
	uint32_t i, all;

	for (i = 0; i < FLOODERS; i++)
		f[i] = flooder(cq);
	me = (struct ci_client *)"another";
	open_door();
	second_door = door;
	qcq = ring_cq(&qring);
	quiet = flooder(qcq);
	for (uint32_t round = 1; round <= ROUNDS; round++) {
		door = second_door;
		flood(&quiet);
		door = first_door;
		for (i = 0; i < FLOODERS; i++)
			flood(&f[i]);
		ck_assert(rings_step(soft));
		for (i = all = 0; i < FLOODERS; i++)
			all += taken(&f[i]);
		ck_assert_uint_eq(all, TURN * round);
		ck_assert_uint_eq(taken(&quiet), DEPTH * round);
		while (engine_step(soft->engine, 0))
			;
	}
	for (i = 0; i < FLOODERS; i++)
		ck_assert_uint_ge(taken(&f[i]), TURN * (ROUNDS / FLOODERS - 1));
	free_qp(quiet.qp);
	free_cq(qcq);
	ops->um_close_ca(hca[0].ca, um_ctx);
	close(given_fd);
	munmap(second_door, sizeof(*door));
	/* a client behind one that has closed is served */
	me = (struct ci_client *)"a third";
	open_door();
	qcq = ring_cq(&qring);
	quiet = flooder(qcq);
	flood(&quiet);
	rings_step(soft);
	ck_assert_uint_eq(taken(&quiet), DEPTH);
	free_qp(quiet.qp);
	free_cq(qcq);
	ops->um_close_ca(hca[0].ca, um_ctx);
	close(given_fd);
	munmap(door, sizeof(*door));
	me = first, um_ctx = first_ctx, given_fd = first_fd;
	/* the first client is served too: its last round's rest is taken without another bell */
	while (rings_step(soft))
		;
	for (i = 0; i < FLOODERS; i++)
		ck_assert_uint_eq(taken(&f[i]), atomic_load(&f[i].ring->sq_prod));
	for (i = 0; i < FLOODERS; i++)
		free_qp(f[i].qp);
	free_cq(cq);
}
END_TEST

/* One client of each of several HCAs. */
struct user {
	struct flooder f;
	struct cq *cq;
	struct ring_door *door;
	void *um_ctx;
	int wake;
};

static void make_user(struct user *u)
{
	struct ring_cq *cring;

	open_door();
	*u = (struct user){ .door = door, .um_ctx = um_ctx, .wake = given_fd };
	u->cq = ring_cq(&cring);
	u->f = flooder(u->cq);
}

static void free_user(struct user *u, uint32_t of)
{
	free_qp(u->f.qp);
	free_cq(u->cq);
	ops->um_close_ca(hca[of].ca, u->um_ctx);
	close(u->wake);
	munmap(u->door, sizeof(*u->door));
}

/* Posts to each queue pair from `first` on, and waits until all requests are taken. */
static void all_are_served(struct user *users, uint32_t first, uint32_t count)
{
	uint64_t limit = now_ms() + 20000;
	uint32_t i;

	for (i = first; i < count; i++) {
		door = users[i].door;
		given_fd = users[i].wake;
		flood(&users[i].f);
	}
	for (i = first; i < count; i++)
		while (taken(&users[i].f) != atomic_load(&users[i].f.ring->sq_prod))
			ck_assert_msg(now_ms() < limit, "the client of HCA %u is not served", i);
}

/* The thread looks at clients that post, not at those that are idle; a parked client's bell is
 * answered all the same. */
START_TEST(an_idle_client_stays_parked_while_another_is_served)
{
	struct ci_client *const first = me;
	struct user busy = { .door = door, .um_ctx = um_ctx, .wake = given_fd }, idle;
	const uint64_t limit = now_ms() + 20000;
	struct ring_cq *cring;

	busy.cq = ring_cq(&cring);
	busy.f = flooder(busy.cq);
	me = (struct ci_client *)"another";
	make_user(&idle);
	while (!atomic_load(&idle.door->asleep) || !atomic_load(&busy.door->asleep))
		ck_assert(now_ms() < limit);
	all_are_served(&busy, 0, 1);
	ck_assert_uint_eq(atomic_load(&idle.door->asleep), 1);
	all_are_served(&idle, 0, 1);
	while (!atomic_load(&idle.door->asleep))
		ck_assert(now_ms() < limit);
	/* the bell of a parked client is answered while the thread has other work without end */
	door = idle.door;
	given_fd = idle.wake;
	flood(&idle.f);
	while (taken(&idle.f) != atomic_load(&idle.f.ring->sq_prod)) {
		ck_assert(now_ms() < limit);
		door = busy.door;
		given_fd = busy.wake;
		flood(&busy.f);
	}
	free_user(&idle, 0);
	me = first;
	all_are_served(&busy, 0, 1);
	free_qp(busy.f.qp);
	free_cq(busy.cq);
	door = busy.door;
	um_ctx = busy.um_ctx;
	given_fd = busy.wake;
}
END_TEST

/* Threads are shared by HCAs when there are more, and last as long as an HCA that has them. */
START_TEST(the_threads_for_rings_do_not_grow_with_the_hcas)
{
	enum { HCAS = 3 * RING_THREADS };
	struct user users[HCAS];
	char settings[16];
	int before;

	snprintf(settings, sizeof(settings), "hcas=%d", HCAS);
	up(settings);
	before = threads();
	for (mine = 0; mine < HCAS; mine++) {
		make_user(&users[mine]);
		ck_assert_int_eq(threads(),
				 before + (mine < RING_THREADS ? (int)mine + 1 : RING_THREADS));
	}
	all_are_served(users, 0, HCAS);
	for (mine = 0; mine < HCAS - 1; mine++)
		free_user(&users[mine], mine);
	ck_assert_int_eq(threads(), before + 1);
	all_are_served(users, HCAS - 1, HCAS);
	/* a thread that has ended begins again */
	mine = 0;
	make_user(&users[0]);
	ck_assert_int_eq(threads(), before + 2);
	all_are_served(users, 0, 1);
	free_user(&users[0], 0);
	/* a client that has its last queue pair destroyed keeps no thread, and gets one again */
	mine = HCAS - 1;
	free_qp(users[mine].f.qp);
	ck_assert_int_eq(threads(), before);
	door = users[mine].door;
	users[mine].f = flooder(users[mine].cq);
	ck_assert_int_eq(threads(), before + 1);
	all_are_served(users, mine, HCAS);
	free_user(&users[mine], mine);
	ck_assert_int_eq(threads(), before);
	down();
}
END_TEST

START_TEST(a_client_has_so_many_bells_and_no_bell_twice)
{
	struct ring_cq *cring;
	struct ring_qp *ring;
	struct cq *cq = ring_cq(&cring);
	static struct qp *qps[RING_BELLS + 1];
	static bool seen[RING_BELLS];
	uint32_t bell, i;
	al_status status;

	for (i = 0; i < RING_BELLS; i++) {
		qps[i] = ring_qp(cq, IB_QPT_UD, &ring, &bell, &status);
		ck_assert_int_eq(status, AL_SUCCESS);
		ck_assert_uint_lt(bell, RING_BELLS);
		ck_assert(!seen[bell]);
		seen[bell] = true;
		munmap(ring, ring_layout(&cap).bytes);
	}
	qps[i] = ring_qp(cq, IB_QPT_UD, &ring, &bell, &status);
	ck_assert_int_eq(status, AL_LIMIT_EXCEEDED);
	al_free(qps[i]->ci);
	free(qps[i]);
	munmap(ring, ring_layout(&cap).bytes);
	while (i--)
		free_qp(qps[i]);
	/* the bells are free again */
	qps[0] = ring_qp(cq, IB_QPT_UD, &ring, &bell, &status);
	ck_assert_int_eq(status, AL_SUCCESS);
	munmap(ring, ring_layout(&cap).bytes);
	free_qp(qps[0]);
	free_cq(cq);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("soft: rings");
	TCase *t = tcase_create("rings");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, only_a_sealed_file_of_the_right_size_is_mapped);
	tcase_add_test(t, another_version_and_another_client_are_refused);
	tcase_add_test(t, a_client_that_has_not_opened_the_hca_gets_neither_rings_nor_a_thread);
	tcase_add_loop_test(t, what_is_no_request_ends_the_queue_pair_and_reset_begins_anew, 0,
			    (int)(NUM(wrong_sends) + NUM(wrong_paths)));
	tcase_add_test(t, a_failure_is_told_once_by_the_thread_that_takes_its_signal);
	tcase_add_loop_test(t, a_signal_that_comes_after_reset_ends_nothing, 0, 2);
	tcase_add_loop_test(t, an_index_that_lies_ends_the_queue_pair, 0, 6);
	tcase_add_test(t, a_queue_pair_that_signals_all_requests_signals_those_of_its_ring);
	tcase_add_loop_test(t, what_is_no_receive_ends_the_queue_pair, 0, (int)NUM(wrong_recvs));
	tcase_add_test(t, bells_of_no_queue_pair_are_harmless);
	tcase_add_test(t, operations_on_what_is_shared_are_refused);
	tcase_add_test(t, new_entries_are_taken_if_they_are_as_large_as_said_and_hold_what_is_there);
	tcase_add_test(t, a_client_has_so_many_bells_and_no_bell_twice);
	suite_add_tcase(s, t);
	t = tcase_create("idle");
	tcase_add_checked_fixture(t, setup_spinning, teardown);
	tcase_add_test(t, an_idle_client_stays_parked_while_another_is_served);
	suite_add_tcase(s, t);
	t = tcase_create("turns");
	tcase_add_checked_fixture(t, setup_manual, teardown);
	tcase_add_test(t, a_client_that_always_posts_starves_no_other_client);
	suite_add_tcase(s, t);
	t = tcase_create("threads");
	tcase_add_test(t, the_threads_for_rings_do_not_grow_with_the_hcas);
	suite_add_tcase(s, t);
	return run_suite(s);
}
