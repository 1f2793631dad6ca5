#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# al_query check --subnet on a managed subnet of OpenSM's whose cables are pulled, disabled by ibportstate, or dead from the
# beginning, which it finds, and no other; and on a subnet that tells nothing without its M_Key.
set -euo pipefail

# shellcheck source=test/e2e/tools.sh
. "${top_srcdir:?is set by make check}/test/e2e/tools.sh"
# shellcheck source=test/e2e/subnet.sh
. "$top_srcdir/test/e2e/subnet.sh"
for tool in ibportstate smpquery; do
	command -v "$tool" >/dev/null || { echo "SKIP: $tool is not installed"; exit 77; }
done
build=$(realpath "$build")

leaf=S-0000000000001000
other=S-0000000000001001
tool() { # COMMAND...: one of infiniband-diags
	LD_LIBRARY_PATH=$build/al/compat/umad/.libs:$build/.libs "$@" >said 2>&1 || wrong "$*: exit status $?: $(cat said)"
}
# problems STATUS "LEVEL: PORT: TEXT"...: the lines of the problems begin so, in any order, and there are no others.
problems() {
	local line want=$1
	shift
	query "$want" check --subnet "${key[@]}"
	for line in "$@"; do
		grep -qF -- "$line" out || wrong "\"$line\" is not in: $(cat out)"
	done
	[ "$(wc -l <out)" = $(($# + 1)) ] || wrong "not only ($*): $(cat out)"
}
has() { grep -qE -- "$1" out || wrong "\"$1\" is not in: $(cat out)"; }
key=()

# ---- cables that are pulled, and a port that is disabled ---------------------------------------------

tree 2 1 2 >net
export IBAL_SOFT="subnet=managed topology=$tmp/net"
start_agent
sm first
says first.log 1 'SUBNET UP'
client active 4
problems 0
has '^OK - 12 ports are Active,'

# The HCA's own end can not be reached any more: the switch's is what there is.
TEST_GUID=0x10010 client pull 1
problems 2 "CRITICAL: $leaf, port 2: the port is Down (Polling)" "WARNING: $leaf, port 2: link_downed 1,"
TEST_GUID=0x10010 client plug 1
client active 4
problems 1 "WARNING: $leaf, port 2: link_downed 1," "WARNING: H-0000000000010010, port 1: link_downed 1,"
query 1 check --subnet --reset
problems 0

# A port that is Down since its counters were reset is known: it is what is left of a subnet that was made smaller.
TEST_GUID=0x10010 client pull 1
query 2 check --subnet --reset
problems 0
has '^OK - 10 ports are Active,'
TEST_GUID=0x10010 client plug 1
client active 4

# A port that somebody has disabled is critical for as long as it is, whatever its counters say.
tool ibportstate -G 0x1001 2 disable
query 2 check --subnet --reset
problems 2 "CRITICAL: $other, port 2: the port is Down (Disabled)"
tool ibportstate -G 0x1001 2 enable
client active 4
query 1 check --subnet --reset
problems 0
end "$sm"
stop_agent

# ---- a cable that is dead: its link is up, and it damages each packet --------------------------------

export IBAL_FAULT='corrupt,switch=0x1001,port=2'
rm -rf first first.log
start_agent
sm first
says first.log 1 'SUBNET UP'
client active 3
query 2 check --subnet
has "^CRITICAL: $other, port 2: the link is up, and nothing behind it answers\. Way out: look at the cable"
has "^WARNING: $other, port 2: the port is Init"
has '^CRITICAL - [2-9] problems at 11 ports; a part of the answer is missing '
! sed 1d out | grep -v ": $other, port 2: " || wrong "another port has problems, too: $(cat out)"
complains "behind $other, port 2 .*NodeInfo: no answer"
end "$sm"
stop_agent
unset IBAL_FAULT

# ---- M_Keys ------------------------------------------------------------------------------------------

printf '%s\n' 'm_key 0x123456789abcdef0' 'm_key_protection_level 2' >>config
rm -rf first first.log
start_agent
sm first
says first.log 1 'SUBNET UP'
client active 4
query 2 topology
complains 'no answer; it may have an M_Key, which --m-key gives'
query 3 check --subnet
complains 'it may have an M_Key'
query 2 topology --m-key 1
complains 'it may have another M_Key than that of --m-key'
query 0 topology --m-key 0x123456789abcdef0
has '^Ca.*"H-0000000000010110"'
key=(--m-key 0x123456789abcdef0)
problems 0
query 2 port --long --ca 0x0000000000010000
complains 'PortInfo cannot be read: .*M_Key'
query 0 port --long --ca 0x0000000000010000 "${key[@]}"
has '^M_Key +0x123456789abcdef0$'
query 1 topology --m-key 0
query 1 topology --m-key one
complains 'm-key one: a number of 64 bits'
query 1 ca --m-key 1
complains 'm-key means nothing'
end "$sm"
stop_agent
passed
