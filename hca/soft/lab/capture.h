/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Captures of the packets that ports send and receive, in pcapng files (capture.c). Each packet is a record of type
 * ERF 21 (InfiniBand, from the LRH to the VCRC), and each port is an interface. Several ports may share a file.
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

/* Captures a train that a source sends. The caller owns the packet. */
void capture_sent(const struct source *src, const struct packet *pkt);
/* Captures a train that comes in at a port. */
void capture_received(const struct soft_port *port, const struct packet *pkt);
/* Captures a packet of SOFT_INJECT, which comes in at a port as bytes. */
void capture_bytes(const struct soft_port *port, const uint8_t *bytes, size_t len);

/*
 * Starts to capture a port's packets in a file, which is created or emptied unless another port is being captured in
 * that file. AL_DUPLICATE: the port is captured already. AL_IO_ERROR: the file can not be opened, as errno tells.
 */
al_status capture_start(struct soft_port *port, const char *path);
/* Stops the capture of a port, if the port is captured. The file is closed with the capture of its last port. */
void capture_stop(struct soft_port *port);

#endif
