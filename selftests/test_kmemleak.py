# SPDX-License-Identifier: GPL-2.0
"""No memory leaks on any path of a flow, nor by unloading: kmemleak finds
nothing new after all of them."""

from peptest import env, pep
from peptest.kmemleak import expect_none, jiffies
from peptest.ktap import case, expect, skip
from peptest.netns import addr, spaces_down
from peptest.pep import pepadm, split_pair, split_start
from peptest.tcp import (close_all, connect_errno, exchange_all, expect_reset,
                         one_way, reset, start)

TRAITS = {"leaks"}


def workload(family):
    """Every path that a connection and its flow can take."""
    exchange_all(split_start(family, 20), 20000)
    exchange_all(split_start(family, 20, "srv", "sub"), 2000)
    for end in 0, 1:
        both = split_pair(family)
        one_way(*both, 20000)
        reset(both[end])
        expect_reset(both[1 - end])
    expect("a refusal", connect_errno("sub", family, addr("srv", family),
                                      5001), "ECONNREFUSED")
    released = split_start(family, 20)
    pep.quiet()
    pepadm("flow", "release", "all")
    pep.flows_end()
    exchange_all(released, 20000)
    for values in (("connect", "early"), ("split", "12000"),
                   ("split", "never"), ("split", "handshake")):
        pepadm("profile", "replace", "default", *values)
        exchange_all(start(family, 20), 20000)
        for both in start(family, 5):
            one_way(*both, 5000)
            reset(both[0])
            expect_reset(both[1])
    pepadm("profile", "add", "spare", "connect", "early")
    pepadm("profile", "set", "spare", "cc-wireless", "cubic")
    pepadm("profile", "del", "spare")
    for both in split_start(family, 20):
        one_way(*both, 1000)
    for both in start(family, 20):
        one_way(*both, 1000)


@case("nothing is lost after a workload and rmmod", seconds=300)
def lost():
    if not env.DEBUG:
        skip("only the debug kernels have kmemleak")
    since = jiffies()
    workload(4)
    workload(6)
    close_all()
    pep.detach()
    pep.unload()
    spaces_down()
    expect_none(since)
