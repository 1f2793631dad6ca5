#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Pages outside the tree (../shared) that contradict the tree, or are missing: names.py and requirements.py print that,
# and fail only for faults of the tree.
set -euo pipefail

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failures=0
mkdir -p "$tmp/tree" "$tmp/shared/design" "$tmp/shared/reference"
for part in "${top_srcdir:?is set by make check}"/*; do ln -s "$part" "$tmp/tree/"; done

# prints SCRIPT LINE...: expects that the script succeeds with the present pages, and prints these lines.
prints() {
	local script=$1 line
	shift
	top_srcdir=$tmp/tree "$tmp/tree/test/e2e/$script" >"$tmp/out" 2>&1 || {
		echo "FAIL: $script fails:"
		grep -v '^DIFFERS' "$tmp/out"
		failures=$((failures + 1))
	}
	for line in "$@"; do
		grep -qxF "DIFFERS: $line" "$tmp/out" || {
			echo "FAIL: $script does not print: $line"
			failures=$((failures + 1))
		}
	done
}

prints names.py "../shared has no design/access-layer.md" "../shared has no seeds/004_*"
printf '| group | functions |\n|---|---|\n| more | al_open al_shine |\n' >"$tmp/shared/design/access-layer.md"
prints names.py "access-layer.md names al_shine, test/data/names.txt does not"

first=$(grep -v '^#' "$top_srcdir/test/data/requirements.txt" | head -n 1)
printf '| number | requirement |\n|---|---|\n| 999.1 | shines |\n' >"$tmp/shared/reference/requirements.md"
prints requirements.py "999.1: numbered in the reference, missing here" "$first: not numbered in the reference"

[ $failures -eq 0 ]
