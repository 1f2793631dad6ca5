#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# "make doc" and "make coverage" look for their tools when they run, not when the build was configured: a tool that was
# installed later is used, and a missing tool is named before any work begins.
set -euo pipefail

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failures=0
bash=$BASH
unset MAKEFLAGS MFLAGS MAKELEVEL

wrong() {
	echo "FAIL: $*"
	failures=$((failures + 1))
}

# A tool that only reports that it ran.
tool() {
	printf '#!/bin/sh\necho "%s ran"\n' "$1" >"$tmp/$1"
	chmod +x "$tmp/$1"
}

doc() { make -s -C "${top_builddir:?is set by make check}" doc DOXYGEN="$tmp/doxygen" >"$tmp/out" 2>&1; }
coverage() { PATH=$tmp "$bash" "${top_srcdir:?is set by make check}/test/coverage" "$tmp" "$tmp" >"$tmp/out" 2>&1; }

doc && wrong "make doc without doxygen succeeds"
grep -q "there is no $tmp/doxygen" "$tmp/out" || wrong "make doc without doxygen: $(cat "$tmp/out")"
tool doxygen
doc || wrong "make doc does not find a doxygen that came later"
grep -qx 'doxygen ran' "$tmp/out" || wrong "make doc: $(cat "$tmp/out")"

tool make
coverage && wrong "coverage without gcovr succeeds"
grep -q 'there is no gcovr' "$tmp/out" || wrong "coverage without gcovr: $(cat "$tmp/out")"
[ ! -e "$tmp/coverage-make.log" ] || wrong "coverage without gcovr builds first"
tool gcovr
coverage && wrong "coverage succeeds without any build"
grep -q 'there is no gcovr' "$tmp/out" && wrong "coverage does not find a gcovr that came later"
[ -s "$tmp/coverage-make.log" ] || wrong "coverage with gcovr does not build: $(cat "$tmp/out")"

[ $failures -eq 0 ]
