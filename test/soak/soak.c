/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The soak: episodes of random traffic, checked by the model, seed by seed. Each seed is played by
 * a process of its own, so that a crash or an endless loop is a failure like others. An episode
 * that fails is played again with fewer operations, until no smaller list fails, and that list is
 * printed.
 *
 * "make check" runs soak without an option: some seeds, seeds that have failed once, and one seed
 * twice, which must be the same run. For hours of random traffic:
 *
 *     soak [--seed S] [--seeds N] [--packets N] [--minutes M] [--hcas N] [--wide] [--resize]
 * [--quick]
 *
 * To play one episode again:
 *
 *     soak --seed S --episode E [--only OPERATION,...] [--verbose] [--trace]
 *
 * usage() describes the options.
 */
#include "play.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern bool ib_trace_on;

static struct {
	uint64_t packets;
	uint64_t seed;
	uint64_t episode; /* only this episode; UINT64_MAX: from 0 on */
	uint32_t seeds;
	uint32_t hcas;
	uint32_t patience; /* seconds of processor time: longer than any episode takes, with sanitizers too */
	double minutes;
	bool verbose;
	bool wide;        /* see struct episode */
	bool resize;      /* see struct episode */
	bool quick;       /* names a failure without minimising it */
	const char *only; /* operations of the episode, by number */
} options = {
	.packets = 1000000, .seed = 1, .episode = UINT64_MAX, .seeds = 1, .hcas = 2, .patience = 120
};

/* Memory that the playing process shares with the waiting process. */
static struct shared {
	uint64_t episode;
	uint64_t packets, completions, trace;
	struct outcome outcome;
} * shared;

static uint64_t episode_seed(uint64_t seed, uint64_t episode)
{
	uint64_t x = seed * 0x9e3779b97f4a7c15ull + episode;

	return draw(&x);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void mix(uint64_t value)
{
	shared->trace = (shared->trace ^ value) * 0x100000001b3ull;
	shared->trace ^= shared->trace >> 31;
}

/* Plays in a process of its own. Returns the error, or NULL. */
static const char *apart(void (*fn)(void *), void *arg)
{
	static char text[64];
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		fn(arg);
		fflush(NULL);
		_exit(*shared->outcome.error ? 1 : 0);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status) <= 1)
		return WEXITSTATUS(status) ? shared->outcome.error : NULL;
	if (WIFSIGNALED(status))
		snprintf(text, sizeof(text), "it ended by signal %d (%s)", WTERMSIG(status),
			 WTERMSIG(status) == SIGPROF ? "an endless loop"
						     : strsignal(WTERMSIG(status)));
	else
		snprintf(text, sizeof(text), "it ended with status %d", WEXITSTATUS(status));
	return text;
}

/*
 * Limits the processor time, which ends an endless loop however busy the machine is, and the real time, which ends an
 * endless wait.
 */
static void limit(uint32_t seconds)
{
	const struct itimerval busy = { .it_value.tv_sec = seconds };

	setitimer(ITIMER_PROF, &busy, NULL);
	alarm(10 * seconds);
}

/* ------------------------------------------------------------------ one seed */

/* Leaves only the operations that --only names. */
static void choose(struct episode *e)
{
	uint32_t num = 0, k;
	const char *at;
	char *end;

	for (at = options.only; at && *at; at = end + (*end == ',')) {
		k = (uint32_t)strtoul(at, &end, 10);
		if (end == at || k >= e->num || num > k)
			break;
		e->op[num++] = e->op[k];
	}
	if (options.only)
		e->num = num;
}

static void play_seed(void *arg)
{
	uint64_t seed = *(uint64_t *)arg, only = options.episode;
	double end = options.minutes > 0 ? now() + options.minutes * 60 : 1e300;
	struct episode e;

	for (shared->episode = only == UINT64_MAX ? 0 : only;
	     shared->packets < options.packets && now() < end; shared->episode++) {
		plan(&e, episode_seed(seed, shared->episode), options.hcas, options.wide);
		e.resize = options.resize;
		choose(&e);
		limit(options.patience);
		play(&e, options.verbose, &shared->outcome);
		limit(0);
		free(e.op);
		shared->packets += shared->outcome.packets;
		shared->completions += shared->outcome.completions;
		mix(shared->outcome.trace);
		if (*shared->outcome.error || only != UINT64_MAX)
			return;
	}
}

