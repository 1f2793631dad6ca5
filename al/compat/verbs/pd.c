/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Protection domains, thread domains and parent domains. A thread domain promises that one thread
 * uses its objects, of which the Access Layer makes no use; a parent domain is the protection domain
 * that it was made of.
 */
#include <stdlib.h>

#include "al/compat/verbs/verbs.h"

struct td {
	struct ibv_td ibv;
	atomic_uint users; /* parent domains */
};

struct parent_domain {
	struct pd pd;
	struct td *td; /* NULL: none */
};

LATEST(struct ibv_pd *, ibv_alloc_pd)(struct ibv_context *context)
{
	struct pd *pd = calloc(1, sizeof(*pd));

	if (!pd)
		return NULL;
	pd->ibv.context = context;
	if (verbs_result(al_alloc_pd(context_of(context)->ca, pd, &pd->al))) {
		free(pd);
		return NULL;
	}
	context_ref(context);
	return &pd->ibv;
}

static void dealloc_parent_domain(struct pd *pd)
{
	struct parent_domain *domain = verbs_of(pd, struct parent_domain, pd);

	atomic_fetch_sub(&pd->parent->children, 1);
	if (domain->td)
		atomic_fetch_sub(&domain->td->users, 1);
	context_put(pd->ibv.context);
	free(domain);
}

LATEST(int, ibv_dealloc_pd)(struct ibv_pd *ibv)
{
	struct pd *pd = pd_of(ibv);
	al_status status;

	if (pd->parent) {
		dealloc_parent_domain(pd);
		return 0;
	}
	if (atomic_load(&pd->children))
		return verbs_fail(EBUSY);
	status = al_dealloc_pd(pd->al, AL_DESTROY_SYNC, NULL);
	if (status == AL_RESOURCE_BUSY)
		return verbs_result(status);
	context_put(ibv->context);
	free(pd);
	return 0;
}

struct ibv_td *verbs_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *init)
{
	struct td *td;

	if (init->comp_mask) {
		errno = EINVAL;
		return NULL;
	}
	td = calloc(1, sizeof(*td));
	if (!td)
		return NULL;
	td->ibv.context = context;
	context_ref(context);
	return &td->ibv;
}

int verbs_dealloc_td(struct ibv_td *ibv)
{
	struct td *td = verbs_of(ibv, struct td, ibv);

	if (atomic_load(&td->users))
		return verbs_fail(EBUSY);
	context_put(ibv->context);
	free(td);
	return 0;
}

/* Allocators of the program's are not called: no memory of an object is the program's. */
struct ibv_pd *verbs_alloc_parent_domain(struct ibv_context *context,
					 struct ibv_parent_domain_init_attr *attr)
{
	const uint32_t known = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
			       IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
	struct parent_domain *domain;

	if (!attr->pd || attr->pd->context != context || pd_of(attr->pd)->parent ||
	    (attr->td && attr->td->context != context) || attr->comp_mask & ~known) {
		errno = EINVAL;
		return NULL;
	}
	domain = calloc(1, sizeof(*domain));
	if (!domain)
		return NULL;
	domain->pd.ibv.context = context;
	domain->pd.parent = pd_of(attr->pd);
	domain->pd.al = domain->pd.parent->al;
	atomic_fetch_add(&domain->pd.parent->children, 1);
	if (attr->td) {
		domain->td = verbs_of(attr->td, struct td, ibv);
		atomic_fetch_add(&domain->td->users, 1);
	}
	context_ref(context);
	return &domain->pd.ibv;
}
