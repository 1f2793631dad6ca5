/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Memory regions: registering, querying and deregistering them. Copies of a client's memory are
 * al/object/client.c's. */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "al/verbs/verbs.h"

#define REMOTE (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC)
#define KNOWN                                                                        \
	(IB_ACCESS_LOCAL_WRITE | REMOTE | IB_ACCESS_MW_BIND | IB_ACCESS_ZERO_BASED | \
	 IB_ACCESS_RELAXED_ORDERING)

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

/* --------------------------------------------------------- deregistration */

/* True: memory windows are bound to the region. */
static bool busy(struct al_obj *obj)
{
	return __atomic_load_n(&((struct ci_mr *)obj->ci)->bound_windows, __ATOMIC_ACQUIRE);
}

static void destroy(struct al_obj *obj, const struct ci_interface *ops)
{
	ops->deregister_mr(obj->ci);
}

/* Ends the keys. A module without the operation waits for the accesses in deregister_mr(). */
static bool revoke_keys(struct al_obj *obj, const struct ci_interface *ops)
{
	if (ops->revoke_mr == ci_default_ops.revoke_mr)
		return false;
	ops->revoke_mr(obj->ci);
	return true;
}

/* Deregisters a region that is still referenced. Only al_query_mr() references a region: query_lock
 * waits for a query that is inside the module, and a later query is refused because the region is
 * dying. */
static void quiesce(struct al_obj *obj, const struct ci_interface *ops)
{
	struct al_mr *al_mr = (struct al_mr *)obj;

	pthread_mutex_lock(&al_mr->query_lock);
	destroy(obj, ops);
	obj->ci_created = false;
	pthread_mutex_unlock(&al_mr->query_lock);
}

static void release_mr(struct al_obj *obj)
{
	pthread_mutex_destroy(&((struct al_mr *)obj)->query_lock);
}

static const struct obj_type mr_type = {
	.id = AL_OBJ_MR,
	.size = sizeof(struct al_mr),
	.ci = CI_OBJ_MR,
	.rank = RANK_MR,
	.busy = busy,
	.revoke = revoke_keys,
	.quiesce = quiesce,
	.destroy = destroy,
	.release = release_mr,
};

/* ----------------------------------------------------------- registration */

static al_status refuse_memory(const struct ci_mem *mem)
{
	return ib_refuse(AL_INVALID_ADDRESS,
			 "a page of the %llu bytes at %p is not mapped, or may not be %s",
			 (unsigned long long)mem->length, mem->addr,
			 mem->access & IB_ACCESS_LOCAL_WRITE ? "written" : "read");
}

/* Lets the kernel access one word (writable) or byte of a page. False: the page is missing or
 * denies the access. A system call returns an error there, where an access by this thread would
 * raise a signal. */
static bool touch(char *p, bool writable, const int pipefd[2])
{
	uint32_t no_waiters = 0; /* a futex on which nobody waits */
	char byte;

	/* FUTEX_WAKE_OP with an atomic "or" of 0 writes the word without changing its value, also
	 * while other threads store to the word. */
	if (writable)
		return syscall(SYS_futex, &no_waiters, FUTEX_WAKE_OP_PRIVATE, 0, 0, p,
			       FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_EQ, 0)) >= 0;
	return TEMP_FAILURE_RETRY(write(pipefd[1], p, 1)) == 1 &&
	       TEMP_FAILURE_RETRY(read(pipefd[0], &byte, 1)) == 1;
}

/* Touches every page from first, the start of a page, to end. Reads only bytes of the region
 * itself: a debugger or sanitizer may watch the bytes before the region. */
