# SPDX-License-Identifier: GPL-2.0
"""Packets that are not TCP, and TCP packets of no flow, pass as a router
forwards them, with one hop less, and are counted."""

import socket
import struct

from peptest import pep, raw
from peptest.ktap import case, expect, families, wait_for
from peptest.netns import Within, addr, sysctl
from peptest.pep import grows, least, split_pair
from peptest.raw import (ACK, FIN, ICMP, PSH, RST, SYN, TCP, UDP, Segment,
                         Wire, checksum, inet, ipx, pseudo, segment)
from peptest.tcp import exchange_part, exchange
from peptest.udp import Datagrams

GATEWAY = {"sub": ("pep", "wl0"), "srv": ("pep", "sv0")}
ESP, AH, GRE, SCTP, L2TP, DCCP, UDPLITE, PRIVATE = 50, 51, 47, 132, 115, 33, \
    136, 253
PORT = 5000
QUIC = 443


def setup():
    """Gateways do not limit the rate of their errors."""
    pep.warmed()
    for ns in "sub", "pep", "srv":
        sysctl(ns, "net.ipv4.icmp_ratelimit=0", "net.ipv6.icmp.ratelimit=0")


def arrives(ns, packet, seconds=10):
    """Wait for the same packet at an end, with one hop less."""
    wanted = bytearray(packet)
    if packet[0] >> 4 == 4:
        wanted[8] -= 1
        wanted[10:12] = b"\0\0"
        wanted[10:12] = struct.pack("!H", checksum(
            wanted[:(packet[0] & 15) * 4]))
    else:
        wanted[7] -= 1

    def look():
        return any(got[:len(wanted)] == wanted
                   for got in TAPS[ns].take(outgoing=False))
    wait_for("the packet at the other end", look, seconds)


TAPS = {}


def send(family, opener, proto, data, **kwargs):
    """Send a packet of a protocol and wait for it at the other end."""
    opened = {"sub": "srv", "srv": "sub"}[opener]
    for ns in opener, opened:
        TAPS[ns] = Wire(ns, "eth0", GATEWAY[ns])
    packet = ipx(inet(addr(opener, family)), inet(addr(opened, family)),
                 proto, data, **kwargs)
    TAPS[opener].send(packet)
    arrives(opened, packet)


def protocol(family, opener, proto, reason):
    """A packet of a protocol, counted once."""
    data = struct.pack("!HHII", 5000, 5000, 1, 0) + bytes(88)
    with grows(ended=False, delivered=0, **{reason: least(1)}):
        send(family, opener, proto, data)


for _name, _proto in (("ESP", ESP), ("GRE", GRE), ("SCTP", SCTP),
                      ("L2TP", L2TP), ("DCCP", DCCP), ("UDP-Lite", UDPLITE),
                      ("an unknown protocol", PRIVATE)):
    for _opener in "sub", "srv":
        families(f"{_name} from {_opener}", _opener, _proto,
                 "pass_other")(protocol)


def authenticated(family, opener):
    """An authentication header followed by TCP, which only its ends may
    parse."""
    opened = {"sub": "srv", "srv": "sub"}[opener]
    inner = raw.tcp_header(inet(addr(opener, family)),
                           inet(addr(opened, family)), 4000, 4001, flags=SYN)
    head = struct.pack("!BBHII", TCP, 4, 0, 1, 1) + bytes(12)
    with grows(ended=False, delivered=0, follow_new=0,
               **{"pass_other" if family == 4 else "pass_exthdr": least(1)}):
        send(family, opener, AH, head + inner)


for _opener in "sub", "srv":
    families(f"AH from {_opener}", _opener)(authenticated)


@families("QUIC")
def quic(family):
    """UDP on port 443, either way, has a counter of its own."""
    with grows(pass_quic=100, delivered=0):
        up = Datagrams(family, "sub", "srv", addr("srv", family), QUIC,
                       (addr("sub", family), 40443))
        down = Datagrams(family, "srv", "sub", addr("sub", family), QUIC)
        for way in up, down:
            way.send(50)
            way.expect_all()


