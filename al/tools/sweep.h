/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A sweep: reads a subnet's nodes, ports and cables by subnet management packets on directed
 * routes, and the ports' error counters by performance management. It only asks (Get), and changes
 * nothing, but for sweep_reset_counters(). Many requests are under way at a time.
 */
#ifndef AL_TOOLS_SWEEP_H
#define AL_TOOLS_SWEEP_H

#include <iba/ib_al.h>
#include <iba/ib_mad.h>

#include "al/tools/net.h"

#define SWEEP_WINDOW 32u /* requests under way */

/* The outcome of a request. */
struct sweep_answer {
	guint64 id;        /* of the request */
	al_status status;  /* AL_SUCCESS, or why there is no datagram */
	struct ib_mad mad; /* the answer */
};

/* A way for datagrams: sweep_port_open() makes that of a port; tests have others. */
struct sweep_line {
	/* Sends a request of 256 bytes to a LID, QP0 or QP1 by its class. Each request that is sent
	 * gets one answer. */
	al_status (*send)(void *context, const struct ib_mad *mad, guint16 dlid, guint64 id);
	/* Waits for the next answer until a time of g_get_monotonic_time(). FALSE: none has come */
	gboolean (*next)(void *context, struct sweep_answer *answer, gint64 until);
	void *context;
};

struct sweep_options {
	guint8 port;       /* the port from which the sweep begins */
	gboolean counters; /* read error counters, too */
	guint64 m_key;     /* of the subnet's ports, for those that tell nothing without; 0: none */
	gdouble seconds;   /* the sweep ends then, complete or not */
};

/*
 * Sweeps the subnet. A request without an answer, and an answer that contradicts others, becomes a
 * sentence in net->problems; all other parts are complete. NULL: *err says why not even the own
 * port answers. The caller frees the subnet.
 */
struct net *sweep_subnet(const struct sweep_line *line, const struct sweep_options *options,
			 GError **err);

/*
 * Sets the error counters of the ports to zero whose counters the sweep has read, those of
 * PortCounters and those of PortCountersExtended, which a port may not have; counters of data keep
 * their values. A port that is not reset becomes a sentence in net->problems. seconds: as in the
 * options.
 */
void sweep_reset_counters(const struct sweep_line *line, struct net *net, gdouble seconds);

/* A port through which a program asks. */
struct sweep_port;

/* Registers with the library. NULL: *err has the reason and the way out, which names the right that
 * an agent demands. The HCA must stay open until sweep_port_close(). */
struct sweep_port *sweep_port_open(al_ca_h ca, guint8 port, GError **err);
void sweep_port_close(struct sweep_port *port);
const struct sweep_line *sweep_port_line(struct sweep_port *port);

/* Asks the port itself for its PortInfo. m_key: as in the options. FALSE: *err has the reason. */
gboolean sweep_own_port_info(const struct sweep_line *line, guint64 m_key,
			     struct ib_port_info *info, GError **err);

#endif
