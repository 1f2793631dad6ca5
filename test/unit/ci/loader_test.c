/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * ci/loader.c and ci/module.c: which modules are loaded and in what order, refusals and their messages, references,
 * unloading and loading again, failing start-ups.
 */
#include <fcntl.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/unit/ci/support.h"

#define ORDER TEST_MODULES "/order/.libs"
#define ODD   TEST_MODULES "/odd/.libs"

static struct fake *fake;

static void start_fresh(void)
{
	support_start();
	fake = fake_open();
}

/* Returns the list of modules, or NULL. */
static const struct ci_snap_module *snapshot(size_t *count)
{
	static struct ci_snap_module *modules;

	al_free(modules);
	ck_assert_int_eq(ci_snapshot_modules(&modules, count), AL_SUCCESS);
	return modules;
}

static const struct ci_snap_module *module(const char *name)
{
	const struct ci_snap_module *m;
	size_t count;

	m = snapshot(&count);
	for (size_t i = 0; i < count; i++)
		if (!strcmp(m[i].name, name))
			return &m[i];
	return NULL;
}

static void copy(const char *from, const char *to)
{
	char command[1024];

	snprintf(command, sizeof(command), "cp '%s' '%s'", from, to);
	ck_assert_int_eq(system(command), 0);
}

/* ------------------------------------------------------------------------------- order */

static void expect_order(const char *first, const char *second, const char *third)
{
	const char *const expected[] = { first, second, third };
	const struct ci_snap_module *m;
	size_t count;

	m = snapshot(&count);
	for (size_t i = 0; i < 3; i++) {
		if (!expected[i]) {
			ck_assert_uint_eq(count, i);
			return;
		}
		ck_assert_uint_gt(count, i);
		ck_assert_str_eq(m[i].name, expected[i]);
		ck_assert_int_eq(m[i].status, AL_SUCCESS);
	}
}

START_TEST(modules_of_the_path_are_loaded_by_name)
{
	setenv("IBAL_MODULE_PATH", ORDER, 1);
	ck_assert_int_eq(ci_start(NULL), AL_SUCCESS);
	expect_order("alpha", "beta", "gamma");
	ck_assert(log_has(IB_LOG_INFO, "alpha: initialised with 0 settings", NULL));
}
END_TEST

START_TEST(the_key_modules_chooses_and_orders)
{
	const char *conf = temp_file("ibal.conf", "[ibal]\nmodule_path=" ORDER
						  "\nmodules = gamma ; alpha;\n[beta]\nunused=1\n");

	unsetenv("IBAL_MODULE_PATH");
	ck_assert_int_eq(ci_start(conf), AL_SUCCESS);
	expect_order("gamma", "alpha", NULL);
}
END_TEST

START_TEST(the_key_modules_can_choose_none)
{
	setenv("IBAL_MODULE_PATH", ORDER, 1);
	ck_assert_int_eq(ci_start(temp_file("ibal.conf", "[ibal]\nmodules=\n")), AL_SUCCESS);
	expect_order(NULL, NULL, NULL);
}
END_TEST

START_TEST(a_chosen_module_that_is_missing_is_named)
{
	setenv("IBAL_MODULE_PATH", ORDER, 1);
	ck_assert_int_eq(
		ci_start(temp_file("ibal.conf", "[ibal]\nmodules=alpha;delta;epsilon;beta\n")),
		AL_SUCCESS);
	ck_assert(log_has(IB_LOG_ERROR, "delta: not loaded", "delta.so", "install the module", NULL));
	ck_assert_int_eq(module("delta")->status, AL_NOT_FOUND);
	ck_assert_int_eq(module("epsilon")->status, AL_NOT_FOUND);
	ck_assert_int_eq(module("alpha")->status, AL_SUCCESS);
	ck_assert_int_eq(module("beta")->status, AL_SUCCESS);
}
END_TEST

