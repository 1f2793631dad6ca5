#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# al_perf as a user runs it: every operation is measured and its data arrive, the reports have the documented content,
# and an error prints one sentence and has the right exit status. No figure is checked: figures depend on the machine.
set -euo pipefail

# shellcheck source=test/e2e/tools.sh
. "${top_srcdir:?is set by make check}/test/e2e/tools.sh"
al_perf=$build/al_perf
al_query=$build/al_query

# Rules of every JSON report; further conditions are arguments.
judge() {
	python3 "$top_srcdir/test/e2e/al_perf_report.py" "$@"
}

# measures CONDITION OPTION...: expects a correct JSON report for which the condition holds.
measures() {
	local condition=$1
	shift
	"$al_perf" --json "$@" >json 2>err || wrong "$*: status $?: $(cat err)"
	[ ! -s err ] || wrong "$*: says $(cat err)"
	judge json "$condition" 2>why || wrong "$*: $(tail -n 1 why): $(cat json)"
}

# refuses STATUS PATTERN OPTION...: expects one sentence that matches.
refuses() {
	local wanted=$1 pattern=$2 status=0
	shift 2
	"$al_perf" "$@" >said 2>err || status=$?
	[ $status -eq "$wanted" ] || wrong "$*: exit status $status: $(cat err)"
	[ "$(grep -c '^al_perf: ' err)" = 1 ] || wrong "$*: no single sentence: $(cat err)"
	grep -qE "^al_perf: .*$pattern" err || wrong "$*: \"$pattern\" is not in: $(cat err)"
}

# ---- every operation -----------------------------------------------------------------------------

n="-n 200 --warmup 10"
ops='["send", "send-imm", "write", "write-imm", "read", "cas", "fadd"]'
# shellcheck disable=SC2086 # n is two options
{
	measures "[row['op'] for row in rows] == 2 * $ops" $n all
	measures "[row['op'] for row in rows] == 2 * $ops and report['check']" $n --check all
	measures "all(row['messages'] == 200 for row in rows if row['mode'] != 'ping-pong')" $n all
	measures "all(row['samples'] == 200 and row['mode'] == 'completion' for row in rows)" $n -l --completion --check all
	measures "[row['op'] for row in rows] == ['read', 'send', 'write']" $n -b read,send write send

	# Sizes: around a packet's payload, below, above.
	measures "[row['size'] for row in rows] == [1, 2, 4, 4095, 4096, 4097, 100000]" \
		$n -b --check write -s 1..4,4095..4097,100000
	measures "len(rows) == 2 * (5 * 3 + 2)" $n --check -s 1,5000,64K all
	measures "[row['size'] for row in rows] == [2 << i for i in range(23)]" -n 4 --warmup 0 -b -a write
	measures "len(rows) == 10" -n 8 --warmup 0 --check -d 4 -s 1M send,send-imm,write,write-imm,read

	# How they are posted and waited for.
	for how in "-d 1" "-d 7 --signal 3 --chain 2" "-d 64 --signal 50 --chain 40" "-d 16 --chain 16" \
		"-q 5 -d 8" "-q 3 -d 20 --chain 5 --signal 7" "-I 64 -s 8,64" "-I 63 -s 64" "-m 256 -s 1000" "--events" \
		"--events -q 2 -d 3" "-n 1 --warmup 0" "-n 3 -q 7" "--cpu $(python3 -c 'import os; print(min(os.sched_getaffinity(0)))')"; do
		measures "len(rows) >= 14" $n --check $how all
	done
	measures "len(rows) == 20" $n -q 3 -d 20 --chain 5 --signal 7 -s 8,100000 send,send-imm,write,write-imm,read
	measures "len(rows) == 14" $n --events -q 2 all
	measures "rows[0]['messages'] == 10 and report['depth'] == 3 and report['chain'] == 2 and report['signal'] == 3" \
		-n 10 -b -d 3 --chain 2
	measures "all(row['messages'] > 0 for row in rows)" --duration 0.02 --check all

	# Where: the other way round, one HCA with itself, the only one, and another port.
	measures "report['from']['guid'] > report['to']['guid']" $n --from 1 --to 0 --check all
	measures "report['from'] == report['to']" $n --from 0 --to 0 --check all
	measures "report['from']['guid'] > report['to']['guid']" $n --from 'soft HCA 1' --to 'soft HCA 0'
	IBAL_SOFT=hcas=1 measures "report['from'] == report['to']" $n --check all
	IBAL_SOFT="hcas=2 ports=2" measures "report['from']['port'] == report['to']['port'] == 2" \
		$n --from-port 2 --to-port 2 --check all
	IBAL_SOFT="fault=drop,chance=200" measures "len(rows) == 14" $n --check -s 5000 all
}

# ---- types: what the HCA offers works, and what it does not is said ---------------------------------