static al_status touch_pages(char *first, char *end, size_t page, const struct ci_mem *mem)
{
	bool writable = mem->access & IB_ACCESS_LOCAL_WRITE;
	al_status status = AL_SUCCESS;
	int pipefd[2];

	if (pipe2(pipefd, O_CLOEXEC))
		return ib_refuse(AL_INSUFFICIENT_RESOURCES,
				 "the process has no descriptor left for looking at the memory");
	for (char *p = first; !status && p < end; p += page)
		status = touch(writable || p > (char *)mem->addr ? p : mem->addr, writable, pipefd)
				 ? AL_SUCCESS
				 : refuse_memory(mem);
	close(pipefd[0]);
	close(pipefd[1]);
	return status;
}

/*
 * Makes sure that the region's pages exist and permit the access, so that a bad address gives
 * AL_INVALID_ADDRESS now instead of a signal in the HCA's engine later. Writable pages of a private
 * mapping, or shared since a fork, are copied now, so that the HCA writes to the pages that the
 * process reads. Kernels before 5.14 have no MADV_POPULATE_*.
 */
static al_status populate(const struct ci_mem *mem)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t first = (uintptr_t)mem->addr & ~(page - 1);
	uintptr_t end = ((uintptr_t)mem->addr + mem->length + page - 1) & ~(page - 1);
	int advice = mem->access & IB_ACCESS_LOCAL_WRITE ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;

	if (end <= first)
		return refuse_memory(mem);
	while (madvise((void *)first, end - first, advice)) {
		if (errno == EINTR || errno == EAGAIN)
			continue;
		if (errno == ENOMEM || errno == EFAULT || errno == EHWPOISON)
			return refuse_memory(mem);
		/* EINVAL: an old kernel, or a mapping without support for the advice, such as a
		 * device's. */
		return touch_pages((char *)first, (char *)end, page, mem);
	}
	return AL_SUCCESS;
}

static al_status check(const struct al_dev *dev, const struct ci_interface *ops,
		       const struct al_mr_init *init, struct ci_client *client, struct ci_mem *mem)
{
	uint64_t addr = (uintptr_t)init->addr, last;

	if (!RESERVED_IS_ZERO(init))
		return ib_refuse(AL_INVALID_PARAMETER, RESERVED_NOT_ZERO);
	if (init->flags)
		return ib_refuse(AL_INVALID_PARAMETER, "flags is %#x, and there are no flags yet",
				 init->flags);
	if (init->access & ~(uint32_t)KNOWN)
		return ib_refuse(AL_INVALID_PARAMETER,
				 "access has the bits %#x, which are no access of regions",
				 init->access & ~(uint32_t)KNOWN);
	if (!init->length)
		return ib_refuse(AL_INVALID_PARAMETER, "length is 0");
	if (init->access & (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC) &&
	    !(init->access & IB_ACCESS_LOCAL_WRITE))
		return ib_refuse(
			AL_INVALID_PARAMETER,
			"access has remote write or remote atomic, which need IB_ACCESS_LOCAL_WRITE, too");
	if (init->length > dev->attr.max_mr_size)
		return ib_refuse(AL_LIMIT_EXCEEDED, "length is %llu, and the HCA's limit is %llu",
				 (unsigned long long)init->length,
				 (unsigned long long)dev->attr.max_mr_size);
	*mem = (struct ci_mem){
		.addr = init->addr, .length = init->length, .fd = -1, .access = init->access
	};
	mem->client = client;
	if (client && (client->memory < 0 || !(ops->flags & CI_CLIENT_MEMORY)))
		return ib_refuse(
			AL_MEMORY_OUT_OF_REACH,
			"%s; al_dma_alloc_coherent() gives memory that the agent reaches",
			client->memory < 0
				? "the program did not let the agent into its memory"
				: "the HCA's module has no access to memory of other processes");
	mem->iova = init->use_iova ? init->iova : init->access & IB_ACCESS_ZERO_BASED ? 0 : addr;
	if (init->use_iova && init->access & IB_ACCESS_ZERO_BASED)
		return ib_refuse(AL_INVALID_PARAMETER,
				 "use_iova and IB_ACCESS_ZERO_BASED exclude each other");
	if (init->use_iova && (init->iova ^ addr) & ((uint64_t)sysconf(_SC_PAGESIZE) - 1))
		return ib_refuse(AL_INVALID_PARAMETER,
				 "iova %#llx and addr %#llx have different offsets in their pages",
				 (unsigned long long)init->iova, (unsigned long long)addr);
	if (__builtin_add_overflow(addr, init->length - 1, &last) ||
	    __builtin_add_overflow(mem->iova, init->length - 1, &last))
		return ib_refuse(AL_INVALID_PARAMETER,
				 "addr or iova and length go past the last address");
	return AL_SUCCESS;
}

