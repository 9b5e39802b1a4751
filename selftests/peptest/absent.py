# SPDX-License-Identifier: GPL-2.0
"""A subscriber and a server that do not exist: a test makes their packets, and
nothing else answers."""

import itertools
import json

from .ktap import wait_for
from .netns import ip
from .pep import pepadm
from .raw import ACK, RST, SYN, Wire, segment
from .tcp import PORT

SUBSCRIBER = {4: "198.18.0.9", 6: "2001:db8::9"}
SERVER = {4: "198.18.1.9", 6: "2001:db8:1::9"}
_ports = itertools.count(42000)


def neighbours():
    """Have the gateway send packets for them, which nobody receives."""
    for dev, hosts in ("wl0", SUBSCRIBER), ("sv0", SERVER):
        ip("pep", *(f"neigh replace {host} lladdr 02:00:00:00:00:09 dev {dev}"
                    for host in hosts.values()))


class Absent:
    """A connection of theirs. The subscriber begins with 1000, the server with
    10."""

    def __init__(self, family):
        neighbours()
        self.port = next(_ports)
        self.ends = SUBSCRIBER[family], SERVER[family]
        self.near = Wire("sub")
        self.far = Wire("srv", "eth0", ("pep", "sv0"))

    def up(self, flags=ACK, window=60000, **kwargs):
        """Send a packet of the subscriber."""
        self.near.send(segment(*self.ends, self.port, PORT, flags=flags,
                               window=window, **kwargs))

    def down(self, flags=ACK, window=60000, **kwargs):
        """Send a packet of the server."""
        self.far.send(segment(*self.ends[::-1], PORT, self.port, flags=flags,
                              window=window, **kwargs))

    def shown(self):
        """The connection as pepadm shows it, or None."""
        found = json.loads(pepadm("-j", "conn", "show", "subscriber",
                                  self.ends[0], "subscriber-port",
                                  str(self.port)).stdout)
        return found[0] if found else None

    def until(self, side, **values):
        """Wait until an end has these values."""
        def same():
            end = (self.shown() or {"ends": {}})["ends"].get(side, {})
            return values.items() <= end.items()
        wait_for(f"{values} of {side}", same)

    def open(self, syn=b"", synack=b"", **kwargs):
        """Complete the handshake, with options; further arguments are those of
        its last packet."""
        self.up(flags=SYN, seq=999, options=syn)
        self.until("wireless", mss=536)
        self.down(flags=SYN | ACK, seq=9, ack=1000, options=synack)
        self.until("server", mss=536)
        self.up(seq=1000, ack=10, **kwargs)
        wait_for("the handshake",
                 lambda: self.shown()["stage"] == "followed")

    def end(self, seq=1000):
        """Reset it as the subscriber."""
        self.up(flags=RST, seq=seq)
        wait_for("the end", lambda: not self.shown())
