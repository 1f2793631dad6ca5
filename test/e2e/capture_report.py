#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Compares tshark's export of a capture (-T json -x) with the known traffic. For capture.sh.

    capture_report.py copy SHARK        a copy by al_cp: whole, in sequence, CRCs right
    capture_report.py mixed SHARK SAID  capture_test's operations: each header field of each packet
    capture_report.py bench FIELDS      the benchmark's 8-byte writes: PSNs without a gap, on both sides; FIELDS by -T fields
"""
import json
import sys
import zlib

OUT, IN = 0, 1
PAYLOAD = 5 * 256 - 1  # of a message of several packets
MTU = 256


def number(text):
    return int(text, 0) if not isinstance(text, int) else text


def vcrc(data):
    """The register of IBTA 7.8.2, the lowest bit first."""
    crc = 0xFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0xD008 if crc & 1 else 0)
    return (crc ^ 0xFFFF).to_bytes(2, "little")


def icrc(data):
    bth = 48 if data[1] & 3 == 3 else 8
    masked = bytearray(data)
    masked[0] |= 0xF0
    if bth == 48:
        masked[8] |= 0x0F
        for at in (9, 10, 11, 15):
            masked[at] = 0xFF
    masked[bth + 4] = 0xFF
    return zlib.crc32(bytes(masked)).to_bytes(4, "little")


class Packet:
    def __init__(self, layers):
        ib = layers["infiniband"]
        frame = layers["frame"]
        self.port = frame["frame.interface_id_tree"]["frame.interface_name"]
        self.way = number(frame["frame.p2p_dir"])
        self.time = frame["frame.time_epoch"]
        self.raw = bytes.fromhex(layers["frame_raw"][0])
        self.fields = {}
        for name, value in ib.items():
            if name.endswith("_tree"):
                self.fields.update({k.removeprefix("infiniband."): v for k, v in value.items()
                                    if isinstance(v, str) and not k.endswith("reserved")})
        assert self.raw[-6:-2] == icrc(self.raw[:-6]), "ICRC"
        assert self.raw[-2:] == vcrc(self.raw[:-2]), "VCRC"
        assert ib["infiniband.invariant.crc"] == "0x" + self.raw[-6:-2].hex(), "ICRC shown"

    def __getitem__(self, name):
        return number(self.fields[name])


def load(path):
    with open(path, encoding="utf-8") as file:
        # keys come twice where there are bytes: the tree last
        return [Packet(p["_source"]["layers"]) for p in json.load(file)]


def of(packets, port, way):
    return [p for p in packets if p.port == port and p.way == way]


def both_ends(packets):
    """Checks that each side receives the packets that the other sends; returns the packets of both directions."""
    there, back = of(packets, "soft0:1", OUT), of(packets, "soft1:1", OUT)
    assert [p.raw for p in there] == [p.raw for p in of(packets, "soft1:1", IN)]
    assert [p.raw for p in back] == [p.raw for p in of(packets, "soft0:1", IN)]
    assert len(packets) == 2 * (len(there) + len(back))
    times = [p.time for p in packets]
    assert times == sorted(times) and all(len(t.split(".")[1]) == 9 for t in times)
    return there, back


def copy(packets):
    there, back = both_ends(packets)
    write = [p for p in there if p["bth.opcode"] in (6, 7, 8, 9, 10, 11)]
    data = b""
    for p in write:
        head = 20 + (16 if p["bth.opcode"] in (6, 10, 11) else 0) + (4 if p["bth.opcode"] in (9, 11) else 0)
        data += p.raw[head:len(p.raw) - 6 - p["bth.padcnt"]]
    assert data == b"x" * 100001, len(data)
    psns = [p["bth.psn"] for p in write]
    assert len(set(psns)) == len(psns)
    assert any(p["bth.opcode"] == 17 for p in back)


def headers(opcode, qpn, psn, length, **more):
    """Every field of LRH and BTH that tshark exports, and those of the other headers as given."""
    ext = sum({"reth.va": 8, "reth.r_key": 4, "reth.dmalen": 4, "atomiceth.swapdt": 8, "atomiceth.cmpdt": 8,
               "aeth.syndrome": 1, "aeth.msn": 3, "atomicacketh.origremdt": 8, "immdt": 4, "deth.q_key": 4,
               "deth.srcqp": 4, "grh.ipver": 40}.get(name, 0) for name in more)
    fields = {
        "lrh.vl": 0, "lrh.lver": 0, "lrh.sl": 0, "lrh.reserved2": 0, "lrh.lnh": 2, "lrh.reserved5": 0,
        "lrh.dlid": 2, "lrh.slid": 1, "lrh.pktlen": (8 + 12 + ext + (length + 3 & ~3) + 4) // 4,
        "bth.opcode": opcode, "bth.se": 0, "bth.m": 1, "bth.padcnt": -length & 3, "bth.tver": 0, "bth.p_key": 0xFFFF,
        "bth.destqp": qpn, "bth.a": 0, "bth.reserved7": 0, "bth.psn": psn,
    }
    fields.update(more)
    return fields


def message(base, qpn, psn, opcodes, first=None, last=None, reliable=True):
    """Five packets of a request, the last one byte short."""
    rows = []
    for i, opcode in enumerate(opcodes):
        more = dict(first or {}) if i == 0 else {}
        if i == 4:
            more.update(last or {})
            more["bth.a"] = int(reliable)
        rows.append(headers(base + opcode, qpn, psn + i, MTU - 1 if i == 4 else MTU, **more))
    return rows


def answer(opcode, qpn, psn, syndrome=0, msn=None, length=0, **more):
    """Checks that an ACK's syndrome is the number of receives that are left."""
    aeth = {} if msn is None else {"aeth.syndrome": syndrome, "aeth.msn": msn}
    return headers(opcode, qpn, psn, length, **aeth, **more, **{"lrh.slid": 2, "lrh.dlid": 1})


