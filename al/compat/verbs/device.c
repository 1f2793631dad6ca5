/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Devices and contexts: the HCAs of the opening, and their openings by the program. */
#include <arpa/inet.h>
#include <endian.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "al/compat/verbs/verbs.h"
#include "al/compat/view.h"

/* Guards the members below. A forked child has an opening and devices of its own. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	pid_t pid; /* process of the opening; 0: none */
	al_h al;
	al_pnp_h pnp;
	struct device *devices;
} library;

/* Guards the list of contexts. The innermost lock, since the callback of removals takes it. */
static pthread_mutex_t contexts_lock = PTHREAD_MUTEX_INITIALIZER;
static struct context *contexts;

/* ------------------------------------------------------------------- removals */

/* The Access Layer destroys what is left on the HCA; a program of verbs hears of a device that has
 * failed. */
static al_status plugged(void *unused, const struct al_pnp_event *event)
{
	(void)unused;
	if (event->type != AL_PNP_CA_REMOVE)
		return AL_SUCCESS;
	pthread_mutex_lock(&contexts_lock);
	for (struct context *context = contexts; context; context = context->next)
		if (context->device->guid == event->ca_guid)
			eventfd_write(context->removed_fd, 1);
	pthread_mutex_unlock(&contexts_lock);
	return AL_SUCCESS;
}

/* Opens the library for this process. Under the lock. */
static al_status open_library(void)
{
	/* Verbs programs may leave objects to the end of the process. */
	const struct al_open_attr attr = { .left_behind = IB_LOG_DEBUG };
	al_status status;

	if (library.pid == getpid())
		return AL_SUCCESS;
	memset(&library, 0, sizeof(library)); /* a forked child has nothing of its parent's */
	contexts = NULL;
	status = al_open(&attr, &library.al);
	if (status)
		return status;
	status = al_reg_pnp(library.al, NULL, NULL, plugged, &library.pnp);
	if (status)
		al_close(library.al, NULL, NULL);
	else
		library.pid = getpid();
	return status;
}

/* -------------------------------------------------------------------- devices */

static bool has_name(const char *name)
{
	for (struct device *device = library.devices; device; device = device->next)
		if (!strcmp(device->ibv.name, name))
			return true;
	return false;
}

/* Under the lock. */
static void set_name(struct device *device, const char *name)
{
	unsigned int index = 0;

	view_name(device->ibv.name, sizeof(device->ibv.name), name, has_name(name), device->guid);
	for (struct device *other = library.devices; other; other = other->next)
		index++;
	snprintf(device->ibv.dev_name, sizeof(device->ibv.dev_name), "uverbs%u", index);
	snprintf(device->ibv.dev_path, sizeof(device->ibv.dev_path),
		 "/sys/class/infiniband_verbs/uverbs%u", index);
	snprintf(device->ibv.ibdev_path, sizeof(device->ibv.ibdev_path), "/sys/class/infiniband/%s",
		 device->ibv.name);
}

/* Finds or makes the device of an HCA. Under the lock. NULL: the HCA has gone, or there is no
 * memory. */
static struct device *get_device(uint64_t guid)
{
	struct device *device;
	struct ib_ca_attr attr;
	al_status status;
	al_ca_h ca;

	for (device = library.devices; device; device = device->next)
		if (device->guid == guid)
			return device;
	if (al_open_ca(library.al, guid, NULL, &ca))
		return NULL;
	status = al_query_ca(ca, &attr);
	al_close_ca(ca, NULL, NULL);
	if (status)
		return NULL;
	device = calloc(1, sizeof(*device));
	if (!device)
		return NULL;
	device->guid = guid;
	device->ibv.node_type = IBV_NODE_CA;
	device->ibv.transport_type = IBV_TRANSPORT_IB;
	set_name(device, attr.name);
	device->next = library.devices;
	library.devices = device;
	return device;
}

/* Reads the GUIDs of all HCAs. Under the lock. NULL: errno says why not. */
static uint64_t *read_guids(size_t *num)
{
	al_status status = AL_BUFFER_TOO_SMALL;
	uint64_t *guids = NULL, *grown;

	*num = 16;
	while (status == AL_BUFFER_TOO_SMALL) { /* the list may grow between two calls */
		grown = realloc(guids, (*num + 1) * sizeof(*guids));
		if (!grown) {
			free(guids);
			errno = ENOMEM;
			return NULL;
		}
		guids = grown;
		status = al_get_ca_guids(library.al, guids, num);
	}
	if (!status)
		return guids;
	free(guids);
	verbs_result(status);
	return NULL;
}

uint64_t *device_guids(size_t *num)
{
	uint64_t *guids;

	pthread_mutex_lock(&lock);
	guids = read_guids(num);
	pthread_mutex_unlock(&lock);
	return guids;
}

/* Writes the devices of the view to list, and a NULL. Returns their number. Under the lock. */
static int fill_list(struct ibv_device **list, const uint64_t *guids, size_t num)
{
	struct device *device;
	int found = 0;

	for (size_t i = 0; i < num; i++) {
		device = view_has(guids[i]) ? get_device(guids[i]) : NULL;
		if (device)
			list[found++] = &device->ibv;
	}
	list[found] = NULL;
	return found;
}

LATEST(struct ibv_device **, ibv_get_device_list)(int *num_devices)
{
	struct ibv_device **list = NULL;
	uint64_t *guids = NULL;
	size_t num = 0;
	int found = 0;

	pthread_mutex_lock(&lock);
	if (!verbs_result(open_library()))
		guids = read_guids(&num);
	if (guids)
		list = calloc(num + 1, sizeof(struct ibv_device *));
	if (list)
		found = fill_list(list, guids, num);
	pthread_mutex_unlock(&lock);
	free(guids);
	if (num_devices)
		*num_devices = found;
	return list;
}

