/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Percentiles of samples, and lists of sizes (perf_stat.h). */
#include "al/tools/perf_stat.h"

#include <math.h>
#include <string.h>

#include "al/tools/tool.h"

/* Within an octave, from 2^n to 2^(n+1), all buckets have the same width. */
static guint bucket_of(guint64 value)
{
	guint shift;

	if (value >> PERF_HIST_BITS == 0)
		return (guint)value;
	shift = 63 - PERF_HIST_BITS - (guint)__builtin_clzll(value);
	return ((shift + 1) << PERF_HIST_BITS) + (guint)(value >> shift) - (1u << PERF_HIST_BITS);
}

/* The largest value of a bucket. */
static guint64 last_of(guint bucket)
{
	guint shift = bucket >> PERF_HIST_BITS;
	guint64 mantissa = bucket & ((1u << PERF_HIST_BITS) - 1);

	if (!shift)
		return mantissa;
	return ((mantissa + (1u << PERF_HIST_BITS)) << (shift - 1)) + ((guint64)1 << (shift - 1)) -
	       1;
}

void perf_hist_add(struct perf_hist *hist, guint64 value)
{
	if (!hist->count || value < hist->min)
		hist->min = value;
	if (value > hist->max)
		hist->max = value;
	hist->count++;
	hist->sum += (double)value;
	hist->bucket[bucket_of(value)]++;
}

double perf_hist_mean(const struct perf_hist *hist)
{
	return hist->count ? hist->sum / (double)hist->count : 0;
}

guint64 perf_hist_percentile(const struct perf_hist *hist, double percent)
{
	guint64 wanted = (guint64)ceil(percent / 100 * (double)hist->count), seen = 0;

	for (guint i = 0; i < PERF_HIST_BUCKETS; i++) {
		seen += hist->bucket[i];
		if (seen && seen >= wanted)
			return CLAMP(last_of(i), hist->min, hist->max);
	}
	return hist->max;
}

const double perf_percentiles[PERF_PERCENTILES] = { 50, 90, 99, 99.9 };

struct perf_latency perf_hist_latency(const struct perf_hist *hist)
{
	struct perf_latency latency = {
		.samples = hist->count,
		.min = hist->min,
		.max = hist->max,
		.mean = perf_hist_mean(hist),
	};

	for (guint i = 0; i < PERF_PERCENTILES; i++)
		latency.percentile[i] = perf_hist_percentile(hist, perf_percentiles[i]);
	return latency;
}

/* ------------------------------------------------------------------- patience */

guint64 perf_patience(guint losses, guint64 longest)
{
	static const guint64 least = 50000000;
	guint64 halved = PERF_PATIENCE_MAX >> MIN(losses, 63);

	return MIN(MAX(MAX(halved, least), 10 * MIN(longest, PERF_PATIENCE_MAX)),
		   PERF_PATIENCE_MAX);
}

/* --------------------------------------------------------------------- sizes */

/* Reads one size, or a range of sizes. */
static gboolean parse_part(const char *text, guint64 min, guint64 max, GArray *sizes)
{
	const char *dots = strstr(text, "..");
	g_autofree char *from = g_strndup(text, dots ? (gsize)(dots - text) : strlen(text));
	guint64 first, last, size;

	if (!tool_parse_size(from, min, max, &first))
		return FALSE;
	last = first;
	if (dots && !tool_parse_size(dots + 2, first, max, &last))
		return FALSE;
	for (size = first; size < last; size = (guint64)1 << (64 - __builtin_clzll(size)))
		g_array_append_val(sizes, size);
	g_array_append_val(sizes, last);
	return TRUE;
}

gboolean perf_parse_sizes(const char *text, guint64 min, guint64 max, GArray *sizes)
{
	g_auto(GStrv) parts = g_strsplit(text, ",", -1);
	guint before = sizes->len;

	for (guint i = 0; parts[i]; i++) {
		if (!parse_part(parts[i], min, max, sizes)) {
			g_array_set_size(sizes, before);
			return FALSE;
		}
	}
	return sizes->len > before;
}
