#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Quality of service with the distribution's OpenSM: it sets two virtual lanes up, with weights of 1 and 3, and two programs that
# send over one slow cable, on a service level each, share the cable by these weights. The senders fill their lanes all the time,
# so the shares do not depend on the speed of the machine; the assertion leaves room for the time in which one of them starts.
set -euo pipefail

# shellcheck source=test/e2e/tools.sh
. "${top_srcdir:?is set by make check}/test/e2e/tools.sh"
# shellcheck source=test/e2e/subnet.sh
. "$top_srcdir/test/e2e/subnet.sh"
command -v smpquery >/dev/null || { echo "SKIP: smpquery is not installed"; exit 77; }
build=$(realpath "$build")
mkdir own
tree 1 0 3 >star
cat >qos <<END
qos TRUE
qos_max_vls 2
qos_high_limit 0
qos_vlarb_high 0:0
qos_vlarb_low 0:64,1:192
qos_sl2vl 0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,15
END

as_user=()
if [ "$(id -u)" -eq 0 ]; then
	as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	chown 65534:65534 own
fi
# shellcheck disable=SC2154 # tmp is of tools.sh
export XDG_RUNTIME_DIR=$tmp/own IBAL_MODULE_PATH=$build/hca/soft/.libs HOME=$tmp/own
export IBAL_SOFT="subnet=managed topology=$tmp/star" IBAL_FAULT="slow,switch=0x1000,port=3,rate=4MB"
unset IBAL_AGENT
al_run() { "${as_user[@]}" "$build/al/compat/al_run" "$@"; }

"${as_user[@]}" "$build/al/compat/al_run" opensm -Q -F "$tmp/qos" >opensm.out 2>&1 &
jobs+=("$!")
active() { al_run "$build/al_query" check >said; }
until_true active || wrong "OpenSM does not bring the ports up: $(cat said opensm.out)"
agent=$(pgrep -f -- "ald --socket $XDG_RUNTIME_DIR/ibal/ald.socket") || wrong "there is no agent"
jobs+=("$agent")

# ---- what OpenSM has set -------------------------------------------------------------------------

al_run smpquery -G sl2vl 0x1000 3 >said 2>&1 || wrong "smpquery sl2vl: $(cat said)"
grep -qE "in  2, out  3: \| 0\| 1\| 0\|" said || wrong "smpquery sl2vl: $(cat said)"
al_run smpquery -G vlarb 0x1000 3 >said 2>&1 || wrong "smpquery vlarb: $(cat said)"
grep -qE "^WEIGHT: *\|0x40\|0xC0\|" said || wrong "smpquery vlarb: $(cat said)"
al_run smpquery -G portinfo 0x1000 3 >said 2>&1 || wrong "smpquery portinfo: $(cat said)"
grep -qE "^OperVLs:\.+VL0-7$" said || wrong "smpquery portinfo: $(cat said)"

# ---- shares of the slow cable --------------------------------------------------------------------

# sends FILE HCA SL: writes to the third HCA for some seconds.
sends() {
	al_run "$build/al_perf" -b -t uc -s 4096 -D 8 -w 0 --sl "$3" --from "0x00000000000$2" --to 0x0000000000010020 --csv write >"$1" 2>"$1.err"
}
# messages FILE: messages that al_perf has sent.
messages() {
	awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } NR == 2 { print $at["messages"] }' "$1"
}
shares() { # SL-OF-THE-FIRST SL-OF-THE-SECOND: sets first, second
	sends first 10000 "$1" &
	local one=$!
	sends second 10010 "$2" || wrong "al_perf: $(cat second.err)"
	wait $one || wrong "al_perf: $(cat first.err)"
	first=$(messages first) second=$(messages second)
	echo "service levels $1 and $2: $first and $second messages"
}

shares 0 1
awk -v a="$first" -v b="$second" 'BEGIN { exit !(b > 1.8 * a && b < 5 * a) }' || wrong "weights of 1 and 3, and shares of $first and $second"
shares 1 0
awk -v a="$first" -v b="$second" 'BEGIN { exit !(a > 1.8 * b && a < 5 * b) }' || wrong "weights of 3 and 1, and shares of $first and $second"

# the sender has waited, and nothing was lost
al_run perfquery -G 0x10001 1 >said 2>&1 || wrong "perfquery: $(cat said)"
grep -qE "^PortXmitWait:\.+[1-9]" said || wrong "the sender has not waited: $(cat said)"
al_run "$build/al_query" check --subnet --reset >said 2>&1 || wrong "al_query check: $(cat said)"
for extended in "" -x; do
	# shellcheck disable=SC2086 # an option, or none
	al_run perfquery $extended -G 0x10001 1 >said 2>&1 || wrong "perfquery: $(cat said)"
	grep -qE "^PortXmitWait:\.+0$" said || wrong "PortXmitWait is not reset: $(cat said)"
done
al_run perfquery -G 0x1000 3 >said 2>&1 || wrong "perfquery: $(cat said)"
grep -qE "^PortXmitDiscards:\.+0$" said || wrong "packets were discarded: $(cat said)"

# ---- a service level without a lane --------------------------------------------------------------

al_run "$build/al_perf" -b -s 64 -n 10 -w 0 --sl 15 --from 0x0000000000010000 --to 0x0000000000010020 write >said 2>&1 &&
	wrong "packets without a lane arrive: $(cat said)"
grep -q "whether service level 15 has a lane" said || wrong "al_perf: $(cat said)"
passed
