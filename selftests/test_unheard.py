# SPDX-License-Identifier: GPL-2.0
"""A split connection of which one end's packets take another way is handed
back, although that end never acknowledges to its leg what it gets. Payload
that the legs hold arrives, and they go in the end. Packets bypass the gateway
by the link of peptest/bypass.py.
"""

import time

from peptest import bypass, pep
from peptest.bypass import OTHER, around, split
from peptest.env import EXACT
from peptest.ktap import case, expect, families, wait_for
from peptest.netns import WIRELESS, impaired, netem, run
from peptest.pep import grows, pepadm
from peptest.tcp import (End, exchange, exchange_part, expect_eof, expect_same,
                         expect_stream, pair, pump, send_stream)

TRAITS = {"waits", "simulated"}

BYTES = 100000
LITTLE = 5000           # bytes, less than a window
REQUEST = 100           # bytes
LATE = 110              # seconds, of repetitions that are ever rarer
LATER = 6               # seconds since the table was searched, each 16
SOON = 6 if EXACT else 15       # seconds for what the legs have left
BULK = 5000000          # bytes, for 2 s of the link
SOME = 400000           # bytes, less than the windows that BULK leads to
FAR = 20000000          # bytes, more than any window
# Seconds of silence after which a flow has gone whose payload was repeated.
SILENCE = 34 if EXACT else 80
UNHEARD = 180           # seconds, after which the flow has gone at the latest
SLOW = 20000            # bytes per second
LONG = 400              # seconds, more than FAR takes on a slow link
HEARD = 2               # seconds, after which an end counts as silent
# All segments of several but the last one.
LOST = """table inet lost {
    chain in {
        type filter hook input priority 0
        meta l4proto tcp meta length > 1000 drop
    }
}"""


def setup():
    """The link beside the gateway."""
    pep.warmed()
    bypass.linked()


def say(sender, receiver, size=LITTLE):
    """A message that arrives."""
    expect_stream(receiver, send_stream(sender, size), size)


def ask(asking, answering):
    """A request that is answered."""
    say(asking, answering, REQUEST)
    say(answering, asking, REQUEST)


def in_turns(family, moved, *pauses):
    """The other end waits for each answer, and has sent less than a window.
    The flow is gone as soon as it may, though nobody sends anything, and the
    table is searched for it more rarely."""
    time.sleep(LATER)
    with grows(follow_detour=1, flow_released=1, flow_reset=0, flow_killed=0):
        ends = split(family)
        turn = ends[OTHER[moved]], ends[moved]
        with around(family, moved):
            ask(*turn)
            for pause in pauses:
                time.sleep(pause)
                ask(*turn)
            wait_for("the release", lambda: not pep.stat("flows"), SILENCE)
            exchange(turn, BYTES)


def at_last(moved):
    """It sends nothing but acknowledgments for so long that its leg repeats
    payload every two minutes by then."""
    family = 4
    with grows(follow_detour=1, flow_released=1, flow_reset=0, flow_killed=0):
        ends = split(family)
        with around(family, moved):
            say(ends[OTHER[moved]], ends[moved])
            time.sleep(LATE)
            late = send_stream(ends[OTHER[moved]], LITTLE)
            say(ends[moved], ends[OTHER[moved]])
            ends[moved].settimeout(SOON)
            expect_stream(ends[moved], late, LITTLE)
            wait_for("the release", lambda: not pep.stat("flows"), UNHEARD)
            exchange(tuple(ends.values()), BYTES)


def lost_before(family, moved):
    """Payload of the other end was under way, which its leg has
    acknowledged: the leg towards this end never gets an acknowledgment. The
    release takes its time, the connection does not, and segments that got lost
    are all repeated before."""
    with grows(follow_detour=1, flow_released=1, flow_reset=0,
               flow_killed=0):
        ends = split(family)
        run("nft", "-f", "-", ns=moved, stdin=LOST)
        answer = send_stream(ends[OTHER[moved]], LITTLE)
        pep.quiet()
        with around(family, moved):
            run("nft", "delete", "table", "inet", "lost", ns=moved)
            for _ in range(3):
                say(ends[moved], ends[OTHER[moved]])
                time.sleep(HEARD)
            expect_stream(ends[moved], answer, LITTLE)
            wait_for("the release", lambda: not pep.stat("flows"), UNHEARD)
            exchange(tuple(ends.values()), BYTES)


