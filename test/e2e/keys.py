#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Checks that every key of ibal.conf and every IBAL_* variable in code is accepted and documented, and vice versa.

The tables of keys are in ci/conf.c ([ibal]), al/agent/settings.c ([ald]) and hca/soft/base/config.c ([soft]); the pages are
ibal.conf(5) and ibal-soft(5). A variable IBAL_NAME of the library must be reserved in ci/conf.c, since IBAL_<NAME> is
the settings of a module of that name.
"""
import os
import re
import sys
from pathlib import Path

top = Path(os.environ.get("top_srcdir", Path(__file__).resolve().parents[2]))
sources = {path.relative_to(top): path.read_text(encoding="utf-8")
           for folder in ("ci", "al", "hca", "uvp") for path in sorted((top / folder).rglob("*.c"))}
errors = []


def check(good, sentence):
    if not good:
        errors.append(sentence)


def read(path):
    return (top / path).read_text(encoding="utf-8")


def body(path, begin):
    """The initialiser of a table."""
    text = read(path)
    return text[text.index(begin):].split("\n};")[0]


def found(pattern):
    """Returns the names that code reads, each with the files that read it."""
    names = {}
    for path, text in sources.items():
        for name in re.findall(pattern, text):
            names.setdefault(name, []).append(str(path))
    return names


def section(page, title):
    return re.search(rf"^\.SH {re.escape(title)}\n(.*?)(?=^\.SH |\Z)", page, re.S | re.M).group(1)


def terms(text):
    """Names of the entries of a page: the line after each .TP, its bold words."""
    names = set()
    for line in re.findall(r"^\.TP\n(\..*)$", text, re.M):
        macro, rest = line.split(maxsplit=1)
        if macro in (".B", ".BR", ".BI"):
            # .BR has bold and plain words in turn; all words of .B are bold; .BI IBAL_ NAME is a pattern
            words = re.findall(r'"[^"]*"|(?:\\ |\S)+', rest)
            words = words[::2] if macro == ".BR" else words if macro == ".B" else []
            names |= {word.strip('"\\, ') for part in words for word in part.replace("\\ ", " ").split(",")}
    return {name for name in names if name}


def same(what, wanted, there):
    for name in sorted(wanted - there):
        errors.append(f"{what}: {name} is missing")
    for name in sorted(there - wanted):
        errors.append(f"{what}: {name} is more than there should be")


page = read("doc/man/ibal.conf.5")

# ---- [ibal]

table = set(re.findall(r'\{ "(\w+)",', body("ci/conf.c", "} ibal_keys[] = {")))
asked = found(r'\bci_conf_get\("(\w+)"\)')
asked_directly = found(r'\bg_key_file_get_\w+\(\w+, "ibal", "(\w+)"')
for name, files in {**asked, **asked_directly}.items():
    check(name in table, f"{files[0]} reads [ibal] {name}, which ci/conf.c refuses: add it to ibal_keys")
calls = sum(len(re.findall(r"\bci_conf_get\(", text)) for path, text in sources.items() if path != Path("ci/conf.c"))
check(calls == sum(len([f for f in files if f != "ci/conf.c"]) for files in asked.values()),
      "ci_conf_get() is called with what is no name in quotes, so that this test does not see the key")
for name in table - set(asked):
    errors.append(f"ci/conf.c accepts [ibal] {name}, which no code reads")
same("ibal.conf(5), [ibal]", table, terms(section(page, "THE GROUP [ibal]")))

# ---- [ald]: the entries before [ald client]

agent = set(re.findall(r'^\t\{ "(\w+)",', body("al/agent/settings.c", "} keys[] = {"), re.M))
groups = section(page, "THE GROUPS OF THE AGENT")
same("ibal.conf(5), [ald]", agent, terms(groups.split('.BR "[ald client]"')[0]))
resources = set(re.findall(r'X\(AL_RESOURCE_\w+, \d+, "(\w+)"', read("include/iba/ib_al.h")))
check(bool(resources), "include/iba/ib_al.h: no AL_RESOURCE_LIST")
same("ibal.conf(5), [ald client]", resources, terms(groups.split('.BR "[ald client]"')[1]))

# ---- [soft]

soft = set(re.findall(r'^\t(?:NUMBER\(|\{ )"(\w+)",', body("hca/soft/base/config.c", "static const struct key keys[] = {"), re.M))
soft |= set(re.findall(r'strcmp\(p->key, "(\w+)"\)', read("hca/soft/base/config.c")))
shown = set(re.findall(r"\w+", " ".join(re.findall(r"^\.BR? (.*)$", read("doc/man/ibal-soft.5"), re.M))))
for name in sorted(soft - shown):
    errors.append(f"ibal-soft(5): {name} is missing")

# ---- the environment

variables = found(r'\b(?:ci_env|g_getenv|secure_getenv|getenv)\("(IBAL_\w+)"\)')
modules = {"IBAL_" + path.name.upper() for path in (top / "hca").iterdir() if path.is_dir()}
reserved = set(re.findall(r'"(\w+)"', body("ci/conf.c", "reserved[] = {")))
described = set(re.findall(r"IBAL_[A-Z_]*[A-Z]", page)) | set(re.findall(r"IBAL_[A-Z_]*[A-Z]", read("doc/man/ibal-soft.5")))
for name, files in variables.items():
    if name in modules or name == "IBAL_FAULT":  # the software HCA's, which a module of that name would not get
        continue
    check(name.removeprefix("IBAL_").lower() in reserved, f"{files[0]} reads {name}: reserve the name in ci/conf.c")
for name, files in variables.items():
    check(name in described, f"{files[0]} reads {name}, which no page of section 5 describes")
own = terms(section(page, "ENVIRONMENT"))
for name in sorted(own):
    check(name in variables, f"ibal.conf(5) describes {name}, which no code reads")
listed = re.search(r"^The names\n(.*?)\ncannot be names of modules", page, re.S | re.M).group(1)
same("ibal.conf(5), names that no module has", reserved | {"ibal"}, set(re.findall(r"^\.BR? (\w+)", listed, re.M)))

for sentence in errors:
    print(f"keys.py: {sentence}")
print(f"keys.py: {len(table) + len(agent) + len(soft)} keys, {len(variables)} variables, {len(errors)} errors")
sys.exit(1 if errors else 0)
