/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The configuration: `ibal.conf`, a key file with the group [ibal] for the library and groups
 * [NAME] and [NAME REST] for the module NAME, and the environment variables IBAL_<NAME> with the
 * same keys. A module checks the keys of its own groups, and the agent (al/agent/settings.c) its
 * own; this file checks the rest. The user's description is ibal.conf(5).
 *
 * glib aborts when memory runs out. This file uses glib because the configuration is read at the
 * start only.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "ci/internal.h"

#ifndef IBAL_CONF_FILE
#error IBAL_CONF_FILE is the configuration of this system
#endif

/* One "key = value" of a group that is not [ibal]. */
struct setting {
	char *module;
	struct ci_param param; /* owned by the setting, origin excepted */
};

/* The content of a configuration file. */
struct content {
	char *path;    /* path of the file; NULL: there is no file */
	char *ibal[8]; /* values of the keys of [ibal], indexed like ibal_keys; NULL: the file lacks
			  the key */
	GPtrArray *settings; /* elements: struct setting, in the order of the file */
};

static struct {
	pthread_mutex_t
		lock; /* held while the file is read. Only the log's lock is taken inside. */
	bool settled; /* ci_start() has succeeded: the file is not read again; guarded by lock */
	atomic_bool loaded; /* current is complete; stored with release */
	struct content current;
} conf = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool any_value(const char *value)
{
	(void)value;
	return true;
}

static bool log_value(const char *value)
{
	ib_log_level level;

	return ci_log_level_parse(value, &level);
}

bool ci_seconds_parse(const char *text, unsigned int *seconds)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || !number || number > CI_SECONDS_MOST)
		return false;
	*seconds = (unsigned int)number;
	return true;
}

static bool seconds_value(const char *value)
{
	unsigned int seconds;

	return ci_seconds_parse(value, &seconds);
}

static const struct {
	const char *name;
	bool (*valid)(const char *value);
	const char *values; /* the valid values, for the refusal */
} ibal_keys[] = {
	{ "agent", any_value, "" },
	{ "agent_user", any_value, "" },
	{ "agent_wait", seconds_value,
	  "a number of seconds from 1 to " G_STRINGIFY(CI_SECONDS_MOST) },
	{ "module_path", any_value, "" },
	{ "modules", any_value, "" },
	{ "pci_dump", any_value, "" },
	{ "uvp_path", any_value, "" },
	{ "log", log_value, "error, warning, info or debug" },
};
#define IBAL_KEYS (sizeof(ibal_keys) / sizeof(ibal_keys[0]))
_Static_assert(IBAL_KEYS <= sizeof(conf.current.ibal) / sizeof(conf.current.ibal[0]),
	       "more keys than room");

/* Names NAME for which the variable IBAL_<NAME> is the library's own, now or in a later version. No
 * module has such a name. */
static const char *const reserved[] = {
	"agent", "agent_user",  "agent_wait", "ald",   "conf",     "config",   "faults",
	"log",   "module_path", "pci_dump",   "sysfs", "trace",    "umad_cas", "uvp_path", "verify",
};

bool ci_conf_reserved(const char *module)
{
	for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++)
		if (!strcmp(module, reserved[i]))
			return true;
	return !strcmp(module, "ibal");
}

static void setting_free(void *mem)
{
	struct setting *s = mem;

	g_free(s->module);
	g_free((char *)s->param.section);
	g_free((char *)s->param.key);
	g_free((char *)s->param.value);
	g_free(s);
}

static void setting_add(GPtrArray *to, const char *module, const char *section, const char *key,
			char *value, const char *origin)
{
	struct setting *s = g_new0(struct setting, 1);

	s->module = g_strdup(module);
	s->param.section = g_strdup(section);
	s->param.key = g_strdup(key);
	s->param.value = value;
	s->param.origin = origin;
	g_ptr_array_add(to, s);
}

static void content_clear(struct content *c)
{
	g_clear_pointer(&c->path, g_free);
	for (size_t i = 0; i < IBAL_KEYS; i++)
		g_clear_pointer(&c->ibal[i], g_free);
	g_clear_pointer(&c->settings, g_ptr_array_unref);
}

/* Drops the current configuration. Under conf.lock. */
static void conf_clear(void)
{
	atomic_store_explicit(&conf.loaded, false, memory_order_relaxed);
	content_clear(&conf.current);
}

/* ---------------------------------------------------------------- the file */

static al_status ibal_key(struct content *c, const char *key, char *value)
{
	for (size_t i = 0; i < IBAL_KEYS; i++) {
		if (strcmp(key, ibal_keys[i].name))
			continue;
		if (!ibal_keys[i].valid(value)) {
			ib_log(IB_LOG_ERROR, "conf", "%s: [ibal] %s = %s: must be %s", c->path,
			       key, value, ibal_keys[i].values);
			g_free(value);
			return AL_BAD_CONFIG;
		}
		c->ibal[i] = value;
		return AL_SUCCESS;
	}
	ib_log(IB_LOG_ERROR, "conf",
	       "%s: [ibal] %s: unknown key; ibal.conf(5) lists the keys of [ibal]", c->path, key);
	g_free(value);
	return AL_BAD_CONFIG;
}

