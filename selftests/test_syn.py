# SPDX-License-Identifier: GPL-2.0
"""SYNs that come twice, and ports that are used again at once."""

from peptest import pep
from peptest.ktap import expect, families
from peptest.netns import addr, netem, nstat, sysctls
from peptest.pep import grows, least
from peptest.tcp import (NO_TIME_WAIT, exchange, expect_eof, listen, one_way,
                         pair)

ROUNDS = 20


def warm(family):
    """Neighbours are known before the path gets slow."""
    exchange(pair(family), 100)
    pep.flows_end()


@families("SYN sent again before the answer")
def duplicate(family):
    """The server's answer comes after the client's second SYN: one
    connection."""
    warm(family)
    passive = nstat("srv", "TcpPassiveOpens")
    netem("srv", "eth0", "delay", "1500ms")
    with grows(syn_split=1, syn_duplicate=least(1), flow_established=1,
               accept_unpaired=0):
        exchange(pair(family), 8000)
        netem("srv", "eth0", "off")
    expect("connections of the server",
           nstat("srv", "TcpPassiveOpens") - passive, 1)


@families("opener answers late")
def late_opener(family):
    """The held SYN-ACK must survive that."""
    warm(family)
    netem("sub", "eth0", "delay", "1500ms")
    with grows(syn_split=1, flow_established=1):
        exchange(pair(family), 8000)
        netem("sub", "eth0", "off")


def reuse(family, opener, opened, first):
    """Twenty times the same ports. An opener that closes first would wait for
    its own TIME_WAIT, which is not what is tested: it gets none."""
    bind = addr(opener, family), 34570
    listen(opened, family)
    with sysctls(opener, *NO_TIME_WAIT), grows(
            syn_split=ROUNDS, flow_established=ROUNDS,
            time_wait_reused=least(1)):
        for _ in range(ROUNDS):
            both = pair(family, opener, opened, bind=bind)
            one_way(*both, 5000)
            a, b = both if first == opener else both[::-1]
            a.close()
            expect_eof(b)
            b.close()
            pep.flows_end()


for _opener, _opened in ("sub", "srv"), ("srv", "sub"):
    for _first in _opener, _opened:
        families(f"{_opener} takes its port again, {_first} closes first",
                 _opener, _opened, _first)(reuse)
