/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Address handles of a port's sends. */
#include "al/mgmt/path.h"

#include <string.h>

void paths_init(struct mgmt_paths *paths)
{
	pthread_mutex_init(&paths->lock, NULL);
}

void paths_end(struct mgmt_paths *paths)
{
	pthread_mutex_destroy(&paths->lock);
}

/* A handle holds no index and no low bits of a LID, which a module checks by the port's tables: so
 * a handle that is kept is as good as a new one. */
static bool can_be_shared(const struct ib_ah_attr *attr)
{
	return !attr->is_global && !attr->src_path_bits;
}

/* Compares all that is used of paths that can be shared. */
static bool equal(const struct ib_ah_attr *a, const struct ib_ah_attr *b)
{
	return a->dlid == b->dlid && a->sl == b->sl && a->static_rate == b->static_rate &&
	       a->port_num == b->port_num;
}

/* Finds the entry for a path, and counts a send. NULL: there is none. Under the lock. */
static struct mgmt_path *find(struct mgmt_paths *paths, const struct ib_ah_attr *attr)
{
	struct mgmt_path *p;

	for (p = paths->path; p < paths->path + MGMT_PATHS; p++) {
		if (!p->ah || !equal(&p->attr, attr))
			continue;
		p->sends++;
		p->last_used = ++paths->uses;
		return p;
	}
	return NULL;
}

/* Returns the entry without sends that was used longest ago. NULL: every entry has sends. Under the
 * lock. */
static struct mgmt_path *oldest(struct mgmt_paths *paths)
{
	struct mgmt_path *p, *found = NULL;

	for (p = paths->path; p < paths->path + MGMT_PATHS; p++)
		if (!p->sends && (!found || p->last_used < found->last_used))
			found = p;
	return found;
}

/* Keeps the handle of a hold, whose path has no entry, in place of the oldest. Returns the handle
 * that is kept no longer, or NULL. Under the lock. */
static al_ah_h keep(struct mgmt_paths *paths, const struct ib_ah_attr *attr, struct mgmt_hold *hold)
{
	struct mgmt_path *p = oldest(paths);
	al_ah_h old;

	if (!p)
		return NULL;
	old = p->ah;
	*p = (struct mgmt_path){
		.attr = *attr, .ah = hold->ah, .sends = 1, .last_used = ++paths->uses
	};
	hold->shared = p;
	return old;
}

al_status paths_take(struct mgmt_paths *paths, al_pd_h pd, const struct ib_ah_attr *attr,
		     struct mgmt_hold *hold)
{
	const bool share = can_be_shared(attr);
	al_ah_h old = NULL;
	al_status status;

	*hold = (struct mgmt_hold){ 0 };
	if (share) {
		pthread_mutex_lock(&paths->lock);
		hold->shared = find(paths, attr);
		if (hold->shared)
			hold->ah = hold->shared->ah;
		pthread_mutex_unlock(&paths->lock);
	}
	if (hold->ah)
		return AL_SUCCESS;
	status = al_create_ah(pd, attr, &hold->ah);
	if (status || !share)
		return status;
	pthread_mutex_lock(&paths->lock);
	old = keep(paths, attr,
		   hold); /* two threads may make a handle for one path: both are kept */
	pthread_mutex_unlock(&paths->lock);
	if (old)
		al_destroy_ah(old, NULL, NULL);
	return AL_SUCCESS;
}

void paths_drop(struct mgmt_paths *paths, const struct mgmt_hold *hold)
{
	if (!hold->shared) {
		al_destroy_ah(hold->ah, NULL, NULL);
		return;
	}
	pthread_mutex_lock(&paths->lock);
	hold->shared->sends--;
	pthread_mutex_unlock(&paths->lock);
}
