#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""al_perf_hostile.py AL_PERF NAME: nonsense for an al_perf that listens as NAME with --keep, and for one that connects.

The agent is IBAL_AGENT's. Each al_perf must report the error in a sentence, and end or continue.
"""
import socket
import struct
import subprocess
import sys

al_perf, name = sys.argv[1:]
RECORD, FAILURE = 0, 1
HEAD = struct.Struct("=II")
HELLO = "version type flags ops depth signal chain qps mtu inline rd_atomic optional sl zero".split()
CARD = 56  # where it begins in a hello
ROW, COUNT, CHECK, OVER, BYE = range(1, 6)
WORD = struct.Struct("=4I2Q2I4Q2Id3Q4Qd")
failures = 0


def wrong(*text):
    global failures
    failures += 1
    print("FAIL:", *text)


def tell(s, record, version=2, kind=RECORD):
    s.send(HEAD.pack(version, kind) + record)


def hear(s):
    data = s.recv(4096)
    assert data, "gone without a word"
    return HEAD.unpack(data[:8])[1], data[8:]


# ---- an al_perf that connects ---------------------------------------------------------------------------


def comes(answer, *options):
    """Returns al_perf's exit status, its output and its hello, with answer(socket) as the far end."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(b"\0ibal/al_perf/" + name.encode() + b"x")
        listener.listen()
        command = [al_perf, "-n", "5", "-w", "0", *options, "agent:" + name + "x"]
        near = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
        s = listener.accept()[0]
        s.settimeout(100)
        hello = hear(s)[1]
        answer(s, hello)
        if answer is leave:
            s.close()
        said = near.communicate()[1].decode()
        s.close()
    return near.returncode, said, hello


def leave(_, __):
    pass


status, said, good = comes(leave, "--check", "write", "send", "read")
if status != 2 or "the other end has gone" not in said:
    wrong("left alone:", status, said)
assert len(good) == 96


def welcomed(at=0, data=b"", *more, ops=lambda asked: asked):
    """A welcome with data in its card and the remaining operations, and then further bytes."""
    card = good[CARD : CARD + at] + data + good[CARD + at + len(data) :]

    def answer(s, hello):
        tell(s, struct.pack("=II", 16, ops(*struct.unpack_from("=I", hello, 12))) + card)
        for record in more:
            hear(s)  # the row
            hear(s)  # its queue pairs' numbers
            tell(s, record)

    return answer


for answer, pattern in [
    (lambda s, _: tell(s, b"x"), "another version"),
    (lambda s, _: tell(s, b"x" * 1000), "another version"),
    (lambda s, _: tell(s, b"", version=3), "another version"),
    (lambda s, _: s.send(b"abc"), "another version"),
    (lambda s, _: tell(s, b"no\nsuch\x1b[1mluck", kind=FAILURE), "the other end says: no"),
    (welcomed(0, b"\7" * 8), "not among the HCAs"),
    (welcomed(38, b"\0"), "not possible"),
    (welcomed(39, b"\0"), "not possible"),
    (welcomed(39, b"\x17"), "not possible"),
    (welcomed(28, b"\0\0\0\0"), "a message of RC has at most 0 bytes"),
    (welcomed(0, b"", b"short"), "another version"),
    (welcomed(ops=lambda _: 0), "answers with other operations"),
    (welcomed(ops=lambda asked: asked | 1), "answers with other operations"),
    (welcomed(ops=lambda asked: asked & ~4), "answers with other operations"),  # which was asked for by name
]:
    status, said, _ = comes(answer, "write,write-imm")
    if status not in (1, 2) or pattern not in said or said.count("\n") != 1 or "\x1b" in said:
        wrong("not", pattern, "but", status, said)

# ---- an al_perf that listens -------------------------------------------------------------------------


def hello(**fields):
    values = list(struct.unpack("=14I", good[:CARD]))
    for field, value in fields.items():
        values[HELLO.index(field)] = value
    return struct.pack("=14I", *values) + good[CARD:]


