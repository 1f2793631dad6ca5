/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The errands of a queue pair's transport. The functions that start and end errands are in req.c, resp.c, rc_resp.c and
 * comp.c.
 */
#include "hca/soft/transport/stage.h"

#include "hca/soft/memory/errand.h"
#include "hca/soft/shared/base.h"
#include "hca/soft/transport/qp.h"

struct stage *stage_of(struct soft_qp *qp)
{
	if (!qp->conn.stage) {
		qp->conn.stage = al_alloc(sizeof(*qp->conn.stage));
		if (qp->conn.stage)
			qp->conn.stage->waiting_tail = &qp->conn.stage->waiting;
	}
	return qp->conn.stage;
}

static void abandon_fetches(struct stage *stage)
{
	errand_abandon(&stage->request_fetch);
	errand_abandon(&stage->response_fetch);
	ledger_leave(&stage->request_wait);
	ledger_leave(&stage->response_wait);
}

void stage_stop(struct runner *r, struct soft_qp *qp)
{
	struct packet *waiting = qp->conn.stage->waiting;

	abandon_fetches(qp->conn.stage);
	qp->conn.stage->waiting = NULL;
	qp->conn.stage->waiting_tail = &qp->conn.stage->waiting;
	pkt_release_all(r, qp, waiting);
}

bool stage_quiet(struct soft_qp *qp)
{
	struct stage *stage = qp->conn.stage;

	if ((stage->request_copy && !errand_done(stage->request_copy)) ||
	    (stage->response_copy && !errand_done(stage->response_copy)))
		return false;
	errand_abandon(&stage->request_copy);
	errand_abandon(&stage->response_copy);
	qp->conn.resp.copying = false;
	qp->conn.req.copying = false;
	return true;
}

void stage_free(struct soft_qp *qp)
{
	if (!qp->conn.stage)
		return;
	abandon_fetches(qp->conn.stage);
	errand_abandon(&qp->conn.stage->request_copy);
	errand_abandon(&qp->conn.stage->response_copy);
	qp->conn.resp.copying = false;
	qp->conn.req.copying = false;
	al_free(qp->conn.stage);
	qp->conn.stage = NULL;
}

/* Moves a packet's payload now, or by an errand that the stage keeps: for a request or for a response. */
static enum copy_result move_payload(struct soft_qp *qp, bool request, const struct packet *pkt,
				     const struct payload_head *head, const struct place *to)
{
	enum copy_result result = payload_move(pkt, head, to);
	struct stage *stage;

	if (LIKELY(result != COPY_CLIENT))
		return result;
	stage = stage_of(qp);
	if (!stage)
		return COPY_NO_MEMORY;
	return payload_move_by_errand(qp->actor, request ? &stage->request_copy : &stage->response_copy, pkt, head, to);
}

enum copy_result stage_move_request(struct soft_qp *qp, const struct packet *pkt, const struct payload_head *head,
				    const struct place *to)
{
	return move_payload(qp, true, pkt, head, to);
}

enum copy_result stage_move_response(struct soft_qp *qp, const struct packet *pkt,
				     const struct payload_head *head, const struct place *to)
{
	enum copy_result result = move_payload(qp, false, pkt, head, to);

	if (UNLIKELY(result == COPY_LATER)) {
		qp->conn.req.copying = true;
		qp->conn.stage->copied_response = *pkt;
	}
	return result;
}
