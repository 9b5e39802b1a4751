# SPDX-License-Identifier: GPL-2.0
"""The kernel's answers to bytes that are sent to a generic netlink family: the
messages that it parses, and the errors that each may return.

It follows netlink_rcv_skb(), genl_family_rcv_msg() and validate_nla() of the
kernel and the specification, not the module."""

import errno
import os
import struct

from . import spec
from .genl import NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST

NLM_F_ECHO = 8
HEADER = 16
GENL = 20               # with the family's header
LEAST_TYPE = 16         # below are control messages
OTHERS = range(16, 1024)    # families of the kernel have these numbers
NESTED, ORDER = 0x8000, 0x4000

GOOD = frozenset({0})
REFUSED = frozenset({errno.EINVAL, errno.ERANGE})
WRONG = frozenset({errno.EINVAL})
NONE = frozenset({errno.ENOENT})
DENIED = frozenset({errno.EPERM})
NO_COMMAND = frozenset({errno.EOPNOTSUPP})

# Linux 7.3, unlike 6.12, refuses bytes behind the header of a request that
# takes no attributes.
STRICT = int(os.uname().release.split(".")[0]) >= 7

_PROFILE = {errno.EINVAL, errno.ERANGE, errno.ENOENT, errno.ENODEV}
_FILTER = {errno.EINVAL, errno.ERANGE}
# Errors of an operation for requests that pass its policy.
REASONS = {
    "profile-get": {errno.EINVAL, errno.ENOENT},
    "profile-add": _PROFILE | {errno.EEXIST},
    "profile-replace": _PROFILE,
    "profile-set": _PROFILE | {errno.EOPNOTSUPP},
    "profile-del": {errno.EINVAL, errno.ENOENT, errno.EPERM, errno.EBUSY},
    "flow-get": _FILTER | {errno.ENOENT},
    "flow-kill": _FILTER,
    "flow-release": _FILTER,
    "limit-set": {errno.EINVAL},
    "conn-get": _FILTER | {errno.EBUSY},
    "flow-export": _FILTER | {errno.EBUSY},
    "flow-import": {errno.EINVAL, errno.EEXIST, errno.ENOSPC, errno.ETIME,
                    errno.ENETDOWN},
    "path-get": _FILTER,
    "path-flush": _FILTER,
}
# Attributes that an operation requires, and operations that require at least
# one attribute.
_END = ("bytes", "repeated", "mss", "wscale", "flags", "high", "ack", "edge",
        "tsval")
NEEDS = {
    **dict.fromkeys(("profile-get", "profile-add", "profile-set",
                     "profile-replace", "profile-del"), ("name",)),
    "flow-get": ("id",),
    "flow-import": ("stage", "opener", "family", "subscriber-addr",
                    "subscriber-port", "server-addr", "server-port", "age-ms",
                    "idle-ms", "wireless", "server", "isn"),
}
NEEDS_ANY = {"flow-kill", "flow-release", "limit-set"}


def _number(attribute, data):
    """The value of an attribute, read as a number."""
    return int.from_bytes(data, attribute.order)


def _value_fits(attribute, kind, data):
    """Does the policy accept the payload of one attribute?"""
    if attribute.type == "nest":
        if not kind & NESTED:
            return False
        return not data or len(data) >= 4 and attributes(
            data, spec.load().nested(attribute)) is not None
    if kind & NESTED:
        return False
    if attribute.type == "string":
        most = attribute.length + 1
        return b"\0" in data[:most] and len(
            data) - (data[-1:] == b"\0") <= attribute.length
    if attribute.sizes:
        return len(data) in attribute.sizes and (
            attribute.type == "flag" or
            attribute.fits(_number(attribute, data)))
    return True


def attributes(data, policy):
    """The attributes of a message by number, the last one of each; None when
    the policy refuses them."""
    found, at, size = {}, 0, len(data)
    while size - at >= 4:
        length, kind = struct.unpack_from("HH", data, at)
        if length < 4 or length > size - at:
            break
        number = kind & ~(NESTED | ORDER)
        attribute = policy.get(number)
        payload = data[at + 4:at + length]
        if attribute is None or not _value_fits(attribute, kind, payload):
            return None
        found[number] = payload
        at += length + 3 & ~3
    return found if at >= size else None


