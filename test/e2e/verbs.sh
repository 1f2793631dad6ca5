#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Helpers for the tests of unmodified verbs programs, which source this file after tools.sh. The programs are those of the
# distribution, run by al_run as a user without rights, on the HCAs of that user's own agent.

# shellcheck disable=SC2034,SC2154 # tmp and jobs are of tools.sh
build=$(realpath "$build")
run=$build/al/compat/al_run

# Ends the user's agent, before the directory with its log goes.
end_agent() {
	local pid
	for pid in own/ibal/ald.pid own/ibal/roce.pid; do
		[ ! -e "$pid" ] || kill "$(cat "$pid")" 2>/dev/null || true
	done
	finish
}

# needs_programs PROGRAM...: ends the test if one is not installed.
needs_programs() {
	local program
	for program; do
		command -v "$program" >/dev/null || {
			echo "$program is not installed (./quickstart check installs it)"
			exit 77
		}
	done
}

# A sanitizer's library cannot be loaded by a program that is built without it.
needs_plain_build() {
	[[ ${SANITIZE-} != *-fsanitize=* ]] || {
		echo "the programs do not load a library that is built with a sanitizer"
		exit 77
	}
}

# become_user: al_run() runs programs as nobody, if the test is root's.
become_user() {
	mkdir own
	as_user=()
	if [ "$(id -u)" -eq 0 ]; then
		as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
		chown 65534:65534 own
	fi
	export XDG_RUNTIME_DIR=$tmp/own HOME=$tmp/own IBAL_MODULE_PATH=$build/hca/soft/.libs
	unset IBAL_AGENT
	trap end_agent EXIT
}
run_options=() # of al_run, for the whole test
al_run() { exec "${as_user[@]}" "$run" "${run_options[@]}" "$@"; }

# A TCP port that nobody uses, below those that the kernel chooses for others.
free_port() {
	python3 - <<'END'
import random, socket
while True:
    port = random.randrange(10000, 32768)
    with socket.socket() as s:
        try:
            s.bind(("", port))
        except OSError:
            continue
    print(port)
    break
END
}

# True: a process listens on the TCP port, or process $2 has ended.
listens() {
	local hex
	hex=$(printf '%04X' "$1")
	grep -hqE "^ *[0-9]+: [0-9A-F]+:$hex [0-9A-F]+:0000 0A " /proc/net/tcp /proc/net/tcp6 || ! kill -0 "$2" 2>/dev/null
}

# pair PORT PROGRAM WORD...: runs both ends of a program, one for each HCA. Output: server.out, server.err, client.out, client.err.
pair() {
	local port=$1 server status=0 end
	shift
	(al_run "$1" -d soft0 -p "$port" "${@:2}") >server.out 2>server.err &
	server=$!
	jobs=("$server")
	until_true listens "$port" "$server" || wrong "$*: the server does not listen"
	(al_run timeout "$(scaled 180)" "$1" -d soft1 -p "$port" "${@:2}" 127.0.0.1) >client.out 2>client.err || status=$?
	[ $status -eq 0 ] || wrong "$*: the client's status is $status: $(cat client.out client.err)"
	[ $status -eq 0 ] || kill "$server" 2>/dev/null || true
	status=0
	wait "$server" || status=$?
	jobs=()
	[ $status -eq 0 ] || wrong "$*: the server's status is $status: $(cat server.out server.err)"
	for end in server client; do
		! grep -vE "${expected_words:-^$}" $end.err >unexpected || wrong "$*: the $end says: $(cat unexpected)"
	done
}

# both SERVER-LINE CLIENT-LINE: runs both ends of a program that meet at $port.
both() {
	local server status=0
	# shellcheck disable=SC2086 # several words
	(al_run $1) >server.out 2>server.err &
	server=$!
	jobs=("$server")
	until_true listens "$port" "$server" || wrong "$1: the server does not listen"
	# shellcheck disable=SC2086
	(al_run timeout "$(scaled 180)" $2) >client.out 2>client.err || status=$?
	[ $status -eq 0 ] || wrong "$2: status $status: $(cat client.out client.err)"
	[ $status -eq 0 ] || kill "$server" 2>/dev/null || true
	wait "$server" || wrong "$1: status $?: $(cat server.out server.err)"
	jobs=()
}

# ucx_pair TEST NAME=VALUE...: both ends of a test of ucx_perftest, one for each HCA, with these variables.
ucx_pair() {
	local port test=$1 settings="env ${*:2} UCX_TLS=ud_verbs"
	port=$(free_port)
	both "$settings UCX_NET_DEVICES=soft0:1 ucx_perftest -p $port" \
		"$settings UCX_NET_DEVICES=soft1:1 ucx_perftest -p $port -t $test -n 200 -w 20 -s 1000 127.0.0.1"
	grep -qE '^Final: +200 ' client.out || wrong "ucx_perftest $*: $(cat client.out)"
	! grep -hE 'UCX +(WARN|ERROR)' server.out client.out || wrong "ucx_perftest $*: a warning"
}
