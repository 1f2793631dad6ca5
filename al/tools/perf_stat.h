/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Percentiles of any number of samples, and lists of sizes. Nothing of RDMA is here. */
#ifndef AL_TOOLS_PERF_STAT_H
#define AL_TOOLS_PERF_STAT_H

#include <glib.h>

/*
 * A histogram with buckets that grow with the value, so that a sample costs one increment and the
 * memory does not grow: values below 2^PERF_HIST_BITS are exact, others to one part in
 * 2^PERF_HIST_BITS. Minimum, maximum and sum are exact. A histogram of zeros is empty.
 */
#define PERF_HIST_BITS 7
#define PERF_HIST_BUCKETS ((64 - PERF_HIST_BITS + 1) << PERF_HIST_BITS)

struct perf_hist {
	guint64 count, min, max;
	double sum;
	guint64 bucket[PERF_HIST_BUCKETS];
};

void perf_hist_add(struct perf_hist *hist, guint64 value);

/*
 * The smallest value that percent of the samples do not exceed, to the histogram's precision. 0 if
 * the histogram is empty.
 */
double perf_hist_mean(const struct perf_hist *hist);
guint64 perf_hist_percentile(const struct perf_hist *hist, double percent);

/* The figures that reports show of a histogram. */
#define PERF_PERCENTILES 4
extern const double perf_percentiles[PERF_PERCENTILES];

struct perf_latency {
	guint64 samples, min, max;
	guint64 percentile[PERF_PERCENTILES];
	double mean;
};

struct perf_latency perf_hist_latency(const struct perf_hist *hist);

/*
 * Reads sizes such as "8", "8,64,4K" and "8..1M": a range stands for its powers of two and its end.
 * Each size is from min to max. Appends the sizes (guint64) to the array. FALSE: the text is wrong,
 * and the array is unchanged.
 */
gboolean perf_parse_sizes(const char *text, guint64 min, guint64 max, GArray *sizes);

/*
 * Nanoseconds of silence after which messages of UC and UD are taken for lost: two seconds at
 * first, half as long after each loss, but at least 50 ms and ten times the longest silence that a
 * message has ended. So a few losses outlast a busy machine, and many losses cost little time.
 */
#define PERF_PATIENCE_MAX 2000000000ull
guint64 perf_patience(guint losses, guint64 longest);

#endif
