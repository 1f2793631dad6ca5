/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The lines of a node and of the node's ports. */

#include "topo/text.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------- words of a comment */

/* What a comment says. */
struct facts {
	uint64_t lid[2]; /* of the line's own port, of the peer's; 0: not told */
	uint64_t lmc;
	uint8_t width, speed;
};

static al_status read_rate(struct reader *r, struct span word, struct facts *facts)
{
	uint64_t lanes = 0;
	struct cursor width;
	struct span speed;

	if (!span_is_rate(word, &width, &speed))
		return AL_SUCCESS;
	if (*width.at != '?') {
		facts->width =
			cursor_take_digits(&width, 10, 99, &lanes) ? width_of_lanes(lanes) : 0;
		if (!facts->width)
			return REFUSE(
				r, "%.*s: the widths are 1x, 2x, 4x, 8x and 12x: write one of them",
				SPAN(word));
	}
	if (!speed.length || span_is(speed, "???"))
		return AL_SUCCESS;
	facts->speed = speed_of_name(speed);
	if (!facts->speed)
		return REFUSE(
			r,
			"%.*s: the speeds are SDR, DDR, QDR, FDR10, FDR, EDR, HDR and NDR: write one of them",
			SPAN(word));
	return AL_SUCCESS;
}

/*
 * Reads the words of a comment. A LID is facts->lid[which]; if `next`, the second one is
 * facts->lid[1]. Words that have no meaning here are skipped: ibnetdiscover adds some for the
 * chassis of some vendors.
 */
static al_status read_facts(struct reader *r, struct cursor c, int which, bool next,
			    struct facts *facts)
{
	al_status status = AL_SUCCESS;
	struct span word;
	uint64_t value;

	for (word = cursor_take_word(&c); word.length && !status; word = cursor_take_word(&c)) {
		if (span_is(word, "lid")) {
			cursor_skip_blanks(&c);
			if (!cursor_take_number(&c, UINT16_MAX, &value))
				return REFUSE(r, "lid is not followed by a number up to 65535");
			facts->lid[which] = value;
			which |= next;
		} else if (span_is(word, "lmc")) {
			cursor_skip_blanks(&c);
			if (!cursor_take_number(&c, 15, &facts->lmc) || facts->lmc > 7)
				return REFUSE(r, "lmc is not followed by a number from 0 to 7");
		} else {
			status = read_rate(r, word, facts);
		}
	}
	return status;
}

/*
 * Finds the quoted description in a comment, which may have quotes itself: from the first quote to
 * the last. `before` and `after` become the words around the description. False: the comment has no
 * two quotes.
 */
static bool split_comment(struct cursor c, struct cursor *before, struct span *description,
			  struct cursor *after)
{
	const char *first = memchr(c.at, '"', (size_t)(c.end - c.at));
	const char *last = first ? memrchr(c.at, '"', (size_t)(c.end - c.at)) : NULL;

	if (first == last)
		return false;
	*before = (struct cursor){ c.at, first };
	*description = (struct span){ first + 1, (uint32_t)(last - first - 1) };
	*after = (struct cursor){ last + 1, c.end };
	return true;
}

/* -------------------------------------------------------------------- nodes */

/* The words that end a description without quotes. */
static const char *const after_description[] = { " enhanced port ", " base port ", " port 0 ",
						 " lid ", " lmc " };

/* Finds the description in a comment without quotes, as early ibnetdiscovers print it. */
static void split_unquoted(struct cursor c, struct span *description, struct cursor *after)
{
	const char *end = c.end, *found;
	size_t i;

	cursor_skip_blanks(&c);
	for (i = 0; i < sizeof(after_description) / sizeof(*after_description); i++) {
		found = memmem(c.at, (size_t)(end - c.at), after_description[i],
			       strlen(after_description[i]));
		end = found ? found : end;
	}
	*after = (struct cursor){ end, c.end };
	while (end > c.at && is_blank(end[-1]))
		end--;
	*description = (struct span){ c.at, (uint32_t)(end - c.at) };
}

static void describe_by_name(struct topology_node *node, const struct node_name *name)
{
	char text[2 * TOPOLOGY_MAX_LINE];
	int length = snprintf(text, sizeof(text), "%.*s%s%.*s", (int)name->module.length,
			      name->module.at, name->module.length ? "#" : "",
			      (int)name->name.length, name->name.at);

	topology_describe(node->description, text, (size_t)length);
}

