/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The places of nodes in a picture (net_layout.h). The order is by name, so that two pictures of a
 * subnet look alike. */
#include "al/tools/net_layout.h"

#include <math.h>
#include <string.h>

#define MARGIN 30.0
#define TOP    76.0 /* for the title */
#define BOTTOM 64.0 /* for the legend */

/* Measures of the two sizes of pictures. */
struct sizes {
	double hca_width, hca_height, hca_gap_x, hca_gap_y, hca_below;
	double switch_min, switch_height, port_step, gap;
	guint max_columns; /* of HCAs below a switch; 0: all in a row */
};

static const struct sizes large_sizes = { 146, 52, 18, 70, 84, 170, 62, 11, 40, 0 };
static const struct sizes small_sizes = { 15, 15, 5, 10, 16, 52, 19, 5, 18, 8 };

struct laying {
	const struct net *net;
	struct net_layout *layout;
	const struct sizes *sizes;
	guint ranks;
	GPtrArray *lowest; /* switches of rank 0, and HCAs without a switch, in the order of the
			      picture */
};

static struct net_box *box_of(const struct net_layout *layout, const struct net_node *node)
{
	return &layout->boxes[node->index];
}

struct net_port *net_home_port(const struct net_layout *layout, const struct net_node *node)
{
	const struct net_box *box = box_of(layout, node);

	for (guint p = 1; box->home && p <= node->num_ports; p++)
		if (node->ports[p].peer && node->ports[p].peer->node == box->home)
			return &node->ports[p];
	return NULL;
}

/* -------------------------------------------------------------------------- ranks */

static struct net_node *find_home(const struct net_node *node)
{
	for (guint p = 1; p <= node->num_ports; p++)
		if (node->ports[p].peer && node->ports[p].peer->node->type == IB_NODE_SWITCH)
			return node->ports[p].peer->node;
	return NULL;
}

static void find_homes(struct laying *l)
{
	for (guint i = 0; i < l->net->nodes->len; i++) {
		const struct net_node *node = g_ptr_array_index(l->net->nodes, i);

		if (node->type == IB_NODE_SWITCH)
			continue;
		l->layout->boxes[i].home = find_home(node);
		if (l->layout->boxes[i].home)
			box_of(l->layout, l->layout->boxes[i].home)->leaves++;
	}
}

/* Ranks switches by their distance from the nearest one with an HCA. Without such a switch all have
 * rank 0. */
static void find_ranks(struct laying *l)
{
	g_autoptr(GPtrArray) queue = g_ptr_array_new();
	gboolean *seen = g_new0(gboolean, l->net->nodes->len);

	for (guint i = 0; i < l->net->nodes->len; i++)
		if (l->layout->boxes[i].leaves) {
			seen[i] = TRUE;
			g_ptr_array_add(queue, g_ptr_array_index(l->net->nodes, i));
		}
	for (guint first = 0; first < queue->len; first++) {
		const struct net_node *node = g_ptr_array_index(queue, first);

		for (guint p = 1; p <= node->num_ports; p++) {
			struct net_node *next =
				node->ports[p].peer ? node->ports[p].peer->node : NULL;

			if (!next || next->type != IB_NODE_SWITCH || seen[next->index])
				continue;
			seen[next->index] = TRUE;
			box_of(l->layout, next)->rank = box_of(l->layout, node)->rank + 1;
			l->ranks = MAX(l->ranks, box_of(l->layout, next)->rank);
			g_ptr_array_add(queue, next);
		}
	}
	g_free(seen);
}

/* --------------------------------------------------------------------- order, places */

/* TRUE: the node has no name but its GUID, whose digits are no decimal number. */
static gboolean has_no_name(const struct net_node *node)
{
	g_autofree char *id = net_id_text(node);

	return !strcmp(id, node->name);
}

/* By name as people sort them, "leaf 2" before "leaf 10"; nodes without a name behind them, by
 * GUID. */
static gint by_name(gconstpointer left, gconstpointer right)
{
	const struct net_node *a = *(struct net_node *const *)left,
			      *b = *(struct net_node *const *)right;
	g_autofree char *x = NULL, *y = NULL;
	int order = has_no_name(a) - has_no_name(b);

	if (!order && !has_no_name(a)) {
		x = g_utf8_collate_key_for_filename(a->name, -1);
		y = g_utf8_collate_key_for_filename(b->name, -1);
		order = strcmp(x, y);
	}
	return order ? order : (a->guid > b->guid) - (a->guid < b->guid);
}