def refuses(what, pattern, *records, raw=b""):
    """Reads the whole answer, which must have a refusal."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
        s.settimeout(100)
        s.connect(b"\0ibal/al_perf/" + name.encode())
        try:
            for record in records:
                tell(s, record)
            if raw:
                s.send(raw)
        except BrokenPipeError:
            pass  # refused already
        try:
            kind, data = hear(s)
            while kind != FAILURE:
                kind, data = hear(s)
            if pattern not in data.decode():
                wrong(what, "is refused with", data)
        except (AssertionError, OSError) as why:
            wrong(what, "is not refused:", why)


datagrams = struct.unpack("=14I", comes(leave, "-t", "ud", "send")[2][:CARD])[1]
for field, values in {
    "version": (0, 1, 0xFFFFFFFF),
    "type": (0, 77, 0xFFFFFFFF, datagrams),  # which have no write
    "flags": (16, 0xFFFFFFFF),
    "ops": (0, 1 << 7, 0xFFFFFFFF),
    "optional": (1 << 6, 0xFFFFFFFF),  # fadd is not asked for
    "depth": (0, 15, (1 << 20) + 1, 0xFFFFFFFF),  # 15 is less than signal
    "signal": (0, 65),
    "chain": (0, 65),
    "qps": (0, 4097, 0xFFFFFFFF),
    "mtu": (1, 255, 1000, 8192),
    "inline": ((1 << 20) + 1, 0xFFFFFFFF),
    "sl": (16, 0xFFFFFFFF),
    "zero": (1, 0xFFFFFFFF),
}.items():
    for value in values:
        refuses(f"{field} {value}", "another version" if field == "version" else "not possible", hello(**{field: value}))
refuses("a depth that no HCA has", "can do at most", hello(depth=1 << 20))
for at, data, pattern in [(0, b"\7" * 8, "not among the HCAs"), (38, b"\0", "not possible"), (39, b"\0", "not possible")]:
    refuses(f"a card wrong at {at}", pattern, good[: CARD + at] + data + good[CARD + at + len(data) :])
refuses("a hello too short", "another version", good[:-1])
refuses("a hello too long", "another version", good + b"x")
refuses("no hello", "another version", raw=b"abc")
refuses("another protocol", "another version", raw=HEAD.pack(3, RECORD) + good)


def word(step, op=2, test=2, mode=0, size=8, flow=0, number=0, seconds=1.0, mean=1.0):
    return WORD.pack(step, op, test, mode, size, 2**64 - 16, 2**32 - 1, flow, number, 0, 0, 0, 0, 0, seconds, *[0] * 7, mean)


for what, record in {
    "no step": word(0), "an unknown step": word(77), "count before a row": word(COUNT), "over before a row": word(OVER),
    "an unknown operation": word(ROW, op=7), "one not agreed on": word(ROW, op=6), "an unknown test": word(ROW, test=3),
    "an unknown mode": word(ROW, mode=7), "the other test's mode": word(ROW, test=1), "no bytes": word(ROW, size=0),
    "ping-pong of reads": word(ROW, op=4, test=1, mode=1), "too many bytes": word(ROW, size=1 << 62),
    "not a number": word(ROW, seconds=float("nan")), "infinity": word(ROW, mean=float("inf")),
}.items():
    refuses(what, "not possible", good, record)
refuses("a short word", "another version", good, word(ROW)[:-1])
numbers = struct.pack("=128I", *range(2, 130))
row = word(ROW)
refuses("short numbers", "another version", good, row, numbers[:-1])
for what, record in {
    "a row in a row": row, "bye in a row": word(BYE), "another's queue pair": word(CHECK, flow=1, number=1),
    "more than there are": word(CHECK, number=65), "fewer than none": word(CHECK, number=2**64 - 1), "step 255": word(255),
}.items():
    refuses(what, "not possible", good, row, numbers, record)
refuses("what nobody has written", "is not what was sent", good, row, numbers, word(CHECK, number=1))
refuses("to compare reads", "comparison that is not possible", good, word(ROW, op=4), numbers, word(CHECK, number=1))
refuses("to compare sends", "comparison that is not possible", good, word(ROW, op=0), numbers, word(CHECK, number=1))
sys.exit(failures != 0)
