# SPDX-License-Identifier: GPL-2.0
"""Generic netlink, as far as the tests need it to read counters and flows."""

import errno
import os
import re
import socket
import struct

from . import env
from .netns import Within

NETLINK_GENERIC = 16
GENL_ID_CTRL = 16
CTRL_CMD_GETFAMILY = 3
CTRL_ATTR_FAMILY_ID = 1
CTRL_ATTR_FAMILY_NAME = 2
NLM_F_REQUEST = 1
NLM_F_ACK = 4
NLM_F_DUMP = 0x300
NLM_F_DUMP_INTR = 0x10
NLM_F_ACK_TLVS = 0x200
NLMSG_ERROR = 2
NLMSG_DONE = 3
NLMSGERR_ATTR_MSG = 1
NLMSGERR_ATTR_OFFS = 2
SOL_NETLINK = 270
NETLINK_CAP_ACK = 10
NETLINK_EXT_ACK = 11

_HEADER = os.path.join(env.TOP, "uapi/linux/pep.h")


def names(prefix):
    """Numbers and names of a UAPI enum, like "PEP_A_STAT_", lower case."""
    with open(_HEADER, encoding="ascii") as file:
        found = re.findall(rf"^\t{prefix}([A-Z0-9_]+)( = \d+)?,$",
                           file.read(), re.MULTILINE)
    first = int(found[0][1].strip(" =") or 0)
    return {first + i: name.lower() for i, (name, _) in enumerate(found)}


def attrs(data):
    """The attributes of a message: a list of (type, payload)."""
    found = []
    while len(data) >= 4:
        size, kind = struct.unpack_from("HH", data)
        found.append((kind & 0x3fff, data[4:size]))
        data = data[(size + 3) & ~3:]
    return found


def attr(kind, payload):
    """One attribute."""
    data = struct.pack("HH", 4 + len(payload), kind) + payload
    return data + bytes(-len(data) % 4)


def ask(ns, family, command, payload=b"", dump=False):
    """Send a request; return the socket that receives the answers."""
    with Within(ns):
        sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW,
                             NETLINK_GENERIC)
    sock.settimeout(30)
    for option in NETLINK_CAP_ACK, NETLINK_EXT_ACK:
        sock.setsockopt(SOL_NETLINK, option, 1)
    flags = NLM_F_REQUEST | (NLM_F_DUMP if dump else NLM_F_ACK)
    message = struct.pack("BBH", command, 1, 0) + payload
    sock.send(struct.pack("IHHII", 16 + len(message), family, flags, 1, 0)
              + message)
    return sock


class Refused(OSError):
    """An error of the kernel; offset is the position in the request of the
    offending attribute, None when the kernel gives none."""

    def __init__(self, kind, flags, body):
        # NLMSG_ERROR has the header of the request before the attributes.
        start = 20 if kind == NLMSG_ERROR else 4
        told = dict(attrs(body[start:])) if flags & NLM_F_ACK_TLVS else {}
        err = -struct.unpack_from("i", body)[0]
        text = told.get(NLMSGERR_ATTR_MSG, b"").rstrip(b"\0").decode()
        super().__init__(err, text or os.strerror(err))
        offset = told.get(NLMSGERR_ATTR_OFFS)
        self.offset = offset and struct.unpack("I", offset)[0]


def parts(sock, size=1 << 17):
    """The answers part by part, each a list of flags and payloads; the kernel
    limits each part of a dump to size bytes. Raises Refused for an error of
    the kernel."""
    done = False
    while not done:
        data = sock.recv(size)
        part = []
        while data and not done:
            length, kind, flags = struct.unpack_from("IHH", data)
            body = data[16:length]
            data = data[(length + 3) & ~3:]
            if kind not in (NLMSG_ERROR, NLMSG_DONE):
                part.append((flags, body[4:]))
                continue
            if struct.unpack_from("i", body)[0]:
                raise Refused(kind, flags, body)
            done = True
        yield part


def answers(sock):
    """The flags and the payload of each answer; raises Refused."""
    for part in parts(sock):
        yield from part


def request(*what, **how):
    """Send a request and return the payloads of the answers; raises Refused
    for an error of the kernel."""
    with ask(*what, **how) as sock:
        return [payload for _, payload in answers(sock)]


def family_id(ns, name):
    """The number of a family, None when it does not exist."""
    try:
        answer = request(ns, GENL_ID_CTRL, CTRL_CMD_GETFAMILY,
                         attr(CTRL_ATTR_FAMILY_NAME, name.encode() + b"\0"))
    except OSError as err:
        if err.errno != errno.ENOENT:
            raise
        return None
    return struct.unpack("H", dict(attrs(answer[0]))[CTRL_ATTR_FAMILY_ID])[0]