START_TEST(the_first_directory_of_the_path_counts)
{
	char path[600];

	copy(ORDER "/alpha.so", temp_path("alpha.so"));
	copy(ORDER "/alpha.so", temp_path("Wrong-Name.so"));
	temp_file("readme.txt", "no module");
	snprintf(path, sizeof(path), "%s::" ORDER ":", temp_dir());
	setenv("IBAL_MODULE_PATH", path, 1);
	ck_assert_int_eq(ci_start(NULL), AL_SUCCESS);
	expect_order("alpha", "beta", "gamma");
	ck_assert_str_eq(module("alpha")->path, temp_path("alpha.so"));
	ck_assert(log_has(IB_LOG_WARNING, "/Wrong-Name.so: not loaded", "NAME.so, with", NULL));
}
END_TEST

START_TEST(a_missing_directory_is_logged)
{
	setenv("IBAL_MODULE_PATH", "/nonexistent/hca:" ORDER, 1);
	ck_assert_int_eq(ci_start(NULL), AL_SUCCESS);
	ck_assert(log_has(IB_LOG_WARNING, "/nonexistent/hca", NULL));
	expect_order("alpha", "beta", "gamma");
}
END_TEST

START_TEST(without_any_setting_the_systems_directory_is_used)
{
	unsetenv("IBAL_MODULE_PATH");
	unsetenv("IBAL_CONF");
	setenv("IBAL_CONF", "", 1);
	/* The directory may be missing; no message says so. */
	ck_assert_int_eq(ci_start(NULL), AL_SUCCESS);
	ck_assert(!log_has(IB_LOG_WARNING, "module path", NULL));
}
END_TEST

/* ----------------------------------------------------------------------------- refusals */

static const struct {
	const char *name;
	al_status status;
	const char *word[2];
} odd[] = {
	{ "abi", AL_MODULE_ABI, { "3.0", "2.1" } },
	{ "badname", AL_MODULE_FAILED, { "\"another\"", "badname" } },
	{ "flags", AL_MODULE_FAILED, { "flags", "0x4" } },
	{ "log", AL_MODULE_FAILED, { "\"log\"", "configuration" } },
	{ "nocleanup", AL_MODULE_MISSING_OP, { "cleanup", "required" } },
	{ "noremove", AL_MODULE_MISSING_OP, { "remove", "probe" } },
	{ "nosymbol", AL_MODULE_NO_SYMBOL, { "ci_module", "no HCA module" } },
	{ "small", AL_MODULE_ABI, { "ci_module.size", "sizeof" } },
	{ "undefined", AL_MODULE_DAMAGED, { "linked", "no_library_has_this_function" } },
};
#define ODDS (int)(sizeof(odd) / sizeof(odd[0]))

START_TEST(each_fault_of_a_module_has_its_status_and_sentence)
{
	const struct ci_snap_module *m;
	char path[512];

	ck_assert_int_eq(ci_start(NULL), AL_SUCCESS);
	snprintf(path, sizeof(path), ODD "/%s.so", odd[_i].name);
	log_clear();
	ck_assert_int_eq(ci_load_module(path), odd[_i].status);
	ck_assert(
		log_has(IB_LOG_ERROR, odd[_i].name, path, odd[_i].word[0], odd[_i].word[1], NULL));
	ck_assert_uint_eq(log_count(IB_LOG_ERROR), 1);
	m = module(odd[_i].name);
	ck_assert_ptr_nonnull(m);
	ck_assert_int_eq(m->status, odd[_i].status);
	ck_assert_str_eq(m->path, path);
	ck_assert_ptr_nonnull(strstr(m->text, odd[_i].word[0]));
	ck_assert_ptr_null(ci_host_find(odd[_i].name));
}
END_TEST

START_TEST(a_larger_module_struct_is_taken)
{
	ck_assert_int_eq(ci_start(NULL), AL_SUCCESS);
	ck_assert_int_eq(ci_load_module(ODD "/large.so"), AL_SUCCESS);
	ck_assert_int_eq(module("large")->status, AL_SUCCESS);
}
END_TEST

