/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The provider as a whole: the hooks of an HCA and of address handles, the HCA's bells, shared files, and the table of hooks.
 * Completion queues are in cq.c, queue pairs in qp.c.
 */
#include "uvp/soft/provider.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hca/soft/shared/base.h"
#include "hca/soft/shared/lock.h"
#include "hca/soft/shared/ring.h"
#include "hca/soft/shared/wr.h"

/* ---------------------------------------------------------------- shared files */

al_status share(struct shared *file, size_t bytes, struct uvp_call *call, const void *request,
		uint32_t length)
{
	file->bytes = bytes;
	file->mem = MAP_FAILED;
	file->fd = memfd_create(RING_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (file->fd < 0)
		return AL_INSUFFICIENT_RESOURCES;
	if (!ftruncate(file->fd, (off_t)bytes) &&
	    !fcntl(file->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		file->mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file->fd, 0);
	if (file->mem == MAP_FAILED) {
		close(file->fd);
		return AL_INSUFFICIENT_MEMORY;
	}
	/* A forked child does not inherit the parent's objects, and must not write into their queues. */
	madvise(file->mem, bytes, MADV_DONTFORK);
	memcpy(call->in, request, length);
	call->in_len = length;
	call->in_fds[call->num_in_fds++] = file->fd;
	return AL_SUCCESS;
}

void share_crossed(struct shared *file, al_status status)
{
	close(file->fd);
	file->fd = -1;
	if (status)
		share_end(file);
}

void share_end(struct shared *file)
{
	munmap(file->mem, file->bytes);
}

/* -------------------------------------------------------------------- the HCA */

static al_status pre_open_ca(struct ci_ca *base, struct uvp_call *call)
{
	struct provider_ca *ca = (struct provider_ca *)base;
	const struct ring_open request = { .version = RING_VERSION };

	call->out_room = sizeof(struct ring_opened);
	return share(&ca->door, sizeof(struct ring_door), call, &request, sizeof(request));
}

/* Closes the descriptors of the module's answer. */
static void close_answered_fds(struct uvp_call *call)
{
	while (call->num_out_fds)
		close(call->out_fds[--call->num_out_fds]);
}

static al_status post_open_ca(struct ci_ca *base, al_status status, struct uvp_call *call)
{
	struct provider_ca *ca = (struct provider_ca *)base;
	const struct ring_opened *answer = call->out;
	al_status verdict = AL_SUCCESS;

	if (!status && (!answer || call->out_len != sizeof(*answer) || call->num_out_fds != 1 ||
			answer->version != RING_VERSION)) {
		ib_log(IB_LOG_ERROR, "soft",
		       "the agent's module soft.so and the program's provider soft.so are of different versions: "
		       "install both from one release, and restart the agent and the program");
		verdict = AL_MODULE_ABI;
	}
	share_crossed(&ca->door, status ? status : verdict);
	if (status || verdict) {
		close_answered_fds(call);
		return verdict;
	}
	ca->wake = call->out_fds[0];
	ca->gids = answer->gids;
	ca->lmc = answer->lmc;
	return AL_SUCCESS;
}

static void post_close_ca(struct ci_ca *base, struct uvp_call *call)
{
	struct provider_ca *ca = (struct provider_ca *)base;

	(void)call;
	close(ca->wake);
	share_end(&ca->door);
}

/* Each queue pair needs a bell of its own, so bells limit the number of queue pairs. */
static void post_query_ca(struct ci_ca *ca, struct ib_ca_attr *attr, al_status status,
			  struct uvp_call *call)
{
	(void)ca;
	(void)call;
	if (!status && attr->max_qp > RING_BELLS)
		attr->max_qp = RING_BELLS;
}

void door_ring(const struct provider_ca *ca, uint32_t bell)
{
	struct ring_door *door = ca_door(ca);
	uint64_t one = 1;

	/* release: pairs with the acquire in take_bells(); the module sees the posted requests */
	atomic_fetch_or_explicit(&door->bells[bell / 64], 1ull << bell % 64, memory_order_release);
	/* Sequentially consistent, as are the store of asleep and the load of the bells in
	 * ring_thread.c: either the module's thread sees the bell, or this thread sees that the
	 * module's thread sleeps. */
	atomic_fetch_or(&door->rung, 1ull << bell / 64);
	if (LIKELY(!atomic_load(&door->asleep)))
		return;
	/* Of several threads that see the module's thread asleep, one wakes it. */
	if (atomic_exchange(&door->asleep, 0) && write(ca->wake, &one, sizeof(one)) < 0)
		ib_log(IB_LOG_ERROR, "soft",
		       "the agent's thread can not be woken (%s): posted requests wait until the next post",
		       strerror(errno));
}

/* ------------------------------------------------------------- address handles */

/* Checks an address, and makes the path of it that later posts copy into their slots. */
static al_status set_path(struct provider_ah *ah, const struct ib_ah_attr *attr)
{
	const struct provider_ca *ca = (const struct provider_ca *)ah->ah.pd->ca;
	al_status status = wr_check_address(attr, ca->gids, ca->lmc);
	struct ib_flat_path path;

	if (!status)
		status = ib_flat_pack_path(&path, attr);
	if (status)
		return status;
	fmutex_lock(&ah->lock);
	ah->path = path;
	fmutex_unlock(&ah->lock);
	return AL_SUCCESS;
}

static al_status pre_create_ah(struct ci_ah *ah, const struct ib_ah_attr *attr,
			       struct uvp_call *call)
{
	(void)call;
	return set_path((struct provider_ah *)ah, attr);
}

static al_status pre_modify_ah(struct ci_ah *ah, const struct ib_ah_attr *attr,
			       struct uvp_call *call)
{
	(void)call;
	return set_path((struct provider_ah *)ah, attr);
}

/* ---------------------------------------------------------------------- table */

static const struct uvp_interface hooks = {
	.size = sizeof(struct uvp_interface),
	.abi_major = UVP_ABI_MAJOR,
	.abi_minor = UVP_ABI_MINOR,
	.obj_size = {
		[CI_OBJ_CA] = sizeof(struct provider_ca),
		[CI_OBJ_AH] = sizeof(struct provider_ah),
		[CI_OBJ_CQ] = sizeof(struct provider_cq),
		[CI_OBJ_QP] = sizeof(struct provider_qp),
	},
	.pre_open_ca = pre_open_ca,
	.post_open_ca = post_open_ca,
	.post_close_ca = post_close_ca,
	.post_query_ca = post_query_ca,
	.pre_create_ah = pre_create_ah,
	.pre_modify_ah = pre_modify_ah,
	.pre_create_cq = pre_create_cq,
	.post_create_cq = post_create_cq,
	.post_destroy_cq = post_destroy_cq,
	.pre_resize_cq = pre_resize_cq,
	.post_resize_cq = post_resize_cq,
	.post_query_cq = post_query_cq,
	.pre_create_qp = pre_create_qp,
	.post_create_qp = post_create_qp,
	.post_modify_qp = post_modify_qp,
	.post_destroy_qp = post_destroy_qp,
	.post_send = provider_post_send,
	.post_recv = provider_post_recv,
	.poll_cq = provider_poll_cq,
	.arm_cq = provider_arm_cq,
	.arm_cq_n = provider_arm_cq_n,
	.peek_cq = provider_peek_cq,
};

const struct uvp_module uvp_module = {
	.size = sizeof(struct uvp_module),
	.abi_major = UVP_ABI_MAJOR,
	.abi_minor = UVP_ABI_MINOR,
	.name = "soft",
	.version = "0.1.0",
	.license = "GPL-2.0-only OR Linux-OpenIB",
	.ops = &hooks,
};
