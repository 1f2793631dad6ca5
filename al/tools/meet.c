/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* How two processes of a tool find each other and exchange records (meet.h), over an abstract Unix
 * socket. */
#include "al/tools/meet.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "al/tools/tool.h"

#define MEET_VERSION 2
#define MEET_MAX     1024 /* bytes of a record */
#define LONGEST_NAME 64

enum meet_kind { MEET_RECORD, MEET_FAILURE };

struct meet_head {
	guint32 version;
	guint32 kind; /* enum meet_kind */
};

/* ---------------------------------------------------------------- the way there */

/* The address of the socket with this name. */
static gboolean make_address(const char *tool, const char *name, struct sockaddr_un *addr,
			socklen_t *size, GError **err)
{
	gsize length = strlen(name);

	if (!length || length > LONGEST_NAME ||
	    strspn(name, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-") !=
		    length)
		return tool_misuse(
			err, "\"%s\" is no name to meet by: 1 to %d letters, digits and \"._-\"",
			name, LONGEST_NAME);
	*addr = (struct sockaddr_un){ .sun_family = AF_UNIX };
	/* An abstract name begins with a zero byte, and ends with its socket. */
	*size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			    (gsize)g_snprintf(addr->sun_path + 1, sizeof(addr->sun_path) - 1,
					      "ibal/%s/%s", tool, name));
	return TRUE;
}

/* Returns a new socket, and the address to listen at or to connect to; -1, with an error. */
static int new_socket(const char *tool, const char *name, struct sockaddr_un *addr, socklen_t *size,
		      GError **err)
{
	int fd;

	if (!make_address(tool, name, addr, size, err))
		return -1;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		tool_fail(err, "no socket to meet by: %s", g_strerror(errno));
	return fd;
}

/* TRUE: the peer's user is this process's, or any user will do. */
static gboolean check_user(int fd, gboolean any_user, GError **err)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size))
		return tool_fail(err, "the user of the other end cannot be found: %s",
				 g_strerror(errno));
	if (any_user || peer.uid == geteuid())
		return TRUE;
	return tool_fail(err,
			 "the other end is of user %u, this one of %u; "
			 "if both users trust each other, give --any-user at both ends",
			 (guint)peer.uid, (guint)geteuid());
}

int meet_listen(const char *tool, const char *name, GError **err)
{
	struct sockaddr_un addr;
	socklen_t size = 0;
	int fd = new_socket(tool, name, &addr, &size, err);

	if (fd < 0)
		return -1;
	if (!bind(fd, (struct sockaddr *)&addr, size) && !listen(fd, 8))
		return fd;
	if (errno == EADDRINUSE)
		tool_misuse(err, "another process listens as \"%s\" already: choose another name",
			    name);
	else
		tool_fail(err, "no socket can listen as \"%s\": %s", name, g_strerror(errno));
	close(fd);
	return -1;
}

/* FALSE: the agent is lost, and its HCAs with it: no peer can be served any more. */
static gboolean has_hca(al_h al)
{
	gsize count = 0;

	return al_get_ca_guids(al, NULL, &count) != AL_SUCCESS || count;
}

/* FALSE, with an error: a signal has come, or the HCAs of al have gone. al may be NULL: then only a
 * signal ends the wait. */
static gboolean wait_for_input(al_h al, int fd, GError **err)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	/* The limit of 250 ms: a signal may come just before poll(), and HCAs go without an event
	 * here. */
	while (!tool_interrupted) {
		if (poll(&pfd, 1, 250) > 0)
			return TRUE;
		if (al && !has_hca(al))
			return tool_fail(err, "there is no HCA any more: the agent has ended");
	}
	return tool_fail(err, "interrupted");
}

int meet_accept(al_h al, int listener, const char *name, gboolean any_user, GError **err)
{
	while (wait_for_input(al, listener, err)) {
		g_autoptr(GError) stranger = NULL;
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) {
			tool_fail(err, "no connection to \"%s\" can be accepted: %s", name, g_strerror(errno));
			return -1;
		}
		if (fd < 0) /* the peer has closed its connection already */
			continue;
		if (check_user(fd, any_user, &stranger))
			return fd;
		meet_send_failure(fd, stranger);
		close(fd);
	}
	return -1;
}

int meet_connect(const char *tool, const char *name, gboolean any_user, GError **err)
{
	struct sockaddr_un addr;
	socklen_t size = 0;
	int fd = new_socket(tool, name, &addr, &size, err);

	if (fd < 0)
		return -1;
	if (connect(fd, (struct sockaddr *)&addr, size)) {
		if (errno == ECONNREFUSED)
			tool_misuse(err, "no process listens as \"%s\": begin with \"%s --listen %s\"",
				    name, tool, name);
		else
			tool_fail(err, "\"%s\" cannot be reached: %s", name, g_strerror(errno));
	} else if (check_user(fd, any_user, err)) {
		return fd;
	}
	close(fd);
	return -1;
}

