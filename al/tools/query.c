/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The frame of al_query: its table of subcommands, its command line, and the printing of a
 * subcommand's answer. The subcommands are in query_*.c.
 */
#include "al/tools/query.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#define FILTERS_OF_PORTS (QUERY_CA | QUERY_CAS | QUERY_PORT | QUERY_WATCH | QUERY_COUNT)
#define FILTERS_OF_OBJECTS \
	(QUERY_CA | QUERY_CAS | QUERY_PID | QUERY_STATE | QUERY_QPN | QUERY_WHERE | QUERY_WATCH | QUERY_COUNT)

static void run_help(struct query *q);

static const struct query_command commands[] = {
	{ "ca", "", "HCAs and their ports (without a subcommand too)", 0,
	  FILTERS_OF_PORTS | QUERY_STATE, collect_ca, show_ca, NULL },
	{ "port", "[up|down]",
	  "ports: state, addresses, rate, traffic; --long: all of PortInfo; or a change of one", 1,
	  FILTERS_OF_PORTS | QUERY_STATE | QUERY_LONG | QUERY_M_KEY, collect_port, show_port,
	  NULL },
	{ "gid", "", "GID tables", 0, FILTERS_OF_PORTS, collect_gid, show_gid, NULL },
	{ "pkey", "", "P_Key tables", 0, FILTERS_OF_PORTS, collect_pkey, show_pkey, NULL },
	{ "caps", "[--diff A B]", "what HCAs can do, and their limits; or how two differ", 2,
	  QUERY_CA | QUERY_CAS | QUERY_DIFF, collect_caps, show_caps, NULL },
	{ "res", "[TYPE]", "objects of this process, or of the agent: how many, and whose", 1,
	  FILTERS_OF_OBJECTS | QUERY_TYPE, collect_res, show_res, NULL },
	{ "qp", "[NUMBER]", "queue pairs, or the one of that number", 1, FILTERS_OF_OBJECTS,
	  collect_qp, show_qp, NULL },
	{ "cq", "[ID]", "completion queues, or the one of that id", 1,
	  FILTERS_OF_OBJECTS & ~(unsigned int)QUERY_QPN, collect_cq, show_cq, NULL },
	{ "mr", "[ID]", "memory regions, or the one of that id", 1,
	  FILTERS_OF_OBJECTS & ~(unsigned int)QUERY_QPN, collect_mr, show_mr, NULL },
	{ "pd", "[ID]", "protection domains, or the one of that id", 1,
	  FILTERS_OF_OBJECTS & ~(unsigned int)QUERY_QPN, collect_pd, show_pd, NULL },
	{ "ah", "[ID]", "address handles, or the one of that id", 1,
	  FILTERS_OF_OBJECTS & ~(unsigned int)QUERY_QPN, collect_ah, show_ah, NULL },
	{ "pci", "", "adapters found, and the module chosen or why none", 0,
	  QUERY_WATCH | QUERY_COUNT, collect_pci, show_pci, NULL },
	{ "modules", "", "HCA modules, also those that failed", 0, QUERY_WATCH | QUERY_COUNT,
	  collect_modules, show_modules, NULL },
	{ "clients", "", "the agent's programs and users: what they have, and may have", 0,
	  QUERY_PID | QUERY_WATCH | QUERY_COUNT, collect_clients, show_clients, NULL },
	{ "counters", "", "every counter of the ports", 0, FILTERS_OF_PORTS, collect_counters,
	  show_counters, NULL },
	{ "prom", "", "ports, counters, objects, clients and limits as Prometheus text", 0,
	  QUERY_OUTPUT, collect_prom, show_prom, NULL },
	{ "topology", "[FILE]", "the subnet: text, dot, svg or JSON; or how it differs from a file",
	  2, QUERY_CA | QUERY_PORT | QUERY_TIMEOUT | QUERY_DIFF | QUERY_FORMAT | QUERY_M_KEY, NULL,
	  NULL, run_topology },
	{ "mad", "", "services of management datagrams: class, port, whose, and their figures", 0,
	  FILTERS_OF_PORTS | QUERY_PID, collect_mad, show_mad,
	  NULL },
	{ "check", "", "ports and their error counters against thresholds, for monitoring", 0,
	  QUERY_CA | QUERY_PORT | QUERY_TIMEOUT | QUERY_LIMITS | QUERY_SUBNET | QUERY_RESET |
		  QUERY_M_KEY,
	  NULL, NULL, run_check },
	{ "capture", "-- COMMAND...", "run a command, and its packets into a file", G_MAXUINT,
	  QUERY_PORT | QUERY_OUTPUT, NULL, NULL, run_capture },
	{ "fault", "check|list|set|pull|plug|reboot [RULES]",
	  "rules of faults: in words, in force, new ones; pull and plug cables, reboot switches", 2,
	  QUERY_CA | QUERY_PORT, NULL, NULL, run_fault },
	{ "events", "", "a line for each event as it happens", 0,
	  QUERY_CA | QUERY_CAS | QUERY_PORT | QUERY_TIMEOUT | QUERY_COUNT, NULL, NULL,
	  run_events },
	{ "doctor", "", "what is missing here, and how to mend it", 0, 0, NULL, NULL, run_doctor },
	{ "help", "[SUBCOMMAND]", "what there is, or what a subcommand takes", 1, 0, NULL, NULL,
	  run_help },
};