def back_again(family, moved):
    """The end is heard again, but does not get the payload that has got lost,
    for longer than a release may take where nothing takes another way."""
    with grows(follow_detour=1, flow_released=1, flow_reset=0, flow_killed=0):
        ends = split(family)
        run("nft", "-f", "-", ns=moved, stdin=LOST)
        answer = send_stream(ends[OTHER[moved]], LITTLE)
        pep.quiet()
        with around(family, moved):
            for _ in range(2):
                say(ends[moved], ends[OTHER[moved]])
                time.sleep(HEARD)
        for _ in range(10):
            say(ends[moved], ends[OTHER[moved]])
            time.sleep(HEARD)
        run("nft", "delete", "table", "inet", "lost", ns=moved)
        expect_stream(ends[moved], answer, LITTLE)
        wait_for("the release", lambda: not pep.stat("flows"), UNHEARD)
        exchange(tuple(ends.values()), BYTES)


@families("a connection whose packets take another way is closed, and its "
          "client opens another one from the same port")
def opened_anew(family):
    """Its legs wait for acknowledgments that will not come. They go at the
    SYN, and send nothing into the new connection."""
    with grows(follow_detour=1, flow_closed=1, flow_released=0, flow_reset=0,
               flow_killed=0, reset_late=0) as before:
        ends = split(family)
        here = ends["sub"].getsockname()

        def handed_back():
            ask(ends["sub"], ends["srv"])
            return pep.stat("follow_detour") > before["follow_detour"]
        with around(family, "srv"):
            wait_for("the hand-back", handed_back)
            ends["srv"].close()
            expect_eof(ends["sub"])
            ends["sub"].close()
            expect("flows", pep.stat("flows"), 1)
            both = pair(family, bind=here[:2])
            wait_for("the legs to go", lambda: not pep.stat("flows"), SOON)
            exchange(both, BYTES)


def moved_on(family, moved, rate, size, before=0, *loss):
    """One end's packets bypass the gateway when a part of the other's payload
    has arrived; all of it does, and the legs are released. When half of that
    has arrived the link may become slow and lossy."""
    with grows(follow_detour=1, flow_released=1, flow_reset=0, flow_killed=0):
        ends = split(family)
        exchange_part(tuple(ends.values()), before)
        heavy = End(ends[OTHER[moved]], size, fin=False, wanted=BYTES)
        light = End(ends[moved], BYTES, fin=False, wanted=size, rate=SLOW)
        link = "delay", "20ms", "rate", rate
        with impaired(WIRELESS + bypass.LINK, *link):
            pump([heavy, light],
                 until=lambda: light.received > min(size, BULK) // 4)
            with around(family, moved):
                if loss:
                    pump([heavy, light],
                         until=lambda: light.received > size // 2)
                    netem(OTHER[moved], "eth0", "delay", "20ms", *loss)
                pump([heavy, light], LONG)
                expect_same(heavy, light)
                expect_same(light, heavy)
                wait_for("the release", lambda: not pep.stat("flows"),
                         UNHEARD)
                exchange(tuple(ends.values()), BYTES)


def in_bulk(family, moved):
    """The legs hold more for this end than is under way, but less than a
    window: an end refuses packets that acknowledge less than that
    before what its leg has acknowledged (RFC 5961, section 5.2)."""
    pepadm("profile", "set", "default", "residence", "0")
    try:
        moved_on(family, moved, "8mbit", SOME, before=BULK)
    finally:
        pepadm("profile", "set", "default", "residence", "50")


@families("srv's packets of a split connection take another way, when its "
          "window is full", seconds=UNHEARD + 100)
def in_window(family):
    """The legs hold more than it had room for when it was heard last. That it
    had later shows in the other end, which goes on and repeats nothing."""
    moved_on(family, "srv", "20mbit", BULK)


@case("srv's packets of a split connection take another way, when its window "
      "is full, and others get lost", seconds=UNHEARD + LONG)
def in_window_lossy():
    """Payload that comes behind a gap belongs to the connection: this end had
    room for it, which it has told the other end past the gateway."""
    moved_on(4, "srv", "20mbit", FAR, 0, "rate", "2mbit", "loss", "random",
             "5%")


for _ns in OTHER:
    families(f"{_ns}'s packets of a split connection take another way, and "
             "the other end waits for answers", _ns, *7 * (0.3,),
             seconds=UNHEARD + 100)(in_turns)
    case(f"{_ns}'s packets of a split connection take another way, and its "
         "first payload comes late", _ns,
         seconds=LATE + UNHEARD + 100)(at_last)
    families(f"{_ns}'s packets of a split connection take another way and "
             "come back, and others still get lost", _ns,
             seconds=UNHEARD + 100)(back_again)
    families(f"{_ns}'s packets of a split connection take another way, and "
             "others have got lost", _ns, seconds=UNHEARD + 100)(lost_before)
    families(f"{_ns}'s packets of a split connection take another way, in "
             "the middle of a transfer", _ns, seconds=UNHEARD + 100)(in_bulk)
