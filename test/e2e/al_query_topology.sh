#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# al_query topology on managed subnets that OpenSM has brought up: its text is the text of the distribution's ibnetdiscover, the
# software HCA loads that text again, and a pulled cable is what differs. In a process of its own, through an agent, and by a
# user without the right for it.
set -euo pipefail

# shellcheck source=test/e2e/tools.sh
. "${top_srcdir:?is set by make check}/test/e2e/tools.sh"
build=$(realpath "$build")

has() { # PATTERN: a line of al_query's output; subnet.sh has "says" for the log of OpenSM
	grep -qE -- "$1" out || wrong "\"$1\" is not in: $(head -c 3000 out)"
}

# ---- without a subnet manager, each process with its own subnet ------------------------------------

two="$top_srcdir/test/data/topology/new.txt"
export IBAL_AGENT=off IBAL_SOFT="subnet=managed topology=$two"
query 0 topology --diff "$two"
has '^The two do not differ\.$'
query 0 topology --json
json 'len(a["nodes"]) == 6 and sum(n["type"] == "switch" for n in a["nodes"]) == 2'
json 'all(p["state"] == "Init" for n in a["nodes"] for p in n["ports"] if p.get("peer"))'
json '"subnet manager" in a["no_error_counters"] and "errors" not in a'
query 0 topology --format dot
has '^graph subnet \{$'
query 0 topology --format svg
has '^<svg '
python3 -c 'import sys, xml.dom.minidom as m; m.parse("out")' || wrong "the SVG is no XML"
query 1 topology --format png
complains 'must be text, dot, svg or json'
query 1 topology --diff
complains 'needs a file'
query 1 topology --diff /nonexistent
complains 'nonexistent'
query 1 topology /dev/zero
complains '/dev/zero: the text has more than 268435456 bytes'
query 1 topology .
complains '\.: cannot be read: Is a directory'
mkfifo pipe
cat "$two" >pipe &
query 0 topology pipe
query 1 topology --timeout 0
complains 'timeout 0: must be seconds, from 0.001 to 1000000'
query 1 topology "$two" "$two"
query 1 topology --ca 99
query 1 topology --port 77
complains 'there is no port 77'
# A file in place of the subnet: the same text, but for the comment at its head.
query 0 topology "$two"
cmp <(sed -n '/^vendid/,$p' out) <(sed -n '/^vendid/,$p' "$two") || wrong "the text of a file changes"
sed 's/4xNDR/1xNDR/' "$two" >slower
query 3 topology --diff "$two" slower
has '^changed +cable from .*: was 4xNDR, is 1xNDR$'
query 3 --json topology --diff "$two" slower
json 'len(a["differences"]) == 1 and a["differences"][0]["kind"] == "changed"'
# A subnet that is not there: each answer says why there is no HCA.
for words in ca port caps gid pkey counters topology; do
	IBAL_SOFT="subnet=managed topology=/nonexistent" query 2 "$words"
	complains 'no HCA is here: .*soft\.so: .*; "al_query doctor" says more'
done
IBAL_SOFT="subnet=managed topology=/nonexistent" query 3 check
has '^UNKNOWN - '
complains 'no HCA is here'
IBAL_SOFT="subnet=managed topology=/nonexistent" query 4 doctor
has 'message: soft: topology: /nonexistent: cannot be read'
has "correct what the module's message names"
! grep 'must be in the module path' out || wrong "doctor looks for a module that is there"
query 3 check --port 7
complains 'there is no port 7'
has '^UNKNOWN - no port could be checked'
query 3 check --warn
has '^UNKNOWN - the command line is wrong$'
# A subnet whose ports nobody answers for.
IBAL_SOFT="topology=$two" query 2 topology
complains 'does not answer NodeInfo'

passed # else a skip below would hide it

# ---- under OpenSM, through an agent -------------------------------------------------------------------

# shellcheck source=test/e2e/subnet.sh
. "$top_srcdir/test/e2e/subnet.sh"
command -v ibnetdiscover >/dev/null || { echo "SKIP: infiniband-diags are not installed"; exit 77; }

discover() { LD_LIBRARY_PATH=$build/al/compat/umad/.libs:$build/.libs ibnetdiscover; }

# The nodes of a text in an order of their own: which is found first depends on the time of answers.
in_order() {
	awk 'BEGIN { RS = ""; FS = "\n" } /^vendid/ { gsub("\n", "\r"); print }' "$1" | sort | tr '\r' '\n'
}

same_text() {
	query 0 topology
	discover >net
	cmp <(in_order out) <(in_order net) || wrong "the text is not that of ibnetdiscover: $(diff <(in_order out) <(in_order net))"
	[ "$(sed -n 4p out)" = "$(sed -n 4p net)" ] || wrong "the origin differs: $(sed -n 4p out) and $(sed -n 4p net)"
}

managed() { # SETTING...: a subnet with OpenSM
	export IBAL_SOFT="subnet=managed $*"
	start_agent
	sm first
	says first.log 1 'SUBNET UP'
}
over() {
	end "$sm"
	stop_agent
	rm -rf first first.log
}

managed
same_text
over