/* Reads what follows the name: a description in a comment, the kind of port 0, its LID and LMC. */
static al_status read_node_rest(struct reader *r, struct cursor c, struct topology_node *node,
				const struct node_name *name)
{
	struct topology_port *port = &r->text.t->ports[node->first_port];
	struct cursor before, after = { c.end, c.end };
	struct facts facts = { 0 };
	struct span description;
	al_status status;

	describe_by_name(node, name);
	if (!cursor_at_end(&c))
		return REFUSE(
			r,
			"%.*s after the name: a node's line is, for example, Switch 36 \"NAME\" # \"DESCRIPTION\"",
			(int)(c.end - c.at < 64 ? c.end - c.at : 64), c.at);
	if (cursor_take(&c, '#')) {
		if (!split_comment(c, &before, &description, &after)) {
			split_unquoted(c, &description, &after);
			if (description.length)
				topology_describe(node->description, description.at,
						  description.length);
		} else {
			topology_describe(node->description, description.at, description.length);
		}
	}
	status = read_facts(r, after, 0, false, &facts);
	if (status || node->type != IB_NODE_SWITCH)
		return status;
	node->enhanced =
		memmem(after.at, (size_t)(after.end - after.at), "enhanced port 0", 15) != NULL;
	port->lid = (uint16_t)facts.lid[0];
	port->lmc = (uint8_t)facts.lmc;
	return AL_SUCCESS;
}

/* Reads the GUID in a name such as "S-0008f10400410015". False: the name has none. */
static bool guid_of_name(struct span name, ib_node_type type, uint64_t *guid)
{
	struct cursor c = { name.at, name.at + name.length };

	return name.length == 18 && cursor_take(&c, node_words[type].letter) &&
	       cursor_take(&c, '-') && cursor_take_digits(&c, 16, UINT64_MAX, guid) &&
	       c.at == c.end;
}

/* Gives the node its GUIDs: of a line before, else of its name, else the next of its type. */
static al_status set_guids(struct reader *r, struct topology_node *node, struct span name)
{
	uint64_t *next = &r->next_guid[node->type], of_name;
	uint32_t line = r->guid_line[node->type];
	bool has_own = guid_of_name(name, (ib_node_type)node->type, &of_name);

	if (has_own && line && *next != of_name)
		return REFUSE(
			r,
			"\"%.*s\" has another GUID in its name than line %u gives: %#llx; correct one of them",
			SPAN(name), line, (unsigned long long)*next);
	node->guid = has_own ? of_name : *next;
	if (!node->guid || node->guid == UINT64_MAX)
		return REFUSE(r, "\"%.*s\" has the GUID %s, which is none; give it another",
			      SPAN(name), node->guid ? "of all ones" : "0");
	if (!has_own || line)
		*next = node->guid + (node->type == IB_NODE_SWITCH ? 1 : node->num_ports + 1u);
	if (node->type == IB_NODE_SWITCH)
		r->text.t->ports[node->first_port].guid = r->port_guid ? r->port_guid : node->guid;
	node->system_guid = r->system_guid;
	node->vendor = r->vendor;
	node->device = r->device;
	r->guid_line[node->type] = r->vendor = r->device = 0;
	r->system_guid = r->port_guid = 0;
	return AL_SUCCESS;
}

/* Makes the arrays of the text as large as the topology's. */
static bool make_room(struct topology_text *text)
{
	struct node_text *nodes;
	struct port_text *ports;

	if (text->node_room < text->t->node_room) {
		nodes = realloc(text->nodes, text->t->node_room * sizeof(*nodes));
		if (!nodes)
			return false;
		text->nodes = nodes;
		text->node_room = text->t->node_room;
	}
	if (text->port_room < text->t->port_room) {
		ports = realloc(text->ports, text->t->port_room * sizeof(*ports));
		if (!ports)
			return false;
		text->ports = ports;
		text->port_room = text->t->port_room;
	}
	return true;
}