LATEST(void, ibv_free_device_list)(struct ibv_device **list)
{
	free(list);
}

LATEST(const char *, ibv_get_device_name)(struct ibv_device *device)
{
	return device->name;
}

/* The kernel's number of a device, which a device of ibal has not. */
EXPORT int ibv_get_device_index(struct ibv_device *device)
{
	(void)device;
	return -1;
}

LATEST(be64, ibv_get_device_guid)(struct ibv_device *device)
{
	return htobe64(verbs_of(device, struct device, ibv)->guid);
}

/* ------------------------------------------------------------------- contexts */

static const struct ibv_context_ops context_ops = {
	.poll_cq = verbs_poll_cq,
	.req_notify_cq = verbs_req_notify_cq,
	.post_send = verbs_post_send,
	.post_recv = verbs_post_recv,
};

static const struct verbs_context context_calls = {
	.query_port = verbs_query_port,
	.alloc_parent_domain = verbs_alloc_parent_domain,
	.dealloc_td = verbs_dealloc_td,
	.alloc_td = verbs_alloc_td,
	.modify_cq = verbs_modify_cq,
	.query_rt_values = verbs_query_rt_values,
	.create_cq_ex = verbs_create_cq_ex,
	.query_device_ex = verbs_query_device_ex,
	.create_qp_ex = verbs_create_qp_ex,
	.sz = sizeof(struct verbs_context),
};

void context_ref(struct ibv_context *ibv)
{
	atomic_fetch_add(&context_of(ibv)->refs, 1);
}

void context_put(struct ibv_context *ibv)
{
	struct context *context = context_of(ibv);

	if (atomic_fetch_sub(&context->refs, 1) != 1)
		return;
	objects_free(&context->objects);
	pthread_mutex_destroy(&ibv->mutex);
	free(context);
}

/* Ends what the context has of the Access Layer. Objects that the program has left are destroyed. */
static al_status close_context(struct context *context)
{
	al_status status = AL_SUCCESS;

	if (context->handler)
		al_dereg_event_handler(context->handler, NULL, NULL);
	if (context->pd)
		al_dealloc_pd(context->pd, NULL, NULL); /* refused if the program has left queues */
	if (context->ca)
		status = al_close_ca(context->ca, AL_DESTROY_SYNC, NULL);
	if (status)
		return status;
	if (context->events)
		al_destroy_channel(context->events, AL_DESTROY_SYNC, NULL);
	if (context->verbs.context.async_fd >= 0)
		close(context->verbs.context.async_fd);
	if (context->removed_fd >= 0)
		close(context->removed_fd);
	return AL_SUCCESS;
}

/* Makes what a context has of the Access Layer. */
static int open_context(struct context *context)
{
	struct ibv_context *ibv = &context->verbs.context;
	struct ib_ca_attr attr;
	al_status status = al_open_ca(context->al, context->device->guid, NULL, &context->ca);

	if (!status)
		status = al_query_ca(context->ca, &attr);
	if (!status)
		status = al_alloc_pd(context->ca, NULL, &context->pd);
	if (!status)
		status = al_create_channel(context->al, NULL, &context->events);
	if (!status)
		status = al_reg_event_handler(context->ca, context->events, NULL, NULL,
					      &context->handler);
	if (status)
		return verbs_result(status);
	context->removed_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (context->removed_fd < 0)
		return errno;
	ibv->async_fd = event_descriptor(context->events, context->removed_fd);
	ibv->num_comp_vectors = (int)attr.num_comp_vectors;
	return ibv->async_fd < 0 ? errno : 0;
}

static struct context *new_context(struct device *device)
{
	struct context *context = calloc(1, sizeof(*context));
	struct ibv_context *ibv;

	if (!context)
		return NULL;
	context->device = device;
	context->removed_fd = -1;
	context->verbs = context_calls;
	ibv = &context->verbs.context;
	ibv->device = &device->ibv;
	ibv->ops = context_ops;
	ibv->cmd_fd = ibv->async_fd = -1;
	ibv->abi_compat = (void *)UINTPTR_MAX;
	pthread_mutex_init(&ibv->mutex, NULL);
	atomic_init(&context->refs, 1);
	objects_init(&context->objects);
	return context;
}

LATEST(struct ibv_context *, ibv_open_device)(struct ibv_device *ibv)
{
	struct device *device = verbs_of(ibv, struct device, ibv);
	struct context *context = new_context(device);
	int error;

	if (!context)
		return NULL;
	pthread_mutex_lock(&lock);
	error = verbs_result(open_library());
	context->al = library.al;
	pthread_mutex_unlock(&lock);
	if (!error)
		error = open_context(context);
	if (error) {
		close_context(context);
		context_put(&context->verbs.context);
		errno = error;
		return NULL;
	}
	pthread_mutex_lock(&contexts_lock);
	context->next = contexts;
	contexts = context;
	pthread_mutex_unlock(&contexts_lock);
	return &context->verbs.context;
}

/* Takes a context out of the list. False: it is not in the list, so it was closed before. */
static bool unlist(const struct ibv_context *ibv)
{
	struct context **at = &contexts;
	bool found;

	pthread_mutex_lock(&contexts_lock);
	while (*at && &(*at)->verbs.context != ibv)
		at = &(*at)->next;
	found = *at != NULL;
	if (found)
		*at = (*at)->next;
	pthread_mutex_unlock(&contexts_lock);
	return found;
}

LATEST(int, ibv_close_device)(struct ibv_context *ibv)
{
	if (!unlist(ibv))
		return verbs_fail(EINVAL);
	close_context(context_of(ibv));
	context_put(ibv);
	return 0;
}
