#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What ping-pongs and perftest do not reach, by the distribution's pyverbs: data, errors, flush, events, permissions, queries,
extended queues and queue pairs. Run by verbs_pyverbs.sh and verbs_roce.sh, with two devices. Peers are named by LID, by GID on Ethernet, or by the
GID alone with IBAL_TEST_BY_GID. The program prints each wrong result, and prints nothing if every result is right."""
import errno
import os
import socket
import sys

import pyverbs.device as d
from pyverbs.addr import GID, AHAttr, GlobalRoute
from pyverbs.cq import CQ, CQEX, CompChannel, CqInitAttrEx, PollCqAttr
from pyverbs import enums as e
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr, QPEx, QPInitAttrEx
from pyverbs.wr import SGE, RecvWR, SendWR

failures = 0
GID_INDEX = int(os.environ.get('IBAL_TEST_GID', '0'))


def expect(what, got, wanted):
    global failures
    if got != wanted:
        failures += 1
        print(f'FAIL: {what}: {got!r}, not {wanted!r}')


def refused(what, number, call, *args, **kwargs):
    """The call fails with the errno."""
    try:
        call(*args, **kwargs)
    except PyverbsRDMAError as error:
        expect(what, error.error_code, number)
    else:
        expect(what, 'no failure', os.strerror(number))


class End:
    """One end: a device with what a queue pair needs."""

    def __init__(self, name, channel=False, qp_type=e.IBV_QPT_RC, cqe=64):
        self.ctx = d.Context(name=name)
        self.port = self.ctx.query_port(1)
        self.pd = PD(self.ctx)
        self.channel = CompChannel(self.ctx) if channel else None
        self.cq = CQ(self.ctx, cqe, None, self.channel, 0)
        cap = QPCap(max_send_wr=16, max_recv_wr=16, max_send_sge=4, max_recv_sge=4, max_inline_data=64)
        self.qp = QP(self.pd, QPInitAttr(qp_type=qp_type, scq=self.cq, rcq=self.cq, cap=cap, sq_sig_all=1))
        self.mr = MR(self.pd, 8192, e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE | e.IBV_ACCESS_REMOTE_READ
                     | e.IBV_ACCESS_REMOTE_ATOMIC)

    @property
    def ethernet(self):
        return self.port.link_layer == e.IBV_LINK_LAYER_ETHERNET

    @property
    def by_gid(self):
        return self.ethernet or 'IBAL_TEST_BY_GID' in os.environ

    def connect(self, peer, **changes):
        ah = AHAttr(dlid=peer.port.lid, port_num=1)
        if self.by_gid:
            gid = GID(peer.ctx.query_gid(1, GID_INDEX).gid)
            ah = AHAttr(gr=GlobalRoute(dgid=gid, sgid_index=GID_INDEX), is_global=1, port_num=1)
        attr = QPAttr(port_num=1)
        attr.qp_access_flags = changes.get('access', e.IBV_ACCESS_REMOTE_WRITE | e.IBV_ACCESS_REMOTE_READ
                                           | e.IBV_ACCESS_REMOTE_ATOMIC)
        attr.dest_qp_num = peer.qp.qp_num
        attr.path_mtu = e.IBV_MTU_1024
        attr.max_dest_rd_atomic = attr.max_rd_atomic = 4
        attr.min_rnr_timer = 1
        attr.timeout = 8
        attr.retry_cnt = changes.get('retry', 7)
        attr.rnr_retry = changes.get('rnr_retry', 7)
        attr.rq_psn, attr.sq_psn = 100, 100
        attr.ah_attr = ah
        self.qp.to_rts(attr)

    def sge(self, offset, length):
        return SGE(self.mr.buf + offset, length, self.mr.lkey)

    def wait(self, count=1):
        """Polls until that many completions are there."""
        found = []
        while len(found) < count:
            found += self.cq.poll(count - len(found))[1]
        return found

    def recv(self, wr_id, offset, length):
        self.qp.post_recv(RecvWR(wr_id, 1, [self.sge(offset, length)]))

    def send(self, wr_id, offset, length, **words):
        wr = SendWR(wr_id=wr_id, opcode=words.get('opcode', e.IBV_WR_SEND), num_sge=1, sg=[self.sge(offset, length)],
                    imm_data=words.get('imm', 0), send_flags=words.get('flags', e.IBV_SEND_SIGNALED))
        if 'rkey' in words:
            wr.set_wr_rdma(words['rkey'], words['addr'])
        self.qp.post_send(wr)


def ends(**words):
    a, b = End('soft0', **words), End('soft1', **words)
    a.connect(b)
    b.connect(a)
    return a, b


def test_data():
    a, b = ends()
    a.mr.write('x' * 4000, 4000)
    b.recv(1, 0, 8192)
    a.send(2, 0, 4000, opcode=e.IBV_WR_SEND_WITH_IMM, imm=0x01020304)
    sent, = a.wait()
    got, = b.wait()
    expect('a send', (sent.wr_id, sent.status, sent.opcode), (2, e.IBV_WC_SUCCESS, e.IBV_WC_SEND))
    expect('a receive', (got.wr_id, got.status, got.opcode, got.byte_len), (1, e.IBV_WC_SUCCESS, e.IBV_WC_RECV, 4000))
    expect('immediate data', (got.imm_data, got.wc_flags), (0x01020304, e.IBV_WC_WITH_IMM))
    expect('the data of a send', b.mr.read(4000, 0), b'x' * 4000)
    a.mr.write('y' * 100, 100, 200)
    a.send(3, 200, 100, opcode=e.IBV_WR_RDMA_WRITE, rkey=b.mr.rkey, addr=b.mr.buf + 5000)
    expect('a write', a.wait()[0].opcode, e.IBV_WC_RDMA_WRITE)
    expect('the data of a write', b.mr.read(100, 5000), b'y' * 100)
    a.send(4, 1000, 4000, opcode=e.IBV_WR_RDMA_READ, rkey=b.mr.rkey, addr=b.mr.buf)
    expect('a read', a.wait()[0].opcode, e.IBV_WC_RDMA_READ)
    expect('the data of a read', a.mr.read(4000, 1000), b'x' * 4000)
    b.mr.write((41).to_bytes(8, sys.byteorder), 8, 6000)
    wr = SendWR(wr_id=5, opcode=e.IBV_WR_ATOMIC_FETCH_AND_ADD, num_sge=1, sg=[a.sge(0, 8)])
    wr.set_wr_atomic(b.mr.rkey, b.mr.buf + 6000, 1)
    a.qp.post_send(wr)
    expect('an addition', a.wait()[0].opcode, e.IBV_WC_FETCH_ADD)
    expect('the old value', int.from_bytes(a.mr.read(8, 0), sys.byteorder), 41)
    expect('the sum', int.from_bytes(b.mr.read(8, 6000), sys.byteorder), 42)
    wr = SendWR(wr_id=6, opcode=e.IBV_WR_ATOMIC_CMP_AND_SWP, num_sge=1, sg=[a.sge(0, 8)])
    wr.set_wr_atomic(b.mr.rkey, b.mr.buf + 6000, 42, 7)
    a.qp.post_send(wr)
    expect('a comparison', a.wait()[0].opcode, e.IBV_WC_COMP_SWAP)
    expect('the new value', int.from_bytes(b.mr.read(8, 6000), sys.byteorder), 7)


def test_errors():
    a, b = ends()
    b.recv(1, 0, 10)
    a.send(2, 0, 100)
    expect('a message that is too long, sender', a.wait()[0].status, e.IBV_WC_REM_INV_REQ_ERR)
    expect('a message that is too long, receiver', b.wait()[0].status, e.IBV_WC_LOC_LEN_ERR)
    a, b = ends()
    a.send(1, 0, 8, opcode=e.IBV_WR_RDMA_WRITE, rkey=b.mr.rkey + 1, addr=b.mr.buf)
    expect('a wrong key', a.wait()[0].status, e.IBV_WC_REM_ACCESS_ERR)
    attr, _ = a.qp.query(e.IBV_QP_STATE)
    expect('the state after an error', attr.qp_state, e.IBV_QPS_ERR)
    a.recv(7, 0, 10)
    flushed, = a.wait()
    expect('a flushed receive', (flushed.wr_id, flushed.status), (7, e.IBV_WC_WR_FLUSH_ERR))
    a, b = End('soft0'), End('soft1')
    a.connect(b, rnr_retry=1)
    b.connect(a)
    a.send(1, 0, 8)
    expect('no receive', a.wait()[0].status, e.IBV_WC_RNR_RETRY_EXC_ERR)
    a, b = End('soft0'), End('soft1')
    a.connect(b, retry=1)
    a.send(1, 0, 8)
    expect('a peer that is not there', a.wait()[0].status, e.IBV_WC_RETRY_EXC_ERR)


def test_permissions():
    a, b = End('soft0'), End('soft1')
    a.connect(b)
    b.connect(a, access=e.IBV_ACCESS_REMOTE_READ)
    a.send(1, 0, 8, opcode=e.IBV_WR_RDMA_WRITE, rkey=b.mr.rkey, addr=b.mr.buf)
    expect('a queue pair without remote write', a.wait()[0].status, e.IBV_WC_REM_ACCESS_ERR)
    a, b = ends()
    readable = MR(b.pd, 100, e.IBV_ACCESS_REMOTE_READ)
    a.send(1, 0, 8, opcode=e.IBV_WR_RDMA_WRITE, rkey=readable.rkey, addr=readable.buf)
    expect('a region without remote write', a.wait()[0].status, e.IBV_WC_REM_ACCESS_ERR)
    refused('remote write without local write', errno.EINVAL, MR, b.pd, 100, e.IBV_ACCESS_REMOTE_WRITE)
    refused('paging on demand', errno.EOPNOTSUPP, MR, b.pd, 100, e.IBV_ACCESS_ON_DEMAND)


def test_events():
    a, b = ends(channel=True)
    b.cq.req_notify(False)
    for i in range(3):
        b.recv(i, 0, 100)
        a.send(i, 0, 100)
        b.channel.get_cq_event(b.cq)
        b.cq.ack_events(1)
        b.cq.req_notify(False)
        expect('a notified receive', b.wait()[0].wr_id, i)
        a.wait()
    small = End('soft0', cqe=16)
    other = End('soft1')
    small.connect(other)
    other.connect(small)
    for i in range(16):
        other.recv(i, 0, 100)
        small.recv(i, 0, 100)
    for i in range(16):
        small.send(i, 0, 100)
        other.send(i, 0, 100)
    seen = set()
    while e.IBV_EVENT_CQ_ERR not in seen:  # the queue pair's own event may come first
        event = small.ctx.get_async_event()
        seen.add(event.event_type)
        event.ack()
    expect('the events of a queue that overflows', seen <= {e.IBV_EVENT_CQ_ERR, e.IBV_EVENT_QP_FATAL}, True)


def test_queries():
    a, b = ends()
    attr, init = a.qp.query((1 << 21) - 1)
    expect('a queried queue pair', (attr.qp_state, attr.dest_qp_num, attr.path_mtu, attr.rq_psn, attr.sq_psn, attr.timeout,
                                    attr.retry_cnt, attr.port_num, attr.qp_access_flags),
           (e.IBV_QPS_RTS, b.qp.qp_num, e.IBV_MTU_1024, 100, 100, 8, 7, 1, 14))
    expect('its path', (attr.ah_attr.dlid, attr.ah_attr.port_num, attr.ah_attr.is_global),
           (b.port.lid, 1, int(a.by_gid)))
    expect('its sizes', (init.cap.max_send_wr, init.cap.max_recv_sge, init.sq_sig_all), (16, 4, 1))
    gid = a.ctx.query_gid(1, 0)
    entries = list(a.ctx.query_gid_table(16))
    expect('the table of GIDs', (len(entries), entries[0].gid_str(), entries[0].gid_index, entries[0].port_num),
           (2 if a.ethernet else 1, gid.gid, 0, 1))
    expect('their type', {entry.gid_type for entry in entries},
           {e.IBV_GID_TYPE_ROCE_V2 if a.ethernet else e.IBV_GID_TYPE_IB})
    expect('a GID by its index', a.ctx.query_gid_ex(1, 0).gid_str(), gid.gid)
    refused('an empty GID', errno.ENODATA, a.ctx.query_gid_ex, 1, 3)
    refused('a port that is not there', errno.EINVAL, a.ctx.query_port, 9)
    expect('a P_Key', a.ctx.query_pkey(1, 0), 0xffff)
    limits = a.ctx.query_device()
    refused('more entries than there may be', errno.ENOMEM, CQ, a.ctx, limits.max_cqe + 1, None, None, 0)
    refused('a vector that is not there', errno.EINVAL, CQ, a.ctx, 10, None, None, a.ctx.num_comp_vectors)
    a.cq.resize(100)
    expect('a resized queue', a.cq.cqe >= 100, True)


def test_extended():
    ctx = [d.Context(name=name) for name in ('soft0', 'soft1')]
    side = []
    for c in ctx:
        pd = PD(c)
        cq = CQEX(c, CqInitAttrEx(cqe=32, wc_flags=e.IBV_WC_STANDARD_FLAGS))
        init = QPInitAttrEx(qp_type=e.IBV_QPT_RC, scq=cq, rcq=cq, pd=pd, cap=QPCap(max_send_wr=8, max_recv_wr=8, max_inline_data=64),
                            sq_sig_all=1, comp_mask=e.IBV_QP_INIT_ATTR_PD | e.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
                            send_ops_flags=e.IBV_QP_EX_WITH_SEND_WITH_IMM | e.IBV_QP_EX_WITH_RDMA_WRITE)
        end = End.__new__(End)
        end.ctx, end.port, end.pd, end.cq = c, c.query_port(1), pd, cq
        end.qp = QPEx(c, init)
        end.mr = MR(pd, 4096, e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE)
        side.append(end)
    a, b = side
    a.connect(b)
    b.connect(a)
    b.recv(11, 0, 4096)
    a.mr.write('z' * 64, 64)
    a.qp.wr_start()
    a.qp.wr_id, a.qp.wr_flags = 21, e.IBV_SEND_SIGNALED
    a.qp.wr_rdma_write(b.mr.rkey, b.mr.buf + 2048)
    a.mr.write('inline data', 11, 1024)
    a.qp.wr_set_inline_data(a.mr.buf + 1024, 11)
    a.mr.write('overwritten', 11, 1024)
    a.qp.wr_id = 22
    a.qp.wr_send_imm(77)
    a.qp.wr_set_sge(SGE(a.mr.buf, 64, a.mr.lkey))
    a.qp.wr_complete()
    found = []
    while len(found) < 2:
        if a.cq.start_poll(PollCqAttr()) == errno.ENOENT:
            continue
        found.append((a.cq.wr_id, a.cq.status))
        while a.cq.poll_next() == 0:
            found.append((a.cq.wr_id, a.cq.status))
        a.cq.end_poll()
    expect('extended requests', found, [(21, e.IBV_WC_SUCCESS), (22, e.IBV_WC_SUCCESS)])
    while b.cq.start_poll(PollCqAttr()) == errno.ENOENT:
        pass
    expect('an extended completion', (b.cq.wr_id, b.cq.read_opcode(), b.cq.read_byte_len(), b.cq.read_imm_data(), b.cq.read_qp_num()),
           (11, e.IBV_WC_RECV, 64, socket.htonl(77), b.qp.qp_num))
    b.cq.end_poll()
    expect('inline data', b.mr.read(11, 2048), b'inline data')
    expect('sent data', b.mr.read(64, 0), b'z' * 64)


for name, function in list(globals().items()):
    if name.startswith('test_'):
        try:
            function()
        except Exception as error:  # pylint: disable=broad-except
            failures += 1
            print(f'FAIL: {name}: {type(error).__name__}: {error}')
sys.exit(1 if failures else 0)
