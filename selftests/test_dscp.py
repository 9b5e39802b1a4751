# SPDX-License-Identifier: GPL-2.0
"""DSCP is copied from end to end, per direction, by forwarding and by the
legs; congestion marks stay on their leg."""

import socket

from peptest import pep, tcp
from peptest.ktap import case, expect, expect_least, fail, families, wait_for
from peptest.netns import addr, netem, nstat, sysctl
from peptest.pep import grows, pepadm
from peptest.tcp import (PORT, Within, accept, exchange,
                         exchange_part, listen, one_way, pair)
from peptest.tcp import _sockets as opened

ETH_P = {4: 0x0800, 6: 0x86dd}
AF41, EF, CS1 = 34, 46, 8
FIN, SYN, ACK = 1, 2, 16
setup = pep.warmed


class Sniffer:
    """The TCP packets that a namespace receives on eth0."""

    def __init__(self, ns, family):
        with Within(ns):
            self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM,
                                      socket.htons(ETH_P[family]))
        self.sock.bind(("eth0", ETH_P[family]))
        self.sock.setblocking(False)
        self.family = family
        opened.add(self.sock)

    def packets(self):
        """Packets since the last call: (dsfield, TCP flags, payload)."""
        found = []
        while True:
            try:
                data, where = self.sock.recvfrom(65536)
            except BlockingIOError:
                return found
            if where[2] != socket.PACKET_HOST:
                continue
            if self.family == 4:
                dsfield, proto, head = data[1], data[9], (data[0] & 15) * 4
                size = int.from_bytes(data[2:4], "big")
            else:
                dsfield = int.from_bytes(data[:2], "big") >> 4 & 0xff
                proto, head = data[6], 40
                size = 40 + int.from_bytes(data[4:6], "big")
            if proto == socket.IPPROTO_TCP:
                tcp = data[head:]
                found.append((dsfield, tcp[13] & 0x3f,
                              size - head - (tcp[12] >> 4) * 4))

    def codes(self, select):
        """DSCPs of the packets that a function of flags and payload
        selects."""
        return {ds >> 2 for ds, flags, size in self.packets()
                if select(flags, size)}


def set_dscp(sock, family, code):
    """Set the DSCP that an end sends with."""
    if family == 4:
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, code << 2)
    else:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, code << 2)


def payload(_flags, size):
    """Packets that carry data."""
    return size > 0


def syn(flags, _size):
    """SYN or SYN-ACK."""
    return flags & SYN


def client(family, code):
    """A client that sends with a DSCP from its SYN on."""
    sock = tcp.client("sub", family)
    set_dscp(sock, family, code)
    return sock


def opened_pair(family, up, down):
    """Both ends of a connection with a DSCP each, from the SYN on."""
    listener = listen("srv", family)
    set_dscp(listener, family, down)
    near = client(family, up)
    near.connect((addr("srv", family), PORT))
    return near, accept(listener)


@families("copied from the SYN and the SYN-ACK on")
def copied(family):
    """SYN, payload and FIN all carry the DSCP of the sending end."""
    sub, srv = Sniffer("sub", family), Sniffer("srv", family)
    with grows(flow_established=1):
        both = opened_pair(family, AF41, EF)
        pep.wait_flows(1)
        expect("the SYN's at the server", srv.codes(syn), {AF41})
        sub.packets()
        exchange(both, 20000)
        expect("to the server", srv.codes(lambda *_: True), {AF41})
        expect("to the subscriber", sub.codes(lambda *_: True), {EF})


@families("changed amidst a connection, each direction by itself")
def changed(family):
    """As by servers that set it after accept()."""
    sub, srv = Sniffer("sub", family), Sniffer("srv", family)
    with grows(flow_established=1):
        both = pair(family)
        exchange_part(both, 1000)
        expect("to the server", srv.codes(payload), {0})
        expect("to the subscriber", sub.codes(payload), {0})
        set_dscp(both[1], family, CS1)
        exchange_part(both, 1000)
        expect("to the server", srv.codes(payload), {0})
        expect("to the subscriber", sub.codes(payload), {CS1})
        set_dscp(both[0], family, EF)
        exchange(both, 1000)
        expect("to the server", srv.codes(payload), {EF})
        expect("to the subscriber", sub.codes(payload), {CS1})