/* ------------------------------------------------------ for the subcommands */

void query_error(struct query *q, int status, const char *format, ...)
{
	g_autofree char *text = NULL, *clean = NULL;
	JsonObject *error = json_object_new();
	va_list args;

	va_start(args, format);
	text = g_strdup_vprintf(format, args);
	va_end(args);
	clean = tool_clean(text);
	fprintf(stderr, "al_query: %s\n", clean);
	json_object_set_string_member(error, "text", clean);
	if (!json_object_has_member(q->out, "errors"))
		query_array(q, "errors");
	json_array_add_object_element(json_object_get_array_member(q->out, "errors"), error);
	q->status = MAX(q->status, status);
}

gboolean query_open(struct query *q)
{
	al_status st = al_open(NULL, &q->al);

	if (!st)
		return TRUE;
	query_error(q, TOOL_FAILED, "the Access Layer cannot be opened: %s; \"al_query doctor\" says more", al_status_str(st));
	return FALSE;
}

void query_report_modules(struct query *q)
{
	for (size_t i = 0; !q->snap->num_cas && i < q->snap->num_modules; i++) {
		const struct al_snap_module *m = &q->snap->modules[i];

		if (m->status)
			query_error(q, TOOL_FAILED,
				    "no HCA is here: %s: %s; \"al_query doctor\" says more",
				    *m->path ? m->path : m->name,
				    *m->text ? m->text : al_status_str(m->status));
	}
}

JsonArray *query_array(struct query *q, const char *name)
{
	JsonArray *array = json_array_new();

	json_object_set_array_member(q->out, name, array);
	return array;
}

const struct al_snap_ca *query_find_ca(struct query *q, const char *name)
{
	const struct al_snap_ca *cas = q->snap->cas;
	guint64 number;

	for (size_t i = 0; i < q->snap->num_cas; i++) {
		if (tool_parse_guid(name, &number) && number == cas[i].guid)
			return &cas[i];
		if (*name && (!strcmp(name, cas[i].attr.name) || !strcmp(name, cas[i].attr.node_desc)))
			return &cas[i];
	}
	if (tool_parse_number(name, 0, G_MAXUINT32, &number) && number < q->snap->num_cas)
		return &cas[number];
	query_error(q, TOOL_USAGE, "there is no HCA \"%s\"; \"al_query ca\" shows the %" G_GSIZE_FORMAT " that are there", name,
		    q->snap->num_cas);
	return NULL;
}

