# SPDX-License-Identifier: GPL-2.0
"""Both ends of connections, in one process and one loop of events.

A client sends a request of 100 bytes with the number of bytes that it requests
and the number that it sends first; the server answers when it has received all
of the latter. The kernel drops payload as it is received; zeros are sent.
"""

import collections
import contextlib
import ctypes
import errno
import heapq
import itertools
import os
import select
import socket
import struct
import time

from peptest.netns import Within, addr
from world import FAMILIES, bind

REQUEST = struct.Struct("QQ84x")
PIECE = memoryview(bytes(1 << 18))
BUFFER = bytearray(1 << 20)
TCP_CONGESTION = 13
# Ports of the server by its congestion control. Every contestant leaves the
# connections of OTHER_PORTS alone.
PORTS = {"cubic": 8000, "bbr": 8001}
OTHER_PORTS = {"cubic": 9000, "bbr": 9001}
QUIC_PORT = 9002
LATE = 300              # seconds after which a transfer has failed
TFD_TIMER_ABSTIME = 1
LIBC = ctypes.CDLL(None)


class TransferError(Exception):
    """A connection that failed or came to no end."""


class Timer(ctypes.Structure):
    """struct itimerspec."""

    _fields_ = [(name, ctypes.c_long) for name in (
        "interval_s", "interval_ns", "value_s", "value_ns")]


class Loop:
    """Waits for sockets and for times. System calls cost most in User Mode
    Linux: a timerfd signals times, so that the loop does not read the clock
    for each packet."""

    def __init__(self):
        self.poll = select.epoll()
        self.handlers = {}
        self.times = []
        self.order = itertools.count()
        self.timer = LIBC.timerfd_create(time.CLOCK_MONOTONIC, os.O_NONBLOCK)
        self.armed = None
        self.poll.register(self.timer, select.EPOLLIN)
        self.handlers[self.timer] = self.ring

    def add(self, sock, events, handler):
        """Call a function with the events of a socket."""
        self.handlers[sock.fileno()] = handler
        self.poll.register(sock, events)

    def want(self, sock, events):
        """Wait for other events of a socket."""
        self.poll.modify(sock, events)

    def remove(self, sock):
        """Wait for no event of a socket any more."""
        if self.handlers.pop(sock.fileno(), None):
            self.poll.unregister(sock)

    def at(self, when, function):
        """Call a function at a time; returns the entry for cancel()."""
        entry = [when, next(self.order), function]
        heapq.heappush(self.times, entry)
        self.arm()
        return entry

    def after(self, seconds, function):
        """Call a function in some seconds."""
        return self.at(time.monotonic() + seconds, function)

    @staticmethod
    def cancel(entry):
        """Do not call the function of an entry."""
        entry[2] = None

    def arm(self):
        """Set the timer to the first time."""
        while self.times and not self.times[0][2]:
            heapq.heappop(self.times)
        first = self.times[0][0] if self.times else None
        if first is not None and first != self.armed:
            spec = Timer(0, 0, int(first), int(first % 1 * 1e9) or 1)
            LIBC.timerfd_settime(self.timer, TFD_TIMER_ABSTIME,
                                 ctypes.byref(spec), None)
        self.armed = first

    def ring(self, _):
        """Call the functions that are due."""
        with contextlib.suppress(BlockingIOError):
            os.read(self.timer, 8)
        self.armed = None
        now = time.monotonic()
        while self.times and self.times[0][0] <= now:
            function = heapq.heappop(self.times)[2]
            if function:
                function()
        self.arm()

    def run(self, seconds=LATE, done=None):
        """Run for some seconds, or until a function returns true; raises when
        it does not in time."""
        over = []
        end = self.after(seconds, lambda: over.append(True))
        while not over and not (done and done()):
            for fd, events in self.poll.poll():
                handler = self.handlers.get(fd)
                if handler:
                    handler(events)
        self.cancel(end)
        if done and not done():
            raise TransferError("a transfer did not end")

    def close(self):
        """Forget everything."""
        self.handlers.clear()
        self.poll.close()
        os.close(self.timer)


