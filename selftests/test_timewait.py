# SPDX-License-Identifier: GPL-2.0
"""Ends reuse their addresses and ports after a split connection has ended and
pep was detached or unloaded: no remains of its legs on the gateway get in the
way."""

import itertools
import socket
import time

from peptest import pep
from peptest.ktap import expect, expect_least, families
from peptest.netns import addr, run, tc
from peptest.pep import split_pair
from peptest.tcp import exchange, one_way, outcome, pair

BYTES = 20_000
QUICK = 10              # seconds; a TIME_WAIT socket exists for 60
_port = itertools.count(3000)


def setup():
    """Connections are split at their handshake."""
    pep.warmed()


def unloaded():
    """The module goes."""
    pep.detach()
    pep.unload()


def filters():
    """Delete the filters with tc."""
    for dev in "wl0", "sv0":
        tc("pep", f"filter del dev {dev} ingress")


def left():
    """TIME_WAIT sockets on the gateway."""
    return run("ss", "-tnH", "state", "time-wait", ns="pep").stdout


def again(family, first, gone):
    """The end that closes first leaves the leg towards the other end in
    TIME_WAIT."""
    port = next(_port)
    bind = addr("sub", family), port
    sub, srv = split_pair(family, bind=bind)
    one_way(sub, srv, BYTES)
    ends = (sub, srv) if first == "sub" else (srv, sub)
    ends[0].shutdown(socket.SHUT_WR)
    expect("the first end", outcome(ends[1]), "FIN")
    ends[1].close()
    expect("the second end", outcome(ends[0]), "FIN")
    pep.flows_end()
    ends[0].close()
    expect_least("TIME_WAIT sockets", left().count("\n"), 1)
    # The ends' own sockets would refuse such an early connection.
    for ns in "sub", "srv":
        run("ss", "-K", "state", "time-wait", ns=ns)
    gone()
    begun = time.monotonic()
    exchange(pair(family, bind=bind), BYTES)
    expect("is it quick", time.monotonic() - begun < QUICK, True)
    expect("TIME_WAIT sockets", left(), "")
    # Another instance: the old one checks once more a second later.
    if pep.loaded():
        pep.unload()
    pep.load()
    pep.follow("handshake")
    pep.attach()
    pep.ready()


for _first, _name in ("sub", "the subscriber"), ("srv", "the server"):
    families(f"{_name} closes first, then dev del", _first, pep.detach)(again)
    families(f"{_name} closes first, then rmmod", _first, unloaded)(again)
families("the server closes first, then tc deletes the filters", "srv",
         filters)(again)
