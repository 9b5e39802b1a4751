# SPDX-License-Identifier: GPL-2.0
"""The effects of a profile's settings on connections, and gateways with
unusual routing: strict rp_filter, no forwarding, policy routing, VRFs.
"""

import contextlib
import json
import socket
import time

from peptest import pep, settings
from peptest.env import SLOW, amount
from peptest.firewall import strict
from peptest.ktap import (case, expect, expect_between, expect_least,
                          expect_most, fail, families, note, wait_for)
from peptest.netns import (addr, impaired, ip, run, sysctl, sysctl_get,
                           sysctls)
from peptest.pep import (grows, kept_pair, least, pepadm, split_pair,
                         split_start)
from peptest.raw import RST, SYN, Wire, after, segment
from peptest.tcp import (NO_TIME_WAIT, PORT, End, accept, connect_errno,
                         exchange, exchange_all, exchange_part, expect_eof,
                         expect_reset, expect_same, fill, listen, mptcp_socket,
                         one_way, pair, pump)

TRAITS = {"once"}

MARK = 7
LATER = 4 if SLOW else 1
TABLE = 100
VRF_TABLE = 200
FAR = {4: "198.18.9.1", 6: "2001:db8:9::1"}
SECOND = {4: ("198.18.1.9", "198.18.0.9"),
          6: ("2001:db8:1::9", "2001:db8::9")}
# Of a firewall: it drops packets of the gateway's own that make no sense.
OUTPUT = """
table inet strict {
chain output {
type filter hook output priority 0;
ct state invalid drop
}
}
"""


def setup():
    """Attached; ICMP errors are not limited in rate."""
    pep.attached()
    sysctl("pep", "net.ipv4.icmp_ratelimit=0", "net.ipv6.icmp.ratelimit=0")


@contextlib.contextmanager
def profile(**values):
    """Within, the default profile has other values; split is handshake unless
    it is among them."""
    words = {name.replace("_", "-"): str(v) for name, v in values.items()}
    plain = {one.word: one.usual for one in settings.OPTIONS}
    plain["split"] = "handshake"
    pepadm("profile", "set", "default",
           *(word for both in words.items() for word in both))
    try:
        yield
        pep.flows_end()
    finally:
        pepadm("profile", "set", "default",
               *(word for name in words for word in (name, plain[name])))


