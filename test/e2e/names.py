#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Checks which names of the contracts exist, and which issue adds the others.

Compares test/data/names.txt with the headers, the built library, ci/ops.def and the tables in doc/, both ways: a name
that the list marks as present must exist, a name that the list marks for later must not, and every existing name must be
in the list. If the design pages are at hand (../shared), the list is compared with them, too. The pages lie outside the
tree and change independently, so a difference from them is printed, for doc/status.md to list, and is no failure.
"""
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

top = Path(os.environ.get("top_srcdir", Path(__file__).resolve().parents[2]))
build = Path(os.environ.get("top_builddir", top / "build"))
shared = top / ".." / "shared"

# Operations that are no requests to an agent, so a provider has no pair of hooks for them (ib_uvp.h).
DIRECT = ["post_send", "post_recv", "post_srq_recv", "bind_mw", "poll_cq", "arm_cq", "arm_cq_n", "peek_cq"]

errors = []
differences = []


def check(good, sentence):
    if not good:
        errors.append(sentence)


def compare(same_there, sentence):
    if not same_there:
        differences.append(sentence)


def same(what, wanted, found):
    for name in wanted:
        check(name in found, f"{what}: {name} is missing")
    for name in found:
        check(name in wanted, f"{what}: {name} is not in test/data/names.txt")


def read(path):
    return (top / path).read_text(encoding="utf-8")


def code(path):
    """Returns a header without its comments: a name in a comment does not count."""
    return re.sub(r"/\*.*?\*/", " ", read(path), flags=re.S)


def functions(text):
    """Functions that a header declares: by the headers' layout, as in al/mkmap.sh."""
    return re.findall(r"^(?!static|typedef|#)[a-z][a-z0-9_ ]*[ *]((?:al|ib|ci)_[a-z0-9_]+)\(", text, re.M)


def members(text, struct):
    """Function pointers of a struct, in their order."""
    body = text[text.index(f"struct {struct} {{"):]
    return re.findall(r"\(\*(\w+)\)\(", body[:body.index("\n};")])


def table(text, first):
    """Rows of the Markdown table whose heading begins with a cell."""
    lines = iter(text.splitlines())
    for line in lines:
        if re.match(rf"\|\s*{re.escape(first)}\s*\|", line):
            break
    else:
        return []
    next(lines)
    rows = []
    for line in lines:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip().strip("|").split("|")])
    return rows


# ---- the list

titles, api, upcalls, ops, types, words, seed = {}, {}, {}, {}, [], {}, {}
for number, line in enumerate(read("test/data/names.txt").splitlines(), 1):
    field = shlex.split(line, comments=True)
    if not field:
        continue
    kind, name, rest = field[0], field[1], field[2:]
    if kind == "issue":
        titles[name] = " ".join(rest)
    elif kind in ("api", "upcall") and len(rest) == 1 and rest[0] in titles:
        (api if kind == "api" else upcalls)[name] = rest[0]
    elif kind == "op" and len(rest) == 2:
        ops[name] = rest
    elif kind == "type":
        types += [name] + rest
    elif kind == "word" and rest:
        words[name] = rest
    elif kind == "seed" and len(rest) == 1:
        seed[name] = rest[0]
    else:
        sys.exit(f"test/data/names.txt:{number}: no such line: {line}")

# ---- headers and library

paths = sorted(path.relative_to(top) for path in (top / "include/iba").glob("*.h"))
headers = {path.name: code(path) for path in paths}
tokens = set(re.findall(r"\w+", " ".join(headers.values())))
library = build / ".libs/libibal.so"
if not library.exists():
    sys.exit(f"{library} is not there: run ./quickstart first, or say in top_builddir where it was built")
nm = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
exported = {line.split()[-1].split("@")[0] for line in nm.splitlines()}

for header, listed in (("ib_al.h", api), ("ib_hca.h", upcalls)):
    declared = functions(headers[header] + (headers["ib_connect.h"] if listed is api else ""))
    same(header, [name for name, mark in listed.items() if mark == "here"], declared)
    for name, mark in listed.items():
        check((name in exported) == (mark == "here"),
              f"{library.name}: {name} is {'not ' if mark == 'here' else ''}there, but marked \"{mark}\"")
for name in types + [constant for constants in words.values() for constant in constants]:
    check(name in tokens, f"headers: {name} is missing")

# ---- the op table, and a provider's hooks

same("struct ci_interface", ops, members(headers["ib_hca.h"], "ci_interface"))
rows = re.findall(r"^OP\((\w+), [^,]+, (\w+)(?:\(\w+\))?, (\w+),", read("ci/ops.def"), re.M)
check([row[0] for row in rows] == list(ops), "ci/ops.def: not the operations of test/data/names.txt in their order")
for name, need, mark in rows:
    check([need, mark] == ops.get(name), f"ci/ops.def: {name} is not as test/data/names.txt has it")

