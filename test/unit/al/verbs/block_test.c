/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Operations that may block according to the module (ci_interface.may_block): these operations, and no others, are
 * called outside a read section, in which a call holds up every destroy.
 */
#include "test/unit/al/verbs/qp_test.h"

#include "al/object/rcu.h"

static al_qp_h qp;
static bool in_section;

static void look(void *object)
{
	(void)object;
	in_section = urcu_bp_read_ongoing();
}

/* Operations that fake.so lacks. */
static al_status fake_peek_cq(struct ci_cq *ci, uint32_t max, uint32_t *count)
{
	(void)max;
	look(ci);
	*count = 0;
	return AL_SUCCESS;
}

static al_status fake_arm_cq_n(struct ci_cq *ci, uint32_t num)
{
	(void)num;
	look(ci);
	return AL_SUCCESS;
}

static void post_send(void)
{
	struct ib_send_wr wr = { 0 };
	const struct ib_send_wr *bad;

	al_post_send(qp, &wr, &bad);
}

static void post_recv(void)
{
	struct ib_recv_wr wr = { 0 };
	const struct ib_recv_wr *bad;

	al_post_recv(qp, &wr, &bad);
}

static void poll_cq(void)
{
	struct ib_wc wc;
	uint32_t count;

	ck_ok(al_poll_cq(cq, 1, &wc, &count));
}

static void peek_cq(void)
{
	uint32_t count;

	ck_ok(al_peek_cq(cq, 1, &count));
}

static void arm_cq(void)
{
	ck_ok(al_arm_cq(cq, AL_ARM_ANY, NULL));
}

static void arm_cq_n(void)
{
	ck_ok(al_arm_cq_n(cq, 1));
}

static const struct {
	const char *name;
	void (*call)(void);
	uint64_t bit;
	enum fake_op op;
} calls[] = {
#define CALL(name) { #name, name, CI_MAY_BLOCK(name), FAKE_##name }
	CALL(post_send), CALL(post_recv), CALL(poll_cq), CALL(peek_cq), CALL(arm_cq), CALL(arm_cq_n),
};
#define CALLS ((int)(sizeof(calls) / sizeof(calls[0])))

/* Expects each operation outside a read section if `blocks` has its bit, else inside. */
static void look_at_all(uint64_t blocks)
{
	test_fake()->ops.peek_cq = fake_peek_cq;
	test_fake()->ops.arm_cq_n = fake_arm_cq_n;
	set_up();
	qp = make(IB_QPT_RC);
	for (int i = 0; i < CALLS; i++) {
		fake->hook[calls[i].op] = look;
		in_section = (calls[i].bit & blocks) != 0;
		calls[i].call();
		ck_assert_msg(in_section == !(calls[i].bit & blocks), "%s", calls[i].name);
		ck_assert_msg(!urcu_bp_read_ongoing(), "%s has not left its read section", calls[i].name);
	}
	tear_down();
}

START_TEST(only_the_operation_that_may_block_is_called_outside_a_read_section)
{
	test_fake()->ops.may_block = calls[_i].bit;
	look_at_all(calls[_i].bit);
}
END_TEST

/*
 * An operation that blocks holds the queue's lock: the other operations would wait for the lock within their read
 * sections.
 */
START_TEST(of_operations_called_one_at_a_time_all_may_block_when_one_does)
{
	const uint64_t serialised = CI_MAY_BLOCK(poll_cq) | CI_MAY_BLOCK(arm_cq) | CI_MAY_BLOCK(arm_cq_n);

	test_fake()->ops.flags = CI_SERIALISE_CQ;
	test_fake()->ops.may_block = calls[_i].bit;
	look_at_all(calls[_i].bit & serialised ? serialised : calls[_i].bit);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("al/verbs/block");
	TCase *tcase = tcase_create("read sections");

	tcase_add_loop_test(tcase, only_the_operation_that_may_block_is_called_outside_a_read_section, 0, CALLS);
	tcase_add_loop_test(tcase, of_operations_called_one_at_a_time_all_may_block_when_one_does, 0, CALLS);
	suite_add_tcase(suite, tcase);
	return test_run(suite);
}
