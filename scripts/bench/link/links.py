# SPDX-License-Identifier: GPL-2.0
"""The links of the laboratory, between subscriber and server.

A name gives the group and the parameter that differs; g60-l1 is the grid's
link of 60 ms and 1 % loss. The defaults are those of the class.
"""

import dataclasses
import itertools


@dataclasses.dataclass(frozen=True)
class Link:
    """A wireless link and the server path behind it.

    rtt and server are round trips in ms without queues; jitter is how far the
    delay of one way may be off, in ms. rate is down, uprate up, in Mbit/s.
    loss is the share of packets in per cent that each way loses at random,
    burst the mean length of a run of losses (1: independent). late is the
    share in per cent that is HELD_BACK, so that others overtake.
    queue is the depth in bandwidth-delay products of rate and rtt. trace is
    "radio" where the rate varies as in radio.trace, from the beginning of each
    sample. handover is the time in s after which rate and round trip jump for
    good, with a gap of HANDOVER_GAP. window is the kind of the subscriber's
    receive buffer.
    """

    name: str
    title: str
    group: str
    rtt: float = 60
    rate: float = 20
    loss: float = 0
    server: float = 20
    jitter: float = 0
    burst: float = 1
    late: float = 0
    queue: float = 2
    uprate: float = 0
    trace: str = ""
    handover: float = 0
    window: str = "linux"
    family: int = 4

    @property
    def up(self):
        """The rate up, Mbit/s: that down where nothing is stated."""
        return self.uprate or self.rate

    @property
    def whole(self):
        """The round trip between both ends, s."""
        return (self.rtt + self.server) / 1e3


HELD_BACK = 10          # ms that a late packet comes behind its turn
HANDOVER_GAP = 0.3      # s
HANDOVER_LEFT = 0.002   # of the rate in the gap: a packet at most
HANDOVER_RATE = 0.4     # of the rate that is left after it
HANDOVER_RTT = 1.5      # of the round trip

GRID_RTT = 10, 60, 150, 600
GRID_LOSS = 0, 0.1, 1, 3
RATES = 5, 20, 50, 200
QUEUES = 0.25, 0.5, 1, 2, 5, 20
SERVERS = 5, 20, 80


def _title(rtt, rate, loss, *more):
    return ", ".join((f"{rtt:g} ms, {rate:g} Mbit/s",
                      f"{loss:g} % loss" if loss else "no loss", *more))


def _grid():
    for rtt, loss in itertools.product(GRID_RTT, GRID_LOSS):
        yield Link(f"g{rtt}-l{loss:g}", _title(rtt, 20, loss), "grid",
                   rtt=rtt, loss=loss)


def _rates():
    for rate in RATES:
        if rate != 20:
            yield Link(f"rate-{rate}", _title(60, rate, 0.1), "rate",
                       rate=rate, loss=0.1)


def _queues():
    for depth in QUEUES:
        if depth != 2:
            yield Link(f"queue-{depth:g}",
                       _title(60, 20, 0, f"queue of {depth:g} BDP"), "queue",
                       queue=depth)
    yield Link("deep", _title(50, 10, 0, "queue of 16 BDP"), "queue",
               rtt=50, rate=10, queue=16)


def _servers():
    for server in SERVERS:
        if server != 20:
            yield Link(f"server-{server}",
                       _title(60, 20, 1, f"server {server} ms behind"),
                       "server", loss=1, server=server)


def _radios():
    yield Link("jitter", _title(60, 20, 0.1, "jitter 15 ms"), "radio",
               loss=0.1, jitter=15)
    yield Link("burst", _title(60, 20, 1, "in bursts of 5"), "radio", loss=1,
               burst=5)
    yield Link("reorder", _title(60, 20, 0, "1 % come 10 ms late"), "radio",
               late=1)
    yield Link("radio", "60 ms, rate of a radio's trace, 0.1 % loss", "radio",
               loss=0.1, trace="radio")
    yield Link("handover", "60 ms, 20 Mbit/s, handover after 4 s", "radio",
               loss=0.1, handover=4)
    for ratio in 10, 100:
        yield Link(f"up-{ratio}",
                   _title(60, 20, 0.1, f"uplink {ratio} times slower"),
                   "uplink", loss=0.1, uprate=20 / ratio)


def _others():
    yield Link("edge-lossy", _title(10, 50, 0.1, "server 40 ms behind"),
               "edge", rtt=10, rate=50, loss=0.1, server=40)
    yield Link("edge-clean", _title(10, 50, 0, "server 4 ms behind"), "edge",
               rtt=10, rate=50, server=4)
    yield Link("fair", _title(60, 20, 0, "shared"), "share", queue=1.5)
    for rtt, loss in (60, 0), (60, 1), (600, 0.1):
        yield Link(f"phone-{rtt}-l{loss:g}",
                   _title(rtt, 20, loss, "a phone's receive window"),
                   "window", rtt=rtt, loss=loss, window="phone")
    yield Link("v6", _title(60, 20, 1, "IPv6"), "family", loss=1, family=6)


def _cross():
    """Every combination of the main dimensions, only for the set full."""
    for rtt, rate, loss, server, window, family in itertools.product(
            GRID_RTT, RATES, GRID_LOSS, SERVERS, ("linux", "phone"), (4, 6)):
        yield Link(f"x{rtt}-r{rate}-l{loss:g}-s{server}-{window}-v{family}",
                   _title(rtt, rate, loss, f"server {server} ms behind",
                          f"{window} window", f"IPv{family}"),
                   "cross", rtt=rtt, rate=rate, loss=loss, server=server,
                   window=window, family=family)


LINKS = {link.name: link for link in (
    *_grid(), *_rates(), *_queues(), *_servers(), *_radios(), *_others(),
    *_cross())}
