# SPDX-License-Identifier: GPL-2.0
"""Connections whose SYN has options that a leg would lose are followed, but
never split, and work as without pep."""

import errno
import itertools
import os
import socket
import struct

from peptest import pep
from peptest.absent import Absent
from peptest.ktap import expect, fail, families, skip
from peptest.netns import addr, near_only, nstat, sysctl, sysctls
from peptest.pep import grows, least, pepadm
from peptest.raw import (ACK, AE, CWR, ECE, RST, SYN, Segment, Wire, inet,
                         segment)
from peptest.tcp import accept, client, exchange, listen, mptcp_socket, pair

BGP = 179
TCP_MD5SIG = 14
TCP_AO_ADD_KEY = 38
TCP_FASTOPEN = 23
IPPROTO_MPTCP = 262
MSG_FASTOPEN = 0x20000000
KEY = b"the peers' secret"
BYTES = 100000


def setup():
    """Fast Open at both ends, with cookies."""
    pep.warmed()
    for ns in "sub", "srv":
        sysctl(ns, "net.ipv4.tcp_fastopen=3")


def storage(family, address):
    """A struct sockaddr_storage."""
    data = inet(address)
    if family == 4:
        name = struct.pack("=HH4s", socket.AF_INET, 0, data)
    else:
        name = struct.pack("=HHI16sI", socket.AF_INET6, 0, 0, data, 0)
    return name.ljust(128, b"\0")


def md5(sock, family, peer, key=KEY):
    """Make a socket sign for a peer, RFC 2385."""
    sock.setsockopt(socket.IPPROTO_TCP, TCP_MD5SIG, storage(family, peer) +
                    struct.pack("=BBHI", 0, 0, len(key), 0) +
                    key.ljust(80, b"\0"))


def ao(sock, family, peer, key=KEY):
    """Make a socket sign for a peer, RFC 5925; struct tcp_ao_add."""
    sock.setsockopt(
        socket.IPPROTO_TCP, TCP_AO_ADD_KEY, storage(family, peer) +
        b"hmac(sha1)".ljust(64, b"\0") +
        struct.pack("=iIHBBBBBB", 0, 0, 0, 32 if family == 4 else 128, 100,
                    100, 12, 0, len(key)) + key.ljust(80, b"\0"))


def signed(family, sign, opener, opened, reason):
    """A session as between two BGP routers, through the gateway."""
    listener = listen(opened, family, BGP)
    sign(listener, family, addr(opener, family))
    sock = client(opener, family)
    sign(sock, family, addr(opened, family))
    with grows(pass_syn=1, pass_followed=least(5), delivered=0,
               split_pass_option=1, flow_established=0, **{reason: 1}):
        sock.connect((addr(opened, family), BGP))
        exchange((sock, accept(listener)), BYTES)


for _opener, _opened in ("sub", "srv"), ("srv", "sub"):
    families(f"TCP-MD5 session opened by {_opener}", md5, _opener, _opened,
             "syn_pass_md5")(signed)


@families("TCP-AO session")
def authenticated(family):
    """If the kernel supports it."""
    try:
        ao(client("sub", family), family, addr("srv", family))
    except OSError as err:
        if err.errno in (errno.ENOPROTOOPT, errno.EPROTONOSUPPORT):
            skip("this kernel has no TCP-AO")
        raise
    signed(family, ao, "sub", "srv", "syn_pass_ao")


@families("TCP-MD5 with different keys")
def unequal(family):
    """The server stays silent, as it does without pep."""
    listener = listen("srv", family, BGP)
    md5(listener, family, addr("sub", family), b"another")
    sock = client("sub", family)
    sysctl("sub", "net.ipv4.tcp_syn_retries=1")
    md5(sock, family, addr("srv", family))
    sock.settimeout(1.5)
    with grows(syn_pass_md5=least(1), flow_established=0):
        try:
            sock.connect((addr("srv", family), BGP))
            got = "connected"
        except TimeoutError:
            got = "silence"
    expect("what came of it", got, "silence")
    sysctl("sub", "net.ipv4.tcp_syn_retries=6")


