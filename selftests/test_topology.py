# SPDX-License-Identifier: GPL-2.0
"""Two PEPs in series, pep on a bridge device and on the ports of a bridge,
netkit devices."""

from peptest import pep
from peptest.env import amount
from peptest.ktap import case, expect, families
from peptest.netns import (addr, ip, resets, run, space_up, spaces,
                           spaces_down, sysctl, sysctls, topology_up)
from peptest.pep import flows_end, grows, least
from peptest.rtnl import netkit
from peptest.tcp import (Load, connect_errno, exchange, exchange_all,
                         expect_reset, pair, reset, start)

BYTES = amount(3000000)
RATE = 50000            # bytes per second and end
FORWARD = "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"
setup = pep.load


def down():
    """Delete the previous topology."""
    for ns in "pep", "pep2":
        for dev in pep.devices(ns):
            pep.pepadm("dev", "del", dev, ns=ns)
    spaces_down()


@case("two in series")
def series():
    """A link with 198.18.2.0/24 and 2001:db8:2::/64 between them."""
    ip(None, *(f"netns add {ns}" for ns in ("sub", "pep", "pep2", "srv")),
       "link add eth0 netns sub type veth peer name wl0 netns pep",
       "link add sv0 netns pep type veth peer name wl0 netns pep2",
       "link add sv0 netns pep2 type veth peer name eth0 netns srv")
    space_up("sub", ("eth0", "198.18.0.2", "2001:db8::2"))
    space_up("pep", ("wl0", "198.18.0.1", "2001:db8::1"),
             ("sv0", "198.18.2.1", "2001:db8:2::1"))
    space_up("pep2", ("wl0", "198.18.2.2", "2001:db8:2::2"),
             ("sv0", "198.18.1.1", "2001:db8:1::1"))
    space_up("srv", ("eth0", "198.18.1.2", "2001:db8:1::2"))
    for ns, via4, via6 in (("sub", "198.18.0.1", "2001:db8::1"),
                           ("pep", "198.18.2.2", "2001:db8:2::2"),
                           ("pep2", "198.18.2.1", "2001:db8:2::1"),
                           ("srv", "198.18.1.1", "2001:db8:1::1")):
        ip(ns, f"route add default via {via4}",
           f"route add default via {via6}")
    for ns in "pep", "pep2":
        sysctl(ns, *FORWARD)
        pep.attach(ns)
    for ns in "pep", "pep2":
        pep.follow("handshake", ns)


def in_series(family, opener, opened):
    """Each splits the connection, and one end's reset or refusal passes
    both."""
    with grows("pep2", flow_established=23, flow_closed=21, flow_reset=2):
        with grows(flow_established=23, flow_closed=21, flow_reset=2):
            exchange(pair(family, opener, opened), BYTES)
            pairs = pep.split_start(family, 20, opener, opened)
            pep.wait_flows(20, ns="pep2")
            exchange_all(pairs, 10000)
            for end in 0, 1:
                both = pep.split_pair(family, opener, opened)
                pep.wait_flows(1, ns="pep2")
                reset(both[end])
                expect_reset(both[1 - end])
                pep.flows_end(ns="pep2")
    with grows(follow_reset=1), grows("pep2", follow_reset=1):
        expect("the client's error", connect_errno(
            opener, family, addr(opened, family), 5001), "ECONNREFUSED")


families("in series, the subscriber opens", "sub", "srv")(in_series)
families("in series, the server opens", "srv", "sub")(in_series)


def either(family, first, second):
    """One takes over connections in mid-stream that the other one follows, or
    has split, and each hands them back while the other goes on."""
    triggers = {"pep": first, "pep2": second}
    for ns, trigger in triggers.items():
        pep.follow(trigger, ns)
    before = resets(*spaces())
    pairs = start(family, 10)
    loads = Load(pairs[:5], RATE, up=False), Load(pairs[5:], RATE, down=False)

    def more():
        for load in loads:
            load.more(RATE)
    for ns, trigger in triggers.items():
        flows = 0 if trigger == "never" else 10
        pep.wait_flows(flows, ns=ns)
        more()
        expect(f"flows of {ns}", pep.stat("flows", ns), flows)
    for ns in triggers:
        pep.pepadm("flow", "release", "all", ns=ns)
        pep.wait_flows(0, ns=ns)
        more()
    for load in loads:
        load.finish()
        load.expect_whole()
    expect("resets", resets(*spaces()), before)


