#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# al_cp and special files: files that do not report their length, pipes and links. In each case the copy is the one that
# cp would make, or a refusal prints one sentence. Files with holes are in al_cp_holes.sh.
set -euo pipefail

# shellcheck source=test/e2e/tools.sh
. "${top_srcdir:?is set by make check}/test/e2e/tools.sh"
al_cp=$build/al_cp
mkdir out
head -c 1000000 "$build/.libs/libibal.so" >in

# refuses PATTERN COMMAND...: expects exit status 1, one sentence, and no new file.
refuses() {
	local pattern=$1 status=0
	shift
	"$@" >said 2>err || status=$?
	{ [ $status -eq 1 ] && [ "$(grep -c '^al_cp: ' err)" = 1 ] && grep -qE "^al_cp: .*$pattern" err; } ||
		wrong "$*: status $status, not \"$pattern\": $(cat err)"
	[ -z "$(ls -A out)" ] || wrong "$*: left behind: $(ls -A out)"
}

# ---- files without a size ------------------------------------------------------------------------

for file in /proc/version /proc/self/mounts /proc/filesystems /sys/kernel/mm/transparent_hugepage/enabled /sys/kernel/notes; do
	[ -r $file ] || continue
	"$al_cp" --json $file out/copy >said 2>err || wrong "$file: $(cat err)"
	cat $file >whole
	cmp whole out/copy || wrong "$file: the copy differs"
	grep -q "$(sha256sum <whole | cut -d' ' -f1)" said || wrong "$file: the digest is not the file's: $(cat said)"
	rm -f out/copy
done
# A long file whose content differs at each read: the copy has the bytes of the first read.
"$al_cp" --chunk 4K /proc/self/smaps out/smaps >said 2>err || wrong "/proc/self/smaps: $(cat err)"
grep -q al_cp out/smaps || wrong "/proc/self/smaps is not al_cp's: $(head out/smaps)"
[ "$(stat -c %s out/smaps)" -gt 4096 ] || wrong "/proc/self/smaps ends early"
[ "$(tail -n 1 out/smaps | cut -d: -f1)" = VmFlags ] || wrong "/proc/self/smaps ends early: $(tail -n 1 out/smaps)"
rm -f out/smaps
refuses 'cannot be read: Input/output error' "$al_cp" /proc/self/mem out/copy
: >empty
"$al_cp" -q empty out/empty || wrong "an empty file"
{ [ -f out/empty ] && [ ! -s out/empty ]; } || wrong "an empty file is not empty"
rm -f out/empty

# ---- pipes ---------------------------------------------------------------------------------------

mkfifo pipe
# al_cp waits until a process reads the pipe, and prints that it waits.
"$al_cp" in pipe >said 2>err &
pid=$!
until_true grep -q '^al_cp: waiting until somebody reads .*pipe$' err || wrong "it does not wait: $(cat err)"
rests() { # how often al_cp has slept
	sed -n 's/^voluntary_ctxt_switches:[[:space:]]*//p' /proc/$pid/status
}
enough=$(($(rests) + 3))
looks_again() {
	[ "$(rests)" -ge $enough ]
}
until_true looks_again || wrong "it does not look again"
cat pipe >arrived
wait $pid || wrong "to a pipe: $(cat err)"
cmp in arrived || wrong "to a pipe: the copy differs"
[ "$(wc -l <err)" = 1 ] || wrong "it says more than once that it waits: $(cat err)"
"$al_cp" -q in pipe >said 2>err &
pid=$!
cat pipe >arrived
wait $pid || wrong "to a pipe, quietly: $(cat err)"
{ cmp in arrived && [ ! -s err ]; } || wrong "to a pipe, quietly: $(cat err)"
for signal in INT TERM; do
	env --default-signal "$al_cp" in pipe >said 2>err &
	pid=$!
	until_true grep -q '^al_cp: waiting' err || wrong "it does not wait: $(cat err)"
	kill -$signal $pid
	status=0
	wait $pid || status=$?
	{ [ $status -eq 1 ] && grep -q '^al_cp: interrupted' err; } || wrong "SIG$signal: status $status: $(cat err)"
done
# The pipe's reader ends.
"$al_cp" in pipe >said 2>err &
pid=$!
head -c 1000 <pipe >/dev/null
status=0
wait $pid || status=$?
{ [ $status -eq 1 ] && grep -q '^al_cp: .*Broken pipe' err; } || wrong "a reader that goes: status $status: $(cat err)"
# An open of a socket fails with the same error as a pipe without a reader; a socket is refused.
python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")'
refuses 'socket cannot be written to: No such device or address' "$al_cp" in socket
refuses 'pipe is no regular file' "$al_cp" pipe out/copy

# ---- modes ---------------------------------------------------------------------------------------

cp in special
chmod 6741 special
"$al_cp" -q special out/special || wrong "a set-uid file"
[ "$(stat -c %a out/special)" = 741 ] || wrong "set-uid and set-gid are copied: $(stat -c %a out/special)"
rm out/special

# ---- links ---------------------------------------------------------------------------------------

ln -s nothing dangling
refuses 'dangling is a link that leads nowhere' "$al_cp" in dangling
{ [ -L dangling ] && [ ! -e nothing ]; } || wrong "a refused copy has changed a link"
ln -s round round
refuses 'round is a link that leads nowhere' "$al_cp" in round
mkdir place
ln -s ../nothing place/in
refuses 'place/in is a link that leads nowhere' "$al_cp" in place
# A link in a directory is followed like a link on the command line.
echo before >there
ln -sf ../there place/in
"$al_cp" -q in place || wrong "through a link in a directory"
{ [ -L place/in ] && cmp in there; } || wrong "a link in a directory is not followed"
refuses 'are the same file' "$al_cp" there place/in
refuses 'dangling cannot be opened: No such file' "$al_cp" dangling out/copy

# ---- at a far end --------------------------------------------------------------------------------

tool=al_cp name=t$$
start_agent
listen pipe
"$al_cp" in agent:$name >near.out 2>near.err &
near=$!
until_true grep -q '^al_cp: waiting until somebody reads' far.err || wrong "the far end does not wait: $(cat far.err)"
kill -KILL $near
wait $near 2>/dev/null && wrong "a killed end succeeded"
status=0
wait "$far" || status=$?
{ [ $status -eq 1 ] && grep -q '^al_cp: no process has opened .*pipe for reading before the other end went' far.err; } ||
	wrong "the far end of one that is killed: status $status: $(cat far.err)"
listen dangling
refuses 'the other end says: .*dangling is a link that leads nowhere' "$al_cp" in agent:$name
ends 1 "$far" 'leads nowhere' far.err
stop_agent

passed
