# SPDX-License-Identifier: GPL-2.0
"""SYNs that come twice, and ports that are used again at once."""

import os

from peptest import pep
from peptest.ktap import expect, families, wait_for
from peptest.netns import addr, ip, netem, nstat, sysctls
from peptest.pep import grows, least
from peptest.raw import SYN, Wire, inet
from peptest.tcp import (NO_TIME_WAIT, PORT, client, exchange, expect_eof,
                         listen, one_way, pair)

ROUNDS = 20
SILENT = {4: "198.18.13.9", 6: "2001:db8:13::9"}
RTO_MAX = "net.ipv4.tcp_rto_max_ms"
RTO_MAX_FILE = "/proc/sys/" + RTO_MAX.replace(".", "/")


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


def opening(wire, target):
    """Count the SYNs for a target that have come by since it was called."""
    return sum(seen.dst == inet(target) and bool(seen.flags & SYN)
               for seen in wire.segments())


@families("no answer: the target gets the SYNs of the opener, no more")
def silence(family):
    """Three SYNs, after one second and two more; the leg would send one of its
    own between these where the gateway's time-outs cannot grow. The kernels
    that have no setting for that would not."""
    target = SILENT[family]
    ip("srv", f"route add blackhole {target}")
    ip("pep", f"route add {target} via {addr('srv', family)}")
    short = [f"{RTO_MAX}=1000"] if os.path.exists(RTO_MAX_FILE) else []
    near, far = Wire("sub"), Wire("srv", peer=("pep", "sv0"))
    sent = got = 0

    def third():
        nonlocal sent, got
        sent += opening(near, target)
        got += opening(far, target)
        return sent >= 3 and got >= 3

    with sysctls("sub", "net.ipv4.tcp_syn_linear_timeouts=0"), \
            sysctls("pep", *short), client("sub", family) as sock, \
            grows(syn_split=1, syn_duplicate=2):
        sock.setblocking(False)
        sock.connect_ex((target, PORT))
        wait_for("the third SYN", third)
        expect("SYNs of the opener and of the gateway", (sent, got), (3, 3))
        pep.pepadm("flow", "kill", "all")


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
