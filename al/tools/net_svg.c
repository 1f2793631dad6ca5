/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A subnet as an SVG picture: nodes at their places (net_layout.c), a square for each port of a
 * switch, cables coloured by state and as wide as they are fast. Cables with errors, and cables
 * whose link is not Active, are drawn above the other cables; marks for errors are drawn last,
 * above the nodes. The tooltip of each node, cable and mark has its details.
 */
#include "al/tools/net.h"

#include <math.h>
#include <string.h>

#include "al/tools/net_layout.h"
#include "al/tools/svg.h"
#include "al/tools/tool.h"

struct picture {
	const struct net *net;
	const struct net_layout *layout;
	GString *svg;
	GHashTable *ends; /* x of a cable at each port of it */
};

/* --------------------------------------------------------------- states and rates */

/* The classes of states in the picture's style. Files tell no states. */
static const struct state {
	const char *class, *text;
} states[] = {
	[IB_PORT_NOP] = { "unknown", "state not known" },
	[IB_PORT_DOWN] = { "down", "Down" },
	[IB_PORT_INIT] = { "init", "Init: waits for a subnet manager" },
	[IB_PORT_ARMED] = { "armed", "Armed" },
	[IB_PORT_ACTIVE] = { "active", "Active" },
};

/* Widths of cables by their rate in Mb/s. */
static const struct rate {
	guint mbps;
	double width;
} rates[] = {
	{ 400000, 5 }, { 200000, 4 }, { 100000, 3 }, { 40000, 2.2 }, { 10000, 1.5 }, { 0, 1 }
};

static double cable_width(const struct picture *p, const struct net_port *port)
{
	guint mbps = tool_rate_mbps((ib_width)port->width, (ib_speed)port->speed), i = 0;

	while (mbps < rates[i].mbps)
		i++;
	return rates[i].width * (p->layout->large ? 1 : 0.55);
}

static guint cable_state(const struct net_port *port)
{
	return MIN(port->state, port->peer->state);
}

static gboolean has_errors(const struct net_port *port)
{
	return port->counted && port_errors_are_many(port->errors);
}

static gboolean cable_has_errors(const struct net_port *port)
{
	return has_errors(port) || has_errors(port->peer);
}

static const struct net_box *box_of(const struct picture *p, const struct net_node *node)
{
	return &p->layout->boxes[node->index];
}

/* --------------------------------------------------------------------------- texts */

static void say_errors(GString *to, const struct net_port *port)
{
	g_autofree char *name = net_port_text(port);

	for (guint i = 0; port->counted && i < PORT_ERRORS; i++)
		if (port->errors[i])
			g_string_append_printf(to, "\n%s: %s %" G_GUINT64_FORMAT, name,
					       port_error_kinds[i].name, port->errors[i]);
}

static void say_port(GString *to, const struct net_port *port)
{
	g_autofree char *name = net_port_text(port);

	g_string_append(to, name);
	if (port->state)
		g_string_append_printf(to, ": %s", states[port->state].text);
	if (net_lid_port((struct net_port *)port)->lid)
		g_string_append_printf(to, ", LID %u", net_lid_port((struct net_port *)port)->lid);
}

/* The text over a cable. */
static char *cable_text(const struct net_port *port)
{
	GString *to = g_string_new(NULL);
	g_autofree char *rate = net_rate_text(port);
	guint mbps = tool_rate_mbps((ib_width)port->width, (ib_speed)port->speed);

	say_port(to, port);
	g_string_append_c(to, '\n');
	say_port(to, port->peer);
	g_string_append_printf(to, "\n%s", rate);
	if (mbps)
		g_string_append_printf(to, ", %g Gb/s", mbps / 1000.0);
	if (port->mtu)
		g_string_append_printf(to, ", MTU %u", port->mtu);
	say_errors(to, port);
	say_errors(to, port->peer);
	return g_string_free(to, FALSE);
}

