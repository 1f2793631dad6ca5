#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The tree builds without a warning, and its unit tests pass, with link-time optimisation and with -O3. (make check-long;
# it builds the whole tree twice.) The arguments say which of the builds to make; without any, both are made.
set -eu

# A separate make, which does not get the outer make's command line (its TESTS).
unset MAKEFLAGS MFLAGS MAKELEVEL TESTS TEST_LOGS
source=${top_srcdir:?is set by make check}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# build NAME CFLAGS: what the optimiser makes of each part is tried by the unit tests and the replayed corpora.
build() {
	local tests
	mkdir "$tmp/$1"
	cd "$tmp/$1"
	echo "== $1: CFLAGS=$2"
	"$source/configure" -q --enable-werror CFLAGS="$2"
	make -s -j"$(nproc)" >make.log 2>&1 || { tail -n 40 make.log; exit 1; }
	tests=$(make -s print-tests | grep -E '^test/(unit|fuzz)/' | grep -v -- '-user$\|-uvp$' | xargs)
	TEST_TIMEOUT_SCALE=5 make -s -j"$(nproc)" check TESTS="$tests" >check.log 2>&1 || {
		grep -E '^(FAIL|ERROR): ' check.log || tail -n 40 check.log
		sed -nE 's/^(FAIL|ERROR): //p' check.log | while read -r test; do tail -n 20 "$test.log"; done
		exit 1
	}
	echo "$(grep -c '^PASS: ' check.log) test programs passed"
}

[ $# -gt 0 ] || set -- lto o3
for name; do
	case $name in
	lto) build lto "-g -O2 -flto=$(nproc)" ;;
	o3) build o3 "-g -O3" ;;
	*)
		echo "$name: the builds are lto and o3" >&2
		exit 2
		;;
	esac
done
