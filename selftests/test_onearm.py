# SPDX-License-Identifier: GPL-2.0
"""One-armed: pep has a single device for both sides. With VLAN devices on it,
one per side; or without VLANs, with sides distinguished by the source address;
or not distinguished at all, as with subscribers that talk to each other.

   sub ----+                      sw    a switch
   srv ---- sw (bridge) ---- pep
   bob ----+                 one0

bob is another subscriber, on a network of his own.
"""

import errno

from peptest import pep
from peptest.env import WITHOUT, amount
from peptest.ktap import case, expect, expect_least, fail, families
from peptest.netns import (addr, ip, link_packets, run, space_up, spaces_down,
                           sysctl)
from peptest.pep import grows
from peptest.quoting import TOO_BIG, Quoting
from peptest.rtnl import split_from
from peptest.tcp import (PORT, client, connect_errno, exchange, exchange_all,
                         expect_reset, one_way, outcome, pair, reset)

BYTES = amount(3000000)
BOB = {4: "198.18.3.2", 6: "2001:db8:3::2"}
HOPS = 64               # limit for a packet
MTU, LOW = 1300, 500    # that errors report, the latter below min_pmtu
LOOP = {4: "198.18.9.9", 6: "2001:db8:9::9"}
ENDS = {"sub": ("198.18.0.", "2001:db8::", 10),
        "srv": ("198.18.1.", "2001:db8:1::", 20),
        "bob": ("198.18.3.", "2001:db8:3::", 10)}


def switch_up(*ends):
    """The ends, the switch and pep's one device, without its addresses."""
    ip(None, *(f"netns add {ns}" for ns in (*ends, "sw", "pep")),
       "link add one0 netns pep type veth peer name one netns sw",
       *(f"link add eth0 netns {ns} type veth peer name {ns} netns sw"
         for ns in ends))
    for ns in ends:
        v4, v6, _ = ENDS[ns]
        space_up(ns, ("eth0", v4 + "2", v6 + "2"))
        ip(ns, f"route add default via {v4}1",
           f"route add default via {v6}1")
    # No redirects: they would make packets bypass pep. IPv6 has no sysctl for
    # that.
    run("nft", "-f", "-", ns="pep", stdin="""
        table ip6 onearm {
            chain output {
                type filter hook output priority 0;
                icmpv6 type nd-redirect drop
            }
        }
    """)
    sysctl("pep", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1",
           "net.ipv4.conf.all.send_redirects=0",
           "net.ipv4.conf.default.send_redirects=0")


def setup():
    """VLANs: each port of the switch is in one VLAN."""
    run("modprobe", "-qa", "8021q", "bridge", "cls_flower", check=False)
    pep.load()
    switch_up("sub", "srv")
    ip("sw", "link set one up",
       *(line for ns in ("sub", "srv") for line in (
           f"link add link one name one.{ENDS[ns][2]} type vlan "
           f"id {ENDS[ns][2]}",
           f"link add br-{ns} type bridge",
           f"link set one.{ENDS[ns][2]} master br-{ns} up",
           f"link set {ns} master br-{ns} up", f"link set br-{ns} up")))
    ip("pep", "link set one0 up",
       "link add link one0 name wl0 type vlan id 10",
       "link add link one0 name sv0 type vlan id 20")
    space_up("pep", ("wl0", "198.18.0.1", "2001:db8::1"),
             ("sv0", "198.18.1.1", "2001:db8:1::1"))
    pep.attach()
    pep.follow("handshake")


def legs(family, opener, opened, side):
    """A flow whose legs have the congestion control of their side."""
    with grows(split_handshake=1, flow_established=1, flow_closed=1):
        both = pep.split_pair(family, opener, opened)
        one_way(*both, 1000)
        flow, = pep.flows()
        expect("opener", flow["opener"], side)
        ends = {"sub": "subscriber", "srv": "server"}
        for ns in "sub", "srv":
            expect(f"address of {ns}", flow[ends[ns]]["addr"],
                   addr(ns, family))
        exchange(both, BYTES)


families("VLAN devices, the subscriber opens", "sub", "srv",
         "wireless")(legs)
families("VLAN devices, the server opens", "srv", "sub", "server")(legs)