@families("Multipath TCP")
def mptcp(family):
    """Both ends negotiate it and keep it."""
    sysctl("sub", "net.mptcp.enabled=1")
    with mptcp_socket("srv", family) as listener, \
            mptcp_socket("sub", family) as near:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("", 5002))
        listener.listen()
        near.settimeout(20)
        before = nstat("srv", "MPTcpExtMPCapableSYNRX")
        with grows(pass_syn=1, syn_pass_mptcp=1, split_pass_option=1,
                   pass_followed=least(5), flow_established=0):
            near.connect((addr("srv", family), 5002))
            far, _ = listener.accept()
            exchange((near, far), BYTES)
        expect("MPTCP connections of the server",
               nstat("srv", "MPTcpExtMPCapableSYNRX") - before, 1)


def fast_open(family):
    """Payload in the SYN reaches the server, once and complete."""
    listener = listen("srv", family, 5003)
    listener.setsockopt(socket.IPPROTO_TCP, TCP_FASTOPEN, 16)
    data = os.urandom(500)
    sock = client("sub", family)
    sock.settimeout(None)
    sock.sendto(data, MSG_FASTOPEN, (addr("srv", family), 5003))
    far = accept(listener)
    got = b""
    while len(got) < len(data):
        got += far.recv(1000)
    expect("payload of the SYN", got, data)
    exchange((sock, far), BYTES)


@families("Fast Open, cookie asked for, then used")
def fastopen(family):
    """The second SYN carries payload, which the server accepts at once."""
    with grows(pass_syn=1, syn_pass_fastopen=1, split_pass_option=1,
               flow_established=0):
        fast_open(family)
    before = nstat("srv", "TcpExtTCPFastOpenPassive")
    with grows(pass_syn=1, syn_pass_fastopen=0, syn_pass_data=1,
               split_pass_option=1, flow_established=0):
        fast_open(family)
    expect("payload taken from a SYN",
           nstat("srv", "TcpExtTCPFastOpenPassive") - before, 1)


@families("Fast Open without cookies")
def cookieless(family):
    """A SYN with payload and no option at all."""
    for ns, mode in ("sub", 5), ("srv", 0x203):
        sysctl(ns, f"net.ipv4.tcp_fastopen={mode}")
    before = nstat("srv", "TcpExtTCPFastOpenPassive")
    with grows(pass_syn=1, syn_pass_data=1, split_pass_option=1,
               flow_established=0):
        fast_open(family)
    expect("payload taken from a SYN",
           nstat("srv", "TcpExtTCPFastOpenPassive") - before, 1)
    for ns in "sub", "srv":
        sysctl(ns, "net.ipv4.tcp_fastopen=3")


STRANGE = {
    "an unknown kind": (b"\x4d\x04\x00\x00", "option"),
    "an experiment": (b"\xfd\x04\x12\x34", "option"),
    "the other experiment": (b"\xfe\x04\x12\x34", "option"),
    "an old cookie of Fast Open": (b"\xfe\x04\xf9\x89", "fastopen"),
    "TCP-MD5": (b"\x13\x12" + bytes(16) + b"\x01\x01", "md5"),
    "TCP-AO": (b"\x1d\x10" + bytes(14), "ao"),
    "Multipath TCP": (b"\x1e\x04\x00\x81", "mptcp"),
    "tcpcrypt": (b"\x45\x03\x00\x01", "option"),
    "a length of 0": (b"\x02\x00\x05\xb4", "option"),
    "a length past the end": (b"\x02\x08\x05\xb4", "option"),
    "a MSS of 3 bytes": (b"\x02\x03\x05\x01", "option"),
    "Quick-Start's response": (b"\x1b\x08" + bytes(6), "option"),
}


@families("SYNs with all kinds of options")
def strange(family):
    """They arrive unchanged; each is counted by its option."""
    wire, tap = Wire("sub"), Wire("srv", "eth0", ("pep", "sv0"))
    for number, (name, (options, reason)) in enumerate(STRANGE.items()):
        packet = segment(addr("sub", family), addr("srv", family),
                         41000 + number, 5009, flags=SYN, seq=1,
                         options=b"\x01\x01\x04\x02" + options)
        with grows(pass_syn=1, follow_new=1, split_pass_option=1,
                   **{f"syn_pass_{reason}": 1}):
            wire.send(packet)
            got = tap.find(lambda s, p=41000 + number: s.sport == p,
                           outgoing=False)
        expect(f"the SYN with {name}", got.tcp, Segment(packet).tcp)


