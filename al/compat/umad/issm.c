/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The capability IsSM of ports. A program that manages the subnet opens the file of
 * umad_get_issm_path() for reading, and keeps the file open for as long as the port shall have the
 * capability. The file is a FIFO in the user's runtime directory. A thread for each FIFO holds the
 * writing end: the kernel tells the thread when the first reader opens the FIFO and when the last
 * one has closed it or died. The capability belongs to this process's HCA handle, so the capability
 * also ends with the process (al/verbs/ca.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "al/compat/umad/device.h"

#define EXPORT __attribute__((visibility("default")))

/* A FIFO with a thread that watches it. */
struct watch {
	struct watch *next;
	al_ca_h ca;
	int number;      /* port */
	bool has_reader; /* guarded by lock */
	dev_t device;    /* of the FIFO, with inode */
	ino_t inode;
	char path[];
};

/* Guards the members below. A forked child has no threads, hence watches of its own. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	pid_t pid; /* process of the threads */
	struct watch *first;
} watches;

/* ----------------------------------------------------------------------- FIFOs */

static int make_fifo(const struct device *device, int number, char *path, size_t size)
{
	const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
	int length;

	if (runtime && *runtime)
		length = snprintf(path, size, "%s/ibal-issm-%s-%d", runtime, device->name, number);
	else
		length = snprintf(path, size, "/tmp/ibal-issm-%u-%s-%d", (unsigned int)getuid(),
				  device->name, number);
	if (length < 0 || (size_t)length >= size)
		return -ENAMETOOLONG;
	return mkfifo(path, 0600) && errno != EEXIST ? -errno : 0;
}

/* True: a file is a FIFO of this user. Every user may write in /tmp, so a path can lead to another
 * user's file or link. */
static bool is_own_fifo(const struct stat *file)
{
	return S_ISFIFO(file->st_mode) && file->st_uid == geteuid();
}

/* --------------------------------------------------------------------- watching */

static bool is_same_port(const struct watch *a, const struct watch *b)
{
	return a->ca == b->ca && a->number == b->number;
}

/* Notes whether a FIFO has a reader, and gives the port the capability or takes it. A FIFO that was
 * removed and made again is two FIFOs, of which one reader is enough. Under the lock. */
static al_status note_reader(struct watch *watch, bool has)
{
	const struct ib_port_modify change = { .set_caps = has ? IB_PORT_CAP_SM : 0,
					       .clear_caps = has ? 0 : IB_PORT_CAP_SM };

	watch->has_reader = has;
	for (const struct watch *w = watches.first; w; w = w->next)
		if (w != watch && w->has_reader && is_same_port(w, watch))
			return AL_SUCCESS;
	return al_modify_port(watch->ca, (uint8_t)watch->number, IB_PORT_MODIFY_CAP_MASK, &change);
}

static al_status take_note(struct watch *watch, bool has)
{
	al_status status;

	pthread_mutex_lock(&lock);
	status = note_reader(watch, has);
	pthread_mutex_unlock(&lock);
	return status;
}

/* Waits until the FIFO has a reader. Returns the writing end; negative: the path leads to another
 * file now. */
static int wait_for_reader(const struct watch *watch)
{
	struct stat file;
	int fd = open(watch->path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return fd;
	if (!fstat(fd, &file) && file.st_dev == watch->device && file.st_ino == watch->inode)
		return fd;
	close(fd);
	return -1;
}

/* Waits until the FIFO has no reader: poll() reports POLLERR, which is never asked for. */
static void wait_for_last_reader(int fd)
{
	struct pollfd end = { .fd = fd };

	while (poll(&end, 1, -1) < 0)
		;
}

static void forget(struct watch *watch)
{
	struct watch **at;

	pthread_mutex_lock(&lock);
	for (at = &watches.first; *at != watch; at = &(*at)->next)
		;
	*at = watch->next;
	pthread_mutex_unlock(&lock);
	free(watch);
}

/* A watch's thread: ends when the HCA has gone or another file is at the path. */
static void *watch_fifo(void *arg)
{
	struct watch *watch = arg;
	al_status status;
	int fd;

	while ((fd = wait_for_reader(watch)) >= 0) {
		status = take_note(watch, true);
		if (!status)
			wait_for_last_reader(fd);
		close(fd);
		if (status || take_note(watch, false))
			break;
	}
	forget(watch);
	return NULL;
}

static int start_thread(struct watch *watch)
{
	sigset_t all, before;
	pthread_t thread;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&thread, NULL, watch_fifo, watch);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!error)
		pthread_detach(thread);
	return -error;
}

static bool is_watched(al_ca_h ca, int number, const struct stat *file)
{
	for (const struct watch *w = watches.first; w; w = w->next)
		if (w->ca == ca && w->number == number && w->device == file->st_dev &&
		    w->inode == file->st_ino)
			return true;
	return false;
}

/* Adds a watch. The first change of the capability clears bits that are not set: so the program
 * learns now whether its user may manage the port. Called under the lock. */
static int add_watch(al_ca_h ca, int number, const char *path, const struct stat *file)
{
	struct watch *watch = calloc(1, sizeof(*watch) + strlen(path) + 1);
	int error;

	if (!watch)
		return -ENOMEM;
	watch->ca = ca;
	watch->number = number;
	watch->device = file->st_dev;
	watch->inode = file->st_ino;
	strcpy(watch->path, path);
	error = umad_errno(note_reader(watch, false));
	if (!error)
		error = start_thread(watch);
	if (error) {
		free(watch);
		return error;
	}
	watch->next = watches.first;
	watches.first = watch;
	return 0;
}

static int watch_once(al_ca_h ca, int number, const char *path)
{
	int before = cancel_off(), error = 0;
	struct stat file;

	pthread_mutex_lock(&lock);
	if (watches.pid != getpid()) {
		watches.pid = getpid();
		watches.first = NULL; /* the parent's */
	}
	if (lstat(path, &file) || !is_own_fifo(&file))
		error = -EPERM;
	else if (!is_watched(ca, number, &file))
		error = add_watch(ca, number, path, &file);
	pthread_mutex_unlock(&lock);
	cancel_back(before);
	return error;
}

EXPORT int umad_get_issm_path(const char *ca_name, int number, char *path, int max)
{
	struct device device;
	int error = device_find(ca_name, &number, &device);

	if (!error)
		error = make_fifo(&device, number, path, max > 0 ? (size_t)max : 0);
	return error ? error : watch_once(device.ca, number, path);
}
