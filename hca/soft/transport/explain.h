/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Reasons of failed requests (explain.c). */
#ifndef SOFT_EXPLAIN_H
#define SOFT_EXPLAIN_H

#include "hca/soft/transport/qp.h"

/* Tell the Access Layer why a request or a receive fails. Called by the owner, once per request
 * that fails and is not flushed. */
void explain_send_failure(const struct soft_qp *qp, const struct send_wqe *wqe, ib_wc_status status)
	__attribute__((cold));
void explain_recv_failure(const struct soft_qp *qp, const struct recv_wqe *wqe, ib_wc_status status)
	__attribute__((cold));

#endif
