# SPDX-License-Identifier: GPL-2.0
"""A device that is made anew, or loses its filters, and one that is not
attached and to which routing moves a connection: the connections that are
split go on, whether it is attached later or not, and whether their side has
other devices or not.

   sub eth0, eth0.21, eth0.23 ------ pep wl0, wl0.21, wl0.23
   198.18.21.2, 198.18.23.2              198.18.21.1, 198.18.23.1
"""

import contextlib
import threading
import time

from peptest import pep
from peptest.env import amount
from peptest.ktap import case, expect, families, skip, wait_for
from peptest.netns import (addr, impaired, ip, nstat, resets, run, sysctls,
                           tc)
from peptest.pep import grows, least, pepadm
from peptest.raw import (ACK, RST, SYN, Wire, icmp, link_address, renumbered,
                         segment)
from peptest.tcp import (NO_TIME_WAIT, PORT, Load, client, exchange,
                         exchange_part, expect_reset, expect_stream,
                         next_offset, one_way, pair, pieces, reset)

TRAITS = {"simulated"}

RATE = amount(100000)   # bytes per second and end
BYTES = amount(100000)
PURGED = 2              # seconds until no socket is removed any more
LONG = 6                # seconds, more than between two looks for such flows
AGED = 10               # seconds, until a device that was noted is forgotten
# The gateway's own packets to the subscriber are lost.
NOT_SENT = """table inet lost {
chain output {
type filter hook output priority 0
oifname "wl0.21" meta l4proto tcp drop
}
}
"""
# Of all TCP packets of the subscriber only SYNs leave.
ONLY_SYN = """table inet only {
chain output {
type filter hook output priority 0
oifname "eth0.21" tcp sport != 5000 tcp flags & (syn | ack) != syn drop
}
}
"""
TOO_BIG = {4: (3, 4), 6: (2, 0)}
OWN = {4: "198.18.21.2", 6: "2001:db8:21::2"}


def addresses(dev):
    """Commands that give the gateway's addresses to a device."""
    return (f"address add 198.18.21.1/24 dev {dev}",
            f"address add 2001:db8:21::1/64 dev {dev} nodad")


def made():
    """Make the VLAN's device of the gateway."""
    ip("pep", "link add link wl0 name wl0.21 type vlan id 21",
       "link set wl0.21 up", *addresses("wl0.21"))


def filters(where, action):
    """Add filters with pep's action."""
    for pref, protocol in (5, "ip"), (6, "ipv6"):
        tc("pep", f"filter add {where} pref {pref} protocol {protocol} "
           f"matchall action pepsplit {action}")


def anew():
    """The device goes and is made anew."""
    ip("pep", "link del wl0.21")
    made()


def others():
    """The device is made anew and gets filters of somebody else."""
    anew()
    tc("pep", "qdisc add dev wl0.21 clsact")


def bare():
    """The device loses its filters."""
    tc("pep", "qdisc del dev wl0.21 clsact")


def filterless():
    """The device loses its filters, and keeps its qdisc."""
    tc("pep", "filter del dev wl0.21 ingress")


def egress():
    """The device loses its filters, but for some at egress."""
    filterless()
    filters("dev wl0.21 egress", "side wireless")


def classes():
    """The device loses its filters, but for some of a qdisc with classes."""
    filterless()
    tc("pep", "qdisc add dev wl0.21 root handle 1: prio")
    filters("dev wl0.21 parent 1:", "side wireless")


def own_qdisc():
    """The device leaves its shared block, and has a qdisc of its own."""
    bare()
    tc("pep", "qdisc add dev wl0.21 clsact")


def bridged():
    """The device is made anew and becomes the port of a bridge, which has an
    address of its own."""
    ip("pep", "link del wl0.21",
       "link add br21 address 02:00:00:00:00:21 type bridge",
       "link add link wl0 name wl0.21 master br21 type vlan id 21",
       "link set wl0.21 up", "link set br21 up", *addresses("br21"))


