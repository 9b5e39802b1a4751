# SPDX-License-Identifier: GPL-2.0
"""The figures that pep is to reach."""

import dataclasses
import typing


@dataclasses.dataclass(frozen=True)
class Target:
    """A bound for one figure of a work by a contestant, pep with its default
    profile ("follow") or with a split at the handshake ("pep").

    figure names the number of a work in the report:
      adds    the cost added to plain forwarding, in the work's unit
      total   the instructions as a multiple of plain forwarding's
      haproxy HAProxy's added cost as a multiple of the contestant's
    """

    work: str
    figure: str
    who: str = "pep"
    most: typing.Optional[float] = None
    least: typing.Optional[float] = None

    def text(self):
        """The bound as the table shows it."""
        bound = f"<= {self.most:g}" if self.least is None else \
            f">= {self.least:g}"
        return {"adds": f"{bound}", "total": f"{bound} x forwarding",
                "haproxy": f"HAProxy {bound} x pep"}[self.figure]

    def met(self, value):
        """Is the bound kept?"""
        return value >= self.least if self.most is None else \
            value <= self.most


TARGETS = (
    Target("bulk", "adds", most=0.18),
    Target("bulk-40", "adds", most=0.20),
    Target("mtu", "total", most=0.85),
    Target("mtu-gro", "total", most=1.03),
    Target("short", "adds", most=85),
    Target("short", "haproxy", least=2.5),
    Target("short", "adds", who="follow", most=10),
    Target("transact", "adds", most=12),
    Target("transact", "adds", who="follow", most=2),
    Target("steer-followed", "adds", who="follow", most=600),
    Target("steer-udp", "adds", who="follow", most=350),
    Target("steer-tcp", "adds", who="follow", most=350),
    Target("steer-udp-busy", "adds", who="follow", most=350),
    Target("steer-tcp-busy", "adds", who="follow", most=350),
    Target("steer-udp-stray", "adds", who="follow", most=350),
)

IDLE_TARGET = 8192      # bytes that an idle connection may take in pep
FOLLOWED_TARGET = 256   # bytes of a connection that is only followed
SCALE_TARGET = 1.8      # work of two CPUs as a multiple of one CPU's
