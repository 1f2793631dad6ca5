#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The distribution's ibv_devices, ibv_devinfo, ibv_asyncwatch and ping-pongs, unmodified, on the user's own agent: what they print,
# their data (-c), and that their standard error is empty.
set -euo pipefail

# shellcheck source=test/e2e/tools.sh
. "${top_srcdir:?is set by make check}/test/e2e/tools.sh"
# shellcheck source=test/e2e/verbs.sh
. "$top_srcdir/test/e2e/verbs.sh"
needs_programs ibv_devices ibv_devinfo ibv_asyncwatch ibv_rc_pingpong ibv_uc_pingpong ibv_ud_pingpong setpriv
needs_plain_build
become_user

# ---- devices -------------------------------------------------------------------------------------

(al_run ibv_devices) >out 2>err || wrong "ibv_devices: $(cat out err)"
[ "$(grep -cE '^ +soft[01] +[[:space:]][0-9a-f]{16}$' out)" = 2 ] || wrong "two devices are not: $(cat out)"
(al_run ibv_devinfo -v) >out 2>>err || wrong "ibv_devinfo: $(cat out err)"
[ ! -s err ] || wrong "ibv_devices or ibv_devinfo says: $(cat err)"
for line in 'transport:[[:space:]]+InfiniBand \(0\)' 'max_qp:[[:space:]]+[1-9][0-9]*' 'state:[[:space:]]+PORT_ACTIVE \(4\)' \
	'active_mtu:[[:space:]]+4096 \(5\)' 'port_lid:[[:space:]]+[1-9][0-9]*' 'link_layer:[[:space:]]+InfiniBand' \
	'active_width:[[:space:]]+4X \(2\)' 'GID\[ *0\]:[[:space:]]+fe80:0000:0000:0000:.*' 'max_vl_num:[[:space:]]+8 \(4\)'; do
	[ "$(grep -cE "^[[:space:]]+$line$" out)" = 2 ] || wrong "\"$line\" is not there for both devices: $(cat out)"
done
! grep -i 'invalid' out || wrong "ibv_devinfo finds an invalid value"
guid=0x$(awk '$1 == "soft1" { print $2 }' <(al_run ibv_devices))
(al_run --ca "$guid" ibv_devices) >out
[ "$(grep -o 'soft[0-9]*' out)" = soft1 ] || wrong "--ca $guid: $(cat out)"

# ---- asynchronous events -------------------------------------------------------------------------

watcher_says() {
	until_true grep -q "$1" watch.out || wrong "ibv_asyncwatch does not say \"$1\": $(cat watch.out)"
}
(al_run stdbuf -oL ibv_asyncwatch -d soft0) >watch.out 2>&1 &
watcher=$!
jobs=("$watcher")
watcher_says '^soft0: async event FD'
# The agent's owner has the right to pull cables and to remove HCAs.
guid=0x$(awk '$1 == "soft0" { print $2 }' <(al_run ibv_devices))
change() {
	(al_run "$build/al_query" fault "$1" --ca "$guid" --port 1) >out 2>&1 || wrong "al_query fault $1: $(cat out)"
}
change pull
watcher_says 'event_type IBV_EVENT_PORT_ERR (10), port 1'
change plug
watcher_says 'event_type IBV_EVENT_PORT_ACTIVE (9), port 1'
kill "$watcher"
wait "$watcher" || true
jobs=()

# ---- ping-pongs ----------------------------------------------------------------------------------

port=$(free_port)
for type in rc uc ud; do
	for words in '' '-e' '-s 1000 -n 200 -r 50' '-g 0 -l 3 -c'; do
		# shellcheck disable=SC2086 # several words
		pair "$port" ibv_${type}_pingpong $words
		grep -qE '^[0-9]+ iters in ' client.out || wrong "ibv_${type}_pingpong $words: $(cat client.out)"
		! grep -q 'invalid data' client.out server.out || wrong "ibv_${type}_pingpong $words: $(cat client.out server.out)"
	done
done
for words in '-m 256 -s 10000' '-N' '-s 4096 -N -e'; do
	# shellcheck disable=SC2086
	pair "$port" ibv_rc_pingpong -c $words
done
passed
