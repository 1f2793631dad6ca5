/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Operations of multicast groups. The Access Layer has checked type of the queue pair, GID and LID.
 * A queue pair may attach and detach in every state, and stays a member until a detach or the queue
 * pair's end.
 */
#include "hca/soft/base/reading.h"
#include "hca/soft/engine/engine.h"
#include "hca/soft/object/hca.h"
#include "hca/soft/packet/packet.h"
#include "hca/soft/port/mcast.h"
#include "hca/soft/shared/lock.h"
#include "hca/soft/transport/qp.h"

/* Prepares the queue pair for its first group. Under qp->control. */
static al_status prepare(struct soft_qp *qp)
{
	struct mcast_qp *mcast;

	if (qp->conn.mcast)
		return AL_SUCCESS;
	mcast = al_alloc(sizeof(*mcast));
	if (!mcast)
		return AL_INSUFFICIENT_MEMORY;
	mcast->actor = qp->actor;
	mcast->qpn = qp->ci.qp_num;
	mcast->blocks_own = qp->blocks_own;
	atomic_init(&mcast->port, qp_port_num(qp));
	qp->conn.mcast = mcast;
	return AL_SUCCESS;
}

/* Ethernet has no LIDs: a group is its GID alone. All ports of an HCA have one link layer. */
static uint16_t group_lid(const struct soft_hca *hca, uint16_t mlid)
{
	return hca->ports.port[0].ethernet ? 0 : mlid;
}

al_status soft_attach_mcast(struct ci_qp *ci, const ib_gid *mgid, uint16_t mlid)
{
	struct soft_qp *qp = soft_qp(ci);
	struct soft_hca *hca = qp_hca(qp);
	al_status status;

	if (alloc_fails(&hca->alloc))
		return AL_INSUFFICIENT_MEMORY;
	mlid = group_lid(hca, mlid);
	fmutex_lock(&qp->control);
	status = prepare(qp);
	if (!status)
		status = mcast_attach(&hca->ports.mcast, qp->conn.mcast, mgid, mlid);
	fmutex_unlock(&qp->control);
	IB_TRACE("soft", "attach_mcast: qp=%#x mlid=%#x: status %d", ci->qp_num, mlid, status);
	return status;
}

/* Drops the copies of a group's datagrams that the queue pair has not received. */
static void drop_copies(struct soft_qp *qp, const ib_gid *mgid, uint16_t mlid)
{
	const struct route group = { .dlid = mlid, .dgid = *mgid };
	const struct recall what = { .group = &group };
	struct packet *inbox, *dropped;
	struct runner r;

	actor_claim(qp->actor);
	runner_start(&r);
	inbox = actor_take(qp->actor);
	dropped = packets_recall(&inbox, &what);
	packets_append(&dropped, resp_recall(qp, &what));
	reading_begin(); /* as in a pass */
	qp_receive(&r, qp, inbox);
	reading_end();
	pkt_release_all(&r, qp, dropped);
	runner_add(&r, qp->actor);
	runner_run(&r);
}

al_status soft_detach_mcast(struct ci_qp *ci, const ib_gid *mgid, uint16_t mlid)
{
	struct soft_qp *qp = soft_qp(ci);
	al_status status = AL_NOT_FOUND;

	mlid = group_lid(qp_hca(qp), mlid);
	fmutex_lock(&qp->control);
	if (qp->conn.mcast)
		status = mcast_detach(&qp_hca(qp)->ports.mcast, qp->conn.mcast, mgid, mlid);
	fmutex_unlock(&qp->control);
	IB_TRACE("soft", "detach_mcast: qp=%#x mlid=%#x: status %d", ci->qp_num, mlid, status);
	if (!status)
		drop_copies(qp, mgid, mlid);
	return status;
}
