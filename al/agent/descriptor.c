/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Receiving records with descriptors, and closing descriptors that clients have sent. A close may
 * block for as long as a client likes: the kernel asks a FUSE server first, and a TCP socket may
 * linger. So threads for that purpose close the descriptors; they end when nothing is left to
 * close.
 */
#include "al/agent/descriptor.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <iba/ib_hca.h>

#define CLOSERS 64

/* Descriptors of a record that a closer thread is to close. */
struct closing {
	struct closing *next;
	struct descriptors list;
};

static struct {
	pthread_mutex_t lock; /* guards the list and the number of closer threads. Leaf. */
	struct closing *first;
	uint32_t closers;
} closings = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Takes one from the list. NULL: the list is empty, and the calling closer thread ends. */
static struct closing *next_closing(void)
{
	struct closing *c;

	pthread_mutex_lock(&closings.lock);
	c = closings.first;
	if (c)
		closings.first = c->next;
	else
		closings.closers--;
	pthread_mutex_unlock(&closings.lock);
	return c;
}

static void *closer_main(void *arg)
{
	struct closing *c;

	(void)arg;
	pthread_setname_np(pthread_self(), "ald-closer");
	for (c = next_closing(); c; c = next_closing()) {
		for (uint32_t i = 0; i < c->list.num; i++)
			if (c->list.fd[i] >= 0)
				close(c->list.fd[i]);
		al_free(c);
	}
	return NULL;
}

/* If no thread can be started, the next closer thread closes the descriptors. Under the lock. */
static void start_closer(void)
{
	pthread_t thread;

	if (closings.closers == CLOSERS || pthread_create(&thread, NULL, closer_main, NULL))
		return;
	pthread_detach(thread);
	closings.closers++;
}

void descriptors_close(const struct descriptors *list)
{
	struct closing *c;
	bool any = false;

	for (uint32_t i = 0; i < list->num; i++)
		any = any || list->fd[i] >= 0;
	c = any ? al_alloc(sizeof(*c)) : NULL;
	if (!c)
		return;
	c->list = *list;
	pthread_mutex_lock(&closings.lock);
	c->next = closings.first;
	closings.first = c;
	start_closer();
	pthread_mutex_unlock(&closings.lock);
}

ssize_t descriptors_receive(int fd, void *record, size_t size, struct descriptors *list)
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
	ssize_t n = TEMP_FAILURE_RETRY(recvmsg(fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC));

	list->num = 0;
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
	return n;
}

/*
 * Records that the agent has not read may hold descriptors, which the kernel would close on this
 * thread with the socket: so the records are read first. SO_PASSCRED tells an empty record from the
 * end of the connection: a record brings its sender's credentials. ECONNRESET says, once and before
 * the records, that the client has closed its end without reading all answers.
 */
void descriptors_hang_up(int fd)
{
	struct descriptors list;
	const int one = 1;
	bool more;
	char byte = 0;

	shutdown(fd, SHUT_RDWR);
	setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &one, sizeof(one));
	do {
		more = descriptors_receive(fd, &byte, sizeof(byte), &list) < 0 ? errno == ECONNRESET
									       : list.of_record;
		descriptors_close(&list);
	} while (more);
	close(fd);
}
