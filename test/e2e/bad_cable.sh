#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Bad cables in a managed fat tree of two leaves and two spines: the cable of one spine damages packets, that of the other loses
# packets, and that of an HCA damages so many in a row that its link recovers, of which OpenSM hears by trap 129. The
# distribution's ibqueryerrors and perfquery, unmodified, and al_query find these cables and no other, by a user without rights. At
# last the link of another HCA goes down, and OpenSM brings it up again. Packets 3000 and later of a cable can be bad: OpenSM and the tools send far fewer, a copy sends more, so that
# the faults begin with the copy and are over when the copy ends.
set -euo pipefail

export PATH=$PATH:/usr/sbin:/sbin
for tool in opensm ibqueryerrors perfquery setpriv; do
	command -v "$tool" >/dev/null || {
		echo "SKIP: $tool is not installed (./quickstart check installs it)"
		exit 77
	}
done

# shellcheck source=test/e2e/tools.sh
. "${top_srcdir:?is set by make check}/test/e2e/tools.sh"
# shellcheck source=test/e2e/subnet.sh
. "$top_srcdir/test/e2e/subnet.sh"
build=$(realpath "$build")
mkdir own
tree 2 2 2 >fat_tree
head -c 48M /dev/urandom >file
chmod 644 file

# A test of root's becomes nobody.
as_user=()
if [ "$(id -u)" -eq 0 ]; then
	as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	chown 65534:65534 own
fi
damages="corrupt,switch=0x2000,port=2,n=3000,count=4000,chance=2%"
loses="drop,switch=0x2001,port=2,n=3000,count=40"
# the cable of the HCA: nine damaged packets are more than the threshold that OpenSM sets
hca="switch=0x1001,port=1,n"
recovers="corrupt,$hca=3000,count=9; mark,$hca=3100,count=5; overrun,$hca=3200,count=3; recover,$hca=3300,count=2"
flaps="flap,switch=0x1000,port=2,n=3000"
# shellcheck disable=SC2154 # tmp is of tools.sh
export XDG_RUNTIME_DIR=$tmp/own IBAL_MODULE_PATH=$build/hca/soft/.libs HOME=$tmp/own
export IBAL_SOFT="subnet=managed topology=$tmp/fat_tree" IBAL_FAULT="$damages; $loses; $recovers; $flaps"
unset IBAL_AGENT
al_run() { "${as_user[@]}" "$build/al/compat/al_run" "$@"; }

# ---- the tools ---------------------------------------------------------------------------------

# errors LINE...: ibqueryerrors reports these ports, and no others. PortXmitWait counts senders that wait for room, which no
# cable causes.
errors() {
	al_run ibqueryerrors -s PortXmitWait >said 2>&1 || true
	sed -n 's/^ *GUID \(.*[^ ]\) *$/\1/p' said | grep -v 'port ALL' >found || true
	printf '%s' "${@/%/$'\n'}" | cmp -s - found || wrong "ibqueryerrors: not ($*): $(cat said)"
	grep -q "^## Summary: 8 nodes checked, $(printf '%s\n' "${@%% *}" | sed '/^$/d' | sort -u | wc -l) bad nodes found" said ||
		wrong "ibqueryerrors: $(cat said)"
}

# problems STATUS LINE...: "al_query check --subnet [--reset]" ends with the status, and its lines begin so.
problems() {
	local status=0 want=$1
	shift
	al_run "$build/al_query" check --subnet "${reset[@]}" >said 2>&1 || status=$?
	[ $status -eq "$want" ] || wrong "al_query check: exit status $status, not $want: $(cat said)"
	sed 1d said | cut -d, -f1-3 | cut -d: -f2 >found
	printf '%s' "${@/%/$'\n'}" | cmp -s - found || wrong "al_query check: not ($*): $(cat said)"
}

# counts GUID PORT SYMBOL-ERRORS RECEIVED-ERRORS [WORD...]: perfquery prints this for the port.
counts() {
	local guid=$1 port=$2 symbol=$3 received=$4
	shift 4
	al_run perfquery "$@" -G "$guid" "$port" >said 2>&1 || wrong "perfquery: $(cat said)"
	[ "$(grep -cE "^(SymbolErrorCounter:\.*$symbol|PortRcvErrors:\.*$received)$" said)" = 2 ] ||
		wrong "perfquery $* -G $guid $port: not $symbol and $received: $(cat said)"
}

# try_copy TO, copy TO: a file goes from an HCA of the first leaf to one of the second, over the cable of a spine.
try_copy() { al_run "$build/al_cp" --from 0x0000000000010000 --to "$1" "$tmp/file" "$tmp/own/copy" >said 2>&1; }
copy() {
	try_copy "$1" || wrong "al_cp: $(cat said)"
	cmp file own/copy || wrong "the copy differs"
}
copies() {
	copy 0x0000000000010100
	copy 0x0000000000010110
}

