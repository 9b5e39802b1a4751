# SPDX-License-Identifier: GPL-2.0
"""The opener is answered at once while the target is connected (connect mode
"early"): payload, ends of the stream and resets get there all the same, also
what is sent before the target has answered."""

from peptest import pep
from peptest.env import amount
from peptest.ktap import expect, families, wait_for
from peptest.netns import addr, ip, netem
from peptest.pep import grows
from peptest.tcp import (accept, connect, exchange, exchange_all, expect_reset,
                         listen, one_way, pair, reset, start)

BYTES = amount(5000000)
FLOWS = 50
WAYS = (("", "sub", "srv"), (", the server opens", "srv", "sub"))


def setup():
    """Attached, with the mode."""
    pep.attached()
    pep.pepadm("profile", "set", "default", "connect", "early")


def both_ways(family, opener, opened):
    with grows(syn_answered=1, flow_established=1, flow_closed=1):
        exchange(pair(family, opener, opened), BYTES)


def half_closed(family, opener, opened):
    """One direction ends before the other begins."""
    with grows(flow_established=2, flow_closed=2, flow_reset=0):
        for first in 0, 1:
            both = pair(family, opener, opened)
            ends = both[first], both[1 - first]
            one_way(*ends, BYTES // 10, fin=True)
            one_way(*ends[::-1], BYTES // 10, fin=True)


def resets(family, opener, opened):
    with grows(flow_established=2, flow_closed=0, flow_reset=2):
        for end in 0, 1:
            both = pair(family, opener, opened)
            one_way(*both, 1000)
            reset(both[end])
            expect_reset(both[1 - end])


def many(family, opener, opened):
    with grows(flow_established=FLOWS, flow_closed=FLOWS):
        exchange_all(start(family, FLOWS, opener, opened), 20000)


def ahead(family, opener, opened):
    """The opener sends while the target's answer is under way."""
    exchange(pair(family, opener, opened), 100)
    listener = listen(opened, family)
    netem(opened, "eth0", "delay", "500ms")
    try:
        with grows(flow_established=1, flow_closed=1):
            near = connect(opener, family, addr(opened, family))
            near.sendall(b"first")
            far = accept(listener)
            expect("the first payload", far.recv(100), b"first")
            exchange((near, far), 10000)
    finally:
        netem(opened, "eth0", "off")


def gone(family, opener, opened):
    """Openers whose reset comes together with the end of their handshake,
    while the target says nothing: nothing waits for it in vain."""
    exchange(pair(family, opener, opened), 100)
    silence = (f"blackhole {addr(opener, family)}/"
               f"{'32' if family == 4 else '128'}")
    ip(opened, "route add " + silence)
    netem(opener, "eth0", "slot", "100ms", "100ms")
    try:
        with grows(opener_lost=10, flow_established=0) as before:
            for _ in range(10):
                reset(connect(opener, family, addr(opened, family)))
            wait_for("the last of them", lambda: pep.stat("opener_lost") ==
                     before["opener_lost"] + 10, 10)
    finally:
        netem(opener, "eth0", "off")
        ip(opened, "route del " + silence)


def one_side(family, opener, opened):
    """The other side has no device: the target's answer would not be seen."""
    dev, side = {"srv": ("sv0", "server"), "sub": ("wl0", "wireless")}[opened]
    pep.pepadm("dev", "del", dev)
    try:
        with grows(syn_answered=0, follow_new=1):
            exchange(pair(family, opener, opened), 1000)
    finally:
        pep.pepadm("dev", "add", dev, "side", side)


for _text, *_ends in WAYS:
    families("both ways" + _text, *_ends)(both_ways)
    families("half-closed" + _text, *_ends)(half_closed)
    families("a reset of either end" + _text, *_ends)(resets)
    families(f"{FLOWS} flows at once" + _text, *_ends)(many)
    families("payload before the target's answer" + _text, *_ends)(ahead)
    families("openers that are gone when accepted" + _text, *_ends)(gone)
    families("a device on one side only" + _text, *_ends)(one_side)
