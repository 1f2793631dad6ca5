#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Checks that every function of the API is tested in every kind of callback, with the context that its comment states.

Compares the comments of ib_al.h and ib_connect.h ("Context: any" or "Context: may sleep") with VERBS of test/e2e/callback_test.c, both
ways, and the types of callbacks that the functions take with KINDS.
"""
import os
import re
import sys
from pathlib import Path

top = Path(os.environ.get("top_srcdir", Path(__file__).resolve().parents[2]))
header = "".join((top / "include/iba" / name).read_text(encoding="utf-8") for name in ("ib_al.h", "ib_connect.h"))
test = (top / "test/e2e/callback_test.c").read_text(encoding="utf-8")
errors = []


def check(good, sentence):
    if not good:
        errors.append(sentence)


def context(name, comment):
    """Returns the context as VERBS names it, from the comment's words."""
    said = re.findall(r"Context: (any|may sleep)(?:\*\*)?([^.]*)", re.sub(r"\s*\n \*\s*", " ", comment))
    if len(said) != 1:
        return None
    kind, but = said[0]
    if kind == "may sleep":
        return "MANAGES" if "not in a PnP callback" in but else "SLEEPS"
    return "ENDS" if re.match(r"al_(destroy|dereg|dealloc|close)", name) else "ANY"


# The comment of a function is directly before the function; in a block ("@name ... @{") it may be the block's comment.
wanted = {}
group, comment = None, ""
for part in re.finditer(r"/\*\*(?!<).*?\*/|^(?!static|typedef|#)[a-z][a-z0-9_ ]*[ *](al_[a-z0-9_]+)\(", header, re.M | re.S):
    text, name = part.group(0), part.group(1)
    if name:
        wanted[name] = context(name, group or comment)
        check(wanted[name], f"ib_al.h: {name}: its comment does not say from which context it may be called")
    elif "@}" in text:
        group = None
    else:
        comment = text
        group = text if "@{" in text and "@name" in text else group

found = dict(re.findall(r"^\tX\((al_\w+), (ANY|SLEEPS|MANAGES|ENDS), ", test, re.M))
for name in wanted:
    check(name in found, f"callback_test.c: VERBS lacks {name}")
for name, said in found.items():
    check(wanted.get(name) == said, f"callback_test.c: {name} is {said}, by ib_al.h {wanted.get(name, 'no function')}")

code = re.sub(r"/\*.*?\*/", " ", header, flags=re.S)
types = {t for t in re.findall(r"typedef \w+ \(\*(al_\w+)\)", code) if re.search(rf"\b{t} \w+[,)]", code)}
kinds = set(re.findall(r"^\tX\((al_\w+_cb), \w+,", test, re.M))
check(types == kinds, f"callback_test.c: KINDS and ib_al.h differ in {', '.join(sorted(types ^ kinds))}")

print(f"{len(wanted)} functions, {len(kinds)} types of callbacks")
for sentence in errors:
    print(f"WRONG: {sentence}", file=sys.stderr)
sys.exit(bool(errors))
