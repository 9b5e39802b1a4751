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


@families("answered early")
def early(family):
    pep.early()
    with grows(syn_answered=1, flow_closed=1):
        exchange(pair(family), BYTES)
    pepadm("profile", "set", "default", "connect", "follow")
