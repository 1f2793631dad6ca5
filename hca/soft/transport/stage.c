/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Moves of payload that take their time, as a queue pair's transport knows them. */
#include "hca/soft/transport/stage.h"

#include "hca/soft/memory/errand.h"
#include "hca/soft/shared/base.h"
#include "hca/soft/transport/qp.h"

struct stage *stage_of(struct soft_qp *qp)
{
	if (!qp->conn.stage) {
		qp->conn.stage = al_alloc(sizeof(*qp->conn.stage));
		if (qp->conn.stage)
			qp->conn.stage->answers_tail = &qp->conn.stage->answers;
	}
	return qp->conn.stage;
}

void stage_stop(struct runner *r, struct soft_qp *qp)
{
	struct packet *answers = qp->conn.stage->answers;

	errand_abandon(&qp->conn.stage->request);
	errand_abandon(&qp->conn.stage->reply);
	qp->conn.stage->answers = NULL;
	qp->conn.stage->answers_tail = &qp->conn.stage->answers;
	pkt_release_all(r, qp, answers);
}

bool stage_quiet(struct soft_qp *qp)
{
	struct stage *stage = qp->conn.stage;

	if ((stage->taken && !errand_done(stage->taken)) ||
	    (stage->answer && !errand_done(stage->answer)))
		return false;
	errand_abandon(&stage->taken);
	errand_abandon(&stage->answer);
	qp->conn.resp.copying = qp->conn.req.copying = false;
	return true;
}

void stage_free(struct soft_qp *qp)
{
	if (!qp->conn.stage)
		return;
	errand_abandon(&qp->conn.stage->request);
	errand_abandon(&qp->conn.stage->reply);
	errand_abandon(&qp->conn.stage->taken);
	errand_abandon(&qp->conn.stage->answer);
	qp->conn.resp.copying = qp->conn.req.copying = false;
	al_free(qp->conn.stage);
	qp->conn.stage = NULL;
}

enum copy_result stage_move_request(struct soft_qp *qp, const struct packet *pkt,
				    const struct payload_head *head, const struct place *to)
{
	enum copy_result result = payload_move(pkt, head, to);

	if (LIKELY(result != COPY_CLIENT))
		return result;
	if (!stage_of(qp))
		return COPY_NO_MEMORY;
	return payload_move_by_errand(qp->actor, &qp->conn.stage->taken, pkt, head, to);
}

enum copy_result stage_move_response(struct soft_qp *qp, const struct packet *pkt,
				     const struct payload_head *head, const struct place *to)
{
	enum copy_result result = payload_move(pkt, head, to);

	if (LIKELY(result != COPY_CLIENT))
		return result;
	if (!stage_of(qp))
		return COPY_NO_MEMORY;
	result = payload_move_by_errand(qp->actor, &qp->conn.stage->answer, pkt, head, to);
	if (result == COPY_LATER) {
		qp->conn.req.copying = true;
		qp->conn.stage->answered = *pkt;
	}
	return result;
}
