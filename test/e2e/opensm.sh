#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The distribution's OpenSM, unmodified, brings managed subnets of an agent up by the replacement of libibumad: two HCAs
# back to back, a switch with four HCAs, a small tree from port 0 of a switch, and a tree of 36 switches and 216 HCAs. The first two
# come up alike with the agents of the Access Layer, with agents of the ports' own, and with some of each; PnP tells the LIDs.
# Then datagrams go between all pairs of HCAs, also after cables of an HCA and between switches are pulled and plugged in again,
# after switches are rebooted, after OpenSM is restarted, and after a second OpenSM has taken over. OpenSM's log has no error but
# those that a pulled cable causes.
set -euo pipefail

# shellcheck source=test/e2e/tools.sh
. "${top_srcdir:?is set by make check}/test/e2e/tools.sh"
# shellcheck source=test/e2e/subnet.sh
. "$top_srcdir/test/e2e/subnet.sh"

# subnet HCAS SETTING...: starts an agent with the settings, and OpenSM; sends data.
subnet() {
	local hcas=$1 lids
	shift
	export IBAL_SOFT="subnet=managed $*"
	start_agent
	: >lids.out
	"$build/test/e2e/subnet_client" --client lids "$hcas" "$IBAL_AGENT" >lids.out 2>&1 &
	lids=$!
	until_true grep -q ready lids.out || wrong "no PnP events: $(cat lids.out)"
	sm first
	says first.log 1 'SUBNET UP'
	client active "$hcas"
	wait "$lids" || wrong "PnP tells no change of $hcas LIDs: $(cat lids.out)"
	client send "$hcas"
	clean first.log
	echo "$hcas HCAs: $(cat client.out)"
}

finish_subnet() { # [EXPECTED]
	end "$sm"
	clean first.log "${1-}"
	stop_agent
	rm -rf first first.log
}

# changes NAME NUMBER GUID LOG: a change of the switch or HCA, of which OpenSM brings the subnet up again
changes() {
	local ups
	ups=$(grep -c 'SUBNET UP' "$4" || true)
	TEST_GUID=$3 client "$1" "$2"
	says "$4" $((ups + 1)) 'SUBNET UP'
}

subnet 2
finish_subnet
subnet 2 agents=hardware
finish_subnet
tree 1 0 4 >star
for agents in agents={al,hardware} "agents=hardware [hca 0] agents=al [hca 1] agents=al" \
	"agents=al [hca 0] agents=hardware [hca 2] agents=hardware"; do
	subnet 4 "topology=$tmp/star $agents"
	finish_subnet
done

# OpenSM on port 0 of a leaf switch, which routes around pulled cables, and brings rebooted switches up: a spine, the other
# leaf, and the switch that OpenSM runs on.
tree 2 2 2 >small
export IBAL_UMAD_CAS=0x1000
# What OpenSM says of a trap that a switch has sent before it was rebooted, and that OpenSM takes after it has found the switch gone.
gone='ERR 7504: Lid is out of range|ERR 3809: Failed to find source physical port for trap'
for agents in al hardware; do
	subnet 4 "topology=$tmp/small agents=$agents"
	grep -q 'Setting IS_SM on port 0x0*1000$' first.log || wrong "OpenSM is not on the switch: $(cat first.log)"
	changes pull 3 0x1000 first.log
	carries 4
	changes plug 3 0x1000 first.log
	changes pull 4 0x1000 first.log
	carries 4
	changes plug 4 0x1000 first.log
	carries 4
	for guid in 0x2000 0x1001 0x1000; do
		changes reboot 0 $guid first.log
		client active 4
		carries 4
	done
	finish_subnet "$lost|$gone"
done
unset IBAL_UMAD_CAS

tree 24 12 9 >cluster
subnet 216 "topology=$tmp/cluster"

# The cable between a leaf and a spine is pulled, and that of an HCA. Both are plugged in again.
changes pull 10 0x1000 first.log
carries 216
changes pull 1 0x10020 first.log
changes plug 10 0x1000 first.log
changes plug 1 0x10020 first.log
client active 216
carries 216

# A heavy sweep; a restart; a second manager, which waits and then takes over.
ups=$(grep -c 'SUBNET UP' first.log)
kill -HUP "$sm"
says first.log $((ups + 1)) 'SUBNET UP'
# shellcheck disable=SC2154 # lost is of subnet.sh
clean first.log "$lost"
end "$sm"
sm again
says again.log 1 'SUBNET UP'
carries 216
first=$sm
sm second -g 0x10011
says second.log 1 'Entering STANDBY state'
# By trap 144 the first one hears that a port has become a manager's, and its records have the second one, too.
managers() {
	LD_LIBRARY_PATH=$build/al/compat/umad/.libs:$build/.libs saquery -s >said 2>&1
	[ "$(grep -c EndPortLid said)" = 2 ]
}
until_true managers || wrong "saquery -s does not name both managers: $(cat said)"
clean again.log
end "$first"
says second.log 1 'SUBNET UP'
client send 216
end "$sm"
# While the second asks the first one's port, this port has no subnet manager any more, and answers that SMInfo is not supported.
others=$(grep ERR second.log | grep -v 'ERR 3111: Received MAD with error status = 0xC' || true)
[ -z "$others" ] || wrong "second.log has errors: $others"
stop_agent

# Light sweeps, one each second, of a subnet in which nothing changes.
export IBAL_SOFT="subnet=managed topology=$tmp/star"
start_agent
sm light -s 1 -D 7
says light.log 3 'LIGHT SWEEP COMPLETE'
[ "$(grep -c 'INITIATING HEAVY SWEEP' light.log)" = 1 ] || wrong "a light sweep finds something new"
clean light.log
end "$sm"
stop_agent
passed
