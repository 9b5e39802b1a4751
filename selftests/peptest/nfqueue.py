# SPDX-License-Identifier: GPL-2.0
"""A netfilter queue, which holds packets until a test accepts or drops one."""

import errno
import socket
import struct

from .genl import NLM_F_ACK, NLM_F_REQUEST, NLMSG_ERROR, attr, attrs
from .netns import Within

NETLINK_NETFILTER = 12
SUBSYSTEM = 3 << 8      # NFNL_SUBSYS_QUEUE
MSG_PACKET, MSG_VERDICT, MSG_CONFIG = (SUBSYSTEM | n for n in range(3))
CFG_CMD, CFG_PARAMS = 1, 2
CMD_BIND = 1
COPY_META = 1
PACKET_HDR = 1
VERDICT_HDR = 2
NF_DROP, NF_ACCEPT = 0, 1


class Queue:
    """A queue of a namespace, by number, for rules with "queue to NUMBER"."""

    def __init__(self, ns, number):
        self.number = number
        with Within(ns):
            self.sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW,
                                      NETLINK_NETFILTER)
        self.sock.settimeout(30)
        self._send(MSG_CONFIG, attr(CFG_CMD, struct.pack(">BxH", CMD_BIND, 0)),
                   NLM_F_ACK)
        self._acknowledged()
        self._send(MSG_CONFIG, attr(CFG_PARAMS,
                                    struct.pack(">IB", 0, COPY_META)),
                   NLM_F_ACK)
        self._acknowledged()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()

    def _send(self, kind, payload, flags=0):
        message = struct.pack(">BBH", socket.AF_UNSPEC, 0,
                              self.number) + payload
        self.sock.send(struct.pack("IHHII", 16 + len(message), kind,
                                   NLM_F_REQUEST | flags, 0, 0) + message)

    def _acknowledged(self):
        """Wait for an answer; raises OSError for an error of the kernel."""
        data = self.sock.recv(1 << 16)
        kind, = struct.unpack_from("H", data, 4)
        err = struct.unpack_from("i", data, 16)[0]
        if kind != NLMSG_ERROR or err:
            raise OSError(-err or errno.EPROTO, "netfilter queue")

    def wait(self):
        """Wait for a packet; return its number."""
        data = self.sock.recv(1 << 16)
        kind, = struct.unpack_from("H", data, 4)
        if kind != MSG_PACKET:
            raise OSError(errno.EPROTO, "netfilter queue")
        return struct.unpack_from(">I", dict(attrs(data[20:]))[PACKET_HDR])[0]

    def _decide(self, verdict, packet):
        self._send(MSG_VERDICT, attr(VERDICT_HDR,
                                     struct.pack(">II", verdict, packet)))

    def accept(self, packet):
        """Let a packet go on."""
        self._decide(NF_ACCEPT, packet)

    def drop(self, packet):
        """Drop a packet."""
        self._decide(NF_DROP, packet)
