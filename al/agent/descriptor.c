/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Closing descriptors that clients have sent. That may block for as long as a client likes: a FUSE
 * server is asked first, a TCP socket may linger. So it is done by threads for that purpose, which
 * are there only as long as there is something to close.
 */
#include "al/agent/descriptor.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <iba/ib_hca.h>

#define CLOSERS 64

/* Descriptors on their way out. */
struct parting {
	struct parting *next;
	struct descriptors list;
};

static struct {
	pthread_mutex_t lock; /* Leaf. */
	struct parting *first;
	uint32_t closers;
} partings = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct parting *next_parting(void)
{
	struct parting *p;

	pthread_mutex_lock(&partings.lock);
	p = partings.first;
	if (p)
		partings.first = p->next;
	else
		partings.closers--;
	pthread_mutex_unlock(&partings.lock);
	return p;
}

static void *closer_main(void *arg)
{
	struct parting *p;

	(void)arg;
	pthread_setname_np(pthread_self(), "ald-closer");
	while ((p = next_parting())) {
		for (uint32_t i = 0; i < p->list.num; i++)
			if (p->list.fd[i] >= 0)
				close(p->list.fd[i]);
		al_free(p);
	}
	return NULL;
}

/* Without a thread they wait for the next one. */
static void start_closer(void)
{
	pthread_t thread;

	if (partings.closers == CLOSERS || pthread_create(&thread, NULL, closer_main, NULL))
		return;
	pthread_detach(thread);
	partings.closers++;
}

void descriptors_close(const struct descriptors *list)
{
	struct parting *p;
	bool any = false;

	for (uint32_t i = 0; i < list->num; i++)
		any = any || list->fd[i] >= 0;
	p = any ? al_alloc(sizeof(*p)) : NULL;
	if (!p)
		return;
	p->list = *list;
	pthread_mutex_lock(&partings.lock);
	p->next = partings.first;
	partings.first = p;
	start_closer();
	pthread_mutex_unlock(&partings.lock);
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
 * Records that nobody has read may have brought more. A record of no bytes differs from the end in
 * that it has its sender's credentials with it; that the client has gone without reading all is
 * told once, before the records.
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
