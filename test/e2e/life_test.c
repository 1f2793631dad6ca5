/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Destroys and removals under real traffic, on the software HCA: rules that the unit tests check
 * with a module that completes at once, here with data under way and on other threads.
 */
#include <iba/ib_soft.h>
#include "test/unit/al/bed.h"

/* Statuses that a call may return while objects are being destroyed; all others are counted as
 * wrong. */
struct judge {
	atomic_uint wrong, right;
	_Atomic al_status first_wrong;
};

static bool judge(struct judge *j, al_status st)
{
	switch (st) {
	case AL_SUCCESS:
		j->right++;
		return true;
	case AL_INVALID_HANDLE: /* destroyed */
	case AL_CA_REMOVED:
	case AL_QUEUE_FULL:     /* in Error, or the peer is slow: the queue is not polled yet */
	case AL_INVALID_STATE:
		return true;
	default:
		if (!j->wrong++)
			j->first_wrong = st;
		return false;
	}
}

static void acquit(const struct judge *j)
{
	ck_assert_msg(!j->wrong, "%u wrong answers, the first %s", j->wrong, al_status_name(j->first_wrong));
}

/* A pair whose two ends one thread drives: writes, sends and reads to each other. */
struct pair {
	struct test_end end[2];
	struct judge *judge;
	atomic_uint completions;
};

/*
 * Each end's memory: bytes that it sends and that never change, bytes that the peer writes, bytes
 * that it reads, bytes that it receives. So no two transfers at the same time use the same place.
 */
enum quarter { LEAVES, WRITTEN, READ, RECEIVED };
#define QUARTER (TEST_MEM / 4)

static void post_write(struct pair *pair, int from, ib_wr_opcode opcode, uint32_t length)
{
	struct test_end *a = &pair->end[from], *b = &pair->end[!from];
	bool reads = opcode == IB_WR_RDMA_READ;
	struct ib_sge sge = { (uintptr_t)a->mem + (reads ? READ : LEAVES) * QUARTER, length, a->lkey };
	struct ib_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = opcode, .send_flags = IB_SEND_SIGNALED };
	const struct ib_send_wr *bad;

	wr.wr.rdma.remote_addr = (uintptr_t)b->mem + (reads ? LEAVES : WRITTEN) * QUARTER;
	wr.wr.rdma.rkey = b->rkey;
	judge(pair->judge, al_post_send(a->qp, &wr, &bad));
}

static void drive(struct pair *pair, unsigned int round)
{
	static const uint32_t lengths[] = { 8, 4096, 10000, QUARTER };
	struct ib_wc wc[8];
	uint32_t count;

	for (int from = 0; from < 2; from++) {
		struct test_end *end = &pair->end[from];

		post_write(pair, from, round % 3 ? IB_WR_RDMA_WRITE : IB_WR_RDMA_READ, lengths[round % 4]);
		judge(pair->judge, test_post_recv(end, 1, RECEIVED * QUARTER, 4096));
		judge(pair->judge, test_post_send(end, 2, 0, 4096));
		if (judge(pair->judge, al_poll_cq(end->cq, 8, wc, &count)))
			pair->completions += count;
		judge(pair->judge, al_arm_cq(end->cq, AL_ARM_ANY, NULL));
	}
}

struct scene {
	al_h al;
	struct judge judge;
	struct pair pair[3];
	atomic_uint rounds;
};

static void act(struct crew *crew, unsigned int index)
{
	struct scene *scene = crew->arg;

	for (unsigned int i = 0; !crew->stop; i++) {
		drive(&scene->pair[index], i);
		scene->rounds++;
	}
}

static void prepare(struct scene *scene)
{
	memset(scene, 0, sizeof(*scene));
	scene->al = test_open();
	for (int i = 0; i < 3; i++) {
		scene->pair[i].judge = &scene->judge;
		test_make_pair(scene->al, scene->pair[i].end);
	}
}

static void more_rounds(struct scene *scene, unsigned int num)
{
	unsigned int from = scene->rounds;

	while (scene->rounds - from < num)
		sched_yield();
}

