# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Sets text with the marks of our comments and Markdown pages as a man page."""
import re
import textwrap

MARK = re.compile(r"`([^`]+)`|\*\*(.+?)\*\*|(?<![\w*])\*([^*\s][^*]*?)\*(?!\w)|#([A-Z][A-Z0-9_]+)\b|\[([^\]]+)\]\(([^)]+)\)"
                  r"|\b([a-z]\w+)\(\)|\b([a-z][\w.-]+)\((\d)\)", re.S)

functions = {}  # functions that have a page; a name of another one is no reference


def escape(text):
    """Characters that roff takes for its own."""
    return (text.replace("\\", "\\e").replace("^", "\\(ha").replace("~", "\\(ti").replace("`", "\\(ga")
            .replace("\u2192", "\\(->").replace("\u2190", "\\(<-").replace("\u2013", "\\(en"))


def code(text):
    """Text that is typed as it stands."""
    return escape(text).replace("-", "\\-").replace("'", "\\(aq")


def plain(text):
    """Text without marks, for a NAME line."""
    return MARK.sub(lambda m: next(g for g in (m.group(1), m.group(2), m.group(3), m.group(4), m.group(5), m.group(7)
                                               and m.group(7) + "()", m.group(8)) if g), text)


def inline(text):
    """Text with marks."""
    result, at = "", 0
    for mark in MARK.finditer(text):
        result += escape(text[at:mark.start()])
        at = mark.end()
        typed, strong, stress, constant, link, _, function, page, section = mark.groups()
        call = re.fullmatch(r"(\w+)\(\)", typed or "")
        if call and call.group(1) in functions:
            result += f"\\fB{call.group(1)}\\fR(3)"
        elif typed or constant:
            result += f"\\fB{code(typed or constant)}\\fR"
        elif strong:
            result += f"\\fB{inline(strong)}\\fR".replace("\\fR", "\\fB", inline(strong).count("\\fR"))
        elif stress:
            result += f"\\fI{escape(stress)}\\fR"
        elif link:
            result += inline(link)
        elif function:
            result += f"\\fB{function}\\fR(3)" if function in functions else f"\\fB{function}\\fR()"
        else:
            result += f"\\fB{page}\\fR({section})"
    return result + escape(text[at:])


def guard(line):
    """A line of text that does not look like a request."""
    return "\\&" + line if line.startswith((".", "'")) else line


def fill(text):
    """Lines of a paragraph: a sentence begins a line, and no line is long."""
    lines = []
    for sentence in re.split(r"(?<=[.?!])\s+(?=[A-Z\\])", inline(" ".join(text.split()))):
        lines += textwrap.wrap(sentence, 78, break_long_words=False, break_on_hyphens=False)
    return "\n".join(guard(line) for line in lines)


def verbatim(text):
    return "\n".join(guard(code(line.rstrip())) if line.strip() else "" for line in text.split("\n"))


def prototype(text):
    """A function's declaration as SYNOPSIS has it: types bold, names italic, one parameter per line if it is long."""
    head, inside = text[:text.index("(")], text[text.index("(") + 1:text.rindex(")")]
    split = re.match(r"(.*[ *])(\w+)$", head)
    words = [w.strip() for w in inside.split(",")]
    long = len(text) > 76
    out = []
    for word in words:
        found = re.match(r"(.*[ *])(\w+)$", word)
        out.append(f"\\fB{found.group(1)}\\fI{found.group(2)}\\fR" if found and word != "void" else f"\\fB{word}\\fR")
    start = f"\\fB{split.group(1)}{split.group(2)}(\\fR"
    if long:
        lines, line, width = [], start, len(head) + 1
        for number, (word, shown) in enumerate(zip(words, out)):
            end = ")" if number == len(words) - 1 else ","
            if width + len(word) > 74 and number:
                lines.append(line)
                line, width = "    ", 4
            line += shown + f"\\fB{end}\\fR" + ("" if end == ")" else " ")
            width += len(word) + 2
        return "\n".join(part.rstrip() for part in lines + [line + "\\fB;\\fR"])
    return start + "\\fB, \\fR".join(out) + "\\fB);\\fR"


