/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The operations of an HCA behind an agent: each calls the provider's pre-hook, sends the request
 * to the agent, and calls the provider's post-hook. ib_uvp.h describes the order and what a hook
 * may do. The requests are in ask.c.
 */
#include "al/user/hooks.h"

#include <string.h>
#include <unistd.h>

#include "al/user/user.h"

/* What the provider and its module exchange in one operation. */
struct exchange {
	struct uvp_call call;
	char in[UVP_MAX_DATA] __attribute__((aligned(8)));
	char out[UVP_MAX_DATA] __attribute__((aligned(8))); /* filled by user_ask() */
};

/* Gives the pre-hook memory for its data to the module. */
static struct uvp_call *begin_exchange(struct exchange *exchange)
{
	memset(exchange->in, 0, sizeof(exchange->in));
	exchange->call.in = exchange->in;
	exchange->call.out = exchange->out;
	return &exchange->call;
}

/* After the pre-hook. A pre-hook that exceeds the limits, or has data where the operation takes
 * none, is a bug of its vendor. */
static al_status check_exchange(const struct uvp_call *call, const char *name, bool crosses)
{
	if (!crosses && (call->in_len || call->out_room || call->num_in_fds)) {
		ib_log(IB_LOG_ERROR, "user",
		       "the provider's pre-hook of %s sends data or descriptors to the module, or has room for the module's; %s takes none",
		       name, name);
		return AL_INVALID_PARAMETER;
	}
	if (call->in_len <= UVP_MAX_DATA && call->out_room <= UVP_MAX_DATA &&
	    call->num_in_fds <= UVP_MAX_FDS)
		return AL_SUCCESS;
	ib_log(IB_LOG_ERROR, "user",
	       "%s fails: the provider's pre-hook sends %u bytes and %u descriptors and has room for %u bytes; at most %u, %u and %u are possible",
	       name, call->in_len, call->num_in_fds, call->out_room, UVP_MAX_DATA, UVP_MAX_FDS,
	       UVP_MAX_DATA);
	return AL_INVALID_PARAMETER;
}

/* Closes the module's descriptors, for which the provider has no post-hook. */
static void close_answered_fds(struct uvp_call *call)
{
	while (call->num_out_fds)
		close(call->out_fds[--call->num_out_fds]);
}

static inline const struct uvp_interface *hooks_of(const struct ci_ca *ca)
{
	return ((const struct user_hca *)ca->hca)->provider->hooks;
}

#define BEGIN(ca)                                         \
	const struct uvp_interface *hooks = hooks_of(ca); \
	struct exchange exchange;                         \
	struct uvp_call *call = &exchange.call;           \
	memset(call, 0, sizeof(*call))
#define TRACE_HOOK(name, when) IB_TRACE("user", "the provider's " #when "_" #name)

/* Calls the pre-hook. If the pre-hook refuses, refused is set, and the operation ends without
 * request and post-hook. */