static void clear(struct scene *scene)
{
	ck_ok(al_close(scene->al, AL_DESTROY_SYNC, NULL));
	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 2; k++)
			free(scene->pair[i].end[k].mem);
}

static void no_log(void *context, ib_log_level level, const char *text)
{
	(void)context;
	(void)level;
	(void)text;
}

/* ---------------------------------------------------------------- removal */

static void wait_gone(al_h al, size_t left)
{
	struct timespec deadline = test_deadline();
	uint64_t guids[4];
	size_t count;

	do {
		count = 4;
		ck_ok(al_get_ca_guids(al, guids, &count));
		ck_assert(!test_expired(&deadline));
	} while (count > left);
}

/* Loop: the flags; twice each. */
START_TEST(an_hca_is_pulled_out_under_traffic)
{
	uint32_t flags = _i % 2 ? CI_HCA_GONE : 0, none = 0;
	uint32_t keep = test_in_user_role() ? AL_UNLOAD_REMOVE : 0; /* an agent keeps every HCA for its clients */
	struct timespec deadline = test_deadline();
	struct scene scene;
	al_h owner;
	struct ib_wc wc;
	struct crew crew;
	al_status unloaded;
	uint32_t count;

	al_set_log(no_log, NULL);
	prepare(&scene);
	crew_make(&crew, 3, act, &scene);
	crew_go(&crew);
	more_rounds(&scene, 300);
	while (!scene.pair[0].completions || !scene.pair[1].completions || !scene.pair[2].completions)
		sched_yield();
	ck_ok(al_vendor_call(scene.pair[0].end[_i / 2].ca, SOFT_REMOVE, &flags, sizeof(flags), NULL, &none));
	wait_gone(scene.al, 1);
	more_rounds(&scene, 300);
	crew_end(&crew);
	acquit(&scene.judge);
	for (int i = 0; i < 3; i++) {
		struct test_end *dead = &scene.pair[i].end[_i / 2], *alive = &scene.pair[i].end[1 - _i / 2];

		/* The removal may not have ended yet; then the handles are dead. */
		while (al_poll_cq(dead->cq, 1, &wc, &count) == AL_SUCCESS)
			ck_assert(!test_expired(&deadline));
		ck_status(al_poll_cq(dead->cq, 1, &wc, &count), AL_CA_REMOVED);
		ck_ok(al_poll_cq(alive->cq, 1, &wc, &count));
		ck_ok(al_destroy_qp(dead->qp, AL_DESTROY_SYNC, NULL));
		ck_ok(al_dereg_mr(dead->mr, AL_DESTROY_SYNC, NULL));
		ck_ok(al_destroy_qp(alive->qp, AL_DESTROY_SYNC, NULL));
	}
	/* Only users of the other HCA are left; no user of the first HCA holds the module. */
	owner = test_open_owner();
	ck_status(al_unload_module(owner, "soft", 0), AL_MODULE_IN_USE);
	for (int i = 0; i < 3; i++)
		ck_ok(al_close_ca(scene.pair[i].end[1 - _i / 2].ca, AL_DESTROY_SYNC, NULL));
	/* Until its end the removal holds the module for the handles that it invalidates. */
	while ((unloaded = al_unload_module(owner, "soft", keep)) == AL_MODULE_IN_USE)
		ck_assert(!test_expired(&deadline));
	ck_ok(unloaded);
	ck_ok(al_close(owner, AL_DESTROY_SYNC, NULL));
	clear(&scene);
}
END_TEST

