/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Percentiles and lists of sizes: al/tools/perf_stat.c. */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "al/tools/perf_stat.h"

static const double percents[] = { 0, 0.1, 1, 50, 90, 99, 99.9, 100 };

static int by_value(const void *a, const void *b)
{
	const guint64 *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

START_TEST(an_empty_histogram_has_only_zeros)
{
	g_autofree struct perf_hist *hist = g_new0(struct perf_hist, 1);

	for (guint i = 0; i < G_N_ELEMENTS(percents); i++)
		ck_assert_uint_eq(perf_hist_percentile(hist, percents[i]), 0);
	ck_assert_double_eq(perf_hist_mean(hist), 0);
}
END_TEST

START_TEST(one_sample_is_every_percentile)
{
	static const guint64 values[] = {
		0, 1, 127, 128, 129, 255, 256, 1000003, G_MAXUINT64 - 1, G_MAXUINT64
	};

	for (guint i = 0; i < G_N_ELEMENTS(values); i++) {
		g_autofree struct perf_hist *hist = g_new0(struct perf_hist, 1);

		perf_hist_add(hist, values[i]);
		ck_assert_uint_eq(hist->min, values[i]);
		ck_assert_uint_eq(hist->max, values[i]);
		for (guint j = 0; j < G_N_ELEMENTS(percents); j++)
			ck_assert_uint_eq(perf_hist_percentile(hist, percents[j]), values[i]);
	}
}
END_TEST

START_TEST(small_values_have_exact_percentiles)
{
	g_autofree struct perf_hist *hist = g_new0(struct perf_hist, 1);

	for (guint64 i = 1; i <= 100; i++)
		perf_hist_add(hist, i);
	ck_assert_uint_eq(perf_hist_percentile(hist, 50), 50);
	ck_assert_uint_eq(perf_hist_percentile(hist, 90), 90);
	ck_assert_uint_eq(perf_hist_percentile(hist, 99), 99);
	ck_assert_uint_eq(perf_hist_percentile(hist, 99.9), 100);
	ck_assert_uint_eq(perf_hist_percentile(hist, 100), 100);
	ck_assert_double_eq_tol(perf_hist_mean(hist), 50.5, 1e-9);
}
END_TEST

/* Compared with sorted values of all magnitudes. */
START_TEST(percentiles_are_those_of_the_sorted_samples_to_the_precision)
{
	enum { SAMPLES = 5000 };
	g_autoptr(GRand) rand = g_rand_new_with_seed((guint32)_i);
	g_autofree struct perf_hist *hist = g_new0(struct perf_hist, 1);
	g_autofree guint64 *sorted = g_new(guint64, SAMPLES);

	for (guint i = 0; i < SAMPLES; i++) {
		guint64 value = ((guint64)g_rand_int(rand) << 32 | g_rand_int(rand)) >>
				g_rand_int_range(rand, 0, 64);

		sorted[i] = value;
		perf_hist_add(hist, value);
	}
	qsort(sorted, SAMPLES, sizeof(*sorted), by_value);
	ck_assert_uint_eq(hist->min, sorted[0]);
	ck_assert_uint_eq(hist->max, sorted[SAMPLES - 1]);
	for (guint i = 0; i < G_N_ELEMENTS(percents); i++) {
		guint64 rank = (guint64)ceil(percents[i] / 100 * SAMPLES);
		guint64 exact = sorted[MAX(rank, 1) - 1],
			got = perf_hist_percentile(hist, percents[i]);

		ck_assert_uint_ge(got, exact);
		ck_assert_uint_le(got - exact, exact >> PERF_HIST_BITS);
	}
}
END_TEST

/* ---------------------------------------------------------------------- sizes */

static char *sizes_of(const char *text)
{
	g_autoptr(GArray) sizes = g_array_new(FALSE, FALSE, sizeof(guint64));
	GString *said = g_string_new(NULL);

	if (!perf_parse_sizes(text, 1, 1 << 20, sizes)) {
		ck_assert_uint_eq(sizes->len, 0);
		g_string_append(said, "refused");
	}
	for (guint i = 0; i < sizes->len; i++)
		g_string_append_printf(said, "%s%" G_GUINT64_FORMAT, i ? " " : "",
				       g_array_index(sizes, guint64, i));
	return g_string_free(said, FALSE);
}

START_TEST(sizes_are_one_a_list_or_powers_of_two_in_a_range)
{
	static const struct {
		const char *text, *sizes;
	} cases[] = {
		{ "8", "8" },
		{ "8,64,4K", "8 64 4096" },
		{ "64,8,8", "64 8 8" },
		{ "8..64", "8 16 32 64" },
		{ "1..1", "1" },
		{ "1..4", "1 2 4" },
		{ "100..1000", "100 128 256 512 1000" },
		{ "512K..1M", "524288 1048576" },
		{ "1,2..8,1M", "1 2 4 8 1048576" },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *got = sizes_of(cases[i].text);

		ck_assert_str_eq(got, cases[i].sizes);
	}
}
END_TEST

START_TEST(wrong_sizes_are_refused_and_change_nothing)
{
	static const char *const wrong[] = { "",       ",",     "8,",   ",8",   "0",
					     "2M",     "8..",   "..8",  "..",   "64..8",
					     "8...64", "8..2M", "8-64", "8 ,9", "8..16..32",
					     "x",      "-1",    "1.5" };

	for (guint i = 0; i < G_N_ELEMENTS(wrong); i++) {
		g_autofree char *got = sizes_of(wrong[i]);

		ck_assert_msg(g_str_equal(got, "refused"), "\"%s\" is %s", wrong[i], got);
	}
}
END_TEST

START_TEST(patience_halves_with_each_loss_and_outlasts_the_silences_that_ended)
{
	const guint64 ms = 1000000;

	ck_assert_uint_eq(perf_patience(0, 0), 2000 * ms);
	ck_assert_uint_eq(perf_patience(1, 0), 1000 * ms);
	ck_assert_uint_eq(perf_patience(5, 0), 2000 * ms / 32);
	ck_assert_uint_eq(perf_patience(6, 0), 50 * ms);
	ck_assert_uint_eq(perf_patience(G_MAXUINT, 5 * ms), 50 * ms);
	ck_assert_uint_eq(perf_patience(G_MAXUINT, 6 * ms), 60 * ms);
	ck_assert_uint_eq(perf_patience(2, 6 * ms), 500 * ms);
	ck_assert_uint_eq(perf_patience(3, 300 * ms), 2000 * ms);
	ck_assert_uint_eq(perf_patience(3, G_MAXUINT64), 2000 * ms);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("al/tools/perf_stat");
	TCase *tcase = tcase_create("all");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, an_empty_histogram_has_only_zeros);
	tcase_add_test(tcase, one_sample_is_every_percentile);
	tcase_add_test(tcase, small_values_have_exact_percentiles);
	tcase_add_loop_test(tcase, percentiles_are_those_of_the_sorted_samples_to_the_precision, 0,
			    5);
	tcase_add_test(tcase, sizes_are_one_a_list_or_powers_of_two_in_a_range);
	tcase_add_test(tcase, wrong_sizes_are_refused_and_change_nothing);
	tcase_add_test(tcase, patience_halves_with_each_loss_and_outlasts_the_silences_that_ended);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
