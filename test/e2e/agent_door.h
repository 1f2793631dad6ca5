/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A client of the agent without the library: it writes and reads the records of the protocol
 * itself. */
#ifndef IBAL_TEST_AGENT_DOOR_H
#define IBAL_TEST_AGENT_DOOR_H

#include <netinet/in.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "al/protocol/protocol.h"
#include "test/e2e/agent.h"

struct client {
	int events, line;
	uint8_t token[AGENT_TOKEN];
	struct ib_ca_attr attr;
	uint64_t ca, pd, cq, qp;
};

static inline int reach(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	strcpy(addr.sun_path, agent_socket);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	return fd;
}

#define MAX_FDS (AGENT_MAX_FDS + 1) /* more than a record may have */

/* Sends a record with descriptors. */
static inline void put(int fd, const void *record, size_t length, const int *fds, size_t num_fds)
{
	char control[CMSG_SPACE(MAX_FDS * sizeof(int))] __attribute__((aligned(8)));
	struct iovec iov = { (void *)(uintptr_t)record, length };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	agent_put_fds(&msg, control, fds, (uint32_t)num_fds);
	ck_assert_int_eq(sendmsg(fd, &msg, MSG_NOSIGNAL), (ssize_t)length);
}

/* Receives the agent's welcome. A status of AL_AGENT_LOST: the agent has closed the connection. */
static inline struct agent_welcome hello_said(int fd, struct agent_hello h, const int *fds, size_t num_fds)
{
	struct agent_welcome w;

	put(fd, &h, sizeof(h), fds, num_fds);
	if (recv(fd, &w, sizeof(w), 0) != sizeof(w))
		return (struct agent_welcome){ .status = AL_AGENT_LOST };
	ck_assert_uint_eq(w.magic, AGENT_MAGIC);
	return w;
}

static inline al_status hello(int fd, struct agent_hello h, const int *fds, size_t num_fds, uint8_t *token)
{
	const struct agent_welcome w = hello_said(fd, h, fds, num_fds);

	if (token)
		memcpy(token, w.token, AGENT_TOKEN);
	return (al_status)w.status;
}

static const struct agent_hello good_hello = {
	.magic = AGENT_MAGIC, .protocol = AGENT_PROTOCOL, .role = AGENT_EVENTS, .comm = "by hand"
};

/* Sends a request with these arrays and descriptors. Returns the answer's status, and copies the
 * answer's struct. */
static inline al_status ask_with(int fd, enum agent_command command, const void *request, uint32_t n0, const void *a0,
				 uint32_t n1, const void *a1, const int *fds, size_t num_fds, void *answer)
{
	static char out[AGENT_RECORD], in[AGENT_RECORD];
	const struct agent_sizes *sizes = &agent_sizes[command];
	struct agent_head head = { .command = (uint16_t)command, .count = { n0, n1 } };
	const struct agent_answer *a = (const struct agent_answer *)in;
	size_t length = sizeof(head);
	ssize_t n;

	head.fds = (uint16_t)num_fds;
	memcpy(out, &head, sizeof(head));
	memcpy(out + length, request, sizes->request);
	length += sizes->request;
	if (n0)
		memcpy(out + length, a0, n0 * sizes->in[0].size);
	length += n0 * sizes->in[0].size;
	if (n1)
		memcpy(out + length, a1, n1 * sizes->in[1].size);
	length += n1 * sizes->in[1].size;
	put(fd, out, length, fds, num_fds);
	n = recv(fd, in, sizeof(in), 0);
	ck_assert_int_ge(n, (ssize_t)sizeof(*a));
	if (answer && (size_t)n >= sizeof(*a) + sizes->answer)
		memcpy(answer, in + sizeof(*a), sizes->answer);
	return (al_status)a->status;
}

static inline al_status ask(int fd, enum agent_command command, const void *request, uint32_t n0, const void *a0,
			    uint32_t n1, const void *a1, void *answer)
{
	return ask_with(fd, command, request, n0, a0, n1, a1, NULL, 0, answer);
}

#define ASK(c, name, answer, ...) \
	ask((c)->line, AGENT_##name, &(struct name##_request){ __VA_ARGS__ }, 0, NULL, 0, NULL, answer)

static inline void client_open(struct client *c)
{
	struct agent_hello h = good_hello;
	struct OPEN_CA_answer opened;
	struct CREATE_CQ_answer cq;
	struct CREATE_QP_answer qp;
	struct made_answer made;
	struct agent_event event;
	uint64_t guid = 0;
	int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	c->events = reach();
	ck_ok(hello(c->events, h, &pidfd, 1, c->token));
	close(pidfd);
	do {
		ck_assert_int_eq(recv(c->events, &event, sizeof(event), 0), sizeof(event));
		guid = event.kind == AGENT_EVENT_CA_ADD ? event.guid : guid;
	} while (event.kind != AGENT_EVENT_READY);
	c->line = reach();
	h.role = AGENT_COMMANDS;
	memcpy(h.token, c->token, sizeof(h.token));
	ck_ok(hello(c->line, h, NULL, 0, NULL));
	ck_ok(ASK(c, OPEN_CA, &opened, .guid = guid));
	c->ca = opened.handle;
	c->attr = opened.attr;
	ck_ok(ASK(c, ALLOC_PD, &made, .ca = c->ca));
	c->pd = made.handle;
	ck_ok(ASK(c, CREATE_CQ, &cq, .pd = c->pd, .cqe = 16));
	c->cq = cq.handle;
	ck_ok(ASK(c, CREATE_QP, &qp, .pd = c->pd, .send_cq = c->cq, .recv_cq = c->cq, .qp_type = IB_QPT_RC,
		  .cap = { 4, 4, 1, 1, 0 }));
	c->qp = qp.handle;
}

/* Makes a descriptor whose last close() waits up to an hour, for its peer, which does not read. */
static inline int lingering(int *peer)
{
	const struct linger linger = { .l_onoff = 1, .l_linger = 3600 };
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(addr);
	static char much[65536];

	ck_assert_int_eq(bind(listener, (struct sockaddr *)&addr, sizeof(addr)), 0);
	ck_assert_int_eq(listen(listener, 1), 0);
	ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&addr, &length), 0);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	*peer = accept(listener, NULL, NULL);
	ck_assert_int_ge(*peer, 0);
	close(listener);
	ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
	while (send(fd, much, sizeof(much), MSG_DONTWAIT) > 0)
		;
	return fd;
}

static inline void client_close(struct client *c)
{
	close(c->line);
	close(c->events);
}

#endif
