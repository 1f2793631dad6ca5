/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The rights of clients: which right the user and the groups of a connection's peer have. Which
 * right a command needs is in al/protocol/commands.def. */
#include "al/agent/right.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <iba/ib_hca.h>

static struct agent_grant grants[NUM_RIGHTS];

void rights_set(const struct agent_grant to[NUM_RIGHTS])
{
	memcpy(grants, to, sizeof(grants));
}

static bool names_group(const struct agent_grant *grant, gid_t gid)
{
	for (uint32_t i = 0; i < grant->num_groups; i++)
		if (grant->groups[i] == gid)
			return true;
	return false;
}

/* The supplementary groups that the peer had when it connected. The caller frees them by
 * al_free(). */
static gid_t *peer_groups(int fd, size_t *num)
{
	socklen_t size = 0;
	gid_t *groups;

	*num = 0;
	/* cppcheck-suppress nullPointer ; without room getsockopt() returns the size that it
	 * needs */
	if (!getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &size) || !size)
		return NULL;
	groups = al_alloc(size);
	if (groups && !getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size))
		*num = size / sizeof(*groups);
	return groups;
}

static bool granted(const struct agent_grant *grant, const struct ucred *peer, const gid_t *groups,
		    size_t num)
{
	for (uint32_t i = 0; i < grant->num_users; i++)
		if (grant->users[i] == peer->uid)
			return true;
	for (size_t i = 0; i < num; i++)
		if (names_group(grant, groups[i]))
			return true;
	return names_group(grant, peer->gid);
}

enum agent_right right_of(int fd)
{
	enum agent_right right = NUM_RIGHTS - 1;
	struct ucred peer;
	socklen_t len = sizeof(peer);
	gid_t *groups;
	size_t num;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len))
		return RIGHT_OWN;
	if (!peer.uid || peer.uid == geteuid())
		return right;
	groups = peer_groups(fd, &num);
	while (right > RIGHT_OWN && !granted(&grants[right], &peer, groups, num))
		right--;
	al_free(groups);
	return right;
}
