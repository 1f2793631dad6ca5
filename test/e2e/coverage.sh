#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Line coverage reaches the targets that test/coverage has for each part. (make check-long; it builds the whole tree.)
set -eu

unset MAKEFLAGS MFLAGS MAKELEVEL TESTS TEST_LOGS
exec make -C "${top_builddir:?is set by make check}" coverage
