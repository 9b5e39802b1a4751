# SPDX-License-Identifier: GPL-2.0
"""Sockets of the gateway itself are not affected: its listeners, its clients,
those of a transparent proxy, and loopback."""

from peptest import pep
from peptest.ktap import families
from peptest.netns import addr, ip
from peptest.pep import grows, least
from peptest.tcp import (End, exchange, exchange_all, exchange_part,
                         expect_reset, pair, pump, reset, start)


setup = pep.warmed


def unsplit(family, opener, opened, to):
    """Connections that must not be split."""
    to = addr(to, family)
    with grows(follow_new=0, flow_established=0):
        exchange(pair(family, opener, opened, to=to), 300000)
        near, far = pair(family, opener, opened, to=to)
        end = End(near, 100000)
        pump([end, End(far, 0, fin=False, wanted=50000)],
             until=lambda: end.sent > 0)
        reset(far)
        expect_reset(near)
        exchange_all(start(family, 10, opener, opened, to=to), 10000)


families("the subscriber to the gateway", "sub", "pep", "pep")(unsplit)
families("the subscriber to its far address", "sub", "pep", "sv")(unsplit)
families("the server to the gateway", "srv", "pep", "sv")(unsplit)
families("the gateway to the server", "pep", "srv", "srv")(unsplit)
families("the gateway to the subscriber", "pep", "sub", "sub")(unsplit)


@families("the same ports as a split flow's")
def same_port(family):
    bind = addr("sub", family), 34567
    with grows(follow_new=1, flow_established=1, syn_pass_local=least(1)):
        own = pair(family, "sub", "pep", bind=bind)
        exchange(pep.split_pair(family, bind=bind), 200000)
        exchange_part(own, 20000)
        exchange(own, 20000)


@families("a transparent proxy's connection")
def transparent(family):
    """It uses the subscriber's address: answers return to the proxy."""
    every = "0.0.0.0/0" if family == 4 else "::/0"
    rule = "rule %s iif sv0 ipproto tcp dport 34568 lookup 100"
    route = f"route %s local {every} dev lo table 100"
    ip("pep", rule % "add", route % "add", family=family)
    try:
        with grows(follow_new=0, pass_foreign=least(10)):
            exchange(pair(family, "pep", "srv", transparent=True,
                          bind=(addr("sub", family), 34568)), 300000)
    finally:
        ip("pep", rule % "del", route % "del", family=family)


@families("loopback")
def loopback(family):
    with grows(follow_new=0):
        exchange(pair(family, "pep", "pep",
                      to="127.0.0.1" if family == 4 else "::1"), 300000)
        exchange(pair(family, "pep", "pep", to=addr("pep", family)), 300000)


@families("a connection that another socket of the gateway speaks for")
def in_use(family):
    """The subscriber's own SYN passes."""
    with grows(follow_established=1, split_pass_in_use=1, flow_established=0):
        exchange(pep.spoken_for_pair(family), 20000)
