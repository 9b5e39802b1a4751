# SPDX-License-Identifier: GPL-2.0
"""Protocols that are more than a request and its answer: FTP, whose data
connections are opened by either end to addresses given in another connection;
a WebSocket, which answers while it receives; 9P, a kernel's file system over a
long-lived connection."""

import base64
import hashlib
import os
import shutil
import struct
import threading

from peptest import pep, service
from peptest.env import amount
from peptest.ktap import expect, families
from peptest.netns import addr, mount, run, umount
from peptest.pep import grows
from peptest.service import (fetched, folder, host, listening, path, serve,
                             write)
from peptest.tcp import accept, connect, listen, pieces

BYTES = amount(2000000)
FTP, WEB, NINEP = 8121, 8122, 8123
MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
FTPD = f"""
from pyftpdlib.authorizers import DummyAuthorizer
from pyftpdlib.handlers import FTPHandler
from pyftpdlib.servers import FTPServer
FTPHandler.authorizer = DummyAuthorizer()
FTPHandler.authorizer.add_anonymous("FOLDER", perm="elrw")
servers = [FTPServer((host, {FTP}), FTPHandler)
           for host in {addr("srv", 4), addr("srv", 6)}]
servers[0].serve_forever()
"""
HOSTS = """127.0.0.1 localhost
198.18.0.2 sub4
2001:db8::2 sub6
198.18.1.2 srv4
2001:db8:1::2 srv6
"""


def diod():
    """9P with Debian's diod, of a folder that is a file system of its own: the
    overlay of the guests gives files other device numbers than folders, which
    diod mistakes for mounts. It resolves the names of its clients; ip-netns
    presents the files of such a folder to programs in place of those of
    /etc."""
    os.mkdir(path("export"))
    mount("tmpfs", path("export"), "tmpfs")
    shutil.copyfile(path("file"), path("export/file"))
    os.makedirs("/etc/netns/srv", exist_ok=True)
    with open("/etc/netns/srv/hosts", "w", encoding="ascii") as file:
        file.write(HOSTS)
    serve("srv", shutil.which("ip"), "netns", "exec", "srv", "/usr/sbin/diod",
          "-f", "-n", "-N", "-L", "stderr", "-e", path("export"),
          "-l", f"srv4:{NINEP}", "-l", f"srv6:{NINEP}")


def setup():
    """FTP with Debian's pyftpdlib, and 9P."""
    pep.detached()
    service.payload("file", 54321, BYTES)
    serve("srv", "/usr/bin/python3", write("ftpd.py", FTPD.replace(
        "FOLDER", folder())))
    diod()
    listening("srv", FTP, NINEP)
    os.mkdir(path("mnt"))
    pep.attach()
    pep.follow("handshake")


def teardown():
    """End the servers first."""
    umount(path("export"))
    service.services_down()
    pep.teardown()


def ftp(family, *how):
    """A download and an upload, each with a control and a data connection."""
    url = f"ftp://{host(family)}:{FTP}/"
    with grows(flow_established=4):
        run("curl", "-sSg", *how, "-o", path("got"), url + "file", ns="sub")
        run("curl", "-sSg", *how, "-T", path("got"), url + "again", ns="sub")
    fetched("again")
    fetched()


families("FTP, passive")(ftp)
families("FTP, active", "-P", "-")(ftp)


def receive(sock, size):
    """Receive size bytes, or up to the end."""
    got = bytearray()
    while len(got) < size:
        piece = sock.recv(size - len(got))
        if not piece:
            break
        got += piece
    return bytes(got)


def frame(data, mask=b""):
    """A binary WebSocket frame, masked as clients have to."""
    head = bytes([0x82])
    bit = 0x80 if mask else 0
    if len(data) < 126:
        head += bytes([bit | len(data)])
    elif len(data) < 65536:
        head += struct.pack("!BH", bit | 126, len(data))
    else:
        head += struct.pack("!BQ", bit | 127, len(data))
    return head + mask + (xor(data, mask) if mask else data)


def xor(data, mask):
    """Data under a mask of four bytes."""
    whole = (mask * (len(data) // 4 + 1))[:len(data)]
    return (int.from_bytes(data, "big") ^
            int.from_bytes(whole, "big")).to_bytes(len(data), "big")


def unframe(sock):
    """The payload of the next frame, None at the end."""
    head = receive(sock, 2)
    if len(head) < 2:
        return None
    size = head[1] & 0x7f
    if size == 126:
        size, = struct.unpack("!H", receive(sock, 2))
    elif size == 127:
        size, = struct.unpack("!Q", receive(sock, 8))
    mask = receive(sock, 4) if head[1] & 0x80 else b""
    data = receive(sock, size)
    return xor(data, mask) if mask else data


def header(sock):
    """An HTTP header up to its empty line, as a dictionary."""
    got = b""
    while not got.endswith(b"\r\n\r\n"):
        got += sock.recv(1)
    lines = got.decode().split("\r\n")[1:-2]
    return dict(line.split(": ", 1) for line in lines)


def token(key):
    """The server's answer to a client's key, RFC 6455."""
    return base64.b64encode(hashlib.sha1(
        (key + MAGIC).encode()).digest()).decode()


def echo(listener):
    """A server that sends each message back."""
    sock = accept(listener)
    key = header(sock)["Sec-WebSocket-Key"]
    sock.sendall(("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                  "Connection: Upgrade\r\nSec-WebSocket-Accept: "
                  f"{token(key)}\r\n\r\n").encode())
    while True:
        data = unframe(sock)
        if data is None:
            break
        sock.sendall(frame(data))
    sock.close()


@families("a WebSocket")
def websocket(family):
    listener = listen("srv", family, WEB)
    server = threading.Thread(target=echo, args=(listener,), daemon=True)
    server.start()
    with grows(flow_established=1, flow_closed=1, flow_reset=0):
        sock = connect("sub", family, addr("srv", family), WEB)
        key = base64.b64encode(os.urandom(16)).decode()
        sock.sendall(("GET / HTTP/1.1\r\nHost: srv\r\nUpgrade: websocket\r\n"
                      "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                      f"Sec-WebSocket-Key: {key}\r\n\r\n").encode())
        expect("the server's token", header(sock)["Sec-WebSocket-Accept"],
               token(key))
        for size in (1, 125, 126, 65535, 65536, 10, amount(1000000)):
            data = b"".join(pieces(size, size))
            sock.sendall(frame(data, os.urandom(4)))
            expect("the echo is the same", unframe(sock) == data, True)
        sock.close()
        server.join(20)


@families("9P, the kernel's client")
def ninep(family):
    """A file is read from the server's folder and another one written there.
    The client gets an open connection, because it does not connect over
    IPv6."""
    with grows(flow_established=1):
        sock = connect("sub", family, addr("srv", family), NINEP)
        sock.setblocking(True)
        mount("9p", path("mnt"), "9p",
              f"trans=fd,rfdno={sock.fileno()},wfdno={sock.fileno()},"
              f"version=9p2000.L,uname=root,aname={path('export')}")
        try:
            shutil.copyfile(path("mnt/file"), path("got"))
            shutil.copyfile(path("got"), path("mnt/again"))
        finally:
            sock.close()
            umount(path("mnt"))
    fetched("export/again")
    fetched()
