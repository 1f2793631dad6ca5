#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# al_cp and files that are not plain: those that do not say how long they are, pipes, links, and files with holes. In each
# case the copy is what cp would have made, or the refusal one sentence.
set -euo pipefail

# shellcheck source=test/e2e/tools.sh
. "${top_srcdir:?is set by make check}/test/e2e/tools.sh"
al_cp=$build/al_cp
mkdir out
head -c 1000000 "$build/.libs/libibal.so" >in

# refuses PATTERN COMMAND...: exit status 1, one sentence, nothing made.
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
# Long, and different each time: what was read once arrives.
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
# Until somebody reads it al_cp waits, and says so.
"$al_cp" in pipe >said 2>err &
pid=$!
until_true grep -q '^al_cp: waiting until somebody reads .*pipe$' err || wrong "it does not wait: $(cat err)"
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
# A reader that goes.
"$al_cp" in pipe >said 2>err &
pid=$!
head -c 1000 <pipe >/dev/null
status=0
wait $pid || status=$?
{ [ $status -eq 1 ] && grep -q '^al_cp: .*Broken pipe' err; } || wrong "a reader that goes: status $status: $(cat err)"
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
# A link in a directory is followed, as one that is named.
echo before >there
ln -sf ../there place/in
"$al_cp" -q in place || wrong "through a link in a directory"
{ [ -L place/in ] && cmp in there; } || wrong "a link in a directory is not followed"
refuses 'are the same file' "$al_cp" there place/in
refuses 'dangling cannot be opened: No such file' "$al_cp" dangling out/copy

# ---- holes ---------------------------------------------------------------------------------------

# has_holes FILE: it does not have all of its blocks.
has_holes() {
	[ $(($(stat -c '%b * %B' "$1"))) -lt "$(stat -c %s "$1")" ]
}

# piece FILE OFFSET BYTES: data there, without the file's end changed.
piece() {
	head -c "$3" in | dd of="$1" bs=64K seek="$2" oflag=seek_bytes conv=notrunc status=none
}

# keeps_holes FILE OPTION...: the copy has the same bytes, and no more blocks; the holes did not go over the ports.
keeps_holes() {
	local file=$1
	shift
	"$al_cp" --json "$@" "$file" out >said 2>err || wrong "$file: $(cat err)"
	cmp "$file" "out/$file" || wrong "$file $*: the copy differs"
	[ "$(stat -c %b "out/$file")" -le "$(stat -c %b "$file")" ] ||
		wrong "$file $*: $(stat -c %b "out/$file") blocks, of $(stat -c %b "$file")"
	python3 - "$file" "$(sha256sum <"$file" | cut -d' ' -f1)" <<'END' || wrong "$file $*: reports $(cat said)"
import json, os, sys
report = json.load(open("said"))
size, allocated = os.stat(sys.argv[1]).st_size, os.stat(sys.argv[1]).st_blocks * 512
assert report["bytes"] == size and report["sha256"] == sys.argv[2]
assert size - allocated <= report["hole_bytes"] < size or size == report["hole_bytes"]
assert report["from"]["xmit_bytes"] >= size - report["hole_bytes"]
assert report["hole_bytes"] < 40000000 or report["from"]["xmit_bytes"] < size / 2
END
	rm -f "out/$file"
}

truncate -s 60M only_a_hole
truncate -s 60000001 begins begins_and_ends ends
piece begins 59000000 1000001
piece begins_and_ends 20971520 300000
piece ends 0 262145
truncate -s 50M many
for offset in 0 4096 65536 1048576 5242880 30000000 52420000; do
	piece many $offset 4096
done
if has_holes only_a_hole; then
	for file in only_a_hole begins begins_and_ends ends many; do
		keeps_holes $file
	done
	keeps_holes many --chunk 1000 --window 1
	keeps_holes many --chunk 4M --window 3
	"$al_cp" many out/many >said
	grep -qE '^  [0-9]+ of them are holes, which were not sent$' said || wrong "of holes it says: $(cat said)"
	rm out/many
	"$al_cp" in out/in >said
	grep -q 'holes' said && wrong "of no holes it says: $(cat said)"
	rm out/in
	# Where there can be none they are zeros.
	"$al_cp" -q many pipe &
	pid=$!
	cat pipe >arrived
	wait $pid || wrong "holes to a pipe: status $?"
	cmp many arrived || wrong "holes to a pipe: the copy differs"
	# A limit is a limit, also for a hole at the end.
	refuses 'File too large.*ulimit' bash -c 'ulimit -f 10000; "$@"' - "$al_cp" only_a_hole out/copy
else
	echo "NOTE: the file system of $tmp makes no holes: they are not tested"
fi

# The same from process to process, and what the far end does while nobody reads.
tool=al_cp name=t$$
start_agent
for file in many ends begins; do
	listen out
	"$al_cp" --json $file agent:$name >near.out 2>near.err || wrong "$file, between processes: $(cat near.err)"
	ends 0 "$far" '' far.err
	cmp $file out/$file || wrong "$file, between processes: the copy differs"
	[ "$(stat -c %b out/$file)" -le "$(stat -c %b $file)" ] || wrong "$file, between processes: arrives allocated"
	python3 -c 'import json, sys; r = json.load(open("near.out")); assert r["bytes"] == int(sys.argv[1]) > r["hole_bytes"]' \
		"$(stat -c %s $file)" || wrong "$file, between processes: reports $(cat near.out)"
	rm out/*
done
listen pipe
"$al_cp" in agent:$name >near.out 2>near.err &
near=$!
until_true grep -q '^al_cp: waiting until somebody reads' far.err || wrong "the far end does not wait: $(cat far.err)"
kill -KILL $near
wait $near 2>/dev/null && wrong "a killed end succeeded"
status=0
wait "$far" || status=$?
{ [ $status -eq 1 ] && grep -q '^al_cp: nobody has read .*pipe before the other end went' far.err; } ||
	wrong "the far end of one that is killed: status $status: $(cat far.err)"
listen dangling
refuses 'the other end says: .*dangling is a link that leads nowhere' "$al_cp" in agent:$name
ends 1 "$far" 'leads nowhere' far.err
stop_agent

passed
