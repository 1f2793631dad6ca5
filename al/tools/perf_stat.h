/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Percentiles of any number of samples, and lists of sizes. Nothing of RDMA is here. */
#ifndef AL_TOOLS_PERF_STAT_H
#define AL_TOOLS_PERF_STAT_H

#include <glib.h>

/*
 * A histogram with buckets that grow with the value, so that a sample costs one increment and the memory does not grow:
 * values below 2^PERF_HIST_BITS are exact, others to one part in 2^PERF_HIST_BITS. Minimum, maximum and sum are exact.
 * All zero is an empty one.
 */
#define PERF_HIST_BITS 7
#define PERF_HIST_BUCKETS ((64 - PERF_HIST_BITS + 1) << PERF_HIST_BITS)

struct perf_hist {
	guint64 count, min, max;
	double sum;
	guint64 bucket[PERF_HIST_BUCKETS];
};

void perf_hist_add(struct perf_hist *hist, guint64 value);

/* 0 of an empty one. The percentile is the smallest value that percent of the samples do not exceed, to the precision. */
double perf_hist_mean(const struct perf_hist *hist);
guint64 perf_hist_percentile(const struct perf_hist *hist, double percent);

/* What is shown of a histogram. */
#define PERF_PERCENTILES 4
extern const double perf_percentiles[PERF_PERCENTILES];

struct perf_latency {
	guint64 samples, min, max;
	guint64 percentile[PERF_PERCENTILES];
	double mean;
};

struct perf_latency perf_hist_latency(const struct perf_hist *hist);

/*
 * Sizes such as "8", "8,64,4K" and "8..1M", the powers of two from one to the other and that end; all from min to max.
 * Appends to sizes (of guint64), which is as before when FALSE comes back.
 */
gboolean perf_parse_sizes(const char *text, guint64 min, guint64 max, GArray *sizes);

#endif