@case("one device, sides by the source's network")
def by_source():
    pep.detach()
    spaces_down()
    switch_up("sub", "srv", "bob")
    ip("sw", "link add br0 type bridge", "link set br0 up",
       *(f"link set {dev} master br0 up" for dev in
         ("one", "sub", "srv", "bob")))
    space_up("pep", *(("one0", v4 + "1", v6 + "1")
                      for v4, v6, _ in ENDS.values()))
    run("tc", "qdisc", "add", "dev", "one0", "clsact", ns="pep")
    split_from("pep", "one0", 4, "198.18.1.0/24", "server", 1)
    split_from("pep", "one0", 6, "2001:db8:1::/64", "server", 2)
    split_from("pep", "one0", 4, "198.18.0.0/15", "wireless", 3)
    split_from("pep", "one0", 6, "2001:db8::/32", "wireless", 4)
    pep.follow("handshake")


families("one device, the subscriber opens", "sub", "srv", "wireless")(legs)
families("one device, the server opens", "srv", "sub", "server")(legs)


@families("one device, refused and reset")
def ends(family):
    with grows(follow_reset=1, flow_reset=1):
        expect("the client's error", connect_errno(
            "sub", family, addr("srv", family), 5001), "ECONNREFUSED")
        near, far = pep.split_pair(family)
        reset(near)
        expect_reset(far)


@families("one subscriber to another by the same device")
def hairpin(family):
    """Both are on the wireless side: the opened end counts as the server."""
    with grows(split_handshake=21, flow_established=21, flow_closed=21):
        exchange(pair(family, "sub", "bob", to=BOB[family]), BYTES)
        exchange_all(pep.split_start(family, 20, "sub", "bob", to=BOB[family]),
                     10000)


@families("one device, too big about the server leg, in the server's name",
          "srv")
@families("one device, too big about the server leg, in the subscriber's name",
          "sub")
def too_big(family, ns):
    """It may come from a router whose address shows no side. Below
    net.ipv4.route.min_pmtu it would count for forwarded packets as well. The
    server's address matches the filters of both sides."""
    live = Quoting(family, "srv", ("pep", "one0"))
    by, low = addr(ns, family), family == 4
    filters = 2 if ns == "srv" else 1
    with grows(ended=False, icmp_delivered=1, pass_icmp=0):
        live.send(*TOO_BIG[family], MTU, by=by)
    with grows(ended=False, icmp_delivered=int(not low),
               pass_icmp=filters * low):
        live.send(*TOO_BIG[family], LOW, by=by)
    live.end()
    ip("pep", "route flush cache", family=family)


@case("a router that sends all of it back")
def loop_up():
    """SYN timeouts are short: 1 + 2 seconds."""
    sysctl("srv", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1",
           "net.ipv4.conf.all.send_redirects=0",
           "net.ipv4.conf.eth0.send_redirects=0")
    for ns in "sub", "pep":
        sysctl(ns, "net.ipv4.tcp_syn_retries=1")
    for family, net in (4, "198.18.9.0/24"), (6, "2001:db8:9::/64"):
        ip("pep", f"route add {net} via {addr('srv', family)}")


def received():
    """Number of packets that pep's device has received."""
    return link_packets("pep")["one0"][0]


@families("SYNs that come back are forwarded as without pep")
def forwarded(family):
    """They loop until their hop limit expires, and make one followed
    connection, which is not split."""
    before = received()
    with grows(follow_new=1, follow_established=0, flow_established=0):
        expect("the client's error",
               connect_errno("sub", family, LOOP[family]), "EHOSTUNREACH")
    took = received() - before
    expect_least("packets that came in by the device", took, HOPS // 2)
    if took > HOPS * 3:
        fail(f"{took} packets came in by the device")


@families("SYNs that come back, early")
def loop(family):
    """The SYN of a leg comes back: it is no new connection, and does not loop
    for ever."""
    pep.pepadm("profile", "set", "default", "connect", "early")
    before = received()
    sock = client("sub", family)
    sock.settimeout(20)
    with grows(flow_established=0, follow_new=0):
        try:
            sock.connect((LOOP[family], PORT))
            got = outcome(sock)
        except OSError as err:
            got = errno.errorcode.get(err.errno, "late")
    expect("the client's end", got, "ECONNRESET")
    took = received() - before
    if took > 40:
        fail(f"{took} packets came in by the device")


def teardown():
    """Delete the filters, which are not pepadm's, and take everything down."""
    if not WITHOUT:
        run("tc", "qdisc", "del", "dev", "one0", "clsact", ns="pep",
            check=False)
    pep.teardown()
