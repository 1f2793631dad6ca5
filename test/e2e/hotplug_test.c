/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The example doc/examples/hotplug, whose program IBAL_EXAMPLE names: HCAs come and go, and a cable is pulled and plugged,
 * at an agent in this process, whose client the example is. test/e2e/examples.sh builds the example and runs this test.
 */
#include "test/e2e/agent.h"

#include <inttypes.h>

#include <iba/ib_hca.h>
#include <iba/ib_soft.h>

#include "al/agent/ald.h"

static char dir[] = "/tmp/hotplug_test-XXXXXX", path[64];
static pid_t program;
static FILE *says;
static al_h al;

static void start(void)
{
	const char *example = getenv("IBAL_EXAMPLE");
	int out[2];

	ck_assert_ptr_nonnull(example);
	ck_assert_int_eq(pipe2(out, O_CLOEXEC), 0);
	program = fork();
	if (!program) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(out[1], 1);
		setenv("IBAL_AGENT", path, 1);
		execl(example, "hotplug", NULL);
		_exit(127);
	}
	close(out[1]);
	says = fdopen(out[0], "r");
}

/* Expects the example's next line, of an HCA that the HCA's number says; 0: of no HCA. */
static void expect(uint64_t guid, const char *rest)
{
	char line[256], want[256];

	snprintf(want, sizeof(want), "%016" PRIx64 " %s\n", guid, rest);
	ck_assert_msg(fgets(line, sizeof(line), says), "the example has ended before: %s", want);
	ck_assert_str_eq(line, guid ? want : rest);
}

static void expect_active(uint64_t guid, const char *active)
{
	expect(guid, "port 1: port initialising");
	expect(guid, "port 1: port armed");
	expect(guid, active);
}

static void expect_coming(const uint64_t *guids)
{
	expect(guids[0], "has come");
	expect_active(guids[0], "port 1: port active, LID 1");
	expect(guids[1], "has come");
	expect_active(guids[1], "port 1: port active, LID 2");
}

/* Expects a number of lines, each with one of the texts: events of two ports have no order. */
static void expect_some(int lines, const char *a, const char *b, const char *c)
{
	while (lines--) {
		char line[256];

		ck_assert(fgets(line, sizeof(line), says));
		ck_assert_msg(strstr(line, a) || strstr(line, b) || strstr(line, c), "%s", line);
	}
}

static void call_module(al_ca_h ca, uint32_t code, uint32_t in)
{
	uint32_t room = 0;

	ck_ok(al_vendor_call(ca, code, &in, sizeof(in), NULL, &room));
}

static void serve(void)
{
	struct ald_attr attr = { .socket = path, .mode = 0600, .config = "", .limits = ald_default_limits };

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/ald", dir);
	/* the same GUIDs when the module is loaded again */
	ck_assert(!setenv("IBAL_SOFT", "[hca 0] guid=0x0200000000000100 [hca 1] guid=0x0200000000000200", 1));
	ck_ok(ald_start(&attr));
	al = test_open_owner();
}

START_TEST(hcas_and_ports_that_come_and_go_are_told)
{
	const uint64_t guids[] = { 0x0200000000000100, 0x0200000000000200 };
	bool gone = false, down = false;
	char module[512];
	al_ca_h ca;
	int status;

	serve();
	start();
	expect_coming(guids);
	expect(0, "ready\n");

	/* The cable of a port: the far port is down, too. The events of two ports have no order. */
	ca = test_open_ca(al, guids[0]);
	call_module(ca, SOFT_PORT_DOWN, 1);
	expect_some(2, " port 1: port down\n", " port 1: port down\n", " port 1: port down\n");
	call_module(ca, SOFT_PORT_UP, 1);
	expect_some(6, " port 1: port initialising\n", " port 1: port armed\n", " port 1: port active, LID ");

	/* One HCA is pulled out. The port at the other end of its cable has no link then. */
	call_module(ca, SOFT_REMOVE, CI_HCA_GONE);
	while (!gone || !down) {
		char line[256];

		ck_assert(fgets(line, sizeof(line), says));
		if (!strcmp(line, "0200000000000100 goes\n"))
			gone = true;
		else if (!strcmp(line, "0200000000000200 port 1: port down\n"))
			down = true;
		else
			ck_assert_str_eq(line, "0200000000000100 port 1: port down\n");
	}
	ck_ok(al_close_ca(ca, AL_DESTROY_SYNC, NULL));

	/* The administrator unloads the module under its users, and loads the module again. */
	ck_ok(al_unload_module(al, "soft", AL_UNLOAD_REMOVE));
	expect(guids[1], "goes");
	snprintf(module, sizeof(module), "%s/hca/soft/.libs/soft.so", getenv("top_builddir"));
	ck_ok(al_load_module(al, module));
	expect_coming(guids);

	/* At its end the example closes what it has. */
	ck_assert_int_eq(kill(program, SIGTERM), 0);
	expect(guids[1], "goes");
	expect(guids[0], "goes");
	ck_assert_ptr_null(fgets(module, sizeof(module), says));
	ck_assert_int_eq(waitpid(program, &status, 0), program);
	ck_assert_int_eq(status, 0);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	ald_stop();
	rmdir(dir);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("e2e/hotplug");
	TCase *tc = tcase_create("hotplug");

	tcase_add_test(tc, hcas_and_ports_that_come_and_go_are_told);
	suite_add_tcase(suite, tc);
	return test_run(suite);
}
