/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Captures of packets in pcapng files. One lock guards all captures, since a capture is slow anyway. A capture
 * gathers records in a buffer and writes the buffer when the buffer is full, when its oldest record is old, and when
 * the capture or the process ends. A write error ends the capture, and has no other effect. link/serial.c makes the
 * bytes of packets.
 */

#include "hca/soft/lab/capture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "hca/soft/base/clock.h"
#include "hca/soft/engine/engine.h"
#include "hca/soft/link/hooks.h"
#include "hca/soft/object/hca.h"
#include "hca/soft/link/serial.h"
#include "hca/soft/packet/packet.h"
#include "hca/soft/packet/wire.h"
#include "hca/soft/port/port.h"
#include "hca/soft/shared/base.h"
#include "hca/soft/shared/lock.h"
#include "hca/soft/transport/qp.h"

#define BUFFER_BYTES   (256u << 10)
#define FLUSH_NS       100000000ull /* age at which a buffer is written; a crash loses at most these last records */
#define ERF_BYTES      16
#define ERF_INFINIBAND 21
#define ERF_VARYING    4 /* flag: records differ in length */
#define LINKTYPE_ERF   197
#define LINKTYPE_ETHERNET 1

/* pcapng: blocks and options */
#define BLOCK_SECTION      0x0a0d0d0a
#define BLOCK_INTERFACE    1
#define BLOCK_PACKET       6
#define OPT_END            0
#define OPT_SHB_USERAPPL   4
#define OPT_IF_NAME        2
#define OPT_IF_DESCRIPTION 3
#define OPT_IF_TSRESOL     9
#define OPT_EPB_FLAGS      2
#define EPB_INBOUND        1
#define EPB_OUTBOUND       2

struct capture {
	struct capture *next;
	pid_t process; /* the process that has made the capture; a forked child must not write the file */
	int fd;        /* -1: a write error has ended the capture */
	uint32_t ports;      /* ports that are captured now */
	uint32_t interfaces; /* interfaces in the file, those of stopped ports too */
	uint64_t flushed;    /* time of the last flush, in ns */
	uint64_t packets;    /* packets in the capture */
	size_t fill;         /* bytes in the buffer */
	uint8_t buffer[BUFFER_BYTES];
	char path[];
};

/* guards the list of captures, each capture, and capture and capture_interface of each port */
static struct fmutex lock;
static struct capture *captures;

/* ------------------------------------------------------------------- writing */