START_TEST(modules_that_fail_do_not_stop_the_others)
{
	setenv("IBAL_MODULE_PATH", ODD ":" ORDER, 1);
	ck_assert_int_eq(ci_start(NULL), AL_SUCCESS);
	for (int i = 0; i < ODDS; i++)
		ck_assert_int_eq(module(odd[i].name)->status, odd[i].status);
	ck_assert_int_eq(module("alpha")->status, AL_SUCCESS);
	ck_assert_int_eq(module("gamma")->status, AL_SUCCESS);
}
END_TEST

START_TEST(a_truncated_module_is_refused_by_the_loader)
{
	char command[1024];
	const char *path = temp_path("fake.so");

	ck_assert_int_eq(ci_start(NULL), AL_SUCCESS);
	for (int bytes = 1; bytes < 20000; bytes *= 3) {
		snprintf(command, sizeof(command), "head -c %d '" FAKE_SO "' >'%s'", bytes, path);
		ck_assert_int_eq(system(command), 0);
		log_clear();
		ck_assert_int_eq(ci_load_module(path), AL_MODULE_DAMAGED);
		ck_assert(log_has(IB_LOG_ERROR, "fake", path, NULL));
	}
	/* After a repair the module is loaded, and the failure is forgotten. */
	copy(FAKE_SO, path);
	ck_assert_int_eq(ci_load_module(path), AL_SUCCESS);
	ck_assert_int_eq(module("fake")->status, AL_SUCCESS);
}
END_TEST

START_TEST(a_module_that_loads_at_last_has_not_failed)
{
	const char *path = temp_file("fake.so", "not written yet\n"),
		   *other = temp_file("odd.so", "nor this\n");
	const struct ci_snap_module *m;
	size_t count;

	ck_assert_int_eq(ci_start(NULL), AL_SUCCESS);
	ck_assert_int_eq(ci_load_module(path), AL_MODULE_DAMAGED);
	ck_assert_int_eq(ci_load_module(other), AL_MODULE_DAMAGED);
	ck_assert_int_eq(module("fake")->status, AL_MODULE_DAMAGED);
	copy(FAKE_SO, path);
	ck_assert_int_eq(ci_load_module(path), AL_SUCCESS);
	/* The snapshot shows the module once, and the other module as before. */
	m = snapshot(&count);
	ck_assert_uint_eq(count, 2);
	ck_assert_str_eq(m[0].name, "fake");
	ck_assert_int_eq(m[0].status, AL_SUCCESS);
	ck_assert_str_eq(m[1].name, "odd");
	ck_assert_int_eq(m[1].status, AL_MODULE_DAMAGED);
}
END_TEST

START_TEST(what_is_not_there_is_not_found_and_not_remembered)
{
	size_t count;

	ck_assert_int_eq(ci_start(NULL), AL_SUCCESS);
	ck_assert_int_eq(ci_load_module("/nonexistent/soft.so"), AL_NOT_FOUND);
	ck_assert(log_has(IB_LOG_ERROR, "soft: /nonexistent/soft.so", "No such file", NULL));
	snapshot(&count);
	ck_assert_uint_eq(count, 0);
	ck_assert_int_eq(ci_load_module("/nonexistent/soft"), AL_MODULE_FAILED);
	ck_assert(log_has(IB_LOG_ERROR, "NAME.so", NULL));
}
END_TEST

START_TEST(a_module_is_loaded_once)
{
	ck_assert_int_eq(ci_start(NULL), AL_SUCCESS);
	ck_assert_int_eq(ci_load_module(FAKE_SO), AL_SUCCESS);
	ck_assert_int_eq(ci_load_module(FAKE_SO), AL_DUPLICATE);
	ck_assert(log_has(IB_LOG_ERROR, "fake is loaded already, from " FAKE_SO, NULL));
	ck_assert_uint_eq(atomic_load(&fake->inits), 1);
}
END_TEST

