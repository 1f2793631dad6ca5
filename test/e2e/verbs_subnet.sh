#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Unmodified verbs programs on a managed subnet: OpenSM brings the ports up, perftest joins multicast groups at it by libibumad and
# sends to them by libibverbs, both libraries in one process; and the tools of both libraries name the same devices.
set -euo pipefail

# shellcheck source=test/e2e/tools.sh
. "${top_srcdir:?is set by make check}/test/e2e/tools.sh"
# shellcheck source=test/e2e/verbs.sh
. "$top_srcdir/test/e2e/verbs.sh"
# shellcheck source=test/e2e/subnet.sh
. "$top_srcdir/test/e2e/subnet.sh"
export PATH=$PATH:/usr/sbin:/sbin
needs_programs opensm ibstat saquery ibv_devices ibv_devinfo ib_send_bw ib_send_lat setpriv
needs_plain_build
become_user
tree 1 0 3 >star
export IBAL_SOFT="subnet=managed topology=$tmp/star"

(al_run opensm) >opensm.out 2>&1 &
opensm=$!
active() {
	(al_run ibv_devinfo) >said 2>&1
	[ "$(grep -c PORT_ACTIVE said)" = 3 ]
}
until_true active || wrong "OpenSM does not bring the ports up: $(cat said opensm.out)"

(al_run ibv_devices) | awk 'NR > 2 { print $1 }' | sort >verbs.names
(al_run ibstat -l) | sort >umad.names
cmp verbs.names umad.names || wrong "libibverbs and libibumad name other devices: $(cat verbs.names umad.names)"

# A process with both libraries is one client of the agent.
cat >both.py <<'END'
import ctypes, json, os, subprocess, sys
verbs, umad = ctypes.CDLL("libibverbs.so.1"), ctypes.CDLL("libibumad.so.3")
verbs.ibv_get_device_list.restype = ctypes.c_void_p
num = ctypes.c_int()
assert verbs.ibv_get_device_list(ctypes.byref(num)) and num.value == 3
assert umad.umad_init() == 0 and umad.umad_open_port(b"soft1", 1) >= 0
shown = subprocess.run([sys.argv[1], "clients", "--json"], capture_output=True, check=True).stdout
print(sum(client["pid"] == os.getpid() for client in json.loads(shown)["clients"]))
END
(al_run python3 "$tmp/both.py" "$build/al_query") >said 2>&1 || wrong "both libraries: $(cat said)"
[ "$(cat said)" = 1 ] || wrong "the process is so many clients: $(cat said)"

# perftest registers the group at the subnet manager, at both ends.
expected_words='^Device not recognized to implement inline feature. Disabling it$'
port=$(free_port)
for test in 'ib_send_bw -g -c UD -s 1024' 'ib_send_lat -g -c UD -s 512'; do
	# shellcheck disable=SC2086 # several words
	pair "$port" $test -F -n 100
	grep -A1 '^ #bytes' client.out | grep -qE '^ *[0-9]+ +[0-9]+ ' || wrong "$test: no figures: $(cat client.out)"
	grep -q 'MGID: 255:' client.out || wrong "$test: the datagrams went to no group: $(cat client.out)"
done
# The programs have left their groups.
(al_run saquery -g) >said 2>&1 || wrong "saquery: $(cat said)"
[ "$(grep -c MGID said)" = 1 ] || wrong "groups stay: $(cat said)"

kill "$opensm"
wait "$opensm" || :
passed
