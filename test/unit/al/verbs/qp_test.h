/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Helpers for tests of queue pairs: a protection domain and a completion queue of a module that answers as the test
 * wants, and queue pairs there.
 */
#ifndef IBAL_TEST_QP_H
#define IBAL_TEST_QP_H

#include "test/unit/al/al_test.h"

#include <pthread.h>
#include <stdatomic.h>

static struct fake *fake;
static al_h al;
static al_ca_h ca;
static al_pd_h pd;
static al_cq_h cq;
static uint32_t caps = IB_CA_CAP_UC | IB_CA_CAP_UD | IB_CA_CAP_RAW_PACKET;

static inline void set_up(void)
{
	struct al_cq_init init = { .cqe = 64 };

	fake = test_fake();
	fake->hcas = 2;
	fake->ca_attr.num_ports = 2;
	fake->ca_attr.caps = caps;
	fake->port_attr.gid_tbl_len = 2;
	fake->port_attr.pkey_tbl_len = 3;
	fake->port_attr.max_mtu = fake->port_attr.active_mtu = IB_MTU_2048;
	al = test_open();
	ca = test_open_ca(al, FAKE_GUID);
	ck_ok(al_alloc_pd(ca, NULL, &pd));
	ck_ok(al_create_cq(pd, &init, NULL, NULL, NULL, &cq));
}

static inline void tear_down(void)
{
	al_set_log(test_ignore_log, NULL);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

static inline struct al_qp_init rc(void)
{
	return (struct al_qp_init){ .qp_type = IB_QPT_RC, .cap = { 8, 8, 2, 2, 16 }, .send_cq = cq, .recv_cq = cq };
}

static inline al_qp_h make(ib_qp_type type)
{
	struct al_qp_init init = rc();
	al_qp_h qp;

	init.qp_type = type;
	ck_ok(al_create_qp(pd, &init, NULL, NULL, &qp));
	return qp;
}

/* -------------------------------------------------- an operation that blocks */

static sem_t inside, go_on;
static atomic_int in_modify, most;

/*
 * Blocks a modification. If the second modification queried the state before the first has ended, it would get the
 * old state.
 */
static inline void stay_a_while(void *object)
{
	int now = atomic_fetch_add(&in_modify, 1) + 1;

	(void)object;
	if (now > atomic_load(&most))
		atomic_store(&most, now);
	sem_post(&inside);
	test_wait(&go_on);
	atomic_fetch_sub(&in_modify, 1);
}

static inline void add_case(Suite *suite, const char *name, void (*fixture)(void), const TTest *test)
{
	TCase *tcase = tcase_create(name);

	tcase_add_checked_fixture(tcase, fixture, tear_down);
	tcase_add_test(tcase, test);
	suite_add_tcase(suite, tcase);
}

#endif
