/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The loop link: ports of one process, packets by reference, straight into the peer's inbox. */
#include "hca/soft/base/table.h"
#include "hca/soft/engine/engine.h"
#include "hca/soft/lab/capture.h"
#include "hca/soft/object/hca.h"
#include "hca/soft/packet/packet.h"
#include "hca/soft/port/port.h"
#include "hca/soft/shared/base.h"
#include "hca/soft/transport/qp.h"

static bool loop_deliver(struct runner *r, struct soft_port *to, struct packet *pkt)
{
	struct actor *a;

	if (UNLIKELY(!to || port_state(to) != IB_PORT_ACTIVE))
		return false;
	if (capture_on())
		capture_received(to, pkt);
	a = table_find(&to->hca->qps, pkt->dest_qpn);
	if (LIKELY(a && actor_push(r, a, pkt)))
		return true;
	port_count(to, CNT_RCV_DROPPED, pkt->num);
	return false;
}

static bool loop_send(struct runner *r, struct soft_qp *qp, struct packet *pkt)
{
	return loop_deliver(r, pkt_target(qp, pkt), pkt);
}

const struct link_ops link_loop = { "loop", loop_send, loop_deliver };