static char *node_text(const struct net_node *node)
{
	static const char *const types[] = { "node", "HCA", "switch", "router" };
	GString *to = g_string_new(NULL);

	g_string_append_printf(to, "%s: %s 0x%016" G_GINT64_MODIFIER "x, %u ports", node->name,
			       types[node->type], node->guid, node->num_ports);
	for (guint p = node->type == IB_NODE_SWITCH ? 0 : 1; p <= node->num_ports; p++) {
		const struct net_port *port = &node->ports[p];

		if (port->peer || (!p && port->lid))
			g_string_append_printf(to, "\nport %u: %s%s", p,
					       p ? states[port->state].text : "LID ", "");
		if (!p && port->lid)
			g_string_append_printf(to, "%u", port->lid);
		if (port->peer)
			g_string_append_printf(to, " to %s, port %u", port->peer->node->name,
					       port->peer->number);
		if (p && node->type != IB_NODE_SWITCH && port->lid)
			g_string_append_printf(to, ", LID %u", port->lid);
	}
	return g_string_free(to, FALSE);
}

static int columns_of(const char *c)
{
	return g_unichar_iszerowidth(g_utf8_get_char(c)) ? 0
	       : g_unichar_iswide(g_utf8_get_char(c))    ? 2
							 : 1;
}

/* The text, cut in its middle to so many columns: names of a subnet often differ at their ends. */
static char *cut(const char *text, int columns)
{
	const char *head = text, *tail = text + strlen(text);
	g_autofree char *begin = NULL;

	if (tool_width(text) <= columns)
		return g_strdup(text);
	columns = MAX(columns, 3) - 1;
	for (int left = columns / 3; left >= columns_of(head); head = g_utf8_next_char(head))
		left -= columns_of(head);
	for (int left = columns - columns / 3; left >= columns_of(g_utf8_prev_char(tail));
	     tail = g_utf8_prev_char(tail))
		left -= columns_of(g_utf8_prev_char(tail));
	begin = g_strndup(text, (gsize)(head - text));
	return g_strconcat(begin, "\xe2\x80\xa6", tail, NULL);
}

/*
 * The name of a switch in so many columns. Managed switches call themselves "MF0;NAME:MODEL/U1", or
 * "MF0;NAME:MODEL/L01/U1" in a chassis: NAME and the place in the chassis tell them apart.
 */
static char *switch_name(const char *text, int columns)
{
	const char *name = g_str_has_prefix(text, "MF") ? strchr(text, ';') : NULL;
	const char *model = name ? strchr(name, ':') : NULL;
	const char *unit = model ? strchr(model, '/') : NULL;
	g_autofree char *brief = NULL;

	if (!unit || tool_width(text) <= columns)
		return cut(text, columns);
	name++;
	brief = g_strdup_printf("%.*s%s", (int)(model - name), name,
				g_str_equal(unit, "/U1") ? "" : unit);
	return cut(brief, columns);
}

/* ---------------------------------------------------------------------------- boxes */

static void draw_rect(GString *svg, const char *class, double x, double y, double width,
		      double height, double round)
{
	char a[5][SVG_NUMBER];

	g_string_append_printf(
		svg,
		"<rect class=\"%s\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\" rx=\"%s\"/>\n",
		class, svg_number(a[0], x), svg_number(a[1], y), svg_number(a[2], width),
		svg_number(a[3], height), svg_number(a[4], round));
}

/* A mark for errors at a place. */
static void draw_mark(GString *svg, double x, double y, double size)
{
	char a[4][SVG_NUMBER];

	g_string_append_printf(svg, "<circle class=\"mark\" cx=\"%s\" cy=\"%s\" r=\"%s\"/>\n",
			       svg_number(a[0], x), svg_number(a[1], y), svg_number(a[2], size));
	g_string_append_printf(
		svg,
		"<text class=\"marktext\" text-anchor=\"middle\" style=\"font-size:%spx\" x=\"%s\" y=\"%s\">!</text>\n",
		svg_number(a[0], size * 1.7), svg_number(a[1], x),
		svg_number(a[2], y + size * 0.6));
}

static void draw_ports(const struct picture *p, const struct net_node *node)
{
	const struct net_box *box = box_of(p, node);
	double step = p->layout->port_step, size = step * 0.78,
	       left = box->x + (box->width - box->columns * step) / 2;
	guint rows = (node->num_ports + box->columns - 1) / box->columns;

	for (guint n = 1; n <= node->num_ports; n++) {
		const struct net_port *port = &node->ports[n];
		g_autofree char *class = g_strconcat("port ", states[port->state].class,
						     has_errors(port) ? " bad" : "",
						     port->peer ? "" : " open", NULL);

		guint column = (n - 1) % box->columns, row = (n - 1) / box->columns;

		draw_rect(p->svg, class, left + column * step,
			  box->y + box->height - 4 - (rows - row) * step, size, size, size / 5);
	}
}