class Serving:
    """The server's end of a connection."""

    def __init__(self, server, sock):
        self.server = server
        self.loop = loop = server.loop
        self.sock = sock
        self.head = b""
        self.owed = 0           # bytes of the upload that have not come
        self.left = 0           # bytes of the answer that are not sent
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        loop.add(sock, select.EPOLLIN, self.event)

    def event(self, events):
        """Send and receive; a connection that fails is over."""
        try:
            if events & select.EPOLLOUT:
                self.send()
            if events & ~select.EPOLLOUT and not self.receive():
                self.close()
        except BlockingIOError:
            pass
        except OSError:
            self.close()

    def receive(self):
        """Receive a request and the upload; False at the end."""
        if not self.owed:
            data = self.sock.recv(REQUEST.size - len(self.head))
            if not data:
                return False
            self.head += data
            if len(self.head) < REQUEST.size:
                return True
            self.left, self.owed = REQUEST.unpack(self.head)
            self.head = b""
        while self.owed:
            size = self.sock.recv_into(BUFFER, min(self.owed, len(BUFFER)),
                                       socket.MSG_TRUNC)
            if not size:
                return False
            self.owed -= size
            self.server.received += size
        self.send()
        return True

    def send(self):
        """Send as much of the answer as fits."""
        try:
            while self.left:
                self.left -= self.sock.send(PIECE[:self.left])
        except BlockingIOError:
            self.loop.want(self.sock, select.EPOLLIN | select.EPOLLOUT)
            return
        self.loop.want(self.sock, select.EPOLLIN)

    def close(self):
        """The connection is over."""
        self.loop.remove(self.sock)
        self.sock.close()


class Server:
    """Listens on all ports, in the namespace srv; received counts the bytes
    of uploads."""

    def __init__(self, loop, family):
        self.loop = loop
        self.received = 0
        self.listeners = []
        for control, port in (*PORTS.items(), *OTHER_PORTS.items()):
            with Within("srv"):
                sock = socket.socket(FAMILIES[family], socket.SOCK_STREAM)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION,
                            control.encode())
            sock.bind((addr("srv", family), port))
            sock.listen(512)
            sock.setblocking(False)
            loop.add(sock, select.EPOLLIN,
                     lambda _, sock=sock: self.accept(sock))
            self.listeners.append(sock)

    def accept(self, listener):
        """Take all connections that have come."""
        with contextlib.suppress(BlockingIOError):
            while True:
                Serving(self, listener.accept()[0])

    def close(self):
        """Listen no more."""
        for sock in self.listeners:
            self.loop.remove(sock)
            sock.close()


class Client:
    """The subscriber's end: asks for objects one after the other, each on this
    connection, and calls a function with itself when the last one is there.
    begun, first and last are times; got counts bytes."""

    def __init__(self, loop, family, who, port, sizes, upload=0, done=None):
        self.loop = loop
        self.sizes = collections.deque(sizes)
        self.upload = upload
        self.done = done
        self.left = 0
        self.unsent = 0
        self.got = 0
        self.first = self.last = None
        self.watch = None       # called after each read
        with Within("sub"):
            self.sock = socket.socket(FAMILIES[family], socket.SOCK_STREAM)
        self.sock.setblocking(False)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        bind(self.sock, who, family)
        self.begun = time.monotonic()
        err = self.sock.connect_ex((addr("srv", family), port))
        if err not in (0, errno.EINPROGRESS):
            raise TransferError(os.strerror(err))
        loop.add(self.sock, select.EPOLLOUT, self.connected)

    def connected(self, _):
        """The handshake is over, or has failed."""
        err = self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if err:
            raise TransferError(os.strerror(err))
        self.loop.handlers[self.sock.fileno()] = self.event
        self.ask()

    def ask(self):
        """Ask for the next object."""
        self.left = self.sizes.popleft()
        self.unsent = self.upload
        self.sock.send(REQUEST.pack(self.left, self.upload))
        self.loop.want(self.sock, select.EPOLLIN)
        self.send()

    def send(self):
        """Send as much of the upload as fits."""
        try:
            while self.unsent:
                self.unsent -= self.sock.send(PIECE[:self.unsent])
        except BlockingIOError:
            self.loop.want(self.sock, select.EPOLLIN | select.EPOLLOUT)
            return
        if self.upload:
            self.loop.want(self.sock, select.EPOLLIN)

    def event(self, events):
        """Send and receive."""
        try:
            if events & select.EPOLLOUT:
                self.send()
            if events & ~select.EPOLLOUT:
                self.receive()
        except OSError as err:
            raise TransferError(str(err)) from err

    def receive(self):
        """Receive the payload that has come."""
        try:
            size = self.sock.recv_into(BUFFER, len(BUFFER), socket.MSG_TRUNC)
        except BlockingIOError:
            return
        if not size:
            raise TransferError(f"{self.left} bytes are missing")
        if self.first is None:
            self.first = time.monotonic()
        self.got += size
        self.left -= size
        if self.watch:
            self.watch(self)
        if self.left:
            return
        if self.sizes:
            self.ask()
            return
        self.last = time.monotonic()
        self.close()
        if self.done:
            self.done(self)

    def close(self):
        """The connection is over; TCP resets it if payload is unread."""
        if self.sock.fileno() >= 0:
            self.loop.remove(self.sock)
            self.sock.close()
