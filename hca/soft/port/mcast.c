/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The table of multicast groups (mcast.h): a hash of the groups that have members. */
#include "hca/soft/port/mcast.h"

#include <string.h>

#define PAYLOAD 4096 /* bytes of the longest datagram, which is one packet */

static uint32_t bucket_of(const ib_gid *mgid, uint16_t mlid)
{
	uint32_t hash = mlid;
	size_t i;

	for (i = 0; i < sizeof(mgid->raw); i++)
		hash = hash * 31 + mgid->raw[i];
	return hash % MCAST_BUCKETS;
}

struct mcast_group *mcast_find(const struct mcast *m, const ib_gid *mgid, uint16_t mlid)
{
	struct mcast_group *group = m->buckets[bucket_of(mgid, mlid)];

	while (group && (group->mlid != mlid || memcmp(&group->mgid, mgid, sizeof(*mgid))))
		group = group->next;
	return group;
}

/* Returns the pointer to a queue pair's membership in a group, or the pointer that ends the group's
 * list. */
static struct mcast_member **find_member(struct mcast_group *group, const struct mcast_qp *qp)
{
	struct mcast_member **at = &group->members;

	while (*at && (*at)->qp != qp)
		at = &(*at)->next;
	return at;
}

/* ------------------------------------------------------------------- attach */

/* True: one membership more exceeds a limit. group NULL: the membership makes a new group. */
static bool exceeds_limits(const struct mcast *m, const struct mcast_group *group)
{
	if (m->total >= m->limits.total)
		return true;
	return group ? group->num >= m->limits.members : m->groups >= m->limits.groups;
}

static struct mcast_group *add_group(struct mcast *m, const ib_gid *mgid, uint16_t mlid)
{
	struct mcast_group **bucket = &m->buckets[bucket_of(mgid, mlid)];
	struct mcast_group *group = al_alloc(sizeof(*group));

	if (!group)
		return NULL;
	group->mgid = *mgid;
	group->mlid = mlid;
	group->next = *bucket;
	*bucket = group;
	m->groups++;
	return group;
}

static void add_member(struct mcast *m, struct mcast_group *group, struct mcast_qp *qp,
		       struct mcast_member *member)
{
	member->group = group;
	member->qp = qp;
	member->next_of_qp = qp->members;
	qp->members = member;
	*find_member(group, qp) = member;
	group->num++;
	m->total++;
}

static al_status attach(struct mcast *m, struct mcast_qp *qp, const ib_gid *mgid, uint16_t mlid)
{
	struct mcast_group *group = mcast_find(m, mgid, mlid);
	struct mcast_member *member;

	if (group && *find_member(group, qp))
		return AL_SUCCESS;
	if (exceeds_limits(m, group))
		return ib_refuse(
			AL_LIMIT_EXCEEDED,
			"the HCA has as many multicast groups, or members of this group, as it can have");
	if (!m->pool.mem && pool_create(&m->pool, MCAST_COPIES, PAYLOAD))
		return AL_INSUFFICIENT_MEMORY;
	member = al_alloc(sizeof(*member));
	if (member && !group)
		group = add_group(m, mgid, mlid);
	if (!member || !group) {
		al_free(member);
		return AL_INSUFFICIENT_MEMORY;
	}
	add_member(m, group, qp, member);
	return AL_SUCCESS;
}

al_status mcast_attach(struct mcast *m, struct mcast_qp *qp, const ib_gid *mgid, uint16_t mlid)
{
	al_status status;

	fmutex_lock(&m->lock);
	status = attach(m, qp, mgid, mlid);
	fmutex_unlock(&m->lock);
	return status;
}

/* ------------------------------------------------------------------- detach */

static void remove_group(struct mcast *m, struct mcast_group *group)
{
	struct mcast_group **at = &m->buckets[bucket_of(&group->mgid, group->mlid)];

	while (*at != group)
		at = &(*at)->next;
	*at = group->next;
	al_free(group);
	m->groups--;
}

/* Ends the membership at a place in the list of a queue pair. */
static void remove_member(struct mcast *m, struct mcast_member **of_qp)
{
	struct mcast_member *member = *of_qp;
	struct mcast_group *group = member->group;

	*of_qp = member->next_of_qp;
	*find_member(group, member->qp) = member->next;
	al_free(member);
	m->total--;
	if (!--group->num)
		remove_group(m, group);
}

al_status mcast_detach(struct mcast *m, struct mcast_qp *qp, const ib_gid *mgid, uint16_t mlid)
{
	struct mcast_member **at = &qp->members;
	const struct mcast_group *group;
	al_status status = AL_NOT_FOUND;

	fmutex_lock(&m->lock);
	group = mcast_find(m, mgid, mlid);
	while (*at && (*at)->group != group)
		at = &(*at)->next_of_qp;
	if (*at) {
		remove_member(m, at);
		status = AL_SUCCESS;
	}
	fmutex_unlock(&m->lock);
	return status;
}

void mcast_detach_all(struct mcast *m, struct mcast_qp *qp)
{
	fmutex_lock(&m->lock);
	while (qp->members)
		remove_member(m, &qp->members);
	fmutex_unlock(&m->lock);
}

void mcast_destroy(struct mcast *m)
{
	pool_destroy(&m->pool);
}

/* -------------------------------------------------------------------- packets */

bool mcast_is_wanted(struct mcast *m, uint8_t port, const ib_gid *mgid, uint16_t mlid)
{
	const struct mcast_member *member = NULL;
	const struct mcast_group *group;
	bool wanted;

	fmutex_lock(&m->lock);
	group = mcast_find(m, mgid, mlid);
	if (group)
		member = group->members;
	while (member && atomic_load_explicit(&member->qp->port, memory_order_relaxed) != port)
		member = member->next;
	wanted = member;
	fmutex_unlock(&m->lock);
	return wanted;
}
