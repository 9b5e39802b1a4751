# SPDX-License-Identifier: GPL-2.0
"""Nothing that was handed to a leg is held back for more: right after the
relay has run, a leg has nothing that is not sent, be it a byte, a part of a
segment behind whole ones, or the first payload of a connection."""

from peptest import pep
from peptest.ktap import expect, families, wait_for
from peptest.pep import grows
from peptest.tcp import exchange, pair

SIZES = 1, 100, 1461, 2900, 5000
ROUNDS = 3
SIDES = ("server", "bytes_to_server"), ("wireless", "bytes_to_wireless")


def sent(sock, size, side, counter):
    """Send so much; fail when any of it waits in the leg of a side."""
    wanted = pep.stat(counter) + size
    sock.sendall(bytes(size))
    wait_for("the relay", lambda: pep.stat(counter) == wanted)
    flow, = pep.flows()
    expect(f"unsent bytes of {size}", flow["legs"][side]["unsent"], 0)


def prompt(family, opener, opened):
    with grows(flow_closed=1):
        both = pair(family, opener, opened)
        ends = both if opener == "sub" else both[::-1]
        for _ in range(ROUNDS):
            for size in SIZES:
                for sock, far, how in zip(ends, ends[::-1], SIDES):
                    sent(sock, size, *how)
                    got = 0
                    while got < size:
                        got += len(far.recv(size))
        exchange(both, 1000)


families("each way, the subscriber opens", "sub", "srv")(prompt)
families("each way, the server opens", "srv", "sub")(prompt)
