/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A subnet as al_query knows it: nodes, their ports, and the cables between ports. A sweep
 * (sweep.h) or a file (net_text.c) fills it; net_text.c, net_dot.c and net_svg.c write it. No
 * function of this file calls the library. The functions check all values that nodes and files
 * supply: names are clean, ports exist, and a cable has two ends.
 */
#ifndef AL_TOOLS_NET_H
#define AL_TOOLS_NET_H

#include "al/tools/errors.h"

#include "topo/topology.h"

struct net_node;

struct net_port {
	gboolean known; /* the port's PortInfo was read, or the file has the port */
	guint8 number, lmc;
	guint8 state;          /* ib_port_state; 0: not known */
	guint8 phys_state;     /* ib_phys_state; 0: not known */
	guint16 lid;           /* of an HCA's port, and of port 0 of a switch; 0: none */
	guint mtu;             /* bytes; 0: not known */
	guint width, speed;    /* ib_width and ib_speed in use; 0: not known */
	guint64 guid;          /* of an HCA's port, and of port 0 of a switch; 0: not known */
	struct net_node *node; /* the port's own */
	struct net_port *peer; /* the port at the cable's other end; NULL: none is known */
	gboolean no_answer;    /* the link is up, and the node behind it does not answer */
	gboolean counted;      /* errors[] was read */
	guint64 errors[PORT_ERRORS];
};

struct net_node {
	guint64 guid, system_guid;
	guint8 type;       /* ib_node_type */
	guint8 num_ports;  /* 1 to TOPOLOGY_MAX_NODE_PORTS; port 0 of a switch is not counted */
	gboolean enhanced; /* a switch's port 0 is an enhanced one */
	gboolean no_answer; /* the node has answered, and then does not any more */
	guint32 vendor;
	guint16 device;
	char *name; /* NodeDescription, clean: without control characters and double quotes, and not
		     * longer than a NodeDescription */
	struct net_port *ports; /* num_ports + 1; HCAs do not use [0] */
	guint index;            /* in net.nodes */
	guint mark;             /* for the algorithms of one file at a time */
};

struct net {
	GPtrArray *nodes; /* struct net_node, in the order in which they were found */
	GHashTable *by_guid;
	guint num_ports;         /* of all nodes, ports 0 of switches counted */
	GPtrArray *problems;     /* sentences: a missing part of the subnet, and the reason */
	const char
		*no_counters; /* why some ports were not asked for error counters; NULL: all were */
	guint64 from_node, from_port; /* where the sweep began; 0: not known */
};

struct net *net_new(void);
void net_free(struct net *net);

/* Adds a node without cables. NULL: the GUID is 0 or in use, the type or the number of ports is
 * none, or a limit of topo/topology.h is reached. The name is the GUID until net_set_name(). */
struct net_node *net_add(struct net *net, guint64 guid, guint type, guint num_ports);
struct net_node *net_find(const struct net *net, guint64 guid);
/* Sets the clean form of a description, or the GUID if the description is empty. length: bytes, or
 * -1 up to a zero byte */
void net_set_name(struct net_node *node, const char *text, gssize length);

/* Joins two ports by a cable. FALSE: one of the ports has another cable, or both are the same;
 * nothing has changed. */
gboolean net_connect(struct net_port *a, struct net_port *b);

/* TRUE for one of the two ports of a cable: a switch's before an HCA's, else that of the node that
 * was found first. */
gboolean net_is_tail(const struct net_port *port);

/* Adds a problem: a part that the subnet lacks, or a contradiction. */
void net_problem(struct net *net, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* The port that has the LID by which a node's port is reached: the port itself, or port 0 of its
 * switch. */
struct net_port *net_lid_port(struct net_port *port);

/* "4xEDR", with question marks for unknown values, as ibnetdiscover prints the speed. The caller
 * frees the text. */
char *net_rate_text(const struct net_port *port);
/* "H-0000000000000001", "S-...", "R-...". The caller frees the text. */
char *net_id_text(const struct net_node *node);
/* "name, port 3": for people. The caller frees the text. */
char *net_port_text(const struct net_port *port);

guint net_count(const struct net *net, guint type);
guint net_count_cables(const struct net *net);

/* ---- net_text.c: the text of ibnetdiscover (topo/topology.h) ---- */

/* The caller frees the text. date: of the first comment; NULL: now */
char *net_write_text(const struct net *net, const char *date);
/* Reads a file of that text, a pipe too. NULL: *err names the line and the reason. */
struct net *net_read_file(const char *path, GError **err);
struct net *net_read_text(const char *file, const char *text, GError **err);

/* ---- net_diff.c ---- */

enum net_change_kind { NET_MISSING, NET_NEW, NET_MOVED, NET_CHANGED };

struct net_change {
	enum net_change_kind kind;
	guint64 guid; /* of the node */
	guint8 port;  /* 0: the node itself */
	char *text;   /* a sentence */
};

/* Compares two states of a subnet. Returns an array of struct net_change, nodes first, which the
 * caller frees. */
GPtrArray *net_diff(const struct net *before, const struct net *after);
const char *net_change_word(enum net_change_kind kind);

/* ---- pictures: the caller frees the text ---- */

char *net_write_dot(const struct net *net);
char *net_write_svg(const struct net *net);

#endif