crossing = [op.removeprefix("um_") for op in ops
            if op not in DIRECT and not op.startswith("dma_") and op not in ("local_mad", "open_ca", "close_ca", "revoke_mr")]
hooks = members(headers["ib_uvp.h"], "uvp_interface")
same("struct uvp_interface", DIRECT + [side + op for op in crossing for side in ("pre_", "post_")], hooks)

# ---- tables in doc/

marks = {"here": "here"} | {key: f"later: {title}" for key, title in titles.items() if key != "here"}
wanted = [[f"`{ib}`", f"`{al}`", marks[api[al]]] for ib, al in seed.items() if al in api]
check(len(wanted) == len(seed), "test/data/names.txt: a seed name's function is not an api name")
check(table(read("doc/quick-reference.md"), "Seed 004") == wanted, "doc/quick-reference.md: not the table of the list")

guide = {row[0].strip("`"): row for row in table(read("doc/guide-vendor.md"), "Operation")}
same("doc/guide-vendor.md", ops, list(guide))
for name, need, mark in rows:
    row = guide.get(name, ["", "", ""])
    check(row[1] == {"REQUIRED": "required", "OF_HCAS": "required of HCAs", "OF_SWITCHES": "required of switches",
                     "OPTIONAL": "optional", "WITH": "with its create"}[need]
          and row[2] == {"SLEEPS": "may sleep", "ATOMIC": "atomic"}[mark],
          f"doc/guide-vendor.md: {name} is not as ci/ops.def has it")

# ---- the list against the pages that it is drawn from

def page(pattern):
    """Returns the text of a page of ../shared; an empty text if the page does not exist."""
    found = sorted(shared.glob(pattern))
    compare(found, f"../shared has no {pattern}")
    return found[0].read_text(encoding="utf-8") if found else ""


def rows_of(text):
    """Rows of a page's table of groups: (group, names)."""
    return [row for row in table(text, "group") if len(row) > 1]


if shared.is_dir():
    for row in rows_of(page("design/access-layer.md")):
        for name in re.findall(r"\bal_[a-z0-9_]*[a-z0-9]\b(?!_pool`)", re.sub(r"`.*?`|what al_query shows", "", row[1])):
            compare(name in api, f"access-layer.md names {name}, test/data/names.txt does not")
    design_ops = {}
    for row in rows_of(page("design/channel-interface.md")):
        cells = re.sub(r"; dma ops", "", row[1]).split()
        for cell in cells:
            design_ops[cell.strip("*")] = ("REQUIRED" if cell.count("*") >= 4 else "OPTIONAL",
                                           "ATOMIC" if cell.count("*") in (2, 6) else "SLEEPS")
    other = set(design_ops) ^ {op for op in ops if not op.startswith("dma_")}
    compare(not other, f"only one of channel-interface.md and test/data/names.txt has: {', '.join(sorted(other))}")
    for name, (need, mark) in ops.items():
        wanted_need, wanted_mark = design_ops.get(name, (need, mark))
        compare(mark == wanted_mark and (need in ("REQUIRED", "OF_HCAS")) == (wanted_need == "REQUIRED"),
                f"test/data/names.txt: {name} is not as channel-interface.md marks it")
    text = re.sub(r"\s+", " ", page("design/soft-hca.md"))
    for phrase in words:
        compare(phrase in text, f"soft-hca.md no longer says \"{phrase}\"")
    text = " ".join(re.findall(r"```(.*?)```", page("seeds/004_*").partition("## Quick Reference")[2], re.S))
    methods = set(re.findall(r"\b((?:ib|rdma)_\w+)\s*\(", text))
    compare(methods == set(seed), f"seed 004 and test/data/names.txt: {', '.join(sorted(methods ^ set(seed)))}")
else:
    print("The design pages are not at hand: the list was not held against them.")

# ---- report

functions_by_mark = list(api.items()) + list(upcalls.items())
for key, title in titles.items():
    names = [name for name, mark in functions_by_mark if mark == key]
    if names:
        print(f"\n{'here' if key == 'here' else 'later'}, {title}: {len(names)}\n  {' '.join(names)}")
print(f"\nhere: {len(ops)} operations, {len(hooks)} hooks of a provider, {len(set(types))} types, "
      f"{len(words)} features of the software HCA by their constants")
for sentence in differences:
    print(f"DIFFERS: {sentence}")
for sentence in errors:
    print(f"WRONG: {sentence}", file=sys.stderr)
sys.exit(bool(errors))
