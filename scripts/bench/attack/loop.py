# SPDX-License-Identifier: GPL-2.0
"""Sockets and times of one thread, handled in the order of events."""

import heapq
import itertools
import select
import time


class Loop:
    """Events of sockets, and functions at a time."""

    def __init__(self):
        self.epoll = select.epoll()
        self.handlers = {}
        self.timers = []
        self.order = itertools.count()

    def watch(self, sock, events, handler):
        """Call a function with the events of a socket; may be repeated."""
        fd = sock.fileno()
        if fd in self.handlers:
            self.epoll.modify(fd, events)
        else:
            self.epoll.register(fd, events)
        self.handlers[fd] = handler

    def close(self, sock):
        """Close a socket."""
        if self.handlers.pop(sock.fileno(), None):
            self.epoll.unregister(sock.fileno())
        sock.close()

    def at(self, when, function):
        """Call a function at a time of time.monotonic()."""
        heapq.heappush(self.timers, (when, next(self.order), function))

    def run(self, until):
        """Run until a time."""
        while True:
            now = time.monotonic()
            while self.timers and self.timers[0][0] <= now:
                heapq.heappop(self.timers)[2]()
            if now >= until:
                return
            end = min([until, *(timer[0] for timer in self.timers[:1])])
            for fd, events in self.epoll.poll(max(0, end - now), 256):
                handler = self.handlers.get(fd)
                if handler:
                    handler(events)
