#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# What the tests of the tools have in common; they source it. Each has a directory of its own, is there, and ends with
# "passed". Whatever of jobs is left at its end is ended.

build=${top_builddir:?is set by make check}
tmp=$(mktemp -d)
chmod 755 "$tmp"
jobs=()
failures=0

finish() {
	[ ${#jobs[@]} = 0 ] || kill "${jobs[@]}" 2>/dev/null || true
	wait
	rm -rf "$tmp"
}
trap finish EXIT
cd "$tmp" || exit 1
mkfifo clock

wrong() {
	echo "FAIL: $*"
	failures=$((failures + 1))
}

passed() {
	[ $failures -eq 0 ]
}

# scaled SECONDS: a limit, scaled by TEST_TIMEOUT_SCALE, which need not be whole; never less than a second.
scaled() {
	awk -v limit="$1" -v scale="${TEST_TIMEOUT_SCALE:-1}" 'BEGIN { print int(limit * (scale > 0 ? scale : 1) + 1) }'
}

# Waits until the command "$@" succeeds.
until_true() {
	local limit
	limit=$((SECONDS + $(scaled 20)))
	until "$@" 2>/dev/null; do
		[ $SECONDS -lt $limit ] || return 1
		read -r -t 0.02 <>"$tmp/clock" || :
	done
}

# query STATUS WORDS...: runs al_query; what it says is in the files out and err.
query() {
	local want=$1 status=0
	shift
	"$build/al_query" "$@" >out 2>err || status=$?
	[ $status -eq "$want" ] || wrong "al_query $*: exit status $status, not $want: $(cat out err)"
}

says() {
	grep -qE -- "$1" out || wrong "\"$1\" is not in: $(cat out)"
}

complains() {
	grep -qE -- "^(al_query|ibal: error): .*$1" err || wrong "\"$1\" is not in: $(cat err)"
}

# is_so EXPRESSION: it holds of the answer a in JSON, as Python has it.
is_so() {
	python3 -c 'import json, sys; a = json.load(open("out")); sys.exit(not eval("(" + sys.argv[1] + ")"))' "$1"
}

json() {
	is_so "$1" || wrong "not so: $1 in $(cat out)"
}
