# SPDX-License-Identifier: GPL-2.0
"""The laboratory's network inside a guest.

   sub ------- [term] ------- radio ------- pep ------- srv
   eth0         lan0 up0     s0 ... n0    wl0 sv0       eth0

radio is the wireless link: a packet that comes by one of its devices leaves by
the other, through netem. It is a host of its own, so that neither end of TCP
hears from a qdisc of its own host that the link drops a packet. term is the
subscriber's terminal, for pep at both ends alone. Subscribers have addresses
of SUBSCRIBERS, which are local to sub and need not be configured one by one.
"""

import math
import socket

from netem import Netem, Port
from peptest.netns import (Within, addr, ip, offloads, space_up, spaces_down,
                           sysctl, tc)

FRAME = 1514                # bytes of a full packet on the link
LEAST_UP = 100              # packets that the queue up holds at least
SUBSCRIBERS = {4: "198.18.128.0/17", 6: "2001:db8:4000::/34"}
TERMINAL = {4: "198.18.2.1", 6: "2001:db8:2::1"}
LAN = {4: "198.18.2.2", 6: "2001:db8:2::2"}
PHONE_RMEM = "4096 1048576 6291456"
SINGLE = "tso", "off", "gso", "off", "gro", "off"


def subscriber(number, family):
    """The address of a subscriber, an IPv6 one in a /64 of its own."""
    if family == 4:
        return f"198.18.{128 + number // 250}.{1 + number % 250}"
    return f"2001:db8:4000:{number:x}::2"


def packets(rate, milliseconds):
    """Full packets that a rate in Mbit/s makes in a time."""
    return rate * 1e3 * milliseconds / 8 / FRAME


