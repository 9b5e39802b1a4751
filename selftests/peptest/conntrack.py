# SPDX-License-Identifier: GPL-2.0
"""The entries of conntrack's table, by ctnetlink."""

import collections
import socket
import struct

from .genl import (NLM_F_DUMP, NLM_F_REQUEST, NLMSG_DONE, NLMSG_ERROR, attrs)
from .ktap import Failure
from .netns import Within
from .tcp import FAMILIES

NETLINK_NETFILTER = 12
CT_GET = 1 << 8 | 1     # of the subsystem ctnetlink
CTA_TUPLE_ORIG = 1
CTA_TUPLE_PROTO = 2
CTA_PROTO_NUM = 1
CTA_PROTO_SRC_PORT = 2
CTA_STATUS = 3
CTA_PROTOINFO = 4
CTA_PROTOINFO_TCP = 1
CTA_PROTOINFO_TCP_STATE = 1
CTA_TIMEOUT = 7
IPS_OFFLOAD = 1 << 14
STATES = ("NONE", "SYN_SENT", "SYN_RECV", "ESTABLISHED", "FIN_WAIT",
          "CLOSE_WAIT", "LAST_ACK", "TIME_WAIT", "CLOSE", "SYN_SENT2")

Entry = collections.namedtuple("Entry", "state timeout offloaded")


def _messages(ns, family):
    """The payloads of a dump's messages."""
    with Within(ns):
        sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW,
                             NETLINK_NETFILTER)
    with sock:
        sock.settimeout(30)
        sock.send(struct.pack("IHHIIBBH", 20, CT_GET,
                              NLM_F_REQUEST | NLM_F_DUMP, 1, 0,
                              FAMILIES[family], 0, 0))
        while True:
            data = sock.recv(1 << 16)
            while data:
                size, kind = struct.unpack_from("IH", data)
                if kind == NLMSG_ERROR:
                    raise Failure("ctnetlink: error "
                                  f"{struct.unpack_from('i', data, 16)[0]}")
                if kind == NLMSG_DONE:
                    return
                yield data[20:size]
                data = data[(size + 3) & ~3:]


def entry(ns, family, port):
    """The entry of the TCP connection whose opener has a port, or None: its
    state, the seconds that it lasts, and whether a flowtable has it, which
    hides the others. Conntrack removes expired entries when it is asked for
    them."""
    for message in _messages(ns, family):
        found = dict(attrs(message))
        tuple_ = dict(attrs(found[CTA_TUPLE_ORIG]))
        proto = dict(attrs(tuple_[CTA_TUPLE_PROTO]))
        if proto[CTA_PROTO_NUM][0] != socket.IPPROTO_TCP or \
                struct.unpack("!H", proto[CTA_PROTO_SRC_PORT])[0] != port:
            continue
        if struct.unpack("!I", found[CTA_STATUS])[0] & IPS_OFFLOAD:
            return Entry("", None, True)
        info = dict(attrs(found[CTA_PROTOINFO]))
        state = dict(attrs(info[CTA_PROTOINFO_TCP]))[CTA_PROTOINFO_TCP_STATE]
        return Entry(STATES[state[0]],
                     struct.unpack("!I", found[CTA_TIMEOUT])[0], False)
    return None
