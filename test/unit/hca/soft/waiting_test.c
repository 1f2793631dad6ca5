/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Queue pairs that wait for a link's room: a kick reaches each of them once, also if their numbers
 * are far apart, and reaches no other queue pair. */
#include "hca/soft/base/table.h"
#include "hca/soft/engine/engine.h"
#include "hca/soft/link/waiting.h"
#include "hca/soft/port/port.h"
#include "harness.h"

/* More queue pairs than one word of each level of the set stands for, and not a multiple of a word.
 */
#define MAX  (64 * 64 * 64 + 64 * 64 + 100)
#define BASE 0x123456

static struct table actors;
static struct actor special[SPECIAL_QPS];
static struct ports ports = { .actors = &actors };
static struct soft_port port = { .ports = &ports, .special = special };
static struct waiting waiting;

static struct actor *actor(uint32_t index)
{
	return index < MAX ? table_index(&actors, index) : &special[index - MAX];
}

static uint32_t number(uint32_t index)
{
	return index < MAX ? (BASE + index) & IB_QPN_MASK : index - MAX;
}

/* Owned actors, which a kick leaves in INBOX_KICK. */
static void start(void)
{
	uint32_t i, num;
	void *elem;

	ck_assert_int_eq(table_create(&actors, sizeof(struct actor), MAX, BASE), AL_SUCCESS);
	for (i = 0; i < MAX; i++)
		ck_assert_int_eq(table_take(&actors, &num, &elem), AL_SUCCESS);
	for (i = 0; i < MAX + SPECIAL_QPS; i++)
		atomic_store(&actor(i)->inbox, INBOX_BUSY);
	ck_assert_int_eq(waiting_create(&waiting, &port), AL_SUCCESS);
}

static void finish(void)
{
	waiting_destroy(&waiting);
	table_destroy(&actors);
}

/* Kicks, and checks that exactly the `num` queue pairs at `index`, in ascending order, were kicked.
 */
static void expect_kicked(const uint32_t *index, uint32_t num)
{
	uint32_t i, at = 0;
	uintptr_t inbox;

	waiting_kick(NULL, &waiting);
	for (i = 0; i < MAX + SPECIAL_QPS; i++) {
		inbox = atomic_exchange(&actor(i)->inbox, INBOX_BUSY);
		if (at < num && index[at] == i) {
			ck_assert_uint_eq(inbox, INBOX_KICK);
			at++;
		} else {
			ck_assert_uint_eq(inbox, INBOX_BUSY);
		}
	}
	ck_assert_uint_eq(at, num);
}

START_TEST(a_kick_reaches_each_queue_pair_that_waits_and_no_other)
{
	/* the ends of words at each level, and the special queue pairs */
	static const uint32_t index[] = {
		0, 1, 63, 64, 4095, 4096, 262143, 262144, 266239, 266240, MAX - 1, MAX, MAX + 1,
	};
	uint32_t i;

	start();
	expect_kicked(index, 0);
	for (i = 0; i < sizeof(index) / sizeof(*index); i++) {
		waiting_add(&waiting, number(index[i]));
		expect_kicked(&index[i], 1);
	}
	for (i = 0; i < sizeof(index) / sizeof(*index); i++)
		waiting_add(&waiting, number(index[i]));
	expect_kicked(index, sizeof(index) / sizeof(*index));
	expect_kicked(index, 0);
	finish();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("soft: waiting");
	TCase *t = tcase_create("waiting");

	tcase_add_test(t, a_kick_reaches_each_queue_pair_that_waits_and_no_other);
	suite_add_tcase(s, t);
	return run_suite(s);
}
