/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The text of a topology while it is read: the content of its lines, before names become indices
 * (settle.c). */
#ifndef TOPO_TEXT_H
#define TOPO_TEXT_H

#include "topo/topology.h"
#include "topo/words.h"

/* A node's name. Names of ibsim's modules are "MODULE#NAME"; elsewhere the module is empty. */
struct node_name {
	struct span module, name;
};

/* What the text says of a node, besides its struct topology_node. */
struct node_text {
	struct node_name name;
	uint32_t line;
};

/* What the text says of a port, besides its struct topology_port. */
struct port_text {
	struct node_name peer; /* name of the peer's node */
	uint64_t peer_guid;    /* 0: not told */
	uint32_t line;         /* 0: the text has no line of this port */
	uint16_t peer_lid;     /* LID of the peer's end port; 0: not told */
	uint8_t peer_number;
};

struct topology_text {
	struct topology *t;
	enum topology_use use;
	const char *file;
	struct topology_error *error;
	uint32_t node_room, port_room;
	struct node_text *nodes; /* parallel to t->nodes */
	struct port_text *ports; /* parallel to t->ports */
};

/* A text that is being read. */
struct reader {
	struct topology_text text;
	uint32_t line;      /* number of the line that is read */
	uint32_t node;      /* index of the node whose ports may follow, or TOPOLOGY_NONE */
	struct span module; /* prefix of names, as ibsim has it */
	/* What lines have said of the next node. */
	uint64_t system_guid, port_guid;
	uint32_t vendor, device;
	/* By ib_node_type: the GUID of the next node without one in its name, and that GUID's line
	 * or 0. */
	uint64_t next_guid[IB_NODE_ROUTER + 1];
	uint32_t guid_line[IB_NODE_ROUTER + 1];
	uint8_t width, speed; /* of ports that say none; 0: not known */
};

/* Read a line: what follows its first word, or the port's [. */
al_status record_read_node(struct reader *r, struct cursor c, ib_node_type type);
al_status record_read_port(struct reader *r, struct cursor c);

/* The cables and GUIDs of all nodes, from what all lines say; refuses contradictions. */
al_status text_settle(struct topology_text *text);

#define REFUSE_LINE(text, line, ...) topology_refuse((text)->error, (text)->file, line, __VA_ARGS__)
#define REFUSE(r, ...)               REFUSE_LINE(&(r)->text, (r)->line, __VA_ARGS__)

/* For printf's "%.*s": the length of a piece of text, cut where a message would become too long. */
#define SPAN(s) (int)((s).length < 64 ? (s).length : 64), (s).at
/* For printf's "%s%.*s%.*s": a node's name with the module's. */
#define NAME(n)     SPAN((n).module), (n).module.length ? "#" : "", SPAN((n).name)
#define NAME_FORMAT "\"%.*s%s%.*s\""

#endif