#define CALL_PRE_HOOK(name, params, status, refused, crosses)                                  \
	do {                                                                                   \
		if (hooks->pre_##name) {                                                       \
			TRACE_HOOK(name, pre);                                                 \
			status = hooks->pre_##name(ARGS(params), begin_exchange(&exchange));   \
			refused = status != AL_SUCCESS;                                        \
			if (!refused)                                                          \
				status = check_exchange(call, #name, crosses);                 \
		}                                                                              \
	} while (0)
/* Sends the request, unless the pre-hook has done the whole operation. */
#define SEND_REQUEST(name, params, status)                                                     \
	do {                                                                                   \
		if (!status && !call->done)                                                    \
			status = ask_##name(ARGS(params), call);                               \
	} while (0)

#define FORWARD_CREATES(name, undo, ca, said, params)                             \
	static al_status name(PARAMS(params) UDATA_PARAM(said))                   \
	{                                                                         \
		al_status status = AL_SUCCESS, verdict = AL_SUCCESS;              \
		struct uvp_call undoing = { 0 };                                  \
		bool refused = false;                                             \
		BEGIN(ca);                                                        \
                                                                                  \
		CALL_PRE_HOOK(name, params, status, refused, SAYS(said));         \
		if (refused)                                                      \
			return status;                                            \
		SEND_REQUEST(name, params, status);                               \
		if (hooks->post_##name) {                                         \
			TRACE_HOOK(name, post);                                   \
			verdict = hooks->post_##name(ARGS(params), status, call); \
		} else {                                                          \
			close_answered_fds(call);                                 \
		}                                                                 \
		if (status || !verdict)                                           \
			return status;                                            \
		JOIN(ask_, undo)(FIRST_ARG(params), &undoing);                    \
		return verdict;                                                   \
	}
#define FORWARD_CHANGES(name, undo, ca, said, params)                     \
	static al_status name(PARAMS(params) UDATA_PARAM(said))           \
	{                                                                 \
		al_status status = AL_SUCCESS;                            \
		bool refused = false;                                     \
		BEGIN(ca);                                                \
                                                                          \
		CALL_PRE_HOOK(name, params, status, refused, SAYS(said)); \
		if (refused)                                              \
			return status;                                    \
		SEND_REQUEST(name, params, status);                       \
		if (hooks->post_##name) {                                 \
			TRACE_HOOK(name, post);                           \
			hooks->post_##name(ARGS(params), status, call);   \
		} else {                                                  \
			close_answered_fds(call);                         \
		}                                                         \
		return status;                                            \
	}
#define FORWARD_ENDS(name, undo, ca, said, params)                                  \
	static void name(PARAMS(params))                                            \
	{                                                                           \
		BEGIN(ca);                                                          \
                                                                                    \
		if (hooks->pre_##name) {                                            \
			TRACE_HOOK(name, pre);                                      \
			hooks->pre_##name(ARGS(params), begin_exchange(&exchange)); \
			check_exchange(call, #name, SAYS(said));                    \
		}                                                                   \
		ask_##name(ARGS(params), call);                                     \
		if (hooks->post_##name) {                                           \
			TRACE_HOOK(name, post);                                     \
			hooks->post_##name(ARGS(params), call);                     \
		}                                                                   \
	}
#define OP(name, kind, need, mark, group, way, said, params) \
	IF_ASKS(way, BY_KIND(FORWARD_, kind)(name, UNDOES(kind), CA_OF(way), said, params))
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter" /* udata: a client has none, only the agent */
#include "ci/ops.def"
#pragma GCC diagnostic pop

/* ---------------------------------------------------- rows and struct uvp_interface */

/* The members of struct uvp_interface in the order of the rows: the two hooks of each row, then the
 * direct operations. The assertions below tie the rows to the struct. */
enum hook {
#define OP(name, kind, need, mark, group, way, ...) \
	IF_HOOKED(way, HOOK_pre_##name, HOOK_post_##name, )
#include "ci/ops.def"
#define OP(name, kind, need, mark, group, way, ...) IF_DIRECT(way, HOOK_##name, )
#include "ci/ops.def"
	HOOKS
};
#define HOOKS_AT offsetof(struct uvp_interface, pre_open_ca)
#define HOOK_SIZE sizeof(void (*)(void))
#define TIED(name, type, ...)                                                                      \
	_Static_assert(offsetof(struct uvp_interface, name) == HOOKS_AT + HOOK_##name * HOOK_SIZE, \
		       "ops.def: " #name " is not in the place it has in struct uvp_interface");   \
	_Static_assert(__builtin_types_compatible_p(__typeof__(((struct uvp_interface *)0)->name), \
						    type (*)(__VA_ARGS__)),                        \
		       "ops.def: " #name " has other parameters in struct uvp_interface");
#define TIED_CREATES(name, ...)                                     \
	TIED(pre_##name, al_status, __VA_ARGS__, struct uvp_call *) \
	TIED(post_##name, al_status, __VA_ARGS__, al_status, struct uvp_call *)
#define TIED_CHANGES(name, ...)                                     \
	TIED(pre_##name, al_status, __VA_ARGS__, struct uvp_call *) \
	TIED(post_##name, void, __VA_ARGS__, al_status, struct uvp_call *)
#define TIED_ENDS(name, ...)                                   \
	TIED(pre_##name, void, __VA_ARGS__, struct uvp_call *) \
	TIED(post_##name, void, __VA_ARGS__, struct uvp_call *)
#define OP(name, kind, need, mark, group, way, said, params)       \
	IF_HOOKED(way, BY_KIND(TIED_, kind)(name, PARAMS(params))) \
	IF_DIRECT(way, TIED(name, RETURNS(kind), PARAMS(params)))
#include "ci/ops.def"
_Static_assert(sizeof(struct uvp_interface) == HOOKS_AT + HOOKS * HOOK_SIZE,
	       "ops.def: struct uvp_interface has more members");

/* ---------------------------------------------------------- tables of operations */

/* Size of our data of each kind of object. */
static const uint32_t tail_size[CI_OBJ_KINDS] = {
	[CI_OBJ_PD] = sizeof(struct user_object), [CI_OBJ_AH] = sizeof(struct user_path),
	[CI_OBJ_MR] = sizeof(struct user_object), [CI_OBJ_CQ] = sizeof(struct user_object),
	[CI_OBJ_QP] = sizeof(struct user_object),
};

static const struct ci_interface forwarding = {
	.size = sizeof(struct ci_interface),
	.abi_major = CI_ABI_MAJOR,
	.abi_minor = CI_ABI_MINOR,
	/* A forwarded operation of the data path waits for the agent. So may_block has all of the
	 * data path, also the operations that are not forwarded yet. */
	.may_block = 0
#define OP(name, kind, need, mark, group, way, ...) IF_DIRECT(way, | CI_MAY_BLOCK(name))
#include "ci/ops.def"
	,
#define OP(name, kind, need, mark, group, way, ...) \
	IF_ASKS(way, .name = name, ) IF_FUNCTION(way, .name = FUNCTION(way), )
#include "ci/ops.def"
};

/* Puts each operation of the provider's own data path in place of the forwarded operation. The
 * provider's does not block. */
static void overlay(struct ci_interface *ops, const struct uvp_interface *hooks)
{
	ops->flags = hooks->flags;
#define OVERLAY(op)                                  \
	if (hooks->op) {                             \
		ops->op = hooks->op;                 \
		ops->may_block &= ~CI_MAY_BLOCK(op); \
	}
#define OP(name, kind, need, mark, group, way, ...) IF_DIRECT(way, OVERLAY(name))
#include "ci/ops.def"
}

/* Computes the size of each kind of object: the Channel Interface's struct, the provider's data,
 * our data. */
static void lay_out(struct user_provider *p)
{
	uint32_t own;

	for (int i = 0; i < CI_OBJ_KINDS; i++) {
		p->ops.obj_size[i] = p->hooks->obj_size[i];
		own = (uint32_t)ci_obj_bytes(&p->ops, (enum ci_obj)i);
		p->tail[i] = (own + 15u) & ~15u;
		if (tail_size[i])
			p->ops.obj_size[i] = p->tail[i] + tail_size[i];
	}
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the list. Leaf. */
static struct user_provider *providers; /* never freed, since HCAs point to them; one for each module */

void user_provider_after_fork(void)
{
	pthread_mutex_init(&lock, NULL);
}

const struct user_provider *user_provider(const char *module)
{
	static const struct uvp_interface no_hooks;
	const struct uvp_interface *hooks = *module ? ci_provider(module) : NULL;
	struct user_provider *p;

	if (!hooks)
		hooks = &no_hooks;
	pthread_mutex_lock(&lock);
	for (p = providers; p && p->hooks != hooks; p = p->next)
		;
	if (!p) {
		p = al_alloc(sizeof(*p));
		if (p) {
			p->hooks = hooks;
			p->ops = forwarding;
			overlay(&p->ops, hooks);
			lay_out(p);
			p->next = providers;
			providers = p;
		}
	}
	pthread_mutex_unlock(&lock);
	return p;
}
