/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The user-mode provider that a vendor begins with; its module is hca/skeleton. It does the two
 * things that every provider does somewhere: it answers by itself what it knows already, and it
 * makes memory for an object before the agent is asked, offers it to the module, and takes it back
 * when the object could not be made or ends.
 *
 * Build and install it as the Makefile beside says; programs that use an agent load it by
 * themselves, and IBAL_TRACE=1 shows each hook. What it leaves out crosses to the agent as without
 * it.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <iba/ib_uvp.h>

/* Ours of an HCA and of a completion queue: the plain struct first. Everything else is zero at
 * first. */
struct skeleton_ca {
	struct ci_ca ca;
	struct ib_ca_attr attr; /* as the module told it; it never changes while the HCA is open */
	bool known;             /* attr is there; written once, with release */
};

struct skeleton_cq {
	struct ci_cq cq;
	struct ib_wc *ring; /* shared with a module that wants it; NULL: none */
	size_t bytes;
};

/* What we say to the module with a creation. Numbers only: an address of ours means nothing to it.
 */
struct ring_offer {
	uint32_t version;
	uint32_t entries; /* of struct ib_wc, in the descriptor that comes with it */
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

/* The first query is made when the HCA is registered, before anybody else can ask. */
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

/* Memory of a file, so that the module can map it too: it is of this process, and counts as its
 * own. */
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
		return status; /* nothing is asked, and post_create_cq() is not called */
	memcpy(call->in, &offer, sizeof(offer));
	call->in_len = sizeof(offer);
	call->in_fds[call->num_in_fds++] = fd;
	return AL_SUCCESS;
}

static al_status post_create_cq(struct ci_cq *base, struct ci_cq_init *init, al_status status,
				struct uvp_call *call)
{
	(void)init;
	close(call->in_fds[0]); /* it has crossed; the mapping stays */
	if (status)
		free_ring((struct skeleton_cq *)base);
	return AL_SUCCESS;
}

static void post_destroy_cq(struct ci_cq *base, struct uvp_call *call)
{
	(void)call;
	free_ring((struct skeleton_cq *)base); /* the module has let go of it */
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
