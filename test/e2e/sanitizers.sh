#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The whole suite is clean under ASan+UBSan, TSan and valgrind. (make check-long; it builds all three times.)
set -eu

unset MAKEFLAGS MFLAGS MAKELEVEL TESTS TEST_LOGS
cd "${top_srcdir:?is set by make check}"
if [ ! -x .ci/run ]; then
	echo "skipped: .ci/run, which makes the builds, is not part of the release archive; use a clone"
	exit 77
fi
exec .ci/run asan tsan valgrind