START_TEST(the_module_is_unloaded_under_traffic_and_loaded_again)
{
	char path[512];
	struct scene scene;
	struct crew crew;
	al_h owner;

	al_set_log(no_log, NULL);
	prepare(&scene);
	snprintf(path, sizeof(path), "%s/soft.so", getenv("IBAL_MODULE_PATH"));
	owner = test_open_owner();
	crew_make(&crew, 3, act, &scene);
	crew_go(&crew);
	for (int i = 0; i < 3; i++) {
		bool used = !i || test_in_user_role(); /* an agent keeps every HCA for its clients */
		struct test_end end[2];

		more_rounds(&scene, 100);
		ck_status(al_unload_module(owner, "soft", 0), used ? AL_MODULE_IN_USE : AL_SUCCESS);
		if (used)
			ck_ok(al_unload_module(owner, "soft", AL_UNLOAD_REMOVE));
		wait_gone(scene.al, 0);
		more_rounds(&scene, 100);
		ck_ok(al_load_module(owner, path));
		test_make_pair(scene.al, end);
		ck_ok(test_post_recv(&end[1], 1, RECEIVED * QUARTER, 100));
		ck_ok(test_post_send(&end[0], 2, 0, 100));
		test_poll_ok(end[1].cq, 1);
		test_poll_ok(end[0].cq, 2);
		test_free_end(&end[0]);
		test_free_end(&end[1]);
	}
	crew_end(&crew);
	acquit(&scene.judge);
	ck_ok(al_close(owner, AL_DESTROY_SYNC, NULL));
	clear(&scene);
}
END_TEST

/* -------------------------------------------------------------- destroying */

/* Each object of a pair is destroyed in turn while the pair's thread, and other threads,
 * continue. */
START_TEST(objects_are_destroyed_under_their_users)
{
	struct scene scene;
	struct crew crew;
	sem_t gone;

	al_set_log(no_log, NULL);
	prepare(&scene);
	sem_init(&gone, 0, 0);
	crew_make(&crew, 3, act, &scene);
	crew_go(&crew);
	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 2; k++) {
			struct test_end *end = &scene.pair[i].end[k];

			more_rounds(&scene, 50);
			if ((i + k) % 2) {
				ck_ok(al_dereg_mr(end->mr, AL_DESTROY_SYNC, NULL));
				more_rounds(&scene, 20);
				ck_ok(al_destroy_qp(end->qp, AL_DESTROY_SYNC, NULL));
				ck_ok(al_destroy_cq(end->cq, AL_DESTROY_SYNC, NULL));
			} else {
				ck_ok(al_destroy_qp(end->qp, test_post, &gone));
				ck_ok(al_destroy_cq(end->cq, test_post, &gone));
				ck_ok(al_dereg_mr(end->mr, test_post, &gone));
				ck_ok(al_dealloc_pd(end->pd, test_post, &gone));
				for (int n = 0; n < 4; n++)
					test_wait(&gone);
			}
		}
	more_rounds(&scene, 50);
	crew_end(&crew);
	acquit(&scene.judge);
	clear(&scene);
}
END_TEST

/* A peer writes into a region without end; when the deregistration has ended, only the owner uses
 * the memory. */
static void write_on(struct crew *crew, unsigned int index)
{
	struct pair *pair = crew->arg;
	struct ib_wc wc[8];
	uint32_t count;

	(void)index;
	while (!crew->stop) {
		post_write(pair, 0, IB_WR_RDMA_WRITE, TEST_MEM);
		if (judge(pair->judge, al_poll_cq(pair->end[0].cq, 8, wc, &count)))
			pair->completions += count;
	}
}

START_TEST(memory_is_the_owners_when_its_deregistration_is_told)
{
	struct scene scene;
	struct crew crew;
	sem_t gone;

	al_set_log(no_log, NULL);
	prepare(&scene);
	sem_init(&gone, 0, 0);
	for (int i = 0; i < 3; i++) {
		struct pair *pair = &scene.pair[i];

		memset(pair->end[0].mem, 0xaa, TEST_MEM);
		crew_make(&crew, 1, write_on, pair);
		crew_go(&crew);
		while (pair->completions < 20)
			sched_yield();
		if (i) {
			ck_ok(al_dereg_mr(pair->end[1].mr, test_post, &gone));
			test_wait(&gone);
		} else {
			ck_ok(al_dereg_mr(pair->end[1].mr, AL_DESTROY_SYNC, NULL));
		}
		memset(pair->end[1].mem, 0x55, TEST_MEM);
		more_rounds(&scene, 0);
		for (int n = 0; n < 50; n++)
			sched_yield();
		crew_end(&crew);
		for (uint32_t at = 0; at < TEST_MEM; at++)
			if (pair->end[1].mem[at] != 0x55)
				ck_abort_msg("byte %u was written after the deregistration", at);
	}
	acquit(&scene.judge);
	clear(&scene);
}
END_TEST

