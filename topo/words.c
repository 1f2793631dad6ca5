/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The words of a line: numbers, names, GUIDs, widths and speeds. */

#include "topo/words.h"

#include <string.h>

/* ---------------------------------------------------------------- words of a line */

bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

void cursor_skip_blanks(struct cursor *c)
{
	while (c->at < c->end && is_blank(*c->at))
		c->at++;
}

bool cursor_take(struct cursor *c, char wanted)
{
	if (c->at == c->end || *c->at != wanted)
		return false;
	c->at++;
	return true;
}

bool cursor_take_text(struct cursor *c, const char *wanted)
{
	size_t length = strlen(wanted);

	if ((size_t)(c->end - c->at) < length || memcmp(c->at, wanted, length))
		return false;
	c->at += length;
	return true;
}

static int digit_value(char c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

bool cursor_take_digits(struct cursor *c, unsigned int base, uint64_t max, uint64_t *value)
{
	const char *first = c->at;

	for (*value = 0; c->at < c->end && digit_value(*c->at) < (int)base; c->at++) {
		if (*value > (max - (uint64_t)digit_value(*c->at)) / base)
			return false;
		*value = *value * base + (uint64_t)digit_value(*c->at);
	}
	return c->at > first;
}

bool cursor_take_number(struct cursor *c, uint64_t max, uint64_t *value)
{
	return cursor_take_text(c, "0x") ? cursor_take_digits(c, 16, max, value)
					 : cursor_take_digits(c, 10, max, value);
}

bool cursor_take_guid(struct cursor *c, uint64_t *guid)
{
	*guid = 0;
	cursor_skip_blanks(c);
	if (!cursor_take(c, '('))
		return true;
	cursor_take_text(c, "0x");
	return cursor_take_digits(c, 16, UINT64_MAX, guid) && *guid && cursor_take(c, ')');
}

bool cursor_take_external(struct cursor *c)
{
	uint64_t value;

	return !cursor_take_text(c, "[ext ") ||
	       (cursor_take_digits(c, 10, UINT32_MAX, &value) && cursor_take(c, ']'));
}

bool cursor_take_quoted(struct cursor *c, struct span *s)
{
	if (!cursor_take(c, '"'))
		return false;
	for (s->at = c->at; c->at < c->end && *c->at != '"'; c->at++)
		;
	s->length = (uint32_t)(c->at - s->at);
	return cursor_take(c, '"');
}

struct span cursor_take_word(struct cursor *c)
{
	struct span s;

	cursor_skip_blanks(c);
	for (s.at = c->at; c->at < c->end && !is_blank(*c->at); c->at++)
		;
	s.length = (uint32_t)(c->at - s.at);
	return s;
}

bool span_is(struct span s, const char *text)
{
	return s.length == strlen(text) && !memcmp(s.at, text, s.length);
}

bool span_has(struct span s, char c)
{
	return s.length && memchr(s.at, c, s.length);
}

bool cursor_at_end(struct cursor *c)
{
	cursor_skip_blanks(c);
	return c->at == c->end || *c->at == '#';
}

const struct node_words node_words[] = {
	[IB_NODE_CA] = { "Ca", "caguid", 'H' },
	[IB_NODE_SWITCH] = { "Switch", "switchguid", 'S' },
	[IB_NODE_ROUTER] = { "Rt", "rtguid", 'R' },
};

/* ----------------------------------------------------------- width and speed */

/* The widest first. */
static const uint8_t widths[] = { IB_WIDTH_12X, IB_WIDTH_8X, IB_WIDTH_4X, IB_WIDTH_2X,
				  IB_WIDTH_1X };

#define NUM_WIDTHS (sizeof(widths) / sizeof(*widths))

#define SPEED_NAME(name, value, text) { value, text },
static const struct {
	uint8_t speed;
	const char *name;
} speeds[] = { IB_SPEED_LIST(SPEED_NAME) };

#define NUM_SPEEDS (sizeof(speeds) / sizeof(*speeds))

uint8_t width_of_lanes(uint64_t lanes)
{
	size_t i;

	for (i = 0; i < NUM_WIDTHS; i++)
		if (ib_width_lanes(widths[i]) == lanes)
			return widths[i];
	return 0;
}

uint8_t width_of_mask(uint64_t mask)
{
	size_t i;

	if (mask == 4)
		return IB_WIDTH_4X;
	for (i = 0; i < NUM_WIDTHS && mask < 32; i++)
		if (mask & widths[i])
			return widths[i];
	return 0;
}

const char *speed_name(uint32_t speed)
{
	size_t i;

	for (i = 0; i < NUM_SPEEDS; i++)
		if (speeds[i].speed == speed)
			return speeds[i].name;
	return NULL;
}

uint8_t speed_of_name(struct span name)
{
	size_t i;

	for (i = 0; i < NUM_SPEEDS; i++)
		if (span_is(name, speeds[i].name))
			return speeds[i].speed;
	return 0;
}

uint8_t speed_of_mask(uint64_t mask)
{
	if (!mask || mask > 7)
		return 0;
	return mask & 4 ? IB_SPEED_QDR : mask & 2 ? IB_SPEED_DDR : IB_SPEED_SDR;
}

bool span_is_rate(struct span word, struct cursor *width, struct span *speed)
{
	uint32_t i = 0;

	while (i < word.length && is_digit(word.at[i]))
		i++;
	if (i && i < word.length && word.at[i] == 'x')
		i++;
	else if (word.length > 2 && !memcmp(word.at, "??", 2))
		i = 2;
	else
		return false;
	*width = (struct cursor){ word.at, word.at + i };
	*speed = (struct span){ word.at + i, word.length - i };
	if (i < word.length && is_digit(word.at[i]))
		return false; /* a number such as 0x10 */
	for (; i < word.length; i++)
		if (word.at[i] != '?' && !is_digit(word.at[i]) &&
		    !(word.at[i] >= 'A' && word.at[i] <= 'Z'))
			return false;
	return true;
}
