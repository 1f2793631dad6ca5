/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* User-mode providers in the operations: their hooks around each question to the agent, or in its place. */
#ifndef AL_USER_HOOKS_H
#define AL_USER_HOOKS_H

#include <iba/ib_uvp.h>

/* What an HCA without a provider does has its place here too, with no hooks. */
struct user_provider {
	struct user_provider *next;
	const struct uvp_interface *hooks; /* complete; never NULL */
	struct ci_interface ops;           /* of its HCAs */
	uint32_t tail[CI_OBJ_KINDS];       /* where ours of an object begins, behind the provider's */
};

/* The provider for HCAs of this module; an empty name: none. NULL: out of memory. May sleep. */
const struct user_provider *user_provider(const char *module);
/* In a forked child: those that are there stay. */
void user_provider_child(void);

/* The questions to the agent, ask_NAME(). The provider's words to its module are in call, and so is the module's answer. */
#define OP(name, kind, need, mark, group, way, said, params) \
	IF_ASKS(way, RETURNS(kind) ask_##name(PARAMS(params), struct uvp_call *call);)
#include "ci/ops.def"

#endif
