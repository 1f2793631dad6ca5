#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Each option of each tool with wrong values: one sentence with the option, the value, and what would be right.

The options are those that the tools' own help lists, so an option without an entry here fails the test.
"""
import os
import re
import subprocess
import sys
import tempfile

build = os.environ["top_builddir"]
os.environ["IBAL_AGENT"] = "off"
failures = 0

RANGE = r"from|at most|at least|more than|less than|number|range|one of|such as|must be|there is no|hexadecimal"
NUMBER = ("", "x", "-1", "1.5", "1K", "99999999999999999999")
SIZE = ("", "x", "-1", "0", "1.5K", "1Q", "99999999999999999999")

# tool: (words that make the command line complete, {option: wrong values, or None: every text is right})
TABLE = {
    "al_query": {
        "--count": (["events"], ("x", "-1", "1.5", "99999999999")),
        "--watch": (["port"], ("0", "-1", "1e9", "nan")),
        "--timeout": (["events"], ("x", "0", "-1", "1e9", "nan")),
        "--warn": (["check"], ("x", "symbol_errors", "symbol_errors=x", "symbol_errors=-1", "nothing=1")),
        "--crit": (["check"], ("x", "symbol_errors=", "nothing=1")),
        "--format": (["topology"], ("", "png", "SVG ")),
        "--ca": (["port"], ("", "77", "0xzz", "0x123")),
        "--port": (["port"], ("x", "0", "-1", "256", "1.5")),
        "--state": (["port"], ("", "Up", "Activ")),
        "--type": (["res"], ("", "qps", "QP ")),
        "--pid": (["res"], ("x", "-1", "0", "99999999999")),
        "--qpn": (["qp"], ("", "x", "5-2", "0x1000000", "-1", "1-x")),
        "--where": (["res"], ("", "qpn", "colour=red", "=1")),
        "--m-key": (["topology"], ("", "0", "x", "0x10000000000000000")),
        "--output": (["prom"], ("none/file",)),
    },
    "al_cp": {
        "--chunk": (["in", "out"], SIZE + ("2G",)),
        "--window": (["in", "out"], NUMBER + ("0", "4097")),
        "--from": (["in", "out"], ("77", "nothing")),
        "--to": (["in", "out"], ("77", "nothing")),
        "--from-port": (["in", "out"], NUMBER + ("0", "256")),
        "--to-port": (["in", "out"], NUMBER + ("0", "256")),
        "--listen": (["out"], ("", "a/b", "x" * 65)),
    },
    "al_perf": {
        "--type": (["write"], ("", "xx", "RD")),
        "--size": (["write"], SIZE[:1] + ("x", "-1", "1Q", "5..2", "99999999999999999999")),
        "--from": (["write"], ("77", "nothing")),
        "--to": (["write"], ("77", "nothing")),
        "--from-port": (["write"], NUMBER + ("0", "256")),
        "--to-port": (["write"], NUMBER + ("0", "256")),
        "--listen": ([], ("", "a/b", "x" * 65)),
        "--iters": (["write"], NUMBER + ("0",)),
        "--duration": (["write"], ("", "x", "-1", "0", "nan", "1e99")),
        "--warmup": (["write"], NUMBER),
        "--depth": (["write"], NUMBER + ("0", "999999999")),
        "--signal": (["write"], NUMBER + ("0", "999999999")),
        "--chain": (["write"], NUMBER + ("0", "999999999")),
        "--qps": (["write"], NUMBER + ("0", "999999999")),
        "--mtu": (["write"], ("", "x", "0", "1000", "8192")),
        "--inline": (["write"], ("x", "-1", "999999999")),
        "--sl": (["write"], NUMBER + ("16",)),
        "--cpu": (["write"], NUMBER + ("1024",)),
        "--svg": (["-n", "1", "write"], ("none/file",)),
    },
    "ald": {
        "--socket": (["--check"], ("", "x" * 200)),
        "--config": (["--check"], ("",)),
        "--exit-when-idle": (["--check"], ("x", "-1", "1.5", "99999999999")),
        "--busy-lock": (["--exit-when-idle=1", "--check"], ("", "none/file")),
        "--mode": (["--check"], ("", "x", "-1", "888", "7777", "1.5")),
        "--max-clients": (["--check"], NUMBER[:4] + ("0", "2M", "99999999999999999999")),
        "--max-objects": (["--check"], NUMBER[:4] + ("99999999999999999999",)),
        "--max-bytes": (["--check"], ("", "x", "-1", "1.5K", "1Q", "99999999999999999999")),
        "--max-rings": (["--check"], ("", "x", "-1", "1.5K", "1Q", "99999999999999999999")),
        "--workers": (["--check"], NUMBER + ("0",)),
        "--drain": (["--check"], NUMBER),
    },
    "al/compat/al_run": {
        "--ca": (["true"], ("", "x", "0x12345678901234567")),
        "--agent": (["true"], ("", "none")),
        "--fault": (["true"], ("", "lose")),
        "--capture": (["true"], ("", "none/file", "a file")),
    },
}

# Options that are right by themselves, and the words that the sentence about them has.
COMBINATIONS = (
    ("al_query port --count 3", "--count", "--watch"),
    ("al_query port --pid 1", "--pid", '"port"'),
    ("al_query check --reset", "--reset", "--subnet"),
    ("al_query topology --ca 0 --ca 1", "--ca", '"topology"'),
    ("al_query fault check drop --port 1", "--port"),
    ("ald --check --busy-lock file", "--busy-lock", "--exit-when-idle"),
    ("al_query port down --ca 0", "--port"),
    ("al_query port down --port 1", "--ca"),
    ("al_query gid extra", "extra", '"gid"'),
    ("al_query nonsense", "nonsense", "port"),
    ("al_query help nonsense", "nonsense", "port"),
    ("al/compat/al_run --roce --agent none true", "--roce", "--agent"),
    ("al_cp --listen x --chunk 4K out", "--chunk"),
    ("al_cp --listen x --from 0 out", "--from"),
    ("al_cp --to 0 in agent:x", "--to"),
    ("al_cp in", "SOURCE DEST"),
    ("al_perf --json --csv write", "--json", "--csv"),
    ("al_perf --type ud read", "ud", "read"),
    ("ald --check extra", "extra"),
)


def wrong(sentence):
    global failures
    failures += 1
    print("FAIL:", sentence)


def options_of(tool):
    """The options that take a value."""
    text = subprocess.run([f"{build}/{tool}", "--help" if "al_run" in tool else "--help-all"], capture_output=True,
                          text=True, check=True).stdout
    return set(re.findall(r"^  (?:-\w, )?(--[a-z-]+)[= ][A-Z\[a-z]", text, re.M))


def check(tool, words, option, value):
    name = tool.split("/")[-1]
    command = [f"{build}/{tool}", *(words if name == "al_query" else []), f"{option}={value}",
               *([] if name == "al_query" else words)]
    try:
        got = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        wrong(f"{name} {option}={value}: does not end")
        return
    lines = [line for line in got.stderr.splitlines() if line]
    if got.returncode == 0:
        wrong(f"{name} {option}={value}: is accepted: {got.stdout[:80]!r}")
    elif len(lines) != 1 or not lines[0].startswith((f"{name}: ", f"ibal: error")):
        wrong(f"{name} {option}={value}: no single sentence of it: {lines}")
    elif f'there is no HCA "{value}"' in lines[0] or f'"{value}" is no name to meet by: 1 to 64 ' in lines[0]:
        return # the same sentence for names that come from elsewhere
    elif option not in lines[0] or value not in lines[0] or not re.search(RANGE, lines[0]):
        wrong(f"{name} {option}={value}: the option, the value or the range is missing: {lines[0]}")


with tempfile.TemporaryDirectory() as place:
    build = os.path.abspath(build)
    os.chdir(place)
    with open("in", "w", encoding="ascii") as file:
        file.write("x" * 1000)
    for tool, table in TABLE.items():
        there = options_of(tool)
        for option in sorted(there ^ set(table)):
            wrong(f"{tool} {option}: {'has no entry in the table' if option in there else 'is no option'}")
        for option, (words, values) in table.items():
            for value in values:
                check(tool, words, option, value)
    for line, *parts in COMBINATIONS:
        name, *words = line.split()
        got = subprocess.run([f"{build}/{name}", *words], capture_output=True, text=True, timeout=60)
        said = [text for text in got.stderr.splitlines() if text]
        if got.returncode == 0 or len(said) != 1:
            wrong(f"{line}: status {got.returncode}, no single sentence: {said}")
        for part in parts:
            if said and part.lower() not in said[0].lower():
                wrong(f"{line}: {part} is missing: {said[0]}")
sys.exit(failures != 0)
