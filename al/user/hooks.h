/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* User-mode providers: their hooks around each request to the agent, and their operations in place
 * of a request. */
#ifndef AL_USER_HOOKS_H
#define AL_USER_HOOKS_H

#include <iba/ib_uvp.h>

/*
 * The operations of the HCAs of one provider, or of the HCAs without a provider: these have a table
 * of hooks that are all NULL.
 */
struct user_provider {
	struct user_provider *next;
	const struct uvp_interface *hooks; /* never NULL; has every member of struct uvp_interface */
	struct ci_interface ops;           /* of the provider's HCAs */
	uint32_t tail[CI_OBJ_KINDS];       /* offset of our data in an object, after the provider's */
};

/* The provider for HCAs of a module. An empty name, or a module without a provider: hooks that are
 * all NULL. NULL: out of memory. May sleep. */
const struct user_provider *user_provider(const char *module);
/* In a forked child: makes the lock anew. The providers stay. */
void user_provider_after_fork(void);

/*
 * The requests to the agent, ask_NAME(). call has the provider's data for its module, and receives
 * the module's answer.
 */
#define OP(name, kind, need, mark, group, way, said, params) \
	IF_ASKS(way, RETURNS(kind) ask_##name(PARAMS(params), struct uvp_call *call);)
#include "ci/ops.def"

#endif
