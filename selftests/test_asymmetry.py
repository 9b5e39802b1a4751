# SPDX-License-Identifier: GPL-2.0
"""Answers that do not come this way: the connection works unsplit, the
destination is remembered, shown and forgotten on demand. And SYNs: the server
never gets more of them than the client has sent.

Beside the usual topology, a link from the server straight to the subscriber:
   srv back0 ---------------------------------- sub back0
   198.18.2.2, 2001:db8:2::2                198.18.2.1, 2001:db8:2::1
"""

import json
import time

from peptest import pep
from peptest.ktap import after_case, expect, expect_least, families, wait_for
from peptest.netns import addr, ip, netem, nstat, sysctl
from peptest.pep import grows, least, pepadm
from peptest.tcp import client, exchange, listen, pair, PORT

BACK = {4: "198.18.2.1", 6: "2001:db8:2::1"}
# Addresses of other subscribers, routed to the same namespace.
OTHERS = {4: ("198.18.20.1", "198.18.20.2"),
          6: ("2001:db8:20::1", "2001:db8:21::1")}
# Another address of the usual subscriber's IPv6 network.
BESIDE = "2001:db8::12"
SILENT = {4: "198.18.13.9", 6: "2001:db8:13::9"}


def setup():
    """The topology above; networks 13 are silent."""
    pep.attached()
    ip(None, "link add back0 netns srv type veth peer name back0 netns sub")
    for ns, end in ("srv", 2), ("sub", 1):
        ip(ns, f"address add 198.18.2.{end}/24 dev back0",
           f"address add 2001:db8:2::{end}/64 dev back0 nodad",
           "link set back0 up")
        sysctl(ns, "net.ipv4.conf.all.rp_filter=0")
    ip("srv", "route add blackhole 198.18.13.0/24",
       "route add blackhole 2001:db8:13::/64")
    ip("pep", "route add 198.18.13.0/24 via 198.18.1.2",
       "route add 2001:db8:13::/64 via 2001:db8:1::2")
    ip("sub", f"address add {BESIDE}/64 dev eth0 nodad preferred_lft 0")
    for family, others in OTHERS.items():
        for other in others:
            ip("sub", f"address add {other}/{32 if family == 4 else 128} "
               "dev lo")
            ip("pep", f"route add {other} via {addr('sub', family)}")


@after_case
def forget():
    """Each case begins with nothing remembered."""
    if pep.loaded():
        pepadm("bypass", "flush")


def remembered():
    """What pepadm lists."""
    return json.loads(pepadm("-j", "bypass", "show").stdout)


def around(family, verb, *to):
    """Send the server's packets to a subscriber around the gateway."""
    prefix = "32" if family == 4 else "128"
    for dest in to or (addr("sub", family),):
        ip("srv", f"route {verb} {dest}/{prefix} via {BACK[family]} dev back0")


@families("answers around the gateway")
def asymmetric(family):
    """The first connection already works; those that follow are not even
    tried to split."""
    around(family, "add")
    try:
        with grows(syn_split=1, connect_asymmetric=1, flow_established=0,
                   syn_pass_bypass=0):
            exchange(pair(family), 100000)
        with grows(syn_split=0, syn_pass_bypass=2):
            exchange(pair(family), 100000)
            exchange(pair(family), 100000)
    finally:
        around(family, "del")
    entry, = remembered()
    expect("addr", entry["addr"], addr("srv", family))
    expect("port", entry["port"], PORT)
    expect("reason", entry["reason"], "asymmetric")
    expect("hits", entry["hits"], 2)
    expect("for some minutes", 500 < entry["left_s"] <= 600, True)
    with grows(syn_split=1, flow_established=1):
        exchange(pair(family, port=5001), 1000)
    pepadm("bypass", "del", entry["addr"], str(PORT))
    expect("remembered", remembered(), [])
    with grows(syn_split=1, flow_established=1):
        exchange(pair(family), 1000)


def openers():
    """For whom destinations are remembered."""
    return [entry["opener"] for entry in remembered()]


