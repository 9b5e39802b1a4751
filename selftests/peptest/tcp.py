# SPDX-License-Identifier: GPL-2.0
"""Both ends of TCP connections, in one process.

Payload is always the same pseudo-random stream, starting at an offset that
differs by connection and direction, and compared by SHA-256.
"""

import ctypes
import errno
import hashlib
import os
import random
import select
import socket
import struct
import threading
import time
import weakref

from .ktap import Failure, after_case, expect, must, wait_for
from .netns import Within, addr

PORT = 5000
SECONDS = 60            # for anything a peer waits for
CHUNK = 65536           # bytes received at once
PIECE = 4 * CHUNK       # and sent: more than the longest packet
LEAST = 1000            # bytes that a paced sender sends ahead of its rate
BLOCK = 1 << 20
_block = random.Random(1).randbytes(BLOCK)
_ring = memoryview(_block + _block[:PIECE])
SND_WND = 228           # offset in struct tcp_info, 32 bits
_sockets = weakref.WeakSet()
_listeners = {}
_loads = []
_digests = {}
_offset = 0

_libc = ctypes.CDLL(None, use_errno=True)

FAMILIES = {4: socket.AF_INET, 6: socket.AF_INET6}
IP_TRANSPARENT = 19
IPV6_TRANSPARENT = 75
IPPROTO_MPTCP = 262
SO_ZEROCOPY = 60
MSG_ZEROCOPY = 0x4000000
TCP_SYN_SENT = 2        # in the first byte of struct tcp_info

# For sysctls(): an end that has closed may connect again at once. With the
# default time, FIN_WAIT2 would become a timewait socket, and be lost as well.
NO_TIME_WAIT = "net.ipv4.tcp_max_tw_buckets=0", "net.ipv4.tcp_fin_timeout=120"


@after_case
def close_all():
    """Close all open sockets; background transfers end first."""
    while _loads:
        _loads.pop().stop()
    for sock in list(_sockets):
        sock.close()
    _sockets.clear()
    _listeners.clear()


def settled(sock):
    """The error of a failed connection, 0 of an established one, after poll()
    has reported either. The kernel wakes waiters on the ICMP message, and for
    a moment the error itself is not set yet."""
    wait_for("a connection that is up or has failed",
             lambda: sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO,
                                     1)[0] != TCP_SYN_SENT, SECONDS)
    return sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)


class _Stream(socket.socket):
    """A TCP socket whose connect() does not mistake a failure for success."""

    def connect(self, address):
        super().connect(address)
        err = settled(self)
        if err:
            raise OSError(err, os.strerror(err))


def _new(ns, family, kind=socket.SOCK_STREAM):
    with Within(ns):
        sock = (_Stream if kind == socket.SOCK_STREAM else
                socket.socket)(FAMILIES[family], kind)
    _sockets.add(sock)
    sock.settimeout(SECONDS)
    return sock


def listen(ns, family, port=PORT, backlog=4096, address=""):
    """A listening socket in a namespace; the same for the same arguments
    until the case ends."""
    key = (ns, family, port, address)
    if key not in _listeners:
        _listeners[key] = _listening(ns, family, port, backlog, address)
    return _listeners[key]


def _listening(ns, family, port, backlog, address):
    """A new listening socket."""
    sock = _new(ns, family)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == 6:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    sock.bind((address, port))
    sock.listen(backlog)
    return sock


def client(ns, family, bind=None, transparent=False):
    """A socket that is not connected yet; bind is an address and port."""
    sock = _new(ns, family)
    if transparent:
        if family == 6:
            sock.setsockopt(socket.IPPROTO_IPV6, IPV6_TRANSPARENT, 1)
        else:
            sock.setsockopt(socket.IPPROTO_IP, IP_TRANSPARENT, 1)
    if bind:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(bind)
    return sock


def mptcp_socket(ns, family):
    """A Multipath TCP socket."""
    with Within(ns):
        sock = socket.socket(FAMILIES[family], socket.SOCK_STREAM,
                             IPPROTO_MPTCP)
    _sockets.add(sock)
    sock.settimeout(SECONDS)
    return sock


def connect(ns, family, to, port=PORT, **kwargs):
    """Connect to an address; raises the client's OSError."""
    sock = client(ns, family, **kwargs)
    sock.connect((to, port))
    return sock


def accept(listener):
    """The next connection of a listener."""
    sock, _ = listener.accept()
    _sockets.add(sock)
    sock.settimeout(SECONDS)
    return sock


def pair(family, opener="sub", opened="srv", port=PORT, to=None, **kwargs):
    """Both ends of a new connection: (opener's, opened's)."""
    listener = listen(opened, family, port)
    near = connect(opener, family, to or addr(opened, family), port, **kwargs)
    return near, accept(listener)


