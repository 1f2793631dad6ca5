#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# al_perf between two processes, clients of one agent, with the software HCA's provider and without: both ends report,
# every byte arrives, and when one end fails, is killed or sends nonsense, the other end prints one sentence.
set -euo pipefail

# shellcheck source=test/e2e/tools.sh
. "${top_srcdir:?is set by make check}/test/e2e/tools.sh"
tool=al_perf
al_perf=$build/al_perf
name=t$$
start_agent

# measures CONDITION OPTION...: expects that both ends' reports are correct and agree, and that the condition holds for
# both.
measures() {
	local condition=$1
	shift
	listen --json
	"$al_perf" --json "$@" agent:$name >near.out 2>near.err || wrong "$*: status $?: $(cat near.err)"
	ends 0 $far '' far.err
	python3 "$top_srcdir/test/e2e/al_perf_report.py" near.out far.out "$condition" "report['peer'] == '$name'" 2>why ||
		wrong "$*: $(tail -n 1 why)"
}

# ---- every operation, with a provider and without ------------------------------------------------

n="-n 100 --warmup 10"
ops='["send", "send-imm", "write", "write-imm", "read", "cas", "fadd"]'
for IBAL_UVP_PATH in "" "$build/uvp/soft/.libs"; do
	export IBAL_UVP_PATH
	# shellcheck disable=SC2086 # n and how are several options
	{
		measures "[row['op'] for row in rows] == 2 * $ops" $n all
		measures "len(rows) == 2 * (5 * 3 + 2) and report['check']" $n --check -s 1,5000,64K all
		measures "all(row['mode'] == 'completion' for row in rows)" $n -l --completion --check all
		for how in "-d 1" "-d 7 --signal 3 --chain 2 -q 3" "-d 16 --chain 16 -I 64 -s 8,65" "--events -q 2 -d 3 --from 1" \
			"-n 1 --warmup 0" "-t uc -s 1,1000 -m 256" "-t ud -s 1,1000 -q 2 -d 6 --chain 3" "-t ud --events" "--malloc -s 1,5000"; do
			measures "len(rows) >= 4" $n --check $how all
		done
	}
done
measures "all(row['messages'] > 0 for row in rows)" --duration 0.02 --check all
measures "len(rows) == 1 and report['qps'] == 300" -n 600 -q 300 -d 2 -b --check send # their numbers take three records
measures "rows[-1]['size'] >= 256" -n 10 --warmup 0 -b -t ud -a send

# The listener chooses its HCA; and the report as a table.
listen --to 0
"$al_perf" -n 50 --from 0 write,read agent:$name >near.out 2>near.err || wrong "within an HCA: $(cat near.err)"
ends 0 $far '' far.err
[ "$(head -n 1 near.out)" = "$(head -n 1 far.out)" ] || wrong "the headings differ: $(head -n 1 near.out far.out)"
[ "$(sed -nE '1s/.*HCA (\S+) .*HCA (\S+) .*/\1 \2/p' near.out | tr ' ' '\n' | uniq | wc -l)" = 1 ] ||
	wrong "not within an HCA: $(cat near.out)"
{ [ "$(grep -cE '^(write|read) ' near.out)" = 4 ] && [ "$(grep -cE '^(write|read) .* told$' far.out)" = 3 ]; } ||
	wrong "the tables: $(cat near.out far.out)"

# The listener serves one client after another, also after a client that fails, until a signal.
listen --keep --json
for i in 1 2; do
	"$al_perf" -n 50 --check all agent:$name >near.out 2>near.err || wrong "number $i: $(cat near.err)"
	"$al_perf" --from 17 agent:$name >near.out 2>near.err && wrong "an HCA that is not there was used"
done
"$al_perf" -n 50 send agent:$name >near.out 2>near.err || wrong "the last: $(cat near.err)"
five_reports() {
	[ "$(wc -l <far.out)" = 5 ]
}
until_true five_reports || wrong "not five reports: $(cat far.out)" # the far end's report comes when the near end has gone
kill -TERM $far
ends 0 $far '' <(grep -v 'the other end says: there is no HCA "17"' far.err)
python3 -c '
import json
rows = [(len(r["rows"]), "error" in r) for r in map(json.loads, open("far.out"))]
assert rows == [(14, False), (0, True)] * 2 + [(2, False)], rows' || wrong "--keep --json: $(cat far.out)"

# ---- what is refused -----------------------------------------------------------------------------

# refuses STATUS PATTERN OPTION...
refuses() {
	local wanted=$1 pattern=$2 status=0
	shift 2
	"$al_perf" "$@" >near.out 2>near.err || status=$?
	{ [ $status -eq "$wanted" ] && grep -qE "^al_perf: .*$pattern" near.err; } || wrong "$*: status $status, $(cat near.err)"
}
refuses 1 'no process listens as "nobody"' agent:nobody
refuses 1 'is no name to meet by' agent:
refuses 1 'is no name to meet by' --listen a/b
refuses 1 'agent:y: one other end' agent:x agent:y
refuses 1 'write: operations belong on the other' --listen $name write
refuses 1 'agent:x: operations belong on the other' --listen $name agent:x
refuses 1 '--keep is for --listen' --keep
for option in "--from 0" "--from-port 1" -l -b "-t uc" "-s 8" -a --completion "-n 5" "-D 5" "-w 1" "-d 4" "--signal 2" \
	"--chain 2" "-q 2" "-m 256" "-I 8" -e -c; do
	# shellcheck disable=SC2086 # an option may have a value
	refuses 1 "-.* belongs on the other end's command line" --listen $name $option