def mptcp(family):
    """Both ends of a Multipath TCP connection."""
    listener = mptcp_socket("srv", family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((addr("srv", family), 5100))
    listener.listen()
    near = mptcp_socket("sub", family)
    near.connect((addr("srv", family), 5100))
    return near, accept(listener)


@families("connect follow: the ends open the connection themselves")
def follow(family):
    """Opened and refused, from either side."""
    with profile(connect="follow", split="never"):
        for opener, opened in ("sub", "srv"), ("srv", "sub"):
            with grows(pass_syn=least(1), follow_established=1,
                       follow_reset=1, flow_established=0, delivered=0):
                exchange(pair(family, opener, opened), 100000)
                expect("a refusal", connect_errno(
                    opener, family, addr(opened, family), 5009),
                    "ECONNREFUSED")


@families("mptcp bypass: the connection passes")
def mptcp_bypass(family):
    with grows(syn_pass_mptcp=least(1), follow_established=1,
               split_pass_option=1, flow_established=0):
        both = mptcp(family)
        one_way(*both, 10000)
        for sock in both:
            sock.close()


@families("mptcp split: both ends fall back to plain TCP", "early")
@families("mptcp split: both ends fall back to plain TCP, followed", "follow")
def mptcp_split(family, connect):
    with profile(connect=connect, split="12000", mptcp="split"):
        if connect == "follow":
            pep.ready()
        with grows(syn_pass_mptcp=0, split_pass_option=0, flow_established=1,
                   flow_closed=1):
            exchange(mptcp(family), 100000)


@families("mptcp split: another option still bypasses")
def mptcp_fastopen(family):
    """TCP Fast Open, requested by a SYN of Multipath TCP."""
    with profile(mptcp="split"), grows(syn_pass_fastopen=1,
                                       flow_established=0):
        listener = listen("srv", family)
        near = mptcp_socket("sub", family)
        near.setblocking(True)
        near.sendto(b"x", socket.MSG_FASTOPEN, (addr("srv", family), PORT))
        far = accept(listener)
        expect("payload", far.recv(10), b"x")
        near.close()
        far.close()


def far_network(family, table):
    """Add a network behind the server to a single routing table."""
    prefix = f"{FAR[family]}/{32 if family == 4 else 128}"
    ip("srv", f"address replace {prefix} dev lo" +
       (" nodad" if family == 6 else ""))
    ip("pep", f"route replace {prefix} via {addr('srv', family)} dev sv0 "
       f"table {table}")


@contextlib.contextmanager
def ruled(family, selector):
    """Within, a rule leads packets to the single table."""
    ip("pep", f"rule add {selector} table {TABLE} pref 100", family=family)
    try:
        yield
    finally:
        ip("pep", "rule del pref 100", family=family)


@contextlib.contextmanager
def forwarded(family):
    """Within, a rule for the subscribers' packets reaches the far network."""
    far_network(family, TABLE)
    with ruled(family, "iif wl0"):
        yield


@contextlib.contextmanager
def by_mark(family):
    """The same with a rule for marked packets."""
    far_network(family, TABLE)
    ip("pep", f"rule add fwmark {MARK} table {TABLE} pref 101",
       family=family)
    try:
        yield
    finally:
        ip("pep", "rule del pref 101", family=family)


@families("mark: routes of both legs follow rules")
def mark(family):
    """A leg finds its route only by the mark: without it the connection, which
    is forwarded by another rule, is not split."""
    with forwarded(family), by_mark(family):
        with profile(mark=MARK), grows(flow_established=1, flow_closed=1):
            exchange(split_pair(family, to=FAR[family]), 10000)
        for route in "unreachable", "prohibit", "blackhole":
            ip("pep", f"route add {route} {FAR[family]}", family=family)
            with grows(split_pass_route=1, flow_established=0):
                exchange(kept_pair(family, "split_pass_route",
                                   to=FAR[family]), 10000)
            ip("pep", f"route del {route} {FAR[family]}", family=family)
        with grows(split_pass_route=1, flow_established=0):
            exchange(kept_pair(family, "split_pass_route", to=FAR[family]),
                     10000)


@contextlib.contextmanager
def routers(family):
    """Within, both ends have a second address; the far network and the
    subscriber are behind it by the single table, and not by the main one."""
    length, flag = ((24, "") if family == 4 else
                    (64, " nodad preferred_lft 0"))
    ends = ("srv", "sv0", FAR[family]), ("sub", "wl0", addr("sub", family))
    far_network(family, "main")
    for (ns, dev, end), hop in zip(ends, SECOND[family]):
        ip(ns, f"address add {hop}/{length} dev eth0{flag}")
        ip("pep", f"route replace {end} via {hop} dev {dev} table {TABLE}",
           family=family)
    try:
        yield
    finally:
        ip("pep", f"route flush table {TABLE}", f"route del {FAR[family]}",
           family=family)
        for (ns, _, _), hop in zip(ends, SECOND[family]):
            ip(ns, f"address del {hop}/{length} dev eth0")


@contextlib.contextmanager
def grouped_hops(family, near):
    """Within, both tables have the far network behind a group of next
    hops."""
    ip("pep", *(f"nexthop add id {number} via {hop} dev sv0" for number, hop in
                zip((11, 12), (SECOND[family][0], near))),
       "nexthop add id 13 group 11/12")
    ip("pep", f"route replace {FAR[family]} table {TABLE} nhid 13",
       f"route replace {FAR[family]} nhid 13", family=family)
    try:
        yield
    finally:
        far_network(family, "main")
        ip("pep", "nexthop flush")


def kept_route(family, **kwargs):
    """A connection that is not split because of a route."""
    return kept_pair(family, "split_pass_route", **kwargs)


def far_hop(table, hop):
    """Have a table lead to the far network over IPv4 by one next hop."""
    ip("pep", f"route replace {FAR[4]} via {hop} dev sv0 table {table}")


@families("a rule for a VRF sends forwarded packets to another next hop")
def next_hop_vrf(family):
    """Routing sees packets of its devices arrive on the VRF, over IPv4 on the
    devices, or, with newer kernels, on both."""
    far, near = FAR[family], addr("sub", family)
    moved = 0
    with vrf("wl0", "sv0"), routers(family):
        ip("pep", f"route add {far} via {addr('srv', family)} dev sv0 "
           f"table {VRF_TABLE}",
           f"route replace {far} via {SECOND[family][0]} dev sv0 "
           f"table {TABLE}", family=family)
        for device in "wl0", "red":
            with ruled(family, f"iif {device}"):
                way = run("ip", "-n", "pep", "route", "get", far, "from", near,
                          "iif", {4: "wl0", 6: "red"}[family]).stdout
                if SECOND[family][0] in way:
                    moved += 1
                    with grows(flow_established=0):
                        exchange(kept_route(family, to=far), 10000)
                else:
                    with grows(flow_established=1, split_pass_route=0):
                        exchange(split_pair(family, to=far), 10000)
    expect_least("rules that move the connection", moved, 1)


@families("a rule for a DSCP sends the leg's packets to another next hop")
def next_hop_dscp(family):
    """The profile's, which the ends' packets do not have."""
    far = FAR[family]
    with routers(family), profile(dscp=2), ruled(family, "dsfield 0x08"), \
         grows(flow_established=0):
        exchange(kept_pair(family, "split_pass_route", to=far), 10000)


@families("a rule sends forwarded packets to another next hop of the device")
def next_hop(family):
    """A leg would use the usual one, where a firewall may not know the
    connection: it is followed, unless its leg's packets go there, too."""
    far, near = FAR[family], addr("srv", family)
    kept = {"flow_established": 0}
    split = {"flow_established": 1, "split_pass_route": 0}
    with routers(family):
        for device in "wl0", "sv0":
            with ruled(family, f"iif {device}"), grows(**kept):
                exchange(kept_pair(family, "split_pass_route", to=far), 10000)
        for source in addr("sub", family), far:
            with ruled(family, f"from {source}"), grows(**split):
                exchange(split_pair(family, to=far), 10000)
        hops = " ".join(f"nexthop via {hop} dev sv0"
                        for hop in (near, SECOND[family][0]))
        for table in "main", TABLE:
            ip("pep", f"route replace {far} table {table} {hops}",
               family=family)
        with ruled(family, "iif wl0"), grows(**split):
            exchange(split_pair(family, to=far), 10000)
        if family == 4:
            for table, kind, ends in ("main", split, split_pair), \
                                     (TABLE, kept, kept_route):
                # The other table keeps both.
                far_hop(table, near)
                with ruled(family, "iif wl0"), grows(**kind):
                    exchange(ends(family, to=far), 10000)
                ip("pep", f"route replace {far} table {table} {hops}")
        with ruled(family, "iif wl0"), grouped_hops(family, near), \
             grows(**split):
            exchange(split_pair(family, to=far), 10000)
        with ruled(family, "iif wl0"), by_mark(family), \
             profile(mark=MARK), grows(**split):
            exchange(split_pair(family, to=far), 10000)


@families("mark: the way to the target follows rules, early")
def mark_early(family):
    """Nothing is forwarded, so no other rule is needed."""
    with by_mark(family), profile(connect="early", mark=MARK):
        with grows(flow_established=1):
            exchange(pair(family, to=FAR[family]), 10000)


@contextlib.contextmanager
def all_have(name, value):
    """All TCP packets that the gateway sends within have a value of nftables'
    meta, and there are some by each device; counted in OUTPUT."""
    run("nft", "-f", "-", ns="pep", stdin=f"""
table inet metas {{
chain out {{ type filter hook output priority 0;
meta l4proto tcp meta {name} {value} oifname wl0 counter
meta l4proto tcp meta {name} {value} oifname sv0 counter
meta l4proto tcp meta {name} != {value} counter
}}
}}
""")
    try:
        yield
        out = run("nft", "-j", "list", "table", "inet", "metas",
                  ns="pep").stdout
    finally:
        run("nft", "delete", "table", "inet", "metas", ns="pep")
    counts = [part["counter"]["packets"]
              for item in json.loads(out)["nftables"] if "rule" in item
              for part in item["rule"]["expr"] if "counter" in part]
    expect_least("to the subscriber", counts[0], 4)
    expect_least("to the server", counts[1], 4)
    expect(f"with another {name}", counts[2], 0)


@families("mark: packets of both legs have it", "follow")
@families("mark: packets of both legs have it, early", "early")
def marked(family, connect_mode):
    """In every state."""
    with all_have("mark", MARK), profile(connect=connect_mode, mark=MARK), \
            grows(flow_established=1):
        exchange(split_pair(family), 10000)


@families("dscp: packets of both legs have its priority", "follow")
@families("dscp: packets of both legs have its priority, early", "early")
def priority(family, connect_mode):
    """That of DSCP 2 is TC_PRIO_BULK, for classful qdiscs."""
    with all_have("priority", "0:2"), profile(connect=connect_mode, dscp=2), \
            grows(flow_established=1):
        exchange(split_pair(family), 10000)


@families("source local: the server sees the gateway")
def source_local(family):
    with profile(connect="early", source="local"):
        with grows(flow_established=1, flow_closed=1):
            both = pair(family)
            peer = both[1].getpeername()
            expect("peer", peer[0], addr("sv", family))
            legs = pep.flows()[0]["legs"]
            expect("source", legs["server"]["source"],
                   {"addr": peer[0], "port": peer[1]})
            if "source" in legs["wireless"]:
                fail(f"the opener's leg has a source: {legs}")
            exchange(both, 100000)
        with grows(flow_established=40):
            exchange_all([pair(family) for _ in range(40)], 1000)


@families("source local: a SYN of the other end's addresses ends nothing")
def source_forged(family):
    """No leg with these addresses exists that could judge the SYN."""
    with profile(connect="early", source="local"):
        with grows(flow_established=1, flow_closed=1, flow_killed=0):
            both = split_pair(family)
            port = both[0].getsockname()[1]
            before = pep.stat("dropped")
            wire = Wire("srv", "eth0", ("pep", "sv0"))
            wire.send(segment(addr("srv", family), addr("sub", family), PORT,
                              port, flags=SYN, seq=1))
            wait_for("the SYN", lambda: pep.stat("dropped") > before)
            exchange(both, 1000)


@families("source local: connections from the server keep their address")
def source_opened(family):
    """The subscriber's leg uses the server's address as always."""
    with profile(connect="early", source="local"):
        with grows(flow_established=1):
            both = pair(family, "srv", "sub")
            expect("peer", both[1].getpeername()[0], addr("srv", family))
            exchange(both, 10000)


@families("source local: all ports in use")
def source_ports(family):
    """Two ports, three connections: the third is followed, and a port can be
    used at once for another server."""
    with profile(connect="early", source="local"):
        sysctl("pep", "net.ipv4.ip_local_port_range=40000 40001")
        try:
            pairs = [pair(family) for _ in range(2)]
            ports = {far.getpeername()[1] for _, far in pairs}
            expect("ports", ports, {40000, 40001})
            with grows(ended=False, syn_pass_in_use=1, follow_new=1,
                       syn_answered=0):
                exchange(pair(family), 1000)
            with grows(ended=False, flow_established=1):
                pairs.append(split_pair(family, port=5001))
            exchange_all(pairs, 1000)
        finally:
            sysctl("pep", "net.ipv4.ip_local_port_range=32768 60999")


@contextlib.contextmanager
def two_defaults(family):
    """Within, the default route points to the subscribers, the next one to the
    servers, as in a container whose routes serve the subscribers' side."""
    far_network(family, TABLE)
    ip("pep", f"route add default via {addr('sub', family)} dev wl0 "
       "metric 10", f"route add default via {addr('srv', family)} dev sv0 "
       "metric 20", family=family)
    try:
        yield
    finally:
        ip("pep", "route del default metric 10", "route del default metric 20",
           family=family)


@families("server-dev: the default route points to the subscribers, early")
def server_dev_early(family):
    with two_defaults(family), profile(connect="early", server_dev="sv0"):
        with grows(flow_established=1, flow_closed=1):
            exchange(pair(family, to=FAR[family]), 50000)
        with grows(flow_established=1, flow_closed=1):
            exchange(pair(family, "srv", "sub"), 50000)


@families("server-dev: the default route points to the subscribers")
def server_dev(family):
    """A rule forwards a followed connection, but does not match legs: without
    the device their packets would be sent to the subscribers."""
    with two_defaults(family), forwarded(family):
        with profile(server_dev="sv0"):
            with grows(flow_established=1, flow_closed=1):
                exchange(split_pair(family, to=FAR[family]), 50000)
            with grows(flow_established=1, flow_closed=1):
                exchange(split_pair(family, "srv", "sub"), 50000)
            with grows(follow_reset=1):
                expect("a refusal", connect_errno(
                    "sub", family, FAR[family], 5009), "ECONNREFUSED")
        with grows(split_pass_route=1, flow_established=0):
            exchange(kept_pair(family, "split_pass_route", to=FAR[family]),
                     50000)


@families("server-dev: the device has gone since")
def server_dev_lost(family):
    ip("pep", "link add d0 type dummy")
    with profile(server_dev="d0"):
        ip("pep", "link del d0")
        with grows(split_pass_route=1, flow_established=0):
            exchange(kept_pair(family, "split_pass_route"), 50000)


@case("server-dev: the device does not exist when the profile is used")
def server_dev_gone():
    ip("pep", "link add d0 type dummy", "link add d1 type dummy")
    pepadm("profile", "add", "gold", "server-dev", "d0")
    ip("pep", "link del d0")
    done = pepadm("dev", "add", "d1", "side", "wireless", "profile", "gold",
                  check=False)
    expect("exit code", done.returncode, 1)
    gone = 'profile: its server-dev "d0" does not exist'
    if gone not in done.stderr:
        fail(done.stderr)
    ip("pep", "link add d0 type dummy")
    pepadm("dev", "add", "d1", "side", "wireless", "profile", "gold")
    ip("pep", "link del d0")
    done = pepadm("profile", "set", "gold", "residence", "20", check=False)
    expect("exit code", done.returncode, 1)
    if gone not in done.stderr:
        fail(done.stderr)
    told, = json.loads(pepadm("-j", "profile", "show", "gold").stdout)
    expect("residence", told["residence"], 50)
    pepadm("dev", "del", "d1")
    pepadm("profile", "del", "gold")
    ip("pep", "link del d1")


def usual_scale():
    """The window scale of a buffer that may grow up to tcp_rmem, as
    tcp_select_initial_window() chooses it. tcp_rmem depends on the kernel and
    the machine's memory."""
    most = int(sysctl_get("pep", "net.ipv4.tcp_rmem").split()[2])
    return most.bit_length() - 1 - 15


# Half of the kernel's values, bytes; the window scales of the receive buffers
# differ from that of 6 MB, the default of 6.12 on most machines.
BUFFERS = {"wireless_sndbuf": 300000, "wireless_rcvbuf": 60000,
           "server_sndbuf": 400000, "server_rcvbuf": 16000000}
SCALES = {"wireless": 0, "server": 8}


def expect_buffers(side, line, wanted):
    """Fail unless ss shows the buffers of the profile for a leg."""
    expect(f"{side} sndbuf", pep.number(line, r",tb(\d+),"),
           2 * wanted[side + "_sndbuf"])
    expect(f"{side} rcvbuf", pep.number(line, r",rb(\d+),"),
           2 * wanted[side + "_rcvbuf"])


@families("buffers of both legs, either side opens, early")
def buffers_early(family):
    """Both the accepting and the connecting leg. The SYN-ACK of the former and
    the SYN of the latter have the window scale of the buffer."""
    with profile(connect="early", **BUFFERS):
        for ends in ("sub", "srv"), ("srv", "sub"):
            with grows(flow_established=1, flow_closed=1):
                both = split_pair(family, *ends)
                for side, line in pep.legs().items():
                    expect_buffers(side, line, BUFFERS)
                    expect(f"{side} wscale",
                           pep.number(line, r" wscale:\d+,(\d+) "),
                           SCALES[side])
                exchange(both, amount(3000000))
    with profile(connect="early"), grows(flow_established=1, flow_closed=1):
        both = split_pair(family)
        for side, line in pep.legs().items():
            expect(f"{side} wscale",
                   pep.number(line, r" wscale:\d+,(\d+) "), usual_scale())
        exchange(both, 10000)


@families("buffers of both legs, either side opens")
def buffers(family):
    """Each holds at least the window offered to its end."""
    values = {**BUFFERS, "wireless_rcvbuf": 300000}
    with profile(**values):
        for ends in ("sub", "srv"), ("srv", "sub"):
            with grows(flow_established=1, flow_closed=1):
                both = split_pair(family, *ends)
                for side, line in pep.legs().items():
                    expect_buffers(side, line, values)
                exchange(both, amount(3000000))


@families("buffers as small as may be", "follow")
@families("buffers as small as may be, early", "early")
def small(family, connect_mode):
    """All payload gets through, and little of it is queued, plus the window
    offered to an end before the split."""
    most = 2 * 8192 + 2 * 65536
    if connect_mode == "follow":
        most += 65535
    with profile(connect=connect_mode, **dict.fromkeys(BUFFERS, 4096)):
        near, far = (End(sock, 1 << 30) for sock in split_pair(family))
        fill([near, far])
        flow, = pep.flows()
        for side in "wireless", "server":
            leg = flow["legs"][side]
            note(side, leg["unread"], leg["unsent"])
            expect_most("bytes that wait", leg["unread"] + leg["unsent"],
                        most)
        for end in near, far:
            end.size = end.sent
        pump([near, far])
        expect_same(near, far)
        expect_same(far, near)
        for end in near, far:
            end.sock.close()


def seconds(sender, receiver, size):
    """Seconds that payload takes, one way."""
    begun = time.monotonic()
    one_way(sender, receiver, size)
    return time.monotonic() - begun


@families("max-rate: what a leg sends is paced", "follow")
@families("max-rate: what a leg sends is paced, early", "early")
def max_rate(family, connect_mode):
    """Without a pacing qdisc: 8 Mbit/s are a megabyte in a second. Each leg
    has its own rate, whichever end opened."""
    rates = {"wireless_max_rate": "8mbit", "server_max_rate": "4mbit"}
    with profile(connect=connect_mode, **rates):
        for opener, opened in ("sub", "srv"), ("srv", "sub"):
            ends = dict(zip((opener, opened),
                            split_pair(family, opener, opened)))
            for side, line in pep.legs().items():
                expect(f"most of {side}",
                       pep.number(line, r" pacing_rate \d+bps/(\d+)bps"),
                       {"wireless": 8000000, "server": 4000000}[side])
            for sender, receiver, size in (("srv", "sub", 1000000),
                                           ("sub", "srv", 500000)):
                took = seconds(ends[sender], ends[receiver], size)
                note(f"{sender} to {receiver}: {took:.2f} s")
                if not 0.85 < took < 5 * LATER:
                    fail(f"{size} bytes from {sender} took {took:.2f} s")
            for sock in ends.values():
                sock.close()
            pep.flows_end()
    near, far = split_pair(family)
    took = seconds(far, near, 1000000)
    if took > 0.8 * LATER:
        fail(f"without a limit it took {took:.2f} s")


@families("a subscriber's leg begins with a rate of its own", "follow")
@families("a subscriber's leg begins with a rate of its own, early", "early")
def start_rate(family, connect_mode):
    """16 MB/s, where BBR would guess 2 from a round trip of 20 ms; max-rate
    limits it."""
    rates = {"unlimited": 128000000, "8mbit": 8000000}
    for limit, rate in rates.items():
        with impaired((("sub", "eth0"),), "delay", "20ms"), \
                profile(connect=connect_mode, wireless_max_rate=limit):
            for opener, opened in ("sub", "srv"), ("srv", "sub"):
                both = split_pair(family, opener, opened)
                exchange_part(both, 100)
                expect(f"rate with a limit of {limit}, {opener} opens",
                       pep.number(pep.legs()["wireless"],
                                  r" pacing_rate (\d+)bps"), rate)
                exchange(both, 100)
                pep.flows_end()


@families("initial-window: a subscriber's leg begins with it", "follow")
@families("initial-window: a subscriber's leg begins with it, early", "early")
def initial_window(family, connect_mode):
    """Whichever end opens; the server's leg is unaffected."""
    for window, least_of, most_of in (0, 10, 20), (100, 100, 110):
        with profile(connect=connect_mode, initial_window=window):
            for opener, opened in ("sub", "srv"), ("srv", "sub"):
                both = split_pair(family, opener, opened)
                cwnd = {side: pep.number(line, r" cwnd:(\d+)")
                        for side, line in pep.legs().items()}
                expect_between(f"cwnd with {window}, {opener} opens",
                               cwnd["wireless"], least_of, most_of)
                expect_most("of the server's leg", cwnd["server"], 20)
                exchange(both, 100000)
                pep.flows_end()


@families("strict rp_filter on all devices")
def rp_filter(family):
    sysctl("pep", "net.ipv4.conf.all.rp_filter=1",
           "net.ipv4.conf.wl0.rp_filter=1", "net.ipv4.conf.sv0.rp_filter=1")
    for near, far in ("sub", "srv"), ("srv", "sub"):
        with grows(flow_established=1, flow_closed=1):
            exchange(split_pair(family, near, far), 50000)
        with grows(follow_reset=1, follow_established=0):
            expect("a refusal", connect_errno(near, family,
                                              addr(far, family), 5009),
                   "ECONNREFUSED")
    sysctl("pep", "net.ipv4.conf.all.rp_filter=0")


@families("no forwarding: early is split, what is followed does not come up")
def no_forwarding(family):
    sysctl("pep", "net.ipv4.ip_forward=0",
           "net.ipv6.conf.all.forwarding=0")
    try:
        with profile(connect="early"):
            with grows(flow_established=1, flow_closed=1):
                exchange(pair(family), 50000)
        with grows(follow_new=least(1), follow_established=0,
                   flow_established=0):
            expect("followed", connect_errno("sub", family,
                                             addr("srv", family), seconds=2),
                   "late")
        with grows(syn_pass_mptcp=least(1), flow_established=0):
            near = mptcp_socket("sub", family)
            listen("srv", family)
            near.settimeout(0.5)
            try:
                near.connect((addr("srv", family), PORT))
                fail("forwarded")
            except OSError:
                pass
            near.close()
    finally:
        sysctl("pep", "net.ipv4.ip_forward=1",
               "net.ipv6.conf.all.forwarding=1")


@contextlib.contextmanager
def vrf(*devs, accept_all=1):
    """Within, devices of the gateway are in a VRF."""
    run("modprobe", "-q", "vrf", check=False)
    ip("pep", f"link add red type vrf table {VRF_TABLE}",
       "link set red up", *(f"link set {dev} master red" for dev in devs))
    restore(devs)
    sysctl("pep", f"net.ipv4.tcp_l3mdev_accept={accept_all}")
    try:
        yield
    finally:
        pep.flows_end()
        ip("pep", *(f"link set {dev} nomaster" for dev in devs),
           "link del red")
        restore(devs)
        sysctl("pep", "net.ipv4.tcp_l3mdev_accept=0")


def restore(devs):
    """Restore IPv6 addresses, which are lost when a device changes its
    VRF."""
    for dev in devs:
        v6 = "2001:db8::1" if dev == "wl0" else "2001:db8:1::1"
        ip("pep", f"address replace {v6}/64 dev {dev} nodad")


def both_ways(family):
    """Split connections opened by either side, and a refusal. Their neighbours
    have to be resolved first: a connection whose handshake took longer than a
    second is split when more payload arrives."""
    for near, far in ("sub", "srv"), ("srv", "sub"):
        with grows(flow_established=1, flow_closed=1):
            exchange(split_pair(family, near, far, size=10), 50000)
        with grows(follow_reset=1, follow_established=0):
            expect("a refusal", connect_errno(near, family,
                                              addr(far, family), 5009),
                   "ECONNREFUSED")
    with grows(flow_established=20, flow_closed=20):
        exchange_all(split_start(family, 20), 2000)


@families("both devices in a VRF")
def vrf_both(family):
    with vrf("wl0", "sv0"):
        both_ways(family)


@families("an address of the gateway's own in a VRF")
def vrf_local(family):
    with vrf("wl0", "sv0"), grows(syn_pass_local=1, follow_new=0):
        expect("a refusal", connect_errno("sub", family, addr("sv", family),
                                          5009), "ECONNREFUSED")


@families("both devices in a VRF, early")
def vrf_early(family):
    with vrf("wl0", "sv0"), profile(connect="early"):
        for near, far in ("sub", "srv"), ("srv", "sub"):
            with grows(flow_established=1, flow_closed=1):
                exchange(split_pair(family, near, far, size=10), 50000)


@families("a VRF that listeners do not take: not answered early")
def vrf_refused(family):
    """Followed connections need none."""
    with vrf("wl0", "sv0", accept_all=0):
        with grows(syn_pass_vrf=0, flow_established=1, flow_closed=1):
            exchange(split_pair(family), 50000)
        with profile(connect="early"), \
                grows(syn_pass_vrf=1, syn_answered=0, flow_established=1):
            exchange(split_pair(family), 50000)


def leak(family, dev, to, table, verb):
    """Change a route in one table to a device of another."""
    net = {("sub", 4): "198.18.0.0/24", ("srv", 4): "198.18.1.0/24",
           ("sub", 6): "2001:db8::/64", ("srv", 6): "2001:db8:1::/64"}
    ip("pep", f"route {verb} {net[to, family]} dev {dev} table {table}")


@families("the subscribers in a VRF, the servers not", {})
@families("the subscribers in a VRF, server legs bound to a device",
          {"server_dev": "sv0"})
def vrf_subscribers(family, values):
    """The server's device is in no VRF."""
    with vrf("wl0"), profile(**values) if values else \
            contextlib.nullcontext():
        leak(family, "wl0", "sub", "main", "add")
        with grows(flow_established=1, flow_closed=1):
            exchange(split_pair(family, size=10), 50000)
        with grows(flow_established=1, flow_closed=1):
            exchange(split_pair(family, "srv", "sub"), 50000)
        leak(family, "wl0", "sub", "main", "del")


@families("the subscribers in a VRF: a server takes its port again")
def vrf_reuse(family):
    """It closes first, so that the leg in the VRF, which has sent the FIN
    before its end, stays in TIME_WAIT."""
    bind = addr("srv", family), 34590
    with vrf("wl0"), profile(server_dev="sv0"), \
            sysctls("srv", *NO_TIME_WAIT):
        leak(family, "wl0", "sub", "main", "add")
        with grows(flow_established=5, flow_closed=5,
                   time_wait_reused=least(4)):
            for _ in range(5):
                near, far = split_pair(family, "srv", "sub", bind=bind)
                near.close()
                expect_eof(far)
                far.close()
                pep.flows_end()
        leak(family, "wl0", "sub", "main", "del")


@families("the servers in a VRF, legs bound to it", "red")
@families("the servers in a VRF, legs bound to its device", "sv0")
def vrf_servers(family, dev):
    """The subscribers are in no VRF; forwarded packets need a route into the
    VRF."""
    with vrf("sv0"), profile(server_dev=dev):
        leak(family, "sv0", "srv", "main", "add")
        with grows(flow_established=1, flow_closed=1):
            exchange(split_pair(family, size=10), 50000)
        with grows(follow_reset=1, follow_established=0):
            expect("a refusal", connect_errno("sub", family,
                                              addr("srv", family), 5009),
                   "ECONNREFUSED")
        leak(family, "sv0", "srv", "main", "del")


@families("the servers in a VRF, legs bound to it, early", "red")
@families("the servers in a VRF, legs bound to its device, early", "sv0")
def vrf_servers_early(family, dev):
    with vrf("sv0"), profile(connect="early", server_dev=dev):
        with grows(flow_established=1, flow_closed=1):
            exchange(pair(family), 50000)


@families("both devices in a VRF: a reset is sent three times", "follow")
@families("both devices in a VRF: a reset is sent three times, early", "early")
def vrf_reset(family, mode):
    """LOCAL_OUT sees each packet of a VRF twice, and conntrack, which has no
    entry of an early connection, would find repetitions invalid."""
    with vrf("wl0", "sv0"), profile(connect=mode), strict("pep", OUTPUT):
        both = split_pair(family, size=10)
        wire = Wire("sub")
        with grows(flow_killed=1):
            pepadm("flow", "kill", "all")
        time.sleep(1)       # for more than those
        expect("resets", [bool(seen.flags & RST) for seen in
                          wire.segments(outgoing=False)], [True] * 3)
        for sock in both:
            sock.close()


@families("the servers in a VRF: a reset from outside of it is not the leg's")
def vrf_outside(family):
    """There its addresses are somebody else's."""
    for ns, dev in ("srv", "eth0"), ("pep", "sv0"):
        ip(ns, f"link add link {dev} name {dev}.22 type vlan id 22",
           f"link set {dev}.22 up")
    pepadm("dev", "add", "sv0.22", "side", "server")
    with vrf("sv0"):
        leak(family, "sv0", "srv", "main", "add")
        tap = Wire("srv", "eth0", ("pep", "sv0"))
        wire = Wire("srv", "eth0.22", ("pep", "sv0.22"))
        with grows(reset_over=0, flow_reset=0, flow_killed=1):
            near, far = split_pair(family)
            one_way(far, near, 1000)
            wire.send(after(tap.find(lambda seen: seen.data, outgoing=True),
                            flags=RST))
            expect_reset(near)
            pepadm("flow", "kill", "all")
            expect_reset(far)
        leak(family, "sv0", "srv", "main", "del")
    for ns, dev in ("srv", "eth0"), ("pep", "sv0"):
        ip(ns, f"link del {dev}.22")


@families("device deleted in a VRF, early")
def vrf_detach_early(family):
    """Neither end has sent anything but its handshake."""
    ip("pep", "link add d0 type dummy")
    with vrf("wl0", "sv0"), profile(connect="early"):
        ip("pep", "link set d0 master red")
        pepadm("dev", "add", "d0", "side", "wireless")
        for dev in "wl0", "sv0":
            near, far = split_pair(family)
            with grows(ended=False, flow_killed=0):
                pepadm("flow", "kill", "dev", "d0")
            with grows(flow_killed=1):
                pepadm("flow", "kill", "dev", dev)
                for sock in near, far:
                    expect_reset(sock)
        ip("pep", "link del d0")


@families("device deleted in a VRF")
def vrf_detach(family):
    """pepadm dev del finds the flows of a device that a VRF hides, and leaves
    those of others alone. The VRF has them all."""
    ip("pep", "link add d0 type dummy")
    with vrf("wl0", "sv0"):
        ip("pep", "link set d0 master red")
        pepadm("dev", "add", "d0", "side", "wireless")
        with grows(flow_released=1, flow_killed=0, flow_reset=0):
            both = split_pair(family)
            exchange_part(both, 1000)
            legs = pep.flows()[0]["legs"]
            expect("devices", [legs[side]["dev"] for side in
                               ("wireless", "server")], ["wl0", "sv0"])
            shown = [pepadm("-j", "flow", "show", "dev", dev).stdout
                     for dev in ("wl0", "sv0", "red", "d0")]
            expect("flows by device", [len(json.loads(text))
                                       for text in shown], [1, 1, 1, 0])
            pepadm("dev", "del", "d0")
            ip("pep", "link del d0")
            expect("released by another device", pep.stat("flows"), 1)
            exchange_part(both, 1000)
            pepadm("dev", "del", "wl0")
            pep.flows_end()
            exchange(both, 20000)
        pepadm("dev", "add", "wl0", "side", "wireless")
