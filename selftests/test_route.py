# SPDX-License-Identifier: GPL-2.0
"""Devices, addresses and routes are removed under load. If they come back in
time the flows go on; otherwise the flows end for the remaining end. A
subscriber that moves to another link, or is reached by another route, keeps
their connections.

Besides the usual topology there is a second link to the subscriber, whose
address is on their loopback device:

   sub  eth0 198.18.0.2 ---- 198.18.0.1 wl0  pep
        eth1 198.18.5.2 ---- 198.18.5.1 wl1
        lo   198.18.7.2
"""

import contextlib

from peptest import bypass, pep
from peptest.env import amount
from peptest.firewall import ruled
from peptest.ktap import (Failure, expect, expect_least, fail, families,
                          wait_for)
from peptest.netns import (addr, ip, link_packets, space_up, sysctls,
                           topology_up)
from peptest.pep import grows, least
from peptest.tcp import (Load, exchange, expect_same, outcome,
                         pair, start)

TRAITS = {"waits", "simulated"}

RATE = amount(1000000)
HOME = {4: "198.18.7.2", 6: "2001:db8:7::2"}
LINK = {"wl0": {4: "198.18.0.", 6: "2001:db8::"},
        "wl1": {4: "198.18.5.", 6: "2001:db8:5::"}}
SHORT = ("net.ipv4.tcp_retries2=3", "net.ipv4.tcp_keepalive_time=2",
         "net.ipv4.tcp_keepalive_intvl=1", "net.ipv4.tcp_keepalive_probes=2")
ENDS = {"wl0": "eth0", "wl1": "eth1"}


def second_link():
    """Add another device of the gateway towards the subscriber."""
    ip("pep", "link add wl1 type veth peer name eth1 netns sub")
    space_up("sub", ("eth1", "198.18.5.2", "2001:db8:5::2"))
    space_up("pep", ("wl1", "198.18.5.1", "2001:db8:5::1"))
    pep.pepadm("dev", "add", "wl1", "side", "wireless")


def setup():
    """The second link and the subscriber's own address."""
    pep.load()
    topology_up()
    ip("sub", f"address add {HOME[4]}/32 dev lo",
       f"address add {HOME[6]}/128 dev lo")
    pep.attach()
    pep.follow("handshake")
    second_link()
    for family in 4, 6:
        by_link(family, "wl0")


def by_link(family, dev, *ends):
    """Make ends of a link use it, by default both: for packets to the
    subscriber's address, and for packets from it."""
    net = LINK[dev][family]
    if not ends or "pep" in ends:
        ip("pep", f"route replace {HOME[family]} via {net}2 dev {dev}",
           family=family)
    if not ends or "sub" in ends:
        ip("sub", f"route replace default via {net}1 dev {ENDS[dev]}",
           family=family)


def loaded(family, opener="sub", home=None):
    """A running transfer both ways, with an address of the subscriber."""
    home = home or HOME[family]
    if opener == "sub":
        both = pair(family, bind=(home, 0))
    else:
        both = pair(family, "srv", "sub", to=home)
    load = Load([both], RATE)
    moves(load)
    return load


