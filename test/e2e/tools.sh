#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Helpers for the tests of the tools, which source this file. Each test runs in a directory of its own, and prints
# "passed" at its end. Background jobs that are left are killed then.

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

# scaled SECONDS: a limit, scaled by TEST_TIMEOUT_SCALE, which may be a fraction; at least a second.
scaled() {
	awk -v limit="$1" -v scale="${TEST_TIMEOUT_SCALE:-1}" 'BEGIN { print int(limit * (scale > 0 ? scale : 1) + 1) }'
}

# Waits until the command "$@" succeeds.
until_true() {
	local limit
	limit=$((SECONDS + $(scaled 60)))
	until "$@" 2>/dev/null; do
		[ $SECONDS -lt $limit ] || return 1
		read -r -t 0.02 <>"$tmp/clock" || :
	done
}

# start_agent: starts an agent; every program that follows is its client. The shell empties the log of a background process
# only when that process runs, so the log of the agent before is emptied here.
start_agent() {
	: >ald.log
	"$build/ald" --socket "$tmp/agent" --mode 666 >ald.log 2>&1 &
	agent=$!
	jobs=("$agent")
	until_true grep -q serving ald.log || wrong "ald does not serve: $(cat ald.log)"
	export IBAL_AGENT=$tmp/agent
}

stop_agent() {
	kill "$agent"
	wait "$agent" || wrong "ald ended with status $?: $(cat ald.log)"
	jobs=()
}

# shellcheck disable=SC2154 # tool and name are the test's
# listen WORD...: starts a far end of $tool under $name in the background, and waits until it is ready; its output goes
# to far.out and far.err.
listen() {
	: >far.err
	env --default-signal "$build/$tool" --listen "$name" "$@" >far.out 2>far.err &
	far=$!
	jobs=("$agent" "$far")
	until_true grep -qE "waiting for \"$tool (FILE )?agent:$name\"" far.err || wrong "nobody listens: $(cat far.err)"
}

# shellcheck disable=SC2154
# ends STATUS PID PATTERN FILE: expects that a process of $tool ends with the status, and that the file has one matching
# sentence.
ends() {
	local status=0
	wait "$2" || status=$?
	[ $status -eq "$1" ] || wrong "exit status $status, not $1: $(cat "$4")"
	[ -z "$3" ] || grep -qE "^$tool: .*$3" "$4" || wrong "\"$3\" is not in: $(cat "$4")"
	[ "$(grep -c . "$4")" -le 2 ] || wrong "more than one sentence: $(cat "$4")"
}

# agent_is_killed_under_a_listener STATUS WORD...: the far end ends with that status.
agent_is_killed_under_a_listener() {
	local want=$1 status=0
	shift
	listen "$@"
	until_true is_a_client || wrong "the far end does not come to the agent"
	kill -KILL "$agent"
	wait "$agent" || true
	until_true far_has_ended || wrong "the far end waits on: $(cat far.err)"
	wait "$far" || status=$?
	jobs=()
	[ $status -eq "$want" ] || wrong "exit status $status, not $want: $(cat far.err)"
	# The latter, if it was not ready yet.
	grep -qE "^$tool: .*(there is no HCA any more: the agent has ended|the agent has gone)" far.err ||
		wrong "the far end says: $(cat far.err)"
}

far_has_ended() { ! kill -0 "$far" 2>/dev/null; }

is_a_client() { "$build/al_query" clients --json | grep -q "\"command\" : \"$tool\""; }

# query STATUS WORDS...: runs al_query; its output goes to the files out and err.
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

# is_so EXPRESSION: expects that the Python expression holds for the JSON output, which is a.
is_so() {
	python3 -c 'import json, sys; a = json.load(open("out")); sys.exit(not eval("(" + sys.argv[1] + ")"))' "$1"
}

json() {
	is_so "$1" || wrong "not so: $1 in $(cat out)"
}
