#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The release archive is complete: it builds, tests, installs and uninstalls by itself, from a read-only tree. (make
# check-long; it builds the whole tree.)
set -eu

# A separate make, which does not get the outer make's command line (its TESTS).
unset MAKEFLAGS MFLAGS MAKELEVEL TESTS TEST_LOGS
tmp=$(mktemp -d)
trap 'chmod -R u+w "$tmp"; rm -rf "$tmp"' EXIT
cd "$tmp"
"${top_srcdir:?is set by make check}/configure" -q
make -j"$(nproc)" distcheck