gboolean query_choose_cas(struct query *q)
{
	g_clear_pointer(&q->chosen, g_hash_table_unref);
	if (!q->cas)
		return TRUE;
	q->chosen = g_hash_table_new(g_int64_hash, g_int64_equal);
	for (char **name = q->cas; *name; name++) {
		const struct al_snap_ca *ca = query_find_ca(q, *name);

		if (!ca)
			return FALSE;
		g_hash_table_add(q->chosen, (gpointer)&ca->guid);
	}
	return TRUE;
}

gboolean query_ca_passes(const struct query *q, guint64 guid)
{
	return !q->chosen || g_hash_table_contains(q->chosen, &guid);
}

void query_each_ca(struct query *q, void (*fn)(struct query *q, const struct al_snap_ca *snap, gint64 index, void *arg),
		   void *arg)
{
	if (!query_choose_cas(q))
		return;
	for (size_t i = 0; i < q->snap->num_cas; i++)
		if (query_ca_passes(q, q->snap->cas[i].guid))
			fn(q, &q->snap->cas[i], (gint64)i, arg);
}

gboolean query_state_passes(const struct query *q, const char *state)
{
	return !q->state || !g_ascii_strcasecmp(q->state, state);
}

/* --------------------------------------------------------- one subcommand */

static void begin_answer(struct query *q, const struct query_command *command)
{
	g_clear_pointer(&q->before, json_object_unref);
	if (q->out && json_object_has_member(q->out, "ports")) /* only of ports there are rates */
		q->before = json_object_ref(q->out);
	g_clear_pointer(&q->out, json_object_unref);
	q->before_us = q->out_us;
	q->out = json_object_new();
	q->out_us = g_get_monotonic_time();
	json_object_set_int_member(q->out, "schema", TOOL_SCHEMA);
	json_object_set_string_member(q->out, "command", command->name);
}

static void answer_once(struct query *q, const struct query_command *command)
{
	al_status st;

	begin_answer(q, command);
	st = al_snapshot(q->al, &q->snap);
	if (st) {
		query_error(q, TOOL_FAILED, "the HCAs and objects cannot be listed: %s", al_status_str(st));
	} else {
		if (command->filters & QUERY_CA)
			query_report_modules(q);
		command->collect(q);
		if (!q->json && q->status != TOOL_USAGE)
			command->show(q);
	}
	if (q->json)
		query_print_answer(q);
	g_clear_pointer(&q->found, g_ptr_array_unref);
	g_clear_pointer(&q->chosen, g_hash_table_unref);
	al_free_snapshot(q->snap);
	q->snap = NULL;
}

/*
 * The terminal during --watch: the key q ends the watch, and so does a signal. Then the terminal's
 * settings are restored.
 */
static struct termios terminal_before;
static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	(void)sig;
	interrupted = 1;
}

static gboolean take_keys(void)
{
	/* SA_RESTART: a signal does not cut a write() short; poll() returns at each signal. */
	const struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	struct termios now;

	if (!isatty(STDIN_FILENO) || tcgetattr(STDIN_FILENO, &terminal_before))
		return FALSE;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	now = terminal_before;
	now.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	return !tcsetattr(STDIN_FILENO, TCSANOW, &now);
}

/* Waits for the next repetition. FALSE: the watch ends. */
static gboolean wait_interval(const struct query *q, gboolean keys)
{
	struct pollfd in = { .fd = keys ? STDIN_FILENO : -1, .events = POLLIN };
	gint64 end = g_get_monotonic_time() + (gint64)(q->watch * G_USEC_PER_SEC), left;
	char key;

	while (!interrupted && (left = end - g_get_monotonic_time()) > 0) {
		/* The longest --watch has fewer milliseconds than an int holds. */
		if (poll(&in, 1, (int)((left + 999) / 1000)) <= 0)
			continue;
		if (read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 'Q')
			return FALSE;
	}
	return !interrupted;
}

/* Answers again and again, until a signal, the key q, an error of the command line, or an error of
 * standard output. */
