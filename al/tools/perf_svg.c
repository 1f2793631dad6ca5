/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * al_perf's plot: latency and bandwidth over the size of a message, each in a panel of its own with
 * logarithmic axes. Latency: the median as a line, the 99th percentile dashed. Each operation has a
 * colour, which the colour-blind can distinguish too. Other reports are in perf_report.c.
 */
#include "al/tools/perf.h"

#include <math.h>

#include "al/tools/svg.h"

#define WIDTH  860
#define PANEL  400 /* height of a panel with its titles */
#define LEFT   90
#define RIGHT  170 /* for the legend */
#define TOP    60
#define BOTTOM 60

/* A figure of a row, which the plot draws over the row's size. */
typedef double (*figure_fn)(const struct perf_row *row);

static double median(const struct perf_row *row)
{
	return (double)row->latency.percentile[0] / 1e3;
}

static double p99(const struct perf_row *row)
{
	return (double)row->latency.percentile[2] / 1e3;
}

static double bandwidth(const struct perf_row *row)
{
	return perf_bytes_per_second(row) / 1e6;
}

static const struct figure {
	enum perf_test test;
	figure_fn value;
	const char *dashes, *suffix;
} figures[] = {
	{ PERF_LATENCY, median, "none", "p50" },
	{ PERF_LATENCY, p99, "5 4", "p99" },
	{ PERF_BANDWIDTH, bandwidth, "none", "" },
};

static const char *const colours[PERF_OPS] = {
	"#0072b2", "#56b4e9", "#d55e00", "#e69f00", "#009e73", "#cc79a7", "#000000",
};

struct panel {
	const struct perf_job *job;
	enum perf_test test;
	double top;          /* of the panel, in the picture */
	double min_x, max_x; /* exponents of 2 */
	double min_y, max_y; /* exponents of 10 */
};

/* ----------------------------------------------------------------------- axes */

static double x_of(const struct panel *p, double size)
{
	return LEFT + (log2(size) - p->min_x) / (p->max_x - p->min_x) * (WIDTH - LEFT - RIGHT);
}

static double y_of(const struct panel *p, double value)
{
	double part = (log10(value) - p->min_y) / (p->max_y - p->min_y);

	return p->top + PANEL - BOTTOM - part * (PANEL - TOP - BOTTOM);
}

static gboolean is_drawn(const struct panel *p, const struct perf_row *row, const struct figure *f)
{
	return row->test == p->test && f->test == p->test && f->value(row) > 0;
}

/* Sets the axes to whole powers around all values. FALSE: the panel has no values. */
static gboolean find_limits(struct panel *p)
{
	gboolean found = FALSE;

	p->min_x = p->min_y = INFINITY;
	p->max_x = p->max_y = -INFINITY;
	for (guint i = 0; i < p->job->rows->len; i++) {
		const struct perf_row *row = g_ptr_array_index(p->job->rows, i);

		for (guint j = 0; j < G_N_ELEMENTS(figures); j++) {
			if (!is_drawn(p, row, &figures[j]))
				continue;
			found = TRUE;
			p->min_x = MIN(p->min_x, floor(log2((double)row->size)));
			p->max_x = MAX(p->max_x, ceil(log2((double)row->size)));
			p->min_y = MIN(p->min_y, floor(log10(figures[j].value(row))));
			p->max_y = MAX(p->max_y, ceil(log10(figures[j].value(row))));
		}
	}
	if (p->max_x == p->min_x) {
		p->min_x--;
		p->max_x++;
	}
	if (p->max_y == p->min_y)
		p->max_y++;
	return found;
}

/* 8, 4K, 1M */
static char *size_text(guint exponent)
{
	static const char *const units[] = { "", "K", "M", "G", "T" };

	return g_strdup_printf("%u%s", 1u << exponent % 10,
			       units[MIN(exponent / 10, G_N_ELEMENTS(units) - 1)]);
}

static void draw_axes(GString *svg, const struct panel *p)
{
	double bottom = p->top + PANEL - BOTTOM, right = WIDTH - RIGHT;
	guint step = p->max_x - p->min_x > 12 ? 2 : 1;

	for (guint e = (guint)MAX(p->min_x, 0); e <= p->max_x; e += step) {
		g_autofree char *text = size_text(e);
		double x = x_of(p, exp2(e));

		svg_line(svg, "grid", x, p->top + TOP, x, bottom);
		svg_text(svg, NULL, "middle", x, bottom + 18, text);
	}
	for (int e = (int)p->min_y; e <= p->max_y; e++) {
		char text[SVG_NUMBER];
		double y = y_of(p, pow(10, e));

		svg_line(svg, "grid", LEFT, y, right, y);
		svg_text(svg, NULL, "end", LEFT - 8, y + 4,
			 g_ascii_formatd(text, sizeof(text), "%g", pow(10, e)));
		for (guint i = 2; i < 10 && e < p->max_y; i++) {
			y = y_of(p, i * pow(10, e));
			svg_line(svg, "fine", LEFT, y, right, y);
		}
	}
	svg_line(svg, "axis", LEFT, bottom, right, bottom);
	svg_line(svg, "axis", LEFT, p->top + TOP, LEFT, bottom);
	svg_text(svg, NULL, "middle", (LEFT + right) / 2, bottom + 42, "bytes of a message");
}