al_status mr_reg(al_pd_h pd, const struct al_mr_init *init, struct ci_client *client, void *context,
		 uint32_t *lkey, uint32_t *rkey, al_mr_h *mr)
{
	struct al_call call;
	struct al_obj *obj;
	struct ci_mem mem;
	struct ci_mr *ci;
	uint32_t keys[2];
	al_status status;

	if (!init || !lkey || !mr)
		return reason_settle(ib_refuse(AL_INVALID_PARAMETER, "%s is NULL",
					       !init   ? "init"
					       : !lkey ? "lkey"
						       : "mr"),
				     "al_reg_mr", NULL);
	status = call_begin(&call, pd, AL_OBJ_PD);
	if (status)
		return reason_settle(status, "al_reg_mr", NULL);
	status = check(call.obj->dev, call.ops, init, client, &mem);
	/* A client's own process populates its memory, also that which it shares with the agent:
	 * pages count as whose process has brought them. A client that omits that harms only
	 * itself. */
	if (!status && mem.client)
		status = client_start(mem.client);
	else if (!status && !acting_for)
		status = populate(&mem);
	if (!status)
		status = obj_new(&mr_type, call.obj, call.obj->dev, context, &obj);
	if (status)
		goto out;
	pthread_mutex_init(&((struct al_mr *)obj)->query_lock, NULL);
	ci = obj->ci;
	ci->pd = call.obj->ci;
	status = CALL_MODULE(&call, register_mr, ci, &mem, acting_for);
	if (status)
		goto err;
	keys[0] = ci->lkey;
	keys[1] = init->access & REMOTE ? ci->rkey : 0;
	status = obj_publish(obj, mr);
	if (!status) {
		*lkey = keys[0];
		if (rkey)
			*rkey = keys[1];
		goto out;
	}
	call.ops->deregister_mr(ci);
err:
	release_mr(obj);
	obj_abort(obj);
out:
	return call_finish(&call, status, "al_reg_mr");
}

al_status al_reg_mr(al_pd_h pd, const struct al_mr_init *init, void *context, uint32_t *lkey,
		    uint32_t *rkey, al_mr_h *mr)
{
	return mr_reg(pd, init, acting_for ? acting_for->client : NULL, context, lkey, rkey, mr);
}

al_status al_query_mr(al_mr_h mr, struct ib_mr_attr *attr)
{
	struct ib_mr_attr found = { 0 };
	struct al_call call;
	struct al_mr *al_mr;
	al_status status;

	if (!attr)
		return REFUSE(AL_INVALID_PARAMETER, "attr is NULL");
	status = call_begin(&call, mr, AL_OBJ_MR);
	if (status)
		return SETTLED(status);
	al_mr = (struct al_mr *)call.obj;
	pthread_mutex_lock(&al_mr->query_lock);
	status = obj_dying(call.obj) ? ib_refuse(AL_INVALID_HANDLE,
						 "another thread destroyed the mr during the call")
				     : CALL_MODULE(&call, query_mr, call.obj->ci, &found);
	pthread_mutex_unlock(&al_mr->query_lock);
	if (!status)
		*attr = found;
	return CALL_FINISH(&call, status);
}

al_status al_dereg_mr(al_mr_h mr, al_destroyed_cb cb, void *context)
{
	return obj_destroy(mr, AL_OBJ_MR, cb, context);
}
