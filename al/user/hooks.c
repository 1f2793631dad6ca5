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

#define LIST(...) __VA_ARGS__
#define UDATA     , __attribute__((unused)) struct ci_udata *udata
#define NO_UDATA
#define TALKS true
#define MUTE  false
#define BEGIN(ca)                                         \
	const struct uvp_interface *hooks = hooks_of(ca); \
	struct talk talk;                                 \
	struct uvp_call *call = &talk.call;               \
	memset(call, 0, sizeof(*call))
#define TELL(name, when) IB_TRACE("user", "the provider's " #when "_" #name)

/* Pre-hook and question; where the pre-hook refuses, that is all. */
#define ASK(name, args, status, talks)                                           \
	do {                                                                     \
		if (hooks->pre_##name) {                                         \
			TELL(name, pre);                                         \
			status = hooks->pre_##name(LIST args, listen_to(&talk)); \
			if (status)                                              \
				return status;                                   \
			status = check_said(call, #name, talks);                 \
		}                                                                \
		if (!status && !call->done)                                      \
			status = ask_##name(LIST args, call);                    \
	} while (0)

#define CREATES(name, undo, ca, params, args, udata, talks)                 \
	static al_status name(LIST params udata)                            \
	{                                                                   \
		al_status status = AL_SUCCESS, kept = AL_SUCCESS;           \
		struct uvp_call ending = { 0 };                             \
		BEGIN(ca);                                                  \
                                                                            \
		ASK(name, args, status, talks);                             \
		if (hooks->post_##name) {                                   \
			TELL(name, post);                                   \
			kept = hooks->post_##name(LIST args, status, call); \
		} else {                                                    \
			drop_given(call);                                   \
		}                                                           \
		if (status || !kept)                                        \
			return status;                                      \
		ask_##undo(FIRST args, &ending);                            \
		return kept;                                                \
	}
#define FIRST(first, ...) first
#define CHANGES(name, ca, params, args, udata, talks)                \
	static al_status name(LIST params udata)                     \
	{                                                            \
		al_status status = AL_SUCCESS;                       \
		BEGIN(ca);                                           \
                                                                     \
		ASK(name, args, status, talks);                      \
		if (hooks->post_##name) {                            \
			TELL(name, post);                            \
			hooks->post_##name(LIST args, status, call); \
		} else {                                             \
			drop_given(call);                            \
		}                                                    \
		return status;                                       \
	}
#define ENDS(name, ca, param, arg)                                     \
	static void name(LIST param)                                   \
	{                                                              \
		BEGIN(ca);                                             \
                                                                       \
		if (hooks->pre_##name) {                               \
			TELL(name, pre);                               \
			hooks->pre_##name(LIST arg, listen_to(&talk)); \
			check_said(call, #name, MUTE);                 \
		}                                                      \
		ask_##name(LIST arg, call);                            \
		if (hooks->post_##name) {                              \
			TELL(name, post);                              \
			hooks->post_##name(LIST arg, call);            \
		}                                                      \
	}
#include "al/user/hooks.def"

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
	/* What crosses waits for the agent. */
	.may_block = CI_MAY_BLOCK(post_send) | CI_MAY_BLOCK(post_recv) | CI_MAY_BLOCK(poll_cq) |
		     CI_MAY_BLOCK(peek_cq) | CI_MAY_BLOCK(arm_cq) | CI_MAY_BLOCK(arm_cq_n),
#define CREATES(name, ...) .name = name,
#define CHANGES(name, ...) .name = name,
#define ENDS(name, ...)    .name = name,
#include "al/user/hooks.def"
	.post_send = user_post_send,
	.post_recv = user_post_recv,
	.poll_cq = user_poll_cq,
	.peek_cq = user_peek_cq,
	.arm_cq = user_arm_cq,
	.arm_cq_n = user_arm_cq_n,
	.dma_alloc_coherent = user_dma_alloc_coherent,
	.dma_free_coherent = user_dma_free_coherent,
};

/*
 * A provider's own data path takes the place of the forwarding one, without a detour, operation by
 * operation: an operation that the provider brings does not block.
 */
static void overlay(struct ci_interface *ops, const struct uvp_interface *hooks)
{
	ops->flags = hooks->flags;
#define DIRECT(name)                                           \
	do {                                                   \
		if (hooks->name) {                             \
			ops->name = hooks->name;               \
			ops->may_block &= ~CI_MAY_BLOCK(name); \
		}                                              \
	} while (0)
	DIRECT(post_send);
	DIRECT(post_recv);
	DIRECT(poll_cq);
	DIRECT(peek_cq);
	DIRECT(arm_cq);
	DIRECT(arm_cq_n);
#undef DIRECT
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