/* --------------------------------------------------------------------- curves */

static guint op_index(const struct perf_op *op)
{
	return (guint)(op - perf_ops);
}

static void draw_legend(GString *svg, const struct panel *p, const struct perf_op *op,
			const struct figure *f, guint line)
{
	g_autofree char *text = g_strdup_printf("%s %s", op->name, f->suffix);
	double y = p->top + TOP + 10 + 18 * line, x = WIDTH - RIGHT + 15;
	char a[3][SVG_NUMBER];

	g_string_append_printf(
		svg,
		"<path d=\"M%s %sh30\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\" "
		"stroke-dasharray=\"%s\"/>\n",
		svg_number(a[0], x), svg_number(a[1], y), colours[op_index(op)], f->dashes);
	svg_text(svg, NULL, "start", x + 38, y + 4, g_strchomp(text));
}

/* Draws the line of an operation through its sizes, in the order of the measurement. FALSE: the
 * operation has no row here. */
static gboolean draw_curve(GString *svg, const struct panel *p, const struct perf_op *op,
			   const struct figure *f)
{
	g_autoptr(GString) dots = g_string_new(NULL);
	g_autoptr(GString) path = g_string_new(NULL);
	char a[2][SVG_NUMBER];

	for (guint i = 0; i < p->job->rows->len; i++) {
		const struct perf_row *row = g_ptr_array_index(p->job->rows, i);
		const char *x, *y;

		if (row->op != op || !is_drawn(p, row, f))
			continue;
		x = svg_number(a[0], x_of(p, (double)row->size));
		y = svg_number(a[1], y_of(p, f->value(row)));
		g_string_append_printf(path, "%s%s %s", path->len ? "L" : "M", x, y);
		g_string_append_printf(dots,
				       "<circle cx=\"%s\" cy=\"%s\" r=\"2.5\" fill=\"%s\"/>\n", x,
				       y, colours[op_index(op)]);
	}
	if (!path->len)
		return FALSE;
	g_string_append_printf(
		svg,
		"<path d=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\" stroke-linejoin=\"round\" "
		"stroke-dasharray=\"%s\"/>\n%s",
		path->str, colours[op_index(op)], f->dashes, dots->str);
	return TRUE;
}

/* TRUE: the panel has values. */
static gboolean draw_panel(GString *svg, struct panel *p)
{
	static const char *const titles[] = {
		[PERF_LATENCY] = "Latency in us: median, and 99th percentile (dashed)",
		[PERF_BANDWIDTH] = "Bandwidth in MB/s",
	};
	g_autofree char *title =
		g_strdup_printf("%s, %s", titles[p->test], al_qp_type_str(p->job->type));
	guint line = 0;

	if (!find_limits(p))
		return FALSE;
	g_string_append(svg, "<g class=\"title\">\n");
	svg_text(svg, NULL, "start", LEFT, p->top + TOP - 20, title);
	g_string_append(svg, "</g>\n");
	draw_axes(svg, p);
	for (guint i = 0; i < PERF_OPS; i++)
		for (guint j = 0; j < G_N_ELEMENTS(figures); j++)
			if (draw_curve(svg, p, &perf_ops[i], &figures[j]))
				draw_legend(svg, p, &perf_ops[i], &figures[j], line++);
	return TRUE;
}

char *perf_svg(const struct perf_job *job)
{
	g_autoptr(GString) body = g_string_new(NULL);
	struct panel panel = { .job = job };

	for (guint test = PERF_LATENCY; test <= PERF_BANDWIDTH; test <<= 1) {
		panel.test = test;
		if (draw_panel(body, &panel))
			panel.top += PANEL;
	}
	return svg_document(
		WIDTH, MAX(panel.top, PANEL), "al_perf: figures over the size of a message",
		"text{font:13px sans-serif;fill:#222}.title text{font:bold 15px sans-serif}"
		".grid{stroke:#ccc}.fine{stroke:#eee}.axis{stroke:#222}",
		body->str);
}
