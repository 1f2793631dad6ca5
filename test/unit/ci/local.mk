# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Tests of ci/, without the Access Layer: test/unit/ci/support.c takes its place. Modules that they load find the library
# in the program.

CI_TEST_FLAGS = $(FAKE_FLAGS) -DTEST_MODULES='"$(abs_top_builddir)/test/modules"' \
	-DTEST_DATA='"$(abs_top_srcdir)/test/data"'
CI_TEST_LINK = $(AM_LDFLAGS) -export-dynamic

noinst_HEADERS += test/unit/ci/support.h

check_PROGRAMS += test/unit/ci/alloc_test
test_unit_ci_alloc_test_SOURCES = test/unit/ci/alloc_test.c test/unit/ci/support.c
test_unit_ci_alloc_test_CPPFLAGS = $(CI_TEST_FLAGS)
test_unit_ci_alloc_test_LDFLAGS = $(CI_TEST_LINK)

check_PROGRAMS += test/unit/ci/conf_test
test_unit_ci_conf_test_SOURCES = test/unit/ci/conf_test.c test/unit/ci/support.c
test_unit_ci_conf_test_CPPFLAGS = $(CI_TEST_FLAGS)
test_unit_ci_conf_test_LDFLAGS = $(CI_TEST_LINK)

check_PROGRAMS += test/unit/ci/elf_test
test_unit_ci_elf_test_SOURCES = test/unit/ci/elf_test.c test/unit/ci/support.c
test_unit_ci_elf_test_CPPFLAGS = $(CI_TEST_FLAGS)
test_unit_ci_elf_test_LDFLAGS = $(CI_TEST_LINK)

check_PROGRAMS += test/unit/ci/elf_flip_test
test_unit_ci_elf_flip_test_SOURCES = test/unit/ci/elf_flip_test.c test/unit/ci/support.c
test_unit_ci_elf_flip_test_CPPFLAGS = $(CI_TEST_FLAGS)
test_unit_ci_elf_flip_test_LDFLAGS = $(CI_TEST_LINK)

check_PROGRAMS += test/unit/ci/env_test
test_unit_ci_env_test_SOURCES = test/unit/ci/env_test.c test/unit/ci/support.c
test_unit_ci_env_test_CPPFLAGS = $(CI_TEST_FLAGS)
test_unit_ci_env_test_LDFLAGS = $(CI_TEST_LINK)

check_PROGRAMS += test/unit/ci/loader_test
test_unit_ci_loader_test_SOURCES = test/unit/ci/loader_test.c test/unit/ci/support.c
test_unit_ci_loader_test_CPPFLAGS = $(CI_TEST_FLAGS)
test_unit_ci_loader_test_LDFLAGS = $(CI_TEST_LINK)

check_PROGRAMS += test/unit/ci/lockfile_test
test_unit_ci_lockfile_test_SOURCES = test/unit/ci/lockfile_test.c test/unit/ci/support.c
test_unit_ci_lockfile_test_CPPFLAGS = $(CI_TEST_FLAGS)
test_unit_ci_lockfile_test_LDFLAGS = $(CI_TEST_LINK)

check_PROGRAMS += test/unit/ci/log_test
test_unit_ci_log_test_SOURCES = test/unit/ci/log_test.c test/unit/ci/support.c
test_unit_ci_log_test_CPPFLAGS = $(CI_TEST_FLAGS)
test_unit_ci_log_test_LDFLAGS = $(CI_TEST_LINK)

check_PROGRAMS += test/unit/ci/ops_test
test_unit_ci_ops_test_SOURCES = test/unit/ci/ops_test.c test/unit/ci/support.c
test_unit_ci_ops_test_CPPFLAGS = $(CI_TEST_FLAGS)
test_unit_ci_ops_test_LDFLAGS = $(CI_TEST_LINK)

check_PROGRAMS += test/unit/ci/pci_test
test_unit_ci_pci_test_SOURCES = test/unit/ci/pci_test.c test/unit/ci/support.c
test_unit_ci_pci_test_CPPFLAGS = $(CI_TEST_FLAGS)
test_unit_ci_pci_test_LDFLAGS = $(CI_TEST_LINK)

check_PROGRAMS += test/unit/ci/provider_test
test_unit_ci_provider_test_SOURCES = test/unit/ci/provider_test.c test/unit/ci/support.c
test_unit_ci_provider_test_CPPFLAGS = $(CI_TEST_FLAGS) $(PROVIDER_FLAGS)
test_unit_ci_provider_test_LDFLAGS = $(CI_TEST_LINK)

check_PROGRAMS += test/unit/ci/registry_test
test_unit_ci_registry_test_SOURCES = test/unit/ci/registry_test.c test/unit/ci/support.c
test_unit_ci_registry_test_CPPFLAGS = $(CI_TEST_FLAGS)
test_unit_ci_registry_test_LDFLAGS = $(CI_TEST_LINK)

check_PROGRAMS += test/unit/ci/bus_test
test_unit_ci_bus_test_SOURCES = test/unit/ci/bus_test.c test/unit/ci/support.c
test_unit_ci_bus_test_CPPFLAGS = $(CI_TEST_FLAGS)
test_unit_ci_bus_test_LDFLAGS = $(CI_TEST_LINK)

check_PROGRAMS += test/unit/ci/trace_test
test_unit_ci_trace_test_SOURCES = test/unit/ci/trace_test.c test/unit/ci/support.c
test_unit_ci_trace_test_CPPFLAGS = $(CI_TEST_FLAGS)
test_unit_ci_trace_test_LDFLAGS = $(CI_TEST_LINK)

# The skeleton, as a channel driver meets it.
check_PROGRAMS += test/unit/hca/skeleton_test
test_unit_hca_skeleton_test_CPPFLAGS = $(AM_CPPFLAGS) -DSKELETON_DIR='"$(abs_top_builddir)/hca/skeleton/.libs"'
test_unit_hca_skeleton_test_LDADD = $(API_LIBS)