done
refuses 1 "--to belongs on the other end's command line" --to 0 agent:$name
refuses 1 "--to-port belongs on the other end's command line" --to-port 1 agent:$name
refuses 1 'no HCA "17"' --listen $name --to 17
listen
refuses 1 'another process listens' --listen $name
refuses 1 '--depth 1000000: HCA .* at most' -d 1000000 agent:$name
ends 2 $far 'the other end says: --depth' far.err

# One byte arrives changed at the end that checks: both ends report that. (Not in a ping-pong of writes: the byte is
# checked before the write is complete, and may be written once more.)
for spoilt in "send -b" "send-imm -l" "write -b" "write-imm -b" "send -l --completion"; do
	listen --flip-byte 4096
	# shellcheck disable=SC2086 # an operation and options
	refuses 2 "the other end says: .* of 5000 bytes: message 0 is not what was sent" -n 20 -w 0 -s 5000 --check $spoilt agent:$name
	ends 2 $far 'of 5000 bytes: message 0 is not what was sent' far.err
done
for spoilt in "read -b" "read -l" "send -l" "cas -b"; do
	listen
	# shellcheck disable=SC2086 # an operation and options
	refuses 2 "bytes: message 0 is not what was sent" -n 20 -w 0 -s 8 --check --flip-byte 7 $spoilt agent:$name
	ends 2 $far 'the other end says: .*bytes: message 0 is not what was sent' far.err
done

# Without an agent the two ends have different HCAs.
listen
IBAL_AGENT=off refuses 2 'other end says: .*not among the HCAs of this end: both ends must be clients of the same agent' agent:$name
ends 2 $far 'not among the HCAs of this end' far.err

# ---- nonsense ------------------------------------------------------------------------------------

listen --keep --json
python3 "$top_srcdir/test/e2e/al_perf_hostile.py" "$al_perf" $name || wrong "nonsense was taken for something else"
kill -0 $far || wrong "nonsense has ended one who keeps on"
"$al_perf" -n 20 --check all agent:$name >near.out 2>near.err || wrong "after nonsense: $(cat near.err)"
# The listener prints its report at the end of the session.
has_served() {
	[ "$(tail -n 1 far.out | python3 -c 'import json; print(len(json.loads(input())["rows"]))')" = 14 ]
}
until_true has_served || wrong "no report of the last session: $(tail -n 1 far.out)"
kill -TERM $far
wait $far || wrong "after nonsense: status $?: $(cat far.err)"

# ---- one is killed or interrupted ------------------------------------------------------------------

both_are_at_it() {
	"$build/al_query" clients >out
	[ "$(awk '$3 == "al_perf" && $7 == "1/1"' out | wc -l)" = 2 ] # a queue pair each
}
for how in "KILL write -b" "KILL send -b" "KILL read -b" "KILL write -l" "KILL send -l" "KILL write -l -t uc" "KILL send -b -t ud" \
	"KILL send -l --events" "TERM write -b" "TERM send -l"; do
	signal=${how%% *}
	for who in near far; do
		listen
		# shellcheck disable=SC2086 # an operation and options
		env --default-signal "$al_perf" -D 1000 ${how#* } agent:$name >near.out 2>near.err &
		near=$!
		until_true both_are_at_it || wrong "$how does not begin: $(cat near.err far.err out)"
		if [ $who = near ]; then
			kill -"$signal" $near
			wait $near && wrong "a killed end succeeded"
			ends 2 $far 'the other end (has gone|says: interrupted)' far.err
		else
			kill -"$signal" $far
			wait $far && wrong "a killed end succeeded"
			ends 2 $near 'the other end (has gone|says: interrupted)' near.err
		fi
	done
done 2>killed # where the shell tells of those that were

# Datagrams are lost: some are counted, and if none arrives both ends say so.
stop_agent
IBAL_FAULT="drop,hca=1,n=5" start_agent
listen --json
"$al_perf" --json -t ud -n 20 -w 0 --from 0 send agent:$name >near.out 2>near.err || wrong "a lost datagram: $(cat near.err)"
ends 0 $far '' far.err
python3 -c '
import json
for name in "near.out", "far.out":
    assert json.load(open(name))["rows"][0]["lost"] == 2, name' || wrong "a lost datagram: $(cat near.out far.out)"
stop_agent
IBAL_FAULT="drop,hca=1" start_agent
listen
refuses 2 'all [0-9]+ messages are lost' -t ud -n 3 -w 0 --from 0 agent:$name
ends 2 $far 'the other end says: .* are lost' far.err
stop_agent
start_agent

# No end waits for an agent that was killed.
agent_is_killed_under_a_listener 2
passed
