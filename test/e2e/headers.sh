#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Each public header compiles alone, without a warning and without extensions of the language, as C17 and as C++, with
# gcc and clang. The content of the headers is tested elsewhere.
set -eu

cd "${top_srcdir:?is set by make check}/include"
failed=0
absent=

compile() {
	for header in iba/*.h; do
		if ! printf '#include <%s>\n' "$header" |
			"$@" -Wall -Wextra -pedantic -Werror -fsyntax-only -I. -; then
			echo "$header does not compile alone: $*" >&2
			failed=1
		fi
	done
}

for suite in "gcc g++" "clang clang++"; do
	c=${suite% *} cxx=${suite#* }
	if command -v "$c" >/dev/null; then compile "$c" -std=c17 -Wshadow -x c; else absent="$absent $c"; fi
	if command -v "$cxx" >/dev/null; then
		compile "$cxx" -std=c++11 -x c++
		compile "$cxx" -std=c++20 -x c++
	else
		absent="$absent $cxx"
	fi
done

[ "$failed" -eq 0 ] || exit 1
[ -z "$absent" ] && exit 0
echo "not installed, so not tried:$absent"
exit 77
