# SPDX-License-Identifier: GPL-2.0
"""Connections that begin at any sequence number are taken over and handed back
in mid-stream: numbers that wrap before, at and after it, at either end. A
process renumbers all packets that an end sends and receives."""

import contextlib

from peptest import pep
from peptest.ktap import expect, families
from peptest.pep import grows
from peptest.raw import numbered, remade, remade_teardown
from peptest.tcp import exchange, exchange_part, pair

TRAITS = {"once"}

BYTES = 60000
SPLIT = 12000
HALF, ALL = 1 << 31, 1 << 32
# The SYN has a number of its own.
NUMBERS = {
    "0": 0,
    "1": 1,
    "2^31 - 1": HALF - 1,
    "2^31": HALF,
    "2^32 - 1": ALL - 1,
    "2^31 within the handshake": HALF - 2,
    "2^31 where it is split": HALF - 1 - SPLIT,
    "2^32 where it is split": ALL - 1 - SPLIT,
    "2^31 afterwards": HALF - BYTES // 2,
    "2^32 afterwards": ALL - BYTES // 2,
    "2^31 behind the release": HALF - 3 * BYTES // 2,
    "2^32 behind the release": ALL - 3 * BYTES // 2,
}
teardown = remade_teardown


def setup():
    """Remakers at both ends, pep attached."""
    remade()
    pep.follow(str(SPLIT))


def course(family, isns):
    """Split after some payload, more payload, handed back, more payload."""
    with contextlib.ExitStack() as stack:
        for ns, isn in isns.items():
            stack.enter_context(numbered(ns, isn))
        with grows(split_bytes=1, flow_released=1, flow_reset=0,
                   follow_reset=0, follow_closed=1):
            ends = pair(family)
            exchange_part(ends, BYTES)
            pep.quiet()
            expect("released", pep.released(), 1)
            pep.flows_end()
            exchange_part(ends, BYTES)
            exchange(ends, BYTES)


for _text, _isn in NUMBERS.items():
    families(f"the subscriber begins at {_text}", {"sub": _isn})(course)
    families(f"the server begins at {_text}", {"srv": _isn})(course)
for _text, _one, _other in (("0", 0, 0), ("2^31", HALF, HALF),
                            ("2^32 - 1 and 2^31 - 1", ALL - 1, HALF - 1)):
    families(f"both begin at {_text}", {"sub": _one, "srv": _other})(course)
