# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# Modules for tests, each in a directory of its own that IBAL_MODULE_PATH can name. They are linked to no library, so
# that a test of internals (-export-dynamic) can load them as well as one of the public API.

TEST_MODULE_LINK = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere

noinst_HEADERS += test/modules/fake.h
check_LTLIBRARIES += test/modules/fake/fake.la
test_modules_fake_fake_la_SOURCES = test/modules/fake.c
test_modules_fake_fake_la_LDFLAGS = $(TEST_MODULE_LINK) -export-symbols-regex '^(ci_module|fake)$$'
test_modules_fake_fake_la_LIBADD =
FAKE_FLAGS = $(AM_CPPFLAGS) -DFAKE_DIR='"$(abs_top_builddir)/test/modules/fake/.libs"'

# The same, with a port that is down.
check_LTLIBRARIES += test/modules/down/fake.la
test_modules_down_fake_la_SOURCES = test/modules/fake.c
test_modules_down_fake_la_CPPFLAGS = $(AM_CPPFLAGS) -DFAKE_PORT_STATE=IB_PORT_DOWN
test_modules_down_fake_la_LDFLAGS = $(TEST_MODULE_LINK) -export-symbols-regex '^(ci_module|fake)$$'
test_modules_down_fake_la_LIBADD =

# Three modules that do nothing, for the order of loading.
check_LTLIBRARIES += \
	test/modules/order/alpha.la \
	test/modules/order/beta.la \
	test/modules/order/gamma.la
test_modules_order_alpha_la_SOURCES = test/modules/odd.c
test_modules_order_alpha_la_CPPFLAGS = $(AM_CPPFLAGS) -DODD=alpha
test_modules_order_alpha_la_LDFLAGS = $(TEST_MODULE_LINK)
test_modules_order_beta_la_SOURCES = test/modules/odd.c
test_modules_order_beta_la_CPPFLAGS = $(AM_CPPFLAGS) -DODD=beta
test_modules_order_beta_la_LDFLAGS = $(TEST_MODULE_LINK)
test_modules_order_gamma_la_SOURCES = test/modules/odd.c
test_modules_order_gamma_la_CPPFLAGS = $(AM_CPPFLAGS) -DODD=gamma
test_modules_order_gamma_la_LDFLAGS = $(TEST_MODULE_LINK)

# One module for each fault that a module can have.
check_LTLIBRARIES += \
	test/modules/odd/abi.la \
	test/modules/odd/badname.la \
	test/modules/odd/flags.la \
	test/modules/odd/large.la \
	test/modules/odd/log.la \
	test/modules/odd/nocleanup.la \
	test/modules/odd/noremove.la \
	test/modules/odd/nosymbol.la \
	test/modules/odd/small.la \
	test/modules/odd/undefined.la
test_modules_odd_abi_la_SOURCES = test/modules/odd.c
test_modules_odd_abi_la_CPPFLAGS = $(AM_CPPFLAGS) -DODD=abi -DODD_ABI
test_modules_odd_abi_la_LDFLAGS = $(TEST_MODULE_LINK)
test_modules_odd_badname_la_SOURCES = test/modules/odd.c
test_modules_odd_badname_la_CPPFLAGS = $(AM_CPPFLAGS) -DODD=badname -DODD_NAME
test_modules_odd_badname_la_LDFLAGS = $(TEST_MODULE_LINK)
test_modules_odd_flags_la_SOURCES = test/modules/odd.c
test_modules_odd_flags_la_CPPFLAGS = $(AM_CPPFLAGS) -DODD=flags -DODD_FLAGS
test_modules_odd_flags_la_LDFLAGS = $(TEST_MODULE_LINK)
test_modules_odd_large_la_SOURCES = test/modules/odd.c
test_modules_odd_large_la_CPPFLAGS = $(AM_CPPFLAGS) -DODD=large -DODD_LARGE
test_modules_odd_large_la_LDFLAGS = $(TEST_MODULE_LINK)
test_modules_odd_log_la_SOURCES = test/modules/odd.c
test_modules_odd_log_la_CPPFLAGS = $(AM_CPPFLAGS) -DODD=log
test_modules_odd_log_la_LDFLAGS = $(TEST_MODULE_LINK)
test_modules_odd_nocleanup_la_SOURCES = test/modules/odd.c
test_modules_odd_nocleanup_la_CPPFLAGS = $(AM_CPPFLAGS) -DODD=nocleanup -DODD_NO_CLEANUP
test_modules_odd_nocleanup_la_LDFLAGS = $(TEST_MODULE_LINK)
test_modules_odd_noremove_la_SOURCES = test/modules/odd.c
test_modules_odd_noremove_la_CPPFLAGS = $(AM_CPPFLAGS) -DODD=noremove -DODD_NO_REMOVE
test_modules_odd_noremove_la_LDFLAGS = $(TEST_MODULE_LINK)
test_modules_odd_nosymbol_la_SOURCES = test/modules/odd.c
test_modules_odd_nosymbol_la_CPPFLAGS = $(AM_CPPFLAGS) -DODD=nosymbol -DODD_NO_SYMBOL
test_modules_odd_nosymbol_la_LDFLAGS = $(TEST_MODULE_LINK)
test_modules_odd_small_la_SOURCES = test/modules/odd.c
test_modules_odd_small_la_CPPFLAGS = $(AM_CPPFLAGS) -DODD=small -DODD_SMALL
test_modules_odd_small_la_LDFLAGS = $(TEST_MODULE_LINK)
test_modules_odd_undefined_la_SOURCES = test/modules/odd.c
test_modules_odd_undefined_la_CPPFLAGS = $(AM_CPPFLAGS) -DODD=undefined -DODD_UNDEFINED
test_modules_odd_undefined_la_LDFLAGS = $(TEST_MODULE_LINK)

