/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A user-mode provider for a vendor to begin with; its module is hca/skeleton. The provider shows
 * two tasks that every provider has: it answers a query from its own copy of the result, without
 * the agent; and it allocates memory for an object before the request to the agent, offers the
 * memory to the module, and frees the memory when the object could not be created or has ended.
 * hca/skeleton takes no offers (its create_cq ignores the struct ci_udata), so its completions
 * still cross. A module that takes one maps the descriptor and writes the completions there, and
 * its provider has the hooks poll_cq and arm_cq: uvp/soft is an example.
 *
 * Build and install the provider as the Makefile in this directory says. Programs that use an agent
 * load the provider automatically, and IBAL_TRACE=1 shows each hook. Operations without a hook are
 * requests to the agent.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <iba/ib_uvp.h>

/* The provider's data of an HCA and of a completion queue. Each struct begins with the matching
 * struct of <iba/ib_hca.h>; the other members are zero at first. */
struct skeleton_ca {
	struct ci_ca ca;
	struct ib_ca_attr attr; /* attributes from the module, constant while the HCA is open */
	bool known;             /* attr is set; written once, with release */
};

struct skeleton_cq {
	struct ci_cq cq;
	struct ib_wc *ring; /* memory that the module may map, too; NULL: none */
	size_t bytes;       /* size of ring */
};

/* The data for the module with a creation. Only numbers: an address of this process is meaningless
 * in the module's process. */
struct ring_offer {
	uint32_t version;
	uint32_t entries; /* number of struct ib_wc in the memory of the descriptor sent with the
			     offer */
};

/* ------------------------------------------------------------------------ HCA */

static al_status pre_query_ca(struct ci_ca *base, struct ib_ca_attr *attr, struct uvp_call *call)
{
	struct skeleton_ca *ca = (struct skeleton_ca *)base;

	/* acquire: pairs with the release below */
	call->done = __atomic_load_n(&ca->known, __ATOMIC_ACQUIRE);
	if (call->done)
		*attr = ca->attr;
	return AL_SUCCESS;
}

/* Stores the attributes of the first query, which the Access Layer makes at the registration of the
 * HCA, before the application can query. */
static void post_query_ca(struct ci_ca *base, struct ib_ca_attr *attr, al_status status,
			  struct uvp_call *call)
{
	struct skeleton_ca *ca = (struct skeleton_ca *)base;

	if (status || call->done || ca->known)
		return;
	ca->attr = *attr;
	__atomic_store_n(&ca->known, true, __ATOMIC_RELEASE);
}

/* ---------------------------------------------------------- completion queues */

static void free_ring(struct skeleton_cq *cq)
{
	if (cq->ring)
		munmap(cq->ring, cq->bytes);
	cq->ring = NULL;
}

/* Allocates the ring in a memfd, so that the module can map the memory, too. The memory belongs to
 * this process and counts against its limits. */
static al_status make_ring(struct skeleton_cq *cq, int *fd)
{
	*fd = memfd_create("skeleton-cq", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (*fd < 0)
		return AL_INSUFFICIENT_RESOURCES;
	if (!ftruncate(*fd, (off_t)cq->bytes))
		cq->ring = mmap(NULL, cq->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	if (cq->ring == MAP_FAILED)
		cq->ring = NULL;
	if (cq->ring)
		return AL_SUCCESS;
	close(*fd);
	return AL_INSUFFICIENT_MEMORY;
}

static al_status pre_create_cq(struct ci_cq *base, struct ci_cq_init *init, struct uvp_call *call)
{
	const struct ring_offer offer = { .version = 1, .entries = init->cqe };
	struct skeleton_cq *cq = (struct skeleton_cq *)base;
	al_status status;
	int fd;

	cq->bytes = (size_t)init->cqe * sizeof(*cq->ring);
	status = make_ring(cq, &fd);
	if (status)
		return status; /* no request is sent, and post_create_cq() is not called */
	memcpy(call->in, &offer, sizeof(offer));
	call->in_len = sizeof(offer);
	call->in_fds[0] = fd;
	call->num_in_fds = 1;
	return AL_SUCCESS;
}

static al_status post_create_cq(struct ci_cq *base, struct ci_cq_init *init, al_status status,
				struct uvp_call *call)
{
	(void)init;
	close(call->in_fds[0]); /* the request has carried the descriptor; the mapping stays */
	if (status)
		free_ring((struct skeleton_cq *)base);
	return AL_SUCCESS;
}

static void post_destroy_cq(struct ci_cq *base, struct uvp_call *call)
{
	(void)call;
	free_ring((struct skeleton_cq *)base); /* the module no longer uses the memory */
}

/* ---------------------------------------------------------------------- table */

static const struct uvp_interface skeleton_hooks = {
	.size = sizeof(struct uvp_interface),
	.abi_major = UVP_ABI_MAJOR,
	.abi_minor = UVP_ABI_MINOR,
	.obj_size = {
		[CI_OBJ_CA] = sizeof(struct skeleton_ca),
		[CI_OBJ_CQ] = sizeof(struct skeleton_cq),
	},
	.pre_query_ca = pre_query_ca,
	.post_query_ca = post_query_ca,
	.pre_create_cq = pre_create_cq,
	.post_create_cq = post_create_cq,
	.post_destroy_cq = post_destroy_cq,
};

const struct uvp_module uvp_module = {
	.size = sizeof(struct uvp_module),
	.abi_major = UVP_ABI_MAJOR,
	.abi_minor = UVP_ABI_MINOR,
	.name = "skeleton",
	.version = "1.0",
	.license = "GPL-2.0-only OR Linux-OpenIB",
	.ops = &skeleton_hooks,
};
