# SPDX-License-Identifier: GPL-2.0
"""Connections whose packets an IPsec policy keeps from sockets of the gateway
are followed, never split, and work as without pep."""

import contextlib

from peptest import pep
from peptest.ktap import families
from peptest.netns import addr, ip
from peptest.pep import grows, pepadm
from peptest.tcp import exchange, pair

BYTES = 100000
SPI = 1
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
