#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Libraries above libibverbs, unmodified, on the user's own agent: libfabric (verbs;ofi_rxd) by fi_pingpong, and UCX (ud_verbs) by
# ucx_info and ucx_perftest, which look into /dev/infiniband and /sys/class/infiniband; and scripts that do so.
set -euo pipefail

# shellcheck source=test/e2e/tools.sh
. "${top_srcdir:?is set by make check}/test/e2e/tools.sh"
# shellcheck source=test/e2e/verbs.sh
. "$top_srcdir/test/e2e/verbs.sh"
needs_programs fi_info fi_pingpong ucx_info ucx_perftest ibstatus setpriv
needs_plain_build
become_user

# ---- /sys and /dev ---------------------------------------------------------------------------------

(al_run ibstatus) >out 2>err || wrong "ibstatus: $(cat out err)"
[ ! -s err ] || wrong "ibstatus says: $(cat err)"
for line in "Infiniband device 'soft[01]' port 1 status:" '	state:		 4: ACTIVE' '	phys state:	 5: LinkUp' \
	'	rate:		 100 Gb/sec \(4X EDR\)' '	default gid:	 fe80:0000:0000:0000:[0-9a-f:]{19}' '	link_layer:	 InfiniBand'; do
	[ "$(grep -cE "^$line$" out)" = 2 ] || wrong "\"$line\" is not there for both devices: $(cat out)"
done
(al_run ls /sys/class/infiniband /dev/infiniband) >out 2>&1 || wrong "ls: $(cat out)"
[ "$(grep -cxE 'soft[01]|uverbs[01]' out)" = 4 ] || wrong "ls: $(cat out)"
(al_run cat /sys/class/net/lo/address /etc/hostname) >out 2>&1 || wrong "other files: $(cat out)"
[ ! -e /sys/class/infiniband/soft0 ] || wrong "the folders are not the command's alone"

# ---- libfabric and UCX -------------------------------------------------------------------------------

(al_run fi_info -p 'verbs;ofi_rxd') >out 2>&1 || wrong "fi_info: $(cat out)"
[ "$(grep -cE 'domain: soft[01]-dgram' out)" = 2 ] || wrong "fi_info: $(cat out)"
port=$(free_port)
fi="fi_pingpong -p verbs;ofi_rxd -e rdm -c -I 20"
both "$fi -B $port -d soft0-dgram" "$fi -P $port -d soft1-dgram 127.0.0.1"
grep -qE '^1m ' client.out || wrong "fi_pingpong: $(cat client.out)"

(al_run ucx_info -d) >out 2>&1 || wrong "ucx_info: $(cat out)"
[ "$(grep -c 'Transport: ud_verbs' out)" = 2 ] || wrong "ucx_info: $(cat out)"
for test in tag_lat tag_bw ucp_put_lat ucp_put_bw ucp_am_lat ucp_am_bw; do
	ucx_pair "$test"
done
passed