def declaration(text):
    return "\n".join(f"\\fB{guard(code(line.expandtabs(4)))}\\fR" if line.strip() else "" for line in text.split("\n"))


class Page:
    """A page under construction."""

    def __init__(self, name, section, version):
        self.out = ['\'\\" t', ".\\\" SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB",
                    ".\\\" Made from the headers' comments by doc/reference/man.py.",
                    f'.TH {name} {section} "" "ibal {version}" "ibal manual"'.replace("ibal \"", "ibal\""), ".nh", ".ad l"]
        self.fresh = True  # a heading precedes: no .PP

    def line(self, text):
        self.out.append(text)

    def section(self, title):
        self.out.append(f'.SH "{title}"' if " " in title else f".SH {title}")
        self.fresh = True

    def subsection(self, title):
        self.out.append(f'.SS "{title}"')
        self.fresh = True

    def name(self, names, text):
        self.out.append(",\n".join(names) + f" \\- {escape(text)}")

    def text(self, text):
        if not self.fresh:
            self.out.append(".PP")
        self.out.append(fill(text))
        self.fresh = False

    def tagged(self, tag, text, width=None):
        self.out.append(f".IP {tag} {width}" if width else f".TP\n{guard(tag)}")
        self.out.append(fill(text))
        self.fresh = False

    def example(self, text):
        if not self.fresh:
            self.out.append(".PP")
        self.out += [".in +4n", ".EX", verbatim(text), ".EE", ".in"]
        self.fresh = False

    def table(self, rows):
        """A table, whose first row is its heading. Columns share the line by what they hold."""
        shown = [[plain(cell) for cell in row] for row in rows]
        most = [max(len(cell) for cell in column) for column in zip(*shown)]
        least = [max(len(word) for cell in column for word in cell.split() or [""]) for column in zip(*shown)]
        room = 68 - 3 * len(most)
        if sum(most) > room:
            spare = max(room - sum(least), 0)
            want = [m - l for m, l in zip(most, least)]
            most = [l + spare * w // max(sum(want), 1) for l, w in zip(least, want)]
        self.out += [".TS", "allbox;", " ".join(f"lbw({n}n)" for n in most), " ".join(f"lw({n}n)" for n in most) + "."]
        for row, plain_row in zip(rows, shown):
            self.out.append("\t".join(f"T{{\n{fill(cell)}\nT}}" if len(text) > width else inline(cell)
                                      for cell, text, width in zip(row, plain_row, most)))
        self.out.append(".TE")
        self.fresh = False

    def blocks(self, text):
        """Text of several paragraphs, lists, tables and examples, in Markdown."""
        lines = text.split("\n")
        at = 0
        while at < len(lines):
            line = lines[at]
            if not line.strip():
                at += 1
            elif line.startswith("```"):
                end = next(n for n in range(at + 1, len(lines)) if lines[n].startswith("```"))
                self.example("\n".join(lines[at + 1:end]).expandtabs(8))
                at = end + 1
            elif line.startswith("#") and not re.match(r"#[A-Z]", line):
                self.subsection(line.lstrip("#").split("{#")[0].strip())
                at += 1
            elif line.startswith("|"):
                rows = []
                while at < len(lines) and lines[at].startswith("|"):
                    rows.append([cell.strip() for cell in lines[at].strip().strip("|").split("|")])
                    at += 1
                self.table([row for row in rows if not re.fullmatch(r"[-: ]+", "".join(row))])
            else:
                item = re.match(r"\s*([-*]|\d+\.)\s+(?=\S)", line)
                part = [line[item.end():] if item else line]
                at += 1
                while at < len(lines) and lines[at].strip() and not re.match(r"\s*([-*]|\d+\.)\s|```|\|", lines[at]):
                    part.append(lines[at])
                    at += 1
                if item:
                    tag = "\\(bu 2" if item.group(1) in "-*" else f"{item.group(1)} 4"
                    self.out += [f".IP {tag}", fill(" ".join(part))]
                    self.fresh = False
                else:
                    self.text(" ".join(part))

    def end(self):
        return "\n".join(part for part in self.out if part is not None) + "\n"
