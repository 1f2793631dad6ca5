#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Doxygen's input filter: prints a header or a Markdown page with what only its lists say written out (xmacro.awk), and
# with references to man pages as links. Lines keep their numbers, since warnings quote them.
set -eu

here=$(dirname "$0")
# shellcheck disable=SC2016 # the backticks are Markdown's
case $1 in
*.h) awk -f "$here/xmacro.awk" "$1" ;;
*) cat "$1" ;;
esac | sed -E 's/\b(ibal_[a-z_]+)\(7\):/@ref \1 "\1":/g
	s/\b(ibal_[a-z_]+)\(7\)/@ref \1/g
	s/\b([a-z]+_[a-z_]+)\(3type\)/\1/g
	s/`([a-z]+_[a-z_]+\(\))`/\1/g'
