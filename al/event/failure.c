/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Failed requests of queue pairs: the last one's sentence, for programs, and lines in the log. A
 * completion itself has no room for a sentence. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "al/event/async.h"

/* Guards the failures of all queue pairs. Failures are rare. Leaf. */
static pthread_mutex_t failures_lock = PTHREAD_MUTEX_INITIALIZER;

static void keep(struct al_obj *obj, const struct al_qp_failure *failure)
{
	struct al_qp_failure *kept = ((struct al_evobj *)obj)->failure;
	uint32_t before;

	pthread_mutex_lock(&failures_lock);
	before = kept->count;
	*kept = *failure;
	kept->count = before + 1;
	pthread_mutex_unlock(&failures_lock);
	ci_reason_log("request %#llx of qp %#x of %s[%d] failed: %s (%s)",
		      (unsigned long long)failure->wr_id, ((const struct ci_qp *)obj->ci)->qp_num,
		      obj->comm, (int)obj->pid, failure->reason, al_wc_status_str(failure->status));
	if (obj->foreign)
		ev_raise(&obj->ev, EV_FAILURE);
}

void ib_request_failed(void *qp_ctx, uint64_t wr_id, ib_wc_status status, const char *fmt, ...)
{
	struct al_qp_failure failure = { .wr_id = wr_id, .status = status };
	struct al_obj *obj = qp_ctx;
	va_list ap;

	if (!obj || !obj->type || obj->type->id != AL_OBJ_QP || obj->type->alias) {
		ib_log(IB_LOG_ERROR, "al",
		       "ib_request_failed: a module passed another ctx than a queue pair's; the reason is dropped");
		return;
	}
	va_start(ap, fmt);
	vsnprintf(failure.reason, sizeof(failure.reason), fmt, ap);
	va_end(ap);
	ci_one_line(failure.reason);
	keep(obj, &failure);
}

/* False: no request of the queue pair has failed. */
static bool copy(struct al_obj *obj, struct al_qp_failure *failure)
{
	const struct al_qp_failure *kept = ((struct al_evobj *)obj)->failure;
	bool found;

	pthread_mutex_lock(&failures_lock);
	found = kept->count;
	if (found)
		*failure = *kept;
	pthread_mutex_unlock(&failures_lock);
	return found;
}

bool failure_find(al_qp_h qp, struct al_qp_failure *failure)
{
	struct al_obj *obj = obj_get(qp, AL_OBJ_QP);
	const bool found = obj && copy(obj, failure);

	if (obj)
		obj_put(obj);
	return found;
}

al_status al_query_failure(al_qp_h qp, struct al_qp_failure *failure)
{
	al_status status = AL_SUCCESS;
	struct al_obj *obj;

	if (!failure)
		return REFUSE(AL_INVALID_PARAMETER, "failure is NULL");
	obj = obj_get(qp, AL_OBJ_QP);
	if (!obj)
		return reason_settle(refuse_handle(qp, AL_OBJ_QP), __func__, NULL);
	if (!copy(obj, failure))
		status = reason_settle(
			ib_refuse(AL_NOT_FOUND, "no request of the queue pair has failed"),
			__func__, obj);
	obj_put(obj);
	return status;
}

void failure_after_fork(void)
{
	pthread_mutex_init(&failures_lock, NULL);
}
