# SPDX-License-Identifier: GPL-2.0
"""A firewall on the gateway that drops what conntrack calls invalid, in every
chain, with conntrack at its strictest: nothing of a split flow is dropped or
even tracked, and what is not split is tracked and masqueraded as ever.
"""

import json
import socket

from peptest import env, genl, pep
from peptest.ktap import case, expect, expect_least, families, wait_for
from peptest.netns import addr, netem, run, sysctl, sysctl_get
from peptest.pep import grows, least
from peptest.tcp import (PORT, Within, accept, connect_errno,
                         exchange, exchange_part, expect_reset, listen,
                         mptcp_socket, one_way, outcome, pair, reset)
from peptest.udp import Datagrams

HOOKS = {"prerouting": -150, "input": 0, "forward": 0, "output": 0,
         "postrouting": 0}
ENTRIES = "net.netfilter.nf_conntrack_count"


def rules():
    """Drop invalid packets in each hook; count TCP among them, and TCP that
    is tracked. (IPv6's multicast reports are always invalid.)"""
    yield "table inet strict {"
    yield "counter invalid {}"
    yield "counter tracked {}"
    for hook, prio in HOOKS.items():
        yield f"chain {hook} {{ type filter hook {hook} priority {prio};"
        yield "meta l4proto tcp ct state invalid counter name invalid drop"
        yield "ct state invalid drop"
        yield "meta l4proto tcp ct state != untracked counter name tracked"
        yield "}"
    yield "chain nat { type nat hook postrouting priority 100;"
    yield "oifname sv0 masquerade"
    yield "}"
    yield "}"


def setup():
    """The firewall is there before pep is attached, and before traffic."""
    pep.detached()
    run("modprobe", "-qa", "nf_conntrack", "nft_ct", "nft_masq",
        "nft_chain_nat", check=False)
    run("nft", "-f", "-", ns="pep", stdin="\n".join(rules()) + "\n")
    sysctl("pep", "net.netfilter.nf_conntrack_tcp_loose=0",
           "net.netfilter.nf_conntrack_tcp_be_liberal=0")
    sysctl("sub", "net.ipv4.tcp_syn_retries=1")
    pep.attach()


def counters():
    """Packets that the rules have counted since the last call, by name."""
    out = run("nft", "-j", "reset", "counters", "table", "inet", "strict",
              ns="pep").stdout
    found = [item["counter"] for item in json.loads(out)["nftables"]
             if "counter" in item]
    return {item["name"]: item["packets"] for item in found}


class Untracked:
    """Fail unless all TCP within was untracked and nothing was dropped, but
    for packets that come twice and find their connection gone."""

    def __enter__(self):
        counters()
        self.strays = pep.stat("pass_no_flow")
        self.entries = int(sysctl_get("pep", ENTRIES))

    def __exit__(self, kind, *_):
        if kind:
            return
        found = counters()
        strays = pep.stat("pass_no_flow") - self.strays
        expect("packets that are tracked", found["tracked"], 0)
        if found["invalid"] > strays:
            expect("packets that are dropped", found["invalid"], strays)
        if int(sysctl_get("pep", ENTRIES)) > self.entries:
            expect("conntrack entries", sysctl_get("pep", ENTRIES),
                   str(self.entries))


@families("payload both ways, the subscriber opens", "sub", "srv")
@families("payload both ways, the server opens", "srv", "sub")
def payload(family, near, far):
    """All of a connection from SYN to TIME_WAIT, with its own addresses."""
    with grows(flow_established=1, flow_closed=1), Untracked():
        both = pair(family, near, far)
        expect("peer", both[1].getpeername()[0], addr(near, family))
        exchange(both, 100000)


@families("a reset of the subscriber", 0)
@families("a reset of the server", 1)
def resets(family, end):
    with grows(flow_established=1, flow_reset=1), Untracked():
        both = pair(family)
        exchange_part(both, 1000)
        reset(both[end])
        expect_reset(both[1 - end])


@families("a refusal")
def refusal(family):
    """The reset of the server passes on to the subscriber."""
    with grows(connect_refused=1), Untracked():
        expect("the client's error",
               connect_errno("sub", family, addr("srv", family), 5001),
               "ECONNREFUSED")


@families("a refusal by ICMP")
def icmp(family):
    """The server's router prohibits; the error passes on, too."""
    to = "198.18.12.9" if family == 4 else "2001:db8:12::9"
    prefix = to.rstrip("9") + ("0/24" if family == 4 else "/64")
    run("ip", "-n", "pep", "route", "add", prefix, "via",
        addr("srv", family))
    run("ip", "-n", "srv", "route", "add", "prohibit", prefix)
    sysctl("srv", "net.ipv4.ip_forward=1",
           "net.ipv6.conf.all.forwarding=1")
    with grows(connect_unreachable=least(1)), Untracked():
        expect("the client's error", connect_errno("sub", family, to),
               "EHOSTUNREACH" if family == 4 else "EACCES")