caps=$("$al_query" --json caps)
for type in uc ud; do
	if python3 -c 'import json, sys; sys.exit(not json.load(sys.stdin)["cas"][0]["caps"][sys.argv[1]])' $type <<<"$caps"; then
		# shellcheck disable=SC2086 # n is two options
		{
			measures "report['type'] == '$type' and len(rows) >= 4" $n --type $type --check all
			measures "len(rows) >= 12" $n --type $type --check -s 1,256,1000 -q 2 -d 6 --chain 3 all
			measures "len(rows) >= 4" $n --type $type --events all
			measures "rows[-1]['size'] >= 256" -n 10 --warmup 0 -b -t $type -a send
		}
	else
		refuses 1 "does not offer ${type^^}.*al_query caps" --type $type
	fi
done
# Write number 30 of each end is lost: al_perf counts two.
IBAL_SOFT="fault=drop,n=30" "$al_perf" --json -l -t uc -n 50 -w 0 write >json
python3 -c 'import json; r = json.load(open("json"))["rows"][0]; assert r["lost"] == 2 and r["samples"] == 48, r' ||
	wrong "a lost write: $(cat json)"
# Nothing arrives: the row ends after a hundred messages.
IBAL_SOFT=fault=drop refuses 2 'all 3 messages are lost; "al_query port".*service level 0' -l -t ud -n 3 -w 0
IBAL_SOFT=fault=drop refuses 2 'all 100 messages are lost' -b -t ud
# The seconds of a row do not contain the silence of two seconds after a lost datagram.
began=$(date +%s%N)
IBAL_SOFT="fault=drop,n=5,hca=0" "$al_perf" --json -b -t ud -n 100 -w 0 send >json
python3 -c '
import json, sys, time
r = json.load(open("json"))["rows"][0]
assert r["lost"] == 1 and (time.time_ns() - int(sys.argv[1])) / 1e9 - r["seconds"] >= 2, r' "$began" ||
	wrong "the silence counts: $(cat json)"
# A sample of ping-pong does not wait for the ACK of the answer.
IBAL_SOFT="fault=delay,hca=0,flow=response,time=200ms" "$al_perf" --json -l -n 5 -w 0 send >json
python3 -c 'import json; r = json.load(open("json"))["rows"][0]; assert r["ns"]["min"] < 100e6, r' ||
	wrong "the late ACK counts: $(cat json)"
refuses 1 'read: UC has no such operation' --type uc read
refuses 1 'write: UD has no such operation' --type ud send,write
refuses 1 'cas: UC has no such operation' --type uc send cas

# ---- what is wrong ---------------------------------------------------------------------------------

refuses 1 '--type rd: must be rc, uc or ud' --type rd
refuses 1 'no operation "scribble"' scribble
refuses 1 'no operation ""' write,
refuses 1 '--iters 0: ' --iters 0
refuses 1 '--iters x: ' --iters x
refuses 1 '--iters or --duration' -n 5 -D 1
for duration in 0 -1 1s '' nan inf; do refuses 1 '--duration .*: seconds' --duration="$duration"; done
for size in 0 2G 8..4 x '' '8,' -1; do refuses 1 '--size .*: from 1 to 1G' --size="$size"; done
refuses 1 '--all or --size' -a -s 8
refuses 1 '--depth 0: ' --depth 0
refuses 1 '--chain 65: no longer than --depth, 64' --chain 65
refuses 1 '--mtu 1000: ' --mtu 1000
refuses 1 '--mtu 8192: ' --mtu 8192
refuses 1 '--json or --csv' --json --csv
refuses 1 'nonsense.*--help' --nonsense
refuses 1 'no HCA "17"' --from 17
refuses 1 'no HCA "soft HCA"' --to 'soft HCA'
refuses 1 'has no port 2, but 1' --to-port 2
refuses 2 '0123456789abcdef.*nothing there matches' --to 0123456789abcdef
refuses 1 '--inline 100000: HCA .* at most' --inline 100000
refuses 1 '--depth 1000000: HCA .* at most' --depth 1000000
refuses 1 '--cpu 1023: ' --cpu 1023
IBAL_SOFT=mtu=1024 refuses 1 '--mtu 4096: HCA .* at most 1024' --mtu 4096
IBAL_SOFT=fault=drop,n=1,count=0 refuses 2 'retry counter exceeded' -n 10
refuses 2 'the plot cannot be written: .*No such file' -n 10 --svg none/plot.svg

# One byte arrives changed, at any place, in any operation.
for op in send send-imm write write-imm read; do
	refuses 2 "$op of 5000 bytes: message 0 is not what was sent" -n 20 -w 0 -s 5000 --check --flip-byte 4096 -b $op
	refuses 2 "$op of 5000 bytes: message 0 is not what was sent" -n 20 -w 0 -s 5000 --check --flip-byte 4999 -l $op
done
refuses 2 'cas of 8 bytes: message 0 is not' --check -w 0 --flip-byte 0 cas
refuses 2 'fadd of 8 bytes: message 0 is not' --check -w 0 --flip-byte 7 fadd
"$al_perf" -n 20 -w 0 --flip-byte 0 >said 2>&1 || wrong "without --check nobody looks: $(cat said)"
status=0
"$al_perf" --json -n 20 -w 0 --check --flip-byte 0 read,write >json 2>err || status=$?
[ $status -eq 2 ] || wrong "--json of a failure: status $status"
python3 -c 'import json; r = json.load(open("json")); assert "is not what was sent" in r["error"] and not r["rows"]' ||
	wrong "--json of a failure says: $(cat json)"

