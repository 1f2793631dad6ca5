/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Reasons of refusals that functions of the API have in common. The sentences themselves are kept
 * by ci/reason.c. */
#include <stdio.h>

#include "al/object/object.h"
#include "ci/ci.h"

const char *al_reason(void)
{
	return ci_reason_text();
}

al_status reason_settle(al_status status, const char *function, const struct al_obj *obj)
{
	char what[64] = "";

	if (!ci_reason.fresh || ci_reason.status != status)
		ib_refuse(status, "%s", al_status_str(status));
	ci_reason.fresh = false;
	if (!obj) {
		ci_reason_log("%s is refused: %s (%s)", function, al_reason(),
			      al_status_name(status));
		return status;
	}
	if (obj->type->id == AL_OBJ_QP)
		snprintf(what, sizeof(what), " (%#x)", ((const struct ci_qp *)obj->ci)->qp_num);
	ci_reason_log("%s of %s[%d] is refused for %s %#llx%s: %s (%s)", function, obj->comm,
		      (int)obj->pid, obj_name(obj), (unsigned long long)obj->handle, what,
		      al_reason(), al_status_name(status));
	return status;
}

al_status refuse_handle(const void *handle, al_object_type type)
{
	const char *wanted =
		al_object_type_str((al_object_type)(type & ~(unsigned int)HANDLE_ALIAS));
	const uint64_t bits = (uintptr_t)handle;
	const al_object_type found =
		(al_object_type)(handle_type(bits) & ~(unsigned int)HANDLE_ALIAS);
	bool live;

	if (!handle)
		return ib_refuse(AL_INVALID_HANDLE, "the handle of the %s is NULL", wanted);
	rcu_enter();
	live = handle_find(bits);
	rcu_leave();
	if (live && found != type)
		return ib_refuse(AL_INVALID_HANDLE, "the handle %#llx is of a %s, not of a %s",
				 (unsigned long long)bits, al_object_type_str(found), wanted);
	return ib_refuse(AL_INVALID_HANDLE,
			 "the handle %#llx is of no %s: it was destroyed, or never was one",
			 (unsigned long long)bits, wanted);
}

al_status refuse_context(void)
{
	return ib_refuse(
		AL_INVALID_CONTEXT,
		"the call may sleep, and the thread is in a callback that must not; make the call in another thread");
}
