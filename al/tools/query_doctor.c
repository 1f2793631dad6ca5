/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * al_query doctor: checks everything that the library needs, and prints a finding for each, with
 * the way to mend a fault. It also works if the library does not open.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "al/tools/query.h"

/* The levels of findings, from good to bad. */
enum level { OK, NOTE, WARNING, ERROR };

static const struct {
	const char *name;
	int status; /* exit code if no finding is worse */
} levels[] = {
	[OK] = { "ok", TOOL_OK },
	[NOTE] = { "note", TOOL_OK },
	[WARNING] = { "warning", TOOL_WARNING },
	[ERROR] = { "error", TOOL_BROKEN },
};

struct message {
	ib_log_level level;
	char *text;
};

struct doctor {
	struct query *q;
	JsonArray *findings;
	enum level worst;
	al_status opened;
	gint64 started; /* begin, monotonic clock in microseconds */
	pthread_mutex_t lock; /* guards messages, which any thread adds. Leaf. */
	GPtrArray *messages; /* of struct message: the library's messages while doctor runs */
	gboolean hardware;   /* the machine has a hardware HCA or adapter */
};

static void find(struct doctor *d, enum level level, const char *about, const char *remedy, const char *format, ...)
	G_GNUC_PRINTF(5, 6);

/* Adds a finding. remedy: the way to mend it, or NULL. */
static void find(struct doctor *d, enum level level, const char *about, const char *remedy, const char *format, ...)
{
	JsonObject *finding = json_object_new();
	g_autofree char *text = NULL;
	va_list args;

	va_start(args, format);
	text = g_strdup_vprintf(format, args);
	va_end(args);
	json_array_add_object_element(d->findings, finding);
	json_object_set_string_member(finding, "level", levels[level].name);
	member_text(finding, "about", about);
	member_text(finding, "text", text);
	if (remedy)
		member_text(finding, "remedy", remedy);
	d->worst = MAX(d->worst, level);
}

static void on_message(void *context, ib_log_level level, const char *text)
{
	struct doctor *d = context;
	struct message *m;

	if (level > IB_LOG_WARNING)
		return;
	/* A message that the library waits is printed at once: if the wait never ends, there is no
	 * report. */
	if (g_get_monotonic_time() - d->started > (gint64)5 * G_USEC_PER_SEC)
		fprintf(stderr, "al_query: %s: %s\n", levels[level == IB_LOG_ERROR ? ERROR : WARNING].name, text);
	m = g_new(struct message, 1);
	m->level = level;
	m->text = g_strdup(text);
	pthread_mutex_lock(&d->lock);
	g_ptr_array_add(d->messages, m);
	pthread_mutex_unlock(&d->lock);
}

static void message_free(gpointer data)
{
	struct message *m = data;

	g_free(m->text);
	g_free(m);
}

/* ------------------------------------------------------------------ checks */

static void check_library(struct doctor *d)
{
	const char *agent = g_getenv("IBAL_AGENT");

	if (!d->opened)
		find(d, OK, "library", NULL, "ibal %s is open%s%s", al_version(), agent ? "; IBAL_AGENT is " : "", agent ? agent : "");
	else
		find(d, ERROR, "library", "mend the faults below, and try again", "ibal %s does not open: %s", al_version(),
		     al_status_str(d->opened));
}

static const char *conf_file(void)
{
	const char *conf = g_getenv("IBAL_CONF");

	return conf ? conf : IBAL_CONF_FILE;
}

static void check_configuration(struct doctor *d)
{
	const char *file = conf_file();

	if (!*file)
		find(d, OK, "configuration", NULL, "none, since IBAL_CONF is empty: everything has its default");
	else if (!access(file, R_OK) && d->opened == AL_BAD_CONFIG)
		find(d, NOTE, "configuration", "see the message above", "%s can be read, but a setting is wrong", file);
	else if (!access(file, R_OK))
		find(d, OK, "configuration", NULL, "%s", file);
	else if (errno == ENOENT && !g_getenv("IBAL_CONF"))
		find(d, OK, "configuration", NULL, "none (%s is not there): everything has its default", file);
	else
		find(d, ERROR, "configuration", "make it readable, or name another with IBAL_CONF", "%s: %s", file,
		     g_strerror(errno));
}

