/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Helpers for tests of user-mode providers: an agent with fake.so, and a client with the provider
 * test/modules/provider.c.
 */
#ifndef IBAL_TEST_PROVIDER_H
#define IBAL_TEST_PROVIDER_H

#include "test/e2e/agent.h"
#include "test/modules/fake.h"
#include "test/modules/provider.h"

static struct provider *provider;
static al_h al;
static al_ca_h ca;
static al_pd_h pd;

/* Returns the variables of the provider that the library is going to load. */
static inline struct provider *find_provider(void)
{
	void *file = dlopen(PROVIDER_DIR "/fake.so", RTLD_NOW | RTLD_LOCAL);

	ck_assert_msg(file != NULL, "%s", dlerror());
	return dlsym(file, "provider");
}

static inline void begin(const char *option, const char *value)
{
	ck_assert(!setenv("IBAL_MODULE_PATH", FAKE_DIR, 1));
	ck_assert(!setenv("IBAL_UVP_PATH", PROVIDER_DIR, 1));
	agent_start(option, value);
	provider = find_provider();
	ck_assert_ptr_nonnull(provider);
}

static inline void open_all(void)
{
	al = agent_open();
	ca = test_open_ca(al, FAKE_GUID);
	ck_ok(al_alloc_pd(ca, NULL, &pd));
	provider->log[0] = '\0';
}

static inline void end(void)
{
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	ck_assert(!provider->spoilt);
	agent_stop();
}

static inline al_status try_cq(uint32_t cqe, al_cq_h *cq)
{
	struct al_cq_init init = { .cqe = cqe };

	return al_create_cq(pd, &init, NULL, NULL, NULL, cq);
}

#endif
