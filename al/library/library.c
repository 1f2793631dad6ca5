/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Opening and closing the library, loading modules for the application, and resetting the library
 * in a forked child. */
#include <string.h>
#include <sys/stat.h>

#include "al/event/async.h"
#include "al/event/hca.h"
#include "al/event/pnp.h"
#include "al/mgmt/mgmt.h"
#include "al/mgmt/remote.h"
#include "al/object/client.h"
#include "al/object/device.h"
#include "al/object/shared.h"
#include "al/object/thread.h"
#include "al/user/user.h"
#include "al/verbs/verbs.h"

/* Guards the start of the library's threads and modules, once per process. Outside every other
 * lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool fork_hooks_registered;

/* ------------------------------------------------------------------- fork */

static void before_fork(void)
{
	urcu_bp_before_fork();
}

static void after_fork_in_parent(void)
{
	urcu_bp_after_fork_parent();
}

/*
 * Resets the library in a forked child. The child has none of the library's threads, and fork() may
 * have copied the state of HCAs in the middle of a change. So the child starts without HCAs and
 * objects: every inherited handle is invalid, and the objects stay the parent's.
 */
static void after_fork_in_child(void)
{
	urcu_bp_after_fork_child();
	handle_after_fork();
	obj_after_fork();
	failure_after_fork();
	dev_after_fork();
	async_after_fork();
	pnp_after_fork();
	mgmt_after_fork();
	user_after_fork();
	shared_after_fork();
	ci_after_fork();
	pthread_mutex_init(&lock, NULL);
}

/* ------------------------------------------------------------------- start */

/* Returns the path of the agent's socket. NULL: this process uses no agent and has the HCAs itself.
 */
static const char *choose_role(const struct al_open_attr *attr)
{
	const char *agent = attr->agent ? attr->agent : ci_env("IBAL_AGENT");
	struct stat st;

	if (!agent)
		agent = ci_conf_get("agent");
	if (!agent || !strcmp(agent, "auto"))
		return stat(AGENT_SOCKET, &st) ? NULL : AGENT_SOCKET;
	return strcmp(agent, "off") ? agent : NULL;
}

/* Starts the library's common threads, and then the modules or the connection to the agent. Under
 * lock. */
static al_status start(const struct al_open_attr *attr, struct user_conn **conn)
{
	const char *agent;
	al_status status;

	if (!fork_hooks_registered) {
		if (pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child))
			return AL_INSUFFICIENT_MEMORY;
		fork_hooks_registered = true;
		mgmt_init();
		mad_remote_set(&user_mad_ops);
		ca_set_finder(user_find_switch);
		hca_init();
	}
	ci_diag_start();
	status = ci_conf_load(attr->config);
	if (status == AL_BAD_CONFIG)
		ib_refuse(status, "ibal.conf has errors, which the log names");
	if (status)
		return status;
	if (!dispatcher_common.pool)
		dispatcher_init(&dispatcher_common, &event_threads);
	status = dispatcher_start(&dispatcher_common);
	if (!status)
		status = reaper_start(&reaper_common);
	if (status)
		return status;
	*conn = NULL;
	agent = choose_role(attr);
	return agent ? user_connect(agent, conn) : ci_start(attr->config);
}

static const struct obj_type al_type = {
	.id = AL_OBJ_AL,
	.size = sizeof(struct al_instance),
	.ci = OBJ_NO_CI,
	.cascades = true,
};

al_status al_open(const struct al_open_attr *attr, al_h *al)
{
	static const struct al_open_attr none;
	struct user_conn *conn = NULL;
	struct al_obj *obj;
	al_status status = AL_SUCCESS;

	attr = attr ? attr : &none;
	if (!al)
		return REFUSE(AL_INVALID_PARAMETER, "al is NULL");
	if (memcmp(attr->reserved, none.reserved, sizeof(none.reserved)))
		return REFUSE(AL_INVALID_PARAMETER, "a word of the member reserved is not zero");
	if ((unsigned int)attr->left_behind > IB_LOG_DEBUG)
		return REFUSE(AL_INVALID_PARAMETER, "left_behind is %u, which is no level of a message",
			      (unsigned int)attr->left_behind);
	if (thread_context == CONTEXT_ATOMIC)
		return reason_settle(refuse_context(), __func__, NULL);
	/* For a client of the agent the library has been started already. The lock is not taken:
	 * another thread of the agent's process may hold the lock while it waits for this agent. */
	if (!acting_client()) {
		pthread_mutex_lock(&lock);
		status = start(attr, &conn);
		pthread_mutex_unlock(&lock);
	}
	if (!status)
		status = obj_new(&al_type, NULL, NULL, NULL, &obj);
	if (status)
		return SETTLED(status);
	((struct al_instance *)obj)->agent = conn;
	((struct al_instance *)obj)->left_behind = attr->left_behind ? attr->left_behind : IB_LOG_WARNING;
	return obj_publish(obj, al); /* without a parent it does not fail */
}

al_status al_close(al_h al, al_destroyed_cb cb, void *context)
{
	return obj_destroy(al, AL_OBJ_AL, cb, context);
}

void al_set_log(al_log_cb cb, void *context)
{
	ci_log_set_sink(cb, context);
}

/* ----------------------------------------------------------------- modules */

/* Begins a call that loads or unloads modules of the process. The opening al only proves that the
 * caller has opened the library. AL_UNSUPPORTED: the opening uses an agent, and the agent's modules
 * are the agent's to load. */
static al_status begin_module_call(struct al_call *call, al_h al)
{
	al_status status;

	/* The loader's lock admits one call at a time, and its holder may wait for the PnP thread
	 * during a removal: the PnP thread must not wait for the lock. */
	if (thread_context == CONTEXT_PNP)
		return ib_refuse(
			AL_INVALID_CONTEXT,
			"the PnP thread may neither load nor unload modules; make the call in another thread");
	status = call_begin(call, al, AL_OBJ_AL);
	if (status || !obj_agent(call->obj))
		return status;
	call_end(call);
	return ib_refuse(AL_UNSUPPORTED,
			 "the modules are the agent's, which loads them by its own configuration");
}

al_status al_load_module(al_h al, const char *path)
{
	struct al_call call;
	al_status status;

	if (!path)
		return REFUSE(AL_INVALID_PARAMETER, "path is NULL");
	status = begin_module_call(&call, al);
	if (status)
		return SETTLED(status);
	status = ci_load_module(path);
	return CALL_FINISH(&call, status);
}

al_status al_unload_module(al_h al, const char *name, uint32_t flags)
{
	struct al_call call;
	al_status status;

	if (!name)
		return REFUSE(AL_INVALID_PARAMETER, "name is NULL");
	if (flags & ~(uint32_t)AL_UNLOAD_REMOVE)
		return REFUSE(AL_INVALID_PARAMETER, "flags has the bits %#x, which are no flags",
			      flags & ~(uint32_t)AL_UNLOAD_REMOVE);
	status = begin_module_call(&call, al);
	if (status)
		return SETTLED(status);
	status = ci_unload_module(name, flags);
	return CALL_FINISH(&call, status);
}

al_status al_rescan(al_h al)
{
	struct al_call call;
	al_status status = begin_module_call(&call, al);

	if (status)
		return SETTLED(status);
	status = ci_rescan();
	return CALL_FINISH(&call, status);
}