START_TEST(a_path_may_be_relative)
{
	ck_assert_int_eq(ci_start(NULL), AL_SUCCESS);
	ck_assert_int_eq(chdir(FAKE_DIR), 0);
	ck_assert_int_eq(ci_load_module("fake.so"), AL_SUCCESS);
}
END_TEST

START_TEST(an_init_that_fails_leaves_nothing)
{
	ck_assert_int_eq(ci_start(NULL), AL_SUCCESS);
	fake->fail_init = AL_IO_ERROR;
	ck_assert_int_eq(ci_load_module(FAKE_SO), AL_IO_ERROR);
	ck_assert(
		log_has(IB_LOG_ERROR, "fake: " FAKE_SO, "init of fake failed: AL_IO_ERROR", NULL));
	ck_assert_uint_eq(atomic_load(&fake->scans), 0);
	ck_assert_uint_eq(atomic_load(&fake->cleanups), 0);
	ck_assert_ptr_null(ci_host_first());
	fake->fail_init = (al_status)4242;
	ck_assert_int_eq(ci_load_module(FAKE_SO), AL_MODULE_FAILED);
	ck_assert(log_has(IB_LOG_ERROR, "init of fake failed: 4242, which is no status", NULL));
	fake->fail_init = AL_SUCCESS;
	ck_assert_int_eq(ci_load_module(FAKE_SO), AL_SUCCESS);
}
END_TEST

START_TEST(a_scan_that_fails_is_cleaned_up)
{
	ck_assert_int_eq(ci_start(NULL), AL_SUCCESS);
	fake->hcas = 2;
	fake->fail_scan = AL_CA_ERROR;
	ck_assert_int_eq(ci_load_module(FAKE_SO), AL_CA_ERROR);
	ck_assert_uint_eq(atomic_load(&upper.adds), 2);
	ck_assert_uint_eq(atomic_load(&upper.removes), 2);
	ck_assert_uint_eq(atomic_load(&fake->cleanups), 1);
	ck_assert_ptr_null(ci_host_first());
}
END_TEST

START_TEST(why_an_hca_was_refused_is_remembered_with_its_module)
{
	ck_assert_int_eq(ci_start(NULL), AL_SUCCESS);
	fake->ops.create_qp = NULL;
	ck_assert_int_eq(ci_load_module(FAKE_SO), AL_MODULE_MISSING_OP);
	ck_assert_int_eq(module("fake")->status, AL_MODULE_MISSING_OP);
	ck_assert_ptr_nonnull(strstr(module("fake")->text, "create_qp"));
}
END_TEST

START_TEST(the_snapshot_describes_a_module)
{
	const struct ci_snap_module *m;

	setenv("IBAL_MODULE_PATH", FAKE_DIR, 1);
	ck_assert_int_eq(ci_start(NULL), AL_SUCCESS);
	m = module("fake");
	ck_assert_str_eq(m->version, "1.0");
	ck_assert_str_eq(m->license, "GPL-2.0-only OR Linux-OpenIB");
	ck_assert_str_eq(m->path, FAKE_SO);
	ck_assert_str_eq(m->text, "");
	al_fail_alloc(1);
	ck_assert_int_eq(ci_snapshot_modules(&(struct ci_snap_module *){ NULL }, &(size_t){ 0 }),
			 AL_INSUFFICIENT_MEMORY);
}
END_TEST

/* --------------------------------------------------------------------------- unloading */

START_TEST(a_module_without_users_is_unloaded_and_comes_back)
{
	ck_assert_int_eq(ci_start(NULL), AL_SUCCESS);
	fake->hcas = 2;
	for (unsigned int i = 1; i <= 3; i++) {
		ck_assert_int_eq(ci_load_module(FAKE_SO), AL_SUCCESS);
		ck_assert_uint_eq(atomic_load(&upper.adds), 2 * i);
		ck_assert_int_eq(ci_unload_module("fake", 0), AL_SUCCESS);
		ck_assert_uint_eq(atomic_load(&upper.removes), 2 * i);
		ck_assert_uint_eq(atomic_load(&fake->cleanups), i);
		ck_assert_ptr_null(module("fake"));
	}
}
END_TEST