/* The HCAs of a switch, in the order of its ports; or the HCA itself, which has no switch. */
static GPtrArray *hcas_below(const struct laying *l, struct net_node *node)
{
	GPtrArray *hcas = g_ptr_array_new();

	if (node->type != IB_NODE_SWITCH) {
		g_ptr_array_add(hcas, node);
		return hcas;
	}
	for (guint p = 1; p <= node->num_ports; p++) {
		struct net_port *peer = node->ports[p].peer;

		if (peer && box_of(l->layout, peer->node)->home == node &&
		    net_home_port(l->layout, peer->node) == peer)
			g_ptr_array_add(hcas, peer->node);
	}
	return hcas;
}

static void measure_switch(const struct laying *l, const struct net_node *node)
{
	struct net_box *box = box_of(l->layout, node);
	guint rows = node->num_ports > 16 || !l->layout->large ? (node->num_ports > 8 ? 2 : 1) : 1;

	box->columns = (node->num_ports + rows - 1) / rows;
	box->width = MAX(l->sizes->switch_min, box->columns * l->sizes->port_step + 10);
	box->height = l->sizes->switch_height + rows * l->sizes->port_step;
}

static guint columns_for(const struct laying *l, guint count)
{
	guint square = (guint)ceil(sqrt(count));

	if (!l->sizes->max_columns || count <= 4)
		return MAX(count, 1);
	return MIN(square, l->sizes->max_columns);
}

/* Places the HCAs of a group from (x, y), and returns their width. *bottom: raised to their lower
 * edge */
static double place_hcas(const struct laying *l, const GPtrArray *hcas, double x, double y,
			 double *bottom)
{
	const struct sizes *s = l->sizes;
	guint columns = columns_for(l, hcas->len);

	for (guint i = 0; i < hcas->len; i++) {
		struct net_box *box = box_of(l->layout, g_ptr_array_index(hcas, i));
		guint column = i % columns, row = i / columns;

		box->width = s->hca_width;
		box->height = s->hca_height;
		box->x = x + column * (s->hca_width + s->hca_gap_x);
		box->y = y + row * (s->hca_height + s->hca_gap_y);
		*bottom = MAX(*bottom, box->y + box->height);
	}
	return columns * (s->hca_width + s->hca_gap_x) - s->hca_gap_x;
}

/* Moves HCAs to the middle below their switch. */
static void shift(const struct laying *l, const GPtrArray *hcas, double by)
{
	for (guint i = 0; i < hcas->len; i++)
		box_of(l->layout, g_ptr_array_index(hcas, i))->x += by;
}

/* Places rank 0 with its HCAs from left to right. *right, *bottom: written */
static void place_lowest(struct laying *l, double y, double *right, double *bottom)
{
	double x = MARGIN, gap = 0,
	       hcas_y = y + l->sizes->switch_height + 2 * l->sizes->port_step + l->sizes->hca_below;

	*bottom = y;
	for (guint i = 0; i < l->lowest->len; i++) {
		struct net_node *node = g_ptr_array_index(l->lowest, i);
		struct net_box *box = box_of(l->layout, node);
		g_autoptr(GPtrArray) hcas = hcas_below(l, node);
		double width =
			hcas->len ? place_hcas(l, hcas, x,
					       node->type == IB_NODE_SWITCH ? hcas_y : y, bottom)
				  : 0;

		if (node->type == IB_NODE_SWITCH) {
			double all = MAX(width, box->width);

			shift(l, hcas, (all - width) / 2);
			box->x = x + (all - box->width) / 2;
			box->y = y;
			width = all;
			*bottom = MAX(*bottom, y + box->height);
		}
		gap = l->sizes->gap * (node->type == IB_NODE_SWITCH ? 1 : 3);
		x += width + gap;
	}
	*right = x - gap;
}

/* The mean place of the lower neighbours: near it a switch's cables are short. */
static double pull_of(const struct laying *l, const struct net_node *node)
{
	guint count = 0, rank = box_of(l->layout, node)->rank;
	double sum = 0;

	for (guint p = 1; p <= node->num_ports; p++) {
		const struct net_node *next =
			node->ports[p].peer ? node->ports[p].peer->node : NULL;

		if (!next || next->type != IB_NODE_SWITCH || box_of(l->layout, next)->rank >= rank)
			continue;
		sum += box_of(l->layout, next)->x + box_of(l->layout, next)->width / 2;
		count++;
	}
	return count ? sum / count : 0;
}

struct pulled {
	struct net_node *node;
	double pull;
};

static gint by_pull(gconstpointer left, gconstpointer right)
{
	const struct pulled *a = left, *b = right;

	/* In a full tree all are pulled to the middle. */
	if (fabs(a->pull - b->pull) > 1)
		return a->pull > b->pull ? 1 : -1;
	return by_name(&a->node, &b->node);
}

