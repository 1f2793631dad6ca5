#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The replacement of libibumad has the name, the symbols and their versions that programs were linked with: those of Debian 12
# (test/data/umad-symbols.txt).
set -eu
top=${top_srcdir:-.}
library=${top_builddir:-build}/al/compat/umad/.libs/libibumad.so.3
command -v nm >/dev/null || { echo "nm is not installed"; exit 77; }
command -v readelf >/dev/null || { echo "readelf is not installed"; exit 77; }
found=$(mktemp)
trap 'rm -f "$found"' EXIT
nm -D --with-symbol-versions "$library" | awk '$2 == "T" { print $3 }' | LC_ALL=C sort >"$found"
LC_ALL=C sort "$top/test/data/umad-symbols.txt" | diff - "$found"
readelf -d "$library" | grep -q 'SONAME.*\[libibumad\.so\.3\]' || { echo "the SONAME is not libibumad.so.3"; exit 1; }
