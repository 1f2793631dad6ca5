#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Writes the man pages of the API from the comments of the public headers, and of the concept pages beside this file.

usage: man.py --top SOURCE-TREE --out DIRECTORY [--awk AWK] [--version VERSION] [--docdir DIRECTORY]

The pages: of each function (3; the functions of one "@name" block share a page), of each struct, enum and callback type
(3type), of each group of the headers and of each concept page NAME.md (7). No list of names is kept: what a header declares
has a page. A declaration without a group or a comment, a function whose parameters are not described as they are declared, and
a function of ib_al.h or ib_connect.h without a context are errors.
"""
import argparse
import re
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import header  # noqa: E402
import roff  # noqa: E402

# A header, and the pkg-config package of a program or module that uses it.
HEADERS = {"ib_types.h": "ibal", "ib_verbs.h": "ibal", "ib_al.h": "ibal", "ib_connect.h": "ibal", "ib_hca.h": "ibal-ci",
           "ib_uvp.h": "ibal-ci", "ib_soft.h": "ibal", "ib_notice.h": "ibal-ci", "ib_mad.h": "ibal-ci"}
API = "ib_al.h"
APIS = (API, "ib_connect.h")  # whose functions say their context
HEADING = 90  # characters of a NAME line's description
CONTEXT = re.compile(r"\s*\*\*Context:\s+(any|may\s+sleep)\.?\*\*(?:((?<!\.\*\*)[^.]*)\.)?")
# What a parenthesis of a source is, spelled out; the headers' file comments have the abbreviations.
SOURCES = {
    "seed 000": "the guide to the locking of the InfiniBand midlayer",
    "seed 001": "the NDKPI requirements for completion handling",
    "seed 003": "the Software Architecture Specification of the HCA driver",
    "SAS": "the Software Architecture Specification of the HCA driver",
    "seed 004": "InfiniBand in Linux (verbs)",
    "IBTA": "InfiniBand Architecture Specification, Volume 1",
}
SOURCE = re.compile(r"\s*\(((?:IBTA|seeds?|SAS)\b[^()]*)\)|,? (IBTA (?:annex |table )?[A-Z]?\d+(?:\.\d+)*)(?= and Port|[.,:;)\s]|$)")


class Book:
    """All declarations, and what refers to what."""

    def __init__(self, top, awk):
        self.top = top
        self.errors = []
        self.items, self.groups = [], {}
        for name in HEADERS:
            items, groups = header.read(top / "include/iba" / name, name, awk + ["-f", str(top / "doc/xmacro.awk")])
            self.items += items
            for key, title, text in groups:
                have = self.groups.setdefault(key, ["", ""])
                have[0] = have[0] or title
                have[1] = (have[1] + "\n\n" + text).strip()
        self.concepts = {path.stem: path.read_text(encoding="utf-8")
                         for path in sorted((top / "doc/reference").glob("*.md"))}
        self.functions = {}  # name -> name of the page which has it, of section 3
        self.types = {}  # name -> item, which has a page of section 3type
        for item in self.items:
            if item.kind == "function":
                first = next(i for i in self.items if i.together is item.together) if item.together else item
                self.functions[item.name] = first.name
        for item in self.items:
            if item.kind in ("struct", "enum") or item.kind == "type" and "(*" in item.code:
                self.types[item.name] = item
        roff.functions = self.functions
        for item in self.items:
            self.check(item)
        for key, (title, _) in self.groups.items():
            if not title:
                self.errors.append(f"the group {key} has no title: @defgroup {key} TITLE in {API}")

    def wrong(self, item, text):
        self.errors.append(f"{item.file}:{item.line}: {item.name}: {text}")

    def text_of(self, item):
        """The text of an item, or of the block that it stands in."""
        return item.together.text if item.together else item.comment.text

    def check(self, item):
        """Rules for a declaration, so that its page says all."""
        if not item.comment.text and not item.together:
            self.wrong(item, "there is no comment (/** ... */ before it)")
        if not item.group:
            self.wrong(item, "it stands in no group (between @defgroup or @addtogroup ... @{ and @})")
        for member in item.members:
            if not member.text:
                self.wrong(item, f"{member.name} has no comment (/**< ... */)")
        comment = item.comment
        if item.kind != "function":
            return
        if item.file in APIS and not CONTEXT.search(self.text_of(item)):
            self.wrong(item, 'the comment does not say the context ("**Context: any.**" or "**Context: may sleep.**")')
        if item.together or item.file not in (*APIS, "ib_hca.h"):
            return
        declared = [re.search(r"(\w+)(?:\[\])?$", p.strip()).group(1) for p in parameters(item.code) if p.strip() != "..."]
        described = [name for names, _ in comment.params for name in names]
        if declared != described:
            self.wrong(item, f"declared parameters: {', '.join(declared) or 'none'}; described (@param): "
                             f"{', '.join(described) or 'none'}")
        for names, text in comment.params + comment.retvals:
            if not text or re.search(r"\bsee (above|below)\b|^as (above|before)", text):
                self.wrong(item, f"{', '.join(names)}: says nothing of its own: \"{text}\"")

    def link(self, text):
        """Pages that a text names, as (name, section)."""
        found = {(self.functions[name], "3") for name in re.findall(r"\b([a-z]\w+)\(\)", text) if name in self.functions}
        found |= {(name, section) for name, section in re.findall(r"\b([a-z][\w.-]+)\((\d)\)", text)}
        return found | {(name, "3type") for name in re.findall(r"\b(?:struct |enum |const )?(\w+)\b", text)
                        if name in self.types and name not in self.functions}


def parameters(code):
    """Parameters of a function's declaration."""
    inside = code[code.index("(") + 1:code.rindex(")")]
    return [] if inside.strip() in ("", "void") else inside.split(",")


