#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# al_cp and files with holes: the copy has the same bytes and the same holes, and the holes are not sent.
set -euo pipefail

# shellcheck source=test/e2e/tools.sh
. "${top_srcdir:?is set by make check}/test/e2e/tools.sh"
al_cp=$build/al_cp
mkdir out
mkfifo pipe
head -c 1000000 "$build/.libs/libibal.so" >in

# has_holes FILE: true if blocks of the file are missing.
has_holes() {
	[ $(($(stat -c '%b * %B' "$1"))) -lt "$(stat -c %s "$1")" ]
}

# piece FILE OFFSET BYTES: writes data there, and keeps the end of the file.
piece() {
	head -c "$3" in | dd of="$1" bs=64K seek="$2" oflag=seek_bytes conv=notrunc status=none
}

# keeps_holes FILE OPTION...: expects a copy with the same bytes and no more blocks, whose holes were not sent.
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
assert report["hole_bytes"] < 16000000 or report["from"]["xmit_bytes"] < size / 2
END
	rm -f "out/$file"
}

truncate -s 40M only_a_hole # more than a message tells of
truncate -s 20000001 begins begins_and_ends ends
piece begins 19000000 1000001
piece begins_and_ends 10485760 300000
piece ends 0 262145
truncate -s 20M many
for offset in 0 4096 65536 1048576 5242880 10000000 20960000; do
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
	status=0
	# shellcheck disable=SC2016 # to be expanded by that shell
	bash -c 'ulimit -f 10000; "$@"' - "$al_cp" only_a_hole out/copy >said 2>err || status=$?
	{ [ $status -eq 1 ] && grep -q '^al_cp: .*File too large.*ulimit' err && [ -z "$(ls -A out)" ]; } ||
		wrong "beyond a limit: status $status: $(cat err)"
else
	echo "SKIP: files with holes (the file system of $tmp makes none)"
fi

# The same between two processes.
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
stop_agent

passed
