/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Clients that share their queues with the HCA: their openings of the HCA, and the bells of their
 * queue pairs, which a ring thread answers (ring_thread.c).
 */

#include "hca/soft/client/rings.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "hca/soft/base/clock.h"
#include "hca/soft/client/ring_thread.h"
#include "hca/soft/engine/engine.h"
#include "hca/soft/object/hca.h"
#include "hca/soft/shared/lock.h"
#include "hca/soft/shared/ring.h"
#include "hca/soft/transport/qp.h"

/* --------------------------------------------------------------- their memory */

al_status rings_map(const struct ci_udata *udata, size_t bytes, void **mem)
{
	struct statfs fs;
	struct stat st;
	int seals;

	if (udata->num_fds != 1)
		return AL_INVALID_PARAMETER;
	/* Access to a file that has shrunk raises SIGBUS. Only memfds have seals. */
	seals = fcntl(udata->fds[0], F_GET_SEALS);
	if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstatfs(udata->fds[0], &fs) ||
	    fs.f_type != TMPFS_MAGIC || fstat(udata->fds[0], &st) || st.st_size != (off_t)bytes)
		return AL_INVALID_PARAMETER;
	*mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, udata->fds[0], 0);
	return *mem == MAP_FAILED ? AL_INSUFFICIENT_RESOURCES : AL_SUCCESS;
}

/* ------------------------------------------------------------------- openings */

bool rings_step(struct soft_hca *hca)
{
	struct ring_thread *t = atomic_load(&hca->rings->thread);

	return t && ring_thread_turns(t);
}

static bool step(void *arg)
{
	return rings_step(arg);
}

al_status rings_create(struct soft_hca *hca)
{
	hca->rings = al_alloc(sizeof(*hca->rings));
	if (!hca->rings)
		return AL_INSUFFICIENT_MEMORY;
	if (clock_is_virtual() && !hca->sw) { /* a switch has no clients with rings */
		hca->engine->step = step;
		hca->engine->step_arg = hca;
	}
	return AL_SUCCESS;
}

void rings_destroy(struct soft_hca *hca)
{
	al_free(hca->rings);
	hca->rings = NULL;
}

static void free_opening(struct opening *o)
{
	for (uint32_t i = 0; i < RING_BELLS / 64; i++)
		al_free(o->qps[i]);
	if (o->door)
		munmap(o->door, sizeof(*o->door));
	if (o->wake >= 0)
		close(o->wake);
	al_free(o);
}

static al_status make_opening(const struct soft_hca *hca, struct ci_udata *udata,
			      struct opening **to)
{
	struct opening *o = al_alloc(sizeof(*o));
	al_status status;
	void *mem;

	if (!o)
		return AL_INSUFFICIENT_MEMORY;
	o->hca = hca;
	o->client = udata->client;
	o->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	status = o->wake < 0 ? AL_INSUFFICIENT_RESOURCES : rings_map(udata, sizeof(*o->door), &mem);
	if (!status)
		o->door = mem;
	if (!status)
		status = ci_client_give_fd(udata, o->wake);
	if (status)
		free_opening(o);
	else
		*to = o;
	return status;
}

static al_status add_opening(struct rings *rings, struct opening *o)
{
	al_status status = AL_SUCCESS;

	fmutex_lock(&rings->lock);
	if (rings->thread)
		status = ring_thread_join(rings->thread, o);
	if (!status) {
		o->next_of_hca = rings->first;
		rings->first = o;
	}
	fmutex_unlock(&rings->lock);
	return status;
}

al_status rings_open(struct ci_ca *ca, void **um_ctx, struct ci_udata *udata)
{
	struct soft_hca *hca = ca_hca(ca);
	const struct ring_opened answer = {
		.version = RING_VERSION,
		.gids = hca->conf.gids,
		.lmc = hca->conf.lmc,
	};
	struct ring_open asked;
	struct opening *o;
	al_status status;

	if (!rings_asked(udata))
		return AL_UNSUPPORTED; /* a client without a provider has no queues to share */
	if (udata->in_len != sizeof(asked) || udata->out_len < sizeof(answer))
		return AL_INVALID_PARAMETER;
	memcpy(&asked, udata->in, sizeof(asked));
	if (asked.version != RING_VERSION || asked.zero)
		return AL_MODULE_ABI;
	status = make_opening(hca, udata, &o);
	if (status)
		return status;
	status = add_opening(hca->rings, o);
	if (status) {
		free_opening(o);
		return status;
	}
	memcpy(udata->out, &answer, sizeof(answer));
	udata->out_len = sizeof(answer);
	*um_ctx = o;
	return AL_SUCCESS;
}

