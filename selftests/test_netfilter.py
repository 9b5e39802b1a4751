# SPDX-License-Identifier: GPL-2.0
"""A firewall on the gateway that drops invalid packets, in every chain, with
the strictest conntrack settings: followed connections are tracked and
masqueraded as without pep, no packet of a split one is dropped or even
tracked, and none of a connection that is answered early at any time.
"""

import contextlib
import json
import socket

from peptest import env, pep
from peptest.ktap import (case, expect, expect_least, families, must,
                          wait_for)
from peptest.netns import addr, netem, run, sysctl, sysctl_get
from peptest.pep import grows, least
from peptest.tcp import (accept, client, connect_errno, exchange,
                         exchange_part, expect_reset, listen, mptcp_socket,
                         one_way, outcome, pair, reset)
from peptest.udp import Datagrams

HOOKS = {"prerouting": -150, "input": 0, "forward": 0, "output": 0,
         "postrouting": 0}
ENTRIES = "net.netfilter.nf_conntrack_count"
HIDDEN = 5005           # port to which connections are masqueraded
MORE = 100000           # bytes


def rules():
    """Drop invalid packets in each hook; count TCP among them, and tracked
    TCP. (IPv6's multicast reports are always invalid.)"""
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
    yield "oifname sv0 meta l4proto udp masquerade"
    yield f"oifname sv0 tcp dport {HIDDEN} masquerade"
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
    pep.follow("handshake")


def counters():
    """Packets that the rules have counted since the last call, by name."""
    out = run("nft", "-j", "reset", "counters", "table", "inet", "strict",
              ns="pep").stdout
    found = [item["counter"] for item in json.loads(out)["nftables"]
             if "counter" in item]
    return {item["name"]: item["packets"] for item in found}


class Untracked:
    """Fail unless all TCP within was untracked and nothing was dropped, except
    duplicate packets that arrive after their connection is gone."""

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


@contextlib.contextmanager
def tracked(least_packets=1):
    """Fail unless TCP within was tracked and nothing was dropped."""
    counters()
    yield
    found = counters()
    expect("packets that are dropped", found["invalid"], 0)
    expect_least("packets that are tracked", found["tracked"], least_packets)


def split(family, near="sub", far="srv"):
    """Both ends of a connection that is opened normally, and split."""
    with tracked(3):
        both = pair(family, near, far)
        pep.wait_flows(1)
    return both


@families("payload both ways, the subscriber opens", "sub", "srv")
@families("payload both ways, the server opens", "srv", "sub")
def payload(family, near, far):
    """From the split to TIME_WAIT, with the ends' own addresses."""
    with grows(split_handshake=1, flow_closed=1, input_dropped=0):
        both = split(family, near, far)
        with Untracked():
            expect("peer", both[1].getpeername()[0], addr(near, family))
            exchange(both, MORE)
            pep.flows_end()


@families("a connection that is only followed")
def followed(family):
    """All of it is tracked, including its end."""
    pep.follow("never")
    try:
        with grows(follow_established=1, follow_closed=1,
                   flow_established=0), tracked(20):
            exchange(pair(family), MORE)
    finally:
        pep.follow("handshake")


@families("a reset of the subscriber", 0)
@families("a reset of the server", 1)
def resets(family, end):
    with grows(flow_established=1, flow_reset=1):
        both = split(family)
        with Untracked():
            exchange_part(both, 1000)
            reset(both[end])
            expect_reset(both[1 - end])
            pep.flows_end()


@families("a refusal")
def refusal(family):
    """conntrack tracks the reset of the server as without pep."""
    with grows(follow_reset=1, flow_established=0), tracked(2):
        expect("the client's error",
               connect_errno("sub", family, addr("srv", family), 5001),
               "ECONNREFUSED")


@families("a refusal by ICMP")
def icmp(family):
    """The server's router prohibits the connection; its error passes, too."""
    to = "198.18.12.9" if family == 4 else "2001:db8:12::9"
    prefix = to.rstrip("9") + ("0/24" if family == 4 else "/64")
    run("ip", "-n", "pep", "route", "add", prefix, "via",
        addr("srv", family))
    run("ip", "-n", "srv", "route", "add", "prohibit", prefix)
    sysctl("srv", "net.ipv4.ip_forward=1",
           "net.ipv6.conf.all.forwarding=1")
    with grows(follow_new=1, pass_icmp=least(1), flow_established=0), \
            tracked():
        expect("the client's error", connect_errno("sub", family, to),
               "EHOSTUNREACH" if family == 4 else "EACCES")