/* ------------------------------------------------------ minimising a failure */

struct attempt {
	struct episode e;
	bool verbose;
};

static void play_attempt(void *arg)
{
	const struct attempt *a = arg;

	limit(options.patience);
	if (!a->verbose &&
	    (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr)))
		_exit(3);
	play(&a->e, a->verbose, &shared->outcome);
}

static bool fails(const struct episode *e, bool verbose)
{
	struct attempt a = { *e, verbose };

	return apart(play_attempt, &a);
}

/* Leaves out smaller and smaller parts of the list, while the episode still fails. */
static void minimise(struct episode *e)
{
	struct op *all = calloc(e->num, sizeof(*all));
	uint32_t part, from, tries = 0;
	struct episode less = *e;

	if (!all)
		return;
	less.op = all;
	for (part = (e->num + 1) / 2; part && tries<3000; part = part> 1 ? (part + 1) / 2 : 0)
		for (from = 0; from < e->num && tries < 3000;) {
			uint32_t n = part < e->num - from ? part : e->num - from;

			memcpy(all, e->op, from * sizeof(*all));
			memcpy(all + from, e->op + from + n, (e->num - from - n) * sizeof(*all));
			less.num = e->num - n;
			tries++;
			if (fails(&less, false)) {
				memcpy(e->op, all, less.num * sizeof(*all));
				e->num = less.num;
			} else {
				from += n;
			}
		}
	free(all);
}

static void report(uint64_t seed, const char *what)
{
	uint64_t episode = shared->episode;
	struct episode e;
	uint32_t before, k;

	printf("FAILED: seed %" PRIu64 " episode %" PRIu64 " after %" PRIu64
	       " packets, operation %u: %s\n",
	       seed, episode, shared->packets, shared->outcome.at, what);
	if (options.quick)
		return;
	plan(&e, episode_seed(seed, episode), options.hcas, options.wide);
	e.resize = options.resize;
	before = e.num;
	if (!fails(&e, false)) {
		printf("the same episode, played again, does not fail\n");
		return;
	}
	minimise(&e);
	printf("%u of its %u operations fail too:\n", e.num, before);
	fails(&e, true);
	printf("%s\nagain: soak --seed %" PRIu64 " --episode %" PRIu64
	       " --hcas %u%s%s --verbose --only ",
	       shared->outcome.error, seed, episode, options.hcas, options.wide ? " --wide" : "",
	       options.resize ? " --resize" : "");
	for (k = 0; k < e.num; k++)
		printf("%u,", e.op[k].number);
	printf("\n");
	free(e.op);
}

static bool soak(uint64_t seed)
{
	double start = now();
	const char *what;

	memset(shared, 0, sizeof(*shared));
	what = apart(play_seed, &seed);
	if (what) {
		char copy[sizeof(shared->outcome.error)];

		snprintf(copy, sizeof(copy), "%s", what);
		report(seed, copy);
		return false;
	}
	printf("seed %" PRIu64 ": %" PRIu64 " packets, %" PRIu64 " completions, %" PRIu64
	       " episodes, %.1f s, trace %016" PRIx64 ": no violation\n",
	       seed, shared->packets, shared->completions, shared->episode, now() - start,
	       shared->trace);
	return true;
}

/* Episodes that have found an error. */
static const struct {
	uint64_t seed, episode;
	bool wide;
} once[] = {
	{ 1, 2, false },     /* a flushed request had the status of its own failure */
	/* a peer's packets were kept in the Error state; no retry before a request that can not be sent */
	{ 1, 41, false },
	{ 4, 4, false },     /* a source deregistered before a retry */
	{ 706, 518, false }, /* a time-out that had run out ended the pause of an RNR NAK */
	{ 1008, 220, true }, /* a queue stopped for ever by a request whose copy was answered */
};

static bool play_once_failed(void)
{
	bool good = true;
	size_t i;

	for (i = 0; i < sizeof(once) / sizeof(*once); i++) {
		options.episode = once[i].episode;
		options.wide = once[i].wide;
		good &= soak(once[i].seed);
	}
	options.episode = UINT64_MAX;
	options.wide = false;
	return good;
}

