# SPDX-License-Identifier: GPL-2.0
"""rtnetlink requests for the tc action pepsplit, alone and with a filter of a
device, with valid options and with broken ones."""

import collections
import errno
import random
import socket
import struct

from . import genl, judge, rtnl
from .forge import PROFILES, STRINGS, Forge, Message, pack
from .genl import NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST
from .judge import HEADER, NESTED
from .ktap import Failure, wait_for
from .spec import Attribute, Request

RTM_NEWACTION, RTM_DELACTION, RTM_GETACTION = 48, 49, 50
RTM_NEWQDISC, RTM_DELQDISC = 36, 37
NLM_F_REPLACE, NLM_F_EXCL, NLM_F_CREATE = 0x100, 0x200, 0x400
TCA_ACT_TAB = 1
TCA_ACT_INDEX = 3
TCA_MATCHALL_ACT = 2
TCA_PEPSPLIT_TM = 1
TC_H_CLSACT = 0xffff0000, 0xfffffff1    # handle and parent of the qdisc
FIRST = 1000            # lowest index of the actions created here
BATCH = 12              # messages per datagram
VERDICTS = (-1, 0, 1, 2, 3, 4, 8, 9, 0x10000001, 0x20000001, 0x7fffffff)
OPTIONS = Request("do", {"request": {"attributes": [
    "parms", "side", "profile"]}}, [
        Attribute(2, {"name": "parms", "type": "binary",
                      "checks": {"exact-len": 20}}),
        Attribute(5, {"name": "side", "type": "u32", "checks": {"max": 1}}),
        Attribute(6, {"name": "profile", "type": "string",
                      "checks": {"max-len": 15}})])
# Errors for well-formed requests: a verdict, an index in use, a profile or
# index that does not exist, a filter's action.
REASONS = {errno.EINVAL, errno.ERANGE, errno.EEXIST, errno.ENOENT,
           errno.ENOSPC, errno.EOPNOTSUPP}


def sockets():
    """A socket for requests and one for look-ups."""
    found = []
    for _ in range(2):
        sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
        for option in genl.NETLINK_CAP_ACK, genl.NETLINK_EXT_ACK:
            sock.setsockopt(genl.SOL_NETLINK, option, 1)
        found.append(sock)
    return found


def _action(*attrs):
    """The body of a request for one action."""
    return bytes(4) + pack(TCA_ACT_TAB | NESTED, pack(
        1 | NESTED, rtnl.text(rtnl.TCA_ACT_KIND, "pepsplit") +
        b"".join(attrs)))


