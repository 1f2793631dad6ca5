/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Captures: what ports send and receive, in files of the form pcapng. Each packet is a record of type ERF 21
 * (InfiniBand, from the LRH to the VCRC), its port an interface. Several ports may share a file.
 */
#ifndef SOFT_CAPTURE_H
#define SOFT_CAPTURE_H

#include <iba/ib_hca.h>
#include <iba/ib_soft.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct packet;
struct soft_port;
struct source;

/* A queue pair sends a train. The caller owns the packet. */
void capture_sent(const struct source *src, const struct packet *pkt);
/* A port receives one. */
void capture_received(const struct soft_port *port, const struct packet *pkt);
/* And one that came as bytes: SOFT_INJECT's. */
void capture_bytes(const struct soft_port *port, const uint8_t *bytes, size_t len);

/*
 * Begins to show a port's packets in a file, which is made anew unless another port is captured there. AL_DUPLICATE: the
 * port is captured already. AL_IO_ERROR: errno says why there is no file.
 */
al_status capture_start(struct soft_port *port, const char *path);
/* Ends that, if there is anything to end; the last port's end closes the file. */
void capture_stop(struct soft_port *port);

#endif
