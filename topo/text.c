/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The lines of a topology's text. Each line is checked by itself here; settle.c checks the lines
 * against each other.
 *
 *     vendid=0x2c9                                    of the node that follows; likewise devid,
 * sysimgguid, switchguid=0x10(10)                             switchguid(GUID of port 0), caguid
 *     Switch  36 "S-0000000000000010"   # "leaf 1" enhanced port 0 lid 3 lmc 0
 *     [1]     "H-0000000000000020"[1](21)             # "HCA 1" lid 4 4xEDR
 *     Ca      1 "H-0000000000000020"    # "HCA 1"
 *     [1](21) "S-0000000000000010"[1]                 # lid 4 lmc 0 "leaf 1" lid 3 4xEDR
 *
 * What follows # is ibnetdiscover's to say, and ibsim's files do without. ibsim also has Hca,
 * hcaguids, module, width and speed, names without GUIDs, and the options w= and s= of a port.
 */

#include "topo/text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_HCA_GUID    0x100000 /* as ibsim gives them */
#define FIRST_SWITCH_GUID 0x200000

al_status topology_refuse(struct topology_error *error, const char *file, uint32_t line,
			  const char *format, ...)
{
	char where[24] = "";
	va_list args;
	int length;

	if (line)
		snprintf(where, sizeof(where), ":%u", line);
	length = snprintf(error->text, sizeof(error->text), "%.200s%s: ", file, where);
	va_start(args, format);
	vsnprintf(error->text + length, sizeof(error->text) - (size_t)length, format, args);
	va_end(args);
	error->line = line;
	return AL_BAD_CONFIG;
}

/* ------------------------------------------------------------------ values */

/* Reads "=NUMBER" with a comment or nothing behind. The line's node ends with it: another node
 * follows. */
static al_status read_value(struct reader *r, struct cursor *c, uint64_t max, uint64_t *value)
{
	*value = 0;
	cursor_skip_blanks(c);
	if (!cursor_take(c, '='))
		return REFUSE(r, "= is missing, as in: vendid=0x2c9");
	cursor_skip_blanks(c);
	if (!cursor_take_number(c, max, value))
		return REFUSE(r, "after = there is no number up to %#llx", (unsigned long long)max);
	r->node = TOPOLOGY_NONE;
	return AL_SUCCESS;
}

static al_status refuse_rest(struct reader *r, struct cursor c)
{
	return cursor_at_end(&c) ? AL_SUCCESS
				 : REFUSE(r, "after the value: %.*s; remove that",
					  (int)(c.end - c.at < 64 ? c.end - c.at : 64), c.at);
}

static al_status read_vendor(struct reader *r, struct cursor c)
{
	uint64_t value;
	al_status status = read_value(r, &c, 0xffffff, &value);

	if (!status)
		r->vendor = (uint32_t)value;
	return status ? status : refuse_rest(r, c);
}

static al_status read_device(struct reader *r, struct cursor c)
{
	uint64_t value;
	al_status status = read_value(r, &c, 0xffff, &value);

	if (!status)
		r->device = (uint32_t)value;
	return status ? status : refuse_rest(r, c);
}

static al_status read_system_guid(struct reader *r, struct cursor c)
{
	uint64_t value;
	al_status status = read_value(r, &c, UINT64_MAX, &value);

	if (!status)
		r->system_guid = value;
	return status ? status : refuse_rest(r, c);
}

static al_status read_guid(struct reader *r, struct cursor c, ib_node_type type)
{
	uint64_t value;
	al_status status = read_value(r, &c, UINT64_MAX, &value);

	if (status)
		return status;
	r->next_guid[type] = value;
	r->guid_line[type] = r->line;
	if (type == IB_NODE_SWITCH && !cursor_take_guid(&c, &r->port_guid))
		return REFUSE(
			r, "the GUID of port 0 is not readable, as in: switchguid=0x8f104(8f104)");
	return refuse_rest(r, c);
}

static al_status read_hca_guid(struct reader *r, struct cursor c)
{
	return read_guid(r, c, IB_NODE_CA);
}

static al_status read_hca(struct reader *r, struct cursor c)
{
	return record_read_node(r, c, IB_NODE_CA);
}

static al_status read_default_width(struct reader *r, struct cursor c)
{
	uint64_t mask;
	al_status status = read_value(r, &c, 255, &mask);

	if (status)
		return status;
	r->width = width_of_mask(mask);
	return r->width ? refuse_rest(r, c)
			: REFUSE(r, "width is a mask of widths, from 1 to 31, such as 2 for 4x");
}

static al_status read_default_speed(struct reader *r, struct cursor c)
{
	uint64_t mask;
	al_status status = read_value(r, &c, 255, &mask);

	if (status)
		return status;
	r->speed = speed_of_mask(mask);
	return r->speed ? refuse_rest(r, c)
			: REFUSE(r, "speed is a mask of speeds, from 1 to 7, such as 4 for QDR");
}

/* Reads module = "PREFIX": names in the lines that follow have the prefix. */
static al_status read_module(struct reader *r, struct cursor c)
{
	cursor_skip_blanks(&c);
	if (!cursor_take(&c, '='))
		return REFUSE(r, "= is missing, as in: module = \"NAME\"");
	cursor_skip_blanks(&c);
	if (!cursor_take_quoted(&c, &r->module) || span_has(r->module, '#') ||
	    span_has(r->module, '@'))
		return REFUSE(
			r,
			"the module's name is missing, or it has # or @; as in: module = \"NAME\"");
	r->node = TOPOLOGY_NONE;
	return refuse_rest(r, c);
}