/* Checks that the same seed is the same run, on one processor too. */
static bool same_again(void)
{
	uint64_t seed = options.seed, trace[2];
	cpu_set_t all, one;
	int i, cpu = 0;

	options.packets = 20000;
	if (sched_getaffinity(0, sizeof(all), &all))
		return false;
	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	for (i = 0; i < 2; i++) {
		sched_setaffinity(0, sizeof(one), i ? &one : &all);
		if (!soak(seed))
			return false;
		trace[i] = shared->trace;
	}
	sched_setaffinity(0, sizeof(all), &all);
	if (trace[0] != trace[1])
		printf("FAILED: seed %" PRIu64 " played twice has two traces\n", seed);
	return trace[0] == trace[1];
}

/* Takes about a minute on a slow machine, in every build. */
static bool play_ci(void)
{
	bool good = same_again(), more = getenv("IBAL_TEST_LONG");
	uint32_t i;

	good &= play_once_failed();
	options.packets = more ? 10000000 : 400000;
	options.minutes = more ? 0 : 0.13;
	for (i = 0; i < (more ? 10 : 4); i++) {
		options.resize = i & 1;
		good &= soak(100 + i);
	}
	options.wide = true;
	for (i = 0; i < (more ? 10 : 2); i++) {
		options.resize = i & 1;
		good &= soak(200 + i);
	}
	return good;
}

static int usage(FILE *out)
{
	fprintf(out,
		"usage: soak                  what \"make check\" runs\n"
		"       soak OPTION...        seeds, played until something is wrong\n"
		"\n"
		"  --seed S        the first seed (1)\n"
		"  --seeds N       how many of them (1)\n"
		"  --packets N     of each (1000000)\n"
		"  --minutes M     of each, at most\n"
		"  --hcas N        HCAs that play (2)\n"
		"  --wide          also several ports, paths with a GRH, queue pairs with themselves, forced\n"
		"                  NAKs, overflows of completion queues, failing allocations, and with UC\n"
		"                  and UD wrong requests, deregistrations and the recovery from SQE\n"
		"  --resize        also resizes of completion queues\n"
		"  --quick         a failure is named, and not made smaller\n"
		"  --patience S    seconds of a processor that an episode may take (120)\n"
		"  --episode E     only this one of the seed\n"
		"  --only N,...    only these of its operations, by number\n"
		"  --verbose       say what is done\n"
		"  --trace         and what the HCA does\n"
		"  --help          this\n");
	return out == stdout ? 0 : 2;
}

int main(int argc, char **argv)
{
	static const struct option names[] = {
		{ "seed", 1, NULL, 's' },
		{ "seeds", 1, NULL, 'n' },
		{ "packets", 1, NULL, 'p' },
		{ "minutes", 1, NULL, 'm' },
		{ "hcas", 1, NULL, 'h' },
		{ "episode", 1, NULL, 'e' },
		{ "verbose", 0, NULL, 'v' },
		{ "quick", 0, NULL, 'q' },
		{ "only", 1, NULL, 'o' },
		{ "patience", 1, NULL, 'w' },
		{ "trace", 0, NULL, 't' },
		{ "wide", 0, NULL, 'x' },
		{ "resize", 0, NULL, 'r' },
		{ "help", 0, NULL, 'u' },
		{ 0 },
	};
	bool good = true;
	uint32_t i;
	int c;

	while ((c = getopt_long(argc, argv, "", names, NULL)) != -1)
		switch (c) {
		case 's':
			options.seed = strtoull(optarg, NULL, 0);
			break;
		case 'n':
			options.seeds = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case 'p':
			options.packets = strtoull(optarg, NULL, 0);
			break;
		case 'm':
			options.minutes = strtod(optarg, NULL);
			break;
		case 'h':
			options.hcas = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case 'e':
			options.episode = strtoull(optarg, NULL, 0);
			break;
		case 'v':
			options.verbose = true;
			break;
		case 'w':
			options.patience = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case 'o':
			options.only = optarg;
			break;
		case 't':
			ib_trace_on = true;
			break;
		case 'x':
			options.wide = true;
			break;
		case 'r':
			options.resize = true;
			break;
		case 'q':
			options.quick = true;
			break;
		case 'u':
			return usage(stdout);
		default:
			return usage(stderr);
		}
	if (optind != argc) {
		fprintf(stderr, "soak: %s is no option\n", argv[optind]);
		return usage(stderr);
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		return 2;
	if (argc == 1)
		return play_ci() ? 0 : 1;
	for (i = 0; i < options.seeds; i++)
		good &= soak(options.seed + i);
	return good ? 0 : 1;
}
