# SPDX-License-Identifier: GPL-2.0
"""Connections that were taken over are handed back to their ends in
mid-stream, and go on without a reset: at a command, and when a device is
detached."""

import contextlib
import json

from peptest import pep
from peptest.env import amount
from peptest.ktap import expect, families, wait_for
from peptest.netns import (netem, netem_end, nstat, run, single_packets,
                           sysctl)
from peptest.pep import grows, pepadm
from peptest.tcp import Load, exchange, exchange_part, one_way, pair, start

RATE = amount(2000000)  # bytes per second
RESETS = "TcpOutRsts"
FIREWALL = """
table inet strict {
counter invalid { }
chain forward {
type filter hook forward priority 0; policy drop;
meta l4proto ipv6-icmp accept
ct state invalid counter name invalid drop
ct state established accept
tcp flags & (fin | syn | rst | ack) == syn ct state new accept
}
}
"""


def setup():
    """Attached, with connections that are taken over at once."""
    pep.attached()
    pep.follow("handshake")


def resets():
    """Resets that the three hosts have sent."""
    return sum(nstat(ns, RESETS) for ns in ("sub", "pep", "srv"))


def released(*words):
    """Hand back what the words tell; return how many."""
    text = pepadm("flow", "release", *(words or ("all",))).stdout.split()
    expect("answer", text[0], "released")
    return int(text[1])


def split(family, count, opener="sub", opened="srv"):
    """Connections that pep has taken over."""
    ends = start(family, count, opener, opened)
    for both in ends:
        exchange_part(both, 10)
    pep.wait_flows(count)
    return ends


@families("idle connections go back at once")
def idle(family):
    before = resets()
    with grows(flow_released=5, flow_reset=0, flow_killed=0):
        ends = split(family, 5)
        pep.quiet()
        expect("released", released(), 5)
        pep.flows_end()
        for both in ends:
            exchange_part(both, 30000)
    expect("resets", resets(), before)
    for both in ends:
        exchange(both, 1000)


@families("by number, once")
def single(family):
    near, far = split(family, 1)[0]
    pep.quiet()
    flow, = pep.flows()
    expect("released", released(str(flow["id"])), 1)
    pep.flows_end()
    expect("of the same", released("all"), 0)
    exchange((near, far), 100000)


def hand_back(load, some):
    """Release all connections of a load between some payload and some more."""
    wait_for("payload", lambda: load.moved > some)
    # Where payload came out of order it takes another moment.
    wait_for("all to be released", lambda: released() == 0 and
             pep.stat("flows") == 0)
    mark = load.moved + some
    wait_for("payload afterwards", lambda: load.moved > mark)