class Actions:
    """Sends requests for a device, with the privileges of its process."""

    def __init__(self, socks, seed, privileged, dev):
        self.sock, self.looker = socks
        self.privileged = privileged
        self.rnd = random.Random(seed)
        self.forge = Forge(0, self.rnd)
        self.index = socket.if_nametoindex(dev)
        self.seq = 0
        self.count = collections.Counter()
        self.before = None

    def order(self, kind, flags, body):
        """Send a request on the look-up socket; return the error."""
        self.looker.send(struct.pack(
            "IHHII", HEADER + len(body), kind, flags | NLM_F_REQUEST |
            NLM_F_ACK, 0, 0) + body)
        data = self.looker.recv(1 << 16)
        return -struct.unpack_from("i", data, HEADER)[0]

    def clsact(self, kind, flags=0):
        """Create or delete the clsact qdisc of the device."""
        handle, parent = TC_H_CLSACT
        return self.order(kind, flags, struct.pack(
            "BxxxiIII", 0, self.index, handle, parent, 0) +
            rtnl.text(rtnl.TCA_KIND, "clsact"))

    def look(self):
        """The options of all existing actions by index, without times and
        use counts."""
        body = _action()
        self.looker.send(struct.pack(
            "IHHII", HEADER + len(body), RTM_GETACTION,
            NLM_F_REQUEST | NLM_F_DUMP, 0, 0) + body)
        found = {}
        for _, data in genl.answers(self.looker):
            for _, one in genl.attrs(dict(genl.attrs(data))[TCA_ACT_TAB]):
                options = dict(genl.attrs(
                    dict(genl.attrs(one))[rtnl.TCA_ACT_OPTIONS]))
                options.pop(TCA_PEPSPLIT_TM)
                parms = options.pop(rtnl.TCA_PEPSPLIT_PARMS)
                found[struct.unpack_from("I", parms)[0]] = (parms[:12],
                                                            options)
        return found

    def run(self, count):
        """Send count messages; return the number of answers per error name.
        All created actions are deleted."""
        self.count.clear()
        self.clsact(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL)
        kept = self.before = self.look()
        while self.count["messages"] < count:
            self.datagram()
        self.clsact(RTM_DELQDISC)
        wait_for("the actions to be gone", lambda: self.cleared(kept))
        return dict(self.count)

    def cleared(self, kept):
        """Delete all other actions; an action of a filter exists a little
        longer than the filter."""
        for index in self.look().keys() - kept.keys():
            self.order(RTM_DELACTION, 0, _action(
                pack(TCA_ACT_INDEX, struct.pack("I", index))))
        return self.look() == kept

    def options(self):
        """Options of an action: their bytes and their type."""
        rnd = self.rnd
        message = Message(0, 0, False)
        parms = struct.pack("IIiii", self.number(), 0, rnd.choice(VERDICTS),
                            0, 0)
        message.attrs = [(2, parms, None),
                         (5, struct.pack("I", rnd.randrange(2)), None)]
        if rnd.random() < .7:
            message.attrs.append((6, rnd.choice(
                PROFILES if rnd.random() < .7 else STRINGS["profile"]) +
                b"\0", None))
        kind = rtnl.TCA_ACT_OPTIONS | NESTED
        if rnd.random() < .6:
            self.forge.damage(message, OPTIONS, self.forge.inner)
            kind ^= rnd.choice((0, 0, 0, NESTED))
        # tc itself refuses options that are too short for an attribute.
        data = message.payload()[:30000]
        return data if len(data) > 3 else b"", kind

    def number(self):
        """Index of an action: one of a few, or any free one."""
        return self.rnd.choice((0, FIRST, FIRST + 1, FIRST + 2, FIRST + 3,
                                (1 << 32) - 1))

    def message(self):
        """A request: kind, flags, body and the errors that it may return."""
        rnd = self.rnd
        if rnd.random() < .15:
            index = rnd.choice((0, FIRST, FIRST + 1, FIRST + 2, (1 << 32) - 1))
            return RTM_DELACTION, 0, _action(pack(
                TCA_ACT_INDEX, struct.pack("I", index)[:rnd.choice(
                    (4, 4, 4, 2, 0))])), REASONS | {0, errno.EPERM}
        data, kind = self.options()
        allowed = self.judged(data, kind)
        if rnd.random() < .6:
            return (RTM_NEWACTION, rnd.choice((NLM_F_CREATE, NLM_F_REPLACE)),
                    _action(pack(kind, data)), allowed)
        body = struct.pack("BxxxiIII", 0, self.index, 0, rtnl.INGRESS,
                           rnd.randrange(1, 9) << 16 | socket.htons(3))
        body += rtnl.text(rtnl.TCA_KIND, "matchall") + pack(
            rtnl.TCA_OPTIONS | NESTED, pack(TCA_MATCHALL_ACT | NESTED, pack(
                1 | NESTED, rtnl.text(rtnl.TCA_ACT_KIND, "pepsplit") +
                pack(kind, data))))
        return (rtnl.RTM_NEWTFILTER, NLM_F_CREATE | NLM_F_EXCL, body, allowed)

    def judged(self, data, kind):
        """The errors that options may cause; None where they refer to an
        action that somebody else has created."""
        found = judge.attributes(data, OPTIONS.policy)
        if not kind & NESTED or not found or 2 not in found:
            return judge.REFUSED | REASONS
        if 0 < struct.unpack_from("I", found[2])[0] < FIRST:
            return None
        # An existing action is bound unchanged, without a side.
        return REASONS | {0}

    def datagram(self):
        """Send a batch and compare the answers with the allowed errors."""
        parts, allowed = [], {}
        while len(parts) < BATCH:
            kind, flags, body, errors = self.message()
            if errors is None:
                continue
            if not self.privileged:
                errors = judge.DENIED
            self.seq += 1
            allowed[self.seq] = errors
            parts.append(struct.pack(
                "IHHII", HEADER + len(body), kind, flags | NLM_F_REQUEST |
                NLM_F_ACK, self.seq, 0) + body + bytes(-len(body) % 4))
        self.sock.send(b"".join(parts))
        good = False
        for part in parts:
            data = self.sock.recv(1 << 16, socket.MSG_DONTWAIT)
            _, kind, _, seq, _, err = struct.unpack_from("IHHIIi", data)
            if kind != genl.NLMSG_ERROR or -err not in allowed.pop(seq, ()):
                raise Failure(f"answer of kind {kind} with error {-err} to "
                              f"{part.hex()}")
            good = good or not err
            self.count[errno.errorcode.get(-err, "good")] += 1
        self.count["messages"] += len(parts)
        after = self.look()
        if after != self.before and not good:
            raise Failure(f"changed by what was refused: {self.before} became "
                          f"{after}")
        self.before = after