@families("an answer of TCP's control socket")
def late(family):
    """Payload arrives after its flow was reset, and is answered."""
    near, far = split(family)
    exchange_part((near, far), 1000)
    kill_flows = pep.order("flow_kill")
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
    """UDP is not split and has the gateway's address."""
    counters()
    data = Datagrams(family, "sub", "srv", addr("srv", family), 7000)
    data.send(20)
    wait_for("a datagram", lambda: peer_of(data))
    expect("source", peer_of(data)[0], addr("sv", family))
    expect("dropped", counters()["invalid"], 0)


def peer_of(data):
    """Source of the next datagram, None without one."""
    try:
        return data.receiver.recvfrom(2048, socket.MSG_PEEK)[1]
    except BlockingIOError:
        return None


def masqueraded(family, opener):
    """A connection that is translated on this host: it is tracked, has the
    gateway's address, and is never split, because its two halves do not
    match."""
    listener = listen("srv", family, HIDDEN)
    with grows(follow_new=1, follow_established=0, flow_established=0), \
            tracked(20):
        near = opener("sub", family)
        near.connect((addr("srv", family), HIDDEN))
        far = accept(listener)
        expect("peer", far.getpeername()[0], addr("sv", family))
        one_way(near, far, MORE)
        one_way(far, near, MORE)


families("masquerade of TCP", client)(masqueraded)
families("masquerade of Multipath TCP", mptcp_socket)(masqueraded)


@case("conntrack has no more than the handshake of a split flow")
def entries():
    """Its entry stays for some time, as those of the cases above may."""
    before = int(sysctl_get("pep", ENTRIES))
    both = [pair(family) for family in (4, 6)]
    pep.wait_flows(2)
    expect_least("entries", before + 2, int(sysctl_get("pep", ENTRIES)))
    counters()
    for socks in both:
        exchange_part(socks, 20000)
    found = counters()
    expect("tracked and dropped", (found["tracked"], found["invalid"]),
           (0, 0))
    expect("flows", pep.stat("flows"), 2)
    for socks in both:
        exchange(socks, 1000)


PROTOCOLS = "meta l4proto { tcp, icmp, ipv6-icmp } accept"
# The rules of INPUT and OUTPUT that README.md names, without conntrack and
# with it.
FOREIGN = [f"fib {address} type != {{ local, broadcast, anycast, multicast }} "
           f"{PROTOCOLS}" for address in ("daddr", "saddr")]
UNTRACKED = [f"ct state untracked {PROTOCOLS}"] * 2


def policies(accepted, *forward):
    """Chains that drop by default: packets of legs are accepted in INPUT and
    OUTPUT, and others by the given rules in FORWARD."""
    yield "table inet closed {"
    for hook, accepted in (("input", accepted[:1]), ("forward", forward),
                           ("output", accepted[1:])):
        yield f"chain {hook} {{ type filter hook {hook} priority 10;"
        yield "policy drop;"
        # Neighbour discovery must work: INPUT sees solicitations, too.
        yield "meta l4proto ipv6-icmp accept"
        yield from accepted
        yield "}"
    yield "}"


@contextlib.contextmanager
def closed(*rules_):
    """Run such a firewall within."""
    run("nft", "-f", "-", ns="pep",
        stdin="\n".join(policies(*rules_)) + "\n")
    try:
        yield
    finally:
        run("nft", "delete", "table", "inet", "closed", ns="pep")


def policy(family, accepted, *forward):
    """Everything that can happen to a connection."""
    with closed(accepted, *forward):
        for ends in ("sub", "srv"), ("srv", "sub"):
            exchange(pair(family, *ends), 20000)
        near, far = pair(family)
        one_way(near, far, 1000)
        reset(near)
        expect_reset(far)
        refused = connect_errno("sub", family, addr("srv", family), 5001)
        pep.flows_end()
    return refused


@families("chains that drop by default, and established is accepted", FOREIGN)
@families("chains that drop by default, and untracked is accepted", UNTRACKED)
def stateful(family, accepted):
    """FORWARD sees the handshake, INPUT and OUTPUT all later packets."""
    with grows(split_handshake=3, flow_closed=2, flow_reset=1,
               follow_reset=1):
        expect("the client's error",
               policy(family, accepted, "ct state established accept",
                      "ct state new meta l4proto tcp accept"),
               "ECONNREFUSED")


@families("the rule without conntrack opens no port of the gateway")
def own(family):
    target = addr("pep", family)
    listen("pep", family)
    expect("before", connect_errno("sub", family, target, seconds=4), "ok")
    with closed(FOREIGN):
        expect("the client's error",
               connect_errno("sub", family, target, seconds=4), "ETIMEDOUT")


