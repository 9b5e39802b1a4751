# SPDX-License-Identifier: GPL-2.0
"""A connection of which one direction bypasses the gateway works unsplit, as
without pep, and pep keeps no state of it. A connection whose path has changed
since its handshake is not split either, until it comes back.

Besides the usual topology, a direct link from the server to the subscriber:
   srv back0 ---------------------------------- sub back0
   198.18.2.2, 2001:db8:2::2                198.18.2.1, 2001:db8:2::1
"""

import contextlib
import time

from peptest import pep
from peptest.ktap import expect, families, wait_for
from peptest.netns import addr, ip, nstat, sysctl
from peptest.pep import grows, least
from peptest.raw import SYN, Wire, link_address
from peptest.tcp import (PORT, client, exchange, exchange_part, one_way,
                         pair)

TRAITS = {"waits", "simulated"}

BYTES = 100000
LITTLE = 5000           # bytes, below the trigger
SPLIT = "12000"
HEARD = 2               # seconds, after which an end counts as silent
FORGOTTEN = 160         # seconds, limit for forgetting an unanswered SYN
OTHER = {"sub": "srv", "srv": "sub"}
BACK = {("sub", 4): "198.18.2.1", ("sub", 6): "2001:db8:2::1",
        ("srv", 4): "198.18.2.2", ("srv", 6): "2001:db8:2::2"}
SILENT = {4: "198.18.13.9", 6: "2001:db8:13::9"}


def setup():
    """The topology above; networks 13 are silent. IPv6 prefers a reachable
    router, so these neighbours are resolved."""
    pep.warmed()
    ip(None, "link add back0 netns srv type veth peer name back0 netns sub")
    for ns, end in ("srv", 2), ("sub", 1):
        ip(ns, f"address add 198.18.2.{end}/24 dev back0",
           f"address add 2001:db8:2::{end}/64 dev back0 nodad",
           "link set back0 up")
        sysctl(ns, "net.ipv4.conf.all.rp_filter=0",
               "net.ipv4.conf.back0.rp_filter=0",
               "net.ipv4.conf.eth0.rp_filter=0")
    for (ns, _), address in BACK.items():
        mac = link_address(ns, "back0").hex(":")
        ip(OTHER[ns], f"neigh replace {address} lladdr {mac} dev back0")
    ip("srv", "route add blackhole 198.18.13.0/24",
       "route add blackhole 2001:db8:13::/64")
    ip("pep", "route add 198.18.13.0/24 via 198.18.1.2",
       "route add 2001:db8:13::/64 via 2001:db8:1::2")


@contextlib.contextmanager
def around(family, ns):
    """Within, an end's packets to the other one bypass the gateway."""
    to = addr(OTHER[ns], family) + ("/32" if family == 4 else "/128")
    ip(ns, f"route add {to} via {BACK[OTHER[ns], family]} dev back0 "
       f"src {addr(ns, family)}")
    try:
        yield
    finally:
        ip(ns, f"route del {to} via {BACK[OTHER[ns], family]} dev back0")


def answers(family, opener, opened):
    """No answer passes the gateway, for the first connection as for the next
    ones; connections to the same destination are split as soon as they do."""
    with around(family, opened):
        for _ in range(3):
            with grows(follow_new=1, pass_followed=least(3),
                       follow_established=0, flow_established=0,
                       delivered=0):
                exchange(pair(family, opener, opened), BYTES)
    with grows(split_handshake=1, flow_closed=1):
        exchange(pair(family, opener, opened), BYTES)


def opening(family, opener, opened):
    """The SYN and all packets of the opener bypass the gateway, only answers
    pass it: they belong to no connection."""
    with around(family, opener):
        for _ in range(3):
            with grows(follow_new=0, pass_no_flow=least(3),
                       flow_established=0, delivered=0):
                exchange(pair(family, opener, opened), BYTES)
    with grows(split_handshake=1, flow_closed=1):
        exchange(pair(family, opener, opened), BYTES)


for _opener, _opened in ("sub", "srv"), ("srv", "sub"):
    families(f"answers around the gateway, {_opener} opens", _opener,
             _opened)(answers)
    families(f"the opener's packets around the gateway, {_opener} opens",
             _opener, _opened)(opening)


def changed(family, moved):
    """The handshake and some payload pass the gateway; later the packets of
    one end do not. The other end's payload exceeds the trigger and would be
    lost in a leg that receives nothing."""
    pep.follow(SPLIT)
    try:
        with grows(follow_established=1, flow_established=0, flow_reset=0,
                   delivered=0):
            near, far = pair(family)
            ends = {"sub": near, "srv": far}
            exchange_part((near, far), LITTLE)
            with around(family, moved):
                time.sleep(HEARD)
                one_way(ends[OTHER[moved]], ends[moved], BYTES)
                one_way(ends[moved], ends[OTHER[moved]], BYTES)
                one_way(ends[OTHER[moved]], ends[moved], BYTES)
                exchange((near, far), BYTES)
    finally:
        pep.follow("handshake")


for _ns in OTHER:
    families(f"since the handshake {_ns}'s packets take another way",
             _ns)(changed)


@families("the server's packets take another way and come back")
def returned(family):
    """Payload and acknowledgments have bypassed the gateway. The next ones
    show how far the ends are: from there the connection is split."""
    pep.follow(SPLIT)
    try:
        with grows(follow_established=1, flow_established=1, flow_reset=0,
                   flow_closed=1, follow_unseen=least(1)):
            both = pair(family)
            exchange_part(both, LITTLE)
            with around(family, "srv"):
                time.sleep(HEARD)
                exchange_part(both, LITTLE)
            expect("flows", pep.stat("flows"), 0)
            exchange_part(both, BYTES)
            exchange(both, BYTES)
    finally:
        pep.follow("handshake")


def syns(wire, source):
    """Number of SYNs from an address, captured by a wire."""
    return sum(bool(seen.flags & SYN) and seen.src == source
               for seen in wire.segments())


@families("a client that gives up is forgotten, nothing is sent for it",
          seconds=FORGOTTEN + 60)
def gives_up(family):
    """Exactly one SYN reaches the server's wire, and the gateway's stack sends
    none."""
    wire = Wire("srv", "eth0", ("pep", "sv0"))
    sock = client("sub", family)
    sock.setblocking(False)
    sent = nstat("pep", "TcpOutSegs", "TcpRetransSegs")
    followed = pep.stat("followed")
    with grows(follow_new=1, follow_silent=least(1), follow_established=0,
               flow_established=0) as before:
        sock.connect_ex((SILENT[family], PORT))
        first = wire.find(lambda seen: seen.flags & SYN)
        sock.close()
        wait_for("the connection to be forgotten",
                 lambda: pep.stat("follow_silent") >
                 before["follow_silent"] and
                 pep.stat("followed") <= followed, FORGOTTEN)
    expect("SYNs behind the first", syns(wire, first.src), 0)
    expect("segments of the gateway",
           nstat("pep", "TcpOutSegs", "TcpRetransSegs"), sent)
