# SPDX-License-Identifier: GPL-2.0
"""An XDP program that lets every packet pass. With one a veth device receives
into pages of a page pool, as most NICs do: a page is used again as soon as
nobody else refers to it."""

import ctypes
import os
import socket
import struct

from .genl import attr
from .netns import Within
from .rtnl import change

BPF_SYSCALL = 321       # on x86-64
BPF_PROG_LOAD = 5
BPF_PROG_TYPE_XDP = 6
BPF_F_XDP_HAS_FRAGS = 1 << 5
RTM_SETLINK = 19
IFLA_XDP = 43
IFLA_XDP_FD = 1
IFLA_XDP_FLAGS = 3
XDP_FLAGS_DRV_MODE = 1 << 2
# r0 = XDP_PASS; exit
PASS = struct.pack("<BBhi", 0xb7, 0, 0, 2) + struct.pack("<BBhi", 0x95, 0, 0,
                                                         0)


def _program():
    """A file descriptor of the program."""
    libc = ctypes.CDLL(None, use_errno=True)
    code = ctypes.create_string_buffer(PASS)
    terms = ctypes.create_string_buffer(b"GPL")
    order = ctypes.create_string_buffer(struct.pack(
        "<IIQQIIQII", BPF_PROG_TYPE_XDP, len(PASS) // 8,
        ctypes.addressof(code), ctypes.addressof(terms), 0, 0, 0, 0,
        BPF_F_XDP_HAS_FRAGS), 128)
    fd = libc.syscall(BPF_SYSCALL, BPF_PROG_LOAD, order, len(order))
    if fd < 0:
        raise OSError(ctypes.get_errno(), "loading an XDP program")
    return fd


def _set(ns, dev, fd):
    """Have a device run a program."""
    with Within(ns):
        index = socket.if_nametoindex(dev)
    change(ns, RTM_SETLINK,
           struct.pack("BxHiII", socket.AF_UNSPEC, 0, index, 0, 0) +
           attr(IFLA_XDP | 0x8000,
                attr(IFLA_XDP_FD, struct.pack("i", fd)) +
                attr(IFLA_XDP_FLAGS, struct.pack("I", XDP_FLAGS_DRV_MODE))))


def attach(ns, *devs):
    """Attach the program to devices, in the driver."""
    fd = _program()
    try:
        for dev in devs:
            _set(ns, dev, fd)
    finally:
        os.close(fd)