static void watch(struct query *q, const struct query_command *command)
{
	gboolean keys = take_keys();

	for (gint n = 1; ; n++) {
		if (q->colour && !q->json)
			printf("\033[H\033[2J");
		answer_once(q, command);
		if (n == q->count || q->status == TOOL_USAGE || ferror(stdout))
			break;
		if (!q->json && !q->colour)
			putchar('\n');
		fflush(stdout);
		if (!wait_interval(q, keys))
			break;
	}
	if (keys)
		tcsetattr(STDIN_FILENO, TCSANOW, &terminal_before);
}

static void run_command(struct query *q, const struct query_command *command)
{
	begin_answer(q, command);
	if (command->run) {
		command->run(q);
		return;
	}
	if (!query_open(q)) {
		if (q->json)
			query_print_answer(q);
		return;
	}
	if (q->watch)
		watch(q, command);
	else
		answer_once(q, command);
	al_close(q->al, AL_DESTROY_SYNC, NULL);
}

/* ------------------------------------------------------------- command line */

static int usage(const char *format, ...) G_GNUC_PRINTF(1, 2);

static int usage(const char *format, ...)
{
	va_list args;

	fputs("al_query: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputs("; \"al_query --help\" shows what there is\n", stderr);
	return TOOL_USAGE;
}

static const struct query_command *find_command(const char *name)
{
	for (gsize i = 0; i < G_N_ELEMENTS(commands); i++)
		if (!strcmp(name, commands[i].name))
			return &commands[i];
	return NULL;
}

static char *describe_commands(void)
{
	GString *text = g_string_new("Subcommands:\n");

	for (gsize i = 0; i < G_N_ELEMENTS(commands); i++) {
		g_autofree char *form = g_strdup_printf("%s %s", commands[i].name, commands[i].args);

		/* A long form has its help on a line of its own. */
		g_string_append_printf(text, strlen(form) > 20 ? "  %s\n%23s%s\n" : "  %-20s%s %s\n", form,
				       "", commands[i].help);
	}
	g_string_append(
		text,
		"\nExit codes: 0 all is shown; 1 wrong command line, or not there; 2 the answer, or a part of it, "
		"is\nmissing; 3 topology --diff: there is a difference; doctor: 3 something to look at, 4 something does not\nwork; check: 0 ok, 1 warning, 2 critical, 3 unknown. al_query(1) says more.");
	return g_string_free(text, FALSE);
}

static char *list_commands(void)
{
	GString *text = g_string_new(commands[0].name);

	for (gsize i = 1; i < G_N_ELEMENTS(commands); i++)
		g_string_append_printf(text, " %s", commands[i].name);
	return g_string_free(text, FALSE);
}

static const char *const states[] = {
#define STATE_TEXT(name, value, state) state,
	IB_PORT_STATE_LIST(STATE_TEXT) IB_QP_STATE_LIST(STATE_TEXT) "live", "dying", "dead", NULL,
};

static gboolean is_state(const char *text)
{
	for (gsize i = 0; states[i]; i++)
		if (!g_ascii_strcasecmp(text, states[i]))
			return TRUE;
	return FALSE;
}

static gboolean is_type(const char *text)
{
	for (guint i = AL_OBJ_NONE + 1; i < AL_OBJ_TYPES; i++)
		if (!strcmp(text, al_object_type_str((al_object_type)i)))
			return TRUE;
	return FALSE;
}

/* --watch may be given without a number, which GOption does not support: this adds the number 2 to
 * such an option. */