def both_bare():
    """All devices lose their filters."""
    bare()
    tc("pep", "qdisc del dev sv0 clsact")


def attach():
    """Attach the device."""
    pepadm("dev", "add", "wl0.21", "side", "wireless")


@contextlib.contextmanager
def alone():
    """Within, the device is the only one of its side."""
    pepadm("dev", "del", "wl0")
    try:
        yield
    finally:
        pepadm("dev", "add", "wl0", "side", "wireless")


def setup():
    """The subscriber has a VLAN as well."""
    pep.attached()
    run("modprobe", "-q", "8021q", check=False)
    made()
    ip("sub", "link add link eth0 name eth0.21 type vlan id 21",
       "link set eth0.21 up", "address add 198.18.21.2/24 dev eth0.21",
       "address add 2001:db8:21::2/64 dev eth0.21 nodad")
    for family, gateway in (4, "198.18.21.1"), (6, "2001:db8:21::1"):
        ip("sub", f"rule add from {OWN[family]} lookup 21",
           f"route add default via {gateway} table 21", family=family)
    attach()


def opened(family, **kwargs):
    """A split connection by the VLAN, on which both ends have spoken."""
    both = pep.split_pair(family, bind=(OWN[family], 0), **kwargs)
    exchange_part(both, 1000)
    return both


@contextlib.contextmanager
def detached(how):
    """Within, the device is not attached."""
    how()
    try:
        yield
    finally:
        attach()


def hook_is(there):
    """Is the hook for packets that come by such a device there, or not? Some
    kernels do not list hooks."""
    listed = run("nft", "list", "hooks", ns="pep", check=False).stdout
    return "pep_untrack_out" not in listed or (
        ("pep_stray_in" in listed) == there)