class Frame:
    """A message as the kernel parses it: its number, whether it requests an
    ACK, the errors it may return, including 0 when it may succeed, and the
    number of replies when it does; op, request and found where it reaches the
    operation."""

    __slots__ = ("seq", "at", "acks", "dump", "allowed", "replies", "op",
                 "found")

    def __init__(self, seq, at, flags):
        self.seq, self.at = seq, at
        self.acks = bool(flags & NLM_F_ACK)
        self.dump = False
        self.allowed = GOOD
        self.replies = 0
        self.op = self.found = None

    def value(self, request, name):
        """The payload of the named attribute, None without it."""
        attribute = request.by_name.get(name)
        return attribute and self.found.get(attribute.number)


class Judge:
    """Predicts the errors of one family for privileged or other senders."""

    def __init__(self, family, privileged):
        self.family, self.privileged = family, privileged
        self.spec = spec.load()

    def frames(self, data):
        """The messages of a datagram."""
        at, size, found, running = 0, len(data), [], False
        while size - at >= HEADER:
            length, kind, flags, seq = struct.unpack_from("IHHI", data, at)
            if length < HEADER or length > size - at:
                break
            frame = Frame(seq, at, flags)
            if flags & NLM_F_REQUEST and kind >= LEAST_TYPE:
                self._request(frame, data[at:at + length], kind, flags)
                if frame.dump:
                    # A socket runs one dump at a time.
                    if running:
                        frame.allowed |= {errno.EBUSY}
                    running = True
            found.append(frame)
            at += length + 3 & ~3
        return found

    def _request(self, frame, data, kind, flags):
        """A message that is a request."""
        if kind != self.family:
            frame.allowed = None if kind in OTHERS else NONE
            return
        dump = flags & NLM_F_DUMP == NLM_F_DUMP
        rest = flags & ~(NLM_F_DUMP if dump else 0)
        if len(data) < GENL or data[18:20] != b"\0\0" or rest & ~(
                NLM_F_REQUEST | NLM_F_ACK | NLM_F_ECHO):
            frame.allowed = WRONG
            return
        op = self.spec.ops.get(data[16])
        request = op and op.requests.get("dump" if dump else "do")
        if not request:
            frame.allowed = NO_COMMAND
        elif op.admin and not self.privileged:
            frame.allowed = DENIED
        else:
            self._operation(frame, op, request, data)

    def _operation(self, frame, op, request, data):
        """A request of an operation that is permitted to the sender."""
        found, frame.dump = {}, request.dump
        if request.policy or STRICT:
            found = attributes(data[GENL:], request.policy or {})
            if found is None:
                frame.allowed = REFUSED
                return
        frame.op, frame.found = op, found
        frame.replies = int(request.replies)
        reasons = REASONS.get(op.name, frozenset())
        frame.allowed = frozenset(reasons)
        if self._complete(op, request, frame):
            frame.allowed |= GOOD

    def _complete(self, op, request, frame):
        """Are all required attributes present, and all numbers in range?"""
        if request.dump:
            return True
        if op.name in NEEDS_ANY and not frame.found:
            return False
        for name in NEEDS.get(op.name, ()):
            if request.by_name[name].number not in frame.found:
                return False
        if op.name == "flow-import":
            return all(self._whole_end(request.by_name[name], frame.found)
                       for name in ("wireless", "server"))
        return all(request.policy[number].in_range(
            _number(request.policy[number], data))
            for number, data in frame.found.items())

    def _whole_end(self, attribute, found):
        """Has an end of a connection all required attributes?"""
        policy = self.spec.nested(attribute)
        inner = attributes(found[attribute.number], policy)
        names = {policy[number].name for number in inner}
        return names.issuperset(_END)