families("in series, the first splits", "12000", "never")(either)
families("in series, the second splits", "never", "12000")(either)
families("in series, both split in mid-stream", "12000", "12000")(either)


@case("a bridge for the subscribers")
def bridge():
    """The gateway's addresses towards them are on the bridge."""
    down()
    run("modprobe", "-q", "bridge", check=False)
    topology_up()
    ip("pep", "address flush dev wl0", "link add br0 type bridge",
       "link set wl0 master br0")
    space_up("pep", ("br0", "198.18.0.1", "2001:db8::1"))
    pep.pepadm("dev", "add", "br0", "side", "wireless")
    pep.pepadm("dev", "add", "sv0", "side", "server")
    pep.follow("handshake")


def split(family, opener, opened):
    with grows(flow_established=21, flow_closed=21):
        exchange(pair(family, opener, opened), BYTES)
        exchange_all(pep.split_start(family, 20, opener, opened), 10000)


families("on a bridge, the subscriber opens", "sub", "srv")(split)
families("on a bridge, the server opens", "srv", "sub")(split)


@case("on a port of the bridge")
def port():
    pep.pepadm("dev", "del", "br0")
    pep.pepadm("dev", "add", "wl0", "side", "wireless")
    pep.follow("handshake")


families("on its port, the subscriber opens", "sub", "srv")(split)
families("on its port, the server opens", "srv", "sub")(split)


@families("on its port, connect early with rp_filter")
def filtered(family):
    """The route to the subscriber leads to the bridge."""
    pep.pepadm("profile", "set", "default", "connect", "early")
    for mode in 1, 2:
        with sysctls("pep", f"net.ipv4.conf.all.rp_filter={mode}"), \
                grows(syn_answered=1, syn_pass_source=0):
            exchange(pair(family), BYTES)
    pep.follow("handshake")


@case("a bridge without addresses")
def switch():
    """pep on both ports; the ends are on one network."""
    down()
    topology_up()
    ip("pep", "address flush dev wl0", "address flush dev sv0",
       "link add br0 type bridge", "link set wl0 master br0",
       "link set sv0 master br0", "link set br0 up")
    for ns, number in ("sub", 2), ("srv", 3):
        ip(ns, "address flush dev eth0",
           f"address add 198.18.4.{number}/24 dev eth0",
           f"address add 2001:db8:4::{number}/64 dev eth0 nodad")
    pep.attach()


@families("between the ports of a bridge nothing is split")
def bridged(family):
    """The frames are addressed to other hosts."""
    to = "198.18.4.3" if family == 4 else "2001:db8:4::3"
    with grows(follow_new=0, delivered=0, pass_not_host=least(20)):
        exchange(pair(family, to=to), BYTES)
        exchange_all(start(family, 10, to=to), 10000)


@case("netkit devices")
def netkits():
    down()
    ip(None, *(f"netns add {ns}" for ns in ("sub", "pep", "srv")))
    netkit("pep", "wl0", "sub", "eth0")
    netkit("pep", "sv0", "srv", "eth0")
    space_up("sub", ("eth0", "198.18.0.2", "2001:db8::2"))
    space_up("pep", ("wl0", "198.18.0.1", "2001:db8::1"),
             ("sv0", "198.18.1.1", "2001:db8:1::1"))
    space_up("srv", ("eth0", "198.18.1.2", "2001:db8:1::2"))
    for ns, way in ("sub", "pep"), ("srv", "sv"):
        ip(ns, f"route add default via {addr(way, 4)}",
           f"route add default via {addr(way, 6)}")
    sysctl("pep", *FORWARD)
    pep.attach()
    pep.follow("handshake")


families("netkit, the subscriber opens", "sub", "srv")(split)
families("netkit, the server opens", "srv", "sub")(split)


@families("netkit, a reset of each end")
def netkit_reset(family):
    with grows(flow_reset=2):
        for end in 0, 1:
            both = pep.split_pair(family)
            reset(both[end])
            expect_reset(both[1 - end])
    flows_end()
