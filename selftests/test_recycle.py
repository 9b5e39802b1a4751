# SPDX-License-Identifier: GPL-2.0
"""Payload in pages of a driver's page pool, which are used again at once when
nobody refers to them: in the queues of legs and in copies it stays as it was,
on links that lose, so that it is sent again."""

import json

from peptest import pep, xdp
from peptest.env import amount
from peptest.ktap import expect, expect_most, families
from peptest.netns import SERVER, WIRELESS, impaired, offloads, run
from peptest.pep import grows, hand_back, least
from peptest.tcp import Load, exchange_all, start

TRAITS = {"once"}

COUNT = 8
BYTES = amount(1000000)
LOSSY = "delay 10ms loss random 2% limit 5000".split()
DEVICES = "wl0", "sv0"


def setup():
    """Each device of the gateway receives into pages of a pool, in packets of
    the MTU, which GRO joins; the ends send them so."""
    pep.attached()
    xdp.attach("pep", *DEVICES)
    shown = json.loads(run("ip", "-n", "pep", "-j", "link").stdout)
    expect("devices with a program",
           sorted(link["ifname"] for link in shown if "xdp" in link),
           sorted(DEVICES))
    for ns, dev in WIRELESS + SERVER:
        offloads(ns, dev, "gro", "on")


@families("split at the handshake", "handshake", 0)
@families("copies that are taken over", str(BYTES // 5), COUNT)
def whole(family, split, after):
    """Nothing of it is copied but small pieces."""
    pep.follow(split)
    with impaired(WIRELESS + SERVER, *LOSSY), \
            grows(flow_established=COUNT, flow_reset=0, split_bytes=after,
                  bytes_fragment=least(COUNT * BYTES)) as before:
        exchange_all(start(family, COUNT), BYTES)
        pep.flows_end()
        copied = pep.stat("bytes_copied") - before["bytes_copied"]
        expect_most("bytes copied", copied, COUNT * BYTES // 10 - 1)


@families("copies that are not taken over")
def kept(family):
    """They go with acknowledgments, and with the end of the connection."""
    pep.follow(str(4 * BYTES))
    with impaired(WIRELESS + SERVER, *LOSSY), \
            grows(follow_closed=COUNT, flow_established=0):
        exchange_all(start(family, COUNT), BYTES)


@families("handed back in mid-transfer")
def back(family):
    pep.follow("handshake")
    with impaired(WIRELESS + SERVER, *LOSSY), \
            grows(flow_established=COUNT, flow_released=COUNT, flow_reset=0):
        load = Load(start(family, COUNT), BYTES)
        load.more(BYTES)
        hand_back()
        load.more(BYTES)
        load.finish()
        load.expect_whole()
