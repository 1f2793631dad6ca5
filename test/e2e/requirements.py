#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Checks doc/requirements.md: the file has a row for every requirement, and the files and tests in the rows exist.

A row's place names files of the tree in backticks. Its test is "open: TITLE", with the title of an issue of
test/data/names.txt (or "not planned yet"), or files in backticks, each followed by the names of tests in it, and
"; rest open: TITLE" when the tests cover a part of it. If the numbered list is at hand (../shared), the keys are compared
with the list. The list lies outside the tree and changes independently, so a difference is printed, for doc/status.md to
list, and is no failure.
"""
import os
import re
import sys
from pathlib import Path

top = Path(os.environ.get("top_srcdir", Path(__file__).resolve().parents[2]))
numbered = top / "../shared/reference/requirements.md"
errors = []
differences = []


def rows(text):
    """(key, ..., last cell) of every row of every table, without headings."""
    cells = [[cell.strip() for cell in line.strip().strip("|").split("|")]
             for line in text.splitlines() if line.startswith("|")]
    rules = [i for i, row in enumerate(cells) if re.fullmatch(r"[-: ]+", row[0])]
    headings = set(rules) | {i - 1 for i in rules}
    return [row for i, row in enumerate(cells) if i not in headings]


def lines(path):
    return [line for line in (top / path).read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]


keys = lines("test/data/requirements.txt")
titles = [line.split(" ", 2)[2] for line in lines("test/data/names.txt") if line.startswith("issue ")]
table = rows((top / "doc/requirements.md").read_text(encoding="utf-8"))

if [row[0] for row in table] != keys:
    listed = [row[0] for row in table]
    errors += [f"{key}: no row" for key in keys if key not in listed]
    errors += [f"{key}: not in test/data/requirements.txt, or twice" for key in listed
               if key not in keys or listed.count(key) > 1]
    errors = errors or ["the rows are not in the order of test/data/requirements.txt"]
if numbered.exists():
    wanted = [row[0] for row in rows(numbered.read_text(encoding="utf-8"))]
    differences += [f"{key}: numbered in the reference, missing here" for key in wanted if key not in keys]
    # The faults of IBAL are numbered in a list of their own.
    differences += [f"{key}: not numbered in the reference" for key in keys
                    if key not in wanted and not key.startswith("IBAL.")]

tested = partly = 0
for key, _, place, test in table:
    test, _, left = test.partition("; rest open: ")
    if left and left not in titles:
        errors.append(f"{key}: no issue has the title \"{left}\"")
    for path in re.findall(r"`([^`]+)`", place + test):
        if not (top / path).exists():
            errors.append(f"{key}: there is no {path}")
    if test.startswith("open: "):
        if test.removeprefix("open: ") not in titles + ["not planned yet"]:
            errors.append(f"{key}: no issue has the title of \"{test}\"")
        continue
    tested += 1
    partly += bool(left)
    if "`" not in place or "`" not in test:
        errors.append(f"{key}: neither open nor with a place and a test")
    for path, names in re.findall(r"`([^`]+)`([^`]*)", test):
        source = (top / path).read_text(encoding="utf-8") if (top / path).is_file() else ""
        wanted = re.findall(r"\w+", names)
        if path.endswith(".c") and not wanted:
            errors.append(f"{key}: {path} without the name of a test")
        for name in wanted:
            if not re.search(rf"START_TEST\({name}\)|^{name}\(\)", source, re.M):
                errors.append(f"{key}: {path} has no test {name}")

print(f"{len(keys)} requirements: {tested} with a test ({partly} of them in part), {len(table) - tested} open")
for sentence in differences:
    print(f"DIFFERS: {sentence}")
for sentence in errors:
    print(f"WRONG: {sentence}", file=sys.stderr)
sys.exit(bool(errors))