static void flush(struct capture *c)
{
	size_t done = c->process == getpid() ? 0 : c->fill; /* a forked child drops its copy of the buffer */
	ssize_t n;

	while (c->fd >= 0 && done < c->fill) {
		n = write(c->fd, c->buffer + done, c->fill - done);
		if (n > 0) {
			done += (size_t)n;
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		ib_log(IB_LOG_ERROR, "soft", "%s: the capture ends here, after %llu packets: %s",
		       c->path, (unsigned long long)c->packets, n ? strerror(errno) : "no room");
		close(c->fd);
		c->fd = -1;
	}
	c->fill = 0;
}

/* Returns room in the buffer for `bytes` bytes, which are fewer than the buffer has. */
static uint8_t *reserve(struct capture *c, size_t bytes)
{
	if (c->fill + bytes > sizeof(c->buffer))
		flush(c);
	c->fill += bytes;
	return c->buffer + c->fill - bytes;
}

static size_t padded(size_t len)
{
	return (len + 3) & ~(size_t)3;
}

/* pcapng stores numbers in the byte order of the machine that writes the file. */
static uint8_t *put16(uint8_t *to, uint16_t value)
{
	memcpy(to, &value, sizeof(value));
	return to + sizeof(value);
}

static uint8_t *put32(uint8_t *to, uint32_t value)
{
	memcpy(to, &value, sizeof(value));
	return to + sizeof(value);
}

static uint8_t *put_option(uint8_t *to, uint16_t code, const void *value, size_t len)
{
	to = put16(put16(to, code), (uint16_t)len);
	memset(to, 0, padded(len));
	if (len)
		memcpy(to, value, len);
	return to + padded(len);
}

/* Writes the type and both lengths of a block. Returns the place of the block's fields, which options follow. */
static uint8_t *begin_block(struct capture *c, uint32_t type, size_t bytes)
{
	uint8_t *to = reserve(c, bytes);

	put32(to + bytes - 4, (uint32_t)bytes);
	return put32(put32(to, type), (uint32_t)bytes);
}

static size_t option_bytes(size_t len)
{
	return 4 + padded(len);
}

static void put_section(struct capture *c)
{
	static const char by[] = "ibal soft " SOFT_VERSION;
	uint8_t *to;

	to = begin_block(c, BLOCK_SECTION, 12 + 16 + option_bytes(sizeof(by) - 1) + 4);
	to = put32(to, 0x1a2b3c4d);
	to = put16(put16(to, 1), 0);
	to = put32(put32(to, UINT32_MAX), UINT32_MAX); /* section length: unknown */
	to = put_option(to, OPT_SHB_USERAPPL, by, sizeof(by) - 1);
	put_option(to, OPT_END, NULL, 0);
}

static void put_interface(struct capture *c, const struct soft_port *port)
{
	char name[32], text[96], gid[INET6_ADDRSTRLEN];
	const ib_gid own = port_gid(port, 0);
	uint8_t *to;

	snprintf(name, sizeof(name), "soft%u:%u", port->ports->hca, port->number);
	if (port->ethernet)
		snprintf(text, sizeof(text), "soft HCA %s port %u, GID %s", port->ports->name, port->number,
			 inet_ntop(AF_INET6, own.raw, gid, sizeof(gid)));
	else
		snprintf(text, sizeof(text), "soft HCA %s port %u, LID %u", port->ports->name, port->number,
			 port_lid(port));
	to = begin_block(c, BLOCK_INTERFACE,
			 12 + 8 + option_bytes(strlen(name)) + option_bytes(strlen(text)) +
				 option_bytes(1) + 4);
	to = put32(put16(put16(to, port->ethernet ? LINKTYPE_ETHERNET : LINKTYPE_ERF), 0), 0);
	to = put_option(to, OPT_IF_NAME, name, strlen(name));
	to = put_option(to, OPT_IF_DESCRIPTION, text, strlen(text));
	to = put_option(to, OPT_IF_TSRESOL, "\x09", 1); /* 10^-9 s */
	put_option(to, OPT_END, NULL, 0);
}

/* Returns the time for records: the virtual clock with manual progress, else the wall clock. */
static uint64_t wall_clock(void)
{
	struct timespec now;

	if (clock_is_virtual())
		return clock_ns();
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Writes an ERF header, whose time is seconds and units of 2^-32 seconds, lowest byte first. */
static uint8_t *put_erf(uint8_t *to, const struct soft_port *port, uint64_t ns, size_t len)
{
	uint64_t fraction = ((ns % 1000000000u << 32) + 999999999u) / 1000000000u;
	int i;

	for (i = 0; i < 4; i++) {
		to[i] = (uint8_t)(fraction >> 8 * i);
		to[i + 4] = (uint8_t)(ns / 1000000000u >> 8 * i);
	}
	to[8] = ERF_INFINIBAND;
	to[9] = (uint8_t)(ERF_VARYING | ((port->number - 1) & 3));
	to[10] = (uint8_t)((ERF_BYTES + len) >> 8);
	to[11] = (uint8_t)(ERF_BYTES + len);
	to[12] = to[13] = 0;
	to[14] = (uint8_t)(len >> 8);
	to[15] = (uint8_t)len;
	return to + ERF_BYTES;
}

static void put_packet(struct capture *c, const struct soft_port *port, uint32_t direction,
		       uint64_t ns, const uint8_t *bytes, size_t len)
{
	const size_t header = port->ethernet ? 0 : ERF_BYTES;
	const size_t data = header + len;
	uint8_t *to;

	to = begin_block(c, BLOCK_PACKET, 12 + 20 + padded(data) + option_bytes(4) + 4);
	to = put32(to, port->capture_interface);
	to = put32(put32(to, (uint32_t)(ns >> 32)), (uint32_t)ns);
	to = put32(put32(to, (uint32_t)data), (uint32_t)data);
	if (header)
		to = put_erf(to, port, ns, len);
	memcpy(to, bytes, len);
	memset(to + len, 0, padded(data) - data);
	to = put_option(to + padded(data) - header, OPT_EPB_FLAGS, &direction, 4);
	put_option(to, OPT_END, NULL, 0);
	c->packets++;
}

static void flush_if_old(struct capture *c, uint64_t ns)
{
	if (ns - c->flushed < FLUSH_NS)
		return;
	c->flushed = ns;
	flush(c);
}

/*
 * Returns the capture of a port's packets. NULL: the port is not captured, or the capture has ended. The caller holds
 * the lock.
 */
static struct capture *capture_of(const struct soft_port *port)
{
	return port->capture && port->capture->fd >= 0 ? port->capture : NULL;
}

/* Captures each packet of a train. The caller holds the lock. */
static void show(const struct soft_port *port, const struct packet *pkt, uint32_t direction)
{
	struct capture *c = capture_of(port);
	uint8_t bytes[WIRE_MAX_BYTES];
	uint64_t ns;
	uint32_t i;
	size_t len;

	if (!c)
		return;
	ns = wall_clock();
	for (i = 0; i < pkt->num && c->fd >= 0; i++) {
		len = pkt_bytes_of(port, pkt, i, bytes);
		if (len)
			put_packet(c, port, direction, ns, bytes, len);
	}
	flush_if_old(c, ns);
}

void capture_sent(const struct source *src, const struct packet *pkt)
{
	fmutex_lock(&lock);
	show(src->port, pkt, EPB_OUTBOUND);
	fmutex_unlock(&lock);
}

void capture_received(const struct soft_port *port, const struct packet *pkt)
{
	fmutex_lock(&lock);
	show(port, pkt, EPB_INBOUND);
	fmutex_unlock(&lock);
}

void capture_bytes(const struct soft_port *port, const uint8_t *bytes, size_t len)
{
	uint64_t ns = wall_clock();
	struct capture *c;

	fmutex_lock(&lock);
	c = capture_of(port);
	if (c) {
		put_packet(c, port, EPB_INBOUND, ns, bytes, len);
		flush_if_old(c, ns);
	}
	fmutex_unlock(&lock);
}

/* -------------------------------------------------------------- begin and end */

static struct capture *find(const char *path)
{
	struct capture *c;

	for (c = captures; c && strcmp(c->path, path);)
		c = c->next;
	return c;
}

static al_status create(const char *path, struct capture **capture)
{
	struct capture *c = al_alloc(sizeof(*c) + strlen(path) + 1);

	if (!c)
		return AL_INSUFFICIENT_MEMORY;
	c->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (c->fd < 0) {
		al_free(c);
		return AL_IO_ERROR;
	}
	c->process = getpid();
	c->ports = c->interfaces = 0;
	c->flushed = c->packets = 0;
	c->fill = 0;
	strcpy(c->path, path);
	put_section(c);
	c->next = captures;
	captures = c;
	*capture = c;
	return AL_SUCCESS;
}

al_status capture_start(struct soft_port *port, const char *path)
{
	struct capture *c;
	al_status status = AL_SUCCESS;

	fmutex_lock(&lock);
	c = find(path);
	if (port->capture)
		status = AL_DUPLICATE;
	else if (!c)
		status = create(path, &c);
	if (!status) {
		port->capture = c;
		port->capture_interface = c->interfaces++;
		c->ports++;
		put_interface(c, port);
		atomic_store_explicit(&link_watched_flag, true, memory_order_relaxed);
	}
	fmutex_unlock(&lock);
	return status;
}

static void end(struct capture *c)
{
	struct capture **at;

	flush(c);
	if (c->fd >= 0)
		close(c->fd);
	for (at = &captures; *at != c; at = &(*at)->next)
		;
	*at = c->next;
	al_free(c);
}

void capture_stop(struct soft_port *port)
{
	struct capture *c;

	fmutex_lock(&lock);
	c = port->capture;
	port->capture = NULL;
	if (c && !--c->ports)
		end(c);
	atomic_store_explicit(&link_watched_flag, captures, memory_order_relaxed);
	fmutex_unlock(&lock);
}

/*
 * Flushes the captures of a process that ends without closing the library. A thread that holds the lock may have been
 * stopped in the middle of a record, so the function does nothing if the lock is held.
 */
__attribute__((destructor)) static void at_exit(void)
{
	struct capture *c;

	if (!fmutex_trylock(&lock))
		return;
	for (c = captures; c; c = c->next)
		flush(c);
	fmutex_unlock(&lock);
}