static char **complete_watch(char **argv)
{
	GPtrArray *args = g_ptr_array_new();
	gboolean own = TRUE; /* an argument of al_query */

	for (char **a = argv; *a; a++) {
		char *end;

		own = own && strcmp(*a, "--") && strcmp(*a, "capture"); /* the arguments behind it belong to the captured command */
		if (!own || (strcmp(*a, "--watch") && strcmp(*a, "-w"))) {
			g_ptr_array_add(args, g_strdup(*a));
			continue;
		}
		if (a[1] && (g_ascii_strtod(a[1], &end), end != a[1] && !*end))
			g_ptr_array_add(args, g_strconcat("--watch=", *++a, NULL));
		else
			g_ptr_array_add(args, g_strdup("--watch=2"));
	}
	g_ptr_array_add(args, NULL);
	return (char **)g_ptr_array_free(args, FALSE);
}

#define MOST_SECONDS 1000000
#define NOT_GIVEN (-1.0) /* value of an option that is not given, where 0 is a wrong value */

/* An option that only some subcommands take. */
struct filter {
	unsigned int bit; /* enum query_filter */
	gboolean given;
	const char *name;
};

#define FILTERS 19

static void list_filters(const struct query *q, struct filter to[FILTERS])
{
	const struct filter filters[FILTERS] = {
		{ QUERY_CA, q->ca != NULL, "ca" },
		{ QUERY_PORT, q->port != 0, "port" },
		{ QUERY_PID, q->pid != 0, "pid" },
		{ QUERY_TYPE, q->type != NULL, "type" },
		{ QUERY_STATE, q->state != NULL, "state" },
		{ QUERY_QPN, q->qpn_first || q->qpn_last != IB_QPN_MASK, "qpn" },
		{ QUERY_DIFF, q->diff, "diff" },
		{ QUERY_TIMEOUT, q->timeout != NOT_GIVEN, "timeout" },
		{ QUERY_WATCH, q->watch != NOT_GIVEN, "watch" },
		{ QUERY_COUNT, q->count != 0, "count" },
		{ QUERY_OUTPUT, q->output != NULL, "output" },
		{ QUERY_FORMAT, q->format != NULL, "format" },
		{ QUERY_LONG, q->all, "long" },
		{ QUERY_LIMITS, q->warning != NULL, "warn" },
		{ QUERY_LIMITS, q->critical != NULL, "crit" },
		{ QUERY_SUBNET, q->subnet, "subnet" },
		{ QUERY_RESET, q->reset, "reset" },
		{ QUERY_M_KEY, q->m_key != 0, "m-key" },
		{ QUERY_WHERE, q->where != NULL, "where" },
	};

	memcpy(to, filters, sizeof(filters));
}

static int refuse_state(const char *text)
{
	g_autofree char *known = g_strjoinv(" ", (char **)states);

	return usage("--state %s: must be one of %s", text, known);
}

static int check_options(const struct query *q, const struct query_command *command)
{
	struct filter filters[FILTERS];

	list_filters(q, filters);
	for (gsize i = 0; i < G_N_ELEMENTS(filters); i++)
		if (filters[i].given && !(command->filters & filters[i].bit))
			return usage("--%s means nothing to \"%s\"", filters[i].name, command->name);
	if (g_strv_length(q->args) > command->max_args)
		return usage("too much after \"%s\": %s", command->name, q->args[command->max_args]);
	if (q->cas && q->cas[1] && !(command->filters & QUERY_CAS))
		return usage("--ca %s: \"%s\" asks one HCA, and --ca %s was given before",
			     q->cas[1], command->name, q->cas[0]);
	if (q->count && q->watch == NOT_GIVEN && (command->filters & QUERY_WATCH))
		return usage("--count says how often --watch repeats, which was not asked for");
	if (q->reset && !q->subnet)
		return usage(
			"--reset is for the counters that --subnet reads; nothing resets the HCAs' own");
	if (q->type && !is_type(q->type))
		return usage("--type %s: must be a kind of object, such as pd, mr, cq or qp", q->type);
	if (q->state && !is_state(q->state))
		return refuse_state(q->state);
	return TOOL_OK;
}

/* The options whose numbers GOption does not read. NULL: not given */
struct numbers {
	char *qpn, *m_key, *port, *pid, *count, *timeout, *watch;
};