def lone_pair(family, port):
    """Both ends of a new connection from sub to srv, by a listener of its own:
    one whose opener was reset as it came up stays in the queue of its."""
    with _listening("srv", family, port, 1, "") as listener:
        near = connect("sub", family, addr("srv", family), port)
        return near, accept(listener)


def start(family, count, opener="sub", opened="srv", port=PORT, to=None):
    """Both ends of connections that are opened simultaneously."""
    listener = listen(opened, family, port)
    near = [client(opener, family) for _ in range(count)]
    poll = select.epoll()
    waiting = {}
    for sock in near:
        sock.setblocking(False)
        err = sock.connect_ex((to or addr(opened, family), port))
        if err not in (0, errno.EINPROGRESS):
            raise OSError(err, os.strerror(err))
        poll.register(sock, select.EPOLLOUT)
        waiting[sock.fileno()] = sock
    by_name = {}
    end = time.monotonic() + SECONDS
    listener.setblocking(False)
    poll.register(listener, select.EPOLLIN)
    while waiting or len(by_name) < count:
        if time.monotonic() > end:
            raise Failure(f"{len(waiting)} of {count} connections did not "
                          f"come up, {count - len(by_name)} not at the "
                          "other end")
        for fd, _ in poll.poll(1):
            if fd in waiting:
                sock = waiting.pop(fd)
                poll.unregister(sock)
                err = settled(sock)
                if err:
                    raise OSError(err, os.strerror(err))
            else:
                far, name = listener.accept()
                _sockets.add(far)
                by_name[name[:2]] = far
    poll.close()
    listener.settimeout(SECONDS)
    return [(sock, by_name[sock.getsockname()[:2]]) for sock in near]


def digest(offset, size):
    """SHA-256 of size bytes of the stream from an offset on."""
    key = (offset, size)
    if key not in _digests:
        sha = hashlib.sha256()
        for piece in pieces(offset, size):
            sha.update(piece)
        _digests[key] = sha.hexdigest()
    return _digests[key]


def pieces(offset, size):
    """The stream in pieces."""
    while size:
        at = offset % BLOCK
        piece = _ring[at:at + min(size, CHUNK)]
        yield piece
        offset += len(piece)
        size -= len(piece)


def difference(data, offset):
    """A line on received payload that is not the stream from an offset on: a
    bit that differs, or payload of another place in the stream."""
    wanted = b"".join(pieces(offset, len(data)))
    at = [i for i, (a, b) in enumerate(zip(data, wanted)) if a != b]
    if not at:
        return "none differs"
    rest = data[at[0]:at[0] + 16]
    place = _block.find(rest)
    return (f"{len(at)} differ, from {at[0]} to {at[-1]}: {rest.hex(' ')} "
            f"instead of {wanted[at[0]:at[0] + 16].hex(' ')}, at {place} of "
            f"the stream instead of {(offset + at[0]) % BLOCK}")


class End:
    """One end of a connection in a transfer: sends size bytes, optionally at a
    rate in bytes per second, with fin shuts down its direction, and receives
    until the other end's FIN, a reset, or the wanted number of bytes."""

    def __init__(self, sock, size, fin=True, rate=None, wanted=None):
        self.sock = sock
        self.offset = next_offset()
        self.size = size
        self.fin = fin
        self.rate = rate
        self.wanted = wanted
        self.sent = 0
        self.received = 0
        self.sha = hashlib.sha256()
        self.eof = False
        self.error = None
        self.shut = False
        self.deaf = False       # does not read
        self.begun = time.monotonic()
        sock.setblocking(False)

    def due(self):
        """Number of bytes that may be sent now; with a rate not just a few."""
        left = self.size - self.sent
        if not self.rate:
            return left
        due = int((time.monotonic() - self.begun) * self.rate) - self.sent
        return min(left, due + LEAST) if due > 0 else 0

    def send(self):
        """Send the bytes that are due by now, as far as they fit."""
        until = self.sent + self.due()
        while self.sent < until:
            at = (self.offset + self.sent) % BLOCK
            self.sent += self.sock.send(
                _ring[at:at + min(until - self.sent, PIECE)])
        if self.fin and self.sent == self.size and not self.shut:
            self.shut = True
            self.sock.shutdown(socket.SHUT_WR)

    def receive(self):
        """Receive available payload, up to a megabyte."""
        for _ in range(16):
            data = self.sock.recv(CHUNK)
            if not data:
                self.eof = True
                return
            self.received += len(data)
            self.sha.update(data)

    def step(self, events):
        """Receive and send as far as possible."""
        try:
            if events & ~select.EPOLLOUT and not self.deaf:
                self.receive()
        except BlockingIOError:
            pass
        except OSError as err:
            self.error = err.errno
        try:
            if not self.error:
                self.send()
        except BlockingIOError:
            pass
        except OSError as err:
            self.error = err.errno

    @property
    def tx_done(self):
        """Has the end sent everything?"""
        return self.sent == self.size and (self.shut or not self.fin)

    @property
    def done(self):
        """Is there nothing more to wait for?"""
        if self.error:
            return True
        rx_done = self.eof or self.received == self.wanted
        return self.tx_done and rx_done

    @property
    def interest(self):
        """Events to wait for."""
        events = 0 if self.eof or self.deaf else select.EPOLLIN
        if not self.tx_done and (self.due() > 0 or self.sent == self.size):
            events |= select.EPOLLOUT
        return events


