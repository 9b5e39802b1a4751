# SPDX-License-Identifier: GPL-2.0
"""Payload in many small pieces: packets with as many page fragments as fit
into one (MAX_SKB_FRAGS, 17), each with a few bytes in a page of its own, and
with receive offload on, lists of such packets. All bytes arrive in order, by
reference where that pays. And the opposite: fragments of many pages."""

import ctypes
import fcntl
import hashlib
import mmap
import os
import socket

from peptest import pep
from peptest.env import SLOW
from peptest.ktap import expect_least, families, must, skip, wait_for
from peptest.netns import addr, ip, netem, netem_end, offloads
from peptest.pep import grows
from peptest.tcp import (MSG_ZEROCOPY, SO_ZEROCOPY, digest, exchange,
                         expect_stream, next_offset, one_way, pair, pieces)

O_DIRECT = 0o40000
F_SETPIPE_SZ = 1031
SPLICE_F_MORE = 4
SMALL = 256             # bytes, below which pieces are copied
KEPT = 50               # unacknowledged pieces
BATCH = 200             # pieces in the pipe
HUGE = 2 << 20          # bytes of a huge page
SENT = 60000            # bytes of it, sent at once
SIZES = {1: 20000, 7: 70000, 100: 400000, 1447: 2000000}


def setup():
    """Receive offload on the gateway's devices, as on most machines."""
    pep.attached()
    for dev in "wl0", "sv0":
        offloads("pep", dev, "gro", "on")


class Pieces:
    """A pipe that keeps each write in a buffer and page of its own, spliced
    to a socket."""

    def __init__(self, sock):
        self.sock = sock
        self.read, self.write = os.pipe2(O_DIRECT)
        fcntl.fcntl(self.write, F_SETPIPE_SZ, 256 * 4096)

    def send(self, data, size, full):
        """Send data in pieces of a size, in as few packets as possible; call a
        function while the socket is full."""
        for at in range(0, len(data), size):
            os.write(self.write, data[at:at + size])
        left = len(data)
        while left:
            try:
                left -= os.splice(self.read, self.sock.fileno(), left,
                                  flags=SPLICE_F_MORE)
            except BlockingIOError:
                full()

    def close(self):
        """Close the pipe."""
        os.close(self.read)
        os.close(self.write)


def small(family, opener, opened, size):
    """Payload from one end to the other, read on arrival, then a block
    back."""
    total = SIZES[size] // (10 if SLOW else 1)
    with grows(flow_established=1, flow_closed=1) as before:
        near, far = pep.split_pair(family, opener, opened)
        offset = next_offset()
        data = b"".join(pieces(offset, total))
        pipe = Pieces(near)
        sha = hashlib.sha256()
        far.setblocking(False)
        got = 0

        def read():
            nonlocal got
            got += take(far, sha)

        for at in range(0, total, BATCH * size):
            pipe.send(data[at:at + BATCH * size], size, read)
            read()
        far.settimeout(20)
        while got < total:
            piece = far.recv(65536)
            sha.update(piece)
            got += len(piece)
        pipe.close()
        must("bytes received", got, total)
        must("SHA-256", sha.hexdigest(), digest(offset, total))
        one_way(far, near, 10000, fin=True)
        near.close()
        far.close()
    how = "bytes_fragment" if size >= SMALL else "bytes_copied"
    expect_least(how, pep.stat(how) - before[how], total)


@families("small pieces count for the memory that they keep")
def kept(family):
    """Pieces in a page each that an end does not acknowledge."""
    near, far = pair(family)
    offset = next_offset()
    pipe = Pieces(near)
    netem("pep", "sv0", "loss", "100%")
    try:
        pipe.send(b"".join(pieces(offset, KEPT * SMALL)), SMALL, lambda: None)
        wait_for("the first of them",
                 lambda: pep.flows()[0]["bytes_to_server"])
        pep.quiet()
        leg = pep.legs()["server"]
        queued, memory = int(leg.split()[1]), pep.number(leg, r",w(\d+),")
        expect_least("queued bytes", queued, 17 * SMALL)
        expect_least("memory", memory, 1024 * (queued // SMALL))
    finally:
        netem_end("pep", "sv0")
    pipe.close()
    far.settimeout(60)
    expect_stream(far, offset, KEPT * SMALL)
    near.close()
    far.close()


def take(sock, sha):
    """Read all available payload; return its size."""
    got = 0
    try:
        while True:
            piece = sock.recv(65536)
            if not piece:
                return got
            sha.update(piece)
            got += len(piece)
    except BlockingIOError:
        return got


for _size in SIZES:
    families(f"pieces of {_size} B", "sub", "srv", _size)(small)
families("pieces of 100 B, the server opens", "srv", "sub", 100)(small)


@families("a sender's own large pages, by MSG_ZEROCOPY")
def zerocopy(family):
    """A fragment of 28 KB of one huge page becomes one fragment per page when
    it is kept."""
    memory = mmap.mmap(-1, 2 * HUGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    try:
        memory.madvise(mmap.MADV_HUGEPAGE)
    except OSError:
        skip("this kernel has no huge pages")
    at = -ctypes.addressof(ctypes.c_char.from_buffer(memory)) % HUGE
    offset = next_offset()
    memory[at:at + SENT] = b"".join(pieces(offset, SENT))
    pep.follow("40000")
    ip("srv", f"route replace default via {addr('sv', family)} initcwnd 40")
    with grows(split_bytes=1, flow_closed=1, flow_reset=0):
        near, far = pair(family)
        far.setsockopt(socket.SOL_SOCKET, SO_ZEROCOPY, 1)
        view = memoryview(memory)
        must("bytes sent", far.send(view[at:at + SENT], MSG_ZEROCOPY), SENT)
        expect_stream(near, offset, SENT)
        exchange((near, far), 100000)
        view.release()
    pep.follow("handshake")
