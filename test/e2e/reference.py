#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Checks the man pages of the API: that they say all, that they read without a complaint, and that they are found.

With --write the tables of doc/reference/ibal_qp_states.md are written anew, after a change of al/verbs/qp_table.c.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

top = Path(os.environ.get("top_srcdir", Path(__file__).resolve().parents[2]))
build = Path(os.environ.get("top_builddir", top / "build"))
errors = []
# Pages of the system's own manual.
SYSTEM = {("close", "2"), ("epoll", "7"), ("execve", "2"), ("getsockname", "2"), ("poll", "2")}
absent = []


def check(good, sentence):
    if not good:
        errors.append(sentence)


def run(*words, **more):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, **more)


def generate(source, out):
    return run(sys.executable, source / "doc/reference/man.py", "--top", source, "--out", out, "--version", "1")


# ---- the table of transitions

MARK = "<!-- tables -->\n"
path = top / "doc/reference/ibal_qp_states.md"
before, mark, tables = path.read_text(encoding="utf-8").partition(MARK)
printed = run(build / "test/e2e/qp_states")
check(printed.returncode == 0, f"test/e2e/qp_states: {printed.stderr}")
if sys.argv[1:] == ["--write"]:
    path.write_text(before + MARK + printed.stdout, encoding="utf-8")
    sys.exit(0)
check(mark and tables == printed.stdout,
      "doc/reference/ibal_qp_states.md differs from al/verbs/qp_table.c: run test/e2e/reference.py --write")
types = re.findall(r"^\tX\((IB_QPT_\w+), \d+, \"(.*)\"", (top / "include/iba/ib_verbs.h").read_text(encoding="utf-8"), re.M)
for _, text in types:
    check(re.search(rf"\| (?:.*, )?{text}(?:, .*)? \|", tables), f"ibal_qp_states.md: no row has the type {text}")

# ---- the pages

