/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* For the tests of ci/: see support.h. */
#include <dirent.h>
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test/unit/ci/support.h"

struct test_upper upper;

/* -------------------------------------------------- replacement of the Access Layer */

static al_status add(struct ci_registration *reg)
{
	if (upper.fail_add)
		return upper.fail_add;
	atomic_fetch_add(&upper.adds, 1);
	upper.last = reg;
	atomic_store(&reg->al, &upper);
	if (upper.on_add)
		upper.on_add(reg);
	return AL_SUCCESS;
}

static void take_away(struct ci_registration *reg, uint32_t flags)
{
	if (upper.on_remove)
		upper.on_remove(reg);
	atomic_store(&reg->al, NULL);
	upper.remove_flags = flags;
	atomic_fetch_add(&upper.removes, 1);
}

static void users(struct ci_registration *reg, char *buf, size_t len)
{
	if (upper.on_users)
		upper.on_users(reg);
	snprintf(buf, len, "%s", upper.users ? upper.users : "");
}

static bool inside(void)
{
	return upper.inside;
}

/* Upcalls of fake.so, which no test of ci/ causes. */
void ib_cq_notify(void *cq_ctx)
{
	ck_abort_msg("ib_cq_notify(%p) without an Access Layer", cq_ctx);
}

void ib_dispatch_event(const struct ci_event *event)
{
	ck_abort_msg("ib_dispatch_event of type %d without an Access Layer", event->type);
}

al_status ci_client_give_fd(struct ci_udata *udata, int fd)
{
	ck_abort_msg("ci_client_give_fd(%p, %d) without an Access Layer", (void *)udata, fd);
	return AL_UNSUPPORTED;
}

/* ------------------------------------------------------------------------- the log */

static struct {
	pthread_mutex_t lock;
	struct {
		int level;
		char *text;
	} line[256];
	unsigned int count;
} messages = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void keep(void *ctx, ib_log_level level, const char *text)
{
	(void)ctx;
	fprintf(stderr, "log %d: %s\n", level, text);
	pthread_mutex_lock(&messages.lock);
	ck_assert_uint_lt(messages.count, sizeof(messages.line) / sizeof(messages.line[0]));
	messages.line[messages.count].level = level;
	messages.line[messages.count++].text = strdup(text);
	pthread_mutex_unlock(&messages.lock);
}

static bool line_has(const char *text, va_list words)
{
	const char *word;

	while ((word = va_arg(words, const char *)))
		if (!strstr(text, word))
			return false;
	return true;
}

bool log_has(int level, ...)
{
	bool found = false;

	pthread_mutex_lock(&messages.lock);
	for (unsigned int i = 0; i < messages.count && !found; i++) {
		va_list words;

		va_start(words, level);
		found = (!level || messages.line[i].level == level) &&
			line_has(messages.line[i].text, words);
		va_end(words);
	}
	pthread_mutex_unlock(&messages.lock);
	return found;
}

unsigned int log_count(int level)
{
	unsigned int n = 0;

	pthread_mutex_lock(&messages.lock);
	for (unsigned int i = 0; i < messages.count; i++)
		n += !level || messages.line[i].level == level;
	pthread_mutex_unlock(&messages.lock);
	return n;
}

void log_clear(void)
{
	pthread_mutex_lock(&messages.lock);
	while (messages.count)
		free(messages.line[--messages.count].text);
	pthread_mutex_unlock(&messages.lock);
}

void support_start(void)
{
	static const struct ci_upper table = {
		.add = add, .remove = take_away, .users = users, .inside = inside
	};

	/* Ignores the machine's configuration; only the test's configuration counts. */
	setenv("IBAL_CONF", "", 1);
	setenv("IBAL_MODULE_PATH", "", 1);
	setenv("IBAL_PCI_DUMP", TEST_DATA "/pci/no-adapter.dump", 1);
	ci_set_upper(&table);
	ci_log_set_sink(keep, NULL);
	atexit(log_clear);
}

/* ----------------------------------------------------------------------- the module */

struct fake *fake_open(void)
{
	void *lib = dlopen(FAKE_SO, RTLD_NOW | RTLD_LOCAL);
	struct fake *fake;

	ck_assert_msg(lib, "%s", dlerror());
	fake = dlsym(lib, "fake");
	ck_assert_ptr_nonnull(fake);
	return fake;
}

/* --------------------------------------------------------------------------- files */

static char *dir;
static char *paths[64];
static unsigned int num_paths;

static void remove_dir(void)
{
	char command[256];

	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	ck_assert_int_eq(system(command), 0);
	free(dir);
	while (num_paths)
		free(paths[--num_paths]);
}

const char *temp_dir(void)
{
	if (dir)
		return dir;
	dir = strdup("/tmp/ibal-test-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	atexit(remove_dir);
	return dir;
}

const char *temp_path(const char *name)
{
	ck_assert_uint_lt(num_paths, sizeof(paths) / sizeof(paths[0]));
	ck_assert_int_gt(asprintf(&paths[num_paths], "%s/%s", temp_dir(), name), 0);
	return paths[num_paths++];
}

const char *temp_file(const char *name, const char *text)
{
	const char *path = temp_path(name);
	FILE *f = fopen(path, "we");

	ck_assert_ptr_nonnull(f);
	ck_assert_int_ge(fputs(text, f), 0);
	ck_assert_int_eq(fclose(f), 0);
	return path;
}

void sysfs_file(const char *function, const char *name, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), "devices/%s/%s", function, name);
	temp_file(path, value);
}

static void make_dir(const char *name)
{
	ck_assert_int_eq(mkdir(temp_path(name), 0755), 0);
}

void make_sysfs(const char *function)
{
	/* Registers 0 to 5 and the ROM: first byte, last byte, flags. */
	static const char resource[] =
		"0x00000203b0000000 0x00000203b1ffffff 0x000000000014220c\n"
		"0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
		"0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
		"0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
		"0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
		"0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
		"0x0000000000000000 0x0000000000000000 0x0000000000000000\n";
	static const char header[64] = {
		(char)0xb3, 0x15, 0x17, 0x10, [0x0a] = 0x07, [0x0b] = 0x02,
	};
	char path[64];
	FILE *f;

	make_dir("devices");
	make_dir("groups");
	make_dir("groups/42");
	make_dir("slots");
	make_dir("slots/7");
	snprintf(path, sizeof(path), "%.*s\n", (int)strcspn(function, "."), function);
	temp_file("slots/7/address", path);
	snprintf(path, sizeof(path), "devices/%s", function);
	make_dir(path);
	sysfs_file(function, "vendor", "0x15b3\n");
	sysfs_file(function, "device", "0x1017\n");
	sysfs_file(function, "class", "0x020700\n");
	sysfs_file(function, "revision", "0x01\n");
	sysfs_file(function, "subsystem_vendor", "0x15b3\n");
	sysfs_file(function, "subsystem_device", "0x0008\n");
	sysfs_file(function, "irq", "11\n");
	sysfs_file(function, "numa_node", "1\n");
	sysfs_file(function, "resource", resource);
	snprintf(path, sizeof(path), "devices/%s/iommu_group", function);
	ck_assert_int_eq(symlink("../../groups/42", temp_path(path)), 0);
	snprintf(path, sizeof(path), "devices/%s/config", function);
	f = fopen(temp_path(path), "we");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(header, 1, sizeof(header), f), sizeof(header));
	fclose(f);
}

unsigned int open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned int n = 0;

	ck_assert_ptr_nonnull(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

int support_run(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
