# SPDX-License-Identifier: GPL-2.0
"""ICMP errors about packets of legs."""

import struct

from . import pep
from .ktap import wait_for
from .netns import addr
from .raw import Wire, icmp
from .tcp import exchange, exchange_part, pair

FAR = {"sub": ("pep", "wl0"), "srv": ("pep", "sv0")}
OTHER = {"sub": "srv", "srv": "sub"}
TOO_BIG = {4: (3, 4), 6: (2, 0)}        # type and code


class Quoting:
    """A flow, and ICMP errors about packets of its leg towards an end. far is
    the gateway's device for that end."""

    def __init__(self, family, ns, far=None):
        self.family = family
        self.ns = ns
        self.wire = Wire(ns, "eth0", far or FAR[ns])
        self.both = pair(family)
        pep.wait_flows(1)
        self.wire.take()
        self.refresh()

    def refresh(self):
        """Relay some payload and keep a packet of the leg."""
        exchange_part(self.both, 3000)
        found = []

        def look():
            found.extend(self.wire.segments(outgoing=False))
            return any(seen.data for seen in found)
        wait_for("payload on the wire", look)
        self.seen = found[-1]

    def send(self, kind, code, rest=0, shift=0, by=None, to=None):
        """Send an error about a packet with the next sequence number of the
        leg, or with one at a distance of shift; by default in the name of the
        packet's destination, and to its source."""
        number = struct.pack("!I", (self.seen.ends + shift) & 0xffffffff)
        at = self.seen.hlen + 4
        packet = self.seen.packet
        self.wire.send(icmp(
            by or addr(self.ns, self.family),
            to or addr(OTHER[self.ns], self.family), kind, code, rest,
            packet[:at] + number + packet[at + 4:]))

    def end(self):
        """The connection still works."""
        exchange(self.both, 20000)