/* True: the group is the agent's, which reads its groups itself (al/agent/settings.c). */
static bool is_agents(const char *group)
{
	return g_str_has_prefix(group, "ald") && (!group[3] || group[3] == ' ');
}

/* Splits a group's name: returns the first word, the module, and sets *section to the rest. */
static char *group_module(const char *group, const char **section)
{
	size_t len = strcspn(group, " ");

	*section = group + len + strspn(group + len, " ");
	return g_strndup(group, len);
}

static al_status read_key(struct content *c, GKeyFile *file, const char *group, const char *key)
{
	g_autoptr(GError) err = NULL;
	g_autofree char *module = NULL;
	const char *section;
	char *value;

	value = g_key_file_get_string(file, group, key, &err);
	/* glib sets err also together with a value: a wrong escape sequence remains in the value.
	 */
	if (err) {
		g_free(value);
		ib_log(IB_LOG_ERROR, "conf", "%s: [%s] %s: %s; correct the value", c->path, group,
		       key, err->message);
		return AL_BAD_CONFIG;
	}
	if (!strcmp(group, "ibal"))
		return ibal_key(c, key, value);

	module = group_module(group, &section);
	setting_add(c->settings, module, section, key, value, c->path);
	return AL_SUCCESS;
}

static al_status read_groups(struct content *c, GKeyFile *file)
{
	g_auto(GStrv) groups = g_key_file_get_groups(file, NULL);
	al_status st = AL_SUCCESS;

	/* An error does not end the loop: the log names each error of the file. */
	for (char **g = groups; *g; g++) {
		g_auto(GStrv) keys = g_key_file_get_keys(file, *g, NULL, NULL);
		g_autofree char *module = NULL;
		const char *section;

		if (is_agents(*g))
			continue;
		for (char **k = keys; k && *k; k++)
			if (read_key(c, file, *g, *k))
				st = AL_BAD_CONFIG;
		if (!strcmp(*g, "ibal") || (keys && *keys))
			continue;
		/* A group without keys has no settings, but its name is checked by check_groups():
		 * keep the group. */
		module = group_module(*g, &section);
		setting_add(c->settings, module, section, NULL, NULL, c->path);
	}
	return st;
}

static al_status read_file(struct content *c)
{
	g_autoptr(GKeyFile) file = g_key_file_new();
	g_autoptr(GError) err = NULL;

	if (!g_key_file_load_from_file(file, c->path, G_KEY_FILE_NONE, &err)) {
		ib_log(IB_LOG_ERROR, "conf",
		       "%s: %s; correct the file, or name another with IBAL_CONF", c->path,
		       err->message);
		return AL_BAD_CONFIG;
	}
	return read_groups(c, file);
}

/* Chooses the file to read: config (the application's), or IBAL_CONF (the user's), or the system's.
 * NULL: no file. */
static char *choose_file(const char *config)
{
	if (!config)
		config = ci_env("IBAL_CONF");
	if (config)
		return *config ? g_strdup(config) : NULL;
	return access(IBAL_CONF_FILE, F_OK) ? NULL : g_strdup(IBAL_CONF_FILE);
}

static al_status content_read(struct content *c, const char *config)
{
	al_status st = AL_SUCCESS;

	c->settings = g_ptr_array_new_with_free_func(setting_free);
	c->path = choose_file(config);
	if (c->path)
		st = read_file(c);
	if (st)
		content_clear(c);
	return st;
}

/* Refuses another file after the configuration is settled: the file would be ignored without a
 * message otherwise. */
static al_status check_same_file(const char *config)
{
	const char *path = conf.current.path ? conf.current.path : "";

	if (!config || !strcmp(config, path))
		return AL_SUCCESS;
	ib_log(IB_LOG_ERROR, "conf",
	       "al_open_attr.config is \"%s\", and this process has opened the library with \"%s\" already: use that file, or NULL",
	       config, path);
	return AL_INVALID_STATE;
}

al_status ci_conf_load(const char *config)
{
	al_status st = AL_SUCCESS;
	ib_log_level level;

	ci_diag_start();
	pthread_mutex_lock(&conf.lock);
	if (conf.settled) {
		st = check_same_file(config);
		goto out;
	}
	conf_clear();
	st = content_read(&conf.current, config);
	if (st)
		goto out;
	/* Release: pairs with the load in ci_conf_get(). */
	atomic_store_explicit(&conf.loaded, true, memory_order_release);
	if (!ci_env("IBAL_LOG") && ci_conf_get("log") &&
	    ci_log_level_parse(ci_conf_get("log"), &level))
		ci_log_set_level(level);
out:
	pthread_mutex_unlock(&conf.lock);
	return st;
}

void ci_conf_settle(void)
{
	pthread_mutex_lock(&conf.lock);
	conf.settled = true;
	pthread_mutex_unlock(&conf.lock);
}

void ci_conf_after_fork(void)
{
	pthread_mutex_init(&conf.lock, NULL);
	conf.settled = false;
}

