#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A capture of a managed subnet, while OpenSM and infiniband-diags, unmodified, work on it: tshark understands each management
# datagram of QP0 and QP1. IBAL_TEST_KEEP=FILE keeps the capture, of which test/fuzz/record makes inputs for mgmt_fuzz.
set -euo pipefail

# shellcheck source=test/e2e/tools.sh
. "${top_srcdir:?is set by make check}/test/e2e/tools.sh"
# shellcheck source=test/e2e/verbs.sh
. "$top_srcdir/test/e2e/verbs.sh"
# shellcheck source=test/e2e/subnet.sh
. "$top_srcdir/test/e2e/subnet.sh"
export PATH=$PATH:/usr/sbin:/sbin
needs_programs opensm ibstat iblinkinfo sminfo saquery smpquery perfquery tshark setpriv
needs_plain_build
become_user
tree 2 1 1 >star
export IBAL_SOFT="subnet=managed topology=$tmp/star"

cat >own/tools <<'TOOLS'
OSM_TMP_DIR=. OSM_CACHE_DIR=. opensm -F /dev/null -f opensm.log >opensm.out 2>&1 &
opensm=$!
until [ "$(ibstat | grep -c 'State: Active')" = 2 ]; do
	kill -0 $opensm || { cat opensm.out; exit 1; }
	sleep 0.1
done
for tool in iblinkinfo sminfo 'saquery -N' 'saquery -p' 'smpquery -D nodeinfo 0,1' 'smpquery -D nodedesc 0' 'smpquery -D portinfo 0,1 1' \
	'smpquery -D pkeys 0,1 1' 'smpquery -D guidinfo 0' 'smpquery -D switchinfo 0,1' 'smpquery -D sl2vl 0,1 1' 'smpquery -D vlarb 0,1 1' \
	perfquery 'perfquery -x'; do
	$tool >out 2>&1 || {
		echo "$tool: $(cat out)"
		exit 1
	}
done
kill $opensm
wait $opensm
TOOLS
: >own/run.pcapng
[ ${#as_user[@]} -eq 0 ] || chown 65534:65534 own/run.pcapng
(cd own && al_run --capture "$tmp/own/run.pcapng" bash tools) >said 2>&1 || wrong "the tools: $(cat said)"
[ -z "${IBAL_TEST_KEEP-}" ] || cp own/run.pcapng "$IBAL_TEST_KEEP"

tshark -r own/run.pcapng -T fields -e infiniband.bth.destqp -e infiniband.mad.mgmtclass -e infiniband.mad.method \
	-e infiniband.mad.attributeid -e _ws.malformed >packets 2>err || wrong "tshark: $(cat err)"
! awk -F '\t' '$2 == "" || $5 != ""' packets | grep . || wrong "tshark does not understand these datagrams"
# seen QP CLASS METHOD ATTRIBUTE WHAT
seen() { grep -qP "^0x0*$1\t0x$2\t0x$3\t0x$4\t" packets || wrong "the capture has no $5"; }
seen 0 81 01 0011 'Get(NodeInfo)'
seen 0 81 81 0011 'GetResp(NodeInfo)'
seen 0 81 02 0015 'Set(PortInfo)'
seen 0 81 81 0019 'GetResp(LinearForwardingTable)'
seen 1 03 12 0011 'SubnAdmGetTable(NodeRecord)'
seen 1 03 92 0011 'SubnAdmGetTableResp(NodeRecord)'
seen 1 04 01 0012 'Get(PortCounters)'
seen 1 04 81 001d 'GetResp(PortCountersExtended)'
passed
