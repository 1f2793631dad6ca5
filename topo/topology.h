/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The shape of a subnet: nodes, their ports and the cables between ports, in flat arrays with
 * indices. The text of a topology is the text that ibnetdiscover prints and ibsim loads (text.c,
 * record.c, settle.c, write.c). A topology is data: no thread, no packet, no file.
 */
#ifndef TOPO_TOPOLOGY_H
#define TOPO_TOPOLOGY_H

#include <stdio.h>

#include <iba/ib_types.h>

#define TOPOLOGY_NONE            UINT32_MAX /* an index of nothing */
#define TOPOLOGY_MAX_NODES       65536u
#define TOPOLOGY_MAX_NODE_PORTS  254u /* ports of a node beside port 0; IBTA has no port 255 */
#define TOPOLOGY_MAX_PORTS       (1u << 20)   /* ports of all nodes, ports 0 of switches counted */
#define TOPOLOGY_MAX_TEXT        (256u << 20) /* bytes of a text */
#define TOPOLOGY_MAX_LINE        1024u        /* bytes of a line */
#define TOPOLOGY_MAX_DESCRIPTION 64u          /* bytes of NodeDescription, IBTA 14.2.5.2 */

struct topology_node {
	uint64_t guid;
	uint64_t system_guid; /* SystemImageGUID; 0: the text has none */
	uint32_t vendor;      /* VendorID, 24 bits; 0: the text has none */
	uint32_t device;      /* DeviceID, 16 bits; 0: the text has none */
	uint32_t first_port;  /* index in ports[] of port 0 of a switch, port 1 of an HCA */
	uint8_t type;         /* ib_node_type */
	uint8_t num_ports;    /* 1 to 254; port 0 of a switch is not counted */
	bool enhanced;        /* a switch's port 0 is an enhanced one */
	char description[TOPOLOGY_MAX_DESCRIPTION + 1];
};

/*
 * A port of an HCA or router, port 0 of a switch, or an external port of a switch. The first two
 * are end ports: they have LIDs.
 */
struct topology_port {
	uint64_t guid; /* of an end port; 0 for others, or if the text has none */
	uint32_t node; /* index in nodes[] */
	uint32_t peer; /* index in ports[] of the port at the cable's other end, or TOPOLOGY_NONE */
	uint16_t lid;  /* of an end port, as the text has it, right or wrong; 0: none */
	uint8_t lmc;   /* of an end port, 0 to 7 */
	uint8_t number;
	uint8_t width; /* ib_width of the cable; 0: not known */
	uint8_t speed; /* ib_speed of the cable; 0: not known */
};

/* A zeroed topology is empty. */
struct topology {
	uint32_t num_nodes, num_ports;
	uint32_t node_room, port_room; /* elements that the arrays have memory for */
	struct topology_node *nodes;
	struct topology_port *ports;
};

/* Why a text is refused: "FILE:LINE: the fault: the way out". */
struct topology_error {
	uint32_t line; /* number of the line, from 1; 0: the fault is in no one line */
	char text[480];
};

/* What a topology of a text is for. */
enum topology_use {
	/* The subnet as the text tells it, faults included. */
	TOPOLOGY_TO_SHOW,
	/*
	 * A subnet that can be simulated. Routers are refused. If the text tells the width or speed
	 * of a cable at both ends and differently, the lesser counts at both, since ibnetdiscover
	 * itself prints such texts. A port of an HCA without a GUID gets the node's GUID plus the
	 * port's number; a GUID that two end ports have is refused.
	 */
	TOPOLOGY_TO_SIMULATE,
};

/*
 * Reads `length` bytes of text into *t. `file` is the name for messages. AL_BAD_CONFIG: *error says
 * why, and *t is empty. AL_INSUFFICIENT_MEMORY: likewise. The limits above bound the
 * memory in use to 256 MiB; the time is n log n.
 *
 * The nodes keep the order of the text. A cable that the text has at one end only is a cable. A
 * node whose name has no GUID (ibsim) gets the GUID that ibsim gives. Port 0 of a switch without a
 * GUID has the node's GUID. A description that is too long is cut.
 */
al_status topology_parse(struct topology *t, enum topology_use use, const char *file,
			 const char *text, size_t length, struct topology_error *error);
/* Writes "FILE:LINE: ..." (without LINE if it is 0) to *error. Returns AL_BAD_CONFIG. */
al_status topology_refuse(struct topology_error *error, const char *file, uint32_t line,
			  const char *format, ...) __attribute__((format(printf, 4, 5)));
/*
 * Writes the text of a topology. topology_parse() makes an equal topology of the text, with the
 * same indices, if each port that has no cable has the GUID that topology_parse() would give it.
 * AL_IO_ERROR: `to` has an error.
 */
al_status topology_write(const struct topology *t, FILE *to);

/* Copies a description of `length` bytes, cut at the end of a UTF-8 character if it is too long. */
void topology_describe(char description[TOPOLOGY_MAX_DESCRIPTION + 1], const char *from,
		       size_t length);
/* Writes a node's name in a text, such as "S-0000000000000010". */
#define TOPOLOGY_NAME_BYTES 19
void topology_name_text(ib_node_type type, uint64_t guid, char text[TOPOLOGY_NAME_BYTES]);
/* Writes a cable's width (ib_width) and speed (ib_speed), such as "4xEDR", with question marks for
 * an unknown one. */
#define TOPOLOGY_RATE_BYTES 16
void topology_rate_text(uint32_t width, uint32_t speed, char text[TOPOLOGY_RATE_BYTES]);

/*
 * Adds a node with the ports that its type has, none of them with a cable or a GUID. Returns the
 * node's index, or TOPOLOGY_NONE: a limit is reached, or there is no memory. The node's GUID and
 * description are the caller's to set.
 */
uint32_t topology_add_node(struct topology *t, ib_node_type type, uint32_t num_ports);
/* Joins two ports without a cable by a cable. */
void topology_connect(struct topology *t, uint32_t a, uint32_t b);
/* Frees the arrays and empties *t. */
void topology_free(struct topology *t);

/* Returns the index of a node's port. The number is in the range that the node has. */
static inline uint32_t topology_port_index(const struct topology_node *node, uint32_t number)
{
	return node->first_port + number - (node->type == IB_NODE_SWITCH ? 0 : 1);
}

/* Returns how many elements of ports[] are a node's. */
static inline uint32_t topology_port_count(const struct topology_node *node)
{
	return node->num_ports + (node->type == IB_NODE_SWITCH ? 1u : 0u);
}

/* True: the port has LIDs: a port of an HCA or router, or port 0 of a switch. */
static inline bool topology_is_end_port(const struct topology *t, uint32_t port)
{
	return t->nodes[t->ports[port].node].type != IB_NODE_SWITCH || !t->ports[port].number;
}

/* Returns the index of the end port with whose LID a port is addressed: the port itself, or port 0
 * of its switch. */
static inline uint32_t topology_end_port(const struct topology *t, uint32_t port)
{
	return topology_is_end_port(t, port) ? port : t->nodes[t->ports[port].node].first_port;
}

#endif
