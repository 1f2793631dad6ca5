#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The benchmark runs to its end, measures every row that the issue and the design ask for, and writes the same rows as
# JSON. No speed is checked here.
set -eu

build=${top_builddir:?is set by make check}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

"$build/test/bench/bench" --quick --json "$tmp/bench.json" >"$tmp/table"
python3 - "$tmp/table" "$tmp/bench.json" <<'END'
import json, platform, sys

wanted = """al.post al.poll verbs.post verbs.poll loop.write.8B.rate loop.write.8B.faults loop.send.8B.rate loop.write.8B.latency loop.send.8B.latency
	loop.read.8B.rate loop.atomic.8B.rate loop.ud.8B.rate notify.1cpu notify.2cpus
	loop.write.64KiB loop.write.1MiB loop.write.1MiB.cold fabric.ud.8B.1hop fabric.ud.8B.5hops fabric.rc.4KiB.1hop fabric.rc.4KiB.5hops fabric.forward fabric.forward.managed
	agent.open agent.control.1cpu agent.control.2cpus agent.reg.1GiB agent.write.1MiB agent.write.1MiB.private
	agent.client.memory clients.idle threads.own_region threads.one_region pair.send.8B.1cpu pair.send.8B.2cpus user.poll user.post.8B user.write.8B
	user.poll.socket user.post.8B.socket user.write.8B.socket
	 qp.idle.memory qp.many.post qp.many.post_all""".split()
if platform.machine() == "x86_64":
	wanted.append("loop.write.8B.locked")
wanted += [f"{do}.{kind}" for kind in "pd cq mr ah qp".split() for do in ("create", "destroy")]

lines = [line.split() for line in open(sys.argv[1]) if not line.startswith("#")]
assert lines[0] == "name value unit where reference ratio target ok|short".split(), lines[0]
table = {line[0]: line for line in lines[1:]}
report = json.load(open(sys.argv[2]))
rows = {row["name"]: row for row in report["rows"]}

assert report["quick"] is True
assert sorted(table) == sorted(rows) == sorted(wanted), set(wanted) ^ set(rows) or set(wanted) ^ set(table)
for name, row in rows.items():
	line = table[name]
	assert len(line) == 8, line
	assert abs(float(line[1]) - row["value"]) <= 0.01 + abs(row["value"]) * 0.01, line
	assert row["unit"] == line[2] and row["verdict"] == line[7] and line[7] in ("ok", "short"), line
	assert (row["target"] or "-") == line[6] and row["where"] == line[3], line
	for column, key in ((4, "reference"), (5, "ratio")):
		assert (line[column] == "-") == (row[key] is None), line
	if row["target"]:
		what, least, limit = row["target"][:5], row["target"][5] == ">", float(row["target"][7:])
		assert (row[what] >= limit if least else row[what] <= limit) == (row["verdict"] == "ok"), row
	if row["reference"]:
		assert row["reference"] > 0 and row["ratio"] > 0, row
# This row is counted, so it is the same on any machine.
if "loop.write.8B.locked" in rows:
	assert rows["loop.write.8B.locked"]["verdict"] == "ok", rows["loop.write.8B.locked"]
END

# The costs that must not grow: each is measured at the two smallest sizes.
"$build/test/bench/growth" --quick >"$tmp/growth"
for name in clients.idle clients.killed region.own region.one close.beside close.own; do
	[ "$(awk -v name=$name '$1 == name && $2 > 0 && $(NF - 2) > 0 && $NF > 0' "$tmp/growth" | wc -l)" = 2 ]
done

# Only the requested rows are measured; a row that can not be measured prints one sentence.
[ "$("$build/test/bench/bench" --quick --only create.pd | awk '!/^#/ { print $1 }' | xargs)" = "name create.pd" ]
if IBAL_MODULE_PATH=$tmp "$build/test/bench/bench" --quick --only create.pd >"$tmp/out" 2>"$tmp/err"; then
	echo "without an HCA the benchmark claims to have measured something"
	exit 1
fi
grep -q "two HCAs are needed" "$tmp/err"
