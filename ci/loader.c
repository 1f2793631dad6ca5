/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The loader: which modules are loaded, in which order, and why a module was not loaded; and
 * ci_start(), which starts the parts below the Access Layer. Loading one module is ci/module.c.
 */
#include <string.h>

#include "ci/internal.h"

/*
 * Serialises loads, unloads and scans of the bus; held while a module's functions are called.
 * Outermost lock. Functions that a module may call meanwhile, or a client for which the module
 * waits, take only the registry's lock (see ci/ci.h).
 */
static pthread_mutex_t loader_lock = PTHREAD_MUTEX_INITIALIZER;
/* ci_start() has succeeded. Stored with release, under the loader's lock. */
static atomic_bool started;

/* A module that was not loaded, with the reason, for snapshots. Changed with the loader's and the
 * registry's lock held. */
struct failure {
	struct ci_snap_module snap;
	struct failure *next;
};
static struct failure *failures, *parents_failures;

void ci_after_fork(void)
{
	pthread_mutex_init(&loader_lock, NULL);
	atomic_store_explicit(&started, false, memory_order_relaxed);
	CI_LEAVE_TO_PARENT(failures, parents_failures);
	ci_registry_after_fork();
	ci_bus_after_fork();
	ci_provider_after_fork();
	ci_conf_after_fork();
	ci_log_after_fork();
}

/* ---------------------------------------------------------------------- failures */

static bool is_failure_of(const struct failure *f, const char *name, const char *path)
{
	return !strcmp(f->snap.name, name) &&
	       !strncmp(f->snap.path, path, sizeof(f->snap.path) - 1);
}

/* Removes the failure of that module and file from the list; name NULL: the oldest failure. */
static void drop_failure(const char *name, const char *path)
{
	struct failure **at = &failures;
	struct failure *f;

	pthread_mutex_lock(&ci_registry_lock);
	while (*at && name && !is_failure_of(*at, name, path))
		at = &(*at)->next;
	f = *at;
	if (f)
		*at = f->next;
	pthread_mutex_unlock(&ci_registry_lock);
	al_free(f);
}

/* Adds a failure to the list. Without memory only the log has the reason. */
static void remember_failure(const char *name, const char *path, al_status st, const char *text)
{
	struct failure **end = &failures;
	struct failure *f;

	drop_failure(name, path);
	f = al_alloc(sizeof(*f));
	if (!f)
		return;
	ci_copy(f->snap.name, sizeof(f->snap.name), name);
	ci_copy(f->snap.path, sizeof(f->snap.path), path);
	ci_copy(f->snap.text, sizeof(f->snap.text), text);
	f->snap.status = st;
	pthread_mutex_lock(&ci_registry_lock);
	while (*end)
		end = &(*end)->next;
	*end = f;
	pthread_mutex_unlock(&ci_registry_lock);
}

/* ----------------------------------------------------------------------- one module */

static al_status load(const char *path)
{
	g_autofree char *file = g_path_get_basename(path);
	char name[CI_NAME_MAX], text[CI_TEXT_MAX] = "";
	struct ci_host *host;
	al_status st;

	st = ci_module_load(path, &host, text);
	if (st) {
		if (!ci_module_file_name(path, name))
			ci_copy(name, sizeof(name), file);
		/* The function that found a wrong setting has logged an error already. */
		ib_log(st == AL_BAD_CONFIG ? IB_LOG_INFO : IB_LOG_ERROR, name, "%s: not loaded: %s",
		       path, text);
		/* A file that does not exist is no failed module. */
		if (st != AL_NOT_FOUND)
			remember_failure(name, path, st, text);
		return ib_refuse(st, "%s: %s", name, text);
	}
	drop_failure(host->name, path);
	return AL_SUCCESS;
}

/* Unloads a module. ci_host_retire() has already refused new users and HCAs. */
static void unload(struct ci_host *host)
{
	ci_bus_remove_from(host);
	ci_module_unload(host);
}

/* --------------------------------------------------------------------- module path */

/* A file of the module path whose name is a module's. */
struct candidate {
	char name[CI_NAME_MAX];
	char *path;
};

static void candidate_free(void *mem)
{
	struct candidate *c = mem;

	g_free(c->path);
	g_free(c);
}

static int by_name(const void *a, const void *b)
{
	return strcmp((*(struct candidate *const *)a)->name, (*(struct candidate *const *)b)->name);
}

static struct candidate *find_candidate(const GPtrArray *candidates, const char *name)
{
	for (guint i = 0; i < candidates->len; i++) {
		struct candidate *c = g_ptr_array_index(candidates, i);

		if (!strcmp(c->name, name))
			return c;
	}
	return NULL;
}