# User-mode providers: that of fake.so, and one for each fault that a provider can have.
noinst_HEADERS += test/modules/provider.h
PROVIDER_FLAGS = -DPROVIDER_DIR='"$(abs_top_builddir)/test/modules/provider/.libs"'
check_LTLIBRARIES += test/modules/provider/fake.la
test_modules_provider_fake_la_SOURCES = test/modules/provider.c
test_modules_provider_fake_la_LDFLAGS = $(TEST_MODULE_LINK) -export-symbols-regex '^(uvp_module|provider)$$'
check_LTLIBRARIES += test/modules/provider/abi.la
test_modules_provider_abi_la_SOURCES = test/modules/provider.c
test_modules_provider_abi_la_CPPFLAGS = $(AM_CPPFLAGS) -DODD=abi -DODD_ABI
test_modules_provider_abi_la_LDFLAGS = $(TEST_MODULE_LINK)
check_LTLIBRARIES += test/modules/provider/name.la
test_modules_provider_name_la_SOURCES = test/modules/provider.c
test_modules_provider_name_la_CPPFLAGS = $(AM_CPPFLAGS) -DODD=name -DODD_NAME
test_modules_provider_name_la_LDFLAGS = $(TEST_MODULE_LINK)
check_LTLIBRARIES += test/modules/provider/flags.la
test_modules_provider_flags_la_SOURCES = test/modules/provider.c
test_modules_provider_flags_la_CPPFLAGS = $(AM_CPPFLAGS) -DODD=flags -DODD_FLAGS
test_modules_provider_flags_la_LDFLAGS = $(TEST_MODULE_LINK)
check_LTLIBRARIES += test/modules/provider/noops.la
test_modules_provider_noops_la_SOURCES = test/modules/provider.c
test_modules_provider_noops_la_CPPFLAGS = $(AM_CPPFLAGS) -DODD=noops -DODD_NO_OPS
test_modules_provider_noops_la_LDFLAGS = $(TEST_MODULE_LINK)
check_LTLIBRARIES += test/modules/provider/hookflags.la
test_modules_provider_hookflags_la_SOURCES = test/modules/provider.c
test_modules_provider_hookflags_la_CPPFLAGS = $(AM_CPPFLAGS) -DODD=hookflags -DODD_HOOK_FLAGS
test_modules_provider_hookflags_la_LDFLAGS = $(TEST_MODULE_LINK)
check_LTLIBRARIES += test/modules/provider/sizes.la
test_modules_provider_sizes_la_SOURCES = test/modules/provider.c
test_modules_provider_sizes_la_CPPFLAGS = $(AM_CPPFLAGS) -DODD=sizes -DODD_SIZES
test_modules_provider_sizes_la_LDFLAGS = $(TEST_MODULE_LINK)
check_LTLIBRARIES += test/modules/provider/init.la
test_modules_provider_init_la_SOURCES = test/modules/provider.c
test_modules_provider_init_la_CPPFLAGS = $(AM_CPPFLAGS) -DODD=init -DODD_INIT
test_modules_provider_init_la_LDFLAGS = $(TEST_MODULE_LINK)

# For the API's tests in the user role (test/unit/al/role.h): an agent for a test's own process, and a provider that
# changes nothing.
check_LTLIBRARIES += test/modules/agent/agent.la
test_modules_agent_agent_la_SOURCES =
test_modules_agent_agent_la_LDFLAGS = $(TEST_MODULE_LINK) -export-symbols-regex '^ald_'
test_modules_agent_agent_la_LIBADD = al/agent/libagent.la
check_LTLIBRARIES += test/modules/hooks/fake.la
test_modules_hooks_fake_la_SOURCES = test/modules/hooks.c
test_modules_hooks_fake_la_LDFLAGS = $(TEST_MODULE_LINK) -export-symbols-regex '^uvp_module$$'

# For programs under valgrind ("make check-valgrind").
check_LTLIBRARIES += test/modules/pidfd/pidfd.la
test_modules_pidfd_pidfd_la_SOURCES = test/modules/pidfd.c
test_modules_pidfd_pidfd_la_LDFLAGS = $(TEST_MODULE_LINK) -export-symbols-regex '^syscall$$'
test_modules_pidfd_pidfd_la_LIBADD =