static gboolean read_int(const char *name, const char *text, gint least, gint most, gint *to)
{
	guint64 number = 0;

	if (!text)
		return TRUE;
	if (!tool_parse_number(text, (guint64)least, (guint64)most, &number)) {
		usage("--%s %s: must be a number from %d to %d", name, text, least, most);
		return FALSE;
	}
	*to = (gint)number;
	return TRUE;
}

static gboolean read_seconds(const char *name, const char *text, double least, double *to)
{
	char *end;

	if (!text)
		return TRUE;
	*to = g_ascii_strtod(text, &end);
	if (end != text && !*end && *to >= least && *to <= MOST_SECONDS)
		return TRUE;
	usage("--%s %s: must be seconds, from %g to %d", name, text, least, MOST_SECONDS);
	return FALSE;
}

static int read_numbers(struct query *q, const struct numbers *numbers)
{
	q->qpn_last = IB_QPN_MASK;
	if (numbers->qpn &&
	    !tool_parse_range(numbers->qpn, IB_QPN_MASK, &q->qpn_first, &q->qpn_last))
		return usage("--qpn %s: a number of 24 bits, or a range A-B", numbers->qpn);
	if (numbers->m_key && !tool_parse_number(numbers->m_key, 1, G_MAXUINT64, &q->m_key))
		return usage("--m-key %s: a number of 64 bits that is not 0, such as 0x1234",
			     numbers->m_key);
	if (!read_int("port", numbers->port, 1, 255, &q->port) ||
	    !read_int("pid", numbers->pid, 1, G_MAXINT, &q->pid) ||
	    !read_int("count", numbers->count, 0, G_MAXINT, &q->count) ||
	    !read_seconds("timeout", numbers->timeout, 0.001, &q->timeout) ||
	    !read_seconds("watch", numbers->watch, 0.01, &q->watch))
		return TOOL_USAGE;
	return TOOL_OK;
}

/* ---------------------------------------------------------------------- help */

/* TRUE: every subcommand takes the option, or this subcommand does. */
static gboolean takes(const struct query *q, const struct query_command *command, const char *name)
{
	struct filter filters[FILTERS];
	gboolean special = !strcmp(name, "version");

	list_filters(q, filters);
	for (gsize i = 0; i < FILTERS; i++) {
		if (strcmp(filters[i].name, name))
			continue;
		if (command->filters & filters[i].bit)
			return TRUE;
		special = TRUE;
	}
	return !special;
}

static void print_option(char letter, const char *name, const char *arg, const char *help)
{
	const char initial[] = { '-', letter, ',', ' ', '\0' };
	g_autofree char *form = g_strdup_printf("%s--%s%s%s", letter ? initial : "", name,
						arg ? "=" : "", arg ? arg : "");

	printf("  %-35s %s\n", form, help);
}

/* The values of --type and --state, which completion offers too. */
static void print_values(const struct query_command *command)
{
	if (command->filters & QUERY_TYPE) {
		fputs("\nValues of --type:", stdout);
		for (guint i = AL_OBJ_NONE + 1; i < AL_OBJ_TYPES; i++)
			printf(" %s", al_object_type_str((al_object_type)i));
		putchar('\n');
	}
	if (command->filters & QUERY_STATE) {
		fputs("\nValues of --state:", stdout);
		for (gsize i = 0; states[i]; i++)
			printf(" %s", states[i]);
		putchar('\n');
	}
}

static void run_help(struct query *q)
{
	const struct query_command *command = *q->args ? find_command(*q->args) : NULL;
	g_autofree char *known = list_commands(), *all = describe_commands();

	if (!*q->args) {
		printf("usage: al_query [SUBCOMMAND] [OPTION...]\n\n%s\n", all);
		return;
	}
	if (!command) {
		query_error(q, TOOL_USAGE, "there is no subcommand \"%s\", but %s", *q->args, known);
		return;
	}
	printf("usage: al_query %s%s%s [OPTION...]\n\n%s\n\n", command->name,
	       *command->args ? " " : "", command->args, command->help);
	for (const GOptionEntry *e = q->options; e->long_name; e++)
		if (takes(q, command, e->long_name))
			print_option(e->short_name, e->long_name, e->arg_description,
				     e->description);
	print_option('h', "help", NULL, "What there is");
	print_values(command);
	puts("\nal_query(1) says more.");
}