def send_window(sock):
    """The window that a socket's peer offers, bytes."""
    info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    return struct.unpack_from("I", info, SND_WND)[0]


def next_offset():
    """An unused offset into the stream."""
    global _offset      # pylint: disable=global-statement
    _offset += 7919
    return _offset


def pump(ends, seconds=100, until=None):
    """Run transfers until all are done, or earlier until a function returns
    true."""
    deadline = time.monotonic() + seconds
    live = {end.sock.fileno(): end for end in ends if not end.done}
    paced = {fd: end for fd, end in live.items() if end.rate}
    wanted = {fd: end.interest for fd, end in live.items()}
    with select.epoll() as poll:
        for fd, events in wanted.items():
            poll.register(fd, events)
        while live and not (until and until()):
            if time.monotonic() > deadline:
                raise Failure(f"{len(live)} of {len(ends)} ends not done "
                              f"after {seconds} s: " + "; ".join(
                                  describe(e) for e in
                                  list(live.values())[:4]))
            ready = poll.poll(0.02 if paced else 0.5)
            for fd, events in ready:
                live[fd].step(events)
            for fd in {fd for fd, _ in ready} | paced.keys():
                end = live[fd]
                if end.done:
                    poll.unregister(fd)
                    paced.pop(fd, None)
                    del live[fd]
                elif wanted[fd] != end.interest:
                    wanted[fd] = end.interest
                    poll.modify(fd, wanted[fd])


def describe(end):
    """A line that describes an end."""
    return (f"sent {end.sent} of {end.size}, received {end.received}, eof "
            f"{end.eof}, error {errno.errorcode.get(end.error, end.error)}")


def expect_same(sender, receiver):
    """Fail unless one end has received all payload of the other, without an
    error."""
    if sender.error or receiver.error:
        raise Failure(f"sender: {describe(sender)}; "
                      f"receiver: {describe(receiver)}")
    must("bytes received", receiver.received, sender.size)
    must("SHA-256", receiver.sha.hexdigest(),
         digest(sender.offset, sender.size))


def send_stream(sock, size):
    """Send so many bytes, which fit into the socket's buffer; return their
    offset into the stream."""
    offset = next_offset()
    sock.sendall(b"".join(pieces(offset, size)))
    return offset


def expect_stream(sock, offset, size):
    """Fail unless the next size bytes are those of the stream."""
    left, sha = size, hashlib.sha256()
    while left:
        data = sock.recv(min(left, CHUNK))
        if not data:
            raise Failure(f"the end of the stream {left} bytes early")
        sha.update(data)
        left -= len(data)
    must("SHA-256", sha.hexdigest(), digest(offset, size))


def fill(ends, seconds=30):
    """Make ends send until no more payload moves, while none of them reads."""
    last, sent = time.monotonic(), -1
    begun = last
    for end in ends:
        end.deaf = True
    while time.monotonic() - last < 0.7:
        if time.monotonic() - begun > seconds:
            raise Failure("it never fills up: " + describe(ends[0]))
        for end in ends:
            end.step(select.EPOLLOUT)
        now = sum(end.sent for end in ends)
        if now != sent:
            last, sent = time.monotonic(), now
        time.sleep(0.01)
    for end in ends:
        end.deaf = False


def exchange(socks, up, down=None, seconds=100, rate=None):
    """Payload both ways at once, each direction ended by a FIN, compared by
    hash; then both ends are closed. up: bytes from the opener; down: bytes
    from the opened."""
    exchange_all([socks], up, down, seconds, rate)


def exchange_all(pairs, up, down=None, seconds=100, rate=None):
    """The same on many connections at once."""
    down = up if down is None else down
    ends = [(End(near, up, rate=rate), End(far, down, rate=rate))
            for near, far in pairs]
    pump([end for both in ends for end in both], seconds)
    for near, far in ends:
        expect_same(near, far)
        expect_same(far, near)
        near.sock.close()
        far.sock.close()