def echo(ns, family, to, hops, payload):
    """Send an echo request with a hop limit; return the socket."""
    name, kind = ((socket.AF_INET, 8) if family == 4 else
                  (socket.AF_INET6, 128))
    with Within(ns):
        sock = socket.socket(name, socket.SOCK_RAW, ICMP[family])
    if family == 4:
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, hops)
    else:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS, hops)
    data = struct.pack("!BBHHH", kind, 0, 0, 77, hops) + payload
    data = data[:2] + struct.pack("!H", checksum(data)) + data[4:]
    sock.settimeout(10)
    sock.sendto(data, (to, 0))
    return sock


def answer(sock, family, kind):
    """Wait for an ICMP message of a kind; return its source."""
    with sock:
        while True:
            data, name = sock.recvfrom(2048)
            got = data[20] if family == 4 else data[0]
            if got == kind:
                return name[0]


@families("echo and traceroute by echo")
def echoes(family):
    """The gateway is the first hop, the server the second."""
    reply, exceeded = (0, 11) if family == 4 else (129, 3)
    to = addr("srv", family)
    with grows(delivered=0, icmp_delivered=0, pass_other=least(4)):
        sock = echo("sub", family, to, 64, bytes(1000))
        expect("who answers", answer(sock, family, reply), to)
        sock = echo("sub", family, to, 1, bytes(20))
        expect("the first hop", answer(sock, family, exceeded),
               addr("pep", family))
        sock = echo("sub", family, to, 2, bytes(20))
        expect("the second hop", answer(sock, family, reply), to)


@families("traceroute by UDP")
def traceroute(family):
    """Time exceeded from the gateway, port unreachable from the server; the
    gateway passes the latter as an error that is not about TCP."""
    exceeded, unreachable = (11, 3) if family == 4 else (3, 1)
    with Within("sub"):
        name = socket.AF_INET if family == 4 else socket.AF_INET6
        sock = socket.socket(name, socket.SOCK_RAW, ICMP[family])
        plain = socket.socket(name, socket.SOCK_DGRAM)
    sock.settimeout(10)
    with plain, grows(delivered=0, pass_icmp=1, pass_other=least(2)):
        for hops, kind, who in ((1, exceeded, "pep"),
                                (2, unreachable, "srv")):
            if family == 4:
                plain.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, hops)
            else:
                plain.setsockopt(socket.IPPROTO_IPV6,
                                 socket.IPV6_UNICAST_HOPS, hops)
            plain.sendto(bytes(20), (addr("srv", family), 33434 + hops))
            with sock.dup() as same:
                same.settimeout(10)
                expect(f"hop {hops}", answer(same, family, kind),
                       addr(who, family))
    sock.close()


@families("traceroute by TCP")
def traceroute_tcp(family):
    """The gateway answers a SYN whose hop limit expires there, as any router
    does, and the SYN opens nothing."""
    wire = Wire("sub")
    packet = segment(addr("sub", family), addr("srv", family), 40001, 5999,
                     flags=SYN)
    at = 8 if family == 4 else 7
    packet = packet[:at] + b"\x01" + packet[at + 1:]
    if family == 4:
        packet = packet[:10] + b"\0\0" + packet[12:]
        packet = packet[:10] + struct.pack("!H", checksum(packet[:20])) + \
            packet[12:]
    kind = 11 if family == 4 else 3
    with grows(follow_new=0, pass_syn=1, syn_pass_hops=1):
        wire.send(packet)

        def look():
            for got in map(Segment, wire.take(outgoing=False)):
                if got.proto == ICMP[family] and got.tcp[0] == kind:
                    return got
            return None
        got = wait_for("time exceeded", look)
    expect("who answers", got.src, inet(addr("pep", family)))


SCOPES = {4: (("0.0.0.0", "198.18.1.2"), ("127.1.1.1", "198.18.1.2"),
              ("224.0.0.5", "198.18.1.2"), ("198.18.0.2", "224.0.0.9"),
              ("198.18.0.2", "198.18.1.255"), ("198.18.0.2", "127.0.0.1")),
          6: (("fe80::1", "2001:db8:1::2"), ("::1", "2001:db8:1::2"),
              ("::ffff:198.18.0.2", "2001:db8:1::2"),
              ("ff02::1", "2001:db8:1::2"), ("2001:db8::2", "ff0e::1"),
              ("2001:db8::2", "::1"))}