def mixed(packets, said):
    there, back = both_ends(packets)
    rc, uc, ud, rnr, nak = (said[k] for k in ("rc", "uc", "ud", "rnr", "nak"))
    imm, imm2 = "12:34:56:78", "9a:bc:de:f0"

    def reth(q, length=PAYLOAD):
        return {"reth.va": q["va"], "reth.r_key": q["rkey"], "reth.dmalen": length}

    def atomic(swap, compare):
        return {"reth.va": rc["va"] + 32768, "reth.r_key": rc["rkey"], "atomiceth.swapdt": swap,
                "atomiceth.cmpdt": compare, "bth.a": 1}

    add, swap = 0x1122334455667788, 0xFEEDFACE
    want = message(0, rc["b"], 0, (0, 1, 1, 1, 2), last={"bth.se": 1})
    want += message(0, rc["b"], 5, (0, 1, 1, 1, 3), last={"immdt": imm})
    want += message(0, rc["b"], 10, (6, 7, 7, 7, 9), reth(rc), {"immdt": imm2})
    want += message(0, rc["b"], 15, (6, 7, 7, 7, 8), reth(rc))
    want += [headers(12, rc["b"], 20, 0, **reth(rc), **{"bth.a": 1})]
    want += [headers(20, rc["b"], 25, 0, **atomic(add, 0)), headers(19, rc["b"], 26, 0, **atomic(swap, add))]
    want += message(0x20, uc["b"], 0, (0, 1, 1, 1, 3), last={"immdt": imm}, reliable=False)
    want += message(0x20, uc["b"], 5, (6, 7, 7, 7, 8), reth(uc), reliable=False)
    deth = {"deth.q_key": 0x11223344, "deth.srcqp": ud["a"], "lrh.sl": 3}
    want += [headers(100, ud["b"], 0, 77, **deth)]
    want += [headers(101, ud["b"], 1, 77, **deth, **{
        "immdt": imm, "lrh.lnh": 3, "grh.ipver": 6, "grh.tclass": 0xA5,
        "grh.flowlabel": 0x54321, "grh.hoplmt": 9, "grh.nxthdr": 27, "grh.paylen": 12 + 8 + 4 + 80 + 4})]
    want += [headers(4, rnr["b"], 0, 16, **{"bth.a": 1})] * 2
    want += [headers(10, nak["b"], 0, 16, **reth({**nak, "rkey": nak["rkey"] ^ 1}, 16), **{"bth.a": 1})]
    check(there, want)

    want = [answer(17, rc["a"], 4, 2, msn=1), answer(17, rc["a"], 9, 1, msn=2), answer(17, rc["a"], 14, msn=3),
            answer(17, rc["a"], 19, msn=4)]
    want += [answer(13, rc["a"], 20, msn=5, length=MTU)]
    want += [answer(14, rc["a"], 20 + i, length=MTU) for i in (1, 2, 3)]
    want += [answer(15, rc["a"], 24, msn=5, length=MTU - 1)]
    want += [answer(18, rc["a"], 25, msn=6, **{"atomicacketh.origremdt": 0}),
             answer(18, rc["a"], 26, msn=7, **{"atomicacketh.origremdt": add})]
    want += [answer(17, rnr["a"], 0, 0x20 | 5, 0)] * 2 + [answer(17, nak["a"], 0, 0x62, 0)]
    check(back, want)


def check(found, want):
    assert len(found) == len(want), f"{len(found)} packets, not {len(want)}"
    for n, (p, row) in enumerate(zip(found, want)):
        row = dict(row)
        for name in ("grh.sgid", "grh.dgid"):  # made of GUIDs, which the process chose
            if name in p.fields:
                assert p.fields[name].startswith("fe80::"), p.fields
                row[name] = p.fields[name]
        assert set(p.fields) == set(row), f"packet {n}: {set(p.fields) ^ set(row)}"
        for name, value in row.items():
            got = p.fields[name] if isinstance(value, str) else p[name]
            assert got == value, f"packet {n}, {name}: {got}, not {value}"


def bench(lines):
    """Checks each queue pair's packets in each side's capture: consecutive PSNs, none missing."""
    psns = {}
    for line in lines:
        port, direction, opcode, qpn, psn = line.split()
        psns.setdefault((opcode, qpn), {}).setdefault((port, number(direction) & 3), []).append(int(psn))
    assert {opcode for opcode, _ in psns} == {"10", "17"}, psns.keys()  # RDMA WRITE Only, Acknowledge
    for (opcode, qpn), seen in psns.items():
        (_, sent), (_, received) = sorted(seen.items(), key=lambda item: item[0][1], reverse=True)
        assert sorted(way for _, way in seen) == [1, 2] and len({port for port, _ in seen}) == 2, seen.keys()
        assert sent == received and len(sent) > 100, (opcode, qpn, len(sent), len(received))
        if opcode == "10":
            assert sent == [(sent[0] + i) % (1 << 24) for i in range(len(sent))], "a gap"
        else:
            assert sent == sorted(set(sent)), "an ACK that goes back"


if sys.argv[1] == "copy":
    copy(load(sys.argv[2]))
elif sys.argv[1] == "bench":
    with open(sys.argv[2], encoding="utf-8") as fields:
        bench(fields.read().splitlines())
else:
    with open(sys.argv[3], encoding="utf-8") as facts:
        mixed(load(sys.argv[2]), json.load(facts))