/* The value of a key of [ibal]; NULL: the file lacks the key. */
static const char *key_of(const struct content *c, const char *key)
{
	for (size_t i = 0; i < IBAL_KEYS; i++)
		if (!strcmp(key, ibal_keys[i].name))
			return c->ibal[i];
	return NULL;
}

const char *ci_conf_get(const char *key)
{
	if (!atomic_load_explicit(&conf.loaded, memory_order_acquire))
		return NULL;
	return key_of(&conf.current, key);
}

static al_status check_groups(const struct content *c, bool (*known)(const char *module, void *ctx), void *ctx)
{
	al_status st = AL_SUCCESS;

	for (guint i = 0; i < c->settings->len; i++) {
		const struct setting *s = g_ptr_array_index(c->settings, i);

		if (known(s->module, ctx))
			continue;
		ib_log(IB_LOG_ERROR, "conf",
		       "%s: [%s%s%s] %s: the module path has no module %s; correct the "
		       "group's name, or add the module's directory to module_path or IBAL_MODULE_PATH",
		       c->path, s->module, *s->param.section ? " " : "", s->param.section,
		       s->param.key ? s->param.key : "(empty)", s->module);
		st = AL_BAD_CONFIG;
	}
	return st;
}

al_status ci_conf_check_groups(bool (*known)(const char *module, void *ctx), void *ctx)
{
	return check_groups(&conf.current, known, ctx);
}

al_status ci_conf_check(const char *config, void *(*list)(const char *module_path),
			bool (*known)(const char *module, void *ctx), void **ctx)
{
	struct content trial = { 0 };
	al_status st = content_read(&trial, config);

	if (st)
		return st;
	*ctx = list(key_of(&trial, "module_path"));
	st = check_groups(&trial, known, *ctx);
	content_clear(&trial);
	return st;
}

/* --------------------------------------------------------- a module's settings */

/* The environment variable of a module: the name in capitals with '_' for '-', such as IBAL_SOFT of
 * "soft". */
static char *variable_name(const char *module)
{
	char *name = g_strconcat("IBAL_", module, NULL);

	for (char *c = name; *c; c++)
		*c = *c == '-' ? '_' : g_ascii_toupper(*c);
	return name;
}

/*
 * Adds the settings of a variable such as "key=value key=value [hca A] key=value": a name in
 * brackets is the section of the settings that follow.
 */
static al_status read_variable(GPtrArray *to, const char *module, const char *variable,
			       const char *text)
{
	g_autofree char *section = g_strdup("");

	for (text += strspn(text, " \t\n"); *text; text += strspn(text, " \t\n")) {
		size_t len = strcspn(text, *text == '[' ? "]" : " \t\n");
		const char *equals = memchr(text, '=', len);
		char *key;

		if (*text == '[' && text[len] == ']') {
			g_free(section);
			section = g_strndup(text + 1, len - 1);
			text += len + 1;
			continue;
		}
		if (*text == '[' || !equals || equals == text) {
			ib_log(IB_LOG_ERROR, "conf",
			       "%s: \"%.*s\" is neither key=value nor [section]; write such as "
			       "%s=\"hcas=2 [hca A] lid=5\"",
			       variable, (int)len, text, variable);
			return AL_BAD_CONFIG;
		}
		key = g_strndup(text, (gsize)(equals - text));
		setting_add(to, module, section, key,
			    g_strndup(equals + 1, (gsize)(text + len - equals - 1)),
			    g_intern_string(variable));
		g_free(key);
		text += len;
	}
	return AL_SUCCESS;
}

al_status ci_conf_params(const char *module, struct ci_params *params)
{
	g_autoptr(GPtrArray) env = g_ptr_array_new_with_free_func(setting_free);
	g_autofree char *variable = variable_name(module);
	const char *text = ci_env(variable);
	GPtrArray *sources[] = { conf.current.settings, env };
	struct ci_param *param;
	size_t count = 0;
	al_status st;

	st = text ? read_variable(env, module, variable, text) : AL_SUCCESS;
	if (st)
		return st;
	param = g_new0(struct ci_param,
		       (conf.current.settings ? conf.current.settings->len : 0) + env->len + 1);
	for (int i = 0; i < 2; i++) {
		for (guint j = 0; sources[i] && j < sources[i]->len; j++) {
			const struct setting *s = g_ptr_array_index(sources[i], j);

			if (!s->param.key || strcmp(s->module, module))
				continue;
			param[count++] = (struct ci_param){
				.section = g_strdup(s->param.section),
				.key = g_strdup(s->param.key),
				.value = g_strdup(s->param.value),
				.origin = s->param.origin,
			};
		}
	}
	params->count = count;
	params->param = param;
	return AL_SUCCESS;
}

void ci_conf_params_free(struct ci_params *params)
{
	for (size_t i = 0; i < params->count; i++) {
		g_free((char *)params->param[i].section);
		g_free((char *)params->param[i].key);
		g_free((char *)params->param[i].value);
	}
	g_free((struct ci_param *)params->param);
}