static al_status add_node(struct reader *r, ib_node_type type, uint32_t num_ports)
{
	struct topology *t = r->text.t;
	uint32_t first = t->num_ports;

	if (t->num_nodes == TOPOLOGY_MAX_NODES)
		return REFUSE(r, "there are more than %u nodes; give a part of the subnet",
			      TOPOLOGY_MAX_NODES);
	if (num_ports + 1 > TOPOLOGY_MAX_PORTS - t->num_ports)
		return REFUSE(
			r, "the nodes have more than %u ports together; give a part of the subnet",
			TOPOLOGY_MAX_PORTS);
	r->node = topology_add_node(t, type, num_ports);
	if (r->node == TOPOLOGY_NONE || !make_room(&r->text))
		return AL_INSUFFICIENT_MEMORY;
	memset(r->text.ports + first, 0, (t->num_ports - first) * sizeof(*r->text.ports));
	return AL_SUCCESS;
}

al_status record_read_node(struct reader *r, struct cursor c, ib_node_type type)
{
	struct node_name name = { .module = r->module };
	struct topology_node *node;
	uint64_t num_ports;
	al_status status;

	if (type == IB_NODE_ROUTER && r->text.use == TOPOLOGY_TO_SIMULATE)
		return REFUSE(
			r,
			"routers are not simulated: remove the router, and the lines of ports that name it");
	cursor_skip_blanks(&c);
	if (!cursor_take_number(&c, UINT32_MAX, &num_ports))
		return REFUSE(r, "the number of ports is missing, as in: Switch 36 \"NAME\"");
	if (!num_ports || num_ports > TOPOLOGY_MAX_NODE_PORTS)
		return REFUSE(r, "a node has 1 to %u ports, not %llu", TOPOLOGY_MAX_NODE_PORTS,
			      (unsigned long long)num_ports);
	cursor_skip_blanks(&c);
	if (!cursor_take_quoted(&c, &name.name) || !name.name.length)
		return REFUSE(r, "the node's name is missing, as in: Switch 36 \"NAME\"");
	if (span_has(name.name, '#') || span_has(name.name, '@'))
		return REFUSE(r, "\"%.*s\": a name has no # and no @: rename the node",
			      SPAN(name.name));
	status = add_node(r, type, (uint32_t)num_ports);
	if (status)
		return status;
	node = &r->text.t->nodes[r->node];
	r->text.nodes[r->node] = (struct node_text){ name, r->line };
	status = set_guids(r, node, name.name);
	return status ? status : read_node_rest(r, c, node, &name);
}

/* -------------------------------------------------------------------- ports */

/* Reads a name in a port's line: "NAME" of this module, or "MODULE#NAME". */
static al_status read_peer_name(struct reader *r, struct cursor *c, struct node_name *name)
{
	struct span all;
	const char *sharp;

	cursor_skip_blanks(c);
	if (!cursor_take_quoted(c, &all) || !all.length)
		return REFUSE(r, "the peer's name is missing, as in: [1] \"NAME\"[2]");
	if (span_has(all, '@'))
		return REFUSE(r,
			      "\"%.*s\": aliases are not supported: write the peer's name and port",
			      SPAN(all));
	sharp = memchr(all.at, '#', all.length);
	if (!sharp) {
		*name = (struct node_name){ r->module, all };
		return AL_SUCCESS;
	}
	name->module = (struct span){ all.at, (uint32_t)(sharp - all.at) };
	name->name = (struct span){ sharp + 1, all.length - name->module.length - 1 };
	return AL_SUCCESS;
}

/* Reads ibsim's options w=MASK and s=MASK of a port. */
static al_status read_options(struct reader *r, struct cursor *c, struct facts *facts)
{
	bool is_width;
	uint8_t *to;
	uint64_t mask;

	while (!cursor_at_end(c)) {
		is_width = *c->at == 'w';
		to = is_width ? &facts->width : &facts->speed;
		*to = 0;
		if (cursor_take_text(c, is_width ? "w=" : "s=") &&
		    cursor_take_number(c, 255, &mask))
			*to = is_width ? width_of_mask(mask) : speed_of_mask(mask);
		if (!*to)
			return REFUSE(
				r,
				"behind the peer's port there are only # and a comment, w= with a mask of widths (1 "
				"to 31), and s= with one of speeds (1 to 7): remove the rest");
	}
	return AL_SUCCESS;
}