/* Adds the module files of a directory. A module that an earlier directory of the path has is
 * skipped. */
static void add_candidates(const char *dir, GPtrArray *candidates)
{
	g_autoptr(GError) err = NULL;
	GDir *d = g_dir_open(dir, 0, &err);
	const char *file;

	if (!d) {
		ib_log(IB_LOG_WARNING, "loader", "module path: %s", err->message);
		return;
	}
	while ((file = g_dir_read_name(d))) {
		char name[CI_NAME_MAX];
		struct candidate *c;

		if (!ci_module_file_name(file, name)) {
			if (g_str_has_suffix(file, ".so"))
				ib_log(IB_LOG_WARNING, "loader",
				       "module path: %s/%s: not loaded: " CI_MODULE_FILE_RULE, dir,
				       file);
			continue;
		}
		if (find_candidate(candidates, name))
			continue;
		c = g_new0(struct candidate, 1);
		ci_copy(c->name, sizeof(c->name), name);
		c->path = g_build_filename(dir, file, NULL);
		g_ptr_array_add(candidates, c);
	}
	g_dir_close(d);
}

/* Lists the module files of IBAL_MODULE_PATH, or else of module_path (from the configuration), or
 * else of the default. */
static GPtrArray *list_candidates(const char *module_path)
{
	GPtrArray *candidates = g_ptr_array_new_with_free_func(candidate_free);
	const char *path = ci_env("IBAL_MODULE_PATH");
	g_auto(GStrv) dirs = NULL;

	if (!path)
		path = module_path;
	dirs = g_strsplit(path ? path : IBAL_MODULE_DIR, ":", -1);
	for (char **dir = dirs; *dir; dir++)
		if (**dir && (path || g_file_test(*dir, G_FILE_TEST_IS_DIR)))
			add_candidates(*dir, candidates);
	g_ptr_array_sort(candidates, by_name);
	return candidates;
}

static bool is_candidate(const char *module, void *ctx)
{
	return find_candidate(ctx, module) != NULL;
}

/*
 * Loads a module of the module path. A module that fails does not stop the start, with two
 * exceptions: the user must correct a wrong setting first, and without memory the other modules
 * would fail as well.
 */
static al_status load_from_module_path(const char *path)
{
	al_status st = load(path);

	return st == AL_BAD_CONFIG || st == AL_INSUFFICIENT_MEMORY ? st : AL_SUCCESS;
}

/* Loads the modules that the key `modules` lists, in its order. Without the key: all modules of the
 * path, by name. */
static al_status load_all(const GPtrArray *candidates)
{
	const char *chosen = ci_conf_get("modules");
	g_auto(GStrv) names = NULL;
	al_status st = AL_SUCCESS;

	if (!chosen) {
		for (guint i = 0; i < candidates->len && !st; i++) {
			struct candidate *c = g_ptr_array_index(candidates, i);

			st = load_from_module_path(c->path);
		}
		return st;
	}
	names = g_strsplit(chosen, ";", -1);
	for (char **name = names; *name && !st; name++) {
		struct candidate *c = find_candidate(candidates, g_strstrip(*name));

		if (c) {
			st = load_from_module_path(c->path);
		} else if (**name) {
			ib_log(IB_LOG_ERROR, *name,
			       "not loaded: the key modules of [ibal] names the module, and the module path has no %s.so: "
			       "install the module, or remove its name from the key",
			       *name);
			remember_failure(
				*name, "", AL_NOT_FOUND,
				"the key modules names the module, and the module path lacks its file");
		}
	}
	return st;
}

/* ----------------------------------------------------------------------------- start */

static al_status start(const char *config)
{
	g_autoptr(GPtrArray) candidates = NULL;
	al_status st;

	st = ci_conf_load(config);
	if (st)
		return st;
	candidates = list_candidates(ci_conf_get("module_path"));
	st = ci_conf_check_groups(is_candidate, candidates);
	if (!st)
		st = load_all(candidates);
	/* A machine without a readable PCI bus can still have modules: the error is in the log and
	 * in snapshots. */
	if (!st && ci_bus_scan() == AL_INSUFFICIENT_MEMORY)
		st = AL_INSUFFICIENT_MEMORY;
	return st;
}

static void *list_for_check(const char *module_path)
{
	return list_candidates(module_path);
}

