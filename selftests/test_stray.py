# SPDX-License-Identifier: GPL-2.0
"""A device that is made anew, or loses its filters, while its side has others:
the connections that are split go on, whether it is attached again or not.

   sub eth0, eth0.21 ---------- pep wl0, wl0.21
   198.18.21.2                      198.18.21.1
"""

import contextlib
import time

from peptest import pep
from peptest.env import amount
from peptest.ktap import expect, families, wait_for
from peptest.netns import addr, ip, resets, run, sysctls, tc
from peptest.pep import grows, pepadm
from peptest.raw import Wire, icmp
from peptest.tcp import (NO_TIME_WAIT, Load, exchange, exchange_part,
                         one_way, pair)

RATE = amount(100000)   # bytes per second and end
BYTES = amount(100000)
PURGED = 2              # seconds until no socket is removed any more
LONG = 6                # seconds, more than between two looks for such flows
TOO_BIG = {4: (3, 4), 6: (2, 0)}
OWN = {4: "198.18.21.2", 6: "2001:db8:21::2"}


def made():
    """Make the VLAN's device of the gateway."""
    ip("pep", "link add link wl0 name wl0.21 type vlan id 21",
       "link set wl0.21 up", "address add 198.18.21.1/24 dev wl0.21",
       "address add 2001:db8:21::1/64 dev wl0.21 nodad")


def anew():
    """The device goes and is made anew."""
    ip("pep", "link del wl0.21")
    made()


def others():
    """The device is made anew and gets filters of somebody else."""
    anew()
    tc("pep", "qdisc add dev wl0.21 clsact")


def bare():
    """The device loses its filters."""
    tc("pep", "qdisc del dev wl0.21 clsact")


def attach():
    """Attach the device."""
    pepadm("dev", "add", "wl0.21", "side", "wireless")


def setup():
    """The subscriber has a VLAN as well."""
    pep.attached()
    run("modprobe", "-q", "8021q", check=False)
    made()
    ip("sub", "link add link eth0 name eth0.21 type vlan id 21",
       "link set eth0.21 up", "address add 198.18.21.2/24 dev eth0.21",
       "address add 2001:db8:21::2/64 dev eth0.21 nodad")
    for family, gateway in (4, "198.18.21.1"), (6, "2001:db8:21::1"):
        ip("sub", f"rule add from {OWN[family]} lookup 21",
           f"route add default via {gateway} table 21", family=family)
    attach()


def opened(family):
    """A split connection by the VLAN, on which both ends have spoken."""
    both = pep.split_pair(family, bind=(OWN[family], 0))
    exchange_part(both, 1000)
    return both


@contextlib.contextmanager
def detached(how):
    """Within, the device is not attached."""
    how()
    try:
        yield
    finally:
        attach()


def hook_is(there):
    """Is the hook for packets that come by such a device there, or not? Some
    kernels do not list hooks."""
    listed = run("nft", "list", "hooks", ns="pep", check=False).stdout
    return "pep_untrack_out" not in listed or (
        ("pep_stray_in" in listed) == there)


@families("made anew", anew)
@families("made anew, with other filters, for long", others, LONG)
@families("its filters are deleted", bare)
def unattached(family, how, seconds=1):
    """One connection is idle, one transfers, and one of which an end has
    finished. The hook goes when the device is attached again, and they have
    been heard by it."""
    before = resets()
    wait_for("no hook before", lambda: hook_is(False), 30)
    with grows(flow_released=0, flow_killed=0, flow_reset=0, flow_closed=3):
        idle, busy, half = (opened(family) for _ in range(3))
        one_way(*half, 1000, fin=True)
        load = Load([busy], RATE)
        load.more(RATE // 4)
        with detached(how):
            wait_for("the hook", lambda: hook_is(True))
            exchange_part(idle, BYTES)
            one_way(*half[::-1], BYTES)
            load.more(2 * RATE * seconds)
        load.more(RATE // 4)
        exchange_part(idle, BYTES)
        one_way(*half[::-1], BYTES)
        wait_for("the hook to go", lambda: hook_is(False), 30)
        load.finish()
        load.expect_whole()
        exchange(idle, BYTES)
        one_way(*half[::-1], BYTES, fin=True)
    expect("resets", resets(), before)


@families("handed back, payload is under way")
def back(family):
    before = resets()
    with grows(ended=False, flow_released=1, flow_killed=0, flow_reset=0):
        load = Load([opened(family)], RATE)
        load.more(RATE // 4)
        with detached(anew):
            load.more(RATE // 4)
            pepadm("flow", "release", "all")
            wait_for("the release", lambda: not pep.flows(), 20)
            load.more(RATE)
    load.finish()
    load.expect_whole()
    expect("resets", resets(), before)


@families("an ICMP error about the leg comes by the new device")
def error(family):
    """As of a smaller link behind it."""
    with grows(flow_closed=1, icmp_delivered=1) as before:
        both = opened(family)
        with detached(anew):
            wire = Wire("sub", "eth0.21", ("pep", "wl0.21"))
            exchange_part(both, 3000)
            seen = wire.find(lambda seen: seen.data, outgoing=False)
            wire.send(icmp(OWN[family], addr("srv", family), *TOO_BIG[family],
                           1300, seen.packet))
            wait_for("the error", lambda: pep.stat("icmp_delivered") >
                     before["icmp_delivered"])
            exchange(both, BYTES)


@families("answered early")
def early(family):
    pep.early()
    with grows(flow_killed=0, flow_reset=0, flow_closed=1):
        both = opened(family)
        with detached(anew):
            exchange(both, BYTES)
    pep.follow("handshake")


@families("the same ends again", 0)
@families("the same ends again, the server had finished first", 1)
def again(family, first):
    """One leg of the first connection is in TIME_WAIT; another one is still
    open."""
    with sysctls("sub", *NO_TIME_WAIT), sysctls("srv", *NO_TIME_WAIT):
        both, other = opened(family), opened(family)
        bind = both[0].getsockname()[:2]
        with detached(anew):
            time.sleep(PURGED)
            one_way(both[first], both[1 - first], BYTES, fin=True)
            one_way(both[1 - first], both[first], BYTES, fin=True)
            wait_for("the flow to end", lambda: len(pep.flows()) == 1)
            exchange(pair(family, bind=bind), BYTES)
            exchange(other, BYTES)