/* --------------------------------------------------- transfers by callback */

/* Ping-pong by completion callbacks alone, each end on its own vector, and a destroy in the
 * middle. */
struct player {
	struct test_end end;
	struct player *peer;
	atomic_uint hits;
	atomic_bool late, dead;
	unsigned int limit;
	sem_t done;
};

static void play(void *context)
{
	struct player *me = context;
	struct ib_wc wc;
	uint32_t count;

	if (me->dead)
		me->late = true;
	do {
		if (al_poll_cq(me->end.cq, 1, &wc, &count))
			return;
		if (!count || wc.status || !(wc.opcode & IB_WC_RECV))
			continue;
		if (++me->hits == me->limit)
			sem_post(&me->done);
		test_post_recv(&me->end, 1, RECEIVED * QUARTER, 64);
		test_post_send(&me->end, 2, 0, 64);
	} while (count);
	al_arm_cq(me->end.cq, AL_ARM_ANY, NULL);
}

static void make_player(struct player *p, al_h al, uint64_t guid, uint32_t vector)
{
	struct al_cq_init cq = { .cqe = 256 };
	struct ib_ca_attr attr;

	test_make_end(&p->end, al, guid, IB_QPT_RC);
	sem_init(&p->done, 0, 0);
	p->limit = 1000;
	/* Another queue, with a callback, replaces the queue that is only polled. */
	ck_ok(al_query_ca(p->end.ca, &attr));
	cq.comp_vector = vector % attr.num_comp_vectors;
	ck_ok(al_destroy_qp(p->end.qp, AL_DESTROY_SYNC, NULL));
	ck_ok(al_destroy_cq(p->end.cq, AL_DESTROY_SYNC, NULL));
	ck_ok(al_create_cq(p->end.pd, &cq, p, play, NULL, &p->end.cq));
	p->end.qp = bed_qp(p->end.pd, p->end.cq, p, NULL);
	ck_ok(al_qp_num(p->end.qp, &p->end.qpn));
}

START_TEST(ping_pong_by_callbacks_ends_in_the_middle_of_it)
{
	struct player p[2] = { 0 };
	uint64_t guids[2];
	al_h al;

	al_set_log(no_log, NULL);
	al = test_open();
	test_guids(al, guids, 2);
	for (int i = 0; i < 2; i++)
		make_player(&p[i], al, guids[i], (uint32_t)i);
	test_connect(&p[0].end, &p[1].end);
	for (int i = 0; i < 2; i++) {
		for (int n = 0; n < 4; n++)
			ck_ok(test_post_recv(&p[i].end, 1, RECEIVED * QUARTER, 64));
		ck_ok(al_arm_cq(p[i].end.cq, AL_ARM_ANY, NULL));
	}
	for (int n = 0; n < 3; n++)
		ck_ok(test_post_send(&p[0].end, 2, 0, 64));
	test_wait(&p[0].done);
	test_wait(&p[1].done);
	ck_ok(al_destroy_qp(p[0].end.qp, AL_DESTROY_SYNC, NULL));
	ck_ok(al_destroy_cq(p[0].end.cq, AL_DESTROY_SYNC, NULL));
	p[0].dead = true;
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	p[1].dead = true;
	ck_assert(!p[0].late && !p[1].late);
	free(p[0].end.mem);
	free(p[1].end.mem);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("life");
	TCase *tc = tcase_create("removal");

	tcase_add_loop_test(tc, an_hca_is_pulled_out_under_traffic, 0, 4);
	tcase_add_test(tc, the_module_is_unloaded_under_traffic_and_loaded_again);
	suite_add_tcase(suite, tc);
	tc = tcase_create("destroying");
	tcase_add_test(tc, objects_are_destroyed_under_their_users);
	tcase_add_test(tc, memory_is_the_owners_when_its_deregistration_is_told);
	tcase_add_test(tc, ping_pong_by_callbacks_ends_in_the_middle_of_it);
	suite_add_tcase(suite, tc);
	return test_run(suite);
}
