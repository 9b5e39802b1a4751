# SPDX-License-Identifier: GPL-2.0
"""A hundred connections in mid-transfer survive when pep is detached,
unloaded, loaded and attached again: on links whose delay steps up and down
meanwhile, through a strict firewall on the gateway, behind a NAT that is as
strict, and in a container with a VLAN per side.

   near ------- sub (NAT) ------- pep (firewall) ------- srv
   198.18.2.2   198.18.2.1
"""

from peptest import pep
from peptest.container import container_up
from peptest.env import amount
from peptest.firewall import strict
from peptest.ktap import case, expect, families, note, wait_for
from peptest.netns import (ADDRESSES, impaired, ip, netem, paws, resets, run,
                           space_up, spaces, spaces_down, sysctl)
from peptest.tcp import Load, exchange_part, pair, start

TRAITS = {"simulated"}

COUNT = 100
LEAST = 90              # of these are split: the others get no socket
RATE = amount(2000000)  # bytes per second of all
MORE = 2000             # bytes of each between two steps
LONG, SHORT = "delay 220ms limit 50000", "delay 20ms limit 50000"
NAT = """
table inet nat {
chain out {
type nat hook postrouting priority 100;
oifname eth0 masquerade
}
}
"""


def setup():
    """The usual topology with a network behind the subscriber's NAT."""
    pep.attached()
    pep.ready()
    run("modprobe", "-qa", "nft_masq", "nft_chain_nat", check=False)
    ip(None, "netns add near",
       "link add eth1 netns sub type veth peer name eth0 netns near")
    space_up("sub", ("eth1", "198.18.2.1", "2001:db8:2::1"))
    space_up("near", ("eth0", "198.18.2.2", "2001:db8:2::2"))
    ADDRESSES["near", 4] = "198.18.2.2"
    ADDRESSES["near", 6] = "2001:db8:2::2"
    ip("near", "route add default via 198.18.2.1",
       "route add default via 2001:db8:2::1")
    sysctl("sub", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")


def away():
    """Detach and unload pep, load and attach it again."""
    pep.detach()
    pep.unload()
    pep.load()
    pep.attach()


def live_through(family, opener, steps):
    """Transfers both ways during the steps; return the number of segments that
    the ends have dropped because of PAWS."""
    ends = opener, "srv"
    pep.follow("handshake")
    before, clocks = resets(*spaces()), paws(*ends)
    # With NAT, an opener has another address at the other end.
    pairs = [pair(family, opener) for _ in range(COUNT)] \
        if opener == "near" else start(family, COUNT, opener)
    for both in pairs:
        exchange_part(both, 100)
    wait_for("flows", lambda: pep.stat("flows") >= LEAST)
    load = Load(pairs, RATE // COUNT)
    for step in steps:
        load.more(MORE, 60)
        step()
    load.more(MORE, 60)
    # With a grown delay late packets of a finished connection are reset.
    expect("resets", resets(*spaces()), before)
    load.finish()
    load.expect_whole()
    return sum(paws(*ends).values()) - sum(clocks.values())


@families("through a strict firewall")
def firewall(family):
    with strict("pep"):
        expect("segments with an old clock",
               live_through(family, "sub", [away]), 0)


@families("behind a box that translates")
def translated(family):
    with strict("sub", NAT):
        expect("segments with an old clock",
               live_through(family, "near", [away]), 0)


def steps(family, ns, first, then):
    """The one-way delay of an end steps while the connections are split, and
    back when pep has come again."""
    def delay(args):
        return lambda: netem(ns, "eth0", *args.split())
    with impaired([(ns, "eth0")], *first.split()):
        note("segments with an old clock:", live_through(
            family, "sub", [delay(then), away, delay(first)]))


for _ns in "sub", "srv":
    families(f"the delay of {_ns} steps up by 200 ms", _ns, SHORT,
             LONG)(steps)
    families(f"the delay of {_ns} steps down by 200 ms", _ns, LONG,
             SHORT)(steps)


@case("pep moves to a container with two VLANs")
def moves():
    pep.detach()
    spaces_down()
    container_up()
    pep.attach()


@families("in the container")
def container(family):
    expect("segments with an old clock",
           live_through(family, "sub", [away]), 0)
