/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * For the tests of ci/: something in the place of the Access Layer, the log's messages, files and
 * directories of a test, and the module fake.so from inside.
 */
#ifndef IBAL_TEST_UNIT_CI_SUPPORT_H
#define IBAL_TEST_UNIT_CI_SUPPORT_H

#include <check.h>
#include <stdatomic.h>

#include "ci/internal.h"
#include "test/modules/fake.h"

/* What stands above the registry. */
struct test_upper {
	atomic_uint adds, removes;
	_Atomic uint32_t remove_flags;    /* of the last removal */
	al_status fail_add;               /* what add returns */
	bool inside;                      /* what inside returns */
	const char *users;                /* what users writes */
	void (*on_add)(struct ci_registration *reg);
	void (*on_remove)(struct ci_registration *reg);
	void (*on_users)(struct ci_registration *reg);
	struct ci_registration *_Atomic last; /* added last; modules have threads */
};
extern struct test_upper upper;

/*
 * Installs it, and begins to keep the log's messages. First thing in a test that starts anything.
 */
void support_start(void);
/* Has a message of that level, or any with 0, all of the words, which end with NULL? */
bool log_has(int level, ...) __attribute__((sentinel));
/* Of that level, or all with 0. */
unsigned int log_count(int level);
void log_clear(void);

/* The module of FAKE_DIR, before it is loaded. */
struct fake *fake_open(void);
#define FAKE_SO FAKE_DIR "/fake.so"

/* A new directory, removed with what is in it when the test's process ends normally. */
const char *temp_dir(void);
/* A path in it; good until the process ends. */
const char *temp_path(const char *name);
/* Writes a file of that name there. */
const char *temp_file(const char *name, const char *text);

/* A sysfs with one function of that name, a ConnectX-5, in the test's directory; and a file of it. */
void make_sysfs(const char *function);
void sysfs_file(const char *function, const char *name, const char *value);

/* Descriptors that this process has open. */
unsigned int open_fds(void);

/* Runs the suite as main() does. */
int support_run(Suite *suite);

#endif /* IBAL_TEST_UNIT_CI_SUPPORT_H */
