/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Memory regions. No HCA pins pages by the kernel's leave, so nothing is to be done about fork(). */
#include <stdlib.h>

#include "al/compat/verbs/verbs.h"

/* Memory to register, as programs name it. */
struct memory {
	void *addr;
	size_t length;
	uint64_t iova;
	unsigned int access;
};

/* Registers memory, in a region that is filled in on success only. */
static int register_memory(struct mr *mr, struct ibv_pd *pd, const struct memory *memory)
{
	struct al_mr_init init = { .addr = memory->addr,
				   .length = memory->length,
				   .use_iova = memory->iova != (uintptr_t)memory->addr,
				   .iova = memory->iova };
	uint32_t lkey, rkey;
	al_mr_h al;
	int error;

	if (!access_to_al(memory->access, &init.access))
		return verbs_fail(EOPNOTSUPP);
	error = verbs_result(al_reg_mr(pd_of(pd)->al, &init, mr, &lkey, &rkey, &al));
	if (error)
		return error;
	mr->al = al;
	mr->ibv.context = pd->context;
	mr->ibv.pd = pd;
	mr->ibv.addr = memory->addr;
	mr->ibv.length = memory->length;
	mr->ibv.lkey = lkey;
	mr->ibv.rkey = rkey;
	return 0;
}

EXPORT struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				       unsigned int access)
{
	const struct memory memory = { addr, length, iova, access };
	struct mr *mr = calloc(1, sizeof(*mr));

	if (!mr)
		return NULL;
	if (register_memory(mr, pd, &memory)) {
		free(mr);
		return NULL;
	}
	context_ref(pd->context);
	return &mr->ibv;
}

LATEST(struct ibv_mr *, ibv_reg_mr)(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, (uintptr_t)addr, (unsigned int)access);
}

EXPORT struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				      int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, iova, (unsigned int)access);
}

LATEST(int, ibv_dereg_mr)(struct ibv_mr *ibv)
{
	struct mr *mr = verbs_of(ibv, struct mr, ibv);
	const al_status status = al_dereg_mr(mr->al, AL_DESTROY_SYNC, NULL);

	if (status == AL_RESOURCE_BUSY)
		return verbs_result(status);
	context_put(ibv->context);
	free(mr);
	return 0;
}

/* The region as it will be, by what the region was and flags. */
static bool changed_memory(const struct mr *mr, int flags, void *addr, size_t length, int access,
			   struct memory *memory)
{
	struct ib_mr_attr attr;

	if (verbs_result(al_query_mr(mr->al, &attr)))
		return false;
	*memory = (struct memory){ mr->ibv.addr, mr->ibv.length, attr.addr,
				   access_from_al(attr.access) };
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION)
		*memory = (struct memory){ addr, length, (uintptr_t)addr, memory->access };
	if (flags & IBV_REREG_MR_CHANGE_ACCESS)
		memory->access = (unsigned int)access;
	return true;
}

/* A new region in the place of the old one, which stays if the new one cannot be made. Both keys
 * change, as the interface permits. */
EXPORT int ibv_rereg_mr(struct ibv_mr *ibv, int flags, struct ibv_pd *pd, void *addr, size_t length,
			int access)
{
	const int known = IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD |
			  IBV_REREG_MR_CHANGE_ACCESS;
	struct mr *mr = verbs_of(ibv, struct mr, ibv);
	al_mr_h old = mr->al;
	struct memory memory;

	if (!flags || flags & ~known ||
	    (flags & IBV_REREG_MR_CHANGE_TRANSLATION && (!addr || !length)) ||
	    (flags & IBV_REREG_MR_CHANGE_PD && (!pd || pd->context != ibv->context))) {
		errno = EINVAL;
		return IBV_REREG_MR_ERR_INPUT;
	}
	if (!changed_memory(mr, flags, addr, length, access, &memory) ||
	    register_memory(mr, flags & IBV_REREG_MR_CHANGE_PD ? pd : ibv->pd, &memory))
		return IBV_REREG_MR_ERR_INPUT;
	al_dereg_mr(old, AL_DESTROY_SYNC, NULL);
	return 0;
}

/* Regions of another device's memory. */
EXPORT struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length,
					uint64_t iova, int fd, int access)
{
	(void)pd;
	(void)offset;
	(void)length;
	(void)iova;
	(void)fd;
	(void)access;
	errno = EOPNOTSUPP;
	return NULL;
}

/* -------------------------------------------------------------------- fork() */

EXPORT int ibv_fork_init(void)
{
	return 0;
}

EXPORT int ibv_is_fork_initialized(void)
{
	return IBV_FORK_UNNEEDED;
}

EXPORT int ibv_dontfork_range(void *base, size_t size)
{
	(void)base;
	(void)size;
	return 0;
}

EXPORT int ibv_dofork_range(void *base, size_t size)
{
	(void)base;
	(void)size;
	return 0;
}
