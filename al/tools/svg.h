/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Pieces of SVG pictures, which al_perf and al_query draw. */
#ifndef AL_TOOLS_SVG_H
#define AL_TOOLS_SVG_H

#include <glib.h>

#define SVG_NUMBER G_ASCII_DTOSTR_BUF_SIZE

/* A number with a decimal point in every locale, as SVG requires. text: room of SVG_NUMBER bytes;
 * returned */
const char *svg_number(char *text, double value);
void svg_line(GString *svg, const char *class, double x1, double y1, double x2, double y2);
/* class: NULL for none. The text is escaped. */
void svg_text(GString *svg, const char *class, const char *anchor, double x, double y,
	      const char *text);
/* <title>, which a browser shows over the element that has it. The text is escaped. */
void svg_title(GString *svg, const char *text);
/* The text fit for XML 1.0: markup is escaped, and characters that XML does not have become "?".
 * The caller frees it. */
char *svg_escape(const char *text);
/* The whole picture: body in a white rectangle. The title is escaped, the style is not. The caller
 * frees the text. */
char *svg_document(double width, double height, const char *title, const char *style,
		   const char *body);

#endif