/* Spreads the switches of a rank over the width. Returns the width that they need. */
static double place_rank(struct laying *l, guint rank, double y, double width)
{
	g_autoptr(GArray) row = g_array_new(FALSE, FALSE, sizeof(struct pulled));
	double need = 0, x, space;

	for (guint i = 0; i < l->net->nodes->len; i++) {
		struct pulled pulled = { g_ptr_array_index(l->net->nodes, i), 0 };

		if (pulled.node->type != IB_NODE_SWITCH || l->layout->boxes[i].rank != rank)
			continue;
		pulled.pull = pull_of(l, pulled.node);
		need += l->layout->boxes[i].width + l->sizes->gap;
		g_array_append_val(row, pulled);
	}
	g_array_sort(row, by_pull);
	space = row->len ? MAX(width - 2 * MARGIN - need, 0) / row->len : 0;
	x = MARGIN + space / 2;
	for (guint i = 0; i < row->len; i++) {
		struct net_box *box = box_of(l->layout, g_array_index(row, struct pulled, i).node);

		box->x = x + l->sizes->gap / 2;
		box->y = y;
		x += box->width + l->sizes->gap + space;
	}
	return need + 2 * MARGIN;
}

static void find_lowest(struct laying *l)
{
	g_autoptr(GPtrArray) single = g_ptr_array_new();

	for (guint i = 0; i < l->net->nodes->len; i++) {
		struct net_node *node = g_ptr_array_index(l->net->nodes, i);

		if (node->type == IB_NODE_SWITCH)
			measure_switch(l, node);
		if (node->type == IB_NODE_SWITCH && !l->layout->boxes[i].rank)
			g_ptr_array_add(l->lowest, node);
		else if (node->type != IB_NODE_SWITCH && !l->layout->boxes[i].home)
			g_ptr_array_add(single, node);
	}
	g_ptr_array_sort(l->lowest, by_name);
	g_ptr_array_sort(single, by_name);
	g_ptr_array_extend(l->lowest, single, NULL, NULL);
}

static void move_right(const struct laying *l, double by)
{
	for (guint i = 0; i < l->net->nodes->len; i++)
		l->layout->boxes[i].x += by;
}

/* The room above the highest rank for the bows of cables within a rank. */
static double bow_room(const struct laying *l)
{
	for (guint i = 0; i < l->net->nodes->len; i++) {
		const struct net_node *node = g_ptr_array_index(l->net->nodes, i);

		for (guint p = 1; p <= node->num_ports && l->layout->boxes[i].rank == l->ranks;
		     p++) {
			const struct net_port *peer = node->ports[p].peer;

			if (peer && node->type == IB_NODE_SWITCH &&
			    peer->node->type == IB_NODE_SWITCH &&
			    l->layout->boxes[peer->node->index].rank == l->ranks)
				return 80;
		}
	}
	return 0;
}

/* Places rank 0, then the ranks above it; if a rank above is wider, the lowest moves to its middle.
 */
static void place(struct laying *l)
{
	struct net_layout *layout = l->layout;
	double right, bottom, least = layout->large ? 560 : 760, step, widest = 0,
			      top = TOP + bow_room(l);

	place_lowest(l, 0, &right, &bottom);
	layout->width = right + MARGIN;
	for (guint rank = 1; rank <= l->ranks; rank++)
		widest = MAX(widest, place_rank(l, rank, 0, 0));
	widest = MAX(widest, least);
	if (widest > layout->width) {
		move_right(l, (widest - layout->width) / 2);
		layout->width = widest;
	}
	step = layout->large ? 150 : CLAMP(layout->width * 0.11, 130, 320);
	for (guint rank = 1; rank <= l->ranks; rank++)
		place_rank(l, rank, -step * rank, layout->width);
	for (guint i = 0; i < l->net->nodes->len; i++)
		layout->boxes[i].y += top + step * l->ranks;
	layout->height = top + step * l->ranks + bottom + BOTTOM;
}

struct net_layout *net_layout_new(const struct net *net)
{
	struct net_layout *layout = g_new0(struct net_layout, 1);
	guint switches = net_count(net, IB_NODE_SWITCH);
	struct laying l = { .net = net, .layout = layout };

	layout->boxes = g_new0(struct net_box, net->nodes->len);
	layout->large =
		net->nodes->len - switches <= NET_LARGE_HCAS && switches <= NET_LARGE_SWITCHES;
	l.sizes = layout->large ? &large_sizes : &small_sizes;
	layout->port_step = l.sizes->port_step;
	l.lowest = g_ptr_array_new();
	find_homes(&l);
	find_ranks(&l);
	find_lowest(&l);
	place(&l);
	g_ptr_array_unref(l.lowest);
	return layout;
}

void net_layout_free(struct net_layout *layout)
{
	g_free(layout->boxes);
	g_free(layout);
}
