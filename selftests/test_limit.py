# SPDX-License-Identifier: GPL-2.0
"""Limits, draining and memory pressure: new connections are followed and stay
unsplit with the reason counted, split ones go on."""

import json
import select

from peptest import pep
from peptest.ktap import (after_case, expect, expect_least, families,
                          note, wait_for)
from peptest.netns import addr, ip, sysctl_get
from peptest.pep import grows, pepadm, split_pair, split_start
from peptest.tcp import PORT, client, exchange, exchange_part, pair, reset

SHARE = 64              # flows of a subscriber that are being opened
DEFAULTS = {**{key.replace("-", "_"): most for key, most in
               pep.default_limits().items()}, "drain": "off"}


@after_case
def defaults():
    """Each case begins with the defaults and without flows."""
    if pep.loaded():
        pep.flows_end()
        pepadm("limit", "set", "flows", str(DEFAULTS["flows"]), "pending",
               str(DEFAULTS["pending"]))
        pepadm("drain", "off")
        pepadm("profile", "replace", "default", "split", "handshake")


def shown():
    """The limits that pepadm shows."""
    return json.loads(pepadm("-j", "limit", "show").stdout)


@families("no more flows than may be")
def flows(family):
    expect("limits", shown(), DEFAULTS)
    pepadm("limit", "set", "flows", "5")
    expect("limits", shown(), {**DEFAULTS, "flows": 5})
    with grows(flow_established=6, split_pass_max_flows=3):
        split = [split_pair(family) for _ in range(5)]
        beyond = [pair(family) for _ in range(3)]
        expect("flows", pep.stat("flows"), 5)
        for both in split[:4] + beyond:
            exchange(both, 20000)
        pep.wait_flows(1)
        exchange(split_pair(family), 1000)
        exchange(split[4], 20000)


def silence(family):
    """The address of a server that does not answer."""
    net = "198.18.13.0/24" if family == 4 else "2001:db8:13::/64"
    to = "198.18.13.9" if family == 4 else "2001:db8:13::9"
    ip("srv", f"route replace blackhole {net}")
    ip("pep", f"route replace {net} via {addr('srv', family)}")
    return to


def clients(family, count):
    """Clients of that server."""
    to = silence(family)
    socks = [client("sub", family) for _ in range(count)]
    for sock in socks:
        sock.setblocking(False)
        sock.connect_ex((to, PORT))
    return socks


@families("no more flows being opened than may be, early")
def pending(family):
    """Ten clients of a silent server, then a server that answers."""
    pepadm("profile", "set", "default", "connect", "early")
    pepadm("limit", "set", "pending", "10")
    with grows(ended=False, split_pass_max_pending=1):
        socks = clients(family, 10)
        # Some clients may wait for a socket.
        wait_for("pending flows", lambda: pep.stat("pending") == 10)
        exchange(pair(family), 20000)
    for sock in socks:
        reset(sock)
    pep.flows_end()
    with grows(flow_established=1):
        exchange(pair(family), 1000)


@families("no more flows of a subscriber being opened than its share, early")
def pending_share(family):
    """Beyond it the next connection is followed, whatever others may have."""
    pepadm("profile", "set", "default", "connect", "early")
    with grows(ended=False, split_pass_max_pending=1):
        socks = clients(family, SHARE)
        wait_for("pending flows", lambda: pep.stat("pending") == SHARE)
        exchange(pair(family), 20000)
    for sock in socks:
        reset(sock)
    pep.flows_end()
    with grows(flow_established=1):
        exchange(pair(family), 1000)


@families("connections that wait for a silent server are no flows")
def unanswered(family):
    """They are followed, and do not count against the limits of split ones."""
    pepadm("limit", "set", "pending", "1", "flows", "1")
    with grows(flow_established=1, split_pass_max_pending=0,
               split_pass_max_flows=0, follow_new=pep.least(11)):
        socks = clients(family, 10)
        wait_for("SYNs", lambda: pep.stat("followed") >= 10)
        expect("flows", (pep.stat("pending"), pep.stat("flows")), (0, 0))
        exchange(split_pair(family), 20000)
    for sock in socks:
        sock.close()


def count(profile):
    """Flows of a profile."""
    return json.loads(pepadm("-j", "profile", "show",
                             profile).stdout)[0]["flows"]


