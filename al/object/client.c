/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Clients of the agent: the client for which a thread acts, a client's thread, and access to a
 * client's memory. */
#include "al/object/client.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "al/object/thread.h"

__thread struct ci_udata *acting_for;

void al_act_for(struct ci_udata *udata)
{
	acting_for = udata;
}

/* ------------------------------------------------------- the client's thread */

/* Takes the oldest job, and waits for a job if there is none. NULL: the client has ended and all
 * jobs are done. */
static struct ci_client_job *next_job(struct ci_client *client)
{
	struct ci_client_job *job;

	pthread_mutex_lock(&client->lock);
	while (!client->jobs && !client->ended)
		pthread_cond_wait(&client->work, &client->lock);
	job = client->jobs;
	if (job) {
		client->jobs = job->next;
		if (!client->jobs)
			client->jobs_end = &client->jobs;
	}
	pthread_mutex_unlock(&client->lock);
	return job;
}

static void *client_main(void *arg)
{
	struct ci_client *client = arg;
	struct ci_client_job *job;
	uint32_t *under_way;

	library_thread_begin("al-client", CONTEXT_NONE);
	while ((job = next_job(client))) {
		under_way = job->under_way;
		job->run(job);
		/* The module waits for the counter to reach 0 and may free it at once. The futex
		 * wake only uses the counter's address, so the wake is harmless after that. */
		if (under_way && !__atomic_sub_fetch(under_way, 1, __ATOMIC_SEQ_CST))
			syscall(SYS_futex, under_way, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
	}
	client->ended(client->ended_context);
	return NULL;
}

void al_client_begin(struct ci_client *client)
{
	pthread_mutex_init(&client->lock, NULL);
	pthread_cond_init(&client->work, NULL);
	client->jobs_end = &client->jobs;
}

al_status client_start(struct ci_client *client)
{
	al_status status = AL_SUCCESS;
	pthread_t thread;

	pthread_mutex_lock(&client->lock);
	if (!client->started) {
		status = library_thread_start(&thread, "al-client", client_main, client);
		if (!status) {
			pthread_detach(thread);
			client->started = true;
		}
	}
	pthread_mutex_unlock(&client->lock);
	return status;
}

/* Under client->lock. */
static void add_job(struct ci_client *client, struct ci_client_job *job)
{
	job->next = NULL;
	*client->jobs_end = job;
	client->jobs_end = &job->next;
	pthread_cond_signal(&client->work);
}

void ci_client_run(struct ci_client *client, struct ci_client_job *job)
{
	pthread_mutex_lock(&client->lock);
	add_job(client, job);
	pthread_mutex_unlock(&client->lock);
}

bool al_client_after(struct ci_client *client, struct ci_client_job *job)
{
	bool started;

	pthread_mutex_lock(&client->lock);
	started = client->started;
	if (started)
		add_job(client, job);
	pthread_mutex_unlock(&client->lock);
	return started;
}

bool al_client_end(struct ci_client *client, void (*ended)(void *context), void *context)
{
	bool started;

	pthread_mutex_lock(&client->lock);
	started = client->started;
	client->ended = ended;
	client->ended_context = context;
	pthread_cond_signal(&client->work);
	pthread_mutex_unlock(&client->lock);
	return started;
}

void al_client_free(struct ci_client *client)
{
	/* the thread that signalled last may still hold the lock */
	pthread_mutex_lock(&client->lock);
	pthread_mutex_unlock(&client->lock);
	pthread_cond_destroy(&client->work);
	pthread_mutex_destroy(&client->lock);
}

/* ------------------------------------------------------- the client's memory */

/*
 * client->memory refers to an address space, not to a process: after an exec or the client's death,
 * reads and writes fail. They ignore the protection of pages, which harms only the client that
 * asked for them.
 */
al_status ci_client_read(struct ci_client *client, uint64_t addr, void *to, uint64_t length)
{
	ssize_t n;

	for (char *at = to; length; addr += (uint64_t)n, at += n, length -= (uint64_t)n) {
		n = TEMP_FAILURE_RETRY(pread(client->memory, at, length, (off_t)addr));
		if (n <= 0)
			return AL_INVALID_ADDRESS;
	}
	return AL_SUCCESS;
}

al_status ci_client_write(struct ci_client *client, uint64_t addr, const void *from,
			  uint64_t length)
{
	ssize_t n;

	for (const char *at = from; length; addr += (uint64_t)n, at += n, length -= (uint64_t)n) {
		n = TEMP_FAILURE_RETRY(pwrite(client->memory, at, length, (off_t)addr));
		if (n <= 0)
			return AL_INVALID_ADDRESS;
	}
	return AL_SUCCESS;
}

al_status ci_client_give_fd(struct ci_udata *udata, int fd)
{
	struct al_udata *own =
		(struct al_udata *)udata; /* udata is the first member of struct al_udata */
	int copy;

	if (own->num_given == UVP_MAX_FDS)
		return AL_LIMIT_EXCEEDED;
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (copy < 0)
		return errno == EBADF ? AL_INVALID_PARAMETER : AL_INSUFFICIENT_RESOURCES;
	own->given[own->num_given++] = copy;
	return AL_SUCCESS;
}
