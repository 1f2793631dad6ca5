/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The operations of an HCA behind an agent: what its provider wants to do before, the question to
 * the agent, what the provider wants to do after. The order, and what a hook may do, is ib_uvp.h's.
 */
#include "al/user/hooks.h"

#include <string.h>
#include <unistd.h>

#include "al/user/user.h"

/* What a provider and its module say to each other about one operation. */
struct talk {
	struct uvp_call call;
	char in[UVP_MAX_DATA] __attribute__((aligned(8)));
	char out[UVP_MAX_DATA] __attribute__((aligned(8))); /* filled by user_ask() */
};

/* Begun for a pre-hook, which alone writes. */
static struct uvp_call *listen_to(struct talk *talk)
{
	memset(talk->in, 0, sizeof(talk->in));
	talk->call.in = talk->in;
	talk->call.out = talk->out;
	return &talk->call;
}

/* A hook that says more than there is room for is its vendor's bug. */
static al_status check_said(const struct uvp_call *call, const char *name, bool talks)
{
	if (!talks && (call->in_len || call->out_room || call->num_in_fds)) {
		ib_log(IB_LOG_ERROR, "user",
		       "the provider's pre-hook has something to say or to hear, but nothing goes to the module with %s",
		       name);
		return AL_INVALID_PARAMETER;
	}
	if (call->in_len <= UVP_MAX_DATA && call->out_room <= UVP_MAX_DATA &&
	    call->num_in_fds <= UVP_MAX_FDS)
		return AL_SUCCESS;
	ib_log(IB_LOG_ERROR, "user",
	       "%s fails: the provider's pre-hook has %u bytes, %u descriptors and room for %u bytes; %u, %u and %u are possible",
	       name, call->in_len, call->num_in_fds, call->out_room, UVP_MAX_DATA, UVP_MAX_FDS,
	       UVP_MAX_DATA);
	return AL_INVALID_PARAMETER;
}

/* Nobody takes the descriptors that the module gave. */
static void drop_given(struct uvp_call *call)
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
	struct talk talk;                                 \
	struct uvp_call *call = &talk.call;               \
	memset(call, 0, sizeof(*call))
#define TELL(name, when) IB_TRACE("user", "the provider's " #when "_" #name)

/* Pre-hook and question; where the pre-hook refuses, that is all. */
#define ASK(name, params, status, says)                                             \
	do {                                                                        \
		if (hooks->pre_##name) {                                            \
			TELL(name, pre);                                            \
			status = hooks->pre_##name(ARGS(params), listen_to(&talk)); \
			if (status)                                                 \
				return status;                                      \
			status = check_said(call, #name, says);                     \
		}                                                                   \
		if (!status && !call->done)                                         \
			status = ask_##name(ARGS(params), call);                    \
	} while (0)

#define FORWARD_CREATES(name, undo, ca, said, params)                          \
	static al_status name(PARAMS(params) UDATA_PARAM(said))                \
	{                                                                      \
		al_status status = AL_SUCCESS, kept = AL_SUCCESS;              \
		struct uvp_call ending = { 0 };                                \
		BEGIN(ca);                                                     \
                                                                               \
		ASK(name, params, status, SAYS(said));                         \
		if (hooks->post_##name) {                                      \
			TELL(name, post);                                      \
			kept = hooks->post_##name(ARGS(params), status, call); \
		} else {                                                       \
			drop_given(call);                                      \
		}                                                              \
		if (status || !kept)                                           \
			return status;                                         \
		JOIN(ask_, undo)(FIRST_ARG(params), &ending);                  \
		return kept;                                                   \
	}
#define FORWARD_CHANGES(name, undo, ca, said, params)                   \
	static al_status name(PARAMS(params) UDATA_PARAM(said))         \
	{                                                               \
		al_status status = AL_SUCCESS;                          \
		BEGIN(ca);                                              \
                                                                        \
		ASK(name, params, status, SAYS(said));                  \
		if (hooks->post_##name) {                               \
			TELL(name, post);                               \
			hooks->post_##name(ARGS(params), status, call); \
		} else {                                                \
			drop_given(call);                               \
		}                                                       \
		return status;                                          \
	}
#define FORWARD_ENDS(name, undo, ca, said, params)                         \
	static void name(PARAMS(params))                                   \
	{                                                                  \
		BEGIN(ca);                                                 \
                                                                           \
		if (hooks->pre_##name) {                                   \
			TELL(name, pre);                                   \
			hooks->pre_##name(ARGS(params), listen_to(&talk)); \
			check_said(call, #name, SAYS(said));               \
		}                                                          \
		ask_##name(ARGS(params), call);                            \
		if (hooks->post_##name) {                                  \
			TELL(name, post);                                  \
			hooks->post_##name(ARGS(params), call);            \
		}                                                          \
	}
#define OP(name, kind, need, mark, group, way, said, params) \
	IF_ASKS(way, BY_KIND(FORWARD_, kind)(name, UNDOES(kind), CA_OF(way), said, params))
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter" /* udata, which only an agent has */
#include "ci/ops.def"
#pragma GCC diagnostic pop

/* ---------------------------------------------------- rows and struct uvp_interface */

/* In the order of the rows: first the two hooks of each, then the direct ones. */
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

/* What is ours of each kind of object. */
static const uint32_t tail_size[CI_OBJ_KINDS] = {
	[CI_OBJ_PD] = sizeof(struct user_object), [CI_OBJ_AH] = sizeof(struct user_path),
	[CI_OBJ_MR] = sizeof(struct user_object), [CI_OBJ_CQ] = sizeof(struct user_object),
	[CI_OBJ_QP] = sizeof(struct user_object),
};

static const struct ci_interface forwarding = {
	.size = sizeof(struct ci_interface),
	.abi_major = CI_ABI_MAJOR,
	.abi_minor = CI_ABI_MINOR,
	/* The data path waits for the agent, also what of it does not cross yet. */
	.may_block = 0
#define OP(name, kind, need, mark, group, way, ...) IF_DIRECT(way, | CI_MAY_BLOCK(name))
#include "ci/ops.def"
	,
#define OP(name, kind, need, mark, group, way, ...) \
	IF_ASKS(way, .name = name, ) IF_FUNCTION(way, .name = FUNCTION(way), )
#include "ci/ops.def"
};

/*
 * A provider's own data path takes the place of the forwarding one, without a detour, operation by
 * operation: an operation that the provider brings does not block.
 */
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
static struct user_provider *providers; /* few, and kept: HCAs point to them */

void user_provider_child(void)
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
