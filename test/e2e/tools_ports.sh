#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The HCAs and ports that al_cp and al_perf choose by themselves, and the operations that al_perf leaves out for an HCA
# that lacks them.
set -euo pipefail

# shellcheck source=test/e2e/tools.sh
. "${top_srcdir:?is set by make check}/test/e2e/tools.sh"
soft=$IBAL_MODULE_PATH
first=0x0200000000000100 second=0x0200000000000200 third=0x0200000000000300
guids="[hca 0] guid=$first [hca 1] guid=$second"
head -c 300000 "$build/.libs/libibal.so" >in

# takes FROM PORT TO PORT OPTION...: expects that both tools use these ports, and that al_cp's copy is right.
takes() {
	local ends="[a[e][k] for e in ('from', 'to') for k in ('guid', 'port')] == ['$1', $2, '$3', $4]"
	shift 4
	rm -f copy
	"$build/al_cp" --json "$@" in copy >out 2>err || wrong "al_cp $*: status $?: $(cat err)"
	cmp in copy || wrong "al_cp $*: the copy differs"
	json "$ends"
	"$build/al_perf" --json -n 10 -w 0 --check "$@" write,send >out 2>err || wrong "al_perf $*: status $?: $(cat err)"
	json "$ends and len(a['rows']) == 4"
}

# refuses STATUS PATTERN PROGRAM WORD...
refuses() {
	local wanted=$1 pattern=$2 program=$3 status=0
	shift 3
	"$build/$program" "$@" >out 2>err || status=$?
	{ [ $status -eq "$wanted" ] && grep -qE "^$program: .*$pattern" err; } || wrong "$program $*: status $status: $(cat err)"
}

# ---- what is not active is nobody's choice -------------------------------------------------------

export IBAL_SOFT=$guids
takes $first 1 $second 1
takes $second 1 $first 1 --from 1
takes $second 1 $first 1 --to 0
# The HCA whose only port is down is the first one, or the last one.
export IBAL_MODULE_PATH=$build/test/modules/down/.libs:$soft
query 0 --json ca
json "[c['module'] for c in a['cas']] == ['fake', 'soft', 'soft']"
takes $first 1 $second 1
takes $second 1 $first 1 --from 2
takes $second 1 $first 1 --to 1
inactive='port 1 of HCA 0x\w+ is not active; "al_query port"'
refuses 1 "$inactive" al_cp --from 0 in copy2
refuses 2 "$inactive" al_perf --to 0
IBAL_MODULE_PATH=$build/test/modules/down/.libs refuses 1 "$inactive" al_cp in copy2
IBAL_MODULE_PATH=$build/test/modules/down/.libs refuses 2 "$inactive" al_perf
export IBAL_MODULE_PATH=$soft
# Of three HCAs, the user must name two that are not connected by a cable.
cables="hcas=3 $guids [hca 2] guid=$third [link a] ports=0:1,2:1"
IBAL_SOFT=$cables takes $first 1 $third 1 --to 2

# ---- one HCA -------------------------------------------------------------------------------------

# A port to itself, which needs no cable; two ports of one HCA if the user names them.
export IBAL_SOFT="hcas=1 [hca 0] guid=$first"
takes $first 1 $first 1
takes $first 1 $first 1 --from 0
export IBAL_SOFT="hcas=1 ports=2 [hca 0] guid=$first"
takes $first 1 $first 1
takes $first 1 $first 1 --from 0 --to 0
takes $first 2 $first 2 --from-port 2
export IBAL_SOFT="hcas=1 ports=2 [hca 0] guid=$first [link a] ports=0:1,0:2"
takes $first 1 $first 1
takes $first 1 $first 2 --to-port 2
takes $first 2 $first 1 --from-port 2 --to-port 1
export IBAL_SOFT="hcas=2 ports=2 $guids"
takes $second 1 $second 1 --from 1 --to 1
takes $first 2 $second 2 --from-port 2 --to-port 2
refuses 1 'has no port 3, but 2' al_cp --to-port 3 in copy2
refuses 1 'from-port 0: a number from 1' al_cp --from-port 0 in copy2
refuses 1 'to-port 256: a number from 1' al_cp --to-port 256 in copy2
[ ! -e copy2 ] || wrong "a copy without a port"

# ---- operations that an HCA lacks ------------------------------------------------------------------

# leaves_out NAMES GUID: expects that "al_perf all" measures every other operation, and prints the names.
leaves_out() {
	"$build/al_perf" --json -n 10 -w 0 --check all >out 2>err || wrong "al_perf all: status $?: $(cat err)"
	json "a['left_out'] == $1 and len(a['rows']) == 2 * (7 - len($1)) and not {r['op'] for r in a['rows']} & set($1)"
	[ "$(grep -cE "^al_perf: \w+ is left out: HCA $2 has no " err)" = "$(wc -l <err)" ] || wrong "al_perf all says: $(cat err)"
	json "len(a['left_out']) == $(wc -l <err)"
}
export IBAL_SOFT=$guids
leaves_out "[]" none
export IBAL_SOFT="$guids atomics=0"
leaves_out "['cas', 'fadd']" $second # the last section's
export IBAL_SOFT="atomics=0 $guids"
leaves_out "['cas', 'fadd']" $first
refuses 1 'has no atomics: not cas' al_perf cas
refuses 1 'has no atomics: not fadd' al_perf all,fadd
refuses 1 'has no atomics: not cas' al_perf cas,all
export IBAL_SOFT="max_rd_atomic=0 $guids"
leaves_out "['read', 'cas', 'fadd']" $first
refuses 1 'has no reads and atomics: not read' al_perf read

# Between two processes the far end reports the operations that its HCA lacks.
export IBAL_SOFT="$guids atomics=0"
tool=al_perf name=t$$
start_agent
listen --json
"$build/al_perf" --json -n 10 -w 0 --check all agent:$name >out 2>err || wrong "al_perf all: status $?: $(cat err)"
wait "$far" || wrong "the far end: status $?: $(cat far.err)"
json "a['left_out'] == ['cas', 'fadd'] and len(a['rows']) == 10"
[ "$(cat err)" = "al_perf: cas is left out: the other end's HCA cannot do it
al_perf: fadd is left out: the other end's HCA cannot do it" ] || wrong "the near end says: $(cat err)"
mv far.out out
json "a['left_out'] == ['cas', 'fadd'] and len(a['rows']) == 10"
listen
refuses 2 'the other end says: .*no atomics: not cas' al_perf send,cas agent:$name
ends 1 "$far" 'no atomics: not cas' far.err
stop_agent

passed
