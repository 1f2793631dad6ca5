/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The error counters of a port: their names, the values from which a counter is worth a warning or
 * is critical, and the remedy for each. No function of this file calls the library.
 */
#ifndef AL_TOOLS_ERRORS_H
#define AL_TOOLS_ERRORS_H

#include <glib.h>
#include <iba/ib_mad.h>

/*
 * X(name, warning, critical, text, way_out): thresholds of the counter, the events that it counts,
 * and the remedy. The name is the member of struct ib_port_counters and of struct
 * ib_perf_port_counters. A counter with a threshold of 0 does not have that threshold: a link that
 * was down once is a warning, and only the port's state is critical.
 */
#define PORT_ERROR_LIST(X)                                                                            \
	X(symbol_errors, 10, 1000, "minor errors of the link",                                        \
	  "clean and reseat the cable's plugs, then exchange the cable")                              \
	X(link_error_recovery, 1, 10, "recoveries of the link",                                       \
	  "reseat the cable, then exchange the cable or the port")                                    \
	X(link_downed, 1, 0, "times that the link went down",                                         \
	  "look for a loose cable, or a node that was restarted; then reset the counters")            \
	X(rcv_errors, 1, 100, "packets received with an error",                                       \
	  "exchange the cable; look at the port at the other end")                                    \
	X(rcv_remote_phys_errors, 1, 100, "packets that the other end had marked bad",                \
	  "look for the port with symbol errors or received errors before this one on the path")      \
	X(rcv_switch_relay_errors, 100, 10000, "packets that a switch could not forward",             \
	  "let the subnet manager sweep again, and look at the switch's forwarding table")            \
	X(xmit_discards, 10, 1000, "packets that were not sent",                                      \
	  "look for congestion or a stalled receiver at the other end")                               \
	X(xmit_constraint_errors, 1, 100, "packets not sent for their P_Key",                         \
	  "compare the P_Keys of the node behind the port with the partitions of the subnet manager") \
	X(rcv_constraint_errors, 1, 100, "packets received and dropped for their P_Key",              \
	  "compare the P_Keys of the sender with the partitions of the subnet manager")               \
	X(link_integrity_errors, 1, 10, "times that local physical errors passed their threshold",    \
	  "exchange the cable, then the port")                                                        \
	X(buffer_overrun_errors, 1, 10, "times that buffer overruns passed their threshold",          \
	  "the other end ignores flow control: bring its firmware up to date")                        \
	X(vl15_dropped, 10, 1000, "management packets dropped for want of a buffer",                  \
	  "look for a program that floods the port with management packets")

/*
 * COUNT(name, text), TIME(name, text): the other members of struct ib_port_counters, which count
 * events, or microseconds.
 */
#define PORT_TRAFFIC_LIST(COUNT, TIME)                                                \
	COUNT(xmit_bytes, "bytes sent")                                               \
	COUNT(rcv_bytes, "bytes received")                                            \
	COUNT(xmit_packets, "packets sent")                                           \
	COUNT(rcv_packets, "packets received")                                        \
	COUNT(unicast_xmit_packets, "unicast packets sent")                           \
	COUNT(unicast_rcv_packets, "unicast packets received")                        \
	COUNT(multicast_xmit_packets, "multicast packets sent")                       \
	COUNT(multicast_rcv_packets, "multicast packets received")                    \
	COUNT(rcv_dropped, "packets dropped without a response")                      \
	TIME(xmit_wait, "there was data to send, and no room for it")                 \
	COUNT(retransmits, "packets sent again")                                      \
	COUNT(rnr_naks, "receiver-not-ready NAKs sent")                               \
	COUNT(seq_naks, "PSN sequence error NAKs sent")

enum port_error {
#define PORT_ERROR_NUMBER(name, warning, critical, text, way_out) PORT_ERROR_##name,
	PORT_ERROR_LIST(PORT_ERROR_NUMBER) PORT_ERRORS
};

struct port_error_kind {
	const char *name, *text, *way_out;
	guint64 warning, critical; /* 0: none */
};

extern const struct port_error_kind port_error_kinds[PORT_ERRORS];

/* Copies the error counters of a port's attributes, or of PortCounters, to errors[PORT_ERRORS]. */
void port_errors_of_attr(guint64 *errors, const struct ib_port_counters *counters);
void port_errors_of_mad(guint64 *errors, const struct ib_perf_port_counters *counters);

/* TRUE: a counter has reached its threshold of warning. */
gboolean port_errors_are_many(const guint64 *errors);

#endif