def sources(text):
    """Takes the sources out of a text: returns the text, and each source spelled out."""
    found = []

    def take(match):
        last = None
        for part in re.split(r"\s*[;,]\s*|\s+and\s+", " ".join((match.group(1) or match.group(2)).split())):
            part = re.sub(r"^seeds (\d)", r"seed \1", part)
            part = re.sub(r"^(00\d)$", r"seed \1", part)
            key = next((key for key in SOURCES if part.startswith(key)), None)
            if key:
                last = SOURCES[key]
                rest = part[len(key):].strip()
                found.append(f"{last}: {rest}" if rest else last)
            elif last:
                found.append(f"{last}: {part}")
        return ""

    return SOURCE.sub(take, text), list(dict.fromkeys(found))


def brief(text):
    """The first sentence."""
    text = CONTEXT.sub("", sources(text)[0])
    first = re.split(r"(?<=[.:])\s+(?=[A-Z#*`])|\n\n", text.strip())[0]
    return " ".join(first.split()).rstrip(".:")


def sentence(text):
    return text[0].upper() + text[1:] + ("" if text.endswith(".") else ".")


def heading(text):
    """A sentence as the description of a NAME line, in which "man -k ibal" finds the library's name. A long sentence ends
    where its first part is whole: before a colon, a semicolon, or a second sentence."""
    text = roff.plain(brief(text))
    if len(text) > HEADING:
        parts = re.split(r"(?:[:;]|\.)\s+(?![^()]*\))", text)
        text = parts[0]
    if len(text) > 1 and not text[1].isupper() and not text[1].isdigit():
        text = text[0].lower() + text[1:]
    return text if "ibal" in text.split() else f"{text} (ibal)"


def see_also(page, book, texts, own):
    """SEE ALSO, from what the page names."""
    found = set()
    for text in texts:
        found |= book.link(text)
    found.discard(own)
    found = sorted(found, key=lambda entry: (entry[1], entry[0]))
    if found:
        page.section("SEE ALSO")
        page.line(",\n".join(f".BR {name} ({section})" for name, section in found))


