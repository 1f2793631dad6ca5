/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Reading the groups [ald], [ald client], [ald user] and [ald total] of ibal.conf(5), also again while ald runs.
 * The library (ci/conf.c) reads the other groups of the file, once.
 */
#include "al/agent/settings.h"

#include <errno.h>
#include <glib.h>
#include <grp.h>
#include <pwd.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <iba/ib_hca.h>

#include "al/agent/account.h"
#include "al/protocol/protocol.h"

void settings_default(struct settings *to)
{
	*to = (struct settings){ .attr = { .mode = 0600, .limits = ald_default_limits },
				 .path = AGENT_SOCKET,
				 .drain = 5 };
	to->attr.socket = to->path;
}

/* ------------------------------------------------------------------- values */

/* Reads an amount: a number, also with a unit, such as 64M. */
static bool number(const char *text, uint64_t *value)
{
	static const char units[] = "KMG";
	const char *unit;
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 10);
	if (errno || *text < '0' || *text > '9')
		return false;
	unit = *end ? strchr(units, *end) : NULL;
	for (; unit && unit >= units; unit--)
		if (__builtin_mul_overflow(*value, 1024u, value))
			return false;
	return !*end || (strchr(units, *end) && !end[1]);
}

static bool to_number(const char *text, uint64_t least, uint64_t most, uint32_t *to)
{
	uint64_t value;
	bool good = number(text, &value) && value >= least && value <= most;

	if (good)
		*to = (uint32_t)value;
	return good;
}

static bool to_mode(const char *text, mode_t *mode)
{
	char *end;
	long value = strtol(text, &end, 8);

	if (*text < '0' || *text > '7' || *end || value > 0777)
		return false;
	*mode = (mode_t)value;
	return true;
}

static bool to_path(const char *text, struct settings *to)
{
	if (*text != '/' || strlen(text) >= sizeof(to->path))
		return false;
	strcpy(to->path, text);
	return true;
}

/* The number of a user, or of a group ("@name"). */
static bool to_id(const char *name, uint32_t *id)
{
	bool group = *name == '@';
	const struct passwd *user;
	const struct group *g;
	uint64_t value;

	name += group;
	if (number(name, &value)) {
		*id = (uint32_t)value;
		return value < UINT32_MAX;
	}
	/* cppcheck-suppress getpwnamCalled ; ald's main thread is the only one that asks */
	user = group ? NULL : getpwnam(name);
	/* cppcheck-suppress getgrnamCalled ; likewise */
	g = group ? getgrnam(name) : NULL;
	*id = user ? user->pw_uid : g ? g->gr_gid : 0;
	return user || g;
}

static bool to_grant(const char *text, struct agent_grant *to)
{
	g_auto(GStrv) names = g_strsplit(text, ";", -1);
	struct agent_grant grant = { 0 };

	for (char **name = names; *name; name++) {
		bool group = *g_strstrip(*name) == '@';
		uint32_t id, *num = group ? &grant.num_groups : &grant.num_users;

		if (!**name)
			continue;
		if (*num == AGENT_MAX_NAMES || !to_id(*name, &id))
			return false;
		if (group)
			grant.groups[*num] = id;
		else
			grant.users[*num] = id;
		++*num;
	}
	*to = grant;
	return true;
}

/* --------------------------------------------------------------------- keys */

static bool clients(struct settings *to, const char *text)
{
	uint32_t number;
	bool good = to_number(text, 1, 1u << 20, &number);

	if (good)
		to->attr.limits.total[AL_RESOURCE_CLIENTS] = number;
	return good;
}

static bool drain(struct settings *to, const char *text)
{
	/* The units are those of amounts, and of no time. */
	return !text[strspn(text, "0123456789")] &&
	       to_number(text, 0, SETTINGS_MAX_DRAIN, &to->drain);
}

static bool manage(struct settings *to, const char *text)
{
	return to_grant(text, &to->attr.grants[RIGHT_MANAGE]);
}

static bool mode(struct settings *to, const char *text)
{
	return to_mode(text, &to->attr.mode);
}

static bool share(struct settings *to, const char *text)
{
	return to_number(text, 1, 100, &to->attr.limits.share);
}

static bool socket_path(struct settings *to, const char *text)
{
	return to_path(text, to);
}

static bool test(struct settings *to, const char *text)
{
	return to_grant(text, &to->attr.grants[RIGHT_TEST]);
}

static bool workers(struct settings *to, const char *text)
{
	return to_number(text, 1, 256, &to->attr.limits.workers);
}

#define NAMES \
	"names of users, @names of groups, or their numbers, at most 32 of each, with ; between them"

static const struct {
	const char *name;
	bool (*set)(struct settings *to, const char *text);
	const char *values; /* the key's values, for the message about a wrong value */
} keys[] = {
	{ "clients", clients, "a number from 1 to 1048576" },
	{ "drain", drain, "seconds, from 0 to 3600" },
	{ "manage", manage, NAMES },
	{ "mode", mode, "octal digits, at most 777" },
	{ "share", share, "a number from 1 to 100" },
	{ "socket", socket_path, "an absolute path, of at most 107 characters" },
	{ "test", test, NAMES },
	{ "workers", workers, "a number from 1 to 256" },
};

#define LIMIT_VALUES "a number from 0 to 18446744073709551615, also such as 64M, or none"

/* True: the resource is the number of objects of a kind. */
static bool counts_objects(al_resource resource)
{
	switch (resource) {
#define KIND(NAME, ...) case AL_RESOURCE_##NAME##S:
#include "al/agent/kinds.def"
		return true;
	default:
		return false;
	}
}

