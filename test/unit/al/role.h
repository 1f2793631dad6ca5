/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The role in which a test of the API uses the library, IBAL_TEST_ROLE:
 *
 *     embedded   the process has the HCAs itself; also if the variable is not set
 *     user       an agent has the HCAs; no user-mode provider
 *     uvp        an agent has the HCAs; user-mode providers: test/modules/hooks.c for fake.so
 *
 * The agent runs in this process, on threads of its own and behind a real socket, so that in every role a test can reach
 * into the module whose HCAs the agent serves. The first opening starts the agent.
 *
 * test/roles.txt lists the tests that do not run in a role, with the reason; test/role runs a program in a role.
 */
#ifndef IBAL_TEST_ROLE_H
#define IBAL_TEST_ROLE_H

#include <check.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "al/agent/ald.h"

static inline const char *test_role(void)
{
	const char *role = getenv("IBAL_TEST_ROLE");

	return role ? role : "embedded";
}

static inline bool test_in_user_role(void)
{
	return strcmp(test_role(), "embedded") != 0;
}

/* ---------------------------------------------------- callbacks that do nothing */

static inline void test_ignore_log(void *context, ib_log_level level, const char *text)
{
	(void)context;
	(void)level;
	(void)text;
}

static inline void test_ignore_event(void *context, const struct al_event *event)
{
	(void)context;
	(void)event;
}

static inline void test_ignore_mad(void *context, const struct al_mad_event *event)
{
	(void)context;
	(void)event;
}

/* ------------------------------------------------------------------ the agent */

static char test_agent_dir[] = "/tmp/role_test-XXXXXX", test_agent_socket[64];
static pid_t test_agent_pid; /* the process in which the agent runs; a forked child has no agent */
static void (*test_agent_stop)(void);

/* Runs at exit. Objects that a test has left open are not reported. */
static inline void test_end_agent(void)
{
	if (test_agent_pid != getpid())
		return;
	al_set_log(test_ignore_log, NULL);
	test_agent_stop();
	rmdir(test_agent_dir);
}

static inline void test_start_agent(void)
{
	struct ald_attr attr = { .socket = test_agent_socket, .mode = 0600, .config = "" };
	const char *build = getenv("top_builddir");
	al_status (*start)(const struct ald_attr *);
	char path[512];
	sigset_t all, mine;
	void *file;

	ck_assert_ptr_nonnull(build);
	snprintf(path, sizeof(path), "%s/test/modules/agent/.libs/agent.so", build);
	file = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	ck_assert_msg(file != NULL, "%s", dlerror());
	start = (al_status (*)(const struct ald_attr *))dlsym(file, "ald_start");
	test_agent_stop = (void (*)(void))dlsym(file, "ald_stop");
	ck_assert_ptr_nonnull(mkdtemp(test_agent_dir));
	snprintf(test_agent_socket, sizeof(test_agent_socket), "%s/ald", test_agent_dir);
	attr.limits = *(const struct agent_limits *)dlsym(file, "ald_default_limits");
	/* Like all threads of the library: signals are for the program's own threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &mine);
	ck_assert_int_eq(start(&attr), AL_SUCCESS);
	pthread_sigmask(SIG_SETMASK, &mine, NULL);
	ck_assert(!setenv("IBAL_AGENT", test_agent_socket, 1)); /* for openings without attributes */
	test_agent_pid = getpid();
	atexit(test_end_agent);
}

/* The value of al_open_attr.agent. */
static inline const char *test_agent(void)
{
	if (!test_in_user_role())
		return "off";
	if (!*test_agent_socket)
		test_start_agent();
	return test_agent_socket;
}

/* ------------------------------------------------------------------ exemptions */

/* True: the table permits this test function in this role. Otherwise prints the table's reason. */
static inline bool test_runs(const TTest *test)
{
	const char *top = getenv("top_srcdir"), *base = strrchr(test->file, '/');
	char path[512], line[1024], want[256], name[256], roles[64], reason[512];
	bool runs = true;
	FILE *table;

	base = base ? base + 1 : test->file;
	snprintf(want, sizeof(want), "/%.*s/%s", (int)strcspn(base, "."), base, test->name);
	snprintf(path, sizeof(path), "%s/test/roles.txt", top ? top : ".");
	table = fopen(path, "re");
	if (!table) {
		perror(path);
		exit(EXIT_FAILURE);
	}
	while (fgets(line, sizeof(line), table)) {
		size_t length;

		if (*line == '#' || sscanf(line, "%255s %63s %511[^\n]", name, roles, reason) < 3)
			continue;
		length = strlen(name);
		if (length < strlen(want) || strcmp(name + length - strlen(want), want))
			continue;
		snprintf(want, sizeof(want), ",%s,", test_role());
		memmove(roles + 1, roles, sizeof(roles) - 2);
		roles[0] = ',';
		strcat(roles, ",");
		runs = strstr(roles, want) != NULL;
		if (!runs)
			printf("%s: not in the role %s: %s\n", test->name, test_role(), reason);
		break;
	}
	fclose(table);
	return runs;
}

/* Every function that adds a test to a case calls this one. */
static inline void test_add(TCase *tcase, const TTest *test, int signal, int exit_code, int from, int to)
{
	if (!test_in_user_role() || test_runs(test))
		_tcase_add_test(tcase, test, signal, exit_code, from, to);
}
#define _tcase_add_test test_add

#endif
