#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Every file of the tree is in the release archive. (make check-long builds the archive; this script checks the list.)
set -eu

cd "${top_srcdir:?is set by make check}"
# (The archive may itself be unpacked inside a checkout, as distcheck does, where git would list nothing of it.)
[ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$(pwd -P)" ] || {
	echo "no git checkout: this is the release archive itself"
	exit 77
}
unset MAKEFLAGS MFLAGS MAKELEVEL
archive=$(make -s -C "${top_builddir:?is set by make check}" print-distfiles)
[ -n "$archive" ] || { echo "the list of the archive's files is empty: this test is broken"; exit 1; }

missing=$(git ls-files | while read -r file; do
	[ "$file" = .gitignore ] && continue
	printf '%s\n' "$archive" | sed -e "s|^$PWD/||" -e 's|^\(\.\./\)*||' | awk -v file="$file" '
		$0 == file || index(file, $0 "/") == 1 { found = 1 }
		END { exit !found }' || echo "$file"
done)
[ -z "$missing" ] || {
	echo "in the tree, but not in the release archive (EXTRA_DIST, noinst_HEADERS):"
	echo "$missing"
	exit 1
}

# A test's log has the test's name without its extension, and make finds the test by the log: a file whose name differs
# only in the extension would run in place of the test.
twins=$(git ls-files | sed -nE 's/\.(sh|py|role)$//p' | sort | uniq -d)
[ -z "$twins" ] || {
	echo "scripts with two extensions, of which make check would run the wrong one:"
	echo "$twins"
	exit 1
}
