/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * make bench: options, how two things are compared, and the report. Each figure stands beside a
 * reference taken in the same run and in turn with it, because absolute times say little on a
 * machine that others use, too.
 *
 *     bench [--quick] [--only TEXT] [--json FILE]
 *
 * One line per measurement: name value unit where reference ratio target ok|short. `where` says on
 * how many processors the threads ran (bench.h). A row whose target is missed says "short"; the
 * exit status says only whether it could be measured.
 */
#include "test/bench/bench.h"
#include "test/bench/growth.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUICK_REPS 3

static const char *only;
static FILE *json;
static bool json_first = true;

/* ----------------------------------------------------------------- reporting results */

bool bench_wanted(const char *name)
{
	return !only || strstr(name, only);
}

static bool reached(const struct bench_row *row)
{
	switch (row->kind) {
	case TARGET_RATIO_MOST:
		return row->ratio <= row->target;
	case TARGET_RATIO_LEAST:
		return row->ratio >= row->target;
	case TARGET_VALUE_MOST:
		return row->value <= row->target;
	default:
		return true;
	}
}

static const char *number(char *buf, size_t len, const char *fmt, double v, const char *none)
{
	if (isnan(v))
		return none;
	snprintf(buf, len, fmt, v);
	return buf;
}

static const char *target_text(char *buf, size_t len, const struct bench_row *row)
{
	static const char *const format[] = {
		[TARGET_RATIO_MOST] = "ratio<=%g",
		[TARGET_RATIO_LEAST] = "ratio>=%g",
		[TARGET_VALUE_MOST] = "value<=%g",
	};

	return number(buf, len, format[row->kind], row->kind == TARGET_NONE ? NAN : row->target, "-");
}

void bench_report(const struct bench_row *row)
{
	const char *verdict = reached(row) ? "ok" : "short",
		   *where = row->where ? row->where : BENCH_ALONE;
	char value[32], reference[32], ratio[32], target[32];

	if (!bench_wanted(row->name))
		return;
	printf("%-28s %10s %-6s %-16s %10s %8s %-12s %s\n", row->name,
	       number(value, sizeof(value), "%.2f", row->value, "-"), row->unit, where,
	       number(reference, sizeof(reference), "%.2f", row->reference, "-"),
	       number(ratio, sizeof(ratio), "%.3f", row->ratio, "-"),
	       target_text(target, sizeof(target), row), verdict);
	fflush(stdout);
	if (!json)
		return;
	fprintf(json,
		"%s\n    {\"name\": \"%s\", \"value\": %s, \"unit\": \"%s\", \"where\": \"%s\", "
		"\"reference\": %s, \"ratio\": %s, ",
		json_first ? "" : ",", row->name,
		number(value, sizeof(value), "%.6g", row->value, "null"), row->unit, where,
		number(reference, sizeof(reference), "%.6g", row->reference, "null"),
		number(ratio, sizeof(ratio), "%.6g", row->ratio, "null"));
	if (row->kind == TARGET_NONE)
		fprintf(json, "\"target\": null, ");
	else
		fprintf(json, "\"target\": \"%s\", ", target);
	fprintf(json, "\"verdict\": \"%s\"}", verdict);
	json_first = false;
}

/* ---------------------------------------------------------------------- main */

static void usage(FILE *to)
{
	fputs("usage: bench [--quick] [--only TEXT] [--json FILE]\n"
	      "  --quick      a few repetitions: shows that everything runs, its figures mean nothing\n"
	      "  --only TEXT  only rows with TEXT in their name\n"
	      "  --json FILE  the rows also as JSON\n", to);
}

static void options(int argc, char **argv)
{
	static const struct option known[] = {
		{ "quick", no_argument, NULL, 'q' },
		{ "only", required_argument, NULL, 'o' },
		{ "json", required_argument, NULL, 'j' },
		/* for the benchmark's own processes only */
		{ "far", required_argument, NULL, 'f' },
		{ "plain", required_argument, NULL, 'p' },
		{ "pair", required_argument, NULL, 'r' },
		{ "idle", required_argument, NULL, 'i' },
		{ "objects", required_argument, NULL, 'n' },
		{ "agent", required_argument, NULL, 'a' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	const char *agent = NULL, *far = NULL, *plain = NULL, *pair = NULL;
	unsigned int objects = 0;
	int opt;

	while ((opt = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (opt) {
		case 'q':
			bench_quick = true;
			bench_reps = QUICK_REPS;
			break;
		case 'o':
			only = optarg;
			break;
		case 'j':
			json = fopen(optarg, "we");
			if (!json)
				bench_fatal("%s: %m", optarg);
			break;
		case 'f':
			far = optarg;
			break;
		case 'p':
			plain = optarg;
			break;
		case 'r':
			pair = optarg;
			break;
		case 'n':
			objects = (unsigned int)atoi(optarg);
			break;
		case 'i':
			growth_idle_client(optarg, objects);
		case 'a':
			agent = optarg;
			break;
		default:
			usage(opt == 'h' ? stdout : stderr);
			exit(opt == 'h' ? EXIT_SUCCESS : EXIT_FAILURE);
		}
	}
	if (agent && far)
		bench_agent_far(agent, atoi(far));
	if (agent && plain)
		bench_user_plain(agent, atoi(plain));
	if (agent && pair)
		bench_pair_far(agent, atoi(pair));
	if (agent)
		bench_agent_open(agent);
	if (optind < argc || far || plain || pair) {
		usage(stderr);
		exit(EXIT_FAILURE);
	}
}

int main(int argc, char **argv)
{
	options(argc, argv);
	if (json)
		fprintf(json, "{\n  \"schema\": 1,\n  \"version\": \"%s\",\n  \"quick\": %s,\n  \"rows\": [",
			al_version(), bench_quick ? "true" : "false");
	if (bench_quick)
		puts("# --quick: that it runs; the figures mean nothing");
	printf("%-28s %10s %-6s %-16s %10s %8s %-12s %s\n", "name", "value", "unit", "where",
	       "reference", "ratio", "target", "ok|short");
	bench_many(); /* first: it measures the memory of a process that has done nothing yet */
	bench_locked(); /* before this process has threads: the child that is counted is a fork */
	bench_fabric(); /* before this process has threads: processes with libraries of their own
			   are forked */
	bench_cost();
	bench_message();
	bench_verb();
	bench_bandwidth();
	bench_notify();
	bench_object();
	bench_user(); /* before bench_agent(): it sets the path of providers, which the library reads once */
	bench_agent();
	bench_pair();
	bench_client();
	if (json && (fputs("\n  ]\n}\n", json) < 0 || fclose(json)))
		bench_fatal("the JSON file could not be written: %m");
	return EXIT_SUCCESS;
}