def struct_members(page, item, cited):
    """Members of a struct or values of an enum, with what each means. Reserved members are one sentence."""
    zero = [m.name for m in item.members if m.text == "zero"]
    for member in item.members:
        if member.text == "zero":
            continue
        about = f" = {member.value}" if member.value else ""
        if member.type:
            about = re.sub(r"\b" + re.escape(member.name.split(".")[-1]) + r"\b", "", member.type, count=1).strip()
            about = f" ({re.sub(r' +', ' ', about)})"
        text, more = sources(member.text)
        cited += more
        page.tagged(f"\\fB{roff.code(member.name)}\\fR{roff.code(about)}", text)
    if zero:
        page.text(", ".join(f"`{name}`" for name in zero) + (" is" if len(zero) == 1 else " are") + " zero.")


def standards(page, found):
    if found:
        page.section("STANDARDS")
        for source in dict.fromkeys(found):
            page.tagged("\\(bu", source[0].upper() + source[1:] + ".", 2)


NOT_IN_PNP = "but not in a PnP callback"
ENDS = "a call that ends an object"
CALLER = {
    "any": "**Context: any{}.** The call does not sleep: any thread may make it, and any callback. See ibal_callbacks(7).",
    ENDS: "**Context: any{}.** The call sleeps with #AL_DESTROY_SYNC only: otherwise any thread may make it, and any "
          "callback. See ibal_callbacks(7).",
    "may sleep": "**Context: may sleep{}.** Any thread may make the call, and a callback of al_reg_pnp(); in every other "
                 "callback the call is refused with #AL_INVALID_CONTEXT. See ibal_callbacks(7).",
    NOT_IN_PNP: "**Context: may sleep{}.** Any thread may make the call; in every callback it is refused with "
                "#AL_INVALID_CONTEXT. See ibal_callbacks(7).",
}


def library(page, file):
    package = roff.code(HEADERS[file])
    page.line(f"ibal (libibal, \\fIpkg-config \\-\\-cflags \\-\\-libs {package}\\fR)")


def function_page(book, first):
    """The page of a function, or of the functions of a "@name" block."""
    together = [i for i in book.items if first.together and i.together is first.together] or [first]
    text = book.text_of(first)
    page = roff.Page(first.name, "3", book.version)
    page.section("NAME")
    page.name([i.name for i in together], heading(text))
    page.section("LIBRARY")
    library(page, first.file)
    page.section("SYNOPSIS")
    page.line(f".nf\n.B #include <iba/{first.file}>\n.PP")
    for item in together:
        page.line(roff.prototype(item.code))
    page.line(".fi")

    page.section("DESCRIPTION")
    text, cited = sources(text)
    context = CONTEXT.search(text) if first.file in APIS else None
    page.blocks(CONTEXT.sub("", text) if context else text)
    if len(together) > 1:
        for item in together:
            page.tagged(f"\\fB{roff.code(item.name)}\\fR()", item.comment.text)
    if context:
        but = " ".join((context.group(2) or "").split())
        kind = NOT_IN_PNP if NOT_IN_PNP in but else " ".join(context.group(1).split())
        if kind == "any" and any("al_destroyed_cb" in item.code for item in together):
            kind = ENDS
        page.text(CALLER[kind].format(but if but.startswith((",", ";")) or not but else f" {but}"))
    comment = first.comment
    structs = [n for n in dict.fromkeys(re.findall(r"\bstruct (\w+)", first.code))
               if n in book.types and book.types[n].members]
    if comment.params and first in together:
        page.section("PARAMETERS")
        for names, about in comment.params:
            about, more = sources(about)
            cited += more
            page.tagged(", ".join(f"\\fI{name}\\fR" for name in names), about)
    for name in structs:
        page.subsection(f"Members of struct {name}")
        struct_members(page, book.types[name], cited)

    page.section("RETURN VALUE")
    kind = first.code.split("(")[0].rsplit(None, 1)[0]
    if kind == "al_status":
        page.text("#AL_SUCCESS, or a status that says why the call was refused"
                  + (" (ERRORS)." if comment.retvals or first.file not in APIS
                     else ": those of ibal_errors(7), which every function can return."))
        if any(re.match(r"(in: .*)?(out|written)\b", about) for _, about in comment.params):
            page.text("Results are written only with #AL_SUCCESS, unless their parameter says otherwise.")
        for about in comment.returns:
            page.blocks(sentence(about))
    elif kind == "void":
        page.text("None.")
    else:
        for about in comment.returns or [brief(text)]:
            page.blocks(sentence(about))
    if comment.retvals:
        page.section("ERRORS")
        for names, about in comment.retvals:
            page.tagged(", ".join(f"\\fB{name}\\fR" for name in names), about)
        if first.file in APIS:
            page.text("And the statuses that every function can return: ibal_errors(7).")
    if comment.snippets:
        page.section("EXAMPLES")
        whole = f"{book.docdir}/examples/{comment.snippets[0][0]}"
        page.text(f"A part of `{whole}`." if whole.endswith(".h") else f"The whole program is `{whole}`. "
                  "Its function `must()` ends the program if a call is refused.")
        for file, mark in comment.snippets:
            page.example(snippet(book.top, file, mark))
    standards(page, cited)
    used = [text, first.code] + [about for _, about in comment.params] + comment.returns
    used += [f"{first.group}(7)"] + (["ibal_callbacks(7)", "ibal_errors(7)"] if first.file in APIS else [])
    used += [f"{i.name}()" for i in book.items if i.kind == "function" and i.group == first.group and not i.together]
    used += [m.text for name in structs for m in book.types[name].members]
    see_also(page, book, used, (first.name, "3"))
    for item in together[1:]:
        book.write(f"{item.name}.3", f".so man3/{first.name}.3\n")
    book.write(f"{first.name}.3", page.end())


