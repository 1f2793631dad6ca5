/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Pieces of SVG pictures (svg.h). */
#include "al/tools/svg.h"

#include "al/tools/tool.h"

const char *svg_number(char *text, double value)
{
	return g_ascii_formatd(text, SVG_NUMBER, "%.1f", value);
}

void svg_line(GString *svg, const char *class, double x1, double y1, double x2, double y2)
{
	char a[4][SVG_NUMBER];

	g_string_append_printf(svg,
			       "<line class=\"%s\" x1=\"%s\" y1=\"%s\" x2=\"%s\" y2=\"%s\"/>\n",
			       class, svg_number(a[0], x1), svg_number(a[1], y1),
			       svg_number(a[2], x2), svg_number(a[3], y2));
}

char *svg_escape(const char *text)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	g_autoptr(GString) valid = g_string_new(NULL);
	g_autofree char *joined = NULL;

	for (char **line = lines; *line; line++) {
		char *clean = tool_clean(*line);

		g_free(*line);
		*line = clean;
	}
	joined = g_strjoinv("\n", lines);
	for (const char *c = joined; *c; c = g_utf8_next_char(c)) {
		gunichar u = g_utf8_get_char(c);

		/* Valid in UTF-8, and not in XML. */
		g_string_append_unichar(valid, u == 0xfffe || u == 0xffff ? '?' : u);
	}
	return g_markup_escape_text(valid->str, -1);
}

void svg_text(GString *svg, const char *class, const char *anchor, double x, double y,
	      const char *text)
{
	g_autofree char *escaped = svg_escape(text);
	char a[2][SVG_NUMBER];

	g_string_append(svg, "<text ");
	if (class)
		g_string_append_printf(svg, "class=\"%s\" ", class);
	g_string_append_printf(svg, "text-anchor=\"%s\" x=\"%s\" y=\"%s\">%s</text>\n", anchor,
			       svg_number(a[0], x), svg_number(a[1], y), escaped);
}

void svg_title(GString *svg, const char *text)
{
	g_autofree char *escaped = svg_escape(text);

	g_string_append_printf(svg, "<title>%s</title>", escaped);
}

char *svg_document(double width, double height, const char *title, const char *style,
		   const char *body)
{
	g_autofree char *escaped = svg_escape(title);
	int w = (int)width, h = (int)height;

	return g_strdup_printf(
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\">\n"
		"<title>%s</title>\n<style>%s</style>\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n%s</svg>\n",
		w, h, w, h, escaped, style, body);
}
