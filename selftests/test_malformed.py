# SPDX-License-Identifier: GPL-2.0
"""Malformed and truncated headers from either side, the same in each run,
during a split flow: the kernel does not complain, every packet is counted, and
the flow's payload is unchanged."""

import json
import random

from peptest import pep
from peptest.env import amount
from peptest.ktap import expect, expect_least, families, note, wait_for
from peptest.netns import addr, offloads
from peptest.pep import flows_end, grows, stats
from peptest.raw import Wire
from peptest.tcp import End, PORT, expect_same, pair, pump

COUNT = 150             # packets of each kind of damage and side
BYTES = amount(1500000)
OTHER = {"sub": "srv", "srv": "sub"}
GATEWAY = {"sub": ("pep", "wl0"), "srv": ("pep", "sv0")}
DELIVERED = ("delivered", "held", "dropped", "fragment_gathered")


def setup():
    """No device splits or merges packets."""
    pep.warmed()
    for ns, devs in ("sub", ["eth0"]), ("pep", ["wl0", "sv0"]), \
            ("srv", ["eth0"]):
        for dev in devs:
            offloads(ns, dev, "tso", "off", "gso", "off", "gro", "off")


def whole(scapy, family, ns, ports):
    """Valid packets of many kinds to start with."""
    src, dst = addr(ns, family), addr(OTHER[ns], family)
    base = (scapy.IP(src=src, dst=dst) if family == 4 else
            scapy.IPv6(src=src, dst=dst))
    segment = scapy.TCP(sport=ports[0], dport=ports[1], flags="PA", seq=1,
                        ack=1) / (b"x" * 100)
    stray = scapy.TCP(sport=4321, dport=4322, flags="A",
                      options=[("MSS", 1460), ("SAckOK", b""), ("NOP", None),
                               ("Timestamp", (1, 2))]) / b"stray"
    quoted = (scapy.IP(src=dst, dst=src) if family == 4 else
              scapy.IPv6(src=dst, dst=src)) / segment
    made = [base / segment, base / stray,
            base / scapy.UDP(sport=ports[0], dport=ports[1]) / b"datagram"]
    if family == 4:
        made += [
            scapy.IP(src=src, dst=dst, options=[
                scapy.IPOption_RR(), scapy.IPOption_NOP()]) / stray,
            base / scapy.ICMP(type=3, code=4, nexthopmtu=600) / quoted,
            base / scapy.ICMP(type=11) / quoted,
            *scapy.fragment(base / segment, fragsize=64)]
    else:
        made += [
            base / scapy.IPv6ExtHdrHopByHop(
                options=scapy.RouterAlert()) / stray,
            base / scapy.IPv6ExtHdrDestOpt() / segment,
            base / scapy.IPv6ExtHdrRouting(addresses=[dst]) / stray,
            base / scapy.ICMPv6PacketTooBig(mtu=1280) / quoted,
            base / scapy.ICMPv6TimeExceeded() / quoted,
            base / scapy.IPv6ExtHdrFragment(m=1, id=7) / segment,
            base / scapy.IPv6ExtHdrDestOpt() / scapy.IPv6ExtHdrFragment(
                offset=9, id=8) / segment]
    return [bytes(packet) for packet in made]


def flipped(rng, packet):
    """Change some bytes of the headers."""
    data = bytearray(packet)
    for _ in range(rng.randint(1, 6)):
        data[rng.randrange(min(len(data), 96))] = rng.randrange(256)
    data[0] = packet[0] & 0xf0 | data[0] & 15
    return bytes(data)


def cut(rng, packet):
    """Cut off the end."""
    return packet[:rng.randint(1, len(packet) - 1)]


def longer(rng, packet):
    """Append bytes beyond the length in the header."""
    return packet + rng.randbytes(rng.randint(1, 40))


def spliced(rng, packet):
    """The head of the packet, then noise."""
    keep = rng.randint(1, 60)
    return packet[:keep] + rng.randbytes(len(packet))


DAMAGE = (flipped, cut, longer, spliced)


def seen_by_action():
    """Number of packets that the action has seen at both devices."""
    return sum(dev["packets"] for dev in
               json.loads(pep.pepadm("-j", "dev", "show").stdout))


def counted(counters):
    """Numbers of counted packets, by their fate."""
    return {name: value for name, value in counters.items()
            if name in DELIVERED or name.startswith("pass_")}


def tally():
    """Number of packets that the action has seen, and their fates, at a moment
    when none arrives."""
    def same():
        found.append((seen_by_action(), counted(stats())))
        return found[-1][0] == seen_by_action()
    found = []
    wait_for("a moment without packets", same)
    return found[-1]


def damaged(family, ns, ports):
    """All packets to send from one side."""
    import scapy.all as scapy   # late: takes seconds under emulation
    rng = random.Random(f"{family} {ns}")
    good = whole(scapy, family, ns, ports)
    return [damage(rng, rng.choice(good)) for damage in DAMAGE
            for _ in range(COUNT)]


@families("amidst a split flow", seconds=240)
def amidst(family):
    both = pair(family, bind=(addr("sub", family), 34590))
    ports = {"sub": (34590, PORT), "srv": (PORT, 34590)}
    wires = {ns: Wire(ns, "eth0", GATEWAY[ns]) for ns in OTHER}
    left = {ns: damaged(family, ns, ports[ns]) for ns in OTHER}
    total = sum(map(len, left.values()))
    seen, before = tally()
    ends = [End(sock, BYTES) for sock in both]

    def burst():
        for ns, packets in left.items():
            for _ in range(min(4, len(packets))):
                wires[ns].send(packets.pop())
        return not any(left.values())

    with grows(flow_closed=1):
        pump(ends, until=burst)
        while not burst():
            pass
        pump([end for end in ends if not end.done])
        for end in ends:
            end.sock.close()
    expect_same(*ends)
    expect_same(*ends[::-1])
    flows_end()
    now, after = tally()
    grown = {name: after[name] - before[name] for name in after}
    note(", ".join(f"{n} {v}" for n, v in grown.items() if v))
    expect("packets counted", sum(grown.values()), now - seen)
    expect_least("packets seen", now - seen, total // 2)
    for reason in ("pass_malformed", "pass_other", "pass_icmp",
                   "fragment_gathered"):
        expect_least(reason, grown[reason], 1)