def moves(load, more=RATE // 2):
    """Wait for payload both ways."""
    load.more(more, 60)


def finish(load):
    """End the transfer; fail unless all payload has arrived."""
    load.finish()
    for one, other in (0, 1), (1, 0):
        expect_same(load.ends[one], load.ends[other])


def roams(family, opener):
    """To another link and back; for some time with a different link in each
    direction."""
    with grows(ended=False, flow_established=1, flow_reset=0, flow_killed=0):
        load = loaded(family, opener)
        for steps in ((("wl1", "pep"), ("wl1", "sub")),
                      (("wl0", "sub"), ("wl0", "pep"))):
            for dev, end in steps:
                by_link(family, dev, end)
                moves(load)
            before = link_packets("pep")[dev]
            moves(load)
            for was, now in zip(before, link_packets("pep")[dev]):
                expect_least(f"packets by {dev}", now - was, 5)
        finish(load)
        pep.flows_end()


families("the subscriber comes by another link", "sub")(roams)
families("the subscriber comes by another link, the server had opened",
         "srv")(roams)


@families("a rule sends forwarded packets by another link: not split")
def by_rule(family):
    """A leg would use the link that the subscriber's packets come by."""
    net = LINK["wl1"][family]
    ip("pep", "rule add iif sv0 table 100 pref 100",
       f"route add {HOME[family]} via {net}2 dev wl1 table 100",
       family=family)
    try:
        with grows(flow_established=0):
            exchange(pep.kept_pair(family, "split_pass_route",
                                   bind=(HOME[family], 0)), 10000)
    finally:
        ip("pep", "rule del pref 100", "route flush table 100", family=family)


@families("the link that a flow came by is deleted behind it")
def old_link_deleted(family):
    """Then its device, without pepadm; the flow already uses the other one."""
    with grows(flow_established=1, flow_reset=0, flow_killed=0):
        load = loaded(family)
        by_link(family, "wl1")
        moves(load)
        pep.pepadm("dev", "del", "wl0")
        moves(load)
        pep.pepadm("dev", "add", "wl0", "side", "wireless")
        by_link(family, "wl0")
        moves(load)
        expect("devices", devices(), ("wl0", "wl0", "sv0"))
        by_link(family, "wl1")
        moves(load)
        expect("devices", devices(), ("wl0", "wl1", "sv0"))
        by_link(family, "wl0")
        moves(load)
        ip("pep", "link del wl1")
        moves(load)
        finish(load)
        second_link()


@families("the device that a flow came by is gone")
def device_gone(family):
    """It still has its ifindex, and no name."""
    by_link(family, "wl1")
    with grows(flow_established=1, flow_reset=0, flow_killed=0):
        load = loaded(family)
        before, = pep.flows()
        expect("device", before["dev"], "wl1")
        by_link(family, "wl0")
        moves(load)
        ip("pep", "link del wl1")
        expect("devices", devices(), (None, "wl0", "sv0"))
        after, = pep.flows()
        expect("its number", after["ifindex"], before["ifindex"])
        if f" dev if{after['ifindex']} age " not in pep.pepadm(
                "-d", "flow", "show").stdout:
            fail("text has not its number")
        finish(load)
    second_link()


def devices():
    """Names of the device of the only flow's SYN, and of those on which
    packets of its ends arrive."""
    flow, = pep.flows()
    return flow.get("dev"), *(flow["legs"][side].get("dev") for side in
                              ("wireless", "server"))


def ways(family, side):
    """(Kind of outage, the subscriber's address, lines that cause it, lines
    that repair it) of the gateway's path to the subscriber or to the
    server."""
    home, near = HOME[family], addr("sub", family)
    own = addr("pep" if side == "sub" else "sv", family)
    bits, flag = (64, " nodad") if family == 6 else (24, "")
    dev = "wl0" if side == "sub" else "sv0"
    yield ("address", near, [f"address del {own}/{bits} dev {dev}"],
           [f"address add {own}/{bits} dev {dev}{flag}",
            f"route replace {home} via {near} dev wl0"])
    if side == "sub":
        way = f"route add {home} via {near} dev wl0"
        yield "route", home, [f"route del {home}"], [way]
        yield ("route, for a prohibition", home,
               [f"route del {home}", f"route add prohibit {home}"],
               [f"route del prohibit {home}", way])


def mended(family, side):
    """Missing for a short time: the flow goes on."""
    for what, home, do, undo in ways(family, side):
        with grows(flow_established=1, flow_reset=0):
            load = loaded(family, home=home)
            ip("pep", *do, family=family)
            wait_for(f"a standstill ({what})", lambda: stands(load))
            ip("pep", *undo, family=family)
            moves(load)
            finish(load)


families("the way to the subscriber is gone for a moment", "sub")(mended)
families("the way to the server is gone for a moment", "srv")(mended)


def stands(load):
    """Does the payload stop for a short time?"""
    mark = load.moved
    try:
        wait_for("payload", lambda: load.moved > mark, 0.3)
    except Failure:
        return True
    return False


@contextlib.contextmanager
def by_server(family):
    """Within, the way to the subscriber is the default route, to the server,
    which forwards even packets with its own address."""
    home = HOME[family]
    own = f"route add {home} via {addr('sub', family)} dev wl0"
    server = f"default via {addr('srv', family)} dev sv0"
    with sysctls("srv", "net.ipv4.ip_forward=1",
                 "net.ipv6.conf.all.forwarding=1",
                 "net.ipv4.conf.all.accept_local=1",
                 "net.ipv4.conf.all.send_redirects=0"):
        ip("pep", f"route del {home}", f"route add {server}", family=family)
        try:
            yield
        finally:
            ip("pep", f"route del {server}", own, family=family)


@families("the default route stands in for it, and leads back here")
def astray(family):
    """The legs' packets come back, and are taken for those of the ends: what
    one leg acknowledges, the other must not believe that the server has."""
    with grows(flow_established=1, flow_reset=0, misrouted=least(5)):
        load = loaded(family)
        before = pep.stat("misrouted")
        with ruled("srv", "input", "meta l4proto tcp drop"), \
                by_server(family):
            wait_for("packets of legs for the other side",
                     lambda: pep.stat("misrouted") >= before + 5)
        moves(load)
        finish(load)


@families("the default route stands in for it, and leads there")
def around(family):
    """Another gateway, here the server, has a link to the subscriber, whose
    own packets come as before."""
    bypass.linked()
    to = bypass.NET[family] + str(bypass.NUMBER["sub"])
    rule = "iif eth0 table 100 pref 100"
    ip("srv", f"route add {HOME[family]} via {to} dev back0 table 100",
       f"rule add {rule}", family=family)
    try:
        with grows(flow_established=1, flow_reset=0, misrouted=least(5)):
            load = loaded(family)
            with by_server(family):
                moves(load)
                moves(load)
            moves(load)
            finish(load)
    finally:
        ip("srv", f"rule del {rule}", family=family)
        ip("srv", "link del back0")


@families("the way to the subscriber is gone for good")
def never_mended(family):
    """The server is reset, after a few seconds with the timeouts set here; the
    subscriber is unreachable, and waits as without pep."""
    with sysctls("pep", *SHORT):
        for what, home, do, undo in ways(family, "sub"):
            with grows(flow_established=2, flow_reset=2):
                both = pair(family, bind=(home, 0))
                quiet = pair(family, bind=(home, 0))
                load = Load([both], RATE)
                moves(load)
                ip("pep", *do, family=family)
                load.stop()
                for sock in both[1], quiet[1]:
                    expect(f"the end ({what})", outcome(sock), "ECONNRESET")
            ip("pep", *undo, family=family)


@families("a side's only device is deleted and made anew under load")
def device_deleted(family):
    """All flows go on, by the new one."""
    with grows(flow_established=12, flow_closed=12, flow_reset=0,
               flow_killed=0):
        load = Load(start(family, 10), RATE // 10)
        quiet = start(family, 2)
        moves(load, RATE // 50)
        ip("pep", "link del sv0")
        ip("pep", "link add sv0 type veth peer name eth0 netns srv")
        space_up("srv", ("eth0", "198.18.1.2", "2001:db8:1::2"))
        space_up("pep", ("sv0", "198.18.1.1", "2001:db8:1::1"))
        ip("srv", "route add default via 198.18.1.1",
           "route add default via 2001:db8:1::1")
        moves(load, RATE // 50)
        pep.pepadm("dev", "add", "sv0", "side", "server")
        finish(load)
        for both in quiet:
            exchange(both, 1000)
    exchange(pair(family), 1000)