# ---- the other reports -----------------------------------------------------------------------------

"$al_perf" -n 50 -s 1,8,5000 write,read,cas >said
[ "$(grep -cE '^(write|read|cas) ' said)" = 14 ] || wrong "the table: $(cat said)"
"$al_perf" --json -n 50 -s 1,8,5000 all >json
python3 -m json.tool json >said || wrong "no JSON: $(cat json)"
"$al_perf" --csv -n 50 -s 1,8,5000 write,read,cas >csv
python3 - <<'END' || wrong "--csv: $(cat csv)"
import csv
rows = list(csv.DictReader(open("csv")))
assert len(rows) == 14 and all(None not in row and None not in row.values() for row in rows)
for row in rows:
    if row["test"] == "latency":
        assert float(row["min_ns"]) <= float(row["p50_ns"]) <= float(row["p99_9_ns"]) <= float(row["max_ns"])
    else:
        assert float(row["bytes_per_second"]) > 0 and row["p50_ns"] == ""
END

# plots PANELS CURVES OPTION...: expects valid XML with so many titles and curves, all inside the picture.
plots() {
	local panels=$1 curves=$2
	shift 2
	rm -f plot.svg
	"$al_perf" --svg plot.svg "$@" >said 2>&1 || wrong "--svg $*: $(cat said)"
	python3 - "$panels" "$curves" <<'END' || wrong "--svg $*: $(cat plot.svg)"
import re
import sys
import xml.etree.ElementTree as tree
svg = tree.parse("plot.svg").getroot()
name = "{http://www.w3.org/2000/svg}"
width, height = map(float, svg.get("viewBox").split()[2:])
assert svg.tag == name + "svg" and [width, height] == [float(svg.get("width")), float(svg.get("height"))]
assert len(svg.findall(f"{name}g[@class='title']")) == int(sys.argv[1])
paths = [path.get("d") for path in svg.iter(name + "path")]
assert len(paths) == 2 * int(sys.argv[2]), paths  # and each in the legend
for path in paths:
    assert re.fullmatch(r"M[-\d. ]+(h30|(L[-\d. ]+)*)", path), path
for dot in svg.iter(name + "circle"):
    assert 0 < float(dot.get("cx")) < width and 0 < float(dot.get("cy")) < height
for text in svg.iter(name + "text"):
    assert text.text and 0 <= float(text.get("x")) < width and 0 < float(text.get("y")) < height
END
}
plots 2 3 -n 20 write
plots 2 21 -n 20 -s 1..4K all
plots 1 2 -n 20 -l -s 1,100000 write
plots 1 2 -n 20 -b -a write,read
plots 1 1 -n 20 -b -s 1024 write
{ "$al_perf" -n 20 --plot other.svg >said && [ -s other.svg ]; } || wrong "--plot is another name of it"

# ---- a signal: what there is so far ----------------------------------------------------------------

catches() { # catches PID: it is al_perf, and takes signals: SIGHUP is the last of them
	[[ $(readlink "/proc/$1/exe") == *al_perf ]] && (($(sed -n 's/^SigCgt:[[:space:]]*/0x/p' "/proc/$1/status") & 1))
}
for signal in INT TERM HUP; do
	rm -f said
	env --default-signal "$al_perf" -D 0.05 -a all >said 2>err &
	pid=$!
	until_true catches $pid || wrong "al_perf does not begin: $(cat err)"
	until_true grep -q '^send ' said || wrong "al_perf does not begin: $(cat said err)"
	kill -$signal $pid
	status=0
	wait $pid || status=$?
	{ [ $status -eq 2 ] && [ ! -s err ]; } || wrong "SIG$signal: status $status, $(cat err)"

	env --default-signal "$al_perf" -D 1000 --json --svg plot.svg >json 2>err &
	pid=$!
	until_true catches $pid || wrong "al_perf does not begin: $(cat err)"
	kill -$signal $pid
	status=0
	wait $pid || status=$?
	{ [ $status -eq 2 ] && [ ! -s err ]; } || wrong "SIG$signal: status $status, $(cat err)"
	python3 -c 'import json; r = json.load(open("json")); assert r["interrupted"] and len(r["rows"]) < 2' ||
		wrong "SIG$signal: $(cat json)"
done

# ---- an ordinary user ------------------------------------------------------------------------------

if [ "$(id -u)" -eq 0 ]; then
	ordinary=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	if "${ordinary[@]}" test -x "$al_perf" -a -r "$build/.libs/libibal.so.1"; then
		chmod 777 . && rm -f json said err
		"${ordinary[@]}" "$al_perf" --json -n 50 --check all >json 2>err || wrong "as nobody: status $?: $(cat err)"
		judge json "len(rows) == 14" 2>why || wrong "as nobody: $(tail -n 1 why)"
	else
		echo "SKIP: al_perf by an ordinary user: nobody cannot read $build"
	fi
fi

passed
