# SPDX-License-Identifier: GPL-2.0
"""A flowtable of nftables forwards the packets of connections past the
chains: pep, which comes first, follows, splits and hands them back as ever,
and conntrack's entry of a connection that ends while it is split goes with
it, so that it is in nobody's way."""

import contextlib

from peptest import conntrack, pep
from peptest.firewall import strict
from peptest.ktap import expect, expect_most, families, skip, wait_for
from peptest.netns import run, sysctl, sysctls
from peptest.pep import grows, pepadm
from peptest.tcp import (NO_TIME_WAIT, exchange, exchange_part, expect_reset,
                         one_way, pair, reset)

TRAITS = {"machine"}

LAST = 60               # seconds that a flowtable remembers a connection
SOON = 5                # where the test awaits that it forgets one
TIME_WAIT = 120         # seconds, as conntrack comes
MODULES = ("nf_flow_table", "nf_flow_table_inet", "nft_flow_offload",
           "nf_conntrack", "nf_conntrack_netlink", "nft_ct")
SPLIT = "20000"
FAST = "flowtable"
BYTES = 100000
RULES = """
table inet fast {
flowtable fast { hook ingress priority 0; devices = { wl0, sv0 }; }
chain forward {
type filter hook forward priority -10;
meta l4proto tcp ct state established flow add @fast
}
}
"""


def setup():
    """Connections are split by bytes, and stay split."""
    pep.attached(SPLIT)
    pepadm("profile", "set", "default", "release-idle", "0")
    pep.ready()
    run("modprobe", "-qa", *MODULES, check=False)


def fast():
    """Has the kernel flowtables?"""
    return not run("nft", "-cf", "-", ns="pep", stdin=RULES,
                   check=False).returncode


@contextlib.contextmanager
def fast_path(last=LAST):
    """Within, a flowtable and a firewall that drops packets which conntrack
    finds invalid; fails if it has found any."""
    if not fast():
        skip("this kernel has no flowtables")
    with strict("pep", RULES):
        remember(last)
        yield


def remember(seconds):
    """Set the time after which the flowtable forgets a connection, from its
    next packet on."""
    sysctl("pep", f"net.netfilter.nf_flowtable_tcp_timeout={seconds}")


@contextlib.contextmanager
def never():
    """Within, no connection is split."""
    pepadm("profile", "set", "default", "split", "never")
    try:
        yield
    finally:
        pepadm("profile", "set", "default", "split", SPLIT)


def state(family, port):
    """State of a connection as conntrack sees it, FAST where the flowtable has
    it, or None without an entry."""
    found = conntrack.entry("pep", family, port)
    return found and (FAST if found.offloaded else found.state)


def expect_fast(both, family, port):
    """The flowtable gets a connection with its next packets."""
    def sent():
        exchange_part(both, 100)
        return state(family, port) == FAST
    wait_for("the flowtable to have it", sent)


def opened(family):
    """A connection that the flowtable has, both ends and its port."""
    both = pair(family)
    port = both[0].getsockname()[1]
    expect_fast(both, family, port)
    return both, port


def split(family):
    """The same, split afterwards."""
    both, port = opened(family)
    one_way(both[1], both[0], BYTES)
    pep.wait_flows(1)
    return both, port


def forgotten(family, port):
    """Wait until the flowtable has forgotten a connection, while it is
    split."""
    wait_for("the flowtable to forget it",
             lambda: state(family, port) != FAST)
    expect("state", state(family, port), "ESTABLISHED")


def wait_state(family, port, *states):
    """Wait until a connection is in one of these states."""
    wait_for(f"a state of {states}", lambda: state(family, port) in states)


def wait_over(family, port):
    """Wait until conntrack has seen the end of a connection, which newer
    flowtables let it see as a close, when they forget it."""
    wait_state(family, port, "TIME_WAIT", "CLOSE", None)


@families("a connection that is only followed")
def followed(family):
    """Conntrack sees its end."""
    with never(), fast_path(SOON), grows(follow_established=1,
                                         follow_closed=1, flow_established=0):
        both, port = opened(family)
        exchange(both, BYTES)
        wait_over(family, port)


@families("a connection that is split and ends")
def ended(family):
    with fast_path(), grows(split_bytes=1, flow_closed=1):
        both, port = split(family)
        exchange(both, BYTES)
        wait_state(family, port, None)


@families("a connection that is split and reset")
def cut(family):
    with fast_path(), grows(split_bytes=1, flow_reset=1):
        both, port = split(family)
        reset(both[0])
        expect_reset(both[1])
        wait_state(family, port, None)


@families("a connection that is split, forgotten by the flowtable, and ends")
def late_end(family):
    """The entry is one of a connection that is over, and stays no longer."""
    with fast_path(SOON), grows(split_bytes=1, flow_closed=1):
        both, port = split(family)
        forgotten(family, port)
        exchange(both, BYTES)
        wait_state(family, port, "TIME_WAIT")
        found = conntrack.entry("pep", family, port)
        expect_most("seconds", found.timeout, TIME_WAIT)


def back(family, late):
    """A connection that is split and handed back: it goes on, into the
    flowtable again, and ends."""
    with fast_path(SOON if late else LAST), \
            grows(flow_released=1, follow_closed=1):
        both, port = split(family)
        if late:
            forgotten(family, port)
        with never():
            pep.hand_back()
            exchange_part(both, BYTES)
            expect_fast(both, family, port)
            remember(SOON)
            exchange(both, BYTES)
            wait_over(family, port)


families("a connection that is handed back soon", False)(back)
families("a connection that is handed back, unknown to the flowtable by then",
         True)(back)


@families("the same ends connect again", False)
@families("the same ends connect again, unknown to the flowtable by then",
          True)
def again(family, late):
    """Conntrack takes the SYN for a new connection."""
    with fast_path(SOON if late else LAST), sysctls("sub", *NO_TIME_WAIT), \
            sysctls("srv", *NO_TIME_WAIT), \
            grows(split_bytes=2, flow_closed=2):
        for _ in range(2):
            both = pair(family, bind=("", 34571))
            expect_fast(both, family, 34571)
            one_way(both[1], both[0], BYTES)
            pep.wait_flows(1)
            if late:
                forgotten(family, 34571)
            exchange(both, BYTES)
            wait_state(family, 34571, "TIME_WAIT" if late else None)