def meet(family, syn=0, synack=0, options=b"", **counters):
    """A SYN and its SYN-ACK, with further flags, and options of the SYN-ACK;
    return that as it arrives. The counters grow with it."""
    hosts = Absent(family)
    hosts.up(flags=SYN | syn, seq=1)
    hosts.far.find(lambda s: s.sport == hosts.port, outgoing=False)
    with grows(ended=False, **counters):
        hosts.down(flags=SYN | ACK | synack, ack=2, options=options)
        return hosts.near.find(lambda s: s.dport == hosts.port,
                               outgoing=False)


@families("SYN-ACKs with all kinds of options")
def answered(family):
    """They arrive unchanged, and their connections stay unsplit."""
    for name, (options, _) in STRANGE.items():
        got = meet(family, options=b"\x01\x01\x04\x02" + options,
                   split_pass_option=1)
        if not got.tcp.endswith(options):
            fail(f"the SYN-ACK with {name} arrived as {got.tcp.hex()}")
    meet(family, options=b"\x01\x01\x04\x02", split_pass_option=0)


@families("both ends have AccECN, or one of them")
def accecn(family):
    for syn, synack in itertools.product((0, ECE | CWR, AE | ECE | CWR),
                                         (0, ECE, CWR, AE, AE | CWR)):
        agreed = syn & AE and synack & (AE | CWR)
        meet(family, syn, synack, split_pass_option=int(bool(agreed)))


@families("a server that may look at the distance")
def distant(family):
    """A TTL of 255 in the SYN-ACK is as good as an option."""
    pep.follow("handshake")
    with near_only("srv", family), grows(split_pass_option=1,
                                         flow_established=0):
        exchange(pair(family), BYTES)


@families("an opener that may look at the distance, connect early")
def far_opener(family):
    """Its connection is only followed, whatever the profile splits later."""
    pepadm("profile", "set", "default", "connect", "early")
    for split in "handshake", "never":
        pepadm("profile", "set", "default", "split", split)
        with near_only("sub", family), \
                grows(syn_answered=0, follow_new=1, split_pass_option=1,
                      flow_established=0):
            exchange(pair(family), BYTES)
    pep.follow("handshake")


@families("an early opener that repeats its SYN with payload, for Fast Open")
def fastopen_early(family):
    """Where the host's servers have Fast Open: its listener has not. A SYN in
    the window ends the request in between."""
    with sysctls("pep", "net.ipv4.tcp_fastopen=1539"):
        pepadm("profile", "set", "default", "connect", "early")
        hosts = Absent(family)
        hosts.up(flags=SYN, seq=999)
        hosts.near.find(lambda s: s.dport == hosts.port, outgoing=False)
        with grows(ended=False, flow_established=0):
            hosts.up(flags=SYN, seq=1000)
            hosts.up(flags=SYN, seq=999, payload=b"GET /")
            got = hosts.near.find(lambda s: s.dport == hosts.port and
                                  s.flags & SYN, outgoing=False)
            expect("acknowledged", got.ack, 1000)
            hosts.up(seq=1000, ack=got.seq + 1)
            hosts.up(flags=RST, seq=1000)
            pep.flows_end()
        pepadm("profile", "set", "default", "connect", "follow")


@families("one more path of Multipath TCP")
def mptcp_join(family):
    """It passes, although connections that request Multipath TCP are split: an
    answer as plain TCP would be reset."""
    wire, tap = Wire("sub"), Wire("srv", "eth0", ("pep", "sv0"))
    packet = segment(addr("sub", family), addr("srv", family), 41100, 5009,
                     flags=SYN, options=b"\x1e\x0c\x10\x01" + bytes(8))
    pepadm("profile", "set", "default", "mptcp", "split")
    try:
        with grows(pass_syn=1, syn_pass_mptcp=1, split_pass_option=1):
            wire.send(packet)
            got = tap.find(lambda s: s.sport == 41100, outgoing=False)
    finally:
        pepadm("profile", "set", "default", "mptcp", "bypass")
    expect("the SYN", got.tcp, Segment(packet).tcp)


@families("beside it, plain connections are split")
def plain(family):
    pep.follow("handshake")
    with grows(split_handshake=1, flow_closed=1):
        exchange(pep.split_pair(family), BYTES)