class World:
    """The network of a link; with a terminal for pep at both ends."""

    def __init__(self, link, terminal=False):
        self.link = link
        self.terminal = terminal
        self.ports = {}
        self.seed = 0
        self._spaces()
        self._routes()
        if link.window == "phone":
            sysctl("sub", f"net.ipv4.tcp_rmem={PHONE_RMEM}")
        for name, where in (("down", ("radio", "s0")), ("up", ("radio", "n0")),
                            ("to_server", ("pep", "sv0")),
                            ("from_server", ("srv", "eth0"))):
            self.ports[name] = Port(*where)
        path = Netem(delay=link.server / 2, limit=100000)
        for name in "to_server", "from_server":
            self.ports[name].set(path, 1)
        self.reset(1)

    def _spaces(self):
        """Namespaces, devices and addresses; every neighbour is known, so that
        no packet waits for one."""
        near = "term" if self.terminal else "sub"
        dev = "up0" if self.terminal else "eth0"
        names = ["sub", "radio", "pep", "srv"] + ["term"] * self.terminal
        pairs = [(near, dev, "radio", "s0"), ("radio", "n0", "pep", "wl0"),
                 ("pep", "sv0", "srv", "eth0")]
        if self.terminal:
            pairs.append(("sub", "eth0", "term", "lan0"))
        ip(None, *(f"netns add {name}" for name in names),
           *(f"link add {a} netns {na} type veth peer name {b} netns {nb}"
             for na, a, nb, b in pairs))
        for number, end in enumerate(
                end for na, a, nb, b in pairs for end in ((na, a), (nb, b))):
            ip(end[0], f"link set {end[1]} address 02:00:00:00:00:{number:02x}"
               " gso_max_segs 1")
            offloads(*end, *SINGLE)
        ends = {near: [(dev, addr("sub", 4), addr("sub", 6))],
                "pep": [("wl0", addr("pep", 4), addr("pep", 6)),
                        ("sv0", addr("sv", 4), addr("sv", 6))],
                "srv": [("eth0", addr("srv", 4), addr("srv", 6))]}
        if self.terminal:
            ends["term"].append(("lan0", TERMINAL[4], TERMINAL[6]))
            ends["sub"] = [("eth0", LAN[4], LAN[6])]
        for name, devices in ends.items():
            space_up(name, *devices)
        self._neighbours(near, dev)
        ip("radio", "link set s0 up", "link set n0 up")
        tc("radio", *(line for a, b in (("s0", "n0"), ("n0", "s0"))
                      for line in (f"qdisc add dev {a} clsact",
                                   f"filter add dev {a} ingress protocol all "
                                   "matchall action mirred egress redirect "
                                   f"dev {b}")))

    def _neighbours(self, near, dev):
        """Tell everybody the link-layer addresses of the others."""
        known = [(near, dev, "pep", 3), ("pep", "wl0", "sub", 0),
                 ("pep", "sv0", "srv", 5), ("srv", "eth0", "sv", 4)]
        for ns, out, name, number in known:
            ip(ns, *(f"neigh replace {addr(name, family)} lladdr "
                     f"02:00:00:00:00:{number:02x} dev {out} nud permanent"
                     for family in (4, 6)))
        if self.terminal:
            for ns, out, there, number in (("sub", "eth0", TERMINAL, 7),
                                           ("term", "lan0", LAN, 6)):
                ip(ns, *(f"neigh replace {there[family]} lladdr "
                         f"02:00:00:00:00:{number:02x} dev {out} nud permanent"
                         for family in (4, 6)))

    def _routes(self):
        """Default routes to the gateway, the subscribers behind theirs."""
        for family in 4, 6:
            many = SUBSCRIBERS[family]
            gateway = TERMINAL[family] if self.terminal else \
                addr("pep", family)
            ip("sub", f"route add local {many} dev lo",
               f"route add default via {gateway}", family=family)
            ip("pep", f"route add {many} via {addr('sub', family)}",
               family=family)
            ip("srv", f"route add default via {addr('sv', family)}",
               family=family)
            if self.terminal:
                ip("term", f"route add {many} via {LAN[family]}",
                   f"route add default via {addr('pep', family)}",
                   family=family)
        # A route makes IPv4's subscribers local, bind() wants more of IPv6's.
        sysctl("sub", "net.ipv6.ip_nonlocal_bind=1")
        for name in ["pep"] + ["term"] * self.terminal:
            sysctl(name, "net.ipv4.ip_forward=1",
                   "net.ipv6.conf.all.forwarding=1")

    def down(self, rate=None, delay=None):
        """The wireless link down, at another rate or delay of one way."""
        link = self.link
        rate = rate or link.rate
        return self._way(rate, delay or link.rtt / 2,
                         math.ceil(link.queue * packets(link.rate, link.rtt)))

    def up(self, rate=None, delay=None):
        """The wireless link up."""
        link = self.link
        rate = rate or link.up
        depth = math.ceil(link.queue * packets(link.up, link.rtt))
        return self._way(rate, delay or link.rtt / 2, max(depth, LEAST_UP))

    def _way(self, rate, delay, depth):
        link = self.link
        under_way = math.ceil(packets(rate, delay))
        return Netem(delay=delay, limit=max(depth, 4) + under_way, rate=rate,
                     jitter=link.jitter, loss=link.loss, burst=link.burst,
                     reorder=link.reorder)

    def reset(self, seed):
        """The link as it is at the beginning of a sample, which draws its
        random numbers from a seed."""
        self.seed = seed
        self.ports["down"].set(self.down(), seed)
        self.ports["up"].set(self.up(), seed + 1)

    def change(self, rate, delay):
        """Other rates, as shares of those that the link has, and delay."""
        self.seed += 2
        self.ports["down"].set(self.down(rate * self.link.rate, delay),
                               self.seed)
        self.ports["up"].set(self.up(rate * self.link.up, delay),
                             self.seed + 1)

    def queued(self):
        """Bytes that wait for the link down, those under way not among
        them."""
        held = self.ports["down"].backlog()[0]
        under_way = self.link.rate * 1e6 / 8 * self.link.rtt / 2e3
        return max(held - under_way, 0)

    def sent(self):
        """Bytes and packets that the gateway has sent to the link."""
        with Within("pep"), open("/proc/thread-self/net/dev",
                                 encoding="ascii") as file:
            for line in file:
                name, _, rest = line.partition(":")
                if name.strip() == "wl0":
                    words = rest.split()
                    return int(words[8]), int(words[9])
        raise OSError("the gateway has no wireless device")

    def end(self):
        """Take everything down."""
        for port in self.ports.values():
            port.close()
        spaces_down()


def bind(sock, number, family):
    """Have a socket speak for a subscriber."""
    sock.bind((subscriber(number, family), 0))


FAMILIES = {4: socket.AF_INET, 6: socket.AF_INET6}
