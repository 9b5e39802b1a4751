# SPDX-License-Identifier: GPL-2.0
"""ICMP errors about packets of a leg. They are addressed to the end whose
address the leg uses and reach the leg; errors that do not match its sequence
numbers change nothing. Before the split they are forwarded to that end. No leg
probes the path's MTU on its own."""

import errno
import socket
import struct

from peptest import pep
from peptest.ktap import case, expect, families, wait_for
from peptest.netns import HOSTS, addr, ip, nstat, sysctl
from peptest.pep import grows
from peptest.quoting import FAR, OTHER, TOO_BIG, Quoting
from peptest.raw import SYN, Wire, icmp, link_address
from peptest.tcp import PORT, client

SIDE = {"sub": "wireless", "srv": "server"}
SOFT = {
    "host unreachable": {4: (3, 1), 6: (1, 3)},
    "port unreachable": {4: (3, 3), 6: (1, 4)},
    "administratively prohibited": {4: (3, 13), 6: (1, 1)},
    "time exceeded": {4: (11, 0), 6: (3, 0)},
    "parameter problem": {4: (12, 0), 6: (4, 0)},
}
COUNTED = {
    4: ("IcmpInDestUnreachs", "IcmpInTimeExcds", "IcmpInParmProbs"),
    6: ("Icmp6InDestUnreachs", "Icmp6InTimeExcds", "Icmp6InParmProblems"),
}
OUT_OF_WINDOW = "TcpExtOutOfWindowIcmps"
MTU = 1300
PLAIN = 1500
SILENT = {("srv", 4): "198.18.1.9", ("srv", 6): "2001:db8:1::9",
          ("sub", 4): "198.18.0.9", ("sub", 6): "2001:db8::9"}


def setup():
    """Each end has a silent address: frames for it arrive there."""
    pep.warmed()
    for ns in "sub", "pep", "srv":
        sysctl(ns, "net.ipv4.tcp_mtu_probing=0", "net.ipv4.ip_forward=1",
               "net.ipv6.conf.all.forwarding=1")
    for (ns, _), address in SILENT.items():
        mac = link_address(ns, "eth0").hex(":")
        ip("pep", f"neigh replace {address} lladdr {mac} dev {FAR[ns][1]}")
        ip(ns, f"route add blackhole {address}")


def segment_size(mtu, family):
    """Payload of a full segment with timestamps."""
    return mtu - (52 if family == 4 else 72)


def sizes():
    """The maximum payload of the legs' segments, by end."""
    flow, = pep.flows()
    return {ns: flow["legs"][side]["mss"] for ns, side in SIDE.items()}


def forget():
    """Flush the learned path MTUs, which outlive flows. An end notes those of
    errors that pass, too, and shows them in the MSS of its next SYN."""
    for ns in HOSTS:
        for family in 4, 6:
            ip(ns, "route flush cache", family=family)


@families("too big, about the wireless leg", "sub")
@families("too big, about the server leg", "srv")
def too_big(family, ns):
    """The leg sends smaller segments from now on, the other leg the same as
    before."""
    live = Quoting(family, ns)
    expect("segments", sizes(), dict.fromkeys(SIDE,
                                              segment_size(PLAIN, family)))
    with grows(ended=False, icmp_delivered=1, pass_icmp=0):
        live.send(*TOO_BIG[family], MTU)
    expect("segments", sizes(), {
        ns: segment_size(MTU, family),
        OTHER[ns]: segment_size(PLAIN, family)})
    live.end()
    forget()


@families("too big, out of window, about the wireless leg", "sub")
@families("too big, out of window, about the server leg", "srv")
def forged(family, ns):
    """It reaches the leg's stack, which drops it: far ahead, far behind, one
    ahead."""
    live = Quoting(family, ns)
    before = nstat("pep", OUT_OF_WINDOW)
    with grows(ended=False, icmp_delivered=3):
        for shift in 1, 0x40000000, -0x40000000:
            live.send(*TOO_BIG[family], MTU, shift)
    expect("errors found to be out of window",
           nstat("pep", OUT_OF_WINDOW) - before, 3)
    live.refresh()
    expect("segments", sizes(), dict.fromkeys(SIDE,
                                              segment_size(PLAIN, family)))
    live.end()


