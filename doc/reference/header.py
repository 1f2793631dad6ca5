# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Reads the public headers: every declaration with its Doxygen comment. man.py makes pages of what this module returns.

The layout of the headers is the contract, as in al/mkmap.sh: a declaration starts in column one, its comment stands
directly before it ("/**") or behind it on its line ("/**<"), and a group ("@{" to "@}") has what stands between.
"""
import re
import subprocess
from dataclasses import dataclass, field


@dataclass
class Comment:
    """A Doxygen comment: the running text, and its commands."""
    text: str = ""
    params: list = field(default_factory=list)   # (names, text)
    retvals: list = field(default_factory=list)  # (names, text)
    returns: list = field(default_factory=list)  # text
    snippets: list = field(default_factory=list) # (file, mark)
    group: tuple = None                          # (command, name, title) of @defgroup, @addtogroup, @name
    opens: bool = False
    closes: bool = False


@dataclass
class Member:
    """A member of a struct ("wr.rdma.rkey"), or a value of an enum."""
    name: str
    text: str
    type: str = ""
    value: str = ""


@dataclass
class Item:
    """A declaration."""
    kind: str  # function, struct, enum, type, constant
    name: str
    code: str  # the declaration without comments
    comment: Comment
    file: str
    line: int
    group: str = None
    together: Comment = None  # the "@name" block that the declaration stands in
    members: list = field(default_factory=list)


class Wrong(Exception):
    """The header breaks a rule of its layout."""


COMMANDS = ("param", "retval", "return", "snippet", "defgroup", "addtogroup", "name", "file", "brief", "par")


def parse_comment(raw):
    """Parses the inside of a comment."""
    lines = [re.sub(r"^\s*\*(?: |$)", "", line) for line in raw.splitlines()]
    text = "\n".join(lines).strip()
    result = Comment()
    result.opens = bool(re.search(r"(?<!\S)@\{", text))
    result.closes = bool(re.search(r"(?<!\S)@\}", text))
    text = re.sub(r"(?<!\S)@[{}]", "", text)
    parts = re.split(r"(?<!\S)@(\w+)(?:\[[a-z,]+\])?[ \t]*", text)
    result.text = parts[0].strip()
    for command, rest in zip(parts[1::2], parts[2::2]):
        rest = rest.strip()
        if command not in COMMANDS:
            raise Wrong(f"@{command} is a command that doc/reference/header.py does not know")
        if command in ("param", "retval"):
            names = re.match(r"\w+(?:,\s*\w+)*", rest)
            if not names:
                raise Wrong(f"@{command} names nothing")
            entry = (re.split(r",\s*", names.group(0)), rest[names.end():].strip())
            (result.params if command == "param" else result.retvals).append(entry)
        elif command == "return":
            result.returns.append(rest)
        elif command == "par" and rest == "Example":
            pass  # the heading of a @snippet, which Doxygen needs
        elif command == "snippet":
            result.snippets.append(tuple(rest.split()[:2]))
            # What stands after the line is text again.
            result.text += "\n\n" + "\n".join(rest.splitlines()[1:]).strip()
        elif command in ("defgroup", "addtogroup"):
            head, _, body = rest.partition("\n")
            name, _, title = head.partition(" ")
            result.group = (command, name, title.strip())
            result.text = (result.text + "\n" + body).strip()
        elif command == "name":
            head, _, body = rest.partition("\n")
            result.group = (command, head.strip(), head.strip())
            result.text = (result.text + "\n" + body).strip()
        else:
            result.text = (result.text + "\n" + rest).strip()
    return result


TOKEN = re.compile(r"""(?P<after>/\*\*<.*?\*/)|(?P<doc>/\*\*(?!/).*?\*/)|(?P<plain>/\*.*?\*/)
                   |(?P<directive>^[ \t]*\#(?:[^\n]*\\\n)*[^\n]*)|(?P<code>[^/\#]+|.)""", re.S | re.M | re.X)


def inner(token):
    """The text within a comment's marks."""
    return re.sub(r"^/\*\*<?|\*/$", "", token, flags=re.S)


def members_of(tokens):
    """Members of a struct with their comments, nested ones by their path."""
    flat = ""
    notes = []
    for kind, text in tokens:
        if kind in ("after", "before"):
            mark = "\0" if kind == "after" else "\x01"
            flat += f"{mark}{len(notes)}{mark}"
            notes.append(re.sub(r"\s*\n\s*\*?\s*", " ", inner(text)).strip().removeprefix("* "))
        elif kind == "code":
            flat += text
    body = flat[flat.index("{") + 1:flat.rindex("}")]
    return nested(body, notes)


def nested(body, notes):
    """Splits a body at its semicolons, outside of inner braces."""
    result, depth, start = [], 0, 0
    pieces = []
    for at, char in enumerate(body):
        if char == "{":
            depth += 1
        elif char == "}":
            depth -= 1
        elif char == ";" and depth == 0:
            note = re.match(r"\s*\0(\d+)\0", body[at + 1:])
            text = re.sub(r"^\s*(\0\d+\0)?", "", body[start:at])
            before = re.match(r"\s*\x01(\d+)\x01", text)
            text = re.sub(r"\x01\d+\x01", "", text)
            found = note or before
            pieces.append((text, notes[int(found.group(1))] if found else ""))
            start = at + 1
    for text, note in pieces:
        if "{" in text:
            name = text[text.rindex("}") + 1:].strip()
            result.append(Member(name, note, text.split()[0]))
            for inside in nested(text[text.index("{") + 1:text.rindex("}")], notes):
                inside.name = f"{name}.{inside.name}"
                result.append(inside)
            continue
        text = re.sub(r"\0\d+\0", "", text)
        pointer = re.search(r"\(\*(\w+)\)", text)
        name = pointer.group(1) if pointer else re.search(r"(\w+)(?:\[[^\]]*\])*\s*$", text).group(1)
        result.append(Member(name, note, " ".join(text.split())))
    return result


def values_of(tokens):
    """Values of an enum with their comments."""
    result = []
    text = ""
    def take(note):
        nonlocal text
        text = text.split("{")[-1].strip().strip(",").strip()
        found = re.match(r"(\w+)(?:\s*=\s*(.*))?$", text, re.S)
        if found:
            result.append(Member(found.group(1), note, value=" ".join((found.group(2) or "").split())))
        text = ""
    for kind, token in tokens:
        if kind == "after":
            take(re.sub(r"\s*\n\s*\*?\s*", " ", inner(token)).strip())
        elif kind == "code":
            text += token
    return result


def declaration(tokens):
    """The code of tokens without comments, as the header lays it out."""
    text = "".join(text if kind == "code" else "" for kind, text in tokens)
    return re.sub(r"[ \t]+$", "", text, flags=re.M).strip()


def read(path, name, awk):
    """Reads a header; returns its items and its groups, (name, title, text) in their order."""
    text = subprocess.run(awk + [str(path)], check=True, capture_output=True, text=True).stdout
    text = re.sub(r"#ifdef __cplusplus.*?#endif", lambda m: "\n" * m.group(0).count("\n"), text, flags=re.S)
    items, groups = [], []
    stack, pending, tokens, line = [], None, [], 1
    fresh = None  # the item that a comment behind it on its line belongs to

    def finish(at):
        nonlocal tokens, pending, fresh
        item = make(declaration(tokens), tokens, pending, name, at)
        if item:
            item.group = next((group for kind, group in reversed(stack) if kind == "group"), None)
            item.together = next((block for kind, block in reversed(stack) if kind == "name"), None)
            items.append(item)
        tokens, pending, fresh = [], None, item

    depth = 0
    for match in TOKEN.finditer(text):
        kind, token = match.lastgroup, match.group(0)
        try:
            if kind == "doc" and not declaration(tokens):
                comment = parse_comment(inner(token))
                if comment.closes:
                    if not stack:
                        raise Wrong("@} closes no group")
                    stack.pop()
                elif comment.group and comment.opens:
                    command, key, title = comment.group
                    if command == "name":
                        stack.append(("name", comment))
                    else:
                        stack.append(("group", key))
                        groups.append((key, title, comment.text))
                else:
                    pending = comment
                tokens = []
            elif kind == "directive":
                found = re.match(r"\s*#define ([A-Z]\w*)(\([^)]*\))?[ \t]+(\S[^\n]*?|[^\n]*\\\n.*?)$", token, re.S)
                note = re.search(r"/\*\*<(.*?)\*/", token, re.S)
                if found and not re.search(r"_(LIST|BITS)$", found.group(1)):
                    after = note.group(1) if note else ""
                    comment = parse_comment(after) if after else pending
                    code = re.sub(r"\s*/\*\*<.*", "", token, flags=re.S)
                    if comment:
                        items.append(Item("constant", found.group(1), " ".join(code.replace("\\\n", " ").split()),
                                          comment, name, line,
                                          next((g for k, g in reversed(stack) if k == "group"), None)))
                pending = None
            elif kind == "doc":
                tokens.append(("before", token))  # of the member that follows
            elif kind in ("after", "plain"):
                if kind == "after" and fresh:
                    fresh.comment = parse_comment(inner(token))
                tokens.append((kind, token))
            else:
                for piece in re.finditer(r"[^{};]+|[{};]", token):
                    at, piece = line + token.count("\n", 0, piece.start()), piece.group(0)
                    tokens.append(("code", piece))
                    depth += {"{": 1, "}": -1}.get(piece, 0)
                    if depth == 0 and (piece == ";" or piece == "}" and declaration(tokens).startswith("static inline")):
                        finish(at)
                    elif "\n" in piece:
                        fresh = None
        except Wrong as error:
            raise Wrong(f"{name}:{line}: {error}") from None
        line += token.count("\n")
    if stack:
        raise Wrong(f"{name}: the group {stack[-1][1]} is not closed by @}}")
    return items, groups


def make(code, tokens, comment, name, line):
    """Makes the item of a declaration; None: a declaration that readers need not see."""
    comment = comment or Comment()
    if re.match(r"(typedef )?enum\b", code):
        found = re.match(r"(?:typedef )?enum (\w+)", code)
        item = Item("enum", found.group(1), code, comment, name, line)
        item.members = values_of(tokens)
        return item
    if re.match(r"(typedef )?(struct|union) \w+ \{", code):
        item = Item("struct", re.search(r"(?:struct|union) (\w+)", code).group(1), code, comment, name, line)
        item.members = members_of(tokens)
        return item
    if re.match(r"(struct|union) \w+;$", code):
        return None
    pointer = re.match(r"typedef [^;]*\(\*(\w+)\)", code)
    if pointer:
        return Item("type", pointer.group(1), code, comment, name, line)
    if code.startswith("typedef"):
        return Item("type", re.search(r"(\w+);$", code).group(1), code, comment, name, line)
    found = re.match(r"(?:static inline )?[a-z][a-z0-9_ ]*[ *](\w+)\(([^)]*)\)", code)
    if found:
        code = found.group(0) + ";"
        return Item("function", found.group(1), " ".join(code.split()), comment, name, line)
    return None