/* The directories in which the library looks for modules, and the setting that names them. */
static char *module_path(const char **said_by)
{
	g_autoptr(GKeyFile) conf = g_key_file_new();
	const char *env = g_getenv("IBAL_MODULE_PATH");
	char *path;

	*said_by = "IBAL_MODULE_PATH";
	if (env)
		return g_strdup(env);
	*said_by = conf_file();
	path = g_key_file_load_from_file(conf, *said_by, G_KEY_FILE_NONE, NULL) ?
		g_key_file_get_string(conf, "ibal", "module_path", NULL) : NULL;
	if (path)
		return path;
	*said_by = "as built";
	return g_strdup(IBAL_MODULE_DIR);
}

static void check_module_dir(struct doctor *d, const char *name, const char *said_by)
{
	static const char remedy[] = "install the modules, or say where they are with IBAL_MODULE_PATH";
	g_autoptr(GDir) dir = NULL;
	const char *file;
	guint count = 0;

	if (access(name, R_OK | X_OK)) {
		find(d, ERROR, "module path", remedy, "%s (%s): %s", name, said_by, g_strerror(errno));
		return;
	}
	dir = g_dir_open(name, 0, NULL);
	while (dir && (file = g_dir_read_name(dir)))
		count += g_str_has_suffix(file, ".so");
	if (count)
		find(d, OK, "module path", NULL, "%s (%s): modules there: %u", name, said_by, count);
	else
		find(d, WARNING, "module path", remedy, "%s (%s) has no module", name, said_by);
}

static void check_module_path(struct doctor *d)
{
	const char *said_by;
	g_autofree char *path = module_path(&said_by);
	g_auto(GStrv) dirs = g_strsplit(path, ":", -1);

	for (char **name = dirs; *name; name++)
		if (**name)
			check_module_dir(d, *name, said_by);
}

static const char *module_remedy(al_status status)
{
	switch (status) {
	case AL_MODULE_ABI:
		return "rebuild it for this version, or take it out of the module path";
	case AL_MODULE_DAMAGED:
	case AL_MODULE_NO_SYMBOL:
		return "install it again, or take it out of the module path";
	case AL_MODULE_FAILED:
	case AL_MODULE_MISSING_OP:
	case AL_INVALID_PARAMETER:
		return "have it corrected by its vendor, or take it out of the module path";
	default:
		return "correct what the module's message names";
	}
}

static void check_modules(struct doctor *d)
{
	for (size_t i = 0; d->q->snap && i < d->q->snap->num_modules; i++) {
		const struct al_snap_module *m = &d->q->snap->modules[i];
		g_autofree char *about = g_strdup_printf("module %s", m->name);

		if (m->status)
			find(d, ERROR, about, module_remedy(m->status),
			     "%s%s%s", m->path, *m->path ? ": " : "", *m->text ? m->text : al_status_str(m->status));
		else
			find(d, OK, about, NULL, "version %s, %s", m->version, m->path);
	}
}

static guint count_active(struct doctor *d, const struct al_snap_ca *snap, al_ca_h ca, const char *about)
{
	guint active = 0;

	for (guint num = 1; num <= snap->attr.num_ports; num++) {
		struct ib_port_attr port;
		al_status st = al_query_port(ca, (uint8_t)num, &port);

		if (st)
			find(d, ERROR, about, "see the module's messages with IBAL_LOG=debug", "port %u cannot be read: %s", num,
			     al_status_str(st));
		else
			active += port.state == IB_PORT_ACTIVE;
	}
	return active;
}

