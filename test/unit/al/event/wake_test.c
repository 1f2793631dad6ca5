/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The two moments at which a channel's descriptor and its queue disagree. This file replaces the library's calls on
 * the descriptor, and holds such a call, or raises an event, at that moment.
 */
#include <sys/eventfd.h>
#include <unistd.h>

#include "test/unit/al/bed.h"

static struct gate late;       /* holds a wake-up until after its event has been read */
static atomic_bool hold;       /* the next wake-up is held */
static void *_Atomic let_in;   /* a completion queue, notified just before the descriptor is cleared */
static sem_t woken;            /* posted when a wake-up is done */

int eventfd_write(int fd, eventfd_t value)
{
	int rc;

	if (atomic_exchange(&hold, false))
		gate_pass(&late);
	rc = write(fd, &value, sizeof(value)) == sizeof(value) ? 0 : -1;
	sem_post(&woken);
	return rc;
}

int eventfd_read(int fd, eventfd_t *value)
{
	void *cq = atomic_exchange(&let_in, NULL);

	if (cq) {
		ib_cq_notify(cq);
		test_wait(&woken);
	}
	return read(fd, value, sizeof(*value)) == sizeof(*value) ? 0 : -1;
}

struct chan {
	struct bed bed;
	al_channel_h channel;
	int fd;
	void *cq[2];
};

static struct chan chan_make(void)
{
	struct al_cq_init init = { .cqe = 8 };
	struct chan c = { .bed = bed_make() };
	al_cq_h cq;

	gate_init(&late);
	sem_init(&woken, 0, 0);
	ck_ok(al_create_channel(c.bed.al, NULL, &c.channel));
	ck_ok(al_channel_fd(c.channel, &c.fd));
	init.channel = c.channel;
	for (uintptr_t i = 0; i < 2; i++) {
		ck_ok(al_create_cq(c.bed.pd, &init, (void *)i, NULL, NULL, &cq));
		c.cq[i] = c.bed.fake->last_cq->cq.ctx;
	}
	return c;
}

static bool readable(const struct chan *c)
{
	struct pollfd pfd = { .fd = c->fd, .events = POLLIN };

	return poll(&pfd, 1, 0) == 1 && pfd.revents & POLLIN;
}

static void expect_event(const struct chan *c, uintptr_t cq)
{
	struct al_channel_event event;

	ck_ok(al_channel_next(c->channel, &event));
	ck_assert_uint_eq((uintptr_t)event.context, cq);
}

static void notify(struct crew *crew, unsigned int index)
{
	(void)index;
	ib_cq_notify(crew->arg);
}

START_TEST(a_wake_up_that_comes_after_its_event_was_read_does_not_stay)
{
	struct chan c = chan_make();
	struct al_channel_event event;
	struct crew crew;

	hold = true;
	crew_make(&crew, 1, notify, c.cq[0]);
	crew_go(&crew);
	test_wait(&late.in);
	expect_event(&c, 0);
	ck_assert(!readable(&c));
	sem_post(&late.out);
	test_wait(&woken);
	ck_assert(readable(&c));
	ck_status(al_channel_next(c.channel, &event), AL_NOT_FOUND);
	ck_assert(!readable(&c));
	crew_end(&crew);
	bed_end(&c.bed);
}
END_TEST

START_TEST(an_event_that_comes_while_the_descriptor_is_cleared_makes_it_readable_again)
{
	struct chan c = chan_make();

	ib_cq_notify(c.cq[0]);
	test_wait(&woken);
	let_in = c.cq[1];
	expect_event(&c, 0);
	ck_assert_ptr_null(let_in);
	ck_assert(readable(&c));
	expect_event(&c, 1);
	ck_assert(!readable(&c));
	bed_end(&c.bed);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("wake");
	TCase *tc = tcase_create("descriptor");

	tcase_add_test(tc, a_wake_up_that_comes_after_its_event_was_read_does_not_stay);
	tcase_add_test(tc, an_event_that_comes_while_the_descriptor_is_cleared_makes_it_readable_again);
	suite_add_tcase(suite, tc);
	return test_run(suite);
}