@families("no more flows of a profile than may be", "follow")
@families("no more flows of a profile than may be, early", "early")
def profile_flows(family, connect_mode):
    """Flows that were split before the profile was changed count as well."""
    settings = "connect", connect_mode, "max-flows", "3"
    pepadm("profile", "set", "default", *settings)
    with grows(flow_established=4, split_pass_profile_flows=3,
               split_pass_max_flows=0):
        split = [split_pair(family) for _ in range(3)]
        expect("flows", count("default"), 3)
        beyond = [pair(family), pair(family, "srv", "sub")]
        pepadm("profile", "set", "default", *settings)
        beyond.append(pair(family))
        expect("flows", (count("default"), pep.stat("flows")), (3, 3))
        exchange(split.pop(), 20000)
        wait_for("an end", lambda: count("default") == 2)
        split.append(split_pair(family))
        expect("flows", count("default"), 3)
        for both in split + beyond:
            exchange(both, 20000)
    expect("flows", count("default"), 0)


@families("a profile's limit is for its own flows")
def profile_own(family):
    """Also when it was deleted and added again while it has flows."""
    gold = "profile", "add", "gold", "max-flows", "1", "split", "handshake"
    pepadm(*gold)
    pepadm("dev", "set", "sv0", "profile", "gold")
    with grows(flow_established=3, split_pass_profile_flows=2):
        both = [split_pair(family, "srv", "sub"), pair(family, "srv", "sub")]
        both += [split_pair(family) for _ in range(2)]
        expect("flows", (count("gold"), count("default")), (1, 2))
        pepadm("dev", "set", "sv0", "profile", "default")
        pepadm("profile", "del", "gold")
        pepadm(*gold)
        pepadm("dev", "set", "sv0", "profile", "gold")
        expect("flows", count("gold"), 1)
        both.append(pair(family, "srv", "sub"))
        for one in both:
            exchange(one, 1000)
    pepadm("dev", "set", "sv0", "profile", "default")
    pepadm("profile", "del", "gold")


@families("draining: no new flows, the old ones finish")
def drain(family):
    old = split_start(family, 5)
    pepadm("drain", "on")
    expect("drain", shown()["drain"], "on")
    with grows(ended=False, flow_established=0, split_pass_drain=2):
        exchange(pair(family), 20000)
        exchange(pair(family, "srv", "sub"), 20000)
        exchange_part(old[0], 20000)
        for number, both in enumerate(old):
            expect("flows that remain", pep.stat("flows"), 5 - number)
            exchange(both, 20000)
            pep.wait_flows(4 - number)
    pepadm("drain", "off")
    with grows(flow_established=1):
        exchange(split_pair(family), 1000)


@families("what a flow holds is limited")
def memory(family):
    """A subscriber that does not read stops the server; the payload between
    them is limited to the buffers of two sockets and a leg's unsent bytes."""
    near, far = split_pair(family)
    far.setblocking(False)
    sent = still = 0
    while still < 20:
        try:
            sent += far.send(bytes(1 << 16))
            still = 0
        except BlockingIOError:
            still += 1
            select.select([], [far], [], 0.05)
    flow, = pep.flows()
    legs = flow["legs"]
    note("sent", sent, "unread", legs["server"]["unread"], "unsent",
         legs["wireless"]["unsent"])
    expect_least("limit of the receive buffer",
                 int(sysctl_get("pep", "net.ipv4.tcp_rmem").split()[2]),
                 legs["server"]["unread"])
    expect_least("limit of the unsent", 2 * 256 * 1024,
                 legs["wireless"]["unsent"])
    near.settimeout(60)
    got = 0
    while got < sent:
        got += len(near.recv(1 << 20))
    expect("bytes in all", got, sent)


@families("TCP short of memory")
def short(family):
    """New connections pass, split ones go on. Each CPU keeps a megabyte that
    does not count, so much unread payload is needed."""
    old = split_pair(family)
    hogs = split_start(family, 30)
    for near, _ in hogs:
        near.setblocking(False)
        near.send(bytes(300000))
    with pep.pressure():
        exchange_part(old, 300000)
        with grows(ended=False, flow_established=0,
                   split_pass_pressure=1) as before:
            both = pair(family)
            wait_for("the decision", lambda: pep.stat("split_pass_pressure")
                     > before["split_pass_pressure"])
        exchange(both, 20000)
        exchange_part(old, 20000)
    exchange(old, 300000)
    for both in hogs:
        for sock in both:
            sock.close()
    pep.flows_end()
    with grows(flow_established=1):
        exchange(split_pair(family), 300000)