def ecn(ns, value):
    """Make a namespace request ECN (1), only accept it (2), or neither."""
    sysctl(ns, f"net.ipv4.tcp_ecn={value}")


def ecn_bits(sniffer):
    """ECN fields of packets with payload."""
    return {ds & 3 for ds, _, size in sniffer.packets() if size}


def ecn_wireless(family, server):
    """The subscriber requests ECN; server holds the ECN fields expected on the
    server's side."""
    ecn("sub", 1)
    try:
        sub, srv = Sniffer("sub", family), Sniffer("srv", family)
        with grows(flow_established=1):
            both = pair(family)
            exchange(both, 20000)
            expect("to the subscriber", ecn_bits(sub), {2})
            expect("to the server", ecn_bits(srv), {server})
    finally:
        ecn("sub", 2)


families("ECN, the subscriber asks, the server agrees", 2)(ecn_wireless)


@families("a CE mark stays on its leg")
def ecn_marked(family):
    """Marks of the wireless link slow the subscriber, not the server's path:
    no CE, and no echo of it, crosses the gateway."""
    for ns in "sub", "pep", "srv":
        ecn(ns, 1)
    try:
        srv = Sniffer("srv", family)
        marks = "IpExtInCEPkts" if family == 4 else "Ip6InCEPkts"
        before = nstat("srv", marks), nstat("pep", "TcpExtTCPDeliveredCE")
        with grows(flow_established=1):
            both = pair(family)
            one_way(*both, 100)
            # Packets not capable of ECN are lost: acknowledgements, too.
            netem("sub", "eth0", "loss", "100%", "ecn")
            one_way(*both, 20000)
            netem("sub", "eth0", "off")
            one_way(*both[::-1], 20000)
            if 3 in ecn_bits(srv):
                fail("the server got a CE mark")
            expect("of the server's path", ecn_bits(srv) | {2}, {2})
            expect("CE at the server", nstat("srv", marks), before[0])
            expect("echoes from the server",
                   nstat("pep", "TcpExtTCPDeliveredCE"), before[1])
            expect_least("echoes to the subscriber",
                         nstat("sub", "TcpExtTCPDeliveredCE"), 1)
            for sock in both:
                sock.close()
    finally:
        for ns in "sub", "pep", "srv":
            ecn(ns, 2)


@case("set a fixed DSCP")
def set_fixed():
    pepadm("profile", "set", "default", "dscp", str(CS1))


@families("fixed: once split both legs' packets have it, whatever ends send")
def fixed(family):
    """The handshake keeps the DSCPs of the ends."""
    sub, srv = Sniffer("sub", family), Sniffer("srv", family)
    with grows(flow_established=1):
        both = opened_pair(family, AF41, EF)
        expect("the SYN's at the server", srv.codes(syn), {AF41})
        expect("the SYN-ACK's at the subscriber", sub.codes(syn), {EF})
        pep.wait_flows(1)
        for sniffer in sub, srv:
            sniffer.packets()
        exchange(both, 20000)
        expect("to the server", srv.codes(lambda *_: True), {CS1})
        expect("to the subscriber", sub.codes(lambda *_: True), {CS1})


@case("set early and fixed")
def set_early_fixed():
    pep.early()


@families("early and fixed: all packets have it, whatever the ends send")
def early_fixed(family):
    sub, srv = Sniffer("sub", family), Sniffer("srv", family)
    with grows(flow_established=1):
        both = opened_pair(family, AF41, EF)
        exchange(both, 20000)
        expect("to the server", srv.codes(lambda *_: True), {CS1})
        expect("to the subscriber", sub.codes(lambda *_: True), {CS1})


@case("set early and copy")
def set_early():
    pepadm("profile", "set", "default", "dscp", "copy")


families("early: ECN between the subscriber and the gateway only",
         0)(ecn_wireless)


@families("early: copied")
def early(family):
    """The server leg uses the SYN's DSCP from the first packet on, the other
    leg that of the first payload."""
    sub, srv = Sniffer("sub", family), Sniffer("srv", family)
    with grows(flow_established=1):
        both = opened_pair(family, AF41, EF)
        one_way(*both, 1000)
        expect("to the server", srv.codes(lambda *_: True), {AF41})
        one_way(*both[::-1], 1000)
        wait_for("payload", lambda: sub.codes(payload) == {EF})
        exchange(both, 1000)