static int answer_command_line(struct query *q, char **words, const struct numbers *numbers)
{
	const struct query_command *command = &commands[0];
	g_autofree char *known = list_commands();
	int status;

	if (words && *words) {
		command = find_command(*words);
		if (!command)
			return usage("there is no subcommand \"%s\", but %s", *words, known);
		q->args = words + 1;
	}
	q->ca = q->cas ? q->cas[0] : NULL;
	status = read_numbers(q, numbers);
	if (!status)
		status = check_options(q, command);
	if (status)
		return status;
	q->watch = MAX(q->watch, 0);
	q->timeout = MAX(q->timeout, 0);
	q->colour = !q->json && tool_wants_colour(STDOUT_FILENO);
	run_command(q, command);
	return q->status;
}

/* Takes the argument behind args[0] out of the list, and returns it. */
static char *take_first(char **args)
{
	char *first = args[1];

	for (args++; *args; args++)
		args[0] = args[1];
	return first;
}

/* Removes a "--", which GLib leaves in the list if an argument behind it begins with a dash. */
static void drop_separator(char **args)
{
	while (*++args)
		if (!strcmp(*args, "--")) {
			g_free(take_first(args - 1));
			return;
		}
}

/*
 * Reads the options, and takes them out of args. They may stand before and behind the subcommand's
 * name, which becomes args[1]. Options behind the command of capture belong to that command, and
 * stay.
 */
static gboolean parse(GOptionContext *context, char ***args, GError **err)
{
	char *name;

	g_option_context_set_strict_posix(context, TRUE);
	if (!g_option_context_parse_strv(context, args, err))
		return FALSE;
	if ((*args)[1] && !strcmp((*args)[1], "--"))
		drop_separator(*args);
	if (!(*args)[1])
		return TRUE;
	name = take_first(*args);
	g_option_context_set_strict_posix(context, !strcmp(name, "capture"));
	if (!g_option_context_parse_strv(context, args, err)) {
		g_free(name);
		return FALSE;
	}
	if (strcmp(name, "capture"))
		drop_separator(*args);
	*args = g_renew(char *, *args, g_strv_length(*args) + 2);
	memmove(*args + 2, *args + 1, g_strv_length(*args + 1) * sizeof(**args) + sizeof(**args));
	(*args)[1] = name;
	return TRUE;
}

/* TRUE: the subcommand is check, whose exit status for a wrong command line is another
 * (query_check.c). */
static gboolean is_check(char **argv)
{
	while (*++argv)
		if (find_command(*argv))
			return !strcmp(*argv, "check");
	return FALSE;
}