def type_page(book, item):
    """The page of a struct, an enum, or a callback type."""
    page = roff.Page(item.name, "3type", book.version)
    text, cited = sources(item.comment.text)
    page.section("NAME")
    page.name([item.name], heading(item.comment.text))
    page.section("LIBRARY")
    library(page, item.file)
    page.section("SYNOPSIS")
    page.line(f".nf\n.B #include <iba/{item.file}>\n.PP")
    if item.kind == "struct":
        page.line(roff.declaration(item.code))
    elif item.kind == "enum":
        page.line(roff.declaration(("typedef " if item.code.startswith("typedef") else "")
                                   + f"enum {item.name} {{ ... }}"
                                   + (f" {item.name};" if item.code.startswith("typedef") else ";")))
    else:
        page.line(roff.declaration(" ".join(item.code.split())))
    page.line(".fi")
    page.section("DESCRIPTION")
    page.blocks(text)
    for names, about in item.comment.params:
        page.tagged(", ".join(f"\\fI{name}\\fR" for name in names), about)
    if item.members:
        struct_members(page, item, cited)
    users = [f for f in book.items if f.kind == "function" and re.search(rf"\b{item.name}\b", f.code)]
    if item.name == "al_status":
        page.subsection("Statuses by function")
        for member in item.members:
            for names, about, function in book.causes():
                if member.name in names:
                    page.tagged(f"\\fB{member.name}\\fR from \\fB{function.name}\\fR(3)", about)
        users = []
    if users:
        page.section("FUNCTIONS")
        pages = dict.fromkeys(book.functions[f.name] for f in users)
        page.text("Taken or returned by " + ", ".join(f"{name}()" for name in pages) + ".")
    standards(page, cited)
    holders = [f"struct {s.name}" for s in book.items if s.kind == "struct" and s.name != item.name
               and any(re.search(rf"\b{item.name}\b", m.type + " " + m.text) for m in s.members)]
    see_also(page, book, [text, item.code] + holders + [m.text for m in item.members]
             + [f"{f.name}()" for f in users] + [f"{item.group}(7)"], (item.name, "3type"))
    book.write(f"{item.name}.3type", page.end())


