#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# libibal exports exactly the functions that the public headers declare, and a module exports ci_module alone. The
# compiler lists the declarations, since al/mkmap.sh, which makes the export list, reads text. (ci_module and uvp_module
# are the modules' own.)
set -eu

build=${top_builddir:?is set by make check}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "${top_srcdir:?is set by make check}/include"

for header in iba/*.h; do
	printf '#include <%s>\n' "$header"
done >"$tmp/all.c"
gcc -std=c17 -I. -fsyntax-only -aux-info "$tmp/prototypes" "$tmp/all.c"
{
	sed -nE '/iba\/[a-z_]+\.h:[0-9]+:NC/s/.*[ *]([a-z0-9_]+) \(.*/\1/p' "$tmp/prototypes"
	gcc -std=c17 -I. -E -P "$tmp/all.c" |
		sed -nE '/_module;/d; s/^extern [A-Za-z0-9_ ]*[ *]((al|ib|ci|uvp)_[a-z0-9_]+);$/\1/p'
	# the little that the agent needs
	sed -nE 's/^[a-z][a-z0-9_ ]*[ *]((al)_[a-z0-9_]+)\(.*$/\1/p' "$top_srcdir/al/library/private.h" \
		"$top_srcdir/al/object/client.h"
} | sort -u >"$tmp/declared"

exported() { nm -D --defined-only --without-symbol-versions "$1" | awk '$2 != "A" { print $3 }' | sort -u; }

exported "$build/.libs/libibal.so" >"$tmp/exported"
[ -s "$tmp/declared" ] || { echo "no declaration found: this test is broken"; exit 1; }
if ! diff "$tmp/declared" "$tmp/exported" >"$tmp/diff"; then
	echo "declared in include/iba (<) but exported by libibal (>):"
	cat "$tmp/diff"
	exit 1
fi

for module in "$top_builddir"/hca/*/.libs/*.so "$top_builddir"/uvp/*/.libs/*.so; do
	case $module in */uvp/*) only=uvp_module ;; *) only=ci_module ;; esac
	[ "$(exported "$module")" = "$only" ] || {
		echo "$module exports:" "$(exported "$module")"
		exit 1
	}
done
