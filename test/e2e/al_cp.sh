#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# al_cp as a user runs it: files of unusual sizes are copied byte for byte over the ports; every failure has a
# one-sentence message and exit status 1, and leaves no file behind.
set -euo pipefail

# shellcheck source=test/e2e/tools.sh
. "${top_srcdir:?is set by make check}/test/e2e/tools.sh"
al_cp=$build/al_cp
mkdir out

# copies SIZE OPTION...: copies a file of that size, and compares the copy with the file.
copies() {
	local size=$1
	shift
	head -c "$size" sample >some
	rm -f out/copy
	"$al_cp" "$@" some out/copy >said 2>&1 || wrong "$size bytes, $*: $(cat said)"
	cmp -s some out/copy || wrong "$size bytes, $*: the copy differs"
	grep -qF "$(sha256sum <some | cut -d' ' -f1)" said || wrong "$size bytes, $*: the digest is not the file's: $(cat said)"
	[ "$(ls -A out)" = copy ] || wrong "$size bytes, $*: left behind: $(ls -A out)"
}

# refuses PATTERN COMMAND...: expects exit status 1, one line that matches, and no file left behind.
refuses() {
	local pattern=$1 status=0
	shift
	rm -rf out && mkdir out
	"$@" >said 2>err || status=$?
	[ $status -eq 1 ] || wrong "$*: exit status $status"
	[ "$(grep -c '^al_cp: ' err)" = 1 ] || wrong "$*: no single sentence: $(cat err)"
	grep -qE "^al_cp: .*$pattern" err || wrong "$*: \"$pattern\" is not in: $(cat err)"
	[ ! -s said ] || wrong "$*: and yet it says: $(cat said)"
	[ -z "$(ls -A out)" ] || wrong "$*: left behind: $(ls -A out)"
}

# ---- files of all sizes ------------------------------------------------------------------------

find -L "$build/.libs" -name '*.so*' -type f -exec cat {} + >once
until [ -e sample ] && [ "$(stat -c %s sample)" -ge 5000000 ]; do cat once >>sample; done

k256=$((256 << 10))
for size in 0 1 $((k256 - 1)) $k256 $((k256 + 1)) $((16 * k256)) $((16 * k256 + 7)); do
	copies "$size"
done
for size in 0 1 4095 4096 4097 100000; do
	copies "$size" --chunk 4K --window 1
	copies "$size" --chunk 4K --window 3
done
copies 1000 --chunk 1 --window 7
copies 300000 --chunk 777 --window 64
copies 3000000 --chunk 1M --window 2

# Lost packets are sent again.
export IBAL_SOFT="fault=drop,chance=2000"
copies 5000000
unset IBAL_SOFT

# Faults of every kind meet some of the packets; the cable is unplugged for a while.
export IBAL_FAULT="drop,chance=1%;duplicate,chance=1%;hold,chance=1%,by=2;delay,chance=1%,time=200us;corrupt,chance=1%"
copies 1500000
export IBAL_FAULT="port-down,hca=0,n=20;port-up,hca=0,n=25"
copies 300000
unset IBAL_FAULT

# ---- what is reported ----------------------------------------------------------------------------

head -c 1000003 sample >in
"$al_cp" --json in out/copy >json
python3 - "$(sha256sum <in | cut -d' ' -f1)" <<'END' || wrong "--json says: $(cat json)"
import json, sys
from sys import argv
report = json.loads(open("json").read())
assert report["schema"] == 1 and report["copied"] is True
assert report["bytes"] == 1000003 and report["sha256"] == argv[1]
assert report["from"]["xmit_bytes"] > 1000003 and report["to"]["rcv_bytes"] > 1000003
assert report["from"]["guid"] != report["to"]["guid"]
END
[ -z "$("$al_cp" --quiet in out/copy 2>&1)" ] || wrong "--quiet says something"
copies 5000 --from 1 --to 0