def group_page(book, key):
    """The page of a group: an overview of its functions, types and constants."""
    title, text = book.groups[key]
    page = roff.Page(key, "7", book.version)
    page.section("NAME")
    page.name([key], f"{title[0].lower() if not title[1:2].isupper() else title[0]}{title[1:]} (ibal)")
    page.section("LIBRARY")
    library(page, next((i.file for i in book.items if i.group == key), API))
    page.section("DESCRIPTION")
    page.blocks(sources(text)[0])
    mine = [i for i in book.items if i.group == key]
    functions = [i for i in mine if i.kind == "function"]
    for what, items in (("FUNCTIONS", functions),
                        ("TYPES", [i for i in mine if i.kind in ("struct", "enum", "type")]),
                        ("CONSTANTS", [i for i in mine if i.kind == "constant"])):
        if items:
            page.section(what)
        for item in items:
            first = book.functions.get(item.name, item.name) if item.kind == "function" else item.name
            if first != item.name:
                continue
            value = re.sub(r"^#define \w+(\([^)]*\))?\s*", "", item.code) if item.kind == "constant" else ""
            section = "(3)" if item.kind == "function" else "(3type)" if item.name in book.types else ""
            others = sum(1 for f in book.functions.values() if item.kind == "function" and f == first) - 1
            more = f" and {others} others" if others > 0 else f" = {roff.code(value)}" if value else ""
            page.tagged(f"\\fB{roff.code(item.name)}\\fR{section}{more}",
                        sentence(brief(book.text_of(item) if item.kind == "function" else item.comment.text)))
    see_also(page, book, [text] + [f"{i.name}()" for i in functions] + ["ibal(7)"], (key, "7"))
    book.write(f"{key}.7", page.end())


def concept_page(book, key):
    """The page of a concept, from its Markdown."""
    text = book.concepts[key]
    title = re.match(r"# (.*?)\s*\{#(\w+)\}\n", text)
    if not title or title.group(2) != key:
        book.errors.append(f"doc/reference/{key}.md: the first line is not \"# TITLE {{#{key}}}\"")
        return
    page = roff.Page(key, "7", book.version)
    page.section("NAME")
    page.name([key], f"{title.group(1)[0].lower()}{title.group(1)[1:]} (ibal)")
    page.section("DESCRIPTION")
    text = re.sub(r"<!--.*?-->\n?", "", text[title.end():], flags=re.S)
    text = re.sub(r"^@snippet (\S+) (\S+)$",
                  lambda m: "```c\n" + snippet(book.top, m.group(1), m.group(2)) + "\n```", text, flags=re.M)
    text, cited = sources(text)
    page.blocks(text)
    standards(page, cited)
    see_also(page, book, [text, "ibal(7)"], (key, "7"))
    book.write(f"{key}.7", page.end())


def snippet(top, file, mark):
    """The lines between two marks [MARK] of an example, which the tests compile and run."""
    lines = (top / "doc/examples" / file).read_text(encoding="utf-8").splitlines()
    marks = [n for n, line in enumerate(lines) if f"[{mark}]" in line]
    if len(marks) != 2:
        raise header.Wrong(f"doc/examples/{file}: [{mark}] does not stand there twice")
    part = [line.expandtabs(8) for line in lines[marks[0] + 1:marks[1]]]
    indent = min(len(line) - len(line.lstrip()) for line in part if line)
    return "\n".join(line[indent:] for line in part)


def report(book):
    """Ends the program if a declaration or a page breaks a rule."""
    for error in book.errors:
        print(f"man.py: {error}", file=sys.stderr)
    if book.errors:
        sys.exit(1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--top", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--awk", default="awk")
    parser.add_argument("--version", default="")
    parser.add_argument("--docdir", default="doc")
    given = parser.parse_args()
    try:
        book = Book(given.top.resolve(), given.awk.split())
        book.version, book.docdir = given.version, given.docdir
        report(book)
        written = {}
        book.write = written.__setitem__
        book.causes = lambda: [(names, about, f) for f in book.items for names, about in f.comment.retvals]
        for item in book.items:
            if item.kind == "function" and book.functions[item.name] == item.name:
                function_page(book, item)
            elif book.types.get(item.name) is item:
                type_page(book, item)
        for key in book.groups:
            group_page(book, key)
        for key in book.concepts:
            concept_page(book, key)
    except header.Wrong as error:
        sys.exit(f"man.py: {error}")
    report(book)
    given.out.mkdir(parents=True, exist_ok=True)
    for old in given.out.glob("*.[37]*"):
        if old.name not in written:
            old.unlink()
    for name, text in written.items():
        (given.out / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