@families("chains that drop by default, and nothing is forwarded")
def forbidden(family):
    """The firewall blocks a connection with pep as without."""
    listen("srv", family)
    with grows(follow_new=1, follow_established=0, flow_established=0), \
            closed(FOREIGN):
        expect("the client's error",
               connect_errno("sub", family, addr("srv", family), seconds=4),
               "ETIMEDOUT")


@contextlib.contextmanager
def refusing(verdict, hook="input"):
    """A hook has a rule against TCP within; a function returns the number of
    packets that the rule has met."""
    run("nft", "-f", "-", ns="pep", stdin=f"""table inet refusing {{
        counter met {{}}
        chain {hook} {{ type filter hook {hook} priority 10;
            meta l4proto tcp counter name met {verdict}
        }}
    }}\n""")
    try:
        yield lambda: json.loads(run(
            "nft", "-j", "list", "counters", "table", "inet", "refusing",
            ns="pep").stdout)["nftables"][-1]["counter"]["packets"]
    finally:
        run("nft", "delete", "table", "inet", "refusing", ns="pep")


@families("INPUT drops packets of a split connection", "input", "drop", 1)
@families("INPUT only sees packets of a split connection", "input", "accept",
          0)
@families("OUTPUT drops packets of a split connection", "output", "drop", 1)
@families("OUTPUT rejects packets of a split connection", "output", "reject",
          1)
@families("POSTROUTING drops packets of a split connection", "postrouting",
          "drop", 1)
@families("OUTPUT only sees packets of a split connection", "output", "accept",
          0)
def refused(family, hook, verdict, counts):
    """Each dropped packet counts, and no other; payload arrives when the rule
    has gone."""
    counter = "input_dropped" if hook == "input" else "output_dropped"
    both = split(family)
    exchange_part(both, 1000)
    with refusing(verdict, hook) as met:
        before = pep.stats()
        both[0].send(bytes(1000))
        wait_for("packets that meet the rule", lambda: met() > 1)
        # A packet may come between the two.
        wait_for("as many as count", lambda: counts * met() == pep.stat(
            counter) - before[counter])
        expect("dropped", pep.stat("dropped"), before["dropped"])
    both[1].settimeout(60)
    must("payload", both[1].recv(1000, socket.MSG_WAITALL), bytes(1000))
    both[1].setblocking(False)
    exchange(both, MORE)
    pep.flows_end()


@case("set early")
def set_early():
    pep.early()


@families("early: payload both ways, the subscriber opens", "sub", "srv")
@families("early: payload both ways, the server opens", "srv", "sub")
def early_payload(family, near, far):
    """A whole connection from SYN to TIME_WAIT, with the ends' own
    addresses."""
    with grows(flow_established=1, flow_closed=1), Untracked():
        both = pair(family, near, far)
        expect("peer", both[1].getpeername()[0], addr(near, family))
        exchange(both, MORE)
        pep.flows_end()


@families("early: SYN cookies")
def cookies(family):
    """A cookie's SYN-ACK has no socket."""
    sysctl("pep", "net.ipv4.tcp_syncookies=2")
    try:
        with grows(flow_established=1, syn_cookie=1), Untracked():
            exchange(pair(family), 10000)
            pep.flows_end()
    finally:
        sysctl("pep", "net.ipv4.tcp_syncookies=1")


@families("early: chains that drop by default", FOREIGN)
@families("early: chains that drop by default, and untracked is accepted",
          UNTRACKED)
def early_policy(family, accepted):
    """The connection that the server refuses is reset, as soon as it is
    established or a little later."""
    with grows(flow_established=3, flow_closed=2), Untracked():
        expect("the client was answered",
               policy(family, accepted, "ct state untracked accept")
               in ("ok", "ECONNRESET"), True)


@families("early: the gateway's own address, and untracked is accepted")
def early_local(family):
    """The other rule takes its packets for the gateway's own."""
    pep.pepadm("profile", "set", "default", "source", "local")
    with grows(flow_established=1, flow_closed=1), \
            closed(UNTRACKED, "ct state untracked accept"):
        exchange(pair(family), 20000)
        pep.flows_end()
    pep.pepadm("profile", "set", "default", "source", "client")


@case("early: conntrack has no entry of a flow at any time")
def early_entries():
    before = int(sysctl_get("pep", ENTRIES))
    both = [pair(family) for family in (4, 6)]
    for socks in both:
        exchange_part(socks, 20000)
    expect("grown", int(sysctl_get("pep", ENTRIES)) > before, False)
    expect("flows", pep.stat("flows"), 2)