# HCAs are named by GUID, so IBAL_SOFT sets GUIDs that both processes have.
first=0x0200000000000100
second=0x0200000000000200
export IBAL_SOFT="[hca 0] guid=$first [hca 1] guid=$second"
"$al_cp" --json --from $second in out/copy >json
python3 - $second $first <<'END' || wrong "--from says: $(cat json)"
import json, sys
report = json.load(open("json"))
assert [report["from"]["guid"], report["to"]["guid"]] == sys.argv[1:]
END
copies 5000 --to 0200:0000:0000:0100
unset IBAL_SOFT

# On a terminal the bar ends with 100 %; of a spoilt copy it never shows that.
bar() {
	python3 - "$al_cp" "$@" <<'END'
import os, pty, subprocess, sys
main, tty = pty.openpty()
al_cp = subprocess.Popen(sys.argv[1:], stderr=tty, stdout=subprocess.DEVNULL)
os.close(tty)
text = b""
try:
    while data := os.read(main, 4096):
        text += data
except OSError: # no process has the terminal any more
    pass
al_cp.wait()
print(text.decode())
END
}
bar in out/copy | tr '\r' '\n' >said
grep -q '^\[#\{30\}\] 100 %' said || wrong "the bar does not end: $(cat said)"
bar --flip-byte 5 in out/spoilt | tr '\r' '\n' >said
grep -q ' %' said || wrong "the bar of a spoilt copy: $(cat said)"
grep -q '100 %' said && wrong "a spoilt copy is complete: $(cat said)"

# ---- where it goes -------------------------------------------------------------------------------

rm -rf out && mkdir out
{ "$al_cp" -q in out/ && cmp -s in out/in; } || wrong "into a directory"
echo before >out/old
{ "$al_cp" -q in out/old && cmp -s in out/old; } || wrong "over a file"
ln -s old out/link
{ "$al_cp" -q in out/link && [ -L out/link ] && cmp -s in out/old; } || wrong "through a link"
chmod 751 in
{ (umask 077 && "$al_cp" -q in out/mode) && [ "$(stat -c %a out/mode)" = 751 ]; } || wrong "the mode is not kept"
{ "$al_cp" -q in /dev/null && [ -c /dev/null ]; } || wrong "to a device"
awkward=$'a \n\xff%s'
cp in "$awkward"
{ "$al_cp" "$awkward" out/awkward >said && cmp -s in out/awkward; } || wrong "an awkward name"
{ "$al_cp" --json in "out/$awkward" | python3 -m json.tool >said && cmp -s in "out/$awkward"; } || wrong "an awkward name in JSON"

# ---- what is refused -------------------------------------------------------------------------------

refuses 'none cannot be opened: No such file' "$al_cp" none out/copy
refuses 'out is a directory' "$al_cp" out copy
refuses 'is no regular file' "$al_cp" /dev/zero out/copy
refuses 'is no regular file' "$al_cp" clock out/copy
refuses 'are the same file' "$al_cp" in in
ln in hard
refuses 'are the same file' "$al_cp" in hard
refuses 'are the same file' "$al_cp" in "$tmp"
cmp -s in hard || wrong "a refused copy changed the file"
refuses 'no file can be made in none' "$al_cp" in none/copy
refuses 'could not reach .*: transport retry counter exceeded' env IBAL_FAULT=drop "$al_cp" in out/copy
refuses 'the configuration has an error' env IBAL_FAULT=drop,n=none "$al_cp" in out/copy
refuses 'say which file' "$al_cp" in
refuses 'say which file' "$al_cp" in in2 out/copy
refuses '--chunk 0: ' "$al_cp" --chunk 0 in out/copy
refuses '--chunk 2G: ' "$al_cp" --chunk 2G in out/copy
refuses '--window 0: ' "$al_cp" --window 0 in out/copy
refuses 'nonsense.*--help' "$al_cp" --nonsense in out/copy
refuses 'no HCA "17"' "$al_cp" --from 17 in out/copy
refuses '0123456789abcdef.*nothing there matches' "$al_cp" --to 0123456789abcdef in out/copy
refuses 'cannot be registered: more than' env IBAL_SOFT=max_mr_size=100000 "$al_cp" in out/copy