START_TEST(a_module_in_use_is_not_unloaded_and_its_users_are_named)
{
	ck_assert_int_eq(ci_start(NULL), AL_SUCCESS);
	ck_assert_int_eq(ci_load_module(FAKE_SO), AL_SUCCESS);
	ck_assert(ci_module_get(fake->host));
	ck_assert(ci_module_get(fake->host));
	ck_assert_uint_eq(module("fake")->users, 2);
	upper.users = "al_cp (pid 42), al_query (pid 43)";
	ck_assert_int_eq(ci_unload_module("fake", 0), AL_MODULE_IN_USE);
	ck_assert(log_has(IB_LOG_ERROR, "fake", "al_cp (pid 42), al_query (pid 43)", NULL));
	ck_assert_uint_eq(atomic_load(&upper.removes), 0);
	ci_module_put(fake->host);
	ck_assert_int_eq(ci_unload_module("fake", 0), AL_MODULE_IN_USE);
	ci_module_put(fake->host);
	ck_assert_int_eq(ci_unload_module("fake", 0), AL_SUCCESS);
}
END_TEST

START_TEST(removal_under_users_when_asked_for)
{
	struct ci_host *host;

	ck_assert_int_eq(ci_start(NULL), AL_SUCCESS);
	ck_assert_int_eq(ci_load_module(FAKE_SO), AL_SUCCESS);
	host = fake->host;
	ck_assert(ci_module_get(host));
	ck_assert_int_eq(ci_unload_module("fake", CI_UNLOAD_REMOVE), AL_SUCCESS);
	ck_assert_uint_eq(atomic_load(&upper.removes), 1);
	ck_assert_ptr_null(ci_host_first());
	/* The module's record lives as long as its last user. */
	ck_assert(!ci_module_get(host));
	ck_assert_str_eq(ci_module_name(host), "fake");
	ci_module_put(host);
}
END_TEST

static void opens_too_late(struct ci_registration *reg)
{
	ck_assert(!ci_module_get(reg->module));
	ck_assert_int_eq(fake->announce(3), AL_INVALID_STATE);
}

START_TEST(while_a_module_is_unloaded_no_user_and_no_hca_comes)
{
	ck_assert_int_eq(ci_start(NULL), AL_SUCCESS);
	ck_assert_int_eq(ci_load_module(FAKE_SO), AL_SUCCESS);
	upper.on_remove = opens_too_late;
	ck_assert_int_eq(ci_unload_module("fake", 0), AL_SUCCESS);
	ck_assert_uint_eq(atomic_load(&upper.adds), 1);
}
END_TEST

START_TEST(hcas_that_a_module_leaves_registered_are_withdrawn_and_logged)
{
	ck_assert_int_eq(ci_start(NULL), AL_SUCCESS);
	fake->hcas = 2;
	fake->keep_hcas = true;
	ck_assert_int_eq(ci_load_module(FAKE_SO), AL_SUCCESS);
	ck_assert_int_eq(ci_unload_module("fake", 0), AL_SUCCESS);
	ck_assert_uint_eq(atomic_load(&upper.removes), 2);
	ck_assert_uint_eq(upper.remove_flags, CI_HCA_GONE);
	ck_assert(log_has(IB_LOG_ERROR, "fake: " FAKE_SO, "0x00feed0000000101", "still registered", NULL));
}
END_TEST

static sem_t withdrawing;
static pthread_t module_thread;

static void tell(struct ci_registration *reg)
{
	(void)reg;
	sem_post(&withdrawing);
	/*
	 * The unload waits for this withdrawal. The withdrawal may come before or after the wait begins; both orders
	 * must end well.
	 */
	for (int i = 0; i < 100; i++)
		sched_yield();
}