al_status ci_check(const char *config)
{
	void *candidates = NULL;
	al_status st;

	ci_diag_start();
	st = ci_conf_check(config, list_for_check, is_candidate, &candidates);
	if (candidates)
		g_ptr_array_unref(candidates);
	return st;
}

/* Unloads all modules after a failed start, so that the next ci_start() begins anew. */
static void undo_start(void)
{
	while (ci_host_first()) {
		ci_host_retire(ci_host_first(), true, NULL, 0);
		unload(ci_host_first());
	}
	ci_bus_clear();
	while (failures)
		drop_failure(NULL, NULL);
}

al_status ci_start(const char *config)
{
	al_status st = AL_SUCCESS;

	/*
	 * Pairs with the store below: a caller that sees true sees the results of the start, and
	 * does not wait for a lock that an unload may hold.
	 */
	if (atomic_load_explicit(&started, memory_order_acquire))
		return AL_SUCCESS;
	pthread_mutex_lock(&loader_lock);
	if (!atomic_load_explicit(&started, memory_order_relaxed)) {
		st = start(config);
		if (st) {
			undo_start();
		} else {
			ci_conf_settle();
			atomic_store_explicit(&started, true, memory_order_release);
		}
	}
	pthread_mutex_unlock(&loader_lock);
	return st;
}

al_status ci_load_module(const char *path)
{
	char name[CI_NAME_MAX];
	al_status st;

	if (ci_secure()) {
		ib_log(IB_LOG_ERROR, "loader",
		       "%s: not loaded: a set-uid program loads modules from the system's module path only",
		       path);
		return ib_refuse(
			AL_PERMISSION,
			"a set-uid program loads modules from the system's module path only");
	}
	pthread_mutex_lock(&loader_lock);
	st = load(path);
	if (!st && ci_module_file_name(path, name))
		ci_bus_probe(ci_host_find(name));
	pthread_mutex_unlock(&loader_lock);
	return st;
}

al_status ci_unload_module(const char *name, uint32_t flags)
{
	char users[CI_TEXT_MAX] = "";
	struct ci_host *host;
	al_status st;

	pthread_mutex_lock(&loader_lock);
	host = ci_host_find(name);
	if (!host) {
		ib_log(IB_LOG_ERROR, "loader", "unload of %s: no module of that name is loaded",
		       name);
		st = ib_refuse(AL_NOT_FOUND, "no module %.64s is loaded", name);
		goto out;
	}
	st = ci_host_retire(host, flags & CI_UNLOAD_REMOVE, users, sizeof(users));
	if (st) {
		ib_log(IB_LOG_ERROR, name,
		       "not unloaded: in use by %s; close the module's HCAs there, or unload with AL_UNLOAD_REMOVE",
		       users);
		ib_refuse(
			st,
			"the module is in use by %.160s; close its HCAs there, or pass AL_UNLOAD_REMOVE",
			users);
		goto out;
	}
	unload(host);
out:
	pthread_mutex_unlock(&loader_lock);
	return st;
}

al_status ci_rescan(void)
{
	al_status st;

	pthread_mutex_lock(&loader_lock);
	st = ci_bus_scan();
	pthread_mutex_unlock(&loader_lock);
	return st;
}

/* -------------------------------------------------------------------------- snapshot */

static void describe(struct ci_snap_module *snap, const struct ci_host *host)
{
	ci_copy(snap->name, sizeof(snap->name), host->name);
	ci_copy(snap->version, sizeof(snap->version), host->version);
	ci_copy(snap->license, sizeof(snap->license), host->license);
	ci_copy(snap->path, sizeof(snap->path), host->path);
	ci_copy(snap->text, sizeof(snap->text), host->refusal);
	snap->users = host->users;
	snap->status = AL_SUCCESS;
}

al_status ci_snapshot_modules(struct ci_snap_module **modules, size_t *count)
{
	al_status st = AL_INSUFFICIENT_MEMORY;
	struct ci_snap_module *snap;
	size_t n = 0;

	pthread_mutex_lock(&ci_registry_lock);
	for (struct ci_host *host = ci_host_first(); host; host = host->next)
		n++;
	for (struct failure *f = failures; f; f = f->next)
		n++;
	snap = al_alloc((n ? n : 1) * sizeof(*snap));
	if (!snap)
		goto out;
	*modules = snap;
	*count = n;
	for (struct ci_host *host = ci_host_first(); host; host = host->next)
		describe(snap++, host);
	for (struct failure *f = failures; f; f = f->next)
		*snap++ = f->snap;
	st = AL_SUCCESS;
out:
	pthread_mutex_unlock(&ci_registry_lock);
	return st;
}
