# SPDX-License-Identifier: GPL-2.0
"""Requests to pep, datagram by datagram: each answer is compared with
judge.py, and the configuration with model.py."""

import collections
import errno
import random
import socket
import struct

from . import edges, genl
from .forge import KEPT, VICTIM, Forge
from .judge import HEADER, Judge
from .ktap import Failure
from .model import Model

SIZES = (1, 8, 40, 80)  # messages per datagram
SMALL = SIZES[:2]       # with a small receive buffer
ROOM = 1 << 22          # bytes; a small buffer is not larger
MOST = 100000           # bytes per datagram
MANY = 20000            # messages, more than any dump has
BUFFER = 4096           # small enough to split dumps into several parts


def sockets():
    """A socket for requests and one for look-ups."""
    found = []
    for _ in range(2):
        sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW,
                             genl.NETLINK_GENERIC)
        for option in genl.NETLINK_CAP_ACK, genl.NETLINK_EXT_ACK:
            sock.setsockopt(genl.SOL_NETLINK, option, 1)
        found.append(sock)
    return found


class Answer:
    """All answers to one request: errors in acknowledgments, those at the end
    of a dump, and other messages; said is false if an error has no text."""

    __slots__ = ("errors", "dones", "replies", "said")

    def __init__(self):
        self.errors, self.dones, self.replies, self.said = [], [], 0, True

    def __str__(self):
        return (f"acknowledgments {self.errors}, ends {self.dones}, "
                f"{self.replies} other messages")


def _words(data, flags, start, length):
    """Has an error a text, and any offset of it within the request?"""
    told = dict(genl.attrs(data[start:])) if flags & genl.NLM_F_ACK_TLVS \
        else {}
    place = told.get(genl.NLMSGERR_ATTR_OFFS)
    if place and struct.unpack("I", place)[0] >= length:
        return False
    return bool(told.get(genl.NLMSGERR_ATTR_MSG))


class Sender:
    """Sends with the privileges of its process."""

    def __init__(self, socks, family, seed, privileged):
        self.sock, self.looker = socks
        self.sizes = SIZES if self.sock.getsockopt(
            socket.SOL_SOCKET, socket.SO_RCVBUF) > ROOM else SMALL
        self.rnd = random.Random(seed)
        self.forge = Forge(family, self.rnd)
        self.edges = edges.requests(self.forge) if privileged else iter(())
        self.judge = Judge(family, privileged)
        self.seq = 0
        self.count = collections.Counter()
        self.model = Model(self.looker, family)
        if privileged:
            self.model.learn()

    def run(self, count):
        """Send count messages, those at the edges first; return the number of
        messages per error name, and the number of imported connections."""
        self.count.clear()
        self.model.differs()    # after the turns of others
        while self.count["messages"] < count:
            self.datagram()
        return dict(self.count)

    def datagram(self):
        """Send one datagram, with as many messages as it has room for."""
        rnd = self.rnd
        share = rnd.choice((0, .5, .9, 1))
        parts = []
        for _ in range(rnd.choice(self.sizes)):
            message = next(self.edges, None) or (
                self.forge.broken() if rnd.random() < share else
                self.forge.some())
            self.seq += 1
            parts.append(message.bytes(self.seq))
        if rnd.random() < .1:
            self.seq += 1
            parts.append(self.forge.torn().bytes(self.seq))
        while sum(map(len, parts)) > MOST:
            parts.pop(0)
        data, frames = self.harmless(parts)
        if data:
            self.check(data, frames, self.exchange(data))
            self.count["messages"] += len(frames)

    def harmless(self, parts):
        """Leave out messages that this test must not send; return the
        datagram and its messages."""
        while True:
            data = b"".join(parts)
            frames = self.judge.frames(data)
            seen = set()
            bad = next((one.at for one in frames if self.harms(one, seen)),
                       None)
            if bad is None:
                return data, frames
            at = 0
            for place, part in enumerate(parts):
                at += len(part)
                if bad < at:
                    del parts[place]
                    break

    def harms(self, frame, seen):
        """Does it affect objects that it must not, or has an earlier message
        the same sequence number?"""
        if frame.allowed is None or frame.seq in seen:
            return True
        seen.add(frame.seq)
        if not frame.op or not frame.found:
            return False
        request = frame.op.requests["dump" if frame.dump else "do"]
        if frame.op.name in ("flow-kill", "flow-release"):
            return frame.value(request, "server-port") != \
                struct.pack("!H", VICTIM)
        name = frame.value(request, "name")
        return bool(name) and name.split(b"\0")[0] == KEPT

    def exchange(self, data):
        """Send a datagram; return the answers by sequence number. They are
        complete when the socket has no more data."""
        self.sock.send(data)
        found = collections.defaultdict(Answer)
        while True:
            try:
                got = self.sock.recv(BUFFER, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return found
            at = 0
            while at < len(got):
                length, kind, flags, seq = struct.unpack_from("IHHI", got, at)
                self.answer(found[seq], kind, flags, got[at:at + length])
                at += length + 3 & ~3

    def answer(self, answer, kind, flags, data):
        """Record one message of an answer."""
        if kind == genl.NLMSG_ERROR:
            err, length = struct.unpack_from("iI", data, HEADER)
            answer.errors.append(-err)
            answer.said = not err or _words(data, flags, HEADER + 20, length)
        elif kind == genl.NLMSG_DONE:
            err, = struct.unpack_from("i", data, HEADER)
            answer.dones.append(-err)
            answer.said = not err or _words(data, flags, HEADER + 4, MOST)
        else:
            answer.replies += 1
            if answer.replies > MANY:
                raise Failure(f"a dump does not end; one of its messages is "
                              f"{data.hex()}")

    def check(self, data, frames, answers):
        """Fail unless each message has received one valid answer, and the
        configuration is the result of the accepted ones."""
        for frame in frames:
            answer = answers.pop(frame.seq, None) or Answer()
            err = self.verdict(frame, answer)
            if err is None:
                self.wrong(data, frame, answer)
            name = "good" if not err else errno.errorcode[err]
            self.count[name] += 1
            if not err and frame.op:
                self.model.accept(frame)
                self.count["imported"] += frame.op.name == "flow-import"
        if answers:
            raise Failure(f"answers to no request: {dict(answers)}, datagram "
                          f"{data.hex()}")
        wrong = self.model.differs()
        if wrong:
            raise Failure(f"{wrong}; datagram {data.hex()}")

    def verdict(self, frame, answer):
        """The error returned to a message, 0 for none; None when its answer
        is invalid."""
        ends = answer.errors + answer.dones
        if len(ends) > 1:
            return None
        err = ends[0] if ends else 0
        if err not in frame.allowed:
            return None
        if err:
            busy = frame.dump and err == errno.EBUSY
            fits = not answer.replies and (answer.said or busy or
                                           not frame.op)
        elif frame.dump:
            fits = bool(answer.dones)
        else:
            fits = (bool(answer.errors) == frame.acks and not answer.dones and
                    answer.replies == frame.replies)
        return err if fits else None

    def wrong(self, data, frame, answer):
        """Fail with a message and its answer."""
        length = struct.unpack_from("I", data, frame.at)[0]
        name = frame.op.name if frame.op else "no operation"
        raise Failure(f"{name}{' dump' if frame.dump else ''}: {answer}, "
                      f"not of {sorted(frame.allowed)} with "
                      f"{frame.replies} replies; message "
                      f"{data[frame.at:frame.at + length].hex()}")
