/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The user-mode provider of fake.so: see provider.h. PROVIDER_ODD makes a provider that is wrong in one way. */
#include <string.h>

#include "test/modules/provider.h"

/* Has bytes of the provider's own behind the plain struct, to check that they do not change. */
struct own_cq {
	struct ci_cq cq;
	uint8_t mine[37];
};
#define MINE 0x5a

extern struct provider provider;
static struct uvp_interface hooks;
struct provider provider = { .about = "", .hooks = &hooks };

static void note(const char *when, const char *name)
{
	strncat(provider.log, when, sizeof(provider.log) - strlen(provider.log) - 1);
	strncat(provider.log, name, sizeof(provider.log) - strlen(provider.log) - 1);
	strncat(provider.log, " ", sizeof(provider.log) - strlen(provider.log) - 1);
}

static void look_at_mine(const char *name, void *object)
{
	uint8_t *mine = ((struct own_cq *)object)->mine;

	if (!strcmp(name, "create_cq"))
		memset(mine, MINE, sizeof(((struct own_cq *)object)->mine));
	for (size_t i = 0; !strcmp(name, "destroy_cq") && i < sizeof(((struct own_cq *)object)->mine); i++)
		provider.spoilt |= mine[i] != MINE;
}

static al_status before(const char *name, void *object, struct uvp_call *call)
{
	note("pre_", name);
	look_at_mine(name, object);
	if (!strcmp(name, "create_ah"))
		provider.last_ah = object;
	if (strcmp(name, provider.about))
		return AL_SUCCESS;
	if (provider.before)
		provider.before();
	call->priv = &provider;
	call->done = provider.done;
	call->in_len = provider.in_len;
	call->out_room = provider.out_room;
	call->num_in_fds = provider.num_fds;
	if (provider.in_len <= UVP_MAX_DATA)
		memcpy(call->in, provider.say, provider.in_len);
	for (uint32_t i = 0; i < provider.num_fds && i < UVP_MAX_FDS; i++)
		call->in_fds[i] = provider.fd;
	return provider.fail_pre;
}

static al_status after(const char *name, al_status status, struct uvp_call *call)
{
	note("post_", name);
	if (strcmp(name, provider.about))
		return AL_SUCCESS;
	provider.outcome = call->priv == &provider ? status : AL_INVALID_HANDLE;
	provider.heard_len = call->out_len;
	if (call->out_len)
		memcpy(provider.heard, call->out, call->out_len);
	provider.heard_fds = call->num_out_fds;
	memcpy(provider.heard_fd, call->out_fds, sizeof(provider.heard_fd));
	return provider.fail_post;
}

/* All hooks, as the library pairs them. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define HOOKS_CREATES(name, first, ...)                                                             \
	static al_status pre_##name(__VA_ARGS__, struct uvp_call *call)                             \
	{                                                                                           \
		return before(#name, first, call);                                                  \
	}                                                                                           \
	static al_status post_##name(__VA_ARGS__, al_status status, struct uvp_call *call)          \
	{                                                                                           \
		return after(#name, status, call);                                                  \
	}
#define HOOKS_CHANGES(name, first, ...)                                                             \
	static al_status pre_##name(__VA_ARGS__, struct uvp_call *call)                             \
	{                                                                                           \
		return before(#name, first, call);                                                  \
	}                                                                                           \
	static void post_##name(__VA_ARGS__, al_status status, struct uvp_call *call)               \
	{                                                                                           \
		after(#name, status, call);                                                         \
	}
#define HOOKS_ENDS(name, first, ...)                                                                \
	static void pre_##name(__VA_ARGS__, struct uvp_call *call)                                  \
	{                                                                                           \
		before(#name, first, call);                                                         \
	}                                                                                           \
	static void post_##name(__VA_ARGS__, struct uvp_call *call)                                 \
	{                                                                                           \
		after(#name, AL_SUCCESS, call);                                                     \
	}
#define OP(name, kind, need, mark, group, way, said, params) \
	IF_ASKS(way, BY_KIND(HOOKS_, kind)(name, FIRST_ARG(params), PARAMS(params)))
#include "ci/ops.def"
#pragma GCC diagnostic pop

static al_status peek_cq(struct ci_cq *cq, uint32_t max, uint32_t *count)
{
	(void)cq;
	(void)max;
	if (provider.direct)
		provider.direct();
	*count = PROVIDER_PEEK;
	return AL_SUCCESS;
}

/* Sends nothing, but records the address handles. */
static al_status post_send(struct ci_qp *qp, const struct ib_send_wr *wr, const struct ib_send_wr **bad)
{
	if (provider.direct)
		provider.direct();
	for (; wr; wr = wr->next) {
		provider.sent_to = provider.find_ah(qp, wr->wr.ud.ah);
		if (!provider.sent_to) {
			*bad = wr;
			return AL_INVALID_HANDLE;
		}
		provider.sent++;
	}
	return AL_SUCCESS;
}

static struct uvp_interface hooks = {
	.size = sizeof(struct uvp_interface),
	.abi_major = UVP_ABI_MAJOR,
	.abi_minor = UVP_ABI_MINOR,
#ifdef ODD_HOOK_FLAGS
	.flags = CI_CLIENT_MEMORY,
#endif
#ifdef ODD_SIZES
	.obj_size = { [CI_OBJ_CQ] = 8 },
#else
	.obj_size = { [CI_OBJ_CQ] = sizeof(struct own_cq) },
#endif
#define OP(name, kind, need, mark, group, way, ...) \
	IF_ASKS(way, .pre_##name = pre_##name, .post_##name = post_##name, )
#include "ci/ops.def"
	.peek_cq = peek_cq,
	.post_send = post_send,
};

#ifdef ODD_INIT
static al_status init(void)
{
	return AL_IO_ERROR;
}
#endif

#define STRING(x) #x
#define NAME(x) STRING(x)
#ifndef ODD
#define ODD fake
#endif

const struct uvp_module uvp_module = {
	.size = sizeof(struct uvp_module),
#ifdef ODD_ABI
	.abi_major = UVP_ABI_MAJOR + 1,
#else
	.abi_major = UVP_ABI_MAJOR,
#endif
	.abi_minor = UVP_ABI_MINOR,
#ifdef ODD_NAME
	.name = "another",
#else
	.name = NAME(ODD),
#endif
	.version = "1.0",
	.license = "GPL-2.0-only OR Linux-OpenIB",
#ifdef ODD_FLAGS
	.flags = 1,
#endif
#ifndef ODD_NO_OPS
	.ops = &hooks,
#endif
#ifdef ODD_INIT
	.init = init,
#endif
};
