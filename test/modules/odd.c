/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Small modules for tests of the loader, one per definition of ODD on the compiler's command line: three modules with
 * an order, which only report their initialisation, and modules that are each wrong in one way.
 */
#include <iba/ib_hca.h>

#define STRING(x) #x
#define NAME(x) STRING(x)

#if defined(ODD_NO_SYMBOL)

/* A correct shared object that is no module. */
extern const int ci_modul;
const int ci_modul = 1;

#elif defined(ODD_UNDEFINED)

void no_library_has_this_function(void);

static void cleanup(void)
{
	no_library_has_this_function();
}

const struct ci_module ci_module = {
	.size = sizeof(struct ci_module),
	.abi_major = CI_ABI_MAJOR,
	.name = NAME(ODD),
	.cleanup = cleanup,
};

#else

static al_status init(struct ci_host *host, const struct ci_params *params)
{
	(void)host;
	ib_log(IB_LOG_INFO, NAME(ODD), "initialised with %zu settings", params->count);
	return AL_SUCCESS;
}

__attribute__((unused)) static void cleanup(void)
{
	ib_log(IB_LOG_INFO, NAME(ODD), "cleaned up");
}

#if defined(ODD_NO_REMOVE)
static al_status probe(struct ci_pci_dev *dev)
{
	(void)dev;
	return AL_SUCCESS;
}
#endif

const struct ci_module ci_module = {
#if defined(ODD_SMALL)
	.size = sizeof(struct ci_module) - 8,
#elif defined(ODD_LARGE)
	.size = sizeof(struct ci_module) + 64,
#else
	.size = sizeof(struct ci_module),
#endif
#if defined(ODD_ABI)
	.abi_major = CI_ABI_MAJOR + 1,
#else
	.abi_major = CI_ABI_MAJOR,
#endif
#if defined(ODD_NAME)
	.name = "another",
#else
	.name = NAME(ODD),
#endif
	.version = "0.1",
	.license = "GPL-2.0-only OR Linux-OpenIB",
#if defined(ODD_FLAGS)
	.flags = 4,
#endif
	.init = init,
#if defined(ODD_NO_REMOVE)
	.probe = probe,
#endif
#if !defined(ODD_NO_CLEANUP)
	.cleanup = cleanup,
#endif
};

#endif
