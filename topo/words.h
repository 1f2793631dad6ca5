/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The words of a line of a topology's text. Nothing here knows what a line is about. */
#ifndef TOPO_WORDS_H
#define TOPO_WORDS_H

#include <iba/ib_types.h>

/* A piece of the text, which has no byte 0. */
struct span {
	const char *at;
	uint32_t length;
};

/* What is left of a line. Functions that take something move `at` behind what they took, or return
 * false. */
struct cursor {
	const char *at, *end;
};

bool is_blank(char c);
bool is_letter(char c);
bool span_is(struct span s, const char *text);
/* True: the span has the character. */
bool span_has(struct span s, char c);

void cursor_skip_blanks(struct cursor *c);
bool cursor_take(struct cursor *c, char wanted);
bool cursor_take_text(struct cursor *c, const char *wanted);
/* Takes digits of base 10 or 16. False: there are none, or the number is above max, which is at
 * least 15. */
bool cursor_take_digits(struct cursor *c, unsigned int base, uint64_t max, uint64_t *value);
/* Takes a number, decimal or with 0x, likewise. */
bool cursor_take_number(struct cursor *c, uint64_t max, uint64_t *value);
/* Takes "(GUID)", in which ibnetdiscover has no 0x. *guid is 0 if there is none. False: the text is
 * no GUID. */
bool cursor_take_guid(struct cursor *c, uint64_t *guid);
/* Takes "[ext 5]", which ibnetdiscover -g adds to ports of a chassis, or nothing. */
bool cursor_take_external(struct cursor *c);
bool cursor_take_quoted(struct cursor *c, struct span *s);
/* Takes the characters up to the next blank. The length is 0 at the end of the line. */
struct span cursor_take_word(struct cursor *c);
/* True: nothing is left of the line but a comment, at which the cursor is then. */
bool cursor_at_end(struct cursor *c);

/* By ib_node_type: the words of a node's line and of the line with its GUID, and the first letter
 * of its name. */
extern const struct node_words {
	const char *node, *guid;
	char letter;
} node_words[];

/* Return an ib_width, or 0. Of a mask the widest counts; a mask of 4 is a 4X, since ibsim's
 * examples count lanes. */
uint8_t width_of_lanes(uint64_t lanes);
uint8_t width_of_mask(uint64_t mask);
/* Returns the name of an ib_speed, or NULL. */
const char *speed_name(uint32_t speed);
/* Return an ib_speed, or 0. Of a mask of SDR, DDR and QDR the fastest counts. */
uint8_t speed_of_name(struct span name);
uint8_t speed_of_mask(uint64_t mask);
/* True: the word is one such as "4xEDR", or has question marks for an unknown width and speed. */
bool span_is_rate(struct span word, struct cursor *width, struct span *speed);

#endif
