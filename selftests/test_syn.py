# SPDX-License-Identifier: GPL-2.0
"""SYNs that are duplicated, and ports that are reused at once."""

from peptest import pep
from peptest.ktap import expect, families, wait_for
from peptest.netns import addr, ip, netem, nstat, sysctls
from peptest.pep import grows, least, split_pair
from peptest.raw import SYN, Wire, inet
from peptest.tcp import (NO_TIME_WAIT, PORT, client, exchange, expect_eof,
                         listen, one_way)

ROUNDS = 20
SILENT = {4: "198.18.13.9", 6: "2001:db8:13::9"}
setup = pep.warmed


@families("SYN sent again before the answer")
def duplicate(family):
    """The server's answer arrives after the client's second SYN: one
    connection."""
    passive = nstat("srv", "TcpPassiveOpens")
    netem("srv", "eth0", "delay", "1500ms")
    with grows(pass_syn=least(2), follow_new=1, follow_established=1,
               split_handshake=1, flow_closed=1):
        exchange(split_pair(family), 8000)
        netem("srv", "eth0", "off")
    expect("connections of the server",
           nstat("srv", "TcpPassiveOpens") - passive, 1)


@families("opener answers late")
def late_opener(family):
    """After the server has sent its SYN-ACK again."""
    netem("sub", "eth0", "delay", "1500ms")
    with grows(follow_new=1, follow_established=1, split_handshake=1,
               flow_closed=1):
        exchange(split_pair(family), 8000)
        netem("sub", "eth0", "off")


def opening(wire, target):
    """Number of SYNs for a target that a wire has captured since the last
    call."""
    return sum(seen.dst == inet(target) and bool(seen.flags & SYN)
               for seen in wire.segments())


@families("no answer: the target gets the SYNs of the opener, no more")
def silence(family):
    """Three SYNs, after one second and two more."""
    target = SILENT[family]
    ip("srv", f"route add blackhole {target}")
    ip("pep", f"route add {target} via {addr('srv', family)}")
    near, far = Wire("sub"), Wire("srv", peer=("pep", "sv0"))
    sent = got = 0

    def third():
        nonlocal sent, got
        sent += opening(near, target)
        got += opening(far, target)
        return sent >= 3 and got >= 3

    with sysctls("sub", "net.ipv4.tcp_syn_linear_timeouts=0"), \
            client("sub", family) as sock, \
            grows(follow_new=1, pass_syn=3, follow_established=0):
        sock.setblocking(False)
        sock.connect_ex((target, PORT))
        wait_for("the third SYN", third)
        expect("SYNs of the opener and at the target", (sent, got), (3, 3))


def reuse(family, opener, opened, first):
    """Twenty times the same ports. An opener that closes first would wait for
    its own TIME_WAIT, which is not tested: it gets none."""
    bind = addr(opener, family), 34570
    listen(opened, family)
    with sysctls(opener, *NO_TIME_WAIT), grows(
            follow_new=ROUNDS, split_handshake=ROUNDS, flow_closed=ROUNDS,
            time_wait_reused=least(1)):
        for _ in range(ROUNDS):
            both = split_pair(family, opener, opened, bind=bind)
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