void rings_close(struct ci_ca *ca, void *um_ctx)
{
	struct rings *rings = ca_hca(ca)->rings;
	struct opening *o = um_ctx, **p;

	fmutex_lock(&rings->lock);
	for (p = &rings->first; *p != o; p = &(*p)->next_of_hca)
		;
	*p = o->next_of_hca;
	if (rings->thread)
		ring_thread_leave(rings->thread, o);
	fmutex_unlock(&rings->lock);
	free_opening(o);
}

/* ------------------------------------------------------------------- bells */

/* Takes the HCA's openings, up to `end`, from a ring thread, and the thread from the HCA. */
static void put_thread(struct rings *rings, struct ring_thread *t, const struct opening *end)
{
	for (struct opening *o = rings->first; o != end; o = o->next_of_hca)
		ring_thread_leave(t, o);
	rings->thread = NULL;
	ring_thread_put(t);
}

/* Gives the HCA a ring thread, unless it has one: clients that make no queue pairs cost no thread.
 */
static al_status need_thread(struct soft_hca *hca)
{
	struct rings *rings = hca->rings;
	struct ring_thread *t;
	struct opening *o;

	if (rings->thread)
		return AL_SUCCESS;
	t = ring_thread_get(hca->conf.name);
	if (!t)
		return AL_INSUFFICIENT_RESOURCES;
	for (o = rings->first; o && !ring_thread_join(t, o); o = o->next_of_hca)
		;
	if (!o) {
		rings->thread = t;
		return AL_SUCCESS;
	}
	put_thread(rings, t, o);
	return AL_INSUFFICIENT_RESOURCES;
}

static struct opening *opening_of(struct rings *rings, const struct ci_client *client)
{
	struct opening *o;

	for (o = rings->first; o && o->client != client; o = o->next_of_hca)
		;
	return o;
}

/*
 * Assigns the next free bell after the bell assigned last, so that a freed bell, which may still ring, is reused
 * late.
 */
static al_status give_bell(struct opening *o, struct soft_qp *qp, uint32_t *bell)
{
	struct soft_qp ***block;
	uint32_t i, candidate;

	for (i = 1; i <= RING_BELLS; i++) {
		candidate = (o->last_bell + i) % RING_BELLS;
		block = &o->qps[candidate / 64];
		if (!*block)
			*block = al_alloc(64 * sizeof(**block));
		if (!*block)
			return AL_INSUFFICIENT_MEMORY;
		if ((*block)[candidate % 64])
			continue;
		(*block)[candidate % 64] = qp;
		o->last_bell = *bell = candidate;
		return AL_SUCCESS;
	}
	return AL_LIMIT_EXCEEDED;
}

al_status rings_give_bell(struct soft_qp *qp, const struct ci_client *client)
{
	struct soft_hca *hca = pd_hca(qp->ci.pd);
	struct rings *rings = hca->rings;
	struct shared_qp *s = qp->shared;
	al_status status;

	fmutex_lock(&rings->lock);
	s->opening = opening_of(rings, client);
	status = s->opening ? need_thread(hca) : AL_INVALID_PARAMETER;
	if (!status) {
		ring_thread_lock(rings->thread);
		status = give_bell(s->opening, qp, &s->bell);
		ring_thread_unlock(rings->thread);
		if (!status)
			rings->bells++;
		else if (!rings->bells)
			put_thread(rings, rings->thread, NULL);
	}
	fmutex_unlock(&rings->lock);
	return status;
}

void ring_qp_detach(struct soft_qp *qp)
{
	struct rings *rings = pd_hca(qp->ci.pd)->rings;
	struct shared_qp *s = qp->shared;

	fmutex_lock(&rings->lock);
	ring_thread_lock(rings->thread);
	s->opening->qps[s->bell / 64][s->bell % 64] = NULL;
	ring_thread_unlock(rings->thread);
	if (!--rings->bells)
		put_thread(rings, rings->thread, NULL);
	fmutex_unlock(&rings->lock);
}
