/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * For the tests of ci/: a replacement of the Access Layer, the log's messages, files and directories of a test, and
 * access to the module fake.so.
 */
#ifndef IBAL_TEST_UNIT_CI_SUPPORT_H
#define IBAL_TEST_UNIT_CI_SUPPORT_H

#include <check.h>
#include <stdatomic.h>

#include "ci/internal.h"
#include "test/modules/fake.h"

/* The layer above the registry. */
struct test_upper {
	atomic_uint adds, removes;
	_Atomic uint32_t remove_flags;    /* of the last removal */
	al_status fail_add;               /* result of add */
	bool inside;                      /* result of inside */
	const char *users;                /* text that users writes */
	void (*on_add)(struct ci_registration *reg);
	void (*on_remove)(struct ci_registration *reg);
	void (*on_users)(struct ci_registration *reg);
	struct ci_registration *_Atomic last; /* the registration added last; modules have threads, so atomic */
};
extern struct test_upper upper;

/*
 * Installs the replacement, and begins to record the log's messages. Must come first in a test that starts anything.
 */
void support_start(void);
/* True if a message of that level (0: of any level) has all of the words. NULL ends the words. */
bool log_has(int level, ...) __attribute__((sentinel));
/* Number of messages of that level; 0: of all levels. */
unsigned int log_count(int level);
void log_clear(void);

/* Opens the module of FAKE_DIR before the library loads the module. */
struct fake *fake_open(void);
#define FAKE_SO FAKE_DIR "/fake.so"

/* Makes a new directory, which is removed with its content when the test's process ends normally. */
const char *temp_dir(void);
/* Returns a path in that directory, valid until the process ends. */
const char *temp_path(const char *name);
/* Writes a file of that name in that directory. */
const char *temp_file(const char *name, const char *text);

/*
 * Makes a sysfs with one function of that name, a ConnectX-5, in the test's directory. sysfs_file() writes one
 * of its files.
 */
void make_sysfs(const char *function);
void sysfs_file(const char *function, const char *name, const char *value);

/* Number of this process's open descriptors. */
unsigned int open_fds(void);

/* Runs the suite; the result is main()'s. */
int support_run(Suite *suite);

#endif /* IBAL_TEST_UNIT_CI_SUPPORT_H */
