/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Receiving records with descriptors, and closing descriptors that clients have sent. A close may
 * block for as long as a client likes: the kernel asks a FUSE server first. So threads for that
 * purpose close the descriptors, in turns by user, of which each has a share of the threads; they
 * end when nothing is left to close.
 */
#include "al/agent/descriptor.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <iba/ib_hca.h>

#include "al/agent/turn.h"

/* Descriptors of a record that a closer thread is to close. */
struct closing {
	struct job job; /* of the user */
	uint32_t num;
	int fd[];
};

static struct {
	pthread_mutex_t lock; /* guards the queue. Outside account.c's. */
	struct turns turns;
} closings = { .lock = PTHREAD_MUTEX_INITIALIZER, .turns.queue = QUEUE_CLOSERS };

static bool may_close(struct account *user)
{
	return account_take(user, AL_RESOURCE_CLOSERS, 1);
}

/* Takes one from the queue for a closer thread, which the thread's user is charged for. NULL: the
 * calling thread ends. */
static struct closing *next_closing(void)
{
	struct job *job;

	pthread_mutex_lock(&closings.lock);
	job = turns_take(&closings.turns, may_close);
	pthread_mutex_unlock(&closings.lock);
	return (struct closing *)job; /* job is the first member */
}

/* Closing a TCP socket may wait, unless lingering is off. */
static void close_one(int fd)
{
	const struct linger none = { 0 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
	close(fd);
}

static void *closer_main(void *arg)
{
	struct account *user;

	pthread_setname_np(pthread_self(), "ald-closer");
	for (struct closing *c = arg; c; c = next_closing()) {
		user = c->job.account;
		for (uint32_t i = 0; i < c->num; i++)
			close_one(c->fd[i]);
		account_return(user, AL_RESOURCE_CLOSERS, 1);
		account_return(user, AL_RESOURCE_DESCRIPTORS, c->num);
		al_free(c);
	}
	return NULL;
}

static void queue(struct closing *c)
{
	pthread_mutex_lock(&closings.lock);
	turns_add(&closings.turns, &c->job);
	pthread_mutex_unlock(&closings.lock);
}

/* Starts a thread for what waits, if a user is there who may have one more. If no thread can be
 * started, the next one that is closes it. */
static void start_closer(void)
{
	struct closing *c = next_closing();
	pthread_t thread;

	if (!c)
		return;
	if (!pthread_create(&thread, NULL, closer_main, c)) {
		pthread_detach(thread);
		return;
	}
	account_return(c->job.account, AL_RESOURCE_CLOSERS, 1);
	queue(c);
}

static void close_later(struct account *user, const int *fd, uint32_t num)
{
	struct closing *c = al_alloc(sizeof(*c) + num * sizeof(*fd));

	if (!c)
		return;
	c->job.account = user;
	memcpy(c->fd, fd, num * sizeof(*fd));
	c->num = num;
	queue(c);
	start_closer();
}

void descriptors_close(const struct descriptors *list)
{
	int fd[RECORD_FDS];
	uint32_t num = 0;

	for (uint32_t i = 0; i < list->num; i++)
		if (list->fd[i] >= 0)
			fd[num++] = list->fd[i];
	if (num)
		close_later(list->user, fd, num);
}

ssize_t descriptors_receive(int fd, struct account *user, void *record, size_t size,
			    struct descriptors *list)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(list->fd))];
	} control;
	struct iovec iov = { record, size };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control.bytes,
			      .msg_controllen = sizeof(control.bytes) };
	ssize_t n;

	list->user = user;
	list->num = 0;
	list->of_record = false;
	if (account_check(user, AL_RESOURCE_DESCRIPTORS, RECORD_FDS)) {
		errno = EDQUOT;
		return -1;
	}
	n = TEMP_FAILURE_RETRY(recvmsg(fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC));
	list->of_record = n > 0;
	if (n < 0)
		return n;
	list->whole = !(msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC));
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		list->of_record = true;
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		list->num = (uint32_t)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(list->fd, CMSG_DATA(c), list->num * sizeof(int));
	}
	if (list->num)
		account_force(user, AL_RESOURCE_DESCRIPTORS, list->num);
	return n;
}

/*
 * True: the connection has no record that the agent has not read. ECONNRESET says, once and before
 * the records, that the client has closed its end without reading all answers. SO_PASSCRED tells an
 * empty record from the end of the connection: a record brings its sender's credentials. A look at
 * a record takes none of its descriptors.
 */
static bool is_read(int fd)
{
	char byte, control[CMSG_SPACE(sizeof(struct ucred))] __attribute__((aligned(8)));
	struct iovec iov = { &byte, sizeof(byte) };
	struct msghdr msg;
	const int one = 1;
	ssize_t n;

	setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &one, sizeof(one));
	do {
		msg = (struct msghdr){ .msg_iov = &iov,
				       .msg_iovlen = 1,
				       .msg_control = control,
				       .msg_controllen = sizeof(control) };
		n = recvmsg(fd, &msg, MSG_DONTWAIT | MSG_PEEK);
	} while (n < 0 && (errno == ECONNRESET || errno == EINTR));
	return n < 0 || (!n && !msg.msg_controllen);
}

/*
 * Records that the agent has not read may hold descriptors, which the kernel lets go with the
 * socket, on the thread that closes the socket: a TCP socket may linger there, while no FUSE server
 * is asked. The records are not read for that: their descriptors would be the agent's.
 */
void descriptors_hang_up(int fd, struct account *user)
{
	shutdown(fd, SHUT_RDWR);
	if (!is_read(fd)) {
		close_later(user, &fd, 1);
		return;
	}
	close(fd);
	account_return(user, AL_RESOURCE_DESCRIPTORS, 1);
}
