#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The API's tests in three roles: checks that test/roles.txt is complete, that test/local.mk runs the programs of the
file, and that the table in doc/status.md agrees. With --write the table is written anew.

"make check" runs each program once per role.
"""
import os
import re
import sys
from pathlib import Path

top = Path(os.environ.get("top_srcdir", Path(__file__).resolve().parents[2]))
ROLES = ["embedded", "user", "uvp"]
# Of test/e2e the API's are those that use the library alone: others have an agent of their own (test/e2e/agent*.h), and
NO_API = ["guest_test", "service_test"]  # loads the library by hand; starts the agent by hand
BEGIN = "<!-- made by test/e2e/roles.py --write -->\n"
END = "<!-- the end of it -->\n"

errors = []


def check(good, sentence):
    if not good:
        errors.append(sentence)


class Program:
    """A program, its tests, and which of them do not run in which role."""

    def __init__(self, name, roles, reason):
        self.name, self.roles, self.reason = name, roles, reason
        text = (top / (name + ".c")).read_text(encoding="utf-8")
        self.tests = re.findall(r"^START_TEST\((\w+)\)", text, re.M)
        self.exempt = {}

    def number(self, role):
        return sum(role in self.exempt.get(t, (self.roles,))[0] for t in self.tests) if role in self.roles else 0


def read_table():
    programs = {}
    for line in (top / "test/roles.txt").read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        name, roles, *reason = line.split(" ", 2)
        roles = ROLES if roles == "all" else roles.split(",")
        check(set(roles) <= set(ROLES), f"test/roles.txt: {name}: the roles are {', '.join(ROLES)}")
        check(roles == ROLES or reason, f"test/roles.txt: {name}: there is no reason for what is missing")
        if (top / (name + ".c")).exists():
            programs[name] = Program(name, roles, reason[0] if reason else "")
            continue
        program, _, test = name.rpartition("/")
        check(program in programs and test in programs[program].tests, f"test/roles.txt: {name}: there is no such test")
        if program in programs:
            programs[program].exempt[test] = (roles, reason[0] if reason else "")
    return programs


def sources():
    for path in sorted((top / "test/unit/al").rglob("*_test.c")):
        yield str(path.relative_to(top))[:-2]
    for path in sorted((top / "test/e2e").glob("*_test.c")):
        if path.stem not in NO_API and '"test/e2e/agent' not in path.read_text(encoding="utf-8"):
            yield str(path.relative_to(top))[:-2]


def made(programs):
    lines = ["| Program | " + " | ".join(ROLES) + " |", "|---|" + "---|" * len(ROLES)]
    for p in programs.values():
        cells = [f"{p.number(r)} of {len(p.tests)}" if p.number(r) != len(p.tests) else f"all {len(p.tests)}" for r in ROLES]
        lines.append(f"| `{p.name.removeprefix('test/')}` | " + " | ".join(c if c[0] != "0" else "none" for c in cells) + " |")
    reasons = {}
    for p in programs.values():
        short = p.name.rpartition("/")[2]
        if p.reason:
            reasons.setdefault((tuple(p.roles), p.reason), []).append(f"all of `{short}`")
        for test, (roles, reason) in p.exempt.items():
            reasons.setdefault((tuple(roles), reason), []).append(f"`{short}`: `{test}`")
    lines += ["", "What does not run everywhere, and why:", ""]
    for (roles, reason), tests in reasons.items():
        lines.append(f"* {reason[0].upper() + reason[1:]} (only {', '.join(roles)}):")
        lines += [f"  {t}{';' if t != tests[-1] else '.'}" for t in tests]
    return "\n".join(lines) + "\n"


def main():
    programs = read_table()
    wanted = list(sources())
    for name in wanted:
        check(name in programs, f"{name} is not in test/roles.txt")
    for name in programs:
        check(name in wanted, f"test/roles.txt: {name} is no test of the API")
    text = (top / "test/local.mk").read_text(encoding="utf-8")
    listed = re.search(r"^API_TESTS = \\\n((?:.*\\\n)*.*\n)", text, re.M).group(1).replace("\\", "").split()
    in_user_role = [p.name for p in programs.values() if p.roles != ["embedded"]]
    check(sorted(listed) == sorted(in_user_role), "API_TESTS in test/local.mk and test/roles.txt differ in: " +
          ", ".join(sorted(set(listed) ^ set(in_user_role))))

    status = top / "doc/status.md"
    text = status.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    table = before + BEGIN + "\n" + made(programs) + "\n" + END + after
    if "--write" in sys.argv:
        status.write_text(table, encoding="utf-8")
    else:
        check(text == table, "doc/status.md: the table of roles is not of now: test/e2e/roles.py --write")
    for error in errors:
        print(error)
    sys.exit(1 if errors else 0)


main()
