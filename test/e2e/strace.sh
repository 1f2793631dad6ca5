#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# "strace -c" of a client with the software HCA's provider, both sides awake: fewer than 100 system calls for a million
# posts and a million polls that find a completion (a fifth of that unless IBAL_TEST_LONG). The calls of start and end
# are measured with a hundred posts, and subtracted.
#
# On an idle machine with two processors the number was 0 to 6. On a busy machine the module's thread waits for a
# processor meanwhile, and the client's polls find nothing: after 16384 such polls in a row the client yields its
# processor (uvp/soft/cq.c). So a hundred calls are allowed for each million of polls, however many polls there are.
set -euo pipefail

# shellcheck source=test/e2e/tools.sh
. "${top_srcdir:?is set by make check}/test/e2e/tools.sh"
pairs=${IBAL_TEST_LONG:+500000} # a send and a receive, of a post and a completion each
pairs=${pairs:-100000}
few=50
[[ ${SANITIZE-} != *-fsanitize=* ]] || { echo "SKIP: sanitizers make system calls of their own"; exit 77; }
command -v strace >found || { echo "SKIP: there is no strace"; exit 77; }
strace -o trace true 2>err || { echo "SKIP: strace cannot look at a process here: $(head -n 1 err)"; exit 77; }

export IBAL_UVP_PATH=$build/uvp/soft/.libs
# The thread of the sending HCA never sleeps; the other HCA's thread has no work, and leaves its processor to the
# client.
IBAL_SOFT=ring_spin=2000 "$build/ald" --socket "$tmp/agent" >ald.log 2>&1 &
jobs=($!)
until_true grep -q serving ald.log || wrong "ald does not serve: $(cat ald.log)"

# calls PAIRS: prints the number of system calls of all threads; the table is left in the file strace, the number of
# polls in polls.
calls() {
	strace -f -c -U calls,name -o strace "$build/test/e2e/strace_client" --client posts "$1" "$tmp/agent" >polls 2>err ||
		wrong "the client fails: $(cat polls err)"
	awk '$2 == "total" { print $1 }' strace
}

before=$(calls $few)
cp strace before
after=$(calls $((pairs + few)))
more=$((after - before))
polls=$(cat polls)
echo "$more system calls more for $((2 * pairs)) posts and $polls polls, $((2 * pairs)) of which brought something"
[ $((more * 1000000)) -lt $((100 * (polls > 1000000 ? polls : 1000000))) ] || {
	wrong "that is too many"
	cat before strace
}
passed
