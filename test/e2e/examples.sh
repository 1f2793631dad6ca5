#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The examples rpc_echo, rpc_glib, datagram and write_read, built by their installed Makefiles from what "make install"
# installs, run between processes by an agent, as an unprivileged user if the test has the right to become one, and in one
# process where the example offers that. Each is under 150 lines.
set -euo pipefail

# shellcheck source=test/e2e/tools.sh
. "${top_srcdir:?is set by make check}/test/e2e/tools.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL # the outer make's, which has its own ideas
examples=(datagram rpc_echo rpc_glib write_read)

make -s -C "$build" install DESTDIR="$tmp/image" >install.log 2>&1 || {
	cat install.log
	exit 1
}
PKG_CONFIG_PATH=$(dirname "$(find "$tmp/image" -name ibal.pc)")
export PKG_CONFIG_PATH
libdir=$tmp/image$(pkg-config --variable=libdir ibal)
export LD_LIBRARY_PATH=$libdir
export IBAL_MODULE_PATH
IBAL_MODULE_PATH=$tmp/image$(pkg-config --variable=moduledir ibal-ci)

# The image stands for "/": only ibal's paths are in it, so only its flags get the image before them.
cat >pkg-config <<-END
	#!/bin/sh
	for word; do case \$word in ibal) ours=ibal ;; --*) how=\$word ;; *) others="\$others \$word" ;; esac; done
	PKG_CONFIG_SYSROOT_DIR=$tmp/image pkg-config \$how \$ours
	[ -z "\$others" ] || exec pkg-config \$how \$others
END
chmod +x pkg-config
for name in "${examples[@]}"; do
	cp -R "$(dirname "$(find "$tmp/image" -path "*/examples/$name/Makefile")")" "$name"
	make -s -C "$name" CC="$CC" CFLAGS="-Wall -Wextra -Wshadow -Werror ${SANITIZE-}" PKG_CONFIG="$tmp/pkg-config"
	for source in "$name"/*.[ch]; do
		[ "$(wc -l <"$source")" -lt 150 ] || wrong "$source has 150 lines or more"
	done
done

# What runs an example as a user without rights. Each of these words starts the next in its own place, so $! is the example.
as_user=(env --default-signal)
[ "$(id -u)" != 0 ] || as_user=(setpriv --reuid 71001 --regid 71001 --clear-groups --inh-caps=-all "${as_user[@]}")

# starts NAME WORD...: a server runs in the background, and is ready.
starts() {
	local name=$1
	shift
	: >"$name.err"
	"${as_user[@]}" "$tmp/$name/$name" "$@" >"$name.out" 2>"$name.err" &
	server=$!
	jobs+=("$server")
	until_true grep -q serv "$name.err" || wrong "$name $*: $(cat "$name.err")"
}

# prints STATUS PATTERN NAME WORD...: an example ends with a status and says a line.
prints() {
	local want=$1 pattern=$2 name=$3 status=0
	shift 3
	"${as_user[@]}" "$tmp/$name/$name" "$@" >out 2>err || status=$?
	[ $status = "$want" ] || wrong "$name $*: exit status $status, not $want: $(cat out err)"
	cat out err >both
	grep -qE "$pattern" both || wrong "$name $*: \"$pattern\" is not in: $(cat both)"
	[ "$want" != 0 ] || [ ! -s err ] || wrong "$name $*: $(cat err)"
}

stops() {
	kill "$1"
	wait "$1" || true
}

# The client's queue pair is in RTS: it makes calls, or is about to.
rpc_glib_calls() { "$build/al_query" qp | grep rpc_glib | grep -q RTS; }

mkdir places
chmod 777 places

# ---- in one process

export IBAL_AGENT=off
prints 0 'written and read back: 1048576 bytes' write_read both "file:$tmp/places/both"
grep -q 'the lender finds them' out || wrong "the lender says nothing"
[ ! -e places/both ] || wrong "the socket is left behind"

# ---- two processes

start_agent
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
for place in "file:$tmp/places/echo" "agent:examples.$$" "tcp:127.0.0.1:$port"; do
	for name in rpc_echo rpc_glib; do
		starts $name serve "$place"
		prints 0 '^200 calls, [0-9.]+ us each$' rpc_echo call "$place" 200
		prints 0 '^200 calls, [0-9.]+ us each$' rpc_glib call "$place" 200
		stops "$server"
		prints 1 'cannot be reached' $name call "$place" 1
	done
done

# Many clients at once, of which one is killed amid its calls; and programs that are no clients.
starts rpc_echo serve "file:$tmp/places/echo"
"${as_user[@]}" rpc_echo/rpc_echo call "file:$tmp/places/echo" 100000000 &
killed=$!
callers=()
for name in rpc_echo rpc_glib rpc_echo rpc_glib; do
	"${as_user[@]}" "$name/$name" call "file:$tmp/places/echo" 300 >"out${#callers[@]}" &
	callers+=("$!")
done
"${as_user[@]}" python3 -c 'import socket, sys
for words in b"GET / HTTP/1.0\r\n\r\n", b"ibmt\0\1\0\1\0\0\0\x50" + bytes(80), b"":
    s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.send(words)' "$tmp/places/echo"
kill -KILL "$killed"
wait "$killed" || true
for i in "${!callers[@]}"; do
	wait "${callers[i]}" || wrong "one of four clients fails"
	grep -q '^300 calls' "out$i" || wrong "one of four clients says: $(cat "out$i")"
done
prints 0 '^100 calls' rpc_echo call "file:$tmp/places/echo" 100
grep -q 'a client is turned away' rpc_echo.err || wrong "the server says nothing of what is no client"

# A client whose server is killed says so.
"${as_user[@]}" rpc_glib/rpc_glib call "file:$tmp/places/echo" 100000000 >out 2>err &
caller=$!
until_true rpc_glib_calls || wrong "the client does not connect"
kill -KILL "$server"
wait "$server" || true
status=0
wait "$caller" || status=$?
{ [ $status = 1 ] && grep -q 'the server has gone' err; } || wrong "exit status $status: $(cat err)"

"${as_user[@]}" write_read/write_read lend "file:$tmp/places/memory" >lender.out 2>&1 &
lender=$!
until_true test -S places/memory
prints 0 'written and read back: 1048576 bytes' write_read use "file:$tmp/places/memory"
wait "$lender" || wrong "the lender: $(cat lender.out)"
grep -q 'the lender finds them' lender.out || wrong "the lender says: $(cat lender.out)"

prints 1 'no server answers' datagram ask hello
starts datagram serve Ada
ada=$server
starts datagram serve Grace
prints 0 '^Ada hears "hello"$' datagram ask hello
grep -q '^Grace hears "hello"$' out || wrong "Grace does not answer: $(cat out)"
stops "$ada"
prints 0 '^Grace hears "now"$' datagram ask now
[ "$(wc -l <out)" = 1 ] || wrong "more than one server answers: $(cat out)"
stops "$server"

for name in "${examples[@]}"; do
	status=0
	"${as_user[@]}" "$name/$name" nonsense >out 2>err || status=$?
	{ [ $status != 0 ] && grep -q '^usage: ' err; } || wrong "$name nonsense: exit status $status: $(cat err)"
done
jobs=("$agent")
stop_agent
passed