@families("SYNs from and to addresses that are nobody's")
def scopes(family):
    """Addresses of another scope, or of more than one host: none is split."""
    wire = Wire("sub")
    for src, dst in SCOPES[family]:
        with grows(syn_pass_scope=1, follow_new=0, delivered=0) as before:
            wire.send(segment(src, dst, 40002, 5997, flags=SYN))
            wait_for(f"the packet from {src} to {dst}",
                     lambda seen=before["pass_syn"]:
                     pep.stat("pass_syn") > seen)


@families("SYNs from and to port 0")
def ports(family):
    """A leg cannot use port 0."""
    wire, tap = Wire("sub"), Wire("srv", "eth0", GATEWAY["srv"])
    for sport, dport in (0, 5997), (40004, 0):
        packet = segment(addr("sub", family), addr("srv", family), sport,
                         dport, flags=SYN)
        with grows(syn_pass_scope=1, follow_new=0, delivered=0):
            wire.send(packet)
            tap.find(lambda s, to=dport: s.dport == to, outgoing=False)


@families("SYNs whose header is shorter than any, or longer than the packet")
def data_offsets(family):
    """With a valid checksum."""
    wire = Wire("sub")
    ends = addr("sub", family), addr("srv", family)
    at = 20 if family == 4 else 40
    for words in 0, 1, 4, 6, 15:
        packet = bytearray(segment(*ends, 40003, 5996, flags=SYN))
        packet[at + 12] = words << 4
        packet[at + 16:at + 18] = bytes(2)
        packet[at + 16:at + 18] = struct.pack("!H", checksum(
            pseudo(*map(inet, ends), TCP, len(packet) - at) + packet[at:]))
        with grows(pass_malformed=1, follow_new=0, delivered=0) as before:
            wire.send(bytes(packet))
            wait_for(f"the packet with {words} words",
                     lambda seen=before["pass_malformed"]:
                     pep.stat("pass_malformed") > seen)


@families("TCP of no flow")
def midstream(family):
    """Mid-stream packets of unknown connections pass, whatever their flags;
    only their own end resets them."""
    wire = Wire("sub")
    TAPS["srv"] = Wire("srv", "eth0", GATEWAY["srv"])
    for number, flags in enumerate((ACK, ACK | PSH, ACK | FIN, RST, RST | ACK,
                                    SYN | ACK, 0, FIN, SYN | FIN, SYN | RST,
                                    0xff)):
        packet = segment(addr("sub", family), addr("srv", family),
                         42000 + number, 5998, flags=flags, seq=1000, ack=1,
                         payload=b"stray")
        with grows(ended=False, delivered=0, follow_new=0,
                   pass_no_flow=least(1)):
            wire.send(packet)
            arrives("srv", packet)


@families("beside a flow with the same ports")
def same_ports(family):
    """UDP, SCTP and DCCP with a flow's addresses and ports."""
    both = split_pair(family, bind=(addr("sub", family), 34580))
    exchange_part(both, 1000)
    pep.quiet()
    src, dst = inet(addr("sub", family)), inet(addr("srv", family))
    for proto in UDP, SCTP, DCCP:
        data = struct.pack("!HHHH", 34580, PORT, 24, 0) + bytes(16)
        if proto == UDP:
            total = checksum(pseudo(src, dst, UDP, 24) + data)
            data = data[:6] + struct.pack("!H", total) + data[8:]
        with grows(ended=False, delivered=0, pass_other=least(1)):
            send(family, "sub", proto, data)
    exchange(both, 1000)


@case("other link layer protocols and addresses")
def links(family=4):
    """pep ignores packets that are not for the gateway's link address."""
    wire = Wire("sub")
    both = split_pair(family)
    exchange_part(both, 1000)
    exchange_part(both, 1000)
    seen = [s for s in wire.segments(outgoing=True) if s.data][-1]
    wire.peer = bytes.fromhex("0200c0ffee00")
    pep.quiet()
    with grows(ended=False, delivered=0, pass_not_host=1):
        wire.send(seen.packet)
    exchange(both, 1000)