/* Lines of ibnetdiscover -g between nodes. */
static al_status skip_line(struct reader *r, struct cursor c)
{
	(void)c;
	r->node = TOPOLOGY_NONE;
	return AL_SUCCESS;
}

static al_status refuse_include(struct reader *r, struct cursor c)
{
	(void)c;
	return REFUSE(
		r,
		"other files are not included: put the text of that file in the place of this line");
}

static al_status refuse_command(struct reader *r, struct cursor c)
{
	(void)c;
	return REFUSE(r, "commands of ibsim are not executed: remove this line");
}

/* --------------------------------------------------------------------- lines */

/* The lines that are not in node_words[]. */
static const struct {
	const char *word;
	al_status (*read)(struct reader *r, struct cursor c);
} lines[] = {
	{ "vendid", read_vendor },
	{ "devid", read_device },
	{ "sysimgguid", read_system_guid },
	{ "Chassis", skip_line },
	{ "Non-Chassis", skip_line },
	{ "Hostname", skip_line },
	/* of ibsim */
	{ "Hca", read_hca },
	{ "hcaguids", read_hca_guid },
	{ "width", read_default_width },
	{ "speed", read_default_speed },
	{ "module", read_module },
	{ "pdebug", skip_line },
	{ "include", refuse_include },
	{ "do", refuse_command },
};

static al_status read_line(struct reader *r, struct cursor c)
{
	struct span word = { c.at, 0 };
	size_t i;

	if (cursor_at_end(&c))
		return AL_SUCCESS;
	if (cursor_take(&c, '['))
		return record_read_port(r, c);
	if (cursor_take(&c, '@'))
		return REFUSE(
			r, "aliases are not supported: begin the line with [, and name the peer");
	for (word.at = c.at; c.at < c.end && (is_letter(*c.at) || *c.at == '-'); c.at++)
		;
	word.length = (uint32_t)(c.at - word.at);
	for (i = IB_NODE_CA; i <= IB_NODE_ROUTER; i++) {
		if (span_is(word, node_words[i].node))
			return record_read_node(r, c, (ib_node_type)i);
		if (span_is(word, node_words[i].guid))
			return read_guid(r, c, (ib_node_type)i);
	}
	for (i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		if (span_is(word, lines[i].word))
			return lines[i].read(r, c);
	return REFUSE(r, "%.*s: ibnetdiscover prints no such line: remove it, or begin it with #",
		      (int)(c.end - word.at < 64 ? c.end - word.at : 64), word.at);
}

/* Refuses bytes that no text has. */
static al_status check_bytes(struct reader *r, struct cursor c)
{
	const char *p;

	if (c.end - c.at > TOPOLOGY_MAX_LINE)
		return REFUSE(r,
			      "the line has more than %u bytes: this is no output of ibnetdiscover",
			      TOPOLOGY_MAX_LINE);
	for (p = c.at; p < c.end; p++)
		if (((unsigned char)*p < ' ' && *p != '\t') || *p == 0x7f)
			return REFUSE(
				r,
				"byte %u of the line is %#04x: the file is no text; give the output of "
				"ibnetdiscover",
				(unsigned int)(p - c.at) + 1, (unsigned int)*p);
	return AL_SUCCESS;
}

static al_status read_lines(struct reader *r, const char *at, const char *end)
{
	al_status status = AL_SUCCESS;
	const char *newline;
	struct cursor c;

	for (; at < end && !status; at = newline + 1) {
		newline = memchr(at, '\n', (size_t)(end - at));
		newline = newline ? newline : end;
		c = (struct cursor){ at, newline };
		if (c.end > c.at && c.end[-1] == '\r')
			c.end--;
		r->line++;
		status = check_bytes(r, c);
		if (!status)
			status = read_line(r, c);
	}
	return status;
}

/* Some editors begin a text of UTF-8 with a byte order mark, which says nothing. */
static const char *behind_mark(const char *text, size_t length)
{
	return length >= 3 && !memcmp(text, "\xef\xbb\xbf", 3) ? text + 3 : text;
}

static al_status read_text(struct reader *r, const char *text, size_t length)
{
	al_status status;

	if (length > TOPOLOGY_MAX_TEXT)
		return REFUSE_LINE(&r->text, 0,
				   "the text has more than %u bytes; give a part of the subnet",
				   TOPOLOGY_MAX_TEXT);
	status = read_lines(r, behind_mark(text, length), text + length);
	if (status)
		return status;
	if (!r->text.t->num_nodes)
		return REFUSE_LINE(
			&r->text, 0,
			"there is no node in the text; give the output of ibnetdiscover or of al_query topology");
	return text_settle(&r->text);
}

al_status topology_parse(struct topology *t, enum topology_use use, const char *file,
			 const char *text, size_t length, struct topology_error *error)
{
	struct reader r = {
		.text = { .t = t, .use = use, .file = file, .error = error },
		.node = TOPOLOGY_NONE,
		.next_guid = { [IB_NODE_CA] = FIRST_HCA_GUID,
			       [IB_NODE_SWITCH] = FIRST_SWITCH_GUID },
	};
	al_status status;

	memset(t, 0, sizeof(*t));
	memset(error, 0, sizeof(*error));
	status = read_text(&r, text, length);
	free(r.text.nodes);
	free(r.text.ports);
	if (status)
		topology_free(t);
	if (status == AL_INSUFFICIENT_MEMORY)
		REFUSE_LINE(&r.text, r.line, "out of memory");
	return status;
}