static void draw_switch(const struct picture *p, const struct net_node *node)
{
	const struct net_box *box = box_of(p, node);
	gboolean large = p->layout->large;
	g_autofree char *name = switch_name(node->name, (int)(box->width / (large ? 8.6 : 5))),
			*text = node_text(node), *sub = NULL;

	g_string_append(p->svg, "<g>");
	svg_title(p->svg, text);
	draw_rect(p->svg, "switch", box->x, box->y, box->width, box->height, large ? 8 : 4);
	svg_text(p->svg, large ? "name" : "tiny", "middle", box->x + box->width / 2,
		 box->y + (large ? 22 : 11), name);
	if (large) {
		sub = node->ports[0].lid
			      ? g_strdup_printf("switch \xc2\xb7 LID %u \xc2\xb7 %u ports",
						node->ports[0].lid, node->num_ports)
			      : g_strdup_printf("switch \xc2\xb7 %u ports", node->num_ports);
		svg_text(p->svg, "sub", "middle", box->x + box->width / 2, box->y + 39, sub);
	}
	draw_ports(p, node);
	g_string_append(p->svg, "</g>\n");
}

static const struct net_port *first_port(const struct picture *p, const struct net_node *node)
{
	const struct net_port *home = net_home_port(p->layout, node);

	for (guint n = 1; !home && n <= node->num_ports; n++)
		if (node->ports[n].peer)
			home = &node->ports[n];
	return home ? home : &node->ports[1];
}

static void draw_hca(const struct picture *p, const struct net_node *node)
{
	const struct net_box *box = box_of(p, node);
	const struct net_port *port = first_port(p, node);
	gboolean large = p->layout->large;
	g_autofree char *name = cut(node->name, 16), *text = node_text(node),
			*rate = net_rate_text(port), *sub = NULL;
	g_autofree char *class = g_strconcat("hca ", states[port->state].class, NULL);

	g_string_append(p->svg, "<g>");
	svg_title(p->svg, text);
	draw_rect(p->svg, class, box->x, box->y, box->width, box->height, large ? 8 : 3);
	if (large) {
		sub = port->lid ? g_strdup_printf("LID %u \xc2\xb7 %s", port->lid, rate)
				: g_strdup(rate);
		svg_text(p->svg, "name", "middle", box->x + box->width / 2, box->y + 22, name);
		svg_text(p->svg, "sub", "middle", box->x + box->width / 2, box->y + 39, sub);
	}
	g_string_append(p->svg, "</g>\n");
}

/* --------------------------------------------------------------------------- cables */

/* A small picture draws an HCA's cable to its switch as a short line above the HCA. */
static gboolean is_stub(const struct picture *p, const struct net_port *port)
{
	const struct net_port *hca = port->node->type == IB_NODE_SWITCH ? port->peer : port;

	return !p->layout->large && hca->node->type != IB_NODE_SWITCH &&
	       net_home_port(p->layout, hca->node) == hca;
}

/* TRUE: the cable leaves the node's upper edge. */
static gboolean leaves_up(const struct picture *p, const struct net_port *port)
{
	return box_of(p, port->peer->node)->y <= box_of(p, port->node)->y;
}

struct end {
	struct net_port *port;
	gboolean up;
	double far; /* x of the other node */
};

/* Cables at an edge of a node, so that they do not cross there. */
static gint by_edge(gconstpointer left, gconstpointer right)
{
	const struct end *a = left, *b = right;

	if (a->up != b->up)
		return a->up - b->up;
	if (fabs(a->far - b->far) > 0.5)
		return a->far > b->far ? 1 : -1;
	return a->port->number - b->port->number;
}

static void spread_edge(struct picture *p, const struct net_box *box, const struct end *ends,
			guint count)
{
	for (guint i = 0; i < count; i++) {
		double *x = g_new(double, 1);

		*x = box->x + box->width * (i + 1) / (count + 1);
		g_hash_table_insert(p->ends, ends[i].port, x);
	}
}