def exchange_part(socks, up, down=None, seconds=100):
    """Payload both ways; the connection stays open."""
    down = up if down is None else down
    near = End(socks[0], up, fin=False, wanted=down)
    far = End(socks[1], down, fin=False, wanted=up)
    pump([near, far], seconds)
    expect_same(near, far)
    expect_same(far, near)


def one_way(sender, receiver, size, fin=False, seconds=100):
    """Payload one way, complete; with fin ended by a FIN."""
    a = End(sender, size, fin=fin, wanted=0)
    b = End(receiver, 0, fin=False, wanted=None if fin else size)
    pump([b, a], seconds)
    if a.error or b.error:
        raise Failure(f"sender: {describe(a)}; receiver: {describe(b)}")
    must("bytes received", b.received, size)
    must("SHA-256", b.sha.hexdigest(), digest(a.offset, size))


def expect_eof(sock):
    """Fail unless the other end has ended its direction, and only that."""
    sock.settimeout(SECONDS)
    try:
        got = sock.recv(CHUNK)
    except OSError as err:
        raise Failure(f"{err} instead of the end of the stream") from err
    expect("payload at the end of the stream", got, b"")


def outcome(sock, seconds=SECONDS):
    """Read to the end: "FIN", or the name of the error; "late" when nothing
    happens for so many seconds."""
    sock.settimeout(seconds)
    try:
        while sock.recv(CHUNK):
            pass
    except TimeoutError:
        return "late"
    except OSError as err:
        return errno.errorcode[err.errno]
    return "FIN"


def expect_reset(sock, seconds=SECONDS):
    """Fail unless the other end resets the connection."""
    expect("the end of the connection", outcome(sock, seconds), "ECONNRESET")


def reset(sock):
    """Close by a reset."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                    struct.pack("ii", 1, 0))
    sock.close()


def disconnect(sock):
    """Reset the connection, but keep the socket."""
    if _libc.connect(sock.fileno(), bytes(16), 16):
        raise OSError(ctypes.get_errno(), "connect")


def connect_errno(ns, family, to, port=PORT, seconds=20, **kwargs):
    """Name of the error of a connection that must fail, "late" for none in
    time, "ok" when it is established."""
    sock = client(ns, family, **kwargs)
    sock.settimeout(seconds)
    try:
        sock.connect((to, port))
    except TimeoutError as err:
        return "ETIMEDOUT" if err.errno else "late"
    except OSError as err:
        return errno.errorcode[err.errno]
    return "ok"


class Load(threading.Thread):
    """Transfers in the background, until they are stopped or all have ended;
    ends holds their state. Either the openers or the opened ends may be
    silent."""

    def __init__(self, pairs, rate, size=1 << 40, up=True, down=True):
        super().__init__(daemon=True)
        sends = up, down
        self.ends = [End(sock, size if sends[i] else 0, fin=sends[i],
                         rate=rate)
                     for both in pairs for i, sock in enumerate(both)]
        self.fed = [end for i, end in enumerate(self.ends)
                    if sends[1 - i % 2]]
        self.halt = False
        self.failure = None
        _loads.append(self)
        self.start()

    def run(self):
        try:
            pump(self.ends, 300, lambda: self.halt)
        except Failure as what:
            self.failure = what

    def stop(self):
        """Stop the transfers as they are."""
        self.halt = True
        self.join(SECONDS)

    def finish(self):
        """Stop sending at all ends and receive the payload in flight."""
        self.stop()
        for end in self.ends:
            end.size = end.sent
            end.fin = True
        pump(self.ends)

    def expect_whole(self):
        """Fail unless each end has received all payload of its peer."""
        for one, other in zip(self.ends[::2], self.ends[1::2]):
            expect_same(one, other)
            expect_same(other, one)

    def expect_resets(self, seconds=SECONDS):
        """Fail unless all ends are reset on their own."""
        self.join(seconds)
        alive = self.is_alive()
        self.stop()
        for end in self.ends:
            if end.error != errno.ECONNRESET:
                raise Failure(("still running: " if alive else "") +
                              describe(end))

    def expect_open(self, most=0):
        """Fail if a connection has ended otherwise than by a reset, or more
        than most ends are reset; return the number of resets."""
        resets = [end for end in self.ends if end.error == errno.ECONNRESET]
        for end in self.ends:
            if end.eof or (end.error and (end not in resets or
                                          len(resets) > most)):
                raise Failure(describe(end))
        return len(resets)

    def more(self, size, seconds=30):
        """Wait until every end has received size more bytes; fail at once when
        one of them cannot any more."""
        mark = self.moved + size

        def arrived():
            for end in self.fed:
                if end.error or end.eof:
                    raise Failure(describe(end))
            return self.moved > mark
        wait_for("payload", arrived, seconds)

    @property
    def moved(self):
        """The smallest number of bytes that an end with a sending peer has
        received."""
        return min(end.received for end in self.fed)
