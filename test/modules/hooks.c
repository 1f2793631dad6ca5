/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A user-mode provider of fake.so that changes nothing, for the API's tests in the role "uvp" (test/unit/al/role.h):
 * each request calls its hooks, creations exchange data with the module, and objects are larger than the library's.
 * The provider ends the process if ib_uvp.h's rules are broken.
 */
#include <stdlib.h>
#include <string.h>

#include <iba/ib_uvp.h>

/* Each object has bytes of the provider's own behind the plain struct. */
struct own_ca {
	struct ci_ca ca;
	uint8_t mine[5];
};
struct own_pd {
	struct ci_pd pd;
	uint8_t mine[24];
};
struct own_ah {
	struct ci_ah ah;
	uint8_t mine[1];
};
struct own_mr {
	struct ci_mr mr;
	uint8_t mine[17];
};
struct own_cq {
	struct ci_cq cq;
	uint8_t mine[64];
};
struct own_qp {
	struct ci_qp qp;
	uint8_t mine[100];
};

static const uint8_t word[] = "from the provider";

static void must(bool good)
{
	if (!good)
		abort();
}

/* Data of this call's own, from its pre-hook to its post-hook. */
static al_status before(void *object, struct uvp_call *call)
{
	must(object && !call->priv);
	call->priv = object;
	return AL_SUCCESS;
}

static void after(const void *object, const struct uvp_call *call)
{
	must(call->priv == object);
}

static al_status before_create(void *object, struct uvp_call *call, bool talks)
{
	if (talks) {
		memcpy(call->in, word, sizeof(word));
		call->in_len = call->out_room = sizeof(word);
	}
	return before(object, call);
}

/* fake.so answers with the complement of the data, in operations that take data. */
static al_status after_create(const void *object, const struct uvp_call *call)
{
	const uint8_t *heard = call->out;

	after(object, call);
	must(call->out_len <= sizeof(word) && (!call->out_len || heard));
	for (uint32_t i = 0; i < call->out_len; i++)
		must(heard[i] == 0 || (heard[i] ^ word[i]) == 0xff);
	return AL_SUCCESS;
}

/* clang-format off */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define HOOKS_CREATES(name, first, talks, ...)                                                      \
	static al_status pre_##name(__VA_ARGS__, struct uvp_call *call)                             \
	{                                                                                           \
		return before_create(first, call, talks);                                           \
	}                                                                                           \
	static al_status post_##name(__VA_ARGS__, al_status status, struct uvp_call *call)          \
	{                                                                                           \
		return after_create(first, call);                                                   \
	}
#define HOOKS_CHANGES(name, first, talks, ...)                                                      \
	static al_status pre_##name(__VA_ARGS__, struct uvp_call *call)                             \
	{                                                                                           \
		return before(first, call);                                                         \
	}                                                                                           \
	static void post_##name(__VA_ARGS__, al_status status, struct uvp_call *call)               \
	{                                                                                           \
		after(first, call);                                                                 \
	}
#define HOOKS_ENDS(name, first, talks, ...)                                                         \
	static void pre_##name(__VA_ARGS__, struct uvp_call *call)                                  \
	{                                                                                           \
		before(first, call);                                                                \
	}                                                                                           \
	static void post_##name(__VA_ARGS__, struct uvp_call *call)                                 \
	{                                                                                           \
		after(first, call);                                                                 \
	}
#define OP(name, kind, need, mark, group, way, said, params) \
	IF_ASKS(way, BY_KIND(HOOKS_, kind)(name, FIRST_ARG(params), SAYS(said), PARAMS(params)))
#include "ci/ops.def"
#pragma GCC diagnostic pop
/* clang-format on */

static const struct uvp_interface hooks = {
	.size = sizeof(struct uvp_interface),
	.abi_major = UVP_ABI_MAJOR,
	.abi_minor = UVP_ABI_MINOR,
	.obj_size = {
		[CI_OBJ_CA] = sizeof(struct own_ca),
		[CI_OBJ_PD] = sizeof(struct own_pd),
		[CI_OBJ_AH] = sizeof(struct own_ah),
		[CI_OBJ_MR] = sizeof(struct own_mr),
		[CI_OBJ_CQ] = sizeof(struct own_cq),
		[CI_OBJ_QP] = sizeof(struct own_qp),
	},
#define OP(name, kind, need, mark, group, way, ...) \
	IF_ASKS(way, .pre_##name = pre_##name, .post_##name = post_##name, )
#include "ci/ops.def"
};

const struct uvp_module uvp_module = {
	.size = sizeof(struct uvp_module),
	.abi_major = UVP_ABI_MAJOR,
	.abi_minor = UVP_ABI_MINOR,
	.name = "fake",
	.version = "1.0",
	.license = "GPL-2.0-only OR Linux-OpenIB",
	.ops = &hooks,
};