/* Spreads the ends of a node's cables over its upper and its lower edge. */
static void spread_ends(struct picture *p, struct net_node *node)
{
	g_autoptr(GArray) ends = g_array_new(FALSE, FALSE, sizeof(struct end));
	const struct net_box *box = box_of(p, node);
	guint down = 0;

	for (guint n = 1; n <= node->num_ports; n++) {
		struct net_port *port = &node->ports[n];
		struct end end = { .port = port };

		if (!port->peer || is_stub(p, port))
			continue;
		end.up = leaves_up(p, port);
		end.far = box_of(p, port->peer->node)->x + box_of(p, port->peer->node)->width / 2;
		down += !end.up;
		g_array_append_val(ends, end);
	}
	g_array_sort(ends, by_edge);
	if (!ends->len)
		return;
	spread_edge(p, box, &g_array_index(ends, struct end, 0), down);
	spread_edge(p, box, &g_array_index(ends, struct end, 0) + down, ends->len - down);
}

/* The curve of a cable, and its middle for a mark. */
static char *curve(const struct picture *p, const struct net_port *port, double *x, double *y)
{
	const struct net_box *a = box_of(p, port->node), *b = box_of(p, port->peer->node);
	double x1 = *(double *)g_hash_table_lookup(p->ends, port),
	       x2 = *(double *)g_hash_table_lookup(p->ends, port->peer);
	double y1 = leaves_up(p, port) ? a->y : a->y + a->height,
	       y2 = leaves_up(p, port->peer) ? b->y : b->y + b->height;
	double bend1, bend2;
	char t[8][SVG_NUMBER];

	if (a->y == b->y && a != b && port->node->type != IB_NODE_SWITCH &&
	    port->peer->node->type != IB_NODE_SWITCH) {
		/* Two HCAs back to back. */
		x1 = a->x < b->x ? a->x + a->width : a->x;
		x2 = a->x < b->x ? b->x : b->x + b->width;
		y1 = y2 = a->y + a->height / 2;
		bend1 = bend2 = y1;
	} else if (a->y == b->y) {
		bend1 = bend2 = y1 - 30 - fmin(fabs(x2 - x1) * 0.12, 60);
	} else {
		bend1 = y1 + (y2 - y1) * 0.45;
		bend2 = y2 - (y2 - y1) * 0.45;
	}
	*x = (x1 + x2) / 2;
	*y = (y1 + 3 * bend1 + 3 * bend2 + y2) / 8;
	return g_strdup_printf("M%s %sC%s %s %s %s %s %s", svg_number(t[0], x1),
			       svg_number(t[1], y1), svg_number(t[2], x1), svg_number(t[3], bend1),
			       svg_number(t[4], x2), svg_number(t[5], bend2), svg_number(t[6], x2),
			       svg_number(t[7], y2));
}

static char *short_cable(const struct picture *p, const struct net_port *port, double *x, double *y)
{
	const struct net_box *box =
		box_of(p, port->node->type == IB_NODE_SWITCH ? port->peer->node : port->node);
	char t[2][SVG_NUMBER];

	*x = box->x + box->width;
	*y = box->y;
	return g_strdup_printf("M%s %sv-7", svg_number(t[0], box->x + box->width / 2),
			       svg_number(t[1], box->y));
}

/* The line of a cable, and the place for its mark. */
static char *cable_line(const struct picture *p, const struct net_port *port, double *x, double *y)
{
	return is_stub(p, port) ? short_cable(p, port, x, y) : curve(p, port, x, y);
}

static void draw_cable(const struct picture *p, const struct net_port *port)
{
	g_autofree char *text = cable_text(port), *path = NULL;
	gboolean short_one = is_stub(p, port);
	char width[SVG_NUMBER];
	double x, y;

	path = cable_line(p, port, &x, &y);
	g_string_append(p->svg, "<g>");
	svg_title(p->svg, text);
	if (cable_has_errors(port))
		g_string_append_printf(p->svg, "<path class=\"glow\" d=\"%s\"/>\n", path);
	g_string_append_printf(
		p->svg, "<path class=\"cable %s%s\" stroke-width=\"%s\" d=\"%s\"/>\n",
		states[cable_state(port)].class, p->layout->large || short_one ? "" : " faint",
		svg_number(width, cable_width(p, port) * (short_one ? 1.8 : 1)), path);
	g_string_append(p->svg, "</g>\n");
}

static void draw_cable_mark(const struct picture *p, const struct net_port *port)
{
	g_autofree char *text = cable_text(port);
	double x, y;

	g_free(cable_line(p, port, &x, &y)); /* for the place alone */
	g_string_append(p->svg, "<g>");
	svg_title(p->svg, text);
	draw_mark(p->svg, x, y, p->layout->large ? 9 : is_stub(p, port) ? 5 : 6);
	g_string_append(p->svg, "</g>\n");
}

