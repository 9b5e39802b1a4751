#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Run nginx with listening sockets that take connections to any address.

usage: listen.py PORT PORTS NGINX [ARG...]

nginx has no option to set IP_TRANSPARENT on its listening sockets, but it
takes over the sockets whose descriptors are in the variable NGINX, as it does
when it is upgraded. There is a socket for each of PORTS ports from PORT on,
for IPv4 and for IPv6. The exit code is that of NGINX, and 2 when the command
line is wrong.
"""

import os
import pathlib
import socket
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from commandline import arguments, number  # noqa: E402 pylint: disable=wrong-import-position

IP_TRANSPARENT = 19
IPV6_TRANSPARENT = 75


def listen(family, port):
    """Listen on a port of all addresses; return the descriptor."""
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET:
        sock.setsockopt(socket.IPPROTO_IP, IP_TRANSPARENT, 1)
    else:
        sock.setsockopt(socket.IPPROTO_IPV6, IPV6_TRANSPARENT, 1)
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    sock.bind(("", port))
    sock.listen(4096)
    sock.set_inheritable(True)
    return sock.detach()


def main():
    """Open the sockets and become nginx."""
    *ports, program = arguments(__doc__, 3)[:3]
    first, count = (number(__doc__, word) for word in ports)
    fds = [listen(family, port) for port in range(first, first + count)
           for family in (socket.AF_INET, socket.AF_INET6)]
    os.environ["NGINX"] = "".join(f"{fd};" for fd in fds)
    os.execvp(program, sys.argv[3:])


if __name__ == "__main__":
    main()
