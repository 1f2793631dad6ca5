#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A program whose output can not be written has a failing exit status: every tool and the agent, with standard output on
# a full disk, closed, or a pipe without a reader.
set -euo pipefail

# shellcheck source=test/e2e/tools.sh
. "${top_srcdir:?is set by make check}/test/e2e/tools.sh"

mkfifo broken
exec 3<>broken
exec 4>broken 3<&- # 4 is a pipe without a reader

# unheard STATUS PROGRAM WORD...: expects that the output can not be written, and that one sentence reports that.
unheard() {
	local wanted=$1 program=$2 status where
	shift 2
	for where in /dev/full closed broken; do
		status=0
		case $where in
		closed) "$build/$program" "$@" >&- 2>err || status=$? ;;
		broken) env --ignore-signal=PIPE "$build/$program" "$@" >&4 2>err || status=$? ;;
		*) "$build/$program" "$@" >$where 2>err || status=$? ;;
		esac
		[ $status -eq "$wanted" ] || wrong "$program $*, $where: exit status $status, not $wanted"
		[ "$(grep -c "^$program: the output could not be written" err)" = 1 ] ||
			wrong "$program $*, $where: says $(cat err)"
	done
}

head -c 100000 "$build/.libs/libibal.so" >in
for program in al_query al_cp al_perf ald; do
	unheard 2 $program --help
	unheard 2 $program --version
	status=0
	env --default-signal=PIPE "$build/$program" --version >&4 2>err || status=$?
	[ $status -ne 0 ] || wrong "$program --version, and a pipe that nobody reads: exit status 0"
done
unheard 2 al_query ca
unheard 2 al_query --json --watch 0.01 ca # does not go on for nobody
IBAL_MODULE_PATH=$tmp unheard 4 al_query doctor # which has found something worse
unheard 2 al_perf -n 10 -w 0 write
unheard 2 al_perf -n 10 -w 0 --json write
unheard 2 al_perf -n 10 -w 0 --csv write
unheard 2 al_cp in copy
cmp in copy || wrong "the file is not copied"
unheard 2 al_cp --json in copy
unheard 1 al_cp --json none copy # nothing is copied

# A measurement ends with the first row that can not be printed.
"$build/al_perf" -n 10 -w 0 -b --svg plot.svg send,write >/dev/full 2>err && wrong "a full disk is no error"
grep -q send plot.svg || wrong "no row of send"
grep -q write plot.svg && wrong "al_perf goes on for nobody"

# A run that prints nothing succeeds.
"$build/al_cp" -q in copy >&- || wrong "al_cp --quiet with standard output closed: status $?"
# With all three descriptors closed, no file that the program opens takes their numbers.
status=0
"$build/al_cp" in copied <&- >&- 2>&- || status=$?
[ $status -eq 2 ] || wrong "al_cp with everything closed: exit status $status"
cmp in copied || wrong "al_cp with everything closed: the copy differs"

# An agent serves although its messages can not be written.
"$build/ald" --socket "$tmp/agent" >/dev/full 2>ald.log &
agent=$!
jobs=("$agent")
serves() {
	IBAL_AGENT=$tmp/agent "$build/al_query" ca >/dev/null
}
until_true serves || wrong "ald does not serve: $(cat ald.log)"
stop_agent

passed
