#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Captures as tshark reads them: no malformed packet, and the headers of each packet are those of the known traffic.
# tshark shares no code with the codec and the capture.
set -euo pipefail

build=${top_builddir:?is set by make check}
src=${top_srcdir:?is set by make check}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"

die() {
	echo "FAIL: $*"
	exit 1
}

# shark FILE ARGUMENT...: runs tshark without its RPC dissector, which would match short RC sends.
shark() {
	local file=$1
	shift
	tshark -r "$file" --disable-protocol rpcordma "$@" 2>tshark.err || die "tshark: $(cat tshark.err)"
}

none_malformed() {
	[ -z "$(shark "$1" -Y '_ws.malformed || _ws.expert.severity == error')" ] ||
		die "$1: malformed: $(shark "$1" -Y '_ws.malformed || _ws.expert.severity == error' | head -n 5)"
}

# A capture of al_cp, made by "al_query capture".
head -c 100001 /dev/zero | tr '\0' 'x' >file
IBAL_SOFT="mtu=1024" "$build/al_query" capture -o copy.pcapng -- "$build/al_cp" file copy >out 2>err ||
	die "al_query capture: $(cat out err)"
cmp file copy
grep -q "packets are in $tmp/copy.pcapng" err || die "$(cat err)"
none_malformed copy.pcapng
shark copy.pcapng -T json -x >copy.json
python3 "$src/test/e2e/capture_report.py" copy copy.json || die "copy.json"

# A capture of one port, the exit status of the captured command, and errors of the command line.
IBAL_SOFT="ports=2" "$build/al_query" capture --port 2 -o two.pcapng -- "$build/al_cp" file copy >/dev/null 2>&1
[ -z "$(shark two.pcapng)" ] || die "port 2 has sent something"
status=0
"$build/al_query" capture -o no.pcapng -- sh -c 'exit 7' >/dev/null 2>err || status=$?
[ $status -eq 7 ] || die "exit status $status"
grep -q "opened no software HCA" err || die "$(cat err)"
status=0
"$build/al_query" capture -o no.pcapng -- sh -c 'exit 1' >/dev/null 2>err || status=$?
[ $status -eq 1 ] || die "exit status $status for 1"
# The captured command keeps its own options, also without "--" before it; al_query's options may stand before and after
# the subcommand.
"$build/al_query" --port 1 capture -o own.pcapng "$build/al_cp" -q -j file copy >out 2>err || die "$(cat err)"
python3 -m json.tool <out >/dev/null || die "al_cp did not get its -j: $(cat out)"
"$build/al_query" capture echo -w 3 --watch >out 2>err || true
grep -qx -e '-w 3 --watch' out || die "the command did not get its -w: $(cat out)"
"$build/al_query" -- caps >out 2>err || die "--: $(cat err)"
"$build/al_query" fault check -- -x >out 2>&1 && die "-x is a rule"
grep -q "too much" out && die "--: $(cat out)"
[ -n "$(shark own.pcapng)" ] || die "nothing in own.pcapng"
"$build/al_query" capture >/dev/null 2>err && die "no command, and no complaint"
"$build/al_query" capture -o 'a b' -- true >/dev/null 2>err && die "a blank in a name, and no complaint"
"$build/al_query" capture -- ./nothing-of-that-name >/dev/null 2>err && die "no such command, and no complaint"

# Every operation: the test program reports its posts, and the script computes the packets that must be on the wire.
CAPTURE_MIXED=mixed.pcapng "$build/test/unit/hca/soft/capture_test" >out || die "$(cat out)"
none_malformed mixed.pcapng
shark mixed.pcapng -T json -x >mixed-shark.json
python3 "$src/test/e2e/capture_report.py" mixed mixed-shark.json mixed.pcapng.json || die "mixed"

# A run of the benchmark with a capture: no packet is missing, on either side.
"$build/al_query" capture -o bench.pcapng -- "$build/test/bench/bench" --quick --only loop.write.8B.rate >out 2>err ||
	die "bench: $(cat out err)"
shark bench.pcapng -T fields -e frame.interface_name -e frame.packet_flags_direction -e infiniband.bth.opcode \
	-e infiniband.bth.destqp -e infiniband.bth.psn >bench.fields
python3 "$src/test/e2e/capture_report.py" bench bench.fields || die "bench"

"$build/al_query" counters >out
grep -q '^Counter *0:1 *1:1' out || die "$(cat out)"
"$build/al_query" --json counters >out
python3 - <<'END' || die "$(cat out)"
import json
ports = json.load(open("out"))["ports"]
assert len(ports) == 2 and all(p["counters"]["rcv_errors"] == 0 for p in ports)
assert {"xmit_packets", "seq_naks", "rnr_naks", "bad_pkeys", "qkey_violations"} <= set(ports[0]["counters"])
END
