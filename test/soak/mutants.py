#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Checks that the soak finds bugs: makes each change of mutants.txt in a copy of hca/soft, builds and soaks the copy.

    mutants.py [WORD]...    all changes, or those whose name has one of the words

Prints a line for each change: the number of packets after which the bug was found and the error; or not found within a
million packets. The exit status is 1 if a bug was not found, or if a change does not fit the source any more. Part of
"make check-long".
"""
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

top = Path(os.environ.get("top_srcdir", Path(__file__).resolve().parents[2])).resolve()
build = Path(os.environ.get("top_builddir", top)).resolve()
compiler = shlex.split(os.environ.get("CC", "cc"))
PACKETS = 1000000
SEED = 7


def mutations():
    text = (top / "test/soak/mutants.txt").read_text(encoding="utf-8")
    text = re.sub(r"^#.*\n", "", text, flags=re.M)
    for block in re.split(r"\n\n(?=[^\t\n]+ \| [\w/]+\.[ch](?: \| [a-z ]+)?\n)", text.strip("\n")):
        head, body = block.split("\n", 1)
        name, file, *options = head.split(" | ")
        old, new = re.split(r"\n=>\n?", body, maxsplit=1)
        yield name, file, " ".join(options).split(), old, new


def compile_one(root, source, target):
    command = compiler + ["-std=gnu17", "-O1", "-w", "-pthread", "-D_GNU_SOURCE", f"-I{root}", f"-I{build}", f"-I{top}",
                          f"-I{top}/include", "-c", str(source), "-o", str(target)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def link(objects, target):
    """Returns the linker's error; "" if there is none."""
    command = compiler + ["-o", str(target)] + [str(o) for o in objects] + ["-pthread", "-lisal", "-lurcu-bp"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return result.stderr if result.returncode else ""


def soak(program, options):
    """Soaks with these options of the program. Returns the packets and the error of a failure; None: no failure."""
    run = subprocess.run([str(program), "--quick", "--seed", str(SEED), "--packets", str(PACKETS), "--patience", "10"]
                         + [f"--{option}" for option in options],
                         capture_output=True, text=True, check=False)
    if not run.returncode:
        return None
    match = re.search(r"after (\d+) packets, operation \d+: (.*)", run.stdout)
    return (int(match[1]), match[2]) if match else (0, run.stdout + run.stderr)


def main():
    words = sys.argv[1:]
    found = missed = stale = most = 0
    with tempfile.TemporaryDirectory() as tmp:
        root = Path(tmp)
        shutil.copytree(top / "hca/soft", root / "hca/soft")
        objects = {}
        sources = [source for part in (root / "hca/soft", top / "mad", top / "topo", top / "test/soak", top / "test/link") for source in sorted(part.rglob("*.c"))]
        for source in sources:
            objects[source] = root / (source.parent.name + "_" + source.name + ".o")
            result = compile_one(root, source, objects[source])
            if result.returncode:
                sys.exit(result.stderr)
        wrong = link(objects.values(), root / "soak")
        if wrong:
            sys.exit(wrong)
        if any(soak(root / "soak", options) for options in ([], ["wide"], ["wide", "resize"])):
            sys.exit("the soak fails without any change")
        for name, file, options, old, new in mutations():
            if words and not any(word in name for word in words):
                continue
            source, = (root / "hca/soft").rglob(file)
            text = source.read_text(encoding="utf-8")
            if text.count(old) != 1:
                print(f"STALE      {name}: its text is {text.count(old)} times in {file}", flush=True)
                stale += 1
                continue
            source.write_text(text.replace(old, new), encoding="utf-8")
            result = compile_one(root, source, root / "changed.o")
            source.write_text(text, encoding="utf-8")
            if result.returncode:
                print(f"STALE      {name}: does not compile: {result.stderr.splitlines()[1]}", flush=True)
                stale += 1
                continue
            wrong = link([root / "changed.o" if o == objects[source] else o for o in objects.values()], root / "soak")
            if wrong:
                print(f"STALE      {name}: does not link: {wrong.splitlines()[1]}", flush=True)
                stale += 1
                continue
            failure = soak(root / "soak", options)
            if failure:
                found += 1
                most = max(most, failure[0])
                print(f"{failure[0]:>9}  {name}: {failure[1]}", flush=True)
            else:
                missed += 1
                print(f"NOT FOUND  {name}", flush=True)
    print(f"{found} found, the last after {most} packets; {missed} not found, {stale} stale")
    return 1 if missed or stale else 0


sys.exit(main())
