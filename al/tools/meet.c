/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See meet.h. */
#include "al/tools/meet.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "al/tools/tool.h"

#define MEET_VERSION 1
#define MEET_MAX     1024 /* bytes of a record */
#define LONGEST_NAME 64

enum meet_kind { MEET_RECORD, MEET_FAILURE };

struct meet_head {
	guint32 version;
	guint32 kind; /* enum meet_kind */
};

/* ---------------------------------------------------------------- the way there */

static gboolean address(const char *tool, const char *name, struct sockaddr_un *addr,
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
	/* an abstract name: it begins with a zero byte, and goes with its socket */
	*size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			    (gsize)g_snprintf(addr->sun_path + 1, sizeof(addr->sun_path) - 1,
					      "ibal/%s/%s", tool, name));
	return TRUE;
}

/* A socket, and the address that it is to listen at or to come to; -1 and an error. */
static int new_socket(const char *tool, const char *name, struct sockaddr_un *addr, socklen_t *size,
		      GError **err)
{
	int fd;

	if (!address(tool, name, addr, size, err))
		return -1;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		tool_fail(err, "no socket to meet by: %s", g_strerror(errno));
	return fd;
}

/* Is it somebody whom we may meet? */
static gboolean is_ours(int fd, gboolean any_user, GError **err)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size))
		return tool_fail(err, "who the other end is cannot be found: %s",
				 g_strerror(errno));
	if (any_user || peer.uid == geteuid())
		return TRUE;
	return tool_fail(err,
			 "the other end is of user %u, this one of %u; "
			 "--any-user, at both ends, is for those who trust each other",
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
		tool_misuse(err, "somebody else listens as \"%s\" already: choose another name",
			    name);
	else
		tool_fail(err, "nobody can listen as \"%s\": %s", name, g_strerror(errno));
	close(fd);
	return -1;
}

/* An agent that is lost takes its HCAs with it, and nobody can be met any more. */
static gboolean has_hca(al_h al)
{
	gsize count = 0;

	return al_get_ca_guids(al, NULL, &count) != AL_SUCCESS || count;
}

/* FALSE with an error: a signal has come, or the HCAs of al have gone; NULL: the other end says so. */
static gboolean wait_for_input(al_h al, int fd, GError **err)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	/* the limit is for a signal that comes before poll(), and for a look at the HCAs */
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
			tool_fail(err, "nobody can come to \"%s\": %s", name, g_strerror(errno));
			return -1;
		}
		if (fd < 0) /* he has gone again */
			continue;
		if (is_ours(fd, any_user, &stranger))
			return fd;
		meet_tell_failure(fd, stranger);
		close(fd);
	}
	return -1;
}

int meet_come(const char *tool, const char *name, gboolean any_user, GError **err)
{
	struct sockaddr_un addr;
	socklen_t size = 0;
	int fd = new_socket(tool, name, &addr, &size, err);

	if (fd < 0)
		return -1;
	if (connect(fd, (struct sockaddr *)&addr, size)) {
		if (errno == ECONNREFUSED)
			tool_misuse(err, "nobody listens as \"%s\": begin with \"%s --listen %s\"",
				    name, tool, name);
		else
			tool_fail(err, "\"%s\" cannot be reached: %s", name, g_strerror(errno));
	} else if (is_ours(fd, any_user, err)) {
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
	/* a handful of small records fits into any socket: nothing here waits for a reader */
	return sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

gboolean meet_tell(int fd, const void *record, gsize size, GError **err)
{
	if (send_record(fd, MEET_RECORD, record, size))
		return TRUE;
	if (!meet_is_there(fd, err))
		return FALSE;
	return tool_fail(err, "the other end cannot be told anything: %s", g_strerror(errno));
}

void meet_tell_failure(int fd, const GError *why)
{
	gsize size = MIN(strlen(why->message), MEET_MAX);

	send_record(fd, MEET_FAILURE, why->message, size);
}

/* A record's length; negative: there is none, with an error unless nothing has come yet. */
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
		tool_fail(err, "the other end has gone without a word");
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

gboolean meet_hear(int fd, void *record, gsize size, GError **err)
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
			 "the other end is of another version: it says %" G_GSSIZE_FORMAT
			 " bytes where %" G_GSIZE_FORMAT " were to come",
			 n, size);
}

gboolean meet_has_said(int fd, guint ms)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	return poll(&pfd, 1, (int)ms) > 0;
}

gboolean meet_is_there(int fd, GError **err)
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
		.link_layer = end->port.link_layer,
		.lid = end->port.lid,
		.port_num = end->port_num,
		.mtu = (guint8)end->port.active_mtu,
	};
}

gboolean meet_believe(al_h al, const struct meet_card *card, struct pair_end *end, GError **err)
{
	gboolean seen;

	if (!pair_sees(al, card->guid, &seen, err))
		return FALSE;
	if (!seen)
		return tool_fail(
			err,
			"the other end's HCA 0x%016" G_GINT64_MODIFIER
			"x is none of those here: both ends must be clients of the same agent; "
			"see IBAL_AGENT in ibal(7)",
			card->guid);
	if (card->mtu < IB_MTU_256 || card->mtu > IB_MTU_4096 || !card->port_num)
		return tool_fail(err, "the other end tells of an MTU or a port that cannot be");
	*end = (struct pair_end){
		.name = end->name,
		.port_num = card->port_num,
		.guid = card->guid,
		.gid = card->gid,
		.port = { .lid = card->lid,
			  .active_mtu = (ib_mtu)card->mtu,
			  .max_msg_size = card->max_msg_size,
			  .link_layer = (ib_link_layer)card->link_layer },
	};
	return TRUE;
}