# ---- the subnet --------------------------------------------------------------------------------

"${as_user[@]}" "$build/al/compat/al_run" opensm >opensm.out 2>&1 &
opensm=$!
jobs+=("$opensm")
active() {
	al_run "$build/al_query" check >said || true # an error counter is a warning
	grep -q 'active=4 ' said
}
until_true active || wrong "OpenSM does not bring the ports up: $(cat said opensm.out)"
agent=$(pgrep -f -- "ald --socket $XDG_RUNTIME_DIR/ibal/ald.socket") || wrong "there is no agent"
jobs+=("$agent")
reset=()
errors
problems 0

# ---- three bad cables --------------------------------------------------------------------------

copies
al_run perfquery -G 0x1001 3 >said
bad=$(sed -n 's/^SymbolErrorCounter:\.*//p' said)
[ "$bad" -ge 20 ] || wrong "2 % of 4000 packets are $bad"
counts 0x1001 3 "$bad" "$bad"
counts 0x1001 4 40 0
counts 0x2000 2 0 0
counts 0x2001 2 0 0
counts 0x10101 1 9 12
hca_errors="[SymbolErrorCounter == 9 (9.000)] [LinkErrorRecoveryCounter == 3 (3.000)] [PortRcvErrors == 12 (12.000)]"
hca_errors+=" [PortRcvRemotePhysicalErrors == 5 (5.000)] [LocalLinkIntegrityErrors == 1 (1.000)]"
bad_ports=("0x10101 port 1: $hca_errors"
	"0x1001 port 1: [LinkErrorRecoveryCounter == 3 (3.000)]"
	"0x1001 port 3: [SymbolErrorCounter == $bad ($bad.000)] [PortRcvErrors == $bad ($bad.000)]"
	"0x1001 port 4: [SymbolErrorCounter == 40 (40.000)]")
hca=" H-0000000000010100, port 1" leaf=" S-0000000000001001, port"
bad_counters=("$leaf 1" "$leaf 3" "$leaf 3" "$leaf 4" "$hca" "$hca" "$hca" "$hca")
errors "${bad_ports[@]}"
problems 1 "${bad_counters[@]}"
grep -q "port 3: symbol_errors $bad, .*exchange the cable" said || wrong "al_query check: $(cat said)"
grep -q "port 3: rcv_errors $bad, .*exchange the cable" said || wrong "al_query check: $(cat said)"
grep -q "port 4: symbol_errors 40, .*exchange the cable" said || wrong "al_query check: $(cat said)"
grep -q "H-0*10100, port 1: link_integrity_errors 1, " said || wrong "al_query check: $(cat said)"
heard() { grep -q "Received Generic Notice type:1 num:$1" own/ibal/opensm-default.1/opensm.log; }
trap_comes() { until_true heard "$1" || wrong "OpenSM has not heard of trap $1: $(cat own/ibal/opensm-default.1/opensm.log)"; }
trap_comes "129 .*Producer:1 (Channel Adapter)"

# ---- the counters are reset --------------------------------------------------------------------

# perfquery resets the counters of one port that it prints, and by -x those of 64 bits, which ibqueryerrors prints.
al_run perfquery -R -G 0x1001 4 >said 2>&1 || wrong "perfquery -R: $(cat said)"
counts 0x1001 4 0 0
errors "${bad_ports[@]}"
al_run perfquery -x -R -G 0x1001 4 >said 2>&1 || wrong "perfquery -x -R: $(cat said)"
errors "${bad_ports[@]:0:3}"
reset=(--reset)
unset "bad_counters[3]" # port 4
problems 1 "${bad_counters[@]}"
reset=()
errors
counts 0x1001 3 0 0
counts 0x1001 3 0 0 -x
problems 0

# ---- the cables are well -----------------------------------------------------------------------

copies
errors
problems 0

# ---- a link goes down --------------------------------------------------------------------------

# The copy loses its connection if OpenSM is slow to bring the link up.
! heard 128 || wrong "a link was down before"
try_copy 0x0000000000010010 || true
trap_comes "128 .*Producer:2 (Switch)"
until_true active || wrong "OpenSM does not bring the link up: $(cat said)"
for at in "0x10011 1" "0x1000 2"; do
	# shellcheck disable=SC2086 # GUID and port
	al_run perfquery -G $at >said 2>&1 || wrong "perfquery: $(cat said)"
	grep -q '^LinkDownedCounter:\.*1$' said || wrong "port $at: $(cat said)"
done
copy 0x0000000000010010
passed