static void *withdraw(void *arg)
{
	(void)arg;
	fake->withdraw(0, 0);
	return NULL;
}

START_TEST(an_unload_waits_for_a_withdrawal_by_the_modules_own_thread)
{
	sem_init(&withdrawing, 0, 0);
	ck_assert_int_eq(ci_start(NULL), AL_SUCCESS);
	ck_assert_int_eq(ci_load_module(FAKE_SO), AL_SUCCESS);
	upper.on_remove = tell;
	ck_assert_int_eq(pthread_create(&module_thread, NULL, withdraw, NULL), 0);
	sem_wait(&withdrawing);
	ck_assert_int_eq(ci_unload_module("fake", 0), AL_SUCCESS);
	ck_assert_uint_eq(atomic_load(&upper.removes), 1);
	pthread_join(module_thread, NULL);
}
END_TEST

START_TEST(a_module_that_is_not_loaded_is_not_found)
{
	ck_assert_int_eq(ci_start(NULL), AL_SUCCESS);
	ck_assert_int_eq(ci_unload_module("soft", 0), AL_NOT_FOUND);
	ck_assert(log_has(IB_LOG_ERROR, "soft", "no module of that name", NULL));
}
END_TEST

/* ------------------------------------------------------------------------------ start-up */

START_TEST(starting_again_does_nothing)
{
	setenv("IBAL_MODULE_PATH", FAKE_DIR, 1);
	ck_assert_int_eq(ci_start(NULL), AL_SUCCESS);
	ck_assert_int_eq(ci_start("/nonexistent/ibal.conf"), AL_SUCCESS);
	ck_assert_uint_eq(atomic_load(&fake->inits), 1);
}
END_TEST

static void *start(void *arg)
{
	(void)arg;
	return (void *)(uintptr_t)ci_start(NULL);
}

START_TEST(of_many_starters_one_starts_and_all_find_it_done)
{
	pthread_t thread[4];
	void *result;

	setenv("IBAL_MODULE_PATH", FAKE_DIR, 1);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, start, NULL), 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(thread[i], &result);
		ck_assert_int_eq((int)(uintptr_t)result, AL_SUCCESS);
	}
	ck_assert_uint_eq(atomic_load(&fake->inits), 1);
	ck_assert_uint_eq(atomic_load(&upper.adds), 1);
}
END_TEST

START_TEST(a_group_of_no_module_stops_the_start)
{
	setenv("IBAL_MODULE_PATH", FAKE_DIR, 1);
	ck_assert_int_eq(ci_start(temp_file("ibal.conf", "[faek]\nnote=1\n")), AL_BAD_CONFIG);
	ck_assert(log_has(IB_LOG_ERROR, "ibal.conf", "[faek] note", NULL));
	ck_assert_uint_eq(atomic_load(&fake->inits), 0);
	/* A repair makes the start-up succeed. */
	ck_assert_int_eq(ci_start(temp_file("ibal.conf", "[fake]\nnote=1\n")), AL_SUCCESS);
	ck_assert_uint_eq(atomic_load(&fake->inits), 1);
}
END_TEST

START_TEST(a_setting_that_a_module_refuses_stops_the_start_and_nothing_stays)
{
	setenv("IBAL_MODULE_PATH", FAKE_DIR ":" ORDER, 1);
	ck_assert_int_eq(ci_start(temp_file("ibal.conf", "[fake]\nhcsa=1\n")), AL_BAD_CONFIG);
	ck_assert(log_has(IB_LOG_ERROR, "fake: ", "ibal.conf: hcsa", NULL));
	ck_assert(log_has(IB_LOG_INFO, "alpha: cleaned up", NULL));
	ck_assert_ptr_null(ci_host_first());
	ck_assert_ptr_null(module("fake"));
	ck_assert_int_eq(ci_start(NULL), AL_SUCCESS);
	ck_assert_int_eq(module("alpha")->status, AL_SUCCESS);
}
END_TEST

static struct ci_param seen[4];