work = Path(tempfile.mkdtemp())
try:
    made = generate(top, work / "pages")
    check(made.returncode == 0, made.stderr)
    pages = {page.name: page.read_text(encoding="utf-8") for page in (work / "pages").glob("*")}
    built = {page.name for page in (build / "doc/pages").glob("*")}
    check(set(pages) == built, f"{build}/doc/pages has other pages: {', '.join(sorted(set(pages) ^ built))}")
    here = set(pages) | {page.name for page in (top / "doc/man").glob("*.[1-8]")}
    full = {name: text for name, text in pages.items() if not text.startswith(".so ")}

    # Every function has a page, and each page of a function all its parts.
    functions = []
    for header in ("ib_al.h", "ib_connect.h", "ib_hca.h"):
        code = re.sub(r"/\*.*?\*/", " ", (top / "include/iba" / header).read_text(encoding="utf-8"), flags=re.S)
        declared = re.findall(r"^(?!static|typedef|#)[a-z][a-z0-9_ ]*[ *]((?:al|ib|ci)_[a-z0-9_]+)\(", code, re.M)
        check(len(declared) > 10, f"no functions were found in {header}: this test is broken")
        functions += declared
        for name in declared:
            check(f"{name}.3" in pages, f"{name} has no page")
            text = full.get(f"{name}.3")
            for part in ("NAME", "LIBRARY", "SYNOPSIS", "DESCRIPTION", '"RETURN VALUE"', '"SEE ALSO"') if text else ():
                check(f".SH {part}\n" in text, f"{name}.3 has no section {part}")
            if text:
                check("Context:" in text or header == "ib_hca.h", f"{name}.3 does not say its context")
                check(name in text.partition(".SH LIBRARY")[0], f"{name}.3: NAME lacks it")
    for name, text in full.items():
        said = " ".join(text.partition(".SH NAME\n")[2].partition("\n.SH ")[0].replace("\\fR", "").replace("\\fB", "").split())
        about = said.partition(" \\- ")[2]
        check(0 < len(about) <= 97, f"{name}: NAME is not one short sentence: {about or said}")
        check(not re.search(r"[:;,]( \(ibal\))?$", about), f"{name}: NAME ends in the middle of a sentence: {about}")
    for name in ("al_reason.3", "al_query_failure.3"):
        check(".SH EXAMPLES\n" in full.get(name, ""), f"{name} has no example")
    check("al_poll_cq" in full.get("ib_wc.3type", "").partition(".SH FUNCTIONS\n")[2].partition(".SH ")[0],
          "ib_wc.3type does not name the functions that take it")
    for name, text in pages.items():
        link = re.match(r"\.so man3/(\S+)\n$", text)
        check(not text.startswith(".so ") or link and link.group(1) in full, f"{name} leads to no page")
    for name, text in full.items():
        # A page that a page names is there; functions of the system are the manual's own.
        for other, section in re.findall(r"^\.BR (\S+) \((\w+)\),?$", text, re.M) + re.findall(r"\\fB(\S+?)\\fR\((\d)\)", text):
            check(f"{other}.{section}" in here or (other, section) in SYSTEM,
                  f"{name} names {other}({section}), which is no page")
        for word in re.findall(r"see above|see below|deviation \d+|\bseed 00\d|issue \d+", text):
            check(False, f"{name} says \"{word}\"")

    # They are set without a complaint, by both programs that set man pages.
    if shutil.which("man"):
        # All at once, and each alone if there is a complaint, which does not name the page.
        for names in [list(full)] + [[name] for name in full]:
            said = run("man", "--warnings", "-E", "UTF-8", "-l", *[work / "pages" / name for name in names],
                       env=os.environ | {"MANWIDTH": "80"})
            clean = said.returncode == 0 and not said.stderr
            check(clean or len(names) > 1, f"man {names[0]}: {said.stderr}")
            if clean and len(names) > 1:
                break
    else:
        absent.append("man-db")
    if shutil.which("mandoc"):
        said = run("mandoc", "-Tlint", "-Wwarning", *[work / "pages" / name for name in full])
        # A page of a build has no date of its own.
        for line in said.stdout.splitlines():
            check("missing date" in line, line.replace(f"{work}/pages/", ""))
    else:
        absent.append("mandoc")

    # man -k ibal finds each, and man finds it by its name.
    if shutil.which("mandb"):
        tree = work / "man"
        for name in pages:
            section = re.search(r"\.(\d)\w*$", name).group(1)
            (tree / f"man{section}").mkdir(parents=True, exist_ok=True)
            (tree / f"man{section}" / name).write_text(pages[name], encoding="utf-8")
        config = work / "config"
        config.write_text(f"MANDB_MAP {tree} {work}/cat\n", encoding="utf-8")
        said = run("mandb", "-q", "-c", "-C", config, tree)
        check(said.returncode == 0 and not said.stderr, f"mandb: {said.stderr}")
        said = run("man", "-C", config, "-M", tree, "-k", "ibal", env=os.environ | {"LC_ALL": "C.UTF-8"})
        found = {f"{name}.{section}" for name, section in re.findall(r"^(\S+) \((\w+)\)", said.stdout, re.M)}
        check(set(pages) <= found, f"man -k ibal does not find: {', '.join(sorted(set(pages) - found))}{said.stderr}")
    else:
        absent.append("man-db")

    # What a comment lacks is said.
    copy = work / "copy"
    for part in ("include", "doc"):
        shutil.copytree(top / part, copy / part, copy_function=shutil.copyfile)
    for folder in [copy / "include", copy / "doc", *(f for f in copy.rglob("*") if f.is_dir())]:
        folder.chmod(0o755)  # a release archive's folders may be read-only
    ours = copy / "include/iba/ib_al.h"
    good = ours.read_text(encoding="utf-8")

    def says(change, sentence):
        """Expects that the generator refuses the header after a change, with a sentence."""
        changed = change(good)
        check(changed != good, f"nothing was changed for: {sentence}")
        ours.write_text(changed, encoding="utf-8")
        refused = generate(copy, work / "none")
        check(refused.returncode == 1 and sentence in refused.stderr,
              f"man.py does not say \"{sentence}\", but: {refused.stderr or 'nothing'}")
        ours.write_text(good, encoding="utf-8")

    def before_the_end(text):
        return lambda header: header.replace("\n/** @} */\n\n#ifdef __cplusplus\n}", f"\n{text}\n/** @}} */\n\n#ifdef __cplusplus\n}}")

    says(before_the_end("al_status al_new(al_h al);"), "al_new: there is no comment")
    says(before_the_end("/** Is new. @param al opening */\nal_status al_new(al_h al);"), "al_new: the comment does not say the context")
    says(before_the_end("/** Is new. **Context: any.** @param ca HCA */\nal_status al_new(al_h al);"),
         "al_new: declared parameters: al; described (@param): ca")
    says(before_the_end("/** Is new. **Context: any.** @param al see above */\nal_status al_new(al_h al);"),
         "al: says nothing of its own")
    says(before_the_end("/** Is new. */\nstruct al_new {\n\tint member;\n};"), "al_new: member has no comment")
    says(lambda header: header.replace("\n#ifdef __cplusplus\n}",
                                       "\n/** Is new. **Context: any.** @param al opening */\nal_status al_new(al_h al);\n"
                                       "\n#ifdef __cplusplus\n}"), "al_new: it stands in no group")
    says(lambda header: header.replace("@snippet reference/open.c open", "@snippet reference/open.c shut", 1),
         "reference/open.c: [shut] does not stand there twice")
    says(lambda header: header.replace("\n/** @} */\n\n#ifdef __cplusplus\n}", "\n#ifdef __cplusplus\n}"), "is not closed")
    # A function that is right needs nothing but its comment.
    ours.write_text(before_the_end("/** Is new. **Context: any.** @param al opening */\nal_status al_new(al_h al);")(good))
    made = generate(copy, work / "more")
    check(made.returncode == 0 and (work / "more/al_new.3").exists(), f"a new function gets no page: {made.stderr}")
finally:
    shutil.rmtree(work)

print(f"{len(full)} pages for {len(functions)} functions, {len(types)} types of queue pairs")
for sentence in errors:
    print(f"WRONG: {sentence}", file=sys.stderr)
if errors:
    sys.exit(1)
if absent:
    print(f"not installed, so not tried: {', '.join(dict.fromkeys(absent))}")
    sys.exit(77)