static void check_ca(struct doctor *d, const struct al_snap_ca *snap)
{
	g_autofree char *guid = tool_guid_text(snap->guid), *about = g_strdup_printf("HCA %s", guid);
	guint active;
	al_ca_h ca;
	al_status st = al_open_ca(d->q->al, snap->guid, NULL, &ca);

	if (st) {
		find(d, ERROR, about, "see the module's messages with IBAL_LOG=debug", "cannot be opened: %s", al_status_str(st));
		return;
	}
	active = count_active(d, snap, ca, about);
	al_close_ca(ca, AL_DESTROY_SYNC, NULL);
	if (strcmp(snap->attr.location, "software"))
		d->hardware = TRUE;
	if (active)
		find(d, OK, about, NULL, "%s, %u of %u ports active", snap->attr.node_desc, active, snap->attr.num_ports);
	else
		find(d, WARNING, about, "see that it is cabled, and that a subnet manager runs; \"al_query port\" shows the states",
		     "%s, no port is active", snap->attr.node_desc);
}

static gboolean has_failed_module(const struct doctor *d)
{
	for (size_t i = 0; i < d->q->snap->num_modules; i++)
		if (d->q->snap->modules[i].status)
			return TRUE;
	return FALSE;
}

static void check_cas(struct doctor *d)
{
	for (size_t i = 0; d->q->snap && i < d->q->snap->num_cas; i++)
		check_ca(d, &d->q->snap->cas[i]);
	if (d->q->snap && !d->q->snap->num_cas)
		find(d, ERROR, "HCAs",
		     has_failed_module(d)
			     ? "mend the module"
			     : "the software HCA needs no hardware: its module, soft.so, must be in the module path",
		     "there is none");
}

static void check_pci(struct doctor *d)
{
	const struct al_snapshot *snap = d->q->snap;

	if (!snap)
		return;
	if (snap->pci_error)
		find(d, NOTE, "PCI bus", "needed for adapters only; IBAL_PCI_DUMP may name a recorded bus", "%s", snap->pci_error);
	else if (!snap->num_pci)
		find(d, OK, "PCI bus", NULL, "no adapter is on it; software HCAs need none");
	for (size_t i = 0; i < snap->num_pci; i++) {
		const struct al_snap_pci *pci = &snap->pci[i];

		d->hardware = TRUE;
		if (*pci->module)
			find(d, OK, "PCI bus", NULL, "%s: %s, served by %s", pci->name, pci->text, pci->module);
		else
			find(d, WARNING, "PCI bus", "install its vendor's HCA module", "%s: %s", pci->name, pci->text);
	}
}

static void check_limits(struct doctor *d)
{
	struct rlimit lock, files;

	if (getrlimit(RLIMIT_MEMLOCK, &lock) || getrlimit(RLIMIT_NOFILE, &files))
		return;
	if (lock.rlim_cur == RLIM_INFINITY)
		find(d, OK, "locked memory", NULL, "without limit");
	else if (d->q->snap && d->q->snap->num_clients)
		find(d, OK, "locked memory", NULL, "up to %llu KiB; the agent needs none of it",
		     (unsigned long long)lock.rlim_cur >> 10);
	else if (!d->hardware)
		find(d, OK, "locked memory", NULL, "up to %llu KiB; software HCAs lock none",
		     (unsigned long long)lock.rlim_cur >> 10);
	else
		find(d, lock.rlim_cur < 64u << 20 ? WARNING : OK, "locked memory",
		     lock.rlim_cur < 64u << 20 ? "raise it: \"memlock\" in /etc/security/limits.conf, LimitMEMLOCK= of a service" : NULL,
		     "up to %llu KiB, which is what an adapter's memory regions may have", (unsigned long long)lock.rlim_cur >> 10);
	if (files.rlim_cur < 256)
		find(d, WARNING, "open files", "raise it with \"ulimit -n\"", "up to %llu, and every channel takes one",
		     (unsigned long long)files.rlim_cur);
}