static void look_at_params(struct ci_host *host, const struct ci_params *params)
{
	(void)host;
	for (size_t i = 0; i < params->count; i++) {
		ck_assert_str_eq(params->param[i].section, seen[i].section);
		ck_assert_str_eq(params->param[i].key, seen[i].key);
		ck_assert_str_eq(params->param[i].value, seen[i].value);
	}
	ck_assert_uint_eq(params->count, 3);
}

START_TEST(settings_reach_init)
{
	seen[0] = (struct ci_param){ .section = "", .key = "note", .value = "a" };
	seen[1] = (struct ci_param){ .section = "part B", .key = "note", .value = "b" };
	seen[2] = (struct ci_param){ .section = "part B", .key = "note", .value = "c" };
	fake->on_init = look_at_params;
	setenv("IBAL_MODULE_PATH", FAKE_DIR, 1);
	setenv("IBAL_FAKE", "[part B] note=c", 1);
	ck_assert_int_eq(
		ci_start(temp_file("ibal.conf", "[fake]\nnote=a\n[fake part B]\nnote=b\n")),
		AL_SUCCESS);
	ck_assert_uint_eq(atomic_load(&fake->inits), 1);
}
END_TEST

START_TEST(without_memory_the_start_fails_whole_and_can_be_repeated)
{
	uint64_t n = 0;
	al_status st;

	fake->hcas = 2;
	setenv("IBAL_MODULE_PATH", FAKE_DIR ":" ORDER, 1);
	do {
		al_fail_alloc(++n);
		st = ci_start(NULL);
		ck_assert(st == AL_SUCCESS || st == AL_INSUFFICIENT_MEMORY);
		ck_assert(!st == !!ci_host_first());
		ck_assert_uint_eq(atomic_load(&upper.adds),
				  atomic_load(&upper.removes) + (st ? 0 : 2));
	} while (st);
	/*
	 * The trace has at least a line for each module, two lines for each of two HCAs, and the functions on the
	 * bus.
	 */
	ck_assert_uint_ge(n, 4 + 4 + 3);
	al_fail_alloc(0);
}
END_TEST