static void each_cable(const struct picture *p, gboolean (*wanted)(const struct net_port *port),
		       void (*draw)(const struct picture *p, const struct net_port *port))
{
	for (guint i = 0; i < p->net->nodes->len; i++) {
		const struct net_node *node = g_ptr_array_index(p->net->nodes, i);

		for (guint n = 1; n <= node->num_ports; n++)
			if (net_is_tail(&node->ports[n]) && wanted(&node->ports[n]))
				draw(p, &node->ports[n]);
	}
}

static gboolean is_remarkable(const struct net_port *port)
{
	return cable_has_errors(port) ||
	       (cable_state(port) != IB_PORT_ACTIVE && cable_state(port) != IB_PORT_NOP);
}

static gboolean is_ordinary(const struct net_port *port)
{
	return !is_remarkable(port);
}

/* --------------------------------------------------------------- title and legend */

static void draw_title(const struct picture *p)
{
	const struct net *net = p->net;
	guint switches = net_count(net, IB_NODE_SWITCH), hcas = net_count(net, IB_NODE_CA),
	      cables = net_count_cables(net);
	const struct net_node *from = net_find(net, net->from_node);
	g_autoptr(GDateTime) now = g_date_time_new_now_local();
	g_autofree char *date = g_date_time_format(now, "%F %R"), *sub = NULL, *title = NULL;

	title = g_strdup_printf("%u HCA%s, %u switch%s, %u cable%s", hcas, hcas == 1 ? "" : "s",
				switches, switches == 1 ? "" : "es", cables,
				cables == 1 ? "" : "s");
	sub = from ? g_strdup_printf("seen from %s, %s", from->name, date) : g_strdup(date);
	svg_text(p->svg, "title", "start", 30, 34, title);
	svg_text(p->svg, "sub", "start", 30, 54, sub);
	if (net->problems->len) {
		g_autofree char *incomplete =
			g_strdup_printf("%u finding%s of the sweep: see al_query's messages",
					net->problems->len, net->problems->len == 1 ? "" : "s");

		svg_text(p->svg, "warn", "end", p->layout->width - 30, 34, incomplete);
	}
}

/* The states and rates that the picture has, and the mark if it has one. */
static void draw_legend(const struct picture *p)
{
	gboolean state_used[G_N_ELEMENTS(states)] = { FALSE }, errors = FALSE;
	double y = p->layout->height - 24, x = 30;
	GHashTable *seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	char a[4][SVG_NUMBER];

	for (guint i = 0; i < p->net->nodes->len; i++) {
		const struct net_node *node = g_ptr_array_index(p->net->nodes, i);

		for (guint n = 1; n <= node->num_ports; n++) {
			if (!net_is_tail(&node->ports[n]))
				continue;
			state_used[cable_state(&node->ports[n])] = TRUE;
			errors = errors || cable_has_errors(&node->ports[n]);
			g_hash_table_insert(seen, net_rate_text(&node->ports[n]),
					    (gpointer)&node->ports[n]);
		}
	}
	for (guint i = G_N_ELEMENTS(states); i-- > 0;) {
		if (!state_used[i])
			continue;
		g_string_append_printf(
			p->svg, "<path class=\"cable %s\" stroke-width=\"3\" d=\"M%s %sh26\"/>\n",
			states[i].class, svg_number(a[0], x), svg_number(a[1], y - 4));
		svg_text(p->svg, "sub", "start", x + 32, y, states[i].text);
		x += 48 + 7.0 * tool_width(states[i].text);
	}
	{
		GHashTableIter iter;
		gpointer name, port;

		g_hash_table_iter_init(&iter, seen);
		while (g_hash_table_iter_next(&iter, &name, &port)) {
			g_string_append_printf(
				p->svg,
				"<path class=\"cable unknown plain\" stroke-width=\"%s\" d=\"M%s %sh26\"/>\n",
				svg_number(a[2], cable_width(p, port)), svg_number(a[0], x),
				svg_number(a[1], y - 4));
			svg_text(p->svg, "sub", "start", x + 32, y, name);
			x += 48 + 7.0 * tool_width(name);
		}
	}
	g_hash_table_destroy(seen);
	if (!errors)
		return;
	draw_mark(p->svg, x + 8, y - 4, 8);
	svg_text(p->svg, "sub", "start", x + 22, y, "error counters at a threshold");
}

