# SPDX-License-Identifier: GPL-2.0
"""A target that refuses, is unreachable or is silent looks to the opener the
same as without pep, or like a reset after the opener was answered (early). The
errors without pep are measured first.

Networks behind the server's router, and behind the gateway itself:
  198.18.11.0/24 2001:db8:11::/64  unreachable, from the server's router
  198.18.12.0/24 2001:db8:12::/64  prohibited, from the server's router
  198.18.13.0/24 2001:db8:13::/64  silence
  198.18.14.0/24 2001:db8:14::/64  unreachable, from the gateway
  198.18.15.0/24 2001:db8:15::/64  prohibited, from the gateway
  198.18.16.0/24 2001:db8:16::/64  no neighbour answers the gateway
"""

import errno
import select
import time

from peptest import pep
from peptest.ktap import case, expect, fail, families, note
from peptest.netns import addr, ip, sysctl
from peptest.pep import grows
from peptest.tcp import (PORT, client, connect_errno, exchange, outcome,
                         settled)

NETWORKS = {
    "far-unreachable": 11, "far-prohibited": 12, "silent": 13,
    "near-unreachable": 14, "near-prohibited": 15, "no-neighbour": 16,
}
SITUATIONS = ("refused", *NETWORKS)
SECONDS = 20
_direct = {}


def target(situation, family):
    """The address for a situation."""
    if situation == "refused":
        return addr("srv", family)
    net = NETWORKS[situation]
    return f"198.18.{net}.9" if family == 4 else f"2001:db8:{net}::9"


def errors(family):
    """Name of the error in each situation; all are tried at once."""
    poll = select.epoll()
    waiting = {}
    found = {}
    for situation in SITUATIONS:
        sock = client("sub", family)
        sock.setblocking(False)
        err = sock.connect_ex((target(situation, family), PORT))
        if err != errno.EINPROGRESS:
            found[situation] = errno.errorcode[err]
            continue
        poll.register(sock, select.EPOLLOUT)
        waiting[sock.fileno()] = situation, sock
    end = time.monotonic() + SECONDS
    while waiting and time.monotonic() < end:
        for fd, _ in poll.poll(1):
            situation, sock = waiting.pop(fd)
            poll.unregister(fd)
            err = settled(sock)
            found[situation] = errno.errorcode[err] if err else "ok"
    poll.close()
    for situation, _ in waiting.values():
        found[situation] = "late"
    return found


def setup():
    """Errors are not limited in rate, neither by ICMP nor by IPv4's routes,
    and SYN timeouts are short: 1 + 2 seconds; a neighbour is given up sooner,
    after one."""
    pep.detached()
    sysctl(None, "net.ipv4.route.error_cost=0")
    sysctl("pep", "net.ipv4.neigh.sv0.mcast_solicit=1",
           "net.ipv6.neigh.sv0.mcast_solicit=1")
    for ns in "sub", "pep", "srv":
        sysctl(ns, "net.ipv4.icmp_ratelimit=0", "net.ipv6.icmp.ratelimit=0",
               "net.ipv4.tcp_syn_retries=1", "net.ipv4.ip_forward=1",
               "net.ipv6.conf.all.forwarding=1")
    for family in 4, 6:
        near, far = [], []
        for net in NETWORKS.values():
            prefix = (f"198.18.{net}.0/24" if family == 4 else
                      f"2001:db8:{net}::/64")
            kind = {11: "unreachable", 12: "prohibit", 13: "blackhole",
                    14: "unreachable", 15: "prohibit"}.get(net)
            if net <= 13:
                far.append(f"route add {kind} {prefix}")
                near.append(f"route add {prefix} via {addr('srv', family)}")
            elif kind:
                near.append(f"route add {kind} {prefix}")
            else:
                near.append(f"route add {prefix} dev sv0")
        ip("srv", *far)
        ip("pep", *near)
        _direct[family] = errors(family)
    pep.attach()
    pep.follow("handshake")


@families("refused, unreachable, prohibited, silent")
def followed(family):
    """pep only forwards."""
    with grows(follow_new=len(SITUATIONS), follow_established=0,
               follow_reset=1, flow_established=0, delivered=0,
               icmp_delivered=0):
        got = errors(family)
        for situation in SITUATIONS:
            note(situation, "without pep:", _direct[family][situation],
                 "with:", got[situation])
        expect("the client's errors", got, _direct[family])
        for situation, error in got.items():
            if not error.startswith("E"):
                fail(f"{situation}: no error at all")


@families("refused by the subscriber")
def by_subscriber(family):
    with grows(follow_new=1, follow_established=0, follow_reset=1):
        expect("the client's error",
               connect_errno("srv", family, addr("sub", family)),
               "ECONNREFUSED")


@families("refused once, then accepted")
def recovers(family):
    """pep does not remember a refusal: the same ports work as soon as a server
    listens, and the connection is split."""
    bind = addr("sub", family), 33333
    expect("the client's error",
           connect_errno("sub", family, addr("srv", family), 5001, bind=bind),
           "ECONNREFUSED")
    with grows(split_handshake=1, flow_closed=1):
        exchange(pep.split_pair(family, port=5001, bind=bind), 1000)


@case("set early")
def set_early():
    pep.early()


def early(family, situation):
    """The client is answered, then reset: perhaps before it has received the
    answer, but never refused, as it would be in SYN_SENT. Where the gateway
    has no route for a leg, the client is not answered, and gets the error as
    without pep."""
    sock = client("sub", family)
    sock.settimeout(SECONDS)
    try:
        sock.connect((target(situation, family), PORT))
        got = outcome(sock, SECONDS)
    except OSError as err:
        got = errno.errorcode[err.errno]
    expect("the client's end", got, _direct[family][situation]
           if situation.startswith("near-") else "ECONNRESET")
    pep.flows_end()


for _situation in SITUATIONS:
    families(f"early: {_situation}", _situation)(early)