START_TEST(a_forked_child_starts_afresh)
{
	int status;
	pid_t child;

	setenv("IBAL_MODULE_PATH", FAKE_DIR, 1);
	ck_assert_int_eq(ci_start(NULL), AL_SUCCESS);
	child = fork();
	if (!child) {
		ci_after_fork();
		if (ci_host_first() || ci_start(NULL) || !ci_host_first())
			_exit(1);
		/* The child has the same image, with the parent's counts. */
		_exit(atomic_load(&fake->inits) == 2 && atomic_load(&upper.adds) == 2 ? 0 : 2);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(ci_unload_module("fake", 0), AL_SUCCESS);
}
END_TEST

/* --------------------------------------------------------- the SAS's figures, in the trace */

static void expect_steps(const char *const *steps)
{
	char line[512];
	FILE *f = fopen(getenv("IBAL_TRACE"), "re");

	ck_assert_ptr_nonnull(f);
	for (; *steps; steps++) {
		bool found = false;

		while (!found && fgets(line, sizeof(line), f))
			found = strstr(line, *steps) != NULL;
		ck_assert_msg(found, "no step \"%s\", or not in its place", *steps);
	}
	fclose(f);
}

START_TEST(loading_and_unloading_take_the_steps_of_the_figures)
{
	static const char *const steps[] = {
		/* Figure 2-1. */
		" ci load fake ",
		" ci init of fake",
		" ci scan of fake",
		" fake ib_register_ci",
		" ci open_ca of fake",
		" ci query_ca of fake",
		" ci PCI function 0000:3b:00.0 (15b3:1017) matches fake",
		" ci probe of fake with 0000:3b:00.0",
		" fake ib_register_ci",
		/* Figure 2-2. */
		" ci remove of fake with 0000:3b:00.0",
		" fake ib_deregister_ci",
		" ci close_ca of fake",
		" ci cleanup of fake",
		" fake ib_deregister_ci",
		" ci close_ca of fake",
		" ci unload fake",
		NULL,
	};

	setenv("IBAL_TRACE", temp_path("trace"), 1);
	setenv("IBAL_MODULE_PATH", FAKE_DIR, 1);
	setenv("IBAL_PCI_DUMP", TEST_DATA "/pci/adapters.dump", 1);
	ck_assert_int_eq(ci_start(NULL), AL_SUCCESS);
	ck_assert_int_eq(ci_unload_module("fake", 0), AL_SUCCESS);
	expect_steps(steps);
}
END_TEST

static TCase *new_case(Suite *suite, const char *name)
{
	TCase *tc = tcase_create(name);

	tcase_add_checked_fixture(tc, start_fresh, NULL);
	suite_add_tcase(suite, tc);
	return tc;
}

int main(void)
{
	Suite *suite = suite_create("loader");
	TCase *tc = new_case(suite, "order");

	tcase_add_test(tc, modules_of_the_path_are_loaded_by_name);
	tcase_add_test(tc, the_key_modules_chooses_and_orders);
	tcase_add_test(tc, the_key_modules_can_choose_none);
	tcase_add_test(tc, a_chosen_module_that_is_missing_is_named);
	tcase_add_test(tc, the_first_directory_of_the_path_counts);
	tcase_add_test(tc, a_missing_directory_is_logged);
	tcase_add_test(tc, without_any_setting_the_systems_directory_is_used);
	tc = new_case(suite, "refusals");
	tcase_add_loop_test(tc, each_fault_of_a_module_has_its_status_and_sentence, 0, ODDS);
	tcase_add_test(tc, a_larger_module_struct_is_taken);
	tcase_add_test(tc, modules_that_fail_do_not_stop_the_others);
	tcase_add_test(tc, a_truncated_module_is_refused_by_the_loader);
	tcase_add_test(tc, a_module_that_loads_at_last_has_not_failed);
	tcase_add_test(tc, what_is_not_there_is_not_found_and_not_remembered);
	tcase_add_test(tc, a_module_is_loaded_once);
	tcase_add_test(tc, a_path_may_be_relative);
	tcase_add_test(tc, an_init_that_fails_leaves_nothing);
	tcase_add_test(tc, a_scan_that_fails_is_cleaned_up);
	tcase_add_test(tc, why_an_hca_was_refused_is_remembered_with_its_module);
	tcase_add_test(tc, the_snapshot_describes_a_module);
	tc = new_case(suite, "unloading");
	tcase_add_test(tc, a_module_without_users_is_unloaded_and_comes_back);
	tcase_add_test(tc, a_module_in_use_is_not_unloaded_and_its_users_are_named);
	tcase_add_test(tc, removal_under_users_when_asked_for);
	tcase_add_test(tc, while_a_module_is_unloaded_no_user_and_no_hca_comes);
	tcase_add_test(tc, hcas_that_a_module_leaves_registered_are_withdrawn_and_logged);
	tcase_add_test(tc, an_unload_waits_for_a_withdrawal_by_the_modules_own_thread);
	tcase_add_test(tc, a_module_that_is_not_loaded_is_not_found);
	tc = new_case(suite, "start");
	tcase_add_test(tc, starting_again_does_nothing);
	tcase_add_test(tc, of_many_starters_one_starts_and_all_find_it_done);
	tcase_add_test(tc, a_group_of_no_module_stops_the_start);
	tcase_add_test(tc, a_setting_that_a_module_refuses_stops_the_start_and_nothing_stays);
	tcase_add_test(tc, settings_reach_init);
	tcase_add_test(tc, without_memory_the_start_fails_whole_and_can_be_repeated);
	tcase_add_test(tc, a_forked_child_starts_afresh);
	tcase_add_test(tc, loading_and_unloading_take_the_steps_of_the_figures);
	return support_run(suite);
}