def midstream(family, args=None, opener="sub", opened="srv"):
    """Transfers in both directions while they are handed back."""
    before = resets()
    ends = split(family, 12, opener, opened)
    devices = (("pep", "wl0"), ("sub", "eth0")) if args else ()
    with contextlib.ExitStack() as links:
        for ns, dev in devices:
            single_packets(ns, dev)
            netem(ns, dev, *args)
            links.callback(netem_end, ns, dev)
        with grows(flow_released=12, flow_reset=0, flow_killed=0,
                   ended=False):
            load = Load(ends, RATE // 12)
            hand_back(load, RATE // 50)
        load.finish()
    load.expect_whole()
    expect("resets", resets(), before)


families("transfers both ways")(midstream)
families("transfers both ways, the server opens", None, "srv",
         "sub")(midstream)
families("transfers over a link with a delay",
         "delay 20ms limit 5000".split())(midstream)
families("transfers over a link that loses",
         "delay 10ms loss random 1% limit 5000".split())(midstream)


@contextlib.contextmanager
def slow(*devices):
    """A link with a deep queue that fills."""
    for ns, dev in devices:
        netem(ns, dev, *"delay 10ms rate 20mbit limit 5000".split())
    try:
        yield
    finally:
        for ns, dev in devices:
            netem_end(ns, dev)


@families("transfers both ways that fill the link")
def download(family):
    with slow(("pep", "wl0"), ("sub", "eth0")), \
            grows(flow_released=1, flow_reset=0):
        near, far = split(family, 1)[0]
        load = Load([(near, far)], None, amount(4000000))
        wait_for("payload", lambda: load.ends[0].received > 300000)
        wait_for("it to be released", lambda: released() == 0 and
                 pep.stat("flows") == 0)
        load.join(60)
        load.expect_whole()


@families("detached, unloaded, loaded and attached again in mid-transfer")
def reload(family):
    before = resets()
    ends = split(family, 20)
    load = Load(ends, RATE // 20)
    mark = RATE // 50
    for step in ((pep.detach, pep.unload),
                 (pep.load, pep.attach)):
        wait_for("payload", lambda: load.moved > mark)  # pylint: disable=W0640
        for change in step:
            change()
        mark = load.moved + RATE // 50
    wait_for("payload", lambda: load.moved > mark)
    load.finish()
    load.expect_whole()
    expect("resets", resets(), before)
    pep.follow("handshake")


@families("what was handed back may end as ever")
def ends_after(family):
    near, far = split(family, 1)[0]
    pep.quiet()
    expect("released", released(), 1)
    with grows(follow_closed=1):
        one_way(near, far, 1000, fin=True)
        one_way(far, near, 1000, fin=True)
        near.close()
        far.close()


@families("an end that is done keeps its legs")
def half(family):
    near, far = split(family, 1)[0]
    one_way(near, far, 1000, fin=True)
    expect("released", released(), 0)
    with grows(flow_closed=1, flow_released=0):
        one_way(far, near, 200000, fin=True)
        near.close()
        far.close()


@families("drained, in mid-transfer")
def drained(family):
    before = resets()
    ends = split(family, 4)
    load = Load(ends, RATE // 4)
    wait_for("payload", lambda: load.moved > RATE // 2)
    with grows(flow_released=4, split_pass_drain=1, flow_established=0):
        pepadm("drain", "release")
        expect("flows", pep.stat("flows"), 0)
        exchange(pair(family), 1000)
        mark = load.moved + RATE // 2
        wait_for("payload afterwards", lambda: load.moved > mark)
    load.finish()
    load.expect_whole()
    expect("resets", resets(), before)
    pepadm("drain", "off")
    pep.follow("handshake")


@families("connections that pep has answered itself cannot be handed back")
def early(family):
    pepadm("profile", "set", "default", "connect", "early")
    near, far = pair(family)
    exchange_part((near, far), 100)
    expect("released", released(), 0)
    exchange((near, far), 100)
    pepadm("profile", "set", "default", "connect", "follow")


@contextlib.contextmanager
def firewall():
    """A firewall that forwards what belongs to a connection, and drops what is
    out of its window; yields a function that returns how much that was."""
    run("modprobe", "-qa", "nf_conntrack", "nft_ct", check=False)
    run("nft", "-f", "-", ns="pep", stdin=FIREWALL)
    sysctl("pep", "net.netfilter.nf_conntrack_tcp_loose=0",
           "net.netfilter.nf_conntrack_tcp_be_liberal=0")
    try:
        yield lambda: json.loads(
            run("nft", "-j", "list", "counter", "inet", "strict", "invalid",
                ns="pep").stdout)["nftables"][1]["counter"]["packets"]
    finally:
        run("nft", "delete", "table", "inet", "strict", ns="pep")


@families("through a firewall that drops what is invalid")
def conntrack(family):
    before = resets()
    with firewall() as dropped:
        ends = split(family, 4)
        load = Load(ends, RATE // 4)
        hand_back(load, RATE // 2)
        load.finish()
        load.expect_whole()
        expect("packets that are invalid", dropped(), 0)
    expect("resets", resets(), before)
