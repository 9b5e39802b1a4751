# SPDX-License-Identifier: GPL-2.0
"""The works that bench cost measures, and their units.

A figure is the number of instructions that a contestant adds to plain
forwarding, measured in the same boot, for the same work. It is the mean of two
rounds, each of which does half of 250 MB, 3000 connections, 8000 transactions
or 40,000 packets. The figure of a packet that is only forwarded is above
filters whose action is "pass".
"""

import dataclasses

MEGA = 1_000_000
KILO = 1_000
SERVER_PORT = 8000
IDLE_PORTS = 4          # ports of the server; each takes 64 K connections
ANSWER_SHORT = 8192     # bytes down on a short connection; 100 go up
ANSWER_TRANSACT = 100   # bytes down in a transaction; 100 go up


@dataclasses.dataclass(frozen=True)
class Work:
    """One work: its commands and the form of its figure."""

    name: str
    title: str
    path: str           # PATHS in paths.py: offloads of ends and gateway
    unit: str           # of a figure
    divisor: int        # instructions in the unit's numerator
    per: str            # count of load: bytes, connections or packets
    per_unit: int       # of that count in the unit's denominator
    full: tuple         # arguments of load, after address and port
    short: tuple        # the same for --short

    def amount(self, run):
        """Units of work that a run of load has done."""
        return run[self.per] / self.per_unit

    def cost(self, run):
        """Cost of a run in the unit."""
        return run["busy_ns"] / self.divisor / self.amount(run)


def _bulk(name, title, path, flows):
    return Work(name, title, path, "Minstr/MB", MEGA, "bytes", MEGA,
                ("bulk", 125 * MEGA, flows), ("bulk", 20 * MEGA, flows))


WORKS = {work.name: work for work in (
    _bulk("bulk", "bulk, TSO-sized input, 1 flow", "tso", 1),
    _bulk("bulk-40", "bulk, TSO-sized input, 40 flows", "tso", 40),
    _bulk("mtu", "bulk, 1448-byte input, no GRO", "mtu", 1),
    _bulk("mtu-gro", "bulk, 1448-byte input, GRO", "mtu-gro", 1),
    Work("short", "short connections, 100 B up, 8 KB down", "tso",
         "kinstr/connection", KILO, "connections", 1,
         ("short", 1500, 16, ANSWER_SHORT),
         ("short", 300, 16, ANSWER_SHORT)),
    Work("transact", "transactions on one connection, 100 B each way", "tso",
         "kinstr/transaction", KILO, "bytes", ANSWER_TRANSACT,
         ("transact", 4000, ANSWER_TRANSACT),
         ("transact", 1000, ANSWER_TRANSACT)),
)}


def _steer(name, title, protocol):
    return Work(name, f"steering: {title}", "tso", "instr/packet", 1,
                "packets", 1, (protocol, 20 * KILO), (protocol, 2 * KILO))


# A transaction is two packets, one each way: its payload carries the ACKs.
STEERING = {work.name: work for work in (
    Work("steer-followed", "steering: TCP of a followed connection", "tso",
         "instr/packet", 1, "bytes", ANSWER_TRANSACT // 2,
         ("transact", 20 * KILO, ANSWER_TRANSACT),
         ("transact", 2 * KILO, ANSWER_TRANSACT)),
    _steer("steer-udp", "UDP", "udp"),
    _steer("steer-tcp", "TCP of unknown connections", "tcp"),
    _steer("steer-udp-busy", "UDP beside 10,000 connections", "udp"),
    _steer("steer-tcp-busy",
           "TCP of unknown connections beside 10,000 others", "tcp"),
    _steer("steer-udp-stray",
           "UDP beside a split connection and an unattached device", "udp"),
)}
BUSY = 10 * KILO        # connections beside which these are measured
OPENING = 300           # and those without a SYN-ACK

# Connections that are held to measure their memory.
IDLE = {"full": 100_000, "short": 10_000}
FOLLOWED = {"full": 1_000_000, "short": 10_000}

# Works of two clients at the same time: arguments of each, and rounds. The
# clock is that of the host.
SCALE_PORT = 8100
SCALE = {
    "full": {"bulk-40": (("bulk", 125 * MEGA, 20), 4),
             "short": (("short", 1500, 16, ANSWER_SHORT), 4)},
    "short": {"bulk-40": (("bulk", 20 * MEGA, 20), 2),
              "short": (("short", 300, 16, ANSWER_SHORT), 2)},
}
