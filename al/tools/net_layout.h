/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Where the nodes of a subnet are in a picture. Switches with HCAs are the lowest rank of switches,
 * with their HCAs below; above them is a rank for each further step away from an HCA: a fat tree
 * has its spines on top. A few nodes are drawn large, with text; many are drawn small.
 */
#ifndef AL_TOOLS_NET_LAYOUT_H
#define AL_TOOLS_NET_LAYOUT_H

#include "al/tools/net.h"

#define NET_LARGE_HCAS     12u /* up to so many HCAs and switches are drawn large */
#define NET_LARGE_SWITCHES 8u

struct net_box {
	double x, y, width, height;
	guint rank;            /* of a switch, from 0 */
	struct net_node *home; /* of an HCA: the switch below which it is drawn; NULL: none */
	guint columns;         /* of a switch: in which its ports are drawn */
	guint leaves;          /* of a switch: number of HCAs below it */
};

struct net_layout {
	struct net_box *boxes; /* by net_node.index */
	double width, height;
	gboolean large;
	double port_step; /* distance of a switch's ports in the picture */
};

struct net_layout *net_layout_new(const struct net *net);
void net_layout_free(struct net_layout *layout);

/* The port of an HCA by which it is joined with the switch below which it is drawn; NULL: none */
struct net_port *net_home_port(const struct net_layout *layout, const struct net_node *node);

#endif
