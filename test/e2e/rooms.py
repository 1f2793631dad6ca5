#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Checks which folder uses which: compares the includes and calls of al, ci, hca, include, mad, topo and uvp with ROOMS.

An include is an #include line. A call is a symbol that one object file of the build leaves undefined and another one
defines, as nm tells; so calls and data are seen, and calls through a pointer are not: those are registrations. Modules,
providers, tools and the agent use what the library exports through the folder of the header that declares it.

It is an error if a folder uses a folder that its row does not name, if a row names a folder that is not used, and if a
row names a folder that is not above it: since each row names only rows above it, no cycle spans two folders. NOT_YET has
the files that break this rule today; a file of NOT_YET that keeps the rule is an error, too, so the list only shrinks.
"""
import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

top = Path(os.environ.get("top_srcdir", Path(__file__).resolve().parents[2]))
build = Path(os.environ.get("top_builddir", top / "build"))

# A folder, and the folders that it uses, the lowest first. A folder beside it is named without the path before.
ROOMS = """
include:
mad: include
topo: include
ci: include
al/object: include ci
al/event: include ci object
al/protocol: include
al/verbs: ci object event
al/mgmt: include mad ci object event verbs
al/user: include ci object event mgmt protocol
al/connect: include ci object verbs
al/library: include ci object event verbs mgmt user
al/tools: include topo
al/agent: include object protocol library tools
al/compat:
al/compat/umad: include al/compat
al/compat/verbs: include al/compat
al/compat/sysfs: include al/compat
hca/skeleton: include
hca/soft/shared: include
hca/soft/base: include shared
hca/soft/packet: include shared
hca/soft/engine: include shared base packet
hca/soft/memory: include shared base packet engine
hca/soft/queue: include shared base engine
hca/soft/port: include shared base packet
hca/soft/link: include shared base packet engine memory port
hca/soft/firmware: include mad shared base packet engine memory port link
hca/soft/fabric: include topo shared base packet engine memory port link
hca/soft/transport: include shared base packet engine memory queue port link
hca/soft/object: include shared base packet engine memory queue port link transport
hca/soft/client: include shared base packet engine queue transport object
hca/soft/lab: include shared base packet engine memory queue port link transport object
hca/soft/module: include topo shared base engine memory queue port link firmware fabric transport object client lab
uvp/skeleton: include
uvp/soft: include hca/soft/shared
"""

# A file, and the folders above its own that it uses, where a registration or a move has to come.
NOT_YET = """
hca/soft/object/cq.c: client
hca/soft/object/qp.c: client
hca/soft/queue/cq.c: client
hca/soft/transport/comp.c: client
hca/soft/transport/qp.c: client
hca/soft/transport/qp.h: client
hca/soft/transport/rc_resp.c: client
hca/soft/transport/shortcut.c: client
hca/soft/transport/uc.c: client
hca/soft/transport/ud.c: client
"""

TREES = ["al", "ci", "hca", "include", "mad", "topo", "uvp"]
CONTRACTS = "include"
LIBRARY = "libibal_core_la"  # the prefix of the library's object files
errors = []


def check(good, sentence):
    if not good:
        errors.append(sentence)


def table(text):
    """{first: the folders named after it}, with their whole names."""
    rows = {}
    for line in filter(None, text.splitlines()):
        first, uses = line.split(":")
        house = os.path.dirname(os.path.dirname(first) if "." in first else first)
        rows[first] = [f"{house}/{name}" if house and (top / house / name).is_dir() else name for name in uses.split()]
    return rows


def names(room, others):
    """As ROOMS has them."""
    return " ".join(other.removeprefix(os.path.dirname(room) + "/") for other in others)


def folder_of(path):
    return CONTRACTS if path.startswith("include/") else os.path.dirname(path)


def sources():
    """Path and text of each file, without comments."""
    for tree in TREES:
        for path in sorted((top / tree).rglob("*")):
            if path.suffix in (".c", ".h", ".def"):
                text = path.read_text(encoding="utf-8")
                yield str(path.relative_to(top)), re.sub(r"/\*.*?\*/", " ", text, flags=re.S)


def nm(objects):
    """What each object file needs, and what it defines for others."""
    out = subprocess.run(["nm", "-A", "-P", *objects], check=True, capture_output=True, text=True).stdout
    needs, defines = defaultdict(set), defaultdict(set)
    for line in out.splitlines():
        path, symbol, kind = line.split()[:3]
        if kind == "U":
            needs[path.rstrip(":")].add(symbol)
        elif kind.isupper():
            defines[path.rstrip(":")].add(symbol)
    return needs, defines


INTERPOSER = "al/compat/sysfs/redirect.c"  # defines functions of the C library, for commands of al_run


def objects():
    """(path, source, prefix) of each object file that has a source in the trees, but for those of tests."""
    for tree in TREES:
        for path in sorted((build / tree).rglob("*.o")):
            prefix, _, stem = path.stem.rpartition("-")
            folder = path.parent.parent if path.parent.name == ".libs" else path.parent
            source = str((folder / f"{stem}.c").relative_to(build))
            if source in text_of and not prefix.startswith("test_"):
                yield str(path), source, prefix


if not shutil.which("nm"):
    print("nm is not installed: calls cannot be told")
    sys.exit(77)

rooms, not_yet = table(ROOMS), table(NOT_YET)
text_of = dict(sources())
arrows = defaultdict(set)  # (file, folder that it uses): how


def use(path, folder, how):
    if folder_of(path) != folder:
        arrows[path, folder].add(how)


# ---- includes

includes = 0
for path, text in text_of.items():
    for other in re.findall(r'^[ \t]*#[ \t]*include[ \t]+["<]([^">]+)[">]', text, re.M):
        found = next((p for p in (f"{os.path.dirname(path)}/{other}", other, f"include/{other}") if p in text_of), None)
        if found:
            includes += 1
            use(path, folder_of(found), f"includes {found}")

# ---- calls

compiled = list(objects())
needs, defines = nm([path for path, _, _ in compiled])
definer = defaultdict(dict)  # symbol: prefix: source
for path, source, prefix in compiled:
    if source == INTERPOSER:
        continue
    for symbol in defines[path]:
        definer[symbol][prefix] = source
words = {path: set(re.findall(r"\w+", text)) for path, text in text_of.items() if path.endswith(".h")}
headers = sorted(words, key=lambda path: folder_of(path) != CONTRACTS)  # the contracts first
calls = 0
for path, source, prefix in compiled:
    for symbol in needs[path]:
        by = definer.get(symbol, {})
        if prefix in by:
            target = by[prefix]
        elif LIBRARY in by:
            target = next((header for header in headers if symbol in words[header]), by[LIBRARY])
        elif by:
            target = min(by.values())
        else:
            continue  # another library's
        calls += 1
        use(source, folder_of(target), f"needs {symbol} of {target}")
seen = {source for _, source, _ in compiled}
for path in text_of:
    check(not path.endswith(".c") or path in seen, f"{path}: the build has no object file of it")

# ---- the table

place = {room: i for i, room in enumerate(rooms)}
for room, uses in rooms.items():
    for other in uses:
        check(place.get(other, len(place)) < place[room], f"ROOMS: {room} names {other}, which is not above it")
for room in sorted({folder_of(path) for path in text_of} - set(rooms)):
    check(False, f"ROOMS: there is no row for {room}")
for (path, folder), how in sorted(arrows.items()):
    if folder not in not_yet.get(path, []):
        check(folder in rooms.get(folder_of(path), []),
              f"{path} is not to use {folder}, but {', '.join(sorted(how))}")
there = {(folder_of(path), folder) for path, folder in arrows if folder not in not_yet.get(path, [])}
for room, uses in rooms.items():
    for other in uses:
        check((room, other) in there, f"ROOMS: {room} does not use {other}")
for path, folders in not_yet.items():
    for folder in folders:
        check((path, folder) in arrows, f"NOT_YET: {path} does not use {folder} any more: take it out")

for room in rooms:
    print(f"{room:20} {names(room, [other for other in rooms if (room, other) in there])}")
print(f"{includes} includes, and {calls} symbols that nm finds undefined in one object file and defined in another")
if not_yet:
    print(f"not yet: {len(not_yet)} files use {sum(map(len, not_yet.values()))} folders that they are not to use")
for sentence in errors:
    print(f"WRONG: {sentence}", file=sys.stderr)
sys.exit(bool(errors))