@families("made anew", anew)
@families("made anew, with other filters, for long", others, LONG)
@families("its qdisc is deleted", bare)
@families("its filters are deleted", filterless)
def unattached(family, how, seconds=1):
    """One connection is idle, one transfers, and one of which an end has
    finished."""
    before = resets()
    with grows(flow_released=0, flow_killed=0, flow_reset=0, flow_closed=3,
               stray=least(1)):
        idle, busy, half = (opened(family) for _ in range(3))
        one_way(*half, 1000, fin=True)
        load = Load([busy], RATE)
        load.more(RATE // 4)
        with detached(how):
            wait_for("the hook", lambda: hook_is(True))
            exchange_part(idle, BYTES)
            one_way(*half[::-1], BYTES)
            load.more(2 * RATE * seconds)
        load.more(RATE // 4)
        exchange_part(idle, BYTES)
        one_way(*half[::-1], BYTES)
        load.finish()
        load.expect_whole()
        exchange(idle, BYTES)
        one_way(*half[::-1], BYTES, fin=True)
    expect("resets", resets(), before)


@families("its filters are deleted, but those at egress")
def but_egress(family):
    unattached(family, egress)
    tc("pep", "filter del dev wl0.21 egress")


@case("its filters are deleted, but those of a qdisc with classes")
def but_classes():
    unattached(4, classes)
    tc("pep", "qdisc del dev wl0.21 root")


@families("made anew, the only device of its side", anew)
@families("made anew with other filters, the only device of its side", others)
def last(family, how):
    with alone():
        unattached(family, how)


@contextlib.contextmanager
def otherwise(qdisc, *places):
    """Within, the device is attached by filters of tc, each at one of the
    given places; what they do not have in common is deleted afterwards."""
    ip("pep", "link add mg0 type dummy")
    pepadm("dev", "del", "wl0.21")
    for dev in "wl0.21", "mg0":
        tc("pep", f"qdisc replace dev {dev} {qdisc}")
    for where in places:
        filters(where, "side wireless index 7")
    try:
        yield
    finally:
        ip("pep", "link del mg0")


@case("its filters are deleted, whose action another device has, too")
def shared_action():
    """Till then early demux delivers by the legs' cached routes."""
    with otherwise("clsact", "dev wl0.21 ingress", "dev mg0 ingress"):
        unattached(4, filterless, AGED)


@case("it leaves a shared block, and has another qdisc")
def shared_block():
    with otherwise("ingress_block 21 clsact", "block 21"):
        unattached(4, own_qdisc, AGED)


@contextlib.contextmanager
def bridge(family):
    """The subscriber sends to the port's address all the time. The bridge goes
    afterwards."""
    gateway = {4: "198.18.21.1", 6: "2001:db8:21::1"}[family]
    port_address = link_address("pep", "wl0.21").hex(":")
    ip("sub", f"neigh replace {gateway} lladdr {port_address} dev eth0.21 "
       "nud permanent")
    try:
        yield
    finally:
        ip("pep", "link del br21")
        anew()
        attach()
        ip("sub", f"neigh del {gateway} dev eth0.21")


@families("it becomes the port of a bridge")
def port(family):
    with bridge(family):
        unattached(family, bridged)


@families("it becomes the port of a bridge with br_netfilter")
def netfilter_port(family):
    if run("modprobe", "-q", "br_netfilter", check=False).returncode:
        skip("this kernel has no br_netfilter")
    with sysctls("pep", "net.bridge.bridge-nf-call-iptables=1",
                 "net.bridge.bridge-nf-call-ip6tables=1"), bridge(family):
        unattached(family, bridged)


class Storm(threading.Thread):
    """Makes and deletes actions until it is stopped."""

    def __init__(self):
        super().__init__(daemon=True)
        self.done = threading.Event()
        self.start()

    def run(self):
        while not self.done.wait(0.03):
            tc("pep", "actions add action pepsplit side wireless index 9",
               "actions del action pepsplit index 9")

    def stop(self):
        self.done.set()
        self.join()


@families("made anew, while actions come and go")
def storm(family):
    """As when many devices are detached."""
    both = opened(family)
    other = Storm()
    with detached(anew):
        exchange_part(both, BYTES)
        expect("the storm goes on", other.is_alive(), True)
    other.stop()
    exchange(both, BYTES)


@families("the module is unloaded when no device is left")
def unload(family):
    """The connections are handed back."""
    before = resets()
    with alone():
        idle = opened(family)
        load = Load([opened(family)], RATE)
        load.more(RATE // 4)
        both_bare()
        load.more(RATE // 4)
        exchange_part(idle, BYTES)
        pep.unload()
        load.more(RATE // 4)
        pep.load()
        pepadm("dev", "add", "sv0", "side", "server")
        attach()
    pep.follow("handshake")
    load.finish()
    load.expect_whole()
    exchange(idle, BYTES)
    expect("resets", resets(), before)


@contextlib.contextmanager
def second(family):
    """Within, there is a second VLAN, which nobody attaches; the function
    moves the subscriber's address to it."""
    far, via = {4: ("198.18.21.2/32", "198.18.23."),
                6: ("2001:db8:21::2/128", "2001:db8:23::")}[family]
    for ns, dev, host in ("sub", "eth0", 2), ("pep", "wl0", 1):
        ip(ns, f"link add link {dev} name {dev}.23 type vlan id 23",
           f"link set {dev}.23 up",
           f"address add 198.18.23.{host}/24 dev {dev}.23",
           f"address add 2001:db8:23::{host}/64 dev {dev}.23 nodad")

    def move():
        ip("pep", f"route add {far} via {via}2", family=family)
        ip("sub", f"route replace default via {via}1 table 21", family=family)

    try:
        yield move
    finally:
        ip("sub", "route replace default via "
           f"{via.replace('23', '21')}1 table 21", family=family)
        for ns, dev in ("sub", "eth0"), ("pep", "wl0"):
            ip(ns, f"link del {dev}.23")


@families("routing moves it to a device that is not attached")
def moved(family):
    before = resets()
    with grows(flow_released=0, flow_killed=0, flow_reset=0, flow_closed=2):
        idle, busy = opened(family), opened(family)
        load = Load([busy], RATE)
        load.more(RATE // 4)
        with second(family) as move:
            move()
            load.more(RATE)
            exchange_part(idle, BYTES)
        load.finish()
        load.expect_whole()
        exchange(idle, BYTES)
    expect("resets", resets(), before)


@families("payload comes behind its reset")
def overtaken(family):
    """As in test_reset.py."""
    near, far = opened(family)
    with detached(filterless):
        wait_for("the hook", lambda: hook_is(True))
        with impaired((("sub", "eth0.21"),), "slot", "100ms", "100ms"), \
                grows(flow_reset=1, reset_over=1):
            wire = Wire("sub", "eth0.21", ("pep", "wl0.21"))
            one_way(near, far, 1000)
            pep.quiet()
            wire.reset_overtaken()
            expect_reset(far, 10)


@case("no hook for a device from which nothing is forwarded")
def unrouted():
    """As from one for management."""
    if hook_is(True) and hook_is(False):
        skip("this kernel does not list hooks")
    both = opened(4)
    wait_for("no hook before", lambda: hook_is(False))
    ip("pep", "link add mg0 type dummy", "link set mg0 up")
    wait_for("the hook", lambda: hook_is(True))
    with sysctls("pep", "net.ipv4.conf.mg0.forwarding=0"):
        with sysctls("pep", "net.ipv6.conf.mg0.disable_ipv6=1"):
            wait_for("no hook without either", lambda: hook_is(False))
        wait_for("the hook with IPv6", lambda: hook_is(True))
    ip("pep", "link del mg0")
    exchange(both, BYTES)


@case("rp_filter holds at a device that is not attached")
def forged():
    """The subscriber's address is not behind the second VLAN any more."""
    both = opened(4)
    with second(4) as move:
        move()
        exchange_part(both, 1000)
        wire = Wire("sub", "eth0.23", ("pep", "wl0.23"))
        exchange_part(both, 1000)
        seen = wire.find(lambda seen: seen.data, outgoing=True)
        with sysctls("pep", "net.ipv4.conf.all.rp_filter=1"):
            refused = nstat("pep", "TcpExtIPReversePathFilter")
            wire.send(seen.packet)
            exchange_part(both, 1000)
            expect("refused", nstat("pep", "TcpExtIPReversePathFilter"),
                   refused)
            ip("pep", "route del 198.18.21.2/32")
            wire.send(seen.packet)
            wait_for("rp_filter", lambda: nstat(
                "pep", "TcpExtIPReversePathFilter") > refused)
    exchange(both, BYTES)


@case("rp_filter holds while a connection is handed back")
def forged_meanwhile():
    """The subscriber has not got the payload that is acknowledged."""
    near, far = opened(4)
    with second(4) as move:
        move()
        wire = Wire("sub", "eth0.23", ("pep", "wl0.23"))
        with grows(ended=False, stray=least(1)):
            exchange_part((near, far), 1000)
        pep.quiet()
        seen = [s for s in wire.segments(outgoing=True) if not s.data][-1]
        ip("pep", "route del 198.18.21.2/32")
        ip("sub", "route replace default via 198.18.21.1 table 21")
        with sysctls("pep", "net.ipv4.conf.all.rp_filter=1"), \
                grows(ended=False, flow_released=1):
            run("nft", "-f", "-", ns="pep", stdin=NOT_SENT)
            offset = next_offset()
            far.sendall(b"".join(pieces(offset, 1000)))
            pep.quiet()
            expect("released", pep.released(), 1)
            wire.send(renumbered(seen, ack=1000))
            pep.quiet()
            expect("not handed back", pep.stat("flows"), 1)
            run("nft", "delete", "table", "inet", "lost", ns="pep")
            near.settimeout(20)
            expect_stream(near, offset, 1000)
            wait_for("the release", lambda: not pep.stat("flows"))
    exchange((near, far), BYTES)


@contextlib.contextmanager
def waiting():
    """Two openers by the VLAN that are answered by SYN cookie, and acknowledge
    nothing, with a silent target; yields a function that sends the reset of
    one by the second VLAN, and returns how many openers were lost."""
    pep.early()
    ip("srv", f"route add blackhole {OWN[4]}/32")
    run("nft", "-f", "-", ns="sub", stdin=ONLY_SYN)
    tap, wire = (Wire("sub", f"eth0.{tag}", ("pep", f"wl0.{tag}"))
                 for tag in (21, 23))
    with sysctls("pep", "net.ipv4.tcp_syncookies=2"):
        ends = [client("sub", 4, bind=(OWN[4], 0)) for _ in range(2)]
        for near in ends:
            near.setblocking(False)
            near.connect_ex((addr("srv", 4), PORT))
        wait_for("the flows", lambda: len(pep.flows()) == 3)
        first = {seen.sport: seen.seq for seen in tap.segments(outgoing=True)
                 if seen.flags & (SYN | ACK) == SYN}

        def send(number):
            port = ends[number].getsockname()[1]
            wire.send(segment(OWN[4], addr("srv", 4), port, PORT, flags=RST,
                              seq=first[port] + 1))
            pep.quiet()
            return pep.stat("opener_lost")

        yield send
    run("nft", "delete", "table", "inet", "only", ns="sub")
    ip("srv", f"route del blackhole {OWN[4]}/32")


@case("rp_filter holds for the reset of an opener answered by SYN cookie")
def forged_reset():
    """A flow that is there already brings the hook."""
    both = opened(4)
    with second(4), waiting() as send:
        before = pep.stat("opener_lost")
        wait_for("the first reset", lambda: send(0) > before)
        with sysctls("pep", "net.ipv4.conf.all.rp_filter=1"):
            expect("lost with rp_filter", send(1), before + 1)
        expect("lost without", send(1), before + 2)
    exchange(both, BYTES)
    pep.follow("handshake")


@families("a leg is bound to the device that goes")
@families("a leg is bound to a device that goes, and no action with it", True)
def orphan(family, shared=False):
    """Nobody hears the leg any more, nor would it be found."""
    server = {4: "198.18.22.2", 6: "2001:db8:22::2"}[family]
    for ns, dev, host in ("srv", "eth0", 2), ("pep", "sv0", 1):
        ip(ns, f"link add link {dev} name {dev}.22 type vlan id 22",
           f"link set {dev}.22 up",
           f"address add 198.18.22.{host}/24 dev {dev}.22",
           f"address add 2001:db8:22::{host}/64 dev {dev}.22 nodad")
    ip("srv", f"rule add from {server} lookup 22",
       f"route add default via {server[:-1]}1 table 22", family=family)
    ip("pep", "link add mg0 type dummy")
    for dev in ("sv0.22", "mg0") if shared else ():
        tc("pep", f"qdisc add dev {dev} clsact")
        filters(f"dev {dev} ingress", "side server index 7")
    if not shared:
        pepadm("dev", "add", "sv0.22", "side", "server")
    pepadm("profile", "set", "default", "server-dev", "sv0.22")
    with grows(flow_killed=1):
        near, _ = opened(family, to=server)
        ip("pep", "link del sv0.22")
        expect_reset(near)
    ip("pep", "link del mg0")
    pepadm("profile", "set", "default", "server-dev", "none")
    ip("srv", "link del eth0.22")
    ip("srv", f"rule del from {server} lookup 22", family=family)


@families("handed back, payload is under way", anew)
@families("handed back, other filters, payload is under way", others)
def back(family, how):
    before = resets()
    with grows(ended=False, flow_released=1, flow_killed=0, flow_reset=0):
        load = Load([opened(family)], RATE)
        load.more(RATE // 4)
        with detached(how):
            load.more(RATE // 4)
            pepadm("flow", "release", "all")
            wait_for("the release", lambda: not pep.flows(), 20)
            load.more(RATE)
    load.finish()
    load.expect_whole()
    expect("resets", resets(), before)


@families("handed back in a bridge, payload is under way")
def back_bridged(family):
    with bridge(family):
        back(family, bridged)


@families("an ICMP error about the leg comes by the new device")
def error(family):
    """As of a smaller link behind it."""
    with grows(flow_closed=1, icmp_delivered=1) as before:
        both = opened(family)
        with detached(anew):
            wire = Wire("sub", "eth0.21", ("pep", "wl0.21"))
            exchange_part(both, 3000)
            seen = wire.find(lambda seen: seen.data, outgoing=False)
            wire.send(icmp(OWN[family], addr("srv", family), *TOO_BIG[family],
                           1300, seen.packet))
            wait_for("the error", lambda: pep.stat("icmp_delivered") >
                     before["icmp_delivered"])
            exchange(both, BYTES)


@families("answered early")
def early(family):
    pep.early()
    with grows(flow_killed=0, flow_reset=0, flow_closed=1):
        both = opened(family)
        with detached(anew):
            exchange(both, BYTES)
    pep.follow("handshake")


@families("opened early towards the device")
def towards(family):
    pep.early()
    with grows(flow_killed=0, flow_reset=0, flow_closed=1):
        with detached(anew):
            both = pep.split_pair(family, "srv", "sub", to=OWN[family])
            exchange(both, BYTES)
    pep.follow("handshake")


@families("a bound leg hears its end by another device", True)
@families("a bound leg hears its end by another device, early", True,
          pep.early)
@families("a bound leg hears its end by an unattached device", False)
@families("a bound leg hears its end by an unattached device, early", False,
          pep.early)
def elsewhere(family, attached, how=lambda: None):
    """It sends by its own."""
    net = {4: "198.18.22.{}/24", 6: "2001:db8:22::{}/64"}[family]
    how()
    pepadm("profile", "set", "default", "server-dev", "sv0")
    with grows(flow_killed=0, flow_reset=1, flow_closed=1):
        both, ended = opened(family), opened(family)
        for ns, dev, host in ("srv", "eth0", 2), ("pep", "sv0", 1):
            ip(ns, f"link add link {dev} name {dev}.22 type vlan id 22",
               f"link set {dev}.22 up",
               f"address add {net.format(host)} dev {dev}.22"
               f"{' nodad' if family == 6 else ''}")
        if attached:
            pepadm("dev", "add", "sv0.22", "side", "server")
        else:
            wait_for("the hook", lambda: hook_is(True))
        by = net.split("/")[0].format(1)
        ip("srv", f"route add {OWN[family]} via {by}", family=family)
        wire = Wire("srv", "eth0.22", ("pep", "sv0.22"))
        with grows(ended=False, stray=0 if attached else least(5)):
            exchange(both, BYTES)
            reset(ended[1])
            expect_reset(ended[0])
        wire.find(lambda seen: seen.data, outgoing=True)
    ip("srv", f"route del {OWN[family]}", family=family)
    pepadm("profile", "set", "default", "server-dev", "none")
    pep.follow("handshake")
    for ns, dev in ("srv", "eth0"), ("pep", "sv0"):
        ip(ns, f"link del {dev}.22")


@families("the same ends again", 0)
@families("the same ends again, the server had finished first", 1)
def again(family, first):
    """One leg of the first connection is in TIME_WAIT; another one is still
    open."""
    with sysctls("sub", *NO_TIME_WAIT), sysctls("srv", *NO_TIME_WAIT):
        both, other = opened(family), opened(family)
        bind = both[0].getsockname()[:2]
        with detached(anew):
            time.sleep(PURGED)
            one_way(both[first], both[1 - first], BYTES, fin=True)
            one_way(both[1 - first], both[first], BYTES, fin=True)
            wait_for("the flow to end", lambda: len(pep.flows()) == 1)
            exchange(pair(family, bind=bind), BYTES)
            exchange(other, BYTES)
