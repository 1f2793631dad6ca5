#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# al_cp between two processes, clients of one agent: the copy equals the file; when one end fails or is killed, the
# other end prints one sentence and leaves no file behind.
set -euo pipefail

# shellcheck source=test/e2e/tools.sh
. "${top_srcdir:?is set by make check}/test/e2e/tools.sh"
tool=al_cp
al_cp=$build/al_cp
mkdir out
name=t$$
start_agent

leaves_nothing() {
	[ -z "$(ls -A out)" ] || wrong "$1: left behind: $(ls -A out)"
}

find -L "$build/.libs" -name '*.so*' -type f -exec cat {} + >once
until [ -e large ] && [ "$(stat -c %s large)" -ge 5000000 ]; do cat once >>large; done
head -c 3000001 large >sample

# ---- it arrives ----------------------------------------------------------------------------------

for size in 0 1 262144 262145 5000000; do
	head -c $size large >some
	chmod 741 some
	listen out
	"$al_cp" --chunk 100K some agent:$name >near.out 2>near.err || wrong "$size bytes: $(cat near.err)"
	ends 0 $far '' far.err
	cmp some out/some || wrong "$size bytes: the copy differs"
	[ "$(stat -c %a out/some)" = 741 ] || wrong "the mode is not kept"
	sum=$(sha256sum <some | cut -d' ' -f1)
	{ grep -q "$sum" near.out && grep -q "$sum" far.out; } || wrong "the digest is not the file's: $(cat near.out far.out)"
	grep -q "^agent:$name: $size bytes" near.out || wrong "the near end says: $(cat near.out)"
	grep -q "^out/some: $size bytes" far.out || wrong "the far end says: $(cat far.out)"
	rm -f out/*
done

# Both ends on the same HCA; and a copy under another name.
listen out/renamed --to 0 --json
"$al_cp" --json --from 0 large agent:$name >near.out 2>near.err || wrong "within an HCA: $(cat near.err)"
ends 0 $far '' far.err
cmp large out/renamed || wrong "within an HCA: the copy differs"
python3 - <<'END' || wrong "--json says: $(cat near.out far.out)"
import json
near, far = json.load(open("near.out")), json.load(open("far.out"))
assert near["copied"] and far["copied"] and near["sha256"] == far["sha256"]
assert near["bytes"] == far["bytes"] == near["to"]["rcv_bytes"] - (far["to"]["rcv_bytes"] - far["bytes"])
assert near["from"]["guid"] == far["from"]["guid"] == near["to"]["guid"] == far["to"]["guid"]
assert near["from"]["xmit_bytes"] > near["bytes"] and "xmit_bytes" not in near["to"] and "xmit_bytes" not in far["from"]
END
rm -f out/*

# ---- it does not ---------------------------------------------------------------------------------

refuses() {
	local pattern=$1 status=0
	shift
	"$@" >near.out 2>near.err || status=$?
	{ [ $status -eq 1 ] && grep -qE "^al_cp: .*$pattern" near.err; } || wrong "$*: status $status, $(cat near.err)"
	leaves_nothing "$*"
}
refuses 'no process listens as "nobody"' "$al_cp" sample agent:nobody
refuses 'is no name to meet by' "$al_cp" sample agent:
refuses 'is no name to meet by' "$al_cp" sample agent:../x
refuses 'is no name to meet by' "$al_cp" --listen a/b out
refuses 'say which file' "$al_cp" --listen $name
refuses 'say which file' "$al_cp" --listen $name sample out
refuses '--from or --from-port belongs on the other' "$al_cp" --listen $name --from 0 out
refuses '--to or --to-port belongs on the other' "$al_cp" --to-port 1 sample agent:$name
refuses 'chunk and --window belong' "$al_cp" --listen $name --chunk 4K out
refuses 'none cannot be opened' "$al_cp" none agent:$name

# Two names of one file; a changed byte; no room: both ends print the far end's reason.
both_fail() {
	local pattern=$1 source=$2 dest=$3 status=0
	shift 3
	listen "$dest" "$@"
	"$al_cp" "$source" agent:$name >near.out 2>near.err || status=$?
	{ [ $status -eq 1 ] && grep -qE "^al_cp: the other end says: .*$pattern" near.err; } ||
		wrong "$pattern: status $status, $(cat near.err)"
	ends 1 $far "$pattern" far.err
	leaves_nothing "$pattern"
}
both_fail 'are the same file' sample sample
both_fail 'does not hold what sample does' sample out --flip-byte 1500000
both_fail 'No space left on device' sample /dev/full
both_fail 'no file can be made in none' sample none/copy
listen out
refuses 'another process listens' "$al_cp" --listen $name out
# The near end fails: the far end prints the reason.
"$al_cp" --from 17 sample agent:$name >near.out 2>near.err && wrong "an HCA that is not there was used"
ends 1 $far 'the other end says: there is no HCA "17"' far.err
leaves_nothing "no HCA"

# Without an agent the two ends have different HCAs.
listen out
IBAL_AGENT=off refuses 'other end says: .*not among the HCAs of this end: both ends must be clients of the same agent' "$al_cp" sample agent:$name
ends 1 $far 'not among the HCAs of this end' far.err
leaves_nothing "without an agent"

# One end is killed or interrupted, and the other end reports that. An endless file keeps both busy.
cp large endless
truncate -s 1T endless
for who in near far; do
	for signal in KILL TERM; do
		listen out
		env --default-signal "$al_cp" endless agent:$name >near.out 2>near.err &
		near=$!
		until_true compgen -G 'out/.al_cp.*' >found || wrong "the copy does not begin: $(cat far.err near.err)"
		until_true [ -s "$(compgen -G 'out/.al_cp.*')" ] || wrong "nothing comes"
		if [ $who = near ]; then
			kill -$signal $near
			wait $near && wrong "a killed end succeeded"
			ends 1 $far 'the other end (has gone|says: interrupted)' far.err
			leaves_nothing "SIG$signal of the near end"
		else
			kill -$signal $far
			wait $far && wrong "a killed end succeeded"
			ends 1 $near '(the other end (has gone|says: interrupted)|could not reach)' near.err
		fi
		rm -f out/.al_cp.*
	done
done

# A process that speaks another protocol: the end reports an error and does not crash.
listen out
python3 - $name <<'END'
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect("\0ibal/al_cp/" + sys.argv[1])
s.send(b"\2\0\0\0\0\0\0\0" + b"x" * 500)
s.recv(2000)
END
ends 1 $far 'the other end is of another version' far.err
leaves_nothing "a stranger"

# A process of another user is accepted only if both ends allow it.
if [ "$(id -u)" = 0 ]; then
	chmod 644 large
	listen out
	other=(setpriv --reuid 65534 --regid 65534 --clear-groups env "IBAL_AGENT=$IBAL_AGENT")
	refuses '(of user 0, this one of 65534|of user 65534, this one of 0)' "${other[@]}" "$al_cp" large agent:$name
	"$al_cp" -q large agent:$name || wrong "one who was refused has ended it"
	ends 0 $far '' far.err
	rm -f out/*
	listen out --any-user
	"${other[@]}" "$al_cp" --any-user large agent:$name >near.out 2>near.err || wrong "another user: $(cat near.err)"
	ends 0 $far '' far.err
	cmp large out/large || wrong "of another user: the copy differs"
else
	echo "SKIP: copies between users (only root can be two users)"
fi

# No end waits for an agent that was killed.
rm -f out/*
agent_is_killed_under_a_listener 1 out
leaves_nothing "a killed agent"
passed
