#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Inside the guest: how long payload stays on its way down a slow link.

usage: residence.py CONTESTANT full|short FAMILY

The wireless link has 10 Mbit/s and 100 ms of round trip, the server path is as
fast as the guest. A download is sampled: what the server has sent and the
subscriber has not received is on its way, and what of that is not in the
link's queue is in the proxy. Prints what it does and writes what was measured
as JSON.

CONTESTANT is a name of contestants.py, FAMILY is 4 or 6. BENCH_TOOLS names the
folder tools/bench with its programs, BENCH_RESULTS the folder for results. The
exit code is 1 when a work fails, and 2 when the command line is wrong.
"""

import json
import select
import socket
import struct
import time

import bed
from contestants import CONTESTANTS
from peptest import pep
from peptest.netns import Within, addr, netem, run, single_packets
from works import SERVER_PORT

RATE = 10_000_000       # bit/s of the link
DELAY = 50              # ms, each way
QUEUE = 400             # packets that the link can hold
SETTLE = 8              # seconds after which samples count
SECONDS = {"full": 48, "short": 14}
STEP = 0.1              # seconds between samples
PIECE = bytes(65536)
TCP_INFO_SENT = 200     # offsets in struct tcp_info, 64 bits each
TCP_INFO_AGAIN = 208


def link_up():
    """Make the wireless link."""
    for ns, dev in (("sub", "eth0"), ("pep", "wl0"), ("pep", "sv0"),
                    ("srv", "eth0")):
        single_packets(ns, dev)
    for ns, dev in ("sub", "eth0"), ("pep", "wl0"):
        netem(ns, dev, "rate", f"{RATE}bit", "delay", f"{DELAY}ms",
              "limit", str(QUEUE))


def connect(family):
    """A connection from the subscriber to the server: both ends' sockets."""
    kind = socket.AF_INET if family == 4 else socket.AF_INET6
    with Within("srv"):
        listener = socket.socket(kind, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((addr("srv", family), SERVER_PORT))
    listener.listen(1)
    with Within("sub"):
        client = socket.socket(kind, socket.SOCK_STREAM)
    client.connect((addr("srv", family), SERVER_PORT))
    with listener:
        server = listener.accept()[0]
    server.setblocking(False)
    client.setblocking(False)
    return client, server


def sent(server):
    """Bytes that a socket has sent, retransmitted ones counted once."""
    info = server.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    return (struct.unpack_from("Q", info, TCP_INFO_SENT)[0] -
            struct.unpack_from("Q", info, TCP_INFO_AGAIN)[0])


def queued():
    """Bytes in the link's queue, with those that are only delayed."""
    shown = json.loads(run("tc", "-n", "pep", "-s", "-j", "qdisc", "show",
                           "dev", "wl0", "root",
                           seconds=bed.SECONDS).stdout)
    return shown[0]["backlog"]


def move(client, server, until):
    """Send and receive until a time; return the bytes received."""
    received = 0
    while True:
        left = until - time.monotonic()
        if left <= 0:
            return received
        readable, writable, _ = select.select([client], [server], [], left)
        if readable:
            received += len(client.recv(1 << 20))
        if writable:
            server.send(PIECE)


def percentile(values, share):
    """The value below which a share of all values is."""
    return sorted(values)[min(int(share * len(values)), len(values) - 1)]


def download(seconds, family):
    """Download for a while; return goodput, bit/s, and percentiles of the
    time that payload is on its way and in the proxy, ms."""
    client, server = connect(family)
    start = time.monotonic()
    received, counted, since = 0, 0, 0.0
    whole, inside = [], []
    with client, server:
        while time.monotonic() - start < seconds:
            received += move(client, server, time.monotonic() + STEP)
            now = time.monotonic() - start
            if now < SETTLE:
                counted, since = received, now
                continue
            link = queued()
            under_way = sent(server) - received
            whole.append(under_way * 8e3 / RATE)
            inside.append(max(under_way - link, 0) * 8e3 / RATE)
        end = time.monotonic() - start
    return {"goodput": (received - counted) * 8 / (end - since),
            **{name: {f"p{round(100 * share)}": percentile(values, share)
                      for share in (0.5, 0.99)}
               for name, values in (("whole", whole), ("inside", inside))}}


def measure(runs, who, size, family):
    """Do one download; store and print its result."""
    runs[who] = download(SECONDS[size], family)
    print(f"  {who}: {runs[who]['goodput'] / 1e6:.2f} Mbit/s, in the "
          f"proxy {runs[who]['inside']['p50']:.0f} ms", flush=True)
    time.sleep(3)


def main():
    """Measure plain forwarding and the contestant; pep also without BBR, to
    separate their effects."""
    contestant, size, family = bed.arguments(__doc__, CONTESTANTS)
    bed.topology()
    link_up()
    runs = {}
    for who in dict.fromkeys(("forward", contestant)):
        with CONTESTANTS[who]():
            measure(runs, who, size, family)
            if who == "pep":
                pep.pepadm("profile", "set", "default", "cc-wireless", "cubic")
                measure(runs, "pep-cubic", size, family)
    bed.result("residence", contestant, size=size, family=family, runs=runs)


if __name__ == "__main__":
    main()