@families("what one opener finds out is for that one, of two for all")
def another(family):
    """An IPv6 network of 64 bits is one opener."""
    own, network = addr("sub", family), "2001:db8::/64"
    second, third = OTHERS[family]
    beside = own if family == 4 else BESIDE
    around(family, "add", own)
    try:
        with grows(connect_asymmetric=1):
            exchange(pair(family), 1000)
        expect("openers", openers(), [own if family == 4 else network])
        with grows(syn_split=0, syn_pass_bypass=1):
            exchange(pair(family, bind=(beside, 0)), 1000)
        with grows(syn_split=1, flow_established=1, syn_pass_bypass=0):
            exchange(pair(family, bind=(second, 0)), 1000)
    finally:
        around(family, "del", own)
    around(family, "add", own, second)
    try:
        with grows(connect_asymmetric=1, syn_pass_bypass=0):
            exchange(pair(family, bind=(second, 0)), 1000)
        expect("openers", openers(), ["any"])
        expect("hits", remembered()[0]["hits"], 1)
        with grows(syn_split=0, syn_pass_bypass=3):
            for source in own, second, third:
                exchange(pair(family, bind=(source, 0)), 1000)
    finally:
        around(family, "del", own, second)


@families("what one opener finds out for another reason confirms nothing")
def reasons(family):
    """A second one is not answered: the server has no route back to it."""
    second = OTHERS[family][0]
    prefix = "32" if family == 4 else "128"
    around(family, "add")
    try:
        with grows(connect_asymmetric=1):
            exchange(pair(family), 1000)
    finally:
        around(family, "del")
    before = remembered()[0]
    ip("srv", f"route add blackhole {second}/{prefix}")
    try:
        sock = client("sub", family, bind=(second, 0))
        sock.setblocking(False)
        with grows(syn_split=1, syn_pass_unanswered=1, connect_timeout=1):
            sock.connect_ex((addr("srv", family), PORT))
            wait_for("the fourth SYN", lambda: pep.stat("pending") == 1, 5)
            wait_for("the fourth SYN", lambda: pep.stat("pending") == 0, 20)
    finally:
        ip("srv", f"route del blackhole {second}/{prefix}")
    after, = remembered()
    for key in "opener", "reason":
        expect(key, after[key], before[key])


def syns(ns):
    """SYNs that a namespace has sent, while it sends nothing else."""
    return nstat(ns, "TcpOutSegs", "TcpRetransSegs")


@families("a silent server gets no SYN that the client has not sent")
def silent(family):
    """The fourth SYN passes unsplit and the server is remembered."""
    sock = client("sub", family)
    sock.setblocking(False)
    sent = syns("sub")
    legs = syns("pep")
    with grows(syn_split=1, syn_duplicate=2, syn_pass_unanswered=1,
               connect_timeout=1):
        sock.connect_ex((SILENT[family], PORT))
        wait_for("the fourth SYN", lambda: pep.stat("pending") == 1, 5)
        wait_for("the fourth SYN", lambda: pep.stat("pending") == 0, 20)
    sent = syns("sub") - sent
    expect_least("SYNs of the client", sent, 4)
    expect("SYNs of the leg", syns("pep") - legs, 3)
    expect("reasons", [e["reason"] for e in remembered()], ["unanswered"])


@families("a client that gives up is forgotten, nothing is sent for it")
def gives_up(family):
    """One SYN and no more: one SYN to the server and no more."""
    sock = client("sub", family)
    sock.setblocking(False)
    legs = syns("pep")
    with grows(syn_split=1, connect_timeout=1):
        sock.connect_ex((SILENT[family], PORT + 1))
        wait_for("the SYN", lambda: pep.stat("pending") == 1, 5)
        sock.close()
        start = time.monotonic()
        wait_for("the end of the flow", lambda: not pep.stat("flows"), 20)
    expect_least("seconds it was waited for", time.monotonic() - start, 5)
    expect("SYNs of the leg", syns("pep") - legs, 1)


@families("a slow server is split all the same")
def slow(family):
    """Its answer comes after the client's second SYN."""
    exchange(pair(family), 100)
    pep.flows_end()
    passive = nstat("srv", "TcpPassiveOpens")
    listen("srv", family)
    netem("srv", "eth0", "delay", "1500ms")
    try:
        with grows(syn_split=1, syn_duplicate=least(1), flow_established=1,
                   syn_pass_unanswered=0):
            exchange(pair(family), 1000)
            netem("srv", "eth0", "off")
    finally:
        netem("srv", "eth0", "delay", "0ms")
        netem("srv", "eth0", "off")
    expect("connections of the server",
           nstat("srv", "TcpPassiveOpens") - passive, 1)
