/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The records between two programs that have met, and waits with a limit. */
#include "al/connect/meet.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "al/object/object.h"
#include "al/object/thread.h"
#include "ci/ci.h"

#define MEET_MAGIC   0x69626d74u /* "ibmt" */
#define MEET_VERSION 1
#define HEAD_BYTES   12
#define WHY_BYTES    200 /* of a refusal */

enum kind { KIND_RECORD = 1, KIND_REFUSAL = 2 };

/* ---------------------------------------------------------------------- waits */

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

struct meet_limit meet_limit(int timeout_ms)
{
	return (struct meet_limit){ .none = timeout_ms < 0,
				    .until_ms = timeout_ms < 0 ? 0 : now_ms() + timeout_ms };
}

int meet_left(const struct meet_limit *limit)
{
	int64_t left;

	if (limit->none)
		return -1;
	left = limit->until_ms - now_ms();
	if (left < 0)
		return 0;
	return left > INT_MAX ? INT_MAX : (int)left;
}

al_status meet_wait(int fd, short events, const struct meet_limit *limit)
{
	struct pollfd pfd = { .fd = fd, .events = events };
	const int ready = poll(&pfd, 1, meet_left(limit));

	if (ready > 0)
		return AL_SUCCESS; /* also after an error of the socket, which the next call finds
				    */
	if (!ready)
		return ib_refuse(AL_TIMEOUT, "the other end has not come within the limit");
	if (errno == EINTR)
		return ib_refuse(AL_CANCELLED, "the thread has run a signal handler");
	return ib_refuse(meet_status(errno), "the wait has failed: %s", strerrordesc_np(errno));
}

al_status meet_status(int error)
{
	switch (error) {
	case ENOENT:
	case ENOTDIR:
	case ECONNREFUSED:
	case EPIPE:
	case ECONNRESET:
	case ENOTCONN:
		return AL_NOT_FOUND;
	case EACCES:
	case EPERM:
	case EROFS:
		return AL_PERMISSION;
	case EMFILE:
	case ENFILE:
	case ENOBUFS:
		return AL_INSUFFICIENT_RESOURCES;
	case ENOMEM:
		return AL_INSUFFICIENT_MEMORY;
	case ETIMEDOUT:
		return AL_TIMEOUT;
	case EINTR:
		return AL_CANCELLED;
	default:
		return AL_IO_ERROR;
	}
}

/* -------------------------------------------------------------------- records */

static void put_head(uint8_t head[HEAD_BYTES], enum kind kind, uint32_t size)
{
	const uint32_t words[] = { MEET_MAGIC, MEET_VERSION << 16 | (uint32_t)kind, size };

	for (unsigned int i = 0; i < HEAD_BYTES; i++)
		head[i] = (uint8_t)(words[i / 4] >> (24 - i % 4 * 8));
}

