#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# When what a program prints does not get to its reader, the exit status says so: for every tool and the agent, with standard
# output on a full disk, closed, or a pipe that nobody reads.
set -euo pipefail

# shellcheck source=test/e2e/tools.sh
. "${top_srcdir:?is set by make check}/test/e2e/tools.sh"

mkfifo broken
exec 3<>broken
exec 4>broken 3<&- # 4 is a pipe without a reader

# unheard STATUS PROGRAM WORD...: what it prints cannot be written, of which one sentence tells.
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

# What is measured for nobody ends with the first row that could not be shown.
"$build/al_perf" -n 10 -w 0 -b --svg plot.svg send,write >/dev/full 2>err && wrong "a full disk is no error"
grep -q send plot.svg || wrong "no row of send"
grep -q write plot.svg && wrong "al_perf goes on for nobody"

# Without anything to be printed nothing is missing.
"$build/al_cp" -q in copy >&- || wrong "al_cp --quiet with standard output closed: status $?"
# With all of them closed nothing that is opened takes their place.
status=0
"$build/al_cp" in copied <&- >&- 2>&- || status=$?
[ $status -eq 2 ] || wrong "al_cp with everything closed: exit status $status"
cmp in copied || wrong "al_cp with everything closed: the copy differs"

# An agent serves also when nobody can read that it does.
"$build/ald" --socket "$tmp/agent" >/dev/full 2>ald.log &
agent=$!
jobs=("$agent")
serves() {
	IBAL_AGENT=$tmp/agent "$build/al_query" ca >/dev/null
}
until_true serves || wrong "ald does not serve: $(cat ald.log)"
stop_agent

passed
