#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The example doc/examples/vendor_mad: a vendor's management class is asked and answers with a text of any length, in one
# process with HCAs of its own, and in two processes by an agent. What can not be done is said in a sentence.
set -euo pipefail

# shellcheck source=test/e2e/tools.sh
. "${top_srcdir:?is set by make check}/test/e2e/tools.sh"
example=$build/doc/examples/vendor_mad/vendor_mad
find -L "$build/.libs" -name '*.so*' -type f -exec cat {} + >all
head -c 1048577 all >large # a byte more than the example takes

fails() { # STATUS SENTENCE WORD...
	local want=$1 sentence=$2 status=0
	shift 2
	"$example" "$@" >out 2>err || status=$?
	[ $status = "$want" ] || wrong "vendor_mad $*: exit status $status, not $want: $(cat err)"
	grep -q "$sentence" err || wrong "vendor_mad $*: \"$sentence\" is not in: $(cat err)"
}

same() { # FILE WORD...: what the program prints is the file
	local file=$1
	shift
	"$example" "$@" >out 2>err || wrong "vendor_mad $*: exit status $?: $(cat err)"
	cmp "$file" out || wrong "vendor_mad $*: the text of $(stat -c %s "$file") bytes differs"
}

serve() {
	: >server.err
	"$example" serve "$1" 2>server.err &
	server=$!
	jobs=("${agent-}" "$server")
	until_true grep -q 'serves at LID' server.err
}

serves() { serve "$1" || { wait "$server" || true; return 1; }; }

end_server() {
	kill -KILL "$server"
	wait "$server" || true
}

# ---- in one process: 216 bytes fit in a packet -------------------------------------------------------

export IBAL_AGENT=off
for size in 0 1 216 217 100000 1048576; do
	head -c $size large >text
	same text both text
done
fails 1 'more than 1048576 bytes' both large
fails 1 'No such file' both nothing
fails 2 usage ask 0
fails 2 usage
status=0
"$example" both text >/dev/full 2>err || status=$?
[ $status = 1 ] || wrong "a text that can not be printed: exit status $status"

# ---- two processes -------------------------------------------------------------------------------

start_agent
serves text || wrong "the server does not start: $(cat server.err)"
lid=$(sed -n 's/.*at LID \([0-9]*\)$/\1/p' server.err)
same text ask "$lid"
for i in 1 2 3 4; do "$example" ask "$lid" >"out$i" 2>&1 & askers[i]=$!; done
for i in 1 2 3 4; do
	wait "${askers[i]}" || wrong "one of four that ask at once: $(tail -n 1 "out$i")"
	cmp text "out$i" || wrong "one of four that ask at once gets another text"
done
fails 1 'exists already' serve text

# After a server was killed, another one serves.
end_server
head -c 1000 large >text
until_true serves text || wrong "no second server: $(cat server.err)"
same text ask "$lid"

# A server without its agent has nothing to do.
kill -KILL "$agent" # after a SIGTERM ald would wait five seconds for its clients
wait "$agent" || true
jobs=("$server")
status=0
wait "$server" || status=$?
jobs=()
[ $status = 1 ] || wrong "a server without its agent ends with status $status"
grep -q 'the HCA has been removed' server.err || wrong "a server without its agent says: $(cat server.err)"

passed