@families("too big, about the server leg, from the subscriber", "srv")
@families("too big, about the wireless leg, from the server", "sub")
def other_side(family, ns):
    """Each end knows the numbers of both legs. The kernel would note the MTU
    for all that it sends to the address."""
    live = Quoting(family, ns)
    live.wire = Wire(OTHER[ns], "eth0", FAR[OTHER[ns]])
    with grows(ended=False, icmp_delivered=0, pass_icmp=1):
        live.send(*TOO_BIG[family], MTU)
    live.wire = Wire(ns, "eth0", FAR[ns])
    live.refresh()
    expect("segments", sizes(), dict.fromkeys(SIDE,
                                              segment_size(PLAIN, family)))
    live.end()
    forget()


@families("too big, to another address than that of the packet")
def astray(family):
    """Such an error would be forwarded there without pep."""
    live = Quoting(family, "srv")
    with grows(ended=False, icmp_delivered=0, pass_icmp=1):
        live.send(*TOO_BIG[family], MTU, to=SILENT["sub", family])
    live.end()


@families("too big, about no flow")
def stranger(family):
    """Matching addresses, wrong ports: the error is for the end itself."""
    live = Quoting(family, "srv")
    packet = live.seen.packet
    at = live.seen.hlen
    live.seen.packet = packet[:at] + b"\x12\x34" + packet[at + 2:]
    with grows(ended=False, icmp_delivered=0, pass_icmp=1):
        live.send(*TOO_BIG[family], MTU)
    expect("segments", sizes(), dict.fromkeys(SIDE,
                                              segment_size(PLAIN, family)))
    live.end()


def soft(family, ns, name):
    """An established connection records the error and goes on, RFC 5461."""
    live = Quoting(family, ns)
    counted = nstat("pep", *COUNTED[family])
    before = nstat("pep", OUT_OF_WINDOW)
    with grows(ended=False, icmp_delivered=1):
        live.send(*SOFT[name][family])
    expect("errors the leg's stack got",
           nstat("pep", *COUNTED[family]) - counted, 1)
    expect("errors out of window", nstat("pep", OUT_OF_WINDOW) - before, 0)
    with grows(ended=False, icmp_delivered=1):
        live.send(*SOFT[name][family], 0, 0x40000000)
    expect("errors out of window", nstat("pep", OUT_OF_WINDOW) - before, 1)
    live.end()


for _name in SOFT:
    families(f"{_name}, about the wireless leg", "sub", _name)(soft)
    families(f"{_name}, about the server leg", "srv", _name)(soft)


def connecting(family, opened, name, error):
    """While the target is silent: errors pass to the opener, where a forged
    one changes nothing."""
    opener = OTHER[opened]
    to = SILENT[opened, family]
    wire = Wire(opened, "eth0", FAR[opened])
    sock = client(opener, family)
    sock.setblocking(False)
    with grows(follow_new=1, follow_established=0, pass_icmp=2,
               icmp_delivered=0):
        expect("connect", sock.connect_ex((to, PORT)), errno.EINPROGRESS)
        syn = wire.find(lambda s: s.flags & SYN, outgoing=False)
        at = syn.hlen + 4
        kind, code = SOFT[name][family]
        wrong = struct.pack("!I", (syn.seq + 0x40000000) & 0xffffffff)
        for packet in (syn.packet[:at] + wrong + syn.packet[at + 4:],
                       syn.packet):
            expect("the opener's error", sock.getsockopt(
                socket.SOL_SOCKET, socket.SO_ERROR), 0)
            wire.send(icmp(addr(opened, family), addr(opener, family), kind,
                           code, 0, packet))
        got = wait_for("an error", lambda: sock.getsockopt(
            socket.SOL_SOCKET, socket.SO_ERROR))
    expect("the opener's error", errno.errorcode[got], error)


for _name, _error in (("host unreachable", "EHOSTUNREACH"),
                      ("time exceeded", "EHOSTUNREACH"),
                      ("parameter problem", "EPROTO")):
    for _opened in "srv", "sub":
        families(f"{_name}, about the SYN to {_opened}", _opened, _name,
                 _error)(connecting)


@case("a redirect is not for a leg")
def redirect():
    """It is for the gateway's routing or for the end."""
    live = Quoting(4, "srv")
    with grows(ended=False, icmp_delivered=0, pass_icmp=0, pass_other=1):
        live.send(5, 1, 0xc6120102)
    live.end()