int query_main(int argc, char **argv)
{
	static char *no_args[] = { NULL };
	struct query q = { .args = no_args, .watch = NOT_GIVEN, .timeout = NOT_GIVEN };
	g_autofree char *help = describe_commands();
	struct numbers numbers = { NULL };
	gboolean version = FALSE;
	const GOptionEntry entries[] = {
		{ "json", 'j', 0, G_OPTION_ARG_NONE, &q.json, "Answer in JSON", NULL },
		{ "watch", 'w', 0, G_OPTION_ARG_STRING, &numbers.watch,
		  "Again and again (every 2 seconds)", "[SECONDS]" },
		{ "count", 'n', 0, G_OPTION_ARG_STRING, &numbers.count,
		  "End after N events, or N times of --watch", "N" },
		{ "output", 'o', 0, G_OPTION_ARG_FILENAME, &q.output,
		  "capture: the file (capture.pcapng); prom: the file (standard output)", "FILE" },
		{ "timeout", 't', 0, G_OPTION_ARG_STRING, &numbers.timeout,
		  "events, topology, check: end after so many seconds", "SECONDS" },
		{ "long", 'l', 0, G_OPTION_ARG_NONE, &q.all, "port: all of PortInfo", NULL },
		{ "warn", 0, 0, G_OPTION_ARG_STRING, &q.warning, "check: thresholds of warnings",
		  "COUNTER=N,..." },
		{ "crit", 0, 0, G_OPTION_ARG_STRING, &q.critical,
		  "check: thresholds of critical problems", "COUNTER=N,..." },
		{ "subnet", 0, 0, G_OPTION_ARG_NONE, &q.subnet, "check: all ports of the subnet",
		  NULL },
		{ "reset", 0, 0, G_OPTION_ARG_NONE, &q.reset,
		  "check --subnet: then set the error counters to zero", NULL },
		{ "format", 'F', 0, G_OPTION_ARG_STRING, &q.format,
		  "topology: the form of the answer", "text|dot|svg|json" },
		{ "ca", 'C', 0, G_OPTION_ARG_STRING_ARRAY, &q.cas, "Only this HCA, or these",
		  "GUID|INDEX|NAME" },
		{ "port", 'P', 0, G_OPTION_ARG_STRING, &numbers.port, "Only ports of this number", "N" },
		{ "state", 0, 0, G_OPTION_ARG_STRING, &q.state,
		  "Only ports or objects in this state", "STATE" },
		{ "type", 0, 0, G_OPTION_ARG_STRING, &q.type, "res: only objects of this kind",
		  "TYPE" },
		{ "pid", 0, 0, G_OPTION_ARG_STRING, &numbers.pid, "Only objects of this process", "PID" },
		{ "qpn", 0, 0, G_OPTION_ARG_STRING, &numbers.qpn,
		  "Only queue pairs with these numbers", "A-B" },
		{ "where", 0, 0, G_OPTION_ARG_STRING_ARRAY, &q.where,
		  "Only objects with this member of --json, such as user=root", "KEY=VALUE" },
		{ "m-key", 0, 0, G_OPTION_ARG_STRING, &numbers.m_key,
		  "topology, check --subnet, port --long: the M_Key of the ports", "KEY" },
		{ "diff", 0, 0, G_OPTION_ARG_NONE, &q.diff, "caps, topology: only what differs",
		  NULL },
		{ "version", 'V', 0, G_OPTION_ARG_NONE, &version, "Print the version", NULL },
		G_OPTION_ENTRY_NULL
	};
	g_autoptr(GOptionContext) context = g_option_context_new("[SUBCOMMAND] - what HCAs are here and what they are doing");
	g_autoptr(GError) err = NULL;
	g_auto(GStrv) args = complete_watch(argv);
	int status = TOOL_OK;

	(void)argc;
	q.options = entries;
	g_option_context_set_summary(context, help);
	g_option_context_add_main_entries(context, entries, NULL);
	if (!parse(context, &args, &err))
		status = usage("%s", err->message);
	else if (version)
		printf("al_query %s\n", al_version());
	else
		status = answer_command_line(&q, args + 1, &numbers);
	if (!q.out && status == TOOL_USAGE && is_check(argv)) {
		puts("UNKNOWN - the command line is wrong");
		status = QUERY_CHECK_UNKNOWN;
	}
	g_clear_pointer(&q.out, json_object_unref);
	g_clear_pointer(&q.before, json_object_unref);
	g_strfreev(q.cas);
	g_free(q.state);
	g_strfreev(q.where);
	g_free(q.type);
	g_free(q.output);
	g_free(q.format);
	g_free(q.warning);
	g_free(q.critical);
	g_free(numbers.qpn);
	g_free(numbers.m_key);
	g_free(numbers.port);
	g_free(numbers.pid);
	g_free(numbers.count);
	g_free(numbers.timeout);
	g_free(numbers.watch);
	return status;
}