# ---- what goes wrong -------------------------------------------------------------------------------

refuses 'No space left on device; free some' "$al_cp" in /dev/full
# shellcheck disable=SC2016 # to be expanded by that shell
refuses 'File too large.*ulimit' bash -c 'ulimit -f 100; "$@"' - "$al_cp" in out/copy
refuses 'retry counter exceeded' env IBAL_SOFT=fault=drop,n=1,count=0 "$al_cp" in out/copy
# Root may write everywhere, and becomes nobody.
as_user=()
[ "$(id -u)" -ne 0 ] || as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
if "${as_user[@]}" test -x "$al_cp" -a -r "$build/.libs/libibal.so.1"; then
	mkdir -m 555 readonly
	refuses 'no file can be made in readonly: Permission denied' "${as_user[@]}" "$al_cp" some readonly/copy
	chmod 0 hard
	refuses 'hard cannot be opened: Permission denied' "${as_user[@]}" "$al_cp" hard out/copy
	chmod 751 hard
else
	echo "SKIP: files that a user may not open: nobody cannot read $build"
fi

# One byte arrives changed, at any place.
for offset in 0 262143 262144 1000002; do
	refuses "does not hold what in does" "$al_cp" --flip-byte $offset in out/copy
done
"$al_cp" -q --flip-byte 1000003 in out/copy || wrong "a byte behind the end is none of the file"
echo before >kept
"$al_cp" -q --flip-byte 5 in kept 2>err && wrong "a spoilt copy is taken for good"
[ "$(cat kept)" = before ] || wrong "a copy that failed has taken the place of a file"
"$al_cp" --json --flip-byte 5 in out/copy 2>err >json && wrong "a spoilt copy is taken for good, in JSON"
python3 -c 'import json; r = json.load(open("json")); assert r["copied"] is False and "does not hold" in r["error"]' ||
	wrong "--json of a failure says: $(cat json)"

# The file shrinks: a pipe stops al_cp after the first chunks, until the file is shorter.
head -c 4000000 sample >shrinks
mkfifo pipe
"$al_cp" --chunk 64K --window 2 shrinks pipe >said 2>err &
pid=$!
{
	head -c 65536 >/dev/null
	: >shrinks
	cat >/dev/null
} <pipe
status=0
wait $pid || status=$?
{ [ $status -eq 1 ] && grep -q '^al_cp: shrinks shrank while it was copied' err; } || wrong "shrinking: status $status, $(cat err)"

# A signal: the copy of a large file is removed. The file has holes, since there is no room for so many blocks here.
truncate -s 1T endless
for signal in INT TERM HUP; do
	rm -rf out && mkdir out
	env --default-signal "$al_cp" endless out/copy >said 2>err &
	pid=$!
	until_true compgen -G 'out/.al_cp.*' >found || wrong "al_cp does not begin"
	kill -$signal $pid
	status=0
	wait $pid || status=$?
	{ [ $status -eq 1 ] && grep -q '^al_cp: interrupted' err; } || wrong "SIG$signal: status $status, $(cat err)"
	[ -z "$(ls -A out)" ] || wrong "SIG$signal: left behind: $(ls -A out)"
done

# A signal while no process reads the pipe to which al_cp writes.
"$al_cp" in pipe >said 2>err &
pid=$!
exec 3<pipe
head -c 1000 <&3 >/dev/null
kill -TERM $pid
status=0
wait $pid || status=$?
exec 3<&-
{ [ $status -eq 1 ] && grep -q '^al_cp: interrupted' err; } || wrong "SIGTERM in a write: status $status, $(cat err)"

passed
