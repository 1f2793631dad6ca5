/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Operations of memory regions. The table of keys and the checks of accesses are in memory/mr.c. */
#include "hca/soft/base/alloc.h"
#include "hca/soft/memory/mr.h"
#include "hca/soft/object/hca.h"

al_status soft_register_mr(struct ci_mr *ci, const struct ci_mem *mem, struct ci_udata *udata)
{
	struct soft_hca *hca = pd_hca(ci->pd);

	(void)udata;
	if (alloc_fails(&hca->alloc))
		return AL_INSUFFICIENT_MEMORY;
	return mr_register(&hca->memory, (struct soft_mr *)ci, mem);
}

void soft_deregister_mr(struct ci_mr *ci)
{
	mr_deregister(&pd_hca(ci->pd)->memory, (struct soft_mr *)ci);
}

void soft_revoke_mr(struct ci_mr *ci)
{
	mr_revoke((struct soft_mr *)ci);
}

al_status soft_query_mr(struct ci_mr *ci, struct ib_mr_attr *attr)
{
	const struct mr_slot *slot = ((struct soft_mr *)ci)->slot;
	const uint32_t remote =
		IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC;

	*attr = (struct ib_mr_attr){
		.addr = slot->iova,
		.length = slot->length,
		.access = slot->access,
		.lkey = slot->key,
		.rkey = slot->access & remote ? slot->key : 0,
		.page_shift = 12,
		.bound_windows = __atomic_load_n(&ci->bound_windows, __ATOMIC_RELAXED),
	};
	return AL_SUCCESS;
}
