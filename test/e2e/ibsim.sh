#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The same topology in ibsim and in ibal, each brought up by an OpenSM of its own: every diagnostic of the distribution
# says the same of both, line by line, but for the lines that each comparison names with the reason. Then the time that OpenSM
# takes for 216 HCAs, and the round trip of a subnet management packet over five hops, of both, and without an agent (printed, not
# judged).
set -euo pipefail

# shellcheck source=test/e2e/tools.sh
. "${top_srcdir:?is set by make check}/test/e2e/tools.sh"
# shellcheck source=test/e2e/subnet.sh
. "$top_srcdir/test/e2e/subnet.sh"
preload=/usr/lib/$(gcc -print-multiarch)/umad2sim/libumad2sim.so
[ -e "$preload" ] || { echo "SKIP: ibsim is not installed"; exit 77; }

# Commands with the libibumad of ibsim, and with ours, as at the HCA $at.
with_ibsim() { SIM_HOST=$(printf 'H-%016x' "$at") LD_PRELOAD=$preload "$@"; }
with_ibal() { IBAL_UMAD_CAS=$at LD_LIBRARY_PATH=$build/al/compat/umad/.libs:$build/.libs "$@"; }

# up FILE: starts both on a topology, and an OpenSM at the first HCA of each. Sets both's time in seconds.
up() {
	local at=0x10000 started
	export IBSIM_SOCKNAME=ibal-$$
	: >ibsim.out
	ibsim -s -n "$1" >ibsim.out 2>&1 &
	simulator=$!
	export IBAL_SOFT="subnet=managed mtu=2048 topology=$tmp/$1"
	start_agent
	jobs+=("$simulator")
	until_true grep -q 'MaxMcastCap' ibsim.out || wrong "ibsim does not start: $(cat ibsim.out)"
	for side in ibsim ibal; do
		mkdir -p "$side"
		started=$EPOCHREALTIME
		# exec: the process that is killed is OpenSM's, and no shell that waits for OpenSM
		OSM_TMP_DIR=$tmp/$side OSM_CACHE_DIR=$tmp/$side "with_$side" exec opensm -F config -D 3 -g 0x10001 -f "$tmp/$side.log" \
			>"$side.out" 2>&1 &
		eval "sm_$side=$!"
		jobs+=("$!")
		says "$side.log" 1 'SUBNET UP'
		eval "took_$side=$(awk -v from="$started" -v to="$EPOCHREALTIME" 'BEGIN { printf "%.2f", to - from }')"
	done
}

# shellcheck disable=SC2154 # set by eval
down() {
	kill "$sm_ibsim" "$sm_ibal"
	wait "$sm_ibsim" "$sm_ibal" || true
	kill "$simulator"
	wait "$simulator" || true
	stop_agent
	rm -rf ibsim ibal ibsim.log ibal.log
}

# same PATTERN COMMAND...: both succeed, and the lines that do not match the pattern are equal.
compared=0
same() {
	local pattern=$1 side
	shift
	for side in ibsim ibal; do
		"with_$side" "$@" >"$side.said" 2>"$side.errors" || wrong "$* with $side: exit status $?: $(cat "$side.said" "$side.errors")"
		grep -vE -- "$pattern" "$side.said" >"$side.lines" || true
	done
	[ -s ibal.lines ] || wrong "$*: nothing is compared"
	diff -u ibsim.lines ibal.lines >differ || wrong "$*: $(cat differ)"
	compared=$((compared + 1))
}

# Ports of both have the rate that the file names.
tree 1 0 4 | sed 's/^\(\[.*\]\)$/\1\t\t# "" lid 0 4xSDR/' >star
up star
at=0x10010
with_ibal ibnetdiscover >net
switch=$(sed -n 's/^Switch.* base port 0 lid \([0-9]*\) .*/\1/p' net)
lid() { sed -n "s/.*\"H-$(printf '%016x' "$1")\"\[1\].* lid \([0-9]*\) .*/\1/p" net; }
first=$(lid 0x10000)
other=$(lid 0x10020)
[[ $switch && $first && $other ]] || wrong "ibnetdiscover does not tell LIDs: $(cat net)"
nothing='^$'