/* ------------------------------------------------------------------- records */

static gboolean send_record(int fd, enum meet_kind kind, const void *record, gsize size)
{
	struct meet_head head = { MEET_VERSION, kind };
	struct iovec iov[] = { { &head, sizeof(head) }, { (void *)record, size } };
	const struct msghdr msg = { .msg_iov = iov, .msg_iovlen = G_N_ELEMENTS(iov) };

	g_assert(size <= MEET_MAX);
	/* Few small records are under way at a time, which fit into any socket: the send never
	 * waits for a reader. */
	return sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

gboolean meet_send(int fd, const void *record, gsize size, GError **err)
{
	if (send_record(fd, MEET_RECORD, record, size))
		return TRUE;
	if (!meet_check_peer(fd, err))
		return FALSE;
	return tool_fail(err, "a record cannot be sent to the other end: %s", g_strerror(errno));
}

void meet_send_failure(int fd, const GError *why)
{
	gsize size = MIN(strlen(why->message), MEET_MAX);

	send_record(fd, MEET_FAILURE, why->message, size);
}

/* Receives a record, and returns its length. -1 without an error: none has come yet. -1 with an
 * error: the other end has gone, or has sent a failure. */
static gssize receive(int fd, int flags, void *record, gsize size, GError **err)
{
	char text[MEET_MAX + 1] = "";
	struct meet_head head;
	struct iovec iov[] = { { &head, sizeof(head) }, { text, MEET_MAX } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = G_N_ELEMENTS(iov) };
	gssize n = recvmsg(fd, &msg, flags | MSG_DONTWAIT);
	g_autofree char *said = NULL;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return -1;
	if (n <= 0) {
		tool_fail(err, "the other end has gone without giving a reason");
		return -1;
	}
	n -= (gssize)sizeof(head);
	if (n < 0 || msg.msg_flags & MSG_TRUNC || head.version != MEET_VERSION) {
		tool_fail(err, "the other end is of another version, or no tool of ibal's");
		return -1;
	}
	if (head.kind == MEET_FAILURE) {
		text[n] = '\0';
		said = tool_clean(text);
		tool_fail(err, "the other end says: %s", said);
		return -1;
	}
	if (size)
		memcpy(record, text, MIN((gsize)n, size));
	return n;
}

gboolean meet_receive(int fd, void *record, gsize size, GError **err)
{
	GError *why = NULL;
	gssize n;

	do {
		if (!wait_for_input(NULL, fd, err))
			return FALSE;
		n = receive(fd, 0, record, size, &why);
	} while (n < 0 && !why);
	if (why) {
		g_propagate_error(err, why);
		return FALSE;
	}
	if ((gsize)n == size)
		return TRUE;
	return tool_fail(err,
			 "the other end is of another version: its record has %" G_GSSIZE_FORMAT
			 " bytes in place of %" G_GSIZE_FORMAT "",
			 n, size);
}

gboolean meet_has_input(int fd, guint ms)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	return poll(&pfd, 1, (int)ms) > 0;
}

gboolean meet_check_peer(int fd, GError **err)
{
	GError *why = NULL;

	receive(fd, MSG_PEEK, NULL, 0, &why);
	if (!why)
		return TRUE;
	g_propagate_error(err, why);
	return FALSE;
}

/* --------------------------------------------------------------------- cards */

struct meet_card meet_card_of(const struct pair_end *end, guint32 qpn)
{
	return (struct meet_card){
		.guid = end->guid,
		.gid = end->gid,
		.qpn = qpn,
		.max_msg_size = end->port.max_msg_size,
		.link_layer = (guint16)end->port.link_layer,
		.pkey = end->pkey,
		.lid = end->port.lid,
		.port_num = end->port_num,
		.mtu = (guint8)end->port.active_mtu,
	};
}

gboolean meet_accept_card(al_h al, const struct meet_card *card, struct pair_end *end, GError **err)
{
	gboolean seen;

	if (!pair_has_hca(al, card->guid, &seen, err))
		return FALSE;
	if (!seen)
		return tool_fail(
			err,
			"the other end's HCA 0x%016" G_GINT64_MODIFIER
			"x is not among the HCAs of this end: both ends must be clients of the same agent; "
			"see IBAL_AGENT in ibal(7)",
			card->guid);
	if (card->mtu < IB_MTU_256 || card->mtu > IB_MTU_4096 || !card->port_num)
		return tool_fail(err, "the other end has an MTU or a port number that is not possible");
	*end = (struct pair_end){
		.name = end->name,
		.port_num = card->port_num,
		.guid = card->guid,
		.gid = card->gid,
		.pkey = card->pkey,
		.port = { .lid = card->lid,
			  .active_mtu = (ib_mtu)card->mtu,
			  .max_msg_size = card->max_msg_size,
			  .link_layer = (ib_link_layer)card->link_layer },
	};
	return TRUE;
}
