#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Unmodified verbs programs run on Ethernet ports (al_run --roce), by IPv6 and by IPv4: the test checks the programs' output and data,
# multicast groups, and captures, which tshark reads. On InfiniBand ports, programs name their peer by GID alone.
set -euo pipefail

# shellcheck source=test/e2e/tools.sh
. "${top_srcdir:?is set by make check}/test/e2e/tools.sh"
# shellcheck source=test/e2e/verbs.sh
. "$top_srcdir/test/e2e/verbs.sh"
needs_programs ibv_devinfo ibv_rc_pingpong ibv_uc_pingpong ibv_ud_pingpong ib_write_bw ib_send_lat ib_send_bw ib_read_bw ib_atomic_lat \
	fi_pingpong ucx_perftest ibstatus tshark setpriv
needs_plain_build

# ---- all that the API has, by pyverbs --------------------------------------------------------------

/usr/bin/python3 -c 'import pyverbs.device' 2>/dev/null || {
	echo "python3-pyverbs is not installed (./quickstart check installs it)"
	exit 77
}
cases() { # WHAT NAME=VALUE...
	env "${@:2}" LD_LIBRARY_PATH="$build/al/compat/verbs/.libs:$build/.libs" timeout "$(scaled 180)" \
		/usr/bin/python3 "$top_srcdir/test/e2e/verbs_cases.py" >out 2>err || wrong "$1: $(cat out err)"
	[ ! -s out ] || wrong "$1: $(cat out)"
	# The program makes a queue overflow.
	! grep -v 'a completion queue of 16 entries has overflowed' err || wrong "$1: $(cat err)"
}
cases 'IPv6' IBAL_SOFT=link_layer=ethernet
cases 'InfiniBand by GID alone' IBAL_TEST_BY_GID=1
start_agent
cases 'InfiniBand by GID alone, an agent' IBAL_TEST_BY_GID=1
stop_agent
export IBAL_SOFT=link_layer=ethernet
start_agent
cases 'IPv4, an agent' IBAL_TEST_GID=1
cases 'IPv4, an agent, with the provider' IBAL_TEST_GID=1 IBAL_UVP_PATH="$build/uvp/soft/.libs"
stop_agent
unset IBAL_SOFT

# ---- the devices -----------------------------------------------------------------------------------

become_user
(al_run ibv_devinfo) >out 2>err || wrong "ibv_devinfo: $(cat out err)"
[ "$(grep -c 'link_layer:[[:space:]]*InfiniBand' out)" = 2 ] || wrong "without --roce: $(cat out)"
run_options=(--roce)
(al_run ibv_devinfo -v) >out 2>err || wrong "ibv_devinfo: $(cat out err)"
[ ! -s err ] || wrong "ibv_devinfo says: $(cat err)"
for line in 'link_layer:[[:space:]]+Ethernet' 'port_lid:[[:space:]]+0' 'sm_lid:[[:space:]]+0' 'state:[[:space:]]+PORT_ACTIVE \(4\)' \
	'GID\[ *0\]:[[:space:]]+fe80::[0-9a-f:]+, RoCE v2' 'GID\[ *1\]:[[:space:]]+::ffff:198\.18\.[01]\.1, RoCE v2'; do
	[ "$(grep -cE "^[[:space:]]+$line$" out)" = 2 ] || wrong "\"$line\" is not there for both devices: $(cat out)"
done
(al_run ibstatus) >out 2>err || wrong "ibstatus: $(cat out err)"
[ "$(grep -cE '^	link_layer:	 Ethernet$' out)" = 2 ] || wrong "ibstatus: $(cat out)"
(al_run cat /sys/class/infiniband/soft1/ports/1/gid_attrs/types/1) >out 2>&1 || wrong "the view of /sys: $(cat out)"
[ "$(cat out)" = 'RoCE v2' ] || wrong "the view of /sys: $(cat out)"
# An agent that runs already has the ports that it has.
status=0
(al_run --agent own/ibal/roce.socket true) >out 2>&1 || status=$?
[ $status -eq 2 ] || wrong "--roce --agent: status $status"
grep -q -- '--roce is for HCAs that al_run starts' out || wrong "--roce --agent: $(cat out)"

# ---- programs --------------------------------------------------------------------------------------

port=$(free_port)
for index in 0 1; do
	for type in rc uc ud; do
		pair "$port" ibv_${type}_pingpong -g $index -c -n 200
		! grep -q 'invalid data' client.out server.out || wrong "ibv_${type}_pingpong -g $index: $(cat client.out server.out)"
	done
done
# perftest chooses the GID itself: that of IPv4.
expected_words='^Device not recognized to implement inline feature. Disabling it$'
for test in ib_write_bw ib_send_lat ib_read_bw ib_atomic_lat 'ib_send_bw -c UD -s 1024' 'ib_send_lat -c UC' 'ib_write_bw -x 0' 'ib_send_bw -c UD -g -x 0 -s 1024'; do
	# shellcheck disable=SC2086 # several words
	pair "$port" $test -F -n 100
	grep -A1 '^ #bytes' client.out | grep -qE '^ *[0-9]+ +[0-9]+ ' || wrong "$test: no figures: $(cat client.out)"
done
fi="fi_pingpong -p verbs;ofi_rxd -e rdm -c -I 20"
both "$fi -B $port -d soft0-dgram" "$fi -P $port -d soft1-dgram 127.0.0.1"
grep -qE '^1m ' client.out || wrong "fi_pingpong: $(cat client.out)"
for index in 0 1; do
	ucx_pair tag_lat UCX_IB_GID_INDEX=$index
done

# ---- faults and captures ---------------------------------------------------------------------------

cat >own/both <<'END'
ibv_rc_pingpong -d soft0 -g "$2" -c -n 50 -s 3000 -p "$1" >/dev/null &
until ibv_rc_pingpong -d soft1 -g "$2" -c -n 50 -s 3000 -p "$1" 127.0.0.1; do
	kill -0 $! || exit 1
	sleep 0.05
done 2>/dev/null
wait $!
END
for index in 0 1; do
	: >own/run.pcapng
	[ ${#as_user[@]} -eq 0 ] || chown 65534:65534 own/run.pcapng
	(al_run --capture "$tmp/own/run.pcapng" --fault 'drop,chance=2%; duplicate,chance=2%' bash own/both "$(free_port)" $index) >out 2>&1 ||
		wrong "on a bad cable: $(cat out)"
	! grep -q 'invalid data' out || wrong "on a bad cable: $(cat out)"
	version=ipv6
	[ $index -eq 0 ] || version=ip
	tshark -r own/run.pcapng -d udp.port==4791,infiniband -T fields -e $version.src -e infiniband.bth.opcode -e _ws.malformed >packets 2>err ||
		wrong "tshark: $(cat err)"
	[ "$(wc -l <packets)" -gt 200 ] || wrong "tshark sees $(wc -l <packets) packets"
	[ $index -eq 0 ] || grep -q '^198\.18\.0\.1' packets || wrong "tshark: $(head -5 packets)"
	[ $index -eq 1 ] || grep -q '^fe80::' packets || wrong "tshark: $(head -5 packets)"
	! awk -F '\t' '$2 == "" || $3 != ""' packets | grep . || wrong "tshark does not understand these packets"
done
passed