# What a model of an HCA or a switch is: numbers of its maker, capacities, widths and speeds that it supports.
made_by='devid=|vendid=|DevId|Revision|VendorId|device_id|revision|vendor_id'
capacity='PartCap|partition_cap|GuidCap|guids capacity|pkeys capacity'
widths='LinkWidth(Enabled|Supported)|LinkSpeed(Supported|Enabled|Ext)|Could be'
# Set by the manufacturer: time-outs, thresholds, what a port supports.
abilities='CapMask|\bIs[A-Z]|CapabilityMask2|VLCap|OperVLs|VLArb|VLStallCount|SubnetTimeout|LocalPhysErr|OverrunErr|GuidCap'
# ibsim answers with a lease period of 4089 s, which no manager has set, and with no response time.
answers='MkeyLeasePeriod|RespTimeVal'
same "^# Topology file|$made_by" ibnetdiscover
same "$widths" iblinkinfo
same "$nothing" ibhosts
same "$nothing" ibswitches
same "$nothing" ibnodes
same "$nothing" bash -c 'sminfo | sed "s/activity count [0-9]*//"'
same "$nothing" ibaddr "$other"
same "$made_by|$capacity" smpquery nodeinfo "$other"
# LocalPort is the port that the packet came in by (IBTA 14.2.5.3); ibsim says 0.
same "$made_by|$capacity|LocalPort" smpquery nodeinfo "$switch"
same "$nothing" smpquery nodedesc "$other"
same "$nothing" smpquery nodedesc "$switch"
same "$widths|$abilities|$answers" smpquery portinfo "$other"
same "$widths|$abilities|$answers|LocalPort|PartEnforce" smpquery portinfo "$switch" 1
same "$capacity|  (32|40|48|56):" smpquery pkeys "$other"
same "$capacity|  (32|40|48|56):" smpquery pkeys "$switch" 1
same "$capacity|  ( 8|1[0-9]|2[0-9]|30):" smpquery guidinfo "$other"
same "$made_by|FdbCap|PartEnforceCap|FilterRaw|Def(Port|Mcast)|LidsPerPort" smpquery switchinfo "$switch"
same 'CapMask|Xmit|Rcv' perfquery "$other" 1
same 'CapMask|Xmit|Rcv' perfquery -a "$switch"
same "$nothing" ibtracert "$first" "$other"
same "$nothing" ibroute "$switch"
same "$nothing" ibroute -M "$switch"
same "$nothing" dump_fts
same "$nothing" saquery -p --src-to-dst "$first:$other"
same "$nothing" saquery -g
same "$nothing" saquery -m
same "$nothing" ibqueryerrors
# The device's name and versions, and the name that libibumad has for the link layer, are not the subnet's.
same "^CA '|CA type|version|Capability mask|Link layer" ibstat
same "$widths|$answers" ibportstate -D 0,1 2 query
same "$made_by|$capacity" smpquery -D nodeinfo 0,1,2
# One record: ibsim delivers no datagrams of several packets. Its tables of service levels and lanes are those of a model of its
# own; here they are empty until a manager sets them (lanes.sh).
same "$made_by|$capacity" saquery NR "$other"
same "$nothing" smpdump -D 0,1 0x10
echo "$compared outputs are the same"
down

tree 24 12 9 >cluster
up cluster
# from an HCA by its leaf, a spine, another leaf, another spine and a third leaf
for side in ibsim ibal; do
	at=0x10000
	eval "trip_$side=$("with_$side" "$build/test/e2e/smp_round_trip" 500 1 10 2 11 3)"
done
alone=$(IBAL_AGENT=off with_ibal "$build/test/e2e/smp_round_trip" 500 1 10 2 11 3)
# shellcheck disable=SC2154 # set by eval
echo "216 HCAs up: ibsim $took_ibsim s, ibal $took_ibal s; five hops and back: ibsim $trip_ibsim us, ibal $trip_ibal us," \
	"ibal with the HCAs in the process $alone us"
down
passed
