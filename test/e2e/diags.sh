#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The distribution's infiniband-diags, unmodified, on a managed subnet of a switch and four HCAs that OpenSM has brought up.
# What each tool has to say is known from the topology. The switch and two HCAs have agents of their own.
set -euo pipefail

# shellcheck source=test/e2e/tools.sh
. "${top_srcdir:?is set by make check}/test/e2e/tools.sh"
# shellcheck source=test/e2e/subnet.sh
. "$top_srcdir/test/e2e/subnet.sh"
command -v ibstat >/dev/null || { echo "SKIP: infiniband-diags are not installed"; exit 77; }

# diag PATTERN COUNT COMMAND...: the command succeeds, and so many of its lines match the pattern.
diag() {
	local pattern=$1 count=$2 found
	shift 2
	LD_LIBRARY_PATH=$build/al/compat/umad/.libs:$build/.libs "$@" >said 2>&1 || wrong "$*: exit status $?: $(cat said)"
	found=$(grep -cE -- "$pattern" said || true)
	[ "$found" -eq "$count" ] || wrong "$*: \"$pattern\" is in $found lines, not in $count: $(cat said)"
}

tree 1 0 4 >star
export IBAL_SOFT="subnet=managed topology=$tmp/star agents=hardware [hca 0] agents=al [hca 2] agents=al"
start_agent
sm first
says first.log 1 'SUBNET UP'
client active 4

# LIDs, by their nodes
export LD_LIBRARY_PATH=$build/al/compat/umad/.libs:$build/.libs
ibnetdiscover >net
unset LD_LIBRARY_PATH
switch=$(sed -n 's/^Switch.* base port 0 lid \([0-9]*\) .*/\1/p' net)
hca() { sed -n "s/.*\"H-$(printf '%016x' "$1")\"\[1\].* lid \([0-9]*\) .*/\1/p" net; }
first=$(hca 0x10000)
second=$(hca 0x10010)
[[ $switch && $first && $second ]] || wrong "ibnetdiscover does not tell LIDs: $(cat net)"

diag '^Switch|^Ca' 5 ibnetdiscover
diag 'State: Active' 4 ibstat
diag "^CA 'soft[0-3]'" 4 ibstat
diag ' Active/  LinkUp' 8 iblinkinfo
diag '^Ca	: 0x00000000000100[0-3]0 ports 1' 4 ibhosts
diag '^Switch	: 0x0000000000001000 ports 4' 1 ibswitches
diag "sm lid $first sm guid 0x10001, .* SMINFO_MASTER" 1 sminfo
diag "LID start $(printf '0x%x' "$second")" 1 ibaddr "$second"
diag '^NodeType:.*Switch$|^NumPorts:.*\.4$|^Guid:.*0x0000000000001000$' 3 smpquery nodeinfo "$switch"
diag '^NodeType:.*Channel Adapter$|^PortGuid:.*0x0000000000010011$' 2 smpquery nodeinfo "$second"
diag '^NodeType:.*Switch$' 1 smpquery -D nodeinfo 0,1
diag "^Lid:.*\.$second$|^SMLid:.*\.$first$|^LinkState:.*Active$" 3 smpquery portinfo "$second"
diag 'IsSM' 1 smpquery portinfo "$first"
diag '^LinearFdbTop:' 1 smpquery switchinfo "$switch"
diag '0xffff' 1 smpquery pkeys "$second"
diag '^ports: in' 1 smpquery sl2vl "$second"
diag 'VLArbitration' 1 smpquery vlarb "$second"
diag '0x0000000000010011' 1 smpquery guidinfo "$second"
diag 'H-0000000000010010' 1 smpquery nodedesc "$second"
diag '^PortSelect:.*\.1$' 1 perfquery "$second" 1
diag '^PortXmitPkts:' 1 perfquery -x "$second" 1
diag '^PortSelect:.*\.255$' 1 perfquery -a "$switch"
diag "^\[1\] -> switch|^\[2\] -> ca port" 2 ibtracert "$first" "$second"
diag '^0x[0-9a-f]{4} [0-9]{3} : ' 5 ibroute "$switch"
diag '^NodeRecord dump' 5 saquery -N
diag "dlid.*\.$second$|slid.*\.$first$" 2 saquery -p --src-to-dst "$first:$second"
diag '^MCMemberRecord group dump' 1 saquery -g
diag '^LinkState:.*Active$' 2 ibportstate "$switch" 1 query
diag '^SMP status: 0x8000' 1 smpdump -D 0,1 0x11
diag '0 bad nodes found' 1 ibqueryerrors
diag '^0x[0-9a-f]{4} [0-9]{3} : ' 5 dump_fts

# The tool takes a port down, which OpenSM does not hear of (IBTA 14.2.5.4: a Set makes no PortStateChange), and up again, which
# OpenSM does.
diag 'After PortInfo set' 1 ibportstate "$switch" 2 disable
diag '^LinkState:.*Down$' 1 ibportstate "$switch" 2 query
diag 'After PortInfo set' 1 ibportstate "$switch" 2 enable
says first.log 2 'SUBNET UP'
client active 4
client send 4

# The same tools on port 0 of the switch
export IBAL_UMAD_CAS=0x1000
diag "^Switch 'ib0000000000001000'$|State: Active|Base lid: $switch$|SM lid: $first$" 4 ibstat
diag '^Switch|^Ca|^# Initiated from node 0*1000 port 0*1000$' 6 ibnetdiscover
diag '^NodeType:.*Switch$|^LocalPort:.*\.0$' 2 smpquery -D nodeinfo 0
diag "^Lid:.*\.$second$" 1 smpquery portinfo "$second"
diag "sm lid $first sm guid 0x10001, .* SMINFO_MASTER" 1 sminfo
diag '^NodeRecord dump' 5 saquery -N
diag '^PortSelect:.*\.1$' 1 perfquery "$second" 1
diag "^\[2\] -> ca port" 1 ibtracert "$switch" "$second"
unset IBAL_UMAD_CAS
end "$sm"
stop_agent
passed
