# SPDX-License-Identifier: GPL-2.0
"""CPUs that go offline and come back while flows run and are being opened: the
packets that a CPU had queued, and the connections and SYNs that wait for its
sockets, are processed."""

import errno
import os

from peptest import pep
from peptest.cpu import online
from peptest.env import SLOW
from peptest.ktap import (after_case, expect, expect_least, families,
                          wait_for)
from peptest.netns import addr
from peptest.pep import grows, least
from peptest.tcp import (PORT, Load, accept, client, exchange, exchange_all,
                         exchange_part, expect_same, listen)

TRAITS = {"machine", "races"}

FLOWS = 6
RATE = 20000            # bytes per second and end
MANY = 60               # more than the number of ready sockets
CPU = max(os.sched_getaffinity(0))
ALL = os.sched_getaffinity(0)


@after_case
def back():
    """Restore scheduler, CPU and affinity."""
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    online(CPU, True)
    os.sched_setaffinity(0, ALL)


@families("flows run on")
def run_on(family):
    """Half of them were opened on the CPU that goes offline."""
    with grows(flow_reset=0, flow_established=FLOWS + 8,
               flow_closed=FLOWS + 8):
        pairs = pep.split_start(family, FLOWS // 2)
        os.sched_setaffinity(0, {CPU})
        pairs += pep.split_start(family, FLOWS // 2)
        load = Load(pairs, RATE)
        for _ in range(4):
            online(CPU, False)
            exchange(pep.split_pair(family), 5000)
            online(CPU, True)
            os.sched_setaffinity(0, {CPU})
            exchange(pep.split_pair(family), 5000)
        load.finish()
        for near, far in zip(load.ends[::2], load.ends[1::2]):
            expect_least("bytes", near.received, 1)
            expect_same(near, far)
            expect_same(far, near)


def opened(family, flows):
    """Open connections on the CPU, which goes offline at once and comes back
    when half of them have been used; return the others. All are split before
    that; flows is the total number then."""
    near = [client("sub", family) for _ in range(MANY)]
    listener = listen("srv", family)
    os.sched_setaffinity(0, {CPU})
    # The worker that creates sockets has to wait for this process.
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
    for sock in near:
        sock.setblocking(False)
        err = sock.connect_ex((addr("srv", family), PORT))
        expect("the call", errno.errorcode.get(err, err), "EINPROGRESS")
    online(CPU, False)
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    far = {}
    for _ in near:
        sock = accept(listener)
        far[sock.getpeername()[1]] = sock
    both = [(sock, far[sock.getsockname()[1]]) for sock in near]

    def all_split():
        """A connection that has been silent for more than a second is not
        split, and on a slow kernel all have been silent by then."""
        for each in both if SLOW else ():
            exchange_part(each, 1)
        return pep.stat("flow_established") >= flows
    wait_for("all to be split", all_split)
    exchange_all(both[::2], 2000)
    online(CPU, True)
    return both[1::2]


@families("connections being opened", "follow")
@families("connections being opened, early mode", "early")
def opening(family, mode):
    """They are established, and split, without the CPU; half of them end
    before it is back."""
    pep.pepadm("profile", "set", "default", "connect", mode)
    with grows(flow_established=MANY * 2, flow_closed=MANY * 2,
               flow_reset=0, pool_empty=least(1)) as before:
        for number in 1, 2:
            exchange_all(opened(family, before["flow_established"] +
                                MANY * number), 2000)
