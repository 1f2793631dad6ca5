#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A fat tree of 1,024 HCAs and 80 switches in one process: an unmodified OpenSM brings every port up within a minute, and the
# agent has at most 64 threads. With IBAL_TEST_LONG datagrams pass between all pairs of the HCAs, more than a million (opensm.sh
# does so with 216 HCAs always). Prints the times, the threads and the memory.
set -euo pipefail

# shellcheck source=test/e2e/tools.sh
. "${top_srcdir:?is set by make check}/test/e2e/tools.sh"
# shellcheck source=test/e2e/subnet.sh
. "$top_srcdir/test/e2e/subnet.sh"

since() { awk -v from="$1" -v to="$EPOCHREALTIME" 'BEGIN { printf "%.1f s", to - from }'; }
of_agent() { sed -n "s/^$1:[[:space:]]*//p" "/proc/$agent/status"; }

# A queue of 1,023 datagrams at each of 1,024 HCAs is more than a program may have by default.
printf '%s\n' '[ald client]' 'rings = 16G' 'bytes = 16G' >ibal.conf
export IBAL_CONF=$tmp/ibal.conf IBAL_SOFT="subnet=managed mtu=2048 topology=$tmp/cluster"

tree 64 16 16 >cluster
export IBAL_UVP_PATH=$build/uvp/soft/.libs # as where it is installed
began=$EPOCHREALTIME
start_agent
echo "80 switches and 1024 HCAs: $(since "$began") to start, $(of_agent VmRSS)"

began=$EPOCHREALTIME
IBAL_UMAD_CAS=0x10000 sm large -g 0x10001
for ((up = 0; ${up:-0} == 0 && ${EPOCHREALTIME%.*} - ${began%.*} < $(scaled 180);)); do
	read -r -t 0.02 <>"$tmp/clock" || :
	up=$(grep -cs 'SUBNET UP' large.log || true)
done
[ "${up:-0}" -gt 0 ] || wrong "OpenSM has not brought the subnet up: $(tail -n 20 large.log)"
echo "OpenSM: $(since "$began") to SUBNET UP, $(of_agent VmRSS)"
clean large.log

if [ -n "${IBAL_TEST_LONG-}" ]; then
	began=$EPOCHREALTIME
	carries 1024
	echo "$(tail -n 1 tries.out): $(since "$began"), at most $(of_agent VmHWM)"
fi
threads=$(of_agent Threads)
echo "$threads threads"
[ "$threads" -le 64 ] || wrong "the agent has $threads threads"
end "$sm"
clean large.log
stop_agent
passed
