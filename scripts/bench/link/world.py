# SPDX-License-Identifier: GPL-2.0
"""The laboratory's network inside a guest.

   sub ------- [term] ------- radio ------- pep ------- srv
   eth0         lan0 up0     s0 ... n0    wl0 sv0       eth0

radio is the wireless link: a packet that one of its devices receives leaves by
the other, through netem. It is a host of its own, so that no qdisc on the host
of an end notifies TCP of a packet that the link drops. A link that varies or
reorders has two stages in radio, with m0 and m1 between n0 and s0: one for the
rate, one for the delay or for packets that come late.

term is the subscriber's terminal, only for pep at both ends. Subscribers have
addresses of SUBSCRIBERS, which are local to sub and need no configuration.
"""

import math
import socket

from links import HELD_BACK
from peptest.netns import (Within, addr, ip, offloads, space_up, spaces_down,
                           sysctl, tc)
from qdisc import FRAME, Netem, Port, Tbf

PATH_LIMIT = 100_000        # packets, a limit that is never reached
LEAST_DOWN = 4              # packets that the queue down holds at least
LEAST_UP = 100              # the same up, where most are acknowledgments
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
    """Full packets that a rate in Mbit/s carries in a time."""
    return rate * 1e3 * milliseconds / 8 / FRAME


class World:
    """The network of a link; with a terminal for pep at both ends."""

    def __init__(self, link, terminal=False):
        self.link = link
        self.terminal = terminal
        self.ports = {}
        self.further = []
        self.seed = 0
        self.varies = bool(link.trace or link.handover)
        self.staged = self.varies or link.late
        self._spaces()
        self._routes()
        if link.window == "phone":
            sysctl("sub", f"net.ipv4.tcp_rmem={PHONE_RMEM}")
        self._ports()
        self.reset(1)

    def _ports(self):
        """Make the devices with qdiscs; those of the server path never
        change. down and up are the first stages, further the second ones."""
        down, up = ("m0", "m1") if self.staged else ("s0", "n0")
        self.ports = {"down": Port("radio", down), "up": Port("radio", up),
                      "to_server": Port("pep", "sv0"),
                      "from_server": Port("srv", "eth0")}
        path = Netem(delay=self.link.server / 2, limit=PATH_LIMIT)
        for name in "to_server", "from_server":
            self.ports[name].set(path, 1)
        self.further = [Port("radio", "s0"), Port("radio", "n0")] \
            if self.staged else []

    def _spaces(self):
        """Make namespaces, devices and addresses; every neighbour is known, so
        that no packet waits for its resolution."""
        near = "term" if self.terminal else "sub"
        dev = "up0" if self.terminal else "eth0"
        names = ["sub", "radio", "pep", "srv"] + ["term"] * self.terminal
        pairs = [(near, dev, "radio", "s0"), ("radio", "n0", "pep", "wl0"),
                 ("pep", "sv0", "srv", "eth0")]
        if self.terminal:
            pairs.append(("sub", "eth0", "term", "lan0"))
        if self.staged:
            pairs.append(("radio", "m0", "radio", "m1"))
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
        self._redirect(*([("n0", "m0"), ("m1", "s0"), ("s0", "m1"),
                          ("m0", "n0")] if self.staged else
                         [("n0", "s0"), ("s0", "n0")]))

    @staticmethod
    def _redirect(*ways):
        """Redirect packets that one device of the radio receives to
        another."""
        for dev, out in ways:
            ip("radio", f"link set {dev} up")
            tc("radio", f"qdisc add dev {dev} clsact",
               f"filter add dev {dev} ingress protocol all matchall "
               f"action mirred egress redirect dev {out}")

    def _neighbours(self, near, dev):
        """Set the link-layer addresses of all neighbours."""
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
        """Set default routes to the gateway, and the subscribers' routes."""
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
        # A route makes IPv4's subscribers local, bind() to IPv6's needs more.
        sysctl("sub", "net.ipv6.ip_nonlocal_bind=1")
        for name in ["pep"] + ["term"] * self.terminal:
            sysctl(name, "net.ipv4.ip_forward=1",
                   "net.ipv6.conf.all.forwarding=1")

    def _ways(self, rate=1.0, delay=None):
        """First and second stage down and up, at a share of the link's rates
        and a delay of one way in ms."""
        link = self.link
        delay = link.rtt / 2 if delay is None else delay
        for full, least in (link.rate, LEAST_DOWN), (link.up, LEAST_UP):
            depth = max(math.ceil(link.queue * packets(full, link.rtt)), least)
            under_way = math.ceil(packets(full, link.rtt / 2))
            air = {"delay": delay, "jitter": link.jitter, "loss": link.loss,
                   "burst": link.burst}
            if self.varies:
                yield (Tbf(rate=rate * full, limit=depth),
                       Netem(limit=PATH_LIMIT, **air))
            else:
                yield (Netem(limit=depth + under_way, rate=full, **air),
                       Netem(limit=PATH_LIMIT, delay=HELD_BACK,
                             prompt=100 - link.late))

    def reset(self, seed):
        """Set the link as it is at the beginning of a sample, with random
        numbers from a seed."""
        self.seed = seed
        self.change()

    def change(self, rate=1.0, delay=None):
        """Set another share of the link's rates, and one-way delay in ms."""
        for number, (first, second) in enumerate(self._ways(rate, delay)):
            self.ports[("down", "up")[number]].set(first, self.seed)
            if self.further:
                self.further[number].set(second, self.seed + 1)
            self.seed += 2

    def empty(self):
        """Does the link hold no packet?"""
        return not any(port.backlog()[1] for port in (
            self.ports["down"], self.ports["up"], *self.further))

    def queued(self):
        """Bytes that wait for the link down, without those under way."""
        held = self.ports["down"].backlog()[0]
        under_way = 0 if self.varies else \
            self.link.rate * 1e6 / 8 * self.link.rtt / 2e3
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
        for port in (*self.ports.values(), *self.further):
            port.close()
        spaces_down()


def bind(sock, number, family):
    """Bind a socket to the address of a subscriber."""
    sock.bind((subscriber(number, family), 0))


FAMILIES = {4: socket.AF_INET, 6: socket.AF_INET6}
