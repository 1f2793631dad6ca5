# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Random traffic in virtual time beside a model (model.h). By hand for hours: see soak.c.
check_PROGRAMS += test/soak/soak
test_soak_soak_SOURCES = test/soak/soak.c test/soak/plan.c test/soak/play.c test/soak/play.h \
	test/soak/play_internal.h test/soak/pair.c test/soak/post.c test/soak/model.c test/soak/model.h \
	test/soak/model_internal.h test/soak/model_rest.c test/soak/bed.c test/soak/bed.h \
	test/link/queue_link.c test/link/queue_link.h
test_soak_soak_LDADD = hca/soft/libsoft-core.la
# Small bugs in hca/soft, one at a time: the soak finds each.
LONG_TESTS += test/soak/mutants.py
EXTRA_DIST += test/soak/mutants.txt
