#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The first steps of a new user: a clone of the committed tree, an empty environment, "./quickstart" and "./quickstart
# check"; then a file of the user's own, and the refusals. (make check-long; it builds the whole tree.)
set -eu

source=${top_srcdir:?is set by make check}
git -C "$source" rev-parse --git-dir >/dev/null 2>&1 || { echo "not a git checkout, so nothing to clone"; exit 77; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

fail() { echo "$*"; exit 1; }
fresh() { env -i "$@" </dev/null; }

git clone -q "$source" "$tmp/clone"
fresh "$tmp/clone/quickstart" >"$tmp/out" || fail "./quickstart failed: $(cat "$tmp/out")"
tail -n 1 "$tmp/out" | grep -qE '^Copied 268435456 bytes in [0-9.]+ s: [0-9.]+ [MG]B/s, ' ||
	fail "the last line has no rate: $(tail -n 3 "$tmp/out")"
fresh "$tmp/clone/quickstart" check || fail "./quickstart check failed"

head -c 1000003 /dev/urandom >"$tmp/mine"
(cd "$tmp" && fresh clone/quickstart mine) || fail "./quickstart FILE failed"

fresh "$tmp/clone/quickstart" "$tmp/nothing" >"$tmp/out" 2>&1 && fail "a missing FILE was accepted"
grep -q 'no such file' "$tmp/out" || fail "a missing FILE is not named"

git clone -q "$source" "$tmp/a clone"
fresh "$tmp/a clone/quickstart" >"$tmp/out" 2>&1 && fail "a place that make cannot build in was accepted"
grep -q 'directory with such a name' "$tmp/out" || fail "the blank in the directory's name is not named"

[ -z "$(git -C "$tmp/clone" status --porcelain)" ] || fail "quickstart left files that git does not ignore"