/* The groups of limits. A limit of clients is one of users, and in [ald] one of all users. */
static const struct limits_group {
	const char *name;
	size_t limits; /* of the group, in struct agent_limits */
} limit_groups[] = {
	{ "ald client", offsetof(struct agent_limits, client) },
	{ "ald user", offsetof(struct agent_limits, user) },
	{ "ald total", offsetof(struct agent_limits, total) },
};

static const struct limits_group *limits_group(const char *name)
{
	for (size_t i = 0; i < G_N_ELEMENTS(limit_groups); i++)
		if (!strcmp(name, limit_groups[i].name))
			return &limit_groups[i];
	return NULL;
}

/* True: the group has a limit of the resource. [ald] itself has the budgets of clients and workers.
 */
static bool has_limit(const struct limits_group *group, al_resource resource)
{
	if (group->limits == offsetof(struct agent_limits, client))
		return !account_of_users_only(resource);
	return group->limits == offsetof(struct agent_limits, user) ||
	       (resource != AL_RESOURCE_CLIENTS && resource != AL_RESOURCE_WORKERS);
}

/* Sets a limit of a group. *known: the group has a limit of that name. Returns false if the value
 * is wrong. */
static bool set_limit(struct agent_limits *to, const struct limits_group *group, const char *name,
		      const char *text, bool *known)
{
	uint64_t value = AGENT_NO_LIMIT, *values = (uint64_t *)((char *)to + group->limits);
	bool good = !strcmp(text, "none") || number(text, &value);

	*known = false;
	for (int r = 0; r < AL_RESOURCES; r++) {
		if (!has_limit(group, (al_resource)r))
			continue;
		if (strcmp(name, al_resource_str((al_resource)r)) &&
		    !(counts_objects((al_resource)r) && !strcmp(name, "objects")))
			continue;
		*known = true;
		if (good)
			values[r] = value;
	}
	return good;
}

bool settings_set(struct settings *to, const char *group, const char *key, const char *text,
		  const char **values)
{
	const struct limits_group *of_limits = limits_group(group);
	bool known = false, good;

	*values = NULL;
	if (of_limits) {
		good = set_limit(&to->attr.limits, of_limits, key, text, &known);
		if (known)
			*values = LIMIT_VALUES;
		return known && good;
	}
	for (size_t i = 0; i < G_N_ELEMENTS(keys); i++)
		if (!strcmp(key, keys[i].name)) {
			*values = keys[i].values;
			return keys[i].set(to, text);
		}
	return false;
}

/* --------------------------------------------------------------------- file */

struct place {
	const char *file;
	int line;          /* number of the line, from 1 */
	const char *group; /* the group to which the line belongs; NULL: before the first group */
	bool unknown;      /* ald has no such group; its keys are ignored */
};

/* Logs a fault of the file. Returns false. */
static bool wrong(const struct place *at, const char *text, const char *why, const char *values)
{
	ib_log(IB_LOG_ERROR, "ald", "%s:%d: %s%s%s%s: %s%s", at->file, at->line,
	       at->group ? "[" : "", at->group ? at->group : "", at->group ? "] " : "", text, why,
	       values);
	return false;
}

static bool set_key(const struct place *at, const char *key, const char *text, struct settings *to)
{
	g_autofree char *line = g_strdup_printf("%s = %s", key, text);
	const char *values;

	if (settings_set(to, at->group, key, text, &values))
		return true;
	if (values)
		return wrong(at, line, "must be ", values);
	return wrong(at, line, "there is no such key; ibal.conf(5) lists the keys", "");
}

/* True: the group is [ald], or its name begins with "ald ". */
static bool is_of_ald(const char *group)
{
	return group && g_str_has_prefix(group, "ald") && (!group[3] || group[3] == ' ');
}

static bool read_line(struct place *at, char *line, struct settings *to)
{
	size_t length = strlen(g_strstrip(line));
	char *equals = strchr(line, '=');

	if (!length || *line == '#')
		return true;
	if (*line == '[' && line[length - 1] == ']') {
		line[length - 1] = '\0';
		at->group = line + 1;
		at->unknown = is_of_ald(at->group) && strcmp(at->group, "ald") && !limits_group(at->group);
		return !at->unknown ||
		       wrong(at, "",
			     "there is no such group; the groups of ald are [ald], [ald client], [ald user] and [ald total]",
			     "");
	}
	if (!equals || equals == line)
		return wrong(at, line, "is neither a [group], key = value nor a comment with #",
			     "");
	if (!is_of_ald(at->group) || at->unknown)
		return true;
	*equals = '\0';
	return set_key(at, g_strchomp(line), g_strchug(equals + 1), to);
}

/* The file to read, chosen as the library chooses it; NULL: no file. */
static const char *choose_file(const char *file)
{
	if (!file)
		file = secure_getenv("IBAL_CONF");
	if (!file && !access(IBAL_CONF_FILE, F_OK))
		file = IBAL_CONF_FILE;
	return file && *file ? file : NULL;
}

bool settings_read(const char *file, struct settings *to)
{
	struct place at = { .file = choose_file(file) };
	g_autoptr(GError) error = NULL;
	g_autofree char *text = NULL;
	g_auto(GStrv) lines = NULL;
	struct settings read = *to;
	bool good = true;

	if (!at.file)
		return true;
	if (!g_file_get_contents(at.file, &text, NULL, &error)) {
		ib_log(IB_LOG_ERROR, "ald", "%s; make the file readable, or name another file with --config",
		       error->message);
		return false;
	}
	lines = g_strsplit(text, "\n", -1);
	for (char **line = lines; *line; line++) {
		at.line++;
		good = read_line(&at, *line, &read) && good;
	}
	if (!good)
		return false;
	*to = read;
	to->attr.socket = to->path;
	return true;
}