static uint32_t word_of(const uint8_t head[HEAD_BYTES], unsigned int word)
{
	const uint8_t *at = head + (size_t)word * 4;

	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* Ends a connection whose two ends no longer agree where a record begins. Returns status. */
static al_status give_up(int fd, al_status status)
{
	shutdown(fd, SHUT_RDWR);
	return status;
}

static al_status gone(int error)
{
	const al_status status = error ? meet_status(error) : AL_NOT_FOUND;

	if (status == AL_NOT_FOUND)
		return ib_refuse(status, "the other end has closed the connection");
	return ib_refuse(status, "the connection has failed: %s", strerrordesc_np(error));
}

static al_status send_record(int fd, enum kind kind, const void *record, uint32_t size,
			     const struct meet_limit *limit)
{
	uint8_t frame[HEAD_BYTES + AL_MEET_BYTES];
	const size_t length = HEAD_BYTES + size;
	size_t sent = 0;

	put_head(frame, kind, size);
	if (size)
		memcpy(frame + HEAD_BYTES, record, size);
	while (sent < length) {
		const ssize_t n =
			send(fd, frame + sent, length - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
		al_status status;

		if (n >= 0) {
			sent += (size_t)n;
			continue;
		}
		if (errno != EAGAIN && errno != EINTR)
			return give_up(fd, gone(errno));
		status = meet_wait(fd, POLLOUT, limit);
		if (status)
			return sent ? give_up(fd, status) : status;
	}
	return AL_SUCCESS;
}

al_status al_meet_send(int fd, const void *record, uint32_t size, int timeout_ms)
{
	const struct meet_limit limit = meet_limit(timeout_ms);
	al_status status = AL_SUCCESS;

	if (thread_context == CONTEXT_ATOMIC)
		status = refuse_context();
	else if (!record || size > AL_MEET_BYTES)
		status = ib_refuse(AL_INVALID_PARAMETER,
				   "record is NULL, or its size of %u bytes is more than %d", size,
				   AL_MEET_BYTES);
	else
		status = send_record(fd, KIND_RECORD, record, size, &limit);
	return SETTLED(status);
}

al_status al_meet_refuse(int fd, const char *why)
{
	const struct meet_limit limit = meet_limit(0);
	al_status status = AL_SUCCESS;

	if (thread_context == CONTEXT_ATOMIC)
		status = refuse_context();
	else if (!why)
		status = ib_refuse(AL_INVALID_PARAMETER, "why is NULL");
	else
		status = send_record(fd, KIND_REFUSAL, why, (uint32_t)strnlen(why, WHY_BYTES),
				     &limit);
	return SETTLED(status);
}

/* Receives so many bytes; *begun: the connection is amid a record. */
static al_status receive_bytes(int fd, void *bytes, size_t size, bool *begun,
			       const struct meet_limit *limit)
{
	size_t have = 0;

	while (have < size) {
		const ssize_t n = recv(fd, (uint8_t *)bytes + have, size - have, MSG_DONTWAIT);
		al_status status;

		if (n > 0) {
			have += (size_t)n;
			*begun = true;
			continue;
		}
		if (!n || (errno != EAGAIN && errno != EINTR))
			return gone(n ? errno : 0);
		status = meet_wait(fd, POLLIN, limit);
		if (status)
			return status;
	}
	return AL_SUCCESS;
}

/* Takes the rest of a refusal. Returns AL_PERMISSION. */
static al_status receive_refusal(int fd, uint32_t size, const struct meet_limit *limit)
{
	char why[WHY_BYTES + 1] = "";
	bool begun = true;
	al_status status;

	if (size > WHY_BYTES)
		return ib_refuse(AL_UNSUPPORTED, "the other end's refusal is too long: %u bytes",
				 size);
	status = receive_bytes(fd, why, size, &begun, limit);
	/* ib_refuse() keeps the text to one line. */
	return status ? status : ib_refuse(AL_PERMISSION, "the other end refuses: %s", why);
}

static al_status receive_record(int fd, void *record, uint32_t *size, bool *begun,
				const struct meet_limit *limit)
{
	const uint32_t room = *size;
	uint8_t head[HEAD_BYTES];
	uint32_t kind, length;
	al_status status = receive_bytes(fd, head, sizeof(head), begun, limit);

	if (status)
		return status;
	kind = word_of(head, 1);
	length = word_of(head, 2);
	if (word_of(head, 0) != MEET_MAGIC)
		return ib_refuse(AL_UNSUPPORTED, "the other end sends no records of ibal's");
	if (kind >> 16 != MEET_VERSION)
		return ib_refuse(
			AL_UNSUPPORTED,
			"the other end's records have version %u, and this end's version %d",
			kind >> 16, MEET_VERSION);
	kind &= 0xffff;
	if (kind == KIND_REFUSAL)
		return receive_refusal(fd, length, limit);
	if (kind != KIND_RECORD || length > AL_MEET_BYTES)
		return ib_refuse(AL_UNSUPPORTED, "the other end's record has kind %u and %u bytes",
				 kind, length);
	*size = length;
	if (length > room)
		return ib_refuse(AL_BUFFER_TOO_SMALL,
				 "the other end's record has %u bytes, and there is room for %u",
				 length, room);
	return receive_bytes(fd, record, length, begun, limit);
}

al_status al_meet_receive(int fd, void *record, uint32_t *size, int timeout_ms)
{
	const struct meet_limit limit = meet_limit(timeout_ms);
	bool begun = false;
	al_status status;

	if (thread_context == CONTEXT_ATOMIC)
		status = refuse_context();
	else if (!record || !size)
		status = ib_refuse(AL_INVALID_PARAMETER, "record or size is NULL");
	else
		status = receive_record(fd, record, size, &begun, &limit);
	if (status && begun)
		give_up(fd, status);
	return SETTLED(status);
}