@families("SYN cookies")
def cookies(family):
    """A cookie's SYN-ACK has no socket."""
    sysctl("pep", "net.ipv4.tcp_syncookies=2")
    try:
        with grows(flow_established=1, syn_cookie=1), Untracked():
            exchange(pair(family), 10000)
    finally:
        sysctl("pep", "net.ipv4.tcp_syncookies=1")


def killer():
    """A function that ends the flows of wl0, as pepadm dev del begins; it is
    quick."""
    number = next(number for number, name in
                  genl.names("PEP_CMD_").items() if name == "flow_kill")
    kind = next(number for number, name in
                genl.names("PEP_A_FLOW_").items() if name == "ifindex")
    with Within("pep"):
        index = socket.if_nametoindex("wl0")
    family = genl.family_id("pep", "pep")
    attr = genl.attr(kind, index.to_bytes(4, "little"))
    return lambda: genl.request("pep", family, number, attr)


@families("an answer of TCP's control socket")
def late(family):
    """Payload arrives after its flow was reset, and is answered."""
    near, far = pair(family)
    exchange_part((near, far), 1000)
    kill_flows = killer()
    netem("sub", "eth0", "delay", "2000ms" if env.SLOW else "500ms")
    with grows(reset_late=least(1), flow_killed=1) as before, Untracked():
        near.send(bytes(1000))
        kill_flows()
        expect_reset(far)
        expect("the other end", outcome(near), "ECONNRESET")
        pep.flows_end()
        wait_for("the late packet", lambda: pep.stat("reset_late") >
                 before["reset_late"])
        netem("sub", "eth0", "off")


@families("masquerade of UDP")
def masquerade_udp(family):
    """What is not split has the gateway's address."""
    counters()
    data = Datagrams(family, "sub", "srv", addr("srv", family), 7000)
    data.send(20)
    wait_for("a datagram", lambda: peer_of(data))
    expect("source", peer_of(data)[0], addr("sv", family))
    expect("dropped", counters()["invalid"], 0)


def peer_of(data):
    """Source of the datagram that is next, None without one."""
    try:
        return data.receiver.recvfrom(2048, socket.MSG_PEEK)[1]
    except BlockingIOError:
        return None


@families("masquerade of TCP that is not split")
def masquerade_tcp(family):
    """Multipath TCP passes: it is tracked, and has the gateway's address."""
    counters()
    listener = listen("srv", family)
    near = mptcp_socket("sub", family)
    with grows(syn_pass_mptcp=1, flow_established=0):
        near.connect((addr("srv", family), PORT))
        far = accept(listener)
        expect("peer", far.getpeername()[0], addr("sv", family))
        one_way(near, far, 100000)
        one_way(far, near, 100000)
    found = counters()
    expect("dropped", found["invalid"], 0)
    expect_least("tracked", found["tracked"], 100)


@case("conntrack has no entry of a split flow at any time")
def entries():
    """With flows alive; entries of the cases above may linger."""
    before = int(sysctl_get("pep", ENTRIES))
    both = [pair(family) for family in (4, 6)]
    for socks in both:
        exchange_part(socks, 20000)
    expect("grown", int(sysctl_get("pep", ENTRIES)) > before, False)
    expect("flows", pep.stat("flows"), 2)


def policies():
    """Chains that drop by default, with the rules that the README gives."""
    accept_untracked = ("ct state untracked meta l4proto "
                        "{ tcp, icmp, ipv6-icmp } accept")
    yield "table inet closed {"
    for hook in "input", "forward", "output":
        yield f"chain {hook} {{ type filter hook {hook} priority 10;"
        yield "policy drop;"
        yield ("iifname { wl0, sv0 } " if hook == "input" else "") + \
            accept_untracked
        yield "}"
    yield "}"


@families("chains that drop by default, and untracked is accepted")
def policy(family):
    run("nft", "-f", "-", ns="pep", stdin="\n".join(policies()) + "\n")
    try:
        with grows(flow_established=3, flow_closed=2, flow_reset=1,
                   connect_refused=1), Untracked():
            exchange(pair(family), 20000)
            exchange(pair(family, "srv", "sub"), 20000)
            near, far = pair(family)
            one_way(near, far, 1000)
            reset(near)
            expect_reset(far)
            expect("the client's error",
                   connect_errno("sub", family, addr("srv", family), 5001),
                   "ECONNREFUSED")
    finally:
        run("nft", "delete", "table", "inet", "closed", ns="pep")
