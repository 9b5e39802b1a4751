# SPDX-License-Identifier: GPL-2.0
"""A virtual router, as of VRRP: both ends send to the address of a macvlan
device of the gateway, whose routes lead to the device below.

   sub eth0 ------ vr0 on wl0, pep, vr1 on sv0 ------ eth0 srv
"""

from peptest import pep
from peptest.env import amount
from peptest.ktap import expect, families
from peptest.netns import addr, ip, resets
from peptest.pep import grows, pepadm
from peptest.tcp import Load, exchange, pair

BYTES = amount(1000000)
SIDES = (("sub", "pep", "wl0", "vr0", "00:00:5e:00:01:01", "wireless"),
         ("srv", "sv", "sv0", "vr1", "00:00:5e:00:01:02", "server"))


def setup():
    """Attached to the macvlan devices, and to those below, which see the
    frames first, as those for another host."""
    pep.attached()
    for end, gateway, below, device, mac, side in SIDES:
        ip("pep", f"link add {device} link {below} address {mac} "
                  "type macvlan mode private", f"link set {device} up")
        for family in 4, 6:
            ip(end, f"neigh replace {addr(gateway, family)} lladdr {mac} "
                    "dev eth0 nud permanent")
        pepadm("dev", "add", device, "side", side)
    pep.ready()


@families("split")
def split(family):
    with grows(flow_established=1, flow_closed=1, split_pass_route=0):
        exchange(pep.split_pair(family), BYTES)


@families("split in mid-stream, handed back where its device is detached")
def back(family):
    before = resets()
    with grows(flow_established=1, flow_released=1, ended=False):
        load = Load([pep.split_pair(family)], BYTES)
        load.more(BYTES // 10)
        pepadm("dev", "del", "vr0")
        expect("flows", pep.stat("flows"), 0)
    load.more(BYTES // 10)
    expect("resets", resets(), before)
    load.finish()
    load.expect_whole()
    pepadm("dev", "add", "vr0", "side", "wireless")


@families("made anew in mid-stream, as by a restart of keepalived")
def anew(family):
    """The device below stays attached."""
    _, _, below, device, mac, side = SIDES[0]
    before = resets()
    with grows(flow_closed=1, flow_released=0, flow_killed=0, flow_reset=0):
        load = Load([pep.split_pair(family)], BYTES)
        load.more(BYTES // 10)
        ip("pep", f"link del {device}",
           f"link add {device} link {below} address {mac} "
           "type macvlan mode private", f"link set {device} up")
        load.more(BYTES)
        pepadm("dev", "add", device, "side", side)
        load.finish()
    expect("resets", resets(), before)
    load.expect_whole()


@families("above a VLAN, which routes do not lead to")
def vlan(family):
    """A leg would send without the tag."""
    mac = "00:00:5e:00:01:03"
    gateway = addr("pep", 4) if family == 4 else "fe80::1"
    ip("pep", "link add link wl0 name wl0.5 type vlan id 5",
       "link set wl0.5 up",
       f"link add vr2 link wl0.5 address {mac} type macvlan mode private",
       "link set vr2 up")
    ip("sub", "link add link eth0 name eth0.5 type vlan id 5",
       "link set eth0.5 up",
       f"neigh replace {gateway} lladdr {mac} dev eth0.5 nud permanent",
       f"route add {addr('srv', family)} via {gateway} dev eth0.5 onlink")
    pepadm("dev", "add", "vr2", "side", "wireless")
    try:
        with grows(split_pass_route=1, flow_established=0):
            exchange(pair(family, bind=(addr("sub", family), 0)), BYTES)
    finally:
        ip("pep", "link del wl0.5")
        ip("sub", "link del eth0.5")


@families("answered early")
def early(family):
    pep.early()
    with grows(syn_answered=1, flow_closed=1):
        exchange(pair(family), BYTES)
    pepadm("profile", "set", "default", "connect", "follow")