static const char style[] =
	"text{font:12px 'DejaVu Sans',sans-serif;fill:#1d2733}.title{font-size:19px;font-weight:bold}.sub{fill:#5b6875;font-size:11.5px}"
	".warn{fill:#b3261e;font-size:12px}.name{font-size:12.5px;font-weight:bold}.tiny{font-size:7.5px}"
	".switch{fill:#e8eef7;stroke:#7489a3;stroke-width:1.2}.hca{fill:#fff;stroke-width:2}"
	".hca.active{stroke:#009e73;fill:#e3f5ef}.hca.armed{stroke:#b59b00;fill:#fbf7d9}.hca.init{stroke:#e69f00;fill:#fdf1d8}"
	".hca.down{stroke:#d55e00;fill:#fbe3d6}.hca.unknown{stroke:#8a96a3;fill:#f1f3f5}"
	".port.active{fill:#009e73}.port.armed{fill:#b59b00}.port.init{fill:#e69f00}.port.down{fill:#d55e00}.port.unknown{fill:#8a96a3}"
	".port.open{fill:#c5cdd6}.port.bad{stroke:#c2185b;stroke-width:1.5}"
	".cable{fill:none;stroke-linecap:round}.cable.active{stroke:#009e73}.cable.armed{stroke:#b59b00;stroke-dasharray:9 4}"
	".cable.init{stroke:#e69f00;stroke-dasharray:5 4}.cable.down{stroke:#d55e00;stroke-dasharray:1.5 4}"
	".cable.unknown{stroke:#8a96a3}.cable.plain{stroke:#46525f}.cable.active.faint,.cable.unknown.faint{opacity:.42}"
	".glow{fill:none;stroke:#c2185b;stroke-width:7;opacity:.28;stroke-linecap:round}.mark{fill:#c2185b}"
	".marktext{fill:#fff;font-weight:bold}.cable:hover{stroke-width:5;opacity:1}.group{fill:#f6f8fb;stroke:#dbe3ec}";

/* The field behind the HCAs of a switch. */
static void draw_field(const struct picture *p, const struct net_node *node)
{
	const struct net_box *box = box_of(p, node), *hca;
	double left = INFINITY, right = 0, top = INFINITY, bottom = 0;

	if (p->layout->large || !box->leaves)
		return;
	for (guint n = 1; n <= node->num_ports; n++) {
		const struct net_port *peer = node->ports[n].peer;

		if (!peer || net_home_port(p->layout, peer->node) != peer)
			continue;
		hca = box_of(p, peer->node);
		left = fmin(left, hca->x);
		right = fmax(right, hca->x + hca->width);
		top = fmin(top, hca->y);
		bottom = fmax(bottom, hca->y + hca->height);
	}
	if (right > left)
		draw_rect(p->svg, "group", fmin(left - 6, box->x), box->y + box->height - 4,
			  fmax(right + 6, box->x + box->width) - fmin(left - 6, box->x),
			  bottom + 7 - (box->y + box->height - 4), 5);
}

char *net_write_svg(const struct net *net)
{
	struct net_layout *layout = net_layout_new(net);
	struct picture p = { .net = net, .layout = layout, .svg = g_string_new(NULL) };
	char *text;

	p.ends = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
	draw_title(&p);
	for (guint i = 0; i < net->nodes->len; i++) {
		draw_field(&p, g_ptr_array_index(net->nodes, i));
		spread_ends(&p, g_ptr_array_index(net->nodes, i));
	}
	each_cable(&p, is_ordinary, draw_cable);
	each_cable(&p, is_remarkable, draw_cable);
	for (guint i = 0; i < net->nodes->len; i++) {
		const struct net_node *node = g_ptr_array_index(net->nodes, i);

		if (node->type == IB_NODE_SWITCH)
			draw_switch(&p, node);
		else
			draw_hca(&p, node);
	}
	each_cable(&p, cable_has_errors, draw_cable_mark);
	draw_legend(&p);
	text = svg_document(layout->width, layout->height, "InfiniBand subnet", style, p.svg->str);
	g_string_free(p.svg, TRUE);
	g_hash_table_destroy(p.ends);
	net_layout_free(layout);
	return text;
}