/* Reads the comment of a port's line. The LID of an end port comes first there; a switch's line has
 * the peer's only. */
static al_status read_port_comment(struct reader *r, struct cursor c, bool is_end,
				   struct facts *facts)
{
	struct cursor before, after;
	struct span description;
	al_status status;

	if (!cursor_take(&c, '#'))
		return AL_SUCCESS;
	if (!split_comment(c, &before, &description, &after))
		return read_facts(r, c, !is_end, is_end, facts);
	status = read_facts(r, before, 0, false, facts);
	return status ? status : read_facts(r, after, 1, false, facts);
}

/* Reads "[NUMBER](GUID)" at the beginning of a port's line. *index is the port's. */
static al_status read_own_port(struct reader *r, struct cursor *c, uint32_t *index, uint64_t *guid)
{
	const struct topology_text *text = &r->text;
	const struct topology_node *node = &text->t->nodes[r->node];
	const struct node_name *name = &text->nodes[r->node].name;
	uint64_t number;

	if (!cursor_take_digits(c, 10, UINT32_MAX, &number) || !cursor_take(c, ']') ||
	    !cursor_take_external(c) || !cursor_take_guid(c, guid))
		return REFUSE(
			r,
			"the port is not readable: a port's line is, for example, [1](GUID) \"NAME\"[2]");
	if (!number || number > node->num_ports)
		return REFUSE(r,
			      "port %llu of " NAME_FORMAT
			      ", which has ports 1 to %u: correct one of the two",
			      (unsigned long long)number, NAME(*name), node->num_ports);
	*index = topology_port_index(node, (uint32_t)number);
	if (text->ports[*index].line)
		return REFUSE(r,
			      "port %llu of " NAME_FORMAT
			      " is in line %u already: remove one of the two lines",
			      (unsigned long long)number, NAME(*name), text->ports[*index].line);
	return AL_SUCCESS;
}

/* Reads "NAME"[NUMBER](GUID). Without a number the peer's port is 1, as for ibsim. */
static al_status read_peer(struct reader *r, struct cursor *c, struct port_text *port)
{
	uint64_t number = 1;
	al_status status = read_peer_name(r, c, &port->peer);

	if (status)
		return status;
	cursor_skip_blanks(c);
	if (cursor_take(c, '[') && (!cursor_take_digits(c, 10, UINT32_MAX, &number) ||
				    !cursor_take(c, ']') || !cursor_take_external(c)))
		return REFUSE(r, "the peer's port is not readable, as in: [1] \"NAME\"[2]");
	if (!number || number > TOPOLOGY_MAX_NODE_PORTS)
		return REFUSE(r, "port %llu of the peer: ports are numbered from 1 to %u",
			      (unsigned long long)number, TOPOLOGY_MAX_NODE_PORTS);
	if (!cursor_take_guid(c, &port->peer_guid))
		return REFUSE(
			r,
			"the GUID of the peer's port is not readable, as in: \"NAME\"[2](8f10403)");
	port->peer_number = (uint8_t)number;
	return AL_SUCCESS;
}

al_status record_read_port(struct reader *r, struct cursor c)
{
	struct facts facts = { .width = r->width, .speed = r->speed };
	struct port_text said = { .line = r->line };
	struct topology_port *port;
	al_status status;
	uint32_t index = 0;
	uint64_t guid = 0;
	bool is_end;

	if (r->node == TOPOLOGY_NONE)
		return REFUSE(
			r,
			"a port without a node: the node's line comes first, and ports follow at once");
	is_end = r->text.t->nodes[r->node].type != IB_NODE_SWITCH;
	status = read_own_port(r, &c, &index, &guid);
	if (!status)
		status = read_peer(r, &c, &said);
	if (!status)
		status = read_options(r, &c, &facts);
	if (!status)
		status = read_port_comment(r, c, is_end, &facts);
	if (status)
		return status;
	said.peer_lid = (uint16_t)facts.lid[1];
	r->text.ports[index] = said;
	port = &r->text.t->ports[index];
	port->width = facts.width;
	port->speed = facts.speed;
	if (is_end) {
		port->guid = guid;
		port->lid = (uint16_t)facts.lid[0];
		port->lmc = (uint8_t)facts.lmc;
	}
	return AL_SUCCESS;
}