tree 3 2 4 >small
managed "topology=$tmp/small"
client active 12
same_text
query 0 --json topology
json 'len(a["nodes"]) == 17 and all("errors" in p for n in a["nodes"] for p in n["ports"] if p.get("peer"))'
json 'all(p["lid"] for n in a["nodes"] if n["type"] == "CA" for p in n["ports"])'
# The same subnet from port 0 of a switch.
query 0 topology --ca 0x0000000000001001
has '^# Initiated from node 0000000000001001 port 0000000000001001$'
cp out from_switch
query 0 topology --diff from_switch
query 0 check --subnet --ca 0x1001 # a GUID's digits behind the zeros are enough
query 0 port --ca 0x10000
has ' 0x0000000000010001$'
query 1 port --ca 0x10
query 1 topology --ca 0x0000000000009999

# Whose services there are; the ports and all of PortInfo; the whole subnet against thresholds.
query 0 --json mad
json '("0x3", 2, 1) in {(s["class"], s["class_version"], s["port"]) for s in a["services"] if s["command"] == "opensm"}'
json '[s["class_name"] for s in a["services"] if s["class"] == "0x81"] == ["subnet management, directed route"]'
json 'all(s["sent"] >= s["answered"] + s["timed_out"] + s["failed"] for s in a["services"])'
json 'sum(s["answered"] for s in a["services"] if s["class"] == "0x81" and s["command"] == "opensm") > 50'
query 0 mad
has '^HCA +Port +Class +PID +Sent +Repeated +Answered +Timed out +Failed +Received +Dropped$'
has ' QP1 +0x3 +2 +subnet administration +[0-9]+ +opensm '
query 0 --json port --long --ca 0x0000000000010000
json 'a["ports"][0]["port_info"]["port_state"] == "Active" and a["ports"][0]["port_info"]["lid"] == a["ports"][0]["lid"] > 0'
json '"subnet manager" in a["ports"][0]["port_info"]["capability_mask"] and a["ports"][0]["port_info"]["link_width_active"] == ["4X"]'
query 0 port --long --ca 0x0000000000010000
has '^LinkSpeedActive +EDR$'
query 0 check
has '^OK - 12 ports are Active,'
query 0 check --subnet
has '^OK - 36 ports are Active,'
query 0 topology
cp out before
TEST_GUID=0x10020 client pull 1
query 2 check
has '^CRITICAL: HCA 0x0000000000010020 .*port 1: the port is Down .*Way out: '
query 3 topology --diff before
has '^missing +HCA .*\(0x0000000000010020\)$'
has '^missing +cable from .*, port 3 to .*, port 1$'
[ "$(wc -l <out)" = 2 ] || wrong "more differs than the cable: $(cat out)"
TEST_GUID=0x10020 client plug 1
query 0 topology --diff before
# The pulled cable's counters are reset once they are printed, and not before.
client active 12
status=0
"$build/al_query" check --subnet --reset >/dev/full 2>err || status=$?
[ $status = 3 ] || wrong "a check that cannot be printed ends with $status"
complains 'no counter is reset'
query 1 --json check --subnet
json '[p["what"] for p in a["problems"]] == ["link_downed"] * 2'
query 1 check --subnet --reset
has ' link_downed=2c '
query 0 check --subnet
has ' link_downed=0c '
query 3 check --reset
complains 'reset is for the counters that --subnet reads'

# A user without the right manage is told so, and gets the rest.
if [ "$(id -u)" -eq 0 ]; then
	chmod 777 "$tmp"
	as_stranger() { # STATUS WORD...
		local want=$1 status=0
		shift
		setpriv --reuid=65534 --regid=65534 --clear-groups "$build/al_query" "$@" >out 2>err || status=$?
		[ $status = "$want" ] || wrong "al_query $*, by a user without rights: exit status $status: $(cat out err)"
	}
	as_stranger 2 topology
	complains 'right manage'
	as_stranger 3 check --subnet
	has '^UNKNOWN - '
	as_stranger 2 port --long
	complains 'PortInfo cannot be read: .*right manage'
	has '^GUID +0x0000000000010001$'
	as_stranger 0 port --json
	as_stranger 2 port --json --long
	json 'all("right manage" in p["no_port_info"] for p in a["ports"])'
	as_stranger 1 check
	has '^WARNING: HCA 0x0000000000010020 .* link_downed 1, warning from 1'
else
	echo "SKIP: what a user without the right manage gets: needs root to become one"
fi

# The agent goes away.
kill -KILL "$agent"
wait "$agent" || true
status=0
timeout 60 "$build/al_query" topology >out 2>err || status=$?
[ $status = 2 ] || wrong "without its agent: exit status $status: $(cat out err)"
end "$sm" || true
jobs=()

# What was written is loaded again.
export IBAL_AGENT=off IBAL_SOFT="subnet=managed topology=$tmp/before"
query 0 topology --diff before

# ibsim loads it, too, and ibnetdiscover sees the same subnet there.
if command -v ibsim >/dev/null; then
	mkfifo commands
	exec 4<>commands
	export IBSIM_SOCKNAME=sim$$
	ibsim -s before <&4 >ibsim.out 2>&1 &
	jobs=("$!")
	until_true grep -q 'simulator ready' ibsim.out || wrong "ibsim does not load the text: $(cat ibsim.out)"
	ibsim-run ibnetdiscover >net 2>ibsim.err || wrong "ibnetdiscover on ibsim: $(cat ibsim.err)"
	query 0 topology --diff before net
else
	echo "SKIP: the text as ibsim loads it: ibsim is not installed (./quickstart check installs it)"
fi
passed
