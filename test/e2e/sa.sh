#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The subnet's administrator, which is OpenSM's, on a managed tree of four switches and eight HCAs: HCAs that join a multicast group get
# the group's datagrams, and no others do; ibping between two HCAs; osmtest, which tests records, events, services and multicast; and
# partitions with limited members, enforced by switches; and ports with several LIDs, whose paths differ.
set -euo pipefail

# shellcheck source=test/e2e/tools.sh
. "${top_srcdir:?is set by make check}/test/e2e/tools.sh"
# shellcheck source=test/e2e/subnet.sh
. "$top_srcdir/test/e2e/subnet.sh"
for tool in osmtest ibping saquery ibroute ibstat; do
	command -v "$tool" >/dev/null || { echo "SKIP: $tool is not installed"; exit 77; }
done

libraries=$build/al/compat/umad/.libs:$build/.libs

# tool COMMAND...: its output is in the file said
tool() {
	LD_LIBRARY_PATH=$libraries "$@" >said 2>&1 || wrong "$*: exit status $?: $(cat said)"
}

expect() { # COUNT PATTERN: so many lines of the file said match
	[ "$(grep -cE -- "$2" said || true)" = "$1" ] || wrong "\"$2\" is not in $1 lines: $(cat said)"
}

tree 2 2 4 >net
export IBAL_SOFT="subnet=managed topology=$tmp/net"
start_agent
sm first
says first.log 1 'SUBNET UP'
client active 8

# ---- multicast ---------------------------------------------------------------------------------------

# HCAs 0 to 3 are at ports 1 to 4 of the leaf 0x1000, the others at those of the leaf 0x1001; ports 5 and 6 lead to the spines.
group() { # NAME BITS
	"$build/test/e2e/subnet_group" --client "$1" "$(($2))" "$IBAL_AGENT" >group.out 2>&1 || wrong "$1 $2: $(cat group.out)"
}
tool ibnetdiscover
leaf=$(sed -n 's/^Switch.*"S-0*1000".* lid \([0-9]*\) .*/\1/p' said)
has_ports() { # COUNT: the leaf's entry of the group has so many ports
	tool ibroute -M "$leaf"
	[ "$(sed -n 's/^0xc001//p' said | tr -cd x | wc -c)" = "$1" ]
}

group join 0x55
tool saquery -g
expect 1 'MGID\.+ff12:1ba1:ffff::1234$'
expect 1 'Mlid\.+0xC001$'
tool saquery --smkey 1 -m
expect 4 'MGID\.+ff12:1ba1:ffff::1234$'
for port in 1:1 1:21 1:101 1:121; do
	expect 1 "PortGid\\.+fe80::$port\$"
done
has_ports 3 || wrong "HCAs 0 and 2 and a spine are not what the leaf sends to: $(cat said)"

group leave 0x04
until_true has_ports 2 || wrong "the leaf still sends to HCA 2: $(cat said)"
group join 0x51
tool saquery --smkey 1 -m
expect 3 'MGID\.+ff12:1ba1:ffff::1234$'
group leave 0x51
until_true has_ports 0 || wrong "the leaf has an entry of a group that is no more: $(cat said)"
tool saquery -g
expect 0 'MGID\.+ff12:1ba1:ffff::1234$'

# ---- ibping ------------------------------------------------------------------------------------------

LD_LIBRARY_PATH=$libraries IBAL_UMAD_CAS=0x10030 ibping -S >server.out 2>&1 &
server=$!
jobs+=("$server")
IBAL_UMAD_CAS=0x10030 tool ibstat
lid=$(sed -n 's/.*Base lid: //p' said)
export IBAL_UMAD_CAS=0x10100 # at the other leaf
answers() { LD_LIBRARY_PATH=$libraries ibping -f -c 1 "$lid" | grep -q ' 0% packet loss'; }
until_true answers || wrong "ibping -S does not answer: $(cat server.out)"
tool ibping -f -c 1000 "$lid"
expect 1 '^1000 packets transmitted, 1000 received, 0% packet loss'
tool ibping -f -c 10 -G 0x10031
expect 1 '^10 packets transmitted, 10 received, 0% packet loss'
unset IBAL_UMAD_CAS
end "$server"

# ---- osmtest -----------------------------------------------------------------------------------------

clean first.log # osmtest also asks for what must be refused
for flow in 'c:Create Inventory' 'q:QoS: VLArb and SLtoVL' 'm:Multicast' 'e:Event Forwarding' 'a:All Validations'; do
	tool osmtest -t 100 -f "${flow%%:*}" -l "osmtest-${flow%%:*}.log"
	expect 1 "^OSMTEST: TEST \"${flow#*:}\" PASS\$"
done
end "$sm"
stop_agent

# ---- partitions --------------------------------------------------------------------------------------

# The ports of switches enforce what OpenSM says: the HCA at which it runs is a full member, all others are limited ones.
echo 'Default=0x7fff: ALL=limited, SELF=full;' >partitions
start_agent
sm second -P "$tmp/partitions"
says second.log 1 'SUBNET UP'
client active 8
LD_LIBRARY_PATH=$libraries IBAL_UMAD_CAS=0x10100 ibping -S >server.out 2>&1 &
server=$!
jobs+=("$server")
IBAL_UMAD_CAS=0x10100 tool ibstat
lid=$(sed -n 's/.*Base lid: //p' said)
export IBAL_UMAD_CAS=0x10000 # the full member
until_true answers || wrong "a limited member does not answer a full one: $(cat server.out)"
tool ibping -f -c 10 "$lid"
expect 1 '^10 packets transmitted, 10 received, 0% packet loss'
export IBAL_UMAD_CAS=0x10110 # a limited one
LD_LIBRARY_PATH=$libraries ibping -f -c 1 "$lid" >said 2>&1 || true
expect 1 ' 100% packet loss'
unset IBAL_UMAD_CAS
end "$server"
end "$sm"
stop_agent

# ---- several paths -----------------------------------------------------------------------------------

# OpenSM gives each port two LIDs, and leads the second by the other spine.
start_agent
sm third -l 1
says third.log 1 'SUBNET UP'
client active 8
clean third.log
LD_LIBRARY_PATH=$libraries IBAL_UMAD_CAS=0x10100 ibping -S >server.out 2>&1 &
server=$!
jobs+=("$server")
IBAL_UMAD_CAS=0x10100 tool ibstat
expect 1 'LMC: 1$'
lid=$(sed -n 's/.*Base lid: //p' said)
[ $((lid % 2)) = 0 ] || wrong "the LIDs of a port with LMC 1 begin at $lid"
export IBAL_UMAD_CAS=0x10000
until_true answers || wrong "ibping -S does not answer: $(cat server.out)"
tool ibstat
first=$(sed -n 's/.*Base lid: //p' said)
for way in 0 1; do
	tool ibping -f -c 10 -L $((lid + way))
	expect 1 '^10 packets transmitted, 10 received, 0% packet loss'
	tool ibtracert "$first" $((lid + way))
	expect 1 'switch port \{0x000000000000200[01]\}'
	sed -n 's/.*switch port {0x\(000000000000200.\)}.*/\1/p' said >spine.$way
done
! cmp -s spine.0 spine.1 || wrong "both LIDs lead by one spine: $(cat spine.0)"
unset IBAL_UMAD_CAS
end "$server"
end "$sm"
stop_agent
passed
