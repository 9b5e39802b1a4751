# SPDX-License-Identifier: GPL-2.0
"""Payload arrives complete, both ways at once and in either order of closing,
and pep carries it once a connection is split: two legs with the congestion
control of their side, nearly all payload by fragment."""

import socket

from peptest import pep
from peptest.env import amount
from peptest.ktap import expect, expect_least, families
from peptest.netns import nstat
from peptest.pep import grows
from peptest.tcp import exchange, exchange_part, expect_eof, one_way

BYTES = amount(50000000)
HALF = amount(3000000)
FAST = "TcpExtTCPHPHits"
WAYS = ("sub", "srv"), ("srv", "sub")
setup = pep.warmed


def carried(before, opener, up, down):
    """Fail unless these bytes were sent towards each side, by fragment or by
    copy."""
    after = pep.stats()
    grown = {name: after[name] - before[name] for name in after}
    to_server, to_wireless = (up, down) if opener == "sub" else (down, up)
    expect("bytes_to_server", grown["bytes_to_server"], to_server)
    expect("bytes_to_wireless", grown["bytes_to_wireless"], to_wireless)
    expect("bytes by fragment and by copy",
           grown["bytes_fragment"] + grown["bytes_copied"], up + down)


@families(f"both ways at once, {BYTES // 1000000} MB, the subscriber opens",
          "sub", "srv", BYTES)
@families(f"both ways at once, {BYTES // 1000000} MB, the server opens",
          "srv", "sub", BYTES)
@families("one byte, the subscriber opens", "sub", "srv", 1)
@families("nothing but FIN, the subscriber opens", "sub", "srv", 0)
@families("nothing but FIN, the server opens", "srv", "sub", 0)
def both(family, opener, opened, size):
    with grows(split_handshake=1, flow_established=1, flow_closed=1,
               flow_reset=0) as before:
        exchange(pep.split_pair(family, opener, opened), size)
    carried(before, opener, size, size)


def half_close(family, opener, opened, first):
    """One end sends everything and its FIN; then the other does."""
    with grows(flow_established=1, flow_closed=1, flow_reset=0) as before:
        ends = pep.split_pair(family, opener, opened)
        a, b = ends if first == "opener" else ends[::-1]
        one_way(a, b, HALF, fin=True)
        one_way(b, a, HALF // 2, fin=True)
        for sock in ends:
            sock.close()
    up, down = ((HALF, HALF // 2) if first == "opener" else
                (HALF // 2, HALF))
    carried(before, opener, up, down)


@families("an urgent byte, and the fast path of TCP behind it")
def urgent(family):
    near, far = pep.split_pair(family)
    far.setsockopt(socket.SOL_SOCKET, socket.SO_OOBINLINE, 1)
    exchange_part((near, far), 100)
    near.send(b"!", socket.MSG_OOB)
    expect("the urgent byte", far.recv(1), b"!")
    before = nstat("pep", FAST)
    for _ in range(20):
        exchange_part((near, far), 100)
    expect_least("segments by the fast path", nstat("pep", FAST) - before, 30)


for _opener, _opened in WAYS:
    for _first in "opener", "opened":
        families(f"half-close, the {_first} first, {_opener} opens",
                 _opener, _opened, _first)(half_close)


@families("an end that closes both ways at once", "sub", "srv")
def close_at_once(family, opener, opened):
    with grows(flow_established=1, flow_closed=1):
        near, far = pep.split_pair(family, opener, opened)
        near.close()
        expect_eof(far)
        far.close()


def legs(family, opener, opened, side):
    """An open flow as flow show prints it."""
    near, far = pep.split_pair(family, opener, opened)
    one_way(near, far, 1000)
    flow, = pep.flows()
    expect("state", flow["state"], "established")
    expect("opener", flow["opener"], side)
    expect("profile", flow["profile"], "default")
    expect("mode", flow["connect"], "follow")
    for leg, cc in ("wireless", "pep_bbr"), ("server", "cubic"):
        expect(f"{leg} cc", flow["legs"][leg]["cc"], cc)
        expect(f"{leg} state", flow["legs"][leg]["state"], "ESTAB")
    near.close()
    far.close()
    pep.flows_end()


families("legs of a flow that the subscriber opened",
         "sub", "srv", "wireless")(legs)
families("legs of a flow that the server opened",
         "srv", "sub", "server")(legs)


@families("payload goes by fragment")
def fragments(family):
    before = pep.stats()
    exchange(pep.split_pair(family), HALF)
    grown = pep.stats()["bytes_fragment"] - before["bytes_fragment"]
    expect_least("bytes by fragment", grown, HALF * 18 // 10)