static void check_places(struct doctor *d)
{
	struct stat st;
	/* The same choice as in ci/lockfile.c. */
	const char *lock = !stat("/run/lock", &st) && (st.st_mode & S_IWOTH) ? "/run/lock" : "/tmp";

	if (access(lock, W_OK | X_OK))
		find(d, WARNING, "lock files", "make /run/lock or /tmp writable, as they are on every Debian",
		     "neither /run/lock nor /tmp can be written to: processes cannot see which adapters others use");
	else
		find(d, OK, "lock files", NULL, "in %s", lock);
}

/* The library's built-in path of the agent's socket (ald(8)). */
#define AGENT_SOCKET "/run/ibal/ald.socket"

/* The agent of ibal.conf; NULL: ibal.conf names none. */
static char *conf_agent(void)
{
	g_autoptr(GKeyFile) conf = g_key_file_new();
	const char *file = conf_file();

	return *file && g_key_file_load_from_file(conf, file, G_KEY_FILE_NONE, NULL) ?
		g_key_file_get_string(conf, "ibal", "agent", NULL) : NULL;
}

/* Connects to a socket. Returns 0, or errno of the failure. */
static int try_socket(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd, error = 0;

	if (g_strlcpy(addr.sun_path, path, sizeof(addr.sun_path)) >= sizeof(addr.sun_path))
		return ENAMETOOLONG;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		error = errno;
	if (fd >= 0)
		close(fd);
	return error;
}

static void check_socket(struct doctor *d, const char *path)
{
	struct stat st;
	int error;

	if (stat(path, &st)) {
		find(d, ERROR, "agent", errno == ENOENT ? "start ald there, or set IBAL_AGENT=off to do without" :
		     "let this user search the directories on the way", "socket %s: %s", path, g_strerror(errno));
		return;
	}
	if (!S_ISSOCK(st.st_mode)) {
		find(d, ERROR, "agent", "name ald's socket", "%s is no socket", path);
		return;
	}
	error = try_socket(path);
	if (error == EACCES)
		find(d, ERROR, "agent", "ald's --mode, or SocketMode= and SocketGroup= of ald.socket, say who may connect",
		     "socket %s is user %u's and group %u's with mode %o, and this is user %u", path, st.st_uid, st.st_gid,
		     st.st_mode & 0777, geteuid());
	else if (error == ECONNREFUSED)
		find(d, ERROR, "agent", "start ald, which replaces it, or set IBAL_AGENT=off to do without",
		     "socket %s is stale: no process listens there", path);
	else if (error == EAGAIN || d->opened == AL_TIMEOUT)
		find(d, ERROR, "agent", "continue it, if it is stopped (kill -CONT), or restart it",
		     "ald at %s does not answer", path);
	else if (error)
		find(d, ERROR, "agent", "name ald's socket", "socket %s: %s", path, g_strerror(error));
	else if (d->opened == AL_AGENT_PROTOCOL)
		find(d, ERROR, "agent", "install ald and this program from one version", "ald at %s speaks another protocol", path);
	else if (d->opened)
		find(d, ERROR, "agent", "see the messages, also ald's own", "ald at %s does not serve this program: %s", path,
		     al_status_str(d->opened));
	else if (d->q->snap)
		find(d, OK, "agent", NULL, "ald at %s speaks our protocol; clients that are shown to this user: %" G_GSIZE_FORMAT,
		     path, d->q->snap->num_clients);
}

