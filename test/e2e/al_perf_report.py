#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Rules of every report of al_perf --json: al_perf_report.py REPORT [FAR-REPORT] CONDITION...

Two reports, of two processes, must agree. The conditions are Python expressions about each "report" and its "rows".
Figures are compared with each other only.
"""
import json
import os
import sys


def judge(report):
    alone = report.get("end") == "far"  # it does not see where the first sample begins
    assert report["schema"] == 1 and report["interrupted"] is False and "error" not in report, report
    for row in report["rows"]:
        latency = row["test"] == "latency"
        assert latency or row["test"] == "bandwidth" and row["mode"] == "stream"
        assert row["messages"] > 0 and row["seconds"] > 0 and row["lost"] == 0, row
        assert row["checked"] == (row["messages"] if report["check"] else 0), row
        assert not row["interrupted"]
        assert alone or not row["told"], row
        if latency:
            order = [row["ns"][name] for name in ("min", "p50", "p90", "p99", "p99_9", "max")]
            assert order == sorted(order), row
            assert row["ns"]["min"] <= row["ns"]["mean"] <= row["ns"]["max"], row
            samples = row["messages"] // (2 if row["mode"] == "ping-pong" else 1)
            assert row["samples"] == samples or alone and row["samples"] == samples - 1, row
            assert order[0] > 0 or not row["samples"], row
        else:
            rate = row["messages"] / row["seconds"]
            assert abs(row["messages_per_second"] - rate) < 1e-6 * rate
            assert abs(row["bytes_per_second"] - rate * row["size"]) < 1e-6 * rate * row["size"]


def agree(near, far):
    assert near["end"] == "near" and far["end"] == "far", (near, far)
    for name in near:
        assert name in ("rows", "end", "clock_ns") or near[name] == far[name], name
    assert len(near["rows"]) == len(far["rows"])
    for n, f in zip(near["rows"], far["rows"]):
        part = n["mode"] == "ping-pong" or n["mode"] == "stream" and n["op"] in ("send", "send-imm", "write-imm")
        assert f["told"] == (not part), f
        for name in n:
            same = name in ("op", "size", "test", "mode", "messages", "lost", "checked") or not part and name != "told"
            assert not same or n[name] == f[name], (name, n, f)


files = [name for name in sys.argv[1:] if os.path.exists(name)]
reports = [json.load(open(name)) for name in files]
for report in reports:
    judge(report)
    rows = report["rows"]
    for condition in sys.argv[1 + len(files) :]:
        assert eval(condition), (condition, report)
if len(reports) > 1:
    agree(*reports)
