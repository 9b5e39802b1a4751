# SPDX-License-Identifier: GPL-2.0
"""Connections whose packets an IPsec policy keeps from sockets of the gateway
are followed, never split, and work as without pep."""

import contextlib

from peptest import pep
from peptest.ktap import expect, families, wait_for
from peptest.netns import WIRELESS, addr, impaired, ip, run
from peptest.pep import grows, pepadm, released
from peptest.tcp import Load, exchange, exchange_part, pair

BYTES = 100000
SPI = 1
IF_ID = 7
INNER = {4: "198.18.50.2", 6: "2001:db8:50::2"}
SLOW = "delay 10ms rate 20mbit limit 5000".split()
TRAITS = {"machine"}
setup = pep.warmed


def towards(family, near, far, direction):
    """The selector and direction of a policy for packets between two ends."""
    return f"src {addr(near, family)} dst {addr(far, family)} dir {direction}"


def tunnel(family):
    """What names the tunnel from the subscriber to the gateway."""
    return (f"src {addr('sub', family)} dst {addr('pep', family)} proto esp "
            f"spi {SPI}")


@contextlib.contextmanager
def policy(ns, selector, family):
    """Within, packets of a selector have to come, or go, by the tunnel."""
    ip(ns, f"xfrm policy add {selector} tmpl {tunnel(family)} mode tunnel")
    try:
        yield
    finally:
        ip(ns, f"xfrm policy delete {selector}")


@contextlib.contextmanager
def tunnelled(family):
    """Within, the subscriber's packets come out of a tunnel, and a policy for
    forwarded packets lets them pass."""
    state = tunnel(family)
    for ns in "sub", "pep":
        ip(ns, f"xfrm state add {state} mode tunnel enc ecb(cipher_null) \"\" "
               f"auth hmac(sha1) 0x{'5a' * 20}")
    with policy("sub", towards(family, "sub", "srv", "out"), family), \
            policy("pep", towards(family, "sub", "srv", "fwd"), family):
        try:
            yield
        finally:
            for ns in "sub", "pep":
                ip(ns, f"xfrm state delete {state}")


@families("a policy refuses the opener's packets")
def opener(family):
    with policy("pep", towards(family, "sub", "srv", "in"), family), \
            grows(syn_pass_ipsec=1, split_pass_option=1, flow_established=0):
        exchange(pair(family), BYTES)


@families("a policy refuses the target's packets")
def target(family):
    with policy("pep", towards(family, "srv", "sub", "in"), family), \
            grows(syn_pass_ipsec=0, split_pass_option=1, flow_established=0):
        exchange(pair(family), BYTES)


@families("triggers that come after the handshake")
def later(family):
    """By a profile that is set anew before the devices are attached again:
    nobody has asked for the policy at the handshake."""
    refuses = policy("pep", towards(family, "srv", "sub", "in"), family)
    for within, split in (contextlib.nullcontext(), 1), (refuses, 0):
        pepadm("profile", "set", "default", "split", "never")
        with within, grows(flow_established=split,
                           split_pass_option=1 - split):
            ends = pair(family)
            exchange_part(ends, BYTES)
            pep.detach()
            pepadm("profile", "set", "default", "split", "handshake")
            pep.attach()
            exchange_part(ends, BYTES)
            exchange_part(ends, BYTES)
            exchange(ends, BYTES)


@families("a policy refuses an early opener's packets")
def early(family):
    pepadm("profile", "set", "default", "connect", "early")
    try:
        with policy("pep", towards(family, "sub", "srv", "in"), family), \
                grows(syn_pass_ipsec=1, syn_answered=0, flow_established=0):
            exchange(pair(family), BYTES)
    finally:
        pepadm("profile", "set", "default", "connect", "follow")


@families("out of a tunnel, with a policy for forwarded packets only")
def forwarded(family):
    with tunnelled(family), grows(syn_pass_ipsec=1, split_pass_option=1,
                                  flow_established=0):
        exchange(pair(family), BYTES)


@families("out of a tunnel, with policies for both")
def both(family):
    with tunnelled(family), \
            policy("pep", towards(family, "sub", "srv", "in"), family), \
            grows(syn_pass_ipsec=0, flow_established=1, flow_closed=1):
        exchange(pep.split_pair(family), BYTES)


def refused():
    """Packets that the gateway has dropped because of a policy, by cause."""
    lines = run("cat", "/proc/net/xfrm_stat", ns="pep").stdout.splitlines()
    return {name: value for name, value in map(str.split, lines)
            if value != "0"}


@families("out of a tunnel, handed back in mid-stream")
def back(family):
    """Acknowledgments that pass with payload come to a leg, too."""
    before = refused()
    with tunnelled(family), \
            policy("pep", towards(family, "sub", "srv", "in"), family), \
            impaired(WIRELESS, *SLOW), grows(flow_released=1, flow_killed=0):
        load = Load([pep.split_pair(family)], BYTES)
        load.more(BYTES)
        wait_for("it to be released", lambda: released() == 0 and
                 pep.stat("flows") == 0)
        load.more(BYTES)
        load.finish()
        load.expect_whole()
    expect("packets that a policy refused", refused(), before)


@contextlib.contextmanager
def interface(family):
    """Within, an address of the subscriber's is behind a tunnel that is a
    device of the gateway; there policies and states belong to the device."""
    inner, near, far = INNER[family], addr("sub", family), addr("pep", family)
    ways = ((f"src {inner} dst {addr('srv', family)}", f"src {near} dst {far}",
             1, ("out",), ("in", "fwd")),
            (f"src {addr('srv', family)} dst {inner}", f"src {far} dst {near}",
             2, ("in",), ("out",)))
    ip("sub", f"address add {inner} dev lo")
    run("modprobe", "-qa", "xfrm_interface", check=False)
    ip("pep", f"link add ipsec0 type xfrm dev wl0 if_id {IF_ID}",
       "link set ipsec0 up", f"route add {inner} dev ipsec0")
    for flow, outer, spi, at_sub, at_pep in ways:
        for ns, directions, own in (("sub", at_sub, ""),
                                    ("pep", at_pep, f"if_id {IF_ID}")):
            ip(ns, f"xfrm state add {outer} proto esp spi {spi} mode tunnel "
                   f"enc ecb(cipher_null) \"\" auth hmac(sha1) "
                   f"0x{'5a' * 20} {own}",
               *(f"xfrm policy add {flow} dir {direction} {own} tmpl {outer} "
                 "proto esp mode tunnel" for direction in directions))
    pepadm("dev", "add", "ipsec0", "side", "wireless")
    try:
        yield
    finally:
        pepadm("dev", "del", "ipsec0")
        for ns in "sub", "pep":
            ip(ns, "xfrm policy flush", "xfrm state flush")
        ip("pep", "link del ipsec0")
        ip("sub", f"address del {inner} dev lo")


@families("out of a tunnel that is a device, whose policies have its number")
def device(family):
    with interface(family), grows(syn_pass_ipsec=0, split_pass_option=0,
                                  flow_established=1, flow_closed=1):
        exchange(pep.split_pair(family, bind=(INNER[family], 0)), BYTES)