/* The agent's socket, chosen as al_open() chooses it. */
static void check_agent(struct doctor *d)
{
	g_autofree char *conf = conf_agent();
	const char *agent = g_getenv("IBAL_AGENT");
	struct stat st;

	agent = agent ? agent : conf;
	if (g_strcmp0(agent, "off") == 0)
		find(d, OK, "agent", NULL, "none, as IBAL_AGENT or ibal.conf says: this process has HCAs of its own");
	else if (agent && strcmp(agent, "auto"))
		check_socket(d, agent);
	else if (stat(AGENT_SOCKET, &st) && errno == ENOENT)
		find(d, OK, "agent", NULL, "none (%s is not there): this process has HCAs of its own", AGENT_SOCKET);
	else
		check_socket(d, AGENT_SOCKET);
}

/* Adds the library's messages that no finding covers. */
static void check_messages(struct doctor *d)
{
	pthread_mutex_lock(&d->lock);
	for (guint i = 0; i < d->messages->len; i++) {
		const struct message *m = d->messages->pdata[i];
		const struct al_snapshot *snap = d->q->snap;
		gboolean known = snap && snap->pci_error && strstr(m->text, snap->pci_error);

		for (size_t j = 0; snap && !known && j < snap->num_modules; j++)
			known = *snap->modules[j].text && strstr(m->text, snap->modules[j].text);
		if (!known)
			find(d, m->level == IB_LOG_ERROR ? ERROR : WARNING, "message", NULL, "%s", m->text);
	}
	pthread_mutex_unlock(&d->lock);
}

static void (*const checks[])(struct doctor *d) = {
	check_library, check_messages, check_configuration, check_agent, check_module_path, check_modules, check_cas, check_pci,
	check_limits, check_places,
};

/* ------------------------------------------------------------------ report */

const char *colour_level(const char *text)
{
	static const char *const colours[] = { [OK] = "\033[32m", [NOTE] = NULL, [WARNING] = "\033[33m", [ERROR] = "\033[31m" };

	for (int i = OK; i <= ERROR; i++)
		if (!strcmp(text, levels[i].name))
			return colours[i];
	return NULL;
}

static void show(struct doctor *d)
{
	for (guint i = 0; i < json_array_get_length(d->findings); i++) {
		JsonObject *f = json_array_get_object_element(d->findings, i);
		const char *level = json_object_get_string_member(f, "level");
		const char *colour = d->q->colour ? colour_level(level) : NULL;

		printf("%s%-8s%s %s: %s\n", colour ? colour : "", level, colour ? COLOUR_OFF : "",
		       json_object_get_string_member(f, "about"), json_object_get_string_member(f, "text"));
		if (json_object_has_member(f, "remedy"))
			printf("         -> %s\n", json_object_get_string_member(f, "remedy"));
	}
}

static void print_json(struct doctor *d)
{
	json_object_set_string_member(d->q->out, "worst", levels[d->worst].name);
	query_print_line(json_object_ref(d->q->out));
}

#define DOCTOR_WAITS "5" /* seconds, for an agent that does not answer */

void run_doctor(struct query *q)
{
	struct doctor d = { .q = q, .findings = query_array(q, "findings"),
			    .lock = PTHREAD_MUTEX_INITIALIZER };

	d.messages = g_ptr_array_new_with_free_func(message_free);
	d.started = g_get_monotonic_time();
	al_set_log(on_message, &d);
	g_setenv("IBAL_AGENT_WAIT", DOCTOR_WAITS, FALSE);
	d.opened = al_open(NULL, &q->al);
	if (!d.opened && al_snapshot(q->al, &q->snap))
		find(&d, ERROR, "library", NULL, "the HCAs and objects cannot be listed");
	for (gsize i = 0; i < G_N_ELEMENTS(checks); i++)
		checks[i](&d);
	if (q->json)
		print_json(&d);
	else
		show(&d);
	q->status = levels[d.worst].status;
	al_free_snapshot(q->snap);
	q->snap = NULL;
	if (!d.opened)
		al_close(q->al, AL_DESTROY_SYNC, NULL);
	al_set_log(NULL, NULL);
	g_ptr_array_unref(d.messages);
	pthread_mutex_destroy(&d.lock);
}
