# SPDX-License-Identifier: GPL-2.0
"""rtnetlink requests that not every iproute2 supports: netkit devices, and
classifiers of any kind with the action pepsplit, which tc does not
support."""

import errno
import os
import socket
import struct
import threading

from .genl import attr
from .ktap import skip
from .netns import Within

RTM_NEWLINK = 16
RTM_NEWTFILTER = 44
RTM_GETTFILTER = 46
RTM_NEWACTION = 48
NLM_F_CREATE = 0x600     # and EXCL
NLM_F_REQUEST_ACK = 5
NLA_F_NESTED = 0x8000

IFLA_IFNAME = 3
IFLA_LINKINFO = 18
IFLA_NET_NS_FD = 28
IFLA_INFO_KIND = 1
IFLA_INFO_DATA = 2
IFLA_NETKIT_PEER_INFO = 1
IFLA_NETKIT_MODE = 5
NETKIT_L2 = 0

TCA_KIND = 1
TCA_OPTIONS = 2
TCA_FLOWER_ACT = 3
TCA_FLOWER_KEY_ETH_TYPE = 8
TCA_FLOWER_KEY_IPV4_SRC = 10
TCA_FLOWER_KEY_IPV4_SRC_MASK = 11
TCA_FLOWER_KEY_IPV6_SRC = 14
TCA_FLOWER_KEY_IPV6_SRC_MASK = 15
TCA_ACT_TAB = 1
TCA_ACT_KIND = 1
TCA_ACT_OPTIONS = 2
TCA_PEPSPLIT_PARMS = 2
TCA_PEPSPLIT_SIDE = 5
TC_ACT_UNSPEC = -1
INGRESS = 0xfffffff2
SIDES = {"wireless": 0, "server": 1}
PROTOCOLS = {4: 0x0800, 6: 0x86dd}


def text(kind, word):
    """An attribute with a string."""
    return attr(kind, word.encode() + b"\0")


def change(ns, kind, body):
    """Create an object of the kernel in a namespace; raises OSError."""
    with Within(ns):
        sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    with sock:
        sock.settimeout(30)
        sock.send(struct.pack("IHHII", 16 + len(body), kind,
                              NLM_F_REQUEST_ACK | NLM_F_CREATE, 1, 0) + body)
        data = sock.recv(1 << 16)
    err = struct.unpack_from("i", data, 16)[0]
    if err:
        raise OSError(-err, os.strerror(-err))


def netkit(ns, dev, peer_ns, peer):
    """A pair of netkit devices with Ethernet headers between two namespaces;
    skips the case where the kernel has none."""
    link = struct.pack("BxHiII", socket.AF_UNSPEC, 0, 0, 0, 0)
    fd = os.open(f"/run/netns/{peer_ns}", os.O_RDONLY)
    data = (attr(IFLA_NETKIT_MODE, struct.pack("I", NETKIT_L2)) +
            attr(IFLA_NETKIT_PEER_INFO, link + text(IFLA_IFNAME, peer) +
                 attr(IFLA_NET_NS_FD, struct.pack("I", fd))))
    info = text(IFLA_INFO_KIND, "netkit") + attr(IFLA_INFO_DATA, data)
    try:
        change(ns, RTM_NEWLINK,
               link + text(IFLA_IFNAME, dev) + attr(IFLA_LINKINFO, info))
    except OSError as err:
        if err.errno != errno.EOPNOTSUPP:
            raise
        skip("this kernel has no netkit devices")
    finally:
        os.close(fd)


def action(ns, *attrs):
    """Create an action pepsplit alone, with options or without any."""
    change(ns, RTM_NEWACTION, bytes(4) + attr(
        TCA_ACT_TAB | NLA_F_NESTED, attr(1 | NLA_F_NESTED, text(
            TCA_ACT_KIND, "pepsplit") + b"".join(attrs))))


def split_from(ns, dev, family, prefix, side, preference):
    """Add a filter to a device with a clsact qdisc: pep treats packets with a
    source in a prefix as from a side."""
    addr, bits = prefix.split("/")
    src = socket.inet_pton(
        socket.AF_INET if family == 4 else socket.AF_INET6, addr)
    ones = (1 << int(bits)) - 1 << len(src) * 8 - int(bits)
    with Within(ns):
        index = socket.if_nametoindex(dev)
    key, mask = ((TCA_FLOWER_KEY_IPV4_SRC, TCA_FLOWER_KEY_IPV4_SRC_MASK)
                 if family == 4 else
                 (TCA_FLOWER_KEY_IPV6_SRC, TCA_FLOWER_KEY_IPV6_SRC_MASK))
    action = (text(TCA_ACT_KIND, "pepsplit") + attr(
        TCA_ACT_OPTIONS | NLA_F_NESTED,
        attr(TCA_PEPSPLIT_PARMS, struct.pack("IIiii", 0, 0, TC_ACT_UNSPEC,
                                             0, 0)) +
        attr(TCA_PEPSPLIT_SIDE, struct.pack("I", SIDES[side]))))
    protocol = socket.htons(PROTOCOLS[family])
    change(ns, RTM_NEWTFILTER,
           struct.pack("BxxxiIII", socket.AF_UNSPEC, index, 0, INGRESS,
                       preference << 16 | protocol) +
           text(TCA_KIND, "flower") +
           attr(TCA_OPTIONS,
                attr(TCA_FLOWER_KEY_ETH_TYPE, struct.pack("H", protocol)) +
                attr(key, src) +
                attr(mask, ones.to_bytes(len(src), "big")) +
                attr(TCA_FLOWER_ACT, attr(1, action))))


class Asking(threading.Thread):
    """Asks for a filter that there is not, again and again until halt is set.
    For this classifier the kernel waits for the RTNL lock with a reference to
    the qdisc."""

    def __init__(self, ns, dev):
        super().__init__(daemon=True)
        with Within(ns):
            self.sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
            index = socket.if_nametoindex(dev)
        body = struct.pack("BxHiIII", socket.AF_UNSPEC, 0, index, 0, INGRESS,
                           1 << 16 | socket.htons(PROTOCOLS[4]))
        body += text(TCA_KIND, "u32")
        self.message = struct.pack("IHHII", 16 + len(body), RTM_GETTFILTER,
                                   NLM_F_REQUEST_ACK, 1, 0) + body
        self.halt = False
        self.start()

    def run(self):
        self.sock.settimeout(30)
        while not self.halt:
            self.sock.send(self.message)
            self.sock.recv(1 << 16)
        self.sock.close()
