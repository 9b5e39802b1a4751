# SPDX-License-Identifier: GPL-2.0
"""Ends reuse their addresses and ports after a split connection has ended, or
an opener was answered early and has not completed, and pep was detached or
unloaded: no remains on the gateway get in the way."""

import errno
import itertools
import socket
import time

from peptest import pep
from peptest.ktap import (expect, expect_least, expect_most, families,
                          wait_for)
from peptest.netns import addr, impaired, ip, run, tc
from peptest.pep import split_pair
from peptest.tcp import (PORT, accept, client, exchange, listen, one_way,
                         outcome, pair)

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


def left(state="time-wait"):
    """Sockets on the gateway in a state, as ss prints them."""
    return run("ss", "-tnH", "state", state, ns="pep").stdout


def renewed():
    """Another instance: the old one checks once more a second later."""
    if pep.loaded():
        pep.unload()
    pep.load()
    pep.follow("handshake")
    pep.attach()
    pep.ready()


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
    expect_most("seconds", time.monotonic() - begun, QUICK - 0.1)
    expect("TIME_WAIT sockets", left(), "")
    renewed()


for _first, _name in ("sub", "the subscriber"), ("srv", "the server"):
    families(f"{_name} closes first, then dev del", _first, pep.detach)(again)
    families(f"{_name} closes first, then rmmod", _first, unloaded)(again)
families("the server closes first, then tc deletes the filters", "srv",
         filters)(again)


def calling(family, bind):
    """A subscriber that was answered early and has not noticed, and the
    server."""
    listener = listen("srv", family)
    near = client("sub", family, bind=bind)
    near.setblocking(False)
    near.connect_ex((addr("srv", family), PORT))
    wait_for("the request", lambda: left("syn-recv").count("\n") == 1)
    return near, accept(listener)


def unnoticed(family, gone):
    """Its request goes with its flow."""
    pep.early()
    exchange(pair(family), BYTES)
    bind = addr("sub", family), next(_port)
    with impaired((("pep", "wl0"),), "loss", "100%"):
        ends = calling(family, bind)
        gone()
        for end in ends:
            end.close()
    wait_for("no requests", lambda: left("syn-recv") == "", 3)
    begun = time.monotonic()
    exchange(pair(family, bind=bind), BYTES)
    expect_most("seconds", time.monotonic() - begun, QUICK - 0.1)
    renewed()


def awaited(family):
    """Filters of another device are deleted, and the opener completes."""
    pep.early()
    exchange(pair(family), BYTES)
    ip("pep", "link add dum0 type dummy", "link set dum0 up")
    with impaired((("pep", "wl0"),), "delay", "3s"):
        near, far = calling(family, (addr("sub", family), next(_port)))
        pep.pepadm("dev", "add", "dum0", "side", "server")
        tc("pep", "filter del dev dum0 ingress")
        wait_for("the SYN-ACK", lambda: near.connect_ex(
            (addr("srv", family), PORT)) in (0, errno.EISCONN))
    near.setblocking(True)
    exchange((near, far), BYTES)
    ip("pep", "link del dum0")
    pep.detach()
    renewed()


families("an opener without a SYN-ACK, then dev del", pep.detach)(unnoticed)
families("an opener without a SYN-ACK, then rmmod", unloaded)(unnoticed)
families("an opener without a SYN-ACK, then tc deletes the filters",
         filters)(unnoticed)
families("an opener without a SYN-ACK, then tc deletes filters of another "
         "device")(awaited)
